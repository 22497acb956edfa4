"""Collect where work stopped: the last session's page, a checkpoint that nobody has resumed, and current tasks.

Decisions of a session that nobody has recorded are only on the session's page. So a pack shows them, with a command
that records them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from memctl.pack import items
from memctl.pack.budget_fill import CountTokens
from memctl.pack.draft import Item, PackPart
from memctl.pack.formats.markdown import markdown_item
from memctl.record import checkpoint, frontmatter, session_page
from memctl.record.checkpoint import Checkpoint
from memctl.record.errors import FrontMatterError, InvalidRecord
from memctl.record.record import Record
from memctl.record.session_page import DECISIONS, ERRORS, INTENT, LEARNINGS, NEXT, SessionPage
from memctl.record.snapshot import Snapshot
from memctl.record.source import Catalogue
from memctl.record.task_state import TaskState
from memctl.text import timestamps
from memctl.text.fit import cut_at_word, first_sentence
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line

if TYPE_CHECKING:
    from memctl.search.ranking import Result

PRIOR = PackPart("session", "Prior session context")  # the heading of rules.md#session-summary
WORK = 1_500  # tokens for the last session, a checkpoint and current tasks
_SHARE = 3  # they take at most this fraction of a budget (a third)
_LEFT = 0.6  # share of these tokens for the last session and a checkpoint; the tasks have the rest
_LONGEST = 300  # characters of a line
_MOST = {"in_progress": 3, "next_actions": 5, "planned": 3, "open_errors": 5, "critical_decisions": 8}  # lines of parts
_OPEN = "open: "  # the beginning of an unresolved error's line
_LOOKED_AT = 3  # last sessions that are searched for unrecorded decisions; each before the last one gets a line
_BRIEF = 90  # characters of the intent, and of the decision, in that line
_UNRECORDED = {DECISIONS: "decision", LEARNINGS: "learning"}
_WORDS = lazy_regex(r"\w+")


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
    """Yield the pages of sessions; pages that can't be read are skipped."""
    for session in ended:
        try:
            yield session_page.parse(snapshot.read(session.path), session.path)
        except (InvalidRecord, OSError):
            continue


def collect(
    snapshot: Snapshot, ended: Sequence[EndedSession], limit: int, count: CountTokens, *, is_resumed: bool = False
) -> list[Item]:
    """Return, as items of a pack, the last session and a checkpoint that nobody has resumed yet.

    `ended` are the sessions with a page, the one that ended last first. The items take at most 60 % of `limit` tokens,
    as `count` counts them; the caller uses the rest for current tasks.

    `is_resumed` says that the reader of the pack already has the text of the checkpoint. Then the result has only the
    last session, without the lines that the checkpoint has as well.
    """
    limit = int(limit * _LEFT)
    saved = pending(snapshot, ended)
    if is_resumed:
        state = saved or TaskState()
        known = list(filter(None, (state.goal, *state.decisions, *state.errors, *state.next_actions)))
        newer = [_of_session(snapshot, [page], limit, count, known) for page in pages(snapshot, ended[:1])]
        return take_fitting([item for item in newer if item.body.strip()], limit, count)
    resumable = [] if saved is None else take_fitting([_of_checkpoint(snapshot, saved, count)], limit, count)
    latest = list(pages(snapshot, ended[:_LOOKED_AT]))
    room = limit - sum(count(markdown_item(item)) for item in resumable)
    last = [item for item in ([_of_session(snapshot, latest, room, count)] if latest else []) if item.body.strip()]
    return take_fitting([*last, *resumable], limit, count)


def prior_work(
    snapshot: Snapshot, limit: int, count: CountTokens, ranked: Sequence[Result] = (), globs: Sequence[str] = ()
) -> list[Item]:
    """Return, as items of a pack, the last session, a checkpoint to resume, and sessions and checkpoints about a task.

    All items take at most `limit` tokens. `ranked` are the search results for the task. `globs` are patterns of files:
    if there are any, the last session is the last one that changed a matching file.
    """
    ended = [session for session in sessions(snapshot) if not globs or _has_changed(snapshot, session, globs)]
    last = collect(snapshot, ended, int(limit / _LEFT), count)
    bearing = [items.of_result(snapshot, result) for result in items.places(ranked) if result.kind != "page"]
    known = {item.id for item in last}
    return take_fitting([*last, *(item for item in bearing if item.id not in known)], limit, count)


def _has_changed(snapshot: Snapshot, session: EndedSession, globs: Sequence[str]) -> bool:
    """Return whether a session changed a file that matches the globs."""
    from memctl.pages import repository_paths  # most packs have no section

    return bool(repository_paths.matching(sorted(files(snapshot, [session])), globs))


def pending(snapshot: Snapshot, ended: Sequence[EndedSession]) -> Checkpoint | None:
    """Return the checkpoint saved last, if it is still to be resumed; otherwise None.

    It is not to be resumed if its task is finished, or if a session in `ended` started after the checkpoint was saved.
    """
    last = next(iter(checkpoints(snapshot)), None)
    return last if last is not None and is_pending(last, ended) else None


def is_pending(saved: Checkpoint, ended: Sequence[EndedSession]) -> bool:
    """Return whether a checkpoint is still to be resumed.

    This is so if its task is not finished, and if no session in `ended` started after the checkpoint was saved.
    """
    return not saved.is_finished and not any(session.started > saved.saved_at for session in ended)


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


def _of_checkpoint(snapshot: Snapshot, saved: Checkpoint, count: CountTokens) -> Item:
    """Return a checkpoint as a short item: its goal, its first steps, and the command that shows all of it."""
    begun = [name for name in ("in_progress", "next_actions") if getattr(saved, name)] or ["planned"]
    title = f"Checkpoint not resumed: {first_sentence(saved.goal) or saved.workflow_id}"
    how = f"`memctl checkpoint resume {saved.checkpoint_id}` shows the whole checkpoint.\n"
    facts = (("date", saved.saved_at), ("by", saved.saved_by))
    item = Item("checkpoint", saved.checkpoint_id, title, how, facts, saved.checkpoint_id)
    return _with_state(snapshot, item, saved, begun, WORK, count)


def _of_session(
    snapshot: Snapshot, latest: Sequence[SessionPage], limit: int, count: CountTokens, known: Sequence[str] = ()
) -> Item:
    """Return the page of the last session as an item of about `limit` tokens.

    It has the intent, next steps, open errors and decisions, then the number of unrecorded decisions, and a line for
    each earlier session of `latest`. Lines that contain a text of `known` are left out.
    """
    page = latest[0]

    def lines(heading: str, start: str = "") -> tuple[str, ...]:
        recorded = (line.removeprefix(start) for line in page.lines.get(heading, ()) if line.startswith(start))
        return tuple(line for line in recorded if not any(text in line for text in known))

    state = TaskState(
        goal="" if known else next(iter(page.lines.get(INTENT, ())), ""),
        next_actions=lines(NEXT),
        errors=lines(ERRORS, _OPEN),
        decisions=lines(DECISIONS),
    )
    waiting = "" if known else _unrecorded_note(latest, snapshot.catalogue)
    before = [f"- {_brief(earlier, snapshot.catalogue)}\n" for earlier in latest[1:]]
    ended = page.values.get("ended") or page.values.get("summarized")
    facts = items.facts_of({"date": ended, "by": page.values.get("agent_id")})
    for number in range(len(before), -1, -1):
        body = f"{cut_at_word(state.goal, _LONGEST)}\n\n" if state.goal else ""
        body += f"## Not recorded\n\n{waiting}\n\n" if waiting else ""
        body += f"## Sessions before it\n\n{''.join(before[:number])}" if number else ""
        item = Item("session", page.id, f"Session {page.id}", body, facts, f"session {page.id}")
        if count(markdown_item(item)) <= limit:
            break
    return _with_state(snapshot, item, state, list(_MOST), limit, count)


def _with_state(
    snapshot: Snapshot, item: Item, state: TaskState, names: Sequence[str], limit: int, count: CountTokens
) -> Item:
    """Return an item with parts of a task's state inserted before the first heading of its text.

    `names` are tags of parts. As many of their lines are inserted as fit, with the rest of the item, into `limit`
    tokens.
    """
    from memctl.task.parts import parts

    start, mark, end = item.body.partition("\n## ")
    chosen: list[list[str]] = []
    fitting = item
    for part in parts(state):
        if part.tag not in names:
            continue
        lines = part.lines[-_MOST[part.tag] :] if part.from_end else part.lines[: _MOST[part.tag]]
        chosen.append([f"## {part.title.partition(',')[0]}\n"])
        for line in lines:
            chosen[-1].append(f"- {cut_at_word(one_line(line.text), _LONGEST)}")
            text = "\n\n".join("\n".join(some) for some in chosen if some[1:])
            longer = msgspec.structs.replace(item, body=f"{start.rstrip()}\n\n{text}\n{mark}{end}".lstrip("\n"))
            if count(markdown_item(longer)) <= limit:
                fitting = longer
            else:
                chosen[-1].pop()
    return msgspec.structs.replace(fitting, body=items.screen(snapshot, fitting.body))


def _brief(page: SessionPage, catalogue: Catalogue) -> str:
    """Return a line on a session: its intent, its last unrecorded decision, and the command that shows its page."""
    parts = [cut_at_word(first_sentence(line), _BRIEF) for line in page.lines.get(INTENT, ())[:1]]
    if decided := page.lines.get(DECISIONS, ()):
        recorded = tuple(map(_key, catalogue.titles("decision")))
        left = [line for line in decided if not _key(line).startswith(recorded)]
        parts += [f"decided: {cut_at_word(line, _BRIEF)}" for line in left[-1:]]
    return "; ".join([*(part.rstrip(". ") for part in parts), f"`memctl session show {page.id}`"])


def _unrecorded_note(latest: Sequence[SessionPage], catalogue: Catalogue) -> str:
    """Return a sentence with the number of unrecorded decisions and learnings of sessions, and how to record them.

    Returns "" if there are none.
    """
    counts = {}
    for heading, name in _UNRECORDED.items():
        if lines := [_key(line) for page in latest for line in page.lines.get(heading, ())]:
            known = tuple(map(_key, catalogue.titles(name)))
            counts[name] = sum(not line.startswith(known) for line in lines)
    missing = [f"{number} {name}{'s' if number != 1 else ''}" for name, number in counts.items() if number]
    if not missing:
        return ""
    of = "this session" if len(latest) == 1 else f"the last {len(latest)} sessions"
    how = "`memctl session summarize -t TRANSCRIPT --review` proposes them as records, `--accept N` records proposal N"
    return f"{' and '.join(missing)} of {of}: {how}."


def _key(text: str) -> str:
    """Return the words of a text in lower case, by which titles are compared."""
    return " ".join(_WORDS.findall(text.casefold()))
