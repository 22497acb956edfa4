"""Whether a pending change is WAITING for its commit, DONE (committed), or UNDONE outside of memctl.

The answer for a change, an entry of the journal, follows from its paths: it is UNDONE if at least one path is UNDONE,
otherwise WAITING if at least one is WAITING, and otherwise DONE. For a path the first rule that applies decides:

- If the text on the disk has the change, the path is WAITING while Git says that it differs from HEAD, else DONE.
- If another pending change was made later to the same path, on top of this one, its answer for the path is taken.
- If a later commit has the change, the path is DONE: somebody has changed the committed file further. The commits of
  HEAD and of this clone's branches are searched, except for those that HEAD had when the change began.
- Otherwise the path is UNDONE: by `git rebase --abort`, `reset --hard`, `stash`, `checkout -- .`, `clean`, or by hand.
  The text is kept until it is on the disk again (`git stash pop`), `memctl commit --again` writes it, `memctl commit
  --drop` drops it, or a later write of memctl contains it or deletes the record (`is_replaced`).

A text can have the change without being exactly the text that was written: formatters among the user's hooks, and edits
by hand, leave most of it in place. It has the change if it is nearer to the text after the change than to the text
before it, counted in pairs of neighbouring words; line breaks and blanks do not count. For a change that was found
UNDONE before, the text must also have at least half of the pairs that the change added. Otherwise, where the change
replaced a long text by a short one, any other short text would count, too.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from memctl.git import git, trees
from memctl.record.change import Change
from memctl.record.frontmatter import clean_newlines
from memctl.store import files, journal
from memctl.store.journal import HELD, WRITING, PendingEntry
from memctl.store.memory import Memory
from memctl.store.memory_root import DOCUMENTS

DONE, WAITING, UNDONE = "done", "waiting", "undone"
AGAIN = "`memctl commit --again` writes it again, `memctl commit --drop` drops it"
WHY = "undone outside memctl"
# The letters with which `git ls-files -v` marks files that Git must take for unchanged, and the options to end that.
_OPTIONS = dict.fromkeys("hmrck", "--no-assume-unchanged") | {"S": "--no-skip-worktree", "s": "--no-skip-worktree"}
LATE = 3600.0  # seconds that a commit may wait before `status` and `check` report it: merges and hooks end before
_MOST_COMMITS = 200  # the latest commits of a path, one of which may continue a pending change


def uncommitted(memory: Memory, *, ignored: bool = False) -> dict[str, str]:
    """Return the files that differ from HEAD, by path below `.memory/`, each with its two letters of `git status`.

    The letters are such as "M " for a file that differs in the index, and " M" for a file that differs on the disk
    only. With `ignored` the files that Git ignores are included.
    """
    args = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", *(["--ignored"] if ignored else [])]
    out = git.read([*args, "--", memory.prefix], memory.repository.top).decode(errors="surrogateescape")
    states_by_path = {item[3 + len(memory.prefix) + 1 :]: item[:2] for item in out.split("\0") if item}
    return {name: code for name, code in states_by_path.items() if not files.is_temporary(name)}


def hidden(memory: Memory, paths: Iterable[str]) -> dict[str, str]:
    """Return those of `paths` that differ from HEAD, but that Git reports as unchanged on the user's demand.

    The user tells Git so by `git update-index --skip-worktree` or `--assume-unchanged`. The result maps each path to
    the option of that command after which Git reads the file again, such as "--no-skip-worktree". memctl does not
    commit these files.
    """
    repository = memory.repository
    tracked = {memory.tracked(path): path for path in paths}
    if not tracked:
        return {}
    some = trees.batched(list(tracked))
    out = "".join(os.fsdecode(git.read(["ls-files", "-v", "-z", "--", *names], repository.top)) for names in some)
    marked = {item[2:]: _OPTIONS[item[0]] for item in out.split("\0") if item[:1] in _OPTIONS}
    on_disk = [path for path in marked if (repository.top / path).is_file()]
    blobs, known = trees.worktree_blob_ids(repository, on_disk), trees.blob_ids(repository, "HEAD", marked)
    return {tracked[path]: option for path, option in marked.items() if blobs.get(path) != known.get(path)}


def open_entries(memory: Memory) -> list[PendingEntry]:
    """Return the pending changes that are not committed yet, neither by memctl nor by the user.

    The field `undone` of each says whether the change was undone outside of memctl, for example by `git reset --hard`.
    """
    return [
        msgspec.structs.replace(entry, undone=state == UNDONE)
        for entry, state in states(memory, journal.entries(memory.pending))
        if state != DONE
    ]


def undone(memory: Memory) -> list[PendingEntry]:
    """Return the pending changes that were undone outside of memctl, for example by `git reset --hard`.

    Git is asked only if the text of a change is no longer on the disk, so this is mostly fast.
    """
    entries = journal.entries(memory.pending)
    written = (
        (path, old, text) for entry in entries if entry.stage != WRITING for path, old, text in _texts(entry.change)
    )
    if all(has_change(journal.text_at(memory.folder, path), old, text) for path, old, text in written):
        return []
    return [entry for entry, state in states(memory, entries) if state == UNDONE]


def states(memory: Memory, entries: Sequence[PendingEntry]) -> list[tuple[PendingEntry, str]]:
    """Return pairs: one of `entries`, and whether its change is WAITING for a commit, DONE (committed), or UNDONE.

    UNDONE means that somebody removed the change outside of memctl, for example by `git reset --hard`.
    """
    written = [entry for entry in entries if entry.stage != WRITING]
    result = [(entry, WAITING) for entry in entries if entry.stage == WRITING]
    if not written:
        return result
    try:
        concerned = {path for entry in written for path in entry.change.paths}
        return [
            *_find_states(memory, written, {*uncommitted(memory, ignored=True), *hidden(memory, concerned)}),
            *result,
        ]
    except git.GitFailed:
        return [(entry, WAITING) for entry in entries]  # committing reports the reason


def has_change(now: str | None, old: str | None, text: str | None, *, mostly: bool = False) -> bool:
    """Return whether the text `now` of a file has the change that a write made from the text `old` to `text`.

    None stands for a missing file. `now` has the change if it is nearer to `text` than to `old`, counted in pairs of
    neighbouring words. With `mostly` it must also have at least half of the pairs that the change added.
    """
    if now is None or text is None or old is None:
        return (now is None) == (text is None)
    if text in (now, old) or now == old:
        return now == text or text == old
    before, then, is_now = (Counter(pairwise(version.split())) for version in (old, text, now))
    added = then - before
    if mostly and 2 * (added & is_now).total() < added.total():
        return False
    return _distance(is_now, then) < _distance(is_now, before)


def is_replaced(entry: PendingEntry, change: Change) -> bool:
    """Return whether a later change contains all that an undone entry changed, or deletes the entry's files.

    Then the entry is not needed any more. Any other later change of the files keeps the entry, since its text would be
    lost.
    """
    after = {path: text for path, _, text in _texts(change)}
    return all(
        path in after and (after[path] is None or has_change(after[path], old, text, mostly=True))
        for path, old, text in _texts(entry.change)
    )


def overdue(memory: Memory, entries: Iterable[PendingEntry]) -> list[PendingEntry]:
    """Return the entries that have waited for a commit for more than an hour, for a reminder.

    Changes that the user asked not to commit are left out. The result is empty while a merge, rebase or similar
    operation of Git is under way.
    """
    if memory.repository.under_way():
        return []
    return [entry for entry in entries if not (entry.held or entry.stage == HELD) and time.time() - entry.began > LATE]


def reason(memory: Memory, entry: PendingEntry) -> str:
    """Return the reason why a pending change has no commit, such as "interrupted; `memctl commit` finishes it".

    The reason is "" if no commit was tried.
    """
    if entry.undone:
        return f"{WHY}; {AGAIN}"
    if entry.stage == WRITING:
        return "the write was interrupted; `memctl commit` finishes it"
    if memory.repository.is_over(entry.why):
        return "what prevented the commit is over; `memctl commit` makes the commit"
    return entry.why


def describe(entry: PendingEntry) -> str:
    """Return a phrase for a pending change, such as "the edit of LRN-2025-11-04-001"."""
    return f"the {entry.change.op} of {', '.join(entry.change.ids) or entry.change.title}"


def _find_states(memory: Memory, entries: Sequence[PendingEntry], dirty: set[str]) -> list[tuple[PendingEntry, str]]:
    later: dict[str, tuple[str | None, str]] = {}  # by path: the text that the next entry began with, and its state
    result = []
    for entry in reversed(entries):
        path_states: dict[str, tuple[str | None, str]] = {}
        for path, old, text in _texts(entry.change):
            following, state = later.get(path, (None, UNDONE))
            if has_change(journal.text_at(memory.folder, path), old, text, mostly=entry.undone):
                state = WAITING if path in dirty else DONE
            elif path not in later or not has_change(following, old, text, mostly=entry.undone):
                state = DONE if _is_in_a_commit(memory, entry, path, old, text) else UNDONE
            path_states[path] = (old, state)
        later |= path_states
        worst = {state for _, state in path_states.values()}
        result.append((entry, next((state for state in (UNDONE, WAITING) if state in worst), DONE)))
    return result[::-1]


def _texts(change: Change) -> list[tuple[str, str | None, str | None]]:
    """Rendered documents are left out unless the change has nothing else, since any later write renders them again."""
    texts: list[tuple[str, str | None, str | None]] = [
        (write.path, None if write.old is None else clean_newlines(write.old), clean_newlines(write.text))
        for write in change.writes
    ]
    texts += [(delete.path, clean_newlines(delete.old), None) for delete in change.deletes]
    return [text for text in texts if not text[0].startswith(f"{DOCUMENTS}/")] or texts


def _distance(one: Counter[tuple[str, str]], other: Counter[tuple[str, str]]) -> int:
    return (one - other).total() + (other - one).total()


def _is_in_a_commit(memory: Memory, entry: PendingEntry, path: str, old: str | None, text: str | None) -> bool:
    """Return whether a commit made after an entry has the entry's change of a path.

    The commit has exactly the written text, or was authored since the entry began and has a text with the change.
    Earlier commits, which branches reach as well, might have such a text by chance.
    """
    from memctl.git import history  # seldom needed

    tracked = memory.tracked(path)
    existing = dict.fromkeys(history.blobs_since(memory.repository, tracked, entry.base, _MOST_COMMITS))
    blobs = list(dict.fromkeys(blob for _, blob in existing if blob))
    if text is not None and blobs:  # Git computes the id, since its filters may change the text
        args = ["hash-object", "--stdin", f"--path={tracked}"]
        if git.read(args, memory.repository.top, text.encode()).decode().strip() in blobs:
            return True
    contents = [(item and item.data) or b"" for item in memory.repository.objects.read(blobs, files.MAX_BYTES)]
    texts = {blob: clean_newlines(raw.decode(errors="replace")) for blob, raw in zip(blobs, contents, strict=True)}
    return any(
        texts.get(blob) == text
        or (authored >= int(entry.began) and has_change(texts.get(blob), old, text, mostly=entry.undone))
        for authored, blob in existing
    )
