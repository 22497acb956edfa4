"""Find which pages and documents a change of files affects, and which pages no longer agree with the code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from memctl.git import differences, history
from memctl.git.differences import ADDED, CHANGED, DELETED, RENAMED, FileChange
from memctl.pages import freshness, repository_paths
from memctl.pages.file_query import start_revision
from memctl.pages.freshness import MISSING, CodeReference, Drift, references_to_files, sections_of_files
from memctl.pages.links import EXECUTIVE, SOURCES, document_of
from memctl.pages.links import FOLDER as DOCUMENTS
from memctl.pages.renamed_files import present_paths
from memctl.record import pages
from memctl.record.kinds import BY_FOLDER
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.store.memory_root import FOLDER

CODE, FIX, CONFIG, FEATURE, PROGRESS, DECISION = "code", "fix", "config", "feature", "progress", "decision"
NOT = "-"  # the condition of a level that is never updated


class ChangeRow(msgspec.Struct, frozen=True):
    """What one kind of change, such as a bug fix, means for pages: the kind's title, and a condition for each level.

    `conditions` maps a level (1 the project, 2 sections, 3 details, 4 source files) to the condition on which its pages
    must be updated, such as "Always" or "If critical bug"; "-" means never.
    """

    title: str
    conditions: Mapping[int, str]


def _row(title: str, *conditions: str) -> ChangeRow:
    return ChangeRow(title, dict(zip((4, 3, 2, 1), conditions, strict=True)))


# Which levels a change touches, and on which condition; rules.md#propagation.
MATRIX = {
    CODE: _row("Code change", "Always", "If significant", "If impacts status", "If changes status %"),
    FIX: _row("Bug fix", "Always", "If notable", "If critical bug", "If was blocker"),
    CONFIG: _row("Config change", "Always", "If architecture", "If impacts design", "Rarely"),
    FEATURE: _row("New feature", "Always", "Always", "Always", "If major feature"),
    PROGRESS: _row("Progress update", NOT, "Status only", "Status + %", "Status + %"),
    DECISION: _row("Decision made", "Reference", "Full details", "Summary", "Link only"),
}
_SUBJECT = re.compile(r"(\w+)(?:\([^)]*\))?!?: ")  # Conventional Commits 1.0.0
_BY_TYPE = {"fix": FIX, "feat": FEATURE}
_CONFIG_FILE = re.compile(r".*\.(?:ya?ml|toml|json|ini|cfg|conf|env)|\.env(?:\..*)?|Dockerfile(?:\..*)?", re.IGNORECASE)
_CONFIG_FOLDER = ".github/"
MOST_SOUGHT = 20  # broken references whose new files are searched for, because each takes Git 30 ms
_ROW_OF_RECORD = {"decision": DECISION, "state": PROGRESS}


class Reach(msgspec.Struct, frozen=True):
    """What one changed file affects.

    - `change`: the changed file; `row`: its kind of change, such as "fix" (a key of `MATRIX`), "" for none.
    - `pages`: the pages that the change affects.
    - `is_listed`: whether the document of source files lists the file or, for a changed record, a file that the record
      refers to.
    - `documents`: the documents that show the changed file, if it is a file of the memory; paths below `.memory/`.
    """

    change: FileChange
    row: str
    pages: tuple[Page, ...] = ()
    is_listed: bool = False
    documents: tuple[str, ...] = ()

    @property
    def page_ids(self) -> list[str]:
        """The markers of the pages."""
        return [page.id for page in self.pages]


class ImpactLevel(msgspec.Struct, frozen=True):
    """The documents at one level that a kind of change affects, and the condition on which they must be updated.

    `level` is from 1 (the project) to 4 (source files). `condition` is "-" if this kind of change never affects the
    level. `documents` are paths below `.memory/`.
    """

    level: int
    condition: str
    documents: tuple[str, ...]


class BrokenReference(msgspec.Struct, frozen=True):
    """A reference of a page to a file that no longer exists.

    `reference` is its text, and `line` its line in the page's file, 0 if it is in the front matter (`code_refs`).
    `candidates` are files that may have replaced the missing file. It is None if none were searched for: since a search
    takes 30 ms, that is done for the first 20 broken references only.
    """

    reference: str
    line: int
    candidates: tuple[Candidate, ...] | None


class StalePage(msgspec.Struct, frozen=True):
    """A page that no longer agrees with the code.

    `suspect` are files that have changed since the page was reviewed, and `broken` are references to files that no
    longer exist.
    """

    page: Page
    suspect: tuple[Drift, ...]
    broken: tuple[BrokenReference, ...]


class AffectedRow(NamedTuple):
    """A kind of change among the changed files, such as "fix", its title, and the documents that it affects."""

    row: str
    title: str
    levels: list[ImpactLevel]


class Impact(NamedTuple):
    """What changes affect: the answer of `memctl page impact`.

    `source` says where the changes are, such as "disk" or "main..HEAD". `review` is that of a branch, None if no branch
    was asked about.
    """

    source: str
    files: Sequence[Reach]
    rows: Sequence[AffectedRow]
    stale: Sequence[StalePage]
    review: Sequence[Any] | None


def affected_rows(reaches: Sequence[Reach]) -> list[AffectedRow]:
    """Return the kinds of change that some files have, in the order of `MATRIX`, with what they affect."""
    kinds = {item.row for item in reaches}
    return [AffectedRow(name, row.title, levels(name, reaches)) for name, row in MATRIX.items() if name in kinds]


def named_files(memory: Memory, snapshot: Snapshot, folder: Path, texts: Iterable[str]) -> list[FileChange]:
    """Return the files that a person names, as if they had been changed.

    `texts` are paths of files or folders, relative to `folder` or to the worktree's top; a folder gives all files below
    it. A file that exists only in the history of HEAD counts as deleted. Raises MemctlError for a path that Git does
    not know.
    """
    names = snapshot.files.names() | {memory.tracked(name) for name in snapshot.names("")}
    start = start_revision(memory, "")
    changes: dict[str, FileChange] = {}
    for text in texts:
        possible = repository_paths.possible_paths(memory.repository.top, folder, text)
        paths = next(([path] for path in possible if path in names), [])
        paths = paths or next((below for path in possible if (below := repository_paths.files_below(names, path))), [])
        gone = [path for path in possible if not paths and start and history.last_state(memory.repository, path, start)]
        if not paths and not gone:
            raise repository_paths.unknown_path_error(names, text)
        changes |= {path: FileChange(path, CHANGED) for path in paths}
        changes |= {path: FileChange(path, DELETED) for path in gone[:1]}
    return list(changes.values())


def in_worktree(memory: Memory, snapshot: Snapshot) -> list[FileChange]:
    """Return the files that differ between HEAD and the worktree.

    A deleted and an added file are returned as one renamed file if Git finds the rename in the index, or if the two
    have equal contents.
    """
    changes = differences.changed_in_worktree(memory.repository)
    gone = {change.path: change.blob for change in changes if change.blob}
    added = {change.path for change in changes if change.status == ADDED}
    if not gone or not added:
        return changes
    staged = differences.changed_in_index(memory.repository)
    moved = {change.path: change.before for change in staged if change.path in added and change.before in gone}
    by_blob = {blob: path for path, blob in gone.items() if blob not in EMPTY and path not in moved.values()}
    for path, blob in snapshot.files.blobs(sorted(added - moved.keys())).items():
        if blob in by_blob:
            moved[path] = by_blob.pop(blob)
    renamed = {path: FileChange(path, RENAMED, before) for path, before in moved.items()}
    return [renamed.get(change.path, change) for change in changes if change.path not in moved.values()]


def by_subject(commits: Iterable[history.Commit]) -> dict[str, str]:
    """Return the kind of change of each file in some commits, by the file's path, as the commits' subjects name it.

    A subject such as "feat: add a cart" gives "feature" and "fix: …" gives "fix", for all files of the commit. Files of
    other commits are left out. A file in both kinds of commits has "feature".
    """
    rows: dict[str, str] = {}
    for commit in commits:
        match = _SUBJECT.match(commit.subject)
        row = _BY_TYPE.get(match[1].lower()) if match else None
        if row:
            rows |= {path: row for path in commit.paths if rows.get(path) != FEATURE}
    return rows


def reach(snapshot: Snapshot, changes: Sequence[FileChange], rows: Mapping[str, str], row: str = "") -> list[Reach]:
    """Return what each of the changed files affects; files of the memory that no page shows are left out.

    `row` is the kind of change, such as "fix" (a key of `MATRIX`), for all files outside of the memory. If it is "",
    the kind of a file is that in `rows` (by path), and follows from the file's name and status if the file is not in
    `rows`.
    """
    prefix = snapshot.prefix + "/"
    own = [change for change in changes if change.path.startswith(prefix)]
    others = [change for change in changes if FOLDER not in change.path.split("/")]
    records = {prefix + record.path: record for record in snapshot.records} if own else {}
    code = {path for change in others for path in _names(change)}
    code |= {path for change in own if change.path in records for path in _code_of(records[change.path])}
    covered, referred = sections_of_files(snapshot, code), references_to_files(snapshot, code)
    reaches = []
    for change in others:
        sections = [page for path in _names(change) for page in covered[path]]
        about = [referral.page for path in _names(change) for referral in referred[path]]
        details = [page for section in sections for page in snapshot.outline.details_of(section.id)]
        kind = row or next((rows[path] for path in _names(change) if path in rows), "")
        kind = kind or _row_of(change, bool(sections))
        reaches.append(Reach(change, kind, _in_page_order([*sections, *about, *details]), bool(sections or about)))
    for change in own:
        record = records.get(change.path)
        listed = record is not None and any(covered[path] or referred[path] for path in _code_of(record))
        reaches += _reach_of_memory(snapshot, change, record, listed)
    return reaches


def levels(row: str, reaches: Iterable[Reach]) -> list[ImpactLevel]:
    """Return the levels, from 4 to 1, each with the documents that one kind of change affects.

    Level 4 are the source files, 3 pages of details, 2 sections, and 1 the project. `row` is the kind of change, such
    as "fix" (a key of `MATRIX`). `reaches` has what each changed file affects; files with another kind of change are
    ignored. A level that this kind of change never affects has the condition "-" and no documents.
    """
    reaches = [item for item in reaches if item.row == row]
    shown: dict[int, list[str]] = {4: [SOURCES] if any(item.is_listed for item in reaches) else [], 1: [EXECUTIVE]}
    for page in _in_page_order(page for item in reaches for page in item.pages):
        if page.kind.level > 1:
            shown.setdefault(page.kind.level, []).append(document_of(page))
    result = []
    for level, condition in MATRIX[row].conditions.items():
        names = () if condition == NOT else shown.get(level, ())
        result.append(ImpactLevel(level, condition, tuple(f"{DOCUMENTS}/{name}" for name in names)))
    return result


def pages_of(reaches: Iterable[Reach]) -> list[Page]:
    """Return all pages that the changed files in `reaches` affect, each page once, in the order of their numbers."""
    return list(_in_page_order(page for item in reaches for page in item.pages))


def stale(memory: Memory, snapshot: Snapshot, among: Iterable[Page], at: str) -> list[StalePage]:
    """Return those pages of `among` that no longer agree with the code of the Snapshot.

    `at` is the Snapshot's commit, "" for the disk or the index. The history before it is searched for renames of
    missing files.
    """
    result = []
    sought = 0
    for page in among:
        missing = {ref.reference: ref for ref in freshness.references(snapshot, page) if ref.state == MISSING}
        above = _lines_above(snapshot, page) if missing else 0
        broken = []
        for ref in missing.values():
            sought += 1
            likely = tuple(candidates(memory, snapshot, page, ref, at)) if sought <= MOST_SOUGHT else None
            broken.append(BrokenReference(ref.reference, ref.line and ref.line + above, likely))
        if (suspect := freshness.changed_files(snapshot, page)) or broken:
            result.append(StalePage(page, tuple(suspect), tuple(broken)))
    return result


def _lines_above(snapshot: Snapshot, page: Page) -> int:
    text = snapshot.read(page.path)
    return text.count("\n", 0, len(text) - len(page.body))


def _row_of(change: FileChange, is_covered: bool) -> str:
    if change.status == ADDED and is_covered:
        return FEATURE
    name = change.path.rpartition("/")[2]
    is_configuration = change.path.startswith(_CONFIG_FOLDER) or _CONFIG_FILE.fullmatch(name)
    return CONFIG if is_configuration else CODE


def _reach_of_memory(snapshot: Snapshot, change: FileChange, record: Record | None, is_listed: bool) -> list[Reach]:
    path = change.path[len(snapshot.prefix) + 1 :]
    record_kind, kind = BY_FOLDER.get(path.partition("/")[0]), pages.kind_at(path)
    if record_kind is not None and path.endswith(".md"):
        markers = [around[0] for around in snapshot.outline.sections_of(record) if around] if record else []
        row = _ROW_OF_RECORD.get(record_kind.name, "")
        shown = _in_page_order(page for marker in markers for page in _pages_of_marker(snapshot, marker))
        return [Reach(change, row, shown, is_listed, () if row else _documents(snapshot, markers or [""]))]
    if kind is None:
        return []
    page = next((page for page in snapshot.outline.pages if page.path == path), None)
    shown = (page,) if page else ()
    if kind is pages.PROJECT:
        return [Reach(change, PROGRESS, shown)]
    own = f"{DOCUMENTS}/{path.rpartition('/')[2]}"  # the page and its document may be deleted
    documents = (*_documents(snapshot, [page.id if page else ""]), own, f"{DOCUMENTS}/{SOURCES}")
    return [Reach(change, "", shown, True, tuple(dict.fromkeys(documents)))]


def _documents(snapshot: Snapshot, markers: Iterable[str]) -> tuple[str, ...]:
    from memctl.pages import render  # jinja2, which a change of code does not need

    return tuple(f"{DOCUMENTS}/{name}" for name in render.touched(snapshot, markers))


def _pages_of_marker(snapshot: Snapshot, marker: str) -> tuple[Page, ...]:
    page = snapshot.outline.find(marker)
    if page is None:
        return ()
    if page.kind is pages.SECTION:
        return (page, *snapshot.outline.details_of(page.id))
    parent = snapshot.outline.find(page.section or "")
    return (page, *([parent] if parent else []))


def _names(change: FileChange) -> list[str]:
    return [change.path, *([change.before] if change.before else [])]


def _code_of(record: Record) -> list[str]:
    return [ref.partition(":")[0] for ref in record.code_refs]


def _in_page_order(unsorted: Iterable[Page]) -> tuple[Page, ...]:
    unique = {page.path: page for page in unsorted}
    return tuple(sorted(unique.values(), key=lambda page: (pages.sort_key(page.id), page.path)))


BY_RENAME, BY_CONTENT, BY_NAME = "renamed", "same content", "same name"
_CANDIDATES = 5  # for each broken reference
# The ids of an empty file in SHA-1 and SHA-256: two empty files are not one renamed file.
EMPTY = ("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813")


class Candidate(msgspec.Struct, frozen=True):
    """A file that may have replaced a missing file: its path, and the evidence for it.

    `by` is BY_RENAME (Git knows the rename), BY_CONTENT (the missing file had this content) or BY_NAME (it had this
    name).
    """

    path: str
    by: str


def candidates(memory: Memory, snapshot: Snapshot, page: Page, reference: CodeReference, at: str) -> list[Candidate]:
    """Return the files that may have replaced the missing file of a page's reference, the likeliest first.

    These are the file to which Git says the missing file was renamed, files with the content that the missing file had
    last, and files with its name. `at` is the commit of the Snapshot, "" for the disk or the index.
    """
    names = snapshot.files.names()
    name = reference.reference[3:] if reference.line else reference.reference.partition(":")[0]
    stamped = repository_paths.resolve(frozenset(page.stamps.keys() - names), name)
    path = stamped[0] if len(stamped) == 1 else name
    start = start_revision(memory, at)
    last = history.last_state(memory.repository, path, start) if start else None
    became = present_paths(memory, snapshot, [path], at=at or None).get(path, "")
    content = last.blob if last else page.stamps.get(path, EMPTY[0])
    blobs = snapshot.files.blobs(names) if content not in EMPTY else {}
    alike = [other for other, blob in blobs.items() if blob.startswith(content)]
    namesakes = [other for other in names if _is_namesake(other, path)]
    result: dict[str, str] = {}
    for by, likely in ((BY_RENAME, [became] if became in names else []), (BY_CONTENT, alike), (BY_NAME, namesakes)):
        for other in sorted(likely, key=lambda other: _distance(path, other)):
            result.setdefault(other, by)
    return [Candidate(other, by) for other, by in result.items()][:_CANDIDATES]


def _is_namesake(path: str, former: str) -> bool:
    """The name of a missing file may be in dotted form, such as "auth.jwt"."""
    name = path.rpartition("/")[2]
    is_dotted = "/" not in former and name.partition(".")[0] == former.rpartition(".")[2]
    return is_dotted or name == former.rpartition("/")[2]


def _distance(path: str, other: str) -> tuple[int, str]:
    return -len(set(path.split("/")) & set(other.split("/"))), other
