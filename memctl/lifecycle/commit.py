"""Committing what is written: the changes that wait, in their order and with their messages, and edits made by hand."""

from __future__ import annotations

from pathlib import Path

import msgspec

from memctl.journal import commits, git, message
from memctl.model import ids
from memctl.model.change import Change
from memctl.model.kinds import BY_FOLDER
from memctl.model.record import InvalidRecord, parse
from memctl.store import files, lock, pending
from memctl.store.memory import Memory
from memctl.store.pending import HELD, PENDING, WRITING, Entry


class Outcome(msgspec.Struct, frozen=True):
    """What became of a change: the `commit`, or why there is none (`pending`, with a `hint`)."""

    change: Change
    commit: str = ""
    pending: str = ""
    hint: str = ""


def waiting(memory: Memory) -> list[Entry]:
    """The changes that are written, or half written, and not committed."""
    return pending.entries(folder(memory))


def uncommitted(memory: Memory) -> list[str]:
    """The files below `.memory/` that differ from HEAD, in the index or on disk."""
    args = ["status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--", memory.prefix]
    out = git.read(args, memory.repository.top).decode(errors="surrogateescape")
    names = [item[3 + len(memory.prefix) + 1 :] for item in out.split("\0") if item]
    return [name for name in names if not name.rpartition("/")[2].startswith(".memctl-")]


def commit_all(memory: Memory, *, dry_run: bool = False) -> list[Outcome]:
    """Make every commit that waits, then one of whatever else in the memory differs from HEAD (edits by hand)."""
    with lock.hold(memory.repository.shared / "lock"):
        if not dry_run:
            recover(memory)
        outcomes = []
        for group in _groups(pending.entries(folder(memory))):
            joint = _joint(group)
            if dry_run:
                outcomes.append(Outcome(joint, pending="not committed yet"))
            elif (outcome := _commit_group(memory, group)) is not None:
                outcomes.append(outcome)
        if any(outcome.pending for outcome in outcomes) and not dry_run:
            return outcomes
        handled = {path for outcome in outcomes for path in outcome.change.paths}
        by_hand = [path for path in uncommitted(memory) if path not in handled]
        broken = {path: outcome for path in by_hand if (outcome := _broken(memory, path))}
        rest = [path for path in by_hand if path not in broken]
        outcomes += [_commit_by_hand(memory, rest, dry_run)] if rest else []
        return [*outcomes, *broken.values()]


def commit_waiting(memory: Memory, newest: Entry) -> Outcome:
    """Commit what waits, the newest change last; what is kept back on purpose only if it shares a file with another."""
    outcome = Outcome(newest.change)
    for group in _groups(pending.entries(folder(memory))):
        if all(entry.stage == HELD for entry in group):
            continue
        is_fresh = [entry.file for entry in group] == [newest.file] and not newest.change.deletes
        made = _commit_group(memory, group, is_fresh=is_fresh)
        if any(entry.file == newest.file for entry in group):
            outcome = msgspec.structs.replace(made, change=newest.change) if made else outcome
    return outcome


def recover(memory: Memory) -> None:
    """Finish a write that was killed. Its files get their new text unless they were edited since."""
    for entry in pending.entries(folder(memory)):
        if entry.stage == WRITING:
            rest = pending.unfinished(memory.folder, entry)
            files.write_all(memory.folder, rest.writes, rest.deletes)
            pending.advance(entry, PENDING)
            files.remove_leftovers(memory.folder)


def signed(memory: Memory, change: Change) -> Change:
    return msgspec.structs.replace(change, actor=change.actor or memory.actor, session=change.session or memory.session)


def folder(memory: Memory) -> Path:
    return memory.repository.private / "pending"


def _groups(entries: list[Entry]) -> list[list[Entry]]:
    """Changes that share a file go into one commit, since the disk holds only the last state of it."""
    groups: list[list[Entry]] = []
    for entry in entries:
        paths = set(entry.change.paths)
        touching = [group for group in groups if any(paths & set(other.change.paths) for other in group)]
        groups = [group for group in groups if group not in touching]
        groups.append([*(other for group in touching for other in group), entry])
    return groups


def _joint(group: list[Entry]) -> Change:
    """One change that stands for a group when it is reported."""
    first = group[0].change
    if len(group) == 1:
        return first
    writes = {write.path: write for entry in group for write in entry.change.writes}
    identifiers = tuple(dict.fromkeys(identifier for entry in group for identifier in entry.change.ids))
    deletes = tuple(dict.fromkeys(path for entry in group for path in entry.change.deletes))
    return msgspec.structs.replace(first, ids=identifiers, writes=tuple(writes.values()), deletes=deletes)


def _commit_group(memory: Memory, group: list[Entry], *, is_fresh: bool = False) -> Outcome | None:
    """Make one commit of a group; None if HEAD has it already. A fresh change is known to differ from HEAD."""
    change = _joint(group)
    try:
        name = _commit(
            memory, dict.fromkeys(change.paths), message.compose([entry.change for entry in group]), is_fresh
        )
    except commits.CommitPending as error:
        for entry in group:
            pending.advance(entry, entry.stage, error.why)
        return Outcome(change, pending=error.why, hint=error.hint)
    except git.GitFailed as error:  # the files are written; a second try must not write them again
        return Outcome(change, pending=error.message, hint="`memctl commit` tries again")
    for entry in group:
        pending.drop(entry)
    return Outcome(change, commit=name) if name else None


def _commit(memory: Memory, paths: dict[str, None], text: str, is_fresh: bool) -> str:
    """Commit the state on disk of some paths; "" if HEAD has it already."""
    commits.forbid_if_unsafe(memory.repository)
    differing = set(paths) if is_fresh else set(paths) & set(uncommitted(memory))
    if not differing:
        return ""
    contents: dict[str, bytes | None] = {}
    for path in sorted(differing):
        try:
            contents[memory.tracked(path)] = files.locate(memory.folder, path).read_bytes()
        except FileNotFoundError:
            contents[memory.tracked(path)] = None
    return commits.commit(memory.repository, contents, text, memory.commit_moment)


def _broken(memory: Memory, path: str) -> Outcome | None:
    """Why a file that was changed by hand is not committed: it is a record that can't be read."""
    try:
        if files.is_record_path(path, BY_FOLDER):
            parse(files.read(memory.folder, path), path)
    except InvalidRecord as error:
        change = Change(op="commit", title=f"{memory.tracked(path)}", deletes=(path,))
        return Outcome(change, pending=f"{memory.prefix}/{error}", hint="mend the file first")
    except OSError:
        pass  # deleted by hand
    return None


def _commit_by_hand(memory: Memory, paths: list[str], dry_run: bool) -> Outcome:
    identifiers = tuple(sorted({found for path in paths if (found := ids.id_in_path(path))}))
    title = ", ".join(identifiers) or ", ".join(paths)
    change = signed(
        memory, Change(op="commit", title=f"{title} changed by hand", ids=identifiers, deletes=tuple(paths))
    )
    if dry_run:
        return Outcome(change, pending="not committed yet")
    try:
        return Outcome(change, commit=_commit(memory, dict.fromkeys(paths), message.compose([change]), False))
    except commits.CommitPending as error:
        return Outcome(change, pending=error.why, hint=error.hint)
