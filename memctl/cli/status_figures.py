"""The state of a project in figures: progress of sections, open records, agents at work, size of a pack."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click
import msgspec

from memctl.cli import output, terminal
from memctl.errors import MemctlError
from memctl.git.status import marks
from memctl.record.kinds import KINDS, SESSIONS, SEVERITIES
from memctl.record.snapshot import Snapshot
from memctl.store import files, sessions_ref
from memctl.store.memory import Memory
from memctl.text.fit import cut_at_word, first_sentence
from memctl.text.markdown import one_line, without_escapes
from memctl.text.phrases import quantity

if TYPE_CHECKING:
    from memctl.record.pages import Page
    from memctl.task.live_state import LiveState

SEVERITY_COLOURS = {"critical": "red", "high": "yellow", "medium": "cyan", "low": "white"}
_PROGRESS = ((75, "green"), (40, "yellow"), (0, "red"))  # least percentage, colour
_AGENTS = 5  # agents to name
_INTENT = 90  # characters of a session's intent
# Bytes of open records' files per token of a pack with all of them: 2.9 in the example, 3.0 in memctl's own memory.
_BYTES_PER_TOKEN = 3
_FIGURES, _OF_PAGES = b"figures of records 5, %d", b"figures of pages 3"  # the keys under which they are cached


class Bars(msgspec.Struct, frozen=True):
    """How bars of progress are drawn.

    `cells` is the length of a bar in characters, `width` that of a whole line. `done` and `rest` are the characters for
    the part that is done and for the rest.
    """

    cells: int = 20
    width: int = 80
    done: str = "#"
    rest: str = "."

    @staticmethod
    def of_terminal() -> Bars:
        """Return bars that fit the width of the terminal, and use only ASCII if its encoding needs that."""
        width = min(terminal.size().columns, 100) if sys.stdout.isatty() else 80
        is_unicode = (getattr(sys.stdout, "encoding", "") or "").lower().replace("-", "") == "utf8"
        return Bars(max(6, min(20, width // 4)), width, *("\u2588\u2591" if is_unicode else "#."))

    def bar(self, percent: int) -> str:
        """Return a bar for a percentage, in colour on a terminal: "####...... 40 %"."""
        filled = round(self.cells * min(percent, 100) / 100)
        colour = next(colour for least, colour in _PROGRESS if percent >= least)
        return f"{click.style(self.done * filled, fg=colour)}{self.rest * (self.cells - filled)} {percent:>3} %"

    def cut(self, text: str, width: int) -> str:
        """Return a text cut to about `width` characters, with `...` at its end if it was longer."""
        return text if len(text) <= width else f"{text[: max(width - 3, 1)]}..."


def figures_of(memory: Memory, snapshot: Snapshot, *, is_now: bool) -> dict[str, Any]:
    """Return the figures of a snapshot, as `memctl status --json` prints them.

    `is_now` says whether the snapshot is that of the disk, and not of an earlier revision.
    """
    figures = _of_records(memory, snapshot)
    size, budget = figures.pop("size"), memory.config.rehydrate_budget
    pages = (_cached_pages(memory, snapshot) if is_now else None) or _of_pages(memory, snapshot, is_now=is_now)
    if is_now:
        told = (pages["last_session"], _last_session(_live(memory)))
        pages["last_session"] = max(filter(None, told), key=lambda one: one["ended"], default=None)
    return pages | figures | {"pack": {"tokens": min(round(size / _BYTES_PER_TOKEN), budget), "budget": budget}}


def _cached_pages(memory: Memory, snapshot: Snapshot) -> dict[str, Any] | None:
    """Return the cached figures of the pages; None if there are none, or a file has changed since."""
    if (stored := snapshot.catalogue.recall(_OF_PAGES)) is None:
        return None
    mark, folders, paths, reviewed, figures = msgspec.msgpack.decode(stored)
    is_same = paths[1:] == _listed(memory, folders) and mark == _mark(memory, paths, reviewed)
    return figures if is_same else None


def _listed(memory: Memory, folders: list[str]) -> list[str]:
    return [name for folder in folders for name in files.names(files.list_files(memory.folder, folder))]


def _mark(memory: Memory, paths: list[str], reviewed: list[str]) -> bytes:
    repository, folder, top = memory.repository, str(memory.folder), str(memory.repository.top)
    all_paths = [*(f"{folder}/{path}" for path in paths), *(f"{top}/{path}" for path in reviewed)]
    stamp = marks([f"{repository.git_dir}/index", *all_paths])
    with suppress(MemctlError):  # a broken ref is remarked upon each time
        return stamp and stamp + sessions_ref.head(memory).encode()
    return b""


def _of_pages(memory: Memory, snapshot: Snapshot, *, is_now: bool) -> dict[str, Any]:
    """Return the figures of the pages of a snapshot, and cache those of now until a record, page or reviewed file
    changes.

    Cached with them are their stamp, the folders and paths of the pages below `.memory/` (the project's page first),
    and the files of the repository that pages were reviewed with.
    """
    from memctl.pages import freshness
    from memctl.record import pages

    folders = [pages.SECTION.folder, pages.DETAIL.folder, SESSIONS]
    paths = [pages.PROJECT_PATH, *_listed(memory, folders)]
    before = _mark(memory, paths, []) if is_now else b""
    outline = snapshot.outline
    reviewed = sorted({path for page in outline.pages for path in page.stamps})
    mark = _mark(memory, paths, reviewed) if before else b""
    figures = {
        "records_since_overview": freshness.records_since_overview(snapshot),
        "stale_pages": [{"id": page.id, "files": stale} for page, stale in freshness.outdated_pages(snapshot)],
        "completion": outline.percentage,
        "sections": [_section(snapshot, page) for page in outline.sections],
        "last_session": _last_session(_on_pages(snapshot)),
    }
    if mark and not outline.faults:
        snapshot.catalogue.keep(_OF_PAGES, msgspec.msgpack.encode((mark, folders, paths, reviewed, figures)))
    return figures


def _section(snapshot: Snapshot, page: Page) -> dict[str, Any]:
    places = (page.id, *(detail.id for detail in snapshot.outline.details_of(page.id)))
    issues = sum(snapshot.count_open("issue", place) for place in places)
    return {"id": page.id, "title": page.title, "completion": page.completion_percentage, "open_issues": issues}


def at_work(memory: Memory) -> list[dict[str, str]]:
    """Return the agents that are at work now, from the coordination state; [] if it can't be read."""
    from memctl.team.coordination_ref import ref

    if not memory.repository.tip(ref(memory)):
        return []
    from memctl.team import ref_state  # takes 20 ms to load

    with suppress(MemctlError):
        agents = ref_state.read(memory).state.active_agents
        return [{"agent": name, "since": agent.joined_at, "task": agent.task} for name, agent in sorted(agents.items())]
    return []


def _last_session(ended: Iterable[LiveState]) -> dict[str, str] | None:
    """Return name, end and intent of the session that ended last; None if there is none."""
    state = max(ended, key=lambda state: state.task.saved_at, default=None)
    return {"id": state.key, "ended": state.task.saved_at, "intent": state.task.goal} if state else None


def _on_pages(snapshot: Snapshot) -> Iterator[LiveState]:
    """Yield the state on the page of the session that ended last, of those that have a page."""
    if snapshot.names(SESSIONS):
        from memctl.pack import last_work  # not needed in a memory without pages of sessions
        from memctl.task import live_state

        yield from map(live_state.of_page, last_work.pages(snapshot, last_work.sessions(snapshot)[:1]))


def _live(memory: Memory) -> Iterator[LiveState]:
    """Yield the live states of sessions that have ended."""
    if (memory.hooks / SESSIONS).is_dir():
        from memctl.task import live_state  # most memories without hooks have no live state

        states = live_state.read_latest(memory)
        yield from (state for state in states if state.task.session and not state.is_running)


def _of_records(memory: Memory, snapshot: Snapshot) -> dict[str, Any]:
    """Return the figures of the records of a snapshot, which the cache holds until a record changes.

    `records` is the number of records by type and status, `duplicate_ids` maps each id that several records have to
    the memory_ids of these, `open_issues` is the number of open issues by severity, and `work` that of pieces of open
    work that are ready, blocked, `in_parts` (their parts come first), and begun. `size` is the sum of open records in
    bytes, from which the tokens of a pack are estimated, since counting them is slow. A record that is too large for a
    pack counts with its title.
    """
    catalogue, budget = snapshot.catalogue, memory.config.rehydrate_budget
    if (cached := catalogue.recall(_FIGURES % budget)) is not None:
        figures: dict[str, Any] = msgspec.msgpack.decode(cached)
        return figures
    from memctl.search.readiness import is_started, is_work, open_work

    work, size = open_work(snapshot), 0
    for record in snapshot.open_records:
        with suppress(OSError):
            own = os.stat(memory.folder / record.path).st_size
            size += own if own <= budget * _BYTES_PER_TOKEN else len(record.title)
    begun = sum(is_work(record) and is_started(record) for record in snapshot.open_records)
    counts: dict[str, dict[str, int]] = {}
    severities = dict.fromkeys(SEVERITIES, 0)
    for memory_type, status, severity, number in catalogue.statuses():
        of_type = counts.setdefault(memory_type, {})
        of_type[status] = of_type.get(status, 0) + number
        closed = ("archived", *KINDS[memory_type].closed_statuses)
        if memory_type == "issue" and severity in severities and status not in closed:
            severities[severity] += number
    twins = {name: [record.memory_id for record in catalogue.with_id(name)] for name in catalogue.shared_ids()}
    ready, blocked = len(work.ready), len(work.blocked)
    numbers = {"ready": ready, "blocked": blocked, "in_parts": len(work.all) - ready - blocked, "begun": begun}
    computed = {"records": counts, "duplicate_ids": twins, "open_issues": severities, "work": numbers, "size": size}
    catalogue.keep(_FIGURES % budget, msgspec.msgpack.encode(computed))
    return computed


def print_figures(data: dict[str, Any], bars: Bars) -> None:
    """Print the figures that `figures_of` returns: progress, open records, agents at work, and totals."""
    for line in _progress(data, bars):
        output.styled(line)
    for label, text in _lines(data):
        output.styled(f"  {click.style(f'{label:<9}', bold=True)} {text}")


def _progress(data: dict[str, Any], bars: Bars) -> Iterator[str]:
    rows = [("", data["project"], data["completion"], 0)] if data["completion"] is not None else []
    rows += [
        (section["id"], section["title"], section["completion"], section["open_issues"]) for section in data["sections"]
    ]
    if not rows:
        return
    room = max(bars.width - bars.cells - 24, 8)
    names = [bars.cut(terminal.one_line(output.plain(f"{marker} {title}".strip())), room) for marker, title, *_ in rows]
    widest = max(map(len, names))
    for name, (marker, _, percent, issues) in zip(names, rows, strict=True):
        bar = bars.bar(percent) if percent is not None else bars.rest * bars.cells
        shown = click.style(f"{name:<{widest}}", bold=not marker)
        yield f"  {shown} {bar}  {quantity(issues, 'issue') if issues else ''}".rstrip()


def _lines(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, counts in sorted(data["records"].items()):
        yield name, ", ".join(f"{number:,} {status}" for status, number in sorted(counts.items()))
    if not data["records"]:
        yield "records", "none yet: `memctl decide`, `issue`, `state` or `learn` creates one"
    if any(data["open_issues"].values()):
        worst = data["open_issues"].items()
        yield "issues", ", ".join(_severe(f"{number:,} {name}", name) for name, number in worst if number)
    if any((work := data["work"]).values()):
        parts = f"{work['in_parts']:,} with open parts, " if work["in_parts"] else ""
        numbers = f"{work['ready']:,} ready, {work['blocked']:,} blocked, {parts}{work['begun']:,} in progress"
        yield "work", f"{numbers}: `memctl next`"
    if agents := data.get("at_work"):
        named = [agent["agent"] + (f" ({agent['task']})" if agent["task"] else "") for agent in agents[:_AGENTS]]
        more = f" and {len(agents) - _AGENTS:,} more" if len(agents) > _AGENTS else ""
        yield "at work", terminal.one_line(output.plain(", ".join(named))) + more
    if session := data["last_session"]:
        intent = cut_at_word(one_line(without_escapes(first_sentence(session["intent"]))), _INTENT)
        yield "session", terminal.one_line(output.plain(f"{session['ended']} {intent}".strip()))
    if pack := data["pack"]["tokens"]:
        yield "pack", f"about {pack:,} of {data['pack']['budget']:,} tokens: `memctl rehydrate`"


def _severe(text: str, severity: str) -> str:
    return click.style(text, fg=SEVERITY_COLOURS[severity], bold=severity == "critical")
