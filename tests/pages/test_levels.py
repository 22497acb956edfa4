"""What stands on each level, from memories that are nowhere but in a test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from markdown_it import MarkdownIt

from memctl.pages import levels
from memctl.pages.links import Links
from memctl.pages.template_values import FoldedHeadings, Index, Level1, Level2, Level3, ListEntry
from memctl.record import frontmatter
from memctl.record.config import Config
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import KINDS, KNOWLEDGE
from memctl.record.pages import Page
from memctl.record.record import ORDER
from memctl.record.snapshot import Snapshot
from memctl.record.source import Files
from memctl.store import cache_update, files
from memctl.store.cache import Cache
from memctl.store.cache_update import ParsedFile
from memctl.store.catalogue import StoredCatalogue
from tests.snapshots import SHOP, Given, no_match, renderer

Texts = dict[str, str]


class FilesInHand:
    """The repository's files, with what they hold; their blobs are named after it."""

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents

    def names(self) -> frozenset[str]:
        return frozenset(self._contents)

    def blobs(self, paths: Iterable[str]) -> dict[str, str]:
        return {path: self._contents[path].hex().ljust(40, "0") for path in paths if path in self._contents}

    def read(self, paths: Iterable[str]) -> dict[str, bytes]:
        return {path: self._contents[path] for path in paths if path in self._contents}


class InHand(Given):
    """A source of some texts; the catalogue is the real one, over a cache in memory."""

    def __init__(self, texts: Texts, contents: Mapping[str, bytes], config: Config) -> None:
        self._parsed: list[ParsedFile] = []
        self._contents = contents
        for path in sorted(path for path in texts if files.is_record_path(path)):
            try:
                self._parsed.append(cache_update.parse_file(texts[path], path, "", ""))
            except InvalidRecord as error:
                self._parsed.append(cache_update.invalid_file(path, error.faults))
        records = [item.record for item in self._parsed if item.record is not None]
        super().__init__(records, texts, no_match, config, "disk", [f for item in self._parsed for f in item.faults])

    def catalogue(self) -> StoredCatalogue:
        cache = Cache.open(None)
        cache_update.update(cache, self._parsed, [], ("", ""), ("", ""))
        return StoredCatalogue(cache)

    def files(self) -> Files:
        return FilesInHand(self._contents)


def memory(*texts: Texts, contents: Mapping[str, bytes] | None = None, config: Config = SHOP) -> Snapshot:
    """A memory of these pages and records, in a repository of these files."""
    joined = {path: text for some in texts for path, text in some.items()}
    return Snapshot(InHand(joined, contents or {}, config))


def project(body: str = "", **values: Any) -> Texts:
    return {"project.md": frontmatter.compose({"title": "Shop", **values}, body)}


def section(number: int, body: str = "", **values: Any) -> Texts:
    given = {"id": f"§2.{number}", "title": f"Section {number}", **values}
    return {f"sections/2.{number}-s.md": frontmatter.compose(given, body)}


def detail(number: int, body: str = "", **values: Any) -> Texts:
    given = {"id": f"§3.{number}", "title": f"Details {number}", "section": "§2.1", **values}
    return {f"details/3.{number}-d.md": frontmatter.compose(given, body)}


def record(number: int, kind: str = "decision", body: str = "", **values: Any) -> Texts:
    identifier = f"{KINDS[kind].prefix}-2025-11-04-{number:03d}"
    given = {
        "id": identifier,
        "memory_id": f"019a4f3e-0000-7000-8000-{number:012d}",
        "memory_type": kind,
        "title": f"{kind.title()} number {number}",
        "status": KINDS[kind].statuses[0],
        "importance": 5,
        "timestamp": "2025-11-04T14:32:00Z",
        "project_id": "shop",
        "agent_id": "claude",
        **values,
    }
    path = f"{KINDS[kind].folder}/2025-11/{identifier}.md"
    return {path: frontmatter.compose({name: given.get(name) for name in ORDER}, body)}


def page(snapshot: Snapshot, marker: str) -> Page:
    found = snapshot.outline.find(marker)
    assert found is not None
    return found


def section_of(snapshot: Snapshot, marker: str = "§2.1") -> Level2:
    return levels.section(snapshot, Links(snapshot), page(snapshot, marker))


def detail_of(snapshot: Snapshot, marker: str = "§3.1") -> Level3:
    return levels.detail(snapshot, Links(snapshot), page(snapshot, marker))


def executive_of(snapshot: Snapshot) -> Level1:
    return levels.executive(snapshot, Links(snapshot))


def index_of(snapshot: Snapshot) -> Index:
    return levels.index(snapshot, Links(snapshot))


def ids(entries: Iterable[ListEntry]) -> list[str]:
    return [entry.id for entry in entries]


def everything(snapshot: Snapshot) -> str:
    making = renderer(snapshot)
    return "\n".join(making.page(name) for name in making.names())


BODY = "## Decision\n\nPostgreSQL it is.\n\n## Rationale\n\nOrders need transactions. MySQL lies.\n\n### Deeper\n\nx\n"
LOWERED = (
    "#### Decision\n\nPostgreSQL it is.\n\n#### Rationale\n\nOrders need transactions. MySQL lies.\n\n##### Deeper\n\nx"
)


def test_each_level_shows_its_part_of_a_decision() -> None:
    """The title; the title and a sentence of why; everything (rules.md#levels-of-pages)."""
    snapshot = memory(section(1), detail(1), record(1, body=BODY, title="Use PostgreSQL", section="§2.1", importance=8))
    link = "../decisions/2025-11/DEC-2025-11-04-001.md"
    (first,) = executive_of(snapshot).decisions
    assert (first.title, first.link, first.note) == ("Use PostgreSQL", link, "[§2.1](2.1-s.md)")
    (second,) = section_of(snapshot).decisions
    assert (second.title, second.link, second.note) == ("Use PostgreSQL", link, "Orders need transactions.")
    (third,) = detail_of(snapshot).decisions
    assert third.note == LOWERED


def test_a_decision_without_reasons_is_shown_with_its_text() -> None:
    snapshot = memory(
        section(1), record(1, body="## Decision\n\nJust so.\n", section="§2.1"), record(2, section="§2.1")
    )
    assert [entry.note for entry in section_of(snapshot).decisions] == ["Just so.", ""]


def test_closed_and_archived_records_are_on_no_page() -> None:
    texts: list[Texts] = [section(1), detail(1)]
    statuses = [(KINDS[name], status) for name in KNOWLEDGE for status in KINDS[name].statuses]
    for number, (kind, status) in enumerate(statuses, start=1):
        closed = "closed" if status in kind.closed_statuses else "open"
        common: dict[str, Any] = {"section": "§2.1", "severity": "critical" if kind.name == "issue" else None}
        texts.append(record(number, kind.name, status=status, title=f"{closed} {kind.name} {status}", **common))
        texts.append(
            record(number + 100, kind.name, title=f"archived {number}", is_archived=True, tags=["old"], **common)
        )
    text = everything(memory(*texts))
    assert "closed " not in text
    assert "archived " not in text
    assert "old" not in text
    assert all(f"open {kind.name} {status}" in text for kind, status in statuses if status not in kind.closed_statuses)


def test_records_are_on_the_pages_that_they_belong_to() -> None:
    snapshot = memory(
        section(1), section(2), detail(1), detail(2), detail(3, section="§2.2"),
        record(1, section="§2.1"), record(2, section="§3.1"), record(3, section="§3.2.7"), record(4, section="§2.2"),
        record(5), record(6, section="§4.src/a.py"),
    )  # fmt: skip

    def numbers(entries: Iterable[ListEntry]) -> list[int]:
        return sorted(int(entry.id[-3:]) for entry in entries)

    assert numbers(section_of(snapshot).decisions) == [1, 2, 3]
    assert numbers(section_of(snapshot, "§2.2").decisions) == [4]
    assert numbers(detail_of(snapshot).decisions) == [1, 2]  # the section's own stand on the first page of details
    assert numbers(detail_of(snapshot, "§3.2").decisions) == [3]
    assert numbers(detail_of(snapshot, "§3.3").decisions) == [4]
    assert index_of(snapshot).outside == 2


def test_record_of_a_missing_section_counts_as_without_section() -> None:
    assert index_of(memory(section(1), record(1, section="§2.99"), record(2, section="§3.7.1"))).outside == 2


def test_records_are_ordered_by_importance_then_newest_first() -> None:
    importances, days = (3, 9, 5, 5), ("04", "01", "02", "03")
    texts = [
        record(n, importance=importance, timestamp=f"2025-11-{day}T00:00:00Z", section="§2.1")
        for n, (importance, day) in enumerate(zip(importances, days, strict=True), start=1)
    ]
    snapshot = memory(section(1), detail(1), *texts)
    expected = [f"DEC-2025-11-04-00{n}" for n in (2, 4, 3, 1)]
    assert ids(executive_of(snapshot).decisions) == expected[:1]
    assert ids(section_of(snapshot).decisions) == expected
    assert ids(detail_of(snapshot).decisions) == expected


def test_level_1_has_critical_issues_then_high_ones_and_what_blocks_tasks() -> None:
    texts = [
        record(n, "issue", severity=severity, timestamp=f"2025-11-0{n}T00:00:00Z")
        for n, severity in enumerate(["critical", "high", "critical", None], start=1)
    ]
    texts.append(record(5, "state", body="## Blockers\n\n- Approval by the DBA team\n- A key\n"))
    found = executive_of(memory(*texts)).blockers
    assert ids(found) == ["ISS-2025-11-04-003", "ISS-2025-11-04-001", "ISS-2025-11-04-002", *["STA-2025-11-04-005"] * 2]
    assert found[3].title == "Approval by the DBA team"
    assert executive_of(memory()).blockers == ()


def test_level_1_keeps_its_limit() -> None:
    texts = [record(n, kind, severity="critical", importance=9) for n in range(1, 30) for kind in ("issue", "decision")]
    found = executive_of(memory(*texts))
    assert (len(found.decisions), len(found.blockers)) == (5, 5)


@pytest.mark.parametrize(
    ("declared", "sections", "expected"),
    [
        (45, [(10, 1)], 45),
        (0, [(10, 1)], 0),
        (None, [(10, 1), (40, 2)], 30),
        (None, [(None, 5), (100, 0.5), (0, 0.5)], 50),
        (None, [(None, 1)], None),
        (None, [], None),
    ],
)
def test_project_completion_is_declared_or_averaged_over_sections(
    declared: int | None, sections: list[tuple[int | None, float]], expected: int | None
) -> None:
    texts = [
        section(n, completion_percentage=percent, weight=weight)
        for n, (percent, weight) in enumerate(sections, start=1)
    ]
    snapshot = memory(project(completion_percentage=declared), *texts)
    assert snapshot.outline.percentage == expected
    shown = "" if expected is None else f"{expected} % complete"
    assert shown in renderer(snapshot).page("1.0-executive-summary.md")


def test_the_last_update_is_that_of_the_newest_page_or_record_shown() -> None:
    older = section(1, timestamp="2025-11-01T00:00:00Z", agent_id="ada")
    newer = record(1, timestamp="2025-11-02T00:00:00Z", agent_id="bob", importance=8)
    unseen = record(2, "learning", timestamp="2025-11-03T00:00:00Z", agent_id="cy")
    assert (executive_of(memory(older)).updated, executive_of(memory(older)).agent) == ("2025-11-01T00:00:00Z", "ada")
    assert executive_of(memory(older, newer, unseen)).agent == "bob"
    assert executive_of(memory()).updated == ""


def test_missing_project_page_is_replaced_by_the_settings() -> None:
    config = Config(format=1, project="my_shop*", description="Sells [things]")
    assert (executive_of(memory(config=config)).title, executive_of(memory(config=config)).goal) == (
        "my_shop\\*", "Sells \\[things\\]",
    )  # fmt: skip


def test_index_lists_open_work_by_place() -> None:
    snapshot = memory(
        section(1, "It sells. And more.\n", completion_percentage=20), section(2, "## Overview\n\nIt ships.\n"),
        detail(1, "## One\n\n## 3.1.4 Four\n"), detail(2, section="§2.9", title="Lost"),
        record(1, "issue", section="§2.1", tags=["db"]), record(2, "issue", section="§3.1", tags=["db", "api"]),
        record(3, "issue", section="§2.2", tags=["db"]),
    )  # fmt: skip
    found = index_of(snapshot)
    assert [(s.entry.note, s.state) for s in found.sections] == [
        ("It sells.", "20 %, 2 open issues"), ("It ships.", "1 open issue"),
    ]  # fmt: skip
    assert [(e.id, e.link) for e in found.sections[0].details] == [
        ("§3.1", "3.1-d.md"), ("§3.1.1", "3.1-d.md#311-one"), ("§3.1.4", "3.1-d.md#314-four"),
    ]  # fmt: skip
    assert [(entry.id, entry.title) for entry in found.loose] == [("§3.2", "Lost")]
    tags = {entry.title: entry.id for entry in found.tags}
    assert tags["api"] == "§3.1"
    assert tags["db"] in ("§2.1", "§2.2", "§3.1")
    assert found.shortcuts == ()


def test_the_index_folds_the_pages_with_the_most_headings_if_all_have_more_than_2000() -> None:
    def headings(number: int) -> str:
        return "".join(f"## Heading {n}\n\n" for n in range(number))

    few = [detail(number, headings(400)) for number in range(1, 6)]
    assert index_of(memory(section(1), *few)).folded is None
    found = index_of(memory(section(1), *few[:4], detail(5, headings(401)), detail(6, headings(3))))
    assert found.folded == FoldedHeadings(2_004, 400)
    entries = found.sections[0].details
    assert len(entries) == 6 + 4 * 400 + 3
    assert [entry.note for entry in entries if entry.id in ("§3.4", "§3.5", "§3.6")] == ["", "401 headings", ""]


def test_shortcuts_lead_to_records_and_repeat_nothing_of_the_index() -> None:
    decisions = [record(1, section="§2.1", importance=9), record(2)]
    index = index_of(memory(section(1), *decisions, record(3, "issue", severity="critical")))
    links = {entry.title: (entry.id, entry.link) for entry in index.shortcuts}
    assert links == {
        "Current blockers": ("§1.0", "1.0-executive-summary.md"),
        "Reasons for “Decision number 1”": ("DEC-2025-11-04-001", "../decisions/2025-11/DEC-2025-11-04-001.md"),
        "Reasons for “Decision number 2”": ("DEC-2025-11-04-002", "../decisions/2025-11/DEC-2025-11-04-002.md"),
    }


def test_decision_of_default_importance_is_no_key_decision() -> None:
    usual = [record(1, importance=7), record(2, importance=5)]
    assert ids(executive_of(memory(record(3, importance=8), *usual)).decisions) == ["DEC-2025-11-04-003"]
    assert "no decision has an importance above the default" in renderer(memory(*usual)).page(
        "1.0-executive-summary.md"
    )
    assert "Key decisions" not in renderer(memory()).page("1.0-executive-summary.md")


def test_tag_links_to_the_page_with_most_of_its_records() -> None:
    texts = [record(n, section=place, tags=["db"]) for n, place in enumerate(["§2.2", "§2.1", "§2.2"], start=1)]
    needs = {entry.title: entry.id for entry in index_of(memory(section(1), section(2), *texts)).tags}
    assert needs["db"] == "§2.2"


def test_other_text_of_a_page_is_kept_and_text_without_headings_is_its_overview() -> None:
    body = "Begins.\n\n## Status\n\nGood.\n\n## Notes\n\nMine.\n\n## next ACTIONS\n\n- one\n- two\n  lines\n"
    found = section_of(memory(section(1, body)))
    assert (found.overview, found.status, found.next_actions) == ("Begins.", "Good.", ("one", "two lines"))
    assert found.more == "## Notes\n\nMine."
    top = executive_of(memory(project("## Goal\n\nSell.\n\n## Priorities\n\n1. a\n2. b\n\n## Budget\n\nNone.\n")))
    assert (top.goal, top.priorities, top.more) == ("Sell.", ("a", "b"), "## Budget\n\nNone.")


@pytest.mark.parametrize("text", ["```\nopen\n", "Text\n\n~~~\nopen\n", "```\nclosed\n```\n\nText\n"])
@pytest.mark.parametrize("heading", ["", "## Goal\n\n", "## Overview\n\n", "## Status\n\n", "## Mine\n\n"])
def test_unclosed_code_on_a_page_hides_nothing_below_it(heading: str, text: str) -> None:
    body = heading + text
    making = renderer(memory(project(body), section(1, body), detail(1, body), record(1, section="§2.1")))
    for name in making.names():
        tokens = MarkdownIt("commonmark").parse(making.page(name))
        code = {token.content for token in tokens if token.type in ("fence", "code_block")}
        assert code <= {"open\n", "closed\n"}, name


def test_the_index_leads_from_a_section_or_heading_to_the_code_by_its_marker() -> None:
    body = "## Schema\n\nSee §4.gone and §4.src.db.\n\n## Money\n\nNo code.\n"
    snapshot = memory(section(1, paths=("!src/x.py", "src/**")), detail(1, body), contents={"src/db.py": b"x"})
    index = index_of(snapshot)
    assert [entry.id for entry in index.sections[0].paths] == ["§4.!src/x.py", "§4.src"]
    assert [(entry.title, entry.note) for entry in index.sections[0].details] == [
        ("Details 1", ""),
        ("Schema", "[`§4.src.db`](../../src/db.py)"),
        ("Money", ""),
    ]
