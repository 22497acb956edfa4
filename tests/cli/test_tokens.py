"""`memctl context tokens`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memctl.errors import USAGE
from tests.conftest import Memctl, git
from tests.serving import Server
from tests.tokens.test_endpoint import server

__all__ = ["server"]
MODEL = "claude-sonnet-4-5"
SENTENCE = "The orders of a shop must not be lost when a worker dies. "
# 14 tokens of o200k; what is reported is 1.3 times as many, where the family's factor says 1.17.
REPORTED = 14 * 1.3


@pytest.fixture(autouse=True)
def without_ctok(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its counts would be taken wherever it is installed."""
    monkeypatch.setitem(sys.modules, "ctok", None)


def write(folder: Path, *lines: Any, name: str = "usage.jsonl") -> str:
    file = folder / name
    file.write_text("".join(msgspec.json.encode(line).decode() + "\n" for line in lines))
    return str(file)


def observations(number: int = 30) -> list[dict[str, Any]]:
    return [
        {"model": f"{MODEL}-20250929", "text": SENTENCE * times, "input_tokens": round(REPORTED * times) + 7}
        for times in range(10, 10 + number)
    ]


def count(memctl: Memctl, text: str, *more: str) -> dict[str, Any]:
    (row,) = memctl("tokens", "-", "--json", *more, stdin=text).data["files"]
    return dict(row)


def test_a_file_is_counted_with_source_and_band(memctl: Memctl, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(SENTENCE)
    assert memctl("tokens", str(tmp_path / "a.md"), "--model", MODEL).out.split("  ")[:4] == [
        "18",
        "± 10%",
        "o200k x 1.14",
        "as markdown",
    ]
    assert memctl("tokens", "-", "--model", "gpt-5", stdin=SENTENCE).out == "15  exact  o200k  as prose  -\n"


def test_the_model_of_the_memory_is_the_default(memctl: Memctl, repo: Path) -> None:
    assert memctl("tokens", "-", "--json", stdin="x").data["model"] == "claude"
    config = repo / ".memory" / "config.yaml"
    config.write_text(config.read_text() + "model: gpt-5\n")
    assert memctl("tokens", "-", "--json", stdin="x").data["model"] == "gpt"


def test_outside_of_a_repository_files_are_counted_too(memctl: Memctl, tmp_path: Path) -> None:
    assert memctl("tokens", "-", stdin="x", where=tmp_path).code == 0


@pytest.mark.parametrize("args", [(), ("-", "--calibrate", "x"), ("--calibrate", "x", "--forget"), ("-", "--forget")])
def test_options_of_different_tasks_are_refused_together(memctl: Memctl, args: tuple[str, ...]) -> None:
    memctl("tokens", *args, code=USAGE)


def test_messages_are_not_sent_to_be_counted_as_one_text(memctl: Memctl) -> None:
    assert "--messages" in memctl("tokens", "-", "--messages", "--source", "anthropic", code=USAGE).err


def test_a_learnt_factor_is_applied_to_its_model_and_reported(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    before = count(memctl, SENTENCE * 99, "--model", MODEL)
    out = memctl("tokens", "--calibrate", write(tmp_path, *observations())).out
    assert out.startswith(f"{MODEL}  x 1.11  30 observations  median error 9.6% before, 0.")
    after = count(memctl, SENTENCE * 99, "--model", f"{MODEL}-20250929")
    assert after["source"] == "o200k x 1.17 x calibration 1.11 (30 observations)"
    assert after["tokens"] == pytest.approx(REPORTED * 99, rel=0.01)
    assert after["error"] < before["error"] == 0.1
    assert count(memctl, SENTENCE * 99, "--model", "claude-opus-4-5") == before
    assert git(repo, "status", "--porcelain") == "", "it is kept in Git's directory"


def test_a_pack_is_counted_with_the_learnt_factor(memctl: Memctl, tmp_path: Path) -> None:
    memctl("decide", "Adopt PostgreSQL", "--rationale", SENTENCE * 5, "-i", "9")
    plain = memctl("rehydrate", "--json", "--model", MODEL).data["tokens"]
    memctl("tokens", "--calibrate", write(tmp_path, *observations()))
    assert memctl("rehydrate", "--json", "--model", MODEL).data["tokens"] == pytest.approx(plain * 1.11, rel=0.01)


def test_tokens_reported_by_a_model_for_a_text_are_used(memctl: Memctl, tmp_path: Path) -> None:
    memctl("tokens", "--calibrate", write(tmp_path, *observations(3)))
    row = count(memctl, SENTENCE * 10, "--model", MODEL)
    assert (row["tokens"], row["source"], row["error"]) == (182, f"reported by {MODEL}", 0.0)


def test_repeated_calibration_changes_nothing(memctl: Memctl, tmp_path: Path) -> None:
    file = write(tmp_path, *observations())
    first = memctl("tokens", "--calibrate", file, "--json").data
    second = memctl("tokens", "--calibrate", file, "--json").data
    assert [model.pop("new") for model in (*first["models"], *second["models"])] == [30, 0]
    assert first == second


def test_calibration_dry_run_shows_its_result(memctl: Memctl, tmp_path: Path) -> None:
    file = write(tmp_path, *observations())
    before = count(memctl, SENTENCE * 10, "--model", MODEL)
    told = memctl("tokens", "--calibrate", file, "--dry-run", "--json").data
    assert told["dry_run"] is True
    (model,) = told["models"]
    assert (model["observations"], model["new"], model["within_goal"]) == (30, 30, True)
    assert model["median_error_after"] < 0.01 < 0.09 < model["median_error_before"]
    assert count(memctl, SENTENCE * 10, "--model", MODEL) == before
    memctl("tokens", "--forget", "--model", MODEL, code=1)


def test_calibration_can_be_forgotten(memctl: Memctl, tmp_path: Path) -> None:
    memctl("tokens", "--calibrate", write(tmp_path, *observations()))
    memctl("tokens", "--forget", "--dry-run")
    assert "calibration" in count(memctl, SENTENCE * 99, "--model", MODEL)["source"]
    assert "claude-opus" in memctl("tokens", "--forget", "--model", "claude-opus-4-5", code=1).err
    assert memctl("tokens", "--forget", "--model", f"{MODEL}-20250929").out == f"forgot {MODEL}\n"
    assert "calibration" not in count(memctl, SENTENCE * 99, "--model", MODEL)["source"]
    assert count(memctl, SENTENCE * 10, "--model", MODEL)["source"] == "o200k x 1.17"


def test_ignored_lines_are_reported_by_reason(memctl: Memctl, tmp_path: Path) -> None:
    lines = (*observations(1), 1, 2, {"model": "gpt-5", "text": SENTENCE * 9, "input_tokens": 99})
    err = memctl("tokens", "--calibrate", write(tmp_path, *lines)).err
    assert "skipped: 3" in err
    assert "2: the line is not a JSON object" in err


def test_a_model_that_is_still_far_off_is_warned_of(memctl: Memctl, tmp_path: Path) -> None:
    lines = [
        {**one, "input_tokens": one["input_tokens"] * (1 + number % 3)} for number, one in enumerate(observations())
    ]
    assert "the goal is 10%" in memctl("tokens", "--calibrate", write(tmp_path, *lines)).err


def test_a_file_without_observations_is_refused_with_the_first_reasons(memctl: Memctl, tmp_path: Path) -> None:
    assert "line 1: the line is not a JSON object" in memctl("tokens", "--calibrate", write(tmp_path, 1), code=1).err
    memctl("tokens", "--calibrate", write(tmp_path), code=1)
    memctl("tokens", "--calibrate", str(tmp_path / "absent"), code=USAGE)


def test_an_observation_names_files_beside_it_and_no_others(memctl: Memctl, tmp_path: Path) -> None:
    folder = tmp_path / "log"
    (folder / "texts").mkdir(parents=True)
    (folder / "texts" / "a.md").write_text(SENTENCE * 10)
    (tmp_path / "secret.md").write_text(SENTENCE * 10)
    lines = [{"model": MODEL, "file": name, "input_tokens": 163} for name in ("texts/a.md", "../secret.md")]
    told = memctl("tokens", "--calibrate", write(folder, *lines), "--json").data
    assert told["models"][0]["observations"] == 1
    assert told["left_aside"] == [
        {"line": 2, "reason": "the file ../secret.md is not below the folder of the file that names it: move it there"},
    ]


def test_messages_are_counted_one_by_one_with_their_overhead(memctl: Memctl, tmp_path: Path) -> None:
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
    messages = [{"role": "user", "content": SENTENCE}, {"role": "assistant", "content": [call, {"type": "image"}]}]
    result = memctl("tokens", write(tmp_path, {"messages": messages}), "--messages", "--json", "--model", "gpt-5")
    *texts, beside = result.data["files"]
    call_row = "message 2, assistant, tool call"
    assert [row["file"].split(": ")[1] for row in texts] == ["message 1, user, text", call_row]
    assert (beside["tokens"], beside["error"]) == (3 + 2 * 4 + 36 + 14, None)
    assert result.data["total"] == sum(row["tokens"] for row in (*texts, beside))
    assert "not counted, because they are not text: image (1)" in result.err


def test_messages_may_come_a_line_each(memctl: Memctl, tmp_path: Path) -> None:
    lines = [{"role": "user", "content": "one"}, {"type": "user", "message": {"role": "user", "content": "two"}}]
    out = memctl("tokens", write(tmp_path, *lines), "--messages").out
    assert "2 messages and 0 tool calls" in out
    assert out.rstrip().endswith("total")
    memctl("tokens", "-", "--messages", stdin="# no JSON", code=1)


def test_messages_are_counted_as_those_of_the_model_that_the_file_names(memctl: Memctl, tmp_path: Path) -> None:
    request = {"model": "gpt-5", "messages": [{"role": "user", "content": SENTENCE * 20}]}
    named = memctl("tokens", write(tmp_path, request), "--messages", "--json").data
    asked = memctl("tokens", write(tmp_path, request), "--messages", "--json", "--model", "gpt-5").data
    other = memctl("tokens", write(tmp_path, request), "--messages", "--json", "--model", "claude").data
    assert named == asked
    assert named["total"] != other["total"]
    answer = {"type": "assistant", "message": {"role": "assistant", "model": "gpt-5", "content": SENTENCE}}
    synthetic = {"type": "assistant", "message": {"role": "assistant", "model": "<synthetic>", "content": "x"}}
    assert memctl("tokens", write(tmp_path, answer, synthetic), "--messages", "--json").data["model"] == named["model"]
    unknown = memctl("tokens", write(tmp_path, {**request, "model": "llama-9"}), "--messages", "--json")
    assert "'llama-9'" in unknown.err


def test_endpoint_is_asked_only_on_request_and_its_answer_is_kept(
    memctl: Memctl, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-of-a-test")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.address)
    count(memctl, SENTENCE, "--model", MODEL)
    assert server.asked == []
    for _ in range(2):
        row = count(memctl, SENTENCE, "--model", MODEL, "--source", "anthropic")
        assert (row["tokens"], row["source"]) == (14, f"Anthropic's count for {MODEL}")
    assert len(server.asked) == 1, "the answer is kept"


def test_without_a_key_the_endpoint_is_not_asked(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    err = memctl("tokens", "-", "--source", "anthropic", "--model", MODEL, code=USAGE).err
    assert "ANTHROPIC_API_KEY is not set" in err
