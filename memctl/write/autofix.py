"""`check --fix`: corrections of the findings that have one right answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from memctl.record.change import Change, Write, is_final
from memctl.record.kinds import OTHER_END
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.write.edit import rewrite

_IN_PAGES = ("MEM201", "MEM209")
RENAMED = (*_IN_PAGES, "MEM203", "MEM207")  # findings about missing code, which may have been renamed


def fix(snapshot: Snapshot, findings: Iterable[tuple[str, str]], memory: Memory | None = None) -> Change:
    """Return the Change that fixes those of `findings` that have one right answer; it is empty if there are none.

    If only one of two linked records has the link, it is added to the other. Superseded records get that status. With
    `memory`, the new paths of renamed files are written into references and globs. A finding is a pair: the code of a
    rule, such as "MEM107", and the path of a record or page.
    """
    findings = list(dict.fromkeys(findings))
    records = {record.path: record for record in snapshot.records}
    values: dict[str, dict[str, Any]] = {}
    for code, path in findings:
        if (record := records.get(path)) is None:
            continue
        if code == "MEM402":
            values.setdefault(path, {})["status"] = "superseded"
        elif code == "MEM107":
            _add_ends(snapshot, record, values)
    page_writes: dict[str, Write] = {}
    bodies: dict[str, tuple[str, str]] = {}  # before and after, by path
    if memory is not None and any(code in RENAMED for code, _ in findings):
        from memctl.write import moved_references  # seldom needed

        moved = moved_references.MovedReferences(memory, snapshot)
        named = [(code, path) for code, path in findings if path in records]
        for path, references in moved.of_records(records[path] for code, path in named if code == "MEM203").items():
            values.setdefault(path, {})["code_refs"] = references
        for code, path in named:
            if code == "MEM207" and not is_final(records[path]):
                before = snapshot.body(records[path])
                if (body := moved.in_body(before)) != before:
                    bodies[path] = before, body
                    values.setdefault(path, {})
        paths = {path for code, path in findings if code in _IN_PAGES}
        broken = [page for page in snapshot.outline.pages if page.path in paths]
        page_writes = {page.id: write for page in broken if (write := moved.in_page(page)) is not None}
    writes = [rewrite(snapshot, records[path], values[path]) for path in sorted(values)]
    for place, write in enumerate(writes):
        before, body = bodies.get(write.path, ("", ""))
        writes[place] = msgspec.structs.replace(write, text=write.text.removesuffix(before) + body)
    ids = (*sorted(records[path].id for path in values), *page_writes)
    return Change(
        op="fix",
        title=", ".join(ids[:3]) + (" …" if len(ids) > 3 else ""),
        ids=ids,
        writes=(*writes, *page_writes.values()),
    )


def _is_uncertain(record: Record, other: Record, relation: str) -> bool:
    """Return whether it is uncertain which of two linked records is right, so that neither may be changed."""
    if other.id == record.id or record.id in getattr(other, relation):
        return relation != "relates_to" or other.id == record.id
    return "supersede" in relation and record.memory_type != other.memory_type


def _add_ends(snapshot: Snapshot, record: Record, values: dict[str, dict[str, Any]]) -> None:
    """Add to `values` the missing other ends of a record's links, by the path of the record that lacks them."""
    for relation, other_end in OTHER_END.items():
        for identifier in getattr(record, relation):
            other = snapshot.find(identifier)
            if other is None or _is_uncertain(record, other, relation):
                continue
            if {record.id, *record.aliases} & set(getattr(other, other_end)):
                continue
            if snapshot.link_target_by_alias(record, identifier, other_end) is not None:
                continue  # the link has both ends, and names its record by a former id
            changes = values.setdefault(other.path, {})
            changes[other_end] = [*changes.get(other_end, getattr(other, other_end)), record.id]
            if other_end == "superseded_by" and other.status != "superseded":
                changes["status"] = "superseded"
