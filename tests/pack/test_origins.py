"""Where records come from: the commits that brought their texts, and what became of the code they refer to since."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl.pack.budget_fill import FORMATS
from tests.conftest import Memctl, git, record_all

DECIDE = ("decide", "Keep it", "--rationale", "It has to be", "-i", "10", "--code", "app.py")
SAME, CHANGED = "code: app.py", "code: app.py (changed since)"
Story = Callable[[Path, Callable[[], str]], str]


def facts(memctl: Memctl, *args: str, where: Path | None = None) -> list[str]:
    """The line of facts of the one decision in a pack."""
    text = memctl("rehydrate", "--format", "markdown", *args, where=where).out
    return text.split("### Keep it\n")[1].split("\n")[1].split(" | ")


def head(repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD").strip()


def write_code(repo: Path, text: str) -> None:
    """Commit a text of the file that the decision refers to."""
    (repo / "app.py").write_text(f"x = {text}\n")
    git(repo, "commit", "-qam", f"code {text}")


def merge(repo: Path, *args: str) -> None:
    """Merge as memctl's driver for documents would: what both sides rendered is taken from ours."""
    git(repo, "merge", "-q", "--no-edit", "-X", "ours", *args)


def older_branch_with_new_code(repo: Path, decide: Callable[[], str]) -> str:
    git(repo, "branch", "side")
    made = decide()
    git(repo, "checkout", "-q", "side")
    write_code(repo, "2")
    git(repo, "checkout", "-q", "main")
    merge(repo, "side")
    return made


def main_into_an_older_branch_with_new_code(repo: Path, decide: Callable[[], str]) -> str:
    git(repo, "branch", "side")
    made = decide()
    git(repo, "checkout", "-q", "side")
    write_code(repo, "2")
    merge(repo, "main")
    return made


def branch_with_code_and_decision(repo: Path, decide: Callable[[], str]) -> str:
    git(repo, "checkout", "-q", "-b", "side")
    write_code(repo, "2")
    made = decide()
    git(repo, "checkout", "-q", "main")
    git(repo, "commit", "-q", "--allow-empty", "-m", "other work")
    merge(repo, "side")
    return made


def branch_that_changes_code_after_the_decision(repo: Path, decide: Callable[[], str]) -> str:
    git(repo, "checkout", "-q", "-b", "side")
    made = decide()
    write_code(repo, "2")
    git(repo, "checkout", "-q", "main")
    merge(repo, "--no-ff", "side")
    return made


def merge_without_a_move_of_main(repo: Path, decide: Callable[[], str]) -> str:
    git(repo, "checkout", "-q", "-b", "side")
    write_code(repo, "2")
    made = decide()
    git(repo, "checkout", "-q", "main")
    merge(repo, "--no-ff", "side")
    return made


def squash_merge(repo: Path, decide: Callable[[], str]) -> str:
    git(repo, "checkout", "-q", "-b", "side")
    decide()
    write_code(repo, "2")
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--squash", "side")
    git(repo, "commit", "-qm", "squashed")
    return head(repo)


def squash_merge_before_new_code(repo: Path, decide: Callable[[], str]) -> str:
    made = squash_merge(repo, decide)
    write_code(repo, "3")
    return made


def squash_merge_of_a_branch_that_is_merged_again(repo: Path, decide: Callable[[], str]) -> str:
    made = squash_merge(repo, decide)
    git(repo, "checkout", "-q", "side")
    (repo / "other.py").write_text("1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "more")
    git(repo, "checkout", "-q", "main")
    merge(repo, "side")
    return made


def rebase_onto_new_code(repo: Path, decide: Callable[[], str]) -> str:
    git(repo, "checkout", "-q", "-b", "side")
    decide()
    git(repo, "checkout", "-q", "main")
    write_code(repo, "2")
    git(repo, "checkout", "-q", "side")
    git(repo, "rebase", "-q", "main")
    return head(repo)


def cherry_pick_onto_new_code(repo: Path, decide: Callable[[], str]) -> str:
    git(repo, "checkout", "-q", "-b", "side")
    made = decide()
    git(repo, "checkout", "-q", "main")
    write_code(repo, "2")
    git(repo, "cherry-pick", made)
    return head(repo)


def revert_of_the_decision_and_back(repo: Path, decide: Callable[[], str]) -> str:
    decide()
    git(repo, "revert", "--no-edit", "HEAD")
    write_code(repo, "2")
    git(repo, "revert", "--no-edit", "HEAD~")
    made = head(repo)
    write_code(repo, "3")
    return made


def revert_of_the_code(repo: Path, decide: Callable[[], str]) -> str:
    made = decide()
    write_code(repo, "2")
    git(repo, "revert", "--no-edit", "HEAD")
    return made


def octopus_merge(repo: Path, decide: Callable[[], str]) -> str:
    for name in ("one", "two"):
        git(repo, "checkout", "-q", "-b", name, "main")
        (repo / name).write_text("1\n")
        git(repo, "add", name)
        git(repo, "commit", "-qm", name)
    git(repo, "checkout", "-q", "main")
    made = decide()
    git(repo, "checkout", "-q", "one")
    write_code(repo, "2")
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--no-edit", "one", "two")
    return made


def criss_cross_merges(repo: Path, decide: Callable[[], str]) -> str:
    git(repo, "branch", "side")
    made = decide()
    git(repo, "checkout", "-q", "side")
    write_code(repo, "2")
    before = head(repo)
    merge(repo, "main")
    git(repo, "checkout", "-q", "main")
    merge(repo, before)
    write_code(repo, "3")
    merge(repo, "side")
    return made


def merge_that_writes_the_record(repo: Path, decide: Callable[[], str]) -> str:
    git(repo, "branch", "side")
    decide()
    git(repo, "checkout", "-q", "side")
    write_code(repo, "2")
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--no-commit", "side")
    path = next((repo / ".memory/decisions").rglob("*.md"))
    path.write_text(path.read_text().replace("It has to be", "Both sides want it"))
    git(repo, "commit", "-qam", "Merge side")
    return head(repo)


def both_sides_with_the_same_text(repo: Path, decide: Callable[[], str]) -> str:
    git(repo, "branch", "side")
    made = decide()
    git(repo, "checkout", "-q", "side")
    write_code(repo, "2")
    git(repo, "cherry-pick", made)
    picked = head(repo)
    git(repo, "checkout", "-q", "main")
    merge(repo, "side")
    return picked


STORIES = [
    (older_branch_with_new_code, CHANGED),
    (main_into_an_older_branch_with_new_code, CHANGED),
    (branch_with_code_and_decision, SAME),
    (branch_that_changes_code_after_the_decision, CHANGED),
    (merge_without_a_move_of_main, SAME),
    (squash_merge, SAME),
    (squash_merge_before_new_code, CHANGED),
    (squash_merge_of_a_branch_that_is_merged_again, SAME),
    (rebase_onto_new_code, SAME),
    (cherry_pick_onto_new_code, SAME),
    (revert_of_the_decision_and_back, CHANGED),
    (revert_of_the_code, SAME),
    (octopus_merge, CHANGED),
    (criss_cross_merges, CHANGED),
    (merge_that_writes_the_record, SAME),
    (both_sides_with_the_same_text, SAME),
]


@pytest.mark.parametrize(("story", "code"), STORIES, ids=[story.__name__ for story, _ in STORIES])
def test_pack_and_log_name_the_last_commit_and_later_code_changes(
    memctl: Memctl, repo: Path, story: Story, code: str
) -> None:
    def decide() -> str:
        memctl(*DECIDE)
        return head(repo)

    made = story(repo, decide)
    assert facts(memctl)[-2:] == facts(memctl, "--at", "HEAD")[-2:] == [code, f"commit {made[:10]}"]
    logged = memctl("log", "DEC-2025-11-04-001", "--json").data["commits"]
    assert [commit["commit"] for commit in logged if commit["brought_text"]] == [made]


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_the_commit_and_the_change(memctl: Memctl, repo: Path, name: str) -> None:
    made: list[str] = []

    def decide() -> str:
        memctl(*DECIDE)
        made.append(head(repo)[:10])
        return ""

    older_branch_with_new_code(repo, decide)
    for text in (
        memctl("rehydrate", "--format", name).out,
        memctl("rehydrate", "--task", "keep it", "--format", name).out,
        memctl("prompt", "user", "Shall we keep it?", "--format", name).out,
    ):
        assert made[0] in text
        assert "app.py (changed since)" in text


def test_a_handoff_has_the_commit_and_the_change(memctl: Memctl, repo: Path) -> None:
    made: list[str] = []

    def decide() -> str:
        memctl("section", "add", "Payment", "--overview", "Cards")
        memctl(*DECIDE, "--section", "2.1")
        made.append(head(repo)[:10])
        return ""

    older_branch_with_new_code(repo, decide)
    first = ("--reason", "The schema is done", "--immediate", "Write the tests", "--success", "All tests pass")
    text = memctl("handoff", "--to", "codex", "--summary", "Cards are kept", *first, "-n").out
    assert made[0] in text
    assert text.count("app.py (changed since)") == 1


def test_the_log_marks_the_commit_of_the_text_below_one_of_counts(memctl: Memctl, repo: Path) -> None:
    made = memctl(*DECIDE).id
    commit = head(repo)[:10]
    assert "brought" not in memctl("log", made).out
    memctl("show", made)
    memctl("maintain")
    lines = memctl("log", made).out.split("\n")
    assert not lines[0].startswith(commit)
    at = next(number for number, line in enumerate(lines) if line.startswith(commit))
    assert lines[at + 2] == "    since this commit the record has its present text"
    assert facts(memctl)[-1] == f"commit {commit}"


def test_counts_folded_in_leave_code_changed_since(memctl: Memctl, repo: Path) -> None:
    made = memctl(*DECIDE).id
    write_code(repo, "2")
    memctl("show", made)
    memctl("maintain")
    assert facts(memctl)[-2] == CHANGED


def test_record_names_its_last_commit_and_the_state_of_its_code(memctl: Memctl, repo: Path) -> None:
    for name in ("same", "other", "gone"):
        (repo / f"{name}.py").write_text("x = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "code")
    options = ("--code", "same.py", "--code", "other.py:1", "--code", "gone.py", "--code", "never.py")
    made = memctl("decide", "Keep it", "-i", "10", *options).id
    first = head(repo)
    (repo / "other.py").write_text("x = 2\n")
    (repo / "gone.py").unlink()
    (repo / "never.py").write_text("new\n")
    assert facts(memctl)[-2:] == [
        "code: same.py, other.py:1 (changed since), gone.py (gone), never.py",
        f"commit {first[:10]}",
    ]
    assert facts(memctl, "--at", "HEAD")[-2] == "code: same.py, other.py:1, gone.py, never.py"
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "later")
    assert facts(memctl, "--at", "HEAD")[-2] == "code: same.py, other.py:1 (changed since), gone.py (gone), never.py"
    memctl("edit", made, "--set", "importance=9")
    assert facts(memctl)[-1] == f"commit {head(repo)[:10]}"
    assert facts(memctl)[-2] == "code: same.py, other.py:1, gone.py, never.py"


def test_folder_of_a_record_that_was_renamed_or_deleted_is_marked(memctl: Memctl, repo: Path) -> None:
    (repo / "lib").mkdir()
    (repo / "lib" / "card.py").write_text("x = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "code")
    memctl("decide", "Keep it", "-i", "10", "--code", "lib/", "--code", "lib", "--rationale", "x")
    assert facts(memctl)[-2] == "code: lib/, lib"
    git(repo, "mv", "lib", "core")
    assert facts(memctl)[-2] == "code: lib/ (now core/), lib (now core)"
    git(repo, "commit", "-qm", "another name")
    assert facts(memctl)[-2] == "code: lib/ (now core/), lib (now core)"
    git(repo, "rm", "-rq", "core")
    git(repo, "commit", "-qm", "gone")
    assert facts(memctl)[-2] == "code: lib/ (gone), lib (gone)"


@pytest.mark.parametrize("budget", [400, 600, 1_000, 20_000])
def test_important_record_whose_file_changed_keeps_its_place(memctl: Memctl, repo: Path, budget: int) -> None:
    (repo / "pay.py").write_text("x = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "code")
    memctl("decide", "Round up", "-i", "9", "--code", "pay.py", "--rationale", "Half a cent is lost otherwise. " * 3)
    record_all(memctl, "issue", [f"Old bug {number}" for number in range(15)], severity="high", description="Text.")
    fresh = memctl("rehydrate", "--budget", str(budget)).out
    (repo / "pay.py").write_text("x = 2\n")
    changed = memctl("rehydrate", "--budget", str(budget)).out
    assert "pay.py (changed since)" in changed
    assert changed.index("Round up") == fresh.index("Round up")
    assert "## Check before use" not in changed


def test_records_whose_code_is_gone_come_last_under_their_own_heading(memctl: Memctl, repo: Path) -> None:
    (repo / "pay.py").write_text("x = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "code")
    memctl("decide", "Round up", "-i", "10", "--code", "pay.py", "--rationale", "x")
    memctl("decide", "Use cents", "-i", "7", "--rationale", "x")
    assert "## Check before use" not in memctl("rehydrate").out
    (repo / "pay.py").unlink()
    for form, heading in {
        "markdown": "## Check before use",
        "xml": "<check_before_use>",
        "event": "<check_before_use>",
        "yaml": "CHECK BEFORE USE:",
        "tokens": "CHECK BEFORE USE:",
    }.items():
        text = memctl("rehydrate", "--format", form).out
        assert text.index("Use cents") < text.index(heading) < text.index("Round up"), form


def test_a_proposed_decision_is_not_first(memctl: Memctl) -> None:
    memctl("decide", "Maybe", "-i", "10", "--status", "proposed", "--rationale", "refunds")
    memctl("decide", "Surely", "-i", "7", "--rationale", "refunds")
    for options in ((), ("--task", "refunds"), ("--since", "2020-01-01")):
        text = memctl("rehydrate", *options).out
        assert text.index("### Surely") < text.index("### Maybe"), options


def test_a_record_without_a_commit_says_so(memctl: Memctl) -> None:
    memctl("decide", "Keep it", "-i", "10", "--no-commit")
    assert facts(memctl)[-1] == "commit none yet"


def test_a_record_with_an_uncommitted_change_says_so_beside_its_commit(memctl: Memctl, repo: Path) -> None:
    made = memctl(*DECIDE).id
    commit = head(repo)[:10]
    memctl("edit", made, "--set", "importance=9", "--no-commit")
    assert facts(memctl)[-1] == f"commit {commit} (edited since)"


def test_a_shallow_clone_says_that_the_commit_may_be_an_earlier_one(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    memctl(*DECIDE)
    write_code(repo, "2")
    end = head(repo)
    write_code(repo, "3")
    git(tmp_path, "clone", "-q", "--depth", "2", f"file://{repo}", "clone")
    assert facts(memctl, where=tmp_path / "clone")[-2:] == [
        CHANGED,
        f"commit {end[:10]} or earlier (this clone is shallow)",
    ]


@pytest.mark.parametrize(
    ("filtered", "expected"),
    [("blob:none", [CHANGED, "commit {}"]), ("tree:0", [SAME, "commit unknown: Git can't read the history here"])],
)
def test_partial_clone_without_its_remote_names_the_known_commit(
    memctl: Memctl, repo: Path, tmp_path: Path, filtered: str, expected: list[str]
) -> None:
    memctl(*DECIDE)
    made = head(repo)[:10]
    write_code(repo, "2")
    shutil.copytree(repo, tmp_path / "origin")
    git(tmp_path / "origin", "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", f"--filter={filtered}", f"file://{tmp_path}/origin", "clone")
    (tmp_path / "origin").rename(tmp_path / "away")
    assert facts(memctl, where=tmp_path / "clone")[-2:] == [part.format(made) for part in expected]


SOURCE = (
    "import os\n\n\ndef load(path):\n    text = read(path)\n    return text\n\n\ndef save(path):\n    write(path)\n"
)


def code_fact(memctl: Memctl, *args: str) -> str:
    return facts(memctl, *args)[-2]


@pytest.fixture
def sessions(memctl: Memctl, repo: Path) -> Path:
    """A file to whose fifth line the one decision refers."""
    file = repo / "sessions.py"
    file.write_text(SOURCE)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "sessions")
    memctl("decide", "Keep it", "-i", "10", "--rationale", "x", "--code", "sessions.py:5")
    return file


def test_renamed_file_is_followed_before_and_after_the_commit(memctl: Memctl, repo: Path, sessions: Path) -> None:
    git(repo, "mv", sessions.name, "sess.py")
    moved = "code: sessions.py:5 (now sess.py)"
    assert code_fact(memctl) == moved
    git(repo, "commit", "-qm", "rename")
    assert code_fact(memctl) == moved
    assert code_fact(memctl, "--at", "HEAD") == moved
    assert "## Check before use" not in memctl("rehydrate").out
    git(repo, "mv", "sess.py", "store.py")
    assert code_fact(memctl) == "code: sessions.py:5 (now store.py)"
    assert "Keep it" in memctl("why", "store.py").out
    (repo / "store.py").write_text(SOURCE.replace("text = read(path)", "text = fetch(path)"))
    assert code_fact(memctl) == "code: sessions.py:5 (now store.py, changed since)"
    (repo / "store.py").unlink()
    git(repo, "rm", "-q", "--cached", "store.py")
    assert code_fact(memctl) == "code: sessions.py:5 (gone)"


def test_file_that_was_edited_before_each_rename_is_followed(memctl: Memctl, repo: Path, sessions: Path) -> None:
    """Comparing only the first and last version would find no rename."""
    git(repo, "rm", "-q", sessions.name)
    git(repo, "commit", "-qm", "gone for a while")
    sessions.write_text("".join(f"number_{line} = {line}\n" for line in range(20)))
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "rewritten")
    git(repo, "mv", sessions.name, "sess.py")
    git(repo, "commit", "-qm", "rename")
    assert code_fact(memctl) == "code: sessions.py:5 (now sess.py, changed since)"
    (repo / "sess.py").write_text("".join(f"print({line})\n" for line in range(20)))
    git(repo, "commit", "-qam", "rewritten again")
    git(repo, "mv", "sess.py", "store.py")
    assert code_fact(memctl) == "code: sessions.py:5 (now store.py, changed since)"
    git(repo, "commit", "-qm", "rename again")
    assert code_fact(memctl) == "code: sessions.py:5 (now store.py, changed since)"
    git(repo, "rm", "-q", "store.py")
    git(repo, "commit", "-qm", "gone")
    assert code_fact(memctl) == "code: sessions.py:5 (gone)"


@pytest.mark.parametrize(
    ("text", "is_changed"),
    [
        (f"{SOURCE}# the end\n", False),
        (f'"""Sessions."""\n{SOURCE}', False),
        (SOURCE.replace("write(path)", "write(path, 1)"), False),
        (SOURCE.replace("read(path)", "fetch(path)"), True),
        (SOURCE.replace("return text", "return text.strip()"), True),
        (SOURCE.replace("def load(path)", "def load(path, size)"), True),
    ],
    ids=["end", "beginning", "other definition", "line", "definition", "signature"],
)
def test_reference_to_a_line_looks_at_the_line_and_its_definition(
    memctl: Memctl, repo: Path, sessions: Path, text: str, is_changed: bool
) -> None:
    sessions.write_text(text)
    expected = f"code: sessions.py:5{' (changed since)' if is_changed else ''}"
    assert code_fact(memctl) == expected
    git(repo, "commit", "-qam", "edit")
    assert code_fact(memctl) == code_fact(memctl, "--at", "HEAD") == expected
