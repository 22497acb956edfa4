"""Links between records: the files of both records name each other, and both change in one commit.

The link to a parent is the exception: only the child's file names the parent.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import Any

from memctl.errors import MemctlError
from memctl.record.change import Change, Write
from memctl.record.kinds import HANDOFF, OTHER_END, SEVERITIES
from memctl.record.parser import refuse_transition
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.text import headings
from memctl.text.phrases import indefinite
from memctl.write.edit import rewrite

PARENT = "parent"  # this link has one end: the child has its parent's memory_id


def link(snapshot: Snapshot, source: str, target: str, relation: str, *, remove: bool = False) -> Change:
    """Return the Change that links two records, or with `remove` unlinks them; it is empty if nothing has to change.

    `source` and `target` are the records' ids, as a person typed them, and `relation` is the name of the link's field
    in the source, such as "blocks". Raises MemctlError for a link of a record to itself, and for a link by which
    records would block each other, or be each other's parents, in a circle.
    """
    one, other = snapshot.resolve(source), snapshot.resolve(target)
    if one.id == other.id:
        raise MemctlError(f"a record can't be linked to itself: {one.id} is given twice", "give the ids of two records")
    if not remove and relation in ("blocks", "blocked_by", PARENT):
        _refuse_circle(snapshot, one, other, relation)
    writes: tuple[Write, ...]
    if relation == PARENT:
        writes = (rewrite(snapshot, one, {"parent_memory_id": None if remove else other.memory_id}),)
    else:
        writes = (
            rewrite(snapshot, one, end(one, relation, other.id, remove=remove)),
            rewrite(snapshot, other, end(other, OTHER_END[relation], one.id, remove=remove)),
        )
    word = relation.replace("_", " ")
    title = f"{one.id} {'no longer ' if remove else ''}{word} {other.id}"
    return Change(op="unlink" if remove else "link", title=title, ids=(one.id, other.id), writes=writes)


def supersede(snapshot: Snapshot, old: str, new: str) -> Change:
    """Return the Change by which the record `new` supersedes the record `old`.

    Raises MemctlError if the two are of different types, if `new` is only proposed, or if records would supersede each
    other in a circle.
    """
    before, after = snapshot.resolve(old), snapshot.resolve(new)
    if before.id == after.id:
        raise MemctlError(f"a record can't supersede itself: {before.id} is given twice", "give the ids of two records")
    if before.memory_type != after.memory_type:
        raise MemctlError(
            f"{after.id} can't supersede {before.id}: their types are {after.memory_type} and {before.memory_type}",
            "only records of one type supersede each other; `memctl link` relates any two",
        )
    _refuse_circle(snapshot, before, after, "superseded_by")
    if after.status == "proposed":
        raise MemctlError(
            f"{after.id} is still proposed, so it can't supersede {before.id}",
            f"accept it first: `memctl edit {after.id} --status accepted`",
        )
    writes = (
        rewrite(snapshot, before, end(before, "superseded_by", after.id)),
        rewrite(snapshot, after, end(after, "supersedes", before.id)),
    )
    return Change(
        op="supersede",
        title=f"{before.id} by {after.id} {after.title}",
        ids=(before.id, after.id),
        writes=writes,
    )


def merge(snapshot: Snapshot, kept: str, other: str) -> Change:
    """Return the Change that makes one record of two that say the same; `kept` and `other` are their ids.

    The kept record gets the whole text of the other below its own, and its tags, code references, links and children;
    if it has no section or assignee, also those.
    The other becomes superseded, or a resolved duplicate if it is an issue. Raises MemctlError if the two are of
    different types, if one is closed, or for handoffs.
    """
    one, two = snapshot.resolve(kept), snapshot.resolve(other)
    _refuse_merge(one, two)
    values = {one.id: _joined_values(one, two), two.id: dict[str, Any]()}
    _take_over_links(snapshot, one, two, values)
    content: dict[str, str | list[str]] = {}
    if "superseded" in two.kind.statuses:
        _add_link(values, one, "supersedes", two.id)
        values[two.id] |= end(two, "superseded_by", one.id)
    else:
        refuse_transition(two, two.kind.resolved)
        _add_link(values, one, "relates_to", two.id)
        _add_link(values, two, "relates_to", one.id)
        values[two.id]["status"] = two.kind.resolved
        content["resolution"] = f"Duplicate of {one.id}, which has this text, too."
    first, *others = (
        rewrite(snapshot, snapshot.resolve(name), given, content if name == two.id else None)
        for name, given in values.items()
    )
    story = f"## Merged: {two.id} {two.title}\n\n{_deeper(snapshot.body(two))}".rstrip()
    first = Write(first.path, f"{first.text.rstrip()}\n\n{story}\n", first.old)
    title = f"{two.id} into {one.id} {one.title}"
    return Change(op="merge", title=title, ids=(one.id, two.id), writes=(first, *others))


def _joined_values(one: Record, two: Record) -> dict[str, Any]:
    """Return the front matter values, other than links, that a record gets if another one is merged into it."""
    values: dict[str, Any] = {"importance": max(one.importance, two.importance)}
    for name in ("tags", "code_refs"):
        values[name] = list(dict.fromkeys([*getattr(one, name), *getattr(two, name)]))
    for name in ("section", "assignee"):
        values[name] = getattr(one, name) or getattr(two, name)
    if one.severity and two.severity:
        values["severity"] = min(one.severity, two.severity, key=SEVERITIES.index)
    return values


def _take_over_links(snapshot: Snapshot, one: Record, two: Record, values: dict[str, dict[str, Any]]) -> None:
    """Add to `values`, given by id, that `one` has the links and children of `two`, too; raises MemctlError."""
    for relation in ("relates_to", "blocks", "blocked_by"):
        for name in getattr(two, relation):
            target = snapshot.find(name)
            if target is not None and target.id not in (one.id, two.id):  # `check` names links to nowhere
                if relation != "relates_to":
                    _refuse_circle(snapshot, one, target, relation)
                _add_link(values, one, relation, target.id)
                _add_link(values, target, OTHER_END[relation], one.id)
    for child in snapshot.records:
        if child.parent_memory_id == two.memory_id:
            above = two.parent_memory_id if child.id == one.id else one.memory_id
            values.setdefault(child.id, {})["parent_memory_id"] = above


def _refuse_merge(one: Record, two: Record) -> None:
    """Raise MemctlError unless two records can become one."""
    if one.id == two.id:
        raise MemctlError(
            f"a record can't be merged with itself: {one.id} is given twice", "give the ids of two records"
        )
    if one.memory_type != two.memory_type or one.memory_type == HANDOFF.name:
        raise MemctlError(
            f"{one.id} and {two.id} can't become one record: their types are {one.memory_type} and {two.memory_type}",
            f"`memctl link {one.id} {two.id}` relates them",
        )
    for record in (one, two):
        if not record.is_open:
            status = "archived" if record.is_archived else record.status
            raise MemctlError(f"{record.id} is {status}; only open records can be merged")


def _add_link(values: dict[str, dict[str, Any]], record: Record, relation: str, other: str) -> None:
    """Add a link of a record to its new `values`, which are given by id, unless it has the link."""
    given = values.setdefault(record.id, {})
    given[relation] = list(dict.fromkeys([*given.get(relation, getattr(record, relation)), other]))


def _deeper(text: str) -> str:
    """Return a Markdown text with each heading one level lower."""
    lines = ((line, outside and line.startswith("#")) for line, outside in headings.outside_code(text))
    return "\n".join(f"#{line}" if is_heading else line for line, is_heading in lines)


def resolve_references(snapshot: Snapshot, values: dict[str, Any]) -> None:
    """Replace the references in the link fields of `values`, a draft's front matter, by full ids. `values` is changed.

    For example "iss" becomes "ISS-2025-11-04-001"; the link to a parent becomes the parent's memory_id. A link field
    that is not a list is left unchanged: the later check of all fields refuses it. Raises MemctlError for an unknown or
    ambiguous reference.
    """
    for name in OTHER_END:
        if isinstance(values.get(name), list | tuple):
            values[name] = list(dict.fromkeys(snapshot.resolve(str(reference)).id for reference in values[name]))
    if "parent_memory_id" in values:
        values["parent_memory_id"] = snapshot.resolve(str(values["parent_memory_id"])).memory_id


def counterparts(snapshot: Snapshot, record: Record) -> tuple[Write, ...]:
    """Return the Writes that add links back to a new record, one for each record that it links to.

    Raises MemctlError if these links would close a circle, or if the record would supersede one of another type.
    """
    for relation in ("blocks", "supersedes"):
        _refuse_circle_through(snapshot, record, relation)
    targets: dict[str, dict[str, Any]] = {}
    for relation, other_end in OTHER_END.items():
        for identifier in getattr(record, relation):
            other = snapshot.resolve(identifier)
            if other_end == "superseded_by" and other.memory_type != record.memory_type:
                raise MemctlError(
                    f"{indefinite(record.memory_type)} can't supersede {other.id}, which is "
                    f"{indefinite(other.memory_type)}",
                    "only records of one type supersede each other; `memctl link` relates any two",
                )
            targets.setdefault(other.id, {}).update(end(other, other_end, record.id))
    return tuple(rewrite(snapshot, snapshot.resolve(identifier), values) for identifier, values in targets.items())


def linked_from(snapshot: Snapshot, record: Record) -> list[Record]:
    """Return the other records whose front matter links to `record`, or names it as their parent."""
    return [
        other
        for other in snapshot.records
        if other.path != record.path
        and (other.parent_memory_id == record.memory_id or any(record.id in getattr(other, name) for name in OTHER_END))
    ]


def without_links(record: Record, gone: AbstractSet[str], memory_ids: AbstractSet[str]) -> dict[str, Any]:
    """Return the link fields of a record that change if other records are deleted, with their new values.

    `gone` are the ids of the deleted records, and `memory_ids` their memory_ids, by which a child names its parent.
    """
    values: dict[str, Any] = {}
    for name in OTHER_END:
        linked = getattr(record, name)
        if linked and not gone.isdisjoint(linked):
            values[name] = [identifier for identifier in linked if identifier not in gone]
    if record.parent_memory_id in memory_ids:
        values["parent_memory_id"] = None
    return values


def end(record: Record, relation: str, other: str, *, remove: bool = False) -> dict[str, Any]:
    """Return the front matter values of a record that change if a link to `other` is added, or with `remove` removed.

    `relation` is the name of the link's field in the record, such as "blocks", and `other` the other record's id. If
    the record has the link already, it is not added again. The relation "superseded_by" also sets the status.
    """
    linked: list[str] = [identifier for identifier in getattr(record, relation) if identifier != other]
    values: dict[str, Any] = {relation: linked if remove else [*linked, other]}
    if not remove and other in getattr(record, relation):
        values = {}
    if relation == "superseded_by" and not remove:
        refuse_transition(record, "superseded")
        values["status"] = "superseded"
    return values


def _refuse_circle(snapshot: Snapshot, one: Record, other: Record, relation: str) -> None:
    """Raise MemctlError if following a relation from `other` leads back to `one`."""
    if _leads_to(snapshot, other, one, relation):
        word = relation.replace("_", " ")
        raise MemctlError(
            f"the link would close a circle: {other.id} already leads to {one.id} by links of the type {word!r}"
        )


def _refuse_circle_through(snapshot: Snapshot, new: Record, relation: str) -> None:
    """Raise MemctlError if a new record would lead by a relation to a record that leads to the new one."""
    for after in map(snapshot.resolve, getattr(new, relation)):
        for before in map(snapshot.resolve, getattr(new, OTHER_END[relation])):
            if _leads_to(snapshot, after, before, relation):
                how = "is the same record" if after.id == before.id else f"leads to {before.id} by links of this type"
                words = relation, after.id, OTHER_END[relation].replace("_", " "), before.id
                raise MemctlError(
                    "the links would close a circle: {} {}, {} {}, and {} {}".format(*words, after.id, how),
                    "leave out one of the two links",
                )


def _leads_to(snapshot: Snapshot, start: Record, end: Record, relation: str) -> bool:
    """Return whether following a relation from `start` leads to `end`."""
    seen: set[str] = set()
    front = [start]
    while front:
        record = front.pop()
        if record.id == end.id:
            return True
        if record.id not in seen:
            seen.add(record.id)
            further = [record.parent_memory_id or ""] if relation == PARENT else getattr(record, relation)
            front += [found for name in further if (found := snapshot.find(name))]
    return False
