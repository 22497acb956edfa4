"""Elements of XML that hold texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from memctl.text.xml import clean


def texts(parent: Element, values: Mapping[str, str]) -> None:
    """Add an element for each text that is not empty."""
    for tag, value in values.items():
        if value:
            SubElement(parent, tag).text = clean(value)


def listed(parent: Element, tag: str, item: str, values: Sequence[str]) -> None:
    """Add one element with an element for each text in it; none if there are no texts."""
    if values:
        texts_in = SubElement(parent, tag)
        for value in values:
            SubElement(texts_in, item).text = clean(value)


def written(root: Element) -> str:
    """An element as text, indented. None of its texts has line ends of its own."""
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"
