"""Build the content of each rendered page, level by level, as values that the templates lay out.

The levels are 1, the project; 2, its sections; and 3, pages of details. rules.md#levels-of-pages has their contents and
limits. Of a decision, level 1 has the title, level 2 a sentence of its reason, and level 3 the whole reasoning and a
link to the record. All texts can be put into Markdown as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import groupby
from typing import TypeVar

import msgspec

from memctl.pages.links import EXECUTIVE, SOURCES, Links, document_of
from memctl.pages.template_values import (
    Estimate,
    FoldedHeadings,
    HeadedText,
    Index,
    Level1,
    Level2,
    Level3,
    ListEntry,
    SectionSummary,
)
from memctl.record import content_fields, mentions, pages
from memctl.record.kinds import DECISION, HANDOFF, KNOWLEDGE
from memctl.record.pages import Page
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.text import fit, headings, markdown
from memctl.text.lazy_regex import lazy_regex
from memctl.text.phrases import quantity

LIMITS = {1: (0, 1_000), 2: (200, 500), 3: (1_000, 3_000)}  # tokens, least and most; rules.md#levels-of-pages
_KEY_DECISIONS = 5  # on level 1
_BLOCKERS = 5  # issues, and blockers of tasks, on level 1
_LISTED = 100  # records of a kind that levels 2 and 3 choose from
_BRIEF = 20  # decisions that level 2 chooses from
_FIRST_READ = 8  # records of a list that are read at first; most pages show no more
_BLOCK = lazy_regex(r"```|~~~|[-*+>#|<]|\d{1,9}[.)]|    ")
# The types whose open records a level counts: a section leaves learnings to its details, and these the tasks to it.
_COUNTED = {2: [name for name in KNOWLEDGE if name != "learning"], 3: [name for name in KNOWLEDGE if name != "state"]}
_TAGS = 40  # in the index
_HEADINGS = 2_000  # in the index: of so many, with long titles and links, it has half a megabyte


def title_of(snapshot: Snapshot) -> str:
    """Return the project's title in Markdown."""
    project = snapshot.outline.project
    return markdown.inline(project.title if project else snapshot.config.project)


def executive(snapshot: Snapshot, links: Links) -> Level1:
    """Return the content of the executive summary (level 1): goal, status, priorities, blockers and key decisions.

    A key decision is one whose importance is above the default.
    """
    project, catalogue = snapshot.outline.project, snapshot.catalogue
    content = content_fields.content(pages.PROJECT, project.body) if project else {}
    decisions = catalogue.top("decision", None, _KEY_DECISIONS)
    key_decisions = [record for record in decisions if record.importance > DECISION.importance]
    has_date = snapshot.config.format == 1
    # Only what the document shows dates it; otherwise each new record would change the document without need.
    shown: tuple[Page | Record, ...] = (*snapshot.outline.pages, *key_decisions, *catalogue.blocking(_BLOCKERS))
    dated = [(page.timestamp, page.agent_id or "") for page in shown if page.timestamp and has_date]
    updated, agent = max(dated, default=("", ""))
    return Level1(
        title=title_of(snapshot),
        goal=_goal(snapshot, links),
        status=links.prose(markdown.one_line(_text(content, "status"))),
        percentage=snapshot.outline.percentage,
        priorities=_items(links, content, "priorities"),
        blockers=_blockers(snapshot, links),
        decisions=tuple(_key_decision(links, record) for record in key_decisions),
        has_decisions=bool(decisions),
        sections=_summaries(snapshot, links),
        more=_other_parts(links, project) if project else "",
        updated=updated,
        agent=markdown.inline(agent),
        is_numbered=has_date,
    )


@lru_cache(maxsize=1)  # for level 1 and the index
def _blockers(snapshot: Snapshot, links: Links) -> tuple[ListEntry, ...]:
    issues = sorted(snapshot.catalogue.blocking(_BLOCKERS), key=lambda r: (r.severity != "critical", not r.blocks))
    entries = [_entry(links, record, "" if record.severity == "critical" else "high") for record in issues]
    of_tasks: list[ListEntry] = []
    for record in snapshot.catalogue.blocked(_LISTED):
        content = content_fields.content(record.kind, snapshot.body(record))
        lines = (markdown.inline(fit.first_sentence(line)) for line in content.get("blockers") or ())
        of_tasks += [
            ListEntry(record.id, line, links.record(record), f"blocks “{_title(record)}”") for line in lines if line
        ]
        if len(of_tasks) >= _BLOCKERS:
            break
    return (*entries, *of_tasks[:_BLOCKERS])


def section(snapshot: Snapshot, links: Links, page: Page) -> Level2:
    """Return the content of a section's document (level 2).

    It has the overview, decisions with one sentence of their reason, open records, next actions, and links to pages of
    details. Its lists may have more records than the document has room for; `fit_section` shortens them.
    """
    content = content_fields.content(pages.SECTION, page.body)
    places = places_on(snapshot, page)
    entries = partial(_entries, snapshot)
    return Level2(
        number=page.number,
        title=markdown.inline(page.title),
        overview=links.prose(headings.close_fence(_text(content, "overview") or _beginning(page))),
        status=links.prose(headings.close_fence(_text(content, "status"))),
        status_is_block=_BLOCK.match(_text(content, "status")) is not None,
        percentage=page.completion_percentage,
        next_actions=_items(links, content, "next_actions"),
        decisions=entries(
            "decision", places, lambda record: _entry(links, record, _reason(snapshot, record)), longest=_BRIEF
        ),
        issues=entries("issue", places, lambda record: _entry(links, record, record.severity or "")),
        tasks=entries("state", places, lambda record: _entry(links, record, f"{record.completion_percentage or 0} %")),
        left_out=_count_open(snapshot, places, 2),
        details=tuple(_page_entry(detail) for detail in snapshot.outline.details_of(page.id)),
        files=_files_entry(page) if page.paths else None,
        more=_other_parts(links, page),
    )


def detail(snapshot: Snapshot, links: Links, page: Page) -> Level3:
    """Return the content of the document of a page of details (level 3).

    It has the page's own text, whole decisions and issues, learnings, and the files of the page's `code_refs`. Its
    lists may have more records than the document has room for; `fit_detail` shortens them.
    """
    parent = snapshot.outline.find(page.section or "")
    places = places_on(snapshot, page)

    def whole(record: Record) -> ListEntry:
        body = links.from_record(record, snapshot.body(record).strip("\n"))
        return _entry(links, record, links.prose(markdown.embed(body)))

    return Level3(
        number=page.number,
        title=markdown.inline(page.title),
        section=_page_entry(parent) if parent else None,
        beginning=links.prose(headings.close_fence(_beginning(page))),
        parts=tuple(
            HeadedText(f"{part.id[1:]} {part.title}", links.prose(headings.close_fence(part.text.strip("\n"))))
            for part in pages.numbered_headings(page)
        ),
        decisions=_entries(snapshot, "decision", places, whole),
        issues=_entries(snapshot, "issue", places, whole),
        learnings=_entries(
            snapshot, "learning", places, lambda record: _entry(links, record, _sentence(snapshot, record, "lesson"))
        ),
        left_out=_count_open(snapshot, places, 3),
        files=tuple(
            ListEntry(f"§4.{ref}", markdown.code(ref), links.file(pages.code_path(ref))) for ref in page.code_refs
        ),
    )


def index(snapshot: Snapshot, links: Links) -> Index:
    """Return the content of the index of all documents: pages and headings, shortcuts to decisions, and tags."""
    outline, catalogue = snapshot.outline, snapshot.catalogue
    known = {page.id for page in outline.sections}
    covered = {path for (_, name), paths in snapshot.unplaced.items() if name != HANDOFF.name for path in paths}
    return Index(
        title=title_of(snapshot),
        goal=_goal(snapshot, links),
        percentage=snapshot.outline.percentage,
        executive=EXECUTIVE,
        sections=_summaries(snapshot, links),
        loose=tuple(_page_entry(page) for page in outline.details if page.section not in known),
        outside=sum(number for place, number in catalogue.places().items() if outline.find(place) is None)
        - len(covered),
        shortcuts=tuple(_shortcuts(snapshot, links)),
        folded=_folded_headings(snapshot),
        tags=tuple(_tags(snapshot)),
    )


@lru_cache(maxsize=1)
def _folded_headings(snapshot: Snapshot) -> FoldedHeadings | None:
    """The index lists 2,000 headings at most: return which it leaves out, None if it lists all."""
    bodies = [page.body for page in snapshot.outline.details]
    if sum(body.count("#") + body.count("\n==") + body.count("\n--") for body in bodies) <= _HEADINGS:
        return None  # as there can't be more headings, none needs to be parsed
    counts = sorted(len(pages.numbered_headings(page)) for page in snapshot.outline.details)
    if sum(counts) <= _HEADINGS:
        return None
    listed, most = 0, 0
    for count, alike in groupby(counts):
        listed += count * len(list(alike))
        if listed > _HEADINGS:
            break
        most = count
    return FoldedHeadings(sum(counts), most)


def _goal(snapshot: Snapshot, links: Links) -> str:
    project = snapshot.outline.project
    content = content_fields.content(pages.PROJECT, project.body) if project else {}
    goal = markdown.one_line(_text(content, "goal"))
    goal = markdown.inline(goal) if _BLOCK.match(goal) else links.prose(goal)
    return goal or markdown.inline(snapshot.config.description)


@lru_cache(maxsize=1)  # for level 1 and the index
def _summaries(snapshot: Snapshot, links: Links) -> tuple[SectionSummary, ...]:
    summaries = []
    folded = _folded_headings(snapshot)
    for page in snapshot.outline.sections:
        details = snapshot.outline.details_of(page.id)
        issues = sum(snapshot.count_open("issue", place) for place in places_on(snapshot, page))
        words = [f"{page.completion_percentage} %"] if page.completion_percentage is not None else []
        words += [quantity(issues, "open issue")] if issues else []
        overview = _text(content_fields.content(pages.SECTION, page.body), "overview") or _beginning(page)
        entry = _page_entry(page, links.prose(fit.first_sentence(overview)))
        parts: list[ListEntry] = []
        for detail in details:
            count = len(pages.numbered_headings(detail)) if folded is not None else 0
            if folded is not None and count > folded.most:
                parts.append(_page_entry(detail, quantity(count, "heading")))
            else:
                parts += [_page_entry(detail), *_part_entries(links, detail)]
        globs = tuple(_glob(links, glob) for glob in page.paths)
        summaries.append(SectionSummary(entry, ", ".join(words), tuple(parts), globs))
    return tuple(summaries)


def _shortcuts(snapshot: Snapshot, links: Links) -> list[ListEntry]:
    entries = [ListEntry("§1.0", "Current blockers", EXECUTIVE)] if _blockers(snapshot, links) else []
    for record in snapshot.catalogue.top("decision", None, _KEY_DECISIONS * 2):
        title = f"Reasons for “{markdown.inline(record.title)}”"
        entries.append(ListEntry(record.id, title, links.record(record)))
    return entries


def _tags(snapshot: Snapshot) -> list[ListEntry]:
    """Return the most common tags, each with the page that most of its open records belong to."""
    outline = snapshot.outline.pages
    numbers = {page.id: number for number, page in reversed([*enumerate(outline)])}
    counts: dict[str, list[tuple[int, int]]] = {}  # a negative count of records, and the number of their page
    for tag, marker, count in snapshot.catalogue.tags():
        if marker in numbers:
            counts.setdefault(tag, []).append((-count, numbers[marker]))
    common = sorted(counts, key=lambda tag: (sum(count for count, _ in counts[tag]), tag))[:_TAGS]
    places = [(tag, outline[min(counts[tag])[1]]) for tag in sorted(common)]
    return [ListEntry(page.id, markdown.inline(tag), document_of(page)) for tag, page in places]


def _entries(
    snapshot: Snapshot,
    memory_type: str,
    places: Sequence[str],
    make: Callable[[Record], ListEntry],
    longest: int = _LISTED,
) -> Iterator[ListEntry]:
    """Records are read only when they are needed: a page shows about ten of 100 records, and each is a file."""
    yielded, limit = 0, _FIRST_READ
    while yielded < longest:
        limit = min(limit, longest)
        records = [record for place in places for record in snapshot.top_open(memory_type, place, limit)]
        records.sort(key=lambda record: record.timestamp, reverse=True)
        records.sort(key=lambda record: -record.importance)
        yield from map(make, records[yielded:limit])
        if len(records) < limit:
            return
        yielded, limit = limit, 2 * limit


def places_on(snapshot: Snapshot, page: Page) -> list[str]:
    """Return the places (markers) whose records the document of a section or page of details shows.

    The document of a section shows those of the section and of its pages of details. That of a page of details shows
    the page's own records; if it is the section's first, it also shows those that belong to the section itself.
    """
    if page.kind is pages.SECTION:
        return [page.id, *(detail.id for detail in snapshot.outline.details_of(page.id))]
    parent = snapshot.outline.find(page.section or "")
    is_first = parent and snapshot.outline.details_of(parent.id)[0].id == page.id
    return [page.id, *([parent.id] if parent and is_first else [])]


def _count_open(snapshot: Snapshot, places: Sequence[str], level: int) -> int:
    return sum(snapshot.count_open(name, place) for name in _COUNTED[level] for place in places)


def _page_entry(page: Page, note: str = "") -> ListEntry:
    return ListEntry(page.id, markdown.inline(page.title), markdown.target(document_of(page)), note)


def _part_entries(links: Links, page: Page) -> list[ListEntry]:
    return [
        ListEntry(part.id, markdown.inline(part.title), where, _first_file(links, part.text))
        for part, where in zip(pages.numbered_headings(page), links.parts(page), strict=True)
    ]


def _first_file(links: Links, text: str) -> str:
    markers = (mention.text for mention in mentions.in_text(text) if mention.text.startswith("§4."))
    files = ((marker, where) for marker in markers if (where := links.marker(marker)))
    return next((f"[{markdown.code(marker)}]({where})" for marker, where in files), "")


def _entry(links: Links, record: Record, note: str = "") -> ListEntry:
    return ListEntry(record.id, _title(record), links.record(record), note)


def _title(record: Record) -> str:
    words = ["proposed"] if record.status == "proposed" else []
    words += [f"until {record.expires_at[:10]}"] if record.expires_at else []
    return markdown.inline(record.title) + (f" ({', '.join(words)})" if words else "")


def _key_decision(links: Links, record: Record) -> ListEntry:
    marker = ".".join(record.section.split(".")[:2]) if record.section else ""
    where = links.marker(marker) if marker else ""
    return _entry(links, record, f"[{marker}]({where})" if where else "")


def _reason(snapshot: Snapshot, record: Record) -> str:
    return _sentence(snapshot, record, "rationale") or _sentence(snapshot, record, "decision")


def _sentence(snapshot: Snapshot, record: Record, field: str) -> str:
    text = _text(content_fields.content(record.kind, snapshot.body(record)), field)
    return markdown.inline(fit.first_sentence(text))


def _glob(links: Links, glob: str) -> ListEntry:
    """`src/pay/**` becomes `§4.src/pay`, with a link to its fixed folder."""
    fixed = glob.removeprefix("!").partition("*")[0]
    where = fixed if fixed == glob else fixed.rpartition("/")[0]
    marker = f"§4.{glob.removesuffix('/**')}"
    title = f"without `{glob[1:]}`" if glob.startswith("!") else f"`{marker}`"
    return ListEntry(marker, title, links.file(where) if where else "")


def _files_entry(page: Page) -> ListEntry:
    anchor = markdown.slug(f"{page.number} {page.title}", literal=True)
    return ListEntry(f"§4 {markdown.inline(page.title)}", "", f"{SOURCES}#{anchor}")


def _text(content: dict[str, str | list[str]], name: str) -> str:
    value = content.get(name, "")
    assert isinstance(value, str)
    return value.strip()


def _items(links: Links, content: dict[str, str | list[str]], name: str) -> tuple[str, ...]:
    return tuple(links.prose(markdown.one_line(item)) for item in content.get(name, ()))


def _beginning(page: Page) -> str:
    parts = headings.split(page.body)
    return parts[0].text.strip("\n") if parts and not parts[0].heading else ""


def _other_parts(links: Links, page: Page) -> str:
    """Return the parts of a page under headings that memctl gives no meaning, unchanged."""
    known = {field.heading.casefold() for field in page.kind.fields}
    parts = [part.text for part in headings.split(page.body) if part.heading and part.heading.casefold() not in known]
    return links.prose(headings.close_fence("".join(parts).rstrip("\n")))


# Share of a limit that is filled: the estimate is within 7 % of o200k, and ids have more tokens than words.
_SLACK = 0.85


Listed = TypeVar("Listed", Level2, Level3)


def fit_lists(page: Listed, render: Callable[[Listed], str], estimate: Estimate) -> Listed:
    """Return the content of a document of level 2 or 3 with its lists shortened, so that it keeps to its limit.

    The lists are filled in turn, one entry each, until there is no more room; the first entry of the first list always
    stays. `render` returns the Markdown of a content, and `estimate` the approximate tokens of Markdown.
    """
    level, last = (2, "tasks") if isinstance(page, Level2) else (3, "learnings")
    names = ("decisions", "issues", last)
    base = render(msgspec.structs.replace(page, **dict.fromkeys(names, ()), left_out=99))
    room = LIMITS[level][1] * _SLACK - estimate(markdown.visible(base))
    fitting: dict[str, list[ListEntry]] = {name: [] for name in names}
    growing: dict[str, Iterator[ListEntry]] = {name: iter(getattr(page, name)) for name in names}
    while growing:
        for name, entries in list(growing.items()):
            entry = next(entries, None)
            cost = estimate(markdown.visible(f"- {entry.title} [{entry.id}]: {entry.note}\n")) if entry else 0
            if entry is None or (cost > room and (name != names[0] or fitting[name])):
                del growing[name]  # a shorter but less important entry must not take its place
                continue
            room -= cost
            fitting[name].append(entry)
    shown = {name: tuple(some) for name, some in fitting.items()}
    return msgspec.structs.replace(page, **shown, left_out=page.left_out - sum(map(len, shown.values())))
