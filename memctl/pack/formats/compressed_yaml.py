"""Packs as compressed YAML (rules.md#formats): short keys, one entry an item, parsed by any YAML reader."""

from __future__ import annotations

from functools import cache
from typing import Any

from memctl.pack.draft import Contents, Item, PackNote, harmless
from memctl.pack.formats import short
from memctl.text.markdown import one_line

name = "yaml"
_NEVER_FOLD = 1 << 30


def item(item: Item) -> str:
    """One item: its id and title, its facts, its fields under short keys."""
    said = short.facts(item)
    entry: dict[str, Any] = {one_line(item.id): one_line(item.title) or said}
    if said and item.title:
        entry["is"] = said
    for field in item.fields():
        key = short.FIELDS.get(field.name, one_line(field.name or field.heading) or "text")
        _add(entry, key, field.value if isinstance(field.value, str) else list(field.value))
    return _dump([entry])


def pack(contents: Contents) -> str:
    """A whole pack as one mapping."""
    top: dict[str, Any] = {"MEMORY": one_line(contents.project)} if contents.project else {}
    texts = [_dump(top | _notes(contents.opening))] if top or contents.opening else []
    for part, items in contents.parts:
        if items:
            texts.append(f"{short.part(part.name)}:\n{''.join(items)}")
    left: dict[str, Any] = {}
    for group in contents.left_out:
        entries: dict[str, Any] = {}
        for each in group.listed:
            _add(entries, one_line(each.id), each.said)
        if group.more:
            _add(entries, "more", group.more)
        left |= {group.name if group.marker else group.element: entries} if group.name else entries
    if left:
        texts.append(_dump({"LEFT OUT": left}))
    if contents.closing:
        texts.append(_dump(_notes(contents.closing)))
    return "".join(texts) or "{}\n"


def _notes(notes: tuple[PackNote, ...]) -> dict[str, str]:
    return {short.part(note.name): short.note(note) for note in notes}


def _add(entry: dict[str, Any], key: str, value: Any) -> None:
    """Put a value under a key, or if that is taken under the next free one."""
    number = 2
    free = key
    while free in entry:
        free = f"{key} {number}"
        number += 1
    entry[free] = value


def _dump(data: Any) -> str:
    import yaml

    text: str = yaml.dump(
        data, Dumper=_dumper(), allow_unicode=True, sort_keys=False, default_flow_style=False, width=_NEVER_FOLD
    )
    return text


@cache
def _dumper() -> Any:
    """YAML's C dumper where there is one; texts of several lines are literal blocks."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        value = harmless(value)  # or some of it would be escaped, which a reader undoes
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper
