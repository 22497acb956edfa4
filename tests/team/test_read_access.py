"""The note that no section restricts its readers: it saves reading the state, and a wrong one is ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, Once, git

NOTE = ".git/memctl/open-coordination"


@pytest.fixture(autouse=True)
def details(memctl: Memctl, once: Once) -> None:
    def make() -> None:
        memctl("section", "add", "Payment")
        memctl("detail", "add", "Cards", "--section", "2.1", "--file", "-", stdin="Zebrafish.\n")

    once(make)


def test_state_is_read_once_and_a_restriction_takes_effect_at_once(memctl: Memctl, bob: Memctl, repo: Path) -> None:
    memctl("show", "§3.1")
    assert not (repo / NOTE).exists()
    memctl("own", "acquire", "2.1")
    bob("show", "§3.1")
    assert (repo / NOTE).read_text() == git(repo, "rev-parse", "refs/memctl/coordination").strip()
    memctl("own", "acquire", "2.1", "--reader", "elena")
    bob("show", "§3.1", code=1)
    memctl("own", "release", "2.1")
    bob("show", "§3.1")


@pytest.mark.parametrize("wrong", [b"", b"\xff\xfe", b"0" * 40, b"open"])
def test_wrong_note_of_read_access_is_ignored(memctl: Memctl, bob: Memctl, repo: Path, wrong: bytes) -> None:
    memctl("own", "acquire", "2.1", "--reader", "elena")
    (repo / NOTE).write_bytes(wrong)
    bob("show", "§3.1", code=1)


def test_unwritable_note_does_not_prevent_reading(memctl: Memctl, bob: Memctl, repo: Path) -> None:
    memctl("own", "acquire", "2.1")
    (repo / NOTE).mkdir()
    bob("show", "§3.1")
    memctl("own", "acquire", "2.1", "--reader", "elena")
    bob("show", "§3.1", code=1)


def test_broken_state_prevents_reading_by_named_agents(
    memctl: Memctl, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = git(repo, "rev-parse", "HEAD^{tree}").strip()
    git(repo, "update-ref", "refs/memctl/coordination", git(repo, "commit-tree", tree, "-m", "odd").strip())
    assert "can't be read" in memctl("list", code=1).err
    monkeypatch.delenv("MEMCTL_AGENT")
    memctl("list")
