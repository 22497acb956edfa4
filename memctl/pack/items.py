"""Turn records, pages and search results into items of a pack, with the commit that their text is from."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from memctl.pack.draft import PROPOSED, Item, OmittedItem
from memctl.record.filters import Filters
from memctl.record.kinds import SEVERITIES, STATE
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store.cache import digest
from memctl.task.live_state import LiveState
from memctl.text import headings
from memctl.text.markdown import one_line

if TYPE_CHECKING:
    from memctl.pages.navigate import Place
    from memctl.search.ranking import Result


CHANGED, GONE = "changed since", "gone"  # what became of code that a record refers to


class RecordOrigin(msgspec.Struct, frozen=True):
    """The last commit that changed a record's text, and what has become of the code that the record refers to.

    `commit` is a text such as "3f2a9c01d4" or "none yet". The keys of `drift` and `moved` are code references of the
    record, such as "src/pay.py:8". `drift` has "changed since" or "gone" for code that has changed after the commit,
    and `moved` the present paths of files that were renamed. `actor` and `author` say who made the record, as
    `last_commits.signatures` returns them. `is_shared` says that the commit brought several records of one agent, as an
    import does, so that commit and agent say nothing about this one.
    """

    commit: str
    actor: str = ""
    author: str = ""
    drift: Mapping[str, str] = {}
    moved: Mapping[str, str] = {}
    is_shared: bool = False

    def signed(self, agent: str) -> str:
        """Return who made a record that names `agent`, with what its first commit says against it."""
        if self.actor:
            return agent if f",{agent}," in f",{self.actor}," else f"{agent} (recorded by {self.actor})"
        return f"{self.author} (unverified)" if self.author else agent

    def has_lost(self, refs: Sequence[str]) -> bool:
        """Return whether all the code is gone to which these references of the record led."""
        return bool(refs) and all(self.drift.get(ref) == GONE for ref in refs)

    def described(self, ref: str) -> str:
        """Return a code reference with what changed in parentheses: "src/pay.py:8 (now src/card.py, changed since)"."""
        moved = [f"now {self.moved[ref]}"] if ref in self.moved else []
        remarks = [*moved, *filter(None, [self.drift.get(ref)])]
        return f"{ref} ({', '.join(remarks)})" if remarks else ref


Origins = Mapping[str, RecordOrigin]  # by the record's path
ChangeTimes = Callable[[list[Record]], Mapping[str, str]]  # from records to their last changes (canonical UTC) by path


class Worktree(msgspec.Struct, frozen=True):
    """The worktree in which work goes on: its branch, its top folder, and its uncommitted files.

    `uncommitted` is None if Git was not asked or did not answer in time. `states` are the live states of the clone, of
    the other worktrees, too.
    """

    branch: str = ""
    top: str = ""
    uncommitted: tuple[str, ...] | None = None
    states: Sequence[LiveState] = ()

    def has(self, path: str) -> bool:
        """Return whether there is a file or folder with a path relative to the top; True if the top is not known."""
        return not self.top or os.path.lexists(os.path.join(self.top, path))


ANYWHERE = Worktree()


class Sources(msgspec.Struct, frozen=True):
    """Functions that get what a pack needs besides the Snapshot; each is called only when its result is needed.

    - `origins` returns the last commits of records and the changes of their code since, by the records' paths.
    - `worked` returns the times at which records were last changed, by path.
    - `page` returns the text that people wrote for a page, and `executive` the rendered document of the project.
    - `touched` returns the paths of the files that the latest commits changed.
    - `blockers` returns texts on what blocks all agents.
    - `worktree` returns the branch of the worktree, and its uncommitted files.
    - `files` returns the paths of the repository's files that a task needs, the best first.
    - `ahead` starts Git's work for some records in the background, so that a later call returns sooner.
    """

    ahead: Callable[[list[Record]], None]
    origins: Callable[[list[Record]], Origins]
    page: Callable[[Page], str]
    executive: Callable[[], str]
    worked: ChangeTimes
    touched: Callable[[], Collection[str]]
    blockers: Callable[[], list[str]]
    worktree: Callable[[], Worktree] = Worktree
    files: Callable[[str], Sequence[str]] = lambda _: ()


def of_record(snapshot: Snapshot, record: Record, origins: Origins) -> Item:
    """Return an item of a pack for a record, with its facts, text and weight.

    `origins` maps the paths of records to their last commits, which the facts of the item name.
    """
    origin = origins.get(record.path)
    code = [origin.described(ref) if origin else ref for ref in record.code_refs]
    by: str | None = origin.signed(record.agent_id) if origin else record.agent_id
    commit = origin.commit if origin else None
    if origin and origin.is_shared:
        by = commit = None
    blockers = (snapshot.find(name) for name in record.blocked_by if record.is_open)
    facts = facts_of({
        "status": record.status, "completion": record.completion_percentage, "severity": record.severity,
        "blocked_by": ", ".join(f"{other.id} {one_line(other.title)}" for other in blockers if other and other.is_open),
        "importance": record.importance, "date": record.timestamp, "by": by, "section": record.section,
        "tags": ", ".join(record.tags), "code": ", ".join(code), "commit": commit,
    })  # fmt: skip
    body = snapshot.body(record)
    if record.path in snapshot.suspicious:
        body = screen(snapshot, body)
    # Work in progress is expected to change its code.
    is_doubtful = origin is not None and origin.has_lost(record.code_refs) and record.memory_type != STATE.name
    own = 0 if is_doubtful or record.status == PROPOSED else weight(record)
    kind, title = record.memory_type, record.title
    return Item(kind, record.id, title, body, facts, record.path, own, is_doubtful, record.place)


def facts_of(values: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return the facts of an item as texts; those that are None or "" are left out."""
    return tuple((name, str(value)) for name, value in values.items() if value not in (None, ""))


def weight(record: Record) -> int:
    """Return a record's weight from 1 to 10: its importance, or 10 for critical severity."""
    return 10 if record.severity == SEVERITIES[0] else record.importance


def screen(snapshot: Snapshot, body: str) -> str:
    """Return a text of the memory unchanged or, if it contains a credential, a short notice in its place.

    A text without a credential is searched only once: the Snapshot's catalogue remembers it, since a search is slow.
    """
    key = digest(body, "credentials")
    if snapshot.catalogue.is_clean(key):
        return body
    from memctl.text.credentials import find

    spans = find(body)
    if not spans:
        snapshot.catalogue.keep_clean([key])
        return body
    why = f"it looks like it contains a credential ({spans[0].rule})"
    return f"This text is left out, because {why}. `memctl check` names the line.\n"


def of_page(page: Page, text: str, key: str = "") -> Item:
    """Return an item of a pack for a page, or for a part of it, with the given text.

    `key` is the item's key; "" means that the page's path is the key.
    """
    facts = facts_of({"completion": page.completion_percentage, "date": page.timestamp, "by": page.agent_id})
    body = headings.take_title(text)[1].strip("\n")
    return Item("page", page.id, page.title, body, facts, key or page.path)


def of_place(place: Place) -> Item:
    """Return an item of a pack for what a marker names: a page, a heading or a list of files."""
    body = headings.take_title(place.text)[1].strip("\n")
    return Item("page", place.marker, place.title, body, (("path", place.path),), place.marker)


def split_off(item: Item, heading: str) -> tuple[Item, str]:
    """Cut a heading and the text below it out of an item; return the item that is left, and that text.

    Returns the unchanged item and "" if the item has no such heading.
    """
    parts = headings.split(item.body)
    wanted_part = next((part for part in parts if part.heading == heading), None)
    if wanted_part is None:
        return item, ""
    rest = "".join(part.text for part in parts if part is not wanted_part)
    return msgspec.structs.replace(item, body=rest), wanted_part.body.strip("\n")


def omit(record: Record) -> OmittedItem:
    """Return the id, title, type and section of a record, for the list of what a pack leaves out."""
    return OmittedItem(record.id, record.title, kind=record.memory_type, section=record.place)


# Shares of the best match. From CLOSE on a result is relevant to a task: on the first half of bench/labelled 45 of 70
# pages, sessions and checkpoints that match so well are relevant, and 45 of 48 relevant ones match so well. For its
# 187 queries as prompts hooks show 184 results, 141 of them relevant; with 0.7 it would show 212, 144 of them relevant.
# From POSSIBLE on a result may be relevant: between the two one in ten is, below one in a hundred.
CLOSE, POSSIBLE = 0.8, 0.55
_MOST = 3  # pages, sessions and checkpoints of a task
_RANKED = 500  # results for a task, more than a pack has room for


class TaskMatches(msgspec.Struct, frozen=True):
    """What is relevant to a task, the best first: open records, resolved ones, and pages, sessions and checkpoints.

    `resolved` are issues and states that say how earlier work ended. `places` are the pages, sessions and checkpoints.
    `fits` maps the path of each search result to how well it matches the task, as a share of the best match (0 to 1).
    """

    records: tuple[Record, ...] = ()
    resolved: tuple[Record, ...] = ()
    fits: Mapping[str, float] = {}
    places: tuple[Result, ...] = ()

    @property
    def is_met(self) -> bool:
        """Whether the memory has anything that is relevant to the task."""
        return bool(self.records or self.resolved or self.places)


def match_task(snapshot: Snapshot, task: str, filters: Filters, now: str, *, with_places: bool = True) -> TaskMatches:
    """Return what is relevant to a task: records that meet the conditions `filters`, pages, sessions and checkpoints.

    A resolved record has to match about as well as the best result, since most of a memory may be resolved. Without
    `with_places`, pages, sessions and checkpoints are left out. `now` is the current time, such as
    "2025-11-04T14:32:00Z". An empty task matches nothing.
    """
    ranked = search(snapshot, task, now)
    known = [result.record for result in ranked if result.record is not None and result.record.kind.is_knowledge]
    records = [record for record in filters.keep(known) if record.may_answer(now)]
    matches = {result.path: result.match for result in ranked}
    shown = places(ranked) if with_places else []
    best = max([*(matches[record.path] for record in records), *(place.match for place in shown)], default=1.0)
    fits = {path: match / best for path, match in matches.items()}
    return TaskMatches(
        tuple(record for record in records if record.is_open and fits[record.path] >= POSSIBLE),
        tuple(record for record in records if not record.is_open and fits[record.path] >= CLOSE),
        fits,
        tuple(shown),
    )


def search(snapshot: Snapshot, task: str, now: str) -> list[Result]:
    """Return the search results for a task, the best first, without archived records; [] if the task is "".

    `now` is the current time, such as "2025-11-04T14:32:00Z"; among equally good matches, young records come first.
    """
    if not task:
        return []
    from memctl.search import ranking  # most packs have no task

    return ranking.search(snapshot, task, now, Filters(), most=_RANKED)


def places(ranked: Sequence[Result]) -> list[Result]:
    """Return the pages, sessions and checkpoints among search results that match nearly as well as the best result.

    `ranked` are the search results, the best first. At most three places are returned.
    """
    close = [result for result in ranked if result.record is None and result.match >= CLOSE]
    return close[:_MOST]


def of_result(snapshot: Snapshot, place: Result) -> Item:
    """Return an item of a pack for a search result that is a page, session or checkpoint, or a part of one."""
    text = snapshot.texts.bodies([place.number]).get(place.number, "").strip("\n")  # "" if it was deleted meanwhile
    page = snapshot.outline.find(page_of(place.id)) if place.kind == "page" else None
    if page is None:
        title = f"{place.kind.capitalize()} {place.id}: {place.title}"
        return Item(place.kind, place.id, title, screen(snapshot, text), (), f"{place.kind} {place.id}")
    return msgspec.structs.replace(of_page(page, text, place.id), id=place.id, title=place.title)


def sections(snapshot: Snapshot, ranked: Iterable[Result]) -> list[Page]:
    """Return the sections that are relevant to a task, the most relevant first.

    `ranked` are the search results for the task. A section counts as much as the best of its pages and records among
    them.
    """
    weights: dict[str, float] = {}
    for result in ranked:
        marker = result.id if result.kind == "page" else result.record.section if result.record else None
        if marker:
            section = _section_of(snapshot, marker)
            weights[section] = max(weights.get(section, 0.0), result.score)
    known: Mapping[str, Page] = {page.id: page for page in snapshot.outline.sections}
    ordered = sorted((weight, marker) for marker, weight in weights.items() if weight > 0 and marker in known)
    return [known[marker] for _, marker in reversed(ordered)]


def page_of(marker: str) -> str:
    """Return the marker of the page that a marker belongs to, such as "§3.1" for the heading "§3.1.2"."""
    return ".".join(marker.split(".")[:2])


def _section_of(snapshot: Snapshot, marker: str) -> str:
    """Return the marker of the section that a place belongs to."""
    page = snapshot.outline.find(page_of(marker))
    return (page.section or page.id) if page else page_of(marker)
