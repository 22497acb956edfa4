"""What tests, compilers and package managers say of their own run: that it failed, and of what that tells most.

Needed where nobody says how a command ended: a pipe (`pytest | tail`) hides the status, and plain text has none. Each
line is told as the tool writes it, from its beginning, so that a talk about failures is none.
"""

from __future__ import annotations

import re
from functools import cache

# What names what is wrong: a test, a place, a code. The first of such lines tells most.
_NAMES = (
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
_SAYS = (
    r"error: .+",  # cargo, git
    r"(?:g?make|ninja)(?:\[\d+\])?: \*\*\* .+",
    r"ninja: build stopped: .+",
    r"collect2: error: .+",
    r"npm (?:ERR!|error) .*",
    r"fatal: .+",  # git
)
# What only says that something is, or how much.
_COUNTS = (
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


_TIMES = re.compile(r" in [\d.]+ ?(?:ms?|s|seconds?)?(?: \([\d:]+\))?[ =]*$")


def failing(output: str) -> str:
    """The line of an output that says most of how the run failed, "" if none says that it did.

    Times are left out of it: two runs that fail alike say the same.
    """
    match = next((found for patterns in (_NAMES, _SAYS, _COUNTS) if (found := _lines(patterns).search(output))), None)
    if match is None:
        return ""
    line = match[0].strip().strip("=").strip()
    return _TIMES.sub("", line) if _lines(_COUNTS).fullmatch(match[0]) else line


def only_counts(message: str) -> bool:
    """Whether a line says how many things are wrong, and of none which."""
    return _lines(_COUNTS).fullmatch(message) is not None
