"""What a transcript of Gemini CLI tells of compressions, which the program itself does not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl.hooks import gemini_compaction
from memctl.hooks.hosts import GEMINI
from memctl.store.session_dir import SessionDir
from tests.conftest import Memctl, commits
from tests.hooks.session import ANSWER, Session, compress
from tests.transcript.claude import Transcript


@pytest.fixture
def folder(tmp_path: Path) -> SessionDir:
    return SessionDir(tmp_path / "hooks", "g1")


def take_new_compression(folder: SessionDir, tmp_path: Path, transcript: Transcript) -> bool:
    file = tmp_path / "chat.jsonl"
    file.write_text(transcript.text)
    return gemini_compaction.take_new_compression(folder, str(file))


def test_each_compression_is_reported_once(folder: SessionDir, tmp_path: Path) -> None:
    chat = Transcript()
    chat.raw('{"sessionId":"g1","kind":"main"}')
    chat.raw('{"id":"1","type":"user","content":[{"text":"Refunds by card"}]}')
    assert not take_new_compression(folder, tmp_path, chat)
    compress(chat)
    assert take_new_compression(folder, tmp_path, chat)
    assert not take_new_compression(folder, tmp_path, chat)
    chat.raw('{"$set":{"lastUpdated":"2026-11-22T10:18:01.163Z"}}')
    assert not take_new_compression(folder, tmp_path, chat)
    compress(chat, "<state_snapshot>Refunds and vouchers</state_snapshot>")
    assert take_new_compression(folder, tmp_path, chat)


def test_messages_rewritten_by_a_resumed_session_are_no_compression(folder: SessionDir, tmp_path: Path) -> None:
    chat = Transcript()
    compress(chat)
    assert take_new_compression(folder, tmp_path, chat)
    compress(chat, lastUpdated="later")
    assert not take_new_compression(folder, tmp_path, chat)


@pytest.mark.parametrize(
    "line",
    [
        '{"$set":{"messages":[',
        '{"$set":{"messages":{}}}',
        '{"$set":{"messages":[]}}',
        '{"$set":{"messages":[null,1,{"content":7},{"content":[]}]}}',
        f'{{"$set":{{"messages":[{{"type":"gemini","content":"{ANSWER}"}}]}}}}',
        f'{{"$set":{{"messages":[{"0," * 9}{{"content":"{ANSWER}"}}]}}}}',
        '{"$set":{"messages":' + "[" * 100_000,
        f'{{"id":"1","type":"gemini","content":"{ANSWER}"}}',
        "",
    ],
)
def test_line_without_a_compression_is_not_taken_for_one(folder: SessionDir, tmp_path: Path, line: str) -> None:
    chat = Transcript()
    chat.raw(line)
    assert not take_new_compression(folder, tmp_path, chat)
    compress(chat)
    assert take_new_compression(folder, tmp_path, chat)


@pytest.mark.parametrize("transcript", ["", "chat.jsonl", "/nowhere/chat.jsonl", "/"])
def test_a_missing_transcript_gives_nothing(folder: SessionDir, transcript: str) -> None:
    assert not gemini_compaction.take_new_compression(folder, transcript)
    assert not folder.path.exists()


def test_replaced_transcript_is_read_from_its_beginning(folder: SessionDir, tmp_path: Path) -> None:
    chat = Transcript()
    chat.raw("x" * 10_000)
    take_new_compression(folder, tmp_path, chat)
    fresh = Transcript()
    compress(fresh)
    assert take_new_compression(folder, tmp_path, fresh)


def test_requests_that_compress_nothing_save_nothing_and_give_no_state(
    repo: Path, tmp_path: Path, memctl: Memctl
) -> None:
    """Gemini CLI asks for PreCompress before each; an older memctl had it hooked."""
    gemini = Session(repo, tmp_path / "chat.jsonl", "g1", GEMINI)
    gemini.context("SessionStart", source="startup")
    memctl("checkpoint", "save", "--task", "Refunds by card", "--doing", "Rounding", "--next", "A test")
    before = commits(repo)
    for _ in range(3):
        assert gemini.send("PreCompress", trigger="auto") == ""
        assert gemini.send("AfterTool") == ""
    assert commits(repo) == before
    assert gemini.folder.calls() == 3
    assert memctl("hook", "log", "--json").data["total"] == 0


def test_compression_is_logged_and_resets_the_call_count(repo: Path, tmp_path: Path, memctl: Memctl) -> None:
    gemini = Session(repo, tmp_path / "chat.jsonl", "g1", GEMINI)
    gemini.context("SessionStart", source="startup")
    gemini.send("BeforeAgent", prompt="Refunds by card")
    (repo / "card.py").write_text("x = 1\n")
    for _ in range(3):
        gemini.send("AfterTool")
    compress(gemini.transcript)
    assert "TASK: Refunds by card" in gemini.context("AfterTool")
    assert gemini.folder.calls() == 1
    (one,) = memctl("hook", "log", "--json").data["compactions"]
    assert (one["session"], one["host"], one["trigger"], one["calls"]) == ("g1", "gemini", "", 3)
    assert gemini.faults() == []


def test_hook_context_before_a_prompt_is_not_part_of_the_prompt(repo: Path, tmp_path: Path, memctl: Memctl) -> None:
    gemini = Session(repo, tmp_path / "chat.jsonl", "g1", GEMINI)
    pack = gemini.context("SessionStart", source="startup")
    gemini.send("BeforeAgent", prompt=f"<hook_context>{pack}</hook_context>\n\nRefunds by card")
    gemini.send("BeforeAgent", prompt="<hook_context> is what?")
    (repo / "card.py").write_text("x = 1\n")
    compress(gemini.transcript)
    gemini.context("AfterTool")
    saved = memctl("checkpoint", "show", "--json").data
    assert saved["goal"] == "Refunds by card"
    assert saved["said"][-1] == "<hook_context> is what?"


def test_reinstallation_removes_events_hooked_by_an_older_memctl(memctl: Memctl, repo: Path) -> None:
    memctl("install", "gemini", "--yes")
    file = repo / ".gemini" / "settings.json"
    fresh = file.read_text()
    values = json.loads(fresh)
    (ours,) = values["hooks"]["AfterTool"]
    theirs = {"hooks": [{"type": "command", "command": "date"}]}
    values["hooks"]["PreCompress"] = [theirs, ours]
    values["hooks"]["BeforeModel"] = [ours]
    file.write_text(json.dumps(values, indent=2))
    memctl("install", "gemini", "--yes")
    after = json.loads(file.read_text())["hooks"]
    assert after.pop("PreCompress") == [theirs]
    assert after == json.loads(fresh)["hooks"]


def test_compaction_without_a_known_task_brings_the_pack_back(repo: Path, tmp_path: Path) -> None:
    gemini = Session(repo, tmp_path / "chat.jsonl", "g1", GEMINI)
    gemini.context("SessionStart", source="startup")
    compress(gemini.transcript)
    assert "# Memory of shop" in gemini.context("AfterTool")


def test_state_given_with_a_prompt_is_from_before_the_prompt(repo: Path, tmp_path: Path, memctl: Memctl) -> None:
    gemini = Session(repo, tmp_path / "chat.jsonl", "g1", GEMINI)
    gemini.context("SessionStart", source="startup")
    for prompt in ("Refunds by card", "Now vouchers"):
        assert gemini.send("BeforeAgent", prompt=prompt) == ""
    compress(gemini.transcript)
    assert "- Now vouchers" in gemini.context("BeforeAgent", prompt="Go on")
    compress(gemini.transcript, "<state_snapshot>Vouchers</state_snapshot>")
    assert "- Go on" in gemini.context("BeforeAgent", prompt="And then?")
    assert gemini.faults() == []
