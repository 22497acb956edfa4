"""Completion in the shells that are here: of `memctl`, and of `git memctl`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Memctl


@pytest.fixture
def on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def shell(folder: Path, name: str, script: str) -> list[str]:
    """The lines that a script of a shell prints; the test is skipped where there is no such shell."""
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name} here")
    return subprocess.run([name, "-c", script], cwd=folder, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.usefixtures("on_path")
def test_bash_completes_memctl_and_git_memctl(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    script = memctl("completion", "bash").out
    asked = "COMP_WORDS=(memctl list --section 2); COMP_CWORD=3; _memctl_completion memctl"
    assert shell(repo, "bash", f"{script}\n{asked}\necho ${{COMPREPLY[@]}}") == ["2.1"]
    asked = "words=(git -C . memctl list --section 2); cword=6; __git_cmd_idx=3; _git_memctl"
    assert shell(repo, "bash", f"{script}\n{asked}\necho ${{COMPREPLY[@]}}") == ["2.1"]


@pytest.mark.usefixtures("on_path")
def test_fish_completes_memctl_and_git_memctl(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    script = memctl("completion", "fish").out
    for line in ("memctl list --section 2", "git memctl list --section 2"):
        assert "2.1" in shell(repo, "fish", f"{script}\ncomplete --do-complete '{line}'"), line


@pytest.mark.usefixtures("on_path")
def test_zsh_takes_the_script(repo: Path, memctl: Memctl) -> None:
    script = memctl("completion", "zsh").out
    shown = shell(repo, "zsh", f"autoload -U compinit; compinit -D\n{script}\nwhence -w _git-memctl _memctl_completion")
    assert shown == ["_git-memctl:", "function", "_memctl_completion:", "function"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("help rec", "plain,recording"),
        ("help redac", "plain,redact"),
        ("decide --file ", "file,"),
        ("why src/", "file,src/"),
        ("import adr docs", "file,docs"),
        ("check --select MEM30", "plain,MEM301"),
        ("edit LRN --set sev", "plain,severity="),
    ],
)
def test_bash_completion_offers_subjects_files_and_fixed_values(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch, words: str, wanted: str
) -> None:
    line = f"memctl {words}"
    told = {"_MEMCTL_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    printed = subprocess.run(
        [sys.executable, "-m", "memctl"], cwd=repo, capture_output=True, text=True, env={**os.environ, **told}
    )
    assert printed.stdout.splitlines()[:1] == [wanted]
