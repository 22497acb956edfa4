"""The names of the refs that hold the coordination state."""

from __future__ import annotations

from memctl.text.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.store.memory import Memory

_REF = "refs/memctl/coordination"


def tracking_ref(memory: Memory, remote: str) -> str:
    """Return the name of the local ref with the coordination state as it was last fetched from a remote."""
    return ref(memory).replace("refs/memctl/", f"refs/memctl/remotes/{remote}/", 1)


def ref(memory: Memory) -> str:
    """Return the name of the ref that holds the coordination state of a memory."""
    return ref_at(memory.prefix)


def ref_at(prefix: str) -> str:
    """Return the name of the ref that holds the coordination state of the memory in the folder `prefix`.

    `prefix` is relative to the worktree's top. A memory in another folder than `.memory` has a ref of its own, with a
    hash of `prefix` in the name.
    """
    if prefix == ".memory":
        return _REF
    from hashlib import blake2b  # 3 ms

    return f"{_REF}-{blake2b(prefix.encode(errors='surrogateescape'), digest_size=6).hexdigest()}"
