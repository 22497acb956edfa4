"""`session probe`: facts of a session asked for in its summary."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_session import KEY, long_session, written
from tests.conftest import Memctl, Result, git
from tests.providers.asked import Asked
from tests.transcript.claude import Transcript


def session(repo: Path) -> Transcript:
    """A session that has something for every kind of probe."""
    made = Transcript(repo)
    made.prompt("Build refunds by card, and keep the API as it is.")
    made.call("Write", file_path=f"{repo}/src/refund.py", content="x = 1\n")
    made.call("Edit", file_path=f"{repo}/app.py", old_string="a", new_string="b")
    made.call("Read", file_path=f"{repo}/docs/cards.md")
    made.call("Bash", command="pytest -q", result="E   PoolError: the pool is exhausted\nexit code 1", error=True)
    made.says("DECISION: Put refunds into a queue because they come in bursts")
    made.says("Blocker: the sandbox of the bank is down\n\nLesson: retries hide an exhausted pool")
    todos = [{"content": "Write the route", "status": "completed"}, {"content": "Test it", "status": "pending"}]
    made.call("TodoWrite", todos=todos)
    return made


def page_of(repo: Path, made: Transcript) -> Path:
    return repo / f".memory/sessions/{made.session}.md"


def probe(memctl: Memctl, repo: Path, *args: str, code: int | None = 0) -> Result:
    return memctl("session", "probe", "-t", str(repo.parent / "session.jsonl"), *args, code=code)


def missing(result: Result) -> set[tuple[str, str]]:
    return {(one["probe"]["kind"], one["probe"]["fact"]) for one in result.data["probes"] if not one["answered"]}


def share(result: Result, kind: str) -> Any:
    return next(one["share"] for one in result.data["shares"] if one["kind"] == kind)


def score(result: Result, name: str) -> Any:
    return next(one["score"] for one in result.data["dimensions"] if one["name"] == name)


def test_a_fresh_summary_answers_every_probe(repo: Path, memctl: Memctl) -> None:
    made = session(repo)
    written(memctl, repo, made)
    result = probe(memctl, repo, "--json", "--min", "1")
    assert missing(result) == set()
    kinds = {one["kind"]: one["asked"] for one in result.data["shares"]}
    assert kinds == {"recall": 4, "artifact": 3, "continuation": 7, "decision": 2, "all": 16}
    scores = {one["name"]: one["score"] for one in result.data["dimensions"]}
    assert scores == {
        "Accuracy": 5.0,
        "Context awareness": 5.0,
        "Artifact trail": 5.0,
        "Completeness": 5.0,
        "Continuity": 5.0,
        "Instruction following": None,
    }
    text = probe(memctl, repo).out
    assert "Probes that the summary does not answer" not in text
    assert re.search(r"^-  +Instruction following +4\.0 +needs a language model", text, re.M)


def test_a_long_summary_answers_for_every_path_and_decision(repo: Path, memctl: Memctl) -> None:
    made, touched, decisions = long_session(repo)
    written(memctl, repo, made)
    result = probe(memctl, repo, "--json", "--min", "1")
    facts = {one["probe"]["fact"] for one in result.data["probes"] if one["probe"]["kind"] == "artifact"}
    assert facts == set().union(*touched.values())
    assert set(decisions) <= {one["probe"]["fact"] for one in result.data["probes"]}
    assert score(result, "Artifact trail") == 5.0


@pytest.mark.parametrize(
    ("old", "new", "kind", "fact", "dimension"),
    [
        (
            "| `src/refund.py` | created |",
            "| `src/refunds.py` | created |",
            "artifact",
            "src/refund.py",
            "Artifact trail",
        ),
        ("| `app.py` | modified |", "| `app.py` | deleted |", "artifact", "app.py", "Accuracy"),
        ("- `docs/cards.md`", "- `cards.md`", "artifact", "docs/cards.md", "Artifact trail"),
        ("the pool is exhausted", "it failed", "recall", "E PoolError: the pool is exhausted", "Accuracy"),
        ("keep the API as it is", "and so on", "recall", "Build refunds by card, and keep the API as it is.", ""),
        ("retries hide an exhausted pool", "…", "recall", "retries hide an exhausted pool", "Completeness"),
        ("Put refunds into a queue", "Use a queue", "decision", "Put refunds into a queue", "Completeness"),
        ("they come in bursts", "why not", "decision", "they come in bursts", "Completeness"),
        ("1. Test it\n", "1. Ship it\n", "continuation", "Test it", "Continuity"),
        ("50 % complete", "90 % complete", "continuation", "50 % complete", "Context awareness"),
    ],
)
def test_lost_and_wrong_facts_are_listed(
    repo: Path, memctl: Memctl, old: str, new: str, kind: str, fact: str, dimension: str
) -> None:
    made = session(repo)
    written(memctl, repo, made)
    page = page_of(repo, made)
    text = page.read_text()
    assert old in text
    page.write_text(text.replace(old, new))
    result = probe(memctl, repo, "--json", code=None)
    assert (kind, fact) in missing(result)
    assert ("below the target" in result.err) == any(
        one["score"] is not None and one["score"] < one["target"] for one in result.data["dimensions"]
    )
    assert share(result, kind) < 1
    assert share(result, "all") < 1
    if dimension:
        assert score(result, dimension) < 5
    refused = probe(memctl, repo, "--min", "1", code=1)
    assert fact in refused.out.split("Probes that the summary does not answer")[1]
    assert "less than 100.0%" in refused.err


def test_invented_facts_on_a_page_lower_only_its_accuracy(repo: Path, memctl: Memctl) -> None:
    made = session(repo)
    written(memctl, repo, made)
    page = page_of(repo, made)
    row = "| `src/refund.py` | created |"
    text = page.read_text().replace(row, "| `src/made/up.py` | created |  |\n" + row)
    page.write_text(text.replace("2. Put refunds", "2. Use nothing at all\n3. Put refunds"))
    result = probe(memctl, repo, "--json", code=1)
    assert missing(result) == set()
    assert score(result, "Accuracy") == round(5 * 5 / 7, 1)
    assert score(result, "Completeness") == 5.0


def test_without_a_transcript_the_probes_that_were_kept_are_asked(repo: Path, memctl: Memctl) -> None:
    made = session(repo)
    made.says(f"DECISION: Take the key {KEY}")
    written(memctl, repo, made)
    (repo.parent / "session.jsonl").unlink()
    result = memctl("session", "probe", "--json")
    assert result.data["source"] == "probes stored when the session was summarized"
    assert (share(result, "all"), share(result, "decision")) == (1, 1)
    (kept,) = (repo / ".git/memctl/probes").rglob("*.json")
    assert KEY not in kept.read_text()
    assert git(repo, "status", "--porcelain") == ""
    kept.write_text("[broken")
    assert "can't be graded" in memctl("session", "probe", code=1).err


def test_probes_of_the_parts_of_a_session_are_asked_together(repo: Path, memctl: Memctl) -> None:
    first = session(repo)
    written(memctl, repo, first)
    later = Transcript(repo)
    later._seconds = first._seconds + 3600
    later.prompt("Go on.")
    later.call("Edit", file_path=f"{repo}/src/refund.py", old_string="a", new_string="b")
    later.says("DECISION: Ship it on Monday\n\nNext steps:\n- Ask the bank")
    written(memctl, repo, later)
    result = probe(memctl, repo, "--json")
    assert missing(result) == set()
    facts = {one["probe"]["fact"] for one in result.data["probes"]}
    assert {"Put refunds into a queue", "Ship it on Monday", "Ask the bank"} <= facts
    assert "Test it" not in facts
    assert "Go on." not in facts
    files = {one["probe"]["fact"]: one["probe"]["action"] for one in result.data["probes"] if one["probe"]["action"]}
    assert files == {"src/refund.py": "created", "app.py": "modified", "docs/cards.md": "read"}


def test_probes_of_two_transcripts_use_the_later_state_and_next_steps(repo: Path, memctl: Memctl) -> None:
    first = session(repo)
    written(memctl, repo, first)
    old = repo.parent / "old.jsonl"
    old.write_text((repo.parent / "session.jsonl").read_text())
    later = Transcript(repo)
    later._seconds = first._seconds + 3600
    later.prompt("Go on.")
    later.call("Edit", file_path=f"{repo}/src/refund.py", old_string="a", new_string="b")
    later.says("Next steps:\n- Ask the bank")
    written(memctl, repo, later)
    for args in (["-t", str(old)], []):  # given out of order, too
        result = probe(memctl, repo, *args, "--json")
        assert missing(result) == set()
        assert score(result, "Continuity") == 5.0
        facts = {one["probe"]["fact"] for one in result.data["probes"]}
        assert {"Put refunds into a queue", "Ask the bank"} <= facts
        assert "Test it" not in facts
    alone = memctl("session", "probe", "-t", str(old), "--json")
    assert missing(alone) == set()  # what a later part replaced is not asked
    last = Transcript(repo)
    last._seconds = first._seconds + 7200
    last.prompt("Go on again.")
    last.call("Edit", file_path=f"{repo}/app.py", old_string="a", new_string="b")
    written(memctl, repo, last)
    assert missing(probe(memctl, repo, "--json")) == set()  # a part without a next step has none


def test_git_alone_gives_probes_of_files(repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2025-11-04T09:30:00Z")
    (repo / "src").mkdir()
    (repo / "src/refund.py").write_text("x = 1\n")
    git(repo, "mv", "app.py", "shop.py")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "refunds")
    monkeypatch.delenv("GIT_COMMITTER_DATE")
    made = Transcript(repo)
    made.prompt("Build refunds.")
    made._seconds += 3600
    made.says("Done.")
    written(memctl, repo, made)
    for kept in (repo / ".git/memctl/probes").rglob("*.json"):
        kept.unlink()
    result = memctl("session", "probe", "--json")
    assert result.data["source"].startswith("Git alone")
    facts = {(one["probe"]["fact"], one["probe"]["action"]) for one in result.data["probes"]}
    assert facts == {("src/refund.py", "created"), ("app.py", "deleted"), ("shop.py", "created")}
    assert share(result, "all") == 1
    assert score(result, "Artifact trail") == 5.0
    for name in ("Accuracy", "Completeness", "Continuity", "Context awareness"):
        assert score(result, name) is None
    page = page_of(repo, made)
    page.write_text(page.read_text().replace("`src/refund.py`", "`src/refunds.py`"))
    assert missing(memctl("session", "probe", "--json", code=1)) == {("artifact", "src/refund.py")}


def judge(repo: Path, tmp_path: Path) -> Asked:
    asked = Asked(tmp_path)
    git(repo, "config", "memctl.llm.provider", "command")
    git(repo, "config", "memctl.llm.command", str(asked.program))
    return asked


def test_a_judge_answers_from_the_summary_and_compares(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    made = session(repo)
    written(memctl, repo, made)
    asked = judge(repo, tmp_path)
    verdicts = {str(number): "YES" for number in range(1, 20)}
    answers = {"1": "Refunds <by> card.", "2": "The pool & so on"}
    asked.answers(answers, f"Sure: {json.dumps({**verdicts, '1': 'NO'})}", {"score": "4/5", "why": "Kept."})
    result = probe(memctl, repo, "--json")
    assert missing(result) == {("recall", "Build refunds by card, and keep the API as it is.")}
    assert {one["by"] for one in result.data["probes"] if one["probe"]["kind"] == "artifact"} == {"exact"}
    assert {one["by"] for one in result.data["probes"] if one["probe"]["kind"] != "artifact"} == {"the program ask"}
    last = result.data["dimensions"][-1]
    assert (last["score"], last["how"]) == (4.0, "judged by the program ask: Kept.")
    first, second, third = asked.prompts
    assert "What was the session to accomplish?" in first
    assert "<summary>---" in first
    assert "<fact>" not in first
    assert "<answer>Refunds &lt;by&gt; card.</answer>" in second
    assert "<summary>" not in second
    assert "keep the API as it is" in third
    asked.answers(None)
    assert "answers judged by whether the summary has the exact facts" in probe(memctl, repo, "--no-llm").out
    assert len(asked.prompts) == 3


@pytest.mark.parametrize("answers", [(None,), ("What?",), ({"1": "x"}, "No."), ({}, {"1": "YES"}, {"score": "much"})])
def test_without_a_usable_judge_exact_facts_decide(
    repo: Path, memctl: Memctl, tmp_path: Path, answers: tuple[Any, ...]
) -> None:
    made = session(repo)
    written(memctl, repo, made)
    judge(repo, tmp_path).answers(*answers)
    result = probe(memctl, repo, "--json")
    assert "warning: the language model failed, so only exact facts count as answers: " in result.err
    assert share(result, "all") == 1
    assert {one["by"] for one in result.data["probes"]} == {"exact"}
    assert score(result, "Instruction following") is None


def test_a_page_that_can_not_be_read_is_not_judged(repo: Path, memctl: Memctl) -> None:
    assert "no session has been summarized" in memctl("session", "probe", code=1).err
    made = session(repo)
    written(memctl, repo, made)
    page_of(repo, made).write_text("nothing")
    refused = probe(memctl, repo, "--json", code=1)
    assert (refused.out, "has no summary" in refused.err) == ("", True)
    assert "correct this file" in probe(memctl, repo, made.session, code=1).err
    assert "there is no page of a session" in probe(memctl, repo, "other", code=1).err


def test_probed_session_is_that_of_transcript_environment_or_the_latest(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = session(repo)
    written(memctl, repo, made)
    later = Transcript(repo, "later")
    later._seconds = made._seconds + 60
    later.prompt("Go on.")
    written(memctl, repo, later, name="later.jsonl")
    assert memctl("session", "probe", "--json").data["session"] == "later"
    assert probe(memctl, repo, "--json").data["session"] == made.session
    monkeypatch.setenv("MEMCTL_SESSION", made.session)
    assert memctl("session", "probe", "--json").data["session"] == made.session
    monkeypatch.setenv("MEMCTL_SESSION", "nobody")
    assert memctl("session", "probe", "--json").data["session"] == "later"
    assert probe(memctl, repo, made.session[:4], "--json").data["session"] == made.session


def test_probe_at_a_revision_tests_the_page_of_that_revision(repo: Path, memctl: Memctl) -> None:
    made = session(repo)
    written(memctl, repo, made)
    page = page_of(repo, made)
    page.write_text(page.read_text().replace("they come in bursts", "why not"))
    assert share(memctl("session", "probe", "--json"), "decision") == 0.5
    assert share(memctl("session", "probe", "--json", "--at", "HEAD"), "decision") == 1


def test_a_transcript_without_a_name_of_its_own_is_found_by_its_files(repo: Path, memctl: Memctl) -> None:
    messages = [{"role": "user", "content": "Add login"}, {"role": "assistant", "content": "Created src/login.py."}]
    file = repo.parent / "login talk.json"
    file.write_text(json.dumps(messages))
    memctl("session", "summarize", "-t", str(file))
    assert memctl("session", "probe", "-t", str(file), "--json").data["session"] == "login-talk"
