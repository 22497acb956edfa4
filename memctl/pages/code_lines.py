"""Find definitions and imports in code line by line, without a parser.

Both are found in Python and, if the extra `languages` is not installed, in Go, JavaScript and TypeScript. In C, Java,
Ruby and Rust only the imports are found. The result is reliable only for code in the layout of the usual formatters.
Python code is never parsed: `ast` stops at the first error, and a deep expression crashes Python 3.10
(https://github.com/python/cpython/issues/95185).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from memctl.text.lazy_regex import lazy_regex

# The suffixes of each language.
PYTHON, GO = ("py", "pyi"), ("go",)
JAVASCRIPT, TYPESCRIPT = ("js", "jsx", "mjs", "cjs"), ("ts", "mts", "cts")
SCRIPT = (*JAVASCRIPT, *TYPESCRIPT, "tsx")
CPP, JAVA, RUST, RUBY = ("c", "h", "cc", "hh", "cpp", "hpp", "cxx"), ("java", "kt"), ("rs",), ("rb", "rake")
# Of files whose comments begin with a `#`, such as a Dockerfile, which has no suffix.
_HASH = (*PYTHON, *RUBY, "sh", "bash", "zsh", "yml", "yaml", "toml", "cfg", "ini", "conf", "env", "tf", "pl", "r", "")
LANGUAGES = frozenset((*PYTHON, *GO, *SCRIPT, *CPP, *JAVA, *RUST, *RUBY))
OUTLINED = frozenset((*PYTHON, *GO, *SCRIPT))  # suffixes whose definitions are found line by line
NAME = "|"  # between a Python module and the name that is imported from it
_LONGEST = 8_000  # characters of a line; nobody writes a longer one by hand

# Comments and multi-line strings are removed except for their line ends; other strings stay, as they name imports.
_STRING = r"\"(?:[^\"\\\n]|\\.)*\"?|'(?:[^'\\\n]|\\.)*'?"
_PYTHON_TEXT = lazy_regex(
    rf"(?P<gone>#[^\n]*|(?P<q>\"\"\"|'''|(?!))(?:\\[\s\S]|(?!(?P=q))[\s\S])*(?:(?P=q)|\Z))|{_STRING}"
)
_BRACES_TEXT = lazy_regex(rf"(?P<gone>//[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/|\Z)|`(?:[^`\\]|\\[\s\S])*(?:`|\Z))|{_STRING}")

_PYTHON_LINE = lazy_regex(
    r"(?P<indent>[ \t]*)(?:(?P<word>class|type)[ \t]+(?P<named>\w+)|(?:async[ \t]+)?def[ \t]+(?P<function>\w+)"
    r"|[A-Za-z_@])"
)
_GO_LINE = lazy_regex(
    r"(?P<indent>)(?:(?P<word>type)[ \t]+(?P<named>\w+)|func[ \t]*(?P<receiver>\([^()]*\))?[ \t]*(?P<method>\w+))"
)
_GO_GROUPED_TYPE = lazy_regex(r"\t(\w+)(?:\[[^\]]*\])?[ \t]+\S")
_SCRIPT_LINE = lazy_regex(
    r"""(?P<indent>[ \t]*)(?:(?:export|default|declare|abstract|async|const(?=\ enum))\ +)*
    (?:(?P<word>class|interface|enum|namespace|module)\b\ *(?P<holder>\w[\w$.]*|"[^"]+"|'[^']+')?[^;=]*\{
    |(?P<alias>type)\ +(?P<type>[\w$]+)[^=;]*=
    |function\b\ *\*?\ *(?P<function>[\w$]*)\ *[(<]
    |(?:const\ +|let\ +|var\ +)?(?P<target>[\w$.]+)(?:\ *:[^=]*)?\ *=\ *(?:async\ *)?
        (?:function\b|(?P<held>class)\b\ *(?P<called>\w*)|\($|\(.*=>|[\w$]+\ *=>)
    |(?P<default>(?<=default\ )(?:[(]|[\w$]+\ *=>))
    |\S)""",
    re.VERBOSE,
)
_SCRIPT_MEMBER = lazy_regex(
    r"""[ \t]*(?:(?:public|private|protected|static|async|readonly|override|abstract|get|set)\ +)*\*?\ *
    (?P<name>\#?[\w$]+|\[[\w$."']+\])\ *(?:\(|<[^(]*\(|[^=(]*=\ *(?:async\ *)?(?:function\b|\($|\(.*=>|[\w$]+\ *=>))""",
    re.VERBOSE,
)

_PYTHON_IMPORT = lazy_regex(
    r"^[ \t]*(?:import[ \t]+(?P<modules>[\w.]+[^\n;]*)"
    r"|from[ \t]+(?P<source>\.*[ \t]*[\w.]*)[ \t]*\bimport\b[ \t]*(?:\((?P<many>[^()]*)\)|(?P<few>[^\n;]+)))",
    re.MULTILINE,
)
_SCRIPT_IMPORT = lazy_regex(
    r"(?:^[ \t]*import[ \t]*|\bfrom[ \t]*|\b(?:import|require)[ \t]*\([ \t]*)"
    r"([\"'])([^\"'\n]+)\1",
    re.MULTILINE,
)
_GO_IMPORT = lazy_regex(r"^import[ \t]*(?:\(([^()]*)\)|(?:[\w.]+[ \t]+)?\"([^\"\n]+)\")", re.MULTILINE)
_C_IMPORT = lazy_regex(r"^[ \t]*#[ \t]*include[ \t]*[<\"]([^>\"\n]+)[>\"]", re.MULTILINE)
_JAVA_IMPORT = lazy_regex(r"^[ \t]*import[ \t]+(static[ \t]+)?([\w.]+\*?)", re.MULTILINE)
_RUBY_IMPORT = lazy_regex(
    r"^[ \t]*(?:(?P<beside>require_relative)|require|load)[ \t(]+[\"'](?P<path>[^\"'\n]+)[\"']", re.MULTILINE
)
_RUST_IMPORT = lazy_regex(
    r"^[ \t]*(?:pub(?:\([^()\n]*\))?[ \t]+)?"
    r"(?:(?P<mod>mod)[ \t]+(?P<name>\w+)[ \t]*;|use[ \t]+(?P<used>[^;]{1,2000});)",
    re.MULTILINE,
)


def definitions(suffix: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the line, the nesting and the title of each definition in code with LF line ends.

    Lines count from 1. The nesting is 1 for a class or function at the top of the file, 2 for a method of such a class,
    and so on. `suffix` is that of the file, such as "py". Titles are such as "class Shop.Cart", "Cart.add()" and "func
    (c *Cart) Add". Only Python, Go, JavaScript and TypeScript are read; other code gives nothing.
    """
    if suffix in PYTHON:
        yield from _in_python(without_comments(suffix, text))
    elif suffix in GO:
        yield from _in_go(without_comments(suffix, text))
    elif suffix in SCRIPT:
        yield from _in_script(without_comments(suffix, text))


def imports(suffix: str, text: str) -> Iterator[str]:
    """Yield the imports in code, in their order, in the form that `sources.imports.in_code` returns.

    `suffix` is that of the file, such as "java". The form depends on the language: for C it is the path after
    `#include`, for Java a dotted name, for Rust `mod name` or `crate::a::b`, and for Ruby the required path, with `./`
    before a relative path.
    """
    code = without_comments(suffix, text)
    if suffix in PYTHON:
        for match in _PYTHON_IMPORT.finditer(code):
            yield from _python_imports(match)
    elif suffix in SCRIPT:
        yield from (match[2] for match in _SCRIPT_IMPORT.finditer(code))
    elif suffix in GO:
        for match in _GO_IMPORT.finditer(code):
            yield from [match[2]] if match[2] else re.findall(r"\"([^\"\n]+)\"", match[1])
    elif suffix in CPP:
        yield from _C_IMPORT.findall(code)
    elif suffix in JAVA:  # a static import names a member of a class
        yield from (name.rpartition(".")[0] if static else name for static, name in _JAVA_IMPORT.findall(code))
    elif suffix in RUBY:  # comments need not be removed, because an import begins its line
        yield from (f"./{match['path']}" if match["beside"] else match["path"] for match in _RUBY_IMPORT.finditer(text))
    elif suffix in RUST:
        for match in _RUST_IMPORT.finditer(code):
            yield from [f"mod {match['name']}"] if match["mod"] else _rust_paths(match["used"])


@lru_cache(maxsize=1)  # the imports and the definitions of a file are read one after the other
def without_comments(suffix: str, text: str) -> str:
    """Return code without comments and multi-line strings; lines keep their numbers."""
    lines = (line if len(line) <= _LONGEST else "" for line in text.split("\n"))
    pattern = _PYTHON_TEXT if suffix in _HASH else _BRACES_TEXT
    return pattern.sub(lambda match: "\n" * match[0].count("\n") if match["gone"] else match[0], "\n".join(lines))


def _in_python(code: str) -> Iterator[tuple[int, int, str]]:
    """Yield the definitions in Python, whose nesting is the indentation; those in functions are left out."""
    inside: list[tuple[int, str]] = []  # indentation and name of the enclosing classes; "" for a function
    for number, line in enumerate(code.split("\n"), 1):
        match = _PYTHON_LINE.match(line)
        if match is None:  # a line that begins with a bracket continues the line before
            continue
        indent = len(match["indent"])
        while inside and inside[-1][0] >= indent:
            inside.pop()
        name = match["named"] or match["function"]
        if match["word"] == "type":  # with its parameters
            name = line.partition("=")[0].split(None, 1)[1].strip() if "=" in line else ""
        if not name or (inside and not inside[-1][1]):
            continue
        full = f"{inside[-1][1]}.{name}" if inside else name
        yield number, len(inside) + 1, f"{match['word']} {full}" if match["word"] else f"{full}()"
        if match["word"] != "type":
            inside.append((indent, full if match["word"] else ""))


def _in_go(code: str) -> Iterator[tuple[int, int, str]]:
    is_grouped = False
    for number, line in enumerate(code.split("\n"), 1):
        is_grouped = (is_grouped and not line.startswith(")")) or re.match(r"type[ \t]*\(", line) is not None
        if match := _GO_LINE.match(line):
            receiver = f"{match['receiver']} " if match["receiver"] else ""
            yield number, 1, f"type {match['named']}" if match["word"] else f"func {receiver}{match['method']}"
        elif is_grouped and (match := _GO_GROUPED_TYPE.match(line)):
            yield number, 1, f"type {match[1]}"


def _in_script(code: str) -> Iterator[tuple[int, int, str]]:
    inside: list[tuple[int, str, str]] = []  # indentation, keyword and name of the enclosing classes and namespaces
    member: int | None = 0  # the indentation of members of the innermost one, None before its first member
    for number, line in enumerate(code.split("\n"), 1):
        match = _SCRIPT_LINE.match(line)
        if match is None or line.lstrip()[0] in "})]":
            continue
        indent = len(match["indent"])
        while inside and inside[-1][0] >= indent:
            member = inside.pop()[0]
        member = indent if member is None else member
        if indent != member:
            continue
        word, name = _script_name(match)
        if inside and inside[-1][1] == "class":
            found = _SCRIPT_MEMBER.match(line)
            word, name = "", found["name"] if found else ""
        if not name:
            continue
        full = f"{inside[-1][2]}.{name}" if inside else name
        title = f"{word} {full}" if word else f"{full}()"
        yield number, len(inside) + 1, title
        if word in ("class", "namespace") and "}" not in line:
            inside.append((indent, word, full))
            member = None


def _script_name(match: re.Match[str]) -> tuple[str, str]:
    """Return the keyword and the name of a line's definition, such as ("class", "Cart").

    The keyword of a function is "", and the name is "" if the line defines nothing.
    """
    if match["target"]:
        name = re.sub(r"^(?:module\.)?exports\.|\.prototype(?=\.)", "", match["target"])
        return match["held"] or "", name if name != "module.exports" else match["called"] or "default"
    word = "namespace" if match["word"] == "module" else match["word"] or match["alias"] or ""
    script_name = match["holder"] or match["type"] or match["function"]
    is_nameless = match["word"] == "class" or match["function"] is not None or match["default"]
    return word, script_name or ("default" if is_nameless else "")


def _python_imports(match: re.Match[str]) -> Iterator[str]:
    if match["modules"]:
        yield from (part.split()[0] for part in match["modules"].split(",") if part.split())
        return
    source = match["source"].replace(" ", "")
    names = [part.split()[0] for part in (match["many"] or match["few"] or "").split(",") if part.split()]
    yield from (f"{source}{NAME}{name}" for name in names if source != "__future__")


def _rust_paths(used: str) -> Iterator[str]:
    """Yield each path of a `use`: `a::{b, c::{self, d}} as e` gives a::b, a::c::self and a::c::d."""
    before: list[str] = []
    path = ""
    for token in re.findall(r"[{},]|[^{},\s]+|\s+as\s+\w+", used):
        if token == "{":
            before.append(path)
        elif token in ("}", ","):
            if path and path != (before[-1] if before else ""):
                yield path
            if token == "}" and before:
                before.pop()
            path = before[-1] if before and token == "," else ""
        elif not token.strip().startswith("as "):
            path = (before[-1] if before and not path else path) + token
    if path:
        yield path
