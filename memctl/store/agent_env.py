"""The shells that agents' programs open: if memctl is called in such a shell, an agent calls it, not a person.

Each program sets an environment variable in its shells, by which they are recognised. Codex sets another one with the
session's id. Claude Code does not; its shells read a file into which memctl's hook writes the id at a session's start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memctl.errors import MemctlError
from memctl.text.light_typing import NamedTuple


class Shell(NamedTuple):
    """The shells that one agents' program opens, and the environment variable by which they are recognised.

    `host` is the program's name in memctl's commands, such as "claude-code", and `title` its name for people. All
    shells of the program have the environment variable `variable`. `session` is the name of the environment variable
    with the session's id, "" if there is none.
    """

    host: str
    title: str
    variable: str
    session: str = ""


CLAUDE_CODE = Shell("claude-code", "Claude Code", "CLAUDECODE")
CODEX = Shell("codex", "Codex", "CODEX_SESSION_ID", "CODEX_SESSION_ID")
GEMINI = Shell("gemini", "Gemini CLI", "GEMINI_CLI")  # only its hooks get the session's id
_SHELLS = (CLAUDE_CODE, CODEX, GEMINI)

# The commands that `install` allows an agent to run without asking the user. None of them has an option that writes to
# a file, reads a named file or starts a program, except for options that call `refuse`.
READ, RECORD = "read", "record"
COMMANDS: Mapping[str, Sequence[str]] = {
    READ: (
        *("guide", "search", "show", "why", "list", "next", "log", "diff", "status", "index", "impact", "rehydrate"),
        *("checkpoint show", "checkpoint list", "checkpoint resume"),
    ),
    # The first four are the verbs of record types. They are repeated here, since a hook has no time to import those.
    RECORD: ("decide", "issue", "state", "learn", "resolve", "link", "supersede", "checkpoint save"),
}


def shell_of(environ: Mapping[str, str]) -> Shell | None:
    """Return the shell of the agents' program that set these environment variables; None for a person's shell."""
    return next((item for item in _SHELLS if environ.get(item.variable)), None)


def may_run_unasked(command: str, environ: Mapping[str, str]) -> bool:
    """Return whether an agent may run a command, such as "checkpoint save", without asking; False in a person's shell.

    The commands are those that the rules of `memctl install` allow. It is not checked whether these rules are
    installed, or whether the user allows more.
    """
    return shell_of(environ) is not None and any(command in of for of in COMMANDS.values())


def refuse(option: str, command: str, environ: Mapping[str, str]) -> None:
    """Raise MemctlError if an agent gives `option` to a command that it may run without asking.

    The caller passes an option that does more than the user has allowed: it reads or writes any file, starts an editor,
    sets the clipboard, lets a credential pass, writes to another agent's section, or signs as somebody else. The host
    allows a command by its first words and ignores its options. For all other commands nothing is raised: the host asks
    the user, who sees the whole command line.
    """
    shell = shell_of(environ)
    if shell is not None and may_run_unasked(command, environ):
        raise MemctlError(
            f"an agent may not use {option} (memctl runs in a shell of {shell.title})",
            f"agents may run `memctl {command}` without asking, but not with this option: leave it out (`--file -`"
            " reads a text from standard input), or ask the user to run the command",
        )


def with_agent(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return `environ`, with MEMCTL_AGENT and MEMCTL_SESSION added if an agents' program opened the shell.

    Variables that are set already keep their values. Without MEMCTL_AGENT memctl would take the agent for a person, who
    may read records that are hidden from some agents.
    """
    shell = shell_of(environ)
    if shell is None:
        return environ
    variables = {"MEMCTL_AGENT": shell.host}
    if session := environ.get(shell.session, "") if shell.session else "":
        from memctl.store.session_dir import key  # most shells do not need it

        variables["MEMCTL_SESSION"] = key(session)
    return {**environ, **{name: value for name, value in variables.items() if not environ.get(name)}}
