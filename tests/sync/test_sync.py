"""Two clones of one repository: what a sync brings together, and what stops it with everything left as it was."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import Memctl, Result, git, process
from tests.sync.conftest import Clone


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock runs: under a fixed one two clones would make up the same memory_id."""
    monkeypatch.delenv("MEMCTL_NOW")


def the(memctl: Memctl, clone: Path, title: str) -> str:
    """The id of the record with a title."""
    found = memctl("list", "--all", "--json", where=clone).data["records"]
    return str(next(record["id"] for record in found if record["title"] == title))


def shown(memctl: Memctl, clone: Path, title: str) -> dict[str, object]:
    found: dict[str, object] = memctl("show", the(memctl, clone, title), "--json", where=clone).data["records"][0]
    return found


def errors(memctl: Memctl, clone: Path) -> list[str]:
    findings = memctl("check", "--json", where=clone, code=None).data["findings"]
    return [f"{f['code']} {f['path']}: {f['message']}" for f in findings if f["severity"] == "error"]


def standing(clone: Path) -> tuple[str, ...]:
    """All that a refused sync leaves alone: branches, index, worktree."""
    files = {
        path: path.read_bytes() for path in sorted(clone.rglob("*")) if path.is_file() and ".git" not in path.parts
    }
    heads = git(clone, "for-each-ref", "refs/heads"), git(clone, "symbolic-ref", "-q", "HEAD", check=False)
    return (*heads, git(clone, "ls-files", "-s"), git(clone, "status", "--porcelain"), repr(files))


def write(clone: Path, name: str, text: str) -> None:
    (clone / name).parent.mkdir(parents=True, exist_ok=True)
    (clone / name).write_text(text)
    git(clone, "add", name)
    git(clone, "commit", "-qm", f"{name} changed")


def refused(memctl: Memctl, clone: Path, *args: str, code: int = 1) -> Result:
    before = standing(clone)
    result = memctl("sync", *args, where=clone, code=code)
    assert standing(clone) == before
    assert not (clone / ".git" / "memctl" / "move.json").exists()
    return result


def test_each_clone_gets_what_the_other_has_recorded(memctl: Memctl, one: Path, two: Path) -> None:
    memctl("decide", "From one", where=one)
    memctl("learn", "From two", where=two)
    assert "pushed 1 commit to origin/main" in memctl("sync", where=one).out
    assert "fetched 1 commit from origin/main" in memctl("sync", where=two).out
    memctl("sync", where=one)
    for clone in (one, two):
        assert {"From one", "From two"} <= {r["title"] for r in memctl("list", "--json", where=clone).data["records"]}
        assert git(clone, "status", "--porcelain") == ""
        assert errors(memctl, clone) == []
    assert git(one, "rev-parse", "HEAD") == git(two, "rev-parse", "HEAD")


def test_sync_without_changes_makes_no_commit(memctl: Memctl, one: Path) -> None:
    before = git(one, "rev-parse", "HEAD")
    assert memctl("sync", where=one).out == "nothing to do: this branch and origin/main are at the same commit\n"
    assert git(one, "rev-parse", "HEAD") == before


def test_clone_without_changes_is_fast_forwarded(memctl: Memctl, one: Path, two: Path) -> None:
    memctl("decide", "From one", where=one)
    memctl("sync", where=one)
    assert "like origin/main" in memctl("sync", where=two).out
    assert git(one, "rev-parse", "HEAD") == git(two, "rev-parse", "HEAD")


def test_fields_merge_by_their_rules_and_the_value_that_gives_way_is_named(
    memctl: Memctl, one: Path, two: Path
) -> None:
    base = the(memctl, one, "Shared")
    memctl("edit", base, "--set", "importance=8", "--set", "title=By one", "--add", "tags=one", where=one)
    memctl("edit", base, "--set", "importance=9", "--add", "tags=two", "--set", "applicability=Always", where=two)
    memctl("sync", where=one)
    data = memctl("sync", "--json", where=two).data
    record = shown(memctl, two, "By one")
    assert (record["importance"], sorted(record["tags"])) == (8, ["one", "two"])  # type: ignore[call-overload]
    lost = [(item["id"], item["field"], item["lost"], item["kept"]) for item in data["lost"]]
    assert lost == [(base, "importance", "9", "8")]
    message = git(two, "log", "-1", "--format=%(trailers:key=Memctl-Record,unfold)")
    assert f"lost {base}: importance: '9' was replaced by '8'" in message
    assert "importance: '9' was replaced by '8'" in memctl("log", base, where=two).out
    assert memctl("show", base, "--at", "HEAD^1", "--json", where=two).data["records"][0]["importance"] == 9


def test_a_text_that_both_changed_is_the_remotes_and_the_other_one_is_named(
    memctl: Memctl, one: Path, two: Path
) -> None:
    base = the(memctl, one, "Shared")
    memctl("edit", base, "--set", "lesson=One says so.", where=one)
    memctl("edit", base, "--set", "lesson=Two says so.", where=two)
    memctl("sync", where=one)
    data = memctl("sync", "--json", where=two).data
    assert [(item["field"], item["lost"]) for item in data["lost"]] == [("lesson", "Two says so.")]
    text = memctl("show", base, where=two).out
    assert "One says so." in text
    assert "<<<" not in text
    assert errors(memctl, two) == []


def test_duplicate_id_stays_with_the_published_record(memctl: Memctl, one: Path, two: Path) -> None:
    first = memctl("decide", "By one", where=one).id
    second = memctl("decide", "By two", where=two).id
    assert first == second
    third = memctl("learn", "Refers", "--lesson", f"See {second} and `{second}`.", where=two).id
    memctl("link", third, second, where=two)
    memctl("sync", where=one)
    data = memctl("sync", "--json", where=two).data
    renamed = the(memctl, two, "By two")
    assert [(item["old"], item["new"]) for item in data["renumbered"]] == [(second, renamed)]
    assert the(memctl, two, "By one") == first
    assert renamed != first
    record = shown(memctl, two, "Refers")
    assert record["relates_to"] == [renamed]
    assert f"See {renamed} and `{renamed}`." in memctl("show", third, where=two).out
    assert shown(memctl, two, "By two")["aliases"] == [second]
    assert errors(memctl, two) == []
    memctl("sync", where=one)
    assert errors(memctl, one) == []
    assert memctl("decide", "Later", where=one).id not in (first, renamed)


def test_sections_with_the_same_number_are_renumbered(memctl: Memctl, one: Path, two: Path) -> None:
    memctl("section", "add", "Search", where=one)
    memctl("section", "add", "Catalogue", where=two)
    memctl("decide", "Cached", "--section", "2.2", "--context", "As §2.2 says, unlike §2.20.", where=two)
    memctl("sync", where=one)
    memctl("sync", where=two)
    titles = {row["marker"]: row["title"] for row in memctl("index", "--json", where=two).data["places"]}
    assert (titles["§2.2"], titles["§2.3"]) == ("Search", "Catalogue")
    assert shown(memctl, two, "Cached")["section"] == "§2.3"
    assert "As §2.3 says, unlike §2.20." in memctl("show", the(memctl, two, "Cached"), where=two).out
    assert errors(memctl, two) == []


def test_record_deleted_here_and_changed_there_is_kept_with_its_links(memctl: Memctl, one: Path, two: Path) -> None:
    base, shared = the(memctl, one, "Base"), the(memctl, one, "Shared")
    memctl("link", base, shared, where=one)
    memctl("sync", where=one)
    memctl("sync", where=two)
    memctl("delete", shared, "--unlink", where=one)
    memctl("edit", shared, "--set", "importance=9", where=two)
    memctl("sync", where=one)
    assert "is kept: one side deleted it" in memctl("sync", where=two).out
    assert shown(memctl, two, "Shared")["importance"] == 9
    assert shown(memctl, two, "Base")["relates_to"] == [shared]
    assert errors(memctl, two) == []


def test_record_deleted_here_and_only_read_there_is_deleted(memctl: Memctl, one: Path, two: Path) -> None:
    shared = the(memctl, one, "Shared")
    memctl("delete", shared, where=one)
    memctl("show", shared, where=two)
    memctl("maintain", where=two)
    memctl("sync", where=one)
    memctl("sync", where=two)
    assert "Shared" not in memctl("list", "--all", where=two).out


def test_a_record_that_the_other_side_newly_names_is_not_deleted(memctl: Memctl, one: Path, two: Path) -> None:
    shared = the(memctl, one, "Shared")
    memctl("delete", shared, where=one)
    memctl("learn", "Refers", "--lesson", f"See {shared}.", where=two)
    memctl("sync", where=one)
    memctl("sync", where=two)
    assert the(memctl, two, "Shared") == shared
    assert errors(memctl, two) == []


def test_a_record_deleted_beside_a_new_one_is_no_rename(memctl: Memctl, one: Path, two: Path) -> None:
    """They look alike to Git, which would put what the other side changed into the new one."""
    shared = the(memctl, one, "Shared")
    memctl("delete", shared, where=one)
    memctl("learn", "Shared too", "--lesson", "Nothing yet.", where=one)
    memctl("edit", shared, "--add", "tags=kept", where=two)
    memctl("sync", where=one)
    memctl("sync", where=two)
    assert shown(memctl, two, "Shared")["tags"] == ["kept"]
    assert shown(memctl, two, "Shared too")["tags"] == []


def test_code_of_both_sides_is_merged_and_pushed_along(memctl: Memctl, one: Path, two: Path) -> None:
    write(one, "one.py", "1\n")
    memctl("decide", "By one", where=one)
    write(two, "two.py", "2\n")
    memctl("learn", "By two", where=two)
    memctl("sync", "--with-code", where=one)
    data = memctl("sync", "--with-code", "--json", where=two).data
    assert (data["fetched"], data["pushed"], data["pushed_outside_of_memory"]) == (2, 3, 1)
    assert (two / "one.py").read_text() == "1\n"
    assert git(two, "status", "--porcelain") == ""


def test_a_conflict_in_code_stops_before_anything_is_changed(memctl: Memctl, one: Path, two: Path) -> None:
    write(one, "app.py", "one\n")
    write(two, "app.py", "two\n")
    memctl("decide", "By one", where=one)
    memctl("decide", "By two", where=two)
    memctl("sync", "--with-code", where=one)
    there = git(one, "ls-remote", "origin")
    result = refused(memctl, two, "--with-code")
    assert "  app.py" in result.err
    assert "`git merge origin/main` shows the conflicts" in result.err
    assert git(one, "ls-remote", "origin") == there
    git(two, "fetch", "-q")
    git(two, "-c", "merge.conflictStyle=merge", "merge", "-q", "origin/main", check=False)
    assert "a merge is under way" in memctl("sync", "--with-code", where=two, code=1).err


def test_a_conflict_in_the_settings_is_the_users_to_solve(memctl: Memctl, one: Path, two: Path) -> None:
    config = (one / ".memory" / "config.yaml").read_text()
    write(one, ".memory/config.yaml", config + "description: One\n")
    write(two, ".memory/config.yaml", config + "description: Two\n")
    memctl("sync", where=one)
    assert "  .memory/config.yaml" in refused(memctl, two).err


def test_unrelated_staged_or_dirty_files_are_kept(memctl: Memctl, one: Path, two: Path) -> None:
    memctl("decide", "By one", where=one)
    memctl("sync", where=one)
    (two / "app.py").write_text("dirty\n")
    (two / "new.py").write_text("staged\n")
    git(two, "add", "new.py")
    memctl("learn", "By two", where=two)
    memctl("sync", where=two)
    assert git(two, "status", "--porcelain") == " M app.py\nA  new.py\n"


@pytest.mark.parametrize("how", ["dirty", "staged", "untracked", "ignored"])
def test_sync_is_refused_for_files_in_the_way(memctl: Memctl, one: Path, two: Path, how: str) -> None:
    name = "app.py" if how in ("dirty", "staged") else "new.py"
    write(one, name, "by one\n")
    memctl("sync", "--with-code", where=one)
    (two / name).write_text("mine\n")
    if how == "staged":
        git(two, "add", name)
    if how == "ignored":
        (two / ".git" / "info").mkdir(exist_ok=True)
        (two / ".git" / "info" / "exclude").write_text("new.py\n")
    memctl("learn", "By two", where=two)
    there = git(one, "ls-remote", "origin")
    assert f"  {name}" in refused(memctl, two, "--with-code").err
    assert (two / name).read_text() == "mine\n"
    assert git(one, "ls-remote", "origin") == there


def test_touched_file_does_not_stop_a_sync(memctl: Memctl, one: Path, two: Path) -> None:
    write(one, "app.py", "by one\n")
    memctl("sync", "--with-code", where=one)
    os.utime(two / "app.py", (1, 1))
    memctl("sync", "--with-code", where=two)
    assert (two / "app.py").read_text() == "by one\n"


def test_a_record_edited_by_hand_and_not_committed_is_not_overwritten(memctl: Memctl, one: Path, two: Path) -> None:
    base = the(memctl, one, "Base")
    memctl("edit", base, "--add", "tags=one", where=one)
    memctl("sync", where=one)
    file = next((two / ".memory").rglob(f"{base}*.md"))
    file.write_text(file.read_text() + "\nBy hand.\n")
    assert "`memctl commit`" in refused(memctl, two).err
    memctl("commit", "--allow-accepted", where=two)
    memctl("sync", where=two)
    assert "By hand." in file.read_text()


def test_dry_run_says_what_would_be_and_changes_no_branch(memctl: Memctl, one: Path, two: Path) -> None:
    memctl("decide", "By one", where=one)
    memctl("sync", where=one)
    identifier = memctl("decide", "By two", where=two).id
    there = git(one, "ls-remote", "origin")
    before = standing(two)
    out = memctl("sync", "--dry-run", where=two).out
    assert standing(two) == before
    assert git(one, "ls-remote", "origin") == there
    assert out.splitlines()[0] == "fetched 1 commit from origin/main"
    assert f"{identifier} would become" in out
    assert "would push 2 commits" in out


def test_no_push_merges_here_only(memctl: Memctl, one: Path, two: Path) -> None:
    memctl("decide", "By one", where=one)
    memctl("sync", where=one)
    memctl("learn", "By two", where=two)
    there = git(one, "ls-remote", "origin")
    assert "nothing was pushed" in memctl("sync", "--no-push", where=two).out
    assert the(memctl, two, "By one")
    assert git(one, "ls-remote", "origin") == there


def test_sync_merges_the_coordination_state_and_names_losses(memctl: Memctl, bob: Memctl, one: Path, two: Path) -> None:
    memctl("own", "acquire", "2.1", where=one)
    bob("own", "acquire", "2.1", where=two)
    bob("coordination", "share", "staging", "bob's", where=two)
    memctl("sync", where=one)
    assert "coordination state: section §2.1: " in bob("sync", where=two).out
    memctl("sync", where=one)
    for clone in (one, two):
        state = memctl("coordination", "show", "--json", where=clone).data
        assert state["section_ownership_map"]["§2.1"]["owner_agent_id"] == "claude"
        assert state["shared_resources"] == {"staging": "bob's"}


@pytest.mark.slow
def test_concurrent_pushes_of_clones_all_succeed(memctl: Memctl, clone: Clone) -> None:
    clones = [clone(f"racer{number}") for number in range(3)]
    for number, folder in enumerate(clones):
        memctl("decide", f"By {number}", where=folder)
    running = [process(folder, "sync") for folder in clones]
    for started in running:
        _, err = started.communicate()
        assert started.returncode == 0, err
    for folder in clones:
        memctl("sync", where=folder)
    assert len({git(folder, "rev-parse", "HEAD") for folder in clones}) == 1
    assert errors(memctl, clones[0]) == []
    merges = git(clones[0], "log", "--merges", "--format=%H").split()
    assert len(merges) == 2  # one for each that was not first: those of lost races are forgotten


def test_status_says_how_far_the_branch_is_from_what_was_fetched(memctl: Memctl, one: Path, two: Path) -> None:
    memctl("decide", "By one", where=one)
    distance = {"name": "origin/main", "ahead": 1, "behind": 0, "ahead_outside_of_memory": 0}
    assert memctl("status", "--json", where=one).data["upstream"] == distance
    assert (
        "this branch is 1 commit ahead, compared with origin/main as last fetched: `memctl sync`"
        in memctl("status", where=one).out
    )
    memctl("sync", where=one)
    assert "origin/main" not in memctl("status", where=one).out
    write(one, "app.py", "1\n")
    said = memctl("status", where=one).out
    assert "compared with origin/main as last fetched: `git push` sends 1 commit with code when you are ready" in said
    assert "memctl sync" not in said
    git(two, "switch", "-q", "--detach")
    assert memctl("status", "--json", where=two).data["upstream"] is None


def test_a_commit_in_the_memory_by_hand_counts_as_one_of_the_memory(memctl: Memctl, one: Path) -> None:
    write(one, ".memory/README.md", "By hand.\n")
    write(one, "code.py", "1\n")
    data = memctl("sync", "--with-code", "--json", where=one).data
    assert (data["pushed"], data["pushed_outside_of_memory"]) == (2, 1)


def test_record_deleted_by_both_sides_stays_deleted(memctl: Memctl, one: Path, two: Path) -> None:
    shared = the(memctl, one, "Shared")
    for clone in (one, two):
        memctl("delete", shared, where=clone)
    memctl("learn", "Refers", "--lesson", f"No more {shared}.", where=two)
    memctl("sync", where=one)
    memctl("sync", where=two)
    assert "Shared" not in memctl("list", "--all", where=two).out


def test_a_sync_gives_out_ids_that_no_other_worktree_gets(memctl: Memctl, one: Path, two: Path, tmp_path: Path) -> None:
    memctl("decide", "By one", where=one)
    memctl("sync", where=one)
    memctl("decide", "By two", where=two)
    git(two, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    memctl("sync", where=two)
    assert memctl("decide", "In the other", where=tmp_path / "linked").id != the(memctl, two, "By two")


def test_a_git_that_can_not_merge_trees_still_syncs_the_memory(
    memctl: Memctl, one: Path, two: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`git merge-tree --write-tree` came with Git 2.38."""
    real = shutil.which("git")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(
        f'#!/bin/sh\ncase $* in *merge-tree*) echo "usage: git merge-tree" >&2; exit 129 ;; esac\nexec {real} "$@"\n'
    )
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    write(one, "one.py", "1\n")
    memctl("decide", "By one", where=one)
    memctl("sync", "--with-code", where=one)
    memctl("decide", "By two", where=two)
    memctl("sync", "--with-code", where=two)
    assert (two / "one.py").exists()
    write(two, "two.py", "2\n")
    memctl("sync", "--with-code", where=one)
    write(one, "three.py", "3\n")
    memctl("sync", "--with-code", where=one)
    result = refused(memctl, two, "--with-code")
    assert "only with Git 2.38 or newer" in result.err


def test_accesses_counted_alike_on_both_sides_add_up(
    memctl: Memctl, one: Path, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one second, from one count, both files come to say the same; only the agents of the commits differ."""
    name = the(memctl, one, "Shared")
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-05T10:00:00Z")
    for clone, agent in ((one, "ann"), (two, "ben")):
        memctl("show", name, where=clone)
        monkeypatch.setenv("MEMCTL_AGENT", agent)
        memctl("maintain", where=clone)
    path = memctl("list", "--json", where=one).data["records"][0]["path"]
    assert (one / path).read_text() == (two / path).read_text()
    for _ in range(2):
        for clone in (one, two, one):
            memctl("sync", where=clone)
        for clone in (one, two):
            assert "\naccess_count: 2\n" in (clone / path).read_text()
            assert errors(memctl, clone) == []


def test_same_change_on_both_sides_is_not_reported(memctl: Memctl, one: Path, two: Path) -> None:
    record = memctl("show", the(memctl, one, "Base"), "--json", where=one).data["records"][0]
    write(two, "mine.txt", "else both clones would make one commit")
    for clone in (one, two):
        text = (clone / record["path"]).read_text()
        write(clone, record["path"], text.replace("Another line.", "The same line."))
    memctl("sync", "--with-code", where=one)
    assert "both sides" not in memctl("sync", "--with-code", where=two).out
    assert record["id"] not in git(two, "log", "-1", "--format=%B")
