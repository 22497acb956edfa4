"""Folders of architecture decision records, such as adr-tools and MADR keep them, into the memory and out of it.

A file becomes a decision, and the decision keeps what is needed to write the same file again. Where files say that one
supersedes another, the decisions are linked at both ends.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.exchange import adr_status, adr_text, batch
from memctl.exchange.adr_status import SUPERSEDED, Other, Statement
from memctl.exchange.adr_text import FORMS, KEY, AdrOrigin, Form, Head
from memctl.exchange.relative_links import LinkRebase, restore
from memctl.git import history
from memctl.git.history import Commit
from memctl.record import frontmatter
from memctl.record import ids as record_ids
from memctl.record.change import Change, Write
from memctl.record.errors import FrontMatterError, InvalidRecord
from memctl.record.kinds import DECISION
from memctl.record.parser import problems
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store import files
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as IdSequence
from memctl.text import timestamps
from memctl.text.credentials import describe, find, lines
from memctl.text.phrases import quantity
from memctl.write.create import Draft, complete_values, record_and_file
from memctl.write.edit import rewrite

_DEFAULT: Form = "madr"  # of decisions that came from no file
_EXPORTS = "adr-exports.json"  # a file of memctl's own in the Git directory
_WIDTH = 4  # digits of a number, as adr-tools and MADR write them


class Exported(msgspec.Struct, frozen=True):
    """A decision as a file: whether the folder has none of that name, the very same, the one that it came from or that
    was exported last (`changed`: nothing is lost with it), or another one (`edited`)."""

    id: str
    file: str
    text: str
    state: Literal["new", "changed", "edited", "same"]


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
        """Return the name of a decision's file."""
        return self._files[record.path]

    def text(self, record: Record, form: Form | None = None) -> str:
        """Return the text of a decision's file, in the form it came in or another one."""
        origin = self.origins.get(record.path)
        body = restore(self._snapshot.body(record), origin.links if origin else {})
        by, of = self._others(record.superseded_by), self._others(record.supersedes)
        if origin is not None and form in (None, origin.form):
            return adr_text.put_together(adr_status.refresh(origin, body, record, by, of), body)
        form = form or self._usual
        head = adr_status.fresh(self.file(record), form, record, by, of, origin)
        own = adr_text.with_outcome(body, record.title) if origin is None and form == "madr" else body
        return (head + adr_text.arrange(own, form)).rstrip("\n") + "\n"

    @cached_property
    def _usual(self) -> Form:
        """The form of most files that decisions came from."""
        forms = Counter(origin.form for origin in self.origins.values())
        return forms.most_common(1)[0][0] if forms else _DEFAULT

    def _others(self, identifiers: Iterable[str]) -> list[Other]:
        found = [self._by_id[identifier] for identifier in identifiers if identifier in self._by_id]
        return [Other(self.file(record), record.title) for record in found]


def export_folder(
    memory: Memory, snapshot: Snapshot, records: Iterable[Record], folder: Path, form: Form | None = None
) -> list[Exported]:
    """Return the decisions among the records as files of a folder, which need not be there yet.

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
    last = _last_exports(memory)
    found = []
    for file, record in sorted(written.items()):
        origin = decisions.origins.get(record.path)
        ours = {origin.digest if origin else "", last.get(f"{os.path.realpath(folder)}/{file}", "")}
        found.append(_compare(folder, file, record, decisions.text(record, form), ours))
    return found


def _last_exports(memory: Memory) -> dict[str, str]:
    """Return the digest of each file as it was exported last, by its whole path; what nobody can read counts for
    nothing."""
    try:
        return msgspec.json.decode((memory.private / _EXPORTS).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return {}


def write_folder(memory: Memory, folder: Path, exported: Sequence[Exported]) -> None:
    """Write the files that are new or differ, and note what they are; the caller has asked whether they may be."""
    writes = [Write(item.file, item.text) for item in exported if item.state != "same"]
    folder = Path(os.path.realpath(folder))  # the user may name a link, but no file in it may be one
    try:
        files.replace_all(folder, files.prepare(folder, writes), ())
    except MemctlError as error:  # no write of the memory's, which the next one would finish
        raise MemctlError(error.message, "solve that, then export again") from None
    now = {f"{folder}/{item.file}": adr_text.digest_of(item.text) for item in exported}
    files.replace_private(memory.private / _EXPORTS, msgspec.json.encode(_last_exports(memory) | now).decode())


def _compare(folder: Path, file: str, record: Record, text: str, ours: Container[str]) -> Exported:
    try:
        there = files.locate(Path(os.path.realpath(folder)), file).read_bytes()
    except FileNotFoundError:
        return Exported(record.id, file, text, "new")
    if there == text.encode():
        return Exported(record.id, file, text, "same")
    is_ours = adr_text.digest_of(there.decode(errors="replace")) in ours
    return Exported(record.id, file, text, "changed" if is_ours else "edited")


def _name(records: Iterable[Record], origins: Mapping[str, AdrOrigin], present: Iterable[str]) -> dict[str, str]:
    """Return the file of each decision, by the record's path; those that came from none are numbered behind
    the others."""
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


def _slug(record: Record) -> str:
    """Return what a record's file is called behind its id; it stays the same when the title changes."""
    name = record.path.rpartition("/")[2].removesuffix(".md")
    return name.removeprefix(record_ids.id_in_path(record.path) or "").strip("-") or record.id.lower()


_TEMPLATE = re.compile(r"(?:adr[-_]?)?(?:\d+[-_])?(?:adr[-_]|madr[-_])?template\.md", re.IGNORECASE)


class AdrFile(msgspec.Struct, frozen=True):
    """A file that is a decision record: its text, the text that is imported, and the statement in it."""

    file: str
    text: str
    origin: AdrOrigin
    body: str
    head: Head
    said: Statement

    def line_of(self, text: str) -> int:
        """Return the first line that contains a text."""
        return self.text.count("\n", 0, max(self.text.find(text), 0)) + 1


class Edge(msgspec.Struct, frozen=True):
    """That one file supersedes another, and which of the two says so."""

    old: str
    new: str
    by_old: bool
    by_new: bool


class ImportedFolder(msgspec.Struct, frozen=True):
    """What an import comes to: the change, the ids by file of what it adds, and what it leaves alone.

    `known` are files that are decisions already, `changed` those whose decision says something else (with its id),
    `passed` names that are no record's, `refused` says with file and line what is wrong with those that can't come in;
    `notes` say what was read in one way where there might be others.
    """

    change: Change
    added: dict[str, str]
    known: list[str]
    changed: dict[str, str]
    passed: list[str]
    notes: list[str]
    refused: list[str] = []


def import_folder(
    memory: Memory,
    sequence: IdSequence,
    snapshot: Snapshot,
    folder: Path,
    *,
    allow_secret: bool = False,
    is_strict: bool = False,
) -> ImportedFolder:
    """Return the Change that adds the records of a folder as decisions; those that are there already are left alone.

    Raises MemctlError, naming files and lines, if none of them can be added, and if `is_strict` any.
    """
    names, passed = _listing(folder)
    if not names:
        raise MemctlError(
            f"there are no architecture decision records in {folder}",
            "their files are called such as 0001-title.md, 001-title.md or adr-001-title.md",
        )
    links_in = LinkRebase(memory)
    found, wrong = _read(folder, names, links_in)
    sound = []
    for item in found:
        faults = [*([] if allow_secret else _secrets(item)), *_faults(memory, item)]
        wrong += faults
        sound += [] if faults else [item]
    if is_strict or not sound:
        batch.refuse(wrong, "correct the files")
    found = sound
    decisions = Decisions(snapshot, names)
    there = {name: record for name in names if (record := decisions.by_file.get(name))}
    new = [item for item in found if item.file not in there]
    known = [item for item in found if item.file in there and _is_same(decisions, there[item.file], item)]
    statuses = {file: record.status for file, record in there.items()} | {i.file: i.said.status for i in new}
    fresh = {item.file for item in new}
    links = [e for e in _edges([*new, *known], names, statuses) if e.old in fresh or e.new in fresh]
    added, writes = _records_of(memory, sequence, folder, new, links, there)
    changes = _other_ends(there, decisions, {item.file for item in known}, links, added)
    writes += [rewrite(snapshot, record, values) for record, values in changes]
    return ImportedFolder(
        change=Change(
            op="import",
            title=f"{quantity(len(added), 'decision')} of {folder.name or folder}",
            ids=(*added.values(), *(record.id for record, _ in changes)),
            writes=tuple(writes),
        ),
        added=added,
        known=[item.file for item in known],
        changed={i.file: there[i.file].id for i in found if i.file in there and i not in known},
        passed=passed,
        notes=[note for item in new for note in _notes(item)] + links_in.notes,
        refused=wrong,
    )


def _is_same(decisions: Decisions, record: Record, item: AdrFile) -> bool:
    """Return whether a decision came from just this text, or would be written out as it in one of the forms."""
    origin = decisions.origins.get(record.path)
    if origin is not None and origin.digest == item.origin.digest:
        return True
    return any(decisions.text(record, form) == item.text for form in FORMS)


def _records_of(
    memory: Memory,
    sequence: IdSequence,
    folder: Path,
    new: Sequence[AdrFile],
    links: Sequence[Edge],
    there: Mapping[str, Record],
) -> tuple[dict[str, str], list[Write]]:
    """Return the ids of new decisions by file, and their files in the memory."""
    commits = _first_commits(memory, folder, [item.file for item in new])
    drafts = [(item, _draft(item, links, commits.get(item.file))) for item in new]
    all_values = [complete_values(memory, draft) for _, draft in drafts]
    batch.allocate(sequence, all_values)
    added = {item.file: str(values["id"]) for item, values in zip(new, all_values, strict=True)}
    ids = {file: record.id for file, record in there.items()} | added
    writes: list[Write] = []
    for (item, draft), values in zip(drafts, all_values, strict=True):
        values["memory_id"] = _memory_id(memory, item)
        values["superseded_by"] = [ids[edge.new] for edge in links if edge.old == item.file]
        values["supersedes"] = [ids[edge.old] for edge in links if edge.new == item.file]
        writes.append(record_and_file(memory, {name: value for name, value in values.items() if value != []}, draft)[1])
    return added, writes


def _draft(item: AdrFile, links: Sequence[Edge], commit: Commit | None) -> Draft:
    """Return the decision that a file becomes: by whom and of when the file says, or else the first
    `commit` with it."""
    before = [edge for edge in links if edge.old == item.file]
    origin = msgspec.structs.replace(
        item.origin,
        superseded_by=[edge.new for edge in before if not edge.by_old],
        supersedes=[edge.old for edge in links if edge.new == item.file and not edge.by_new],
    )
    values: dict[str, Any] = {
        "title": item.head.called,
        "status": SUPERSEDED if before else item.said.status,
        "timestamp": timestamps.parse(item.head.at(item.head.date)) if item.head.date else commit and commit.date,
        "agent_id": adr_text.deciders(item.origin.head) or (commit and commit.author),
        KEY: msgspec.to_builtins(origin),
    }
    return Draft(kind=DECISION, values=values, body=item.body)


def _memory_id(memory: Memory, item: AdrFile) -> str:
    return memory.imported_memory_id(f"adr\0{item.file}\0{item.origin.digest}")


def _faults(memory: Memory, item: AdrFile) -> list[str]:
    """Return what is wrong with the decision of a file: it can't be read, or would not be written out as that file
    again."""
    draft = _draft(item, (), None)
    values = complete_values(memory, draft) | {"memory_id": _memory_id(memory, item)}
    values["id"] = record_ids.record_id(DECISION, values["timestamp"][:10], 1)
    if faults := problems(values):
        line = item.head.line(item.head.title)
        return [f"{item.file}:{line}: {field}: {message}" for field, message in faults]
    try:
        _, write = record_and_file(memory, {name: value for name, value in values.items() if value != []}, draft)
    except InvalidRecord as error:
        line = item.line_of("\n" + "<" * 7) + 1 if "\n" + "<" * 7 in item.text else 1
        return [f"{item.file}:{line}: {fault.message}" for fault in error.faults]
    kept, body = frontmatter.read(write.text)
    origin = adr_text.kept_in(kept)
    if origin is None or adr_text.put_together(origin, body) != item.text:
        return [f"{item.file}:1: this text can't be kept so that it could be written out again as it is"]
    return []


def _other_ends(
    there: Mapping[str, Record],
    decisions: Decisions,
    known: Iterable[str],
    links: Iterable[Edge],
    added: Mapping[str, str],
) -> list[tuple[Record, dict[str, Any]]]:
    """Return what changes in decisions that are there already and that new ones are linked to."""
    changes: dict[str, dict[str, Any]] = {}
    origins = {file: origin for file in known if (origin := decisions.origins.get(there[file].path))}
    for edge in links:
        for file, other, name, is_told in (
            (edge.old, edge.new, "superseded_by", edge.by_old),
            (edge.new, edge.old, "supersedes", edge.by_new),
        ):
            if file not in there:
                continue
            values = changes.setdefault(file, {})
            values.setdefault(name, list(getattr(there[file], name))).append(added[other])
            if name == "superseded_by":
                values["status"] = SUPERSEDED
            if file in origins and not is_told:
                # What another file says, its own need not say.
                noted = {name: [*getattr(origins[file], name), other]}
                origins[file] = msgspec.structs.replace(origins[file], **noted)
                values[KEY] = msgspec.to_builtins(origins[file])
    return [(there[file], values) for file, values in changes.items()]


def _notes(item: AdrFile) -> list[str]:
    notes = []
    if item.said.unclear:
        first = item.said.unclear.partition("\n")[0]
        line = item.line_of(first)
        notes.append(f"{item.file}:{line}: the status {first!r} is not known, and is taken for {item.said.status}")
    if item.head.odd_date:
        line = item.line_of(item.head.odd_date)
        date = "that of the first commit with the file, or now"
        notes.append(f"{item.file}:{line}: the date {item.head.odd_date!r} can't be read; {date}, is taken")
    return notes


def _listing(folder: Path) -> tuple[list[str], list[str]]:
    """Return the names in a folder that are those of records, by their numbers, those without one that read as
    decisions, and the others but for hidden ones."""
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        raise MemctlError(f"{folder} can't be read: {error.strerror}", exit_code=USAGE) from None
    candidates = [name for name in names if not _TEMPLATE.fullmatch(name)]
    numbers = {name: number for name in candidates if (number := adr_text.number_of(name))}
    found = sorted(numbers, key=lambda name: (int(numbers[name]), name))
    found += [name for name in candidates if name not in numbers and _reads_as_decision(folder, name)]
    return found, [name for name in names if name not in found]


def _reads_as_decision(folder: Path, name: str) -> bool:
    """Return whether a file without a number says its status, or has two sections of a decision at least."""
    if not adr_text.is_name(name):
        return False
    read, _ = _read(folder, [name])
    item = read[0] if read else None
    return item is not None and (bool(item.head.status or item.origin.status) or adr_text.has_sections(item.body))


def _read(folder: Path, names: Iterable[str], links: LinkRebase | None = None) -> tuple[list[AdrFile], list[str]]:
    """Return the records of a folder, and what is wrong with those that are none, with file and line; `links` is what
    makes their relative links lead from a record."""
    found: list[AdrFile] = []
    wrong: list[str] = []
    for name in names:
        try:
            files.read(folder, name)  # refuses what is not a regular file, too large, or not UTF-8
            text = (folder / name).read_bytes().decode()
            if "\0" in text:
                raise FrontMatterError(text.count("\n", 0, text.index("\0")) + 1, "", "a NUL character is here")
            origin, body = adr_text.take_apart(name, text)
            said = adr_status.statement_of(origin, body)
            if links is not None:
                body, changed = links.rebase(name, folder, body)
                origin = msgspec.structs.replace(origin, links=changed)
            found.append(AdrFile(name, text, origin, body, adr_text.head_of(origin), said))
        except FrontMatterError as error:
            wrong.append(f"{name}:{error.line}: {error.message}")
        except InvalidRecord as error:
            wrong.append(str(error))
        except OSError as error:
            wrong.append(f"{name}:1: the file can't be read: {error.strerror}")
    return found, wrong


def _secrets(found: AdrFile) -> list[str]:
    """Return the lines of a file that look like credentials."""
    spans = find(found.text)
    places = zip(lines(found.text, spans), spans, strict=True)
    return [f"{found.file}:{line}: this {describe(found.text, span)}" for line, span in places]


def _first_commits(memory: Memory, folder: Path, names: Sequence[str]) -> dict[str, Commit]:
    """Return the first commit with each file; files that Git does not have are left out."""
    try:
        below = Path(os.path.realpath(folder)).relative_to(memory.repository.top).as_posix()
    except ValueError:
        return {}  # the folder is not in this repository
    paths = {f"{below}/{name}".removeprefix("./"): name for name in names}
    if not paths:
        return {}
    commits = history.commits(memory.repository, list(paths))  # newest first, so that the oldest one counts
    return {paths[path]: commit for commit in commits for path in commit.paths if path in paths}


def _edges(found: Iterable[AdrFile], names: Sequence[str], statuses: Mapping[str, str]) -> list[Edge]:
    """Return which of the named files supersedes which, as some of them say it.

    `statuses` are those of all decisions by file. What is only proposed, or was rejected, supersedes nothing; and what
    was rejected is superseded by nothing.
    """
    numbered: dict[int, list[str]] = {}
    for name in names:
        if number := adr_text.number_of(name):
            numbered.setdefault(int(number), []).append(name)

    def resolve(target: str | int) -> str:
        same = [target] if target in names else numbered.get(target, []) if isinstance(target, int) else []
        return str(same[0]) if len(same) == 1 else ""

    by_old: dict[tuple[str, str], None] = {}
    by_new: dict[tuple[str, str], None] = {}
    for item in found:
        by_old.update(dict.fromkeys((item.file, resolve(target)) for target in item.said.by))
        if statuses.get(item.file) not in ("proposed", "rejected"):
            by_new.update(dict.fromkeys((resolve(target), item.file) for target in item.said.of))
    return [
        Edge(old, new, (old, new) in by_old, (old, new) in by_new)
        for old, new in {**by_old, **by_new}
        if old != new and old in statuses and new in statuses and statuses[old] != "rejected"
    ]
