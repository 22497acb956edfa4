"""`maintain` and `install cron` as somebody types them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from memctl.store.memory import open_memory
from memctl.write import install
from tests.conftest import Memctl, commits, git

LONG_AGO = "2024-12-01T00:00:00Z"


@pytest.fixture
def due(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> str:
    """A learning that nobody has retrieved for 338 days."""
    with monkeypatch.context() as patch:
        patch.setenv("MEMCTL_NOW", LONG_AGO)
        return memctl("learn", "Nobody reads this").id


def test_maintain_reports_changes_with_reasons(repo: Path, memctl: Memctl, due: str) -> None:
    expected = f"archive {due}: never retrieved, 338 days old\nmaintain 1 archived\n"
    assert memctl("maintain", "-n").out == "".join(f"would {line}\n" for line in expected.splitlines())
    assert memctl("maintain", "--reason", "as agreed").out == expected
    assert git(repo, "log", "-1", "--format=%B").strip() == (
        "docs(memory): maintain 1 archived\n"
        "\n"
        "Memctl-Op: maintain\n"
        f"Memctl-Id: {due}\n"
        f"Memctl-Record: archive {due}: never retrieved, 338 days old\n"
        "Memctl-Actor: claude\n"
        "Memctl-Reason: as agreed"
    )
    assert memctl("maintain").out == "nothing to change\n"


def test_a_record_that_is_due_but_kept_is_counted(memctl: Memctl, due: str) -> None:
    memctl("edit", due, "--set", "importance=9")
    assert (
        memctl("maintain").out
        == "nothing to change\nnot changed, though old enough: 1 record; `memctl maintain --dry-run` says why\n"
    )
    why = f"would not archive {due} (never retrieved, 338 days old): it has importance 9\n"
    assert memctl("maintain", "--dry-run").out == why + "nothing to change\n"


def test_a_pending_change_is_reported(repo: Path, memctl: Memctl) -> None:
    (repo / ".git" / "MERGE_HEAD").touch()
    memctl("learn", "Waits")
    (repo / ".git" / "MERGE_HEAD").unlink()
    assert "commit pending: an earlier change is not committed" in memctl("maintain").err


def test_install_cron_prints_a_line_that_cron_can_run(repo: Path, memctl: Memctl, due: str) -> None:
    odd = repo.parent / "it's 100% $HOME"
    repo.rename(odd)
    line = memctl("install", "cron", where=odd).out
    minute, hour, *days = line.split(" ", 5)[:5]
    assert 0 <= int(minute) < 60
    assert (hour, days) == ("3", ["*", "*", "*"])
    command = line.split(" ", 5)[5]
    assert "%" not in command.replace("\\%", "")
    before = commits(odd)
    run = subprocess.run(["sh", "-c", command.replace("\\%", "%")], cwd="/", env=dict(os.environ), capture_output=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
    assert commits(odd) == before + 1


@pytest.mark.parametrize("service", ["github", "gitlab"])
def test_install_cron_prints_a_job_for_ci(repo: Path, memctl: Memctl, service: str) -> None:
    text = memctl("install", "cron", "--for", service).out
    assert yaml.safe_load(text)
    assert "memctl -C . maintain" in text
    assert "pip install git-memctl" not in text
    assert memctl("install", "cron", "--for", service, "--json").data == {"what": "cron", "for": service, "text": text}


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("", "git-memctl==1.2"),
        ('{"url": "file:///src/memctl", "dir_info": {}}', "$MEMCTL_ORIGIN"),
        ('{"url": "https://host/memctl.whl", "archive_info": {}}', "https://host/memctl.whl"),
        ('{"url": "https://host/m.git", "vcs_info": {"vcs": "git", "commit_id": "a1"}}', "git+https://host/m.git@a1"),
    ],
)
def test_a_ci_job_installs_memctl_from_the_source_of_the_running_one(
    repo: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, origin: str, expected: str
) -> None:
    package = tmp_path / "site" / "git_memctl-1.2.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: git-memctl\nVersion: 1.2\n")
    if origin:
        (package / "direct_url.json").write_text(origin)
    monkeypatch.syspath_prepend(str(package.parent))
    job = memctl("install", "cron", "--for", "gitlab")
    assert yaml.safe_load(job.out)["memory"]["variables"]["MEMCTL"] == expected
    assert ("set the CI variable MEMCTL_ORIGIN" in job.err) == (expected == "$MEMCTL_ORIGIN")


def test_a_folder_that_would_break_the_line_is_refused(repo: Path, memctl: Memctl) -> None:
    odd = repo.parent / "two\nlines"
    repo.rename(odd)
    assert "contains control characters" in memctl("install", "cron", where=odd, code=1).err


def test_options_that_do_not_belong_are_refused(repo: Path, memctl: Memctl) -> None:
    assert "crontab" in memctl("install", "cron", "--uninstall", code=2).err
    assert "install cron" in memctl("install", "git", "--for", "github", code=2).err
    assert install.schedule(open_memory(repo, os.environ), "crontab", "").split(" ", 6)[5] == "memctl"
