"""Sums up a tool's result in a fifth of its tokens, by rules and without a model.

Results of more than 500 tokens are summed up to less than 20 % of their length. The key finding, numbers, paths, names,
errors and warnings stay (rules.md#window-compression).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import msgspec

from memctl.pack import names_in_text
from memctl.sources.summary_lines import SummaryLine
from memctl.text.fit import most
from memctl.text.phrases import quantity
from memctl.window.messages.content import SUMMED_UP
from memctl.window.results import rows
from memctl.window.steps import LEAST_GAIN

GOAL = 0.20  # of the length; rules.md#window-compression
_MOST_NEEDED = 200
_NEEDED = "Referred to elsewhere"


class ResultSummary(msgspec.Struct, frozen=True):
    """The summary of a tool's result: its text and tokens, and the tokens of the whole result (`before`).

    `form` says what the result is, such as a search or a log.
    """

    text: str
    tokens: int
    before: int
    form: str


def summarize(
    tool: str,
    arguments: Mapping[str, Any],
    text: str,
    count: Callable[[str], int],
    *,
    needed: Collection[str] = (),
    whole: str = "",
    goal: float = GOAL,
) -> ResultSummary | None:
    """Return a summary of the result of a tool's call; None if it would save less than 10 % of the tokens.

    `tool` and `arguments` are the name and the arguments of the call, and `text` is its result. `count` returns the
    tokens of a text. `goal` is the fraction of the result's tokens that the summary may have.

    `needed` are strings (paths, identifiers, numbers) that other messages refer to: the line with each of them is kept.
    `whole` is a sentence on how to get the whole result, which becomes part of the summary. Other lines are kept in the
    order of their importance, as long as there is room.
    """
    before = count(text)
    output = rows.output_of(tool, arguments, text)
    candidates = list(rows.rows_of(output))
    candidates[1:1] = _needed(output.text, needed, candidates)
    head = f"{SUMMED_UP}{rows.line(tool) or 'a tool'} ({output.form}; {before:,} tokens before)"
    head += f"; {whole}]" if whole else "]"
    must = sum(1 for row in candidates if row.rank[0] == rows.FINDING)
    order = sorted(range(len(candidates)), key=lambda place: candidates[place].rank)

    def summary_with(number: int) -> str:
        return _text(head, candidates, frozenset(order[:number]))

    number = most(lambda number: count(summary_with(number)) <= before * goal, must, min(len(candidates), before))
    summary = summary_with(number)
    tokens = count(summary)
    if tokens > before * (1 - LEAST_GAIN):
        return None
    return ResultSummary(summary, tokens, before, output.form)


def _needed(text: str, needed: Collection[str], candidates: list[SummaryLine]) -> Iterator[SummaryLine]:
    """Yield the lines with something that is referred to, unless a row that is shown in any case has it."""
    sure = "\n".join(row.text for row in candidates if row.rank[0] == rows.FINDING)
    lines: dict[str, None] = {}
    places = {word: place for word in needed if word and (place := names_in_text.place(word, text)) >= 0}
    for word in sorted(places)[:_MOST_NEEDED]:
        if any(names_in_text.place(word, shown_line) >= 0 for shown_line in (sure, *lines)):
            continue
        start = text.rfind("\n", 0, places[word]) + 1
        end = text.find("\n", start)
        source = text[start : end if end >= 0 else len(text)].strip()
        shown = rows.line(source)
        lines[shown if names_in_text.place(word, shown) >= 0 else rows.line(word)] = None
    for number, shown in enumerate(lines):
        yield SummaryLine((rows.FINDING, number), _NEEDED, shown)


def _text(head: str, candidates: list[SummaryLine], chosen: Collection[int]) -> str:
    lines, group = [head], ""
    for row in (candidates[place] for place in sorted(chosen)):
        if row.is_rest:
            lines[-1] += row.text
        elif row.rank[0] == rows.FINDING and row.group != _NEEDED:
            lines.append(f"{row.group}: {row.text}")
        else:
            lines += [row.text] if row.group == group else [f"{row.group}:", row.text]
            group = row.group
    missing = sum(1 for place, row in enumerate(candidates) if place not in chosen and not row.is_rest)
    return "\n".join([*lines, *([f"({quantity(missing, 'more line')} of this summary left out)"] if missing else [])])
