"""The command `memctl merge-file`, which Git calls as a merge driver: merge one file of the memory."""

from __future__ import annotations

from pathlib import Path

import click

from memctl.cli import output
from memctl.cli.command import command
from memctl.errors import OK, REFUSED, MemctlError
from memctl.git import tree_merge
from memctl.write import merge

_MODEL = "claude"  # counts the tokens of pages: config.yaml, which names the model, may be in conflict
_ENCODING, _ERRORS = "utf-8", "surrogateescape"  # bytes that are not UTF-8 survive


@command(
    "merge-file",
    (
        "git config merge.memctl-record.driver 'memctl merge-file record %O %A %B %P'",
        "Let Git merge records with memctl.",
    ),
    (
        "git config merge.memctl-docs.driver 'memctl merge-file docs %O %A %B %P'",
        "Let Git merge rendered documents with memctl.",
    ),
    (
        "git config merge.memctl-session.driver 'memctl merge-file session %O %A %B %P'",
        "Let Git merge the pages of sessions with memctl.",
    ),
)
@click.argument("kind", type=click.Choice(("record", "docs", "session")))
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("ours", type=click.Path(path_type=Path))
@click.argument("theirs", type=click.Path(path_type=Path))
@click.argument("path")
def merge_file_command(ctx: click.Context, /, kind: str, base: Path, ours: Path, theirs: Path, path: str) -> None:
    """Merge one file of the memory, as Git's merge driver.

    BASE, OURS and THEIRS are files with the three versions of the file to merge (BASE is empty if both sides added it);
    PATH is the path of that file in the repository. The result is written to OURS. Records and pages are merged key by
    key and section by section, pages of sessions like a later summary of the same session. Of rendered documents OURS
    is kept, since memctl renders them again. Exit code 1: there are conflicts.
    """
    if kind == "docs":
        ctx.exit(OK)
    versions = [file.read_bytes().decode(_ENCODING, _ERRORS) for file in (base, ours, theirs)]
    try:
        merged = _merge(kind, *versions)
    except MemctlError:
        raise  # Git can't merge such files either
    except Exception as error:  # a defect of memctl must not lead to less than Git's own merge
        output.note(f"warning: {output.name(path)} is merged line by line, not field by field: {error}")
        text, count = tree_merge.merge_texts(*versions)
        merged = merge.MergeResult(text, ("the text",) if count else ())
    except (
        KeyboardInterrupt
    ):  # Git takes an exit code above 128 for a broken driver and stops in the middle of the merge
        ctx.exit(REFUSED)
    ours.write_bytes(merged.text.encode(_ENCODING, _ERRORS))
    for note in merged.notes:
        output.note(f"note: {output.name(path)}: {note}")
    if merged.conflicts:
        output.note(
            f"note: {output.name(path)} has conflicts in {', '.join(merged.conflicts)}: keep one side of each,"
            " then `git add` the file"
        )
    ctx.exit(REFUSED if merged.conflicts else OK)


def _merge(kind: str, base: str, ours: str, theirs: str) -> merge.MergeResult:
    if kind == "record":
        return merge.merge(base, ours, theirs)
    from memctl.session import merge as session_merge
    from memctl.tokens.count import Counter
    from memctl.tokens.families import family_of

    return session_merge.merge_versions(base, ours, theirs, Counter(family_of(_MODEL)))
