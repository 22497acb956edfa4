"""Whose shell it is: what an agent's own calls of memctl say of who makes them, where its program names them.

All programs set a variable of their own in the shells that they open for an agent; Codex names the session in it.
Claude Code has a file besides that its shells read, into which the start of a session writes (`session_start`).
"""

from __future__ import annotations

from collections.abc import Mapping

from memctl.errors import MemctlError
from memctl.hooks.event_payload import key
from memctl.hooks.hosts import HOSTS, Host


def host_of(environ: Mapping[str, str]) -> Host | None:
    """The program in whose shell an agent works; None in a person's."""
    return next((one for one in HOSTS.values() if environ.get(one.shell)), None)


def refuse(option: str, environ: Mapping[str, str]) -> None:
    """Raise MemctlError in the shell of an agent, for an option by which a command that it may run without asking would
    do what it may not: write or read any file, start an editor, set the clipboard, let a credential pass. Programs look
    at the beginning of a command line, and do not see it."""
    host = host_of(environ)
    if host is not None:
        raise MemctlError(
            f"{option} is not for an agent's shell ({host.title})",
            "hosts let agents run this command without asking: use the program's own tools for files and - for standard"
            " input, or ask the user to run it",
        )


def named(environ: Mapping[str, str]) -> Mapping[str, str]:
    """An environment with MEMCTL_AGENT and MEMCTL_SESSION, if it is a shell of a program that we know.

    What is set already stays. Without an agent's name a call would be taken for a person's, who reads all.
    """
    host = host_of(environ)
    if host is None:
        return environ
    session = environ.get(host.session, "") if host.session else ""
    told = {"MEMCTL_AGENT": host.name, "MEMCTL_SESSION": key(session) if session else ""}
    return {**environ, **{name: value for name, value in told.items() if value and not environ.get(name)}}
