"""Messages out of a transcript of Claude Code: what stands in the window now, ready to be sent.

That is what came after the last compaction, its summary first. Sub-agents have windows of their own: of a transcript
that has nothing but one's lines, as hosts keep it in a file beside, that window is meant. An answer has a line for each
of its blocks, and a result a line of its own: they are put together again. Calls that have no result, and results that
have no call, can't be sent and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from memctl.transcript.line import context_of

LONGEST = 32 * 1024 * 1024  # characters of a line; the longest seen have pictures in them, and about 5 million


class Transcript(msgspec.Struct, frozen=True):
    """The messages of a window, for each of them the line of each of its blocks, and what was found on the way.

    `reported` is how many tokens the host said the last request had, 0 if it did not. `left_out` counts calls without a
    result and results without a call, `broken` lines that nobody can read.
    """

    messages: list[dict[str, Any]]
    lines: list[list[int]]
    model: str = ""
    reported: int = 0
    compactions: int = 0
    left_out: int = 0
    broken: int = 0


def read(lines: Iterable[str], *, whole: bool = False) -> Transcript:
    """Read a transcript line by line; what is odd is passed over.

    With `whole` it is all that ever stood in the window, as if the host had never compacted it: without the summaries.
    """
    reader = WindowReader(whole)
    for number, line in enumerate(lines, start=1):
        reader.take(number, line)
    return reader.finished()


class _Group(msgspec.Struct):
    """What one side said in a row: blocks with their lines. An answer has an id; its lines may have results between."""

    role: str
    id: str
    blocks: list[tuple[dict[str, Any], int]]


class WindowReader:
    """Takes a transcript line by line; at any time it has the messages of the lines so far."""

    def __init__(self, whole: bool = False) -> None:
        self._whole = whole
        self._groups: list[_Group] = []
        self._results: dict[str, tuple[dict[str, Any], int]] = {}
        self._seen: set[int] = set()  # of uuids, their hashes: they are all that grows with the lines
        self._model = ""
        self._reported = self._compactions = self._broken = 0
        self._sub_agent: WindowReader | None = None  # while there is nothing else

    def take(self, number: int, line: str) -> None:
        if not line.strip():
            return
        try:
            given = msgspec.json.decode(line) if len(line) <= LONGEST else None
        except (msgspec.DecodeError, RecursionError):
            given = None
        if not isinstance(given, dict):
            self._broken += 1
        elif given.get("isSidechain"):
            self._take_aside(number, given)
        elif not self._is_known(given):
            self._take(number, given)

    def _take_aside(self, number: int, given: Mapping[str, Any]) -> None:
        if self._groups or self._results or self._compactions:
            return
        self._sub_agent = self._sub_agent or WindowReader(self._whole)
        if not self._sub_agent._is_known(given):
            self._sub_agent._take(number, given)

    def _is_known(self, given: Mapping[str, Any]) -> bool:
        uuid = given.get("uuid")
        if not isinstance(uuid, str):
            return False
        before = len(self._seen)
        self._seen.add(hash(uuid))
        return len(self._seen) == before

    def _take(self, number: int, given: Mapping[str, Any]) -> None:
        if given.get("subtype") == "compact_boundary":
            self._compactions += 1
            if not self._whole:
                self._groups, self._results, self._reported = [], {}, 0
        if self._whole and given.get("isCompactSummary"):
            return
        message, role = given.get("message"), given.get("type")
        if role not in ("user", "assistant") or not isinstance(message, dict) or message.get("model") == "<synthetic>":
            return
        if role == "assistant":
            self._model = str(message.get("model") or self._model)
            self._reported = context_of(message.get("usage")) or self._reported
        content = message.get("content")
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else _list(content):
            if isinstance(block, dict) and (block.get("type") != "text" or str(block.get("text") or "").strip()):
                self._add(role, _id(message, "id"), block, number)

    def _add(self, role: str, identifier: str, block: dict[str, Any], number: int) -> None:
        if block.get("type") == "tool_result":
            self._results.setdefault(_id(block, "tool_use_id"), (block, number))
            return
        last = self._groups[-1] if self._groups else None
        if last is None or last.role != role or last.id != identifier:
            last = _Group(role, identifier, [])
            self._groups.append(last)
        last.blocks.append((block, number))

    def finished(self) -> Transcript:
        if self._sub_agent is not None and not (self._groups or self._results or self._compactions):
            return msgspec.structs.replace(self._sub_agent.finished(), broken=self._broken)
        messages: list[dict[str, Any]] = []
        lines: list[list[int]] = []
        used = calls = 0
        waiting = dict(self._results)  # a call that stands there twice has its result once
        for group in self._groups:
            kept, results = [], []
            for block, number in group.blocks:
                calls += (is_call := block.get("type") == "tool_use")
                result = waiting.pop(_id(block, "id"), None) if is_call else None
                if result is not None:
                    results.append(result)
                if result is not None or not is_call:
                    kept.append((block, number))
            if all(block.get("type") in ("thinking", "redacted_thinking") for block, _ in kept):
                continue
            used += len(results)
            for role, blocks in ((group.role, kept), ("user", results)):
                if blocks and (not messages or messages[-1]["role"] != role):
                    messages.append({"role": role, "content": []})
                    lines.append([])
                for block, number in blocks:
                    messages[-1]["content"].append(block)
                    lines[-1].append(number)
        left_out = calls + len(self._results) - 2 * used
        return Transcript(messages, lines, self._model, self._reported, self._compactions, left_out, self._broken)


def _id(block: Mapping[str, Any], key: str) -> str:
    value = block.get(key)
    return value if isinstance(value, str) else ""


def _list(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []
