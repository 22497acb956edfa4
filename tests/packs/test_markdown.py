"""Records as Markdown in a pack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from markdown_it import MarkdownIt

from memctl.model.config import Config
from memctl.model.record import Record
from memctl.model.snapshot import Snapshot
from memctl.packs import markdown
from tests import snapshots


def made(number: int = 1, **changes: Any) -> Record:
    values: dict[str, Any] = {
        "id": f"ISS-2025-11-04-{number:03d}",
        "memory_id": f"019a4f3e-0000-7000-8000-{number:012d}",
        "memory_type": "issue",
        "title": "Login is slow",
        "status": "open",
        "importance": 6,
        "timestamp": "2025-11-04T12:00:00Z",
        "project_id": "shop",
        "agent_id": "claude",
    }
    return Record(**{**values, **changes})


def snapshot(*records: Record, description: str = "") -> Snapshot:
    return snapshots.snapshot(records, config=Config(format=1, project="shop", description=description))


def packed(parts: dict[str, list[str]], *, listed: Sequence[Record] = (), unlisted: int = 0) -> str:
    """A pack of these parts, without a task."""
    return markdown.pack(markdown.head(snapshot(), (), ""), parts, listed, unlisted)


def headings(text: str) -> list[tuple[str, str]]:
    """The headings of a Markdown text that stand in no list or quotation: level and text."""
    tokens = MarkdownIt().parse(text)
    return [
        (token.tag, tokens[place + 1].content)
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


def test_a_record_is_a_title_a_line_of_facts_and_its_body() -> None:
    assert markdown.record(made(), "## Description\n\nIt takes 8 s.\n") == (
        "### Login is slow\n"
        "\n"
        "ISS-2025-11-04-001 | open | importance 6/10 | 2025-11-04T12:00:00Z | by claude\n"
        "\n"
        "#### Description\n"
        "\n"
        "It takes 8 s."
    )


def test_every_fact_is_named() -> None:
    record = made(severity="high", completion_percentage=40, section="§2.1", tags=["a", "b"], code_refs=["x.py:3"])
    facts = markdown.record(record, "").split("\n")[2].split(" | ")
    assert facts[2:4] == ["40 % done", "severity high"]
    assert facts[-3:] == ["§2.1", "tags: a, b", "code: x.py:3"]


def test_a_record_without_a_body_ends_with_its_facts() -> None:
    assert markdown.record(made(), "\n\n").endswith("| by claude")


def test_a_title_of_several_lines_stays_one_heading() -> None:
    assert markdown.record(made(title="a\n## b\u2028c"), "").split("\n")[0] == "### a ## b c"


@pytest.mark.parametrize(
    ("line", "lowered"),
    [
        ("## x", "#### x"),
        ("### x", "##### x"),
        ("##### x", "###### x"),
        ("###### x", "###### x"),
        ("##\tx", "####\tx"),
        ("##", "####"),
        ("#x", "#x"),
        ("####### x", "####### x"),
        ("text # x", "text # x"),
        ("    # code", "    # code"),
    ],
)
def test_headings_are_lowered(line: str, lowered: str) -> None:
    assert markdown.contained(line) == lowered


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_comments_in_fenced_code_are_left_alone(fence: str) -> None:
    text = f"{fence}sh\n# a comment\n{fence}"
    assert markdown.contained(text) == text


def test_a_text_that_could_break_out_is_quoted() -> None:
    assert markdown.contained("a\n\n<!-- b") == "> a\n>\n> <!-- b"


HOSTILE = [
    "# x",
    "## x",
    "#",
    " # x",
    "   ## x",
    "x\n===",
    "x\n---",
    "x\n  =",
    "```\n# x",
    "~~~~\n# x\n~~~",
    "```\n```\u00a0\n# x",
    "- ```\n# x",
    "- ```\n  x\n```\n# x",
    "```\n- ```\n# x",
    "* ~~~\n\n# x",
    "1. ```\n# x",
    "> ```\n# x",
    "- a\n\n  ```\n# x",
    "    ```\n# x",
    "``` `\n# x",
    "<!--\n```\n-->\n# x",
    "<!--",
    "```\n  ```\n# x\n```",
    "~~~\n   ~~~ \n~~~\n# x",
    "<pre>\n~~~\n</pre>\n# x",
    "[x]: <\n# x",
]


@pytest.mark.parametrize("body", HOSTILE)
def test_no_heading_of_a_body_stands_beside_those_of_the_pack(body: str) -> None:
    text = packed({"issue": [markdown.record(made(), body)]})
    shown = [(tag, title) for tag, title in headings(text) if tag in ("h1", "h2", "h3")]
    assert shown == [("h1", "Memory of shop"), ("h2", "Open issues"), ("h3", "Login is slow")]


@pytest.mark.parametrize("body", HOSTILE)
def test_no_body_swallows_what_follows(body: str) -> None:
    texts = [markdown.record(made(), body), markdown.record(made(2, title="Next"), "```\n# code\n```")]
    text = packed({"issue": texts}, listed=[made(3)])
    assert headings(text)[-2:] == [("h3", "Next"), ("h2", "Left out")]


def test_a_pack_names_project_task_parts_and_what_is_left_out() -> None:
    text = markdown.pack(
        markdown.head(snapshot(made(), description="Sells things."), [made()], "mend\nthe login"),
        {"state": [], "decision": ["### D"], "issue": ["### I"], "learning": []},
        [made(7, title="Other\nissue")],
        1200,
    )
    assert headings(text) == [
        ("h1", "Memory of shop"),
        ("h2", "Key decisions"),
        ("h3", "D"),
        ("h2", "Open issues"),
        ("h3", "I"),
        ("h2", "Left out"),
    ]
    assert "\n\nChosen for the task: mend the login\n\n" in text
    assert text.endswith("- ISS-2025-11-04-007 Other issue\n- and 1,200 more: `memctl list`\n")


def test_where_nothing_is_left_out_nothing_is_said_of_it() -> None:
    assert "Left out" not in packed({})


def test_records_that_are_not_listed_are_counted() -> None:
    assert packed({}, unlisted=3).endswith("## Left out\n\n- 3 records: `memctl list`\n")


def test_the_summary_counts_what_is_current_and_names_the_last() -> None:
    closed = made(3, status="resolved", timestamp="2025-11-05T12:00:00Z", agent_id="a\nb")
    current = [made(), made(2), made(4, memory_type="state", status="active")]
    assert markdown.summary(snapshot(*current, closed), current) == (
        "It holds 2 open issues, 1 state.\nLast recorded: ISS-2025-11-04-003 by a b, 2025-11-05T12:00:00Z."
    )


def test_the_summary_of_an_empty_memory() -> None:
    assert markdown.summary(snapshot(description="Sells\nthings."), []) == "Sells things.\nIt holds no open records."
