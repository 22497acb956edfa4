"""Level 4: the repository's own files that sections cover and pages refer to, with facts about each.

That is its path, last change, size, purpose, and for a file of more than 5,000 tokens markers of what it contains
(rules.md#levels-of-pages). The files change with every commit of code and the page does not: its facts about a file are
as of the last rendering, and `made_from` tells whether it lists the files that the memory asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from memctl.git.introductions import last_changes
from memctl.git.repository import Repository
from memctl.pages import freshness, levels, repository_paths
from memctl.pages.contents import CountTokens, ListEntry
from memctl.pages.generated_header import digest
from memctl.pages.links import Links
from memctl.record import mentions
from memctl.record.pages import Page
from memctl.record.snapshot import Snapshot
from memctl.text import markdown
from memctl.text.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from memctl.pages.outline import Marker

LARGE = 5_000  # tokens; rules.md#levels-of-pages
_FEW = 3  # markers: fewer, such as the title of a text, tell nothing of a file
_PRIVATE = lazy_regex(r"(?:^|[ .])[_#]")
_ROWS = 200  # files of a section that are listed one by one
_MARKERS = 40  # of one file that are named


class SourceFile(msgspec.Struct, frozen=True):
    """A file: its place, size in bytes and tokens, last change, purpose, and content.

    `more` counts the definitions beyond its `markers`.
    """

    id: str
    title: str
    link: str
    size: int
    tokens: int | None
    changed: str
    purpose: str
    markers: tuple[ListEntry, ...]
    more: int = 0


class SourceGroup(msgspec.Struct, frozen=True):
    """The files of one section (or those that only pages refer to), and how many are not listed."""

    section: ListEntry | None
    files: tuple[SourceFile, ...]
    left_out: int


class Level4(msgspec.Struct, frozen=True):
    title: str
    groups: tuple[SourceGroup, ...]


def made_from(snapshot: Snapshot) -> str:
    """Return a digest of everything in the memory that decides which files are listed."""
    covered = [(page.id, page.title, page.path, page.paths) for page in snapshot.outline.sections if page.paths]
    listed = sorted({reference for page in _pages(snapshot) for reference in page.code_refs})
    mentioned = sorted({marker for page in _pages(snapshot) for marker in _mentions(page)})
    return digest(msgspec.json.encode([levels.title_of(snapshot), covered, listed, mentioned]).decode())


def level4(snapshot: Snapshot, links: Links, repository: Repository, count: CountTokens) -> Level4:
    """Return the files of level 4, section by section."""
    names = snapshot.files.names()
    chosen: list[tuple[Page | None, list[str]]] = []
    for page in snapshot.outline.sections:
        chosen.append((page, repository_paths.matching(names, page.paths)))
    covered = {path for _, paths in chosen for path in paths}
    chosen.append((None, sorted({path for page in _pages(snapshot) for path in referred(page, names)} - covered)))
    listed = {path for _, paths in chosen for path in paths[:_ROWS]}
    contents = snapshot.files.read(listed)
    changed = last_changes(repository, listed)
    rows = {path: _row(links, path, contents.get(path), changed.get(path, ""), count) for path in listed}
    groups = [
        SourceGroup(
            ListEntry(page.id, markdown.inline(page.title), links.marker(page.id)) if page else None,
            tuple(rows[path] for path in paths[:_ROWS]),
            max(len(paths) - _ROWS, 0),
        )
        for page, paths in chosen
        if paths or (page and page.paths)  # its page links to this one
    ]
    return Level4(levels.title_of(snapshot), tuple(groups))


def referred(page: Page, names: frozenset[str]) -> dict[str, str]:
    """Return the files that a page refers to, each with the reference as written; ambiguous and broken ones are left
    out."""
    found = {path: ref for ref in page.code_refs for path in freshness.code_paths(names, ref) if path in names}
    for reference in sorted(_mentions(page)):
        if "*" not in reference:
            paths = repository_paths.resolve(names, reference[3:])
            if len(paths) == 1 and not paths[0].endswith("/"):
                found.setdefault(paths[0], reference)
    return found


def _pages(snapshot: Snapshot) -> tuple[Page, ...]:
    return (*snapshot.outline.sections, *snapshot.outline.details)


def _mentions(page: Page) -> set[str]:
    return {item.text for item in mentions.in_text(page.body) if item.text.startswith("§4.")}


def _row(links: Links, path: str, content: bytes | None, changed: str, count: CountTokens) -> SourceFile:
    from memctl.pages import outline  # only this page looks into files

    link, title = links.file(path), markdown.in_cell(markdown.code(path))
    text = _text(content)
    if text is None:  # too large, or no text
        return SourceFile(f"§4.{path}", title, link, len(content or b""), None, changed[:10], "", ())
    tokens = count(path, text)
    marked = outline.markers(path, text) if tokens > LARGE else []
    entries = tuple(
        ListEntry(f"§4.{path}:{m.line}", markdown.code(m.title), f"{link}#L{m.line}") for m in _most_telling(marked)
    )
    purpose, more = markdown.cell(outline.purpose(path, text)), len(marked) - len(entries)
    return SourceFile(f"§4.{path}", title, link, len(content or b""), tokens, changed[:10], purpose, entries, more)


def _most_telling(marked: Sequence[Marker]) -> list[Marker]:
    """Return the markers that describe a file best: the public ones of the outermost levels, up to a few."""
    public = [one for one in marked if not _PRIVATE.search(one.title)]
    for level in sorted({one.level for one in public}):
        found = [one for one in public if one.level <= level]
        if len(found) >= _FEW:
            break
    else:
        found = public
    return found[:_MARKERS]


def _text(content: bytes | None) -> str | None:
    if content is None or b"\0" in content[:8_000]:
        return None
    return content.decode(errors="replace")
