"""At a prompt: what of the memory bears on it and this session was not shown yet, in at most 1,500 tokens.

A sub-agent's first prompt is answered likewise, in 300 tokens, with how to find more: it has been shown nothing.
What was shown is noted in the session's folder, a file for each, and forgotten with the context at a compaction. A
prompt that nothing bears on gets nothing: most go on with what is at hand.
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

# 1,500 tokens, of which no prose has more than .45 in a character (`tokens.families`): hooks count characters, since to
# load what counts tokens takes 35 ms.
_ROOM = 3_300
_WORDS, _SHARE = 2, 0.3  # how many of a prompt's words something has that bears on it: so many, and such a share
_MOST, _LOOKED_AT = 5, 30  # records that are given, and results that are looked at
_ASKED = 2_000  # characters of a prompt that say what it is about
# Of a sub-agent's 300 tokens (o200k) `_HOW` has 26; an estimate of the rest may be 7 % too low (`tokens.families`).
_ROOM_OF_SUB_AGENT = 250
_HOW = "The project has a memory (memctl): `memctl search X` finds more; before you change FILE, `memctl why FILE`.\n"
_PACKED = lazy_regex(r"(?m)^([A-Z]{3}-\d{4}-\d\d-\d\d-\d+) \| ")  # of a record that a pack has whole


def find(opened: Callable[[], Memory], folder: SessionDir, prompt: str) -> str:
    """Return the text for a prompt and the ids in it, for `give`; "" if nothing bears on it that the session has not
    seen."""
    from memctl.text.fit import length

    pack = _pack(opened, prompt, folder.is_shown, _ROOM, length)
    if pack is None:
        return ""
    # Of records that are all too large for a prompt, titles are given, once.
    shown = pack.included() or [item.id for item in pack.left_out]
    return json.dumps([pack.text, sorted(shown)])


def for_sub_agent(opened: Callable[[], Memory], prompt: str) -> str:
    """Return the text for a sub-agent that begins with a prompt: what bears on it, if anything does, and how to find
    more."""
    from memctl.tokens.families import estimate

    pack = _pack(opened, prompt, lambda _: False, _ROOM_OF_SUB_AGENT, lambda text: estimate(text, "markdown"))
    return f"{pack.text}\n{_HOW}" if pack else _HOW


def _pack(
    opened: Callable[[], Memory],
    prompt: str,
    is_shown: Callable[[str], bool],
    room: int,
    size: Callable[[str], int],
) -> Pack | None:
    """Return what bears on a prompt and is not shown, in so much room as `size` measures it; None if nothing does.

    A host waits for it at every prompt, so the memory is `opened`, and what makes a pack is imported, only if needed.
    """
    from memctl.text.words import stems

    about = prompt[:_ASKED].replace('"', " ")
    wanted = stems(about)
    if len(wanted) < _WORDS:
        return None
    memory = opened()  # first: Git looks for what differs from HEAD while the rest is imported
    from memctl import agent_view
    from memctl.store import load

    snapshot = agent_view.readable(memory, load.disk(memory))
    close = [one for one in _best_fits(snapshot, about, memory.now) if not is_shown(one.id)]

    def bears(item: Item) -> bool:
        return not is_shown(item.id) and len(wanted & stems(f"{item.title} {item.body}")) >= _least(wanted)

    made = _items(memory, snapshot, close, bears)
    if not made:
        return None
    from memctl.pack import budget_fill
    from memctl.pack.draft import NOTICED, PackDraft, PackPart
    from memctl.store import access

    draft = PackDraft(
        project=snapshot.config.project,
        parts=(PackPart("excerpts", "Bears on what is asked", tuple(made)),),
        title="From the memory of {project}",
        opening=(NOTICED,),
    )
    pack = budget_fill.fill(draft, "markdown", room, size)
    included = set(pack.included())
    counted = [one.record.memory_id for one in close if one.record is not None and one.id in included]
    access.count(memory.repository.shared, counted, memory.now)
    return pack


def give(folder: SessionDir, found: str) -> str:
    """Return the text of what `find` has found, and note that it is shown: it may have come too late to be."""
    text, included = json.loads(found)
    folder.mark_shown(included)
    return str(text)


def _best_fits(snapshot: Snapshot, about: str, now: str) -> list[Result]:
    """Return what fits a prompt nearly as well as the best, best first: open records, pages, sessions and
    checkpoints."""
    from memctl.pack.items import CLOSE
    from memctl.search import ranking

    ranked = ranking.search(snapshot, about, now, most=_LOOKED_AT)
    held = [one for one in ranked if one.record is None or _is_in_force(one.record, now)]
    best = max((one.match for one in held), default=0.0)
    return [one for one in held if one.match >= CLOSE * best]


def _items(memory: Memory, snapshot: Snapshot, close: Sequence[Result], bears: Callable[[Item], bool]) -> list[Item]:
    """Return what bears on a prompt, records first. Git is asked where a text comes from only of these."""
    from memctl.pack import items

    records = [one.record for one in close if one.record is not None][:_MOST]
    found = [record for record in records if bears(items.of_record(snapshot, record, {}))]
    places = (items.of_result(snapshot, place) for place in items.places(close))
    made = list(filter(bears, places))
    if not found:
        return made
    from memctl.pack import supply

    known = supply.origins_of(memory, snapshot, found, None)
    return [*(items.of_record(snapshot, record, known) for record in found), *made]


def _is_in_force(record: Record, now: str) -> bool:
    """Return whether a record is knowledge in force. States are left out: the start's text has them."""
    is_state = record.memory_type == "state"
    return record.kind.is_knowledge and not is_state and record.is_open and not record.is_expired(now)


def note(folder: SessionDir, pack: str) -> None:
    """Note the records that a session's start was given whole."""
    folder.mark_shown(_PACKED.findall(pack))


def _least(wanted: Collection[str]) -> int:
    """Return how many words of a prompt something has to have."""
    return max(_WORDS, math.ceil(_SHARE * len(wanted)))
