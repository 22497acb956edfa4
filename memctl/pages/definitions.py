"""Find the classes, functions, methods, interfaces and types that code defines.

If the extra `languages` is installed, tree-sitter parses the languages of `grammars`, even if the code has errors.
Without this extra, JavaScript, TypeScript and Go are read line by line (`code_lines`), as Python always is.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from typing import TYPE_CHECKING

import msgspec

from memctl.pages import code_lines
from memctl.pages.grammars import GRAMMARS, Grammar

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

# Characters of code that are parsed at once, and the nesting of brackets in them. The parser's memory for broken text
# grows with the square of both: of 20,000 texts made of one repeated pattern, some took 1.4 GB for 8,000 characters
# with 2,600 open brackets, and 0.4 GB for as many characters without.
_PIECE, _BRACKETS = 8_000, 200
# Limits in seconds of processor time. A piece of real code takes 0.002, a file of 2 MB takes 0.4.
_PIECE_SECONDS, _FILE_SECONDS = 1.0, 5.0
_DEEPEST, _LONGEST = 20, 120  # nested classes, and characters of each header: they are repeated before a piece

# Kinds of nodes that name the value in them, as `const go = () => …` does; and kinds that may be between the two.
_NAMES = ("variable_declarator", "assignment_expression", "field_definition", "public_field_definition")
_BETWEEN = ("parenthesized_expression", "satisfies_expression", "as_expression")


class _Start(msgspec.Struct, frozen=True):
    """A line that seems to begin a definition: its number from 0, its indentation, the headers of its classes."""

    line: int
    indent: int
    around: tuple[str, ...]


class _Piece(msgspec.Struct, frozen=True):
    """Lines to parse at once, from `first` up to `end` (exclusive), and the lines to add before and after them."""

    first: int
    end: int
    opening: tuple[str, ...]
    closing: str = ""


class ParsedCode(msgspec.Struct, frozen=True):
    """A piece of a file that was parsed on its own: the syntax tree (`root`), and the bytes that were parsed (`data`).

    If the piece is from the middle of a class, it is parsed with the headers of the classes around it in front, one in
    each row. `first` is the line of the file (from 0) with which the piece itself begins, and `top` the line of row 0
    of the tree: `first` minus the number of headers. So row N is line `top` + N, and a row whose line is before `first`
    is a header.
    """

    root: Node
    data: bytes
    top: int
    first: int


def in_code(suffix: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (line, nesting, title) of each definition in code with LF line ends.

    `line` counts from 1. `nesting` is 1 for a class or function at the top of the file, 2 for a method of such a class,
    and so on. `suffix` must satisfy `is_outlined`. Definitions inside functions are left out.

    Loading a grammar takes about 10 ms, and 100,000 characters take 20 ms. After 5 s, which only a hostile text needs,
    the rest of the file is skipped.
    """
    rows: Iterator[tuple[int, int, str]]
    if has_parser(suffix):
        rows = chain.from_iterable(in_piece(suffix, piece) for piece in parse_pieces(suffix, text))
    else:
        rows = code_lines.definitions(suffix, text)
    last = ""
    for line, level, title in rows:
        if title != last:  # overloads, and a property's setter, are not repeated
            yield line, level, title
            last = title


def in_piece(suffix: str, piece: ParsedCode) -> Iterator[tuple[int, int, str]]:
    """Yield the line, nesting and title of each definition in one piece of a file (see `in_code`).

    `suffix` is that of the file, such as "go". Lines are those of the whole file.
    """
    for row, level, title in _in_tree(piece.root, piece.data, GRAMMARS[suffix]):
        if piece.top + row >= piece.first:
            yield piece.top + row + 1, level, title


def is_outlined(suffix: str) -> bool:
    """Return whether memctl can list the definitions in files with a suffix, such as "py"."""
    return suffix in code_lines.OUTLINED or has_parser(suffix)


@cache
def has_parser(suffix: str) -> bool:
    """Return whether tree-sitter and its grammar for a suffix are installed."""
    return suffix in GRAMMARS and all(find_spec(module) for module in ("tree_sitter", GRAMMARS[suffix].module))


def lacks_parser(suffix: str) -> bool:
    """Return whether the extra `languages` has a parser for files with a suffix, but is not installed."""
    return suffix in GRAMMARS and not has_parser(suffix)


def language(suffix: str) -> Language:
    """Load the tree-sitter language for files with a suffix, such as "go".

    The suffix must have a parser (`has_parser`).
    """
    from tree_sitter import Language

    grammar = GRAMMARS[suffix]
    return Language(getattr(import_module(grammar.module), grammar.function)())


def parse_pieces(suffix: str, text: str) -> Iterator[ParsedCode]:
    """Yield code, parsed in pieces, so that even hostile code takes limited memory and time.

    `text` has LF line ends. The suffix must have a parser (`has_parser`). A piece that can't be parsed is left out.
    """
    from tree_sitter import Parser

    parser = Parser(language(suffix))
    # A line as long as a piece is data, and would not fit into one.
    lines = [line if len(line) < _PIECE else "" for line in text.split("\n")]
    seconds_left = _FILE_SECONDS
    for piece in _pieces(GRAMMARS[suffix], lines):
        started = time.thread_time()
        code = "\n".join((*piece.opening, *lines[piece.first : piece.end], piece.closing))
        data = b"" if _is_deep(code) else code.encode(errors="replace")
        if (root := _parse(parser, data, min(seconds_left, _PIECE_SECONDS))) is not None:
            yield ParsedCode(root, data, piece.first - len(piece.opening), piece.first)
        seconds_left -= time.thread_time() - started
        if seconds_left <= 0:
            return


def _pieces(grammar: Grammar, lines: list[str]) -> Iterator[_Piece]:
    """Only the head of a definition that is too long is in a piece."""
    starts: list[_Start] = []
    start: _Start | None = _Start(0, 0, ())
    while start is not None:
        end, size, half = start.line, 0, start.line + 1
        while end < len(lines) and size + len(lines[end]) < _PIECE:
            size += len(lines[end]) + 1
            end += 1
            half = end if size < _PIECE / 2 else half
        if end == len(lines):
            yield _Piece(start.line, end, start.around)
            return
        starts = starts or list(_starts(grammar, lines))
        first, middle, past = (bisect_left(starts, n, key=lambda s: s.line) for n in (start.line + 1, half, end + 1))
        if first < past:  # the outermost cut is best, since it splits the fewest classes
            cut = min(starts[middle:past], key=lambda s: (s.indent, -s.line), default=starts[past - 1])
            yield _Piece(start.line, cut.line, start.around, grammar.closing * len(cut.around))
            start = cut
        else:
            head = next((n for n in range(start.line, end) if lines[n].rstrip().endswith("{")), start.line) + 1
            yield _Piece(start.line, head, start.around, grammar.closing * (len(start.around) + 1))
            start = starts[past] if past < len(starts) else None


def _starts(grammar: Grammar, lines: list[str]) -> Iterator[_Start]:
    opened: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        text = line.lstrip(" \t")
        if match := grammar.starts.match(text):
            indent = len(line) - len(text)
            while opened and opened[-1][0] >= indent:
                opened.pop()
            if match.lastindex == 3:
                continue
            around = tuple(header for _, header in opened)
            if all(around):
                yield _Start(number, indent, around)
            header = ""
            if match.lastindex == 2 and len(opened) < _DEEPEST and indent + match.end(2) <= _LONGEST:
                header = f"{match[1]} {match[2]}{grammar.opening}"
            opened.append((indent, header))


def _is_deep(code: str) -> bool:
    if sum(map(code.count, "([{")) <= _BRACKETS:
        return False
    depth = 0
    for bracket in re.findall(r"[()\[\]{}]", code):
        depth = depth + 1 if bracket in "([{" else max(depth - 1, 0)
        if depth > _BRACKETS:
            return True
    return False


def _parse(parser: Parser, data: bytes, seconds: float) -> Node | None:
    """Return the root of the syntax tree of code; None if parsing takes longer than `seconds` of processor time."""
    until = time.thread_time() + seconds
    try:
        tree = parser.parse(lambda start, _: data[start:], progress_callback=lambda *_: time.thread_time() > until)
    except ValueError:  # raised by the parser when the callback stops it
        parser.reset()
        return None
    return tree.root_node


def _in_tree(root: Node, data: bytes, grammar: Grammar) -> Iterator[tuple[int, int, str]]:
    waiting = [(node, 1, "") for node in reversed(root.named_children)]
    while waiting:
        node, level, owner = waiting.pop()
        value, name = _definition(node, grammar)
        if value is None:
            if node.type in grammar.surrounds:
                waiting += [(child, level, owner) for child in reversed(node.named_children)]
            continue
        word, called = grammar.words[value.type], _text(name, data) if name is not None else "default"
        if called == "module.exports":
            called = _text(value.child_by_field_name("name"), data) or "default"
        called = re.sub(r"^(?:module\.)?exports\.|\.prototype(?=\.)", "", called)
        full = f"{owner}.{called}" if owner else called
        receiver = value.child_by_field_name("receiver")
        trait = _text(value.child_by_field_name("trait"), data)
        before = f"{trait} for" if trait else _text(receiver, data)
        title = " ".join(filter(None, (word, before, full))) if word else f"{full}()"
        yield (name or value).start_point[0], level, title
        body = value.child_by_field_name("body")
        if body is not None and value.type in grammar.holds:
            waiting.append((body, level + 1, full))
        elif body is not None and word in ("", "func") and body.has_error:
            waiting.append((body, level, owner))  # a bracket left open puts the rest of a file into a function


def _definition(node: Node, grammar: Grammar) -> tuple[Node | None, Node | None]:
    value: Node | None = node
    if node.type in _NAMES or node.type == "export_statement":
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        while value is not None and value.type in _BETWEEN:
            value = next(iter(value.named_children), None)
    if value is None or value.type not in grammar.words:
        return None, None
    if value.type in grammar.bodied and value.child_by_field_name("body") is None:
        return None, None
    name_nodes = (n.child_by_field_name(field) for n in (node, value) for field in ("name", "property", "left"))
    name = next((node_found for node_found in name_nodes if node_found is not None), None) or _declarator_name(value)
    return (value, name) if name is not None or node.type == "export_statement" else (None, None)


def _declarator_name(node: Node) -> Node | None:
    """Return the name in a C declarator such as `FILE *open(void)`, or the type of an `impl` of Rust."""
    declarator = node.child_by_field_name("declarator") or node.child_by_field_name("type")
    while declarator is not None and (inner := _inside(declarator)) is not None:
        declarator = inner
    return declarator


def _inside(node: Node) -> Node | None:
    inner = node.child_by_field_name("declarator")
    if inner is None and node.type in ("reference_declarator", "parenthesized_declarator", "generic_type"):
        inner = next(iter(node.named_children), None)
    return inner


def _text(node: Node | None, data: bytes) -> str:
    return " ".join(data[node.start_byte : node.end_byte].decode(errors="replace").split()) if node is not None else ""
