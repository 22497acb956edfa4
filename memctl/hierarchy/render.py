"""Rendering `.memory/docs/`: each document from the pages and records it shows, through a template.

The same memory gives the same bytes: no clock, no environment, of the repository's files only what references need.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket
from jinja2.sandbox import ImmutableSandboxedEnvironment

from memctl.errors import MemctlError
from memctl.hierarchy import fitting, levels
from memctl.hierarchy.deadline import deadline
from memctl.hierarchy.places import EXECUTIVE, INDEX, SOURCES, Links, document_of
from memctl.hierarchy.seal import sealed
from memctl.journal import private
from memctl.journal.repository import Repository
from memctl.model.faults import InvalidRecord
from memctl.model.pages import Page
from memctl.model.snapshot import Snapshot
from memctl.store import files
from memctl.tokens.count import Counter
from memctl.tokens.families import Family, family_of

_NAME = re.compile(r"[\w-][\w.-]*\.j2")
_SECONDS = 5  # of work; a page takes some milliseconds


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
    """Renders the documents of one Snapshot; compiled templates are kept in the folder `compiled`, if one is given."""

    def __init__(self, snapshot: Snapshot, compiled: Path | None = None) -> None:
        self.snapshot = snapshot
        self.links = Links(snapshot)
        self._pages: dict[str, str] = {}
        self._family: Family = family_of(snapshot.config.model)
        cache = None
        if compiled is not None:
            with suppress(PermissionError):  # a clone that is somebody else's
                private.make_folder(compiled)
                cache = _Compiled(str(compiled), "%s")
        # A template may come with a cloned repository: it can reach nothing but the values it is given.
        self._environment = ImmutableSandboxedEnvironment(
            loader=jinja2.FunctionLoader(self._template),
            undefined=jinja2.StrictUndefined,
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
        return sealed(self.page(name))

    def sources(self, repository: Repository, counter: Counter) -> str:
        """The document of level 4, with its head. It reads and counts the files, and their history."""
        from memctl.hierarchy import sources

        page = sources.level4(self.snapshot, self.links, repository, counter)
        return sealed(self._fill(SOURCES, page), sources.made_from(self.snapshot))

    def page(self, name: str) -> str:
        """The text of a document without the head."""
        if name not in self._pages:
            self._pages[name] = self._page(name)
        return self._pages[name]

    def _page(self, name: str) -> str:
        if name == INDEX:
            return self._fill(INDEX, levels.index(self.snapshot, self.links))
        if name == EXECUTIVE:
            return self._fill(EXECUTIVE, levels.executive(self.snapshot, self.links))
        outline = self.snapshot.outline
        page = next(page for page in (*outline.sections, *outline.details) if document_of(page) == name)
        return self._section(page) if page.kind.name == "section" else self._detail(page)

    def _section(self, page: Page) -> str:
        fill = partial(self._fill, "section.md")
        return fill(fitting.fit_section(levels.section(self.snapshot, self.links, page), fill, self._family))

    def _detail(self, page: Page) -> str:
        fill = partial(self._fill, "detail.md")
        return fill(fitting.fit_detail(levels.detail(self.snapshot, self.links, page), fill, self._family))

    def _fill(self, template: str, page: Any) -> str:
        try:
            with deadline(_SECONDS):
                return self._environment.get_template(f"{template}.j2").render(page=page)
        except MemctlError:
            raise
        except Exception as error:  # a template is a program of somebody's: it may fail in any way
            line = getattr(error, "lineno", None) or 1
            why = str(error) or type(error).__name__
            raise BrokenTemplate(self.snapshot.prefix, f"templates/{template}.j2", line, why) from None

    def _template(self, name: str) -> str | None:
        if _NAME.fullmatch(name) is None:
            return None  # templates include each other, and no files from elsewhere
        try:
            return self.snapshot.read(f"templates/{name}")
        except (FileNotFoundError, NotADirectoryError):
            own = files.templates() / name
            return own.read_text(encoding="utf-8") if own.is_file() else None
        except InvalidRecord as error:
            raise MemctlError(f"{self.snapshot.prefix}/{error}") from None


def touched(snapshot: Snapshot, places: Iterable[str]) -> tuple[str, ...]:
    """The documents that show records of some places (§2.N, §3.N, "" for none)."""
    outline = snapshot.outline
    sections = set(places)
    sections |= {page.section or "" for page in outline.details if page.id in sections}
    shown = [page for page in outline.sections if page.id in sections]
    shown += [page for page in outline.details if page.section in sections or page.id in sections]
    return (INDEX, EXECUTIVE, *(document_of(page) for page in shown))
