"""Find the present paths of files and folders that were renamed after somebody referred to them, and of globs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import msgspec

from memctl.git import differences
from memctl.git.repository import Repository
from memctl.git.status import marks
from memctl.pages import repository_paths
from memctl.record import pages
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
    renamed = differences.renamed_since(repository, sorted(commits), head) if head else {}
    staged = differences.changed_in_index(repository) if is_staged else []
    later = {change.before: change.path for change in staged if change.before}
    left = [path for path in missing if path not in renamed and not folder_after(later, path) and path not in later]
    if head and left and not repository.is_partial:  # in a partial clone Git would fetch each version
        renamed |= differences.renamed_stepwise(repository, left, head)
    renamed = {**later, **{old: later.get(new, new) for old, new in renamed.items()}}
    renamed |= {path: after for path in missing if path not in renamed and (after := folder_after(renamed, path))}
    return renamed


def folder_after(renamed: Mapping[str, str], folder: str) -> str:
    """Return the new path of a renamed folder; "" if its files did not all move to one folder under the same names.

    `renamed` has the new paths of files by their old paths. The new path ends with a slash if `folder` does.
    """
    start = folder.rstrip("/") + "/"
    inside = [(old[len(start) :], new) for old, new in renamed.items() if old.startswith(start)]
    places = {new.removesuffix(name) if new.endswith(f"/{name}") else "" for name, new in inside}
    place = places.pop() if len(places) == 1 else ""
    return place if folder.endswith("/") else place.rstrip("/")


def meanings(reference: str, renamed: Mapping[str, str]) -> list[str]:
    """Return the present paths that a reference to a missing file or folder may mean; [] if it was not renamed.

    `reference` is what follows `§4.`, a path or an abbreviation of one (see `repository_paths.resolve`). `renamed` has
    the present paths of renamed files and folders by their old ones.
    """
    path = pages.code_path(reference)
    if path in renamed:
        return [renamed[path]]
    old_paths = repository_paths.resolve(frozenset(renamed), path)
    new_paths = dict.fromkeys(renamed.get(old) or folder_after(renamed, old) for old in old_paths)
    return [new if reference.endswith("/") else new.rstrip("/") for new in new_paths if new]


def former_folders(memory: Memory, snapshot: Snapshot, folders: Collection[str], path: str, at: str) -> set[str]:
    """Return those of some folders that no longer exist, and that were renamed to a folder above the file `path`.

    `at` is the revision whose paths are the present ones, "" for HEAD and the index.
    """
    names = snapshot.files.containing({folder.rstrip("/") for folder in folders})
    missing = [folder for folder in folders if not repository_paths.is_folder(names, folder.rstrip("/"))]
    renamed = present_paths(memory, snapshot, missing, at=at or None) if missing else {}
    return {old for old in missing if old in renamed and path.startswith(renamed[old].rstrip("/") + "/")}


def fixed_path(glob: str) -> str:
    """Return the folder with which a glob begins before its first wildcard; without a wildcard, the path that it is.

    For example "lib/tls" for "lib/tls/**", "lib/tls/x*.c" and "!lib/tls/", and "" for "*.c".
    """
    path = glob.removeprefix("!")
    wildcard = _WILDCARD.search(path)
    return path[: wildcard.start()].rpartition("/")[0] if wildcard else path.rstrip("/")


def present_glob(glob: str, renamed: Mapping[str, str], names: Iterable[str]) -> str:
    """Return a glob with the present path of the renamed file or folder with which it begins (`fixed_path`).

    `renamed` has the present paths by the old ones, and `names` are the repository's files. The result is "" if the
    path was not renamed, if a file still matches the glob, or if none would match the new one.
    """
    old = fixed_path(glob)
    if not (new := renamed.get(old)):
        return ""
    before = glob.removeprefix("!")
    now = before.replace(old, new, 1)
    if "/" not in now.rstrip("/"):  # it would match a file or folder of this name in any folder
        now = f"{now.rstrip('/')}/**"
    if repository_paths.matching(names, [before]) or not repository_paths.matching(names, [now]):
        return ""
    return f"!{now}" if glob.startswith("!") else now
