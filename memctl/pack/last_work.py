"""Where work was left: the result of the last session, a checkpoint that nobody has taken up, the tasks under way.

What a session decided in words and nobody recorded is on its page alone: packs give it on, and say what is to be
done to keep it.
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
from memctl.text.fit import cut_at_word
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import first_sentence, one_line

if TYPE_CHECKING:
    from memctl.search.ranking import Result

PRIOR = PackPart("session", "Prior session context")  # the heading that rules.md#session-summary has
WORK = 1_500  # tokens of all of it
_SHARE = 3  # and no more than this part of a budget
_LEFT = 0.6  # of it for the last session and a checkpoint, the rest for the tasks under way
_LONGEST = 300  # characters of a line
_MOST = {"in_progress": 3, "next_actions": 5, "planned": 3, "open_errors": 5, "critical_decisions": 8}  # lines of parts
_OPEN = "open: "  # how an error begins that nothing has put right
_LOOKED_AT = 3  # sessions in which something may wait that nobody recorded; those before the last get a line each
_BRIEF = 90  # characters of what such a line says a session was for, and of what it decided
_WAITING = {DECISIONS: "decision", LEARNINGS: "learning"}
_WORDS = lazy_regex(r"\w+")


class Ended(msgspec.Struct, frozen=True):
    """A session that has a page: where that is, when the session began and ended (canonical UTC, "" if not known)."""

    path: str
    started: str
    ended: str


def room(budget: int, most: int = WORK) -> int:
    """Return the tokens of a budget that are for where work was left."""
    return min(most, budget // _SHARE)


def sessions(snapshot: Snapshot) -> list[Ended]:
    """Return the sessions that have a page, the latest end first; a page that does not say when is passed over."""
    found = []
    for path in filter(session_page.is_page, snapshot.names(session_page.FOLDER)):
        try:
            values, _ = frontmatter.read(snapshot.read(path))
            ended, started = values.get("ended") or values.get("summarized"), values.get("started")
            if isinstance(ended, str):
                began = timestamps.parse(started) if isinstance(started, str) else ""
                found.append(Ended(path, began, timestamps.parse(ended)))
        except (InvalidRecord, FrontMatterError, OSError, ValueError):
            continue
    return sorted(found, key=lambda one: (one.ended, one.path), reverse=True)


def pages(snapshot: Snapshot, found: Iterable[Ended]) -> Iterator[SessionPage]:
    """Yield the pages of sessions, as far as they can be read."""
    for one in found:
        try:
            yield session_page.parse(snapshot.read(one.path), one.path)
        except (InvalidRecord, OSError):
            continue


def collect(
    snapshot: Snapshot, ended: Sequence[Ended], limit: int, count: CountTokens, *, is_resumed: bool = False
) -> list[Item]:
    """Return the last session and a pending checkpoint, in a share of `limit` tokens that leaves room for tasks.

    With `is_resumed` the reader knows the checkpoint already, and gets only what the session did after it.
    """
    limit = int(limit * _LEFT)
    saved = pending(snapshot, ended)
    if is_resumed:
        given = saved or TaskState()
        known = list(filter(None, (given.goal, *given.decisions, *given.errors, *given.next_actions)))
        newer = [_of_session(snapshot, [page], limit, count, known) for page in pages(snapshot, ended[:1])]
        return fitting([item for item in newer if item.body.strip()], limit, count)
    found = [] if saved is None else fitting([_of_checkpoint(snapshot, saved, count)], limit, count)
    latest = list(pages(snapshot, ended[:_LOOKED_AT]))
    room = limit - sum(count(markdown_item(item)) for item in found)
    last = [item for item in ([_of_session(snapshot, latest, room, count)] if latest else []) if item.body.strip()]
    return fitting([*last, *found], limit, count)


def prior(
    snapshot: Snapshot, limit: int, count: CountTokens, ranked: Sequence[Result] = (), globs: Sequence[str] = ()
) -> list[Item]:
    """Return the last session and a pending checkpoint, then those that bear on a task, in at most `limit` tokens.

    `ranked` is what search found for the task. With globs only sessions that changed a file which these cover.
    """
    ended = [one for one in sessions(snapshot) if not globs or _has_changed(snapshot, one, globs)]
    last = collect(snapshot, ended, int(limit / _LEFT), count)
    bearing = [items.of_result(snapshot, one) for one in items.places(ranked) if one.kind != "page"]
    known = {item.id for item in last}
    return fitting([*last, *(item for item in bearing if item.id not in known)], limit, count)


def _has_changed(snapshot: Snapshot, one: Ended, globs: Sequence[str]) -> bool:
    """Return whether a session changed a file that globs cover."""
    from memctl.pages import repository_paths  # most packs are of no section

    return bool(repository_paths.matching(sorted(files(snapshot, [one])), globs))


def pending(snapshot: Snapshot, ended: Sequence[Ended]) -> Checkpoint | None:
    """Return the checkpoint saved last, if it is not finished and no other session has begun and ended since."""
    last = next(iter(checkpoints(snapshot)), None)
    return last if last is not None and is_pending(last, ended) else None


def is_pending(saved: Checkpoint, ended: Sequence[Ended]) -> bool:
    """Return whether work goes on from a checkpoint: it is not finished, and no other session has begun and ended
    since."""
    return not saved.is_finished and not any(one.started > saved.saved_at for one in ended)


def checkpoints(snapshot: Snapshot) -> list[Checkpoint]:
    """Return the newest checkpoint of each workflow, the one saved last first."""
    found = {version.workflow for path in snapshot.names(checkpoint.FOLDER) if (version := checkpoint.version_at(path))}
    if not found:
        return []
    from memctl.task import versions  # most memories have none

    saved = [one for workflow in found if (one := versions.newest_of(snapshot, workflow)) is not None]
    return sorted(saved, key=lambda one: (one.saved_at, one.checkpoint_id), reverse=True)


def by_last_work(states: Iterable[Record], worked: Mapping[str, str]) -> list[Record]:
    """Tasks, the one worked on last first; `worked` says when a record was changed last, by its path."""
    ordered = sorted(states, key=lambda record: (record.timestamp, record.id, record.path), reverse=True)
    return sorted(ordered, key=lambda record: worked.get(record.path, record.timestamp), reverse=True)


def files(snapshot: Snapshot, ended: Sequence[Ended]) -> set[str]:
    """Return the files of the repository that the last session changed."""
    return {row.path for page in pages(snapshot, ended[:1]) for row in page.files.get(session_page.CHANGED, ())}


def fitting(found: Iterable[Item], limit: int, count: CountTokens) -> list[Item]:
    """Return those of some items, the first first, that take no more than `limit` tokens together."""
    kept: list[Item] = []
    for item in found:
        cost = count(markdown_item(item))
        if cost <= limit:
            limit -= cost
            kept.append(item)
    return kept


def _of_checkpoint(snapshot: Snapshot, saved: Checkpoint, count: CountTokens) -> Item:
    """Return a checkpoint in a few lines: where to begin, and what has the whole of it."""
    begun = [name for name in ("in_progress", "next_actions") if getattr(saved, name)] or ["planned"]
    title = f"Checkpoint not taken up: {first_sentence(saved.goal) or saved.workflow_id}"
    how = f"`memctl checkpoint resume {saved.checkpoint_id}` has the whole of it.\n"
    facts = (("date", saved.saved_at), ("by", saved.saved_by))
    item = Item("checkpoint", saved.checkpoint_id, title, how, facts, saved.checkpoint_id)
    return _filled(snapshot, item, saved, begun, WORK, count)


def _of_session(
    snapshot: Snapshot, latest: Sequence[SessionPage], limit: int, count: CountTokens, known: Sequence[str] = ()
) -> Item:
    """Return the page of the last session in at most `limit` tokens if that has room for what it was for: what comes
    next, what failed, what was decided; behind it what nobody recorded, and a line on each session before it.

    With what is `known` of it, only the lines that say none of that.
    """
    page = latest[0]

    def lines(heading: str, start: str = "") -> tuple[str, ...]:
        found = (line.removeprefix(start) for line in page.lines.get(heading, ()) if line.startswith(start))
        return tuple(line for line in found if not any(text in line for text in known))

    state = TaskState(
        goal="" if known else next(iter(page.lines.get(INTENT, ())), ""),
        next_actions=lines(NEXT),
        errors=lines(ERRORS, _OPEN),
        decisions=lines(DECISIONS),
    )
    waiting = "" if known else _waiting(latest, snapshot.catalogue)
    before = [f"- {_brief(one, snapshot.catalogue)}\n" for one in latest[1:]]
    facts = (("date", str(page.values.get("ended") or page.values.get("summarized") or "")),
             ("by", str(page.values.get("agent_id") or "")))  # fmt: skip
    given = tuple(fact for fact in facts if fact[1])
    for number in range(len(before), -1, -1):
        body = f"{cut_at_word(state.goal, _LONGEST)}\n\n" if state.goal else ""
        body += f"## Not recorded\n\n{waiting}\n\n" if waiting else ""
        body += f"## Sessions before it\n\n{''.join(before[:number])}" if number else ""
        item = Item("session", page.id, f"Session {page.id}", body, given, f"session {page.id}")
        if count(markdown_item(item)) <= limit:
            break
    return _filled(snapshot, item, state, list(_MOST), limit, count)


def _filled(
    snapshot: Snapshot, item: Item, state: TaskState, names: Sequence[str], limit: int, count: CountTokens
) -> Item:
    """Return an item with parts of a state between the beginning of its text and the headings of that: as many of their
    lines, the most important first, as make it no longer than `limit` tokens."""
    from memctl.task.parts import parts

    start, mark, end = item.body.partition("\n## ")
    chosen: list[list[str]] = []
    made = item
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
                made = longer
            else:
                chosen[-1].pop()
    return msgspec.structs.replace(made, body=items.screened(snapshot, made.body))


def _brief(page: SessionPage, catalogue: Catalogue) -> str:
    """Return one line on a session: what it was for, what it decided last that no record says, and where to read on."""
    parts = [cut_at_word(first_sentence(line), _BRIEF) for line in page.lines.get(INTENT, ())[:1]]
    if decided := page.lines.get(DECISIONS, ()):
        recorded = tuple(map(_key, catalogue.titles("decision")))
        left = [line for line in decided if not _key(line).startswith(recorded)]
        parts += [f"decided: {cut_at_word(line, _BRIEF)}" for line in left[-1:]]
    return "; ".join([*(part.rstrip(". ") for part in parts), f"`memctl session show {page.id}`"])


def _waiting(latest: Sequence[SessionPage], catalogue: Catalogue) -> str:
    """Return how much the last sessions decided and learned that no record says, and how to record it; ""
    if nothing."""
    counts = {}
    for heading, name in _WAITING.items():
        if found := [_key(line) for page in latest for line in page.lines.get(heading, ())]:
            known = tuple(map(_key, catalogue.titles(name)))
            counts[name] = sum(not line.startswith(known) for line in found)
    missing = [f"{number} {name}{'s' if number != 1 else ''}" for name, number in counts.items() if number]
    if not missing:
        return ""
    of = "this session" if len(latest) == 1 else f"the last {len(latest)} sessions"
    how = "`memctl session summarize -t TRANSCRIPT --review` proposes them as records, `--accept N` makes one"
    return f"{' and '.join(missing)} of {of}: {how}."


def _key(text: str) -> str:
    """Return what makes two titles the same: their words."""
    return " ".join(_WORDS.findall(text.casefold()))
