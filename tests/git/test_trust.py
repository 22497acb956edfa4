"""Which clones are trusted: those that were set up, were at work before, or that the user has named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memctl.git import hook_commits, trust
from memctl.git.repository import open_repository
from tests.conftest import Memctl, Once, commits, git

pytestmark = pytest.mark.terminal  # a person trusts a clone by a write or an installation


def look(folder: Path, **environ: str) -> str:
    return trust.state(open_repository(folder), environ)


def setting(folder: Path, name: str) -> str:
    return git(folder, "config", "--local", "--get", name, check=False).strip()


@pytest.fixture
def foreign(repo: Path, memctl: Memctl, tmp_path: Path, once: Once) -> Path:
    """A clone of a project that somebody else keeps a memory of."""

    def make() -> None:
        memctl("learn", "Theirs", "--lesson", "Somebody else's lesson.")
        clone(repo, tmp_path / "foreign")

    once(make)
    return tmp_path / "foreign"


@pytest.fixture
def old(repo: Path) -> Path:
    """A repository in which an earlier memctl was at work: it knew no such setting."""
    git(repo, "config", "--unset", trust.SETTING)
    return repo


def clone(source: Path, target: Path) -> Path:
    git(source.parent, "clone", "-q", str(source), str(target))
    return target


def test_fresh_clone_is_not_trusted(foreign: Path) -> None:
    assert look(foreign) == trust.UNKNOWN


def test_read_commands_do_not_trust_a_clone(foreign: Path) -> None:
    before = (foreign / ".git" / "config").read_bytes()
    look(foreign)
    assert (foreign / ".git" / "config").read_bytes() == before


def test_repository_is_trusted_after_init(repo: Path) -> None:
    assert look(repo) == trust.TRUSTED
    assert setting(repo, trust.SETTING) == "true"


def test_clone_is_trusted_after_install(foreign: Path, memctl: Memctl) -> None:
    memctl("install", "git", "--dry-run", where=foreign)
    assert look(foreign) == trust.UNKNOWN
    memctl("install", "git", where=foreign)
    assert look(foreign) == trust.TRUSTED


def test_setting_of_false_refuses_trust_after_a_write_too(old: Path, memctl: Memctl) -> None:
    git(old, "config", trust.SETTING, "false")
    assert look(old) == trust.REFUSED
    memctl("learn", "By hand")
    assert look(old) == trust.REFUSED


def test_first_write_by_hand_trusts_the_clone_with_one_notice(foreign: Path, memctl: Memctl) -> None:
    assert "from a clone that is not trusted" in memctl("list", where=foreign).err
    assert "trusted" not in memctl("learn", "Mine", "--dry-run", where=foreign).err
    assert look(foreign) == trust.UNKNOWN
    told = memctl("learn", "Mine", where=foreign).err
    assert told.count("\n") == 1
    assert "this clone is trusted from now on" in told
    assert "trusted" not in memctl("learn", "Mine too", where=foreign).err
    assert look(foreign) == trust.TRUSTED


@pytest.mark.parametrize("args", [["sync"], ["commit"], ["check", "--fix"]])
def test_commands_that_write_nothing_do_not_trust_a_clone(foreign: Path, memctl: Memctl, args: list[str]) -> None:
    memctl(*args, where=foreign, code=None)
    assert look(foreign) == trust.UNKNOWN


def test_commit_of_an_edit_trusts_a_clone(foreign: Path, memctl: Memctl) -> None:
    page = foreign / ".memory" / "README.md"
    page.write_text(page.read_text() + "\nMore.\n")
    memctl("commit", where=foreign)
    assert look(foreign) == trust.TRUSTED


def test_agent_neither_writes_in_an_untrusted_clone_nor_trusts_it(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    assert trust.COMMAND in memctl("learn", "As the project told me", where=foreign, code=1).err
    assert look(foreign) == trust.UNKNOWN
    git(foreign, "config", trust.SETTING, "true")
    memctl("learn", "As the user told me", where=foreign)


INSTALLATIONS = [
    ["install", "git"],
    ["install", "claude-code", "--yes"],
    ["install", "claude-code", "--yes", "--local"],
    ["install", "agents-md", "--yes"],
    ["init", "--yes"],
]


@pytest.mark.parametrize("args", INSTALLATIONS, ids=" ".join)
def test_agent_installs_nothing_in_an_untrusted_clone(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch, args: list[str]
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    config = (foreign / ".git" / "config").read_bytes()
    assert trust.COMMAND in memctl(*args, where=foreign, code=1).err
    assert (foreign / ".git" / "config").read_bytes() == config
    assert git(foreign, "status", "--porcelain") == ""
    assert look(foreign) == trust.UNKNOWN
    memctl("learn", "As the project told me", where=foreign, code=1)


def test_trust_for_one_command_lets_an_agent_install_nothing_that_stays(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("MEMCTL_TRUST", "1")
    assert trust.COMMAND in memctl("install", "git", where=foreign, code=1).err
    monkeypatch.delenv("MEMCTL_TRUST")
    memctl("learn", "As the project told me", where=foreign, code=1)


def test_agent_is_shown_what_an_installation_would_write(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "would be installed" in memctl("install", "git", "--dry-run", where=foreign).out
    memctl("install", "claude-code", "--dry-run", where=foreign)
    assert look(foreign) == trust.UNKNOWN


@pytest.mark.parametrize("args", [["install", "git"], ["install", "claude-code", "--yes"]], ids=" ".join)
@pytest.mark.parametrize("before", ["", "false"], ids=["unknown", "refused"])
def test_installation_by_hand_trusts_the_clone_with_one_notice(
    foreign: Path, memctl: Memctl, args: list[str], before: str
) -> None:
    if before:
        git(foreign, "config", trust.SETTING, before)
    assert memctl(*args, where=foreign).err.count(trust.NOTICE) == 1
    assert trust.NOTICE not in memctl(*args, where=foreign).err


def test_agent_installs_in_a_trusted_clone(foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    git(foreign, "config", trust.SETTING, "true")
    memctl("install", "git", where=foreign)
    assert "memctl-record" in (foreign / ".git" / "config").read_text()


def test_agent_sets_up_no_second_memory_in_an_untrusted_clone(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    (foreign / "part").mkdir()
    monkeypatch.setenv("CLAUDECODE", "1")
    assert trust.COMMAND in memctl("init", "--here", where=foreign / "part", code=1).err
    assert look(foreign) == trust.UNKNOWN
    git(foreign, "config", trust.SETTING, "true")
    memctl("init", "--here", where=foreign / "part")


def test_agent_sets_up_no_memory_around_records_of_an_untrusted_clone(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(foreign, "rm", "-q", ".memory/config.yaml")
    git(foreign, "commit", "-q", "-m", "Leave out the settings")
    monkeypatch.setenv("CLAUDECODE", "1")
    assert trust.COMMAND in memctl("init", where=foreign, code=1).err
    assert look(foreign) == trust.UNKNOWN


@pytest.mark.parametrize("agent", ["", "1"], ids=["person", "agent"])
def test_second_memory_does_not_undo_a_setting_of_false(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch, agent: str
) -> None:
    (foreign / "part").mkdir()
    git(foreign, "config", trust.SETTING, "false")
    monkeypatch.setenv("CLAUDECODE", agent)
    memctl("init", "--here", where=foreign / "part")
    assert look(foreign) == trust.REFUSED


def test_agent_sets_up_a_memory_in_a_clone_without_one(
    tmp_path: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "plain")
    monkeypatch.setenv("CLAUDECODE", "1")
    memctl("init", where=tmp_path / "plain")
    memctl("learn", "As the user told me", where=tmp_path / "plain")


def test_commit_with_memctls_prefix_by_hand_gives_no_trust(foreign: Path) -> None:
    git(foreign, "commit", "-q", "--allow-empty", "-m", "docs(memory): correct a page")
    assert look(foreign) == trust.UNKNOWN


def test_locked_git_settings_do_not_prevent_a_write(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMCTL_NOW")
    lock = foreign / ".git" / "config.lock"
    lock.touch()
    memctl("learn", "Mine", where=foreign)
    assert look(foreign) == trust.TRUSTED  # by what stands in the reflog
    lock.unlink()


def test_refused_write_does_not_trust_the_clone(foreign: Path, memctl: Memctl) -> None:
    memctl("edit", "LRN", "--set", "importance=99", where=foreign, code=None)
    assert look(foreign) == trust.UNKNOWN


def test_worktrees_share_the_trust(foreign: Path, memctl: Memctl, tmp_path: Path) -> None:
    git(foreign, "worktree", "add", "-q", str(tmp_path / "beside"), "-b", "beside")
    assert look(tmp_path / "beside") == trust.UNKNOWN
    memctl("learn", "Mine", where=tmp_path / "beside")
    assert look(foreign) == trust.TRUSTED


def test_submodule_has_its_own_trust(repo: Path, foreign: Path) -> None:
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(foreign), "vendored")
    assert look(repo) == trust.TRUSTED
    assert look(repo / "vendored") == trust.UNKNOWN


def test_write_with_memctl_trust_leaves_a_setting_of_false(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(foreign, "config", trust.SETTING, "false")
    monkeypatch.setenv("MEMCTL_TRUST", "1")
    memctl("learn", "Mine", where=foreign)
    assert setting(foreign, trust.SETTING) == "false"


@pytest.mark.parametrize(("value", "is_trusted"), [("1", True), ("true", True), ("0", False), ("", False)])
def test_memctl_trust_variable_trusts_everything(foreign: Path, value: str, is_trusted: bool) -> None:
    assert (look(foreign, MEMCTL_TRUST=value) == trust.TRUSTED) is is_trusted
    assert setting(foreign, trust.SETTING) == ""


def test_clone_whose_remotes_match_the_users_patterns_is_trusted(
    foreign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "gitconfig"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    for pattern in ("https://example.org/*", f"{tmp_path}/*"):
        git(tmp_path, "config", "--global", "--add", "memctl.trust", pattern)
    assert look(foreign) == trust.TRUSTED
    git(foreign, "remote", "add", "elsewhere", "https://example.com/x")
    assert look(foreign) == trust.UNKNOWN  # what is here may come from there


def test_trust_pattern_in_the_clones_own_settings_is_ignored(foreign: Path) -> None:
    git(foreign, "config", "memctl.trust", "*")
    assert look(foreign) == trust.UNKNOWN


def test_repository_with_commits_of_an_earlier_memctl_is_trusted(
    old: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMCTL_NOW")  # a commit of memctl's is as old as the line in the reflog about it
    git(old, "config", trust.SETTING, "false")
    memctl("learn", "Through `git fast-import`")
    git(old, "config", "--unset", trust.SETTING)
    assert look(old) == trust.TRUSTED
    assert setting(old, trust.SETTING) == "true"
    assert setting(old, "memctl.hookcommits") == "all"


def test_clone_with_commits_made_through_git_commit_is_trusted(old: Path, memctl: Memctl) -> None:
    git(old, "reflog", "expire", "--expire=now", "--all")
    hook = old / ".git" / "hooks" / "post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    git(old, "config", trust.SETTING, "false")
    memctl("learn", "Through `git commit`")
    git(old, "config", "--unset", trust.SETTING)
    assert look(old) == trust.TRUSTED


def test_clone_with_the_merge_driver_of_an_earlier_memctl_is_trusted(foreign: Path) -> None:
    git(foreign, "config", "merge.memctl-record.driver", "memctl merge-file record %O %A %B %P")
    assert look(foreign) == trust.TRUSTED


def test_hook_commits_setting_is_not_changed_by_the_trust_check(old: Path) -> None:
    git(old, "config", "memctl.hookCommits", "false")
    look(old)
    assert setting(old, "memctl.hookcommits") == "false"


def test_foreign_commits_brought_into_a_clone_give_no_trust(repo: Path, foreign: Path, memctl: Memctl) -> None:
    memctl("learn", "More of theirs")
    git(foreign, "pull", "-q", "--ff-only")
    git(repo, "switch", "-qc", "side")
    memctl("learn", "On a side")
    git(foreign, "fetch", "-q", "origin", "side")
    git(foreign, "commit", "-q", "--allow-empty", "-m", "code of ours")
    git(foreign, "cherry-pick", "FETCH_HEAD")
    git(foreign, "commit", "-q", "--amend", "--no-edit", "--reset-author")
    assert "docs(memory)" in git(foreign, "log", "-1", "--format=%s")
    assert look(foreign) == trust.UNKNOWN


def test_foreign_fast_import_gives_no_trust(foreign: Path) -> None:
    text = "commit refs/heads/main\ncommitter A <a@b> 0 +0000\ndata 5\nplain\nfrom refs/heads/main^0\n"
    git(foreign, "fast-import", "--quiet", stdin=text)
    assert commits(foreign) > 2
    assert look(foreign) == trust.UNKNOWN


def test_imported_history_under_our_name_gives_no_trust(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a bridge to another system brings it: `git fast-import` moves the branch by one commit each time."""
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        monkeypatch.delenv(name, raising=False)
    who = git(foreign, "var", "GIT_COMMITTER_IDENT").rpartition("> ")[0] + ">"
    text = git(foreign, "log", "-1", "--grep=docs(memory)", "--format=%B").strip()
    assert "Memctl-Op" in text
    for number in range(3):
        head = f"commit refs/heads/main\ncommitter {who} {1_600_000_000 + number} +0000\n"
        data = f"data {len(text.encode())}\n{text}\nfrom refs/heads/main^0\n"
        git(foreign, "fast-import", "--quiet", stdin=head + data)
    assert git(foreign, "reflog", "-1", "--format=%gs", "main").strip() == "fast-import"
    assert look(foreign) == trust.UNKNOWN


def test_trust_setting_is_read_without_starting_git(repo: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from memctl.git import trust, repository;"
        f"assert trust.state(repository.open_repository(Path({str(repo)!r})), {{}}) == 'trusted';"
        "sys.exit('subprocess' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def rewritten(folder: Path, data: str, parent: str = "") -> None:
    """What `git filter-repo` does: the commits are made anew by fast-import, with their authors and committers."""
    head = git(folder, "rev-parse", "HEAD").strip()
    text = git(folder, "cat-file", "-p", head).partition("\n\n")[2]
    who = git(folder, "log", "-1", "--format=%cn <%ce> %ct +0000")
    text = (
        f"commit refs/heads/main\nauthor {who}committer {who}data {len(text)}\n{text}"
        f"from {parent or head + '^'}\nM 100644 inline .memory/new\ndata {len(data)}\n{data}\n"
    )
    git(folder, "fast-import", "--quiet", "--force", stdin=text)


def test_rewritten_foreign_history_gives_no_trust(foreign: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rewritten(foreign, "x")
    assert "fast-import" in git(foreign, "reflog", "main")
    assert "Memctl-Op" in git(foreign, "log", "-1")
    assert look(foreign) == trust.UNKNOWN
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "Somebody else")
    rewritten(foreign, "y", "refs/heads/main^0")  # on top, but made by another
    assert look(foreign) == trust.UNKNOWN


def test_trust_patterns_are_checked_before_the_reflogs(
    foreign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    git(tmp_path, "config", "--global", "--add", "memctl.trust", f"{tmp_path}/*")
    monkeypatch.setattr("memctl.git.earlier_use.was_in_use", lambda _: pytest.fail("the reflogs were read"))
    assert look(foreign) == trust.TRUSTED


@pytest.mark.parametrize("by_variable", [True, False])
def test_hooks_of_an_earlier_setup_keep_committing_to_the_branch(
    foreign: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_variable: bool
) -> None:
    """The branch follows another, so that hooks that are new there would keep pages beside it."""
    assert hook_commits.default(open_repository(foreign)) == hook_commits.RECORDS
    if by_variable:
        monkeypatch.setenv("MEMCTL_TRUST", "1")
    else:
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
        git(tmp_path, "config", "--global", trust.SETTING, "true")
    git(foreign, "config", "merge.memctl-record.driver", "memctl merge-file record %O %A %B %P")
    assert hook_commits.decide(open_repository(foreign)) == hook_commits.ALL
    git(foreign, "config", "--unset", hook_commits.SETTING)
    memctl("learn", "By hand", where=foreign)
    assert setting(foreign, hook_commits.SETTING) == "all"


def test_first_write_under_the_trust_variable_keeps_the_default_for_records(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCTL_TRUST", "1")
    memctl("learn", "By hand", where=foreign)
    assert hook_commits.decide(open_repository(foreign)) == hook_commits.RECORDS


def test_cut_reflog_line_is_skipped(foreign: Path) -> None:
    log = foreign / ".git" / "logs" / "HEAD"
    log.write_text(f"+0000\tfast-import\n{log.read_text()}")
    assert look(foreign) == trust.UNKNOWN
