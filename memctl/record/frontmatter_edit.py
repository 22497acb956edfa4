"""Change single keys of a front matter without touching any other character, and find the lines of its keys."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from memctl.record.errors import Fault, InvalidRecord
from memctl.record.frontmatter import emit, read, read_canonical, split


class KeyLines(msgspec.Struct, frozen=True):
    """A key of a front matter with its lines, exactly as they are in the file.

    `line` is the number of the first of these lines in the file, counted from 1.
    """

    key: str
    text: str
    line: int


def blocks(text: str) -> tuple[KeyLines, ...]:
    """Return the keys of a file's front matter with their lines, in order. Raises FrontMatterError.

    A comment belongs to the key above it; comments above the first key form a block whose key is "".
    """
    head, _ = split(text)
    if read_canonical(head) is not None:
        starts = {
            n: line.partition(":")[0] for n, line in enumerate(head.split("\n")[:-1], 2) if line and line[0] not in " #"
        }
    else:
        from memctl.record import strict_yaml

        strict_yaml.read(head)  # raises for front matter that can't be read
        starts = strict_yaml.key_lines(head)
    blocks: list[KeyLines] = []
    for number, line in enumerate(head.split("\n")[:-1], start=2):
        if number in starts:
            blocks.append(KeyLines(starts[number], line + "\n", number))
        elif blocks:
            last = blocks[-1]
            blocks[-1] = KeyLines(last.key, last.text + line + "\n", last.line)
        else:
            blocks.append(KeyLines("", line + "\n", number))
    return tuple(blocks)


def replace(text: str, changes: Mapping[str, Any], order: Sequence[str], *, formatted: bool = False) -> str:
    """Return the text of a file with some keys of its front matter changed, and every other character as it was.

    `changes` maps keys to their new values; None or [] removes the key. A new key is placed by `order`, the usual order
    of the keys. `formatted` is for memories of format 2 (`frontmatter`).
    """
    keys = list(blocks(text))
    current, _ = read(text)
    changes = {key: value for key, value in changes.items() if not _same(current.get(key), value)}
    if not changes:
        return text
    for key, value in changes.items():
        lines = "" if value is None or value == [] else emit(key, value, formatted=formatted)
        index = next((i for i, block in enumerate(keys) if block.key == key), None)
        if index is not None:
            keys[index] = KeyLines(key, _with_comments(lines, keys[index].text), 0)
        elif lines:
            keys.insert(_position(keys, key, order), KeyLines(key, lines, 0))
    _, rest = split(text)
    return "---\n" + "".join(block.text for block in keys) + "---\n" + rest


def _same(left: Any, other: Any) -> bool:
    """In YAML a missing value, null and [] are equal; 1 and true are not."""
    if left is None or left == []:
        return other is None or other == []
    return type(left) is type(other) and bool(left == other)


def _position(keys: Sequence[KeyLines], key: str, order: Sequence[str]) -> int:
    before = set(order[: order.index(key)]) if key in order else {block.key for block in keys}
    return max((i + 1 for i, block in enumerate(keys) if block.key in before), default=0)


def _with_comments(lines: str, old: str) -> str:
    first, *rest = old.split("\n")[:-1]
    beside = _comment(first)
    if beside and lines:
        head, newline, tail = lines.partition("\n")
        lines = f"{head} {beside}{newline}{tail}"
    if re.search(r":\s+[|>]", first):  # in a block of text `#` starts no comment
        last_of_text = max((i for i, line in enumerate(rest) if line.startswith(" ")), default=-1)
        rest = rest[last_of_text + 1 :]
    keys = [found for line in rest if (found := _comment_line(line)) is not None]
    return lines + "".join(f"{line}\n" for line in keys)


def comments(lines: str) -> list[str]:
    """Return the comments in the lines of a key, those beside values and those on own lines."""
    return [found for line in lines.split("\n") if (found := _comment(line))]


def _comment_line(line: str) -> str | None:
    if not line.strip() or line.lstrip().startswith("#"):
        return line
    return _comment(line) or None


def _comment(line: str) -> str:
    quote = ""
    for index, character in enumerate(line):
        if quote:
            quote = "" if character == quote and not (quote == '"' and line[index - 1] == "\\") else quote
        elif character in "\"'" and (index == 0 or line[index - 1] in " [{,:-"):
            quote = character
        elif character == "#" and (index == 0 or line[index - 1] in " \t"):
            return line[index:]
    return ""


def invalid_record(text: str, path: str, wrong: list[tuple[str, str]]) -> InvalidRecord:
    """Return the error for a file with wrong values in its front matter, with the line of each wrong key.

    `wrong` are pairs of a key and a message.
    """
    lines = {block.key: block.line for block in blocks(text)}
    keys = [field.partition("[")[0] for field, _ in wrong]  # `sections[2]` is an item of the list `sections`
    return InvalidRecord([Fault(path, lines.get(key, 1), *pair) for key, pair in zip(keys, wrong, strict=True)])
