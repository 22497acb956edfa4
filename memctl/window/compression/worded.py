"""Whether what a model words can take the place of a text.

A model that answers something else or leaves errors out must not take a text's place: the agent would go on with what
the tool never said. Then the text is told shorter by rules.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from memctl.pack import mentioned
from memctl.window.results import forms, told
from memctl.window.results.key_line import SUMMED_UP

_OWN = 1 / 3  # of its words at least are the text's, as parts of words: even a free summary names what it is about
_MOST_ERRORS = 5  # of a result, the first ones, whose names have to stay
_SPOKEN = (forms.TESTS, forms.LOG, forms.PLAIN)  # of others errors are what is written about, and did not happen
_WORD = re.compile(r"[^\W\d_]{4,}")
_ERROR_NAME = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")


def result(
    said: str, model: str, tool: str, arguments: Mapping[str, Any], output: str, needed: Collection[str] = ()
) -> str:
    """A result of a tool in a model's words, below a line that says so; "" if these can't stand for it.

    `needed` are strings that must stay.
    """
    text = f"{SUMMED_UP}{told.line(tool) or 'a tool'} by {model}]\n{said}"
    errors = _errors(forms.output_of(tool, arguments, output))
    stands = is_of(said, output) and mentioned.keeps(text, needed, output) and mentioned.keeps(said, errors, output)
    return text if stands else ""


def answer(said: str, text: str, needed: Collection[str]) -> str:
    """An older answer of the agent in a model's words; "" if these can't stand for it."""
    return said if is_of(said, text) and mentioned.keeps(said, needed, " ".join(text.split())) else ""


def is_of(said: str, text: str) -> bool:
    """Whether what was said is about a text, by the words in it."""
    words, whole = {word.lower() for word in _WORD.findall(said)}, text.lower()
    return bool(words) and sum(word in whole for word in words) >= _OWN * len(words)


def _errors(output: forms.Output) -> list[str]:
    """The names of the first errors that an output tells of."""
    found = dict.fromkeys(_named(output)) if output.form in _SPOKEN else ()
    return list(found)[:_MOST_ERRORS]


def _named(output: forms.Output) -> Iterator[str]:
    for row in told.errors(output.text):
        yield from _ERROR_NAME.findall(row.text)
