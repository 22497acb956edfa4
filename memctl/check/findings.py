"""Findings, and what the rules look at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

from memctl.check.render_digest import CachedRenderer
from memctl.check.rules import RULES, Rule
from memctl.pages.render import Renderer
from memctl.record import frontmatter, ids, pages
from memctl.record.errors import FrontMatterError, InvalidRecord
from memctl.record.kinds import BY_FOLDER
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store import files
from memctl.tokens.count import Counter

if TYPE_CHECKING:
    from memctl.team.state import State

_SUGGESTED = 20  # findings for which near names are looked for; it takes time, and a flood has another cause


class Finding(msgspec.Struct, frozen=True):
    """A breach of a rule: where (`path` below `.memory/`, `line` 1-based), what exactly, and what may help."""

    code: str
    path: str
    line: int
    message: str
    hint: str = ""

    @property
    def rule(self) -> Rule:
        return RULES[self.code]


class StagedWork(msgspec.Struct, frozen=True):
    """What an agent is about to commit: paths below the worktree's top, and the shared state of the agents."""

    paths: tuple[str, ...]
    state: State
    agent: str


class Subject:
    """What is checked: a Snapshot, the time, and what it is compared with.

    `earlier` gives the text that a file had before (in HEAD, or in the parent of a revision), for each file in
    `changed`. `staged` is what is about to be committed, if that is what is checked. `agreed` is the shared state of
    the agents, None if what is checked is not the present. `leftovers` are temporary files on the disk. `overdue` are
    changes that have waited for their commit for too long: the path of a file of each, and what it is and why it waits.
    With `has_documents` the branch has rendered documents that follow the memory.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        now: str,
        making: Callable[[], Renderer],
        counter: Counter,
        changed: Sequence[str] = (),
        earlier: Callable[[str], str | None] = lambda _: None,
        staged: StagedWork | None = None,
        agreed: State | None = None,
        leftovers: Sequence[str] = (),
        overdue: Sequence[tuple[str, str]] = (),
        has_documents: bool = True,
    ) -> None:
        self.snapshot = snapshot
        self.now = now
        self.counter = counter
        self.changed = changed
        self.earlier = earlier
        self.staged = staged
        self.agreed = agreed
        self.leftovers = leftovers
        self.overdue = overdue
        self.has_documents = has_documents
        self._making = making
        self._suggested = 0
        self._lines: dict[tuple[str, str], dict[str, int]] = {}

    @cached_property
    def making(self) -> CachedRenderer:
        return CachedRenderer(self.snapshot, self._making)

    @cached_property
    def names(self) -> list[str]:
        """The paths of all files of the memory."""
        return self.snapshot.names("")

    @cached_property
    def others(self) -> list[str]:
        """The paths of all files of the memory that are none of records."""
        return [path for path in self.names if not files.is_record_path(path, BY_FOLDER)]

    def settled(self, rule: Callable[[Subject], Iterator[Finding]]) -> list[Finding]:
        """Return the findings among records of a rule on records, what pages say and names of files, kept until these
        change.

        They hold for the text that the rule's module has. Many are not kept: hints are given to the first ones alone.
        """
        with open(rule.__code__.co_filename, "rb") as module:
            seen = (rule.__name__, crc32(module.read()), *sorted(self.broken_pages))
        key = repr(seen).encode() + self.making.key
        if (kept := self.snapshot.catalogue.recall(key)) is not None:
            return msgspec.msgpack.decode(kept, type=list[Finding])
        found = list(rule(self))
        if len(found) <= _SUGGESTED:
            self.snapshot.catalogue.keep(key, msgspec.msgpack.encode(found))
        return found

    @cached_property
    def by_id(self) -> dict[str, Record]:
        """Records by id and alias."""
        found = {alias: record for record in self.snapshot.records for alias in record.aliases}
        return found | {record.id: record for record in self.snapshot.records}

    @cached_property
    def linked(self) -> tuple[Record, ...]:
        """The records that have links to others."""
        return tuple(
            record
            for record in self.snapshot.records
            if record.relates_to or record.supersedes or record.superseded_by or record.blocks or record.blocked_by
        )

    @cached_property
    def markers(self) -> dict[str, None]:
        """Every marker of levels 1 to 3 that leads somewhere, in the order of the pages."""
        return dict.fromkeys(self.snapshot.outline.markers())

    def lengths(self, files: Iterable[str]) -> dict[str, int]:
        """Return how many lines each of some files of the repository has; those that can't be read are left out."""
        contents = self.snapshot.files.read(set(files))
        return {file: text.count(b"\n") + (text[-1:] not in (b"\n", b"")) for file, text in contents.items()}

    def known_id(self, identifier: str) -> bool:
        """Return whether a record with this id exists; unreadable records count, since they are another finding."""
        if "by_id" in vars(self):
            return identifier in self.by_id or identifier in self._unreadable
        return identifier in self._unreadable or self.snapshot.find(identifier) is not None

    def knows(self, marker: str) -> bool:
        """Return whether a marker such as §2.1 leads to a page, or into one; pages that can't be read count."""
        broken = self.broken_pages
        return marker in self.markers or any(marker == page or marker.startswith(page + ".") for page in broken)

    @cached_property
    def broken_pages(self) -> frozenset[str]:
        """The markers of the pages that can't be read, as their file names have them."""
        numbers = (pages.number_at(fault.path) for fault in self.snapshot.outline.faults)
        return frozenset(f"§{number}" for number in numbers if number)

    @cached_property
    def _unreadable(self) -> frozenset[str]:
        return frozenset(found for fault in self.snapshot.faults if (found := ids.id_in_path(fault.path)))

    def may_suggest(self) -> bool:
        """Return whether near names are looked for once more."""
        self._suggested += 1
        return self._suggested <= _SUGGESTED

    def near(self, wanted: str, known: Iterable[str]) -> str:
        """Return a hint that names known names similar to a missing one."""
        return closest(wanted, known) if self.may_suggest() else ""

    def line_of(self, path: str, key: str, value: str = "") -> int:
        """Return the line of a key in a file's front matter, or of one value in its list; 1 if it can't be told."""
        if (path, key) not in self._lines:
            self._lines[path, key] = self._lines_by_value(path, key)
        lines = self._lines[path, key]
        line = lines.get(value) or next((n for item, n in lines.items() if value in item), 0)
        return line or lines.get("", 1)

    def _lines_by_value(self, path: str, key: str) -> dict[str, int]:
        """Return the line of each value of a list in a file's front matter, with and without its stamp; of the key by
        ""."""
        try:
            block = next((one for one in frontmatter.blocks(self.snapshot.read(path)) if one.key == key), None)
        except (InvalidRecord, FrontMatterError, FileNotFoundError):
            block = None
        if block is None:
            return {}
        found = {"": block.line}
        for number, line in enumerate(block.text.split("\n"), block.line):
            item = _item(line)
            for value in (item, item.rpartition(" ")[0]):
                found.setdefault(value, number)
        return found

    def lines_of(self, path: str, key: str) -> list[int]:
        """Return the lines of the items of a list in a file's front matter (or in the settings, which are nothing
        else)."""
        try:
            text = self.snapshot.read(path)
            blocks = frontmatter.blocks(text if text.startswith("---\n") else f"---\n{text.rstrip()}\n---\n")
        except (InvalidRecord, FrontMatterError, FileNotFoundError):
            return []
        shift = 0 if text.startswith("---\n") else 1
        block = next((block for block in blocks if block.key == key), None)
        if block is None:
            return []
        lines = block.text.split("\n")
        items = [n for n, line in enumerate(lines) if line.strip().startswith("- ")]
        return [block.line + n - shift for n in items] or [block.line - shift]

    def text(self, path: str) -> str | None:
        """Return the text of a file of the memory, None if there is none that can be read."""
        try:
            return self.snapshot.read(path)
        except (InvalidRecord, OSError):
            return None

    def body_line(self, path: str, body: str) -> int:
        """Return the line of the file on which its body begins."""
        text = self.snapshot.read(path)
        return text.count("\n", 0, len(text) - len(body)) + 1


def closest(wanted: str, known: Iterable[str]) -> str:
    """Return a hint at the names most like one; "" if none is."""
    known = list(known)
    alike = [name for name in known if name[:3] == wanted[:3]]
    found = get_close_matches(wanted, alike or known, n=3, cutoff=0.75)
    return f"did you mean {' or '.join(found)}?" if found else ""


def _item(line: str) -> str:
    """Return the value of an item of a list in a front matter."""
    item = line.strip().removeprefix("- ").strip()
    if item.startswith(("'", '"')):
        quoted = frontmatter.read_canonical(f"x: {item}\n")
        item = str(quoted["x"]) if quoted else item[1:-1].replace("''", "'")
    return item
