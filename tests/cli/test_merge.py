"""The merge driver under Git itself: merge, rebase, cherry-pick, renames, criss-cross."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from memctl.write import merge
from tests.conftest import Memctl, git

RECORDS = ("decisions", "issues", "states", "learnings", "sections", "details")
ATTRIBUTES = "".join(f"{folder}/** merge=memctl-record\n" for folder in RECORDS)


@pytest.fixture
def driven(repo: Path) -> Path:
    """The repository with memctl as merge driver."""
    (repo / ".memory" / ".gitattributes").write_text(ATTRIBUTES + "docs/** merge=memctl-docs\n")
    for kind in ("record", "docs"):
        driver = f"{sys.executable} -m memctl merge-file {kind} %O %A %B %P"
        git(repo, "config", f"merge.memctl-{kind}.driver", driver)
    commit(repo, "attributes")
    return repo


def commit(repo: Path, message: str) -> str:
    """Commit everything and return the commit."""
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", message)
    return git(repo, "rev-parse", "HEAD").strip()


def on(repo: Path, branch: str, start: str = "main") -> None:
    """Go to a branch, made at `start` if it is new."""
    known = git(repo, "for-each-ref", f"refs/heads/{branch}")
    git(repo, "switch", "-q", *((branch,) if known else ("-c", branch, start)))


def decide(file: Path, against: str) -> None:
    """Resolve the one conflict in a file: take the markers and the losing line out."""
    out = ("<<<", "===", ">>>", against)
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if not line.startswith(out)))


def record(memctl: Memctl, identifier: str) -> dict[str, object]:
    found: dict[str, object] = memctl("show", identifier, "--json").data["records"][0]
    return found


def clean(repo: Path) -> bool:
    return git(repo, "status", "--porcelain") == ""


def test_two_branches_link_the_same_decision(driven: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Shared").id
    on(driven, "side")
    one = memctl("issue", "Side", "--relates-to", made).id
    on(driven, "main")
    other = memctl("issue", "Main", "--relates-to", made).id
    git(driven, "merge", "-q", "side", "-m", "both")
    assert record(memctl, made)["relates_to"] == [other, one]
    assert clean(driven)
    assert memctl("status", "--json").data["uncommitted"] == []


def test_two_branches_change_tags_counts_and_next_actions_of_one_state(driven: Path, memctl: Memctl) -> None:
    made = memctl("state", "Task", "--next", "first", "--next", "second", "--tag", "x").id
    on(driven, "side")
    memctl("edit", made, "--add", "next=side", "--remove", "next=first", "--add", "tags=s", "--set", "importance=8")
    on(driven, "main")
    memctl("edit", made, "--add", "next=main", "--add", "tags=m", "--set", "title=Better")
    git(driven, "merge", "-q", "side", "-m", "both")
    found = record(memctl, made)
    assert found["content"] == {"next_actions": ["second", "main", "side"]}
    assert (found["tags"], found["importance"], found["title"]) == (["x", "m", "s"], 8, "Better")


def test_record_archived_on_one_branch_and_edited_on_another_is_merged(driven: Path, memctl: Memctl) -> None:
    made = memctl("issue", "Broken", "--next", "look").id
    on(driven, "side")
    memctl("archive", made)
    on(driven, "main")
    memctl("edit", made, "--set", "status=in-progress", "--add", "next=mend", "--add", "tags=t")
    git(driven, "merge", "-q", "side", "-m", "both")
    found = record(memctl, made)
    assert (found["is_archived"], found["status"], found["tags"]) == (True, "in-progress", ["t"])
    assert found["content"] == {"next_actions": ["look", "mend"]}


def test_further_status_wins_and_git_shows_the_lost_one(driven: Path, memctl: Memctl) -> None:
    made = memctl("issue", "Broken")
    on(driven, "side")
    memctl("resolve", made.id, "--resolution", "Mended.")
    on(driven, "main")
    memctl("edit", made.id, "--set", "status=in-progress")
    ours, base, theirs = (git(driven, "show", f"{rev}:{made.out.split()[1]}") for rev in ("main", "main~", "side"))
    for name, text in (("o", base), ("a", ours), ("b", theirs)):
        (driven / name).write_text(text)
    files = [str(driven / name) for name in "oab"]
    assert (
        memctl("merge-file", "record", *files, "x.md").err
        == "note: x.md: status is now resolved, and no longer in-progress\n"
    )
    git(driven, "merge", "-q", "side", "-m", "both")
    assert (driven / made.out.split()[1]).read_text() == (driven / "a").read_text()
    assert record(memctl, made.id)["status"] == "resolved"


def test_true_conflict_is_left_to_a_person(driven: Path, memctl: Memctl) -> None:
    made = memctl("state", "Task", "--tag", "x")
    on(driven, "side")
    memctl("edit", made.id, "--set", "title=Side", "--add", "tags=s")
    on(driven, "main")
    memctl("edit", made.id, "--set", "title=Main", "--add", "tags=m")
    assert "CONFLICT" in git(driven, "merge", "side", "-m", "both", check=False)
    file = driven / made.out.split()[1]
    assert "<<<<<<< ours\ntitle: Main\n=======\ntitle: Side\n>>>>>>> theirs\n" in file.read_text()
    assert "unresolved merge conflict" in memctl("show", made.id, code=1).err + memctl("list", code=1).err
    decide(file, against="title: Side")
    commit(driven, "both")
    assert (record(memctl, made.id)["title"], record(memctl, made.id)["tags"]) == ("Main", ["x", "m", "s"])


def test_rebase_merges_records_by_field(driven: Path, memctl: Memctl) -> None:
    made = memctl("state", "Task", "--next", "first", "--tag", "x").id
    on(driven, "side")
    for tag in "ab":
        memctl("edit", made, "--add", f"tags={tag}", "--add", f"next={tag}")
    on(driven, "main")
    memctl("edit", made, "--add", "tags=m", "--remove", "next=first")
    on(driven, "side")
    git(driven, "rebase", "-q", "main")
    assert record(memctl, made)["tags"] == ["x", "m", "a", "b"]
    assert record(memctl, made)["content"] == {"next_actions": ["a", "b"]}
    assert git(driven, "rev-list", "--count", "main..side").strip() == "2"


def test_cherry_picked_change_is_merged_only_once(driven: Path, memctl: Memctl) -> None:
    made = memctl("state", "Task", "--tag", "x").id
    on(driven, "side")
    memctl("edit", made, "--add", "tags=a", "--add", "next=a")
    memctl("edit", made, "--add", "tags=b", "--add", "next=b")
    on(driven, "main")
    memctl("edit", made, "--add", "tags=m", "--add", "next=m")
    git(driven, "cherry-pick", "side")
    assert record(memctl, made)["tags"] == ["x", "m", "b"]
    git(driven, "merge", "-q", "side", "-m", "both")
    assert record(memctl, made)["tags"] == ["x", "m", "b", "a"]
    assert record(memctl, made)["content"] == {"next_actions": ["m", "b", "a"]}


def test_renamed_record_is_merged_at_its_new_path(driven: Path, memctl: Memctl) -> None:
    made = memctl("state", "Task", "--tag", "x", "--task", "A long text. " * 20)
    old = made.out.split()[1]
    new = old.replace("-task", "-renamed")
    on(driven, "side")
    git(driven, "mv", old, new)
    commit(driven, "rename")
    memctl("edit", made.id, "--add", "tags=s")
    on(driven, "main")
    memctl("edit", made.id, "--add", "tags=m")
    git(driven, "merge", "-q", "side", "-m", "both")
    assert not (driven / old).exists()
    assert record(memctl, made.id)["tags"] == ["x", "m", "s"]


@pytest.mark.parametrize("conflicting", [False, True])
def test_branches_that_merged_each_other_can_merge_again(driven: Path, memctl: Memctl, conflicting: bool) -> None:
    """A criss-cross: Git first merges the two bases, with markers left in the result if they conflict."""
    made = memctl("state", "Task", "--tag", "x")
    file = driven / made.out.split()[1]
    for branch in ("one", "two"):
        on(driven, branch)
        title = ("--set", f"title={branch}") if conflicting else ()
        memctl("edit", made.id, "--add", f"tags={branch}", *title)
        git(driven, "tag", f"first-{branch}")
    for branch, other in (("one", "two"), ("two", "one")):
        on(driven, branch)
        git(driven, "merge", "-q", f"first-{other}", "-m", "cross", check=False)
        if conflicting:
            decide(file, against="title: two")
            commit(driven, "cross")
        memctl("edit", made.id, "--add", f"next={branch}", "--add", f"tags={branch}-again")
    assert len(git(driven, "merge-base", "--all", "one", "two").split()) == 2
    git(driven, "merge", "-q", "one", "-m", "again")
    found = record(memctl, made.id)
    assert sorted(found["tags"]) == ["one", "one-again", "two", "two-again", "x"]  # type: ignore[call-overload]
    assert found["content"] == {"next_actions": ["two", "one"]}
    assert found["title"] == ("one" if conflicting else "Task")


def test_page_added_on_both_sides_is_merged(driven: Path) -> None:
    page = driven / ".memory" / "sections" / "2.1-architecture.md"
    page.parent.mkdir()
    for branch in ("side", "main"):
        on(driven, branch)
        text = f"## Next actions\n\n- {branch}\n"
        page.parent.mkdir(exist_ok=True)
        page.write_text(f"---\nid: §2.1\ntitle: Architecture\npaths: [src/{branch}/**]\n---\n\n{text}")
        commit(driven, branch)
    git(driven, "merge", "-q", "side", "-m", "both")
    expected = 'paths:\n  - "src/main/**"\n  - "src/side/**"\n---\n\n## Next actions\n\n- main\n- side\n'
    assert page.read_text() == f"---\nid: §2.1\ntitle: Architecture\n{expected}"


def test_merge_of_a_rendered_document_keeps_ours(driven: Path) -> None:
    document = driven / ".memory" / "docs" / "INDEX.md"
    for branch in ("side", "main"):
        on(driven, branch)
        document.parent.mkdir(exist_ok=True)
        document.write_text(f"{branch}\n")
        commit(driven, branch)
    git(driven, "merge", "-q", "side", "-m", "both")
    assert document.read_text() == "main\n"


def versions(folder: Path, *texts: bytes) -> list[str]:
    for name, text in zip("oab", texts, strict=True):
        (folder / name).write_bytes(text)
    return [str(folder / name) for name in "oab"]


def test_binary_record_stays_ours_and_is_a_conflict(tmp_path: Path, memctl: Memctl) -> None:
    files = versions(tmp_path, b"a\0", b"b\0", b"c\0")
    assert "binary" in memctl("merge-file", "record", *files, "x.md", code=1).err
    assert (tmp_path / "a").read_bytes() == b"b\0"


def test_bytes_and_line_ends_survive(tmp_path: Path, memctl: Memctl) -> None:
    files = versions(tmp_path, b"\xff\r\na\r\nb\r\nc\r\n", b"\xff\r\nA\r\nb\r\nc\r\n", b"\xff\na\nb\nC\n")
    memctl("merge-file", "record", *files, "x.md")
    assert (tmp_path / "a").read_bytes() == b"\xff\r\nA\r\nb\r\nC\r\n"


def test_failing_record_merge_falls_back_to_plain_lines(
    tmp_path: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge, "_merge", None)  # calling it is an error
    for theirs, code, found in ((b"a\nb\nC\n", 0, b"A\nb\nC\n"), (b"x\nb\nc\n", 1, None)):
        files = versions(tmp_path, b"a\nb\nc\n", b"A\nb\nc\n", theirs)
        assert "merged line by line" in memctl("merge-file", "record", *files, "x.md", code=code).err
        expected = found or b"<<<<<<< ours\nA\n=======\nx\n>>>>>>> theirs\nb\nc\n"
        assert (tmp_path / "a").read_bytes() == expected


def test_missing_merge_version_is_a_conflict(tmp_path: Path, memctl: Memctl) -> None:
    files = versions(tmp_path, b"", b"a", b"b")
    (tmp_path / "o").unlink()
    assert "No such file" in memctl("merge-file", "record", *files, "x.md", code=1).err
    assert (tmp_path / "a").read_bytes() == b"a"


def test_the_users_conflict_style_changes_nothing(
    tmp_path: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("COUNT", "1"), ("KEY_0", "merge.conflictStyle"), ("VALUE_0", "diff3")):
        monkeypatch.setenv(f"GIT_CONFIG_{name}", value)
    memctl("merge-file", "record", *versions(tmp_path, b"a\n", b"b\n", b"c\n"), "x.md", code=1)
    assert (tmp_path / "a").read_bytes() == b"<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n"
