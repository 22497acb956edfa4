"""Open the memory for a command, and load the Snapshot that the command's options select."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

import memctl.agent_view as agent_view
from memctl.cli import output
from memctl.errors import MemctlError
from memctl.git import git, trust
from memctl.record.snapshot import Snapshot
from memctl.store import agent_env, load, memory_root
from memctl.store.memory import Memory, open_memory

if TYPE_CHECKING:
    from memctl.record.filters import Filters
    from memctl.store.cache_update import Progress

_PATIENCE = 5.0  # seconds to wait; a summary of a transcript of 10 MB with its commit takes about one
# Packs and `status` name an untrusted clone themselves.
_WARN_IF_UNTRUSTED = ("list", "show", "search", "index", "log", "why")
# These commands take no lock, and remark on changes that Git undid. `status` lists such changes, and writes name them.
_READS = ("list", "show", "search", "index", "why", "rehydrate", "resume")
_WHOLE = ("check", "render")  # commands that also read what a sparse checkout leaves out
_WORTH_A_BAR = 2_000  # files; fewer take less than a second


def memory(ctx: click.Context) -> Memory:
    """Return the memory around the command's directory; raises MemctlError if there is none.

    First, jobs that agents' hooks have queued are finished. Remarks on the memory (`Memory.remarks`) are printed when
    the command ends.
    """
    opened = open_memory(ctx.obj.folder, agent_env.with_agent(os.environ), ctx.obj.asked)
    ctx.obj.memory = opened
    opened.by_hand = True
    opened.note_caller()
    if opened.has_jobs:
        _finish_jobs(ctx, opened)
    if not ctx.params.get("at"):
        if os.path.lexists(opened.private / memory_root.BATCH) and not _writes(ctx):
            opened.remarks.append(
                "an older memctl left a batch of changes open here: the next write or `memctl commit` commits it"
            )
        if ctx.info_name not in _WHOLE:
            _warn_of_sparse_checkout(opened)
        if ctx.info_name in _READS:
            _note_undone(opened)
    if ctx.info_name in _WARN_IF_UNTRUSTED and not opened.is_trusted:
        opened.remarks.append(
            f"these records are from a clone that is not trusted (`{trust.COMMAND}` trusts the clone)"
        )
    if ctx.info_name not in (*_READS, "status"):
        _announce_locks(ctx)
    ctx.call_on_close(opened.repository.close)
    ctx.call_on_close(lambda: output.note(*opened.remarks))
    return opened


def _announce_locks(ctx: click.Context) -> None:
    from memctl.store import lock  # not loaded by commands that read, which take no lock

    lock.announce = output.note
    ctx.call_on_close(lambda: setattr(lock, "announce", None))


def _finish_jobs(ctx: click.Context, opened: Memory) -> None:
    """A command that writes finishes the jobs of killed processes; any other command only reports them."""
    from memctl.store import job_queue

    if git.committing_process() or not job_queue.notes(opened.hooks):  # a hook must not wait for the job that commits
        return
    opened.asked = None  # the early answer of Git does not show what the jobs write
    is_done = False
    with suppress(OSError):  # the folder may be read-only; somebody else finishes the jobs
        is_done = job_queue.wait(opened.hooks, _PATIENCE) or (_writes(ctx) and ctx.obj.finish_jobs(opened.hooks))
    if not is_done:
        output.note(
            "an agent's hook was interrupted: `memctl commit` finishes its work"
            " (`memctl hook log --faults` lists errors)"
        )


def _warn_of_sparse_checkout(opened: Memory) -> None:
    if text := load.sparse_note(opened):
        opened.remarks += [
            f"warning: {text}, and left out of the answer",
            "hint: `git sparse-checkout disable` checks these files out; the option --at HEAD reads them",
        ]


def _note_undone(opened: Memory) -> None:
    """Git is called only if a pending text is missing."""
    if not has_pending(opened):
        return
    from memctl.store import pending_state

    names = [pending_state.describe(entry) for entry in pending_state.undone(opened)]
    if names:
        from memctl.text.phrases import some

        what = pending_state.AGAIN if len(names) == 1 else pending_state.AGAIN.replace(" it", " them")
        verb = "was" if len(names) == 1 else "were"
        opened.remarks.append(f"warning: {some(names, 1)} {verb} {pending_state.WHY}; {what}")


def has_pending(opened: Memory) -> bool:
    """Return whether a change of the memory is written to disk but not committed yet."""
    with suppress(OSError):
        return any(name.endswith(".json") for name in os.listdir(f"{opened.private}/pending"))
    return False


def _writes(ctx: click.Context) -> bool:
    """The options of a command tell whether it makes commits."""
    is_one = "no_commit" in ctx.params or ctx.command.name in ("commit", "sync")
    return is_one and not ctx.params.get("dry_run")


def memory_if_any(ctx: click.Context) -> Memory | None:
    """Return the memory around the command's directory, None if there is none; raises MemctlError if it is broken."""
    try:
        memory_root.find(ctx.obj.folder)
    except MemctlError:
        return None
    return memory(ctx)


def snapshot(opened: Memory, at: str | None, *, whole: bool = False) -> Snapshot:
    """Return the Snapshot of the memory at the revision `at`; if `at` is None, that of the disk.

    If `whole` is True, files that a sparse checkout leaves out of the worktree are read from Git.
    """
    if at is not None:
        return load.revision(opened, at)
    return load.disk(opened, _progress if sys.stderr.isatty() else None, whole=whole)


def readable(opened: Memory, at: str | None) -> Snapshot:
    """Return the Snapshot of the memory at the revision `at` (None for the disk), without what the reader may not see.

    A person may see all; an agent that runs the command may not see what owners of sections keep from it.
    """
    return agent_view.readable(opened, snapshot(opened, at), at)


def read(ctx: click.Context, at: str | None) -> tuple[Memory, Snapshot]:
    """Return the memory around the command's directory, and its Snapshot (see `readable`).

    `at` is a revision, None for the disk.
    """
    opened = memory(ctx)
    return opened, readable(opened, at)


def progress(doing: str) -> Progress | None:
    """Return a function that draws a progress bar on standard error; None if standard error is not a terminal.

    The function takes the number of steps that are done and the number of all steps. `doing` is the text before the
    bar.
    """
    return (lambda done, total: _progress(done, total, doing)) if sys.stderr.isatty() else None


def filters(opened: Memory, snapshot: Snapshot, section: str, since: str, until: str, **named: Any) -> Filters:
    """Return the filter for records that the options of `list`, `search` and `export` describe.

    The parameters are the values of the options, "" or None for an option that was not given. `named` has the options
    for which there is no parameter: `archived`, `everything` (--all), and fields of `Filters`. Raises MemctlError for
    an invalid time, and for a section without a page and records if there are other sections.
    """
    from memctl.record.filters import Filters

    def time(text: str, *, whole_day: bool = False) -> str:
        from memctl.record import time_input  # most calls filter by no time

        return time_input.parse(text, opened.now, whole_day=whole_day)

    archived, everything, importance = (named.pop(name) for name in ("archived", "everything", "importance"))
    marker = f"§{section.removeprefix('§')}"
    paths = snapshot.outline.records_in([marker], snapshot.catalogue) if section else None
    if paths == frozenset() and snapshot.outline.sections and snapshot.outline.find(marker) is None:
        from memctl.pages.links import missing_section

        raise missing_section(snapshot.outline, marker)
    return Filters(
        importance_gte=importance or 0,
        paths=paths,
        since=time(since) if since else "",
        until=time(until, whole_day=True) if until else "",
        archived=None if everything else archived,
        **named,
    )


def _progress(done: int, total: int, doing: str = "reading the memory") -> None:
    if total < _WORTH_A_BAR:
        return
    filled = 30 * done // total
    end = "\r\033[K" if done == total else ""
    bar = f"\r{doing} [{'#' * filled}{'.' * (30 - filled)}] {done:,} of {total:,}{end}"
    print(bar, end="", file=sys.stderr, flush=True)
