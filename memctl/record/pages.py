"""Pages: what people write for levels 1 to 3, in `project.md`, `sections/` and `details/`.

They are read like records: front matter, and a body with headed sections. Levels and markers are those of
rules.md#levels-of-pages: §1.0 the project, §2.N a section, §3.N the details of a section, §3.N.M a heading in them,
§4.PATH a file of the repository.
"""

# Without `from __future__ import annotations`: of what is put off, msgspec compiles each when it first decodes.

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import frontmatter
from memctl.record.errors import Fault, InvalidRecord
from memctl.record.frontmatter import invalid, take_apart
from memctl.record.ids import slug
from memctl.record.kinds import Field
from memctl.record.parser import STEERING, found_allowed, leads_out, wrong_types
from memctl.record.record import Percent
from memctl.text import headings, timestamps
from memctl.text.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from memctl.record.source import Catalogue

_OUTLINE = b"outline"  # the key under which parsed pages are cached

PROJECT_PATH = "project.md"
PROJECT_ID = "§1.0"
_LINES = lazy_regex(r"(.+?):(\d{1,9})(?:-(\d{1,9}))?")
_FILE = lazy_regex(r"([23]\.[1-9][0-9]*)(?:-[^/]*)?\.md")
_BEGINS = lazy_regex(r"[23]\.[1-9][0-9]*(?![0-9])")
_NUMBERED = lazy_regex(r"§?([0-9]+(?:\.[0-9]+)*)[.:]? +(\S.*)")


class PageKind(msgspec.Struct, frozen=True):
    """One of the three levels that people write: its folder, its marker, and the headings that are content fields."""

    name: str
    level: int
    folder: str
    id_pattern: str
    id_allowed: str
    fields: tuple[Field, ...]


_OF_PROJECT = (
    Field("goal", "Goal", "goal", "What the project is to achieve, in one sentence."),
    Field("status", "Status", "status", "Where it stands, in a sentence or two."),
    Field("priorities", "Priorities", "priority", "What comes first, most important first.", True),
)
_OF_SECTION = (
    Field("overview", "Overview", "overview", "What this part is, in three to five sentences."),
    Field("status", "Status", "status", "Where it stands."),
    Field("next_actions", "Next actions", "next", "What is to be done next.", True),
)
PROJECT = PageKind("project", 1, "", "§1\\.0", "§1.0", _OF_PROJECT)
SECTION = PageKind("section", 2, "sections", "§2\\.[1-9][0-9]*", "a marker such as §2.1", _OF_SECTION)
DETAIL = PageKind("detail", 3, "details", "§3\\.[1-9][0-9]*", "a marker such as §3.1", ())
KINDS = {kind.name: kind for kind in (PROJECT, SECTION, DETAIL)}
_BY_FOLDER = {kind.folder: kind for kind in (SECTION, DETAIL)}


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One page as it was written. `path` is relative to `.memory/`; `body` is Markdown.

    `completion_percentage` is the declared progress, `weight` the section's weight in the project's progress. `paths`
    are globs of the code that a section covers, `code_refs` paths of files. `reviewed` has for each file the content
    (the beginning of the blob's id) with which the page was last found to agree: `src/auth.py 1f0c9a2b7d3e`. `aliases`
    are earlier markers of the page, given up because another clone had given them out too.
    """

    id: str
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    section: str | None = None  # whose details these are
    completion_percentage: Percent | None = None
    weight: Annotated[int, msgspec.Meta(gt=0, le=1000)] | Annotated[float, msgspec.Meta(gt=0, le=1000)] = 1
    paths: list[str] = []
    code_refs: list[str] = []
    reviewed: list[str] = []
    aliases: list[str] = []
    timestamp: str | None = None
    agent_id: str | None = None
    path: str = ""
    body: str = ""

    @property
    def kind(self) -> PageKind:
        return (PROJECT, SECTION, DETAIL)[int(self.id[1]) - 1]

    @property
    def number(self) -> str:
        return self.id[1:]

    @property
    def stamps(self) -> dict[str, str]:
        """The reviewed content of each file: beginnings of blob ids by path."""
        return dict(item.rsplit(" ", 1) for item in self.reviewed)


_SAID = ("id", "title", "section", "completion_percentage", "weight")
ORDER = (*_SAID, "paths", "code_refs", "reviewed", "aliases", "timestamp", "agent_id")
LISTS = ("paths", "code_refs", "reviewed")


class NumberedHeading(msgspec.Struct, frozen=True):
    """A headed part of a page of details: its marker (§3.1.2), its title without a number, its text, its line."""

    id: str
    title: str
    text: str
    line: int  # in the body, 1-based


class Outline(msgspec.Struct, frozen=True, dict=True):
    """All pages of a memory, by their numbers, and the faults of those that can't be read."""

    project: Page | None
    sections: tuple[Page, ...]
    details: tuple[Page, ...]
    faults: tuple[Fault, ...]

    @property
    def pages(self) -> tuple[Page, ...]:
        return (*((self.project,) if self.project else ()), *self.sections, *self.details)

    @property
    def percentage(self) -> int | None:
        """How far the project is: as it declares, else as its sections do; None if none does."""
        if self.project and self.project.completion_percentage is not None:
            return self.project.completion_percentage
        return None if self.mean_percentage is None else round(self.mean_percentage)

    @property
    def mean_percentage(self) -> float | None:
        """The weighted mean of what sections declare; None if none does. MEM305 allows 5 points of difference."""
        declared = [page for page in self.sections if page.completion_percentage is not None]
        total = sum(page.weight for page in declared)
        return sum(page.weight * (page.completion_percentage or 0) for page in declared) / total if declared else None

    def details_of(self, section: str) -> tuple[Page, ...]:
        """Return the pages of details that belong to a section."""
        return tuple(self._details_by_section.get(section, ()))

    def find(self, marker: str) -> Page | None:
        """Return the page with a marker; of several with the same, the first."""
        return self._by_marker.get(marker)

    def named(self, name: str) -> Page:
        """Return the section or page of details with a title, its slug, or a part of it, ignoring case.

        Raises MemctlError if there is none, or if there are several; a section goes before details of the same title.
        """
        wanted = name.strip().casefold()
        for pages in (self.sections, self.details):
            if same := [page for page in pages if wanted in (page.title.casefold(), slug(page.title))]:
                return _only(name, same)
        everything = (*self.sections, *self.details)
        if part := [page for page in everything if wanted in page.title.casefold()]:
            return _only(name, part)
        known = ", ".join(f"{page.id} {page.title}" for page in everything) or "none; `memctl section add` makes one"
        raise MemctlError(f"there is no section {name!r}", f"there are {known}", USAGE, "not-found")

    def fault_of(self, marker: str) -> Fault | None:
        """Return the fault of the unreadable page that a marker, or the heading it names, belongs to; None without
        one."""
        number = ".".join(marker[1:].split(".")[:2])
        return next((fault for fault in self.faults if number_at(fault.path) == number), None)

    def markers(self) -> tuple[str, ...]:
        """Return every marker of levels 1 to 3 that leads somewhere."""
        parts = [heading.id for page in self.details for heading in parts_of(page)]
        return (PROJECT_ID, *(page.id for page in (*self.sections, *self.details)), *parts)

    @cached_property
    def _by_marker(self) -> dict[str, Page]:
        return {page.id: page for page in reversed(self.pages)}

    @cached_property
    def _details_by_section(self) -> dict[str | None, list[Page]]:
        found: dict[str | None, list[Page]] = {}
        for page in self.details:
            found.setdefault(page.section, []).append(page)
        return found


def _only(name: str, found: Sequence[Page]) -> Page:
    if len(found) > 1:
        named = ", ".join(f"{page.id} {page.title}" for page in found)
        raise MemctlError(f"{name!r} may be {named}", "name one by its number", USAGE, "ambiguous")
    return found[0]


def kind_at(path: str) -> PageKind | None:
    """Return the kind of page expected at a path below `.memory/`; None where no page belongs."""
    if path == PROJECT_PATH:
        return PROJECT
    folder, _, name = path.partition("/")
    kind = _BY_FOLDER.get(folder)
    return kind if kind and "/" not in name and name.endswith(".md") and not name.startswith(".") else None


def number_at(path: str) -> str:
    """Return the number in the name of a page's file, whatever the file holds; "" if there is none."""
    if path == PROJECT_PATH:
        return PROJECT_ID[1:]
    match = _BEGINS.match(path.rpartition("/")[2]) if kind_at(path) else None
    return match[0] if match else ""


def outline(texts: Iterable[tuple[str, str]], unreadable: Iterable[Fault] = ()) -> Outline:
    """Put the pages together from pairs of path and text; `unreadable` are faults found in getting the texts."""
    pages: list[Page] = []
    faults = list(unreadable)
    for path, text in texts:
        try:
            pages.append(parse(text, path))
        except InvalidRecord as error:
            faults += error.faults
    pages.sort(key=lambda page: (sort_key(page.id), page.path))
    by_kind = {name: [page for page in pages if page.kind.name == name] for name in KINDS}
    project = next(iter(by_kind["project"]), None)
    return Outline(project, tuple(by_kind["section"]), tuple(by_kind["detail"]), tuple(faults))


def cached_outline(texts: Sequence[tuple[str, str]], catalogue: "Catalogue") -> Outline:
    """Return what `outline` does, parsed only if a catalogue has not cached it for these texts."""
    mark, kept = digest(texts), catalogue.recall(_OUTLINE) or b""
    if kept.startswith(mark):
        return msgspec.msgpack.decode(kept[len(mark) :], type=Outline)
    found = outline(texts)
    catalogue.keep(_OUTLINE, mark + msgspec.msgpack.encode(found))
    return found


def digest(values: object) -> bytes:
    """Return 16 bytes that differ for other values, such as texts of pages: what an answer is cached with."""
    from _blake2 import blake2b  # hashlib would load OpenSSL, 3 ms and more

    return blake2b(msgspec.msgpack.encode(values), digest_size=16).digest()


def sort_key(marker: str) -> tuple[int, ...]:
    """Return the key that sorts markers of levels 1 to 3: §2.10 after §2.9."""
    return tuple(int(part) for part in re.findall("[0-9]+", marker))


def parse(text: str, path: str) -> Page:
    """Read a page; raises InvalidRecord naming every fault with its line."""
    kind = kind_at(path)
    assert kind is not None, path
    text = frontmatter.clean_newlines(text)
    values, body = take_apart(text, path)
    values.setdefault("id", PROJECT_ID if kind is PROJECT else None)
    if wrong := problems(kind, values, path):
        raise invalid(text, path, wrong)
    known = {name: values[name] for name in ORDER if values.get(name) is not None}
    if "timestamp" in known:
        known["timestamp"] = timestamps.parse(known["timestamp"])
    return Page(path=path, body=body, **known)


_ALLOWED = {
    "title": "a text of 1 to 100 characters",
    "completion_percentage": "a whole number from 0 to 100",
    "weight": "a number above 0",
    "paths": "a list of globs inside the repository, such as src/auth/**",
    "code_refs": "a list of paths inside the repository, such as src/auth.py",
    "reviewed": "a list of paths, each with the content's id, as `memctl review` writes it",
    "aliases": "a list of markers that the page had before",
    "timestamp": timestamps.ALLOWED,
}


def problems(kind: PageKind, values: dict[str, Any], path: str = "") -> list[tuple[str, str]]:
    """Return what is wrong with the front matter of a page: pairs of field and message."""
    return _wrong_types(values) or [*_wrong_markers(kind, values, path), *_wrong_values(values)]


def _wrong_types(values: dict[str, Any]) -> list[tuple[str, str]]:
    said = {name: values[name] for name in ORDER if values.get(name) is not None}
    with suppress(msgspec.ValidationError):
        msgspec.convert(said, Page)  # at once, which takes a tenth of the time; most pages are as they should be
        return []
    return wrong_types(said, Page, ("id", "title"), _ALLOWED)


def _wrong_markers(kind: PageKind, values: dict[str, Any], path: str) -> list[tuple[str, str]]:
    marker = values["id"]
    if re.fullmatch(kind.id_pattern, marker) is None:
        return [("id", found_allowed(marker, kind.id_allowed))]
    name = path.rpartition("/")[2]
    if path and kind is not PROJECT and ((match := _FILE.fullmatch(name)) is None or match[1] != marker[1:]):
        return [("id", f"found {marker}, but the file is named {name}; the name begins with the number")]
    parent = values.get("section")
    if kind is DETAIL and (parent is None or re.fullmatch(SECTION.id_pattern, parent) is None):
        return [("section", "is missing" if parent is None else found_allowed(parent, SECTION.id_allowed))]
    return []


def _wrong_values(values: dict[str, Any]) -> list[tuple[str, str]]:
    wrong = [
        (name, found_allowed(item, _ALLOWED[name]))
        for name in ("paths", "code_refs")
        for item in values.get(name) or ()
        if leads_out(item)
    ]
    wrong += [
        ("reviewed", found_allowed(item, _ALLOWED["reviewed"]))
        for item in values.get("reviewed") or ()
        for path, _, blob in (item.rpartition(" "),)
        if not path.strip() or "\n" in path or not re.fullmatch("[0-9a-f]{7,64}", blob) or leads_out(path)
    ]
    if values.get("timestamp") is not None:
        try:
            timestamps.parse(values["timestamp"])
        except ValueError:
            wrong.append(("timestamp", found_allowed(values["timestamp"], timestamps.ALLOWED)))
    for name in ("title", "agent_id"):
        if (value := values.get(name)) is not None and (not value.strip() or STEERING.search(value)):
            wrong.append((name, found_allowed(value, "one line of text without control characters")))
    return wrong


def code_path(reference: str) -> str:
    """Return the path in a code reference that may name a line, or lines: `src/auth.py:10-20`."""
    match = _LINES.fullmatch(reference) if ":" in reference else None  # most name no line, and packs ask of thousands
    return match[1] if match else reference


def code_lines(reference: str) -> tuple[str, tuple[int, int]] | None:
    """Return the path, and the first and last line, that a code reference names; None if it names no lines."""
    match = _LINES.fullmatch(reference)
    return (match[1], (int(match[2]), int(match[3] or match[2]))) if match else None


def last_line(reference: str) -> int:
    """Return the last line that a code reference names, 0 if it names none."""
    match = _LINES.fullmatch(reference)
    return int(match[3] or match[2]) if match else 0


def refuse_line_zero(references: Iterable[str]) -> None:
    """Raise MemctlError if a code reference names the line 0, or lines of which the last comes before the first."""
    for reference in references:
        lines = code_lines(reference)
        if lines is not None and not 1 <= lines[1][0] <= lines[1][1]:
            raise MemctlError(f"{reference}: there are no such lines", "lines count from 1: src/auth.py:10-20", USAGE)


def parts_of(page: Page) -> tuple[NumberedHeading, ...]:
    """Return the headed parts of a page of details, each with its marker.

    A heading that begins with a number of the page (`## 3.1.2 Schema`) has that number; one without gets the next free
    one after the highest so far, so that a number once written down stays.
    """
    return _parts(page.id, page.body)


@lru_cache(maxsize=8)  # as `headings.split` is
def _parts(marker: str, body: str) -> tuple[NumberedHeading, ...]:
    found: list[NumberedHeading] = []
    highest, line = 0, 1
    parts = headings.split(body)
    numbered = [_numbered(marker[1:], part.heading) for part in parts]
    given = {number for number, _ in numbered}
    for part, (number, title) in zip(parts, numbered, strict=True):
        if part.heading:
            if not number:
                number = next(free for free in count(highest + 1) if free not in given)
            highest = max(highest, number)
            found.append(NumberedHeading(f"{marker}.{number}", title, part.body, line))
        line += part.text.count("\n")
    return tuple(found)


def _numbered(page: str, heading: str) -> tuple[int, str]:
    """Return a heading's own number below that of its page (0 if none), and its title without the number."""
    match = _NUMBERED.fullmatch(heading)
    if match and match[1].startswith(page + ".") and match[1].count(".") == page.count(".") + 1:
        return int(match[1].rpartition(".")[2]), match[2]
    return 0, heading
