"""The commands `memctl context window …`, which show what is in a model's context window, and make it smaller.

Only the command that is called is imported.
"""

from __future__ import annotations

from importlib import import_module

import click

from memctl.cli.command import Group
from memctl.errors import USAGE, MemctlError

# Name -> the module below memctl.cli that has it as NAME_command, and its line in the help.
COMMANDS = {
    "status": ("window_status", "Show how full a window is, by component, and how soon its zone is red."),
    "health": ("window_status", "Judge a window by six metrics, and show its alarms."),
    "fidelity": ("window_fidelity", "Measure how much of a context a compression kept."),
    "evict": ("window_compact", "Evict blocks of a conversation, and leave placeholders."),
    "compact": ("window_compact", "Make a conversation smaller, and keep what must not be lost."),
    "audit": ("window_audit", "Summarize the log of a program that manages a window, and what it evicted too early."),
    "simulate": ("window_simulate", "Replay a transcript under several eviction policies, and compare them."),
}


class Lazy(Group):
    """A group of commands that imports a command when it is called, or when its help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"memctl.cli.{COMMANDS[cmd_name][0]}"), f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise MemctlError(f"there is no command `window {args[0]}`", f"give one of {', '.join(COMMANDS)}", USAGE)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


window_command = Lazy("window", help="Manage what is in a model's context window.", no_args_is_help=False)
