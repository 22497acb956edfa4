"""The command `memctl mcp`: serve the memory to a program by the Model Context Protocol."""

from __future__ import annotations

import click

from memctl.cli.command import command
from memctl.errors import USAGE, MemctlError


@command(
    "mcp",
    ("memctl mcp", "Serve the memory around this folder. Programs start this command."),
    ("MEMCTL_AGENT=editor memctl mcp", "Serve it, and write in the name of this agent."),
)
@click.pass_context
def mcp_command(ctx: click.Context) -> None:
    """Serve the memory to a program by the Model Context Protocol, on standard input and output.

    It has five tools (recall, why, record, update, hand_over), prompts for the guide, and templates of resources, by
    which records and pages are read (memctl://record/ID, memctl://page/MARKER). It needs the extra `mcp`. Records are
    made in the name of the program, or of MEMCTL_AGENT; a clone that is not trusted refuses them.
    """
    if ctx.obj.serve_tools is None:
        raise MemctlError("`memctl mcp` must be started as a program", "start `memctl mcp`", USAGE)
    ctx.obj.serve_tools(ctx.obj.folder)
