"""Commands with subcommands, and those in which an option takes several arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

from memctl.cli.command import Command, F, naming_allow_secret, write_examples

_MANY = "FILE…"  # metavar of an option that takes several files at once: `--active src/*.py`
_WHOLE = 1000  # characters: the first sentence of any command's help


class Several(Command):
    """A command in which an option whose metavar is `FILE…` takes all arguments up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = {name for param in self.params if getattr(param, "metavar", "") == _MANY for name in param.opts}
        names = {name for name in names if name.startswith("-")}
        return super().parse_args(ctx, list(_spread(args, names)))


class Group(click.Group):
    """A command with subcommands, which its help lists whole, after an example of each."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("context_settings", {}).setdefault("help_option_names", ["-h", "--help"])
        super().__init__(*args, **kwargs)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        write_examples(formatter, [one for _, command in self._listed(ctx) for one in _examples(command)[:1]])
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(_WHOLE)) for name, one in self._listed(ctx)])

    def _listed(self, ctx: click.Context) -> list[tuple[str, click.Command]]:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        return [(name, command) for name, command in found if command is not None and not command.hidden]


class Defaulting(Group):
    """A group that does something by itself if no subcommand is given; its help begins with examples."""

    def __init__(self, *args: Any, examples: tuple[tuple[str, str], ...] = (), **kwargs: Any) -> None:
        super().__init__(*args, invoke_without_command=True, **kwargs)
        self.examples = examples
        self.subcommand_metavar = "[COMMAND …]"

    def invoke(self, ctx: click.Context) -> Any:
        with naming_allow_secret(ctx):
            return super().invoke(ctx)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_usage(ctx, formatter)
        write_examples(formatter, self.examples)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)


def _examples(command: click.Command) -> Sequence[tuple[str, str]]:
    return command.examples if isinstance(command, (Command, Defaulting)) else ()


def files_option(name: str, help_: str) -> Callable[[F], F]:
    """An option for several files."""
    return click.option(f"--{name}", name, multiple=True, metavar=_MANY, help=help_)


def _spread(args: list[str], names: set[str]) -> list[str]:
    """The arguments with the option repeated before each of its values."""
    found: list[str] = []
    option, is_first = "", False
    for arg in args:
        if arg.startswith("-") and arg != "-":
            option, is_first = (arg, True) if arg in names else ("", False)
            found.append(arg)
        else:
            found += [arg] if not option or is_first else [option, arg]
            is_first = False
    return found
