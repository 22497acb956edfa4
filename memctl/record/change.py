"""A change of the memory as a value: operations return a Change, `--dry-run` prints it, and one function commits it."""

# Without `from __future__ import annotations`: msgspec would compile each postponed annotation when it first decodes.

import msgspec

from memctl.record.errors import InvalidRecord
from memctl.record.kinds import DECISION
from memctl.record.parser import parse

REDACT = "redact"  # the operation that may change the text of accepted decisions: it removes secrets
RENUMBER = "renumber"  # the operation whose deletions lose no text: it writes the text to a file with another name


class Write(msgspec.Struct, frozen=True):
    """A file to write; `text` is its whole new text, `old` the text that it replaces (None for a new file)."""

    path: str  # relative to `.memory/`
    text: str
    old: str | None = None


class Delete(msgspec.Struct, frozen=True):
    """A file to delete; `old` is its text before the deletion."""

    path: str  # relative to `.memory/`
    old: str


class RecordAction(msgspec.Struct, frozen=True):
    """What a change of many records does to one of these records, and why.

    The commit has a trailer for each RecordAction. `action` is one word, such as `archive` or `delete`, and `id` is the
    id of the record.
    """

    action: str  # one word: `archive`, `delete`, …
    id: str
    reason: str


class Change(msgspec.Struct, frozen=True):
    """The files that one commit writes and deletes, and what its message says.

    - `op` is the operation (`decide`, `edit`, …), and `title` is the rest of the commit's subject.
    - `ids` are the records that the operation changes.
    - `actor` is who makes the change, `session` the session in which it is made, and `reason` why; each may be "".
    - `deeds` says what is done to each record and why, if the change is about many records.
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

    Each field has the name of its option: `allow_secret` is `--allow-secret`. With `strict` a record that lacks
    something useful, such as a reason, is refused; with None there is no such check. `redact` has no option. It redacts
    what looks like a credential in text that nobody reads before it is written.
    """

    reason: str = ""  # goes into the commit
    dry_run: bool = False  # write nothing
    no_commit: bool = False  # write the files, and leave the commit to `memctl commit`
    allow_secret: bool = False  # let text pass that looks like a credential
    allow_owned: bool = False  # write to sections of others; needs a reason
    discard: bool = False  # delete text that Git does not have
    strict: bool | None = None  # refuse a record that lacks a reason or the like; None: do not check
    redact: bool = False  # redact what looks like a credential, in text that nobody reads before it is written


def rewords(before: str, now: str, path: str) -> bool:
    """Return whether a record was an accepted decision and gets another title or body by a change of its file.

    `before` and `now` are the whole text of the file at `path`, before and after the change. Texts that differ only by
    redactions count as equal. The result is False for a file that is not a valid record.
    """
    try:
        (old, old_body), (new, new_body) = parse(before, path), parse(now, path)
    except InvalidRecord:
        return False
    is_decided = old.memory_type == DECISION.name and old.status == "accepted"
    return is_decided and not (_is_redacted(old.title, new.title) and _is_redacted(old_body, new_body))


def _is_redacted(before: str, now: str) -> bool:
    """Return whether a text differs from the one before only by redactions."""
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
