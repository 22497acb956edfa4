"""The counter for a command: of which model, and with what this clone has learnt of it."""

from __future__ import annotations

import click

from memctl.cli import output
from memctl.errors import MemctlError
from memctl.store import load
from memctl.store.memory import Memory
from memctl.tokens.calibration import learnt
from memctl.tokens.count import Counter, Tokenizer
from memctl.tokens.families import FAMILIES, family_of

MODELS = ", ".join(FAMILIES)
model_option = click.option(
    "--model", help=f"Whose tokens: a model, or one of {MODELS}. [default: model in config.yaml, or claude]"
)


def model_of(given: str | None, memory: Memory | None) -> str:
    """The model that is asked for, or the memory's, or the default."""
    return given or (memory.config.model if memory else "claude")


def counter(model: str, memory: Memory | None, tokenizer: Tokenizer | None = None) -> Counter:
    """The counter for a model; raises MemctlError for one that is not known."""
    family = family_of(model)
    if memory is None:
        return Counter(family, tokenizer=tokenizer)
    known = learnt(memory.repository.shared, model, family)
    return Counter(family, load.open_cache(memory), learnt=known, tokenizer=tokenizer)


def counter_for(asked: str | None, named: str, memory: Memory | None) -> Counter:
    """The counter for the model that is asked for, else the one that a file names, else the memory's."""
    default = model_of(asked, memory)
    if asked is None and named:
        try:
            return counter(named, memory)
        except MemctlError:  # the file may come from anywhere
            output.note(
                f"warning: the tokens of {named!r} are not known here: counted as those of {default}; "
                "--model says whose to count"
            )
    return counter(default, memory)
