"""A Snapshot: the whole memory as it is on the disk, in the index or at a revision; it never changes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from memctl.errors import MemctlError
from memctl.model import ids
from memctl.model.config import Config
from memctl.model.record import Fault, Record, parse


class Hit:
    """How well a record's text answers a query: BM25 of its title and of the rest, larger is better, never negative."""

    __slots__ = ("content", "path", "title")

    def __init__(self, path: str, title: float, content: float) -> None:
        self.path = path
        self.title = title
        self.content = content


class Snapshot:
    """Records, what could not be read, and on demand the texts.

    `source` names where it was read from ("disk", "index" or a revision); `records` are in the order of their paths;
    `faults` are the files that are no valid records. `read` returns the text of a path below `.memory/`, `match`
    the records whose text matches a query.
    """

    def __init__(
        self,
        source: str,
        config: Config,
        records: Iterable[Record],
        faults: Iterable[Fault],
        read: Callable[[str], str],
        match: Callable[[str], list[Hit]],
    ) -> None:
        self.source = source
        self.config = config
        self.records = tuple(records)
        self.faults = tuple(faults)
        self.read = read
        self.match = match

    def body(self, record: Record) -> str:
        """The body of a record, in Markdown."""
        return parse(self.read(record.path), record.path)[1]

    def find(self, identifier: str) -> Record | None:
        """The record with exactly this id, alias or memory_id."""
        for record in self.records:
            if identifier in (record.id, record.memory_id) or identifier in record.aliases:
                return record
        return None

    def resolve(self, reference: str) -> Record:
        """The record that a person means by an id, an alias, or an unambiguous beginning of an id or memory_id.

        Raises MemctlError with near misses if there is none, or with the candidates if there are several.
        """
        wanted = reference.strip().upper()
        exact = [r for r in self.records if r.id == wanted or wanted in r.aliases or r.memory_id.upper() == wanted]
        if not exact and wanted:
            exact = [r for r in self.records if r.id.startswith(wanted) or r.memory_id.upper().startswith(wanted)]
        if len(exact) == 1:
            return exact[0]
        if exact:
            same = exact[0].id == exact[1].id  # two clones gave out one id; the memory_id tells them apart
            shown = [
                f"  {f'{r.memory_id}  {r.path}' if same else r.id}  {' '.join(r.title.split())}" for r in exact[:5]
            ]
            more = [f"  and {len(exact) - 5:,} more"] if len(exact) > 5 else []
            raise MemctlError("\n".join([f"{reference!r} may be any of these:", *shown, *more]), "give more of the id")
        self._refuse_broken(wanted)
        raise MemctlError(f"there is no record {reference!r}{self._place()}", self._suggestion(wanted))

    def _refuse_broken(self, wanted: str) -> None:
        """A record that exists but can't be read is not a record that does not exist."""
        faults = [f for f in self.faults if wanted and (ids.id_in_path(f.path) or "").startswith(wanted)]
        if faults:
            raise MemctlError(
                f"{ids.id_in_path(faults[0].path)} can't be read: {faults[0]}",
                "mend the file; `memctl status` lists all faults",
            )

    def _place(self) -> str:
        return "" if self.source == "disk" else f" at {self.source}"

    def _suggestion(self, wanted: str) -> str:
        from difflib import get_close_matches

        alike = [record.id for record in self.records if record.id[:3] == wanted[:3]]
        near = get_close_matches(wanted, alike or [record.id for record in self.records], n=3, cutoff=0.75)
        return f"did you mean {' or '.join(near)}?" if near else "`memctl list` shows the ids"
