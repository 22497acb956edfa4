"""What a sub-agent returned."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memctl.errors import MemctlError
from memctl.pack.context_summary import AgentResult, parse, summarize
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES

COUNT = Counter(FAMILIES["gpt"]).tokens
SUMMARY = "JWT auth exists in src/lib/auth.ts. Extend it with loginUser."


def implementation(number: int) -> dict[str, Any]:
    return {"path": f"src/lib/auth{number % 3}.ts", "line": number, "purpose": "validates the token of a request again"}


# An object as of rules.md#phase-summaries, with findings of about 2,000, 500, 800 and 400 tokens.
FINDINGS = {
    "existing_implementations": [implementation(number) for number in range(70)],
    "conflicts": [f"middleware {number} reads the session cookie before the token is there" for number in range(35)],
    "patterns_found": [f"pattern {number}: validate first, then load the user of the token" for number in range(53)],
    "recommendations": [f"recommendation {number}: add a test for expired tokens" for number in range(30)],
}
RETURNED = {
    "task_id": "research-123",
    "phase": "research",
    "status": "complete",
    "decision": "PROCEED",
    "findings": FINDINGS,
    "context_summary": SUMMARY,
    "tokens_used": 15000,
}


def parsed(**data: Any) -> AgentResult:
    return parse(msgspec.json.encode(data).decode())


def test_returned_object_keeps_decision_summary_and_files() -> None:
    found = parsed(**RETURNED)
    assert (found.decision, found.task_id, found.phase) == ("PROCEED", "research-123", "research")
    assert found.text == SUMMARY
    assert found.paths == ["src/lib/auth0.ts", "src/lib/auth1.ts", "src/lib/auth2.ts"]
    assert list(found.discarded) == [f"findings.{name}" for name in FINDINGS]


def test_more_than_95_percent_of_a_returned_object_is_saved() -> None:
    """3,700 tokens of findings against 150 that go on: about 96 %."""
    found = parsed(**RETURNED)
    sizes = [COUNT(text, "json") for text in found.discarded.values()]
    assert sizes == pytest.approx([2000, 500, 800, 400], rel=0.25)
    summary = summarize(found.text, found.decision, 500, COUNT, found.paths)
    assert summary.tokens <= 150
    assert 1 - summary.tokens / sum(sizes) > 0.96


def test_open_errors_are_passed_on_and_resolved_ones_are_not() -> None:
    errors = [
        "Port 80 is\ntaken",
        {"message": "No such table", "resolved": False},
        {"error": "Old one", "status": "fixed"},
        {"message": "Gone", "resolved": True},
        "TypeError in pay() (resolved by a cast)",
        3,
    ]
    assert parsed(context_summary="Use JWT.", errors=errors).text == (
        "Use JWT.\n\n- Error: Port 80 is taken\n- Error: No such table"
    )


def test_without_a_summary_the_findings_are_the_text() -> None:
    found = parsed(findings={"patterns": ["Validate first."], "notes": {"a": "Use JWT.", "b": 3}, "c": ["- Item."]})
    assert found.text == "- Validate first.\n- Use JWT.\n- Item."


def test_list_is_accepted_as_a_summary() -> None:
    assert parsed(context_summary=["Use JWT.", "Add  tests."]).text == "- Use JWT.\n- Add tests."


def test_files_are_taken_from_where_they_are_named() -> None:
    found = parsed(
        context_summary="x",
        files_changed=["Makefile", {"path": "a.py"}, "two\nlines", 3],
        findings={"x": [{"file": "b.py", "other": "c.py"}], "y": "d.py"},
    )
    assert found.paths == ["Makefile", "a.py", "b.py"]


def test_unknown_keys_and_findings_without_names_are_discarded() -> None:
    found = parsed(context_summary="x", findings=["one", "two"], scratch={"a": 1}, empty=[], decision="maybe")
    assert found.discarded == {"findings": '["one","two"]', "scratch": '{"a":1}'}
    assert found.decision == ""


def test_an_object_in_a_block_of_json_is_found() -> None:
    block = msgspec.json.encode({"decision": "stop", "context_summary": "Ask first."}).decode()
    found = parse(f"I am done.\n\n```json\n{{broken\n```\n\n```json\n{block}\n```\n\nBye.")
    assert (found.text, found.decision) == ("Ask first.", "STOP")
    assert found.discarded["text around"].startswith("I am done.")


def test_text_without_a_returned_object_is_kept_unchanged() -> None:
    for text in ("Use JWT.", '```json\n{"a": 1}\n```', ""):
        assert parse(text) == AgentResult(text)


@pytest.mark.parametrize(
    "text", ["{", '{"a": }', "{" * 100_000, '{"decision": "STOP"}', '{"context_summary": " "}', '{"findings": [1]}']
)
def test_a_broken_or_empty_object_is_refused(text: str) -> None:
    with pytest.raises(MemctlError):
        parse(text)


def test_an_object_that_is_nested_too_deep_in_a_text_stays_text() -> None:
    text = f'Use JWT.\n```json\n{{"context_summary": {"[" * 900}"x"{"]" * 900}}}\n```\n'
    assert parse(text) == AgentResult(text)
