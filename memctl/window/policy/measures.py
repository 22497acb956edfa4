"""The measures of each block of a text, for the quality metrics and the triggers.

Density is the share of tokens that say something (rules.md#quality). Others could be dropped without loss: closing tags
and brackets, quotation marks of JSON, marks of Markdown, rules, indentation, empty lines, and phrases that only pad.
Titles, keys and attributes are useful: they say what the text is about.

An overlap is a run of words that an earlier block has, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from memctl.record import ids
from memctl.text.similar import plain_words
from memctl.window.policy import relevance, staleness
from memctl.window.policy.blocks import CODE, CountTokens, ParsedText, TextBlock
from memctl.window.policy.staleness import Over, StaleBlock

_RUN = 5  # words; a run that an earlier block has is a repetition
_LEAST = 3  # words of a block that is compared as a whole
_LETTERS = 0.6  # of the words of a run are letters only: times, scores and versions recur without being repetition
# A line of id and title as packs have it in each format, other than the facts of a record that is there whole.
_REFERENCE = re.compile(rf"^(?:item: id {ids.SHAPE} \||{ids.SHAPE}:? (?!\|)).*$", re.MULTILINE)


class Overlap(msgspec.Struct, frozen=True):
    """The fraction of a block's words that are in earlier blocks, too.

    `earlier` is the number of the earlier block that has most of these words; -1 without one.
    """

    share: float
    earlier: int


def overlaps(blocks: Sequence[TextBlock]) -> list[Overlap]:
    """Return for each block which fraction of its words repeats earlier blocks, or earlier words of its own.

    Runs of five words are compared; a block of three or four words is compared as a whole. A line of a list that names
    a record by id and title is a reference, and no repetition.
    """
    seen: dict[tuple[str, ...], int] = {}
    return [_overlap(number, block.text, seen) for number, block in enumerate(blocks)]


def _overlap(number: int, text: str, seen: dict[tuple[str, ...], int]) -> Overlap:
    said = _REFERENCE.sub("", text)
    cells = [plain_words(cell) for cell in said.split(" | ")]  # a run does not span the facts of a record
    total = sum(map(len, cells))
    length = min(_RUN, total)
    if length < _LEAST:
        return Overlap(0.0, -1)
    number_covered = 0
    earlier: Counter[int] = Counter()
    for words in cells:
        covered = bytearray(len(words))
        for start in range(len(words) - length + 1):
            run = tuple(words[start : start + length])
            if sum(map(str.isalpha, run)) < _LETTERS * length:
                continue
            if run in seen:
                covered[start : start + length] = b"\1" * length
                earlier[seen[run]] += 1
            else:
                seen[run] = number
        number_covered += sum(covered)
    return Overlap(number_covered / total, earlier.most_common(1)[0][0] if earlier else -1)


_PADDING = re.compile(
    r"\b(?:please (?:note|be aware|keep in mind) that|it is (?:important|worth|also important) (?:to note|noting) that|"
    r"as (?:mentioned|noted|discussed|described|stated) (?:above|below|before|earlier|previously)|needless to say|"
    r"in order(?= to\b)|at (?:this|the present) (?:point in time|moment)|for all intents and purposes|"
    r"i (?:would like|want) to|(?:basically|actually|essentially|literally|obviously|of course)|"
    r"due to the fact(?= that\b)|it should be noted that|in terms of|as you (?:can see|know)|"
    r"(?:i hope this helps|let me know if you have any questions|feel free to))\b[,:]?\s*",
    re.IGNORECASE,
)
_SPACE = re.compile(r"[ \t]+")


def useful_text(parsed: ParsedText) -> str:
    """Return a text with the least markup: each title on a line, below it its text without padding."""
    lines: list[str] = []
    title = ""
    for block in parsed.blocks:
        if block.title and block.title != title:
            lines.append(block.title)
        title = block.title
        if block.kind == CODE:
            lines += [line.rstrip() for line in block.text.split("\n") if line.strip()]
        else:
            lines += [line.strip() for line in _SPACE.sub(" ", block.text).split("\n") if line.strip()]
    return _PADDING.sub("", "\n".join(lines))


def padding(text: str) -> list[str]:
    """Return the phrases of a text that only pad, such as "please note that"."""
    return [match[0].strip() for match in _PADDING.finditer(text)]


_FIRST = 40  # blocks among which a text states its task


class Measured(NamedTuple):
    """A block with its measures; `before` are the tokens of the blocks before it, `weight` is from 0 to 10.

    `is_relevant` says whether the block bears on the task. It is None where that is not judged: without a task, for
    what a pack lists as not chosen, and for a block that does not bear on the task, is no record, and must stay
    whatever the task is (`is_preserved`).
    """

    block: TextBlock
    overlap: Overlap
    stale: StaleBlock
    weight: int
    is_relevant: bool | None
    before: int
    is_preserved: bool = False

    @property
    def useful(self) -> float:
        """The tokens of the block that are relevant, new and not stale."""
        if self.is_relevant is False:
            return 0.0
        return self.block.tokens * (1 - self.overlap.share) * (1 - self.stale.share)


class Measures(NamedTuple):
    """A text with its measures.

    `tokens` are those of all blocks, and `useful_text_tokens` those of the text without markup and padding. `padding`
    are the phrases that only pad. `task` is the task by which relevance was judged, "" for none.
    """

    parsed: ParsedText
    blocks: list[Measured]
    tokens: int
    useful_text_tokens: int
    padding: list[str]
    task: str

    @property
    def content(self) -> list[Measured]:
        """The blocks that have text."""
        return [found for found in self.blocks if not found.block.is_heading]

    def share(self, tokens: float) -> float:
        """Return tokens as a fraction of those of all blocks; 0.0 without blocks."""
        return tokens / self.tokens if self.tokens else 0.0

    @property
    def irrelevant(self) -> list[Measured]:
        """The blocks that were judged, and do not bear on the task."""
        return [found for found in self.content if found.is_relevant is False]


def measure(parsed: ParsedText, known: Over, now: str, count: CountTokens, task: str = "") -> Measures:
    """Return the measures of a text as of the time `now`; without a task relevance is not judged.

    `known` says which records of the memory no longer hold, `count` counts tokens.
    """
    weights = relevance.weights(parsed)
    again = overlaps(parsed.blocks)
    old = staleness.stale(parsed, known, now)
    kept = relevance.preserved(parsed)
    bears = _bearing(parsed, task, kept) if task else [None] * len(parsed.blocks)
    blocks, before = [], 0
    for block in parsed.blocks:
        number = block.number
        given = (again[number], old[number], weights[number], bears[number], before, number in kept)
        blocks.append(Measured(block, *given))
        before += block.tokens
    useful = useful_text(parsed)
    tokens = min(count(useful, parsed.kind) if useful else 0, parsed.tokens)
    return Measures(parsed, blocks, before, tokens, padding(parsed.text), task)


def _bearing(parsed: ParsedText, task: str, kept: set[int]) -> list[bool | None]:
    """Of each block whether it bears on a task; None of what does not and stays: a pack says so, or it is preserved.

    A record is preserved, too, but whether a task needs it is for whoever makes the pack: it counts as irrelevant.
    """
    units = relevance.units_of(parsed)
    kept = {number for number in kept if units[number] < 0}
    aside: set[int] = set()
    for block in parsed.blocks:  # parents come before their children
        if block.parent in aside or relevance.is_aside(block):
            aside.add(block.number)
    found = relevance.relevant(parsed, task)
    return [None if n in aside or (n in kept and not bears) else bears for n, bears in enumerate(found)]


def stated_task(parsed: ParsedText) -> str:
    """Return the task that a text states, in a line such as `Task: …` or under a title such as Mission; "" if none.

    Tasks in records are ignored: they are not what the text was made for.
    """
    first = [
        block
        for block in parsed.blocks[:_FIRST]
        if not any(map(relevance.is_record, [block, *parsed.ancestors(block)]))
    ]
    for block in first:
        for line in block.text.split("\n"):
            if line.lower().startswith(relevance.TASK_LINES):
                return line.partition(":")[2].strip()
    for block in first:
        is_short = len(block.title.replace("_", " ").split()) <= 2
        if is_short and "mission" in relevance.parts(block) and not block.is_heading:
            return block.text.strip()
    return ""
