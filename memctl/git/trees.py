"""Trees and blobs: which files Git has at a revision, and their contents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from memctl.errors import MemctlError
from memctl.git import git
from memctl.git.repository import Repository

if TYPE_CHECKING:
    from memctl.git.objects import Object

REGULAR = (b"100644", b"100755")
_FILES = (*REGULAR, b"120000", b"100664")  # also a link, whose blob is its target, and a mode that old programs wrote
SUBMODULE = "160000"
_SHA1_DIGITS = 40
BATCH_SIZE = 500  # paths as arguments of one command


class TreeEntry(msgspec.Struct, frozen=True):
    """A file in Git: its path relative to the worktree's top, its blob id, and whether it is a regular file."""

    path: str
    blob: str
    is_regular: bool = True


def entries(repository: Repository, revision: str, folder: str = "") -> list[TreeEntry]:
    """Return the files below `folder` ("" for all) at a revision."""
    below = ["--", folder + "/"] if folder else []
    return list(parse(git.read(["ls-tree", "-r", "-z", "--full-tree", revision, *below], repository.top)))


def parse(out: bytes) -> Iterator[TreeEntry]:
    """Yield the entries in the output of `git ls-tree -z`."""
    for item in out.split(b"\0"):
        if item:
            meta, _, path = item.partition(b"\t")
            columns = meta.split()
            yield TreeEntry(path.decode("utf-8", "backslashreplace"), columns[2].decode(), columns[0] in REGULAR)


def blobs(
    repository: Repository, wanted: Iterable[str], limit: int, paths: Mapping[str, str] | None = None
) -> dict[str, bytes | None]:
    """Return the contents of blobs, by blob id; the content is None if it has more than `limit` bytes.

    `paths` are paths of the blobs' files, by blob id: if Git's attributes ask for a filter there, such as git-crypt's,
    the content is what a checkout writes. Raises MemctlError for a blob that Git has lost.
    """
    names = list(dict.fromkeys(wanted))
    contents: dict[str, bytes | None] = {}
    for name, item in zip(names, repository.objects.read(names, limit), strict=True):
        if item is None:
            raise MemctlError(
                f"the repository lacks the Git object {name}", "`git fsck` lists everything that is missing"
            )
        contents[name] = item.data
    blobs_by_path = {path: blob for blob, path in (paths or {}).items() if contents.get(blob) is not None}
    if filtered := repository.filters.filtered(blobs_by_path):
        texts = repository.filters.texts({path: blobs_by_path[path] for path in filtered})
        contents |= {blobs_by_path[path]: text for path, text in texts.items()}
    return contents


def local_blob(repository: Repository, blob: str, limit: int) -> bytes | None:
    """Return the content of a blob; None if it has more than `limit` bytes, or if a partial clone lacks it.

    Nothing is fetched. Raises MemctlError for a blob that Git has lost.
    """
    if not repository.is_partial:
        return blobs(repository, [blob], limit)[blob]
    content = git.try_read(["cat-file", "blob", blob], repository.top, git.OFFLINE)
    return content if content is not None and len(content) <= limit else None


def blob_ids(repository: Repository, revision: str, paths: Iterable[str]) -> dict[str, str]:
    """Return the blob ids of some files at a revision, by path; missing files are left out."""
    args, wanted = ["ls-tree", "-z", "--full-tree", revision, "--"], [path for path in paths if path]
    result: dict[str, str] = {}
    for some in batched(wanted):
        result |= {entry.path: entry.blob for entry in parse(git.read([*args, *some], repository.top))}
    return result


def text(repository: Repository, revision: str, path: str) -> str | None:
    """Return the text of a file at a revision; None if it has no such file, or if there is no such revision."""
    data = git.try_read(["show", f"{revision}:{path}"], repository.top)
    if data is not None and repository.filters.filtered([path]):
        data = git.read(["cat-file", "--filters", f"{revision}:{path}"], repository.top)
    return None if data is None else data.decode(errors="replace")


def submodules(repository: Repository, revision: str, paths: Iterable[str]) -> list[str]:
    """Return the paths among `paths` at which a revision has a submodule."""
    out = git.read(["ls-tree", "-z", "--full-tree", revision, "--", *paths], repository.top)
    return [
        git.decode_path(item.partition(b"\t")[2]) for item in out.split(b"\0") if item.startswith(SUBMODULE.encode())
    ]


def worktree_blob_ids(repository: Repository, paths: Iterable[str]) -> dict[str, str]:
    """Return the blob ids that Git would give some files of the worktree, by path.

    Raises GitFailed if a file can't be read.
    """
    from memctl.git import coprocess

    listed = list(paths)
    answers = repository.hashes.answers(
        [_quote_line(path) for path in listed], lambda out: coprocess.line(out).decode()
    )
    return {path: blob.strip() for path, blob in zip(listed, answers, strict=True)}


def _quote_line(path: str) -> str:
    if not path.startswith('"') and "\n" not in path:
        return path
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def compute_blob_id(content: bytes, like: Iterable[str]) -> str:
    """Return the id that Git would give a blob with this content.

    `like` are ids that the repository has; their length shows whether it uses SHA-1 or SHA-256.
    """
    digits = len(next((name for name in like if name), "0" * _SHA1_DIGITS))
    data = b"blob %d\0" % len(content) + content
    if digits == _SHA1_DIGITS:
        with suppress(ImportError):  # some builds of Python have SHA-1 only in OpenSSL
            from _sha1 import sha1  # type: ignore[import-not-found]  # hashlib would load OpenSSL, which takes 3 ms

            return str(sha1(data, usedforsecurity=False).hexdigest())
    import hashlib

    make = hashlib.sha1 if digits == _SHA1_DIGITS else hashlib.sha256
    return make(data, usedforsecurity=False).hexdigest()


def batched(paths: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield paths in groups, each small enough for the arguments of one command."""
    return (paths[start : start + BATCH_SIZE] for start in range(0, len(paths), BATCH_SIZE))


def blob_ids_at(repository: Repository, places: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the blob ids of files in commits, by pairs of commit and path; missing files are left out.

    No blob is read, since Git would fetch each blob that a partial clone does not have.
    """
    wanted = [(commit, *path.rpartition("/")[::2]) for commit, path in dict.fromkeys(places) if "\n" not in path]
    folders = list(dict.fromkeys((commit, folder) for commit, folder, _ in wanted))
    # A name that ends with a slash can only be a tree's.
    names = [f"{commit}:{folder}/" if folder else f"{commit}:" for commit, folder in folders]
    trees = {place: item for place, item in zip(folders, repository.objects.read(names), strict=True) if item}
    listed = {item.id: item for item in trees.values()}
    files = {name: {path: blob for mode, path, blob in items(item) if mode in _FILES} for name, item in listed.items()}
    result = {}
    for commit, folder, name in wanted:
        tree = trees.get((commit, folder))
        blob = files[tree.id].get(os.fsencode(name)) if tree else None
        if blob is not None:
            result[commit, f"{folder}/{name}" if folder else name] = blob
    return result


def items(tree: Object) -> Iterator[tuple[bytes, bytes, str]]:
    """Yield the mode, the name and the id of each file and folder in a tree."""
    data, size, start = tree.data or b"", len(tree.id) // 2, 0
    while start < len(data):  # a mode, a space, the name, a zero byte, and the id in bytes, again and again
        end = data.index(b"\0", start)
        mode, _, name = data[start:end].partition(b" ")
        start = end + 1 + size
        yield mode, name, data[end + 1 : start].hex()
