"""Options of the commands that make packs (format, budget, model), and what is done with a pack: print, write, copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
import msgspec

from memctl.cli import output, token_counter
from memctl.cli.command import F, choice_option, flag_option, for_people, number_option, options
from memctl.pack import budget_fill
from memctl.pack.budget_fill import Pack
from memctl.pack.draft import PackDraft
from memctl.record.snapshot import Snapshot
from memctl.store import output_file, retrieval_counts
from memctl.store.memory import Memory
from memctl.text.phrases import quantity
from memctl.tokens.count import Counter
from memctl.tokens.families import family_of


class PackOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The values of the options for packs, as a command gets them.

    - `form`: the pack's format; `budget`: the largest number of tokens, None if not given.
    - `model`: the model whose tokens are counted, None if not given.
    - `out`: the file to which the pack is written, None if not given; `copy`: whether to copy the pack to the
      clipboard.
    """

    form: str
    budget: int | None
    model: str | None
    out: Path | None
    copy: bool


def pack_options(
    default: str = "markdown", budget: str = "rehydrate_budget in config.yaml, or 20000"
) -> Callable[[F], F]:
    """Return a decorator that adds the options for packs to a command, which gets their values as `PackOptions`.

    `default` is the format if --format is not given. `budget` is how the help names the default of --budget.
    """
    return options(
        choice_option(
            "--format",
            "-f",
            "form",
            among=[*budget_fill.FORMATS, budget_fill.AUTO],
            default=default,
            help="The format of the pack; auto chooses one by size and command.",
        ),
        number_option("--budget", help=f"Maximum number of tokens of the pack. [default: {budget}]"),
        token_counter.model_option,
        click.option(
            "--out",
            "-o",
            type=click.Path(path_type=Path, dir_okay=False),
            callback=for_people,
            help="Write the pack to this file instead of standard output.",
        ),
        flag_option("--copy", callback=for_people, help="Copy the pack into the clipboard."),
    )


def counter_of(memory: Memory, options: PackOptions) -> Counter:
    """Return the token counter for the model that --model names, by default the model in the memory's settings."""
    return token_counter.counter(token_counter.model_of(options.model, memory), memory)


def fill(memory: Memory, draft: PackDraft, options: PackOptions, count: Callable[[str], int], budget: int) -> Pack:
    """Return the pack that is made of a draft, within a budget of tokens.

    The budget is that of --budget or, without this option, `budget`. `count` is a function that returns the tokens of a
    text. The pack has a warning if its records come from a clone that is not trusted.
    """
    draft = draft if memory.is_trusted else draft.foreign
    return budget_fill.fill(draft, options.form, options.budget or budget, count)


def refuse_undeliverable(options: PackOptions) -> None:
    """Raise MemctlError if the options want a file that can't be written, or a clipboard that can't be used.

    A command calls this before it does anything that can't be undone.
    """
    if options.out is not None:
        output_file.refuse(options.out)
    if options.copy:
        from memctl.providers import clipboard  # it takes 5 ms to import

        clipboard.programs()


def deliver(
    memory: Memory,
    snapshot: Snapshot,
    pack: Pack,
    options: PackOptions,
    kind: str,
    *,
    as_json: bool,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Deliver a pack as the options say: write it to a file, copy it to the clipboard, or else print it.

    If `as_json`, a JSON envelope is printed in any case: `kind` is the envelope's kind, and `more` is added to its
    data. The records in the pack are counted as retrieved, unless the snapshot is that of an earlier revision.
    """
    if pack.left_out and not pack.included():
        noun = "record" if all(left.kind for left in pack.left_out) else "item"
        output.note(f"a budget of {pack.budget:,} tokens has no room for any of {quantity(len(pack.left_out), noun)}")
    family = family_of(options.model or memory.config.model).name
    if options.copy:
        from memctl.providers import clipboard

        clipboard.copy(pack.text)
    if options.out is not None:
        output_file.write(options.out, pack.text)
    if as_json:
        data = {**msgspec.structs.asdict(pack), "model": family, **more}
        output.answer(kind, data, snapshot.faults, memory)
    elif options.out is None and not options.copy:
        output.text(pack.text, newline=False, is_pack=True)
    else:
        places = [output.name(str(options.out))] if options.out else []
        places += ["the clipboard"] if options.copy else []
        output.note(f"{pack.tokens:,} tokens of {family} in {' and '.join(places)}")
    if snapshot.source == "disk":
        shown = (record for name in set(pack.included()) for record in snapshot.catalogue.with_id(name))
        retrieval_counts.count(memory.repository.shared, [record.memory_id for record in shown], memory.now)
