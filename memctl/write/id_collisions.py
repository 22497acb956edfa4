"""Records, pages and headings that share a name (id, marker or number), and their new names.

If several records have one id, the record with the earliest `memory_id` keeps it. Each other record gets an id derived
from its own `memory_id`, so that every clone that renumbers it gives it the same id. Pages have small numbers and no
`memory_id`: the page written first keeps its number, the others get the next free ones. In a memory of format 2, what
was pushed keeps its name against what was not. `sync` has another rule for who keeps a name (`sync/collisions.py`); the
new names are made in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count, pairwise

import msgspec
from msgspec.structs import replace

from memctl.git.first_commits import History, Origin
from memctl.record import ids, pages
from memctl.record.handoff import package_path
from memctl.record.kinds import HANDOFF
from memctl.record.pages import DETAIL, SECTION, Page, PageKind
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot

_NEVER = 1 << 62  # later than anything that a commit has
_NUMBER = re.compile(r"[23]\.[1-9][0-9]*")


class MemoryFile(msgspec.Struct, frozen=True):
    """The text of a file of the memory, and the record in it, if it has one.

    After a merge two records may want the same path. Then one has the file at `path`; for the other `apart` is True,
    and its text is in no file yet.
    """

    path: str
    text: str
    record: Record | None = None
    apart: bool = False

    @property
    def mark(self) -> str:
        """The memory_id of the record, which tells two records at one path apart; "" if the file is no record."""
        return self.record.memory_id if self.record else ""


class Holder(msgspec.Struct, frozen=True):
    """One of several records, pages or headings that have, or once had, the same `name`: an id, marker or number.

    `now` is the name that it has from now on, equal to `name` if it keeps that, and `path` is its file.

    What a reference to `name` means depends on the Git history that the writer of the reference had. `origin` is the
    file or line that gave this record, page or heading its name: only if that history has `origin` can the reference
    mean it. `until` is the file or line that later gave it another name, None if there was none: if that history has
    `until`, too, the reference means something else.

    `memory_id` is the record's after the renumbering, "" for a page or heading. `is_new` is True if the name is shared
    at present, and False if an earlier renumbering has changed that already.
    """

    name: str
    now: str
    path: str
    origin: Origin
    title: str
    record: Record | None = None
    memory_id: str = ""
    until: Origin | None = None
    is_new: bool = True  # the collision exists now; False for one that was resolved before

    @property
    def moves(self) -> bool:
        """Whether this record, page or heading gets a new name now, and did not get it in an earlier renumbering."""
        return self.is_new and self.now != self.name

    @property
    def new_path(self) -> str:
        """The path of the record or page under its new name; the rest of its file name is kept."""
        folder, _, name = self.path.rpartition("/")
        old, new = (self.name, self.now) if self.record else (self.name[1:], self.now[1:])
        return f"{folder}/{new}{name.removeprefix(old)}"


def packages(holders: Sequence[Holder]) -> dict[str, str]:
    """Return the new paths of the packages of renamed handoffs, by their old paths.

    A package is the file with the text that the receiver of a handoff gets. It is renamed together with the record of
    its handoff, which is one of `holders`.
    """
    moving = [
        holder for holder in holders if holder.moves and holder.record and holder.record.memory_type == HANDOFF.name
    ]
    return {package_path(holder.path): package_path(holder.new_path) for holder in moving}


Pushed = Callable[[Collection[Origin]], Collection[Origin]]


def of_records(records: Sequence[Record], pushed: Pushed) -> list[Holder]:
    """Return the records that share an id, and records whose former id another record has now.

    `pushed` returns those of some files that were pushed.
    """
    by_id: dict[str, list[Record]] = {}
    for record in records:
        by_id.setdefault(record.id, []).append(record)
    taken = {name for record in records for name in (record.id, *record.aliases)}
    holders: list[Holder] = []
    shared = {name: sharing for name, sharing in sorted(by_id.items()) if len(sharing) > 1}
    known = pushed([_origin(record) for sharing in shared.values() for record in sharing]) if shared else ()
    for name, sharing in shared.items():
        order = sorted(sharing, key=lambda record: (_origin(record) not in known, _rank(record)))
        holders += _holders_of(name, order, taken)
    by_path = {(holder.path, holder.origin.mark): holder for holder in holders}
    for record in records:
        holder = by_path.get((record.path, record.memory_id))
        holders += _former_holders(record, holder.now if holder else record.id, by_id)
    old_names = {holder.name for holder in holders}
    settled = old_names - {holder.name for holder in holders if holder.is_new}
    # Those that kept their ids in an earlier renumbering.
    return [*holders, *(_record_holder(by_id[name][0], name, name, is_new=False) for name in sorted(settled))]


def _rank(record: Record) -> tuple[str, str, int, str]:
    """Return a sort key of records: the memory_id, which begins with a time, then for copies the plainer path."""
    return record.memory_id, record.timestamp, len(record.path), record.path


def _holders_of(name: str, sharing: Sequence[Record], taken: set[str]) -> list[Holder]:
    """Return the holders of the id `name`: the first record keeps it, the others get derived ids."""
    holders: list[Holder] = []
    known: set[str] = set()
    for record in sharing:
        memory_id = record.memory_id
        if memory_id in known:  # a copied file becomes a record of its own
            memory_id = copy_memory_id(record)
        known.add(memory_id)
        now = name if not holders else ids.derive_id(name, memory_id, taken)
        taken.add(now)
        holders.append(_record_holder(record, name, now, memory_id))
    return holders


def copy_memory_id(record: Record) -> str:
    """Return a memory_id for a copy of a record.

    It has the time of the original's memory_id, and every clone computes an equal one.
    """
    from hashlib import blake2b

    entropy = blake2b(f"{record.memory_id}\0{record.path}".encode(), digest_size=10).digest()
    return ids.uuid7(int(record.memory_id.replace("-", "")[:12], 16), entropy)


def _former_holders(record: Record, now: str, by_id: Mapping[str, Sequence[Record]]) -> Iterator[Holder]:
    """Yield a record's former ids that other records have now, as holders; `now` is its present or new id."""
    for alias, following in pairwise((*record.aliases, record.id)):
        if any(other.path != record.path for other in by_id.get(alias, ())):
            origin, until = (Origin(former_path(record, n), mark=record.memory_id) for n in (alias, following))
            holder = _record_holder(record, alias, now, is_new=False)
            yield replace(holder, origin=origin, until=until)


def _origin(record: Record) -> Origin:
    return Origin(record.path, mark=record.memory_id)


def _record_holder(record: Record, name: str, now: str, memory_id: str = "", *, is_new: bool = True) -> Holder:
    return Holder(
        name, now, record.path, _origin(record), record.title, record, memory_id or record.memory_id, is_new=is_new
    )


def former_path(record: Record, alias: str) -> str:
    """Return the path that a record had when its id was `alias`; only the id in the path has changed."""
    return record.path.replace(record.id, alias)


def former_paths(snapshot: Snapshot, path: str) -> list[str]:
    """Return the paths that the record at `path` had under its former ids, except paths that another record has now."""
    taken = {record.path for record in snapshot.records}
    own = [record for record in snapshot.records if record.path == path]
    paths = [former_path(record, alias) for record in own for alias in record.aliases]
    return [path for path in paths if path not in taken]


def of_pages(snapshot: Snapshot, history: History, pushed: Pushed) -> list[Holder]:
    """Return the sections and pages of details that share a number, or whose former number another page has.

    `pushed` returns those of some files that were pushed.
    """
    holders: list[Holder] = []
    for kind, group in ((SECTION, snapshot.outline.sections), (DETAIL, snapshot.outline.details)):
        by_id: dict[str, list[Page]] = {}
        for page in group:
            by_id.setdefault(page.id, []).append(page)
        shared = {name: sharing for name, sharing in by_id.items() if len(sharing) > 1}
        names = (*snapshot.names(kind.folder), *history.paths_ever(kind.folder))
        numbers = [*map(pages.number_at, names), *(alias[1:] for page in group for alias in page.aliases)]
        free = free_numbers(kind, numbers)
        moved: dict[str, str] = {}
        for name in sorted(shared, key=pages.sort_key):
            first, *others = _by_age(shared[name], history, pushed)
            moved |= {page.path: next(free) for page in others}
            holders += [_page_holder(page, name, moved.get(page.path, name)) for page in (first, *others)]
        for page in group:
            names = (*page.aliases, page.id)
            for alias, following in pairwise(names):
                if any(other.path != page.path for other in by_id.get(alias, ())):
                    holders.append(_former_page_holder(page, alias, moved.get(page.path, page.id), following))
                    if alias not in shared:
                        holders.append(_page_holder(by_id[alias][0], alias, alias, is_new=False))
    return list(dict.fromkeys(holders))


def _page_holder(page: Page, name: str, now: str, *, is_new: bool = True) -> Holder:
    return Holder(name, now, page.path, Origin(page.path), page.title, is_new=is_new)


def _former_page_holder(page: Page, name: str, now: str, following: str) -> Holder:
    """Return the holder for a page's former number, which it had until it got the number `following`."""
    folder, _, file = page.path.rpartition("/")
    origin, until = (Origin(f"{folder}/{_NUMBER.sub(n[1:], file, count=1)}") for n in (name, following))
    return Holder(name, now, page.path, origin, page.title, until=until, is_new=False)


def _by_age(sharing: Iterable[Page], history: History, pushed: Pushed) -> list[Page]:
    """Return pages by the time of their first commit, then by path, and pushed ones before others."""
    origins = {page.path: Origin(page.path) for page in sharing}
    added, known = history.times_added(list(origins.values())), pushed(list(origins.values()))
    places = {path: (origin not in known, added.get(origin, _NEVER), path) for path, origin in origins.items()}
    return sorted(sharing, key=lambda page: places[page.path])


def free_numbers(kind: PageKind, numbers: Iterable[str]) -> Iterator[str]:
    """Yield unused markers for pages of a kind, such as §2.4, §2.5 and so on.

    `numbers` are all numbers that pages ever had, such as "2.3"; the yielded markers are higher than all of them.
    """
    highest = max((int(number[2:]) for number in numbers if number.startswith(f"{kind.level}.")), default=0)
    return (f"§{kind.level}.{number}" for number in count(highest + 1))


def of_headings(snapshot: Snapshot, history: History) -> list[Holder]:
    """Return the headings that share a number within one page of details.

    If two pages share their number, their headings are left out: these are renumbered after the pages.
    """
    holders: list[Holder] = []
    outline = snapshot.outline
    for page in outline.details:
        if sum(other.id == page.id for other in outline.details) > 1:
            continue
        text = snapshot.read(page.path)
        start = text.count("\n", 0, len(text) - len(page.body)) + 1
        parts = pages.numbered_headings(page)
        free = count(max((int(part.id.rpartition(".")[2]) for part in parts), default=0) + 1)
        for name in dict.fromkeys(part.id for part in parts):
            sharing = {Origin(page.path, start + part.line - 1): part for part in parts if part.id == name}
            if len(sharing) > 1:
                added = history.times_added(list(sharing))
                order = sorted(sharing, key=lambda o: (added.get(o, _NEVER), sharing[o].title, o.line))
                for origin in order:
                    now = name if origin == order[0] else f"{page.id}.{next(free)}"
                    holders.append(Holder(name, now, page.path, origin, sharing[origin].title))
    return holders
