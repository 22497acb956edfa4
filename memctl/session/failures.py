"""Errors that a session met, and whether they were resolved: the same step succeeded later.

What tests, compilers and package managers say of their own run is needed where nobody says how a command ended: a pipe
(`pytest | tail`) hides the status, and plain text has none. Each line is told as the tool writes it, from its
beginning, so that a talk about failures is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from memctl.session import calls, steps
from memctl.text.fit import cut
from memctl.transcript.events import CALL, RESULT, Event

# What names what is wrong: a test, a place, a code. The first of such lines tells most.
_TELLS_WHAT = (
    r"(?:FAILED|ERROR) \S+(?:::|\.py\b).*",  # pytest
    r"(?:FAIL|ERROR): \w+ \(.+\).*",  # unittest
    r"error\[\w+\]: .+",  # rustc
    r"test \S+ \.\.\. FAILED",
    r"thread '.*' panicked at .+",
    r"[ \t]{0,20}--- FAIL: .+",  # go
    r"(?:FAIL|[ \t]{0,20}[\u2715\u2717\u00d7]) {1,9}\S.*",  # jest, vitest
    r"not ok \d+ .+",  # TAP
    r"rspec \./\S+:\d+ .+",
    r"\S+?\(\d+,\d+\): error [A-Z]+\d+: .+",  # tsc, msbuild
    r"\S+:\d+:\d+ - error TS\d+: .+",
    r"(?:\[[\w:.-]+\] )?\S+\.\w{1,5}:\d+:\d+: (?!warning|note|info|help)\S.*",  # go, golangci-lint, swiftc
    r"\S+:\d+(?::\d+)?: (?:fatal )?[Ee]rror: .+",  # gcc, clang, javac, mypy
    r"\S+:\d+:\d+: [A-Z]{1,4}\d{3,4} .+",  # ruff, flake8
    r"[ \t]{1,9}\d+:\d+ {1,9}error .+",  # eslint
    r".*\bundefined reference to .+",
    r"\[ERROR\] \S.*",  # maven
    r"npm (?:ERR!|error) (?!code |errno |path |syscall |A complete log|\s|This is probably).+",
    r"E: \S.+",  # apt
    r"ERROR: .+",  # pip, bazel
)
# What says that something is wrong, and perhaps what.
_TELLS_THAT = (
    r"error: .+",  # cargo, git
    r"(?:g?make|ninja)(?:\[\d+\])?: \*\*\* .+",
    r"ninja: build stopped: .+",
    r"collect2: error: .+",
    r"npm (?:ERR!|error) .*",
    r"fatal: .+",  # git
)
# What only says that something is, or how much.
_TELLS_HOW_MANY = (
    r"=+ .{0,200}\b[1-9]\d* (?:failed|errors?)\b.{0,200} in [\d.]+m?s.*",  # pytest
    r"(?:\d+ \w+, ){0,5}[1-9]\d* (?:failed|errors?)\b(?:, \d+ \w+){0,5}(?: in [\d.:]+.*)?",
    r"FAILED \((?:failures|errors)=.+",  # unittest
    r"(?:\d+ warnings? and )?[1-9]\d* errors? generated\.",  # clang
    r"test result: FAILED\..*",
    r"FAIL(?:\t.*)?",  # go
    r" {0,9}Tests?(?: Files| Suites)?:? +(?:\d+ \w+[,|] *){0,5}[1-9]\d* failed.*",  # jest, vitest
    r"[ \t]{1,9}[1-9]\d* failing\b.*",  # mocha
    r"# fail [1-9]\d*",
    r"\d+ examples?, [1-9]\d* failures?.*",  # rspec
    r"Tests: \d+, .*\b(?:Failures|Errors): [1-9].*",  # phpunit
    r"Tests run: \d+, (?:Failures: [1-9]|Failures: 0, Errors: [1-9]).*",
    r"Found [1-9]\d* errors?\b(?!.*\b0 remaining).*",  # mypy, ruff, tsc
    r"\u2716 [1-9]\d* problems? \([1-9]\d* errors?.*",  # eslint
    r"BUILD FAILURE|BUILD FAILED.*|Build FAILED\.|FAILURE: Build failed.*",
    r"Failed! {1,9}- Failed: {1,9}[1-9].*",  # dotnet
    r"[\d.]+% tests passed, [1-9]\d* tests? failed.*",  # ctest
)


@cache  # to compile them takes longer than to sum up a turn, and many sessions run nothing
def _lines(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"^(?:{pattern})$" for pattern in patterns), re.MULTILINE)


_TIMES = re.compile(r" in [\d.]+ ?(?:ms?|s|seconds?)?(?: \([\d:]+\))?[ =]*$| \([\d.]+ ?m?s\)$")


def failing_line(output: str) -> str:
    """Return the line of an output that says most of how the run failed, "" if none says that it did.

    Times are left out of it: two runs that fail alike say the same.
    """
    match = next(
        (
            found
            for patterns in (_TELLS_WHAT, _TELLS_THAT, _TELLS_HOW_MANY)
            if (found := _lines(patterns).search(output))
        ),
        None,
    )
    if match is None:
        return ""
    line = match[0].strip().strip("=").strip()
    return _TIMES.sub("", line)


def is_telling(line: str) -> bool:
    """Return whether a line of an output says which test, place or code is wrong."""
    return _lines(_TELLS_WHAT).fullmatch(line) is not None or line.startswith("\u25cf ")  # as Jest begins one


def only_counts(message: str) -> bool:
    """Return whether a line says how many things are wrong, and of none which."""
    return _lines(_TELLS_HOW_MANY).fullmatch(message) is not None


# How a host or a shell says that a command failed where nobody marks it: Codex's and others' JSON, and shells.
_ENDED = re.compile(
    r'"exit_code":\s*[1-9]|^(?:exit code|process exited with code|command exited with code):?\s+[1-9]'
    r"|^exit code [1-9]|\bexited with (?:code|status) [1-9]|: command not found$",
    re.IGNORECASE | re.MULTILINE,
)
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\)", re.MULTILINE)
# What hides how a check ended, so that a status of 0 says nothing of it.
_HIDING = re.compile(r"[|;\n]")
_TELLING = re.compile(
    r"^.*(?:\b\w*(?:Error|Exception)\b:? |\berror(?:\[\w+\])?:|\bfatal:|\bfailed\b|not found|denied|cannot |can't ).*$",
    re.IGNORECASE | re.MULTILINE,
)
# What a step says that was called wrongly, or did not find what it was to work on: nothing is known of the work then.
_MISUSED = re.compile(
    r"no such file or directory|file does not exist|command not found|no matches found|not a git repository"
    r"|(?:unknown|unrecognized|invalid|no such) (?:\w+ )?(?:flag|option|argument|command|subcommand|linter)|\busage:"
    r"|can't (?:combine|be used)|^the command is terminated|would be overwritten by",
    re.IGNORECASE,
)
# How a host says that a call was not made: it was refused, or one beside it failed.
_NOT_MADE = (
    "the user doesn't want to proceed",
    "the user doesn't want to take this action",
    "permission to use",
    "request interrupted by user",
    "user rejected",
    "sibling tool call errored",
)
_LOOKED_AT = 20_000  # characters of a result
_LONGEST = 300  # characters of what is kept of an error


class Failure(msgspec.Struct, frozen=True):
    """A step that failed: what it was, how it says it failed, when and in which line of the transcript, and how it came
    right ("": it did not).

    It `is_open` if it says of the work that it is wrong, as checks do, and no later run of its program said otherwise.
    """

    step: str
    message: str
    moment: str = ""
    resolved: str = ""
    times: int = 1
    line: int = 0
    is_open: bool = False


def of_events(events: Sequence[Event]) -> list[Failure]:
    """Return the failures of a session, one for each step and message, in the order in which they came.

    A message that only counts gives way to the next one of its step.
    """
    found: dict[tuple[str, str], Failure] = {}
    for event, call in _results(events):
        step = steps.of_call(call)
        if is_failure(event, call):
            said = message(event.text)
            counts = (steps.key(step), "")
            key = counts if only_counts(said) else (steps.key(step), said)
            first = Failure(step, said, event.moment, times=0)
            old = found.get(key) or found.pop(counts, first)
            is_open = (bool(steps.program(step)) or _reports(event.text)) and not _MISUSED.search(said)
            found[key] = msgspec.structs.replace(
                old, message=said, resolved="", times=old.times + 1, line=event.line, is_open=is_open
            )
            continue
        good = steps.of_success(call) if found else frozenset()
        programs = steps.programs(call) if any(one.is_open for one in found.values()) else frozenset()
        for key, failure in found.items():
            if not failure.resolved and steps.came_right(failure.step, good):
                found[key] = msgspec.structs.replace(failure, resolved="the same step succeeded later", is_open=False)
            elif failure.is_open and steps.program(failure.step) in programs:
                found[key] = msgspec.structs.replace(failure, is_open=False)
    return list(found.values())


def succeeded(events: Sequence[Event]) -> frozenset[str]:
    """Return the steps that succeeded the last time they were tried: as written, and by their keys those
    beside them."""
    last: dict[str, tuple[str, bool]] = {}
    for event, call in _results(events):
        step, is_good = steps.of_call(call), not is_failure(event, call)
        if is_good:
            last |= {name: (name, True) for name in steps.of_success(call)}
        last[steps.key(step)] = (step, is_good)
    return frozenset(step for step, is_good in last.values() if is_good)


def _results(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Yield the results, each with its call."""
    called = {event.call: event for event in events if event.kind == CALL and event.call}
    for event in events:
        if event.kind == RESULT and (call := called.get(event.call)) is not None:
            yield event, call


def is_failure(result: Event, call: Event) -> bool:
    """Return whether a result says that its call failed. One that was refused has not been made, and has not failed.

    Of a command that ended well, as its host knows, the output counts only if something after it hides its status.
    """
    if result.is_error:
        return not is_refused(result)
    command = calls.command_of(call.arguments)
    if not command:
        return False
    text = _looked_at(result.text)
    if not result.details and _ENDED.search(text):
        return True
    if result.details and not _HIDING.search(command):
        return False
    return steps.is_doing(call) and bool(_TRACEBACK.search(text) or failing_line(text))


def _reports(text: str) -> bool:
    """Return whether an output is what tests or a compiler report, whatever program ran them: a script of the
    project's."""
    line = failing_line(_looked_at(text))
    return is_telling(line) or only_counts(line)


def is_refused(result: Event) -> bool:
    """Return whether a call was not made: the user or the host refused it."""
    return result.is_error and any(words in result.text[:400].lower() for words in _NOT_MADE)


def _looked_at(text: str) -> str:
    """Return the beginning and the end of a result, where commands sum up."""
    return text if len(text) <= _LOOKED_AT else f"{text[: _LOOKED_AT // 2]}\n{text[-_LOOKED_AT // 2 :]}"


def message(text: str) -> str:
    """Return what of an error's text tells most: what a tool says of its run, the last line that names an error, the
    first."""
    text = re.sub(r"</?tool_use_error>", "", _looked_at(text))
    lines = [
        line.strip()
        for line in text.split("\n")
        if line.strip() and not re.match(r"exit code \d+$", line.strip(), re.I)
    ]
    telling = [match[0].strip() for match in _TELLING.finditer("\n".join(lines))]
    own = "" if _TRACEBACK.search(text) else failing_line(text)
    return cut(own or (telling[-1] if telling else lines[0] if lines else "no message"), _LONGEST)
