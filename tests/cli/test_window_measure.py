"""`window status`, `window health`, `window fidelity`, as a user runs them."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from xml.etree import ElementTree

import msgspec
import pytest

from memctl.transcript import claude_code, window
from memctl.window.config import WindowConfig
from memctl.window.pressure.curve import of_transcript
from tests.conftest import Memctl
from tests.transcript.claude import Transcript
from tests.window import generated

TASK = "Migrate all axios calls in user-service to fetch, preserving error-handling logic."


@pytest.fixture
def session(tmp_path: Path) -> Path:
    file = tmp_path / "session.jsonl"
    file.write_text("".join(line.rstrip("\n") + "\n" for line in generated.transcript(3, 120)))
    return file


def messages(*said: str) -> str:
    return json.dumps([{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(said)])


def test_status_shows_zone_components_and_forecast(memctl: Memctl, session: Path) -> None:
    out = memctl("window", "status", str(session)).out
    assert "reported by the model, of the 167,000 at which the host compacts a window of 200,000" in out
    assert "reported by the model" in out
    assert "red in " in out
    for part in ("system_prompt + tool_definitions", "message_history", "tool_results", "output_reserved"):
        assert part in out
    assert "largest results" in out
    assert "hint:" not in out


def test_status_proposes_thresholds_only_where_they_change_the_zone(memctl: Memctl, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    for words, hint in ((20_000, False), (63_000, True), (75_000, False)):
        file.write_text(messages("word " * words, "ok"))
        out = memctl("window", "status", str(file), "--window", "200000").out
        expected = "hint: by thresholds for a window of 200,000 tokens the zone is green: set pressure.thresholds under"
        assert (expected in out) is hint, (words, out)


def test_what_the_host_adds_after_a_compaction_is_no_part_of_the_results(memctl: Memctl, tmp_path: Path) -> None:
    transcript = Transcript(tmp_path)

    def answer(number: int, tokens: int, *content: dict[str, object]) -> None:
        usage = {"input_tokens": 0, "cache_read_input_tokens": tokens, "output_tokens": 5}
        message = {
            "id": f"m{number}",
            "role": "assistant",
            "model": "claude-opus-4-6",
            "content": content,
            "usage": usage,
        }
        transcript.add("assistant", message=message)

    transcript.prompt("Count the lanterns.")
    answer(1, 20_000, {"type": "text", "text": "I do."})
    transcript.compaction("They were counted.")
    transcript.prompt("Go on.")
    answer(2, 60_000, {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "a.txt"}})
    transcript.add(
        "user",
        message={
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "lantern " * 300}],
        },
    )
    answer(3, 60_400, {"type": "text", "text": "There are 300."})
    file = tmp_path / "talk.jsonl"
    file.write_text(transcript.text)
    data = memctl("window", "status", str(file), "--json").data
    used = {"+".join(part["components"]): part["used"] for part in data["components"]}
    assert 250 < used["tool_results"] < 400
    assert 39_000 < used[""] < 40_000
    assert abs(sum(used.values()) - used["output_reserved"] - 60_400) <= 3
    row = next(
        line for line in memctl("window", "status", str(file)).out.splitlines() if "not in the transcript" in line
    )
    assert row.split()[-1] == f"{used['']:,}"


def test_a_small_window_full_beyond_the_point_of_compaction_is_red(memctl: Memctl, tmp_path: Path) -> None:
    """As a real transcript ends that is compacted next: the request that goes over the point is answered still."""
    transcript = Transcript(tmp_path)
    for tokens in (150_000, 164_000, 173_215):
        transcript.prompt("Go on")
        usage = {"input_tokens": 10, "cache_read_input_tokens": tokens - 10, "output_tokens": 5}
        message = {"id": f"m{tokens}", "role": "assistant", "model": "claude-opus-4-6", "content": [], "usage": usage}
        transcript.add("assistant", message=message)
    file = tmp_path / "full.jsonl"
    file.write_text(transcript.text)
    result = memctl("window", "status", str(file))
    assert result.out.splitlines()[1].startswith("RED  103.7 %: 173,215 tokens")
    assert "red now" in result.out
    assert "guess" not in result.err


def test_status_as_json_has_all_figures(memctl: Memctl, session: Path) -> None:
    result = memctl("window", "status", str(session), "--json")
    assert result.json["kind"] == "window_status"
    data = result.data
    assert data["limit"] == {
        "window": 200_000, "usable": 167_000, "source": "the window of claude-opus-4-5", "is_guessed": False,
        "is_assumed": False,
    }  # fmt: skip
    assert data["reading"]["current_tokens"] == data["curve"]["points"][-1]
    assert {"least", "likely", "most"} == set(data["reading"]["turns_until_red"])
    assert sum(len(part["components"]) for part in data["components"]) == 6


def test_status_takes_the_newest_transcript_of_the_project(
    memctl: Memctl, repo: Path, session: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    own = kept / claude_code.slug(repo.resolve())
    own.mkdir(parents=True)
    (own / "a.jsonl").write_bytes(session.read_bytes())
    assert memctl("window", "status", "--projects", str(kept), "--json").data["file"].endswith("a.jsonl")
    result = memctl("window", "status", "--projects", str(tmp_path), code=2)
    assert "no transcript of Claude Code" in result.err


def test_window_follows_from_the_option_and_the_settings(memctl: Memctl, session: Path, tmp_path: Path) -> None:
    assert memctl("window", "status", str(session), "--window", "1000000", "--json").data["limit"]["usable"] == 967_000
    settings = tmp_path / "w.yaml"
    tokens = memctl("window", "status", str(session), "--json").data["reading"]["current_tokens"]
    most = int(tokens / 0.93)
    for red, zone in ((0.92, "red"), (0.95, "orange")):
        settings.write_text(f"max_context_tokens: {most}\npressure:\n  thresholds:\n    red: {red}\n")
        data = memctl("window", "status", str(session), "--config", str(settings), "--json").data
        assert data["limit"]["usable"] == most
        assert data["reading"]["zone"] == zone
    data = memctl("window", "status", str(session), "--config", "-", "--json", stdin=settings.read_text()).data
    assert data["limit"]["usable"] == most
    settings.write_text("presure: {}\n")
    result = memctl("window", "status", str(session), "--config", str(settings), code=1)
    assert "there is no setting `presure`" in result.err
    assert "did you mean pressure?" in result.err


def test_window_settings_are_read_from_the_memory_config(memctl: Memctl, repo: Path, session: Path) -> None:
    config = repo / ".memory" / "config.yaml"
    config.write_text(config.read_text() + "window:\n  max_context_tokens: 140000\n")
    assert memctl("window", "status", str(session), "--json").data["limit"]["usable"] == 140_000
    config.write_text(config.read_text() + "  eviction:\n    weights:\n      recency: 0.9\n")
    assert "must sum to 1" in memctl("window", "status", str(session), code=1).err


def test_the_help_names_every_key_of_the_settings(memctl: Memctl) -> None:
    told = memctl("window", "status", "-h").out
    for section in msgspec.structs.fields(WindowConfig):
        assert section.name in told
        for key in getattr(section.type, "__struct_fields__", ()):
            assert key in told


def test_status_works_without_a_memory(memctl: Memctl, session: Path, tmp_path: Path) -> None:
    assert memctl("window", "status", str(session), where=tmp_path).out


@pytest.mark.parametrize(("model", "assumed"), [("gpt-5", True), ("gemini-2.5-pro", True), ("claude-opus-5", False)])
def test_share_of_a_window_of_assumed_size_is_marked(memctl: Memctl, model: str, assumed: bool) -> None:
    given = messages(TASK, "There are 23 files.")
    args = ("window", "status", "-", "--model", model)
    shown = memctl(*args, stdin=given)
    assert ("assumed to fit" in shown.out) is ("is assumed to be" in shown.err) is assumed
    assert memctl(*args, "--json", stdin=given).data["limit"]["is_assumed"] is assumed
    health = memctl("window", "health", "-", "--model", model, stdin=given, code=None)
    assert ("is assumed to be" in health.err) is assumed
    said = memctl(*args, "--window", "64000", stdin=given)
    assert "assumed" not in said.out + said.err


def test_settings_override_the_window_of_the_model(memctl: Memctl, repo: Path, tmp_path: Path) -> None:
    """The default, too, once somebody says it."""
    config = repo / ".memory" / "config.yaml"
    config.write_text(config.read_text() + "window:\n  max_context_tokens: 128000\n")
    given = messages(TASK, "There are 23 files.")
    shown = memctl("window", "status", "-", "--model", "gpt-5", stdin=given)
    assert "of the 128,000 that fit" in shown.out
    assert "assumed" not in shown.out + shown.err
    file = tmp_path / "messages.json"
    file.write_text(given)
    target = memctl("window", "compact", str(file), "--json", "-o", str(tmp_path / "out.json"), code=None)
    assert target.data["target"] == int(0.6 * 128_000)


def test_messages_are_counted_and_an_unknown_model_needs_a_window(memctl: Memctl) -> None:
    given = messages(TASK, "There are 23 files.")
    out = memctl("window", "status", "-", "--model", "gpt-4o", stdin=given).out
    assert "of the 128,000 assumed to fit" in out
    assert "counted here as for gpt" in out
    result = memctl("window", "status", "-", "--model", "ours", "--json", stdin=given)
    assert result.data["limit"]["is_guessed"]
    assert "a guess" in memctl("window", "status", "-", "--model", "ours", stdin=given).err


@pytest.mark.parametrize("content", ["", "{}", "hello", "{broken", '{"type":"summary"}\n', "[1, 2]"])
def test_invalid_conversation_is_refused(memctl: Memctl, tmp_path: Path, content: str) -> None:
    file = tmp_path / "x"
    file.write_text(content)
    for command in ("status", "health"):
        result = memctl("window", command, str(file), code=1)
        assert result.err.startswith("error: ")
        assert result.out == ""


def test_files_that_cannot_be_read_are_named(memctl: Memctl, tmp_path: Path) -> None:
    assert "Is a directory" in memctl("window", "status", str(tmp_path), code=2).err
    assert "No such file" in memctl("window", "health", str(tmp_path / "none"), code=2).err


def test_broken_lines_are_reported(memctl: Memctl, session: Path, tmp_path: Path) -> None:
    with open(session, "ab") as stream:
        stream.write(b'{"broken\n\xff\xfe\n')
    out = str(tmp_path / "out.json")
    for command, *more in (
        ("status",),
        ("health",),
        ("simulate", "--budget", "90000", "--policy", "fifo"),
        ("evict", "--free", "10", "-o", out),
        ("compact", "--free", "10", "-o", out),
    ):
        found = memctl("window", command, str(session), *more, code=None)
        assert "warning: 2 lines of the transcript can't be read" in found.err, command
        assert memctl("window", command, str(session), *more, "--json", code=None).data["broken_lines"] == 2
    session.write_bytes(session.read_bytes().removesuffix(b"\xff\xfe\n"))
    assert "warning: 1 line of " in memctl("window", "fidelity", str(session), str(session)).err


def test_the_model_that_is_asked_for_counts_messages(memctl: Memctl) -> None:
    given = messages("Move the pool. " * 200, "There are 23 files in src.")
    counts = set()
    for model, family in (("gpt-4o", "gpt"), ("claude-sonnet-4-5", "claude-4.5"), ("claude-opus-5", "claude")):
        args = ("-", "--model", model)
        tokens = memctl("window", "status", *args, "--json", stdin=given).data["reading"]["current_tokens"]
        assert f"{tokens:,} tokens, counted here as for {family}" in memctl("window", "status", *args, stdin=given).out
        told = memctl("window", "evict", *args, "--free", "1", stdin=given, code=None).err
        assert told.startswith(f"{tokens:,} -> ")
        assert f" tokens of {family}: " in told
        counts.add(tokens)
    assert len(counts) == 3


def test_messages_without_a_model_get_a_default_window_marked_as_assumed(memctl: Memctl, tmp_path: Path) -> None:
    given = messages(TASK, "There are 23 files.")
    shown = memctl("window", "status", "-", stdin=given)
    assert "of the 200,000 assumed to fit" in shown.out
    assert memctl("budget").out.startswith("a window of 200,000 tokens (claude)")
    compacted = memctl("window", "compact", "-", stdin=given, code=None)
    assert "the target is 120,000" in compacted.err
    for found in (shown, compacted):
        assert "the window of claude is assumed to be 200,000 tokens; --window sets the size" in found.err


def test_unsent_messages_do_not_enlarge_the_window(memctl: Memctl) -> None:
    given = messages("Move the pool. " * 200, "Yes.")
    body = json.dumps({"model": "claude-sonnet-4-5", "messages": json.loads(given) * 250})
    found = memctl("window", "status", "-", "--json", stdin=body).data
    assert found["limit"]["window"] == 200_000
    assert found["reading"]["zone"] == "red"
    assert found["reading"]["utilization_pct"] > 100


def test_status_shows_the_growth_used_by_the_forecast(memctl: Memctl, session: Path) -> None:
    reading = memctl("window", "status", str(session), "--json").data["reading"]
    rate, likely = reading["forecast_tokens_per_turn"], reading["turns_until_red"]["likely"]
    assert rate * likely == pytest.approx(0.9 * 167_000 - reading["current_tokens"], rel=0.01)
    out = memctl("window", "status", str(session)).out
    lately = reading["velocity_tokens_per_turn"]
    burnt = f"burn rate {reading['burn_rate_tokens_per_turn']:,.0f} tokens a turn in the last 20 turns"
    assert (
        f"{burnt}, {lately:,.0f} in the last 5, 850 usually, {rate:,.0f} expected; at that rate, the zone is red in"
        in out
    )
    health = memctl("window", "health", str(session), "--json", code=None).data["snapshot"]
    assert round(health["burn_rate"], 1) == reading["burn_rate_tokens_per_turn"]


def test_the_forecast_knows_the_users_other_sessions(memctl: Memctl, session: Path) -> None:
    for number in range(5):
        earlier = session.with_name(f"earlier-{number}.jsonl")
        earlier.write_text("".join(generated.transcript(number, 40)))
        os.utime(earlier, (0, 0))
    session.with_name("agent-1.jsonl").write_text("no session of its own")
    reading = memctl("window", "status", str(session), "--json").data["reading"]
    curves = [of_transcript(window.read(generated.transcript(number, 40))) for number in range(5)]
    assert reading["usual_tokens_per_turn"] == round(median(curve.growth or 0 for curve in curves))
    config = session.with_name("window.yaml")
    config.write_text("pressure:\n  usual_growth: 2000\n")
    reading = memctl("window", "status", str(session), "--config", str(config), "--json").data["reading"]
    assert reading["usual_tokens_per_turn"] == 2_000


def test_a_sub_agents_own_transcript_is_its_window(memctl: Memctl, session: Path, tmp_path: Path) -> None:
    own = tmp_path / "agent-a1.jsonl"
    own.write_text(session.read_text().replace('"isSidechain": false', '"isSidechain": true'))
    assert own.read_text() != session.read_text()
    mine, its = (memctl("window", "status", str(file), "--json").data for file in (session, own))
    assert its["reading"] == mine["reading"]
    assert its["curve"] == mine["curve"]
    both = tmp_path / "both.jsonl"
    both.write_text(own.read_text() + session.read_text())
    assert memctl("window", "status", str(both), "--json").data["reading"] == mine["reading"]
    both.write_text(session.read_text() + own.read_text())
    assert memctl("window", "status", str(both), "--json").data["reading"] == mine["reading"]
    out = tmp_path / "out.json"
    memctl("window", "evict", str(own), "--free", "1", "-o", str(out))
    assert json.loads(out.read_text())


def test_health_names_the_transcript_that_it_read(memctl: Memctl, repo: Path, session: Path, tmp_path: Path) -> None:
    own = tmp_path / "kept" / claude_code.slug(repo.resolve())
    own.mkdir(parents=True)
    (own / "a.jsonl").write_bytes(session.read_bytes())
    out = memctl("window", "health", "--projects", str(tmp_path / "kept"), code=None).out
    assert out.splitlines()[0].endswith("a.jsonl")


def test_status_draws_the_curve_as_svg(memctl: Memctl, session: Path, tmp_path: Path) -> None:
    file = tmp_path / "curve.svg"
    memctl("window", "status", str(session), "--svg", str(file))
    root = ElementTree.fromstring(file.read_text())
    assert root.tag.endswith("svg")
    assert ElementTree.fromstring(memctl("window", "status", str(session), "--svg", "-").out).tag == root.tag


def test_the_curve_is_not_drawn_over_the_transcript(memctl: Memctl, session: Path) -> None:
    before = session.read_bytes()
    refused = memctl("window", "status", str(session), "--svg", str(session), code=2)
    assert "--svg names the transcript that is read" in refused.err
    assert session.read_bytes() == before


def test_control_characters_of_a_transcript_do_not_reach_a_terminal(session: Path) -> None:
    call = {"type": "tool_use", "id": "evil", "name": "Ba\x1b]0;sh", "input": {"command": "x\x1b[2J"}}
    result = {"type": "tool_result", "tool_use_id": "evil", "content": "y" * 90_000}
    with open(session, "a") as stream:
        for kind, block in (("assistant", call), ("user", result)):
            stream.write(json.dumps({"type": kind, "message": {"role": kind, "content": [block]}}) + "\n")
    shown = on_a_terminal("window", "status", str(session))
    assert "\x1b]0;" not in shown
    assert "\x1b[2J" not in shown
    assert "evil" not in shown


def on_a_terminal(*args: str, until: str = "", stop: bool = False) -> str:
    """What a run of memctl shows on a terminal; with `stop` it gets a Ctrl-C once `until` is there."""
    master, slave = pty.openpty()
    process = subprocess.Popen([sys.executable, "-m", "memctl", *args], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    shown, deadline = "", time.monotonic() + 30
    while time.monotonic() < deadline:
        if select.select([master], [], [], 0.1)[0]:
            try:
                shown += os.read(master, 65_536).decode(errors="replace")
            except OSError:
                break
        if stop and until in shown:
            process.send_signal(signal.SIGINT)
            stop = False
    assert process.wait(timeout=30) == 0, shown
    os.close(master)
    return shown


def test_watching_follows_a_file_and_ends_cleanly(session: Path) -> None:
    shown = on_a_terminal("window", "status", str(session), "--watch", until="Ctrl-C ends the command", stop=True)
    assert "167,000" in shown
    assert "Traceback" not in shown
    assert "error" not in shown


@pytest.mark.parametrize("more", [[], ["--json"], ["--svg", "x.svg"]])
def test_watching_needs_a_terminal(memctl: Memctl, session: Path, more: list[str]) -> None:
    assert "--watch" in memctl("window", "status", str(session), "--watch", *more, code=2).err


def test_health_shows_metrics_and_alarms(memctl: Memctl, tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    big = [{"type": "tool_result", "tool_use_id": "t", "content": "word " * 3_000}]
    call = [{"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "a"}}]
    said = [{"role": "user", "content": TASK}, {"role": "assistant", "content": call}, {"role": "user", "content": big}]
    file.write_text(json.dumps(said))
    result = memctl("window", "health", str(file), "--model", "gpt-4o", code=1)
    assert "tool results are 9" in result.out
    assert "not measured" in result.out
    data = memctl("window", "health", str(file), "--model", "gpt-4o", "--json", code=1).data
    assert [alert["metric"] for alert in data["alerts"]] == ["tool_result_bloat"]
    assert data["snapshot"]["fidelity_score"] is None
    assert data["trends"]["utilization"]["direction"] == "insufficient_data"


def test_small_conversation_raises_no_alarm(memctl: Memctl) -> None:
    out = memctl("window", "health", "-", "--model", "gpt-4o", stdin=messages(TASK, "Yes.")).out
    assert "no alarms" in out


def test_health_shows_earlier_alarms(memctl: Memctl, tmp_path: Path) -> None:
    file = tmp_path / "long.jsonl"
    file.write_text("".join(line.rstrip("\n") + "\n" for line in generated.transcript(6, 400)))
    result = memctl("window", "health", str(file), code=None)
    assert "earlier" in result.out
    data = memctl("window", "health", str(file), "--json", code=None).data
    assert "utilization" in {one["metric"] for one in data["begun"]}
    assert data["snapshot"]["timestamp"]


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[str, str]:
    original, compressed = tmp_path / "original.json", tmp_path / "compressed.md"
    original.write_text(
        messages(
            TASK,
            "DECISION: use native fetch with a custom error wrapper in src/http.ts.\n"
            "Currently migrating src/api.ts (file 13/23); the timeout is 30 s.",
        )
    )
    compressed.write_text(
        "Migrate axios calls in user-service to fetch, preserving error-handling logic.\n"
        "Decided: native fetch, custom error wrapper in src/http.ts. Migrating src/api.ts (13/23).\n"
    )
    return str(original), str(compressed)


def test_fidelity_asks_for_what_is_to_be_preserved(memctl: Memctl, contexts: tuple[str, str]) -> None:
    result = memctl("window", "fidelity", *contexts, code=1)
    assert "too little (at least 0.85)" in result.out
    assert "30 s" in result.out
    assert "13/23" not in result.out
    assert memctl("window", "fidelity", *contexts, "--min", "0.8").out.startswith("fidelity 0.8")
    data = memctl("window", "fidelity", *contexts, "--json", code=1).data
    assert data["method"] == "facts"
    assert data["passed"] is False
    assert [one["lost"] for one in data["answers"] if one["kept"] is False] == [["30 s"]]


def test_a_context_is_as_faithful_as_can_be_to_itself(memctl: Memctl, contexts: tuple[str, str], session: Path) -> None:
    for file in (contexts[0], str(session)):
        assert memctl("window", "fidelity", file, file).out.startswith("fidelity 1.00")


def test_own_questions_can_be_asked(memctl: Memctl, contexts: tuple[str, str], tmp_path: Path) -> None:
    asked = tmp_path / "q.yaml"
    asked.write_text("questions:\n  - {ask: Which file?, facts: [src/api.ts]}\n  - What now?\n")
    result = memctl("window", "fidelity", *contexts, "--questions", str(asked))
    assert "1 of 1 question still answered" in result.out
    assert "not counted: What now? (the question has no facts to look for, so it needs a judge)" in result.err


def test_questions_that_say_nothing_are_refused(memctl: Memctl, contexts: tuple[str, str], tmp_path: Path) -> None:
    asked = tmp_path / "q.yaml"
    asked.write_text("questions:\n  - What now?\n")
    result = memctl("window", "fidelity", *contexts, "--questions", str(asked), code=1)
    assert "answers none of the questions" in result.err


def test_an_empty_summary_keeps_nothing(memctl: Memctl, contexts: tuple[str, str]) -> None:
    assert memctl("window", "fidelity", contexts[0], "-", stdin="", code=1).out.startswith("fidelity 0.00")
    assert "ORIGINAL and COMPRESSED can't both be standard input" in memctl("window", "fidelity", "-", "-", code=2).err


def test_a_score_of_few_questions_is_not_called_enough(memctl: Memctl, tmp_path: Path) -> None:
    """10 to 20 questions are wanted (rules.md#window-health)."""
    for number, verdict in ((1, "but from too few questions"), (9, "but from too"), (10, "enough")):
        text = tmp_path / f"{number}.txt"
        text.write_text("\n\n".join(f"See src/part{n}.py." for n in range(number)))
        asked = tmp_path / f"{number}.yaml"
        facts = "\n".join(f"  - {{ask: Which part {n}?, facts: [src/part{n}.py]}}" for n in range(number))
        asked.write_text(f"questions:\n{facts}\n")
        result = memctl("window", "fidelity", str(text), str(text), "--questions", str(asked))
        assert result.out.startswith(f"fidelity 1.00, {verdict}")
        assert ("10 to 20 questions are better" in result.err) == (number < 10)


def test_window_follows_from_the_variable_unless_an_option_is_given(
    memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "request.json"
    file.write_text('[{"role": "user", "content": "Port src."}]')
    monkeypatch.setenv("MEMCTL_CONTEXT_WINDOW", "128_000")
    assert memctl("window", "status", str(file), "--json").data["limit"]["window"] == 128_000
    assert memctl("window", "status", str(file), "--window", "9000", "--json").data["limit"]["window"] == 9_000
    monkeypatch.setenv("MEMCTL_CONTEXT_WINDOW", "32000")  # of an agent whose loop no host compacts
    assert memctl("window", "status", str(file), "--json").data["limit"]["usable"] == 32_000
    for odd, more in (("abc", ()), ("60000", ("--host", "claude-code")), ("-1", ()), ("0", ())):
        monkeypatch.setenv("MEMCTL_CONTEXT_WINDOW", odd)
        refused = memctl("window", "status", str(file), *more, code=2)
        assert f"MEMCTL_CONTEXT_WINDOW is '{odd}'" in refused.err


def compacted(folder: Path) -> Path:
    """A transcript with one compaction by its host: what was before is in no window any more."""
    transcript = Transcript(folder)
    transcript.prompt("Port the till to Python. Never touch src/legacy.py.")
    transcript.call("Edit", file_path="src/before.py", old_string="a", new_string="b")
    transcript.says("Decision: keep sums as integers of cents.")
    transcript.compaction("The till is being ported; sums are integers of cents.")
    transcript.prompt("Now the price list. Never print prices of 0.")
    transcript.call("Edit", file_path="src/after.py", old_string="a", new_string="b")
    transcript.call("Bash", "To tell you how to proceed, the user said:\nask Ann first", error=True, command="make")
    transcript.says("DECISION: list prices by their names.")
    file = folder / "compacted.jsonl"
    file.write_text(transcript.text)
    return file


def test_a_compaction_that_changes_nothing_has_a_fidelity_of_1(memctl: Memctl, session: Path, tmp_path: Path) -> None:
    same = tmp_path / "same.json"
    for file in (session, compacted(tmp_path)):
        memctl("window", "compact", str(file), "--target", "999999", "-o", str(same))
        found = memctl("window", "fidelity", str(file), str(same), "--json")
        assert (found.data["score"], found.data["passed"], found.data["missing"]) == (1.0, True, [])
        assert all(one["kept"] for one in found.data["answers"])


def test_compact_and_fidelity_read_the_window_since_the_last_compaction(memctl: Memctl, tmp_path: Path) -> None:
    file = compacted(tmp_path)
    boundary = next(n for n, line in enumerate(file.read_text().splitlines(), 1) if "compact_boundary" in line)
    said = f"only the last window of {file} is read, which begins after the compaction in line {boundary}"
    assert said in memctl("window", "compact", str(file), "--target", "999999").err
    found = memctl("window", "fidelity", str(file), str(file))
    assert said in found.err
    data = memctl("window", "fidelity", str(file), str(file), "--json").data
    assert (data["original_since"], data["compressed_since"]) == (boundary, boundary)
    asked = json.dumps(data["answers"])
    assert "price list" in asked
    assert "legacy" not in asked


def test_status_says_by_how_much_a_component_is_over_its_budget(memctl: Memctl) -> None:
    given = [{"role": "user", "content": TASK}, {"role": "assistant", "content": "word " * 20_000}]
    out = memctl("window", "status", "-", "--window", "10000", "--model", "gpt-5", stdin=json.dumps(given)).out
    row = next(line for line in out.splitlines() if line.startswith("message_history"))
    used, limit, over = (int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\d", row))
    assert row.endswith(" over its budget")
    assert over == used - limit
    assert sum("over its budget" in line for line in out.splitlines()) == 1


def test_compact_says_what_it_counts_and_what_the_model_reported(memctl: Memctl, tmp_path: Path) -> None:
    err = memctl("window", "compact", str(compacted(tmp_path)), "--target", "999999").err
    assert "the target is 999,999" in err
    assert "only the messages of the transcript's last window are counted, without system prompt and tools" in err
    assert "the model reported 20,304 tokens for the whole window" in err
    assert (
        "the written messages do not name their model; give --model claude-opus-4-5 to commands that read them" in err
    )
