"""Details and files that an owner keeps to some are not read by other agents, and levels 1 and 2 by all."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, Once, git

TEXT = "## 3.1.1 Refusals\n\nThe bank says zebrafish.\n"


@pytest.fixture
def closed(memctl: Memctl, repo: Path, monkeypatch: pytest.MonkeyPatch, once: Once) -> Path:
    """A repository in which bob keeps the details and files of §2.1 to himself and elena."""

    def make() -> None:
        memctl("section", "add", "Payment", "--path", "src/pay/**", "--overview", "Takes money.")
        memctl("section", "add", "Search", "--path", "src/search/**")
        memctl("detail", "add", "Cards", "--section", "2.1", "--file", "-", stdin=TEXT)
        for name in ("pay", "search"):
            (repo / "src" / name).mkdir(parents=True)
            (repo / "src" / name / f"{name}.py").write_text(f'"""About {name}."""\n\nzebrafish = 1\n')
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "code")
        with monkeypatch.context() as patch:
            patch.setenv("MEMCTL_AGENT", "bob")
            memctl("own", "acquire", "2.1", "--reader", "elena", "--for", "4h")

    once(make)
    return repo


READING = [
    ("show", "§3.1"),
    ("show", "3.1.1"),
    ("show", "§4.src/pay/pay.py"),
    ("summarize", "src/pay/pay.py"),
]


@pytest.mark.parametrize("args", READING)
def test_another_agent_is_refused_with_the_owners_name(memctl: Memctl, closed: Path, args: tuple[str, ...]) -> None:
    refused = memctl(*args, code=1)
    assert "may be read by bob, elena only: §2.1 is owned by bob" in refused.err
    assert "zebrafish" not in refused.out


@pytest.mark.parametrize("args", READING)
@pytest.mark.parametrize("agent", ["bob", "elena", None])
def test_closed_section_is_read_by_its_owner_named_readers_and_people(
    memctl: Memctl, closed: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], agent: str | None
) -> None:
    if agent:
        monkeypatch.setenv("MEMCTL_AGENT", agent)
    else:
        monkeypatch.delenv("MEMCTL_AGENT")
    assert "zebrafish" in memctl(*args).out


def test_levels_1_and_2_and_other_sections_are_read_by_all(memctl: Memctl, closed: Path) -> None:
    assert "Takes money." in memctl("show", "§2.1").out
    memctl("show", "§1.0")
    assert "zebrafish" in memctl("show", "§4.src/search/search.py").out


def test_expired_ownership_is_ignored(memctl: Memctl, closed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T18:32:00Z")
    assert "zebrafish" in memctl("show", "§3.1").out


@pytest.mark.parametrize(
    "args",
    [
        ("rehydrate", "--section", "2.1"),
        ("prompt", "user", "what does the bank say of zebrafish?", "--threshold", "0.1"),
        ("files", "--task", "mend §4.src/search/search.py and pay", "--active", "src/search/search.py", "--pack"),
    ],
)
def test_packs_leave_out_what_is_closed_to_the_agent(
    memctl: Memctl, closed: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...]
) -> None:
    made = memctl(*args)
    assert "The bank says zebrafish" not in made.out
    assert "About pay" not in made.out
    monkeypatch.setenv("MEMCTL_AGENT", "elena")
    shown = memctl(*args).out
    assert "The bank says zebrafish" in shown or "About pay" in shown


def test_a_withheld_file_is_answered_with_the_reason(memctl: Memctl, closed: Path) -> None:
    answered = memctl("load", stdin="Please load §3.1 and §4.src/pay/pay.py and §4.src/search/search.py", code=1).out
    assert "zebrafish" in answered  # of the file that all may read
    assert "The bank says" not in answered
    assert "About pay" not in answered
    assert answered.count("may be read by bob, elena only") == 2


@pytest.fixture
def placed(memctl: Memctl, closed: Path, monkeypatch: pytest.MonkeyPatch, once: Once) -> str:
    """A decision that bob has placed in the closed details."""

    def make() -> str:
        with monkeypatch.context() as patch:
            patch.setenv("MEMCTL_AGENT", "bob")
            made = memctl(
                "decide",
                "Refuse okapis",
                "--section",
                "3.1",
                "--rationale",
                "The quagga says so",
                "-i",
                "9",
                "--tag",
                "zoo",
            )
        return made.id

    return once(make)


READING = (
    ("list",),
    ("search", "quagga"),
    ("search", "--related", "src/search/search.py"),
    ("export",),
    ("index",),
    ("rehydrate",),
    ("context-summary",),
    ("prompt", "user", "what does the quagga say?"),
    ("diff", "--at", "HEAD~1"),
    ("show", "§2.1"),
    ("show", "§1.0"),
)


def test_a_record_placed_in_closed_details_is_kept_with_them(
    memctl: Memctl, placed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("learn", "About searching", "--code", "src/search/search.py", "--lesson", f"As {placed} says")
    for args in READING:
        told = memctl(*args, code=None).out
        assert "okapis" not in told, args
        assert "quagga says" not in told, args
    refused = memctl("show", placed, code=1)
    assert "§3.1 may be read by bob, elena only" in refused.err
    assert memctl("diff", placed, code=1).out == ""
    monkeypatch.setenv("MEMCTL_AGENT", "elena")
    assert "okapis" in memctl("list").out
    assert "quagga" in memctl("show", placed).out


def test_the_index_and_the_list_of_details_leave_out_what_is_closed(
    memctl: Memctl, closed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for args in (
        ("index",),
        ("index", "--tokens"),
        ("index", "--json"),
        ("detail", "list"),
        ("detail", "list", "--json"),
    ):
        told = memctl(*args).out
        assert "§3.1" not in told
        assert "Refusals" not in told
        monkeypatch.setenv("MEMCTL_AGENT", "elena")
        assert "§3.1" in memctl(*args).out
        monkeypatch.setenv("MEMCTL_AGENT", "claude")


@pytest.mark.parametrize(
    ("is_gone", "args"),
    [
        (False, ("why",)),
        (False, ("search", "--related")),
        (False, ("summarize",)),
        (True, ("why",)),
        (True, ("search", "--related")),
    ],
)
def test_a_closed_file_is_not_explained_even_if_it_was_deleted(
    memctl: Memctl, closed: Path, monkeypatch: pytest.MonkeyPatch, is_gone: bool, args: tuple[str, ...]
) -> None:
    if is_gone:
        git(closed, "rm", "-q", "src/pay/pay.py")
        git(closed, "commit", "-qm", "gone")
    refused = memctl(*args, "src/pay/pay.py", code=1)
    assert "src/pay/pay.py may be read by bob, elena only: §2.1 is owned by bob" in refused.err
    assert refused.out == ""
    monkeypatch.setenv("MEMCTL_AGENT", "elena")
    memctl(*args, "src/pay/pay.py")


def test_an_earlier_revision_does_not_show_what_is_closed_today(memctl: Memctl, closed: Path) -> None:
    git(closed, "rm", "-q", ".memory/sections/2.1-payment.md")
    git(closed, "commit", "-qm", "nothing covers the file")
    git(closed, "revert", "--no-edit", "HEAD")
    assert "may be read by bob" in memctl("show", "§4.src/pay/pay.py", "--at", "HEAD~1", code=1).err


def test_a_checkpoint_leaves_out_files_and_records_that_are_closed(
    memctl: Memctl, closed: Path, placed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("src/pay/pay.py", "src/search/search.py"):
        (closed / name).write_text("changed = 1\n")
    memctl("checkpoint", "save", "--task", "Refunds", "--next", "Go on")
    for args in (
        ("show",),
        ("show", "--json"),
        ("show", "-f", "xml"),
        ("resume",),
        ("resume", "--json"),
        ("list", "--json"),
    ):
        told = memctl("checkpoint", *args).out
        assert "src/pay" not in told
        assert "okapis" not in told
        assert "src/search/search.py" in told
        monkeypatch.setenv("MEMCTL_AGENT", "elena")
        told = memctl("checkpoint", *args).out
        assert "src/pay/pay.py" in told
        assert "okapis" in told
        monkeypatch.setenv("MEMCTL_AGENT", "claude")
    assert "files and records that you may not read are left out: 2" in memctl("checkpoint", "resume").err


@pytest.mark.parametrize("text", [None, "broken", "---\nid: §2.1\ntitle: Payment\n---\n"])
def test_deleted_or_broken_page_keeps_its_section_closed(memctl: Memctl, closed: Path, text: str | None) -> None:
    page = closed / ".memory/sections/2.1-payment.md"
    page.unlink() if text is None else page.write_text(text)
    assert "may be read by bob" in memctl("show", "§4.src/pay/pay.py", code=1).err
    assert "may be read by bob" in memctl("summarize", "src/pay/pay.py", code=1).err
    assert "may be read by bob" in memctl("show", "§3.1", code=1).err
