"""A pack never exceeds its budget, is not empty while anything fits, and no record in it can pass for anything else."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from memctl.errors import MemctlError
from memctl.pack import budget_fill, items, rank, rehydrate
from memctl.pack.budget_fill import TOO_LARGE, Pack, fill
from memctl.pack.draft import NOTICED, REST, PackPart
from memctl.pack.formats import markdown
from memctl.pack.rehydrate import TITLES
from memctl.record.config import Config
from memctl.record.notices import for_model
from memctl.record.record import Record
from memctl.text.model_text import visible
from memctl.tokens.families import FAMILIES, Family
from tests.conftest import slow
from tests.generated import COUNTERS, NOW, Memory, bodies, budgets, families, memories, memory, tasks

FORMS = sorted(budget_fill.FORMATS)
forms = st.sampled_from([*FORMS, budget_fill.AUTO])


def open_ids(made: Memory) -> list[str]:
    return sorted(record.id for record in rehydrate.current_records(made.snapshot, NOW))


def whole(made: Memory, identifier: str) -> str:
    record = next(record for record in made.records if record.id == identifier)
    return markdown.markdown_item(items.of_record(made.snapshot, record, {}))


def headings(text: str) -> list[tuple[int, str]]:
    """The headings of levels 1 to 3 in a Markdown text that stand in no list or quotation: level and text."""
    tokens = MarkdownIt().parse(text)
    return [
        (int(token.tag[1]), tokens[place + 1].content)
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0 and token.tag in ("h1", "h2", "h3")
    ]


@settings(max_examples=4 * settings.default.max_examples)
@given(memories, budgets, families, tasks, forms)
def test_a_pack_keeps_to_its_budget_and_says_something(
    made: Memory, budget: int, family: str, task: str, form: str
) -> None:
    pack = made.pack(budget, family, task, form)
    assert 0 < COUNTERS[family].tokens(pack.text) == pack.tokens <= budget == pack.budget
    assert pack.format in FORMS


@given(memories, st.integers(50, 600), families, forms)
def test_a_pack_is_not_empty_while_anything_fits(made: Memory, budget: int, family: str, form: str) -> None:
    pack = made.pack(budget, family, "", form)
    if pack.included():
        return
    draft = made.draft(budget, family)
    for item in (*draft.items(), *(draft.whole() if draft.whole else ())):
        if not item.body.strip():
            continue  # its title in the list says all
        others = tuple(left for left in pack.left_out if left.id != item.id)
        part = PackPart(item.kind, TITLES[item.kind], (item,))
        alone = replace(draft, parts=(part,), opening=(NOTICED,), closing=(), others=others, whole=None)
        assert not fill(alone, pack.format, budget, COUNTERS[family].tokens).included()


@given(memories, budgets, families, tasks)
def test_records_of_a_pack_are_whole(made: Memory, budget: int, family: str, task: str) -> None:
    pack = made.pack(budget, family, task)
    assert all(f"\n{visible(whole(made, identifier))}\n" in pack.text for identifier in pack.included())


@given(memories, budgets, families, tasks)
def test_every_open_record_is_included_or_left_out(made: Memory, budget: int, family: str, task: str) -> None:
    pack = made.pack(budget, family, task)
    found = [*pack.included(), *(record.id for record in pack.left_out)]
    assert len(found) == len(set(found))
    assert set(found) >= set(open_ids(made))
    if not task:  # closed records answer tasks
        assert sorted(found) == open_ids(made)


@given(memories, budgets, families, tasks, forms, st.randoms(use_true_random=False))
def test_the_same_memory_makes_the_same_pack(
    made: Memory, budget: int, family: str, task: str, form: str, dice: Any
) -> None:
    shuffled = list(made.records)
    dice.shuffle(shuffled)
    again = Memory(shuffled, dict(reversed(made.texts.items())))
    assert again.pack(budget, family, task, form) == made.pack(budget, family, task, form)


@given(memories, budgets, families, tasks, st.sampled_from(("xml", "event")))
def test_xml_pack_parses_to_exactly_its_records(made: Memory, budget: int, family: str, task: str, form: str) -> None:
    pack = made.pack(budget, family, task, form)
    root = ElementTree.fromstring(pack.text)
    records = [element for element in root.iter() if element.get("importance")]
    assert sorted(element.get("id", "") for element in records) == sorted(pack.included())
    for element in records:
        fields = made.item(element.get("id", "")).fields()
        assert element.get("title") == " ".join(made.item(element.get("id", "")).title.split())
        shown = ["".join(child.itertext()) for child in element]
        told = [field.value if isinstance(field.value, str) else "".join(field.value) for field in fields]
        assert shown == [visible(as_xml(text)) for text in told]


def as_xml(text: str) -> str:
    """A text as an XML reader gives it back: what XML can't hold is replaced."""
    return re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]", "\ufffd", text).replace("\r", "\n")


@given(memories, budgets, families, tasks)
def test_yaml_pack_parses_to_exactly_its_records(made: Memory, budget: int, family: str, task: str) -> None:
    pack = made.pack(budget, family, task, "yaml")
    top = yaml.safe_load(pack.text)
    entries = [entry for value in top.values() if isinstance(value, list) for entry in value]
    assert sorted(next(iter(entry)) for entry in entries) == sorted(pack.included())
    for entry in entries:
        item = made.item(next(iter(entry)))
        told = [field.value if isinstance(field.value, str) else list(field.value) for field in item.fields()]
        assert list(entry.values())[2:] == [
            for_model(text) if isinstance(text, str) else [for_model(each) for each in text] for text in told
        ]


@given(memories, budgets, families, tasks)
@example(memory(({"title": "Login is slow"}, "x")), 60, "claude", "")
def test_in_a_token_optimised_pack_only_lines_of_memctl_are_not_indented(
    made: Memory, budget: int, family: str, task: str
) -> None:
    pack = made.pack(budget, family, task, "tokens")
    own = [line for line in pack.text.split("\n") if line and not line.startswith(" ")]
    left = {record.id for record in pack.left_out}
    labels = (
        "MEMORY",
        "DATA:",
        "GOAL:",
        "PROJECT:",
        "SINCE:",
        "STATUS:",
        "DECISIONS:",
        "ISSUES:",
        "LEARNED:",
        "PROPOSED:",
        "RECORDS:",
        "CRITICAL:",
        "UNMET TASK:",
        "OPEN RISKS:",
        "ALSO OPEN:",
        "BESIDES:",
        "TITLES:",
        "MORE TITLES:",
        "EXPIRED:",
    )
    heads = [line for line in own if not line.startswith((*labels, "LEFT OUT", "NEXT:"))]
    assert sorted(line.split()[0] for line in heads if line.split()[0] in pack.included()) == sorted(pack.included())
    assert all(line.split()[0] in {*pack.included(), *left} for line in heads)


@given(memories, st.integers(2000, 30_000), families, tasks)
@example(memory(({}, "- ```\n# x"), ({}, "```\n# code")), 5000, "gpt", "")
@example(memory(({}, "x\n===")), 5000, "gpt", "")
def test_record_bodies_add_or_hide_no_headings_of_a_pack(made: Memory, budget: int, family: str, task: str) -> None:
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
    assert len(parts) == len(set(parts))
    ours = {"Most important", *TITLES.values(), REST.title, rehydrate.BESIDES.title}
    assert set(parts) <= {*ours, "Proposed, not accepted yet", "Only by title", "Left out"}
    assert ("Left out" in parts) == ("\n## Left out\n\n" in pack.text)


@given(bodies)
def test_no_line_of_a_record_looks_like_a_heading_of_the_pack(body: str) -> None:
    text = whole(memory(({}, body)), "DEC-2025-11-04-001")
    assert headings(text + "\n\n## Left out\n") == [(3, "Title 1"), (2, "Left out")]


@pytest.mark.parametrize("family", FAMILIES.values(), ids=lambda family: family.name)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("budget", [50, 75, *slow(51, 60, 100, 150)])
def test_a_small_budget_is_kept_and_used(family: Family, form: str, budget: int) -> None:
    made = memory(*(({"title": "word " * 19 + "x"}, "text " * 500) for _ in range(40)))
    pack = made.pack(budget, family.name, "", form)
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
@pytest.mark.parametrize("form", FORMS)
def test_a_pack_of_a_wordy_project_is_not_empty(config: Config, form: str) -> None:
    pack = memory(({}, "body"), config=config).pack(50, "claude", "", form)
    assert 0 < pack.tokens <= 50


@pytest.mark.parametrize("form", FORMS)
def test_a_budget_too_small_for_anything_is_refused_with_the_least(form: str) -> None:
    made = memory(({}, "body"))
    with pytest.raises(MemctlError) as caught:
        made.pack(1, "claude", "", form)
    least = int(re.findall(r"[\d,]+", caught.value.hint or "")[-1].replace(",", ""))
    assert made.pack(least, "claude", "", form).tokens == least


@pytest.mark.parametrize("form", FORMS)
def test_line_of_half_a_megabyte_is_included_whole_or_left_out(form: str) -> None:
    made = memory(({"title": "Long"}, "x y " * 150_000), ({"title": "Short"}, "fits"))
    pack = made.pack(1_000_000, "gpt", "", form)
    assert sorted(pack.included()) == ["DEC-2025-11-04-001", "DEC-2025-11-04-002"]
    assert made.pack(2_000, "gpt", "", form).included() == ["DEC-2025-11-04-002"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("budget", [200_000, *slow(50, 200, 2_000)])
def test_budgets_up_to_the_largest_are_kept(form: str, budget: int) -> None:
    made = memory(*(({"memory_type": "issue", "severity": "high"}, f"word {number} " * 400) for number in range(300)))
    pack = made.pack(budget, "claude", "", form)
    assert 0 < pack.tokens <= budget


def test_records_with_the_same_id_are_both_in_the_pack() -> None:
    """Two clones may have given the same id; neither record may vanish."""
    same = {"id": "DEC-2025-11-04-001"}
    made = memory(({**same, "title": "First"}, "body one"), ({**same, "title": "Second"}, "body two"))
    pack = made.pack(5000, "gpt")
    for title in ("First", "Second"):
        assert title in pack.text or title in [record.title for record in pack.left_out]


@pytest.mark.parametrize("task", ["", "login"])
def test_two_states_with_one_title_are_both_in_the_pack(task: str) -> None:
    state = {"memory_type": "state", "title": "Login"}
    older, newer = {**state, "timestamp": "2025-11-01T00:00:00Z"}, {**state, "timestamp": "2025-11-03T00:00:00Z"}
    pack = memory((older, "login"), (newer, "login")).pack(5000, "gpt", task)
    assert sorted(pack.parts["state"]) == ["STA-2025-11-04-001", "STA-2025-11-04-002"]


def test_a_large_budget_holds_everything_that_is_chosen() -> None:
    made = memory(*(({"title": f"Number {number}"}, f"short {number}") for number in range(8)))
    pack = made.pack(30_000, "claude")
    assert pack.left_out == []
    assert "Left out" not in pack.text


def test_a_record_too_large_for_the_budget_is_listed() -> None:
    made = memory(({"importance": 10, "title": "Huge"}, "word " * 5000), ({"title": "Small"}, "fits"))
    pack = made.pack(1000, "gpt")
    before, _, after = pack.text.partition("### Small")
    assert "\n\nOnly by title: DEC-2025-11-04-001 Huge\n\n" in before
    assert after
    assert [left.why for left in pack.left_out] == [TOO_LARGE]


def test_title_of_the_weightiest_record_precedes_records_without_text() -> None:
    """In a small budget a record of a title alone would fit and take the place of a weightier one."""
    light = [({"title": f"Light {number}"}, "") for number in range(12)]
    made = memory(({"importance": 10, "title": "Never store card numbers"}, "Whoever asks for it. " * 90), *light)
    for budget in (170, 200, 300, 600):
        text = made.pack(budget, "claude").text
        place = text.find("### Light")
        assert "Never store card numbers" in text[: place if place >= 0 else None]


@given(memories, budgets, families, tasks, forms)
def test_pack_contains_no_control_characters(made: Memory, budget: int, family: str, task: str, form: str) -> None:
    text = made.pack(budget, family, task, form).text
    assert text.splitlines() == text.split("\n")[:-1]
    assert visible(text) == text


def first_class(made: Memory) -> set[str]:
    return {record.id for found in rehydrate.choose(open_records(made), NOW).values() for record in found}


def open_records(made: Memory) -> list[Record]:
    return rehydrate.current_records(made.snapshot, NOW)


def named(pack: Pack) -> set[str]:
    """The ids of the records that a pack in Markdown has whole or by title."""
    return {*pack.included(), *(left.id for left in pack.left_out if re.search(rf"{left.id} \S", pack.text))}


@settings(max_examples=4 * settings.default.max_examples)
@given(memories, st.integers(300, 4_000), st.integers(1, 4_000), families)
def test_a_greater_budget_loses_no_record_of_the_first_class(made: Memory, small: int, more: int, family: str) -> None:
    # A title of 100 emoji has 300 tokens: that a pack of hardly more names it is not promised.
    assume(small >= 1_000 or all(len(record.title.encode()) < 400 for record in open_records(made)))
    before, after = made.pack(small, family), made.pack(small + more, family)
    first = first_class(made)
    assert first & named(before) <= named(after)
    issues = {record.id for record in open_records(made) if record.severity in rank.ISSUE_SEVERITIES} & first
    issues = {one for one in issues if made.item(one).body.strip()}
    leading = {one for one in first if made.item(one).weight >= rank.CRITICAL}
    if not leading.intersection(after.included()) - set(before.included()):
        assert len(issues.intersection(before.included())) <= len(issues.intersection(after.included()))
    for pack in (before, after):
        assert COUNTERS[family].tokens(pack.text) <= pack.budget
        assert len(pack.included()) == len(set(pack.included()))
        assert not set(pack.included()) & {left.id for left in pack.left_out}
