"""The repository's files in the order in which a task needs them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pages import freshness, repository_paths
from memctl.pages.path_args import file_named
from memctl.record.snapshot import Snapshot
from memctl.search.filters import Filters
from memctl.sources import facts, ignored, recency, refused, task
from memctl.sources.facts import Content, Progress
from memctl.sources.loading import Choice, Room, Scored, chosen
from memctl.sources.nearness import nearness
from memctl.sources.score import FileKnowledge, score
from memctl.sources.sizes import TokenSizes
from memctl.store import load, source_facts
from memctl.store.memory import Memory
from memctl.store.repository_files import FilesOnDisk
from memctl.text.globs import is_pattern
from memctl.tokens.count import Counter


class FileRequest(msgspec.Struct, frozen=True):
    """What files are wanted for: the task's text, active files as named by a person in a folder, globs of those that
    count at all (() for all), and how many of the best are shown, whose tokens are to be counted.
    """

    task: str = ""
    active: tuple[str, ...] = ()
    folder: Path = Path()
    globs: tuple[str, ...] = ()
    shown: int = 0


class Priorities(msgspec.Struct, frozen=True):
    """Files, best first; the active ones; and those that never enter, with why."""

    files: tuple[Choice, ...]
    active: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]


def priorities(
    memory: Memory,
    snapshot: Snapshot,
    wish: FileRequest,
    room: Room,
    counter: Counter,
    progress: Progress | None = None,
) -> Priorities:
    """Rank the files of the worktree; those with a higher score first, then by path."""
    files, cache, now = FilesOnDisk(memory), load.open_cache(memory), memory.now
    known = source_facts.recall(cache)
    found = facts.gather(memory.repository.top, files, cache, known, progress)
    contents, refusals = _admitted(memory.repository.top, found, snapshot.withheld.files)
    dirty = frozenset(path for path, blob in files.unchanged().items() if not blob and path in contents)
    lately = recency.recent(memory.repository, dirty, now)
    named: task.Mentions = {}
    if wish.task:
        named = task.joined(
            task.mentions(wish.task, contents), task.from_memory(snapshot, wish.task, frozenset(contents), now)
        )
    meant = {path for path, mention in named.items() if mention.share >= task.ACTIVE}
    given = _given(wish, memory, contents, refusals)
    active = dirty | meant | given
    near = nearness(contents, active, given)
    issues = _issues(snapshot, frozenset(contents))
    scored = [
        Scored(path, contents[path], score(path, each, now))
        for path in _within(contents, wish.globs)
        for each in [
            FileKnowledge(
                mention=named.get(path),
                changed=lately.moments.get(path, ""),
                is_modified=path in lately.operations,
                todos=contents[path].facts.todos,
                issues=tuple(issues.get(path, ())),
                near=near.get(path),
            )
        ]
    ]
    scored.sort(key=lambda file: (-file.score.score, file.path not in given, file.path))
    sizes = TokenSizes(counter, files, cache, known)
    choices = tuple(chosen(scored, room, sizes.known, sizes.count, wish.shown))
    sizes.keep()
    return Priorities(choices, tuple(sorted(active)), tuple(sorted(refusals.items())))


def _given(wish: FileRequest, memory: Memory, contents: Collection[str], refusals: Mapping[str, str]) -> set[str]:
    """The active files that a person named; raises MemctlError for one that is none, or that never enters."""
    names = frozenset(contents) | refusals.keys()
    found = {file_named(names, memory.repository.top, wish.folder, text) for text in wish.active}
    for path in sorted(found & refusals.keys()):
        raise MemctlError(f"{path} never enters a model's context: {refusals[path]}")
    return found


def _admitted(
    top: Path, found: dict[str, Content], closed: Mapping[str, str]
) -> tuple[dict[str, Content], dict[str, str]]:
    """The files that may enter a model's context, and the others with why not; `closed` are kept from the reader."""
    refusals = {path: why for path, why in closed.items() if path in found}
    refusals |= {path: content.facts.refusal for path, content in found.items() if content.facts.refusal}
    refusals |= {path: refused.SECRET_NAME for path in found if refused.has_secret_name(path)}
    left_out = ignored.ignored(found.keys() - refusals.keys(), ignored.texts(top, found))
    refusals |= {path: f"{origin} leaves it out" for path, origin in left_out.items()}
    return {path: content for path, content in sorted(found.items()) if path not in refusals}, refusals


def _within(names: Collection[str], globs: Sequence[str]) -> Collection[str]:
    """The files that count; raises MemctlError for what is no glob."""
    for glob in globs:
        if not is_pattern(glob):
            raise MemctlError(f"{glob!r} is no glob", "give one as in .gitignore, such as `src/**/*.py`", USAGE)
    return repository_paths.matching(names, globs) if globs else names


def _issues(snapshot: Snapshot, names: frozenset[str]) -> dict[str, list[str]]:
    """The open issues by the files that they name: a folder names none of what is in it."""
    found: dict[str, list[str]] = {}
    for record in Filters(types=("issue",)).keep(snapshot.records):
        for reference in record.code_refs if record.is_open else ():
            for path in freshness.code_paths(names, reference):
                if path in names and record.id not in found.setdefault(path, []):
                    found[path].append(record.id)
    return found
