"""What a user's short reply refers to in the agent's message before it."""

from __future__ import annotations

import pytest

from memctl.statements import wishes

PROPOSAL = (
    "I read both loaders. The nightly one would move to `jobs/load_nightly.py`, run at 03:40, and retry 5 times.\n\n"
    "Does that suit you?"
)
OPTIONS = (
    "Where should the report go?\n\n"
    "1. **Mail** - to everybody on call\n2. **A page** - below /reports\n3. Nowhere\n\n"
    "The page is the cheapest."
)


@pytest.mark.parametrize("reply", ["yes", "ok do that", "Yes, go for it", "sure", "no", "Perfect!"])
def test_reply_without_content_refers_to_the_end_of_the_message(reply: str) -> None:
    assert wishes.referent(reply, PROPOSAL) == (
        "I read both loaders.",
        "The nightly one would move to `jobs/load_nightly.py`, run at 03:40, and retry 5 times.",
        "Does that suit you?",
    )


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("2", "**A page** - below /reports"),
        ("2. - it needs a date, yeah?", "**A page** - below /reports"),
        ("option 1, but weekly", "**Mail** - to everybody on call"),
        ("the third", "Nowhere"),
    ],
)
def test_named_option_is_joined_with_its_question_alone(reply: str, text: str) -> None:
    assert wishes.referent(reply, OPTIONS) == ("Where should the report go?", text)


@pytest.mark.parametrize(
    "reply",
    ["go on", "commit this", "push", "Rename the loader to `load_daily` and keep the old name.", "3 tests fail"],
)
def test_reply_that_says_what_it_is_about_refers_to_nothing(reply: str) -> None:
    assert wishes.referent(reply, PROPOSAL.replace("Does that suit you?", "That is all.")) == ()


def test_of_a_long_message_only_the_end_is_referred_to() -> None:
    body = "\n\n".join(f"Step {number} rewrites table t_{number} and then checks its rows." for number in range(80))
    found = wishes.referent("yes", f"{body}\n\nShall I?")
    assert found[-1] == "Shall I?"
    assert found[-2] == "Step 79 rewrites table t_79 and then checks its rows."
    assert 350 < sum(map(len, found)) <= 600
    assert sum(map(len, wishes.referent("yes", f"{'word ' * 4_000}. Shall I?"))) <= 600
