"""`session`: summaries of transcripts, written, merged, listed and shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Memctl, changed_in, commits, git
from tests.sessions.claude import Transcript

KEY = "sk-ant-" + "api03-aB3dE6fG9hJ2kL5mN8pQ" * 2


def long_session(repo: Path) -> tuple[Transcript, dict[str, set[str]], list[str]]:
    """A long session with sub-agents, compactions and broken lines; the files it touches, and its decisions."""
    made = Transcript(repo)
    touched: dict[str, set[str]] = {"created": set(), "modified": set(), "deleted": set(), "read": set()}
    decisions = []
    made.raw(json.dumps({"type": "file-history-snapshot", "messageId": "m", "snapshot": {}}))
    made.prompt("<command-name>/clear</command-name>")
    made.prompt("Build the payment service.\n<system-reminder>Be nice.</system-reminder>")
    for number in range(120):
        if number % 40 == 39:
            made.compaction(f"This session is being continued.\nDECISION: Keep rule {number}")
            decisions.append(f"Keep rule {number}")
        new, old, gone, seen = (f"src/{name}/{number}.py" for name in ("new", "old", "gone", "seen"))
        made.agent = f"agent-{number % 3}" if number % 5 == 0 else ""
        made.call("Write", file_path=f"{repo}/{new}", content="x = 1\n", details={"type": "create", "filePath": new})
        made.call("Read", file_path=f"{repo}/{old}")
        made.call("Edit", file_path=f"{repo}/{old}", old_string="a", new_string="def run(): ...")
        made.call(
            "Bash", command=f"cd {repo}/src && rm -f gone/{number}.py && head -n 5 'seen/{number}.py' 2>/dev/null"
        )
        made.agent = ""
        touched["created"].add(new)
        touched["modified"].add(old)
        touched["deleted"].add(gone)
        touched["read"].add(seen)
        made.says(f"DECISION: Take option {number} because it is number {number}.\n\nMoving on.")
        decisions.append(f"Take option {number}")
        made.raw('{"type": "assistant", "message": {"id": "msg_x", "content": [{"type": "te')
    return made, touched, decisions


def written(memctl: Memctl, repo: Path, made: Transcript, *args: str, name: str = "session.jsonl") -> Any:
    file = repo.parent / name
    file.write_text(made.text)
    return memctl("session", "summarize", "--transcript", str(file), *args)


def test_every_file_and_decision_of_a_long_session_is_in_its_summary(repo: Path, memctl: Memctl) -> None:
    made, touched, decisions = long_session(repo)
    summary = written(memctl, repo, made, "--json", "--dry-run").data["summary"]
    trail = {entry["path"]: entry["action"] for entry in summary["trail"]["entries"]}
    for action, paths in touched.items():
        assert {path for path in trail if trail[path] == action} == paths
    found = {one["text"] for one in summary["found"] if one["label"] == "decision"}
    assert found == set(decisions)
    figures = summary["metrics"]
    assert (figures["turns"], figures["compactions"], figures["sub_agents"]) == (1, 3, 3)
    assert (figures["broken_lines"], figures["tool_calls"]) == (120, 480)
    assert summary["intent"] == "Build the payment service."


def test_the_page_of_a_long_session_keeps_every_path_and_decision_within_its_budget(repo: Path, memctl: Memctl) -> None:
    made, touched, decisions = long_session(repo)
    assert written(memctl, repo, made).id == made.session
    page = (repo / f".memory/sessions/{made.session}.md").read_text()
    for path in set().union(*touched.values()):
        assert f"`{path}`" in page
    for decision in decisions:
        assert decision in page


def test_a_summary_is_one_commit_of_one_file(repo: Path, memctl: Memctl) -> None:
    before = commits(repo)
    made = Transcript(repo)
    made.prompt("Add a page.")
    made.call("Write", file_path=f"{repo}/page.html", content="<p>")
    written(memctl, repo, made)
    assert commits(repo) == before + 1
    assert changed_in(repo) == [f".memory/sessions/{made.session}.md"]
    assert f"Memctl-Session: {made.session}" in git(repo, "log", "-1", "--format=%B")
    assert git(repo, "status", "--porcelain", ".memory") == ""
    assert memctl("check").code == 0


def test_the_same_summary_twice_changes_nothing(repo: Path, memctl: Memctl) -> None:
    made, _, _ = long_session(repo)
    written(memctl, repo, made)
    before = commits(repo)
    assert "nothing to change" in written(memctl, repo, made).err
    assert commits(repo) == before


def test_nothing_that_is_found_becomes_a_record_unless_accepted(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo)
    made.prompt("Choose a database.")
    made.says("DECISION: Adopt PostgreSQL because orders need transactions\nAlternatives: MongoDB: no joins\n")
    made.says("Lesson: Look at the pool before adding retries.\n\nBLOCKER: no test server")
    assert "1  decision  Adopt PostgreSQL" in written(memctl, repo, made, "--review").out
    assert memctl("list").out == ""
    before = commits(repo)
    written(memctl, repo, made, "--accept")
    assert commits(repo) == before + 1
    assert {record["title"] for record in memctl("list", "--json").data["records"]} == {
        "Adopt PostgreSQL",
        "Look at the pool before adding retries",
        "no test server",
    }
    shown = memctl("show", "dec").out
    assert "## Rationale\n\norders need transactions" in shown
    assert "- MongoDB: no joins" in shown
    assert "no records are proposed" in written(memctl, repo, made, "--review").err


def test_only_the_numbered_proposals_are_accepted(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo)
    made.prompt("Choose.")
    made.says("DECISION: One thing\n\nDECISION: Another thing")
    written(memctl, repo, made, "--accept", "2")
    assert [record["title"] for record in memctl("list", "--json").data["records"]] == ["Another thing"]
    file = repo.parent / "session.jsonl"
    assert "no proposal '9'" in memctl("session", "summarize", "-t", str(file), "--accept", "9", code=2).err


def test_credentials_are_blanked_wherever_they_stand(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo)
    made.prompt(f"Use the key {KEY} for the API.")
    made.says(f"DECISION: Keep {KEY} in the vault\n\nNote: export API_KEY=hunter2hunter2")
    made.call("Bash", command=f"curl -H 'Authorization: Bearer {KEY}' x", result=f"Error: {KEY} is wrong", error=True)
    made.call("Write", file_path=f"{repo}/{KEY}.txt", content="x")
    result = written(memctl, repo, made, "--json", "--accept")
    assert KEY not in result.out
    assert KEY not in git(repo, "log", "-p", "-1")
    assert "hunter2" not in git(repo, "log", "-p", "-1")
    assert "[blanked: anthropic key]" in git(repo, "log", "-p", "-1")


def test_paths_outside_of_the_repository_are_told_as_such(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo)
    made.prompt("Look around.")
    made.call("Read", file_path="/etc/hosts")
    made.call("Write", file_path=f"{repo}/../../elsewhere.txt", content="x")
    made.call("Bash", command="cat ~/notes.txt; rm ../gone.txt")
    entries = written(memctl, repo, made, "--json", "--dry-run").data["summary"]["trail"]["entries"]
    assert all(not entry["is_inside"] for entry in entries)
    assert {"/etc/hosts", "~/notes.txt", f"{repo.parent}/gone.txt"} < {entry["path"] for entry in entries}
    page = written(memctl, repo, made, "--dry-run").out
    assert "### Files Outside of the Repository" in page


def test_git_adds_what_no_tool_call_shows(repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Transcript(repo)
    made.prompt("Generate.")
    made.call("Bash", command="python gen.py")
    (repo / "made.py").write_text("x = 1\n")
    (repo / "app.py").unlink()
    git(repo, "add", "-A")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2025-11-04T09:01:00Z")
    git(repo, "commit", "-qm", "feat: generated")
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    made.says("Done.")
    entries = written(memctl, repo, made, "--json", "--dry-run").data["summary"]["trail"]["entries"]
    assert {(entry["path"], entry["action"]) for entry in entries} == {("made.py", "created"), ("app.py", "deleted")}
