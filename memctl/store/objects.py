"""A memory as Git has it: in the index or at a revision."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from memctl.journal import history
from memctl.journal.history import Entry
from memctl.model import mentions
from memctl.model.config import Config
from memctl.model.config import parse as parse_config
from memctl.model.kinds import BY_FOLDER
from memctl.model.record import Fault, InvalidRecord, Record, parse
from memctl.model.snapshot import Hit
from memctl.store import files
from memctl.store.cache import Cache, Parsed
from memctl.store.catalogue import StoredCatalogue
from memctl.store.memory import Memory
from memctl.store.place import CONFIG
from memctl.store.repository_files import FilesInGit


def at_revision(memory: Memory, name: str) -> InGit:
    """The memory at a revision; raises MemctlError if there is no such revision."""
    commit = memory.repository.resolve(name)
    return InGit(memory, name, history.tree(memory.repository, commit, memory.prefix), commit)


def from_index(memory: Memory) -> InGit:
    """The memory as it is staged."""
    return InGit(memory, "index", history.index(memory.repository, memory.prefix), "")


class InGit:
    """The files that Git has of a memory as a source; indexes over its records are made when they are first needed."""

    def __init__(self, memory: Memory, name: str, entries: Sequence[Entry], commit: str) -> None:
        self.name = name
        self.prefix = memory.prefix
        self._memory = memory
        self._commit = commit
        self._entries = {entry.path[len(memory.prefix) + 1 :]: entry for entry in entries}
        self._contents: dict[str, bytes | None] = {}

    @cached_property
    def config(self) -> Config:
        """The settings as they were; those of today where there were none."""
        if CONFIG not in self._entries:
            return self._memory.config
        return parse_config(self.read(CONFIG), f"{self._memory.prefix}/{CONFIG}")

    def records(self) -> tuple[list[Record], list[Fault]]:
        records = [item.record for item in self._parsed if item.record is not None]
        return records, [fault for item in self._parsed for fault in item.faults]

    def read(self, path: str) -> str:
        entry = self._entries.get(path)
        if entry is None:
            raise FileNotFoundError(path)
        if not entry.is_regular:
            raise files.not_regular(path)
        if entry.blob not in self._contents:
            self._contents |= history.blobs(self._memory.repository, [entry.blob], files.MAX_BYTES)
        content = self._contents[entry.blob]
        if content is None:
            raise files.too_large(path, files.MAX_BYTES + 1)
        return files.decode(content, path)

    def names(self, folder: str) -> list[str]:
        start = f"{folder}/" if folder else ""
        return sorted(path for path in self._entries if path.startswith(start))

    def match(self, query: str) -> list[Hit]:
        return self._cache.match(query)

    def catalogue(self) -> StoredCatalogue:
        return StoredCatalogue(self._cache)

    def files(self) -> FilesInGit:
        return FilesInGit(self._memory, self._commit)

    @cached_property
    def _parsed(self) -> list[Parsed]:
        paths = sorted(path for path in self._entries if files.is_record_path(path, BY_FOLDER))
        wanted = [entry.blob for path in paths if (entry := self._entries[path]).is_regular]
        self._contents |= history.blobs(self._memory.repository, wanted, files.MAX_BYTES)
        found = []
        for path in paths:
            try:
                found.append(parsed(self.read(path), path))
            except InvalidRecord as error:
                found.append(broken(path, error.faults))
        return found

    @cached_property
    def _cache(self) -> Cache:
        cache = Cache.open(None)
        cache.update(self._parsed, [], ("", ""), ("", ""))
        return cache


def parsed(text: str, path: str, stat: str = "") -> Parsed:
    """What the text of a record file comes to; raises InvalidRecord."""
    record, body = parse(text, path)
    first_line = text.count("\n", 0, len(text) - len(body)) + 1
    found = mentions.in_text(body, first_line)
    if f"\n{mentions.IGNORE}:" in text:
        found.append(mentions.Mention(1, mentions.IGNORE))
    return Parsed(path, stat, record, body, found, [])


def broken(path: str, faults: list[Fault], stat: str = "") -> Parsed:
    """What a file comes to that is no valid record, or none at all."""
    return Parsed(path, stat, None, "", [], faults)
