"""Find the repository's files that match a query: by their text, their names, and the records that refer to them."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from memctl.record.snapshot import Snapshot
from memctl.sources import file_list_update, task_files
from memctl.sources.facts import Progress
from memctl.sources.file_list_update import FileSources
from memctl.sources.score import RELEVANCE, FileKnowledge, task_points
from memctl.store import file_texts
from memctl.store.file_list import with_index
from memctl.store.memory import Memory
from memctl.store.repository_files import FilesOnDisk
from memctl.store.search_index import SearchIndex


class FileHit(msgspec.Struct, frozen=True):
    """A file that matches a query, and its score from 0 to 1.

    `reasons` are pairs of points and the reason for them. The score is the sum of these points divided by 50, the most
    that a file can get.
    """

    path: str
    score: float
    reasons: tuple[tuple[float, str], ...]


def mentions(
    snapshot: Snapshot, sources: FileSources, query: str, now: str, likely: Collection[str], most: int = -1
) -> task_files.Mentions:
    """Return the files that a query is about, because it names them or because the memory connects them with it.

    A file is connected if a record that matches the query refers to it, or a matching section covers it. The result has
    for each file, by path, the strongest of these mentions. `now` is the current time in canonical form. `likely` are
    files that the query is probably about, such as those whose text matches; a word that very many files have counts
    only for these. Of the files that only a section covers, `most` are returned beside the others; -1 stands for all.
    """
    found = task_files.mentions(query, sources.contents, likely)
    wanted = {*found, *likely}
    return task_files.strongest(found, task_files.from_memory(snapshot, query, sources.contents, now, wanted, most))


def search(
    memory: Memory, snapshot: Snapshot, query: str, commit: str = "", progress: Progress | None = None
) -> list[FileHit]:
    """Return the files that match a query, the best first; `commit` is "" for the worktree.

    The score counts how well a file's text matches, and how surely the query, a record or a section means the file.
    Recent changes and imports do not count, unlike in `memctl files --task`.
    """

    def answer(index: SearchIndex) -> list[FileHit]:
        if commit:
            sources = file_list_update.of_revision(memory, snapshot, commit, index, progress)
        else:
            sources = file_list_update.of_worktree(memory, snapshot, FilesOnDisk(memory), index, progress)
        return _rank(snapshot, sources, query, memory.now)

    return with_index(memory, answer)


def _rank(snapshot: Snapshot, sources: FileSources, query: str, now: str) -> list[FileHit]:
    texts = file_texts.matches(sources.contents, query)
    mentioned = mentions(snapshot, sources, query, now, texts.shares)
    hits = []
    for path in texts.shares.keys() | mentioned.keys():
        known = FileKnowledge(
            mention=mentioned.get(path), match=texts.shares.get(path, 0.0), words=tuple(texts.words.get(path, ()))
        )
        reasons = tuple(task_points(known))
        hits.append(FileHit(path, round(sum(points for points, _ in reasons) / RELEVANCE, 3), reasons))
    return sorted(hits, key=lambda hit: (-hit.score, hit.path))
