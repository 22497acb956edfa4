"""`check --fix`: corrections of the findings that have one right answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from memctl.pages import freshness
from memctl.record import frontmatter_edit, pages
from memctl.record.change import Change, Write
from memctl.record.kinds import OTHER_END
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.write.edit import rewrite

RENAMED = ("MEM201", "MEM203")  # findings about missing code, which may have been renamed


def fix(
    snapshot: Snapshot,
    findings: Iterable[tuple[str, str]],
    present_paths: Callable[[Collection[str]], Mapping[str, str]] = lambda _: {},
) -> Change:
    """Return the Change that fixes those of `findings` that have one right answer; it is empty if there are none.

    It adds missing ends of links, sets the status of superseded records, and replaces the paths of renamed files. A
    finding is a pair: the code of a rule, such as "MEM107", and the path of a record or page. `present_paths` returns
    the present path of each renamed file among some missing files, by its old path.
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
    broken_records = [records[path] for code, path in findings if code == "MEM203" and path in records]
    broken_pages = [page for page in snapshot.outline.pages if ("MEM201", page.path) in findings]
    renamed = _renamed(snapshot, broken_records, broken_pages, present_paths)
    for record in broken_records:
        # A reference to lines stays: `why` follows the lines from the commit that recorded it.
        if not renamed.keys().isdisjoint(record.code_refs):
            references = dict.fromkeys(renamed.get(reference, reference) for reference in record.code_refs)
            values.setdefault(record.path, {})["code_refs"] = list(references)
    page_writes = {page.id: _follow_in_page(snapshot, page, renamed) for page in broken_pages}
    page_writes = {marker: write for marker, write in page_writes.items() if write.text != write.old}
    writes = (*(rewrite(snapshot, records[path], values[path]) for path in sorted(values)), *page_writes.values())
    ids = (*sorted(records[path].id for path in values), *page_writes)
    return Change(op="fix", title=", ".join(ids[:3]) + (" …" if len(ids) > 3 else ""), ids=ids, writes=writes)


def _renamed(
    snapshot: Snapshot,
    records: Iterable[Record],
    broken_pages: Iterable[Page],
    present_paths: Callable[[Collection[str]], Mapping[str, str]],
) -> dict[str, str]:
    """Return the present path of each missing file that a record or page names by its whole old path."""
    names = snapshot.files.names()
    missing = {reference for record in records for reference in record.code_refs} - names
    for page in broken_pages:
        references = freshness.references(snapshot, page)
        broken = (ref.reference for ref in references if ref.state == freshness.MISSING)
        missing |= {pages.code_path(reference.removeprefix("§4.")) for reference in broken}
    present = present_paths(missing) if missing else {}
    return {old: new for old, new in present.items() if old in missing and new in names}


def _follow_in_page(snapshot: Snapshot, page: Page, renamed: Mapping[str, str]) -> Write:
    """Return the Write that replaces the paths of renamed files in a page; its review stays as it is."""
    old = snapshot.read(page.path)
    reviewed = {renamed.get(path, path): stamp for path, stamp in page.stamps.items()}
    paths = {reference: pages.code_path(reference) for reference in page.code_refs}
    values = {
        "code_refs": [renamed.get(path, path) + reference[len(path) :] for reference, path in paths.items()],
        "reviewed": [f"{path} {stamp}" for path, stamp in sorted(reviewed.items())],
    }
    changed = {name: value for name, value in values.items() if value != getattr(page, name)}
    text = frontmatter_edit.replace(old, changed, pages.ORDER) if changed else old
    for path, new in renamed.items():
        text = new.join(re.split(rf"(?<=§4\.){re.escape(path)}(?![\w@*+-]|[./]\w)", text))
    return Write(page.path, text, old)


def _has_other_end(record: Record, other: Record, other_end: str) -> bool:
    """Return whether `other` has its end of the link to `record`, by the record's id or a former one."""
    return bool({record.id, *record.aliases} & set(getattr(other, other_end)))


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
            if other is None or _has_other_end(record, other, other_end) or _is_uncertain(record, other, relation):
                continue
            if snapshot.link_target_by_alias(record, identifier, other_end) is not None:
                continue  # the link has both ends, and names its record by a former id
            changes = values.setdefault(other.path, {})
            changes[other_end] = [*changes.get(other_end, getattr(other, other_end)), record.id]
            if other_end == "superseded_by" and other.status != "superseded":
                changes["status"] = "superseded"
