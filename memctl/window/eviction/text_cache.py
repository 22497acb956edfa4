"""What was found out about texts, kept as long as they are in the window: they are looked at again at each eviction."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Generic, TypeVar

T = TypeVar("T")


class TextCache(Generic[T]):
    """A function of a text that is asked once for each text."""

    def __init__(self, function: Callable[[str], T]) -> None:
        self._function = function
        self._known: dict[str, T] = {}

    def __call__(self, text: str) -> T:
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._function(text)
        return found

    def keep(self, texts: Collection[str]) -> None:
        """Forget all but these texts."""
        if len(self._known) > 2 * len(texts):
            self._known = {text: self._known[text] for text in texts if text in self._known}
