"""Import issues of beads, a tool that stores issues as JSON Lines; ids and links are kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from memctl.exchange.row_import import ImportResult, ImportTarget, import_items
from memctl.exchange.rows import Item, UnknownValues, json_objects
from memctl.record.errors import describe
from memctl.record.record import SOURCE_ID, TITLE_LIMIT
from memctl.text.fit import cut_at_word
from memctl.text.markdown import one_line

SEVERITIES = ("critical", "high", "medium", "low", "low")  # by priority, 0 to 4
_STATUSES = {
    **dict.fromkeys(("open", "blocked"), "open"),  # what blocks an issue is a link
    **dict.fromkeys(("in_progress", "hooked"), "in-progress"),
    "closed": "resolved",
}
_GONE = "tombstone"  # the status of an issue that was deleted
_BLOCKS, _PARENT, _SUPERSEDES = "blocks", "parent-child", "supersedes"
_EXTRA = ("priority", "assignee", "closed_at", "external_ref")  # kept in the front matter


class Dependency(msgspec.Struct):
    """A link of an issue to another one; `type` is `blocks`, `parent-child` or another word."""

    depends_on_id: str
    type: str | None = None


class Comment(msgspec.Struct):
    """A comment on an issue."""

    author: str | None = ""
    created_at: str | None = ""
    text: str | None = ""


class Issue(msgspec.Struct):
    """An issue of beads (one line of its JSON Lines), with the keys that an import reads."""

    id: str | None = None
    title: str | None = None
    status: str | None = None
    priority: int | None = None
    issue_type: str | None = None
    description: str | None = None
    design: str | None = None
    acceptance_criteria: str | None = None
    notes: str | None = None
    close_reason: str | None = None
    created_at: str | None = None
    created_by: str | None = None
    owner: str | None = None
    assignee: str | None = None
    closed_at: str | None = None
    external_ref: str | None = None
    parent: str | None = None
    labels: list[str] | None = None
    comments: list[Comment | str] | None = None
    dependencies: list[Dependency] | None = None


def import_beads(target: ImportTarget, text: str) -> ImportResult:
    """Read issues of beads; return the Change that records them, and messages on what is lost.

    `text` is JSON Lines, or the JSON array that `bd list --json` prints.
    """
    unknown = UnknownValues()
    hint = "name the file with the issues of beads, such as .beads/issues.jsonl"
    result = import_items(target, _items(text, unknown), hint)
    return msgspec.structs.replace(result, notes=[*unknown.notes(), *result.notes])


def _items(text: str, unknown: UnknownValues) -> Iterator[Item]:
    for place, values in json_objects(text):
        if isinstance(values, str):
            yield place, f"this is not an issue of beads: {values}"
            continue
        try:
            issue = msgspec.convert(values, Issue)
        except msgspec.ValidationError as error:
            yield place, f"this is not an issue of beads: {describe(error)}"
            continue
        if issue.status == _GONE:
            unknown.note(f"{place} ({one_line(issue.id or '')}) was deleted in beads: it is left out")
            continue
        unknown.leave_out(name for name, value in values.items() if name not in Issue.__struct_fields__ and value)
        if not issue.id or not one_line(issue.title or ""):
            yield place, "this is not an issue of beads: `id` or `title` is missing"
        else:
            yield f"{place} ({one_line(issue.id)})", _record(issue, unknown)


def _record(issue: Issue, unknown: UnknownValues) -> dict[str, Any]:
    kind = "decision" if issue.issue_type == "decision" else "issue"
    title = one_line(issue.title or "")
    texts = {"Design": issue.design, "Acceptance criteria": issue.acceptance_criteria}
    texts["Comments"] = "\n\n".join(
        one if isinstance(one, str) else f"**{one.author}, {one.created_at}**: {one.text}"
        for one in issue.comments or ()
    )
    description = issue.description or ""
    if len(title) > TITLE_LIMIT:
        description = f"{title}\n\n{description}".strip()
    content = {"decision" if kind == "decision" else "description": description}
    if kind == "issue":
        reason = (issue.close_reason or "").strip()
        content["investigation_status"] = issue.notes or ""
        content["resolution"] = reason * (reason.lower() != "closed")  # which beads fills in itself
    else:
        content["context"] = issue.notes or ""
    values: dict[str, Any] = {
        "memory_type": kind,
        "title": cut_at_word(title, TITLE_LIMIT, "…"),
        "timestamp": unknown.take_time("created_at", issue.created_at),
        "agent_id": one_line(issue.created_by or issue.owner or "") or None,
        "tags": _tags(issue),
        "content": {name: text for name, text in content.items() if text},
        "body": "".join(f"## {heading}\n\n{text}\n\n" for heading, text in texts.items() if text),
        **_links(issue),
        "extra": {SOURCE_ID: issue.id, **{name: value for name in _EXTRA if (value := getattr(issue, name))}},
    }
    if kind == "issue":
        is_known = issue.priority in range(len(SEVERITIES))
        values["severity"] = (
            SEVERITIES[issue.priority or 0] if is_known else unknown.replace("priority", issue.priority, "medium")
        )
        values["status"] = _STATUSES.get(issue.status or "") or unknown.replace("status", issue.status, "open")
    elif issue.status != "closed":
        values["status"] = "proposed"
    return {name: value for name, value in values.items() if value not in (None, [], "", {})}


def _tags(issue: Issue) -> list[str]:
    kind = issue.issue_type or ""
    tags = [one_line(label).replace(",", " ") for label in issue.labels or ()]
    return list(dict.fromkeys(filter(None, [kind if kind not in ("task", "decision") else "", *tags])))


def _links(issue: Issue) -> dict[str, Any]:
    """An issue is blocked by what it depends on with the type `blocks`, and related to all others but its parent."""
    links: dict[str, list[str]] = {"blocked_by": [], "relates_to": [], "supersedes": []}
    parent = issue.parent
    for dependency in issue.dependencies or ():
        if dependency.type == _PARENT:
            parent = parent or dependency.depends_on_id
        elif dependency.depends_on_id:
            is_decision = issue.issue_type == "decision" and dependency.type == _SUPERSEDES
            relation = "blocked_by" if dependency.type == _BLOCKS else "supersedes" if is_decision else "relates_to"
            links[relation].append(dependency.depends_on_id)
    return {**links, "parent": parent}
