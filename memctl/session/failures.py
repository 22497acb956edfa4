"""Find the failures of a session, and which of them were resolved because the same command succeeded later.

A failure is mostly seen by the exit status. Where that is missing, because of a pipe (`pytest | tail`) or in plain
text, the output of tests, compilers and package managers is read. Whole lines must look as these tools write them, so
that sentences about failures don't count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

import msgspec

from memctl.session import steps, tool_calls
from memctl.text.fit import cut
from memctl.transcript.events import CALL, RESULT, Event

# Lines that name the failing test; a test that passes may have them in its log.
_TESTS = (
    r"(?:FAILED|ERROR) \S+(?:::|\.py\b).*",  # pytest
    r"(?:FAIL|ERROR): \w+ \(.+\).*",  # unittest
    r"test \S+ \.\.\. FAILED",
    r"thread '.*' panicked at .+",
    r"[ \t]{0,20}--- FAIL: .+",  # go
    r"(?:FAIL|[ \t]{0,20}[\u2715\u2717\u00d7]) {1,9}\S.*",  # jest, vitest
    r"\(fail\) .+",  # bun
    r"not ok \d+ .+",  # TAP
    r"rspec \./\S+:\d+ .+",
    r"\[ERROR\] \S.*",  # maven
    r"npm (?:ERR!|error) (?!code |errno |path |syscall |A complete log|\s|This is probably).+",
    r"E: \S.+",  # apt
    r"ERROR: .+",  # pip, bazel
)
# Lines that name a place in code, or an error code.
_PLACES = (
    r"error\[\w+\]: .+",  # rustc
    r"\S+?\(\d+,\d+\): error [A-Z]+\d+: .+",  # tsc, msbuild
    r"\S+:\d+:\d+ - error TS\d+: .+",
    r"(?:\[[\w:.-]+\] )?\S+\.\w{1,5}:\d+:\d+: (?!warning|note|info|help)\S.*",  # go, golangci-lint, swiftc
    r"\S+:\d+(?::\d+)?: (?:fatal )?[Ee]rror: .+",  # gcc, clang, javac, mypy
    r"\S+:\d+:\d+: [A-Z]{1,4}\d{3,4} .+",  # ruff, flake8
    r"[ \t]{1,9}\d+:\d+ {1,9}error .+",  # eslint
    r".*\bundefined reference to .+",
)
_SPECIFIC = (*_TESTS, *_PLACES)  # the first of these lines says most
# Lines that report an error without a place.
_GENERAL = (
    r"error: .+",  # cargo, git
    r"(?:g?make|ninja)(?:\[\d+\])?: \*\*\* .+",
    r"ninja: build stopped: .+",
    r"collect2: error: .+",
    r"npm (?:ERR!|error) .*",
    r"fatal: .+",  # git
)
# Lines that only count failures.
_COUNTS = (
    r"=+ .{0,200}\b[1-9]\d* (?:failed|errors?)\b.{0,200} in [\d.]+m?s.*",  # pytest
    r"(?:\d+ \w+, ){0,5}[1-9]\d* (?:failed|errors?)\b(?:, \d+ \w+){0,5}(?: in [\d.:]+.*)?",
    r"FAILED \((?:failures|errors)=.+",  # unittest
    r"(?:\d+ warnings? and )?[1-9]\d* errors? generated\.",  # clang
    r"test result: FAILED\..*",
    r"FAIL(?:\t.*)?",  # go
    r" {0,9}Tests?(?: Files| Suites)?:? +(?:\d+ \w+[,|] *){0,5}[1-9]\d* failed.*",  # jest, vitest
    r"[ \t]{1,9}[1-9]\d* (?:failing\b.*|fail)",  # mocha, bun
    r"# fail [1-9]\d*",
    r"\d+ examples?, [1-9]\d* failures?.*",  # rspec
    r"Tests: \d+, .*\b(?:Failures|Errors): [1-9].*",  # phpunit
    r"(?:\[\w+\] )?Tests run: \d+, (?:Failures: [1-9]|Failures: 0, Errors: [1-9]).*",
    r"Found [1-9]\d* errors?\b(?!.*\b0 remaining).*",  # mypy, ruff, tsc
    r"\u2716 [1-9]\d* problems? \([1-9]\d* errors?.*",  # eslint
    r"BUILD FAILURE|BUILD FAILED.*|Build FAILED\.|FAILURE: Build failed.*",
    r"Failed! {1,9}- Failed: {1,9}[1-9].*",  # dotnet
    r"[\d.]+% tests passed, [1-9]\d* tests? failed.*",  # ctest
)
# Lines that sum up a run without a failure.
_PASSES = (
    r"=+ .{0,200}\b\d+ passed\b.{0,200} in [\d.]+m?s.*|\d+ passed\b.{0,200} in [\d.]+m?s.*",  # pytest
    r"Ran \d+ tests? in [\d.]+s",  # unittest
    r" {0,9}Tests?:? +(?:\d+ \w+[,|] *){0,5}\d+ passed\b.*",  # jest, vitest
    r"[ \t]{0,9}0 fail",  # bun
    r"ok {0,2}\t\S+\t(?:[\d.]+s|\(cached\)).*",  # go
    r"test result: ok\..*",  # cargo
    r"(?:\[INFO\] )?BUILD SUCCESS(?:FUL in .*)?",  # maven, gradle
    r"(?:\[\w+\] )?Tests run: \d+, Failures: 0, Errors: 0.*",
    r"Found 0 errors\b.*|Success: no issues found.*|All checks passed!",  # tsc, mypy, ruff
    r"\u2716 \d+ problems? \(0 errors.*",  # eslint
    r"[ \t]{1,9}\d+ passing\b.*",  # mocha
    r"\d+ examples?, 0 failures.*",  # rspec
    r"OK \(\d+ tests?, \d+ assertions?\)",  # phpunit
    r"# fail 0",
    r"Passed! {1,9}- Failed: {1,9}0.*|Build succeeded\.|Test Run Successful\.",  # dotnet
    r"100% tests passed, 0 tests failed.*",  # ctest
)


@cache  # compiled on first use: it takes longer than summarizing a turn, and many sessions run no command
def _lines(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"^(?:{pattern})$" for pattern in patterns), re.MULTILINE)


_TIMES = re.compile(r" in [\d.]+ ?(?:ms?|s|seconds?)?(?: \([\d:]+\))?[ =]*$| [(\[][\d.]+ ?m?s[)\]]$")


def failing_line(output: str) -> str:
    """Return the line of a command's output that says most about its failure, "" if no line reports one.

    Durations are removed, so that the same failure gives the same line in each run: "2 failed, 3 passed in 0.1s" gives
    "2 failed, 3 passed".
    """
    searched: list[tuple[tuple[str, ...], str]] = [(patterns, output) for patterns in (_SPECIFIC, _GENERAL, _COUNTS)]
    if not _lines(_COUNTS).search(output):
        # A summary without failures is the truth on what stands before it, but for what a compiler says.
        end = max((found.end() for found in _lines(_PASSES).finditer(output)), default=0)
        searched = [(_PLACES, output), (_TESTS, output[end:]), (_GENERAL, output[end:])] if end else searched
    matches = (_lines(patterns).search(text) for patterns, text in searched)
    match = next(filter(None, matches), None)
    if match is None:
        return ""
    line = match[0].strip().strip("=").strip()
    return _TIMES.sub("", line)


def is_specific(line: str) -> bool:
    """Return whether a line names the failing test, its place or an error code, such as "FAILED tests/a.py::b - x"."""
    return _lines(_SPECIFIC).fullmatch(line) is not None or line.startswith("\u25cf ")  # Jest's mark of a test


def only_counts(message: str) -> bool:
    """Return whether a line only counts failures and names none, such as "2 failed, 3 passed"."""
    return _lines(_COUNTS).fullmatch(message) is not None


# How Codex and other hosts (in JSON) and shells (in text) report that a command failed.
_ENDED = re.compile(
    r'"exit_code":\s*[1-9]|^(?:exit code|process exited with code|command exited with code):?\s+[1-9]'
    r"|^exit code [1-9]|\bexited with (?:code|status) [1-9]|: command not found$",
    re.IGNORECASE | re.MULTILINE,
)
_TRACEBACK = re.compile(r"^Traceback \(most recent call last\)", re.MULTILINE)
# Operators that hide the exit status of a check, so that 0 does not mean success.
_HIDING = re.compile(r"[|;\n]")
_TELLING = re.compile(
    r"^.*(?:\b\w*(?:Error|Exception)\b:? |\berror(?:\[\w+\])?:|\bfatal:|\bfailed\b|not found|denied|cannot |can't ).*$",
    re.IGNORECASE | re.MULTILINE,
)
# Messages of a command that was called wrongly or found no input: they say nothing about the work.
_MISUSED = re.compile(
    r"no such file or directory|file does not exist|command not found|no matches found|not a git repository"
    r"|(?:unknown|unrecognized|invalid|no such) (?:\w+ )?(?:flag|option|argument|command|subcommand|linter)|\busage:"
    r"|can't (?:combine|be used)|\[setup failed\]|go\.mod file not found|^the command is terminated"
    r"|would be overwritten by",
    re.IGNORECASE,
)
# Messages on what a command needs around it, such as a service or a permission.
_AROUND = re.compile(
    r"connection (?:refused|reset|timed out)|(?:could not|can(?:no|')t|unable to|failed to) connect\b"
    r"|could not resolve host|\bE(?:CONN\w+|ACCES|HOSTUNREACH)\b|\bunauthori[sz]ed\b|(?:access|permission) denied"
    r"|authentication failed|no space left on|is the docker daemon running|network is unreachable",
    re.IGNORECASE,
)
# A commit with which the project's hooks run.
_COMMIT = re.compile(r"\bgit\b[^\n|;&]{0,80}\bcommit\b(?!.*--no-verify)", re.DOTALL)
# How a host says that a call did not run: it was refused, or a parallel call failed.
_NOT_MADE = (
    "the user doesn't want to proceed",
    "the user doesn't want to take this action",
    "permission to use",
    "request interrupted by user",
    "user rejected",
    "sibling tool call errored",
    "requires approval",
    "requires user confirmation",
    "denied by policy",
    "haven't granted it yet",
)
_LOOKED_AT = 20_000  # characters of a result that are searched
_LONGEST = 300  # characters of an error's message


class Failure(msgspec.Struct, frozen=True):
    """A command or other tool call of a session that failed (its `step`), and the `message` of the failure.

    - `times` says how often the step failed with this message.
    - `moment` and `line` are the time of the last of these failures and its line in the transcript.
    - `resolved` says how the failure was resolved, "" if it was not.
    - `is_open` says that a check, such as a test, found an error, or that a command lacked a service or a permission,
      and that neither succeeded later.
    """

    step: str
    message: str
    moment: str = ""
    resolved: str = ""
    times: int = 1
    line: int = 0
    is_open: bool = False


def of_events(events: Sequence[Event]) -> list[Failure]:
    """Return the failures of a session in their order, one for each step (command or other tool call) and message.

    If a step fails again with the same message, `Failure.times` counts it. If a message only counts failures ("2
    failed") and the step fails again with another one, both runs are one Failure with the later message.
    """
    failures: dict[tuple[str, str], Failure] = {}
    has_hooks = False  # whether a commit has printed the report of checks, which hooks then run at each commit
    for event, call in results(events):
        is_commit = _COMMIT.search(tool_calls.command_of(call.arguments)) is not None
        has_hooks |= is_commit and (_is_report(event.text) or _passes(event.text))
        if is_failure(event, call):
            _add(failures, event, call)
        elif failures:
            _settle(failures, event, call, is_all_checked=is_commit and has_hooks)
    return list(failures.values())


def _add(failures: dict[tuple[str, str], Failure], event: Event, call: Event) -> None:
    """Add the failure of a call to those before it."""
    step, text = steps.of_call(call), message(event.text)
    counts = (steps.key(step), "")
    key = counts if only_counts(text) else (steps.key(step), text)
    old = failures.get(key) or failures.pop(counts, Failure(step, text, event.moment, times=0))
    is_work = bool(steps.program(step)) or _is_report(event.text) or _AROUND.search(text)
    for other, failure in failures.items():  # a new run of the step no longer reports what it does not show
        if failure.is_open and other[0] == key[0] and failure.message not in event.text:
            failures[other] = msgspec.structs.replace(failure, is_open=False)
    failures[key] = msgspec.structs.replace(
        old,
        message=text,
        resolved="",
        times=old.times + 1,
        line=event.line,
        is_open=bool(is_work) and not _MISUSED.search(text),
    )


def _settle(failures: dict[tuple[str, str], Failure], event: Event, call: Event, *, is_all_checked: bool) -> None:
    """Mark the failures that a successful call resolves, which are all open ones if hooks ran (`is_all_checked`)."""
    good = steps.of_success(call)
    command = tool_calls.command_of(call.arguments)
    programs = steps.programs(call) if any(failure.is_open for failure in failures.values()) else frozenset()
    for key, failure in failures.items():
        # An agent's own tools fail on the way, such as an edit whose text is not found: nothing to be resolved.
        if not failure.resolved and (command or failure.is_open) and steps.is_covered(failure.step, good):
            failures[key] = msgspec.structs.replace(failure, resolved="the same step succeeded later", is_open=False)
        elif failure.is_open:
            passed = failure.message.replace("FAIL", "PASS", 1)
            is_passed = is_all_checked or (passed != failure.message and passed in event.text)
            program = steps.program(failure.step) or steps.tool(failure.step)
            does_work = program in programs and steps.hosts(failure.step) <= steps.hosts(command)
            failures[key] = msgspec.structs.replace(failure, is_open=not (is_passed or does_work))


def succeeded(events: Sequence[Event]) -> frozenset[str]:
    """Return the steps of a session (commands and other tool calls) whose last run succeeded.

    The main step of each call (`steps.of_call`) is given as it was written, such as "uv run pytest -q". Any other
    command of the call is given as the key that `steps.key` makes of it, such as "pytest".
    """
    last: dict[str, tuple[str, bool]] = {}
    for event, call in results(events):
        step, is_good = steps.of_call(call), not is_failure(event, call)
        if is_good:
            last |= {name: (name, True) for name in steps.of_success(call)}
        last[steps.key(step)] = (step, is_good)
    return frozenset(step for step, is_good in last.values() if is_good)


def results(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Yield each result with its call; results without a call are left out."""
    called = {event.call: event for event in events if event.kind == CALL and event.call}
    for event in events:
        if event.kind == RESULT and (call := called.get(event.call)) is not None:
            yield event, call


def is_failure(result: Event, call: Event) -> bool:
    """Return whether a tool call failed, by its result.

    A call that the user or the host refused did not run, and so did not fail. Even if the host reports success, a shell
    command may have failed: if a pipe or a later command hides its exit status, its output is searched for errors.
    """
    if result.is_error:
        return not is_refused(result)
    command = tool_calls.command_of(call.arguments)
    if not command:
        return False
    text = _looked_at(result.text)
    if not result.details and _ENDED.search(text):
        return True
    if result.details and not _HIDING.search(command):
        return False
    return steps.is_doing(call) and bool(failing_line(text) or (_TRACEBACK.search(text) and not _passes(text)))


def _passes(text: str) -> bool:
    """Return whether an output sums up a run without a failure."""
    return _lines(_PASSES).search(text) is not None and not _lines(_COUNTS).search(text)


def _is_report(text: str) -> bool:
    """Return whether an output is the report of failing tests or of a compiler, whatever program ran it."""
    line = failing_line(_looked_at(text))
    return is_specific(line) or only_counts(line)


def is_refused(result: Event) -> bool:
    """Return whether a result says that its call did not run, because the user or the host refused it."""
    return result.is_error and any(words in result.text[:400].lower() for words in _NOT_MADE)


def _looked_at(text: str) -> str:
    """Return the beginning and the end of a result, since commands print their summary last."""
    return text if len(text) <= _LOOKED_AT else f"{text[: _LOOKED_AT // 2]}\n{text[-_LOOKED_AT // 2 :]}"


def message(text: str) -> str:
    """Return the most informative line of an error's text, at most 300 characters.

    This is the line with which a tool reports a failure. If there is none, it is the last line that names an error, or
    else the first line.
    """
    text = re.sub(r"</?tool_use_error>", "", _looked_at(text))
    lines = [
        line.strip()
        for line in text.split("\n")
        if line.strip() and not re.match(r"exit code \d+$", line.strip(), re.I)
    ]
    telling = [match[0].strip() for match in _TELLING.finditer("\n".join(lines))]
    own = "" if _TRACEBACK.search(text) else failing_line(text)
    return cut(own or (telling[-1] if telling else lines[0] if lines else "no message"), _LONGEST)
