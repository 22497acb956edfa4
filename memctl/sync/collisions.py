"""Renumber records and pages of this clone whose id another clone has pushed meanwhile for something else.

`memctl renumber` does this after a merge that Git made. Nobody knows then which record was published first, so the
older record keeps the id. A sync has another rule: the remote's record keeps the id. Other clones may already refer to
that record, while all references to this clone's record are in files that this clone changed. This clone's record is
renumbered, with all references, before anything is merged. The code is that of `memctl renumber`
(`write/id_collisions.py`, `write/references.py`).

In a memory of format 2 only what was never pushed is renumbered, since chats and commits may cite the rest.

The new id is derived from the record's `memory_id`. So a clone that renumbers the same record after a merge by Git
gives it the same id. And a third clone can't give the id to a new record, as it could with the next free number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress

from memctl.errors import MemctlError
from memctl.git import trees
from memctl.git.first_commits import FirstCommits, Origin
from memctl.git.tree_merge import Leaf, store_files
from memctl.pages.links import FOLDER
from memctl.record import checkpoint, frontmatter, handoff, ids, pages
from memctl.record.errors import InvalidRecord
from memctl.record.pages import DETAIL, SECTION
from memctl.record.parser import parse
from memctl.record.record import Record
from memctl.store import files
from memctl.store.memory import Memory
from memctl.write import id_collisions
from memctl.write import pages as lifecycle_pages
from memctl.write.id_collisions import Holder, MemoryFile
from memctl.write.references import Rewriting

Leaves = Mapping[str, Leaf]


def renumber(memory: Memory, base: Leaves, ours: Leaves, theirs: Leaves) -> tuple[Leaves, tuple[Holder, ...]]:
    """Give new ids to this clone's records and pages whose id the remote has given to something else.

    Returns this clone's files, with the new ids in them and in all references, and the renumbered records and pages.
    `base`, `ours` and `theirs` are the files of the memory in the common commit, in this clone and at the remote, by
    path. A record or page that can't be read keeps its id: `memctl check` reports it.
    """
    changed = {path: leaf for path, leaf in ours.items() if base.get(path) != leaf and _is_text(path, leaf)}
    new = [{path: leaf for path, leaf in side.items() if path not in base} for side in (ours, theirs)]
    shared = _same_names(*new)
    if not shared:
        return ours, ()
    sides = [_texts(memory, side) for side in (changed, {path: theirs[path] for path in shared.values()})]
    taken = {ids.id_in_path(path) or "" for path in (*base, *ours, *theirs)}
    records, published = map(_parse_records, sides)
    holders = list(_records(shared, records, published, taken))
    holders += _pages(memory, shared, sides[0], {*base, *ours, *theirs})
    if not holders:
        return ours, ()
    if memory.config.format > 1:
        _refuse_pushed(memory, holders, shared)
    memory_files = [MemoryFile(path, text, records.get(path)) for path, text in sides[0].items()]
    rewriting = Rewriting(holders, memory_files, _Ours())
    written, modes = {}, {}
    names = dict(ours)
    packages = id_collisions.packages(holders)
    for file, moving, text in rewriting.texts():
        path = moving.new_path if moving else packages.get(file.path, file.path)
        if moving or text != file.text:
            names.pop(file.path)
            written[path], modes[path] = text, ours[file.path].mode
    names = {packages.get(path, path): leaf for path, leaf in names.items()}  # those in which nothing is renamed
    return {**names, **store_files(memory.repository, written, modes)}, tuple(holders)


def _refuse_pushed(memory: Memory, holders: list[Holder], shared: Mapping[str, str]) -> None:
    pushed = FirstCommits(memory.repository, memory.prefix).pushed([holder.origin for holder in holders])
    for holder in holders:
        if holder.origin in pushed:
            raise MemctlError(
                f"{memory.tracked(holder.path)} has the id {holder.name}, and so has the remote's "
                f"{memory.tracked(shared[holder.path])}; both were pushed, so that sync renumbers neither",
                "merge the two by `git merge`, then run `memctl renumber`, which leaves the older one as it is",
            )


class _Ours:
    """The history of what only this clone has: a file of ours that names a shared id means our record."""

    def times_added(self, _: Collection[Origin]) -> Mapping[Origin, int]:
        return {}

    def visible_to(self, writers: Collection[Origin], things: Collection[Origin]) -> Mapping[Origin, frozenset[Origin]]:
        return dict.fromkeys(writers, frozenset(things))

    def paths_ever(self, _: str) -> Collection[str]:
        return ()

    def pushed(self, _: Collection[Origin]) -> frozenset[Origin]:
        return frozenset()


def _same_names(ours: Leaves, theirs: Leaves) -> dict[str, str]:
    """Pages with the same path count as one page."""
    by_name = {_name(path): path for path in theirs}
    names = {path: by_name[name] for path in ours if (name := _name(path)) and name in by_name}
    return {one: other for one, other in names.items() if one != other or not pages.number_at(one)}


def _name(path: str) -> str:
    number = pages.number_at(path) if "/" in path else ""
    if number:
        return f"§{number}"
    return (ids.id_in_path(path) or "") if files.is_record_path(path) else ""


def _records(
    shared: Mapping[str, str], ours: Mapping[str, Record], theirs: Mapping[str, Record], taken: set[str]
) -> Iterator[Holder]:
    for path, other in sorted(shared.items()):
        record, published = ours.get(path), theirs.get(other)
        if record is None:
            continue
        memory_id = record.memory_id
        if published and published.memory_id == memory_id:
            if path == other:
                continue  # the same record came both ways
            memory_id = id_collisions.copy_memory_id(record)
        now = ids.derive_id(record.id, memory_id, taken)
        taken.add(now)
        yield Holder(
            record.id, now, path, Origin(path, mark=record.memory_id), record.title, record, memory_id=memory_id
        )


def _pages(
    memory: Memory, shared: Mapping[str, str], texts: Mapping[str, str], known: Collection[str]
) -> Iterator[Holder]:
    for kind in (SECTION, DETAIL):
        yielding = sorted((path for path in shared if pages.kind_at(path) is kind), key=pages.number_at)
        if not yielding:
            continue
        ever = lifecycle_pages.former_files(memory, kind)
        free = id_collisions.free_numbers(kind, map(pages.number_at, (*known, *ever)))
        for path in yielding:
            with suppress(InvalidRecord, UnicodeEncodeError):
                title = pages.parse(texts[path], path).title
                yield Holder(f"§{pages.number_at(path)}", next(free), path, Origin(path), title)


def _is_text(path: str, leaf: Leaf) -> bool:
    is_prose = path.endswith(".md") and not path.startswith(f"{FOLDER}/")
    return leaf.is_regular and (is_prose or checkpoint.is_json(path) or bool(handoff.record_path(path)))


def _texts(memory: Memory, leaves: Leaves) -> dict[str, str]:
    found = trees.blobs(memory.repository, {leaf.blob for leaf in leaves.values()}, files.MAX_BYTES)
    texts = {path: (found[leaf.blob] or b"").decode("utf-8", "surrogateescape") for path, leaf in leaves.items()}
    return {path: frontmatter.clean_newlines(text) for path, text in texts.items() if found[leaves[path].blob]}


def _parse_records(texts: Mapping[str, str]) -> dict[str, Record]:
    records = {}
    for path, text in texts.items():
        if files.is_record_path(path):
            with suppress(InvalidRecord, UnicodeEncodeError):
                records[path] = parse(text, path)[0]
    return records
