"""The interface of a provider, which answers prompts, and the error that it raises."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from memctl.errors import MemctlError
from memctl.text.characters import printable_line
from memctl.text.fit import cut

LONGEST_ANSWER = 1024 * 1024  # bytes; an answer of 4,096 tokens has about 20,000


class ProviderFailed(MemctlError):
    """Raised if a provider gives no answer; callers then go on without an answer."""

    kind = "provider"


class Provider(Protocol):
    """Whatever answers prompts, such as a language model on a server, or a program.

    `name` names it in messages, and contains no API key.
    """

    @property
    def name(self) -> str: ...

    def answer(self, prompt: str) -> str:
        """Return the answer to a prompt; it is never empty. Raises ProviderFailed if there is no answer."""


def json_object(answer: str, name: str) -> dict[str, Any]:
    """Return the JSON object in a model's answer, without the text around it.

    Raises ProviderFailed if the answer has no JSON object; `name` is the name of the model for the error's message.
    """
    start, end = answer.find("{"), answer.rfind("}")
    try:
        return msgspec.json.decode(answer[start : end + 1] if 0 <= start < end else "", type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        raise ProviderFailed(f"the answer of {name} contains no JSON object") from None


def one_line_message(text: str, longest: int = 300) -> str:
    """Return a program's or server's message on one line of at most `longest` characters, safe for a terminal."""
    return cut(printable_line(text), longest)
