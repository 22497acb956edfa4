"""What one reader may not read, and a source from which that is left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from memctl.record.config import Config
    from memctl.record.errors import Fault
    from memctl.record.mentions import Mention
    from memctl.record.record import Record
    from memctl.record.snapshot import Catalogue, Excerpt, Files, Hit, Source, Texts


class Veil(msgspec.Struct, frozen=True):
    """What is kept from a reader, each with why.

    `pages` are those of details, by marker, and `records` those placed in them, by path; `files` are the repository's,
    by path. `paths` are files below `.memory/` that say what stands in any of these. `globs` cover files that are kept
    from the reader whether they are there or not, each with the section and why.
    """

    pages: Mapping[str, str] = {}
    records: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    paths: frozenset[str] = frozenset()
    globs: tuple[tuple[tuple[str, ...], str], ...] = ()


class Veiled:
    """A source without what a veil covers."""

    def __init__(self, source: Source, veil: Veil) -> None:
        self._source = source
        self._veil = veil
        self.name = source.name
        self.prefix = source.prefix

    @property
    def config(self) -> Config:
        return self._source.config

    def records(self, *, only_open: bool = False) -> tuple[Sequence[Record], Sequence[Fault]]:
        records, faults = self._source.records(only_open=only_open)
        return [record for record in records if record.path not in self._veil.records], faults

    def read(self, path: str) -> str:
        if path in self._veil.paths or path in self._veil.records:
            raise FileNotFoundError(path)
        return self._source.read(path)

    def names(self, folder: str) -> list[str]:
        closed = self._veil.paths
        return [name for name in self._source.names(folder) if name not in closed and name not in self._veil.records]

    def texts(self) -> Texts:
        texts = self._source.texts()
        return _VeiledTexts(texts, self._veil.records) if self._veil.records else texts

    def catalogue(self) -> Catalogue:
        return _VeiledCatalogue(self._source, self._veil) if self._veil.records else self._source.catalogue()

    def files(self) -> Files:
        return _VeiledFiles(self._source.files(), self._veil.files)


class _VeiledTexts:
    """Words of the records that are read; that a word occurs at all may be due to another."""

    def __init__(self, texts: Texts, closed: Collection[str]) -> None:
        self._closed = closed
        self._texts = texts
        self.instead = texts.instead
        self.recall = texts.recall
        self.keep = texts.keep
        self.remark = texts.remark

    @property
    def semantic_model(self) -> str:
        return self._texts.semantic_model

    def match(self, query: str, most: int | None = None) -> list[Hit]:
        return [hit for hit in self._texts.match(query) if hit.path not in self._closed]

    def excerpts(self, query: str, paths: Sequence[str]) -> dict[str, Excerpt]:
        return self._texts.excerpts(query, [path for path in paths if path not in self._closed])

    def alike(self, path: str) -> dict[str, float]:
        return {other: share for other, share in self._texts.alike(path).items() if other not in self._closed}

    def everything(self) -> Iterable[tuple[str, str]]:
        return ((path, text) for path, text in self._texts.everything() if path not in self._closed)


class _VeiledCatalogue:
    """Questions about the records that are read."""

    def __init__(self, source: Source, veil: Veil) -> None:
        self._source = source
        self._catalogue = source.catalogue()
        self._closed = veil.records
        self._pages = veil.pages
        self.faults = self._catalogue.faults
        self.recall = self._catalogue.recall
        self.keep = self._catalogue.keep

    def top(self, memory_type: str, place: str | None, limit: int) -> list[Record]:
        return self._open(self._catalogue.top(memory_type, place, limit + len(self._closed)))[:limit]

    def blocking(self, limit: int) -> list[Record]:
        return self._open(self._catalogue.blocking(limit + len(self._closed)))[:limit]

    def count(self, memory_type: str, place: str) -> int:
        return 0 if place in self._pages else self._catalogue.count(memory_type, place)

    def places(self) -> dict[str, int]:
        return {place: number for place, number in self._catalogue.places().items() if place not in self._pages}

    def tags(self) -> list[tuple[str, str, int]]:
        return [row for row in self._catalogue.tags() if row[1] not in self._pages]

    def find(self, identifier: str) -> Record | None:
        found = self._catalogue.find(identifier)
        return None if found is None or found.path in self._closed else found

    def latest(self, *, with_handoffs: bool = False) -> Record | None:
        found = self._catalogue.latest(with_handoffs=with_handoffs)
        if found is None or found.path not in self._closed:
            return found
        return max(self._open(self._source.records()[0]), key=lambda one: (one.timestamp, one.path), default=None)

    def titles(self, memory_type: str) -> list[str]:
        return [one.title for one in self._open(self._source.records()[0]) if one.memory_type == memory_type]

    def recorded(self) -> list[int]:
        return sorted(one.recorded for one in self._open(self._source.records()[0]) if one.recorded is not None)

    def mentions(self) -> Mapping[str, Sequence[Mention]]:
        return {path: said for path, said in self._catalogue.mentions().items() if path not in self._closed}

    def heavy(self, weight: int) -> list[str]:
        return [path for path in self._catalogue.heavy(weight) if path not in self._closed]

    def severe(self, place: str) -> list[Record]:
        return self._open(self._catalogue.severe(place))

    def suspicious(self) -> list[str]:
        return [path for path in self._catalogue.suspicious() if path not in self._closed]

    def is_clean(self, key: bytes) -> bool:
        return self._catalogue.is_clean(key)

    def keep_clean(self, keys: Sequence[bytes]) -> None:
        self._catalogue.keep_clean(keys)

    def with_controls(self) -> list[str]:
        return [path for path in self._catalogue.with_controls() if path not in self._closed]

    def _open(self, found: Iterable[Record]) -> list[Record]:
        return [record for record in found if record.path not in self._closed]


class _VeiledFiles:
    def __init__(self, files: Files, closed: Mapping[str, str]) -> None:
        self._files = files
        self._closed = closed

    def names(self) -> frozenset[str]:
        return self._files.names() - self._closed.keys()

    def blobs(self, paths: Iterable[str]) -> dict[str, str]:
        return self._files.blobs(self._open(paths))

    def contents(self, paths: Iterable[str]) -> dict[str, str]:
        return self._files.contents(self._open(paths))

    def read(self, paths: Iterable[str], limit: int | None = None) -> dict[str, bytes]:
        return self._files.read(self._open(paths), limit)

    def _open(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if path not in self._closed]
