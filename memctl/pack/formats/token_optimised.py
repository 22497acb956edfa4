"""Packs with as little around the text as possible (rules.md#formats).

Lines that begin in the first column are memctl's own; every line of an item's text is indented. So nothing in a record
can pass for a heading or for another record, whatever it says.
"""

from __future__ import annotations

import re

from memctl.pack.draft import Contents, Item, ItemField, PackNote
from memctl.pack.formats import short
from memctl.record.notices import escape_model_tokens
from memctl.text import headings
from memctl.text.markdown import one_line

name = "tokens"
_LIST_MARK = "- "
_FENCES = ("```", "~~~")
# Ends of lines for some readers that are none here; what follows them is indented, too.
_OTHER_ENDS = re.compile("\r(?!\n|\\Z)|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_BLOCKS = ("#", "|", ">", "- ", "* ", "+ ", *_FENCES)


def item(item: Item) -> str:
    """One item: a line of id, title and facts; then its fields, indented."""
    head = one_line(f"{item.id} {item.title}")
    if said := short.facts(item):
        head += f" |{said}|"
    if item.kind == "file":
        return "\n".join([escape_model_tokens(head), *(_indented(item.body))])  # code stays what it is
    return escape_model_tokens("\n".join([head, *(line for field in item.fields() for line in _field(field))]))


def pack(contents: Contents) -> str:
    """A whole pack, part by part."""
    lines = [f"MEMORY: {escape_model_tokens(one_line(contents.project))}"] if contents.project else ["MEMORY"]
    lines += [_note(note) for note in contents.opening]
    for part, texts in contents.parts:
        if texts:
            lines += [f"{short.part(part.name)}:", *texts]
    for group in contents.left_out:
        label = f"LEFT OUT {group.name if group.marker else group.name.upper()}".rstrip()
        lines.append(f"{escape_model_tokens(label)}:" + (f" {group.more:,} more" if group.more else ""))
        lines += [f"{left.id} {escape_model_tokens(left.said)}" for left in group.listed]
    lines += [_note(note) for note in contents.closing]
    return _OTHER_ENDS.sub(r"\g<0> ", "\n".join(lines)) + "\n"


def _note(note: PackNote) -> str:
    first, *more = squeezed(escape_model_tokens(short.note(note))).split("\n")
    return "\n".join([f"{short.part(note.name)}: {first}", *(f" {line}" for line in more)])


def _field(field: ItemField) -> list[str]:
    label = short.FIELDS.get(field.name, one_line(field.name or field.heading))
    if isinstance(field.value, str):
        first, *more = squeezed(field.value).split("\n")
        if _is_block(first):
            return [f" {label}:" if label else " :", *(f" {line}" for line in (first, *more))]
        return [f" {label}: {first}" if label else f" {first}", *(f"  {line}" for line in more)]
    if len(field.value) == 1 and "\n" not in field.value[0]:
        return [f" {label}: {field.value[0]}"]
    lines = [f" {label}:"]
    for value in field.value:
        first, *more = squeezed(value).split("\n")
        lines += [f" {_LIST_MARK}{first}", *(f"   {line}" for line in more)]
    return lines


def squeezed(text: str) -> str:
    """A text without blank lines, and with lines that are one paragraph joined; code stays as it is."""
    lines: list[str] = []
    is_open = False  # whether the next line may go on with the last one
    for line, is_prose in headings.outside_code(text):
        if not is_prose:
            if line.strip():
                lines.append(line.rstrip())
            is_open = False
        elif not line.strip():
            is_open = False
        elif is_open and not _is_block(line) and not line.startswith((" ", "\t")):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line.rstrip())
            is_open = not line.lstrip().startswith(("#", "|", *_FENCES))
    return "\n".join(lines)


def _is_block(line: str) -> bool:
    """Whether a line begins something of its own in Markdown."""
    return line.lstrip().startswith(_BLOCKS) or line.lstrip()[:1].isdigit()


def _indented(text: str) -> list[str]:
    return [f" {line}" for line in text.rstrip("\n").split("\n")] if text.strip() else []
