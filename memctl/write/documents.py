"""Keeping `.memory/docs/` in step: which documents a change touches, and writing those that differ.

Documents are derived: they are rendered when a change is committed, from what is then on the disk, and stand in its
commit. One that was edited by hand is left alone; `check` names it, and `render --force` gives it up.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from memctl.errors import MemctlError
from memctl.git import commits, differences, git, index, message, trust
from memctl.pages import documents
from memctl.pages.documents import Comparison
from memctl.pages.links import FOLDER, INDEX, SOURCES
from memctl.pages.render import BrokenTemplate, Renderer, touched
from memctl.record import pages
from memctl.record.change import Change
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import BY_FOLDER, KINDS, Kind
from memctl.record.record import parse
from memctl.record.snapshot import Snapshot
from memctl.store import files, load, lock, place
from memctl.store.memory import Memory
from memctl.tokens.count import Counter
from memctl.tokens.families import family_of
from memctl.write import commit, entry_state, manual_edits, recovery
from memctl.write.commit import Outcome
from memctl.write.rerender import IGNORE_ALL, NEVER_SHOWN, UNTRACKED, Rendering, put, take_rule_out, unreadable

ATTRIBUTES = ".gitattributes"
TRUST_HINT = f"if you trust who wrote them: `{trust.COMMAND}`, or MEMCTL_TRUST=1 for one command"
# What the first memories had lines for in their .gitattributes; lines for anything else are added to theirs.
_FIRST = ("docs", "decisions", "issues", "states", "learnings", "sections", "details", "project.md")


def touched_by(memory: Memory, changes: Sequence[Change]) -> Rendering:
    """The documents that some changes on the disk touch, rendered; nothing is written."""
    written = [path for change in changes for path in change.paths]
    snapshot = load.disk(memory, written=written)
    making = renderer(memory, snapshot)
    places = _places(changes)
    if places is not None and (memory.folder / FOLDER / INDEX).exists():
        names = touched(snapshot, places)
        found = documents.compare(making, names)
    else:
        names = (*making.names(), SOURCES)
        found = documents.compare(making)
    texts, found = _wanting(memory, making, found)
    settled = (*_settled(names, found), *_gone(snapshot, changes))
    return Rendering(texts, settled, warning=_warning(memory, snapshot, places or (), found))


def compare(memory: Memory, snapshot: Snapshot, *, force: bool = False) -> Comparison:
    """How all documents of a Snapshot differ from what they should be; with `docs: false`, those that are there.

    Raises MemctlError if that can't be told, since nobody trusts the project's templates here.
    """
    if why := unused_templates(memory, snapshot):
        raise MemctlError(f"the documents can't be compared: {why}", TRUST_HINT)
    found = documents.compare(renderer(memory, snapshot), force=force)
    if snapshot.config.docs:
        return found
    there = {path for path in (*found.stale, f"{FOLDER}/{SOURCES}") if documents.found(snapshot, path) is not None}
    stale = {path: text for path, text in found.stale.items() if path in there}
    return replace(found, stale=stale, sources_stale=found.sources_stale and f"{FOLDER}/{SOURCES}" in there)


def render(memory: Memory, *, force: bool = False, no_commit: bool = False) -> tuple[Outcome, Comparison]:
    """Render all documents, that of the sources with fresh figures, and commit what changed.

    With `force` what was edited by hand is given up. With `docs: false` in the settings nothing is committed, and
    documents that Git has are taken out of it.
    """
    with lock.hold(memory.repository.shared / "lock"):
        recovery.recover(memory)
        files.remove_leftovers(memory.folder)  # of a rendering that was killed
        snapshot = load.disk(memory)
        making = renderer(memory, snapshot)
        found = documents.compare(making, force=force)
        memory.remarks += [f"warning: {line}" for line in _unread(memory, snapshot, found)]
        change = commit.signed(memory, Change(op="render", title="the documents"))
        if not memory.config.docs:
            outcome = _take_out_of_git(memory, change, making, force=force)
            texts, found = _wanting(memory, making, documents.compare(making, force=force), facts=True)
            put(memory, texts)
            files.replace(files.locate(memory.folder, UNTRACKED), IGNORE_ALL)
            return outcome, found
        texts, found = _wanting(memory, making, found, facts=True)
        put(memory, texts)
        take_rule_out(memory)
        changed = tuple(texts)
        dirty = entry_state.uncommitted(memory)
        if (text := _attributes_to_be(memory, dirty)) is not None:
            files.replace(files.locate(memory.folder, ATTRIBUTES), text)
            changed = (*changed, ATTRIBUTES)
            dirty = entry_state.uncommitted(memory)
        waiting = [path for path in _settled((*making.names(), SOURCES), found) if path in dirty]
        paths = tuple(dict.fromkeys((*changed, *waiting)))
        if no_commit and paths:
            why = "no commit was asked for"
            return Outcome(change, pending=why, hint="`memctl commit` makes it", documents=paths), found
        ours = [path for path, code in dirty.items() if manual_edits.is_ours(path, code) and path != ATTRIBUTES]
        if operation := memory.repository.under_way():
            hint = f"`git add --all -- {shlex.quote(memory.tracked(FOLDER))}`, then go on with the {operation[2:]}"
            return Outcome(change, pending=f"{operation} is under way", hint=hint, documents=paths), found
        if any(not path.startswith(f"{FOLDER}/") for path in ours):
            why = "they show changes of the memory that are in no commit"
            return Outcome(change, pending=why, hint="`memctl commit` commits both", documents=paths), found
        return _committed(memory, change, paths), found


def render_index(memory: Memory, *, stage: bool = True) -> tuple[str, ...]:
    """Render the documents of what is staged, and stage them unless told otherwise: for hooks.

    A document on the disk that differs from the staged one is left as it is.
    """
    snapshot = load.index(memory)
    if not snapshot.config.docs:
        return ()
    making = renderer(memory, snapshot)
    found = documents.compare(making)
    for error in found.broken.values():
        raise error
    texts: dict[str, str | None] = {**found.stale, **dict.fromkeys(found.orphans)}
    if found.sources_stale:
        texts[f"{FOLDER}/{SOURCES}"] = making.sources(memory.repository, counter(memory))
    untouched = [path for path in texts if documents.found(snapshot, path) == _on_disk(memory, path)]
    if stage:
        index.stage(memory.repository, {memory.tracked(path): text for path, text in texts.items()})
    put(memory, {path: texts[path] for path in untouched})
    if stage:
        index.refresh(memory.repository)
    return tuple(texts)


def complete_merge(memory: Memory) -> str:
    """Put the documents that `render_index` has staged into the merge commit that Git has just made.

    Git makes the tree of a merge before its hooks run (builtin/merge.c), so the commit is made again with the same
    parents, message and author: it is seconds old, and nobody has it yet. Returns its id, "" if nothing was to be done.
    """
    staged = differences.changed(memory.repository, ".", "HEAD", staged=True)
    if not staged or not all(f"/{place.FOLDER}/{FOLDER}/" in f"/{path}" for path in staged):
        return ""
    return index.remake_merge(memory.repository)


def attributes() -> str:
    """The `.gitattributes` of a memory: what is rendered, and which of memctl's merge drivers is for which files."""
    first, documents, *others = (files.templates() / "gitattributes").read_text(encoding="utf-8").splitlines()
    records = [f"{_merged_files(kind)} merge=memctl-record" for kind in KINDS.values()]
    return "\n".join([first, documents, *records, *others, ""])


def _merged_files(kind: Kind) -> str:
    return f"{kind.folder}/{kind.merged_files}"


def _attributes_to_be(memory: Memory, dirty: Mapping[str, str]) -> str | None:
    """The `.gitattributes` with what a memory of an earlier memctl lacks; None if nothing is to be written.

    Whatever else stands there stays, and one that says something of those files itself, has somebody's edits that are
    in no commit, or is none of memctl's, is left alone.
    """
    old = _on_disk(memory, ATTRIBUTES)
    if old is None:
        return None if os.path.lexists(memory.folder / ATTRIBUTES) else attributes()
    if ATTRIBUTES in dirty or "merge=memctl-record" not in old:
        return None
    said = {line.split()[0] for line in old.split("\n") if line.split()}
    later = [line for line in attributes().splitlines()[1:] if line.split()[0].partition("/")[0] not in _FIRST]
    missing = [line for line in later if line.split()[0] not in said]
    return "\n".join([old.rstrip("\n"), *missing, ""]) if missing else None


def unused_templates(memory: Memory, snapshot: Snapshot) -> str:
    """Why templates of the project's own are not used; "" if they are, or if it has none."""
    if memory.is_trusted or not any(path.endswith(".j2") for path in snapshot.names("templates")):
        return ""
    return "this clone is not trusted, and the project's own templates are not used"


def renderer(memory: Memory, snapshot: Snapshot) -> Renderer:
    return Renderer(snapshot, memory.private / "templates", trusted=memory.is_trusted)


def counter(memory: Memory) -> Counter:
    return Counter(family_of(memory.config.model), load.open_cache(memory))


def _wanting(
    memory: Memory, making: Renderer, found: Comparison, *, facts: bool = False
) -> tuple[dict[str, str | None], Comparison]:
    """What a comparison found wanting, rendered; with `facts`, the document of the sources in any case.

    Returns the comparison, too, with that document among the broken ones if its template is at fault.
    """
    texts: dict[str, str | None] = {**found.stale, **dict.fromkeys(found.orphans)}
    path = f"{FOLDER}/{SOURCES}"
    if found.sources_stale or (facts and path not in found.by_hand):
        try:
            text = making.sources(memory.repository, counter(memory))
            texts |= {path: text} if text != documents.found(making.snapshot, path) else {}
        except BrokenTemplate as error:
            found = replace(found, broken={**found.broken, path: error})
    return texts, found


def _on_disk(memory: Memory, path: str) -> str | None:
    try:
        return files.read(memory.folder, path)
    except (FileNotFoundError, InvalidRecord):
        return None


def _warning(memory: Memory, snapshot: Snapshot, places: Iterable[str], found: Comparison) -> str:
    """What whoever wrote should know: that a record belongs nowhere, that documents stay behind it."""
    outline = snapshot.outline
    markers = [place for place in sorted(places) if place.startswith(("§2.", "§3."))] if outline.pages else []
    nowhere = [marker for marker in markers if outline.find(marker) is None and outline.fault_of(marker) is None]
    words = [f"there is no {' and no '.join(nowhere)}; `memctl index` shows the markers"] if nowhere else []
    words += _unread(memory, snapshot, found)
    if found.by_hand:
        names = ", ".join(memory.tracked(path) for path in found.by_hand)
        words.append(f"{names} was edited by hand, and is left as it is; `memctl render --force` gives the edits up")
    words += [f"some documents are not rendered: {why}" for why in found.faults]
    return "; ".join(words)


def _unread(memory: Memory, snapshot: Snapshot, found: Comparison) -> list[str]:
    """What to say of records and pages that can't be read, and of documents that would lose them."""
    faults = (*snapshot.catalogue.faults(), *snapshot.outline.faults)
    words = [unreadable(memory, faults)] if faults else []
    if found.showing_unreadable:
        names = ", ".join(memory.tracked(path) for path in found.showing_unreadable)
        words.append(f"until that is mended these documents stay as they are, for they show it: {names}")
    return words


def _settled(names: Sequence[str], found: Comparison) -> tuple[str, ...]:
    """The documents that are as they should be once what a comparison found wanting is written."""
    paths = (f"{FOLDER}/{name}" for name in dict.fromkeys(names))
    return tuple(path for path in paths if path not in (*found.by_hand, *found.showing_unreadable, *found.broken))


def _gone(snapshot: Snapshot, changes: Sequence[Change]) -> list[str]:
    """The documents of pages that some changes delete, gone already: a change may have waited for its commit."""
    deleted = (delete.path for change in changes for delete in change.deletes if pages.kind_at(delete.path) is not None)
    paths = (f"{FOLDER}/{path.rpartition('/')[2]}" for path in deleted)
    return [path for path in paths if documents.found(snapshot, path) is None]


def _committed(memory: Memory, change: Change, paths: Sequence[str]) -> Outcome:
    try:
        name = commit.commit_paths(memory, dict.fromkeys(paths), message.compose([change]))
        return Outcome(change, commit=name, documents=tuple(paths))
    except commits.CommitPending as error:
        return Outcome(change, pending=error.why, hint=error.hint, documents=tuple(paths))
    except git.GitFailed as error:
        return Outcome(change, pending=error.message, hint="`memctl commit` tries again", documents=tuple(paths))


def _take_out_of_git(memory: Memory, change: Change, making: Renderer, *, force: bool) -> Outcome:
    """Delete the documents that Git has, in a commit; those edited by hand only with `force`."""
    known = [entry.path for entry in index.entries(memory.repository, memory.tracked(FOLDER))]
    ours = {f"{FOLDER}/{name}" for name in (*making.names(), SOURCES)} if force else set()
    tracked = [path[len(memory.prefix) + 1 :] for path in known]
    paths = [p for p in tracked if p in ours or documents.is_intact(documents.found(making.snapshot, p) or "")]
    if not paths:
        return Outcome(change)
    put(memory, dict.fromkeys(paths))
    return _committed(memory, change, paths)


def _places(changes: Sequence[Change]) -> set[str] | None:
    """The places of all records that some changes write or delete; None if they change pages or settings."""
    places = set()
    for change in changes:
        texts = [(write.path, text) for write in change.writes for text in (write.old, write.text) if text is not None]
        for path, text in (*texts, *((delete.path, delete.old) for delete in change.deletes)):
            if path.startswith(NEVER_SHOWN):
                continue
            if not files.is_record_path(path, BY_FOLDER):
                return None
            try:
                places.add(parse(text, path)[0].place)
            except InvalidRecord:
                return None
    return places
