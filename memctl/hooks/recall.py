"""Answer a prompt with the records relevant to it that the session has not been shown yet, in at most 1,500 tokens.

The first prompt of a sub-agent gets at most 300 tokens, and a sentence on how to find more. Files in memctl's folder
for the session mark which records were shown. A compaction removes the records from the context, so the marks are
deleted then, and the records can be shown again. A prompt to which nothing is relevant gets no answer.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Sequence
from collections.abc import Set as AbstractSet
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
# An item is relevant to a prompt if it has so many of the prompt's telling words: a number, and a share to which words
# of the title count twice. A long prompt wants several things, so an item is also relevant if the prompt has the last
# share of its title's words. Of 457 prompts of other projects 61 find something so among 300 imported issues, most of
# them resolved; with a share of 0.3 that no title raises 175 would.
_WORDS, _SHARE, _TITLE_SHARE = 2, 0.75, 0.5
# Words of a conversation about work: they say what to do, agree or doubt, and not what the work is about. Of 300
# prompts of other projects, 48 found something in the memory of `memctl demo` with these words, and 17 without.
_TALK = """
yes yeah yep nope ok okay sure thanks thank great good nice perfect fine cool right wrong sorry hm please maybe actually
still again now just also too only really already else both same other another after before first last next new old
need needs want wants let lets see seems seem make makes made set put take give go going come comes keep keeps know mean
means think look looks like check checks checked double try tried happen happens happened work works thing things way
question sense case change changes changed update updates updated add adds added fix fixes fixed run runs running test
tests fail fails failing failed failure failures lint build commit commits committed push branch merge main file files
code use used using write find show say says said tell here one once two twice all lot bit well since because
"""
_MOST, _LOOKED_AT = 5, 30  # records that are shown, and search results that are judged
_ASKED = 2_000  # first characters of a prompt, which are searched for
_HOW = "The project has a memory (memctl): `memctl search X` finds more; before you change FILE, `memctl why FILE`.\n"
_RESOLUTION = "Resolution"  # the heading of an issue's text on how it was resolved
_PACKED = lazy_regex(r"(?m)^([A-Z]{3}-\d{4}-\d\d-\d\d-[\da-z-]+) \| ")  # the id of a record that a pack includes whole


def find(open_memory: Callable[[], Memory], folder: SessionDir, prompt: str, model: str) -> str:
    """Return the answer to a prompt, as JSON for `give`; "" if no record is relevant that was not shown before.

    The JSON has the answer's text and the ids of the records in it. `open_memory` opens the memory; it is not called if
    the prompt has too few words to search for. `folder` is memctl's folder for the session, which says which records
    were shown before. The tokens are those of `model`, a model or a family of models.
    """
    pack = _pack(open_memory, prompt, folder.shown(), _ROOM, model)
    if pack is None:
        return ""
    # If all records are too large for a prompt, their titles are shown, once.
    shown = pack.included() or [item.id for item in pack.left_out]
    return json.dumps([pack.text, sorted(shown)])


def for_sub_agent(open_memory: Callable[[], Memory], prompt: str, model: str) -> str:
    """Return the text for a sub-agent that starts: the records relevant to its prompt, and how to find more.

    `open_memory` opens the memory; it is not called if the prompt has too few words to search for. The tokens are those
    of `model`, a model or a family of models.
    """
    pack = _pack(open_memory, prompt, (), _ROOM_OF_SUB_AGENT, model, f"\n{_HOW}")
    return f"{pack.text}\n{_HOW}" if pack else _HOW


def _pack(
    open_memory: Callable[[], Memory],
    prompt: str,
    shown: Collection[str],
    room: int,
    model: str,
    below: str = "",
) -> Pack | None:
    """Return what is relevant to a prompt and not shown yet; with the text `below` it has at most `room` tokens.

    The result is None if nothing is relevant.

    A host waits for it at every prompt. So the memory is opened, and the modules that make a pack are imported, only if
    they are needed.
    """
    from memctl.text.words import stems

    about = " ".join(filter(telling, prompt[:_ASKED].replace('"', " ").split()))
    wanted = telling(about)
    if len(wanted) < _WORDS:
        return None
    memory = open_memory()  # first, so that Git compares with HEAD while other modules are imported
    from memctl import agent_view
    from memctl.store import load

    def is_shown(identifier: str) -> bool:
        return identifier.replace("/", "-") in shown

    from memctl.tokens.families import markdown_estimator

    estimate = markdown_estimator(model, _MARGIN)

    def size(text: str) -> int:
        return math.ceil(estimate(text))

    room -= size(below)
    snapshot = agent_view.readable(memory, load.disk(memory))
    close = [result for result in _best_fits(snapshot, about, memory.now) if not is_shown(result.id)]

    def is_relevant(item: Item) -> bool:
        return not is_shown(item.id) and _is_about(wanted, telling(item.title), stems(item.body))

    made = [_within(item, room, size) for item in _items(memory, snapshot, close, is_relevant)]
    if not made:
        return None
    from memctl.pack import budget_fill
    from memctl.pack.draft import NOTICED, PackDraft, PackPart
    from memctl.store import retrieval_counts

    draft = PackDraft(
        project=snapshot.config.project,
        parts=(PackPart("excerpts", "Relevant to the prompt", tuple(made)),),
        title="From the memory of {project}",
        opening=(NOTICED,),
    )
    pack = budget_fill.fill(draft, "markdown", room, size)
    included = set(pack.included())
    counted = [result.record.memory_id for result in close if result.record is not None and result.id in included]
    retrieval_counts.count(memory.repository.shared, counted, memory.now)
    return pack


def telling(text: str) -> set[str]:
    """Return the stems of a text that say what it is about: no numbers, and no words of a conversation about work."""
    from memctl.text.words import stems

    return {stem for stem in stems(text) - stems(_TALK) if not stem.isdigit()}


def give(folder: SessionDir, result: str) -> str:
    """Return the text in a result of `find`, and mark the result's records as shown to the session.

    `find` does not mark them, because its result may come too late to be shown. `folder` is memctl's folder for the
    session.
    """
    text, included = json.loads(result)
    for identifier in included:
        folder.mark_shown(identifier)
    return str(text)


def _best_fits(snapshot: Snapshot, about: str, now: str) -> list[Result]:
    """Return the search results that match a prompt about as well as the best one, the best first.

    They are records that may answer the prompt, pages, sessions and checkpoints. `about` is the prompt's telling text.
    """
    from memctl.pack.items import CLOSE
    from memctl.search import ranking

    ranked = ranking.search(snapshot, about, now, most=_LOOKED_AT)
    held = [result for result in ranked if result.record is None or _may_answer(result.record, now)]
    best = max((result.match for result in held), default=0.0)
    return [result for result in held if result.match >= best * CLOSE]


def _items(
    memory: Memory, snapshot: Snapshot, close: Sequence[Result], is_relevant: Callable[[Item], bool]
) -> list[Item]:
    """Return the relevant results as items, records first; Git is asked for the origin of records only."""
    from memctl.pack import items

    records = [result.record for result in close if result.record is not None][:_MOST]
    relevant = [record for record in records if is_relevant(items.of_record(snapshot, record, {}))]
    places = (items.of_result(snapshot, place) for place in items.places(close))
    made = list(filter(is_relevant, places))
    if not relevant:
        return made
    from memctl.pack import item_sources

    known = item_sources.origins_of(memory, snapshot, relevant, None)
    return [*(items.of_record(snapshot, record, known) for record in relevant), *made]


def _within(item: Item, room: int, size: Callable[[str], int]) -> Item:
    """Return an item; if its text is larger than `room`, only with how the issue was resolved."""
    if size(item.body) <= room:
        return item
    import msgspec

    from memctl.pack import items

    resolution = items.split_off(item, _RESOLUTION)[1]
    return msgspec.structs.replace(item, body=f"## {_RESOLUTION}\n\n{resolution}\n") if resolution else item


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


def _is_about(wanted: AbstractSet[str], title: AbstractSet[str], body: AbstractSet[str]) -> bool:
    """Return whether an item is about a prompt: it has most of the prompt's words, or the prompt half of its title's.

    The arguments are stems: the prompt's telling ones, those of the title, and those of the text.
    """
    words, named = len(wanted & (title | body)), len(wanted & title)
    covers_prompt = words >= _WORDS and words + named >= _SHARE * len(wanted)
    return covers_prompt or named >= max(_WORDS, _TITLE_SHARE * len(title))
