"""How full a context is, against the point where the host compacts it by itself.

The host compacts at the window less what it keeps free for an answer (20,000 tokens at most) and 13,000 more: 167,000
of 200,000. S4's zones are shares of that point and not of the window: 90 % of the window is never reached.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from memctl.hooks import lines

GREEN, YELLOW, ORANGE, RED = "green", "yellow", "orange", "red"
_ZONES = ((0.90, RED), (0.75, ORANGE), (0.50, YELLOW), (0.0, GREEN))  # S4, "Pressure Zones"
_KEPT_FREE = 20_000 + 13_000  # every model that Claude Code knows may answer with 32,000 tokens or more
_SMALL, _LARGE = 200_000, 1_000_000
# Models whose window Claude Code 2.1.330 takes to be 200,000 tokens; all others, unknown ones too, have 1,000,000.
_SMALL_MODEL = re.compile(r"claude-(?:[23]|instant|(?:opus|sonnet|haiku)-(?:3|4(?:-[0-6])?(?!\d|-\d{1,2}(?!\d))))")
_SETTING = "MEMCTL_CONTEXT_WINDOW"
_REACH = 8 * 1024 * 1024  # bytes from the end in which the last answer is looked for
_SYNTHETIC = "<synthetic>"


class Pressure(NamedTuple):
    """The tokens in a context, and at how many the host compacts it."""

    tokens: int
    limit: int

    @property
    def share(self) -> float:
        return self.tokens / self.limit

    @property
    def zone(self) -> str:
        return next(zone for least, zone in _ZONES if self.share >= least)


def measure(transcript: str, environ: Mapping[str, str]) -> Pressure | None:
    """The pressure on the main agent's context, by the end of a transcript of Claude Code's; None if unknown."""
    found = last_context(transcript)
    if found is None:
        return None
    tokens, model = found
    return Pressure(tokens, window_of(model, tokens, environ) - _KEPT_FREE)


def window_of(model: str, tokens: int, environ: Mapping[str, str]) -> int:
    """The size of a model's window, in tokens: as MEMCTL_CONTEXT_WINDOW says, else by its name.

    The suffix [1m] with which somebody asks for the large window is not in a transcript: a context that the small one
    could not hold tells it.
    """
    given = environ.get(_SETTING, "").replace("_", "").strip()
    if given.isdecimal() and int(given) > 2 * _KEPT_FREE:
        return int(given)
    is_small = _SMALL_MODEL.match(model) is not None and "[1m]" not in model and tokens <= _SMALL - _KEPT_FREE
    return _SMALL if is_small else _LARGE


def last_context(transcript: str) -> tuple[int, str] | None:
    """The tokens in the context and the model, by the last answer or the last compaction, whichever is later."""
    for line in lines.backwards(transcript, _REACH):
        if b'"usage"' not in line and b"compact_boundary" not in line:
            continue
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(values, dict) and not values.get("isSidechain"):
            found = _of_boundary(values) or _of_answer(values)
            if found:
                return found
    return None


def _of_boundary(values: dict[str, Any]) -> tuple[int, str] | None:
    if values.get("type") != "system" or values.get("subtype") != "compact_boundary":
        return None
    facts = values.get("compactMetadata")
    left = facts.get("postTokens") if isinstance(facts, dict) else None
    return (left if isinstance(left, int) and left >= 0 else 0), ""


def _of_answer(values: dict[str, Any]) -> tuple[int, str] | None:
    message = values.get("message")
    if values.get("type") != "assistant" or not isinstance(message, dict) or message.get("model") == _SYNTHETIC:
        return None
    usage, model = message.get("usage"), message.get("model")
    if not isinstance(usage, dict):
        return None
    names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    tokens = sum(usage[name] for name in names if isinstance(usage.get(name), int))
    return (tokens, model if isinstance(model, str) else "") if tokens > 0 else None
