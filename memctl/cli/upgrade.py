"""The command `memctl upgrade`, which brings a memory to the newest format."""

from __future__ import annotations

import sys
from typing import Any

import click

from memctl.cli import memory_access, output, write_command
from memctl.cli.command import command, flag_option
from memctl.errors import REFUSED
from memctl.record.config import DEFAULT_BRANCH, FORMAT
from memctl.text.phrases import quantity
from memctl.write import upgrade


@command(
    "upgrade",
    ("memctl upgrade --dry-run", "Show what would be rewritten, and write nothing."),
    ("memctl upgrade", "Upgrade the memory, in one commit, after a question."),
    ("memctl upgrade --docs false --yes", "Upgrade without a question, and keep rendered documents out of Git."),
)
@click.option(
    "--docs",
    type=click.Choice(["true", "false", DEFAULT_BRANCH]),
    help="Which branches have rendered documents: all, none or the default one. [default: the default branch if the "
    "repository has a remote and documents are on all branches now; else as it is]",
)
@flag_option("--yes", "-y", help="Do not ask.")
@write_command.writing
def upgrade_command(ctx: click.Context, /, docs: str | None, yes: bool, **flags: Any) -> None:
    """Upgrade the memory to format 2, in one commit, also with `commits: later`.

    Upgrade memctl for everybody who works on the project first: an older memctl refuses a memory of a newer format, and
    its Git hook refuses commits until memctl is upgraded.

    Format 2 has less in the front matter of records: what can be derived is not written, and keys that are edited stand
    apart, so that Git merges two branches that change one record. Nothing is lost: `--json`, exports and Python have
    all values. Documents are on the default branch alone if there is a remote, since those of two branches conflict.
    Without an upgrade memctl goes on to read and write format 1.

    Branches from before the upgrade merge field by field with memctl's merge driver and `memctl sync`; plain Git
    reports a conflict in each record that was edited on such a branch.
    """
    memory = memory_access.memory(ctx)
    planned = upgrade.plan(memory, docs or "")
    is_needed, docs_now = not planned.change.is_empty, planned.config.docs
    if is_needed:
        output.note(f"{quantity(planned.records, 'record')} to rewrite in the form of format {FORMAT}", upgrade.OLDER)
        if docs_now == DEFAULT_BRANCH != memory.config.docs:
            output.note(
                f"documents are kept on the default branch alone (`docs: {DEFAULT_BRANCH}`), where "
                "`memctl page render` writes them; `memctl upgrade --docs true` keeps them on all branches"
            )
    if is_needed and not (yes or flags["dry_run"] or (sys.stdin.isatty() and click.confirm("Upgrade?", err=True))):
        output.note("nothing was written\nhint: --yes upgrades without asking")
        ctx.exit(REFUSED)
    result = upgrade.carry_out(memory, docs or "", write_command.write_options(flags))
    if flags["as_json"]:
        data = write_command.change_data(memory, result, flags["dry_run"])
        output.json("upgrade", {**data, "format": FORMAT, "records": planned.records, "docs": docs_now})
    elif is_needed:
        write_command.outcome(memory, result, flags)
    else:
        output.text(f"the memory has format {FORMAT} already: nothing to change")
