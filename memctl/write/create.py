"""Making records: from a draft to the Change that adds the file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from memctl.errors import MemctlError
from memctl.pages.links import refuse_missing_section, section_marker
from memctl.record import content_fields, frontmatter, ids, pages, record_form, time_input
from memctl.record.change import Change, Write, WriteOptions
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import IMPORTANCE_BY_SEVERITY, OTHER_END, STATE, Kind
from memctl.record.parser import parse, problems, with_lists
from memctl.record.record import Record
from memctl.record.required_text import refuse_placeholder
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import key
from memctl.store import files, load
from memctl.store.memory import Memory
from memctl.store.sequence import Sequence
from memctl.text import headings
from memctl.write import transaction
from memctl.write.commit import Outcome

TASK_ID = "task_id"  # in the front matter of a state: what a program calls the task


class Draft(msgspec.Struct, kw_only=True):
    """The values for a new record: its type, front matter values, content fields, and a body.

    `values` are the front matter values by key, such as {"severity": "high"}. `content` are the content fields by name,
    such as {"rationale": "…"}. `body` is a Markdown text in which the content fields are set; without it the record's
    text consists of the content fields alone. With `is_new`, a state keeps the earlier state of its task.
    """

    kind: Kind
    values: dict[str, Any]
    content: dict[str, str | list[str]] = {}
    body: str = ""
    is_new: bool = False

    def take(self, values: Mapping[str, Any]) -> None:
        """Set front matter values and content fields of this draft, by name; values of None or () change nothing."""
        fields = {field.name for field in self.kind.fields}
        for name, value in values.items():
            if value is not None and value != ():
                value = list(value) if isinstance(value, tuple) else value
                (self.content if name in fields else self.values)[name] = value
        if self.values.get("section"):
            self.values["section"] = section_marker(str(self.values["section"]))


def add(memory: Memory, draft: Draft, options: WriteOptions) -> Outcome:
    """Create a record from a draft, in one commit, and return the outcome. Raises MemctlError if the draft is wrong."""
    refuse_placeholder(str(draft.values["title"]), "TITLE")
    refers = draft.kind is STATE or any(draft.values.get(name) for name in (*OTHER_END, "parent_memory_id", "section"))

    def plan(sequence: Sequence) -> Change:
        return create(memory, sequence, load.disk(memory) if refers else None, draft)

    return transaction.carry_out(memory, plan, options)


def create(memory: Memory, sequence: Sequence, snapshot: Snapshot | None, draft: Draft) -> Change:
    """Return the Change that adds a record with the next id of its type and day, which `sequence` generates.

    `snapshot` is the memory, in which the records and the section that the draft refers to are looked up; it may be
    None if the draft refers to none. Raises MemctlError with every invalid value.
    """
    values = with_lists(complete_values(memory, draft))
    if memory.by_agent:
        values["agent_id"] = memory.actor  # an agent signs as nobody else
    if snapshot is not None:
        if draft.kind is STATE and not draft.is_new:
            replaced = values.get("supersedes") or []
            if isinstance(replaced, list | tuple):
                values["supersedes"] = list(dict.fromkeys([*replaced, *_states_of_task(snapshot, values)]))
        from memctl.write import links  # most records refer to none

        links.resolve_references(snapshot, values)
        _stand_in(snapshot, values, draft.values.get("supersedes"))
        if isinstance(values.get("section"), str):
            refuse_missing_section(snapshot.outline, values["section"])
    _refuse(draft.kind, values)
    identifier = sequence.take(draft.kind, values["timestamp"][:10])[0]
    values["id"], values["memory_id"] = identifier, memory.new_memory_id(identifier)
    try:
        record, write = record_and_file(memory, values, draft)
    except InvalidRecord as error:  # a character that no file of the memory may have
        raise MemctlError(
            f"{values['title']}: {error.faults[0].message}", "remove this character from the record's text"
        ) from None
    others = links.counterparts(snapshot, record) if snapshot is not None else ()
    concerned = (identifier, *(ids.id_in_path(other.path) or "" for other in others))
    return Change(op=draft.kind.verb, title=f"{identifier} {record.title}", ids=concerned, writes=(write, *others))


def _stand_in(snapshot: Snapshot, values: dict[str, Any], replaced: object) -> None:
    """Put a record that supersedes others where they stand: in their section, and at their code, unless it says so."""
    if not replaced or not isinstance(values.get("supersedes"), list):
        return
    before = [snapshot.resolve(name) for name in values["supersedes"]]
    for name in ("section", "code_refs"):
        known = [getattr(record, name) for record in before if getattr(record, name)]
        if known and not values.get(name):
            values[name] = known[0]


def _states_of_task(snapshot: Snapshot, values: Mapping[str, Any]) -> Iterable[str]:
    """Yield the ids of the open states of a new state's task, which it supersedes (rules.md#lifecycle).

    They have its task id or, if one of the two has none, its title, section and agent.
    """
    own = _task(values)
    for record in snapshot.open_records:
        if record.memory_type != STATE.name:
            continue
        is_same = _task({"title": record.title, "section": record.section, "agent_id": record.agent_id}) == own
        if is_same or values.get(TASK_ID):
            known = frontmatter.read(snapshot.read(record.path))[0].get(TASK_ID)
            if known == values[TASK_ID] if known and values.get(TASK_ID) else is_same:
                yield record.id


def _task(values: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(key(str(values.get(name) or "")) for name in ("title", "section", "agent_id"))


def complete_values(memory: Memory, draft: Draft) -> dict[str, Any]:
    """Return the front matter values of a draft, with defaults for missing ones and with times in canonical form."""
    now = memory.now
    values = {name: value for name, value in draft.values.items() if value is not None and value != []}
    values.setdefault("timestamp", now)
    for name in ("timestamp", "expires_at"):
        if name in values:
            later = name == "expires_at"
            values[name] = time_input.parse(str(values[name]), now, ahead=later, whole_day=later)
    for name, default in draft.kind.defaults.items():
        values.setdefault(name, default)
    values.setdefault("status", draft.kind.statuses[0])
    values.setdefault("importance", IMPORTANCE_BY_SEVERITY.get(str(values.get("severity")), draft.kind.importance))
    values.setdefault("project_id", memory.config.project)
    values.setdefault("agent_id", memory.actor)
    values.setdefault("is_archived", False)
    values.setdefault("access_count", 0)
    values["memory_type"] = draft.kind.name
    if isinstance(values.get("title"), str):
        values["title"] = " ".join(values["title"].split())
    return values


def record_and_file(memory: Memory, values: dict[str, Any], draft: Draft) -> tuple[Record, Write]:
    """Return the record with the front matter `values`, and the Write that creates its file with the body of `draft`.

    `values` must be complete, with `id` and `title`, from which the file's path is made. Raises MemctlError for a key
    that front matter can't have, and InvalidRecord for an invalid value.
    """
    path = ids.path_of(values["id"], values["title"])
    body = body_of(draft, template(memory, draft.kind))
    try:
        text = record_form.compose(values, body, memory.config)
    except ValueError as error:
        raise MemctlError(str(error)) from None
    return parse(text, path)[0], Write(path, text)


def body_of(draft: Draft, order: Iterable[str]) -> str:
    """Return the body for a draft's record: the draft's text with its content fields set in it.

    If the draft has no text, the body consists of the content fields. They are then in the order of the headings
    `order`, which are those of a template.
    """
    body = frontmatter.clean_newlines(draft.body).strip("\n")
    body = body + "\n" if body else ""
    places = {heading.casefold(): place for place, heading in enumerate(order)}
    fields = sorted(draft.kind.fields, key=lambda field: places.get(field.heading.casefold(), len(places)))
    if not body:
        parts = [
            content_fields.compose(field, content_fields.clean(draft.content[field.name]))
            for field in fields
            if field.name in draft.content
        ]
        return "\n".join(part for part in parts if part)
    for field in fields:
        if field.name in draft.content:
            body = content_fields.replace(draft.kind, body, field, content_fields.clean(draft.content[field.name]))
    return body


def template(memory: Memory, kind: Kind) -> list[str]:
    """Return the headings in the template of a record type; the project's own template is used if it has one."""
    own = _own_template(memory, kind)
    if own is None:
        return [field.heading for field in kind.fields]
    return [part.heading for part in headings.split(own) if part.heading]


def template_text(memory: Memory, kind: Kind) -> str:
    """Return the template for bodies of a record type; the project's own template is used if it has one."""
    own = _own_template(memory, kind)
    return kind.template if own is None else own


def _own_template(memory: Memory, kind: Kind) -> str | None:
    """Return the project's own template for a record type, None if it has none."""
    try:
        return files.read_if_there(memory.folder, f"templates/{kind.name}.md")
    except InvalidRecord as error:
        raise MemctlError(f"{memory.prefix}/{error}") from None


def _refuse(kind: Kind, values: dict[str, Any]) -> None:
    """Raise MemctlError for everything that is wrong with values, before an id is taken."""
    stand_in = {"id": ids.record_id(kind, "2000-01-01", 1), "memory_id": "00000000-0000-7000-8000-000000000000"}
    wrong = problems({**values, **stand_in})
    if wrong:
        raise MemctlError("\n".join(f"{field}: {message}" for field, message in wrong))
    pages.refuse_line_zero(values.get("code_refs") or ())
