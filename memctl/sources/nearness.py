"""Measure how near files are to those being worked on (the active files), by imports."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Mapping
from functools import cache

import msgspec

from memctl.sources import manifests
from memctl.sources.file_list_update import RELATIVE
from memctl.sources.resolve import Resolver
from memctl.store.file_list import FileList, stem_of

# Points by rules.md#files-for-a-task: the limit, imported by an active file, imported by such a file, importing one.
MOST, DIRECT, SECOND, IMPORTING = 20, 20, 10, 15


class Nearness(msgspec.Struct, frozen=True):
    """How near a file is to the active files, which are being worked on.

    It is in points from 0 to 20, with the reasons. `is_needed` says that a person named the file as active, or that
    such a file imports it.
    """

    points: float
    why: tuple[str, ...]
    is_needed: bool = False


def nearness(
    contents: FileList, active: Collection[str], given: Collection[str] = (), likely: Mapping[str, float] | None = None
) -> dict[str, Nearness]:
    """Return how near files are to the active files, by path; files without a relation to these are left out.

    A file has a relation if it is active itself, if an active file imports it (also through one other file), or if it
    imports an active file. Points of several relations add up to at most 20.

    - `contents` are all files by path.
    - `active` are the paths of the active files, and `given` those of them that a person named.
    - `likely` are files that the task may be about, each with a likelihood from 0 to 1. A file without a relation to an
      active file can have one to a likely file; its points are then multiplied by this likelihood.
    """
    likely = {path: share for path, share in (likely or {}).items() if path not in active}
    if not active and not likely:
        return {}
    manifest_paths = (path for name in manifests.NAMES for path in contents.called(stem_of(name)))
    declared = {posixpath.dirname(path): name for path in manifest_paths if (name := contents[path].facts.declared)}
    resolver = Resolver(contents, declared)

    @cache
    def imported(path: str) -> set[str]:
        return resolver.targets(path, contents[path].facts.imports) - {path}

    wanted = frozenset(active) | likely.keys()
    importing = {path: met for path in _may_import(contents, resolver, wanted) if (met := imported(path) & wanted)}
    reasons: dict[str, list[tuple[float, str]]] = {path: [(MOST, "it is active")] for path in active}
    direct = {target: path for path in sorted(active, reverse=True) for target in imported(path)}
    for target, path in direct.items():
        reasons.setdefault(target, []).append((DIRECT, f"{path} imports it"))
    second = {target: path for path in sorted(direct, reverse=True) for target in imported(path)}
    for target, path in second.items():
        if target not in direct:
            reasons.setdefault(target, []).append((SECOND, f"{path} imports it, and an active file imports {path}"))
    for path, met in importing.items():
        if met.intersection(active):
            reasons.setdefault(path, []).append((IMPORTING, f"it imports {min(met.intersection(active))}"))
    near = [(DIRECT * likely[path], f"{path} imports it", target) for path in likely for target in imported(path)]
    for path, met in importing.items():
        near += [(IMPORTING * likely[target], f"it imports {target}", path) for target in met & likely.keys()]
    for points, why, path in sorted(near, key=lambda each: (-each[0], each[1])):  # the most points come first
        reasons.setdefault(path, [(round(points, 1), why)])
    needed = {*given, *(target for path in given for target in imported(path))}
    result = {}
    for path, several in reasons.items():
        given_points, whys = zip(*several, strict=True)
        result[path] = Nearness(min(sum(given_points), MOST), whys, path in needed)
    return result


def _may_import(files: FileList, resolver: Resolver, wanted: Collection[str]) -> set[str]:
    texts, folders = set[str](), set[str]()
    for path in wanted:
        some, folder = resolver.traces(path)
        texts |= some
        folders.update(folder)
    found = set[str]().union(*(files.with_all("imports", text, len(files)) for text in texts))
    if folders:
        starts = tuple(folders)
        found.update(path for path in files.having("imports", [RELATIVE], len(files)) or () if path.startswith(starts))
    return found
