"""Make the merge commit of two histories in Git's object store; the worktree, the index and branches do not change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from memctl.errors import MemctlError
from memctl.git import git, refs, remotes, tree_merge, trees
from memctl.git.remotes import Upstream
from memctl.git.tree_merge import Leaf
from memctl.pages import documents as comparing
from memctl.pages.links import FOLDER, SOURCES
from memctl.pages.render import Renderer
from memctl.record.change import Change, RecordAction
from memctl.record.config import parse as parse_config
from memctl.record.snapshot import Snapshot
from memctl.store import commit_message, git_source, load
from memctl.store.cache import Cache
from memctl.store.memory import Memory
from memctl.store.memory_root import CONFIG
from memctl.sync import collisions, merge_tree
from memctl.sync.merge_tree import LostInFile, MergedTree
from memctl.text.phrases import some
from memctl.write import autofix, documents
from memctl.write.id_collisions import Holder

_SHOWN = 10  # files that a message names
_NAMED = 5  # ids that it names
KEPT = "one side deleted it, the other side changed it or linked to it"


class MergeCommit(msgspec.Struct, frozen=True):
    """A commit that merges the histories of this clone and a remote, and what the merge decided.

    - `both` are the paths of files of the memory that both sides had changed.
    - `renamed` are this clone's records and pages that got a new id.
    - `lost` are the values of this clone that a value of the remote replaced.
    - `revived` are the paths of files that one side had deleted and the merge keeps.
    - `warning` names documents that could not be rendered, "" for none.
    """

    commit: str
    both: tuple[str, ...] = ()
    renamed: tuple[Holder, ...] = ()
    lost: tuple[LostInFile, ...] = ()
    revived: tuple[str, ...] = ()
    warning: str = ""


def assemble(
    memory: Memory, upstream: Upstream, ours: str, theirs: str, bases: Sequence[str]
) -> tuple[MergeCommit, Snapshot]:
    """Merge the commit `ours` of this clone with the remote's `theirs`; return the merge commit and the merged memory.

    `bases` are the merge bases of the two commits, and `upstream` names the remote's branch. Git merges the files
    outside of the memory, memctl merges those of the memory, and then the documents are rendered. Raises MemctlError if
    there are conflicts that only a person can resolve.
    """
    repository = memory.repository
    _refuse_filtered(memory, upstream)
    sides = [tree_merge.leaves(repository, commit, memory.prefix) for commit in (bases[0], ours, theirs)]
    rest, conflicts = _merge_rest(memory, bases, ours, theirs)
    base_files, _, their_files = sides
    our_files, renamed = collisions.renumber(memory, *sides)
    merged = merge_tree.merge(memory, base_files, our_files, their_files, apart=len(bases) == 1)
    conflicts = (*conflicts, *(memory.tracked(path) for path in merged.conflicts))
    if conflicts:
        both = any(
            path in their_files and len({base_files.get(path), leaf, their_files[path]}) == 3
            for path, leaf in our_files.items()
        )
        raise _conflict(memory, upstream, conflicts, [collision.name for collision in renamed], in_memory=both)
    subtree = tree_merge.tree_at(repository, ours, memory.prefix)
    changes = _below_top(memory, merge_tree.changes(sides[1], merged.files))
    memories = {memory.prefix: Leaf(tree_merge.FOLDER, subtree)} if subtree else {}
    tree = tree_merge.edit_tree(repository, rest, {**memories, **changes})
    snapshot = near_worktree(memory, tree)
    if fixed := _fix_links(memory, snapshot, merged):
        tree = tree_merge.edit_tree(repository, tree, _below_top(memory, fixed))
        snapshot = near_worktree(memory, tree)
    rendered, warning = _render_documents(memory, snapshot)
    if rendered:
        tree = tree_merge.edit_tree(repository, tree, _below_top(memory, rendered))
    made = MergeCommit("", merged.both, renamed, merged.lost, merged.revived, warning)
    text = commit_message.compose([_change(memory, upstream, made)])
    signed = repository.flag("commit.gpgsign")
    commit = refs.commit_tree(repository, tree, (ours, theirs), text, memory.commit_moment, signed=signed)
    return msgspec.structs.replace(made, commit=commit), snapshot


def refuse_unfit(memory: Memory, upstream: Upstream, theirs: str, bases: Sequence[str]) -> None:
    """Raise MemctlError if `theirs`, the commit of the remote's branch, can't be merged into this branch.

    That is so if the two have no common commit (`bases` is empty), or if the memory in `theirs` is deleted or has a
    newer format.
    """
    if not bases:
        shallow = bool(memory.repository.shallow())
        message = f"{upstream.name} and this branch have no commit in common"
        if shallow:
            message += " that this clone knows of: it is shallow"
            raise MemctlError(message, f"`git fetch --unshallow {upstream.remote}`")
        way = f"`git merge --allow-unrelated-histories {upstream.name}` merges the two anyway"
        raise MemctlError(message, f"check that {upstream.remote} is the right remote; {way}")
    name = memory.tracked(CONFIG)
    known, state = (refs.read(memory.repository, commit, [name]) for commit in (bases[0], theirs))
    if known and not state:
        hint = f"`git log {theirs[:10]} -- {name}` shows the commit"
        hint += f"; `git merge {upstream.name}` deletes the memory here, too"
        raise MemctlError(f"{upstream.name} has no memory any more: a commit there deleted {name}", hint)
    if state:
        parse_config(trees.text(memory.repository, theirs, name) or "", f"{upstream.name}:{name}")


def _refuse_filtered(memory: Memory, upstream: Upstream) -> None:
    """A filter such as git-crypt's stores no texts."""
    if memory.repository.filters.filtered(map(memory.tracked, (CONFIG, "decisions/record.md"))):
        raise MemctlError(
            f".gitattributes gives files in {memory.prefix}/ a filter, and memctl can't merge what Git stores of them",
            f"`git merge {upstream.name}` merges them; `memctl sync` pushes the result",
        )


def _merge_rest(memory: Memory, bases: Sequence[str], ours: str, theirs: str) -> tuple[str, tuple[str, ...]]:
    repository = memory.repository
    trees = tree_merge.remove_folder(repository, [*bases, ours, theirs], memory.prefix)
    return tree_merge.merge(repository, trees[:-2], trees[-2], trees[-1])


def _below_top(memory: Memory, changes: Mapping[str, Leaf | None]) -> dict[str, Leaf | None]:
    return {memory.tracked(path): leaf for path, leaf in changes.items()}


def _fix_links(memory: Memory, snapshot: Snapshot, merged: MergedTree) -> dict[str, Leaf]:
    """The merge of a single file can't know in which others the other end of a link has to change."""
    touched = {*merged.both, *merged.revived}
    if not touched:
        return {}
    records = [record for record in snapshot.records if record.path in touched]
    places = [("MEM107", record.path) for record in records]
    places += [("MEM402", r.path) for r in records if r.superseded_by and r.status != "superseded"]
    writes = [write for write in autofix.fix(snapshot, places).writes if write.text != write.old]
    modes = {write.path: merged.files[write.path].mode for write in writes}
    return tree_merge.store_files(memory.repository, {write.path: write.text for write in writes}, modes)


def _render_documents(memory: Memory, snapshot: Snapshot) -> tuple[dict[str, Leaf | None], str]:
    if not documents.follow_writes(memory, snapshot.config):
        return {}, ""
    try:
        making = documents.renderer(memory, snapshot)
        # In format 2 an edit by hand is found from HEAD's commits, so only this clone's are known.
        comparison = comparing.compare(making, force=not making.has_hashes)
        texts = {path: text for path, text in comparison.stale.items() if not _is_edited_here(memory, making, path)}
        if comparison.sources_stale:
            texts[f"{FOLDER}/{SOURCES}"] = making.sources()
    except MemctlError as error:
        return {}, f"the documents could not be rendered: {error.message}"
    warning = "; ".join(f"some documents could not be rendered: {why}" for why in comparison.faults)
    return {**dict.fromkeys(comparison.orphans), **tree_merge.store_files(memory.repository, texts)}, warning


def _is_edited_here(memory: Memory, making: Renderer, path: str) -> bool:
    text = comparing.current_text(making.snapshot, path) or ""
    is_ours = text == trees.text(memory.repository, "HEAD", memory.tracked(path))
    return is_ours and not making.has_hashes and making.is_edited(path, text)


def _change(memory: Memory, upstream: Upstream, made: MergeCommit) -> Change:
    deeds = [
        RecordAction("renumbered", holder.name, f"now {holder.now}; {describe_other(holder, upstream.name)}")
        for holder in made.renamed
    ]
    deeds += [RecordAction("lost", item.id.replace(" ", "_"), describe(item)) for item in made.lost]
    deeds += [RecordAction("kept", merge_tree.name_of(path).replace(" ", "_"), KEPT) for path in made.revived]
    identifiers = (*merge_tree.record_ids(made.both), *(holder.now for holder in made.renamed))
    return Change(
        op="sync",
        title=f"with {upstream.name}",
        ids=tuple(dict.fromkeys(identifiers)),
        actor=memory.actor,
        session=memory.session,
        deeds=tuple(deeds),
    )


def describe_other(holder: Holder, upstream: str) -> str:
    """Return a phrase for what has a renumbered record's or page's old name: `on origin/main, §2.1 is another page`."""
    return f"on {upstream}, {holder.name} is another {'record' if holder.record else 'page'}"


def describe(item: LostInFile) -> str:
    """Return a line about a value that a merge replaced: `status: 'open' was replaced by 'resolved'`."""
    values = [repr(value) if value else "nothing" for value in (item.lost, item.kept)]
    return f"{item.field or 'the whole file'}: {values[0]} was replaced by {values[1]}"


def _conflict(
    memory: Memory, upstream: Upstream, paths: Sequence[str], names: Sequence[str], *, in_memory: bool
) -> MemctlError:
    shown = [f"  {path.encode(errors='surrogateescape').decode(errors='backslashreplace')}" for path in paths]
    message = f"{upstream.name} and this branch conflict in files that only a person can merge:\n"
    hint = f"`git merge {upstream.name}` shows the conflicts; nothing was changed"
    if names:
        more = " …" if len(names) > _NAMED else ""
        hint += f"; during that merge, `memctl renumber` gives {', '.join(names[:_NAMED])}{more} another number"
    if in_memory and not remotes.setting(memory.repository, "merge.memctl-record.driver"):
        hint = f"`memctl install git` makes Git merge the memory as `memctl sync` does; after that {hint}"
    return MemctlError(message + some(shown, _SHOWN, "\n", "\n  and "), f"{hint}. Then run `memctl sync` again")


def near_worktree(memory: Memory, commit: str) -> Snapshot:
    """Return the memory of a commit or tree, given by its id, most of whose files are equal to those of the worktree.

    The equal files are taken from the cache, which is faster than reading them from Git.
    """
    return Snapshot(git_source.at(memory, commit, commit, lambda: _unlike_revision(memory, commit)))


def _unlike_revision(memory: Memory, name: str) -> tuple[Cache, set[str]]:
    cache = load.current_cache(memory)
    args = ["diff-index", "-z", "--name-only", "--no-renames", name, "--", memory.prefix]
    out = git.read(args, memory.repository.top)
    return cache, {path[len(memory.prefix) + 1 :] for path in git.paths(out)}
