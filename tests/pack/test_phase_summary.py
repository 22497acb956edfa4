"""What the memory says to the next phase."""

from __future__ import annotations

import pytest

from memctl.errors import MemctlError
from memctl.pack.phase_summary import PhaseStatus, assess, summary
from tests.conftest import Memctl
from tests.generated import COUNTERS, NOW, memory

STATE = {"memory_type": "state", "title": "Refunds", "completion_percentage": 40, "code_refs": ["src/pay.py"]}
ISSUE = {"memory_type": "issue", "title": "Slow", "severity": "high"}


@pytest.mark.parametrize(
    ("files", "decision", "why"),
    [
        ([(STATE, "")], "PROCEED", "nothing blocks the work"),
        (
            [(STATE, "## Blockers\n\n- A key\n")],
            "CLARIFY",
            "some states are blocked or decisions only proposed: STA-2025-11-04-001",
        ),
        (
            [({"status": "proposed"}, "")],
            "CLARIFY",
            "some states are blocked or decisions only proposed: DEC-2025-11-04-001",
        ),
        ([(ISSUE, "")], "CLARIFY", "issues of high severity are open: ISS-2025-11-04-001"),
        ([({**ISSUE, "severity": "medium"}, "")], "PROCEED", "nothing blocks the work"),
        ([({**ISSUE, "severity": "critical"}, "")], "STOP", "critical issues are open: ISS-2025-11-04-001"),
        ([({**ISSUE, "severity": "critical", "status": "resolved"}, "")], "PROCEED", "nothing blocks the work"),
    ],
)
def test_phase_decision_follows_from_the_records(
    files: list[tuple[dict[str, object], str]], decision: str, why: str
) -> None:
    found = assess(memory(*files).snapshot, NOW)
    assert (found.decision, found.why) == (decision, why)


def test_a_blocker_of_all_agents_gives_clarify() -> None:
    found = assess(memory((STATE, "")).snapshot, NOW, blockers=("Staging is down",))
    assert (found.decision, found.why) == (
        "CLARIFY",
        "a blocker stops all agents (`memctl team show` prints it)",
    )
    assert "Blocked for all agents: Staging is down" in found.lines


@pytest.mark.parametrize(("section", "decision"), [("§2.1", "STOP"), ("§2.2", "CLARIFY"), ("§2.3", "PROCEED")])
def test_phase_decision_considers_only_the_given_sections(section: str, decision: str) -> None:
    made = memory(({**ISSUE, "severity": "critical", "section": "§2.1"}, ""), ({**ISSUE, "section": "§2.2"}, ""))
    assert assess(made.snapshot, NOW, sections=(section,)).decision == decision


def test_issues_without_effect_on_the_decision_are_named() -> None:
    made = memory(
        ({**ISSUE, "severity": "critical", "section": "§2.1"}, ""),
        ({**ISSUE, "severity": "low", "section": "§2.2"}, ""),
    )
    found = assess(made.snapshot, NOW, sections=("§2.2",))
    assert (found.decision, found.lines[0]) == (
        "PROCEED",
        "Not considered for PROCEED, STOP or CLARIFY: 1 open issue below high severity (ISS-2025-11-04-002)"
        " and 1 open issue outside of the sections (ISS-2025-11-04-001).",
    )


def test_section_with_only_unimportant_records_is_summarized_by_them() -> None:
    made = memory(({"title": "Minor", "importance": 3, "section": "§2.1"}, ""), ({**STATE, "section": "§2.2"}, ""))
    assert assess(made.snapshot, NOW, sections=("§2.1",)).lines == ("Decision: Minor [DEC-2025-11-04-001].",)
    assert assess(made.snapshot, NOW, sections=("§2.3",)).lines == ("No open record belongs to §2.3.",)


def test_phase_summary_names_what_the_next_phase_needs() -> None:
    made = memory(
        ({**STATE}, "## Next actions\n\n- Write the\n  endpoint\n"),
        ({**ISSUE}, "## Next actions\n\n- Queue\n- Later\n"),
        ({"title": "Use PostgreSQL", "importance": 7}, "## Decision\n\nOne database. No other.\n"),
        ({"title": "Minor", "importance": 6}, ""),
    )
    assert summary(assess(made.snapshot, NOW), 500, COUNTERS["claude"].tokens) == (
        "CLARIFY: issues of high severity are open: ISS-2025-11-04-002\n\n"
        "- Refunds, 40 % done [STA-2025-11-04-001].\n"
        "- Next: Write the endpoint\n"
        "- Open (high): Slow [ISS-2025-11-04-002]. Next: Queue\n"
        "- Decided: Use PostgreSQL [DEC-2025-11-04-003]. One database.\n"
        "- File: src/pay.py\n"
    )


@pytest.mark.parametrize("budget", [3, 5, 8, 20, 50, 500])
def test_phase_summary_keeps_its_budget_and_whole_lines(budget: int) -> None:
    lines = tuple(f"Line {number} says something of use." for number in range(60))
    text = summary(PhaseStatus("PROCEED", "it is so", lines, ("a.py",)), budget, COUNTERS["gpt"].tokens)
    assert 0 < COUNTERS["gpt"].tokens(text) <= budget
    assert set(text.split("\n")[2:]) <= {f"- {line}" for line in (*lines, "File: a.py")} | {""}


def test_no_room_for_the_decision_is_refused() -> None:
    with pytest.raises(MemctlError):
        summary(PhaseStatus("PROCEED", "", (), ()), 0, COUNTERS["gpt"].tokens)


@pytest.mark.usefixtures("example")
def test_context_summary_without_a_file_summarizes_the_memory(memctl: Memctl) -> None:
    data = memctl("context-summary", "--json").data
    assert data["tokens"] <= 500
    assert data["context_summary"].startswith(f"{data['decision']}: {data['why']}\n")
    assert memctl("context-summary", "--decision", "clarify").out.startswith("CLARIFY: as given\n")
    memctl("context-summary", "--check", code=2)
