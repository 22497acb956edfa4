"""Makes sessions that look like real ones, request by request, the same for the same seed.

Measured in real sessions: tool results are 68 % of the characters, and 4.9 % of them (10.8 kB and more) hold half of
that; a request adds 603 tokens in the median, 1,329 in the mean, 14,800 at the 99th percentile; 87 tool calls stand
between two compactions in the median. Which files are touched is in `touches`, what stands in them in `project`.
`test_generated.py` holds the generator to all of it.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from typing import Any

import msgspec

from tests.window.project import SourceFile, numbered
from tests.window.touches import Touches

LARGE = 10_800  # characters of a result
COMPACTED_AT = 167_000  # tokens of 200,000
FRAME = 30_000  # tokens of the system prompt and the tools, which no transcript has
_TASK = "Migrate all REST API calls in {0} from {1} to {2}, preserving error-handling logic."
_AREAS = ("user-service", "checkout", "billing", "search", "notifications", "catalogue", "gateway", "reports")
_PARTS = ("client", "errors", "retry", "config", "index", "routes", "models", "session", "tokens", "cache", "hooks")
_SAID = (
    "The interceptor in {0} wraps every error, so it has to stay until {1} is migrated.",
    "Next I look at how {0} uses the shared timeout.",
    "`{2}` is only called from {0}; it can go together with {1}.",
    "Tests for {0} pass now; {1} still fails in two places.",
    "I keep `{2}` as it is, since {1} depends on its return type.",
)
_PLAIN = (  # what is said about nothing by name
    "The error handling has to stay as it is, whatever is done about the rest.",
    "That is what the tests expect, so I leave it alone for now.",
    "There may be a simpler way, but it would change what callers get back.",
    "First the small steps, then one run of all tests.",
)
_NAMING = 0.4  # of the sentences name something; all of a text are about the same two files
_ASKED = (
    "Go on.",
    "Please also run the tests.",
    "Why did you change `{2}`?",
    "IMPORTANT: keep {0} backwards compatible.",
)
_NOTED = (  # what has to survive whatever is made of a window; how often such lines come nobody measured
    "Decision: {0} keeps its timeout of {2} ms because `{1}` waits for the gateway.",
    "Open issue: {0} drops {2} headers when `{1}` retries.",
    "Blocked by: the staging gateway refuses more than {2} clients",
)
_NOTES = 0.06  # of the requests have one


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

    def __init__(self, seed: int, calls: int) -> None:
        self._seed = seed
        self._random = random.Random(seed)
        self._noting = random.Random(f"{seed} notes")
        self._calls = calls
        self._areas = self._random.sample(_AREAS, 3)
        self._files: dict[str, SourceFile] = {}
        self._touches = Touches(self._random, self._unknown)
        self._read: set[str] = set()  # what this window has read; a host lets nothing else be edited
        self._tokens = FRAME

    def requests(self) -> Iterator[Request]:
        """The requests of the session, until as many calls were made as were asked for."""
        chance, made, limit = self._random, 0, self._limit()
        said = _TASK.format(self._areas[0], "axios", "fetch")
        compacted = False
        while made < self._calls:
            number = min(chance.choices((1, 2, 3, 4), (88, 8, 3, 1))[0], self._calls - made)
            steps = tuple(self._step() for _ in range(number))
            made += number
            answer = self._tell(1, 5) if chance.random() < 0.4 else ""
            thought = self._tell(10, 100) if chance.random() < 0.18 else ""
            request = Request(said, thought, f"{answer}{self._note()}".strip(), steps, compacted)
            yield request
            self._tokens += tokens_of(request)
            compacted = self._tokens > limit
            if compacted:
                limit = self._limit()
                said = f"This session is being continued. Summary: {self._tell(40, 40)}"
                self._tokens = FRAME + len(said) // 4
                self._read.clear()
            else:
                said = chance.choice(_ASKED).format(*self._about()) if chance.random() < 0.06 else ""
        yield Request(said, "", "All calls in " + self._areas[0] + " are migrated; 214 tests passed, 0 failed.", ())

    def _limit(self) -> int:
        """Where the window is compacted: by the host when it has to be, or by its user before that."""
        by_hand = self._random.random() < 0.55
        return self._random.randint(62_000, 138_000) if by_hand else COMPACTED_AT

    def _unknown(self) -> str:
        """A path that no step has had yet."""
        while True:
            number = self._random.randrange(1 + len(self._files) // 10)
            path = f"src/{self._random.choice(self._areas)}/{self._random.choice(_PARTS)}{number or ''}.ts"
            if path not in self._touches.known:
                return path

    def _file(self, path: str) -> SourceFile:
        if path not in self._files:
            self._files[path] = SourceFile(path, self._seed, self._size())
        return self._files[path]

    def _step(self) -> Step:
        tool = self._random.choices(("file", "Grep", "Bash"), (57, 15, 28))[0]
        if tool == "Bash":
            return self._command()
        if tool == "Grep":
            return self._search()
        file = self._file(self._touches.next())
        is_read = file.path in self._read
        self._read.add(file.path)
        what = self._random.choices(("Read", "Edit", "Write"), (34, 15, 8))[0] if is_read else "Read"
        return {"Read": self._reading, "Edit": self._edit, "Write": self._rewriting}[what](file)

    def _reading(self, file: SourceFile) -> Step:
        """All of the file, or a part of it."""
        start, size = 0, file.size
        given: dict[str, Any] = {"file_path": file.path}
        if self._random.random() < 0.3:
            start, size = self._random.randrange(1 + size // 45), self._size()
        lines, end = file.lines(start, size)
        if size != file.size:
            given |= {"offset": start + 1, "limit": end - start}
        return Step("Read", given, numbered(lines, start))

    def _edit(self, file: SourceFile) -> Step:
        chance = self._random
        start = chance.randrange(1 + file.size // 45)
        old, new = file.edit(start, chance.randint(5, 25), chance.randint(5, 40))
        given = {"file_path": file.path, "old_string": "\n".join(old), "new_string": "\n".join(new)}
        shown, _ = file.lines(start, min(self._size(), LARGE))
        return Step("Edit", given, f"The file {file.path} has been updated.\n{numbered(shown, start)}")

    def _rewriting(self, file: SourceFile) -> Step:
        lines = file.rewrite(self._random.randint(40, 160))
        return Step("Write", {"file_path": file.path, "content": "\n".join(lines)}, f"Wrote {file.path}.")

    def _search(self) -> Step:
        """A name of a file at work, and lines of files that nobody may have looked at yet."""
        chance = self._random
        name, left = chance.choice(self._file(self._touches.said()).names), self._size()
        lines: list[str] = []
        while left > 0 or not lines:
            path = self._unknown() if chance.random() < 0.5 else self._touches.said()
            number = chance.randrange(20)
            lines.append(f"{path}:{number + 1}: {self._file(path).line(number)}")
            left -= len(lines[-1])
        return Step("Grep", {"pattern": name, "path": "src"}, f"Found {len(lines)} matches\n" + "\n".join(lines))

    def _command(self) -> Step:
        chance, path = self._random, self._touches.said()
        is_error = chance.random() < 0.1
        count = max(0, self._size() // 42 - 2)
        lines = [f"PASS {self._touches.said()} ({chance.randint(3, 900)} ms)" for _ in range(count)]
        if is_error:
            name = chance.choice(self._file(path).names)
            lines += [f"TypeError: Cannot read properties of undefined (reading '{name}')", f"    at {path}:41:7"]
        else:
            lines.append(f"Tests: {chance.randint(0, 3)} failed, {chance.randint(20, 400)} passed")
        return Step("Bash", {"command": f"npm test -- {path}"}, "\n".join(lines), is_error)

    def _size(self) -> int:
        """Characters of a result: most are small, and few hold half of all."""
        if self._random.random() < 0.061:
            return int(LARGE * math.exp(self._random.uniform(0.02, 1.95)))
        return int(min(self._random.lognormvariate(5.75, 1.5), LARGE * 0.9))

    def _note(self) -> str:
        """A line that has to survive, mostly none."""
        chance, path = self._noting, self._touches.known[0] if self._touches.known else ""
        if chance.random() >= _NOTES or not path:
            return ""
        name = chance.choice(self._file(path).names)
        return "\n" + chance.choice(_NOTED).format(path, name, chance.randint(11, 999))

    def _tell(self, least: int, most: int) -> str:
        chance, about = self._random, self._about()
        return " ".join(
            chance.choice(_SAID).format(*about) if chance.random() < _NAMING else chance.choice(_PLAIN)
            for _ in range(chance.randint(least, most))
        )

    def _about(self) -> tuple[str, str, str]:
        """What a text is about: two files, and a name in the first."""
        one, other = self._touches.said(), self._touches.said()
        return one, other, self._random.choice(self._file(one).names)


def tokens_of(request: Request) -> int:
    """About what a request adds: 4 characters a token, and 75 a call."""
    texts = [request.said, request.thought, request.answer]
    texts += [json.dumps(step.arguments) + step.result for step in request.steps]
    return sum(map(len, texts)) // 4 + 75 * len(request.steps)
