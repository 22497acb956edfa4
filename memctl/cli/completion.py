"""`completion`."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

from memctl.cli import output
from memctl.cli.command import command
from memctl.errors import USAGE, MemctlError

_SHELLS = ("bash", "zsh", "fish")


@command(
    "completion",
    ('eval "$(memctl completion bash)"', "In ~/.bashrc: complete commands, options and record ids."),
    ('eval "$(memctl completion zsh)"', "In ~/.zshrc, after compinit."),
    ("memctl completion fish > ~/.config/fish/completions/memctl.fish", "For fish."),
)
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
@click.pass_context
def completion_command(ctx: click.Context, /, shell: str | None) -> None:
    """Print the completion script for a shell (the one you use, if none is named)."""
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    found = get_completion_class(name)
    if found is None or name not in _SHELLS:
        raise MemctlError(
            f"there is no completion for {name or 'an unknown shell'!r}", f"name one: {', '.join(_SHELLS)}", USAGE
        )
    output.text(found(ctx.find_root().command, {}, "memctl", "_MEMCTL_COMPLETE").source())
