"""Output of commands: text for people, JSON for programs, warnings on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest
from typing import Any

import click
import msgspec

from memctl.cli import terminal
from memctl.errors import OK, REFUSED
from memctl.record.errors import Fault
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory

SCHEMA = 1
_COLOURS = {"critical": "red", "high": "yellow", "blocked": "red", "proposed": "cyan", "in-progress": "cyan"}
_OVER = ("resolved", "done", "superseded", "rejected", "wontfix", "archived")


def text(line: str = "", *, newline: bool = True) -> None:
    """Print text; on a terminal, without control characters from records."""
    styled(plain(line), newline=newline)


def styled(line: str, *, newline: bool = True) -> None:
    """Print text with colours as it is; the caller has made each part of the text harmless by `plain` before."""
    if terminal.keep(line + "\n" * newline):
        return
    with terminal.answering():
        click.echo(line, nl=newline)


def plain(value: str) -> str:
    """Return a text without characters that control a terminal; unchanged if the output goes elsewhere."""
    return terminal.harmless(value, sys.stdout)


def one_line(value: str) -> None:
    """Print one line; a newline in it is written as `\\n`, so that a name can't start a line of its own."""
    text(terminal.one_line(value))


def painted(value: str, colour: str) -> None:
    """Print one line in a colour."""
    styled(click.style(plain(terminal.one_line(value)), fg=colour))


def json(kind: str, data: Any, faults: Sequence[Fault] = (), memory: Memory | None = None) -> None:
    """Print the JSON object that every `--json` prints, with the keys `schema`, `kind` and `data`.

    A key `faults` is added if files can't be read: `faults` are these files. `memory` is the memory to which they
    belong; if it is given, their paths are relative to the worktree's top.
    """
    envelope: dict[str, Any] = {"schema": SCHEMA, "kind": kind, "data": data}
    if faults:
        envelope["faults"] = [fault_data(fault, memory) for fault in faults]
    json_text(msgspec.json.format(msgspec.json.encode(envelope), indent=2).decode())


def json_list(
    kind: str, items: Iterable[Any], faults: Sequence[Fault] = (), memory: Memory | None = None, *, name: str = ""
) -> None:
    """Print a list as JSON: the number of items, and the items under `name` (by default, under the kind)."""
    shown = list(items)
    json(kind, {"total": len(shown), name or kind: shown}, faults, memory)


def json_text(written: str) -> None:
    """Print a text that is JSON already."""
    styled(terminal.json(written, getattr(sys.stdout, "encoding", "") or "ascii"))


def note(*lines: str) -> None:
    """Print lines on stderr, without characters that control a terminal."""
    for line in lines:
        terminal.complain(line)


def warnings(lines: Iterable[object]) -> None:
    """Print warnings on stderr."""
    note(*(f"warning: {line}" for line in lines))


def rest(total: int, shown: int, nothing: str, more: str = "more: --limit 0 lists all") -> None:
    """Print on stderr that a list is empty, or how many of its `total` items are not shown.

    `shown` is the number of items that are shown, and `nothing` the line for an empty list. `more` follows the number
    of the items that are not shown.
    """
    if not total:
        note(nothing)
    elif total > shown:
        note(f"{total - shown:,} {more}")


def name(path: str) -> str:
    r"""Return a path for printing; bytes that are not UTF-8 become `\xe9`."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def record_data(memory: Memory, record: Record) -> dict[str, Any]:
    """Return a record for JSON: each field under its name, and the path below the worktree's top."""
    return {**msgspec.structs.asdict(record), "path": memory.tracked(record.path)}


def fault_data(fault: Fault, memory: Memory | None) -> dict[str, Any]:
    path = memory.tracked(fault.path) if memory else fault.path
    return {"path": path, "line": fault.line, "field": fault.field, "message": fault.message}


def finish(memory: Memory, snapshot: Snapshot) -> int:
    """Print which files of a snapshot can't be read, and return the exit code: OK if there are none, else REFUSED."""
    warn(memory, snapshot)
    return REFUSED if snapshot.faults else OK


def faults(memory: Memory, found: Iterable[Fault]) -> None:
    """Print on stderr which files of the memory can't be read, and why."""
    warnings(f"{memory.prefix}/{fault}" for fault in found)


def warn(memory: Memory, snapshot: Snapshot) -> None:
    """Print on stderr which records and pages of a snapshot can't be read and are left out."""
    faults(memory, snapshot.faults)
    if snapshot.faults:
        number = len({fault.path for fault in snapshot.faults})
        note(f"hint: {number} file{'s are' if number > 1 else ' is'} left out until fixed")


def namesakes(snapshot: Snapshot, references: Iterable[str]) -> None:
    """Print a note on stderr for each record that formerly had an id which another record has now.

    `references` are the ids that the user gave; only these are looked at. `memctl renumber` changes ids.
    """
    for identifier in dict.fromkeys(reference.strip().upper() for reference in references):
        if (others := snapshot.catalogue.with_alias(identifier)) and snapshot.catalogue.find(identifier):
            for other in others:
                note(f"note: {other.id} ({other.title}) once had the id {identifier} too")


# The style of a cell: arguments of `click.style`, or a function of the cell's text that returns them or coloured text.
Style = dict[str, Any] | Callable[[str], dict[str, Any] | str]


def columns(rows: Sequence[Sequence[str]], styles: Sequence[Style] = (), below: Sequence[str] = ()) -> None:
    """Print rows in aligned columns; the last column is not padded.

    `styles` has for each column click's style, or a function that returns the style of a cell. `below` has a line to
    print under each row, or "".
    """
    styles = styles if sys.stdout.isatty() else ()  # click would take the colours out
    widths = [max((_width(row[i]) for row in rows), default=0) for i in range(len(rows[0]) - 1)] if rows else []
    lines = []
    for number, row in enumerate(rows):
        cells = [plain(" ".join(cell.split("\n"))) for cell in row]  # a row takes one line
        padded = [cell + " " * (widths[i] - _width(cell)) if i < len(widths) else cell for i, cell in enumerate(cells)]
        coloured = [_painted(cell, style) if style else cell for cell, style in zip_longest(padded, styles[: len(row)])]
        lines.append("  ".join(coloured).rstrip())
        lines += [line] if (line := "".join(below[number : number + 1])) else []
    if lines:
        styled("\n".join(lines))


def _painted(cell: str, style: Style) -> str:
    found = style(cell) if callable(style) else style
    return found if isinstance(found, str) else click.style(cell, **found)


def _width(cell: str) -> int:
    if cell.isascii():
        return len(cell)
    import unicodedata  # most cells are ASCII

    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell)


def record_row(record: Record) -> tuple[str, ...]:
    """Return the cells of a record in a list: id, status with severity or percentage, importance, title with tags."""
    state: str = record.severity or ""
    if record.completion_percentage is not None:
        state = f"{record.completion_percentage} %"
    status = f"{record.status}{f' ({state})' if state else ''}{' archived' if record.is_archived else ''}"
    tags = f"  [{', '.join(record.tags)}]" if record.tags else ""
    return record.id, status, f"{record.importance:>2}", record.title + tags


def status_style(cell: str) -> dict[str, Any]:
    """Return click's style of a status in a list: coloured if it needs attention, faint if it is closed."""
    if any(word in cell for word in _OVER):
        return {"dim": True}
    colour = next((colour for word, colour in _COLOURS.items() if word in cell), None)
    return {"fg": colour, "bold": colour == "red"}


# The styles of the cells of `record_row`.
RECORD_STYLES: tuple[Style, ...] = ({"fg": "yellow"}, status_style, {"bold": True}, {})
