"""How near a file is to the active ones in the graph of imports."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec

from memctl.sources.facts import Content
from memctl.sources.resolve import Resolver

# Points; rules.md#files-for-a-task. An active file itself is nearer than what it depends on.
MOST, DIRECT, SECOND, IMPORTING = 20, 20, 10, 15


class Near(msgspec.Struct, frozen=True):
    """Points from 0 to 20, each relation that gave some, and whether it is named as active or such a file needs it."""

    points: int
    why: tuple[str, ...]
    is_needed: bool = False


def nearness(contents: Mapping[str, Content], active: Collection[str], given: Collection[str] = ()) -> dict[str, Near]:
    """The files that have to do with active ones: these, what they import, what that imports, and who imports them.

    Points of several relations are added, up to 20. `given` are the active files that somebody named as such.
    """
    if not active:
        return {}
    declared = {path: content.facts.declared for path, content in contents.items() if content.facts.declared}
    resolver = Resolver(contents.keys(), declared)

    def imported_by(path: str) -> set[str]:
        return resolver.targets(path, contents[path].facts.imports) - {path}

    reasons: dict[str, list[tuple[int, str]]] = {path: [(MOST, "it is active")] for path in active}
    direct = {target: path for path in sorted(active, reverse=True) for target in imported_by(path)}
    for target, path in direct.items():
        reasons.setdefault(target, []).append((DIRECT, f"{path} imports it"))
    second = {target: path for path in sorted(direct, reverse=True) for target in imported_by(path)}
    for target, path in second.items():
        if target not in direct:
            reasons.setdefault(target, []).append((SECOND, f"{path} imports it, which an active file imports"))
    wanted = frozenset(active)
    for path, content in contents.items():
        if content.facts.imports and (targets := imported_by(path) & wanted):
            reasons.setdefault(path, []).append((IMPORTING, f"it imports {min(targets)}"))
    needed = {*given, *(target for path in given for target in imported_by(path))}
    return {
        path: Near(min(sum(points for points, _ in found), MOST), tuple(why for _, why in found), path in needed)
        for path, found in reasons.items()
    }
