"""Render the documents in `.memory/docs/` from pages and records, with templates.

One memory always gives the same bytes: rendering reads neither the clock nor the environment, and of the repository's
files only those that references name.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memctl.git.repository import Repository
from memctl.pages import levels
from memctl.pages.contents import BrokenTemplate, CountTokens, Estimate
from memctl.pages.generated_header import LAYOUTS, seal
from memctl.pages.links import EXECUTIVE, INDEX, SOURCES, Links, document_of
from memctl.record.pages import Page
from memctl.record.snapshot import Snapshot

if TYPE_CHECKING:
    from memctl.pages.sandbox import Templates


class Renderer:
    """Renders the documents of one Snapshot.

    `estimate` returns the approximate tokens of Markdown, for the limits of pages (`tokens.families`). `compiled` is a
    folder for compiled templates, None to keep none. The project's own templates are used only if `trusted` is True.
    """

    def __init__(
        self, snapshot: Snapshot, estimate: Estimate, compiled: Path | None = None, *, trusted: bool = True
    ) -> None:
        self.snapshot = snapshot
        self.links = Links(snapshot)
        outline = snapshot.outline  # reversed, so that the first of several pages with one name wins
        self._by_document = {document_of(page): page for page in reversed((*outline.sections, *outline.details))}
        self._pages: dict[str, str] = {}
        self._estimate = estimate
        self._broken: dict[str, BrokenTemplate] = {}
        self._compiled = compiled
        self._is_trusted = trusted

    def names(self) -> tuple[str, ...]:
        """Return the names of this memory's documents, except that of the source files."""
        outline = self.snapshot.outline
        return (INDEX, EXECUTIVE, *(document_of(page) for page in (*outline.sections, *outline.details)))

    def document(self, name: str) -> str:
        """Return one document with its header; raises BrokenTemplate if a template of the project has an error."""
        return seal(self.page(name), layout=LAYOUTS.get(name, 1))

    def sources(self, repository: Repository, count: CountTokens) -> str:
        """Return the document of level 4 with its header; reads all listed files and their history."""
        from memctl.pages import sources

        page = sources.level4(self.snapshot, self.links, repository, count)
        return seal(self._fill(SOURCES, page), sources.made_from(self.snapshot), LAYOUTS[SOURCES])

    def page(self, name: str) -> str:
        """Return a document's text without its header; raises BrokenTemplate if its template has an error."""
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
        return fill(levels.fit_section(levels.section(self.snapshot, self.links, page), fill, self._estimate))

    def _detail(self, page: Page) -> str:
        fill = partial(self._fill, "detail.md")
        return fill(levels.fit_detail(levels.detail(self.snapshot, self.links, page), fill, self._estimate))

    def _fill(self, template: str, page: Any) -> str:
        return self._templates.fill(f"{template}.j2", page)

    @cached_property
    def _templates(self) -> Templates:
        from memctl.pages.sandbox import Templates  # Jinja takes 25 ms to import

        return Templates(self.snapshot, self._compiled, trusted=self._is_trusted)


def touched(snapshot: Snapshot, places: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the documents that show records of some places (§2.N, §3.N, "" for no place)."""
    outline = snapshot.outline
    sections = set(places)
    sections |= {page.section or "" for page in outline.details if page.id in sections}
    shown = [page for page in outline.sections if page.id in sections]
    shown += [page for page in outline.details if page.section in sections or page.id in sections]
    return (INDEX, EXECUTIVE, *(document_of(page) for page in shown))
