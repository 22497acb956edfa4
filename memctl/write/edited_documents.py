"""Whether a person has edited a rendered document, in a memory of format 2, whose documents have no hash of their text.

A document is as memctl rendered it if this clone has noted its text (`remember`), or if it agrees with the rendering of
the commit that last changed it. Only words count (`markdown.words`), since formatters change the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import reduce
from operator import and_, or_

import msgspec

from memctl.errors import MemctlError
from memctl.git import history, private_files, trees
from memctl.pages import generated_header
from memctl.pages.links import SOURCES
from memctl.pages.render import Renderer
from memctl.store.memory import Memory
from memctl.text import markdown

_NOTE = "rendered"  # file in the memory's folder in the Git directory: hashes of the latest two texts, by path


def is_edited(
    memory: Memory, renderer_at: Callable[[str], Renderer | None], path: str, text: str, wanted: str | None
) -> bool:
    """Return whether a person has edited the document at `path` (below `.memory/`), which has the text `text`.

    `renderer_at` returns the renderer for the memory at a commit, None if the project's templates can't be used.
    `wanted` is the text that the document should have now, None if that is not known. While Git merges or rebases, what
    it made of a document counts as rendered; so does what is older than the history of a shallow clone.
    """
    repository, tracked = memory.repository, memory.tracked(path)
    if _hash(text) in _noted(memory).get(path, ()) or repository.under_way():
        return False
    committed, header = trees.text(repository, "HEAD", tracked), generated_header.split(text)
    if committed is None or header is None:
        return header is None
    if _words(text) != _words(committed):
        return _adds_or_removes(text, [committed, wanted or committed])
    # The list of files shows code that may not have been committed; an older memctl renders in another way.
    last = None if path.endswith(f"/{SOURCES}") else history.last_version(repository, tracked)
    if last is None or last[0] in repository.shallow() or header.layout != generated_header.OF_FORMAT_2:
        return False
    with suppress(MemctlError, KeyError):  # a broken template, a page that the commit lacks
        if making := renderer_at(last[0]):
            before = (trees.text(repository, f"{last[0]}^{number}", tracked) for number in (1, 2))
            return _adds_or_removes(text, [making.document(path.rpartition("/")[2]), *filter(None, before)])
    return False


def committed(memory: Memory, paths: Iterable[str]) -> list[str]:
    """Return those of the documents at `paths` (below `.memory/`) of which HEAD has the text on the disk."""
    head = memory.repository.branch()[1]
    tracked = {memory.tracked(path): path for path in paths if (memory.folder / path).is_file()}
    if not head or not tracked:
        return []
    blobs = trees.blob_ids(memory.repository, head, tracked)
    there = trees.worktree_blob_ids(memory.repository, tracked)
    return [path for name, path in tracked.items() if there[name] == blobs.get(name)]


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
    noted = _noted(memory)
    noted |= {path: [_hash(text or ""), *noted.get(path, ())][:2] for path, text in texts.items()}
    with suppress(OSError):  # the commits of the documents tell, too
        private_files.replace_file(memory.private / _NOTE, msgspec.json.encode(noted))


def _noted(memory: Memory) -> dict[str, list[str]]:
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode((memory.private / _NOTE).read_bytes(), type=dict[str, list[str]])
    return {}


def _hash(document: str) -> str:
    return generated_header.digest(" ".join(_words(document)))


def _words(document: str) -> list[str]:
    header = generated_header.split(document)
    return markdown.words(document if header is None else header.text)
