"""Build a pack of the repository's files that a task needs: unchanged texts or outlines, and a list of other files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from itertools import islice

from memctl.errors import MemctlError
from memctl.git.introductions import last_commits
from memctl.pack.budget_fill import Pack
from memctl.pack.draft import NOTICED, Item, OmittedItem, PackDraft, PackNote, PackPart
from memctl.record.snapshot import Snapshot
from memctl.sources import facts
from memctl.sources.load_plan import NO_ROOM, OUTLINE, Choice
from memctl.sources.priorities import Priorities
from memctl.sources.summary import summary
from memctl.store.memory import Memory
from memctl.store.repository_files import FilesOnDisk
from memctl.text import sensitive_files
from memctl.text.phrases import quantity
from memctl.tokens.count import Counter

PART = "files"
_LISTED = 200  # left out files that are listed; others are only counted
_DIGITS = 10  # of the ids of commits and blobs


def build_pack(
    memory: Memory,
    snapshot: Snapshot,
    priorities: Priorities,
    task: str,
    counter: Counter,
    fill: Callable[[PackDraft], Pack],
) -> Pack:
    """Build a pack of the best files for a task, each whole or in outline, and a list of the other files.

    `priorities` are the ranked files, `task` is the task's text ("" for none), and `counter` counts the tokens of
    files. `fill` builds a pack from as much of a draft as fits into the budget.
    """
    items, missing = _items(memory, snapshot, _candidates(priorities), counter)
    pack = fill(_draft(memory, priorities, task, items, missing))
    while gone := [item for item in items if item.id not in pack.parts.get(PART, [])]:
        missing |= {item.id: NO_ROOM for item in gone}
        items = [item for item in items if item not in gone]
        pack = fill(_draft(memory, priorities, task, items, missing))
    return pack


def _candidates(priorities: Priorities) -> dict[str, Choice]:
    """Return the files to try by path: those that fit, and then as many again, in case some can't be read."""
    room = 2 * sum(choice.cost for choice in priorities.files if choice.is_loaded)
    candidates = {}
    for choice in priorities.files:
        if choice.is_loaded or (choice.left_out == NO_ROOM and choice.cost <= room):
            room -= choice.cost
            candidates[choice.path] = choice
    return candidates


def _items(
    memory: Memory, snapshot: Snapshot, chosen: Mapping[str, Choice], counter: Counter
) -> tuple[list[Item], dict[str, str]]:
    """Return items with the files' texts or outlines, and the reasons by path for files that can't be included."""
    files, repository = FilesOnDisk(memory), memory.repository
    unchanged = files.unchanged()
    commits = last_commits(repository, chosen)
    items, missing = [], {}
    for path, choice in chosen.items():
        try:
            content = files.read([path]).get(path)
        except OSError:
            content = None
        text = (content or b"").decode(errors="replace")
        reason = facts.GONE if content is None else sensitive_files.refusal(path, content, text)
        if not reason and choice.outline:
            try:
                text = summary(snapshot, path, OUTLINE, counter, for_agent=True).text
            except MemctlError as error:
                reason = str(error)
        if reason:
            missing[path] = reason
            continue
        commit = commits.get(path, "")[:_DIGITS] or "none yet"
        known = {
            "score": f"{choice.score.score:g}",
            "tokens": str(choice.tokens.tokens),
            "commit": commit if unchanged.get(path) else f"{commit} (changed since)" if path in commits else commit,
            "blob": choice.content.blob[:_DIGITS],
        }
        known |= {"outline": choice.outline} if choice.outline else {}
        items.append(Item("file", path, "", text, tuple(known.items()), path))
    return items, missing


def _left_out(priorities: Priorities, packed: Collection[str], missing: Mapping[str, str]) -> list[OmittedItem]:
    """Return the best files that are not in the pack, at most 200, each with its score, tokens and reason."""
    others = (choice for choice in priorities.files if choice.path not in packed)
    left = []
    for choice in islice(others, _LISTED):
        size = f"score {choice.score.score:g}, {quantity(choice.tokens.tokens, 'token')}"
        left.append(OmittedItem(choice.path, size, missing.get(choice.path) or choice.left_out or NO_ROOM))
    return left


def _draft(
    memory: Memory, priorities: Priorities, task: str, items: list[Item], missing: Mapping[str, str]
) -> PackDraft:
    """Return the draft of the pack: the files in `items`, and a list of the best others with the reasons."""
    others = _left_out(priorities, {item.id for item in items}, missing)
    more = len(priorities.files) - len(items) - len(others)
    rest = f"{quantity(more, 'more file')} with a lower score; `memctl files --limit 0` lists all."
    return PackDraft(
        project=memory.config.project,
        parts=(PackPart(PART, "Files", tuple(items)),),
        title="Files of {project}",
        root="file_context",
        opening=(NOTICED, *([PackNote("task", "Task", task, essential=True)] if task else [])),
        closing=(PackNote("more_files", "More files", rest),) if more else (),
        others=tuple(others),
        made=memory.now,
    )
