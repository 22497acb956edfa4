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


def may_run_unasked(command: str, environ: Mapping[str, str]) -> bool:
    """Return whether an agent, in whose shell this is, may run a command such as "checkpoint save" without asking.

    By what `install` offers, whatever part of it is installed: rules that a user made wider are the user's.
    """
    from memctl.hooks.permissions import COMMANDS  # most commands have no such option

    return host_of(environ) is not None and any(command in of for of in COMMANDS.values())


def refuse(option: str, command: str, environ: Mapping[str, str]) -> None:
    """Raise MemctlError for an option of a command that an agent may run without asking.

    With it the command would do what nobody let the agent do: write or read any file, start an editor, set the
    clipboard, let a credential pass, write to another's section, sign as somebody else. Hosts look at the beginning of
    a command line and do not see it. For any other command they ask the user, who sees the whole line.
    """
    host = host_of(environ)
    if host is not None and may_run_unasked(command, environ):
        raise MemctlError(
            f"{option} is not for an agent's shell ({host.title})",
            f"agents may run `memctl {command}` without asking, but not with that: leave it out (a text can come by"
            " standard input, `--file -`), or ask the user to run it",
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
