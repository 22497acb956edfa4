"""The reader of statements: from texts as people write them to kinds and fields, whatever stands before the labels."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import pytest

from memctl.record.kinds import KINDS
from memctl.record.record import ORDER
from memctl.statements import labels, reader
from memctl.statements.statement import Statement
from tests.conftest import every

DECISION = """DECISION: Keep orders as events
Rationale: Every price can be explained, and reports can be replayed
Alternatives: Rows that change (rejected: no history), A log beside them (rejected: drifts apart)
Impact: Six weeks of migration, a third less code in billing
Validated: A replay of March gives the same sums
Agent: Billing-Planner-7"""
BUG = """BUG-31 [CRITICAL]: The till hangs when the line drops
Repro: Pull the cable during a payment; 3 of 10 hang
Status: Cause found (the lock is kept while waiting)
Attempted: A shorter wait (no effect), A second lock (partly)
Next: Wait without the lock"""
DETAIL = """CRITICAL: Cart.total counts cents as an integer
Rationale: A float lost a cent in 1 of 400 carts
Storage: BIGINT, never NUMERIC
Lookup: WHERE total_cents = ROUND($1 * 100)"""
CHANGE = """[2025-03-02T08:15:00Z] Modified: src/till/lock.py
Changes: Releases the lock before it waits, and takes it again behind
Reason: The till hung, BUG-31
Impact: Affects src/till/pay.py (it must check the total again)"""
TASK = """TASK: Serve the price list over HTTP
Progress: 40% complete
  \u2713 GET /prices (done)
  \u2713 HEAD /prices (done)
  \u29d6 PUT /prices (in progress - validation is left)
  \u2610 DELETE /prices (not started)
Next actions:
  1. Validate what PUT gets (waits for: the schema)
  2. Answer DELETE with 405
  3. Limit the rate
Blockers: The schema has to be agreed with the shops"""
LESSON = """Lesson: A retry hides an exhausted pool
Context: Load test of the till with 100 clients
Applies to: Anything that queues for a connection
Evidence: 30 % fewer errors after the pool grew"""
OWNER = "Ownership: \u00a72.1 by Till-Writer-2, exclusive"

_PLAIN: dict[str, tuple[str, str, dict[str, object], dict[str, object]]] = {
    DECISION: (
        "decision",
        "Keep orders as events",
        {"agent_id": "Billing-Planner-7"},
        {
            "rationale": "Every price can be explained, and reports can be replayed",
            "alternatives_considered": (
                "Rows that change (rejected: no history)",
                "A log beside them (rejected: drifts apart)",
            ),
            "expected_impact": "Six weeks of migration, a third less code in billing",
            "validation_criteria": "A replay of March gives the same sums",
        },
    ),
    BUG: (
        "issue",
        "BUG-31: The till hangs when the line drops",
        {"severity": "critical", "number": "BUG-31"},
        {
            "reproduction_steps": "Pull the cable during a payment; 3 of 10 hang",
            "investigation_status": "Cause found (the lock is kept while waiting)",
            "attempted_fixes": ("A shorter wait (no effect)", "A second lock (partly)"),
            "next_actions": ("Wait without the lock",),
        },
    ),
    DETAIL: (
        "detail",
        "Cart.total counts cents as an integer",
        {},
        {"rationale": "A float lost a cent in 1 of 400 carts"},
    ),
    CHANGE: (
        "change",
        "src/till/lock.py",
        {"action": "modified"},
        {
            "changes": "Releases the lock before it waits, and takes it again behind",
            "reason": "The till hung, BUG-31",
            "impact": "Affects src/till/pay.py (it must check the total again)",
        },
    ),
    TASK: (
        "state",
        "Serve the price list over HTTP",
        {"completion_percentage": 40},
        {
            "status": ("40% complete",),
            "substeps_completed": ("GET /prices (done)", "HEAD /prices (done)"),
            "substeps_remaining": ("PUT /prices (in progress - validation is left)", "DELETE /prices (not started)"),
            "next_actions": (
                "Validate what PUT gets (waits for: the schema)",
                "Answer DELETE with 405",
                "Limit the rate",
            ),
            "blockers": ("The schema has to be agreed with the shops",),
        },
    ),
    LESSON: (
        "learning",
        "A retry hides an exhausted pool",
        {},
        {
            "context": "Load test of the till with 100 clients",
            "applicability": "Anything that queues for a connection",
            "evidence": "30 % fewer errors after the pool grew",
        },
    ),
    OWNER: ("ownership", "\u00a72.1 by Till-Writer-2, exclusive", {}, {}),
}


def _bold(line: str) -> str:
    head, colon, rest = line.partition(": ")
    return f"**{head}**{colon}{rest}" if colon and not line.startswith(" ") else line


def _in_two_cells(line: str) -> str:
    head, colon, rest = line.partition(": ")
    return f"| {head} | {rest} |" if colon and not line.startswith((" ", "[")) else f"| {line} |"


def _small(line: str) -> str:
    head, colon, rest = line.partition(": ")
    return line if line[0] in " [B" or head in ("Storage", "Lookup") else f"{head.lower()}{colon}{rest}"


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": lambda line: line,
    "behind a time": lambda line: line if line.startswith("[") else f"[2025-03-02T08:15:00Z] {line}",
    "behind a day": lambda line: f"2025-03-02 {line}",
    "behind a day in bold": lambda line: f"- **2025-03-02**: {line}",
    "behind a time in bold": lambda line: line if line.startswith("[") else f"**[2025-03-02T08:15:00Z]** {line}",
    "behind a bullet": lambda line: f"- {line}",
    "behind a star": lambda line: f"* {line}",
    "behind a dot": lambda line: f"\u25cf {line}",
    "in a quotation": lambda line: f"> {line}",
    "in a quoted item": lambda line: f"> - {line}",
    "label in bold": _bold,
    "label in bold behind a time": lambda line: f"14:03:59 {_bold(line)}",
    "all in bold": lambda line: f"**{line}**" if ": " in line and line[0] not in " [" else line,
    "in a cell": lambda line: f"| {line} |",
    "in two cells": _in_two_cells,
    "in small letters": lambda line: _small(line),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", _PLAIN, ids=[one.split(":")[0] for one in _PLAIN])
def test_critical_details_behind_any_mark_are_read_with_all_fields(text: str, form: str) -> None:
    kind, title, values, content = _PLAIN[text]
    given = "Some words before.\n\n" + "\n".join(map(FORMS[form], text.split("\n"))) + "\n\nAnd some after."
    (one,) = reader.read(given)
    assert (one.kind, one.title, one.content) == (kind, title, content)
    told = {name: value for name, value in one.values.items() if name != "timestamp"}
    assert told == values
    assert (one.line, one.end) == (3, 2 + len(text.split("\n")))
    assert one.source == "\n".join(given.split("\n")[2 : one.end])
    assert one.certainty == 1.0


@pytest.mark.parametrize("mark", ["[agent-2] ", "INFO ", "2025-03-02T08:15:00Z [till-3] INFO "])
def test_a_label_behind_the_source_or_level_of_a_log_is_read(mark: str) -> None:
    (one,) = reader.read(f"{mark}DECISION: Store the till's sales in SQLite")
    assert (one.kind, one.title) == ("decision", "Store the till's sales in SQLite")


def test_statements_in_one_log_give_the_records_of_each_alone() -> None:
    found = reader.read("\n".join(_PLAIN))
    assert [(one.kind, one.title, one.content) for one in found] == [
        (kind, title, content) for kind, title, _, content in _PLAIN.values()
    ]
    assert found[3].values["timestamp"] == "2025-03-02T08:15:00Z"


def test_unknown_label_ends_a_field_and_stays_in_the_source() -> None:
    (one,) = reader.read(DETAIL)
    assert [(more.line, more.name) for more in one.more] == [(3, "Storage"), (4, "Lookup")]
    assert one.source == DETAIL


TEMPLATE = """## DECISION: Store the till's sales in SQLite

**Decision ID**: DEC-2025-03-02-004
**Timestamp**: 2025-03-02T09:30:00Z
**Agent**: Till-Architect-3
**Project**: corner-shop
**Importance**: 9

### Decision
Chose SQLite for the till, in place of the server that was planned.

It is written to by one process alone.

### Rationale
- The line drops twice a week, and sales go on
- One file is copied at night
  and tried in the morning

### Alternatives Considered
1. **MySQL**: Rejected, for it needs the line
2. **A text file**: Rejected because half a line may be written

### Expected Impact
- Speed: 95th percentile < 20 ms (measured with 10 tills)
- Cost: none

### Validation Criteria
- No sale is lost in 100 cuts of the power
- Timeframe: after three months

### Context
- Four shops, one person for all of them
- Related: DEC-2025-01-10-002

### Tags
till, storage, `sqlite`
"""
TEMPLATE_CONTENT = {
    "decision": "Chose SQLite for the till, in place of the server that was planned.\n\nIt is written to by one process"
    " alone.",
    "rationale": "- The line drops twice a week, and sales go on\n- One file is copied at night\n"
    "  and tried in the morning",
    "alternatives_considered": (
        "MySQL: Rejected, for it needs the line",
        "A text file: Rejected because half a line may be written",
    ),
    "expected_impact": "- Speed: 95th percentile < 20 ms (measured with 10 tills)\n- Cost: none",
    "validation_criteria": "- No sale is lost in 100 cuts of the power\n- Timeframe: after three months",
    "context": "- Four shops, one person for all of them\n- Related: DEC-2025-01-10-002",
}


@pytest.mark.parametrize("level", range(1, 4))
@pytest.mark.parametrize("quote", ["", "> "])
def test_a_filled_template_is_read_whole_at_any_level(level: int, quote: str) -> None:
    deeper = "#" * (level - 1)
    lines = TEMPLATE.replace("### ", f"{deeper}### ").replace("\n## ", f"\n{deeper}## ").split("\n")
    lines[0] = deeper + lines[0][1:] if level > 1 else lines[0][1:]
    (one,) = reader.read("\n".join(f"{quote}{line}".rstrip() for line in lines))
    assert (one.title, dict(one.content), one.more) == ("Store the till's sales in SQLite", TEMPLATE_CONTENT, ())
    assert one.values == {
        "number": "DEC-2025-03-02-004",
        "timestamp": "2025-03-02T09:30:00Z",
        "agent_id": "Till-Architect-3",
        "project_id": "corner-shop",
        "importance": 9,
        "tags": ("till", "storage", "sqlite"),
    }


def test_a_template_with_all_headings_of_one_level_is_one_statement() -> None:
    (one,) = reader.read(TEMPLATE.replace("### ", "## "))
    assert one.content == TEMPLATE_CONTENT


@pytest.mark.parametrize(
    ("heading", "near"), [("Rational", "Rationale"), ("Altenatives", "Alternatives"), ("Weather", "")]
)
def test_an_unknown_heading_is_reported_with_the_nearest_known_one(heading: str, near: str) -> None:
    (one,) = reader.read(TEMPLATE.replace("### Tags", f"### {heading}\nOne line.\n\nAnother.\n\n### Tags"))
    ((line, end, name, nearest),) = [(m.line, m.end, m.name, m.nearest) for m in one.more]
    assert (name, nearest, end - line) == (heading, near, 3)
    assert one.content == TEMPLATE_CONTENT


PAGE = """## Session Summary \u2014 till-12

### Session Intent
Let the till sell while the line is down.

### Files Modified
| File | Action | What Changed |
|------|--------|-------------|
| src/till/queue.py | created | Keeps sales until the line is back |
| src/till/pay.py | modified | Puts a sale into the queue |

### Files Read (Not Modified)
- src/till/net.py \u2014 Read for how it retries
- schema.sql \u2014 Checked the columns

### Decisions Made
1. Used a file for the queue (not memory) because the power may fail
2. Chose one writer over a lock for simplicity

### Current State
- 2/4 steps done (queue, pay; resend and report pending)
- All tests passing (9 unit)
- No blockers

### Next Steps
1. Resend when the line is back
2. Report what was queued

### Error Context (if any)
- A first try with threads failed for lack of a lock \u2014 switched to one writer
"""


def test_a_session_page_is_read_section_by_section() -> None:
    found = reader.read(PAGE)
    told = [(one.kind, one.title, dict(one.values), dict(one.content)) for one in found]
    assert told == [
        ("state", "Let the till sell while the line is down.", {}, {}),
        ("change", "src/till/queue.py", {"action": "created"}, {"changes": "Keeps sales until the line is back"}),
        ("change", "src/till/pay.py", {"action": "modified"}, {"changes": "Puts a sale into the queue"}),
        ("read", "src/till/net.py", {}, {"reason": "Read for how it retries"}),
        ("read", "schema.sql", {}, {"reason": "Checked the columns"}),
        (
            "decision",
            "Used a file for the queue (not memory)",
            {},
            {"rationale": "the power may fail", "alternatives_considered": ("memory",)},
        ),
        ("decision", "Chose one writer over a lock for simplicity", {}, {"alternatives_considered": ("a lock",)}),
        ("state", "", {}, {"status": ("2/4 steps done (queue, pay; resend and report pending)",
                                      "All tests passing (9 unit)", "No blockers")}),
        ("state", "", {}, {"next_actions": ("Resend when the line is back", "Report what was queued")}),
        ("error", "A first try with threads failed for lack of a lock \u2014 switched to one writer", {}, {}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "kind", "title"),
    [
        ("Decision: PROCEED", "verdict", "PROCEED"),
        ("**Decision**: stop, the schema is missing", "verdict", "STOP"),
        ("| Status | CLARIFY |", "verdict", "CLARIFY"),
        ("Recommendation: PROCEED", "verdict", "PROCEED"),
        ("Decision: proceed with SQLite", "decision", "proceed with SQLite"),
    ],
)
def test_the_end_of_a_phase_is_a_verdict(text: str, kind: str, title: str) -> None:
    (one,) = reader.read(text)
    assert (one.kind, one.title) == (kind, title)


def test_an_orchestrators_status_is_part_of_the_state() -> None:
    text = "Task: till-12, sell offline\nPhase: write\nCompleted phases: research\nFiles changed: src/till/queue.py"
    state, change = reader.read(text)
    assert (state.kind, state.title, state.content["phase"]) == ("state", "till-12, sell offline", "write")
    assert (change.kind, change.title) == ("change", "src/till/queue.py")


@pytest.mark.parametrize(
    "text",
    [
        "The decision: nobody knows it yet.",
        "What comes next: nobody knows.",
        "Our next step will be: to wait.",
        "critical thinking is needed",
        "Note that it is late.",
        "Status quo: it stays",
        "Modified: by somebody",
        "Created: 12 files",
        "`DECISION: x` is how it looks",
        "```\nDECISION: x\n```",
        "https://task: 1",
        "next::is_empty()",
        "The task: it is empty.",
        "Rationale: nothing was decided",
        "Impact: none, for nothing was changed",
        "Reason: it rains",
        "Agent: Smith",
        "Tags: a, b",
    ],
)
def test_a_sentence_is_no_label_and_a_field_alone_no_statement(text: str) -> None:
    assert reader.read(text) == ()


def test_a_list_ends_at_a_dedent_and_at_a_sibling_of_its_label() -> None:
    text = """3. What was done:
   - Key decisions:
     - Keep one writer
       that waits
       - even at night
     - Log in UTC because shops differ
   - All tests passed
   - **Commit and PR**:
     - two commits
4. Problems: none
"""
    found = [one for one in reader.read(text) if one.kind == "decision"]
    assert [(one.title, one.line, one.content) for one in found] == [
        ("Keep one writer that waits - even at night", 3, {}),
        ("Log in UTC", 6, {"rationale": "shops differ"}),
    ]


def test_a_plain_log_ends_a_reason_where_another_sentence_begins() -> None:
    text = "DECISION: use a queue\nRationale: the line drops.\nI ran the tests.\nError: no module named till\nAll fine."
    (one, _) = reader.read(text)
    assert (one.content["rationale"], one.end) == ("the line drops.", 2)


def test_head_that_names_the_columns_of_pairs_is_no_text() -> None:
    table = "| Field | Value |\n|---|---|\n| **Impact** | a slower start |\n| Importance | 9 |"
    (found,) = reader.read(f"## DECISION: Keep carts in Redis\n\n{table}")
    assert (found.title, dict(found.values)) == ("Keep carts in Redis", {"importance": 9})
    assert dict(found.content) == {"expected_impact": "a slower start"}


def test_a_table_with_a_head_of_labels_states_a_row_each() -> None:
    head = "| Decision | Rationale | Alternatives |\n|---|:--|--|\n"
    text = f"{head}| One writer | simple | a lock |\n| UTC | shops differ | |"
    assert [(one.title, one.content) for one in reader.read(text)] == [
        ("One writer", {"rationale": "simple", "alternatives_considered": ("a lock",)}),
        ("UTC", {"rationale": "shops differ"}),
    ]


def test_lines_of_a_records_text_that_no_field_takes_are_reported() -> None:
    text = "Intro.\n\n# Use a queue\n\nBecause of the line.\n\n## Rational\nIt drops.\n\n## Rationale\nTwice.\n"
    own, unread, others = reader.read_record(text, "decision")
    assert own is not None
    assert (own.title, own.content, others) == (
        "Use a queue",
        {"rationale": "Twice."},
        [],
    )
    assert [(one.line, one.end, one.name, one.nearest) for one in unread] == [
        (1, 1, "", ""),
        (5, 5, "", ""),
        (7, 8, "Rational", "Rationale"),
    ]


def test_the_fields_of_statements_are_those_of_records() -> None:
    for name in ("decision", "issue", "state", "learning"):
        known = {field.name for field in KINDS[name].fields}
        assert set(labels.FIELDS[name].values()) - known <= {"status", "phase"}, name
        assert {field.name for field in KINDS[name].fields if field.is_list} - labels.LISTS == set()
    assert set(labels.VALUES) - {labels.NUMBER} <= set(ORDER)


_HOSTILE: Sequence[str] = (
    "DECISION: a ", "It is. TODO: x ", "- ", "> ", "[ ] ", "|", "| a ", "DECISION: x\n", "**", "Rationale: ", "# ",
    "Next:\n- a\n", "`", "2025-01-01 ", "\u2713 ", "a (b), ", "DECISION: x\nAlternatives: a (b), c (d)\n", "    - a\n",
    "Tags: a,", "Status: 1 % ", "| Decision | Why |\n|-|-|\n| a | b |\n", "1. ", "a:", " ", "\t",
    "Task - ", "((((", "~~~\n",
)  # fmt: skip


@pytest.mark.parametrize("unit", every(4, _HOSTILE))
def test_reading_takes_time_in_proportion_to_the_text(unit: str) -> None:
    """A quarter of the text, and no pattern that goes back over what it has read: that would take 16 times as long."""

    def seconds(size: int) -> float:
        started = time.process_time()
        reader.read.cache_clear()
        reader.read("DECISION: x\nRationale: " + unit * (size // len(unit)))
        return time.process_time() - started

    small = min(seconds(25_000) for _ in range(3))
    most = 10 * max(small, 0.0025)
    assert any(seconds(100_000) < most for _ in range(3))  # a busy machine stretches one of them, not each


def test_a_statement_gives_its_fields_as_text_and_as_items() -> None:
    one = Statement("decision", "x", 1, 1, "x", content={"rationale": "a", "alternatives_considered": ("b", "c")})
    assert (one.text("rationale"), one.items("rationale"), one.text("context")) == ("a", ("a",), "")
    assert (one.text("alternatives_considered"), one.items("alternatives_considered")) == ("b\nc", ("b", "c"))


@pytest.mark.parametrize("kind", list(KINDS))
def test_heading_without_a_label_is_the_title_for_any_kind(kind: str) -> None:
    own, _, others = reader.read_record("# Refunds\n\nAs agreed.\n", kind)
    assert own is None or (own.kind, own.title) == (kind, "Refunds")
    assert others == []


@pytest.mark.parametrize("text", [BUG, TASK], ids=["issue", "state"])
def test_headings_of_one_level_without_a_gap_are_one_statement(text: str) -> None:
    (one,) = reader.read("\n".join(f"### {line}" if line[0] != " " else line for line in text.split("\n")))
    assert (one.kind, one.title, one.content) == (_PLAIN[text][0], _PLAIN[text][1], _PLAIN[text][3])


def test_lists_of_a_package_are_read_one_by_one_with_reasons_in_brackets() -> None:
    made = reader.read(
        "[Package for the till team]\n"
        "  - Key Decisions:\n"
        "    \u2022 Queue: Kafka (rationale: the team runs it)\n"
        "    \u2022 Prices: integers\n"
        "    (120 tokens)\n\n"
        "  - Critical Constraints:\n"
        "    \u2022 No card numbers in logs (audit)\n"
        "  - Implementation Priorities:\n"
        "    1. The till\n"
        "    2. Refunds [BLOCKED: the bank's answer]\n"
    )
    assert [(one.kind, one.title) for one in made[:3]] == [
        ("decision", "Queue: Kafka"),
        ("decision", "Prices: integers"),
        ("detail", "No card numbers in logs (audit)"),
    ]
    assert made[0].text("rationale") == "the team runs it"
    assert made[3].content == {
        "next_actions": ("The till", "Refunds [BLOCKED: the bank's answer]"),
        "blockers": ("the bank's answer",),
    }


@pytest.mark.parametrize("mark", ["", "- ", "2. ", "> "])
def test_a_line_in_brackets_is_a_heading_of_the_list_below_it(mark: str) -> None:
    made = reader.read(
        f"{mark}[Agent B - Decisions Made]\n{mark and ' '}    - Sums are cents\n\n[Other Notes]\n- nothing\n"
    )
    assert [(one.kind, one.title) for one in made] == [("decision", "Sums are cents")]


def test_labels_that_bars_part_are_fields_of_one_statement() -> None:
    (one,) = reader.read("Decision: Sums are cents\n**Agent**: Ada | **Importance**: 9/10 | **Date**: 2025-03-02\n")
    assert one.values == {"agent_id": "Ada", "importance": 9, "timestamp": "2025-03-02"}


def test_value_ends_with_its_line_and_the_text_below_is_left_out() -> None:
    (one,) = reader.read("DECISION: Sums are cents\nAgent: Ada\nThen I ran the tests.\n")
    assert one.values == {"agent_id": "Ada"}
    (one,) = reader.read("## DECISION: Sums are cents\n\n### Tags\ntill, money\n\nThen I ran the tests.\n")
    assert one.values == {"tags": ("till", "money")}


def test_lines_with_times_below_a_label_are_its_items() -> None:
    made = reader.read("14:01:00 Next steps:\n14:01:00 Pay by card\n14:01:00 Pay by phone\n")
    assert [one.content for one in made] == [{"next_actions": ("Pay by card", "Pay by phone")}]
    made = reader.read("14:01:00 DECISION: Sums are cents\n14:02:00 Ran the tests\n")
    assert [(one.title, one.end) for one in made] == [("Sums are cents", 1)]


def test_the_id_of_a_decision_behind_its_title_is_its_number() -> None:
    (one,) = reader.read("Key Decisions:\n- Sums are cents [DEC-2025-03-02-004]\n")
    assert (one.title, one.values) == ("Sums are cents", {"number": "DEC-2025-03-02-004"})


def test_a_whole_text_has_one_state_with_all_its_parts() -> None:
    text = "### Session Intent\nServe prices\n\n### Current State\n- 2 of 3 done\n\n### Next Steps\n1. Limit the rate\n"
    own, unread, others = reader.read_record(text, "state")
    assert own is not None
    assert (own.title, unread, others) == ("Serve prices", [], [])
    assert own.content == {"status": ("2 of 3 done",), "next_actions": ("Limit the rate",)}


def test_a_critical_detail_is_the_learning_of_a_whole_text() -> None:
    own, _, _ = reader.read_record(DETAIL, "learning")
    assert own is not None
    assert (own.kind, own.title) == ("detail", "Cart.total counts cents as an integer")


def test_fields_of_records_are_labels_by_their_own_names() -> None:
    (one,) = reader.read("Decision: Sums are cents\nalternatives_considered: floats\nexpected_impact: exact sums\n")
    assert one.content == {"alternatives_considered": ("floats",), "expected_impact": "exact sums"}


@pytest.mark.parametrize(
    ("status", "completion"),
    [
        ("65%", 65),
        ("about 65 %", 65),
        ("About 65 %", 65),
        ("IN_PROGRESS (40%)", 40),
        ("In progress, 40 %", 40),
        ("The parser is 99.5 % complete", 99),
        ("A test fails: expects 42.9% but got 33.3%.", None),
        ("The cache hits 80 % of requests", None),
        ("Login works, 85% coverage", None),
        ("65% - PATCH is left", 65),
    ],
)
def test_a_status_gives_the_completion_only_where_a_percentage_says_how_much_is_done(status, completion):
    (state,) = reader.read(f"Current task: Serve the price list\nStatus: {status}")
    assert state.values.get("completion_percentage") == completion


@pytest.mark.parametrize(
    "text", ["Lock file is in. Next steps:\n- a\n- b", "Done. **Next steps:**\n\n1. a\n2. b\n\nBye."]
)
def test_a_label_that_ends_a_line_has_the_list_below(text: str) -> None:
    (statement,) = reader.read(text)
    assert statement.content["next_actions"] == ("a", "b")
