"""Follow records' references to lines of a file, from the commit where they were recorded to the lines as they are
now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from memctl.git import history, line_map, trees
from memctl.git.introductions import Introduction, introductions
from memctl.git.line_map import LineMap
from memctl.record import parser
from memctl.record.errors import InvalidRecord
from memctl.record.pages import code_lines
from memctl.record.record import Record
from memctl.store import files
from memctl.store.memory import Memory
from memctl.text import timestamps

# Versions of a file that are compared with what it is now, each by a process of 4 ms; the lines of further ones are not
# followed.
_MOST_VERSIONS = 25
_MOST_LINES = 5_000  # of one reference that are followed
# Seconds: who changes code mostly records why before the commit of the change, and counts the lines as they will be.
_SOON = 3_600


class CurrentFile(msgspec.Struct, frozen=True):
    """A file as it is now: its path, the names that it had before, its blob and how many lines it has.

    Git compares it as `comparable`: the blob, or the file of the worktree by its path with `./` in front. `start` is
    the commit that its history is read from, "" for none.
    """

    path: str
    former: frozenset[str]
    comparable: str
    blob: str
    lines: int
    start: str


class LineReference(msgspec.Struct, frozen=True):
    """A reference of a record to lines: which they were (first and last), in the commit where that was recorded (""
    if it has none yet, or none is known), and which of them are in the file now: first and last, None if none is.

    `instead` are the lines in their place. `is_followed` says whether it is known what became of them.
    """

    recorded: tuple[int, int]
    commit: str = ""
    now: tuple[int, int] | None = None
    instead: range = range(0)
    is_followed: bool = True

    def covers(self, line: int | None) -> bool:
        return line is not None and self.now is not None and self.now[0] <= line <= self.now[1]


class _Where(msgspec.Struct, frozen=True):
    """A record's reference: the file, by its name at that time, and the lines."""

    path: str
    lines: tuple[int, int]


def follow(
    memory: Memory, file: CurrentFile, references: Iterable[tuple[Record, str]]
) -> dict[tuple[str, str], LineReference]:
    """Return the lines that references mean now, by the record's path and the reference.

    Nothing is fetched. Raises GitFailed.
    """
    wanted = {
        (record.path, ref): _Where(*where)
        for record, ref in references
        if (where := code_lines(ref)) is not None and (where[0] == file.path or where[0] in file.former)
    }
    if not wanted:
        return {}
    known = _History(memory, file, {path for path, _ in wanted})
    made = {key: known.recorded(*key) for key in wanted}
    versions = _Versions(memory, file, known, [(made[key], where.path) for key, where in wanted.items()])
    return {key: _line_reference(versions, where, made[key]) for key, where in wanted.items()}


def _line_reference(versions: _Versions, where: _Where, made: int | None) -> LineReference:
    lines = where.lines
    if made is None:  # it was recorded just now, about what is there now
        return LineReference(lines, now=lines if where.path == versions.file.path else None)
    commit = versions.history.all[made].commit
    found = versions.since(made, where)
    if found is None:
        return LineReference(lines, commit, is_followed=False)
    there = [now for line in range(lines[0], min(lines[1] + 1, lines[0] + _MOST_LINES)) if (now := found.now(line))]
    if not there:
        return LineReference(lines, commit, None, found.replaced(lines[0]))
    return LineReference(lines, commit, (there[0], there[-1]))


class _History:
    """The texts of a file and of some records by the commits that brought them; `all` has every commit, latest
    first."""

    def __init__(self, memory: Memory, file: CurrentFile, records: Collection[str]) -> None:
        tracked = {memory.tracked(path): path for path in records}
        paths = sorted({file.path, *file.former, *tracked})
        self.all: Sequence[Introduction] = ()
        if file.start:
            self.all = list(introductions(memory.repository, paths, file.start))
        self.shallow = memory.repository.shallow()
        self._of: dict[str, list[int]] = {}
        for place, one in enumerate(self.all):
            self._of.setdefault(tracked.get(one.path, one.path), []).append(place)
        # A partial clone lacks earlier texts: there the latest one counts. A text that never changed has the reference.
        self._texts: Mapping[str, bytes | None] = {}
        commit, differing = memory.differing
        changed = [path for path in records if len(self._of.get(path, ())) > 1 or memory.tracked(path) in differing]
        if not memory.repository.is_partial and (changed or not commit):
            blobs = (self.all[place].blob for path in changed or records for place in self._of.get(path, ()))
            self._texts = trees.blobs(memory.repository, blobs, files.MAX_BYTES)

    def recorded(self, record: str, reference: str) -> int | None:
        """Return the place in `all` of the text since which a record has a reference; None if no commit has it."""
        found = None
        for place in self._of.get(record, ()):
            text = self._texts.get(self.all[place].blob)
            if text and reference not in _references(text, record):
                break
            found = place
            if not text:
                break
        return found

    def next(self, path: str, place: int) -> Introduction | None:
        """Return the version of a file that was committed next after a place in `all`."""
        later = [other for other in self._of.get(path, ()) if other < place]
        return self.all[later[-1]] if later else None


def _references(text: bytes, path: str) -> list[str]:
    """Return the references to code that a version of a record has; none if it can't be read."""
    try:
        return parser.parse(text.decode(errors="replace"), path)[0].code_refs
    except InvalidRecord:
        return []


class _Versions:
    """The versions of a file that references were recorded with, each compared once with the current one."""

    def __init__(
        self, memory: Memory, file: CurrentFile, versions: _History, made: Iterable[tuple[int | None, str]]
    ) -> None:
        self.file = file
        self.history = versions
        self._memory = memory
        places = {(versions.all[place].commit, path) for place, path in made if place is not None}
        self._blobs = trees.blobs_at(memory.repository, [*places, (file.start, file.path)] if places else [])
        self._maps: dict[tuple[str, str], LineMap | None] = {}

    def since(self, made: int, where: _Where) -> LineMap | None:
        """Return what became of lines that somebody recorded at a place in the history; None if that is unknown.

        They are lines of the commit's version. They are of the next one, which was not committed yet, if the other has
        no such line, or if it came soon and brought them.
        """
        record = self.history.all[made]
        if record.commit in self.history.shallow:  # what the file was when this was recorded
            return None
        before = self._blobs.get((record.commit, where.path), "")
        first = self._map(before, self.file.blob)
        if before and first is None:
            return None
        later = self.history.next(where.path, made)
        if first is None or where.lines[1] > self.file.lines - first.growth:
            return self._map(later.blob if later is not None else self.file.blob, self.file.blob)
        following = self._next_version(record, later, before)
        change = self._map(before, following)
        return (
            self._map(following, self.file.blob) if change is not None and change.is_first_with(where.lines) else first
        )

    def _next_version(self, record: Introduction, later: Introduction | None, before: str) -> str:
        """Return the version of the file that a record's author may already have had on the disk; "" if there is
        none."""
        if later is None:
            in_head = self._blobs.get((self.file.start, self.file.path))
            is_soon = timestamps.to_epoch(self._memory.now) - record.seconds <= _SOON
            return self.file.blob if is_soon and in_head == before else ""
        if later.seconds - record.seconds > _SOON or later.blob == before:
            return ""
        # What came by a merge was on another disk.
        return later.blob if history.is_ancestor(self._memory.repository, record.commit, later.commit) else ""

    def _map(self, before: str, after: str) -> LineMap | None:
        if not before or before == after:
            return LineMap() if before else None
        if (before, after) not in self._maps and len(self._maps) < _MOST_VERSIONS:
            comparable = self.file.comparable if after == self.file.blob else after
            self._maps[before, after] = line_map.compare(self._memory.repository, before, comparable)
        return self._maps.get((before, after))
