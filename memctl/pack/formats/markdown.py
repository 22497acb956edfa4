"""Write packs as Markdown.

So that no text of a record can pass for memctl's own, its headings get a lower level, or the whole text is quoted.
"""

from __future__ import annotations

import re

from memctl.pack.draft import Contents, Item, OmittedGroup, OmittedItem, PackNote
from memctl.record.notices import escape_model_tokens
from memctl.text.markdown import embed, one_line
from memctl.text.phrases import quantity

_DAY = 10  # characters of a date without the time of day
# The form of each fact in the line below a title; other facts are "name value".
_FACTS = {
    "status": "{}",
    "completion": "{} % done",
    "blocked_by": "blocked by {}",
    "importance": "importance {}/10",
    "date": "{}",
    "section": "{}",
    "tags": "tags: {}",
    "code": "code: {}",
}


def markdown_item(item: Item) -> str:
    """Return one item as Markdown: its title, a line of facts, and its body."""
    facts = ((name, one_line(value).replace("|", "\N{BROKEN BAR}")) for name, value in item.facts)
    shown = [one_line(item.id), *(_fact(name, value) for name, value in facts)]
    text = fence_text(item.body, item.id) if item.kind == "file" else embed(item.body.strip("\n"))
    blocks = [f"### {one_line(item.title)}", " | ".join(shown)] if item.title else [f"### {' | '.join(shown)}"]
    if item.kind == "file":
        return "\n\n".join([*map(escape_model_tokens, blocks), text])  # a file's text is not changed
    return escape_model_tokens("\n\n".join([*blocks, text] if text else blocks))


def _fact(name: str, value: str) -> str:
    """Return a fact as the line below a title has it; of a date only the day."""
    return _FACTS.get(name, f"{name} {{}}").format(value[:_DAY] if name == "date" else value)


def markdown_pack(contents: Contents) -> str:
    """Return a whole pack as Markdown: opening notes, items by part, what is left out, and closing notes."""
    draft = contents.draft
    whole = draft.title.replace("{project}", draft.project) if draft.project else draft.title.partition(" ")[0]
    blocks = [f"# {escape_model_tokens(one_line(whole))}", *map(_note, draft.opening)]
    for part, texts in contents.parts:
        blocks += [f"## {part.title}", *texts]
    if contents.left_out:
        blocks += ["## Left out", *map(_left_out, contents.left_out)]
    blocks += [f"## {note.title}\n\n{escape_model_tokens(embed(note.text))}" for note in draft.closing]
    return "\n\n".join(blocks) + "\n"


def fence_text(text: str, path: str) -> str:
    """Return a file's text as a fenced code block, with a fence longer than any in the text."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    suffix = path.rpartition(".")[2]
    language = suffix if re.fullmatch(r"[A-Za-z0-9]{1,12}", suffix) and "." in path else ""
    return f"{fence}{language}\n{text}{'' if text.endswith(chr(10)) else chr(10)}{fence}"


def _note(note: PackNote) -> str:
    return escape_model_tokens(f"{note.title}: {one_line(note.text)}" if note.title else embed(note.text))


def _line(omitted: OmittedItem) -> str:
    return f"- {omitted.id} {escape_model_tokens(omitted.line)}"


def _left_out(group: OmittedGroup) -> str:
    lines = [f"{escape_model_tokens(group.name)}:"] if group.name else []
    lines += map(_line, group.listed)
    if group.more:
        number = f"{group.more:,} more" if group.listed else quantity(group.more, group.noun)
        more = f"and {number}" if group.listed else number
        lines.append(f"- {more}: `{group.command}`" if group.command else f"- {more}")
    return "\n".join(lines)
