"""The command `memctl completion`, and two completions that click lacks: for `git memctl`, and in PowerShell."""

from __future__ import annotations

import os
from typing import Any, ClassVar

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from memctl.cli import output
from memctl.cli.command import command
from memctl.errors import USAGE, MemctlError

_SHELLS = ("bash", "zsh", "fish", "powershell")
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


class PowerShellComplete(ShellComplete):
    """Completion in PowerShell, which click lacks: a script for the shell, and the suggestions that the script prints.

    The script passes the typed line up to the cursor, and the word at the cursor, in environment variables.
    """

    name: ClassVar[str] = "powershell"
    source_template: ClassVar[str] = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($word, $line, $cursor)
    $env:COMP_WORDS = $line.ToString().PadRight($cursor).Substring(0, $cursor)
    $env:COMP_CWORD = $word
    $env:%(complete_var)s = "powershell_complete"
    %(prog_name)s | ForEach-Object {
        $value, $help = $_ -split "`t", 2
        [System.Management.Automation.CompletionResult]::new($value, $value, "ParameterValue", ($help ?? $value))
    }
    Remove-Item Env:COMP_WORDS, Env:COMP_CWORD, Env:%(complete_var)s
}
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words that are typed completely, without the command's name, and the word that is being typed."""
        words, typed = split_arg_string(os.environ["COMP_WORDS"])[1:], os.environ["COMP_CWORD"]
        return words[:-1] if typed and words else words, typed

    def format_completion(self, item: CompletionItem[Any]) -> str:
        """Return a suggested value and its help as one line, separated by a tab."""
        return f"{item.value}\t{' '.join((item.help or item.value).split())}"


add_completion_class(PowerShellComplete)


@command(
    "completion",
    ('eval "$(memctl completion bash)"', "Complete commands, options and record ids in bash (in ~/.bashrc)."),
    ('eval "$(memctl completion zsh)"', "Complete in zsh (in ~/.zshrc, after compinit)."),
    ("memctl completion fish > ~/.config/fish/completions/memctl.fish", "Complete in fish."),
    ("memctl completion powershell | Out-String | Invoke-Expression", "Complete in PowerShell 7 (in $PROFILE)."),
)
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
def completion_command(ctx: click.Context, /, shell: str | None) -> None:
    """Print the completion script for a shell (the one you use, if none is named).

    In bash, zsh and fish it completes `git memctl`, too.
    """
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    completion_class = get_completion_class(name)
    if completion_class is None or name not in _SHELLS:
        raise MemctlError(
            f"memctl has no completion script for the shell {name!r}"
            if name
            else "the environment variable SHELL does not say which shell you use",
            f"give one of {', '.join(_SHELLS)}",
            USAGE,
        )
    script = completion_class(ctx.find_root().command, {}, "memctl", "_MEMCTL_COMPLETE").source()
    output.text(script + _OF_GIT.get(name, ""))
