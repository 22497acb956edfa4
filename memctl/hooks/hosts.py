"""The hosts that memctl has hooks for: their events, the places of their settings, and the form of their answers.

All facts were observed by running the hosts (tests/agents): Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0. The
length limit of Codex is from its source (`codex-rs/hooks`, `output_spill.rs`). Plain tuples and no msgspec: a hook
after every tool call must not cost its import.
"""

from __future__ import annotations

from collections.abc import Mapping

from memctl.store import agent_env
from memctl.text.light_typing import NamedTuple

START, TOOL, PROMPT, COMPACT, STOP, END = "start", "tool", "prompt", "compact", "stop", "end"
AGENT = "agent"  # the start of a sub-agent
BEFORE = "before"  # before a tool call that writes


class Host(NamedTuple):
    """A host: a program that runs agents. `name` is memctl's name for it, `title` its name for people.

    Events and answers:

    - `events`: the hooked events by the host's names, each with memctl's (START, TOOL, …).
    - `speaks`: the events whose answers reach the model, as `additionalContext` of a JSON object.
    - `instructs`: whether the answer before a compaction is added to the instructions of the summarizing model.
    - `silent`: whether the host has no event for a compaction, so that its transcript is checked
      (`gemini_compaction`).
    - `before`: the event before a tool call, at which a hook can refuse the call (`file_recall`); None if there is
      none.
    - `most_bytes`: the bytes of an answer above which the model sees only a preview, 0 for no such limit.
    - `reads`: whether memctl reads the host's transcripts as a whole; of others it reads tool calls only.
    - `process`: the environment variable with the id of the host's process, "" if there is none.

    Settings:

    - `folder`: the folder of the host's settings, by its name in a project and in the user's home. In this folder,
      `shared` is the settings file of the project or user, and `own` a file of one user for a project ("" if none).
    - `home`: the variable that moves the folder from the user's home; with a `/`, the variable that moves its parent.
    - `second`: how many units of the host's time limits are one second (1,000 for milliseconds).
    - `last`: the time limit, in seconds, of the hook at a session's end.
    - `is_for_its_folder_only`: whether a project's settings are read only if the host starts in the project's folder,
      not in a folder below it.
    - `takes`: extensions of JSON that the host accepts in its settings; it does not read a file with others.
    - `advice`: what its user must know once hooks are installed.
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
    # Older versions have no SessionEnd and ignore unknown events. The prompt of a sub-agent comes as UserPromptSubmit.
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
    last=3,  # Codex warns of a longer limit
    most_bytes=10_000,  # 2,500 tokens, which Codex counts as 4 bytes each
    home="CODEX_HOME",
    advice="Codex runs the hooks of a project that it trusts once you have approved them (`/hooks` in Codex, again"
    " whenever they change); until then it skips them, and `codex exec` does not say so. Its sandbox closes Git's"
    " folder, so the commands that agents may run without asking run outside of the sandbox, each alone, not in a pipe"
    " or chain",
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
    advice="Gemini CLI runs hooks only in a folder that it trusts: it asks you whether to trust it, and with `-p` it"
    " refuses to run in any other folder unless you add `--skip-trust`",
    is_for_its_folder_only=True,
    takes=("comments",),
)


def with_guard(host: Host) -> Host:
    """Return a host whose hooked events include the event before a tool call; unchanged if it has no such event."""
    return host._replace(events={**host.events, host.before: BEFORE}) if host.before else host


HOSTS = {host.name: host for host in (CLAUDE_CODE, CODEX, GEMINI)}
