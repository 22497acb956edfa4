"""Describe tree-sitter's grammars: which nodes are definitions, and at which lines long code can be cut into pieces."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from memctl.pages.code_lines import GO, JAVASCRIPT, RUBY, RUST, TYPESCRIPT


class Grammar(msgspec.Struct, frozen=True):
    """A grammar of tree-sitter, and what its kinds of nodes mean for the outline (the list of definitions) of a file.

    - `module`, `function`: the Python module of the grammar, and the function in it that loads the grammar.
    - `words`: the kinds of nodes that define something. Each is mapped to the word that stands before the name in the
      outline, such as "class" for `class_definition`, or to "" if no word does.
    - `holds`: the kinds in `words` whose members are in the outline, too, such as classes.
    - `bodied`: the kinds in `words` that are a definition only if they have a body. In C, `struct point {…}` is one,
      and `struct point *p` is not.
    - `surrounds`: kinds that define nothing but may contain definitions, such as a block. Other kinds are not searched.
    - `starts`: a pattern for lines that seem to begin a definition, at which long code is cut into pieces. Its groups 1
      and 2 are the keyword and the name of a class or namespace. Group 3 is a keyword such as `if`, which begins no
      definition.
    - `opening`, `closing`: texts that make a piece from the middle of a class whole, such as brackets. The class's
      header is put before the piece with `opening` behind it. If the class goes on after the piece, `closing` is added
      at the end.
    """

    module: str
    function: str
    words: dict[str, str]
    holds: frozenset[str]
    surrounds: frozenset[str]
    starts: re.Pattern[str]
    bodied: frozenset[str] = frozenset()
    opening: str = " {"
    closing: str = "}"


def _grammar(
    name: str,
    words: Mapping[str, str],
    holds: str,
    surrounds: str,
    starts: str,
    *,
    function: str = "language",
    bodied: str = "",
    opening: str = " {",
    closing: str = "}",
) -> Grammar:
    kinds = {kind: word for word, several in words.items() for kind in several.split()}
    held, surrounding, with_body = (frozenset(several.split()) for several in (holds, surrounds, bodied))
    pattern = re.compile(starts)
    return Grammar(f"tree_sitter_{name}", function, kinds, held, surrounding, pattern, with_body, opening, closing)


def _script(name: str, function: str) -> Grammar:
    functions = "function_definition function_declaration generator_function_declaration arrow_function"
    functions += " function_expression generator_function"
    methods = "method_definition method_declaration function_signature method_signature abstract_method_signature"
    words = {
        "class": "class_definition class_declaration abstract_class_declaration class",
        "type": "type_alias_declaration type_alias_statement type_alias",
        "namespace": "internal_module module",
        "": f"{functions} {methods}",
        "interface": "interface_declaration",
        "enum": "enum_declaration",
    }
    return _grammar(
        name,
        words,
        f"{words['class']} {words['namespace']}",
        "ERROR program export_statement ambient_declaration expression_statement lexical_declaration"
        " variable_declaration class_body statement_block if_statement else_clause try_statement",
        r"(?:(?:export|default|declare|abstract|async|static|public|private|protected|override|readonly|get|set) +)*"
        r"(?:(?:[\w$.]+ += +)?(class|interface|namespace|module) +([\w$.]+|\"[^\"]+\"|'[^']+')[^;]*\{"
        r"|((?:global|if|else|try)\b.*\{$)|(?:function|import|export)\b|enum +\w|type +\w.*="
        r"|(?:const|let|var) +[\w$].*="
        r"|(?:[\w$#.]+\??|\[[\w$.]+\]) *[(<:=;](?:.*[{}(\[;,])?$|[!+;(].*[{(]$)",
        function=function,
    )


_GO = _grammar(
    "go",
    {"func": "function_declaration method_declaration", "type": "type_spec type_alias"},
    "",
    "ERROR type_declaration block",
    r"(?:func|type|var|const)(?: +\w| *\()",
)
_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|readonly|unsafe|inline|export|default"
    r"|typedef|const|pub(?:\([^()]{0,80}\))?|template *<[^<>]{0,200}>) +)*"
)
_C_WORDS = {
    "": "function_definition",
    "type": "type_definition",
    "struct": "struct_specifier",
    "union": "union_specifier",
    "enum": "enum_specifier",
}
_C_SURROUNDS = (
    "ERROR preproc_if preproc_ifdef preproc_else preproc_elif preproc_elifdef declaration linkage_specification"
    " declaration_list field_declaration_list template_declaration compound_statement"
)
_C_BODIED = "struct_specifier union_specifier enum_specifier class_specifier"
# A label without indentation is within a function, and a line that begins with a name has its type in the line before.
_C = _grammar("c", _C_WORDS, "", _C_SURROUNDS, r"(?!\w+(?::(?!:)| *\())[A-Za-z_]", bodied=_C_BODIED)
_CPP = _grammar(
    "cpp",
    {
        **_C_WORDS,
        "type": "type_definition alias_declaration",
        "class": "class_specifier",
        "namespace": "namespace_definition",
    },
    "struct_specifier class_specifier namespace_definition",
    _C_SURROUNDS,
    rf"{_MODIFIERS}(?:(namespace|class|struct) +([\w:]+)[^;(]*$|(?!\w+:(?!:))[A-Za-z_~])",
    bodied=_C_BODIED,
)
_RUST = _grammar(
    "rust",
    {
        "": "function_item function_signature_item macro_definition",
        "type": "type_item associated_type",
        **{word: f"{word}_item" for word in ("struct", "enum", "union", "trait", "impl", "mod")},
    },
    "trait_item impl_item mod_item",
    "ERROR declaration_list foreign_mod_item block",
    rf"{_MODIFIERS}(?:(trait|mod|impl)(?:<[^{{]{{0,200}}?>)? +(?:[^{{(]{{1,200}}? +for +)?((?:\w+::)*\w+)[^;(]*\{{$"
    r"|[A-Za-z_#])",
    bodied="mod_item",
)
_JAVA = _grammar(
    "java",
    {
        "class": "class_declaration record_declaration",
        "interface": "interface_declaration annotation_type_declaration",
        "": "method_declaration constructor_declaration",
        "enum": "enum_declaration",
    },
    "class_declaration record_declaration interface_declaration enum_declaration",
    "ERROR class_body interface_body enum_body enum_body_declarations block constructor_body",
    rf"{_MODIFIERS}(?:(class|interface|enum) +(\w+)[^;(]*$|[A-Za-z_@<])",
)
_CSHARP = _grammar(
    "c_sharp",
    {
        "class": "class_declaration record_declaration",
        "": "method_declaration constructor_declaration",
        **{word: f"{word}_declaration" for word in ("struct", "interface", "enum", "namespace")},
        "type": "delegate_declaration",
    },
    "class_declaration record_declaration struct_declaration interface_declaration namespace_declaration",
    "ERROR declaration_list file_scoped_namespace_declaration preproc_if preproc_else block",
    rf"{_MODIFIERS}(?:(namespace|class|struct|interface) +([\w.]+)[^;(]*$|[A-Za-z_\[])",
)
_RUBY = _grammar(
    "ruby",
    {"class": "class", "module": "module", "": "method singleton_method"},
    "class module",
    "ERROR body_statement singleton_class begin",
    r"(class|module) +([A-Z][\w:]*)[^;]*$|(?!end\b)[A-Za-z_]",
    opening="\n",
    closing="\nend",
)
# By suffix. A header (`h`) may be C or C++; the grammar of C++ covers nearly all of C.
GRAMMARS: dict[str, Grammar] = {
    **dict.fromkeys(JAVASCRIPT, _script("javascript", "language")),
    **dict.fromkeys(TYPESCRIPT, _script("typescript", "language_typescript")),
    "tsx": _script("typescript", "language_tsx"),
    **dict.fromkeys(GO, _GO),
    "c": _C,
    **dict.fromkeys(("h", "cc", "hh", "cpp", "hpp", "cxx"), _CPP),
    **dict.fromkeys(RUST, _RUST),
    "java": _JAVA,
    "cs": _CSHARP,
    **dict.fromkeys(RUBY, _RUBY),
}
