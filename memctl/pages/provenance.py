"""Explain a file, a line or a folder: the sections, pages, records and commits that are related to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git import blame, differences, git, history, message, trees
from memctl.git.blame import LineOrigin
from memctl.git.history import FileCommit
from memctl.git.repository import Repository
from memctl.pages import freshness, repository_paths
from memctl.pages.file_query import FileQuery, start_revision
from memctl.pages.freshness import AMBIGUOUS, FOUND, MISSING, Referral, references_to_files
from memctl.pages.line_references import CurrentFile, LineReference, follow
from memctl.pages.renamed_files import fixed_path
from memctl.pages.repository_paths import files_below
from memctl.record import ids
from memctl.record.pages import Page, code_path
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search.named_files import records_naming
from memctl.store import files
from memctl.store.last_commits import CommitsBetween
from memctl.store.memory import Memory
from memctl.text import timestamps
from memctl.text.lazy_regex import lazy_regex

REVIEWED, UNREVIEWED, SUSPECT, BROKEN = "reviewed", "unreviewed", "suspect", "broken"
IN_CODE_REFS, IN_TEXT, IN_COMMIT, IN_MENTION = "code_refs", "text", "commit", "mention"
_AROUND = 12 * 3_600  # seconds before and after a commit in which records of its session are searched
_BESIDE = 3_600  # seconds between a commit of code and a record of its session; mostly less than an hour
_ORDER = (IN_CODE_REFS, IN_TEXT, IN_COMMIT, IN_MENTION)
_OF_PLACES = 20  # the most important records of a section or page
# A record's id in code or in a message, also as the beginning of a file's name.
_NAMED = lazy_regex(rf"(?<![\w-]){ids.PATTERN.pattern}(?!\w)")


class PageReference(msgspec.Struct, frozen=True):
    """A page that refers to a file, with the texts of its references, and whether it still agrees with the file.

    `state` is one of

    - REVIEWED: the page was reviewed with the present version of the file
    - UNREVIEWED: the page was never reviewed with the file
    - SUSPECT: the file has changed since the review; then `reviewed` and `now` are the first digits of its blob ids at
      the review and now
    - BROKEN: the file is missing
    - AMBIGUOUS: the reference may also mean another file
    """

    page: Page
    references: tuple[str, ...]
    state: str
    reviewed: str = ""
    now: str = ""


class Reason(msgspec.Struct, frozen=True):
    """Why a record is related to a file.

    - `by`: IN_CODE_REFS if the record refers to the file, IN_TEXT if the file's text names the record, IN_COMMIT if a
      commit that changed the file names the record, or IN_MENTION if the record's text names the file.
    - `where`: depending on `by`, the code reference, the number of the line in the file, the commit's id, or the file's
      name as the record has it.
    - `how`: for a commit, the name of the trailer that names the record, or "message" if another part of its message
      does.
    - `is_here`: whether the reason is about the line that was asked for.
    - `distance`: the least is the best among reasons with the same `by`. For the file's text it is the number of lines
      from the line that was asked for, for a commit the number of later ones, for a code reference -1 to 2, for a name
      in the record's text 1, in its title 0.
    - `lines`: for a code reference to lines, where these lines are now; otherwise None.
    """

    by: str
    where: str
    how: str = ""
    is_here: bool = False
    distance: int = 0  # orders the reasons of one kind, the least first
    lines: LineReference | None = None


class RelatedRecord(msgspec.Struct, frozen=True):
    """A record that is related to a file, with all reasons for that, the best first.

    `record` is None if only the id is known, because the memory no longer has the record. `reason` is the first
    sentence of the reason that the record gives, "" if it gives none. `reasons` is () for a record that does not refer
    to the file.
    """

    id: str
    record: Record | None
    reasons: tuple[Reason, ...] = ()
    reason: str = ""

    @property
    def is_here(self) -> bool:
        """Whether the best reason is about the line that was asked for, and not only about the file."""
        return self.reasons[0].is_here


class Cause(msgspec.Struct, frozen=True):
    """A commit that changed a file, and the ids of the records that its message names.

    `is_here` says whether it is the commit from which the line that was asked for comes.
    """

    touch: FileCommit
    records: tuple[str, ...]
    is_here: bool

    @property
    def subject(self) -> str:
        """Return the first line of the commit's message."""
        return self.touch.message.partition("\n")[0]


class CoveringSection(NamedTuple):
    """A section that covers a file, with its globs that match the file."""

    page: Page
    globs: tuple[str, ...]


class SessionOfFile(NamedTuple):
    """The last session that changed a file: the path of its page, its end, and what it was asked."""

    path: str
    ended: str
    asked: str

    @property
    def id(self) -> str:
        """The session's id."""
        return PurePosixPath(self.path).stem


class Explanation(msgspec.Struct, frozen=True):
    """Everything that explains a file, one of its lines or a folder: sections, pages, records and commits.

    - `answer`: the likeliest reason in a sentence, "" if no reason is known.
    - `asked`: the file and line; `text`: the file's text, "" if it is not text.
    - `sections`: the sections that cover the file.
    - `pages`: the pages that refer to the file; `records`: the records that are related to it.
    - `commits`: the latest commits that changed the file; `has_more`: whether there are older ones.
    - `history_ends`: in a shallow clone, the commits at which the file's history is cut off. They are not in `commits`,
      since Git would say that they added every file.
    - `origin`: the commit that the line comes from, None if no line was asked for.
    - `of_places`: the most important records of the sections that cover the file and of the pages that refer to it.
    - `session`: the session in which the line's commit was made, "" if unknown; `of_session`: the records of this
      session. `last_session`: the last session that changed the file, None if unknown.
    - `perhaps`: records about the same subject that do not refer to the file.
    """

    asked: FileQuery
    sections: tuple[CoveringSection, ...]
    pages: tuple[PageReference, ...]
    records: tuple[RelatedRecord, ...]
    commits: tuple[Cause, ...]
    origin: LineOrigin | None
    has_more: bool
    history_ends: tuple[str, ...] = ()
    of_places: tuple[RelatedRecord, ...] = ()
    session: str = ""
    of_session: tuple[RelatedRecord, ...] = ()
    text: str = ""
    answer: str = ""
    last_session: SessionOfFile | None = None
    perhaps: tuple[RelatedRecord, ...] = ()

    @property
    def is_explained(self) -> bool:
        """Return whether a section, page, record or commit explains the file, at least perhaps."""
        return bool(self.sections or self.pages or self.records or self.commits or self.perhaps)


def why(memory: Memory, snapshot: Snapshot, query: FileQuery, at: str, limit: int) -> Explanation:
    """Return everything that explains a file, one of its lines, or a folder, for which no commits are read.

    `at` is the commit whose version of the file is meant, "" for the worktree, and `snapshot` the memory at this
    commit. `limit` is the largest number of commits to read, 0 for all. Raises MemctlError if the file does not have
    the line.
    """
    start = start_revision(memory, at)
    touches = _touches(memory, query, start, limit + 1 if limit else None)
    has_more = bool(limit) and len(touches) > limit
    boundary = memory.repository.shallow()
    ends = {touch.commit for touch in touches} & boundary
    touches = [touch for touch in touches[: limit or None] if touch.commit not in boundary]
    text, origin = _text(memory, snapshot, query), None
    if query.line is not None:
        _refuse_no_line(memory, snapshot, query, text)
        origin = blame.origin(memory.repository, query.path, query.line, query.last.revision if query.last else at)
        if origin.commit in boundary:
            ends.add(origin.commit)
        elif origin.commit and all(touch.commit != origin.commit for touch in touches):
            touches.insert(0, history.file_commit(memory.repository, origin.commit, origin.path))
    here = origin.commit if origin else ""
    causes = tuple(Cause(touch, tuple(record_names(touch.message)), touch.commit == here) for touch in touches)
    sections = _sections(snapshot, query)
    pages = _pages(snapshot, query)
    if query.is_folder:
        records = _records_in_folder(snapshot, query.path)
    else:
        records = _records(memory, snapshot, query, causes, text or "", at)
    own = next((cause.touch for cause in causes if cause.is_here), None)
    session, names = _session_of(memory, own) if own is not None and not at else ("", ())
    known = {item.id for item in records}
    found = (snapshot.find(name) for name in names if name not in known)
    of_session = tuple(RelatedRecord(record.id, record) for record in found if record is not None)
    places = [*(page.id for page, _ in sections), *(reference.page.id for reference in pages)]
    return Explanation(
        asked=query,
        sections=sections,
        pages=pages,
        records=records,
        commits=causes,
        origin=origin,
        has_more=has_more,
        history_ends=tuple(sorted(ends)),
        of_places=_of_places(snapshot, places, known.union(record.id for record in of_session)),
        session=session,
        of_session=of_session,
        text=text or "",
    )


def _touches(memory: Memory, query: FileQuery, start: str, limit: int | None) -> list[FileCommit]:
    """For an uncommitted rename the commits are those of the former name."""
    if not start or query.is_folder:
        return []
    commits = history.file_commits(memory.repository, query.path, start, limit)
    if not commits and start == "HEAD" and query.last is None:
        changes = differences.changed_in_index(memory.repository)
        former = next((change.before for change in changes if change.path == query.path), "")
        commits = history.file_commits(memory.repository, former, start, limit) if former else []
    return commits


def _refuse_no_line(memory: Memory, snapshot: Snapshot, query: FileQuery, text: str | None) -> None:
    if text is None:
        if memory.repository.is_partial if query.last else not snapshot.files.read([query.path]):
            return  # memctl can't read the file, but Git knows its lines
        hint = f"`memctl why {query.path}` explains the whole file"
        raise MemctlError(f"{query.path} is not text, so it has no lines", hint, USAGE)
    count = line_count(text)
    if query.line is not None and query.line > count:
        hint = f"the file has {count:,} lines" if count else "the file is empty"
        raise MemctlError(f"the file {query.path} has no line {query.line}", hint, USAGE)


def line_count(text: str) -> int:
    """Return the number of lines of a text; a last line without a line end counts."""
    return text.count("\n") + (not text.endswith("\n") and text != "")


def _of_places(snapshot: Snapshot, markers: Iterable[str], known: Collection[str]) -> tuple[RelatedRecord, ...]:
    records: dict[str, Record] = {}
    for marker in dict.fromkeys(markers):
        for kind in ("decision", "learning"):
            for record in snapshot.top_open(kind, marker, _OF_PLACES):
                if record.id not in known:
                    records.setdefault(record.id, record)
    by_time = sorted(records.values(), key=lambda record: record.timestamp, reverse=True)
    by_importance = sorted(by_time, key=lambda record: -record.importance)
    return tuple(RelatedRecord(record.id, record) for record in by_importance)


def record_names(text: str) -> dict[str, str]:
    """Return the record ids in the text of a commit's message, each with the place where the message has it.

    The place is "Decision" or "Memctl-Id" for an id in a trailer of this name, and "message" for any other.
    """
    trailers = message.parse(text)
    result: dict[str, str] = {}
    for how, values in (("Decision", trailers.decisions), ("Memctl-Id", trailers.ids), ("message", (text,))):
        for value in values:
            for match in _NAMED.finditer(value):
                result.setdefault(match[0], how)
    return result


def _sections(snapshot: Snapshot, query: FileQuery) -> tuple[CoveringSection, ...]:
    files = files_below(snapshot.files.names(), query.path.rstrip("/")) if query.is_folder else [query.path]
    covering = snapshot.outline.covering(query.path)
    matching = (
        CoveringSection(page, tuple(glob for glob in page.paths if repository_paths.matching(files, [glob])))
        for page in snapshot.outline.sections
    )
    found = [one for one in matching if one.globs and repository_paths.matching(files, one.page.paths)]

    def place(item: CoveringSection) -> tuple[bool, int]:
        return item.page.id not in covering, -max(len(fixed_path(glob)) for glob in item.globs)

    return tuple(sorted(found, key=place))


def _pages(snapshot: Snapshot, query: FileQuery) -> tuple[PageReference, ...]:
    by_page: dict[str, list[Referral]] = {}
    for referral in references_to_files(snapshot, [query.path])[query.path]:
        by_page.setdefault(referral.page.path, []).append(referral)
    found = []
    for referrals in by_page.values():
        page, references = referrals[0].page, tuple(dict.fromkeys(item.reference for item in referrals))
        states = {item.state for item in referrals}
        state, reviewed, now = (BROKEN if MISSING in states else AMBIGUOUS), "", ""
        if FOUND in states:
            state = REVIEWED if query.path in page.stamps else UNREVIEWED
            for drift in freshness.changed_files(snapshot, page, query.path):
                state, reviewed, now = SUSPECT, drift.reviewed, drift.now
        found.append(PageReference(page, references, state, reviewed, now))
    return tuple(found)


def _text(memory: Memory, snapshot: Snapshot, query: FileQuery) -> str | None:
    """Return the current or last text of a file; None if it is not text, too large, or missing in a partial clone."""
    if query.is_folder:
        return None
    if query.last is None:
        content = snapshot.files.read([query.path]).get(query.path)
    else:
        content = trees.local_blob(memory.repository, query.last.blob, files.MAX_BYTES)
    return None if content is None or b"\0" in content else content.decode(errors="replace")


def _records(
    memory: Memory, snapshot: Snapshot, query: FileQuery, causes: Iterable[Cause], text: str, at: str
) -> tuple[RelatedRecord, ...]:
    reasons: dict[str, list[Reason]] = {}
    others = {cause.touch.path for cause in causes} - {query.path}
    former = others.difference(snapshot.files.existing(others))
    names = (query.path, *former)
    folders = _folders_above([query.path])
    left = _folders_above(former) - folders
    above = folders | left
    referring = snapshot.catalogue.with_code_refs([*map(code_path, names), *above, *(f"{folder}/" for folder in above)])
    references = [(record, ref) for record in referring for ref in record.code_refs]
    moved = {ref for _, ref in references if ref.rstrip("/") in left}
    if moved:
        from memctl.pages.renamed_files import former_folders  # mostly no folder was renamed

        moved = former_folders(memory, snapshot, moved, query.path, at)
    about = [
        (record, ref)
        for record, ref in references
        if ref.startswith(names) or query.path.startswith(ref) or ref in moved
    ]
    followed = _line_references(memory, snapshot, query, about, former, text, at)
    for record, ref in about:
        lines = followed.get((record.path, ref))
        if (reason := _reason_of_reference(ref, query, former, moved, lines)) is not None:
            reasons.setdefault(record.id, []).append(reason)
    in_text = [(number, match) for number, line in enumerate(text.split("\n"), 1) for match in _NAMED.finditer(line)]
    wanted = {match[0] for _, match in in_text}.union(*(cause.records for cause in causes))
    by_id = {record.id: record for record, _ in about}
    by_id |= {name: one for name in wanted if (one := snapshot.find(name)) is not None}
    by_id |= {record.id: record for record in by_id.values()}
    for number, match in in_text:
        distance = abs(number - query.line) if query.line else 0
        reason = Reason(IN_TEXT, str(number), "", number == query.line, distance)
        reasons.setdefault(_own_id(by_id, match[0]), []).append(reason)
    for number, cause in enumerate(causes):
        for name, how in record_names(cause.touch.message).items():
            reason = Reason(IN_COMMIT, cause.touch.commit, how, cause.is_here, number)
            reasons.setdefault(_own_id(by_id, name), []).append(reason)
    naming = records_naming(snapshot, [query.path])
    about_it = {record.path for record, _ in about}
    for record in snapshot.catalogue.at(naming.keys() - about_it):
        by_id.setdefault(record.id, record)
        name = naming[record.path][query.path]
        reason = Reason(IN_MENTION, name, distance=int(name not in record.title))
        reasons.setdefault(record.id, []).append(reason)
    return _by_weight(reasons, by_id)


def _records_in_folder(snapshot: Snapshot, folder: str) -> tuple[RelatedRecord, ...]:
    """Records on a folder come before those on files and folders in it, and these before those on folders above it."""
    files = files_below(snapshot.files.names(), folder[:-1])
    folders = {folder[:-1], *_folders_above([folder, *files])}
    referring = snapshot.catalogue.with_code_refs([*files, *folders, *(f"{name}/" for name in folders)])
    reasons: dict[str, list[Reason]] = {}
    for record in referring:
        for ref in record.code_refs:
            path = code_path(ref).rstrip("/") + "/"
            if path.startswith(folder) or folder.startswith(path):
                distance = 0 if path == folder else 1 if path.startswith(folder) else 2
                reasons.setdefault(record.id, []).append(Reason(IN_CODE_REFS, ref, distance=distance))
    return _by_weight(reasons, {record.id: record for record in referring})


def _by_weight(reasons: Mapping[str, Iterable[Reason]], by_id: Mapping[str, Record]) -> tuple[RelatedRecord, ...]:
    related = [RelatedRecord(name, by_id.get(name), tuple(sorted(why, key=_rank))) for name, why in reasons.items()]
    related.sort(key=lambda item: item.record.timestamp if item.record else "", reverse=True)
    return tuple(sorted(related, key=_weight))


def _folders_above(paths: Iterable[str]) -> set[str]:
    return {str(folder) for path in paths for folder in [*PurePosixPath(path).parents][:-1]}


def _line_references(
    memory: Memory,
    snapshot: Snapshot,
    query: FileQuery,
    about: Iterable[tuple[Record, str]],
    former: Collection[str],
    text: str,
    at: str,
) -> dict[tuple[str, str], LineReference]:
    if not text:
        return {}
    if query.last is not None:
        comparable = blob = query.last.blob
    else:
        blob = snapshot.files.blobs([query.path]).get(query.path, "")
        comparable = blob if at else f"./{query.path}"
    start = start_revision(memory, at)
    file = CurrentFile(query.path, frozenset(former), comparable, blob, line_count(text), start)
    return follow(memory, file, about)


def _own_id(records: dict[str, Record], name: str) -> str:
    return records[name].id if name in records else name


def _rank(reason: Reason) -> tuple[bool, int, int]:
    return not reason.is_here, _ORDER.index(reason.by), reason.distance


def _weight(related: RelatedRecord) -> tuple[tuple[bool, int, int], bool, int]:
    record = related.record
    return _rank(related.reasons[0]), record is None or not record.is_open, -record.importance if record else 0


def _reason_of_reference(
    ref: str, query: FileQuery, former: Collection[str], moved: Collection[str], lines: LineReference | None
) -> Reason | None:
    if ref == query.path:
        return Reason(IN_CODE_REFS, ref)
    if lines is not None:
        # A line in the place of a deleted one comes before the rest of the file.
        distance = -1 if query.line in lines.instead else 0
        return Reason(IN_CODE_REFS, ref, is_here=lines.covers(query.line), distance=distance, lines=lines)
    path = code_path(ref)
    if path == query.path:
        return Reason(IN_CODE_REFS, ref)
    if path in former:
        return Reason(IN_CODE_REFS, ref, distance=1)
    is_above = ref in moved or query.path.startswith(path.rstrip("/") + "/")
    return Reason(IN_CODE_REFS, ref, distance=2) if is_above else None


def _session_of(memory: Memory, commit: FileCommit) -> tuple[str, tuple[str, ...]]:
    """Return the session in which a commit of HEAD's history was made, and the ids of the records of that session.

    Sessions are known from trailers of memctl's commits. A commit belongs to the session that it names, otherwise to
    the nearest one whose commits have its author and are at most an hour away. Returns ("", ()) if there is none.
    """
    seconds = timestamps.to_epoch(commit.date)
    between = CommitsBetween(memory, seconds - _AROUND, seconds + _AROUND)
    # The first commit of a shallow clone has all records, whichever session made them.
    sessions = _sessions(memory.repository, between.commits.keys() - memory.repository.shallow())
    times: dict[str, list[int]] = {}
    for commit_id, (name, author) in sessions.items():
        if author == commit.author:
            times.setdefault(name, []).append(between.commits[commit_id])
    away = {name: max(min(some) - seconds, seconds - max(some), 0) for name, some in times.items()}
    near = sorted((distance, name) for name, distance in away.items() if distance <= _BESIDE)
    session = message.parse(commit.message).session or (near[0][1] if near else "")
    paths = between.paths([commit_id for commit_id, (name, _) in sessions.items() if name == session])
    return session, tuple(dict.fromkeys(record for path in paths if (record := ids.id_in_path(path))))


def _sessions(repository: Repository, commits: Collection[str]) -> dict[str, tuple[str, str]]:
    if not commits:
        return {}
    args = [*git.LOG, "--no-walk", "--stdin", "-z"]
    args.append("--format=%H%x1f%(trailers:key=Memctl-Session,valueonly,separator=%x2C)%x1f%an")
    out = git.read(args, repository.top, "".join(f"{name}\n" for name in sorted(commits)).encode())
    rows = (item.split("\x1f", 2) for item in out.decode(errors="replace").split("\0") if item)
    return {commit: (session, author) for commit, session, author in rows if session}
