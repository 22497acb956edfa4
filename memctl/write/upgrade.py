"""The upgrade of a memory from format 1 to format 2: its settings, its records in the slim form, and its README."""

from __future__ import annotations

import re

import msgspec

from memctl.errors import MemctlError
from memctl.git import commits, git
from memctl.record import config as configuration
from memctl.record import record_form
from memctl.record.change import Change, Write, WriteOptions
from memctl.record.config import DEFAULT_BRANCH, FORMAT, Config
from memctl.record.snapshot import Snapshot
from memctl.store import files, load, pending_state
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG
from memctl.text.phrases import some
from memctl.write import setup, transaction
from memctl.write.commit import Outcome

OLDER = (
    "an older memctl refuses this memory from then on, and its Git hook refuses commits: "
    "everybody who works here upgrades memctl first"
)
_README = "README.md"
_FORMAT_LINE = re.compile(r"""(?m)^(["']?)format\1[ \t]*:[ \t]*1(?=\s|$)""")


class Upgrade(msgspec.Struct, frozen=True):
    """What an upgrade does: its change, the number of records that it rewrites, and the settings that it leaves."""

    change: Change
    records: int
    config: Config


def plan(memory: Memory, docs: str = "") -> Upgrade:
    """Return the upgrade of a memory; `docs` is the setting `docs` that it gets, "" to decide by its remotes.

    Records in the form of format 1 are rewritten, also those that an old branch brought to a memory of format 2. Raises
    MemctlError during a merge, if a file of the memory can't be read, and if one to rewrite has uncommitted changes.
    """
    snapshot, is_old = load.disk(memory), memory.config.format < FORMAT
    old = files.read(memory.folder, CONFIG)
    if memory.config.docs is True and memory.repository.remotes():
        docs = docs or DEFAULT_BRANCH
    text = _FORMAT_LINE.sub(f"format: {FORMAT}", old)
    text = setup.with_documents(memory.repository, text, docs) if docs and is_old else text
    config = configuration.parse(text, memory.tracked(CONFIG))
    if config.format < FORMAT:
        raise MemctlError(f"{memory.tracked(CONFIG)} has no line `format: 1`", "write the setting on a line of its own")
    texts = [(record.path, snapshot.read(record.path)) for record in snapshot.records]
    records = [Write(path, record_form.to_slim(text, config.project), text) for path, text in texts]
    records = [write for write in records if write.text != write.old]
    writes = [Write(CONFIG, text, old), *(_readme(memory) if is_old else ()), *records]
    change = Change(
        "upgrade", f"to format {FORMAT}", writes=tuple(write for write in writes if write.text != write.old)
    )
    if not change.is_empty:
        _refuse_unsettled(memory, snapshot, change)
    return Upgrade(change, len(records), config)


def carry_out(memory: Memory, docs: str, options: WriteOptions) -> Outcome:
    """Upgrade a memory in one commit, with its documents rendered as format 2 has them, and return the outcome."""
    return transaction.carry_out(memory, lambda _: plan(memory, docs).change, options)


def _readme(memory: Memory) -> list[Write]:
    """Return the write of the memory's README, if nobody but memctl has ever written it."""
    old = files.read_if_there(memory.folder, _README)
    args = ["log", "-1", "--format=%(trailers:key=Memctl-Op,valueonly)", "--", memory.tracked(_README)]
    if old is None or git.read(args, memory.repository.top).strip() != b"init":
        return []
    return [Write(_README, setup.readme(memory.config.project), old)]


def _refuse_unsettled(memory: Memory, snapshot: Snapshot, change: Change) -> None:
    why, hint = commits.why_unsafe(memory.repository)
    if why:
        raise MemctlError(f"`memctl upgrade` can't commit now: {why}", hint)
    if names := some([memory.tracked(fault.path) for fault in snapshot.faults], 3):
        raise MemctlError(f"these files can't be read: {names}", "correct them; `memctl check` says what is wrong")
    edited = sorted(pending_state.uncommitted(memory).keys() & set(change.paths))
    if names := some([memory.tracked(path) for path in edited], 3):
        raise MemctlError(f"files to rewrite have uncommitted changes: {names}", "`memctl commit` commits them")
