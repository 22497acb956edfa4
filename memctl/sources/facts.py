"""Facts about the repository's files, such as their imports; computed once per content, for the search index."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import islice

from memctl.pages import definitions, outline
from memctl.record.frontmatter import clean_newlines
from memctl.sources import generated_files, imports, manifests
from memctl.sources.resolve import code_suffix
from memctl.store.files import MAX_BYTES
from memctl.store.source_facts import FileFacts
from memctl.text import sensitive_files, words
from memctl.tokens.families import kind_of_text

Progress = Callable[[int, int], None]
LATER = "the file is large and has not been read yet; the next run of this command reads it"
TOO_LARGE, GONE = f"the file has more than {MAX_BYTES:,} bytes", "the file does not exist any more, or can't be read"
GENERATED_TREE = "a program wrote it, and so many files beside it that they are not read"
_MOST_IMPORTS, _MOST_NAMES, _MOST_WORDS = 500, 500, 200  # of one file
_NAME = re.compile(r"[\w$]+")
_TODO_WORDS = ("TODO", "FIXME", "XXX", "HACK")
_TODO = re.compile(rf"\b(?:{'|'.join(_TODO_WORDS)})\b")


def of_content(path: str, content: bytes) -> FileFacts:
    """Compute the facts of a file from its content; the name and suffix in its path say how to parse it."""
    if sensitive_files.is_binary(content):
        return FileFacts(len(content), refusal=sensitive_files.BINARY)
    text = clean_newlines(content.decode(errors="replace"))
    if reason := sensitive_files.refusal_of_text(text):
        text = sensitive_files.without_credentials(text)
    imports, names = _in_code(code_suffix(path), text)
    about = words.words_of(" ".join([*names, outline.purpose(path, text)]))
    return FileFacts(
        size=len(content),
        lines=text.count("\n") + (not text.endswith("\n") and text != ""),
        kind=kind_of_text(path, text),
        refusal=reason,
        todos=len(_TODO.findall(text)) if any(word in text for word in _TODO_WORDS) else 0,
        imports=imports,
        names=names,
        words=tuple(islice((word for word in dict.fromkeys(about) if word not in words.STOP_WORDS), _MOST_WORDS)),
        declared=manifests.declared_name(path.rpartition("/")[2], text),
        is_generated=generated_files.in_text(text),
    )


def _in_code(suffix: str, text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if imports.is_parsed(suffix):
        pieces = [
            (list(imports.in_piece(suffix, piece)), list(definitions.in_piece(suffix, piece)))
            for piece in definitions.parse_pieces(suffix, text)
        ]
    else:
        pieces = [(list(imports.in_code(suffix, text)), list(definitions.in_code(suffix, text)))]
    found: dict[str, None] = {}
    names: dict[str, None] = {}
    for imported, defined in pieces:
        found |= dict.fromkeys(imported)
        for _, _, title in defined:
            names |= dict.fromkeys(_NAME.findall(title.rpartition(" ")[2])[-1:])
    return tuple(islice(found, _MOST_IMPORTS)), tuple(islice(names, _MOST_NAMES))
