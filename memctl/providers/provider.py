"""What a provider is: it answers a prompt, or says why it did not."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from memctl.errors import MemctlError
from memctl.text.characters import printable_line
from memctl.text.fit import cut

LONGEST_ANSWER = 1024 * 1024  # bytes; an answer of 4,096 tokens has about 20,000


class ProviderFailed(MemctlError):
    """Raised when a provider gave no answer; callers continue without one."""

    kind = "provider"


class Provider(Protocol):
    """Answers prompts. `name` tells people what answers; it contains nothing of a key."""

    @property
    def name(self) -> str: ...

    def answer(self, prompt: str) -> str:
        """Return the answer to a prompt, not empty; raises ProviderFailed."""


def json_object(answer: str, name: str) -> dict[str, Any]:
    """Return the JSON object in an answer, whatever else a model writes around it; raises ProviderFailed naming the
    model."""
    start, end = answer.find("{"), answer.rfind("}")
    try:
        return msgspec.json.decode(answer[start : end + 1] if 0 <= start < end else "", type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise ProviderFailed(f"{name} gave an answer that is not the JSON asked for") from None


def one_line_message(text: str, longest: int = 300) -> str:
    """Return a program's or server's message as one line, without control characters that a terminal would obey."""
    return cut(printable_line(text), longest)
