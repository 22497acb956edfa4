"""Resolve a § marker to the page, part of a page, file or folder that it names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from memctl.errors import MemctlError
from memctl.pages import generated_header, repository_paths
from memctl.pages.links import EXECUTIVE, FOLDER, SOURCES, document_of
from memctl.record import pages
from memctl.record.snapshot import Snapshot
from memctl.text import headings, markdown
from memctl.text.lazy_regex import lazy_regex
from memctl.text.phrases import some

if TYPE_CHECKING:
    from memctl.pages.render import Renderer  # Jinja takes 30 ms, and a record is shown without

ALL_SOURCES = "§4"
_SHOWN = 12  # candidates of an ambiguous reference
_IS_MARKER = lazy_regex(r"§.+|[1-4](?:\.[0-9]+)+")


class Place(msgspec.Struct, frozen=True):
    """What a marker names: a page, a heading on a page, a file or a folder.

    - `level`: 1 for the project, 2 for a section, 3 for a page of details, 4 for files.
    - `path`: the path of the page or file, relative to the worktree's top.
    - `text`: the rendered page without comments, the file's text, or the list of files in a folder.
    - `parent`: the marker one level up, such as a page's section; None if there is none.
    - `children`: the markers one level down.
    """

    marker: str
    level: int
    title: str
    path: str
    text: str
    parent: str | None
    children: tuple[str, ...]


def is_marker(text: str) -> bool:
    """Return whether a text is a § marker, with or without the sign."""
    return _IS_MARKER.fullmatch(text.strip()) is not None


def find(snapshot: Snapshot, making: Callable[[], Renderer], marker: str) -> Place:
    """Return the place (page, heading, file or folder) that a marker names.

    `making` is a function that returns the Renderer. It is called only if a page has to be rendered, because it is
    slow. Raises MemctlError if the marker does not exist (the hint has similar markers), is ambiguous, or names a page
    that can't be read.
    """
    marker = "§" + marker.strip().removeprefix("§")
    if marker == ALL_SOURCES:
        return _sources(snapshot, making)
    if marker.startswith("§4."):
        return _source(snapshot, marker)
    snapshot.withheld.refuse_page(marker)
    refuse_duplicate(snapshot, marker)
    if (page := snapshot.outline.find(marker)) is not None:
        return _page(snapshot, making(), marker, page)
    for detail in snapshot.outline.details:
        for part in pages.numbered_headings(detail):
            if part.id == marker:
                return _part(snapshot, making(), detail, part)
    refuse_broken(snapshot, marker)
    if marker == pages.PROJECT_ID:
        return _page(snapshot, making(), marker, None)
    raise MemctlError(f"there is no page or heading {marker}", _near(snapshot, marker))


def refuse_broken(snapshot: Snapshot, marker: str) -> None:
    """Raise MemctlError if the page of a marker exists but can't be read."""
    if (fault := snapshot.outline.fault_of(marker)) is not None:
        message = f"the page {marker} can't be read: {snapshot.prefix}/{fault}"
        raise MemctlError(message, "correct the file first; `memctl check` lists all files that can't be read")


def refuse_duplicate(snapshot: Snapshot, marker: str) -> None:
    """Raise MemctlError if several pages have the marker's number, as after two clones added pages."""
    same_id = [page for page in snapshot.outline.pages if page.id == marker]
    if len(same_id) > 1:
        names = " and ".join(f"{snapshot.prefix}/{page.path}" for page in same_id)
        hint = "`memctl renumber` gives one of them another number"
        raise MemctlError(f"{marker} is ambiguous: {names} have the same number", hint)


def _page(snapshot: Snapshot, making: Renderer, marker: str, page: pages.Page | None) -> Place:
    outline = snapshot.outline
    parent: str | None = None
    if page is None or page.kind is pages.PROJECT:
        children = [section.id for section in outline.sections]
    elif page.kind is pages.SECTION:
        parent, children = pages.PROJECT_ID, [detail.id for detail in outline.details_of(page.id)]
    else:
        parent, children = page.section, [part.id for part in pages.numbered_headings(page)]
        children += [f"§4.{path}" for path in page.code_refs]
    name = EXECUTIVE if page is None else document_of(page)
    path = page.path if page else f"{FOLDER}/{name}"
    title, text = page.title if page else snapshot.config.project, markdown.visible(making.page(name))
    return Place(marker, int(marker[1]), title, f"{snapshot.prefix}/{path}", text, parent, tuple(children))


def _part(snapshot: Snapshot, making: Renderer, page: pages.Page, part: pages.NumberedHeading) -> Place:
    heading = f"{part.id[1:]} {part.title}"
    text = next((p.text for p in headings.split(making.page(document_of(page))) if p.heading == heading), part.text)
    text = markdown.visible(text.rstrip("\n") + "\n")
    return Place(part.id, 3, part.title, f"{snapshot.prefix}/{page.path}", text, page.id, ())


def _sources(snapshot: Snapshot, making: Callable[[], Renderer]) -> Place:
    """In a memory of format 1 it is the document as last rendered, or a list of the files if there is none."""
    names = snapshot.files.names()
    covered = {path for page in snapshot.outline.sections for path in repository_paths.matching(names, page.paths)}
    path = f"{FOLDER}/{SOURCES}"
    if snapshot.config.format == 1:
        from memctl.pages import documents

        document = generated_header.split(documents.current_text(snapshot, path) or "")
        text = document.text if document else "".join(f"{name}\n" for name in sorted(covered))
    else:
        text = making().source_files(live=True)
    text = markdown.visible(text)
    children = tuple(f"§4.{name}" for name in sorted(covered))
    return Place(ALL_SOURCES, 4, "Source files", f"{snapshot.prefix}/{path}", text, None, children)


def _source(snapshot: Snapshot, marker: str) -> Place:
    names = snapshot.files.names()
    reference = marker[3:]
    paths = repository_paths.matching(names, [reference]) if "*" in reference and "/" in reference else []
    paths = paths or list(repository_paths.resolve(names, reference))
    if not paths:
        refuse_closed_file(snapshot, reference)
        raise MemctlError(f"no file of the repository matches {marker}", _near_files(names, reference))
    if "*" in reference and not paths[0].endswith("/"):
        return _listing(snapshot, marker, marker[3:], paths)
    if len(paths) > 1:
        shown = some([f"  §4.{path}" for path in paths], _SHOWN, "\n", "\n  and ")
        raise MemctlError(f"{marker} matches several files:\n{shown}", "give more of the path")
    path = paths[0]
    if path.endswith("/"):
        return _listing(snapshot, f"§4.{path.rstrip('/')}", path, sorted(n for n in names if n.startswith(path)))
    content = snapshot.files.read([path]).get(path)
    if content is None or b"\0" in content[:8_000]:
        raise MemctlError(f"{path} is {'too large to be shown' if content is None else 'not text'}")
    text = content.decode(errors="replace")
    return Place(f"§4.{path}", 4, path.rpartition("/")[2], path, text, _section_of(snapshot, path), ())


def refuse_closed_file(snapshot: Snapshot, reference: str) -> None:
    """Raise MemctlError if the owner of a section keeps the file or folder of a reference from the reader.

    `reference` is a path or the end of one, as after "§4." in a marker.
    """
    closed = snapshot.withheld.files
    for path in repository_paths.resolve(frozenset(closed), reference) if closed else ():
        raise MemctlError(closed.get(path) or next(iter(closed.values())), "ask the owner of the section for access")


def _listing(snapshot: Snapshot, marker: str, path: str, files: list[str]) -> Place:
    text = "".join(f"{name}\n" for name in files)
    children = tuple(f"§4.{name}" for name in files)
    return Place(marker, 4, path, path, text, _section_of(snapshot, files[0]), children)


def _section_of(snapshot: Snapshot, path: str) -> str | None:
    for page in snapshot.outline.sections:
        if repository_paths.matching([path], page.paths):
            return page.id
    return None


def _near(snapshot: Snapshot, marker: str) -> str:
    from difflib import get_close_matches

    known = snapshot.outline.markers()
    near = get_close_matches(marker, known, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else "`memctl page index` lists all markers"


def _near_files(names: frozenset[str], reference: str) -> str:
    from difflib import get_close_matches

    tail = reference.rpartition("/")[2].rpartition(".")[2] if "/" not in reference else reference.rpartition("/")[2]
    stems: dict[str, str] = {}
    for name in sorted(names):
        base = name.rpartition("/")[2]
        stems.setdefault(base, name)
        stems.setdefault(base.partition(".")[0], name)
    near = dict.fromkeys(stems[stem] for stem in get_close_matches(tail, stems, n=3, cutoff=0.7))
    meant = " or ".join(f"§4.{name}" for name in near)
    return f"did you mean {meant}?" if near else "`memctl show §4.src` lists a folder"
