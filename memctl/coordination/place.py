"""Where the state that agents share is."""

from __future__ import annotations

from memctl.store.memory import Memory

_REF = "refs/memctl/coordination"


def ref(memory: Memory) -> str:
    """The ref of a memory; one that is not at the worktree's top has its own."""
    if memory.prefix == ".memory":
        return _REF
    from hashlib import blake2b  # 3 ms

    return f"{_REF}-{blake2b(memory.prefix.encode(errors='surrogateescape'), digest_size=6).hexdigest()}"
