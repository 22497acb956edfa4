"""What a provider is: something that answers a prompt, or says why it did not."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from memctl.errors import MemctlError
from memctl.text.characters import printable_line
from memctl.text.fit import cut

LONGEST_ANSWER = 1024 * 1024  # bytes; an answer of 4,096 tokens has about 20,000


class ProviderFailed(MemctlError):
    """A provider gave no answer; whoever asked goes on without one."""

    kind = "provider"


class Provider(Protocol):
    """Answers prompts. `name` says to people what answers; nothing of a key is in it."""

    @property
    def name(self) -> str: ...

    def answer(self, prompt: str) -> str:
        """The answer to a prompt, not empty; raises ProviderFailed."""


def json_object(answer: str, name: str) -> dict[str, Any]:
    """The JSON object in an answer, whatever a model puts around it; raises ProviderFailed, which names the model."""
    start, end = answer.find("{"), answer.rfind("}")
    try:
        return msgspec.json.decode(answer[start : end + 1] if 0 <= start < end else "", type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise ProviderFailed(f"{name} gave an answer that is not the JSON asked for") from None


def told(text: str, longest: int = 300) -> str:
    """What a program or a server says of itself, as one line that does nothing to a terminal."""
    return cut(printable_line(text), longest)
