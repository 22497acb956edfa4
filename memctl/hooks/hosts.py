"""The hosts that memctl has hooks for: their events, the places of their settings, and the form of their answers.

All facts were observed by running the hosts (tests/agents): Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0. The
length limit of Codex is from its source (`codex-rs/hooks`, `output_spill.rs`). Hosts are plain tuples, because a hook
runs after every tool call and has no time to import msgspec.
"""

from __future__ import annotations

from collections.abc import Mapping

from memctl.store import agent_env
from memctl.text.light_typing import NamedTuple

START, TOOL, PROMPT, COMPACT, STOP, END = "start", "tool", "prompt", "compact", "stop", "end"
AGENT = "agent"  # the start of a sub-agent
BEFORE = "before"  # before a tool call that writes


class Host(NamedTuple):
    """A program that runs agents. `name` is memctl's name for it, `title` its name for people.

    Events and answers:

    - `events`: the events that memctl has hooks for: from the host's name of an event to memctl's name of it, as in
      `{"PostToolUse": "tool"}`.
    - `instructs`: whether the answer to the event before a compaction is added to the instructions of the model that
      summarizes the context.
    - `silent`: whether the host sends no event for a compaction; memctl then looks for compactions in the transcript
      (`gemini_compaction`).
    - `before`: the host's name of the event before a tool call, at which a hook can refuse the call (`file_recall`);
      None if there is no such event.
    - `most_bytes`: the length in bytes above which the model sees only a preview of an answer; 0 if there is no limit.
    - `reads`: whether memctl reads everything in the host's transcripts, or only the tool calls.
    - `models`: the family of models by which tokens are counted. Claude's, which count most, stand for an unknown one.
    - `process`: the environment variable with the id of the host's process, "" if there is none.

    Settings:

    - `folder`: the name of the folder with the host's settings, the same in a project and in the user's home. In this
      folder, `shared` is the settings file of the whole project (or, at home, of the user), and `own` a settings file
      in the project for one user only, "" if the host has none.
    - `home`: the environment variable by which users move the folder of settings in their home to another place; the
      value "VARIABLE/NAME" means the folder NAME in the folder that VARIABLE names.
    - `second`: one second in the unit of the host's time limits: 1, or 1,000 if they are in milliseconds.
    - `last`: the time limit, in seconds, of the hook at a session's end.
    - `is_for_its_folder_only`: whether a project's settings are read only if the host starts in the project's folder,
      not in a folder below it.
    - `takes`: the extensions of JSON (such as "comments") that the host accepts in its settings.
    - `advice`: what users must know once the hooks are installed.
    """

    name: str
    title: str
    events: Mapping[str, str]
    folder: str
    shared: str
    own: str = ""
    instructs: bool = False
    reads: bool = False
    second: int = 1
    last: int = 60
    most_bytes: int = 0
    models: str = "claude"
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
        "PostToolUseFailure": TOOL,  # in place of the event before, if the call failed
        "SubagentStart": AGENT,
        "PreCompact": COMPACT,
        "Stop": STOP,
        "SessionEnd": END,
    },
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
    # Older versions have no SessionEnd and ignore unknown events. The prompt of a sub-agent comes as UserPromptSubmit,
    # and a failed call as PostToolUse.
    {event: what for event, what in CLAUDE_CODE.events.items() if event not in ("SubagentStart", "PostToolUseFailure")},
    ".codex",
    "hooks.json",
    last=3,  # Codex warns of a longer limit
    models="gpt",
    most_bytes=10_000,  # 2,500 tokens, which Codex counts as 4 bytes each
    home="CODEX_HOME",
    advice="In a project that it trusts, Codex runs hooks once you have approved them (`/hooks` in Codex, again"
    " whenever they change); until then it skips them, and `codex exec` does not say so. In Codex's sandbox nothing can"
    " write to Git's folder, so the commands that agents may run without asking run outside of the sandbox, each alone,"
    " not in a pipe or chain",
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
    """Return the host with one more event to hook: the one before a tool call, at which a hook can refuse the call.

    It is needed with `git config memctl.guard deny`. A host without such an event is returned unchanged.
    """
    return host._replace(events={**host.events, host.before: BEFORE}) if host.before else host


HOSTS = {host.name: host for host in (CLAUDE_CODE, CODEX, GEMINI)}
