"""Read from a file how many tokens a model reported for texts, so that memctl can correct its own counts for the model.

Such a text with its reported number is an observation. A line of the file is JSON in one of these forms:

- an object with `model`, `input_tokens`, and either `text`, `file` (the name of a file with the text) or `messages`;
  with a text or a file it may have `kind`, the sort of text, such as "markdown" (one of `families.KINDS`)
- a request with its answer, `{"request", "response"}`, or with the answer's `usage`, in the shape of Anthropic's or
  OpenAI's interface
- a line of a Claude Code transcript

In a transcript the observations are differences. From one request to the next, the context grows by the model's answer
and by the texts that the model is given after it. The transcript has these texts, and their tokens are the difference
of the numbers that the model reported for the two requests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.store.token_samples import TokenSample
from memctl.tokens import messages
from memctl.tokens.count import Counter, digest_of, name_of
from memctl.tokens.families import KINDS, family_of, kind_of_text
from memctl.tokens.messages import PER_MESSAGE, Part, PartReader
from memctl.transcript.claude_code import LineReader
from memctl.transcript.line import Line, context_tokens


class Growth(msgspec.Struct, frozen=True):
    """What was added to a context between two requests to a model: its texts in `parts`, and its number of `tokens`.

    `overhead` is how many of the tokens belong to no text: every message and every tool call has some. `fault` says why
    memctl's counts can't be corrected by this growth, such as an image in it; "" if they can.
    """

    model: str
    parts: list[Part]
    tool_calls: int
    overhead: int
    tokens: int
    fault: str


class GrowthReader:
    """Finds what was added to a context from one answer of the model to the next, from a transcript's lines.

    Call `take` for each line in turn.
    """

    def __init__(self) -> None:
        self._answer = self._model = ""
        self._context = 0
        self._parts = PartReader()

    def take(self, line: Line) -> Growth | None:
        """Take the transcript's next line; if an answer begins with it, return what was added since the answer before.

        The result is None for any other line and for lines of sub-agents. It is also None if the size of the context is
        not known for both answers, as for the first answer of a transcript and the first one after a compaction.
        """
        if line.is_sidechain:
            return None
        if line.is_boundary or line.is_summary:
            self._answer = ""  # what the context was no longer counts
            return None
        growth = None
        if line.role == "assistant" and (line.answer != self._answer or not line.answer):
            if self._answer and line.context:
                growth = self._growth(line)
            self._answer, self._model, self._context = line.answer if line.context else "", line.model, line.context
            self._parts = PartReader()
        if line.role:
            self._parts.read(0, line.role, line.message.get("content"))
        return growth

    def _growth(self, line: Line) -> Growth:
        parts, fault = self._parts, ""
        if parts.images:
            fault = "the request has images, whose tokens are only estimated"
        elif parts.uncounted:
            fault = f"the request has parts other than text: {', '.join(parts.uncounted)}"
        elif line.model != self._model:
            fault = "the session changed to another model"
        grown = line.context - self._context
        overhead = parts.overhead + 2 * PER_MESSAGE
        return Growth(line.model, parts.parts, parts.tool_calls, overhead, grown, fault)


SHORTEST = 50  # estimated tokens; in shorter texts the frame of the request weighs more than the factor

ReadFile = Callable[[str], str]


class TokenReport(msgspec.Struct, frozen=True):
    """The texts of a request to a model (`parts`), and the number of tokens that the model `reported` for the request.

    `overhead` is how many of the reported tokens are not of the texts. `is_one_text` says that the request had nothing
    but one text, so that the number belongs to this very text.
    """

    model: str
    parts: list[Part]
    overhead: int
    reported: int
    is_one_text: bool = False  # and nothing else: so it is known what the model says of this text


class RejectedLine(msgspec.Struct, frozen=True):
    """A line of a file of reports that could not be used, by its number, and the reason."""

    line: int
    reason: str


class Observations(msgspec.Struct):
    """What a file of reports says: texts with the number of tokens that a model reported for them (observations).

    `by_model` maps the name of a model to its observations. `asides` are the lines of the file that could not be used.
    """

    by_model: dict[str, list[TokenSample]]
    asides: list[RejectedLine]


def observe(text: str, read_file: ReadFile) -> Observations:
    """Return what a file of reports says of texts and of the number of tokens that a model reported for each.

    `text` is the text of the file. Each line is JSON, such as `{"model": …, "text": …, "input_tokens": …}`, or a line
    of a Claude Code transcript. Instead of the counted text, a line may have the name of a file that contains the
    text; `read_file` returns the text of the file with a given name.
    """
    observed = Observations(defaultdict(list), [])
    reader, growths = LineReader(), GrowthReader()
    for raw in text.split("\n"):
        broken = reader.broken
        line = reader.read(raw)
        try:
            if line is None and reader.broken > broken:
                raise MemctlError("the line is not a JSON object")
            if line is not None:
                _take_line(line, growths, read_file, observed)
        except MemctlError as error:
            observed.asides.append(RejectedLine(reader.number, error.message))
    return observed


def _take_line(line: Line, growths: GrowthReader, read_file: ReadFile, observed: Observations) -> None:
    if "message" not in line.fields and "subtype" not in line.fields:
        _take(_report(line.fields, read_file), observed)
    elif (growth := growths.take(line)) is not None:
        if growth.fault:
            raise MemctlError(growth.fault)
        _take(TokenReport(growth.model, growth.parts, growth.overhead, growth.tokens), observed)


def _take(report: TokenReport, observed: Observations) -> None:
    family = family_of(report.model)
    if family.error == 0:
        raise MemctlError(f"tokens of the family {family.name} are counted exactly, so there is nothing to learn")
    counter = Counter(family)
    estimate = sum(counter.tokens(part.text, part.kind) for part in report.parts)
    reported = report.reported - report.overhead
    if estimate < SHORTEST:
        raise MemctlError(f"the text has fewer than {SHORTEST} tokens")
    if reported <= 0:
        least = f"{report.overhead:,}, which a request has without any text"
        raise MemctlError(f"the reported number of tokens, {report.reported:,}, must be larger than {least}")
    name = name_of(report.model)
    texts = [part.text for part in report.parts]
    key = texts[0] if report.is_one_text else msgspec.json.encode([texts, report.reported]).decode()
    kinds = " ".join(sorted({part.kind for part in report.parts}))
    observed.by_model[name].append(TokenSample(digest_of(key), kinds, estimate, reported))


def _report(line: dict[str, Any], read_file: ReadFile) -> TokenReport:
    request = line["request"] if isinstance(line.get("request"), dict) else line
    response = line["response"] if isinstance(line.get("response"), dict) else line
    model = response.get("model") or request.get("model")
    if not isinstance(model, str):
        raise MemctlError("the line names no model")
    reported = line.get("input_tokens") or context_tokens(response.get("usage") or line.get("usage"))
    if not isinstance(reported, int) or reported <= 0:
        raise MemctlError("the line has no count of input tokens")
    if isinstance(request.get("text"), str) or isinstance(request.get("file"), str):
        part, overhead = _text(request, read_file), messages.PER_REQUEST + messages.PER_MESSAGE
        return TokenReport(model, [part], overhead, reported, is_one_text=True)
    conversation = messages.parse(request)
    if conversation is None:
        raise MemctlError("the line has no text, file or messages")
    if conversation.uncounted:
        raise MemctlError(f"the request has parts other than text: {', '.join(conversation.uncounted)}")
    return TokenReport(model, conversation.parts, conversation.overhead, reported)


def _text(line: dict[str, Any], read_file: ReadFile) -> Part:
    name = line["file"] if isinstance(line.get("file"), str) else ""
    text = line["text"] if isinstance(line.get("text"), str) else read_file(name)
    kind = line.get("kind") or kind_of_text(name, text)
    if kind not in KINDS:
        raise MemctlError(f"the kind is not one of {', '.join(KINDS)}")
    return Part(1, "user", "text", kind, text)
