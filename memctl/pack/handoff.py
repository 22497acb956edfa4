"""Offer a handoff: build its package, the text that the taker of the work gets, and move ownership (rules.md#handoffs).

The package has the task, what was done, what comes next, and the records and pages in its scope. A report says whether
the package is complete: each required id and path is searched in the finished text.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pack import compaction, handoff_request, handoff_scope, item_sources, items, phase_summary
from memctl.pack.budget_fill import CountTokens, Pack, fill
from memctl.pack.draft import NOTICED, Item, PackDraft, PackNote, PackPart
from memctl.pack.handoff_request import CHANGED, CONTINUATION, EMERGENCY, FIELDS, SECTION, TASK, HandoffRequest
from memctl.pack.handoff_scope import Scope
from memctl.pack.items import Sources
from memctl.pack.last_work import PRIOR
from memctl.pages import access_filter
from memctl.record import ids
from memctl.record.change import Change, Write, WriteOptions
from memctl.record.checkpoint import Checkpoint
from memctl.record.filters import ORDERS
from memctl.record.handoff import KEYS, OFFERED, package_path
from memctl.record.kinds import HANDOFF
from memctl.record.pages import code_path
from memctl.record.record import TITLE_LIMIT, Record
from memctl.record.snapshot import Snapshot
from memctl.sources import recency
from memctl.store import load, sequence
from memctl.store.memory import Memory
from memctl.task import events, resume
from memctl.team import handoffs, ownership, read_access, ref_state
from memctl.team.ref_state import StateOutcome, Step
from memctl.team.state import State, agent_name
from memctl.text.markdown import one_line
from memctl.text.phrases import quantity, some
from memctl.text.words import stems
from memctl.write import create, ownership_transaction, transaction
from memctl.write.ownership_transaction import StepResult

_SKILLS = 8  # most frequent tags, which count as required skills
_LINES_SHARE = 0.5  # of the budget at most, for the titles of required items without room
# The weights of items: the task, required items by their rank, and pages.
_OF_TASK, _OF_REST, _LEADING = 40, 30, 10
_SHOWN = 5  # missing names that are shown
_LISTED = 30  # records of a part that the handoff's record lists; the package has all
_ESCAPED_END = re.compile(r"\\[nrt]")  # escapes in quoted YAML text
_WORD = re.compile(r"[A-Za-z0-9_./,-]+")
_SOURCE = re.compile(r" \[[A-Z]{3}-[\d-]+\]$")  # the id at the end of a line that comes from a record
# The names of lists in the package where they differ from those in the handoff's record.
_ELEMENTS = {"immediate": "next", "observations": "from_agent_observations"}
# The parts of a package: their titles, and the order of their records.
_PARTS = {
    "current_task_state": ("In progress", "task"),
    "changed_since": ("Changed since the task was written down", "date"),
    "blocking_dependencies": ("Blocking", "severity"),
    "critical_decisions": ("Critical decisions", "importance"),
    "open_issues": ("Open issues", "severity"),
    "not_started": ("Other work", "date"),
    "completed": ("Completed", "date"),
    "observations": ("Learned", "importance"),
    "other": ("Besides", "date"),
}
_OF_OPEN = {
    "decision": "critical_decisions",
    "issue": "open_issues",
    "state": "not_started",
    "learning": "observations",
}


def _part_of(record: Record, scope: Scope, giver: str) -> str:
    """Return the name of the part of a package that a record belongs to."""
    if record in scope.tasks:
        return "current_task_state"
    if scope.keeps.get(record.path) == CHANGED:
        return "changed_since"
    if record.is_open:
        is_blocking = record.memory_type == "issue" and (record.blocks or record.severity == "critical")
        return "blocking_dependencies" if is_blocking else _OF_OPEN.get(record.memory_type, "other")
    return "completed" if record.agent_id == giver and record.status in ("done", "resolved") else "other"


class Check(msgspec.Struct, frozen=True):
    """One line of the report on a handoff's package: whether the package has all required entries of one kind.

    `name` is the kind, such as "binding decisions", and `total` the number of required entries. `missing` are the
    entries that the package lacks, and `by_title` the ids of those that it has only by id and title.
    """

    name: str
    total: int
    missing: tuple[str, ...] = ()
    by_title: tuple[str, ...] = ()

    def __str__(self) -> str:
        line = f"{self.name}: {self.total - len(self.missing):,} of {self.total:,}"
        line += f", {some(self.by_title, _SHOWN)} by title" if self.by_title else ""
        return line + (f", without {some(self.missing, _SHOWN)}" if self.missing else "")


class HandoffReport(msgspec.Struct, frozen=True):
    """The report on the package of a handoff.

    - `before`: tokens of all records and pages that were considered. `after`: tokens of those in the package.
    - `reduction`: the share of `before` that was left out. `aim`: the share that should be left out (both 0 to 1).
    - `least`: about the size in tokens below which a package leaves out no open record, even if the aim is missed.
    - `removed`: the number of items that were left out, by reason.
    - `tokens`: tokens of the whole package. `budget`: the largest number allowed.
    - `checks`: a line for each kind of required entries.
    - `is_chosen`: whether the budget was too small for all required entries, so that only the most important are
      included.
    """

    before: int
    after: int
    reduction: float
    aim: float
    removed: dict[str, int]
    tokens: int
    budget: int
    least: int
    checks: tuple[Check, ...]
    is_chosen: bool

    @property
    def lines(self) -> list[str]:
        """The report as lines of text."""
        less = f"{math.floor(100 * self.reduction)}% left out, the aim is {self.aim:.0%}"
        there = f"{self.after:,} of them in the package ({less})"
        lines = [f"records and pages: {self.before:,} tokens, {there if self.after else 'none of them in the package'}"]
        if self.after and self.reduction < self.aim:
            why = f"a package of less than {self.least:,} tokens leaves out no open record"
            lines.append(f"the aim is not reached, since {why}")
        lines += [f"left out: {number:,} {why}" for why, number in sorted(self.removed.items())]
        lines += [
            "the budget is too small for all that a handoff must contain: only the most important records are included"
        ] * self.is_chosen
        return [*lines, *map(str, self.checks), f"whole package: {self.tokens:,} of at most {self.budget:,} tokens"]


class Package(msgspec.Struct, frozen=True):
    """A finished package of a handoff: the text that the taker gets, and what it was made from.

    `request` is the request, completed from the memory, and `pack` has the text. `parts` maps the name of each part of
    the package to the records in it. `expertise` is a sentence on the skills that the work requires, and `report` says
    whether the package is complete.
    """

    request: HandoffRequest
    pack: Pack
    parts: dict[str, list[Record]]
    expertise: str
    report: HandoffReport


def package(
    snapshot: Snapshot, now: str, request: HandoffRequest, scope: Scope, sources: Sources, count: CountTokens
) -> Package:
    """Build the package of a handoff within its budget of tokens.

    Required items are included whole, the most important first; if there is no room, by id and title. `now` is the time
    shown in the package, such as "2025-11-04T14:32:00Z". The `request` must have been completed from the memory
    (`handoff_request.complete`). `scope` is the part of the memory that the package is made from. `sources` gets
    further facts about records and pages, and `count` counts the tokens of a text.

    Raises MemctlError if there is no room for the giver's own texts, or not even for the title of a required item. But
    in an emergency, or if the request names no sections, a package that lacks required items is no error.
    """
    groups = _groups(scope, request)
    expertise = _expertise(snapshot, scope.records, request.to_agent_id)
    written = _items(snapshot, scope, sources)
    must = [item for key, item in written.items() if key in scope.keeps]
    named = count("".join(f"- {item.id} {item.title}\n" for item in must))
    draft = PackDraft(
        project=snapshot.config.project,
        parts=tuple(_parts(groups, scope, written)),
        title="Handoff of {project}",
        root="agent_handoff",
        opening=_opening_notes(request, expertise, scope),
        closing=tuple(
            PackNote(_ELEMENTS.get(field.name, field.name), field.heading, "\n".join(map("- {}".format, lines)), True)
            for field in FIELDS[::-1]
            if (lines := [*map(one_line, request.lines.get(field.name, ()))])
        ),
        others=scope.left,
        lines=min(_LINES_SHARE, max(0.15, named / request.budget)),
        least_lines=len(must),
        leading=_LEADING,
        made=now,
        source=request.from_agent_id,
        target=request.to_agent_id,
        keeps_notes=True,
    )
    pack = fill(draft, request.form, request.budget, count, inter_agent=True)
    report = _report(request, pack, scope, written, count)
    if report.is_chosen and request.sections and request.handoff_type != EMERGENCY:
        lacking = [f"- {check}" for check in report.checks if check.missing]
        is_small = request.budget < request.rules.budget
        larger = "give a larger --budget" if is_small else "choose a --type with a larger budget"
        message = "\n".join(["the budget is too small for what the handoff must contain:", *lacking])
        raise MemctlError(message, f"hand over fewer sections (--section), or {larger}")
    return Package(request, pack, groups, expertise, report)


def _groups(scope: Scope, request: HandoffRequest) -> dict[str, list[Record]]:
    """Return the records of a handoff by part, the most important first.

    For a specialist they keep their order of relevance to the task.
    """
    groups: dict[str, list[Record]] = {name: [] for name in _PARTS}
    for record in scope.records:
        groups[_part_of(record, scope, request.from_agent_id)].append(record)
    for name, (_, order) in _PARTS.items():
        if order == "task":
            groups[name].sort(key=scope.tasks.index)
        elif order == "date" or not request.rules.is_ranked:
            key, is_descending = ORDERS[order]
            groups[name].sort(key=key, reverse=is_descending)
    return groups


def _items(snapshot: Snapshot, scope: Scope, sources: Sources) -> dict[str, Item]:
    """Return the items of the package by key; required items have the whole text, others no logs."""
    origins = sources.origins(list(scope.records))
    ranks = {path: rank for rank, path in enumerate(scope.keeps)}
    written = {page.key: msgspec.structs.replace(page, weight=_LEADING) for page in scope.pages}
    state = scope.state
    if isinstance(state, Checkpoint) and state.checkpoint_id in scope.keeps:
        body = items.screen(snapshot, resume.write(state).text)  # the text that resumes the work
        facts = (("date", state.saved_at), ("by", state.saved_by))
        name, title = state.checkpoint_id, f"Checkpoint of {state.workflow_id}"
        written[name] = Item("checkpoint", name, title, body, facts, name, _OF_TASK)
    for record in scope.records:
        item, why = items.of_record(snapshot, record, origins), scope.keeps.get(record.path)
        rank = _OF_TASK if why == TASK else max(_LEADING + 1, _OF_REST - ranks.get(record.path, 0)) if why else 0
        body = item.body if why else compaction.without_logs(item.body)
        written[record.path] = msgspec.structs.replace(item, body=body, weight=rank)
    return written


def _parts(groups: dict[str, list[Record]], scope: Scope, written: dict[str, Item]) -> Iterator[PackPart]:
    saved = [item for item in written.values() if item.kind == "checkpoint"]
    title = "Sections handed over" if SECTION in scope.keeps.values() else "Pages"
    for name, records in groups.items():
        yield PackPart(name, _PARTS[name][0], (*saved, *(written[record.path] for record in records)))
        if name == "current_task_state":
            yield PackPart("sections", title, tuple(written[page.key] for page in scope.pages))
        saved = []
    yield msgspec.structs.replace(PRIOR, items=scope.prior)


def _expertise(snapshot: Snapshot, packed: Sequence[Record], agent: str) -> str:
    """Return a sentence on the skills that the work requires (its most frequent tags), and those that the agent has."""
    profile = snapshot.config.agents.get(agent)
    skills = profile.skills if profile else ()
    counts = Counter(tag for record in packed for tag in record.tags)
    required = sorted(counts, key=lambda tag: (-counts[tag], tag))[:_SKILLS]
    needs = f"the work needs {', '.join(map(one_line, required))}" if required else "no tag says what the work needs"
    if not skills:
        return f"{needs}; config.yaml lists no skills of {agent}."
    known = stems(" ".join(skills))
    held = [tag for tag in required if stems(tag) & known] if required else skills
    share = f" ({len(held) / len(required):.0%})" if required else ""
    return f"{needs}; {agent} has {', '.join(map(one_line, held)) or 'none of them'}{share}."


def _opening_notes(request: HandoffRequest, expertise: str, scope: Scope) -> tuple[PackNote, ...]:
    """Return the first notes of the package: its agents, reason, task, summary, ownership and changed files."""
    giver, taker = one_line(request.from_agent_id), one_line(request.to_agent_id)
    head = f"{request.id} from {giver} to {taker}, {request.handoff_type}"
    head += f", {', '.join(request.sections)}" if request.sections else ""
    head += f". `memctl team handoff accept {request.id}` takes it over."
    more = sum(record not in scope.records for record in scope.known)
    if request.rules.is_narrow and more:
        lists = [f"`memctl list --section {section[1:]}`" for section in request.sections] or ["`memctl list`"]
        head += f" The memory has {quantity(more, 'more record')}: {'; '.join(lists)}."
    changes = "; ".join(one_line(f"{path} ({how})") for path, how in request.changes)
    texts = [
        ("handoff_metadata", "", head),
        ("reason", "Reason", one_line(request.reason)),
        ("task", "Task", one_line(request.task)),
        ("agent_expertise_match", "Expertise", expertise),
        ("executive_summary", "", request.summary.strip()),
        ("ownership_transfers", "Ownership", "; ".join(map(one_line, request.transfers))),
        ("recent_changes", "Last changed files", changes),
    ]
    notes = [PackNote(name, title, text, essential=True) for name, title, text in texts if text]
    return (notes[0], NOTICED, *notes[1:])


def _report(
    request: HandoffRequest, pack: Pack, scope: Scope, written: dict[str, Item], count: CountTokens
) -> HandoffReport:
    """Measure a finished package, and check that it has everything required.

    An entry is there if the package has all its plain words, since formats change other characters. A record or page
    that is not included whole is reported in `by_title`.
    """
    included = Counter(pack.included())
    before = sum(scope.sizes.values())
    there = (f"{item.id} {item.title}\n{item.body}" for item in written.values() if included[item.id])
    after = min(before, sum(map(count, there)))
    words = frozenset(_words(pack.text))
    found: dict[str, list[str]] = {}
    for key, why in scope.keeps.items():
        found.setdefault(why, []).append(written[key].id)
    given = {
        "last file modifications": [path for path, _ in request.changes],
        "ownership": request.sections,
        "texts of the giver": [text for texts in request.texts.values() for text in texts],
    }
    checks = []
    for name, texts in {**found, **given}.items():
        missing = tuple(text for text in texts if not words.issuperset(_words(text)))
        by_title = (text for text in texts if name in found and not included[text] and text not in missing)
        checks += [Check(name, len(texts), missing, tuple(by_title))] if texts else []
    return HandoffReport(
        before=before,
        after=after,
        reduction=round(1 - after / before, 4) if before else 0.0,
        aim=request.rules.aim,
        removed=dict(Counter(left.why or "of no room" for left in pack.left_out)),
        tokens=pack.tokens,
        budget=pack.budget,
        least=request.rules.least,
        checks=tuple(checks),
        is_chosen=any(check.missing for check in checks),
    )


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(_ESCAPED_END.sub(" ", html.unescape(text))):
        if stripped := word.strip("./,-_"):
            yield stripped
            yield from filter(None, re.split(r"[/,]", stripped))


class OfferOutcome(msgspec.Struct, frozen=True):
    """The outcome of offering a handoff: what was written (`done`), the package, and warnings for the giver."""

    done: StepResult
    package: Package
    warnings: tuple[str, ...] = ()


def offer(
    memory: Memory,
    request: HandoffRequest,
    read: Callable[[], Snapshot],
    count: CountTokens,
    options: WriteOptions,
    remote: str = "",
    publish: Callable[[], None] | None = None,
) -> OfferOutcome:
    """Offer a handoff: write its record and package and move the ownership of its sections, all or nothing.

    The `request` is the giver's. `read` is a function that returns the memory as the giver may read it, and `count`
    counts the tokens of a text. `remote` is the name of a Git remote on which the ownership is moved, too, "" for none;
    before that `publish` pushes the record, and may refuse by raising MemctlError. Raises InvalidFields if required
    fields are missing, and MemctlError for other errors.
    """
    request, is_published = _validated(memory, request), False
    made: list[tuple[State, Package, Change]] = []  # the latest package, with the state that it was made for

    def plan(state: State) -> Step:
        nonlocal request
        if not is_published:
            unowned = tuple(section for section in request.sections if state.live(section, memory.now) is None)
            name = sequence.Sequence(memory).take(HANDOFF, memory.now[:10])[0]
            request = msgspec.structs.replace(request, id=name, unowned=unowned)
        return handoffs.offer(state, handoffs.Transfer(request.id, request, memory.now))

    def make(agreed: StateOutcome) -> Change:
        before = ref_state.content(agreed.before)
        if not made or (made[0][0], made[0][1].request.id) != (before, request.id):
            closed = read_access.check_for(agreed.step.state, request.to_agent_id, memory.now)
            snapshot = read() if closed is None else access_filter.without_closed(read(), closed)
            whole = _packed(memory, snapshot, request, _transfers(request, agreed, memory.now), count)
            made[:] = [(before, whole, _recorded(memory, whole))]
        return made[0][-1]

    def push() -> None:
        nonlocal is_published
        publish and publish()
        is_published = True

    state = ref_state.read(memory).state
    make(StateOutcome(plan(state), state))  # slow, and so done before the shared state is locked
    done = ownership_transaction.carry_out(memory, transaction.write, plan, make, options, remote, publish and push)
    _, whole, change = made[0]
    if options.dry_run:
        return OfferOutcome(done, whole)
    request = whole.request
    context = {name: request.lines[name] for name in ("inputs", "expected_outputs", "deliverables", "constraints")}
    mission = request.task or change.title
    taker = request.to_agent_id
    noted = events.note_handoff(memory, request.id, OFFERED, taker, request.sections, mission=mission, **context)
    return OfferOutcome(done, whole, tuple(noted))


def _validated(memory: Memory, request: HandoffRequest) -> HandoffRequest:
    """Return a request with normalized names of agents and sections, and with the budget of its type if it has none.

    Raises MemctlError if another agent than the actor hands over its work (except in an emergency), if an agent hands
    over to itself, if the budget is too large, or if no record has the task's id.
    """
    source = agent_name(request.from_agent_id) if request.from_agent_id else memory.actor
    target, most = agent_name(request.to_agent_id), request.rules.budget
    if source != memory.actor and request.handoff_type != EMERGENCY:
        hint = "for an agent that failed, use --type emergency --reason WHY"
        raise MemctlError(f"only the agent {source} can hand over its own work", hint, USAGE)
    if request.budget > most:
        raise MemctlError(f"a handoff of the type {request.handoff_type} has at most {most:,} tokens", exit_code=USAGE)
    if source == target and request.handoff_type != CONTINUATION:
        hint = "use --type continuation to continue in a new window of the same agent"
        raise MemctlError(f"the agent {target} can't hand over work to itself", hint, USAGE)
    if ids.kind_of(request.task.strip()) is not None:
        load.disk(memory).resolve(request.task)
    sections = tuple(dict.fromkeys(map(ownership.section_id, request.sections)))
    return msgspec.structs.replace(
        request, from_agent_id=source, to_agent_id=target, budget=request.budget or most, sections=sections
    )


def _transfers(request: HandoffRequest, agreed: StateOutcome, now: str) -> tuple[str, ...]:
    """Return one line for each section of a handoff: its new owner and the owner before."""
    lines = []
    for section in request.sections:
        before, held = agreed.before.live(section, now), agreed.step.state.section_ownership_map[section]
        was = f"{before.owner_agent_id}, since {before.acquired_at}" if before else "nobody"
        lines.append(f"{section} ({held.ownership_type}): owned by {held.owner_agent_id}, before that by {was}")
    return tuple(lines)


def _packed(
    memory: Memory, snapshot: Snapshot, request: HandoffRequest, transfers: tuple[str, ...], count: CountTokens
) -> Package:
    """Return the package of a request, which is completed from the memory.

    Raises InvalidFields if required fields are missing, and MemctlError if the package does not fit.
    """
    sources = item_sources.sources(memory, snapshot, None)
    scope = handoff_scope.gather(snapshot, memory.now, request, sources, count)
    standing = phase_summary.assess(snapshot, memory.now, sources.worked, scope.sections, scope.tasks[:1])
    task = f"{one_line(scope.named.title)} [{scope.named.id}]" if scope.named is not None else request.task
    changes = _changes(memory, snapshot, scope)
    request = msgspec.structs.replace(request, task=task, changes=changes, transfers=transfers)
    whole = handoff_request.complete(request, scope.state, standing, scope.known, snapshot, count)
    handoff_request.refuse_faults(request, whole, count)
    return package(snapshot, memory.now, whole, scope, sources, count)


def _changes(memory: Memory, snapshot: Snapshot, scope: Scope) -> tuple[tuple[str, str], ...]:
    """Return the files that were changed last, each with when and how (`recency.last_files`).

    With sections these are files that they cover or that their records refer to. Files that the snapshot withholds from
    the reader are left out.
    """
    globs = scope.globs
    if scope.sections and not globs:
        records = phase_summary.of_sections(snapshot, snapshot.open_records, scope.sections)
        globs = tuple(code_path(ref) for record in records for ref in record.code_refs)
        if not globs:
            return ()
    found = recency.last_files(memory.repository, globs=globs)
    closed = snapshot.withheld.reasons_for(path for path, _ in found)
    return tuple(one for one in found if one[0] not in closed)


def _recorded(memory: Memory, made: Package) -> Change:
    """Return the Change that writes the handoff's record and the text of its package in a file beside it."""
    request = made.request
    subject = request.task or next(iter(request.lines["immediate"]), request.reason)
    title = one_line(f"To {request.to_agent_id}: {_SOURCE.sub('', subject)}")
    values = {
        **{name: value for name in KEYS if (value := msgspec.to_builtins(request)[name])},
        "title": title if len(title) <= TITLE_LIMIT else f"{title[: TITLE_LIMIT - 2]} …",
        "context_token_count": made.pack.tokens,
    }
    content: dict[str, str | list[str]] = {field.name: list(request.lines.get(field.name, ())) for field in FIELDS}
    named = (field.name for field in HANDOFF.fields if not field.option)
    content |= {name: _record_lines(made.parts[name]) for name in named if name in made.parts}
    content |= {
        "reason": request.reason,
        "context_summary": request.summary,
        "in_progress": _record_lines([*made.parts["current_task_state"], *made.parts["changed_since"]]),
        "ownership_transfers": list(request.transfers),
        "expertise_match": made.expertise,
        "validation": "\n".join(f"- {one_line(line)}" for line in made.report.lines),
    }
    draft = create.Draft(kind=HANDOFF, values=values, content=content)
    change = create.create(memory, sequence.Sequence(memory), None, draft)
    text = Write(package_path(change.writes[0].path), made.pack.text)
    return msgspec.structs.replace(change, writes=(change.writes[0], text))


def _record_lines(records: Sequence[Record]) -> list[str]:
    named = [f"{record.id} {one_line(record.title)}" for record in records[:_LISTED]]
    return [*named, f"and {len(records) - _LISTED:,} more"] if len(records) > _LISTED else named
