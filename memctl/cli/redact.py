"""The command `memctl redact`: remove a credential everywhere in this clone, and list where it may remain."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from memctl.cli import memory_access, output, write_command
from memctl.cli.command import command, complete_id, flag_option, json_option
from memctl.cli.text_input import read
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.git import history_search
from memctl.git.history_search import Matches
from memctl.hooks import host_files, session_state
from memctl.record.change import WriteOptions
from memctl.store.memory import Memory
from memctl.store.session_dir import SessionDir
from memctl.text.phrases import quantity, some
from memctl.write import redact, redact_file
from memctl.write.redact import Redaction

_SHOWN = 10  # commits, refs or files to name
_BLOCK = 1 << 20  # bytes of a transcript to read at once
_MOST = 256 * _BLOCK  # bytes of transcripts to search in all


@command(
    "redact",
    (
        "memctl redact LRN-2025-11-04-001",
        "Redact the credentials of a record, there and everywhere else in the memory.",
    ),
    ("memctl redact .memory/sessions/5f6c2a10.md --dry-run", "Show what would be redacted, and write nothing."),
    ("memctl redact --text - < secret.txt", "Redact the text of secret.txt everywhere in the memory."),
)
@click.argument("names", metavar="[ID|PATH]…", nargs=-1, shell_complete=complete_id)
@click.option(
    "--text", "source", metavar="FILE", help="Redact exactly the text that this file has (- for standard input)."
)
@click.option("--reason", default="", help="Why you redact this; `memctl log` shows the reason.")
@flag_option("--dry-run", "-n", help="Show what would be redacted, and write nothing.")
@flag_option("--no-commit", help="Write the files, and leave their commit to `memctl commit`.")
@json_option
def redact_command(
    ctx: click.Context,
    /,
    names: tuple[str, ...],
    source: str | None,
    reason: str,
    dry_run: bool,
    no_commit: bool,
    as_json: bool,
) -> None:
    """Redact a credential everywhere in this clone, and list where it may remain.

    Name records, pages (§2.1), checkpoints and sessions by id, and other files below .memory/ by path. What looks like
    a credential in these becomes `[redacted: RULE]`, there and in every other file of the memory, in the index, drafts,
    logs, events and pending changes, and in the state that agents share. Accepted decisions are redacted too.

    Give a secret that no rule knows with --text, never as an argument: shells keep a history.

    Git's history still has the credential, and so has everybody who fetched that history: revoke the credential in any
    case. Exit code 1: no credential was found.
    """
    if not names and source is None:
        raise MemctlError(
            "nothing says what to redact",
            "give the ID of a record or the PATH of a file, or the secret itself with --text FILE",
            USAGE,
        )
    memory = memory_access.memory(ctx)
    texts = [read(source).strip("\n")] if source else []
    options = WriteOptions(reason=reason, dry_run=dry_run, no_commit=no_commit)
    backups = [host_files.state_home(os.environ)]
    made = redact.redact(memory, names, texts, options, start=ctx.obj.folder, folders=backups)
    left = history_search.find(memory.repository, _forms(made), memory.prefix) if made.secrets else Matches()
    transcripts = _transcripts(memory, _forms(made)) if made.secrets else []
    if as_json:
        output.answer("redaction", _data(memory, made, left, transcripts, dry_run), memory=memory)
    else:
        _print(memory, made, left, transcripts, dry_run)
    ctx.exit(REFUSED if made.is_empty else OK)


def _forms(made: Redaction) -> list[str]:
    return [form for secret in made.secrets for form in redact_file.forms(secret)]


def _transcripts(memory: Memory, wanted: list[str]) -> list[str]:
    """memctl does not change the transcripts of agents' programs, only names those that have a text."""
    root = memory.hooks
    files = {
        file
        for path in (root / "sessions").glob("*")
        if (state := session_state.read(SessionDir(root, path.name))) is not None
        for file in state.offsets
    }
    left, matching = _MOST, []
    for file in sorted(files):
        for block in _blocks(Path(file), max(map(len, wanted)) * 4):
            left -= len(block)
            if any(text.encode() in block for text in wanted):
                matching.append(file)
                break
            if left < 0:
                return matching
    return matching


def _blocks(file: Path, overlap: int) -> Iterator[bytes]:
    """The blocks overlap, so that no match is split."""
    try:
        with file.open("rb") as stream:
            rest = b""
            while block := stream.read(_BLOCK):
                yield rest + block
                rest = block[-overlap:]
    except OSError:
        return


def _print(memory: Memory, made: Redaction, left: Matches, transcripts: list[str], dry_run: bool) -> None:
    would = "would redact" if dry_run else "redacted"
    if made.is_empty and not made.unreached:
        none = "no credential was found in the records or files that you named"
        output.note("nothing to redact" if made.secrets else none)
        hint = "if no rule recognizes the secret, give its text on standard input with `--text -`"
        if made.secrets:
            hint = "no file of the memory in this clone has the secret now" + (
                ", but Git's index still has the secret" if made.staged else ""
            )
        output.note(f"hint: {hint}")
    for path, times in made.counts.items():
        note = " (no commit has this file)" if path in made.loose else ""
        output.text(f"{would} {quantity(times, 'credential')} in {memory.tracked(path)}{note}")
    for file in made.erased.files:
        output.text(f"{would} the credential in {file}")
    if made.coordination:
        output.text(f"{would} the credential in the state that agents share")
    write_command.pending(made.outcome)
    for file, why in made.erased.failed:
        output.note(f"warning: {file} may still have the credential, because the file could not be changed: {why}")
    if made.coordination_failed:
        output.note(f"warning: the state that agents share may still have the credential: {made.coordination_failed}")
    names = [memory.tracked(path) for path in made.named]
    if made.unreached:
        files = _some([memory.tracked(path) for path in made.unreached])
        where = "in an id or value that the file can't be read without, or because it is no text or too large"
        output.note(f"warning: {files} still has the credential, {where}: edit or delete it yourself")
    if not made.is_empty or made.unreached or made.staged or names or left.commits or transcripts:
        redacted = [path for path in made.staged if path not in {*map(memory.tracked, made.unreached)}]
        for line in _remaining_places(left, names, made.staged, redacted, transcripts):
            output.text(line)


def _remaining_places(
    left: Matches, names: list[str], staged: Sequence[str], redacted: Sequence[str], transcripts: list[str]
) -> Iterator[str]:
    yield "Revoke the credential: these places have it, or may have it:"
    if names:
        yield f"- the names of files: {_some(names)} (paths of records never change: create new records, delete these)"
    if staged:
        files = shlex.join(staged[:_SHOWN])
        yield f"- Git's index, for the next `git commit`: {_some(staged)}"
        again = f"`git add {shlex.join(redacted[:_SHOWN])}` stages the redacted files, " if redacted else ""
        yield f"  ({again}`git restore --staged {files}` the files of HEAD)"
    if left.commits:
        yield f"- the history: {quantity(len(left.commits), 'commit')}, {_some([c[:10] for c in left.commits])}"
        yield f"  that are in these refs: {_some(list(left.refs))}" if left.refs else "  that are in no branch or tag"
        yield "  (`git filter-repo --replace-text` rewrites the history; then everybody must clone again)"
    if not left.is_complete:
        yield "- older history, which was too long to search"
    if pushed := [ref for ref in left.refs if ref.startswith("refs/remotes/")]:
        yield f"- the remotes that the credential was pushed to: {_some(pushed)}"
    yield "- forks, other clones and worktrees, and everybody who fetched a commit with it"
    yield "- reflogs, stashes and unreachable objects of this clone (`git reflog expire`, `git gc --prune=now`)"
    yield f"- the transcripts of agents' programs{': ' + _some(transcripts) if transcripts else ', perhaps'}"


def _some(names: Sequence[str]) -> str:
    return some(names, _SHOWN)


def _data(memory: Memory, made: Redaction, left: Matches, transcripts: list[str], dry_run: bool) -> dict[str, Any]:
    files = [{"path": path, "blanked": n, "in_git": path not in made.loose} for path, n in made.counts.items()]
    return {
        **write_command.change_data(memory, made.outcome, dry_run),
        "made": made,
        "rules": sorted(set(made.secrets.values())),
        "files": files,
        "left": left,
        "transcripts": transcripts,
    }
