"""Change the state of a task: what each kind of writer may do to its steps and lists.

A done step stays done (rules.md#checkpoints), and only a command removes it. It also stays if an agent's task list, a
sentence or another state does not mention it any more. New next actions replace the earlier ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record.checkpoint import is_outside, leaves_repository
from memctl.record.required_text import LONGEST_LINE, LONGEST_MISSION, MOST_LINES, is_meaningful
from memctl.record.task_state import (
    CLAIMED,
    DONE,
    IN_PROGRESS,
    PLANNED,
    PROGRESS,
    Step,
    TaskState,
    TouchedFile,
    conflicting,
    key,
)
from memctl.task.parts import LISTS
from memctl.text.actions import CREATED, DELETED, MODIFIED, READ
from memctl.text.characters import encodable
from memctl.text.fit import cut
from memctl.text.markdown import one_line

TASK_LIST, COMMAND = "task list", "command"  # evidence, beside commits and checks that are named
MOST_FILES = 50
MOST_SAID = 30  # prompts in the state; a resume text shows the last twelve
_State = TypeVar("_State", bound=TaskState)
_TEXTS = ("task_id", "section", "goal")


def add(before: TaskState | None, given: TaskState, dropped: Sequence[str] = ()) -> TaskState:
    """Return the state `before` with the fields that a command set, and without the steps in `dropped`.

    `before` is None if the task has no state yet. `given` has what the command set; where a field of `given` is empty,
    the value in `before` stays. Otherwise a field of `given` replaces that in `before`, but files, and the lists for
    which `Part.grows` is true, are added to the present ones. If the only text in `given` for errors, issues or
    blockers is "none", this list becomes empty. Raises MemctlError if a step is given with two statuses, if a done step
    is given as not done, or if a dropped step does not exist.
    """
    before = before or TaskState()
    values: dict[str, Any] = {name: getattr(given, name) or getattr(before, name) for name in (*_TEXTS, *LISTS)}
    for name, part in LISTS.items():
        if part.grows:
            values[name] = newest(getattr(before, name), getattr(given, name))
        elif part.open_until_none and [*map(key, values[name])] == ["none"]:
            values[name] = ()
    refuse_conflicting(given.steps)
    known, gone = _by_key(before.steps), {key(text): text for text in dropped}
    if strange := [text for name, text in gone.items() if name not in known]:
        raise MemctlError(
            f"{strange[0]!r} is not a step of the task", "`memctl checkpoint show` lists the steps", USAGE
        )
    steps = put_steps([step for name, step in known.items() if name not in gone], given.steps)
    for step in given.steps:
        old = known.get(key(step.text))
        if old and old.status == DONE != step.status and key(step.text) not in gone:
            hint = "record what is left as another step, or remove the step with --drop first"
            raise MemctlError(f"the step {old.text!r} is already done", hint, USAGE)
    is_ahead = any(step.status != DONE for step in steps)
    if before.is_finished and not given.next_actions and is_ahead:
        values["next_actions"] = ()  # "none" was the next action, and now there is one
    files = newest_files(given.files, before.files)
    return msgspec.structs.replace(before, **values, steps=steps, files=files)


def put_steps(
    before: Sequence[Step], given: Sequence[Step], keeps: Callable[[Step], bool] = lambda _: True
) -> tuple[Step, ...]:
    """Return those steps of `before` that stay, followed by the steps `given` with their new status.

    A done step stays done, whatever status it has in `given`. Of the steps that are not in `given`, those stay that are
    done or for which `keeps` returns True; the others are removed. Steps whose texts differ only in case, white space
    or punctuation at the end count as one step.
    """
    known, named = _by_key(before), _by_key(given)
    others = [step for name, step in known.items() if name not in named and (step.status == DONE or keeps(step))]
    done = {name: step for name, step in known.items() if step.status == DONE}
    return limit_steps([*others, *(done.get(name, step) for name, step in named.items())])


def refuse_conflicting(given: Iterable[Step]) -> None:
    """Raise MemctlError for a step that is given with several statuses."""
    if twice := conflicting(given):
        hint = f"give each step one status of {', '.join(PROGRESS)}"
        raise MemctlError(f"the step {twice[0]!r} is given with more than one status", hint, USAGE)


def normalise(state: TaskState, *, shorten: bool = False) -> TaskState:
    """Return a task's state with each text on one line, and each text of a list only once.

    With `shorten`, the state is also made to fit the limits of what is saved. Texts that are too long are cut, and of a
    list with too many texts the last ones are kept. Repeated steps are removed, and so are texts that say nothing, such
    as "TBD", and files that a checkpoint must not name.
    """

    def line(text: str) -> str:
        return cut(one_line(encodable(text)), LONGEST_LINE) if shorten else one_line(text)

    values: dict[str, Any] = {name: one_line(getattr(state, name)) for name in _TEXTS}
    values |= {name: tuple(dict.fromkeys(map(line, getattr(state, name)))) for name in LISTS}
    steps = tuple(msgspec.structs.replace(step, text=line(step.text)) for step in state.steps)
    if shorten:
        values["goal"] = cut(encodable(values["goal"]), LONGEST_MISSION)
        values |= {name: tuple(filter(is_meaningful, values[name]))[-MOST_LINES:] for name in LISTS}
        first = {key(step.text): step for step in reversed(steps) if is_meaningful(step.text)}
        steps = limit_steps(step for step in steps if step is first.get(key(step.text)))
        values["files"] = tuple(
            file for file in state.files if is_outside(file.path) or not leaves_repository(file.path)
        )
    return msgspec.structs.replace(state, **values, steps=steps)


def shown(state: TaskState, offers: Sequence[str], *, is_worked_on: bool) -> TaskState:
    """Return a session's state as others see it: with the agent's last offers as next actions, each thing once.

    `is_worked_on` says that files were changed since the agent wrote its task list. A list of which no task was ever
    begun although files were changed is left out, because it says nothing about the progress.
    """
    is_idle = is_worked_on and all(step.status == PLANNED and step.evidence == TASK_LIST for step in state.steps)
    steps_shown = () if is_idle else state.steps
    if not offers:
        return msgspec.structs.replace(state, steps=steps_shown)
    from memctl.statements.dialogue import Topic  # 15 ms

    known = [Topic.of(text) for text in (*state.next_actions, *(step.text for step in steps_shown))]
    new = [text for text in offers if not any(Topic.of(text).is_same(topic) for topic in known)]
    return msgspec.structs.replace(state, steps=steps_shown, next_actions=(*state.next_actions, *new)[:MOST_LINES])


def with_last_request(state: _State) -> _State:
    """Return a session's state with what the user asked last as the goal, as far as it is more than a word to go on.

    What the user asked first stays among the prompts. A goal that a command named is none of the last prompts, and
    stays.
    """
    goal = key(state.goal)
    said = [(text, key(text.removesuffix("…"))) for text in state.said]
    is_of_user = any(words and goal.startswith(words) for _, words in said)
    last, words = next((pair for pair in reversed(said) if _is_request(pair[0])), ("", ""))
    if not last or goal.startswith(words) or not (is_of_user or len(said) >= MOST_SAID):
        return state
    first = () if is_of_user else (cut(one_line(state.goal), LONGEST_LINE),)
    return msgspec.structs.replace(state, goal=last, said=(*first, *state.said))


def _is_request(prompt: str) -> bool:
    from memctl.statements import wishes  # 35 ms, and only a compacted context needs it

    return wishes.is_task(prompt) and not (wishes.is_assent(prompt) or wishes.is_insistent(prompt))


def limit_steps(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return at most 200 of the steps, which is as many as the state of a task can have.

    The oldest done steps are left out first.
    """
    steps = tuple(steps)
    if len(steps) <= MOST_LINES:
        return steps
    oldest = [number for number, step in enumerate(steps) if step.status == DONE][: len(steps) - MOST_LINES]
    return tuple(step for number, step in enumerate(steps) if number not in set(oldest))[:MOST_LINES]


def reach(before: Sequence[Step], step: Step, *, goes_back: bool = False) -> tuple[Step, ...]:
    """Return the steps `before`, updated by `step`: the step with the same text gets the status of `step`.

    If there is no step with this text, `step` is added at the end. Statuses have the order planned, in progress,
    claimed, done. A step never goes back to an earlier status, unless `goes_back` is True and the step is not done yet.
    """
    steps = _by_key(before)
    old = steps.get(key(step.text))
    is_lower = old is not None and PROGRESS.index(step.status) <= PROGRESS.index(old.status)
    if old is None or not is_lower or (goes_back and old.status != DONE):
        steps[key(step.text)] = msgspec.structs.replace(step, text=old.text if old else step.text)
    return limit_steps(steps.values())


def _by_key(steps: Iterable[Step]) -> dict[str, Step]:
    return {key(step.text): step for step in steps}


def missing_steps(stored: TaskState, given: TaskState) -> list[Step]:
    """Return the steps that would be lost if the state `given` replaced the state `stored`.

    These are the steps that `given` lacks, and the done steps of `stored` that are not done in `given`.
    """
    known = _by_key(given.steps)
    pairs = ((step, known.get(key(step.text))) for step in stored.steps)
    return [step for step, own in pairs if own is None or (step.status == DONE and own.status != DONE)]


def take_whole(stored: TaskState | None, given: TaskState) -> TaskState:
    """Return the state `given`, with the done steps of the state `stored`, which it replaces.

    Done steps of `stored` stay done. Next actions in `given` that are such steps are removed. `stored` is None if no
    state is stored.
    """
    if stored is None:
        return given
    done = {key(text) for text in stored.done}
    ahead = tuple(item for item in given.next_actions if key(item) not in done)
    steps = put_steps(stored.steps, given.steps, lambda _: False)
    return msgspec.structs.replace(given, steps=steps, next_actions=ahead)


def merge(stored: TaskState, given: TaskState) -> TaskState:
    """Merge two states of one task: each step gets the more advanced of its two statuses.

    Other fields come from `given` if they have a value there, else from `stored`. Files, and the lists for which
    `Part.grows` is true, are merged from both, and the higher `window_id` is taken.
    """
    steps = stored.steps
    for step in given.steps:
        steps = reach(steps, step)
    made = add(stored, msgspec.structs.replace(given, steps=()))
    return take_whole(
        stored, msgspec.structs.replace(made, steps=steps, window_id=max(stored.window_id, given.window_id))
    )


def newest(old: Iterable[str], new: Iterable[str], most: int = MOST_LINES) -> tuple[str, ...]:
    """Merge two lists of texts, each text once, the newest last; at most the last `most` are kept.

    A text that is in both lists counts as new.
    """
    again = {key(item): item for item in new}
    return (*(item for item in dict.fromkeys(old) if key(item) not in again), *again.values())[-most:]


def newest_files(new: Iterable[TouchedFile], old: Iterable[TouchedFile]) -> tuple[TouchedFile, ...]:
    """Return two lists of files merged into one, each file once, the most recently touched first.

    A file that is in both lists gets one action that sums up both: a file that was modified and then read is
    "modified".
    """
    known = {file.path: file for file in old}
    merged: dict[str, TouchedFile] = {}
    for file in new:
        before = known.get(file.path, TouchedFile(file.path))
        merged.setdefault(file.path, TouchedFile(file.path, after(before.action, file.action)))
    return tuple({**merged, **{path: file for path, file in known.items() if path not in merged}}.values())[:MOST_FILES]


def after(before: str, action: str) -> str:
    """Return the action on a file that sums up two actions, `before` and then `action`.

    For instance, a file that was created and then modified is created.
    """
    if action in (READ, "") and before:
        return before
    if before == CREATED and action == MODIFIED:
        return CREATED
    if action == CREATED and before in (DELETED, MODIFIED):
        return MODIFIED  # it was there before
    return action


def finish(state: TaskState) -> TaskState:
    """Return the state of a task that a command declares finished.

    Steps that are not done are removed, and "none" is the next action. If no step is done, the goal becomes the only
    step, and it is done.
    """
    done = tuple(step for step in state.steps if step.status == DONE)
    whole = Step(cut(state.goal, LONGEST_LINE), DONE, evidence=COMMAND)
    return msgspec.structs.replace(state, steps=done or (whole,), next_actions=("none",))


def set_steps(
    state: TaskState, done: Iterable[str], current: str, planned: Iterable[str] | None, now: str, by: str
) -> TaskState:
    """Return the state of a task after a program has reported its progress.

    `done` are the texts of steps that are done, `current` is the step in progress ("" for none), and `planned` are the
    steps to come. Steps that the program does not name are removed, unless they are done or claimed; if `planned` is
    None, no step is removed. `now` and `by` are the time and author that are noted for steps that become done. The next
    action is the current step, or else the first step that is planned or in progress.
    """
    steps = state.steps
    for text in done:
        steps = reach(steps, Step(text, DONE, now, by, COMMAND))
    if current:
        steps = tuple(
            msgspec.structs.replace(step, status=PLANNED) if step.status == IN_PROGRESS else step for step in steps
        )
    if planned is not None:
        planned = (*planned,)
        named = {key(text) for text in (*planned, current)}
        steps = tuple(step for step in steps if step.status in (DONE, CLAIMED) or key(step.text) in named)
    for text in planned or ():
        steps = reach(steps, Step(text, PLANNED))
    if current:
        steps = reach(steps, Step(current, IN_PROGRESS))
    ahead = [step.text for step in steps if step.status in (IN_PROGRESS, PLANNED)]
    first = sorted(ahead, key=lambda text: key(text) != key(current))[:1]
    return msgspec.structs.replace(state, steps=limit_steps(steps), next_actions=tuple(first))
