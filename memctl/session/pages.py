"""Read and write the pages of sessions.

One commit has a session's page and the records that a person accepted. Before the commit, memctl notes in the file of
the running session that the session is ending, and at which commit HEAD is. After the commit, it deletes this file. If
memctl is interrupted in between, the next attempt uses the note to find the new commit or the pending change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

from memctl.errors import MemctlError
from memctl.git import git, history
from memctl.git.history import Commit
from memctl.record import session_page
from memctl.record.change import Change, Delete, Write
from memctl.record.errors import Fault, InvalidRecord
from memctl.record.kinds import KINDS
from memctl.record.session_page import SessionPage
from memctl.record.snapshot import Snapshot
from memctl.session import active, merge, page_builder, trim
from memctl.session.active import Running
from memctl.session.probes import Probe
from memctl.session.proposals import Proposal
from memctl.session.summary import SessionSummary
from memctl.session.trim import FittedPage
from memctl.store import changes_ref, files, load, lock, sessions_ref
from memctl.store.journal import PENDING
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as IdSequence
from memctl.text.fit import cut_at_word, first_sentence
from memctl.text.phrases import quantity
from memctl.write import commit, create, documents, recovery
from memctl.write.commit import Outcome


def pages(snapshot: Snapshot) -> tuple[list[SessionPage], list[Fault]]:
    """Return all pages of sessions that can be parsed, the one that ended last first, and the faults of the others."""
    pages_by_id: list[SessionPage] = []
    faults: list[Fault] = []
    for path in names(snapshot):
        try:
            pages_by_id.append(session_page.parse(snapshot.read(path), path))
        except InvalidRecord as error:
            faults += error.faults
    return sorted(pages_by_id, key=ended, reverse=True), faults


def read(snapshot: Snapshot, path: str, text: str) -> tuple[SessionPage | None, list[Fault]]:
    """Parse the text of a session's page; returns the page, None if it can't be parsed, and the faults.

    `path` is that of the page below `.memory/`. The page gets all files of the session: those that it had no room for
    are read from a file of their own.
    """
    try:
        page = session_page.parse(text, path)
    except InvalidRecord as error:
        return None, error.faults
    if not page.trail:
        return page, []
    try:
        trail = session_page.parse(snapshot.read(page.trail), page.trail)
        return session_page.with_trail(page, trail), []
    except InvalidRecord as error:
        return page, error.faults
    except (FileNotFoundError, NotADirectoryError):
        return page, [Fault(page.trail, 1, "", "the list of the session's files is missing: restore it from Git")]


def ended(made: SessionPage) -> tuple[str, str]:
    """Return a key for sorting pages of sessions: the time when the session ended, and the session's name.

    For a session with an unknown end, the time is that of its summary.
    """
    return str(made.values.get("ended") or made.values.get("summarized") or ""), made.id


def names(snapshot: Snapshot) -> list[str]:
    """Return the paths of all pages of sessions, relative to `.memory/`."""
    folder = session_page.FOLDER
    return [path for path in snapshot.names(folder) if path.endswith(".md") and path.count("/") == 1]


def find(snapshot: Snapshot, reference: str) -> tuple[str, str]:
    """Return the path and the text of a session's page; `reference` is the session's name or the beginning of it.

    Raises MemctlError if no session, or more than one, has a name that begins so.
    """
    known = {path[len(session_page.FOLDER) + 1 : -len(".md")]: path for path in names(snapshot)}
    fitting = [reference] if reference in known else [name for name in known if name.startswith(reference)]
    if len(fitting) == 1:
        path = known[fitting[0]]
        try:
            return path, snapshot.read(path)
        except InvalidRecord as error:
            raise MemctlError(f"{snapshot.prefix}/{error}") from None
    if fitting:
        names_text = ", ".join(sorted(fitting)[:5])
        raise MemctlError(f"{reference!r} matches several sessions: {names_text}", "give the whole name")
    raise MemctlError(f"there is no page of a session named {reference!r}", "`memctl session list` lists them")


OP = "summarize"
_TITLE = 60  # characters of what a session was asked, in a commit's title


def plan(
    memory: Memory,
    sequence: IdSequence,
    summary: SessionSummary,
    accepted: Sequence[Proposal] = (),
    probes: Sequence[Probe] = (),
) -> Change:
    """Return the Change that writes a session's page and a record for each of the `accepted` proposals.

    The page is made from the summary, and merged with the session's existing page if there is one. It keeps the answers
    to all `probes`, even if it then exceeds its budget. `sequence` gives out the ids of the records. Raises MemctlError
    if the existing page can't be read or the new one is too large.
    """
    old_texts, old = existing_page(memory, summary.id)
    fitted = page_of(memory, summary, old, probes)
    writes, deletes = replacement(memory, old_texts, fitted)
    identifiers = list[str]()
    for proposal in accepted:
        change = create.create(memory, sequence, None, proposal.draft(KINDS))
        writes += change.writes
        identifiers += change.ids
    return Change(
        op=OP,
        title=title(fitted.page),
        ids=tuple(identifiers),
        writes=tuple(writes),
        deletes=tuple(deletes),
        session=summary.id,
    )


def title(page: SessionPage) -> str:
    """Return the title of the commit with a session's page: what was asked, "Round half to even (3 files)"."""
    asked = next(iter(page.lines.get(session_page.INTENT, ())), "")
    what = cut_at_word(first_sentence(asked).rstrip("."), _TITLE) or page.id
    return f"{what} ({quantity(int(page.values.get('files_modified') or 0), 'file')})"


def replacement(memory: Memory, old: Mapping[str, str], new: FittedPage) -> tuple[list[Write], list[Delete]]:
    """Return the writes and deletions that replace the files of a session's page by those of a `new` page.

    `old` are the texts of the page's present files, by path below `.memory/`. A page may have two files: the page
    itself and a list of the session's files. Raises MemctlError if a new file is too large.
    """
    texts = new.texts
    for path, text in texts.items():
        if (size := len(text.encode())) > files.MAX_BYTES:
            raise MemctlError(
                f"the page {memory.tracked(path)} would have {size:,} bytes; memctl reads at most {files.MAX_BYTES:,}",
                "summarize the session's transcript in parts, each with a name of its own (--id)",
            )
    writes = [Write(path, text, old.get(path)) for path, text in texts.items()]
    return writes, [Delete(path, text) for path, text in old.items() if path not in texts]


def page_of(
    memory: Memory, summary: SessionSummary, old: SessionPage | None, probes: Sequence[Probe] = ()
) -> FittedPage:
    """Return the page of a summary, merged with an `old` page and trimmed to its budget.

    The page keeps the answers to all `probes`, even if it then exceeds its budget.
    """
    whole = page_builder.compose(summary, memory.config.project, memory.now)
    if old is not None:
        whole = _merge(old, whole, summary)
    fitted = fit_page(memory, whole)
    if not probes:
        return fitted
    from memctl.session import missing_facts

    return missing_facts.fill(fitted, whole, probes)


def _merge(old: SessionPage, new: SessionPage, summary: SessionSummary) -> SessionPage:
    """Merge the page of another part of a session; state and next steps are those of the part that ended last."""
    ends = str(new.values.get("ended") or ""), str(old.values.get("ended") or "")
    if all(ends) and ends[0] < ends[1]:
        return msgspec.structs.replace(merge.merge(new, old), more=old.more)
    return merge.merge(old, new, summary.succeeded)


def fit_page(memory: Memory, whole: SessionPage) -> FittedPage:
    """Return a page trimmed to its budget.

    Counting tokens takes 180 ms the first time. So a page that is short enough for any tokenizer is not counted.
    """
    text = session_page.render(whole)
    most = len(text) + 4 * sum(not character.isascii() for character in text)
    if most <= trim.MOST_TOKENS and not whole.trail:
        return FittedPage(whole)
    return trim.fit(whole, documents.counter(memory))


def existing_page(memory: Memory, identifier: str) -> tuple[dict[str, str], SessionPage | None]:
    """Return the texts of the files of a session's page, by path, and the parsed page with all files of the session.

    Returns ({}, None) if the session has no page. Raises MemctlError if the page can't be read.
    """
    path = session_page.path_of(identifier)
    snapshot = load.disk(memory)
    if path not in snapshot.names(session_page.FOLDER):
        return {}, None
    try:
        texts = {path: snapshot.read(path)}
        page, faults = read(snapshot, path, texts[path])
        if page and page.trail and not faults:
            texts[page.trail] = snapshot.read(page.trail)
    except InvalidRecord as error:
        page, faults = None, error.faults
    if faults:
        hint = "correct the file, restore it from Git, or move it away"
        raise MemctlError("\n".join(f"{memory.prefix}/{fault}" for fault in faults), hint)
    return texts, page


def mark_ending(memory: Memory, session: Running) -> None:
    """Note in the file of a running session that its end is being written, and at which commit HEAD is."""
    active.keep(memory, msgspec.structs.replace(session, ending=memory.repository.branch()[1] or active.NO_COMMIT))


def recover(memory: Memory, session: Running) -> Outcome | None:
    """Finish an interrupted end of a session: commit the pending change with its page, or find the commit already made.

    Returns the id of the commit, or why there is none yet (as an `Outcome`). The result is None if nothing was written
    before the interruption, or if nobody has begun to end the session.
    """
    if not session.ending:
        return None
    with lock.hold(memory.repository.shared / "lock"):
        waiting = recovery.recover(memory)
        for entry in waiting:
            if not entry.undone and entry.change.op == OP and entry.change.session == session.id:
                is_to_be_made = entry.stage == PENDING
                return commit.commit_waiting(memory, waiting, entry) if is_to_be_made else Outcome(entry.change)
    left = changes_ref.of_session(memory, session.id)
    for made in (*_commits_since(memory, session.ending), *_commits_beside(memory, session), *left):
        if OP in made.trailers.ops and made.trailers.session == session.id:
            return Outcome(
                Change(op=OP, title=session.id, ids=made.trailers.ids, session=session.id), commit=made.commit
            )
    return None


def _commits_since(memory: Memory, ending: str) -> list[Commit]:
    """Return the memory's commits since a session was marked as ending; all of them if that commit no longer exists."""
    if ending != active.NO_COMMIT:
        with suppress(git.GitFailed):  # history was rewritten, and the old commit pruned
            return history.commits(memory.repository, [memory.prefix], f"{ending}..HEAD")
    return history.commits(memory.repository, [memory.prefix])


def _commits_beside(memory: Memory, session: Running) -> list[Commit]:
    """Return the commits on the ref `refs/memctl/sessions` since a session started."""
    tip = sessions_ref.head(memory)
    commits = history.commits(memory.repository, [memory.prefix], tip) if tip else []
    return [made for made in commits if made.date >= session.started]
