"""Git's lock on the index, held from before a branch moves until the index has the committed files.

`git commit` does nearly the same: it prepares the new index in another file, moves the branch, and then renames the
file to the index; the lock is not held here while a pre-commit hook runs (`IndexLock.guard`). So no commit of the user
can contain files that are being committed here, and nothing stays staged if the branch does not move.

The lock is the file `index.lock` beside the index. Before it is made, its text is written to a file in memctl's folder,
the note, which names the paths, the commit before, and the Git process that moves the branch. So a lock of a killed
memctl is recognised by its text. The next memctl finishes or removes it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from memctl.git import git, locks, private_files, trees
from memctl.git.repository import INDEX_NOTE, Repository
from memctl.git.status import mark

_NEXT = "next-index"  # the file beside it with the new index
PATIENCE = 4.0  # seconds to wait for another git process that holds the index
_ORPHAN_PATIENCE = 5.0  # seconds to wait for a Git process whose memctl was killed; hooks may keep it from ending
_TRIES = 4  # times that the next index is prepared without the lock; beside a loop of commits the last one is with it
_PAUSE = 0.005  # seconds between two tries to get the lock
_RAW = ("-z", "--raw", "--no-renames")
# Of commits that it is given from their parents, of a first commit all files.
_DIFFERENCES = ("diff-tree", "--stdin", "-r", "--root", "--no-commit-id", *_RAW)
# The options with which a Git command reads `pathspecs` from its standard input.
FROM_STDIN = ("--pathspec-from-file=-", "--pathspec-file-nul")


class Note(msgspec.Struct, frozen=True):
    """The text of a lock: who holds it for what.

    `memctl` is the process that holds it, since `began` (ns since 1970). `git` is the process that moves the branch
    from the commit `parent` ("" for none) to one with new versions of the files `paths`, relative to the worktree's
    top.
    """

    memctl: int
    began: int
    git: int
    parent: str
    paths: tuple[str, ...]


class IndexLock:
    """The held lock on a worktree's index, and the file in which the next index is prepared.

    `head` is a pair: HEAD's branch ("" if detached) and commit ("" for none) when the lock was taken. `added` are the
    paths of other files that a hook added to the commit.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._index = Path(os.path.realpath(repository.git_dir / "index"))
        self.lock = self._index.with_name("index.lock")
        self._note, self._next = repository.private / INDEX_NOTE, repository.private / _NEXT
        self.head = "", ""
        self.added: list[str] = []
        self._is_held = self._is_published = self.is_unfinished = False
        self._files: Sequence[str] = ()  # that are committed
        self._stamp = b""  # of the user's index that was copied
        self._looking: git.Process | None = None
        self._staged = b""  # how the files differ between HEAD and the next index, as Git's raw format has it

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables with which Git uses the prepared index instead of the user's."""
        return {"GIT_INDEX_FILE": str(self._next)}

    def stage(self, files: Mapping[str, bytes | None]) -> None:
        """Prepare the next index: the user's index, with `files` as they are on the disk. Raises GitFailed.

        The files whose content is None are left out. Conflicts in the files are resolved by it.
        """
        self._files = list(files)
        self.copy()
        if specs := pathspecs(path for path, content in files.items() if content is not None):
            git.write(["add", "--sparse", "--force", *FROM_STDIN], self._repository.top, specs, self.variables)
        if specs := pathspecs(path for path, content in files.items() if content is None):
            options = ("--cached", "--force", "--quiet", "--sparse", "--ignore-unmatch")
            git.write(["rm", *options, *FROM_STDIN], self._repository.top, specs, self.variables)

    def path_options(self) -> list[str]:
        """Return the options with which a Git command reads the paths of the staged files from a file."""
        file = self._next.with_name(f"{_NEXT}-paths")
        file.write_bytes(pathspecs(self._files))
        return [f"--pathspec-from-file={file}", "--pathspec-file-nul"]

    def watch(self) -> None:
        """Note what is staged of the files, so that `publish_if_moved` sees if a hook commits something else.

        The Git process that will look at the commit is started before the index is locked.
        """
        self._looking = git.start_answering(_DIFFERENCES, self._repository.top)
        args = ["diff-index", "--cached", *_RAW, "HEAD", "--"]
        groups = trees.batched(self._files)
        found = (git.try_read([*args, *some], self._repository.top, self.variables) for some in groups)
        self._staged = b"".join(part or b"" for part in found)

    def guard(self, process: git.Process, message: bytes) -> None:
        """Take one step beside a `git commit` that uses the next index; called again and again until it ends.

        The index is locked only once Git waits for the message, which it reads after the pre-commit hook.
        """
        if self._is_held:
            self.publish_if_moved()
        elif git.has_read(process):
            self.take(self._files, process.pid)
            git.feed(process, message)

    def restage(self, files: Mapping[str, bytes | None]) -> None:
        """Prepare the next index again if the user's index has changed since."""
        if not self.is_current:
            self.stage(files)

    @property
    def is_current(self) -> bool:
        """Whether the user's index is still the one that the next index was made from."""
        return self._stamp == self._find_stamp()

    def has_changes(self, paths: Iterable[str]) -> bool:
        """Return whether one of some files differs between the next index and HEAD; raises GitFailed."""
        args, top = ["diff-index", "--cached", "--name-only", "HEAD", "--"], self._repository.top
        return any(git.read([*args, *some], top, extra=self.variables) for some in trees.batched(list(paths)))

    def reset(self, paths: Iterable[str]) -> None:
        """Set some files of the next index to their versions in HEAD. Raises GitFailed."""
        args = ["reset", "--quiet", *FROM_STDIN]
        git.write(args, self._repository.top, pathspecs(paths), self.variables)

    def publish(self) -> None:
        """Replace the user's index by the next one, and end the lock."""
        self.replace_index()
        self.release()

    def publish_if_moved(self) -> None:
        """Replace the user's index once HEAD has moved and Git has written the next index, and end the lock.

        The user's Git need not wait for a post-commit hook. The hook finds the next index where it was. The files that
        another hook has changed in the commit get their versions in HEAD. Called again, this does nothing.
        """
        writing = self._next.with_name(f"{_NEXT}.lock")
        if self._is_published or self._repository.branch() == self.head:
            return
        if writing.exists():  # looked for after the branch: Git makes this file before it moves the branch
            return
        try:
            is_current = self.is_current
            if self._is_changed_by_hooks() or not is_current:
                if not is_current:  # the user has staged something while a hook ran
                    self._copy_index()
                self.reset([*self._files, *self.added])
        except git.GitFailed:  # the commit is made all the same
            self.is_unfinished = True
        else:
            copy = self._next.with_name(f"{_NEXT}-copy")
            _copy(self._next, copy)
            os.replace(copy, self._index)
        self.unlock()
        self._is_published = True

    def _is_changed_by_hooks(self) -> bool:
        """Return whether a hook has changed the commit, and find out which other files it added; raises GitFailed.

        A hook such as `git add -u` changes only the index of the commit, so the user's index would revert them. Files
        that the user has staged stay staged.
        """
        if self._looking is None:
            return False
        commit = self._repository.branch()[1].encode()
        committed = git.finish(self._looking, _DIFFERENCES, commit + b"\n")
        if committed == self._staged:
            return False
        parent = self.head[1]
        args = ["diff-index", "--cached", "--name-only", "-z", "--no-renames", parent] if parent else ["ls-files", "-z"]
        staged = git.read(args, self._repository.top, extra=self.variables)
        others = set(committed.split(b"\0")[1::2]) - set(staged.split(b"\0"))
        self.added = sorted({git.decode_path(path) for path in others} - set(self._files))
        return True

    def replace_index(self) -> None:
        """Replace the user's index by the next one."""
        os.replace(self._next, self._index)

    def copy(self) -> None:
        """Make the next index a copy of the user's index."""
        self._remove_leftovers()
        self._copy_index()

    def _copy_index(self) -> None:
        self._stamp = self._find_stamp()
        with suppress(FileNotFoundError):
            _copy(self._index, self._next)

    def _find_stamp(self) -> bytes:
        try:
            return mark(self._index)[0]
        except FileNotFoundError:
            return b""

    def _remove_leftovers(self) -> None:
        for file in self._note.parent.glob(f"{_NEXT}*"):  # a killed Git leaves its lock on the copy, too
            file.unlink(missing_ok=True)

    def take(self, paths: Iterable[str], process: int) -> None:
        """Take the lock, waiting while another process holds it; raises LockHeld after a while."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self.head = self._repository.branch()
            note = Note(os.getpid(), time.time_ns(), process, self.head[1], tuple(paths))
            private_files.replace_file(self._note, msgspec.json.encode(note))
            if self.make():
                if self._repository.branch() == self.head:
                    self._is_held = True
                    return
                self.lock.unlink()
            elif time.monotonic() > deadline:
                self._note.unlink()
                raise locks.LockHeld(self.lock)
            time.sleep(_PAUSE)

    def make(self) -> bool:
        """Make the lock with the note's text at once; return False if there is a lock already."""
        try:
            os.link(self._note, self.lock)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
            try:
                descriptor = os.open(self.lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except FileExistsError:
                return False
            with open(descriptor, "wb") as stream:
                stream.write(self._note.read_bytes())
        return True

    def release(self, *, keep_note: bool = False) -> None:
        """Remove the lock and what was prepared; with `keep_note` the next memctl will look at the index again."""
        self.unlock()
        if self._looking is not None:
            git.end(self._looking)
        self._remove_leftovers()
        if not keep_note:
            self._note.unlink(missing_ok=True)

    def unlock(self) -> None:
        """Remove the lock, unless it is one that somebody else has made since a user deleted this one."""
        if self.is_ours():
            self.lock.unlink(missing_ok=True)

    def stale_note(self) -> Note | None:
        """Return the note that a killed memctl left; None if there is none."""
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(self._note.read_bytes(), type=Note)
        return None

    def is_ours(self) -> bool:
        """Return whether the index is locked by the memctl that wrote the note."""
        with suppress(OSError):
            return self.lock.read_bytes() == self._note.read_bytes()
        return False


def _copy(source: Path, target: Path) -> None:
    """By its time Git knows which files may have changed since, and must be read again."""
    status = os.stat(source)
    target.write_bytes(source.read_bytes())
    os.chmod(target, status.st_mode & 0o777)
    os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


@contextmanager
def prepare(repository: Repository, files: Mapping[str, bytes | None], *, hooks: bool) -> Iterator[IndexLock]:
    """Prepare the next index with `files` for a `git commit` in the `with` block, which locks the index by `guard`.

    They are bytes by path, None for a deletion. `hooks` says that a pre-commit hook runs, which may change the commit.
    The caller holds memctl's lock for writes. Raises GitFailed.
    """
    recover(repository)
    held = IndexLock(repository)
    try:
        held.stage(files)
        if hooks:
            held.watch()
        yield held
    finally:
        held.release(keep_note=held.is_unfinished)


@contextmanager
def hold(repository: Repository, files: Mapping[str, bytes | None], process: int) -> Iterator[IndexLock]:
    """Lock the index during the `with` block, in which the Git process `process` commits `files`.

    They are bytes by path, None for a deletion. The next index has them when the block begins; it is prepared before
    the lock is taken, since the user's Git fails while the index is locked. The caller holds memctl's lock for writes.
    Raises LockHeld if another process keeps the index locked, and GitFailed.
    """
    recover(repository)
    held = IndexLock(repository)
    for left in reversed(range(_TRIES)):
        held.stage(files)
        held.take(files, process)
        if not left or held.is_current:
            break
        held.unlock()
    try:
        held.restage(files)
        yield held
    finally:
        held.release()


def recover(repository: Repository) -> None:
    """Finish or remove the lock of a memctl that was killed while it held the index.

    If the branch moved, the index gets the committed files. The caller holds memctl's lock for writes, so that no other
    memctl is at work.
    """
    held = IndexLock(repository)
    note = held.stale_note()
    if note is None:
        return
    is_ours = held.is_ours()
    deadline = time.monotonic() + _ORPHAN_PATIENCE
    while (is_alive := git.is_running(note.git)) and is_ours and time.monotonic() < deadline:
        time.sleep(_PAUSE)
    is_finished = True
    if repository.branch()[1] != note.parent:
        if not is_ours and not held.make():  # a user has deleted it, and another Git process holds a new one
            return
        try:
            held.copy()
            held.reset(note.paths)
            held.replace_index()
        except git.GitFailed:
            is_finished = False
    held.release(keep_note=is_alive or not is_finished)


def recover_if_idle(repository: Repository) -> None:
    """Finish or remove the lock that a killed memctl left, unless another memctl is at work.

    Reading commands do so, too, since the user's Git can't commit before.
    """
    with suppress(OSError):  # the file system is read-only
        descriptor = private_files.open_file(repository.shared / "lock", os.O_RDWR | os.O_CREAT)
        try:
            if private_files.try_lock(descriptor):
                recover(repository)
        finally:
            os.close(descriptor)


def pathspecs(paths: Iterable[str]) -> bytes:
    """Return the input for a git command that works on some paths, with its options to read them from stdin."""
    return b"".join(b":(top,literal)" + os.fsencode(path) + b"\0" for path in paths)
