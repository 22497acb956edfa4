"""The findings of rules, and the input (`CheckContext`) that all rules get."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

from memctl.check.rules import ERROR, RULES, WARNING, Rule
from memctl.pages.renamed_files import RenamedCode
from memctl.record import frontmatter, frontmatter_edit, ids, pages
from memctl.record.errors import CONFLICT, DUPLICATE, Fault, FrontMatterError, InvalidRecord
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store import files
from memctl.store.near_pairs import NearPair
from memctl.tokens.count import Counter

if TYPE_CHECKING:
    from memctl.check.cached_renderer import CachedRenderer
    from memctl.team.state import State

# Findings of a rule with a hint to similar names; the search takes time, and many findings share one cause.
_SUGGESTED = 20
_CODES = {CONFLICT: "MEM103", DUPLICATE: "MEM102"}


class Finding(msgspec.Struct, frozen=True):
    """A violation of a rule: the file, the line (from 1), what is wrong, and a hint what to do.

    `path` is below `.memory/`. `is_demoted` says that an error counts as a warning, because the commit that is checked
    does not introduce it.
    """

    code: str
    path: str
    line: int
    message: str
    hint: str = ""
    is_demoted: bool = False

    @property
    def rule(self) -> Rule:
        """The rule with this finding's code."""
        return RULES[self.code]

    @property
    def severity(self) -> str:
        """The severity, "error", "warning" or "info": that of the rule, but "warning" for a demoted error."""
        return WARNING if self.is_demoted and self.rule.severity == ERROR else self.rule.severity


class StagedWork(msgspec.Struct, frozen=True):
    """The commit that an agent is about to make: `paths` are the staged files, relative to the worktree's top.

    `agent` is the agent's name, and `state` the coordination state, which says who owns which section.
    """

    paths: tuple[str, ...]
    state: State
    agent: str


class CheckContext(msgspec.Struct, eq=False, dict=True):
    """The input of all rules: a Snapshot, the time, and everything with which rules compare the Snapshot.

    - `now`: the time, in canonical form; `counter`: counts the tokens of texts.
    - `renderer`: returns the documents as they should be.
    - `earlier`: a function that returns the text that a file had before (in HEAD, or
      in the parent of the revision that is checked), None if there was none.
    - `changed`: the paths of the decisions whose files differ from HEAD, or from the parent of that revision.
    - `staged`: the commit about to be made, None unless the index is checked.
    - `coordination`: the coordination state, which says who owns which section; None if a revision is checked.
    - `overdue`: the changes that have waited for their commit for more than an hour, as pairs of a path and a text that
      says which change it is and why it waits.
    - `has_documents`: whether the branch is to have rendered documents. A memory's settings may leave them out on
      branches other than the main one.
    - `find_renamed`: a function that returns where the renamed code is now to which the memory refers.
    - `is_staged`: whether the index is checked, before a commit.
    - `signatures`: a function that returns who made each record by its first commit, by the record's path.
    - `near_pairs`: a function that returns the pairs of near open records that this clone has found.
    - `allowed_secrets`: a function that returns the fingerprints of texts that the user allows in this clone.
    """

    snapshot: Snapshot
    now: str
    renderer: CachedRenderer
    counter: Counter
    changed: Sequence[str] = ()
    earlier: Callable[[str], str | None] = lambda _: None
    staged: StagedWork | None = None
    coordination: State | None = None
    overdue: Sequence[tuple[str, str]] = ()
    has_documents: bool = True
    find_renamed: Callable[[], RenamedCode] = lambda: RenamedCode({}, frozenset())
    is_staged: bool = False
    allowed_secrets: Callable[[], Collection[str]] = tuple
    signatures: Callable[[], Mapping[str, tuple[str, str]]] = dict
    near_pairs: Callable[[], Sequence[NearPair]] = tuple
    _suggested: int = 0
    _lines: dict[tuple[str, str], dict[str, int]] = {}

    @cached_property
    def names(self) -> list[str]:
        """The paths of all files of the memory."""
        return self.snapshot.names("")

    @cached_property
    def others(self) -> list[str]:
        """The paths of all files of the memory that are not records."""
        return [path for path in self.names if not files.is_record_path(path)]

    def findings(self, rule: Callable[[CheckContext], Iterator[Finding]]) -> list[Finding]:
        """Run a rule and return its findings.

        Each rule may give 20 hints with similar names (see `near`), however many the rules before it gave.
        """
        self._suggested = 0
        return list(rule(self))

    def cached_findings(self, rule: Callable[[CheckContext], Iterator[Finding]]) -> list[Finding]:
        """Return the findings of a rule, from the cache if nothing has changed that the rule reads.

        `rule` may read only the records, the pages and the names of files. More than 20 findings are not cached, since
        those after the first 20 may lack the hint that `near` gives.
        """
        with open(rule.__code__.co_filename, "rb") as module:
            seen = (rule.__name__, crc32(module.read()), *sorted(self.broken_pages))
        key = repr(seen).encode() + self.renderer.key
        if (kept := self.snapshot.catalogue.recall(key)) is not None:
            return msgspec.msgpack.decode(kept, type=list[Finding])
        found = self.findings(rule)
        if len(found) <= _SUGGESTED:
            self.snapshot.catalogue.keep(key, msgspec.msgpack.encode(found))
        return found

    @cached_property
    def renamed(self) -> RenamedCode:
        """Where the code is now that was renamed; only rules that miss code ask, since Git takes time to answer."""
        return self.find_renamed()

    @cached_property
    def by_id(self) -> dict[str, Record]:
        """The records by id and by alias (an id that the record had before it was renumbered)."""
        found = {alias: record for record in self.snapshot.records for alias in record.aliases}
        return found | {record.id: record for record in self.snapshot.records}

    @cached_property
    def linked(self) -> tuple[Record, ...]:
        """The records that have a link to another record."""
        return tuple(
            record
            for record in self.snapshot.records
            if record.relates_to or record.supersedes or record.superseded_by or record.blocks or record.blocked_by
        )

    @cached_property
    def markers(self) -> dict[str, None]:
        """The markers of all pages and of their headings, in the order of the pages, as the keys of a dict.

        The values are all None. Markers of files (§4) are not included.
        """
        return dict.fromkeys(self.snapshot.outline.markers())

    def lengths(self, files: Iterable[str]) -> dict[str, int]:
        """Return the number of lines of files of the repository, by path; files that can't be read are left out."""
        contents = self.snapshot.files.read(set(files))
        return {file: text.count(b"\n") + (text[-1:] not in (b"\n", b"")) for file, text in contents.items()}

    def has_id(self, identifier: str) -> bool:
        """Return whether a record has this id.

        A record that can't be read counts, too: another rule reports it, so that links to it need not be reported as
        well.
        """
        if "by_id" in vars(self):
            return identifier in self.by_id or identifier in self._unreadable
        return identifier in self._unreadable or self.snapshot.find(identifier) is not None

    def has_marker(self, marker: str) -> bool:
        """Return whether a marker such as §2.1 leads to a page or a heading, also in a page that can't be read."""
        broken = self.broken_pages
        return marker in self.markers or any(marker == page or marker.startswith(page + ".") for page in broken)

    @cached_property
    def broken_pages(self) -> frozenset[str]:
        """The markers of the pages that can't be read; they are taken from the names of the files."""
        numbers = (pages.number_at(fault.path) for fault in self.snapshot.outline.faults)
        return frozenset(f"§{number}" for number in numbers if number)

    @cached_property
    def _unreadable(self) -> frozenset[str]:
        return frozenset(found for fault in self.snapshot.faults if (found := ids.id_in_path(fault.path)))

    def may_suggest(self) -> bool:
        """Return whether a rule may search for similar names, which takes time: True for the rule's first 20 calls."""
        self._suggested += 1
        return self._suggested <= _SUGGESTED

    def near(self, wanted: str, known: Iterable[str]) -> str:
        """Return a hint with those of the `known` names that are similar to `wanted`, "" if there are none.

        See `closest` for an example. After 20 calls by a rule the result is always "", since the search takes time.
        """
        return closest(wanted, known) if self.may_suggest() else ""

    def at_key(self, code: str, path: str, key: str, message: str, hint: str = "", value: str = "") -> Finding:
        """Return a finding on the line of a key in a file's front matter, or of the item `value` in the key's list."""
        return Finding(code, path, self.line_of(path, key, value), message, hint)

    def line_of(self, path: str, key: str, value: str = "") -> int:
        """Return the line (from 1) of a key in a file's front matter; 1 if it is not found.

        If `value` is given, it is the line of this item in the key's list.
        """
        if (path, key) not in self._lines:
            self._lines[path, key] = self._lines_by_value(path, key)
        lines = self._lines[path, key]
        line = lines.get(value) or next((n for item, n in lines.items() if value in item), 0)
        return line or lines.get("", 1)

    def _lines_by_value(self, path: str, key: str) -> dict[str, int]:
        """Return the line of each value in a key's list, with and without its stamp, and of the key itself under ""."""
        if (block := self._block(path, key)) is None:
            return {}
        found = {"": block.line}
        for number, line in enumerate(block.text.split("\n"), block.line):
            item = _item(line)
            for value in (item, item.rpartition(" ")[0]):
                found.setdefault(value, number)
        return found

    def lines_of(self, path: str, key: str) -> list[int]:
        """Return the lines (from 1) of the items in a list of a file's front matter, or of config.yaml.

        `key` is the key of the list. The result is [] if the file does not have the key.
        """
        if (block := self._block(path, key)) is None:
            return []
        lines = enumerate(block.text.split("\n"), block.line)
        return [number for number, line in lines if line.strip().startswith("- ")] or [block.line]

    def _block(self, path: str, key: str) -> frontmatter_edit.KeyLines | None:
        try:
            text = self.snapshot.read(path)
            is_whole = not text.startswith("---\n")
            blocks = frontmatter_edit.blocks(f"---\n{text.rstrip()}\n---\n" if is_whole else text)
        except (InvalidRecord, FrontMatterError, FileNotFoundError):
            return None
        block = next((block for block in blocks if block.key == key), None)
        return msgspec.structs.replace(block, line=block.line - is_whole) if block else None

    def text(self, path: str) -> str | None:
        """Return the text of a file of the memory; None if it is missing or can't be read."""
        try:
            return self.snapshot.read(path)
        except (InvalidRecord, OSError):
            return None

    def body_line(self, path: str, body: str) -> int:
        """Return the line of the file (from 1) on which the body begins, the text below the front matter."""
        text = self.snapshot.read(path)
        return text.count("\n", 0, len(text) - len(body)) + 1


def unreadable(fault: Fault, code: str) -> Finding:
    """Return the finding about a file that can't be read: of the rule `code`, or of that for its kind of fault."""
    message = f"{fault.field}: {fault.message}" if fault.field else fault.message
    return Finding(_CODES.get(fault.about, code), fault.path, fault.line, message)


def closest(wanted: str, known: Iterable[str]) -> str:
    """Return a hint such as `did you mean §2.1 or §2.2?` with up to three similar names; "" if none is similar."""
    known = list(known)
    alike = [name for name in known if name[:3] == wanted[:3]]
    found = get_close_matches(wanted, alike or known, n=3, cutoff=0.75)
    return f"did you mean {' or '.join(found)}?" if found else ""


def _item(line: str) -> str:
    item = line.strip().removeprefix("- ").strip()
    if item.startswith(("'", '"')):
        quoted = frontmatter.read_canonical(f"x: {item}\n")
        item = str(quoted["x"]) if quoted else item[1:-1].replace("''", "'")
    return item
