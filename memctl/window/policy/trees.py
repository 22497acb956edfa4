"""Texts that nest, as trees: XML by its elements, YAML and indented lines by their indentation.

A leaf is a piece; short leaves of one parent that follow each other are one piece together, and with what their parent
says of itself, as the items of a list are. A leaf of several paragraphs is taken apart like Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple
from xml.parsers import expat

from memctl.text.similar import plain_words
from memctl.window.policy import markdown_text
from memctl.window.policy.pieces import CODE, DATA, HEADING, Piece, enough, kind_of

_SHORT = 20  # words; a leaf of more is a piece by itself
_DEEPEST = 100  # levels of nesting that are read
_ROOT = "memctl-root"  # a stream of events has several roots; they need one to be XML
_DECLARATION = re.compile(r"<\?xml[^<>]*\?>")
KEY = re.compile(r"""(?:- )*(?P<key>"[^"]{1,60}"|'[^']{1,60}'|[\w§][\w §./-]{0,60}):(?:\s+(?P<value>.*))?$""")
_HEADER = re.compile(r"(LEFT OUT §[^:]{1,120}|[A-Z][A-Z0-9 _/-]{1,40}):(?:\s|$)")
_FACTS = "is"  # the key under which memctl's YAML has what a record says of itself
_TITLE = 160  # characters of a line at the margin that are a title
_FOUND = 40  # characters by which a piece is found in its source
_DEEP = 1 << 30  # depth of what begins nothing
_LONGEST = 2_000  # characters of a line that patterns look at


class Node:
    """A place in a tree: its title, what it says itself, and what stands in it."""

    __slots__ = ("attributes", "children", "end", "line", "sources", "texts", "title")

    def __init__(self, title: str, line: int, attributes: str = "") -> None:
        self.title = title
        self.attributes = attributes
        self.line = self.end = line
        self.texts: list[str] = []
        self.sources: list[str] = []  # its own parts of the text, without those of its children
        self.children: list[Node] = []

    @property
    def text(self) -> str:
        return "".join(self.texts)

    @property
    def source(self) -> str:
        return "".join(self.sources)

    @property
    def says(self) -> str:
        return "\n".join(part for part in (self.attributes, self.text.strip()) if part)

    @property
    def is_short_leaf(self) -> bool:
        if self.children:
            return False
        text = self.text.strip()
        return "\n" not in text and len(plain_words(text)) <= _SHORT


def xml_pieces(text: str) -> list[Piece]:
    """The pieces of XML that `xml_root` reads."""
    return _gathered(xml_root(text))


def xml_root(text: str) -> Node:
    """The tree of one or several XML elements; raises ExpatError, or ValueError for what can't be read safely."""
    body = _DECLARATION.sub(lambda match: "\n" * match[0].count("\n"), text, count=1)
    opening = f"<{_ROOT}>"
    data = f"{opening}{body}</{_ROOT}>".encode()
    reader = _XmlReader(data)
    reader.read()
    if reader.root.text.strip():
        raise ValueError("text stands outside of the elements")
    return reader.root


class _XmlReader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._parser = expat.ParserCreate()
        self._open: list[Node] = []
        self._nodes = 0
        self._counted = 0  # bytes that belong to a node already
        self.root = Node("", 1)

    def read(self) -> None:
        parser = self._parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._finish
        parser.CharacterDataHandler = self._says
        parser.StartDoctypeDeclHandler = self._refuse
        parser.EntityDeclHandler = self._refuse
        parser.Parse(self._data, True)

    def _refuse(self, *_: object) -> None:
        raise ValueError("a DOCTYPE is not read")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._give()
        if len(self._open) >= _DEEPEST:
            raise ValueError(f"elements are nested more than {_DEEPEST} deep")
        if tag == _ROOT and not self._open:
            self._open.append(self.root)
            self._counted = len(tag) + 2
            return
        shown = " | ".join(f"{key} {value}" for key, value in attributes.items() if key != "title")
        title = f"{tag}: {attributes['title']}" if "title" in attributes else tag
        self._nodes = enough(self._nodes + 1)
        node = Node(title, self._parser.CurrentLineNumber, shown)
        self._open[-1].children.append(node)
        self._open.append(node)

    def _finish(self, _: str) -> None:
        self._give()
        node = self._open.pop()
        end = self._data.find(b">", self._parser.CurrentByteIndex) + 1
        if self._open and end > self._counted:
            node.sources.append(self._data[self._counted : end].decode(errors="replace"))
            self._counted = end
        node.end = self._parser.CurrentLineNumber

    def _says(self, text: str) -> None:
        self._open[-1].texts.append(text)

    def _give(self) -> None:
        """Give what was read since the last element to the one that is open."""
        place = self._parser.CurrentByteIndex
        if self._open and place > self._counted:
            self._open[-1].sources.append(self._data[self._counted : place].decode(errors="replace"))
            self._counted = place


def yaml_pieces(text: str) -> list[Piece]:
    """The pieces of YAML: by indentation, which needs no YAML reader and expands nothing."""
    return _gathered(_indented(text, _yaml_line))


def margin_pieces(text: str) -> list[Piece]:
    """The pieces of lines at the margin, each with the indented text that belongs to it, under `HEADERS:`."""
    return _gathered(_indented(text, _margin_line))


class _Line(NamedTuple):
    """A line of an indented text: how deep it stands, and with which title and text it begins a node, if it does."""

    depth: int
    title: str | None
    text: str


def _yaml_line(indent: int, inner: str) -> _Line:
    match = KEY.match(inner[:_LONGEST])
    is_item = inner.startswith("- ")
    depth = 2 * indent + is_item  # an item may stand right below the key that it belongs to
    if match is None:
        return _Line(depth, "", _unquoted(inner[2:])) if is_item else _Line(depth, None, inner)
    return _Line(depth, match["key"].strip("\"'"), _unquoted(inner[match.start("value") :] if match["value"] else ""))


def _margin_line(indent: int, inner: str) -> _Line:
    if indent == 0:
        match = _HEADER.match(inner[:_LONGEST])
        if match is not None:
            return _Line(0, match[1], inner[match.end() :])
        title, _, facts = inner.partition(" |")
        return _Line(1, title[:_TITLE], facts.rstrip("|") if len(title) <= _TITLE else inner)
    if indent == 1 and inner.startswith("- "):
        return _Line(3, "", inner[2:])
    match = KEY.match(inner[:_LONGEST]) if indent == 1 else None
    if match is not None:
        return _Line(2, match["key"], inner[match.start("value") :] if match["value"] else "")
    return _Line(_DEEP, None, inner)


def _indented(text: str, read: Callable[[int, str], _Line]) -> Node:
    root = Node("", 1)
    above: list[tuple[int, Node]] = [(-1, root)]
    gap, nodes = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        inner = line.lstrip(" \t")
        if not inner or (inner == "---" and number == 1):
            gap += line + "\n"
            continue
        found = read(len(line) - len(inner), inner)
        while above[-1][0] >= found.depth:
            above.pop()
        owner = above[-1][1]
        if found.title is not None and len(above) < _DEEPEST:
            nodes = enough(nodes + 1)
            node = Node(found.title, number)
            node.texts.append(found.text)
            owner.children.append(node)
            above.append((found.depth, node))
            owner = node
        else:
            owner.texts += ["\n\n" if gap.strip(" ") and owner.texts else "\n", inner]
        owner.sources.append(gap + line + "\n")
        owner.end, gap = number, ""
    return root


def _unquoted(value: str) -> str:
    if value in ("|", "|-", ">", ">-", "|+", ">+", "[]", "{}"):
        return ""
    if len(value) < 2 or value[0] != value[-1] or value[0] not in "\"'":
        return value
    return value[1:-1].replace("''", "'") if value[0] == "'" else value[1:-1]


def _gathered(root: Node) -> list[Piece]:
    found: list[Piece] = []
    outer = root
    if len(root.children) == 1 and root.children[0].children:
        outer = root.children[0]
        _add(outer, [], -1, found)
    _gather(outer, len(found) - 1, found, is_outer=True)
    return found


def _gather(node: Node, parent: int, found: list[Piece], *, is_outer: bool = False) -> None:
    """Add the pieces of what stands in a node, whose own piece is `parent`; what is outermost is not taken together."""
    short: list[Node] = []
    for child in node.children:
        if child.is_short_leaf:
            if is_outer and short and short[-1].title != child.title:
                _add_short("", short, parent, found)
                short = []
            short.append(child)
            continue
        _add_short("" if is_outer else node.title, short, parent, found)
        short = []
        own = len(found)
        if child.children:
            leading = _leading(child)
            _add(child, leading, parent, found)
            rest = Node(child.title, child.line)
            rest.children = child.children[len(leading) :]
            _gather(rest, own, found)
        else:
            _add_leaf(child, parent, found)
    _add_short("" if is_outer else node.title, short, parent, found)


def _leading(node: Node) -> list[Node]:
    """The short leaves that a node begins with: they say what it is."""
    leading: list[Node] = []
    for child in node.children:
        if not (child.is_short_leaf or (child.title == _FACTS and not child.children)):
            break
        leading.append(child)
    return leading


def _add(node: Node, leading: list[Node], parent: int, found: list[Piece]) -> None:
    """A node with what it says itself and the short leaves that it begins with, as one piece."""
    says = "\n".join(part for part in (node.says, *map(_line_of, leading)) if part)
    source = node.source + "".join(child.source for child in leading)
    end = leading[-1].end if leading else node.line
    kind = kind_of(says) if says else HEADING
    found.append(Piece(node.title, says, source, node.line, end, kind, parent, is_marked=True))


def _add_short(title: str, nodes: list[Node], parent: int, found: list[Piece]) -> None:
    if not nodes:
        return
    title = title or nodes[0].title
    says = "\n".join(map(_line_of, nodes)) if len(nodes) > 1 else nodes[0].says
    source = "".join(node.source for node in nodes)
    found.append(Piece(title, says, source, nodes[0].line, nodes[-1].end, kind_of(says), parent, is_marked=True))


def _line_of(node: Node) -> str:
    says = " | ".join(part for part in (node.attributes, node.text.strip()) if part)
    return f"{node.title}: {says}" if node.title and says else says or node.title


def _add_leaf(node: Node, parent: int, found: list[Piece]) -> None:
    text = node.text.strip("\n")
    kind = kind_of(text)
    if kind in (CODE, DATA) or "\n\n" not in text:
        says = node.says if kind in (CODE, DATA) else markdown_text.plain(node.says)
        found.append(Piece(node.title, says, node.source, node.line, node.end, kind, parent, is_marked=True))
        return
    own = len(found)
    found.append(Piece(node.title, node.attributes, "", node.line, node.line, HEADING, parent, is_marked=True))
    before = len(node.text) - len(node.text.lstrip("\n"))
    inner = markdown_text.pieces(text, node.line + before, node.title, own, own + 1)
    found += inner
    frame = _frame(node.source, inner)
    found[own] = Piece(node.title, node.attributes, frame, node.line, node.line, HEADING, parent, is_marked=True)


def _frame(source: str, inner: list[Piece]) -> str:
    """What a source has around the pieces that stand in it: tags, or a key."""
    start = source.find(inner[0].source[:_FOUND])
    end = source.rfind(inner[-1].source[-_FOUND:])
    if start < 0 or end < 0:  # entities, quotes: it was written in another way
        return source[: max(len(source) - sum(len(piece.source) for piece in inner), 0)]
    return source[:start] + source[end + len(inner[-1].source[-_FOUND:]) :]
