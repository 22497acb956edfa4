"""What code defines: the classes, functions, methods, interfaces and types in a text.

JavaScript, TypeScript and Go are parsed by tree-sitter, which repairs broken code, where the extra `languages` is
installed; only the grammar that is needed is loaded. Without it, and of Python, `code_lines` reads the lines.
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
from memctl.pages.code_lines import GO, JAVASCRIPT, PYTHON, TYPESCRIPT

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Parser

# Characters of code that are parsed at once, and brackets that may stand open in them. What it costs the parser to mend
# broken text grows with the square of both: of 20,000 texts made of one repeated pattern, some took 1.4 GB for 8,000
# characters with 2,600 open brackets, and 0.4 GB for as many without.
_PIECE, _BRACKETS = 8_000, 200
# Seconds of processor time. A piece of real code takes 0.002, a file of 2 MB takes 0.4.
_PIECE_SECONDS, _FILE_SECONDS = 1.0, 5.0
_DEEPEST, _LONGEST = 20, 120  # classes in classes, characters of how each begins: what is put before a piece is small

# Where the grammar of each suffix is.
GRAMMARS = {
    **dict.fromkeys(JAVASCRIPT, ("tree_sitter_javascript", "language")),
    **dict.fromkeys(TYPESCRIPT, ("tree_sitter_typescript", "language_typescript")),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    **dict.fromkeys(GO, ("tree_sitter_go", "language")),
}
OUTLINED = frozenset((*PYTHON, *GRAMMARS))  # the suffixes of code of which it is known what it defines
# Kinds of nodes that define something, with the word that their titles begin with: "" where it can be called.
_DEFINES = {
    **dict.fromkeys(("class_definition", "class_declaration", "abstract_class_declaration", "class"), "class"),
    **dict.fromkeys(("type_alias_declaration", "type_alias_statement", "type_spec", "type_alias"), "type"),
    **dict.fromkeys(("internal_module", "module"), "namespace"),
    **dict.fromkeys(("function_definition", "function_declaration", "generator_function_declaration"), ""),
    **dict.fromkeys(("method_definition", "method_declaration", "function_signature", "method_signature"), ""),
    **dict.fromkeys(("abstract_method_signature", "arrow_function", "function_expression", "generator_function"), ""),
    "interface_declaration": "interface",
    "enum_declaration": "enum",
}
# Kinds of nodes that give a name to what they hold, as `const go = () => …` does; and what may stand between the two.
_NAMES = ("variable_declarator", "assignment_expression", "field_definition", "public_field_definition")
_BETWEEN = ("parenthesized_expression", "satisfies_expression", "as_expression")
# Kinds of nodes that only surround definitions. Everything else is left alone, above all what functions consist of.
_SURROUNDS = frozenset(
    (
        *("ERROR", "program", "export_statement", "ambient_declaration", "decorated_definition", "type_declaration"),
        *("expression_statement", "lexical_declaration", "variable_declaration", "class_body", "statement_block"),
        *("block", "if_statement", "else_clause", "elif_clause", "try_statement", "except_clause", "finally_clause"),
        "with_statement",
    )
)
# Lines at which something seems to begin: kind and name of what may hold definitions, or a word of no account.
_GO_STARTS = re.compile(r"(?:func|type|var|const)(?: +\w| *\()")
_SCRIPT_STARTS = re.compile(
    r"(?:(?:export|default|declare|abstract|async|static|public|private|protected|override|readonly|get|set) +)*"
    r"(?:(?:[\w$.]+ += +)?(class|interface|namespace|module) +([\w$.]+|\"[^\"]+\"|'[^']+')[^;]*\{"
    r"|((?:global|if|else|try)\b.*\{$)|(?:function|import|export)\b|enum +\w|type +\w.*=|(?:const|let|var) +[\w$].*="
    r"|(?:[\w$#.]+\??|\[[\w$.]+\]) *[(<:=;](?:.*[{}(\[;,])?$|[!+;(].*[{(]$)"
)


class _Start(msgspec.Struct, frozen=True):
    """A line at which a definition seems to begin: its number from 0, its indentation, what opens all that it is in."""

    line: int
    indent: int
    around: tuple[str, ...]


class _Piece(msgspec.Struct, frozen=True):
    """Lines to be parsed at once, from `first` to before `end`: what is put before them, and behind them."""

    first: int
    end: int
    opening: tuple[str, ...]
    closing: str = ""


class ParsedCode(msgspec.Struct, frozen=True):
    """Code that was parsed at once: its tree, its bytes, the line (from 0) that its first row is of, where it begins.

    Rows of lines before `first` only repeat what surrounds the code.
    """

    root: Node
    data: bytes
    top: int
    first: int


def in_code(suffix: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Line (1-based), nesting (1 = top) and title of what code with LF line ends defines, in its order.

    `suffix` is one of OUTLINED. What is inside of functions is left out; of broken code there is what can be made out.
    Loading a grammar takes about 10 ms, then 100,000 characters take 20 ms. A text that takes 5 s, as only one made to
    do so can, is left at what was found until then.
    """
    found: Iterator[tuple[int, int, str]]
    if has_parser(suffix):
        found = chain.from_iterable(in_piece(suffix, piece) for piece in parsed(suffix, text))
    else:
        found = code_lines.definitions(suffix, text)
    last = ""
    for line, level, title in found:
        if title != last:  # overloads, and a property's setter, are not told again
            yield line, level, title
            last = title


def in_piece(suffix: str, piece: ParsedCode) -> Iterator[tuple[int, int, str]]:
    """Line (1-based), nesting and title of what one piece of code defines."""
    words = {**_DEFINES, "function_declaration": "func", "method_declaration": "func"} if suffix in GO else _DEFINES
    for row, level, title in _in_tree(piece.root, piece.data, words):
        if piece.top + row >= piece.first:
            yield piece.top + row + 1, level, title


@cache
def has_parser(suffix: str) -> bool:
    """Return whether the parser and the grammar for a suffix are installed."""
    return suffix in GRAMMARS and all(find_spec(module) for module in ("tree_sitter", GRAMMARS[suffix][0]))


def lacks_parser(suffix: str) -> bool:
    """Return whether the extra `languages` would parse what is read by its lines now."""
    return suffix in GRAMMARS and not has_parser(suffix)


def language(suffix: str) -> Language:
    """The grammar for a suffix of GRAMMARS."""
    from tree_sitter import Language

    module, grammar = GRAMMARS[suffix]
    return Language(getattr(import_module(module), grammar)())


def parsed(suffix: str, text: str) -> Iterator[ParsedCode]:
    """Code with LF line ends, parsed in pieces that are small enough for whatever stands in them."""
    from tree_sitter import Parser

    parser = Parser(language(suffix))
    # Nobody wrote a line as long as a piece, and it would be too much for one.
    lines = [line if len(line) < _PIECE else "" for line in text.split("\n")]
    left = _FILE_SECONDS
    for piece in _pieces(suffix, lines):
        started = time.thread_time()
        code = "\n".join((*piece.opening, *lines[piece.first : piece.end], piece.closing))
        data = b"" if _is_deep(code) else code.encode(errors="replace")
        if (root := _parsed(parser, data, min(left, _PIECE_SECONDS))) is not None:
            yield ParsedCode(root, data, piece.first - len(piece.opening), piece.first)
        left -= time.thread_time() - started
        if left <= 0:
            return


def _pieces(suffix: str, lines: list[str]) -> Iterator[_Piece]:
    """Cut a text at definitions into pieces; of a definition too long for one, only its head is in a piece."""
    starts = list(_starts(suffix, lines))
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
            yield _Piece(start.line, cut.line, start.around, "}" * len(cut.around))
            start = cut
        else:
            head = next((n for n in range(start.line, end) if lines[n].rstrip().endswith("{")), start.line) + 1
            yield _Piece(start.line, head, start.around, "}" * (len(start.around) + 1))
            start = starts[past] if past < len(starts) else None


def _starts(suffix: str, lines: list[str]) -> Iterator[_Start]:
    """Where a definition seems to begin that is in nothing, or only in classes and namespaces."""
    pattern = _GO_STARTS if suffix in GO else _SCRIPT_STARTS
    opened: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        text = line.lstrip(" \t")
        if match := pattern.match(text):
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
                header = f"{match[1]} {match[2]} {{"
            opened.append((indent, header))


def _is_deep(code: str) -> bool:
    depth = 0
    for bracket in re.findall(r"[()\[\]{}]", code):
        depth = depth + 1 if bracket in "([{" else max(depth - 1, 0)
        if depth > _BRACKETS:
            return True
    return False


def _parsed(parser: Parser, data: bytes, seconds: float) -> Node | None:
    """The root of the syntax tree of code; None if it would take longer."""
    until = time.thread_time() + seconds
    try:
        tree = parser.parse(lambda start, _: data[start:], progress_callback=lambda *_: time.thread_time() > until)
    except ValueError:  # that is how a parser says that it was stopped
        parser.reset()
        return None
    return tree.root_node


def _in_tree(root: Node, data: bytes, words: dict[str, str]) -> Iterator[tuple[int, int, str]]:
    """Row, level and title of the definitions in a tree."""
    waiting = [(node, 1, "") for node in reversed(root.named_children)]
    while waiting:
        node, level, owner = waiting.pop()
        value, name = _defined(node)
        if value is None:
            if node.type in _SURROUNDS:
                waiting += [(child, level, owner) for child in reversed(node.named_children)]
            continue
        word, called = words[value.type], _text(name, data) if name is not None else "default"
        if called == "module.exports":
            called = _text(value.child_by_field_name("name"), data) or "default"
        called = re.sub(r"^(?:module\.)?exports\.|\.prototype(?=\.)", "", called)
        full = f"{owner}.{called}" if owner else called
        receiver = value.child_by_field_name("receiver")
        title = " ".join(filter(None, (word, _text(receiver, data), full))) if word else f"{full}()"
        yield (name or value).start_point[0], level, title
        body = value.child_by_field_name("body")
        if body is not None and word in ("class", "namespace"):
            waiting.append((body, level + 1, full))
        elif body is not None and word in ("", "func") and body.has_error:
            waiting.append((body, level, owner))  # a bracket left open puts the rest of a file into a function


def _defined(node: Node) -> tuple[Node | None, Node | None]:
    """The class, function or type that a node defines, and its name; what is exported by default may have none."""
    value: Node | None = node
    if node.type in _NAMES or node.type == "export_statement":
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        while value is not None and value.type in _BETWEEN:
            value = next(iter(value.named_children), None)
    if value is None or value.type not in _DEFINES:
        return None, None
    named = (n.child_by_field_name(field) for n in (node, value) for field in ("name", "property", "left"))
    name = next((found for found in named if found is not None), None)
    return (value, name) if name is not None or node.type == "export_statement" else (None, None)


def _text(node: Node | None, data: bytes) -> str:
    return data[node.start_byte : node.end_byte].decode(errors="replace") if node is not None else ""
