"""The measures of each block of a text, from which its quality is judged, and whether it should be compressed.

Density is the share of tokens that say something (rules.md#quality). All other tokens could be dropped without loss:
closing tags and brackets, quotation marks of JSON, marks of Markdown, ruled lines, indentation, empty lines, and
phrases that say nothing. Titles, keys and attributes count as useful, because they say what the text is about.

An overlap is a run of words that is also in an earlier block.

Relevance is judged by words, not by meaning. A block bears on a task (is relevant to it) if it has enough of the task's
words, where rare words count more, or if the block that encloses it bears on the task. A record bears on the task as a
whole or not at all. The task itself, the progress, constraints and blockers, and next steps always bear on the task,
unless they are records.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from memctl.record import ids
from memctl.statements import labels
from memctl.text.similarity import plain_words, terms
from memctl.window.policy import staleness
from memctl.window.policy.blocks import CODE, CountTokens, ParsedText, TextBlock

ENOUGH = 0.25  # of the weight of the task's words
ALIKE = 0.5  # of the words of the smaller of two blocks: a cluster
_COMPARED = 400  # blocks that are compared with each other, the largest


def relevant(parsed: ParsedText, task: str) -> list[bool]:
    """Return for each block of a text whether it bears on a task (is relevant to it), judged by words.

    `task` is the text of the task. A block is relevant if it has enough of the task's words, where rare words count
    more. It is also relevant if the block around it is, if it belongs to the same record as a relevant block, or if it
    states the mission, the phase, constraints, risks or next steps. A heading is relevant if a block below it is.
    """
    task_terms = terms(task)
    own = [terms(f"{block.title} {block.text}") for block in parsed.blocks]
    document = Counter(term for found in own for term in found & task_terms)
    weights = {term: math.log(1 + len(own) / number) for term, number in document.items()}
    whole = sum(weights.values())

    def matches(number: int) -> bool:
        return whole > 0 and sum(weights[term] for term in own[number] & weights.keys()) >= ENOUGH * whole

    frame = [is_frame(block) for block in parsed.blocks]
    relevance = [matches(block.number) for block in parsed.blocks]
    units, passing = units_of(parsed), parsed.passes_down()
    bearing = {units[number] for number, bears in enumerate(relevance) if bears and units[number] >= 0}
    relevance = [bears or units[number] in bearing for number, bears in enumerate(relevance)]
    for block in parsed.blocks:  # parents come before their children
        number, parent = block.number, block.parent
        if parent >= 0 and passing[parent]:
            relevance[number] = relevance[number] or relevance[parent]
            frame[number] = frame[number] or (frame[parent] and units[number] < 0)
    relevance = [bears or framing for bears, framing in zip(relevance, frame, strict=True)]
    for block in reversed(parsed.blocks):  # what has something that matters below it is its title
        parent = block.parent
        if parent >= 0 and relevance[block.number] and (passing[parent] or parsed.blocks[parent].is_heading):
            relevance[parent] = True
    return relevance


def units_of(parsed: ParsedText) -> list[int]:
    """Return for each block of a text which record it belongs to: the number of the block with which the record begins.

    A block outside of all records has -1.
    """
    units: list[int] = []
    for block in parsed.blocks:
        above = units[block.parent] if block.parent >= 0 else -1
        units.append(block.number if above < 0 and is_record(block) else above)
    return units


def clusters(blocks: list[TextBlock]) -> list[list[TextBlock]]:
    """Return groups of similar blocks; many of them are a reason to compress a context.

    Two blocks are similar if they have at least half of the words of the smaller block in common. In a group, each
    block is similar to at least one other. Only the 400 largest blocks are compared, and a block that is similar to no
    other is in no group.
    """
    largest = sorted(blocks, key=lambda block: -block.tokens)[:_COMPARED]
    entries = [(block, terms(block.text)) for block in largest]
    group = list(range(len(entries)))
    for place, (_, ours) in enumerate(entries):
        for other, (_, theirs) in enumerate(entries[:place]):
            smaller = min(len(ours), len(theirs))
            if smaller > 2 and group[place] != group[other] and len(ours & theirs) >= ALIKE * smaller:
                old, new = group[place], group[other]
                group = [new if number == old else number for number in group]
    groups: dict[int, list[TextBlock]] = {}
    for number, (block, _) in zip(group, entries, strict=True):
        groups.setdefault(number, []).append(block)
    return [sorted(members, key=lambda block: block.number) for members in groups.values() if len(members) > 1]


CRITICAL = 9  # the weight from which a block is critical information
WEIGHTY = 7  # the weight from which a rehydration loads first; rules.md#rehydration
# As records say it in a file, in a pack of whole words, and in the short form `critical i9 2025-11-04`.
_STATED = re.compile(
    r"\b(?:importance[\"']?[ :=]{1,3}[\"']?(10|[1-9])(?:/10)?\b|i(10|[1-9]) (?=\d{4}-\d\d-\d\d))", re.IGNORECASE
)
_SEVERE = re.compile(r"\b(?:severity[\"']?[ :=]{1,3}[\"']?critical\b|critical (?=i(?:10|[1-9]) \d{4}-))", re.IGNORECASE)
_STRONG = re.compile(r"\b(?:MUST NOT|MUST|NEVER|CRITICAL|DO NOT)\b")
_NAME = re.compile(r"^([A-Za-z][\w -]{1,40}?)(?::|$)", re.MULTILINE)
# The parts of the shared context slice by the roles of labels, and by other names that headings and keys have for
# them.
_BY_ROLE = {
    labels.TASK: "mission",
    **dict.fromkeys((labels.PHASE, labels.STATUS, labels.PROGRESS, labels.DONE), "phase"),
    **dict.fromkeys((labels.ISSUE, labels.BLOCKER, labels.ERROR), "risks"),
    labels.DECISION: "decisions",
    labels.DETAIL: "constraints",
    **dict.fromkeys((labels.NEXT, labels.TODO, labels.REMAINING), "next"),
}
_BY_WORD = {
    word: part
    for part, names in {
        "mission": "purpose",
        "phase": "phases plan plans checklist current steps",
        "risks": "risk risks blocks blocking",
        "anchors": "anchor anchors navigation index references artifacts",
        "constraints": "rules limits requirements",
        "inputs": "input inputs given files materials attachments resources",
        "outputs": "output outputs expected deliverables criteria result results format",
        "next": "action actions",
        "background": "stack environment context background history events meta metrics tried attempts fixes",
    }.items()
    for word in names.split()
}
_WEIGHTS = {"mission": 10, "constraints": 9, "risks": 9, "next": 8, "phase": 8}
TASK_LINES = ("task:", "chosen for the task:", "mission:", "goal:", "objective:", "current_objective:")
# What a pack for a task puts aside itself, by how its titles begin: what it has room for besides, and what it has not.
_ASIDE = ("besides", "left out")
_FRAME = ("mission", "constraints", "next", "phase", "risks")
# What must stay whatever the task is (rules.md#preservation), and a line or two of the ground that the work is on.
_PRESERVED, _GROUND, _SHORT = {"decisions", "constraints"}, "background", 100  # tokens
_DECISION = re.compile(r"\s*(?:\W{0,4}|(?:id|decision)\W{1,3})DEC-\d", re.IGNORECASE)


def parts(block: TextBlock) -> set[str]:
    """Return which parts of an agent's context a block of a text contains, such as {"mission", "next"}.

    This is judged by words of the block's title, and of keys in its text, such as `goal:`. Other parts are "phase",
    "risks", "decisions", "anchors" (lists of references), "constraints", "inputs", "outputs" and "background".
    """
    names = [block.title, *(_NAME.findall(block.text[:2_000]) if block.is_marked else [])]
    part_names = {part for name in names for word in re.findall("[a-z]+", name.lower()) if (part := _part(word))}
    return part_names if len(block.title) <= 60 or not part_names else part_names & {"decisions"}


def _part(word: str) -> str:
    return _BY_WORD.get(word) or _BY_ROLE.get(labels.look_up(word)[0], "")


def is_frame(block: TextBlock) -> bool:
    """Return whether a block's title says that it has the mission, the phase, constraints, risks or next steps.

    Such a block is relevant to every task. The result is False for a record.
    """
    title = block.title.lower()
    names_frame = len(title) <= 40 and any(_part(word) in _FRAME for word in re.findall("[a-z]+", title))
    return names_frame and not is_record(block)


def preserved(parsed: ParsedText) -> set[int]:
    """Return the numbers of the blocks that must stay, whatever the task is.

    They are decisions, constraints, and background of up to 100 tokens, with all blocks below them.
    """
    numbers: set[int] = set()
    for block in parsed.blocks:  # parents come before their children
        part_names = parts(block)
        is_decision = _DECISION.match(block.title) or _DECISION.match(block.text[:200])
        is_ground = _GROUND in part_names and block.tokens <= _SHORT and not is_record(block)
        if block.parent in numbers or is_decision or part_names & _PRESERVED or is_ground:
            numbers.add(block.number)
    return numbers


def is_aside(block: TextBlock) -> bool:
    """Return whether a block begins the part of a pack that lists what does not bear on the pack's task.

    Such a block has a title that begins with "besides" or "left out", and is no record.
    """
    return block.title.lower().replace("_", " ").startswith(_ASIDE) and not is_record(block)


def is_record(block: TextBlock) -> bool:
    """Return whether a block shows a record of a memory.

    It does if it states an importance, such as `importance 9/10`, as records do.
    """
    return _STATED.search(block.text[:2_000]) is not None


def weights(parsed: ParsedText) -> list[int]:
    """Return for each block how much it matters, from 0 to 10.

    A record and all blocks below it have the record's importance as their weight, or 10 if its severity is critical.
    Other blocks have a weight by what they state: 10 for the goal, 9 for constraints and blockers, 8 for progress and
    next steps, at least 9 for text with a word such as MUST or NEVER, and 0 for anything else.
    """
    blocks = parsed.blocks
    units = zip(blocks, units_of(parsed), strict=True)
    return [_stated_weight(blocks[unit]) if unit >= 0 else _named_weight(block) for block, unit in units]


def _stated_weight(record: TextBlock) -> int:
    text = record.text[:2_000]
    stated = _STATED.search(text)
    return 10 if stated is None or _SEVERE.search(text) else int(stated[1] or stated[2])


def _named_weight(block: TextBlock) -> int:
    if _SEVERE.search(block.text[:2_000]) or block.text.lower().startswith(TASK_LINES):
        return 10
    weight = max((_WEIGHTS.get(part, 0) for part in parts(block)), default=0) if not block.is_heading else 0
    return max(weight, 9 if _STRONG.search(block.text[:2_000]) else 0)


_RUN = 5  # words; a run that an earlier block has is a repetition
_LEAST = 3  # words of a block that is compared as a whole
_LETTERS = 0.6  # of the words of a run are letters only: times, scores and versions recur without being repetition
# A line of id and title as packs have it in each format, other than the facts of a record that is there whole.
_REFERENCE = re.compile(rf"^(?:item: id {ids.SHAPE} \||{ids.SHAPE}:? (?!\|)).*$", re.MULTILINE)


class Overlap(msgspec.Struct, frozen=True):
    """The fraction of a block's words that repeat earlier text.

    `earlier` is the number of the earlier block that has most of the repeated words; -1 if nothing is repeated.
    """

    share: float
    earlier: int


def overlaps(blocks: Sequence[TextBlock]) -> list[Overlap]:
    """Return for each block the fraction of its words that repeat earlier blocks, or earlier words of the block itself.

    Runs of five words are compared; a block of three or four words is compared as a whole. A line that names a record
    by its id and title counts as a reference, and not as a repetition.
    """
    seen: dict[tuple[str, ...], int] = {}
    return [_overlap(number, block.text, seen) for number, block in enumerate(blocks)]


def _overlap(number: int, text: str, seen: dict[tuple[str, ...], int]) -> Overlap:
    prose = _REFERENCE.sub("", text)
    cells = [plain_words(cell) for cell in prose.split(" | ")]  # a run does not span the facts of a record
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
            is_prose = sum(map(str.isalpha, run)) >= _LETTERS * length
            if is_prose and run in seen:
                covered[start : start + length] = b"\1" * length
                earlier[seen[run]] += 1
            elif is_prose:
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
    """Return what a text says with as little markup as possible, to see which share of its tokens is useful.

    Each title is on a line, with its text below it. Phrases that say nothing are left out.
    """
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
    """Return the phrases in a text that say nothing, such as "please note that"."""
    return [match[0].strip() for match in _PADDING.finditer(text)]


_FIRST = 40  # blocks among which a text states its task


class Measured(NamedTuple):
    """A block with its measures: `overlap` with earlier blocks, what is `stale`, and its `weight` from 0 to 10.

    `before` is the number of tokens of all earlier blocks. `is_preserved` says whether the block must stay whatever the
    task is. `is_relevant` says whether the block bears on the task. It is None if that was not judged: there was no
    task, or a pack lists the block as left out. If a block does not bear on the task, but must stay and shows no
    record, it is also None, so that the block does not count as irrelevant.
    """

    block: TextBlock
    overlap: Overlap
    stale: staleness.StaleBlock
    weight: int
    is_relevant: bool | None
    before: int
    is_preserved: bool = False

    @property
    def useful(self) -> float:
        """The number of the block's tokens that are relevant, not repeated and not outdated."""
        if self.is_relevant is False:
            return 0.0
        return self.block.tokens * (1 - self.overlap.share) * (1 - self.stale.share)


class Measures(NamedTuple):
    """A text with the measures of its blocks.

    `tokens` is the sum over all blocks, and `useful_text_tokens` the size of the text without markup and without
    phrases that say nothing; `padding` has these phrases. `task` is the task by which relevance was judged, "" for
    none.
    """

    parsed: ParsedText
    blocks: list[Measured]
    tokens: int
    useful_text_tokens: int
    padding: list[str]
    task: str

    @property
    def content(self) -> list[Measured]:
        """The blocks that have text, and are not only a heading."""
        return [item for item in self.blocks if not item.block.is_heading]

    def share(self, tokens: float) -> float:
        """Return `tokens` as a fraction of the tokens of all blocks; 0.0 if there are no blocks."""
        return tokens / self.tokens if self.tokens else 0.0

    @property
    def irrelevant(self) -> list[Measured]:
        """The blocks with text that do not bear on the task.

        Blocks whose relevance was not judged are not among them.
        """
        return [item for item in self.content if item.is_relevant is False]


def measure(parsed: ParsedText, known: staleness.Over, now: str, count: CountTokens, task: str = "") -> Measures:
    """Return the measures of a text; its relevance is only judged if there is a `task`.

    `known` says which records of the memory no longer hold. `now` is the present time, from which the age of dates in
    the text is counted. `count` counts tokens.
    """
    weighed = weights(parsed)
    again = overlaps(parsed.blocks)
    old = staleness.stale(parsed, known, now)
    must_stay = preserved(parsed)
    bears = _bearing(parsed, task, must_stay) if task else [None] * len(parsed.blocks)
    blocks, before = [], 0
    for block in parsed.blocks:
        number = block.number
        values = (again[number], old[number], weighed[number], bears[number], before, number in must_stay)
        blocks.append(Measured(block, *values))
        before += block.tokens
    useful = useful_text(parsed)
    tokens = min(count(useful, parsed.kind) if useful else 0, parsed.tokens)
    return Measures(parsed, blocks, before, tokens, padding(parsed.text), task)


def _bearing(parsed: ParsedText, task: str, must_stay: set[int]) -> list[bool | None]:
    """Return for each block whether it bears on a task; None if it does not, but must stay."""
    units = units_of(parsed)
    must_stay = {number for number in must_stay if units[number] < 0}
    aside: set[int] = set()
    for block in parsed.blocks:  # parents come before their children
        if block.parent in aside or is_aside(block):
            aside.add(block.number)
    relevance = relevant(parsed, task)
    return [None if n in aside or (n in must_stay and not bears) else bears for n, bears in enumerate(relevance)]


def stated_task(parsed: ParsedText) -> str:
    """Return the task that a text states, in a line such as `Task: …` or under a title such as Mission; "" if none.

    A task in a record is ignored, because it is not the task that the text was made for.
    """
    first = [block for block in parsed.blocks[:_FIRST] if not any(map(is_record, [block, *parsed.ancestors(block)]))]
    for block in first:
        for line in block.text.split("\n"):
            if line.lower().startswith(TASK_LINES):
                return line.partition(":")[2].strip()
    for block in first:
        is_short = len(block.title.replace("_", " ").split()) <= 2
        if is_short and "mission" in parts(block) and not block.is_heading:
            return block.text.strip()
    return ""
