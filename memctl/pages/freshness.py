"""Whether pages still agree with the code they refer to.

A page keeps, of each file it refers to, the beginning of the content's id at which somebody last found the page right.
A file changed since makes the reference *suspect*; one that is gone, *broken*.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable

import msgspec

from memctl.pages import repository_paths
from memctl.record import mentions, pages
from memctl.record.pages import Page
from memctl.record.snapshot import Snapshot
from memctl.text import timestamps

FOUND, MISSING, AMBIGUOUS = "found", "missing", "ambiguous"
_LENGTH = 12  # of an id in a stamp: one in 280 million million
_FRONT_MATTER = 0
MANY_RECORDS = 50  # after which a project's page is to be read again; we chose it: memctl's own was wrong after 190


class CodeReference(msgspec.Struct, frozen=True):
    """A reference of a page to code: as written, where (a line of the body, 0 for `code_refs`), and what it means.

    `paths` are the file it means; a folder, with a slash; none if it is MISSING; several if it is AMBIGUOUS.
    """

    reference: str
    line: int
    state: str
    paths: tuple[str, ...]


class Drift(msgspec.Struct, frozen=True):
    """A file that has changed since a page was found to agree with it, under the path `stamped`."""

    path: str
    reviewed: str
    now: str
    stamped: str


def references(snapshot: Snapshot, page: Page) -> list[CodeReference]:
    """Return what a page refers to: the paths of `code_refs`, and §4 references in its text, globs left aside."""
    wanted = [(ref, _FRONT_MATTER, "") for ref in page.code_refs]
    for item in mentions.in_text(page.body):
        if item.text.startswith("§4.") and "*" not in item.text:
            wanted.append((item.text, item.line, item.text[3:]))
    if not wanted:
        return []
    names = snapshot.files.names()
    found = []
    for reference, line, name in wanted:
        paths = repository_paths.resolve(names, name) if line else code_paths(names, reference)
        state = FOUND if len(paths) == 1 else AMBIGUOUS if paths else MISSING
        found.append(CodeReference(reference, line, state, paths))
    return found


def stamps(snapshot: Snapshot, page: Page, *, keep: bool = False) -> list[str]:
    """Return the current stamps of all files that a page refers to; with `keep`, stamps that it already has stay."""
    paths = sorted({ref.paths[0] for ref in references(snapshot, page) if ref.state == FOUND and _is_file(ref)})
    if not paths:
        return []
    stamped = page.stamps if keep else {}
    known = stamped | {path: stamped[old] for path, old in (_moves(snapshot, page) if keep else ())}
    blobs = snapshot.files.blobs(paths)
    return [f"{path} {known.get(path) or blobs[path][:_LENGTH]}" for path in paths]


def changed_files(snapshot: Snapshot, page: Page) -> list[Drift]:
    """Return the files that changed since the page was reviewed, without those that no longer exist."""
    stamps = page.stamps
    if not stamps:
        return []
    pairs = [*((path, path) for path in stamps), *_moves(snapshot, page)]
    now = snapshot.files.blobs([path for path, _ in pairs])
    return [
        Drift(path, stamps[stamped], now[path][:_LENGTH], stamped)
        for path, stamped in pairs
        if path in now and not now[path].startswith(stamps[stamped])
    ]


def outdated_pages(snapshot: Snapshot) -> list[tuple[Page, list[str]]]:
    """Return the reviewed pages that no longer agree with the code, each with its changed and missing files.

    Git is asked only about files that pages were reviewed with; if one of these is missing, about all files.
    """
    now = snapshot.files.blobs(sorted({path for page in snapshot.outline.pages for path in page.stamps}))
    found = []
    for page in snapshot.outline.pages:
        stamps = page.stamps.items()
        files = [path for path, stamp in stamps if path not in now or not now[path].startswith(stamp)]
        if any(path not in now for path in files):  # it may have moved to where a reference still leads
            files = [drift.path for drift in changed_files(snapshot, page)]
            files += [ref.reference for ref in references(snapshot, page) if ref.state == MISSING]
        if files:
            found.append((page, list(dict.fromkeys(files))))
    return found


def records_since_overview(snapshot: Snapshot) -> int:
    """Return how many records are newer than the project's page; 0 if there is no page, or its time is unknown."""
    project = snapshot.outline.project
    if project is None or project.timestamp is None:
        return 0
    recorded = snapshot.catalogue.recording_times()
    return len(recorded) - bisect_right(recorded, timestamps.to_epoch(project.timestamp))


def _moves(snapshot: Snapshot, page: Page) -> list[tuple[str, str]]:
    """Return pairs of new and old paths: files that references lead to now, in place of missing ones of the review.

    §4.auth.jwt means lib/auth/jwt.py if src/auth/jwt.py no longer exists.
    """
    stamps = page.stamps
    gone = frozenset(stamps.keys() - snapshot.files.names())
    found = []
    for ref in references(snapshot, page) if gone else ():
        if ref.line and ref.state == FOUND and _is_file(ref) and ref.paths[0] not in stamps:
            before = repository_paths.resolve(gone, ref.reference[3:])
            found += [(ref.paths[0], before[0])] if len(before) == 1 else []
    return list(dict(found).items())


def code_paths(names: frozenset[str], reference: str) -> tuple[str, ...]:
    """Return the file or folder that a code reference names, with or without a line; () if it is not there."""
    return _exact(names, reference) or _exact(names, pages.code_path(reference))


def _exact(names: frozenset[str], path: str) -> tuple[str, ...]:
    if path in names:
        return (path,)
    folder = path.rstrip("/")
    return (folder + "/",) if repository_paths.is_folder(names, folder) else ()


def _is_file(reference: CodeReference) -> bool:
    return not reference.paths[0].endswith("/")


class Referral(msgspec.Struct, frozen=True):
    """A page's reference that means, or may mean, a file; `state` is that of a `PageReference`."""

    page: Page
    reference: str
    state: str


def sections_of_files(snapshot: Snapshot, paths: Collection[str]) -> dict[str, list[Page]]:
    """Return the sections that cover each of some files."""
    found: dict[str, list[Page]] = {path: [] for path in paths}
    for page in snapshot.outline.sections:
        for path in repository_paths.matching(paths, page.paths):
            found[path].append(page)
    return found


def references_to_files(snapshot: Snapshot, paths: Collection[str]) -> dict[str, list[Referral]]:
    """Return the references of pages that mean each of some files, existing or missing, or a folder above it."""
    found: dict[str, list[Referral]] = {path: [] for path in paths}
    wanted = frozenset(found)
    for page in snapshot.outline.pages if wanted else ():
        if not _may_mean(page, wanted):  # most pages; to resolve a reference among all files takes much longer
            continue
        gone = wanted - snapshot.files.names()
        for ref in references(snapshot, page):
            meant: Iterable[str] = ref.paths
            if ref.state == MISSING:
                name = ref.reference.partition(":")[0]
                meant = repository_paths.resolve(gone, ref.reference[3:]) if ref.line else [name]
            hits = {item for item in meant if item in found}
            hits |= {path for item in meant if item.endswith("/") for path in wanted if path.startswith(item)}
            for path in sorted(hits if ref.state != MISSING else hits & gone):
                found[path].append(Referral(page, ref.reference, ref.state))
    return found


def _may_mean(page: Page, paths: frozenset[str]) -> bool:
    texts = [ref.partition(":")[0] for ref in page.code_refs]
    texts += [item.text[3:] for item in mentions.in_text(page.body) if item.text.startswith("§4.")]
    return any(repository_paths.resolve(paths, text) for text in texts)
