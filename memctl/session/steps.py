"""What a call tries: its command as it was written, and which other calls try the same.

A later success makes good an earlier failure if it is of the same step: the same program with the same words, whatever
its options, and however it is launched. It may also be of more: a run of all tests makes a run of one good.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from memctl.session import calls, shell
from memctl.session.shell import ShellCommand
from memctl.text.fit import cut
from memctl.text.markdown import one_line
from memctl.transcript.events import Event

_LONGEST = 200  # characters of a command that are quoted
_KEY = 80  # characters of what makes two commands the same
_ASIDE = ("cd", "export", "source", ".", "set", "echo", "printf", "pushd", "popd", "true", "sleep")
_READERS = (
    "cat", "head", "tail", "less", "more", "grep", "egrep", "fgrep", "rg", "ag", "sed", "awk", "find", "fd", "ls",
    "tree", "wc", "sort", "uniq", "cut", "jq", "yq", "diff", "nl", "bat", "tee", "tr", "column", "xxd", "stat",
    "journalctl", "gh", "curl", "wget",
)  # fmt: skip
_READING_GIT = ("log", "show", "diff", "grep", "blame", "status", "ls-files", "cat-file", "stash", "shortlog")
_LAUNCHERS = re.compile(
    r"(?:(?:sudo|time|env|nice|npx|bunx|uvx|(?:uv|poetry|pipenv|pdm|hatch|rye) run|(?:pnpm|yarn|bundle) exec"
    r"|timeout \S+|python[\d.]*(?= -m )|-m)(?: |$))+"
)
_RUNS = (
    r"pytest|py\.test|unittest(?: discover)?|tox|nox|jest|vitest(?: run)?|mocha|rspec|phpunit|ctest|mypy|pyright|tsc"
    r"|ruff check|flake8|pylint|eslint|(?:cargo|go|dotnet|mvn|gradle|\./gradlew|swift|npm|pnpm|yarn|deno|bun|mix|make)"
    r" (?:test|build|check|vet|clippy)|(?:npm|pnpm|yarn|bun) run [\w:-]+"
)
# Further programs that say whether the work is good, and tasks and scripts whose names say that they do.
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
_PARTED = re.compile(r"\|\||(?<!\|)\|(?!\|)|;|\n")  # what does not stop at the first command that fails
_WHOLE = re.compile(_RUNS)  # what it does of a part, it does of all; `make` alone does not make every target


def of_call(call: Event) -> str:
    """Return what a call tries, for people: the command, exactly as it was written, or a tool and its file.

    Of several commands it is the one that checks something, else the first that does something.
    """
    command = calls.command_of(call.arguments)
    if not command:
        path = next((touch.path for touch in calls.touched(call)), "")
        return f"{call.tool} {path}".strip()
    told = [simple for simple in shell.commands(command) if simple.words and simple.words[0] not in _ASIDE]
    doing = [simple for simple in told if not _is_reader(simple)]
    checks = [simple for simple in doing if _CHECKS.match(key(simple.text))]
    return cut(one_line(next((simple.text for simple in (*checks, *doing, *told)), command)), _LONGEST)


def of_success(call: Event) -> frozenset[str]:
    """Return the keys of the steps that a successful call proves good: all of `a && b`, else what stands
    for the call."""
    command = calls.command_of(call.arguments)
    if _PARTED.search(command):
        return frozenset({key(of_call(call))})
    found = (simple.text for simple in shell.commands(command) if simple.words and simple.words[0] not in _ASIDE)
    return frozenset(map(key, (of_call(call), *found)))


def program(step: str) -> str:
    """Return the program of a step that checks something, without what it checks (`go test`), "" for any other step.

    Of a task it has what all tasks of that kind do: `mise run test:unit` is `mise run test`.
    """
    words = key(step)
    match = _CHECKS.match(words)
    if match is None:
        return ""
    if match[0] in ("make", "ninja"):
        return " ".join(words.split()[:2])  # one target says nothing of another
    runner, _, task = match[0].rpartition(" ")
    return f"{runner} {task.partition(':')[0]}".strip()


def programs(call: Event) -> frozenset[str]:
    """Return the programs of a call that check something."""
    told = (simple.text for simple in shell.commands(calls.command_of(call.arguments)) if simple.words)
    return frozenset(filter(None, map(program, told)))


def is_doing(call: Event) -> bool:
    """Return whether a call runs more than programs that only show what stands somewhere, such as `cat` and
    `git log`."""
    command = calls.command_of(call.arguments)
    return any(
        not _is_reader(simple) for simple in shell.commands(command) if simple.words and simple.words[0] not in _ASIDE
    )


def _is_reader(simple: ShellCommand) -> bool:
    first, *rest = simple.words
    return first in _READERS or (first == "git" and next((w for w in rest if w[0:1] != "-"), "") in _READING_GIT)


def key(step: str) -> str:
    """Return what makes two steps the same: the program without its folder and launcher, and its words but
    for options."""
    simple = next((one for one in shell.commands(step) if one.words), None)
    words = list(simple.words) if simple else step.split()
    line = " ".join([words[0].rpartition("/")[2] or words[0], *words[1:]]) if words else ""
    line = line[match.end() :] if (match := _LAUNCHERS.match(line)) and match.end() < len(line) else line
    return " ".join(word for word in line.split() if not word.startswith("-"))[:_KEY] or line[:_KEY]


def came_right(step: str, succeeded: Collection[str]) -> bool:
    """Return whether a step is among the keys of those that succeeded, or was part of one that checks."""
    own = key(step)
    if own in succeeded:
        return True
    words = own.split()
    wider = (" ".join(words[:count]) for count in range(1, len(words)))
    return any(part in succeeded and _WHOLE.fullmatch(part) for part in wider)


def keys(given: Iterable[str]) -> frozenset[str]:
    """Return the keys of steps."""
    return frozenset(map(key, given))


def begins(line: str, succeeded: Collection[str], quotes: str = "") -> bool:
    """Return whether a line begins with a step that came right, and ": "; `quotes` may stand around the step.

    Where the step ends is not known, for it may have a colon itself.
    """
    parts = (line[: match.start()] for match in re.finditer(": ", line[: _LONGEST * 2]))
    return any(came_right(part.strip(quotes + " "), succeeded) for part in parts)
