"""Find where work stopped: the live state to go on from, the last sessions' pages, and current tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from memctl.pack import items, work_text
from memctl.pack.budget_fill import CountTokens
from memctl.pack.draft import Item, PackPart
from memctl.pack.formats.markdown import markdown_item
from memctl.pack.items import ANYWHERE, Worktree
from memctl.pack.work_text import Work
from memctl.record import checkpoint, frontmatter, session_page
from memctl.record.checkpoint import Checkpoint
from memctl.record.errors import FrontMatterError, InvalidRecord
from memctl.record.record import Record
from memctl.record.session_page import SessionPage
from memctl.record.snapshot import Snapshot
from memctl.task import live_state
from memctl.text import timestamps

if TYPE_CHECKING:
    from memctl.search.ranking import Result

PRIOR = PackPart("session", "Prior session context")  # the heading of rules.md#session-summary
WORK = 1_500  # tokens for the last session, a checkpoint and current tasks
_SHARE = 3  # they take at most this fraction of a budget (a third)
_LATEST = 20  # last sessions whose files and commands are told
_FEW = 3  # last pages that may say where work stands


class EndedSession(msgspec.Struct, frozen=True):
    """A session with a page: the page's path, and when the session started and ended.

    Times have the form "2025-11-04T14:32:00Z"; `started` is "" if unknown.
    """

    path: str
    started: str
    ended: str


def room(budget: int, most: int = WORK) -> int:
    """Return how many tokens of a pack may go to the last session, a checkpoint and current tasks, all together.

    The result is a third of `budget`, the pack's budget in tokens, but at most `most`.
    """
    return min(most, budget // _SHARE)


def sessions(snapshot: Snapshot) -> list[EndedSession]:
    """Return the sessions that have a page, the one that ended last first.

    A session is left out if its page does not say when it ended, or can't be read.
    """
    ended_sessions = []
    for path in filter(session_page.is_page, snapshot.names(session_page.FOLDER)):
        try:
            values, _ = frontmatter.read(snapshot.read(path))
            ended, started = values.get("ended") or values.get("summarized"), values.get("started")
            if isinstance(ended, str):
                began = timestamps.parse(started) if isinstance(started, str) else ""
                ended_sessions.append(EndedSession(path, began, timestamps.parse(ended)))
        except (InvalidRecord, FrontMatterError, OSError, ValueError):
            continue
    return sorted(ended_sessions, key=lambda session: (session.ended, session.path), reverse=True)


def pages(snapshot: Snapshot, ended: Iterable[EndedSession]) -> Iterator[SessionPage]:
    """Yield the pages of sessions with all their files; pages that can't be read are skipped."""
    for session in ended:
        try:
            page = session_page.parse(snapshot.read(session.path), session.path)
        except (InvalidRecord, OSError):
            continue
        with suppress(InvalidRecord, OSError):  # without the list of its files, a page has the latest of them
            if page.trail:
                page = session_page.with_trail(page, session_page.parse(snapshot.read(page.trail), page.trail))
        yield page


def collect(
    snapshot: Snapshot,
    ended: Sequence[EndedSession],
    limit: int,
    count: CountTokens,
    now: str,
    worktree: Worktree = ANYWHERE,
    *,
    with_checkpoint: bool = True,
) -> list[Item]:
    """Return where work stands as an item of a pack of at most `limit` tokens, as `count` counts them; [] for none.

    `ended` are the sessions with a page, the one that ended last first. `with_checkpoint` says whether a newer
    checkpoint may take the place of the last one.
    """
    work = find(snapshot, ended, worktree, with_checkpoint=with_checkpoint)
    name = work.state.key if work.state else work.pages[0].id if work.pages else ""
    item = Item("session", name, work_text.TITLE, key=f"session {name}")
    body = work_text.write(snapshot, work, now, limit - count(markdown_item(item)) - 2, count) if name else ""
    return [msgspec.structs.replace(item, body=items.screen(snapshot, body))] if body else []


def find(
    snapshot: Snapshot, ended: Sequence[EndedSession], worktree: Worktree, *, with_checkpoint: bool = True
) -> Work:
    """Return the work before a session: where it stands, and the pages of the last sessions, the latest first.

    Where it stands say the live states of the clone. A page or a checkpoint says it for a session of another clone or
    of an older memctl, whose live state is not here; `with_checkpoint` says whether a checkpoint may.
    """
    running = {state.key for state in worktree.states if state.is_running}
    latest = [page for page in pages(snapshot, ended[:_LATEST]) if page.id not in running]
    older = [*map(live_state.of_page, latest[:_FEW])]
    if with_checkpoint:
        older += map(live_state.of_checkpoint, checkpoints(snapshot))
    state = live_state.choose(worktree.states, older, worktree.branch, worktree.top)
    return Work(sorted(latest, key=lambda page: state is None or page.id != state.key), state, worktree)


def prior_work(
    snapshot: Snapshot,
    now: str,
    limit: int,
    count: CountTokens,
    ranked: Sequence[Result] = (),
    globs: Sequence[str] = (),
    *,
    with_checkpoint: bool = True,
) -> list[Item]:
    """Return, as items of a pack, the last session, a checkpoint to resume, and sessions and checkpoints about a task.

    All items take at most `limit` tokens. `ranked` are the search results for the task. `globs` are patterns of files:
    if there are any, the last session is the last one that changed a matching file. `with_checkpoint` says whether a
    checkpoint that is newer may take its place.
    """
    ended = [session for session in sessions(snapshot) if not globs or _has_changed(snapshot, session, globs)]
    last = collect(snapshot, ended, limit, count, now, with_checkpoint=with_checkpoint)
    bearing = [items.of_result(snapshot, result) for result in items.places(ranked) if result.kind != "page"]
    known = {item.id for item in last}
    return take_fitting([*last, *(item for item in bearing if item.id not in known)], limit, count)


def _has_changed(snapshot: Snapshot, session: EndedSession, globs: Sequence[str]) -> bool:
    """Return whether a session changed a file that matches the globs."""
    from memctl.pages import repository_paths  # most packs have no section

    return bool(repository_paths.matching(sorted(files(snapshot, [session])), globs))


def checkpoints(snapshot: Snapshot) -> list[Checkpoint]:
    """Return the newest checkpoint of each workflow, the one saved last first."""
    if not any(map(checkpoint.version_at, snapshot.names(checkpoint.FOLDER))):
        return []
    from memctl.task import checkpoints  # most memories have none

    return checkpoints.newest_of_each(snapshot)


def by_last_work(states: Iterable[Record], worked: Mapping[str, str]) -> list[Record]:
    """Sort tasks, the one worked on last first; `worked` maps the paths of tasks to the times of their last changes."""
    ordered = sorted(states, key=lambda record: (record.timestamp, record.id, record.path), reverse=True)
    return sorted(ordered, key=lambda record: worked.get(record.path, record.timestamp), reverse=True)


def files(snapshot: Snapshot, ended: Sequence[EndedSession]) -> set[str]:
    """Return the paths of the files that the last session changed; `ended` are the sessions, the last one first."""
    return {row.path for page in pages(snapshot, ended[:1]) for row in page.files.get(session_page.CHANGED, ())}


def take_fitting(candidates: Iterable[Item], limit: int, count: CountTokens) -> list[Item]:
    """Return the items that fit into `limit` tokens, taken in order; an item that does not fit is skipped."""
    fitting: list[Item] = []
    for item in candidates:
        cost = count(markdown_item(item))
        if cost <= limit:
            limit -= cost
            fitting.append(item)
    return fitting
