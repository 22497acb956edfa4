"""The command `memctl undo`: undo the last change of the memory, in a new commit."""

from __future__ import annotations

from typing import Any

import click

from memctl.cli import memory_access, write_command
from memctl.cli.command import command
from memctl.write.undo import undo


@command(
    "undo",
    ("memctl undo -n", "Show what would be undone, and undo nothing."),
    ("memctl undo", "Undo the last change; run the command again to undo the change before."),
    ("memctl undo 3f2a91c0de", "Undo a change by its commit in `memctl log`; undoing an undo repeats the change."),
)
@click.argument("commit", required=False)
@write_command.writing
def undo_command(ctx: click.Context, /, commit: str | None, **given: Any) -> None:
    """Undo the last change of the memory, in a new commit.

    History stays as it is. Later changes to the same files stay, too; if they can't be separated from the change to
    undo, nothing is undone.
    """
    flags = write_command.take_flags(given) | {"discard": False}
    memory = memory_access.memory(ctx)
    write_command.carry_out(memory, lambda _: undo(memory, commit), flags)
