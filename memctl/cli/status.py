"""The command `memctl status`: show the state of the memory, and what needs attention."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
import msgspec

from memctl.cli import memory_access, output, status_figures
from memctl.cli.command import command, reading
from memctl.errors import OK, REFUSED
from memctl.git import git, hook_commits, locks, trust
from memctl.git.status import StatusProcess
from memctl.pages import MANY_RECORDS
from memctl.record.snapshot import Snapshot
from memctl.store import changes_ref, files, memory_root, settings_check
from memctl.store.memory import Memory
from memctl.text.phrases import quantity, some

if TYPE_CHECKING:
    from memctl.git.history import Commit

_FEW_PAGES = 3  # stale pages to name
_OF_DOCUMENTS = {
    "never rendered": "the documents were never rendered: run `memctl page render`, or let a workflow run it",
    "behind": "the documents are behind the memory: run `memctl page render`, or let a workflow run it",
    "on every branch": "the documents are rendered on every branch, where pull requests conflict: `memctl init --docs "
    "default-branch` leaves them to `memctl page render` (--docs true: as now)",
}


@command(
    "status",
    ("memctl status", "Show progress, open issues, agents at work, and what is pending."),
    ("memctl status --at v1.0", "Show the memory of a release."),
    ("memctl status --json", "Print the state of the memory as JSON."),
)
@reading
def status_command(ctx: click.Context, /, as_json: bool, at: str | None) -> None:
    """Show the state of the memory, and what needs attention.

    Exit code 1: a file can't be read, or a commit has been pending for over an hour. Commits that wait because
    of --no-commit, or for a merge or rebase under way, do not count.
    """
    memory = memory_access.memory(ctx)
    process = memory.asked = memory.ask(settings=True) if at is None else None  # used below, and to read the memory
    snapshot = memory_access.snapshot(memory, at)
    data = _data(memory, snapshot, at, process)
    if as_json:
        output.json("status", data, snapshot.faults, memory)
    else:
        _print(data, status_figures.Bars.of_terminal())
    is_late = any(entry["overdue"] for entry in data.get("pending", ()))
    ctx.exit(output.finish(memory, snapshot) or (REFUSED if is_late else OK))


def _data(memory: Memory, snapshot: Snapshot, at: str | None, process: StatusProcess | None) -> dict[str, Any]:
    data: dict[str, Any] = {
        "project": memory.config.project,
        "folder": str(memory.folder),
        "last_change": _last_change(memory, snapshot, at),
    }
    data |= status_figures.figures_of(memory, snapshot, is_now=at is None)
    if process is not None:
        repository = memory.repository
        data["at_work"] = status_figures.at_work(memory)
        data["trusted"], data["hook_commits"] = memory.is_trusted, None
        faults = settings_check.faults(memory)
        with suppress(hook_commits.UnknownValue):
            data["hook_commits"] = hook_commits.mode(memory.repository) or None
        data["fault_of_settings"] = "; ".join(f"{fault.message}; {fault.hint}" for fault in faults) or None
        data["documents"] = _documents(memory, snapshot, process)
        data["pending"], data["waiting"], covered = (
            _pending(memory) if memory_access.has_pending(memory) else ([], 0, set())
        )
        rest = [path for path in _differing(memory, process) if path not in covered]
        rest = [path for path in rest if not (data["waiting"] and path.startswith(f"{memory_root.DOCUMENTS}/"))]
        untracked = [path[len(memory.prefix) + 1 :] for path in process.differing()]
        rest += files.leftovers(memory.folder, untracked)
        data["uncommitted"] = [output.name(memory.tracked(path)) for path in rest]
        data["interrupted"] = _interrupted(memory)
        data["handoffs"] = _handoffs(memory, snapshot)
        data["commits_blocked_by"] = memory.repository.under_way() or None
        lock_files = locks.existing(repository.git_dir, repository.common_dir, repository.branch()[0])
        data["locks"] = ["; ".join(locks.describe(lock)) for lock in lock_files]
        data["index_lock"] = next((line for line in data["locks"] if "has locked the index" in line), None)
        data["upstream"] = _upstream(memory, snapshot, process)
    return data


def _pending(memory: Memory) -> tuple[list[dict[str, Any]], int, set[str]]:
    from memctl.store import pending_state  # mostly none is pending
    from memctl.text import timestamps

    waiting = pending_state.open_entries(memory)
    overdue = pending_state.overdue(memory, waiting)
    entries = [
        {
            "stage": e.stage,
            "op": e.change.op,
            "title": e.change.title,
            "ids": list(e.change.ids),
            "why": pending_state.reason(memory, e) or None,
            "undone": e.undone,
            "overdue": e in overdue,
            "since": timestamps.from_epoch(int(e.began)),
        }
        for e in waiting
        if e.undone or not (e.held and e.recorded)
    ]
    return entries, len(waiting) - len(entries), {path for entry in waiting for path in entry.change.paths}


def _documents(memory: Memory, snapshot: Snapshot, process: StatusProcess) -> str | None:
    from memctl.write import documents

    config = memory.config
    if config.format == 1 or not documents.belong_here(memory, config):
        return None
    if config.docs is True:
        is_chosen = re.search("^docs:", files.read(memory.folder, memory_root.CONFIG), re.MULTILINE)
        return "on every branch" if memory.repository.remotes() and not is_chosen else None
    if not snapshot.names(memory_root.DOCUMENTS):
        return "never rendered"
    key = f"documents: {process.commit()} {process.differing()}".encode()
    if (known := snapshot.catalogue.recall(key)) is None and not documents.unused_templates(memory, snapshot):
        found = documents.compare(memory, snapshot, force=True)
        known = b"behind" if found.stale or found.orphans or found.sources_stale else b""
        snapshot.catalogue.keep(key, known)
    return known.decode() if known else None


def _differing(memory: Memory, process: StatusProcess) -> list[str]:
    start = len(memory.prefix) + 1
    return [path[start:] for path in process.differing(ignored=False) if not files.is_temporary(path[start:])]


def _handoffs(memory: Memory, snapshot: Snapshot) -> list[dict[str, str | None]]:
    from memctl.record import handoff
    from memctl.team import handoffs, ref_state

    elsewhere = ((branch, item) for branch, item in handoffs.offers_elsewhere(memory, snapshot))
    offers = handoff.read_all(snapshot, only_open=True)[0]
    here = ((None, item) for item in (handoffs.answered(ref_state.read(memory).state, offers) if offers else ()))
    return [
        {"id": item.record.id, "from": item.parties.from_agent_id, "title": item.record.title, "branch": branch}
        for branch, item in (*here, *elsewhere)
        if item.is_offered and item.parties.to_agent_id == memory.actor
    ]


def _interrupted(memory: Memory) -> list[str]:
    """Modules are imported only if there may be an interrupted operation."""
    places = memory.private / memory_root.STEPS, memory.repository.private / memory_root.MOVE
    if not any(map(os.path.lexists, places)):
        return []
    from memctl.write import checkout_log, ownership_transaction

    move = checkout_log.read(memory)
    moving = [f"{move.why} (interrupted; the next write or `memctl sync` finishes it)"] if move else []
    return [*moving, *ownership_transaction.interrupted_steps(memory)]


def _last_change(memory: Memory, snapshot: Snapshot, at: str | None) -> dict[str, Any] | None:
    """Git's answer is cached, since it may search far back."""
    repository, newest = memory.repository, "" if at else changes_ref.tip(memory)
    commit = repository.resolve(at) if at else repository.branch()[1]
    key = f"last change: {commit} {newest}".encode()
    if (cached := snapshot.catalogue.recall(key)) is not None:
        return msgspec.json.decode(cached, type=dict[str, Any] | None)
    from memctl.git import history  # the answer is mostly cached

    changes = history.commits(repository, [memory.prefix], commit or "HEAD", limit=1)
    cut = repository.shallow()  # to Git the first commit of a shallow clone has changed everything
    changes = [change for change in changes if change.commit not in cut or change.trailers.ops]
    changes += changes_ref.changes(memory, [memory.prefix], 1) if newest else []
    data = _change_data(max(changes, key=lambda change: change.date)) if changes else None
    if commit:
        snapshot.catalogue.keep(key, msgspec.json.encode(data))
    return data


def _change_data(commit: Commit) -> dict[str, Any]:
    from memctl.store import commit_message  # the answer is mostly cached

    return {
        "commit": commit.commit,
        "date": commit.date,
        "actor": commit.actor,
        "subject": commit.subject.removeprefix(f"{commit_message.TYPE}: "),
    }


def _upstream(memory: Memory, snapshot: Snapshot, process: StatusProcess) -> dict[str, Any] | None:
    """Git counts the commits only if the two differ, and only once for each pair of commits."""
    name, is_level = process.upstream()
    keys = ("name", "ahead", "behind", "ahead_outside_of_memory")
    if not name or is_level:
        return dict(zip(keys, (name, 0, 0, 0), strict=True)) if name else None
    there = memory.repository.tip(f"refs/remotes/{name}")  # "" for a branch of this clone
    key = f"distance and code: {process.commit()} {there}".encode()
    if there and (cached := snapshot.catalogue.recall(key)) is not None:
        return dict(zip(keys, (name, *msgspec.json.decode(cached, type=tuple[int, int, int])), strict=True))
    from memctl.git import remotes

    try:
        distance = remotes.ahead_behind(memory.repository, "HEAD", "@{upstream}")
        outside = remotes.commits_outside(memory.repository, "HEAD", ["@{upstream}"], memory_root.FOLDER)
    except git.GitFailed:
        return None
    if there:
        snapshot.catalogue.keep(key, msgspec.json.encode((*distance, len(outside))))
    return dict(zip(keys, (name, *distance, len(outside)), strict=True))


def _print(data: dict[str, Any], bars: status_figures.Bars) -> None:
    output.one_line(f"memory of {data['project']}: {data['folder']}")
    if not data.get("trusted", True):
        output.text(
            f"this clone is not trusted, so hooks of agents do nothing here (`{trust.COMMAND}` trusts the clone)"
        )
    if fault := data.get("fault_of_settings"):
        output.painted(fault, "yellow")
    status_figures.print_figures(data, bars)
    if last := data["last_change"]:
        output.one_line(f"last change: {last['subject']} ({last['date']}, {last['actor']})")
    if number := data.get("waiting"):
        output.text(
            f"{quantity(number, 'change')} not committed yet: your next commit may take what is in {data['folder']}, or"
            " `memctl commit` commits it"
        )
    for line in _attention_lines(data):
        output.painted(line, "yellow")


def _attention_lines(data: dict[str, Any]) -> Iterator[str]:
    for identifier, memory_ids in data["duplicate_ids"].items():
        yield f"{identifier} is the id of {len(memory_ids)} records ({', '.join(memory_ids)}): run `memctl renumber`"
    if stale := data["stale_pages"]:
        yield _stale_line(stale)
    if (number := data["records_since_overview"]) >= MANY_RECORDS:
        yield f"{number:,} records are newer than the project's page: check it, then run `memctl page review §1.0`"
    for entry in data.get("pending", ()):
        late = f" since {entry['since']}" if entry["overdue"] else ""
        reason = " ".join((entry["why"] or "not committed").split())
        yield f"pending{late}: {entry['op']} {entry['title']} ({reason})"
    yield from (f"pending: {line}" for line in data.get("interrupted", ()))
    for handoff in data.get("handoffs", ()):
        where = f" on {handoff['branch']}" if handoff["branch"] else ""
        yield f"handoff {handoff['id']} from {handoff['from']} waits{where} for your answer: {handoff['title']}"
    yield from (f"uncommitted: {path}" for path in data.get("uncommitted", ()))
    if data.get("commits_blocked_by"):
        yield f"memctl makes no commits now, because {data['commits_blocked_by']} is under way"
    if state := data.get("documents"):
        yield _OF_DOCUMENTS[state]
    upstream = data.get("upstream")
    if upstream and (upstream["ahead"] or upstream["behind"]):
        counts = [f"{quantity(upstream[side], 'commit')} {side}" for side in ("ahead", "behind") if upstream[side]]
        way = "`memctl sync`"
        if code := upstream["ahead_outside_of_memory"]:  # when code is published is not for memctl to say
            way = f"`git push` sends {quantity(code, 'commit')} with code when you are ready"
            way += "; `memctl sync --no-push` merges" if upstream["behind"] else ""
        yield f"this branch is {' and '.join(counts)}, compared with {upstream['name']} as last fetched: {way}"
    yield from data.get("locks", ())


def _stale_line(stale: Sequence[dict[str, Any]]) -> str:
    shown = [
        f"{page['id']} {some([path.rpartition('/')[2] for path in page['files']], 1)}" for page in stale[:_FEW_PAGES]
    ]
    more = [f"and {len(stale) - _FEW_PAGES:,} more"] if len(stale) > _FEW_PAGES else []
    return f"stale pages: {len(stale):,} ({', '.join([*shown, *more])}); `memctl page impact --all` says why"
