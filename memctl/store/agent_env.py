"""Who is at work: a person, an agent in a program that memctl knows, or a program that it does not know.

Each known program sets an environment variable in its shells, by which they are recognised. Some set another one with
the session's id. Claude Code does not; its shells read a file into which memctl's hook writes the id at a session's
start.

Without such a variable, whoever has a terminal is a person. Where neither standard input nor standard output is one, a
script, a CI job or an unknown agent may be at work. It may record and read, but it trusts no clone and writes nothing
outside of the repository. MEMCTL_AGENT gives it a name, and MEMCTL_TRUST trusts a clone for one command; neither makes
it a person.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from memctl.errors import MemctlError
from memctl.text.light_typing import NamedTuple


class Shell(NamedTuple):
    """The shells that one agents' program opens, and the environment variables by which they are recognised.

    `host` is the program's name in memctl's commands, such as "claude-code", and `title` its name for people. All
    shells of the program have the environment variable `variable`. `session` is the name of the environment variable
    with the session's id, "" if there is none; it shows the program, too.
    """

    host: str
    title: str
    variable: str
    session: str = ""


CLAUDE_CODE = Shell("claude-code", "Claude Code", "CLAUDECODE")
CODEX = Shell("codex", "Codex", "CODEX_THREAD_ID", "CODEX_SESSION_ID")
GEMINI = Shell("gemini", "Gemini CLI", "GEMINI_CLI")  # only its hooks get the session's id
_CURSOR = Shell("cursor", "Cursor", "CURSOR_AGENT")
_EDITOR = "CURSOR_TRACE_ID"  # Cursor's agents have it, and so has each terminal of its editor, in which people type
_SHELLS = (
    *(CLAUDE_CODE, CODEX, GEMINI),
    Shell("opencode", "OpenCode", "OPENCODE"),
    Shell("qwen-code", "Qwen Code", "QWEN_CODE"),
    Shell("copilot", "Copilot CLI", "COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"),
    Shell("crush", "Crush", "CRUSH"),
    Shell("amp", "Amp", "AMP_CURRENT_THREAD_ID", "AMP_CURRENT_THREAD_ID"),
    _CURSOR,
)
UNKNOWN = "unknown-agent"  # the name of a program that is not recognised and does not say who it is
TRUST = "MEMCTL_TRUST"

# The commands that `install` allows an agent to run without asking the user. None of them has an option that writes to
# a file, reads a named file or starts a program, except for options that call `refuse`.
READ, RECORD = "read", "record"
COMMANDS: Mapping[str, Sequence[str]] = {
    READ: (
        *("help", "search", "show", "why", "list", "next", "log", "diff", "status", "page index", "page impact"),
        *("rehydrate", "files", "check", "checkpoint show", "checkpoint list", "checkpoint resume", "session list"),
        *("session show", "team handoff list"),
        # Members of groups by their names alone, which `refuse` gets, and which earlier versions told agents.
        *("guide", "index", "impact", "handoff list"),
    ),
    # The first four are the verbs of record types. They are repeated here, since a hook has no time to import those.
    RECORD: ("decide", "issue", "state", "learn", "resolve", "link", "supersede", "checkpoint save"),
}


def shell_of(environ: Mapping[str, str]) -> Shell | None:
    """Return the shell of the agents' program that set these environment variables; None for a person's shell."""
    for shell in _SHELLS:
        if environ.get(shell.variable) or environ.get(shell.session):
            return shell
    return _CURSOR if environ.get(_EDITOR) and not _has_terminal() else None


def is_program(name: str) -> bool:
    """Return whether a name is that of a known agents' program."""
    return any(shell.host == name for shell in _SHELLS)


def is_unknown(environ: Mapping[str, str]) -> bool:
    """Return whether a program is at work that is not recognised and may be an agent.

    It has no terminal, or MEMCTL_AGENT names it: a person has a name in Git.
    """
    return shell_of(environ) is None and (bool(environ.get("MEMCTL_AGENT")) or not _has_terminal())


def may_be_read_by_agent(environ: Mapping[str, str]) -> bool:
    """Return whether an agent may read what this process prints: its program runs it, or there is no terminal."""
    return shell_of(environ) is not None or not _has_terminal()


def may_write_outside(environ: Mapping[str, str]) -> bool:
    """Return whether memctl may write files outside of the repository: for a person, or a script that has a name."""
    named = environ.get("MEMCTL_AGENT") or environ.get(TRUST)
    return shell_of(environ) is None and bool(named or _has_terminal())


def _has_terminal() -> bool:
    try:
        return any(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    except ValueError:  # the stream is closed
        return False


def may_run_unasked(command: str, environ: Mapping[str, str]) -> bool:
    """Return whether an agent may run a command, such as "checkpoint save", without asking; False in a person's shell.

    The commands are those that the rules of `memctl install` allow. It is not checked whether these rules are
    installed, or whether the user allows more.
    """
    return shell_of(environ) is not None and any(command in of for of in COMMANDS.values())


def without_trust(environ: Mapping[str, str], *, is_hook: bool = False) -> Mapping[str, str]:
    """Return `environ` without MEMCTL_TRUST if a known agents' program opened the shell, or calls a hook."""
    if TRUST not in environ or not (is_hook or shell_of(environ)):
        return environ
    return {name: value for name, value in environ.items() if name != TRUST}


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
    may read records that are hidden from some agents. MEMCTL_TRUST is removed: it is for scripts, and a text in a clone
    could tell the agent to set it.
    """
    shell = shell_of(environ)
    if shell is None:
        return environ
    environ = without_trust(environ)
    variables = {"MEMCTL_AGENT": shell.host}
    if session := environ.get(shell.session, "") if shell.session else "":
        from memctl.store.session_dir import key  # most shells do not need it

        variables["MEMCTL_SESSION"] = key(session)
    return {**environ, **{name: value for name, value in variables.items() if not environ.get(name)}}
