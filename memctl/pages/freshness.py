"""Check whether pages still agree with the code that they refer to.

A page has a stamp for each file it refers to: the first digits of the blob id that the file had when the page was last
reviewed. A reference is *suspect* if the file has changed since, and *broken* if the file no longer exists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

from memctl.pages import repository_paths
from memctl.record import mentions, pages
from memctl.record.pages import Page
from memctl.record.snapshot import Snapshot
from memctl.text import timestamps

FOUND, MISSING, AMBIGUOUS = "found", "missing", "ambiguous"
_LENGTH = 12  # digits of an id in a stamp: two contents match by chance once in 280 million million
_FRONT_MATTER = 0
_FEW = 20  # references that Git is asked about rather than for all files
_OUTDATED = b"outdated pages"  # the key of the cached answer: a digest of all that it depends on, and files by page
_NOTHING = msgspec.msgpack.encode((b"", {}))


class CodeReference(msgspec.Struct, frozen=True):
    """A reference to code on a page.

    - `reference`: its text; `line`: its line in the page's body, or 0 if it is in the page's front matter
      (`code_refs`).
    - `state`: whether a file was found for it (FOUND), none (MISSING), or several that it may mean (AMBIGUOUS).
    - `paths`: the files or folders found. The path of a folder ends with a slash.
    """

    reference: str
    line: int
    state: str
    paths: tuple[str, ...]


class Drift(msgspec.Struct, frozen=True):
    """A file that has changed since a page that refers to it was reviewed.

    `path` is its path now, and `stamped` its path at the review. `now` and `reviewed` are the first 12 digits of its
    blob id now and at the review.
    """

    path: str
    reviewed: str
    now: str
    stamped: str


def references(snapshot: Snapshot, page: Page) -> list[CodeReference]:
    """Return a page's references to code: its `code_refs`, and the §4 markers in its text.

    Markers with a `*`, which stand for many files, are left out.
    """
    written = _reference_texts(page)
    names = snapshot.files.names() if written else frozenset()
    return [_resolve(names, reference, line) for reference, line in written]


def _reference_texts(page: Page) -> list[tuple[str, int]]:
    in_text = (item for item in mentions.in_text(page.body) if item.text.startswith("§4.") and "*" not in item.text)
    return [*((ref, _FRONT_MATTER) for ref in page.code_refs), *((item.text, item.line) for item in in_text)]


def _resolve(names: frozenset[str], reference: str, line: int) -> CodeReference:
    paths = repository_paths.resolve(names, reference[3:]) if line else code_paths(names, reference)
    return CodeReference(reference, line, FOUND if len(paths) == 1 else AMBIGUOUS if paths else MISSING, paths)


def stamps(snapshot: Snapshot, page: Page, *, keep: bool = False) -> list[str]:
    """Return the stamps of all files that a page refers to, such as "src/auth.py 3f2a9c01d4e7".

    A stamp says which version of a file the page agrees with. If `keep` is True, files for which the page has a stamp
    keep it, and only other files get one of their present version. Otherwise all stamps are of the present versions.
    """
    paths = sorted({ref.paths[0] for ref in references(snapshot, page) if ref.state == FOUND and _is_file(ref)})
    if not paths:
        return []
    stamped = page.stamps if keep else {}
    known = stamped | {path: stamped[old] for path, old in (_moves(snapshot, page) if keep else ())}
    blobs = snapshot.files.blobs(paths)
    return [f"{path} {known.get(path) or blobs[path][:_LENGTH]}" for path in paths]


def changed_files(snapshot: Snapshot, page: Page, only: str = "") -> list[Drift]:
    """Return the files that have changed since a page was reviewed, by the page's stamps.

    Files that no longer exist are left out. If `only` is not "", only the file with this path is checked.
    """
    stamps = page.stamps
    if not stamps:
        return []
    if only in stamps:
        pairs = [(only, only)]
    else:
        pairs = [*((path, path) for path in stamps), *_moves(snapshot, page)]
        pairs = [pair for pair in pairs if only in ("", pair[0])]
    now = snapshot.files.blobs([path for path, _ in pairs])
    return [
        Drift(path, stamps[stamped], now[path][:_LENGTH], stamped)
        for path, stamped in pairs
        if path in now and not now[path].startswith(stamps[stamped])
    ]


def outdated_pages(snapshot: Snapshot) -> list[tuple[Page, list[str]]]:
    """Return the reviewed pages that no longer agree with the code, each with the files that changed or are missing.

    A file has changed if its blob id does not begin with the page's stamp of the file. The answer is cached until a
    page, a file with a stamp, or Git's index changes.
    """
    pages_now = snapshot.outline.pages
    stamped = sorted({path for page in pages_now for path in page.stamps})
    if not stamped:
        return []
    mark = snapshot.files.stamp(stamped)
    mark = mark and pages.digest((mark, pages_now))
    stored = snapshot.catalogue.recall(_OUTDATED) or _NOTHING
    cached = msgspec.msgpack.decode(stored, type=tuple[bytes, dict[str, list[str]]])
    if mark and cached[0] == mark:
        return [(page, cached[1][page.path]) for page in pages_now if page.path in cached[1]]
    result = _outdated_pages(snapshot)
    if mark:
        cached = mark, {page.path: files for page, files in result}
        snapshot.catalogue.keep(_OUTDATED, msgspec.msgpack.encode(cached))
    return result


def _outdated_pages(snapshot: Snapshot) -> list[tuple[Page, list[str]]]:
    """Git is asked about the stamped files only, and about all if one is missing."""
    now = snapshot.files.blobs(sorted({path for page in snapshot.outline.pages for path in page.stamps}))
    result = []
    for page in snapshot.outline.pages:
        stamps = page.stamps.items()
        files = [path for path, stamp in stamps if path not in now or not now[path].startswith(stamp)]
        if any(path not in now for path in files):  # the file may have moved to another path that a reference matches
            files = [drift.path for drift in changed_files(snapshot, page)]
            files += [ref.reference for ref in references(snapshot, page) if ref.state == MISSING]
        if files:
            result.append((page, list(dict.fromkeys(files))))
    return result


def records_since_overview(snapshot: Snapshot) -> int:
    """Return how many records are newer than the text of the project's page, `project.md`.

    The result is 0 if there is no such page, or if its time is unknown.
    """
    project = snapshot.outline.project
    if project is None or project.timestamp is None:
        return 0
    return snapshot.catalogue.recorded_since(timestamps.to_epoch(project.timestamp))


def _moves(snapshot: Snapshot, page: Page) -> list[tuple[str, str]]:
    """Yield a new and an old path where a reference means another file than at the review, such as of §4.auth.jwt."""
    stamps = page.stamps
    gone = frozenset(stamps.keys() - snapshot.files.existing(stamps))
    moves = []
    for ref in references(snapshot, page) if gone else ():
        if ref.line and ref.state == FOUND and _is_file(ref) and ref.paths[0] not in stamps:
            before = repository_paths.resolve(gone, ref.reference[3:])
            moves += [(ref.paths[0], before[0])] if len(before) == 1 else []
    return list(dict(moves).items())


def code_paths(names: frozenset[str], reference: str) -> tuple[str, ...]:
    """Return the file or folder that a code reference (PATH or PATH:LINE) names; () if it does not exist.

    `names` are the files of the repository. The path of a folder ends with a slash.
    """
    return _exact(names, reference) or _exact(names, pages.code_path(reference))


def _exact(names: frozenset[str], path: str) -> tuple[str, ...]:
    if path in names:
        return (path,)
    folder = path.rstrip("/")
    return (folder + "/",) if repository_paths.is_folder(names, folder) else ()


def _is_file(reference: CodeReference) -> bool:
    return not reference.paths[0].endswith("/")


class Referral(msgspec.Struct, frozen=True):
    """A reference of a page to a file: the page, and the text and state of the reference.

    The state is FOUND, MISSING (no file has this name now) or AMBIGUOUS (several files have it).
    """

    page: Page
    reference: str
    state: str


def sections_of_files(snapshot: Snapshot, paths: Collection[str]) -> dict[str, list[Page]]:
    """Return, for each of the paths, the pages of the sections that cover the file."""
    by_path: dict[str, list[Page]] = {path: [] for path in paths}
    for page in snapshot.outline.sections:
        for path in repository_paths.matching(paths, page.paths):
            by_path[path].append(page)
    return by_path


def references_to_files(snapshot: Snapshot, paths: Collection[str]) -> dict[str, list[Referral]]:
    """Return, for each of the paths, the references of pages to this file or to a folder above it.

    The files need not exist.
    """
    referrals: dict[str, list[Referral]] = {path: [] for path in paths}
    wanted = frozenset(referrals)
    present = snapshot.files.existing(wanted)
    gone = wanted - present
    likely = [
        (page, reference, line, name)
        for page in (snapshot.outline.pages if wanted else ())
        for reference, line in _reference_texts(page)
        # This skips most references, because to resolve them among all files is slow.
        if repository_paths.resolve(wanted, name := reference[3:] if line else reference.partition(":")[0])
    ]
    # The whole path of a file, or of a folder above it, can't mean anything else.
    whole = {name for *_, name in likely if name in present or repository_paths.is_folder(present, name.rstrip("/"))}
    names = _names_for(snapshot, {name for *_, name in likely} - whole) | present
    for page, reference, line, name in likely:
        ref = _resolve(present if name in whole else names, reference, line)
        meant: Iterable[str] = ref.paths
        if ref.state == MISSING:
            meant = repository_paths.resolve(gone, name) if line else [name]
        hits = {item for item in meant if item in referrals}
        hits |= {path for item in meant if item.endswith("/") for path in wanted if path.startswith(item)}
        for path in sorted(hits if ref.state != MISSING else hits & gone):
            referrals[path].append(Referral(page, ref.reference, ref.state))
    return referrals


def _names_for(snapshot: Snapshot, references: Collection[str]) -> frozenset[str]:
    if len(references) > _FEW:
        return snapshot.files.names()
    texts = sorted(map(repository_paths.without_stars, references))
    return snapshot.files.containing(texts)
