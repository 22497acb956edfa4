"""Find whether the code that a record refers to has changed: the lines of a reference, and their definition."""

from __future__ import annotations

from collections.abc import Sequence

from memctl.text.lazy_regex import lazy_regex

_AROUND = 2  # lines before and after a reference outside of a definition that have to be the same, too
_FARTHEST = 400  # lines above a reference in which its definition is looked for
_DEFINES = lazy_regex(
    r"\s*(?:export |default |public |private |protected |static |async |pub(?:\([^)]*\))? |abstract |final )*"
    r"(?:def|class|func|function|fn|interface|struct|enum|trait|impl|module|sub|type)\b"
)


def is_unchanged(before: str, after: str, lines: tuple[int, int]) -> bool:
    """Return whether lines of the text `before`, with the definition around them, are unchanged in the text `after`.

    `lines` are the first and last line in `before`, from 1. In `after` they may have other numbers, since text may have
    been added above, below or in other definitions. Lines that `before` does not have count as changed.
    """
    known = before.split("\n")
    first, last = lines[0] - 1, min(lines[1], len(known))
    if first >= last:
        return False
    start, end = _definition(known, first, last)
    return "\n" + "\n".join(known[start:end]) + "\n" in f"\n{after}\n"


def _definition(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """Return the range of the innermost definition around `lines[first:last]`, told from their indentation.

    Without one it is the lines themselves and two around them.
    """
    deepest = min((_indent(line) for line in lines[first:last] if line.strip()), default=0)
    for place in range(first, max(-1, first - _FARTHEST), -1):
        line = lines[place]
        is_header = place == first or (line.strip() and _indent(line) < deepest)
        if not is_header:
            continue
        if _DEFINES.match(line):
            return place, _end(lines, place, last)
        deepest = min(deepest, _indent(line)) if line.strip() else deepest
    return max(0, first - _AROUND), _without_blank(lines, min(len(lines), last + _AROUND), last)


def _end(lines: Sequence[str], header: int, last: int) -> int:
    indent, end = _indent(lines[header]), len(lines)
    for place in range(header + 1, len(lines)):
        text = lines[place].strip()
        if text and _indent(lines[place]) <= indent and text[0] not in ")]}:{" and text != "end":
            end = place
            break
    return max(_without_blank(lines, end, last), last)


def _without_blank(lines: Sequence[str], end: int, last: int) -> int:
    while end > last and not lines[end - 1].strip():
        end -= 1
    return end


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
