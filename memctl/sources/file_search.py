"""Find the repository's files that match a query: by their text, their names, and the records that refer to them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Generic, TypeVar

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record.snapshot import Snapshot
from memctl.sources import facts, ignore, task_files
from memctl.sources.facts import Content, Progress
from memctl.sources.score import RELEVANCE, FileKnowledge, task_points
from memctl.store import file_texts, load, source_facts
from memctl.store.cache import Cache
from memctl.store.file_texts import FileMatches
from memctl.store.memory import Memory
from memctl.store.repository_files import FilesInGit, FilesOnDisk
from memctl.text import sensitive_files

_Files = TypeVar("_Files", FilesOnDisk, FilesInGit)


class FileSources(msgspec.Struct, Generic[_Files], frozen=True):
    """The repository's files with their facts, of the worktree or of a revision.

    - `contents` are the files that may be named, by path.
    - `refusals` are files that never enter a model's context, with the reason by path. A file that seems to contain a
      credential is in both: its name may be shown, its text may not.
    - `known` are the facts that `cache` had before the files were read.
    """

    files: _Files
    contents: dict[str, Content]
    refusals: dict[str, str]
    cache: Cache
    known: Mapping[source_facts.Key, bytes]


class FileHit(msgspec.Struct, frozen=True):
    """A file that matches a query, and its score from 0 to 1.

    `reasons` are pairs of points and the reason for them. The score is the sum of these points divided by 50, the most
    that a file can get.
    """

    path: str
    score: float
    reasons: tuple[tuple[float, str], ...]


def read(memory: Memory, snapshot: Snapshot, progress: Progress | None = None) -> FileSources[FilesOnDisk]:
    """Return the files of the worktree with their facts; `progress` is called while files are read.

    Files that the snapshot withholds from its reader are in `refusals`, so that they never enter a model's context.
    """
    files, cache = FilesOnDisk(memory), load.open_cache(memory)
    known = source_facts.recall(cache)
    found = facts.gather(memory.repository.top, files, cache, known, progress)
    ignore_files = ignore.texts(memory.repository.top, found)
    contents, refusals = _without_refused(found, ignore_files, snapshot.withheld.files)
    return FileSources(files, contents, refusals, cache, known)


def read_revision(
    memory: Memory, snapshot: Snapshot, commit: str, progress: Progress | None = None
) -> FileSources[FilesInGit]:
    """Return the files of a revision with their facts; `progress` is called while files are read.

    Raises MemctlError in a partial clone: it may lack files, and memctl fetches nothing.
    """
    if memory.repository.is_partial:
        raise MemctlError("this partial clone may lack files of a revision", "leave out --at", USAGE)
    files, cache = FilesInGit(memory, commit), load.open_cache(memory)
    known = source_facts.recall(cache)
    found = facts.of_revision(files, cache, known, progress)
    ignore_paths = (path for path in found if path.rpartition("/")[2] == ignore.NAME)
    ignore_files = {path: content.decode(errors="replace") for path, content in files.read(ignore_paths).items()}
    contents, refusals = _without_refused(found, ignore_files, snapshot.withheld.files)
    return FileSources(files, contents, refusals, cache, known)


def matches(memory: Memory, sources: FileSources[_Files], query: str, progress: Progress | None = None) -> FileMatches:
    """Return the files in `sources` whose text matches a query, and how well each does.

    `progress` is called while files are read.
    """
    blobs = {path: content.blob for path, content in sources.contents.items() if content.blob}
    secret = [path for path in blobs if path in sources.refusals]
    return file_texts.matches(memory, sources.files, blobs, query, secret=secret, progress=progress)


def mentions(
    snapshot: Snapshot, sources: FileSources[_Files], query: str, now: str, likely: Collection[str]
) -> task_files.Mentions:
    """Return the files that a query is about, because it names them or because the memory connects them with it.

    A file is connected if a record that matches the query refers to it, or a matching section covers it. The result has
    for each file, by path, the strongest of these mentions. `now` is the current time in canonical form. `likely` are
    files that the query is probably about, such as those whose text matches; a word that very many files have counts
    only for these.
    """
    names = frozenset(sources.contents)
    return task_files.strongest(
        task_files.mentions(query, sources.contents, likely), task_files.from_memory(snapshot, query, names, now)
    )


def search(
    memory: Memory, snapshot: Snapshot, query: str, commit: str = "", progress: Progress | None = None
) -> list[FileHit]:
    """Return the files that match a query, the best first; `commit` is "" for the worktree.

    The score counts how well a file's text matches, and how surely the query, a record or a section means the file.
    Recent changes and imports do not count, unlike in `memctl files --task`.
    """
    if commit:
        return _rank(memory, snapshot, read_revision(memory, snapshot, commit, progress), query, progress)
    return _rank(memory, snapshot, read(memory, snapshot, progress), query, progress)


def _rank(
    memory: Memory, snapshot: Snapshot, sources: FileSources[_Files], query: str, progress: Progress | None
) -> list[FileHit]:
    texts = matches(memory, sources, query, progress)
    mentioned = mentions(snapshot, sources, query, memory.now, texts.best)
    hits = []
    for path in texts.shares.keys() | mentioned.keys():
        known = FileKnowledge(
            mention=mentioned.get(path), match=texts.shares.get(path, 0.0), words=tuple(texts.words.get(path, ()))
        )
        reasons = tuple(task_points(known))
        hits.append(FileHit(path, round(sum(points for points, _ in reasons) / RELEVANCE, 3), reasons))
    return sorted(hits, key=lambda hit: (-hit.score, hit.path))


def _without_refused(
    contents: dict[str, Content], ignore_files: Mapping[str, str], closed: Mapping[str, str]
) -> tuple[dict[str, Content], dict[str, str]]:
    """Return the files that may be named, and the reasons by path why files may not enter a model's context.

    `closed` are the files that an owner keeps from this reader, with the reasons.
    """
    refusals = {path: why for path, why in closed.items() if path in contents}
    refusals |= {path: reason for path, content in contents.items() if (reason := content.refusal)}
    refusals |= {path: sensitive_files.SECRET_NAME for path in contents if sensitive_files.has_secret_name(path)}
    readable_paths = [
        path for path in sorted(contents) if path not in refusals or sensitive_files.is_credential(refusals[path])
    ]
    left_out = ignore.ignored_files(readable_paths, ignore_files)
    refusals |= {path: f"{origin} leaves it out" for path, origin in left_out.items()}
    return {path: contents[path] for path in readable_paths if path not in left_out}, refusals
