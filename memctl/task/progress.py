"""What is planned, what is in progress, what is done: three lists that no item stands in two of.

A plan that was interrupted must not read like finished work to the next window (rules.md#checkpoints). An item that is
given for one list leaves the others.
"""

from __future__ import annotations

from collections.abc import Mapping

from memctl.errors import USAGE, MemctlError
from memctl.record.checkpoint import PROGRESS, Checkpoint, key, mixed
from memctl.record.required_text import MOST_LINES

Progress = dict[str, tuple[str, ...]]


def moved(before: Checkpoint | None, given: Mapping[str, tuple[str, ...]], dropped: tuple[str, ...]) -> Progress:
    """The lists after some items were given for them and others dropped; the rest is as it was `before`.

    Of what is done the latest items are kept; earlier checkpoints have the others. Raises MemctlError if an item is
    given for two lists, or if one is dropped that stands in none.
    """
    if twice := mixed(given):
        raise MemctlError(f"{twice[0]!r} is given for two of {', '.join(PROGRESS)}", exit_code=USAGE)
    lists = {name: getattr(before, name) if before else () for name in PROGRESS}
    known = {key(item) for items in lists.values() for item in items}
    for item in dropped:
        if key(item) not in known:
            raise MemctlError(f"{item!r} is neither planned nor in progress nor done", exit_code=USAGE)
    leaving = {key(item) for name in PROGRESS for item in given.get(name, ())} | {key(item) for item in dropped}
    made = {}
    for name in PROGRESS:
        kept = [item for item in lists[name] if key(item) not in leaving]
        made[name] = (*kept, *{key(item): item for item in given.get(name, ())}.values())
    made["done"] = made["done"][-MOST_LINES:]
    return made
