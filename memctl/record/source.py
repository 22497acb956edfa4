"""The protocols by which a Snapshot reads its source: questions about records, texts and files, and their answers."""

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

PAGE, SESSION, CHECKPOINT = "page", "session", "checkpoint"  # what is searched beside records


class Hit(msgspec.Struct, frozen=True, gc=False):  # gc: thousands of them would set the collector off again and again
    """How well a text answers a query: BM25 of it, with its title counting more; larger is better, never negative.

    `kind` is a record's type, or "page", "session" or "checkpoint"; `key` is the id, marker or session that it is
    called by, and `number` its entry in the index. Texts of one `thread` belong together: parts of a page, sections of
    a session's page, records of one agent and day; "" for a text by itself.
    """

    path: str
    text: float
    kind: str = ""
    key: str = ""
    number: int = 0
    thread: str = ""


class Excerpt(msgspec.Struct, frozen=True):
    """A piece of a record's body, on one line, and where in it the words of a query stand: from, to (characters)."""

    text: str
    marks: tuple[tuple[int, int], ...]


class Texts(Protocol):
    """Questions about the words of records."""

    @property
    def semantic_model(self) -> str:
        """The model that the user has set for similarity of meaning; "" for none."""

    def remark(self, text: str) -> None:
        """Show the caller a remark beside the answer, once."""

    def match(self, query: str, most: int | None = None, kinds: Collection[str] = tuple(KINDS)) -> list[Hit]:
        """Return the entries of some kinds whose text matches a query, in no order.

        With `most` some may be missing, but none of that many best matches.
        """

    def links(self, numbers: Collection[int]) -> list[tuple[int, str]]:
        """Return what entries are linked with: pairs of an entry's number and the key of a record or of its page."""

    def paths(self, query: str, most: int | None = None) -> list[str]:
        """Return the path of each entry that matches a query, at most `most`; each heading of a page and section
        of a session is an entry."""

    def instead(self, query: str) -> dict[str, tuple[str, ...]]:
        """Return the words of a query that occur nowhere, each with the words searched in its place."""

    def titles(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the titles of some entries, by their numbers."""

    def bodies(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return the texts of some entries below their titles, by their numbers."""

    def excerpts(self, query: str, numbers: Sequence[int]) -> dict[int, Excerpt]:
        """Return where in the bodies of some entries the words of a query stand; an entry without any is left out."""

    def alike(self, path: str) -> dict[str, float]:
        """Return the records that share significant words with one of them: the weight of those, as a share of all its
        words."""

    def everything(self) -> Iterable[tuple[str, str]]:
        """Return the text of each record by its path."""

    def recall(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return cached values by keys that are digests of their input."""

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        """Cache a value that takes long to compute, under a digest of its input."""

    def without(self, paths: Collection[str]) -> Texts:
        """Return the same without the records at some paths."""


# A field of a record, a test and what it is tested against: ("tags", "has", "api"). Tests are `is`, `in`, `>`, `>=`,
# `<=`, `below` (a section, or below it) and `has` (of a list).
Condition = tuple[str, str, Any]


class Catalogue(Protocol):
    """Questions about the records that are answered without reading all of them.

    A `place` is the page that records belong to: §2.N or §3.N, "" for none.
    """

    def top(self, memory_type: str, place: str | None, limit: int) -> list[Record]:
        """Return the open records of a type, at a place or anywhere, most important first, then newest."""

    def blocking(self, limit: int) -> list[Record]:
        """Return the open issues of severity critical and high, the critical first, then newest."""

    def count(self, memory_type: str, place: str) -> int:
        """Return how many open records of a type there are at a place."""

    def statuses(self) -> list[tuple[str, str, str, int]]:
        """Return how many records of a type have a status and a severity: ("issue", "open", "high", 3).

        The status of an archived record is "archived" here; a record without severity has "".
        """

    def shared_ids(self) -> list[str]:
        """Return the ids that several records have, which happens if two clones give out the same one."""

    def places(self) -> dict[str, int]:
        """Return how many open records there are at each place, handoffs aside."""

    def tags(self) -> list[tuple[str, str, int]]:
        """Return how many open records have a tag at a place, for each tag and place."""

    def select(
        self, conditions: Iterable[Condition], order: str, *, reverse: bool = False, limit: int = 0
    ) -> tuple[list[Record], int]:
        """Return the first `limit` records (0: all) that meet all conditions, in one of the orders of `filters`,
        with the retrievals of this clone; and how many meet them."""

    def with_id(self, identifier: str) -> list[Record]:
        """Return the records with an id, with the retrievals of this clone; there are several if clones gave it out
        twice."""

    def with_alias(self, identifier: str) -> list[Record]:
        """Return the records that once had an id and have another one now."""

    def find(self, identifier: str) -> Record | None:
        """Return the record whose file is named by an id."""

    def at(self, paths: Iterable[str]) -> list[Record]:
        """Return the records at some paths, with the retrievals of this clone; paths without a record are left out."""

    def referring(self, files: Iterable[str]) -> list[Record]:
        """Return the records with a code reference to some files or folders, whichever line of them it names."""

    def refused(self, conditions: Iterable[Condition], among: Iterable[str]) -> set[str]:
        """Return those of some paths whose records do not meet all conditions."""

    def latest(self, *, with_handoffs: bool = False) -> Record | None:
        """Return the record with the latest timestamp."""

    def titles(self, memory_type: str) -> list[str]:
        """Return the titles of all records of a type."""

    def recorded(self) -> list[int]:
        """Return when records were recorded, in Unix seconds, earliest first; imported ones are left out."""

    def recorded_since(self, moment: int) -> int:
        """Return how many records were recorded after a moment in Unix seconds; imported ones are left out."""

    def mentions(self) -> Mapping[str, Sequence[Mention]]:
        """Return what the bodies of records refer to, by path."""

    def mentioning(self, text: str) -> list[str]:
        """Return the paths of records that refer to one thing, named as a mention has it."""

    def heavy(self, weight: int) -> list[str]:
        """Return the paths of records whose text weighs so much or more.

        An ASCII character weighs 1, others from 3 to 7: their bytes in UTF-8 twice, less 1.
        """

    def severe(self, place: str) -> list[Record]:
        """Return the open issues of severity critical or high at a place."""

    def suspicious(self) -> list[str]:
        """Return the paths of records in which something looks like a credential."""

    def is_clean(self, key: bytes) -> bool:
        """Return whether the text of a digest was found to hold no credential."""

    def keep_clean(self, keys: Sequence[bytes]) -> None:
        """Keep that the texts of some digests hold no credential."""

    def with_controls(self) -> list[str]:
        """Return the paths of records that contain a control character."""

    def faults(self) -> list[Fault]:
        """Return what is wrong with the files that are no valid records."""

    def recall(self, key: bytes) -> bytes | None:
        """Return a cached value; None if there is none, or if a record has changed since."""

    def keep(self, key: bytes, value: bytes) -> None:
        """Cache a value until a record changes."""

    def without(self, paths: Collection[str]) -> Catalogue:
        """Return the same without the records at some paths."""


class Files(Protocol):
    """The repository's own files, level 4: all that Git has or would add, without the memory."""

    def names(self) -> frozenset[str]:
        """Return the paths of all files below the worktree's top."""

    def blobs(self, paths: Iterable[str]) -> dict[str, str]:
        """Return the ids of the contents of those of the paths that exist."""

    def contents(self, paths: Iterable[str], likely: Collection[str] = ()) -> dict[str, str]:
        """Return the ids of the contents of some files, including ignored ones; for few files this is faster than
        `blobs`.

        Git is not asked about a file whose bytes already have one of the `likely` ids.
        """

    def mark(self, paths: Iterable[str]) -> bytes:
        """Return what is another as soon as one of some files has other contents, or Git has another file.

        It is b"" if that can't be told. A file that Git does not know counts from when Git knows it.
        """

    def read(self, paths: Iterable[str], limit: int | None = None) -> dict[str, bytes]:
        """Return the contents of those of the paths that exist and have at most `limit` bytes (None: as a record may
        have)."""


class Source(Protocol):
    """Where a Snapshot is read from; `name` is "disk", "index" or a revision."""

    @property
    def name(self) -> str: ...

    @property
    def config(self) -> Config: ...

    @property
    def prefix(self) -> str:
        """The memory's folder below the worktree's top."""

    def records(self, *, only_open: bool = False) -> tuple[Sequence[Record], Sequence[Fault]]:
        """Return all records in the order of their paths, or the open ones, and the faults of files that are no valid
        ones."""

    def read(self, path: str) -> str:
        """Return the text of a file below `.memory/`; raises FileNotFoundError, or InvalidRecord if it is not text."""

    def names(self, folder: str) -> list[str]:
        """Return the paths of all files below a folder of the memory ("" for all of it)."""

    def leftovers(self) -> list[str]:
        """Return the paths of temporary files of writes that were killed."""

    def texts(self) -> Texts: ...

    def catalogue(self) -> Catalogue: ...

    def files(self) -> Files: ...
