"""When files and lines of a memory were first committed, and which others were in the history at that moment.

Two clones can give one id to two records. If a text refers to such an id, it means the record that was in the history
when the text was committed. The other record was made in another clone, and a merge brought it later.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

import msgspec

from memctl.git import blame, git, history, trees
from memctl.git.repository import Repository

_LARGEST = 2 * 1024 * 1024  # bytes of a file that is searched for a mark


class Origin(msgspec.Struct, frozen=True):
    """A file of a memory, or one line of a file, of which the first commit is looked up.

    `path` is relative to `.memory/`. `line` is the line's number in the present file, counted from 1; 0 means the whole
    file.

    `mark` is needed where the two sides of a merge each added a file at `path`. It is a text that only one of the two
    files contains, such as a record's memory_id; the first commit is then the one that added the file with this text.
    With "" the file's text does not matter.
    """

    path: str
    line: int = 0
    mark: str = ""


class History(Protocol):
    """Answers about a memory's Git history: when a file or line was added, and which others were there already."""

    def times_added(self, origins: Collection[Origin]) -> Mapping[Origin, int]:
        """Return when each file or line was first committed, in Unix seconds; uncommitted ones are left out."""

    def visible_to(self, writers: Collection[Origin], things: Collection[Origin]) -> Mapping[Origin, frozenset[Origin]]:
        """Return, for each of `writers`, which of the `things` were in the history when the writer was first committed.

        `writers` are files or lines that refer to something, and `things` are those that they may refer to. Things that
        the writer's own commit added count, too. A writer that is not committed yet gets all of `things`.
        """

    def paths_ever(self, folder: str) -> Collection[str]:
        """Return every path below a folder that any commit ever had. Paths are relative to `.memory/`."""

    def pushed(self, origins: Collection[Origin]) -> frozenset[Origin]:
        """Return those files, and lines of files, whose file is in the history of a remote-tracking ref."""


class _Addition(msgspec.Struct, frozen=True):
    """A commit that added a file, when its change was first made, and the blob."""

    commit: str
    seconds: int
    blob: str


class FirstCommits:
    """Answers about a memory's Git history up to HEAD and, during a merge, up to the commit that is being merged.

    What paths there ever were is asked of all refs, so that a number that another branch has is not given again.

    `prefix` is the path of the memory's `.memory/` folder, relative to the worktree's top. If `revision` is not "",
    only the history of that revision is read; `--remotes` is that of all remote-tracking refs.
    """

    def __init__(self, repository: Repository, prefix: str, revision: str = "") -> None:
        self._repository = repository
        self._prefix = prefix
        self._revision = revision
        self._commits: dict[Origin, str] = {}
        # Several commits may have added one file, such as when two clones renamed a file in the same way.
        self._all_commits: dict[Origin, set[str | None]] = {}
        self._seconds: dict[str, int] = {}
        self._tips = [revision] if revision else _tips(repository)

    def times_added(self, origins: Collection[Origin]) -> Mapping[Origin, int]:
        """Return when each file or line was first committed, in Unix seconds; uncommitted ones are left out."""
        self._find_commits(origins)
        self._find_dates({self._commits[origin] for origin in origins if origin in self._commits})
        return {o: self._seconds[self._commits[o]] for o in origins if o in self._commits}

    def is_cut_off(self, origins: Collection[Origin]) -> bool:
        """Return whether some of the files or lines may be older than the history of this shallow clone."""
        if not (boundary := self._repository.shallow()):
            return False
        self._find_commits(origins)
        return any(self._commits.get(origin) in boundary for origin in origins)

    def visible_to(self, writers: Collection[Origin], things: Collection[Origin]) -> Mapping[Origin, frozenset[Origin]]:
        """Return, for each of `writers`, which of the `things` were in the history when the writer was first committed.

        `writers` are files or lines that refer to something, and `things` are those that they may refer to. Things that
        the writer's own commit added count, too. A writer that is not committed yet gets all of `things`.
        """
        self._find_commits({*writers, *things})
        thing_commits = {thing: self._all_commits.get(thing) or {self._commits.get(thing)} for thing in things}
        all_thing_commits = {commit for commits in thing_commits.values() for commit in commits if commit}
        writer_commits = {self._commits[writer] for writer in writers if writer in self._commits}
        reached = _reachable(self._repository, writer_commits, all_thing_commits)
        visible = {}
        for writer in writers:
            commit = self._commits.get(writer)
            visible[writer] = frozenset(
                thing for thing in things if commit is None or not reached[commit].isdisjoint(thing_commits[thing])
            )
        return visible

    def paths_ever(self, folder: str) -> Collection[str]:
        """Return every path below a folder that a commit of any ref ever had. Paths are relative to `.memory/`."""
        below, revision = f"{self._prefix}/{folder}", self._revision
        paths = history.paths_ever(self._repository, below, everywhere=not revision, revision=revision)
        return {path[len(self._prefix) + 1 :] for path in paths}

    def pushed(self, origins: Collection[Origin]) -> frozenset[Origin]:
        """Return those files, and lines of files, whose file is in the history of a remote-tracking ref."""
        whole = {origin: Origin(origin.path, mark=origin.mark) for origin in origins}
        found = FirstCommits(self._repository, self._prefix, "--remotes").times_added(set(whole.values()))
        return frozenset(origin for origin, file in whole.items() if file in found)

    def _find_commits(self, origins: Iterable[Origin]) -> None:
        missing = [origin for origin in dict.fromkeys(origins) if origin not in self._commits]
        if not self._tips:
            return
        lines: dict[str, list[Origin]] = {}
        for origin in missing:
            if origin.line:
                lines.setdefault(origin.path, []).append(origin)
        for path, wanted in lines.items():
            numbers = (origin.line for origin in wanted)
            commits = blame.line_writers(self._repository, f"{self._prefix}/{path}", numbers, self._revision)
            self._commits |= {origin: commits[origin.line] for origin in wanted if origin.line in commits}
        self._find_file_commits([origin for origin in missing if not origin.line])

    def _find_file_commits(self, wanted: Collection[Origin]) -> None:
        additions = _additions(self._repository, self._tips, {f"{self._prefix}/{origin.path}" for origin in wanted})
        blobs = [
            addition.blob
            for origin in wanted
            if origin.mark
            for addition in additions.get(f"{self._prefix}/{origin.path}", ())
        ]
        texts = trees.blobs(self._repository, blobs, _LARGEST)
        for origin in wanted:
            mark = origin.mark.encode()
            adders = additions.get(f"{self._prefix}/{origin.path}", ())
            matching = [addition for addition in adders if not mark or mark in (texts[addition.blob] or b"")]
            if matching:
                # In each clone the same.
                first = min(matching, key=lambda addition: (addition.seconds, addition.commit))
                self._commits[origin], self._seconds[first.commit] = first.commit, first.seconds
                self._all_commits[origin] = {addition.commit for addition in matching}

    def _find_dates(self, commits: Iterable[str]) -> None:
        missing = sorted(commit for commit in commits if commit not in self._seconds)
        if missing:
            args = [*git.LOG, "--no-walk=unsorted", "--format=%H %at", "--stdin"]
            out = git.read(args, self._repository.top, "".join(f"{name}\n" for name in missing).encode())
            pairs = (line.split() for line in out.decode().splitlines())
            self._seconds |= {name: int(seconds) for name, seconds in pairs}


def _tips(repository: Repository) -> list[str]:
    """During a merge the commit of the other side counts, too."""
    if not repository.has_head():
        return []
    return ["HEAD", *repository.merging()]


def _additions(repository: Repository, tips: Iterable[str], paths: Collection[str]) -> dict[str, list[_Addition]]:
    """A merge adds a path that neither side has."""
    if not paths:
        return {}
    args = [*git.LOG, "--topo-order", "-m", "--raw", "--no-abbrev", "-z", "--no-renames"]
    args += ["--diff-filter=A", "--format=%x1e%H %at"]
    additions: dict[str, list[_Addition]] = {}
    commit, seconds, blob = "", 0, ""
    for item in git.read([*args, *tips, "--", *sorted(paths)], repository.top).split(b"\0"):
        item = item.lstrip(b"\n")
        if item.startswith(b"\x1e"):
            commit, _, when = item[1:].decode().partition(" ")
            seconds = int(when)
        elif item.startswith(b":"):
            blob = item.split()[3].decode()
        elif item:
            additions.setdefault(git.decode_path(item), []).append(_Addition(commit, seconds, blob))
    return additions


def _reachable(repository: Repository, writers: Collection[str], things: Collection[str]) -> dict[str, frozenset[str]]:
    """Only the commits since the last common ancestor of all `things` are read."""
    if not writers or not things:
        return dict.fromkeys(writers, frozenset())
    bases = repository.merge_bases("--octopus", *sorted(things))
    revisions = [*writers, *things, *(f"^{base}^@" for base in bases)]
    args = ["rev-list", "--parents", "--topo-order", "--reverse", "--stdin"]
    out = git.read(args, repository.top, "".join(f"{name}\n" for name in revisions).encode())
    reached: dict[str, frozenset[str]] = {}
    nothing: frozenset[str] = frozenset()
    for line in out.decode().splitlines():
        commit, *parents = line.split()
        own = {commit} if commit in things else ()
        reached[commit] = nothing.union(own, *(reached.get(parent, nothing) for parent in parents))
    return {writer: reached.get(writer, nothing) for writer in writers}
