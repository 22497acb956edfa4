"""Write docs/reference.md, the page of the site with the help of every command; `make site` runs this first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from memctl.cli.command_list import all_commands
from memctl.cli.main import cli

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference.md"
_WIDTH = 100  # characters, of a help text
_INTRODUCTION = """# Commands

`memctl -h` lists the commands, and `memctl COMMAND -h` begins with examples. Every command that reads records has
`--json` and `--at REV`; every command that changes them has `--json`, `--dry-run`, `--no-commit` and `--reason`.
"""


def command_table() -> str:
    """Return the table of all commands, in the groups of `memctl -h`."""
    rows = ["| | |", "|---|---|"]
    for title, group in all_commands().items():
        rows.append(f"| **{title}** | |")
        rows += [f"| `memctl {_usage(name)}` | {line} |" for name, line in group.items()]
    return "\n".join(rows)


def _usage(name: str) -> str:
    """Return a command's name, with the names of its subcommands."""
    found = cli.get_command(click.Context(cli), name)
    if not isinstance(found, click.Group):
        return name
    return name + " " + "\\|".join(found.list_commands(click.Context(found)))


def help_texts() -> str:
    """Return the help of every command that does something, each below a heading."""
    return "\n\n".join(
        f"### memctl {name}\n\n```text\n{help_text(name, one)}\n```" for name, one in runnable_commands()
    )


def runnable_commands() -> Iterator[tuple[str, click.Command]]:
    """Yield every command that does something by its name, with those of its groups before it."""
    yield from _runnable(cli, [name for group in all_commands().values() for name in group])


def _runnable(group: click.Group, names: Iterable[str], before: str = "") -> Iterator[tuple[str, click.Command]]:
    for name in names:
        found = group.get_command(click.Context(group), name)
        assert found is not None, f"{before}{name}"
        if isinstance(found, click.Group):
            yield from _runnable(found, found.list_commands(click.Context(found)), f"{before}{name} ")
        else:
            yield f"{before}{name}", found


def help_text(name: str, command: click.Command) -> str:
    """Return what `memctl NAME -h` prints."""
    context = click.Context(
        command,
        info_name=f"memctl {name}",
        help_option_names=["-h", "--help"],
        terminal_width=_WIDTH,
        max_content_width=_WIDTH,
    )
    return command.get_help(context).rstrip()


def reference() -> str:
    """Return the text of the page."""
    return "\n".join([_INTRODUCTION, command_table(), "", help_texts(), ""])


if __name__ == "__main__":
    REFERENCE.write_text(reference())
