"""Changes of a record: front matter values, content fields, or its whole text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pages.links import refuse_missing_section, section_marker
from memctl.record import content_fields, frontmatter, handoff, pages, record_form, time_input
from memctl.record.change import Change, Write, is_final
from memctl.record.kinds import IMPORTANCE_BY_SEVERITY, STATE, Field
from memctl.record.parser import disallowed, parse, parse_new, problems, refuse_transition
from memctl.record.record import BY_OPTION, FIELDS, FIXED, LISTS, TIMES, Record
from memctl.record.required_text import refuse_placeholder
from memctl.record.snapshot import Snapshot
from memctl.task import state_record
from memctl.text.markdown import one_line
from memctl.text.phrases import indefinite

_DONE, _LEFT = "substeps_completed", "substeps_remaining"
_ELSEWHERE = {
    "is_archived": "`memctl archive` and `memctl unarchive` change it",
    "archived_at": "`memctl archive` sets it",
    **dict.fromkeys(("access_count", "last_accessed"), "memctl sets it itself when the record is shown or found"),
    "parent_memory_id": "`memctl link CHILD PARENT --as parent` sets it",
    **dict.fromkeys(("supersedes", "superseded_by"), "`memctl supersede OLD NEW` sets both links"),
    **dict.fromkeys(("relates_to", "blocks", "blocked_by"), "`memctl link` sets the links in both records"),
}


class Edits(msgspec.Struct, frozen=True):
    """Changes of a record's fields, as pairs of a field's name and a value, such as ("severity", "high").

    The pairs in `set` replace the value of a field. Then those in `remove` remove a value from a field that is a list,
    and those in `add` add one to such a field.
    """

    set: Sequence[tuple[str, str]] = ()
    add: Sequence[tuple[str, str]] = ()
    remove: Sequence[tuple[str, str]] = ()


def edit(snapshot: Snapshot, reference: str, edits: Edits, now: str, *, allow_accepted: bool = False) -> Change:
    """Return the Change that edits fields of a record: front matter keys or content fields.

    The fields have the names that `memctl show --json` prints. `reference` is the record's id, as a person typed it.
    Among the new values, times may be relative to `now`, such as "7d". Raises MemctlError for an unknown field or an
    invalid value. Without `allow_accepted` it is also raised if title or text of an accepted decision would change.
    """
    record = snapshot.resolve(reference)
    text = snapshot.read(record.path)
    values: dict[str, Any] = {}
    content = dict(content_fields.content(record.kind, parse(text, record.path)[1]))
    before = dict(content)
    # Values are removed before others are added, so that the error for a missing one lists what the record has.
    for action, pairs in (("set", edits.set), ("remove", edits.remove), ("add", edits.add)):
        for name, value in pairs:
            _apply(record, values, content, action, name, value, now)
    if record.kind is STATE and content.get(_DONE) != before.get(_DONE):  # what is done remains no more
        content[_LEFT] = state_record.record_values(state_record.of_values(content))[_LEFT]
    if values.get("severity") and "importance" not in values:
        old, new = (IMPORTANCE_BY_SEVERITY.get(name or "") for name in (record.severity, values["severity"]))
        if new is not None and record.importance == old != new:  # it is the old severity's default
            values["importance"] = new
    if _accepts(record, values.get("status", record.status)):
        values.setdefault("expires_at", None)
    changed = {name: value for name, value in content.items() if before.get(name) != value}
    if "title" in values or changed:
        _protect(record, allow_accepted)
    if values.get("section") and values["section"] != record.section:
        refuse_missing_section(snapshot.outline, values["section"])
    pages.refuse_line_zero(set(values.get("code_refs") or ()) - set(record.code_refs))
    if wrong := problems({**msgspec.structs.asdict(record), **values}):
        raise MemctlError("\n".join(f"{field}: {message}" for field, message in wrong))
    write = rewrite(snapshot, record, values, changed)
    return Change(
        op="edit",
        title=f"{record.id} ({_summary(values, changed)}) {values.get('title', record.title)}",
        ids=(record.id,),
        writes=(write,),
    )


def edit_text(snapshot: Snapshot, record: Record, text: str, *, allow_accepted: bool = False) -> Change:
    """Return the Change that replaces the whole text of a record, as a person saved it in an editor.

    Raises MemctlError if the text is not a valid record, or changes a value that can't be changed, such as the id.
    Without `allow_accepted` it is also raised if title or text of an accepted decision would change.
    """
    old = snapshot.read(record.path)
    text = frontmatter.clean_newlines(text)
    new, body = parse_new(text, record.path, f"the new text of {record.id}")
    for name in FIXED:
        if getattr(new, name) != getattr(record, name):
            raise MemctlError(
                f"the field {name} of a record can't be changed", f"set it back to {getattr(record, name)!r}"
            )
    _refuse_status(record, new.status, new.superseded_by)
    if new.section and new.section != record.section:
        refuse_missing_section(snapshot.outline, new.section)
    if new.title != record.title:
        refuse_placeholder(new.title, "title")
    if new.title != record.title or body != parse(old, record.path)[1]:
        _protect(record, allow_accepted)
    if _accepts(record, new.status) and new.expires_at == record.expires_at:
        text = record_form.replace(text, {"expires_at": None})
    return Change(
        op="edit",
        title=f"{record.id} {new.title}",
        ids=(record.id,),
        writes=(Write(record.path, text, old),),
    )


def rewrite(
    snapshot: Snapshot,
    record: Record,
    values: Mapping[str, Any],
    content: Mapping[str, str | list[str]] | None = None,
) -> Write:
    """Return the Write that changes some front matter values and content fields of a record, and nothing else."""
    old = snapshot.read(record.path)
    text = record_form.replace(old, values) if values else old
    if content:
        head_end = len(text) - len(frontmatter.split(text)[1])
        body = text[head_end:].lstrip("\n")
        for field in record.kind.fields:
            if field.name in content:
                body = content_fields.replace(record.kind, body, field, content[field.name])
        text = text[:head_end] + ("\n" + body if body else "")
    return Write(record.path, text, old)


def close(snapshot: Snapshot, references: Sequence[str], resolution: str = "") -> Change:
    """Return the Change that sets the status of issue records to "resolved", and that of state records to "done".

    `references` are the records' ids, as a person typed them. `resolution` says how an issue was resolved: it goes into
    the record. Raises MemctlError for a record of another type, and for a state record if a resolution is given, since
    state records have none.
    """
    records = [snapshot.resolve(reference) for reference in references]
    writes = []
    for record in records:
        status = record.kind.resolved
        if not status:
            raise MemctlError(
                f"{record.id} is {indefinite(record.memory_type)}, which can't be resolved",
                f"`memctl supersede {record.id} NEW` replaces it; `memctl edit {record.id} --status …` changes its "
                "status",
            )
        refuse_transition(record, status)
        known = content_fields.content(record.kind, parse(snapshot.read(record.path), record.path)[1])
        if resolution and record.status == status and known.get("resolution"):
            raise MemctlError(
                f"{record.id} is already resolved, with the resolution: {one_line(str(known['resolution']))}",
                f"`memctl edit {record.id} --resolution …` changes the resolution",
            )
        if resolution and not _content_field(record, "resolution"):
            raise MemctlError(
                f"{record.id} is {indefinite(record.memory_type)}, and {indefinite(record.memory_type)} has no "
                "resolution",
                f"`memctl resolve {record.id}` closes it, and `memctl edit {record.id} --done …` says what was done",
                USAGE,
            )
        text: dict[str, str | list[str]] = {"resolution": resolution} if resolution else {}
        values: dict[str, Any] = {"status": status}
        if "completion_percentage" in record.kind.defaults:
            values["completion_percentage"] = 100
        writes.append(rewrite(snapshot, record, values, text))
    return change_of_all("resolve", records, writes)


def reopen(snapshot: Snapshot, references: Sequence[str]) -> Change:
    """Return the Change that reopens resolved issue records, and state records that are done.

    `references` are the records' ids, as a person typed them. Raises MemctlError for a record of another type.
    """
    records, writes = [snapshot.resolve(reference) for reference in references], []
    for record in records:
        if not record.kind.resolved:
            raise MemctlError(
                f"{record.id} is {indefinite(record.memory_type)}, which can't be reopened",
                f"`memctl edit {record.id} --status …` changes its status",
            )
        refuse_transition(record, record.kind.statuses[0])
        values: dict[str, Any] = {"status": record.kind.statuses[0]}
        if record.completion_percentage == 100:
            values["completion_percentage"] = None  # an open state can't be at 100 %
        writes.append(rewrite(snapshot, record, values))
    return change_of_all("reopen", records, writes)


def archive(snapshot: Snapshot, references: Sequence[str], now: str) -> Change:
    """Return the Change that archives records: they keep their paths, and only `memctl list --archived` shows them.

    `references` are the records' ids, as a person typed them, and `now` is the time at which they are archived.
    """
    records = [snapshot.resolve(reference) for reference in references]
    refuse_offered(snapshot, records)
    values = {"is_archived": True, "archived_at": now}
    writes = [rewrite(snapshot, record, {} if record.is_archived else values) for record in records]
    return change_of_all("archive", records, writes)


def unarchive(snapshot: Snapshot, references: Sequence[str]) -> Change:
    """Return the Change that takes records out of the archive."""
    records = [snapshot.resolve(reference) for reference in references]
    values = {"is_archived": False, "archived_at": None}
    writes = [rewrite(snapshot, record, values if record.is_archived else {}) for record in records]
    return change_of_all("unarchive", records, writes)


def _summary(values: Mapping[str, Any], content: Mapping[str, Any]) -> str:
    """Return what was changed, for a commit's subject: the new value where it is short and a matter of state."""
    shown = ("status", "severity", "importance", "completion_percentage", "section", "assignee")
    words = [f"{name} {values[name]}" if name in shown and values[name] is not None else name for name in values]
    return ", ".join([*words, *content]) or "nothing"


def change_of_all(op: str, records: Sequence[Record], writes: Sequence[Write] = ()) -> Change:
    """Return the Change of one write per record; raises MemctlError if a record is named twice."""
    ids = tuple(record.id for record in records)
    if len(set(ids)) < len(ids):
        raise MemctlError(f"the same record is named twice: {', '.join(ids)}", "name each record once")
    title = f"{ids[0]} {records[0].title}" if len(records) == 1 else ", ".join(ids)
    return Change(op=op, title=title, ids=ids, writes=tuple(writes))


def refuse_offered(snapshot: Snapshot, records: Sequence[Record]) -> None:
    """Raise MemctlError if one of `records` is a handoff of sections that its receiver has not answered yet.

    The sections are the receiver's as soon as they are offered. If the caller archived or deleted the records, nobody
    could answer the handoff any more, and the sections would never go back.
    """
    for record in records:
        if record.memory_type == "handoff" and record.is_open:
            sections: tuple[str, ...] = ()
            with suppress(MemctlError):  # an unreadable handoff names no sections
                sections = handoff.from_record(snapshot, record).parties.sections
            if sections:
                raise MemctlError(
                    f"{record.id} still offers {', '.join(sections)}, and no agent could accept or decline it after "
                    "this change",
                    f"end the offer first: `memctl team handoff withdraw {record.id}`; its receiver runs "
                    f"`memctl team handoff decline {record.id}`",
                )


def _accepts(record: Record, status: str) -> bool:
    """Return whether a status accepts a proposal, which ends the term that the proposal had."""
    return record.expires_at is not None and record.status == "proposed" and status == "accepted"


def _protect(record: Record, allowed: bool) -> None:
    """Raise MemctlError if a record's text is final: a handoff's, or a decision's that is not just proposed."""
    if allowed or not is_final(record):
        return
    if record.memory_type == "handoff":
        raise MemctlError(
            f"{record.id} was given to another agent: its text can't be changed",
            "make another handoff, or correct a typing error with --allow-accepted",
        )
    raise MemctlError(
        f"the decision {record.id} is {record.status}: its text can't be changed any more",
        f"supersede it (`memctl decide … --supersedes {record.id}`), or correct a typing error with --allow-accepted",
    )


def _apply(
    record: Record, values: dict[str, Any], content: dict[str, Any], action: str, name: str, value: str, now: str
) -> None:
    """Set, add or remove one value of a field, in `values` (front matter) or `content`; raises MemctlError."""
    field = _content_field(record, name)
    if action != "remove" and (field is not None or name == "title"):
        refuse_placeholder(value, name)
    if field is not None:
        content[field.name] = _change_content(field, content.get(field.name), action, value)
        return
    name = name.replace("-", "_")
    name = BY_OPTION.get(name, name)
    if name in _ELSEWHERE:
        raise MemctlError(f"`memctl edit` can't change the field {name}", _ELSEWHERE[name], USAGE)
    if name not in FIELDS or name in FIXED:
        known = [n for n in FIELDS if n not in FIXED and n not in _ELSEWHERE] + [f.name for f in record.kind.fields]
        from memctl.text.words import nearest

        near = nearest(name, known)
        hint = f"did you mean {near[0]}?" if near else "the fields are " + ", ".join(known)
        raise MemctlError(f"unknown field {name!r}", hint, USAGE)
    if name in LISTS:
        current = values.get(name, getattr(record, name))
        values[name] = _change_list(current, action, value.split(",") if action == "set" else [value])
    else:
        _refuse_no_list(name, action)
        values[name] = scalar(record, name, value, now)


def _content_field(record: Record, name: str) -> Field | None:
    """Return the content field that a person names by its name, option or heading; None if there is none."""
    wanted = name.replace("-", "_").casefold()
    for field in record.kind.fields:
        if wanted in (field.name, field.option, field.heading.casefold().replace(" ", "_")):
            return field
    return None


def _change_content(field: Field, current: Any, action: str, value: str) -> str | list[str]:
    value = frontmatter.clean_newlines(value)
    if field.is_list:
        items = content_fields.parse_items(value) if action == "set" else [value]
        return _change_list(current or [], action, items)
    _refuse_no_list(field.name, action)
    return value.strip("\n")


def _refuse_no_list(name: str, action: str) -> None:
    """Raise MemctlError if an action adds or removes an item, since the field `name` is not a list."""
    if action != "set":
        raise MemctlError(
            f"the field {name} is not a list, so nothing can be added or removed", f"use --set {name}=…", USAGE
        )


def _change_list(current: Sequence[str], action: str, items: Sequence[str]) -> list[str]:
    items = [item.strip() for item in items if item.strip()]
    if action == "set":
        return list(dict.fromkeys(items))
    if action == "add":
        return [*current, *(item for item in items if item not in current)]
    missing = [item for item in items if item not in current]
    if missing:
        raise MemctlError(
            f"{missing[0]!r} is not in the list",
            f"the list has: {', '.join(current)}" if current else "the list is empty",
        )
    return [item for item in current if item not in items]


def _refuse_status(record: Record, status: str, successors: Sequence[str]) -> None:
    refuse_transition(record, status)
    if status == "superseded" != record.status and not successors:
        raise MemctlError(
            f"{record.id} has no successor, so it can't become superseded",
            f"`memctl supersede {record.id} NEW` names the record that replaces it, and sets the status",
        )


def scalar(record: Record, name: str, value: str, now: str) -> Any:
    """Return the front matter value for the text `value` that a person typed for the key `name`; None for "".

    Times may be relative to `now`, such as "7d". Raises MemctlError for a value that the key can't have.
    """
    if name == "status":
        if record.memory_type == "handoff" and value != record.status:
            raise MemctlError(
                f"the status of the handoff {record.id} can't be edited, since the owner of its sections depends on it",
                "`memctl team handoff accept`, `decline` and `withdraw` change status and owner",
            )
        _refuse_status(record, value, record.superseded_by)
    if value == "":
        return None
    if name in TIMES:
        later = name == "expires_at"
        return time_input.parse(value, now, ahead=later, whole_day=later)
    if name in ("importance", "completion_percentage"):
        try:
            return int(value)
        except ValueError:
            raise MemctlError(f"{name}: {disallowed(value, 'a whole number')}") from None
    if name == "section":
        return section_marker(value)
    return " ".join(value.split()) if name == "title" else value
