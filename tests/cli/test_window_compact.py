"""`memctl context window compact`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl.window import Conversation, validate
from tests.conftest import Memctl
from tests.window import generated
from tests.window.texts import COUNTER


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "messages.json"
    found.write_text(json.dumps({"model": "gpt-5", "messages": generated.chat(1, 60)}))
    return found


def test_compact_prints_messages_in_their_shape_and_reports_on_stderr(memctl: Memctl, file: Path) -> None:
    before = Conversation.parse(json.loads(file.read_text()), COUNTER).tokens
    found = memctl("window", "compact", str(file), "--free", "30000")
    given = json.loads(found.out)
    assert given["model"] == "gpt-5"
    assert validate(given["messages"]) == []
    assert Conversation.parse(given, COUNTER).tokens <= before - 30_000
    assert f"{before:,} -> " in found.err
    assert "warning: more than 50% of the tokens were removed" in found.err
    assert "warning: more than" not in memctl("window", "compact", str(file), "--target", str(before * 9 // 10)).err
    assert "of what must not be lost, this is kept: task 1 of 1" in found.err


def test_without_a_target_it_is_60_percent_of_what_fits(memctl: Memctl, file: Path, tmp_path: Path) -> None:
    args = ("--json", "-o", str(tmp_path / "out.json"))
    assert memctl("window", "compact", str(file), "--window", "50000", *args).data["target"] == 30_000
    (tmp_path / "s.jsonl").write_text("".join(generated.transcript(1, 60)))
    data = memctl("window", "compact", str(tmp_path / "s.jsonl"), *args).data
    assert 60_000 < data["target"] <= 0.6 * 167_000  # what the transcript does not hold has its part


def test_window_follows_from_the_variable_unless_an_option_is_given(
    memctl: Memctl, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ("window", "compact", str(file), "--json", "-o", str(tmp_path / "out.json"))
    monkeypatch.setenv("MEMCTL_CONTEXT_WINDOW", "80000")
    assert memctl(*args).data["target"] == 48_000
    assert memctl(*args, "--window", "50000").data["target"] == 30_000
    monkeypatch.setenv("MEMCTL_CONTEXT_WINDOW", "abc")
    assert "MEMCTL_CONTEXT_WINDOW is 'abc'" in memctl(*args, code=2).err
    assert memctl(*args, "--target", "40000").data["target"] == 40_000


def test_unreachable_target_is_approached_with_exit_code_1(memctl: Memctl, file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    found = memctl("window", "compact", str(file), "--target", "10", "--json", "-o", str(out), code=1)
    assert found.data["reached"] is False
    assert [step["name"] for step in found.data["steps"]] == [
        "tool_result_summarization", "eviction", "progressive", "compaction",
    ]  # fmt: skip
    assert found.data["lost"] == []
    assert validate(json.loads(out.read_text())["messages"]) == []


def test_a_refused_step_is_reported_with_the_reason(memctl: Memctl, tmp_path: Path) -> None:
    short = tmp_path / "short.json"
    short.write_text(json.dumps([{"role": "user", "content": "Fix the pool."}]))
    found = memctl("window", "compact", str(short), "--target", "1", "--strategy", "compaction", code=1)
    assert json.loads(found.out) == json.loads(short.read_text())
    assert "refused: there is nothing to compress before the last turns" in found.err


def test_a_model_is_asked_if_there_is_one_and_not_with_no_llm(
    memctl: Memctl, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    program = tmp_path / "model.sh"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\necho x >> {asked}\necho nothing much\n")
    program.chmod(0o755)
    monkeypatch.setenv("MEMCTL_LLM_PROVIDER", "command")
    monkeypatch.setenv("MEMCTL_LLM_COMMAND", str(program))
    args = (
        "window",
        "compact",
        str(file),
        "--strategy",
        "compaction",
        "--target",
        "9000",
        "--json",
        "-o",
        str(tmp_path / "out.json"),
    )
    alone = memctl(*args, "--no-llm").data
    assert not asked.exists()
    data = memctl(*args).data
    assert asked.read_text() == "x\n"
    assert data["steps"][0]["llm_calls"] == 1
    assert "would be lost" in data["steps"][0]["note"]  # and so it was made by rules
    assert data["tokens_after"] == alone["tokens_after"]


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("--free", "1", "--target", "1"), "--target and --free can't be combined"),
        (("--json",), "the messages need a file"),
        (("--target", "0"), "0 is not in the range"),
        (("--strategy", "magic"), "'magic' is not one of"),
        (("-o", "nowhere/out.json"), "there is no folder"),
    ],
)
def test_invalid_options_of_compact_are_refused(memctl: Memctl, file: Path, args: tuple[str, ...], why: str) -> None:
    found = memctl("window", "compact", str(file), *args, code=1 if args[0] == "-o" else 2)
    assert why in found.err
    assert found.out == ""


def test_fidelity_is_judged_by_a_model_if_there_is_one(
    memctl: Memctl, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "judge.sh"
    program.write_text("#!/bin/sh\ncat > /dev/null\necho yes\n")
    program.chmod(0o755)
    monkeypatch.setenv("MEMCTL_LLM_PROVIDER", "command")
    monkeypatch.setenv("MEMCTL_LLM_COMMAND", str(program))
    (tmp_path / "before.txt").write_text("We decided to use a pool of 25 connections.")
    (tmp_path / "after.txt").write_text("Nothing of that.")
    (tmp_path / "q.yaml").write_text("questions:\n  - ask: How many connections?\n    facts: ['25']\n")
    args = ("window", "fidelity", str(tmp_path / "before.txt"), str(tmp_path / "after.txt"),
            "--questions", str(tmp_path / "q.yaml"), "--json")  # fmt: skip
    data = memctl(*args).data
    assert (data["method"], data["score"], data["calls"]) == ("judge", 1.0, 3)
    data = memctl(*args, "--no-llm", code=1).data
    assert (data["method"], data["score"], data["calls"]) == ("facts", 0.0, 0)
    program.write_text("#!/bin/sh\nexit 3\n")
    found = memctl(*args, code=1)
    assert found.data["method"] == "facts"
    assert "warning: the language model failed, so only exact facts count as answers" in found.err


def answered(number: int, tokens: int) -> list[dict[str, object]]:
    """A question and its answer as Claude Code writes them, with what the model said that the request had."""
    said = {"id": f"m{number}", "model": "claude-sonnet-4-5", "role": "assistant", "usage": {"input_tokens": tokens}}
    return [
        {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": f"Look at part {number}."}},
        {"type": "assistant", "uuid": f"a{number}",
         "message": {**said, "content": [{"type": "text", "text": f"Part {number} is fine."}]}},
    ]  # fmt: skip


def test_compact_uses_the_window_of_status(memctl: Memctl, tmp_path: Path) -> None:
    """A window that has held 400,000 tokens before a compaction is a large one after it."""
    lines = [
        *answered(1, 400_000),
        {"type": "system", "subtype": "compact_boundary", "uuid": "c"},
        *answered(2, 60_000),
    ]
    file = tmp_path / "s.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    usable = memctl("window", "status", str(file), "--json").data["limit"]["usable"]
    data = memctl("window", "compact", str(file), "--json", "-o", str(tmp_path / "out.json")).data
    assert usable > 900_000
    assert data["target"] == int(0.6 * usable) - (60_000 - data["tokens_before"])
    ours = tmp_path / "ours.json"
    ours.write_text(json.dumps({"model": "ours", "messages": [{"role": "user", "content": "Look at the parts."}]}))
    usable = memctl("window", "status", str(ours), "--json").data["limit"]["usable"]
    found = memctl("window", "compact", str(ours), "--json", "-o", str(tmp_path / "out.json"))
    assert found.data["target"] == int(0.6 * usable)
    assert "is a guess" in found.err
