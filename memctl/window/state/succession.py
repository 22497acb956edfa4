"""What passes from one window to the next: which window it is, and the state of the task that is kept for the next.

A state that can't be kept (stale, or refused by the memory) never stops the agent's loop: it is told in the audit, and
in what the hook gives back.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memctl.errors import MemctlError
from memctl.record import argument_checks
from memctl.session import tasks
from memctl.text.characters import encodable
from memctl.text.markdown import one_line
from memctl.window.compression import digest
from memctl.window.compression.digest import Digest
from memctl.window.compression.engine import CompressionEngine
from memctl.window.compression.notes import MAX_TOKENS
from memctl.window.messages.content import ContentBlock, ContentType, TokenCounter, count
from memctl.window.preservation import digest_text, events
from memctl.window.state import bootstrap
from memctl.window.state.task import NotCopied, StateKeeper, TaskCheckpoint

# Sections in which the rules find again what a window began with.
_FOUND = (digest_text.DECISIONS, digest_text.ISSUES, digest_text.LEARNED)


class Saved(msgspec.Struct, frozen=True):
    """What came of saving a state: the id that it has now, or why it could not be kept; and the state.

    With both it is kept, and only its copy is not.
    """

    state: TaskCheckpoint
    id: str = ""
    why_not: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether it could not be kept."""
        return bool(self.why_not) and not self.id


class Succession:
    """The windows of a task, one after the other. The first comes after the last one whose state was kept."""

    def __init__(self, keeper: StateKeeper | None, task_goal: str = "", criteria: Sequence[str] = ()) -> None:
        argument_checks.texts(task_goal=task_goal)
        argument_checks.instance(criteria, (tuple, list), "task_success_criteria", "a tuple of texts")
        last = keeper.load() if keeper is not None else None
        self.window = 1 + (last.window_id if last is not None else 0)
        for criterion in criteria:
            argument_checks.texts(criterion=criterion)
        self.task_goal = encodable(task_goal)
        self._keeper = keeper
        self._criteria = tuple(map(encodable, criteria))
        self._is_saved = False  # above the threshold for a safety save, in this window
        self._last: Saved | None = None
        self._given = ""  # the text that this window began with
        self._before: Digest | None = None  # what the windows before this one came to, once it was asked for
        self._left = last  # the state in which the window before this one was left

    def save(self, blocks: Sequence[ContentBlock]) -> Saved:
        """Keep what must outlive the window, if there is a keeper; what was kept last is not kept twice."""
        state = self._state(blocks)
        if self._last is None or self._last.is_refused or self._last.state != state:
            self._last = self._saved(state)
        return self._last

    def task(self, blocks: Sequence[ContentBlock]) -> str:
        """What the user said first, without what was given to this window of the one before it."""
        first = next(
            (one.content for one in blocks if one.content and one.content_type is ContentType.USER_MESSAGE), ""
        )
        return first.replace(self._given, "").rstrip() if self._given else first

    def _state(self, blocks: Sequence[ContentBlock]) -> TaskCheckpoint:
        made = state_of(self._own(blocks), self._told(blocks), self.window, self._goal(blocks), self._criteria)
        if self._left is None or not self._is_same_task(self._left, blocks):
            return made
        made = msgspec.structs.replace(made, success_criteria=self._criteria or self._left.success_criteria)
        if made.completed_subtasks or made.current_subtask:
            return made
        return msgspec.structs.replace(
            made,
            completed_subtasks=self._left.completed_subtasks,
            current_subtask=self._left.current_subtask,
            remaining_subtasks=tuple(dict.fromkeys((*self._left.remaining_subtasks, *made.remaining_subtasks))),
        )

    def _told(self, blocks: Sequence[ContentBlock]) -> Digest:
        """What all windows of the task came to, this one included.

        The text that this one began with stands in a message of the user, and tells what earlier ones came to: what
        the rules find in it is known already.
        """
        if self._before is None:
            last = self._left
            is_known = last is not None and self._is_same_task(last, blocks)
            self._before = _digest_of(last) if last is not None and is_known else Digest({})
        made = digest.of_blocks(self._own(blocks), self._before)
        given = {_key(line.removeprefix("- ")) for line in self._given.split("\n")}
        known = {name: set(self._before.sections.get(name, ())) for name in _FOUND}
        anew = {
            name: tuple(line for line in made.sections.get(name, ()) if line in known[name] or _key(line) not in given)
            for name in _FOUND
        }
        return Digest({**made.sections, **anew})

    def _own(self, blocks: Sequence[ContentBlock]) -> list[ContentBlock]:
        """The blocks without the text that this window began with."""
        if not self._given:
            return [*blocks]
        said = [
            msgspec.structs.replace(one, content=one.content.replace(self._given, "").rstrip())
            if one.content_type is ContentType.USER_MESSAGE
            else one
            for one in blocks
        ]
        return [one for one in said if one.content or one.content_type is not ContentType.USER_MESSAGE]

    def _is_same_task(self, last: TaskCheckpoint, blocks: Sequence[ContentBlock]) -> bool:
        """Whether a state is of this task: an earlier run's may be of another one, and a long one is cut."""
        return self._goal(blocks).startswith(last.task_goal.removesuffix("…"))

    def _goal(self, blocks: Sequence[ContentBlock]) -> str:
        """The task as it is given, or as the user said it first; that of the window before, if a text of it was what
        the user said first, or nothing was."""
        own, last = one_line(self.task(blocks)), self._left.task_goal if self._left is not None else ""
        is_told_of = last in own and not own.startswith(last)
        return self.task_goal or (last if is_told_of or not own else own)

    def _saved(self, state: TaskCheckpoint) -> Saved:
        if self._keeper is None:
            return Saved(state)
        try:
            return Saved(state, self._keeper.save(state))
        except NotCopied as error:
            return Saved(state, error.kept_as, error.message)
        except MemctlError as error:
            return Saved(state, why_not=error.message)

    def save_once(self, blocks: Sequence[ContentBlock], *, is_above: bool) -> Saved | None:
        """Save the state when the utilisation crosses a threshold (rules.md#window-state); None if it does not now."""
        crosses = is_above and not self._is_saved and self._keeper is not None
        self._is_saved = is_above
        return self.save(blocks) if crosses else None

    def begin_anew(
        self, blocks: Sequence[ContentBlock], room: int, counter: TokenCounter, engine: CompressionEngine
    ) -> str:
        """The next window begins; the text that it begins with, of at most `room` tokens: what was kept, or else a
        digest of the blocks, and the notes of the `engine`."""
        told = self._told(blocks)
        self.window += 1
        self._is_saved = False
        noted = engine.take_notes(min(room // bootstrap.NOTES_SHARE, MAX_TOKENS)).compressed_content
        left = room - count(noted, ContentType.USER_MESSAGE, counter)
        resumed = bootstrap.fitted(self._kept() or told.text(), left, counter).rstrip()
        self._before = Digest({**told.sections, digest_text.FINDINGS: ()})
        self._left = self._last.state if self._last is not None else None
        self._given = "\n\n".join(filter(None, (resumed, noted)))
        return self._given

    def _kept(self) -> str:
        if self._last is not None and self._last.is_refused:
            return ""  # what is kept is somebody else's, or older
        try:
            return self._keeper.bootstrap_prompt() if self._keeper is not None else ""
        except MemctlError:
            return ""


def _key(line: str) -> str:
    """What tells whether a line was told before: a decision without its reasons, which are told in several ways."""
    return one_line(line).partition(" — ")[0].rstrip(".")


def _digest_of(state: TaskCheckpoint) -> Digest:
    """What is known of the windows of an earlier run, by the state that it kept."""
    return Digest(
        {
            digest_text.SAID: state.constraints,
            digest_text.DECISIONS: state.decisions,
            digest_text.ISSUES: state.open_issues,
            digest_text.LEARNED: state.learnings,
        }
    )


def state_of(
    blocks: Sequence[ContentBlock], made: Digest, window_id: int, task_goal: str = "", criteria: Sequence[str] = ()
) -> TaskCheckpoint:
    """What must outlive the window of blocks, by what was `made` of them; without a `task_goal` the task is what the
    user said first."""
    told = made.sections
    happened = events.of_blocks(blocks)
    by_status: dict[str, list[str]] = {}
    for task in happened.tasks:
        by_status.setdefault(task.status, []).append(task.text)
    under_way = by_status.get(tasks.UNDER_WAY, [])
    return TaskCheckpoint(
        window_id=window_id,
        task_goal=task_goal or (one_line(happened.prompts[0]) if happened.prompts else ""),
        success_criteria=tuple(criteria),
        constraints=told[digest_text.SAID],
        completed_subtasks=tuple(by_status.get(tasks.DONE, [])),
        current_subtask=under_way[0] if under_way else "",
        remaining_subtasks=(*under_way[1:], *by_status.get(tasks.PENDING, []), *told[digest_text.NEXT]),
        decisions=told[digest_text.DECISIONS],
        open_issues=(*told[digest_text.ISSUES], *told[digest_text.ERRORS]),
        learnings=told[digest_text.LEARNED],
        compaction_summary=made.text(0),
    )
