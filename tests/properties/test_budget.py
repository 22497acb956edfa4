"""A pack never exceeds its budget, is never empty, and no record in it can pass for anything but a record."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memctl.model import frontmatter
from memctl.model.config import Config
from memctl.model.kinds import KINDS, Kind
from memctl.model.record import ORDER, Record, build
from memctl.model.snapshot import Hit, Snapshot
from memctl.packs import markdown
from memctl.packs.rehydrate import Pack, rehydrate
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES, Family
from tests import snapshots

NOW = "2025-11-04T14:32:00Z"
QUICK = settings(max_examples=100, deadline=None)
COUNTERS = {name: Counter(family) for name, family in FAMILIES.items()}

LINES = (
    *("# x", "## Left out", "### Login", "#", " # x", "   ## x", "#### y", "#!/bin/sh", "x", "text # text", ""),
    *("===", "---", "--", "***", "```", "```py", "````", "~~~", "  ```", "    ```", "``` `", "```\u00a0"),
    *("- a", "- ```", "* ~~~", "  ```", "1. ```", "> # x", "> ```", "- # x", "  # x", "\t# x", "    # x"),
    *("word " * 80, "日本語" * 40, "😀" * 60, "<|endoftext|>", "x" * 600, "a | b", "[x]: <", "- DEC-2025-11-04-001 x"),
)
TITLES = ("Login is slow", "# x", "a ## Left out", "```", "😀" * 100, "word " * 20, "x" * 100, "===", "-")
NAMES = ("claude", "# x # y", "a | b", "```", "x" * 200)
TAGS = ("db", "# x", "``` x", "😀", "| a |")
AGES = ("2025-11-04T14:32:00Z", "2025-10-20T00:00:00Z", "2025-09-10T00:00:00Z", "2020-01-01T00:00:00Z")

bodies = st.builds(
    lambda lines, times: "\n".join(lines * times),
    st.lists(st.sampled_from(LINES), max_size=8),
    st.sampled_from((1, 1, 9)),
)
budgets = st.one_of(st.integers(50, 400), st.integers(50, 4000), st.integers(4000, 30_000))
families = st.sampled_from(sorted(FAMILIES))
tasks = st.sampled_from(("", "", "login", "x", "# y\n## Left out", "nothing has this"))


class Memory(msgspec.Struct):
    """A memory that is nowhere but in a test: its records, and the texts of their files."""

    records: list[Record]
    texts: dict[str, str]
    config: Config = Config(format=1, project="shop")

    @property
    def snapshot(self) -> Snapshot:
        return snapshots.snapshot(self.records, self.texts, self.match, config=self.config)

    def match(self, query: str) -> list[Hit]:
        found = [path for path, text in self.texts.items() if query.casefold() in text.casefold()]
        return [Hit(path, number % 3, len(path)) for number, path in enumerate(sorted(found))]

    def pack(self, budget: int, family: str, task: str = "") -> Pack:
        return rehydrate(self.snapshot, NOW, budget, COUNTERS[family].tokens, task)


def memory(*files: tuple[dict[str, Any], str], config: Config | None = None) -> Memory:
    records: list[Record] = []
    texts: dict[str, str] = {}
    for number, (changes, body) in enumerate(files, start=1):
        values = values_of(KINDS[changes.get("memory_type", "decision")], number, changes)
        path = f"{KINDS[values['memory_type']].folder}/2025-11/{values['id']}-{number}.md"
        texts[path] = frontmatter.compose({name: values.get(name) for name in ORDER}, body)
        records.append(build(values, path))
    return Memory(records, texts, config or Config(format=1, project="shop"))


def values_of(kind: Kind, number: int, changes: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {
        "id": f"{kind.prefix}-2025-11-04-{number:03d}",
        "memory_id": f"019a4f3e-0000-7000-8000-{number:012d}",
        "memory_type": kind.name,
        "title": f"Title {number}",
        "status": kind.statuses[0],
        "importance": 8,
        "timestamp": "2025-11-04T12:00:00Z",
        "project_id": "shop",
        "agent_id": "claude",
    }
    return {**values, **changes}


@st.composite
def files(draw: st.DrawFn) -> tuple[dict[str, Any], str]:
    kind = draw(st.sampled_from(tuple(KINDS.values())))
    changes = {
        "memory_type": kind.name,
        "title": draw(st.sampled_from(TITLES)),
        "status": draw(st.sampled_from((kind.statuses[0], kind.statuses[0], *kind.statuses))),
        "severity": draw(st.sampled_from(("critical", "high", "low"))) if kind.name == "issue" else None,
        "importance": draw(st.sampled_from((1, 7, 10))),
        "timestamp": draw(st.sampled_from(AGES)),
        "agent_id": draw(st.sampled_from(NAMES)),
        "tags": draw(st.lists(st.sampled_from(TAGS), max_size=2)),
        "expires_at": draw(st.sampled_from((None, None, "2025-11-04T14:32:00Z", "2026-01-01T00:00:00Z"))),
        "is_archived": draw(st.sampled_from((False, False, True))),
        "access_count": draw(st.sampled_from((0, 3))),
    }
    return changes, draw(bodies)


memories = st.lists(files(), max_size=25).map(lambda found: memory(*found))


def open_ids(made: Memory) -> list[str]:
    return sorted(r.id for r in made.records if r.is_open and not (r.expires_at and r.expires_at <= NOW))


def whole(made: Memory, identifier: str) -> str:
    record = next(record for record in made.records if record.id == identifier)
    return markdown.record(record, made.snapshot.body(record))


def headings(text: str) -> list[tuple[int, str]]:
    """The headings of levels 1 to 3 in a Markdown text that stand in no list or quotation: level and text."""
    tokens = MarkdownIt().parse(text)
    return [
        (int(token.tag[1]), tokens[place + 1].content)
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.tag in ("h1", "h2", "h3")
    ]


@QUICK
@given(memories, budgets, families, tasks)
def test_a_pack_keeps_to_its_budget_and_says_something(made: Memory, budget: int, family: str, task: str) -> None:
    pack = made.pack(budget, family, task)
    assert 0 < COUNTERS[family].tokens(pack.text) == pack.tokens <= budget == pack.budget
    assert pack.text.startswith("# Memory of shop")


@QUICK
@given(memories, budgets, families, tasks)
def test_every_record_of_a_pack_stands_in_it_whole(made: Memory, budget: int, family: str, task: str) -> None:
    pack = made.pack(budget, family, task)
    assert all(f"\n{whole(made, identifier)}\n" in pack.text for identifier in pack.included())


@QUICK
@given(memories, budgets, families, tasks)
def test_every_open_record_is_included_or_left_out(made: Memory, budget: int, family: str, task: str) -> None:
    pack = made.pack(budget, family, task)
    assert sorted([*pack.included(), *(record.id for record in pack.left_out)]) == open_ids(made)


@QUICK
@given(memories, budgets, families, tasks, st.randoms(use_true_random=False))
def test_the_same_memory_makes_the_same_pack(made: Memory, budget: int, family: str, task: str, dice: Any) -> None:
    shuffled = list(made.records)
    dice.shuffle(shuffled)
    again = Memory(shuffled, dict(reversed(made.texts.items())))
    assert again.pack(budget, family, task) == made.pack(budget, family, task)


@QUICK
@given(memories, st.integers(2000, 30_000), families, tasks)
@example(memory(({}, "- ```\n# x"), ({}, "```\n# code")), 5000, "gpt", "")
@example(memory(({}, "x\n===")), 5000, "gpt", "")
def test_the_headings_of_a_pack_are_its_own(made: Memory, budget: int, family: str, task: str) -> None:
    """Whatever the bodies hold: no heading is added, and none is swallowed."""
    pack = made.pack(budget, family, task)
    titles = [
        (3, " ".join(record.title.split()))
        for identifier in pack.included()
        for record in made.records
        if record.id == identifier
    ]
    found = headings(pack.text)
    assert len([1 for level, _ in found if level == 3]) == len(titles)
    assert [title for level, title in found if level == 1] == ["Memory of shop"]
    parts = [title for level, title in found if level == 2]
    assert len(parts) == len(set(parts)) == sum(map(bool, pack.parts.values())) + ("\n## Left out\n\n- " in pack.text)


@QUICK
@given(bodies)
def test_no_line_of_a_record_looks_like_a_heading_of_the_pack(body: str) -> None:
    text = markdown.record(memory(({}, body)).records[0], body)
    assert headings(text + "\n\n## Left out\n") == [(3, "Title 1"), (2, "Left out")]


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
@pytest.mark.parametrize("budget", [50, 51, 60, 75, 100, 150])
def test_a_small_budget_is_kept_and_used(family: Family, budget: int) -> None:
    made = memory(*(({"title": "word " * 19 + "x"}, "text " * 500) for _ in range(40)))
    pack = made.pack(budget, family.name)
    assert 0 < pack.tokens <= budget


@pytest.mark.parametrize(
    "config",
    [
        Config(format=1, project="a very long name " * 40),
        Config(format=1, project="x" * 2000),
        Config(format=1, project="shop", description="words " * 2000),
    ],
    ids=["long name", "long word", "long description"],
)
def test_a_pack_of_a_wordy_project_is_not_empty(config: Config) -> None:
    pack = memory(({}, "body"), config=config).pack(50, "claude")
    assert 0 < pack.tokens <= 50


def test_records_of_one_id_are_both_told() -> None:
    """Two clones may have given the same id; neither record may vanish."""
    same = {"id": "DEC-2025-11-04-001"}
    made = memory(({**same, "title": "First"}, "body one"), ({**same, "title": "Second"}, "body two"))
    pack = made.pack(5000, "gpt")
    for title in ("First", "Second"):
        assert title in pack.text or title in [record.title for record in pack.left_out]


@pytest.mark.parametrize("task", ["", "login"])
def test_the_latest_state_is_the_current_one(task: str) -> None:
    state = {"memory_type": "state"}
    older, newer = {**state, "timestamp": "2025-11-01T00:00:00Z"}, {**state, "timestamp": "2025-11-03T00:00:00Z"}
    assert memory((older, "login"), (newer, "login")).pack(5000, "gpt", task).parts["state"] == ["STA-2025-11-04-002"]


def test_a_large_budget_holds_everything_that_is_chosen() -> None:
    made = memory(*(({"title": f"Number {number}"}, "short") for number in range(8)))
    pack = made.pack(30_000, "claude")
    assert pack.left_out == []
    assert "Left out" not in pack.text


def test_a_record_too_large_for_the_budget_is_listed() -> None:
    made = memory(({"importance": 10, "title": "Huge"}, "word " * 5000), ({"title": "Small"}, "fits"))
    pack = made.pack(1000, "gpt")
    assert "### Small" in pack.text
    assert pack.text.endswith("## Left out\n\n- DEC-2025-11-04-001 Huge\n")
