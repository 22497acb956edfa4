"""Helpers of commands that count tokens or judge texts: --model, token counters, options for several files."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import click

from memctl.cli import memory_access, output
from memctl.cli.command import Command, F
from memctl.errors import MemctlError
from memctl.record import time_input
from memctl.record.errors import Fault
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.text import timestamps
from memctl.tokens import count
from memctl.tokens.count import Counter, Tokenizer
from memctl.tokens.families import FAMILIES, family_of

if TYPE_CHECKING:
    from memctl.window import Over

_MANY = "FILE…"  # metavar of an option that takes several files at once: `--active src/*.py`
MODELS = ", ".join(FAMILIES)
model_option = click.option(
    "--model",
    help=f"Count tokens as this model does: its name, or one of {MODELS}. [default: model in config.yaml, or claude]",
)


def model_of(given: str | None, memory: Memory | None) -> str:
    """Return the model whose tokens to count: `given`, or that in the memory's settings if `given` is None.

    Without a memory it is "claude".
    """
    return given or (memory.config.model if memory else "claude")


def counter(model: str, memory: Memory | None, tokenizer: Tokenizer | None = None) -> Counter:
    """Return the token counter for a model; raises MemctlError for an unknown model.

    With a memory, counts are corrected by the factor that `memctl context tokens --calibrate` has learned for the model
    in this clone. `tokenizer` is the model's own tokenizer, None to count with memctl's.
    """
    if memory is None:
        return Counter(family_of(model), tokenizer=tokenizer)
    return count.of_memory(memory, model, tokenizer)


def counter_for(
    asked: str | None, named: str, memory: Memory | None, tokenizer_of: Callable[[str], Tokenizer | None] | None = None
) -> Counter:
    """Return the token counter for a file whose text may name a model.

    The model is that of --model (`asked`), or else that which the file names (`named`, "" for none), or else that of
    the memory's settings. If memctl does not know the model in the file, it prints a warning and uses that of the
    settings. `tokenizer_of` returns a model's own tokenizer, None if there is none.
    """

    def of(model: str) -> Counter:
        return counter(model, memory, tokenizer_of(model) if tokenizer_of else None)

    default = model_of(asked, memory)
    if asked is None and named:
        try:
            return of(named)
        except MemctlError:  # the file may name a model that memctl does not know
            output.note(
                f"warning: memctl has no tokenizer for the model {named!r} and counts as for {default}; "
                "--model sets another model"
            )
    return of(default)


class Surroundings(NamedTuple):
    """What a command needs to judge a text: a token counter, the time, and the memory, if there is one.

    - `now`: the time, in canonical form.
    - `known`: the records that are no longer valid, such as superseded ones; a text that repeats them is stale.
    - `memory`, `snapshot`: the memory around the command's directory and its content, None if there is no memory.
    """

    counter: Counter
    now: str
    known: Over
    memory: Memory | None
    snapshot: Snapshot | None

    @property
    def faults(self) -> Sequence[Fault]:
        """The errors in records that can't be read; none if there is no memory."""
        return self.snapshot.faults if self.snapshot else ()

    @property
    def scs_threshold(self) -> int:
        """The limit of the shared slice in tokens.

        The shared slice is what the contexts of agents that work in parallel have in common.
        """
        return threshold_of(self.memory)


def surroundings(ctx: click.Context, model: str | None = None, at: str | None = None) -> Surroundings:
    """Return what a command needs to judge a text, from the memory around its directory, if there is one.

    `model` is the model whose tokens are counted, by default that in config.yaml. `at` is the revision of the snapshot,
    None for the disk. Prints on standard error which records can't be read. Raises MemctlError if `at` is given but
    there is no memory.
    """
    from memctl.window import Over, staleness

    memory = memory_access.memory(ctx) if at is not None else memory_access.memory_if_any(ctx)
    if memory is None:
        now = time_input.fixed_now(os.environ) or timestamps.from_epoch(int(time.time()))
        return Surroundings(counter(model_of(model, None), None), now, Over({}, frozenset()), None, None)
    snapshot = memory_access.snapshot(memory, at)
    output.warn(memory, snapshot)
    return Surroundings(
        counter(model_of(model, memory), memory),
        memory.now,
        staleness.over(snapshot.records, memory.now),
        memory,
        snapshot,
    )


def threshold_of(memory: Memory | None) -> int:
    """Return the limit of the shared slice in tokens, from the memory's settings; without a memory it is the default.

    The shared slice is what the contexts of agents that work in parallel have in common.
    """
    from memctl.window import contexts

    return memory.config.scs_threshold if memory else contexts.SCS_THRESHOLD


class MultiFileCommand(Command):
    """A command whose options with several files take all words up to the next option: `--active a b` means a and b."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of a command line, after changing `--active a b` to `--active a --active b`."""
        names = {name for param in self.params if getattr(param, "metavar", "") == _MANY for name in param.opts}
        names = {name for name in names if name.startswith("-")}
        return super().parse_args(ctx, list(_spread(args, names)))


def files_option(name: str, help_: str) -> Callable[[F], F]:
    """Return a decorator that adds the option `--NAME FILE…`, which takes several files, to a MultiFileCommand.

    `help_` is the option's help.
    """
    return click.option(f"--{name}", name, multiple=True, metavar=_MANY, help=help_)


def _spread(args: list[str], names: set[str]) -> list[str]:
    """Return the arguments with the option before each of its values: `--active a --active b` for `--active a b`."""
    words: list[str] = []
    option, is_first = "", False
    for arg in args:
        if arg.startswith("-") and arg != "-":
            option, is_first = (arg, True) if arg in names else ("", False)
            words.append(arg)
        else:
            words += [arg] if not option or is_first else [option, arg]
            is_first = False
    return words
