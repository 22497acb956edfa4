"""Open branches that decide the same thing or touch the same record, seen before they are merged."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from itertools import combinations

from memctl.check.branch_review import ReviewItem
from memctl.git import differences, git, history
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import DECISION
from memctl.record.parser import parse
from memctl.record.record import Record
from memctl.store import files
from memctl.store.memory import Memory
from memctl.text import similarity

OVERLAP = "overlap"
_MOST = 100  # branches, the latest ones, which are compared with each other
# The share of the words of the shorter title that the longer one has, too, from which on two titles are alike: less is
# needed within one section. Of the 47,000 pairs of decisions in
# memctl's own memory 6 are alike.
_ALIKE, _IN_SECTION = 0.75, 0.6
_LEAST = 2  # such words

_Changed = Mapping[str, tuple[Record | None, Record]]  # by path: the record at the base, None if new, and on the branch


def overlaps(memory: Memory) -> list[ReviewItem]:
    """Return where two open branches decide the same thing or change the same record.

    They are HEAD and the remote-tracking branches that the default branch does not have; nothing is fetched.
    """
    if not (base := _default(memory)):
        return []
    changed = {name: _changed(memory, base, tip) for name, tip in _open_branches(memory, base).items()}
    found = []
    for (one, ours), (other, theirs) in combinations(changed.items(), 2):
        for path in sorted(ours.keys() & theirs.keys()):
            record = ours[path][1]
            if record != theirs[path][1]:  # else one branch has it from the other
                text = f"{one} and {other} both change it: {record.title}"
                found.append(_item(memory, record, text, (one, other)))
        new = [[now for was, now in side.values() if was is None] for side in (ours, theirs)]
        for mine in new[0]:
            for yours in new[1]:
                if mine.memory_id != yours.memory_id and _is_alike(mine, yours):
                    text = f"{mine.title} ({one}) may be decided as {yours.id} {yours.title} ({other})"
                    found.append(_item(memory, mine, text, (one, other)))
    return found


def _default(memory: Memory) -> str:
    name = memory.default_branch
    remotes = [f"refs/remotes/{remote}/{name}" for remote in memory.repository.remotes()]
    refs = [*remotes, f"refs/heads/{name}"] if name else []
    return next(filter(None, map(memory.repository.tip, refs)), "") or memory.repository.branch()[1]


def _open_branches(memory: Memory, base: str) -> dict[str, str]:
    """HEAD's branch comes first; its own remote-tracking branch is left out."""
    branch, head = memory.repository.branch()
    short = branch.removeprefix("refs/heads/")
    listing = ["for-each-ref", "--format=%(objectname) %(symref) %(refname:lstrip=2)", "--sort=-committerdate"]
    out = git.read([*listing, f"--no-merged={base}", f"--count={_MOST}", "refs/remotes"], memory.repository.top)
    is_open = head and memory.repository.merge_bases(base, head) != [head]
    tips = {short or "HEAD": head} if is_open else {}
    for line in os.fsdecode(out).splitlines():
        tip, symref, name = line.split(" ", 2)
        if not symref and tip not in tips.values() and name.partition("/")[2] != short:
            tips[name] = tip
    return tips


def _changed(memory: Memory, base: str, tip: str) -> _Changed:
    repository = memory.repository
    starts = repository.merge_bases(base, tip)
    if not starts and repository.shallow():
        history.merge_base(repository, base, tip)  # which says what is missing
    paths = differences.changed_below(repository, memory.prefix, starts[0], tip) if starts else []
    found = {}
    for path in (path[len(memory.prefix) + 1 :] for path in paths):
        if files.is_record_path(path) and (now := _record(memory, tip, path)):
            found[path] = (_record(memory, starts[0], path), now)
    return found


def _record(memory: Memory, commit: str, path: str) -> Record | None:
    (blob,) = memory.repository.objects.read([f"{commit}:{memory.tracked(path)}"])
    with suppress(InvalidRecord):
        return parse(blob.data.decode(errors="replace"), path)[0] if blob and blob.data else None
    return None


def _is_alike(one: Record, other: Record) -> bool:
    if one.memory_type != DECISION.name or other.memory_type != DECISION.name:
        return False
    words = similarity.terms(one.title), similarity.terms(other.title)
    common, least = len(words[0] & words[1]), min(map(len, words))
    needed = _IN_SECTION if one.section and one.section == other.section else _ALIKE
    return one.title.casefold() == other.title.casefold() or (common >= _LEAST and common >= needed * least)


def _item(memory: Memory, record: Record, text: str, branches: tuple[str, str]) -> ReviewItem:
    return ReviewItem(OVERLAP, record.id, text, record.id, branches, memory.tracked(record.path))
