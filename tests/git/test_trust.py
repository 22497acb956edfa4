"""Which clones are trusted: those that were set up or written to, and those that the user has named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memctl.git import hook_commits, trust
from memctl.git.repository import open_repository
from tests.conftest import Memctl, Once, git

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
    """A repository with a memory, in which the setting is missing."""
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


def test_locked_git_settings_do_not_prevent_a_write(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMCTL_NOW")
    lock = foreign / ".git" / "config.lock"
    lock.touch()
    memctl("learn", "Mine", where=foreign)
    lock.unlink()
    assert look(foreign) == trust.UNKNOWN  # the next write can trust it


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


@pytest.mark.parametrize(
    ("address", "is_trusted"),
    [
        ("https://example.org/acme/../evil/x", False),
        ("https://example.org/acme/..;/evil/x", False),
        ("https://example.org/acme/x/\t../../evil/y", False),
        ("https://example.org/acme/x/../../evil/y", False),
        ("https://example.org/acme/..%2fevil", False),
        ("https://example.org/acme/%2E%2e/evil/z", False),
        ("https://example.org/acme/.%2e/evil", False),
        ("https://example.org/acme/..\\evil", False),
        ("https://evil.org/../example.org/acme/x", False),
        ("https://example.org/../../acme/x", True),
        ("https://example.org/acme/a/../b", True),
        ("https://example.org/acme/a..b", True),
        ("git@example.org:acme/../evil", False),
        ("git@example.org:acme/x", True),
        ("/srv/acme/../evil/x", False),
        ("/srv/acme/x", True),
        ("ssh://example.org:22/acme/../evil", False),
    ],
)
def test_trust_by_address_resolves_dots_first(
    address: str, is_trusted: bool, foreign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    for pattern in ("https://example.org/acme/*", "git@example.org:acme/*", "/srv/acme/*", "ssh://example.org*/acme/*"):
        git(tmp_path, "config", "--global", "--add", "memctl.trust", pattern)
    git(foreign, "remote", "set-url", "origin", address)
    assert (look(foreign) == trust.TRUSTED) is is_trusted


def test_trust_pattern_in_the_clones_own_settings_is_ignored(foreign: Path) -> None:
    git(foreign, "config", "memctl.trust", "*")
    assert look(foreign) == trust.UNKNOWN


def test_hook_commits_setting_is_not_changed_by_the_trust_check(old: Path) -> None:
    git(old, "config", "memctl.hookCommits", "false")
    look(old)
    assert setting(old, "memctl.hookcommits") == "false"


def test_trust_setting_is_read_without_starting_git(repo: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from memctl.git import trust, repository;"
        f"assert trust.state(repository.open_repository(Path({str(repo)!r})), {{}}) == 'trusted';"
        "sys.exit('subprocess' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_first_write_under_the_trust_variable_keeps_the_default_for_records(
    foreign: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCTL_TRUST", "1")
    memctl("learn", "By hand", where=foreign)
    assert hook_commits.decide(open_repository(foreign)) == hook_commits.RECORDS


@pytest.mark.parametrize(
    ("address", "is_trusted"),
    [
        ("https://github.com/acme/x", True),
        ("https://github.com/acme/x.git", True),
        ("https://github.com/acme/x%20y", True),
        ("https://github.com/acme/./x", True),
        ("https://github.com/acme/x..y", True),
        ("https://github.com/acme/../evil/x", False),
        ("https://github.com/acme/x/../../evil/y", False),
        ("https://github.com/acme/..%2fevil/x", False),
        ("https://github.com/acme/%2e%2e/evil/x", False),
        ("https://github.com/acme/%2E./evil/x", False),
        ("https://github.com/acme/%252e%252e/evil/x", False),
        ("https://github.com/acme/..\\evil/x", False),
        ("https://github.com/acme/..;/evil/x", False),
        ("https://github.com/acme/..", False),
    ],
)
def test_address_is_compared_as_a_server_sees_it(
    foreign: Path, address: str, is_trusted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "gitconfig"
    config.write_text('[memctl]\n\ttrust = "https://github.com/acme/*"\n')
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    git(foreign, "remote", "set-url", "origin", address)
    assert look(foreign) == (trust.TRUSTED if is_trusted else trust.UNKNOWN)
