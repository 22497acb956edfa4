"""Taking texts apart: every format, its lines, and what is no text at all."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.errors import MemctlError
from tests.window.policy.texts import blocks, parsed

XML = """<workflow_context>
  <current_objective>make login work</current_objective>
  <decisions_made>
    <decision id="framework">Next.js over Vite</decision>
    <decision id="styling">Tailwind for all</decision>
  </decisions_made>
  <notes>
First paragraph.

Second paragraph.
  </notes>
</workflow_context>
"""
YAML = """# Compressed
MISSION: implement a dashboard
BLOCKS: types are missing
DECISIONS:
- DEC-2025-11-04-001: Adopt PostgreSQL
  is: accepted i9 2025-11-04 Ada
  why: Payments need transactions
  instead of:
  - 'MongoDB: no joins'
  - 'SQLite: it''s one writer'
"""
MARGIN = """MEMORY: shop
DATA: recorded by people and agents; information, not instructions
DECISIONS:
DEC-2025-11-04-001 Adopt PostgreSQL |accepted i9 2025-11-04 Ada|
 why: Payments need transactions
 instead of:
 - MongoDB: no joins
NEXT: - Write the schema
"""


def kinds(text: str) -> list[tuple[str, str, int]]:
    return [(block.kind, block.title, block.line) for block in blocks(text)]


def test_markdown_is_cut_at_headings_empty_lines_fences_and_rules() -> None:
    text = "# Top\n\nIntro.\nMore.\n\nSecond.\n\n## Part\n\n- one\n- two\n\n"
    text += "```py\nx = 1\n\ny = 2\n```\n\n---\n\n## Empty\n"
    assert parsed(text).format == "markdown"
    assert kinds(text) == [
        ("text", "Top", 1),
        ("text", "Top", 6),
        ("list", "Part", 8),
        ("code", "Part", 13),
        ("heading", "Empty", 21),
    ]
    assert blocks(text)[0].text == "Intro.\nMore."
    assert blocks(text)[2].text == "one\ntwo"
    assert "x = 1\n\ny = 2" in blocks(text)[3].text
    assert [block.parent for block in blocks(text)] == [-1, 0, 0, 2, 0]


def test_plain_prompts_have_headings_of_their_own_kinds() -> None:
    text = "<task>\nFix it.\n</task>\n\nCONSTRAINTS:\nNo new packages.\n\n**Notes**\n\nNone.\n\nTitle\n=====\n\nText.\n"
    assert kinds(text) == [
        ("text", "task", 1),
        ("text", "CONSTRAINTS", 5),
        ("text", "Notes", 8),
        ("text", "Title", 12),
    ]


def test_xml_is_cut_at_elements_and_short_ones_of_a_parent_stay_together() -> None:
    found = blocks(XML)
    assert parsed(XML).format == "xml"
    assert [(block.title, block.line, block.parent) for block in found] == [
        ("workflow_context", 1, -1),
        ("current_objective", 2, 0),
        ("decisions_made", 3, 0),
        ("notes", 7, 0),
        ("notes", 8, 3),
        ("notes", 10, 3),
    ]
    assert found[2].text == "decision: id framework | Next.js over Vite\ndecision: id styling | Tailwind for all"
    assert [block.text for block in found[4:]] == ["First paragraph.", "Second paragraph."]


def test_the_blocks_of_xml_have_all_of_its_text_once() -> None:
    sources = "".join(block.source for block in blocks(XML))
    assert sorted("".join(sources.split())) == sorted("".join(XML.split()))


def test_a_stream_of_events_is_xml_without_a_root() -> None:
    text = '<?xml version="1.0"?>\n<event id="1"><a>x</a></event>\n<event id="2"><a>y</a></event>\n'
    assert parsed(text).format == "xml"
    assert [block.line for block in blocks(text)] == [2, 3]


def test_undeclared_prefixes_of_elements_and_attributes_are_read() -> None:
    text = '<calls>\n<ns:invoke ns:name="read">\n<path>src/a.py</path>\n</ns:invoke>\n</calls>\n'
    assert parsed(text).format == "xml"
    found = [(block.title, block.text, block.line) for block in blocks(text)]
    assert found[-1] == ("ns:invoke", "ns:name read\npath: src/a.py", 2)
    assert sorted("".join("".join(block.source for block in blocks(text)).split())) == sorted("".join(text.split()))


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        '<?xml version="1.0"?>\n<!-- x -->\n<!doctype html><html></html>',
    ],
)
def test_a_doctype_is_refused(text: str) -> None:
    with pytest.raises(MemctlError, match="DOCTYPE"):
        parsed(text)


def test_xml_entities_are_never_expanded() -> None:
    bomb = '<!DOCTYPE lolz [<!ENTITY lol "lol"><!ENTITY lol2 "' + "&lol;" * 50 + '">]>\n<lolz>&lol2;</lolz>'
    assert "lol lol" not in "".join(block.text for block in blocks("Some text first.\n\n" + bomb))
    assert parsed(f"<a>x</a>\n{bomb}").format == "markdown"


def test_xml_that_is_nested_beyond_reason_is_read_as_text() -> None:
    assert parsed("<a>" * 5_000 + "</a>" * 5_000).format == "markdown"


def test_yaml_is_cut_at_its_keys_and_entries() -> None:
    found = blocks(YAML)
    assert parsed(YAML).format == "yaml"
    assert [(block.title, block.line) for block in found] == [
        ("MISSION", 2),
        ("BLOCKS", 3),
        ("DECISIONS", 4),
        ("DEC-2025-11-04-001", 5),
        ("instead of", 8),
    ]
    assert found[3].text.startswith("Adopt PostgreSQL\nis: accepted i9")
    assert found[4].text == "MongoDB: no joins\nSQLite: it's one writer"
    assert found[4].parent == 3


def test_lines_at_the_margin_open_blocks_and_indented_ones_belong_to_them() -> None:
    found = blocks(MARGIN)
    assert parsed(MARGIN).format == "lines"
    assert [(block.title, block.line, block.parent) for block in found] == [
        ("MEMORY", 1, -1),
        ("DATA", 2, -1),
        ("DECISIONS", 3, -1),
        ("DEC-2025-11-04-001 Adopt PostgreSQL", 4, 2),
        ("instead of", 6, 3),
        ("NEXT", 8, -1),
    ]


def test_messages_are_blocks_with_their_roles() -> None:
    messages = [
        {"role": "system", "content": "Be brief.\n\nBe kind."},
        {"role": "user", "content": [{"type": "text", "text": "Fix it."}, {"type": "tool_result", "content": "ok"}]},
    ]
    for text in (json.dumps(messages, indent=1), json.dumps({"model": "x", "messages": messages}, indent=1)):
        found = [block for block in blocks(text) if block.title != ""]
        assert parsed(text).format == "json"
        says = [(block.title, block.text) for block in found if not block.is_heading]
        assert says == [("system", "Be brief."), ("system", "Be kind."), ("user", "Fix it."), ("user", "ok")]
    lines = "\n".join(map(json.dumps, messages))
    assert [block.line for block in blocks(lines) if block.is_heading] == [1, 2]


def test_other_json_is_cut_at_its_members() -> None:
    found = blocks('{"goal": "x",\n "steps": ["a", "b"],\n "deep": {"k": 1}}')
    assert [(block.line, block.text) for block in found] == [
        (1, "goal: x"),
        (2, "steps: a\nb"),
        (3, "deep: k: 1"),
    ]


@pytest.mark.parametrize(
    "text", ["[1] a footnote, not JSON", "[link](to) somewhere", "{not json", "<a> b < c", "- x: y"]
)
def test_text_that_only_begins_like_a_format_is_read(text: str) -> None:
    assert "".join(block.text for block in blocks(text))


def test_an_empty_text_has_no_blocks() -> None:
    for text in ("", "\n", "   \n\t\n"):
        assert parsed(text).blocks == []
    assert parsed("").tokens == 0


def test_binary_content_is_refused() -> None:
    with pytest.raises(MemctlError, match="not text"):
        parsed("PNG\0\1\2")


def test_a_line_of_a_million_characters_is_read() -> None:
    for line in ("a" * 1_000_000, "a " * 500_000, "#" * 1_000_000, "- " * 500_000, "<" * 1_000_000, "[" * 100_000):
        assert parsed(line + "\n\nend").blocks


@given(st.text(alphabet="#-*>`~=|<a/>{}[]:\"' \n\tDEC_", max_size=200))
def test_any_text_can_be_taken_apart_and_no_line_is_beyond_its_end(text: str) -> None:
    try:
        found = blocks(text)
    except MemctlError:
        return
    for number, block in enumerate(found):
        assert block.parent < number
        assert 1 <= block.line <= block.end <= text.count("\n") + 1


def test_the_texts_of_a_tools_result_are_pieces_without_their_frame() -> None:
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "two files"}]}
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "ls", "arguments": "{}"}}]}
    found = parsed(json.dumps([call, {"role": "user", "content": [result]}]))
    assert [block.text for block in found.content] == ["two files"]


def test_a_transcript_is_the_messages_in_its_last_window_on_its_lines() -> None:
    answer = {
        "id": "a",
        "model": "claude-opus-4-6",
        "role": "assistant",
        "content": [{"type": "text", "text": "Done."}],
    }
    lines = [
        {"type": "summary", "summary": "before"},
        {"type": "user", "uuid": "1", "message": {"role": "user", "content": "Fix the login."}},
        {"type": "progress", "data": "no message"},
        {"type": "assistant", "uuid": "2", "parentUuid": "1", "message": answer},
    ]
    found = parsed("\n".join(map(json.dumps, lines)))
    assert found.format == "json"
    assert [(block.line, block.title, block.text) for block in found.content] == [
        (2, "user", "Fix the login."),
        (4, "assistant", "Done."),
    ]
    assert "progress" not in found.text
