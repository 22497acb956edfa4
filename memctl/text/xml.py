"""Writing XML: elements with text, serialised by the standard library.

No text can break out of its element. Characters that XML 1.0 does not allow, not even escaped, are replaced.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

_FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """Return a text with U+FFFD in place of each character that XML can't contain."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def element(tag: str, text: str) -> Element:
    """Return an element that holds a text."""
    made = Element(tag)
    made.text = clean(text)
    return made


def add(parent: Element, tag: str, text: str, **attributes: str) -> None:
    """Add an element with a tag, a text and `attributes` (by name) to `parent`."""
    SubElement(parent, tag, {name: clean(value) for name, value in attributes.items()}).text = clean(text)


def add_texts(parent: Element, values: Mapping[str, str]) -> None:
    """Add to `parent` an element for each text that is not empty: tag -> text."""
    for tag, value in values.items():
        if value:
            add(parent, tag, value)


def add_list(parent: Element, tag: str, item: str, values: Sequence[str]) -> None:
    """Add to `parent` an element with a child `item` for each text; nothing if there are no texts."""
    if values:
        texts = SubElement(parent, tag)
        for value in values:
            add(texts, item, value)


def to_text(root: Element) -> str:
    """Return an element as XML without added white space."""
    return ElementTree.tostring(root, encoding="unicode")


def indented(root: Element) -> str:
    """Return an element as indented lines of XML. Its texts must not have line ends."""
    ElementTree.indent(root)
    return to_text(root) + "\n"
