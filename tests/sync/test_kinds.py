"""What is not a plain record: handoffs, checkpoints, sessions, and numbers of sections that somebody owns."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.record import ids, session_page
from memctl.record.session_page import SessionPage, TrailRow
from tests.conftest import Memctl, git
from tests.sync.test_sync import errors, shown, the, write

GIVEN = ("--reason", "The schema is done", "--immediate", "Run the load test", "--success", "All tests pass")


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMCTL_NOW")


def owners(memctl: Memctl, clone: Path) -> dict[str, str]:
    owned = memctl("own", "list", "--json", where=clone).data["sections"]
    return {held["section_id"]: held["owner_agent_id"] for held in owned}


def synced(memctl: Memctl, *clones: Path) -> None:
    for clone in (*clones, clones[0]):
        memctl("sync", where=clone)
    assert len({git(clone, "rev-parse", "HEAD") for clone in clones}) == 1
    for clone in clones:
        assert errors(memctl, clone) == []
        assert git(clone, "status", "--porcelain") == ""


def test_sync_gives_the_same_new_id_as_renumber(memctl: Memctl, one: Path, two: Path) -> None:
    memctl("decide", "By one", where=one)
    given = memctl("decide", "By two", where=two).id
    memory_id = str(shown(memctl, two, "By two")["memory_id"])
    memctl("sync", where=one)
    memctl("sync", where=two)
    assert the(memctl, two, "By two") == ids.derive_id(given, memory_id, ())


def test_checkpoints_follow_a_renumbered_record(memctl: Memctl, one: Path, two: Path) -> None:
    memctl("decide", "By one", where=one)
    given = memctl("decide", "By two", where=two).id
    memctl("checkpoint", "save", "--task", f"Carry out {given}", "--next", "Begin", where=two)
    synced(memctl, one, two)
    now = the(memctl, two, "By two")
    assert now != given
    for kind in ("json", "md"):
        saved = next((two / ".memory" / "checkpoints").rglob(f"*.{kind}")).read_text()
        assert f"Carry out {now}" in saved
        assert given + '"' not in saved


def test_concurrent_checkpoints_are_both_kept_and_reported_by_check(memctl: Memctl, one: Path, two: Path) -> None:
    for clone in (one, two):
        memctl("checkpoint", "save", "--task", f"Of {clone.name}", "--next", "Begin", where=clone)
    synced(memctl, one, two)
    assert len(list((two / ".memory" / "checkpoints").rglob("*.json"))) == 2
    assert "MEM506" in memctl("check", where=two, code=None).out


def test_handoffs_with_the_same_id_are_renumbered_with_their_packages(
    memctl: Memctl, bob: Memctl, one: Path, two: Path
) -> None:
    memctl("section", "add", "Search", where=one)
    synced(memctl, one, two)
    first = memctl("handoff", "--to", "bob", "--section", "2.1", "--task", "Pay", *GIVEN, "--json", where=one)
    second = memctl("handoff", "--to", "bob", "--section", "2.2", "--task", "Find", *GIVEN, "--json", where=two)
    assert first.data["id"] == second.data["id"]
    package = next((two / ".memory" / "handoffs").rglob("*.package.txt")).read_text()
    synced(memctl, one, two)
    found = [row["record"]["id"] for row in bob("handoff", "list", "--json", where=one).data["handoffs"]]
    renamed = next(identifier for identifier in found if identifier != first.data["id"])
    kept = next((one / ".memory" / "handoffs").rglob(f"{renamed}*.package.txt")).read_text()
    assert f"`memctl team handoff accept {renamed}` takes it over" in kept
    assert kept == package.replace(first.data["id"], renamed)
    assert bob("handoff", "show", renamed, where=one).out == kept
    assert f"`memctl team handoff accept {first.data['id']}`" in bob("handoff", "show", first.data["id"], where=one).out
    assert owners(memctl, one) == {"§2.1": "bob", "§2.2": "bob"}
    reasons = [row["lock_reason"] for row in memctl("own", "list", "--json", where=two).data["sections"]]
    assert reasons == [f"Handoff {first.data['id']} from claude", f"Handoff {renamed} from claude"]
    bob("handoff", "decline", renamed, where=one)
    assert owners(memctl, one) == {"§2.1": "bob"}
    bob("handoff", "accept", first.data["id"], where=one)
    synced(memctl, one, two)


def test_pages_of_one_session_are_joined_with_their_lists_of_files(memctl: Memctl, one: Path, two: Path) -> None:
    for number, clone in enumerate((one, two)):
        values = {"session_id": "s1", "ended": f"2025-11-04T1{number}:00:00Z"}
        rows = (TrailRow(f"src/{clone.name}.py", "modified", "Changed"),)
        page = SessionPage(
            values,
            {session_page.CHANGED: rows},
            {session_page.STATE: (f"As {clone.name} left it",), session_page.DECISIONS: (f"Decided by {clone.name}",)},
        )
        write(clone, ".memory/sessions/s1.md", session_page.render(page))
        listed = SessionPage({"session_id": "s1"}, {session_page.CHANGED: rows})
        write(clone, ".memory/sessions/files/s1.md", session_page.render_trail(listed))
    memctl("sync", where=one)
    data = memctl("sync", "--json", where=two).data
    lost = [(item["field"], item["lost"]) for item in data["lost"]]
    assert lost == [("Current State", "As one left it")]  # the later one's stands, whoever was first
    text = (two / ".memory" / "sessions" / "s1.md").read_text()
    files = (two / ".memory" / "sessions" / "files" / "s1.md").read_text()
    for name in ("one", "two"):
        assert f"Decided by {name}" in text
        assert f"src/{name}.py" in text
        assert f"src/{name}.py" in files


def test_owner_of_a_renumbered_section_keeps_it(memctl: Memctl, bob: Memctl, one: Path, two: Path) -> None:
    memctl("section", "add", "Search", where=one)
    memctl("own", "acquire", "2.2", where=one)
    bob("section", "add", "Catalogue", where=two)
    bob("own", "acquire", "2.2", where=two)
    memctl("sync", where=one)
    assert "was replaced" not in bob("sync", where=two).out
    assert owners(memctl, two) == {"§2.2": "claude", "§2.3": "bob"}
    bob("section", "edit", "2.3", "--status", "Begun", where=two)
    synced(memctl, one, two)


def test_a_published_ownership_stays_and_its_owner_gets_a_hint(memctl: Memctl, one: Path, two: Path) -> None:
    memctl("section", "add", "Catalogue", where=two)
    memctl("own", "acquire", "2.2", "--remote", "origin", where=two)
    memctl("section", "add", "Search", where=one)
    memctl("sync", where=one)
    out = memctl("sync", where=two).out
    assert "you own §2.2, but this number is another section's now" in out
    assert "`memctl team own release 2.2` and `memctl team own acquire 2.3`" in out
    assert owners(memctl, two) == {"§2.2": "claude"}


def test_unreadable_record_is_not_renumbered(memctl: Memctl, one: Path, two: Path) -> None:
    memctl("decide", "By one", where=one)
    given = memctl("decide", "By two", where=two).id
    file = next((two / ".memory").rglob(f"{given}*.md"))
    write(two, str(file.relative_to(two)), f"no front matter, but {given}\n")
    memctl("sync", where=one)
    assert memctl("sync", "--json", where=two).data["renumbered"] == []
    assert file.read_text() == f"no front matter, but {given}\n"
    listed = memctl("list", "--json", where=two, code=1).data["records"]
    assert [record["title"] for record in listed if record["id"] == given] == ["By one"]
