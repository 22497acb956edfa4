"""The command `memctl commit`: commit pending changes, and then edits that people made by hand."""

from __future__ import annotations

from collections.abc import Sequence

import click

from memctl.cli import memory_access, output, write_command
from memctl.cli.command import command, flag_option, json_option
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.store import pending_state
from memctl.store.memory import Memory
from memctl.write import commit, ownership_transaction, remove, transaction
from memctl.write.commit import Outcome


@command(
    "commit",
    ("memctl commit", "Commit pending changes, and edits made by hand."),
    ("memctl commit -n", "Show what would be committed, and commit nothing."),
    ("memctl commit --again", "Write changes again that were undone outside memctl, as by `git rebase --abort`."),
    ("memctl commit --drop LRN-2025-11-04-001", "Forget the change of one record that was undone outside memctl."),
)
@click.argument("ids", nargs=-1, metavar="[ID]...")
@flag_option("--again", help="Write changes again that were undone outside memctl: those of the given ids, or all.")
@flag_option("--drop", help="Forget changes that were undone outside memctl: those of the given ids, or all.")
@flag_option("--batch", hidden=True, help="Do nothing: hooks of older versions call it.")
@flag_option("--allow-accepted", help="Also commit edits of the text of an accepted decision.")
@flag_option("--allow-secret", help="Accept text that looks like a credential.")
@write_command.strict_option
@json_option
@flag_option("--dry-run", "-n", help="Show what would be committed, and commit nothing.")
def commit_command(
    ctx: click.Context,
    /,
    ids: tuple[str, ...],
    again: bool,
    drop: bool,
    batch: bool,
    allow_accepted: bool,
    allow_secret: bool,
    strict: bool,
    as_json: bool,
    dry_run: bool,
) -> None:
    """Commit each pending change with its own message, and then all edits made by hand.

    With the setting `commits: later` all changes that wait become one commit.

    Git can undo a change outside memctl before it is committed (`git rebase --abort`, `reset --hard`, `stash`,
    `checkout`). memctl keeps such a change until its text is back, --again writes it, or --drop forgets it. If the file
    has changed meanwhile, --again merges the change into it; if there is a conflict, --again shows it and writes
    nothing.
    """
    if (again and drop) or (ids and not (again or drop)):
        hint = (
            "`memctl commit` without ids commits everything that is pending; `git commit -- FILE` commits single files"
        )
        raise MemctlError("ids can be given only with --again or with --drop, which can't be combined", hint, USAGE)
    if batch:
        return
    memory = memory_access.memory(ctx)
    if not dry_run:
        memory.grant_trust() if again or drop else memory.refuse_untrusted_agent()
        ownership_transaction.recover(memory, transaction.write, ask_remote=True)
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
    is_pending = any(result.pending for result in results) and not dry_run
    ctx.exit(REFUSED if is_pending else OK)


def _print_commits(memory: Memory, results: Sequence[Outcome], verb: str, *, as_json: bool, dry_run: bool) -> None:
    if as_json:
        output.json_list("commits", [write_command.change_data(memory, result, False) for result in results])
        return
    if not results:
        output.note("nothing is pending" if verb == "commit" else "no change was undone outside memctl")
    for result in results:
        is_undone = result.pending == pending_state.WHY
        done = "dropped" if verb == "drop" else result.commit[:10] or ("undone" if is_undone else "pending")
        done = "written again, not committed yet" if result.is_later else done
        label = f"would {verb}" if dry_run and not is_undone else done
        output.one_line(f"{label}: {result.change.op} {result.change.title}")
        if not dry_run:
            write_command.pending(result)
        write_command.advice(result)
