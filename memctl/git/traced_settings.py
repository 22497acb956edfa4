"""Settings that a git command prints on its standard error while it does something else, which saves a process.

Every git command reads the settings. If the environment has the variables that `variables` returns, the command prints
three of them among its trace events (Git's api-trace2, "def_param").
"""

from __future__ import annotations

import os
from collections.abc import Mapping

_EVENTS = "GIT_TRACE2_EVENT"


def variables() -> Mapping[str, str]:
    """Return environment variables that make a git command print three settings of memctl on its standard error.

    The settings are memctl.commits, memctl.hookCommits and memctl.semanticModel. Git prints them in its trace2 events;
    if the user's environment already sends these somewhere, no variables are returned.
    """
    if _EVENTS in os.environ:
        return {}
    return {
        _EVENTS: "2",
        "GIT_TRACE2_EVENT_BRIEF": "1",
        "GIT_TRACE2_EVENT_NESTING": "1",
        "GIT_TRACE2_CONFIG_PARAMS": "memctl.commits,memctl.hookcommits,memctl.semanticmodel",
    }


def read(events: bytes) -> dict[str, str] | None:
    """Return the settings in the trace events that a git command printed, by keys in lower case.

    Returns None if the events can't be read.
    """
    import msgspec  # late: `variables` is called before memctl.record makes this import cheap

    if b'"event":"cmd_name"' not in events:  # this Git has no such events
        return None
    settings, own = {}, ""
    try:
        for line in events.splitlines():
            if line.startswith((b'{"event":"version"', b'{"event":"def_param"')):
                event = msgspec.json.decode(line, type=dict[str, str])
                own = own or event["sid"]
                if "param" in event and event["sid"] == own:  # not of a Git that this one runs in another repository
                    settings[event["param"]] = event.get("value", "")
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError):
        return None
    return settings
