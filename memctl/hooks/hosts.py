"""The programs that call us: what they call their events, where they look for hooks, and what they take for an answer.

All three as seen by running them (tests/agents): Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0. The limit of
what Codex shows is from its source (`codex-rs/hooks`, `output_spill.rs`). Plain tuples and no msgspec: a hook after
every tool call has no time to import it.
"""

from __future__ import annotations

from collections.abc import Mapping

from memctl.light_typing import NamedTuple
from memctl.store import agent_env

START, TOOL, PROMPT, COMPACT, STOP, END = "start", "tool", "prompt", "compact", "stop", "end"
AGENT = "agent"  # a sub-agent starts
BEFORE = "before"  # a tool is about to write


class Host(NamedTuple):
    """A program that runs agents.

    `events` are those that we hook, by the program's names, with what they are to us. A `speaks` event's answer reaches
    the model as `additionalContext` of a JSON object; with `instructs` what we print before a compaction is added to
    the summariser's instructions. `reads` says whether memctl reads its transcripts whole (of others, the tool calls).
    `folder` has its settings, in a project and in the user's home; `shared` and `own` are their files (`own` "" if it
    has none for one user's copy of a project); `second` is what a second is in its time limits, `last` the seconds that
    its hook at the end of a session may take. Of more than `most_bytes` the model sees a preview only (0: there is no
    such limit beside that of characters).

    `process` is a variable of its hooks with the number of its process ("": they are told none). A `silent` one has no
    event for a compaction: its transcript is looked at (`gemini_compaction`). `home` is the variable that moves its
    folder in the user's home; with a `/`, the variable that moves what the folder is in. `advice` says what its user
    has to know once hooks are installed. `before` is its event ahead of a tool call, at which our hook can refuse it
    (`file_recall`); it is hooked only where the user has asked for that. A project's settings that are
    `is_for_its_folder_only` are not read where it is started in a folder below. Of what JSON has not, it `takes` only
    that in its settings: of a file with anything else it reads nothing (Gemini CLI does not even start).
    """

    name: str
    title: str
    events: Mapping[str, str]
    speaks: tuple[str, ...]
    folder: str
    shared: str
    own: str = ""
    instructs: bool = False
    reads: bool = False
    second: int = 1
    last: int = 60
    most_bytes: int = 0
    process: str = ""
    silent: bool = False
    before: str | None = None
    home: str = ""
    advice: str = ""
    is_for_its_folder_only: bool = False
    takes: tuple[str, ...] = ()


CLAUDE_CODE = Host(
    agent_env.CLAUDE_CODE.host,
    agent_env.CLAUDE_CODE.title,
    {
        "SessionStart": START,
        "UserPromptSubmit": PROMPT,
        "PostToolUse": TOOL,
        "SubagentStart": AGENT,
        "PreCompact": COMPACT,
        "Stop": STOP,
        "SessionEnd": END,
    },
    (START, TOOL, PROMPT),
    ".claude",
    "settings.json",
    "settings.local.json",
    instructs=True,
    reads=True,
    process="CLAUDE_PID",
    before="PreToolUse",
    home="CLAUDE_CONFIG_DIR",
    advice="Claude Code lets agents run what a project's settings allow once you have trusted the folder (it asks at"
    " its start)",
    is_for_its_folder_only=True,
)
CODEX = Host(
    agent_env.CODEX.host,
    agent_env.CODEX.title,
    # Older ones have no SessionEnd, and pass over what they don't know. What a sub-agent is asked comes as a prompt.
    {
        "SessionStart": START,
        "UserPromptSubmit": PROMPT,
        "PostToolUse": TOOL,
        "PreCompact": COMPACT,
        "Stop": STOP,
        "SessionEnd": END,
    },
    (START, TOOL, PROMPT),
    ".codex",
    "hooks.json",
    last=3,  # it warns of more
    most_bytes=10_000,  # 2,500 tokens, for which it takes 4 bytes each
    home="CODEX_HOME",
    advice="Codex runs hooks of a project that it trusts, once you have let them (`/hooks` in Codex, again whenever"
    " they change); until then it passes over them, and `codex exec` does not say so. Its sandbox closes Git's folder:"
    " what agents may run without asking runs outside of it, as a command of its own, in no pipe or chain",
)
GEMINI = Host(
    agent_env.GEMINI.host,
    agent_env.GEMINI.title,
    {
        "SessionStart": START,
        "AfterTool": TOOL,
        "BeforeAgent": PROMPT,
        "AfterAgent": STOP,
        "SessionEnd": END,
    },
    (START, TOOL, PROMPT),
    ".gemini",
    "settings.json",
    second=1000,
    silent=True,
    home="GEMINI_CLI_HOME/.gemini",
    advice="Gemini CLI runs hooks of a folder that it trusts: it asks you, and with `-p` it refuses any other folder"
    " (`--skip-trust`)",
    is_for_its_folder_only=True,
    takes=("comments",),
)


def with_guard(host: Host) -> Host:
    """Return a host with its event ahead of a tool call hooked, too."""
    return host._replace(events={**host.events, host.before: BEFORE}) if host.before else host


HOSTS = {host.name: host for host in (CLAUDE_CODE, CODEX, GEMINI)}
