"""Rendering the documents that a change touches, as part of its write."""

from __future__ import annotations

from memctl.errors import MemctlError
from memctl.pages.links import NEVER_SHOWN, UNTRACKED
from memctl.record import errors
from memctl.record.change import Change
from memctl.store.memory import Memory


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
        documents.put(memory, found.texts)
    except MemctlError as error:
        return (), f"the documents are not rendered: {error.message}"
    except OSError as error:
        return (), f"the documents are not rendered: {error.filename}: {error.strerror}"
    if kept_out:
        return (), found.warning
    documents.take_rule_out(memory)
    differing = set(asked.differing())
    waiting = [path for path in found.settled if memory.tracked(path) in differing]
    return tuple(dict.fromkeys((*found.texts, *waiting))), found.warning


def _known_unreadable(memory: Memory) -> str:
    """Say which records can't be read, by what the cache knows: where nothing is rendered, nobody else does."""
    from memctl.store import load
    from memctl.store.catalogue import StoredCatalogue

    return errors.summary(memory.prefix, StoredCatalogue(load.open_cache(memory)).faults())
