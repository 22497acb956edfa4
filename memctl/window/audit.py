"""The audit log of a window: each decision of its manager, with figures before and after it (rules.md#window-manager).

The log is a file of JSON Lines, and outlives the process. A line is appended whole or not at all; a full file is
renamed to `NAME.1`. Decisions may go to a function or to a logger instead. Credentials are redacted.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
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
    """A decision of a window's manager: when it was made, what was decided and why, and figures before and after it.

    `event` is the subject, such as `step`, `tool_result`, `budget` or `status`, and `decision` is what was decided on
    this subject. For `step` it is the name of the step of the cascade that ran, such as `eviction`. `window_id` is the
    number of the window among those of the task, from 1. `before` and `after` map the names of figures to their values,
    such as `{"tokens": 91_000}`. `details` has values that only some subjects have.

    A decision on a step has four more fields. `wanted` is the number of tokens that the step had to free. `target` is
    the number of tokens that the whole conversation was to have at the end. `blocks` has a mapping for each block (a
    piece of the conversation) that the step changed: id, type, tool, turn, tokens before and after, and score. `policy`
    is the eviction policy that gave these scores.
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
    """Records the decisions of a window's manager: each is given to the function `take`, which may store it.

    `now` returns the timestamp of a new decision as a text, such as `2025-11-04T09:00:00Z`.
    """

    def __init__(self, take: Callable[[Decision], None], now: Callable[[], str]) -> None:
        self.missed = 0  # decisions that `attempt` could not write down since the last one that it could
        self._take = take
        self._now = now
        self._why_missed = ""

    def record(self, event: str, decision: str, **more: Any) -> Decision:
        """Write a decision of the window's manager to the audit log, and return it as it was written.

        `event` is the subject, such as "step", and `decision` what was decided on it. `more` are further fields of
        Decision, such as `reason="orange zone"`. Credentials in texts are redacted, and long texts are cut. Raises
        MemctlError for a field with a wrong type, and if the log can't be written.
        """
        fields = {"timestamp": self._now(), "event": event, "decision": decision, **more}
        try:
            made = msgspec.convert(_clean(msgspec.to_builtins(fields, enc_hook=str, str_keys=True)), Decision)
        except (msgspec.ValidationError, RecursionError) as error:
            why = describe(error) if isinstance(error, msgspec.ValidationError) else "they are nested too deep"
            raise MemctlError(f"the values for the audit log are not a decision: {why}", exit_code=USAGE) from None
        self._take(made)
        return made

    def attempt(self, event: str, decision: str, **more: Any) -> None:
        """Write a decision of the window's manager to the audit log, but raise no error if that fails.

        So a full disk does not end an agent's run. The arguments are those of `record`. The attribute `missed` counts
        the decisions that could not be written. The next successful call writes this count to the log first.
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
    """Records the decisions of a window's manager in a file, to which several processes may write.

    `now` returns the timestamp of a new decision as a text, such as `2025-11-04T09:00:00Z`. A file that would become
    larger than `most_bytes` is renamed to `NAME.1`, an older `NAME.1` to `NAME.2` and so on; `most_files` files are
    kept, the current one included. A single decision larger than `most_bytes` is refused with a MemctlError.
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
                f"the decision has {len(line):,} bytes, but the audit log may have only {self._most_bytes:,}",
                "record shorter values, or give the AuditLog a larger most_bytes",
            )
        try:
            with lock.hold(self.file.with_name(self.file.name + ".lock"), _PATIENCE):
                if self.file.exists() and self.file.stat().st_size + len(line) + 1 > self._most_bytes:
                    self._rotate()
                files.append_line(self.file, line, is_private=True)
        except OSError as error:
            raise MemctlError(f"{self.file} can't be written: {error.strerror}") from None

    def read(self) -> Iterator[Decision]:
        """Yield the manager's decisions in the audit log, oldest first, with those in older files (`NAME.1` and so on).

        A line that can't be read is skipped. Raises MemctlError for a file that can't be read.
        """
        for file in self._files()[::-1]:
            try:
                with open(file, "rb") as stream:
                    for line in stream:
                        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                            yield msgspec.json.decode(line, type=Decision)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise MemctlError(f"{file} can't be read: {error.strerror}") from None

    def _files(self) -> list[Path]:
        return [self.file, *(self.file.with_name(f"{self.file.name}.{n}") for n in range(1, self._most_files))]

    def _rotate(self) -> None:
        paths = self._files()
        for newer, older in zip(paths[-2::-1], paths[:0:-1], strict=True):
            if newer.exists():
                newer.replace(older)
        self.file.unlink(missing_ok=True)  # where only one is kept, nothing is put aside


Audit = AuditSink | str | PathLike[str] | Callable[[Decision], None] | logging.Logger


def sink_of(given: Audit, now: Callable[[], str]) -> AuditSink:
    """Return an AuditSink, which stores what a window's manager decides, such as to evict a block.

    `given` says where: the path of a file gets a line of JSON for each decision, a function is called with each, and a
    logger of the standard library gets each as JSON, at level INFO. An AuditSink is returned as it is. `now` returns
    the timestamp of a new decision, such as `2025-11-04T09:00:00Z`. Raises MemctlError for any other value of `given`.
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
    """Credentials, and a text named like a secret, are redacted; what is too long is cut."""
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
    """Counts for one step of the cascade, such as eviction, over a whole audit log.

    `times` is how often the step ran, and `refused` how often it left the conversation unchanged. `wanted` is the
    number of tokens that these runs were asked to free, and `freed` the number that they freed.
    """

    times: int = 0
    refused: int = 0
    wanted: int = 0
    freed: int = 0


class Worth(msgspec.Struct):
    """How well an eviction policy chose among blocks of one kind, summed up to judge the policy's weights.

    `blocks` is how many blocks were evicted, `tokens` is how many tokens that freed, and `score` is the mean score of
    these blocks (0: evict first, 1: keep). `again` is how many of them the agent asked for again, and `score_again` is
    the mean score of the blocks asked for again. A mean is None if no score is known.
    """

    blocks: int = 0
    tokens: int = 0
    again: int = 0
    score: float | None = None
    score_again: float | None = None


class Summary(msgspec.Struct):
    """The sums of an audit log, which has a line for each decision of a window's manager.

    - `decisions` is the number of decisions in the log, and `turns` the number of turns in which they were made.
    - `events` counts decisions by their subject and by what was decided on it; a key looks like `step: eviction`.
    - `steps` says for each step of the cascade, by its name, how often it ran and how many tokens it freed.
    - `worth` says how often evicted content was asked for again, for each policy and kind of block; a key looks like
      `hybrid tool_result Read`.
    - `reasons` says for each reason, such as `orange zone`, how often the manager freed tokens for this reason.
    - `model` counts the requests to a model (`asked`) and the model's texts that were used (`used`) or not (`refused`).
    - `results` counts tools' results that came in whole (`whole`), results that came in shortened (`summed up`), and
      results that the agent had to ask for once more (`again`).
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
    """Return the sums of an audit log, which has the `decisions` of a window's manager.

    They include how often the agent asked again for evicted content, which shows whether the weights of an eviction
    policy are good.
    """
    model, results = Counter(dict.fromkeys(("asked", "used", "refused"), 0)), {"whole": 0, "summed up": 0, "again": 0}
    sums = Summary(0, 0, Counter(), {}, {}, Counter(), model, results)
    scores: dict[str, list[float]] = {}
    again: dict[str, list[float]] = {}
    turns = set()
    for decision in decisions:
        sums.decisions += 1
        turns.add((decision.window_id, decision.turn))
        sums.events[f"{decision.event}: {decision.decision}"] += 1
        if decision.event == "step":
            _sum_step(decision, sums, scores)
        elif decision.event == "management":
            sums.reasons[decision.reason] += 1
        elif decision.event == "tool_result":
            sums.results["whole" if decision.decision == "taken whole" else "summed up"] += 1
            if isinstance(gone := decision.details.get("again"), dict):
                sums.results["again"] += 1
                worth = _worth(sums, again, gone.get("policy") or gone.get("by"), decision.details, gone.get("score"))
                worth.again += 1
    sums.turns = len(turns)
    for key, worth in sums.worth.items():
        worth.score, worth.score_again = _mean(scores.get(key)), _mean(again.get(key))
    return sums


def _sum_step(step: Decision, sums: Summary, scores: dict[str, list[float]]) -> None:
    before, after = (
        tokens if isinstance(tokens := state.get("tokens"), int) else 0 for state in (step.before, step.after)
    )
    tally = sums.steps.setdefault(step.decision, Tally())
    tally.times += 1
    tally.refused += bool(step.details.get("refused"))
    tally.wanted += step.wanted or 0
    tally.freed += max(before - after, 0)
    for name, number in (step.details.get("model") or {}).items():
        sums.model[name] += int(number)
    for block in step.blocks:
        worth = _worth(sums, scores, step.policy or step.decision, block, block.get("score"))
        worth.blocks += 1
        worth.tokens += int(block.get("before") or 0) - int(block.get("after") or 0)


def _worth(sums: Summary, scores: dict[str, list[float]], by: object, block: Mapping[str, Any], score: object) -> Worth:
    key = " ".join(str(part) for part in (by, block.get("type", "tool_result"), block.get("tool")) if part)
    if isinstance(score, int | float):
        scores.setdefault(key, []).append(score)
    return sums.worth.setdefault(key, Worth())


def _mean(numbers: list[float] | None) -> float | None:
    return round(sum(numbers) / len(numbers), 3) if numbers else None
