"""`init`, `status` and `commit`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from memctl.cli import opening, output, report
from memctl.cli.command import command, json_option, reading
from memctl.cli.report import write_options, writing
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.git import history, hook_commits, locks, message, remotes, trust
from memctl.git.repository import find_top, refuse_bare
from memctl.pages import freshness
from memctl.record import handoff, timestamps
from memctl.record.snapshot import Snapshot
from memctl.store import entry_state, files
from memctl.store.memory import Memory
from memctl.text.phrases import quantity, some
from memctl.write import checkout_log, commit, remove, setup, transaction, two_phase
from memctl.write.commit import Outcome

_FEW_PAGES = 3  # stale ones that `status` names
_TRY = (
    "memctl status                        # what it holds",
    "memctl rehydrate | less              # what an agent gets when it starts to work",
    "memctl show 2.1                      # a section of the project, in one page",
    "memctl why src/lantern/db/pool.py    # what was decided about a file",
    'memctl search "out of connections"',
    'memctl learn "My first record" && git log --oneline',
)


@command(
    "init",
    ("memctl init", "Set up a memory at the root of this repository."),
    ("memctl init --git --project shop", "Make the Git repository too, and name the project."),
    ("memctl init --here", "In a repository of many projects: a memory for this folder."),
)
@click.option("--project", metavar="NAME", help="The project's name. [default: the folder's]")
@click.option("--git", "make_repository", is_flag=True, help="Make a Git repository first if there is none.")
@click.option("--here", is_flag=True, help="Put it into this folder, not at the repository's root.")
@writing
@click.pass_context
def init_command(ctx: click.Context, /, project: str | None, make_repository: bool, here: bool, **flags: Any) -> None:
    """Set up a memory in this repository.

    It is a folder `.memory/` with settings and a page that explains it, in one commit.
    """
    start: Path = ctx.obj.folder
    if make_repository and not _in_repository(start):
        if flags["dry_run"]:
            refuse_bare(start)
            output.text(f"would make a Git repository in {start.absolute()}, and a memory in it")
            return
        setup.make_repository(start)
    memory, change = setup.plan(start, os.environ, project, here=here)
    if not flags["dry_run"]:
        with suppress(MemctlError):  # where settings can't be written now; the next write tries again
            trust.grant(memory.repository)
    result = transaction.carry_out(memory, lambda _: change, write_options(flags))
    lines = [f"memory of {memory.config.project}: {memory.folder}"]
    report.outcome(memory, result, flags, lines)
    if not flags["as_json"]:
        output.note("hint: `memctl install git`, in each clone, lets Git merge rendered documents without conflicts")


@command(
    "demo",
    ("memctl demo", "Make the example in ./memctl-demo, and say what to type next."),
    ("memctl demo ~/lantern", "Make it somewhere else."),
)
@click.argument("folder", required=False, default="memctl-demo", type=click.Path(path_type=Path))
@click.option("-n", "--dry-run", is_flag=True, help="Say what would be made, and make nothing.")
@json_option
@click.pass_context
def demo_command(ctx: click.Context, /, folder: Path, dry_run: bool, as_json: bool) -> None:
    """Make an example to try: a small shop's repository, with its memory.

    It has the shop's code, a history of commits and 30 records, and stays until you delete the folder.
    """
    place = ctx.obj.folder / folder.expanduser()
    if dry_run:
        setup.refuse_used_folder(place)
    else:
        setup.build_example(place)
    if as_json:
        output.json("demo", {"folder": str(place), "made": not dry_run})
        return
    output.text(f"{'would make' if dry_run else 'made'} the example in {output.name(str(place))}")
    if not dry_run:
        output.note("".join(f"\n  {line}" for line in ("try:", f"cd {shlex.quote(str(folder))}", *_TRY))[3:])


@command(
    "status",
    ("memctl status", "What there is, and what waits to be committed."),
    ("memctl status --json", "For a program."),
)
@reading
@click.pass_context
def status_command(ctx: click.Context, /, as_json: bool, at: str | None) -> None:
    """Show where things stand, and what needs attention.

    Exit code 1: a file can't be read, or a commit has waited for over an hour, but for what waits on purpose
    (--no-commit) or for a merge or rebase that is under way.
    """
    memory = opening.memory(ctx)
    snapshot = opening.snapshot(memory, at)
    data = _status(memory, snapshot, at)
    if as_json:
        output.json("status", data, snapshot.faults, memory)
    else:
        _print_status(data)
    is_late = any(entry["overdue"] for entry in data.get("pending", ()))
    ctx.exit(output.finish(memory, snapshot) or (REFUSED if is_late else OK))


@command(
    "commit",
    ("memctl commit", "Commit what is pending, and edits made by hand."),
    ("memctl commit -n", "Show what that would be."),
    ("memctl commit --again", "Write and commit what was undone outside memctl, as by `git rebase --abort`."),
    ("memctl commit --drop LRN-2025-11-04-001", "Forget what was undone of one record."),
)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--again", is_flag=True, help="Write and commit what was undone outside memctl (of the ids, or all).")
@click.option("--drop", is_flag=True, help="Forget what was undone outside memctl (of the ids, or all).")
@click.option("--allow-accepted", is_flag=True, help="Let the text of an accepted decision change.")
@click.option("--allow-secret", is_flag=True, help="Let text pass that looks like a credential.")
@report.strict_option
@json_option
@click.option("--dry-run", "-n", is_flag=True, help="Show what would be committed, and commit nothing.")
@click.pass_context
def commit_command(
    ctx: click.Context,
    /,
    ids: tuple[str, ...],
    again: bool,
    drop: bool,
    allow_accepted: bool,
    allow_secret: bool,
    strict: bool,
    as_json: bool,
    dry_run: bool,
) -> None:
    """Make the commits that are pending, each with its own message, then one of edits made by hand.

    A change that was undone outside memctl before it had a commit (by `git rebase --abort`, `reset --hard`, `stash`,
    `checkout`) is kept until its text is there again, or --again writes it, or --drop forgets it. With --again, a file
    that has another text by now is merged; what can't be merged is shown, and nothing is written.
    """
    if (again and drop) or (ids and not (again or drop)):
        raise MemctlError("ids go with either --again or --drop", "`memctl commit -h` has examples", USAGE)
    memory = opening.memory(ctx)
    if not dry_run:
        memory.grant_trust()
        two_phase.recover(memory, transaction.write, ask_remote=True)
    if drop:
        forgotten = remove.forget(memory, ids, dry_run=dry_run)
        _print_commits(memory, [Outcome(change) for change in forgotten], "drop", as_json=as_json, dry_run=dry_run)
        return
    if again:
        results = remove.reinstate(memory, ids, dry_run=dry_run)
    else:
        allowed = {"allow_accepted": allow_accepted, "allow_secret": allow_secret, "strict": strict}
        results = commit.commit_all(memory, dry_run=dry_run, **allowed)
    _print_commits(memory, results, "write again" if again else "commit", as_json=as_json, dry_run=dry_run)
    stuck = any(result.pending for result in results) and not dry_run
    ctx.exit(REFUSED if stuck else OK)


def _print_commits(memory: Memory, results: Sequence[Outcome], verb: str, *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        output.json("commits", [report.change_data(memory, result, False) for result in results])
        return
    if not results:
        output.note("nothing is pending" if verb == "commit" else "nothing was undone outside memctl")
    for result in results:
        is_undone = result.pending == entry_state.WHY
        done = "dropped" if verb == "drop" else result.commit[:10] or ("undone" if is_undone else "pending")
        label = f"would {verb}" if dry_run and not is_undone else done
        output.one_line(f"{label}: {result.change.op} {result.change.title}")
        if not dry_run:
            report.pending(result)
        report.advice(result)


def _in_repository(start: Path) -> bool:
    if not start.exists():
        return False
    try:
        find_top(start)
    except MemctlError:
        return False
    return True


def _status(memory: Memory, snapshot: Snapshot, at: str | None) -> dict[str, Any]:
    counts: dict[str, dict[str, int]] = {}
    for record in snapshot.records:
        of_type = counts.setdefault(record.memory_type, {})
        key = "archived" if record.is_archived else record.status
        of_type[key] = of_type.get(key, 0) + 1
    revision = memory.repository.resolve(at) if at else "HEAD"
    changes = history.commits(memory.repository, [memory.prefix], revision, limit=1)
    data: dict[str, Any] = {
        "project": memory.config.project,
        "folder": str(memory.folder),
        "records": counts,
        "last_change": _change_data(changes[0]) if changes else None,
        "duplicate_ids": _duplicates(snapshot),
        "stale_pages": [{"id": page.id, "files": stale} for page, stale in freshness.outdated(snapshot)],
    }
    if at is None:
        data["trusted"] = memory.is_trusted
        data["hook_commits"], data["fault_of_settings"] = _hook_commits(memory)
        waiting = entry_state.outstanding(memory)
        overdue = entry_state.overdue(memory, waiting)
        data["pending"] = [
            {
                "stage": e.stage,
                "op": e.change.op,
                "title": e.change.title,
                "ids": list(e.change.ids),
                "why": entry_state.reason(memory, e) or None,
                "undone": e.undone,
                "overdue": e in overdue,
                "since": timestamps.from_epoch(int(e.began)),
            }
            for e in waiting
        ]
        covered = {path for entry in waiting for path in entry.change.paths}
        rest = [path for path in entry_state.uncommitted(memory) if path not in covered]
        data["uncommitted"] = [output.name(memory.tracked(p)) for p in (*rest, *files.leftovers(memory.folder))]
        move = checkout_log.noted(memory)
        moving = [f"{move.why} (interrupted, the next write, or `memctl sync`, finishes it)"] if move else []
        data["interrupted"] = [*moving, *two_phase.interrupted(memory)]
        data["handoffs"] = [
            {"id": one.record.id, "from": one.parties.from_agent_id, "title": one.record.title}
            for one in handoff.waiting(snapshot, memory.actor)
        ]
        data["commits_blocked_by"] = memory.repository.under_way() or None
        data["locks"] = _locks(memory)
        data["index_lock"] = next((line for line in data["locks"] if "has locked the index" in line), None)
        data["upstream"] = _upstream(memory)
    return data


def _hook_commits(memory: Memory) -> tuple[str | None, str | None]:
    """What hooks of agents commit (None: not decided yet), and what is wrong with the setting that says so."""
    try:
        return hook_commits.mode(memory.repository) or None, None
    except hook_commits.UnknownValue as error:
        return None, f"{error.message}; {error.hint}"


def _change_data(commit: history.Commit) -> dict[str, Any]:
    return {
        "commit": commit.commit,
        "date": commit.date,
        "actor": commit.trailers.actor or commit.author,
        "subject": commit.subject.removeprefix(f"{message.TYPE}: "),
    }


def _duplicates(snapshot: Snapshot) -> dict[str, list[str]]:
    """The ids that more than one record has, as happens when two clones give out the same one."""
    memory_ids: dict[str, list[str]] = {}
    for record in snapshot.records:
        memory_ids.setdefault(record.id, []).append(record.memory_id)
    return {identifier: found for identifier, found in memory_ids.items() if len(found) > 1}


def _locks(memory: Memory) -> list[str]:
    repository = memory.repository
    found = locks.present(repository.git_dir, repository.common_dir, repository.branch()[0])
    return ["; ".join(locks.describe(lock)) for lock in found]


def _upstream(memory: Memory) -> dict[str, Any] | None:
    found = remotes.distance(memory.repository)
    return dict(zip(("name", "ahead", "behind"), found, strict=True)) if found else None


def _print_memory(data: dict[str, Any]) -> None:
    """Where the memory is, what hooks of agents may do there if there is something to say about it, and its records."""
    output.one_line(f"memory of {data['project']}: {data['folder']}")
    if not data.get("trusted", True):
        output.text(f"this clone is not trusted: hooks of agents do nothing here (`{trust.COMMAND}` changes that)")
    if fault := data.get("fault_of_settings"):
        output.one_line(f"hooks of agents commit nothing: {fault}")
    for name, counts in sorted(data["records"].items()):
        shown = ", ".join(f"{number:,} {status}" for status, number in sorted(counts.items()))
        output.text(f"  {name:<9} {shown}")
    if not data["records"]:
        output.text("  no records yet")


def _stale_line(stale: Sequence[dict[str, Any]]) -> str:
    """Which pages are stale, and by which files, in a line, with the command that says more."""
    shown = [f"{one['id']} {some([path.rpartition('/')[2] for path in one['files']], 1)}" for one in stale[:_FEW_PAGES]]
    more = [f"and {len(stale) - _FEW_PAGES:,} more"] if len(stale) > _FEW_PAGES else []
    return f"{quantity(len(stale), 'page')} stale ({', '.join([*shown, *more])}): `memctl impact --all`"


def _print_status(data: dict[str, Any]) -> None:
    _print_memory(data)
    if last := data["last_change"]:
        output.one_line(f"last change: {last['subject']} ({last['date']}, {last['actor']})")
    for identifier, found in data["duplicate_ids"].items():
        output.text(f"{identifier} is the id of {len(found)} records: {', '.join(found)}")
    if stale := data["stale_pages"]:
        output.one_line(_stale_line(stale))
    for entry in data.get("pending", ()):
        late = f" since {entry['since']}" if entry["overdue"] else ""
        output.one_line(f"pending{late}: {entry['op']} {entry['title']} ({entry['why'] or 'not committed'})")
    for line in data.get("interrupted", ()):
        output.one_line(f"pending: {line}")
    for one in data.get("handoffs", ()):
        output.one_line(f"{one['id']} from {one['from']} waits for your answer: {one['title']}")
    for path in data.get("uncommitted", ()):
        output.one_line(f"uncommitted: {path}")
    if data.get("commits_blocked_by"):
        output.text(f"no commits now: {data['commits_blocked_by']} is under way")
    upstream = data.get("upstream")
    if upstream and (upstream["ahead"] or upstream["behind"]):
        away = f"{upstream['ahead']} ahead of and {upstream['behind']} behind {upstream['name']}"
        output.one_line(f"commits {away}, as last fetched: `memctl sync`")
    for line in data.get("locks", ()):
        output.text(line)
