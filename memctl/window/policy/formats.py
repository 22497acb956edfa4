"""Splits a text into blocks by its format: JSON and messages, XML, YAML, the lines of a short pack, Markdown.

A block ends where a reader sees a boundary: a heading, an empty line, a fence, a ruled line, an element, a key, a
message. The format is recognised from the text; a text in no other format is read as Markdown.

XML and YAML become a tree of elements or keys. The lines of a short pack (memctl's format "tokens", which begins with
MEMORY) become a tree by their indentation. An element or key without others in it becomes a block, but neighbouring
short ones are joined to one block. A long one of several paragraphs is split like Markdown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import groupby, pairwise, takewhile
from typing import Any
from xml.etree import ElementTree

import msgspec

from memctl.errors import MemctlError
from memctl.text.similarity import plain_words
from memctl.transcript import window as transcript_window
from memctl.transcript.events import arguments_of
from memctl.transcript.messages import CALL, OTHER, RESULT, TEXT, Element, elements
from memctl.window.policy.blocks import (
    CODE,
    DATA,
    HEADING,
    CountTokens,
    ParsedText,
    TextBlock,
    add_markdown,
    enough,
    kind_of,
    markdown_blocks,
    plain,
)

_LOOKED_AT = 200_000  # characters; a format shows itself before
_HEADING = re.compile(r"^#{2,6} \S", re.MULTILINE)
_ANY_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_DOCTYPE = re.compile(r"(?:<\?xml.*?\?>\s*|<!--.*?-->\s*)*<!DOCTYPE", re.DOTALL | re.IGNORECASE)
_OWN = re.compile(r"MEMORY(?::|\n)")
_OPENED = 8  # one line in so many has indented text below it
_SHORT = 20  # words; a leaf of more is a block by itself
_DEEPEST = 100  # levels of nesting that are read
_ROOT = "memctl-root"  # a stream of events has several roots; they need one to be XML
_DECLARATION = re.compile(r"<\?xml[^<>]*\?>")
_PREFIX = re.compile(r"[<\s]([A-Za-z_][\w.-]*):[\w.-]+(?=[\s=>/])")  # prompts use prefixes that nothing declares
_KEY = re.compile(r"""(?:- )*(?P<key>"[^"]{1,60}"|'[^']{1,60}'|[\w§][\w §./-]{0,60}):(?:\s+(?P<value>.*))?$""")
_HEADER = re.compile(r"(LEFT OUT §[^:]{1,120}|[A-Z][A-Z0-9 _/-]{1,40}):(?:\s|$)")
_FACTS = "is"  # the key under which memctl's YAML has what a record says of itself
_TITLE = 160  # characters of a line at the margin that are a title
_LONGEST = 2_000  # characters of a line that patterns look at
_BLOCK_SCALARS = ("|", "|-", ">", ">-", "|+", ">+", "[]", "{}")
_BETWEEN = re.compile(r"[\s,:]*")  # values, and keys and values
_MESSAGES = re.compile(r'"(?:messages|conversation|input)"\s*:\s*\[')
JsonValue = tuple[Any, int, int]  # with where it begins and ends in its text
_JSON_DEPTH = 20  # of values that are written out; deeper ones stay JSON


def take_apart(text: str, name: str, count: CountTokens) -> ParsedText:
    """Split a text into blocks by its format and count their tokens; `name` is the text's name for error messages.

    Raises MemctlError for binary data, for more than 60,000 parts (blocks, elements and keys), and for XML with a
    DOCTYPE, whose entities could make a short text huge.
    """
    if "\0" in text[:8_000]:
        raise MemctlError(f"{name} is not text")
    parsed = _read(text, name)
    text = parsed.text
    blocks = [msgspec.structs.replace(block, tokens=count(block.source, parsed.kind)) for block in parsed.blocks]
    return msgspec.structs.replace(parsed, blocks=blocks, tokens=count(text, parsed.kind) if text else 0)


def _read(text: str, name: str) -> ParsedText:
    start, head = text.lstrip()[:1], text[:_LOOKED_AT]
    if start in ("{", "["):
        with suppress(ValueError, RecursionError):  # else it is text that begins like JSON
            values = list(_values(text))
            return _transcript(text, values) or _json(text, values)
    if start == "<":
        if _DOCTYPE.match(text.lstrip()[:1000]):
            raise MemctlError(f"{name} has a DOCTYPE", "remove the DOCTYPE: memctl expands no entities")
        try:
            return ParsedText(text, "xml", _blocks_of(_xml_tree(text)))
        except (ElementTree.ParseError, ValueError):
            return ParsedText(text, "markdown", markdown_blocks(text))  # elements among plain text
    if _is_yaml(head):
        return ParsedText(text, "yaml", _blocks_of(_indented_tree(text, _yaml_line)))
    if _is_margin(head):
        return ParsedText(text, "lines", _blocks_of(_indented_tree(text, _margin_line)))
    return ParsedText(text, "markdown", markdown_blocks(text))


def _is_yaml(text: str) -> bool:
    """YAML allows nothing else at the margin than a key, an item or what closes one."""
    lines = [line for line in text.split("\n") if line.strip() and line[0] not in " \t#]}" and line != "---"]
    if not lines or _HEADING.search(text) or not any(_KEY.match(line) for line in lines):
        return False
    return all(line.startswith("- ") or _KEY.match(line) for line in lines)


def _is_margin(text: str) -> bool:
    if _OWN.match(text):
        return True
    if _ANY_HEADING.search(text):
        return False
    lines = [line for line in text.split("\n") if line.strip()]
    opened = sum(1 for line, after in pairwise(lines) if line[0] not in " \t-*" and after[0] in " \t")
    return opened > 1 and opened * _OPENED >= len(lines)


class Node:
    """A node of the tree that is made of a structured text: of XML, YAML, or a pack in the format "tokens".

    It has a title, attributes and children. `source` is the part of the structured text that is the node's own, without
    that of its children; `text` is what it says, without markup. `line` and `end` are the numbers of its first and last
    line.
    """

    __slots__ = ("attributes", "children", "end", "line", "source", "text", "title")

    def __init__(self, title: str, line: int, text: str = "", attributes: str = "") -> None:
        self.title, self.attributes, self.text, self.source = title, attributes, text, ""
        self.line = self.end = line
        self.children: list[Node] = []

    def says(self, separator: str = "\n") -> str:
        """Return the node's attributes and its own text as one text, with the separator between them."""
        return separator.join(part for part in (self.attributes, self.text.strip()) if part)

    @property
    def is_short_leaf(self) -> bool:
        """Whether the node has no children, and a text of at most one line and 20 words."""
        text = "" if self.children else self.text.strip()
        return not self.children and "\n" not in text and len(plain_words(text)) <= _SHORT


def _xml_tree(text: str) -> Node:
    """Return the tree of one or several XML elements; raises ParseError, or ValueError for too deep a nesting."""
    body = _DECLARATION.sub(lambda match: "\n" * match[0].count("\n"), text, count=1)
    parser: Any = ElementTree.XMLPullParser(("start", "end"))
    declared = "".join(f' xmlns:{prefix}="{prefix}"' for prefix in sorted({*_PREFIX.findall(body)} - {"xml", "xmlns"}))
    root = Node("", 1)
    above: list[Node] = []
    nodes = 0
    for number, line in enumerate(f"<{_ROOT}{declared}>{body}</{_ROOT}>".split("\n"), 1):
        parser.feed(f"{line}\n")
        for event, element in parser.read_events():
            if event == "start":
                if len(above) >= _DEEPEST:
                    raise ValueError(f"its elements are nested more than {_DEEPEST} levels deep")
                node, nodes = _of_element(element, number) if above else root, enough(nodes + 1)
                if above:
                    above[-1].children.append(node)
                above.append(node)
                continue
            node = above.pop()
            node.end, node.text = number, "".join([element.text or "", *(child.tail or "" for child in element)])
            own = ElementTree.Element(_name(element.tag), {_name(key): value for key, value in element.attrib.items()})
            own.text = node.text
            node.source = ElementTree.tostring(own, "unicode", short_empty_elements=False)
    parser.close()
    if root.text.strip():
        raise ValueError("there is text outside of the elements")
    return root


def _name(qualified: str) -> str:
    """Return a name as it is written: ElementTree has `{prefix}name` for a prefix that the root declares."""
    uri, _, name = qualified.rpartition("}")
    return f"{uri[1:]}:{name}" if uri and "/" not in uri and ":" not in uri else name


def _of_element(element: ElementTree.Element, line: int) -> Node:
    shown = " | ".join(f"{_name(key)} {value}" for key, value in element.attrib.items() if key != "title")
    name = _name(element.tag)
    title = f"{name}: {element.attrib['title']}" if "title" in element.attrib else name
    return Node(title, line, "", shown)


# A line of an indented text: how deep it is, the title with which it begins a node (None: it goes on), and its text.
_Line = tuple[float, str | None, str]


def _yaml_line(indent: int, inner: str) -> _Line:
    """Return a line of YAML as read by its indentation: so nothing is expanded, and prompts that only look like YAML
    are read, too."""
    match = _KEY.match(inner[:_LONGEST])
    is_item = inner.startswith("- ")
    depth = 2 * indent + is_item  # an item may be right below its key
    if match is None:
        return (depth, "", _unquoted(inner[2:])) if is_item else (depth, None, inner)
    return depth, match["key"].strip("\"'"), _unquoted(inner[match.start("value") :] if match["value"] else "")


def _margin_line(indent: int, inner: str) -> _Line:
    if indent == 0:
        if match := _HEADER.match(inner[:_LONGEST]):
            return 0, match[1], inner[match.end() :]
        title, _, facts = inner.partition(" |")
        return 1, title[:_TITLE], facts.rstrip("|") if len(title) <= _TITLE else inner
    if indent == 1 and inner.startswith("- "):
        return 3, "", inner[2:]
    if indent == 1 and (match := _KEY.match(inner[:_LONGEST])):
        return 2, match["key"], inner[match.start("value") :] if match["value"] else ""
    return float("inf"), None, inner


def _indented_tree(text: str, read: Callable[[int, str], _Line]) -> Node:
    root = Node("", 1)
    above: list[tuple[float, Node]] = [(-1, root)]
    gap, nodes = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        inner = line.lstrip(" \t")
        if not inner or (inner == "---" and number == 1):
            gap += line + "\n"
            continue
        depth, title, own = read(len(line) - len(inner), inner)
        while above[-1][0] >= depth:
            above.pop()
        owner = above[-1][1]
        if title is not None and len(above) < _DEEPEST:
            nodes = enough(nodes + 1)
            node = Node(title, number, own)
            owner.children.append(node)
            above.append((depth, node))
            owner = node
        else:
            owner.text += ("\n\n" if gap.strip(" ") else "\n") + inner
        owner.source += gap + line + "\n"
        owner.end, gap = number, ""
    return root


def _unquoted(value: str) -> str:
    if value in _BLOCK_SCALARS:
        return ""
    if len(value) < 2 or value[0] != value[-1] or value[0] not in "\"'":
        return value
    return value[1:-1].replace("''", "'") if value[0] == "'" else value[1:-1]


def _blocks_of(root: Node) -> list[TextBlock]:
    """What is outermost is not taken together, unless it is called the same."""
    blocks: list[TextBlock] = []
    outer = root
    if len(root.children) == 1 and root.children[0].children:
        outer = root.children[0]
        _add_node(blocks, outer, [], -1)
    _gather(blocks, outer.children, "", len(blocks) - 1, is_outer=True)
    return blocks


def _gather(blocks: list[TextBlock], nodes: list[Node], title: str, parent: int, *, is_outer: bool = False) -> None:
    for (is_short, _), run in groupby(nodes, lambda node: (node.is_short_leaf, node.title if is_outer else "")):
        together = list(run)
        if is_short:
            says = "\n".join(map(_line_of, together)) if len(together) > 1 else together[0].says()
            source, last = "".join(node.source for node in together), together[-1].end
            _add(blocks, title or together[0].title, says, source, together[0].line, last, kind_of(says), parent)
            continue
        for node in together:
            if node.children:
                own, leading = len(blocks), list(takewhile(_is_leading, node.children))
                _add_node(blocks, node, leading, parent)
                _gather(blocks, node.children[len(leading) :], node.title, own)
            else:
                _add_leaf(blocks, node, parent)


def _is_leading(node: Node) -> bool:
    return node.is_short_leaf or (node.title == _FACTS and not node.children)


def _add_node(blocks: list[TextBlock], node: Node, leading: list[Node], parent: int) -> None:
    says = "\n".join(part for part in (node.says(), *map(_line_of, leading)) if part)
    source = node.source + "".join(child.source for child in leading)
    end = leading[-1].end if leading else node.line
    _add(blocks, node.title, says, source, node.line, end, kind_of(says) if says else HEADING, parent)


def _line_of(node: Node) -> str:
    says = node.says(" | ")
    return f"{node.title}: {says}" if node.title and says else says or node.title


def _add_leaf(blocks: list[TextBlock], node: Node, parent: int) -> None:
    text = node.text.strip("\n")
    kind = kind_of(text)
    if kind in (CODE, DATA) or "\n\n" not in text:
        says = node.says() if kind in (CODE, DATA) else plain(node.says())
        _add(blocks, node.title, says, node.source, node.line, node.end, kind, parent)
        return
    own = len(blocks)
    frame = node.source.replace(text, "", 1) if text in node.source else node.source.partition("\n")[0]
    _add(blocks, node.title, node.attributes, frame, node.line, node.line, HEADING, parent)
    before = len(node.text) - len(node.text.lstrip("\n"))
    add_markdown(blocks, text, node.line + before, node.title, own)


def _add(
    blocks: list[TextBlock], title: str, text: str, source: str, line: int, end: int, kind: str, parent: int = -1
) -> None:
    blocks.append(TextBlock(len(blocks), title, text, source, line, end, kind, parent))


def _json(text: str, values: list[JsonValue]) -> ParsedText:
    blocks: list[TextBlock] = []
    texts: list[str] = []
    counted, before = 0, 1
    is_one_line = "\n" not in text.strip()
    for number, (value, start, end) in enumerate(_entries(text, values), 1):
        line = before + text.count("\n", counted, start)
        counted, before = end, line + text.count("\n", start, end)
        message = value if isinstance(value, dict) else {}
        if "role" in message and "content" in message:
            title = f"{message['role']}{f', message {number}' if is_one_line else ''}"  # its line would tell nothing
            texts += _add_message(blocks, message, title, line, before)
        else:
            title = next((str(message[key]) for key in ("title", "name", "id") if key in message), "")
            _add(blocks, title, _flat(value), text[start:end], line, before, DATA)
    return _messages(blocks, texts) if texts else ParsedText(text, "json", blocks)


def _messages(blocks: list[TextBlock], texts: list[str]) -> ParsedText:
    blocks = [msgspec.structs.replace(block, source=block.text) if block.parent < 0 else block for block in blocks]
    beside = [block.text for block in blocks if block.parent < 0 and block.text]
    return ParsedText("\n\n".join([*beside, *texts]), "json", blocks, is_messages=True)


def _transcript(text: str, values: list[JsonValue]) -> ParsedText | None:
    first = next((value for value, *_ in values if isinstance(value, dict) and "message" in value), {})
    if first.get("type") not in ("user", "assistant"):
        return None
    window = transcript_window.read(text.splitlines(keepends=True))
    blocks: list[TextBlock] = []
    texts: list[str] = []
    for message, lines in zip(window.messages, window.lines, strict=True):
        texts += _add_message(blocks, message, str(message.get("role")), lines[0], lines[-1])
    return _messages(blocks, texts)


def _add_message(blocks: list[TextBlock], message: dict[str, Any], title: str, line: int, last: int) -> list[str]:
    texts = [text for element in elements(message) if element.path[:1] != ("tool_calls",) for text in _texts(element)]
    own = len(blocks)
    _add(blocks, title, "", "", line, last, HEADING)
    for text in texts:
        add_markdown(blocks, text, 1, title, own)
    for block in blocks[own + 1 :]:
        at = min(line + block.line - 1, last)
        blocks[block.number] = msgspec.structs.replace(block, line=at, end=last)
    return texts


def _texts(element: Element) -> list[str]:
    if element.type == CALL:
        return [_flat(arguments_of(element.blocks[0]))]
    if element.type in (TEXT, RESULT):
        return [block.text for block in element.blocks if block.type != OTHER]
    return [element.text or _flat(element.given)]


def _flat(value: Any, depth: int = 0) -> str:
    if depth < _JSON_DEPTH and isinstance(value, dict):
        return "\n".join(f"{key}: {_flat(item, depth + 1)}" for key, item in value.items())
    if depth < _JSON_DEPTH and isinstance(value, list):
        return "\n".join(_flat(item, depth + 1) for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _entries(text: str, values: list[JsonValue]) -> Iterator[JsonValue]:
    value, start, end = values[0]
    if len(values) > 1 or not isinstance(value, list | dict):
        yield from values
    elif isinstance(value, list):
        yield from _values(text, start + 1, end - 1)
    elif match := _MESSAGES.search(text):
        frame = text[start : match.end()]
        if frame.strip("{ \n\t"):
            yield {key: item for key, item in value.items() if not isinstance(item, list)}, start, match.end()
        yield from _values(text, match.end(), end, "]")
    else:
        members = list(_values(text, start + 1, end, "}"))
        for (key, first, _), (item, _, last) in zip(members[::2], members[1::2], strict=True):
            yield {key: item}, first, last


def _values(text: str, place: int = 0, end: int | None = None, closing: str = "") -> Iterator[JsonValue]:
    decoder = json.JSONDecoder()
    end = len(text) if end is None else end
    while (place := _BETWEEN.match(text, place).end()) < end and text[place] != closing:  # type: ignore[union-attr]
        start = place
        value, place = decoder.raw_decode(text, start)
        yield value, start, place
