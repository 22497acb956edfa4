"""The index: it says what the files say, whatever happens to it, to them, or to who makes it."""

from __future__ import annotations

import ctypes
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from memctl.record.kinds import KINDS
from memctl.record.source import CHECKPOINT, PAGE, SESSION
from memctl.store import cache, load, search_index
from memctl.store.memory import Memory, open_memory
from tests.conftest import Memctl, Once, git, slow

EVERY = (*KINDS, PAGE, SESSION, CHECKPOINT)
Hits = list[tuple[str, str, float, str]]


def opened(repo: Path) -> Memory:
    return open_memory(repo, os.environ)


def file_of(repo: Path) -> Path:
    return repo / ".git" / "memctl" / search_index.NAME


def hits(repo: Path, query: str, *, at: str | None = None, memory: Memory | None = None) -> Hits:
    """What matches, with the score of its own text and with what it belongs."""
    memory = memory or opened(repo)
    snapshot = load.disk(memory) if at is None else load.revision(memory, at)
    found = snapshot.texts.match(query, kinds=EVERY)
    linked: dict[int, list[str]] = {hit.number: [hit.thread] for hit in found}
    for number, key in snapshot.texts.links(list(linked)):
        linked[number].append(key)
    return sorted((hit.kind, hit.key, round(hit.text, 9), " ".join(linked[hit.number])) for hit in found)


def keys(repo: Path, query: str, *, at: str | None = None) -> list[str]:
    return [key for _, key, _, _ in hits(repo, query, at=at)]


def in_memory(repo: Path, query: str) -> Hits:
    """The same by an index that is made anew."""
    file, aside = file_of(repo), file_of(repo).with_name("aside")
    if file.exists():
        file.rename(aside)
    found = hits(repo, query)
    cache.discard(file)
    if aside.exists():
        aside.rename(file)
    return found


@pytest.fixture
def shop(repo: Path, memctl: Memctl, once: Once) -> Path:
    def make() -> None:
        memctl("section", "add", "Billing", "--overview", "Zebra invoices are quarterly.")
        text = "## Rounding\n\nHalf a cent goes up.\n\n## Refunds\n\nThe zebra pays back.\n"
        memctl("detail", "add", "Invoices", "--section", "2.1", "--file", "-", stdin=text)
        memctl("learn", "Cards expire", "--lesson", "zebra crossing", "--section", "2.1")
        memctl("decide", "Use a queue", "--rationale", "the zebra waits", "--relates-to", "LRN-2025-11-04-001")
        memctl("checkpoint", "save", "--workflow", "w", "--task", "Refunds", "--doing", "Zebra cards", "--next", "Mail")

    once(make)
    return repo


def test_every_kind_is_found_and_says_what_it_is(shop: Path) -> None:
    found = [(kind, key) for kind, key, _, _ in hits(shop, "zebra")]
    assert [kind for kind, _ in found] == ["checkpoint", "decision", "learning", "page", "page"]
    assert [key for _, key in found][1:] == ["DEC-2025-11-04-001", "LRN-2025-11-04-001", "§2.1", "§3.1.2"]


def test_an_unchanged_memory_is_searched_without_a_write(shop: Path) -> None:
    before = hits(shop, "zebra"), file_of(shop).read_bytes(), os.stat(file_of(shop)).st_mtime_ns
    assert (hits(shop, "zebra"), file_of(shop).read_bytes(), os.stat(file_of(shop)).st_mtime_ns) == before


def test_a_write_does_not_open_the_index(shop: Path, memctl: Memctl) -> None:
    hits(shop, "zebra")
    before = file_of(shop).read_bytes()
    file_of(shop).chmod(0)
    memctl("learn", "Zebras sleep", "--lesson", "standing")
    file_of(shop).chmod(0o600)
    assert file_of(shop).read_bytes() == before
    assert "LRN-2025-11-04-002" in keys(shop, "zebras")


def test_search_finds_the_newest_checkpoint_of_a_workflow(shop: Path, memctl: Memctl) -> None:
    memctl("checkpoint", "save", "--workflow", "w", "--task", "Refunds", "--doing", "Zebra mails", "--next", "Rest")
    assert [key[:7] for kind, key, _, _ in hits(shop, "zebra") if kind == CHECKPOINT] == ["w-w1-v2"]


@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
def test_an_index_that_follows_changes_is_as_one_made_anew(shop: Path, memctl: Memctl, seed: int) -> None:
    chance = random.Random(seed)
    hits(shop, "zebra")
    for _ in range(9):
        files = sorted((shop / ".memory").rglob("*/*.md"))
        files = [file for file in files if "docs" not in file.parts and "checkpoints" not in file.parts]
        action, file = chance.randrange(6), chance.choice(files)
        if action == 0:
            memctl(
                "learn",
                f"Lesson {chance.random()}",
                "--lesson",
                "a zebra",
                "--relates-to",
                "LRN-2025-11-04-001",
                code=None,
            )
        elif action == 1:
            file.unlink()
        elif action == 2:
            git(shop, "checkout", "-q", "HEAD", "--", ".memory")
        elif action == 3:
            git(shop, "stash", "-qu", check=False)
        else:
            file.write_text(file.read_text() + f"\nOf a zebra {chance.random()}.\n")
        assert hits(shop, "zebra") == in_memory(shop, "zebra")


def test_entries_are_linked_with_their_page_and_with_what_they_name_and_parts_of_a_page_are_one_thread(
    shop: Path,
) -> None:
    texts = load.disk(opened(shop)).texts
    found = {hit.number: hit for hit in texts.match("zebra cent invoices", kinds=EVERY)}
    threads = {hit.key: hit.thread for hit in found.values()}
    assert threads["§3.1"] == threads["§3.1.1"] == threads["§3.1.2"] == "§3.1"
    links = {(found[number].key, key) for number, key in texts.links(list(found))}
    lesson, decision = "LRN-2025-11-04-001", "DEC-2025-11-04-001"
    assert links == {("§3.1", "§2.1"), (lesson, "§2.1"), (lesson, decision), (decision, lesson)}


def damaged(change: Callable[[sqlite3.Connection], object]) -> Callable[[Path], object]:
    def damage(file: Path) -> None:
        database = sqlite3.connect(file)
        change(database)
        database.commit()
        database.close()

    return damage


def overwrite(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.seek(3 * 4096)
        stream.write(random.Random(0).randbytes(file.stat().st_size - 6 * 4096))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "cut": lambda file: os.truncate(file, file.stat().st_size // 2),
    "no database": lambda file: file.write_bytes(b"not a database at all" * 1000),
    "empty": lambda file: file.write_bytes(b""),
    "in the middle": overwrite,
    "no view": damaged(lambda database: database.execute("DROP TABLE views")),
    "older": damaged(lambda database: database.execute("PRAGMA user_version = 0")),
    "another form": damaged(lambda database: database.execute("UPDATE state SET value = 'x'")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_or_older_index_does_not_change_the_result(shop: Path, damage: str) -> None:
    before = hits(shop, "zebra")
    DAMAGES[damage](file_of(shop))
    assert hits(shop, "zebra") == before
    assert hits(shop, "zebra") == before
    assert file_of(shop).stat().st_mode & 0o777 == 0o600


def test_a_newer_index_is_left_alone(shop: Path) -> None:
    before = hits(shop, "zebra")
    damaged(lambda database: database.execute(f"PRAGMA user_version = {search_index.FORM + 1}"))(file_of(shop))
    newer, memory = file_of(shop).read_bytes(), opened(shop)
    assert hits(shop, "zebra", memory=memory) == before
    assert ["by a newer version of memctl" in remark for remark in memory.remarks] == [True]
    assert file_of(shop).read_bytes() == newer


def test_search_with_an_unwritable_git_directory_answers_with_a_warning(shop: Path, memctl: Memctl) -> None:
    before = hits(shop, "zebra")
    shutil.rmtree(shop / ".git" / "memctl")
    (shop / ".git" / "memctl").write_text("in the way")
    memory = opened(shop)
    assert hits(shop, "zebra", memory=memory) == before
    assert ["can't be written" in remark for remark in memory.remarks] == [True]
    assert "can't be written" in memctl("search", "zebra").err


def as_any_user() -> None:
    """Take from root what lets it pass over permissions (linux/prctl.h, linux/capability.h)."""
    prctl = ctypes.CDLL(None).prctl
    assert [prctl(24, capability, 0, 0, 0) for capability in (1, 2, 3)] == [0, 0, 0]


@pytest.mark.skipif(os.geteuid() != 0 or sys.platform != "linux", reason="only root can give files to somebody else")
@pytest.mark.parametrize("mode", [0o700, 0o755], ids=["closed", "not writable"])
@pytest.mark.parametrize("query", [["zebra"], ["print", "--type", "file"]], ids=["records", "files"])
def test_damaged_index_of_another_users_clone_is_searched_around(
    shop: Path, memctl: Memctl, mode: int, query: list[str]
) -> None:
    before = memctl("search", *query).out
    file_of(shop).write_bytes(b"not a database at all" * 1000)
    Path(f"{file_of(shop)}-journal").touch()
    os.chown(folder := shop / ".git" / "memctl", 54321, 54321)
    folder.chmod(mode)
    command = [sys.executable, "-m", "memctl", "search", *query]
    result = subprocess.run(command, cwd=shop, preexec_fn=as_any_user, capture_output=True, text=True)
    os.chown(folder, 0, 0)
    assert (result.returncode, result.stdout) == (0, before)
    assert f"{file_of(shop)} can't be " in result.stderr or f"{file_of(shop)} is damaged" in result.stderr


def test_search_during_a_write_uses_the_index_as_it_was(
    shop: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_TIMEOUT", 0.05)
    before = hits(shop, "zebra")
    memctl("learn", "Zebras sleep", "--lesson", "standing")
    other = sqlite3.connect(file_of(shop), isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    memory = opened(shop)
    assert hits(shop, "zebra", memory=memory) == before
    assert ["recent changes are not found yet" in remark for remark in memory.remarks] == [True]
    other.execute("COMMIT")
    other.execute("BEGIN EXCLUSIVE")  # not even readers get in
    memory = opened(shop)
    alone = hits(shop, "zebra", memory=memory)
    assert len(memory.remarks) == 1
    other.execute("COMMIT")
    other.close()
    assert hits(shop, "zebra") == alone != before


def test_hits_found_before_a_lock_keep_their_records(
    shop: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_TIMEOUT", 0.05)
    hits(shop, "zebra")
    memctl("decide", "Two queues", "--rationale", "one for each zebra")  # an index made anew numbers it before others
    texts = load.disk(opened(shop)).texts
    found = {hit.number: hit.key for hit in texts.match("zebra", kinds=EVERY)}
    before = texts.bodies(list(found))
    other = sqlite3.connect(file_of(shop), isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    after = texts.bodies(list(found))
    other.close()
    assert after == {number: before[number] for number in after}
    assert not texts.excerpts("zebra", list(found)).keys() - after.keys()


BUILDER = """
import os, sys
from memctl.store import load, search_index, search_views
from memctl.store.memory import open_memory
memory = open_memory(__import__("pathlib").Path(sys.argv[1]), os.environ)
forget = search_views._forget
def stop(database, *more, **rest):
    database.execute("PRAGMA cache_spill = 1")
    database.execute("CREATE TABLE filling (value)")
    database.executemany("INSERT INTO filling VALUES (randomblob(5000))", [()] * 20)
    forget(database, *more, **rest)
    print("within", flush=True)
    sys.stdin.read()
search_views._forget = stop
search_index._CACHE = 1
load.disk(memory).texts
"""


def test_a_builder_that_is_killed_leaves_the_index_as_it_was(shop: Path, memctl: Memctl) -> None:
    hits(shop, "zebra")
    memctl("learn", "Zebras sleep", "--lesson", "standing")
    builder = subprocess.Popen(
        [sys.executable, "-c", BUILDER, str(shop)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ
    )
    assert builder.stdout is not None
    assert builder.stdout.readline() == b"within\n"
    builder.send_signal(signal.SIGKILL)
    builder.communicate()
    assert Path(f"{file_of(shop)}-journal").stat().st_size > 0
    assert "LRN-2025-11-04-002" in keys(shop, "zebras")
    database = sqlite3.connect(file_of(shop))
    assert database.execute("SELECT name FROM sqlite_master WHERE name = 'filling'").fetchall() == []
    database.execute("INSERT INTO texts (texts) VALUES ('integrity-check')")
    database.close()
    assert hits(shop, "zebra") == in_memory(shop, "zebra")


def test_two_builders_at_once_make_one_index(shop: Path) -> None:
    file_of(shop).unlink(missing_ok=True)
    command = [sys.executable, "-m", "memctl", "-C", str(shop), "search", "zebra", "--json"]
    pipe = subprocess.PIPE
    both = [subprocess.Popen(command, stdout=pipe, stderr=pipe, env=os.environ) for _ in range(2)]
    (first, nothing), (second, no_remark) = (process.communicate() for process in both)
    assert (first, nothing, no_remark) == (second, b"", b"")  # neither searched in an index of its own
    database = sqlite3.connect(file_of(shop))
    assert database.execute("SELECT count(*) FROM views").fetchone() == (1,)
    [(count, different)] = database.execute("SELECT count(*), count(DISTINCT number) FROM live")
    assert count == different > 6
    database.close()
    assert hits(shop, "zebra") == in_memory(shop, "zebra")


def test_search_without_an_index_waits_for_the_process_that_builds_it(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "_TIMEOUT", 0.05)
    file_of(shop).unlink(missing_ok=True)
    search_index.SearchIndex.open(opened(shop)).database.close()  # tables, and no view yet
    builder = sqlite3.connect(file_of(shop), isolation_level=None, check_same_thread=False)
    builder.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, lambda: builder.execute("COMMIT")).start()
    memory = opened(shop)
    assert hits(shop, "zebra", memory=memory)
    assert memory.remarks == []
    builder.close()


def test_worktrees_on_different_branches_see_their_own(shop: Path, memctl: Memctl, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(shop, "worktree", "add", "-q", str(other), "-b", "other")
    memctl("learn", "Lanterns", "--lesson", "oil", where=other)
    memctl("learn", "Wicks", "--lesson", "cotton")
    assert (keys(other, "oil cotton"), keys(shop, "oil cotton")) == (["LRN-2025-11-04-002"], ["LRN-2025-11-04-003"])
    assert sorted(path.name for path in (shop / ".git").rglob("index.db")) == ["index.db"]
    git(shop, "worktree", "remove", "--force", str(other))
    assert keys(shop, "zebra", at="HEAD~1") == keys(shop, "zebra")
    memctl("learn", "Another", "--lesson", "thing")
    assert keys(shop, "oil") == []
    assert hits(shop, "zebra", at="other")  # a view more, which makes room
    database = sqlite3.connect(file_of(shop))
    names = [row[0].split()[:2] for row in database.execute("SELECT name FROM views WHERE name LIKE 'checkout %'")]
    database.close()
    assert names == [["checkout", "."]]


def test_few_views_of_revisions_are_kept_and_nothing_of_others(shop: Path, memctl: Memctl) -> None:
    for number in range(7):
        memctl("learn", f"Lantern {number}", "--lesson", f"burns {'oil ' * number}")
    for number in range(7):
        assert len(keys(shop, "lantern", at=f"HEAD~{number}")) == 7 - number
    memctl("edit", "LRN-2025-11-04-002", "--set", "title=Torch")
    assert len(keys(shop, "lantern")) == 6
    database = sqlite3.connect(file_of(shop))
    assert database.execute("SELECT count(*) FROM views").fetchone()[0] <= 5
    for table in ("entries", "links"):
        unused = f"SELECT * FROM {table} WHERE number NOT IN (SELECT number FROM live)"
        assert database.execute(unused).fetchall() == []
    database.close()


def test_staged_records_have_their_own_view(shop: Path) -> None:
    file = next((shop / ".memory" / "learnings").rglob("*.md"))
    file.write_text(file.read_text().replace("zebra", "okapi"))
    git(shop, "add", str(file))
    file.write_text(file.read_text().replace("okapi", "gnu"))
    staged = [hit.key for hit in load.index(opened(shop)).texts.match("okapi gnu")]
    assert (staged, keys(shop, "okapi"), keys(shop, "gnu")) == (["LRN-2025-11-04-001"], [], ["LRN-2025-11-04-001"])


def test_a_partial_clone_fetches_nothing(shop: Path, tmp_path: Path) -> None:
    git(shop, "config", "uploadpack.allowFilter", "true")
    before, clone = hits(shop, "zebra"), tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{shop}", str(clone))
    git(clone, "remote", "set-url", "origin", str(tmp_path / "gone"))
    assert hits(clone, "zebra") == before


def test_in_a_sha256_repository_blobs_are_those_of_git(tmp_path: Path, memctl: Memctl) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q", "--object-format=sha256", "-b", "main")
    memctl("init", where=fresh)
    memctl("learn", "Zebra", "--lesson", "stripes", where=fresh)
    assert keys(fresh, "stripes") == ["LRN-2025-11-04-001"] == keys(fresh, "stripes", at="HEAD")
    database = sqlite3.connect(file_of(fresh))
    listed = git(fresh, "ls-tree", "-r", "HEAD", ".memory")
    assert all(row[0] in listed and len(row[0]) == 64 for row in database.execute("SELECT blob FROM entries"))
    database.close()


@pytest.mark.parametrize("name", ["2.2-cafe\u0301.md", "2.2-CAFÉ.md"])
def test_names_in_other_forms_are_searched(shop: Path, name: str) -> None:
    for setting in ("core.ignoreCase", "core.precomposeUnicode"):
        git(shop, "config", setting, "true")
    page = shop / ".memory" / "sections" / name
    page.write_text("---\nid: §2.2\ntitle: Café\n---\n\n## Overview\n\nAn okapi.\n")
    for _ in range(2):
        assert (keys(shop, "okapi"), keys(shop, "cafe")) == (["§2.2"], ["§2.2"])
        git(shop, "add", "-A", ".memory")
        git(shop, "commit", "-qm", "page", check=False)
    page.unlink()
    assert keys(shop, "okapi") == []


def test_a_move_of_the_ref_of_sessions_is_followed(repo: Path, memctl: Memctl) -> None:
    git(repo, "config", "memctl.hookCommits", "records")
    memctl("checkpoint", "save", "--workflow", "w", "--task", "Okapis", "--doing", "Cards", "--next", "Mail")
    first = git(repo, "rev-parse", "refs/memctl/sessions").strip()
    assert [key[:7] for key in keys(repo, "okapis")] == ["w-w1-v1"]
    memctl("checkpoint", "save", "--workflow", "w", "--task", "Okapis", "--doing", "Mail", "--next", "Rest")
    assert [key[:7] for key in keys(repo, "okapis")] == ["w-w1-v2"]
    git(repo, "update-ref", "refs/memctl/sessions", first)
    assert [key[:7] for key in keys(repo, "okapis")] == ["w-w1-v1"]
    git(repo, "update-ref", "-d", "refs/memctl/sessions")
    assert keys(repo, "okapis") == []


@pytest.mark.parametrize("command", ["redact", "delete"])
def test_redacted_or_deleted_text_leaves_the_index(shop: Path, memctl: Memctl, tmp_path: Path, command: str) -> None:
    secret = "correct horse battery staple"
    made = memctl("learn", "A lesson", "--lesson", f"it is {secret}, as all know").id
    git(shop, "worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    assert keys(shop, "staple") == keys(tmp_path / "other", "staple") == keys(shop, "staple", at="HEAD") == [made]
    if command == "redact":
        memctl("redact", made, "--text", "-", stdin=secret)
        assert not any(secret.encode() in file.read_bytes() for file in (shop / ".git" / "memctl").rglob("index.db*"))
    else:
        memctl("delete", made)
    assert keys(shop, "staple") == []
    assert hits(shop, "zebra") == hits(shop, "zebra")
    assert keys(tmp_path / "other", "zebra")  # the view of the other worktree still has the record, but for a redaction
    git(shop, "worktree", "remove", "--force", str(tmp_path / "other"))
    for number in range(5):  # so many revisions that those with the record make room, and the view of the worktree
        memctl("learn", f"Lantern {number}")
        keys(shop, "zebra", at="HEAD")
    assert not any(word in file_of(shop).read_bytes() for word in (secret.encode(), b"battery", b"batteri"))


def test_withheld_paths_are_neither_found_nor_offered(shop: Path, memctl: Memctl) -> None:
    texts = load.disk(opened(shop)).texts
    lesson = texts.match("crossing")[0].path
    closed = texts.without([lesson, "details/3.1-invoices.md"])
    assert closed.match("crossing", kinds=EVERY) == []
    assert {hit.kind for hit in closed.match("zebra", kinds=EVERY)} == {"checkpoint", "decision", "page"}
    assert {hit.key for hit in closed.match("zebra", kinds=(PAGE,))} == {"§2.1"}
    assert (texts.substitutes("crosing"), closed.substitutes("crosing")) == ({"crosing": ("crossing",)}, {})
