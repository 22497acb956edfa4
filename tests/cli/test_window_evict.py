"""`memctl context window evict`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memctl.store.memory import open_memory
from memctl.window import ContextWindowManager, Conversation, validate
from tests.conftest import Memctl, git
from tests.window import generated, texts
from tests.window.texts import COUNTER


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "messages.json"
    found.write_text(json.dumps({"model": "gpt-5", "messages": generated.anthropic(1, 60)}))
    return found


def test_evict_prints_messages_in_their_shape_and_reports_on_stderr(memctl: Memctl, file: Path) -> None:
    before = Conversation.parse(json.loads(file.read_text()), COUNTER)
    found = memctl("window", "evict", str(file), "--free", "5000")
    given = json.loads(found.out)
    assert given["model"] == "gpt-5"
    assert validate(given["messages"]) == []
    assert Conversation.parse(given, COUNTER).tokens <= before.tokens - 5_000
    assert f"{before.tokens:,} -> " in found.err
    assert "freed, 5,000 asked for" in found.err


def test_evict_meets_its_target_and_a_second_run_changes_nothing(memctl: Memctl, file: Path, tmp_path: Path) -> None:
    out, again = tmp_path / "out.json", tmp_path / "again.json"
    memctl("window", "evict", str(file), "--target", "15000", "--output", str(out))
    assert Conversation.parse(json.loads(out.read_text()), COUNTER).tokens <= 15_000
    found = memctl("window", "evict", str(out), "--target", "15000", "-o", str(again))
    assert again.read_text() == out.read_text()
    assert "0 blocks evicted" in found.err
    assert found.out == ""


@pytest.mark.parametrize("name", ["evict", "compact"])
def test_a_transcript_is_not_written_over_and_messages_are(
    memctl: Memctl, file: Path, tmp_path: Path, name: str
) -> None:
    transcript, link = tmp_path / "s.jsonl", tmp_path / "link"
    transcript.write_text("".join(generated.transcript(1, 60)))
    link.symlink_to(transcript)
    before = transcript.read_text()
    for target in (transcript, link):
        refused = memctl("window", name, str(transcript), "--free", "5000", "-o", str(target), code=2)
        assert f"--output names the transcript that is read, {target}" in refused.err
    assert transcript.read_text() == before
    whole = file.read_text()
    memctl("window", name, str(file), "--free", "5000", "-o", str(file))
    assert len(file.read_text()) < len(whole)


@pytest.mark.parametrize("policy", ["fifo", "lru", "priority", "semantic_merge", "type_based", "hybrid"])
def test_every_policy_reports_each_block(memctl: Memctl, file: Path, tmp_path: Path, policy: str) -> None:
    args = ("--policy", policy, "--free", "4000", "--json", "--output", str(tmp_path / "out.json"))
    data = memctl("window", "evict", str(file), *args).data
    assert (data["policy"], data["model"], data["reached"]) == (policy, "gpt", True)
    assert data["tokens_before"] - data["tokens_after"] == data["tokens_freed"] >= 4_000
    ids = [one["block_id"] for one in (*data["evicted"], *data["kept"])]
    blocks = Conversation.parse(json.loads(file.read_text()), COUNTER).blocks
    assert sorted(ids) == sorted(block.block_id for block in blocks)
    assert all(one["why"] for one in data["kept"])


def test_evict_lists_the_reasons_for_an_unreachable_target(memctl: Memctl, file: Path) -> None:
    found = memctl("window", "evict", str(file), "--target", "10", code=1)
    assert validate(json.loads(found.out)["messages"]) == []
    assert "more tokens should have been freed" in found.err
    assert "the block is the user's first message" in found.err


def test_a_transcript_becomes_messages(memctl: Memctl, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    file.write_text("".join(generated.transcript(2, 200)))
    found = memctl("window", "evict", str(file), "--free", "2000")
    given: list[dict[str, Any]] = json.loads(found.out)
    assert validate(given) == []
    assert " of session.jsonl." in found.out


def test_evict_reads_standard_input_and_leaves_no_placeholders(memctl: Memctl) -> None:
    found = memctl(
        "window", "evict", "-", "--free", "200", "--model", "gpt", "--placeholder", "0", stdin=json.dumps(texts.chat())
    )
    assert '"[Evicted]"' in found.out


def test_unknown_model_in_the_messages_gives_only_a_note(memctl: Memctl) -> None:
    body = {"model": "llama-9", "messages": texts.chat()}
    found = memctl("window", "evict", "-", "--free", "100", stdin=json.dumps(body))
    assert "no tokenizer for the model 'llama-9'" in found.err


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("nowhere.json", "--free", "9"), 2, "nowhere.json can't be read"),
        (("-", "--free", "9"), 1, "-: the given messages are not a conversation"),
        (("-",), 2, "the number of tokens to free is missing"),
        (("-", "--free", "9", "--target", "9"), 2, "give either --free or --target"),
        (("-", "--free", "9", "--json"), 2, "give --output"),
        (("-", "--free", "0"), 2, "--free"),
        (("-", "--free", "9", "--policy", "oldest"), 2, "--policy"),
    ],
)
def test_wrong_arguments_of_evict_are_explained(memctl: Memctl, args: tuple[str, ...], code: int, said: str) -> None:
    found = memctl("window", "evict", *args, stdin="no json", code=code)
    assert said in found.err
    assert found.out == ""


def test_an_output_that_can_not_be_written_is_named(memctl: Memctl, file: Path, tmp_path: Path) -> None:
    found = memctl("window", "evict", str(file), "--free", "9", "-o", str(tmp_path / "no" / "x"), code=1)
    assert "can't be written" in found.err


def test_an_unknown_subcommand_is_refused(memctl: Memctl) -> None:
    assert "there is no command `window evikt`" in memctl("window", "evikt", code=2).err
    assert "evict" in memctl("window", "-h").out


def test_a_model_of_meanings_that_is_not_there_is_a_warning(memctl: Memctl, repo: Path, file: Path) -> None:
    memctl("learn", "Pools leak")
    git(repo, "config", "memctl.semanticModel", "no_such_package")
    found = memctl("window", "evict", str(file), "--policy", "semantic_merge", "--free", "4000")
    assert "warning: texts are compared by words, not by meaning: memctl.semanticModel" in found.err
    assert "warning" not in memctl("window", "evict", str(file), "--policy", "hybrid", "--free", "4000").err
    config = {"eviction": {"policy": "semantic_merge"}}
    (unused,) = ContextWindowManager.from_config(config, memory=open_memory(repo, {})).unused
    assert unused.startswith("memctl.semanticModel")
