"""Pages: what people write for levels 1 to 3, in `project.md`, `sections/` and `details/`.

A page is a file with front matter and a body with headings, like a record. Its marker says its level: §1.0 the project,
§2.N a section, §3.N the details of a section. §3.N.M is a heading in these details, and §4.PATH a file of the
repository. rules.md#levels-of-pages has the rules.
"""

# Without `from __future__ import annotations`: msgspec would compile each postponed annotation when it first decodes.

import re
from collections.abc import Container, Iterable, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import frontmatter
from memctl.record.errors import Fault, InvalidRecord
from memctl.record.ids import slug
from memctl.record.kinds import Field
from memctl.record.parser import CONTROL_CHARACTERS, disallowed, is_unsafe_path, wrong_types
from memctl.record.record import Percent, Record
from memctl.text import headings, timestamps
from memctl.text.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from memctl.record.source import Catalogue
    from memctl.text.globs import Globs

_OUTLINE = b"outline"  # the key under which parsed pages are cached
_ANY_FILE = "_"  # a file's name, by which it is tested whether a glob is for the files in a folder

PROJECT_PATH = "project.md"
PROJECT_ID = "§1.0"
_LINES = lazy_regex(r"(.+?):(\d{1,9})(?:-(\d{1,9}))?")
_FILE = lazy_regex(r"([23]\.[1-9][0-9]*)(?:-[^/]*)?\.md")
_NUMBER = lazy_regex(r"[23]\.[1-9][0-9]*(?![0-9])")
_NUMBERED = lazy_regex(r"§?([0-9]+(?:\.[0-9]+)*)[.:]? +(\S.*)")


class PageKind(msgspec.Struct, frozen=True):
    """A level of pages that people write: project, section or details, with its folder and its content fields.

    `id_pattern` is the regular expression of its markers, `id_allowed` describes them in messages.
    """

    name: str
    level: int
    folder: str
    id_pattern: str
    id_allowed: str
    fields: tuple[Field, ...]


_PROJECT_FIELDS = (
    Field("goal", "Goal", "goal", "What the project is to achieve, in one sentence."),
    Field("status", "Status", "status", "Where the project stands, in a sentence or two."),
    Field("priorities", "Priorities", "priority", "What has priority now, most important first.", True),
)
_SECTION_FIELDS = (
    Field("overview", "Overview", "overview", "What this part of the project is, in three to five sentences."),
    Field("status", "Status", "status", "Where the section stands."),
    Field("next_actions", "Next actions", "next", "What is to be done next in the section.", True),
)
PROJECT = PageKind("project", 1, "", "§1\\.0", "§1.0", _PROJECT_FIELDS)
SECTION = PageKind("section", 2, "sections", "§2\\.[1-9][0-9]*", "a marker such as §2.1", _SECTION_FIELDS)
DETAIL = PageKind("detail", 3, "details", "§3\\.[1-9][0-9]*", "a marker such as §3.1", ())
KINDS = {kind.name: kind for kind in (PROJECT, SECTION, DETAIL)}
_BY_FOLDER = {kind.folder: kind for kind in (SECTION, DETAIL)}


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page as its file has it; `path` is relative to `.memory/`, and `body` is Markdown.

    - `id` is the marker, and `section` the marker of the section to which a page of details belongs.
    - `completion_percentage` is the progress that the page declares, and `weight` how much a section counts in the
      project's progress.
    - `paths` are globs of the code that a section covers, and `code_refs` paths of files.
    - `reviewed` has an entry for each file with which the page agreed at its last review: the file's path and the first
      digits of its blob id, such as "src/auth.py 1f0c9a2b7d3e".
    - `aliases` are former markers of the page, which it lost because another clone had used them, too.
    """

    id: str
    title: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    section: str | None = None  # the marker of the section to which a page of details belongs
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
        """The page's level: project, section or details."""
        return (PROJECT, SECTION, DETAIL)[int(self.id[1]) - 1]

    @property
    def number(self) -> str:
        """The marker without its §, such as 3.1."""
        return self.id[1:]

    @property
    def stamps(self) -> dict[str, str]:
        """The first digits of the blob id that each file had when the page was last reviewed, by the file's path."""
        return dict(item.rsplit(" ", 1) for item in self.reviewed)


ORDER = (
    "id", "title", "section", "completion_percentage", "weight", "paths", "code_refs", "reviewed", "aliases",
    "timestamp", "agent_id",
)  # fmt: skip
LISTS = ("paths", "code_refs", "reviewed")


class NumberedHeading(msgspec.Struct, frozen=True):
    """A heading in a page of details and the text below it.

    It has a marker (§3.1.2), the title without a number, the text, and the line of the heading in the page's body.
    """

    id: str
    title: str
    text: str
    line: int  # in the body, 1-based


class Outline(msgspec.Struct, frozen=True, dict=True):
    """All pages of a memory that can be read, sorted by number, and the faults of the other pages."""

    project: Page | None
    sections: tuple[Page, ...]
    details: tuple[Page, ...]
    faults: tuple[Fault, ...]

    @property
    def pages(self) -> tuple[Page, ...]:
        """The project's page, sections and details, in this order."""
        return (*((self.project,) if self.project else ()), *self.sections, *self.details)

    @property
    def percentage(self) -> int | None:
        """The project's progress in percent, None if no page declares progress.

        It is what the project's page declares or, if it declares nothing, the weighted mean of the sections' progress.
        """
        if self.project and self.project.completion_percentage is not None:
            return self.project.completion_percentage
        return None if self.mean_percentage is None else round(self.mean_percentage)

    @property
    def mean_percentage(self) -> float | None:
        """The weighted mean of the progress that sections declare, in percent; None if none declares any.

        `memctl check` warns (MEM305) if the progress that the project's page declares differs from this mean by more
        than 5 points.
        """
        declared = [page for page in self.sections if page.completion_percentage is not None]
        total = sum(page.weight for page in declared)
        return sum(page.weight * (page.completion_percentage or 0) for page in declared) / total if declared else None

    def details_of(self, section: str) -> tuple[Page, ...]:
        """Return the pages of details that belong to the section with the marker `section`."""
        return tuple(self._details_by_section.get(section, ()))

    def records_in(self, sections: Sequence[str], catalogue: "Catalogue") -> frozenset[str]:
        """Return the paths of the records that belong to some sections, which are given by their markers.

        These are the records that name such a section, a page below it or one of its pages of details, and the records
        that name no section but refer to a file or folder that such a section covers.
        """
        details = (page.id for marker in sections for page in self.details_of(marker))
        covered = [path for path in catalogue.unplaced_code() if self.covering(path, sections)]
        return catalogue.in_sections([*sections, *details], covered)

    def sections_of(self, record: Record) -> tuple[tuple[str, ...], ...]:
        """Return the sections of a record, by the rule of `records_in`: for each the markers that `enclosing` returns.

        A record that names a section or page has that one; any other has each section that covers its code.
        """
        if record.section:
            return (self.enclosing(record.section),)
        covering = set[str]().union(*(self.covering(code_path(reference)) for reference in record.code_refs))
        return tuple((page.id,) for page in self.sections if page.id in covering)

    def covering(self, path: str, among: Container[str] | None = None) -> set[str]:
        """Return the markers of the sections that cover a file or folder, which need not exist.

        If `among` is given, only the sections with these markers are looked at. A folder is covered by a glob for the
        files in it, be it for all of them (`lib/**`) or for those of a kind (`lib/*.py`): what is said of the folder is
        said of these. A glob for one file (`lib/a.py`), for files below the folder (`lib/tls/**`), or for files
        anywhere (`*.py`) does not cover it. A glob such as `lib/**/*.py` is for those of `lib`: what else it matches
        may be a file as well as a folder.
        """
        within = f"{path.rstrip('/')}/{_ANY_FILE}"
        globs = (item for item in self._globs if among is None or item[0] in among)
        return {marker for marker, each in globs if {each.match(path), each.match(within)} != {None}}

    def enclosing(self, marker: str) -> tuple[str, ...]:
        """Return the markers of the page in which a marker is, and of the section to which that page belongs.

        For example the heading §3.1.2 gives §3.1, its page of details, and §2.1, the section of that page. §2.1 gives
        only itself, and the marker of a file (§4) gives none.
        """
        if marker == PROJECT_ID:
            return (marker,)
        level, _, rest = marker.removeprefix("§").partition(".")
        page = f"§{level}.{rest.partition('.')[0]}"
        above = self.find(page) if level == "3" else None
        return (page, *((above.section,) if above and above.section else ())) if level in ("2", "3") else ()

    def find(self, marker: str) -> Page | None:
        """Return the page with a marker, the first if several pages have it, None if there is none."""
        return self._by_marker.get(marker)

    def find_by_title(self, name: str) -> Page:
        """Return the section or page of details with the title `name`, ignoring case.

        The slug of a title (`use-cafe`) or a part of a title is enough. A section wins over details with the same
        title. Raises MemctlError if no page matches, or if several do.
        """
        wanted = name.strip().casefold()
        for pages in (self.sections, self.details):
            if same := [page for page in pages if wanted in (page.title.casefold(), slug(page.title))]:
                return _single(name, same)
        everything = (*self.sections, *self.details)
        if part := [page for page in everything if wanted in page.title.casefold()]:
            return _single(name, part)
        known = ", ".join(f"{page.id} {page.title}" for page in everything)
        hint = f"the sections and pages of details are {known}"
        hint = hint if known else "the memory has no section yet: `memctl page section add TITLE` adds one"
        raise MemctlError(f"there is no section {name!r}", hint, USAGE, "not-found")

    def fault_of(self, marker: str) -> Fault | None:
        """Return the fault of a page that can't be read, by a marker with the page's number (§3.1 or §3.1.2).

        Returns None if there is no such unreadable page.
        """
        number = ".".join(marker[1:].split(".")[:2])
        return next((fault for fault in self.faults if number_at(fault.path) == number), None)

    def markers(self) -> tuple[str, ...]:
        """Return the markers of all pages and of all headings in pages of details."""
        parts = [heading.id for page in self.details for heading in numbered_headings(page)]
        return (PROJECT_ID, *(page.id for page in (*self.sections, *self.details)), *parts)

    @cached_property
    def _globs(self) -> list[tuple[str, "Globs"]]:
        from memctl.text.globs import Globs  # slow to load

        def widened(glob: str) -> tuple[str, ...]:
            folder, slash, name = glob.rpartition("/")
            folder = folder.removesuffix("/**")
            is_one = slash and not glob.startswith("!") and not any(sign in folder for sign in "*?[")
            is_for_kind = is_one and any(sign in name for sign in "*?[")
            return (glob, f"{folder}/{_ANY_FILE}") if is_for_kind else (glob,)

        return [(page.id, Globs(glob for each in page.paths for glob in widened(each))) for page in self.sections]

    @cached_property
    def _by_marker(self) -> dict[str, Page]:
        return {page.id: page for page in reversed(self.pages)}

    @cached_property
    def _details_by_section(self) -> dict[str | None, list[Page]]:
        by_section: dict[str | None, list[Page]] = {}
        for page in self.details:
            by_section.setdefault(page.section, []).append(page)
        return by_section


def _single(name: str, pages: Sequence[Page]) -> Page:
    if len(pages) > 1:
        matches = ", ".join(f"{page.id} {page.title}" for page in pages)
        raise MemctlError(f"{name!r} matches several pages: {matches}", "give a page's number", USAGE, "ambiguous")
    return pages[0]


def kind_at(path: str) -> PageKind | None:
    """Return the level of the page that belongs at a path below `.memory/`, None if no page belongs there."""
    if path == PROJECT_PATH:
        return PROJECT
    folder, _, name = path.partition("/")
    kind = _BY_FOLDER.get(folder)
    return kind if kind and "/" not in name and name.endswith(".md") and not name.startswith(".") else None


def number_at(path: str) -> str:
    """Return the number in the file name of a page, such as 3.1; "" if a path is not that of a page."""
    if path == PROJECT_PATH:
        return PROJECT_ID[1:]
    match = _NUMBER.match(path.rpartition("/")[2]) if kind_at(path) else None
    return match[0] if match else ""


def outline(texts: Iterable[tuple[str, str]], unreadable: Iterable[Fault] = ()) -> Outline:
    """Return all pages of a memory, parsed and sorted by number, with the faults of those that can't be parsed.

    `texts` are pairs of a page's path and its text. `unreadable` are faults of pages whose files could not be read as
    text.
    """
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
    """Return the outline of pages, given as pairs of path and text, from the cache of `catalogue` if it is there.

    Otherwise the pages are parsed, and the outline is stored in the cache.
    """
    mark, stored = digest(texts), catalogue.recall(_OUTLINE) or b""
    if stored.startswith(mark):
        return msgspec.msgpack.decode(stored[len(mark) :], type=Outline)
    result = outline(texts)
    catalogue.keep(_OUTLINE, mark + msgspec.msgpack.encode(result))
    return result


def digest(values: object) -> bytes:
    """Return a hash of 16 bytes of some values, such as the texts of pages.

    It is the key under which a cache keeps a result that was computed from these values.
    """
    from _blake2 import blake2b  # hashlib would load OpenSSL, 3 ms and more

    return blake2b(msgspec.msgpack.encode(values), digest_size=16).digest()


def sort_key(marker: str) -> tuple[int, ...]:
    """Return a sort key for a marker of levels 1 to 3, by which §2.10 follows §2.9."""
    return tuple(int(part) for part in re.findall("[0-9]+", marker))


def parse(text: str, path: str) -> Page:
    """Return the page in the text of a file at `path` (below `.memory/`); raises InvalidRecord with every fault."""
    kind = kind_at(path)
    assert kind is not None, path
    text = frontmatter.clean_newlines(text)
    values, body = frontmatter.parse_frontmatter(text, path)
    values.setdefault("id", PROJECT_ID if kind is PROJECT else None)
    if wrong := problems(kind, values, path):
        from memctl.record.frontmatter_edit import invalid_record  # most files are valid

        raise invalid_record(text, path, wrong)
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
    "reviewed": "a list of files with their blob ids (src/auth.py 1f0c9a2b7d3e), as `memctl page review` writes it",
    "aliases": "a list of markers that the page had before",
    "timestamp": timestamps.ALLOWED,
}


def problems(kind: PageKind, values: dict[str, Any], path: str = "") -> list[tuple[str, str]]:
    """Return the errors in the front matter of a page of the level `kind`, as pairs of a field and a message.

    `path` is that of the page's file below `.memory/`. If it is given, a file name without the marker's number is an
    error, too.
    """
    return _wrong_types(values) or [*_wrong_markers(kind, values, path), *_wrong_values(values)]


def _wrong_types(values: dict[str, Any]) -> list[tuple[str, str]]:
    declared = {name: values[name] for name in ORDER if values.get(name) is not None}
    with suppress(msgspec.ValidationError):
        msgspec.convert(declared, Page)  # all values at once, which takes a tenth of the time; most pages are valid
        return []
    return wrong_types(declared, Page, ("id", "title"), _ALLOWED)


def _wrong_markers(kind: PageKind, values: dict[str, Any], path: str) -> list[tuple[str, str]]:
    marker = values["id"]
    if re.fullmatch(kind.id_pattern, marker) is None:
        return [("id", disallowed(marker, kind.id_allowed))]
    name = path.rpartition("/")[2]
    if path and kind is not PROJECT and ((match := _FILE.fullmatch(name)) is None or match[1] != marker[1:]):
        return [("id", f"is {marker}, so the file's name must begin with {marker[1:]}, but it is {name}")]
    parent = values.get("section")
    if kind is DETAIL and (parent is None or re.fullmatch(SECTION.id_pattern, parent) is None):
        return [("section", "is missing" if parent is None else disallowed(parent, SECTION.id_allowed))]
    return []


def _wrong_values(values: dict[str, Any]) -> list[tuple[str, str]]:
    wrong = [
        (name, disallowed(item, _ALLOWED[name]))
        for name in ("paths", "code_refs")
        for item in values.get(name) or ()
        if is_unsafe_path(item)
    ]
    wrong += [
        ("reviewed", disallowed(item, _ALLOWED["reviewed"]))
        for item in values.get("reviewed") or ()
        for path, _, blob in (item.rpartition(" "),)
        if not path.strip() or "\n" in path or not re.fullmatch("[0-9a-f]{7,64}", blob) or is_unsafe_path(path)
    ]
    if values.get("timestamp") is not None and not timestamps.is_moment(values["timestamp"]):
        wrong.append(("timestamp", disallowed(values["timestamp"], timestamps.ALLOWED)))
    for name in ("title", "agent_id"):
        if (value := values.get(name)) is not None and (not value.strip() or CONTROL_CHARACTERS.search(value)):
            wrong.append((name, disallowed(value, "one line of text without control characters")))
    return wrong


def code_path(reference: str) -> str:
    """Return the path in a code reference, without its lines: `src/auth.py:10-20` gives `src/auth.py`."""
    # A fast path: most references name no line, and packs have thousands.
    match = _LINES.fullmatch(reference) if ":" in reference else None
    return match[1] if match else reference


def code_lines(reference: str) -> tuple[str, tuple[int, int]] | None:
    """Return the path of a code reference and its first and last line, counted from 1; None if it names no lines."""
    match = _LINES.fullmatch(reference)
    return (match[1], (int(match[2]), int(match[3] or match[2]))) if match else None


def last_line(reference: str) -> int:
    """Return the number of the last line that a code reference names, 0 if it names no lines."""
    lines = code_lines(reference)
    return lines[1][1] if lines else 0


def refuse_line_zero(references: Iterable[str]) -> None:
    """Raise MemctlError if a code reference names line 0, or a range whose last line comes before its first."""
    for reference in references:
        lines = code_lines(reference)
        if lines is not None and not 1 <= lines[1][0] <= lines[1][1]:
            message = f"{reference}: line numbers begin at 1, and the last line must not be before the first"
            raise MemctlError(message, "give lines as in src/auth.py:10-20", USAGE)


def numbered_headings(page: Page) -> tuple[NumberedHeading, ...]:
    """Return the headings of a page of details, each with its marker and the text below it.

    A heading that begins with the page's number and a number of its own (`## 3.1.2 Schema`) has this number. Any other
    heading gets the number after the highest one above it.
    """
    return _number_headings(page.id, page.body)


@lru_cache(maxsize=8)  # as `headings.split` is
def _number_headings(marker: str, body: str) -> tuple[NumberedHeading, ...]:
    found: list[NumberedHeading] = []
    highest, line = 0, 1
    parts = headings.split(body)
    numbered = [_split_number(marker[1:], part.heading) for part in parts]
    used = {number for number, _ in numbered}
    for part, (number, title) in zip(parts, numbered, strict=True):
        if part.heading:
            if not number:
                number = next(free for free in count(highest + 1) if free not in used)
            highest = max(highest, number)
            found.append(NumberedHeading(f"{marker}.{number}", title, part.body, line))
        line += part.text.count("\n")
    return tuple(found)


def _split_number(page: str, heading: str) -> tuple[int, str]:
    match = _NUMBERED.fullmatch(heading)
    if match and match[1].startswith(page + ".") and match[1].count(".") == page.count(".") + 1:
        return int(match[1].rpartition(".")[2]), match[2]
    return 0, heading
