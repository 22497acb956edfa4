"""Describe a source file: its purpose in one line, and its headings or definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.pages import code_lines, definitions
from memctl.pages.code_lines import CPP, GO, JAVA, PYTHON, RUST, SCRIPT
from memctl.record.frontmatter import clean_newlines
from memctl.text import fit, markdown

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_WIDTH = 120  # characters of a purpose or a title
_MOST = 2_000  # markers of one file
_DOCUMENTED = 40  # definitions whose descriptions are searched for a file's purpose
_HEAD = 16_000  # first characters of a file, in which its purpose is searched
_LONGEST = 1_000_000  # characters of Markdown that are read, since some lists need 750 bytes of memory per character
_MOST_LINES = 50_000  # lines of Markdown that are read, since a heading needs 1,300 bytes and 25 microseconds
MARKDOWN = ("md", "markdown")
# How line comments begin; with "//" and "--" there are block comments between /* and */ as well.
_COMMENTS = {
    **dict.fromkeys(
        (*SCRIPT, *GO, *RUST, *JAVA, *CPP, "css", "scss", "cs", "swift", "scala", "php", "dart", "proto"), "//"
    ),
    **dict.fromkeys((*PYTHON, "", "sh", "bash", "zsh", "fish", "rb", "mk", "dockerfile", "r", "pl", "tf", "nix"), "#"),
    **dict.fromkeys(("yaml", "yml", "toml", "cfg", "conf", "env", "gitattributes", "gitignore", "editorconfig"), "#"),
    **dict.fromkeys(("sql", "lua", "hs"), "--"),
    "ini": ";",
}


class Marker(msgspec.Struct, frozen=True):
    """An entry of a file's outline: a heading or definition with its line and level (both from 1), and its title."""

    line: int
    level: int
    title: str


def markers(path: str, text: str) -> list[Marker]:
    """Return the outline of a file: the headings of Markdown, or the definitions of code; at most 2,000.

    A file of another kind has none. Only the first million characters and 50,000 lines of a Markdown file are read.
    100,000 characters of code take 20 ms, and of Markdown 100 ms.
    """
    suffix = suffix_of(path)
    if suffix in MARKDOWN:
        return list(islice((marker for marker in blocks(text) if marker.level), _MOST))
    if not definitions.is_outlined(suffix):
        return []
    definitions_found = islice(definitions.in_code(suffix, clean_newlines(text)), _MOST)
    return [Marker(line, level, plain(title)) for line, level, title in definitions_found]


def suffix_of(path: str) -> str:
    """Return the suffix of a file in lower case without its dot, "" if it has none."""
    return path.rpartition("/")[2].rpartition(".")[2].lower() if "." in path.rpartition("/")[2] else ""


def plain(text: str) -> str:
    """Return a text as one line of at most 120 characters, without control characters."""
    text = text[: _WIDTH * 4]  # enough even if control characters are removed
    line = markdown.one_line("".join(c for c in text if c.isprintable() or c.isspace()))
    if len(line) <= _WIDTH:
        return line
    return (line[: _WIDTH - 1].rpartition(" ")[0] or line[: _WIDTH - 2]) + " …"


_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\n(?=[\w\"'#]|\1)(?:.*\n)*?(?:\1|\.\.\.)[ \t]*(?:\n|$)")


def blocks(text: str) -> Iterator[Marker]:
    """Yield the headings and paragraphs of Markdown, except those inside of lists and quotes.

    A paragraph has level 0. Headings and paragraphs without text are left out.
    """
    text = "\n".join(clean_newlines(text[:_LONGEST]).split("\n", _MOST_LINES)[:_MOST_LINES])
    if front_matter := _FRONT_MATTER.match(text):
        text = "\n" * front_matter[0].count("\n") + text[front_matter.end() :]
    known: dict[str, Any] = {}
    tokens = _markdown_parser(has_inline=False).parse(text, known)  # inline content is parsed only where it is needed
    for opens, holds in pairwise(tokens):
        if opens.level or opens.type not in ("heading_open", "paragraph_open"):
            continue
        inside = _markdown_parser(has_inline=True).parseInline(holds.content[: _WIDTH * 3], known)[0].children or []
        shown = (token.content or " " for token in inside if token.type in ("text", "code_inline", "softbreak"))
        if title := plain("".join(shown)):
            yield Marker((opens.map or [0])[0] + 1, int(opens.tag[1:] or 0), title)


@cache
def _markdown_parser(*, has_inline: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark")
    return parser if has_inline else parser.disable("inline")


# Lines that begin the part of a paragraph about copyright or a licence, which is skipped.
_LICENCE = re.compile(
    r"^\W*copyright\b|copyright (?:\(c\)|©|\d|notice|holder|owner)|^\W*(?:©|\(c\)) |SPDX-|all rights reserved"
    r"|licen[sc]ed? (?:under|to|as)\b|licen[sc]e:|under the .{1,40}licen[sc]e|public licen[sc]e|permission is hereby"
    r"|permission to use, copy|redistributions? (?:and use|of source|in binary)|neither the name of|is free software"
    r"|(?:software|program|library) is (?:provided|distributed)|is part of\b|source code is governed"
    r"|^unless required by|^you (?:may obtain|may opt to use|should have received)|can be used freely"
    r"|^as far as i am concerned"
    r"|^\W*authors?\b.*<\S+@\S+>",
    re.IGNORECASE,
)
# Lines that are directives for tools, decoration or only a link.
_DIRECTIVE = re.compile(
    r"[\W_]*$|https?://\S+$|!|@|-\*-|(?:vim?|ex|-*mode|(?i:coding))[:=]|eslint|prettier|[jt]s[hl]int|tslint|biome"
    r"|istanbul|c8 |globals? \w+(?:$|[:,])|go:|\+build|nolint|shellcheck |yaml-language|yamllint|sqlfluff|noqa|pylint"
    r"|mypy:|ruff:|type:|<reference|cspell|syntax ?=|#?(?:end)?region\b|\$\w+(?::[^$]*)?\$\W*$"
)
_DRAWN = re.compile(r"[^\w\s]|_")  # what banners are drawn with
_DESCRIBES = re.compile(r"@(?:file|fileoverview|overview|description|summary|packageDocumentation)\b")
_DOCSTRING = re.compile(r"(?:\s*#[^\n]*\n)*\s*[rRuU]?(\"\"\"|\'\'\'|[\"\'])(?:\\\n)?((?:[^\\]|\\[\s\S])*?)(?:\1|$)")
# The tables of manifests that have a description: pyproject.toml, Cargo.toml, setup.cfg.
_TABLES = ("[project]", "[tool.poetry]", "[package]", "[workspace.package]", "[metadata]")
_TOML_TEXT = re.compile(r"description\s*=\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^\s\"'][^\n]*)")


class _Package(msgspec.Struct):
    description: str = ""


def purpose(path: str, text: str) -> str:
    """Return the purpose of a file in one line of at most 120 characters, "" if the file does not say it.

    The purpose is taken from where files of this kind mostly state it: the first sentence of a Python docstring, of the
    first comment (unless it is a licence or a directive for a tool) or of a text, the first heading of Markdown, or the
    description in a package's manifest such as pyproject.toml. For other code it is the description of the first class
    or function, or the names of the classes and functions. Only the first 16,000 characters are read (all of
    package.json).
    """
    return plain(_find_purpose(path, text))


def _find_purpose(path: str, text: str) -> str:
    name, suffix = path.rpartition("/")[2], suffix_of(path)
    if name in ("package.json", "composer.json"):
        return _in_package(clean_newlines(text))
    text = clean_newlines(text[:_HEAD])
    first, _, rest = text.partition("\n")
    if first.startswith("#!"):
        text = rest
        suffix = "py" if not suffix and "python" in first else suffix
    if name in ("pyproject.toml", "Cargo.toml", "setup.cfg") and (description := _in_pyproject(text)):
        return description
    if suffix in MARKDOWN:
        block = next(blocks(text), None)
        return "" if block is None else block.title if block.level else fit.first_sentence(block.title)
    if suffix in PYTHON:
        docstring = _DOCSTRING.match(text)
        if docstring and (sentence := _first_sentence(path, docstring[2].split("\n"))):
            return sentence
    if suffix in ("rst", "txt"):
        return _first_sentence(path, text.split("\n"))
    sentence = _first_sentence(path, _comments(text, _COMMENTS[suffix])) if suffix in _COMMENTS else ""
    return sentence or _by_definitions(suffix, text)


def _by_definitions(suffix: str, text: str) -> str:
    lines = text.split("\n")
    tops = [(line, title) for line, level, title in code_lines.definitions(suffix, text) if level == 1]
    public = [(line, title.rpartition(" ")[2], title) for line, title in tops if not re.search(r"(?:^| )[_#]", title)]
    classes = [each for each in public if each[2].startswith(("class ", "type ", "interface "))]
    for line, name, _ in (*classes, *public)[:_DOCUMENTED]:
        if description := of_definition(suffix, lines, line):
            return f"{name}: {description}"
    return ", ".join(dict.fromkeys(name for _, name, _ in public))


def _in_package(text: str) -> str:
    try:
        return msgspec.json.decode(text.encode(errors="replace"), type=_Package).description
    except (msgspec.DecodeError, RecursionError):
        return ""


def _in_pyproject(text: str) -> str:
    table = ""
    for line in text.split("\n"):
        if line.startswith("["):
            table = line.partition("#")[0].strip()
        elif table in _TABLES and (match := _TOML_TEXT.match(line)):
            return match[1].strip("'") if match[1][0] != '"' else re.sub(r'\\(["\\])', r"\1", match[1][1:-1])
    return ""


def _comments(text: str, mark: str) -> Iterator[str]:
    """Yield the lines of the comments at the beginning of a text without comment marks, and "" after each comment."""
    inside = False
    for line in map(str.strip, text.split("\n")):
        if inside or (line.startswith("/*") and mark in ("//", "--")):
            content, end, code = line.removeprefix("/*").partition("*/")
            yield content.lstrip("*!")
            inside = not end
            if end:
                yield ""
            if code.strip():
                return
        elif line.startswith(mark):
            yield line.lstrip(mark[0] + "!")
        elif not line or line.rstrip(";") in ("---", "'use strict'", '"use strict"') or line.startswith("%YAML"):
            yield ""
        else:
            return


def _first_sentence(path: str, lines: Iterable[str]) -> str:
    words: list[str] = []
    is_licence = False
    for line in lines:
        line = _DESCRIBES.sub("", line).strip()
        if _DIRECTIVE.match(line) or _is_name(path, line) or _is_drawn(line):
            if words:
                break
            is_licence = False
        elif is_licence or _LICENCE.search(line):
            is_licence = True
        else:
            words.append(line)
    return fit.first_sentence("\n".join(words))


def _is_drawn(line: str) -> bool:
    return 2 * len(_DRAWN.findall(line)) > len(line.replace(" ", ""))


def _is_name(path: str, line: str) -> bool:
    stem = path.rpartition(".")[0]
    return re.search("[./]", line) is not None and (path.endswith(line) or stem.endswith(line.replace(".", "/")))


_SIGNATURE = 40  # lines of a function's head
_COMMENT = 40  # lines of a comment that are read
_OPENS = re.compile(r"\s*[rRuU]?(\"\"\"|'''|\"|')")
_ENDS_HEAD = re.compile(r":\s*(?:#.*)?$")
_NEXT = re.compile(r"\s*(?:def|class|async|@|return|pass)\b")
_BETWEEN = re.compile(r"\s*@\w")  # decorators may be between a comment and its definition
_TAG = re.compile(r"@\w+")


def of_definition(suffix: str, lines: Sequence[str], line: int) -> str:
    """Return the first sentence of a definition's docstring or comment, "" if it has none.

    `lines` are the lines of the file, `suffix` is the file's suffix, such as "py", and `line` is the number of the
    definition's first line, from 1.
    """
    comment = _docstring(lines, line) if suffix in PYTHON else _comment_above(lines, line)
    return fit.first_sentence(comment)


def _docstring(lines: Sequence[str], line: int) -> str:
    for number in range(line - 1, min(line - 1 + _SIGNATURE, len(lines))):
        if number >= line and _NEXT.match(lines[number]):
            return ""
        if _ENDS_HEAD.search(lines[number]):
            break
    else:
        return ""
    body = lines[number + 1 : number + 1 + _COMMENT]
    opening = _OPENS.match(body[0]) if body else None
    if opening is None:
        return ""
    text = "\n".join([body[0][opening.end() :], *body[1:]])
    return "\n".join(row.strip() for row in text.partition(opening[1])[0].split("\n"))


def _comment_above(lines: Sequence[str], line: int) -> str:
    number = line - 2
    while number >= 0 and _BETWEEN.match(lines[number]):
        number -= 1
    lines_above: list[str] = []
    is_block = number >= 0 and lines[number].rstrip().endswith("*/")
    while number >= 0 and len(lines_above) < _COMMENT:
        text = lines[number].strip()
        if not is_block and not text.startswith("//"):
            break
        lines_above.append(text.removesuffix("*/").lstrip("/*! "))
        if is_block and text.startswith("/*"):
            break
        number -= 1
    comment = [text.rstrip() for text in reversed(lines_above)]
    return "\n".join("" if _TAG.match(text) else text for text in comment).lstrip("\n")
