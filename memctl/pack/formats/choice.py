"""Which formats there are, and which one suits a pack."""

from __future__ import annotations

from importlib import import_module

from memctl.pack.draft import Format

NAMES = {
    "markdown": "markdown",
    "xml": "xml",
    "yaml": "compressed_yaml",
    "tokens": "token_optimised",
    "event": "event_stream",
}
AUTO = "auto"
# Sizes of a context in tokens up to which a format is chosen; rules.md#formats.
_MICRO, _STANDARD = 500, 2_000


def named(name: str) -> Format:
    """The format of a name; only its own module is imported."""
    module: Format = import_module(f"memctl.pack.formats.{NAMES[name]}")
    return module


def suited(size: int, *, inter_agent: bool) -> str:
    """The name of the format for a context of `size` tokens (rules.md#formats)."""
    if size < _MICRO:
        return "yaml"
    if size < _STANDARD:
        return "xml"
    return "event" if inter_agent else "tokens"
