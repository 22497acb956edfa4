"""Decisions as files of a folder of architecture decision records: which file is whose, and what stands in it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.exchange import adr_forms, adr_status, adr_text
from memctl.exchange.adr_forms import Form
from memctl.exchange.adr_status import Other
from memctl.exchange.adr_text import AdrOrigin
from memctl.record import frontmatter, ids
from memctl.record.change import Write
from memctl.record.kinds import DECISION
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store import files

_DEFAULT: Form = "madr"  # of decisions that came from no file
_WIDTH = 4  # digits of a number, as adr-tools and MADR write them


class Exported(msgspec.Struct, frozen=True):
    """A decision as a file: whether the folder has none of that name, another one, or the very same."""

    id: str
    file: str
    text: str
    state: Literal["new", "changed", "same"]


class Decisions:
    """The decisions of a memory with the file of each: the one it came from, or the one it would be written to.

    `present` are the names in the folder of files; a decision that is there under its number keeps it.
    """

    def __init__(self, snapshot: Snapshot, present: Iterable[str]) -> None:
        self._snapshot = snapshot
        records = sorted((r for r in snapshot.records if r.memory_type == DECISION.name), key=lambda r: r.id)
        self._by_id = {name: record for record in records for name in (record.id, *record.aliases)}
        self.origins: dict[str, AdrOrigin] = {}  # by the record's path
        for record in records:
            text = snapshot.read(record.path)
            if f"\n{adr_text.KEY}:" in text and (origin := adr_text.kept_in(frontmatter.read(text)[0])):
                self.origins[record.path] = origin
        self._files = _name(records, self.origins, present)
        self.by_file = {self._files[record.path]: record for record in reversed(records)}

    def file(self, record: Record) -> str:
        """The name of a decision's file."""
        return self._files[record.path]

    def text(self, record: Record, form: Form | None = None) -> str:
        """The text of a decision's file, in the form it came in or another one."""
        body = self._snapshot.body(record)
        by, of = self._others(record.superseded_by), self._others(record.supersedes)
        origin = self.origins.get(record.path)
        if origin is not None and form in (None, origin.form):
            return adr_text.put_together(adr_status.refreshed(origin, body, record, by, of), body)
        form = form or _DEFAULT
        head = adr_status.fresh(self.file(record), form, record, by, of, origin)
        return (head + adr_forms.arranged(body, form)).rstrip("\n") + "\n"

    def _others(self, identifiers: Iterable[str]) -> list[Other]:
        found = [self._by_id[identifier] for identifier in identifiers if identifier in self._by_id]
        return [Other(self.file(record), record.title) for record in found]


def export_folder(
    snapshot: Snapshot, records: Iterable[Record], folder: Path, form: Form | None = None
) -> list[Exported]:
    """The decisions among the records as files of a folder, which need not be there yet.

    Raises MemctlError if two of them are the same file, or if one would be written through a symbolic link.
    """
    if folder.exists() and not folder.is_dir():
        raise MemctlError(f"{folder} is not a folder", exit_code=USAGE)
    decisions = Decisions(snapshot, os.listdir(folder) if folder.exists() else ())
    written: dict[str, Record] = {}
    for record in records:
        if record.memory_type != DECISION.name:
            continue
        file = decisions.file(record)
        other = written.setdefault(file, record)
        if other is not record:
            hint = "select one of them with a filter, or delete one"
            raise MemctlError(f"{other.id} and {record.id} are both {file}", hint)
    return [_compared(folder, file, written[file], decisions.text(written[file], form)) for file in sorted(written)]


def write_folder(folder: Path, exported: Sequence[Exported]) -> None:
    """Write the files that are new or changed; the caller has asked whether they may be."""
    writes = [Write(item.file, item.text) for item in exported if item.state != "same"]
    folder = Path(os.path.realpath(folder))  # the user may name a link, but no file in it may be one
    try:
        files.replace_all(folder, files.prepare(folder, writes), ())
    except MemctlError as error:  # no write of the memory's, which the next one would finish
        raise MemctlError(error.message, "mend that, and export again") from None


def _compared(folder: Path, file: str, record: Record, text: str) -> Exported:
    try:
        there = files.locate(Path(os.path.realpath(folder)), file).read_bytes()
    except FileNotFoundError:
        return Exported(record.id, file, text, "new")
    return Exported(record.id, file, text, "same" if there == text.encode() else "changed")


def _name(records: Iterable[Record], origins: Mapping[str, AdrOrigin], present: Iterable[str]) -> dict[str, str]:
    """The file of each decision, by the record's path; those that came from none are numbered behind the others."""
    named = {path: origin.file for path, origin in origins.items()}
    free = sorted(name for name in set(present) - set(named.values()) if adr_text.number_of(name))
    numbers = {name: adr_text.number_of(name) or "" for name in (*named.values(), *free)}
    newest = max(numbers, key=lambda name: (int(numbers[name]), name), default="")
    prefix, width = adr_text.prefix_of(newest), len(numbers.get(newest, "")) or _WIDTH
    following = int(numbers.get(newest, "0")) + 1
    for record in records:
        if record.path in named:
            continue
        slug = _slug(record)
        file = next((name for name in free if re.fullmatch(rf"\D*\d+-{re.escape(slug)}\.md", name)), "")
        if file:
            free.remove(file)
        else:
            file = f"{prefix}{following:0{width}d}-{slug}.md"
            following += 1
        named[record.path] = file
    return named


def _slug(record: Record) -> str:
    """What a record's file is called behind its id; it stays the same when the title changes."""
    name = record.path.rpartition("/")[2].removesuffix(".md")
    return name.removeprefix(ids.id_in_path(record.path) or "").strip("-") or record.id.lower()
