"""What was undone outside memctl: writing it again, on top of what its files hold by now, or forgetting it."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff

import msgspec

from memctl.errors import MemctlError
from memctl.record.change import Change, Write, WriteOptions
from memctl.store import entry_state, journal, lock
from memctl.store.journal import PendingEntry
from memctl.store.memory import Memory
from memctl.write import merge, recovery, transaction
from memctl.write.commit import Outcome

_SHOWN = 200  # lines of a difference that a message shows


def reinstate(memory: Memory, wanted: Sequence[str], *, dry_run: bool = False) -> list[Outcome]:
    """Write what was undone and commit it, each change with its own message; of the ids `wanted`, or all of it.

    Where a file has another text by now, both are merged. Raises MemctlError with both texts if one of the changes
    can't be merged; then none is written.
    """
    entries = _chosen(memory, wanted, dry_run=dry_run)
    texts: dict[str, str | None] = {}
    changes = [_on_top(memory, entry, texts) for entry in entries]
    if dry_run:
        return [Outcome(change) for change in changes]
    outcomes = []
    for entry in entries:
        # What was let pass when it was written first is not asked about again.
        options = WriteOptions(allow_secret=True, discard=True)
        outcomes.append(transaction.carry_out(memory, lambda _, entry=entry: _on_top(memory, entry, {}), options))  # type: ignore[misc]
        journal.drop(entry)
    return outcomes


def forget(memory: Memory, wanted: Sequence[str], *, dry_run: bool = False) -> list[Change]:
    """Forget what was undone, of the ids `wanted`, or all of it; returns the changes that are forgotten."""
    entries = _chosen(memory, wanted, dry_run=dry_run)
    for entry in () if dry_run else entries:
        journal.drop(entry)
    return [entry.change for entry in entries]


def _chosen(memory: Memory, wanted: Sequence[str], *, dry_run: bool) -> list[PendingEntry]:
    """The undone changes of some ids, or all; raises MemctlError for an id that none is of."""
    with lock.hold(memory.repository.shared / "lock"):
        if not dry_run:
            recovery.recover(memory, remark=False)
        undone = [entry for entry in entry_state.outstanding(memory) if entry.undone]
    for one in wanted:
        if not any(_is_of(entry, one) for entry in undone):
            raise MemctlError(f"no change of {one} was undone outside memctl", "`memctl status` lists those that were")
    return [entry for entry in undone if not wanted or any(_is_of(entry, one) for one in wanted)]


def _is_of(entry: PendingEntry, wanted: str) -> bool:
    names = entry.change.ids or (entry.change.title,)
    return any(name.upper().startswith(wanted.upper()) for name in names)


def _on_top(memory: Memory, entry: PendingEntry, texts: dict[str, str | None]) -> Change:
    """A change as it is on top of `texts` by path (and of the disk for other paths), which are then those after it.

    Raises MemctlError with both texts of each file that can't have both.
    """
    clashes: list[str] = []
    writes, deletes = [], []
    for write in entry.change.writes:
        now = texts[write.path] if write.path in texts else journal.text_at(memory.folder, write.path)
        text = _merged(write, now)
        if text is None:
            clashes += _difference(memory.tracked(write.path), ("now", now), ("undone", write.text))
        else:
            writes.append(Write(write.path, text, now))
            texts[write.path] = text
    for delete in entry.change.deletes:
        now = texts[delete.path] if delete.path in texts else journal.text_at(memory.folder, delete.path)
        if now not in (None, delete.old):
            clashes += _difference(memory.tracked(delete.path), ("deleted", delete.old), ("now", now))
        elif now is not None:
            deletes.append(delete)
            texts[delete.path] = None
    if clashes:
        first = entry.change.ids[0] if entry.change.ids else entry.change.title
        what = f"{entry_state.describe(entry)} can't be written again, its files have other texts by now:"
        raise MemctlError(
            "\n".join([what, *clashes]),
            f"make of it what you want (`memctl edit`, `memctl delete`), then `memctl commit --drop {first}`",
        )
    return msgspec.structs.replace(entry.change, writes=tuple(writes), deletes=tuple(deletes))


def _merged(write: Write, now: str | None) -> str | None:
    """The text that a file has with the change too; None if that can't be told."""
    if now in (write.old, write.text):
        return write.text
    if now is None or write.old is None:
        return None
    merged = merge.merge(write.old, now, write.text)
    return None if merged.conflicts else merged.text


def _difference(name: str, one: tuple[str, str | None], other: tuple[str, str | None]) -> list[str]:
    """How two texts of a file differ, each given with what it is."""
    (before, old), (after, new) = one, other
    lines = (old or "").splitlines(), (new or "").splitlines()
    found = list(unified_diff(*lines, f"{name} ({before})", f"{name} ({after})", lineterm=""))
    more = [f"… and {len(found) - _SHOWN:,} more lines"] if len(found) > _SHOWN else []
    return [*found[:_SHOWN], *more]
