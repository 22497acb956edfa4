"""What refers to records that are to be deleted, and keeps them from it.

A link in the front matter holds, and so does an id in the text of a record or page: it would lead nowhere. What does
not hold is `supersedes`, for that a record is superseded is why it may go. That link is taken out with the record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from memctl.record import mentions
from memctl.record.kinds import OTHER_END
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot

_GIVES_WAY = "supersedes"


def find(
    snapshot: Snapshot, wanted: Sequence[Record], lasting: Sequence[Record], untouchable: Collection[str]
) -> dict[str, str]:
    """What holds each of the wanted records, by their paths: the id of a lasting record, or the marker of a page.

    From a file that is `untouchable` not even `supersedes` can be taken out.
    """
    paths = {name: record.path for record in wanted for name in (record.id, *record.aliases, record.memory_id)}
    held: dict[str, str] = {}
    for record in lasting:
        _hold(held, paths, _linked(record, everything=record.path in untouchable), record.id, record.path)
    texts = snapshot.catalogue.mentions()
    for record in lasting:
        _hold(held, paths, (mention.text for mention in texts.get(record.path, ())), record.id, record.path)
    for page in snapshot.outline.pages:
        _hold(held, paths, (mention.text for mention in mentions.in_text(page.body)), page.id, page.path)
    return held


def _hold(held: dict[str, str], paths: dict[str, str], names: Iterable[str], holder: str, own: str) -> None:
    for name in names:
        path = paths.get(name)
        if path is not None and path != own:
            held.setdefault(path, holder)


def _linked(record: Record, *, everything: bool) -> list[str]:
    linked = [name for field in OTHER_END if everything or field != _GIVES_WAY for name in getattr(record, field)]
    return [*linked, record.parent_memory_id] if record.parent_memory_id else linked
