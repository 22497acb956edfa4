"""How much a task is about files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.sources import facts, task_files
from tests.sources import listed

FILES = {
    "src/shop/payment/card.py": '"""Pays by card."""\n\nclass CardClient:\n    def pay_all(self): ...\n',
    "src/shop/payment/__init__.py": "",
    "src/shop/checkout.py": "def check_out(): ...\n",
    "src/shop/cart/__init__.py": "",
    "src/shop/cart/items.py": "class Item: ...\n",
    "web/cart.ts": "export class Cart {}\n",
    "docs/payments.md": "# Payments\n",
    "README.md": "# Shop\n",
}
FACTS = {path: facts.of_content(path, text.encode()) for path, text in FILES.items()}
CONTENTS = listed.contents(FACTS)
NO_CARD = listed.contents({path: found for path, found in FACTS.items() if "card" not in path})


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("look at src/shop/checkout.py, please", "src/shop/checkout.py"),
        ("see src/shop/checkout.py:12.", "src/shop/checkout.py"),
        ("mend checkout.py", "src/shop/checkout.py"),
        ("mend `shop.payment.card`", "src/shop/payment/card.py"),
        ("read §4.shop.checkout first", "src/shop/checkout.py"),
        ("let CardClient retry", "src/shop/payment/card.py"),
        ("call pay_all() once", "src/shop/payment/card.py"),
        ("what README.md says", "README.md"),
    ],
)
def test_a_file_that_the_task_names_is_active(text: str, path: str) -> None:
    found = task_files.mentions(text, CONTENTS)
    assert [name for name, mention in found.items() if mention.share == task_files.FULL] == [path]


def test_share_grows_with_the_words_of_the_task_in_a_path() -> None:
    found = task_files.mentions("let a payment in the shop wait", CONTENTS)
    assert 0 < found["src/shop/checkout.py"].share < found["src/shop/payment/card.py"].share < task_files.CALLED
    assert "web/cart.ts" not in found
    assert found["src/shop/payment/card.py"].why == "words of the task: payment, shop"


def test_file_named_like_a_word_of_the_task_has_a_high_share() -> None:
    found = task_files.mentions("let the checkout wait for item", CONTENTS)
    called = {path: mention.why for path, mention in found.items() if mention.share == task_files.CALLED}
    assert called == {
        "src/shop/checkout.py": "it is called checkout",
        "src/shop/cart/items.py": "it is called item",
    }


def test_plural_and_other_endings_of_a_word_match() -> None:
    found = task_files.mentions("payments by cards", CONTENTS)
    assert found["src/shop/payment/card.py"].share > found["src/shop/payment/__init__.py"].share > 0
    assert "docs/payments.md" in found
    assert "src/shop/checkout.py" not in found


def test_name_of_many_files_gives_less_than_a_full_share() -> None:
    many = listed.contents({f"part{number}/api.py": facts.FileFacts(1) for number in range(5)})
    assert {mention.share for mention in task_files.mentions("api.py", many).values()} == {task_files.ONE_OF_MANY}


def test_named_folder_gives_a_smaller_share_than_a_named_file() -> None:
    found = task_files.mentions("everything in src/shop/payment", NO_CARD)
    assert found["src/shop/payment/__init__.py"].share >= task_files.IN_FOLDER


@pytest.mark.parametrize("text", ["", "   ", "the of and", "?!", "...", "/", "§4.", "§4..", "a" * 50_000, "(" * 20_000])
def test_an_empty_task_mentions_no_file(text: str) -> None:
    assert task_files.mentions(text, NO_CARD) == {}


@given(st.text(max_size=200))
def test_share_is_between_0_and_1(text: str) -> None:
    assert all(0 < mention.share <= task_files.FULL for mention in task_files.mentions(text, CONTENTS).values())


def test_word_that_most_files_have_counts_beside_a_rare_word(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"module{number:02}/part.py" for number in range(30)] + ["module99/retry.py", "odd/part.py"]
    contents = listed.contents(dict.fromkeys(names, facts.FileFacts(1)))
    full = task_files.mentions("retry the module", contents)
    monkeypatch.setattr(task_files, "_MOST_HAVING", 10)
    found = task_files.mentions("retry the module", contents)
    assert found.keys() == {"module99/retry.py"} < full.keys()
    assert found["module99/retry.py"].why == full["module99/retry.py"].why
    assert len(task_files.mentions("the module", contents)) == 31, "no rare word is there to tell the files apart"
    assert task_files.mentions("retry the module", contents, ["module07/part.py"]).keys() == found.keys() | {
        "module07/part.py"
    }
    called = listed.contents(dict.fromkeys([*names, "odd/module.py"], facts.FileFacts(1)))
    assert task_files.mentions("retry the module", called)["odd/module.py"].share == task_files.CALLED
