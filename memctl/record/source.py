"""The protocols of a Snapshot's source: queries about texts, records and files. `store/` implements them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from memctl.record.kinds import KINDS

if TYPE_CHECKING:
    from memctl.record.config import Config
    from memctl.record.errors import Fault
    from memctl.record.mentions import Mention
    from memctl.record.record import Record

PAGE, SESSION, CHECKPOINT = "page", "session", "checkpoint"  # kinds of index entries beside records


class Hit(msgspec.Struct, frozen=True, gc=False):  # without gc: thousands of hits would start the collector repeatedly
    """A text that matches a query: a record, a heading of a page, a section of a session, or a checkpoint.

    `text` is its BM25 score, in which the title counts more: larger is better, never below 0. `kind` is a record's
    type, or "page", "session" or "checkpoint". `key` is the record's id, the page's marker or the session's id;
    `number` is the row in the index. Hits with the same `thread` belong together: headings of a page, sections of a
    session's page, records of one agent and day; "" for none.
    """

    path: str
    text: float
    kind: str = ""
    key: str = ""
    number: int = 0
    thread: str = ""


class Excerpt(msgspec.Struct, frozen=True):
    """A piece of a record's body, on one line.

    `marks` are the places of a query's words: pairs of start and end, in characters, so that text[start:end] is a word.
    """

    text: str
    marks: tuple[tuple[int, int], ...]


class Texts(Protocol):
    """Search in the words of a memory's entries: records, headings of pages, sections of sessions, checkpoints."""

    @property
    def semantic_model(self) -> str:
        """The embedding model that the user has set; "" for none."""

    def remark(self, text: str) -> None:
        """Show a remark to the person who searches, beside the results of the search; a repeated one is shown once."""

    def match(self, query: str, most: int | None = None, kinds: Collection[str] = tuple(KINDS)) -> list[Hit]:
        """Return the entries whose text matches a query, unsorted.

        `kinds` names the kinds of entries to return: record types, "page", "session" or "checkpoint". Without `most`
        all matches are returned. With it worse matches may be left out, but the best `most` are always returned.
        """

    def links(self, numbers: Collection[int]) -> list[tuple[int, str]]:
        """Return the links of some entries: pairs of an entry's number and the linked id or marker.

        `numbers` are those of the entries in the index (`Hit.number`).
        """

    def paths(self, query: str, most: int | None = None) -> list[str]:
        """Return the paths of the files whose entries match a query: one path for each entry, at most `most`.

        The file of a page or of a session's page has several entries, and may occur several times.
        """

    def substitutes(self, query: str) -> dict[str, tuple[str, ...]]:
        """Return the words of a query that no text contains, each with the similar words that are searched instead."""

    def titles(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the titles of some entries by the entries' numbers in the index (`Hit.number`)."""

    def bodies(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the texts, without titles, of some entries by the entries' numbers in the index (`Hit.number`)."""

    def excerpts(self, query: str, numbers: Sequence[int]) -> dict[int, Excerpt]:
        """Return the piece of each entry's body in which words of a query occur, by the entry's number in the index.

        `numbers` are those of the entries. Entries in which none of the words occurs are left out.
        """

    def similar(self, path: str) -> dict[str, float]:
        """Return the paths of records that share significant words with the record at `path`, each with a similarity.

        The similarity is the weight of the shared words as a share of the weight of all words of the record at `path`,
        from 0 to 1.
        """

    def all_texts(self) -> Iterable[tuple[str, str]]:
        """Return pairs of path and text for all records."""

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the cached values for some keys; a key without a value is left out."""

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        """Cache values by key. A key is a digest of everything from which the value was computed."""

    def without(self, paths: Collection[str]) -> Texts:
        """Return a view of these texts that leaves out the records at some paths."""


# A field of a record, a test and a value: ("tags", "has", "api"). Tests are `is`, `in`, `>`, `>=`, `<=`, `below` (the
# section or one below it) and `has` (for lists).
Condition = tuple[str, str, Any]


class Catalogue(Protocol):
    """Queries about records that are answered without reading all of them.

    A `place` is the marker of a page to which records belong: §2.N or §3.N, "" for none.
    """

    def top(self, memory_type: str, place: str | None, limit: int) -> list[Record]:
        """Return up to `limit` open records of a type at a place (None: anywhere), the most important first.

        Of equally important records the newest comes first.
        """

    def blocking(self, limit: int) -> list[Record]:
        """Return up to `limit` open issues of severity critical and high: critical ones first, then the newest."""

    def blocked(self, limit: int) -> list[Record]:
        """Return up to `limit` open tasks whose text has the word "blockers", the most important first."""

    def count(self, memory_type: str, place: str) -> int:
        """Return the number of open records of a type at a place."""

    def statuses(self) -> list[tuple[str, str, str, int]]:
        """Return the number of records for each type, status and severity, such as ("issue", "open", "high", 3).

        For an archived record the status is "archived"; without a severity it is "".
        """

    def shared_ids(self) -> list[str]:
        """Return the ids that several records have, which happens if two clones give out the same id."""

    def places(self) -> dict[str, int]:
        """Return the number of open records at each place, without handoffs."""

    def tags(self) -> list[tuple[str, str, int]]:
        """Return triples of a tag, a place, and the number of open records at this place that have the tag."""

    def select(
        self, conditions: Iterable[Condition], order: str, *, reverse: bool = False, limit: int = 0
    ) -> tuple[list[Record], int]:
        """Return the first `limit` records (0: all) that meet all conditions, and the number of all that meet them.

        `order` is one of `filters.ORDERS`, and `reverse` turns it around. The records' retrieval counts include those
        of this clone.
        """

    def with_id(self, identifier: str) -> list[Record]:
        """Return the records with an id, with the retrieval counts of this clone.

        There are several if two clones gave out the same id.
        """

    def with_alias(self, identifier: str) -> list[Record]:
        """Return the records that had the id `identifier` before they were renumbered."""

    def find(self, identifier: str) -> Record | None:
        """Return the record whose file has a name that begins with the id `identifier`, or None."""

    def at(self, paths: Iterable[str]) -> list[Record]:
        """Return the records at some paths, with this clone's retrieval counts; a path without a record is left out."""

    def with_code_refs(self, files: Iterable[str]) -> list[Record]:
        """Return the records with a code reference to one of some files or folders, or to lines of one."""

    def not_matching(self, conditions: Iterable[Condition], among: Iterable[str]) -> set[str]:
        """Return those of the paths `among` whose records do not meet all conditions."""

    def latest(self, *, with_handoffs: bool = False) -> Record | None:
        """Return the record with the latest timestamp, or None; handoffs count only if `with_handoffs`."""

    def titles(self, memory_type: str) -> list[str]:
        """Return the titles of all records of a type."""

    def recorded_since(self, moment: int) -> int:
        """Return how many records were recorded after a moment in Unix seconds; imported ones are left out."""

    def mentions(self) -> Mapping[str, Sequence[Mention]]:
        """Return the references that the bodies of records have to ids and § markers, by the record's path."""

    def mentioning(self, text: str) -> list[str]:
        """Return the paths of records whose bodies refer to the id or § marker `text`."""

    def heavy(self, weight: int) -> list[str]:
        """Return the paths of records whose text has at least the given weight, which grows with the number of tokens.

        An ASCII character weighs 1. Any other character weighs twice its number of bytes in UTF-8, less 1: 3 to 7.
        """

    def severe(self, place: str) -> list[Record]:
        """Return the open issues of severity critical or high at a place."""

    def suspicious(self) -> list[str]:
        """Return the paths of records whose text contains what looks like a credential."""

    def is_clean(self, key: bytes) -> bool:
        """Return whether the text whose digest is `key` is known to contain no credential."""

    def keep_clean(self, keys: Sequence[bytes]) -> None:
        """Remember that the texts whose digests are `keys` contain no credential."""

    def with_control_characters(self) -> list[str]:
        """Return the paths of records that contain a control character."""

    def faults(self) -> list[Fault]:
        """Return the faults of files that are not valid records."""

    def recall(self, key: bytes) -> bytes | None:
        """Return the cached value of a key; None if there is none, or if a record has changed since."""

    def keep(self, key: bytes, value: bytes) -> None:
        """Cache a value under a key until the next change of a record."""

    def without(self, paths: Collection[str]) -> Catalogue:
        """Return a view of this catalogue that leaves out the records at some paths."""


class Files(Protocol):
    """The repository's own files (level 4), without the memory: tracked ones, and untracked ones not ignored."""

    def names(self) -> frozenset[str]:
        """Return the paths of all files, relative to the worktree's top."""

    def existing(self, paths: Iterable[str]) -> frozenset[str]:
        """Return those of some paths that are files; for few paths this is faster than `names`."""

    def containing(self, texts: Collection[str]) -> frozenset[str]:
        """Return the paths of the files whose path contains one of `texts`; a dot in these also matches a slash.

        In a large repository this is faster than `names`. Untracked files may be left out.
        """

    def blobs(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the blob ids of the files at some paths; a path without a file is left out."""

    def contents(self, paths: Iterable[str], likely: Collection[str] = ()) -> dict[str, str]:
        """Return the blob ids of the files at some paths, including ignored files; missing files are left out.

        For few files this is faster than `blobs`. `likely` are blob ids that some of the files may have; for such a
        file no Git process is needed.
        """

    def stamp(self, paths: Iterable[str]) -> bytes:
        """Return bytes that change as soon as one of the files at some paths, or Git's index, changes.

        The result is b"" if one of these files was written less than 2 s ago, since another change of it might go
        unnoticed.
        """

    def read(self, paths: Iterable[str], limit: int | None = None) -> dict[str, bytes]:
        """Return the bytes of the files at some paths; missing files and those of more than `limit` bytes are left out.

        The default of `limit` is 2 MiB, the largest size of a record's file.
        """


class Source(Protocol):
    """The source of a Snapshot: the disk, the index or a revision."""

    @property
    def name(self) -> str:
        """The name of the source: "disk", "index", or a revision."""

    @property
    def config(self) -> Config:
        """The settings in `config.yaml` as this source has them."""

    @property
    def prefix(self) -> str:
        """The memory's folder, relative to the worktree's top."""

    def records(self, *, only_open: bool = False) -> tuple[Sequence[Record], Sequence[Fault]]:
        """Return all records, or the open ones if `only_open`, sorted by path, and the faults of invalid files."""

    def read(self, path: str) -> str:
        """Return the text of a file below `.memory/`; raises FileNotFoundError, or InvalidRecord if it is not text."""

    def names(self, folder: str) -> list[str]:
        """Return the paths of all files below a folder of the memory ("" for all of it)."""

    def leftovers(self) -> list[str]:
        """Return the paths of temporary files that killed processes left in the memory's folder."""

    def texts(self) -> Texts:
        """Return the object that searches the words of this source's records, pages, sessions and checkpoints."""

    def catalogue(self) -> Catalogue:
        """Return the object that answers queries about the records of this source."""

    def files(self) -> Files:
        """Return the object that reads the repository's own files, as the disk, the index or the revision has them."""
