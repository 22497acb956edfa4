"""Offering a handoff: from what the giver says to the ownership that moves, the package, and the record of both."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pack import handoff, handoff_request, handoff_scope, phase, supply
from memctl.pack.context_summary import BUDGET
from memctl.pack.filling import CountTokens
from memctl.pack.handoff import Package
from memctl.pack.handoff_request import CONTINUATION, EMERGENCY, HandoffRequest, HandoffText, MissingField, within
from memctl.pack.handoff_scope import BUDGETS
from memctl.pages import access_filter
from memctl.record.change import Change, Write, WriteOptions
from memctl.record.handoff import package_path
from memctl.record.kinds import HANDOFF
from memctl.record.pages import code_path
from memctl.record.record import TITLE_LIMIT, Record
from memctl.record.snapshot import Snapshot
from memctl.sources import recency
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as Ids
from memctl.team import handoffs, ownership, read_access, ref_state
from memctl.team.handoffs import Given
from memctl.team.ref_state import Step
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


class Offered(msgspec.Struct, frozen=True):
    """A handoff that is recorded (or would be): as it was asked for, what was written and agreed, and the package."""

    asked: HandoffRequest
    done: Done
    package: Package


def request(
    memory: Memory,
    *,
    taker: str,
    kind: str,
    said: HandoffText,
    form: str,
    giver: str = "",
    sections: Sequence[str] = (),
    budget: int | None = None,
) -> HandoffRequest:
    """A handoff by whoever is at work, of all of the memory or of some sections (such as §2.1).

    Only for an emergency another one than who is at work may be the giver. Raises MemctlError.
    """
    source, target = agent_name(giver) if giver else memory.actor, agent_name(taker)
    if source != memory.actor and kind != EMERGENCY:
        raise MemctlError(
            f"only {source} can hand over its work", "for an agent that failed: --type emergency --reason WHY", USAGE
        )
    most = BUDGETS[kind]
    if budget is not None and budget > most:
        raise MemctlError(f"a handoff of type {kind} has at most {most:,} tokens", exit_code=USAGE)
    if source == target and kind != CONTINUATION:
        raise MemctlError(f"{target} would hand over to itself", "--type continuation goes on in a fresh window", USAGE)
    owned = tuple(dict.fromkeys(ownership.section_id(section) for section in sections))
    return HandoffRequest(
        source=source, target=target, kind=kind, said=said, form=form, budget=budget or most, sections=owned
    )


def offer(
    memory: Memory,
    asked: HandoffRequest,
    read: Callable[[], Snapshot],
    count: CountTokens,
    options: WriteOptions,
    remote: str = "",
) -> Offered:
    """Hand work over: the record, its package and the ownership of the sections, all of it or nothing.

    `read` gives the memory as the giver may read it. Raises HandoffRefused, or MemctlError.
    """
    offering = _Offering(memory, asked, read, count)
    state = ref_state.read(memory).state
    offering.make(ref_state.StateOutcome(offering.plan(state), state))  # nobody waits for that once the state changes
    done = two_phase.carry_out(memory, transaction.write, offering.plan, offering.make, options, remote)
    assert offering.package is not None
    return Offered(offering.asked, done, offering.package)


class _Offering:
    """One handoff on its way: the plan for the shared state, and the change of the memory that belongs to it.

    Once `make` was called, `asked` says all that the package does.
    """

    def __init__(self, memory: Memory, asked: HandoffRequest, read: Callable[[], Snapshot], count: CountTokens) -> None:
        self.asked = asked
        self.package: Package | None = None
        self._memory, self._read, self._count = memory, read, count
        self._given_text = asked.said
        self._given = Given(handoff="", giver=asked.source, taker=asked.target, sections=asked.sections, now=memory.now)
        self._ids = Ids(memory)
        self._made: tuple[Given, State, Change] | None = None

    def plan(self, state: State) -> Step:
        """What becomes of the shared state."""
        self._given = msgspec.structs.replace(
            self._given,
            handoff=self._ids.anew().take(HANDOFF, self._memory.now[:10])[0],
            unowned=handoffs.unowned(state, self.asked.sections, self._memory.now),
        )
        return handoffs.offer(self._given)(state)

    def make(self, agreed: ref_state.StateOutcome) -> Change:
        """The record and the package; raises HandoffRefused, or MemctlError if no package can be made that is whole.

        What was made before on the same shared state and for the same id is it.
        """
        before = ref_state.content(agreed.before)
        if self._made is None or self._made[:2] != (self._given, before):
            self._made = self._given, before, self._make(agreed)
        return self._made[2]

    def _make(self, agreed: ref_state.StateOutcome) -> Change:
        memory, asked = self._memory, msgspec.structs.replace(self.asked, said=self._given_text)
        snapshot, closed = self._read(), read_access.closed_to(agreed.step.state, asked.target, memory.now)
        snapshot = snapshot if closed is None else access_filter.without_closed(snapshot, closed)
        sources = supply.sources(memory, snapshot, None)
        scope = handoff_scope.gather(snapshot, memory.now, asked, sources, self._count)
        blockers = sources.blockers()
        standing = phase.standing(snapshot, memory.now, sources.worked, scope.sections, scope.tasks[:1], blockers)
        words = self._given_text
        if (named := handoff_scope.task_named(snapshot, words.task)) is not None:
            words = msgspec.structs.replace(words, task=f"{one_line(named.title)} [{named.id}]")
        given = msgspec.structs.replace(asked, said=words, changes=_changes(memory, snapshot, scope.sections))
        said = handoff_request.complete(given, scope.state, standing, scope.known, snapshot)
        if found := list(handoff_request.findings(given.said, said, asked.kind, self._count)):
            raise HandoffRefused(found)
        self.asked = msgspec.structs.replace(
            given,
            id=self._given.handoff,
            said=msgspec.structs.replace(
                said, summary=within(said.summary, BUDGET if asked.kind != EMERGENCY else BUDGET // 2, self._count)
            ),
            transfers=tuple(self._transfers(agreed)),
        )
        self.package = handoff.package(snapshot, memory.now, self.asked, scope, sources, self._count)
        return self._recorded(self.asked, self.package)

    def _transfers(self, agreed: ref_state.StateOutcome) -> Iterable[str]:
        for section in self.asked.sections:
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


def _changes(memory: Memory, snapshot: Snapshot, sections: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """The files that were changed last: of sections those that they cover, or that their records refer to.

    What is kept from the reader of the snapshot is left out.
    """
    globs = handoff_scope.globs_of(snapshot, sections)
    if sections and not globs:
        records = phase.of_sections(snapshot, snapshot.open_records, sections)
        globs = [code_path(ref) for record in records for ref in record.code_refs]
    if sections and not globs:
        return ()
    found = recency.last_files(memory.repository, globs=globs)
    closed = snapshot.withheld.among(path for path, _ in found)
    return tuple(one for one in found if one[0] not in closed)


def _content(asked: HandoffRequest, made: Package) -> dict[str, Any]:
    """The texts of the record, by its fields."""
    said, parts = asked.said, made.parts
    names = ("immediate", "short_term", "success_criteria", "constraints", "inputs", "expected_outputs", "deliverables")
    return {
        **{name: list(said.lines(name)) for name in names},
        **{
            name: _named(parts[name])
            for name in ("critical_decisions", "open_issues", "blocking_dependencies", "completed", "not_started")
        },
        "reason": said.reason,
        "context_summary": said.summary,
        "in_progress": _named([*parts["current_task_state"], *parts["changed_since"]]),
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
