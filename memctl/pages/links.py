"""Make links in rendered documents: from § markers, record ids and files to relative link targets."""

from __future__ import annotations

import posixpath
import re
from functools import cached_property

from memctl.errors import USAGE, MemctlError
from memctl.record import ids, pages
from memctl.record.kinds import CHECKPOINTS, HANDOFF, SESSIONS
from memctl.record.mentions import MARKER
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.memory_root import DOCUMENTS
from memctl.text import headings, markdown
from memctl.text.lazy_regex import lazy_regex

FOLDER = DOCUMENTS
INDEX = "INDEX.md"
EXECUTIVE = "1.0-executive-summary.md"
SOURCES = "4-sources.md"
UNTRACKED = f"{FOLDER}/.gitignore"  # with `docs: false` this file makes Git ignore the folder
NEVER_SHOWN = (f"{SESSIONS}/", f"{CHECKPOINTS}/", f"{HANDOFF.folder}/")  # folders whose files no document shows

_LINK = lazy_regex(r"(!?\[(?:[^\[\]\\]|\\.)*\])\(([^()\s]*)\)")
_ANCHOR = lazy_regex(r"#(\d+)(?:-|$)")  # hosting sites turn the heading `2.1 Architecture` into #21-architecture
_ID = lazy_regex(rf"(?<![\w/-]){ids.SHAPE}(?![\w-])")
_REFERENCE = lazy_regex(rf"{MARKER.pattern}|{_ID.pattern}")
_MOST = 1_000  # different references of one text that are looked up; the longest page has 5,000 tokens


def document_of(page: pages.Page) -> str:
    """Return the name of the file below `docs/` to which a page is rendered."""
    return EXECUTIVE if page.kind is pages.PROJECT else page.path.rpartition("/")[2]


def _part_anchors(page: pages.Page) -> tuple[str, ...]:
    document = markdown.target(document_of(page))
    return tuple(f"{document}#{markdown.slug(f'{part.id[1:]} {part.title}')}" for part in pages.numbered_headings(page))


_CODE = "§4."  # markers of files are not refused here; `check` reports those that lead nowhere


class Links:
    """Makes the targets of links in documents: paths relative to `docs/`, the folder of a memory's documents."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._up = "../" * (snapshot.prefix.count("/") + 2)  # from docs/ to the worktree's top
        self._anchors = {page.id: markdown.target(document_of(page)) for page in snapshot.outline.pages}
        self._parts = {page.path: _part_anchors(page) for page in snapshot.outline.details}
        for page in snapshot.outline.details:
            self._anchors |= zip((part.id for part in pages.numbered_headings(page)), self.parts(page), strict=True)
        self._anchors[pages.PROJECT_ID] = EXECUTIVE
        self._targets: dict[str, str] = {}
        self._left = _MOST

    def parts(self, page: pages.Page) -> tuple[str, ...]:
        """Return the link targets of the headings on a page of details, one for each heading, in the page's order."""
        return self._parts[page.path]

    def record(self, record: Record) -> str:
        """Return the link target of a record's file."""
        return "../" + markdown.target(record.path)

    def from_record(self, record: Record, text: str) -> str:
        """Return a record's text for use in a document, with its relative links changed to lead to the same files.

        A document is in another folder than the record.
        """
        folder = posixpath.dirname(record.path)
        return markdown.rewrite_links(text, lambda target: posixpath.relpath(posixpath.join(folder, target), FOLDER))

    def file(self, path: str) -> str:
        """Return the link target of a file or folder of the repository."""
        return self._up + markdown.target(path)

    def marker(self, marker: str) -> str:
        """Return the link target of a § marker; "" if the marker names no place, or is ambiguous."""
        if not marker.startswith("§4."):
            return self._anchors.get(marker, "")
        from memctl.pages import repository_paths  # most pages name no file

        path = marker[3:]
        paths = repository_paths.resolve(self._stamped_paths, path)
        if len(paths) != 1:
            paths = repository_paths.resolve(self._snapshot.files.names(), path)
        return self.file(paths[0].rstrip("/")) if len(paths) == 1 else ""

    @cached_property
    def _stamped_paths(self) -> frozenset[str]:
        """Most references mean a file in the stamps of pages; searching these saves listing all files."""
        return frozenset(path for page in self._snapshot.outline.pages for path in page.stamps)

    def prose(self, text: str) -> str:
        """Return a page's text with every § marker and record id outside of code turned into a link."""
        if "§" not in text and "](#" not in text and _ID.search(text) is None:
            return text
        self._left = _MOST
        lines = []
        for line, outside in headings.outside_code(text):
            is_text = outside and ("§" in line or "-" in line)
            lines.append(markdown.outside_code(line, self._link_part) if is_text else line)
        return "\n".join(lines)

    def _link_part(self, text: str) -> str:
        done, end = [], 0
        for match in _LINK.finditer(text):
            done.append(self._link_references(text[end : match.start()]))
            label, where = match[1], match[2]
            if where.startswith("§"):
                target = self._target(where)
                done.append(f"{label}({target})" if target else label[1:-1])
            else:
                target = self._of_anchor(label, where) if where.startswith("#") else ""
                done.append(f"{label}({target})" if target else match[0])
            end = match.end()
        return "".join([*done, self._link_references(text[end:])])

    def _of_anchor(self, label: str, anchor: str) -> str:
        """Return the target of a link whose anchor assumes that all levels are one document; "" if it is unknown.

        For `[Details: §2.1](#21-architecture)` it is the target of the first marker in the label, otherwise the only
        page or heading whose number without dots begins the anchor.
        """
        if (match := _ANCHOR.match(anchor)) is None:
            return ""
        targets = (self._target(marker[0].rstrip(".-")) for marker in MARKER.finditer(label))
        if target := next(filter(None, targets), ""):
            return target
        numbered = [where for marker, where in self._anchors.items() if re.sub(r"\D", "", marker) == match[1]]
        return numbered[0] if len(numbered) == 1 else ""

    def _link_references(self, text: str) -> str:
        def link(match: re.Match[str]) -> str:
            name = match[0].rstrip(".-")
            if where := self._target(name):
                return f"[{name}]({where})" + match[0][len(name) :]
            return _ID.sub(link, match[0]) if name.startswith("§") else name

        return _REFERENCE.sub(link, text)

    def _target(self, name: str) -> str:
        """Return the link target of a § marker or record id, "" if unknown or if `_MOST` names were looked up."""
        if name not in self._targets and self._left:
            self._left -= 1
            record = None if name.startswith("§") else self._snapshot.catalogue.find(name)
            self._targets[name] = self.record(record) if record else self.marker(name)
        return self._targets.get(name, "")


def refuse_missing_section(outline: pages.Outline, marker: str) -> None:
    """Raise MemctlError if a marker names a section, page or heading that does not exist (MEM205 of `check`).

    Markers of files are not checked. In a memory without pages any marker is allowed, because records may be written
    before pages. A page that can't be read counts as existing.
    """
    if not outline.pages or marker.startswith(_CODE) or outline.fault_of(marker) is not None:
        return
    if marker not in outline.markers():
        raise missing_section(outline, marker)


def missing_section(outline: pages.Outline, marker: str) -> MemctlError:
    """Return the error for a section that does not exist."""
    known = ", ".join(page.id for page in (*outline.sections, *outline.details))
    hint = f"the sections and pages of details are {known}"
    hint = hint if known else "there is no section yet: `memctl page section add` adds one"
    return MemctlError(f"there is no section {marker}", hint, USAGE, "not-found")


def section_marker(value: str) -> str:
    """Return a section's marker with its sign: both "2.1" and "§2.1" give "§2.1"."""
    return "§" + value.strip().removeprefix("§")


def known_section(snapshot: Snapshot, reference: str) -> str:
    """Return the marker of the page that a person names: both "2.1" and "§2.1" give "§2.1".

    The result is "" if `reference` is "". Raises MemctlError if there is no such page.
    """
    marker = section_marker(reference) if reference else ""
    if marker and snapshot.outline.find(marker) is None:
        raise missing_section(snapshot.outline, marker)
    return marker
