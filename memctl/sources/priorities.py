"""Rank the repository's files by how much a task needs them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pages import repository_paths
from memctl.pages.repository_paths import file_named
from memctl.record import pages
from memctl.record.filters import Filters
from memctl.record.snapshot import Snapshot
from memctl.sources import file_list_update, file_search, recency, task_files
from memctl.sources.facts import Progress
from memctl.sources.file_list_update import FileSources
from memctl.sources.generated_files import GeneratedFiles
from memctl.sources.load_plan import Choice, LoadBudget, ScoredFile, choose
from memctl.sources.nearness import nearness
from memctl.sources.score import RELEVANCE, FileKnowledge, Score, places_down, score, task_points
from memctl.sources.sizes import TokenSizes
from memctl.sources.task_files import FileMention
from memctl.store import file_texts, load
from memctl.store.file_list import FileList, with_index
from memctl.store.file_texts import FileMatches
from memctl.store.memory import Memory
from memctl.store.repository_files import FilesOnDisk
from memctl.store.search_index import SearchIndex
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
    - `lists_all` ranks all files. Otherwise a request with a task leaves out most of the files that nothing connects
      with the task: of those that one commit changed last, at most `shown` are ranked, unless their score is enough to
      be loaded.
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

    @property
    def loaded(self) -> int:
        """The tokens of the files to load."""
        return sum(choice.cost for choice in self.files if choice.is_loaded)

    @property
    def total(self) -> int:
        """The number of files that match the request's globs."""
        return len(self.files) + self.unlisted


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

    def answer(index: SearchIndex) -> Priorities:
        files = FilesOnDisk(memory)
        sources = file_list_update.of_worktree(memory, snapshot, files, index, progress)
        return _ranked(memory, snapshot, request, room, TokenSizes(counter, files, load.open_cache(memory)), sources)

    return with_index(memory, answer)


def _ranked(
    memory: Memory, snapshot: Snapshot, request: FileRequest, room: LoadBudget, sizes: TokenSizes, sources: FileSources
) -> Priorities:
    now = memory.now
    contents, dirty = sources.contents, sources.differing
    is_large = request.task != "" and len(contents) >= recency.LARGE
    depth = recency.LOOKED_AT if request.task else recency.OPERATIONS
    lately = recency.recent_changes(memory.repository, dirty, now, depth, is_large=is_large)
    alike = Counter(lately.ago.values())
    late = {path for path, ago in lately.ago.items() if (not ago or alike[ago] < _SWEEPING) and path in contents}
    texts, named = FileMatches({}, {}, {}), dict[str, FileMention]()
    if request.task:
        texts = file_texts.matches(contents, request.task)
        most = -1 if request.lists_all else max(request.shown, _LIKELY)
        named = file_search.mentions(snapshot, sources, request.task, now, late.union(texts.shares), most)
    else:
        contents.load()
    meant = {path for path, mention in named.items() if mention.share >= task_files.ACTIVE}
    given = _active_files(request, memory, contents, sources.refusals)
    active = dirty | meant | given
    issues = _issues(snapshot, contents)
    found = [path for path in late.union(texts.shares, named, active) if path in contents]
    known = {}
    for path in found if request.task else contents:
        known[path] = msgspec.structs.replace(
            _only_changed(lately.ago_of(path)),
            mention=named.get(path),
            changed=lately.moments.get(path, ""),
            todos=contents[path].facts.todos,
            issues=tuple(issues.get(path, ())),
            match=texts.shares.get(path, 0.0),
            words=tuple(texts.words.get(path, ())),
        )
    near = nearness(contents, active, given, _likely(known) if request.task else {})
    for path, each in near.items():
        known[path] = msgspec.structs.replace(known.get(path) or _only_changed(lately.ago_of(path)), near=each)
    wanted = _matching(contents, request.globs)
    scored = [
        ScoredFile(path, contents[path], score(path, each, now, for_task=request.task != ""))
        for path, each in known.items()
        if path in wanted
    ]
    others, unlisted = _others(wanted, known, lately, request, room.least)
    scored += [ScoredFile(path, contents[path], same) for path, same in others]
    scored = _in_order(scored, given, named, request.task)
    names = contents.called(".gitattributes").union(file.path for file in scored)
    generated = GeneratedFiles(memory.repository, names, lambda path: contents[path].facts.is_generated)
    choices = tuple(choose(scored, room, sizes.look_up, sizes.count, request.shown, generated.reason))
    sizes.keep()
    refusals = tuple(sorted(sources.refusals.items()))
    unsearched = tuple(sorted(texts.left_out.items()))
    return Priorities(choices, tuple(sorted(active)), refusals, unsearched, unlisted)


def _in_order(
    scored: list[ScoredFile], given: Collection[str], named: Mapping[str, FileMention], task: str
) -> list[ScoredFile]:
    """If the task is the text of an issue, documentation and tests go a few places down."""
    scored.sort(key=lambda file: (-file.score.score, file.path not in given, file.path))
    down = {file.path: places_down(file.path, named.get(file.path), task) for file in scored}
    places = {file.path: place + down[file.path] for place, file in enumerate(scored)}
    return sorted(scored, key=lambda file: (places[file.path], down[file.path]))


def _only_changed(ago: int | None) -> FileKnowledge:
    return FileKnowledge(is_modified=ago is not None and ago <= recency.OPERATIONS, ago=ago)


def _others(
    wanted: Collection[str], known: Collection[str], lately: recency.RecentChanges, request: FileRequest, least: float
) -> tuple[list[tuple[str, Score]], int]:
    """Return files of which only the last change is known, with their scores, and the number of those left out.

    `wanted` are the files that the request asks for, without those in `known`. Files last changed in one operation
    score alike. As many of each as are shown are returned, the first by path; all if they may be loaded (from `least`
    on), or if the request asks for all files.
    """
    found: list[tuple[str, Score]] = []
    by_change: dict[int, list[str]] = {}
    for path in sorted(path for path in lately.ago if path not in known and path in wanted):
        by_change.setdefault(lately.ago[path], []).append(path)
    for change, alike in (*by_change.items(), (lately.first, wanted)):
        same = score("", _only_changed(change), "", for_task=True)
        is_needed = request.lists_all or same.score >= least
        new = (path for path in alike if lately.ago_of(path) == change and path not in known)
        found += [(path, same) for path in islice(new, None if is_needed else request.shown)]
    return found, len(wanted) - sum(path in wanted for path in known) - len(found)


def _likely(known: Mapping[str, FileKnowledge]) -> dict[str, float]:
    shares = {path: sum(points for points, _ in task_points(each)) / RELEVANCE for path, each in known.items()}
    best = sorted(shares, key=lambda path: (-shares[path], path))[:_LIKELY]
    return {path: shares[path] for path in best if shares[path]}


def _active_files(
    request: FileRequest, memory: Memory, contents: Collection[str], refusals: Mapping[str, str]
) -> set[str]:
    """Raises MemctlError for a name without a file, and for a file that never enters a model's context."""
    top = memory.repository.top

    def named(text: str) -> str:
        paths = repository_paths.possible_paths(top, request.folder, text)
        names = frozenset(path for path in paths if path in contents or path in refusals)
        return file_named(names or frozenset(contents).union(refusals), top, request.folder, text)

    found = set(map(named, request.active))
    for path in sorted(found & refusals.keys()):
        raise MemctlError(f"memctl never gives {path} to a model: {refusals[path]}")
    return found


def _matching(names: FileList, globs: Sequence[str]) -> Collection[str]:
    for glob in globs:
        if not is_pattern(glob):
            hint = "write a pattern as in .gitignore, such as `src/**/*.py`"
            raise MemctlError(f"{glob!r} is not a pattern for files", hint, USAGE)
    return dict.fromkeys(repository_paths.matching(names, globs)) if globs else names


def _issues(snapshot: Snapshot, names: Collection[str]) -> dict[str, list[str]]:
    """A reference to a folder counts for no file."""
    found: dict[str, list[str]] = {}
    for record in Filters(types=("issue",)).keep(snapshot.records):
        for reference in record.code_refs if record.is_open else ():
            for path in dict.fromkeys((reference, pages.code_path(reference))):
                if path in names and record.id not in found.setdefault(path, []):
                    found[path].append(record.id)
    return found
