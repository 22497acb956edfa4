"""`.memctlignore`: files that Git has and that no model needs, by patterns as in `.gitignore`, in any folder."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping

from memctl.errors import MemctlError
from memctl.hierarchy.deadline import deadline

NAME = ".memctlignore"
_SECONDS = 5.0  # a hundred patterns take 10,000 files 0.2 s


def ignored(names: Collection[str], texts: Mapping[str, str]) -> dict[str, str]:
    """The files that some ignore files leave out, each with the path of the one that does.

    `texts` are the ignore files by path. The nearest has the last word, as with `.gitignore`.
    """
    patterns: list[str] = []
    origins: list[str] = []
    for path, text in sorted(texts.items(), key=lambda item: (item[0].count("/"), item[0])):
        found = [line for line in _anchored(posixpath.dirname(path), text) if is_pattern(line)]  # as Git skips others
        patterns += found
        origins += [path] * len(found)
    if not patterns:
        return {}
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines(patterns)
    try:
        with deadline(_SECONDS):
            checked = [spec.check_file(name) for name in names]
    except TimeoutError:
        where = " or ".join(sorted(texts))
        raise MemctlError(f"the patterns of {where} take too long", "give simpler ones, with fewer `*`") from None
    return {str(each.file): origins[each.index or 0] for each in checked if each.include}


def is_pattern(text: str) -> bool:
    """Whether a text is a pattern that a file can match."""
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([text])
    except (ValueError, re.error):
        return False
    return True


def _anchored(folder: str, text: str) -> Iterator[str]:
    """The patterns of an ignore file in a folder, as the same file at the top would have them."""
    for line in text.replace("\r\n", "\n").split("\n"):
        if not line.strip() or line.startswith("#"):
            continue
        mark, pattern = ("!", line[1:]) if line.startswith("!") else ("", line)
        if not folder:
            yield line
        elif "/" in pattern.rstrip().rstrip("/"):
            yield f"{mark}/{_literal(folder)}/{pattern.lstrip('/')}"
        else:
            yield f"{mark}/{_literal(folder)}/**/{pattern}"


def _literal(folder: str) -> str:
    return re.sub(r"([\\*?\[\]! #])", r"\\\1", folder)
