"""Notes that an agent takes while it works, and that are passed on to its next window.

Each note has one of six categories, and one of three degrees of importance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

import msgspec

from memctl.record import argument_checks
from memctl.text.characters import encodable
from memctl.text.markdown import one_line
from memctl.text.phrases import quantity

# In this order, and the tokens that notes may have; rules.md#window-compression.
CATEGORIES = ("task_progress", "decisions", "bugs", "constraints", "learnings", "misc")
IMPORTANCES = ("critical", "high", "normal")
MAX_TOKENS = 2_000


class Note(msgspec.Struct, frozen=True):
    """A note that an agent took: its category, its text, and its importance.

    The category is "task_progress", "decisions", "bugs", "constraints", "learnings" or "misc"; the importance is
    "critical", "high" or "normal". `moment` is the time when the note was taken, "" if unknown.
    """

    category: str
    content: str
    importance: str = "normal"
    moment: str = ""


class Notes:
    """The notes of a task, oldest first.

    `kept` is a function that stores a note, such as in a file. `write` calls it with each new note; if it raises an
    error, the note is not added.
    """

    def __init__(self, notes: Iterable[Note] = (), kept: Callable[[Note], None] | None = None) -> None:
        self._notes = list(notes)
        self._kept = kept

    def write(self, category: str, content: str, importance: str = "normal", moment: str = "") -> None:
        """Add a note; raises ValueError for an unknown category or importance, and for an empty text."""
        for what, value, known in (("category", category, CATEGORIES), ("importance", importance, IMPORTANCES)):
            if value not in known:
                raise ValueError(f"a note can't have the {what} {value!r}; it is one of {', '.join(known)}")
        argument_checks.texts(content=content)
        content = encodable(content)
        if not content.strip():
            raise ValueError("a note can't be empty")
        note = Note(category, one_line(content), importance, moment)
        if self._kept is not None:
            self._kept(note)
        self._notes.append(note)

    def __iter__(self) -> Iterator[Note]:
        return iter(self._notes)

    def __len__(self) -> int:
        return len(self._notes)

    def for_context(self, count: Callable[[str], int], max_tokens: int = MAX_TOKENS) -> str:
        """Return the notes as a text of at most `max_tokens` tokens, with a heading for each category.

        The categories have a fixed order, with the progress of the task first. Within a category critical notes come
        first, and newer notes before older ones. A note for which there is no room is left out whole; the last line
        then says how many were left out. `count` counts the tokens of a text.
        """
        chosen: set[int] = set()
        for number in sorted(range(len(self._notes)), key=self._rank):
            if count(self._text(chosen | {number})) <= max_tokens:
                chosen.add(number)
        return self._text(chosen) if chosen else ""

    def _rank(self, number: int) -> tuple[int, int, int]:
        note = self._notes[number]
        return CATEGORIES.index(note.category), IMPORTANCES.index(note.importance), -number

    def _text(self, chosen: set[int]) -> str:
        parts = []
        own = [self._notes[number] for number in sorted(chosen, key=self._rank)]
        for category, notes in groupby(own, lambda note: note.category):
            lines = [f"- [{note.importance.upper()}] {note.content}" for note in notes]
            parts.append("\n".join([f"## {category.replace('_', ' ').capitalize()}", *lines]))
        missing = len(self._notes) - len(chosen)
        return "\n\n".join([*parts, *([f"({quantity(missing, 'more note')} left out)"] if missing else [])])
