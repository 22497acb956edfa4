"""Filter a Snapshot to what an agent may read (rules.md#ownership-and-access).

Everybody may read the project's page and the sections (levels 1 and 2). The owner of a section may name its readers.
Then only these and the owner may read the section's pages of details with their records (level 3), and the files that
the section covers (level 4). The filter guides agents that use memctl; it does not protect the files on the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property

from memctl.pages.links import FOLDER, SOURCES, document_of
from memctl.record.config import Config
from memctl.record.errors import Fault
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.restrictions import Withheld
from memctl.record.snapshot import Snapshot
from memctl.record.source import Catalogue, Files, Texts

# From the markers of some sections, innermost first, to the reason why the reader may not read them, "" if it may. The
# reason begins with a verb: "may be read by ada only; …".
Closed = Callable[[tuple[str, ...]], str]


def without_closed(snapshot: Snapshot, closed: Closed, others: Iterable[Snapshot] = ()) -> Snapshot:
    """Return a Snapshot without the pages, records and files that the reader may not read.

    `closed` is a function that says whether the reader may read a page. Its argument has the page's marker and, for a
    page of details, the marker of its section, such as ("§3.1", "§2.1"). It returns the reason why the reader may not
    read the page, or "" if the reader may.

    `others` are other versions of this memory, such as that of a remote. What the reader may not read according to one
    of them is left out as well.
    """
    outlines = [view.outline for view in (snapshot, *others)]
    details: dict[str, Page] = {}
    pages: dict[str, str] = {}
    globs: list[tuple[tuple[str, ...], str]] = []
    for outline in outlines:
        for page in outline.details:
            if why := closed((page.id, *((page.section,) if page.section else ()))):
                pages[page.id], details[page.path] = f"{page.id} {why}", page
        for page in outline.sections:
            if page.paths and (why := closed((page.id,))):
                globs.append((tuple(page.paths), f"{{}} {why}"))
    files = Withheld(globs=tuple(globs)).reasons_for(snapshot.files.names() if globs else ())
    records = {record.path: pages[record.place] for record in snapshot.records if record.place in pages}
    documents = [f"{FOLDER}/{document_of(page)}" for page in details.values()]
    paths = frozenset([*details, *documents, *([f"{FOLDER}/{SOURCES}"] if files else [])])
    withheld = Withheld(pages, records, files, paths, tuple(globs))
    return Snapshot(_FilteredSource(snapshot, withheld), withheld)


class _FilteredSource:
    """A Snapshot's source without the pages, records and files that are withheld from the reader."""

    def __init__(self, snapshot: Snapshot, withheld: Withheld) -> None:
        self._snapshot = snapshot
        self._withheld = withheld
        self.name = snapshot.source
        self.prefix, self.last_id = snapshot.prefix, snapshot.last_id

    @property
    def config(self) -> Config:
        return self._snapshot.config

    def records(self, *, only_open: bool = False) -> tuple[Sequence[Record], Sequence[Fault]]:
        records = self._snapshot.open_records if only_open else self._snapshot.records
        readable = [record for record in records if record.path not in self._withheld.records]
        return readable, () if only_open else self._snapshot.faults

    def read(self, path: str) -> str:
        if path in self._withheld.paths or path in self._withheld.records:
            raise FileNotFoundError(path)
        return self._snapshot.read(path)

    def names(self, folder: str) -> list[str]:
        gone = self._withheld.paths | self._withheld.records.keys()
        return [name for name in self._snapshot.names(folder) if name not in gone]

    def leftovers(self) -> list[str]:
        return self._snapshot.leftovers()

    def texts(self) -> Texts:
        return self._snapshot.texts.without({*self._withheld.records, *self._withheld.paths})

    def catalogue(self) -> Catalogue:
        return self._snapshot.catalogue.without(self._withheld.records)

    def files(self) -> Files:
        return _FilteredFiles(self._snapshot.files, self._withheld)


class _FilteredFiles:
    def __init__(self, files: Files, withheld: Withheld) -> None:
        self._files = files
        self._withheld = withheld.files

    def names(self) -> frozenset[str]:
        return self._names

    @cached_property
    def _names(self) -> frozenset[str]:
        return self._files.names().difference(self._withheld)

    def existing(self, paths: Iterable[str]) -> frozenset[str]:
        return self._files.existing(self._visible(paths))

    def containing(self, texts: Collection[str]) -> frozenset[str]:
        return self._files.containing(texts).difference(self._withheld)

    def blobs(self, paths: Iterable[str]) -> dict[str, str]:
        return self._files.blobs(self._visible(paths))

    def contents(self, paths: Iterable[str], likely: Collection[str] = ()) -> dict[str, str]:
        return self._files.contents(self._visible(paths), likely)

    def stamp(self, paths: Iterable[str]) -> bytes:
        return self._files.stamp(self._visible(paths))

    def read(self, paths: Iterable[str], limit: int | None = None) -> dict[str, bytes]:
        return self._files.read(self._visible(paths), limit)

    def _visible(self, paths: Iterable[str]) -> list[str]:
        return [path for path in paths if path not in self._withheld]
