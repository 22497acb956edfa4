"""The shells that agents' programs open: a call of memctl in one is the agent's, not a person's.

Each program sets a variable of its own in them; Codex names the session in it. Claude Code has a file besides that its
shells read, into which the hook of a session's start writes.
"""

from collections.abc import Mapping
from typing import NamedTuple

from memctl.errors import MemctlError


class Shell(NamedTuple):
    """The shells of a program, by its name here and its title: the variable that all of them have, and the one with
    the session's name ("" if there is none)."""

    host: str
    title: str
    variable: str
    session: str = ""


CLAUDE_CODE = Shell("claude-code", "Claude Code", "CLAUDECODE")
CODEX = Shell("codex", "Codex", "CODEX_SESSION_ID", "CODEX_SESSION_ID")
GEMINI = Shell("gemini", "Gemini CLI", "GEMINI_CLI")  # only hooks are told the session's name
_SHELLS = (CLAUDE_CODE, CODEX, GEMINI)


def shell_of(environ: Mapping[str, str]) -> Shell | None:
    """Return the program in whose shell an agent works; None in a person's."""
    return next((one for one in _SHELLS if environ.get(one.variable)), None)


def refuse(option: str, environ: Mapping[str, str]) -> None:
    """Raise MemctlError in the shell of an agent, for an option by which a command that it may run without asking would
    do what it may not: write or read any file, start an editor, set the clipboard, let a credential pass. Programs look
    at the beginning of a command line, and do not see it."""
    shell = shell_of(environ)
    if shell is not None:
        raise MemctlError(
            f"{option} is not for an agent's shell ({shell.title})",
            "hosts let agents run this command without asking: use the program's own tools for files and - for standard"
            " input, or ask the user to run it",
        )


def named(environ: Mapping[str, str]) -> Mapping[str, str]:
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
