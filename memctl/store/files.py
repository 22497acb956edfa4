"""Files below `.memory/`: read within limits of size, written whole or not at all, never through a symbolic link."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from memctl.errors import MemctlError
from memctl.git import private_files
from memctl.record import frontmatter
from memctl.record.errors import Fault, InvalidRecord, NotRegularFile, NotText
from memctl.record.kinds import BY_FOLDER, CHECKPOINTS, SESSIONS

if TYPE_CHECKING:
    from memctl.record.change import Write

MAX_BYTES = 2 * 1024 * 1024  # of one record; a model could not read a larger one anyway
_TEMPORARY = ".memctl-"
_PROJECT, _PAGES = "project.md", ("sections", "details")  # as `record.pages` has them, which is slow to import
_READING = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_SYNC_EACH = 32  # up to so many files are flushed one by one; for more, the whole disk is flushed


def home_folder() -> Path:
    """Return the user's home folder; for a user without one, a path that has no files below it (/dev/null).

    Containers run programs as users without HOME and without an entry in /etc/passwd.
    """
    home = os.path.expanduser("~")
    return Path(home if os.path.isabs(home) else os.devnull)


def locate(folder: Path, path: str) -> Path:
    """Return the absolute path of `path` below the memory's `folder`; raises MemctlError if it could lead out."""
    parts = path.split("/")
    if os.path.isabs(path) or ".." in parts or "" in parts or "\0" in path:
        raise MemctlError(f"{path!r} must be a path inside the memory")
    current = folder
    for part in ("", *parts):
        current = current / part
        if current.is_symlink():
            raise MemctlError(
                f"{current} is a symbolic link",
                "memctl does not follow links in a memory: replace the link with the file or folder",
            )
    return current


def read(folder: Path, path: str) -> str:
    """Return the text of a file of the memory, with LF line ends.

    Raises FileNotFoundError, or InvalidRecord if it is too large, no regular file or not UTF-8.
    """
    return FolderReader(folder).readable(path)


def read_if_there(folder: Path, path: str) -> str | None:
    """Return the text of a file of the memory as `read` does; None if there is no file at the path."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return read(folder, path)
    return None


class FolderReader:
    """A reader of many files of a memory. It looks only once whether a folder is a link, which saves time."""

    def __init__(self, folder: Path) -> None:
        self._top = os.fspath(folder)  # paths are strings: reading 10,000 records with Path took three times as long
        self._checked_folders = {""}  # folders that are no links and lie in no links

    def read(self, path: str, status: os.stat_result | None = None) -> str:
        """Return the text of a file, with LF line ends.

        `status` is the file's `os.lstat` if the caller has it already. Raises FileNotFoundError, or InvalidRecord if
        the file is too large, no regular file or not UTF-8.
        """
        file = f"{self._top}/{path}"
        status = status or os.lstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise not_regular(path)
        if status.st_size > MAX_BYTES:
            raise too_large(path, status.st_size)
        parent = path.rpartition("/")[0]
        if parent not in self._checked_folders:
            self._refuse_links(path)
            self._checked_folders.add(parent)
        return decode(_content(file, status.st_size), path)

    def readable(self, path: str) -> str:
        """Return the text of a file as `read` does, but raise InvalidRecord if the user has no right to read it."""
        try:
            return self.read(path)
        except PermissionError as error:
            raise InvalidRecord([Fault(path, 1, "", f"the file can't be read: {error.strerror}")]) from None

    def _refuse_links(self, path: str) -> None:
        end = path.find("/")
        while end >= 0:
            if stat.S_ISLNK(os.lstat(f"{self._top}/{path[:end]}").st_mode):
                fault = Fault(path, 1, "", f"its folder {path[:end]} is a symbolic link, which is not followed")
                raise NotRegularFile([fault])
            end = path.find("/", end + 1)


def contents(folder: Path, paths: Iterable[str]) -> dict[str, bytes | None]:
    """Return the bytes of some files of the memory, by path; None for a missing file."""
    texts: dict[str, bytes | None] = {}
    for path in paths:
        try:
            texts[path] = locate(folder, path).read_bytes()
        except FileNotFoundError:
            texts[path] = None
    return texts


def _content(file: str, size: int) -> bytes:
    descriptor = os.open(file, _READING)
    try:
        content = os.read(descriptor, size + 1)  # a file object takes half as long again
    finally:
        os.close(descriptor)
    if len(content) == size:
        return content
    with open(file, "rb") as stream:  # it changed meanwhile, or was not read in one piece
        return stream.read()


def not_regular(path: str) -> NotRegularFile:
    """Return the error for a path that is a link, folder or device instead of a regular file."""
    return NotRegularFile(
        [Fault(path, 1, "", "the path is not a regular file: in a memory, memctl reads no links, folders or devices")]
    )


def too_large(path: str, size: int) -> InvalidRecord:
    """Return the error for a file of `size` bytes, more than MAX_BYTES."""
    return InvalidRecord([Fault(path, 1, "", f"the file has {size:,} bytes; memctl reads at most {MAX_BYTES:,}")])


def decode(data: bytes, path: str) -> str:
    """Return the text of a file's bytes, with LF line ends; raises InvalidRecord if they are not UTF-8."""
    try:
        return frontmatter.clean(data.decode())
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise NotText([Fault(path, line, "", f"the file is not UTF-8 text (byte {error.start})")], data) from None


def prepare(folder: Path, writes: Iterable[Write]) -> list[tuple[Path, Path]]:
    """Write the text of each Write to a temporary file, and return pairs: the temporary file and the final file.

    Both files are in the same folder. `folder` is the memory's `.memory/`. The texts are flushed to the disk. Raises
    MemctlError if a file can't be written; no temporary file is left then.
    """
    prepared: list[tuple[Path, Path]] = []
    file = folder
    try:
        for write in writes:
            file = locate(folder, write.path)
            prepared.append((write_temporary(file, write.text), file))
        flush([temporary for temporary, _ in prepared])
    except BaseException as error:
        for temporary, _ in prepared:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            is_closed = isinstance(error, PermissionError) or error.errno == errno.EROFS
            hint = f"make {folder} writable (`ls -ld` shows its owner and mode); nothing was written"
            raise MemctlError(f"{file} can't be written: {error.strerror}", hint if is_closed else "") from None
        raise
    return prepared


def replace_all(folder: Path, prepared: Iterable[tuple[Path, Path]], deletes: Iterable[str]) -> None:
    """Rename temporary files to their final names, and delete the files `deletes` and the folders that become empty.

    `prepared` are the pairs that `prepare` returns; `deletes` are paths below the memory's `folder`. At every moment a
    file has its whole old or whole new text. Raises MemctlError if a file can't be replaced or deleted.
    """
    try:
        for temporary, file in prepared:
            os.replace(temporary, file)
        for path in deletes:
            locate(folder, path).unlink(missing_ok=True)
            for depth in range(path.count("/"), 0, -1):
                parent = folder / "/".join(path.split("/")[:depth])
                try:
                    parent.rmdir()  # Git keeps no empty folders either
                except FileNotFoundError:
                    continue
                except OSError:
                    break
    except OSError as error:
        raise MemctlError(
            f"{error.filename or folder} can't be replaced: {error.strerror}",
            "fix the cause, then run `memctl commit`, which finishes this write",
        ) from None


def write_temporary(file: Path, text: str, *, is_private: bool = False) -> Path:
    """Write `text` to a temporary file beside `file`, and return its path.

    With `is_private` only its owner may read it. Raises OSError or MemctlError; no temporary file is left then.
    """
    if not is_private:
        file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.parent / f"{_TEMPORARY}{file.name}"
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
        what = f"line {line:,} of {file.name} would contain {text[error.start]!r}, which is not a character"
        raise MemctlError(what, "remove it from the text that you gave") from None
    temporary.unlink(missing_ok=True)
    # O_EXCL: a repository may contain links under these names.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    descriptor = private_files.open_file(temporary, flags) if is_private else os.open(temporary, flags, 0o666)
    try:
        with open(descriptor, "wb") as stream:
            stream.write(data)
        if not is_private and file.exists():  # the new file gets the old one's mode
            os.chmod(temporary, stat.S_IMODE(os.stat(file).st_mode))
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def flush(files: list[Path]) -> None:
    """Flush written files to the disk (fsync)."""
    if len(files) > _SYNC_EACH and hasattr(os, "sync"):
        os.sync()
        return
    for file in files:
        descriptor = os.open(file, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace(file: Path, text: str, *, is_private: bool = False) -> None:
    """Replace a file atomically without flushing it to the disk, for files that can be made again.

    A private file, which only its owner may read, is one of memctl's in the Git directory. Raises OSError or
    MemctlError; no temporary file is left then.
    """
    temporary = write_temporary(file, text, is_private=is_private)
    try:
        os.replace(temporary, file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def replace_private(file: Path, text: str) -> None:
    """Replace a file of memctl's in the Git directory atomically; only its owner may read it."""
    replace(file, text, is_private=True)


def append_line(file: Path, line: bytes, *, is_private: bool = False) -> None:
    """Append `line`, which ends with a line feed, to a file whose lock the caller holds.

    If the last line of the file was cut short, since its writer was killed, a line feed is added first. With
    `is_private` only the owner may read a new file.
    """
    opener = (lambda name, flags: private_files.open_file(Path(name), flags)) if is_private else None
    with open(file, "ab+", opener=opener) as stream:
        if stream.seek(0, os.SEEK_END):
            stream.seek(-1, os.SEEK_END)
            line = line if stream.read(1) == b"\n" else b"\n" + line
        stream.write(line)


def remove_leftovers(folder: Path) -> None:
    """Delete the temporary files that killed writes left below a folder. The caller holds the lock."""
    for path in _temporaries(list_files(folder)):
        os.unlink(folder / path)


def leftovers(folder: Path, paths: Iterable[str]) -> list[str]:
    """Return those of `paths` that are temporary files older than a minute, which no running write needs any more.

    `paths` are relative to `folder`.
    """
    before, found = time.time() - 60, []
    for path in _temporaries(paths):
        with suppress(FileNotFoundError):  # a write has just renamed it to its file
            if os.lstat(folder / path).st_mtime < before:
                found.append(path)
    return sorted(found)


def _temporaries(paths: Iterable[str]) -> list[str]:
    return [path for path in paths if _TEMPORARY in path and is_temporary(path)]


def is_temporary(path: str) -> bool:
    """Return whether a path has the name of a temporary file of memctl's."""
    return path.rpartition("/")[2].startswith(_TEMPORARY)


def names(paths: Iterable[str]) -> list[str]:
    r"""Return some paths as text, sorted and without memctl's temporary files.

    Bytes in a path that are not UTF-8 are written as `\xe9`, as Git does.
    """
    kept_paths = [path for path in paths if _TEMPORARY not in path or not is_temporary(path)]
    return sorted(path if path.isascii() else _as_git_writes(path) for path in kept_paths)


def list_files(top: Path, below: str = "") -> list[str]:
    """Return the paths of all files and links below a folder of the memory.

    `top` is the memory's folder; `below` and the paths are relative to it, and "" stands for the whole memory. This
    takes a third of the time of `os.walk`.
    """
    paths, todo = list[str](), [below]
    while todo:
        inside = todo.pop()
        with suppress(OSError), os.scandir(f"{top}/{inside}") as entries:
            start = f"{inside}/" if inside else ""
            for entry in entries:
                (todo if entry.is_dir(follow_symlinks=False) else paths).append(start + entry.name)
    return paths


def _as_git_writes(name: str) -> str:
    return name.encode(errors="surrogateescape").decode(errors="backslashreplace")


def is_record_path(path: str) -> bool:
    """Return whether a path below `.memory/` is that of a record: a `.md` file, not hidden, in a folder of records."""
    top, slash, rest = path.partition("/")
    name = rest.rpartition("/")[2]
    return bool(slash) and top in BY_FOLDER and name.endswith(".md") and not name.startswith(".")


def is_cached_path(path: str) -> bool:
    """Return whether the cache has a row for a path below `.memory/`.

    It has one for each record, page, session's page and checkpoint.
    """
    top, slash, rest = path.partition("/")
    if not slash:
        return path == _PROJECT
    if top in _PAGES or top == SESSIONS:
        return "/" not in rest and rest.endswith(".md") and not rest.startswith(".")
    if top == CHECKPOINTS:
        return rest.endswith(".json")
    return is_record_path(path)


def templates() -> Path:
    """Return the folder of memctl's templates: inside the installed package, or beside it in a checkout."""
    package = Path(sys.modules["memctl"].__path__[0])
    inside = package / "templates"
    return inside if inside.is_dir() else package.parent / "templates"
