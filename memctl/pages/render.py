"""Render the documents in `.memory/docs/` from pages and records, with templates.

From one memory the documents always get the same bytes, on every machine: rendering reads neither the clock nor the
environment, and only those files of the repository that references name.
"""

from __future__ import annotations

import marshal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from types import CodeType, SimpleNamespace
from typing import TYPE_CHECKING, Any
from zlib import crc32

from memctl import __version__
from memctl.git import private_files
from memctl.git.repository import Repository
from memctl.pages import generated_header, levels
from memctl.pages.generated_header import LAYOUTS, OF_PAGES, seal
from memctl.pages.links import EXECUTIVE, INDEX, SOURCES, Links, document_of
from memctl.pages.template_values import BrokenTemplate, CountTokens, Estimate
from memctl.record.errors import InvalidRecord
from memctl.record.snapshot import Snapshot
from memctl.store import files
from memctl.text import markdown

if TYPE_CHECKING:
    from memctl.pages.sandbox import Templates

EditFinder = Callable[[str, str, str | None], bool]
_FORM = 2  # raise it when the sandbox compiles templates in another way, or `_RUNTIME` changes


class Renderer:
    """Renders the documents of one Snapshot.

    - `estimate`: a function that returns the approximate tokens of Markdown. It is needed because pages have limits.
    - `compiled`: a folder in which compiled templates are kept for later runs, None to keep none.
    - `trusted`: whether the project's own templates may be used. Otherwise those of memctl are used.
    - `finder`: a function that returns whether a person has edited a document of format 2, whose first line has no
      hash. It takes the document's path, its text, and the text that it should have (None if that is not known).
    - `code`: what the document of source files is made with, and no other: the repository, and a function that returns
      the tokens of a file from its path and text.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        estimate: Estimate,
        compiled: Path | None = None,
        *,
        trusted: bool = True,
        finder: EditFinder = lambda path, text, wanted: False,
        code: tuple[Repository, CountTokens] | None = None,
    ) -> None:
        self.snapshot = snapshot
        self._finder, self._code = finder, code
        self.links = Links(snapshot)
        outline = snapshot.outline  # reversed, so that the first of several pages with one name wins
        self._by_document = {document_of(page): page for page in reversed((*outline.sections, *outline.details))}
        self._pages: dict[str, str] = {}
        self._own: dict[str, _CompiledTemplate | None] = {}  # by name; None: the project has a template of that name
        self._estimate = estimate
        self._broken: dict[str, BrokenTemplate] = {}
        self._compiled = compiled
        self._is_trusted = trusted

    def names(self) -> tuple[str, ...]:
        """Return the file names, below `docs/`, of all documents of this memory except that of the source files."""
        outline = self.snapshot.outline
        return (INDEX, EXECUTIVE, *(document_of(page) for page in (*outline.sections, *outline.details)))

    def document(self, name: str) -> str:
        """Return one document with its header; raises BrokenTemplate if a template of the project has an error."""
        text = self.page(name)
        return seal(text, layout=LAYOUTS.get(name, OF_PAGES)) if self.has_hashes else generated_header.head(text)

    def sources(self) -> str:
        """Return the document of source files (level 4) with its header; reads all listed files."""
        from memctl.pages import sources

        text = self.source_files()
        if self.has_hashes:
            return seal(text, sources.made_from(self.snapshot), LAYOUTS[SOURCES])
        return generated_header.head(text)

    def source_files(self, *, live: bool = False) -> str:
        """Return the document of source files without its header; with `live` it has present sizes, tokens and dates.

        These are read from all listed files and their history.
        """
        from memctl.pages import sources

        assert self._code is not None
        page = sources.level4(self.snapshot, self.links, *self._code, live=live)
        from memctl.text import credentials

        return credentials.redact(self._formatted(self._templates.fill(f"{SOURCES}.j2", page)), strict=False)

    @property
    def has_hashes(self) -> bool:
        """Whether the first lines of documents have hashes of their texts, as they have in format 1."""
        return self.snapshot.config.format == 1

    def is_edited(self, path: str, text: str, wanted: str | None = None) -> bool:
        """Return whether a person has edited a document, given by its path, its text and the text that it should have.

        A formatter's edits do not count in format 2. A text without a header was not rendered by memctl.
        """
        document = generated_header.split(text)
        if document is None or document.is_intact is not None:
            return document is None or not document.is_intact
        return not self.has_hashes and self._finder(path, text, wanted)

    def page(self, name: str) -> str:
        """Return a document's text without its header; raises BrokenTemplate if its template has an error."""
        if name in self._broken:
            raise self._broken[name]
        if name not in self._pages:
            try:
                self._pages[name] = self._redacted(self._formatted(self._page(name)))
            except BrokenTemplate as error:
                self._broken[name] = error
                raise
        return self._pages[name]

    def _redacted(self, text: str) -> str:
        """A document is searched only if a record or page has a credential."""
        if not self._has_credentials:
            return text
        from memctl.text import credentials

        return credentials.redact(text, strict=False)

    @cached_property
    def _has_credentials(self) -> bool:
        from memctl.text import credentials

        pages = (self.snapshot.try_read(page.path) or "" for page in self.snapshot.outline.pages)
        return bool(self.snapshot.catalogue.suspicious()) or any(map(credentials.is_in, pages))

    def _formatted(self, text: str) -> str:
        return text if self.has_hashes else markdown.formatted(text)

    def _page(self, name: str) -> str:
        if name == INDEX:
            return self._fill(INDEX, levels.index(self.snapshot, self.links))
        if name == EXECUTIVE:
            return self._fill(EXECUTIVE, levels.executive(self.snapshot, self.links))
        page = self._by_document[name]
        fill = partial(self._fill, f"{page.kind.name}.md")
        if page.kind.name == "section":
            return fill(levels.fit_lists(levels.section(self.snapshot, self.links, page), fill, self._estimate))
        return fill(levels.fit_lists(levels.detail(self.snapshot, self.links, page), fill, self._estimate))

    def _fill(self, template: str, page: Any) -> str:
        name = f"{template}.j2"
        if name not in self._own:
            self._own[name] = None if self._is_trusted and self._has(name) else _CompiledTemplate(name, self._compiled)
        own = self._own[name]
        text = own.fill(page) if own else None
        if text is not None and len(text) <= files.MAX_BYTES:
            return text
        text = self._templates.fill(name, page)  # which refuses a document that is too large
        if own:
            own.store(page, text)
        return text

    def _has(self, name: str) -> bool:
        try:
            self.snapshot.read(f"templates/{name}")
        except (FileNotFoundError, NotADirectoryError):
            return False
        except InvalidRecord:
            return True  # `Templates` says what is wrong with it
        return True

    @cached_property
    def _templates(self) -> Templates:
        from memctl.pages.sandbox import Templates  # Jinja takes 25 ms to import

        return Templates(self.snapshot, self._compiled, trusted=self._is_trusted)


def touched(snapshot: Snapshot, places: Iterable[str]) -> tuple[str, ...]:
    """Return the documents that show the records of some pages, as file names below `docs/`.

    `places` are the markers of these pages, such as "§2.1" or "§3.4"; "" stands for records that belong to no page. It
    is used to render again only the documents that a changed record appears in.
    """
    changed, outline = set(places), snapshot.outline
    pages = (*outline.sections, *outline.details)
    shown = (page for page in pages if not changed.isdisjoint(levels.places_on(snapshot, page)))
    return (INDEX, EXECUTIVE, *map(document_of, shown))


class _CompiledTemplate:
    """A template of memctl's own, as the Python code that Jinja makes of it, run without Jinja.

    To import Jinja takes a fifth of the time of a small change. The code is stored in the folder `compiled` (None:
    nowhere); of Jinja's names it needs those of `_RUNTIME`. What a project's own template needs is not known, so
    `sandbox` runs it.
    """

    def __init__(self, name: str, compiled: Path | None) -> None:
        self._name = name
        self._template = (files.templates() / name).read_text(encoding="utf-8")
        self._file = None if compiled is None else compiled / f"{name}.code"
        self._made_from = _checksum(repr((_FORM, __version__, sys.version, self._template)).encode())
        self._code = self._stored_code()

    def fill(self, page: Any) -> str | None:
        if self._code is None:
            return None
        try:
            return _run(self._code, page)
        except Exception:  # a version of Jinja that we don't know may have made code that needs other names
            return None

    def store(self, page: Any, text: str) -> None:
        """The code is stored only if it gives the text that Jinja gives."""
        if self._code is not None:
            return
        from memctl.pages import sandbox

        code = compile(sandbox.python_of(self._template), self._name, "exec")
        try:
            is_right = _run(code, page) == text
        except Exception:  # as in `fill`
            is_right = False
        if not is_right:
            return
        self._code, packed = code, marshal.dumps(code)
        if self._file is not None:
            with suppress(OSError):  # the clone belongs to another user, or can only be read
                private_files.replace_file(self._file, self._made_from + _checksum(packed) + packed)

    def _stored_code(self) -> CodeType | None:
        with suppress(OSError):
            stored = b"" if self._file is None else self._file.read_bytes()
            if stored[:4] == self._made_from and stored[4:8] == _checksum(stored[8:]):
                code: CodeType = marshal.loads(stored[8:])
                return code
        return None


def _run(code: CodeType, page: Any) -> str:
    names = dict(_RUNTIME)
    exec(code, names)
    return "".join(names["root"](SimpleNamespace(resolve_or_missing={"page": page}.__getitem__)))


def _checksum(data: bytes) -> bytes:
    return crc32(data).to_bytes(4, "big")


def _loop(items: Iterable[Any], undefined: object) -> Iterator[tuple[Any, SimpleNamespace]]:
    values = tuple(items)
    for index, item in enumerate(values, 1):
        yield item, SimpleNamespace(index=index, first=index == 1, last=index == len(values))


# What the compiled templates of memctl's own use of Jinja. They are trusted, so nothing is checked while they run.
_RUNTIME: dict[str, Any] = {
    "environment": SimpleNamespace(
        undefined=None,
        concat="".join,
        getattr=getattr,
        call=lambda context, function, *values, _loop_vars=None: function(*values),
        tests={"none": lambda value: value is None},
    ),
    "missing": object(),
    "str_join": lambda parts: "".join(map(str, parts)),  # the operator `~`
    "Undefined": lambda why: "",  # of an `if` without an `else`
    "LoopContext": _loop,
}
