"""Telling whether a text names something that stands nowhere in the record that it was made from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_WORD = re.compile(r"[^\s\"'`<>|,;()\[\]{}*]+")
_LINE = re.compile(r"(?::\d+){1,2}$")  # src/a.py:12
_FILE = re.compile(r"(?:[\w@+~.-]*[/\\])*[\w@+~-][\w@+~.-]*\.[A-Za-z][A-Za-z0-9]{0,7}")  # it ends like a file's name
_FOLDER = re.compile(r"(?:~|\.{0,2})/.*|[A-Za-z]:[\\/].*|[^/]+/[^/]+/.*|[\w.-]+/|[a-z][a-z0-9+.-]+://.*")
_ID = re.compile(r"[A-Z]{2,8}-\d[\d-]*|(?=[a-f]*\d)[0-9a-f]{7,40}")  # of records and tickets, of commits
_NUMBER = re.compile(r"\d[\d.,]*\d")  # one digit may count what is told; two were read somewhere
_NO_NAMES = frozenset({"e.g", "i.e", "a.m", "p.m"})


class KnownNames:
    """All that a record names: its words, and the paths of files, whole, by their ends or by their folders."""

    def __init__(self, record: str, paths: Iterable[str]) -> None:
        self._words = {part for word in _words(record) for part in (word, *_NUMBER.findall(word))}
        for path in (*paths, *filter(_FILE.fullmatch, self._words)):
            parts = path.split("/")
            self._words.update("/".join(parts[start:]) for start in range(len(parts)))
            self._words.update("/".join(parts[:end]) for end in range(1, len(parts)))

    def has_all_of(self, text: str) -> bool:
        """Whether every path, id and number in a text stands in the record."""
        return all(name in self._words for name in _names(text))


def _names(text: str) -> Iterator[str]:
    """The paths, ids and numbers that a text names."""
    for word in _words(text):
        if word in _NO_NAMES:
            continue
        if _FILE.fullmatch(word) or _FOLDER.fullmatch(word):
            yield word.rstrip("/") if len(word) > 1 else word
        elif _ID.fullmatch(word):
            yield word
        else:
            yield from _NUMBER.findall(word)


def _words(text: str) -> Iterator[str]:
    """The words of a text, without what ends a sentence, slashes behind folders, and numbers of lines."""
    for word in _WORD.findall(text):
        bare = _LINE.sub("", word.strip(":!?").rstrip(".…"))
        if bare:
            yield bare
            if bare.endswith("/") and len(bare) > 1:
                yield bare.rstrip("/")
