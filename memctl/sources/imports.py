"""What a file of code imports, as its text says it: parsed, not guessed from its lines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from memctl.pages.definitions import GO, PYTHON, Parsed, language

if TYPE_CHECKING:
    from tree_sitter import Node, Query

NAME = "|"  # between a Python module and the name that is imported from it
_MOST = 200  # characters of one import; longer ones are data
_PYTHON = "[(import_statement) (import_from_statement)] @found"
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


def in_piece(suffix: str, piece: Parsed) -> Iterator[str]:
    """The imports in one piece of code, in its order, those inside of functions too.

    Of Python `a.b` for `import a.b`, `..a|b` for `from ..a import b`; of JavaScript and TypeScript what stands in
    quotes, of Go the path.
    """
    from tree_sitter import QueryCursor

    nodes = QueryCursor(_query(suffix)).captures(piece.root).get("found", [])
    for node in sorted(nodes, key=lambda node: node.start_byte):
        for found in _python(node) if suffix in PYTHON else [_text(node).strip('"`') if suffix in GO else _text(node)]:
            if 0 < len(found) <= _MOST and found.isprintable():
                yield found


@cache
def _query(suffix: str) -> Query:
    from tree_sitter import Query

    pattern = _PYTHON if suffix in PYTHON else _GO if suffix in GO else _SCRIPT
    query: Query = Query(language(suffix), pattern + _TYPED if suffix in _TYPED_SUFFIXES else pattern)
    return query


def _python(node: Node) -> Iterator[str]:
    names = [_text(child.child_by_field_name("name") or child) for child in node.children_by_field_name("name")]
    module = node.child_by_field_name("module_name")
    if module is None:
        yield from names
    else:
        start = _text(module).replace(" ", "")
        yield from (f"{start}{NAME}{name}" for name in names or ["*"])


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")
