"""Writing the pages of levels 1 to 3: `project.md`, sections and details."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.hierarchy import freshness
from memctl.model import frontmatter, headings, ids, pages
from memctl.model.change import Change, Delete, Write
from memctl.model.pages import DETAIL, PROJECT, PROJECT_ID, SECTION, Page, PageKind
from memctl.model.snapshot import Snapshot


class Text(msgspec.Struct, frozen=True):
    """What to say on a page: front matter values, content fields, or its whole body (None: as it was)."""

    values: Mapping[str, Any] = {}
    content: Mapping[str, str | list[str]] = {}
    body: str | None = None


class Author(msgspec.Struct, frozen=True):
    """Who writes, and when."""

    name: str
    now: str


def set_project(snapshot: Snapshot, text: Text, author: Author) -> Change:
    """Write `project.md`, or change what is given of it."""
    page = snapshot.outline.project
    _refuse_broken(snapshot, pages.PROJECT_PATH)
    if page is None:
        values = {"title": snapshot.config.project, **text.values}
        write = _written(snapshot, PROJECT, pages.PROJECT_PATH, "", values, text, author)
    else:
        write = _changed(snapshot, page, text, author)
    return Change(op="project", title=f"{PROJECT_ID} ({_told(text)})", ids=(PROJECT_ID,), writes=(write,))


def add(snapshot: Snapshot, kind: PageKind, text: Text, author: Author) -> Change:
    """Add a section or a page of details under the next free number, or the one given as `id`."""
    title = str(text.values.get("title", "")).strip()
    if not title:
        raise MemctlError("a title is missing")
    taken = {page.id for page in snapshot.outline.pages}
    marker = text.values.get("id") or _next_marker(snapshot, kind)
    if marker in taken or str(marker)[1:] in _numbers_given(snapshot, kind):
        raise MemctlError(f"{marker} is there already", f"`memctl {kind.name} edit {marker} …` changes it")
    values = {**text.values, "id": marker}
    if kind is DETAIL:
        _refuse_unknown_section(snapshot, values.get("section"))
    path = f"{kind.folder}/{marker[1:]}{'-' + slug if (slug := ids.slug(title)) else ''}.md"
    write = _written(snapshot, kind, path, None, values, text, author)
    return Change(op=f"add-{kind.name}", title=f"{marker} {title}", ids=(marker,), writes=(write,))


def edit(snapshot: Snapshot, marker: str, kind: PageKind, text: Text, author: Author) -> Change:
    """Change a section or a page of details; what is not named stays as it is, to the letter."""
    page = find(snapshot, marker, kind)
    if "section" in text.values:
        _refuse_unknown_section(snapshot, text.values["section"])
    write = _changed(snapshot, page, text, author)
    title = f"{page.id} ({_told(text)}) {text.values.get('title', page.title)}"
    return Change(op=f"edit-{kind.name}", title=title, ids=(page.id,), writes=(write,))


def remove(snapshot: Snapshot, marker: str, kind: PageKind) -> Change:
    """Take a page away; Git keeps it. Refused for a section that has details or records."""
    page = find(snapshot, marker, kind)
    if details := snapshot.outline.details_of(page.id):
        raise MemctlError(
            f"{page.id} has details: {', '.join(detail.id for detail in details)}",
            f"`memctl detail edit {details[0].id} --section §2.…` gives them to another section",
        )
    below = [record.id for record in snapshot.records if _is_below(record.section, page.id)]
    if below:
        more = f" and {len(below) - 3:,} more" if len(below) > 3 else ""
        raise MemctlError(
            f"records belong to {page.id}: {', '.join(below[:3])}{more}",
            f"`memctl edit {below[0]} --set section=§2.…` moves one",
        )
    delete = Delete(page.path, snapshot.read(page.path))
    return Change(op=f"remove-{kind.name}", title=f"{page.id} {page.title}", ids=(page.id,), deletes=(delete,))


def review(snapshot: Snapshot, markers: Sequence[str], author: Author) -> Change:
    """Stamp pages as agreeing with the files they refer to, as those are now."""
    found = list({page.path: page for page in (find(snapshot, marker) for marker in markers)}.values())
    writes = []
    for page in found:
        broken = [ref.reference for ref in freshness.references(snapshot, page) if ref.state != freshness.FOUND]
        if broken:
            raise MemctlError(
                f"{page.id} refers to what is not there: {', '.join(broken[:5])}",
                f"mend {snapshot.prefix}/{page.path} first; `memctl check` names candidates",
            )
        values = {"reviewed": freshness.stamps(snapshot, page)}
        if values["reviewed"] != page.reviewed:
            writes.append(_rewritten(snapshot, page, {**values, "timestamp": author.now, "agent_id": author.name}))
    named = tuple(page.id for page in found)
    return Change(op="review", title=" ".join(named), ids=named, writes=tuple(writes))


def find(snapshot: Snapshot, marker: str, kind: PageKind | None = None) -> Page:
    """The page with a marker, with or without its §; raises MemctlError with near ones."""
    wanted = "§" + marker.strip().removeprefix("§")
    page = snapshot.outline.find(wanted)
    if page is not None and (kind is None or page.kind is kind):
        return page
    for fault in snapshot.outline.faults:
        if fault.path.rpartition("/")[2].startswith(f"{wanted[1:]}-"):
            raise MemctlError(f"{wanted} can't be read: {fault}", "mend the file; `memctl check` lists all faults")
    known = [page.id for page in snapshot.outline.pages if kind is None or page.kind is kind]
    what = kind.name if kind else "page"
    hint = f"there are {', '.join(known)}" if known else f"`memctl {what if kind else 'section'} add TITLE` makes one"
    raise MemctlError(f"there is no {what} {wanted}", hint)


def _next_marker(snapshot: Snapshot, kind: PageKind) -> str:
    used = [int(name[2:]) for name in _numbers_given(snapshot, kind)]
    return f"§{kind.level}.{max(used, default=0) + 1}"


def _numbers_given(snapshot: Snapshot, kind: PageKind) -> list[str]:
    """The numbers that the names of pages' files begin with, those that can't be read among them."""
    names = (path.rpartition("/")[2] for path in snapshot.names(kind.folder))
    return [match[0] for name in names if (match := re.match(rf"{kind.level}\.[1-9][0-9]*(?=[-.])", name))]


def _is_below(section: str | None, marker: str) -> bool:
    return section is not None and (section == marker or section.startswith(marker + "."))


def _refuse_unknown_section(snapshot: Snapshot, marker: object) -> None:
    if not marker:
        raise MemctlError("a section is missing", "`--section §2.1` says whose details these are")
    find(snapshot, str(marker), SECTION)


def _refuse_broken(snapshot: Snapshot, path: str) -> None:
    fault = next((fault for fault in snapshot.outline.faults if fault.path == path), None)
    if fault is not None:
        raise MemctlError(f"{snapshot.prefix}/{fault}", "mend the file first")


def _written(
    snapshot: Snapshot,
    kind: PageKind,
    path: str,
    old: str | None,
    values: Mapping[str, Any],
    text: Text,
    author: Author,
) -> Write:
    """A new page's file."""
    body = _clean_body(text.body or "")
    for field in kind.fields:
        if field.name in text.content:
            body = headings.replace(kind, body, field, text.content[field.name])
    given = {name: values.get(name) for name in pages.ORDER}
    given |= {"timestamp": author.now, "agent_id": author.name}
    if kind is PROJECT:
        given["id"] = None  # its path says it
    _refuse(kind, given, path)
    draft = _composed(given, body)
    stamped = freshness.stamps(snapshot, pages.parse(draft, path))
    return Write(path, _composed({**given, "reviewed": stamped}, body))


def _composed(values: Mapping[str, Any], body: str) -> str:
    return frontmatter.compose(values, body)


def _changed(snapshot: Snapshot, page: Page, text: Text, author: Author) -> Write:
    """A page's file with some values, content fields or its whole body changed, and nothing else."""
    old = snapshot.read(page.path)
    new = old
    if text.body is not None:
        new = _with_body(new, _clean_body(text.body))
    body = pages.parse(new, page.path).body
    for field in page.kind.fields:
        if field.name in text.content:
            body = headings.replace(page.kind, body, field, text.content[field.name])
    new = _with_body(new, body)
    values = {name: value for name, value in text.values.items() if getattr(page, name) != value}
    if new == old and not values:
        return Write(page.path, old, old)
    current = {name: getattr(page, name) for name in pages.ORDER}
    _refuse(page.kind, {**current, **values}, page.path)
    new = frontmatter.replace(new, {**values, "timestamp": author.now, "agent_id": author.name}, pages.ORDER)
    stamped = freshness.stamps(snapshot, pages.parse(new, page.path), keep=True)
    return Write(page.path, frontmatter.replace(new, {"reviewed": stamped}, pages.ORDER), old)


def _rewritten(snapshot: Snapshot, page: Page, values: Mapping[str, Any]) -> Write:
    old = snapshot.read(page.path)
    return Write(page.path, frontmatter.replace(old, values, pages.ORDER), old)


def _with_body(text: str, body: str) -> str:
    """A file with another body."""
    rest = frontmatter.split(text)[1]
    if (rest[1:] if rest.startswith("\n") else rest) == body:
        return text
    head = text[: len(text) - len(rest)]
    return head + (f"\n{body}" if body else "")


def _clean_body(text: str) -> str:
    text = frontmatter.clean_newlines(text).strip("\n")
    return f"{text}\n" if text else ""


def _refuse(kind: PageKind, values: Mapping[str, Any], path: str) -> None:
    shown = {name: value for name, value in values.items() if value is not None}
    shown.setdefault("id", PROJECT_ID)
    if wrong := pages.problems(kind, shown, path):
        raise MemctlError("\n".join(f"{field}: {message}" for field, message in wrong))


def _told(text: Text) -> str:
    words = [
        f"completion {value} %" if name == "completion_percentage" else name for name, value in text.values.items()
    ]
    return ", ".join([*words, *text.content, *(["text"] if text.body is not None else [])]) or "nothing"
