"""The log of batches of parallel work, and the review of the threshold of the shared slice by this log.

A batch is the work that several agents do at the same time. Their contexts have the shared slice in common, and the
threshold is the number of tokens up to which the slice allows work in parallel (rules.md#threshold-control). `memctl
policy parallel` and `policy triggers` append a line of JSON for each batch that they judge. A log of another program
has the same form:

    {"date": "2025-11-04", "scs": 1640, "threshold": 2000, "requests": 5, "denied": 2,
     "macro_summaries": 1, "no_ops": 0}       (on one line)

`date` and `scs` (tokens of the shared slice) are required. `requests` is how many batches were asked for, and `denied`
how many of them were refused. `macro_summaries` is the number of compressions since the line before, and `no_ops` the
number of these that saved nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Annotated

import msgspec

from memctl.errors import MemctlError
from memctl.record.errors import describe
from memctl.record.event import PHASES, WorkflowEvent
from memctl.store import files, lock
from memctl.store.memory import Memory
from memctl.task.events import since_checkpoint
from memctl.text import timestamps
from memctl.window.policy.contexts import ContextState

DAYS = 7
RAISE_MEDIAN, RAISE_DENIED = 0.75, 0.30
LOWER_MEDIAN, LOWER_NO_OPS = 0.40, 2
STEPS = (
    "propose the new threshold with these figures",
    "pilot the new threshold on at least 3 complex tasks (--threshold)",
    "record the same metrics for these tasks",
    "adopt the new threshold (scs_threshold in config.yaml), or keep the present one",
)
_ROUND = 100  # a proposal is a multiple of so many tokens
_MOST_KEPT = 1_000  # batches in the log
_MOST_BYTES = 1_000_000
_PATIENCE = 10.0  # seconds; to append takes a few milliseconds
_FEWEST_DELTAS = 3  # batches whose growth tells what the next one will bring
_NO_OP = 1.0  # percent; a compression that saves less has saved nothing
_LINES = msgspec.json.Encoder()
_HISTORY = 3  # batches that an escalation looks at beside the present one

Number = Annotated[int, msgspec.Meta(ge=0)]


class Observation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of the log of batches of parallel work (several agents at the same time): a batch, or a day of batches.

    `scs` is the size of what the agents' contexts have in common (the shared slice), and `threshold` the size that it
    may have. `aws` is the size of the largest context, and `delta` how much that grew since the last batch; all are in
    tokens. `debt` is the fraction of this context that is repeated or outdated. `requests` is how many batches were
    asked for, and `denied` how many of them were refused. `macro_summaries` is the number of compressions since the
    last batch, and `no_ops` the number of these that saved nothing. `fired` has the numbers of the compression triggers
    that fired. `batch` is a hash of the contexts' texts: lines with the same hash are about the same batch.
    """

    date: str
    scs: Number
    threshold: Annotated[int, msgspec.Meta(ge=1)] | None = None
    requests: Number = 0
    denied: Number = 0
    macro_summaries: Number = 0
    no_ops: Number = 0
    aws: Number | None = None
    delta: int | None = None  # of the working set since the last batch
    debt: float | None = None
    fired: tuple[int, ...] = ()
    workflow: str = ""
    batch: str = ""


def parse(text: str, name: str) -> list[Observation]:
    """Return the lines of a log of batches of parallel work, ordered by date; `text` is the content of its file.

    `name` is the file's name for error messages. Raises a MemctlError that names the line and the key.
    """
    observations = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            observation = msgspec.json.decode(line, type=Observation)
            observations.append(msgspec.structs.replace(observation, date=timestamps.parse(observation.date)))
        except msgspec.ValidationError as error:
            raise MemctlError(f"{name}:{number}: {describe(error)}", _HINT) from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise MemctlError(f"{name}:{number}: this is not JSON: {error}", _HINT) from None
        except ValueError:
            wrong = f"{name}:{number}: date: {observation.date!r} is not a date or time"
            raise MemctlError(wrong, f"give {timestamps.ALLOWED}") from None
        for part, whole in (("denied", "requests"), ("no_ops", "macro_summaries")):
            if getattr(observation, part) > getattr(observation, whole):
                raise MemctlError(f"{name}:{number}: {part} must not be larger than {whole}")
    return sorted(observations, key=lambda item: item.date)


_HINT = f"the keys of a line are {', '.join(Observation.__struct_fields__)}; date and scs are required"


def file_of(memory: Memory) -> Path:
    """Return the path of a memory's log of batches of parallel work.

    The file is in the Git directory that all worktrees share, so it is in no commit.
    """
    return memory.repository.shared / "policy" / f"{memory.private.name}.jsonl"


def read(memory: Memory) -> list[Observation]:
    """Return what a memory's log has about batches of parallel work, oldest first.

    A batch is the work of several agents at the same time, whose contexts are judged together. Lines that can't be read
    are skipped, and neighbouring lines about the same batch are merged into one observation.
    """
    observations: list[Observation] = []
    with suppress(OSError), open(file_of(memory), "rb") as lines:
        for line in lines:
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):
                observations.append(msgspec.json.decode(line, type=Observation))
    return merged(observations)


def merged(lines: Sequence[Observation]) -> list[Observation]:
    """Return the lines of a log of batches, with neighbouring lines about the same batch merged into one.

    The merged line has the values of the later line, with three exceptions: the growth and the counts of compressions
    since the last batch are those of the earlier line, all triggers that fired in either line count as fired, and of
    the two numbers of requests, and of denials, the higher one is taken.
    """
    observations: list[Observation] = []
    for line in lines:
        before = observations[-1] if observations else None
        if before and line.batch and (before.batch, before.workflow) == (line.batch, line.workflow):
            observations.pop()
            line = msgspec.structs.replace(
                line,
                delta=before.delta,
                fired=tuple(sorted({*before.fired, *line.fired})),
                requests=max(before.requests, line.requests),
                denied=max(before.denied, line.denied),
                macro_summaries=before.macro_summaries,
                no_ops=before.no_ops,
            )
        observations.append(line)
    return observations


def note(memory: Memory, observation: Observation) -> None:
    """Append an observation to a memory's log of batches, unless it differs from the last line only in its date.

    A failure to write is ignored, because the caller's verdict is right without it.
    """
    from memctl.git import private_files

    file = file_of(memory)
    with suppress(OSError, MemctlError):  # the verdict is right without its line
        private_files.make_folder(file.parent)
        with lock.hold(file.with_suffix(".lock"), _PATIENCE):
            log = read(memory)
            if log and merged([log[-1], observation]) == [msgspec.structs.replace(log[-1], date=observation.date)]:
                return
            if file.exists() and file.stat().st_size > _MOST_BYTES:
                files.replace_private(file, _LINES.encode_lines(log[-_MOST_KEPT:]).decode())
            files.append_line(file, _LINES.encode_lines([observation]), is_private=True)


def compressions(events: Sequence[WorkflowEvent], workflow: str, since: str) -> list[WorkflowEvent]:
    """Return the events that report a compression in a workflow after the time `since`, oldest first."""
    return [e for e in events if e.workflow_id == workflow and e.event_type == "compression" and e.timestamp > since]


def no_ops(events: Sequence[WorkflowEvent]) -> int:
    """Return how many of the given compressions saved less than 1 % of their tokens.

    `events` are the compressions, each as the event of a workflow that reports it.
    """
    return sum((event.compression_ratio or 0) < _NO_OP for event in events)


def measure_state(observations: Sequence[Observation], events: Sequence[WorkflowEvent], workflow: str) -> ContextState:
    """Return what the log of batches and a workflow's events tell about the contexts of the workflow's agents.

    The values are for the judgement of the workflow's next batch of parallel work; None is one that is not known.
    `observations` are the lines of the log, oldest first. Of these lines and of `events`, only those of the workflow
    with the id `workflow` count.
    """
    past = [observation for observation in observations if observation.workflow == workflow]
    last, open_ = past[-1].date if past else "", since_checkpoint(events, workflow)
    compressed = compressions(events, workflow, "")
    end = compressed[-1].timestamp if compressed else ""
    since = [observation for observation in past if observation.date > end]
    deltas = [after.scs - before.scs for before, after in pairwise(past) if after.scs > before.scs]
    left = compressed[-1].after_state.aws_size if end > last else None
    denials = [bool(observation.denied) for observation in past if observation.requests]
    boundaries = [event.timestamp for event in open_ if event.event_type in ("phase_boundary", PHASES[0])]
    return ContextState(
        delta_payload=round(median(deltas)) if len(deltas) >= _FEWEST_DELTAS else None,
        pending_escalations=[event.action_taken for event in open_ if event.event_type == "escalation"] or None,
        deferred_compressions=sum(bool(observation.fired) for observation in since) if past else None,
        phase_boundary=any(moment > max(end, last) for moment in boundaries) or None,
        batches_since_compression=len(since) if past else None,
        aws_before=(past[-1].aws if past else None) if left is None else left,
        events=len(open_) if events else None,
        scs_history=[observation.scs for observation in past[-_HISTORY:]] or None,
        parallel_denials=[*reversed(denials), False].index(False) if past else None,
    )


class Review(msgspec.Struct, frozen=True):
    """A review of the threshold, which is the size that the contexts' shared slice may have, in tokens.

    `decision` is "raise", "lower" or "keep", and `why` the reason. `proposal` is the new threshold in tokens, None to
    keep the present one.

    The figures are from the log lines of seven days. `median` is the median of the fraction of the threshold that the
    shared slice filled, and `denial_rate` is the fraction of the batches asked for that were refused; both are None
    without data. `largest_delta` is the largest change of the slice between two lines, in tokens.
    """

    observations: int
    since: str
    until: str
    threshold: int
    median: float | None  # of the share of the threshold that the shared slice fills
    largest_delta: int  # between one observation and the next
    requests: int
    denial_rate: float | None
    macro_summaries: int
    no_ops: int
    decision: str
    why: str
    proposal: int | None


def review(observations: Sequence[Observation], threshold: int) -> Review:
    """Return a review of the shared slice's threshold: whether to raise, lower or keep it.

    `observations` are lines of the log of batches, oldest first; those of the last seven days count. `threshold` is the
    present threshold in tokens.
    """
    until = observations[-1].date if observations else ""
    since = timestamps.days_before(until[:10] + "T23:59:59Z", DAYS) if until else ""
    week = [item for item in observations if item.date > since]
    middle = median(item.scs / (item.threshold or threshold) for item in week) if week else None
    requests, no_ops = sum(item.requests for item in week), sum(item.no_ops for item in week)
    rate = sum(item.denied for item in week) / requests if requests else None
    decision, why = _decide(middle, rate, no_ops)
    return Review(
        observations=len(week),
        since=week[0].date if week else "",
        until=until,
        threshold=threshold,
        median=middle,
        largest_delta=max((abs(b.scs - a.scs) for a, b in pairwise(week)), default=0),
        requests=requests,
        denial_rate=rate,
        macro_summaries=sum(item.macro_summaries for item in week),
        no_ops=no_ops,
        decision=decision,
        why=why,
        proposal=_proposal(decision, median(item.scs for item in week), threshold) if week else None,
    )


def _decide(middle: float | None, rate: float | None, no_ops: int) -> tuple[str, str]:
    if middle is None:
        return "keep", "there are no observations"
    used = f"the shared slice fills {middle:.0%} of the threshold (median)"
    if middle > RAISE_MEDIAN:
        if rate is not None and rate > RAISE_DENIED:
            return "raise", f"{used} (above 75 %) and {rate:.0%} of the batches were refused (above 30 %)"
        denied = (
            "no parallel work was asked for"
            if rate is None
            else f"only {rate:.0%} of the batches were refused (to raise it, more than 30 % must be)"
        )
        return "keep", f"{used}, but {denied}"
    if middle < LOWER_MEDIAN:
        saved = f"{no_ops} of the macro summaries saved nothing"
        if no_ops > LOWER_NO_OPS:
            return "lower", f"{used} (below 40 %) and {saved} (above 2)"
        return "keep", f"{used}, but only {saved} (to lower the threshold, more than 2 must have)"
    return "keep", f"{used}; from 40 to 75 % the threshold is kept"


def _proposal(decision: str, middle: float, threshold: int) -> int | None:
    """Return the new threshold in tokens, None to keep the present one.

    The median size of the shared slice, `middle`, fills about 75 % of a raised threshold, and about 40 % of a lowered
    one. But a change is at least 100 tokens, and no threshold gets below 100.
    """
    if decision == "raise":
        return max(math.ceil(middle / RAISE_MEDIAN / _ROUND) * _ROUND, threshold + _ROUND)
    if decision == "lower":
        lowest = math.floor(middle / LOWER_MEDIAN / _ROUND) * _ROUND
        return max(min(lowest, threshold - _ROUND), _ROUND) if threshold > _ROUND else None
    return None
