"""When a session ends: its page goes into the memory, in one commit; so do those that a kill has left behind."""

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
_DONE = ("turns", "answers", "tool_calls")


def end(memory: Memory, folder: SessionDir, *, was_killed: bool = False) -> None:
    """Record the summary of a session if it is worth keeping; of a killed session if it made any tool call."""
    draft = draft_page.read(folder)
    if draft is None:
        return
    if not (
        is_worth_keeping(memory, draft, session_state.read(folder)) or (was_killed and draft.values.get("tool_calls"))
    ):
        return
    from memctl.write import transaction  # what writes takes 10 ms, and most sessions end with nothing to write

    transaction.carry_out(memory, lambda _: change(memory, folder) or _nothing(), write_options(memory))
    draft_page.drop(folder)


def write_options(memory: Memory) -> WriteOptions:
    """Return how a hook writes: with a commit, unless Git's setting memctl.hookCommits forbids that."""
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
    made = summarize.merge_pages(old, draft, state.succeeded if state else ()) if old else draft
    writes, deletes = pages.replacement(memory, old_texts, pages.fit_page(memory, made))
    files = sum(map(len, made.files.values()))
    title = pages.title(folder.key, made.values.get("transcript", ""), files, made.values.get("turns", 0))
    return Change(op=pages.OP, title=title, writes=tuple(writes), deletes=tuple(deletes), session=folder.key)


def is_worth_keeping(memory: Memory, draft: SessionPage, state: SessionState | None) -> bool:
    """Return whether a draft is worth a commit: something was asked, and files were changed, or it came to something.

    A question that changed nothing makes no commit, unless the session has a page already. What waits is not lost: the
    draft stays, and the next one has it. A draft that begins behind a compaction has no prompt of its own where the
    agent just went on; what was asked is known, or stands on the page.
    """
    has_page = sessions_ref.has(memory, session_page.path_of(draft.id))
    is_of_git = draft.values.get("transcript") == GIT
    if not (draft.values.get("turns") or is_of_git or has_page or (state is not None and state.task.goal)):
        return False
    return (
        bool(draft.files.get(session_page.CHANGED))
        or any(draft.lines.get(heading) for heading in _WORTH)
        or (has_page and (is_of_git or any(draft.values.get(name) for name in _DONE)))
    )


def _nothing() -> Change:
    from memctl.session import pages

    return Change(op=pages.OP, title="nothing")
