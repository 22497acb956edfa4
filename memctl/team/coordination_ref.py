"""Where the state that agents share is."""

from __future__ import annotations

from memctl.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.store.memory import Memory

_REF = "refs/memctl/coordination"


def tracking(memory: Memory, remote: str) -> str:
    """Return where memctl keeps what it has fetched of a remote's."""
    return ref(memory).replace("refs/memctl/", f"refs/memctl/remotes/{remote}/", 1)


def ref(memory: Memory) -> str:
    """Return the ref of a memory; one that is not at the worktree's top has its own."""
    return named(memory.prefix)


def named(prefix: str) -> str:
    """Return the ref of the memory at a place below the worktree's top."""
    if prefix == ".memory":
        return _REF
    from hashlib import blake2b  # 3 ms

    return f"{_REF}-{blake2b(prefix.encode(errors='surrogateescape'), digest_size=6).hexdigest()}"
