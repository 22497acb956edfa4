"""The package that one agent hands to another (rules.md#handoffs): what it is about, what was done, what comes next,
and the context, compacted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from memctl.errors import MemctlError
from memctl.pack import compaction, handoff_context, handoff_report, items, relevance
from memctl.pack.compaction import Compacted
from memctl.pack.draft import NOTICED, Item, Left, PackDraft, PackNote, PackPart
from memctl.pack.filling import CountTokens, Pack, fill
from memctl.pack.handoff_context import BRIEF, FULL, LINE, HandoffContext
from memctl.pack.handoff_report import ELSEWHERE, HandoffReport
from memctl.pack.handoff_said import EMERGENCY, HandoffRequest
from memctl.pack.items import Sources
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search.filters import ORDERS, severity_rank
from memctl.text.markdown import one_line
from memctl.text.words import stems

# Tokens of a package, at most and at least; rules.md#handoffs.
BUDGETS = {"complete": 25_000, "specialist": 10_000, "continuation": 40_000, "emergency": 15_000}
_LEAST = {"complete": 15_000, "specialist": 5_000, "continuation": 30_000, "emergency": 10_000}
AIMS = dict.fromkeys(BUDGETS, 0.2) | {"continuation": 0.4}  # the share of tokens that is to go; rules.md#handoffs
_SKILLS = 8  # tags that say what a piece of work asks for
_FIRST = 10  # the weight by which what must stay is taken first
_SAID_SHARE = 0.6  # of the budget at most for what is said, so that there is room for the context
_ABOVE = 20  # by which the current task and the sections outweigh all else
_FORMS = ((FULL, False), (BRIEF, False), (LINE, False), (LINE, True))  # how much is written out, and if it is chosen
_ELSEWHERE = PackNote(
    "not_all_of_it",
    "",
    f"Not all that must stay has room here; the weightiest has. The rest: {', '.join(ELSEWHERE.values())}.",
    essential=True,
)
_TITLES = {
    "current_task_state": "In progress",
    "blocking_dependencies": "Blocking",
    "critical_decisions": "Critical decisions",
    "open_issues": "Open issues",
    "not_started": "Other work",
    "completed": "Completed",
    "observations": "Learned",
    "other": "Besides",
}


class Package(msgspec.Struct, frozen=True):
    """A finished package, the records in it by part, what the work asks of the taker, and the report on it."""

    pack: Pack
    parts: dict[str, list[Record]]
    expertise: str
    report: HandoffReport


def package(
    snapshot: Snapshot, now: str, asked: HandoffRequest, sources: Sources, count: CountTokens, form: str, budget: int
) -> Package:
    """The package of a handoff, in at most `budget` tokens.

    What must stay stands in it whole, or if that is too much, briefly. If it has no room even so, the weightiest of it
    goes in, and the package says how to get the rest; but of sections that are handed over nothing may be lacking,
    unless it is an emergency. Raises MemctlError for that, or if what is said takes too much.
    """
    pages = _pages(snapshot, asked.sections)
    page_items = [items.of_page(page, sources.page(page)) for page in pages]
    ranked = {one.path: one.score for one in relevance.found(snapshot, asked.said.task, now)}
    context = handoff_context.gather(
        snapshot, now, asked.kind, asked.source, asked.sections, page_items, ranked, sources.worked
    )
    compacted = compaction.compact(context.blocks, AIMS[asked.kind], count, compaction.shortened)
    kept = [context.records[block.key] for block in compacted.kept if block.key in context.records]
    parts = _groups(kept, asked.source)
    expertise = _expertise(snapshot, kept, asked.target)
    origins = sources.origins(kept)
    known = {record.path: items.of_record(snapshot, record, origins) for record in kept}
    known |= {item.key: item for item in page_items}
    notes = _opening(asked, expertise, compacted), tuple(_closing(asked))
    _refuse_wordy([*notes[0], *notes[1]], asked.kind, budget, count)
    may_choose = not asked.sections or asked.kind == EMERGENCY
    for level, is_chosen in _FORMS if may_choose else _FORMS[:-1]:
        written = _written(compacted, context, known, level, is_chosen=is_chosen)
        must = "".join(f"{item.id} {item.title}\n{item.body}" for item in written.values() if item.weight)
        if count(must) > budget and (level < LINE or may_choose) and not is_chosen:
            continue
        told = (*notes[0], _ELSEWHERE) if is_chosen else notes[0]
        draft = _draft(snapshot, now, asked, (told, notes[1]), parts, page_items, written, _left(context, compacted))
        pack = fill(draft, form, budget, count, inter_agent=True)
        report = handoff_report.report(
            asked, pack, compacted, context, written, level, _LEAST[asked.kind], is_chosen=is_chosen
        )
        if report.is_valid:
            return Package(pack, parts, expertise, report)
    raise MemctlError(
        "\n".join(["the package would lack what must stay:", *(f"- {one.told}" for one in report.failed)]),
        "hand over fewer sections (--section), or "
        + ("give a larger --budget" if budget < BUDGETS[asked.kind] else "as a type with a larger budget"),
    )


def _pages(snapshot: Snapshot, sections: Sequence[str]) -> list[Page]:
    """The pages of sections, and of details below them."""
    outline = snapshot.outline
    found = [page for page in (*outline.sections, *outline.details) if page.id in sections]
    found += [page for section in sections for page in outline.details_of(section)]
    return list({page.path: page for page in found}.values())


def _groups(records: Sequence[Record], agent: str) -> dict[str, list[Record]]:
    """The records of a handoff by part, most important first; each stands in one."""
    newest = sorted(records, key=ORDERS["date"][0], reverse=True)
    weighty = sorted(records, key=ORDERS["importance"][0], reverse=True)
    current = [r for r in newest if r.memory_type == "state" and r.is_open]
    own = [r for r in current if r.agent_id == agent] or current[:1]
    issues = sorted((r for r in records if r.memory_type == "issue" and r.is_open), key=_worst_first)
    blocking = [r for r in issues if r.blocks or r.severity == "critical"]
    groups = {
        "current_task_state": own,
        "blocking_dependencies": blocking,
        "critical_decisions": [r for r in weighty if r.memory_type == "decision" and r.is_open],
        "open_issues": [r for r in issues if r not in blocking],
        "not_started": [r for r in current if r not in own],
        "completed": [r for r in newest if r.agent_id == agent and r.status in ("done", "resolved")],
        "observations": [r for r in weighty if r.memory_type == "learning" and r.is_open],
    }
    taken = {record.path for found in groups.values() for record in found}
    return {**groups, "other": [record for record in newest if record.path not in taken]}


def _worst_first(record: Record) -> tuple[int, str, str]:
    return severity_rank(record), record.timestamp, record.id


def _expertise(snapshot: Snapshot, packed: Sequence[Record], agent: str) -> str:
    """What the work asks for by its most frequent tags, and how much of it an agent's profile names."""
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


def _opening(asked: HandoffRequest, expertise: str, compacted: Compacted) -> tuple[PackNote, ...]:
    said, name = asked.said, one_line(asked.target)
    head = f"{asked.id} from {one_line(asked.source)} to {name}, {asked.kind}"
    head += f", {', '.join(asked.sections)}" if asked.sections else ""
    less = f"{compacted.before:,} tokens of context, compacted to {compacted.after:,} ({compacted.reduction:.0%} less)"
    accept = f"`memctl handoff accept {asked.id}` takes it over."
    texts = [
        (
            "handoff_metadata",
            "",
            f"{head}. {less}. {accept}",
        ),
        ("reason", "Reason", one_line(said.reason)),
        ("task", "Task", one_line(said.task)),
        ("agent_expertise_match", "Expertise", expertise),
        ("executive_summary", "", said.summary.strip()),
        ("ownership_transfers", "Ownership", "; ".join(map(one_line, asked.transfers))),
        ("recent_changes", "Last changed files", "; ".join(one_line(f"{path} ({how})") for path, how in asked.changes)),
    ]
    notes = [PackNote(name, title, text, essential=True) for name, title, text in texts if text]
    return (notes[0], NOTICED, *notes[1:])


def _closing(asked: HandoffRequest) -> Iterator[PackNote]:
    """What the last agent wants the next one to know, how it is known to be done, and what it does."""
    said = asked.said
    for name, title, lines in (
        ("from_agent_observations", "Observations", said.observation),
        ("suggested_approach", "Suggested approach", said.approach),
        ("known_pitfalls", "Known pitfalls", said.pitfall),
        ("useful_resources", "Useful resources", said.resource),
        ("success_criteria", "Success criteria", said.success_criteria),
        ("short_term", "Short term", said.short_term),
        ("next", "Next actions", said.immediate),
    ):
        if lines:
            yield PackNote(name, title, _list(lines), essential=True)


def _refuse_wordy(notes: Sequence[PackNote], kind: str, budget: int, count: CountTokens) -> None:
    tokens = count("\n".join(f"{note.title} {note.text}" for note in notes))
    if tokens > _SAID_SHARE * budget:
        least = math.ceil(tokens / _SAID_SHARE)
        hint = f"give a --budget of {least} or more" if least <= BUDGETS[kind] else "put the long part into records"
        raise MemctlError(f"what is said of the handoff takes {tokens:,} of {budget:,} tokens", hint)


def _written(
    compacted: Compacted, context: HandoffContext, known: dict[str, Item], level: int, *, is_chosen: bool
) -> dict[str, Item]:
    """The items by key: what must stay in one of its forms and first, of all else the text as it was compacted."""
    written = {}
    for block in compacted.kept:
        item = known[block.key]
        if block.keeps:
            form = FULL if level < LINE and block.keeps == handoff_context.TASK else level
            item = handoff_context.written(item, context.records.get(block.key), block.keeps, form)
            above = 0 if not is_chosen else item.weight if block.keeps in ELSEWHERE else _ABOVE
            item = msgspec.structs.replace(item, weight=_FIRST + above)
        else:
            item = msgspec.structs.replace(item, body=compaction.shortened(item.body), weight=0)
        written[block.key] = item
    return written


def _draft(
    snapshot: Snapshot,
    now: str,
    asked: HandoffRequest,
    notes: tuple[tuple[PackNote, ...], tuple[PackNote, ...]],
    groups: dict[str, list[Record]],
    pages: Sequence[Item],
    written: dict[str, Item],
    left: tuple[Left, ...],
) -> PackDraft:
    made = [
        PackPart(name, _TITLES[name], tuple(written[record.path] for record in found)) for name, found in groups.items()
    ]
    focus = PackPart(
        "sections", "Sections handed over", tuple(written[page.key] for page in pages if page.key in written)
    )
    return PackDraft(
        project=snapshot.config.project,
        parts=(made[0], focus, *made[1:]),
        title="Handoff of {project}",
        root="agent_handoff",
        opening=notes[0],
        closing=notes[1],
        others=left,
        leading=_FIRST,
        made=now,
        source=asked.source,
        target=asked.target,
        keeps_notes=True,
    )


def _left(context: HandoffContext, compacted: Compacted) -> tuple[Left, ...]:
    """What compaction has left out, each with why: a line in the package, and the whole of it in the memory."""
    return tuple(
        Left(record.id, record.title, one.why, record.memory_type)
        for one in reversed(compacted.removed)
        if (record := context.records.get(one.key))
    )


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {one_line(line)}" for line in lines)
