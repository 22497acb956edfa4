"""Last resorts when the steps of a compression engine do not free enough tokens, and checks of what the steps lost.

The manager and commands call these functions. The steps themselves are in `CompressionEngine.run_steps`
(rules.md#window-compression).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import msgspec

from memctl.window.compression import sub_agent
from memctl.window.compression.engine import CompressionEngine
from memctl.window.compression.result import Cascade, CompressionStep, Step, step_of
from memctl.window.eviction.engine import EvictionEngine
from memctl.window.messages.conversation import Conversation
from memctl.window.preservation import checklist, essentials
from memctl.window.steps import ALL, SUB_AGENT


def shorten_unread(engine: CompressionEngine, done: Cascade, most: int) -> Cascade:
    """Sum up tools' results that the model has not read yet, until the conversation has at most `most` tokens.

    The largest result comes first. `done` has the conversation and the steps that ran so far. The result has one more
    step, called `unread_results`; it is `done` itself if the conversation is small enough already.
    """
    before, free = done.conversation, done.tokens - most
    if free <= 0:
        return done
    made = engine.summarize_results(before, free, is_unread=True)
    step = step_of(made, free, before, name="unread_results")
    return msgspec.structs.replace(done, conversation=made.conversation, steps=(*done.steps, step))


def delegate(engine: CompressionEngine, done: Cascade, goal: str, given: set[str]) -> Cascade:
    """Have a sub-agent do one open subtask, so that the work on it does not fill this window.

    The subtask is the first open one that is worth a window of its own. The sub-agent's summary is added after the last
    message. `goal` is the goal of the whole task. `given` has the subtasks that were delegated before; the new one is
    added to this set.

    `done` has the conversation and the steps that ran so far. The result has one more step. It is `done` itself if the
    conversation is small enough already, or if the engine has no `dispatcher`, which starts sub-agents.
    """
    conversation = done.conversation
    size, wanted = conversation.tokens, conversation.tokens - done.target
    if engine.dispatcher is None or wanted <= 0:
        return done
    subtask, context, why = sub_agent.choose_subtask(conversation.blocks, goal, given)
    step, text = Step(SUB_AGENT, size, size, wanted, refused=why), ""
    if subtask:
        given.add(subtask)
        made = engine.dispatch_to_sub_agent(subtask, context)
        step = step_of(CompressionStep(conversation, made), wanted, conversation, name=SUB_AGENT, note=subtask)
        if not made.refused:
            text = f"[Summary of a sub-agent that did: {subtask}]\n{made.compressed_content}"
            conversation = conversation.with_text(text, engine.counter)
    return Cascade(conversation, done.target, (*done.steps, step), text)


@dataclass(frozen=True)
class Reduction:
    """A conversation made smaller, with two checks of what it lost.

    The first check uses the same rules as the steps of the cascade: `wanted` are the things that the rules say must
    survive, such as decisions, errors and paths, and `lost` are the wanted things that are gone. The second check uses
    a list made by other code (the module `checklist`), so that it also finds what the rules overlook: `listed` are the
    things on this list, and `missed` are the listed things that are gone.
    """

    cascade: Cascade
    wanted: tuple[essentials.Essential, ...]
    lost: tuple[essentials.Essential, ...] = ()
    listed: tuple[checklist.Entry, ...] = ()
    missed: tuple[checklist.Entry, ...] = ()

    @property
    def conversation(self) -> Conversation:
        """The conversation after it was made smaller."""
        return self.cascade.conversation

    @property
    def number_listed(self) -> int:
        """How many things were looked for."""
        return len(self.listed)

    @property
    def by_kind(self) -> dict[str, tuple[int, int]]:
        """For each kind of thing that had to survive, such as "path": how many there were, and how many still exist."""
        lost = Counter(thing.kind for thing in self.lost)
        wanted = Counter(thing.kind for thing in self.wanted)
        return {kind: (number, number - lost[kind]) for kind, number in wanted.items()}


def reduce(
    conversation: Conversation,
    target: int,
    engine: CompressionEngine,
    evictor: EvictionEngine,
    steps: Collection[str] = ALL,
) -> Reduction:
    """Make a conversation smaller until it has at most `target` tokens, and check what it lost.

    `engine` compresses, `evictor` takes blocks (pieces of the conversation, such as old results) out, and `steps` are
    the names of the steps of the cascade that may run. If the target can't be reached, all of these steps run, and no
    error is raised.
    """
    wanted = tuple(essentials.of_blocks(conversation.blocks))
    done = engine.run_steps(conversation, target, steps, evictor, is_guarded=True)
    if not done.steps:
        return Reduction(done, wanted)
    lost = tuple(essentials.missing(wanted, done.conversation.blocks))
    listed = checklist.of_blocks(conversation.blocks)
    missed = checklist.missing(listed, checklist.text_of(done.conversation.blocks))
    return Reduction(done, wanted, lost, tuple(listed), tuple(missed))
