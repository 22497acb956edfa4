"""Titles of what people say in a conversation: they read as entries of a list, and can be read alone."""

from __future__ import annotations

import pytest

from memctl.statements import titles


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("and for now can we note it in the list of gaps?", "Note it in the list of gaps"),
        ("ok, and can we also log which worker took the order?", "Log which worker took the order"),
        ("yep, I'd say we should drop the second cache", "Drop the second cache"),
        ("please please rename the odd columns", "Rename the odd columns"),
        ("sorry, let's keep the old queue", "Keep the old queue"),
        ("no, don't retry refunds", "Don't retry refunds"),
        ("could we not send mails at night?", "Do not send mails at night"),
        ("can't we just keep the orders as they came in?", "Keep the orders as they came in"),
        ("why adding a flag and not just removing the old path?", "Removing the old path, not adding a flag"),
        ("I think we need to pin the base image please", "Pin the base image"),
        ("I'd like to have one clock for all jobs", "Have one clock for all jobs"),
        ("lol - stale carts. if a cart is stale, we should drop it", "If a cart is stale, drop it"),
        ("the mailer writes to tmp/out, let's ignore that", "Ignore that: the mailer writes to tmp/out"),
        ("For a new shop, we need to create shop.toml. @/srv/setup.py:12", "For a new shop, create shop.toml"),
        (
            "It should be `read_all` since it reads all orders of the shop, and those of all its branches as well, too",
            "It should be `read_all`",
        ),
        ("let's not retry refunds", "Do not retry refunds"),
        ("I'd prefer not to retry refunds", "Do not retry refunds"),
        ("we shouldn't retry refunds", "Do not retry refunds"),
        ("yes let's split. do we have tests for orders?", "Split"),
    ],
)
def test_spoken_choice_is_titled_without_its_lead_in(said: str, title: str) -> None:
    assert titles.title_of(said) == title


@pytest.mark.parametrize(
    "said",
    [
        "No test covers deleted orders",
        "Now the report has a total",
        "Good defaults matter more than flags",
        "docs/generated is where the diagram goes",
        "`read_all` takes a limit",
        "So that nobody waits, mails are sent at night",
        "We should be using typed ids wherever we can",
        "I don't think we should retry refunds",
        "There is no reason we should retry refunds",
        "We should not only retry refunds but count them",
        "A list of the shops we can import without a key",
        "Thank you page (with the number of the order)",
        "Hello page of the shop (with its opening hours)",
        "Now shows the total",
        "Help with the first order is on the page",
    ],
)
def test_title_that_stands_alone_stays(said: str) -> None:
    assert titles.title_of(said) == said


@pytest.mark.parametrize(
    ("intent", "title"),
    [
        (
            "Implement the following plan: # SHOP-12: Carts Expire ## Overview Remove carts after a day",
            "SHOP-12: Carts Expire",
        ),
        ("Implement the following plan:\n\n# Plan: Expire `carts`\n\n## Context\n\nThey pile up.", "Expire `carts`"),
        ("# Expire carts ## Why They pile up", "Expire carts"),
        ("can you expire the old carts? They pile up.", "Expire the old carts"),
        ("hi", "Hi"),
        ("hi can you help me fix the total of the cart?", "Fix the total of the cart"),
        ("Hello there, help me to understand the queue", "Understand the queue"),
        ("ok thanks now add a limit to the mailer", "Add a limit to the mailer"),
        ("can you take a look at this? The mailer sends each mail twice", "The mailer sends each mail twice"),
        ("can you explain 3. carts expire too late", "Explain 3. carts expire too late"),
    ],
)
def test_goal_is_titled_by_the_heading_or_the_first_sentence(intent: str, title: str) -> None:
    assert titles.goal_of(intent) == title


@pytest.mark.parametrize(
    ("prompt", "is_chat"),
    [
        ("hello", True),
        ("yes and yes", True),
        ("do both please", True),
        ("let's review this together", True),
        ("/shop:review", True),
        ("do you have access to the tracker?", True),
        ("do you have access to the tracker? Carts expire too late", False),
        ("# Carts", False),
        ("review the cart", False),
        ("add pagination", False),
        ("please fix the login", False),
        ("fix it", True),
        ("add this too", True),
        ("update the docs", True),
        ("make sure", True),
        ("why do carts expire too late?", False),
        ("look at this table of carts", False),
    ],
)
def test_chat_names_no_task(prompt: str, is_chat: bool) -> None:
    assert titles.is_chat(prompt) == is_chat


def test_statement_keeps_all_but_its_lead_in() -> None:
    said = "Yes, the pool leaks. It is never closed."
    assert titles.without_lead(said) == "The pool leaks. It is never closed"


@pytest.mark.parametrize(
    "more", [". It is what the table of payments has as well", " - and of a day", "; a day is late"]
)
def test_long_title_ends_behind_its_first_part(more: str) -> None:
    first = "Keep the carts of guests until the end of the month in which they were made"
    assert titles.shortened(f"{first}{more} {'and longer ' * 5}") == first
    assert titles.shortened(f"{first}{more}"[:100]) == f"{first}{more}"[:100]
