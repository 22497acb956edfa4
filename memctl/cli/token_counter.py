"""The token counter and other helpers of commands that judge texts: a --model option, FILE… options, Surroundings."""

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
    """Return the name `given` for a model, or else the model in the memory's settings; "claude" without a memory."""
    return given or (memory.config.model if memory else "claude")


def counter(model: str, memory: Memory | None, tokenizer: Tokenizer | None = None) -> Counter:
    """Return the token counter for a model; raises MemctlError for an unknown model.

    With a memory the counter has the correction factor that `memctl tokens --calibrate` learned for the model in this
    clone. `tokenizer` is the model's own tokenizer, if there is one.
    """
    if memory is None:
        return Counter(family_of(model), tokenizer=tokenizer)
    return count.of_memory(memory, model, tokenizer)


def counter_for(
    asked: str | None, named: str, memory: Memory | None, tokenizer_of: Callable[[str], Tokenizer | None] | None = None
) -> Counter:
    """Return the counter for the model of --model, or else the model that a file names, or else the memory's model.

    `asked` is the value of --model, and `named` the model's name in the file, "" if it has none. For an unknown model
    in the file a warning is printed, and the memory's model is used. `tokenizer_of` returns a model's own tokenizer,
    None if there is none.
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
                "--model chooses another"
            )
    return of(default)


class Surroundings(NamedTuple):
    """What a command that judges a text needs beside the text: token counter, time, and the memory with its snapshot.

    Memory and snapshot are None outside of a memory. `known` says which records of the memory no longer hold.
    """

    counter: Counter
    now: str
    known: Over
    memory: Memory | None
    snapshot: Snapshot | None

    @property
    def faults(self) -> Sequence[Fault]:
        """The faults of records that can't be read; none outside of a memory."""
        return self.snapshot.faults if self.snapshot else ()

    @property
    def scs_threshold(self) -> int:
        """The limit, in tokens, of the shared context slice: what the contexts of all agents at work share."""
        return threshold_of(self.memory)


def surroundings(ctx: click.Context, model: str | None = None, at: str | None = None) -> Surroundings:
    """Return the token counter, the time and the memory with its snapshot, for the directory of a command.

    The counter is that of `model`, or without one of the model in config.yaml. The snapshot is that of the revision
    `at`, or without one that of the disk. Raises MemctlError if `at` is given but there is no memory. Prints on stderr
    which records can't be read.
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
    """Return the limit, in tokens, of the shared context slice: what the contexts of all agents at work share.

    It is that of the memory's settings, or the default.
    """
    from memctl.window import contexts

    return memory.config.scs_threshold if memory else contexts.SCS_THRESHOLD


class MultiFileCommand(Command):
    """A command in which an option whose metavar is `FILE…` takes all arguments up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, with each option that takes several files repeated before each of them."""
        names = {name for param in self.params if getattr(param, "metavar", "") == _MANY for name in param.opts}
        names = {name for name in names if name.startswith("-")}
        return super().parse_args(ctx, list(_spread(args, names)))


def files_option(name: str, help_: str) -> Callable[[F], F]:
    """Return a decorator that adds the option `--NAME FILE…`, which takes several files; `help_` is its help.

    It works in a MultiFileCommand.
    """
    return click.option(f"--{name}", name, multiple=True, metavar=_MANY, help=help_)


def _spread(args: list[str], names: set[str]) -> list[str]:
    """Return the arguments with the option before each of its values: `--active a --active b` for `--active a b`."""
    found: list[str] = []
    option, is_first = "", False
    for arg in args:
        if arg.startswith("-") and arg != "-":
            option, is_first = (arg, True) if arg in names else ("", False)
            found.append(arg)
        else:
            found += [arg] if not option or is_first else [option, arg]
            is_first = False
    return found
