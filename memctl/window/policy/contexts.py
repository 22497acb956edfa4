"""Measures of what agents have in their windows: shared slice, working sets, context debt, planned growth.

The working set of an agent is its whole context, and its context debt is text in it that is repeated or outdated. The
shared slice of several contexts consists of the blocks that all of them have. If there is only one context, the slice
is extracted from it: mission, phase (such as planning) and plan, open risks, unresolved decisions, and anchors, which
are lists of references (rules.md#shared-context). A batch is the work that several agents do at the same time.

Other values are declared in a description file, YAML or JSON with all keys optional. Values that nobody declares are
measured from the log of earlier batches and from the events of the workflow (`observations.measure_state`):

    threshold: 2000                   # SCS_THRESHOLD; else scs_threshold in config.yaml
    remaining_budget: 60000           # tokens left in the window
    delta_payload: 400                # tokens of the results that all parallel agents will return, together
    unresolved_dependencies: [the schema comes first]      # work that has to wait for other work
    pending_escalations: [security review of the login]    # high risk: security, legacy, network
    deferred_compressions: 1          # triggers that fired and were put off
    event_schema: true                # structured events are defined for all communication
    resumable: true                   # an agent can resume its work from each context
    phase_boundary: false             # true: a phase, such as planning, has ended
    batches_since_compression: 2      # batches of parallel work
    aws_before: 6500                  # tokens of the working set when the last batch began
    events: 12                        # of the workflow, since the last checkpoint
    scs_history: [1500, 1700, 1650]   # tokens after each of the last batches
    next_phase_scs: 300               # tokens that the next phase will add to the shared slice
    parallel_denials: 0               # how often in a row parallel work was refused
    unresolved_details: []            # what a compression would have to drop although it is needed
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec

from memctl.errors import MemctlError
from memctl.record import ids
from memctl.record.errors import describe
from memctl.record.frontmatter import read_yaml
from memctl.search.readiness import OpenWork
from memctl.text.fit import first_sentence
from memctl.text.similarity import comparable
from memctl.window.policy import measures
from memctl.window.policy.blocks import CODE, DATA, LIST, TEXT, CountTokens, ParsedText, TextBlock
from memctl.window.policy.measures import Measured, Measures

Tokens = Annotated[int, msgspec.Meta(ge=0)]
Number = Annotated[int, msgspec.Meta(ge=0)]


class ContextState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known about agents' contexts besides their texts; each value was declared in a file or measured.

    For example, `remaining_budget` is the number of tokens left in the window, and `aws_before` the size of the largest
    context when the last parallel work began. The module's docstring lists all values. None means that a value is not
    known.
    """

    threshold: Annotated[int, msgspec.Meta(ge=1)] | None = None
    remaining_budget: Tokens | None = None
    delta_payload: Tokens | None = None
    unresolved_dependencies: list[str] | None = None
    pending_escalations: list[str] | None = None
    deferred_compressions: Number | None = None
    event_schema: bool | None = None
    resumable: bool | None = None
    phase_boundary: bool | None = None
    batches_since_compression: Number | None = None
    aws_before: Tokens | None = None
    events: Number | None = None
    scs_history: list[Tokens] | None = None
    next_phase_scs: Tokens | None = None
    parallel_denials: Number | None = None
    unresolved_details: list[str] | None = None

    def known(self) -> dict[str, object]:
        """Return the values that are known; their keys are those of a description file."""
        return {key: value for key, value in msgspec.structs.asdict(self).items() if value is not None}


def parse(text: str, name: str) -> ContextState:
    """Return the values in a description file of agents' contexts; `text` is its content, YAML or JSON.

    `name` is the file's name for error messages. Raises a MemctlError that names the key, and for YAML the line.
    """
    try:
        if text.lstrip().startswith("{"):
            return msgspec.json.decode(text, type=ContextState)
        return msgspec.convert(read_yaml(text, name, _HINT), ContextState)
    except msgspec.ValidationError as error:
        raise MemctlError(f"{name}: {describe(error)}", _HINT) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise MemctlError(f"{name} is not JSON: {error}", _HINT) from None


_HINT = f"the keys of a context are {', '.join(ContextState.__struct_fields__)}"


SCS_THRESHOLD = 2_000  # tokens; rules.md#shared-context
MACRO_AWS = 8_000  # tokens of a working set above which a macro summary is mandatory
BURST = 0.15  # predicted growth of the working set that is a token burst
_SLICE = {"mission", "phase", "next", "risks", "anchors"}
_UNRESOLVED = re.compile(r"\b(?:proposed|pending|unresolved|undecided|open|to be decided)\b", re.IGNORECASE)
_REPEATED = 0.8  # of a block stood before: it is another copy or version of it

GIVEN, COMMON, EXTRACTED, NONE = (
    "given",
    "what all contexts share",
    "taken from blocks with titles such as Mission or Risks",
    "no context",
)


class Context(msgspec.Struct, frozen=True):
    """The context of one agent: the name of the file with it, and the measures of its text."""

    name: str
    measures: Measures

    @property
    def tokens(self) -> int:
        """The size of the agent's working set (AWS), which is the whole context, in tokens."""
        return self.measures.parsed.tokens


class Slice(msgspec.Struct, frozen=True):
    """The shared context slice (SCS), which is what the contexts of several agents have in common.

    `source` says where the blocks come from: the slice was given, it is what all contexts share, or it was extracted
    from a single context.
    """

    tokens: int
    blocks: list[TextBlock]
    source: str


class Burst(msgspec.Struct, frozen=True):
    """How much a working set (the whole context of an agent) will grow in the next batch of parallel work.

    `planned` is the number of tokens that the batch adds, and `growth` is the same as a fraction of the working set.
    `over` is the number of planned tokens for which the budget has no room; it is negative if there is room left.
    """

    planned: int
    growth: float
    over: int  # of what is planned, beyond what is left of the budget; negative if there is room

    @property
    def is_burst(self) -> bool:
        """Whether the working set would grow by more than 15 %."""
        return self.growth > BURST


def shared_slice(contexts: Sequence[ParsedText], given: ParsedText | None = None) -> Slice:
    """Return the shared slice of several contexts: the blocks that all contexts have, with equal title and words.

    `given` is a text that is used as the slice instead. If there is only one context, its slice is its mission, its
    phase and plan, open risks, unresolved decisions, and anchors (lists of references).
    """
    if given is not None:
        return Slice(given.tokens, given.blocks, GIVEN)
    if not contexts:
        return Slice(0, [], NONE)
    if len(contexts) == 1:
        blocks = _extracted(contexts[0])
        return Slice(sum(block.tokens for block in blocks), blocks, EXTRACTED)
    if all(context.text == contexts[0].text for context in contexts):
        return Slice(contexts[0].tokens, contexts[0].blocks, COMMON)
    others = [{_key(block) for block in context.blocks} for context in contexts[1:]]
    first = {_key(block): block for block in contexts[0].blocks}
    blocks = [block for key, block in first.items() if key and all(key in other for other in others)]
    return Slice(sum(block.tokens for block in blocks), blocks, COMMON)


def _extracted(context: ParsedText) -> list[TextBlock]:
    passes = context.passes_down()
    chosen: set[int] = set()
    for block in context.blocks:
        parent = block.parent
        if (parent in chosen and passes[parent]) or _is_shared(block):
            chosen.add(block.number)
    return [context.blocks[number] for number in sorted(chosen)]


def _is_shared(block: TextBlock) -> bool:
    part_names = measures.parts(block)
    is_undecided = "decisions" in part_names and _UNRESOLVED.search(f"{block.title} {block.text[:200]}")
    return bool(part_names & _SLICE) or bool(is_undecided)


def _key(block: TextBlock) -> str:
    return comparable(f"{block.title}\n{block.text}")


def dependencies(contexts: Sequence[Context], work: OpenWork) -> list[str]:
    """Return a sentence for each record that one agent works on and that has to wait for another agent's work.

    Such a sentence is `ISS-1 of a.md is blocked by ISS-2 of b.md`. Agents with such records should not work in
    parallel. An agent works on the records whose ids are in the mission, inputs and next steps of its context. `work`
    tells which open records block a record.
    """
    work_ids = {context.name: _named_work(context) for context in contexts}
    known = {record.id: record for record in work.all}
    sentences = []
    for name, own in work_ids.items():
        for record in [known[identifier] for identifier in sorted(own) if identifier in known]:
            for blocker in work.blockers(record):
                others = [other for other, theirs in work_ids.items() if other != name and blocker.id in theirs]
                sentences += [f"{record.id} of {name} is blocked by {blocker.id} of {other}" for other in others]
    return sentences


def _named_work(context: Context) -> set[str]:
    blocks = context.measures.parsed.blocks
    texts = [block.text for block in blocks if measures.parts(block) & {"mission", "inputs", "next"}]
    return {match[0] for text in texts for match in ids.PATTERN.finditer(text)}


class Debt(msgspec.Struct, frozen=True):
    """The context debt of an agent's context: text that repeats earlier blocks, or that is outdated.

    `tokens` is the size of this text, and `ratio` the fraction of the context that it makes up (0 to 1). `blocks` are
    the blocks that have such text.
    """

    tokens: int
    ratio: float
    blocks: list[Measured]

    @property
    def lines(self) -> list[int]:
        """The lines of the blocks."""
        return [item.block.line for item in self.blocks]


def debt(measures: Measures) -> Debt:
    """Return the context debt of a measured context: text that repeats earlier blocks, or that is outdated.

    `measures` has the context's blocks. A block counts as repeated if at least 80 % of its words are in earlier blocks.
    """
    owed = [item for item in measures.content if item.overlap.share >= _REPEATED or item.stale.share > 0]
    repeated = [item.overlap.share if item.overlap.share >= _REPEATED else 0.0 for item in owed]
    tokens = round(sum(i.block.tokens * max(share, i.stale.share) for i, share in zip(owed, repeated, strict=True)))
    return Debt(tokens, measures.share(tokens), owed)


def burst(planned: int, working_set: int, remaining: int) -> Burst:
    """Return how much a context of `working_set` tokens grows if `planned` tokens are added.

    `remaining` is the number of tokens left in the budget. In an empty context any growth counts as 100 %.
    """
    growth = planned / working_set if working_set else float(planned > 0)
    return Burst(planned, growth, planned - remaining)


TIERS = (("micro", 50), ("phase", 300), ("macro", 800))  # the most tokens of each
REDUCTION = 0.12  # of the shared slice, at least
_VERBOSE = 60  # tokens of a paragraph; a shorter one has no reasoning to collapse
_EXCERPT = 200  # tokens of code that are worth an anchor
_ANCHOR = 25  # tokens of a hash with its lines
_PATH = re.compile(r"(?<![\w./-])(?:[\w.-]+/)+[\w.-]+\.\w{1,8}\b")
_SECURITY = re.compile(
    r"\b(?:auth\w*|passw\w+|secret|token|crypt\w*|permission\w*|sql|saniti[sz]\w*|csrf|xss)\b", re.IGNORECASE
)


class Tier(msgspec.Struct, frozen=True):
    """The size class of the summary that is to replace the shared slice, which is what all agents' contexts share.

    `name` is "micro", "phase" or "macro", from small to large. `most` is the number of tokens that such a summary may
    have, and `needs` how many it would have with one sentence for each long block. `reduction` is the fraction of the
    slice that the summary saves. `why` is the reason for the choice, as a sentence.
    """

    name: str
    most: int
    needs: int
    reduction: float
    why: str

    @property
    def is_enough(self) -> bool:
        """Whether the summary makes the shared slice at least 12 % smaller."""
        return self.reduction >= REDUCTION


class Strategy(msgspec.Struct, frozen=True):
    """A way to make a context smaller, with the tokens that it would save.

    `number` is its place in the order in which such ways are to be tried. `lines` has, for each block that it would
    change, the number of the block's first line in the text (from 1).
    """

    number: int
    name: str
    saves: int
    lines: list[int]


def choose(shared: Slice, working_set: int, count: CountTokens) -> Tier:
    """Choose the size class of the summary that is to replace the shared slice: micro, phase or macro.

    The summary is to have the first sentence of each paragraph and list of `shared` that is longer than a sentence, and
    the smallest class with room for them is chosen. There are two reasons for the largest class, macro: no class has
    the room, or the largest context has more than 8,000 tokens (`working_set`). `count` counts tokens.
    """
    long = [block for block in shared.blocks if block.kind in (TEXT, LIST)]
    outcomes = {block.text: count(first_sentence(block.text), "markdown") for block in long}
    # A second copy needs no outcome of its own.
    gains = [(block, min(outcomes.pop(block.text, 0), block.tokens)) for block in long]
    gains = [(block, outcome) for block, outcome in gains if outcome < block.tokens]
    needs = sum(outcome for _, outcome in gains)
    name, most = next(((name, most) for name, most in TIERS if needs <= most), TIERS[-1])
    why = f"a summary with one sentence for each of {len(gains)} long blocks has {needs:,} tokens"
    if needs > most:
        why += ", more than a summary may have: leave out the least important blocks"
    if working_set > MACRO_AWS:
        name, most = TIERS[-1]
        why = f"mandatory: the working set has {working_set:,} tokens, more than {MACRO_AWS:,}; {why}"
    saved = sum(block.tokens for block, _ in gains) - min(needs, most)
    return Tier(name, most, needs, saved / shared.tokens if shared.tokens else 0.0, why)


def strategies(measures: Measures, count: CountTokens) -> list[Strategy]:
    """Return the ways to make a measured context smaller, in the order in which they are to be tried.

    Each of them says how many tokens it would save; that is 0 if it would change nothing. `measures` has the context's
    blocks with their measures, and `count` counts tokens.
    """

    def collapsed(item: Measured) -> int:
        return item.block.tokens - count(first_sentence(item.block.text), "markdown")

    ways: tuple[tuple[int, str, Callable[[Measured], object], Callable[[Measured], float]], ...] = (
        (1, "deduplicate unchanged plans and checklists", _is_repeated, lambda i: i.block.tokens * i.overlap.share),
        (2, "replace reasoning by a line with its outcome", _is_verbose, collapsed),
        (4, "move the reasons of what is resolved into the memory", _is_over, lambda i: i.block.tokens * i.stale.share),
        (5, "prune superseded tasks", lambda i: not _is_over(i), lambda i: i.block.tokens * i.stale.share),
        (6, "replace long code by its hash and line numbers", _is_excerpt, lambda i: i.block.tokens - _ANCHOR),
    )
    made = [_paths(measures, count)]
    for number, name, fits, saves in ways:
        useful = [(item, saved) for item in measures.content if fits(item) and (saved := saves(item)) >= 1]
        lines = [item.block.line for item, _ in useful]
        made.append(Strategy(number, name, int(sum(saved for _, saved in useful)), lines))
    return sorted(made, key=lambda way: way.number)


def _is_repeated(item: Measured) -> bool:
    return item.overlap.earlier >= 0 and item.overlap.share >= 0.5


def _is_verbose(item: Measured) -> bool:
    is_long = item.block.kind == TEXT and item.block.tokens > _VERBOSE
    return is_long and not _is_repeated(item) and not item.stale.share


def _is_over(item: Measured) -> bool:
    return any(word in item.stale.why for word in ("resolved", "done", "archived", "expired"))


def _is_excerpt(item: Measured) -> bool:
    is_long = item.block.kind in (CODE, DATA) and item.block.tokens > _EXCERPT
    return is_long and not _SECURITY.search(item.block.text)


def _paths(measures: Measures, count: CountTokens) -> Strategy:
    """Each path named more than twice goes into an index; elsewhere it becomes an anchor, which takes three tokens."""
    counted = Counter(_PATH.findall(measures.parsed.text))
    often = {path: number for path, number in counted.items() if number > 2}
    saved = sum((number - 1) * count(path, "markdown") - 3 * number for path, number in often.items())
    lines = [i.block.line for i in measures.content if any(path in i.block.text for path in often)]
    name = "list repeated paths once in an index, and refer to it"
    return Strategy(3, name, max(saved, 0), lines if saved > 0 else [])
