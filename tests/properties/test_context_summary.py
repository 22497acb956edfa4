"""A summary keeps to its budget, says only what was said, and accounts for every sentence."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from memctl.pack.context_summary import DECISIONS, summarize, violations
from memctl.statements.units import units
from memctl.text.headings import close_fence
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from tests.conftest import examples
from tests.pack.test_context_summary import BAD, GOOD

QUICK = examples(60)
COUNTERS = {name: Counter(family).tokens for name, family in FAMILIES.items()}
LINES = (
    *("Use JWT in src/a.ts.", "- Cookies must be httpOnly", "It stays so.", "I searched for auth.", "Let me look."),
    *(
        "Rejected: a queue.",
        "The TypeError was fixed.",
        "# Alternatives",
        "**Findings:**",
        "",
        "",
        "PROCEED",
        "- STOP.",
    ),
    *(
        "Decision: CLARIFY",
        "STOP: no table",
        "Use it. STOP. Add x. PROCEED",
        "```ts",
        "```",
        "~~~",
        "const a = 1",
        "| a | b |",
        "> quoted",
        "---",
        "word " * 90,
    ),
    *(
        "Add tests to b.test.ts. Add more... Why? No. 5 is it",
        "日本語のテキスト。",
        "😀" * 40,
        "x" * 400,
        "1. one",
        "<|endoftext|>",
    ),
    *(
        "First I opened src/long/path/of/a/file.py today.",
        "- - x",
        "- ",
        "e.g. This",
        "`a. B` is. `c`",
        "*",
        "\u2028x",
        "\tz",
    ),
)
texts = st.one_of(
    st.lists(st.sampled_from(LINES), max_size=14).map("\n".join), st.text(max_size=80), st.sampled_from((GOOD, BAD))
)
decisions = st.sampled_from(DECISIONS)
budgets = st.one_of(st.integers(12, 60), st.integers(12, 500), st.just(500))
families = st.sampled_from(sorted(FAMILIES))


def bare(text: str) -> str:
    return " ".join(text.replace(">", " ").split())


@QUICK
@given(texts, decisions, budgets, families, st.lists(st.sampled_from(("src/a.ts", "b/c.py", "x" * 300)), max_size=3))
def test_a_summary_keeps_to_its_budget_and_begins_with_the_decision(
    text: str, decision: str, budget: int, family: str, paths: list[str]
) -> None:
    summary = summarize(text, decision, budget, COUNTERS[family], paths)
    assert COUNTERS[family](summary.text) == summary.tokens <= budget
    assert summary.text.split("\n")[0] == decision


@QUICK
@given(texts, decisions, budgets, families)
def test_a_summary_is_not_empty_while_anything_that_the_rules_keep_fits(
    text: str, decision: str, budget: int, family: str
) -> None:
    everything = summarize(text, decision, 10**9, COUNTERS[family]).kept
    fits = any(COUNTERS[family](f"{decision}\n\n- {one.text}\n") <= budget for one in everything)
    assert summarize(text, decision, budget, COUNTERS[family]).kept or not fits


@QUICK
@given(texts, decisions, budgets)
def test_every_unit_is_kept_or_dropped_and_once_only(text: str, decision: str, budget: int) -> None:
    summary = summarize(text, decision, budget, COUNTERS["gpt"])
    whole = summarize(text, decision, 10**9, COUNTERS["gpt"])
    lines = sorted([one.line for one in summary.kept] + [one.line for one in summary.dropped if one.line])
    again = sorted([one.line for one in whole.kept] + [one.line for one in whole.dropped if one.line])
    headings = {unit.line for unit in units(text) if unit.form == "heading"}
    assert [line for line in lines if line not in headings] == [line for line in again if line not in headings]


@QUICK
@given(texts, decisions, budgets)
def test_kept_sentences_occur_in_the_text(text: str, decision: str, budget: int) -> None:
    summary = summarize(text, decision, budget, COUNTERS["gpt"])
    assert all(bare(one.text) in bare(close_fence(text)) for one in summary.kept)
    assert all(bare(one.text) in bare(summary.text) for one in summary.kept)


@QUICK
@given(texts, decisions, budgets)
@example(BAD, "PROCEED", 500)
@example("- STOP.\nx... Use JWT.", "STOP", 500)
@example("- - x\n- \n- ", "PROCEED", 500)
def test_summary_obeys_the_rules_and_summarizes_to_itself(text: str, decision: str, budget: int) -> None:
    count = COUNTERS["gpt"]
    summary = summarize(text, decision, budget, count)
    if summary.kept:
        assert summarize(summary.text, decision, budget, count).text == summary.text
        found = violations(summary.text, decision, budget, count)
        assert {one.message for one in found if not any(kept.warning for kept in summary.kept)} <= {
            "the text has nothing that the next phase can act on"
        }
