"""Find references to records and pages in a text: ids and § markers that are not in code."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from memctl.record import ids
from memctl.record.kinds import BY_PREFIX
from memctl.text import headings
from memctl.text.lazy_regex import lazy_regex

# Levels 1 to 3 by numbers, level 4 by a path or its dotted form; rules.md#levels-of-pages.
MARKER = lazy_regex(r"§(?:[1-3](?:\.[0-9]+)+|4\.[\w@*][\w./*@+-]*)")
REFERENCE = lazy_regex(rf"(?<![\w-])(?:{ids.PATTERN.pattern})(?![\w-])|{MARKER.pattern}")
_BEGINNINGS = ("§", *(f"{prefix}-" for prefix in BY_PREFIX))
_BEGINNING = lazy_regex("|".join(_BEGINNINGS))  # searched first, since it is faster than REFERENCE
_TRAILING = ".-"  # at the end of a reference these belong to the sentence


IGNORE = "check_ignore"  # listed among the mentions of a record whose front matter has this key


class Mention(msgspec.Struct, frozen=True, array_like=True):
    """A reference in a text: its line, counted from 1, and the id or § marker as written."""

    line: int
    text: str


def in_text(text: str, first_line: int = 1) -> list[Mention]:
    """Return the record ids and § markers in a Markdown text, without those in code; each is returned once per line.

    `first_line` is the number of the text's first line in its file.
    """
    if not any(beginning in text for beginning in _BEGINNINGS):  # twice as fast as the pattern
        return []
    return [Mention(line + first_line - 1, reference) for line, reference in _references(text)]


def is_path(path: str) -> bool:
    """Return whether a § reference can name a path: not one with a space or a bracket, at which the reference ends."""
    return "*" not in path and [mention.text for mention in in_text(f"§4.{path}")] == [f"§4.{path}"]


@lru_cache(maxsize=8)  # one command calls it up to four times for the same page
def _references(text: str) -> tuple[tuple[int, str], ...]:
    if "`" not in text and "~" not in text and "    " not in text and "\t" not in text:  # no code anywhere
        return tuple(dict.fromkeys(_in_prose(text)))
    references = []
    for number, (line, outside) in enumerate(headings.outside_code(text), 1):
        if outside and REFERENCE.search(line):
            bare = headings.CODE_SPAN.sub("", line)
            references += [(number, match[0].rstrip(_TRAILING)) for match in REFERENCE.finditer(bare)]
    return tuple(dict.fromkeys(references))


def _in_prose(text: str) -> list[tuple[int, str]]:
    """Return the line (from 1) and the text of each id or § marker; this is five times as fast as line by line."""
    prose, line, counted, end = [], 1, 0, 0
    for beginning in _BEGINNING.finditer(text):
        start = beginning.start()
        match = REFERENCE.match(text, start) if start >= end else None
        if match is not None:
            line += text.count("\n", counted, start)
            counted, end = start, match.end()
            prose.append((line, match[0].rstrip(_TRAILING)))
    return prose
