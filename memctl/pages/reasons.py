"""Say in one sentence why a record, a page or a commit is there, and in one line what was turned down, and why.

Code shows what was chosen; that an option was rejected or given up is known from records alone.
"""

from __future__ import annotations

import re

from memctl.git import message
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import DECISION
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.text.fit import first_sentence, reasons_first
from memctl.text.headings import split
from memctl.text.lazy_regex import lazy_regex

_REJECTED, _SUPERSEDED = "rejected", "superseded"
_TURNED_DOWN = (_REJECTED, _SUPERSEDED, "deprecated")
# The beginning of a sentence that says of the decision itself that it was rejected, and why: "Rejected on 2 October: ",
# "This was turned down because ". That another option was rejected is no reason.
_SAYS_WHY = lazy_regex(
    r"(?:^|(?<=[.!?] ))[ \t>*_-]{0,9}(?:(?:this|it|the (?:decision|proposal|idea|option)) (?:was|is|has been) )?"
    r"(?:rejected|turned down|declined|decided against|not (?:adopted|taken|worth)|(?:reason for )?rejection)\b"
    r"[^:.!?\n]{0,60}?(?::|\b(?:because|since|as))[ \t]+(?P<why>.+)",
    re.IGNORECASE | re.MULTILINE,
)
_OTHER_OPTIONS = lazy_regex(r"alternative|option", re.IGNORECASE)  # in the heading of what was not the decision


def is_turned_down(record: Record) -> bool:
    """Return whether a record is a decision that was rejected or is no longer followed, archived or not."""
    return record.memory_type == DECISION.name and record.status in _TURNED_DOWN


def turned_down(snapshot: Snapshot, record: Record) -> str:
    """Return what became of a decision that was turned down: "rejected 2025-10-01: GraphQL (DEC-…), because …".

    The day is that of the decision, or of its successor. The result is one line, "" for any other record.
    """
    if not is_turned_down(record):
        return ""
    successor = next(filter(None, map(snapshot.find, record.superseded_by)), None)
    day = (successor or record).timestamp[:10]
    by = f" by {successor.id} ({successor.title})" if successor else ""
    reason = reason_of_record(snapshot, record)
    if reason.partition(" ")[0].istitle():  # PostgreSQL and HTTP stay as they are
        reason = reason[0].lower() + reason[1:]
    because = f", because {reason}" if reason else ""
    line = f"{record.status} {day}{by}: {record.title.rstrip('.…')} ({record.id}){because}"
    return line if line.endswith("…") else f"{line.rstrip('. ')}."


def reason_of_record(snapshot: Snapshot, record: Record) -> str:
    """Return the first sentence of the reason that a record gives, or of the record's text if it gives none.

    Of a rejected decision it is why it was rejected, and of a superseded one its successor's reason. The result is ""
    if the record has no text, or none of this, or if its file can't be read any more, or has a credential.
    """
    try:
        if record.status == _REJECTED and is_turned_down(record):
            return _why_rejected(_body(snapshot, record))
        if record.superseded_by and is_turned_down(record):
            successor = next(filter(None, map(snapshot.find, record.superseded_by)), None)
            return reason_of_record(snapshot, successor) if successor and not successor.superseded_by else ""
        return _first_reason(_body(snapshot, record))
    except (InvalidRecord, OSError):
        return ""


def reason_of_page(page: Page) -> str:
    """Return the first sentence of a page's text, "" if it has none."""
    return _first_reason(page.body)


def reason_of_commit(text: str) -> str:
    """Return the first sentence below the subject of a commit's message, "" if there are only trailers."""
    return next(map(first_sentence, message.paragraphs(text)), "")


def _first_reason(body: str) -> str:
    texts = reasons_first((part.heading, part.body) for part in split(body))
    return next((sentence for text in texts if (sentence := first_sentence(text))), "")


def _why_rejected(body: str) -> str:
    """What spoke for a rejected decision is no reason for the rejection."""
    own = (part.body for part in split(body) if not _OTHER_OPTIONS.search(part.heading))
    found = next(filter(None, map(_SAYS_WHY.search, own)), None)
    reason = first_sentence(found["why"]) if found else ""
    return reason[:1].upper() + reason[1:]


def _body(snapshot: Snapshot, record: Record) -> str:
    """A reason is told to models, and cut from what is around it, so a text with a credential gives none."""
    body = snapshot.body(record)
    if record.path in snapshot.suspicious:
        from memctl.text.credentials import find  # most records need none

        return "" if find(body) else body
    return body
