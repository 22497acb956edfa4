"""Merging a later summary into a session's page (rules.md#session-summary)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from memctl.record import session_page
from memctl.record.session_page import SessionPage, TrailRow
from memctl.session import composing, steps, trail
from memctl.session.composing import IMPLIED, OPEN, RESOLVED
from memctl.session.touches import READ
from memctl.text.plain import plain

_SUMS = ("turns", "answers", "tool_calls", "sub_agents", "compactions", "tokens_read", "tokens_written",
         "broken_lines", "duration_minutes")  # fmt: skip
_READ_INTO = re.compile(
    f" — {re.escape(composing.READ_INTO)}.*?(?= — Instead of: | \\([^()]*\\)$|$)"
)  # a model's words vary
_RESOLVED_LATER = "the same step succeeded in a later part"


def merge(old: SessionPage, new: SessionPage, succeeded: Collection[str] = ()) -> SessionPage:
    """A page with a later summary of the same session in it; merging the same one twice changes nothing.

    The intent stays, files are merged per path, decisions, issues and learnings are appended, state and next steps are
    replaced. An error is replaced if it is resolved, also by one of the steps that `succeeded` later.
    """
    files = _merged_files(old.files, new.files)
    lines = {
        session_page.INTENT: _appended(old.lines.get(session_page.INTENT, ()), _only_scope(old, new)),
        session_page.STATE: new.lines.get(session_page.STATE, ()),
        session_page.NEXT: new.lines.get(session_page.NEXT, ()),
        session_page.ERRORS: _merged_errors(old, new, succeeded),
    }
    for heading in (session_page.DECISIONS, session_page.ISSUES, session_page.LEARNINGS):
        lines[heading] = _appended(old.lines.get(heading, ()), new.lines.get(heading, ()))
    counts = {
        "files_accessed": sum(map(len, files.values())),
        "files_modified": len(files[session_page.CHANGED]),
    }
    values = _merged_values(old.values, new.values) | counts
    return SessionPage(values, files, lines, old.more)


def _only_scope(old: SessionPage, new: SessionPage) -> Iterable[str]:
    lines = new.lines.get(session_page.INTENT, ())
    return (
        lines
        if not old.lines.get(session_page.INTENT)
        else [line for line in lines if line.startswith("Scope changed: ")]
    )


def _appended(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """Lines and those that are not among them yet."""
    return tuple({_key(line): line for line in (*new, *old)}[key] for key in dict.fromkeys(map(_key, (*old, *new))))


def _key(line: str) -> str:
    return " ".join(re.findall(r"\w+", _READ_INTO.sub("", line).replace(IMPLIED, "").lower()))


def _merged_values(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Front matter: figures are added if the new summary begins where the old one ended, else it covers the old one."""
    is_later = bool(old.get("ended") and new.get("started")) and new["started"] >= old["ended"]
    values = {**old, **{key: value for key, value in new.items() if value is not None}}
    for key in _SUMS:
        pair = [side[key] for side in (old, new) if isinstance(side.get(key), int)]
        values[key] = sum(pair) if is_later else max(pair, default=0)
    for key, choose in (("started", min), ("ended", max)):
        given = [str(side[key]) for side in (old, new) if side.get(key)]
        values[key] = choose(given) if given else None
    unchanged = all(old.get(key) == value for key, value in values.items() if key != "summarized")
    return {**values, "summarized": old.get("summarized")} if unchanged else values


def _merged_files(
    old: Mapping[str, tuple[TrailRow, ...]], new: Mapping[str, tuple[TrailRow, ...]]
) -> dict[str, tuple[TrailRow, ...]]:
    merged: dict[str, tuple[TrailRow, ...]] = {}
    inside = _per_path(
        [*old.get(session_page.READ, ()), *old.get(session_page.CHANGED, ())],
        [*new.get(session_page.READ, ()), *new.get(session_page.CHANGED, ())],
    )
    merged[session_page.CHANGED] = tuple(row for row in inside if row.action != READ)
    merged[session_page.READ] = tuple(row for row in inside if row.action == READ)
    merged[session_page.OUTSIDE] = tuple(
        _per_path(old.get(session_page.OUTSIDE, ()), new.get(session_page.OUTSIDE, ()))
    )
    return merged


def _per_path(old: Iterable[TrailRow], new: Iterable[TrailRow]) -> Iterable[TrailRow]:
    rows = {row.path: row for row in old}
    for row in new:
        before = rows.get(row.path)
        if before is None:
            rows[row.path] = row
            continue
        what = (
            before.what if not row.what or row.what in before.what else f"{before.what}; {row.what}".removeprefix("; ")
        )
        rows[row.path] = TrailRow(row.path, trail.after(before.action, row.action), what)
    return rows.values()


def _merged_errors(old: SessionPage, new: SessionPage, succeeded: Collection[str]) -> tuple[str, ...]:
    lines = {_error_key(line): line for line in old.lines.get(session_page.ERRORS, ())}
    good = steps.keys(map(plain, succeeded))
    for key, line in lines.items():
        if line.startswith(f"{OPEN}: ") and steps.begins(line.removeprefix(f"{OPEN}: "), good, quotes="`"):
            lines[key] = f"{RESOLVED}{line.removeprefix(OPEN)} — {_RESOLVED_LATER}"
    lines.update((_error_key(line), line) for line in new.lines.get(session_page.ERRORS, ()))
    return tuple(lines.values())


def _error_key(line: str) -> str:
    line = re.sub(rf"^(?:{OPEN}|{RESOLVED}): ", "", line).split(" — the same step")[0]
    return re.sub(r" \(\d+ times\)$", "", line)
