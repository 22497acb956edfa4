"""Replays a conversation under an eviction policy, request by request, to see what the policy would have cost.

No model is asked and nothing is written: the requests are those of the conversation, and before each of them the policy
may evict blocks. If an evicted block is needed later, getting it back costs tokens. Such a case is a regret, and is
counted as follows:

- A later block may name something that was evicted (by path, identifier or id; see `references`). The model would then
  have to fetch it again. Evicted content of every kind counts (results, answers, thinking), because the model that
  wrote the conversation could see all of it, and which parts it needed is not known.
- There is no regret if the same turn fetches the content again, by repeating the call or reading the file: the
  conversation pays for this with or without the eviction. After that, references mean the new content.
- Any other reference costs the tokens of the whole content. The content is put back at the end before the next request.
  From then on it counts, and can be evicted and regretted again, which makes `Replay.saved` smaller. The requests that
  would fetch the content are neither made nor counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

import msgspec

from memctl.record import argument_checks
from memctl.session import tool_calls
from memctl.text.actions import READ
from memctl.tokens.messages import PER_MESSAGE, PER_REQUEST
from memctl.tokens.model_windows import AGAIN, ORANGE_AT, TARGET
from memctl.transcript.events import CALL, Event
from memctl.window.eviction import references
from memctl.window.eviction.engine import EvictionEngine, protected
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, check_blocks, recount
from memctl.window.steps import EvictionPolicy

_OF_MODEL = (ContentType.ASSISTANT_RESPONSE, ContentType.THINKING)


class Replay(msgspec.Struct, frozen=True):
    """What the requests of a conversation would cost under one eviction policy, in tokens of whole requests.

    `tokens` is the sum over all requests, and `saved` is how much more it would be without the policy. `peak` is the
    largest request, and `curve` has them all. `evictions` is how often the policy ran, and `blocks_evicted` how many
    blocks it evicted. `over_budget` is the number of requests that exceeded the budget in spite of the policy; before
    each of them, everything that need not stay was taken out of the window. `regrets` is how often an evicted block was
    needed later, and `regret_tokens` how many tokens it took to get these blocks again; both are also given per 100
    requests.
    """

    policy: EvictionPolicy
    tokens: int
    saved: int
    peak: int
    evictions: int
    blocks_evicted: int
    over_budget: int
    regrets: int
    regret_tokens: int
    regrets_per_100_requests: float
    regret_tokens_per_100_requests: float
    curve: tuple[int, ...]


class Unmanaged(msgspec.Struct, frozen=True):
    """What the requests of a conversation cost without a policy: the sum, the largest, and each, in tokens."""

    tokens: int
    peak: int
    curve: tuple[int, ...]


class Comparison(msgspec.Struct, frozen=True):
    """A conversation replayed under several policies, with the `budget`, `trigger` and `target` that they had.

    `source` is the name of its file, of which `broken_lines` lines can't be read, and `model` counted the tokens.
    """

    source: str
    model: str
    budget: int
    trigger: float
    target: float
    broken_lines: int
    requests: int
    unmanaged: Unmanaged
    policies: list[Replay]


class _Request(msgspec.Struct, frozen=True):
    """A request: the places of the blocks that came since the one before, its turn, and its messages so far."""

    new: range
    turn: int
    messages: int


class Simulation:
    """A conversation on which eviction policies are tried out.

    `blocks` are all blocks that were ever in the conversation, in their order. `counter` must be the counter that
    counted their tokens. The attribute `curve` has the tokens of each request without a policy.
    """

    def __init__(self, blocks: Sequence[ContentBlock], counter: TokenCounter) -> None:
        check_blocks(blocks)
        self._blocks = blocks
        self._counter = counter
        self._requests = list(_requests(blocks))
        self._wanted_blocks = _wanted_blocks(blocks)
        sums = accumulate(sum(blocks[place].token_count for place in request.new) for request in self._requests)
        self.curve = tuple(tokens + _overhead(request) for tokens, request in zip(sums, self._requests, strict=True))

    def replay(
        self,
        policy: EvictionPolicy | str,
        budget: int,
        *,
        trigger: float = ORANGE_AT,
        target: float = TARGET,
    ) -> Replay:
        """Replay all requests under a policy, which evicts blocks before each request that is too large.

        `budget` is in tokens. A request is too large if it has more than the fraction `trigger` of the budget; blocks
        are then evicted until it has only the fraction `target` of the budget.
        """
        argument_checks.numbers(budget=budget, trigger=trigger, target=target)
        engine = EvictionEngine(policy, counter=self._counter)
        window = _Window(self._counter)
        curve: list[int] = []
        evictions = over = regrets = regret_tokens = again = 0
        for request in self._requests:
            for place in request.new:
                window.add(self._blocks[place])
            tokens = window.tokens + _overhead(request)
            if tokens > max(trigger * budget, again):
                evictions += 1
                result = engine.evict(window.blocks, tokens - int(target * budget), request.turn)
                window.replace(result.replacements)
                tokens = window.tokens + _overhead(request)
                again = tokens + int(AGAIN * budget) if tokens > trigger * budget else 0
            if tokens > budget:
                over += 1
                held = protected(window.blocks, request.turn)
                window.replace({block.block_id: None for block in window.blocks if block.block_id not in held})
                tokens, again = window.tokens + _overhead(request), 0
            curve.append(tokens)
            for place in self._wanted_blocks.get(request.turn, ()):
                again_there = window.get_again(self._blocks[place], request.turn)
                regrets, regret_tokens = regrets + (again_there > 0), regret_tokens + again_there
        managed, requests = sum(curve), max(len(curve), 1)
        return Replay(
            policy=engine.policy,
            tokens=managed,
            saved=sum(self.curve) - managed,
            peak=max(curve, default=0),
            evictions=evictions,
            blocks_evicted=window.evicted,
            over_budget=over,
            regrets=regrets,
            regret_tokens=regret_tokens,
            regrets_per_100_requests=round(100 * regrets / requests, 1),
            regret_tokens_per_100_requests=round(100 * regret_tokens / requests, 1),
            curve=tuple(curve),
        )


class _Window:
    """The blocks in a window now, and how many were evicted so far."""

    def __init__(self, counter: TokenCounter) -> None:
        self.tokens = 0
        self.evicted = 0
        self.blocks: list[ContentBlock] = []
        self._counter = counter
        self._gone: set[str] = set()  # the ids of blocks whose content is nowhere
        self._copies: dict[str, str] = {}  # what was got again: its id -> that of the block whose content it is

    def add(self, block: ContentBlock) -> None:
        self.blocks.append(block)
        self.tokens += block.token_count

    def get_again(self, block: ContentBlock, turn: int) -> int:
        if block.block_id not in self._gone:
            return 0
        copy = f"{block.block_id}@{turn}"
        self._gone.remove(block.block_id)
        self._copies[copy] = block.block_id
        self.add(msgspec.structs.replace(block, block_id=copy, turn_created=turn))
        return block.token_count

    def replace(self, texts: Mapping[str, str | None]) -> None:
        remaining: list[ContentBlock] = []
        for block in self.blocks:
            if block.block_id not in texts:
                remaining.append(block)
                continue
            text = texts[block.block_id]
            tokens = recount(block, text, self._counter) if text is not None else 0
            self.evicted += 1
            self._gone.add(self._copies.get(block.block_id, block.block_id))
            self.tokens -= block.token_count - tokens
            if text is not None:
                remaining.append(msgspec.structs.replace(block, content=text, token_count=tokens))
        self.blocks = remaining


def _requests(blocks: Sequence[ContentBlock]) -> Iterator[_Request]:
    start = turn = 0
    for place, block in enumerate(blocks):
        if block.content_type in _OF_MODEL and block.turn_created > turn:
            turn = block.turn_created
            yield _Request(range(start, place), turn, block.message)
            start = place


def _overhead(request: _Request) -> int:
    return PER_REQUEST + PER_MESSAGE * request.messages


def _wanted_blocks(blocks: Sequence[ContentBlock]) -> dict[int, list[int]]:
    """Return for each turn the places of the blocks that it refers to and does not fetch again itself.

    A call fetches again what the same call got before, and the files that it reads.
    """
    got: dict[int, set[str]] = {}
    of_calls: dict[str, set[str]] = {}
    for block in blocks:
        if block.is_call:
            same = f"call {block.tool_name} {block.content}"
            touches = [*tool_calls.touched(Event(CALL, tool=block.tool_name, arguments=block.arguments))]
            read = {f"file {touch.path}" for touch in touches if touch.action == READ}
            got.setdefault(block.turn_created, set()).update({same}, read)
            of_calls[block.call_id] = {same, *(f"file {touch.path}" for touch in touches)}
    wanted: dict[int, set[int]] = {}
    for pair in references.pairs(blocks):
        turn, meant = blocks[pair.by].turn_created, blocks[pair.meant]
        if not of_calls.get(meant.call_id, set()) & got.get(turn, set()):
            wanted.setdefault(turn, set()).add(pair.meant)
    return {turn: sorted(places) for turn, places in wanted.items()}
