"""Find the lines that records' references to lines of a file mean now, after later commits have changed the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from memctl.git import history, line_map, trees
from memctl.git.introductions import Introduction, Numbered, numbered
from memctl.record import parser
from memctl.record.errors import InvalidRecord
from memctl.record.pages import code_lines
from memctl.record.record import Record
from memctl.store import files
from memctl.store.memory import Memory
from memctl.text import timestamps

# Versions of a file that are compared with the current one, each by a process of 4 ms; lines of others are not
# followed.
_MOST_VERSIONS = 25
_MOST_LINES = 5_000  # lines of one reference that are followed
# Seconds before a commit of code in which a record may already mean the lines of that commit: authors mostly record the
# reason before they commit the change.
_SOON = 3_600


class CurrentFile(msgspec.Struct, frozen=True):
    """The present version of a file, in which referenced lines are looked for.

    - `path`: its path; `former`: the paths that it had before renames.
    - `blob`: its blob id; `lines`: its number of lines.
    - `comparable`: how `git diff` is to name this version: by the blob id, or by the path in the worktree with `./`
      before it.
    - `start`: the commit from which the file's history is read, "" if there is none.
    """

    path: str
    former: frozenset[str]
    comparable: str
    blob: str
    lines: int
    start: str


class LineReference(msgspec.Struct, frozen=True):
    """A record's reference to lines of a file, and the lines that it means now. Lines count from 1.

    - `recorded`: the first and last line, as the record says.
    - `commit`: the commit that recorded the reference, and whose version of the file these lines are in; "" if there is
      none yet or it is unknown.
    - `now`: the first and last of these lines in the present file; None if the file has none of them any more.
    - `instead`: if `now` is None, the lines of the present file that replaced them.
    - `is_followed`: False if it is unknown which lines the reference means now.
    """

    recorded: tuple[int, int]
    commit: str = ""
    now: tuple[int, int] | None = None
    instead: range = range(0)
    is_followed: bool = True

    def covers(self, line: int | None) -> bool:
        """Return whether a line of the present file (from 1) is among the lines that the reference means now.

        The result is False if `line` is None.
        """
        return line is not None and self.now is not None and self.now[0] <= line <= self.now[1]


class _RecordedLines(msgspec.Struct, frozen=True):
    """A record's reference: the file's path when it was recorded, and the first and last line."""

    path: str
    lines: tuple[int, int]


def follow(
    memory: Memory, file: CurrentFile, references: Iterable[tuple[Record, str]], known: Numbered | None = None
) -> dict[tuple[str, str], LineReference]:
    """Return the lines that references of records mean now.

    `references` are pairs of a record and the text of one of its code references, such as "src/a.py:10-20"; references
    to other files, or without lines, are ignored. The keys of the result are the record's path and the reference's
    text. In a partial clone nothing is fetched. A caller that follows lines of many files gives in `known` what
    `read_history` has read for all. Raises GitFailed if Git fails.
    """
    wanted = {
        (record.path, ref): _RecordedLines(*where)
        for record, ref in references
        if (where := code_lines(ref)) is not None and (where[0] == file.path or where[0] in file.former)
    }
    if not wanted:
        return {}
    paths = {path for path, _ in wanted}
    history_of_file = _History(memory, file, paths, read_history(memory, [file], paths) if known is None else known)
    made = {key: history_of_file.recorded(*key) for key in wanted}
    versions = _Versions(memory, file, history_of_file, [(made[key], where.path) for key, where in wanted.items()])
    return {key: _line_reference(versions, where, made[key]) for key, where in wanted.items()}


def read_history(memory: Memory, files: Collection[CurrentFile], records: Iterable[str]) -> Numbered:
    """Return all introductions of the texts of some files, by present and former paths, and of records at `records`."""
    start = next((file.start for file in files), "")
    paths = {path for file in files for path in (file.path, *file.former)}.union(map(memory.tracked, records))
    return numbered(memory.repository, paths, start) if start else {}


def _line_reference(versions: _Versions, where: _RecordedLines, introduction: int | None) -> LineReference:
    lines = where.lines
    if introduction is None:  # the reference is not committed yet, so it means the current lines
        return LineReference(lines, now=lines if where.path == versions.file.path else None)
    commit = versions.history.all[introduction].commit
    moved = versions.since(introduction, where)
    if moved is None:
        return LineReference(lines, commit, is_followed=False)
    lines_now = [now for line in range(lines[0], min(lines[1] + 1, lines[0] + _MOST_LINES)) if (now := moved.now(line))]
    if not lines_now:
        return LineReference(lines, commit, None, moved.replacement(lines[0]))
    return LineReference(lines, commit, (lines_now[0], lines_now[-1]))


class _History:
    """The versions of a file and of some records; `all` has each version with its commit, the latest first."""

    def __init__(self, memory: Memory, file: CurrentFile, records: Collection[str], known: Numbered) -> None:
        tracked = {memory.tracked(path): path for path in records}
        rows = dict(row for path in {file.path, *file.former, *tracked} for row in known.get(path, ()))
        self.all: Sequence[Introduction] = [rows[number] for number in sorted(rows)]
        self.shallow = memory.repository.shallow()
        self._of: dict[str, list[int]] = {}
        for place, introduction in enumerate(self.all):
            self._of.setdefault(tracked.get(introduction.path, introduction.path), []).append(place)
        # A partial clone lacks earlier texts, so the latest counts there. A record with one version has the reference.
        self._texts: Mapping[str, bytes | None] = {}
        commit, differing = memory.differing
        changed = [path for path in records if len(self._of.get(path, ())) > 1 or memory.tracked(path) in differing]
        if not memory.repository.is_partial and (changed or not commit):
            blobs = (self.all[place].blob for path in changed or records for place in self._of.get(path, ()))
            self._texts = trees.blobs(memory.repository, blobs, files.MAX_BYTES)

    def recorded(self, record: str, reference: str) -> int | None:
        origin = None
        for place in self._of.get(record, ()):
            text = self._texts.get(self.all[place].blob)
            if text and reference not in _references(text, record):
                break
            origin = place
            if not text:
                break
        return origin

    def next(self, path: str, place: int) -> Introduction | None:
        later = [other for other in self._of.get(path, ()) if other < place]
        return self.all[later[-1]] if later else None


def _references(text: bytes, path: str) -> list[str]:
    try:
        return parser.parse(text.decode(errors="replace"), path)[0].code_refs
    except InvalidRecord:
        return []


class _Versions:
    """Compares earlier versions of a file with the current one, each once."""

    def __init__(
        self, memory: Memory, file: CurrentFile, versions: _History, recorded: Iterable[tuple[int | None, str]]
    ) -> None:
        self.file = file
        self.history = versions
        self._memory = memory
        places = {(versions.all[place].commit, path) for place, path in recorded if place is not None}
        self._blobs = trees.blob_ids_at(memory.repository, [*places, (file.start, file.path)] if places else [])
        self._maps: dict[tuple[str, str], line_map.LineMap | None] = {}

    def since(self, introduction: int, where: _RecordedLines) -> line_map.LineMap | None:
        """Return the map from the lines of a reference to current lines; None if it is unknown.

        `introduction` is the index in the history of the record's version. The reference means lines of the file in
        that commit, with two exceptions. It means lines of the file's next version if the commit's version is shorter,
        or if the next version was committed within an hour and added these lines.
        """
        record = self.history.all[introduction]
        if record.commit in self.history.shallow:  # a shallow clone lacks the version that the record was made with
            return None
        before = self._blobs.get((record.commit, where.path), "")
        first = self._map(before, self.file.blob)
        if before and first is None:
            return None
        later = self.history.next(where.path, introduction)
        if first is None or where.lines[1] > self.file.lines - first.growth:
            return self._map(later.blob if later is not None else self.file.blob, self.file.blob)
        following = self._next_version(record, later, before)
        change = self._map(before, following)
        is_new = change is not None and change.has_new_line(where.lines)
        return self._map(following, self.file.blob) if is_new else first

    def _next_version(self, record: Introduction, later: Introduction | None, before: str) -> str:
        """A record's author may already have had the next version on the disk."""
        if later is None:
            in_head = self._blobs.get((self.file.start, self.file.path))
            is_soon = timestamps.to_epoch(self._memory.now) - record.seconds <= _SOON
            return self.file.blob if is_soon and in_head == before else ""
        if later.seconds - record.seconds > _SOON or later.blob == before:
            return ""
        # A version that came by a merge was on another disk.
        return later.blob if history.is_ancestor(self._memory.repository, record.commit, later.commit) else ""

    def _map(self, before: str, after: str) -> line_map.LineMap | None:
        if not before or before == after:
            return line_map.LineMap() if before else None
        if (before, after) not in self._maps and len(self._maps) < _MOST_VERSIONS:
            comparable = self.file.comparable if after == self.file.blob else after
            self._maps[before, after] = line_map.compare(self._memory.repository, before, comparable)
        return self._maps.get((before, after))
