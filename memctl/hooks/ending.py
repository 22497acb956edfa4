"""When a session ends: its page goes into the memory, in one commit; so do those that a kill has left behind."""

from __future__ import annotations

import time

from memctl.hooks import known, summing
from memctl.hooks.folder import SessionFolder
from memctl.lifecycle import door
from memctl.lifecycle.door import How
from memctl.model import session_page
from memctl.model.change import Change
from memctl.model.session_page import Page
from memctl.sessions import writing
from memctl.store.memory import Memory

_LEFT_BEHIND = 6 * 3600  # seconds: a session that has said nothing for so long was killed, or sleeps
_MOST_AT_ONCE = 3
_WORTH = (session_page.DECISIONS, session_page.ISSUES, session_page.LEARNINGS)
_SETTING = "memctl.hookcommits"


def end(memory: Memory, folder: SessionFolder) -> None:
    """Write down what a session came to, if it came to anything."""
    draft = known.draft(folder)
    if draft is None or not is_worth_keeping(memory, draft):
        return
    door.carry_out(memory, lambda _: change(memory, folder) or _nothing(), how(memory))
    known.drop_draft(folder)


def sweep(memory: Memory, folder: SessionFolder) -> None:
    """End the sessions of this worktree that nobody has ended."""
    before, top = time.time() - _LEFT_BEHIND, str(memory.repository.top)
    left = [one for one in folder.others() if 0 < known.draft_time(one) < before]
    here = [one for one in left if (state := known.read(one)) is not None and state.top == top]
    for one in here[:_MOST_AT_ONCE]:
        end(memory, one)
        known.drop_draft(one)


def how(memory: Memory) -> How:
    """How a hook writes: with a commit, unless Git's setting memctl.hookCommits is off."""
    return How(no_commit=not memory.repository.flag(_SETTING, default=True), reason="an agent's session")


def change(memory: Memory, folder: SessionFolder) -> Change | None:
    """The Change that merges a session's draft into its page; None if there is no draft."""
    draft = known.draft(folder)
    if draft is None:
        return None
    state = known.read(folder)
    old_texts, old = writing.existing(memory, folder.key)
    made = summing.merged(old, draft, state.succeeded if state else ()) if old else draft
    writes, deletes = writing.replaced(memory, old_texts, writing.fitted(memory, made))
    files = sum(len(rows) for rows in made.files.values())
    title = f"{folder.key}: {files:,} file{'s' if files != 1 else ''}, {made.values.get('turns', 0)} turns"
    return Change(op="summarize", title=title, writes=tuple(writes), deletes=tuple(deletes), session=folder.key)


def is_worth_keeping(memory: Memory, draft: Page) -> bool:
    """Whether a draft is worth a commit: something was asked, and files were changed, or it came to something.

    A question that changed nothing makes no commit, unless the session has a page already. What waits is not lost: the
    draft stays, and the next one has it.
    """
    if not draft.values.get("turns") and draft.values.get("transcript") != summing.GIT:
        return False
    return (
        bool(draft.files.get(session_page.CHANGED))
        or any(draft.lines.get(heading) for heading in _WORTH)
        or (memory.folder / session_page.path_of(draft.id)).exists()
    )


def _nothing() -> Change:
    return Change(op="summarize", title="nothing")
