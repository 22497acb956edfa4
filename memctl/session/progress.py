"""Derive the state of a session's task from its events: goal, steps, constraints, next actions, errors.

A session is read in parts, and each part brings the state up to date. A step is done if the agent's task list says so,
if a commit names it, or if it names a check that passed; if only a sentence says so, it is claimed. New next actions
replace earlier ones, and a later turn that takes up an action removes it.

The goal is a prompt that names a task. A new goal replaces it when the task list is finished or, after a compaction of
the context, when no step is left and a prompt asks for a change. Earlier goals are kept in a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from memctl.record.required_text import LONGEST_LINE, LONGEST_MISSION, MOST_LINES, is_meaningful
from memctl.record.task_state import CLAIMED, DONE, IN_PROGRESS, PLANNED, Step, TaskState, TouchedFile, key
from memctl.session import steps, task_list, tool_calls
from memctl.session.extraction import Extract
from memctl.session.failures import Failure
from memctl.session.tool_calls import commit_message
from memctl.statements import completion, labels, reader, titles, units, wishes
from memctl.statements.dialogue import Topic
from memctl.task.progress import MOST_SAID, TASK_LIST, limit_steps, newest, newest_files, put_steps, reach, shown
from memctl.text.fit import cut_at_word
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line
from memctl.text.words import stems
from memctl.transcript.events import ANSWER, CALL, COMPACTION, PROMPT, RESULT, Event

MOST_DECISIONS, MOST_ISSUES, MOST_LESSONS, MOST_ERRORS, MOST_OUTCOMES = 15, 15, 10, 10, 20
_LISTED = (labels.DECISION, labels.ISSUE, labels.BLOCKER, labels.LEARNING)
_LONGEST_GOAL = 300  # characters of an earlier goal
_LONGEST_CLAIM = 300  # characters of a sentence that may claim a step
_VERBS = (
    r"(?:done|finished|completed?|migrated|ported|converted|implemented|fixed|added|updated|removed|deleted|renamed"
    r"|written|created|moved|refactored|replaced|merged|tested|in place)"
)
_HEDGED = lazy_regex(r"(?i)\b(?:not|n't|if|once|when|until|unless|before|after|should|must|will|would|to be|almost)\b")
_IS_DONE = lazy_regex(
    rf"(?i)^(?P<what>.{{2,200}}?) (?:is|are|was|were|has been|have been) (?:now |all |both |fully |already )*{_VERBS}\b"
)
_HAS_DONE = lazy_regex(
    rf"(?i)^(?:done|(?:(?:i|we)(?:'ve| have)? )?(?:now |just |also )*{_VERBS})(?: with)?(?::| ) ?(?P<what>.{{2,200}})"
)
_PATH = lazy_regex(r"(?:[\w.@-]+/)*[\w@-][\w.@-]*\.[A-Za-z]\w{0,7}\b|(?:[\w.@-]+/)+[\w@-]+")
_COMMIT_MADE = lazy_regex(r"^\[[^\]\n]*?([0-9a-f]{7,40})\]", re.MULTILINE)
_LEADING_VERB = lazy_regex(r"^[A-Z]?[a-z]+ (?=\S)")

Line = Callable[[str, int], str]


class Progress(msgspec.Struct, frozen=True):
    """The `state` of a session's task so far, and what is known of the agent's own task list.

    - `created` are the texts of the tasks that the agent created, in the order of their numbers; "" if not known.
    - `is_worked_on` says that files were changed since the agent wrote its task list.
    - `offers` is what the agent's last message offers to do, until the user's next prompt.
    - `is_over` says that the agent's task list is finished, so that the next prompt may set a new goal.
    - `is_compacted` says that the context was compacted after the goal was set. Then a prompt may set a new goal, too,
      even without a finished task list.
    """

    state: TaskState = TaskState()
    created: tuple[str, ...] = ()
    is_over: bool = False
    is_compacted: bool = False
    is_worked_on: bool = False
    offers: tuple[str, ...] = ()

    @property
    def shown(self) -> TaskState:
        """The state as others see it (`task.progress.shown`)."""
        return shown(self.state, self.offers, is_worked_on=self.is_worked_on)


class Part(msgspec.Struct, frozen=True):
    """A part of a session: its events, and the statements, failures and files found in them.

    - `found` are the statements; the `place` of each is an index in `events`.
    - `succeeded` are the commands and other tool calls whose last run succeeded (`failures.succeeded`).
    - `files` are the files that were touched, the latest first.
    """

    events: Sequence[Event]
    found: Sequence[Extract] = ()
    failures: Sequence[Failure] = ()
    succeeded: frozenset[str] = frozenset()
    files: Sequence[TouchedFile] = ()


def plain_line(text: str, longest: int) -> str:
    """Return a text on one line of at most `longest` characters, cut at a word."""
    return cut_at_word(one_line(text), longest)


def advance(before: Progress, part: Part, *, by: str = "", line: Line = plain_line) -> Progress:
    """Return the progress of a session's task after a further part of the session.

    `before` is the progress up to this part. `by` is the name of the agent who did the work of the part; it is stored
    in the steps. `line` is a function that makes one line of a text, with at most the given number of characters.
    """
    made = before
    results = {event.call: event for event in part.events if event.kind == RESULT and event.call}
    ahead = _next_by_place(part.found)
    turns = _Turns()
    for place, event in enumerate(part.events):
        made = turns.take(made, event)
        if event.kind == CALL and tool_calls.is_edit(event):
            made = msgspec.structs.replace(made, is_worked_on=True)
        if event.agent and (event.kind != CALL or task_list.is_list(event.tool)):
            continue  # what a sub-agent does counts as the session's work, and its list is its own
        if event.kind == PROMPT:
            made = _after_prompt(msgspec.structs.replace(made, offers=()), event.text, line)
        elif event.kind == COMPACTION:
            made = msgspec.structs.replace(made, is_compacted=True)
        elif event.kind == CALL:
            made = _after_call(made, event, results.get(event.call), by, line)
        elif event.kind == ANSWER:
            made = _after_answer(made, event, by, line)
        if texts := ahead.get(place):
            made = turns.state_next(made, [line(text, LONGEST_LINE) for text in texts])
    if not part.events:
        return made
    state = _with_checks(made.state, part.succeeded, part.events[-1].moment, by)
    return msgspec.structs.replace(made, state=_with_findings(state, part, line))


def next_actions(events: Sequence[Event], found: Sequence[Extract]) -> tuple[str, ...]:
    """Return the next actions that the last message with any states, without those that a later turn took up.

    What the agent's last message offers to do is among them, if the user said nothing after it.
    """
    return advance(Progress(), Part(events, found)).shown.next_actions


class _Turns:
    """Removes next actions that a turn takes up: messages name them, and files are changed or programs are run for it.

    The first prompt after the message that states the actions may also just agree ("yes", "do both please") or choose:
    then all of them are settled.
    """

    def __init__(self) -> None:
        self._reply = ""  # the first prompt since the next actions were stated
        self._has_acted = False  # in this turn
        self._said: list[str] = []  # messages on which nothing was done so far

    def state_next(self, before: Progress, texts: Sequence[str]) -> Progress:
        self._reply, self._has_acted, self._said = "", False, []
        return _next(before, texts)

    def take(self, before: Progress, event: Event) -> Progress:
        ahead = before.state.next_actions
        if event.kind in (PROMPT, ANSWER) and not event.agent and ahead:
            if event.kind == PROMPT:
                self._reply = self._reply or event.text
                self._has_acted = False
            self._said.append(event.text)
        elif event.kind == CALL and (tool_calls.is_edit(event) or steps.is_doing(event)):
            ahead = () if wishes.is_assent(self._reply) and self._reply in self._said else ahead
            self._has_acted = True
        if self._has_acted:
            ahead = _not_named(ahead, "\n\n".join(self._said))
            self._said = []
        if ahead == before.state.next_actions:
            return before
        return msgspec.structs.replace(before, state=msgspec.structs.replace(before.state, next_actions=ahead))


def _not_named(actions: Sequence[str], text: str) -> tuple[str, ...]:
    """Return the actions that no sentence of a text is about; sentences that deny or hedge are ignored."""
    said = [sentence for sentence in _sentences(text) if not _HEDGED.search(sentence)] if actions else []
    topics = [Topic.of(sentence) for sentence in said]
    left = (action for action in actions if not any(names(sentence, action) for sentence in said))
    return tuple(action for action in left if not any(map(Topic.of(action).is_same, topics)))


def _next_by_place(extracts: Sequence[Extract]) -> Mapping[int, list[str]]:
    """Return the stated next steps by the place of their message among the events."""
    by_place: dict[int, list[str]] = {}
    for extract in extracts:
        if extract.label == labels.NEXT and is_meaningful(extract.text):
            by_place.setdefault(extract.place, []).append(extract.text)
    return by_place


def _after_prompt(before: Progress, text: str, line: Line) -> Progress:
    prompt = line(text, LONGEST_LINE)
    if not is_meaningful(prompt):
        return before
    state = before.state
    state = msgspec.structs.replace(
        state,
        said=newest(state.said, [prompt], MOST_SAID),
        constraints=newest(state.constraints, [line(constraint, LONGEST_LINE) for constraint in constraints_in(text)]),
    )
    is_idle = state.goal in before.state.said and not state.steps and titles.is_chat(state.goal)
    if state.goal == line(text, LONGEST_MISSION):  # hooks see a prompt before the transcript has it
        return msgspec.structs.replace(before, state=state, is_compacted=False)
    is_next = before.is_compacted and len(state.done) == len(state.steps) and wishes.is_request(text)
    if state.goal and not (wishes.is_task(text) and (before.is_over or is_idle or is_next)):
        return msgspec.structs.replace(before, state=state)
    earlier = [cut_at_word(state.goal, _LONGEST_GOAL)] if state.goal and not is_idle else []
    state = msgspec.structs.replace(
        state,
        goal=line(text, LONGEST_MISSION),
        earlier_goals=newest(state.earlier_goals, earlier),
        steps=(),
        next_actions=(),
    )
    return Progress(state, before.created)


def constraints_in(prompt: str) -> list[str]:
    """Return the constraints in a prompt: sentences that the work must follow.

    These are all sentences that begin with a word such as NEVER, and the first sentence that sets a rule for the
    future. A prompt of more than 2,000 characters is mostly pasted text, and so has no constraints.
    """
    if len(prompt) > LONGEST_MISSION:
        return []  # a prompt of this length is mostly pasted text
    constraints = [
        unit.text for unit in units.units(prompt) if unit.form == units.SENTENCE and wishes.is_insistent(unit.text)
    ]
    demand = wishes.constraint_in(prompt)
    return (
        constraints if any(demand in constraint for constraint in constraints) or not demand else [*constraints, demand]
    )


def _after_call(before: Progress, event: Event, result: Event | None, by: str, line: Line) -> Progress:
    if task_list.is_of_tasks(event.tool):
        return _after_task_call(before, event, result, by, line)
    made = _commit_of(event, result)
    if made is None:
        return before
    done = Step("-", DONE, event.moment, by, f"commit {made[0]}".strip())
    state = before.state
    for text in _steps_named(state, commit_message(event.arguments)):
        state = _with_step(state, text, done)
    return msgspec.structs.replace(before, state=state)


def _after_task_call(before: Progress, event: Event, result: Event | None, by: str, line: Line) -> Progress:
    """Return the progress after a call that creates, updates or replaces the agent's tasks."""
    state, created = before.state, before.created
    if task_list.is_list(event.tool):
        listed = task_list.task_list(event.arguments)
        if listed is None:
            return before
        dated = [_listed_step(step, event, by, line) for step in listed if is_meaningful(step.text)]
        steps_now = put_steps(state.steps, dated, lambda step: step.evidence != TASK_LIST)
    elif (subject := task_list.new_task(event)) is not None:
        text = line(subject, LONGEST_LINE)
        created = task_list.with_task(created, text, result)
        planned = Step(text, PLANNED, evidence=TASK_LIST)
        steps_now = reach(state.steps, planned) if is_meaningful(text) else state.steps
    else:
        number, status = task_list.task_update(event)
        text = created[number - 1] if 0 < number <= len(created) else ""
        if not text or status is None:
            return before
        if status:
            steps_now = reach(state.steps, _listed_step(Step(text, status), event, by, line), goes_back=True)
        else:
            steps_now = tuple(step for step in state.steps if key(step.text) != key(text) or step.status == DONE)
    state = msgspec.structs.replace(state, steps=limit_steps(steps_now))
    is_over = bool(state.steps) and all(step.status == DONE for step in state.steps)
    return Progress(_without_done(state), created, is_over, before.is_compacted, offers=before.offers)


def tasks_of(events: Sequence[Event]) -> list[Step]:
    """Return the steps in the main agent's task list; without one, those in the last message that lists tasks."""
    made = Progress()
    results = {event.call: event for event in events if event.kind == RESULT and event.call}
    for event in events:
        if (
            event.kind == CALL
            and task_list.is_of_tasks(event.tool)
            and not (event.agent and task_list.is_list(event.tool))
        ):
            made = _after_task_call(made, event, results.get(event.call), "", plain_line)
        elif event.kind == CALL and tool_calls.is_edit(event):
            made = msgspec.structs.replace(made, is_worked_on=True)
    return [*made.shown.steps] or task_list.in_texts(events)


def _listed_step(step: Step, event: Event, by: str, line: Line) -> Step:
    text = line(step.text, LONGEST_LINE)
    if step.status == DONE:
        return Step(text, DONE, event.moment, by, TASK_LIST)
    return Step(text, step.status, evidence=TASK_LIST)


def _after_answer(before: Progress, event: Event, by: str, line: Line) -> Progress:
    """Return the progress after an agent's answer, whose sentences may claim steps."""
    state = before.state
    claim = Step("-", CLAIMED, event.moment, by, "said")
    for sentence in _sentences(event.text):
        what = _finished_thing(sentence)
        known = _steps_named(state, what) if what else []
        # A thing that is not a step yet becomes one only if it is a file's path.
        bare = what.strip(" `'\"")
        for text in known or ([bare] if _PATH.fullmatch(bare) else []):
            state = _with_step(state, line(text, LONGEST_LINE), claim)
    offers = tuple(line(text, LONGEST_LINE) for text in wishes.offers(event.text))
    return msgspec.structs.replace(before, state=state, offers=offers)


def _sentences(text: str) -> list[str]:
    sentences = (unit.text for unit in units.units(text) if unit.form == units.SENTENCE)
    return [sentence.replace("**", "") for sentence in sentences if len(sentence) <= _LONGEST_CLAIM]


def _finished_thing(sentence: str) -> str:
    """Return the thing that a sentence says is done, "" if it names none or hedges."""
    match = _IS_DONE.search(sentence) or _HAS_DONE.search(sentence)
    if match is None or _HEDGED.search(match[0]):
        return ""
    return match["what"].strip()


def _steps_named(state: TaskState, text: str) -> list[str]:
    """Return the unfinished steps that a text names, or else the next actions that it names."""
    for wanted in (state.having(PLANNED, IN_PROGRESS, CLAIMED), state.next_actions):
        if named := [step for step in wanted if names(text, step)]:
            return named
    return []


def names(text: str, step: str) -> bool:
    """Return whether a text, such as a commit's message, names a step of a task.

    If the step has paths, the text must have all of them, perhaps with more folders: "cache added to src/a.py" names
    the step "Change a.py". If it has none, the text must have all words of the step, in any form. The verb at the
    step's beginning is not needed if two or more other words follow: "added retry limit" names "Implement retry limit".
    """
    if paths := {match[0] for match in _PATH.finditer(step)}:
        paths_named = {match[0] for match in _PATH.finditer(text)}
        return all(any(other == path or other.endswith(f"/{path}") for other in paths_named) for path in paths)
    words = stems(step)
    object_words = stems(_LEADING_VERB.sub("", step, count=1))
    wanted = object_words if len(object_words) > 1 else words
    return bool(wanted) and wanted <= stems(text)


def _with_step(state: TaskState, text: str, step: Step) -> TaskState:
    """Return the state in which the step with this text has the status, time and evidence of `step`."""
    named = msgspec.structs.replace(step, text=text)
    return _without_done(msgspec.structs.replace(state, steps=reach(state.steps, named)))


def _without_done(state: TaskState) -> TaskState:
    """Return a state whose next actions have no step that is done or claimed."""
    over = {key(text) for text in state.having(DONE, CLAIMED)}
    ahead = tuple(text for text in state.next_actions if key(text) not in over)
    return msgspec.structs.replace(state, next_actions=ahead)


def _next(before: Progress, texts: Sequence[str]) -> Progress:
    """Return the progress with new next actions.

    A claimed step among them becomes planned again, and a done step stays done.
    """
    state = before.state
    named = {key(text) for text in texts}
    again = tuple(
        msgspec.structs.replace(step, status=PLANNED, at="", by="", evidence="")
        if step.status == CLAIMED and key(step.text) in named
        else step
        for step in state.steps
    )
    done = {key(step.text) for step in again if step.status == DONE}
    plain_texts = (text.rstrip(" .") or text for text in texts if not text.endswith((":", "?")))
    ahead = tuple(text for text in dict.fromkeys(plain_texts) if key(text) not in done)
    if not ahead and not any(key(text) in done for text in texts):
        return before  # the texts are questions or headings
    state = msgspec.structs.replace(state, steps=again, next_actions=ahead[:MOST_LINES])
    return msgspec.structs.replace(before, state=state)


def _with_checks(state: TaskState, succeeded: Iterable[str], moment: str, by: str) -> TaskState:
    """Return the state in which the steps that name a passed check are done; `succeeded` are commands that passed."""
    good = {steps.key(command): command for command in succeeded if steps.program(command)}
    for step in state.steps if good else ():
        if step.status in (PLANNED, DONE):
            continue  # a passed check does not finish a step that has not started
        words = key(step.text).replace("`", "")
        passed = next((command for name, command in good.items() if name.casefold() in words), "")
        if passed:
            evidence = cut_at_word(f"check `{one_line(passed)}`", LONGEST_LINE)
            state = _with_step(state, step.text, Step("-", DONE, moment, by, evidence))
    return state


def _with_findings(state: TaskState, part: Part, line: Line) -> TaskState:
    """Return the state with a part's decisions, issues, blockers, lessons, errors, files and outcomes added."""

    def texts(kind: str) -> list[str]:
        # Statements with a path are comments in code, which are not the agent's statements.
        texts = (
            line(extract.with_reasons, LONGEST_LINE)
            for extract in part.found
            if extract.label == kind and not extract.path
        )
        return [text for text in texts if is_meaningful(text)]

    return msgspec.structs.replace(
        state,
        decisions=newest(state.decisions, texts(labels.DECISION), MOST_DECISIONS),
        issues=newest(state.issues, texts(labels.ISSUE), MOST_ISSUES),
        blockers=newest(state.blockers, texts(labels.BLOCKER), MOST_ISSUES),
        lessons=newest(state.lessons, texts(labels.LEARNING), MOST_LESSONS),
        errors=_errors(state.errors, part, line),
        files=newest_files(part.files, state.files),
        summary=_outcomes(state, part, line),
    )


def _errors(before: Sequence[str], part: Part, line: Line) -> tuple[str, ...]:
    """Return the errors that are still open, the newest last; removes those whose step succeeded since."""
    good = steps.keys(line(command, LONGEST_LINE) for command in part.succeeded)
    fresh = {line(failure.step, LONGEST_LINE): failure for failure in part.failures if failure.is_open}
    new = [line(f"{step}: {failure.message}", LONGEST_LINE) for step, failure in fresh.items()]
    old = [text for text in before if not steps.begins(text, good) and not text.startswith(tuple(fresh))]
    return newest(old, new, MOST_ERRORS)


def _outcomes(state: TaskState, part: Part, line: Line) -> tuple[str, ...]:
    """Return the outcomes of the last turns: commits, and the agent's last message of each turn.

    What a message states under labels is in other lists of the state, and not repeated. Without steps, the last stated
    percentage of completion is added, unless an outcome says it.
    """
    results = {event.call: event for event in part.events if event.kind == RESULT and event.call}
    outcomes, last = [], ""
    for event in [*(event for event in part.events if not event.agent), Event(PROMPT)]:
        if event.kind == ANSWER and event.text.strip():
            last = "" if event.text.rstrip().endswith(":") else event.text
        elif event.kind == CALL and (made := _commit_of(event, results.get(event.call))):
            outcomes.append(line(f"Committed {made[0]}: {made[1]}".replace(" :", ":"), LONGEST_LINE))
        elif event.kind == PROMPT and last:
            if rest := _without_statements(last):
                outcomes.append(line(rest, LONGEST_LINE))
            last = ""
    percents = [
        extract.text
        for extract in part.found
        if extract.label == labels.STATE and completion.of_statement(extract.text) is not None
    ]
    repeated = {completion.statement(number) for number in ("100", *completion.in_sentences("\n".join(outcomes)))}
    percent = [text for text in percents[-1:] if text not in repeated and not state.steps]
    before = [text for text in state.summary if completion.of_statement(text) is None or not (percents or state.steps)]
    return newest(before, [*outcomes, *percent], MOST_OUTCOMES)


def _without_statements(text: str) -> str:
    """Return a text without the lines with which other lists of the state are filled."""
    made = [statement for statement in reader.read(text) if statement.kind in _LISTED]
    taken = {number for statement in made for number in range(statement.line, statement.end + 1)}
    rest = "\n".join(row for number, row in enumerate(text.split("\n"), start=1) if number not in taken).strip()
    return rest if is_meaningful(rest) else ""


def _commit_of(call: Event, result: Event | None) -> tuple[str, str] | None:
    """Return the id and subject of the commit that a call made, None if it made none; the id is "" if unknown."""
    if result is None or result.is_error:
        return None
    message = commit_message(call.arguments)
    match = _COMMIT_MADE.search(result.text)
    return (match[1] if match else "", message.partition("\n")[0]) if message else None
