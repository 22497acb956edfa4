"""The command `memctl sync`: fetch and merge a remote's memory, render the documents, and push."""

from __future__ import annotations

from typing import Any

import click

from memctl.cli import memory_access, output
from memctl.cli.command import command, flag_option, json_option
from memctl.errors import OK, REFUSED
from memctl.store.memory import Memory
from memctl.sync import merge_tree, result
from memctl.sync import sync as syncing
from memctl.write import id_collisions
from memctl.write.merge import WHOLE


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
        lambda planned: show(result.branch_lines(planned, dry_run=dry_run, push=not no_push)),
    )
    show(result.coordination_lines(done, dry_run=dry_run))
    if as_json:
        output.json("sync", _data(memory, done, dry_run=dry_run))
    elif not shown and not done.warning:
        output.text(f"nothing to do: this branch and {(done.target or done.upstream).name} are at the same commit")
    if done.warning:
        output.note(f"warning: {done.warning}")
    ctx.exit(REFUSED if done.warning else OK)


def _data(memory: Memory, done: result.SyncResult, *, dry_run: bool) -> dict[str, Any]:
    made = done.made
    return {
        **output.fields(done.upstream, "remote branch"),
        "upstream": done.upstream.name,
        "push_target": done.target.name if done.target else None,
        **output.fields(done, "before theirs fetched pushed tries"),
        "commit": done.commit if not (dry_run and made) else None,
        "changed": done.commit != done.before,
        "pushed_outside_of_memory": done.foreign,
        "merged": [output.name(memory.tracked(path)) for path in made.both] if made else [],
        "renumbered": [
            {"old": holder.name, "new": holder.now, "path": output.name(memory.tracked(id_collisions.new_path(holder)))}
            for holder in (made.renamed if made else ())
        ],
        "lost": [
            {
                "id": item.id,
                "path": output.name(memory.tracked(item.path)),
                "field": None if item.loss.key == WHOLE else item.loss.key,
                "lost": merge_tree.one_line(item.loss.lost),
                "kept": merge_tree.one_line(item.loss.kept),
            }
            for item in (made.lost if made else ())
        ],
        "kept": [output.name(memory.tracked(path)) for path in made.revived] if made else [],
        "coordination": {
            "commit": done.coordination or None,
            "fetched": done.taken,
            "pushed": done.given,
            "gave_way": list(done.gave_way),
            "settled": list(done.settled),
        },
        "sessions": {
            "fetched": done.sessions_taken,
            "pushed": done.sessions_given,
            "redacted": [output.name(path) for path in done.sessions_redacted],
        },
        "refs_refused": done.refusal or None,
        "finished": list(memory.remarks),
        "dry_run": dry_run,
        "warning": done.warning or None,
    }
