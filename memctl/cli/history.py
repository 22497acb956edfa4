"""The commands `memctl log`, which shows the memory's commits, and `memctl diff`, which compares it with a revision."""

from __future__ import annotations

import click
import msgspec

from memctl.cli import memory_access, output, write_command
from memctl.cli.command import command, complete_id, limit_option, reading, text_option
from memctl.errors import MemctlError
from memctl.git import differences, git, history
from memctl.history import record_paths
from memctl.record import ids, time_input
from memctl.record.kinds import KINDS
from memctl.store import agent_env, changes_ref, commit_message, load, memory_root, sessions_ref
from memctl.store.last_commits import last_commits
from memctl.store.memory import Memory
from memctl.text.phrases import some
from memctl.write import remove


@command(
    "log",
    ("memctl log", "List the latest changes of the memory."),
    ("memctl log DEC-2025-11-04-003", "List all changes of one record, even a deleted one."),
    ("memctl log --type decision --since 30d --json", "List the changes of decisions in the last 30 days as JSON."),
)
@click.argument("id", required=False, shell_complete=complete_id)
@click.option("--type", "kind", type=click.Choice(list(KINDS)), help="List only changes of records of this type.")
@text_option("--since", metavar="TIME", help="List only changes since this time: 2025-11-04, or 7d for seven days ago.")
@limit_option(20)
@reading
def log_command(
    ctx: click.Context,
    /,
    id: str | None,
    kind: str | None,
    since: str,
    limit: int,
    as_json: bool,
    at: str | None,
) -> None:
    """Show who changed what, when and why: in one record, a type, or the whole memory with its pages of sessions and
    checkpoints."""
    memory = memory_access.memory(ctx)
    path, former = memory.prefix, list[str]()
    if id:
        snapshot = load.disk(memory)
        path, *former = record_paths(memory, snapshot, id)
        output.namesakes(snapshot, [id])
    elif kind:
        path = memory.tracked(KINDS[kind].folder)
    revision = memory.repository.resolve(at) if at else "HEAD"
    most = None if since else limit or None
    discarded = bool(id) or most is None or history.has_discarded_versions(memory.repository, path, revision, most)
    beside = "" if id or kind else sessions_ref.as_of(memory, at) if at else sessions_ref.head(memory)
    paths = [path, *former]
    listed = history.commits(memory.repository, paths, revision, most, discarded=discarded, beside=beside)
    waiting = [] if at else changes_ref.uncommitted(memory, paths, most)
    left = changes_ref.changes(memory, paths, most) if id and not at else waiting
    if not at and (memory.private / memory_root.BATCH).exists():
        from memctl.write import batch_migration  # once after an upgrade

        left = waiting = batch_migration.open_changes(memory, paths)
    if left:
        listed = sorted([*left, *listed], key=lambda commit: commit.date, reverse=True)[:most]
    open_ones = {commit.commit for commit in waiting}
    if since:
        earliest = time_input.parse(since, memory.now)
        listed = [commit for commit in listed if commit.date >= earliest][: limit or None]
    # To Git the first commit of a shallow clone added every file that it has.
    boundary = memory.repository.shallow()
    listed = [msgspec.structs.replace(entry, changes={}) if entry.commit in boundary else entry for entry in listed]
    current = _current_commit(memory, path, at) if id else ""
    if as_json:
        commits = [
            {
                "commit": commit,
                "ids": _ids(memory, commit),
                "deeds": _deeds(memory, commit),
                "is_boundary": commit.commit in boundary,
                "is_committed": commit.commit not in open_ones,
                "brought_text": commit.commit == current if id else None,
            }
            for commit in listed
        ]
        is_whole = most is None or len(listed) < most
        output.answer("log", {"total": len(listed) if is_whole else None, "commits": commits})
        return
    for commit in listed:
        if commit.commit in boundary:
            output.note(
                f"the history of this shallow clone begins with {commit.commit[:10]}; older changes are missing"
            )
            output.note("hint: `git fetch --unshallow` fetches the older changes")
            if id and ids.id_in_path(path) not in commit.trailers.ids:
                continue  # what the commit says is about other records
        # The commit of the present text is marked, unless it is listed first, where readers expect it.
        _print(
            memory,
            commit,
            ids.id_in_path(path),
            is_marked=commit.commit == current and commit is not listed[0],
            is_waiting=commit.commit in open_ones,
        )
    if not listed:
        output.note("no commit of the memory matches")


@command(
    "diff",
    ("memctl diff", "Show how the memory differs from the last commit."),
    ("memctl diff DEC-2025-11-04-003 --at HEAD~5", "Show how a record has changed in the last five commits."),
    ("memctl diff v1.0..v2.0", "Show how the memory changed between two releases."),
)
@click.argument("id", required=False, shell_complete=complete_id)
@reading
def diff_command(ctx: click.Context, /, id: str | None, as_json: bool, at: str | None) -> None:
    """Show how the memory, or one record, differs from a revision (by default HEAD) or, with A..B, between two.

    Without a record, a revision such as HEAD~3 or A..B may be given in place of ID.
    """
    memory, snapshot = memory_access.read(ctx, None)
    if id and at is None and any(sign in id for sign in ("..", "~", "^")):  # no id has them
        id, at = None, id
    path = memory.tracked(remove.path_of(memory, snapshot, id)) if id else memory.prefix
    first, dots, second = (at or "HEAD").partition("..")
    if not memory.repository.has_head():
        raise MemctlError("the repository has no commit yet to compare with", "`memctl commit` commits what is pending")
    revisions = [memory.repository.resolve(first or "HEAD")]
    if dots:
        revisions.append(memory.repository.resolve(second.lstrip(".") or "HEAD"))
    closed = map(memory.tracked, {*snapshot.withheld.paths, *snapshot.withheld.records})
    text = differences.diff(memory.repository, revisions, [path], closed)
    if as_json:
        output.json("diff", {"from": revisions[0], "to": revisions[1] if dots else None, "diff": text})
    elif text:
        write_command.diff(text)
    else:
        output.note(
            "nothing differs in the files that Git tracks; `memctl status` shows what is pending"
            if not id
            else "nothing differs"
        )


def _current_commit(memory: Memory, path: str, at: str | None) -> str:
    """Return the id of the commit that brought a record's present text, as in packs; "" if it is unknown."""
    try:
        last = last_commits(memory, [path], at).get(path)
    except git.GitFailed:  # a partial clone has its history at the remote
        return ""
    return last.commit if last is not None else ""


_DEEDS = {"A": "created", "M": "edited", "D": "deleted"}  # by the letter of `git log --name-status`
_SHOWN = 5  # records that a line names


def _ids(memory: Memory, commit: history.Commit) -> list[str]:
    identifiers = (ids.id_in_path(path) for path in commit.paths if path.startswith(memory.prefix + "/"))
    return list(dict.fromkeys((*commit.trailers.ids, *sorted({name for name in identifiers if name}))))


def _deeds(memory: Memory, commit: history.Commit) -> list[tuple[str, str, str]]:
    """Trailers say what a commit did to records, else the difference of the files."""
    if len(commit.trailers.ops) == 1 and set(_ids(memory, commit)) == set(commit.trailers.ids):
        return list(commit.trailers.deeds)
    changes = ((_DEEDS.get(status, ""), ids.id_in_path(path) or "") for path, status in commit.changes.items())
    return [*commit.trailers.deeds, *((action, name, "") for action, name in changes if action and name)]


def _print(
    memory: Memory, commit: history.Commit, identifier: str | None, *, is_marked: bool, is_waiting: bool
) -> None:
    head = click.style(commit.commit[:10], fg="yellow")
    subject = commit.subject.removeprefix(f"{commit_message.TYPE}: ")
    actor = commit.trailers.actor
    who = f"{actor} for {commit.author}" if actor == agent_env.UNKNOWN else actor or commit.author
    output.styled(f"{head} {commit.date} {output.plain(who)}")
    output.text(f"    {subject}")
    if is_marked:
        output.text("    since this commit the record has its present text")
    where = [f"recorded on {commit.trailers.branch}"] if commit.trailers.branch else []
    if where or is_waiting:
        output.text(f"    {', '.join([*(['not committed yet'] if is_waiting else []), *where])}")
    deeds = _deeds(memory, commit)
    for action in dict.fromkeys(action for action, _, reason in deeds if not reason and not identifier):
        output.text(f"    {action} {some([record for deed, record, _ in deeds if deed == action], _SHOWN)}")
    for action, record, reason in deeds:
        if record == identifier:
            output.text(f"    {action}: {reason}" if reason else f"    {action} {record}")
    if commit.trailers.reason:
        output.text(f"    why: {commit.trailers.reason}")
