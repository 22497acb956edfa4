"""What stands at the beginning of a pack: the project in a few lines, what there is, when somebody last worked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from memctl.pack.draft import PackNote
from memctl.pack.last_work import Ended
from memctl.record import content_fields, timestamps
from memctl.record.kinds import KINDS
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.text.markdown import first_sentence, one_line
from memctl.text.phrases import quantity

_PRIORITIES = 3  # rules.md#levels-of-pages


def notes(
    snapshot: Snapshot,
    current: Sequence[Record],
    now: str,
    ended: Sequence[Ended],
    task: str = "",
    *,
    is_met: bool = True,
) -> Iterator[PackNote]:
    """The notes of the project, its last session (rules.md#rehydration), the task and whether anything meets it."""
    if task and is_met:
        yield PackNote("task", "Chosen for the task", one_line(task), essential=True)
    elif task:
        yield PackNote("unmet_task", "Nothing recorded matches", one_line(task), essential=True)
    if number := len({fault.path for fault in snapshot.catalogue.faults()}):
        files = f"{quantity(number, 'file')} of the memory can't be read"
        yield PackNote("unreadable", "", f"{files}; `memctl status` says why.", essential=True)
    if lines := list(project(snapshot)):
        yield PackNote("summary", "", "\n".join(lines))
    yield PackNote("records", "", held(current))
    if line := continuity(snapshot, now, [one.ended for one in ended]):
        yield PackNote("continuity", "", line)


def project(snapshot: Snapshot) -> Iterator[str]:
    """What the project is for and where it stands, as its page says, or else its settings."""
    page = snapshot.outline.project
    content = content_fields.content(page.kind, page.body) if page else {}
    goal = content.get("goal") or snapshot.config.description
    if isinstance(goal, str) and goal.strip():
        yield first_sentence(goal)
    if page and page.completion_percentage is not None:
        yield f"{page.completion_percentage} % complete."
    if priorities := content.get("priorities"):
        yield "Priorities: " + "; ".join(first_sentence(item).rstrip(".") for item in priorities[:_PRIORITIES]) + "."


def held(current: Sequence[Record]) -> str:
    """How many open records there are of each type."""
    counts: dict[str, int] = {}
    for record in current:
        counts[record.memory_type] = counts.get(record.memory_type, 0) + 1
    said = [
        f"{counts[name]:,} {kind.plural if counts[name] != 1 else kind.plural[:-1]}"
        for name, kind in KINDS.items()
        if name in counts
    ]
    return f"It holds {', '.join(said)}." if said else "It holds no open records."


def continuity(snapshot: Snapshot, now: str, ends: Sequence[str] = ()) -> str:
    """When and by whom something was last recorded, how long ago that is, and in how many sessions; "" if never.

    `ends` are when sessions that were summed up ended; without them, sessions are told by the pauses between records.
    """
    last = snapshot.catalogue.latest(with_handoffs=True)
    if last is None:
        return ""
    number = len(ends) or sessions(snapshot.catalogue.recorded(), snapshot.config.session_pause_hours)
    told = f"; {quantity(number, 'session')} " if number else ""
    told += f"summed up, the last ended {_told(max(ends), now)}" if ends else "so far" if number else ""
    agent = one_line(last.agent_id).replace("|", "\N{BROKEN BAR}")
    return f"Last recorded: {last.id} by {agent}, {_told(last.timestamp, now)}{told}."


def _told(moment: str, now: str) -> str:
    ago = gap(moment, now)
    return f"{moment}{f' ({ago} ago)' if ago else ''}"


def sessions(seconds: Sequence[int], pause_hours: float) -> int:
    """Into how many sessions of work some moments fall, earliest first: a pause of more than so many hours ends one."""
    return sum(later - earlier > pause_hours * 3600 for earlier, later in pairwise(seconds)) + bool(seconds)


def gap(earlier: str, later: str) -> str:
    """The time between two moments in its largest unit, such as "3 days"; "" below a minute."""
    seconds = int(timestamps.days_between(earlier, later) * 86_400)
    for unit, size in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= size:
            return quantity(seconds // size, unit)
    return ""
