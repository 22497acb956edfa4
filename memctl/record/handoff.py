"""A handoff as its record tells it: who gave what to whom, and what became of it (rules.md#handoffs)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal, get_args

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import frontmatter
from memctl.record.errors import Fault, InvalidRecord, located
from memctl.record.kinds import HANDOFF
from memctl.record.parser import parse
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot

HandoffType = Literal["complete", "specialist", "continuation", "emergency"]
TYPES: tuple[str, ...] = get_args(HandoffType)
OFFERED, ACCEPTED, DECLINED, WITHDRAWN = HANDOFF.statuses
_Marker = Annotated[str, msgspec.Meta(pattern=r"^§[23]\.[1-9][0-9]{0,5}$")]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class Parties(msgspec.Struct, frozen=True, kw_only=True):
    """What the front matter of a handoff has beyond that of other records.

    `sections` changed hands; `unowned` are those of them that nobody owned before, `declined` those that went back.
    """

    from_agent_id: _Name
    to_agent_id: _Name
    handoff_type: HandoffType
    task: str = ""
    sections: tuple[_Marker, ...] = ()
    unowned: tuple[_Marker, ...] = ()
    declined: tuple[_Marker, ...] = ()
    context_token_count: Annotated[int, msgspec.Meta(ge=0)] = 0
    answered_by: str = ""
    answered_at: str = ""


KEYS = Parties.__struct_fields__


class Handoff(msgspec.Struct, frozen=True):
    """A handoff: its record, its parties, and the body of its record."""

    record: Record
    parties: Parties
    body: str

    @property
    def is_offered(self) -> bool:
        return self.record.status == OFFERED and not self.record.is_archived


def read(text: str, path: str) -> Handoff:
    """Read the file of a handoff; raises InvalidRecord for one that does not say from whom to whom."""
    record, body = parse(text, path)
    values, _ = frontmatter.read(frontmatter.clean_newlines(text))
    try:
        parties = msgspec.convert({key: values[key] for key in KEYS if values.get(key) is not None}, Parties)
    except msgspec.ValidationError as error:
        field, message = located(error)
        raise InvalidRecord([Fault(path, _line(text, field), field, message)]) from None
    for field in ("from_agent_id", "to_agent_id", "answered_by"):
        if not getattr(parties, field).isprintable():
            raise InvalidRecord([Fault(path, _line(text, field), field, "a name is one line of printable characters")])
    return Handoff(record, parties, body)


def _line(text: str, field: str) -> int:
    """The line of a key; of an item of a list that of its key, 1 if there is none."""
    blocks = frontmatter.blocks(frontmatter.clean_newlines(text))
    return next((block.line for block in blocks if block.key == field.partition("[")[0]), 1)


def of(snapshot: Snapshot, record: Record) -> Handoff:
    """The handoff that a record tells of; raises MemctlError if it is another record, or does not say who gave it."""
    if record.memory_type != HANDOFF.name:
        raise MemctlError(f"{record.id} is a {record.memory_type}, not a handoff", "`memctl handoff list`", USAGE)
    try:
        return read(snapshot.read(record.path), record.path)
    except InvalidRecord as error:
        raise MemctlError(str(error.faults[0])) from None


def sections_of(snapshot: Snapshot, record: Record) -> tuple[str, ...]:
    """The sections that a handoff gives; none if that can't be read."""
    try:
        return tuple(read(snapshot.read(record.path), record.path).parties.sections)
    except (InvalidRecord, FileNotFoundError):
        return ()


def found(snapshot: Snapshot, *, everything: bool = False) -> list[Handoff]:
    """The handoffs that wait for an answer, or all, newest first; those that can't be read are left out."""
    handoffs = [one for one in _all(snapshot, only_open=not everything) if isinstance(one, Handoff)]
    return sorted(handoffs, key=lambda one: (one.record.timestamp, one.record.id), reverse=True)


def faults(snapshot: Snapshot) -> list[Fault]:
    """What is wrong with records of handoffs that are records and yet don't say who gave what to whom."""
    return [fault for one in _all(snapshot) if isinstance(one, InvalidRecord) for fault in one.faults]


def _all(snapshot: Snapshot, *, only_open: bool = False) -> Iterator[Handoff | InvalidRecord]:
    for record in snapshot.catalogue.select([("memory_type", "is", HANDOFF.name)], "id")[0]:
        if record.is_open or not only_open:
            try:
                yield read(snapshot.read(record.path), record.path)
            except InvalidRecord as error:
                yield error
            except FileNotFoundError:
                continue


def waiting(snapshot: Snapshot, agent: str) -> list[Handoff]:
    """The handoffs that wait for the answer of an agent."""
    return [one for one in found(snapshot) if one.is_offered and one.parties.to_agent_id == agent]


_PACKAGE = ".package.txt"


def package_path(record_path: str) -> str:
    """Where the package of a handoff lies, to the letter as the taker got it: beside its record, and named like it.

    Two clones can give out one id, so that is not name enough. What the package calls by such an id gets the new one
    there too, for by the old one it would send the taker to another handoff.
    """
    return f"{record_path.removesuffix('.md')}{_PACKAGE}"


def record_path(path: str) -> str:
    """The record that the package of a handoff lies beside, "" for a path of another file."""
    is_package = path.startswith(f"{HANDOFF.folder}/") and path.endswith(_PACKAGE)
    return f"{path.removesuffix(_PACKAGE)}.md" if is_package else ""
