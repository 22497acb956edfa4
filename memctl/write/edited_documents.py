"""Whether a person has edited a rendered document, in a memory of format 2, whose documents have no hash of their text.

A document is as memctl rendered it if this clone has noted its text (`remember`), or if it agrees with the rendering of
the commit that last changed it. Only words count (`markdown.words`), since formatters change the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property, reduce
from operator import and_, or_
from pathlib import Path

import msgspec

from memctl.errors import MemctlError
from memctl.git import history, private_files, trees
from memctl.pages import generated_header
from memctl.pages.links import SOURCES
from memctl.pages.render import Renderer
from memctl.record.snapshot import Snapshot
from memctl.store import load
from memctl.store.memory import Memory
from memctl.text import markdown


class EditFinder:
    """Finds out whether a document was edited by hand; `render` makes the renderer of a snapshot."""

    def __init__(self, memory: Memory, render: Callable[[Snapshot], Renderer]) -> None:
        self._memory = memory
        self._render = render
        self._renderers: dict[str, Renderer] = {}

    @cached_property
    def _noted(self) -> dict[str, list[str]]:
        return _read(_file(self._memory))

    def __call__(self, path: str, text: str, wanted: str | None) -> bool:
        """Return whether a person has edited the document at `path` (below `.memory/`), which has the text `text`.

        `wanted` is the text that it should have now, None if that is not known. While Git merges or rebases, what it
        made of a document counts as rendered; so does what is older than the history of a shallow clone.
        """
        repository, tracked = self._memory.repository, self._memory.tracked(path)
        if _hash(text) in self._noted.get(path, ()) or repository.under_way():
            return False
        committed = trees.text(repository, "HEAD", tracked)
        if committed is None:
            return False
        if _words(text) != _words(committed):
            return _adds_or_removes(text, [committed, wanted or committed])
        header = generated_header.split(text)
        if path.endswith(f"/{SOURCES}") or header is None or header.layout != generated_header.OF_FORMAT_2:
            return False  # it shows the code as it was when it was rendered; an older memctl rendered it
        last = history.last_version(repository, tracked)
        if last is None or last[0] in repository.shallow():
            return False
        before = [trees.text(repository, f"{last[0]}^{number}", tracked) for number in (1, 2)]
        rendered = self._rendering(last[0], path)
        return rendered is not None and _adds_or_removes(text, [rendered, *(each for each in before if each)])

    def _rendering(self, commit: str, path: str) -> str | None:
        """Return the document that the memory at a commit gives, None if it gives none."""
        if commit not in self._renderers:
            self._renderers[commit] = self._render(load.revision(self._memory, commit))
        making = self._renderers[commit]
        if not self._memory.is_trusted and any(name.endswith(".j2") for name in making.snapshot.names("templates")):
            return None  # the project's own templates are not run here
        with suppress(MemctlError, KeyError):  # a broken template, a page that the commit lacks
            return making.document(path.rpartition("/")[2])
        return None


def _adds_or_removes(text: str, others: list[str]) -> bool:
    """Return whether a text has words that no other text has as often, or lacks some that all of them have.

    A merge or a rebase by Git makes a document of two, which need not be the rendering of the result.
    """
    words, counts = Counter(_words(text)), [Counter(_words(other)) for other in others]
    return bool(words - reduce(or_, counts) or reduce(and_, counts) - words)


def remember(memory: Memory, texts: Mapping[str, str | None]) -> None:
    """Note the texts of documents that memctl is about to write to the disk, by path; None for one to delete.

    The text before stays noted, since memctl may be killed before it writes.
    """
    noted = _read(_file(memory))
    for path, text in texts.items():
        noted[path] = [*([] if text is None else [_hash(text)]), *noted.get(path, ())][:2]
    with suppress(OSError):  # the commits of the documents tell, too
        private_files.replace_file(_file(memory), msgspec.json.encode(noted))


def _file(memory: Memory) -> Path:
    return memory.private / "rendered"


def _read(file: Path) -> dict[str, list[str]]:
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(file.read_bytes(), type=dict[str, list[str]])
    return {}


def _hash(text: str) -> str:
    return generated_header.digest(" ".join(_words(text)))


def _words(document: str) -> list[str]:
    header = generated_header.split(document)
    return markdown.words(document if header is None else header.text)
