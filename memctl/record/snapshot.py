"""Snapshots: immutable views of a whole memory, on the disk, in the index or at a revision."""

from __future__ import annotations

from contextlib import suppress
from functools import cache, cached_property
from typing import TYPE_CHECKING

from memctl.errors import MemctlError
from memctl.record import frontmatter, ids
from memctl.record.errors import Fault, FrontMatterError, InvalidRecord, NotText
from memctl.record.record import Record

if TYPE_CHECKING:
    from memctl.record.pages import Outline
    from memctl.record.restrictions import Withheld
    from memctl.record.source import Catalogue, Files, Source, Texts


def body_of(text: str, path: str) -> str:
    """Return the Markdown body in the text of a record's file.

    Raises InvalidRecord, which names the file at `path`, if the front matter can't be read.
    """
    try:
        return frontmatter.split(text)[1].removeprefix("\n")
    except FrontMatterError as error:
        raise InvalidRecord([Fault(path, error.line, error.key, error.message, error.about)]) from None


class Snapshot:
    """An immutable view of a memory; each part is read when it is first used, and only once."""

    def __init__(self, source: Source, withheld: Withheld | None = None) -> None:
        self._source = source
        self._withheld = withheld
        self.source = source.name
        self.config = source.config
        self.prefix = source.prefix
        self.read = source.read
        self.names = source.names
        self.leftovers, self.last_id = source.leftovers, source.last_id

    @cached_property
    def withheld(self) -> Withheld:
        """The records, pages and files that their owners do not let the reader of this snapshot see."""
        from memctl.record.restrictions import Withheld  # mostly nothing is withheld

        return self._withheld or Withheld()

    @cached_property
    def open_records(self) -> tuple[Record, ...]:
        """The open records, in the order of their paths.

        This is faster than to choose them from `records`, since most records of an old memory are closed.
        """
        if "_read" in vars(self):
            return tuple(record for record in self.records if record.is_open)
        return tuple(self._source.records(only_open=True)[0])

    @cached_property
    def _read(self) -> tuple[tuple[Record, ...], tuple[Fault, ...]]:
        records, faults = self._source.records()
        return tuple(records), tuple(faults)

    @property
    def records(self) -> tuple[Record, ...]:
        """All records, in the order of their paths."""
        return self._read[0]

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """The faults of files in the records' folders that are not valid records."""
        return self._read[1] if "_read" in vars(self) else tuple(self.catalogue.faults())

    @cached_property
    def outline(self) -> Outline:
        """The pages of levels 1 to 3, and the faults of the pages that can't be read."""
        from memctl.record import pages  # readers of records alone don't need pages

        texts: list[tuple[str, str]] = []
        faults: list[Fault] = []
        for path in (pages.PROJECT_PATH, *self.names(pages.SECTION.folder), *self.names(pages.DETAIL.folder)):
            if pages.kind_at(path) is not None:
                try:
                    texts.append((path, self.read(path)))
                except InvalidRecord as error:
                    faults += error.faults
                except FileNotFoundError:
                    continue
        if faults or "catalogue" not in vars(self):
            return pages.outline(texts, faults)
        return pages.cached_outline(texts, self.catalogue)

    @cached_property
    def unplaced(self) -> dict[tuple[str, str], list[str]]:
        """The paths of the open records that name no section, by the section that covers their code and by type.

        A key is such as ("§2.1", "issue"). A record on code of several sections is in the lists of all.
        """
        covered: dict[tuple[str, str], dict[str, None]] = {}
        covering = cache(self.outline.covering)
        for path, memory_type, file in self.catalogue.unplaced() if self.outline.sections else ():
            for marker in covering(file):
                covered.setdefault((marker, memory_type), {})[path] = None
        return {key: list(paths) for key, paths in covered.items()}

    def count_open(self, memory_type: str, place: str) -> int:
        """Return the number of open records of a type that name a place, or name none and are about its code."""
        return self.catalogue.count(memory_type, place) + len(self.unplaced.get((place, memory_type), ()))

    def top_open(self, memory_type: str, place: str, limit: int) -> list[Record]:
        """Return up to `limit` of the records that `count_open` counts, the most important first."""
        return self.catalogue.top(memory_type, place, limit, self.unplaced.get((place, memory_type), ()))

    @cached_property
    def texts(self) -> Texts:
        """The object that searches the words of records, pages, sessions and checkpoints; see `source.Texts`."""
        return self._source.texts()

    @cached_property
    def catalogue(self) -> Catalogue:
        """The object that answers queries about records without reading all their files; see `source.Catalogue`."""
        return self._source.catalogue()

    @cached_property
    def suspicious(self) -> frozenset[str]:
        """The paths of records whose text contains what looks like a credential."""
        return frozenset(self.catalogue.suspicious())

    @cached_property
    def files(self) -> Files:
        """The object that reads the repository's own files, without the memory; see `source.Files`."""
        return self._source.files()

    def body(self, record: Record) -> str:
        """Return the body of a record, in Markdown."""
        return body_of(self.read(record.path), record.path)

    def try_read(self, path: str) -> str | None:
        """Return the text of a file below `.memory/`, None if it is missing or can't be read."""
        with suppress(InvalidRecord, OSError):
            return self.read(path)
        return None

    def searchable(self, path: str) -> str:
        """Return the text of a file as `read` does, and of one that is not UTF-8 what can be read of it."""
        try:
            return self.read(path)
        except NotText as error:
            return error.text

    def find(self, identifier: str) -> Record | None:
        """Return the record with an id, or with the UUID in its field `memory_id`; None if there is none.

        If no record has the id now, the result is a record that had it formerly.
        """
        found = self.catalogue.with_id(identifier)
        if not found and ids.kind_of(identifier) is None:
            return next((record for record in self.records if record.memory_id == identifier), None)
        return next(iter(found or self.catalogue.with_alias(identifier)), None)

    def link_target_by_alias(self, record: Record, identifier: str, other_end: str) -> Record | None:
        """Return the record that a link means by a former id, None if there is none.

        `record` is the record with the link, and `identifier` the id in the link. Several records may have had this id,
        and another one may have it now. The one that is meant links back to `record`, in its field `other_end`, such as
        "superseded_by".
        """
        names = {record.id, *record.aliases}
        return next(
            (record for record in self.catalogue.with_alias(identifier) if names & set(getattr(record, other_end))),
            None,
        )

    def canonical(self, reference: str) -> str:
        """Return an id, or its beginning, as ids are written, and the id that `@last` stands for.

        Raises MemctlError for `@last` if nothing was recorded in this worktree.
        """
        if reference.strip() != ids.LAST:
            return ids.canonical(reference)
        if not (last := self.last_id()):
            raise MemctlError(f"{ids.LAST} names no record: none was recorded here", "`memctl list` lists the records")
        return last

    def resolve(self, reference: str) -> Record:
        """Return the record that a person means by `reference`.

        A reference is an id, a former id, a memory_id, the beginning of an id or memory_id, the name that another tool
        gave the record, such as `bd-xmf`, the end of an id, or `@last`, the record that was recorded last in this
        worktree. A record that has an id now wins over one that had it formerly. Raises MemctlError if there is no such
        record, or if there are several; the message names similar ids, or the records that match.
        """
        wanted = self.canonical(reference)
        if ids.kind_of(wanted) is not None:  # a whole id is no abbreviation: k7fq-1 may be gone where k7fq-10 is
            exact = self.catalogue.with_id(wanted) or self.catalogue.with_alias(wanted)
        else:
            exact = [record for record in self.records if wanted.lower() == record.memory_id.lower()]
        if not exact and wanted and ids.kind_of(wanted) is None:
            part = wanted.lower()
            exact = [r for r in self.records if r.id.lower().startswith(part) or r.memory_id.lower().startswith(part)]
            exact = exact or self.with_foreign_name(reference.strip())
            exact = exact or [record for record in self.records if ids.is_part(wanted, record.id)]
        if len(exact) == 1:
            return exact[0]
        if exact:
            same = exact[0].id == exact[1].id  # two clones used one id; the records differ in memory_id
            names = [f"{r.memory_id}  {r.path}" if same else r.id for r in exact]
            lines = [f"\n  {name}  {' '.join(r.title.split())}" for name, r in zip(names, exact, strict=True)]
            hint = "`memctl renumber` gives them different ids" if same else "give the whole id"
            more = f"\n  and {len(exact) - 5:,} more" if len(exact) > 5 else ""
            raise MemctlError(f"{reference!r} matches several records:{''.join(lines[:5])}{more}", hint)
        self._refuse_broken(wanted)
        self.withheld.refuse_record(wanted)
        place = "" if self.source == "disk" else f" at {self.source}"
        raise MemctlError(f"there is no record {reference!r}{place}", self._suggestion(wanted), kind="not-found")

    def with_foreign_name(self, name: str) -> list[Record]:
        """Return the records to which another tool gave the name `name`, such as `bd-xmf`, in their front matter."""
        from memctl.record.parser import has_foreign_name  # nearly all references are ids of memctl

        paths = {hit.path for hit in self.texts.match(f'"{name}"')} if name else ()
        return [
            record for record in self.records if record.path in paths and has_foreign_name(self.read(record.path), name)
        ]

    def _refuse_broken(self, wanted: str) -> None:
        faults = [f for f in self.faults if wanted and ids.is_part(wanted, ids.id_in_path(f.path) or "")]
        if faults:
            raise MemctlError(
                f"{ids.id_in_path(faults[0].path)} can't be read: {faults[0]}",
                "correct the file; `memctl check` lists all files that can't be read",
            )

    def _suggestion(self, wanted: str) -> str:
        from difflib import get_close_matches

        known = [record.id for record in self.records]
        is_whole = ids.kind_of(wanted) is not None
        alike = [identifier for identifier in known if identifier[:3] == wanted[:3]] if is_whole else known
        near = get_close_matches(wanted, alike, n=3, cutoff=0.75)
        if not near and not is_whole:
            ends = {identifier[-len(wanted) :].lower(): identifier for identifier in known}
            near = [ends[end] for end in get_close_matches(wanted.lower(), ends, n=3, cutoff=0.75)]
        hint = f"did you mean {' or '.join(near)}?" if near else "`memctl list` lists the records with their ids"
        deleted = f"if {wanted} was deleted, `memctl restore {wanted}` restores it"
        return f"{hint}; {deleted}" if is_whole and self.source == "disk" else hint
