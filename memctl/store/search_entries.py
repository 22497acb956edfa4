"""The entries of the search index: records, headings of pages, sections of sessions' pages, and checkpoints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from memctl.record import checkpoint, ids, pages, session_page
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import HANDOFF
from memctl.record.record import IMPORTED, ORDER, SOURCE_ID, Record
from memctl.record.snapshot import body_of
from memctl.record.source import CHECKPOINT, PAGE, SESSION
from memctl.record.task_state import PROGRESS
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line

_KEY = lazy_regex(r"(?m)^([\w-]+):((?:.*)(?:\n[ -].*)*)")  # with its lines below
_NUMBERS = lazy_regex(r"[\s\dTZ\"':.+-]*")  # and times
_WORDS = lazy_regex(r': "([^\s"\\]+)"')  # the values of a JSON object that are one word
_ITEM = rf"- (?:(?:Next|Blocked by|Blocked for all agents): |Not considered for |§2\.|.*{ids.PATTERN.pattern}).*\n?"
_MADE_LINES = lazy_regex(rf"(?m)^(?:(?:PROCEED|STOP|CLARIFY): .*\n)?(?:{_ITEM})+")
_SECTION = re.compile(r"(?m)^### ")
_MOST_PARTS = 2_000  # of a page: 120,000 take 10 s to index, and the largest page of ours has 20


class SearchEntry(NamedTuple):
    """An entry of the search index: its kind, its key (an id or marker) and its texts.

    `terms` are other words by which the entry is found: ids, tags, paths, its section. `thread` is a name that entries
    have in common if they belong together: the headings of a page, the sections of a session's page, or the records
    that one agent made on one day; "" for none, and for what was imported. `place` orders the records of a thread;
    parts of one file follow each other as they are. `links` are the keys of the entries that this one links to, and of
    the page or section around it.
    """

    kind: str
    key: str
    title: str
    body: str
    terms: str
    thread: str = ""
    links: tuple[str, ...] = ()
    place: str = ""


def entries(path: str, text: str, record: Record | None) -> Iterator[SearchEntry]:
    """Yield the index entries of a file of the memory; an invalid file has none.

    `record` is the parsed record, or None if the file is no record.
    """
    try:
        if record is not None:
            yield _of_record(record, body_of(text, path), _foreign_keys(text))
        elif pages.kind_at(path) is not None:
            yield from _of_page(pages.parse(text, path))
        elif session_page.is_page(path):
            yield from _of_session(session_page.head(text, path).id, text)
        elif checkpoint.version_at(path) is not None:
            yield _of_checkpoint(checkpoint.parse(text, path))
    except InvalidRecord:
        return


def _of_record(record: Record, body: str, foreign: Mapping[str, str]) -> SearchEntry:
    terms = (record.id, *record.tags, *record.code_refs, *record.aliases, record.section or "", _names(foreign))
    if record.memory_type == HANDOFF.name:
        terms = (*terms, *dict.fromkeys(match[0] for match in ids.PATTERN.finditer(body)))
        body = _own_words(body)
    linked = (*record.relates_to, *record.supersedes, *record.superseded_by, *record.blocks, *record.blocked_by)
    links = (*linked, record.place) if record.place else linked
    # Only the commit names the session that made a record. What was imported at once is no session.
    is_imported = not foreign.keys().isdisjoint(IMPORTED)
    thread = "" if is_imported else f"{record.agent_id} {record.timestamp[:10]}"
    texts = record.title, body, " ".join(terms)
    return SearchEntry(record.memory_type, record.id, *texts, thread, links, f"{record.timestamp} {record.id}")


def _own_words(body: str) -> str:
    """Leave out what memctl made from other records, which would be found in their place."""
    from memctl.text.headings import split  # few memories have handoffs

    made = {field.heading for field in HANDOFF.fields if not field.option and field.name != "answer"}
    parts = ((part, _MADE_LINES.sub("", part.body)) for part in split(body) if part.heading not in made)
    return "".join(part.heading_text + own for part, own in parts if own.strip())


def _foreign_keys(text: str) -> dict[str, str]:
    head = text[: max(text.find("\n---", 3), 0)]
    return {key: value.strip() for key, value in _KEY.findall(head) if key not in ORDER}


def _names(foreign: Mapping[str, str]) -> str:
    """Return the words of the values of foreign keys.

    Left out are numbers and times other than another tool's id, which many records share by chance, and of objects what
    is not one word: words that a third of all records have in them say nothing of one any more.
    """
    names = (
        (key, " ".join(_WORDS.findall(value)) if value.startswith("{") else value) for key, value in foreign.items()
    )
    return " ".join(name for key, name in names if key == SOURCE_ID or not _NUMBERS.fullmatch(name))


def _of_page(page: pages.Page) -> Iterator[SearchEntry]:
    parts = pages.numbered_headings(page) if page.kind is pages.DETAIL else ()
    parts = parts if len(parts) <= _MOST_PARTS else ()
    above = "\n".join(page.body.split("\n")[: parts[0].line - 1]) if parts else page.body
    terms = (page.id, *page.aliases, *page.paths, *page.code_refs, page.section or "")
    yield SearchEntry(
        PAGE, page.id, page.title, above, " ".join(terms), page.id, (page.section,) if page.section else ()
    )
    for part in parts:
        terms = (part.id, page.id, page.section or "")
        yield SearchEntry(PAGE, part.id, part.title, part.text, " ".join(terms), page.id)


def _of_session(identifier: str, text: str) -> Iterator[SearchEntry]:
    for part in _SECTION.split(text)[1:]:
        heading, _, body = part.partition("\n")
        texts = one_line(heading), body.strip("\n"), identifier
        yield SearchEntry(SESSION, identifier, *texts, identifier)


def _of_checkpoint(saved: checkpoint.Checkpoint) -> SearchEntry:
    lists = (
        *(saved.having(*PROGRESS), saved.next_actions, saved.decisions, saved.issues, saved.errors, saved.said),
        *(saved.lessons, saved.summary, saved.constraints, saved.inputs, saved.success_criteria, saved.earlier_goals),
    )
    body = "\n".join([saved.phase, *(item for items in lists for item in items)])
    names = (*(record.id for record in saved.records), *(file.path for file in saved.files))
    terms = (saved.checkpoint_id, saved.workflow_id, saved.environment.branch, saved.session, *names)
    return SearchEntry(CHECKPOINT, saved.checkpoint_id, saved.goal, body, " ".join(terms))
