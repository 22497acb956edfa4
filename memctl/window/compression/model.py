"""The language model of a host behind one door: a function of a system prompt and a request, or an object with a name.

Whatever it raises is caught: it is told once, the model is asked no more in that step, and rules take its place. What
is asked of it, and what of its answers is used, is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from html import unescape
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.providers.provider import Provider
from memctl.text.credentials import redact
from memctl.window.compression import prompts
from memctl.window.compression.prompts import Instructions, Text

Ask = Callable[[str, str], str]  # system prompt, request -> answer
_MOST_CHARACTERS = 400_000  # of the texts in one request: about 100,000 tokens; a compaction may have as many
_ANSWER = re.compile(r'<summary id="([^"]*)">\s*(.*?)\s*</summary>', re.DOTALL)


class ModelCalls(msgspec.Struct):
    """How often a model was asked, and how many of the texts that it gave were used and refused."""

    asked: int = 0
    used: int = 0
    refused: int = 0

    def take(self) -> ModelCalls:
        """What was counted so far; counting begins anew."""
        counted = ModelCalls(self.asked, self.used, self.refused)
        self.asked = self.used = self.refused = 0
        return counted


class Model:
    """Asks a host's model. `failure` says why it gave no answer, "" while it does; `begin` lets it be asked again.

    `given` is a function `(system, request) -> str`, or an object with a `name` and a method `answer(prompt)`. `watch`
    is called with each failure when it begins. Raises MemctlError for anything else.
    """

    def __init__(
        self,
        given: Provider | Ask,
        instructions: Instructions | None = None,
        watch: Callable[[str], None] | None = None,
    ) -> None:
        if not callable(getattr(given, "answer", given)):
            hint = "give a function (system, user) -> str, or an object with `name` and `answer(prompt)`"
            raise MemctlError(f"the provider is {type(given).__name__}, which can't be asked", hint, USAGE)
        self.name = _name_of(given)
        self.instructions = instructions or Instructions()
        self.watch = watch
        self.failure = ""
        self.calls = ModelCalls()
        self._given: Any = given
        self._told = ""

    def begin(self) -> None:
        """A step begins: a model that failed in the one before is asked again."""
        self.failure = ""

    def compaction(self, request: str) -> str:
        """The answer to a request, "" if there is none."""
        return "" if self.failure else self._answer(request)

    def shorter(self, texts: Sequence[Text]) -> dict[str, str]:
        """Shorter forms of texts by their ids; those that the model gave. It is asked once for as many as fit."""
        found: dict[str, str] = {}
        for batch in _batches(texts):
            if self.failure:
                break
            answer = self._answer(prompts.shorter(batch))
            if len(batch) == 1 and not _ANSWER.search(answer):
                found[batch[0].id] = answer
            else:
                found |= {name: unescape(text) for name, text in _ANSWER.findall(answer)}
        return {name: text for name, text in found.items() if text}

    def judged(self, *, used: int = 0, refused: int = 0) -> None:
        """Count texts of the model that were used or refused."""
        self.calls.used += used
        self.calls.refused += refused

    def _answer(self, request: str) -> str:
        self.calls.asked += 1
        system, user = self.instructions.system_prompt, self.instructions.about(request)
        try:
            if hasattr(self._given, "answer"):
                answer = self._given.answer(f"{system}\n\n{user}")
            else:
                answer = self._given(system, user)
            if not isinstance(answer, str):
                raise TypeError(f"it answered with {type(answer).__name__}, not a text")
        except Exception as error:  # the host's own code: whatever it raises, the loop goes on by rules
            self._fail(error)
            return ""
        self._told = ""
        return answer.strip()

    def _fail(self, error: Exception) -> None:
        is_ours = isinstance(error, MemctlError)
        self.failure = redact(str(error) if is_ours else f"{type(error).__name__}: {error}")
        if self.watch is not None and self.failure != self._told:
            self.watch(self.failure)
        self._told = self.failure


def _name_of(given: object) -> str:
    name = getattr(given, "name", None) or getattr(given, "__name__", None)
    return name if isinstance(name, str) and name != "<lambda>" else "a model"


def _batches(texts: Sequence[Text]) -> list[list[Text]]:
    """Texts in requests that are not too long; one that is too long by itself is asked for alone."""
    found: list[list[Text]] = []
    size = _MOST_CHARACTERS
    for one in texts:
        if size + len(one.text) > _MOST_CHARACTERS:
            found.append([])
            size = 0
        found[-1].append(one)
        size += len(one.text)
    return found


def calls_counted(model: Model | None) -> dict[str, Any]:
    """What was asked of a model since this was last asked for, as fields of a CompressionResult."""
    calls = model.calls.take() if model is not None else ModelCalls()
    return {
        "llm_calls_used": calls.asked,
        "llm_answers_used": calls.used,
        "llm_answers_refused": calls.refused,
    }


def failure_of(model: Model | None) -> dict[str, str]:
    """Why a model gave no answer, as metadata of a CompressionResult."""
    return {"provider": model.failure, "note": "made by rules instead"} if model is not None and model.failure else {}
