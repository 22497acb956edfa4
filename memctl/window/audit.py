"""The audit log of a window: each decision of its manager, with figures before and after it (rules.md#window-manager).

The log is a file of JSON Lines, and outlives the process. A line is appended whole or not at all; a full file is
renamed to `NAME.1`. Decisions may go to a function or to a logger instead. Credentials are redacted.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record.errors import describe
from memctl.store import files, lock
from memctl.text.credentials import redact
from memctl.text.fit import cut

MOST_BYTES = 5 * 1024 * 1024  # of one file; about 10,000 decisions
MOST_FILES = 4  # that are kept, the one that is written to included
LONGEST = 500  # characters of a text in it
_MOST_ITEMS = 200  # of a list or a mapping
_PATIENCE = 10.0  # seconds; to append takes a few milliseconds


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One decision of a window's manager: its time, turn and window, what it was, why, and figures before and after it.

    `event` is the subject, such as `step`, `tool_result`, `budget` or `status`, and `decision` is what was decided on
    it: for `step` the step's name, such as `eviction`. `before` and `after` map the names of figures to their values,
    such as `{"tokens": 91_000}`. `details` has values that only some subjects have.

    A decision on a step has four more fields. `wanted` is the number of tokens that were to be freed when the step
    began, and `target` the number that were to be left. `blocks` has a mapping for each block that the step changed:
    id, type, tool, turn, tokens before and after, and score. `policy` is the eviction policy that gave these scores.
    """

    timestamp: str
    event: str
    decision: str
    turn: int = 0
    window_id: int = 1
    reason: str = ""
    wanted: int | None = None
    target: int | None = None
    policy: str = ""
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    blocks: list[dict[str, Any]] = []
    details: dict[str, Any] = {}


class AuditSink:
    """Passes each decision that is recorded to the function `take`, which may store it.

    `now` returns the timestamp of a new decision as a text, such as `2025-11-04T09:00:00Z`.
    """

    def __init__(self, take: Callable[[Decision], None], now: Callable[[], str]) -> None:
        self.missed = 0  # decisions that `attempt` could not write down since the last one that it could
        self._take = take
        self._now = now
        self._why_missed = ""

    def record(self, event: str, decision: str, **more: Any) -> Decision:
        """Make a Decision on the subject `event`, write it to the log, and return it as it was written.

        `more` are further fields of Decision, such as `reason="orange zone"`. Credentials in texts are redacted, and
        long texts are cut. Raises MemctlError for a field with a wrong type, and if the log can't be written.
        """
        given = {"timestamp": self._now(), "event": event, "decision": decision, **more}
        try:
            made = msgspec.convert(_clean(msgspec.to_builtins(given, enc_hook=str, str_keys=True)), Decision)
        except (msgspec.ValidationError, RecursionError) as error:
            why = describe(error) if isinstance(error, msgspec.ValidationError) else "its values are nested too deep"
            raise MemctlError(f"this is not a decision for the audit log: {why}", exit_code=USAGE) from None
        self._take(made)
        return made

    def attempt(self, event: str, decision: str, **more: Any) -> None:
        """Write a decision as `record` does, but raise no error if that fails: a full disk does not end an agent's run.

        The attribute `missed` counts the decisions that could not be written. The next call writes this count first.
        """
        try:
            if self.missed:
                self.record("audit", "missed", reason=self._why_missed, details={"decisions": self.missed})
                self.missed = 0
            self.record(event, decision, **more)
        except Exception as error:  # the host's own function may raise anything
            self.missed += 1
            self._why_missed = error.message if isinstance(error, MemctlError) else f"{type(error).__name__}: {error}"


class AuditLog(AuditSink):
    """Appends decisions to a file, to which several processes may write.

    `now` returns the timestamp of a new decision as a text, such as `2025-11-04T09:00:00Z`. A file that would exceed
    `most_bytes` is renamed to `NAME.1`, and older files to `NAME.2` and so on; `most_files` files are kept, the current
    one included. A single decision that exceeds `most_bytes` is refused.
    """

    def __init__(
        self, file: Path, now: Callable[[], str], *, most_bytes: int = MOST_BYTES, most_files: int = MOST_FILES
    ) -> None:
        super().__init__(self._append, now)
        self.file = file
        self._most_bytes = most_bytes
        self._most_files = most_files

    def _append(self, made: Decision) -> None:
        line = msgspec.json.encode(made) + b"\n"
        if len(line) > self._most_bytes:
            raise MemctlError(
                f"the decision has {len(line):,} bytes, but the audit log may have only {self._most_bytes:,}"
            )
        try:
            with lock.hold(self.file.with_name(self.file.name + ".lock"), _PATIENCE):
                if self.file.exists() and self.file.stat().st_size + len(line) + 1 > self._most_bytes:
                    self._rotate()
                files.append_line(self.file, line, is_private=True)
        except OSError as error:
            raise MemctlError(f"{self.file} can't be written: {error.strerror}") from None

    def read(self) -> Iterator[Decision]:
        """Yield the decisions in the log, oldest first; a line that can't be read is skipped.

        Raises MemctlError for a file that can't be read.
        """
        for file in self._files()[::-1]:
            try:
                with open(file, "rb") as stream:
                    for line in stream:
                        try:
                            yield msgspec.json.decode(line, type=Decision)
                        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                            continue
            except FileNotFoundError:
                continue
            except OSError as error:
                raise MemctlError(f"{file} can't be read: {error.strerror}") from None

    def _files(self) -> list[Path]:
        """Return the file and the older ones, the newest first."""
        return [self.file, *(self.file.with_name(f"{self.file.name}.{n}") for n in range(1, self._most_files))]

    def _rotate(self) -> None:
        found = self._files()
        for newer, older in zip(found[-2::-1], found[:0:-1], strict=True):
            if newer.exists():
                newer.replace(older)
        self.file.unlink(missing_ok=True)  # where only one is kept, nothing is put aside


Audit = AuditSink | str | PathLike[str] | Callable[[Decision], None] | logging.Logger


def sink_of(given: Audit, now: Callable[[], str]) -> AuditSink:
    """Return a sink for decisions: a given sink, or one that writes to a file, a function or a logger.

    A path becomes an AuditLog; a logger of the standard library gets each decision as JSON, at level INFO. `now`
    returns the timestamp of a new decision, such as `2025-11-04T09:00:00Z`; a sink that is given keeps its own. Raises
    MemctlError for any other value.
    """
    if isinstance(given, AuditSink):
        return given
    if isinstance(given, str | PathLike):
        return AuditLog(Path(given), now)
    if isinstance(given, logging.Logger):
        logger = given
        return AuditSink(lambda made: logger.info("%s", msgspec.json.encode(made).decode()), now)
    if callable(given):
        return AuditSink(given, now)
    hint = "give the path of a file, a function that takes a Decision, or a logging.Logger"
    raise MemctlError(f"audit is {type(given).__name__}, to which decisions can't be written", hint, USAGE)


def _clean(value: Any, name: str = "") -> Any:
    """Return a plain value without credentials, and no longer than it must be; a text named like a secret
    is redacted."""
    if isinstance(value, dict):
        return {_clean(str(key)): _clean(item, str(key)) for key, item in list(value.items())[:_MOST_ITEMS]}
    if isinstance(value, list):
        return [_clean(item, name) for item in value[:_MOST_ITEMS]]
    if not isinstance(value, str):
        return value
    text = value.encode(errors="replace").decode()[: 4 * LONGEST]  # looked at whole, so that no half of a key is left
    assigned = f"{name}={text}"
    if name and "\n" not in text and (shown := redact(assigned)) != assigned and redact(text) == text:
        return shown.partition("=")[2]
    return cut(redact(text), LONGEST)


class Tally(msgspec.Struct):
    """Counts for one kind of step: how often it ran and was refused, and the tokens it was to free and did free."""

    times: int = 0
    refused: int = 0
    wanted: int = 0
    freed: int = 0


class Worth(msgspec.Struct):
    """The blocks of one kind that one policy evicted, summed up to judge the policy's weights.

    `blocks` is how many blocks were evicted, `tokens` is how many tokens that freed, and `score` is the mean score of
    these blocks. `again` is how many of them the agent asked for again, and `score_again` is the mean score of the
    blocks asked for again. A mean is None if no score is known.
    """

    blocks: int = 0
    tokens: int = 0
    again: int = 0
    score: float | None = None
    score_again: float | None = None


class Summary(msgspec.Struct):
    """The sums of an audit log: the numbers of its decisions and turns, and counts by event, step and policy.

    `events` counts decisions by event and decision, such as `step: eviction`. `reasons` counts by reason how often
    tokens were freed. `results` counts the results of tools under `whole`, `summed up` and `again` (asked for again).
    `steps` has a Tally for each step by its name. `worth` has a Worth for each policy and kind of block, such as
    `hybrid tool_result Read`. `model` counts requests to a model (`asked`) and its texts (`used`, `refused`).
    """

    decisions: int
    turns: int
    events: dict[str, int]
    steps: dict[str, Tally]
    worth: dict[str, Worth]
    reasons: dict[str, int]
    model: dict[str, int]
    results: dict[str, int]


def summary(decisions: Iterable[Decision]) -> Summary:
    """Return the sums of `decisions`, with how often the agent asked again for evicted content.

    The weights of eviction policies are tuned by these numbers.
    """
    found = Summary(
        0, 0, {}, {}, {}, {}, {"asked": 0, "used": 0, "refused": 0}, {"whole": 0, "summed up": 0, "again": 0}
    )
    scores: dict[str, list[float]] = {}
    again: dict[str, list[float]] = {}
    turns = set()
    for one in decisions:
        found.decisions += 1
        turns.add((one.window_id, one.turn))
        _add(found.events, f"{one.event}: {one.decision}")
        if one.event == "step":
            _sum_step(one, found, scores)
        elif one.event == "management":
            _add(found.reasons, one.reason)
        elif one.event == "tool_result":
            _add(found.results, "whole" if one.decision == "taken whole" else "summed up")
            if isinstance(gone := one.details.get("again"), dict):
                _add(found.results, "again")
                worth = _worth(found, again, gone.get("policy") or gone.get("by"), one.details, gone.get("score"))
                worth.again += 1
    found.turns = len(turns)
    for key, worth in found.worth.items():
        worth.score, worth.score_again = _mean(scores.get(key)), _mean(again.get(key))
    return found


def _sum_step(one: Decision, found: Summary, scores: dict[str, list[float]]) -> None:
    before, after = (
        tokens if isinstance(tokens := state.get("tokens"), int) else 0 for state in (one.before, one.after)
    )
    tally = found.steps.setdefault(one.decision, Tally())
    tally.times += 1
    tally.refused += bool(one.details.get("refused"))
    tally.wanted += one.wanted or 0
    tally.freed += max(before - after, 0)
    for name, number in (one.details.get("model") or {}).items():
        _add(found.model, name, int(number))
    for block in one.blocks:
        worth = _worth(found, scores, one.policy or one.decision, block, block.get("score"))
        worth.blocks += 1
        worth.tokens += int(block.get("before") or 0) - int(block.get("after") or 0)


def _worth(
    found: Summary, scores: dict[str, list[float]], by: object, block: Mapping[str, Any], score: object
) -> Worth:
    """Return what is known of a kind of block under a policy; its score is noted."""
    key = " ".join(str(part) for part in (by, block.get("type", "tool_result"), block.get("tool")) if part)
    if isinstance(score, int | float):
        scores.setdefault(key, []).append(score)
    return found.worth.setdefault(key, Worth())


def _add(counts: dict[str, int], name: str, number: int = 1) -> None:
    counts[name] = counts.get(name, 0) + number


def _mean(numbers: list[float] | None) -> float | None:
    return round(sum(numbers) / len(numbers), 3) if numbers else None
