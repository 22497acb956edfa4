"""How `session` shows summaries and proposals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from memctl.cli import output, report
from memctl.errors import USAGE, MemctlError
from memctl.record import session_page
from memctl.record.errors import Fault
from memctl.record.session_page import SessionPage, path_of
from memctl.session import labels
from memctl.session import pages as session_pages
from memctl.session.file_actions import CREATED, DELETED, MODIFIED, READ
from memctl.session.proposals import Proposal
from memctl.session.summary import SessionSummary
from memctl.session.trim import MOST_TOKENS
from memctl.store.memory import Memory
from memctl.text import markdown
from memctl.text.fit import cut
from memctl.write.commit import Outcome

_SHOWN = 60  # characters of an intent in a list
_LATEST = 5  # files


def review(proposed: Sequence[Proposal], *, as_json: bool) -> None:
    """Print the proposed records with the numbers that --accept takes."""
    if as_json:
        data = [{"number": n, **msgspec.structs.asdict(one)} for n, one in enumerate(proposed, start=1)]
        output.json("proposals", data)
        return
    for number, one in enumerate(proposed, start=1):
        sure = "" if one.explicit else "  (as said, without a label)"
        sure = f"  (already recorded: {one.record})" if one.record else sure
        output.text(output.plain(f"{number:>3}  {one.kind:<8}  {one.title}{sure}"))
        if one.record:
            continue
        for name, value in one.content.items():
            text = value if isinstance(value, str) else "; ".join(value)
            if " ".join(text.split()) != one.title and name != "context":
                output.text(output.plain(f"       {name}: {' '.join(text.split())}"))
    if all(one.record for one in proposed):
        output.note(f"no records are proposed{' any more' if proposed else ''}")


def chosen(proposed: Sequence[Proposal], accept: str) -> list[Proposal]:
    """The proposals that --accept names, without those that are records already, which is told.

    Raises MemctlError for a number that there is not.
    """
    if accept == "all":
        return [one for one in proposed if not one.record]
    numbers = [word.strip() for word in accept.split(",") if word.strip()]
    for number in numbers:
        if not number.isascii() or not number.isdigit() or not 1 <= int(number) <= len(proposed):
            hint = f"there are 1 to {len(proposed)}" if proposed else "none are proposed"
            raise MemctlError(f"--accept: there is no proposal {number!r}", hint, USAGE)
    named = {int(number): proposed[int(number) - 1] for number in numbers}
    for place, one in named.items():
        if one.record:
            output.note(f"{place} is already recorded: {one.record} ({output.plain(one.title)})")
    return [one for one in named.values() if not one.record]


def summarized(memory: Memory, result: Outcome, summary: SessionSummary, left: int, flags: dict[str, Any]) -> None:
    """Report what was written, or with --dry-run would be."""
    if flags["as_json"]:
        data = report.change_data(memory, result, flags["dry_run"])
        output.json("session", {**data, "summary": summary_data(summary)})
        return
    lines = [f"{summary.id} {memory.tracked(path_of(summary.id))}", *result.change.ids]
    report.outcome(memory, result, as_json=False, dry_run=flags["dry_run"], lines=lines)
    output.note(_told(summary))
    if (tokens := session_pages.tokens(memory, result.change.writes[0].text)) > MOST_TOKENS:
        output.note(f"warning: the page has {tokens:,} tokens, more than {MOST_TOKENS:,}: no decision is left out")
    if left:
        output.note(f"{left} record{'s are' if left > 1 else ' is'} proposed: --review shows, --accept makes them")


def _told(summary: SessionSummary) -> str:
    changed = summary.trail.having(CREATED, MODIFIED, DELETED)
    open_errors = [one for one in summary.errors if one.is_open]
    figures = summary.metrics
    words = [
        f"files changed: {len(changed):,}",
        f"read: {len(summary.trail.having(READ)):,}",
        f"outside of the repository: {len(summary.trail.having(CREATED, MODIFIED, DELETED, READ, inside=False)):,}",
        f"decisions: {len(summary.having(labels.DECISION)):,}",
        f"errors: {len(summary.errors):,} ({len(open_errors):,} open)",
    ]
    broken = f"; lines that can't be read: {figures.broken_lines:,}" if figures.broken_lines else ""
    return ", ".join(words) + broken


def listed(memory: Memory, pages: Sequence[SessionPage], faults: Sequence[Fault], *, as_json: bool) -> None:
    """Print a line for each session."""
    if as_json:
        data = [{**made.values, "path": memory.tracked(path_of(made.id))} for made in pages]
        output.json("sessions", data, faults, memory)
    else:
        output.columns([_line(made) for made in pages], ({"fg": "yellow"}, {}, {}, {}))
        if not pages:
            output.note("no session was summed up yet")
    for fault in faults:
        output.note(f"warning: {memory.prefix}/{output.plain(str(fault))}")


def _line(made: SessionPage) -> tuple[str, ...]:
    listed, decided = len(made.files.get(session_page.CHANGED, ())), len(made.lines.get(session_page.DECISIONS, ()))
    changed = int(made.values.get("files_modified") or listed) if made.trail else listed
    counts = f"{changed:,} file{'s' if changed != 1 else ''}, {decided:,} decision{'s' if decided != 1 else ''}"
    intent = markdown.without_escapes((made.lines.get(session_page.INTENT) or ("",))[0])
    return (
        made.id,
        session_pages.ended(made)[0],
        counts,
        cut(intent, _SHOWN),
    )


def shown(
    memory: Memory, path: str, text: str, found: SessionPage | None, faults: Sequence[Fault], *, as_json: bool
) -> None:
    """Print the page of a session, in JSON with all its files; one that can't be read as it is, and why."""
    if not as_json:
        output.text(output.plain(text), newline=False)
    elif found is None:
        raise MemctlError(f"{memory.prefix}/{faults[0]}", "`memctl session show` without --json prints it as it is")
    else:
        output.json("session", {**msgspec.to_builtins(found), "path": memory.tracked(path)}, faults, memory)
    for fault in faults:
        output.note(f"warning: {memory.prefix}/{output.plain(str(fault))}")


def under_way(memory: Memory, summaries: Sequence[SessionSummary], *, as_json: bool) -> None:
    """Print what is known of sessions that are under way."""
    if as_json:
        output.json("sessions", [summary_data(summary) for summary in summaries])
        return
    for one in summaries:
        changed = one.trail.having(CREATED, MODIFIED, DELETED)
        told = f"{one.id}  {one.agent}, since {one.started}, minutes: {one.metrics.duration_minutes:,}"
        output.text(output.plain(f"{told}, files changed: {len(changed):,}{f': {one.intent}' if one.intent else ''}"))
        for entry in changed[-_LATEST:]:
            output.text(output.plain(f"  {entry.action:<8}  {output.name(entry.path)}"))
    if not summaries:
        output.note("no session is under way in this worktree")


def summary_data(summary: SessionSummary) -> dict[str, Any]:
    """A summary for JSON, without what looks like a credential."""
    data = msgspec.to_builtins(summary)
    data.pop("succeeded")
    data["next_steps"], data["completion"] = summary.next_steps, summary.completion
    return _redacted(data)  # type: ignore[no-any-return]


def _redacted(value: Any) -> Any:
    from memctl.text.credentials import redact

    if isinstance(value, str):
        return redact(value)
    if isinstance(value, (list, tuple)):
        return [_redacted(item) for item in value]
    if isinstance(value, dict):
        return {key: _redacted(item) for key, item in value.items()}
    return value
