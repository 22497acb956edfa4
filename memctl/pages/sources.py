"""Build the content of the document of source files: those that sections cover, and those to which pages refer.

Each file has its path and purpose; a file of more than 5,000 tokens also has the markers of its headings or
definitions (rules.md#levels-of-pages). What `memctl show §4` prints also has the size, tokens and last change of each
file. The document is not rendered again with each commit of code, so purposes are as of the last rendering. In format 1
it has sizes, tokens and dates, too, and its header has a hash of what decides which files are listed (`made_from`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote

import msgspec

from memctl.git.introductions import last_changes
from memctl.git.repository import Repository
from memctl.pages import freshness, levels, repository_paths
from memctl.pages.generated_header import digest
from memctl.pages.links import Links
from memctl.pages.template_values import CountTokens, ListEntry
from memctl.record import mentions
from memctl.record.pages import Page
from memctl.record.snapshot import Snapshot
from memctl.text import markdown
from memctl.text.credentials import redact
from memctl.text.headings import CODE_SPAN
from memctl.text.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from memctl.pages.outline import Marker

LARGE = 5_000  # tokens; rules.md#levels-of-pages
_FEW = 3  # markers that describe a file at least; fewer, such as a text's title, say nothing
_TARGETS = lazy_regex(r"\]\(((?:\.\./)+[^()\s#]+)\)")  # of links to files outside of `docs/`
_PRIVATE = lazy_regex(r"(?:^|[ .])[_#]")
_ROWS = 200  # files of a section that are listed
_MARKERS = 40  # markers of one file that are listed


class SourceFile(msgspec.Struct, frozen=True):
    """A file in the document of source files.

    - `id`: its marker; `title`, `link`: its title and the target of its link in Markdown; `purpose`: what it is for.
    - `size`: its bytes; `tokens`: its tokens, None if it is not text.
    - `changed`: the date of the last commit that changed it, "" if there is none.
    - `markers`: its headings or definitions; `more`: how many others are not listed.
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
    """The files of one section in the document of source files.

    If `section` is None, they are the files that no section covers but pages refer to. `left_out` is the number of the
    section's files that are not listed, because the list has a limit.
    """

    section: ListEntry | None
    files: tuple[SourceFile, ...]
    left_out: int


class Level4(msgspec.Struct, frozen=True):
    """The content of the document of source files: the project's title, and the files by section.

    `has_figures` says whether it has the files' sizes, tokens and dates, and `is_live` that these are as of now.
    """

    title: str
    groups: tuple[SourceGroup, ...]
    has_figures: bool
    is_live: bool


def made_from(snapshot: Snapshot) -> str:
    """Return a hash of everything in the memory that decides which files the document of source files lists."""
    covered = [(page.id, page.title, page.path, page.paths) for page in snapshot.outline.sections if page.paths]
    listed = sorted({reference for page in _pages(snapshot) for reference in page.code_refs})
    mentioned = sorted({marker for page in _pages(snapshot) for marker in _mentions(page)})
    return digest(msgspec.json.encode([levels.title_of(snapshot), covered, listed, mentioned]).decode())


def _chosen(snapshot: Snapshot) -> list[tuple[Page | None, list[str]]]:
    names = snapshot.files.names()
    chosen: list[tuple[Page | None, list[str]]] = []
    chosen += [(page, repository_paths.matching(names, page.paths)) for page in snapshot.outline.sections]
    covered = {path for _, paths in chosen for path in paths}
    referenced = {path for page in _pages(snapshot) for path in referenced_files(page, names)}
    chosen.append((None, sorted(referenced - covered)))
    # A section with globs links to its group, even if no file matches.
    return [(page, paths) for page, paths in chosen if paths or (page and page.paths)]


def difference(snapshot: Snapshot, links: Links, text: str) -> tuple[bool, list[str]]:
    """Return whether a document of source files lists other files or titles than it should, and those that it should
    not list: they are gone, or no section covers them any more."""
    chosen, listed = _chosen(snapshot), _TARGETS.findall(CODE_SPAN.sub("", text))
    targets = [links.file(path) for _, paths in chosen for path in paths[:_ROWS]]
    titles = [levels.title_of(snapshot), *(markdown.inline(page.title) for page, _ in chosen if page)]
    shown, *wanted = (f" {' '.join(markdown.words(each))} " for each in (text, *titles))
    gone = [unquote(target.removeprefix(links.file(""))) for target in listed if target not in targets]
    return listed != targets or not all(title in shown for title in wanted), gone


def level4(
    snapshot: Snapshot, links: Links, repository: Repository, count: CountTokens, *, live: bool = False
) -> Level4:
    """Return the content of the document of source files; reads the listed files and their last commits.

    `count` is a function that returns the tokens of a file from its path and text.
    """
    chosen, has_figures = _chosen(snapshot), live or snapshot.config.format == 1
    listed = {path for _, paths in chosen for path in paths[:_ROWS]}
    contents = snapshot.files.read(listed)
    revision = "HEAD" if snapshot.source in ("disk", "index") else snapshot.source
    changed = last_changes(repository, listed, revision) if has_figures else {}
    cell = markdown.in_cell if has_figures else str  # without figures it is no table
    rows = {path: _row(links, path, contents.get(path), changed.get(path, ""), count, cell) for path in listed}
    groups = [
        SourceGroup(
            ListEntry(page.id, markdown.inline(page.title), links.marker(page.id)) if page else None,
            tuple(rows[path] for path in paths[:_ROWS]),
            max(len(paths) - _ROWS, 0),
        )
        for page, paths in chosen
    ]
    return Level4(levels.title_of(snapshot), tuple(groups), has_figures, live)


def referenced_files(page: Page, names: frozenset[str]) -> dict[str, str]:
    """Return the files that a page refers to, each with the text of a reference to it.

    References that are ambiguous, or whose file is missing, are left out. `names` are the repository's files.
    """
    references = {path: ref for ref in page.code_refs for path in freshness.code_paths(names, ref) if path in names}
    for reference in sorted(_mentions(page)):
        if "*" not in reference:
            paths = repository_paths.resolve(names, reference[3:])
            if len(paths) == 1 and not paths[0].endswith("/"):
                references.setdefault(paths[0], reference)
    return references


def _pages(snapshot: Snapshot) -> tuple[Page, ...]:
    return (*snapshot.outline.sections, *snapshot.outline.details)


def _mentions(page: Page) -> set[str]:
    return {item.text for item in mentions.in_text(page.body) if item.text.startswith("§4.")}


def _row(
    links: Links, path: str, content: bytes | None, changed: str, count: CountTokens, cell: Callable[[str], str]
) -> SourceFile:
    from memctl.pages import outline  # only level 4 reads files

    link, title = links.file(path), cell(markdown.code(path))
    text = _text(content)
    if text is None:  # the file is too large, or not text
        return SourceFile(f"§4.{path}", title, link, len(content or b""), None, changed[:10], "", ())
    tokens = count(path, text)
    marked = outline.markers(path, text) if tokens > LARGE else []
    # A document carries nothing that `check` would refuse, such as the password of a URL in a docstring.
    entries = tuple(
        ListEntry(f"§4.{path}:{m.line}", markdown.code(redact(m.title, strict=False)), f"{link}#L{m.line}")
        for m in _main_markers(marked)
    )
    purpose = cell(markdown.inline(redact(outline.purpose(path, text), strict=False)))
    more = len(marked) - len(entries)
    return SourceFile(f"§4.{path}", title, link, len(content or b""), tokens, changed[:10], purpose, entries, more)


def _main_markers(marked: Sequence[Marker]) -> list[Marker]:
    public = [marker for marker in marked if not _PRIVATE.search(marker.title)]
    for level in sorted({marker.level for marker in public}):
        main = [marker for marker in public if marker.level <= level]
        if len(main) >= _FEW:
            break
    else:
        main = public
    return main[:_MARKERS]


def _text(content: bytes | None) -> str | None:
    if content is None or b"\0" in content[:8_000]:
        return None
    return content.decode(errors="replace")
