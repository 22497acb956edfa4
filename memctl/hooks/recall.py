"""Answer a prompt with the records relevant to it that the session has not been shown yet, in at most 1,500 tokens.

The first prompt of a sub-agent gets at most 300 tokens, and a sentence on how to find more. Files in memctl's folder
for the session mark which records were shown. A compaction removes the records from the context, so the marks are
deleted then, and the records can be shown again. A prompt to which nothing is relevant gets no answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING

from memctl.store.session_dir import SessionDir
from memctl.text.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from memctl.pack.budget_fill import Pack
    from memctl.pack.draft import Item
    from memctl.record.record import Record
    from memctl.record.snapshot import Snapshot
    from memctl.search.ranking import Result
    from memctl.store.memory import Memory

# Tokens of the host's model. They are estimated, because loading a tokenizer takes 35 ms; the estimate is raised by
# what it may be too low by: 7 % for most texts, 18 % for tables of numbers.
_ROOM, _ROOM_OF_SUB_AGENT = 1_500, 300
_MARGIN = 1.2
_LEAST_WORDS = 2  # telling ones, of a prompt that is searched for
_LOOKED_AT, _JUDGED = 30, 5  # search results that are compared, and those that may be shown
_OUTCOMES = ("Resolution", "Decision")  # headings that say how a record too large for a prompt ended
_SENTENCES = 2  # of one that has none of these
_ASKED = 2_000  # first characters of a prompt, which are searched for
# Of the room, for lines on what was turned down: beside records, and where there are none; title and notice need some.
_SHARE, _SHARE_ALONE = 0.5, 0.75
_HOW = "The project has a memory (memctl): `memctl search X` finds more; before you change FILE, `memctl why FILE`.\n"
_PACKED = lazy_regex(r"(?m)^([A-Z]{3}-\d{4}-\d\d-\d\d-[\da-z-]+) \| ")  # the id of a record that a pack includes whole


def find(open_memory: Callable[[], Memory], folder: SessionDir, prompt: str, model: str) -> str:
    """Return the answer to a prompt, as JSON for `give`; "" if no record is relevant that was not shown before.

    The JSON has the answer's text and the ids of the records in it. `open_memory` opens the memory; it is not called if
    the prompt has too few words to search for. `folder` is memctl's folder for the session, which says which records
    were shown before. The tokens are those of `model`, a model or a family of models.
    """
    text, shown = _answer(open_memory, prompt, folder.shown(), _ROOM, model)
    return json.dumps([text, sorted(shown)]) if text else ""


def for_sub_agent(open_memory: Callable[[], Memory], prompt: str, model: str) -> str:
    """Return the text for a sub-agent that starts: the records relevant to its prompt, and how to find more.

    `open_memory` opens the memory; it is not called if the prompt has too few words to search for. The tokens are those
    of `model`, a model or a family of models.
    """
    text, _ = _answer(open_memory, prompt, (), _ROOM_OF_SUB_AGENT, model, f"\n{_HOW}")
    return f"{text}\n{_HOW}" if text else _HOW


def _answer(
    open_memory: Callable[[], Memory],
    prompt: str,
    shown: Collection[str],
    room: int,
    model: str,
    below: str = "",
) -> tuple[str, list[str]]:
    """Return what is relevant to a prompt and not shown yet, and the ids of that; "" and [] if nothing is.

    With the text `below` it has at most `room` tokens.

    A host waits for it at every prompt. So the memory is opened, and the modules that make a pack are imported, only if
    they are needed.
    """
    from memctl.search.relevance import telling

    asked = prompt[:_ASKED].replace('"', " ")
    if len(telling(asked)) < _LEAST_WORDS:
        return "", []
    memory = open_memory()  # first, so that Git compares with HEAD while other modules are imported
    from memctl import agent_view
    from memctl.store import load
    from memctl.tokens.families import markdown_estimator

    estimate = markdown_estimator(model, _MARGIN)

    def size(text: str) -> int:
        return math.ceil(estimate(text))

    snapshot = agent_view.readable(memory, load.disk(memory))
    relevant = [one for one in _relevant(snapshot, asked, memory.now) if one.id.replace("/", "-") not in shown]
    if not relevant:
        return "", []
    from memctl.pages.reasons import turned_down

    room -= size(below)
    said = {one.id: turned_down(snapshot, one.record) for one in relevant if one.record is not None}
    said = {name: line for name, line in said.items() if line}
    others = [one for one in relevant if one.id not in said]
    lines: dict[str, str] = {}
    for name, line in said.items():
        if size("\n".join((*lines.values(), line))) <= room * (_SHARE if others else _SHARE_ALONE):
            lines[name] = line
    if not (lines or others):
        return "", []
    pack = _pack(memory, snapshot, others, list(lines.values()), room, size)
    # If all records are too large for a prompt, their titles are shown, once.
    included = pack.included() or [item.id for item in pack.left_out]
    _count(memory, relevant, {*included, *lines})
    return pack.text, [*included, *lines]


def _pack(
    memory: Memory,
    snapshot: Snapshot,
    relevant: Sequence[Result],
    lines: Sequence[str],
    room: int,
    size: Callable[[str], int],
) -> Pack:
    """Return the pack of some results, below `lines` on what was turned down, in at most `room` tokens."""
    from memctl.pack import budget_fill
    from memctl.pack.draft import NOTICED, PackDraft, PackNote, PackPart

    left = room - sum(map(size, lines))
    made = tuple(_within(item, left, size) for item in _items(memory, snapshot, relevant))
    notes = (PackNote("turned_down", "", line, essential=True) for line in lines)
    draft = PackDraft(
        project=snapshot.config.project,
        parts=(PackPart("excerpts", "Relevant to the prompt", made),) if made else (),
        title="From the memory of {project}",
        opening=(NOTICED, *notes),
    )
    return budget_fill.fill(draft, "markdown", room, size)


def _count(memory: Memory, relevant: Sequence[Result], shown: Collection[str]) -> None:
    """Count the retrievals of the records that are shown."""
    from memctl.store import retrieval_counts

    counted = [one.record.memory_id for one in relevant if one.record is not None and one.id in shown]
    retrieval_counts.count(memory.repository.shared, counted, memory.now)


def give(folder: SessionDir, result: str) -> str:
    """Return the text in a result of `find`, and mark the result's records as shown to the session.

    `find` does not mark them, because its result may come too late to be shown. `folder` is memctl's folder for the
    session.
    """
    text, included = json.loads(result)
    for identifier in included:
        folder.mark_shown(identifier)
    return str(text)


def _relevant(snapshot: Snapshot, asked: str, now: str) -> list[Result]:
    """Return the search results that are about a prompt: records that may answer it, pages, sessions and checkpoints.

    Decisions that were turned down are among them, since nothing else tells of these.
    """
    from memctl.pages.reasons import is_turned_down
    from memctl.record.session_page import LISTS_OF_FILES
    from memctl.record.source import SESSION
    from memctl.search import ranking
    from memctl.search.relevance import Relevance

    found = [
        one
        for one in ranking.search(snapshot, asked, now, most=_LOOKED_AT)
        if one.record is None or is_turned_down(one.record) or _may_answer(one.record, now)
    ]
    judged = Relevance(asked, [one.match for one in found])
    numbers = [one.number for one in found[:_JUDGED]]
    texts, headings = snapshot.texts.bodies(numbers), snapshot.texts.titles(numbers)
    return [
        one
        for one in found[:_JUDGED]
        if not (one.kind == SESSION and headings.get(one.number) in LISTS_OF_FILES)
        and judged.is_relevant(one.match, one.title, texts.get(one.number, ""))
    ]


def _items(memory: Memory, snapshot: Snapshot, relevant: Sequence[Result]) -> list[Item]:
    """Return the relevant results as items, records first; Git is asked for the origin of records only."""
    from memctl.pack import item_sources, items

    records = [one.record for one in relevant if one.record is not None]
    known = item_sources.origins_of(memory, snapshot, records, None) if records else {}
    places = [items.of_result(snapshot, one) for one in relevant if one.record is None]
    return [*(items.of_record(snapshot, record, known) for record in records), *places]


def _within(item: Item, room: int, size: Callable[[str], int]) -> Item:
    """Return an item; if its text is larger than `room`, only with its outcome or the first sentences of its reason."""
    if size(item.body) <= room:
        return item
    import msgspec

    from memctl.pack import items
    from memctl.text.fit import first_sentence, reasons_first
    from memctl.text.headings import split

    for heading in _OUTCOMES:
        text = items.split_off(item, heading)[1]
        if text and size(text) <= room:
            return msgspec.structs.replace(item, body=f"## {heading}\n\n{text}\n")
    texts = reasons_first((part.heading, part.body) for part in split(item.body))
    return msgspec.structs.replace(item, body="\n".join(filter(None, map(first_sentence, texts[:_SENTENCES]))))


def _may_answer(record: Record, now: str) -> bool:
    """Return whether a record may answer a prompt; open states don't, since the text at a session's start has them."""
    is_known = record.memory_type == "state" and record.is_open
    return record.kind.is_knowledge and not is_known and record.may_answer(now)


def note(folder: SessionDir, pack: str) -> None:
    """Mark the records that a session's first pack has in full as shown, so that answers to prompts don't repeat them.

    `pack` is the pack's text, and `folder` memctl's folder for the session. Records of which the pack has only the id
    and the title are not marked.
    """
    for identifier in _PACKED.findall(pack):
        folder.mark_shown(identifier)
