"""What no sync publishes: what nobody could read or tell apart afterwards.

A merge that Git has made may have brought ids together that two clones gave out, or markers of a conflict may have been
committed. What the remote has already is not held against what is pushed.
"""

from __future__ import annotations

from memctl.check import run
from memctl.check.findings import Finding, Subject
from memctl.errors import MemctlError
from memctl.record.snapshot import Snapshot
from memctl.store import load
from memctl.store.memory import Memory
from memctl.write import documents

_RULES = ("MEM103", "MEM104", "MEM302")  # an unresolved conflict, an id twice, the number of a page twice
_HINTS = {"MEM103": "resolve it and commit, then `memctl sync` again"}
_RENUMBER = "`memctl renumber` gives each one of its own; then `memctl sync` again"


def refuse_unsound(memory: Memory, new: Snapshot, theirs: str) -> None:
    """Raise MemctlError if a memory has what is not to be published, and that of the remote's commit does not have it.

    Its documents are not looked at: they are rendered from the rest.
    """
    found = _unsound(memory, new)
    known = {(one.code, one.path) for one in _unsound(memory, load.alike(memory, theirs))} if found else set()
    fresh = [one for one in found if (one.code, one.path) not in known]
    if fresh:
        first = fresh[0]
        raise MemctlError(
            f"nothing was pushed: {memory.tracked(first.path)}:{first.line}: {first.message} ({first.code})",
            _HINTS.get(first.code, _RENUMBER),
        )


def _unsound(memory: Memory, snapshot: Snapshot) -> list[Finding]:
    subject = Subject(snapshot, memory.now, lambda: documents.renderer(memory, snapshot), documents.counter(memory))
    return list(run.check(subject, _RULES).findings)
