"""Measure how near files are to the active ones in the graph of imports."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from memctl.sources.facts import Content
from memctl.sources.resolve import Resolver

# Points by rules.md#files-for-a-task: the limit, imported by an active file, imported by such a file, importing one.
MOST, DIRECT, SECOND, IMPORTING = 20, 20, 10, 15


class Near(msgspec.Struct, frozen=True):
    """How near a file is to active files: points from 0 to 20, and each relation that gave some.

    `is_needed` is true of a file that a person named as active, and of each file that such a file imports.
    """

    points: float
    why: tuple[str, ...]
    is_needed: bool = False


def nearness(
    contents: Mapping[str, Content],
    active: Collection[str],
    given: Collection[str] = (),
    likely: Mapping[str, float] | None = None,
) -> dict[str, Near]:
    """Return how near files are to the active ones, by path; files without a relation are left out.

    A file has a relation if it is active, if an active file imports it, directly or by way of one other file, or if it
    imports an active file. Points of several relations add up to at most 20. `given` are the active files that a person
    named. `likely` are files that a task may be about, each with a likelihood from 0 to 1: a file without a relation
    that one of them imports, or that imports one, gets the points of that relation times the likelihood.
    """
    likely = {path: share for path, share in (likely or {}).items() if path not in active}
    if not active and not likely:
        return {}
    declared = {path: content.facts.declared for path, content in contents.items() if content.facts.declared}
    resolver = Resolver(contents.keys(), declared)

    targets = {
        path: resolver.targets(path, content.facts.imports) - {path}
        for path, content in contents.items()
        if content.facts.imports
    }
    reasons: dict[str, list[tuple[float, str]]] = {path: [(MOST, "it is active")] for path in active}
    direct = {target: path for path in sorted(active, reverse=True) for target in targets.get(path, ())}
    for target, path in direct.items():
        reasons.setdefault(target, []).append((DIRECT, f"{path} imports it"))
    second = {target: path for path in sorted(direct, reverse=True) for target in targets.get(path, ())}
    for target, path in second.items():
        if target not in direct:
            reasons.setdefault(target, []).append((SECOND, f"{path} imports it, which an active file imports"))
    wanted = frozenset(active)
    for path, found in targets.items():
        if met := found & wanted:
            reasons.setdefault(path, []).append((IMPORTING, f"it imports {min(met)}"))
    for path, reason in _near_likely(targets, likely).items():
        reasons.setdefault(path, [reason])
    needed = {*given, *(target for path in given for target in targets.get(path, ()))}
    return {
        path: Near(min(sum(points for points, _ in found), MOST), tuple(why for _, why in found), path in needed)
        for path, found in reasons.items()
    }


def _near_likely(targets: Mapping[str, set[str]], likely: Mapping[str, float]) -> dict[str, tuple[float, str]]:
    """Return the neighbours of likely files, each with the most points that one of these gives, and the reason."""
    found: dict[str, tuple[float, str]] = {}

    def add(path: str, points: float, why: str) -> None:
        if points > found.get(path, (0.0, ""))[0]:
            found[path] = round(points, 1), why

    for path in sorted(likely):
        for target in targets.get(path, ()):
            add(target, DIRECT * likely[path], f"{path} imports it")
    for path, imported in targets.items():
        for target in sorted(imported & likely.keys()):
            add(path, IMPORTING * likely[target], f"it imports {target}")
    return found
