"""Offer a handoff: build the package, move the ownership of sections, and record both."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pack import handoff, handoff_request, handoff_scope, phase, supply
from memctl.pack.budget_fill import CountTokens
from memctl.pack.handoff import Package
from memctl.pack.handoff_request import CONTINUATION, EMERGENCY, FIELDS, TYPES, HandoffRequest, MissingField
from memctl.pack.handoff_scope import Subject
from memctl.pages import access_filter
from memctl.record import ids
from memctl.record.change import Change, Write, WriteOptions
from memctl.record.handoff import KEYS, OFFERED, package_path
from memctl.record.kinds import HANDOFF
from memctl.record.pages import code_path
from memctl.record.record import TITLE_LIMIT, Record
from memctl.record.snapshot import Snapshot
from memctl.sources import recency
from memctl.store import load
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence as Ids
from memctl.task import events
from memctl.team import handoffs, ownership, read_access, ref_state
from memctl.team.handoffs import Transfer
from memctl.team.ref_state import StateOutcome, Step
from memctl.team.state import State, agent_name
from memctl.text.markdown import one_line
from memctl.write import create, transaction, two_phase
from memctl.write.two_phase import StepResult

_SOURCE = re.compile(r" \[[A-Z]{3}-[\d-]+\]$")  # the id at the end of a line that comes from a record
_PARTS = ("critical_decisions", "open_issues", "blocking_dependencies", "completed", "not_started")
_LISTED = 30  # records of a part that the handoff's record lists; the package has all


class HandoffRefused(MemctlError):
    """A handoff is refused because required fields are missing or wrong; `findings` has each field with its option."""

    def __init__(self, findings: Sequence[MissingField]) -> None:
        lines = [f"{one.field}: {one.message} ({one.option})" for one in findings]
        super().__init__(
            "\n".join(["the handoff lacks required fields:", *lines]), "give these options, or record the facts first"
        )
        self.findings = list(findings)


class OfferOutcome(msgspec.Struct, frozen=True):
    """The outcome of an offered handoff: the completed request, what was written, the package, and warnings."""

    asked: HandoffRequest
    done: StepResult
    package: Package
    warnings: tuple[str, ...] = ()


def validate(memory: Memory, asked: HandoffRequest) -> HandoffRequest:
    """Return a request with normalized names of agents and sections, and with the budget of its type if it has none.

    Raises MemctlError if another agent than the actor hands over its work (except in an emergency), if an agent hands
    over to itself, if the budget is too large, or if no record has the task's id.
    """
    source, target = (
        agent_name(asked.from_agent_id) if asked.from_agent_id else memory.actor,
        agent_name(asked.to_agent_id),
    )
    most = TYPES[asked.handoff_type].budget
    if source != memory.actor and asked.handoff_type != EMERGENCY:
        hint = "for an agent that failed, use --type emergency --reason WHY"
        raise MemctlError(f"only {source} can hand over its work", hint, USAGE)
    if asked.budget > most:
        raise MemctlError(f"a handoff of type {asked.handoff_type} has at most {most:,} tokens", exit_code=USAGE)
    if source == target and asked.handoff_type != CONTINUATION:
        raise MemctlError(
            f"{target} can't hand over to itself", "use --type continuation to go on in a fresh window", USAGE
        )
    if ids.kind_of(asked.task.strip()) is not None:
        load.disk(memory).resolve(asked.task)
    sections = tuple(dict.fromkeys(map(ownership.section_id, asked.sections)))
    return msgspec.structs.replace(
        asked, from_agent_id=source, to_agent_id=target, budget=asked.budget or most, sections=sections
    )


def offer(
    memory: Memory,
    asked: HandoffRequest,
    read: Callable[[], Snapshot],
    count: CountTokens,
    options: WriteOptions,
    remote: str = "",
) -> OfferOutcome:
    """Offer a handoff: write its record and package and move the ownership of its sections, all or nothing.

    `read` returns the memory as the giver may read it; `remote` is the remote whose shared state is updated, "" for
    none. Raises HandoffRefused if required fields are missing, and MemctlError for other errors.
    """
    asked = validate(memory, asked)
    sequence = Ids(memory)
    made: list[tuple[State, HandoffRequest, Package, Change]] = []  # the latest package, with its state and request

    def plan(state: State) -> Step:
        nonlocal asked
        unowned = tuple(one for one in asked.sections if state.live(one, memory.now) is None)
        asked = msgspec.structs.replace(asked, id=sequence.restart().take(HANDOFF, memory.now[:10])[0], unowned=unowned)
        return handoffs.offer(Transfer(asked.id, asked, memory.now))(state)

    def make(agreed: StateOutcome) -> Change:
        before = ref_state.content(agreed.before)
        if not made or (made[0][0], made[0][1].id) != (before, asked.id):
            named = msgspec.structs.replace(asked, transfers=_transfers(asked, agreed, memory.now))
            closed = read_access.check_for(agreed.step.state, asked.to_agent_id, memory.now)
            snapshot = read() if closed is None else access_filter.without_closed(read(), closed)
            whole, package = _package(memory, snapshot, named, count)
            made[:] = [(before, whole, package, _recorded(memory, sequence, whole, package))]
        return made[0][-1]

    state = ref_state.read(memory).state
    make(StateOutcome(plan(state), state))  # slow, and so done before the shared state is locked
    done = two_phase.carry_out(memory, transaction.write, plan, make, options, remote)
    _, whole, package, change = made[0]
    if options.dry_run:
        return OfferOutcome(whole, done, package)
    context = {name: whole.lines[name] for name in ("inputs", "expected_outputs", "deliverables", "constraints")}
    mission = whole.task or change.title
    noted = events.note_handoff(
        memory, whole.id, OFFERED, whole.to_agent_id, whole.sections, mission=mission, **context
    )
    return OfferOutcome(whole, done, package, tuple(noted))


def _transfers(asked: HandoffRequest, agreed: StateOutcome, now: str) -> tuple[str, ...]:
    """Return one line for each section of a handoff: its new owner and the owner before."""
    found = []
    for section in asked.sections:
        before, held = agreed.before.live(section, now), agreed.step.state.section_ownership_map[section]
        was = f"{before.owner_agent_id}, since {before.acquired_at}" if before else "nobody"
        found.append(f"{section} {held.ownership_type}: {held.owner_agent_id}, before {was}")
    return tuple(found)


def _package(
    memory: Memory, snapshot: Snapshot, asked: HandoffRequest, count: CountTokens
) -> tuple[HandoffRequest, Package]:
    """Return the completed request and its package.

    Raises HandoffRefused if required fields are missing, and MemctlError if the package does not fit.
    """
    sources = supply.sources(memory, snapshot, None)
    scope = handoff_scope.gather(snapshot, memory.now, asked, sources, count)
    about = scope.subject
    standing = phase.assess(snapshot, memory.now, sources.worked, about.sections, about.tasks[:1])
    asked = msgspec.structs.replace(
        asked,
        task=f"{one_line(about.named.title)} [{about.named.id}]" if about.named is not None else asked.task,
        changes=_changes(memory, snapshot, about),
    )
    whole = handoff_request.complete(asked, about.state, standing, about.known, snapshot, count)
    if found := list(handoff_request.findings(asked, whole, count)):
        raise HandoffRefused(found)
    return whole, handoff.package(snapshot, memory.now, whole, scope, sources, count)


def _changes(memory: Memory, snapshot: Snapshot, about: Subject) -> tuple[tuple[str, str], ...]:
    """Return the files that were changed last, each with when and how (`recency.last_files`).

    With sections these are files that they cover or that their records refer to. Files that the snapshot withholds from
    the reader are left out.
    """
    globs = about.globs
    if about.sections and not globs:
        records = phase.of_sections(snapshot, snapshot.open_records, about.sections)
        globs = tuple(code_path(ref) for record in records for ref in record.code_refs)
        if not globs:
            return ()
    found = recency.last_files(memory.repository, globs=globs)
    closed = snapshot.withheld.among(path for path, _ in found)
    return tuple(one for one in found if one[0] not in closed)


def _recorded(memory: Memory, sequence: Ids, asked: HandoffRequest, made: Package) -> Change:
    """Return the Change that writes the handoff's record and the text of its package in a file beside it."""
    subject = asked.task or next(iter(asked.lines["immediate"]), asked.reason)
    title = one_line(f"To {asked.to_agent_id}: {_SOURCE.sub('', subject)}")
    values = {
        **{name: value for name in KEYS if (value := msgspec.to_builtins(asked)[name])},
        "title": title if len(title) <= TITLE_LIMIT else f"{title[: TITLE_LIMIT - 2]} …",
        "context_token_count": made.pack.tokens,
    }
    content: dict[str, str | list[str]] = {
        **{field.record or field.name: list(asked.lines.get(field.name, ())) for field in FIELDS},
        **{name: _record_lines(made.parts[name]) for name in _PARTS},
        "reason": asked.reason,
        "context_summary": asked.summary,
        "in_progress": _record_lines([*made.parts["current_task_state"], *made.parts["changed_since"]]),
        "ownership_transfers": list(asked.transfers),
        "expertise_match": made.expertise,
        "validation": "\n".join(f"- {one_line(line)}" for line in made.report.lines),
    }
    change = create.create(memory, sequence.restart(), None, create.Draft(kind=HANDOFF, values=values, content=content))
    package = Write(package_path(change.writes[0].path), made.pack.text)
    return msgspec.structs.replace(change, writes=(change.writes[0], package))


def _record_lines(records: Sequence[Record]) -> list[str]:
    named = [f"{record.id} {one_line(record.title)}" for record in records[:_LISTED]]
    return [*named, f"and {len(records) - _LISTED:,} more"] if len(records) > _LISTED else named
