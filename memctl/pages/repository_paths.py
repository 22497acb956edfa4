"""Find the repository's files that references such as `§4.src/auth.py`, globs, and paths typed by people mean."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from memctl.errors import USAGE, MemctlError
from memctl.record import ids
from memctl.record.source import Files
from memctl.store.memory_root import FOLDER

_END = "\0"  # a character that no path has


def resolve(names: frozenset[str], reference: str) -> tuple[str, ...]:
    """Return the files or folders that a reference may mean; the path of a folder ends with a slash.

    `names` are the files of the repository. `reference` is what follows `§4.` in a marker: a path of a file or folder
    (src/auth/jwt_handler.py), the end of one (auth/jwt_handler.py), or either with dots for slashes, mostly without the
    suffix (auth.jwt_handler). These forms are tried in this order. The result has all files that match in the first
    form that fits, or folders if no file fits.
    """
    return _resolve(frozenset(names), reference)  # callers may pass a plain set, which can't be a cache key


@lru_cache(maxsize=4_096)  # a text may repeat a reference that matches thousands of files
def _resolve(names: frozenset[str], reference: str) -> tuple[str, ...]:
    wanted = without_stars(reference)
    if wanted in names:
        return (wanted,)
    if is_folder(names, wanted):
        return (wanted + "/",)
    end = f"/{wanted}"
    whole = _ending(_whole(names), wanted)
    if matching := [name for name, _ in whole if name.endswith(end)]:
        return tuple(sorted(matching))
    stems = [] if "/" in wanted else _ending(_stems(names), wanted)
    equal = [(name, is_all) for name, is_all in (*whole, *stems) if is_all]
    for fitting in () if "/" in wanted else (equal, whole, stems):
        if fitting:
            return tuple(sorted({name for name, _ in fitting}))
    folders = [folder for folder, _ in _ending(_whole(_folders(names)), wanted)]
    return tuple(sorted(f"{folder}/" for folder in folders if "/" not in wanted or folder.endswith(end)))


def without_stars(reference: str) -> str:
    """Return a reference without the wildcard or slash at its end: "src/auth.*" and "src/auth/**" give "src/auth"."""
    return reference.rstrip("/*") if reference.endswith("**") else reference.rstrip("/").removesuffix(".*")


OTHER_FORM = "a file has this name in another Unicode form: copy the name from `git ls-files`"


def glob_hint(path: str, files: Files) -> str:
    """Return a hint for a code reference that is a glob, "" for any other: records refer to files and folders only.

    The hint names the glob's folder if one of the repository's `files` is in it.
    """
    if "*" not in path and "?" not in path:
        return ""
    folder = path.replace("?", "*").partition("*")[0].rpartition("/")[0]
    example = f"a folder such as {folder}/" if is_folder(files.names(), folder) else "a folder"
    return f"code references can't be globs; name each file, or {example}"


def in_other_form(names: Iterable[str], path: str) -> bool:
    """Return whether a file of `names` has the given path in another Unicode form (é as one character or as two)."""
    if path.isascii():
        return False
    from unicodedata import normalize

    wanted = normalize("NFC", path)
    return any(normalize("NFC", name) == wanted for name in names if not name.isascii())


def is_folder(names: frozenset[str], path: str) -> bool:
    """Return whether a path is a folder that contains any of the files `names`."""
    return path in _folders(names)


def matching(names: Iterable[str], globs: Sequence[str]) -> list[str]:
    """Return the files that match any of the globs, sorted; globs are as in .gitignore, such as "src/auth"."""
    if not globs:
        return []
    from memctl.text.globs import Globs  # slow to load

    matches = Globs(globs).match
    return sorted(name for name in names if matches(name) is not None)


@lru_cache(maxsize=4)
def _folders(names: frozenset[str]) -> frozenset[str]:
    folders = set()
    for name in names:
        folder = name.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(folders)


@lru_cache(maxsize=8)
def _whole(paths: frozenset[str]) -> list[str]:
    return sorted(f".{_dotted(path)}"[::-1] + _END + path for path in paths)


@lru_cache(maxsize=4)
def _stems(paths: frozenset[str]) -> list[str]:
    return sorted(f".{_dotted(_without_suffix(path))}"[::-1] + _END + path for path in paths)


def _ending(ordered: Sequence[str], ending: str) -> list[tuple[str, bool]]:
    """The search is a bisection, because a hostile text may have 40,000 references, and a repository as many files."""
    end = f".{_dotted(ending)}"[::-1]
    matches = []
    for place in range(bisect_left(ordered, end), len(ordered)):
        if not ordered[place].startswith(end):
            break
        matches.append((ordered[place].rpartition(_END)[2], ordered[place].startswith(_END, len(end))))
    return matches


def _dotted(path: str) -> str:
    return path.replace("/", ".")


def _without_suffix(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    stem, dot, _ = name.rpartition(".")
    return folder + slash + (stem if dot and stem else name)


_NEAR = 3  # similar names in a hint
_LONGEST = 4096  # characters of a path; Linux opens no longer one, and to resolve 500,000 folders takes minutes
_SHOWN = 12  # files in the message about an ambiguous marker


def possible_paths(top: Path, folder: Path, text: str) -> list[str]:
    """Return the paths that a person may mean by `text`, at most two: it may be relative to `folder` or to `top`.

    `top` is the worktree's top, and the paths in the result are relative to it. Paths outside of the worktree are left
    out, and no file has to exist.
    """
    if len(text) > _LONGEST:
        return []
    result = []
    for start in (os.path.realpath(folder), str(top)):
        place, name = os.path.split(os.path.normpath(os.path.join(start, text)))
        path = Path(os.path.relpath(os.path.join(os.path.realpath(place), name), top)).as_posix()
        if path != ".." and not path.startswith("../"):
            result.append(path)
    return list(dict.fromkeys(result))


def files_below(names: Iterable[str], path: str) -> list[str]:
    """Return those files of `names` that are below the folder `path`, sorted; "." returns all files."""
    return sorted(name for name in names if path == "." or name.startswith(path + "/"))


def file_named(names: frozenset[str], top: Path, folder: Path, text: str) -> str:
    """Return the one file that a person names, by a path or by a marker such as `§4.src/a.py`.

    A path is relative to `folder`, or to `top`, the worktree's top. `names` are the repository's files. Raises
    MemctlError if there is no such file, if several files match, or if it is a folder.
    """
    if text.startswith("§4."):
        paths = list(resolve(names, text[3:]))
    else:
        possible = possible_paths(top, folder, text)
        paths = [path for path in possible if path in names][:1]
        paths = paths or [f"{path}/" for path in possible if files_below(names, path)]
    if len(paths) == 1 and not paths[0].endswith("/"):
        return paths[0]
    if len(paths) > 1 and text.startswith("§4."):
        shown = [f"  §4.{path}" for path in paths[:_SHOWN]]
        raise MemctlError("\n".join([f"{text} matches several files:", *shown]), "give more of the path", USAGE)
    if paths:
        example = files_below(names, paths[0][:-1])[0]
        raise MemctlError(f"{text} is a folder", f"give a file in it, such as {example}", USAGE)
    for path in possible_paths(top, folder, text):
        refuse_memory(path)
    raise unknown_path_error(names, text)


def refuse_memory(path: str) -> None:
    """Raise MemctlError if a path is in a `.memory/` folder; the hint names the `memctl log` command to use instead."""
    if FOLDER in path.split("/"):
        identifier = ids.id_in_path(path)
        why = "a file of the memory itself; the memory explains only the other files of the repository"
        hint = f"`memctl log{f' {identifier}' if identifier else ''}` lists its changes"
        raise MemctlError(f"{path} is {why}", hint)


def unknown_path_error(names: Iterable[str], text: str) -> MemctlError:
    """Return the error for a path that does not exist, with files of similar names."""
    from difflib import get_close_matches

    by_name: dict[str, list[str]] = {}
    for path in sorted(names):
        by_name.setdefault(path.rpartition("/")[2], []).append(path)
    name = text.rstrip("/").rpartition("/")[2]
    if name not in by_name and in_other_form(by_name, name):  # a hint that looks like the text would only confuse
        return MemctlError(f"Git knows no file {text!r}", OTHER_FORM, USAGE)
    alike = get_close_matches(name, by_name, n=_NEAR)
    near = get_close_matches(text, [path for name in alike for path in by_name[name]], n=_NEAR, cutoff=0)
    hint = "give a path from this folder or from the top of the worktree"
    hint = f"did you mean {' or '.join(near)}?" if near else hint
    return MemctlError(f"Git knows no file {text!r}", hint, USAGE)
