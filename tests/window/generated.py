"""Long conversations that look like real ones, the same for the same seed.

Measured in real sessions: tool results are 68 % of the characters, and 4.9 % of them (10.8 kB and more) hold half of
that; a request adds 603 tokens in the median, 1,329 in the mean, 14,800 at the 99th percentile; 87 tool calls stand
between two compactions in the median; of the files read after a compaction 75 % were known before.
`test_generated.py` holds the generator to these.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from typing import Any

import msgspec

from memctl.model import moments

START = "2025-11-04T09:00:00Z"
LARGE = 10_800  # characters of a result
COMPACTED_AT = 167_000  # tokens of 200,000
FRAME = 30_000  # tokens of the system prompt and the tools, which no transcript has
_TASK = "Migrate all REST API calls in {0} from {1} to {2}, preserving error-handling logic."
_AREAS = ("user-service", "checkout", "billing", "search", "notifications", "catalogue", "gateway", "reports")
_PARTS = ("client", "errors", "retry", "config", "index", "routes", "models", "session", "tokens", "cache", "hooks")
_WORDS = [
    *("request", "response", "error", "handler", "timeout", "retry", "value", "config", "client", "header", "payload"),
    *("status", "session", "token", "cache", "route", "model", "field", "index", "result", "promise", "callback"),
    *("module", "import", "export", "const", "return", "await", "function", "class", "interface", "type"),
]
_SAID = (
    "The interceptor in {0} wraps every error, so it has to stay until {1} is migrated.",
    "Next I look at how {0} uses the shared timeout.",
    "`{2}` is only called from {0}; it can go together with {1}.",
    "Tests for {0} pass now; {1} still fails in two places.",
    "I keep `{2}` as it is, since {1} depends on its return type.",
)
_ASKED = (
    "Go on.",
    "Please also run the tests.",
    "Why did you change `{2}`?",
    "IMPORTANT: keep {0} backwards compatible.",
)


class Step(msgspec.Struct, frozen=True):
    """A call and its result."""

    tool: str
    arguments: dict[str, Any]
    result: str
    is_error: bool = False


class Request(msgspec.Struct, frozen=True):
    """One request: what the user says before it ("": nothing), what the model thinks and says, and its calls.

    `is_compacted` if the window was compacted before it; then `said` is the summary.
    """

    said: str
    thought: str
    answer: str
    steps: tuple[Step, ...]
    is_compacted: bool = False


class Session:
    """Makes one session, request by request."""

    def __init__(self, seed: int, calls: int = 120) -> None:
        self._random = random.Random(seed)
        self._calls = calls
        self._area = self._random.choice(_AREAS)
        self._files = [
            f"{area}/src/{part}{number}.ts"
            for area in (self._area, *self._random.sample(_AREAS, 2))
            for part in _PARTS
            for number in ("", "_v2")
        ]
        self._touched: list[str] = []
        self._tokens = FRAME

    def requests(self) -> Iterator[Request]:
        """The requests of the session, until as many calls were made as were asked for."""
        chance, made, limit = self._random, 0, self._limit()
        said = _TASK.format(self._area, "axios", "fetch")
        compacted = False
        while made < self._calls:
            number = min(chance.choices((1, 2, 3, 4), (88, 8, 3, 1))[0], self._calls - made)
            steps = tuple(self._step(after_compaction=compacted) for _ in range(number))
            made += number
            answer = self._tell(1, 6) if chance.random() < 0.6 else ""
            thought = self._tell(5, 20) if chance.random() < 0.5 else ""
            request = Request(said, thought, answer, steps, compacted)
            yield request
            self._tokens += _tokens(request)
            compacted = self._tokens > limit
            if compacted:
                limit = self._limit()
                said = f"This session is being continued. Summary: {self._tell(40, 40)}"
                self._tokens = FRAME + len(said) // 4
            else:
                said = self._told(_ASKED) if chance.random() < 0.06 else ""
        yield Request(said, "", "All calls in " + self._area + " are migrated; 214 tests passed, 0 failed.", ())

    def _limit(self) -> int:
        """Where the window is compacted: by the host when it has to be, or by its user before that."""
        by_hand = self._random.random() < 0.55
        return self._random.randint(70_000, 150_000) if by_hand else COMPACTED_AT

    def _step(self, *, after_compaction: bool) -> Step:
        chance = self._random
        known = self._touched and chance.random() < (0.75 if after_compaction else 0.45)
        path = chance.choice(self._touched[-15:] if known else self._files)
        self._touched.append(path)
        size = self._size()
        tool = chance.choices(("Read", "Grep", "Bash", "Edit", "Write"), (34, 15, 28, 15, 8))[0]
        if tool in ("Edit", "Write") and size < LARGE:
            new = {"new_string": self._code(chance.randint(5, 40)), "old_string": self._code(chance.randint(5, 25))}
            given = new if tool == "Edit" else {"content": self._code(chance.randint(40, 160))}
            shown = self._code(max(1, size // 60), numbered=True)
            return Step(tool, {"file_path": path, **given}, f"The file {path} has been updated.\n{shown}")
        if tool == "Bash":
            return self._command(path, size)
        if tool == "Grep":
            name = self._name()
            lines = "\n".join(f"{chance.choice(self._files)}:{n}: {self._line()}" for n in range(max(1, size // 75)))
            return Step("Grep", {"pattern": name, "path": self._area}, f"Found {max(1, size // 75)} matches\n{lines}")
        return Step("Read", {"file_path": path}, self._code(max(1, size // 45), numbered=True))

    def _command(self, path: str, size: int) -> Step:
        chance = self._random
        is_error = chance.random() < 0.1
        lines = [
            f"PASS {chance.choice(self._files)} ({chance.randint(3, 900)} ms)" for _ in range(max(0, size // 42 - 2))
        ]
        if is_error:
            lines += [
                f"TypeError: Cannot read properties of undefined (reading '{self._name()}')",
                f"    at {path}:41:7",
            ]
        else:
            lines.append(f"Tests: {chance.randint(0, 3)} failed, {chance.randint(20, 400)} passed")
        return Step("Bash", {"command": f"npm test -- {path}"}, "\n".join(lines), is_error)

    def _size(self) -> int:
        """Characters of a result: most are small, and few hold half of all."""
        if self._random.random() < 0.049:
            return int(LARGE * math.exp(self._random.uniform(0.02, 1.85)))
        return int(min(self._random.lognormvariate(6.78, 1.05), LARGE * 0.9))

    def _tell(self, least: int, most: int) -> str:
        return " ".join(self._told(_SAID) for _ in range(self._random.randint(least, most)))

    def _told(self, choices: tuple[str, ...]) -> str:
        chance = self._random
        paths = self._touched[-6:] or self._files[:2]
        return chance.choice(choices).format(chance.choice(paths), chance.choice(paths), self._name())

    def _name(self) -> str:
        first, second = self._random.choice(_WORDS), self._random.choice(_WORDS)
        return first + second.capitalize()

    def _line(self) -> str:
        return " ".join(self._random.choice(_WORDS) for _ in range(self._random.randint(2, 8))) + ";"

    def _code(self, lines: int, *, numbered: bool = False) -> str:
        return "\n".join((f"{n:>6}\t" if numbered else "  ") + self._line() for n in range(1, lines + 1))


def _tokens(request: Request) -> int:
    """About what a request adds: 4 characters a token, and 75 a call."""
    texts = [request.said, request.thought, request.answer]
    texts += [json.dumps(step.arguments) + step.result for step in request.steps]
    return sum(map(len, texts)) // 4 + 75 * len(request.steps)


def requests(seed: int, calls: int = 120) -> list[Request]:
    """A session as requests, whatever it is written down as."""
    return list(Session(seed, calls).requests())


def anthropic(seed: int, calls: int = 120) -> list[dict[str, Any]]:
    """The messages of a session in Anthropic's shape, from its last compaction on."""
    found: list[dict[str, Any]] = []
    number = 0
    for request in requests(seed, calls):
        if request.is_compacted:
            found = []
        _say(found, request.said)
        content: list[dict[str, Any]] = []
        if request.thought:
            content.append({"type": "thinking", "thinking": request.thought, "signature": f"sig{number}"})
        if request.answer or not request.steps:
            content.append({"type": "text", "text": request.answer or "Done."})
        results: list[dict[str, Any]] = []
        for step in request.steps:
            number += 1
            identifier = f"toolu_{number:05d}"
            content.append({"type": "tool_use", "id": identifier, "name": step.tool, "input": step.arguments})
            results.append(_result(identifier, step))
        found.append({"role": "assistant", "content": content})
        if results:
            found.append({"role": "user", "content": results})
    return found


def _say(found: list[dict[str, Any]], said: str) -> None:
    """What the user says goes into the message of the results before it, if there is one."""
    if said and found and found[-1]["role"] == "user":
        found[-1]["content"].append({"type": "text", "text": said})
    elif said:
        found.append({"role": "user", "content": [{"type": "text", "text": said}]})


def _result(identifier: str, step: Step) -> dict[str, Any]:
    error = {"is_error": True} if step.is_error else {}
    return {"type": "tool_result", "tool_use_id": identifier, "content": step.result, **error}


def chat(seed: int, calls: int = 120) -> list[dict[str, Any]]:
    """The messages of a session as OpenAI's chat completions, from its last compaction on."""
    found: list[dict[str, Any]] = []
    number = 0
    for request in requests(seed, calls):
        if request.is_compacted:
            found = []
        if request.said:
            found.append({"role": "user", "content": request.said})
        answer: dict[str, Any] = {"role": "assistant", "content": request.answer or None}
        results = []
        for step in request.steps:
            number += 1
            function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
            answer.setdefault("tool_calls", []).append(
                {"id": f"call_{number}", "type": "function", "function": function}
            )
            results.append({"role": "tool", "tool_call_id": f"call_{number}", "content": step.result})
        found += [answer, *results]
    return found


def transcript(seed: int, calls: int = 120, cwd: str = "/home/ada/shop") -> Iterator[str]:
    """The lines of a session as Claude Code writes them, all compactions in them; each line ends with a newline."""
    writer = _Writer(cwd, f"5f6c2a10-7d1e-4f7a-9a3b-{seed:012d}")
    context = FRAME
    for number, request in enumerate(requests(seed, calls)):
        if request.is_compacted:
            boundary = {"trigger": "auto", "preTokens": context}
            yield writer.line("system", subtype="compact_boundary", content="Compacted", compactMetadata=boundary)
            yield writer.message("user", request.said, isCompactSummary=True)
            context = FRAME + len(request.said) // 4
        elif request.said:
            yield writer.message("user", request.said)
        yield from _answered(writer, f"msg_{number:06d}", request, context)
        context += _tokens(request)


class _Writer:
    """Writes lines one after the other, twenty seconds apart."""

    def __init__(self, cwd: str, session: str) -> None:
        self._common = {
            "isSidechain": False,
            "cwd": cwd,
            "sessionId": session,
            "version": "2.1.329",
            "gitBranch": "main",
        }
        self._number = 0

    def line(self, type_: str, **fields: Any) -> str:
        self._number += 1
        moment = moments.from_epoch(moments.to_epoch(START) + 20 * self._number)
        own = {"type": type_, "uuid": f"u{self._number}", "timestamp": moment}
        parent = f"u{self._number - 1}" if self._number > 1 else None
        return json.dumps({"parentUuid": parent, **self._common, **own, **fields}) + "\n"

    def message(self, role: str, content: Any, **fields: Any) -> str:
        return self.line(role, message={"role": role, "content": content}, **fields)


def _answered(writer: _Writer, identifier: str, request: Request, context: int) -> Iterator[str]:
    """An answer with a line for each of its blocks, all with one id and one usage; then the results."""
    usage = {
        "input_tokens": 4,
        "cache_read_input_tokens": context,
        "cache_creation_input_tokens": 300,
        "output_tokens": 90,
    }
    blocks: list[dict[str, Any]] = []
    if request.thought:
        blocks.append({"type": "thinking", "thinking": request.thought, "signature": f"s{identifier}"})
    if request.answer:
        blocks.append({"type": "text", "text": request.answer})
    named = [(f"toolu_{identifier}_{number}", step) for number, step in enumerate(request.steps)]
    blocks += [{"type": "tool_use", "id": name, "name": step.tool, "input": step.arguments} for name, step in named]
    for block in blocks:
        message = {
            "id": identifier,
            "role": "assistant",
            "model": "claude-opus-4-5",
            "content": [block],
            "usage": usage,
        }
        yield writer.line("assistant", message=message)
    for name, step in named:
        yield writer.message("user", [_result(name, step)])
