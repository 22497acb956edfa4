"""Writing a session's page, and the records that were accepted, as one Change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memctl.errors import MemctlError
from memctl.record import session_page
from memctl.record.change import Change, Delete, Write
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import KINDS
from memctl.record.session_page import SessionPage
from memctl.session import composing, fitting, merging
from memctl.session.fitting import Fitted
from memctl.session.proposals import Proposal
from memctl.session.summary import SessionSummary
from memctl.store import files, load
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as IdSequence
from memctl.tokens.count import Counter
from memctl.tokens.families import family_of
from memctl.transcript.events import GIT
from memctl.write import create

OP = "summarize"


def plan(memory: Memory, sequence: IdSequence, summary: SessionSummary, accepted: Sequence[Proposal] = ()) -> Change:
    """The Change that writes a summary down, or merges it into what there is; raises MemctlError."""
    old_texts, old = existing(memory, summary.id)
    writes, deletes = replaced(memory, old_texts, made(memory, summary, old))
    identifiers = list[str]()
    for proposal in accepted:
        change = create.create(memory, sequence, None, proposal.draft(KINDS))
        writes += change.writes
        identifiers += change.ids
    return Change(
        op=OP,
        title=title(summary.id, summary.form, len(summary.trail.entries), summary.metrics.turns),
        ids=tuple(identifiers),
        writes=tuple(writes),
        deletes=tuple(deletes),
        session=summary.id,
    )


def title(identifier: str, form: str, files: int, turns: int) -> str:
    """What the commit of a session's page is called: how much the session came to. Of turns Git knows nothing."""
    told = f"{identifier}: {files:,} file{'s' if files != 1 else ''}"
    return told if form == GIT else f"{told}, {turns:,} turn{'s' if turns != 1 else ''}"


def replaced(memory: Memory, old: Mapping[str, str], new: Fitted) -> tuple[list[Write], list[Delete]]:
    """The files of a page in the place of those that there were; raises MemctlError for one that nobody could read."""
    texts = new.texts
    for path, text in texts.items():
        if (size := len(text.encode())) > files.MAX_BYTES:
            raise MemctlError(
                f"{memory.tracked(path)} would have {size:,} bytes; at most {files.MAX_BYTES:,} are read",
                "give the session's transcript in parts, each with a name of its own (--id)",
            )
    writes = [Write(path, text, old.get(path)) for path, text in texts.items()]
    return writes, [Delete(path, text) for path, text in old.items() if path not in texts]


def made(memory: Memory, summary: SessionSummary, old: SessionPage | None) -> Fitted:
    """The page of a summary, merged with an older one, within its budget."""
    new = composing.compose(summary, memory.config.project, memory.now)
    if old is not None:
        new = merging.merge(old, new, summary.succeeded)
    return fitted(memory, new)


def fitted(memory: Memory, whole: SessionPage) -> Fitted:
    """A page within its budget. To count tokens takes 180 ms the first time, so one that surely fits is not counted:
    ASCII has at most .75 tokens a character for any model (logs have .40 by o200k, and a model counts 1.8 times that).
    """
    text = session_page.render(whole)
    most = len(text) + 4 * sum(not character.isascii() for character in text)
    if most <= fitting.MOST_TOKENS and not whole.trail:
        return Fitted(whole)
    return fitting.fit(whole, _counter(memory))


def tokens(memory: Memory, text: str) -> int:
    """How many tokens a page has."""
    return _counter(memory).tokens(text)


def _counter(memory: Memory) -> Counter:
    return Counter(family_of(memory.config.model), load.open_cache(memory))


def existing(memory: Memory, identifier: str) -> tuple[dict[str, str], SessionPage | None]:
    """The files of the page that a session has already, and the page with all its files; none if there is none.

    Raises MemctlError if they can't be read.
    """
    path = session_page.path_of(identifier)
    snapshot = load.disk(memory)
    if path not in snapshot.names(session_page.FOLDER):
        return {}, None
    try:
        text = snapshot.read(path)
        found = session_page.parse(text, path)
        texts = {path: text}
        if found.trail:
            texts[found.trail] = snapshot.read(found.trail)
            found = session_page.joined(found, session_page.parse(texts[found.trail], found.trail))
        return texts, found
    except (FileNotFoundError, NotADirectoryError):
        raise MemctlError(
            f"{memory.tracked(session_page.trail_of(identifier))}, the list of the session's files, is missing",
            "bring it back with Git: without it their paths would be lost",
        ) from None
    except InvalidRecord as error:
        raise MemctlError(f"{memory.prefix}/{error}", "mend the file, or move it away") from None
