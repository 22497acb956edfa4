"""The command `memctl sync`: fetch and merge a remote's memory, render the documents, and push."""

from __future__ import annotations

import click

from memctl.cli import memory_access, output
from memctl.cli.command import command, flag_option, json_option
from memctl.errors import OK, REFUSED
from memctl.sync import result
from memctl.sync import sync as syncing


@command(
    "sync",
    ("memctl sync", "Fetch, merge this branch with its upstream, and push."),
    ("memctl sync origin --dry-run", "Fetch, and print what would be merged, renumbered and pushed."),
    ("memctl sync --no-push", "Fetch and merge, but push nothing."),
    ("memctl sync --with-code", "Push commits of code to the default branch, too."),
)
@click.argument("remote", default="")
@flag_option("--no-push", help="Merge into this branch, and push nothing.")
@flag_option("--with-code", help="Also push commits with other files than the memory's to a default branch.")
@flag_option("--dry-run", "-n", help="Fetch, show what would be merged and pushed, and change no branch.")
@json_option
def sync_command(
    ctx: click.Context, /, remote: str, no_push: bool, with_code: bool, dry_run: bool, as_json: bool
) -> None:
    """Fetch, merge, render the documents and push: the branch, and the state that agents share.

    The branch is merged with its upstream, and pushed to where `git push` (for REMOTE: `git push REMOTE`) pushes it; if
    Git would not push it, sync does not either. Commits that change other files than the memory's go to the remote's
    default branch only with --with-code.

    Pages of sessions and checkpoints that are on refs/memctl/sessions and on no branch are synced too, after redacting
    what looks like a credential.

    Records and pages are merged field by field: lists by union, counts by what each side added, a status by whichever
    is further along, texts line by line. Where both sides changed one field, the remote's value wins; yours is named,
    also in the commit. An id that both sides gave out stays with the record that was published first. A record that one
    side deleted and the other changed is kept.

    Git merges your own files. If they conflict, or uncommitted changes are in the way, sync stops before it changes
    anything. Your pre-push hook runs before the worktree has the merged files; commit hooks do not run.
    """
    memory = memory_access.memory(ctx)
    if not dry_run:
        memory.refuse_untrusted_agent()
    shown: list[str] = []

    def show(lines: list[str]) -> None:
        shown.extend(lines)
        for line in lines if not as_json else ():
            output.text(line)

    done = syncing.sync(
        memory,
        remote,
        syncing.Options(not no_push, with_code, dry_run),
        lambda planned: show(result.branch_lines(planned, push=not no_push)),
    )
    show(result.coordination_lines(done))
    if as_json:
        output.answer("sync", done, memory=memory)
    elif not shown and not done.warning:
        output.text(f"nothing to do: this branch and {(done.target or done.upstream).name} are at the same commit")
    if done.warning:
        output.note(f"warning: {done.warning}")
    ctx.exit(REFUSED if done.warning else OK)
