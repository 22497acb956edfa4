"""Probing the summary of a session: the facts that are at hand, the replies of the page, and what they come to."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from memctl.errors import MemctlError
from memctl.git import differences, history
from memctl.record import timestamps
from memctl.record.session_page import SessionPage
from memctl.session import asking, kept_probes, probes
from memctl.session.asking import Reply
from memctl.session.paths import Places
from memctl.session.probes import KINDS, Probe
from memctl.session.summary import SessionSummary
from memctl.store.memory import Memory
from memctl.transcript.events import Session

TRANSCRIPT, KEPT, GIT = "the transcript", "probes kept when it was summed up", "Git alone: only files can be asked for"


class ProbeFacts(msgspec.Struct, frozen=True):
    """The probes of a session and where they are from; `is_whole` says whether more than Git knows is among them."""

    probes: tuple[Probe, ...]
    source: str

    @property
    def is_whole(self) -> bool:
        return self.source != GIT


class AnsweredShare(msgspec.Struct, frozen=True):
    """How many probes of a kind there are, and how many of them are answered."""

    kind: str
    asked: int
    answered: int

    @property
    def value(self) -> float | None:
        return self.answered / self.asked if self.asked else None


def of_transcript(memory: Memory, summary: SessionSummary, session: Session) -> list[Probe]:
    """The probes of a session that is summed up."""
    return probes.made(summary, session, Places(memory.repository.top, session.cwd))


def facts(memory: Memory, page: SessionPage, told: Sequence[Probe], until: str = "") -> ProbeFacts:
    """What a page is asked for: what a transcript has `told`, with what was kept of other parts of the session; else
    what was kept; else the files that Git saw change meanwhile.

    `until` is when the transcript ends ("" if unknown): the page's end tells whether a later part was summed up.
    """
    kept = kept_probes.read(memory, page.id)
    if told:
        is_earlier = bool(until) and until < str(page.values.get("ended") or "")
        return ProbeFacts(tuple(probes.merged(told, kept) if is_earlier else probes.merged(kept, told)), TRANSCRIPT)
    if kept:
        return ProbeFacts(tuple(kept), KEPT)
    return ProbeFacts(tuple(_of_git(memory, page)), GIT)


def _of_git(memory: Memory, page: SessionPage) -> list[Probe]:
    started, ended = (page.values.get(name) for name in ("started", "ended"))
    if not isinstance(started, str) or not isinstance(ended, str):
        return []
    before, after = (history.commit_before(memory.repository, timestamps.parse(moment)) for moment in (started, ended))
    if not before or before == after:
        return []
    changes = differences.changed_between(memory.repository, before, after)
    return probes.of_git(change for change in changes if not change.path.startswith(f"{memory.prefix}/"))


def replies(found: ProbeFacts, page: SessionPage) -> list[Reply]:
    """The exact replies of a page with all its files; raises MemctlError if there is nothing to ask for."""
    if not found.probes:
        raise MemctlError(
            f"nothing is known of the session {page.id} that its page could be asked for",
            "give its transcript: `memctl session probe --transcript FILE`",
        )
    return asking.exactly(found.probes, page)


def shares(made: Sequence[Reply]) -> list[AnsweredShare]:
    """The share of each kind, and of all."""
    rows = [(kind, [one for one in made if one.probe.kind == kind]) for kind in KINDS]
    return [AnsweredShare(kind, len(of), sum(one.answered for one in of)) for kind, of in (*rows, ("all", list(made)))]
