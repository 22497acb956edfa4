"""The coordination state as values, and as the files of its ref.

The names of the fields are those of rules.md#coordination and rules.md#ownership-and-access.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.text import timestamps
from memctl.text.characters import printable_line
from memctl.text.lazy_regex import lazy_regex

FORMAT = 1
_LONGEST_NAME = 100  # characters
EXCLUSIVE, SHARED_WRITE = "exclusive", "shared-write"
SECTION = lazy_regex(r"§(?:1\.0|[23]\.[1-9][0-9]{0,5})")  # what can be owned
OwnershipType = Literal["exclusive", "shared-write", "read-only"]
TYPES: tuple[str, ...] = get_args(OwnershipType)


class Ownership(msgspec.Struct, frozen=True, kw_only=True):
    """The ownership of one section: its owner, type, times and reason.

    Times are UTC, such as "2025-11-04T14:32:00Z". If `expires_at` is None, the ownership does not expire. If
    `agents_with_read_access` is not None, only these agents and the owner may read the section's pages of details
    (level 3) and files (level 4).
    """

    section_id: str
    owner_agent_id: str
    ownership_type: OwnershipType = "exclusive"
    acquired_at: str = ""
    expires_at: str | None = None
    previous_owner: str | None = None
    lock_reason: str = ""
    agents_with_read_access: tuple[str, ...] | None = None

    def is_live(self, now: str) -> bool:
        """Return whether the ownership has not expired at the time `now`."""
        return self.expires_at is None or self.expires_at > now

    def lets_write(self, agent: str) -> bool:
        """Return whether the ownership lets an agent write to its section.

        If the ownership is exclusive, its owner may write; if shared-write, every agent; if read-only, no agent, not
        even the owner (rules.md#ownership-and-access).
        """
        if self.ownership_type == EXCLUSIVE:
            return agent == self.owner_agent_id
        return self.ownership_type == SHARED_WRITE

    def lets_read(self, agent: str) -> bool:
        """Return whether an agent may read the details and the files of the section."""
        readers = self.agents_with_read_access
        return readers is None or agent == self.owner_agent_id or agent in readers

    def passed(self, to: str, now: str, why: str) -> Ownership:
        """Return this ownership passed on to the agent `to` at the time `now`, with the same type, expiry and readers.

        `why` becomes its `lock_reason`, and the present owner becomes its `previous_owner`.
        """
        return msgspec.structs.replace(
            self, owner_agent_id=to, acquired_at=now, previous_owner=self.owner_agent_id, lock_reason=why
        )

    @property
    def readers(self) -> str:
        """The agents that may read details and files of the section, joined by commas; "" if every agent may."""
        readers = self.agents_with_read_access
        return "" if readers is None else ", ".join(dict.fromkeys((self.owner_agent_id, *readers)))

    @property
    def description(self) -> str:
        """The ownership on one line, for messages: section, owner, type, times and reason."""
        until = f"until {self.expires_at}" if self.expires_at else "with no end"
        why = f": {self.lock_reason}" if self.lock_reason else ""
        text = f"{self.section_id} is owned by {self.owner_agent_id} ({self.ownership_type}), since {self.acquired_at}"
        return printable_line(f"{text} {until}{why}")  # another machine's words stay on their line


def agent_name(text: str) -> str:
    """Return `text` as the name of an agent; raises MemctlError if it is not a valid name.

    A name is one line of at most 100 printable characters. Three kinds of text are refused: one that begins with a
    dash, since the name is missing in `--to --section 2.1`; a record's id, since two arguments were probably swapped;
    and a path such as "/tmp/bob" or "../bob". "team/bob" is a valid name.
    """
    from unicodedata import normalize  # every write reads a state, and few name an agent

    from memctl.record import ids

    name = normalize("NFC", " ".join(text.split()))
    if ids.kind_of(name) is not None:
        hint = "give the name of an agent, such as codex"
        raise MemctlError(f"{name!r} is the id of a record, not the name of an agent", hint, USAGE)
    shown, hint = name, ""
    if name.startswith("-"):
        hint = "a name must not begin with a dash"
    elif {".", ".."} & set(re.split(r"[/\\]", name)) or name.startswith(("/", "~")):
        hint = "give a name that is no path"
    elif not name or len(name) > _LONGEST_NAME or not name.isprintable():
        shown, hint = text, "give one line of at most 100 characters"
    if hint:
        raise MemctlError(f"{shown[:_LONGEST_NAME]!r} is not a valid name for an agent", hint, USAGE)
    return name


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent took over by a handoff: the time, the task in words, and the sections that it still has."""

    since: str
    task: str = ""
    sections: tuple[str, ...] = ()


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent at work: when it began, its task in words, and the work that it took over by handoffs.

    `handoffs` maps the id of a handoff to the work taken over by it.
    """

    joined_at: str
    task: str = ""
    handoffs: dict[str, Work] = {}


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a handoff whose record was on another branch: its status, by whom, when, and the taker's note.

    `declined` are the sections that went back to the giver.
    """

    status: str
    answered_by: str
    answered_at: str
    declined: tuple[str, ...] = ()
    note: str = ""


class Blocker(msgspec.Struct, frozen=True, kw_only=True):
    """A reason why no agent can go on, with who noted it and when."""

    text: str
    agent_id: str
    since: str


class State(msgspec.Struct, frozen=True, kw_only=True):
    """The whole coordination state of a project.

    - `sync_version`: rises by one with every change of the state.
    - `last_sync_timestamp`: the time of the last change.
    - `active_agents`: name of an agent -> the agent, if it is at work.
    - `section_ownership_map`: § marker of a section -> its ownership.
    - `agent_task_assignments`: name of an agent -> the tasks assigned to it.
    - `global_blockers`: id -> blocker that keeps all agents from going on.
    - `shared_resources`: name of a resource -> where it is, or in what condition.
    - `handoff_answers`: id of a handoff -> its answer, if it was given on a branch without the handoff's record.
    """

    project_id: str = ""
    sync_version: int = 0
    last_sync_timestamp: str = ""
    active_agents: dict[str, Agent] = {}
    section_ownership_map: dict[str, Ownership] = {}
    agent_task_assignments: dict[str, list[str]] = {}
    global_blockers: dict[str, Blocker] = {}
    shared_resources: dict[str, str] = {}
    handoff_answers: dict[str, Answer] = {}

    def live(self, section: str, now: str) -> Ownership | None:
        """Return the ownership of a section if it has one that has not expired, else None."""
        ownership = self.section_ownership_map.get(section)
        return ownership if ownership and ownership.is_live(now) else None

    def innermost(self, markers: Iterable[str], now: str) -> Ownership | None:
        """Return the ownership that says who may read and write at a place in the memory; None if nobody owns it.

        `markers` are the markers of the sections around the place, innermost first, such as "§3.1" and "§2.1". The
        result is the ownership of the first of them that has one that has not expired at the time `now`.
        """
        return next((held for marker in markers if (held := self.live(marker, now))), None)

    def forbidding(self, markers: Iterable[str], agent: str, now: str) -> Ownership | None:
        """Return the ownership that forbids an agent to write at a place in the memory, or None if the agent may.

        `markers` are the markers of the sections around the place, innermost first, such as "§3.1" and "§2.1". Only
        one ownership counts: that of the first of them that has one that has not expired at the time `now`.
        """
        held = self.innermost(markers, now)
        return held if held and not held.lets_write(agent) else None

    def restricts(self, agent: str, now: str) -> bool:
        """Return whether any ownership that has not expired at the time `now` forbids an agent to write."""
        return any(held.is_live(now) and not held.lets_write(agent) for held in self.section_ownership_map.values())

    def with_(self, **values: Any) -> State:
        """Return a copy of this coordination state with the fields in `values` replaced."""
        return msgspec.structs.replace(self, **values)

    def put(self, field: str, key: str, value: object) -> State:
        """Return a copy of this coordination state with `value` at `key` in one of its mappings; None removes the key.

        `field` is the name of the mapping, such as "active_agents".
        """
        entries = {name: entry for name, entry in {**getattr(self, field), key: value}.items() if entry is not None}
        return self.with_(**{field: entries})


class _Head(msgspec.Struct, frozen=True):
    format: int
    project_id: str = ""
    sync_version: int = 0
    last_sync_timestamp: str = ""


_HEAD = "state.json"
_OWNERSHIP = "ownership.json"
_ANSWERS = "answers.json"
_PARTS: dict[str, tuple[str, Any]] = {
    "agents.json": ("active_agents", dict[str, Agent]),
    _OWNERSHIP: ("section_ownership_map", dict[str, Ownership]),
    "assignments.json": ("agent_task_assignments", dict[str, list[str]]),
    "blockers.json": ("global_blockers", dict[str, Blocker]),
    "resources.json": ("shared_resources", dict[str, str]),
    _ANSWERS: ("handoff_answers", dict[str, Answer]),
}
FILES = (_HEAD, *_PARTS)


def encode(state: State) -> dict[str, bytes]:
    """Return the files that hold a coordination state: file name -> content.

    The content is JSON with sorted keys, so that equal states have equal files.
    """
    head = _Head(FORMAT, state.project_id, state.sync_version, state.last_sync_timestamp)
    values = {_HEAD: head, **{name: getattr(state, field) for name, (field, _) in _PARTS.items()}}
    encoded = {name: msgspec.json.encode(value, order="sorted") for name, value in values.items()}
    return {name: msgspec.json.format(text, indent=2) + b"\n" for name, text in encoded.items()}


def decode(files: Mapping[str, bytes], where: str) -> State:
    """Return the coordination state that `files` hold: file name -> content, as `encode` returns them.

    `where` is the name of the ref with the files, for messages. Raises MemctlError if the files have another form, are
    of a newer memctl, or lack the file of ownerships. memctl always writes this file, and if its loss went unnoticed,
    everybody could write to every section.
    """
    name = _HEAD
    if _HEAD not in files:
        raise _lacking(_HEAD, where)
    try:
        head = msgspec.json.decode(files[_HEAD], type=_Head)
        if head.format > FORMAT:
            raise MemctlError(
                f"{where}: the coordination state has format {head.format}; this memctl reads formats up to {FORMAT}",
                "install a newer version of memctl",
            )
        if _OWNERSHIP not in files:
            raise _lacking(_OWNERSHIP, where)
        parts = msgspec.structs.asdict(head)
        del parts["format"]
        for name, (field, type_) in _PARTS.items():
            if name in files:
                parts[field] = msgspec.json.decode(files[name], type=type_)
        name = _OWNERSHIP
        _refuse_odd(parts.get("section_ownership_map", {}))
        name = _ANSWERS
        _refuse_odd_answers(parts.get("handoff_answers", {}))
    except (msgspec.DecodeError, ValueError) as error:
        raise MemctlError(
            f"{where}:{name} can't be read: {error}",
            f"`git log -p {where}` shows who wrote it; `git update-ref {where} COMMIT` goes back to an earlier commit",
        ) from None
    return State(**parts)


def _lacking(name: str, where: str) -> MemctlError:
    return MemctlError(
        f"{where} can't be read: it has no {name}, so memctl did not write it",
        f"`git log -p {where}` shows its commits; `git update-ref {where} COMMIT` goes back to an earlier one",
    )


def _refuse_odd(ownerships: Mapping[str, Ownership]) -> None:
    """Raise ValueError for an ownership that memctl does not write, such as one with a time in another form."""
    for section, ownership in ownerships.items():
        if SECTION.fullmatch(section) is None:
            raise ValueError(f"{section!r} is not a section")
        for time in (ownership.acquired_at, ownership.expires_at):
            if time is not None and timestamps.CANONICAL.fullmatch(time) is None:
                raise ValueError(f"{section}: {time!r} is not a time")
        if not ownership.owner_agent_id.isprintable():  # refusals contain it, and agents read them
            raise ValueError(f"{section}: {ownership.owner_agent_id!r} is not the name of an agent")
        if ownership.section_id != section:
            raise ValueError(f"the entry of {section} names another section, {ownership.section_id}")


def _refuse_odd_answers(answers: Mapping[str, Answer]) -> None:
    """Raise ValueError for an answer to a handoff that memctl does not write; it would get into the record."""
    if not answers:
        return
    from memctl.record.handoff import ACCEPTED, DECLINED, WITHDRAWN  # few states have answers

    for identifier, answer in answers.items():
        if answer.status not in (ACCEPTED, DECLINED, WITHDRAWN):
            raise ValueError(f"{identifier}: {answer.status!r} is not an answer")
        if timestamps.CANONICAL.fullmatch(answer.answered_at) is None:
            raise ValueError(f"{identifier}: {answer.answered_at!r} is not a time")
        if not answer.answered_by.isprintable():
            raise ValueError(f"{identifier}: {answer.answered_by!r} is not the name of an agent")
