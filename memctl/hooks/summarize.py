"""Summarize a session while it runs: merge each new part of its transcript into a draft of its page.

The draft is not committed after every answer, since such commits would bury the project's own. The page is committed
before a compaction and when the session ends.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

import msgspec

from memctl.hooks import draft_page, log, session_state
from memctl.hooks.hosts import Host
from memctl.hooks.session_state import SessionState
from memctl.record.session_page import STATE, SessionPage
from memctl.record.task_state import Environment, TouchedFile
from memctl.session import collect, extraction, merge, page_builder, progress, trail
from memctl.session.progress import Part
from memctl.session.summary import LAST_WORD, SessionSummary
from memctl.session.trail import Places
from memctl.store.memory import Memory
from memctl.store.session_dir import SessionDir
from memctl.task.progress import newest_files
from memctl.text.characters import redacted_line
from memctl.transcript import claude_code, reader
from memctl.transcript.claude_code import TranscriptPart
from memctl.transcript.events import ANSWER, GIT, PROMPT, Event, Session

_MOST_COMMITS = 10  # the latest of a session


def update_draft(
    memory: Memory, host: Host, transcript_path: str, folder: SessionDir, *, is_over: bool = False
) -> SessionState:
    """Update the draft of a session's page, and the session's stored state, with the new part of its transcript.

    Returns the new state. Draft and state are stored in `folder`, memctl's folder for the session. `is_over` says that
    the session has ended: tool calls without a result are taken into account then, since no result will follow.
    """
    state = msgspec.structs.replace(session_state.read(folder) or SessionState(), top=str(memory.repository.top))
    if not host.reads or not (state.offsets or os.path.isfile(transcript_path)):
        return _update_by_git(memory, folder, state, reader.tool_calls(transcript_path))
    page = draft_page.read(folder)
    for part in claude_code.read_parts(transcript_path, state.offsets, state.compacted, is_over=is_over):
        if part.session.events:
            summary = collect.gather(memory, part.session, folder.key)
            state = _advance(memory, state, part.session, summary)
            if state.began is not None:
                summary = collect.with_commits(memory, summary, state.began)
            state = _with_end(memory, state, summary)
            shown = session_state.progress_of(state).shown
            summary = msgspec.structs.replace(summary, tasks=shown.steps, ahead=shown.next_actions)
            new = page_builder.compose(summary, memory.config.project, memory.now)
            page = merge_pages(page, new, summary.succeeded) if page else new
        state = msgspec.structs.replace(state, offsets=part.offsets, compacted=part.waiting)
        _note(folder, part)
        if page:
            draft_page.write(folder, page)
        session_state.write(folder, state)  # a kill before this merges the part again, which changes nothing
    return state


def merge_pages(old: SessionPage, new: SessionPage, succeeded: Collection[str]) -> SessionPage:
    """Return the page of a session with the page of a later part of it merged in.

    `old` is the page so far, `new` the page of the later part. If `new` does not say how far the work is, what `old`
    says of it is kept. `succeeded` are the commands and other actions that succeeded in the later part; earlier errors
    of these count as resolved.
    """
    made = merge.merge(old, new, succeeded)
    lines = {} if new.lines.get(STATE) else {STATE: old.lines.get(STATE, ())}
    return msgspec.structs.replace(made, lines={**made.lines, **lines})


def _update_by_git(memory: Memory, folder: SessionDir, state: SessionState, calls: Sequence[Event]) -> SessionState:
    """Update the draft and state of a session from Git, its tool calls, its prompts and the last answers of its turns.

    This is for hosts whose transcripts memctl does not read as a whole, and for transcripts that are not there. Returns
    the state.
    """
    if state.began is None:
        return state
    began = msgspec.structs.replace(state.began, intent=state.began.intent or state.task.goal)
    answers = [Event(ANSWER, answer) for answer in state.answers]
    stating = tuple(event for event in answers[:-1] if list(extraction.of_events([event])))
    events = (*calls, *stating, *answers[-1:])
    session = Session(GIT, events)
    prompts = [Event(PROMPT, text) for text in state.task.said]
    summary = collect.gather(memory, Session(GIT, (*prompts, *events)), folder.key, began)
    if events:
        # Hooks have noted the prompts already, so the task goes on from there.
        later = [extract for extract in summary.found if extract.place >= len(prompts)]
        found = [msgspec.structs.replace(extract, place=extract.place - len(prompts)) for extract in later]
        state = _advance(memory, state, session, msgspec.structs.replace(summary, found=tuple(found)))
    state = _with_end(memory, state, summary)
    shown = session_state.progress_of(state).shown
    summary = msgspec.structs.replace(summary, tasks=shown.steps, ahead=shown.next_actions)
    draft_page.write(folder, page_builder.compose(summary, memory.config.project, memory.now))
    touched = [TouchedFile(entry.path, entry.action) for entry in reversed(summary.trail.entries) if entry.is_inside]
    task = msgspec.structs.replace(state.task, files=newest_files(touched, state.task.files))
    state = msgspec.structs.replace(state, task=task, answers=tuple(event.text for event in (*stating, *answers[-1:])))
    session_state.write(folder, state)
    return state


def _advance(memory: Memory, state: SessionState, session: Session, summary: SessionSummary) -> SessionState:
    """Return the state of a session after a part of its transcript."""
    files = trail.touched_files(session.events, Places(memory.repository.top, session.cwd), summary.trail)
    files = [file for file in files if not file.path.startswith(f"{memory.prefix}/")]
    part = Part(session.events, summary.found, summary.failures, summary.succeeded, files)
    known = session_state.progress_of(state)
    after = progress.advance(known, part, by=memory.actor, line=session_state.checkpoint_line)
    succeeded = session_state.latest(map(redacted_line, summary.succeeded), state.succeeded, session_state.MOST_STEPS)
    return msgspec.structs.replace(session_state.with_progress(state, after), succeeded=succeeded)


def _with_end(memory: Memory, state: SessionState, summary: SessionSummary) -> SessionState:
    """Return the state of a session after a part that ended as a summary says: when, where, with which answer."""
    branch, head = memory.repository.branch()
    where = Environment(branch.removeprefix("refs/heads/"), head)
    at = max(summary.ended or memory.now, state.task.saved_at)
    task = msgspec.structs.replace(
        state.task, version=0, saved_at=at, saved_by=memory.actor, session=summary.id, environment=where
    )
    answer = page_builder.text(summary.last_word, LAST_WORD + 10) if summary.last_word else state.answer
    commits = tuple(dict.fromkeys((*state.commits, *map(page_builder.commit, summary.commits))))
    return msgspec.structs.replace(state, task=task, answer=answer, commits=commits[-_MOST_COMMITS:])


def _note(folder: SessionDir, part: TranscriptPart) -> None:
    """Add what a transcript says about compactions, the tokens before and after, to the log."""
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
