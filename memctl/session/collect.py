"""Summarize a session from its transcript and from the changes in Git between its start and its end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress

import msgspec

from memctl.git import differences, git, history, tree_merge, trees
from memctl.git.differences import FileChange
from memctl.git.history import Commit
from memctl.session import commands, trail
from memctl.session.active import Running
from memctl.session.summary import SessionSummary, summarize
from memctl.session.trail import Places
from memctl.store import changes_ref, load
from memctl.store.memory import Memory
from memctl.text.lazy_regex import lazy_regex
from memctl.transcript.events import Session

_CONFLICTS = lazy_regex(r"git (?:-\S+ (?:[^-\s]\S* )?)*(?:merge|rebase|pull|cherry-pick|revert)\b")
_MOST_COMMITS = 200  # the latest of a session
_ID = 7  # characters of a commit's id, as Git prints most
_MERGES = ("a merge", "a rebase", "a cherry-pick", "a revert")


def gather(memory: Memory, session: Session, identifier: str, running: Running | None = None) -> SessionSummary:
    """Return the summary of a session that was read from a transcript; `identifier` is the session's name.

    `running` is what memctl recorded when the session started, None if it recorded nothing. If it is given, the session
    counts as running from its recorded start (or the beginning of the transcript, if that is earlier) until now, and
    the uncommitted changes of the worktree count as changes of the session.
    """
    if running is not None:
        session = msgspec.structs.replace(
            session,
            started=min(filter(None, (session.started, running.started))),
            ended=max(session.ended, memory.now),
            branch=session.branch or running.branch,
        )
    places = Places(memory.repository.top, session.cwd)
    base: frozenset[str] = frozenset()
    changes: list[FileChange] = []
    if not places.is_elsewhere:
        before = running.commit if running else _commit_before(memory, session.started)
        base = _files_at(memory, before if session.started else "HEAD")
        changes = list(_outside_memory(memory, _changes(memory, session, before, running)))
    made = trail.of_session(session, places, base, changes)
    agent = running.agent if running else memory.actor
    summary = summarize(session, made, identifier, agent, places.root if places.is_elsewhere else "")
    summary = msgspec.structs.replace(summary, commands=tuple(commands.outcomes(session.events, places)))
    summary = _with_conflict(_below_root(summary, places), "" if places.is_elsewhere else memory.repository.under_way())
    if running is None:
        return summary
    return with_commits(memory, msgspec.structs.replace(summary, intent=running.intent or summary.intent), running)


def with_commits(memory: Memory, summary: SessionSummary, running: Running) -> SessionSummary:
    """Return a summary with the session's commits and the records that it created or changed, as Git has them.

    The commits are those in HEAD's history that were made since the session started. A record counts if the commit
    names the session, or names none and was made by the session's agent.
    """
    made: list[Commit] = []
    if memory.repository.has_head():
        revisions = f"{running.commit}..HEAD" if running.commit else "HEAD"
        with suppress(git.GitFailed):  # history was rewritten, and the old commit pruned
            made = history.commits(memory.repository, [], revisions, _MOST_COMMITS)
    made = [commit for commit in made if commit.date >= running.started]
    prefix = f"{memory.prefix}/"
    own = [commit for commit in made if commit.trailers.session in ("", running.id)]
    own = [commit for commit in own if commit.trailers.session or commit.trailers.actor == running.agent]
    recorded = [*changes_ref.of_session(memory, running.id), *own]
    titles = _titles(memory, (name for commit in reversed(recorded) for name in commit.trailers.ids))
    return msgspec.structs.replace(
        summary,
        commits=tuple(
            (commit.commit[:_ID], commit.subject)
            for commit in reversed(made)
            if any(not path.startswith(prefix) for path in commit.paths)
        )
        or summary.commits,
        records=tuple(titles),
        titles=titles,
    )


def _titles(memory: Memory, ids: Iterable[str]) -> dict[str, str]:
    """Return the titles of records by their ids."""
    wanted = list(dict.fromkeys(ids))
    snapshot = load.disk(memory) if wanted else None
    found = [(name, snapshot.find(name)) for name in wanted] if snapshot else []
    return {name: record.title for name, record in found if record is not None}


def _below_root(summary: SessionSummary, places: Places) -> SessionSummary:
    """Return a summary whose errors, steps and extracts have paths relative to the session's root."""
    root = places.root.rstrip("/") + "/"
    replace = msgspec.structs.replace
    return replace(
        summary,
        found=tuple(replace(file, path=file.path.removeprefix(root)) for file in summary.found),
        failures=tuple(
            replace(failure, step=failure.step.replace(root, ""), message=failure.message.replace(root, ""))
            for failure in summary.failures
        ),
        succeeded=frozenset(step.replace(root, "") for step in summary.succeeded),
    )


def _with_conflict(summary: SessionSummary, under_way: str) -> SessionSummary:
    """Return a summary whose last merge or rebase conflict is open, if Git still has that operation under way."""
    conflicts = [place for place, failure in enumerate(summary.failures) if _CONFLICTS.match(failure.step)]
    failures = list(summary.failures)
    for place in conflicts:
        is_open = place == conflicts[-1] and under_way in _MERGES
        failures[place] = msgspec.structs.replace(failures[place], is_open=is_open)
    return msgspec.structs.replace(summary, failures=tuple(failures)) if conflicts else summary


def _changes(memory: Memory, session: Session, before: str, running: Running | None) -> Iterator[FileChange]:
    repository = memory.repository
    head = repository.branch()[1] if repository.has_head() else ""
    # If HEAD has not moved since the start, it was the same at the end: no need to ask Git.
    after = head if running is not None or before == head else _commit_before(memory, session.ended)
    if after and after != before:
        yield from differences.changed_between(repository, before or tree_merge.edit_tree(repository, "", {}), after)
    if running is not None:
        dirty = set(running.dirty)
        yield from (change for change in differences.changed_in_worktree(repository) if change.path not in dirty)


def _commit_before(memory: Memory, moment: str) -> str:
    return history.commit_before(memory.repository, moment) if moment else ""


def _files_at(memory: Memory, revision: str) -> frozenset[str]:
    if not revision or not memory.repository.has_head():
        return frozenset()
    return frozenset(entry.path for entry in trees.entries(memory.repository, revision))


def _outside_memory(memory: Memory, changes: Iterable[FileChange]) -> Iterator[FileChange]:
    """Yield the changes of files outside the memory; `memctl log` shows those of the memory."""
    for change in changes:
        if not change.path.startswith(memory.prefix + "/"):
            yield change
