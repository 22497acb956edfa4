"""The commands `memctl page …` and `memctl context …`: groups of commands that also work without the group's name."""

from __future__ import annotations

import click

from memctl.cli import terminal
from memctl.cli.command import Group
from memctl.cli.command_list import COMMANDS, GROUPS, PAGED, load


class Members(Group):
    """A group with the commands that `GROUPS` lists for its name, which are imported when they are called, and more.

    Each of them works without the name of the group, too.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *GROUPS[str(self.name)]]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in GROUPS[str(self.name)]:
            return super().get_command(ctx, cmd_name)
        if cmd_name in PAGED and not ctx.find_root().params.get("no_pager"):
            terminal.hold()
        return load(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        lines = {name: line for name, (_, line) in GROUPS[str(self.name)].items()}
        own = {name: command.get_short_help_str(limit=1000) for name, command in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl([*own.items(), *lines.items()])


def _line(name: str) -> str:
    return next(group[name][1] for group in COMMANDS.values() if name in group)


page_command = Members(
    "page",
    help=_line("page"),
    no_args_is_help=True,
    examples=(
        ("memctl page section add Payment --path 'src/pay/**' --overview 'Charges cards.'", "Describe a part."),
        ("memctl page index", "List the pages, by their § markers."),
        ("memctl page render", "Write the documents anew."),
    ),
)
context_command = Members(
    "context",
    help=_line("context"),
    no_args_is_help=True,
    examples=(
        ("memctl context tokens README.md", "Count the tokens of a file."),
        ("memctl context window status messages.json", "Show how full a window is, and how soon it is red."),
        ("memctl context prompt system", "Print the memory as part of a prompt."),
    ),
)
