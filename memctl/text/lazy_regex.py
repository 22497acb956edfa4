"""Regular expressions that are compiled when they are first used.

Compiling one takes 0.1 ms, and most commands import more of them than they use: the hook of a prompt uses 20 of 60.
"""

from __future__ import annotations

import re


class _LazyRegex:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(self.pattern, self._flags)
        for method in ("match", "fullmatch", "search", "sub", "split", "findall", "finditer"):
            setattr(self, method, getattr(compiled, method))  # so that __getattr__ is not called again
        return getattr(compiled, name)


def lazy_regex(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return an object that works like `re.compile(pattern, flags)`, but compiles the pattern when it is first used.

    So an invalid pattern raises its error only then.
    """
    return _LazyRegex(pattern, flags)  # type: ignore[return-value]  # it has the methods of a pattern
