"""What one reader may not read, and a source from which that is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from memctl.model.config import Config
    from memctl.model.faults import Fault
    from memctl.model.record import Record
    from memctl.model.snapshot import Catalogue, Files, Source, Texts


class Veil(msgspec.Struct, frozen=True):
    """What is kept from a reader, each with why: pages of details by marker, files of the repository by path.

    `paths` are those of the pages, below `.memory/`.
    """

    pages: Mapping[str, str]
    paths: frozenset[str]
    files: Mapping[str, str]


class Veiled:
    """A source without what a veil covers; its records and questions about them are the source's own."""

    def __init__(self, source: Source, veil: Veil) -> None:
        self._source = source
        self._veil = veil
        self.name = source.name
        self.prefix = source.prefix

    @property
    def config(self) -> Config:
        return self._source.config

    def records(self) -> tuple[Sequence[Record], Sequence[Fault]]:
        return self._source.records()

    def read(self, path: str) -> str:
        if path in self._veil.paths:
            raise FileNotFoundError(path)
        return self._source.read(path)

    def names(self, folder: str) -> list[str]:
        return [name for name in self._source.names(folder) if name not in self._veil.paths]

    def texts(self) -> Texts:
        return self._source.texts()

    def catalogue(self) -> Catalogue:
        return self._source.catalogue()

    def files(self) -> Files:
        return _VeiledFiles(self._source.files(), self._veil)


class _VeiledFiles:
    def __init__(self, files: Files, veil: Veil) -> None:
        self._files = files
        self._veil = veil

    def names(self) -> frozenset[str]:
        return self._files.names() - self._veil.files.keys()

    def blobs(self, paths: Iterable[str]) -> dict[str, str]:
        return self._files.blobs(self._open(paths))

    def read(self, paths: Iterable[str], limit: int | None = None) -> dict[str, bytes]:
        return self._files.read(self._open(paths), limit)

    def _open(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if path not in self._veil.files]
