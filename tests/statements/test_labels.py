"""Labelled lines in what agents and people write."""

from __future__ import annotations

import pytest

from memctl.session import extraction
from memctl.statements import reader
from memctl.transcript.events import ANSWER, Event

TEXT = """I looked around.
DECISION: Use Redis for carts
because they expire.

## DECISION: Adopt PostgreSQL

### Decision
Selected PostgreSQL.

### Rationale
- ACID
- Joins

- **Decision:** tabs
**Next steps:**
1. Write
2. Test
   it

```
DECISION: not this
```
Decisions made:

- [x] alpha
- beta

Blocked by: infra
BUG-12: it fails
Current state of things has no label
⚠️ Gotcha: order matters
"""


def test_every_label_is_read_with_its_text() -> None:
    assert [(one.kind, one.title, one.content) for one in reader.read(TEXT)] == [
        ("decision", "Use Redis for carts", {"rationale": "they expire."}),
        ("decision", "Adopt PostgreSQL", {"decision": "Selected PostgreSQL.", "rationale": "- ACID\n- Joins"}),
        ("decision", "tabs", {}),
        ("state", "", {"next_actions": ("Write", "Test\nit")}),
        ("decision", "alpha", {}),
        ("decision", "beta", {}),
        ("state", "", {"blockers": ("infra",)}),
        ("issue", "BUG-12: it fails Current state of things has no label", {}),
        ("learning", "order matters", {}),
    ]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Fixed the cart. Next: write the tests. I also cleaned up.", [("next", "write the tests.")]),
        ("All green; TODO: document the flag", [("todo", "document the flag")]),
        ("I left it (TODO: handle refunds), and moved on.", [("todo", "handle refunds")]),
        ("- Done with that. Next steps: deploy, then measure", [("next", "deploy, then measure")]),
        ("Done — Next: deploy it", [("next", "deploy it")]),
        ("It works. **TODO:** drop the flag. **Next:** rest.", [("todo", "drop the flag."), ("next", "rest.")]),
        ("It runs. DECISION: use X. Next: measure it. Blocked by: Ada",
         [("decision", "use X"), ("next", "measure it."), ("blocker", "Ada")]),
        ("Next: write the tests", [("next", "write the tests")]),
        ("DECISION: use X\nsince it is small. Next: measure", [("decision", "use X"), ("next", "measure")]),
        ("**Next:**\n- one\n- two", [("next", "one"), ("next", "two")]),
        ("Decision: A because B. Next steps: C", [("decision", "A"), ("next", "C")]),
        ("Decision: A because B; next steps: 1. C 2. D", [("decision", "A"), ("next", "1. C 2. D")]),
        ("DECISION: A because B. NEXT STEPS: C. D too. Lessons: E",
         [("decision", "A"), ("next", "C. D too."), ("learning", "E")]),
        ("Decision: retry. Fix: two times", [("decision", "retry. Fix: two times")]),
        ("All is done. Next steps: 1. C 2. D", [("next", "1. C 2. D")]),
        ("Step 20: Decided: use psycopg 3 because it pipelines.", [("decision", "use psycopg 3")]),
        ("**Step 3/10:** BLOCKER: the token is missing", [("blocker", "the token is missing")]),
        ("Iteration 4 - Next: measure", [("next", "measure")]),
    ],
)  # fmt: skip
def test_a_label_in_the_middle_of_a_line_has_its_sentence(line: str, found: list[tuple[str, str]]) -> None:
    made = extraction.of_events([Event(ANSWER, line)])
    assert [(one.label, one.text) for one in made if one.explicit] == found


@pytest.mark.parametrize(
    "line",
    [
        "The log says `done. TODO: write it` there.",
        'It prints "ready. Next: start", as it should.',
        "Press Next: it goes on.",
        "What comes next: nobody knows.",
        "The todo: it is empty.",
        "See the notes.TODO: nothing",
        "The next page has more.",
        "Step 20: the decision: nobody knows it.",
    ],
)
def test_words_that_only_look_like_a_label_within_a_line_are_ignored(line: str) -> None:
    assert [one for one in extraction.of_events([Event(ANSWER, line)]) if one.explicit] == []


def test_a_line_of_labels_has_the_reason_and_the_alternatives_of_its_decision() -> None:
    (made,) = extraction.of_events([Event(ANSWER, "Decision: A because B. Rationale: C. D. Alternatives: E; F")])
    assert (made.text, made.reason, made.alternatives) == ("A", "B. C. D.", ("E; F",))


def test_decision_after_a_step_number_is_read_without_the_number() -> None:
    (made,) = extraction.of_events([Event(ANSWER, "Step 20: Decided to use psycopg 3 because it has pipelines.")])
    assert (made.label, made.text, made.reason) == ("decision", "Decided to use psycopg 3", "it has pipelines.")


def test_long_line_of_labels_is_read_quickly() -> None:
    """Looking at what stands before each label would take hours."""
    reader.read("It is. TODO: x " * 30_000)
    reader.read("TODO: x. " * 50_000)
