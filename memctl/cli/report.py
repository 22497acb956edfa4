"""Reporting a write: what was done, what would be, and why a commit is pending."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from memctl.cli import output
from memctl.store.memory import Memory
from memctl.write.commit import Outcome


def outcome(memory: Memory, result: Outcome, *, as_json: bool, dry_run: bool, lines: Iterable[str] = ()) -> None:
    """Report a write: the given lines (or what happened) on stdout, a pending commit on stderr."""
    change = result.change
    if as_json:
        output.json("change", change_data(memory, result, dry_run))
        return
    if dry_run:
        _print_change(memory, result)
        return
    shown = list(lines)
    if change.is_empty:
        output.note("nothing to change")
    elif not shown:
        shown = [f"{change.op} {change.title}"]
    for line in shown:
        output.one_line(line)
    pending(result)


def pending(result: Outcome) -> None:
    if result.warning:
        output.note(f"warning: {result.warning}")
    if result.pending:
        output.note(f"commit pending: {result.pending}")
        output.note(f"hint: {result.hint}")


def change_data(memory: Memory, result: Outcome, dry_run: bool) -> dict[str, Any]:
    change = result.change
    data: dict[str, Any] = {
        "op": change.op,
        "ids": list(change.ids),
        "paths": [output.name(memory.tracked(path)) for path in result.paths],
        "documents": [memory.tracked(path) for path in result.documents],
        "changed": not change.is_empty,
        "commit": result.commit or None,
        "pending": result.pending or None,
        "warning": result.warning or None,
    }
    if dry_run:
        data["writes"] = {memory.tracked(write.path): write.text for write in change.writes}
        data["deletes"] = [memory.tracked(delete.path) for delete in change.deletes]
    return data


def _print_change(memory: Memory, result: Outcome) -> None:
    """A dry run: the commit's subject and a diff of every file."""
    change = result.change
    output.one_line(f"would {change.op} {change.title}" if not change.is_empty else "nothing would change")
    for write in change.writes:
        name = memory.tracked(write.path)
        before = f"a/{name}" if write.old is not None else "/dev/null"
        old, new = (write.old or "").removesuffix("\n"), write.text.removesuffix("\n")
        output.difference(old.split("\n") if old else [], new.split("\n"), before, f"b/{name}")
    for delete in change.deletes:
        output.text(f"would delete {memory.tracked(delete.path)}")
