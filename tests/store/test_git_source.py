"""Memories read from Git, in the index or at a revision."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from memctl.errors import MemctlError
from memctl.git import index
from memctl.record.errors import InvalidRecord
from memctl.record.snapshot import Snapshot
from memctl.store import git_source, load
from memctl.store.cache import Cache
from memctl.store.files import MAX_BYTES
from memctl.store.memory import open_memory
from tests.conftest import Memctl, Once, git, slow


def staged(repo: Path) -> Snapshot:
    return load.index(open_memory(repo, os.environ))


def at(repo: Path, revision: str = "HEAD") -> Snapshot:
    return load.revision(open_memory(repo, os.environ), revision)


def titles(snapshot: Snapshot) -> list[str]:
    return [record.title for record in snapshot.records]


@pytest.fixture
def memory(repo: Path, memctl: Memctl, once: Once) -> Path:
    def make() -> None:
        memctl("decide", "First", "--rationale", "a lesson")
        memctl("section", "add", "Payment")

    once(make)
    return repo


def test_sources_agree_when_everything_is_committed(memory: Path) -> None:
    disk = load.disk(open_memory(memory, os.environ))
    for snapshot, name in ((staged(memory), "index"), (at(memory), "HEAD")):
        assert snapshot.source == name
        assert (snapshot.records, snapshot.faults, snapshot.outline) == (disk.records, disk.faults, disk.outline)
        assert (snapshot.config, snapshot.prefix) == (disk.config, disk.prefix)
        assert snapshot.names("") == disk.names("")
        assert snapshot.names("sections") == ["sections/2.1-payment.md"]
        assert all(snapshot.read(path) == disk.read(path) for path in disk.names(""))
        assert [hit.path for hit in snapshot.texts.match("lesson")] == [disk.records[0].path]
        assert snapshot.body(snapshot.records[0]) == disk.body(disk.records[0])


def test_each_source_has_its_own_state(memory: Path, memctl: Memctl) -> None:
    git(memory, "tag", "v1")
    memctl("decide", "Second")
    file = memory / memctl("decide", "Third", "--no-commit").out.split()[1]
    assert titles(at(memory, "v1")) == ["First"]
    assert titles(at(memory)) == titles(staged(memory)) == ["First", "Second"]
    git(memory, "add", str(file))
    file.write_text(file.read_text().replace("title: Third", "title: Changed since"))
    assert titles(staged(memory)) == ["First", "Second", "Third"]
    assert titles(load.disk(open_memory(memory, os.environ))) == ["First", "Second", "Changed since"]
    config = memory / ".memory" / "config.yaml"
    config.write_text(config.read_text() + "docs: false\nmodel: gpt-5\n")
    git(memory, "add", str(config))
    assert (staged(memory).config.docs, staged(memory).config.model) == (False, "gpt-5")
    assert at(memory).config.docs


def test_path_missing_in_git_is_not_found(memory: Path) -> None:
    for snapshot in (staged(memory), at(memory)):
        with pytest.raises(FileNotFoundError):
            snapshot.read("sections/2.9-none.md")
        with pytest.raises(FileNotFoundError):
            snapshot.read("../app.py")
        assert snapshot.names("nothing") == []
        assert snapshot.names("section") == []  # the beginning of a folder's name is no folder
    with pytest.raises(MemctlError, match="no revision"):
        at(memory, "nowhere")


def test_odd_files_are_faults_and_hide_no_record(memory: Path) -> None:
    folder = memory / ".memory" / "decisions" / "2025-11"
    (folder / "DEC-2025-11-04-002-link.md").symlink_to("/etc/hostname")
    (folder / "DEC-2025-11-04-003-huge.md").write_bytes(b"x" * (MAX_BYTES + 1))
    (folder / "DEC-2025-11-04-004-latin.md").write_bytes(b"---\ntitle: gr\xf6\xdfe\n---\n")
    (folder / "DEC-2025-11-04-005-broken.md").write_text("no record\n")
    (memory / ".memory" / "sections" / "2.2-link.md").symlink_to("2.1-payment.md")
    (memory / ".memory" / "sections" / "2.3-latin.md").write_bytes(b"\xff\n")
    git(memory, "add", "-A", ".memory")
    said = {
        "002": "is not a regular file",
        "003": "bytes; memctl reads at most",
        "004": "not UTF-8",
        "005": "front matter",
    }
    for stage in range(2):
        snapshot = staged(memory) if not stage else at(memory)
        assert titles(snapshot) == ["First"]
        assert {fault.path[33:36]: True for fault in snapshot.faults} == dict.fromkeys(said, True)
        assert all(said[fault.path[33:36]] in fault.message for fault in snapshot.faults)
        assert [page.id for page in snapshot.outline.pages] == ["§2.1"]
        assert [fault.path for fault in snapshot.outline.faults] == ["sections/2.2-link.md", "sections/2.3-latin.md"]
        with pytest.raises(InvalidRecord):
            snapshot.read("sections/2.2-link.md")
        git(memory, "commit", "-qm", "odd", "--allow-empty")


def test_conflict_in_the_index_is_a_fault_of_one_file(memory: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Common")
    path = made.out.split()[1]
    git(memory, "checkout", "-qb", "side")
    memctl("edit", made.id, "--set", "importance=9", "--set", "title=Side")
    git(memory, "checkout", "-q", "main")
    memctl("edit", made.id, "--set", "title=Main")
    git(memory, "config", "merge.memctl-record.driver", "false")
    git(memory, "merge", "side", check=False)
    assert git(memory, "ls-files", "-u", "--", path)
    snapshot = staged(memory)
    assert titles(snapshot) == ["First"]
    assert [f".memory/{fault.path}" for fault in snapshot.faults] == [path]


def test_revision_before_the_memory_is_empty(memory: Path) -> None:
    first = git(memory, "rev-list", "--max-parents=0", "HEAD").strip()
    snapshot = at(memory, first)
    assert (snapshot.records, snapshot.outline.pages, snapshot.names("")) == ((), (), [])
    assert snapshot.config.project == "shop"
    assert snapshot.files.names() == {"app.py"}
    assert (snapshot.catalogue.latest(), snapshot.catalogue.tags()) == (None, [])


def test_reading_a_revision_writes_only_cache_and_search_index(memory: Path) -> None:
    def state() -> tuple[object, ...]:
        private = memory / ".git" / "memctl"
        kept = {
            str(file): file.read_bytes()
            for file in private.rglob("*")
            if file.is_file() and not file.name.startswith(("cache", "index"))
        }
        return kept, (memory / ".git" / "index").read_bytes(), git(memory, "for-each-ref")

    before = state()
    for snapshot in (staged(memory), at(memory)):
        assert (snapshot.records, snapshot.outline, snapshot.catalogue.tags(), snapshot.files.names()) is not None
        assert snapshot.texts.match("lesson")
    assert state() == before


@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
def test_index_reads_the_same_with_and_without_a_worktree_cache(memory: Path, memctl: Memctl, seed: int) -> None:
    """Records that are in the worktree what they are in the index are not read again."""
    chance = random.Random(seed)
    for number in range(6):
        memctl("learn", f"Lesson {number}", "--lesson", "text")
    folder = memory / ".memory" / "learnings" / "2025-11"
    for turn in range(12):
        file = chance.choice(sorted(folder.glob("*.md")))
        action = chance.randrange(6)
        if action == 0:
            file.unlink()
        elif action == 1:
            git(memory, "rm", "-q", "--cached", str(file), check=False)
        elif action == 2:
            git(memory, "checkout", "-q", "HEAD", "--", ".memory")
        elif action == 3:
            git(memory, "add", "-A", ".memory")
        else:
            file.write_text(file.read_text().replace("text", f"text {turn}" if action == 4 else "---\ntext"))
        snapshot = staged(memory)
        cached = snapshot.records, snapshot.faults, snapshot.catalogue.mentions(), hits(snapshot, "text")
        shutil.rmtree(memory / ".git" / "memctl")
        entries = index.entries(open_memory(memory, os.environ).repository, ".memory")
        fresh = Snapshot(
            git_source.InGit(open_memory(memory, os.environ), "index", entries, "", lambda: (Cache.open(None), set()))
        )
        assert cached == (fresh.records, fresh.faults, fresh.catalogue.mentions(), hits(fresh, "text")), (turn, action)


def hits(snapshot: Snapshot, query: str) -> list[tuple[str, float]]:
    return sorted((hit.path, round(hit.text, 6)) for hit in snapshot.texts.match(query))
