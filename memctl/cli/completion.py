"""The command `memctl completion`, and the completion of `git memctl`, which click lacks."""

from __future__ import annotations

import os

import click
from click.shell_completion import get_completion_class

from memctl.cli import output
from memctl.cli.command import command
from memctl.errors import USAGE, MemctlError

# Words after `git memctl` are completed like those after `memctl`. For a command that is not its own, Git's completion
# for bash and zsh calls a function of this name.
_OF_GIT = {
    "bash": """
_git_memctl() {
    local COMP_WORDS=(memctl "${words[@]:$((${__git_cmd_idx:-1} + 1))}") COMP_CWORD=$((cword - ${__git_cmd_idx:-1}))
    _memctl_completion memctl
}
""",
    "zsh": """
_git-memctl() { _memctl_completion }
zstyle ':completion:*:*:git:*' user-commands memctl:'the memory of a project'
""",
    "fish": """
function _git_memctl_completion;
    set -l line (string replace --regex '^git .*?memctl' memctl -- (commandline -cp));
    set -l response (env _MEMCTL_COMPLETE=fish_complete COMP_WORDS="$line" COMP_CWORD=(commandline -t) memctl);
    for completion in $response;
        string split --max 1 --fields 2 "," $completion;
    end;
end;
complete --no-files --command git --condition '__fish_seen_subcommand_from memctl' \\
    --arguments '(_git_memctl_completion)';
""",
}


@command(
    "completion",
    ('eval "$(memctl completion bash)"', "Complete commands, options and record ids in bash (in ~/.bashrc)."),
    ('eval "$(memctl completion zsh)"', "Complete in zsh (in ~/.zshrc, after compinit)."),
    ("memctl completion fish > ~/.config/fish/completions/memctl.fish", "Complete in fish."),
)
@click.argument("shell", type=click.Choice(list(_OF_GIT)), required=False)
def completion_command(ctx: click.Context, /, shell: str | None) -> None:
    """Print the completion script for a shell (the one you use, if none is named).

    It completes `git memctl`, too.
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    completion_class = get_completion_class(name)
    if completion_class is None:
        raise MemctlError(
            f"memctl has no completion script for the shell {name!r}"
            if name
            else "the environment variable SHELL does not say which shell you use",
            f"give one of {', '.join(_OF_GIT)}",
            USAGE,
        )
    script = completion_class(ctx.find_root().command, {}, "memctl", "_MEMCTL_COMPLETE").source()
    output.text(script + _OF_GIT[name])
