"""Summing up a session while it goes on: what its transcript has gained is merged into a draft of its page.

The draft lies beside the session's counters, in no commit: an agent stops after every answer, and a commit each time
would bury the project's own. The page is committed before a compaction and when the session ends.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from memctl.hooks import draft_page, log, session_state
from memctl.hooks.hosts import Host
from memctl.hooks.session_state import SessionState, TaskCall
from memctl.hooks.session_state import checkpoint_line as _line
from memctl.record.session_page import NEXT, STATE, SessionPage
from memctl.session import collect, extraction, merge, page_builder, steps, tasks, trail
from memctl.session.summary import SessionSummary
from memctl.session.trail import Places
from memctl.statements import labels
from memctl.store.memory import Memory
from memctl.store.session_dir import SessionDir
from memctl.text.characters import redacted_line
from memctl.transcript import claude_code, reading
from memctl.transcript.claude_code import TranscriptPart
from memctl.transcript.events import ANSWER, CALL, GIT, PROMPT, Event, Session


def take_in(
    memory: Memory, host: Host, transcript_path: str, folder: SessionDir, *, is_over: bool = False
) -> SessionState:
    """Bring a session's draft and what is known of it up to now; if it is over, with calls that have no result."""
    state = msgspec.structs.replace(session_state.read(folder) or SessionState(), top=str(memory.repository.top))
    if not host.reads:
        return _by_git(memory, folder, state, reading.tool_calls(transcript_path))
    made = draft_page.read(folder)
    for part in claude_code.read_parts(transcript_path, state.offsets, state.compacted, is_over=is_over):
        if part.session.events:
            state = msgspec.structs.replace(state, task_calls=_task_calls(state, part.session))
            summary = collect.gather(memory, part.session, folder.key)
            summary = msgspec.structs.replace(summary, tasks=tuple(state.tasks))
            new = page_builder.compose(summary, memory.config.project, memory.now)
            made = merged(made, new, summary.succeeded) if made else new
            state = _learnt(memory, state, part.session, summary)
        state = msgspec.structs.replace(state, offsets=part.offsets, compacted=part.waiting)
        _note(folder, part)
        if made:
            draft_page.write(folder, made)
        session_state.write(folder, state)  # after a kill before this the part is merged twice, which changes nothing
    return state


def merged(old: SessionPage, new: SessionPage, succeeded: Collection[str]) -> SessionPage:
    """A page with a later part in it; one that says nothing of the state or of next steps leaves those of before."""
    made = merge.merge(old, new, succeeded)
    kept = {heading: old.lines.get(heading, ()) for heading in (STATE, NEXT) if not new.lines.get(heading)}
    return msgspec.structs.replace(made, lines={**made.lines, **kept})


def _by_git(memory: Memory, folder: SessionDir, state: SessionState, calls: Sequence[Event]) -> SessionState:
    """A session of which Git, its tool calls and the last words of its turns tell: the files and records that came
    since it began, the errors that it met, and what was decided in those words."""
    if state.began is None:
        return state
    began = msgspec.structs.replace(state.began, intent=state.began.intent or state.intent)
    said = tuple(
        Event(ANSWER, answer) for answer in state.answers if list(extraction.of_events([Event(ANSWER, answer)]))
    )
    session = Session(GIT, (*calls, *said))
    summary = collect.gather(memory, session, folder.key, began)
    if session.events:
        state = _learnt(memory, state, session, summary)
    draft_page.write(folder, page_builder.compose(summary, memory.config.project, memory.now))
    paths = [entry.path for entry in reversed(summary.trail.entries) if entry.is_inside]
    files = session_state.latest(paths, state.files, session_state.MOST_FILES)
    state = msgspec.structs.replace(state, files=files, answers=tuple(event.text for event in said))
    session_state.write(folder, state)
    return state


def _learnt(memory: Memory, state: SessionState, session: Session, summary: SessionSummary) -> SessionState:
    """What is known with what a part tells."""
    prompts = [event.text for event in session.events if event.kind == PROMPT and not event.agent]
    decisions = [_line(one.text) for one in summary.having(labels.DECISION)]
    return msgspec.structs.replace(
        state,
        intent=state.intent or _line(summary.intent),
        prompt=_line(prompts[-1]) if prompts else state.prompt,
        next_steps=tuple(map(_line, summary.next_steps)) or state.next_steps,
        decisions=_newest(state.decisions, decisions, session_state.MOST_DECISIONS),
        succeeded=session_state.latest(
            map(redacted_line, summary.succeeded), state.succeeded, session_state.MOST_STEPS
        ),
        files=session_state.latest(_touched(memory, session), state.files, session_state.MOST_FILES),
        issues=_newest(state.issues, _said(summary, labels.ISSUE, labels.BLOCKER), session_state.MOST_ISSUES),
        lessons=_newest(state.lessons, _said(summary, labels.LEARNING), session_state.MOST_LESSONS),
        errors=_errors(state, summary),
        came_to=tuple(_came_to(summary)) or state.came_to,
    )


def _said(summary: SessionSummary, *kinds: str) -> list[str]:
    """What was said of some kinds, but not what stands in code: a comment there is no agent's word."""
    return [_line(one.text) for one in summary.having(*kinds) if not one.path]


def _newest(old: Iterable[str], new: Iterable[str], most: int) -> tuple[str, ...]:
    """Two lists as one, each item once, the newest last; what is said again is new."""
    new = dict.fromkeys(new)
    return (*(item for item in old if item not in new), *new)[-most:]


def _errors(state: SessionState, summary: SessionSummary) -> dict[str, str]:
    """The errors that are open still, by their steps, the newest last."""
    good = steps.keys(map(_line, summary.succeeded))
    new = {_line(one.step): _line(f"{one.step}: {one.message}") for one in summary.failures if one.is_open}
    old = {step: line for step, line in state.errors.items() if step not in new and not steps.came_right(step, good)}
    return dict(list({**old, **new}.items())[-session_state.MOST_ERRORS :])


def _came_to(summary: SessionSummary) -> Iterator[str]:
    """What was said last of the state of the work."""
    if summary.completion is not None:
        yield f"{summary.completion} % complete"
    for one in summary.having(labels.STATE)[-3:]:
        if not one.text.endswith("% complete"):
            yield _line(one.text)
    if summary.last_word:
        yield _line(f"Said last: {summary.last_word}")


def _task_calls(state: SessionState, session: Session) -> tuple[TaskCall, ...]:
    """What was told of tasks so far, without credentials."""
    found = list(state.task_calls)
    for event in session.events:
        if event.kind == CALL and not event.agent and tasks.is_told(event.tool):
            found = [] if tasks.is_whole(event.tool) else found
            found.append(TaskCall(event.tool, {key: _redacted(value) for key, value in event.arguments.items()}))
    return tuple(found[: session_state.MOST_TASKS])


def _redacted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _redacted(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_redacted(one) for one in value]
    return _line(value) if isinstance(value, str) else value


def _touched(memory: Memory, session: Session) -> Iterable[str]:
    """The project's files that a session read or changed, the latest first; by calls that did something."""
    places = Places(memory.repository.top, session.cwd)
    found = []
    for event, result in trail.effective(session.events):
        located = (places.locate(touch.path, touch.cwd) for touch in trail.touches(event, result))
        found += [path for path, is_inside in located if is_inside and not path.startswith(f"{memory.prefix}/")]
    return reversed(found)


def _note(folder: SessionDir, part: TranscriptPart) -> None:
    """Put into the log what the transcript says of compactions: the tokens before and after."""
    for line in part.boundaries:
        facts = line.get("compactMetadata")
        if isinstance(facts, dict):
            entry = {
                "kind": "boundary",
                "line": line.get("uuid"),
                "at": line.get("timestamp"),
                "session": folder.key,
                "trigger": facts.get("trigger"),
                "before": facts.get("preTokens"),
                "after": facts.get("postTokens"),
            }
            log.add(folder.root, log.COMPACTIONS, entry)
    for uuid, tokens in part.left.items():
        log.add(folder.root, log.COMPACTIONS, {"kind": "left", "line": uuid, "session": folder.key, "after": tokens})
