"""`redact` takes a secret out of everything that this clone keeps, and says what it can't reach."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
from pathlib import Path

import pytest

from tests.checkpoints import saved
from tests.conftest import Memctl, Once, commits, git
from tests.hooks.session import Session

TOKEN = "gh" + "p_" + "16C7e42F292c6912E7710c838347Ae178B4a"
KEY = "AK" + "IA" + "Z7Q2M4X6B8N1V3C5"
PEM = "-----BEGIN " + "RSA PRIVATE" + " KEY-----\nMIIEpAIBAAKCAQEA7Zq4\nx9s0Qm\n-----END RSA PRIVATE" + " KEY-----"
PASSPHRASE = "correct horse, battery staple"  # that no rule knows


def holding(folder: Path, secret: str) -> list[str]:
    """The files below a folder that have a secret, as it is or as JSON or documents write it; databases: in a row."""
    found = []
    forms = (secret.encode(), json.dumps(secret)[1:-1].encode(), secret.replace("_", "\\_").encode())
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            data = file.read_bytes()
            if any(form in data for form in forms) or (file.name == "cache.db" and in_rows(file, secret)):
                found.append(str(file.relative_to(folder)))
    return found


def in_rows(file: Path, secret: str) -> bool:
    database = sqlite3.connect(file)
    try:
        return secret in "\n".join(database.iterdump())
    finally:
        database.close()


def kept(repo: Path, secret: str) -> list[str]:
    """Where this clone keeps a secret, but for Git's own objects and logs."""
    return [*holding(repo / ".memory", secret), *holding(repo / ".git/memctl", secret)]


@pytest.fixture
def record(memctl: Memctl, once: Once) -> str:
    """A learning with a token in its title, a tag and its text, in the history, the documents and the index."""

    def make() -> str:
        lesson = ("--lesson", f"Use {TOKEN} and\n\n{PEM}\n")
        made = memctl("learn", f"Ask with {TOKEN}", *lesson, "--tag", TOKEN, "--allow-secret")
        memctl("decide", f"Decide with {TOKEN}", "--decision", "x", "--status", "accepted", "--allow-secret")
        memctl("search", TOKEN)
        memctl("check", code=None)
        return made.id

    return str(once(make))


def test_a_record_is_redacted_in_one_commit_and_stays_readable(memctl: Memctl, repo: Path, record: str) -> None:
    assert kept(repo, TOKEN)
    before = commits(repo)
    made = memctl("redact", record)
    assert commits(repo) == before + 1
    assert kept(repo, TOKEN) == kept(repo, PEM) == []
    assert git(repo, "status", "--porcelain") == ""
    shown = memctl("show", record, "--json").data["records"][0]
    assert shown["title"] == "Ask with [redacted: GitHub token]"
    assert shown["tags"] == ["[redacted: GitHub token]"]
    assert "[redacted: private key]" in memctl("show", record).out
    message = git(repo, "log", "-1", "--format=%B")
    assert message.startswith(f"docs(memory): redact {record}\n")
    assert "Memctl-Op: redact" in message
    assert TOKEN not in message + made.out + made.err
    assert "MEM110" not in memctl("check", code=None).out
    assert memctl("search", TOKEN, "--json").data["results"] == []


def test_places_out_of_reach_are_listed(memctl: Memctl, repo: Path, tmp_path: Path, record: str) -> None:
    git(tmp_path, "init", "-q", "--bare", "origin.git")
    git(repo, "remote", "add", "origin", str(tmp_path / "origin.git"))
    git(repo, "push", "-q", "-u", "origin", "main")
    bringing = git(repo, "rev-parse", "HEAD").strip()
    made = memctl("redact", record, "--json").data
    assert made["left"]["commits"] == [bringing, git(repo, "rev-parse", f"{bringing}~1").strip()]
    assert set(made["left"]["refs"]) == {"refs/heads/main", "refs/remotes/origin/main"}
    assert made["left"]["history_complete"] is True
    memctl("learn", "Again", "--lesson", TOKEN, "--allow-secret")
    said = memctl("redact", "@last").out
    assert "Revoke the credential" in said
    assert "3 commits" in said
    assert bringing[:10] in said
    assert "the remotes that the credential was pushed to: refs/remotes/origin/main" in said
    for word in ("forks", "reflogs", "stashes", "transcripts"):
        assert word in said


def test_redact_without_a_credential_exits_with_1_and_a_hint(memctl: Memctl, repo: Path) -> None:
    identifier = memctl("learn", "Clocks drift", "--lesson", "x").id
    made = memctl("redact", identifier, code=1)
    assert "no credential was found in the records or files that you named" in made.err
    assert "--text -" in made.err
    made = memctl("redact", "--text", "-", stdin=f"{PASSPHRASE}\n", code=1)
    assert "nothing to redact" in made.err


def test_redact_without_a_match_gives_no_advice_to_revoke(memctl: Memctl, repo: Path) -> None:
    made = memctl("redact", "--text", "-", stdin=f"{PASSPHRASE}\n", code=1)
    assert "no file of the memory in this clone has the secret now" in made.err
    assert "revoked" not in made.out + made.err


@pytest.mark.parametrize("is_named", [True, False])
def test_staged_secret_is_reported_with_the_command_that_unstages_it(
    memctl: Memctl, repo: Path, is_named: bool
) -> None:
    memctl("learn", "Ask", "--lesson", "Politely")
    (file,) = (repo / ".memory/learnings").rglob("*.md")
    path, clean = str(file.relative_to(repo)), file.read_text()
    file.write_text(clean.replace("Politely", f"With {TOKEN}"))
    (repo / "app.py").write_text("x = 1\n")
    git(repo, "add", path, "app.py")
    file.write_text(clean)
    given = [path] if is_named else ["--text", "-"]
    for options in (["--dry-run"], []):
        made = memctl("redact", *given, *options, stdin=TOKEN, code=1)
        assert "but Git's index still has the secret" in made.err
        assert f"`git restore --staged {path}`" in made.out
        assert "Revoke the credential" in made.out
    assert memctl("redact", *given, "--json", stdin=TOKEN, code=1).data["left"]["staged"] == [path]
    assert "x = 1" in git(repo, "show", ":app.py")
    git(repo, "restore", "--staged", path)
    assert "revoked" not in memctl("redact", *given, stdin=TOKEN, code=1).out


def test_redact_without_a_commit_lists_the_index(memctl: Memctl, repo: Path, record: str) -> None:
    assert "Git's index" not in memctl("redact", record, "--dry-run").out
    assert "Git's index" in memctl("redact", record, "--no-commit").out
    memctl("commit")
    assert TOKEN not in git(repo, "grep", "--cached", "", "--", ".memory")


def test_redact_without_a_commit_lists_the_shared_state(memctl: Memctl, repo: Path) -> None:
    memctl("coordination", "join", "--task", "Refunds by card")
    memctl("learn", "Ask", "--lesson", "Refunds by card")
    ref = git(repo, "for-each-ref", "--format=%(refname)", "refs/memctl/coordination*").strip()
    before = git(repo, "rev-parse", ref)
    made = memctl("redact", "--text", "-", "--no-commit", stdin="Refunds by card")
    assert f"each change of {ref} is a commit; run the command again without --no-commit" in made.err
    assert git(repo, "rev-parse", ref) == before
    memctl("redact", "--text", "-", stdin="Refunds by card")
    assert "Refunds by card" not in git(repo, "show", f"{ref}:agents.json")


def test_a_page_on_the_ref_of_sessions_is_not_redacted_without_a_commit(memctl: Memctl, repo: Path) -> None:
    git(repo, "config", "memctl.hookCommits", "records")
    memctl("session", "start", "monday", "--intent", "Refunds")
    memctl("session", "end", code=None)
    ref = "refs/memctl/sessions"
    page = next(path for path in git(repo, "ls-tree", "-r", "--name-only", ref).splitlines() if path.endswith(".md"))
    before = git(repo, "rev-parse", ref)
    made = memctl("redact", "--text", "-", "--no-commit", stdin="Refunds", code=1)
    assert f"{page} is on {ref}" in made.err
    assert git(repo, "rev-parse", ref) == before
    memctl("redact", "--text", "-", stdin="Refunds")
    assert "[redacted: given]" in git(repo, "show", f"{ref}:{page}")


def test_a_record_that_the_mark_makes_too_large_is_redacted(memctl: Memctl, repo: Path) -> None:
    memctl("learn", "Ask", "--lesson", "LESSON")
    (file,) = (repo / ".memory/learnings").rglob("*.md")
    text = file.read_text().replace("LESSON", "rabbit ")
    file.write_text(text + "x " * ((2 * 1024 * 1024 - len(text)) // 2 - 1))
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "large")
    made = memctl("redact", "--text", "-", stdin="rabbit")
    assert "rabbit" not in file.read_text()
    assert "redacted 1 credential in" in made.out


def test_redact_dry_run_writes_nothing_and_shows_no_secret(memctl: Memctl, repo: Path, record: str) -> None:
    before = kept(repo, TOKEN)
    for options in ([], ["--json"]):
        made = memctl("redact", record, "--dry-run", *options)
        assert TOKEN not in made.out + made.err
        assert ".memory/learnings" in made.out
    assert kept(repo, TOKEN) == before
    assert git(repo, "status", "--porcelain") == ""


def test_a_text_that_no_rule_knows_is_redacted_everywhere(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    record = memctl(
        "issue", f"Doors want {PASSPHRASE}", "--severity", "critical", "--description", f"Say {PASSPHRASE} to the guard"
    ).id
    memctl("learn", "Doors again", "--lesson", f"The guard wants {PASSPHRASE}", "--no-commit")
    memctl("event", "emit", "--type", "phase_complete", "--phase", "doors", "--output", f"Says {PASSPHRASE}")
    memctl("coordination", "block", f"Nobody knows {PASSPHRASE}")
    memctl("session", "start", "monday", "--intent", PASSPHRASE, code=None)
    session = Session(repo, tmp_path / "5f6c2a10-7d1e.jsonl")
    session.send("SessionStart", source="startup")
    session.transcript.prompt(f"Open the door with {PASSPHRASE}")
    session.send("UserPromptSubmit", prompt=f"Open the door with {PASSPHRASE}")
    session.transcript.says(f"Decision: we say {PASSPHRASE}.")
    session.send("Stop")
    before = kept(repo, PASSPHRASE)
    for part in ("issues/", "docs/", "pending/", "events/", "hooks/"):
        assert any(part in path for path in before), (part, before)
    made = memctl("redact", "--text", "-", stdin=f"{PASSPHRASE}\n")
    assert kept(repo, PASSPHRASE) == []
    assert "[redacted: given]" in memctl("show", record).out
    assert PASSPHRASE not in git(repo, "show", "refs/memctl/coordination:blockers.json")
    assert str(session.file) in made.out
    assert f"the names of files: .memory/issues/2025-11/{record}-doors-want-correct-horse" in made.out
    memctl("commit")
    assert not git(repo, "grep", "-l", PASSPHRASE, "HEAD", check=False)
    assert memctl("event", "list", "--json").data
    session.send("Stop")  # the hook goes on with what is left of its state
    assert session.faults() == []


def test_secret_is_not_passed_in_process_arguments(
    memctl: Memctl, repo: Path, tmp_path: Path, record: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TRACE", str(tmp_path / "trace"))
    memctl("redact", record)
    trace = (tmp_path / "trace").read_text()
    assert "git log" in trace
    assert TOKEN not in trace


def test_an_accepted_decision_may_be_redacted(memctl: Memctl, repo: Path) -> None:
    made = memctl(
        "decide", "Ask", "--decision", f"With {TOKEN}.", "--rationale", "It works.", "--status", "accepted",
        "--allow-secret",
    )  # fmt: skip
    memctl("redact", made.id)
    assert "With [redacted: GitHub token]." in memctl("show", made.id).out
    assert "MEM109" not in memctl("check", code=None).out
    assert "MEM109" not in memctl("check", "--at", "HEAD", code=None).out


def test_accepted_decision_redacted_by_hand_counts_as_unchanged(memctl: Memctl, repo: Path) -> None:
    made = memctl(
        "decide", "Ask", "--decision", f"With {TOKEN}.", "--rationale", "It works.", "--status", "accepted",
        "--allow-secret",
    )  # fmt: skip
    (file,) = (repo / ".memory/decisions").rglob("*.md")
    text = file.read_text()
    file.write_text(text.replace(TOKEN, "[redacted: GitHub token]"))
    assert "MEM109" not in memctl("check", code=None).out
    file.write_text(text.replace("It works.", "It fails."))
    assert "MEM109" in memctl("check", code=None).out
    assert made.id


def test_a_pending_change_is_redacted_before_its_commit(memctl: Memctl, repo: Path) -> None:
    made = memctl("learn", f"Ask with {TOKEN}", "--lesson", "x", "--allow-secret", "--no-commit")
    memctl("redact", made.id)
    assert TOKEN not in git(repo, "log", "-p", "--all", "--format=%B")
    assert memctl("status", "--json").data.get("pending", []) == []
    assert kept(repo, TOKEN) == []


def test_within_a_merge_the_commit_is_pending_and_keeps_no_secret(memctl: Memctl, repo: Path, record: str) -> None:
    git(repo, "checkout", "-qb", "other", "HEAD~1")
    (repo / "app.py").write_text("print('other')\n")
    git(repo, "commit", "-qam", "other")
    git(repo, "checkout", "-q", "main")
    (repo / "app.py").write_text("print('main')\n")
    git(repo, "commit", "-qam", "main")
    git(repo, "merge", "other", check=False)
    made = memctl("redact", record)
    assert "commit pending" in made.err
    assert kept(repo, TOKEN) == []
    (repo / "app.py").write_text("print('both')\n")
    git(repo, "add", "app.py")
    git(repo, "commit", "-qm", "merged")
    memctl("commit")
    assert TOKEN not in git(repo, "show", f"HEAD:.memory/{next(p for p in tracked(repo) if record in p)}")
    assert git(repo, "status", "--porcelain") == ""


def tracked(repo: Path) -> list[str]:
    return [line.removeprefix(".memory/") for line in git(repo, "ls-files", ".memory").splitlines()]


def test_a_checkpoint_is_redacted_and_can_still_be_resumed(memctl: Memctl, repo: Path) -> None:
    text = saved(goal=f"Refunds with {TOKEN}", planned=(f'Say "{TOKEN}"',))
    file = repo / ".memory/checkpoints/main/w1-v1-0a0a0a.json"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "checkpoint")
    memctl("redact", "main-w1-v1-0a0a0a")
    assert kept(repo, TOKEN) == []
    shown = memctl("checkpoint", "show", "main-w1-v1-0a0a0a", "--json").data
    assert shown["goal"] == "Refunds with [redacted: GitHub token]"
    memctl("checkpoint", "resume", "main-w1-v1-0a0a0a")
    assert "MEM505" not in memctl("check", code=None).out


@pytest.mark.parametrize("workflow", ["main-bob", "fix-123", "gh-pages"])
def test_ids_of_checkpoints_that_look_random_do_not_stop_a_redaction(
    memctl: Memctl, repo: Path, record: str, workflow: str
) -> None:
    """Nine of ten of such ids look like keys; each names the one before it."""
    folder, marks = repo / ".memory/checkpoints" / workflow, ["cc0be7", "a19f3c", "7d02e8", "b4c5d6", "9e8f7a"]
    folder.mkdir(parents=True)
    before = ""
    for version, mark in enumerate(marks, 1):
        text = saved(1, version, mark, workflow, goal=f"Rotate {TOKEN}", next_actions=(f"Compare {before}",))
        (folder / f"w1-v{version}-{mark}.json").write_text(text)
        before = f"{workflow}-w1-v{version}-{mark}"
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "checkpoints")
    assert "warning" not in memctl("redact", record, before).err
    assert kept(repo, TOKEN) == []
    assert json.loads((folder / f"w1-v5-{marks[-1]}.json").read_text())["checkpoint_id"] == before
    assert "MEM505" not in memctl("check", code=None).out


def test_text_in_names_is_named_and_redacted_everywhere_else(memctl: Memctl, repo: Path) -> None:
    secret = "zanzibar-7"
    made = memctl("learn", "Ask", "--lesson", f"It is {secret}")
    memctl("checkpoint", "save", "--workflow", secret, "--task", f"Use {secret} twice", "--next", secret)
    page = repo / f".memory/sessions/{secret}.md"
    page.parent.mkdir()
    page.write_text(
        f"---\nsession_id: {secret}\nproject_id: shop\nended: 2025-11-04T12:00:00Z\nturns: 3\n---\n\n"
        f"## Session Summary — {secret}\n\n### Session Intent\n\nAsk with {secret}\n"
    )
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "page")
    done = memctl("redact", "--text", "-", "--json", stdin=f"{secret}\n").data
    assert secret not in memctl("show", made.id).out
    (saved_file,) = (repo / ".memory/checkpoints" / secret).glob("*.json")
    assert done["left"]["unreached"] == sorted(str(file.relative_to(repo)) for file in (saved_file, page))
    assert json.loads(saved_file.read_text())["goal"] == "Use [redacted: given] twice"
    assert page.read_text().count(secret) == 1
    assert "Ask with [redacted: given]" in page.read_text()
    memctl("checkpoint", "resume", secret)
    memctl("session", "show", secret)
    again = memctl("redact", "--text", "-", stdin=f"{secret}\n", code=1).err
    assert "still has the credential" in again


def test_a_session_page_is_searched_strictly(memctl: Memctl, repo: Path) -> None:
    random = "Zq8rT2vYx7Lm4Np9" + "Bc6Wd1Ke5Hs3Jf0GaUi"
    file = repo / ".memory/sessions/refunds.md"
    file.parent.mkdir()
    file.write_text(
        "---\nsession_id: refunds\nproject_id: shop\nended: 2025-11-04T12:00:00Z\nturns: 3\n---\n\n"
        f"## Session Summary — refunds\n\n### Session Intent\n\nAsk with {random}\n"
    )
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "session")
    memctl("redact", "refunds")
    assert random not in file.read_text()
    assert memctl("session", "show", "refunds").out


def test_a_handoff_is_redacted_with_its_package(memctl: Memctl, repo: Path) -> None:
    memctl("section", "add", "Payment", "--overview", "Takes money.")
    made = memctl(
        "handoff", "--to", "codex", "--section", "2.1", "--reason", "Out of room", "--summary", f"Ask with {TOKEN}",
        "--task", "Refunds", "--immediate", "Write it", "--success", "It works", "--allow-secret", code=None,
    )  # fmt: skip
    assert made.code == 0, made.err
    identifier = next(path for path in tracked(repo) if path.startswith("handoffs/"))
    memctl("redact", Path(identifier).name[:18])
    assert kept(repo, TOKEN) == []
    assert "MEM101" not in memctl("check", code=None).out


def test_settings_pages_and_a_record_that_cannot_be_read_are_redacted(memctl: Memctl, repo: Path) -> None:
    memctl("section", "add", "Payment", "--overview", "Takes money.")
    broken = memctl("learn", "Clocks drift", "--lesson", "x").id
    (file,) = (repo / ".memory/learnings").rglob(f"{broken}*")
    file.write_text(file.read_text().replace("timestamp:", f"importance: [5\nkey: {TOKEN}\ntimestamp:"))
    (page,) = (repo / ".memory/sections").glob("*.md")
    page.write_text(page.read_text().replace("title: Payment", f"title: Payment {TOKEN}"))
    config = repo / ".memory/config.yaml"
    config.write_text(config.read_text() + f"# {TOKEN}\nsemantic_model: {TOKEN}\nwindow:\n  x: [1, {TOKEN}]\n")
    for name in ("§2.1", broken, ".memory/config.yaml"):
        memctl("redact", name, code=None)  # what is in several files is redacted in all of them at once
    assert kept(repo, TOKEN) == []
    assert memctl("show", "§2.1").code == 0
    assert "[redacted: GitHub token]" in page.read_text()
    assert "[redacted: GitHub token]" in config.read_text()
    memctl("list", code=None)


def test_untracked_file_is_redacted_and_stays_untracked(memctl: Memctl, repo: Path) -> None:
    file = repo / ".memory/notes.env"
    file.write_text(f"A: {KEY}\n")
    before = commits(repo)
    made = memctl("redact", ".memory/notes.env")
    assert file.read_text() == "A: [redacted: AWS access key]\n"
    assert "no commit has this file" in made.out
    assert commits(repo) == before
    assert git(repo, "ls-files", ".memory/notes.env") == ""


def test_a_document_edited_by_hand_is_redacted(memctl: Memctl, repo: Path) -> None:
    file = repo / ".memory/docs/INDEX.md"
    file.write_text(file.read_text() + f"\n{TOKEN}\n")
    memctl("redact", ".memory/docs/INDEX.md")
    assert kept(repo, TOKEN) == []


def test_backups_of_settings_are_redacted(memctl: Memctl, repo: Path, record: str) -> None:
    folder = repo / ".git/memctl/installed"
    folder.mkdir(parents=True, exist_ok=True)
    before = base64.b64encode(f'{{"env": {{"K": "{TOKEN}"}}}}'.encode()).decode()
    (folder / "0a.json").write_text(json.dumps({"path": "x", "before": before, "after": "y"}))
    memctl("redact", record)
    found = json.loads((folder / "0a.json").read_text())
    assert base64.b64decode(found["before"]).decode() == '{"env": {"K": "[redacted: GitHub token]"}}'
    assert found["after"] == "y"


def test_cache_of_another_worktree_forgets_redacted_text(
    memctl: Memctl, repo: Path, tmp_path: Path, record: str
) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"), "-b", "other")
    memctl("search", "ask", where=tmp_path / "other")
    memctl("redact", record)
    git(tmp_path / "other", "merge", "-q", "main")
    memctl("redact", "--text", "-", stdin=TOKEN, where=tmp_path / "other", code=None)
    assert holding(repo / ".git/worktrees/other/memctl", TOKEN) == []


@pytest.mark.parametrize("name", ["LRN-2025-11-04-099", "nothing.md", "../app.py", "§2.9", "main-w1-v1-0a0a0a"])
def test_name_without_a_record_or_file_is_refused(memctl: Memctl, repo: Path, name: str) -> None:
    made = memctl("redact", name, code=None)
    assert made.code in (1, 2)
    assert "error:" in made.err


def test_a_short_text_and_a_reason_with_the_secret_are_refused(memctl: Memctl, repo: Path, record: str) -> None:
    assert "at least 6" in memctl("redact", "--text", "-", stdin="the", code=2).err
    before = commits(repo)
    made = memctl("redact", record, "--reason", f"{TOKEN} got in", code=1)
    assert TOKEN not in made.err
    assert commits(repo) == before
    assert os.path.exists(repo / ".git")


@pytest.mark.parametrize(
    "data", [f"key {TOKEN}".encode("utf-16"), b"x\n" * 1_050_000 + f"key {TOKEN}".encode()], ids=["utf-16", "large"]
)
def test_a_file_that_is_no_text_or_too_large_is_named(memctl: Memctl, repo: Path, data: bytes) -> None:
    (repo / ".memory/notes.txt").write_bytes(data)
    git(repo, "add", ".memory/notes.txt")
    assert "`git add" not in memctl("redact", ".memory/notes.txt", code=1).out  # which would stage the credential
    for args, stdin in ((".memory/notes.txt",), ""), (("--text", "-"), TOKEN):
        said = memctl("redact", *args, stdin=stdin, code=1)
        assert ".memory/notes.txt still has the credential" in said.err
        assert "no file of the memory in this clone has the secret" not in said.err
    assert memctl("redact", ".memory/notes.txt", "--json", code=1).data["left"]["unreached"] == [".memory/notes.txt"]
