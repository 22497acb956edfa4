"""The shells that agents' programs open: a call of memctl in such a shell is an agent's, not a person's.

Each program sets an environment variable in its shells, by which they are recognised. Codex sets one with the session's
id, too; Claude Code's shells read a file into which the hook of a session's start writes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memctl.errors import MemctlError
from memctl.text.light_typing import NamedTuple


class Shell(NamedTuple):
    """The shells of an agents' program: its name in memctl, its title, and the variable that all its shells have.

    `session` is the variable with the session's id, "" if there is none.
    """

    host: str
    title: str
    variable: str
    session: str = ""


CLAUDE_CODE = Shell("claude-code", "Claude Code", "CLAUDECODE")
CODEX = Shell("codex", "Codex", "CODEX_SESSION_ID", "CODEX_SESSION_ID")
GEMINI = Shell("gemini", "Gemini CLI", "GEMINI_CLI")  # only its hooks get the session's id
_SHELLS = (CLAUDE_CODE, CODEX, GEMINI)

# What an agent may run without asking once `install` has told its program so. Only commands are named of which no
# option writes to a file, reads one that is named, or starts a program; where one does, `refuse` is its callback.
READ, RECORD = "read", "record"
COMMANDS: Mapping[str, Sequence[str]] = {
    READ: (
        *("guide", "search", "show", "why", "list", "next", "log", "diff", "status", "index", "impact", "rehydrate"),
        *("checkpoint show", "checkpoint list", "checkpoint resume"),
    ),
    # The first are the verbs of record types; after a tool call there is no time to import those.
    RECORD: ("decide", "issue", "state", "learn", "resolve", "link", "supersede", "checkpoint save"),
}


def shell_of(environ: Mapping[str, str]) -> Shell | None:
    """Return the agents' program that opened the shell with these variables; None if a person did."""
    return next((one for one in _SHELLS if environ.get(one.variable)), None)


def may_run_unasked(command: str, environ: Mapping[str, str]) -> bool:
    """Return whether an agent may run a command, such as "checkpoint save", without asking; False in a person's shell.

    It may run the commands in COMMANDS, which the rules that `memctl install` offers allow. Whether these rules are
    installed, or the user made wider ones, is not looked at.
    """
    return shell_of(environ) is not None and any(command in of for of in COMMANDS.values())


def refuse(option: str, command: str, environ: Mapping[str, str]) -> None:
    """Raise MemctlError if an agent gives `option` to a command that it may run without asking.

    The caller names an option that does more than the user allowed: it writes or reads any file, starts an editor, sets
    the clipboard, lets a credential pass, writes to another's section, or signs as somebody else. The host allows a
    command by its first words and does not look at the option. With any other command nothing is raised, since the host
    asks the user, who sees the whole line.
    """
    shell = shell_of(environ)
    if shell is not None and may_run_unasked(command, environ):
        raise MemctlError(
            f"{option} is not for an agent's shell ({shell.title})",
            f"agents may run `memctl {command}` without asking, but not with this option: leave it out (a text can be"
            " given on standard input, with `--file -`), or ask the user to run the command",
        )


def with_agent(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return the environment with MEMCTL_AGENT and MEMCTL_SESSION set if an agents' program opened the shell.

    Variables that are set are kept. Without an agent's name a call counts as a person's, who may read everything.
    """
    shell = shell_of(environ)
    if shell is None:
        return environ
    known = {"MEMCTL_AGENT": shell.host}
    if session := environ.get(shell.session, "") if shell.session else "":
        from memctl.store.session_dir import key  # most shells do not need it

        known["MEMCTL_SESSION"] = key(session)
    return {**environ, **{name: value for name, value in known.items() if not environ.get(name)}}
