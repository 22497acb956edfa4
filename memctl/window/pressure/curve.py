"""How the context grew: what each request of a session had, and where it was compacted.

A transcript says so itself, in the usage of its answers; of bare messages it is counted. Lines are looked at as they
pass by, so that whoever else reads them need not read them again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from memctl.transcript import messages as blocks
from memctl.transcript.line import context_of
from memctl.transcript.window import LONGEST
from memctl.window.messages.content import ContentBlock
from memctl.window.pressure.monitor import CLIENT_ESTIMATED, MODEL_REPORTED

_TELLING = ('"usage"', "compact_boundary")


class Compaction(msgspec.Struct, frozen=True):
    """A compaction: before which point it came, what set it off, and the tokens before and after, 0 if nobody said."""

    at: int
    line: int
    trigger: str = ""
    before: int = 0
    after: int = 0


class Curve(msgspec.Struct, frozen=True):
    """Tokens of each request, the line of each in the transcript (0: there is none), and where it was compacted.

    `beginning` is the text that the first request is known to have had.
    """

    points: tuple[int, ...] = ()
    lines: tuple[int, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    model: str = ""
    beginning: str = ""
    source: str = MODEL_REPORTED


class CurveReader:
    """Takes the curve from the lines of one transcript. Sub-agents have windows of their own and are passed over, but
    for the transcript that has nothing else."""

    def __init__(self) -> None:
        self._points: list[int] = []
        self._lines: list[int] = []
        self._compactions: list[Compaction] = []
        self._beginning: list[str] = []
        self._seen: set[int] = set()  # hashes of the uuids of lines: after a resumption they may stand there again
        self._answer = self._model = ""
        self._sub_agent: CurveReader | None = None

    def watch(self, lines: Iterable[str]) -> Iterator[str]:
        """Pass lines on, and look at them on the way."""
        for number, line in enumerate(lines, start=1):
            self.take(number, line)
            yield line

    def take(self, number: int, line: str) -> None:
        """Look at one line."""
        if len(line) > LONGEST or (self._points and not any(word in line for word in _TELLING)):
            return
        try:
            given = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError):
            return
        if not isinstance(given, dict):
            return
        if not given.get("isSidechain"):
            self._take(number, given)
        elif self._is_bare:
            self._sub_agent = self._sub_agent or CurveReader()
            self._sub_agent._take(number, given)

    @property
    def _is_bare(self) -> bool:
        return not (self._points or self._beginning or self._compactions)

    def _take(self, number: int, given: dict[str, Any]) -> None:
        uuid = given.get("uuid")
        if isinstance(uuid, str):
            if hash(uuid) in self._seen:
                return
            self._seen.add(hash(uuid))
        if given.get("subtype") == "compact_boundary":
            self._compactions.append(_compaction(len(self._points), number, given.get("compactMetadata")))
            self._answer = ""
        message = given.get("message")
        if not isinstance(message, dict):
            return
        if given.get("type") == "assistant" and message.get("model") != "<synthetic>":
            self._take_answer(number, message)
        elif given.get("type") == "user" and not self._points:
            self._beginning += [block.text for block in blocks.of_content("user", message.get("content"))]

    def _take_answer(self, number: int, message: dict[str, Any]) -> None:
        """An answer has a line for each of its blocks, all with the same id and usage: one point."""
        identifier, tokens = str(message.get("id") or f"line {number}"), context_of(message.get("usage"))
        if tokens <= 0 or identifier == self._answer:
            return
        self._answer = identifier
        self._model = str(message.get("model") or self._model)
        self._points.append(tokens)
        self._lines.append(number)

    def curve(self) -> Curve:
        """The curve of the lines that have passed so far."""
        if self._sub_agent is not None and self._is_bare:
            return self._sub_agent.curve()
        beginning = "\n".join(self._beginning)
        return Curve(tuple(self._points), tuple(self._lines), tuple(self._compactions), self._model, beginning)


def _compaction(at: int, number: int, metadata: Any) -> Compaction:
    given = metadata if isinstance(metadata, dict) else {}
    tokens = [given.get(key) for key in ("preTokens", "postTokens")]
    before, after = (number if isinstance(number, int) and number > 0 else 0 for number in tokens)
    return Compaction(at, number, str(given.get("trigger") or ""), before, after)


def of_blocks(found: Sequence[ContentBlock], overhead: int = 0) -> Curve:
    """The curve of a conversation that nobody reported on: what had come together by the end of each turn, counted."""
    ends: dict[int, int] = {}
    tokens = overhead
    for block in found:
        tokens += block.token_count
        ends[block.turn_created] = tokens
    points = tuple(ends[turn] for turn in sorted(ends) if turn > 0) or ((tokens,) if found else ())
    return Curve(points, (0,) * len(points), source=CLIENT_ESTIMATED)
