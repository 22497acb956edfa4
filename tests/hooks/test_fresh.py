"""No pack is older than the last write, whoever wrote: memctl, an editor, or Git."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.conftest import Memctl, git
from tests.hooks.session import Session

FIRST, SECOND = "Carts stay in Redis", "Carts stay in MySQL"  # of one length: only the content tells them apart


class Starts:
    """Sessions that start one after the other in a repository with one decision, and the texts that they get."""

    def __init__(self, repo: Path, file: Path, memctl: Memctl) -> None:
        (repo / "cart.py").write_text("x = 1\n")
        git(repo, "add", "cart.py")
        git(repo, "commit", "-qm", "code")
        self.repo, self.memctl, self._file, self._number = repo, memctl, file, 0
        self.id = memctl("decide", FIRST, "--rationale", "Fast.", "--code", "cart.py").id
        self.record = next((repo / ".memory/decisions").rglob(f"{self.id}*"))

    def start_text(self) -> str:
        self._number += 1
        return Session(self.repo, self._file, f"session-{self._number}").context("SessionStart", source="startup")

    def shows(self, title: str) -> bool:
        """Whether a start shows the decision with this title, and no other."""
        text, other = self.start_text(), SECOND if title == FIRST else FIRST
        return title in text and other not in text

    def text(self, title: str) -> str:
        return self.record.read_text().replace(FIRST, title).replace(SECOND, title)


@pytest.fixture
def starts(repo: Path, tmp_path: Path, memctl: Memctl) -> Starts:
    made = Starts(repo, tmp_path / "s.jsonl", memctl)
    assert made.shows(FIRST)
    return made


def test_change_by_memctl_is_in_the_next_start(starts: Starts) -> None:
    starts.memctl("edit", starts.id, "--set", f"title={SECOND}", "--allow-accepted")
    assert starts.shows(SECOND)
    starts.memctl("edit", starts.id, "--set", f"title={FIRST}", "--allow-accepted", "--no-commit")
    assert starts.shows(FIRST)
    starts.memctl("archive", starts.id)
    assert FIRST not in starts.start_text()
    starts.memctl("unarchive", starts.id)
    assert starts.shows(FIRST)
    starts.memctl("learn", "Redis forgets", "--lesson", "At night.")
    assert "Redis forgets" in starts.start_text()


def test_change_by_an_editor_is_in_the_next_start(starts: Starts) -> None:
    status = starts.record.stat()
    starts.record.write_text(starts.text(SECOND))
    os.utime(starts.record, ns=(status.st_atime_ns, status.st_mtime_ns))  # in place, of one size and one date
    assert starts.shows(SECOND)
    assert "(edited since)" in starts.start_text()
    beside = starts.record.with_name("beside")
    beside.write_text(starts.text(FIRST))
    os.utime(beside, (1, 1))  # older than what it replaces
    os.replace(beside, starts.record)
    assert starts.shows(FIRST)
    kept = starts.record.read_text()
    starts.record.unlink()
    assert FIRST not in starts.start_text()
    starts.record.write_text(kept.replace("status: accepted", "status: rejected"))
    assert FIRST not in starts.start_text()
    starts.record.write_text(kept)
    assert starts.shows(FIRST)
    (starts.repo / "cart.py").write_text("x = 2\n")
    assert "cart.py (changed since)" in starts.start_text()
    (starts.repo / "cart.py").unlink()
    assert "cart.py (gone)" in starts.start_text()


def test_change_by_git_is_in_the_next_start(starts: Starts) -> None:
    repo = starts.repo
    git(repo, "checkout", "-qb", "side")
    starts.record.write_text(starts.text(SECOND))
    git(repo, "commit", "-qam", "by hand")
    commit = git(repo, "rev-parse", "--short=10", "HEAD").strip()
    assert starts.shows(SECOND)
    assert commit in starts.start_text()
    git(repo, "checkout", "-q", "-")
    assert starts.shows(FIRST)
    (repo / "cart.py").write_text("x = 3\n")
    git(repo, "commit", "-qam", "code again")
    assert "cart.py (changed since)" in starts.start_text()
    git(repo, "merge", "-q", "--no-edit", "side")
    assert starts.shows(SECOND)
    git(repo, "reset", "-q", "--hard", "HEAD~1")
    assert starts.shows(FIRST)
    git(repo, "checkout", "-q", "side", "--", ".memory")
    assert starts.shows(SECOND)
    git(repo, "stash", "-q")
    assert starts.shows(FIRST)
    git(repo, "stash", "pop", "-q")
    assert starts.shows(SECOND)
    git(repo, "rm", "-qf", str(starts.record))
    assert FIRST not in starts.start_text()


def test_broken_sessions_do_not_prevent_the_summary_of_others(session: Session) -> None:
    session.transcript.prompt("Refund an order")
    session.transcript.says("DECISION: Round half to even, because the bank does so.")
    session.transcript.call("Write", "created", file_path=str(session.repo / "card.py"), content="")
    session.file.write_text(session.transcript.text)
    gone = json.dumps(["claude-code", str(session.file), str(session.repo), 2**22 + 1])  # no process has that number
    for age, name in enumerate(("broken1", "broken2", "broken3", "whole")):
        folder = session.root / "sessions" / name
        folder.mkdir(parents=True)
        (folder / "alive.json").write_text(gone)
        if name != "whole":
            (folder / "state.json").mkdir()  # nothing can be known of it
        os.utime(folder, (2e9 - age, 2e9 - age))
    assert "Round half to even" in session.context("SessionStart", source="startup")


def test_a_start_says_what_a_sparse_checkout_leaves_out(repo: Path, tmp_path: Path, memctl: Memctl) -> None:
    memctl("learn", "Redis forgets", "--lesson", "At night.")
    git(repo, "sparse-checkout", "set", "--no-cone", "/*", "!/.memory/learnings")
    text = Session(repo, tmp_path / "s.jsonl", "sparse").context("SessionStart", source="startup")
    assert "1 record or page of HEAD is not checked out here (sparse checkout), so the text above is incomplete" in text
    assert "Redis forgets" in memctl("rehydrate", "--at", "HEAD").out


def test_init_writes_over_no_memory_that_is_not_checked_out(repo: Path, memctl: Memctl) -> None:
    before = git(repo, "rev-parse", "HEAD")
    git(repo, "update-index", "--refresh")  # or it would leave the files of a copied repository where they are
    git(repo, "sparse-checkout", "set", "--cone", "elsewhere")
    assert "which is not checked out here" in memctl("init", code=1).err
    assert git(repo, "rev-parse", "HEAD") == before
