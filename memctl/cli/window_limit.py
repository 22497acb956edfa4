"""Find the size of a model's context window, from options, the settings, the model's name, or a conversation."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memctl.cli import output, token_counter
from memctl.cli.text_input import read
from memctl.record.frontmatter import read_yaml
from memctl.store.memory import Memory
from memctl.tokens import model_windows

if TYPE_CHECKING:
    from memctl.window import Limit, SeenConversation, WindowConfig

# How a zone is shown, wherever it is.
ZONE_COLOURS = {"green": "green", "yellow": "yellow", "orange": "bright_red", "red": "red"}


def of_conversation(
    seen: SeenConversation,
    usable: int | None,
    memory: Memory | None,
    *,
    model: str | None,
    window: int | None,
    host: str | None = None,
    max_output: int = model_windows.DEFAULT_OUTPUT,
) -> Limit:
    """Return the limit of the window that a conversation is in: the window's size, and the tokens usable of it.

    `seen` is the conversation that was read. The size is that in `window` (an option), or else in
    MEMCTL_CONTEXT_WINDOW. Without both, size and usable tokens are equal to `usable`, the setting `max_context_tokens`.
    If that is None, too, the size follows from the model and from the requests in the conversation.

    `model` is an option, by default the model in the conversation. `host` is the program that compacts the window, and
    `max_output` the number of tokens to keep free for the model's answer; the usable tokens depend on both.
    """
    from memctl.window import MODEL_REPORTED, limits

    host = host or (limits.CLAUDE_CODE if seen.is_transcript else limits.NO_HOST)
    model = model or seen.model or token_counter.model_of(None, memory)
    is_seen = seen.curve.source == MODEL_REPORTED or limits.window_of(model) is None  # else nobody has sent it
    most = max(seen.curve.points, default=0) if is_seen else 0
    automatic = [cut.before for cut in seen.curve.compactions if cut.trigger == "auto"]
    return _limit(
        model, host, window, usable, max_output=max_output, seen=most, compacted=automatic[-1] if automatic else 0
    )


def of_model(model: str | None, window: int | None, host: str, memory: Memory | None) -> Limit:
    """Return the limit of a model's window, if there is no conversation to look at.

    The size is that in `window` (an option), or else in MEMCTL_CONTEXT_WINDOW, or else in the setting
    `max_context_tokens`; otherwise it follows from the name of `model`, by default the model in the memory's settings.
    If memctl does not know the model, the size is a default. `host` is the name of the program that compacts the
    window.
    """
    from memctl.window import limits, profiles

    _, usable = settings(None, memory)
    model = token_counter.model_of(model, memory)
    if limits.window_of(model) is None and model_windows.window_setting(os.environ, has_host=False) is None:
        window = window or usable or profiles.DEFAULT_WINDOW
    return _limit(model, host, window, usable)


def _limit(model: str, host: str, window: int | None, usable: int | None, **more: int) -> Limit:
    from memctl.window import Limit, limits

    window = window or model_windows.window_setting(os.environ, has_host=host != limits.NO_HOST)
    if window is None and usable is not None:
        return Limit(usable, usable, "max_context_tokens")
    return limits.limit_of(model, host, window=window, environ=os.environ, **more)


def warn_of(limit: Limit) -> None:
    """Print a warning on standard error if a window's size is guessed or assumed, as `Limit` explains these words."""
    if limit.is_guessed:
        output.note(
            f"warning: the window's size of {limit.window:,} tokens is a guess ({limit.source}); --window sets the size"
        )
    if limit.is_assumed:
        output.note(f"warning: {limit.source} is assumed to be {limit.window:,} tokens; --window sets the size")


def settings(file: str | None, memory: Memory | None) -> tuple[WindowConfig, int | None]:
    """Return the settings for windows, and separately their value `max_context_tokens`, None if it is not set.

    They are read from `file`, or else from the memory's config.yaml; without both they are the defaults.
    """
    from memctl.window import config

    values = read_yaml(read(file), file) if file else memory.config.window if memory else {}
    parsed = config.from_values(values, file or "config.yaml, window")
    return parsed, None if values.get("max_context_tokens") is None else parsed.max_context_tokens
