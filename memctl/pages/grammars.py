"""Describe tree-sitter's grammars: which nodes are definitions, and at which lines long code can be cut into pieces."""

from __future__ import annotations

import re

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


_SCRIPT_STARTS = re.compile(
    r"(?:(?:export|default|declare|abstract|async|static|public|private|protected|override|readonly|get|set) +)*"
    r"(?:(?:[\w$.]+ += +)?(class|interface|namespace|module) +([\w$.]+|\"[^\"]+\"|'[^']+')[^;]*\{"
    r"|((?:global|if|else|try)\b.*\{$)|(?:function|import|export)\b|enum +\w|type +\w.*=|(?:const|let|var) +[\w$].*="
    r"|(?:[\w$#.]+\??|\[[\w$.]+\]) *[(<:=;](?:.*[{}(\[;,])?$|[!+;(].*[{(]$)"
)
_SCRIPT = {
    **dict.fromkeys(("class_definition", "class_declaration", "abstract_class_declaration", "class"), "class"),
    **dict.fromkeys(("type_alias_declaration", "type_alias_statement", "type_alias"), "type"),
    **dict.fromkeys(("internal_module", "module"), "namespace"),
    **dict.fromkeys(("function_definition", "function_declaration", "generator_function_declaration"), ""),
    **dict.fromkeys(("method_definition", "method_declaration", "function_signature", "method_signature"), ""),
    **dict.fromkeys(("abstract_method_signature", "arrow_function", "function_expression", "generator_function"), ""),
    "interface_declaration": "interface",
    "enum_declaration": "enum",
}
_SCRIPT_HOLDS = frozenset(kind for kind, word in _SCRIPT.items() if word in ("class", "namespace"))
_SCRIPT_SURROUNDS = frozenset(
    (
        *("ERROR", "program", "export_statement", "ambient_declaration", "expression_statement"),
        *("lexical_declaration", "variable_declaration", "class_body", "statement_block", "if_statement"),
        *("else_clause", "try_statement"),
    )
)


def _script(module: str, function: str) -> Grammar:
    return Grammar(module, function, _SCRIPT, _SCRIPT_HOLDS, _SCRIPT_SURROUNDS, _SCRIPT_STARTS)


_GO = Grammar(
    "tree_sitter_go",
    "language",
    {
        **dict.fromkeys(("function_declaration", "method_declaration"), "func"),
        **dict.fromkeys(("type_spec", "type_alias"), "type"),
    },
    frozenset(),
    frozenset(("ERROR", "type_declaration", "block")),
    re.compile(r"(?:func|type|var|const)(?: +\w| *\()"),
)
_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|partial|readonly|unsafe|inline|export|default"
    r"|typedef|const|pub(?:\([^()]{0,80}\))?|template *<[^<>]{0,200}>) +)*"
)
_C_WORDS = {
    "function_definition": "",
    "type_definition": "type",
    "struct_specifier": "struct",
    "union_specifier": "union",
    "enum_specifier": "enum",
}
_C_SURROUNDS = frozenset(
    (
        *("ERROR", "preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef", "declaration"),
        *("linkage_specification", "declaration_list", "field_declaration_list", "template_declaration"),
        "compound_statement",
    )
)
_C_BODIED = frozenset(("struct_specifier", "union_specifier", "enum_specifier", "class_specifier"))
# A label without indentation is within a function, and a line that begins with a name has its type in the line before.
_C = Grammar(
    *("tree_sitter_c", "language", _C_WORDS, frozenset(), _C_SURROUNDS),
    re.compile(r"(?!\w+(?::(?!:)| *\())[A-Za-z_]"),
    bodied=_C_BODIED,
)
_CPP = Grammar(
    "tree_sitter_cpp",
    "language",
    {**_C_WORDS, "class_specifier": "class", "namespace_definition": "namespace", "alias_declaration": "type"},
    frozenset(("struct_specifier", "class_specifier", "namespace_definition")),
    _C_SURROUNDS,
    re.compile(rf"{_MODIFIERS}(?:(namespace|class|struct) +([\w:]+)[^;(]*$|(?!\w+:(?!:))[A-Za-z_~])"),
    bodied=_C_BODIED,
)
_RUST = Grammar(
    "tree_sitter_rust",
    "language",
    {
        **dict.fromkeys(("function_item", "function_signature_item", "macro_definition"), ""),
        **dict.fromkeys(("type_item", "associated_type"), "type"),
        "struct_item": "struct",
        "enum_item": "enum",
        "union_item": "union",
        "trait_item": "trait",
        "impl_item": "impl",
        "mod_item": "mod",
    },
    frozenset(("trait_item", "impl_item", "mod_item")),
    frozenset(("ERROR", "declaration_list", "foreign_mod_item", "block")),
    re.compile(
        rf"{_MODIFIERS}(?:(trait|mod|impl)(?:<[^{{]{{0,200}}?>)? +(?:[^{{(]{{1,200}}? +for +)?((?:\w+::)*\w+)[^;(]*\{{$"
        r"|[A-Za-z_#])"
    ),
    bodied=frozenset(("mod_item",)),
)
_JAVA = Grammar(
    "tree_sitter_java",
    "language",
    {
        **dict.fromkeys(("class_declaration", "record_declaration"), "class"),
        **dict.fromkeys(("interface_declaration", "annotation_type_declaration"), "interface"),
        **dict.fromkeys(("method_declaration", "constructor_declaration"), ""),
        "enum_declaration": "enum",
    },
    frozenset(("class_declaration", "record_declaration", "interface_declaration", "enum_declaration")),
    frozenset(
        ("ERROR", "class_body", "interface_body", "enum_body", "enum_body_declarations", "block", "constructor_body")
    ),
    re.compile(rf"{_MODIFIERS}(?:(class|interface|enum) +(\w+)[^;(]*$|[A-Za-z_@<])"),
)
_CSHARP = Grammar(
    "tree_sitter_c_sharp",
    "language",
    {
        **dict.fromkeys(("class_declaration", "record_declaration"), "class"),
        **dict.fromkeys(("method_declaration", "constructor_declaration"), ""),
        "struct_declaration": "struct",
        "interface_declaration": "interface",
        "enum_declaration": "enum",
        "namespace_declaration": "namespace",
        "delegate_declaration": "type",
    },
    frozenset(
        (
            *("class_declaration", "record_declaration", "struct_declaration", "interface_declaration"),
            "namespace_declaration",
        )
    ),
    frozenset(
        ("ERROR", "declaration_list", "file_scoped_namespace_declaration", "preproc_if", "preproc_else", "block")
    ),
    re.compile(rf"{_MODIFIERS}(?:(namespace|class|struct|interface) +([\w.]+)[^;(]*$|[A-Za-z_\[])"),
)
_RUBY = Grammar(
    "tree_sitter_ruby",
    "language",
    {"class": "class", "module": "module", "method": "", "singleton_method": ""},
    frozenset(("class", "module")),
    frozenset(("ERROR", "body_statement", "singleton_class", "begin")),
    re.compile(r"(class|module) +([A-Z][\w:]*)[^;]*$|(?!end\b)[A-Za-z_]"),
    opening="\n",
    closing="\nend",
)
# By suffix. A header (`h`) may be C or C++; the grammar of C++ covers nearly all of C.
GRAMMARS: dict[str, Grammar] = {
    **dict.fromkeys(JAVASCRIPT, _script("tree_sitter_javascript", "language")),
    **dict.fromkeys(TYPESCRIPT, _script("tree_sitter_typescript", "language_typescript")),
    "tsx": _script("tree_sitter_typescript", "language_tsx"),
    **dict.fromkeys(GO, _GO),
    "c": _C,
    **dict.fromkeys(("h", "cc", "hh", "cpp", "hpp", "cxx"), _CPP),
    **dict.fromkeys(RUST, _RUST),
    "java": _JAVA,
    "cs": _CSHARP,
    **dict.fromkeys(RUBY, _RUBY),
}
