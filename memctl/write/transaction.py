"""The only way to change the memory: the function through which every write and its commit go.

Under the lock for writes it finishes interrupted writes, calls the operation, which reads the memory and returns a
Change, stores the Change in the journal, writes the files, and commits exactly these. If the commit can't be made, the
files stay on the disk, and the change is pending with its message.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing

from msgspec.structs import replace

from memctl.errors import MemctlError
from memctl.git.commits import CommitPending, Variables
from memctl.record.change import AT_ONCE, REDACT, RENUMBER, Change, WriteOptions
from memctl.record.pages import kind_at
from memctl.record.parser import parse_new
from memctl.store import changes_ref, files, journal, lock, memory_root, pending_state
from memctl.store.journal import PendingEntry
from memctl.store.memory import Memory, read_config
from memctl.store.sequence import Sequence
from memctl.store.sessions_ref import FOLDERS
from memctl.team import guard
from memctl.text import characters
from memctl.write import commit, credentials, documents, manual_edits, recovery
from memctl.write.commit import Outcome

_AUTHOR = re.compile("^agent_id:.*", re.MULTILINE)
_CLOCK_STEP = 20_000_000  # ns: a file system's clock may lag behind by a tick

Plan = Callable[[Sequence], Change]


def carry_out(memory: Memory, plan: Plan, options: WriteOptions) -> Outcome:
    """Write and commit the Change that `plan` returns, and return the outcome.

    `plan` is called with the generator of new ids, under the lock for writes, after interrupted writes and handoffs
    were finished. Raises MemctlError if the change is refused; then nothing is written.
    """
    if not options.dry_run and any((memory.private / memory_root.STEPS).glob("*.json")):
        from memctl.write import ownership_transaction  # most memories have no such step

        ownership_transaction.recover(memory, write)
    return write(memory, plan, options)


def write(memory: Memory, plan: Plan, options: WriteOptions) -> Outcome:
    """Write and commit a change, and return the outcome; unlike `carry_out`, finish no interrupted handoffs before.

    `plan` is called under the lock and returns the change. `ownership_transaction` calls this function to write the
    records of handoffs, and finishes interrupted handoffs itself.
    """
    with (
        lock.hold(memory.repository.shared / "lock") as last_held,
        closing(Variables(memory.repository, memory.commit_moment)) as variables,
    ):
        if memory.asked and last_held > memory.asked.started - _CLOCK_STEP:
            memory.asked = None  # somebody wrote after Git was asked
        waiting: list[PendingEntry] = []
        if not options.dry_run:
            waiting = recovery.recover(memory)
        status = memory.asked
        sequence = Sequence(memory)
        change = commit.with_author(memory, plan(sequence), options.reason)
        if options.redact:
            from memctl.write import redact_file  # only hooks and summaries need it

            change = redact_file.without_credentials(change)
        change = guard.permit(memory, change, options.allow_owned)
        check(memory, change, options)
        advice = _advice(memory, change, options)
        if options.dry_run or change.is_empty:
            return Outcome(change, advice=advice)
        is_later = changes_ref.is_later(memory)
        if is_later and not changes_ref.tip(memory):
            from memctl.write import batch_migration  # before the first change

            batch_migration.move_refs(memory)
        memory.grant_trust()
        if any(path.startswith(FOLDERS) for path in change.paths):
            from memctl.write import session_files

            here, there = session_files.split(memory, change, keeps=options.no_commit)
            commit_there = "" if there.is_empty else session_files.commit(memory, there)
            if here.is_empty:
                return Outcome(change, commit=commit_there)
            change = here
        with lock.hold_interrupts(memory.remarks) as done:
            base = memory.repository.branch()[1]
            held = options.no_commit or (is_later and change.op not in AT_ONCE)
            entry = journal.begin(memory.pending, change, held=held, base=base, allow_secret=options.allow_secret)
            try:
                prepared = files.prepare(memory.folder, change.writes)
                sequence.save()
            except BaseException:
                journal.drop(entry)  # nothing is changed yet, so there is nothing to finish
                raise
            files.replace_all(memory.folder, prepared, [delete.path for delete in change.deletes])
            if memory_root.CONFIG in change.paths:
                memory.config = read_config(memory.folder)  # by which the documents are rendered
            entry = journal.advance(entry, entry.written)
            waiting = recovery.drop_replaced([*waiting, entry]) if waiting else [entry]
            memory.asked = status
            waiting = [_recorded(memory, entry, variables) for entry in waiting] if is_later else waiting
            try:
                outcome = replace(_committed(memory, waiting, options, variables), advice=advice)
                done.append(outcome.description)
                memory.written += done
            finally:
                memory.asked = None  # Git's answer is from before the write: the next reader has to ask again
        return outcome


def _recorded(memory: Memory, entry: PendingEntry, variables: Variables) -> PendingEntry:
    """Return an entry of the journal after its change was committed to refs/memctl/changes, if it was not before.

    If that fails, a remark says why; the next write tries again.
    """
    if entry.recorded or entry.undone:
        return entry
    try:
        return journal.update(entry, recorded=changes_ref.add(memory, entry.change, variables))
    except (MemctlError, CommitPending) as error:
        memory.remarks.append(f"warning: {changes_ref.ref(memory)} has no copy of the change: {error}")
        return entry


def _committed(memory: Memory, waiting: list[PendingEntry], options: WriteOptions, variables: Variables) -> Outcome:
    """Commit the waiting changes, the last of which was just written, unless that is left to others."""
    newest = waiting[-1]
    if not newest.held:
        return commit.commit_waiting(memory, waiting, newest, variables)
    if newest.recorded and not all(entry.held or entry.undone for entry in waiting):
        list(commit.commit_remaining(memory))  # of before `commits: later`
    _, warning = documents.refresh(memory, [newest.change])
    if newest.recorded:
        return Outcome(newest.change, commit=newest.recorded, is_later=True, warning=warning)
    pending, hint = ("--no-commit was given", "`memctl commit` commits it") if options.no_commit else ("", "")
    return Outcome(newest.change, pending=pending, hint=hint, warning=warning)


def check(memory: Memory, change: Change, options: WriteOptions) -> None:
    """Raise MemctlError if a change must not be written.

    That is so if a file would be too large, if a record would be invalid, or if a text has control characters, and if
    an agent edits who recorded something. It is
    also so if a text has what looks like a credential, unless `options.allow_secret`, and if text that is in no commit
    would be lost, unless `options.discard`.
    """
    is_agents_edit = memory.by_agent and change.op == "edit"
    for write in change.writes:
        # A credential is redacted even if the mark makes the record too large.
        if len(write.text.encode(errors="surrogatepass")) > files.MAX_BYTES and change.op != REDACT:
            raise MemctlError(
                f"{write.path} would have more than {files.MAX_BYTES:,} bytes",
                "move the long part to another file and refer to that file",
            )
        if files.is_record_path(write.path) and change.op != REDACT:  # a redaction leaves the file as valid as it was
            parse_new(write.text, write.path, f"the new text of {write.path}")
        if is_agents_edit and _AUTHOR.findall(write.old or "")[:1] != _AUTHOR.findall(write.text)[:1]:
            raise MemctlError(f"an agent may not change agent_id, the author of {write.path}", "ask the user to do it")
    _refuse_controls(change)
    if not options.allow_secret:
        # Uncommitted edits by hand would become part of this commit.
        credentials.refuse(
            change,
            before=lambda write: manual_edits.text_in_head(memory, write.path),
            allowed=lambda: memory.allowed_secrets,
        )
    if (change.deletes or change.op == "restore") and change.op != RENUMBER and not options.discard:
        _keep_what_git_lacks(memory, change)


def _advice(memory: Memory, change: Change, options: WriteOptions) -> tuple[str, ...]:
    """Return hints on the records of a change, if `options` ask for them; raises MemctlError if they are strict."""
    if options.strict is None:
        return ()
    from memctl.write import hints  # for a person who writes

    is_written = not (options.strict or options.dry_run)
    all_hints = hints.hints_for(memory, change, with_advice=not options.strict, keeps_pairs=is_written)
    if all_hints and options.strict:
        raise MemctlError("\n".join(all_hints), "nothing was written; correct the record, or leave out --strict")
    return all_hints


def _keep_what_git_lacks(memory: Memory, change: Change) -> None:
    """Raise MemctlError if a change would discard text that no commit has, neither of HEAD nor of the changes' ref."""
    gone = {delete.path for delete in change.deletes}
    gone |= {write.path for write in change.writes if write.old and change.op == "restore"}
    gone &= pending_state.uncommitted(memory, ignored=True).keys()
    if unsaved := {path for path in gone if not changes_ref.keeps(memory, path)}:
        raise MemctlError(
            f"{memory.tracked(sorted(unsaved)[0])} has uncommitted changes, which would be lost",
            "`memctl commit` commits them; --discard discards them",
        )


def _refuse_controls(change: Change) -> None:
    """Raise MemctlError, naming the field, if a change adds a control character to a record or page.

    Lines that a file had before pass, and so does a version that is restored.
    """
    if change.op == "restore":
        return
    for write in change.writes:
        if not characters.first_control_character(write.text):
            continue
        if not files.is_record_path(write.path) and kind_at(write.path) is None:
            continue
        for field, line in credentials.added_lines(write):
            if character := characters.first_control_character(line):
                raise MemctlError(
                    f"{write.path}: {field}: a line contains the control character {character!r}",
                    "remove it; if it is a colour of a program's output, set NO_COLOR and run the program again",
                )
