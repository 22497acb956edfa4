"""Print what commands return: text for people, JSON for programs, and warnings on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
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


def text(line: str = "", *, newline: bool = True, is_pack: bool = False) -> None:
    """Print a text on standard output, as `plain` makes it harmless.

    `is_pack` says that the text was made for a model, and has marks of its own.
    """
    styled(terminal.harmless(line, sys.stdout, is_pack=is_pack), newline=newline)


def styled(line: str, *, newline: bool = True) -> None:
    """Print a text as it is, with its colours.

    The caller passes all parts that come from records through `plain`, so that they can't control the terminal.
    """
    if terminal.keep(line + "\n" * newline):
        return
    with terminal.answering():
        click.echo(line, nl=newline)


def plain(value: str) -> str:
    """Return a text that controls neither a terminal nor an agent's model; unchanged for other readers."""
    return terminal.harmless(value, sys.stdout)


def one_line(value: str) -> None:
    r"""Print a text as one line: line ends in it are written as `\n`, so that a name can't begin a line of its own."""
    text(terminal.one_line(value))


def painted(value: str, colour: str) -> None:
    """Print a text as one line in a colour, such as "red"."""
    styled(click.style(plain(terminal.one_line(value)), fg=colour))


def json(kind: str, data: Any, faults: Sequence[Fault] = (), memory: Memory | None = None) -> None:
    """Print the JSON object (envelope) that every `--json` prints, with the keys `schema`, `kind` and `data`.

    `faults` are the files that can't be read; if there are any, the object has a key `faults`. Their paths are relative
    to the worktree's top if `memory` is given, and otherwise to `.memory/`.
    """
    envelope: dict[str, Any] = {"schema": SCHEMA, "kind": kind, "data": data}
    if faults:
        envelope["faults"] = [fault_data(fault, memory) for fault in faults]
    json_text(msgspec.json.format(msgspec.json.encode(envelope), indent=2).decode())


def answer(
    kind: str, value: Any, faults: Sequence[Fault] = (), memory: Memory | None = None, *, alternative: int = 0
) -> None:
    """Print what a room returned as the JSON object of `--json`, by the shape of its kind in `schemas`.

    `alternative` is the number of the shape, of a kind that has several. The rest is as for `json`.
    """
    schemas = import_module("memctl.cli.schemas")  # needed for JSON only
    json(kind, schemas.answer(kind, value, memory, alternative), faults, memory)


def json_list(
    kind: str, items: Iterable[Any], faults: Sequence[Fault] = (), memory: Memory | None = None, *, name: str = ""
) -> None:
    """Print a list in the JSON object of `--json`, with the number of items in `total`.

    The list's key is `name`, by default the `kind`. `faults` and `memory` are as for `json`.
    """
    shown = list(items)
    json(kind, {"total": len(shown), name or kind: shown}, faults, memory)


def json_text(written: str) -> None:
    """Print a text that is JSON already."""
    styled(terminal.json(written, getattr(sys.stdout, "encoding", "") or "ascii"))


def note(*lines: str) -> None:
    """Print lines on standard error; on a terminal, control characters in them are replaced."""
    for line in lines:
        terminal.complain(line)


def warnings(lines: Iterable[object]) -> None:
    """Print lines on standard error, each as a warning."""
    note(*(f"warning: {line}" for line in lines))


def rest(total: int, shown: int, nothing: str, more: str = "") -> None:
    """Print on standard error that a list is empty, or how many of its items are not shown.

    `total` is the number of all items, and `shown` that of the items shown. If the list is empty, `nothing` is printed.
    If items are not shown, their number is printed, followed by `more`; an example with the default of `more` is
    "12 more entries: --limit 0 lists all".
    """
    if not total:
        note(nothing)
    elif total > shown:
        more = more or f"more {'entry' if total - shown == 1 else 'entries'}: --limit 0 lists all"
        note(f"{total - shown:,} {more}")


def name(path: str) -> str:
    r"""Return a path for printing: a byte that is not UTF-8 is written as an escape such as `\xe9`."""
    return path.encode(errors="surrogateescape").decode(errors="backslashreplace")


def record_data(memory: Memory, record: Record) -> dict[str, Any]:
    """Return a record for JSON: its fields by name, with its path relative to the worktree's top."""
    return {**msgspec.structs.asdict(record.of_project(memory.config.project)), "path": memory.tracked(record.path)}


def fault_data(fault: Fault, memory: Memory | None) -> dict[str, Any]:
    path = memory.tracked(fault.path) if memory else fault.path
    return {"line": fault.line, "field": fault.field, "message": fault.message, "path": path}


def finish(memory: Memory, snapshot: Snapshot) -> int:
    """Print which files of a snapshot can't be read, and return the exit code: 0 if all can be read, otherwise 1."""
    warn(memory, snapshot)
    return REFUSED if snapshot.faults else OK


def faults(memory: Memory, unreadable: Iterable[Fault]) -> None:
    """Print on stderr which files of the memory can't be read, and why."""
    warnings(f"{memory.prefix}/{fault}" for fault in unreadable)


def encoded(memory: Memory, unreadable: Iterable[str]) -> bool:
    """Print a hint if Git's attributes give files that can't be read a filter, and return whether they do."""
    paths = {memory.tracked(path) for path in unreadable}
    filtered = memory.repository.filters.filtered(sorted(paths)) if paths else []
    if filtered:
        from memctl.store.memory import SET_UP_FILTER

        note(f"hint: .gitattributes gives {filtered[0]} a filter, which may not have decoded it here: {SET_UP_FILTER}")
    return bool(filtered)


def warn(memory: Memory, snapshot: Snapshot) -> None:
    """Print on standard error which records and pages of a snapshot can't be read, and that they are left out."""
    faults(memory, snapshot.faults)
    if encoded(memory, (fault.path for fault in snapshot.faults)):
        return
    if snapshot.faults:
        number = len({fault.path for fault in snapshot.faults})
        note(
            "hint: correct the file that this warning names; until then, memctl shows nothing of the file"
            if number == 1
            else f"hint: correct the {number} files that these warnings name; until then, memctl shows nothing of them"
        )


def namesakes(snapshot: Snapshot, references: Iterable[str]) -> None:
    """Print a note on standard error for each id that one record has now and another record had earlier.

    `references` are the ids that the user gave. The user may mean the other record, so the note names it. `memctl
    renumber` changes ids.
    """
    for identifier in dict.fromkeys(map(snapshot.canonical, references)):
        if (others := snapshot.catalogue.with_alias(identifier)) and snapshot.catalogue.find(identifier):
            for other in others:
                note(f"note: another record, {other.id} ({other.title}), formerly had the id {identifier}")


# The style of a cell: arguments of `click.style`, or a function of the cell's text that returns them or coloured text.
Style = dict[str, Any] | Callable[[str], dict[str, Any] | str]


def columns(rows: Sequence[Sequence[str]], styles: Sequence[Style] = (), below: Sequence[str] = ()) -> None:
    """Print rows in aligned columns.

    `styles` has for each column a style of click's, such as {"fg": "red"}, or a function from a cell's text to a style
    or to coloured text. `below` has a line to print under each row, "" for none.
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
    drawn = style(cell) if callable(style) else style
    return drawn if isinstance(drawn, str) else click.style(cell, **drawn)


def _width(cell: str) -> int:
    if cell.isascii():
        return len(cell)
    import unicodedata  # most cells are ASCII

    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in cell)


def record_row(record: Record) -> tuple[str, ...]:
    """Return the cells for a record in a list: id, status, importance, and title with tags.

    The status has the severity or the percentage in parentheses, such as "open (critical)".
    """
    state: str = record.severity or ""
    if record.completion_percentage is not None:
        state = f"{record.completion_percentage} %"
    status = f"{record.status}{f' ({state})' if state else ''}{' archived' if record.is_archived else ''}"
    tags = f"  [{', '.join(record.tags)}]" if record.tags else ""
    return record.id, status, f"{record.importance:>2}", record.title + tags


def status_style(cell: str) -> dict[str, Any]:
    """Return click's style for the status of a record in a list; `cell` is the status as `record_row` writes it.

    It is faint if the record is closed, and coloured if the status is `proposed`, `in-progress` or `blocked` or has the
    severity critical or high.
    """
    if any(word in cell for word in _OVER):
        return {"dim": True}
    colour = next((colour for word, colour in _COLOURS.items() if word in cell), None)
    return {"fg": colour, "bold": colour == "red"}


# The styles of the cells of `record_row`.
RECORD_STYLES: tuple[Style, ...] = ({"fg": "yellow"}, status_style, {"bold": True}, {})
