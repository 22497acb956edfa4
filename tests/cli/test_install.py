"""`install git`: our hooks run after the user's and never instead of them, and all of it can be taken away again."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from memctl.write.install import own_program
from tests.conftest import Memctl, Result, commits, git, process
from tests.reference import ROOT

HOOKS = ("pre-commit", "pre-merge-commit", "post-merge")
CHECK, RENDER, MERGED = "-C . check --staged", "-C . render --staged", "-C . render --merged"


class Log:
    """What a stand-in for memctl, first on the PATH, was called with; in a folder whose name needs quoting."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "log"
        self.program = folder / 'it\'s a "$HOME" 100% %O folder' / "memctl"
        self.program.parent.mkdir()
        self.program.write_text('#!/bin/sh\necho "$*" >>"$MEMCTL_TEST_LOG"\nexit "${MEMCTL_TEST_CODE:-0}"\n')
        self.program.chmod(0o755)

    def take(self) -> list[str]:
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        self.file.unlink(missing_ok=True)
        return lines


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Log:
    made = Log(tmp_path)
    monkeypatch.setenv("MEMCTL_TEST_LOG", str(made.file))
    monkeypatch.setenv("PATH", f"{made.program.parent}{os.pathsep}{os.environ['PATH']}")
    return made


@pytest.fixture
def bare_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PATH on which there is no memctl, as programs with windows have it."""
    folder = tmp_path / "bare"
    folder.mkdir()
    for name in ("git", "sh", "cat"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))


def picture(repo: Path) -> dict[str, tuple[str, int, bytes]]:
    """The hooks and settings of a clone: kind, mode and bytes of every file."""
    git_dir = repo / ".git"
    files = [git_dir / "config", git_dir / "hooks", *(git_dir / "hooks").rglob("*")]
    found = {}
    for file in files:
        if file.is_symlink():
            found[str(file)] = ("link", 0, os.fsencode(os.readlink(file)))
        elif file.exists():
            content = b"" if file.is_dir() else file.read_bytes()
            found[str(file)] = ("folder" if file.is_dir() else "file", stat.S_IMODE(file.stat().st_mode), content)
    return found


def put(repo: Path, name: str, text: str, mode: int = 0o755) -> Path:
    file = repo / ".git" / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


def save(repo: Path, text: str = "changed", *options: str) -> subprocess.CompletedProcess[str]:
    """Change a file and commit it."""
    (repo / "app.py").write_text(f"{text}\n")
    command = ["git", "commit", "-qam", text, *options]
    return subprocess.run(command, cwd=repo, capture_output=True, text=True)


def states(result: Result) -> dict[str, str]:
    return {part["part"]: part["state"] for part in result.data["parts"]}


def branches(repo: Path, conflict: bool) -> None:
    """A branch `side` that main can merge, with a conflict or without one."""
    git(repo, "checkout", "-q", "-b", "side")
    name = "app.py" if conflict else "side.py"
    (repo / name).write_text("side\n")
    git(repo, "add", name)
    git(repo, "commit", "-qm", "side", "--no-verify")
    git(repo, "checkout", "-q", "main")
    assert save(repo, "main", "--no-verify").returncode == 0


def test_a_fresh_clone_gets_hooks_and_drivers_and_loses_them_again(repo: Path, memctl: Memctl, log: Log) -> None:
    before, number = picture(repo), commits(repo)
    result = memctl("install", "git", "--json")
    assert set(states(result).values()) == {"installed"}
    assert git(repo, "status", "--porcelain") == ""
    assert commits(repo) == number
    assert save(repo).returncode == 0
    assert log.take() == [CHECK]
    assert set(states(memctl("install", "git", "--json")).values()) == {"unchanged"}
    assert set(states(memctl("install", "git", "--uninstall", "--json")).values()) == {"removed"}
    assert not (repo / ".git" / "hooks").exists()
    assert picture(repo) == before


def test_second_installation_changes_nothing_and_reports_it(repo: Path, memctl: Memctl) -> None:
    put(repo, "pre-commit", "#!/bin/sh\n")
    memctl("install", "git")
    before = picture(repo)
    result = memctl("install", "git", "--json")
    assert set(states(result).values()) == {"unchanged"}
    assert picture(repo) == before
    assert "hook pre-commit: unchanged" in memctl("install", "git").out
    assert "not installed" in [memctl("install", "git", "--uninstall") for _ in range(2)][1].out


def test_a_failing_check_stops_the_commit(
    repo: Path, memctl: Memctl, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("install", "git")
    monkeypatch.setenv("MEMCTL_TEST_CODE", "1")
    number = commits(repo)
    assert save(repo).returncode == 1
    assert log.take() == [CHECK]
    assert commits(repo) == number


@pytest.mark.parametrize("ending", ["exit 0", "exec true", ""])
def test_user_hook_runs_before_ours_with_any_ending(repo: Path, memctl: Memctl, log: Log, ending: str) -> None:
    put(repo, "pre-commit", f'#!/bin/sh\necho user >>"$MEMCTL_TEST_LOG"\n{ending}\n')
    before = picture(repo)
    assert "runs first" in memctl("install", "git").out
    assert save(repo).returncode == 0
    assert log.take() == ["user", CHECK]
    memctl("install", "git", "--uninstall")
    assert picture(repo) == before


def test_a_failing_hook_of_the_users_stops_ours_and_keeps_its_code(repo: Path, memctl: Memctl, log: Log) -> None:
    file = put(repo, "pre-commit", "#!/bin/sh\nexit 7\n")
    memctl("install", "git")
    number = commits(repo)
    assert save(repo).returncode == 1
    assert commits(repo) == number
    assert log.take() == []
    assert subprocess.run([file], cwd=repo).returncode == 7


def test_several_records_that_waited_are_committed_past_a_hook_that_checks_documents(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The documents show all that waits before the first of its commits is made, which has one record of it."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    put(repo, "pre-commit", "#!/bin/sh\n")
    memctl("install", "git")
    (repo / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD"))
    for title in ("One", "Two"):
        memctl("learn", title, "--lesson", title)
    (repo / ".git" / "MERGE_HEAD").unlink()
    before = commits(repo)
    memctl("commit")
    assert commits(repo) == before + 2
    assert git(repo, "status", "--porcelain") == ""
    memctl("check")


def test_arguments_and_standard_input_reach_the_users_hook(repo: Path, memctl: Memctl, log: Log) -> None:
    file = put(repo, "pre-commit", '#!/bin/sh\n{ echo "$#" "$@"; cat; } >>"$MEMCTL_TEST_LOG"\n')
    memctl("install", "git")
    subprocess.run([file, "a b", "*"], cwd=repo, input="in put\n", text=True, check=True)
    assert log.take() == ["2 a b *", "in put", CHECK]


def test_a_python_hook_runs(repo: Path, memctl: Memctl, log: Log) -> None:
    put(
        repo,
        "pre-commit",
        f"#!{sys.executable}\nimport os\nprint('py', file=open(os.environ['MEMCTL_TEST_LOG'], 'w'))\n",
    )
    before = picture(repo)
    memctl("install", "git")
    assert save(repo).returncode == 0
    assert log.take() == ["py", CHECK]
    memctl("install", "git", "--uninstall")
    assert picture(repo) == before


def test_a_binary_hook_runs(repo: Path, memctl: Memctl, log: Log) -> None:
    file = put(repo, "pre-commit", "")
    shutil.copyfile(str(shutil.which("false")), file)
    before = picture(repo)
    memctl("install", "git")
    assert save(repo).returncode == 1
    assert log.take() == []
    memctl("install", "git", "--uninstall")
    assert picture(repo) == before


def test_a_hook_that_is_not_executable_still_does_not_run(repo: Path, memctl: Memctl, log: Log) -> None:
    put(repo, "pre-commit", "#!/bin/sh\nexit 1\n", 0o640)
    before = picture(repo)
    memctl("install", "git")
    assert save(repo).returncode == 0
    assert log.take() == [CHECK]
    memctl("install", "git", "--uninstall")
    assert picture(repo) == before


def test_a_hook_that_is_a_link_runs_and_stays_a_link(repo: Path, memctl: Memctl, log: Log) -> None:
    (repo / "tools").mkdir()
    (repo / "tools" / "check.sh").write_text('#!/bin/sh\necho linked >>"$MEMCTL_TEST_LOG"\n')
    (repo / "tools" / "check.sh").chmod(0o755)
    (repo / ".git" / "hooks").mkdir()
    (repo / ".git" / "hooks" / "pre-commit").symlink_to("../../tools/check.sh")
    (repo / ".git" / "hooks" / "pre-merge-commit").symlink_to("gone")
    before = picture(repo)
    memctl("install", "git")
    assert save(repo).returncode == 0
    assert log.take() == ["linked", CHECK]
    assert (repo / "tools" / "check.sh").read_text().startswith("#!/bin/sh\necho linked")
    memctl("install", "git", "--uninstall")
    assert picture(repo) == before


def test_link_to_our_hook_counts_as_a_user_hook(repo: Path, memctl: Memctl) -> None:
    memctl("install", "git")
    link = repo / ".git" / "hooks" / "pre-merge-commit"
    link.unlink()
    link.symlink_to("pre-commit")
    assert states(memctl("install", "git", "--json"))["hook pre-merge-commit"] == "installed"
    memctl("install", "git", "--uninstall")
    assert os.readlink(link) == "pre-commit"


def test_a_merge_renders_before_it_checks(repo: Path, memctl: Memctl, log: Log) -> None:
    branches(repo, conflict=False)
    memctl("install", "git")
    git(repo, "merge", "-q", "--no-edit", "side")
    assert log.take() == [RENDER, CHECK, MERGED]


def test_concluding_a_merge_by_hand_renders_before_it_checks(repo: Path, memctl: Memctl, log: Log) -> None:
    branches(repo, conflict=True)
    memctl("install", "git")
    assert "CONFLICT" in git(repo, "merge", "side", check=False)
    log.take()
    assert save(repo, "both").returncode == 0
    assert log.take() == [RENDER, CHECK]
    assert save(repo, "later").returncode == 0
    assert log.take() == [CHECK]


@pytest.mark.parametrize("kind", ["link", "call"])
def test_a_merge_hook_that_leads_to_the_commit_hook_runs_memctl_once(
    repo: Path, memctl: Memctl, log: Log, kind: str
) -> None:
    put(repo, "pre-commit", '#!/bin/sh\necho user >>"$MEMCTL_TEST_LOG"\n')
    if kind == "link":
        (repo / ".git" / "hooks" / "pre-merge-commit").symlink_to("pre-commit")
    else:  # as in Git's sample
        put(repo, "pre-merge-commit", '#!/bin/sh\n. git-sh-setup\nexec "$GIT_DIR/hooks/pre-commit"\n')
    branches(repo, conflict=False)
    memctl("install", "git")
    git(repo, "-c", "core.editor=true", "merge", "-q", "side")
    assert log.take() == ["user", RENDER, CHECK, MERGED]


def test_user_hook_that_calls_ours_causes_no_loop(repo: Path, memctl: Memctl, log: Log) -> None:
    put(repo, "pre-commit", '#!/bin/sh\necho user >>"$MEMCTL_TEST_LOG"\n"$(dirname "$0")/pre-commit"\n')
    memctl("install", "git")
    assert save(repo).returncode == 0
    assert log.take() == ["user", CHECK]


def test_linked_worktrees_share_hooks_and_drivers(repo: Path, memctl: Memctl, log: Log) -> None:
    other = repo.parent / "an other tree"
    git(repo, "worktree", "add", "-q", "-b", "side", str(other))
    before = picture(repo)
    memctl("install", "git", where=other)
    assert save(other, "there").returncode == save(repo, "here").returncode == 0
    assert log.take() == [CHECK, CHECK]
    git(other, "merge", "-q", "--no-commit", "-s", "ours", "main")
    git(other, "commit", "-qm", "merged")
    assert log.take()[-2:] == [RENDER, CHECK]
    memctl("install", "git", "--uninstall", where=other)
    assert picture(repo) == before


def test_a_memory_in_a_subfolder_is_checked_where_it_is_and_on_branches_that_have_it(
    repo: Path, memctl: Memctl, log: Log
) -> None:
    folder = repo / "it's a part"
    folder.mkdir()
    memctl("init", "--here", where=folder)
    git(repo, "branch", "without", "HEAD~2")
    memctl("install", "git")
    assert states(memctl("install", "git", "--json", where=folder))["hook pre-commit"] == "refreshed"
    assert states(memctl("install", "git", "--json"))["hook pre-commit"] == "unchanged"
    assert save(repo).returncode == 0
    assert log.take() == [CHECK, "-C it's a part check --staged"]
    git(repo, "checkout", "-q", "without")
    assert save(repo).returncode == 0
    assert log.take() == []


@pytest.mark.usefixtures("bare_path")
class TestWithoutMemctlOnThePath:
    def test_hook_runs_the_program_that_installed_it(
        self, repo: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        own = Log(tmp_path)
        monkeypatch.setenv("MEMCTL_TEST_LOG", str(own.file))
        monkeypatch.setattr(sys, "argv", [str(own.program)])
        memctl("install", "git")
        assert save(repo).returncode == 0
        assert own.take() == [CHECK]

    @pytest.mark.parametrize("ruin", ["unlink", "no interpreter"])
    def test_commit_without_any_memctl_succeeds_with_one_notice(
        self, repo: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ruin: str
    ) -> None:
        own = Log(tmp_path)
        monkeypatch.setattr(sys, "argv", [str(own.program)])
        memctl("install", "git")
        if ruin == "unlink":
            own.program.unlink()
        else:
            own.program.write_text("#!/nowhere/python\n")
        done = save(repo)
        assert done.returncode == 0
        assert done.stderr.count("memctl was not found") == 1
        assert ruin != "unlink" or done.stderr.count("\n") == 1

    def test_merge_marks_conflicts_when_memctl_is_missing(
        self, repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "argv", ["/nowhere/memctl"])
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        (repo / ".git" / "info").mkdir(exist_ok=True)
        (repo / ".git" / "info" / "attributes").write_text("* merge=memctl-record\n")
        memctl("install", "git")
        branches(repo, conflict=True)
        git(repo, "merge", "side", check=False)
        assert (repo / "app.py").read_text() == "<<<<<<< ours\nmain\n=======\nside\n>>>>>>> theirs\n"


@pytest.mark.parametrize("on_path", [True, False])
@pytest.mark.parametrize("what", ["record", "session"])
def test_the_drivers_get_paths_with_spaces_and_quotes_whole(
    repo: Path, memctl: Memctl, log: Log, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest,
    what: str, on_path: bool,
) -> None:  # fmt: skip
    if not on_path:
        request.getfixturevalue("bare_path")
        monkeypatch.setattr(sys, "argv", [str(log.program)])
    script = '#!/bin/sh\nshift 5\nprintf "%s|" "$@" >>"$MEMCTL_TEST_LOG"\n'
    log.program.write_text(script.replace("shift 5", 'printf "%s %s|" "$1" "$2" >>"$MEMCTL_TEST_LOG"; shift 5'))
    memctl("install", "git")
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "attributes").write_text(f"* merge=memctl-{what}\n")
    for branch in ("side", "main"):
        git(repo, "checkout", "-q", *(["-b"] if branch == "side" else []), branch)
        (repo / 'it\'s "one" $file').write_text(branch)
        git(repo, "add", ".")
        git(repo, "commit", "-qm", branch, "--no-verify")
    git(repo, "merge", "-q", "--no-edit", "--no-verify", "side")
    assert log.take() == [f'merge-file {what}|it\'s "one" $file|-C .|']


def test_failing_merge_driver_leaves_the_merge_to_git(
    repo: Path, memctl: Memctl, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "attributes").write_text("* merge=memctl-record\n")
    monkeypatch.setattr(sys, "argv", [str(log.program)])
    memctl("install", "git")
    branches(repo, conflict=True)
    monkeypatch.setenv("MEMCTL_TEST_CODE", "3")
    git(repo, "merge", "side", check=False)
    assert len(log.take()) == 2
    assert "<<<<<<< ours" in (repo / "app.py").read_text()


def test_merge_of_a_document_keeps_our_side_without_starting_memctl(repo: Path, memctl: Memctl, log: Log) -> None:
    (repo / ".git" / "info").mkdir(exist_ok=True)
    (repo / ".git" / "info" / "attributes").write_text("* merge=memctl-docs\n")
    memctl("install", "git")
    branches(repo, conflict=True)
    log.take()
    git(repo, "merge", "-q", "--no-edit", "--no-verify", "side")
    assert [line for line in log.take() if "merge-file" in line] == []
    assert (repo / "app.py").read_text() == "main\n"
    assert "\nmerge driver memctl-docs: unchanged\n" in memctl("install", "git", "--dry-run").out


@pytest.mark.parametrize("where", ["tracked", "global"])
def test_hooks_in_another_folder_are_left_with_a_note_what_to_add(
    repo: Path, memctl: Memctl, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    if where == "tracked":
        folder = repo / ".githooks"
        git(repo, "config", "core.hooksPath", ".githooks")
    else:
        folder = tmp_path / "my hooks"
        (tmp_path / "gitconfig").write_text(f'[core]\n\thooksPath = "{folder}"\n')
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    folder.mkdir()
    (folder / "pre-commit").write_text("#!/bin/sh\n")
    (folder / "pre-commit").chmod(0o755)
    result = memctl("install", "git", code=1)
    assert (folder / "pre-commit").read_text() == "#!/bin/sh\n"
    assert [file.name for file in folder.iterdir()] == ["pre-commit"]
    assert not (repo / ".git" / "hooks").exists()
    assert git(repo, "config", "merge.memctl-docs.driver")
    for name, part in zip(HOOKS, memctl("install", "git", "--json", code=1).data["parts"], strict=False):
        assert part["lines"] in result.out
        assert part["add_to"] in (str(folder / name), f".githooks/{name}")
        assert part["lines"].startswith("#!/bin/sh\n") == (name != "pre-commit")
        (folder / name).write_text(f"#!/bin/sh -e\n{part['lines']}")
        (folder / name).chmod(0o755)
    branches(repo, conflict=False)
    assert save(repo).returncode == 0
    assert log.take() == ["check --staged"]
    git(repo, "merge", "-q", "--no-edit", "side")
    assert log.take() == ["render --staged", "check --staged", "render --merged"]
    assert set(states(memctl("install", "git", "--json")).values()) == {"unchanged"}
    assert "by hand" in memctl("install", "git", "--uninstall", code=1).out
    assert memctl("install", "git", "--uninstall", code=1).out.count("by hand") == len(HOOKS)
    monkeypatch.setenv("MEMCTL_TEST_CODE", "1")
    assert save(repo, "refused").returncode == 1


def test_note_for_husky_names_the_users_hook_file(repo: Path, memctl: Memctl) -> None:
    (repo / ".husky" / "_").mkdir(parents=True)
    git(repo, "config", "core.hooksPath", ".husky/_")
    assert "write an executable file .husky/pre-commit:\n" in memctl("install", "git", code=1).out
    (repo / ".husky" / "pre-commit").write_text("npm test\n")
    assert "add to .husky/pre-commit:\n" in memctl("install", "git", code=1).out
    assert list((repo / ".husky" / "_").iterdir()) == []


def test_hooks_in_a_folder_that_git_no_longer_uses_are_removed(repo: Path, memctl: Memctl) -> None:
    put(repo, "pre-commit", "#!/bin/sh\n")
    before = picture(repo)
    memctl("install", "git")
    git(repo, "config", "core.hooksPath", ".husky")
    memctl("install", "git", "--uninstall")
    git(repo, "config", "--unset", "core.hooksPath")
    assert picture(repo) == before


def test_a_hooks_folder_that_is_a_link_into_the_project_is_not_written_to(repo: Path, memctl: Memctl) -> None:
    (repo / "githooks").mkdir()
    (repo / ".git" / "hooks").symlink_to("../githooks")
    assert "by hand" in memctl("install", "git", code=1).out
    assert list((repo / "githooks").iterdir()) == []


def test_a_hooks_path_inside_the_git_directory_is_this_clones_own(repo: Path, memctl: Memctl, log: Log) -> None:
    git(repo, "config", "core.hooksPath", ".git/my hooks")
    before = picture(repo)
    memctl("install", "git")
    assert save(repo).returncode == 0
    assert log.take() == [CHECK]
    memctl("install", "git", "--uninstall")
    assert picture(repo) == before
    assert not (repo / ".git" / "my hooks").exists()


@pytest.mark.parametrize(
    "text",
    [
        '#!/bin/sh\n. "$(dirname "$0")/husky.sh"\n',
        '#!/bin/sh\nexec run-hook "$(basename -- "$0")"\n',
        "#!/usr/bin/env python3\nprint(os.path.basename(sys.argv[0]))\n",
        "#!/usr/bin/env ruby\nhook = File.basename($0)\n",
    ],
)
def test_hook_that_depends_on_its_own_name_is_left_in_place(repo: Path, memctl: Memctl, text: str) -> None:
    file = put(repo, "pre-commit", text)
    result = memctl("install", "git", code=1)
    assert "add to .git/hooks/pre-commit:\n" in result.out
    assert file.read_text() == text
    assert states(memctl("install", "git", "--json", code=1)) == {
        "hook pre-commit": "by hand",
        "hook pre-merge-commit": "unchanged",
        "hook post-merge": "unchanged",
        "merge driver memctl-record": "unchanged",
        "merge driver memctl-docs": "unchanged",
        "merge driver memctl-session": "unchanged",
    }


@pytest.mark.parametrize("options", [[], ["--uninstall"]])
def test_install_dry_run_shows_everything_and_writes_nothing(repo: Path, memctl: Memctl, options: list[str]) -> None:
    put(repo, "pre-commit", "#!/bin/sh\n")
    if options:
        memctl("install", "git")
    before = picture(repo)
    shown = memctl("install", "git", "--dry-run", *options).out
    assert picture(repo) == before
    assert "would be" in shown
    if not options:
        assert "+    run check --staged" in shown
        assert "git config merge.memctl-record.driver: for memctl in memctl" in shown
        parts = memctl("install", "git", "--dry-run", "--json").data["parts"]
        memctl("install", "git")
        for name, part in zip(HOOKS, parts, strict=False):
            assert part["text"] == (repo / ".git" / "hooks" / name).read_text()
    assert picture(repo).keys() >= before.keys()


def test_an_older_hook_of_ours_is_refreshed_and_the_users_kept(
    repo: Path, memctl: Memctl, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(repo, "pre-commit", '#!/bin/sh\necho user >>"$MEMCTL_TEST_LOG"\n')
    before = picture(repo)
    monkeypatch.setattr(sys, "argv", [str(log.program)])
    memctl("install", "git")
    assert str(log.program.parent.name)[-8:] in (repo / ".git" / "hooks" / "pre-commit").read_text()
    monkeypatch.setattr(sys, "argv", ["pytest"])
    assert set(states(memctl("install", "git", "--json")).values()) == {"refreshed"}
    (repo / ".git" / "hooks" / "pre-commit").chmod(0o644)
    assert states(memctl("install", "git", "--json"))["hook pre-commit"] == "refreshed"
    assert save(repo).returncode == 0
    assert log.take() == ["user", CHECK]
    memctl("install", "git", "--uninstall")
    assert picture(repo) == before


def test_edited_memctl_hook_is_left_alone(repo: Path, memctl: Memctl) -> None:
    memctl("install", "git")
    file = repo / ".git" / "hooks" / "pre-commit"
    file.write_text(file.read_text() + "echo mine\n")
    text = file.read_text()
    for options in ([], ["--uninstall"]):
        assert "was changed since memctl wrote it" in memctl("install", "git", *options, code=1).out
        assert file.read_text() == text
    assert not (repo / ".git" / "hooks" / "pre-merge-commit").exists()


def test_hook_of_another_tool_in_our_place_is_kept(repo: Path, memctl: Memctl) -> None:
    put(repo, "pre-commit", "#!/bin/sh\n# old\n")
    memctl("install", "git")
    file = put(repo, "pre-commit", "#!/bin/sh\n# other tool\n")
    assert "delete one of the two files" in memctl("install", "git", code=1).out
    gone = memctl("install", "git", "--uninstall")
    assert "and leaves it as it is" in gone.out
    assert file.read_text() == "#!/bin/sh\n# other tool\n"
    assert [f.name for f in sorted(file.parent.iterdir())] == ["pre-commit", "pre-commit.before-memctl"]
    assert "memctl-" not in git(repo, "config", "--list", "--local")


def test_uninstall_removes_our_hook_moved_by_another_tool(repo: Path, memctl: Memctl) -> None:
    file = put(repo, "pre-commit", "#!/bin/sh\n")
    before = picture(repo)
    memctl("install", "git")
    os.rename(file, f"{file}.old")
    memctl("install", "git", "--uninstall")
    assert picture(repo) == before


def test_hook_rewritten_by_another_tool_is_chained_again(repo: Path, memctl: Memctl, log: Log) -> None:
    text = '#!/bin/sh\necho tool >>"$MEMCTL_TEST_LOG"\n'
    put(repo, "pre-commit", text)
    before = picture(repo)
    memctl("install", "git")
    file = put(repo, "pre-commit", text)
    memctl("install", "git")
    assert save(repo).returncode == 0
    assert log.take() == ["tool", CHECK]
    file.write_text(text)
    memctl("install", "git", "--uninstall")
    assert picture(repo) == before


def framework(repo: Path) -> None:
    """What `pre-commit install` does, as its release 4.7 has it."""
    file = repo / ".git" / "hooks" / "pre-commit"
    file.parent.mkdir(exist_ok=True)
    if os.path.lexists(file) and b"138fd403232d2ddd5efb44317e38bf03" not in file.read_bytes():
        shutil.move(file, f"{file}.legacy")
    file.write_text(
        "#!/bin/sh\n# File generated by pre-commit: https://pre-commit.com\n# ID: 138fd403232d2ddd5efb44317e38bf03\n"
        '[ -z "$PRE_COMMIT_RUNNING_LEGACY" ] || exit 9\n'
        '[ ! -x "$0.legacy" ] || PRE_COMMIT_RUNNING_LEGACY=1 "$0.legacy" "$@" || exit\n'
        'echo framework >>"$MEMCTL_TEST_LOG"\n'
    )
    file.chmod(0o755)


@pytest.mark.parametrize("order", ["framework first", "memctl first"])
@pytest.mark.parametrize("user", [True, False])
def test_pre_commit_framework_can_be_installed_before_after_and_again(
    repo: Path, memctl: Memctl, log: Log, order: str, user: bool
) -> None:
    expected = [CHECK, "framework"]
    if user:
        put(repo, "pre-commit", '#!/bin/sh\necho user >>"$MEMCTL_TEST_LOG"\n')
        expected.insert(0, "user")
    shutil.copytree(repo, repo.parent / "plain", symlinks=True)
    framework(repo.parent / "plain")
    if order == "memctl first":
        memctl("install", "git")
    framework(repo)
    memctl("install", "git")
    assert save(repo, "one").returncode == 0
    assert log.take() == expected
    framework(repo)
    assert set(states(memctl("install", "git", "--json")).values()) == {"unchanged"}
    assert save(repo, "two").returncode == 0
    assert log.take() == expected
    memctl("install", "git", "--uninstall")
    without = {str(Path(path).relative_to(repo)): found for path, found in picture(repo).items()}
    plain = {str(Path(p).relative_to(repo.parent / "plain")): f for p, f in picture(repo.parent / "plain").items()}
    assert without == plain


def test_uninstalling_the_framework_keeps_our_hook(repo: Path, memctl: Memctl, log: Log) -> None:
    file = put(repo, "pre-commit", '#!/bin/sh\necho user >>"$MEMCTL_TEST_LOG"\n')
    before = picture(repo)
    framework(repo)
    memctl("install", "git")
    os.replace(f"{file}.legacy", file)  # as `pre-commit uninstall` does
    assert save(repo).returncode == 0
    assert log.take() == ["user", CHECK]
    memctl("install", "git", "--uninstall")
    assert picture(repo) == before


def test_an_interrupted_installation_is_finished_by_the_next(repo: Path, memctl: Memctl, log: Log) -> None:
    file = put(repo, "pre-commit", '#!/bin/sh\necho user >>"$MEMCTL_TEST_LOG"\n')
    before = picture(repo)
    os.link(file, f"{file}.before-memctl")
    memctl("install", "git")
    assert save(repo).returncode == 0
    assert log.take() == ["user", CHECK]
    memctl("install", "git", "--uninstall")
    os.rename(file, f"{file}.before-memctl")
    memctl("install", "git", "--uninstall")
    assert picture(repo) == before


@pytest.mark.parametrize("name", ["hooks/pre-merge-commit", "hooks"])
def test_obstructing_path_is_an_error_before_anything_is_written(repo: Path, memctl: Memctl, name: str) -> None:
    if name == "hooks":
        (repo / ".git" / "hooks").write_text("")
    else:
        (repo / ".git" / name).mkdir(parents=True)
    before = picture(repo)
    assert "away first" in memctl("install", "git", code=1).err
    assert picture(repo) == before


@pytest.mark.parametrize("name", ["hooks", "."])
def test_a_folder_that_is_not_writable_is_an_error_before_anything_is_written(
    repo: Path, memctl: Memctl, name: str
) -> None:
    folder = repo / ".git" / name
    folder.mkdir(exist_ok=True)
    before = picture(repo)
    folder.chmod(0o555)
    if os.access(folder, os.W_OK):
        pytest.skip("nothing is forbidden to this user")
    try:
        assert "permission denied" in memctl("install", "git", code=1).err
    finally:
        folder.chmod(0o755)
    assert picture(repo) == before


def test_user_git_settings_beside_ours_are_kept(repo: Path, memctl: Memctl) -> None:
    git(repo, "config", "merge.memctl-record.recursive", "text")
    git(repo, "config", "merge.memctl-docs.driver", "mine %A")
    result = memctl("install", "git", code=1)
    assert "another program has set merge.memctl-docs.driver in Git's settings" in result.out
    memctl("install", "git", "--uninstall")
    assert git(repo, "config", "--get-regexp", "memctl-").splitlines() == [
        "merge.memctl-record.recursive text",
        "merge.memctl-docs.driver mine %A",
    ]


def test_uninstalling_works_when_the_memory_is_gone(repo: Path, memctl: Memctl) -> None:
    before = picture(repo)
    memctl("install", "git")
    shutil.rmtree(repo / ".memory")
    memctl("install", "git", "--uninstall")
    assert picture(repo) == before


def test_running_memctl_finds_its_own_program(repo: Path) -> None:
    started = process(repo, "install", "git", "--json")
    _, err = started.communicate()
    assert (started.returncode, err) == (0, "")
    beside = Path(sys.executable).with_name("memctl")
    text = (repo / ".git" / "hooks" / "pre-commit").read_text()
    assert (f"in memctl {beside}" in text) == beside.exists()


def test_the_program_is_found_by_its_name_or_beside_its_python(tmp_path: Path) -> None:
    for name in ("git-memctl", "memctl"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    assert own_program(str(tmp_path / "git-memctl"), "") == str(tmp_path / "git-memctl")
    assert own_program("/x/memctl/__main__.py", str(tmp_path / "python")) == str(tmp_path / "memctl")
    (tmp_path / "memctl").chmod(0o644)
    assert own_program("/x/memctl/__main__.py", str(tmp_path / "python")) == ""


def test_hook_manifest_names_commands_in_the_form_of_the_framework() -> None:
    import yaml

    check, render = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (check["id"], check["entry"], check["always_run"]) == ("memctl-check", "memctl check --staged", True)
    assert (render["id"], render["entry"], render["files"]) == (
        "memctl-render",
        "memctl page render --staged --no-commit",
        r"^\.memory/",
    )
    for hook in (check, render):
        assert (hook["language"], hook["pass_filenames"]) == ("python", False)
        assert hook["stages"] == ["pre-commit", "pre-merge-commit"]


def test_install_git_takes_yes_without_effect_and_names_each_part(repo: Path, memctl: Memctl) -> None:
    done = memctl("install", "git", "--yes")
    assert done.code == 0
    assert done.out.splitlines()[: len(HOOKS)] == [f"hook {name}: installed" for name in HOOKS]
    refused = memctl("install", "cron", "--yes", code=2)
    assert "writes nothing" in refused.err
