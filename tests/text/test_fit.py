"""Which text of a record says why it is there."""

from __future__ import annotations

from memctl.text import fit


def test_rationale_resolution_and_texts_are_reasons_before_lists_and_what_is_next_before_what_is_done() -> None:
    sections = [
        ("", "Intro"),
        ("Done", "- a\n- b"),
        ("Next actions", "1. c\n2. d"),
        ("Context", "\nWhy not\n"),
        ("Resolution", "Fixed"),
        ("Rationale", "Faster"),
    ]
    assert fit.reasons_first(sections) == ["Faster", "Fixed", "Why not", "c\n\nd", "a\n\nb", "Intro"]


def test_a_rationale_that_is_a_list_comes_before_the_rejected_alternatives() -> None:
    sections = [
        ("Rationale", "- One system\n- Known to all"),
        ("Alternatives considered", "- Redis: a second system"),
        ("Context", "We needed a queue"),
    ]
    assert fit.reasons_first(sections) == ["One system\n\nKnown to all", "We needed a queue", "Redis: a second system"]
