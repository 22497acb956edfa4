"""Merge the page of a later part of a session into the session's page (rules.md#session-summary).

If two clones changed one page, their versions are merged in the same way. The version that ends later counts as the
later part, whichever clone it is from, so that both clones get the same result. Text that people wrote under their own
headings is merged line by line.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from memctl.git import tree_merge
from memctl.git.tree_merge import Preference
from memctl.record import frontmatter, session_page
from memctl.record.errors import InvalidRecord
from memctl.record.session_page import SAID, SessionPage, TrailRow
from memctl.session import edits, page_builder, steps, trim
from memctl.session.page_builder import MARKS, OPEN, RESOLVED
from memctl.session.summary import PROMPT_LENGTH
from memctl.task.progress import after
from memctl.text.actions import READ
from memctl.text.characters import redacted_line
from memctl.text.fit import cut_at_word
from memctl.text.similarity import comparable
from memctl.tokens.count import Counter
from memctl.write.merge import WHOLE, LostValue, MergeResult

_SUMS = ("turns", "answers", "tool_calls", "sub_agents", "compactions", "tokens_read", "tokens_written",
         "broken_lines", "duration_minutes")  # fmt: skip
_READ_INTO = re.compile(
    f" — {re.escape(page_builder.READ_INTO)}.*?(?= — Instead of: | \\([^()]*\\)$|$)"
)  # left out of comparisons, because a model words a reason differently each time
_SCOPE = "Scope changed: "
_GROWING = (
    *(session_page.DECISIONS, SAID, session_page.ISSUES, session_page.LEARNINGS),
    *(session_page.COMMITS, session_page.COMMANDS),
)
_RESOLVED_LATER = "the same step succeeded in a later part of the session"


def merge(old: SessionPage, new: SessionPage, succeeded: Collection[str] = ()) -> SessionPage:
    """Return the `old` page of a session, with the page of a later part of the session (`new`) merged into it.

    The intent stays, files are merged by path, decisions, issues and learnings are added, and the state of the work and
    next steps are replaced. `succeeded` are the commands and other tool calls whose last run in the later part
    succeeded (`failures.succeeded`). An open error counts as resolved if its command is among these, or if the new page
    says so. Merging the same page again changes nothing.
    """
    files = _merged_files(old.files, new.files)
    lines = {
        session_page.INTENT: _appended(old.lines.get(session_page.INTENT, ()), _only_scope(old, new)),
        session_page.STATE: new.lines.get(session_page.STATE, ()),
        session_page.NEXT: new.lines.get(session_page.NEXT, ()),
        session_page.ERRORS: _merged_errors(old, new, succeeded),
    }
    for heading in _GROWING:
        added = new.lines.get(heading, ())
        first = _first_prompt(old, new) if heading == SAID else ()
        lines[heading] = _appended(old.lines.get(heading, ()), (*first, *added))
    counts = {
        "files_accessed": sum(map(len, files.values())),
        "files_modified": len(files[session_page.CHANGED]),
    }
    values = _merged_values(old.values, new.values) | counts
    return SessionPage(values, files, lines, old.more)


def _only_scope(old: SessionPage, new: SessionPage) -> Iterable[str]:
    lines = new.lines.get(session_page.INTENT, ())
    return lines if not old.lines.get(session_page.INTENT) else [line for line in lines if line.startswith(_SCOPE)]


def _first_prompt(old: SessionPage, new: SessionPage) -> Iterable[str]:
    """Return the beginning of a later part's first prompt, because the page's intent is the first part's prompt."""
    known = old.lines.get(session_page.INTENT, ())
    lines = new.lines.get(session_page.INTENT, ()) if known else ()
    return [cut_at_word(line, PROMPT_LENGTH) for line in lines if line not in known and not line.startswith(_SCOPE)]


def _appended(old: Iterable[str], new: Iterable[str]) -> tuple[str, ...]:
    """Return the old lines, and those of the new lines that are not among them."""
    lines = {_key(line): line for line in old}
    for line in new:
        lines.setdefault(_key(line), line)
    return tuple(lines.values())


def _key(line: str) -> str:
    line = _READ_INTO.sub("", line)
    for mark in MARKS:
        line = line.replace(mark, "")
    return comparable(line)


def _merged_values(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Merge front matter. Figures are added if the new part starts after the old one ended.

    Otherwise the new part covers the old one, and the larger figure counts.
    """
    is_later = bool(old.get("ended") and new.get("started")) and new["started"] >= old["ended"]
    values = {**old, **{key: value for key, value in new.items() if value is not None}}
    for key in _SUMS:
        pair = [side[key] for side in (old, new) if isinstance(side.get(key), int)]
        values[key] = sum(pair) if is_later else max(pair, default=0)
    if new.get("tokens_written") is None:  # no transcript of this part says how many
        values["tokens_written"] = None
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
            before.what
            if not row.what or row.what in before.what
            else edits.join([*filter(None, [before.what]), row.what])
        )
        rows[row.path] = TrailRow(row.path, after(before.action, row.action), what)
    return rows.values()


def _merged_errors(old: SessionPage, new: SessionPage, succeeded: Collection[str]) -> tuple[str, ...]:
    lines = {_error_key(line): line for line in old.lines.get(session_page.ERRORS, ())}
    good = steps.keys(map(redacted_line, succeeded))
    for key, line in lines.items():
        if line.startswith(f"{OPEN}: ") and steps.begins(line.removeprefix(f"{OPEN}: "), good, quotes="`"):
            lines[key] = f"{RESOLVED}{line.removeprefix(OPEN)} — {_RESOLVED_LATER}"
    lines.update((_error_key(line), line) for line in new.lines.get(session_page.ERRORS, ()))
    return tuple(lines.values())


def _error_key(line: str) -> str:
    line = re.sub(rf"^(?:{OPEN}|{RESOLVED}): ", "", line).split(" — the same step")[0]
    return re.sub(r" \(\d+ times\)$", "", line)


_BY_HAND = "text under headings that memctl does not write"
_REPLACED = (session_page.STATE, session_page.NEXT)


def merge_versions(base: str, ours: str, theirs: str, counter: Counter, *, prefer: Preference = "") -> MergeResult:
    """Merge two versions of a session's page; `base` is the version that both are from, "" if there was none.

    Decisions, issues, learnings and errors of both versions are kept, and files are merged by path. The state of the
    work and next steps are those of the later version. If the earlier version had changed them as well, its texts are
    in `MergeResult.lost`.

    Conflicting text under people's own headings gets Git's conflict markers, unless `prefer` names the side to take.
    The result is trimmed to the page's budget, as `counter` counts tokens. Versions that can't be parsed, or that are
    of two different sessions, are merged line by line. Raises GitFailed for text that Git takes for binary.
    """
    if ours == theirs or theirs == base:
        return MergeResult(ours)
    if ours == base:
        return MergeResult(theirs)
    before, one, other = (_parse(frontmatter.clean_newlines(text)) for text in (base, ours, theirs))
    if one is None or other is None or one.id != other.id:
        return _lines(base, ours, theirs, prefer)
    earlier, later = sorted((one, other), key=_order)
    made = merge(earlier, later)
    # The earlier version's state is lost only if it differs from the base: otherwise that version had not changed it.
    lost = [
        LostValue(heading, "\n".join(earlier.lines.get(heading, ())), "\n".join(later.lines.get(heading, ())))
        for heading in _REPLACED
        if earlier.lines.get(heading, ())
        not in (later.lines.get(heading, ()), before.lines.get(heading, ()) if before else ())
    ]
    was = before.more if before else ""
    more, count = _by_hand(was, one.more, other.more, prefer)
    if count:
        winner, loser = (one, other) if prefer == "ours" else (other, one)
        lost += [LostValue(_BY_HAND, loser.more, winner.more)] if prefer else []
    text = _text(msgspec.structs.replace(made, more=more), (one, other), counter)
    return MergeResult(
        text,
        (_BY_HAND,) if count and not prefer else (),
        tuple(f"{loss.key}: the text of the later summary is kept" for loss in lost if loss.key in _REPLACED),
        tuple(lost),
    )


def _text(made: SessionPage, sides: tuple[SessionPage, SessionPage], counter: Counter) -> str:
    """Return the text of a merged page within its budget, or of a merged list of files.

    A page whose files are listed in another file takes the larger of both sides' counts, because that list is merged
    separately.
    """
    if all(session_page.is_file_list(side) for side in sides):
        return session_page.render_trail(made)
    if made.trail:
        most = max(int(side.values.get("files_accessed") or 0) for side in sides)
        made = msgspec.structs.replace(made, values={**made.values, "files_accessed": most})
    return session_page.render(trim.alone(made, counter))


def _parse(text: str) -> SessionPage | None:
    try:
        page = session_page.parse(text, "")
    except InvalidRecord:
        return None
    return page if page.id else None


def _order(version: SessionPage) -> tuple[str, str, str]:
    return (
        str(version.values.get("ended") or ""),
        str(version.values.get("summarized") or ""),
        session_page.render(version),
    )


def _by_hand(base: str, ours: str, theirs: str, prefer: Preference) -> tuple[str, int]:
    if ours == theirs or theirs == base:
        return ours, 0
    if ours == base:
        return theirs, 0
    text, count = tree_merge.merge_texts(base, ours, theirs)
    return (tree_merge.merge_texts(base, ours, theirs, prefer=prefer)[0] if count and prefer else text), count


def _lines(base: str, ours: str, theirs: str, prefer: Preference) -> MergeResult:
    text, count = tree_merge.merge_texts(base, ours, theirs)
    if not count:
        return MergeResult(text)
    if not prefer:
        return MergeResult(text, (WHOLE,))
    winner, loser = (ours, theirs) if prefer == "ours" else (theirs, ours)
    return MergeResult(winner, lost=(LostValue(WHOLE, loser, winner),))
