"""Removing secrets from the memory, and from everything else that memctl keeps in this clone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git import history_search, index, trees
from memctl.pages.links import FOLDER
from memctl.record import checkpoint, ids, session_page
from memctl.record.change import REDACT, Change, Write, WriteOptions
from memctl.record.errors import readable
from memctl.record.snapshot import Snapshot
from memctl.store import erasure, files, journal, load, lock, pending_state, sessions_ref
from memctl.store.erasure import Erasure
from memctl.store.memory import Memory
from memctl.team import ref_state
from memctl.team.coordination_ref import ref
from memctl.team.ref_state import Step, Terms
from memctl.team.state import State, decode, encode
from memctl.text import credentials
from memctl.write import manual_edits, redact_file, transaction
from memctl.write.commit import Outcome
from memctl.write.redact_file import GIVEN, Secrets

_SHORTEST = 6  # characters of a given text; shorter ones also occur in words that are no secret


class Redaction(msgspec.Struct, frozen=True):
    """The result of a redaction: the `secrets`, and the places they were removed from.

    - `counts` is how many secrets were removed from each file of the memory, by path.
    - `loose` are paths of files that were redacted but are in no commit, since Git does not track them.
    - `named` are paths of files whose names still contain a secret.
    - `unreached` are paths of files that keep a secret: they would be unreadable without it, or are no text, or too
      large.
    - `erased` are files in the Git directory from which secrets were removed.
    - `staged` are files (relative to the worktree's top) whose text in Git's index still has a secret.
    - `coordination` is the commit that removed secrets from the coordination state, "" for none; `coordination_failed`
      says why they could not be removed there, "" if they could.
    """

    secrets: Secrets
    outcome: Outcome
    counts: dict[str, int]
    loose: tuple[str, ...]
    named: tuple[str, ...]
    erased: Erasure
    staged: tuple[str, ...] = ()
    coordination: str = ""
    coordination_failed: str = ""
    unreached: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether no secret was found anywhere."""
        return not (self.counts or self.erased.files or self.coordination)


class _Plan(msgspec.Struct):
    """What a redaction replaces, and where; it is found under the lock."""

    references: Sequence[str]
    start: Path
    secrets: Secrets
    folders: Sequence[Path]
    writes: dict[str, Write] = {}
    loose: dict[str, Write] = {}
    erased: Erasure = Erasure()
    unreached: list[str] = []


def redact(
    memory: Memory,
    references: Sequence[str],
    secrets: Sequence[str],
    options: WriteOptions,
    *,
    start: Path = Path(),
    folders: Iterable[Path] = (),
) -> Redaction:
    """Remove secrets from the files of `references`, and the texts `secrets` from everywhere, in one commit.

    - `references` name records, pages, checkpoints, sessions or files below `.memory/`, as a person typed them; paths
      are relative to `start` or to the memory. What is a secret in these files is found by the rules for credentials.
    - `secrets` are texts that a person typed. They are removed wherever memctl keeps them in this clone.
    - `folders` are searched besides memctl's own folders in the Git directory.

    A secret without which a file would be unreadable stays there. Raises MemctlError if a text in `secrets` is too
    short.
    """
    for text in secrets:
        if len(text) < _SHORTEST:
            raise MemctlError(f"a text to be redacted must have at least {_SHORTEST} characters", exit_code=USAGE)
    ours = [memory.repository.shared, *sorted((memory.repository.common_dir / "worktrees").glob("*/memctl"))]
    plan = _Plan(references, start, dict.fromkeys(secrets, GIVEN), [*ours, *folders])
    options = msgspec.structs.replace(options, reason=options.reason or "a credential is removed", allow_owned=True)
    outcome = transaction.carry_out(memory, lambda _: _change(memory, plan, options), options)
    if not options.dry_run:
        with lock.hold(memory.repository.shared / "lock"):
            prepared = files.prepare(memory.folder, plan.loose.values())
            files.replace_all(memory.folder, prepared, ())
    if not plan.secrets:
        return Redaction(plan.secrets, outcome, {}, (), (), Erasure())
    agreed, failed = _redact_coordination(memory, plan.secrets, options)
    with lock.hold(held := memory.repository.shared / "lock"):
        if not options.dry_run:
            load.current_cache(memory)  # otherwise the cache would keep the old text
        erased = _erase(plan, held, options)  # copies that the write itself made
    gone = tuple(dict.fromkeys((*plan.erased.files, *(file for file in erased.files if file.exists()))))
    erased = Erasure(gone, erased.failed)
    writes = (*plan.writes.values(), *plan.loose.values())
    counts = {write.path: _count(write.old or "", plan.secrets) for write in writes}
    paths = tuple(path for path in load.disk(memory).names("") if redact_file.is_in_name(path, plan.secrets))
    staged = _staged_files(memory, plan, dry_run=options.dry_run)
    unreached = tuple(plan.unreached)
    return Redaction(plan.secrets, outcome, counts, tuple(plan.loose), paths, erased, staged, agreed, failed, unreached)


def _change(memory: Memory, plan: _Plan, options: WriteOptions) -> Change:
    """Find the secrets and return the Change that replaces them; raises MemctlError. The caller holds the lock."""
    snapshot = load.disk(memory)
    paths = [path for reference in plan.references for path in paths_of(memory, snapshot, reference, plan.start)]
    texts = _texts(snapshot)
    unread = _unread(memory, snapshot, texts)
    codes = pending_state.uncommitted(memory, ignored=True)
    _find_staged(memory, plan, [path for path in paths if codes.get(path, " ")[0] in "MA"])
    _find(plan, paths, {**unread, **texts})
    if any(
        redact_file.redact_text(text, plan.secrets) != text for text in (options.reason, memory.actor, memory.session)
    ):
        raise MemctlError(
            "the reason, the agent's name or the session's name contains the text that is to be redacted",
            "give another --reason, or set MEMCTL_AGENT or MEMCTL_SESSION to another name",
        )
    plan.unreached += [path for path, text in unread.items() if redact_file.holds(text, plan.secrets)]
    for path, old in texts.items():
        text = redact_file.redact_readable(path, old, plan.secrets)
        plan.unreached += [path] if redact_file.holds(text, plan.secrets) else []
        if text == old:
            continue
        is_loose = codes.get(path) == "!!" or not manual_edits.is_ours(path, codes.get(path, ""))
        (plan.loose if is_loose else plan.writes)[path] = Write(path, text, old)
    if options.no_commit:
        _refuse_session_files(memory, plan.writes)
    if not options.dry_run:  # before the write: after a kill the file still shows what to redact
        _redact_pending(memory, plan.secrets)
        plan.erased = _erase(plan, memory.repository.shared / "lock", options)
    named_ids = [ids.id_in_path(path) or path for path in plan.writes if path in paths or not paths]
    title = ", ".join(dict.fromkeys(named_ids or plan.writes))
    concerned = tuple(dict.fromkeys(name for path in plan.writes if (name := ids.id_in_path(path))))
    return Change(
        op=REDACT,
        title=redact_file.redact_text(title, plan.secrets),
        ids=concerned,
        writes=tuple(plan.writes.values()),
    )


def paths_of(memory: Memory, snapshot: Snapshot, reference: str, start: Path) -> list[str]:
    """Return the files below `.memory/` that a person means by an id, a § marker or a path.

    A path is relative to `start` or to the memory. Raises MemctlError if there is no such file.
    """
    wanted = reference.strip()
    known = set(snapshot.names(""))
    if version := checkpoint.version_in(wanted):
        paths = [path for path in (version.path, version.page) if path in known]
    elif wanted.startswith("§"):
        page = snapshot.outline.find(wanted)
        paths = [getattr(page, "path", "")] if page else []
    else:
        paths = _paths(memory, snapshot, known, wanted, start)
    if not paths:
        hint = "give the id of a record, checkpoint or session, a § marker, or the path of a file below .memory/"
        raise MemctlError(f"the memory has nothing called {reference!r}", hint, USAGE)
    return paths


def _paths(memory: Memory, snapshot: Snapshot, names: set[str], name: str, start: Path) -> list[str]:
    session = [path for path in (session_page.path_of(name), session_page.trail_of(name)) if path in names]
    for path in (name, name.removeprefix(f"{memory.prefix}/"), _below(memory, start, name)):
        if path in names:
            return [path]
    broken = [fault.path for fault in snapshot.faults if ids.id_in_path(fault.path) == snapshot.canonical(name)]
    if session or broken or "/" in name:
        return session or broken
    return [snapshot.resolve(name).path]


def _below(memory: Memory, start: Path, name: str) -> str:
    """Return the path below `.memory/` of a file that is named from the folder `start`, "" if it is elsewhere."""
    try:
        return Path(os.path.realpath(start / name)).relative_to(memory.folder).as_posix()
    except ValueError:
        return ""


def _texts(snapshot: Snapshot) -> dict[str, str]:
    """Return the text of each file of the memory that can be read."""
    texts = {path: snapshot.try_read(path) for path in snapshot.names("")}
    return {path: text for path, text in texts.items() if text is not None}


def _unread(memory: Memory, snapshot: Snapshot, texts: Mapping[str, str]) -> dict[str, str]:
    """Return what can be read of each file on the disk that is not in `texts`: it is not UTF-8, or too large."""
    unread = {}
    for path in snapshot.names(""):
        with suppress(MemctlError, OSError):
            if path not in texts and (file := files.locate(memory.folder, path)).is_file():
                unread[path] = readable(file.read_bytes())
    return unread


def _find(plan: _Plan, paths: Iterable[str], texts: dict[str, str]) -> None:
    """Find the secrets in the named files, and in all files that share one of them, except in rendered documents."""
    ahead, seen = list(paths), set[str]()
    while True:
        for path in ahead:
            seen.add(path)
            plan.secrets = {**plan.secrets, **redact_file.find(path, texts.get(path, "")), **plan.secrets}
        ahead = [
            path
            for path, text in texts.items()
            if path not in seen
            and not path.startswith(f"{FOLDER}/")
            and redact_file.redact(path, text, plan.secrets) != text
        ]
        if not ahead:
            return


def _find_staged(memory: Memory, plan: _Plan, paths: Sequence[str]) -> None:
    """Find the secrets in the staged texts of files, which the disk may no longer have."""
    entries = index.entries(memory.repository, *map(memory.tracked, paths)) if paths else []
    places = {entry.blob: entry.path for entry in entries if entry.is_regular}
    contents = trees.blobs(memory.repository, places, files.MAX_BYTES, places)
    for entry in entries:
        path, content = entry.path.removeprefix(f"{memory.prefix}/"), contents.get(entry.blob)
        plan.secrets = redact_file.find(path, (content or b"").decode(errors="replace")) | plan.secrets


def _staged_files(memory: Memory, plan: _Plan, *, dry_run: bool) -> tuple[str, ...]:
    """Return the files whose text in Git's index has a secret, without those that a commit will replace."""
    forms = [form for secret in plan.secrets for form in redact_file.forms(secret)]
    replaced = {memory.tracked(path) for path in plan.writes} if dry_run else set()
    return tuple(
        path for path in history_search.staged_files(memory.repository, forms, memory.prefix) if path not in replaced
    )


def _refuse_session_files(memory: Memory, paths: Iterable[str]) -> None:
    """Raise MemctlError for a file that only the ref of sessions has, where each change is a commit."""
    for path in paths:
        if path.startswith(sessions_ref.FOLDERS) and not os.path.lexists(memory.folder / path):
            raise MemctlError(
                f"{memory.tracked(path)} is on {sessions_ref.REF}, where it can't be redacted without a commit",
                "leave out --no-commit",
            )


def _redact_pending(memory: Memory, secrets: Secrets) -> None:
    """Redact the changes that wait for their commit, which would otherwise commit the secret."""
    for entry in journal.entries(memory.pending):
        change = redact_file.redact_change(entry.change, secrets)
        if change != entry.change:
            journal.update(entry, change=change)


def _erase(plan: _Plan, held: Path, options: WriteOptions) -> Erasure:
    return erasure.erase(
        plan.folders, lambda text: redact_file.redact_text(text, plan.secrets), held, dry_run=options.dry_run
    )


def _redact_coordination(memory: Memory, secrets: Secrets, options: WriteOptions) -> tuple[str, str]:
    """Redact the state that agents share; return the commit's id, and the reason if that failed ("" for none)."""

    def step(state: State) -> Step:
        redacted = {
            name: redact_file.redact_text(data.decode(), secrets).encode() for name, data in encode(state).items()
        }
        return Step(decode(redacted, ref(memory)), REDACT, "the coordination state")

    try:
        outcome = ref_state.update(memory, step, Terms(options.reason, options.dry_run or options.no_commit))
        if options.no_commit and outcome.is_changed:
            why = f"the coordination state still has the text, since each change of {ref(memory)} is a commit"
            return "", f"{why}; run the command again without --no-commit"
    except MemctlError as error:
        return "", redact_file.redact_text(error.message, secrets)
    return outcome.commit or ("would be made" if outcome.is_changed else ""), ""


def _count(text: str, secrets: Secrets) -> int:
    """Return how many secrets of a text are replaced; a secret within another one is not counted."""
    redacted = redact_file.redact_text(text, secrets)
    markers = {credentials.MARK.format(rule) for rule in secrets.values()}
    return sum(redacted.count(marker) - text.count(marker) for marker in markers)
