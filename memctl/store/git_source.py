"""Memories that differ from the one on the disk: in Git's index, at a revision, or with other texts of some files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from memctl.git import history, index, trees
from memctl.record.config import Config
from memctl.record.config import parse as parse_config
from memctl.record.errors import Fault, InvalidRecord
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store import cache_update, files
from memctl.store.cache import Cache
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG
from memctl.store.repository_files import FilesInGit, FilesOnDisk

if TYPE_CHECKING:
    from memctl.store.catalogue import StoredCatalogue
    from memctl.store.search_views import SearchSource
    from memctl.store.text_search import StoredTexts

Known = tuple[Cache, set[str]]  # a cache, and the paths whose files are different in the memory


def at_revision(memory: Memory, name: str) -> InGit:
    """Return the memory at a revision; raises MemctlError if there is no such revision."""
    return at(memory, name, memory.repository.resolve(name), empty_cache)


def at(memory: Memory, name: str, commit: str, known: Callable[[], Known]) -> InGit:
    """Return the memory in the commit or tree with the id `commit`; error messages call it `name`.

    `known` returns a pair: a cache, and the paths of the files whose content in this memory differs from the cache's.
    Only these files, and those that the cache lacks, are read from Git.
    """
    return InGit(memory, name, trees.entries(memory.repository, commit, memory.prefix), commit, known)


def newest_with(memory: Memory, paths: Sequence[str]) -> Snapshot | None:
    """Return the memory as of the newest commit, on any ref, that touched one of `paths`; None if no commit did.

    `paths` are relative to the worktree's top.
    """
    commits = history.commits(memory.repository, paths, "--all", 1) if paths else []
    return Snapshot(at_revision(memory, commits[0].commit)) if commits else None


def from_index(memory: Memory, known: Callable[[], Known]) -> InGit:
    """Return the memory that is staged in Git's index.

    `known` returns a pair: a cache, and the paths of the files whose staged content differs from the cache's. Only
    these files, and those that the cache lacks, are read from Git.
    """
    return InGit(memory, "index", index.entries(memory.repository, memory.prefix), "", known)


def empty_cache() -> Known:
    """Return an empty cache and an empty set of paths: with these all files of a memory are read from Git.

    Callers give this function itself as the argument `known` of `at` and `from_index`.
    """
    return Cache.open(None), set()


def index_texts(memory: Memory, paths: Sequence[str]) -> dict[str, str]:
    """Return the texts that some files have in Git's index, by path below `.memory/`; too large files are left out."""
    if not paths:
        return {}
    blobs = {entry.path: entry.blob for entry in index.entries(memory.repository, memory.prefix)}
    wanted = {path: blob for path in paths if (blob := blobs.get(memory.tracked(path)))}
    places = {blob: memory.tracked(path) for path, blob in wanted.items()}
    contents = trees.blobs(memory.repository, wanted.values(), files.MAX_BYTES, places)
    raw = {path: contents[blob] for path, blob in wanted.items()}
    return {path: text.decode(errors="replace") for path, text in raw.items() if text is not None}


class InGit:
    """The files of a memory in Git's index or at a revision, from which a Snapshot reads.

    `known` returns a pair: a cache, and the paths of the files whose content here differs from the cache's. Records
    that the cache does not have are read from Git when they are needed. `record.source.Source` describes the methods.
    """

    def __init__(
        self, memory: Memory, name: str, entries: Sequence[trees.TreeEntry], commit: str, known: Callable[[], Known]
    ) -> None:
        self.name = name
        self.prefix = memory.prefix
        self._memory = memory
        self._commit = commit
        self._known = known
        self._entries = {entry.path[len(memory.prefix) + 1 :]: entry for entry in entries}
        self._contents: dict[str, bytes | None] = {}

    @cached_property
    def config(self) -> Config:
        """The settings in the config.yaml of this index or revision; those of the worktree if it has no config.yaml."""
        if CONFIG not in self._entries:
            return self._memory.config
        return parse_config(self.read(CONFIG), f"{self._memory.prefix}/{CONFIG}")

    def records(self, *, only_open: bool = False) -> tuple[list[Record], list[Fault]]:
        return self._cache.view(only_open=only_open)[1]

    def read(self, path: str) -> str:
        entry = self._entries.get(path)
        if entry is None:
            raise FileNotFoundError(path)
        if not entry.is_regular:
            raise files.not_regular(path)
        if entry.blob not in self._contents:
            folder, slash, _ = path.partition("/")  # the other files of the folder are mostly read next
            self._fetch(self.names(folder) if slash else [name for name in self._entries if "/" not in name])
        content = self._contents[entry.blob]
        if content is None:
            raise files.too_large(path, files.MAX_BYTES + 1)
        return files.decode(content, path)

    def names(self, folder: str) -> list[str]:
        start = f"{folder}/" if folder else ""
        return sorted(path for path in self._entries if path.startswith(start))

    def leftovers(self) -> list[str]:
        return []

    def last_id(self) -> str:
        return self._memory.last_id

    def texts(self) -> StoredTexts:
        from memctl.store.text_search import StoredTexts

        return StoredTexts(self._memory, self.searched())

    def searched(self) -> SearchSource:
        """Return which files a search in this memory covers, and how to read them."""
        from memctl.store import search_views

        if self._commit:
            name, token = search_views.of_revision(self._memory, self._commit), self._commit
        else:
            name, token = search_views.of_index(self._memory), self._digest()
        return search_views.SearchSource(name, token, self._cache, lambda path, blob: self.read(path))

    def blobs(self) -> dict[str, str]:
        """Return the blob ids of all records, pages, sessions' pages and checkpoints, by path."""
        return {path: entry.blob for path, entry in self._entries.items() if files.is_cached_path(path)}

    def _digest(self) -> str:
        from hashlib import blake2b

        return blake2b(repr(sorted(self.blobs().items())).encode(), digest_size=16).hexdigest()

    def catalogue(self) -> StoredCatalogue:
        from memctl.store.catalogue import StoredCatalogue

        return StoredCatalogue(self._cache)

    def files(self) -> FilesInGit:
        return FilesInGit(self._memory, self._commit)

    @cached_property
    def _cache(self) -> Cache:
        cache, differing = self._known()
        cached = cache.paths()
        paths = set(filter(files.is_cached_path, self._entries))
        stale = sorted((paths & differing) | (paths - cached))
        if stale or cached - paths:
            cache = cache.copy()
            self._fetch(stale)
            head = cache.state().head
            parsed = [_parse(path, self.read, self._entries[path].blob) for path in stale]
            cache_update.update(cache, parsed, cached - paths, head, head)
        return cache

    def _fetch(self, paths: Sequence[str]) -> None:
        """To read some files at once is faster than one by one."""
        entries = [self._entries[path] for path in paths]
        wanted = {entry.blob: entry.path for entry in entries if entry.is_regular and entry.blob not in self._contents}
        self._contents |= trees.blobs(self._memory.repository, wanted, files.MAX_BYTES, wanted)


class _Worktree(Protocol):
    name: str
    prefix: str

    @property
    def config(self) -> Config: ...

    def read(self, path: str, /) -> str: ...

    def names(self, folder: str) -> list[str]: ...

    def leftovers(self) -> list[str]: ...

    def last_id(self) -> str: ...

    def files(self) -> FilesOnDisk: ...

    def searched(self) -> SearchSource: ...

    def current_cache(self) -> Cache: ...


class Overlay:
    """The files of a worktree, some of them with other texts than on the disk, from which a Snapshot reads.

    `texts` maps paths below `.memory/` to these texts; None removes a file. Searches do not see the texts: they find
    what is on the disk. `record.source.Source` describes the methods.
    """

    def __init__(self, source: _Worktree, texts: Mapping[str, str | None]) -> None:
        self.name, self.prefix = source.name, source.prefix
        self.leftovers, self.files, self.searched = source.leftovers, source.files, source.searched
        self.last_id = source.last_id
        self._source, self._texts = source, texts

    @cached_property
    def config(self) -> Config:
        text = self._texts.get(CONFIG)
        return self._source.config if text is None else parse_config(text, f"{self.prefix}/{CONFIG}")

    def read(self, path: str) -> str:
        if path not in self._texts:
            return self._source.read(path)
        text = self._texts[path]
        if text is None:
            raise FileNotFoundError(path)
        return text

    def names(self, folder: str) -> list[str]:
        start = f"{folder}/" if folder else ""
        paths = {path for path, text in self._texts.items() if text is not None and path.startswith(start)}
        return sorted(paths.union(self._source.names(folder)) - {p for p, text in self._texts.items() if text is None})

    def records(self, *, only_open: bool = False) -> tuple[list[Record], list[Fault]]:
        return self._cache.view(only_open=only_open)[1]

    def catalogue(self) -> StoredCatalogue:
        from memctl.store.catalogue import StoredCatalogue

        return StoredCatalogue(self._cache)

    @cached_property
    def _cache(self) -> Cache:
        cache = self._source.current_cache().copy()
        paths = set(filter(files.is_cached_path, self._texts))
        gone = {path for path in paths if self._texts[path] is None}
        head = cache.state().head
        cache_update.update(cache, [_parse(path, self.read, "") for path in sorted(paths - gone)], gone, head, head)
        return cache


def _parse(path: str, read: Callable[[str], str], blob: str) -> cache_update.ParsedFile:
    try:
        return cache_update.parse_file(read(path), path, "", blob)
    except InvalidRecord as error:
        return cache_update.invalid_file(path, error.faults)
