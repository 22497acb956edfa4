"""What a phase leaves for the next one."""

from __future__ import annotations

from pathlib import Path

from memctl.session import phases, trail
from memctl.session.summary import summarize
from memctl.session.trail import Places
from memctl.transcript.events import ANSWER, CALL, PROMPT, RESULT, Event, Session

RESEARCHED = (
    Event(PROMPT, "Find out why refunds are slow."),
    Event(ANSWER, "Let me check how the queue is drained."),
    Event(CALL, tool="Read", arguments={"file_path": "/shop/queue.py"}, call="1"),
    Event(RESULT, "x", call="1"),
    Event(ANSWER, "LESSON: each refund opens a connection of its own\n\nCRITICAL: the bank allows 5 connections"),
    Event(PROMPT, "make sure that no refund is sent twice"),
)
PLANNED = (
    Event(PROMPT, "Write the plan for refunds."),
    Event(
        ANSWER,
        """\
```python
class Refund:
    order: str

async def send(refund: Refund, timeout: int = 30) -> None: ...
x = 1
```

- `POST /refunds` takes an order

## Refund

| Field | Type |
|---|---|
| order | text |

```sql
CREATE TABLE refunds (id bigint)
```
""",
    ),
)


def made(phase: str, events: tuple[Event, ...]) -> dict[str, tuple[str, ...]]:
    session = Session("x", events)
    summary = summarize(session, trail.of_session(session, Places(Path("/shop"), "/shop"), (), ()), "s", "me")
    return {one.heading: one.lines for one in phases.form(phase, summary, session)}


def test_research_leaves_problem_findings_files_and_constraints() -> None:
    assert made(phases.RESEARCH, RESEARCHED) == {
        "Problem Statement": ("Find out why refunds are slow.",),
        "Key Findings": ("- each refund opens a connection of its own",),
        "Relevant File Paths": ("- queue.py - check how the queue is drained",),
        "Constraints Discovered": ("- the bank allows 5 connections", "- make sure that no refund is sent twice"),
    }


def test_planning_leaves_signatures_types_contracts_and_models() -> None:
    assert made(phases.PLANNING, PLANNED) == {
        "Function Signatures": ("async def send(refund: Refund, timeout: int = 30) -> None: ...",),
        "Type Definitions": ("class Refund:",),
        "API Contracts": ("`POST /refunds` takes an order",),
        "Data Models": ("entity Refund", "entity | order | text |", "CREATE TABLE refunds (id bigint)"),
    }


def test_a_form_keeps_within_its_words_and_shows_what_is_missing() -> None:
    many = tuple(Event(ANSWER, f"LESSON: rule {number} " + "of the bank " * 10) for number in range(90))
    found = made(phases.RESEARCH, (Event(PROMPT, "Go."), *many))
    assert 20 < len(found["Key Findings"]) < 60
    assert found["Constraints Discovered"] == ()
    text = phases.render(phases.RESEARCH, [phases.PhaseSection(name, lines) for name, lines in found.items()])
    assert text.endswith("## Constraints Discovered\n\nNothing known.\n")
