"""Handoffs, read from their records: giver, taker, sections, and the taker's answer (rules.md#handoffs)."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import frontmatter, frontmatter_edit
from memctl.record.errors import Fault, InvalidRecord, field_and_message
from memctl.record.kinds import HANDOFF
from memctl.record.parser import parse
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.text.phrases import indefinite

HandoffType = Literal["complete", "specialist", "continuation", "emergency"]
TYPES: tuple[str, ...] = get_args(HandoffType)
OFFERED, ACCEPTED, DECLINED, WITHDRAWN = HANDOFF.statuses
_Marker = Annotated[str, msgspec.Meta(pattern=r"^§[23]\.[1-9][0-9]{0,5}$")]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class Parties(msgspec.Struct, frozen=True, kw_only=True):
    """The front matter that only handoffs have: giver, taker, task, sections and answer.

    - `sections` are markers, such as §2.1. `unowned` are those of them that had no owner before the handoff, and
      `declined` those that the taker did not accept.
    - `context_token_count` is the size of the handoff's package, the text that the taker gets, in tokens.
    - `answered_by` is an actor and `answered_at` a time in UTC; both are "" until there is an answer.
    """

    from_agent_id: _Name
    to_agent_id: _Name
    handoff_type: HandoffType = "complete"
    task: str = ""
    sections: tuple[_Marker, ...] = ()
    unowned: tuple[_Marker, ...] = ()
    declined: tuple[_Marker, ...] = ()
    context_token_count: Annotated[int, msgspec.Meta(ge=0)] = 0
    answered_by: str = ""
    answered_at: str = ""


KEYS = Parties.__struct_fields__


class Handoff(msgspec.Struct, frozen=True):
    """A handoff: its record, the front matter that only handoffs have, and the body of its file."""

    record: Record
    parties: Parties
    body: str

    @property
    def is_offered(self) -> bool:
        """Whether the handoff waits for the taker's answer."""
        return self.record.status == OFFERED and not self.record.is_archived


def read(text: str, path: str) -> Handoff:
    """Return the handoff in the text of a record's file at `path`, relative to `.memory/`.

    Raises InvalidRecord if the file is not a valid record, or if giver or taker is missing.
    """
    record, body = parse(text, path)
    text = frontmatter.clean_newlines(text)
    values, _ = frontmatter.read(text)
    try:
        parties = msgspec.convert({key: values[key] for key in KEYS if values.get(key) is not None}, Parties)
    except msgspec.ValidationError as error:
        raise frontmatter_edit.invalid_record(text, path, [field_and_message(error)]) from None
    for field in ("from_agent_id", "to_agent_id", "answered_by"):
        if not getattr(parties, field).isprintable():
            wrong = (field, "must be one line of printable characters")
            raise frontmatter_edit.invalid_record(text, path, [wrong])
    return Handoff(record, parties, body)


def from_record(snapshot: Snapshot, record: Record) -> Handoff:
    """Return the handoff that a record describes, read from the record's file.

    Raises MemctlError if the record is of another type, or if its file is not a valid handoff.
    """
    if record.memory_type != HANDOFF.name:
        raise MemctlError(
            f"{record.id} is {indefinite(record.memory_type)}, not a handoff",
            "`memctl team handoff list` lists handoffs",
            USAGE,
        )
    try:
        return read(snapshot.read(record.path), record.path)
    except InvalidRecord as error:
        raise MemctlError(str(error.faults[0])) from None


def read_all(snapshot: Snapshot, *, only_open: bool = False) -> tuple[list[Handoff], list[Fault]]:
    """Return all handoffs, newest first, and the faults of the files that are not valid handoffs.

    With `only_open` only the handoffs that wait for an answer are returned.
    """
    handoffs, faults = [], []
    for record in snapshot.catalogue.select([("memory_type", "is", HANDOFF.name)], "id")[0]:
        if record.is_open or not only_open:
            try:
                handoffs.append(read(snapshot.read(record.path), record.path))
            except InvalidRecord as error:
                faults += error.faults
            except FileNotFoundError:
                continue
    return sorted(handoffs, key=lambda handoff: (handoff.record.timestamp, handoff.record.id), reverse=True), faults


def waiting(snapshot: Snapshot, agent: str) -> list[Handoff]:
    """Return the handoffs that wait for the answer of an agent, newest first."""
    return [
        handoff
        for handoff in read_all(snapshot, only_open=True)[0]
        if handoff.is_offered and handoff.parties.to_agent_id == agent
    ]


_PACKAGE = ".package.txt"


def package_path(record_path: str) -> str:
    """Return the path of a handoff's package, the file with the text that its taker gets.

    Both paths are relative to `.memory/`. The package is beside the handoff's record, and only the ending of its name
    differs. The id alone would not do as the name, since two clones may give one id to two handoffs.
    """
    return f"{record_path.removesuffix('.md')}{_PACKAGE}"


def record_path(path: str) -> str:
    """Return the path of the handoff's record to which a package belongs; "" if `path` is not that of a package.

    Both paths are relative to `.memory/`.
    """
    is_package = path.startswith(f"{HANDOFF.folder}/") and path.endswith(_PACKAGE)
    return f"{path.removesuffix(_PACKAGE)}.md" if is_package else ""
