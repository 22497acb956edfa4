"""The options for the fields of records. Commands that create records and `edit` have the same options."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from memctl.cli.command import complete, for_people, section_named, split_at_commas
from memctl.cli.write_command import not_empty, real_text
from memctl.errors import USAGE, MemctlError
from memctl.record.kinds import KINDS, SEVERITIES, Field, Kind
from memctl.text.phrases import some

_DEFAULTS: dict[str, Callable[[], click.Option]] = {  # options for keys that only some types have
    "severity": lambda: click.Option(["--severity"], type=click.Choice(SEVERITIES), help="The severity."),
    "completion_percentage": lambda: click.Option(
        ["--completion", "completion_percentage"],
        type=click.IntRange(0, 100),
        help="How much of the task is done, in percent.",
    ),
    "assignee": lambda: click.Option(
        ["--assignee"],
        metavar="NAME",
        callback=not_empty,
        shell_complete=complete("assignee"),
        help="Who works on it: a name or @handle.",
    ),
}
_SHOWN = 20  # options to name in an error


def from_top(ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return paths that a user has typed, relative to the worktree's top. This is a callback of click's.

    A path relative to the current directory is changed if its file exists: in the folder src, `app.py` becomes
    `src/app.py`, and `app.py:12` becomes `src/app.py:12`. Any other text is returned unchanged: it may be relative to
    the top already, or a glob, and the command reports mistakes.
    """
    return given if ctx.resilient_parsing else tuple(_from_top(ctx.obj.folder, path) for path in given)


def _from_top(folder: Path, path: str) -> str:
    file, colon, line = path, "", ""
    if not os.path.lexists(os.path.join(folder, path)):
        file, colon, line = path.rpartition(":")
        if not file or not line.isdecimal() or not os.path.lexists(os.path.join(folder, file)):
            return path
    from memctl.git.repository import find_top
    from memctl.pages.repository_paths import possible_paths

    top = find_top(folder)
    paths = possible_paths(top, folder, file)
    if not paths or paths[0] == os.path.normpath(file) or not os.path.lexists(top / paths[0]):
        return path
    slash = "/" if file.endswith("/") else ""
    return f"{paths[0]}{slash}{colon}{line}"


def own(kind: Kind) -> list[click.Option]:
    """Return the options for the fields that only records of one type have, such as --rationale for decisions."""
    return [
        *(_DEFAULTS[name]() for name in kind.defaults),
        *(of_field(field, callback=real_text) for field in kind.fields),
    ]


def of_field(field: Field, repeated: str = "Repeatable.", **more: Any) -> click.Option:
    """Return the option that sets a field of a text; `repeated` ends the help of a list, `more` is as for click."""
    text = f"{field.help} {repeated}" if field.is_list else field.help
    return click.Option([f"--{field.option}", field.name], multiple=field.is_list, metavar="TEXT", help=text, **more)


def common(statuses: Sequence[str]) -> list[click.Option]:
    """Return the options for the fields that all records have, except links.

    `statuses` are the values that --status may have.
    """
    return [
        click.Option(
            ["--tag", "-t", "tags"],
            multiple=True,
            callback=split_at_commas,
            shell_complete=complete("tag"),
            help="A tag for the record. Repeatable.",
        ),
        click.Option(
            ["--importance", "-i"],
            type=click.IntRange(1, 10),
            help="How important the record is, from 1 to 10 (critical).",
        ),
        click.Option(["--status"], type=click.Choice(statuses), help="The status of the record."),
        click.Option(
            ["--section"],
            callback=section_named,
            shell_complete=complete("section"),
            help="The section that the record belongs to: its number, such as 2.1, or its name.",
        ),
        click.Option(
            ["--code", "code_refs"],
            multiple=True,
            type=click.Path(),
            metavar="PATH[:LINE]",
            callback=from_top,
            help="A file, or a line of one, that the record is about. Repeatable.",
        ),
        click.Option(
            ["--expires", "expires_at"],
            metavar="TIME",
            help="When the record expires: a date, or 90d for 90 days from now.",
        ),
        click.Option(["--timestamp"], metavar="TIME", help="The time that the record is about, such as 2025-11-04."),
        click.Option(["--agent", "agent_id"], callback=for_people, help="The agent that created the record."),
    ]


def of_any_type() -> list[click.Option]:
    """Return the options for the fields of all record types, each option once.

    `edit` has them all, since it only knows the type once it has read the record.
    """
    made = [kind for kind in KINDS.values() if kind.help]
    statuses = list(dict.fromkeys(status for kind in made for status in kind.statuses))
    options: dict[str, click.Option] = {}
    types: dict[str, list[str]] = {}
    for kind in made:
        for option in own(kind):
            options.setdefault(option.opts[0], option)
            types.setdefault(option.opts[0], []).append(kind.name)
    for flag, option in options.items():
        option.help = f"{option.help} ({', '.join(types[flag])})"
    title = click.Option(["--title"], callback=real_text, help="The title of the record.")
    return [title, *common(statuses), *options.values()]


def edits(kind: Kind, given: Mapping[str, Any]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return what options change in a record: pairs (field, value) to set, and pairs (field, item) to add to lists.

    `kind` is the record's type, and `given` has the values of the options by parameter. Raises MemctlError for an
    option that records of this type do not have.
    """
    known = {option.name: option for option in (*common(()), *own(kind))} | {"title": None}
    to_set: list[tuple[str, str]] = []
    to_add: list[tuple[str, str]] = []
    for name, value in given.items():
        if value is None or value == ():
            continue
        if name not in known:
            flags = [option.opts[0] for option in own(kind)]
            flag = next(option.opts[0] for option in of_any_type() if option.name == name)
            article = "an" if kind.name[0] in "aeiou" else "a"
            raise MemctlError(
                f"{article} {kind.name} has no option {flag}", f"use its options {some(flags, _SHOWN)}", USAGE
            )
        if isinstance(value, tuple):
            to_add += [(name, item) for item in value]
        else:
            to_set.append((name, str(value)))
    return to_set, to_add
