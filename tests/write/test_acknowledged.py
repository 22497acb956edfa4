"""What memctl has said it wrote stays: what Git takes back before it has a commit is kept, said, and written again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.conftest import Memctl, copied, git, strides
from tests.write.test_mishaps import hook
from tests.write.test_transaction import run_until, steps_of

EDITED, DELETED = "LRN-2025-11-04-001", "LRN-2025-11-04-002"
CREATED = "LRN-2025-11-04-004"
TEXT = "Pay twice. Never thrice. Ask first."
FORMATTER = """
[ -e {repo}/.git/refuse ] && exit 1
for file in $(git diff --cached --name-only --diff-filter=AM -- .memory/learnings); do
    sed -i 's/[.] /.\\n/g' "$file"; git add "$file"
done"""

STOPPED = {
    "rebase": ("rebase", "main"),
    "merge": ("merge", "main"),
    "cherry-pick": ("cherry-pick", "main"),
}
TAKEN_BACK = {  # what each takes back of an edit, a delete and a create
    ("rebase", "--abort"): "edit delete",
    ("merge", "--abort"): "",
    ("cherry-pick", "--abort"): "",
    ("reset", "--hard", "-q"): "edit delete",
    ("stash", "-q"): "edit delete",
    ("checkout", "-q", "--", "."): "edit delete",
}


SETTINGS = ("plain", "formatter", "autocrlf")


def in_turn(name: str, values: Iterable[Any]) -> pytest.MarkDecorator:
    """Each value in one of the settings, another than the value before it; in slow tests each in all of them."""
    cases = [
        pytest.param(
            setting,
            value,
            id=f"{setting}-{value if isinstance(value, str) else ' '.join(value)}",
            marks=[] if number % len(SETTINGS) == place else pytest.mark.slow,
        )
        for number, value in enumerate(values)
        for place, setting in enumerate(SETTINGS)
    ]
    return pytest.mark.parametrize(("setting", name), cases, indirect=["setting"])


@pytest.fixture(params=SETTINGS)
def setting(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def parted(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with three records, and a branch `side` that conflicts with `main` in a file of code."""
    from memctl.cli.main import main

    folder = tmp_path_factory.mktemp("parted") / "shop"
    shutil.copytree(built, folder, symlinks=True)
    patch = pytest.MonkeyPatch()
    for name, value in {"MEMCTL_NOW": "2025-11-04T14:32:00Z", "MEMCTL_AGENT": "claude"}.items():
        patch.setenv(name, value)
    for title in ("Edited", "Deleted", "Other"):
        assert main(["-C", str(folder), "learn", title, "--lesson", f"The old text of {title.lower()}"]) == 0
    patch.undo()
    git(folder, "switch", "-qc", "side")
    (folder / "app.py").write_text("print('side')\n")
    git(folder, "commit", "-qam", "side")
    git(folder, "switch", "-q", "main")
    (folder / "app.py").write_text("print('main')\n")
    git(folder, "commit", "-qam", "main")
    git(folder, "switch", "-q", "side")
    return folder


@pytest.fixture
def shop(parted: Path, tmp_path: Path, setting: str) -> Path:
    """A copy of it, plain, with a formatter among its hooks, or with CR LF on the disk."""
    folder = copied(parted, tmp_path / "shop")
    if setting == "formatter":
        hook(folder, "pre-commit", FORMATTER.format(repo=folder))
    if setting == "autocrlf":
        git(folder, "config", "core.autocrlf", "true")
        shutil.rmtree(folder / ".memory")
        git(folder, "checkout", "-q", "--", ".memory")
        assert b"\r\n" in (folder / ".memory" / "config.yaml").read_bytes()
    return folder


@pytest.fixture
def repo(shop: Path) -> Path:
    return shop


def change(memctl: Memctl, *options: str) -> None:
    """Edit a record, delete another, and create one: none of the three gets a commit."""
    memctl("edit", EDITED, "--set", f"lesson={TEXT}", *options)
    memctl("delete", DELETED, *options)
    assert memctl("learn", "Created", "--lesson", TEXT, *options).id == CREATED


def undone(memctl: Memctl) -> list[str]:
    return [one["op"] for one in memctl("status", "--json").data["pending"] if one["undone"]]


def assert_all_is_there(repo: Path, memctl: Memctl) -> None:
    """All three changes are in commits of their own, once, and nothing is said to wait."""
    assert memctl("status", "--json").data["pending"] == []
    assert memctl("commit").err == "nothing is pending\n"
    for identifier in (EDITED, CREATED):
        assert TEXT in " ".join(memctl("show", identifier).out.split())
    assert DELETED not in memctl("list").out
    assert git(repo, "status", "--porcelain", "--", ".memory") == ""


def assert_one_commit_each(repo: Path) -> None:
    subjects = git(repo, "log", "--format=%s").splitlines()
    for words in (f"edit {EDITED}", f"delete {DELETED}", f"learn {CREATED}"):
        assert sum(words in subject for subject in subjects) == 1, words


@pytest.mark.parametrize("setting", ["plain"], indirect=True)
def test_reads_warn_of_changes_undone_by_git(repo: Path, memctl: Memctl) -> None:
    change(memctl, "--no-commit")
    reads = (["list"], ["search", "text"], ["show", EDITED], ["rehydrate"], ["list", "--json"])
    assert not [read for read in reads if memctl(*read).err]
    git(repo, "reset", "--hard", "-q")
    for read in reads:
        remark = (
            f"warning: the edit of {EDITED} and 1 more were undone outside memctl; `memctl commit --again` writes them"
        )
        assert memctl(*read).err.startswith(remark), read
    assert memctl("list", "--at", "HEAD").err == ""
    memctl("commit", "--drop")
    assert memctl("list").err == ""


@in_turn("command", TAKEN_BACK)
def test_change_taken_back_by_git_is_reported_once_and_written_again(
    repo: Path, memctl: Memctl, setting: str, command: tuple[str, ...]
) -> None:
    if command[0] in STOPPED:
        git(repo, *STOPPED[command[0]], check=False)
        change(memctl)
    elif setting == "formatter":
        (repo / ".git" / "refuse").touch()
        change(memctl)
        (repo / ".git" / "refuse").unlink()
    else:
        change(memctl, "--no-commit")
    git(repo, *command)
    taken = TAKEN_BACK[command].split()
    assert undone(memctl) == taken
    assert memctl("show", EDITED).err.count("undone outside memctl") == bool(taken)
    said = memctl("issue", "The next write").err
    assert said.count("undone outside memctl") == len(taken)
    assert memctl("issue", "The one after").err.count("undone outside memctl") == 0
    assert undone(memctl) == taken
    assert memctl("commit", code=1 if taken else 0).err.count("undone outside memctl") == len(taken)
    if taken:
        memctl("commit", "--again")
    assert_all_is_there(repo, memctl)
    assert_one_commit_each(repo)


NORMAL: dict[str, Callable[[Path, Memctl], None]] = {}


def normal(function: Callable[[Path, Memctl], None]) -> Callable[[Path, Memctl], None]:
    NORMAL[function.__name__] = function
    return function


@normal
def rebase_continued(repo: Path, memctl: Memctl) -> None:
    git(repo, "rebase", "main", check=False)
    change(memctl)
    (repo / "app.py").write_text("print('both')\n")
    git(repo, "add", "app.py")
    git(repo, "stash", "-q", "--", ".memory")  # Git goes on with no rebase while tracked files are changed
    git(repo, "-c", "core.editor=true", "rebase", "--continue")
    git(repo, "stash", "pop", "-q")


@normal
def rebase_with_autostash(repo: Path, memctl: Memctl) -> None:
    git(repo, "checkout", "-q", "main", "--", "app.py")
    git(repo, "commit", "-qm", "as main has it")
    change(memctl, "--no-commit")
    git(repo, "rebase", "-q", "--autostash", "-X", "theirs", "main")


@normal
def stash_and_pop(repo: Path, memctl: Memctl) -> None:
    change(memctl, "--no-commit")
    git(repo, "stash", "-qu")
    assert undone(memctl) == ["edit", "delete", "learn"]
    memctl("issue", "In between")
    git(repo, "stash", "pop", "-q")


@normal
def another_branch(repo: Path, memctl: Memctl) -> None:
    change(memctl, "--no-commit")
    git(repo, "switch", "-qc", "third")


@normal
def edits_by_hand_on_top(repo: Path, memctl: Memctl) -> None:
    change(memctl, "--no-commit")
    file = next((repo / ".memory" / "learnings").rglob(f"{EDITED}*"))
    file.write_bytes(file.read_bytes() + b"\n## Note\n\nMore by hand.\n")


@in_turn("course", NORMAL)
def test_pending_change_still_present_is_committed_without_a_warning(repo: Path, memctl: Memctl, course: str) -> None:
    NORMAL[course](repo, memctl)
    assert undone(memctl) == []
    assert "undone" not in memctl("commit").err
    assert_all_is_there(repo, memctl)
    assert_one_commit_each(repo)


def commit_with_git(repo: Path) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "by hand")


def test_change_committed_by_the_user_is_done(repo: Path, memctl: Memctl) -> None:
    change(memctl, "--no-commit")
    commit_with_git(repo)
    assert_all_is_there(repo, memctl)


def test_change_included_in_the_users_rebase_is_done(repo: Path, memctl: Memctl) -> None:
    git(repo, "rebase", "main", check=False)
    change(memctl)
    (repo / "app.py").write_text("print('both')\n")
    git(repo, "add", "-A")
    git(repo, "-c", "core.editor=true", "rebase", "--continue")
    assert_all_is_there(repo, memctl)


def test_rebase_continues_with_a_new_record_that_waits(repo: Path, memctl: Memctl) -> None:
    git(repo, "rebase", "main", check=False)
    made = memctl("learn", "New", "--lesson", "Recorded while the rebase is stopped.")
    assert "a rebase is under way" in made.err
    assert "git stash" not in made.err
    (repo / "app.py").write_text("print('both')\n")
    git(repo, "add", "app.py")
    git(repo, "-c", "core.editor=true", "rebase", "--continue")
    memctl("commit")
    assert git(repo, "status", "--porcelain") == ""
    assert memctl("check", code=0).err.endswith("nothing found\n")


def test_bisection_goes_on_with_a_new_record_that_waits(repo: Path, memctl: Memctl) -> None:
    git(repo, "bisect", "start", "HEAD", "HEAD~2")
    assert "a bisection is under way" in memctl("learn", "New", "--lesson", "Recorded during the bisection.").err
    git(repo, "bisect", "good")
    git(repo, "bisect", "reset")
    memctl("commit")
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.parametrize("is_first", [True, False], ids=["alone", "after-a-new-record"])
def test_edit_that_stops_a_rebase_is_answered_with_the_way_on(repo: Path, memctl: Memctl, is_first: bool) -> None:
    git(repo, "rebase", "main", check=False)
    if not is_first:
        memctl("learn", "New", "--lesson", "Recorded while the rebase is stopped.")
    err = memctl("edit", EDITED, "--set", "importance=9").err
    assert "if Git refuses to continue because of this change, run `git stash push .memory` before" in err


@pytest.mark.parametrize("later", [("switch", "-q", "main"), ("revert", "--no-edit", "HEAD")], ids=" ".join)
def test_change_committed_and_left_by_the_user_gives_no_warning(
    repo: Path, memctl: Memctl, later: tuple[str, ...]
) -> None:
    change(memctl, "--no-commit")
    commit_with_git(repo)
    git(repo, *later)
    assert "undone" not in memctl("issue", "Next").err
    assert memctl("status", "--json").data["pending"] == []


@pytest.mark.parametrize("setting", ["plain"], indirect=True)
class TestAlone:
    """What has nothing to do with formatters and line ends."""

    def test_record_deleted_during_a_rebase_returns_and_is_reported(self, repo: Path, memctl: Memctl) -> None:
        memctl("edit", DELETED, "--set", "importance=9")
        git(repo, "rebase", "main", check=False)
        memctl("delete", DELETED)
        git(repo, "rebase", "--skip")
        assert DELETED in memctl("list").out
        assert f"the delete of {DELETED} was undone outside memctl" in memctl("issue", "Next").err
        refused = memctl("commit", "--again", code=1).err
        assert "+importance: 9" in refused
        memctl("delete", DELETED)
        assert undone(memctl) == []

    def test_a_long_history_is_read_by_as_few_processes_as_a_short_one(
        self, repo: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memctl("edit", EDITED, "--set", f"lesson={TEXT}", "--no-commit")
        git(repo, "checkout", "-q", "--", ".")
        file = next((repo / ".memory/learnings").rglob(f"{EDITED}*"))
        counts = []
        for number in range(12):
            file.write_text(f"{file.read_text()}\nOther text, number {number}\n")
            git(repo, "commit", "-qam", f"{number}")
            if number in (1, 11):
                monkeypatch.setenv("GIT_TRACE", str(tmp_path / f"{number}"))
                assert undone(memctl) == ["edit"]
                monkeypatch.delenv("GIT_TRACE")
                counts.append((tmp_path / f"{number}").read_text().count("trace: built-in: git"))
        assert counts[0] == counts[1] > 0

    def test_record_changed_by_a_git_filter_is_recognized_as_committed(self, repo: Path, memctl: Memctl) -> None:
        (repo / ".git/info/attributes").write_text(f"{CREATED}* filter=turned\n")
        for direction in ("clean", "smudge"):
            git(repo, "config", f"filter.turned.{direction}", "tr a-z n-za-m")
        memctl("learn", "Created", "--lesson", TEXT, "--no-commit")
        commit_with_git(repo)
        git(repo, "switch", "-q", "main")
        assert memctl("status", "--json").data["pending"] == []

    def test_ids_choose_the_changes_to_write_again_or_drop(self, repo: Path, memctl: Memctl) -> None:
        change(memctl, "--no-commit")
        git(repo, "checkout", "-q", "--", ".")
        before = git(repo, "rev-parse", "HEAD")
        assert memctl("commit", "--again", "-n", EDITED).out == f"would write again: edit {EDITED} (lesson) Edited\n"
        assert memctl("commit", "--drop", "-n").out.count("would drop") == 2
        assert git(repo, "rev-parse", "HEAD") == before
        assert undone(memctl) == ["edit", "delete"]
        assert "no change of LRN-2025-11-04-003" in memctl("commit", "--again", "LRN-2025-11-04-003", code=1).err
        memctl("commit", "--again", EDITED)
        assert memctl("commit", "--drop", DELETED).out == f"dropped: delete {DELETED} Deleted\n"
        assert undone(memctl) == []
        assert TEXT in memctl("show", EDITED).out
        assert DELETED in memctl("list").out
        assert memctl("commit", "--drop").err == "no change was undone outside memctl\n"
        for wrong in (("--again", "--drop"), (EDITED,)):
            memctl("commit", *wrong, code=2)

    def test_change_written_again_keeps_a_later_edit(self, repo: Path, memctl: Memctl) -> None:
        memctl("edit", EDITED, "--set", f"lesson={TEXT}", "--no-commit")
        git(repo, "reset", "--hard", "-q")
        memctl("edit", EDITED, "--set", "importance=9")
        assert undone(memctl) == ["edit"]
        memctl("commit", "--again")
        found = memctl("show", EDITED).out
        assert TEXT in found
        assert "importance: 9" in found

    def test_unmergeable_change_is_refused_with_both_texts(self, repo: Path, memctl: Memctl) -> None:
        change(memctl, "--no-commit")
        git(repo, "stash", "-q")
        file = next((repo / ".memory" / "learnings").rglob(f"{EDITED}*"))
        file.write_text(file.read_text().replace("The old text of edited", "What a colleague wrote"))
        git(repo, "commit", "-qam", "pulled")
        before = git(repo, "rev-parse", "HEAD")
        refused = memctl("commit", "--again", code=1).err
        assert "-What a colleague wrote" in refused
        assert f"+{TEXT}" in refused
        assert f"memctl commit --drop {EDITED}" in refused
        assert git(repo, "rev-parse", "HEAD") == before
        assert undone(memctl) == ["edit", "delete"]
        memctl("commit", "--again", DELETED)
        assert undone(memctl) == ["edit"]

    def test_deleted_record_edited_since_is_not_deleted_again(self, repo: Path, memctl: Memctl) -> None:
        memctl("delete", DELETED, "--no-commit")
        git(repo, "checkout", "-q", "--", ".")
        memctl("edit", DELETED, "--set", "lesson=Still needed")
        assert undone(memctl) == ["delete"]
        assert "+Still needed" in memctl("commit", "--again", code=1).err
        assert "Still needed" in memctl("show", DELETED).out

    @pytest.mark.parametrize("text", [TEXT, "short"])
    def test_a_later_edit_of_the_same_field_keeps_what_was_undone(self, repo: Path, memctl: Memctl, text: str) -> None:
        memctl("edit", EDITED, "--set", f"lesson={text}", "--no-commit")
        git(repo, "checkout", "-q", "--", ".")
        assert "`memctl commit --again` writes it" in memctl("edit", EDITED, "--set", "lesson=Another").err
        assert undone(memctl) == ["edit"]
        refused = memctl("commit", "--again", code=1).err
        assert "-Another" in refused
        assert f"+{text}" in refused
        assert "Another" in memctl("show", EDITED).out
        assert git(repo, "log", "--format=%s").count(f"edit {EDITED}") == 1
        memctl("commit", "--drop", EDITED)
        assert undone(memctl) == []

    def test_a_later_edit_to_the_same_text_or_a_delete_replaces_what_was_undone(
        self, repo: Path, memctl: Memctl
    ) -> None:
        for identifier in (EDITED, DELETED):
            memctl("edit", identifier, "--set", f"lesson={TEXT}", "--no-commit")
        git(repo, "checkout", "-q", "--", ".")
        memctl("edit", EDITED, "--set", f"lesson={TEXT}")
        assert undone(memctl) == ["edit"]
        memctl("delete", DELETED)
        assert undone(memctl) == []

    def test_status_gives_the_reason_for_waiting_only_while_it_holds(self, repo: Path, memctl: Memctl) -> None:
        git(repo, "merge", "main", check=False)
        memctl("learn", "Waits")
        assert "a merge is under way" in memctl("status").out
        git(repo, "merge", "--abort")
        assert "what prevented the commit is over; `memctl commit` makes the commit" in memctl("status").out
        memctl("commit")
        assert "Waits" in git(repo, "log", "-1", "--format=%s")

    def test_several_undone_edits_of_one_record_are_written_again_in_order(self, repo: Path, memctl: Memctl) -> None:
        memctl("edit", EDITED, "--set", f"lesson={TEXT}", "--no-commit")
        memctl("edit", EDITED, "--add", "tags=x", "--no-commit")
        git(repo, "checkout", "-q", "--", ".")
        assert undone(memctl) == ["edit", "edit"]
        memctl("commit", "--again")
        assert undone(memctl) == []
        assert git(repo, "log", "--format=%s").count(f"edit {EDITED}") == 2
        assert TEXT in memctl("show", EDITED).out

    @strides(26)
    def test_change_written_again_with_a_kill_at_any_step_exists_once(
        self, repo: Path, memctl: Memctl, tmp_path: Path, stride: int
    ) -> None:
        memctl("edit", EDITED, "--set", f"lesson={TEXT}", "--no-commit")
        memctl("delete", DELETED, "--no-commit")
        git(repo, "checkout", "-q", "--", ".")
        assert undone(memctl) == ["edit", "delete"]
        last = steps_of(repo, tmp_path, "commit", "--again")
        for step in range(1, last, stride):
            victim = tmp_path / f"victim{step}"
            shutil.copytree(repo, victim, symlinks=True)
            assert run_until(step, victim, "commit", "--again") == -9, f"step {step}"
            for lock in (victim / ".git").rglob("*.lock"):
                lock.unlink()
            memctl("commit", where=victim, code=None)
            memctl("commit", "--again", where=victim)
            assert memctl("status", "--json", where=victim).data["pending"] == [], f"step {step}"
            assert TEXT in memctl("show", EDITED, where=victim).out, f"step {step}"
            assert DELETED not in memctl("list", where=victim).out, f"step {step}"
            assert git(victim, "status", "--porcelain") == "", f"step {step}"
            body = git(victim, "log", "--format=%B")
            assert (body.count("Memctl-Op: edit"), body.count("Memctl-Op: delete")) == (1, 1), f"step {step}"
            shutil.rmtree(victim)

    def test_half_undone_change_is_not_committed(self, repo: Path, memctl: Memctl) -> None:
        memctl("link", EDITED, DELETED, "--no-commit")
        git(repo, "checkout", "-q", "--", *(str(f) for f in (repo / ".memory" / "learnings").rglob(f"{EDITED}*")))
        assert undone(memctl) == ["link"]
        before = git(repo, "rev-parse", "HEAD")
        memctl("commit", code=1)
        assert git(repo, "rev-parse", "HEAD") == before
        memctl("commit", "--again")
        assert memctl("check", "--select", "MEM107").code == 0
        assert git(repo, "status", "--porcelain", "--", ".memory") == ""

    def test_pending_entries_of_an_older_memctl_are_recognized_as_undone(self, repo: Path, memctl: Memctl) -> None:
        change(memctl, "--no-commit")
        for file in (repo / ".git").glob("memctl/*/pending/*.json"):
            stored = msgspec.json.decode(file.read_bytes())
            old = {name: stored[name] for name in ("change", "why", "held")}
            file.write_bytes(msgspec.json.encode(old))
        git(repo, "checkout", "-q", "--", ".")
        assert undone(memctl) == ["edit", "delete"]
        memctl("commit", "--again")
        memctl("commit")
        assert_all_is_there(repo, memctl)

    def test_worktrees_keep_their_undone_changes_apart(self, repo: Path, memctl: Memctl) -> None:
        other = repo.parent / "other"
        git(repo, "worktree", "add", "-q", "-b", "third", str(other))
        memctl("edit", EDITED, "--set", f"lesson={TEXT}", "--no-commit", where=other)
        git(other, "checkout", "-q", "--", ".")
        assert undone(memctl) == []
        assert "undone" not in memctl("issue", "Here").err
        assert "undone" in memctl("issue", "There", where=other).err
        memctl("commit", "--again", where=other)
        assert TEXT in memctl("show", EDITED, where=other).out

    def test_undone_edit_back_to_an_earlier_text_is_detected(self, repo: Path, memctl: Memctl) -> None:
        memctl("edit", EDITED, "--set", "lesson=In between")
        memctl("edit", EDITED, "--set", "lesson=The old text of edited", "--no-commit")
        git(repo, "checkout", "-q", "--", ".")
        assert undone(memctl) == ["edit"]

    def test_a_commit_that_waits_for_over_an_hour_is_named(self, repo: Path, memctl: Memctl) -> None:
        hook(repo, "pre-commit", "echo no such thing; exit 1")
        memctl("learn", "Waits")
        assert memctl("status").code == 0
        age(repo)
        status = memctl("status", code=1)
        assert "pending since" in status.out
        assert "no such thing" in status.out
        found = memctl("check", "--select", "MEM513")
        assert "MEM513" in found.out
        assert "no such thing" in found.out
        assert "MEM513" not in memctl("check", "--staged", "--select", "MEM513").out
        (repo / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD"))
        assert "pending:" in memctl("status").out
        assert memctl("check", "--select", "MEM513").out == ""
        (repo / ".git" / "MERGE_HEAD").unlink()
        (repo / ".git" / "hooks" / "pre-commit").unlink()
        memctl("commit")
        assert memctl("status").code == 0

    def test_deliberately_pending_change_passes_the_check(self, repo: Path, memctl: Memctl) -> None:
        memctl("learn", "Waits", "--no-commit")
        age(repo)
        assert "pending:" in memctl("status").out
        assert memctl("check", "--select", "MEM513").out == ""


def age(repo: Path) -> None:
    """Let what waits have waited for two hours."""
    for file in (repo / ".git").glob("memctl/*/pending/*.json"):
        began, dash, rest = file.name.partition("-")
        file.rename(file.with_name(f"{int(began) - 7_200_000_000_000:020d}{dash}{rest}"))
