"""Merging records and pages: nothing that either side said is lost, and what can't both hold is marked."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from memctl.git.git import GitFailed
from memctl.record import content_fields, frontmatter, pages, record_form
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import KINDS, STATE
from memctl.record.parser import parse
from memctl.record.record import LISTS, ORDER
from memctl.text import headings
from memctl.write.merge import MergeResult, merge
from tests.conftest import examples

QUICK = examples(80)
SPAWNING = examples(25)  # examples that start git
PATH = "states/2025-11/STA-2025-11-04-001.md"
BODY = """## Task

What it is.

## Remaining

- one
- two

## Next actions

- first
- second
"""


def values(**changes: Any) -> dict[str, Any]:
    """The front matter of a state, with some values changed."""
    found: dict[str, Any] = {
        "id": "STA-2025-11-04-001",
        "memory_id": "019a4f3e-7b1c-7d2e-8f3a-4b5c6d7e8f90",
        "memory_type": "state",
        "title": "Task",
        "status": "active",
        "importance": 5,
        "timestamp": "2025-11-04T14:32:00Z",
        "project_id": "shop",
        "agent_id": "claude",
    }
    found.update(changes)
    return {name: found[name] for name in (*ORDER, *sorted(found.keys() - set(ORDER))) if name in found}


def state(body: str = BODY, **changes: Any) -> str:
    return frontmatter.compose(values(**changes), body)


def read(text: str) -> dict[str, Any]:
    return frontmatter.read(text)[0]


def clean_merge(base: str, ours: str, theirs: str) -> str:
    """The result of a merge that must not conflict."""
    found = merge(base, ours, theirs)
    assert found.conflicts == (), found.text
    return found.text


def one_key(key: str, base: Any, ours: Any, theirs: Any) -> tuple[Any, ...]:
    """What becomes of one key in either direction; the conflicts, if there are any."""
    versions = [state(**({} if value is None else {key: value})) for value in (base, ours, theirs)]
    results = [merge(versions[0], *pair) for pair in (versions[1:], versions[:0:-1])]
    return tuple(result.conflicts or read(result.text).get(key) for result in results)


def test_changes_of_both_sides_are_merged() -> None:
    ours = state(BODY.replace("- two", "- two\n- three"), importance=8, section="§2.1")
    theirs = state(BODY.replace("What it is.", "What it really is."), title="Better", expires_at="2026-01-01T00:00:00Z")
    expected = state(
        BODY.replace("- two", "- two\n- three").replace("What it is.", "What it really is."),
        importance=8,
        section="§2.1",
        title="Better",
        expires_at="2026-01-01T00:00:00Z",
    )
    assert clean_merge(state(), ours, theirs) == clean_merge(state(), theirs, ours) == expected


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "found"),
    [
        (["a"], ["a", "b"], ["a", "c"], ["a", "b", "c"]),
        (["a", "b", "c"], ["b", "c"], ["a", "b"], ["b"]),
        (["a", "b"], ["b", "a", "x"], ["a", "b", "y"], ["b", "a", "x", "y"]),
        (["a"], None, ["a", "b"], ["b"]),
        (["a", "b"], ["a"], ["b"], None),
        (None, ["a"], ["b", "a"], ["a", "b"]),
    ],
)
def test_merged_lists_have_all_additions_and_removals(base: Any, ours: Any, theirs: Any, found: Any) -> None:
    for name in ("tags", "unknown"):
        there, back = one_key(name, base, ours, theirs)
        assert there == found
        assert sorted(back or []) == sorted(found or [])


@pytest.mark.parametrize(
    ("key", "base", "ours", "theirs", "found"),
    [
        ("access_count", 3, 5, 10, 12),
        ("access_count", None, 2, 2, 2),  # nothing else differs: the same commit on both sides
        ("access_count", 9, 0, 2, 0),
        ("last_accessed", "2025-11-01T00:00:00Z", "2025-11-03T00:00:00Z", "2025-11-02", "2025-11-03T00:00:00Z"),
        ("archived_at", None, "2025-11-03T00:00:00Z", "2025-11-04T00:00:00Z", "2025-11-04T00:00:00Z"),
        ("is_archived", None, True, False, True),
        ("status", "active", "done", "superseded", "superseded"),
        ("status", "superseded", "done", "active", "done"),
    ],
)
def test_keys_are_merged_by_their_own_rules(key: str, base: Any, ours: Any, theirs: Any, found: Any) -> None:
    assert one_key(key, base, ours, theirs) == (found, found)


def test_the_same_count_on_both_sides_is_counted_twice() -> None:
    ours, theirs = state(access_count=5, importance=8), state(access_count=5, title="Better")
    assert read(clean_merge(state(access_count=3), ours, theirs))["access_count"] == 7


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_the_further_status_wins_and_the_lost_one_is_named(kind: Any) -> None:
    allowed = {step.name: step.following for step in kind.steps}
    for ours, theirs in itertools.permutations(kind.statuses, 2):
        base = next((status for status in kind.statuses if status not in (ours, theirs)), None)
        versions = [state(memory_type=kind.name, status=status) for status in (base, ours, theirs) if status]
        there, back = merge(versions[0], *versions[1:]), merge(versions[0], versions[2], versions[1])
        if there.conflicts:
            assert there.conflicts == back.conflicts == ("status",)
            # A handoff moves by its answers alone, which no table of edits has.
            answers = kind.statuses[1:] if kind.name == "handoff" else ()
            assert ours in (answers or allowed["open" if kind.name == "issue" else "proposed"])
            continue
        found = read(there.text)["status"]
        lost = theirs if found == ours else ours
        assert read(back.text)["status"] == found
        assert there.notes == back.notes == (f"status is now {found}, and no longer {lost}",)
        assert found in kind.closed_statuses or lost not in kind.closed_statuses


@pytest.mark.parametrize(
    ("key", "ours", "theirs"),
    [
        ("title", "Ours", "Theirs"),
        ("importance", 8, 9),
        ("section", "§2.1", "§2.2"),
        ("completion_percentage", 10, 20),
        ("tags", "no list", ["a"]),
        ("access_count", "many", 3),
        ("last_accessed", "yesterday", "2025-11-04"),
        ("is_archived", "perhaps", True),
        ("status", "mine", "done"),
        ("unknown", {"a": 1}, {"a": 2}),
        ("unknown", [["a"]], [["b"]]),
        ("unknown", None, 7),
    ],
)
def test_conflicting_values_are_marked_and_refused_until_decided(key: str, ours: Any, theirs: Any) -> None:
    base = 5 if key in ("unknown", "importance") else None
    versions = [state(**({} if value is None else {key: value})) for value in (base, ours, theirs)]
    found = merge(*versions)
    assert found.conflicts == (key,)
    with pytest.raises(InvalidRecord, match="this line begins an unresolved merge conflict"):
        parse(found.text, PATH)
    assert take(found.text, 0) == versions[1]
    assert take(found.text, 1) == versions[2]


def take(text: str, side: int) -> str:
    """A text with every conflict decided for one side."""
    kept, inside = [], -1
    for line in text.splitlines(keepends=True):
        if line.startswith("<<<<<<< ours"):
            inside = 0
        elif line == "=======\n" and inside == 0:
            inside = 1
        elif line.startswith(">>>>>>> theirs"):
            inside = -1
        elif inside in (-1, side):
            kept.append(line)
    return "".join(kept)


def test_a_conflict_of_one_key_leaves_the_others_merged() -> None:
    found = merge(state(), state(title="Ours", tags=["a"]), state(title="Theirs", tags=["b"]))
    assert "\n<<<<<<< ours\ntitle: Ours\n=======\ntitle: Theirs\n>>>>>>> theirs\nstatus: active\n" in found.text
    assert "\ntags:\n  - a\n  - b\n" in found.text


def test_two_records_in_one_path_are_not_mixed() -> None:
    other = state("## Task\n\nOther.\n", memory_id="019a4f3e-7b1c-7d2e-8f3a-000000000000", tags=["b"])
    found = merge("", state(tags=["a"]), other)
    assert found.conflicts
    assert take(found.text, 0) == state(tags=["a"])
    assert take(found.text, 1) == other


def test_a_record_added_on_both_sides_is_merged() -> None:
    found = read(clean_merge("", state(tags=["a"], access_count=2), state(tags=["b"], access_count=3)))
    assert (found["tags"], found["access_count"]) == (["a", "b"], 5)


BY_HAND = """---
# who reads this
id: STA-2025-11-04-001
memory_id: 019a4f3e-7b1c-7d2e-8f3a-4b5c6d7e8f90
memory_type: state
agent_id:   'claude'   # in quotes
timestamp: 2025-11-04T14:32:00Z
title: "Task"
importance:    5
# where it stands
status: active   # so far
project_id: shop
tags: [a, 'b']

reviewers: {ada: [1, 2]}
---
Without an empty line.


##   Task

What it is.
## Notes ##
   text
"""


def test_text_that_only_one_side_has_is_kept_unchanged() -> None:
    ours = BY_HAND.replace("status: active", "status: done").replace("   text\n", "   text\n\n\n")
    theirs = BY_HAND.replace("tags: [a, 'b']", "tags: [a, 'b', \"c\"]").replace("What it is.", "What is it?")
    expected = ours.replace("tags: [a, 'b']", "tags: [a, 'b', \"c\"]").replace("What it is.", "What is it?")
    assert clean_merge(BY_HAND, ours, theirs) == expected
    assert clean_merge(BY_HAND, theirs, ours).rstrip("\n") == expected.rstrip("\n")


SLIM = """---
# head
title: Slow
id: ISS-2025-11-04-001
status: open # waits for ada
# about status
memory_id: 019a4f3e-7b1c-7d2e-8f3a-4b5c6d7e8f90
severity: medium
timestamp: 2025-11-04T14:32:00Z
assignee: bob
tags:
  - a # first
  # inside
  - b
agent_id: ada
---

Body
"""


@pytest.mark.parametrize(
    ("ours", "theirs", "values", "comments"),
    [
        (("open #", "resolved #"), ("for ada", "for bob"), {"status": "resolved"}, ["# waits for bob"]),
        (
            ("open # waits for ada", "in-progress # mine"),
            ("open # waits for ada", "resolved # theirs"),
            {"status": "resolved"},
            ["# mine", "# theirs"],
        ),
        (
            ("  - b\n", "  - b\n  - c # third\n"),
            ("  - b\n", "  # more\n  - d # fourth\n"),
            {"tags": ["a", "c", "d"]},
            ["# first", "# inside", "# third", "# more", "# fourth"],
        ),
        (("assignee: bob\n", ""), ("bob", "bob # till May"), {"assignee": None}, ["# till May"]),
        (
            ("bob", "eve # on Monday"),
            ("bob\n", "bob # till May\n# only\n"),
            {"assignee": "eve"},
            ["# till May", "# only"],
        ),
        (("severity: medium", "severity: high"), ("medium\n", "medium # guess\n"), {"severity": "high"}, ["# guess"]),
    ],
)
def test_comments_of_a_slim_record_survive(
    ours: tuple[str, str], theirs: tuple[str, str], values: dict[str, Any], comments: list[str]
) -> None:
    for one, other in ((ours, theirs), (theirs, ours)):
        text = clean_merge(SLIM, SLIM.replace(*one), SLIM.replace(*other))
        found = read(text)
        assert {name: sorted(v) if isinstance(v := found.get(name), list) else v for name in values} == values
        assert [comment for comment in ["# head", "# about status", *comments] if comment not in text] == []


def full(**changes: Any) -> str:
    """The text of a record of format 1."""
    values = {**read(state(**changes)), "memory_type": "state", "is_archived": False, "access_count": 0}
    return frontmatter.compose({**values, **changes}, BODY)


@pytest.mark.parametrize(
    ("edited", "upgraded", "values"),
    [
        ({"status": "done", "completion_percentage": 100}, {"tags": ["x"]}, {"status": "done", "tags": ["x"]}),
        ({"importance": 9}, {"section": "§2.1"}, {"importance": 9, "section": "§2.1"}),
        ({"is_archived": True, "archived_at": "2025-12-01T00:00:00Z"}, {}, {"is_archived": True}),
        ({"access_count": 3}, {"access_count": 2}, {"access_count": 5}),
        ({}, {"access_count": 2}, {"access_count": 2}),
        ({"access_count": 3}, {}, {"access_count": 3}),
    ],
)
def test_edit_of_the_full_form_merges_with_the_slim_one(
    edited: dict[str, Any], upgraded: dict[str, Any], values: dict[str, Any]
) -> None:
    base = full()
    one, other = full(**edited), record_form.to_slim(full(**upgraded), "shop")
    for text in (clean_merge(base, one, other), clean_merge(base, other, one)):
        found = read(text)
        assert {name: found.get(name) for name in values} == values
        assert not {"memory_type", "project_id"} & found.keys()


def test_comments_of_both_sides_survive() -> None:
    ours = BY_HAND.replace("status: active   # so far", "status: done   # so far").replace("[a, 'b']", "[a]")
    theirs = BY_HAND.replace("# so far", "# for now").replace("# where it stands\n", "# where it stands\n# today\n")
    theirs = theirs.replace("tags: [a, 'b']\n", "tags: [a, 'b', c]\n# of the team\n").replace("who reads", "who wrote")
    for one, other in ((ours, theirs), (theirs, ours)):
        text = clean_merge(BY_HAND, one, other)
        assert "\nstatus: done # for now\n" in text
        assert "\nimportance:    5\n# where it stands\n# today\n" in text
        assert read(text)["tags"] == ["a", "c"]
        assert "\n# of the team\n" in text
        assert "# who wrote this\n" in text


def test_a_comment_that_both_sides_changed_stays_twice() -> None:
    ours, theirs = (BY_HAND.replace("who reads this", who) for who in ("mine", "yours"))
    assert clean_merge(BY_HAND, ours, theirs).startswith("---\n# mine\n# yours\nid: ")


def test_unusual_key_is_merged_or_marked_as_a_conflict() -> None:
    base, ours, theirs = (f"---\ntitle: x\n'odd key': [{items}]\n---\n" for items in ("a", "a, b", "a, c"))
    assert merge(base, ours, theirs).conflicts == ("odd key",)
    assert clean_merge(base, base, theirs) == theirs
    assert clean_merge(base, ours, ours.replace("title: x", "title: y")) == ours.replace("title: x", "title: y")


def test_keys_added_by_both_sides_are_in_record_order() -> None:
    versions = state(relates_to=["DEC-2025-11-04-001"]), state(blocks=["ISS-2025-11-04-001"], x=1)
    expected = state(relates_to=["DEC-2025-11-04-001"], blocks=["ISS-2025-11-04-001"], x=1)
    assert clean_merge(state(), *versions) == clean_merge(state(), *versions[::-1]) == expected


def test_key_order_changed_by_one_side_is_kept() -> None:
    moved = state().replace("title: Task\n", "").replace("---\nid:", "---\ntitle: Task\nid:")
    assert clean_merge(state(), moved, state(tags=["a"])).startswith("---\ntitle: Task\nid:")
    assert clean_merge(state(), state(tags=["a"]), moved).startswith("---\ntitle: Task\nid:")


PAGE = """---
id: §2.1
title: Architecture
completion_percentage: 40
weight: 2
paths:
  - src/a/**
timestamp: 2025-11-01T00:00:00Z
agent_id: claude
---

## Overview

One line.

## Next actions

- first
"""


def test_pages_are_merged_like_records() -> None:
    ours = PAGE.replace("40", "50").replace("src/a/**", "src/a/**\n  - src/b/**")
    ours = ours.replace("2025-11-01", "2025-11-03").replace("claude", "gpt").replace("- first", "- first\n- ours")
    theirs = PAGE.replace("src/a/**", "src/a/**\n  - src/c/**").replace("- first", "- theirs")
    theirs = theirs.replace("2025-11-01", "2025-11-02").replace("claude", "ada").replace("weight: 2", "weight: 3.5")
    for one, other in ((ours, theirs), (theirs, ours)):
        page = pages.parse(clean_merge(PAGE, one, other), "sections/2.1-architecture.md")
        assert (page.completion_percentage, page.weight) == (50, 3.5)
        assert (page.timestamp, page.agent_id) == ("2025-11-03T00:00:00Z", "gpt")
        assert sorted(page.paths) == ["src/a/**", "src/b/**", "src/c/**"]
        content = content_fields.content(page.kind, page.body)
        assert (content["overview"], sorted(content["next_actions"])) == ("One line.", ["ours", "theirs"])
    assert merge(PAGE, ours, theirs.replace("40", "60")).conflicts == ("completion_percentage",)


def page_reviewed_on(day: int, *stamps: str) -> str:
    listed = "".join(f"  - {stamp}\n" for stamp in stamps)
    return PAGE.replace("timestamp: 2025-11-01", f"reviewed:\n{listed}timestamp: 2025-11-{day:02d}")


BEFORE = ("a.py 1111111", "b.py 1111111", "dir/c d.py 1111111", "gone.py 1111111")


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        pytest.param((2, "a.py 2222222"), (3, "a.py 3333333"), "3333333", id="theirs is later"),
        pytest.param((3, "a.py 2222222"), (2, "a.py 3333333"), "2222222", id="ours is later"),
        pytest.param((2, "a.py 2222222"), (2, "a.py 3333333"), "2222222", id="none is later"),
        pytest.param((2, "a.py 2222222"), (3, "a.py 1111111"), "2222222", id="only ours reviewed it"),
        pytest.param((3, "a.py 1111111"), (2, "a.py 3333333"), "3333333", id="only theirs reviewed it"),
        pytest.param((2, "a.py 2222222"), (3, "a.py 2222222"), "2222222", id="both alike"),
        pytest.param((2, "new.py 2222222"), (3, "a.py 3333333"), "3333333", id="reviewed and taken out"),
    ],
)
def test_merged_page_has_one_stamp_per_file(ours: tuple[int, str], theirs: tuple[int, str], expected: str) -> None:
    one = page_reviewed_on(ours[0], ours[1], "b.py 2222222", "dir/c d.py 1111111")
    other = page_reviewed_on(
        theirs[0], theirs[1], "b.py 1111111", "dir/c d.py 4444444", "gone.py 1111111", "new.py 3333333"
    )
    page = pages.parse(clean_merge(page_reviewed_on(1, *BEFORE), one, other), "sections/2.1-architecture.md")
    assert len(page.reviewed) == len(page.stamps)
    assert page.stamps["a.py"] == expected
    assert page.stamps["b.py"] == "2222222"
    assert page.stamps["dir/c d.py"] == "4444444"
    assert "gone.py" not in page.stamps


def test_page_added_on_both_sides_has_one_stamp_per_file() -> None:
    one, other = page_reviewed_on(2, "a.py 2222222"), page_reviewed_on(3, "a.py 3333333", "b.py 3333333")
    page = pages.parse(clean_merge("", one, other), "sections/2.1-architecture.md")
    assert page.reviewed == ["a.py 3333333", "b.py 3333333"]


def test_item_done_on_one_side_and_item_added_on_the_other_are_merged() -> None:
    """A step moves from Remaining to Done while the other side plans another one."""
    ours = state(BODY.replace("- one\n", "").replace("## Remaining", "## Done\n\n- one\n\n## Remaining"))
    theirs = state(BODY.replace("- two\n", "- two\n- three\n  with more\n\n  and more\n"))
    for text in (clean_merge(state(), ours, theirs), clean_merge(state(), theirs, ours)):
        content = content_fields.content(STATE, frontmatter.read(text)[1])
        assert content["substeps_completed"] == ["one"]
        assert content["substeps_remaining"] == ["two", "three\nwith more\n\nand more"]


def test_list_without_items_is_removed_with_its_heading() -> None:
    text = clean_merge(state(), state(BODY.replace("- one\n", "")), state(BODY.replace("- two\n", "")))
    assert "## Remaining" not in text
    assert text.endswith("What it is.\n\n## Next actions\n\n- first\n- second\n")


def test_a_list_removed_on_one_side_keeps_what_the_other_added() -> None:
    gone = state(BODY.replace("## Remaining\n\n- one\n- two\n\n", ""))
    more = state(BODY.replace("- two\n", "- two\n- three\n"))
    expected = state(BODY.replace("- one\n- two\n", "- three\n"))
    assert clean_merge(state(), gone, more) == clean_merge(state(), more, gone) == expected


def test_sections_added_in_one_place_are_both_kept_in_order() -> None:
    ours = state(BODY.replace("## Next actions", "## Blockers\n\n- wall\n\n## Next actions") + "\n## Ours\n\na\n")
    theirs = state(BODY.replace("## Remaining", "## Done\n\n- zero\n\n## Remaining") + "\n## Theirs\n\nb\n")
    text = clean_merge(state(), ours, theirs)
    found = [part.heading for part in headings.split(frontmatter.read(text)[1])]
    assert found == ["Task", "Done", "Remaining", "Blockers", "Next actions", "Ours", "Theirs"]
    assert text.endswith("\n- second\n\n## Ours\n\na\n\n## Theirs\n\nb\n")


def test_a_section_added_at_the_end_changes_nothing_above_it() -> None:
    ours = state(BODY.replace("- second\n", "- second\n- third\n"))
    assert clean_merge(state(), ours, state(BODY + "\n## More\n\nx\n")).endswith("- second\n- third\n\n## More\n\nx\n")


def test_open_fence_does_not_swallow_sections_of_the_other_side() -> None:
    ours, theirs = state(BODY + "\n## Code\n\n```\nx\n"), state(BODY + "\n## Zeal\n\ny\n")
    for pair in ((ours, theirs), (theirs, ours)):
        found = headings.split(frontmatter.read(clean_merge(state(), *pair))[1])
        assert {"Code", "Zeal"} <= {part.heading for part in found}


def test_conflicting_fences_are_left_unchanged() -> None:
    fences = ("````py", "```", "````")
    versions = [state(f"## Code\n\n{fence}\nx\n````\n\n## Own\n\ny\n") for fence in fences]
    found = merge(*versions)
    assert found.conflicts == ("code",)
    assert (take(found.text, 0), take(found.text, 1)) == (versions[1], versions[2])


def test_text_is_merged_by_lines_within_its_section() -> None:
    prose = "## Task\n\none\n\ntwo\n\nthree\n"
    ours, theirs = state(prose.replace("one", "1")), state(prose.replace("three", "3"))
    assert clean_merge(state(prose), ours, theirs).endswith("## Task\n\n1\n\ntwo\n\n3\n")
    found = merge(state(prose), ours, state(prose.replace("one", "I")))
    assert found.conflicts == ("task",)
    assert "\n<<<<<<< ours\n1\n=======\nI\n>>>>>>> theirs\n" in found.text


def test_text_changed_here_and_removed_there_is_a_conflict() -> None:
    found = merge(state(), state(BODY.replace("it is", "it was")), state(BODY.partition("## Remaining")[2]))
    assert found.conflicts == ("task",)
    assert "What it was." in found.text


def test_numbered_list_is_merged_as_text() -> None:
    """The order of steps says something, which a union would lose."""
    base, ours, theirs = (state(f"## Steps\n\n1. a\n2. {step}\n") for step in "xyz")
    assert merge(base, ours, theirs).conflicts == ("steps",)


def test_sections_with_the_same_name_are_merged_separately() -> None:
    base = "## A\n\none\n\n## A\n\ntwo\n"
    text = clean_merge(state(base), state(base.replace("one", "1")), state(base.replace("two", "2")))
    assert text.endswith("## A\n\n1\n\n## A\n\n2\n")


def test_a_file_that_cannot_be_read_is_merged_as_lines() -> None:
    base, ours = state().replace("id:", "id", 1), state(BODY.replace("first", "1st")).replace("id:", "id", 1)
    theirs = state(importance=9).replace("id:", "id", 1)
    assert clean_merge(base, ours, theirs) == ours.replace("importance: 5", "importance: 9")


def test_incompatible_lines_are_a_conflict() -> None:
    """An unreadable base and different records: only lines can be merged, and Git lets the same key stand twice."""
    base = "---\nmemory_id: a\na\nb\nc\n---\n"
    ours, theirs = "---\nmemory_id: b\nx: 1\n---\n", "---\nmemory_id: c\nx: 2\n---\n"
    assert merge(base, ours, theirs).conflicts == ("the text",)


def test_base_with_conflict_markers_is_not_used() -> None:
    base = merge(state(), state(title="Left", access_count=7), state(title="Right", access_count=0)).text
    ours, theirs = (state(title="Chosen", tags=[tag], access_count=count) for tag, count in (("a", 7), ("b", 9)))
    assert clean_merge(base, ours, theirs) == state(title="Chosen", tags=["a", "b"], access_count=9)


def test_merged_text_has_the_line_ends_of_our_side() -> None:
    base, ours, theirs = state(), state(tags=["a"]), state(tags=["b"])
    expected = clean_merge(base, ours, theirs)
    assert clean_merge(base, ours.replace("\n", "\r\n"), theirs) == expected.replace("\n", "\r\n")
    assert clean_merge(base.replace("\n", "\r\n"), ours, theirs.replace("\n", "\r\n")) == expected
    assert clean_merge(base, "\ufeff" + ours, theirs) == "\ufeff" + expected


def test_bytes_that_are_not_utf8_survive_a_merge() -> None:
    base, ours, theirs = (state(f"## Task\n\n{one}\n\nx\n\n\udcff{two}\n") for one, two in ("ab", "Ab", "aB"))
    assert clean_merge(base, ours, theirs) == state("## Task\n\nA\n\nx\n\n\udcffB\n")
    with pytest.raises(GitFailed):
        merge("a\0", "b\0", "c\0")


TAGS = st.lists(st.sampled_from("abcdef"), max_size=4, unique=True)
ITEMS = st.lists(st.sampled_from(("one", "two", "three\nmore", "four")), max_size=3, unique=True)
SCALARS: dict[str, Any] = {
    "title": st.sampled_from(("Task", "Other task", "no")),
    "status": st.sampled_from(STATE.statuses),
    "importance": st.integers(4, 6),
    "completion_percentage": st.sampled_from((None, 10, 20)),
    "is_archived": st.sampled_from((None, True)),
    "archived_at": st.sampled_from((None, "2025-11-05T00:00:00Z", "2025-11-06T00:00:00Z")),
    "access_count": st.integers(0, 9),
    "x-own": st.sampled_from((None, {"a": [1]}, "text", 1, True)),
}
LISTED = dict.fromkeys(("tags", "code_refs"), TAGS)
BODIES = {
    "Task": st.sampled_from(("", "One.", "One.\n\nTwo.\n\nThree.", "One.\n\nTwo.\n\n3.")),
    "Remaining": ITEMS.map(lambda items: "\n".join(f"- {item}".replace("\n", "\n  ") for item in items)),
    "Own": st.sampled_from(("", "Text.", "```\n## x\n```")),
}


@st.composite
def records(draw: st.DrawFn, **fixed: Any) -> str:
    """A state with small variety, so that versions of it agree here and differ there."""
    changes = {name: draw(strategy) for name, strategy in {**SCALARS, **LISTED}.items()} | fixed
    found = {name: value for name, value in changes.items() if value is not None and value != []}
    parts = {heading: draw(strategy) for heading, strategy in BODIES.items()}
    body = "\n".join(f"## {heading}\n\n{text}\n" for heading, text in parts.items() if text)
    return state(body, **found)


@QUICK
@given(records(), records())
def test_change_of_one_side_is_the_result(base: str, changed: str) -> None:
    assert clean_merge(base, changed, base) == changed
    assert clean_merge(base, base, changed) == changed
    assert clean_merge(base, changed, changed) == changed


@SPAWNING
@given(records(), records(), records())
def test_no_item_that_either_side_added_is_lost(base: str, ours: str, theirs: str) -> None:
    found = take(merge(base, ours, theirs).text, 0)
    for name in (*LISTED, "substeps_remaining"):
        before, one, other, result = (set(items_of(text, name)) for text in (base, ours, theirs, found))
        assert result == (one | other) - (before - one) - (before - other)


def items_of(text: str, name: str) -> list[str]:
    values, body = frontmatter.read(text)
    found: list[str] = values.get(name) or content_fields.content(STATE, body).get(name) or []  # type: ignore[assignment]
    return found


@SPAWNING
@given(records(), records(), records())
def test_merged_access_counts_add_up(base: str, ours: str, theirs: str) -> None:
    assume(ours != theirs)
    before, one, other = (read(text).get("access_count", 0) for text in (base, ours, theirs))
    result = read(take(merge(base, ours, theirs).text, 0)).get("access_count", 0)
    assert result == max(0, one + other - before)


@SPAWNING
@given(records(), records(), records())
@example(state("## Task\n\n1\n\n## Own\n\nx\n"), state("## Own\n\ny\n"), state("## Task\n\n2\n"))
def test_both_merge_directions_agree_and_give_a_valid_record(base: str, ours: str, theirs: str) -> None:
    there, back = merge(base, ours, theirs), merge(base, theirs, ours)
    assert (there.conflicts, there.notes) == (back.conflicts, back.notes)
    if there.conflicts:
        with pytest.raises(InvalidRecord):
            parse(there.text, PATH)
        return
    results = [parse(text, PATH) for text in (there.text, back.text)]
    one, other = (read(text) for text in (there.text, back.text))
    assert [key for key in one if key in ORDER] == [name for name in ORDER if name in one]
    for name in LISTS:
        assert sorted(one.pop(name, [])) == sorted(other.pop(name, []))
    assert one == other
    parts, others = (
        {part.heading: sorted(part.text.strip("\n").split("\n")) for part in headings.split(body)}
        for _, body in results
    )
    assert parts == others


PREFERENCES: tuple[Any, ...] = ("ours", "theirs")


def named_lost(found: MergeResult) -> dict[str, tuple[str, str]]:
    return {one.key: (one.lost, one.kept) for one in found.lost}


@pytest.mark.parametrize(
    ("key", "ours", "theirs", "told"),
    [
        ("title", "Ours", "Theirs", ("Ours", "Theirs")),
        ("importance", 8, 9, ("8", "9")),
        ("section", "§2.1", None, ("§2.1", "")),
        (
            "expires_at",
            "2026-01-01T00:00:00Z",
            "2026-02-01T00:00:00Z",
            ("2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"),
        ),
        ("unknown", {"a": 1}, {"a": [2]}, ('{"a":1}', '{"a":[2]}')),
        ("tags", "no list", ["a"], ("no list", '["a"]')),
        ("status", "done", "active", None),  # by its order, whoever is preferred
    ],
)
def test_preferred_side_wins_and_the_lost_value_is_named(key: str, ours: Any, theirs: Any, told: Any) -> None:
    base: Any = {"section": "§2.9", "unknown": 5, "importance": 5}.get(key)
    versions = [state(**({} if value is None else {key: value})) for value in (base, ours, theirs)]
    found, other = (merge(*versions, prefer=side) for side in ("theirs", "ours"))
    assert found.conflicts == other.conflicts == ()
    if told is None:
        assert (read(found.text)[key], read(other.text)[key]) == (ours, ours)
        assert found.lost == other.lost == ()
        return
    assert (read(found.text).get(key), read(other.text).get(key)) == (theirs, ours)
    assert named_lost(found) == {key: told}
    assert named_lost(other) == {key: told[::-1]}


def test_preferred_side_replaces_only_the_conflicting_lines() -> None:
    prose = "## Task\n\none\n\ntwo\n\nthree\n"
    ours = state(prose.replace("one", "1").replace("three", "3"))
    theirs = state(prose.replace("one", "I"))
    found = merge(state(prose), ours, theirs, prefer="theirs")
    assert found.text.endswith("## Task\n\nI\n\ntwo\n\n3\n")
    assert named_lost(found) == {"task": ("1", "I")}


def test_section_removed_on_one_side_follows_the_preference() -> None:
    ours, theirs = state(BODY.replace("it is", "it was")), state(BODY.partition("## Remaining")[2])
    assert named_lost(merge(state(), ours, theirs, prefer="theirs")) == {"task": ("What it was.", "")}
    assert named_lost(merge(state(), ours, theirs, prefer="ours")) == {"task": ("", "What it was.")}


def test_two_records_in_one_path_keep_the_preferred_and_name_the_other() -> None:
    other = state("## Task\n\nOther.\n", memory_id="019a4f3e-7b1c-7d2e-8f3a-000000000000")
    found = merge("", state(), other, prefer="theirs")
    assert (found.text, named_lost(found)) == (other, {"the text": (state(), other)})


def test_readable_version_is_preferred_to_an_unreadable_one() -> None:
    broken = state(title="Mine").replace("id:", "id", 1)
    for pair, side in (((broken, state(title="Yours")), "ours"), ((state(title="Yours"), broken), "theirs")):
        found = merge(state(), *pair, prefer=side)  # type: ignore[arg-type]
        assert found.text == state(title="Yours")
        assert found.lost[0].lost == broken


def test_status_lost_by_its_order_is_named() -> None:
    found = merge(state(status="active"), state(status="done"), state(status="superseded"))
    assert named_lost(found) == {"status": ("done", "superseded")}


@SPAWNING
@given(records(), records(), records(), st.sampled_from(PREFERENCES))
def test_merge_with_a_preference_gives_a_record_and_names_all_losses(
    base: str, ours: str, theirs: str, side: Any
) -> None:
    found, marked = merge(base, ours, theirs, prefer=side), merge(base, ours, theirs)
    parse(found.text, PATH)
    assert found.conflicts == ()
    assert found.text == merge(base, ours, theirs, prefer=side).text
    assert {one.key for one in found.lost} == {*marked.conflicts, *(one.key for one in marked.lost)}
    if not marked.conflicts:
        assert found.text == marked.text
    mirrored = merge(base, theirs, ours, prefer="ours" if side == "theirs" else "theirs")
    assert sorted(mirrored.lost, key=str) == sorted(found.lost, key=str)
    values = {name: value for name, value in read(mirrored.text).items() if name not in LISTS}
    assert values == {name: value for name, value in read(found.text).items() if name not in LISTS}
    told = "\n".join(one.lost for one in found.lost)
    known = set(base.split("\n"))
    for line in {*prose(ours), *prose(theirs)} - known:
        assert line in found.text.split("\n") or line in told


def prose(text: str) -> list[str]:
    """The lines of the sections that are no lists."""
    body = frontmatter.read(text)[1]
    return [line for part in headings.split(body) if part.heading != "Remaining" for line in part.text.split("\n")]


@QUICK
@given(records(), records(), st.sampled_from(PREFERENCES))
def test_preference_does_not_affect_changes_of_one_side(base: str, changed: str, side: Any) -> None:
    for versions in ((changed, base), (base, changed), (changed, changed)):
        found = merge(base, *versions, prefer=side)
        assert (found.text, found.lost) == (changed, ())


HAND_WRITTEN = (
    "# a\n",
    "title:   'x'   # t\n",
    "tags: [a, 'b']\n",
    "note: |\n  # no comment\n\n  y\n",
    "\n",
    "z: {a: 1}\n",
)
hand_written = st.lists(st.sampled_from(HAND_WRITTEN), unique=True, max_size=5)
canonical_blocks = st.lists(
    st.sampled_from(("title: y\n", "tags:\n  - a\n  - c\n", "note: y\n", "z: 2\n", "importance: 5\n")),
    unique_by=lambda block: block[:2],
    max_size=4,
)


@SPAWNING
@given(st.tuples(*[st.one_of(hand_written, canonical_blocks)] * 3))
def test_hand_written_front_matter_merges_to_values_of_its_versions(versions: tuple[list[str], ...]) -> None:
    base, ours, theirs = ("---\n" + "".join(blocks) + "---\n" for blocks in versions)
    found = merge(base, ours, theirs)
    before, one, other = map(read, (base, ours, theirs))
    for side, text in enumerate((take(found.text, 0), take(found.text, 1))):
        result = read(text)
        for key in {*one, *other, *before} - {"tags"}:
            sides = [values.get(key) for values in (one, other)]
            expected = sides[side] if before.get(key) not in sides else sides[sides[0] == before.get(key)]
            assert result.get(key) == expected
    for line in "".join(versions[1] + versions[2]).split("\n"):
        assert not line.startswith("#") or line in found.text or line in base
