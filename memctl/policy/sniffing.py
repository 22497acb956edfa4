"""Which format a text has, by how it looks."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.parsers import expat

from memctl.errors import MemctlError
from memctl.policy import messages, trees
from memctl.policy.trees import KEY

_LOOKED_AT = 200_000  # characters; a format shows itself before
_HEADING = re.compile(r"^#{2,6} \S", re.MULTILINE)
_ANY_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_OWN = re.compile(r"MEMORY(?::|\n)")
_OPENED = 8  # one line in so many has indented text below it


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
    return "lines" if _is_margin(text[:_LOOKED_AT]) else "markdown"


def _is_yaml(text: str) -> bool:
    """Whether every line at the margin is a key, an item or what closes one: YAML allows no other."""
    lines = [line for line in text.split("\n") if line.strip() and line[0] not in " \t#]}" and line != "---"]
    if not lines or _HEADING.search(text) or not any(KEY.match(line) for line in lines):
        return False
    return all(line.startswith("- ") or KEY.match(line) for line in lines)


def _is_margin(text: str) -> bool:
    """Whether lines at the margin have indented text that belongs to them, as in memctl's own format."""
    if _OWN.match(text):
        return True
    if _ANY_HEADING.search(text):
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    opened = sum(1 for line, after in pairwise(lines) if line[0] not in " \t-*" and after[0] in " \t")
    return opened > 1 and opened * _OPENED >= len(lines)
