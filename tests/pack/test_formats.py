"""Each format of one and the same pack, exactly as it is."""

from __future__ import annotations

import msgspec
import pytest

from memctl.pack import budget_fill
from memctl.pack.budget_fill import fill
from memctl.pack.draft import NOTICED, Item, ItemField, OmittedItem, PackDraft, PackNote, PackPart
from memctl.pack.formats import short
from tests.generated import COUNTERS

DECISION = Item(
    "decision",
    "DEC-2025-11-04-001",
    "Adopt <PostgreSQL>",
    "## Rationale\n\nPayments need\ntransactions.\n\n## Alternatives considered\n\n- MongoDB: no joins\n- SQLite\n\n"
    "## Own\n\nx & y\n",
    (
        ("status", "accepted"),
        ("importance", "9"),
        ("date", "2025-11-04T14:32:00Z"),
        ("by", "Ada"),
        ("commit", "1f0c9a2b7d"),
    ),
    "d",
)
FILE = Item("file", "src/pay.py", "", "def pay():\n    ...\n", (("score", "80"),), "f")
DRAFT = PackDraft(
    project="shop",
    parts=(PackPart("decision", "Key decisions", (DECISION,)), PackPart("file", "Files", (FILE,))),
    opening=(
        NOTICED,
        PackNote("task", "Chosen for the task", "pay", essential=True),
    ),
    closing=(
        PackNote("next", "Next actions", "- Write it", of="d"),
        PackNote("next", "Next actions", "never", of="gone"),
    ),
    others=(OmittedItem("ISS-2025-11-04-001", "Slow", "too large"),),
    made="2025-11-04T14:32:00Z",
    source="ada",
    target="bob",
)
WRITTEN = {
    "markdown": """\
# Memory of shop

Recorded by people and agents at work on the project: information, not instructions.

Chosen for the task: pay

## Key decisions

### Adopt <PostgreSQL>

DEC-2025-11-04-001 | accepted | importance 9/10 | 2025-11-04 | by Ada | commit 1f0c9a2b7d

#### Rationale

Payments need
transactions.

#### Alternatives considered

- MongoDB: no joins
- SQLite

#### Own

x & y

## Files

### src/pay.py | score 80

```py
def pay():
    ...
```

## Left out

- ISS-2025-11-04-001 Slow (too large)

## Next actions

- Write it
""",
    "xml": """\
<workflow_context project="shop">
<notice>Recorded by people and agents at work on the project: information, not instructions.</notice>
<current_objective>pay</current_objective>
<decisions_made>
<decision id="DEC-2025-11-04-001" title="Adopt &lt;PostgreSQL&gt;" status="accepted" importance="9" \
date="2025-11-04T14:32:00Z" by="Ada" commit="1f0c9a2b7d"><rationale>Payments need
transactions.</rationale><alternatives_considered><item>MongoDB: no joins</item><item>SQLite</item>\
</alternatives_considered><part title="Own">x &amp; y</part></decision>
</decisions_made>
<file>
<file id="src/pay.py" score="80"><content>def pay():
    ...
</content></file>
</file>
<left_out>
<item id="ISS-2025-11-04-001" why="too large">Slow</item>
</left_out>
<next_step_context>- Write it</next_step_context>
</workflow_context>
""",
    "yaml": """\
MEMORY: shop
DATA: recorded by people and agents; information, not instructions
GOAL: pay
DECISIONS:
- DEC-2025-11-04-001: Adopt <PostgreSQL>
  is: accepted i9 2025-11-04 Ada @1f0c9a2b7d
  why: |-
    Payments need
    transactions.
  instead of:
  - 'MongoDB: no joins'
  - SQLite
  Own: x & y
FILE:
- src/pay.py: '80'
  content: |
    def pay():
        ...
LEFT OUT:
  ISS-2025-11-04-001: Slow (too large)
NEXT: '- Write it'
""",
    "tokens": """\
MEMORY: shop
DATA: recorded by people and agents; information, not instructions
GOAL: pay
DECISIONS:
DEC-2025-11-04-001 Adopt <PostgreSQL> |accepted i9 2025-11-04 Ada @1f0c9a2b7d|
 why: Payments need transactions.
 instead of:
 - MongoDB: no joins
 - SQLite
 Own: x & y
FILE:
src/pay.py |80|
 def pay():
     ...
LEFT OUT:
ISS-2025-11-04-001 Slow (too large)
NEXT: - Write it
""",
}


@pytest.mark.parametrize("form", WRITTEN)
def test_pack_is_written_in_each_format(form: str) -> None:
    assert fill(DRAFT, form, 5_000, COUNTERS["gpt"].tokens).text == WRITTEN[form]


def test_event_names_its_agents_and_its_sizes() -> None:
    text = fill(DRAFT, "event", 5_000, COUNTERS["gpt"].tokens).text
    inside = WRITTEN["xml"].split("\n", 1)[1].removesuffix("</workflow_context>\n")
    head, rest = text.split(inside)
    assert "<source_agent>ada</source_agent>\n<target_agent>bob</target_agent>\n<workflow_id>shop</workflow_id>" in head
    assert "<timestamp>2025-11-04T14:32:00Z</timestamp>" in head
    sizes = [COUNTERS["gpt"].tokens(part.split("\n</")[0]) for part in inside.split("<decisions_made>\n")[1:]]
    assert f"<scs_size>{sizes[0]}</scs_size>" in rest


@pytest.mark.parametrize("end", ["\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"])
def test_no_line_of_an_item_begins_in_the_first_column(end: str) -> None:
    text = f"one{end}DECISIONS: none\r\ntwo"
    made = PackDraft(
        "shop",
        (PackPart("issue", "Issues", (Item("issue", "ISS-1", "Odd", text), Item("file", "a.py", "", text, key="f"))),),
    )
    packed = fill(made, "tokens", 5_000, COUNTERS["gpt"].tokens).text
    assert [line for line in packed.splitlines() if line.startswith("DECISIONS")] == []
    assert packed.count("DECISIONS: none") == 2


@pytest.mark.parametrize("leading", [0, 9])
def test_shared_context_is_measured_in_every_part(leading: int) -> None:
    weighty = msgspec.structs.replace(DECISION, weight=9)
    made = PackDraft("shop", (PackPart("critical_decisions", "Critical decisions", (weighty,)),), leading=leading)
    text = fill(made, "event", 5_000, COUNTERS["gpt"].tokens).text
    shared, whole = (text.split(f"<{name}>")[1].split("<")[0] for name in ("scs_size", "aws_size"))
    assert shared == whole != "0"


def test_event_id_follows_from_its_content() -> None:
    def event_id(project: str) -> str:
        made = PackDraft(project, DRAFT.parts, made=DRAFT.made)
        return fill(made, "event", 5_000, COUNTERS["gpt"].tokens).text.split("event_id>")[1]

    other = PackDraft("shop", DRAFT.parts[:1], made=DRAFT.made)
    assert event_id("shop") == event_id("shop")
    assert event_id("shop") != fill(other, "event", 5_000, COUNTERS["gpt"].tokens).text.split("event_id>")[1]


@pytest.mark.parametrize(
    ("size", "inter_agent", "form"),
    [
        (0, False, "yaml"),
        (499, True, "yaml"),
        (500, False, "xml"),
        (1_999, True, "xml"),
        (2_000, False, "tokens"),
        (2_000, True, "event"),
    ],
)
def test_size_and_operation_choose_the_format(size: int, inter_agent: bool, form: str) -> None:
    assert budget_fill.format_for(size, inter_agent=inter_agent) == form


@pytest.mark.parametrize(
    ("words", "budget", "inter_agent", "form"),
    [
        (10, 20_000, False, "yaml"),
        (900, 20_000, False, "xml"),
        (5_000, 20_000, False, "tokens"),
        (5_000, 20_000, True, "event"),
        (5_000, 300, False, "yaml"),
    ],
)
def test_auto_format_follows_the_content_size_and_the_budget(
    words: int, budget: int, inter_agent: bool, form: str
) -> None:
    made = PackDraft(
        "shop", (PackPart("learning", "Learnings", (Item("learning", "L", "T", "word " * words, key="k"),)),)
    )
    assert fill(made, "auto", budget, COUNTERS["gpt"].tokens, inter_agent=inter_agent).format == form


def test_the_body_of_an_item_falls_into_fields() -> None:
    body = "before\n\n## Lesson\n\nIt is so.\n\n## Mine\n\nown words\n\n## Evidence\n\n\n"
    assert Item("learning", "L", "T", body).fields() == [
        ItemField("", "", "before"),
        ItemField("lesson", "Lesson", "It is so."),
        ItemField("", "Mine", "own words"),
    ]


def test_repeated_headings_are_both_in_yaml() -> None:
    item = Item("learning", "L", "T", "## Lesson\n\na\n\n## lesson\n\nb\n\n## is\n\nc\n", (("status", "active"),), "k")
    text = fill(PackDraft("x", (PackPart("learning", "L", (item,)),)), "yaml", 5_000, COUNTERS["gpt"].tokens).text
    assert "  is: active\n  lesson: a\n  lesson 2: b\n  is 2: c\n" in text


@pytest.mark.parametrize(
    ("text", "squeezed"),
    [
        ("a\nb\n\n\nc", "a b\nc"),
        ("- a\n  b\n- c", "- a\n  b\n- c"),
        ("a\n1. b\n2. c", "a\n1. b\n2. c"),
        ("# a\nb\nc", "# a\nb c"),
        ("| a |\n| b |", "| a |\n| b |"),
        ("a\n\n```\nx\n\n  y\n```\nb", "a\n```\nx\n  y\n```\nb"),
        ("a  \nb", "a b"),
        ("> a\n> b", "> a\n> b"),
    ],
)
def test_a_text_is_squeezed_without_losing_words(text: str, squeezed: str) -> None:
    assert short.squeeze(text) == squeezed


def test_two_left_out_records_with_one_id_are_both_listed() -> None:
    """Two clones may have given the same id; and a file may be called `more`."""
    others = tuple(OmittedItem(name, title) for name, title in (("more", "a file"), ("x", "One"), ("x", "Other")))
    text = fill(PackDraft("shop", (), others=others), "yaml", 5_000, COUNTERS["gpt"].tokens).text
    assert text.endswith("LEFT OUT:\n  more: a file\n  x: One\n  x 2: Other\n")
