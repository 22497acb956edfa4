"""Which format a text has, by how it looks."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.parsers import expat

from memctl.errors import MemctlError
from memctl.policy import messages, trees

_LOOKED_AT = 200_000  # characters; a format shows itself before
_KEY = re.compile(r"(?:- )?[\w§\"'][\w §./\"'-]{0,60}:(?:\s|$)")
_HEADING = re.compile(r"^#{2,6} \S", re.MULTILINE)
_MARKS_IN_LINES = 0.8  # of the lines of YAML that begin at the margin are keys or items


def format_of(text: str, name: str) -> str:
    """The format of a text: json, xml, yaml, lines or markdown. Raises MemctlError for XML with a DOCTYPE."""
    start = text.lstrip()[:1]
    if start in ("{", "[") and messages.is_json(text):
        return "json"
    if start == "<":
        head = text.lstrip()[:1000]
        if re.match(r"(?:<\?xml.*?\?>\s*|<!--.*?-->\s*)*<!DOCTYPE", head, re.DOTALL | re.IGNORECASE):
            raise MemctlError(f"{name} has a DOCTYPE", "entities are not expanded here; take the DOCTYPE out")
        try:
            trees.xml_root(text)
            return "xml"
        except (expat.ExpatError, ValueError):
            return "markdown"  # elements among plain text
    if _is_yaml(text[:_LOOKED_AT]):
        return "yaml"
    return "lines" if _is_lines(text[:_LOOKED_AT]) else "markdown"


def _margin(text: str) -> list[str]:
    """The lines that begin at the margin, without comments."""
    return [line for line in text.split("\n") if line.strip() and line[0] not in " \t#" and line != "---"]


def _is_yaml(text: str) -> bool:
    lines = _margin(text)
    if not lines or _HEADING.search(text) or not _KEY.match(lines[0]):
        return False
    return sum(1 for line in lines if line.startswith("- ") or _KEY.match(line)) >= _MARKS_IN_LINES * len(lines)


def _is_lines(text: str) -> bool:
    """A line at the margin, then text that belongs to it and is indented, more than once."""
    if re.search(r"^#{1,6} ", text, re.MULTILINE):
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    opened = sum(1 for line, after in pairwise(lines) if line[0] not in " \t-*" and after[0] in " \t")
    return opened > 1 and opened * 4 >= len(lines) / 2
