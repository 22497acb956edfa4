"""A change of the memory as a value, which operations return; it is committed or, with `--dry-run`, only printed."""

# Without `from __future__ import annotations`: msgspec would compile each postponed annotation when it first decodes.

import msgspec

from memctl.record.errors import InvalidRecord
from memctl.record.kinds import DECISION, HANDOFF
from memctl.record.parser import parse
from memctl.record.record import Record

REDACT = "redact"  # the operation that may change the text of accepted decisions: it removes secrets
HANDOVERS = ("handoff", "accept", "decline", "withdraw")  # the operations that may change who owns a section
AT_ONCE = (*HANDOVERS, "upgrade")  # the operations whose commit others have to see at once
RENUMBER = "renumber"  # the operation whose deletions lose no text: it writes the text to a file with another name


class Write(msgspec.Struct, frozen=True):
    """A file that a change writes.

    `path` is relative to `.memory/`, `text` is the file's whole new text, and `old` the text before (None for a new
    file).
    """

    path: str  # relative to `.memory/`
    text: str
    old: str | None = None


class Delete(msgspec.Struct, frozen=True):
    """A file that a change deletes: its path relative to `.memory/`, and its text before the deletion (`old`)."""

    path: str  # relative to `.memory/`
    old: str


class RecordAction(msgspec.Struct, frozen=True):
    """What a change of many records does to one of these records, and why.

    `action` is one word, such as `archive` or `delete`, and `id` is the id of the record. The commit's message has a
    line (a Git trailer) for each RecordAction.
    """

    action: str  # one word: `archive`, `delete`, …
    id: str
    reason: str


class Change(msgspec.Struct, frozen=True):
    """The files that one commit writes and deletes, and what its message says.

    - `op` is the operation (`decide`, `edit`, …), and `title` is the rest of the commit's subject.
    - `ids` are the ids of the records that the operation changes.
    - `actor` is who makes the change, `session` the session in which it is made, and `reason` why; each may be "".
    - `deeds` says, for an operation on many records, what is done to each record and why.
    """

    op: str
    title: str
    ids: tuple[str, ...] = ()
    writes: tuple[Write, ...] = ()
    deletes: tuple[Delete, ...] = ()
    actor: str = ""
    reason: str = ""
    session: str = ""
    deeds: tuple[RecordAction, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the change writes and deletes nothing."""
        return not self.deletes and all(write.text == write.old for write in self.writes)

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of all files that the change writes or deletes, relative to `.memory/`."""
        return tuple(write.path for write in self.writes) + tuple(delete.path for delete in self.deletes)


class WriteOptions(msgspec.Struct, frozen=True):
    """The options that every writing command has, such as `--reason` and `--dry-run`, as values.

    Each field but `redact` has the name of its option: `allow_secret` is `--allow-secret`. `strict` decides whether a
    new record is checked for usefulness: True refuses a record that lacks a reason or the like, False only prints a
    hint, and None does not check. `redact` replaces what looks like a credential instead of refusing it. It is for
    texts that nobody reads before they are written, such as sessions' pages.
    """

    reason: str = ""  # goes into the commit
    dry_run: bool = False  # write nothing
    no_commit: bool = False  # write the files, and leave the commit to `memctl commit`
    allow_secret: bool = False  # let text pass that looks like a credential
    allow_owned: bool = False  # write to sections of others; needs a reason
    discard: bool = False  # delete text that Git does not have
    strict: bool | None = None  # refuse a record that lacks a reason or the like; None: do not check
    redact: bool = False  # redact what looks like a credential, in text that nobody reads before it is written


def is_final(record: Record) -> bool:
    """Return whether the text of a record may not change: it is a handoff, or a decision that is not just proposed."""
    return record.memory_type == HANDOFF.name or (record.memory_type == DECISION.name and record.status != "proposed")


def rewords(before: str, now: str, path: str) -> bool:
    """Return whether an edit of a file changes the title or body of an accepted decision, which must stay as it was.

    `before` and `now` are the whole text of the file at `path`, before and after the edit. A redaction of a credential
    and what formatters change, such as the breaks of lines, do not count. The result is False if the file is not a
    valid record.
    """
    try:
        (old, old_body), (new, new_body) = parse(before, path), parse(now, path)
    except InvalidRecord:
        return False
    if old.memory_type != DECISION.name or old.status != "accepted":
        return False
    if not _is_redacted(old.title, new.title):
        return True
    from memctl.text import markdown  # few decisions are edited

    return not _is_redacted(old_body, new_body) and markdown.unwrapped(old_body) != markdown.unwrapped(new_body)


def _is_redacted(before: str, now: str) -> bool:
    if "[redacted: " not in now:
        return before == now
    from memctl.text.credentials import mark_pattern

    first, *parts = mark_pattern().split(now)
    if not parts:
        return before == now
    *parts, last = parts
    place = len(first)
    for part in parts:
        place = before.find(part, place + 1) + len(part)
        if place < len(part):
            return False
    return before.startswith(first) and before.endswith(last) and place < len(before) - len(last)
