"""Build the draft of a rehydration: what an agent needs to know when it starts to work (rules.md#rehydration).

The budget is filled in this order:

1. The most important records. These are issues of critical or high severity (at most 15), decisions of the last 30 days
   with an importance of 7 or more (at most 10), and learnings of the last 60 days (at most 5). Records of importance 9
   or more count whatever their age.
2. The last session, a checkpoint that nobody has resumed, and current tasks. Up to a third of the budget is kept free
   for them, but at most 1,500 tokens.
3. All other open records, by importance; records about the latest work come somewhat earlier. As many as fit are whole,
   and the others have one line each.

The age of a record only decides how early it comes: an old decision is still binding, and so it is not left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import msgspec

from memctl.pack import items, last_work
from memctl.pack.budget_fill import CountTokens
from memctl.pack.draft import FIRST, NOTICED, REST, SECOND, Item, PackDraft, PackNote, PackPart
from memctl.pack.formats.markdown import markdown_item
from memctl.pack.items import RecordOrigin, Sources, TaskMatches
from memctl.pack.last_work import EndedSession
from memctl.pack.rank import (
    CRITICAL,
    LIMITS,
    WEIGHTY_FOR_TASK,
    by_nearness,
    is_urgent,
    placed,
    weighty,
    young_first,
)
from memctl.record import content_fields, handoff
from memctl.record.filters import Filters, select, severity_rank
from memctl.record.kinds import ISSUE, KINDS, KNOWLEDGE, LEARNING, SEVERITIES
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search.urgency import Near, by_urgency, near_work, recorded_today
from memctl.text.fit import first_sentence
from memctl.text.markdown import one_line
from memctl.text.phrases import gap, quantity, some

RESOLVED = 10  # issues and states that say how earlier work on the task ended; our own choice
_BESIDES = 3  # critical issues that are named although they are irrelevant to the task
_LEFT = 0.6  # share of the room for latest work that the last sessions take; the tasks have the rest
_LATELY = 3  # states worked on last, in whose sections the latest work is
_AT_ONCE = 50  # records that Git is asked about together
TITLES = {
    "state": "Current state",
    "session": "Where work was left",
    "decision": "Key decisions",
    "issue": "Open issues",
    "learning": "Learnings that may apply",
    "resolved": "Resolved before",
}
BESIDES = PackPart("besides", "Besides the task")
_ALL_NAMED, _NAMED_BESIDES = 0.3, 0.15  # of a budget for titles that name all, and beside records that match a task


class RehydrationRequest(msgspec.Struct, frozen=True):
    """A request for a rehydration, a pack that starts an agent's work; an empty field sets no condition.

    - `task` is the task to find records for.
    - `section` is a marker: only records of this page and of the pages below it are included.
    - `since` is a time such as "2025-11-04T14:32:00Z": only records made from then on are included.
    - `agent` is the name of an agent: only this agent's records are included.
    - `reader` is the agent that reads the pack. `has_work` says that it already has the text on where work stands.
    """

    task: str = ""
    section: str = ""
    since: str = ""
    agent: str = ""
    reader: str = ""
    has_work: bool = False

    def filters(self, snapshot: Snapshot) -> Filters:
        """Return the conditions that `section`, `agent` and `since` set on records."""
        paths = snapshot.outline.records_in([self.section], snapshot.catalogue) if self.section else None
        return Filters(paths=paths, agent=self.agent, since=self.since)

    @property
    def narrowed_by(self) -> str:
        """The command line options that leave out records, such as "--section §2.1"; "" if there are none."""
        conditions = {"section": self.section, "since": self.since, "agent": one_line(self.agent)}
        return " ".join(f"--{name} {value}" for name, value in conditions.items() if value)


NO_CONDITIONS = RehydrationRequest()


class _Material(msgspec.Struct, frozen=True):
    """What a rehydration is made of; `known` has the last commits of records that Git was asked about, by path.

    `about` is what matches the task, `today` the paths of records made today, `ended` the sessions with a page, and
    `near` tells records near the latest work.
    """

    snapshot: Snapshot
    now: str
    request: RehydrationRequest
    sources: Sources
    about: TaskMatches
    today: Collection[str]
    ended: Sequence[EndedSession]
    near: Near
    known: dict[str, RecordOrigin] = {}

    def ask(self, records: Iterable[Record]) -> None:
        """Ask Git at once about records, so that no later call has to."""
        self.known.update(self.sources.origins([record for record in records if record.path not in self.known]))

    def items(self, records: Sequence[Record]) -> list[Item]:
        """Return records as items with their weight."""
        self.ask(records)
        made = (items.of_record(self.snapshot, record, self.known) for record in records)
        return [placed(item, self.about, self.today) for item in made]

    def certain_first(self, records: Sequence[Record]) -> tuple[Item, ...]:
        """Return records as items; those that are only proposed, or whose code is gone, come last."""
        return tuple(sorted(self.items(records), key=lambda item: not item.weight))

    def whole(self, records: Sequence[Record]) -> Iterator[Item]:
        """Yield records as items, 50 at a time, because most packs have room for few."""
        for start in range(0, len(records), _AT_ONCE):
            yield from self.items(records[start : start + _AT_ONCE])


def draft(
    snapshot: Snapshot,
    now: str,
    request: RehydrationRequest,
    sources: Sources,
    count: CountTokens,
    work: int = last_work.WORK,
) -> PackDraft:
    """Return the draft of a rehydration, the pack with what an agent needs to start its work.

    `now` is the current time, such as "2025-11-04T14:32:00Z". `sources` gets further facts about records and pages,
    such as their last commits. The last session, a checkpoint to resume and current tasks take at most `work` tokens,
    as `count` counts them.
    """
    unexpired, filters = current_records(snapshot, now), request.filters(snapshot)
    current = filters.keep(unexpired)
    about = items.match_task(snapshot, request.task, filters, now, with_places=not request.narrowed_by)
    sources.ahead(current)
    today, ended, active = recorded_today(current, now), last_work.sessions(snapshot), _active(current, about, sources)
    near = near_work(active[:_LATELY], _touched(snapshot, current, ended, sources), today)
    material = _Material(snapshot, now, request, sources, about, today, ended, near)
    chosen = choose(current, now, request, about.records, near)
    material.ask([*active, *about.resolved[:RESOLVED], *chain.from_iterable(chosen.values())])
    left, states, closing, reserve = _latest_work(material, active, count, work)
    parts, rest = _parts(material, current, chosen, left, states)
    return PackDraft(
        project=snapshot.config.project,
        parts=parts,
        opening=tuple(_opening(material, unexpired, len(unexpired) - len(current), rest)),
        closing=tuple(closing),
        others=tuple(items.omit(record) for record in rest),
        whole=lambda: material.whole(rest),
        rest=BESIDES if about.is_met else REST,
        all_named=_NAMED_BESIDES if about.is_met else _ALL_NAMED,
        reserve=reserve,
        sections={page.id: page.title for page in (*snapshot.outline.sections, *snapshot.outline.details)},
        leading=WEIGHTY_FOR_TASK if about.is_met else CRITICAL,
        made=now,
    )


def _latest_work(
    material: _Material, active: Sequence[Record], count: CountTokens, work: int
) -> tuple[list[Item], list[Item], list[PackNote], int]:
    """Return where work was left, the current tasks, their closing note, and the tokens that all would need.

    Critical tasks that have no room in these are tasks, too, so that they are named.
    """
    request, states = material.request, material.items(active)
    left: list[Item] = []
    tasks: list[Item] = []
    reserve = 0
    for limit in (max(work, last_work.WORK), work):  # a small pack has less only if that is too much
        if not (request.narrowed_by or request.has_work):
            room, worktree = int(limit * _LEFT), material.sources.worktree()
            left = last_work.collect(material.snapshot, material.ended, room, count, material.now, worktree)
        tasks = last_work.take_fitting(states, limit - _cost(left, count), count)
        reserve = max(reserve, spent := _cost([*left, *tasks], count))
        if spent <= work:
            break
    if not (left or tasks):
        reserve = 0
    shown, closing = _last_first(tasks)
    return left, shown + [item for item in states if item not in tasks and item.weight >= CRITICAL], closing, reserve


def _touched(
    snapshot: Snapshot, current: Sequence[Record], ended: Sequence[EndedSession], sources: Sources
) -> set[str]:
    """Return the paths of the files of the latest work, as far as records refer to code."""
    if not any(record.code_refs for record in current):
        return set()
    return {*last_work.files(snapshot, ended), *sources.touched()}


def _parts(
    material: _Material,
    current: Sequence[Record],
    chosen: Mapping[str, Sequence[Record]],
    left: Sequence[Item],
    states: Sequence[Item],
) -> tuple[tuple[PackPart, ...], list[Record]]:
    """Return the parts of a rehydration, and the records that are in none of them, the most important first.

    `chosen` are the most important records by type. `left` and `states` are the items of the latest work.
    """
    about, request = material.about, material.request
    of_work = (
        PackPart("state", TITLES["state"], tuple(states), rank=SECOND),
        PackPart("session", TITLES["session"], tuple(left), rank=SECOND),
    )
    important, relevant = _important_parts(material, chosen), _relevant_parts(material)
    parts = [_section_part(material)] if request.section else []
    parts += [*of_work, *important, *relevant] if about.records else [*of_work, *relevant, *important]
    taken = {item.key for part in parts for item in part.items}
    others = [record for record in current if record.path not in taken]
    rest = by_nearness(others, about.fits, material.near, material.now)
    if not about.is_met:  # those whose titles no pack may lose come before the rest
        urgent = [record for record in rest if is_urgent(record, material.today)][:_AT_ONCE]
        parts.append(msgspec.structs.replace(REST, items=tuple(material.items(urgent)), rank=SECOND))
        rest = [record for record in rest if record not in urgent]
    return tuple(parts), rest


def _relevant_parts(material: _Material) -> list[PackPart]:
    """Return the parts with the pages and the resolved records that are relevant to a task, without empty ones."""
    about = material.about
    pages = tuple(items.of_result(material.snapshot, place) for place in about.places)
    parts = [
        PackPart("page", "Pages", pages, rank=FIRST),
        PackPart("resolved", TITLES["resolved"], material.certain_first(about.resolved[:RESOLVED]), rank=FIRST),
    ]
    return [part for part in parts if part.items]


def _important_parts(material: _Material, chosen: Mapping[str, Sequence[Record]]) -> list[PackPart]:
    """Return a part for each record type, with the records of `chosen` (by type), which get room before the others."""
    about = material.about
    return [
        PackPart(
            name,
            TITLES[name],
            material.certain_first(records),
            rank=0 if about.is_met and not about.records else FIRST,
            shortest_first=name != LEARNING.name and not about.is_met,
            counted=name == ISSUE.name and not about.is_met,
        )
        for name, records in chosen.items()
    ]


def current_records(snapshot: Snapshot, now: str) -> list[Record]:
    """Return the records that matter now: open and not expired, without handoffs.

    `now` is the current time, such as "2025-11-04T14:32:00Z".
    """
    return [r for r in snapshot.open_records if r.memory_type in KNOWLEDGE and not r.is_expired(now)]


def choose(
    current: list[Record],
    now: str,
    request: RehydrationRequest = NO_CONDITIONS,
    matching: Sequence[Record] = (),
    near: Near = lambda _: False,
) -> dict[str, list[Record]]:
    """Return the most important records, with which a rehydration begins, by record type and the most important first.

    `current` are the records to choose from, and `now` is the current time, such as "2025-11-04T14:32:00Z". Only
    records within the limits of age, importance and severity in rules.md#rehydration are returned, unless the request
    names a section or a time.

    `matching` are the records that match the request's task, the best first. If there are any, only these are returned,
    and the limits do not apply. `near` tells records near the latest work.
    """
    by_type = {name: [r for r in current if r.memory_type == name] for name in LIMITS}
    if matching:
        chosen = {name: [r for r in matching if r.memory_type == name] for name in LIMITS}
    else:
        chosen = by_type if request.since or request.section else weighty(by_type, now)
        chosen["decision"] = select(chosen["decision"], Filters(), "importance")
        chosen["issue"] = sorted(by_urgency(chosen["issue"], near, lambda _: 0), key=severity_rank)
        chosen["learning"].sort(key=lambda r: (r.importance < CRITICAL, -r.access_count, -r.importance, r.id))
    if not matching:
        chosen = {name: young_first(records, now) for name, records in chosen.items()}
    return {name: chosen[name][:limit] for name, limit in LIMITS.items()}


def _active(current: Sequence[Record], about: TaskMatches, sources: Sources) -> list[Record]:
    """Return the current states, the one worked on last first; for a task only those that match, or just the first."""
    active = [record for record in current if record.memory_type == "state"]
    worked = sources.worked(active) if len(active) > 1 else {}
    ordered = last_work.by_last_work(active, worked)
    if about.is_met:
        ordered = [record for record in about.records if record.memory_type == "state"] or ordered[:1]
    return ordered[:_AT_ONCE]


def _opening(
    material: _Material, unexpired: Sequence[Record], filtered: int, rest: Sequence[Record]
) -> Iterator[PackNote]:
    """Yield the notes at the beginning.

    After those on the memory come what is left out, blockers of all agents, other critical issues, and handoffs.
    """
    snapshot, request = material.snapshot, material.request
    yield NOTICED
    yield from notes(snapshot, unexpired, material.now, material.ended, request.task, is_met=material.about.is_met)
    expired = sum(record.memory_type in KNOWLEDGE for record in snapshot.open_records) - len(unexpired)
    if expired:
        yield PackNote("expired", "", f"{quantity(expired, 'record')} left out as expired; `memctl check` names them.")
    if filtered:
        yield PackNote("filtered", "", f"{quantity(filtered, 'other open record')} left out by {request.narrowed_by}.")
    critical = [record for record in rest if record.severity == SEVERITIES[0]] if request.task else []
    waiting = [offer.record for offer in handoff.waiting(snapshot, request.reader)] if request.reader else []
    risks, offers = ([f"{record.id} {record.title}" for record in records] for records in (critical, waiting))
    for name, title, lines, end in (
        ("blocked", "Blocked for all agents", material.sources.blockers(), ""),
        ("open_risks", "Other open risks", risks, ""),
        ("handoffs", "Handed to you", offers, "; `memctl team handoff show ID`."),
    ):
        if lines:
            text = some([one_line(line) for line in lines], _BESIDES, "; ", "; and ")
            yield PackNote(name, title, f"{text}{end}", essential=True)


def _section_part(material: _Material) -> PackPart:
    """Return the part with a section's page and its pages of details."""
    outline, section = material.snapshot.outline, material.request.section
    page = outline.find(section)
    wanted = [*([page] if page else []), *outline.details_of(section)]
    pages = tuple(items.of_page(page, material.sources.page(page)) for page in wanted)
    return PackPart("page", "Pages", pages, rank=FIRST)


def _cost(items: Iterable[Item], count: CountTokens) -> int:
    return sum(count(markdown_item(item)) for item in items)


def _last_first(states: list[Item]) -> tuple[list[Item], list[PackNote]]:
    """Move the next actions of the first state to a closing note, because models heed the end of a text well."""
    if not states:
        return [], []
    state, actions = items.split_off(states[0], "Next actions")
    if not actions.strip():
        return states, []
    text = f"{state.id} {one_line(state.title)}:\n\n{actions}"
    return [state, *states[1:]], [PackNote("next", "Next actions", text, of=state.key)]


_PRIORITIES = 3  # rules.md#levels-of-pages


def notes(
    snapshot: Snapshot,
    current: Sequence[Record],
    now: str,
    ended: Sequence[EndedSession],
    task: str = "",
    *,
    is_met: bool = True,
) -> Iterator[PackNote]:
    """Yield the notes of a rehydration: on the task, on unreadable files, and on the project, its records and sessions.

    `current` are the records that the notes count, and `ended` the sessions with a page. `now` is the current time,
    such as "2025-11-04T14:32:00Z". `is_met` says whether the memory has anything that matches the task.
    """
    if task and is_met:
        yield PackNote("task", "Chosen for the task", one_line(task), essential=True)
    elif task:
        yield PackNote("unmet_task", "Nothing recorded matches", one_line(task), essential=True)
    if number := len({fault.path for fault in snapshot.catalogue.faults()}):
        files = f"{quantity(number, 'file')} of the memory can't be read"
        yield PackNote("unreadable", "", f"{files}; `memctl status` says why.", essential=True)
    if lines := list(project(snapshot)):
        yield PackNote("summary", "", "\n".join(lines))
    yield PackNote("records", "Records", count_by_type(current))
    if line := continuity(snapshot, now, [session.ended for session in ended]):
        yield PackNote("continuity", "", line)


def project(snapshot: Snapshot) -> Iterator[str]:
    """Yield sentences on the project's goal, completion and priorities, from its page or config.yaml."""
    page = snapshot.outline.project
    content = content_fields.content(page.kind, page.body) if page else {}
    goal = content.get("goal") or snapshot.config.description
    if isinstance(goal, str) and goal.strip():
        yield first_sentence(goal)
    if page and page.completion_percentage is not None:
        yield f"{page.completion_percentage} % complete."
    if priorities := content.get("priorities"):
        yield "Priorities: " + "; ".join(first_sentence(item).rstrip(".") for item in priorities[:_PRIORITIES]) + "."


def count_by_type(current: Sequence[Record]) -> str:
    """Return the number of records of each type as text: "2 decisions, 1 state.", or "none open." for no records."""
    counts = Counter(record.memory_type for record in current)
    nouns = {name: kind.plural if counts[name] != 1 else kind.plural[:-1] for name, kind in KINDS.items()}
    parts = [f"{counts[name]:,} {noun}" for name, noun in nouns.items() if name in counts]
    return f"{', '.join(parts)}." if parts else "none open."


def continuity(snapshot: Snapshot, now: str, ends: Sequence[str] = ()) -> str:
    """Return a sentence on when the latest record was made and how many sessions have a page; "" for an empty memory.

    `now` is the current time, such as "2025-11-04T14:32:00Z". `ends` are the times at which the sessions ended.
    """
    last = snapshot.catalogue.latest(with_handoffs=True)
    if last is None:
        return ""
    ended = f"; {quantity(len(ends), 'session')} summarized, the last ended {_ago(max(ends), now)}" if ends else ""
    agent = one_line(last.agent_id).replace("|", "\N{BROKEN BAR}")
    said = "Last recorded" if last.recorded is not None else "Latest, by its own date"  # not by the import's
    return f"{said}: {last.id} by {agent}, {_ago(last.timestamp, now)}{ended}."


def _ago(moment: str, now: str) -> str:
    """Return a time with how long ago it was: "2025-11-04T14:32:00Z (2 days ago)"."""
    ago = gap(moment, now)
    return f"{moment}{f' ({ago} ago)' if ago else ''}"
