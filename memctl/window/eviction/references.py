"""References from later blocks to earlier ones, found by paths, identifiers and ids.

What the model or the user says, and the arguments of calls, may name something in an earlier block: a path (also its
last two parts, or a file name with a suffix), an identifier (`snake_case`, `camelCase`, `dotted.name`), or the id of a
call, a record or a commit. The reference is to the latest block that has the name, such as the newest reading of a
file. A name with a folder does not refer to a file of that name elsewhere. References in plain words ("as said above")
are not found.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence, Set

import msgspec

from memctl.window.messages.content import ContentBlock, ContentType

_NAME = re.compile(r"[A-Za-z0-9_@~][\w./\\@:-]{2,200}")
_TELLS = re.compile(r"[A-Za-z].*\d|\d.*[A-Za-z]|_|[a-z][A-Z]|\w\.\w")
_MODEL = (ContentType.ASSISTANT_RESPONSE, ContentType.THINKING)
_REFERRING = (*_MODEL, ContentType.USER_MESSAGE)
_COMMON, _LEAST = 0.1, 5  # a name in more than a tenth of all blocks, and in more than 5, tells nothing

NamesIn = Callable[[str], Set[str]]
_Latest = dict[tuple[bool, str], int]


class BlockReference(msgspec.Struct, frozen=True):
    """A reference from a later block to an earlier one.

    `by` is the index of the block that refers, `meant` that of the block it refers to, and `names` are the names by
    which it does so.
    """

    by: int
    meant: int
    names: frozenset[str] = frozenset()


def names_in(text: str) -> set[str]:
    """Return the names in a text that may refer to another block: paths, identifiers and ids."""
    found: set[str] = set()
    for word in _NAME.findall(text):
        name = word.rstrip(".:-/\\")
        if "/" in name or "\\" in name:
            parts = [part for part in re.split(r"[/\\]", name) if part not in ("", ".", "..")]
            name = parts.pop().partition(":")[0] if parts else ""  # a line's number may follow
            found.add("/".join([*parts[-1:], name]))
        name = name.partition(":")[0]
        if len(name) > 3 and _TELLS.search(name):
            found.add(name)
    return found


def with_references(blocks: Sequence[ContentBlock], names: NamesIn = names_in) -> list[ContentBlock]:
    """Return the blocks, with three facts set in each: references to it, the last turn with one, and its newest names.

    They are `reference_count` in `metadata`, the number of turns that refer to the block; the field
    `last_referenced_turn`; and `newest_names` in `metadata`, the number of its names that no newer block has, missing
    for a block without names. Higher values that the host gave for the first two stay. `names` returns the names in a
    text.
    """
    turns: dict[int, set[int]] = {}
    latest: _Latest = {}
    for pair in pairs(blocks, names, latest):
        turns.setdefault(pair.meant, set()).add(blocks[pair.by].turn_created)
    newest = Counter(latest.values())
    found = []
    for number, block in enumerate(blocks):
        own, metadata = turns.get(number, set()), dict(block.metadata)
        if newest[number] or block.call_id or names(block.content):
            metadata["newest_names"] = newest[number]
        if own:
            metadata["reference_count"] = max(len(own), int(block.metadata.get("reference_count", 0)))
        last = max(*own, block.last_referenced_turn) if own else block.last_referenced_turn
        found.append(msgspec.structs.replace(block, last_referenced_turn=last, metadata=metadata))
    return found


def pairs(
    blocks: Sequence[ContentBlock], names: NamesIn = names_in, latest: _Latest | None = None
) -> Iterator[BlockReference]:
    """Yield each reference to a block of an earlier turn, in the order of the blocks that refer.

    `names` returns the names in a text by which references are found. `latest`, if given, gets the index of the newest
    block that has each name, apart for the model's own words (True) and all else (False).
    """
    found = _names(blocks, names)
    common = _common(found)
    latest = {} if latest is None else latest
    for number, block in enumerate(blocks):
        names_here = found[number] - common
        if block.content_type in _REFERRING:
            for meant, own in sorted(_referenced_blocks(_exact(names_here), latest).items()):
                if blocks[meant].turn_created < block.turn_created:
                    yield BlockReference(number, meant, frozenset(own))
        for name in names_here:
            latest[block.content_type in _MODEL, name] = number


def _names(blocks: Sequence[ContentBlock], names: NamesIn) -> list[set[str]]:
    """Return the names in each block; a result has those of its call, and the id of it."""
    found: list[set[str]] = []
    calls: dict[str, int] = {}
    for number, block in enumerate(blocks):
        own = set(names(block.content))
        if block.is_call:
            calls[block.call_id] = number
        elif block.call_id:
            own |= {block.call_id}
            own |= found[calls[block.call_id]] if block.call_id in calls else set()
        found.append(own)
    return found


def _common(names: Sequence[set[str]]) -> set[str]:
    counts: dict[str, int] = {}
    for own in names:
        for name in own:
            counts[name] = counts.get(name, 0) + 1
    most = max(_LEAST, len(names) * _COMMON)
    return {name for name, count in counts.items() if count > most}


def _exact(names_here: Set[str]) -> Set[str]:
    """Return the names without those of files whose path is among them, too."""
    return names_here - {name.rpartition("/")[2] for name in names_here if "/" in name}


def _referenced_blocks(names_here: Iterable[str], latest: _Latest) -> dict[int, set[str]]:
    """Return the blocks that names mean, with these: of the model's own words the latest, and of all else
    the latest."""
    found: dict[int, set[str]] = {}
    for name in names_here:
        for key in ((True, name), (False, name)):
            if key in latest:
                found.setdefault(latest[key], set()).add(name)
    return found
