"""What code defines: the classes, functions, methods, interfaces and types in a text.

The languages of `grammars` are parsed by tree-sitter, which repairs broken code, where the extra `languages` is
installed; only the grammar that is needed is loaded. Without it `code_lines` reads the lines of JavaScript, TypeScript
and Go, and those of Python always.
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

# Characters of code that are parsed at once, and brackets that may stand open in them. What the parser needs to repair
# broken text grows with the square of both: of 20,000 texts made of one repeated pattern, some took 1.4 GB for 8,000
# characters with 2,600 open brackets, and 0.4 GB for as many without.
_PIECE, _BRACKETS = 8_000, 200
# Seconds of processor time. A piece of real code takes 0.002, a file of 2 MB takes 0.4.
_PIECE_SECONDS, _FILE_SECONDS = 1.0, 5.0
_DEEPEST, _LONGEST = 20, 120  # classes in classes, characters of how each begins: what is put before a piece is small

# Kinds of nodes that give a name to what they hold, as `const go = () => …` does; and what may stand between the two.
_NAMES = ("variable_declarator", "assignment_expression", "field_definition", "public_field_definition")
_BETWEEN = ("parenthesized_expression", "satisfies_expression", "as_expression")


class _Start(msgspec.Struct, frozen=True):
    """A line at which a definition seems to begin: its number from 0, its indentation, what opens all that it is in."""

    line: int
    indent: int
    around: tuple[str, ...]


class _Piece(msgspec.Struct, frozen=True):
    """Lines to parse at once, from `first` to before `end`, with the lines to put before and after them."""

    first: int
    end: int
    opening: tuple[str, ...]
    closing: str = ""


class ParsedCode(msgspec.Struct, frozen=True):
    """Code that was parsed at once: its tree, its bytes, the line (from 0) of its first row, and the row where it
    begins.

    Rows before `first` only repeat the lines around the code.
    """

    root: Node
    data: bytes
    top: int
    first: int


def in_code(suffix: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Line (1-based), nesting (1 = top) and title of what code with LF line ends defines, in its order.

    `suffix` is one that `is_outlined`. What is inside of functions is left out; of broken code there is what can be
    made out. Loading a grammar takes about 10 ms, then 100,000 characters take 20 ms. A text that takes 5 s, as only
    one made to do so can, is left at what was found until then.
    """
    found: Iterator[tuple[int, int, str]]
    if has_parser(suffix):
        found = chain.from_iterable(in_piece(suffix, piece) for piece in parse_pieces(suffix, text))
    else:
        found = code_lines.definitions(suffix, text)
    last = ""
    for line, level, title in found:
        if title != last:  # overloads, and a property's setter, are not told again
            yield line, level, title
            last = title


def in_piece(suffix: str, piece: ParsedCode) -> Iterator[tuple[int, int, str]]:
    """Yield line (1-based), nesting and title of each definition in one piece of code."""
    for row, level, title in _in_tree(piece.root, piece.data, GRAMMARS[suffix]):
        if piece.top + row >= piece.first:
            yield piece.top + row + 1, level, title


def is_outlined(suffix: str) -> bool:
    """Return whether memctl can list the definitions in code with a suffix."""
    return suffix in code_lines.OUTLINED or has_parser(suffix)


@cache
def has_parser(suffix: str) -> bool:
    """Return whether the parser and the grammar for a suffix are installed."""
    return suffix in GRAMMARS and all(find_spec(module) for module in ("tree_sitter", GRAMMARS[suffix].module))


def lacks_parser(suffix: str) -> bool:
    """Return whether code with a suffix is read by lines now, and the extra `languages` would parse it."""
    return suffix in GRAMMARS and not has_parser(suffix)


def language(suffix: str) -> Language:
    """Return the grammar for a suffix of GRAMMARS."""
    from tree_sitter import Language

    grammar = GRAMMARS[suffix]
    return Language(getattr(import_module(grammar.module), grammar.function)())


def parse_pieces(suffix: str, text: str) -> Iterator[ParsedCode]:
    """Yield code with LF line ends, parsed in pieces small enough for any content."""
    from tree_sitter import Parser

    parser = Parser(language(suffix))
    # Nobody wrote a line as long as a piece, and it would be too much for one.
    lines = [line if len(line) < _PIECE else "" for line in text.split("\n")]
    left = _FILE_SECONDS
    for piece in _pieces(GRAMMARS[suffix], lines):
        started = time.thread_time()
        code = "\n".join((*piece.opening, *lines[piece.first : piece.end], piece.closing))
        data = b"" if _is_deep(code) else code.encode(errors="replace")
        if (root := _parse(parser, data, min(left, _PIECE_SECONDS))) is not None:
            yield ParsedCode(root, data, piece.first - len(piece.opening), piece.first)
        left -= time.thread_time() - started
        if left <= 0:
            return


def _pieces(grammar: Grammar, lines: list[str]) -> Iterator[_Piece]:
    """Cut a text at definitions into pieces; of a definition too long for one, only its head is in a piece."""
    starts = list(_starts(grammar, lines))
    start: _Start | None = _Start(0, 0, ())
    while start is not None:
        end, size, half = start.line, 0, start.line + 1
        while end < len(lines) and size + len(lines[end]) < _PIECE:
            size += len(lines[end]) + 1
            end += 1
            half = end if size < _PIECE / 2 else half
        first, middle, past = (bisect_left(starts, n, key=lambda s: s.line) for n in (start.line + 1, half, end + 1))
        if end == len(lines):
            yield _Piece(start.line, end, start.around)
            start = None
        elif first < past:  # a cut far out is best: there, least is cut through
            cut = min(starts[middle:past], key=lambda s: (s.indent, -s.line), default=starts[past - 1])
            yield _Piece(start.line, cut.line, start.around, grammar.closing * len(cut.around))
            start = cut
        else:
            head = next((n for n in range(start.line, end) if lines[n].rstrip().endswith("{")), start.line) + 1
            yield _Piece(start.line, head, start.around, grammar.closing * (len(start.around) + 1))
            start = starts[past] if past < len(starts) else None


def _starts(grammar: Grammar, lines: list[str]) -> Iterator[_Start]:
    """Yield where a definition seems to begin that is at the top, or only in classes and namespaces."""
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
    depth = 0
    for bracket in re.findall(r"[()\[\]{}]", code):
        depth = depth + 1 if bracket in "([{" else max(depth - 1, 0)
        if depth > _BRACKETS:
            return True
    return False


def _parse(parser: Parser, data: bytes, seconds: float) -> Node | None:
    """Return the root of the syntax tree of code; None if it would take longer."""
    until = time.thread_time() + seconds
    try:
        tree = parser.parse(lambda start, _: data[start:], progress_callback=lambda *_: time.thread_time() > until)
    except ValueError:  # that is how a parser says that it was stopped
        parser.reset()
        return None
    return tree.root_node


def _in_tree(root: Node, data: bytes, grammar: Grammar) -> Iterator[tuple[int, int, str]]:
    """Yield row, level and title of each definition in a tree."""
    waiting = [(node, 1, "") for node in reversed(root.named_children)]
    while waiting:
        node, level, owner = waiting.pop()
        value, name = _defined(node, grammar)
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
        yield (
            (name or value).start_point[0],
            level,
            " ".join(filter(None, (word, before, full))) if word else f"{full}()",
        )
        body = value.child_by_field_name("body")
        if body is not None and value.type in grammar.holds:
            waiting.append((body, level + 1, full))
        elif body is not None and word in ("", "func") and body.has_error:
            waiting.append((body, level, owner))  # a bracket left open puts the rest of a file into a function


def _defined(node: Node, grammar: Grammar) -> tuple[Node | None, Node | None]:
    """Return the class, function or type that a node defines, and its name; what is exported by default may
    have none."""
    value: Node | None = node
    if node.type in _NAMES or node.type == "export_statement":
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        while value is not None and value.type in _BETWEEN:
            value = next(iter(value.named_children), None)
    if value is None or value.type not in grammar.words:
        return None, None
    if value.type in grammar.bodied and value.child_by_field_name("body") is None:
        return None, None
    named = (n.child_by_field_name(field) for n in (node, value) for field in ("name", "property", "left"))
    name = next((found for found in named if found is not None), None) or _declared(value)
    return (value, name) if name is not None or node.type == "export_statement" else (None, None)


def _declared(node: Node) -> Node | None:
    """Return the name within what a node of C declares, as in `FILE *open(void)`; of an `impl` of Rust the type's."""
    found = node.child_by_field_name("declarator") or node.child_by_field_name("type")
    while found is not None and (inner := _inside(found)) is not None:
        found = inner
    return found


def _inside(node: Node) -> Node | None:
    inner = node.child_by_field_name("declarator")
    if inner is None and node.type in ("reference_declarator", "parenthesized_declarator", "generic_type"):
        inner = next(iter(node.named_children), None)
    return inner


def _text(node: Node | None, data: bytes) -> str:
    return " ".join(data[node.start_byte : node.end_byte].decode(errors="replace").split()) if node is not None else ""
