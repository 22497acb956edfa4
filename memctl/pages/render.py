"""Rendering `.memory/docs/`: each document from the pages and records it shows, through a template.

The same memory gives the same bytes: no clock, no environment, of the repository's files only what references need.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket

from memctl.errors import MemctlError
from memctl.git import private
from memctl.git.repository import Repository
from memctl.pages import levels, trim
from memctl.pages.contents import CountTokens, Estimate
from memctl.pages.generated_header import LAYOUTS, sealed
from memctl.pages.links import EXECUTIVE, INDEX, SOURCES, Links, document_of
from memctl.pages.sandbox import Sandbox, TooLarge
from memctl.pages.template_timeout import deadline
from memctl.record.errors import InvalidRecord
from memctl.record.pages import Page
from memctl.record.snapshot import Snapshot
from memctl.store import files

_NAME = re.compile(r"[\w-][\w.-]*\.j2")
_SECONDS = 2.0  # of work for all documents, beside those that each may have: a page takes some milliseconds
_EACH_SECONDS = 0.1
_MAX_SOURCE = 64 * 1024  # characters of a template; real ones have about 2,000, and compiling them takes memory


class BrokenTemplate(MemctlError):
    """A template that is at fault: `path` below `.memory/`, `line`, and `why`."""

    def __init__(self, prefix: str, path: str, line: int, why: str) -> None:
        super().__init__(f"{prefix}/{path}:{line}: {why}", "mend the template, or delete it to have memctl's own")
        self.path = path
        self.line = line
        self.why = why


class _Compiled(jinja2.FileSystemBytecodeCache):
    """Compiled templates on the disk; a damaged one is made anew."""

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        except Exception:  # pickle and marshal raise nearly anything
            bucket.reset()


class Renderer:
    """Renders the documents of one Snapshot; compiled templates are kept in the folder `compiled`, if one is given.

    `estimate` says about how many tokens Markdown has (`tokens.pieces.markdown_estimator`), for pages have limits.
    Templates of the project's own are used only if it is `trusted`.
    """

    def __init__(
        self, snapshot: Snapshot, estimate: Estimate, compiled: Path | None = None, *, trusted: bool = True
    ) -> None:
        self.snapshot = snapshot
        self._is_trusted = trusted
        self.links = Links(snapshot)
        outline = snapshot.outline  # of pages with one name the first is shown, as everywhere
        self._by_document = {document_of(page): page for page in reversed((*outline.sections, *outline.details))}
        self._pages: dict[str, str] = {}
        self._estimate = estimate
        self._seconds = _SECONDS
        self._broken: dict[str, BrokenTemplate] = {}
        self._exhausted: dict[str, BrokenTemplate] = {}
        cache = None
        if compiled is not None:
            with suppress(PermissionError):  # a clone that is somebody else's
                private.make_folder(compiled)
                # Without the ending `.bounded` they are those of earlier versions.
                cache = _Compiled(str(compiled), "%s.bounded")
        self._environment = Sandbox(
            loader=jinja2.FunctionLoader(self._template),
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            bytecode_cache=cache,
        )

    def names(self) -> tuple[str, ...]:
        """The documents of this memory, without that of the sources."""
        outline = self.snapshot.outline
        return (INDEX, EXECUTIVE, *(document_of(page) for page in (*outline.sections, *outline.details)))

    def document(self, name: str) -> str:
        """One document, with its head; raises MemctlError if a template of the project's own is at fault."""
        return sealed(self.page(name), layout=LAYOUTS.get(name, 1))

    def sources(self, repository: Repository, count: CountTokens) -> str:
        """The document of level 4, with its head. It reads and counts the files, and their history."""
        from memctl.pages import sources

        page = sources.level4(self.snapshot, self.links, repository, count)
        return sealed(self._fill(SOURCES, page), sources.made_from(self.snapshot))

    def page(self, name: str) -> str:
        """The text of a document without the head."""
        if name in self._broken:
            raise self._broken[name]
        if name not in self._pages:
            try:
                self._pages[name] = self._page(name)
            except BrokenTemplate as error:
                self._broken[name] = error
                raise
        return self._pages[name]

    def _page(self, name: str) -> str:
        if name == INDEX:
            return self._fill(INDEX, levels.index(self.snapshot, self.links))
        if name == EXECUTIVE:
            return self._fill(EXECUTIVE, levels.executive(self.snapshot, self.links))
        page = self._by_document[name]
        return self._section(page) if page.kind.name == "section" else self._detail(page)

    def _section(self, page: Page) -> str:
        fill = partial(self._fill, "section.md")
        return fill(trim.fit_section(levels.section(self.snapshot, self.links, page), fill, self._estimate))

    def _detail(self, page: Page) -> str:
        fill = partial(self._fill, "detail.md")
        return fill(trim.fit_detail(levels.detail(self.snapshot, self.links, page), fill, self._estimate))

    def _fill(self, template: str, page: Any) -> str:
        path = f"templates/{template}.j2"
        if path in self._exhausted:
            raise self._exhausted[path]
        begin = time.process_time()
        try:
            with deadline(_EACH_SECONDS + self._seconds):
                self._environment.begin()
                return self._environment.get_template(f"{template}.j2").render(page=page)
        except MemctlError:
            raise
        except Exception as error:  # a template is a program of somebody's: it may fail in any way
            path, line = _place(error, path)
            why = str(error) or ("it takes too much memory" if isinstance(error, MemoryError) else type(error).__name__)
            broken = BrokenTemplate(self.snapshot.prefix, path, line, why)
            if isinstance(error, (TooLarge, TimeoutError, MemoryError, RecursionError)):
                self._exhausted[f"templates/{template}.j2"] = broken  # it would take as long for each page
            raise broken from None
        finally:
            self._seconds = max(self._seconds - max(time.process_time() - begin - _EACH_SECONDS, 0.0), 0.0)

    def _template(self, name: str) -> tuple[str, str, None] | None:
        """The text of a template, and its path below `.memory/`."""
        if _NAME.fullmatch(name) is None:
            return None  # templates include each other, and no files from elsewhere
        path = f"templates/{name}"
        try:
            if self._is_trusted:
                text = self.snapshot.read(path)
                if len(text) > _MAX_SOURCE:
                    why = f"it has more than {_MAX_SOURCE:,} characters"
                    raise BrokenTemplate(self.snapshot.prefix, path, 1, why)
                return text, path, None
        except (FileNotFoundError, NotADirectoryError):
            pass
        except InvalidRecord as error:
            fault = error.faults[0]
            raise BrokenTemplate(self.snapshot.prefix, path, fault.line, fault.message) from None
        own = files.templates() / name
        return (own.read_text(encoding="utf-8"), path, None) if own.is_file() else None


def _place(error: BaseException, path: str) -> tuple[str, int]:
    """The template and the line at which something went wrong; `path` is the template that was to be rendered."""
    if isinstance(error, jinja2.TemplateSyntaxError):
        return error.filename or path, error.lineno
    place = (path, 1)
    trace = error.__traceback__
    while trace is not None:  # Jinja makes a frame for each line of a template
        if (file := trace.tb_frame.f_code.co_filename).startswith("templates/"):
            place = (file, trace.tb_lineno)
        trace = trace.tb_next
    return place


def touched(snapshot: Snapshot, places: Iterable[str]) -> tuple[str, ...]:
    """The documents that show records of some places (§2.N, §3.N, "" for none)."""
    outline = snapshot.outline
    sections = set(places)
    sections |= {page.section or "" for page in outline.details if page.id in sections}
    shown = [page for page in outline.sections if page.id in sections]
    shown += [page for page in outline.details if page.section in sections or page.id in sections]
    return (INDEX, EXECUTIVE, *(document_of(page) for page in shown))
