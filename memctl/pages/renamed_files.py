"""Find the present paths of files and folders that were renamed after somebody referred to them, and of globs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec

from memctl.git import differences, renames
from memctl.git.repository import Repository
from memctl.git.status import marks
from memctl.pages import freshness, repository_paths
from memctl.record import mentions, pages
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.text.lazy_regex import lazy_regex

_WILDCARD = lazy_regex(r"[*?\[\\]")


def present_paths(
    memory: Memory, snapshot: Snapshot, missing: Collection[str], commits: Collection[str] = (), at: str | None = None
) -> dict[str, str]:
    """Return the present path of each renamed file or folder among `missing`, by its old path, as `find` does.

    `missing` are the paths that no longer exist, and `commits` are commits at which some of them did exist, if these
    are known. `at` is the revision whose paths are the present ones, None for HEAD and the index. The result may have
    other renamed files, too; it is cached until HEAD or the index changes.
    """
    repository = memory.repository
    head = repository.resolve(at) if at is not None else repository.branch()[1]
    mark = b"" if at is not None else marks([repository.git_dir / "index"])
    key = b"renamed: " + "\0".join([head, *sorted(commits), *sorted(missing)]).encode(errors="surrogateescape") + mark
    if (stored := snapshot.catalogue.recall(key)) is not None:
        return msgspec.json.decode(stored, type=dict[str, str])
    renamed = find(repository, missing, commits, head, is_staged=at is None)
    if at is not None or mark:
        snapshot.catalogue.keep(key, msgspec.json.encode(renamed))
    return renamed


def find(
    repository: Repository, missing: Collection[str], commits: Collection[str], head: str, *, is_staged: bool
) -> dict[str, str]:
    """Return the present path of each renamed file or folder among `missing`, by its old path.

    First Git compares each of `commits` with the commit `head`, and with `is_staged` the index, too. This does not find
    a file that was edited a lot in between, so paths that are still missing are then followed from commit to commit.
    The path of a folder ends with a slash if the old one does. The result may have other renamed files, too.
    """
    renamed = renames.renamed_since(repository, sorted(commits), head) if head else {}
    staged = differences.changed_in_index(repository) if is_staged else []
    later = {change.before: change.path for change in staged if change.before}
    later |= {change.path: "" for change in staged if change.status == differences.DELETED}
    renamed |= _folders(renamed, missing)
    later |= _folders(later, {*missing, *renamed.values()})
    left = [path for path in missing if path not in renamed and path not in later]
    if head and left and not repository.is_partial:  # in a partial clone Git would fetch each version
        renamed |= (found := renames.renamed_stepwise(repository, left, head))
        later |= _folders(later, found.values())
    renamed = {**later, **{old: later.get(new, new) for old, new in renamed.items()}}
    return {old: new for old, new in renamed.items() if new}


def _folders(renamed: Mapping[str, str], folders: Iterable[str]) -> dict[str, str]:
    places = {folder: folder.rstrip("/") for folder in folders if folder not in renamed}
    if not places:
        return {}
    files = renames.inside(renamed, frozenset(places.values()))
    found = {
        folder: renames.destination(place, {old: renamed[old] for old in files[place]})
        for folder, place in places.items()
        if place in files
    }
    return {folder: new + folder[len(places[folder]) :] for folder, new in found.items() if new}


def former_folders(memory: Memory, snapshot: Snapshot, folders: Collection[str], path: str, at: str) -> set[str]:
    """Return those of some folders that no longer exist, and that were renamed to a folder above the file `path`.

    `at` is the revision whose paths are the present ones, "" for HEAD and the index.
    """
    names = snapshot.files.containing({folder.rstrip("/") for folder in folders})
    missing = [folder for folder in folders if not repository_paths.is_folder(names, folder.rstrip("/"))]
    renamed = present_paths(memory, snapshot, missing, at=at or None) if missing else {}
    return {old for old in missing if old in renamed and path.startswith(renamed[old].rstrip("/") + "/")}


class RenamedCode:
    """Where the files and folders are now that are missing to a memory's references, and that were renamed.

    `paths` has their present paths by the old ones, and `names` are the repository's files.
    """

    def __init__(self, paths: Mapping[str, str], names: frozenset[str]) -> None:
        self.paths = {old: new for old, new in paths.items() if old not in names and freshness.code_paths(names, new)}
        self._names = names
        self._old_paths = frozenset(self.paths)

    def meanings(self, reference: str) -> list[str]:
        """Return the present paths that a reference to a missing file or folder may mean; [] if it was not renamed.

        `reference` is what follows `§4.`, a path or an abbreviation of one (see `repository_paths.resolve`).
        """
        path = pages.code_path(reference)
        if path in self.paths:
            return [self.paths[path]]
        old_paths = repository_paths.resolve(self._old_paths, path)
        folders = _folders(self.paths, [old for old in old_paths if old not in self.paths])
        new_paths = dict.fromkeys(self.paths.get(old) or folders.get(old, "") for old in old_paths)
        return [new if reference.endswith("/") else new.rstrip("/") for new in new_paths if new]

    def glob(self, glob: str) -> str:
        """Return a glob with the present path of the renamed file or folder with which it begins (`fixed_path`).

        The result is "" if the path was not renamed, if a file still matches the glob, or if none would match the new
        one.
        """
        old = fixed_path(glob)
        if not (new := self.paths.get(old)):
            return ""
        before = glob.removeprefix("!")
        now = before.replace(old, new, 1)
        if "/" not in now.rstrip("/"):  # it would match a file or folder of this name in any folder
            now = f"{now.rstrip('/')}/**"
        if repository_paths.matching(self._names, [before]) or not repository_paths.matching(self._names, [now]):
            return ""
        return f"!{now}" if glob.startswith("!") else now


def renamed_code(memory: Memory, snapshot: Snapshot, at: str | None = None) -> RenamedCode:
    """Return where the code is now to which pages, globs of sections and open records refer, and that was renamed.

    `at` is the revision of the snapshot, None for the disk or the index.
    """
    names = snapshot.files.names()
    missing = _missing_code(snapshot, names)
    return RenamedCode(present_paths(memory, snapshot, missing, at=at) if missing else {}, names)


def _missing_code(snapshot: Snapshot, names: frozenset[str]) -> set[str]:
    records = {record.path: record for record in snapshot.open_records}
    paths = {pages.code_path(ref) for record in records.values() for ref in record.code_refs}
    for page in snapshot.outline.pages:
        paths |= {*page.stamps, *map(fixed_path, page.paths), *map(pages.code_path, page.code_refs)}
    missing = {path for path in paths if path and not freshness.code_paths(names, path)}
    texts = [text for path, found in snapshot.catalogue.mentions().items() if path in records for text in found]
    for mention in (*texts, *(mention for page in snapshot.outline.pages for mention in mentions.in_text(page.body))):
        reference = mention.text[3:] if mention.text.startswith("§4.") and "*" not in mention.text else ""
        if reference and not repository_paths.resolve(names, reference):
            missing.add(pages.code_path(reference))
    return missing


def fixed_path(glob: str) -> str:
    """Return the folder with which a glob begins before its first wildcard; without a wildcard, the path that it is.

    For example "lib/tls" for "lib/tls/**", "lib/tls/x*.c" and "!lib/tls/", and "" for "*.c".
    """
    path = glob.removeprefix("!")
    wildcard = _WILDCARD.search(path)
    return path[: wildcard.start()].rpartition("/")[0] if wildcard else path.rstrip("/")
