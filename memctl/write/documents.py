"""Keeping `.memory/docs/` up to date: finding which documents a change affects, and writing those that differ.

When a change is committed, the documents it affects are rendered from the files on the disk, and go into the same
commit. A document edited by hand is left alone; `check` names it, and `render` overwrites it if HEAD has the edit.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from memctl.errors import MemctlError
from memctl.git import trees, trust
from memctl.git.git import GitFailed
from memctl.pages import documents
from memctl.pages.documents import Comparison
from memctl.pages.links import FOLDER, INDEX, NEVER_SHOWN, SOURCES, UNTRACKED
from memctl.pages.render import Renderer, touched
from memctl.pages.template_values import BrokenTemplate
from memctl.record import errors, pages
from memctl.record.change import Change
from memctl.record.config import DEFAULT_BRANCH, Config
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import KINDS
from memctl.record.pages import Outline
from memctl.record.parser import parse
from memctl.record.snapshot import Snapshot
from memctl.store import files, load, pending_state
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG
from memctl.write import edited_documents

if TYPE_CHECKING:
    from memctl.tokens.count import Counter

IGNORE_ALL = "# `docs: false` keeps the rendered documents out of Git.\n*\n"
TRUST_HINT = f"if you trust the authors of the templates: `{trust.COMMAND}`, or MEMCTL_TRUST=1 for one command"


class RenderedDocuments(msgspec.Struct, frozen=True):
    """The documents that have to be written: their texts by path below `.memory/`, None for a document to delete.

    `settled` are the paths of all documents that were looked at and are up to date once these are written. `warning` is
    a line for the user, "" for none.
    """

    texts: dict[str, str | None] = {}
    settled: tuple[str, ...] = ()
    warning: str = ""


def follow_writes(memory: Memory, config: Config) -> bool:
    """Return whether each write renders the documents it affects, into Git, on HEAD's branch.

    In format 2 documents that are kept on the default branch alone have one writer, `memctl page render`: two on one
    branch conflict as two branches do.
    """
    return belong_here(memory, config) and (config.docs != DEFAULT_BRANCH or config.format == 1)


def belong_here(memory: Memory, config: Config) -> bool:
    """Return whether documents are kept in Git on HEAD's branch, as the setting `docs` says.

    With `docs: default-branch` they are kept on the default branch alone. If no branch is checked out, as in a CI
    build, HEAD must be the default branch's commit at the remote origin.
    """
    if config.docs != DEFAULT_BRANCH:
        return bool(config.docs)
    name = config.default_branch or memory.default_branch
    branch, commit = memory.repository.branch()
    if branch:
        return branch == f"refs/heads/{name}"
    return bool(commit) and commit == memory.repository.tip(f"refs/remotes/origin/{name}")


def missing_branch(memory: Memory) -> str:
    """Return a warning if `docs: default-branch` is set and no default branch is known, else ""."""
    if memory.config.docs != DEFAULT_BRANCH or memory.default_branch:
        return ""
    return (
        "the documents are rendered on no branch, because the default branch is not known: set `default_branch: "
        f"NAME` in {memory.tracked(CONFIG)}, or run `git remote set-head origin --auto`"
    )


def affected_by(
    memory: Memory, changes: Sequence[Change], written: Sequence[str], instead: Mapping[str, str | None]
) -> RenderedDocuments:
    """Render the documents that some changes affect, and return those that differ from the disk; nothing is written.

    `written` are the paths of the changes' files, which are already on the disk. `instead` are texts by path that the
    documents show in place of what the disk has; None means that the file counts as missing. With `docs:
    default-branch` all documents are rendered: a merge on the hosting site may have left any of them outdated.
    """
    snapshot = load.disk(memory, written=written, instead=instead, whole=True)
    making = renderer(memory, snapshot)
    places = _places(changes, snapshot.outline)
    are_in_step = memory.config.docs != DEFAULT_BRANCH and (memory.folder / FOLDER / INDEX).exists()
    if places is not None and are_in_step:
        names = touched(snapshot, places)
        comparison = documents.compare(making, names)
    else:
        names = (*making.names(), SOURCES)
        comparison = documents.compare(making)
    texts, comparison = render_differing(memory, making, comparison)
    done = (*up_to_date(names, comparison), *_orphaned_documents(snapshot, changes))
    return RenderedDocuments(texts, done, warning=_warning(memory, snapshot, places or (), comparison))


def compare(memory: Memory, snapshot: Snapshot, *, force: bool = False) -> Comparison:
    """Return which documents of a snapshot are stale, missing, edited by hand or should not exist.

    With `force` documents edited by hand count as stale, so that they will be overwritten. With the setting `docs:
    false`, which keeps documents out of Git, only documents that exist can be stale. If documents are kept on another
    branch alone, none is stale. Raises MemctlError if the project has templates of its own and this clone is not
    trusted, since its templates are then not run.
    """
    if why := unused_templates(memory, snapshot):
        raise MemctlError(f"memctl can't tell whether the documents are up to date: {why}", TRUST_HINT)
    comparison = compare_for_render(memory, renderer(memory, snapshot), force=force)
    if belong_here(memory, snapshot.config):
        return comparison
    if snapshot.config.docs:
        return replace(comparison, stale={}, orphans=(), sources_stale=False)
    here = documents.current_text
    stale = {path: text for path, text in comparison.stale.items() if here(snapshot, path) is not None}
    sources_stale = comparison.sources_stale and here(snapshot, f"{FOLDER}/{SOURCES}") is not None
    return replace(comparison, stale=stale, sources_stale=sources_stale)


def compare_for_render(memory: Memory, making: Renderer, *, force: bool = False, exact: bool = False) -> Comparison:
    """Return how documents differ from what `making` gives; those to be overwritten, although edited, count as stale.

    These are all with `force`, and else those whose edits HEAD has: nothing is lost, and a host that has made a
    document of several commits can render it. A remark names them.
    """
    comparison = documents.compare(making, force=force, exact=exact)
    committed = edited_documents.committed(memory, comparison.by_hand)
    if not committed or not memory.config.docs:
        return comparison
    head = memory.repository.branch()[1][:10]
    memory.remarks += [
        f"warning: `memctl page render` overwrites edits of {name}, which `git show {head}:{name}` prints"
        for name in map(memory.tracked, committed)
    ]
    return documents.compare(making, overwrite=committed, exact=exact)


def render_index(memory: Memory, *, stage: bool = True) -> tuple[str, ...]:
    """Render the documents from the files in Git's index, and stage them if `stage`; return their paths.

    Git's hooks call it before a commit. It also writes the documents to the disk, except for those that differ there
    from the staged version, since somebody has edited them.
    """
    from memctl.git import index  # writes of records stage nothing

    snapshot = load.index(memory)
    if not follow_writes(memory, snapshot.config):
        return ()
    making = renderer(memory, snapshot)
    comparison = documents.compare(making)
    texts, comparison = render_differing(memory, making, comparison)
    for error in comparison.broken.values():
        raise error
    untouched = [path for path in texts if documents.current_text(snapshot, path) == on_disk(memory, path)]
    if stage:
        index.stage(memory.repository, {memory.tracked(path): text for path, text in texts.items()})
    write_documents(memory, {path: texts[path] for path in untouched})
    if stage:
        index.refresh(memory.repository)
    return tuple(texts)


def attributes() -> str:
    """Return the text of a memory's `.gitattributes`, which marks rendered files and says how to merge files."""
    first, documents, *others = (files.templates() / "gitattributes").read_text(encoding="utf-8").splitlines()
    records = [f"{kind.folder}/{kind.merged_files} merge=memctl-record" for kind in KINDS.values()]
    return "\n".join([first, documents, *records, *others, ""])


def unused_templates(memory: Memory, snapshot: Snapshot) -> str:
    """Return the reason why the project's own templates are not used; "" if they are used or if there are none."""
    if memory.is_trusted or not any(path.endswith(".j2") for path in snapshot.names("templates")):
        return ""
    return "this clone is not trusted, so memctl does not use the project's own templates"


def renderer(memory: Memory, snapshot: Snapshot) -> Renderer:
    """Return the renderer of a memory's documents for a snapshot."""

    def estimate(text: str) -> float:
        from memctl.tokens.families import markdown_estimator  # only the length of pages matters

        return markdown_estimator(snapshot.config.model)(text)

    @cache
    def at(commit: str) -> Renderer | None:
        then = load.revision(memory, commit)
        return None if unused_templates(memory, then) else renderer(memory, then)

    finder = partial(edited_documents.is_edited, memory, at)
    counting = cache(partial(counter, memory))
    code = (memory.repository, lambda path, text: counting().tokens_of(path, text))
    compiled = memory.private / "templates"
    return Renderer(snapshot, estimate, compiled, trusted=memory.is_trusted, finder=finder, code=code)


def counter(memory: Memory) -> Counter:
    """Return the token counter for the document of the source files, which shows the files' sizes in tokens."""
    from memctl.tokens.count import Counter  # only the page of the files counts
    from memctl.tokens.families import family_of

    return Counter(family_of(memory.config.model), load.open_cache(memory))


def render_differing(
    memory: Memory, making: Renderer, comparison: Comparison, *, facts: bool = False
) -> tuple[dict[str, str | None], Comparison]:
    """Return the texts of all documents that have to be written, and the updated comparison.

    The texts are by path, None for a document to delete. `comparison` says which documents differ, and has their new
    texts, except for the document of the source files. If that document is stale, it is rendered here, with the
    renderer `making`. With `facts` it is rendered even if it is not stale, since the file sizes in it may be old; but
    if a person has edited it, it is left alone. If its template fails, the returned comparison lists it as broken.
    """
    texts: dict[str, str | None] = {**comparison.stale, **dict.fromkeys(comparison.orphans)}
    path = f"{FOLDER}/{SOURCES}"
    if comparison.sources_stale or (facts and path not in comparison.by_hand):
        try:
            text = making.sources()
            texts |= {path: text} if text != documents.current_text(making.snapshot, path) else {}
        except BrokenTemplate as error:
            comparison = replace(comparison, broken={**comparison.broken, path: error})
    return texts, comparison


def on_disk(memory: Memory, path: str) -> str | None:
    """Return the text of a document in the worktree, None if it does not exist."""
    try:
        return files.read(memory.folder, path)
    except (FileNotFoundError, InvalidRecord):
        return None


def _warning(memory: Memory, snapshot: Snapshot, places: Iterable[str], comparison: Comparison) -> str:
    """Return a warning for the writer about markers that lead nowhere and documents that are not updated."""
    outline = snapshot.outline
    markers = [place for place in sorted(places) if place.startswith(("§2.", "§3."))] if outline.pages else []
    nowhere = [marker for marker in markers if outline.find(marker) is None and outline.fault_of(marker) is None]
    words = [f"there is no {' and no '.join(nowhere)}; `memctl page index` shows the markers"] if nowhere else []
    words += unreadable_remarks(memory, snapshot, comparison)
    if comparison.by_hand:
        names = ", ".join(memory.tracked(path) for path in comparison.by_hand)
        is_one = len(comparison.by_hand) == 1
        left = "was edited by hand, and is left as it is" if is_one else "were edited by hand, and are left as they are"
        words.append(f"{names} {left}; `memctl page render --force` overwrites the edits")
    words += [f"some documents could not be rendered: {why}" for why in comparison.faults]
    return "; ".join(words)


def unreadable_remarks(memory: Memory, snapshot: Snapshot, comparison: Comparison) -> list[str]:
    """Return warnings about records and pages that can't be read, and about documents not rendered because of them.

    `comparison` has the names of these documents.
    """
    faults = (*snapshot.catalogue.faults(), *snapshot.outline.faults)
    words = [errors.summary(memory.prefix, faults)] if faults else []
    if comparison.showing_unreadable:
        names = ", ".join(memory.tracked(path) for path in comparison.showing_unreadable)
        words.append(f"these documents show an unreadable file, and are not rendered until it is corrected: {names}")
    return words


def up_to_date(names: Sequence[str], comparison: Comparison) -> tuple[str, ...]:
    """Return the paths of those of the documents `names` that are up to date once all stale documents are written.

    `names` are file names, such as "INDEX.md". Documents that were edited by hand, or that can't be rendered, are left
    out. `comparison` says which these are.
    """
    paths = (f"{FOLDER}/{name}" for name in dict.fromkeys(names))
    left_out = {*comparison.by_hand, *comparison.showing_unreadable, *comparison.broken}
    return tuple(path for path in paths if path not in left_out)


def _orphaned_documents(snapshot: Snapshot, changes: Sequence[Change]) -> list[str]:
    """Return the paths of documents that no longer exist because some changes deleted their pages."""
    deleted = (delete.path for change in changes for delete in change.deletes if pages.kind_at(delete.path) is not None)
    paths = (f"{FOLDER}/{path.rpartition('/')[2]}" for path in deleted)
    return [path for path in paths if documents.current_text(snapshot, path) is None]


def _places(changes: Sequence[Change], outline: Outline) -> set[str] | None:
    """Return the places of all records that some changes write or delete; None if they change pages or settings.

    The place of a record that names no section is "", and the places of its code are the sections that cover it.
    """
    places = set()
    for change in changes:
        texts = [(write.path, text) for write in change.writes for text in (write.old, write.text) if text is not None]
        for path, text in (*texts, *((delete.path, delete.old) for delete in change.deletes)):
            if path.startswith(NEVER_SHOWN):
                continue
            if not files.is_record_path(path):
                return None
            try:
                record = parse(text, path)[0]
            except InvalidRecord:
                return None
            places |= {record.place, *(markers[0] for markers in outline.sections_of(record) if markers)}
    return places


def remove_ignore_rule(memory: Memory) -> None:
    """Delete the file by which `docs: false` makes Git ignore the documents.

    The caller knows that `docs` has another value.
    """
    rule = memory.folder / UNTRACKED
    if rule.is_file() and rule.read_bytes() == IGNORE_ALL.encode():
        rule.unlink()


def write_documents(memory: Memory, texts: Mapping[str, str | None]) -> None:
    """Write documents without flushing them to the disk, since they can be rendered again.

    `texts` are by path below `.memory/`; None deletes the document.
    """
    if memory.config.format > 1 and texts:
        edited_documents.remember(memory, texts)
    for path, text in texts.items():
        file = files.locate(memory.folder, path)
        if text is None:
            file.unlink(missing_ok=True)
        else:
            files.replace(file, text)


def refresh(
    memory: Memory, changes: list[Change], instead: Mapping[str, str | None] | None = None
) -> tuple[tuple[str, ...], str]:
    """Write the documents that some changes affect to the disk; return the paths to commit with them, and a warning.

    `instead` are texts by path that the documents show in place of the texts on the disk, because documents in a commit
    must show the committed texts (`committed_texts`). A broken template, or a folder that can't be written, leads only
    to the warning, since documents can be rendered later. The warning is "" if all went well.
    """
    written = [path for change in changes for path in change.paths]
    if memory.repository.is_moving():  # a changed document would stop the rebase; the later commit renders it
        return (), ""
    if all(path.startswith(NEVER_SHOWN) for path in written):
        return (), _known_unreadable(memory)
    if memory.config.docs == DEFAULT_BRANCH and not follow_writes(memory, memory.config):
        return (), "; ".join(filter(None, (missing_branch(memory), _known_unreadable(memory))))
    kept_out = not memory.config.docs
    if kept_out and not (memory.folder / UNTRACKED).is_file():
        return (), _known_unreadable(memory)  # no document was rendered here
    status = memory.ask()
    memory.asked = status
    try:
        documents = affected_by(memory, changes, written, instead or {})
        write_documents(memory, documents.texts)
    except MemctlError as error:
        return (), f"the documents could not be rendered: {error.message}"
    except OSError as error:
        return (), f"the documents could not be rendered: {error.filename}: {error.strerror}"
    if kept_out:
        return (), documents.warning
    remove_ignore_rule(memory)
    differing = set(status.differing())
    waiting = [path for path in documents.settled if memory.tracked(path) in differing]
    return tuple(dict.fromkeys((*documents.texts, *waiting))), documents.warning


def committed_texts(memory: Memory, committed: Collection[str]) -> dict[str, str | None]:
    """Return the committed texts of files whose edits on the disk stay uncommitted, by path below `.memory/`.

    They are the texts in HEAD, None for a new file. The files `committed`, paths below `.memory/`,
    are about to be committed and are left out, and so are files that no document shows.
    """
    memory.asked = status = memory.ask()
    start = len(memory.prefix) + 1
    if not any(_is_shown(path[start:]) and path[start:] not in committed for path in status.differing()):
        return {}
    if not memory.config.docs or memory.repository.under_way():  # a merge will commit what it has brought
        return {}
    edited = files.names(path for path in pending_state.uncommitted(memory) if _is_shown(path))
    edited = [path for path in edited if path not in committed]
    try:
        blobs = trees.blob_ids(memory.repository, "HEAD", map(memory.tracked, edited))
    except GitFailed:  # there is no commit yet
        blobs = {}
    places = {blob: path for path, blob in blobs.items()}
    contents = trees.blobs(memory.repository, places, files.MAX_BYTES, places)
    raw = {path: contents.get(blobs.get(memory.tracked(path), "")) for path in edited}
    return {path: None if text is None else text.decode(errors="replace") for path, text in raw.items()}


def _is_shown(path: str) -> bool:
    """Return whether a document may show a file below `.memory/`, or depend on it."""
    is_source = files.is_cached_path(path) or path == CONFIG or path.startswith("templates/")
    return is_source and not path.startswith(NEVER_SHOWN)


def _known_unreadable(memory: Memory) -> str:
    """Return a warning about unreadable records, from the cache, for clones in which nothing is rendered."""
    from memctl.store.catalogue import StoredCatalogue

    return errors.summary(memory.prefix, StoredCatalogue(load.open_cache(memory)).faults())
