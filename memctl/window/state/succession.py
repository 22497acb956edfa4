"""Follows a task through several windows, and passes the state of the task from each window to the next.

If the state can't be stored (because somebody else stored a newer one, or the memory refuses it), the agent's loop goes
on; the audit log and the manager's results have the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.record.required_text import LONGEST_MISSION
from memctl.record.task_state import TaskState
from memctl.text.characters import encodable
from memctl.text.fit import LIMIT, cut
from memctl.text.fit import most as most_of
from memctl.text.markdown import one_line
from memctl.tokens.messages import PER_MESSAGE, PER_REQUEST
from memctl.window.budget.profiles import BudgetComponent
from memctl.window.budget.token_budget import TokenBudgetManager
from memctl.window.compression.engine import CompressionEngine
from memctl.window.compression.notes import MAX_TOKENS
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, count
from memctl.window.pressure.monitor import LEAVE

# What understands texts takes as long to import as all the rest: a loop that saves nothing does without it.
if TYPE_CHECKING:
    from memctl.session.progress import Progress
    from memctl.window.state.store import StateKeeper

NOTES_SHARE = 4  # notes have a fourth of the room at most
_FRAME = (ContentType.SYSTEM_PROMPT, ContentType.TOOL_DEFINITION)


def room(
    blocks: Sequence[ContentBlock], task: str, size: float, budgets: TokenBudgetManager, counter: TokenCounter
) -> int:
    """Return how many tokens a new window has for the state of the task.

    From `size`, the size of the window, these are subtracted: the system prompt and the definitions of tools in
    `blocks`, the text `task`, and the room for an answer. Raises MemctlError if the task nearly fills a window together
    with system prompt and tools.
    """
    frame = sum(block.token_count for block in blocks if block.content_type in _FRAME)
    own = frame + count(task, ContentType.USER_MESSAGE, counter) + PER_MESSAGE + PER_REQUEST
    window = budgets.max_context_tokens
    if own >= LEAVE * window:
        raise MemctlError(
            f"the task has no room in its window: with system prompt and tools it takes {own:,} of {window:,} tokens",
            "give a larger max_context_tokens, or put the long part of the task into a file that the agent reads",
            USAGE,
        )
    answer = budgets.budgets[BudgetComponent.OUTPUT_RESERVED].hard_limit_tokens / window
    return max(int(size * (1 - budgets.safety_margin - answer)) - own, 0)


def resume_within(state: TaskState, most: int, counter: TokenCounter) -> str:
    """Return a text with which an agent can continue a task, of at most `most` tokens, made from the task's state.

    It is "" if not even the goal of the task fits.
    """
    from memctl.task import resume

    def is_within(text: str) -> bool:
        return count(text, ContentType.USER_MESSAGE, counter) <= most

    limit = most_of(lambda characters: is_within(resume.write(state, limit=characters).text), 0, LIMIT)
    text = resume.write(state, limit=limit).text
    return text if is_within(text) else ""


_Identity = tuple[str, str, str]


class Saved(msgspec.Struct, frozen=True):
    """The result of saving the state of a task: the id under which it is stored, or the reason why it is not.

    `why_not` is this reason. Both are "" if there is no place to store the state.
    """

    state: TaskState
    id: str = ""
    why_not: str = ""


class Succession:
    """The progress of a task through several windows, each of which begins where the one before it ended.

    `keeper` stores the task's state for the next window; with None nothing is stored. The windows have numbers: the
    first window of this run has the number after that of the stored state, or 1 if no state is stored. `task_goal` is
    the goal of the task; "" stands for the user's first message. `criteria` say when the task is done well.
    """

    def __init__(self, keeper: StateKeeper | None, task_goal: str = "", criteria: Sequence[str] = ()) -> None:
        argument_checks.texts(task_goal=task_goal)
        argument_checks.instance(criteria, (tuple, list), "task_success_criteria", "a tuple of texts")
        self._earlier = keeper.load() if keeper is not None else None  # the state that an earlier run kept
        self.window = 1 + (self._earlier.window_id if self._earlier is not None else 0)
        for criterion in criteria:
            argument_checks.texts(criterion=criterion)
        self.task_goal = encodable(task_goal)
        self._keeper = keeper
        self._criteria = tuple(map(encodable, criteria))
        self._begun: TaskState | None = None  # how far the task was as this run began, once its first message is known
        self._progress: Progress | None = None  # how far it is, as of the last save
        self._waiting: list[list[ContentBlock]] = []  # what came since, by turn
        self._known: set[_Identity] = set()
        self._latest: _Identity | None = None  # the event that was seen last
        self._is_saved = False  # above the threshold for a safety save, in this window
        self._last: Saved | None = None
        self._given = ""  # the text that this window began with

    def observe(self, blocks: Sequence[ContentBlock]) -> None:
        """Remember the blocks that are new in the window since the last call, before they are evicted or compacted.

        `blocks` are all blocks of the window, old and new. When the state is saved, the progress of the task is found
        in the new blocks.
        """
        if self._begun is None:
            self._begun = self._first_state(blocks)
        own = self._own(blocks)
        identities = [(b.content_type.value, b.call_id, "" if b.call_id else b.content) for b in own]
        if self._latest in identities:  # all behind it is new, though its words may be those of an earlier one
            fresh = own[len(identities) - identities[::-1].index(self._latest) :]
        else:
            fresh = [block for block, name in zip(own, identities, strict=True) if name not in self._known]
        if fresh:
            self._waiting.append(fresh)
        self._known.update(identities)
        self._latest = identities[-1] if identities else self._latest

    def set_progress(self, done: Iterable[str], current: str, planned: Iterable[str] | None) -> None:
        """Set the steps of the task that are done, the current step, and the other planned steps.

        If `planned` is None, the steps that were planned before stay planned.
        """
        from memctl.task.progress import set_steps

        argument_checks.texts(current=current)
        made = self._advanced()
        state = set_steps(made.state, map(one_line, done), one_line(current), planned, "", "")
        self._progress = msgspec.structs.replace(made, state=state)

    def save(self, blocks: Sequence[ContentBlock]) -> Saved:
        """Store the state of the task for the next window, and return the result.

        The state is made from `blocks`, the present conversation, and from all blocks that `observe` was given before.
        An unchanged state is not stored again, and without a keeper nothing is stored.
        """
        self.observe(blocks)
        state = self._advanced().state
        state = msgspec.structs.replace(
            state,
            window_id=self.window,
            version=0,
            goal=cut(one_line(self.task_goal or state.goal), LONGEST_MISSION),
            success_criteria=self._criteria or state.success_criteria,
        )
        if self._last is None or self._last.why_not or self._last.state != state:
            try:
                self._last = Saved(state, self._keeper.save(state) if self._keeper is not None else "")
            except MemctlError as error:
                self._last = Saved(state, why_not=error.message)
        return self._last

    def task(self, blocks: Sequence[ContentBlock]) -> str:
        """Return the user's first message in a conversation, which is the task; "" if there is none.

        If the window began with a text of `begin_anew`, this text is removed from the message.
        """
        own = self._own(blocks)
        return next((block.content for block in own if block.content_type is ContentType.USER_MESSAGE), "")

    def _first_state(self, blocks: Sequence[ContentBlock]) -> TaskState:
        last, own = self._earlier, one_line(self.task(blocks))
        if last is not None and not last.is_finished:
            # A text of the earlier state may be what the user said first.
            is_told_of = last.goal in own and not own.startswith(last.goal)
            goal = self.task_goal or (last.goal if is_told_of or not own else own)
            if goal.startswith(last.goal.removesuffix("…").removesuffix(" …")):
                if is_told_of:
                    self._known.add((ContentType.USER_MESSAGE.value, "", self.task(blocks)))
                return last
        return TaskState(goal=cut(one_line(self.task_goal), LONGEST_MISSION))

    def _advanced(self) -> Progress:
        from memctl.session import progress
        from memctl.transcript.events import PROMPT
        from memctl.window.preservation import events

        goal = cut(one_line(self.task_goal), LONGEST_MISSION)
        made = self._progress or progress.Progress(self._begun or TaskState(goal=goal))
        happened = (event for blocks in self._waiting for event in events.events_of(blocks))
        news = [event for event in happened if event.kind != PROMPT or not events.is_digest(event.text)]
        if news:
            made = progress.advance(made, events.part_of(news)[1])
        self._waiting = []
        self._progress = made
        return made

    def _own(self, blocks: Sequence[ContentBlock]) -> list[ContentBlock]:
        own = []
        for block in blocks:
            if block.content_type is ContentType.USER_MESSAGE:
                text = block.content.replace(self._given, "").rstrip() if self._given else block.content
                block = msgspec.structs.replace(block, content=text)
            if block.content or block.content_type is not ContentType.USER_MESSAGE:
                own.append(block)
        return own

    def save_once(self, blocks: Sequence[ContentBlock], *, is_above: bool) -> Saved | None:
        """Store the state of the task at the first call at which the window is full enough for a save.

        `is_above` says whether it is full enough now (rules.md#window-state). The state is not stored again until the
        window has been emptier in between. The result is None if nothing was to be stored: because `is_above` is False,
        because it was True at the last call in this window already, or because there is no keeper.
        """
        crosses = is_above and not self._is_saved and self._keeper is not None
        self._is_saved = is_above
        return self.save(blocks) if crosses else None

    def begin_anew(self, room: int, counter: TokenCounter, engine: CompressionEngine) -> str:
        """Begin the next window, and return the text with which it begins, of at most `room` tokens.

        The text has the stored state of the task, and the agent's notes from `engine`. If the stored state does not fit
        or can't be used, a shortened form of the state that this object saved last takes its place. `counter` counts
        the tokens.
        """
        self.window += 1
        self._is_saved = False
        noted = engine.take_notes(min(room // NOTES_SHARE, MAX_TOKENS)).compressed_content
        left = room - count(noted, ContentType.USER_MESSAGE, counter)
        resumed = ""
        if self._keeper is not None and not (self._last is not None and self._last.why_not):
            with suppress(MemctlError):  # a refused state is another writer's, or older
                resumed = self._keeper.bootstrap_prompt()
        if not resumed or count(resumed, ContentType.USER_MESSAGE, counter) > left:
            state = self._last.state if self._last is not None else self._advanced().state
            resumed = resume_within(state, left, counter)
        self._given = "\n\n".join(filter(None, (resumed.rstrip(), noted)))
        return self._given
