"""`maintain`: what the tables say, once and not twice, in one commit, with counts that are neither lost nor doubled."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from memctl.git import message
from memctl.store import retrieval_counts, retrieval_folding
from memctl.text import timestamps
from tests.conftest import NOW, Memctl, changed_in, commits, git, process, strides
from tests.write import aged, killed

LONG_AGO = "2023-01-01T00:00:00Z"


def write(repo: Path, found: list[aged.Values]) -> None:
    """Commit records as if they had been there since before they were made, in a project that goes on."""
    aged.write(repo / ".memory", found)
    git(repo, "add", "-A")
    with pytest.MonkeyPatch.context() as patch:
        for year, subject in ((2020, "records"), (2022, "go on"), (2024, "go on")):
            patch.setenv("GIT_COMMITTER_DATE", f"{year}-01-01T00:00:00Z")
            git(repo, "commit", "-qm", subject, "--allow-empty")


def all_records(memctl: Memctl) -> dict[str, dict[str, Any]]:
    return {record["id"]: record for record in memctl("list", "--all", "--limit", "0", "--json").data["records"]}


@pytest.fixture
def old(monkeypatch: pytest.MonkeyPatch, memctl: Memctl) -> Memctl:
    """Run memctl as it was run long ago."""

    def run(*args: str, at: str = LONG_AGO, **more: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setenv("MEMCTL_NOW", at)
            return memctl(*args, **more)

    return run


@pytest.fixture
def unread(old: Memctl) -> Memctl:
    """Record a learning long ago, and archive it ten months ago."""

    def run(*args: str) -> Any:
        made = old("learn", *args)
        old("archive", made.id, at="2025-01-01T00:00:00Z")
        return made

    return run


@pytest.mark.parametrize("size", [200, pytest.param(10_000, marks=pytest.mark.slow)])  # or as it may be after years
def test_maintain_follows_the_tables_and_a_second_run_changes_nothing(repo: Path, memctl: Memctl, size: int) -> None:
    found = aged.records(size)
    write(repo, found)
    wanted, before = aged.expected(found), all_records(memctl)
    texts = {values["id"]: (repo / ".memory" / aged.path_of(values)).read_text() for values in found}
    planned = memctl("maintain", "--dry-run", "--json").data
    assert all_records(memctl) == before
    done = memctl("maintain", "--json").data

    assert commits(repo) == int(git(repo, "rev-list", "--count", "HEAD~1")) + 1
    assert git(repo, "status", "--porcelain") == ""
    assert (planned["deeds"], planned["kept"], planned["folded"]) == (done["deeds"], done["kept"], done["folded"])
    after = all_records(memctl)
    became = {
        name: "deleted"
        if name not in after
        else "archived"
        if after[name]["is_archived"] and not record["is_archived"]
        else "kept"
        for name, record in before.items()
    }
    assert became == wanted
    assert set(wanted.values()) == {"deleted", "archived", "kept"}
    unlinked = {deed["id"] for deed in done["deeds"] if deed["action"] == "unlink"}
    for values in found:
        if wanted[values["id"]] == "kept" and values["id"] not in unlinked:
            assert (repo / ".memory" / aged.path_of(values)).read_text() == texts[values["id"]]
    trailers = message.parse(git(repo, "log", "-1", "--format=%B")).deeds
    assert {(action, name) for action, name, _ in trailers} == {(d["action"], d["id"]) for d in done["deeds"]}
    for action, outcome in (("archive", "archived"), ("delete", "deleted")):
        assert {name for did, name, _ in trailers if did == action} == {n for n, w in wanted.items() if w == outcome}
    links = {finding["code"] for finding in memctl("check", "--json", code=None).data["findings"]}
    assert not links & {"MEM106", "MEM107", "MEM207"}

    count = commits(repo)
    assert "nothing to change\n" in memctl("maintain").out
    assert commits(repo) == count
    assert memctl("maintain", "--json").data["kept"] == done["kept"]
    for name in [name for name, what in wanted.items() if what == "deleted"][:3]:
        memctl("restore", name)
        assert name in all_records(memctl)


def test_protected_records_are_kept_beyond_their_expiry(memctl: Memctl, old: Memctl) -> None:
    weighty = old("decide", "Weighty", "-i", "8", "--expires", "2024-01-01").id
    waiting = old("issue", "Still there", "--expires", "2024-01-01", "--severity", "low").id
    state = old("state", "Now", "--expires", "2024-01-01").id
    done = memctl("maintain", "--json").data
    assert done["deeds"] == []
    assert {one["id"]: one["why"] for one in done["kept"]} == {
        weighty: "it has importance 8",
        waiting: "it is an open issue",
        state: "it is the latest state",
    }


def test_a_critical_issue_that_is_resolved_is_archived_and_never_deleted(memctl: Memctl, old: Memctl) -> None:
    issue = old("issue", "Down", "--severity", "critical").id
    old("resolve", issue, "--resolution", "x")
    assert [(deed["action"], deed["id"]) for deed in memctl("maintain", "--json").data["deeds"]] == [("archive", issue)]
    later = old("maintain", "--json", at="2031-01-01T00:00:00Z").data
    assert later["deeds"] == []
    assert {one["id"]: (one["due"], one["why"]) for one in later["kept"]} == {issue: ("delete", "it has importance 9")}


def test_superseded_decision_is_archived_whatever_its_importance(memctl: Memctl) -> None:
    first, second = (memctl("decide", title, "--rationale", "Fast", "-i", "10").id for title in ("Redis", "Valkey"))
    memctl("supersede", first, second)
    deeds = memctl("maintain", "--json").data["deeds"]
    assert [(deed["action"], deed["id"], deed["reason"]) for deed in deeds] == [
        ("archive", first, f"superseded by {second}")
    ]
    assert memctl("maintain", "--json").data["deeds"] == []


def test_lifecycle_numbers_are_configurable(repo: Path, memctl: Memctl, old: Memctl, unread: Memctl) -> None:
    stale, learning = old("learn", "Stale").id, unread("Unread").id
    config = repo / ".memory" / "config.yaml"
    text = config.read_text()
    config.write_text(text + "lifecycle: {archive_learning_days: 100000, delete: false}\n")
    assert memctl("maintain", "--json").data["deeds"] == []
    config.write_text(text + "lifecycle: {delete: false}\n")
    assert [(deed["action"], deed["id"]) for deed in memctl("maintain", "-n", "--json").data["deeds"]] == [
        ("archive", stale)
    ]
    config.write_text(text + "lifecycle:\n  delete_learning_days: 30\n")
    assert memctl("maintain", "-n", "--json").data["deeds"][1] | {"reason": ""} == {
        "action": "delete",
        "id": learning,
        "reason": "",
    }
    config.write_text(text + "lifecycle: {keep_importance: 9}\n")
    assert "lifecycle.keep_importance" in memctl("maintain", code=1).err
    config.write_text(text + "lifecycle: {keep_importance: 5}\n")
    assert memctl("maintain", "--json").data["kept"][1] | {"reason": ""} == {
        "id": learning,
        "due": "delete",
        "reason": "",
        "why": "it has importance 5",
    }


def test_referenced_record_stays_archived_and_is_not_deleted(repo: Path, memctl: Memctl, unread: Memctl) -> None:
    linked, told, paged, free = (unread(title).id for title in ("Linked", "Told", "Paged", "Free"))
    issue = memctl("issue", "Open", "--relates-to", linked, "--description", f"As {told} says").id
    memctl("section", "add", "Payment", "--overview", f"See {paged}.")
    done = memctl("maintain", "--json").data
    assert {one["id"]: one["why"] for one in done["kept"]} == {
        linked: f"{issue} refers to it",
        told: f"{issue} refers to it",
        paged: "§2.1 refers to it",
    }
    after = all_records(memctl)
    assert free not in after
    assert all(after[name]["is_archived"] for name in (linked, told, paged))
    assert "nothing to change\n" in memctl("maintain").out
    memctl("resolve", issue)
    memctl("edit", issue, "--set", "description=As nobody says")
    memctl("maintain")
    assert linked not in all_records(memctl)
    assert all_records(memctl)[issue]["relates_to"] == []


def test_superseded_state_is_deleted_with_the_link_to_it(repo: Path, memctl: Memctl, old: Memctl) -> None:
    first = old("state", "First").id
    second = old("state", "Second", "--supersedes", first, at="2023-02-01T00:00:00Z").id
    old("maintain", at="2025-01-01T00:00:00Z")
    memctl("maintain", "--reason", "too many")
    assert list(all_records(memctl)) == [second]
    assert all_records(memctl)[second]["supersedes"] == []
    assert memctl("log", first, "--json").data["commits"][0]["reason"] == "too many"
    assert "    delete: superseded, archived for 307 days" in memctl("log", first).out
    assert f"    unlink: {first} was deleted" in memctl("log", second).out


def test_record_archived_by_hand_is_dated_before_it_can_be_deleted(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = aged.records(1)[0] | {"memory_type": "issue", "id": "ISS-2023-01-01-001", "status": "resolved"}
    values |= {"timestamp": LONG_AGO, "importance": 5, "is_archived": True, "archived_at": None, "expires_at": None}
    write(repo, [values])
    memctl("maintain")
    assert all_records(memctl)[values["id"]]["archived_at"] == NOW
    assert memctl("maintain").out == "nothing to change\n"
    monkeypatch.setenv("MEMCTL_NOW", "2026-05-04T14:32:00Z")  # 181 days later
    memctl("maintain")
    assert all_records(memctl) == {}


def test_maintain_leaves_uncommitted_records_alone(repo: Path, memctl: Memctl, unread: Memctl) -> None:
    one, other = unread("One"), unread("Other")
    file = repo / one.out.split()[1]
    file.write_text(file.read_text() + "\nHalf a thou")
    done = memctl("maintain", "--json").data
    assert [(deed["action"], deed["id"]) for deed in done["deeds"]] == [("delete", other.id)]
    assert [spared["why"] for spared in done["kept"]] == ["its file has uncommitted changes"]
    assert file.read_text().endswith("Half a thou")
    assert changed_in(repo) == [other.out.split()[1]]


def test_uncommitted_record_protects_its_links_and_keeps_its_count(
    repo: Path, memctl: Memctl, old: Memctl, unread: Memctl
) -> None:
    old("state", "Now")
    linked = unread("Linked").id
    holder = old("issue", "Closed", "--relates-to", linked, "--status", "resolved", at="2025-11-01")
    memctl("archive", holder.id)
    memctl("show", holder.id)
    file = repo / holder.out.split()[1]
    text = file.read_text()
    file.write_text(text + "\nHalf a thou")
    done = memctl("maintain", "--json").data
    assert [(one["id"], one["why"]) for one in done["kept"]] == [(linked, f"{holder.id} refers to it")]
    assert file.read_text() == text + "\nHalf a thou"
    assert len(retrieval_counts.counts(repo / ".git" / "memctl")) == 1
    file.write_text(text)
    memctl("maintain")
    assert linked not in all_records(memctl)
    assert all_records(memctl)[holder.id]["relates_to"] == []


def test_no_commit_leaves_the_changes_pending_and_a_second_run_idle(repo: Path, memctl: Memctl, unread: Memctl) -> None:
    made = unread("Unread", "-i", "4").id
    before = commits(repo)
    assert "--no-commit was given" in memctl("maintain", "--no-commit").err
    assert "nothing to change\n" in memctl("maintain", "--no-commit").out
    assert commits(repo) == before
    memctl("commit")
    assert f"Memctl-Record: delete {made}" in git(repo, "log", "-1", "--format=%B")


@pytest.mark.parametrize("marker", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "rebase-merge"])
def test_maintenance_is_refused_during_a_merge_or_rebase(repo: Path, memctl: Memctl, old: Memctl, marker: str) -> None:
    made = old("learn", "Unread")
    memctl("show", old("learn", "Read").id)
    (repo / ".git" / marker).mkdir() if "rebase" in marker else (repo / ".git" / marker).touch()
    assert "can't commit now" in memctl("maintain", code=1).err
    assert (repo / made.out.split()[1]).exists()
    assert retrieval_counts.counts(repo / ".git" / "memctl")
    assert git(repo, "status", "--porcelain") == ""


def test_maintain_folds_access_counts_into_the_records(repo: Path, memctl: Memctl, old: Memctl) -> None:
    made = old("learn", "Read")
    for _ in range(3):
        memctl("show", made.id)
    assert memctl("maintain", "-n", "--json").data["folded"] == 1
    assert retrieval_counts.counts(repo / ".git" / "memctl")
    memctl("maintain")
    text = (repo / made.out.split()[1]).read_text()
    assert "access_count: 3\n" in text
    assert f"last_accessed: {NOW}\n" in text
    assert "is_archived" not in text
    assert retrieval_counts.counts(repo / ".git" / "memctl") == {}
    memctl("show", made.id)
    assert all_records(memctl)[made.id]["access_count"] == 4
    memctl("maintain")
    assert "access_count: 4\n" in (repo / made.out.split()[1]).read_text()


def test_accesses_counted_during_folding_are_kept(tmp_path: Path) -> None:
    retrieval_counts.count(tmp_path, ["a", "b", "b"], NOW)
    assert retrieval_folding.start(tmp_path, {"a": (1, 11), "b": (2, 2)})
    retrieval_counts.count(tmp_path, ["a", "c"], NOW)
    retrieval_folding.finish(tmp_path, {"a": 11, "b": 2})
    retrieval_folding.finish(tmp_path, {"a": 11, "b": 2})
    assert retrieval_counts.counts(tmp_path) == {"a": (1, NOW), "c": (1, NOW)}


def test_interrupted_folding_without_a_write_is_forgotten(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Read")
    memctl("show", made.id)
    shared = repo / ".git" / "memctl"
    (memory_id,) = retrieval_counts.counts(shared)
    retrieval_folding.start(shared, {memory_id: (1, 1)})
    memctl("maintain")
    assert "access_count: 1\n" in (repo / made.out.split()[1]).read_text()
    assert retrieval_folding.unfinished(shared) == retrieval_counts.counts(shared) == {}


def test_unfinished_folding_counts_nothing_twice(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Read")
    memctl("show", made.id)
    memctl("show", made.id)
    shared = repo / ".git" / "memctl"
    (memory_id,) = retrieval_counts.counts(shared)
    retrieval_folding.start(shared, {memory_id: (2, 2)})
    file = repo / made.out.split()[1]
    file.write_text(file.read_text().replace("agent_id:", "access_count: 2\nagent_id:"))
    git(repo, "commit", "-qam", "what the killed run would have committed")
    memctl("show", made.id)
    memctl("maintain")
    assert "access_count: 3\n" in file.read_text()
    assert all_records(memctl)[made.id]["access_count"] == 3


def test_accesses_during_maintain_are_not_lost(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Read")
    readers = [process(repo, "show", made.id, stdout=subprocess.DEVNULL) for _ in range(6)]
    memctl("maintain")
    assert [reader.wait() for reader in readers] == [0] * 6
    assert all_records(memctl)[made.id]["access_count"] == 6
    memctl("maintain")
    assert "access_count: 6\n" in (repo / made.out.split()[1]).read_text()


@strides(13)
def test_maintain_killed_at_any_step_is_completed_by_the_next_run(
    repo: Path, memctl: Memctl, old: Memctl, unread: Memctl, tmp_path: Path, stride: int
) -> None:
    gone, archived = unread("Unread").id, old("learn", "Stale", at="2025-03-01T00:00:00Z").id
    read = old("learn", "Read").id
    memctl("show", read)
    memctl("show", read)
    before = commits(repo)
    victim, step, code = tmp_path / "victim", 1 - stride, -signal.SIGKILL
    while code == -signal.SIGKILL:
        step += stride
        shutil.rmtree(victim, ignore_errors=True)
        shutil.copytree(repo, victim, symlinks=True)
        code = killed.run(step, victim, "maintain").returncode
        (victim / ".git" / "index.lock").unlink(missing_ok=True)
        memctl("maintain", where=victim)
        memctl("commit", where=victim)
        assert commits(victim) == before + 1
        records = {r["id"]: r for r in memctl("list", "--all", "--json", where=victim).data["records"]}
        assert set(records) == {archived, read}
        assert records[archived]["is_archived"]
        assert records[read]["access_count"] == 2
        assert retrieval_counts.counts(victim / ".git" / "memctl") == {}
        assert git(victim, "status", "--porcelain") == ""
        memctl("restore", gone, where=victim)
    assert code == 0
    assert step > 10


def test_concurrent_maintain_runs_make_one_commit(repo: Path, memctl: Memctl, unread: Memctl) -> None:
    for number in range(5):
        unread(f"Unread {number}")
    before = commits(repo)
    runs = [process(repo, "maintain") for _ in range(3)]
    assert [run.wait() for run in runs] == [0] * 3
    assert commits(repo) == before + 1
    assert all_records(memctl) == {}


def test_maintain_skips_records_in_sections_owned_by_another_agent(
    memctl: Memctl, bob: Memctl, old: Memctl, unread: Memctl
) -> None:
    memctl("section", "add", "Payment")
    theirs, free, read = (
        unread("Theirs", "--section", "2.1").id,
        unread("Free").id,
        memctl("learn", "Read", "--section", "2.1").id,
    )
    linked = old("learn", "Linked").id
    memctl("learn", "Links", "--section", "2.1", "--relates-to", linked)
    bob("own", "acquire", "2.1")
    memctl("show", read)
    planned = memctl("maintain", "--dry-run", "--json").data
    done = memctl("maintain", "--json").data
    assert planned["deeds"] == done["deeds"]
    assert [(deed["action"], deed["id"]) for deed in done["deeds"]] == [("delete", free), ("archive", linked)]
    assert {one["id"]: one["why"].partition(" is owned by bob")[0] for one in done["kept"] if one["id"] == theirs} == {
        theirs: "§2.1"
    }
    assert all_records(memctl)[read]["access_count"] == 1
    assert memctl("maintain").out.startswith("nothing to change\n")
    memctl("maintain", "--allow-owned", code=2)
    memctl("maintain", "--allow-owned", "--reason", "spring")
    assert theirs not in all_records(memctl)


def test_imported_record_counts_from_its_first_commit(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    archived = {"title": "Old", "is_archived": True, "archived_at": "2024-06-01T00:00:00Z"}
    lines = ({"title": "Older"}, archived, {"title": "Decided", "memory_type": "decision", "importance": 2})
    for values in lines:
        line = {"memory_type": "learning", "timestamp": "2023-05-01T10:00:00Z", **values}
        memctl("import", "-", stdin=json.dumps(line))
    planned = memctl("maintain", "--dry-run", "--json").data
    assert planned["deeds"] == []
    assert sorted((one["due"], one["why"]) for one in planned["kept"]) == [
        ("archive", "its first commit is of 2025-11-04"),
        ("archive", "its first commit is of 2025-11-04"),
        ("delete", "a commit archived it on 2025-11-04"),
    ]
    memctl("maintain")
    monkeypatch.setenv("MEMCTL_NOW", "2026-05-04T14:32:00Z")  # 181 days later
    assert {deed["action"] for deed in memctl("maintain", "--json").data["deeds"]} == {"archive"}
    assert len(all_records(memctl)) == 3
    monkeypatch.setenv("MEMCTL_NOW", "2026-12-04T14:32:00Z")
    assert [deed["action"] for deed in memctl("maintain", "--json").data["deeds"]] == ["delete", "delete"]


def test_clock_that_jumps_deletes_nothing(memctl: Memctl, old: Memctl, unread: Memctl) -> None:
    new, gone = memctl("learn", "New").id, unread("Unread").id
    first = old("state", "First").id
    memctl("state", "Second", "--supersedes", first)
    for number in range(12):
        memctl("checkpoint", "save", "--task", "Refunds", "--next", f"Step {number}", "--doing", f"Step {number}")
    for at in ("2099-01-01T00:00:00Z", "2099-01-02T00:00:00Z"):  # the second run finds the commit of the first
        done = old("maintain", "--json", at=at).data
        assert {deed["action"] for deed in done["deeds"]} <= {"archive"}
        whys = {one["id"]: one["why"] for one in done["kept"]}
        assert "so a clock may have been wrong" in whys[gone]
        assert len([name for name in whys if name.startswith("main-w1")]) == 2
    assert {new, gone, first} <= set(all_records(memctl))
    assert {deed["action"] for deed in memctl("maintain", "--json").data["deeds"]} <= {"delete"}
    assert {new, first} <= set(all_records(memctl))


@pytest.mark.parametrize("days", [200, 400, 720])
def test_clock_that_jumps_for_a_day_archives_and_deletes_nothing(days: int, memctl: Memctl, old: Memctl) -> None:
    lines = (
        {"memory_type": "learning", "title": "Older"},
        {"memory_type": "issue", "title": "Done", "status": "resolved"},
        {"memory_type": "decision", "title": "Small", "importance": 2},
    )
    for line in lines:
        memctl("import", "-", stdin=json.dumps({"timestamp": "2023-05-01T10:00:00Z", **line}))
    assert memctl("maintain", "--json").data["deeds"] == []
    names = set(all_records(memctl))
    for hour in (0, 6, 23):
        done = old("maintain", "--json", at=timestamps.days_before(NOW, -days - hour / 24)).data
        assert {deed["action"] for deed in done["deeds"]} <= {"archive"}
    assert names <= set(all_records(memctl))
    assert memctl("maintain", "--json").data["deeds"] == []  # the clock is right again


def test_restored_record_is_not_deleted_again_at_once(memctl: Memctl, unread: Memctl) -> None:
    made = unread("Unread").id
    memctl("maintain")
    assert made not in all_records(memctl)
    memctl("restore", made)
    assert memctl("maintain", "--json").data["deeds"] == []
    assert made in all_records(memctl)
