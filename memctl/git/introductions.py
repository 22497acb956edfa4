"""The commits that introduced the texts of files, through merges, squashes, rebases and reverts.

A commit *introduces* a text if a file has the text in the commit and in none of the commit's parents. A merge that took
a file as one side had it introduces nothing; a merge that gave the file a new text introduces that text. After a squash
or a rebase the new commit introduces the text, since the old ones are not in the history. If several commits introduced
one text (a cherry-pick on both sides of a merge, a revert), the latest counts.

All of history is read, also the commits on a side that a merge discarded. `git log` leaves out some of these by
default, but not always the same ones: that depends on the commit from which it starts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import msgspec

from memctl.git import git, trees
from memctl.git.repository import Repository
from memctl.text import timestamps

# With `-c` Git lists for a merge only the files that differ from all of its parents. The settings log.showRoot and
# log.follow could hide the files of a root commit and add those of another path.
_LOG = (*git.LOG, "-z", "-c", "--raw", "--no-abbrev", "--no-renames", "--root", "--no-follow")
_FORMAT = "--format=%x1e%H %ct" + "".join(
    f" %(trailers:key=Memctl-{key},valueonly,separator=%x2C)" for key in ("Op", "Actor")
)
_FORMAT += "%x1f%an"
_SILENT = {"maintain", "upgrade"}  # operations that change a record's counts or form, and not what it says
_NULL_DIGIT = "0"  # Git writes zeros in place of the id of a blob that does not exist


class Introduction(msgspec.Struct, frozen=True):
    """A commit that introduced a text: its date in Unix seconds, the file's path, and the blob id of the text.

    `before` has the blob ids that the file had in the commit's parents, so that a caller can ignore a commit that
    changed nothing but a record's retrieval counts or its form. Only merges and the commits of `memctl maintain` and
    `memctl upgrade` may be such commits; for any other, `before` is (). `operations` and `actor` are what the commit's
    trailers say, joined by commas, and `author` is its author by Git.
    """

    path: str
    blob: str
    commit: str
    seconds: int
    before: tuple[str, ...] = ()
    operations: str = ""
    actor: str = ""
    author: str = ""


# Introductions by the path of a file, each with a number that says how many later ones there are, of any file.
Numbered = dict[str, list[tuple[int, Introduction]]]


def introductions(repository: Repository, paths: Sequence[str], *revisions: str) -> Iterator[Introduction]:
    """Yield the introductions of all texts that files at or below `paths` (none: all files) ever had, latest first.

    `revisions` are commits, whose histories are read, ranges such as "OLD..NEW", or options of `git log` such as
    "--branches". Raises GitFailed.
    """
    commit, seconds, operations, actor, author = "", 0, "", "", ""
    items = git.stream([*_LOG, "--full-history", _FORMAT, *revisions, "--", *paths], repository.top)
    for item in items:
        if item.startswith(b"\x1e"):
            commit, when, operations, names = item[1:].decode(errors="replace").split(" ", 3)
            seconds, (actor, _, author) = int(when), names.partition("\x1f")
        elif columns := item.lstrip(b"\n").decode().split():
            # A colon and a mode for each parent, then the mode now; a blob for each parent, then the blob now.
            parents = columns[0].count(":")
            path, blob = git.decode_path(next(items)), columns[2 * parents + 1]
            before = columns[parents + 1 : 2 * parents + 1]
            if blob.strip(_NULL_DIGIT) and blob not in before:  # else the file was deleted, or only its mode changed
                former = (blob for blob in before if blob.strip(_NULL_DIGIT))
                is_counting = not _SILENT.isdisjoint(operations.split(","))
                counts_before = tuple(former) if is_counting or parents > 1 else ()
                yield Introduction(path, blob, commit, seconds, counts_before, operations, actor, author)


def numbered(repository: Repository, paths: Collection[str], revision: str) -> Numbered:
    """Return the introductions of all texts that some files ever had in the history of a revision."""
    result: Numbered = {path: [] for path in paths}
    for number, introduction in enumerate(introductions(repository, git.log_limits(paths), revision)):
        if introduction.path in result:
            result[introduction.path].append((number, introduction))
    return result


def latest(
    repository: Repository, blobs: Mapping[str, str], revision: str, within: Sequence[str] = ()
) -> dict[str, Introduction]:
    """Return, by path, the latest commit that introduced the text that `blobs` gives for the path.

    `blobs` has the blob id of a text by path. The history of `revision` is searched until all texts are found; a path
    whose text no commit introduced is left out. `within` limits the search to files at or below some paths, which is
    faster if there are few.
    """
    missing = dict(blobs)
    result: dict[str, Introduction] = {}
    for introduction in introductions(repository, within, revision) if missing else ():
        if missing.get(introduction.path) == introduction.blob:
            result[introduction.path] = introduction
            del missing[introduction.path]
            if not missing:
                break
    return result


def last_commits(repository: Repository, paths: Iterable[str], revision: str = "HEAD") -> dict[str, str]:
    """Return, by path, the commit that introduced the text of a file at a revision; missing files are left out."""
    if revision == "HEAD" and not repository.has_head():
        return {}
    wanted = sorted(set(paths))
    result = latest(repository, trees.blob_ids(repository, revision, wanted), revision, wanted)
    return {path: introduction.commit for path, introduction in result.items()}


def last_changes(repository: Repository, paths: Iterable[str], revision: str = "HEAD") -> dict[str, str]:
    """Return when the text that each file has at a revision was introduced, by path, such as "2025-11-04T14:32:00Z".

    A file whose text is from before the history of a shallow clone is left out.
    """
    if revision == "HEAD" and not repository.has_head():
        return {}
    result = latest(repository, trees.blob_ids(repository, revision, paths), revision)
    boundary = repository.shallow()
    return {path: timestamps.from_epoch(it.seconds) for path, it in result.items() if it.commit not in boundary}
