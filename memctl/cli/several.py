"""Options that take several files at once, so that the shell may fill them in: `--active src/*.py`."""

from __future__ import annotations

from collections.abc import Callable

import click

from memctl.cli.command import Command, F

MANY = "FILE…"


class Several(Command):
    """A command in which an option whose metavar is `FILE…` takes all arguments up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = {name for param in self.params if getattr(param, "metavar", "") == MANY for name in param.opts}
        names = {name for name in names if name.startswith("-")}
        return super().parse_args(ctx, list(_spread(args, names)))


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


def files(name: str, help_: str) -> Callable[[F], F]:
    """An option for several files."""
    return click.option(f"--{name}", name, multiple=True, metavar=MANY, help=help_)
