"""Tell an agent whose tool call failed which lesson or resolved issue has the words of the error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memctl.store.session_dir import SessionDir
from memctl.text.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from memctl.record.record import Record
    from memctl.store.memory import Memory

_WORDS = 3  # of an error: with fewer it says what many errors say, such as "assertion failed"
# The kind of an error at its beginning, such as "ModuleNotFoundError: ", which people leave out.
_KIND = lazy_regex(r"(?i)^(?:[\w.]*(?:error|exception|fatal): *)+")
_LOOKED_AT = 10  # search results that are judged


def find(open_memory: Callable[[], Memory], folder: SessionDir, error: str) -> str:
    """Return a line with the lesson or resolved issue that has the words of an error; "" if there is none.

    A record has them if all telling words of the error's most informative line are in it, or all those of its title
    in that line, which may also name a path or a value. Each record is given once between compactions of a session.
    `open_memory` opens the memory; it is not called if the line has too few words. `folder` is memctl's folder for the
    session.
    """
    from memctl.hooks import file_recall
    from memctl.search.relevance import telling
    from memctl.session import failures

    message = _KIND.sub("", failures.message(error))
    wanted = telling(message)
    if len(wanted) < _WORDS:
        return ""
    memory = open_memory()  # first, so that Git compares with HEAD while other modules are imported
    from memctl import agent_view
    from memctl.pages.reasons import reason_of_record
    from memctl.search import ranking
    from memctl.store import load

    def has_words(record: Record) -> bool:
        title = telling(record.title)
        is_named = len(title) >= _WORDS and title <= wanted
        return is_named or wanted <= title | telling(snapshot.body(record))

    snapshot = agent_view.readable(memory, load.disk(memory))
    about = " ".join(filter(telling, message.replace('"', " ").split()))
    for result in ranking.search(snapshot, about, memory.now, most=_LOOKED_AT):
        record = result.record
        if record is None or not _says_how(record, memory.now) or not has_words(record):
            continue
        if not folder.claim_hint(f"error-{record.id}"):
            return ""
        start = f"{record.id} ({record.status} {record.memory_type}) has the words of this error: "
        return f"{file_recall.sentence(start, record.title, reason_of_record(snapshot, record))}\n"
    return ""


def _says_how(record: Record, now: str) -> bool:
    """Return whether a record may say how an error is avoided or mended: a lesson, or an issue that was resolved."""
    is_resolved = record.memory_type == "issue" and record.status == record.kind.resolved
    return (record.memory_type == "learning" or is_resolved) and record.may_answer(now)
