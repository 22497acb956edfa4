"""The package that one agent hands to another (rules.md#handoffs): what it is about, what was done, what comes next,
and the context in its scope; and the report on it as it is sent.

What is checked of a package: rules.md#compaction. Nothing is taken on trust: ids and paths are looked for in the
finished text.
"""

from __future__ import annotations

import html
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from memctl.errors import MemctlError
from memctl.pack import compaction, items
from memctl.pack.budget_fill import CountTokens, Pack, fill
from memctl.pack.draft import NOTICED, Item, PackDraft, PackNote, PackPart
from memctl.pack.handoff_request import COMPLETE, CONTINUATION, EMERGENCY, FIELDS, HandoffRequest
from memctl.pack.handoff_scope import AIMS, BUDGETS, CHANGED, LEAST, RELEVANT, SECTION, TASK, Scope
from memctl.pack.items import Sources
from memctl.pack.last_work import PRIOR
from memctl.record.checkpoint import Checkpoint
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search.filters import ORDERS
from memctl.task import resume_text
from memctl.text.markdown import one_line
from memctl.text.phrases import quantity, some
from memctl.text.words import stems

_SKILLS = 8  # tags that say what a piece of work asks for
_SAID_SHARE = 0.6  # of the budget at most for what is said, so that there is room for the context
_LINES_SHARE = 0.5  # of the budget at most for the titles of what must stay and has no room
# What weighs how much: the task first, then what bears on it or must stay, by its own weight or rank, then pages.
_OF_TASK, _OF_REST, _LEADING = 40, 30, 10
_SHOWN = 5  # of what is missing, by name
_ESCAPED_END = re.compile(r"\\[nrt]")  # as quoted text in YAML has it
_WORD = re.compile(r"[A-Za-z0-9_./,-]+")
_TITLES = {
    "current_task_state": "In progress",
    "changed_since": "Changed since the task was written down",
    "blocking_dependencies": "Blocking",
    "critical_decisions": "Critical decisions",
    "open_issues": "Open issues",
    "not_started": "Other work",
    "completed": "Completed",
    "observations": "Learned",
    "other": "Besides",
}


class Check(msgspec.Struct, frozen=True):
    """One line of the checklist: what was looked for, how much there is to be, what has only its title in the package,
    and what is missing.
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
    """What a package has: of `before` tokens of context `after`, the share that is not in it and the share that was to
    go, its `tokens` in all of `budget`, and the checklist. It should have at least `least` tokens.

    `removed` counts what is only named or not there, by why; with `is_chosen` not all that must stay has room, and the
    weightiest went in.
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
        """The report for people."""
        there = f"{self.after:,} of them in the package: {math.floor(100 * self.reduction)}% less, aim {self.aim:.0%}"
        lines = [f"context: {self.before:,} tokens, {there if self.after else 'none of them in the package'}"]
        if self.after and self.reduction < self.aim:
            lines.append(f"the aim is not reached: nothing open goes from a package of less than {self.least:,} tokens")
        lines += [f"left out: {number:,} {why}" for why, number in sorted(self.removed.items())]
        lines += ["not all that must stay has room: the weightiest went in"] if self.is_chosen else []
        return [*lines, *map(str, self.checks), f"package: {self.tokens:,} of {self.budget:,} tokens"]


class Package(msgspec.Struct, frozen=True):
    """A finished package, the records in it by part, what the work asks of the taker, and the report on it."""

    pack: Pack
    parts: dict[str, list[Record]]
    expertise: str
    report: HandoffReport


def package(
    snapshot: Snapshot, now: str, asked: HandoffRequest, scope: Scope, sources: Sources, count: CountTokens
) -> Package:
    """Return the package of a handoff, in at most as many tokens as were asked for.

    It has what must stay: whole, the weightiest first, or by id and title where there is no room. Raises MemctlError if
    any of that is missing from sections handed over, unless it is an emergency, or if what the giver says is too long.
    """
    parts = _groups(scope, asked)
    expertise = _expertise(snapshot, scope.records, asked.target)
    opening, closing = _opening(asked, expertise, scope), tuple(_closing(asked))
    _refuse_wordy([*opening, *closing], asked, count)
    written = _items(snapshot, scope, sources)
    must = [item for key, item in written.items() if key in scope.keeps]
    named = count("".join(f"- {item.id} {item.title}\n" for item in must))
    draft = PackDraft(
        project=snapshot.config.project,
        parts=tuple(_parts(parts, scope, written)),
        title="Handoff of {project}",
        root="agent_handoff",
        opening=opening,
        closing=closing,
        others=scope.left,
        lines=min(_LINES_SHARE, max(0.15, named / asked.budget)),
        least_lines=len(must),
        leading=_LEADING,
        made=now,
        source=asked.source,
        target=asked.target,
        keeps_notes=True,
    )
    pack = fill(draft, asked.form, asked.budget, count, inter_agent=True)
    report = _report(asked, pack, scope, written, count)
    if report.is_chosen and asked.sections and asked.kind != EMERGENCY:
        lacking = [f"- {check}" for check in report.checks if check.missing]
        raise MemctlError(
            "\n".join(["the package would lack what must stay:", *lacking]),
            "hand over fewer sections (--section), or "
            + ("give a larger --budget" if asked.budget < BUDGETS[asked.kind] else "as a type with a larger budget"),
        )
    return Package(pack, parts, expertise, report)


def _groups(scope: Scope, asked: HandoffRequest) -> dict[str, list[Record]]:
    """Return the records of a handoff by part, most important first; each is in one part.

    For a specialist they stay in the order in which they bear on the task.
    """
    records, agent = scope.records, asked.source
    has_rank = RELEVANT in scope.keeps.values()
    newest = sorted(records, key=ORDERS["date"][0], reverse=True)
    weighty = list(records) if has_rank else sorted(records, key=ORDERS["importance"][0], reverse=True)
    issues = [r for r in records if r.memory_type == "issue" and r.is_open]
    issues = issues if has_rank else sorted(issues, key=ORDERS["severity"][0])
    groups = {
        "current_task_state": [r for r in scope.tasks if r in records],
        "changed_since": [r for r in newest if scope.keeps.get(r.path) == CHANGED],
        "blocking_dependencies": [r for r in issues if r.blocks or r.severity == "critical"],
        "critical_decisions": [r for r in weighty if r.memory_type == "decision" and r.is_open],
        "open_issues": issues,
        "not_started": [r for r in newest if r.memory_type == "state" and r.is_open],
        "completed": [r for r in newest if r.agent_id == agent and r.status in ("done", "resolved")],
        "observations": [r for r in weighty if r.memory_type == "learning" and r.is_open],
        "other": newest,
    }
    taken: set[str] = set()
    for name, found in groups.items():
        groups[name] = [record for record in found if record.path not in taken]
        taken |= {record.path for record in found}
    return groups


def _items(snapshot: Snapshot, scope: Scope, sources: Sources) -> dict[str, Item]:
    """Return what goes into the package by its key: of what must stay the whole text, of all else without logs."""
    origins = sources.origins(list(scope.records))
    ranks = {path: rank for rank, path in enumerate(scope.keeps)}
    found = {page.key: msgspec.structs.replace(page, weight=_LEADING) for page in scope.pages}
    if isinstance(scope.state, Checkpoint) and scope.state.checkpoint_id in scope.keeps:
        found[scope.state.checkpoint_id] = _of_checkpoint(snapshot, scope.state)
    for record in scope.records:
        item, why = items.of_record(snapshot, record, origins), scope.keeps.get(record.path)
        if why is None:
            item = msgspec.structs.replace(item, body=compaction.shortened(item.body), weight=0)
        elif why == TASK:
            item = msgspec.structs.replace(item, weight=_OF_TASK)
        else:
            item = msgspec.structs.replace(item, weight=max(_LEADING + 1, _OF_REST - ranks[record.path]))
        found[record.path] = item
    return found


def _of_checkpoint(snapshot: Snapshot, saved: Checkpoint) -> Item:
    """Return the state of a task that a checkpoint has, as the text with which work goes on from there."""
    facts = (("date", saved.saved_at), ("by", saved.saved_by))
    body = items.screened(snapshot, resume_text.write(saved).text)
    title = f"Checkpoint of {saved.workflow_id}"
    return Item("checkpoint", saved.checkpoint_id, title, body, facts, saved.checkpoint_id, _OF_TASK)


def _parts(groups: dict[str, list[Record]], scope: Scope, written: dict[str, Item]) -> Iterator[PackPart]:
    saved = tuple(item for item in written.values() if item.kind == "checkpoint")
    for name, found in groups.items():
        first = saved if name == "current_task_state" else ()
        yield PackPart(name, _TITLES[name], (*first, *(written[record.path] for record in found)))
        if name == "current_task_state":
            title = "Sections handed over" if SECTION in scope.keeps.values() else "Pages"
            yield PackPart("sections", title, tuple(written[page.key] for page in scope.pages))
    yield msgspec.structs.replace(PRIOR, items=scope.prior)


def _expertise(snapshot: Snapshot, packed: Sequence[Record], agent: str) -> str:
    """Return what the work asks for by its most frequent tags, and how much of it an agent's profile names."""
    profile = snapshot.config.agents.get(agent)
    counts = Counter(tag for record in packed for tag in record.tags)
    required = sorted(counts, key=lambda tag: (-counts[tag], tag))[:_SKILLS]
    asked = f"asked for are {', '.join(map(one_line, required))}" if required else "no tag says what is asked for"
    if profile is None or not profile.skills:
        return f"{asked}; config.yaml names no skills of {agent}."
    if not required:
        return f"{asked}; {agent} has {', '.join(map(one_line, profile.skills))}."
    known = stems(" ".join(profile.skills))
    held = [tag for tag in required if stems(tag) & known]
    score = len(held) / len(required)
    return f"{asked}; {agent} has {', '.join(map(one_line, held)) or 'none of them'} ({score:.0%})."


def _opening(asked: HandoffRequest, expertise: str, scope: Scope) -> tuple[PackNote, ...]:
    head = f"{asked.id} from {one_line(asked.source)} to {one_line(asked.target)}, {asked.kind}"
    head += f", {', '.join(asked.sections)}" if asked.sections else ""
    texts = [
        ("handoff_metadata", "", f"{head}. `memctl handoff accept {asked.id}` takes it over. {_beyond(asked, scope)}"),
        ("reason", "Reason", one_line(asked.reason)),
        ("task", "Task", one_line(asked.task)),
        ("agent_expertise_match", "Expertise", expertise),
        ("executive_summary", "", asked.summary.strip()),
        ("ownership_transfers", "Ownership", "; ".join(map(one_line, asked.transfers))),
        ("recent_changes", "Last changed files", "; ".join(one_line(f"{path} ({how})") for path, how in asked.changes)),
    ]
    notes = [PackNote(name, title, text.strip(), essential=True) for name, title, text in texts if text]
    return (notes[0], NOTICED, *notes[1:])


def _beyond(asked: HandoffRequest, scope: Scope) -> str:
    """Return how much there is besides what the type of handoff is about, and what lists it."""
    number = sum(record not in scope.records for record in scope.known)
    if asked.kind in (COMPLETE, CONTINUATION) or not number:
        return ""
    command = "; ".join(f"`memctl list --section {section[1:]}`" for section in asked.sections) or "`memctl list`"
    return f"Besides there are {quantity(number, 'record')}: {command}."


def _closing(asked: HandoffRequest) -> Iterator[PackNote]:
    """Yield what the last agent wants the next one to know, how it is known to be done, and what it does."""
    for field in FIELDS[::-1]:
        if lines := asked.lines.get(field.name):
            text = "\n".join(f"- {one_line(line)}" for line in lines)
            yield PackNote(field.element or field.name, field.title, text, essential=True)


def _refuse_wordy(notes: Sequence[PackNote], asked: HandoffRequest, count: CountTokens) -> None:
    tokens = count("\n".join(f"{note.title} {note.text}" for note in notes))
    if tokens > _SAID_SHARE * asked.budget:
        least = math.ceil(tokens / _SAID_SHARE)
        is_possible = least <= BUDGETS[asked.kind]
        hint = f"give a --budget of {least} or more" if is_possible else "put the long part into records"
        raise MemctlError(f"the texts given for the handoff take {tokens:,} of {asked.budget:,} tokens", hint)


def _report(
    asked: HandoffRequest, pack: Pack, scope: Scope, written: Mapping[str, Item], count: CountTokens
) -> HandoffReport:
    """Measure a finished package, and look for everything that must be in it."""
    included = Counter(pack.included())
    there = [item for item in written.values() if included[item.id]]
    before = sum(scope.sizes.values())
    after = min(before, sum(count(f"{item.id} {item.title}\n{item.body}") for item in there))
    by_why: dict[str, list[str]] = {}
    for key, why in scope.keeps.items():
        by_why.setdefault(why, []).append(written[key].id)
    wanted = {
        **by_why,
        "last file modifications": [path for path, _ in asked.changes],
        "ownership": asked.sections,
        "what is said": [text for _, texts in asked.texts() for text in texts],
    }
    words = frozenset(_words(pack.text))
    checks = tuple(_check(name, texts, words, included if name in by_why else None) for name, texts in wanted.items())
    return HandoffReport(
        before=before,
        after=after,
        reduction=round(1 - after / before, 4) if before else 0.0,
        aim=AIMS[asked.kind],
        removed=dict(Counter(left.why or "of no room" for left in pack.left_out)),
        tokens=pack.tokens,
        budget=pack.budget,
        least=LEAST[asked.kind],
        checks=tuple(check for check in checks if check.total),
        is_chosen=any(check.missing for check in checks),
    )


def _check(name: str, texts: Sequence[str], words: frozenset[str], included: Mapping[str, int] | None) -> Check:
    """Look for texts: all their plain words must be in the package, whatever its format does to other characters. For
    ids, also whether the things are `included` whole."""
    missing = tuple(text for text in texts if not words.issuperset(_words(text)))
    by_title = () if included is None else tuple(text for text in texts if not included[text] and text not in missing)
    return Check(name, len(texts), missing, by_title)


def _words(text: str) -> Iterator[str]:
    for word in _WORD.findall(_ESCAPED_END.sub(" ", html.unescape(text))):
        stripped = word.strip("./,-_")
        if stripped:
            yield stripped
            yield from (part for part in re.split(r"[/,]", stripped) if part)
