"""The upgrade of a memory from format 1 to format 2: its settings, its records in the slim form, and its README."""

from __future__ import annotations

import re

import msgspec

from memctl.errors import MemctlError
from memctl.git import commits, git
from memctl.record import config as configuration
from memctl.record import record_form
from memctl.record.change import Change, Write, WriteOptions
from memctl.record.config import DEFAULT_BRANCH, FORMAT
from memctl.record.snapshot import Snapshot
from memctl.store import files, load, pending_state
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG
from memctl.store.sequence import Sequence
from memctl.text.phrases import quantity, some
from memctl.write import setup, transaction
from memctl.write.commit import Outcome

OLDER = (
    "an older memctl refuses this memory from then on, and its Git hook refuses commits: "
    "everybody who works here upgrades memctl first"
)
_README = "README.md"
_FORMAT_LINE = re.compile(r"""(?m)^(["']?)format\1[ \t]*:[ \t]*1(?=\s|$)""")


class Upgrade(msgspec.Struct, frozen=True):
    """What an upgrade does: its change, how many records it rewrites, and the setting `docs` afterwards.

    `moves_documents` says that rendered documents are kept on the default branch alone from then on.
    """

    change: Change
    records: int
    docs: bool | str
    moves_documents: bool = False

    @property
    def is_needed(self) -> bool:
        """Whether the upgrade changes anything."""
        return not self.change.is_empty


def plan(memory: Memory, docs: str = "") -> Upgrade:
    """Return the upgrade of a memory; `docs` is the setting `docs` that it gets, "" to decide by its remotes.

    Records that are still in the form of format 1 are rewritten, in a memory of format 2, too, where an old branch
    brought them. Raises MemctlError if a file of the memory can't be read, has uncommitted changes, or if a merge is
    under way.
    """
    snapshot = load.disk(memory)
    config = files.read(memory.folder, CONFIG)
    text = config
    if memory.config.format < FORMAT:
        if not docs and memory.config.docs is True and memory.repository.remotes():
            docs = DEFAULT_BRANCH
        text = _FORMAT_LINE.sub(f"format: {FORMAT}", config)
    if docs:
        text = setup.with_documents(memory.repository, text, docs)
    after = configuration.parse(text, memory.tracked(CONFIG))
    if after.format < FORMAT:
        raise MemctlError(f"{memory.tracked(CONFIG)} has no line `format: 1`", "write the setting on a line of its own")
    records = _records(snapshot, after.project)
    writes = [Write(CONFIG, text, config)] if text != config else []
    change = Change("upgrade", f"to format {FORMAT}", (), (*writes, *records, *_readme(memory)))
    if not change.is_empty:
        _refuse_unsettled(memory, snapshot, change)
    return Upgrade(change, len(records), after.docs, after.docs == DEFAULT_BRANCH != memory.config.docs)


def carry_out(memory: Memory, docs: str, options: WriteOptions) -> Outcome:
    """Upgrade a memory in one commit, with its documents rendered as format 2 has them, and return the outcome."""

    def change(_: Sequence) -> Change:
        planned = plan(memory, docs).change
        for write in planned.writes:
            if write.path == CONFIG and not options.dry_run:
                memory.config = configuration.parse(write.text, memory.tracked(CONFIG))
        return planned

    return transaction.carry_out(memory, change, options)


def _records(snapshot: Snapshot, project: str) -> list[Write]:
    """Return the writes of the records that are in the form of format 1."""
    writes = []
    for record in snapshot.records:
        old = snapshot.read(record.path)
        if (text := record_form.to_slim(old, project)) != old:
            writes.append(Write(record.path, text, old))
    return writes


def _readme(memory: Memory) -> list[Write]:
    """Return the write of the memory's README, if nobody but memctl has ever written it."""
    old = files.read_if_there(memory.folder, _README)
    args = ["log", "-1", "--format=%(trailers:key=Memctl-Op,valueonly)", "--", memory.tracked(_README)]
    operation = git.read(args, memory.repository.top).decode(errors="replace").strip()
    text = setup.readme(memory.config.project)
    if memory.config.format == FORMAT or old is None or old == text or operation not in ("init", "upgrade"):
        return []
    return [Write(_README, text, old)]


def _refuse_unsettled(memory: Memory, snapshot: Snapshot, change: Change) -> None:
    why, hint = commits.why_unsafe(memory.repository)
    if why:
        raise MemctlError(f"`memctl upgrade` can't commit now: {why}", hint)
    if snapshot.faults:
        names = some([memory.tracked(fault.path) for fault in snapshot.faults], 3)
        raise MemctlError(f"these files can't be read: {names}", "correct them; `memctl check` says what is wrong")
    if edited := sorted(pending_state.uncommitted(memory).keys() & set(change.paths)):
        what = f"{quantity(len(edited), 'file')} with uncommitted changes: {some(list(map(memory.tracked, edited)), 3)}"
        raise MemctlError(f"the upgrade would rewrite {what}", "`memctl commit` commits them")
