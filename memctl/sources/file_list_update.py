"""Bring a list of the repository's files in the search index up to date: that of the worktree, or of a revision.

Files that have not changed since the list was made are passed over. Of the others only those are read whose content
the search index does not have yet.
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git.trees import compute_blob_id
from memctl.pages.grammars import GRAMMARS
from memctl.sources import facts, generated_files, ignore
from memctl.sources.facts import GENERATED_TREE, GONE, LATER, TOO_LARGE, Progress
from memctl.store import file_texts
from memctl.store.cache import contents_version
from memctl.store.file_list import FileList, ListState, NewFile, Outdated, Unavailable
from memctl.store.files import MAX_BYTES
from memctl.store.repository_files import FilesInGit, FilesOnDisk
from memctl.store.source_facts import FileFacts, decode, encode
from memctl.text import sensitive_files
from memctl.text.words import InnerWords, whole_words, words_of

if TYPE_CHECKING:
    from memctl.record.snapshot import Snapshot
    from memctl.store.memory import Memory
    from memctl.store.search_index import SearchIndex

# A word by which imports are found that name no file: `from . import x`, `use super::x`, `import "."`.
RELATIVE = "relativeimport0"
_LARGE = 200_000  # bytes; files that people write are smaller, and a generated file of 2 MB takes 0.6 s
_SECONDS = 2.0  # of processor time for the large files of one run
_AT_ONCE = 200  # files that are read and put in within one transaction
_TRIES = 5
_REVISION, _WORKTREE = "at ", "of "  # with a commit or a Git directory, the name of a list
_MOST_REVISIONS = 4  # whose lists are stored
_RUST_RELATIVE = re.compile(r"(?:crate|self|super)\b")


class FileSources(msgspec.Struct, frozen=True):
    """The repository's files, of the worktree or of a revision.

    - `contents` has the files that may be named: by path, the blob id and the facts of the content (`Content`).
    - `refusals` has the files whose text never enters a model's context: by path, the reason. A file that seems to
      contain a credential is in both: its name may be shown, its text may not.
    - `differing` are the paths in `contents` that have uncommitted changes.
    """

    contents: FileList
    refusals: dict[str, str]
    differing: frozenset[str]


def of_worktree(
    memory: Memory, snapshot: Snapshot, files: FilesOnDisk, index: SearchIndex, progress: Progress | None = None
) -> FileSources:
    """Return the files of the worktree; `progress` is called while files are read.

    If the snapshot is that of an agent, the files that this agent may not see are among the `refusals`. Raises
    sqlite3.OperationalError if there is no list of files, because the search index can't be used.
    """
    listed = FileList(index, f"{_WORKTREE}{memory.repository.git_dir}", snapshot.withheld.files)
    return _Update(memory, listed, files, progress).run()


def of_revision(
    memory: Memory, snapshot: Snapshot, commit: str, index: SearchIndex, progress: Progress | None = None
) -> FileSources:
    """Return the files of a commit, in the same form as `of_worktree` returns those of the worktree.

    Raises MemctlError in a partial clone, which may lack the files: nothing is fetched.
    """
    if memory.repository.is_partial:
        message = "--at is refused, because this partial clone may lack files of the revision"
        raise MemctlError(message, "leave out --at", USAGE)
    listed = FileList(index, f"{_REVISION}{commit}", snapshot.withheld.files)
    return _Update(memory, listed, FilesInGit(memory, commit), progress).run()


class _Update:
    """One update of a list."""

    def __init__(
        self, memory: Memory, listed: FileList, files: FilesOnDisk | FilesInGit, progress: Progress | None
    ) -> None:
        self._memory = memory
        self._list = listed
        self._files = files
        self._progress = progress or (lambda done, total: None)
        self._parts = InnerWords()
        self._spent = 0.0  # processor time for large files, in seconds
        self._unread: dict[str, str] = {}
        self._blobs: dict[str, str] = {}  # of files that were changed after Git was asked

    def run(self) -> FileSources:
        is_old = True
        for _ in range(_TRIES):
            try:
                if not self._run():
                    is_old = False
                    break
            except Outdated:
                self._list.reload()
            except Unavailable as error:
                if "locked" not in str(error) or not self._list.number:
                    raise
                self._list.reload()
                break
        if is_old:
            remark = "another process is writing to the search index: recent changes of files are not found yet"
            self._memory.remarks.append(remark)
        differing = frozenset(path for path in self._files.differing() if path in self._list)
        return FileSources(self._list, self._list.refusals() | self._unread, differing)

    def _run(self) -> bool:
        """Return whether the list changed, so that there may be room for other texts."""
        self._unread = {}
        self._list.require(_version())
        before = self._list.state
        wanted, state = self._wanted(before)
        rows = self._rows(wanted, state.ignored) if wanted else {}
        differing = {**state.differing, **self._blobs, **dict.fromkeys(self._unread, "")}
        state = msgspec.structs.replace(state, differing=differing)
        if self._list.number and state == before and not any(rows.values()):
            return False
        self._list.change(state, rows)
        names = self._list.names()
        gone = [name for name in names if name[:3] == _WORKTREE and not Path(name[3:]).is_dir()]
        self._list.forget([*gone, *[name for name in names if name[:3] == _REVISION][:-_MOST_REVISIONS]])
        return True

    def _wanted(self, before: ListState) -> tuple[dict[str, str], ListState]:
        listed, files = self._list, self._files
        index, tree = files.tree((before.index, before.tree))
        differing = self._differing()
        wanted = listed.waiting(file_texts.NO_ROOM, file_texts.MOST - before.size)
        wanted |= {path: blob for path, blob in differing.items() if before.differing.get(path) != blob}
        back = before.differing.keys() - differing.keys()
        if back or tree != before.tree or not listed.number:
            now, there = files.blobs_here(), listed.blobs()
            paths = back if tree == before.tree else now.keys() | there.keys()
            wanted |= {
                path: now.get(path, "")
                for path in paths
                if path not in differing and (path in back or now.get(path) != there.get(path))
            }
        folders = {"", *before.folders}.union(*map(_folders_of, wanted))
        ignored = ignore.texts(files, self._memory.repository.top, folders)
        if ignored != before.ignored:
            wanted = listed.blobs() | wanted
        sums = before.count, before.size, before.changes
        return wanted, ListState(index, tree, differing, ignored, tuple(sorted(folders)), *sums)

    def _differing(self) -> dict[str, str]:
        """Return the blob ids of the files that differ from Git's index, "" for those that are gone or unreadable."""
        result = {}
        for path, is_there in self._files.differing().items():
            content = self._read([path]).get(path) if is_there else None
            if is_there and content is None:
                self._unread[path] = TOO_LARGE if self._files.size(path) > MAX_BYTES else GONE
            result[path] = "" if content is None else compute_blob_id(content, [self._memory.repository.null_id])
        return result

    def _read(self, paths: Collection[str]) -> dict[str, bytes]:
        try:
            return self._files.read_listed(paths)
        except OSError:
            return {} if len(paths) == 1 else {path: one for each in paths for path, one in self._read([each]).items()}

    def _rows(self, wanted: Mapping[str, str], ignored: Mapping[str, str]) -> dict[str, tuple[int, bool, str] | None]:
        """Contents that the index does not have are put into it, without the text if ignore files leave a file out."""
        left_out = ignore.ignored_files([path for path, blob in wanted.items() if blob], ignored)
        room = file_texts.MOST - self._list.state.size
        unread = {}
        for path, blob in wanted.items():
            row = self._list.row_of(path, blob) if blob else None
            if blob and (not row or (row[2] == file_texts.NO_ROOM and path not in left_out)):
                unread[path] = blob
            elif row and not row[2]:  # another list has it, too
                room -= row[3]
        if unread:
            self._add(unread, left_out, room)
        rows: dict[str, tuple[int, bool, str] | None] = {}
        for path, blob in wanted.items():
            row = self._list.row_of(path, self._blobs.get(path, blob)) if path not in self._unread else None
            rows[path] = None
            if row:
                refusal = _refusal(path, decode(row[1]))
                is_named = not refusal or sensitive_files.is_credential(refusal)
                if is_named and path in left_out:
                    is_named, refusal = False, f"{left_out[path]} excludes the file"
                rows[path] = row[0], is_named, refusal
        return rows

    def _add(self, unread: Mapping[str, str], left_out: Collection[str], room: int) -> None:
        generated = self._generated(unread)
        if generated:
            self._list.add([self._unread_file(path, unread[path]) for path in sorted(generated)])
        sizes = {path: self._files.size(path) for path in unread if path not in generated}
        is_full = sum(sizes.values()) > room  # then the smallest files are indexed
        # Else the order is by path, which fills the pages of an index of paths.
        order = sorted(sizes, key=lambda path: (sizes[path] if is_full else sizes[path] > _LARGE, path))
        for start in range(0, len(order), _AT_ONCE):
            paths = order[start : start + _AT_ONCE]
            self._progress(start, len(order))
            contents, some = self._read(paths), list[NewFile]()
            for path in paths:
                is_large, began = len(contents.get(path, b"")) > _LARGE, time.process_time()
                if is_large and self._spent > _SECONDS:
                    self._unread[path] = LATER
                elif found := self._file(path, unread[path], contents.get(path), 0 if path in left_out else room):
                    some.append(found)
                    room -= 0 if found.reason else found.size
                self._spent += time.process_time() - began if is_large else 0.0
            self._list.add(some)
        self._progress(len(order), len(order))

    def _generated(self, unread: Collection[str]) -> set[str]:
        """Files in large trees of generated files are not read."""

        def are_generated(paths: Sequence[str]) -> bool:
            contents = self._read(paths).values()
            texts = [content.decode(errors="replace") for content in contents if not sensitive_files.is_binary(content)]
            return len(texts) == len(paths) and all(map(generated_files.in_text, texts))

        return generated_files.in_trees(filter(self._files.is_settled, unread), are_generated)

    def _unread_file(self, path: str, blob: str) -> NewFile:
        file_facts = FileFacts(self._files.size(path), is_generated=True)
        return new_file(path, blob, file_facts, None, self._parts, 0, GENERATED_TREE)

    def _file(self, path: str, blob: str, content: bytes | None, room: int) -> NewFile | None:
        if content is None:
            size = self._files.size(path)
            if size > MAX_BYTES:
                return new_file(path, blob, FileFacts(size, refusal=TOO_LARGE), None, self._parts, room)
            self._unread[path] = GONE
            return None
        if not self._files.is_settled(path):
            expected, blob = blob, compute_blob_id(content, [self._memory.repository.null_id])
            self._blobs |= {path: blob} if blob != expected else {}
        return new_file(path, blob, facts.of_content(path, content), content, self._parts, room)


def new_file(
    path: str,
    blob: str,
    file_facts: FileFacts,
    content: bytes | None,
    parts: InnerWords,
    room: int,
    why_unread: str = file_texts.TOO_LARGE,
) -> NewFile:
    """Return the row with which a file is added to the search index.

    `file_facts` are the facts of the file's content. `content` is None if the file is not read, for the reason
    `why_unread`. `parts` finds the parts of compound words. `room` is how many bytes of text the index can still take:
    a longer text is left out.
    """
    reason, body = _refusal(path, file_facts), ("", "", "")
    if sensitive_files.is_credential(reason):
        reason = ""
    if content is None or len(content) > file_texts.LARGEST:
        reason = file_texts.TOO_LARGE if content is not None else why_unread
    elif not reason and len(content) > room:
        reason = file_texts.NO_ROOM
    if not reason and content is not None:
        text = content.decode(errors="replace")
        if file_facts.refusal:
            text = sensitive_files.without_credentials(text)
        body = f"{path} {parts.of(path)}", text, parts.of(text)
    imports = [*file_facts.imports, *([RELATIVE] if any(map(_is_relative, file_facts.imports)) else [])]
    words = " ".join(words_of(path)), " ".join(file_facts.words), _split(file_facts.names), _split(imports)
    return NewFile(path, blob, file_facts.size, encode(file_facts), reason, body, words)


def _refusal(path: str, file_facts: FileFacts) -> str:
    return sensitive_files.SECRET_NAME if sensitive_files.has_secret_name(path) else file_facts.refusal


def _split(names: Iterable[str]) -> str:
    text = " ".join(names)
    return text if text.isascii() else " ".join(whole_words(text))


def _is_relative(imported: str) -> bool:
    """Return whether an import may mean a file of a folder without naming it: by dots, or as an item of Rust."""
    module = imported.partition("|")[0]
    return re.search(r"\w", module) is None or _RUST_RELATIVE.match(imported) is not None


def _folders_of(path: str) -> Iterator[str]:
    while path:
        path = path.rpartition("/")[0]
        yield path


def _version() -> str:
    """What is read from files changes with memctl and with the installed parsers."""
    modules = sorted({grammar.module for grammar in GRAMMARS.values()})
    found = [module for module in modules if find_spec("tree_sitter") and find_spec(module)]
    return f"{contents_version()} {' '.join(found)}"
