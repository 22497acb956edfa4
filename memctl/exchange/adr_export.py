"""Export decisions as files of architecture decision records (ADRs), in the forms of adr-tools and MADR."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.exchange import adr_status, adr_text
from memctl.exchange.adr_status import LinkedDecision
from memctl.exchange.adr_text import AdrOrigin, Form
from memctl.exchange.relative_links import restore
from memctl.record import frontmatter
from memctl.record import ids as record_ids
from memctl.record.change import Write
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import DECISION
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store import files, output_file
from memctl.store.memory import Memory
from memctl.text import headings

_DEFAULT: Form = "madr"  # if no decision was imported
_EXPORTS = "adr-exports.json"  # in memctl's folder in the Git directory
_WIDTH = 4  # digits of a number in a file name, as in adr-tools and MADR


class ExportedFile(msgspec.Struct, frozen=True):
    """A decision as an ADR file: the id of the decision, and the name, text and state of the file.

    `state` compares the exported text with the file of this name in the folder:

    - `new`: the folder has no such file.
    - `same`: the file has the exported text.
    - `changed`: the file has another text, but nobody has edited it since the last import or export, so it may be
      overwritten.
    - `edited`: the file has another text, and somebody has edited it since then, so overwriting it would lose text.
    """

    id: str
    file: str
    text: str
    state: Literal["new", "changed", "edited", "same"]


class Decisions:
    """The decisions of a snapshot, each with the name of the ADR file that it has in a folder.

    A decision that was imported from a file has the name of this file. Otherwise, if a file in the folder has the
    decision's title, as after an earlier export, it has the name of that file. Any other decision gets a new name with
    the next number. `present` are the names of the files in the folder.

    `elsewhere` are the paths of the records that an export to this folder leaves out, since they were imported from
    other folders that still exist. To a folder from which no record was imported, such as a new one, all decisions can
    be exported; `elsewhere` is empty then.
    """

    def __init__(self, memory: Memory, snapshot: Snapshot, folder: Path, present: Iterable[str]) -> None:
        self._snapshot, self._folder = snapshot, Path(os.path.realpath(folder))
        records = sorted((r for r in snapshot.records if r.memory_type == DECISION.name), key=lambda r: r.id)
        self._by_id = {name: record for record in records for name in (record.id, *record.aliases)}
        self.origins: dict[str, AdrOrigin] = {}  # by the record's path
        for record in records:
            text = snapshot.read(record.path)
            if f"\n{adr_text.KEY}:" in text and (origin := adr_text.read_origin(frontmatter.read(text)[0])):
                self.origins[record.path] = origin
        here, top = tracked_folder(memory, folder), memory.repository.top
        # The decisions of a folder that is gone belong anywhere: it was renamed.
        other = {p for p, o in self.origins.items() if o.folder not in ("", here) and (top / o.folder).is_dir()}
        self.elsewhere = other if any(origin.folder == here for origin in self.origins.values()) else set()
        of_here = {path: origin for path, origin in self.origins.items() if path not in other}
        rest = [record for record in records if record.path not in other]
        self._files = {path: self.origins[path].file for path in other} | _name_files(rest, of_here, present)
        self.by_file = {self._files[record.path]: record for record in reversed(rest)}
        ours = {self._files[record.path] for record in rest if record.path not in self.origins}
        self._others_files = [n for n in present if adr_text.number_of(n) and n not in ours]
        # Files that became decisions in another folder with the very same text, by name and digest.
        self.copies = {(self.origins[r.path].file, self.origins[r.path].digest): r for r in records if r.path in other}

    def file(self, record: Record) -> str:
        """Return the name of a decision's ADR file, such as `0012-use-postgres.md`."""
        return self._files[record.path]

    def text(self, record: Record, form: Form | None = None) -> str:
        """Return the text of a decision's ADR file in a form, "nygard" (of adr-tools) or "madr".

        If `form` is None, it is the form of the file from which the decision was imported. For a decision that was not
        imported, it is the form of most other files in the folder; without such files, that of most imported decisions.
        """
        origin = self.origins.get(record.path)
        body = restore(self._snapshot.body(record), origin.links if origin else {})
        successors, predecessors = self._others(record.superseded_by), self._others(record.supersedes)
        if origin is not None and form in (None, origin.form):
            return adr_text.file_text(adr_status.updated_origin(origin, body, record, successors, predecessors), body)
        form = form or self._usual
        head = adr_status.new_head(self.file(record), form, record, successors, predecessors, origin)
        own = adr_text.with_outcome(body, record.title) if origin is None and form == "madr" else body
        return (head + adr_text.arrange(own, form)).rstrip("\n") + "\n"

    @cached_property
    def _usual(self) -> Form:
        in_folder = Counter(form for name in self._others_files if (form := _form_of(self._folder, name)))
        forms = in_folder or Counter(origin.form for origin in self.origins.values())
        return forms.most_common(1)[0][0] if forms else _DEFAULT

    def _others(self, identifiers: Iterable[str]) -> list[LinkedDecision]:
        found = [self._by_id[identifier] for identifier in identifiers if identifier in self._by_id]
        return [LinkedDecision(self.file(record), record.title) for record in found]


def export_folder(
    memory: Memory, snapshot: Snapshot, records: Iterable[Record], folder: Path, form: Form | None = None
) -> list[ExportedFile]:
    """Return the ADR files of the decisions among some records, without writing them. The folder need not exist.

    Decisions that were imported from another folder are left out. `form` is the form of all files, "nygard" (of
    adr-tools) or "madr". If it is None, each file has the form in which its decision was imported, or else the usual
    form of the folder (see `Decisions.text`). Raises MemctlError if two decisions would have the same file, or if a
    file would be written through a symbolic link.
    """
    if folder.exists() and not folder.is_dir():
        raise MemctlError(f"{folder} is not a folder", exit_code=USAGE)
    decisions = Decisions(memory, snapshot, folder, os.listdir(folder) if folder.exists() else ())
    written: dict[str, Record] = {}
    for record in records:
        if record.memory_type != DECISION.name or record.path in decisions.elsewhere:
            continue
        file = decisions.file(record)
        other = written.setdefault(file, record)
        if other is not record:
            hint = "export only one of them: select it with an option such as --tag"
            raise MemctlError(f"the decisions {other.id} and {record.id} would both be written to {file}", hint)
    last = _last_exports(memory)
    found = []
    for file, record in sorted(written.items()):
        origin = decisions.origins.get(record.path)
        ours = {origin.digest if origin else "", last.get(f"{os.path.realpath(folder)}/{file}", "")}
        found.append(_compare(folder, file, record, decisions.text(record, form), ours))
    return found


def _last_exports(memory: Memory) -> dict[str, str]:
    try:
        return msgspec.json.decode((memory.private / _EXPORTS).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return {}


def write_folder(memory: Memory, folder: Path, exported: Sequence[ExportedFile]) -> None:
    """Write exported files to a folder.

    Files that people have edited in the folder are overwritten, so the caller has to ask the user before. Hashes of all
    exported files are stored in the Git directory, so that a later export knows which files nobody has edited. Raises
    MemctlError if a link that the repository brought leads to the folder.
    """
    writes = [Write(item.file, item.text) for item in exported if item.state != "same"]
    output_file.refuse_place(folder)
    folder = Path(os.path.realpath(folder))
    try:
        files.replace_all(folder, files.prepare(folder, writes), ())
    except MemctlError as error:  # the usual hint says that the next write finishes it, which is true of a memory alone
        raise MemctlError(error.message, "fix the cause, then export again") from None
    now = {f"{folder}/{item.file}": adr_text.digest_of(item.text) for item in exported}
    files.replace_private(memory.private / _EXPORTS, msgspec.json.encode(_last_exports(memory) | now).decode())


def _compare(folder: Path, file: str, record: Record, text: str, ours: Container[str]) -> ExportedFile:
    try:
        there = files.locate(Path(os.path.realpath(folder)), file).read_bytes()
    except FileNotFoundError:
        return ExportedFile(record.id, file, text, "new")
    if there == text.encode():
        return ExportedFile(record.id, file, text, "same")
    is_ours = adr_text.digest_of(there.decode(errors="replace")) in ours
    return ExportedFile(record.id, file, text, "changed" if is_ours else "edited")


def _name_files(records: Iterable[Record], origins: Mapping[str, AdrOrigin], present: Iterable[str]) -> dict[str, str]:
    """Return the file name of each decision, by the record's path.

    A decision that was not imported takes a file of `present` with its title, or else gets the number after the
    highest.
    """
    named = {path: origin.file for path, origin in origins.items()}
    free = sorted(name for name in set(present) - set(named.values()) if adr_text.number_of(name))
    numbers = {name: number for name in (*named.values(), *free) if (number := adr_text.number_of(name))}
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


def _form_of(folder: Path, file: str) -> Form | None:
    try:
        text = adr_text.without_front_matter(files.read(folder, file))
    except (OSError, MemctlError, InvalidRecord):
        return None
    return adr_text.detect(headings.split(text)) if adr_text.has_sections(text) else None


def _slug(record: Record) -> str:
    """A record's file name does not change when its title does."""
    name = record.path.rpartition("/")[2].removesuffix(".md")
    return name.removeprefix(record_ids.id_in_path(record.path) or "").strip("-") or record.id.lower()


def tracked_folder(memory: Memory, folder: Path) -> str:
    """Return a folder's path relative to the top of the repository, such as `docs/adr`; "" if it is outside of it."""
    try:
        return Path(os.path.realpath(folder)).relative_to(memory.repository.top).as_posix()
    except ValueError:
        return ""
