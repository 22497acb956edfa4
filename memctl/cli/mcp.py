"""The command `memctl mcp`: serve the memory to a program by the Model Context Protocol."""

from __future__ import annotations

import os
import re
from pathlib import Path

import click

from memctl.cli.command import command
from memctl.errors import USAGE, MemctlError

_VARIABLE = re.compile(r"\$[{(]?\w|\{\{?\w|<\w|%\w+%")  # ${workspaceFolder}, $PWD, $(pwd), {{folder}}, <folder>, %CD%


@command(
    "mcp",
    ("memctl mcp", "Serve the memory of this folder to the program that starts the command."),
    ("MEMCTL_AGENT=editor memctl mcp", "Serve the memory, and write records in the name of an agent called editor."),
)
def mcp_command(ctx: click.Context) -> None:
    """Serve the memory to a program by the Model Context Protocol, on standard input and output.

    It has five tools (recall, why, record, update, hand_over), prompts for the guide, and templates of resources, by
    which records and pages are read (memctl://record/ID, memctl://page/MARKER). It needs the extra `mcp`. Records are
    made in the name of the program, or of MEMCTL_AGENT; in a clone that is not trusted, no records are made.

    The memory is that of the folder of -C or MEMCTL_DIR. Without these, or if the program left a variable such as
    ${workspaceFolder} in them, it is that of the first of the program's folders (its roots) that has one, or else of
    the folder in which the program started the server.
    """
    if ctx.obj.serve_tools is None:
        raise MemctlError(
            "`memctl mcp` can't be called from Python: it must run as a process of its own",
            "run `memctl mcp` in a shell, or let a program start it",
            USAGE,
        )
    ctx.obj.serve_tools(_named_folder(ctx.obj.folder))


def _named_folder(folder: Path) -> Path:
    """Not every program replaces ${workspaceFolder} in settings, or does it in all of its settings files."""
    name = os.path.expanduser(folder)
    return Path() if _VARIABLE.search(name) and not os.path.isdir(name) else Path(name)
