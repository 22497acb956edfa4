"""Files and folders that were renamed: where they are now, by Git's comparison of commits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice

from memctl.git import git, trees
from memctl.git.repository import Repository

_MOST_RENAMES = 10  # of one file or folder that are followed
_MOST_DELETIONS = 5  # commits, the latest that took files out of a folder, that may say where it is

# The files that were in some folders last, each with the commit that took it away, the latest first; by folder. For a
# path that was a file, the file itself.
_Deletions = dict[str, dict[str, list[str]]]


def renamed_since(repository: Repository, commits: Iterable[str], head: str) -> dict[str, str]:
    """Return the new path of each file that was renamed between one of `commits` and the commit `head`, by old path.

    For example {"src/old.py": "src/new.py"}. Renames that are only staged do not count.
    """
    listed = "".join(f"{head} {commit}\n" for commit in commits if commit != head)
    return {old: new for pairs in _renames(repository, listed).values() for old, new in pairs.items()}


def renamed_stepwise(repository: Repository, paths: Iterable[str], head: str) -> dict[str, str]:
    """Return the present paths of files and folders that were renamed, perhaps several times, in commits up to `head`.

    `paths` are the old paths, which are the keys of the result, too. For a folder the result also has the files that
    were in it last. Each commit is looked at alone. So a file is found even if it was edited so much in the end that a
    comparison of the first and the last version would show no rename. What was deleted, and what still has its old
    path, is left out.
    """
    wanted = {path: path.rstrip("/") for path in paths}
    moving = set(wanted.values())
    moves: dict[str, str] = {}
    folders: dict[str, str] = {}  # of the files in renamed folders
    for _ in range(_MOST_RENAMES):
        moving -= moves.keys() | _existing(repository, head, moving)
        deletions = _deletions(repository, moving, head) if moving else {}
        found = _destinations(repository, deletions)
        moves |= found
        folders |= {file: place for place in found for files in deletions[place].values() for file in files}
        moving = set(found.values())
    now = {path: _last(moves, place) for path, place in wanted.items()}
    now |= {file: _last(moves, place) + file[len(place) :] for file, place in folders.items() if file not in wanted}
    there = _existing(repository, head, {new.rstrip("/") for new in now.values()})
    ends = {path: "/" if path.endswith("/") else "" for path in now}
    return {path: new + ends[path] for path, new in now.items() if new in there and new != path.rstrip("/")}


def _last(moves: Mapping[str, str], path: str) -> str:
    """Return the path at the end of a chain of moves, "" if it goes in a circle."""
    for _ in range(_MOST_RENAMES + 1):
        if path not in moves:
            return path
        path = moves[path]
    return ""


def destination(place: str, renamed: Mapping[str, str]) -> str:
    """Return the new path of a folder or file; "" if less than half of its files went to one place.

    `place` is the old path, without a slash at its end. `renamed` has the new paths of the files that were in it by
    their old paths, "" for those that were deleted. Only a file that kept its name below the folder says where that is.
    """
    rests = {old: old[len(place) :] for old in renamed}  # "" if the place is a file
    places = Counter(new.removesuffix(rests[old]) for old, new in renamed.items() if new and new.endswith(rests[old]))
    ranked = places.most_common(2)
    is_clear = bool(ranked) and 2 * ranked[0][1] >= len(renamed) and ranked[0][1] > ranked[-1][1] * (len(ranked) - 1)
    return ranked[0][0] if is_clear else ""


def inside(files: Iterable[str], places: Collection[str]) -> dict[str, list[str]]:
    """Return the files at or below each of some paths (without slashes at their ends), by path."""
    result: dict[str, list[str]] = {}
    for file in files:
        for place in _upwards(file):
            if place in places:
                result.setdefault(place, []).append(file)
    return result


def _upwards(path: str) -> Iterator[str]:
    while path:
        yield path
        path = path.rpartition("/")[0]


def _destinations(repository: Repository, deletions: _Deletions) -> dict[str, str]:
    """Return where the latest commits that took files out of folders put them, by folder.

    A folder is often moved in one commit and rid of what was left in another, so deletions are passed over, and a
    single file does not decide alone. Files that left it long before are no sign of where it is.
    """
    latest = {place: list(islice(steps, _MOST_DELETIONS)) for place, steps in deletions.items()}
    commits = dict.fromkeys(commit for some in latest.values() for commit in some)
    pairs = _renames(repository, "".join(f"{commit}\n" for commit in commits))
    result: dict[str, str] = {}
    for place, some in latest.items():
        gone: dict[str, str] = {}
        for commit in some:
            moves = {file: pairs.get(commit, {}).get(file, "") for file in deletions[place][commit]}
            gone |= {file: new for file, new in moves.items() if not new.startswith(f"{place}/")}
            if len(gone) > 1 and any(gone.values()):
                break
        if new := destination(place, gone):
            result[place] = new
    return result


def _renames(repository: Repository, listed: str) -> dict[str, dict[str, str]]:
    """`listed` has a line for each commit, perhaps with another one that is to count as its parent."""
    args = ["diff-tree", "--stdin", "-r", "-z", "-M", "--name-status", "--diff-filter=R"]
    words = iter(git.read(args, repository.top, listed.encode()).split(b"\0") if listed else ())
    result: dict[str, dict[str, str]] = {}
    pairs: dict[str, str] = {}
    for word in words:
        if word.startswith(b"R"):
            old = git.decode_path(next(words))
            pairs[old] = git.decode_path(next(words))
        else:
            pairs = result.setdefault(word.decode(), {})
    return result


def _deletions(repository: Repository, places: Collection[str], head: str) -> _Deletions:
    args = [*git.LOG, "-z", "--no-renames", "--diff-filter=D", "--name-only", "--format=%x1e%H", head, "--"]
    commit, latest = "", dict[str, str]()
    for word in git.stream([*args, *git.log_limits(places)], repository.top):
        if word.startswith(b"\x1e"):
            commit = word[1:].decode()
        elif name := word.lstrip(b"\n"):
            latest.setdefault(git.decode_path(name), commit)
    result: _Deletions = {}
    for place, files in inside(latest, places).items():
        for file in files:
            result.setdefault(place, {}).setdefault(latest[file], []).append(file)
    return result


def _existing(repository: Repository, head: str, places: Collection[str]) -> set[str]:
    args = ["ls-tree", "-t", "-z", "--name-only", "--full-tree", head, "--"]
    batches = trees.batched([place for place in sorted(places) if place])
    return {path for some in batches for path in git.paths(git.read([*args, *some], repository.top)) if path in places}
