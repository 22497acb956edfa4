"""Merging a later summary into a session's page, by S3's "Merge Incrementally", and keeping it within its budget."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import msgspec

from memctl.sessions import composing, page, trail
from memctl.sessions.composing import IMPLIED, OPEN, RESOLVED
from memctl.sessions.page import Page, Row
from memctl.sessions.touches import READ
from memctl.tokens.count import Counter

MOST_TOKENS = 10_000  # S0, "Session Summary Generation": 5,000-10,000 tokens
_SUMS = ("turns", "answers", "tool_calls", "sub_agents", "compactions", "tokens_read", "tokens_written",
         "broken_lines", "duration_minutes")  # fmt: skip
_RESOLVED_LATER = "the same step succeeded in a later part"


def merge(old: Page, new: Page, succeeded: Collection[str] = ()) -> Page:
    """A page with a later summary of the same session in it; merging the same one twice changes nothing.

    The intent stays, files are merged per path, decisions, issues and learnings are appended, state and next steps are
    replaced. An error is replaced if it is resolved, also by one of the steps that `succeeded` later.
    """
    files = _merged_files(old.files, new.files)
    lines = {
        page.INTENT: _appended(old.lines.get(page.INTENT, ()), _only_scope(old, new)),
        page.STATE: new.lines.get(page.STATE, ()),
        page.NEXT: new.lines.get(page.NEXT, ()),
        page.ERRORS: _merged_errors(old, new, succeeded),
    }
    for heading in (page.DECISIONS, page.ISSUES, page.LEARNINGS):
        lines[heading] = _appended(old.lines.get(heading, ()), new.lines.get(heading, ()))
    count = sum(map(len, files.values()))
    values = _merged_values(old.values, new.values) | {"files_accessed": count}
    return Page(values, files, lines, old.more)


def _only_scope(old: Page, new: Page) -> Iterable[str]:
    lines = new.lines.get(page.INTENT, ())
    return lines if not old.lines.get(page.INTENT) else [line for line in lines if line.startswith("Scope changed: ")]


def _appended(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """Lines and those that are not among them yet."""
    return tuple({_key(line): line for line in (*new, *old)}[key] for key in dict.fromkeys(map(_key, (*old, *new))))


def _key(line: str) -> str:
    return " ".join(re.findall(r"\w+", line.replace(IMPLIED, "").lower()))


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


def _merged_files(old: Mapping[str, tuple[Row, ...]], new: Mapping[str, tuple[Row, ...]]) -> dict[str, tuple[Row, ...]]:
    merged: dict[str, tuple[Row, ...]] = {}
    inside = _per_path(
        [*old.get(page.READ, ()), *old.get(page.CHANGED, ())], [*new.get(page.READ, ()), *new.get(page.CHANGED, ())]
    )
    merged[page.CHANGED] = tuple(row for row in inside if row.action != READ)
    merged[page.READ] = tuple(row for row in inside if row.action == READ)
    merged[page.OUTSIDE] = tuple(_per_path(old.get(page.OUTSIDE, ()), new.get(page.OUTSIDE, ())))
    return merged


def _per_path(old: Iterable[Row], new: Iterable[Row]) -> Iterable[Row]:
    rows = {row.path: row for row in old}
    for row in new:
        before = rows.get(row.path)
        if before is None:
            rows[row.path] = row
            continue
        what = (
            before.what if not row.what or row.what in before.what else f"{before.what}; {row.what}".removeprefix("; ")
        )
        rows[row.path] = Row(row.path, trail.after(before.action, row.action), what)
    return rows.values()


def _merged_errors(old: Page, new: Page, succeeded: Collection[str]) -> tuple[str, ...]:
    lines = {_error_key(line): line for line in old.lines.get(page.ERRORS, ())}
    steps = tuple(f"{OPEN}: {composing.step_of(step)}: " for step in succeeded)
    for key, line in lines.items():
        if line.startswith(steps):
            lines[key] = f"{RESOLVED}{line.removeprefix(OPEN)} — {_RESOLVED_LATER}"
    lines.update((_error_key(line), line) for line in new.lines.get(page.ERRORS, ()))
    return tuple(lines.values())


def _error_key(line: str) -> str:
    line = re.sub(rf"^(?:{OPEN}|{RESOLVED}): ", "", line).split(" — the same step")[0]
    return re.sub(r" \(\d+ times\)$", "", line)


def fit(made: Page, counter: Counter, most: int = MOST_TOKENS) -> Page:
    """A page within a number of tokens, as far as exact paths and labelled decisions leave that possible."""
    for shorten in _SHORTER:
        if counter.tokens(page.render(made)) <= most:
            break
        made = shorten(made)
    return made


def _short_words(length: int) -> Callable[[Page], Page]:
    def shorten(made: Page) -> Page:
        files = {
            heading: tuple(msgspec.structs.replace(row, what=_cut(row.what, length)) for row in rows)
            for heading, rows in made.files.items()
        }
        return msgspec.structs.replace(made, files=files)

    return shorten


def _short_lines(length: int, *headings: str) -> Callable[[Page], Page]:
    def shorten(made: Page) -> Page:
        lines = {
            heading: tuple(_cut(line, length) for line in given) if heading in headings else given
            for heading, given in made.lines.items()
        }
        return msgspec.structs.replace(made, lines=lines)

    return shorten


def _without(is_dropped: Callable[[str], bool], *headings: str) -> Callable[[Page], Page]:
    def shorten(made: Page) -> Page:
        lines = {
            heading: tuple(line for line in given if heading not in headings or not is_dropped(line))
            for heading, given in made.lines.items()
        }
        return msgspec.structs.replace(made, lines=lines)

    return shorten


def _cut(line: str, length: int) -> str:
    if len(line) <= length:
        return line
    short = line[: max(length - 1, 0)].rpartition(" ")[0].rstrip("\\")
    return short + ("`" if short.count("`") % 2 else "") + (" …" if length else "")


_TALK = (page.ISSUES, page.LEARNINGS, page.ERRORS)
# What goes first is what can be found again: how errors were resolved, then words on files, then what was only implied.
_SHORTER = (
    _short_lines(300, *_TALK),
    _without(lambda line: line.startswith(RESOLVED), page.ERRORS),
    _short_words(60),
    _short_lines(150, *_TALK),
    _without(lambda line: line.endswith(IMPLIED), *_TALK),
    _without(lambda line: line.endswith(IMPLIED), page.DECISIONS),
    _short_words(0),
    _short_lines(300, page.DECISIONS, page.STATE, page.NEXT),
    _short_lines(80, *_TALK),
    _short_lines(150, page.DECISIONS, page.STATE, page.NEXT),
)
