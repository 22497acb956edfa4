"""Commit a session's page when the session ends, or when a later session finds that it was killed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memctl.git import hook_commits
from memctl.hooks import draft_page, session_state, summarize
from memctl.record import session_page
from memctl.record.change import Change, WriteOptions
from memctl.record.session_page import SessionPage
from memctl.store import sessions_ref
from memctl.store.memory import Memory
from memctl.store.session_dir import SessionDir
from memctl.transcript.events import GIT

if TYPE_CHECKING:
    from memctl.hooks.session_state import SessionState

_WORTH = (session_page.DECISIONS, session_page.ISSUES, session_page.LEARNINGS)
_ACTIVITY = ("turns", "answers", "tool_calls")


def end(memory: Memory, folder: SessionDir, *, was_killed: bool = False) -> None:
    """Commit the page of a session if it is worth keeping (`is_worth_keeping`).

    If the session `was_killed`, its page is also committed if the agent made any tool call. `folder` is memctl's folder
    for the session.
    """
    draft = draft_page.read(folder)
    if draft is None or not (
        is_worth_keeping(memory, draft, session_state.read(folder)) or (was_killed and draft.values.get("tool_calls"))
    ):
        return
    from memctl.write import transaction  # takes 10 ms to import, and most sessions end without anything to write

    transaction.carry_out(memory, lambda _: change(memory, folder) or _nothing(), write_options(memory))
    draft_page.drop(folder)
    from memctl.hooks import form_recall
    from memctl.session import pages, working_forms
    from memctl.store import load

    form_recall.keep(folder.root, working_forms.learned(pages.pages(load.disk(memory))[0]))


def write_options(memory: Memory) -> WriteOptions:
    """Return the options with which hooks write to the memory.

    Hooks commit what they write, unless Git's setting memctl.hookCommits is "none".
    """
    is_none = hook_commits.decide(memory.repository) == hook_commits.NONE
    return WriteOptions(no_commit=is_none, reason="an agent's session", redact=True)


def change(memory: Memory, folder: SessionDir) -> Change | None:
    """Return the Change that merges a session's draft into its page; None if there is no draft."""
    draft = draft_page.read(folder)
    if draft is None:
        return None
    from memctl.session import pages

    state = session_state.read(folder)
    old_texts, old = pages.existing_page(memory, folder.key)
    page = summarize.merge_pages(old, draft, state.succeeded if state else ()) if old else draft
    writes, deletes = pages.replacement(memory, old_texts, pages.fit_page(memory, page))
    return Change(
        op=pages.OP, title=pages.title(page), writes=tuple(writes), deletes=tuple(deletes), session=folder.key
    )


def is_worth_keeping(memory: Memory, draft: SessionPage, state: SessionState | None) -> bool:
    """Return whether the draft of a session's page is worth a commit.

    It is if the session has a task, and the draft has a changed file, a decision, an issue or a learning. If a page of
    the session is committed already, any further activity is enough.

    A session has a task if the draft has a prompt of the user, if a page of the session is committed, or if `state` has
    a goal. (A draft that begins after a compaction may have no prompt, but then `state` has the goal.) For hosts whose
    transcripts memctl can't read as a whole, no task is needed. A draft that is not worth a commit is kept, and later
    parts of the session are added to it.
    """
    has_page = sessions_ref.has(memory, session_page.path_of(draft.id))
    is_of_git = draft.values.get("transcript") == GIT
    if not (draft.values.get("turns") or is_of_git or has_page or (state is not None and state.task.goal)):
        return False
    if draft.files.get(session_page.CHANGED) or any(draft.lines.get(heading) for heading in _WORTH):
        return True
    return has_page and (is_of_git or any(draft.values.get(name) for name in _ACTIVITY))


def _nothing() -> Change:
    from memctl.session import pages

    return Change(op=pages.OP, title="nothing")
