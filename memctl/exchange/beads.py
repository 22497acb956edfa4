"""Issues of beads, from its JSON Lines, read as the values of records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from memctl.exchange.rows import SOURCE_ID
from memctl.record.record import TITLE_LIMIT
from memctl.text.fit import cut_at_word
from memctl.text.markdown import one_line

SEVERITIES = ("critical", "high", "medium", "low", "low")  # by priority, 0 to 4
_STATUSES = {"in_progress": "in-progress", "hooked": "in-progress", "closed": "resolved"}
_GONE = "tombstone"  # the status of an issue that was deleted
_BLOCKS, _PARENT, _SUPERSEDES = "blocks", "parent-child", "supersedes"
_PLAIN = ("closed",)  # reasons for closing that beads fills in itself


def rows(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, Any] | str]]:
    """Yield the place of each issue (`line 3 (bd-1)`), and the values of its record or the reason why it has none.

    The reason is a text: it says why the issue can't be read.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            issue = msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            yield f"line {number}", f"this is not an issue of beads: {error}"
            continue
        if not issue.get("id") or not str(issue.get("title") or "").strip():
            yield f"line {number}", "this is not an issue of beads: `id` or `title` is missing"
        elif issue.get("status") != _GONE:
            yield f"line {number} ({issue['id']})", _record(issue)


def _record(issue: Mapping[str, Any]) -> dict[str, Any]:
    kind = "decision" if issue.get("issue_type") == "decision" else "issue"
    title = one_line(str(issue["title"]))
    is_closed = issue.get("status") == "closed"
    texts = {"Design": issue.get("design"), "Acceptance criteria": issue.get("acceptance_criteria")}
    texts["Comments"] = "\n\n".join(_comment(one) for one in issue.get("comments") or ())
    description = str(issue.get("description") or "")
    if len(title) > TITLE_LIMIT:
        description = f"{title}\n\n{description}".strip()
    content: dict[str, Any] = {"decision" if kind == "decision" else "description": description}
    if kind == "issue":
        reason = str(issue.get("close_reason") or "").strip()
        content |= {"investigation_status": issue.get("notes"), "resolution": reason * (reason.lower() not in _PLAIN)}
    elif issue.get("notes"):
        content["context"] = issue["notes"]
    values: dict[str, Any] = {
        "memory_type": kind,
        "title": cut_at_word(title, TITLE_LIMIT, "…"),
        "timestamp": issue.get("created_at"),
        "agent_id": one_line(str(issue.get("created_by") or issue.get("owner") or "")) or None,
        "tags": _tags(issue),
        "content": {name: str(text) for name, text in content.items() if text},
        "body": "".join(f"## {heading}\n\n{text}\n\n" for heading, text in texts.items() if text),
        **_links(issue),
        "extra": {
            SOURCE_ID: str(issue["id"]),
            **{name: issue[name] for name in ("priority", "assignee", "closed_at", "external_ref") if issue.get(name)},
        },
    }
    if kind == "issue":
        priority = issue.get("priority")
        values["severity"] = SEVERITIES[min(max(priority, 0), 4)] if isinstance(priority, int) else "medium"
        values["status"] = _STATUSES.get(str(issue.get("status")), "open")
    elif not is_closed:
        values["status"] = "proposed"
    return {name: value for name, value in values.items() if value not in (None, [], "", {})}


def _tags(issue: Mapping[str, Any]) -> list[str]:
    kind = str(issue.get("issue_type") or "")
    found = [one_line(str(label)).replace(",", " ") for label in issue.get("labels") or ()]
    return list(dict.fromkeys(filter(None, [kind if kind not in ("task", "decision") else "", *found])))


def _comment(comment: Any) -> str:
    if not isinstance(comment, Mapping):
        return str(comment)
    return f"**{comment.get('author', '')}, {comment.get('created_at', '')}**: {comment.get('text', '')}"


def _links(issue: Mapping[str, Any]) -> dict[str, Any]:
    """Return the links of an issue: dependencies of the type `blocks` block it, and all others but its parent are
    related."""
    found: dict[str, list[str]] = {"blocked_by": [], "relates_to": [], "supersedes": []}
    parent = issue.get("parent")
    for one in issue.get("dependencies") or ():
        other, relation = str(one.get("depends_on_id") or ""), one.get("type")
        if relation == _PARENT:
            parent = parent or other
        elif other:
            is_decision = issue.get("issue_type") == "decision" and relation == _SUPERSEDES
            found["blocked_by" if relation == _BLOCKS else "supersedes" if is_decision else "relates_to"].append(other)
    return {**found, "parent": parent}
