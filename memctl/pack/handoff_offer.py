"""Offering a handoff: from what the giver says to the ownership that moves, the package, and the record of both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pack import handoff, handoff_context, handoff_said, phase, supply
from memctl.pack.context_summary import BUDGET
from memctl.pack.filling import CountTokens
from memctl.pack.handoff import Package
from memctl.pack.handoff_said import EMERGENCY, HandoffRequest, HandoffText, MissingField
from memctl.pack.items import Sources
from memctl.pages import access_filter
from memctl.record.change import Change, Write, WriteOptions
from memctl.record.handoff import package_path
from memctl.record.kinds import HANDOFF
from memctl.record.record import TITLE_LIMIT, Record
from memctl.record.snapshot import Snapshot
from memctl.sources import recency
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as Ids
from memctl.team import handoffs, ownership, read_access, ref_state
from memctl.team.handoffs import Given
from memctl.team.ref_state import Plan, Step
from memctl.team.state import State, agent_name
from memctl.text.markdown import one_line
from memctl.write import create, transaction, two_phase
from memctl.write.two_phase import Done

_SOURCE = re.compile(r" \[[A-Z]{3}-[\d-]+\]$")  # of a line that comes from a record
_LISTED = 30  # records of a part that the record of a handoff names; the package has them all


class HandoffRefused(MemctlError):
    """A handoff that says too little: every field, and how to give it."""

    def __init__(self, findings: Sequence[MissingField]) -> None:
        lines = [f"{one.field}: {one.message} ({one.option})" for one in findings]
        super().__init__("\n".join(["the handoff says too little:", *lines]), "give them, or record them first")
        self.findings = list(findings)


class HandoffTerms(msgspec.Struct, frozen=True, kw_only=True):
    """A handoff as it is asked for: from whom to whom, one of `handoff.BUDGETS`, which sections, what is said."""

    giver: str
    taker: str
    kind: str
    sections: tuple[str, ...]
    said: HandoffText
    form: str
    budget: int
    changes: tuple[tuple[str, str], ...] = ()


class Offered(msgspec.Struct, frozen=True):
    """A handoff that is recorded (or would be): what was written and agreed, and the package for the taker."""

    done: Done
    package: Package


def terms(
    memory: Memory,
    read: Callable[[], Snapshot],
    *,
    taker: str,
    kind: str,
    said: HandoffText,
    form: str,
    giver: str = "",
    sections: Sequence[str] = (),
    budget: int | None = None,
) -> HandoffTerms:
    """Return the terms of a handoff by whoever is at work, of all of the memory or of some sections (such as §2.1).

    Only for an emergency another one than who is at work may be the giver. Raises MemctlError.
    """
    source = agent_name(giver) if giver else memory.actor
    if source != memory.actor and kind != EMERGENCY:
        raise MemctlError(
            f"only {source} can hand over its work", "for an agent that failed: --type emergency --reason WHY", USAGE
        )
    owned = tuple(dict.fromkeys(ownership.section_id(section) for section in sections))
    most = handoff.BUDGETS[kind]
    if budget is not None and budget > most:
        raise MemctlError(f"a handoff of type {kind} has at most {most:,} tokens", exit_code=USAGE)
    target = agent_name(taker)
    if source == target and kind != "continuation":
        raise MemctlError(f"{target} would hand over to itself", "--type continuation goes on in a fresh window", USAGE)
    return HandoffTerms(
        giver=source,
        taker=target,
        kind=kind,
        sections=owned,
        said=said,
        form=form,
        budget=budget or most,
        changes=_changes(memory, read() if owned else None, owned),
    )


def _changes(memory: Memory, snapshot: Snapshot | None, sections: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The files that were changed last, of those that the sections cover if they cover any."""
    outline = snapshot.outline if snapshot else None
    pages = [page for section in sections if outline and (page := outline.find(section))]
    parents = [outline.find(page.section) for page in pages if outline and page.section]
    globs = tuple(glob for page in (*pages, *filter(None, parents)) for glob in page.paths)
    return tuple(recency.last_files(memory.repository, globs=globs))


def offer(
    memory: Memory,
    wish: HandoffTerms,
    read: Callable[[], Snapshot],
    count: CountTokens,
    options: WriteOptions,
    remote: str = "",
) -> Offered:
    """Hand work over: the record, its package and the ownership of the sections, all of it or nothing.

    `read` gives the memory as the giver may read it. Raises HandoffRefused, or MemctlError.
    """
    offering = Offering(memory, wish, read, lambda snapshot: supply.sources(memory, snapshot, None), count)
    offering.prepare()
    done = two_phase.carry_out(memory, transaction.write, offering.plan, offering.make, options, remote)
    assert offering.package is not None
    return Offered(done, offering.package)


class Offering:
    """One handoff on its way: the plan for the shared state, and the change of the memory that belongs to it.

    `read` gives the memory as the giver may read it, `sources` what packs are made of. Once `make` was called,
    `package` is what the taker gets.
    """

    def __init__(
        self,
        memory: Memory,
        wish: HandoffTerms,
        read: Callable[[], Snapshot],
        sources: Callable[[Snapshot], Sources],
        count: CountTokens,
    ) -> None:
        self._memory = memory
        self._wish = wish
        self._read = read
        self._sources = sources
        self._count = count
        self._given = Given(handoff="", giver=wish.giver, taker=wish.taker, sections=wish.sections, now=memory.now)
        self._ids = Ids(memory)
        self.package: Package | None = None
        self._prepared: tuple[Given, State, Change] | None = None

    def prepare(self) -> None:
        """Make the package on what the shared state is now, so that nobody has to wait for that when it changes."""
        state = ref_state.read(self._memory).state
        step = self.plan(state)
        self.make(ref_state.StateOutcome(step, state))

    @property
    def plan(self) -> Plan:
        """What becomes of the shared state."""

        def plan(state: State) -> Step:
            self._given = msgspec.structs.replace(
                self._given,
                handoff=self._ids.anew().take(HANDOFF, self._memory.now[:10])[0],
                unowned=handoffs.unowned(state, self._wish.sections, self._memory.now),
            )
            return handoffs.offer(self._given)(state)

        return plan

    def make(self, agreed: ref_state.StateOutcome) -> Change:
        """The record and the package; raises HandoffRefused, or MemctlError if no package can be made that is whole.

        What was made before on the same shared state and for the same id is it.
        """
        if self._prepared and self._prepared[:2] == (self._given, ref_state.content(agreed.before)):
            return self._prepared[2]
        change = self._made(agreed)
        self._prepared = self._given, ref_state.content(agreed.before), change
        return change

    def _made(self, agreed: ref_state.StateOutcome) -> Change:
        wish, memory = self._wish, self._memory
        snapshot, closed = self._read(), read_access.closed_to(agreed.step.state, wish.taker, memory.now)
        snapshot = snapshot if closed is None else access_filter.without_closed(snapshot, closed)
        records = handoff_context.concerned(snapshot, memory.now, wish.sections, wish.giver)
        worked = self._sources(snapshot).worked
        states = handoff_context.current_task(records, wish.giver, worked)
        blocking = [r for r in records if r.memory_type == "issue" and r.is_open and r.severity == "critical"]
        standing = phase.standing(snapshot, memory.now, worked, wish.sections)
        if not standing.lines:  # the sections have nothing to say: what the memory says is more than nothing
            lines = phase.standing(snapshot, memory.now, worked).lines
            standing = msgspec.structs.replace(standing, lines=lines)
        said = handoff_said.completed(wish.said, snapshot, standing, states, blocking)
        if found := list(handoff_said.findings(wish.said, said, wish.kind, self._count)):
            raise HandoffRefused(found)
        said = msgspec.structs.replace(said, summary=handoff_said.within(said.summary, BUDGET, self._count))
        asked = HandoffRequest(
            id=self._given.handoff,
            source=wish.giver,
            target=wish.taker,
            kind=wish.kind,
            said=said,
            sections=wish.sections,
            transfers=tuple(self._transfers(agreed)),
            changes=wish.changes,
        )
        made = handoff.package(
            snapshot, memory.now, asked, self._sources(snapshot), self._count, wish.form, wish.budget
        )
        self.package = made
        return self._recorded(asked, made)

    def _transfers(self, agreed: ref_state.StateOutcome) -> Iterable[str]:
        for section in self._wish.sections:
            before = agreed.before.live(section, self._memory.now)
            was = f"{before.owner_agent_id}, since {before.acquired_at}" if before else "nobody"
            held = agreed.step.state.section_ownership_map[section]
            yield f"{section} {held.ownership_type}: {held.owner_agent_id}, before {was}"

    def _recorded(self, asked: HandoffRequest, made: Package) -> Change:
        """The Change that adds the record, and beside it the package to the letter."""
        said = asked.said
        subject = said.task or (said.immediate[0] if said.immediate else said.reason)
        title = one_line(f"To {asked.target}: {_SOURCE.sub('', subject)}")
        draft = create.Draft(
            kind=HANDOFF,
            values={
                "title": title if len(title) <= TITLE_LIMIT else f"{title[: TITLE_LIMIT - 2]} …",
                "from_agent_id": asked.source,
                "to_agent_id": asked.target,
                "handoff_type": asked.kind,
                "task": said.task or None,
                "sections": list(asked.sections),
                "unowned": list(self._given.unowned),
                "context_token_count": made.pack.tokens,
            },
            content=_content(asked, made),
        )
        change = create.create(self._memory, self._ids.anew(), None, draft)
        record = change.writes[0]
        return msgspec.structs.replace(change, writes=(record, Write(package_path(record.path), made.pack.text)))


def _content(asked: HandoffRequest, made: Package) -> dict[str, Any]:
    said, parts = asked.said, made.parts
    return {
        "reason": said.reason,
        "context_summary": said.summary,
        "immediate": list(said.immediate),
        "short_term": list(said.short_term),
        "success_criteria": list(said.success_criteria),
        "critical_decisions": _named(parts["critical_decisions"]),
        "open_issues": _named(parts["open_issues"]),
        "blocking_dependencies": _named(parts["blocking_dependencies"]),
        "completed": _named(parts["completed"]),
        "in_progress": _named(parts["current_task_state"]),
        "not_started": _named(parts["not_started"]),
        "ownership_transfers": list(asked.transfers),
        "expertise_match": made.expertise,
        "observations": list(said.observation),
        "suggested_approach": list(said.approach),
        "known_pitfalls": list(said.pitfall),
        "useful_resources": list(said.resource),
        "validation": "\n".join(f"- {one_line(line)}" for line in made.report.lines),
    }


def _named(records: Sequence[Record]) -> list[str]:
    named = [f"{record.id} {one_line(record.title)}" for record in records[:_LISTED]]
    return [*named, f"and {len(records) - _LISTED:,} more"] if len(records) > _LISTED else named
