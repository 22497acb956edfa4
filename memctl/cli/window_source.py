"""What the commands of `window` that look at a window have in common: the file, its settings, how much fits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from memctl.cli import counting, opening, output
from memctl.cli import window_messages as messages
from memctl.cli.command import F
from memctl.cli.source import lines, read
from memctl.hooks import pressure
from memctl.record.frontmatter import read_yaml
from memctl.store.memory import Memory
from memctl.tokens import model_windows
from memctl.tokens.count import Counter
from memctl.transcript import claude_code
from memctl.window import config as configuration
from memctl.window import status
from memctl.window.config import WindowConfig
from memctl.window.following import Follower
from memctl.window.pressure import limits
from memctl.window.pressure.limits import Limit
from memctl.window.pressure.monitor import MODEL_REPORTED
from memctl.window.status import SeenConversation

_OF_LIMIT = ("model", "window", "host", "max_output")  # the options that tell how much fits


def looking(function: F) -> F:
    """The options of `status` and `health`."""
    for option in reversed(
        (
            click.option("--model", help="The model of the window. [default: the transcript's, or config.yaml's]"),
            click.option(
                "--window",
                type=click.IntRange(min=1),
                help="Its tokens. [default: MEMCTL_CONTEXT_WINDOW, or by the model's name]",
            ),
            click.option(
                "--host",
                type=click.Choice(limits.HOSTS),
                help="Who compacts it, and when. [default: claude-code for a transcript]",
            ),
            click.option(
                "--max-output",
                type=click.IntRange(min=1),
                default=model_windows.DEFAULT_OUTPUT,
                show_default=True,
                help="Tokens that the model may answer with, which a host keeps free.",
            ),
            click.option(
                "--config", "settings", metavar="FILE", help="Settings in YAML. [default: config.yaml's window]"
            ),
            click.option("--projects", metavar="DIR", help="Where transcripts are kept. [default: ~/.claude/projects]"),
        )
    ):
        function = option(function)
    return function


class WindowSource:
    """A file with a window in it, and how it is to be looked at."""

    def __init__(self, ctx: click.Context, file: str | None, given: dict[str, Any]) -> None:
        self.file = file or str(_newest(ctx, given["projects"]))
        self.counted_as = ""  # whose tokens, once something was read
        self._given = given
        self._memory = opening.memory_if_any(ctx)
        self.config, self._says_window = settings(given["settings"], self._memory)

    def read(self) -> SeenConversation:
        """Read the file, a transcript line by line; raises MemctlError."""
        with lines(self.file) as found:
            return status.read(found, self.file, self._counter)

    def follower(self) -> Follower:
        """What reads the file again and again, of a transcript only what was added."""
        return Follower(self.file, self._counter)

    def _counter(self, model: str) -> Counter:
        found = counting.counter_for(None, self._given["model"] or model, self._memory)
        self.counted_as = found.family.name
        return found

    def limit(self, seen: SeenConversation) -> Limit:
        """How much fits, as `limit_of` has it."""
        usable = self.config.max_context_tokens if self._says_window else None
        return limit_of(seen, usable, self._memory, **{name: self._given[name] for name in _OF_LIMIT})

    def warn(self, seen: SeenConversation, limit: Limit) -> None:
        """Say that a window's size is not known for sure, and what of the file was not taken in."""
        warn_of(limit)
        messages.tell_rest(seen.opened)


def limit_of(
    seen: SeenConversation,
    usable: int | None,
    memory: Memory | None,
    *,
    model: str | None,
    window: int | None,
    host: str | None = None,
    max_output: int = model_windows.DEFAULT_OUTPUT,
) -> Limit:
    """How much fits: as the options say, the settings (`usable`, None if they do not), or the name of the model."""
    host = host or (limits.CLAUDE_CODE if seen.is_transcript else limits.NO_HOST)
    window = window or pressure.window_setting(os.environ, has_host=host != limits.NO_HOST)
    if window is None and usable is not None:
        return Limit(usable, usable, "max_context_tokens")
    model = model or seen.model or counting.model_of(None, memory)
    is_seen = seen.curve.source == MODEL_REPORTED or limits.window_of(model) is None  # else nobody has sent it
    most = max(seen.curve.points, default=0) if is_seen else 0
    return limits.limit_of(model, host, window=window, max_output=max_output, seen=most)


def warn_of(limit: Limit) -> None:
    """Say that a window's size is not known for sure, and so no percentage of it is."""
    if limit.is_guessed:
        output.note(f"warning: a window of {limit.window:,} tokens is a guess: {limit.source}; --window says it")
    if limit.is_assumed:
        output.note(f"warning: {limit.source} is assumed to be {limit.window:,} tokens; --window says it")


def settings(file: str | None, memory: Memory | None) -> tuple[WindowConfig, bool]:
    """The settings of the window: a file's, else those in the memory's config.yaml, else the defaults; and whether they
    say how large it is, be it what it would be without them."""
    values = read_yaml(read(file), file) if file else memory.config.window if memory else {}
    found = configuration.from_values(values, file or "config.yaml, window")
    return found, values.get("max_context_tokens") is not None


def _newest(ctx: click.Context, projects: str | None) -> Path:
    kept = Path(projects) if projects else claude_code.projects(os.environ, Path.home())
    return claude_code.newest(Path(os.path.realpath(ctx.obj.folder)), kept)
