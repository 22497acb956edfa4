"""The options of commands that change the memory, and what is said of values that can't be kept."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from memctl.cli.command import F, for_people, json_option
from memctl.record.change import WriteOptions
from memctl.record.required_text import Wrong, refuse_stand_in


def write_options(flags: dict[str, Any]) -> WriteOptions:
    """Return the flags of a writing command as options of the write; `as_json` is none of them."""
    return WriteOptions(**{name: value for name, value in flags.items() if name != "as_json"})


@contextmanager
def naming_options(ctx: click.Context) -> Iterator[None]:
    """Whatever is wrong with something said, is told with the option that says it."""
    try:
        yield
    except Wrong as error:
        options = {param.name: param.opts[0] for param in ctx.command.params if isinstance(param, click.Option)}
        told = [f"{m} ({options[f]})" if f in options else m for f, m in error.fields]
        fields = [(field, message) for (field, _), message in zip(error.fields, told, strict=True)]
        raise Wrong(error.title, fields, error.hint, error.exit_code) from None


def said(ctx: click.Context, param: click.Parameter, value: str | None) -> str | None:
    """The value of an option or argument that has to say something if it is given at all."""
    refuse_stand_in(value or "", param.opts[0] if isinstance(param, click.Option) else param.human_readable_name)
    return value


def all_said(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The same for an option that may be given several times."""
    for value in values:
        said(ctx, param, value)
    return values


discard_option = click.option("--discard", is_flag=True, help="Let text go that is in no commit.")


def writing(function: F) -> F:
    """The options of every command that changes the memory."""
    for option in reversed(
        (
            click.option("--reason", default="", help="Why, for the log."),
            click.option("--dry-run", "-n", is_flag=True, help="Show what would be written, and write nothing."),
            click.option("--no-commit", is_flag=True, help="Write the files and leave the commit to `memctl commit`."),
            click.option(
                "--allow-secret",
                is_flag=True,
                callback=for_people,
                help="Let text pass that looks like a credential.",
            ),
            click.option(
                "--allow-owned",
                is_flag=True,
                callback=for_people,
                help="Write to another's section; needs --reason.",
            ),
        )
    ):
        function = option(function)
    return json_option(function)
