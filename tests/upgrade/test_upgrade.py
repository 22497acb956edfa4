"""Projects as older versions of memctl left them (see `make`), used by the memctl of today: nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest

from memctl.cli.command_list import GROUPS, all_commands
from memctl.hooks import session_state
from memctl.record.config import FORMAT
from memctl.store.session_dir import SessionDir
from tests.checkpoints import having
from tests.conftest import Memctl, commits, copied, git, slow
from tests.upgrade.make import BEFORE_BATCHES, LIVE, PLACE, SESSION

ARCHIVES = sorted(Path(__file__).parent.glob("*.tar.xz"))
WAITING = ["Held on purpose", "Retries hide an exhausted pool", "Pending", "Cut off"]  # what waits, as it was written
READS = [
    ("check",),
    ("checkpoint", "list"),
    ("checkpoint", "resume"),
    ("checkpoint", "show"),
    ("coordination", "show"),
    ("event", "list"),
    ("event", "show"),
    ("export", "--all"),
    ("files", "--task", "refunds by card"),
    ("next",),
    ("handoff", "list"),
    ("handoff", "show", "HND-2025-11-06-001"),
    ("hook", "log"),
    ("hook", "stats"),
    ("impact", "src/card.py"),
    ("index",),
    ("list", "--all"),
    ("load",),
    ("log",),
    ("log", "DEC-2025-11-02-001"),
    ("diff", "LRN-2025-11-02-001"),
    ("own", "check", "§2.1"),
    ("own", "list"),
    ("prompt", "system"),
    ("prompt", "user", "refunds by card"),
    ("rehydrate",),
    ("rehydrate", "--format", "xml", "--task", "refunds"),
    ("search", "pool"),
    ("section", "list"),
    ("session", "list"),
    ("session", "probe", "talk"),
    ("session", "show", SESSION),
    ("session", "status"),
    ("show", "DEC-2025-11-02-001"),
    ("show", "§3.1"),
    ("status",),
    ("why", "src/card.py"),
]
# Others than these take no `--at`: they show what is in no commit, or name a revision themselves.
AT = ("check", "export", "index", "list", "prompt", "rehydrate", "search", "show", "why")
MAY_ASK_FOR_SOMETHING = ("check", "own", "session", "status")  # what waits, who owns: 1 says so to a script
WRITES: list[tuple[str, ...]] = [
    ("decide", "Two regions", "--rationale", "Latency", "--supersedes", "DEC-2025-11-02-001"),
    ("issue", "Slow", "--section", "2.2"),
    ("state", "Refunds", "--next", "Test"),
    ("learn", "Look first", "--lesson", "Then leap"),
    ("edit", "LRN-2025-11-02-001", "--add", "tags=pool"),
    ("link", "STA-2025-11-02-001", "DEC-2025-11-02-001"),
    ("resolve", "ISS-2025-11-02-001", "--resolution", "A queue"),
    ("reopen", "ISS-2025-11-02-002"),
    ("unarchive", "ISS-2025-11-02-002"),
    ("delete", "LRN-2025-11-03-001"),
    ("restore", "LRN-2025-11-03-002"),
    ("project", "set", "--status", "Refunds work"),
    ("section", "edit", "2.2", "--overview", "Everything there is to buy."),
    ("detail", "add", "Prices", "--section", "2.2"),
    ("undo",),
    ("checkpoint", "save", "--done", "DELETE", "--next", "Ship"),
    ("session", "end", "by-hand"),
    ("maintain",),
    ("handoff", "decline", "HND-2025-11-06-002", "--reason", "Busy"),
]
UPGRADE = ("upgrade", "--yes", "--allow-owned", "--reason", "Everybody has it")  # elena owns a section


@pytest.fixture(scope="module", params=ARCHIVES, ids=lambda archive: archive.name.partition(".")[0])
def unpacked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive as it is; tests get copies."""
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(request.param) as tar:
        tar.extractall(folder, filter="data")
    return folder


@pytest.fixture
def place(unpacked: Path, tmp_path: Path) -> Path:
    """A copy of what is in the archive. What names the place where it was made names this one.

    A clone can't be moved about otherwise.

    Git's hooks and merge drivers stay as they are, to the byte: the program that they name for want of one on the
    PATH is gone, as it is after an upgrade into another environment.
    """
    for folder in unpacked.iterdir():
        copied(folder, tmp_path / folder.name)
    move(PLACE, tmp_path)
    return tmp_path


def move(made: Path, place: Path) -> None:
    """Have what is in a place and names the one where it was made name this one."""
    for config in place.glob("*/.git/config"):
        url = git(config.parent, "remote", "get-url", "origin").strip().replace(f"{made}/", f"{place}/")
        git(config.parent, "remote", "set-url", "origin", url)
    old, new = str(made).encode(), str(place).encode()
    kept = [place / "home" / ".local", place / "shop" / ".git" / "memctl", place / "transcripts"]
    for file in (found for folder in kept for found in folder.rglob("*.json*")):
        data = file.read_bytes().replace(old, new)
        file.write_bytes(data)
        if file.parent.name == "installed":  # its name is made from the path of the settings that it is about
            path = json.loads(data)["path"].encode()
            file.rename(file.with_name(f"{blake2b(path, digest_size=12).hexdigest()}.json"))


@pytest.fixture
def repo(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project in it, a day after its last change; memctl is on the PATH, for hooks.

    Its user trusts the clone, and wants sessions' pages on the branch: the first version did not ask for either.
    """
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-09T09:00:00Z")
    monkeypatch.setenv("HOME", str(place / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    git(place / "shop", "config", "memctl.trusted", "true")
    git(place / "shop", "config", "memctl.hookCommits", "all")
    return place / "shop"


@pytest.fixture(scope="module")
def committed(unpacked: Path) -> dict[str, tuple[Path, Path]]:
    """Copies of a place in which what waited is committed, each with the place where it was made, by the format."""
    return {}


@pytest.fixture(params=["as-found", "upgraded"])
def form(request: pytest.FixtureRequest) -> str:
    """Whether `memctl upgrade` has brought a memory to the format of today."""
    return str(request.param)


@pytest.fixture
def settled(
    memctl: Memctl,
    place: Path,
    repo: Path,
    form: str,
    committed: dict[str, tuple[Path, Path]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """The project once what waited is committed."""
    if form in committed:
        kept, made = committed[form]
        shutil.rmtree(place)
        move(made, copied(kept, place))
        return repo
    memctl("commit")
    if form == "upgraded":
        memctl(*UPGRADE)
        memctl("commit")  # as the project wants it with each change
    kept = tmp_path_factory.mktemp("settled") / "place"
    shutil.copytree(place, kept, symlinks=True)
    committed[form] = kept, place
    return repo


@pytest.fixture
def is_first(request: pytest.FixtureRequest) -> bool:
    """Whether the project is of the version without batches."""
    return bool(request.node.callspec.params["unpacked"].name.startswith(BEFORE_BATCHES))


def titles(memctl: Memctl, *args: str) -> set[str]:
    return {record["title"] for record in memctl("list", "--all", "--limit", "0", "--json", *args).data["records"]}


def state(repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD") + git(repo, "for-each-ref") + git(repo, "status", "--porcelain")


@pytest.mark.parametrize("options", [(), ("--json",), ("--at", "HEAD~3")], ids=["text", "json", "at"])
def test_every_read_command_answers_and_writes_nothing(memctl: Memctl, repo: Path, options: tuple[str, ...]) -> None:
    before = state(repo)
    for command in READS:
        if options[:1] == ("--at",) and command[0] not in AT:
            continue
        result = memctl(*command, *options, stdin="Please load §3.1", code=None)
        assert result.code in ((0, 1) if command[0] in MAY_ASK_FOR_SOMETHING else (0,)), (command, result)
        assert result.out or command == ("check",), command
        assert "error:" not in result.err
        assert "warning:" not in result.err
        if options == ("--json",) and command[0] != "export":
            assert result.json["schema"] == 1
            assert "faults" not in result.json
    assert state(repo) == before


def test_reads_find_records_of_the_older_memctl(memctl: Memctl, repo: Path, is_first: bool) -> None:
    assert {"Adopt PostgreSQL", "Checkout times out", "Profile API", "Grüße: ünï¢ode works"} <= titles(memctl)
    assert memctl("show", "LRN-2025-11-02-001", "--json").data["records"][0]["content"] == {
        "lesson": "Look at the pool before all"
    }
    assert memctl("show", "STA-2025-11-02-001", "--json").data["records"][0]["completion_percentage"] == 80
    assert "Took money" not in memctl("show", "§2.1").out
    assert "Takes money and gives it back." in memctl("show", "§2.1").out
    assert "A shop that takes cards" in memctl("rehydrate").out
    assert memctl("checkpoint", "show", "--json").data["checkpoint_id"].startswith("main-w1-v3-")
    assert "TASK: Refunds" in memctl("checkpoint", "resume").out
    assert {page["session_id"] for page in memctl("session", "list", "--json").data["sessions"]} >= {SESSION, "talk"}
    assert "| `src/card.py` |" in memctl("session", "show", SESSION).out
    shared = memctl("coordination", "show", "--json").out
    for words in ("Refunds", "Write the refund worker", "Staging is down", "elena, until noon"):
        assert words in shared
    assert "Write tests" in memctl("handoff", "show", "HND-2025-11-06-001").out
    assert "phase_complete" in memctl("event", "list").out
    # Documents are laid out otherwise than the first version did, which is no error; one command renders them.
    findings = memctl("check", "--json").data["findings"]
    pages = {"2.1-payment.md", "2.2-catalogue.md", "3.1-cards.md"}
    earlier = {"INDEX.md", "1.0-executive-summary.md", "4-sources.md", *pages}
    stale = {one["path"].removeprefix(".memory/docs/") for one in findings if one["code"] == "MEM313"}
    assert stale == earlier if is_first else stale <= earlier
    memctl("render")
    assert "MEM313" not in memctl("check").out


def test_pending_changes_are_committed_in_order_with_their_messages(memctl: Memctl, repo: Path, is_first: bool) -> None:
    before = commits(repo)
    assert all(title in memctl("status", code=None).out for title in WAITING)
    memctl("commit")
    new = (f"-{commits(repo) - before}", "--reverse")
    if is_first:
        subjects = git(repo, "log", *new, "--format=%s").splitlines()
        found = [subject.split(" ", 3)[-1].removeprefix("(lesson) ") for subject in subjects[:4]]
        assert all(map(str.startswith, WAITING, (subject.removesuffix("…") for subject in found)))
    assert all(title in git(repo, "log", *new, "--format=%B") for title in WAITING)
    assert "pending:" not in memctl("status").out
    assert git(repo, "status", "--porcelain") == ""
    assert set(WAITING) <= titles(memctl, "--at", "HEAD")


def test_a_write_of_each_kind_is_one_commit(
    memctl: Memctl, settled: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    git(settled, "config", "memctl.commits", mode)
    monkeypatch.setenv("MEMCTL_AGENT", "elena")  # who owns the sections
    git(settled, "config", "core.hooksPath", os.devnull)  # which the tests of hooks below do run
    for command in WRITES:
        before = commits(settled)
        memctl(*command)
        if mode == "later":
            assert commits(settled) == before or command[0] == "handoff", command
            memctl("commit")
        assert commits(settled) == before + 1, command
        assert git(settled, "status", "--porcelain") == "", command


def test_write_commits_pending_but_not_held_changes_and_continues_the_ids(
    memctl: Memctl, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-08T10:00:00Z")
    git(repo, "config", "memctl.commits", "each")
    assert memctl("learn", "New", "--lesson", "Made by the memctl of today").id == "LRN-2025-11-08-004"
    assert {"New", "Pending", "Cut off"} <= titles(memctl, "--at", "HEAD")
    assert "Held on purpose" not in titles(memctl, "--at", "HEAD")
    memctl("commit")
    assert "Held on purpose" in titles(memctl, "--at", "HEAD")


def test_checkpoint_of_the_older_memctl_keeps_its_goal_steps_and_files(
    memctl: Memctl, repo: Path, is_first: bool
) -> None:
    (file,) = (repo / ".memory" / "checkpoints" / "main").glob("w1-v3-*.json")
    old = json.loads(file.read_text())
    saved = memctl("checkpoint", "show", "--json").data
    if is_first:
        old |= {"goal": old["mission"], "environment": {"head": old["head"]}, "files": old["files_touched"]}
        old["steps"] = [{"status": state, "text": text} for state in ("done", "in_progress") for text in old[state]]
        old["records"] = [*old["recorded_decisions"], *old["open_issues"], *old["learnings"]]
    assert (saved["goal"], saved["next_actions"]) == (old["goal"], old["next_actions"])
    steps, old_steps = ([(step["status"], step["text"]) for step in one["steps"]] for one in (saved, old))
    assert steps == old_steps
    assert [one["path"] for one in saved["files"]] == [one["path"] for one in old["files"]]
    assert [one["id"] for one in saved["records"]] == [one["id"] for one in old["records"]]
    assert saved["environment"]["head"] == old["environment"]["head"]
    text = memctl("checkpoint", "resume").out
    for line in (
        "TASK: Refunds",
        "- DELETE",
        "- Cascade",
        "- GET",
        "- POST",
        *(f"- {one['path']}" for one in saved["files"]),
    ):
        assert f"\n{line}\n" in text
    before = file.read_bytes()
    memctl("checkpoint", "save", "--workflow", "main", "--done", "DELETE")
    assert set(having(memctl("checkpoint", "show", "--json").data, "done")) == {"GET", "POST", "DELETE"}
    assert file.read_bytes() == before


def test_state_of_a_live_session_survives_the_upgrade(repo: Path, is_first: bool) -> None:
    folder = SessionDir(repo / ".git" / "memctl" / "hooks" / ".memory", LIVE)
    old = json.loads((folder.path / "state.json").read_text())
    state = session_state.read(folder)
    assert state is not None
    if is_first:
        old["task"] = {"goal": old["intent"], "next_actions": old["next_steps"], "decisions": old["decisions"]}
        old["task"]["files"] = [{"path": path} for path in old["files"]]
    assert (state.task.goal, list(state.task.next_actions)) == (old["task"]["goal"], old["task"]["next_actions"])
    assert (list(state.task.decisions), list(state.succeeded)) == (old["task"]["decisions"], old["succeeded"])
    assert [one.path for one in state.task.files] == [one["path"] for one in old["task"]["files"]]
    assert (state.offsets, state.seen) == (old["offsets"], old["seen"])


@pytest.mark.parametrize("form", ["as-found"], indirect=True)
def test_upgrade_is_one_commit_and_loses_nothing(memctl: Memctl, settled: Path) -> None:
    before, old = commits(settled), memctl("export", "--all").out
    listed = memctl("list", "--all", "--limit", "0").out
    memctl(*UPGRADE)
    memctl("commit")
    assert commits(settled) == before + 1
    assert git(settled, "status", "--porcelain") == ""
    assert f"\nformat: {FORMAT}\n" in (settled / ".memory" / "config.yaml").read_text()
    assert [json.loads(line) for line in memctl("export", "--all").out.splitlines()] == [
        json.loads(line) for line in old.splitlines()
    ]
    assert memctl("list", "--all", "--limit", "0").out == listed
    memctl("render")
    memctl("check", "--strict")
    before = commits(settled)
    memctl("upgrade", "--yes")  # there is nothing to do
    memctl("commit")
    assert commits(settled) == before


def test_access_counts_are_folded_in_once(memctl: Memctl, settled: Path) -> None:
    memctl("maintain")
    assert memctl("show", "LRN-2025-11-02-001", "--json").data["records"][0]["access_count"] >= 1
    before = commits(settled)
    memctl("list")
    memctl("maintain")
    assert commits(settled) <= before + 1  # `show` has just counted


def test_sync_brings_branch_and_state_to_the_remote(memctl: Memctl, settled: Path, place: Path) -> None:
    memctl("sync")
    origin = place / "origin.git"
    assert git(origin, "rev-parse", "main") == git(settled, "rev-parse", "HEAD")
    ref = "refs/memctl/coordination"
    assert git(origin, "rev-parse", ref) == git(settled, "rev-parse", ref)
    assert "§2.1" in memctl("own", "list").out


def test_changes_of_another_clone_are_merged_after_the_upgrade(memctl: Memctl, settled: Path, place: Path) -> None:
    memctl("sync")
    git(place, "clone", "-q", "origin.git", "other")
    git(place / "other", "config", "memctl.trusted", "true")
    memctl("install", "git", where=place / "other")
    for clone in (settled, place / "other"):
        git(clone, "config", "memctl.commits", "each")
    memctl("edit", "STA-2025-11-02-001", "--add", "tags=api", where=place / "other")
    memctl("commit", where=place / "other")
    memctl("sync", where=place / "other")
    memctl("edit", "STA-2025-11-02-001", "--set", "completion_percentage=90")
    memctl("commit")
    memctl("sync")
    (record,) = memctl("show", "STA-2025-11-02-001", "--json").data["records"]
    assert (record["tags"], record["completion_percentage"]) == (["api"], 90)


def test_memory_of_the_older_memctl_can_leave_commits_to_the_user(memctl: Memctl, settled: Path) -> None:
    git(settled, "config", "memctl.commits", "later")
    git(settled, "config", "core.hooksPath", os.devnull)
    before = git(settled, "rev-parse", "HEAD")
    memctl("decide", "With the code", "--rationale", "One commit")
    memctl("edit", "STA-2025-11-02-001", "--add", "tags=api")
    assert git(settled, "rev-parse", "HEAD") == before
    assert memctl("log", "--json", "--limit", "2").data["commits"][0]["ops"] == ["edit"]
    (settled / "app.py").write_text("print('sold')\n")
    git(settled, "add", "-A")
    git(settled, "commit", "-qm", "sell")
    assert git(settled, "rev-parse", "HEAD~1") == before
    assert "With the code" in titles(memctl, "--at", "HEAD")
    assert not memctl("status", "--json").data["pending"]


BATCHED = {"DEC-2025-11-07-001": 8, "ISS-2025-11-07-001": "resolved"}  # what the open batch makes of records


def batched(memctl: Memctl, *args: str) -> dict[str, Any]:
    """Return what the records that an open batch changed have now: the importance or status, by id."""
    if args:
        records = {one["id"]: one for one in memctl("list", "--all", "--limit", "0", "--json", *args).data["records"]}
    else:
        records = {name: memctl("show", name, "--json").data["records"][0] for name in BATCHED}
    keys = dict(zip(BATCHED, ("importance", "status"), strict=True))
    return {name: records[name][key] for name, key in keys.items() if name in records}


@pytest.fixture
def with_batches(repo: Path, is_first: bool) -> Path:
    """The project, if it has batches."""
    if is_first:
        pytest.skip("this version made no batches")
    return repo


def test_the_open_batch_is_announced_and_then_one_commit_that_lists_its_changes(
    memctl: Memctl, with_batches: Path
) -> None:
    before = state(with_batches)
    assert "an older memctl left a batch of changes open here: the next write" in memctl("status", code=None).err
    assert state(with_batches) == before
    assert batched(memctl) == BATCHED
    assert batched(memctl, "--at", "HEAD")["DEC-2025-11-07-001"] != 8
    tip = git(with_batches, "rev-parse", "refs/memctl/changes/main")
    told = memctl("commit").err
    assert told.count("an older memctl left a batch open, which becomes one commit: 3 changes: ISS-2025-11-07-001") == 1
    log = memctl("log", "DEC-2025-11-07-001").out
    assert "    edit: (importance 8) Queue connections\n" in log
    assert "    why: It matters\n" in log
    assert "    resolve: The queue is full\n" in memctl("log", "ISS-2025-11-07-001").out
    assert git(with_batches, "rev-parse", "refs/memctl/batches/main") == tip
    assert "batch" not in memctl("status").err
    git(with_batches, "config", "memctl.commits", "later")
    memctl("learn", "The next")
    assert git(with_batches, "log", "-1", "--format=%s", "refs/memctl/changes").endswith(" The next\n")


@pytest.mark.parametrize("command", [("commit",), ("decide", "A third region"), ("sync",)], ids=lambda args: args[0])
def test_the_open_batch_is_kept_by_every_way_to_commit_it(
    memctl: Memctl, with_batches: Path, place: Path, command: tuple[str, ...]
) -> None:
    before = git(with_batches, "rev-parse", "HEAD").strip()
    memctl(*command)
    memctl("commit")
    assert git(with_batches, "status", "--porcelain") == ""
    assert batched(memctl, "--at", "HEAD") == BATCHED
    assert git(with_batches, "merge-base", before, "HEAD").strip() == before
    messages = git(with_batches, "log", "--format=%B", f"{before}..")
    assert all(name in messages for name in BATCHED)
    memctl("sync")
    assert git(place / "origin.git", "rev-parse", "main") == git(with_batches, "rev-parse", "HEAD")
    memctl("check", "--strict")


def test_changes_of_the_open_batch_are_in_the_log_and_not_committed_yet(memctl: Memctl, with_batches: Path) -> None:
    before = state(with_batches)
    assert "not committed yet" in memctl("log", "DEC-2025-11-07-001").out
    listed = memctl("log", "--json").data["commits"]
    assert [one["is_committed"] for one in listed[:4]] == [False, False, False, True]
    assert state(with_batches) == before


def test_a_batch_whose_worktree_is_gone_is_named_with_what_brings_it_back(memctl: Memctl, with_batches: Path) -> None:
    ref = "refs/memctl/changes/gone"
    tip = git(with_batches, "rev-parse", "refs/memctl/changes/main").strip()
    git(with_batches, "update-ref", ref, tip)
    told = memctl("commit").err
    moved = ref.replace("changes", "batches")
    assert f"warning: an older memctl left a batch of changes open in another worktree: {moved} keeps them" in told
    assert f"`memctl restore ID --at {tip[:10]}` brings a record back" in told
    assert "batch" not in memctl("commit").err


def test_a_commit_by_git_with_an_open_batch_loses_nothing(memctl: Memctl, with_batches: Path) -> None:
    (with_batches / "app.py").write_text("print('sold')\n")
    git(with_batches, "commit", "-qm", "sell", "app.py")  # the hooks of the older memctl run
    assert batched(memctl) == BATCHED
    memctl("commit")
    assert git(with_batches, "status", "--porcelain") == ""
    assert batched(memctl, "--at", "HEAD") == BATCHED
    (sell,) = git(with_batches, "log", "-5", "--format=%H", "--grep=^sell$").split()
    assert git(with_batches, "show", "--format=", "--name-only", sell) == "app.py\n"


def test_undo_after_the_upgrade_reverts_the_last_change_alone(memctl: Memctl, with_batches: Path) -> None:
    memctl("commit")
    memctl("learn", "A slip", "--lesson", "Nothing")
    memctl("undo")
    memctl("commit")
    assert "A slip" not in titles(memctl)
    assert batched(memctl, "--at", "HEAD") == BATCHED
    assert set(WAITING) <= titles(memctl)


def test_branch_without_documents_of_its_own_is_merged_on_the_default_one(
    memctl: Memctl, with_batches: Path, place: Path
) -> None:
    team = place / "team"
    for command in (("status",), ("list",), ("show", "DEC-2025-11-06-002"), ("rehydrate",), ("check", "--strict")):
        assert memctl(*command, where=team).code == 0
    documents = git(team, "rev-parse", "HEAD:.memory/docs")
    memctl("resolve", "ISS-2025-11-06-001", "--resolution", "There is one", where=team)
    assert git(team, "rev-parse", "HEAD:.memory/docs") == documents
    assert git(team, "status", "--porcelain") == ""
    git(team, "switch", "-q", "main")
    git(team, "merge", "-q", "--no-edit", "topic")
    memctl("render", where=team)
    memctl("check", "--strict", where=team)
    assert "Meet on Tuesdays" in git(team, "show", "HEAD:.memory/docs/INDEX.md")
    memctl("sync", where=team)
    assert git(place / "team.git", "rev-parse", "main") == git(team, "rev-parse", "HEAD")


def test_the_offered_handoff_is_accepted_and_moves_its_section(
    memctl: Memctl, settled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMCTL_AGENT", "elena")
    memctl("handoff", "accept", "HND-2025-11-06-002")
    assert memctl("show", "HND-2025-11-06-002", "--json").data["records"][0]["status"] == "accepted"
    assert memctl("own", "check", "§2.1").code == 0


def test_the_installed_git_hooks_run_at_a_real_commit(memctl: Memctl, settled: Path) -> None:
    log = settled / ".git" / "own-hook.log"
    lines = len(log.read_text().splitlines())
    (settled / "app.py").write_text("print('sold')\n")
    git(settled, "commit", "-qam", "sell")
    assert len(log.read_text().splitlines()) == lines + 1  # the user's own hook ran first
    record = next((settled / ".memory").glob("decisions/*/DEC-2025-11-02-001-*.md"))
    record.write_text(record.read_text().replace("importance: 9", "importance: nine"))
    git(settled, "add", "-A")
    assert git(settled, "commit", "-qm", "broken", check=False) == ""
    assert git(settled, "log", "-1", "--format=%s") == "sell\n"


def test_the_installed_merge_drivers_merge_a_record_field_by_field(memctl: Memctl, settled: Path) -> None:
    git(settled, "config", "memctl.commits", "each")
    git(settled, "switch", "-qc", "side")
    memctl("edit", "STA-2025-11-02-001", "--add", "tags=api")
    git(settled, "switch", "-q", "main")
    memctl("edit", "STA-2025-11-02-001", "--add", "tags=profile")
    git(settled, "merge", "-q", "--no-edit", "side")
    assert set(memctl("show", "STA-2025-11-02-001", "--json").data["records"][0]["tags"]) == {"api", "profile"}


def test_installing_git_hooks_again_keeps_the_users_hook(memctl: Memctl, repo: Path) -> None:
    memctl("install", "git")
    memctl("install", "git", "--uninstall")
    hooks = repo / ".git" / "hooks"
    assert [file.name for file in hooks.iterdir()] == ["pre-commit"]
    assert "own hook" in (hooks / "pre-commit").read_text()


def test_uninstalling_brings_settings_back_byte_for_byte(memctl: Memctl, repo: Path, place: Path) -> None:
    for agent in ("claude-code", "codex", "gemini", "agents-md"):
        memctl("install", agent, "--uninstall", "--yes")
    memctl("install", "gemini", "--user", "--uninstall", "--yes")
    assert (repo / ".claude" / "settings.json").read_text() == '{"permissions": {"allow": ["Bash(ls)"]}}\n'
    assert (repo / "AGENTS.md").read_text() == "# For agents\n\nRun the tests.\n"
    assert (place / "home" / ".gemini" / "settings.json").read_text() == '{"theme": "dark"}\n'
    assert not [name for name in (".codex", ".gemini", "CLAUDE.md") if (repo / name).exists()]


def test_the_programs_server_of_tools_answers(repo: Path, with_batches: Path) -> None:
    server = json.loads((repo / ".mcp.json").read_text())["mcpServers"]["memctl"]
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
    hello["params"] |= {"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    command = [Path(server["command"]).name, *server["args"]]  # its folder is gone
    process = subprocess.run(command, cwd=repo, input=f"{json.dumps(hello)}\n", capture_output=True, text=True)
    assert json.loads(process.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "memctl"


Fire = Callable[..., dict[str, Any]]


@pytest.fixture
def fire(repo: Path) -> Fire:
    """Have a host fire an event: what its settings name for it is run by a shell, with the event on standard input."""

    def run(settings: str, event: str, **fields: Any) -> dict[str, Any]:
        values = {"hook_event_name": event, "cwd": str(repo), **fields}
        answer: dict[str, Any] = {}
        for matcher in json.loads((repo / settings).read_text())["hooks"][event]:
            for hook in matcher["hooks"]:
                process = subprocess.run(
                    ["sh", "-c", hook["command"]], cwd=repo, input=json.dumps(values), capture_output=True, text=True
                )
                assert process.returncode == 0, process.stderr
                assert process.stderr == ""
                answer |= json.loads(process.stdout) if process.stdout.startswith("{") else {"text": process.stdout}
        return answer

    return run


def test_claude_codes_session_goes_on_and_its_page_is_committed(
    memctl: Memctl, repo: Path, place: Path, fire: Fire
) -> None:
    settings, session = ".claude/settings.json", {"session_id": LIVE}
    session["transcript_path"] = str(place / "transcripts" / f"{LIVE}.jsonl")
    context = fire(settings, "SessionStart", source="resume", **session)["hookSpecificOutput"]["additionalContext"]
    assert context
    fire(settings, "PostToolUse", tool_name="Bash", tool_use_id="call_9", tool_input={}, tool_response={}, **session)
    fire(settings, "PreCompact", trigger="auto", custom_instructions="", **session)
    after = fire(settings, "SessionStart", source="compact", **session)["hookSpecificOutput"]["additionalContext"]
    assert "Refunds by card" in after
    fire(settings, "Stop", **session)
    fire(settings, "SessionEnd", reason="exit", **session)
    memctl("commit")
    assert git(repo, "log", "-1", "--format=%s", "--", f".memory/sessions/{LIVE}.md").startswith("docs(memory): ")
    assert "| `src/card.py` |" in memctl("session", "show", LIVE).out
    assert memctl("checkpoint", "show", "--json").data["session"] == LIVE
    assert memctl("hook", "log", "--faults", "--json").data["faults"] == []
    assert not list((repo / ".git" / "memctl").rglob("undone/*.json"))  # the note of before is worked off


@pytest.mark.parametrize(
    ("settings", "events"),
    [
        (
            ".codex/hooks.json",
            ["SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"],
        ),
        *slow((".gemini/settings.json", ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"])),
    ],
    ids=["codex", "gemini"],
)
def test_sessions_of_the_other_hosts_begin_and_end(
    memctl: Memctl, settled: Path, fire: Fire, settings: str, events: list[str]
) -> None:
    answers = []
    for event in events:
        more = {"prompt": "Sell more", "tool_name": "shell", "source": "startup", "reason": "exit", "trigger": "auto"}
        answers.append(fire(settings, event, session_id="other-1", turn_id=f"t-{event}", **more))
        if event == events[2]:
            (settled / "app.py").write_text("print('sold')\n")
            memctl("learn", "Sold", "--lesson", "Cards sell")
    assert "Adopt PostgreSQL" in json.dumps(answers[0])
    assert "other-1" in {page["session_id"] for page in memctl("session", "list", "--json").data["sessions"]}
    assert memctl("hook", "log", "--faults", "--json").data["faults"] == []


def commands_with_memory() -> list[tuple[str, ...]]:
    """Every command that needs a memory, as one of READS or WRITES gives it."""
    given = [*READS, *WRITES, ("render",), ("review", "§2.1"), ("commit",), ("sync",), ("install", "git")]
    given += [("archive", "DEC"), ("supersede", "DEC-2025-11-02-001", "DEC-2025-11-02-003"), ("import", "-")]
    given += [("merge", "DEC-2025-11-02-001", "DEC-2025-11-02-003"), ("team",)]
    given += [("renumber",), ("upgrade", "--yes"), ("redact", "DEC-2025-11-02-001")]
    given += [("budget",), ("own", "acquire", "2.2"), ("coordination", "join"), ("session", "start", "x")]
    return given


def test_newer_format_is_refused_by_every_command(memctl: Memctl, repo: Path) -> None:
    needs_none = {"summary", "help", "mcp", "summarize", "tokens", "quality", "policy", "window", "init", "demo"}
    given = commands_with_memory()
    names = {name for group in (*all_commands().values(), *GROUPS.values()) for name in group} - GROUPS.keys()
    assert names - {one[0] for one in given} <= needs_none
    config = repo / ".memory" / "config.yaml"
    config.write_text(config.read_text().replace("format: 1", "format: 3"))
    before = state(repo)
    for command in given:
        result = memctl(*command, code=None)
        if command[0] == "hook":  # what hooks did can be read all the same
            assert "can do nothing in this folder: .memory/config.yaml: this memory has format 3" in result.err
            continue
        assert result.code == 1, command
        assert "this memory has format 3; this memctl reads formats up to 2" in result.err, command
        assert "hint: install a newer version of memctl" in result.err, command
    assert state(repo) == before
