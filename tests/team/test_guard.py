"""Nobody writes in another's section: not through memctl, not by hand, not in code that the section covers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, Once, changed_in, commits, git

TOLD = "§2.1 is owned by bob (exclusive), since 2025-11-04T14:32:00Z until 2025-11-04T18:32:00Z: new schema"


@pytest.fixture
def owned(memctl: Memctl, bob: Memctl, repo: Path, once: Once) -> Path:
    """A repository in which bob owns §2.1, with details §3.1, a decision in each, and code."""

    def make() -> None:
        memctl("section", "add", "Payment", "--path", "src/pay/**")
        memctl("section", "add", "Search", "--path", "src/search/**")
        text = "## 3.1.2 Refusals\n\nThe bank says why.\n"
        memctl("detail", "add", "Cards", "--section", "2.1", "--file", "-", stdin=text)
        memctl("decide", "Pay in cents", "--section", "§2.1")
        memctl("issue", "Cards bounce", "--section", "§3.1.2")
        for name in ("pay", "search"):
            (repo / "src" / name).mkdir(parents=True)
            (repo / "src" / name / "a.py").write_text("x = 1\n")
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "code")
        bob("own", "acquire", "2.1", "--for", "4h", "--reason", "new schema")

    once(make)
    return repo


@pytest.mark.parametrize(
    "args",
    [
        ("decide", "Pay in euros", "--section", "§2.1"),
        ("section", "edit", "2.1", "--overview", "Other"),
        ("detail", "edit", "3.1", "--title", "Other"),
        ("detail", "add", "Cash", "--section", "2.1"),
        ("edit", "DEC-2025-11-04-001", "--set", "importance=9"),
        ("edit", "DEC-2025-11-04-001", "--set", "section=§2.2"),
        ("resolve", "ISS-2025-11-04-001", "--resolution", "other bank"),
        ("delete", "DEC-2025-11-04-001"),
        ("decide", "Other", "--section", "§2.1", "--dry-run"),
    ],
)
def test_write_to_a_section_of_another_agent_is_refused(memctl: Memctl, owned: Path, args: tuple[str, ...]) -> None:
    before = commits(owned)
    refused = memctl(*args, code=1)
    assert TOLD in refused.err
    assert "ask bob to release §2.1" in refused.err
    assert commits(owned) == before
    assert git(owned, "status", "--porcelain") == ""


def test_owner_may_write_and_others_may_write_elsewhere(memctl: Memctl, bob: Memctl, owned: Path) -> None:
    bob("decide", "Pay in euros", "--section", "§2.1")
    bob("detail", "edit", "3.1", "--title", "Cards and cash")
    memctl("decide", "Search in titles", "--section", "§2.2")
    memctl("decide", "Nowhere in particular")


def test_a_record_on_code_of_an_owned_section_is_its_owners_work_and_its_authors_text(
    memctl: Memctl, bob: Memctl, owned: Path
) -> None:
    made = memctl("issue", "Cards jam", "--code", "src/pay/a.py:1").id
    both = bob("issue", "Search for cards", "--code", "src/search/a.py", "--code", "src/pay/").id
    memctl("edit", made, "--importance", "9", "--no-commit")
    waiting = {row["id"]: row["because"] for row in memctl("next", "--json").data["elsewhere"]}
    assert waiting[made] == waiting[both] == "bob owns §2.1"
    git(owned, "add", "-A")
    assert findings(memctl("check", "--staged", "--json", code=None)) == []


def test_expired_ownership_does_not_prevent_a_write(
    memctl: Memctl, owned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T18:32:00Z")
    memctl("decide", "Pay in euros", "--section", "§2.1")


def test_ownership_types_decide_who_may_write(memctl: Memctl, bob: Memctl, owned: Path) -> None:
    bob("own", "acquire", "2.1", "--type", "shared-write")
    memctl("decide", "Pay in euros", "--section", "§2.1")
    bob("own", "acquire", "2.1", "--type", "read-only")
    memctl("decide", "Pay in pounds", "--section", "§2.1", code=1)
    assert "(read-only)" in bob("decide", "Pay in francs", "--section", "§2.1", code=1).err


def test_details_are_guarded_by_their_own_owner(memctl: Memctl, bob: Memctl, owned: Path) -> None:
    bob("own", "acquire", "3.1")
    bob("own", "transfer", "3.1", "--to", "claude")
    memctl("detail", "edit", "3.1", "--title", "Cards of all kinds")
    memctl("issue", "Cards jam", "--section", "§3.1")
    assert "§3.1 is owned by claude" in bob("detail", "edit", "3.1", "--title", "Mine", code=1).err


def test_forced_write_needs_a_reason_and_is_recorded(memctl: Memctl, owned: Path) -> None:
    args = ("decide", "Pay in euros", "--section", "§2.1", "--allow-owned")
    assert "needs --reason" in memctl(*args, code=2).err
    memctl(*args, "--reason", "the bank asks for it")
    said = git(owned, "log", "-1", "--format=%B").replace("\n  ", " ")
    assert "Memctl-Reason: the bank asks for it (written to §2.1 of bob)" in said
    memctl("section", "edit", "2.1", "--overview", "Other", "--allow-owned", "--reason", "the bank again")


def test_edit_by_hand_of_an_owned_section_is_not_committed(memctl: Memctl, bob: Memctl, owned: Path) -> None:
    page = owned / ".memory" / "sections" / "2.1-payment.md"
    page.write_text(page.read_text() + "\nBy hand.\n")
    other = owned / ".memory" / "sections" / "2.2-search.md"
    other.write_text(other.read_text() + "\nBy hand.\n")
    refused = memctl("commit", code=None)
    assert TOLD in refused.out + refused.err
    assert changed_in(owned) == [".memory/sections/2.2-search.md"]
    bob("commit")
    assert ".memory/sections/2.1-payment.md" in changed_in(owned)
    next((owned / ".memory").rglob("DEC-2025-11-04-001*")).unlink()
    refused = memctl("commit", code=None)
    assert TOLD in refused.out + refused.err


def findings(result: object) -> list[tuple[str, str]]:
    rows = result.data["findings"]  # type: ignore[attr-defined]
    return [(row["path"], row["message"]) for row in rows if row["code"] == "MEM601"]


def test_staged_code_that_the_section_covers_is_refused(memctl: Memctl, bob: Memctl, owned: Path) -> None:
    for name in ("pay", "search"):
        (owned / "src" / name / "a.py").write_text("x = 2\n")
    assert findings(memctl("check", "--staged", "--json", code=None)) == []
    git(owned, "add", "-A")
    assert findings(memctl("check", "--staged", "--json", code=1)) == [
        (".memory/sections/2.1-payment.md", f"src/pay/a.py: {TOLD}")
    ]
    assert findings(bob("check", "--staged", "--json", code=None)) == []
    assert findings(memctl("check", "--json", code=None)) == []  # nothing is about to be committed
    git(owned, "reset", "-q", "src/pay")
    assert findings(memctl("check", "--staged", "--json", code=None)) == []


def test_code_of_two_sections_may_be_changed_by_the_owner_of_either(memctl: Memctl, bob: Memctl, owned: Path) -> None:
    memctl("section", "add", "Source", "--path", "src/**")
    memctl("own", "acquire", "2.3", "--reason", "layout")
    (owned / "src" / "pay" / "a.py").write_text("x = 2\n")
    git(owned, "add", "-A")
    for agent in (memctl, bob):
        assert findings(agent("check", "--staged", "--json", code=None)) == []
    bob("own", "release", "2.1")
    ((page, message),) = findings(bob("check", "--staged", "--json", code=None))
    assert (page, message[:33]) == (".memory/sections/2.3-source.md", "src/pay/a.py: §2.3 is owned by cl")


def test_staged_changes_and_deletions_in_an_owned_section_are_refused(memctl: Memctl, owned: Path) -> None:
    page = owned / ".memory" / "details" / "3.1-cards.md"
    page.write_text(page.read_text() + "\nBy hand.\n")
    record = next((owned / ".memory").rglob("DEC-2025-11-04-001*"))
    record.unlink()
    git(owned, "add", "-A")
    found = dict(findings(memctl("check", "--staged", "--json", code=1)))
    assert found == {".memory/details/3.1-cards.md": TOLD, str(record.relative_to(owned)): TOLD}


def test_hook_refuses_a_commit_of_owned_code_but_not_its_merge(
    memctl: Memctl, bob: Memctl, owned: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(owned, "checkout", "-qb", "bobs")
    (owned / "src" / "pay" / "a.py").write_text("x = 2\n")
    git(owned, "commit", "-qam", "bob works")
    git(owned, "checkout", "-q", "main")
    memctl("install", "git")
    (owned / "src" / "search" / "a.py").write_text("x = 3\n")
    git(owned, "commit", "-qam", "claude works")
    (owned / "src" / "pay" / "a.py").write_text("x = 3\n")
    before = commits(owned)
    git(owned, "commit", "-qam", "claude works where bob does", check=False)
    assert commits(owned) == before
    git(owned, "checkout", "-q", "src/pay")
    git(owned, "merge", "-q", "bobs", "-m", "merge")
    assert (owned / "src" / "pay" / "a.py").read_text() == "x = 2\n"


def test_first_commit_is_checked_for_owned_sections(memctl: Memctl, owned: Path) -> None:
    git(owned, "update-ref", "-d", "HEAD")
    assert (".memory/sections/2.1-payment.md", f"src/pay/a.py: {TOLD}") in findings(
        memctl("check", "--staged", "--json", code=1)
    )


def test_credential_is_not_written_to_the_coordination_ref(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    token = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
    for args in (
        ("coordination", "share", "staging", token),
        ("coordination", "block", f"use {token}"),
        ("own", "acquire", "2.1", "--reason", f"key {token}"),
    ):
        assert "the text looks like a credential" in memctl(*args, code=1).err
    assert "ghp_" not in git(repo, "log", "--all", "-p", "--format=%B")


def test_details_of_an_owned_section_cannot_be_acquired(memctl: Memctl, bob: Memctl) -> None:
    memctl("section", "add", "Payment")
    memctl("detail", "add", "Refunds", "--section", "2.1")
    bob("own", "acquire", "2.1")
    refused = memctl("own", "acquire", "3.1", code=1)
    assert "§2.1 is owned by bob (exclusive), since" in refused.err
    bob("own", "acquire", "3.1")
    bob("own", "release", "3.1")
    memctl("own", "acquire", "3.1", "--force", "--reason", "Bob is away")
    bob("own", "release", "2.1")
