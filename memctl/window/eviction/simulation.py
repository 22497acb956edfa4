"""What a whole conversation would have cost under an eviction policy: a replay of it, request by request.

Nothing is asked of a model and nothing is written: the requests are those that were made, and before each of them the
policy evicts what it would have. What it evicts too early shows as regret: a later block names something whose content
is gone by then (`references`), so that it would have had to be got again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from memctl.tokens.messages import PER_MESSAGE, PER_REQUEST
from memctl.window.eviction import references
from memctl.window.eviction.engine import EvictionEngine
from memctl.window.eviction.policies import EvictionPolicy
from memctl.window.eviction.protection import protected
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, recount

TRIGGER, TARGET = 0.75, 0.60  # S4: where the orange zone begins, and what `_active_management` aims at
_AGAIN = 0.02  # of the budget: so much more must stand there before what has freed too little is tried again
_OF_MODEL = (ContentType.ASSISTANT_RESPONSE, ContentType.THINKING)


class Replay(msgspec.Struct, frozen=True):
    """What became of the requests under one policy; tokens are those of requests.

    `saved` is what all requests together had less than without management. `evictions` is how often the policy was
    called, `evicted` how many blocks went, `over_budget` how many requests had more than the budget although it was
    called: there the window begins anew, with the task and what is at work. `regrets` counts references to what was
    gone, once for a block and a turn, and `regret_tokens` what was lost of those blocks.
    """

    policy: EvictionPolicy
    requests: int
    unmanaged: int
    managed: int
    peak: int
    evictions: int
    evicted: int
    over_budget: int
    regrets: int
    regret_tokens: int
    curve: tuple[int, ...]

    @property
    def saved(self) -> int:
        return self.unmanaged - self.managed

    def per_hundred(self, number: int) -> float:
        """A number per 100 requests."""
        return round(100 * number / self.requests, 1) if self.requests else 0.0


class _Request(msgspec.Struct, frozen=True):
    """A request: the places of the blocks that came since the one before, its turn, and its messages so far."""

    new: range
    turn: int
    messages: int


class Simulation:
    """A conversation that policies are tried on. `blocks` are all that were ever in it, in their order."""

    def __init__(self, blocks: Sequence[ContentBlock], counter: TokenCounter) -> None:
        self._blocks = blocks
        self._counter = counter
        self._requests = list(_requests(blocks))
        self._referred: dict[int, set[int]] = {}  # turn -> the places of what is referred to in it
        for pair in references.pairs(blocks):
            if blocks[pair.meant].content_type is ContentType.THINKING:
                continue
            self._referred.setdefault(blocks[pair.by].turn_created, set()).add(pair.meant)
        self.curve = tuple(self._unmanaged())

    def _unmanaged(self) -> Iterator[int]:
        tokens = 0
        for request in self._requests:
            tokens += sum(self._blocks[place].token_count for place in request.new)
            yield tokens + _overhead(request)

    def replay(
        self, policy: EvictionPolicy | str, budget: int, *, trigger: float = TRIGGER, target: float = TARGET
    ) -> Replay:
        """Replay all requests: whenever one would have more than `trigger` of the budget, evict down to `target`."""
        engine = EvictionEngine(policy, counter=self._counter)
        window = _Window(engine, self._counter)
        curve: list[int] = []
        evictions = over = regrets = regret_tokens = again = 0
        for request in self._requests:
            for place in request.new:
                window.add(self._blocks[place])
            tokens = window.tokens + _overhead(request)
            if tokens > max(trigger * budget, again):
                evictions += 1
                window.evict(tokens - int(target * budget), request.turn)
                tokens = window.tokens + _overhead(request)
                again = tokens + int(_AGAIN * budget) if tokens > trigger * budget else 0
            if tokens > budget:
                over += 1
                window.begin_anew(request.turn)
                tokens, again = window.tokens + _overhead(request), 0
            curve.append(tokens)
            for place in self._referred.get(request.turn, ()):
                lost = window.lost.get(self._blocks[place].block_id, 0)
                regrets += lost > 0
                regret_tokens += lost
        return Replay(
            policy=engine.policy,
            requests=len(curve),
            unmanaged=sum(self.curve),
            managed=sum(curve),
            peak=max(curve, default=0),
            evictions=evictions,
            evicted=len(window.lost),
            over_budget=over,
            regrets=regrets,
            regret_tokens=regret_tokens,
            curve=tuple(curve),
        )


class _Window:
    """The blocks in a window now; `lost` is what went of the others, in tokens, by their ids."""

    def __init__(self, engine: EvictionEngine, counter: TokenCounter) -> None:
        self.lost: dict[str, int] = {}
        self.tokens = 0
        self._engine = engine
        self._counter = counter
        self._blocks: list[ContentBlock] = []

    def add(self, block: ContentBlock) -> None:
        self._blocks.append(block)
        self.tokens += block.token_count

    def evict(self, free: int, turn: int) -> None:
        result = self._engine.evict(self._blocks, free, turn)
        self._replace(result.replacements)

    def begin_anew(self, turn: int) -> None:
        """Let all go but what has to stay."""
        held = protected(self._blocks, turn)
        self._replace({block.block_id: None for block in self._blocks if block.block_id not in held})

    def _replace(self, texts: Mapping[str, str | None]) -> None:
        kept: list[ContentBlock] = []
        for block in self._blocks:
            if block.block_id not in texts:
                kept.append(block)
                continue
            text = texts[block.block_id]
            tokens = recount(block, text, self._counter) if text is not None else 0
            self.lost[block.block_id] = self.lost.get(block.block_id, 0) + block.token_count - tokens
            self.tokens -= block.token_count - tokens
            if text is not None:
                kept.append(msgspec.structs.replace(block, content=text, token_count=tokens))
        self._blocks = kept


def _requests(blocks: Sequence[ContentBlock]) -> Iterator[_Request]:
    """The requests that were made: each answer had one, with all that stands before it."""
    start = turn = 0
    for place, block in enumerate(blocks):
        if block.content_type in _OF_MODEL and block.turn_created > turn:
            turn = block.turn_created
            yield _Request(range(start, place), turn, block.message)
            start = place


def _overhead(request: _Request) -> int:
    return PER_REQUEST + PER_MESSAGE * request.messages
