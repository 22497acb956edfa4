"""The interfaces through which a Snapshot reads its texts, records and files; `store/` implements them."""

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
    """A text that matches a query: a record, a heading of a page, a part of a session's page, or a checkpoint.

    - `text` is how well its words match (BM25); larger is better, and words of the title count more.
    - `kind` is a record's type, or "page", "session" or "checkpoint".
    - `key` is the record's id, the marker of the page or heading, the session's id or the checkpoint's id. `number` is
      the row in the search index.
    - Hits with the same `thread` belong together: headings of a page, parts of a session's page, or records of
      one agent and day. It is "" for any other hit.
    """

    path: str
    text: float
    kind: str = ""
    key: str = ""
    number: int = 0
    thread: str = ""


class Excerpt(msgspec.Struct, frozen=True):
    """A piece of a record's body, on one line, with the places of a query's words in it.

    `marks` are pairs of start and end in characters, so that text[start:end] is a word.
    """

    text: str
    marks: tuple[tuple[int, int], ...]


class Texts(Protocol):
    """Search in the words of records, headings of pages, parts of sessions' pages, and checkpoints (the entries)."""

    @property
    def semantic_model(self) -> str:
        """The embedding model for search by meaning, a folder or a package, as the user has set it; "" for none."""

    def remark(self, text: str) -> None:
        """Show a remark on the search, such as a warning, to the person who searches; each is shown only once."""

    def match(self, query: str, most: int | None = None, kinds: Collection[str] = tuple(KINDS)) -> list[Hit]:
        """Return the entries whose text matches a query, unsorted.

        `kinds` names the kinds of entries to return: record types, "page", "session" or "checkpoint". `most` makes the
        search faster: at least the best `most` entries are returned, and others may be left out. None returns all.
        """

    def frequencies(self, words: Iterable[str]) -> dict[str, int]:
        """Return how many texts have each of some words, in any of its forms; under "" how many texts there are."""

    def alike(self, words: Collection[str], most: int) -> list[Hit]:
        """Return the best `most` records that have some of the words, the best first."""

    def links(self, numbers: Collection[int]) -> list[tuple[int, str]]:
        """Return the links of some entries: pairs of an entry's number, and the id or marker that the entry links to.

        `numbers` are the numbers of the entries in the search index (`Hit.number`).
        """

    def threads(self, names: Collection[str], most: int) -> list[list[Hit]]:
        """Return the entries of some threads, each in its order; `text` is 0 in all. Larger threads are left out.

        `names` are the names of the threads (`Hit.thread`), and `most` the number of entries that a thread may have.
        """

    def paths(self, query: str, most: int | None = None) -> list[str]:
        """Return the paths of the files with entries that match a query, at most `most`.

        Each entry gives one path. A page has an entry for each heading, so its path may occur several times.
        """

    def substitutes(self, query: str) -> dict[str, tuple[str, ...]]:
        """Return the words of a query that no text contains, each with the similar words that are searched instead."""

    def titles(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the titles of some entries, by the numbers of the entries in the search index (`Hit.number`)."""

    def bodies(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the texts of some entries, without their titles, by the entries' numbers in the search index."""

    def excerpts(self, query: str, numbers: Sequence[int]) -> dict[int, Excerpt]:
        """Return for each entry a piece of its body with words of a query, by the entry's number in the search index.

        `numbers` are the numbers of the entries. Entries in which none of the words occurs are left out.
        """

    def similar(self, path: str) -> dict[str, float]:
        """Return how similar other records are to the record at `path`, by their paths.

        The similarity, from 0 to 1, says how well the other record matches the most significant words of the record at
        `path`: those that this record has often and others seldom. Records without any of these words are left out.
        """

    def all_texts(self) -> Iterable[tuple[str, str]]:
        """Return pairs of path and text for all records."""

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the values that the cache has for some keys; a key without a value is left out."""

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        """Store values in the cache by key. A key is a hash of everything from which the value was computed."""

    def without(self, paths: Collection[str]) -> Texts:
        """Return an object for the same searches, but without the records at some paths."""


# A field of a record, a test and a value: ("tags", "has", "api"). Tests are `is`, `in`, `>`, `>=`, `<=`, and `has` (for
# lists).
Condition = tuple[str, str, Any]


class Catalogue(Protocol):
    """Queries about records that are answered without reading all the records' files.

    A `place` is the marker of a page to which records belong: §2.N or §3.N, "" for none.
    """

    def top(self, memory_type: str, place: str | None, limit: int, also: Sequence[str] = ()) -> list[Record]:
        """Return up to `limit` open records of a type that name a page, the most important first.

        `place` is the page's marker, None for any page. The records at the paths `also` are among them, whatever they
        name. Of equally important records the newest comes first.
        """

    def blocking(self, limit: int) -> list[Record]:
        """Return up to `limit` open issues of severity critical and high: critical ones first, then the newest."""

    def blocked(self, limit: int) -> list[Record]:
        """Return up to `limit` open states (records) whose body has the word "blockers", the most important first."""

    def count(self, memory_type: str, place: str) -> int:
        """Return the number of open records of a type that name a page; `place` is the page's marker."""

    def statuses(self) -> list[tuple[str, str, str, int]]:
        """Return the number of records of each type, status and severity, in rows such as ("issue", "open", "high", 3).

        For an archived record the status is "archived"; without a severity it is "".
        """

    def shared_ids(self) -> list[str]:
        """Return the ids that several records have, which happens if two clones give out the same id."""

    def places(self) -> dict[str, int]:
        """Return the number of open records that name each page, by its marker, "" for none; handoffs don't count."""

    def tags(self) -> list[tuple[str, str, int]]:
        """Return how many open records have each tag, for each page to which they belong.

        Each row has the tag, the page's marker ("" for none), and the number of records.
        """

    def select(
        self, conditions: Iterable[Condition], order: str, *, reverse: bool = False, limit: int = 0
    ) -> tuple[list[Record], int]:
        """Return the first `limit` records that meet all conditions, and how many records meet them in total.

        A `limit` of 0 returns all. `order` is one of the names in `filters.ORDERS`, such as "date", and `reverse` turns
        it around. Each record's `access_count` includes retrievals in this clone that its file does not have yet.
        """

    def with_id(self, identifier: str) -> list[Record]:
        """Return the records with an id; there are several if two clones gave out the same id.

        Each record's `access_count` includes retrievals in this clone that its file does not have yet.
        """

    def with_alias(self, identifier: str) -> list[Record]:
        """Return the records that had the id `identifier` formerly, before they got another one."""

    def find(self, identifier: str) -> Record | None:
        """Return the record whose file name begins with the id `identifier`, None if there is none."""

    def at(self, paths: Iterable[str]) -> list[Record]:
        """Return the records at some paths; a path without a record is left out.

        Each record's `access_count` includes retrievals in this clone that its file does not have yet.
        """

    def last_session(self, file: str) -> tuple[str, str, str] | None:
        """Return the path of the page of the last session that changed a file, when it ended, and what it was asked."""

    def with_code_refs(self, files: Iterable[str]) -> list[Record]:
        """Return the records whose code references name one of some files or folders, or lines of such a file."""

    def naming(self, bases: Iterable[str]) -> list[tuple[str, str]]:
        """Return what records have in their texts that may name a file, each with the record's path.

        `bases` are the last parts of the names, such as "card.py". `text.named_files` says which file a name means.
        """

    def unplaced(self) -> list[tuple[str, str, str]]:
        """Return the path and type of each open record that names no section, with a file or folder it refers to.

        A record that refers to several is there as often.
        """

    def unplaced_code(self) -> list[str]:
        """Return the files and folders to which the records that name no section refer."""

    def in_sections(self, markers: Sequence[str], code: Sequence[str]) -> frozenset[str]:
        """Return the paths of the records that name one of some markers, or a marker below one.

        Of the records that name no section, those are returned that refer to one of the files and folders `code`.
        """

    def not_matching(self, conditions: Iterable[Condition], among: Iterable[str]) -> set[str]:
        """Return which of the paths `among` are those of records that do not meet all conditions."""

    def latest(self, *, with_handoffs: bool = False) -> Record | None:
        """Return the record with the latest timestamp, None if there is none.

        Handoffs count only if `with_handoffs` is True.
        """

    def titles(self, memory_type: str, *, only_open: bool = False) -> list[str]:
        """Return the titles of all records of a type, or of those that are open."""

    def rejecting(self, words: Iterable[str], most: int) -> list[Record]:
        """Return the decisions that rejected what has one of some words; a word of more than `most` counts for none.

        That are decisions with such an alternative, and those with such a title that are rejected or superseded. A word
        may be the beginning of one, in lower case.
        """

    def recorded_since(self, moment: int) -> int:
        """Return how many records were made after a moment, which is in Unix seconds; imported records don't count."""

    def mentions(self) -> Mapping[str, Sequence[Mention]]:
        """Return the ids and § markers to which the bodies of records refer, by the record's path."""

    def mentioning(self, text: str) -> list[str]:
        """Return the paths of records whose bodies refer to the id or § marker `text`."""

    def heavy(self, weight: int) -> list[str]:
        """Return the paths of records with texts so long that `memctl check` counts their tokens.

        A text is so long if its weight is at least `weight`. An ASCII character weighs 1; any other character weighs 3
        to 7, as it has more tokens.
        """

    def severe(self, place: str) -> list[Record]:
        """Return the open issues of severity critical or high that belong to a page; `place` is the page's marker."""

    def suspicious(self) -> list[str]:
        """Return the paths of records whose text contains what looks like a credential."""

    def is_clean(self, key: bytes) -> bool:
        """Return whether the text whose hash is `key` is known to contain no credential."""

    def keep_clean(self, keys: Sequence[bytes]) -> None:
        """Remember that the texts whose hashes are `keys` contain no credential."""

    def with_hidden_characters(self) -> list[str]:
        """Return the paths of records that contain a control character."""

    def faults(self) -> list[Fault]:
        """Return the faults of files that are not valid records."""

    def recall(self, key: bytes) -> bytes | None:
        """Return the value that the cache has for a key, None if it has none.

        A value is stored until the next change of a record.
        """

    def keep(self, key: bytes, value: bytes) -> None:
        """Store a value in the cache under a key, until the next change of a record."""

    def without(self, paths: Collection[str]) -> Catalogue:
        """Return an object for the same queries, but without the records at some paths."""


class Files(Protocol):
    """The repository's own files (level 4), without the memory: tracked ones, and others that Git does not ignore."""

    def names(self) -> frozenset[str]:
        """Return the paths of all files, relative to the worktree's top."""

    def existing(self, paths: Iterable[str]) -> frozenset[str]:
        """Return which of some paths are those of files; for few paths this is faster than `names`."""

    def containing(self, texts: Collection[str]) -> frozenset[str]:
        """Return the files whose path has one of `texts` in it, such as "pay" or "shop.pay", and perhaps others.

        Only the paths are searched, not the contents. A dot in a text also stands for a slash, as in the name of a
        module. Untracked files may be left out. In a large repository this is faster than `names`.
        """

    def blobs(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the blob ids of the files at some paths; a path without a file is left out."""

    def contents(self, paths: Iterable[str], likely: Collection[str] = ()) -> dict[str, str]:
        """Return the blob ids of the files at some paths, including ignored files; missing files are left out.

        For few files this is faster than `blobs`. `likely` are blob ids that some of the files may have. If a file has
        one of these, no Git process is needed for it.
        """

    def stamp(self, paths: Iterable[str]) -> bytes:
        """Return bytes that change as soon as Git's index, or one of the files at some paths, changes.

        The result is b"" if one of these files was written less than 2 s ago, since another change might then go
        unnoticed.
        """

    def read(self, paths: Iterable[str], limit: int | None = None) -> dict[str, bytes]:
        """Return the bytes of the files at some paths; missing files and those of more than `limit` bytes are left out.

        The default of `limit` is 2 MiB, the largest size of a record's file.
        """


class Source(Protocol):
    """What a Snapshot reads from: the memory on the disk, in the index or at a revision."""

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

    def last_id(self) -> str:
        """Return the id of the last record that was recorded in this worktree; "" if there is none."""

    def texts(self) -> Texts:
        """Return the object that searches the words of this source's records, pages, sessions and checkpoints."""

    def catalogue(self) -> Catalogue:
        """Return the object that answers queries about the records of this source."""

    def files(self) -> Files:
        """Return the object that reads the repository's own files, as the disk, the index or the revision has them."""
