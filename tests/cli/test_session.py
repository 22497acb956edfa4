"""`session`: summaries of transcripts, written, merged, listed and shown."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints import saved
from tests.conftest import Memctl, changed_in, commits, git
from tests.transcript.claude import Transcript

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


def test_transcript_given_twice_counts_once(repo: Path, memctl: Memctl) -> None:
    made = Transcript(cwd=repo)
    made.prompt("Write a.py.")
    made.call("Write", file_path=str(repo / "a.py"), content="x")
    first, copy = repo.parent / "first.jsonl", repo.parent / "copy.jsonl"
    first.write_text(made.text)
    copy.write_text(made.text)
    given = ("-t", str(first), "-t", str(first), "-t", str(repo / ".." / "first.jsonl"), "-t", str(copy))
    figures = memctl("session", "summarize", *given, "--json").data["summary"]["metrics"]
    assert (figures["turns"], figures["tool_calls"]) == (1, 1)
    assert git(repo, "log", "-1", "--format=%s") == "docs(memory): summarize Write a.py (1 file)\n"
    piped = memctl("session", "summarize", "-t", "-", "-t", "-", "--id", "piped", "--json", stdin=made.text).data
    assert piped["summary"]["metrics"]["turns"] == 1


def test_a_session_without_a_transcript_has_no_turns(repo: Path, memctl: Memctl) -> None:
    memctl("session", "start", "refunds")
    memctl("session", "end", "refunds")
    assert git(repo, "log", "-1", "--format=%s").strip() == "docs(memory): summarize refunds (0 files)"


def test_an_intent_is_listed_without_the_escapes_of_its_page(repo: Path, memctl: Memctl) -> None:
    memctl("session", "start", "refunds", "--intent", "Use [this] for *refunds*")
    memctl("session", "end", "refunds")
    assert r"\[this\]" in memctl("session", "show", "refunds").out
    assert memctl("session", "list").out.rstrip().endswith("Use [this] for *refunds*")


def test_the_page_of_a_long_session_keeps_every_path_and_decision_within_its_budget(repo: Path, memctl: Memctl) -> None:
    made, touched, decisions = long_session(repo)
    assert written(memctl, repo, made).id == made.session
    page = (repo / f".memory/sessions/{made.session}.md").read_text()
    trail = (repo / f".memory/sessions/files/{made.session}.md").read_text()
    assert f"[files/{made.session}.md](files/{made.session}.md)" in page
    assert 8_000 < memctl("tokens", "-", "--json", stdin=page).data["files"][0]["tokens"] <= 10_000
    for action in ("created", "modified", "deleted"):
        for path in touched[action]:
            assert f"| `{path}` | {action} |" in trail
    for path in touched["read"]:
        assert f"- `{path}`" in trail
    assert sorted(changed_in(repo)) == [
        f".memory/sessions/{made.session}.md",
        f".memory/sessions/files/{made.session}.md",
    ]
    assert "360 files" in memctl("session", "list").out
    before = commits(repo)
    written(memctl, repo, made)
    assert commits(repo) == before
    (repo / f".memory/sessions/files/{made.session}.md").unlink()
    file = repo.parent / "session.jsonl"
    assert "restore it" in memctl("session", "summarize", "-t", str(file), code=1).err
    for decision in decisions:
        assert decision in page


def test_a_summary_commits_one_file(repo: Path, memctl: Memctl) -> None:
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


def test_findings_become_records_only_when_accepted(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo)
    made.prompt("Choose a database.")
    made.says("DECISION: Adopt PostgreSQL because orders need transactions\nAlternatives: MongoDB: no joins\n")
    made.says("Lesson: Look at the pool before adding retries.\n\nBLOCKER: no test server")
    assert "1  decision  Adopt PostgreSQL" in written(memctl, repo, made, "--review").out
    assert memctl("list").out == ""
    before = commits(repo)
    out = written(memctl, repo, made, "--accept").out
    assert commits(repo) == before + 1
    (decision,) = memctl("list", "--type", "decision", "--json").data["records"]
    assert f"\n{decision['id']} {decision['path']}  Adopt PostgreSQL\n" in out
    assert {record["title"] for record in memctl("list", "--json").data["records"]} == {
        "Adopt PostgreSQL",
        "Look at the pool before adding retries",
        "No test server",
    }
    shown = memctl("show", "dec").out
    assert "## Rationale\n\norders need transactions" in shown
    assert "- MongoDB: no joins" in shown
    assert "no records are proposed; all proposals are recorded already" in written(memctl, repo, made, "--review").err


def test_the_numbers_of_proposals_stay_when_one_is_accepted(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo)
    made.prompt("Choose.")
    made.says("DECISION: One thing\n\nDECISION: Another thing\n\nLesson: Third thing is a charm")
    before = [
        (one["number"], one["title"]) for one in written(memctl, repo, made, "--review", "--json").data["proposals"]
    ]
    left = written(memctl, repo, made, "--accept", "1").err
    assert "proposed: 2 more records" in left
    only = memctl("list", "--json").data["records"]
    assert [one["title"] for one in only] == [before[0][1]]
    again = written(memctl, repo, made, "--accept", "1").err
    assert f"proposal 1 is already recorded: {only[0]['id']}" in again
    assert memctl("list", "--json").data["records"] == only
    shown = written(memctl, repo, made, "--review")
    assert f"{before[0][1]}  (already recorded: {only[0]['id']})" in shown.out
    after = written(memctl, repo, made, "--review", "--json").data["proposals"]
    assert [(one["number"], one["title"]) for one in after] == before
    assert [one["record"] for one in after] == [only[0]["id"], "", ""]
    written(memctl, repo, made, "--accept", "1,3")
    titles = {one["title"] for one in memctl("list", "--json").data["records"]}
    assert titles == {before[0][1], before[2][1]}
    assert "proposed: 1 more record" in written(memctl, repo, made).err


def test_accepted_proposal_under_another_title_is_not_proposed_again(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo)
    made.prompt("Choose.")
    made.says("DECISION: One thing\n\nLesson: Third thing is a charm")
    written(memctl, repo, made, "--accept", "all")
    records = memctl("list", "--json").data["records"]
    for record in records:
        memctl("edit", record["id"], "--set", f"title=Another {record['memory_type']}", "--allow-accepted")
    proposed = written(memctl, repo, made, "--review", "--json").data["proposals"]
    assert {one["record"] for one in proposed} == {record["id"] for record in records}


def test_uncertain_findings_are_listed_in_a_separate_group(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo)
    made.prompt("Look at the export.")
    made.says("If the shop is closed, an order in `pay.py` is silently dropped.")
    made.says("Lesson: Look at the pool before adding retries.")
    shown = written(memctl, repo, made, "--review").out
    sure, perhaps = shown.split("perhaps:\n")
    assert sure.startswith("  1  learning  Look at the pool")
    assert perhaps.startswith("  2  issue     If the shop is closed")
    written(memctl, repo, made, "--accept", "sure")
    assert [one["memory_type"] for one in memctl("list", "--json").data["records"]] == ["learning"]


def test_placeholders_are_not_proposed(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo)
    made.prompt("Choose.")
    made.says("DECISION: TBD\n\nDECISION: One thing\n\nTODO: unknown\n\nLesson: ...")
    proposed = written(memctl, repo, made, "--review", "--json").data["proposals"]
    assert [one["title"] for one in proposed] == ["One thing"]
    written(memctl, repo, made, "--accept", "all")


def test_only_the_numbered_proposals_are_accepted(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo)
    made.prompt("Choose.")
    made.says("DECISION: One thing\n\nDECISION: Another thing")
    written(memctl, repo, made, "--accept", "2")
    assert [record["title"] for record in memctl("list", "--json").data["records"]] == ["Another thing"]
    file = repo.parent / "session.jsonl"
    assert "no proposal '9'" in memctl("session", "summarize", "-t", str(file), "--accept", "9", code=2).err


def test_credentials_are_redacted_everywhere_in_a_summary(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo)
    made.prompt(f"Use the key {KEY} for the API.")
    made.says(f"DECISION: Keep {KEY} in the vault\n\nNote: export API_KEY=hunter2hunter2")
    made.call("Bash", command=f"curl -H 'Authorization: Bearer {KEY}' x", result=f"Error: {KEY} is wrong", error=True)
    made.call("Write", file_path=f"{repo}/{KEY}.txt", content="x")
    result = written(memctl, repo, made, "--json", "--accept")
    assert KEY not in result.out
    assert KEY not in git(repo, "log", "-p", "-1")
    assert "hunter2" not in git(repo, "log", "-p", "-1")
    assert "[redacted: Anthropic key]" in git(repo, "log", "-p", "-1")


def test_paths_outside_of_the_repository_are_listed_separately(repo: Path, memctl: Memctl) -> None:
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


def test_git_adds_files_missing_from_tool_calls(repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_later_summary_is_merged_into_the_page(repo: Path, memctl: Memctl) -> None:
    first = Transcript(repo)
    first.prompt("Build the cart.")
    first.call("Write", file_path=f"{repo}/cart.py", content="x", details={"type": "create"})
    first.call("Read", file_path=f"{repo}/app.py")
    first.call("Bash", "Exit code 1\nAssertionError: empty", error=True, command="pytest tests/cart")
    first.says("DECISION: Keep carts in Redis\n\nNext steps:\n1. Empty carts")
    written(memctl, repo, first)
    page = repo / f".memory/sessions/{first.session}.md"
    page.write_text(page.read_text() + "\n### By hand\n\nKept.\n")
    memctl("commit")
    second = Transcript(repo, first.session)
    second._seconds += 3600
    second._number = 500
    second.prompt("Go on.")
    second.call("Edit", file_path=f"{repo}/cart.py", old_string="a", new_string="b")
    second.call("Edit", file_path=f"{repo}/app.py", old_string="a", new_string="b")
    second.call("Bash", "5 passed", command="pytest tests/cart")
    second.says("DECISION: Carts expire\n\nNext steps:\n1. Ship it")
    written(memctl, repo, second, name="second.jsonl")
    text = page.read_text()
    assert "### Session Intent\n\nBuild the cart.\n" in text
    assert "| `cart.py` | created |" in text
    assert "| `app.py` | modified | +1 -1 lines |" in text
    assert "### Files Read" not in text
    assert "1. Keep carts in Redis\n2. Carts expire\n" in text
    assert "### Next Steps\n\n1. Ship it\n" in text
    assert "resolved: `pytest tests/cart`: AssertionError: empty" in text
    assert "### By hand\n\nKept.\n" in text
    assert "turns: 2\n" in text


def test_a_started_session_is_summarized_from_git_at_its_end(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "before.txt").write_text("dirty already\n")
    assert "refunds began" in memctl("session", "start", "refunds", "--intent", "Refunds by card").out
    monkeypatch.setenv("MEMCTL_SESSION", "refunds")
    memctl("decide", "Refund in full")
    (repo / "refund.py").write_text("x\n")
    git(repo, "add", "refund.py")
    git(repo, "commit", "-qm", "feat: refunds")
    (repo / "app.py").write_text("changed\n")
    status = memctl("session", "status").out
    assert "refunds  claude, since 2025-11-04T14:32:00Z" in status
    assert memctl("session", "status", "--json").data["sessions"][0]["id"] == "refunds"
    assert "is already running, since" in memctl("session", "start", code=1).err
    memctl("session", "end")
    page = memctl("session", "show", "ref").out
    assert "Refunds by card" in page
    assert "| `refund.py` | created | by Git |" in page
    assert "| `app.py` | modified | by Git |" in page
    assert "before.txt" not in page
    assert "Recorded: DEC-2025-11-04-001" in page
    assert "no session is under way" in memctl("session", "status").err
    assert "session 'refunds' is not under way" in memctl("session", "end", code=1).err
    assert memctl("session", "list").out.split()[0] == "refunds"
    assert memctl("session", "list", "--json").data["sessions"][0]["path"] == ".memory/sessions/refunds.md"
    assert memctl("session", "show", "refunds", "--json").data["files"]["Files Modified"][0]["action"] == "created"
    assert "1 session summarized, the last ended 2025-11-04T14:32:00Z" in memctl("rehydrate").out


def test_unknown_session_is_refused_with_a_hint(repo: Path, memctl: Memctl) -> None:
    assert "session list" in memctl("session", "show", "nothing", code=1).err
    assert "set MEMCTL_SESSION" in memctl("session", "start", code=2).err
    assert "not a valid name for a session" in memctl("session", "start", "../../x", code=2).err
    assert "the option --transcript FILE is missing" in memctl("session", "summarize", code=2).err
    assert memctl("session", "list").err == "no session has been summarized yet\n"
    (repo.parent / "empty.jsonl").write_text("\n")
    assert "not a transcript" in memctl("session", "summarize", "-t", str(repo.parent / "empty.jsonl"), code=1).err


def test_a_broken_page_is_reported_and_others_are_listed(repo: Path, memctl: Memctl) -> None:
    folder = repo / ".memory/sessions"
    folder.mkdir()
    (folder / "odd.md").write_text("no front matter")
    memctl("session", "start", "fine")
    memctl("session", "end", "fine")
    copy = (folder / "fine.md").read_text()
    (folder / "copy.md").write_text(copy)
    (folder / "merged.md").write_text(copy + "<<<<<<< a\nx\n=======\ny\n>>>>>>> b\n")
    (folder / "link.md").symlink_to("fine.md")
    result = memctl("session", "list", code=1)
    assert result.out.startswith("fine ")
    assert result.out.count("\n") == 1
    for name, why in (("odd", "front matter"), ("copy", "session_id"), ("merged", "conflict"), ("link", "link")):
        (line,) = [line for line in result.err.splitlines() if f"sessions/{name}.md" in line]
        assert why in line
    assert len(memctl("session", "list", "--json", code=1).json["faults"]) == 4
    shown = memctl("session", "show", "odd", code=1)
    assert shown.out == "no front matter"
    assert "warning: .memory/sessions/odd.md:1: the file must begin with front matter" in shown.err
    assert memctl("session", "show", "odd", "--json", code=1).out == ""
    assert memctl("session", "show", "fine").err == ""


def test_a_missing_or_broken_list_of_files_is_reported(repo: Path, memctl: Memctl) -> None:
    made, touched, _ = long_session(repo)
    written(memctl, repo, made)
    shown = memctl("session", "show", "5f6c", "--json").data["files"]
    assert {row["path"] for row in shown["Files Modified"]} == set().union(*touched.values()) - touched["read"]
    trail = repo / f".memory/sessions/files/{made.session}.md"
    trail.write_text("broken")
    assert f"sessions/files/{made.session}.md:1: the file must begin" in memctl("session", "show", "5f", code=1).err
    assert (
        memctl("session", "show", "5f", "--json", code=1).json["faults"][0]["path"].endswith(f"files/{made.session}.md")
    )
    trail.unlink()
    assert "the list of the session's files is missing" in memctl("session", "show", "5f", code=1).err


def test_pages_and_checkpoints_written_by_hand_are_committed_unless_broken(repo: Path, memctl: Memctl) -> None:
    page = "---\nsession_id: s\n---\n\n## Session Summary — s\n"
    fine = {
        ".memory/sessions/s.md": page,
        ".memory/sessions/files/s.md": page,
        ".memory/checkpoints/main/w1-v1-0a0a0a.json": saved(1, 1),
        ".memory/checkpoints/main/w1-v1-0a0a0a.md": "Refunds\n",
    }
    broken = {
        ".memory/sessions/t.md": page,
        ".memory/checkpoints/main/w1-v2-0a0a0a.json": "{}",
        ".memory/sessions/files/u.md": "Nothing.\n",
    }
    others = {".memory/sessions/s.txt": "x", ".memory/checkpoints/notes.md": "x", ".memory/sessions/a/s.md": page}
    for path, text in {**fine, **broken, **others}.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text)
    said = memctl("commit", code=1)
    assert sorted(changed_in(repo)) == sorted(fine)
    assert all(path in said.out + said.err for path in broken)
    assert not any(path in said.out + said.err for path in others)


def test_a_transcript_can_name_itself_no_path(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo, "../../../etc/passwd")
    made.prompt("Hello.")
    assert written(memctl, repo, made).out.startswith("etc-passwd .memory/sessions/etc-passwd.md")


def test_messages_of_both_interfaces_and_plain_text_are_read(repo: Path, memctl: Memctl) -> None:
    openai = [
        {"role": "system", "content": "DECISION: not this"},
        {"role": "user", "content": "Rename the module."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "shell", "arguments": '{"command": ["git", "mv", "a.py", "b.py"]}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"output": "", "metadata": {"exit_code": 0}}'},
        {"role": "assistant", "content": "Decision: call it b"},
    ]
    anthropic = {
        "model": "claude-sonnet-4-5",
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Patch it."}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "**Decision**: patch"},
                    {"type": "tool_use", "id": "t1", "name": "apply_patch", "input": {"input": _PATCH}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Done!"}]},
        ],
    }
    plain = "User: Which database?\nAssistant: Chose SQLite because it is there.\nNext steps:\n- Try it\n"
    expected: tuple[tuple[str, set[tuple[str, str]], str], ...] = (
        (json.dumps(openai), {("a.py", "deleted"), ("b.py", "created")}, "call it b"),
        ("\n".join(map(json.dumps, openai)), {("a.py", "deleted"), ("b.py", "created")}, "call it b"),
        (json.dumps(anthropic), {("n.py", "created"), ("o.py", "modified"), ("p.py", "deleted")}, "patch"),
        (plain, set(), "Chose SQLite"),
    )
    for text, files, decision in expected:
        file = repo.parent / "given"
        file.write_text(text)
        summary = memctl("session", "summarize", "-t", str(file), "--json", "-n").data["summary"]
        assert {(entry["path"], entry["action"]) for entry in summary["trail"]["entries"]} == files
        assert [one["text"] for one in summary["found"] if one["label"] == "decision"] == [decision]
        assert summary["metrics"]["turns"] == 1


_PATCH = """*** Begin Patch
*** Add File: n.py
+x
*** Update File: o.py
@@
-a
+b
*** Delete File: p.py
*** End Patch"""


def test_paths_in_errors_and_comments_are_below_the_repository(repo: Path, memctl: Memctl) -> None:
    made = Transcript(repo)
    made.prompt("Write.")
    made.call("Write", file_path=f"{repo}/a.py", content="# TODO: round\n")
    made.call("Edit", f"{repo}/b.py not found", error=True, file_path=f"{repo}/b.py")
    written(memctl, repo, made, "--accept")
    assert str(repo) not in git(repo, "log", "-p", "-1")
    assert "TODO: round (`a.py`)" in memctl("session", "show", made.session).out


def test_the_files_of_sub_agents_are_found_beside_the_transcript(repo: Path, memctl: Memctl) -> None:
    made, sub = Transcript(repo), Transcript(repo)
    made.prompt("Build it.")
    made.call("Write", file_path=f"{repo}/main.py", content="x")
    sub.agent = "a1"
    sub.add("user", message={"role": "user", "content": "Look at it."}, uuid="s1")
    sub._number = 500
    sub.call("Read", file_path=f"{repo}/seen.py")
    beside = repo.parent / "session" / "subagents"
    beside.mkdir(parents=True)
    (beside / "agent-a1.jsonl").write_text(sub.text)
    (beside / "agent-a2.jsonl").write_bytes(b"\xff\x00")
    summary = written(memctl, repo, made, "--json", "--dry-run").data["summary"]
    assert {entry["path"] for entry in summary["trail"]["entries"]} == {"main.py", "seen.py"}
    again = written(memctl, repo, made, "-t", str(beside / "agent-a1.jsonl"), "--json", "--dry-run").data["summary"]
    assert again["trail"] == summary["trail"]


def test_merge_conflict_is_an_open_error_only_while_git_reports_it(repo: Path, memctl: Memctl) -> None:
    git(repo, "checkout", "-q", "-b", "other")
    (repo / "app.py").write_text("other\n")
    git(repo, "commit", "-qam", "Other")
    git(repo, "checkout", "-q", "-")
    (repo / "app.py").write_text("mine\n")
    git(repo, "commit", "-qam", "Mine")
    git(repo, "merge", "-q", "other", check=False)
    made = Transcript(repo)
    made.prompt("Bring the branch in.")
    made.call("Bash", "CONFLICT (content): Merge conflict in app.py", command="git merge other", error=True)
    page = repo / ".memory" / "sessions"
    written(memctl, repo, made, "--id", "one")
    assert "- open: `git merge other`" in (page / "one.md").read_text()
    git(repo, "merge", "--abort")
    written(memctl, repo, made, "--id", "two")
    assert "- open: " not in (page / "two.md").read_text()


def test_transcripts_given_out_of_order_keep_the_newest_state(repo: Path, memctl: Memctl) -> None:
    first = Transcript(repo)
    first.prompt("Build the till.")
    first.says("DECISION: One drawer for each till\n\nStatus: the drawer opens\n\nNext steps:\n1. Count the coins")
    later = Transcript(repo)
    later._seconds = first._seconds + 3600
    later.prompt("Go on with the till.")
    later.says("DECISION: Coins are counted twice\n\nStatus: coins are counted\n\nNext steps:\n1. Print the receipt")
    for made, name in ((later, "later.jsonl"), (first, "first.jsonl")):
        written(memctl, repo, made, "--id", "till", name=name)
    text = (repo / ".memory/sessions/till.md").read_text()
    assert "### Session Intent\n\nBuild the till.\n" in text
    assert "1. One drawer for each till\n2. Coins are counted twice\n" in text
    assert "### Next Steps\n\n1. Print the receipt\n" in text
    assert "coins are counted" in text
    assert "the drawer opens" not in text
    assert "2. Count the coins" not in text


@pytest.mark.parametrize("text", ["not json {", "hello\n", '{"x'])
def test_text_in_which_nobody_speaks_and_nothing_happens_is_refused_as_a_transcript(
    repo: Path, memctl: Memctl, text: str
) -> None:
    before = commits(repo)
    refused = memctl("session", "summarize", "-t", "-", stdin=text, code=1)
    assert "memctl can read nothing of a session in standard input" in refused.err
    assert commits(repo) == before
    memctl("session", "summarize", "-t", "-", stdin="We decided to use PostgreSQL because orders need transactions.\n")
    assert commits(repo) == before + 1


def test_a_session_ended_by_hand_has_its_commits_and_its_records_as_objects(repo: Path, memctl: Memctl) -> None:
    memctl("session", "start", "refunds", "--intent", "Refund by card")
    (repo / "card.py").write_text("def refund(): ...\n")
    git(repo, "add", "card.py")
    git(repo, "commit", "-qm", "Add refunds by card")
    memctl("decide", "Round half to even", "--rationale", "the bank does so")
    memctl("session", "end", "refunds")
    shown = memctl("session", "show", "refunds").out
    assert "Round half to even (DEC-" in shown
    assert "Add refunds by card" in shown
    assert "card.py" in shown
