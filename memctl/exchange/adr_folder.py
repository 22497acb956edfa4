"""Import of folders of architecture decision records (ADRs), as adr-tools and MADR write them.

A file becomes a decision. The decision keeps what an export needs to write the file again, byte by byte. If one file
says that it supersedes another, both decisions get the link.
"""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.exchange import adr_status, adr_text, row_import
from memctl.exchange.adr_export import Decisions, tracked_folder
from memctl.exchange.adr_status import SUPERSEDED, Statement
from memctl.exchange.adr_text import FORMS, KEY, AdrOrigin, Head
from memctl.exchange.relative_links import LinkRebase
from memctl.exchange.row_import import ImportResult, ImportTarget
from memctl.exchange.rows import Problems
from memctl.git import history
from memctl.git.history import Commit
from memctl.record import frontmatter
from memctl.record.change import Change, Write
from memctl.record.errors import FrontMatterError, InvalidRecord
from memctl.record.kinds import DECISION
from memctl.record.record import Record
from memctl.store import files
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as IdSequence
from memctl.text import headings
from memctl.text.credentials import describe, find, lines
from memctl.text.phrases import quantity
from memctl.write.create import Draft, complete_values, record_and_file
from memctl.write.edit import rewrite

_TEMPLATE = re.compile(
    r"(?:adr[-_]?)?(?:\d+[-_])?(?:adr[-_]|madr[-_])?template(?:-minimal)?(?:-bare)?(?:-minimal)?\.md", re.IGNORECASE
)


class AdrFile(msgspec.Struct, frozen=True):
    """An ADR file that was read.

    - `file`: its name; `text`: the whole file.
    - `body`: the part that becomes the decision's text; `origin`: everything else that an export needs to write the
      file again.
    - `head`: the text above the first section, with the places of title, status and date in it.
    - `statement`: what the file says of its status, and of the files that it supersedes or is superseded by.
    """

    file: str
    text: str
    origin: AdrOrigin
    body: str
    head: Head
    statement: Statement

    @property
    def reads_as_decision(self) -> bool:
        """Whether the file states a status, or has at least two sections that are usual for a decision.

        A file without a number in its name is imported only if this is true.
        """
        return bool(self.head.status or self.origin.status) or adr_text.has_sections(self.body)

    def line_of(self, text: str) -> int:
        """Return the line of the file (from 1) on which a text first occurs; 1 if it does not occur."""
        return self.text.count("\n", 0, max(self.text.find(text), 0)) + 1


class Edge(msgspec.Struct, frozen=True):
    """A link between two ADR files: the file `new` supersedes the file `old`.

    `by_old` says whether the file `old` states the link, `by_new` whether the file `new` does.
    """

    old: str
    new: str
    by_old: bool
    by_new: bool


class AdrImport(ImportResult, frozen=True):
    """The result of importing a folder: its files by what the import does with them.

    `added` maps the names of the files that are imported to the ids of their new decisions. `changed` maps the names of
    files that were imported before, and have changed since, to the ids of their decisions. `templates` are the names of
    templates for new ADRs, and `skipped` those of all other files that are no decisions.
    """

    added: Mapping[str, str] = MappingProxyType({})
    changed: Mapping[str, str] = MappingProxyType({})
    templates: Sequence[str] = ()
    skipped: Sequence[str] = ()


class AdrFolder(msgspec.Struct, frozen=True):
    """The files of a folder: those that were read as decisions, those that could not be read, and the others.

    `decisions` are the files that were read, in the order of their numbers. `refused` has a message, with file and
    line, on each file that could not be read. `names` are the names of the files that were read or refused. `templates`
    are the names of templates for new ADRs, and `skipped` those of all other files that are no decisions.
    """

    names: Sequence[str]
    decisions: Sequence[AdrFile]
    refused: Sequence[str]
    templates: Sequence[str]
    skipped: Sequence[str]


def read_folder(folder: Path, links: LinkRebase | None = None) -> AdrFolder:
    """Return the files of a folder, except hidden ones; raises MemctlError if the folder can't be read.

    Files with a number in their name are decisions, and so are other files whose text reads like a decision. If `links`
    is given, it changes the relative links in the texts, so that they lead to the same files from a record's folder.
    """
    try:
        present = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except OSError as error:
        hint = f"give the folder of the file: {folder.parent}" if folder.is_file() else ""
        raise MemctlError(f"{folder} can't be read: {error.strerror}", hint, USAGE) from None
    names, templates, skipped, decisions, refused = [], [], [], [], []
    for name in sorted(present, key=lambda name: (int(adr_text.number_of(name) or 10**15), name)):
        is_numbered = adr_text.number_of(name) is not None
        if _TEMPLATE.fullmatch(name):
            templates.append(name)
            continue
        if not is_numbered and not adr_text.is_name(name):
            skipped.append(name)
            continue
        try:
            text = _text(folder, name)
            content = adr_text.without_front_matter(text)
            title = next((one.title for one in headings.parse(content) if one.level == 1), "")
            if headings.is_placeholder(title) and (title or headings.is_unfilled(content)):
                templates.append(name)
                continue
            item = _parse(folder, name, text, links)
            if is_numbered or item.reads_as_decision:
                decisions.append(item)
                names.append(name)
            else:
                skipped.append(name)
        except (FrontMatterError, InvalidRecord, OSError) as error:
            (names if is_numbered else skipped).append(name)
            refused += [_reason(name, error)] if is_numbered else []
    return AdrFolder(names, decisions, refused, templates, sorted(skipped))


def _text(folder: Path, name: str) -> str:
    files.read(folder, name)
    text = (folder / name).read_bytes().decode()
    if "\0" in text:
        raise FrontMatterError(text.count("\n", 0, text.index("\0")) + 1, "", "this line has a NUL character")
    return text


def _parse(folder: Path, name: str, text: str, links: LinkRebase | None) -> AdrFile:
    origin, body = adr_text.parse_file(name, text)
    statement = adr_status.statement_of(origin, body)
    if links is not None:
        body, changed = links.rebase(name, folder, body)
        origin = msgspec.structs.replace(origin, links=changed)
    return AdrFile(name, text, origin, body, adr_text.head_of(origin), statement)


def _reason(name: str, error: FrontMatterError | InvalidRecord | OSError) -> str:
    if isinstance(error, FrontMatterError):
        return f"{name}:{error.line}: {error.message}"
    return f"{name}:1: the file can't be read: {error.strerror}" if isinstance(error, OSError) else str(error)


def import_folder(target: ImportTarget, folder: Path) -> AdrImport:
    """Read the ADRs of a folder; return the Change that adds them as decisions, and what becomes of each file.

    Files that were imported before are left alone. Raises MemctlError, naming files and lines, if no file can be
    imported or, in a strict import, if any file can't be imported.
    """
    links_in = LinkRebase(target.memory)
    listing = read_folder(folder, links_in)
    if not listing.names:
        hint = "the files must have names such as 0001-title.md, 001-title.md or adr-001-title.md"
        raise MemctlError(f"the folder {folder} has no architecture decision records", hint)
    wrong, importable = list(listing.refused), []
    for item in listing.decisions:
        faults = [*([] if target.allow_secret else _secrets(item))] or _faults(target, item)
        wrong += faults
        importable += [] if faults else [item]
    row_import.refuse(wrong, "correct the files", is_strict=target.is_strict, is_some=bool(importable))
    names = listing.names
    decisions = Decisions(target.memory, target.snapshot, folder, names)
    there = {name: record for name in names if (record := decisions.by_file.get(name))}
    copies = {i.file for i in importable if i.file not in there and (i.file, i.origin.digest) in decisions.copies}
    new = [item for item in importable if item.file not in there and item.file not in copies]
    again = [item for item in importable if item.file in there and _is_same(decisions, there[item.file], item)]
    statuses = {file: record.status for file, record in there.items()} | {i.file: i.statement.status for i in new}
    fresh = {item.file for item in new}
    problems = Problems(target.is_strict)
    links = [e for e in _edges([*new, *again], names, statuses, problems, fresh) if e.old in fresh or e.new in fresh]
    row_import.refuse(problems.refused, "correct the files", is_strict=target.is_strict, is_some=True)
    added, writes = _records_of(target.memory, target.sequence, folder, new, links, there)
    changes = _other_ends(there, decisions, {item.file for item in again}, links, added)
    writes += [rewrite(target.snapshot, record, values) for record, values in changes]
    title = f"{quantity(len(added), 'decision')} of {folder.name or folder}"
    identifiers = (*added.values(), *(record.id for record, _ in changes))
    return AdrImport(
        change=Change("import", title, identifiers, tuple(writes)),
        known=[*(item.file for item in again), *sorted(copies)],
        notes=[note for item in new for note in _notes(item)] + problems.notes + links_in.notes,
        refused=wrong,
        added=added,
        changed={i.file: there[i.file].id for i in importable if i.file in there and i not in again},
        templates=listing.templates,
        skipped=listing.skipped,
    )


def _is_same(decisions: Decisions, record: Record, item: AdrFile) -> bool:
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
    place = tracked_folder(memory, folder)
    commits = _first_commits(memory, place, [item.file for item in new])
    drafts = [(item, _draft(item, links, commits.get(item.file), place)) for item in new]
    all_values = [complete_values(memory, draft) for _, draft in drafts]
    row_import.allocate(sequence, all_values)
    added = {item.file: str(values["id"]) for item, values in zip(new, all_values, strict=True)}
    ids = {file: record.id for file, record in there.items()} | added
    writes: list[Write] = []
    for (item, draft), values in zip(drafts, all_values, strict=True):
        values["memory_id"] = _memory_id(memory, item)
        values["superseded_by"] = [ids[edge.new] for edge in links if edge.old == item.file]
        values["supersedes"] = [ids[edge.old] for edge in links if edge.new == item.file]
        writes.append(record_and_file(memory, {name: value for name, value in values.items() if value != []}, draft)[1])
    return added, writes


def _draft(item: AdrFile, links: Sequence[Edge], commit: Commit | None, place: str) -> Draft:
    """Author and date are those in the file, else those of the first `commit` with it."""
    before = [edge for edge in links if edge.old == item.file]
    origin = msgspec.structs.replace(
        item.origin,
        folder=place,
        superseded_by=[edge.new for edge in before if not edge.by_old],
        supersedes=[edge.old for edge in links if edge.new == item.file and not edge.by_new],
    )
    values: dict[str, Any] = {
        "title": item.head.title_text,
        "status": SUPERSEDED if before else item.statement.status,
        "timestamp": adr_text.moment_of(item.head.at(item.head.date))[0] or (commit and commit.date),
        "agent_id": adr_text.deciders(item.origin.head) or (commit and commit.author),
        KEY: msgspec.to_builtins(origin),
    }
    return Draft(kind=DECISION, values=values, body=item.body)


def _memory_id(memory: Memory, item: AdrFile) -> str:
    """The memory_id is the same at each import of the same text."""
    return memory.imported_memory_id(f"adr\0{item.file}\0{item.origin.digest}")


def _faults(target: ImportTarget, item: AdrFile) -> list[str]:
    """Return what is wrong with a file's decision: an invalid value, or a text that an export would not reproduce."""
    draft = _draft(item, (), None, "")
    values = complete_values(target.memory, draft) | {"memory_id": _memory_id(target.memory, item)}
    text, wrong = row_import.try_write(target, {name: value for name, value in values.items() if value != []}, draft)
    if wrong:
        conflict = "\n" + "<" * 7
        line = item.line_of(conflict) + 1 if conflict in item.text else item.head.line(item.head.title)
        return [f"{item.file}:{line}: {message}" for message in wrong]
    kept, body = frontmatter.read(text)
    origin = adr_text.read_origin(kept)
    if origin is None or adr_text.file_text(origin, body) != item.text:
        return [f"{item.file}:1: this file can't be imported: `memctl export adr` would not write it back unchanged"]
    return []


def _other_ends(
    there: Mapping[str, Record],
    decisions: Decisions,
    known: Iterable[str],
    links: Iterable[Edge],
    added: Mapping[str, str],
) -> list[tuple[Record, dict[str, Any]]]:
    changes: dict[str, dict[str, Any]] = {}
    origins = {file: origin for file in known if (origin := decisions.origins.get(there[file].path))}
    for edge in links:
        for file, other, name, is_stated in (
            (edge.old, edge.new, "superseded_by", edge.by_old),
            (edge.new, edge.old, "supersedes", edge.by_new),
        ):
            if file not in there:
                continue
            values = changes.setdefault(file, {})
            values.setdefault(name, list(getattr(there[file], name))).append(added[other])
            if name == "superseded_by":
                values["status"] = SUPERSEDED
            if file in origins and not is_stated:
                # The other file states the link already, so an export does not add it to this one.
                noted = {name: [*getattr(origins[file], name), other]}
                origins[file] = msgspec.structs.replace(origins[file], **noted)
                values[KEY] = msgspec.to_builtins(origins[file])
    return [(there[file], values) for file, values in changes.items()]


def _notes(item: AdrFile) -> list[str]:
    notes = []
    if item.statement.unclear:
        first = item.statement.unclear.partition("\n")[0]
        line = item.line_of(first)
        notes.append(f"{item.file}:{line}: unknown status {first!r}; imported as {item.statement.status}")
    if item.head.invalid_date:
        line = item.line_of(item.head.invalid_date)
        date = "the date of the file's first commit, or today, is used instead"
        notes.append(f"{item.file}:{line}: invalid date {item.head.invalid_date!r}; {date}")
    return notes


def _secrets(file: AdrFile) -> list[str]:
    spans = find(file.text)
    places = zip(lines(file.text, spans), spans, strict=True)
    return [f"{file.file}:{line}: this {describe(file.text, span)}" for line, span in places]


def _first_commits(memory: Memory, place: str, names: Sequence[str]) -> dict[str, Commit]:
    paths = {f"{place}/{name}".removeprefix("./"): name for name in names if place}
    if not paths:
        return {}
    commits = history.commits(memory.repository, list(paths))  # newest first: the oldest overwrites the others
    return {paths[path]: commit for commit in commits for path in commit.paths if path in paths}


def _edges(
    adrs: Iterable[AdrFile],
    names: Sequence[str],
    statuses: Mapping[str, str],
    problems: Problems,
    fresh: Container[str],
) -> list[Edge]:
    """Return which of the named files supersedes which, as the files in `adrs` state it.

    `statuses` are those of all decisions, by file. `problems` gets messages on links of the files in `fresh` that are
    left out.
    """
    stated: dict[tuple[str, str], set[bool]] = {}
    for item, is_by in [(item, is_by) for is_by in (True, False) for item in adrs]:
        for target in item.statement.superseded_by if is_by else item.statement.supersedes:
            same = [name for name in names if target in (name, int(adr_text.number_of(name) or -1))]
            if why := _why_unlinked(item.file, is_by, same, statuses):
                what = f"{'superseded by' if is_by else 'supersedes'} {target}"
                if item.file in fresh:
                    problems.add_link(f"{item.file}:{_line_of_link(item, target)}: {what}: {why}")
                continue
            pair = (item.file, same[0]) if is_by else (same[0], item.file)
            stated.setdefault(pair, set()).add(is_by)
    return [Edge(old, new, True in said, False in said) for (old, new), said in stated.items()]


def _why_unlinked(file: str, is_by: bool, same: Sequence[str], statuses: Mapping[str, str]) -> str:
    """Return why a file is not linked to one of `same`, the files that a name may stand for; "" if it is."""
    if len(same) != 1:
        return f"several files have this number ({', '.join(same)})" if same else "the folder has no such file"
    old, new = (file, same[0]) if is_by else (same[0], file)
    if old == new:
        return "this is the file itself"
    if same[0] not in statuses:
        return f"{same[0]} is not imported"
    if not is_by and statuses[file] in ("proposed", "rejected"):
        return f"a {statuses[file]} decision supersedes nothing"
    return "a rejected decision can't be superseded" if statuses[old] == "rejected" else ""


def _line_of_link(item: AdrFile, target: str | int) -> int:
    named = re.compile(rf"(?<!\d)0*{target}(?!\d)" if isinstance(target, int) else re.escape(target))
    found = [(number, line) for number, line in enumerate(item.text.split("\n"), 1) if named.search(line)]
    return next((number for number, line in found if "supersed" in line.lower()), found[0][0] if found else 1)
