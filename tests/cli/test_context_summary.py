"""`memctl context summary`."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from memctl.errors import USAGE
from tests.conftest import Memctl
from tests.pack.test_context_summary import BAD, GOOD
from tests.pack.test_returned import RETURNED, SUMMARY


def test_a_text_within_the_rules_is_printed_unchanged(memctl: Memctl) -> None:
    result = memctl("context-summary", "-", "--decision", "proceed", stdin=GOOD)
    assert result.out == f"PROCEED\n\n{GOOD}\n"
    assert "left out" not in result.err
    assert memctl("context-summary", "-", stdin=result.out).out == result.out, "it states its decision"


def test_omissions_are_reported_with_line_and_reason(memctl: Memctl, tmp_path: Path) -> None:
    (tmp_path / "returned.md").write_text(BAD)
    result = memctl("context-summary", str(tmp_path / "returned.md"), "--decision", "CLARIFY")
    assert result.out.startswith("CLARIFY\n\n- The file exports")
    assert (
        "left out, line 1: a search, not what it found: I searched for 'auth' and found several files.\n" in result.err
    )
    assert result.err.count("left out, line") == 5
    assert "nothing in it" not in result.err, "a path is something to look at"


def test_a_text_without_a_decision_is_refused(memctl: Memctl) -> None:
    err = memctl("context-summary", "-", stdin=GOOD, code=USAGE).err
    assert "states no decision" in err
    assert "--decision" in err


def test_a_text_with_two_decisions_needs_the_option(memctl: Memctl) -> None:
    text = f"Decision: STOP\n{GOOD}\nDecision: PROCEED"
    assert "more than one decision" in memctl("context-summary", "-", stdin=text, code=1).err
    assert memctl("context-summary", "-", "--decision", "STOP", stdin=text).out == f"STOP\n\n{GOOD}\n"


@pytest.mark.parametrize("text", ["", "PROCEED", "PROCEED\n\nI searched for auth. Let me think."])
def test_text_without_findings_is_refused(memctl: Memctl, text: str) -> None:
    result = memctl("context-summary", "-", "--decision", "PROCEED", stdin=text, code=1)
    assert result.out == ""
    assert "nothing for the next phase" in result.err


def test_json_has_the_tokens_saved(memctl: Memctl) -> None:
    data = memctl("context-summary", "-", "--json", stdin=msgspec.json.encode(RETURNED).decode()).data
    assert data["context_summary"].startswith(f"PROCEED\n\n{SUMMARY}")
    assert (data["task_id"], data["phase"], data["budget"]) == ("research-123", "research", 500)
    assert data["files_of_interest"][0] == "src/lib/auth.ts"
    assert list(data["discarded"]) == [f"findings.{name}" for name in RETURNED["findings"]]
    assert data["saving"] >= 0.96
    assert data["tokens"] <= 150
    assert {one["keeps"] for one in data["kept"]} == {"action", "path"}


def test_a_budget_is_kept_as_the_model_counts(memctl: Memctl) -> None:
    text = "Cookies must be httpOnly. " + " ".join(
        f"Tests for part {number} are in t{number}.py." for number in range(99)
    )
    data = memctl("context-summary", "-", "--json", "--decision", "STOP", "--budget", "60", stdin=text).data
    assert data["tokens"] <= 60
    assert data["context_summary"].startswith("STOP\n\n- Cookies must be httpOnly.\n")
    assert data["dropped"][-1]["reason"] == "no room in 60 tokens"
    assert data["dropped"][-1]["line"] == 1


def test_check_lists_what_breaks_the_rules(memctl: Memctl) -> None:
    assert memctl("context-summary", "-", "--check", stdin=f"PROCEED\n\n{GOOD}").out == ""
    out = memctl("context-summary", "-", "--check", stdin=BAD, code=1).out
    assert out.startswith("line 1: a search, not what it found: I searched")
    assert out.endswith(
        "the text states none of the decisions PROCEED, STOP, CLARIFY\n"
        "the text has nothing that the next phase can act on\n"
    )
    found = memctl("context-summary", "-", "--check", "--json", "--budget", "20", stdin=f"STOP\n{GOOD}", code=1).data[
        "violations"
    ]
    assert [one["line"] for one in found] == [0]
    assert "at most 20 are allowed" in found[0]["message"]


def test_context_summary_needs_no_memory(memctl: Memctl, tmp_path: Path) -> None:
    assert (
        memctl("context-summary", "-", "--decision", "STOP", stdin="Use JWT.", where=tmp_path).out
        == "STOP\n\nUse JWT.\n"
    )


def test_a_file_that_is_not_there_is_a_usage_error(memctl: Memctl, tmp_path: Path) -> None:
    memctl("context-summary", str(tmp_path / "absent"), code=USAGE)
