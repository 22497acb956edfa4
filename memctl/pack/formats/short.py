"""Write packs with little overhead (rules.md#formats): as compressed YAML, and in the indented format "tokens".

Both use short names for frequent parts: GOAL, STATUS, DECISIONS, NEXT. The YAML is valid for any parser. In the format
"tokens" each line of an item's text is indented, and only memctl's own lines are not, so that no text of a record can
pass for a heading or for another record.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from memctl.pack.draft import NOTICED, Contents, Item, ItemField, PackNote
from memctl.record.notices import SHORT_NOTICE, escape_model_tokens
from memctl.text import headings
from memctl.text.markdown import one_line
from memctl.text.model_text import visible

_PARTS = {
    "notice": "DATA",
    "task": "GOAL",
    "summary": "PROJECT",
    "records": "RECORDS",
    "continuity": "SINCE",
    "next": "NEXT",
    "critical": "CRITICAL",
    "state": "STATUS",
    "decision": "DECISIONS",
    "issue": "ISSUES",
    "learning": "LEARNED",
    "session": "LAST SESSION",
    "more": "ALSO OPEN",
    "proposed": "PROPOSED",
    "check": "CHECK BEFORE USE",
}
_FIELDS = {
    "decision": "decided",
    "rationale": "why",
    "alternatives_considered": "instead of",
    "expected_impact": "impact",
    "validation_criteria": "check",
    "description": "what",
    "reproduction_steps": "to reproduce",
    "investigation_status": "found",
    "attempted_fixes": "tried",
    "next_actions": "next",
    "resolution": "fix",
    "task_description": "task",
    "substeps_completed": "done",
    "substeps_remaining": "to do",
    "blockers": "blocked by",
    "lesson": "lesson",
    "applicability": "applies",
}
_FACTS = {
    "importance": "i{}",
    "completion": "{}%",
    "blocked_by": "blocked by {}",
    "by": "{}",
    "commit": "@{}",
    "tags": "#{}",
}
_NEVER_FOLD = 1 << 30
_FENCES = ("```", "~~~")
# Characters that end a line for some readers; text after them is indented, too.
_OTHER_ENDS = re.compile("\r(?!\n|\\Z)|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BLOCKS = ("#", "|", ">", "- ", "* ", "+ ", *_FENCES)


def _part(name: str) -> str:
    return _PARTS.get(name, name.upper().replace("_", " "))


def _text(note: PackNote) -> str:
    """Return a note's text, with a shorter form of memctl's notice about untrusted text."""
    return SHORT_NOTICE if note == NOTICED else note.text


def _facts(item: Item) -> str:
    """Return all facts of an item on one line, such as "accepted i8 2025-11-04"."""
    lines = ((name, one_line(value).replace("|", "\N{BROKEN BAR}")) for name, value in item.facts)
    return " ".join(value[:10] if name == "date" else _FACTS.get(name, "{}").format(value) for name, value in lines)


def yaml_item(item: Item) -> str:
    """Return one item as YAML: its id and title, its facts, and the pieces of its body under short keys."""
    facts = _facts(item)
    entry: dict[str, Any] = {one_line(item.id): one_line(item.title) or facts}
    if facts and item.title:
        entry["is"] = facts
    for field in item.fields():
        key = _FIELDS.get(field.name, one_line(field.name or field.heading) or "text")
        _add(entry, key, field.value if isinstance(field.value, str) else list(field.value))
    return _dump([entry])


def yaml_pack(contents: Contents) -> str:
    """Return a whole pack as one YAML mapping."""
    draft = contents.draft
    top: dict[str, Any] = {"MEMORY": one_line(draft.project)} if draft.project else {}
    top |= {_part(note.name): _text(note) for note in draft.opening}
    texts = [_dump(top)] if top else []
    texts += [f"{_part(part.name)}:\n{''.join(items)}" for part, items in contents.parts]
    omitted: dict[str, Any] = {}
    for group in contents.left_out:
        entries: dict[str, Any] = {}
        for each in group.listed:
            _add(entries, one_line(each.id), each.line)
        if group.more:
            _add(entries, "more", group.more)
        omitted |= {group.name if group.marker else group.element: entries} if group.name else entries
    texts += [_dump({"LEFT OUT": omitted})] if omitted else []
    closing = {_part(note.name): _text(note) for note in draft.closing}
    return "".join([*texts, *([_dump(closing)] if closing else [])]) or "{}\n"


def _add(entry: dict[str, Any], key: str, value: Any) -> None:
    """Add a value under a key, or under "KEY 2", "KEY 3" and so on if the key exists."""
    number, free = 2, key
    while free in entry:
        free = f"{key} {number}"
        number += 1
    entry[free] = value


def _dump(data: Any) -> str:
    import yaml

    options: dict[str, Any] = {"allow_unicode": True, "sort_keys": False, "default_flow_style": False}
    text: str = yaml.dump(data, Dumper=_dumper(), width=_NEVER_FOLD, **options)
    return text


@cache
def _dumper() -> Any:
    """Return a YAML dumper, in C if there is one, that writes texts of several lines as literal blocks."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        value = escape_model_tokens(visible(value))  # YAML would escape what is invisible, which a reader restores
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, text)
    return Dumper


def tokens_item(item: Item) -> str:
    """Return one item in the format "tokens": a line with id, title and facts, then its body, indented."""
    head = one_line(f"{item.id} {item.title}")
    if facts := _facts(item):
        head += f" |{facts}|"
    if item.kind == "file":
        lines = item.body.rstrip("\n").split("\n") if item.body.strip() else []
        return "\n".join([escape_model_tokens(head), *(f" {line}" for line in lines)])  # a file's text is not changed
    return escape_model_tokens("\n".join([head, *(line for field in item.fields() for line in _field(field))]))


def tokens_pack(contents: Contents) -> str:
    """Return a whole pack in the format "tokens", part by part."""
    draft = contents.draft
    lines = [f"MEMORY: {escape_model_tokens(one_line(draft.project))}" if draft.project else "MEMORY"]
    lines += map(_note, draft.opening)
    for part, texts in contents.parts:
        lines += [f"{_part(part.name)}:", *texts]
    for group in contents.left_out:
        label = f"LEFT OUT {group.name if group.marker else group.name.upper()}".rstrip()
        lines.append(f"{escape_model_tokens(label)}:" + (f" {group.more:,} more" if group.more else ""))
        lines += [f"{left.id} {escape_model_tokens(left.line)}" for left in group.listed]
    lines += map(_note, draft.closing)
    return _OTHER_ENDS.sub(r"\g<0> ", "\n".join(lines)) + "\n"


def _note(note: PackNote) -> str:
    first, *more = squeeze(escape_model_tokens(_text(note))).split("\n")
    return "\n".join([f"{_part(note.name)}: {first}", *(f" {line}" for line in more)])


def _field(field: ItemField) -> list[str]:
    label = _FIELDS.get(field.name, one_line(field.name or field.heading))
    if isinstance(field.value, str):
        first, *more = squeeze(field.value).split("\n")
        if _is_block(first):
            return [f" {label}:" if label else " :", *(f" {line}" for line in (first, *more))]
        return [f" {label}: {first}" if label else f" {first}", *(f"  {line}" for line in more)]
    if len(field.value) == 1 and "\n" not in field.value[0]:
        return [f" {label}: {field.value[0]}"]
    lines = [f" {label}:"]
    for value in field.value:
        first, *more = squeeze(value).split("\n")
        lines += [f" - {first}", *(f"   {line}" for line in more)]
    return lines


def squeeze(text: str) -> str:
    """Return a text without blank lines and with each paragraph joined to one line; lines of code are not joined."""
    lines: list[str] = []
    is_open = False  # whether the next line may continue the last one
    for line, is_prose in headings.outside_code(text):
        if is_prose and is_open and line.strip() and not _is_block(line) and not line.startswith((" ", "\t")):
            lines[-1] += f" {line.strip()}"
            continue
        if line.strip():
            lines.append(line.rstrip())
        is_open = is_prose and bool(line.strip()) and not line.lstrip().startswith(("#", "|", *_FENCES))
    return "\n".join(lines)


def _is_block(line: str) -> bool:
    """Return whether a line begins a Markdown block, such as a heading, an item or a table."""
    return line.lstrip().startswith(_BLOCKS) or line.lstrip()[:1].isdigit()
