"""`check` finds credentials in all that Git would commit of the memory, without repeating them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memctl.check import credentials
from tests.conftest import Memctl, git

TOKEN = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"
KEY = "AK" + "IA" + "Z7Q2M4X6B8N1V3C5"
PAGE = ".memory/sections/2.1-payment.md"
TEXT = f"---\nid: §2.1\ntitle: Payment\n---\n\n## Overview\n\nAsk with {TOKEN} or {KEY}, or {TOKEN}.\n"


@pytest.fixture
def page(repo: Path) -> Path:
    file = repo / PAGE
    file.parent.mkdir(exist_ok=True)
    file.write_text(TEXT)
    return file


def found(memctl: Memctl, *options: str) -> list[tuple[str, int]]:
    rows = memctl("check", "--json", "--select", "MEM110", *options, code=None).data["findings"]
    return [(row["path"], row["line"]) for row in rows]


def test_each_credential_is_a_finding_with_at_most_four_characters(memctl: Memctl, page: Path) -> None:
    assert found(memctl) == [(PAGE, 8)] * 3
    for style in ("text", "json", "github", "sarif"):
        printed = memctl("check", "--select", "MEM110", "--format", style, code=1)
        assert "ghp_…" in printed.out
        for secret in (TOKEN, KEY):
            assert secret[:5] not in printed.out + printed.err


def test_staged_and_committed_credentials_are_found_when_the_disk_has_none(
    memctl: Memctl, repo: Path, page: Path
) -> None:
    git(repo, "add", "-A")
    page.unlink()
    assert found(memctl) == []
    assert found(memctl, "--staged") == [(PAGE, 8)] * 3
    git(repo, "commit", "-qm", "page")
    assert found(memctl, "--at", "HEAD") == [(PAGE, 8)] * 3
    assert found(memctl, "--at", "HEAD~1") == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "binary"])
def test_credential_in_a_file_that_is_not_utf8_is_found(memctl: Memctl, repo: Path, encoding: str) -> None:
    text = f"key\n{TOKEN}\n"
    data = b"\0\xff\xfe" + text.encode() if encoding == "binary" else text.encode(encoding)
    (repo / ".memory/notes.txt").write_bytes(data)
    git(repo, "add", "-A")
    assert found(memctl) == found(memctl, "--staged") == [(".memory/notes.txt", 2)]


def test_the_pre_commit_hook_refuses_a_page_with_a_credential(memctl: Memctl, repo: Path, page: Path) -> None:
    memctl("install", "git", code=None)
    git(repo, "add", "-A")
    before = git(repo, "rev-parse", "HEAD")
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    made = subprocess.run(["git", "commit", "-m", "page"], cwd=repo, env=env, capture_output=True, text=True)
    assert made.returncode != 0
    assert "MEM110" in made.stdout + made.stderr
    assert TOKEN not in made.stdout + made.stderr
    assert git(repo, "rev-parse", "HEAD") == before


def test_clean_texts_are_searched_once(memctl: Memctl, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo / ".memory/templates").mkdir()
    (repo / ".memory/templates/decision.md").write_text("## Decision\n")
    searched: list[str] = []
    find = credentials.credentials.find
    monkeypatch.setattr(credentials.credentials, "find", lambda text: searched.append(text) or find(text))
    memctl("check", code=None)
    assert "## Decision\n" in searched
    searched.clear()
    memctl("learn", "Retries need a limit", "--lesson", "three")
    memctl("check", code=None)
    memctl("check", "--staged", code=None)
    assert "## Decision\n" not in searched
    (repo / ".memory/templates/decision.md").write_text(f"## Decision\n\n{TOKEN}\n")
    assert found(memctl) == [(".memory/templates/decision.md", 3)]


def test_credential_in_a_records_file_name_is_found_and_not_committed(memctl: Memctl, repo: Path) -> None:
    memctl("learn", "Ask", "--lesson", "x")
    (made,) = (repo / ".memory" / "learnings").rglob("*-ask.md")
    bad = made.with_name(f"{made.stem}-{TOKEN}.md")
    made.rename(bad)
    assert (bad.relative_to(repo).as_posix(), 1) in found(memctl)
    refused = memctl("commit", code=1)
    assert "file name: line 1 looks like a credential" in refused.out + refused.err
    assert TOKEN not in git(repo, "log", "--all", "--name-only")


def test_the_first_credentials_of_a_file_are_listed_and_the_rest_counted(memctl: Memctl, page: Path) -> None:
    page.write_text(TEXT + f"{TOKEN}\n" * 5_000)
    assert len(found(memctl)) == 21
    assert "4,983 more places with what looks like a credential" in memctl("check", code=1).out


def test_false_alarm_in_a_manual_edit_is_committed_with_allow_secret(memctl: Memctl, repo: Path, page: Path) -> None:
    refused = memctl("commit", code=1)
    assert "--allow-secret" in refused.out + refused.err
    memctl("commit", "--allow-secret")
    assert TOKEN in git(repo, "show", "HEAD")
