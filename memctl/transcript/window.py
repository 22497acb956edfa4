"""Read the context window at the end of a Claude Code transcript: its messages, ready to be sent, and its usage.

The messages are those after the last compaction, the summary first. Sub-agents have windows of their own; if a
transcript has only a sub-agent's lines, the sub-agent's window is read. A transcript has a line for each block of a
message, and these blocks are joined to messages again. Tool calls without a result, and results without a call, can't
be sent and are left out. A prompt that was queued while the agent worked is placed where the agent got the prompt.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from memctl.transcript.claude_code import LineReader, PromptQueue
from memctl.transcript.line import Line, text_in
from memctl.transcript.messages import blocks_of

_QUEUED = "queued"  # the id of a group that is a prompt from the queue
_THINKING = ("thinking", "redacted_thinking")


class Compaction(msgspec.Struct, frozen=True):
    """A compaction of a context: its place in the transcript, its trigger, and the tokens before and after it.

    `at` is the number of requests to the model before the compaction, and `line` the number of the transcript's line
    that marks it. `trigger` is the host's word for what started it, such as "auto" or "manual", "" if it is not known.
    `before` and `after` are the tokens in the context before and after the compaction, 0 if they are not known.
    """

    at: int
    line: int
    trigger: str = ""
    before: int = 0
    after: int = 0


class Window(msgspec.Struct, frozen=True):
    """The messages of a context window, and the requests and compactions of the session so far.

    - `messages`: the messages in the form in which they can be sent to the model.
    - `lines`: for each message, the numbers of the transcript's lines that it was made from.
    - `reported`: the number of tokens that the host reported for the last request, 0 if it reported none.
    - `beginning`: all texts of the user before the model's first answer, joined by line ends.
    - `left_out`: the number of calls without a result and of results without a call, which can't be sent.
    - `broken`: the number of lines that can't be read.

    Four fields have one entry for each request to the model:

    - `requests`: the number of tokens of the request.
    - `times`: the time when the answer was written, "" if unknown.
    - `asked`: the time of the line before the answer, "" if unknown.
    - `results`: how many tool results came after the answer, and how many of these were errors.
    """

    messages: list[dict[str, Any]]
    lines: list[list[int]]
    model: str = ""
    reported: int = 0
    requests: tuple[int, ...] = ()
    compactions: tuple[Compaction, ...] = ()
    beginning: str = ""
    left_out: int = 0
    broken: int = 0
    times: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    results: tuple[tuple[int, int], ...] = ()

    @property
    def since(self) -> int:
        """The number of the transcript's line with the last compaction; 0 if there was none.

        The window begins after this line.
        """
        return self.compactions[-1].line if self.compactions else 0


def read(rows: Iterable[str | bytes], *, whole: bool = False) -> Window:
    """Return the context window at the end of a transcript, from the transcript's lines `rows`.

    With `whole` the window has all messages of the session, as if the host had never compacted, and no summaries.
    Anything unexpected in the lines is ignored.
    """
    reader = WindowReader(whole)
    for row in rows:
        reader.read(row)
    return reader.window()


class _Group(msgspec.Struct):
    """Consecutive blocks of one side, each with its line.

    An answer has an id, and results may come between its lines.
    """

    role: str
    id: str
    blocks: list[tuple[dict[str, Any], int]]


class WindowReader:
    """Builds the context window of a transcript from its lines.

    Call `read` for each line in turn. `window` can be called at any time. With `whole` the window has all messages of
    the session, as if the host had never compacted.
    """

    def __init__(self, whole: bool = False) -> None:
        self._whole = whole
        self._lines = LineReader()
        self._queue = PromptQueue()
        self._begin(is_sidechain=True)

    def _begin(self, *, is_sidechain: bool) -> None:
        self._is_sidechain = is_sidechain  # whether there is nothing but a sub-agent's lines so far
        self._groups: list[_Group] = []
        self._results: dict[str, tuple[dict[str, Any], int]] = {}
        self._model = self._answer = ""
        self._reported = 0
        self._requests: list[int] = []
        self._times: list[str] = []
        self._asked: list[str] = []
        self._outcomes: list[tuple[int, int]] = []
        self._before = ""  # when the line before was written
        self._compactions: list[Compaction] = []
        self._beginning: list[str] = []

    def read(self, row: str | bytes) -> None:
        """Take the next line of the transcript; `row` is the line as it is in the file, which is JSON."""
        line = self._lines.read(row)
        if line is None:
            return
        if (prompt := self._queue.take(line)) is not None:
            text, queued = prompt
            self._groups.append(_Group("user", _QUEUED, [({"type": "text", "text": text}, queued.number)]))
        if not (line.role or line.is_boundary):
            return
        if line.is_sidechain != self._is_sidechain:
            if line.is_sidechain:
                return
            self._begin(is_sidechain=False)
        if line.is_boundary:
            self._compact(line)
        if line.role == "assistant":
            self._count(line)
        elif line.role and not self._requests:
            self._beginning += [block.text for block in blocks_of("user", line.message.get("content"))]
        if line.role and not (self._whole and line.is_summary):
            self._add(line)
        if line.role:
            self._before = text_in(line.fields, "timestamp")

    def _compact(self, line: Line) -> None:
        tokens = [line.compaction.get(key) for key in ("preTokens", "postTokens")]
        before, after = (number if isinstance(number, int) and number > 0 else 0 for number in tokens)
        trigger = str(line.compaction.get("trigger") or "")
        self._compactions.append(Compaction(len(self._requests), line.number, trigger, before, after))
        self._answer = ""
        if not self._whole:
            self._groups, self._results, self._reported = [], {}, 0

    def _count(self, line: Line) -> None:
        """The lines of an answer all have the same id and usage, so its request is counted once."""
        self._model = line.model or self._model
        tokens, answer = line.context, line.answer or f"line {line.number}"
        self._reported = tokens or self._reported
        if tokens > 0 and answer != self._answer:
            self._answer = answer
            self._requests.append(tokens)
            self._times.append(text_in(line.fields, "timestamp"))
            self._asked.append(self._before)
            self._outcomes.append((0, 0))

    def _add(self, line: Line) -> None:
        content = line.message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for block in blocks if isinstance(blocks, list) else ():
            kind = block.get("type") if isinstance(block, dict) else None
            if not isinstance(block, dict) or (kind == "text" and not str(block.get("text") or "").strip()):
                continue
            if kind == "tool_result":
                self._results.setdefault(text_in(block, "tool_use_id"), (block, line.number))
                if self._outcomes:
                    results, failed = self._outcomes[-1]
                    self._outcomes[-1] = (results + 1, failed + (block.get("is_error") is True))
                continue
            answer = text_in(line.message, "id")
            group = next((group for group in reversed(self._groups) if group.id != _QUEUED), None)
            is_going_on = group is not None and answer and group.id == answer
            last = group if is_going_on else self._groups[-1] if self._groups else None
            if last is None or last.role != line.role or last.id != answer:
                last = _Group(line.role, answer, [])
                self._groups.append(last)
            last.blocks.append((block, line.number))

    def window(self) -> Window:
        """Return the context window at the end of the lines that were read so far."""
        messages, lines, left_out = self._paired()
        return Window(
            messages,
            lines,
            self._model,
            self._reported,
            tuple(self._requests),
            tuple(self._compactions),
            "\n".join(self._beginning),
            left_out,
            self._lines.broken,
            tuple(self._times),
            tuple(self._asked),
            tuple(self._outcomes),
        )

    def _paired(self) -> tuple[list[dict[str, Any]], list[list[int]], int]:
        """Calls and results that lack the other are left out, and counted."""
        messages: list[dict[str, Any]] = []
        lines: list[list[int]] = []
        used = calls = 0
        waiting = dict(self._results)  # a repeated call gets its result once
        for group in self._groups:
            answer, results = [], []
            for block, number in group.blocks:
                calls += (is_call := block.get("type") == "tool_use")
                result = waiting.pop(text_in(block, "id"), None) if is_call else None
                if result is not None:
                    results.append(result)
                if result is not None or not is_call:
                    answer.append((block, number))
            if all(block.get("type") in _THINKING for block, _ in answer):
                continue
            used += len(results)
            for role, blocks in ((group.role, answer), ("user", results)):
                if blocks and (not messages or messages[-1]["role"] != role):
                    messages.append({"role": role, "content": []})
                    lines.append([])
                for block, number in blocks:
                    messages[-1]["content"].append(block)
                    lines[-1].append(number)
        return messages, lines, calls + len(self._results) - 2 * used
