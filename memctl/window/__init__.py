"""Management of a context window, as a library: each part is usable alone (S4)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memctl.window.content import ContentBlock, ContentType, TokenCounter
    from memctl.window.conversation import Conversation
    from memctl.window.eviction import EvictionEngine, EvictionResult
    from memctl.window.scoring import EvictionPolicy, EvictionScorer, Scoring
    from memctl.window.validity import validate

# Public name -> the module that has it: a command that wants one of them does not pay for the rest.
_MODULES = {
    "ContentBlock": "content",
    "ContentType": "content",
    "TokenCounter": "content",
    "Conversation": "conversation",
    "EvictionEngine": "eviction",
    "EvictionPolicy": "scoring",
    "EvictionResult": "eviction",
    "EvictionScorer": "scoring",
    "Scoring": "scoring",
    "validate": "validity",
}

__all__ = [
    "ContentBlock",
    "ContentType",
    "Conversation",
    "EvictionEngine",
    "EvictionPolicy",
    "EvictionResult",
    "EvictionScorer",
    "Scoring",
    "TokenCounter",
    "validate",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
