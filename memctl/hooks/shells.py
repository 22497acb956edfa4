"""Whose shell it is: what an agent's own calls of memctl say of who makes them, where its program names them.

Claude Code has a file that its shells read, into which the start of a session writes (`starting`). The others have
none, but variables of their own in the shells that they open for an agent.
"""

from __future__ import annotations

from collections.abc import Mapping

from memctl.hooks.given import key
from memctl.hooks.hosts import HOSTS


def named(environ: Mapping[str, str]) -> Mapping[str, str]:
    """An environment with MEMCTL_AGENT and MEMCTL_SESSION, if it is a shell of a program that we know.

    What is set already stays. Without an agent's name a call would be taken for a person's, who reads all.
    """
    host = next((one for one in HOSTS.values() if one.shell and environ.get(one.shell)), None)
    if host is None:
        return environ
    session = environ.get(host.session, "") if host.session else ""
    told = {"MEMCTL_AGENT": host.name, "MEMCTL_SESSION": key(session) if session else ""}
    return {**environ, **{name: value for name, value in told.items() if value and not environ.get(name)}}
