"""Why, in one sentence: what a record, a page or a commit says first of its reason."""

from __future__ import annotations

from memctl.git import message
from memctl.record.content_fields import HasFields, content
from memctl.record.errors import InvalidRecord
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.text.headings import split
from memctl.text.markdown import first_sentence


def of_record(snapshot: Snapshot, record: Record) -> str:
    """The first sentence of the field that says why, else of the first part that says anything; "" if none does, or if
    the record can't be read any more."""
    try:
        return _first(record.kind, snapshot.body(record), record.kind.reason)
    except (InvalidRecord, OSError):
        return ""


def of_page(page: Page) -> str:
    """The first sentence of a page, its title if it has none."""
    return _first(page.kind, page.body) or page.title


def of_commit(text: str) -> str:
    """The first sentence below the subject of a commit's message; "" if there are only trailers."""
    return next(map(first_sentence, message.paragraphs(text)), "")


def _first(kind: HasFields, body: str, field: str = "") -> str:
    known = content(kind, body)
    texts = [known.get(field, ""), *known.values(), *(part.body for part in split(body))]
    said = ("\n".join(text) if isinstance(text, list) else text for text in texts)
    return next((sentence for text in said if (sentence := first_sentence(text))), "")
