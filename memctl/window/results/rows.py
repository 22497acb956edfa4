"""Splits a tool's result into rows, from which a summary can choose the important ones.

A row is a line with a rank, which says how much it matters, and the heading of the group in which it is shown. Which
rows there are depends on the form of the output, such as a search, a diff or a log. The form follows from the tool and
its command, or else from how the output looks.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from memctl.pages import outline
from memctl.session import failures, shell, tool_calls
from memctl.sources import summary_lines
from memctl.sources.summary_lines import SummaryLine
from memctl.text.actions import READ
from memctl.text.characters import printable_line
from memctl.text.fit import cut
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
_HEAD = 60_000  # characters of an output that are looked at to tell its form
_LIKE_PATH = r"(?:[A-Za-z]:[\\/])?(?=[^\s:|<>\"'`./\\]*[./\\])[^\s:|<>\"'`]*"
HIT = re.compile(rf"({_LIKE_PATH}|[\w.-]+)[:-](\d+)[:-](?:\d+[:-])?(.*)$")
_LISTED = re.compile(rf"(?:[d\-lbcps][rwxsStT-]{{9}}[.+@]?\s.*|{_LIKE_PATH}|[\w.@+-]+|total \d+)[/*@=|]?$")
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
    """A tool's output: its form, its text, and the path of the file if it is the content of a file ("" otherwise).

    The form says what the output is, such as search results, a listing, tests, a diff, a log or plain text. The text of
    a file has no line numbers, even if the host added some.
    """

    form: str
    text: str
    path: str = ""


def output_of(tool: str, arguments: Mapping[str, Any], text: str) -> Output:
    """Return an Output for a `text` that a tool printed, with its form, such as search results, a diff or a log.

    `tool` and `arguments` are the name and the arguments of the call. They suggest a form, which is used only if the
    text also looks like it, because the text may be an error instead. The content of a file may look like anything.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    event = Event(CALL, tool=tool, arguments=dict(arguments))
    expected = _expected(event)
    path = next((touch.path for touch in tool_calls.touched(event) if touch.action == READ), "")
    if expected == FILE or (path and not tool_calls.command_of(arguments)):
        return Output(FILE, without_numbers(text), path)
    looks = _looks(text)
    if expected in (SEARCH, LISTING) and looks in (SEARCH, LISTING, FILE, PLAIN):
        is_hits = expected == SEARCH and _share_of_lines(HIT, text) > 0.3
        looks = SEARCH if is_hits else LISTING if _share_of_lines(_LISTED, text) > 0.6 else looks
    elif expected == LOG and looks == PLAIN:
        looks = LOG
    return Output(looks, text, path)


def without_numbers(text: str) -> str:
    """Return the text of a file without line numbers, if a host added them to its lines; any other text unchanged."""
    lines = text.split("\n")
    numbered = [_NUMBERED.match(line) for line in lines]
    if not lines or sum(match is not None for match in numbered) < max(1, 0.9 * sum(1 for line in lines if line)):
        return text
    return "\n".join(match[1] if match else line for match, line in zip(numbered, lines, strict=True))


def _expected(event: Event) -> str:
    name = re.sub(r"[-_]", "", event.tool.rpartition("__")[2]).lower()
    if name in _TOOLS:
        return _TOOLS[name]
    command = tool_calls.command_of(event.arguments)
    for simple in shell.commands(command) if command else ():
        words = simple.words
        for length in (2, 1):
            if len(words) >= length and (form := _PROGRAMS.get(" ".join(words[:length]))):
                return form
        if words and words[0] in ("cat", "head", "nl", "bat") and len(words) > 1:
            return FILE
    return ""


def _looks(text: str) -> str:
    head = text[:_HEAD]
    if re.search(r"^diff --git |^--- \S.*\n\+\+\+ \S", head, re.MULTILINE):
        return DIFF
    if head.lstrip()[:1] in ("{", "[") and _is_json(text):
        return DATA
    if RAN.search(head) or RAN.search(text[-_HEAD:]):
        return TESTS
    if _share_of_lines(_LOGGED, head) > 0.4:
        return LOG
    if _share_of_lines(HIT, head) > 0.6:
        return SEARCH
    if _share_of_lines(_LISTED, head) > 0.8 and head.count("\n") > 3:
        return LISTING
    return PLAIN


def _share_of_lines(pattern: re.Pattern[str], text: str) -> float:
    """Return the share of lines that begin like a pattern."""
    lines = [line for line in text[:_HEAD].split("\n") if line.strip()]
    return sum(pattern.match(line[:500]) is not None for line in lines) / len(lines) if lines else 0.0


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text.strip().encode(errors="replace"))
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


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
    """Return how much a line tells. Words that count something tell most; an error comes next."""
    weight = 4 * bool(_COUNTED.search(line)) + 3 * names_error(line)
    return weight + bool(_PATH.search(line)) + bool(_NUMBER.search(line))


def plain(line: str) -> str:
    """Return a line in the form that it has in the placeholder of an evicted text.

    It is printable and has at most 300 characters; `[` and `]` become `(` and `)`, because a placeholder ends with `]`.
    """
    return printable_line(line[:_LONGEST].replace("[", "(").replace("]", ")"))


# How much rows matter: the finding is first, then errors, then the rest by form.
FINDING, ERROR, FIRST, SECOND, THIRD = range(5)
_ERRORS = "Errors and warnings"
_MOST_ERRORS = 40
_VARIABLE = re.compile(r"[0-9a-fA-F]{8,}(?:-[0-9a-fA-F]{4,})*|0x[0-9a-fA-F]+|\d+")


def rows_of(output: Output) -> Iterator[SummaryLine]:
    """Return the rows of an output, in their order; the first says what was found, such as "3 hits in 2 files".

    A row is a line with a rank, which says how much it matters.
    """
    if not output.text.strip():
        return iter([SummaryLine((FINDING,), FOUND, "it is empty")])
    return _BY_FORM.get(output.form, _plain)(output)


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
    """Yield a row for each text, in their order, all of them of one rank and in one group."""
    for number, text in enumerate(texts):
        yield SummaryLine((rank, number), group, line(text))


_FEW = 3  # entries that are named rather than counted
_LONG = re.compile(r"[d\-lbcps][rwxsStT-]{9}[.+@]?\s")


def _listing(output: Output) -> Iterator[SummaryLine]:
    """Yield how many entries there are, in which folders and of which kinds, and the entries themselves."""
    names = list(_entries(output.text))
    folders = Counter(name.rpartition("/")[0] or "." for name in names)
    kinds = Counter(outline.suffix_of(name) or "no suffix" for name in names)
    most = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common(6))
    own = summing_up(row for row in output.text.split("\n") if " " in row.strip() and not _LONG.match(row))
    few = ", ".join(names) if len(names) <= _FEW else ""
    finding = own or few or f"{len(names):,} entries in {len(folders):,} folders ({most})"
    yield SummaryLine((FINDING,), FOUND, line(finding))
    yield from errors("\n".join(row for row in output.text.split("\n") if ": " in row and not _LONG.match(row)))
    if len(folders) > 1:
        yield from _listed(FIRST, "Folders", (f"{count:>5,}  {folder}/" for folder, count in folders.most_common()))
    yield from _listed(SECOND, "Entries", names)


def _entries(text: str) -> Iterator[str]:
    """Yield the entries of a listing; `ls` of several folders, or of one with those in it, names each
    before its own."""
    folder = ""
    for row in text.split("\n"):
        name = row.strip()
        if name.endswith(":") and not _LONG.match(row):
            folder = name[:-1].rstrip("/") + "/"
        elif name and not re.match(r"total \d+$", name):
            name = re.split(r"\s+", name, maxsplit=8)[-1] if _LONG.match(row) else name
            if name not in (".", ".."):
                yield folder + name


def _search(output: Output) -> Iterator[SummaryLine]:
    """Yield how many hits there are in how many files, each file with its lines, and their text."""
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


# How a test fails: words of the assertion, and its place. What failed, session.failures finds.
_HOW = re.compile(
    r"^E  \s*\S|^\s+\d+\) \S|^\S+:\d+: (?:\w+\.)*\w*(?:Error|Exception|Failure|Failed)\b"
    r"|^\s*(?:AssertionError|Expected|Received)\b"
)


def _tests(output: Output) -> Iterator[SummaryLine]:
    """Yield what came out, which tests failed and with what words."""
    lines = output.text.split("\n")
    results = [row.strip(" =") for row in lines if RAN.search(row)]
    yield SummaryLine((FINDING,), FOUND, line("; ".join(dict.fromkeys(results[-4:])) or "a test run without a result"))
    names = dict.fromkeys(row.strip() for row in lines if failures.is_specific(row[:_LONGEST]))
    others = dict.fromkeys(row.strip() for row in lines if _HOW.search(row[:_LONGEST]))
    yield from _listed(ERROR, "Failing", names)
    yield from _listed(FIRST, "How they fail", (row for row in others if row not in names))
    if not (names or others):
        yield from errors(output.text)


_LEVEL = re.compile(r"\b(TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b")


def _log(output: Output) -> Iterator[SummaryLine]:
    """Yield how many lines of which level there are, the errors, and which lines are frequent; how it
    begins and ends."""
    lines = [row for row in output.text.split("\n") if row.strip()]
    levels = Counter(match[1] for row in lines if (match := _LEVEL.search(row[:_LONGEST])))
    listed = ", ".join(f"{level} {count:,}" for level, count in levels.most_common())
    yield SummaryLine((FINDING,), FOUND, f"{len(lines):,} lines" + (f" ({listed})" if listed else ""))
    yield from errors("\n".join(row for row in lines if not re.search(r"\b(?:TRACE|DEBUG|INFO)\b", row[:80])))
    yield from _ranked_after(summary_lines.rows("", output.text), FIRST)


def _diff(output: Output) -> Iterator[SummaryLine]:
    """Yield which files are changed and by how many lines, and in which functions."""
    files: dict[str, list[int]] = {}
    places: list[tuple[str, str]] = []
    path, is_in_hunk = "", False
    for row in output.text.split("\n"):
        if row.startswith("diff --git "):
            path, is_in_hunk = _renamed(row.removeprefix("diff --git ")), False
            files.setdefault(path, [0, 0])
        elif row.startswith("--- ") and not is_in_hunk and not files:
            path = row[4:].partition("\t")[0].removeprefix("a/")
        elif row.startswith("+++ ") and not is_in_hunk:
            new_path = row[4:].partition("\t")[0].removeprefix("b/")
            path = path if new_path == "/dev/null" else new_path
            files.setdefault(path, [0, 0])
        elif row.startswith("@@"):
            is_in_hunk = True
            if context := row.rpartition("@@")[2].strip():
                places.append((path, context))
        elif is_in_hunk and path and row[:1] in ("+", "-"):
            files[path][row[0] == "-"] += 1
    added, removed = (sum(counts[side] for counts in files.values()) for side in (0, 1))
    yield SummaryLine((FINDING,), FOUND, f"{len(files):,} files changed, +{added:,} -{removed:,} lines")
    yield from _listed(FIRST, "Files", (f"{name} +{plus} -{minus}" for name, (plus, minus) in files.items()))
    yield from _listed(SECOND, "In", (f"{name}: {context}" for name, context in dict.fromkeys(places)))
    changed = (row for row in output.text.split("\n") if re.match(r"[+-](?![+-]{2} )\s*\S", row))
    yield from _listed(THIRD, "The first changed lines", changed)


_DEPTH = 3  # of objects in objects that are looked into for lists


def _renamed(names: str) -> str:
    """Return the second of the two names behind `diff --git`, which are the same but for a rename."""
    half = len(names) // 2
    if names[half : half + 1] == " " and names[:half].partition("/")[2] == names[half + 1 :].partition("/")[2]:
        return names[half + 1 :].partition("/")[2]
    return names.rpartition(" b/")[2]


_TELLING_KEY = re.compile(
    r"^(?:errors?|messages?|status|state|code|reason|detail|total|count|result|name|title|id|version|url|path)$",
    re.IGNORECASE,
)


def _data(output: Output) -> Iterator[SummaryLine]:
    """Yield the keys of JSON with their values, above all those that tell what came out."""
    yield SummaryLine((FINDING,), FOUND, f"JSON, {len(output.text):,} characters")
    for row in summary_lines.rows("x.json", output.text):
        name = row.text.strip().partition(":")[0]
        yield from _ranked_after([row], ERROR if _TELLING_KEY.match(name) else FIRST)
    yield from _items("", msgspec.json.decode(output.text.strip().encode(errors="replace")))
    texts = re.findall(r'"[^"\n]{0,200}(?:[Ee]rror|[Ee]xception|[Ff]ailed)[^"\n]{0,200}"', output.text)
    yield from errors("\n".join(texts))


def _items(name: str, value: Any, depth: int = 0) -> Iterator[SummaryLine]:
    """Yield what tells the items of lists apart: their ids, names, states, in their order."""
    if isinstance(value, dict) and depth < _DEPTH:
        for key, inner in value.items():
            yield from _items(f"{name}.{key}" if name else str(key), inner, depth + 1)
    for number, item in enumerate(value) if isinstance(value, list) else ():
        is_object = isinstance(item, dict)
        part = {key: inner for key, inner in item.items() if _TELLING_KEY.match(key)} if is_object else item
        if part or not is_object:
            shown = msgspec.json.encode(part).decode()
            yield SummaryLine(
                (SECOND, number), "Items, by the fields that identify them", line(f"{name}[{number}]: {shown}")
            )


def _file(output: Output) -> Iterator[SummaryLine]:
    """Yield what a file contains: definitions, headings, keys, each with its line."""
    name = output.path or "a file"
    count = output.text.rstrip("\n").count("\n") + 1
    yield SummaryLine((FINDING,), FOUND, f"{count:,} lines of {line(name)}")
    for number, row in enumerate(output.text.split("\n"), 1):
        if re.search(r"\b(?:TODO|FIXME|XXX)\b", row):
            yield SummaryLine((SECOND, number), "Marked", line(f"{number}: {row.strip()}"))
    yield from _ranked_after(summary_lines.rows(output.path, output.text), FIRST)


def _plain(output: Output) -> Iterator[SummaryLine]:
    """Yield the line that tells most, how it begins and ends, its errors, and which lines are frequent."""
    count = sum(1 for row in output.text.split("\n") if row.strip())
    size = [f"{count:,} lines"] if count > 1 else []
    yield SummaryLine((FINDING,), FOUND, "; ".join(filter(None, [*size, key_line(output.text)])))
    yield from errors(output.text)
    yield from _ranked_after(summary_lines.rows("", output.text), FIRST)


def _ranked_after(summary_rows: list[SummaryLine], rank: int) -> Iterator[SummaryLine]:
    for row in summary_rows:
        yield SummaryLine((rank, *row.rank), row.group, row.text, row.is_rest)


_BY_FORM: dict[str, Callable[[Output], Iterator[SummaryLine]]] = {
    LISTING: _listing,
    SEARCH: _search,
    TESTS: _tests,
    LOG: _log,
    DIFF: _diff,
    DATA: _data,
    FILE: _file,
}
