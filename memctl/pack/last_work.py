"""Where work stands: what the last session came to, a checkpoint that nobody has taken up, the tasks under way.

What a session decided in words and nobody recorded stands on its page alone: packs give it on, and say what is to be
done to keep it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from memctl.pack import items
from memctl.pack.draft import Item, PackPart
from memctl.pack.filling import CountTokens
from memctl.pack.formats.markdown import markdown_item
from memctl.record import checkpoint, frontmatter, session_page, timestamps
from memctl.record.checkpoint import Checkpoint
from memctl.record.errors import InvalidRecord, Malformed
from memctl.record.record import Record
from memctl.record.session_page import DECISIONS, ERRORS, INTENT, LEARNINGS, NEXT, SessionPage
from memctl.record.snapshot import Snapshot
from memctl.record.source import Catalogue
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import first_sentence, one_line

if TYPE_CHECKING:
    from memctl.search.ranking import Result

PRIOR = PackPart("session", "Prior session context")  # the heading that rules.md#session-summary has
WORK = 1_500  # tokens of all that stands here
_SHARE = 3  # and no more than this part of a budget
_LEFT = 0.6  # of it for the last session and a checkpoint, the rest for the tasks under way
_LONGEST = 300  # characters of a line of a session's page
_MOST = {NEXT: 5, ERRORS: 5, DECISIONS: 8}  # lines of a session, the first that are given up come last
_TITLES = {INTENT: "Intent", DECISIONS: "Decided", ERRORS: "Open errors", NEXT: "Next steps"}
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
    """What of a budget is for where work stands."""
    return min(most, budget // _SHARE)


def sessions(snapshot: Snapshot) -> list[Ended]:
    """The sessions that have a page, the one that ended last first; a page that does not say when is passed over."""
    found = []
    for path in filter(session_page.is_page, snapshot.names(session_page.FOLDER)):
        try:
            values, _ = frontmatter.read(snapshot.read(path))
            ended, started = values.get("ended") or values.get("summarized"), values.get("started")
            if isinstance(ended, str):
                began = timestamps.parse(started) if isinstance(started, str) else ""
                found.append(Ended(path, began, timestamps.parse(ended)))
        except (InvalidRecord, Malformed, OSError, ValueError):
            continue
    return sorted(found, key=lambda one: (one.ended, one.path), reverse=True)


def pages(snapshot: Snapshot, found: Iterable[Ended]) -> Iterator[SessionPage]:
    """The pages of sessions, as far as they can be read."""
    for one in found:
        try:
            yield session_page.parse(snapshot.read(one.path), one.path)
        except (InvalidRecord, OSError):
            continue


def left(snapshot: Snapshot, ended: Sequence[Ended], limit: int, count: CountTokens) -> list[Item]:
    """The last session and a pending checkpoint, in so much of `limit` tokens that there is room for tasks beside."""
    found: list[Item] = []
    limit = int(limit * _LEFT)
    if (saved := pending(snapshot, ended)) is not None:
        made = _checkpoint(snapshot, saved)
        cost = count(markdown_item(made))
        found, limit = ([made], limit - cost) if cost <= limit else ([], limit)
    latest = list(pages(snapshot, ended[:_LOOKED_AT]))
    if latest and (item := _session(snapshot, latest, limit, count)) is not None:
        found.insert(0, item)
    return found


def prior(
    snapshot: Snapshot, limit: int, count: CountTokens, ranked: Sequence[Result] = (), globs: Sequence[str] = ()
) -> list[Item]:
    """The last session and a pending checkpoint, then those that bear on a task, in at most `limit` tokens.

    `ranked` is what search found for the task. With globs only sessions that changed a file which these cover.
    """
    ended = [one for one in sessions(snapshot) if not globs or _has_changed(snapshot, one, globs)]
    last = left(snapshot, ended, int(limit / _LEFT), count)
    bearing = [items.of_result(snapshot, one) for one in items.places(ranked) if one.kind != "page"]
    known = {item.id for item in last}
    return fitting([*last, *(item for item in bearing if item.id not in known)], limit, count)


def _has_changed(snapshot: Snapshot, one: Ended, globs: Sequence[str]) -> bool:
    """Whether a session changed a file that globs cover."""
    from memctl.pages import repository_paths  # most packs are of no section

    return bool(repository_paths.matching(sorted(files(snapshot, [one])), globs))


def pending(snapshot: Snapshot, ended: Sequence[Ended]) -> Checkpoint | None:
    """The checkpoint saved last, if it is not finished and no other session has begun and ended since."""
    last = next(iter(checkpoints(snapshot)), None)
    return last if last is not None and is_pending(last, ended) else None


def is_pending(saved: Checkpoint, ended: Sequence[Ended]) -> bool:
    """Whether work goes on from a checkpoint: it is not finished, and no other session has begun and ended since."""
    return not saved.is_finished and not any(one.started > saved.saved_at for one in ended)


def checkpoints(snapshot: Snapshot) -> list[Checkpoint]:
    """The newest checkpoint of each workflow, the one saved last first."""
    newest: dict[str, tuple[checkpoint.Version, str]] = {}
    for path in snapshot.names(checkpoint.FOLDER):
        version = checkpoint.version_at(path)
        if version is not None and (version.workflow not in newest or newest[version.workflow][0] < version):
            newest[version.workflow] = version, path
    saved = []
    for _, path in newest.values():
        try:
            saved.append(checkpoint.parse(snapshot.read(path), path))
        except (InvalidRecord, OSError):
            continue
    return sorted(saved, key=lambda one: (one.saved_at, one.checkpoint_id), reverse=True)


def by_last_work(states: Iterable[Record], worked: Mapping[str, str]) -> list[Record]:
    """Tasks, the one worked on last first; `worked` says when a record was changed last, by its path."""
    ordered = sorted(states, key=lambda record: (record.timestamp, record.id, record.path), reverse=True)
    return sorted(ordered, key=lambda record: worked.get(record.path, record.timestamp), reverse=True)


def files(snapshot: Snapshot, ended: Sequence[Ended]) -> set[str]:
    """The files of the repository that the last session changed."""
    return {row.path for page in pages(snapshot, ended[:1]) for row in page.files.get(session_page.CHANGED, ())}


def fitting(found: Iterable[Item], limit: int, count: CountTokens) -> list[Item]:
    """Those of some items, the first first, that take no more than `limit` tokens together."""
    kept: list[Item] = []
    for item in found:
        cost = count(markdown_item(item))
        if cost <= limit:
            limit -= cost
            kept.append(item)
    return kept


def _checkpoint(snapshot: Snapshot, saved: Checkpoint) -> Item:
    lines = [*saved.in_progress[:3], *saved.next_actions[:3]] or [*saved.planned[:3]]
    body = "\n".join(f"- {one_line(line)[:_LONGEST]}" for line in dict.fromkeys(lines))
    how = f"`memctl checkpoint resume {saved.checkpoint_id}` has the whole of it."
    facts = (("date", saved.saved_at), ("by", saved.saved_by))
    title = f"Checkpoint not taken up: {first_sentence(saved.goal) or saved.workflow_id}"
    body = items.screened(snapshot, f"{body}\n\n{how}\n".lstrip())
    return Item("checkpoint", saved.checkpoint_id, title, body, facts, saved.checkpoint_id)


def _session(snapshot: Snapshot, latest: Sequence[SessionPage], limit: int, count: CountTokens) -> Item | None:
    """The page of the last session in at most `limit` tokens: first what for, then what next, what failed, what was
    decided; None if not even the first has room."""
    page = latest[0]
    lines = {INTENT: [line[:_LONGEST] for line in page.lines.get(INTENT, ())[:1]], NEXT: [], ERRORS: [], DECISIONS: []}
    candidates = [(heading, line) for heading, most in _MOST.items() for line in _lines(page, heading, most)]
    waiting, before = _waiting(latest, snapshot.catalogue), [_brief(one) for one in latest[1:]]
    made = _item(page, lines, waiting, before)
    while before and count(markdown_item(made)) > limit:
        before.pop()
        made = _item(page, lines, waiting, before)
    if count(markdown_item(made)) > limit:
        return None
    for heading, line in candidates:
        lines[heading].append(line)
        longer = _item(page, lines, waiting, before)
        if count(markdown_item(longer)) <= limit:
            made = longer
        else:
            lines[heading].pop()
    made = msgspec.structs.replace(made, body=items.screened(snapshot, made.body))
    return made if (any(lines.values()) or waiting) and count(markdown_item(made)) <= limit else None


def _lines(page: SessionPage, heading: str, most: int) -> list[str]:
    """The lines of a section that count: of errors the open ones, of decisions and errors the latest."""
    found = list(page.lines.get(heading, ()))
    if heading == ERRORS:
        found = [line.removeprefix(_OPEN) for line in found if line.startswith(_OPEN)]
    found = found[:most] if heading == NEXT else found[-most:]
    return [_cut(line, _LONGEST) for line in found]


def _cut(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[: most - 2].rstrip()} …"


def _brief(page: SessionPage) -> str:
    """One line on a session: what it was for, what it decided last, and where to read on."""
    decided = page.lines.get(DECISIONS, ())[-1:]
    parts = [_cut(first_sentence(line), _BRIEF) for line in page.lines.get(INTENT, ())[:1]]
    parts += [f"decided: {_cut(line, _BRIEF)}" for line in decided]
    told = [part.rstrip(". ") for part in parts]
    return "; ".join([*told, f"`memctl session show {page.id}`"])


def _item(page: SessionPage, lines: Mapping[str, Sequence[str]], waiting: str, before: Sequence[str]) -> Item:
    parts = []
    for heading, title in _TITLES.items():
        if found := lines[heading]:
            text = "\n".join(found if heading == INTENT else (f"- {line}" for line in found))
            parts.append(f"## {title}\n\n{text}\n")
    if waiting:
        parts.append(f"## Not recorded\n\n{waiting}\n")
    if before:
        parts.append("## Sessions before it\n\n" + "".join(f"- {line}\n" for line in before))
    ended = str(page.values.get("ended") or page.values.get("summarized") or "")
    facts = (("date", ended), ("by", str(page.values.get("agent_id") or "")))
    told = tuple(fact for fact in facts if fact[1])
    return Item("session", page.id, f"Session {page.id}", "\n".join(parts), told, f"session {page.id}")


def _waiting(latest: Sequence[SessionPage], catalogue: Catalogue) -> str:
    """How much the last sessions decided and learned that no record says, and how to record it; "" if nothing."""
    counts = {}
    for heading, name in _WAITING.items():
        if found := [_key(line) for page in latest for line in page.lines.get(heading, ())]:
            known = tuple(map(_key, catalogue.titles(name)))
            counts[name] = sum(not line.startswith(known) for line in found)
    told = [f"{number} {name}{'s' if number != 1 else ''}" for name, number in counts.items() if number]
    if not told:
        return ""
    of = "this session" if len(latest) == 1 else f"the last {len(latest)} sessions"
    how = "`memctl session summarize -t TRANSCRIPT --review` proposes them as records, `--accept N` makes one"
    return f"{' and '.join(told)} of {of}: {how}."


def _key(text: str) -> str:
    """What makes two titles the same: their words."""
    return " ".join(_WORDS.findall(text.casefold()))
