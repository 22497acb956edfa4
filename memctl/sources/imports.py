"""Find the imports in code: with a parser where one is installed, otherwise line by line."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from memctl.pages import code_lines, definitions

if TYPE_CHECKING:
    from tree_sitter import Query

NAME = code_lines.NAME
_MOST = 200  # characters of one import; longer ones are data
_GO = "(import_spec path: (_) @found)"
_SCRIPT = """
(import_statement source: (string (string_fragment) @found))
(export_statement source: (string (string_fragment) @found))
(call_expression function: (import) arguments: (arguments . (string (string_fragment) @found)))
((call_expression function: (identifier) @_function arguments: (arguments . (string (string_fragment) @found)))
  (#eq? @_function "require"))
"""
_TYPED = "(import_require_clause source: (string (string_fragment) @found))"
_TYPED_SUFFIXES = ("ts", "mts", "cts", "tsx")


def in_code(suffix: str, text: str) -> Iterator[str]:
    """Yield the imports in code (with LF line ends) in their order, including those inside functions.

    `suffix` is that of the file, such as "py", and says which language it is. Each language has its own form:

    - Python: `a.b` for `import a.b`, `..a|b` for `from ..a import b`
    - JavaScript and TypeScript: the quoted path
    - Go and C: the imported or included path
    - Java: the dotted name
    - Rust: `mod name` and `crate::a`
    """
    if is_parsed(suffix):
        for piece in definitions.parse_pieces(suffix, text):
            yield from in_piece(suffix, piece)
    else:
        yield from filter(_is_one, code_lines.imports(suffix, text))


def is_parsed(suffix: str) -> bool:
    """Return whether imports in files with this suffix are found by a parser rather than line by line."""
    return suffix in (*code_lines.SCRIPT, *code_lines.GO) and definitions.has_parser(suffix)


def in_piece(suffix: str, piece: definitions.ParsedCode) -> Iterator[str]:
    """Yield the imports in one piece of a file's code, which a parser has parsed; `suffix` is the file's suffix."""
    from tree_sitter import QueryCursor

    nodes = QueryCursor(_query(suffix)).captures(piece.root).get("found", [])
    for node in sorted(nodes, key=lambda node: node.start_byte):
        text = (node.text or b"").decode(errors="replace")
        if _is_one(module := text.strip('"`') if suffix in code_lines.GO else text):
            yield module


def _is_one(name: str) -> bool:
    return 0 < len(name) <= _MOST and name.isprintable()


@cache
def _query(suffix: str) -> Query:
    from tree_sitter import Query

    pattern = _GO if suffix in code_lines.GO else _SCRIPT
    query: Query = Query(definitions.language(suffix), pattern + _TYPED if suffix in _TYPED_SUFFIXES else pattern)
    return query
