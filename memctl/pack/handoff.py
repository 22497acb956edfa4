"""Build the package of a handoff, which one agent gives to another, and the report on it (rules.md#handoffs).

The package has the task, what was done, what comes next, and the records and pages in its scope. The report checks it
by rules.md#compaction: each id and path is searched in the finished text.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

import msgspec

from memctl.errors import MemctlError
from memctl.pack import compaction, items
from memctl.pack.budget_fill import CountTokens, Pack, fill
from memctl.pack.draft import NOTICED, Item, PackDraft, PackNote, PackPart
from memctl.pack.handoff_request import (
    CHANGED,
    EMERGENCY,
    FIELDS,
    RELEVANT,
    SECTION,
    TASK,
    TYPES,
    HandoffRequest,
)
from memctl.pack.handoff_scope import Scope
from memctl.pack.items import Sources
from memctl.pack.last_work import PRIOR
from memctl.record.checkpoint import Checkpoint
from memctl.record.filters import ORDERS
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.task import resume_text
from memctl.text.markdown import one_line
from memctl.text.phrases import quantity, some
from memctl.text.words import stems

_SKILLS = 8  # most frequent tags, which count as required skills
_LINES_SHARE = 0.5  # of the budget at most, for the titles of required items without room
# The weights of items: the task, required items by their rank, and pages.
_OF_TASK, _OF_REST, _LEADING = 40, 30, 10
_SHOWN = 5  # missing names that are shown
_ESCAPED_END = re.compile(r"\\[nrt]")  # escapes in quoted YAML text
_WORD = re.compile(r"[A-Za-z0-9_./,-]+")
# The parts of a package: title, condition for a record, and order. A record is in the first part whose condition it
# meets.
_PARTS: dict[str, tuple[str, Callable[[Record, Scope, str], bool], str]] = {
    "current_task_state": ("In progress", lambda r, scope, _: r in scope.subject.tasks, "task"),
    "changed_since": ("Changed since the task was written down", lambda r, scope, _: scope.keeps.get(r.path) == CHANGED,
                      "date"),
    "blocking_dependencies": ("Blocking", lambda r, *_: _is_open(r, "issue") and bool(
        r.blocks or r.severity == "critical"), "severity"),
    "critical_decisions": ("Critical decisions", lambda r, *_: _is_open(r, "decision"), "importance"),
    "open_issues": ("Open issues", lambda r, *_: _is_open(r, "issue"), "severity"),
    "not_started": ("Other work", lambda r, *_: _is_open(r, "state"), "date"),
    "completed": ("Completed", lambda r, _, giver: r.agent_id == giver and r.status in ("done", "resolved"), "date"),
    "observations": ("Learned", lambda r, *_: _is_open(r, "learning"), "importance"),
    "other": ("Besides", lambda *_: True, "date"),
}  # fmt: skip


def _is_open(record: Record, name: str) -> bool:
    return record.memory_type == name and record.is_open


class Check(msgspec.Struct, frozen=True):
    """One line of a package's checklist: what was checked, the number of required entries, and the missing ones.

    `by_title` are the ids of required items that the package has only by id and title.
    """

    name: str
    total: int
    missing: tuple[str, ...] = ()
    by_title: tuple[str, ...] = ()

    def __str__(self) -> str:
        found = f"{self.name}: {self.total - len(self.missing):,} of {self.total:,}"
        found += f", {some(self.by_title, _SHOWN)} by title" if self.by_title else ""
        return found + (f", without {some(self.missing, _SHOWN)}" if self.missing else "")


class HandoffReport(msgspec.Struct, frozen=True):
    """The report on the package of a handoff.

    - `before`, `after`: tokens of the context in scope, and of the part of it in the package.
    - `reduction`, `aim`: the share of `before` that was left out, and the share that should be (0 to 1).
    - `removed`: the number of left out items by reason.
    - `tokens`, `budget`: tokens of the whole package, and their limit.
    - `least`: tokens of context below which no open record is left out.
    - `checks`: the lines of the checklist.
    - `is_chosen`: whether required entries are missing, because only the most important had room.
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
        there = f"{self.after:,} of them in the package: {math.floor(100 * self.reduction)}% less, aim {self.aim:.0%}"
        lines = [f"context: {self.before:,} tokens, {there if self.after else 'none of them in the package'}"]
        if self.after and self.reduction < self.aim:
            lines.append(f"the aim is not reached: below {self.least:,} tokens no open record is left out")
        lines += [f"left out: {number:,} {why}" for why, number in sorted(self.removed.items())]
        lines += ["the budget is too small for everything required: the most important is included"] * self.is_chosen
        return [*lines, *map(str, self.checks), f"package: {self.tokens:,} of {self.budget:,} tokens"]


class Package(msgspec.Struct, frozen=True):
    """A finished package of a handoff: its pack, its records by part, and the report on it.

    `expertise` is a sentence on the skills that the work requires.
    """

    pack: Pack
    parts: dict[str, list[Record]]
    expertise: str
    report: HandoffReport


def package(
    snapshot: Snapshot, now: str, asked: HandoffRequest, scope: Scope, sources: Sources, count: CountTokens
) -> Package:
    """Build the package of a handoff within its budget of tokens.

    Required items are included whole, the most important first, or by id and title if there is no room. Raises
    MemctlError if something required is missing in a handoff of sections (except in an emergency), or if the giver's
    own texts don't fit.
    """
    groups = _groups(scope, asked)
    expertise = _expertise(snapshot, scope.records, asked.to_agent_id)
    written = _items(snapshot, scope, sources)
    must = [item for key, item in written.items() if key in scope.keeps]
    named = count("".join(f"- {item.id} {item.title}\n" for item in must))
    draft = PackDraft(
        project=snapshot.config.project,
        parts=tuple(_parts(groups, scope, written)),
        title="Handoff of {project}",
        root="agent_handoff",
        opening=_opening_notes(asked, expertise, scope),
        closing=_closing_notes(asked),
        others=scope.left,
        lines=min(_LINES_SHARE, max(0.15, named / asked.budget)),
        least_lines=len(must),
        leading=_LEADING,
        made=now,
        source=asked.from_agent_id,
        target=asked.to_agent_id,
        keeps_notes=True,
    )
    pack = fill(draft, asked.form, asked.budget, count, inter_agent=True)
    report = _report(asked, pack, scope, written, count)
    if report.is_chosen and asked.sections and asked.handoff_type != EMERGENCY:
        lacking = [f"- {check}" for check in report.checks if check.missing]
        is_small = asked.budget < TYPES[asked.handoff_type].budget
        larger = "give a larger --budget" if is_small else "choose a --type with a larger budget"
        raise MemctlError(
            "\n".join(["the budget is too small for what the package must contain:", *lacking]),
            f"hand over fewer sections (--section), or {larger}",
        )
    return Package(pack, groups, expertise, report)


def _groups(scope: Scope, asked: HandoffRequest) -> dict[str, list[Record]]:
    """Return the records of a handoff by part, the most important first.

    For a specialist they keep their order of relevance to the task.
    """
    groups: dict[str, list[Record]] = {name: [] for name in _PARTS}
    for record in scope.records:
        groups[
            next(name for name, (_, takes, _) in _PARTS.items() if takes(record, scope, asked.from_agent_id))
        ].append(record)
    for name, (_, _, order) in _PARTS.items():
        if order == "task":
            groups[name].sort(key=scope.subject.tasks.index)
        elif order == "date" or RELEVANT not in scope.keeps.values():
            key, is_descending = ORDERS[order]
            groups[name].sort(key=key, reverse=is_descending)
    return groups


def _items(snapshot: Snapshot, scope: Scope, sources: Sources) -> dict[str, Item]:
    """Return the items of the package by key; required items have the whole text, others no logs."""
    origins = sources.origins(list(scope.records))
    ranks = {path: rank for rank, path in enumerate(scope.keeps)}
    found = {page.key: msgspec.structs.replace(page, weight=_LEADING) for page in scope.pages}
    state = scope.subject.state
    if isinstance(state, Checkpoint) and state.checkpoint_id in scope.keeps:
        body = items.screen(snapshot, resume_text.write(state).text)  # the text that resumes the work
        facts = (("date", state.saved_at), ("by", state.saved_by))
        name, title = state.checkpoint_id, f"Checkpoint of {state.workflow_id}"
        found[name] = Item("checkpoint", name, title, body, facts, name, _OF_TASK)
    for record in scope.records:
        item, why = items.of_record(snapshot, record, origins), scope.keeps.get(record.path)
        rank = _OF_TASK if why == TASK else max(_LEADING + 1, _OF_REST - ranks.get(record.path, 0)) if why else 0
        body = item.body if why else compaction.without_logs(item.body)
        found[record.path] = msgspec.structs.replace(item, body=body, weight=rank)
    return found


def _parts(groups: dict[str, list[Record]], scope: Scope, written: dict[str, Item]) -> Iterator[PackPart]:
    saved = [item for item in written.values() if item.kind == "checkpoint"]
    title = "Sections handed over" if SECTION in scope.keeps.values() else "Pages"
    for name, records in groups.items():
        is_first = name == "current_task_state"
        found = [written[record.path] for record in records]
        yield PackPart(name, _PARTS[name][0], (*(saved if is_first else ()), *found))
        if is_first:
            yield PackPart("sections", title, tuple(written[page.key] for page in scope.pages))
    yield msgspec.structs.replace(PRIOR, items=scope.prior)


def _expertise(snapshot: Snapshot, packed: Sequence[Record], agent: str) -> str:
    """Return a sentence on the skills that the work requires (its most frequent tags), and those that the agent has."""
    profile = snapshot.config.agents.get(agent)
    skills = profile.skills if profile else ()
    counts = Counter(tag for record in packed for tag in record.tags)
    required = sorted(counts, key=lambda tag: (-counts[tag], tag))[:_SKILLS]
    asked = f"the work needs {', '.join(map(one_line, required))}" if required else "no tag says what the work needs"
    if not skills:
        return f"{asked}; config.yaml lists no skills of {agent}."
    known = stems(" ".join(skills))
    held = [tag for tag in required if stems(tag) & known] if required else skills
    share = f" ({len(held) / len(required):.0%})" if required else ""
    return f"{asked}; {agent} has {', '.join(map(one_line, held)) or 'none of them'}{share}."


def _opening_notes(asked: HandoffRequest, expertise: str, scope: Scope) -> tuple[PackNote, ...]:
    """Return the first notes of the package: its agents, reason, task, summary, ownership and changed files."""
    head = f"{asked.id} from {one_line(asked.from_agent_id)} to {one_line(asked.to_agent_id)}, {asked.handoff_type}"
    head += f", {', '.join(asked.sections)}" if asked.sections else ""
    head += f". `memctl handoff accept {asked.id}` takes it over."
    more = sum(record not in scope.records for record in scope.subject.known)
    if TYPES[asked.handoff_type].is_narrow and more:
        commands = "; ".join(f"`memctl list --section {one[1:]}`" for one in asked.sections) or "`memctl list`"
        head += f" The memory has {quantity(more, 'more record')}: {commands}."
    texts = [
        ("handoff_metadata", "", head),
        ("reason", "Reason", one_line(asked.reason)),
        ("task", "Task", one_line(asked.task)),
        ("agent_expertise_match", "Expertise", expertise),
        ("executive_summary", "", asked.summary.strip()),
        ("ownership_transfers", "Ownership", "; ".join(map(one_line, asked.transfers))),
        ("recent_changes", "Last changed files", "; ".join(one_line(f"{path} ({how})") for path, how in asked.changes)),
    ]
    notes = [PackNote(name, title, text, essential=True) for name, title, text in texts if text]
    return (notes[0], NOTICED, *notes[1:])


def _closing_notes(asked: HandoffRequest) -> tuple[PackNote, ...]:
    """Return the last notes of the package: the lists of FIELDS that the giver filled, the next actions last."""
    said = {field: asked.lines.get(field.name, ()) for field in FIELDS[::-1]}
    return tuple(
        PackNote(field.element or field.name, field.title, "\n".join(f"- {one_line(line)}" for line in lines), True)
        for field, lines in said.items()
        if lines
    )


def _report(
    asked: HandoffRequest, pack: Pack, scope: Scope, written: dict[str, Item], count: CountTokens
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
        "last file modifications": [path for path, _ in asked.changes],
        "ownership": asked.sections,
        "what is said": [text for texts in asked.texts.values() for text in texts],
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
        aim=TYPES[asked.handoff_type].aim,
        removed=dict(Counter(left.why or "of no room" for left in pack.left_out)),
        tokens=pack.tokens,
        budget=pack.budget,
        least=TYPES[asked.handoff_type].least,
        checks=tuple(checks),
        is_chosen=any(check.missing for check in checks),
    )


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(_ESCAPED_END.sub(" ", html.unescape(text))):
        if stripped := word.strip("./,-_"):
            yield stripped
            yield from filter(None, re.split(r"[/,]", stripped))
