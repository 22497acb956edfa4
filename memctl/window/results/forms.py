"""The form of a tool's output, by the tool and its command, or else by how the output looks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from memctl.session import calls, shell
from memctl.text.actions import READ
from memctl.transcript.events import CALL, Event

LISTING, SEARCH, TESTS, LOG, DIFF, DATA, FILE, PLAIN = (
    "listing", "search", "test run", "log", "diff", "data", "file", "output",
)  # fmt: skip
_TOOLS = {
    **dict.fromkeys(("grep", "search", "searchfiles", "searchfilecontent", "grepsearch", "codebasesearch"), SEARCH),
    **dict.fromkeys(
        ("glob", "ls", "list", "listdir", "listdirectory", "listfiles", "findfiles", "filesearch"), LISTING
    ),
    "gitdiff": DIFF,
}
_PROGRAMS = {
    **dict.fromkeys(("grep", "egrep", "fgrep", "rg", "ag", "ack", "git grep"), SEARCH),
    **dict.fromkeys(("ls", "find", "fd", "fdfind", "tree", "git ls-files", "git ls-tree"), LISTING),
    **dict.fromkeys(
        ("pytest", "py.test", "tox", "nox", "jest", "vitest", "mocha", "rspec", "phpunit", "ctest", "go test",
         "cargo test", "cargo nextest", "npm test", "yarn test", "pnpm test", "npm run", "make test", "make check",
         "dotnet test", "mvn test", "gradle test", "./gradlew test", "bundle exec", "npx jest", "npx vitest"),
        TESTS,
    ),
    **dict.fromkeys(("git diff", "git show", "diff", "git format-patch"), DIFF),
    **dict.fromkeys(("journalctl", "dmesg", "docker logs", "kubectl logs", "docker compose", "git log"), LOG),
}  # fmt: skip
_LOOKED_AT = 60_000  # characters of an output that are looked at to tell its form
_PATH = r"(?:[A-Za-z]:[\\/])?(?=[^\s:|<>\"'`./\\]*[./\\])[^\s:|<>\"'`]*"
HIT = re.compile(rf"({_PATH}|[\w.-]+)[:-](\d+)[:-](?:\d+[:-])?(.*)$")
_LISTED = re.compile(rf"(?:[d\-lbcps][rwxsStT-]{{9}}[.+@]?\s.*|{_PATH}|[\w.@+-]+|total \d+)[/*@=|]?$")
_LOGGED = re.compile(
    r"\W{0,2}(?:\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d)"
    r"|\W{0,2}(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b"
)
RAN = re.compile(
    r"^=+ (?=.*=$).*\b\d+ (?:passed|failed|errors?|skipped)\b|^Tests?(?: Suites)?:[ \t].*\d (?:passed|failed|total)"
    r"|^test result: (?:ok|FAILED)\.|^(?:ok|FAIL)[ \t]+\S+[ \t]+[\d.]+s|^Ran \d+ tests? in "
    r"|^\d+ examples?, \d+ failures?|^[ \t]*\d+ (?:passing|failing)\b|^Tests run: \d+|^(?:PASSED|FAILED|OK) ?\("
    r"|^\d+ (?:passed|failed)\b.* in [\d.]+",
    re.MULTILINE,
)
_NUMBERED = re.compile(r"^ *\d+(?:→|\t)(.*)$")


class Output(msgspec.Struct, frozen=True):
    """A tool's output: its form, its text, and the path of the file whose content it is ("" for none).

    The line numbers that hosts add to a file's lines are removed.
    """

    form: str
    text: str
    path: str = ""


def output_of(tool: str, arguments: Mapping[str, Any], text: str) -> Output:
    """Return the output of a call with its form.

    The form that the call suggests counts only if the text looks like it, since the text may be an error.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    event = Event(CALL, tool=tool, arguments=dict(arguments))
    expected = _expected(event)
    path = next((touch.path for touch in calls.touched(event) if touch.action == READ), "")
    if expected == FILE or (path and not calls.command_of(arguments)):
        return Output(FILE, without_numbers(text), path)
    looks = _looks(text)
    if expected in (SEARCH, LISTING) and looks in (SEARCH, LISTING, FILE, PLAIN):
        is_hits = expected == SEARCH and _share(HIT, text) > 0.3
        looks = SEARCH if is_hits else LISTING if _share(_LISTED, text) > 0.6 else looks
    elif expected == LOG and looks == PLAIN:
        looks = LOG
    return Output(looks, text, path)


def without_numbers(text: str) -> str:
    """Return a file's text without the line numbers that hosts add; any other text unchanged."""
    lines = text.split("\n")
    numbered = [_NUMBERED.match(line) for line in lines]
    if not lines or sum(match is not None for match in numbered) < max(1, 0.9 * sum(1 for line in lines if line)):
        return text
    return "\n".join(match[1] if match else line for match, line in zip(numbered, lines, strict=True))


def _expected(event: Event) -> str:
    name = re.sub(r"[-_]", "", event.tool.rpartition("__")[2]).lower()
    if name in _TOOLS:
        return _TOOLS[name]
    command = calls.command_of(event.arguments)
    for simple in shell.commands(command) if command else ():
        words = simple.words
        for length in (2, 1):
            if len(words) >= length and (form := _PROGRAMS.get(" ".join(words[:length]))):
                return form
        if words and words[0] in ("cat", "head", "nl", "bat") and len(words) > 1:
            return FILE
    return ""


def _looks(text: str) -> str:
    head = text[:_LOOKED_AT]
    if re.search(r"^diff --git |^--- \S.*\n\+\+\+ \S", head, re.MULTILINE):
        return DIFF
    if head.lstrip()[:1] in ("{", "[") and _is_json(text):
        return DATA
    if RAN.search(head) or RAN.search(text[-_LOOKED_AT:]):
        return TESTS
    if _share(_LOGGED, head) > 0.4:
        return LOG
    if _share(HIT, head) > 0.6:
        return SEARCH
    if _share(_LISTED, head) > 0.8 and head.count("\n") > 3:
        return LISTING
    return PLAIN


def _share(pattern: re.Pattern[str], text: str) -> float:
    """Return the share of lines that begin like a pattern."""
    lines = [line for line in text[:_LOOKED_AT].split("\n") if line.strip()]
    return sum(pattern.match(line[:500]) is not None for line in lines) / len(lines) if lines else 0.0


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text.strip().encode(errors="replace"))
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
