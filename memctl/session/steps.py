"""Identify what a tool call does (its step), so that a later call can be recognized as a repetition of it.

A step is a command or, for other tools, the tool and its file. Two calls have the same step if they run one program
with the same words; options and launchers (`uv run`) don't count. If a call fails and a call of a wider step succeeds
later, the failed step counts as successful as well: a run of all tests covers a run of one test.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from memctl.session import shell, tool_calls
from memctl.session.shell import ShellCommand
from memctl.text.fit import cut
from memctl.text.markdown import one_line
from memctl.transcript.events import Event

_LONGEST = 200  # characters of a step
_KEY = 80  # characters of a step's key
_ASIDE = ("cd", "export", "source", ".", "set", "echo", "printf", "pushd", "popd", "true", "sleep")
_READERS = (
    "cat", "head", "tail", "less", "more", "grep", "egrep", "fgrep", "rg", "ag", "sed", "awk", "find", "fd", "ls",
    "tree", "wc", "sort", "uniq", "cut", "jq", "yq", "diff", "nl", "bat", "tee", "tr", "column", "xxd", "stat",
    "journalctl", "gh", "curl", "wget",
)  # fmt: skip
_READING_GIT = ("log", "show", "diff", "grep", "blame", "status", "ls-files", "cat-file", "stash", "shortlog")
_LAUNCHERS = re.compile(
    r"(?:(?:sudo|time|env|nice|npx|bunx|uvx|rtk|wsl -e|(?:uv|poetry|pipenv|pdm|hatch|rye) run|(?:pnpm|yarn|bundle) exec"
    r"|timeout \S+|python[\d.]*(?= -m )|-m)(?: |$))+"
)
_RUNS = (
    r"pytest|py\.test|unittest(?: discover)?|tox|nox|jest|vitest(?: run)?|mocha|rspec|phpunit|ctest|mypy|pyright|tsc"
    r"|ruff check|flake8|pylint|eslint|(?:cargo|go|dotnet|mvn|gradle|\./gradlew|swift|npm|pnpm|yarn|deno|bun|mix|make)"
    r" (?:test|build|check|vet|clippy)|(?:npm|pnpm|yarn|bun) run [\w:-]+"
)
# Further programs that check the work, and tasks and scripts whose names say that they do.
_OF_CHECKS = (
    r"[\w:.-]*(?:tests?|lint|checks?|fmt|format|build|ci|vet|types?|verify|coverage|compile|deploy|publish|migrate)"
    r"(?![a-z])[\w:.-]*"
)
_JUDGES = (
    r"golangci-lint|gofmt|gofumpt|staticcheck|shellcheck|pre-commit run|black|isort|prettier|biome|rubocop|phpstan"
    rf"|bazel (?:test|build)|tflint|hadolint|markdownlint|(?:mise run|mise|just|task|rake|invoke|nx|turbo) {_OF_CHECKS}"
    rf"|(?:(?:ba|z)?sh )?(?:[\w.-]+/)*{_OF_CHECKS}\.(?:sh|py|js|ts|rb)|deploy|publish"
)
_CHECKS = re.compile(rf"(?:{_RUNS}|{_JUDGES}|make|ninja)(?= |$)")
_BUILT = {f"{tool} test": f"{tool} build" for tool in ("go", "cargo", "swift", "dotnet", "bazel")}
_HOST = re.compile(r"//(?:[^\s/@]*@)?([\w.-]+)|(?:\s-h|--host)[\s=]+([\w.-]+)|\w@([\w.-]+)")
_SCRIPT = re.compile(r"(npm|pnpm|yarn|bun) run test(?![\w-])")  # which their `test` runs, too
_LINTERS = frozenset(
    {"golangci-lint", "staticcheck", "shellcheck", "eslint", "ruff check", "flake8", "pylint", "rubocop"}
)
_INLINE = re.compile(r"(?:python[\d.]*|node|ruby|perl) -[ce] ")  # code in the command itself, mostly to look at a file
_PARTED = re.compile(r"\|\||(?<!\|)\|(?!\|)|;|\n")  # separators that do not stop at the first failing command
_WHOLE = re.compile(_RUNS)  # programs that without arguments check everything, as `make` does not


def of_call(call: Event) -> str:
    """Return the step of a tool call, for people: a command as it was written, or a tool and its file ("Read a.py").

    If the call has several commands, the last one that checks something or commits says most about it: for
    `fmt && lint` this is `lint`. If there is none, the result is the first one that does more than read.
    """
    command = tool_calls.command_of(call.arguments)
    if not command:
        path = next((touch.path for touch in tool_calls.touched(call)), "")
        return f"{call.tool} {path}".strip()
    simple_commands = list(_commands(command))
    doing = [simple for simple in simple_commands if not _is_reader(simple)]
    telling = [simple for simple in doing if _CHECKS.match(key(simple.text)) or tool(simple.text) == "git commit"]
    return cut(one_line(next((simple.text for simple in (*telling[-1:], *doing, *simple_commands)), command)), _LONGEST)


def of_success(call: Event) -> frozenset[str]:
    """Return the keys (see `key`) of the steps that a successful tool call performed.

    For a shell text such as `a && b` these are the keys of all its commands. With a pipe, a semicolon or several lines,
    a command may have failed although the call succeeded. The result then has only the key of the call's main step
    (`of_call`).
    """
    command = tool_calls.command_of(call.arguments)
    if hides_failures(command):
        return frozenset({key(of_call(call))})
    return frozenset(map(key, (of_call(call), *(simple.text for simple in _commands(command)))))


def hides_failures(command: str) -> bool:
    """Return whether a shell text may succeed although a command in it, but for the last one, failed."""
    return _PARTED.search(command) is not None


def program(step: str) -> str:
    """Return the program with which a step (a command) checks the work, "" if it checks nothing.

    The result has no launcher, options or arguments: "uv run pytest -q tests/a.py" gives "pytest", and "go test ./a"
    gives "go test". A task's name ends at the colon: "mise run test:unit" gives "mise run test". For `make` and `ninja`
    the first target is included ("make lint"), because each target is a check of its own.
    """
    words = key(step)
    match = _CHECKS.match(words)
    if match is None:
        return ""
    if match[0] in ("make", "ninja"):
        return " ".join(words.split()[:2])  # targets of make are independent of each other
    runner, _, task = _SCRIPT.sub(r"\1 test", match[0]).rpartition(" ")
    return f"{runner} {task.partition(':')[0]}".strip()


def tool(step: str) -> str:
    """Return the name of a step's program alone, but for Git with its command: "docker ps" gives "docker"."""
    words = key(step).split()
    return " ".join(words[: 2 if words[:1] == ["git"] else 1])


def hosts(command: str) -> frozenset[str]:
    """Return the hosts that a command names in addresses (`http://db/x`, `ada@db`), or by `-h` or `--host`."""
    return frozenset(next(filter(None, found.groups())) for found in _HOST.finditer(command))


def programs(call: Event) -> frozenset[str]:
    """Return the programs with which a tool call checks the work, in the form that the function `program` returns.

    Tests of a compiled language include its build: `go test ./... && mypy src` gives {"go test", "go build", "mypy"}. A
    task with the name "lint" includes every linter.
    """
    texts = (simple.text for simple in shell.all_commands(tool_calls.command_of(call.arguments)) if simple.words)
    names = frozenset(program(text) or tool(text) for text in texts)
    linters = _LINTERS if any(name.endswith(" lint") for name in names) else frozenset[str]()
    return names | linters | {_BUILT[name] for name in names if name in _BUILT}


def is_doing(call: Event) -> bool:
    """Return whether a call runs a program that does more than show text, unlike `cat` and `git log`."""
    command = tool_calls.command_of(call.arguments)
    return any(not _is_reader(simple) for simple in _commands(command))


def _commands(text: str) -> Iterator[ShellCommand]:
    """Yield the simple commands of a shell text that do more than lead to another one, such as `cd`."""
    return (simple for simple in shell.all_commands(text) if simple.words and simple.words[0] not in _ASIDE)


def _is_reader(simple: ShellCommand) -> bool:
    first, *rest = simple.words
    if rest[:1] == ["-C"]:  # the folder that Git works in
        rest = rest[2:]
    if _INLINE.match(simple.text):
        return True
    return first in _READERS or (first == "git" and next((w for w in rest if w[0:1] != "-"), "") in _READING_GIT)


def key(step: str) -> str:
    """Return a key for a step (a command) that is the same for all its repetitions.

    It has the program without folder and launcher, and the other words without options: "uv run pytest -q tests/a.py"
    gives "pytest tests/a.py".
    """
    simple = next((command for command in shell.commands(step) if command.words), None)
    words = list(simple.words) if simple else step.split()
    line = " ".join([words[0].rpartition("/")[2] or words[0], *words[1:]]) if words else ""
    line = line[match.end() :] if (match := _LAUNCHERS.match(line)) and match.end() < len(line) else line
    return " ".join(word for word in line.split() if not word.startswith("-"))[:_KEY] or line[:_KEY]


def is_covered(step: str, succeeded: Collection[str]) -> bool:
    """Return whether a command succeeded, or a wider check that includes it.

    `step` is the command's text, and `succeeded` has what `key` returns for the commands that succeeded. A wider check
    is the command's program without arguments: success of "pytest" covers "pytest tests/a.py".
    """
    own = key(step)
    if own in succeeded:
        return True
    words = own.split()
    wider = (" ".join(words[:count]) for count in range(1, len(words)))
    return any(part in succeeded and _WHOLE.fullmatch(part) for part in wider)


def keys(texts: Iterable[str]) -> frozenset[str]:
    """Return the keys of several steps, as the function `key` makes them; equal steps have one key."""
    return frozenset(map(key, texts))


def begins(line: str, succeeded: Collection[str], quotes: str = "") -> bool:
    """Return whether the part of a line before ": " is a step that succeeded: "pytest -q" in "pytest -q: 2 failed".

    `succeeded` are the keys of the steps that succeeded. A step may contain a ": " itself, so each one in the line is
    tried as the step's end. `quotes` are characters that may be around the step in the line, such as backticks.
    """
    parts = (line[: match.start()] for match in re.finditer(": ", line[: _LONGEST * 2]))
    return any(is_covered(part.strip(quotes + " "), succeeded) for part in parts)
