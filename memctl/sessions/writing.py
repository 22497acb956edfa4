"""Writing a session's page, and the records that were accepted, as one Change."""

from __future__ import annotations

from collections.abc import Sequence

from memctl.errors import MemctlError
from memctl.lifecycle import create
from memctl.model.change import Change, Write
from memctl.model.faults import InvalidRecord
from memctl.model.kinds import KINDS
from memctl.sessions import composing, merging, page
from memctl.sessions.page import Page
from memctl.sessions.proposals import Proposal
from memctl.sessions.summary import Summary
from memctl.store import files, load
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as IdSequence
from memctl.tokens.count import Counter
from memctl.tokens.families import family_of


def plan(memory: Memory, sequence: IdSequence, summary: Summary, accepted: Sequence[Proposal] = ()) -> Change:
    """The Change that writes a summary down, or merges it into what there is; raises MemctlError."""
    path = page.path_of(summary.id)
    old_text, old = existing(memory, summary.id)
    text = page.render(made(memory, summary, old))
    writes, identifiers = [Write(path, text, old_text)], list[str]()
    for proposal in accepted:
        change = create.create(memory, sequence, None, proposal.draft(KINDS))
        writes += change.writes
        identifiers += change.ids
    count = len(summary.trail.entries)
    title = f"{summary.id}: {count:,} file{'s' if count != 1 else ''}, {summary.metrics.turns:,} turns"
    return Change(op="summarize", title=title, ids=tuple(identifiers), writes=tuple(writes), session=summary.id)


def made(memory: Memory, summary: Summary, old: Page | None) -> Page:
    """The page of a summary, merged with an older one, within its budget."""
    new = composing.compose(summary, memory.config.project, memory.now)
    if old is not None:
        new = merging.merge(old, new, summary.succeeded)
    return merging.fit(new, _counter(memory))


def tokens(memory: Memory, text: str) -> int:
    """How many tokens a page has."""
    return _counter(memory).tokens(text)


def _counter(memory: Memory) -> Counter:
    return Counter(family_of(memory.config.model), load.open_cache(memory))


def existing(memory: Memory, identifier: str) -> tuple[str | None, Page | None]:
    """The page that a session has already, as text and read; raises MemctlError if it can't be read."""
    path = page.path_of(identifier)
    try:
        text = files.read(memory.folder, path)
        return text, page.parse(text, path)
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    except InvalidRecord as error:
        raise MemctlError(f"{memory.prefix}/{error}", "mend the file, or move it away") from None
