"""The summary between phases."""

from __future__ import annotations

import pytest

from memctl.errors import USAGE, MemctlError
from memctl.pack import summary_rules as rules
from memctl.pack.context_summary import OVERRULED, REPEATED, ContextSummary, find_decision, summarize, violations
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES

COUNT = Counter(FAMILIES["claude"]).tokens
# One that obeys rules.md#phase-summaries, and one that does not.
GOOD = """\
Auth utilities exist in src/lib/auth.ts using JWT with httpOnly cookies.
Extend with loginUser/logoutUser. Follow existing validateToken pattern.
No conflicts found. Recommend: add tests to auth.test.ts."""
BAD = """\
I searched for 'auth' and found several files. First I looked at
src/lib/auth.ts which contains 150 lines of code including imports
from jsonwebtoken and cookie packages. The file exports validateToken
which takes a token string parameter and returns a boolean. I also
checked src/hooks/useAuth.ts but that's just a React hook wrapper.
There was also mention of auth in the README but that's documentation.
After analyzing all this, I think we should..."""


def summary_of(text: str, decision: str = "PROCEED", budget: int = 500) -> ContextSummary:
    return summarize(text, decision, budget, COUNT)


def test_good_example_of_s2_passes_unchanged() -> None:
    summary = summary_of(GOOD)
    assert summary.text == f"PROCEED\n\n{GOOD}\n"
    assert summary.dropped == []
    assert summary.is_actionable
    assert violations(GOOD, "PROCEED", 500, COUNT) == []


def test_bad_example_of_s2_loses_its_process_sentences_with_reasons() -> None:
    summary = summary_of(BAD)
    assert [(one.line, one.text[:24], one.reason) for one in summary.dropped] == [
        (1, "I searched for 'auth' an", rules.SEARCH),
        (1, "First I looked at src/li", rules.STEP),
        (4, "I also checked src/hooks", rules.ASIDE),
        (6, "There was also mention o", rules.ASIDE),
        (7, "After analyzing all this", rules.STEP),
    ]
    assert summary.text == (
        "PROCEED\n\n"
        "- The file exports validateToken which takes a token string parameter and returns a boolean.\n\n"
        "Files: src/lib/auth.ts\n"
    )
    found = violations(BAD, "PROCEED", 500, COUNT)
    assert [violation.line for violation in found] == [1, 1, 4, 6, 7, 0]
    assert "nothing that the next phase can act on" in found[-1].message


def test_text_that_breaks_a_rule_is_listed_by_importance() -> None:
    text = "Auth exists in a.ts. I searched for it. Add tests. Cookies must be httpOnly. Decided to keep JWT."
    assert summary_of(text).text == (
        "PROCEED\n\n- Decided to keep JWT.\n- Cookies must be httpOnly.\n- Add tests.\n- Auth exists in a.ts.\n"
    )


def test_a_sentence_that_needs_the_one_before_follows_it() -> None:
    text = "Hmm, odd. Logins are counted in a.ts. It must stay below 5. Add tests."
    assert summary_of(text).text == "PROCEED\n\n- Logins are counted in a.ts.\n- It must stay below 5.\n- Add tests.\n"


def test_repeated_statement_is_kept_once() -> None:
    summary = summary_of("Add tests.\n- add **tests**\n\nUse JWT.")
    assert summary.text == "PROCEED\n\n- Add tests.\n- Use JWT.\n"
    assert [(one.line, one.reason) for one in summary.dropped] == [(2, REPEATED)]


def test_code_and_tables_are_unchanged() -> None:
    text = "I looked at it.\n\nAdd this:\n```ts\na()\n```\n| a |\n|---|\n| b |\nUse JWT."
    assert summary_of(text).text == "PROCEED\n\n- Add this:\n- Use JWT.\n\n```ts\na()\n```\n\n| a |\n|---|\n| b |\n"


def test_headings_of_a_valid_text_are_kept_and_dropped_ones_are_named() -> None:
    text = "# Findings\n\n- Use JWT in a.ts.\n"
    assert summary_of(text).text == f"PROCEED\n\n{text}"
    assert [one.reason for one in summary_of(f"{text}\nI looked around.").dropped] == [rules.HEADLINE, rules.STEP]


def test_a_small_budget_keeps_the_most_important() -> None:
    text = "Findings are many and this one is long. Tests are in a.ts. Cookies must be httpOnly. Use JWT."
    summary = summary_of(text, budget=COUNT("PROCEED\n\n- Cookies must be httpOnly.\n"))
    assert summary.text == "PROCEED\n\n- Cookies must be httpOnly.\n"
    assert {one.reason for one in summary.dropped} == {f"no room in {summary.budget} tokens"}
    assert len([one for one in summary.dropped if one.line]) == 3


def test_sentence_that_does_not_fit_does_not_exclude_others() -> None:
    text = f"Cookies must be {'very ' * 200}safe. Use JWT."
    assert summary_of(text, budget=40).text == "PROCEED\n\n- Use JWT.\n"


def test_sentence_is_left_out_with_a_predecessor_that_does_not_fit() -> None:
    text = f"Logins are {'very ' * 99}slow. That must change. Use JWT."
    assert summary_of(text, budget=40).text == "PROCEED\n\n- Use JWT.\n"
    assert summary_of(text.replace("Use JWT.", ""), budget=40).text == "PROCEED\n\n- That must change.\n"


def test_code_that_is_left_out_names_no_files() -> None:
    assert "Files:" not in summary_of("Use JWT.\n```py\n" + "open('src/a.py')\n" * 9 + "```").text


def test_paths_that_are_known_are_added_if_the_text_does_not_name_them() -> None:
    summary = summarize(GOOD, "STOP", 500, COUNT, ["src/lib/auth.ts", "src/b.ts", "auth.ts"])
    assert summary.text == f"STOP\n\n{GOOD}\n\nFiles: src/b.ts, auth.ts\n"
    assert summary.paths == ["src/b.ts", "auth.ts"]
    assert summary.files == ["src/lib/auth.ts", "auth.test.ts", "src/b.ts", "auth.ts"]


def test_a_budget_without_room_for_the_decision_is_a_usage_error() -> None:
    with pytest.raises(MemctlError) as caught:
        summary_of(GOOD, budget=1)
    assert caught.value.exit_code == USAGE


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("Decision: PROCEED\n\nUse JWT.", "PROCEED"),
        ("Use JWT.\n\n**Decision:** proceed with it", "PROCEED"),
        ("- Recommendation - STOP", "STOP"),
        ("STOP: the migration is broken.", "STOP"),
        ("**CLARIFY**\n\nWhich one?", "CLARIFY"),
        ("## PROCEED", "PROCEED"),
        ("Use JWT. We can PROCEED from here.", "PROCEED"),
        ("CLARIFY or PROCEED?\nDecision: STOP", "STOP"),
        ("Use JWT and stop there; proceed with care.", ""),
        ("Status: complete", ""),
        ("STOPPED", ""),
        ("", ""),
    ],
)
def test_the_decision_is_found_where_it_is_stated(text: str, decision: str) -> None:
    assert find_decision(text) == decision


@pytest.mark.parametrize("text", ["Decision: STOP\nDecision: PROCEED", "STOP or PROCEED?", "STOP.\n\nCLARIFY: x"])
def test_several_decisions_are_refused_with_their_lines(text: str) -> None:
    with pytest.raises(MemctlError, match=r"STOP in line 1.* in line \d"):
        find_decision(text)


@pytest.mark.parametrize(
    "text",
    [
        "Decision: PROCEED\n\nUse JWT.",
        "PROCEED\n\nUse JWT.",
        "\nPROCEED. Use JWT.",
        "Use JWT.\n\n**PROCEED**",
        "PROCEED: Use JWT.",
    ],
)
def test_decision_is_stated_first_and_once(text: str) -> None:
    assert summary_of(text).text == "PROCEED\n\nUse JWT.\n"


def test_an_overruled_decision_is_reported() -> None:
    summary = summary_of("Decision: STOP\n\nUse JWT.")
    assert summary.text == "PROCEED\n\nUse JWT.\n"
    assert [(one.line, one.text, one.reason) for one in summary.dropped] == [(1, "Decision: STOP", OVERRULED)]
    assert [one.text for one in summary_of("\nSTOP: no table.").dropped] == ["STOP:"]
    assert summary_of("Use JWT. PROCEED. Add tests.").text == "PROCEED\n\n- Use JWT.\n- Add tests.\n"
    assert [one.reason for one in summary_of("Use JWT. STOP. PROCEED.").dropped] == [OVERRULED, REPEATED]


def test_reported_lines_are_those_of_the_original_text() -> None:
    summary = summary_of("\n\nDecision: PROCEED\n\nI looked around.\n\nUse JWT.")
    assert [one.line for one in summary.kept] == [7]
    assert [one.line for one in summary.dropped] == [5]


def test_all_violations_of_the_rules_are_found() -> None:
    long = "The lock must be held. " * 3 + "I searched and found that it never is. " + "word " * 500
    messages = [violation.message for violation in violations(long, "", 100, COUNT)]
    assert [message.split(":")[0] for message in messages] == [
        REPEATED,
        REPEATED,
        rules.MIXED,
        "the text states none of the decisions PROCEED, STOP, CLARIFY",
        messages[-1],
    ]
    assert "at most 100 are allowed" in messages[-1]


@pytest.mark.parametrize(
    "text",
    ["We should not PROCEED.\nThe API is down.", 'The docs say "Decision: PROCEED" is the default.', "Don't STOP."],
)
def test_a_negated_or_quoted_decision_does_not_count(text: str) -> None:
    assert find_decision(text) == ""


def test_a_line_with_two_decisions_states_both() -> None:
    with pytest.raises(MemctlError):
        find_decision("Decision: PROCEED only after STOP is lifted.")
