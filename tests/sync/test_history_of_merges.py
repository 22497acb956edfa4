"""`restore`, `log` and `show` find what a merge renamed or gave up."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.git import history
from memctl.git.repository import open_repository
from tests.conftest import Memctl, Once, git


@pytest.fixture
def renumbered(one: Path, two: Path, memctl: Memctl, once: Once) -> tuple[str, str]:
    """The id that two clones gave out, and the one that the second's record got by its sync."""

    def make() -> tuple[str, str]:
        taken = memctl("issue", "From one", where=one).id
        memctl("sync", where=one)
        assert memctl("issue", "From two", where=two).id == taken
        memctl("sync", where=two)
        found = memctl("list", "--type", "issue", "--json", where=two).data["records"]
        return taken, next(record["id"] for record in found if record["title"] == "From two")

    made: tuple[str, str] = once(make)
    return made


def test_a_record_that_came_by_a_merge_is_restored_and_logged_once_deleted(
    two: Path, memctl: Memctl, renumbered: tuple[str, str]
) -> None:
    _, new = renumbered
    before = memctl("show", new, where=two).out
    memctl("delete", new, where=two)
    assert [commit["ops"] for commit in memctl("log", new, "--json", where=two).data["commits"]] == [
        ["delete"], ["sync"],
    ]  # fmt: skip
    dry = memctl("restore", new, "--at", "HEAD~1", "-n", where=two).out
    assert "+title: From two" in dry
    memctl("restore", new, where=two)
    assert memctl("show", new, where=two).out == before


def test_restore_of_a_shared_id_brings_back_the_record_that_kept_it(
    two: Path, memctl: Memctl, renumbered: tuple[str, str]
) -> None:
    taken, new = renumbered
    memctl("delete", new, taken, where=two)
    said = [commit["subject"] for commit in memctl("log", taken, "--json", where=two).data["commits"]]
    assert said[-1] == f"docs(memory): issue {taken} From one"
    assert "From one" in memctl("restore", taken, where=two).out


def test_shared_id_means_the_deleted_record_before_the_renumbered_one(
    two: Path, memctl: Memctl, renumbered: tuple[str, str]
) -> None:
    taken, new = renumbered
    assert f"{taken} still exists" in memctl("restore", taken, code=1, where=two).err
    memctl("delete", taken, where=two)
    logged = memctl("log", taken, "--json", where=two).data["commits"]
    assert [commit["ops"] for commit in logged] == [["delete"], ["issue"]]
    assert "-title: From one" in memctl("diff", taken, "--at", "HEAD~1", where=two).out
    memctl("restore", taken, where=two)
    titles = {one["id"]: one["title"] for one in memctl("list", "--type", "issue", "--json", where=two).data["records"]}
    assert (titles[taken], titles[new]) == ("From one", "From two")


def test_former_id_means_the_renamed_record(repo: Path, memctl: Memctl) -> None:
    once = memctl("learn", "Renamed").id
    now = f"{once[:-3]}777"
    file = next(repo.rglob(f"{once}*.md"))
    text = file.read_text().replace(f"id: {once}", f"id: {now}", 1)
    file.with_name(file.name.replace(once, now)).write_text(text.replace("title:", f"aliases:\n  - {once}\ntitle:", 1))
    file.unlink()
    memctl("commit")
    assert f"{once}, whose id is {now} now, still exists" in memctl("restore", once, code=1).err
    assert memctl("log", once).out == memctl("log", now).out


def test_last_version_of_a_file_that_a_merge_gave_up_is_in_the_history(
    two: Path, memctl: Memctl, renumbered: tuple[str, str]
) -> None:
    taken, _ = renumbered
    repository = open_repository(two)
    dead = next(
        path for path in history.paths_ever(repository, ".memory/issues") if "from-two" in path and taken in path
    )
    last = history.last_version(repository, dead)
    assert last is not None
    assert "From two" in git(two, "cat-file", "blob", last[1])


def test_text_written_by_a_merge_is_the_last_state_of_a_file(repo: Path) -> None:
    git(repo, "checkout", "-qb", "side")
    (repo / "app.py").write_text("side\n")
    git(repo, "commit", "-qam", "side")
    git(repo, "checkout", "-q", "main")
    (repo / "app.py").write_text("main\n")
    git(repo, "commit", "-qam", "main")
    git(repo, "merge", "-q", "side", check=False)
    (repo / "app.py").write_text("both\n")
    git(repo, "commit", "-qam", "both")
    repository, blob = open_repository(repo), git(repo, "rev-parse", "HEAD:app.py").strip()
    last, known = history.last_version(repository, "app.py"), history.last_state(repository, "app.py", "HEAD")
    assert last is not None
    assert known is not None
    assert last[1] == known.blob == blob


def edited(one: Path, two: Path, memctl: Memctl) -> str:
    """A learning of which the second clone's edit was replaced by the first's when it synced."""
    shared: str = memctl("list", "--type", "learning", "--json", where=one).data["records"][0]["id"]
    memctl("edit", shared, "--set", "importance=8", where=one)
    memctl("edit", shared, "--set", "importance=3", "--reason", "Bob says so", where=two)
    memctl("sync", where=one)
    memctl("sync", where=two)
    return shared


def test_log_shows_an_edit_lost_in_a_sync_and_the_sync(one: Path, two: Path, memctl: Memctl) -> None:
    shared = edited(one, two, memctl)
    for args in ((shared,), (), ("--limit", "0"), ("--type", "learning")):
        out = memctl("log", *args, where=two).out
        assert "why: Bob says so" in out
        assert "sync with origin/main" in out
    assert "lost: importance: '3' was replaced by '8'" in memctl("log", shared, where=two).out


def test_log_leaves_out_a_merge_without_memory_changes_of_its_own(one: Path, memctl: Memctl) -> None:
    git(one, "checkout", "-qb", "side")
    made = memctl("decide", "Aside", where=one).id
    git(one, "checkout", "-q", "main")
    git(one, "commit", "-q", "--allow-empty", "-m", "elsewhere")
    git(one, "merge", "-q", "--no-ff", "-m", "a plain merge", "side")
    for args in ((made,), (), ("--limit", "0"), ("--type", "decision")):
        out = memctl("log", *args, where=one).out
        assert made in out
        assert "a plain merge" not in out


def test_undo_of_a_renumbered_record_names_its_new_id(two: Path, memctl: Memctl, renumbered: tuple[str, str]) -> None:
    taken, new = renumbered
    refused = memctl("undo", where=two, code=1).err
    assert f"{taken} has the id {new} now" in refused
    memctl(*refused.rpartition("`memctl ")[2].partition("`")[0].split(), where=two)
    assert new not in memctl("list", where=two).out
