"""What hooks of agents do behind the agents' backs, before a command looks at the memory: it is to see it done."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from memctl.cli import output
from memctl.git.commits import committing
from memctl.hooks import job_queue
from memctl.store.memory import Memory

_PATIENCE = 5.0  # seconds; summing up 10 MB of a transcript and committing takes about one


def await_(memory: Memory, root: Path, *, writes: bool) -> None:
    """Wait for the processes that are at it. What one that was killed has left is done here by a command that writes;
    any other only says that it is there, for reading changes nothing."""
    if committing():  # a hook of a commit, which may be the one that we would wait for
        return
    memory.asked = None  # that was asked before what is waited for
    is_settled = False
    with suppress(OSError):  # of a folder that we may not write to: then it is somebody else's to finish
        is_settled = job_queue.wait(root, _PATIENCE)
        if not is_settled and writes:
            from memctl.hooks import jobs

            is_settled = jobs.settle_all(root, os.environ)
    if not is_settled:
        output.note(
            "what an agent's hook has begun is not done yet: `memctl commit` finishes it (`memctl hook log --faults`)"
        )
