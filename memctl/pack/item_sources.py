"""Get what packs need besides the Snapshot: records' last commits, the texts of pages, and what blocks all agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from memctl.errors import MemctlError
from memctl.git import git, history, trees
from memctl.git.differences import WorktreeProcess
from memctl.pack import items
from memctl.pack.items import RecordOrigin, Sources, Worktree
from memctl.pages import repository_paths
from memctl.record import pages
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.search.urgency import LATEST_COMMITS
from memctl.store import files
from memctl.store.last_commits import LastCommit, last_commits, signatures
from memctl.store.memory import Memory
from memctl.task import live_state
from memctl.team.coordination_ref import ref
from memctl.text import timestamps
from memctl.text.markdown import inline, visible

if TYPE_CHECKING:
    from memctl.pages.navigate import Place
    from memctl.pages.render import Renderer


_PATIENCE = 0.05  # seconds to wait for the uncommitted files of the worktree
_FILES, _FITTING = 5, 0.5  # files of a task at most, and the share of the best one's score that each has at least


def sources(memory: Memory, snapshot: Snapshot, at: str | None) -> Sources:
    """Return the functions that get what a pack needs besides the Snapshot, such as the records' last commits.

    `at` is the revision that the Snapshot shows, None for the worktree.
    """

    @cache
    def find() -> Callable[[str], Place]:
        return places(memory, snapshot)

    @cache
    def touched() -> Callable[[], set[str]]:
        return history.paths_touched(memory.repository, LATEST_COMMITS, memory.prefix)

    def ahead(records: list[Record]) -> None:
        if at is None and any(record.code_refs for record in records):
            touched()

    return Sources(
        ahead=ahead,
        origins=lambda records: origins_of(memory, snapshot, records, at),
        page=lambda page: items.screen(snapshot, visible(page.body)),
        executive=lambda: find()(pages.PROJECT_ID).text,
        worked=lambda records: last_change_times(memory, records, at),
        blockers=lambda: blockers(memory) if at is None else [],
        worktree=lambda: worktree(memory) if at is None else Worktree(),
        touched=lambda: touched()() if at is None else (),
        files=lambda task: task_files(memory, snapshot, task, at),
    )


def task_files(memory: Memory, snapshot: Snapshot, task: str, at: str | None) -> list[str]:
    """Return the files that a task names or that match it well, the best first; `at` is as in `sources`."""
    from memctl.sources import file_search  # only system prompts name files

    hits = file_search.search(memory, snapshot, task, memory.repository.resolve(at) if at is not None else "")
    return [hit.path for hit in hits[:_FILES] if hit.score >= _FITTING * hits[0].score]


def worktree(memory: Memory, asked: WorktreeProcess | None = None) -> Worktree:
    """Return the branch of the worktree, its uncommitted files, without the memory's, and the live states of the clone.

    The files are those that Git names in time; `asked` is a question that Git answers already.
    """
    paths = (asked or WorktreeProcess(memory.repository)).paths(_PATIENCE)
    own = None if paths is None else tuple(path for path in paths if not path.startswith(f"{memory.prefix}/"))
    branch = memory.repository.branch()[0].removeprefix("refs/heads/")
    return Worktree(branch, str(memory.repository.top), own, live_state.read_latest(memory))


def places(memory: Memory, snapshot: Snapshot) -> Callable[[str], Place]:
    """Return a function that finds what a marker names: a page, a heading, a file or a folder.

    For the marker of the project (§1.0) the result includes what blocks all agents.
    """
    from memctl.pages import navigate

    @cache
    def renderer() -> Renderer:
        from memctl.write import documents  # Jinja takes 30 ms

        return documents.renderer(memory, snapshot)

    return lambda marker: with_blockers(memory, snapshot, navigate.find(snapshot, renderer, marker))


def with_blockers(memory: Memory, snapshot: Snapshot, place: Place) -> Place:
    """Return the project's page (level 1) with a list at its end of what blocks all agents; any other place unchanged.

    The rendered documents can't have this list: blockers are in the coordination state, which changes without a commit
    of the branch.
    """
    texts = blockers(memory) if place.marker == pages.PROJECT_ID and snapshot.source == "disk" else []
    if not texts:
        return place
    lines = "\n".join(f"- {inline(line)}" for line in texts)
    return msgspec.structs.replace(place, text=f"{place.text.rstrip()}\n\n**Blocked for all agents**:\n\n{lines}\n")


def blockers(memory: Memory) -> list[str]:
    """Return what blocks all agents, each as "text (agent, date)", such as "CI is down (claude, 2025-11-04)".

    Returns [] if the agents have no coordination state, or if it can't be read.
    """
    try:
        if not memory.repository.tip(ref(memory)):
            return []  # agents share no state, as in most clones
        from memctl.team import ref_state

        blockers_now = ref_state.read(memory).state.global_blockers.values()
    except MemctlError:
        return []  # `memctl team` reports the error
    ordered = sorted(blockers_now, key=lambda blocker: blocker.since)
    return [f"{blocker.text} ({blocker.agent_id}, {blocker.since[:10]})" for blocker in ordered]


_ByReference = dict[str, dict[str, str]]  # what became of code, by a record's path and its reference
_SHOWN = 10  # digits of a commit's id; two ids match by chance once in a million million
_SHARED = 5  # records that a commit brings, from which on it says nothing about one of them
_UNKNOWN = "unknown: Git can't read the history here"
_EARLIER, _EDITED = " or earlier (this clone is shallow)", " (edited since)"


def origins_of(
    memory: Memory, snapshot: Snapshot, records: Iterable[Record], at: str | None
) -> dict[str, RecordOrigin]:
    """Return the last commit of each record, by path, and what has changed since in the code that it refers to.

    A record refers to code by its field of code references. `at` is the revision to look at, None for the worktree.
    """
    wanted = {memory.tracked(record.path): record for record in records}
    if any(record.code_refs for record in wanted.values()):
        memory.repository.objects.start()  # Git starts while the cache is read
    try:
        commits = last_commits(memory, list(wanted), at)
        referring = [record for path, record in wanted.items() if record.code_refs and path in commits]
        last = {wanted[path].path: commit.commit for path, commit in commits.items()}
        drift, moved = _code(memory, snapshot, referring, last, at)
    except git.GitFailed:  # a partial clone lacks the history
        return {record.path: RecordOrigin(_UNKNOWN) for record in wanted.values()}
    signed = signatures(memory, wanted) if at is None else {}
    brought = Counter((commit.commit, wanted[path].agent_id) for path, commit in commits.items())
    return {
        r.path: RecordOrigin(
            _name(commits.get(path)),
            *signed.get(path, ("", "")),
            drift.get(r.path, {}),
            moved.get(r.path, {}),
            path in commits and brought[commits[path].commit, r.agent_id] >= _SHARED,
        )
        for path, r in wanted.items()
    }


def _name(last: LastCommit | None) -> str:
    """Return the text by which a pack names a commit, such as "3f2a9c01d4 (edited since)"."""
    if last is None:
        return "none yet"
    remarks = [_EARLIER] if last.is_boundary else []
    remarks += [_EDITED] if last.is_edited else []
    return last.commit[:_SHOWN] + "".join(remarks)


def last_change_times(memory: Memory, records: Iterable[Record], at: str | None) -> dict[str, str]:
    """Return when each record was last committed, as a canonical time by the record's path.

    A record with uncommitted changes has the current time. `at` is the revision to look at, None for the worktree. The
    result is {} if the clone lacks the history.
    """
    paths = {memory.tracked(record.path): record.path for record in records}
    if not paths:
        return {}
    try:
        commits = last_commits(memory, paths, at)
    except git.GitFailed:  # a partial clone lacks the history
        return {}
    dates = {path: timestamps.from_epoch(commit.seconds) for path, commit in commits.items() if not commit.is_edited}
    now = memory.now
    return {path: dates.get(tracked, now) for tracked, path in paths.items()}


def _code(
    memory: Memory, snapshot: Snapshot, records: Sequence[Record], commits: dict[str, str], at: str | None
) -> tuple[_ByReference, _ByReference]:
    """Return what became of the code that records refer to since they were committed; `commits` are by their paths.

    The results are as `drift` and `moved` of RecordOrigin, by the records' paths.

    A renamed file is followed. Of a reference to lines only these lines count, with the definition around them.
    """
    drift: _ByReference = {}
    moved: _ByReference = {}
    if not records:
        return drift, moved
    places = {(record.path, ref): pages.code_path(ref) for record in records for ref in record.code_refs}
    before = trees.blob_ids_at(memory.repository, [(commits[record], path) for (record, _), path in places.items()])
    now = snapshot.files.contents(places.values(), frozenset(before.values()))
    gone = {key for key, path in places.items() if path not in now and (commits[key[0]], path) in before}
    others = {key: path for key, path in places.items() if path not in now and key not in gone}
    lost_folders = _lost_folders(memory, snapshot, others, commits) if others else set()
    gone |= lost_folders
    missing = {places[key] for key in gone}
    renamed: dict[str, str] = {}
    if gone:
        from memctl.pages import renamed_files  # mostly no file is gone

        renamed = renamed_files.present_paths(memory, snapshot, missing, {commits[record] for record, _ in gone}, at)
    if paths := [new for key in gone if (new := renamed.get(places[key]))]:
        now |= snapshot.files.contents(paths, frozenset(before.values()))
    for (record, reference), path in places.items():
        then, new = before.get((commits[record], path)), path
        is_lost = (record, reference) in lost_folders
        if (record, reference) in gone and (renamed.get(path) in now or (is_lost and path in renamed)):
            new = renamed[path]
            moved.setdefault(record, {})[reference] = new
        if new in now:
            is_same = then is None or then == now[new] or _is_same_there(memory, then, new, now[new], reference, at)
            state = "" if is_same else items.CHANGED
        else:
            is_gone = (then is not None and path not in snapshot.withheld.files) or (is_lost and new == path)
            state = items.GONE if is_gone else ""  # otherwise it is a folder, or never existed
        if state:
            drift.setdefault(record, {})[reference] = state
    return drift, moved


def _lost_folders(
    memory: Memory, snapshot: Snapshot, places: Mapping[tuple[str, str], str], commits: Mapping[str, str]
) -> set[tuple[str, str]]:
    """Return those references that name a folder which the commit of the record has, and which does not exist now.

    `places` has the path of each reference, by the record's path and the reference; `commits` are by records' paths.
    """
    folders = {key: path.rstrip("/") for key, path in places.items()}
    names = snapshot.files.containing(set(folders.values())).union(snapshot.withheld.files)
    lost = [key for key, folder in folders.items() if not repository_paths.is_folder(names, folder)]
    before = memory.repository.objects.read([f"{commits[key[0]]}:{folders[key]}/" for key in lost])
    return {key for key, tree in zip(lost, before, strict=True) if tree}


def _is_same_there(memory: Memory, then: str, path: str, blob: str, reference: str, at: str | None) -> bool:
    """Return whether a reference names lines of a changed file that are as they were; nothing is fetched for it."""
    lines = pages.code_lines(reference)
    if lines is None or memory.repository.is_partial:
        return False
    from memctl.pages import code_drift  # most references name no lines

    old = trees.blobs(memory.repository, [then], files.MAX_BYTES)[then]
    try:
        if at is None:
            with open(memory.repository.top / path, "rb") as stream:
                new: bytes | None = stream.read(files.MAX_BYTES)
        else:
            new = trees.blobs(memory.repository, [blob], files.MAX_BYTES)[blob]
    except OSError:
        return False
    texts = [(text or b"").decode(errors="replace").replace("\r\n", "\n") for text in (old, new)]
    return code_drift.is_unchanged(texts[0], texts[1], lines[1])
