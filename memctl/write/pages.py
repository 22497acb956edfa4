"""Writing the pages of levels 1 to 3: `project.md`, sections and details."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git import history
from memctl.pages import freshness
from memctl.pages.navigate import refuse_broken, refuse_duplicate
from memctl.record import content_fields, frontmatter, frontmatter_edit, ids, pages
from memctl.record.change import Change, Delete, Write
from memctl.record.errors import InvalidRecord
from memctl.record.pages import DETAIL, PROJECT, PROJECT_ID, SECTION, Page, PageKind
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.text.phrases import some
from memctl.write import id_collisions


class PageText(msgspec.Struct, frozen=True):
    """What to set on a page: front matter values, content fields, or its whole body.

    What is not given stays unchanged; a `body` of None leaves the body as it is, but for the content fields.
    """

    values: Mapping[str, Any] = {}
    content: Mapping[str, str | list[str]] = {}
    body: str | None = None


class Author(msgspec.Struct, frozen=True):
    """The name of the agent or person who writes a page, and the canonical time of writing."""

    name: str
    now: str


def set_project(snapshot: Snapshot, text: PageText, author: Author) -> Change:
    """Return the Change that writes `project.md` with the values and texts in `text`.

    If the page exists, values and content fields that `text` does not name stay as they are. `author` says who writes
    the page, and when.
    """
    refuse_broken(snapshot, PROJECT_ID)
    page = snapshot.outline.project
    if page is None:
        values = {"title": snapshot.config.project, **text.values}
        _refuse(PROJECT, values, pages.PROJECT_PATH)
        write = _create_page(snapshot, PROJECT, pages.PROJECT_PATH, values, text, author)
    else:
        write = _edit_page(snapshot, page, text, author)
    return Change(op="project", title=f"{PROJECT_ID} ({_summary(text)})", ids=(PROJECT_ID,), writes=(write,))


def former_files(memory: Memory, kind: PageKind) -> list[str]:
    """Return the paths of all pages of a kind that there ever were on any branch of this clone."""
    paths = history.paths_ever(memory.repository, memory.tracked(kind.folder), everywhere=True)
    return [path.removeprefix(f"{memory.prefix}/") for path in paths]


def add(snapshot: Snapshot, kind: PageKind, text: PageText, author: Author, former: Iterable[str] = ()) -> Change:
    """Return the Change that adds a section or a page of details.

    The page's number is the value `id` of `text`, such as "§2.4"; without that value it is the next free one. `former`
    are paths of pages that exist or existed. Their numbers are not used again: references to the old page would then
    mean the new one, and another branch may still have the old page.
    """
    title = str(text.values.get("title", "")).strip()
    if not title:
        raise MemctlError(
            "the new page has no title",
            f"give `memctl page {kind.name} add TITLE …`, or a text that begins with `# TITLE`",
            USAGE,
        )
    numbers = map(pages.number_at, snapshot.names(kind.folder))  # also of pages that can't be read
    used = {number for number in numbers if number.startswith(f"{kind.level}.")}
    free = id_collisions.free_numbers(kind, (*used, *map(pages.number_at, former)))
    values = {**text.values, "title": title, "id": text.values.get("id") or next(free)}
    if kind is DETAIL:
        _refuse_unknown_section(snapshot, values.get("section"))
    marker = str(values["id"])
    path = f"{kind.folder}/{marker[1:]}{'-' + slug if (slug := ids.slug(title)) else ''}.md"
    _refuse(kind, values, path)
    if marker[1:] in used:
        if snapshot.outline.find(marker) is None:
            refuse_broken(snapshot, marker)
        raise MemctlError(f"{marker} already exists", f"`memctl page {kind.name} edit {marker} …` changes it")
    write = _create_page(snapshot, kind, path, values, text, author)
    return Change(op=f"add-{kind.name}", title=f"{marker} {title}", ids=(marker,), writes=(write,))


def edit(snapshot: Snapshot, marker: str, kind: PageKind, text: PageText, author: Author) -> Change:
    """Return the Change that edits the section or page of details with the marker `marker`.

    Values and content fields that `text` does not name stay as they are. Raises MemctlError if there is no such page.
    """
    page = find(snapshot, marker, kind)
    if "section" in text.values:
        _refuse_unknown_section(snapshot, text.values["section"])
    write = _edit_page(snapshot, page, text, author)
    title = f"{page.id} ({_summary(text)}) {text.values.get('title', page.title)}"
    return Change(op=f"edit-{kind.name}", title=title, ids=(page.id,), writes=(write,))


def remove(snapshot: Snapshot, marker: str, kind: PageKind) -> Change:
    """Return the Change that deletes a page, which stays in Git's history.

    Raises MemctlError for a section that has pages of details or records.
    """
    page = find(snapshot, marker, kind)
    if details := snapshot.outline.details_of(page.id):
        raise MemctlError(
            f"{page.id} can't be removed: it has pages of details, {', '.join(detail.id for detail in details)}",
            f"move each to another section: `memctl page detail edit {details[0].id} --section §2.…`",
        )
    below = [record.id for record in snapshot.records if f"{record.section}.".startswith(f"{page.id}.")]
    if below:
        raise MemctlError(
            f"{page.id} can't be removed: records belong to it, {some(below, 3)}",
            f"move each to another section: `memctl edit {below[0]} --set section=§2.…`",
        )
    delete = Delete(page.path, snapshot.read(page.path))
    return Change(op=f"remove-{kind.name}", title=f"{page.id} {page.title}", ids=(page.id,), deletes=(delete,))


def review(snapshot: Snapshot, markers: Sequence[str], author: Author) -> Change:
    """Return the Change that marks pages as reviewed: they agree with the present contents of the files they refer to.

    Raises MemctlError if a page refers to a missing or ambiguous file.
    """
    chosen = list({page.path: page for page in (find(snapshot, marker) for marker in markers)}.values())
    writes = []
    for page in chosen:
        broken = [ref.reference for ref in freshness.references(snapshot, page) if ref.state != freshness.FOUND]
        if broken:
            raise MemctlError(
                f"{page.id} can't be marked as reviewed: it refers to missing or ambiguous files, "
                f"{', '.join(broken[:5])}",
                f"correct {snapshot.prefix}/{page.path} first; `memctl page impact --all` suggests paths",
            )
        values: dict[str, Any] = {"reviewed": freshness.stamps(snapshot, page)}
        is_overview = page.kind is PROJECT and page.timestamp != author.now  # the project's page refers to no file
        if values["reviewed"] != page.reviewed or is_overview:
            old, values = snapshot.read(page.path), {**values, "timestamp": author.now, "agent_id": author.name}
            writes.append(Write(page.path, frontmatter_edit.replace(old, values, pages.ORDER), old))
    named = tuple(page.id for page in chosen)
    return Change(op="review", title=" ".join(named), ids=named, writes=tuple(writes))


def find(snapshot: Snapshot, marker: str, kind: PageKind | None = None) -> Page:
    """Return the page with a marker, which may be given without its §, such as "2.1".

    If `kind` is given, only pages of this level are searched. Raises MemctlError if there is no such page (the hint
    names the pages that exist), if several have the marker, or if the page can't be read.
    """
    wanted = "§" + marker.strip().removeprefix("§")
    pages_of_kind = [page for page in snapshot.outline.pages if kind is None or page.kind is kind]
    refuse_duplicate(snapshot, wanted)
    if matching := [page for page in pages_of_kind if page.id == wanted]:
        return matching[0]
    what = kind.name if kind else "page"
    if kind is None or wanted.startswith(f"§{kind.level}."):
        refuse_broken(snapshot, wanted)
    names = ", ".join(page.id for page in pages_of_kind)
    hint = (
        f"the memory has {names}"
        if pages_of_kind
        else f"`memctl page {what if kind else 'section'} add TITLE` adds one"
    )
    raise MemctlError(f"there is no {what} {wanted}", hint)


def with_content(kind: PageKind, body: str, text: PageText) -> str:
    """Return the body of a page with the content fields set that `text` gives; an empty field removes its heading, too.

    `kind` is the level of the page, which decides what content fields it has.
    """
    for field in kind.fields:
        if (value := text.content.get(field.name)) is not None:
            body = content_fields.replace(kind, body, field, content_fields.clean(value))
    return body


def _refuse_unknown_section(snapshot: Snapshot, marker: object) -> None:
    """Raise MemctlError if `marker` is empty or not that of a section."""
    if marker in (None, "", "§"):
        if not snapshot.outline.sections:
            raise MemctlError(
                "a page of details must belong to a section, and the memory has none yet",
                "`memctl page section add TITLE` adds one",
            )
        first = snapshot.outline.sections[0].id
        raise MemctlError(
            "a page of details must belong to a section", f"name one with --section, such as `--section {first}`"
        )
    find(snapshot, str(marker), SECTION)


def _create_page(
    snapshot: Snapshot, kind: PageKind, path: str, values: Mapping[str, Any], text: PageText, author: Author
) -> Write:
    """Return the Write of a new page, whose values are known to be valid."""
    body = with_content(kind, _clean_body(text.body or ""), text)
    front = {name: values.get(name) for name in pages.ORDER}
    front |= {"timestamp": author.now, "agent_id": author.name}
    if kind is PROJECT:
        front["id"] = None  # its path says it
    draft = frontmatter.compose(front, body)
    stamped = freshness.stamps(snapshot, _parse_page(snapshot, draft, path))
    front["reviewed"] = stamped
    return Write(path, frontmatter.compose(front, body, formatted=snapshot.config.format > 1))


def _edit_page(snapshot: Snapshot, page: Page, text: PageText, author: Author) -> Write:
    """Return the Write that changes some values, content fields or the whole body of a page, and nothing else."""
    old = snapshot.read(page.path)
    body = page.body if text.body is None else _clean_body(text.body)
    new = _with_body(old, with_content(page.kind, body, text))
    values = {name: value for name, value in text.values.items() if getattr(page, name) != value}
    if new == old and not values:
        return Write(page.path, old, old)
    current = {name: getattr(page, name) for name in pages.ORDER}
    _refuse(page.kind, {**current, **values}, page.path)
    _parse_page(snapshot, new, page.path)
    values |= {"timestamp": author.now, "agent_id": author.name}
    new = frontmatter_edit.replace(new, values, pages.ORDER, formatted=snapshot.config.format > 1)
    stamped = freshness.stamps(snapshot, _parse_page(snapshot, new, page.path), keep=True)
    return Write(page.path, frontmatter_edit.replace(new, {"reviewed": stamped}, pages.ORDER), old)


def _parse_page(snapshot: Snapshot, text: str, path: str) -> Page:
    """Return the page that a text would be; raises MemctlError if it is not valid."""
    try:
        return pages.parse(text, path)
    except InvalidRecord as error:
        faults = (f"{snapshot.prefix}/{fault}" for fault in error.faults)
        raise MemctlError("\n".join(["the new text is not a valid page:", *faults])) from None


def _with_body(text: str, body: str) -> str:
    """Return a file with another body."""
    rest = frontmatter.split(text)[1]
    if (rest[1:] if rest.startswith("\n") else rest) == body:
        return text
    head = text[: len(text) - len(rest)]
    return head + (f"\n{body}" if body else "")


def _clean_body(text: str) -> str:
    text = frontmatter.clean_newlines(text).strip("\n")
    return f"{text}\n" if text.strip() else ""


def _refuse(kind: PageKind, values: Mapping[str, Any], path: str) -> None:
    """Raise MemctlError, naming each value of a page that is not valid."""
    shown = {name: value for name, value in values.items() if value is not None}
    shown.setdefault("id", PROJECT_ID)
    if wrong := pages.problems(kind, shown, path):
        raise MemctlError("\n".join(f"{field}: {message}" for field, message in wrong))


def _summary(text: PageText) -> str:
    """Return the names of what is set on a page, for a commit's subject."""
    words = [
        f"completion {value} %" if name == "completion_percentage" else name for name, value in text.values.items()
    ]
    return ", ".join([*words, *text.content, *(["text"] if text.body is not None else [])]) or "nothing"
