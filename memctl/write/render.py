"""`memctl page render`: rendering and committing all documents, and completing a merge commit with them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from memctl.errors import MemctlError
from memctl.git import commits, differences, git, index
from memctl.pages.documents import Comparison, compare, current_text
from memctl.pages.links import FOLDER, SOURCES, UNTRACKED
from memctl.pages.render import Renderer
from memctl.record.change import Change
from memctl.store import files, load, lock, memory_root, pending_state
from memctl.store.memory import Memory
from memctl.write import commit, documents, manual_edits, recovery
from memctl.write.commit import Outcome

_ATTRIBUTES = ".gitattributes"
# Patterns in the .gitattributes of the first memories; lines for other patterns are added.
_FIRST = ("docs", "decisions", "issues", "states", "learnings", "sections", "details", "project.md")


def render(memory: Memory, *, force: bool = False, no_commit: bool = False) -> tuple[Outcome, Comparison]:
    """Render all documents and commit those that changed; return the outcome, and how documents differed before.

    The document of the source files is rendered even if it is not stale, so that its sizes are right. With `force`
    documents edited by hand are overwritten, also those with edits that HEAD lacks. With `no_commit` the commit is left
    to the user. With the setting `docs: false` documents are only on the disk: nothing is added to Git, and documents
    in Git are removed from it. Raises MemctlError on a branch on which, by the settings, no documents are kept.
    """
    if memory.config.docs and not documents.belong_here(memory, memory.config):
        raise MemctlError(
            documents.missing_branch(memory)
            or f"the documents are rendered on {memory.default_branch} alone (`docs: default-branch` in config.yaml)",
            f"run `git switch {memory.default_branch}` and `memctl page render`, or set `docs: true` in config.yaml",
        )
    with lock.hold(memory.repository.shared / "lock"):
        recovery.recover(memory)
        files.remove_leftovers(memory.folder)  # those of a killed rendering
        snapshot = load.disk(memory, whole=True)
        making = documents.renderer(memory, snapshot)
        result = documents.compare_for_render(memory, making, force=force, exact=True)
        memory.remarks += [f"warning: {line}" for line in documents.unreadable_remarks(memory, snapshot, result)]
        change = commit.with_author(memory, Change(op="render", title="the documents"))
        if not memory.config.docs:
            outcome = _untrack_documents(memory, change, making, force=force)
            result = compare(making, force=force, exact=True)
            texts, result = documents.render_differing(memory, making, result, facts=True)
            documents.write_documents(memory, texts)
            files.replace(files.locate(memory.folder, UNTRACKED), documents.IGNORE_ALL)
            return outcome, result
        texts, result = documents.render_differing(memory, making, result, facts=True)
        documents.write_documents(memory, texts)
        documents.remove_ignore_rule(memory)
        changed = tuple(texts)
        dirty = pending_state.uncommitted(memory)
        if (text := _updated_attributes(memory, dirty)) is not None:
            files.replace(files.locate(memory.folder, _ATTRIBUTES), text)
            changed = (*changed, _ATTRIBUTES)
            dirty = pending_state.uncommitted(memory)
        waiting = [path for path in documents.up_to_date((*making.names(), SOURCES), result) if path in dirty]
        paths = tuple(dict.fromkeys((*changed, *waiting)))
        ours = [path for path, code in dirty.items() if manual_edits.is_ours(path, code) and path != _ATTRIBUTES]
        if no_commit and paths:
            why, hint = "--no-commit was given", "`memctl commit` commits it"
        elif operation := memory.repository.under_way():
            why = f"{operation} is under way"
            hint = f"run `git add --all -- {shlex.quote(memory.tracked(FOLDER))}`, then continue the {operation[2:]}"
        elif any(not path.startswith(f"{FOLDER}/") for path in ours):
            why = "the documents show edits that are not committed"
            hint = "`memctl commit` commits the edits and the documents"
        else:
            return _commit_documents(memory, change, paths), result
        return Outcome(change, pending=why, hint=hint, documents=paths), result


def complete_merge(memory: Memory) -> str:
    """Add the documents that `render_index` has staged to the merge commit that Git has just made.

    Git has chosen the files of a merge commit before it runs hooks (builtin/merge.c). So the commit is replaced by one
    with the same parents, message and author, which is safe: it is seconds old, and nobody has it yet. Returns the id
    of the new commit, "" if no document was staged.
    """
    staged = differences.changed_below(memory.repository, ".", "HEAD", staged=True)
    if not staged or not all(f"/{memory_root.FOLDER}/{FOLDER}/" in f"/{path}" for path in staged):
        return ""
    return index.remake_merge(memory.repository)


def _commit_documents(memory: Memory, change: Change, paths: Sequence[str]) -> Outcome:
    try:
        name = commit.commit_paths(memory, dict.fromkeys(paths), [change])
        return Outcome(change, commit=name, documents=tuple(paths))
    except (commits.CommitPending, git.GitFailed) as error:
        return commit.without_commit(Outcome(change, documents=tuple(paths)), error)


def _untrack_documents(memory: Memory, change: Change, making: Renderer, *, force: bool) -> Outcome:
    """Delete the documents that Git has, in one commit; those edited by hand only with `force`."""
    known = [entry.path for entry in index.entries(memory.repository, memory.tracked(FOLDER))]
    ours = {f"{FOLDER}/{name}" for name in (*making.names(), SOURCES)} if force else set()
    tracked = [path[len(memory.prefix) + 1 :] for path in known]
    paths = [p for p in tracked if p in ours or not making.is_edited(p, current_text(making.snapshot, p) or "")]
    if not paths:
        return Outcome(change)
    documents.write_documents(memory, dict.fromkeys(paths))
    return _commit_documents(memory, change, paths)


def _updated_attributes(memory: Memory, dirty: Mapping[str, str]) -> str | None:
    """Return the new text of `.gitattributes`, None if it needs no change.

    A memory of an earlier memctl gets the lines that it lacks; other lines stay. A file is left alone if it has such
    rules already, has uncommitted edits, or was not written by memctl.
    """
    old = documents.on_disk(memory, _ATTRIBUTES)
    if old is None:
        return None if os.path.lexists(memory.folder / _ATTRIBUTES) else documents.attributes()
    if _ATTRIBUTES in dirty or "merge=memctl-record" not in old:
        return None
    known = {line.split()[0] for line in old.split("\n") if line.split()}
    later = [
        line for line in documents.attributes().splitlines()[1:] if line.split()[0].partition("/")[0] not in _FIRST
    ]
    missing = [line for line in later if line.split()[0] not in known]
    return "\n".join([old.rstrip("\n"), *missing, ""]) if missing else None
