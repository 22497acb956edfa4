"""Find what may be names of files in a text: paths such as `src/card.py`, base names, and both with a line number.

Nobody typed them as references, so they are soft ones: only the cache has them, and a record's code references come
before them. Which file a name means, the files of the repository tell (`means`).
"""

from __future__ import annotations

from collections.abc import Callable

from memctl.text.lazy_regex import lazy_regex

_WORD = lazy_regex(r"[\w./@+~-]+")
_BASE = lazy_regex(r"[\w.@+~-]*[\w@+~-]\.(?:[a-z][a-z0-9]{0,9}|[A-Z]{1,4})|[\w@+~-]*[A-Za-z][\w@+~-]*")
MOST_NAMING = 20  # records; a file that more of them name, such as a changelog, none of them is about
_LONGEST = 200  # characters of a name
_MOST = 200  # names of one text; a longer list says nothing of each file


def in_text(text: str) -> list[str]:
    """Return the names in a text that may be those of files, without line numbers, each once.

    A name without a slash has a suffix: `card.py`, not `card`. Words such as `e.g` are among the result.
    """
    words = dict.fromkeys(word.rstrip("./@+~-").removeprefix("./") for word in _WORD.findall(text))
    names = (word for word in words if len(word) <= _LONGEST and ("/" in word or "." in word) and _is_name(word))
    return [name for name, _ in zip(names, range(_MOST), strict=False)]


def base(name: str) -> str:
    """Return the last part of a path."""
    return name.rpartition("/")[2]


def means(name: str, file: str, is_unique: Callable[[str], bool]) -> bool:
    """Return whether a name in a text means a file of the repository, whose path is `file`.

    It does if it is the file's path, perhaps with folders before it, or the end of this path if `is_unique`, which is
    called with the name, says that no other file's path has this end.
    """
    if "/" in file and (name == file or name.endswith(f"/{file}")):
        return True
    return (name == file or file.endswith(f"/{name}")) and is_unique(name)


def _is_name(word: str) -> bool:
    last = base(word)
    return _BASE.fullmatch(last) is not None and (word != last or "." in last)
