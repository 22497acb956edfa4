"""The points of rules.md#files-for-a-task, and what they come to."""

from __future__ import annotations

import msgspec
import pytest

from memctl.sources.nearness import Nearness
from memctl.sources.score import FileKnowledge, places_down, score
from memctl.sources.task_files import FileMention

NOW = "2025-11-04T14:32:00Z"


def test_file_with_all_points_scores_100_for_a_task() -> None:
    known = FileKnowledge(
        changed=NOW, is_modified=True, todos=3, issues=("ISS-2025-11-01-001",), near=Nearness(20, ("it is active",))
    )
    found = score("src/config.py", known, NOW)
    assert (found.score, found.relevance, found.recency, found.dependency) == (95, 45, 30, 20)
    task = msgspec.structs.replace(known, ago=0, match=1.0, words=("cart",), mention=FileMention(1.0, "named"))
    found = score("src/config.py", task, NOW, for_task=True)
    assert (found.score, found.relevance, found.recency, found.dependency) == (100, 50, 30, 20)
    assert found.reasons[:2] == ((30, "its text has cart"), (20, "named"))


def test_configuration_and_todos_count_for_a_task_only_if_its_words_match() -> None:
    known = FileKnowledge(todos=1)
    assert score("src/config.py", known, NOW).relevance == 30
    assert score("src/config.py", known, NOW, for_task=True).relevance == 0
    matching = msgspec.structs.replace(known, match=0.5)
    assert score("src/config.py", matching, NOW, for_task=True).relevance == 15 + 5, "a sixth of 20 and of 10"


def test_uncommitted_file_is_loaded_for_any_task() -> None:
    known = FileKnowledge(changed=NOW, is_modified=True, ago=0, near=Nearness(20, ("it is active",)))
    assert score("src/cart.py", known, NOW, for_task=True).score == 40, "without that 37"
    assert score("src/cart.py", known, NOW).score == 65


def test_file_without_known_facts_scores_0() -> None:
    assert score("src/cart.py", FileKnowledge(), NOW).score == 0


@pytest.mark.parametrize(
    ("changed", "points"),
    [
        ("2025-11-04T13:32:00Z", 30),
        ("2025-11-04T13:31:59Z", 20),
        ("2025-11-04T10:32:00Z", 20),
        ("2025-11-04T10:31:59Z", 10),
        ("2025-11-03T14:32:00Z", 10),
        ("2025-11-03T14:31:59Z", 5),
        ("2025-10-28T14:32:00Z", 5),
        ("2025-10-28T14:31:59Z", 0),
        ("2025-12-01T00:00:00Z", 30),
        ("", 0),
    ],
)
def test_recency_points_follow_from_the_age(changed: str, points: int) -> None:
    assert score("a.py", FileKnowledge(changed=changed), NOW).recency == points


@pytest.mark.parametrize(
    ("path", "points"),
    [
        *(("pyproject.toml", 20), ("src/config.py", 20), ("db/schema.sql", 20), ("api/v1/shop.proto", 20)),
        *(("app/settings/local.py", 20), ("web/vite.config.ts", 20), ("Dockerfile", 20), ("src/user_schema.ts", 20)),
        *(("src/utils.py", 5), ("lib/helpers/text.js", 5), ("src/string_helper.go", 5), ("shared.ts", 5)),
        *(("tests/app/package.json", 0), ("vendor/x/schema.sql", 0), ("src/cart.py", 0)),
        *(("src/configuring/cart.py", 0), ("src/reconfigure.py", 0), ("docs/futility.md", 0)),
    ],
)
def test_core_and_utility_files_are_known_by_their_paths(path: str, points: int) -> None:
    assert score(path, FileKnowledge(), NOW).relevance == points


def test_relevance_is_capped_and_all_its_reasons_are_shown() -> None:
    found = score("src/config.py", FileKnowledge(FileMention(0.5, "words"), "", True, todos=3, match=1.0), NOW)
    assert found.relevance == 50
    assert sum(points for points, _ in found.reasons) == 85
    assert [why for _, why in found.reasons] == [
        *("its text has words of the task", "words", "changed in the last five commits", "unresolved: 3 TODOs"),
        "configuration or schema",
    ]


@pytest.mark.parametrize(("ago", "points"), [(0, 30), (1, 29), (30, 15), (90, 7.5), (None, 0)])
def test_recency_points_for_a_task_follow_from_the_commits_since(ago: int | None, points: float) -> None:
    assert score("a.py", FileKnowledge(changed=NOW, ago=ago), NOW, for_task=True).recency == points


LONG = "The total of an invoice is wrong if a customer has a coupon. " * 6


@pytest.mark.parametrize(
    ("path", "task", "mention", "places"),
    [
        ("docs/invoices.md", LONG, None, 4),
        (".github/ISSUE_TEMPLATE/bug_report.yml", LONG, None, 4),
        ("tests/test_invoice.py", LONG, FileMention(0.5, "words of the task"), 3),
        ("src/invoice.test.js", LONG, None, 3),
        ("src/invoice.py", LONG, None, 0),
        ("docs/invoices.md", "Fix the total in the documentation", None, 0),
        ("docs/invoices.md", LONG, FileMention(1.0, "the task names docs/invoices.md"), 0),
    ],
)
def test_documentation_and_tests_come_after_code_for_the_text_of_an_issue(
    path: str, task: str, mention: FileMention | None, places: int
) -> None:
    assert places_down(path, mention, task) == places
