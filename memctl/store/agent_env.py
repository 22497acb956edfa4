"""The shells that agents' programs open: a call of memctl in one is the agent's, not a person's.

Each program sets a variable of its own in them; Codex names the session in it. Claude Code has a file besides that its
shells read, into which the hook of a session's start writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memctl.errors import MemctlError
from memctl.text.light_typing import NamedTuple


class Shell(NamedTuple):
    """The shells of a program, by its name here and its title: the variable that all of them have, and the one with
    the session's name ("" if there is none)."""

    host: str
    title: str
    variable: str
    session: str = ""


CLAUDE_CODE = Shell("claude-code", "Claude Code", "CLAUDECODE")
CODEX = Shell("codex", "Codex", "CODEX_SESSION_ID", "CODEX_SESSION_ID")
GEMINI = Shell("gemini", "Gemini CLI", "GEMINI_CLI")  # only hooks get the session's name
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
    """Return the program in whose shell an agent works; None in a person's."""
    return next((one for one in _SHELLS if environ.get(one.variable)), None)


def may_run_unasked(command: str, environ: Mapping[str, str]) -> bool:
    """Return whether an agent, in whose shell this is, may run a command such as "checkpoint save" without asking.

    By what `install` offers, whatever part of it is installed: rules that a user made wider are the user's.
    """
    return shell_of(environ) is not None and any(command in of for of in COMMANDS.values())


def refuse(option: str, command: str, environ: Mapping[str, str]) -> None:
    """Raise MemctlError for an option of a command that an agent may run without asking.

    With it the command would do what nobody let the agent do: write or read any file, start an editor, set the
    clipboard, let a credential pass, write to another's section, sign as somebody else. Hosts look at the beginning of
    a command line and do not see it. For any other command they ask the user, who sees the whole line.
    """
    shell = shell_of(environ)
    if shell is not None and may_run_unasked(command, environ):
        raise MemctlError(
            f"{option} is not for an agent's shell ({shell.title})",
            f"agents may run `memctl {command}` without asking, but not with this option: leave it out (a text can be"
            " given on standard input, with `--file -`), or ask the user to run the command",
        )


def with_agent(environ: Mapping[str, str]) -> Mapping[str, str]:
    """Return an environment with MEMCTL_AGENT and MEMCTL_SESSION, if it is the shell of a program that we know.

    What is set already stays. Without an agent's name a call would be taken for a person's, who reads all.
    """
    shell = shell_of(environ)
    if shell is None:
        return environ
    known = {"MEMCTL_AGENT": shell.host}
    if session := environ.get(shell.session, "") if shell.session else "":
        from memctl.store.session_dir import key  # which most shells do not need

        known["MEMCTL_SESSION"] = key(session)
    return {**environ, **{name: value for name, value in known.items() if not environ.get(name)}}
