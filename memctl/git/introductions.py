"""The commits that introduced the texts of files, through merges, squashes, rebases and reverts.

A commit *introduces* a text if a file has the text in the commit and in none of the commit's parents. A merge that took
a file as one side had it introduces nothing; a merge that gave the file a new text introduces that text. After a squash
or a rebase the new commit introduces the text, since the old ones are not in the history. If several commits introduced
one text (a cherry-pick on both sides of a merge, a revert), the latest counts.

All of history is read, with the sides that merges gave up: which sides `git log` leaves out depends on the commit where
it begins, so the results for a part of history could not be extended later.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from memctl.git import git, message, trees
from memctl.git.repository import Repository
from memctl.text import timestamps

# `-c` lists of a merge only what it has otherwise than all of its parents. The settings log.showRoot and log.follow can
# keep the files of a root commit from the list, and bring in those of another path.
_LOG = ("log", "--no-show-signature", "-z", "-c", "--raw", "--no-abbrev", "--no-renames", "--root", "--no-follow")
_FORMAT = "--format=%x1e%H %ct" + "".join(
    f" %(trailers:key=Memctl-{key},valueonly,separator=%x2C)" for key in ("Op", "Base", "Changes")
)
_COUNTING = "maintain"  # the operation that writes retrieval counts into records
_NOTHING = "0"  # the digit of which the id of no blob consists


class Introduction(msgspec.Struct, frozen=True):
    """A commit that introduced a text: its date in Unix seconds, the file, and the blob id of the text.

    `before` are the blob ids of the file in the commit's parents; it is empty unless the new text may differ from the
    parents' texts in nothing but retrieval counts, which memctl updates in merges and in its maintenance. `squashed` is
    the range of commits that the commit squashes, "" if it squashes none.
    """

    path: str
    blob: str
    commit: str
    seconds: int
    before: tuple[str, ...] = ()
    squashed: str = ""


def introductions(
    repository: Repository, paths: Sequence[str], revisions: str, *, is_line: bool = False
) -> Iterator[Introduction]:
    """Yield the introductions of all texts that files at or below some paths (none: all) ever had, latest first.

    With `is_line` only first parents are followed. Raises GitFailed.
    """
    commit, seconds, is_counting, squashed = "", 0, False, ""
    line = ["--first-parent"] if is_line else []
    items = git.stream([*_LOG, "--full-history", *line, _FORMAT, revisions, "--", *paths], repository.top)
    for item in items:
        if item.startswith(b"\x1e"):
            commit, when, operations, base, tip = item[1:].decode(errors="replace").split(" ", 4)
            seconds, is_counting = int(when), _COUNTING in operations.split(",")
            squashed = f"{base}..{tip}" if message.is_commit(base) and message.is_commit(tip) else ""
        elif columns := item.lstrip(b"\n").decode().split():
            # Of each parent a colon and a mode, then the mode now; of each parent a blob, then the blob now.
            parents = columns[0].count(":")
            path, blob, before = git.name(next(items)), columns[2 * parents + 1], columns[parents + 1 : 2 * parents + 1]
            if blob.strip(_NOTHING) and blob not in before:  # else it is gone, or only its mode is another
                former = (one for one in before if one.strip(_NOTHING))
                counted = tuple(former) if is_counting or parents > 1 else ()
                yield Introduction(path, blob, commit, seconds, counted, squashed)


def latest(
    repository: Repository, blobs: Mapping[str, str], revision: str, within: Sequence[str] = ()
) -> dict[str, Introduction]:
    """Return the latest introduction of the blob of each path, in the history of a revision.

    The search ends when all are found. `within` narrows it to some paths (none: all), which pays for a few files.
    """
    missing = dict(blobs)
    found: dict[str, Introduction] = {}
    for one in introductions(repository, within, revision) if missing else ():
        if missing.get(one.path) == one.blob:
            found[one.path] = one
            del missing[one.path]
            if not missing:
                break
    return found


def last_commits(repository: Repository, paths: Iterable[str], revision: str = "HEAD") -> dict[str, str]:
    """Return the commit that introduced the text of each file at a revision, by path; missing files are left out."""
    if revision == "HEAD" and not repository.has_head():
        return {}
    wanted = sorted(set(paths))
    found = latest(repository, trees.blobs_of(repository, revision, wanted), revision, wanted)
    return {path: one.commit for path, one in found.items()}


def last_changes(repository: Repository, paths: Iterable[str], revision: str = "HEAD") -> dict[str, str]:
    """Return when the text of each file at a revision was introduced: canonical UTC by path."""
    if revision == "HEAD" and not repository.has_head():
        return {}
    found = latest(repository, trees.blobs_of(repository, revision, paths), revision)
    return {path: timestamps.from_epoch(one.seconds) for path, one in found.items()}
