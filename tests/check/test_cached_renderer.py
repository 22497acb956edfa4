"""What a check remembers of the documents saves rendering them, and hides nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl.pages.render import Renderer
from tests.check import AUTH, CLOSED, DECISION, EXECUTIVE, INDEX, PROJECT, REFUNDS, TOKENS, Hand, found
from tests.conftest import Memctl, copied

CHANGES: dict[str, Callable[[Hand], object]] = {
    "a page": lambda hand: hand.replace(PROJECT, "Sell without a queue.", "Sell."),
    "another page": lambda hand: hand.append(REFUNDS, "\nMore.\n"),
    "a record on a page": lambda hand: hand.replace(DECISION, "title: Record 2", "title: Another"),
    "the text of a record": lambda hand: hand.replace(DECISION, "Keys are public.", "Keys are not."),
    "the settings": lambda hand: hand.append("config.yaml", "model: gpt-5\ndescription: Sells things\n"),
    "a template": lambda hand: hand.write("templates/section.md.j2", "# {{ page.title }}\n"),
    "a record that is gone": lambda hand: (hand.folder / DECISION).unlink(),
    "a section that is gone": lambda hand: (hand.folder / AUTH).unlink(),
    "a document by hand": lambda hand: hand.append(INDEX, "More.\n"),
    "a document that is gone": lambda hand: (hand.folder / EXECUTIVE).unlink(),
    "a file that a page names": lambda hand: hand.git("mv", "src/auth/jwt.py", "src/auth/token.py"),
    "nothing": lambda hand: None,
    "a closed record": lambda hand: hand.append(CLOSED, "\nMore.\n"),
}


@pytest.fixture
def hand(healthy: Path, tmp_path: Path) -> Hand:
    hand = Hand(copied(healthy, tmp_path / "shop"))
    for file in hand.folder.rglob("*.md"):
        os.utime(file, (1, 1))  # what was written a moment ago is looked at again in any case
    return hand


@pytest.fixture
def repo(hand: Hand) -> Path:
    return hand.repo


@pytest.mark.parametrize(
    ("change", "staged"),
    [
        pytest.param(change, staged, marks=[] if staged == bool(number % 2) else pytest.mark.slow)
        for number, change in enumerate(CHANGES)
        for staged in (False, True)
    ],
)
def test_check_with_a_cache_gives_the_same_findings_as_without(
    hand: Hand, memctl: Memctl, change: str, staged: bool
) -> None:
    options = ["--staged"] if staged else []
    for _ in range(2):
        assert found(memctl, *options) == []
    CHANGES[change](hand)
    hand.git("add", "-A")
    remembering = found(memctl, *options)
    shutil.rmtree(hand.repo / ".git" / "memctl" / ".memory")
    assert remembering == found(memctl, *options)


@pytest.mark.parametrize("staged", [False, True])
def test_up_to_date_documents_are_not_rendered_again(
    hand: Hand, memctl: Memctl, monkeypatch: pytest.MonkeyPatch, staged: bool
) -> None:
    rendered: list[str] = []
    real = Renderer.page

    def page(self: Renderer, name: str) -> str:
        rendered.append(name)
        return real(self, name)

    monkeypatch.setattr(Renderer, "page", page)
    for expected in (5 if staged else 6, 0):  # documents stop no commit; only the lengths of pages are looked at
        rendered.clear()
        assert found(memctl, *(["--staged"] if staged else [])) == []
        assert len(rendered) == expected
    hand.replace(TOKENS, "How tokens are made", "How all tokens are made")
    hand.git("add", "-A")
    rendered.clear()
    assert {one.code for one in found(memctl)} == {"MEM308"}
    assert len(rendered) == 6
