"""Parse the lines of a text for a reader of labels: the marks before a line's text, its label, and where it begins.

The marks may be of a quotation, a list item, a heading, a time, a numbered step or a symbol, in any order. Each cell of
a table counts as a line. If the cells of the table's first row are labels, a cell has the label of its column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from memctl.statements import cues, labels
from memctl.text import headings
from memctl.text.lazy_regex import lazy_regex

DONE, OPEN = "done", "open"  # what a box says
_MOMENT = (
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:[ \t]?(?:Z|UTC|[+-]\d\d:?\d\d))?)?"
    r"|\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?"
)
_QUOTE = re.compile(r"(?:[ \t]{0,3}>[ \t]?)+")
_MARK = re.compile(
    r"[ \t]*(?:(?P<heading>#{1,6})(?=[ \t])"
    r"|(?P<box>\[[ xX~-]\](?=[ \t])|[\u2713\u2714\u2611\u2705\u2610\u29d6\u25fb\u25a1\u23f3]\ufe0f?)"
    r"|(?P<item>(?:[-+*\u2022\u25cf\u25e6\u25aa\u2023\u23fa]|\d{1,3}[.)])(?=[ \t]))"
    rf"|(?:\*\*|__)?[\[(]?(?P<moment>{_MOMENT})[\])]?(?:\*\*|__)?(?=[ \t:])(?:[ \t]*[-\u2013\u2014:|](?=[ \t]))?"
    rf"|(?i:{cues.NUMBER})"
    r"|(?:(?:\[(?!(?i:critical|high|medium|low)\b)[\w.@/ -]{1,40}\]|TRACE|DEBUG|INFO|NOTICE)[ \t]+)+"  # of a log
    r"(?=[*_]{0,3}[A-Z][A-Z -]{2,30}[*_]{0,3}:)"
    r"|[^\x00-\x7f\w\s\u2018-\u201f\u00ab\u00a7]{1,3}[ \t]*)"
)
_RULE = re.compile(r"\|?(?:[ \t]*:?-{2,}:?[ \t]*\|)+[ \t:-]*")
_CELL = re.compile(r"(?<!\\)\|")
_BRACKETED = re.compile(r"\[(?:[^\[\]]{1,60} [-\u2013\u2014] )?([A-Z][^\[\]:]{2,60})\]")
_LOWEST = 7  # the level of a heading that is a line in brackets: below all of Markdown's
_AROUND = "*_` \t:"  # marks around a label in a cell
_TICKS = "\u2713\u2714\u2611\u2705"
_MOST_MARKS = 8
_LONGEST = 2_000  # characters of a row of a table


class Line(msgspec.Struct):
    """One line of a text: its number (from 1), its text without the marks before it, and what the marks say.

    - `raw` is the whole line; for a cell of a table it is the table's row.
    - `column` (from 0) is the column where the text begins; in a list item it is the column of the item's last bullet
      or number.
    - `level` is the level of a heading, 0 for none.
    - `box` is DONE or OPEN for a line with a ticked or an empty check box, "" for none.
    - `moment` is the time at the line's beginning, "" for none.
    - `is_code` says that the line is in fenced code, where nothing is a mark.
    """

    number: int
    raw: str
    text: str = ""
    column: int = 0
    level: int = 0
    is_item: bool = False
    box: str = ""
    moment: str = ""
    is_code: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether the line has neither text nor marks of an item or heading."""
        return not self.text and not self.is_item and not self.level


def lines_of(text: str) -> Iterator[Line]:
    """Yield the lines of a text, parsed; a row of a table yields a line for each cell."""
    stretches = headings.outside_fences(text)
    head: list[str] = []
    is_of_pairs = False
    for place, (raw, outside) in enumerate(stretches):
        number = place + 1
        if not outside or raw.lstrip().startswith(("```", "~~~")):
            yield Line(number, raw, raw, is_code=True)
            continue
        bare = raw.lstrip(" \t>")
        if not bare.startswith("|"):
            head, is_of_pairs = [], False
            yield parse(number, raw)
            continue
        if len(bare) > _LONGEST or _RULE.fullmatch(bare.rstrip()):
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in _CELL.split(bare.strip().strip("|"))]
        following = stretches[place + 1][0].lstrip(" \t>").rstrip() if place + 1 < len(stretches) else ""
        if len(cells) > 1 and len(following) <= _LONGEST and _RULE.fullmatch(following):
            if _is_head(cells):
                head = cells
                continue
            first = _CELL.split(stretches[place + 2][0].strip(" \t>|"))[0] if place + 2 < len(stretches) else ""
            if not labels.look_up(cells[0].strip(_AROUND))[0] and labels.look_up(first.strip(_AROUND))[0]:
                continue  # it names the columns of pairs, such as "Field" and "Value"
        is_of_pairs = is_of_pairs or (len(cells) > 1 and bool(labels.look_up(cells[0].strip(_AROUND))[0]))
        for cell in _in_columns(cells, head) if head else _of_cells(cells, is_of_pairs):
            yield parse(number, cell, raw)
        if head:
            yield Line(number, "")  # a row ends what its last cell says


def _is_head(cells: Sequence[str]) -> bool:
    """Return whether cells are a table's head of labels: the first of a kind of statement, another one of a field."""
    roles = [labels.look_up(cell.strip("*_: "))[0] for cell in cells]
    return (roles[0] in labels.OPENERS and any(roles[1:])) or cells[0].strip("*_: ").lower() in ("file", "path")


def _in_columns(cells: Sequence[str], head: Sequence[str]) -> Iterator[str]:
    """Yield each cell of a row as "label of its column: cell".

    For a table of files the first label is what was done.
    """
    cells_by_name = dict(zip((name.strip("*_: ") for name in head), cells, strict=False))
    small = {name.lower(): cell for name, cell in cells_by_name.items()}
    for number, (name, cell) in enumerate(cells_by_name.items()):
        if number == 0 and name.lower() in ("file", "path"):
            yield f"{(small.get('action') or labels.MODIFIED).strip('`*_')}: {cell.strip('`')}"
        elif cell and name.lower() != "action":
            yield f"{name}: {cell}"


def _of_cells(cells: Sequence[str], is_of_pairs: bool) -> Iterator[str]:
    """Yield the cells of a row; in a table of pairs, one line "first cell: other cells"."""
    name, *others = [cell for cell in cells if cell] or [""]
    if is_of_pairs and others and (labels.look_up(name.strip(_AROUND))[0] or _SHORT.fullmatch(name.strip(_AROUND))):
        yield f"{name.strip(_AROUND)}: {'; '.join(others)}"
    else:
        yield from cells


def parse(number: int, line: str, raw: str | None = None) -> Line:
    """Split a line into its marks (of a heading, list item, check box or time) and the text behind them.

    `number` is the line's number, from 1.

    If `line` is a cell of a table, `raw` is the whole row of the table; otherwise it is None.
    """
    parsed_line = Line(number, line if raw is None else raw)
    if quote := _QUOTE.match(line):
        line = line[quote.end() :]
    end, parsed_line.column = 0, len(line) - len(line.lstrip(" \t"))
    for _ in range(_MOST_MARKS):
        match = _MARK.match(line, end)
        if match is None or match.end() == end:
            break
        if match["heading"]:
            parsed_line.level = len(match["heading"])
        elif match["item"]:
            parsed_line.is_item, parsed_line.column = True, match.start("item")
        elif match["box"]:
            is_done = match["box"][0] in _TICKS or match["box"][1:2] in ("x", "X")
            parsed_line.box = DONE if is_done else OPEN
        elif match["moment"]:
            parsed_line.moment = match["moment"]
        end = match.end()
    parsed_line.text = line[end:].strip()
    if parsed_line.level:
        parsed_line.text = parsed_line.text.rstrip("#").rstrip()
    elif (bracketed := _BRACKETED.fullmatch(parsed_line.text)) and (
        not parsed_line.is_item or labels.look_up(bracketed[1])[0]
    ):
        parsed_line.level, parsed_line.text = _LOWEST, bracketed[1]
    return parsed_line


_NAME = r"[^\W\d_](?:[^:*_`|\n]|_(?=[^\W_])){0,60}?"  # of a label; a field's name may have underscores
_LABEL = re.compile(
    rf"(?P<bold>[*_`]{{0,3}})(?P<name>\[?{_NAME})[ \t]*"
    r"(?:(?P<closed>[*_`]{1,3})[ \t]*(?:\[(?P<rank>\w+)\][ \t]*)?(?P<colon>:|$)"
    r"|:(?P<after>[*_`]{1,3})?(?=[ \t]|$)(?![:/]))[ \t]*"
)
_TIGHT = re.compile(r"(?P<name>[A-Za-z][A-Za-z ]{2,30}):(?![:/\s])")  # no space behind the colon
_DASHED = re.compile(r"[*_]{0,3}(?P<name>[A-Z][A-Z -]{2,30}?)[*_]{0,3}[ \t]+[-\u2013\u2014][ \t]+(?=\S)")
_SHORT = re.compile(r"[A-Z][\w'/-]*(?: [\w'/-]+){0,2}")  # a label that nobody knows has few words
_LOOKED_AT = 120  # characters of a line in which a label ends


class Label(NamedTuple):
    """A label at the beginning of a line: its words (`name`), its role, and the text of the line behind it (`rest`).

    The role says what people write under the label, such as a decision; it is a constant of the module `labels`.
    `number` is the id of a bug or issue in the label, and `severity` the severity in it; both are "" if there is none.
    """

    name: str
    role: str
    rest: str
    number: str = ""
    severity: str = ""
    is_marked: bool = False  # in bold, or a heading


def label_of(line: Line) -> Label | None:
    """Return the label at the beginning of a line; None if the line does not begin with a label.

    "Decision: use A" has the label "Decision" and the rest "use A". Unknown words in the form of a label, such as
    "**Mood**: fine", give a label with the role "".
    """
    text = line.text
    colon_match = _LABEL.match(text, 0, _LOOKED_AT)
    if colon_match and (colon_match["closed"] or ":" in colon_match[0]):
        end = colon_match.end()
        name = colon_match["name"].strip() + (f" [{colon_match['rank']}]" if colon_match["rank"] else "")
        is_marked = bool(colon_match["bold"]) or line.level > 0
        rest = text[end:]
        if "`" in colon_match["bold"] and not (colon_match["closed"] or colon_match["after"]):
            return None  # code
        if colon_match["bold"] and not colon_match["closed"] and not colon_match["after"]:
            rest = rest.removesuffix(colon_match["bold"])  # **DECISION: all of it**
        role, number, severity = labels.look_up(name)
        if role or (_SHORT.fullmatch(name) and len(name) <= 30 and (is_marked or rest)):
            return Label(name, role, rest.strip(), number, severity, is_marked)
        return None
    if line.level:
        name = text.strip("*_` ")
        role, number, severity = labels.look_up(name)
        return Label(name, role, "", number, severity, is_marked=True)
    for pattern in (_DASHED, _TIGHT):
        if match := pattern.match(text, 0, _LOOKED_AT):
            role, number, severity = labels.look_up(match["name"])
            if role in labels.OPENERS:
                return Label(match["name"], role, text[match.end() :].strip(" \t*_"), number, severity)
    return None


def role_of(line: str) -> str:
    """Return the role of the label at the beginning of a line, which says what people write under it, such as a reason.

    The role is a constant of the module `labels`; it is "" if the line does not begin with a known label.
    """
    label = label_of(parse(1, line))
    return label.role if label else ""


LABELLED, WITHIN_A_LINE = 1.0, 0.9  # certainty of a label at the beginning of a line, and of one within it
# A label within a line is at the beginning of a sentence, starts with a capital and ends with a colon.
_INLINE = lazy_regex(
    r"(?:(?<=[.!?;)])[ \t]+|(?<=[\u2014\u2013(])[ \t]*)(?=(?:\*\*|__)?(?:TODO|FIXME|NEXT"
    r"|Next(?: (?:actions?|steps?|up))?|Up next|DECISION|Decision|BLOCKER|Blocker|Blocked by"
    r"|LESSON|Lessons?(?: learn(?:ed|t))?|Open (?:issues?|questions?))(?:\*\*|__)?:(?:\*\*|__)?(?:[ \t]|$))"
)
_FURTHER = lazy_regex(
    r"(?:(?<=[.!?;)])[ \t]+|[ \t]*\|[ \t]+)(?=[*_]{0,3}([A-Za-z][A-Za-z' -]{1,30})[*_]{0,3}[ \t]*:[*_]{0,3}[ \t])"
)
_SEPARATING = " \t(;|\u2014\u2013"
_LONGEST_LINE = 10_000  # characters of a line in the middle of which labels are looked for
_ENDS = re.compile(r"(?<=[.!?])(?<!\b\d\.)[ \t]+(?=[A-Z\"'`*(])|(?<=\w)\)(?=[.;,]?(?:[ \t]|$))")


def parts_of(line: Line) -> Iterator[tuple[Line, float]]:
    """Split a line before each label that stands within it, and yield the parts, each with a certainty from 0 to 1.

    "Fixed it. Next: deploy the API." has the parts "Fixed it." and "Next: deploy the API.". The certainty says how sure
    it is that the part states something under its label: 1.0 for the part at the line's beginning, 0.9 for the others.

    If the whole line begins with a known label, each part reaches to the next label. Otherwise a part within the line
    ends with its first sentence, and an empty part follows it, so that the lines below are not read as its text.
    """
    text = line.text[:_LONGEST_LINE]
    if ":" not in text or line.level:
        yield line, LABELLED
        return
    own = label_of(line)
    is_of_labels = bool(own and own.role) and line.text.count(":") > 1
    starts = [
        match.end()
        for match in (_FURTHER if is_of_labels else _INLINE).finditer(text)
        if _is_prose(line.text[: match.end()]) and (not is_of_labels or _may_follow(match[1]))
    ]
    if not starts:
        yield line, LABELLED
        return
    first = line.text[: starts[0]].rstrip(_SEPARATING)
    if first:
        yield msgspec.structs.replace(line, text=first), LABELLED
    for start, end in zip(starts, [*starts[1:], len(line.text)], strict=True):
        words = line.text[start:end].rstrip(_SEPARATING)
        stop = None if is_of_labels else _ENDS.search(words)
        yield Line(line.number, line.raw, words[: stop.start()] if stop else words), WITHIN_A_LINE
        if not words.rstrip("*_").endswith(":"):  # else a list follows
            yield Line(line.number, line.raw), WITHIN_A_LINE


def _may_follow(name: str) -> bool:
    role = labels.look_up(name)[0]
    following = (labels.REASON, labels.ALTERNATIVE, labels.VALIDATION, labels.IMPACT, labels.AGENT,
                 labels.IMPORTANCE, labels.MOMENT)  # fmt: skip
    return role in labels.OPENERS or role in following


def _is_prose(before: str) -> bool:
    """Return whether the end of a text is outside of code spans and quotations."""
    return before.count("`") % 2 == 0 and before.count('"') % 2 == 0
