"""Having the documents rendered that a change touches, for the write door."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from memctl.errors import MemctlError
from memctl.record.change import Change
from memctl.record.errors import Fault
from memctl.record.kinds import CHECKPOINTS, HANDOFF, SESSIONS
from memctl.store import files
from memctl.store.memory import Memory

UNTRACKED = "docs/.gitignore"  # the folder ignores itself
_NAMED = 3  # files at fault that a write names; `check` names all
NEVER_SHOWN = (f"{SESSIONS}/", f"{CHECKPOINTS}/", f"{HANDOFF.folder}/")  # in no document
IGNORE_ALL = "# `docs: false` keeps the rendered documents out of Git.\n*\n"


class Rendering(msgspec.Struct, frozen=True):
    """Documents as paths below `.memory/`: those to be written with their texts (None: to be deleted), and all that
    are then as they should be. `warning` is what somebody should know."""

    texts: dict[str, str | None] = {}
    settled: tuple[str, ...] = ()
    warning: str = ""


def refresh(memory: Memory, changes: list[Change]) -> tuple[tuple[str, ...], str]:
    """Render what some changes touch, on the disk: the paths that are to be committed with them, and what went wrong.

    Neither a template at fault nor a folder that can't be written keeps anybody from recording: documents can be
    rendered later.
    """
    if all(path.startswith(NEVER_SHOWN) for change in changes for path in change.paths):
        return (), _known_unreadable(memory)
    kept_out = not memory.config.docs
    if kept_out and not (memory.folder / UNTRACKED).is_file():
        return (), _known_unreadable(memory)  # nobody has rendered them here
    asked = memory.ask()
    memory.asked = asked
    from memctl.write import documents  # Jinja takes 20 ms

    try:
        found = documents.touched_by(memory, changes)
        put(memory, found.texts)
    except MemctlError as error:
        return (), f"the documents are not rendered: {error.message}"
    except OSError as error:
        return (), f"the documents are not rendered: {error.filename}: {error.strerror}"
    if kept_out:
        return (), found.warning
    take_rule_out(memory)
    differing = set(asked.differing())
    waiting = [path for path in found.settled if memory.tracked(path) in differing]
    return tuple(dict.fromkeys((*found.texts, *waiting))), found.warning


def unreadable(memory: Memory, faults: Sequence[Fault]) -> str:
    """Say which files can't be read, so that no write passes over them in silence; "" if all can be."""
    by_path = {fault.path: fault for fault in reversed(faults)}
    words = [f"{memory.prefix}/{by_path[path]}" for path in sorted(by_path)[:_NAMED]]
    more = [f"{len(by_path) - _NAMED:,} files more can't be read (`memctl check`)"] if len(by_path) > _NAMED else []
    return "; ".join([*words, *more])


def _known_unreadable(memory: Memory) -> str:
    """The same by what the cache knows, where nothing is rendered."""
    from memctl.store import load
    from memctl.store.catalogue import StoredCatalogue

    return unreadable(memory, StoredCatalogue(load.open_cache(memory)).faults())


def take_rule_out(memory: Memory) -> None:
    """Delete the rule by which `docs: false` keeps documents out of Git, once the settings no longer say so."""
    rule = memory.folder / UNTRACKED
    if rule.is_file() and rule.read_bytes() == IGNORE_ALL.encode():
        rule.unlink()


def put(memory: Memory, texts: Mapping[str, str | None]) -> None:
    """Write documents, without waiting for the disk: they can be made again."""
    for path, text in texts.items():
        file = files.locate(memory.folder, path)
        if text is None:
            file.unlink(missing_ok=True)
        else:
            files.replace(file, text)
