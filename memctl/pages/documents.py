"""Compare the documents of a memory with what rendering them now would give."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

import msgspec

from memctl.pages import generated_header
from memctl.pages.links import EXECUTIVE, FOLDER, INDEX, SOURCES
from memctl.pages.render import Renderer
from memctl.pages.template_values import BrokenTemplate
from memctl.record import ids, pages
from memctl.record.errors import InvalidRecord
from memctl.record.snapshot import Snapshot
from memctl.text import markdown


class Comparison(msgspec.Struct, frozen=True):
    """How the documents on the disk differ from what rendering would give now. All paths are below `.memory/`.

    - `stale`: documents that are outdated or missing, with the text that they should have.
    - `by_hand`: documents that a person edited, which rendering does not overwrite.
    - `orphans`: documents whose page no longer exists.
    - `sources_stale`: whether the document of source files is to be rendered again, because it lists the wrong files or
      has the layout of an earlier memctl.
    - `sources_earlier`: whether the earlier layout is the only reason for that.
    - `showing_unreadable`: documents that show a record or page which can't be read now. Rendering them would lose what
      they show of it, so they are left as they are.
    - `broken`: documents whose template has an error, with the error.
    """

    stale: dict[str, str]
    by_hand: tuple[str, ...]
    orphans: tuple[str, ...]
    sources_stale: bool
    sources_earlier: bool = False
    showing_unreadable: tuple[str, ...] = ()
    broken: dict[str, BrokenTemplate] = {}

    @property
    def faults(self) -> dict[str, BrokenTemplate]:
        """The errors of templates, by message; an error is listed once, even if the template has several documents."""
        return {error.message: error for error in self.broken.values()}


def compare(
    making: Renderer,
    names: Iterable[str] | None = None,
    *,
    force: bool = False,
    overwrite: Container[str] = (),
    exact: bool = False,
) -> Comparison:
    """Compare the documents on the disk with those that the renderer `making` gives now.

    `names` are the documents to compare, as file names below `docs/`; None compares all. If `force` is True, a document
    that a person edited counts as stale, so that it is overwritten; so do those in `overwrite`, by path. In format 2 a
    document in which only a formatter has changed something is up to date, unless `exact` is True.
    """
    stale: dict[str, str] = {}
    by_hand: list[str] = []
    showing: list[str] = []
    unreadable = _unreadable(making.snapshot)
    broken: dict[str, BrokenTemplate] = {}
    for name in dict.fromkeys(making.names() if names is None else names):
        path = f"{FOLDER}/{name}"
        old = current_text(making.snapshot, path)
        try:
            text = making.document(name)
        except BrokenTemplate as error:  # other documents have other templates
            broken[path] = error
            continue
        if old is not None and (text == old or (not exact and _is_reformatted(making, old, text))):
            continue
        is_forced = force or path in overwrite
        if old is not None and not is_forced and not _has_conflict(old) and making.is_edited(path, old, text):
            by_hand.append(path)
        elif old is not None and any(_would_lose(name, old, text, marker) for marker in unreadable):
            showing.append(path)
        else:
            stale[path] = text
    if names is not None:
        return Comparison(stale, tuple(by_hand), (), False, showing_unreadable=tuple(showing), broken=broken)
    is_ours, is_stale, is_earlier = _sources_state(making)
    is_forced = force or f"{FOLDER}/{SOURCES}" in overwrite
    by_hand += [] if is_ours or is_forced else [f"{FOLDER}/{SOURCES}"]
    sources_stale = is_stale or is_earlier or (is_forced and not is_ours)
    is_earlier = is_earlier and not is_stale
    return Comparison(stale, tuple(by_hand), _orphans(making), sources_stale, is_earlier, tuple(showing), broken)


def _unreadable(snapshot: Snapshot) -> list[str]:
    identifiers = [ids.id_in_path(fault.path) for fault in snapshot.catalogue.faults()]
    identifiers += [f"§{number}" for fault in snapshot.outline.faults if (number := pages.number_at(fault.path))]
    return [marker for marker in dict.fromkeys(identifiers) if marker]


def _would_lose(name: str, old: str, new: str, marker: str) -> bool:
    if marker == pages.PROJECT_ID:
        return name in (EXECUTIVE, INDEX)  # these show the project's page without its marker
    pattern = re.compile(re.escape(marker) + r"(?!\d)")
    return pattern.search(old) is not None and pattern.search(new) is None


def current_text(snapshot: Snapshot, path: str) -> str | None:
    """Return the text of a document in a Snapshot; None if there is no file at `path`, "" if the file is not text."""
    try:
        return snapshot.read(path)
    except FileNotFoundError:
        return None
    except InvalidRecord:
        return ""


def is_intact(text: str) -> bool:
    """Return whether the hash of a document shows that it is unchanged since memctl wrote it; True without a hash."""
    document = generated_header.split(text)
    return document is not None and document.is_intact is not False


def _is_reformatted(making: Renderer, old: str, new: str) -> bool:
    return not making.has_hashes and markdown.words(old) == markdown.words(new)


def _has_conflict(text: str) -> bool:
    return "\n<<<<<<< " in text or text.startswith("<<<<<<< ")


def _sources_state(making: Renderer) -> tuple[bool, bool, bool]:
    """Return three facts about the document of source files.

    Whether it is unedited, whether it lists the wrong files, and whether it has the layout of an earlier memctl.
    """
    from memctl.pages import sources  # what a write of a record does not touch

    path, snapshot = f"{FOLDER}/{SOURCES}", making.snapshot
    text = current_text(snapshot, path)
    if text is None or _has_conflict(text):
        return True, True, False
    document = generated_header.split(text)
    if document is None or making.is_edited(path, text):
        return False, False, False
    if making.has_hashes:
        is_stale, layout = document.made_from != sources.made_from(snapshot), generated_header.LAYOUTS[SOURCES]
    else:
        is_stale, layout = sources.difference(snapshot, making.links, text)[0], generated_header.OF_FORMAT_2
    return True, is_stale, document.layout < layout


def _orphans(making: Renderer) -> tuple[str, ...]:
    # The document of a page that can't be read now is not an orphan.
    broken = [fault.path.rpartition("/")[2] for fault in making.snapshot.outline.faults]
    wanted = {f"{FOLDER}/{name}" for name in (*making.names(), SOURCES, *broken)}
    listed = [path for path in making.snapshot.names(FOLDER) if path.endswith(".md") and path not in wanted]
    return tuple(path for path in listed if not making.is_edited(path, current_text(making.snapshot, path) or ""))
