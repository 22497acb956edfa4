"""Names that this clone and the remote both gave out since they parted: what only this clone has gets another.

`memctl renumber` keeps the record that was made first. Here it is known which of two names has been published: other
clones may refer to that one already, while whatever refers to ours is here, in the files that our side changed. So it
is ours that changes, wherever it is mentioned, before anything is merged.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from memctl.hierarchy.places import FOLDER
from memctl.journal import trees
from memctl.journal.tree_merge import Leaf, store
from memctl.model import frontmatter, ids, pages
from memctl.model.kinds import BY_FOLDER
from memctl.model.malformed import Malformed
from memctl.model.record import ORDER
from memctl.store import files
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence

Leaves = Mapping[str, Leaf]
_MEMORY_ID = re.compile(rb"^memory_id: *(\S+)", re.MULTILINE)


class Renamed(msgspec.Struct, frozen=True):
    """A record or page of ours that got another name: the two names, and its two paths below `.memory/`."""

    old: str
    new: str
    path: str
    new_path: str


def renumber(
    memory: Memory, sequence: Sequence, base: Leaves, ours: Leaves, theirs: Leaves
) -> tuple[Leaves, tuple[Renamed, ...]]:
    """Our files with other names for what collides with theirs, and which those are. Ids come from `sequence`."""
    renamed = (*_records(memory, sequence, base, ours, theirs), *_pages(base, ours, theirs))
    if not renamed:
        return ours, ()
    changed = [path for path, leaf in ours.items() if base.get(path) != leaf and _is_text(path, leaf)]
    texts = _texts(memory, (ours[path].blob for path in changed))
    new_paths = {one.path: one.new_path for one in renamed}
    by_path = {one.path: one for one in renamed}
    found = {path: leaf for path, leaf in ours.items() if path not in new_paths}
    written: list[tuple[str, str, bytes]] = []
    for path in changed:
        text = _rewritten(texts[ours[path].blob], renamed, by_path.get(path))
        if path in new_paths or text != texts[ours[path].blob]:
            written.append((new_paths.get(path, path), ours[path].mode, text))
    blobs = store(memory.repository, [text for _, _, text in written])
    return {**found, **{p: Leaf(m, b) for (p, m, _), b in zip(written, blobs, strict=True)}}, renamed


def _records(memory: Memory, sequence: Sequence, base: Leaves, ours: Leaves, theirs: Leaves) -> Iterator[Renamed]:
    """The records that only we have, under ids that other records have which only they have."""
    mine, yours = _new_records(base, ours), _new_records(base, theirs)
    shared = [identifier for identifier in mine if identifier in yours]
    if not shared:
        return
    used = {ids.id_in_path(path) for path in (*base, *ours, *theirs)}
    texts = _texts(memory, (leaf.blob for name in shared for leaf in (ours[mine[name]], theirs[yours[name]])))
    for name in shared:
        one, other = mine[name], yours[name]
        if one == other and _memory_id(texts[ours[one].blob]) == _memory_id(texts[theirs[other].blob]):
            continue  # the same record came both ways
        kind = ids.kind_of(name)
        assert kind is not None
        new = name
        while new in used:
            new = sequence.take(kind, name[4:14])[0]
        used.add(new)
        yield Renamed(name, new, one, one.replace(name, new))


def _new_records(base: Leaves, side: Leaves) -> dict[str, str]:
    """The paths of the records that a side has added, by id."""
    added = (path for path in side if path not in base and files.is_record_path(path, BY_FOLDER))
    return {identifier: path for path in added if (identifier := ids.id_in_path(path))}


def _pages(base: Leaves, ours: Leaves, theirs: Leaves) -> Iterator[Renamed]:
    """The pages that only we have, under numbers of pages of another name that only they have.

    Two pages of one number and one name are taken for the same page.
    """
    mine, yours = _new_pages(base, ours), _new_pages(base, theirs)
    numbers = {pages.number_at(path) for path in (*base, *ours, *theirs)}
    for number, path in sorted(mine.items()):
        if yours.get(number, path) != path:
            level = number.partition(".")[0]
            last = max(int(other[2:]) for other in numbers if other.startswith(level + "."))
            new = f"{level}.{last + 1}"
            numbers.add(new)
            folder, _, name = path.rpartition("/")
            yield Renamed(f"§{number}", f"§{new}", path, f"{folder}/{new}{name.removeprefix(number)}")


def _new_pages(base: Leaves, side: Leaves) -> dict[str, str]:
    return {number: path for path in side if path not in base and "/" in path and (number := pages.number_at(path))}


def _is_text(path: str, leaf: Leaf) -> bool:
    return leaf.is_regular and path.endswith(".md") and not path.startswith(f"{FOLDER}/")


def _texts(memory: Memory, blobs: Iterable[str]) -> dict[str, bytes]:
    found = trees.blobs(memory.repository, blobs, files.MAX_BYTES)
    return {blob: content or b"" for blob, content in found.items()}


def _memory_id(text: bytes) -> bytes:
    match = _MEMORY_ID.search(text)
    return match[1] if match else b""


def _rewritten(data: bytes, renamed: Iterable[Renamed], own: Renamed | None) -> bytes:
    """A file of ours with the new names; `own` is the new name of what the file itself holds."""
    names = {one.old: one.new for one in renamed}
    for one in renamed:  # by their files' names, which have no § before the number
        names[one.path.rpartition("/")[2]] = one.new_path.rpartition("/")[2]
    pattern = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    text = data.decode("utf-8", "surrogateescape")
    text = re.sub(rf"(?<![\w-])(?:{pattern})(?![0-9A-Za-z_])", lambda match: names[match[0]], text)
    if own and own.old.startswith("§"):
        heading = rf"^(#+[ \t]+§?){re.escape(own.old[1:])}(?=\.[0-9])"
        text = re.sub(heading, lambda match: match[1] + own.new[1:], text, flags=re.MULTILINE)
    if own:
        text = _with_alias(text, own)
    return text.encode("utf-8", "surrogateescape")


def _with_alias(text: str, own: Renamed) -> str:
    try:
        aliases = frontmatter.read(text)[0].get("aliases") or []
        order = pages.ORDER if own.old.startswith("§") else ORDER
        return frontmatter.replace(text, {"aliases": [*aliases, own.old]}, order)
    except (Malformed, ValueError):  # a file that can't be read keeps at least its text
        return text
