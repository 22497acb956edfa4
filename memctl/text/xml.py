"""Write XML: elements with text, serialised by the standard library.

No text can break out of its element. Characters that XML 1.0 does not allow even in an escaped form are replaced.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from memctl.text.model_text import without_turns

_FORBIDDEN = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """Return a text with U+FFFD in place of each character that XML can't contain, and without turns of a dialogue."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", without_turns(text))


def element(tag: str, text: str) -> Element:
    """Return an XML element with a tag and a text."""
    made = Element(tag)
    made.text = clean(text)
    return made


def add(parent: Element, tag: str, text: str, **attributes: str) -> None:
    """Add an element with a tag, a text and `attributes` (by name) to `parent`."""
    SubElement(parent, tag, {name: clean(value) for name, value in attributes.items()}).text = clean(text)


def to_text(root: Element) -> str:
    """Return an element as XML without added white space."""
    return ElementTree.tostring(root, encoding="unicode")


def indented(root: Element) -> str:
    """Return an element as indented lines of XML. The texts in it must not contain line ends."""
    ElementTree.indent(root)
    return to_text(root) + "\n"
