"""Rank the repository's files by how much a task needs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import nsmallest
from pathlib import Path

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pages import freshness, repository_paths
from memctl.pages.repository_paths import file_named
from memctl.record.filters import Filters
from memctl.record.snapshot import Snapshot
from memctl.sources import file_search, recency, task_files
from memctl.sources.facts import Progress
from memctl.sources.generated_files import GeneratedFiles
from memctl.sources.load_plan import Choice, LoadBudget, ScoredFile, choose
from memctl.sources.nearness import nearness
from memctl.sources.score import RELEVANCE, FileKnowledge, Score, score, task_points
from memctl.sources.sizes import TokenSizes
from memctl.sources.task_files import FileMention
from memctl.store.file_texts import FileMatches
from memctl.store.memory import Memory
from memctl.text.globs import is_pattern
from memctl.tokens.count import Counter as TokenCounter

# Files that one commit changes, from which on it tells none of them from the others: an import, a new formatter.
_SWEEPING = 1_000
_LIKELY = 5  # files that match a task best, whose imports and importers get points


class FileRequest(msgspec.Struct, frozen=True):
    """A request for the files that a task needs.

    - `task` is the text of the task, "" for none.
    - `active` are the paths of the files that a person works on; they are relative to the folder `folder`.
    - `globs` limit the ranked files; () stands for all files.
    - `shown` is how many of the best files are shown. Their tokens are counted, those of other files only estimated.
    - `lists_all` ranks all files. Otherwise a request with a task leaves out most files that nothing connects with the
      task.
    """

    task: str = ""
    active: tuple[str, ...] = ()
    folder: Path = Path()
    globs: tuple[str, ...] = ()
    shown: int = 0
    lists_all: bool = False


class Priorities(msgspec.Struct, frozen=True):
    """The ranked files, the best first, and the paths of the active files.

    - A file is `active` if it has uncommitted changes, or if the task or a person names it.
    - `refused` are pairs of a file that never enters a model's context, and the reason.
    - `unsearched` are pairs of a file whose text was not searched, and the reason.
    - `unlisted` is the number of files that match the request's globs, but were left out because nothing connects them
      with the task.
    """

    files: tuple[Choice, ...]
    active: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    unsearched: tuple[tuple[str, str], ...] = ()
    unlisted: int = 0


def priorities(
    memory: Memory,
    snapshot: Snapshot,
    request: FileRequest,
    room: LoadBudget,
    counter: TokenCounter,
    progress: Progress | None = None,
) -> Priorities:
    """Rank the files of the worktree for a request, and choose those to load.

    Files are ranked by score, and by path if their scores are equal. Those to load fit into `room`, as `counter` counts
    their tokens. `progress` is called while files are read. Raises MemctlError for a bad glob, and for an active file
    that does not exist or may not enter a model's context.
    """
    sources, now = file_search.read(memory, snapshot, progress), memory.now
    contents = sources.contents
    dirty = frozenset(path for path, blob in sources.files.unchanged().items() if not blob and path in contents)
    lately = recency.recent_changes(
        memory.repository, dirty, now, recency.LOOKED_AT if request.task else recency.OPERATIONS
    )
    alike = Counter(lately.ago.values())
    late = contents.keys() & {path for path, ago in lately.ago.items() if not ago or alike[ago] < _SWEEPING}
    texts, named = FileMatches({}, {}, {}), dict[str, FileMention]()
    if request.task:
        texts = file_search.matches(memory, sources, request.task, progress)
        named = file_search.mentions(snapshot, sources, request.task, now, late.union(texts.best))
    meant = {path for path, mention in named.items() if mention.share >= task_files.ACTIVE}
    given = _active_files(request, memory, contents, sources.refusals)
    active = dirty | meant | given
    issues = _issues(snapshot, frozenset(contents))
    found = contents.keys() & late.union(texts.best, named, active)
    known = {
        path: _knowledge(path, texts, named.get(path), lately, contents[path].facts.todos, issues.get(path, ()))
        for path in (found if request.task else contents)
    }
    near = nearness(contents, active, given, _likely(known) if request.task else {})
    for path, each in near.items():
        known[path] = msgspec.structs.replace(known.get(path) or _only_changed(lately.ago.get(path)), near=each)
    wanted = _matching(contents, request.globs)
    scored = [
        ScoredFile(path, contents[path], score(path, known[path], now, for_task=request.task != ""))
        for path in wanted
        if path in known
    ]
    others, unlisted = _others([path for path in wanted if path not in known], lately.ago, request, room, now)
    scored += [ScoredFile(path, contents[path], same) for path, same in others]
    scored.sort(key=lambda file: (-file.score.score, file.path not in given, file.path))
    sizes = TokenSizes(counter, sources.files, sources.cache, sources.known)
    generated = GeneratedFiles(memory.repository, contents.keys(), lambda path: contents[path].facts.is_generated)
    choices = tuple(choose(scored, room, sizes.look_up, sizes.count, request.shown, generated.reason))
    sizes.keep()
    refusals = tuple(sorted(sources.refusals.items()))
    unsearched = tuple(sorted(texts.left_out.items()))
    return Priorities(choices, tuple(sorted(active)), refusals, unsearched, unlisted)


def _knowledge(
    path: str,
    texts: FileMatches,
    mention: FileMention | None,
    lately: recency.RecentChanges,
    todos: int,
    issues: Iterable[str],
) -> FileKnowledge:
    """Return what is known of a file: how well it matches the task, who mentions it, and what changed of late."""
    return FileKnowledge(
        match=texts.shares.get(path, 0.0),
        words=tuple(texts.words.get(path, ())),
        mention=mention,
        changed=lately.moments.get(path, ""),
        is_modified=path in lately.operations,
        ago=lately.ago.get(path),
        todos=todos,
        issues=tuple(issues),
    )


def _only_changed(ago: int | None) -> FileKnowledge:
    """Return what is known of a file of which only the last change is known, `ago` operations ago."""
    return FileKnowledge(is_modified=ago is not None and ago <= recency.OPERATIONS, ago=ago)


def _others(
    paths: Collection[str], ago: Mapping[str, int], request: FileRequest, room: LoadBudget, now: str
) -> tuple[list[tuple[str, Score]], int]:
    """Return files of which only the last change is known, with their scores, and the number of those left out.

    Files last changed in one operation score alike. As many of each as are shown are returned, the first by path; all
    if they may be loaded, or if the request asks for all files. `ago` says by path in which operation a file was last
    changed.
    """
    found: list[tuple[str, Score]] = []
    by_change: dict[int | None, list[str]] = {}
    for path in paths:
        by_change.setdefault(ago.get(path), []).append(path)
    for change, alike in by_change.items():
        same = score("", _only_changed(change), now, for_task=True)
        is_needed = request.lists_all or same.score >= room.least
        found += [(path, same) for path in (alike if is_needed else nsmallest(request.shown, alike))]
    return found, len(paths) - len(found)


def _likely(known: Mapping[str, FileKnowledge]) -> dict[str, float]:
    """Return the five files that match a task best, each with a likelihood from 0 to 1."""
    shares = {path: sum(points for points, _ in task_points(each)) / RELEVANCE for path, each in known.items()}
    best = sorted(shares, key=lambda path: (-shares[path], path))[:_LIKELY]
    return {path: shares[path] for path in best if shares[path]}


def _active_files(
    request: FileRequest, memory: Memory, contents: Collection[str], refusals: Mapping[str, str]
) -> set[str]:
    """Return the active files that a person named.

    Raises MemctlError for a name without a file, and for a file that never enters a model's context.
    """
    names = frozenset(contents) | refusals.keys()
    found = {file_named(names, memory.repository.top, request.folder, text) for text in request.active}
    for path in sorted(found & refusals.keys()):
        raise MemctlError(f"{path} never enters a model's context: {refusals[path]}")
    return found


def _matching(names: Collection[str], globs: Sequence[str]) -> Collection[str]:
    """Return the names that match one of the globs, all without globs; raises MemctlError for a path without `*`."""
    for glob in globs:
        if not is_pattern(glob):
            raise MemctlError(
                f"{glob!r} is not a glob", "write a pattern as in .gitignore, such as `src/**/*.py`", USAGE
            )
    return repository_paths.matching(names, globs) if globs else names


def _issues(snapshot: Snapshot, names: frozenset[str]) -> dict[str, list[str]]:
    """Return the ids of open issues by the files that they refer to; a reference to a folder counts for no file."""
    found: dict[str, list[str]] = {}
    for record in Filters(types=("issue",)).keep(snapshot.records):
        for reference in record.code_refs if record.is_open else ():
            for path in freshness.code_paths(names, reference):
                if path in names and record.id not in found.setdefault(path, []):
                    found[path].append(record.id)
    return found
