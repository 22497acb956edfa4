"""What the event stream says of handoffs, and what has become of them since: events are from one machine and one hour.

A handoff that was offered here may be answered on another machine, whose events never come here. Its record does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from memctl.record.event import HANDED
from memctl.record.kinds import HANDOFF
from memctl.record.snapshot import Snapshot

# "is" is what events said before; checkpoints keep them.
_TOLD = re.compile(rf"{HANDED}: (HND-[\d-]+) (?:is|was) ({'|'.join(HANDOFF.statuses)})\b")


def about(identifier: str, became: str) -> str:
    """The beginning of what an event says of a handoff."""
    return f"{identifier} was {became}"


def up_to_date(lines: Iterable[str], snapshot: Snapshot) -> tuple[str, ...]:
    """Lines about events, each of a handoff with the status that its record has, if that is another by now."""
    return tuple(_up_to_date(line, snapshot) for line in lines)


def _up_to_date(line: str, snapshot: Snapshot) -> str:
    match = _TOLD.match(line)
    if match is None:
        return line
    said = f"{HANDED}: {about(match[1], match[2])}{line[match.end() :]}"
    record = snapshot.find(match[1])
    if snapshot.once_called(match[1]):  # two clones gave out the id, and which handoff was meant can't be told
        return said
    return f"{said}; it is {record.status} now" if record and record.status != match[2] else said
