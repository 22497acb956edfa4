"""Records as Markdown in a pack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from markdown_it import MarkdownIt

from memctl.pack.draft import NOTICED, Contents, Item, OmittedGroup, OmittedItem, PackDraft, PackNote, PackPart
from memctl.pack.formats import markdown
from memctl.pack.rehydrate import TITLES
from memctl.text.markdown import embed
from tests.generated import memory


def entry(body: str = "", number: int = 1, **changes: Any) -> Item:
    """An issue as an item of a pack."""
    values: dict[str, Any] = {
        "id": f"ISS-2025-11-04-{number:03d}",
        "memory_type": "issue",
        "title": "Login is slow",
        "importance": 6,
    }
    return memory(({**values, **changes}, body)).item(values["id"])


def packed(parts: dict[str, list[str]], *, listed: Sequence[OmittedItem] = (), unlisted: int = 0) -> str:
    """A pack of these parts, without a task."""
    made = tuple((PackPart(name, TITLES[name], ()), tuple(texts)) for name, texts in parts.items() if texts)
    notes = (
        NOTICED,
        PackNote("task", "Chosen for the task", "mend\nthe login"),
    )
    named = ("Issues", "issues", "", "memctl list --type issue") if listed else ()
    left_out = (OmittedGroup(tuple(listed), unlisted, *named),) if listed or unlisted else ()
    return markdown.markdown_pack(Contents(PackDraft("shop", (), opening=notes), made, left_out))


def headings(text: str) -> list[tuple[str, str]]:
    """The headings of a Markdown text that stand in no list or quotation: level and text."""
    tokens = MarkdownIt().parse(text)
    return [
        (token.tag, tokens[place + 1].content)
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.level == 0
    ]


def test_a_record_is_a_title_a_line_of_facts_and_its_body() -> None:
    assert markdown.markdown_item(entry("## Description\n\nIt takes 8 s.\n")) == (
        "### Login is slow\n"
        "\n"
        "ISS-2025-11-04-001 | open | importance 6/10 | 2025-11-04 | by claude\n"
        "\n"
        "#### Description\n"
        "\n"
        "It takes 8 s."
    )


def test_every_fact_is_named() -> None:
    item = entry("", severity="high", completion_percentage=40, section="§2.1", tags=["a", "b"], code_refs=["x.py:3"])
    facts = markdown.markdown_item(item).split("\n")[2].split(" | ")
    assert facts[2:4] == ["40 % done", "severity high"]
    assert facts[-3:] == ["§2.1", "tags: a, b", "code: x.py:3"]


def test_a_record_without_a_body_ends_with_its_facts() -> None:
    assert markdown.markdown_item(entry("\n\n")).endswith("| by claude")


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
    assert embed(line) == lowered


@pytest.mark.parametrize("fence", ["```", "~~~", "````"])
def test_comments_in_fenced_code_are_left_alone(fence: str) -> None:
    text = f"{fence}sh\n# a comment\n{fence}"
    assert embed(text) == text


def test_a_text_that_could_break_out_is_quoted() -> None:
    assert embed("a\n\n<!-- b") == "> a\n>\n> <!-- b"


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
def test_headings_of_a_body_are_below_those_of_the_pack(body: str) -> None:
    text = packed({"issue": [markdown.markdown_item(entry(body))]})
    shown = [(tag, title) for tag, title in headings(text) if tag in ("h1", "h2", "h3")]
    assert shown == [("h1", "Memory of shop"), ("h2", "Open issues"), ("h3", "Login is slow")]


@pytest.mark.parametrize("body", HOSTILE)
def test_hostile_body_does_not_swallow_later_headings(body: str) -> None:
    texts = [markdown.markdown_item(entry(body)), markdown.markdown_item(entry("```\n# code\n```", 2, title="Next"))]
    text = packed({"issue": texts}, listed=[OmittedItem("ISS-2025-11-04-003", "Login is slow")])
    assert headings(text)[-2:] == [("h3", "Next"), ("h2", "Left out")]


def test_a_pack_names_project_task_parts_and_what_is_left_out() -> None:
    parts: dict[str, list[str]] = {"state": [], "decision": ["### D"], "issue": ["### I"], "learning": []}
    text = packed(parts, listed=[OmittedItem("ISS-2025-11-04-007", "Other\nissue", "too large")], unlisted=1200)
    assert headings(text) == [
        ("h1", "Memory of shop"),
        ("h2", "Key decisions"),
        ("h3", "D"),
        ("h2", "Open issues"),
        ("h3", "I"),
        ("h2", "Left out"),
    ]
    assert "\n\nChosen for the task: mend the login\n\n" in text
    assert text.endswith(
        "\n\nIssues:\n- ISS-2025-11-04-007 Other issue (too large)\n- and 1,200 more: `memctl list --type issue`\n"
    )


def test_pack_without_omissions_has_no_omission_note() -> None:
    assert "Left out" not in packed({})


def test_records_that_are_not_listed_are_counted() -> None:
    assert packed({}, unlisted=3).endswith("## Left out\n\n- 3 items\n")


def test_a_file_is_fenced_longer_than_any_fence_in_it() -> None:
    text = markdown.markdown_item(Item("file", "docs/x.md", "", "a\n````\nb\n"))
    assert text.endswith("`````md\na\n````\nb\n`````")
