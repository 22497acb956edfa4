"""Splits a tool's result into rows, from which a summary can choose the important ones.

A row is a line with a rank, which says how much it matters, and the heading of the group in which it is shown. The hits
of a search and the content of a file have rows of their own; any other output is shown by its errors, its beginning
and end, and its most frequent lines. Rows made for diffs, logs, test runs and JSON were tried on 300 real results: they
kept fewer paths and numbers than these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from memctl.session import shell, tool_calls
from memctl.sources import summary_lines
from memctl.sources.summary_lines import SummaryLine
from memctl.text.actions import READ
from memctl.text.characters import printable_line
from memctl.text.fit import cut
from memctl.text.phrases import quantity
from memctl.transcript.events import CALL, Event

LISTING, SEARCH, FILE, PLAIN = "listing", "search", "file", "output"
_SHOWING = ("cat", "head", "nl", "bat")  # programs that print files
_HEAD = 60_000  # characters of an output that are looked at to tell its form
_LIKE_PATH = r"(?:[A-Za-z]:[\\/])?(?=[^\s:|<>\"'`./\\]*[./\\])[^\s:|<>\"'`]*"
HIT = re.compile(rf"({_LIKE_PATH})[:-](\d+)[:-](?:\d+[:-])?(.*)$")
_LISTED = re.compile(rf"(?:[d\-lbcps][rwxsStT-]{{9}}[.+@]?\s.*|{_LIKE_PATH}|[\w.@+-]+|total \d+)[/*@=|]?$")
_NUMBERED = re.compile(r"^ *\d+(?:→|\t)(.*)$")


class Output(msgspec.Struct, frozen=True):
    """A tool's output: its form, its text, and the path of the file if it is the content of a file ("" otherwise).

    The form is "search", "listing", "file" or "output". The text of a file has no line numbers, even if the host added
    some.
    """

    form: str
    text: str
    path: str = ""


def output_of(tool: str, arguments: Mapping[str, Any], text: str) -> Output:
    """Return an Output for a `text` that a tool printed; `tool` and `arguments` are those of the call.

    The call says whether the text is the content of a file. Whether it has hits of a search or entries of a listing is
    seen by the text itself, because it may be an error instead.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    event = Event(CALL, tool=tool, arguments=dict(arguments))
    path = next((touch.path for touch in tool_calls.touched(event) if touch.action == READ), "")
    is_file = bool(path)
    if command := tool_calls.command_of(arguments):
        words = next((simple.words for simple in shell.commands(command) if simple.words[:1] != ("cd",)), ())
        is_file = len(words) > 1 and words[0] in _SHOWING
    if is_file:
        return Output(FILE, without_numbers(text), path)
    head = text[:_HEAD]
    is_listing = head.count("\n") > 3 and _share_of_lines(_LISTED, head) > 0.8
    return Output(SEARCH if _share_of_lines(HIT, head) > 0.6 else LISTING if is_listing else PLAIN, text, path)


def without_numbers(text: str) -> str:
    """Return the text of a file without line numbers, if a host added them to its lines; any other text unchanged."""
    lines = text.split("\n")
    numbered = [_NUMBERED.match(line) for line in lines]
    if not lines or sum(match is not None for match in numbered) < max(1, 0.9 * sum(1 for line in lines if line)):
        return text
    return "\n".join(match[1] if match else line for match, line in zip(numbered, lines, strict=True))


def _share_of_lines(pattern: re.Pattern[str], text: str) -> float:
    lines = [line for line in text.split("\n") if line.strip()]
    return sum(pattern.match(line[:500]) is not None for line in lines) / len(lines) if lines else 0.0


FOUND = "Finding"  # before what was found, in a placeholder and in a summary of a result
_LOOKED_AT = 200  # lines at the beginning, and a quarter as many at the end, where commands sum up
_LONGEST = 300  # characters of a line that is shown
_WARNS = re.compile(
    r"\b(?:\w*Error|\w*Exception|errors?|fatal|panic(?:ked)?|critical|fail(?:ed|ure|ures|s|ing)?|denied|refused"
    r"|timed out|no such file|not found|cannot|can't|unable to|warn(?:ing)?s?|Traceback|conflict|deprecated)\b",
    re.IGNORECASE,
)
_NO_ERROR = re.compile(r"\b(?:0|no|without) (?:errors?|failures?|warnings?|failed)\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"\b\d[\d,.]*\s+(?:\w+\s+){0,2}?(?:files?|matches|match|results?|passed|failed|failures?|errors?|warnings?|tests?"
    r"|lines?|rows?|items?|refs?|references?|commits?|changed|insertions?|deletions?|occurrences?|records?|seconds?)\b",
    re.IGNORECASE,
)
_PATH = re.compile(r"(?<![\w/])[\w.~-]*/[\w./-]+\w|\b\w+\.(?:py|ts|tsx|js|go|rs|java|md|json|ya?ml|toml|c|h|sql)\b")
_NUMBER = re.compile(r"\d")
_ARROW = re.compile(r"^ *\d*\u2192\s*(?:\u2192\s*)*")  # behind a line's number that the host added
_MARKUP = re.compile(r"[^\w]*$|^[-=#*_|+~\s]+$")


def key_line(text: str, *, is_error: bool = False) -> str:
    """Return the most informative line of a text; "" if no line says anything.

    A line that counts something, such as `3 passed`, is the most informative, and one that names an error comes next.
    With `is_error` the result is the first line that names an error. Square brackets in the line become round ones, as
    in all placeholders of evicted texts.
    """
    own = (_ARROW.sub("", line, count=1) for line in _first_and_last_lines(text))
    lines = [line for line in map(plain, own) if line and not _MARKUP.match(line)]
    if not lines:
        return ""
    if is_error:
        return next(filter(names_error, lines), lines[0])
    return max(enumerate(lines), key=lambda item: (_weight(item[1]), -item[0]))[1]


def summing_up(lines: Iterable[str]) -> str:
    """Return the last line that counts something, such as `3 passed`; "" if no line does."""
    return next((line for line in reversed([*lines]) if _COUNTED.search(line[:_LONGEST])), "")


def names_error(line: str) -> bool:
    """Return whether a line names an error or a warning; a line such as `0 errors` does not count."""
    return _WARNS.search(line) is not None and _NO_ERROR.search(line) is None


def _first_and_last_lines(text: str) -> list[str]:
    lines = text[: _LOOKED_AT * _LONGEST].split("\n")[:_LOOKED_AT]
    tail = text[-_LOOKED_AT * _LONGEST // 4 :].split("\n")[-_LOOKED_AT // 4 :]
    return lines + tail


def _weight(line: str) -> int:
    weight = 4 * bool(_COUNTED.search(line)) + 3 * names_error(line)
    return weight + bool(_PATH.search(line)) + bool(_NUMBER.search(line))


def plain(line: str) -> str:
    """Return a line in the form that it has in the placeholder of an evicted text.

    It is printable and has at most 300 characters; `[` and `]` become `(` and `)`, because a placeholder ends with `]`.
    """
    return printable_line(line[:_LONGEST].replace("[", "(").replace("]", ")"))


# How much rows matter: the finding is first, then errors, then the rest by form.
FINDING, ERROR, FIRST, SECOND = range(4)
_ERRORS = "Errors and warnings"
_MOST_ERRORS = 40
_VARIABLE = re.compile(r"[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*|0x[0-9a-fA-F]+|\d+")


def rows_of(output: Output) -> Iterator[SummaryLine]:
    """Return the rows of an output, in their order; the first says what was found, such as "3 hits in 2 files".

    A row is a line with a rank, which says how much it matters.
    """
    if not output.text.strip():
        return iter([SummaryLine((FINDING,), FOUND, "it is empty")])
    return {SEARCH: _search, FILE: _file}.get(output.form, _plain)(output)


def finding(output: Output) -> str:
    """Return in one line what an output says, such as "3 hits in 2 files" for the results of a search."""
    return next(rows_of(output)).text


def line(text: str) -> str:
    """Return a line cut to 300 characters, in which control characters are replaced."""
    text = "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text.rstrip())
    return cut(text, _LONGEST)


def errors(text: str) -> Iterator[SummaryLine]:
    """Yield a row for each line of a text that names an error or a warning, at most 40 rows.

    Lines that differ only in numbers share a row, which has the first of these lines and says how many there are.
    """
    groups: dict[str, list[str]] = {}
    for row in map(str.strip, text.split("\n")):
        if names_error(row[:_LONGEST]):
            groups.setdefault(_VARIABLE.sub("#", row[:_LONGEST]), []).append(row)
    for number, same in enumerate(list(groups.values())[:_MOST_ERRORS]):
        times = f" ({len(same):,} times, with other numbers)" if len(same) > 1 else ""
        yield SummaryLine((ERROR, number), _ERRORS, line(same[0]) + times)


def _listed(rank: int, group: str, texts: Iterable[str]) -> Iterator[SummaryLine]:
    for number, text in enumerate(texts):
        yield SummaryLine((rank, number), group, line(text))


def _search(output: Output) -> Iterator[SummaryLine]:
    hits: dict[str, list[tuple[str, str]]] = {}
    others = []
    for row in output.text.split("\n"):
        match = HIT.match(row[:2_000])
        if match:
            hits.setdefault(match[1], []).append((match[2], match[3].strip()))
        elif row.strip() not in ("", "--"):
            others.append(row)
    total = sum(map(len, hits.values()))
    yield SummaryLine((FINDING,), FOUND, line(summing_up(others)) or f"{total:,} hits in {len(hits):,} files")
    yield from errors("\n".join(others))
    places = {path: [place for place, _ in hits[path]] for path in sorted(hits, key=lambda path: -len(hits[path]))}
    files = (f"{path}: {', '.join(own[:12])}{', …' if len(own) > 12 else ''}" for path, own in places.items())
    yield from _listed(FIRST, "Files, with the lines", files)
    firsts = (f"{path}:{place}: {text}" for path, ((place, text), *_) in hits.items())
    yield from _listed(SECOND, "First hit of each file", firsts)


def _file(output: Output) -> Iterator[SummaryLine]:
    name = output.path or "a file"
    count = output.text.rstrip("\n").count("\n") + 1
    yield SummaryLine((FINDING,), FOUND, f"{count:,} lines of {line(name)}")
    for number, row in enumerate(output.text.split("\n"), 1):
        if re.search(r"\b(?:TODO|FIXME|XXX)\b", row):
            yield SummaryLine((SECOND, number), "Marked", line(f"{number}: {row.strip()}"))
    yield from _ranked_after(summary_lines.rows(output.path, output.text), FIRST)


def _plain(output: Output) -> Iterator[SummaryLine]:
    lines = [row for row in output.text.split("\n") if row.strip()]
    finding = key_line(output.text)
    if output.text.lstrip()[:1] in ("{", "["):
        finding = f"JSON, {len(output.text):,} characters"
    elif len(lines) > 1 and not _COUNTED.search(finding):
        finding = f"{len(lines):,} lines; {finding}"
    if output.form == LISTING:
        folders = {row.strip().rpartition("/")[0] for row in lines}
        counted = f"{len(lines):,} entries in {quantity(len(folders), 'folder')}"
        finding = line(summing_up(row for row in lines if not _LISTED.match(row[:_LONGEST]))) or counted
    yield SummaryLine((FINDING,), FOUND, finding)
    yield from errors(output.text)
    yield from _ranked_after(summary_lines.rows("", output.text), FIRST)


def _ranked_after(summary_rows: list[SummaryLine], rank: int) -> Iterator[SummaryLine]:
    for row in summary_rows:
        yield SummaryLine((rank, *row.rank), row.group, row.text, row.is_rest)
