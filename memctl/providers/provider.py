"""The interface of a provider, which answers prompts, and the error that it raises."""

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
    """Something that answers prompts. `name` describes it for people and contains no key."""

    @property
    def name(self) -> str: ...

    def answer(self, prompt: str) -> str:
        """Return the answer to a prompt, which is not empty; raises ProviderFailed."""


def json_object(answer: str, name: str) -> dict[str, Any]:
    """Return the JSON object in a model's answer, without the text around it.

    Raises ProviderFailed, which calls the model `name`, if the answer has no JSON object.
    """
    start, end = answer.find("{"), answer.rfind("}")
    try:
        return msgspec.json.decode(answer[start : end + 1] if 0 <= start < end else "", type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise ProviderFailed(f"the answer of {name} is not the requested JSON") from None


def one_line_message(text: str, longest: int = 300) -> str:
    """Return a program's or server's message on one line of at most `longest` characters.

    The line is safe to print in a terminal.
    """
    return cut(printable_line(text), longest)
