"""What a reviewer of a branch wants to know: the records that it touches, and what in it the memory speaks against."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath

import msgspec

from memctl.check import baseline, context, run
from memctl.check.findings import Finding
from memctl.check.rules import DOCUMENTS, INFO
from memctl.check.run import Report
from memctl.git import differences, history, line_map
from memctl.git.differences import DELETED, FileChange
from memctl.git.line_map import Hunk, LineMap
from memctl.pages import code_lines as code_text
from memctl.pages import freshness, impact, outline
from memctl.pages.impact import StalePage
from memctl.pages.line_references import CurrentFile, LineReference, follow
from memctl.pages.provenance import line_count, reason_of_record
from memctl.record import ids, pages
from memctl.record.kinds import DECISION, LEARNING
from memctl.record.pages import code_lines, code_path
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search import rejected_options
from memctl.search.rejected_options import BroughtBack, Passage
from memctl.store import files, load
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG, FOLDER

_OF_SECTION = 3  # records of a section that are named; more would be the whole section, whatever the branch changes
_READ = 20  # the most important records of a section, from which these are taken
_GOVERNING = (DECISION.name, LEARNING.name)
_NO_ADOPTION = re.compile(r"(?:chore|docs|style|tests?)\b")  # types of commits that take nothing up
BY_LINES, BY_PATH, BY_SECTION = "lines", "path", "section"  # the closest first


class Governing(msgspec.Struct, frozen=True):
    """A record in force that governs code which the branch changes.

    - `sentence`: the first sentence of its reason; `by`: what leads to it, BY_LINES, BY_PATH or BY_SECTION.
    - `places`: the code references, or the markers of the sections.
    - `path`, `line`: a file that the branch changes there, and a changed line of it.
    """

    record: Record
    sentence: str
    by: str
    places: tuple[str, ...]
    path: str
    line: int = 1


class RecordChange(msgspec.Struct, frozen=True):
    """A record that the branch adds, changes or deletes: the record, what was done, and its status before ("" if new).

    `done` is "added", "changed", "superseded" or "deleted".
    """

    record: Record
    done: str
    before: str = ""


class SharedName(msgspec.Struct, frozen=True):
    """An id or number that the branch and its base both gave since they parted, each to another file."""

    name: str
    path: str
    other: str


class Review(msgspec.Struct, frozen=True):
    """What `review` found on a branch: see there."""

    governing: tuple[Governing, ...]
    records: tuple[RecordChange, ...]
    rejected: tuple[BroughtBack, ...]
    stale: tuple[StalePage, ...]
    findings: Report
    shared: tuple[SharedName, ...]

    @property
    def has_errors(self) -> bool:
        """Whether the branch introduces an error of `memctl check`, or a name that the base has, too."""
        return self.findings.has_errors or bool(self.shared)


def review(memory: Memory, base: str, head: str) -> Review:
    """Return what a reviewer wants to know of the commits of `head` that `base` does not have; both are commit ids.

    - Records in force, when the branch began, on lines, files and sections of code that it changes.
    - Records that it adds, changes, supersedes or deletes.
    - Options that decisions of the base rejected, and that its code, records or commits bring back.
    - Pages that it makes stale, and what `check` finds that it did not find before.
    - Ids and numbers that the base has given meanwhile, too.

    Raises MemctlError if the two have no common commit here, or if one of them has no memory.
    """
    start = memory.repository.merge_base(base, head)
    before, after = load.revision(memory, start), load.revision(memory, head)
    there = before if base == start else load.revision(memory, base)
    changes = differences.changed_between(memory.repository, start, head)
    maps = line_map.compare_commits(memory.repository, start, head)
    code = [change for change in changes if FOLDER not in change.path.split("/")]
    records = _record_changes(before, after, changes)
    return Review(
        tuple(_governing(memory, before, start, code, maps)),
        tuple(records),
        tuple(_rejected(memory, there, after, (start, base, head), maps, records)),
        tuple(_made_stale(memory, before, after, changes, head)),
        _findings(memory, (before, start), (after, head)),
        tuple(_shared_names(before, there, after)),
    )


def as_report(memory: Memory, found: Review) -> Report:
    """Return a review as a report of findings, whose paths are relative to the worktree's top."""
    findings = [msgspec.structs.replace(item, path=memory.tracked(item.path)) for item in found.findings.findings]
    for item in found.rejected:
        message = f"{item.option.name!r} was {item.option.describe()} ({', '.join(places(item))})"
        findings.append(Finding("MEM701", _file(memory, item.passages[0]), item.line, message))
    for name in found.shared:
        message = f"{name.name} is in the base, too: {memory.tracked(name.other)}"
        findings.append(Finding("MEM702", memory.tracked(name.path), 1, message, "after the merge: `memctl renumber`"))
    for page in found.stale:
        paths = [drift.path for drift in page.suspect] + [broken.reference for broken in page.broken]
        message = f"{page.page.id} {page.page.title}: {', '.join(paths)} changed since the page was reviewed"
        findings.append(
            Finding("MEM208", memory.tracked(page.page.path), 1, message, f"`memctl review {page.page.id}`")
        )
    for governing in found.governing:
        record = governing.record
        message = f"{record.id} {record.title}: {governing.sentence}".rstrip(": ")
        findings.append(Finding("MEM703", governing.path, governing.line, message))
    return Report(tuple(findings), found.findings.ignored)


def places(item: BroughtBack) -> list[str]:
    """Return where an option comes back: "src/db.py:3" for code, the id of a record, or "commit 3f2a9c01d4"."""
    first = item.passages[0]
    names = [ids.id_in_path(passage.where) or passage.where for passage in item.passages]
    return [f"{first.where}:{item.line}" if first.is_code else names[0], *names[1:]]


def _file(memory: Memory, passage: Passage) -> str:
    """Return the file of a passage relative to the worktree's top; that of the memory's settings for a commit."""
    if passage.is_code:
        return passage.where
    return memory.tracked(passage.where if files.is_record_path(passage.where) else CONFIG)


def _governing(
    memory: Memory, before: Snapshot, start: str, code: Sequence[FileChange], maps: Mapping[str, LineMap]
) -> list[Governing]:
    """Return the records that govern the changed files, those on changed lines first, then the most important."""
    by_path = {change.before or change.path: change for change in code}
    above = {str(folder) for path in by_path for folder in [*PurePosixPath(path).parents][:-1]}
    records = before.catalogue.with_code_refs([*by_path, *above, *(f"{folder}/" for folder in above)])
    found: dict[str, Governing] = {}
    for record in sorted(records, key=lambda record: (-record.importance, record.id)):
        if record.is_open and record.memory_type in _GOVERNING:
            for item in _by_references(memory, before, start, record, by_path, maps):
                found[item.record.id] = item
    for path, sections in freshness.sections_of_files(before, sorted(by_path)).items():
        for page in sections:
            for kind in _GOVERNING:
                # Where a record has code references, these say what it is about.
                records = [record for record in before.top_open(kind, page.id, _READ) if not record.code_refs]
                for record in records[:_OF_SECTION]:
                    reason = reason_of_record(before, record)
                    found.setdefault(record.id, Governing(record, reason, BY_SECTION, (page.id,), by_path[path].path))
    order = (BY_LINES, BY_PATH, BY_SECTION)
    return sorted(found.values(), key=lambda item: (order.index(item.by), -item.record.importance, item.record.id))


def _by_references(
    memory: Memory,
    before: Snapshot,
    start: str,
    record: Record,
    by_path: Mapping[str, FileChange],
    maps: Mapping[str, LineMap],
) -> Iterator[Governing]:
    """Yield a record with those of its code references whose files or lines the branch changes."""
    places: dict[str, tuple[str, str, int]] = {}
    for ref in record.code_refs:
        path = ref if ref in by_path else code_path(ref)
        if path in by_path:
            change = by_path[path]
            hunks = maps.get(change.path, LineMap()).hunks
            if ref == path or change.status == DELETED:
                places[ref] = BY_PATH, change.path, hunks[0].new_start if hunks else 1
            elif (hunk := _changed_hunk(memory, before, start, (record, ref, path), hunks)) is not None:
                places[ref] = BY_LINES, change.path, hunk.new_start
        elif below := [other for other in by_path if other.startswith(ref.rstrip("/") + "/")]:
            places[ref] = BY_PATH, by_path[below[0]].path, 1
    if places:
        by, path, line = min(places.values(), key=lambda place: place[0] != BY_LINES)
        yield Governing(record, reason_of_record(before, record), by, tuple(places), path, line)


def _changed_hunk(
    memory: Memory, before: Snapshot, start: str, reference: tuple[Record, str, str], hunks: Sequence[Hunk]
) -> Hunk | None:
    """Return the first change of the lines that a record's reference means where the branch began, None if none is."""
    record, ref, path = reference
    blob, text = before.files.blobs([path]).get(path, ""), before.files.read([path]).get(path, b"")
    lines = line_count(text.decode(errors="replace"))
    now = follow(memory, CurrentFile(path, frozenset(), blob, blob, lines, start), [(record, ref)])
    meant = now.get((record.path, ref), LineReference((1, 1), is_followed=False))
    first, last = meant.now or (code_lines(ref) or ("", (0, 0)))[1]
    for hunk in hunks:
        begins, ends = hunk.old_start, hunk.old_start + max(hunk.old_count, 1) - 1
        if begins <= last and ends >= first and (hunk.old_count or begins > first):
            return hunk
    return None


def _record_changes(before: Snapshot, after: Snapshot, changes: Iterable[FileChange]) -> list[RecordChange]:
    old, new = ({record.path: record for record in snapshot.records} for snapshot in (before, after))
    start = len(after.prefix) + 1
    result = []
    for path in sorted(change.path[start:] for change in changes if change.path.startswith(f"{after.prefix}/")):
        was, record = old.get(path), new.get(path)
        if record is None:
            result += [RecordChange(was, "deleted", was.status)] if was else []
        elif was is None:
            result.append(RecordChange(record, "added"))
        else:
            is_superseded = was.status != record.status == "superseded"
            result.append(RecordChange(record, "superseded" if is_superseded else "changed", was.status))
    return result


def _rejected(
    memory: Memory,
    there: Snapshot,
    after: Snapshot,
    commits: tuple[str, str, str],
    maps: Mapping[str, LineMap],
    records: Iterable[RecordChange],
) -> Iterator[BroughtBack]:
    """Yield the options of the base's decisions that the branch brings back; `commits` are its start, base and tip."""
    start, base, head = commits
    own = {item.record.id for item in records if item.before and item.record.memory_type == DECISION.name}
    decisions = [record for record in there.records if record.memory_type == DECISION.name and record.id not in own]
    options = rejected_options.rejected_options(there, decisions)
    is_used = rejected_options.used_in(memory.repository, base, memory.prefix)
    new = [item.record for item in records if item.done == "added"]
    linked = {name for record in new for name in (*record.supersedes, *record.relates_to)}
    options = [option for option in options if option.record.id not in linked]
    passages = list(_added_code(after, maps))
    for record in new:
        passages += rejected_options.of_record(record, after.body(record))
    for commit in history.commits(memory.repository, [], f"{start}..{head}"):
        if not commit.trailers.ops and not _NO_ADOPTION.match(commit.subject):
            passages.append(Passage(commit.subject, f"commit {commit.commit[:10]}"))
    yield from rejected_options.brought_back(there, options, passages, is_used)


def _added_code(after: Snapshot, maps: Mapping[str, LineMap]) -> Iterator[Passage]:
    """Yield the code of each changed file with all lines empty but the added ones, without comments."""
    paths = [path for path in maps if FOLDER not in path.split("/") and rejected_options.is_code(path)]
    for path, content in after.files.read(paths).items():
        if b"\0" not in content:
            text = code_text.without_comments(outline.suffix_of(path), content.decode(errors="replace"))
            lines = text.split("\n")
            added = {n for hunk in maps[path].hunks for n in range(hunk.new_start, hunk.new_start + hunk.new_count)}
            yield Passage("\n".join(line if n in added else "" for n, line in enumerate(lines, 1)), path, True)


def _made_stale(
    memory: Memory, before: Snapshot, after: Snapshot, changes: Sequence[FileChange], head: str
) -> Iterator[StalePage]:
    """Yield the pages that agree less with the code than they did where the branch began."""
    was = {
        (page.id, drift.path, drift.now)
        for page in before.outline.pages
        for drift in freshness.changed_files(before, page)
    }
    gone = {
        (page.id, ref.reference)
        for page in before.outline.pages
        for ref in freshness.references(before, page)
        if ref.state == freshness.MISSING
    }
    for item in impact.stale(memory, after, impact.pages_of(impact.reach(after, changes, {})), head):
        suspect = tuple(drift for drift in item.suspect if (item.page.id, drift.path, drift.now) not in was)
        broken = tuple(ref for ref in item.broken if (item.page.id, ref.reference) not in gone)
        if suspect or broken:
            yield StalePage(item.page, suspect, broken)


def _findings(memory: Memory, before: tuple[Snapshot, str], after: tuple[Snapshot, str]) -> Report:
    """Return what `check` finds at the tip, and did not find where the branch began, without advice."""
    reports = [
        run.check(context.from_memory(memory, snapshot, at=commit), (), (*DOCUMENTS, "MEM208"))
        for snapshot, commit in (before, after)
    ]
    new = baseline.introduced(reports[1], after[0], reports[0], before[0])
    return Report(tuple(finding for finding in new if finding.severity != INFO), reports[1].ignored)


def _shared_names(before: Snapshot, there: Snapshot, after: Snapshot) -> Iterator[SharedName]:
    """Yield the ids and numbers that the base and the branch have both given since they parted."""
    known = set(before.names(""))
    theirs = {_name(path): path for path in there.names("") if path not in known and _name(path)}
    for path in after.names(""):
        other = theirs.get(_name(path), "") if path not in known else ""
        if other and (other != path or there.try_read(other) != after.try_read(path)):
            yield SharedName(_name(path), path, other)


def _name(path: str) -> str:
    """Return the id of the record, or the marker of the page, at a path below `.memory/`; "" if it is neither."""
    if files.is_record_path(path):
        return ids.id_in_path(path) or ""
    return f"§{number}" if (number := pages.number_at(path)) else ""
