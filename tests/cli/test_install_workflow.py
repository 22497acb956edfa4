"""`install github|gitlab`: a file that is shown first, is never anybody else's, and goes again."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, git

FILES = {"github": ".github/workflows/memctl.yml", "gitlab": ".gitlab/memctl.yml"}
SOURCE = "git+https://example.org/memctl.git"


@pytest.mark.parametrize("what", FILES)
def test_workflow_is_shown_written_and_removed(repo: Path, memctl: Memctl, what: str) -> None:
    file = repo / FILES[what]
    shown = memctl("install", what, "--from", SOURCE, "-n")
    assert '+  MEMORY: "." # the folder' in shown.out.replace("+    MEMORY", "+  MEMORY")
    assert not file.exists()
    assert memctl("install", what, "--from", SOURCE, code=1).err.endswith("--yes writes the change without asking\n")
    told = memctl("install", what, "--from", SOURCE, "--yes").err
    assert f"commit {FILES[what]}" in told
    assert f'MEMCTL: "{SOURCE}" #' in file.read_text()
    assert "unchanged" in memctl("install", what, "--from", SOURCE, "--yes").err
    memctl("install", what, "--from", "https://example.org/memctl-1.whl", "--yes")  # a newer one
    assert 'MEMCTL: "https://example.org/memctl-1.whl" #' in file.read_text()
    memctl("install", what, "--uninstall", "--yes")
    assert git(repo, "status", "--short") == ""


@pytest.mark.parametrize("what", FILES)
def test_file_of_somebody_else_is_neither_replaced_nor_removed(repo: Path, memctl: Memctl, what: str) -> None:
    file = repo / FILES[what]
    file.parent.mkdir(parents=True)
    file.write_text("name: mine\n")
    refused = memctl("install", what, "--from", SOURCE, "--yes", code=1).err
    assert f"{FILES[what]} exists, and memctl did not write it" in refused
    memctl("install", what, "--uninstall", "--yes")
    assert file.read_text() == "name: mine\n"


def test_memory_in_a_folder_and_a_wheel_in_the_repository_are_named_from_the_top(
    memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = tmp_path / "mono"
    below = repo / "a folder"
    below.mkdir(parents=True)
    git(repo, "init", "-q")
    memctl("init", "--here", where=below)
    (below / "memctl-1.whl").write_bytes(b"")
    monkeypatch.chdir(below)
    memctl("install", "github", "--from", "memctl-1.whl", "--yes", where=below)
    text = (repo / FILES["github"]).read_text()
    assert 'MEMCTL: "./a folder/memctl-1.whl" #' in text
    assert 'MEMORY: "a folder" #' in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["github", "--from", "nosuch.whl"], "the workflow can't install memctl from nosuch.whl"),
        (["github", "--from", "https://example.org/my memctl.whl"], "'https://example.org/my memctl.whl' has a blank"),
        (["gitlab", "--from", "git-memctl @ git+https://example.org/a b"], "has a blank in it"),
        (["github", "--from", "/etc/hostname"], "the workflow can't install memctl from /etc/hostname"),
        (["git", "--from", SOURCE], "--from is only for `memctl install github` and `gitlab`"),
        (["github", "--user"], "--user and --local are not for .github/workflows/memctl.yml"),
        (["gitlab", "--allow", "read"], "--allow is only for installing in an agent's settings"),
    ],
)
def test_option_that_means_nothing_is_refused(memctl: Memctl, arguments: list[str], message: str) -> None:
    assert message in memctl("install", *arguments, "--yes", code=2).err


def test_source_that_is_not_known_is_a_variable_of_the_host(repo: Path, memctl: Memctl) -> None:
    told = memctl("install", "github", "--yes").err  # this memctl comes from a checkout
    assert "set the CI variable MEMCTL to what pip installs memctl from" in told
    assert "MEMCTL: ${{ vars.MEMCTL }} #" in (repo / FILES["github"]).read_text()
