"""`policy parallel`, `policy triggers` and `policy threshold` as programs use them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Memctl

EVENT = """<agent_context>
<mission>sell lanterns</mission>
<inputs>the schema</inputs>
<expected_outputs>a report</expected_outputs>
<constraints>no new packages</constraints>
<own>{}</own>
</agent_context>
"""


@pytest.fixture
def agents(tmp_path: Path) -> tuple[str, str]:
    for name in ("one", "two"):
        (tmp_path / f"{name}.xml").write_text(EVENT.format(name))
    return str(tmp_path / "one.xml"), str(tmp_path / "two.xml")


def test_complete_events_may_run_at_once(memctl: Memctl, agents: tuple[str, str]) -> None:
    found = memctl("policy", "parallel", *agents, "--delta", "500", "--json")
    assert found.json["kind"] == "parallel"
    assert found.data["granted"] is True
    assert [item["number"] for item in found.data["criteria"]] == [1, 2, 3, 4, 5, 6, 7, 0]
    assert found.data["scs"]["source"] == "what all contexts share"
    assert memctl("policy", "parallel", *agents, "--delta", "500").out.endswith("\ngranted\n")


def test_a_missed_criterion_is_reported_with_its_value_and_difference(
    memctl: Memctl, agents: tuple[str, str], tmp_path: Path
) -> None:
    described = tmp_path / "state.yaml"
    described.write_text("delta_payload: 900\nunresolved_dependencies: [schema first]\ndeferred_compressions: 2\n")
    found = memctl("policy", "parallel", *agents, "--state", str(described), "--json", code=1).data
    assert [item["number"] for item in found["criteria"] if not item["passed"]] == [2, 3, 5]
    shown = memctl("policy", "parallel", *agents, "--state", str(described), code=1).out
    assert shown.endswith("\nrefused: delta payload, no unresolved dependencies, compression backlog\n")
    assert "over by" in shown


def test_command_line_overrides_the_description_and_that_the_config(
    memctl: Memctl, agents: tuple[str, str], tmp_path: Path, repo: Path
) -> None:
    config = repo / ".memory" / "config.yaml"
    config.write_text(config.read_text() + "scs_threshold: 1500\n")
    state = tmp_path / "state.json"
    state.write_text('{"threshold": 1800, "delta_payload": 100}')

    def threshold(*more: str) -> int:
        return int(memctl("policy", "parallel", *agents, "--json", *more, code=None).data["threshold"])

    assert threshold() == 1_500
    assert threshold("--state", str(state)) == 1_800
    assert threshold("--state", str(state), "--threshold", "10") == 10


def test_invalid_threshold_in_the_config_is_refused(memctl: Memctl, repo: Path) -> None:
    config = repo / ".memory" / "config.yaml"
    config.write_text(config.read_text() + "scs_threshold: 0\n")
    assert "scs_threshold" in memctl("list", code=1).err


def test_a_given_slice_and_planned_reads_are_measured(memctl: Memctl, agents: tuple[str, str], tmp_path: Path) -> None:
    shared, plan = tmp_path / "shared.md", tmp_path / "plan.md"
    shared.write_text("word " * 3_000)
    plan.write_text("word " * 1_000)
    options = ("--shared", str(shared), "--plan", str(plan), str(plan), "--remaining", "1500", "--model", "gpt")
    found = memctl("policy", "parallel", *agents, *options, "--json", code=1).data
    assert found["scs"]["source"] == "given"
    assert found["burst"]["is_burst"] is True
    assert found["burst"]["planned"] == found["burst"]["over_remaining"] + 1_500
    assert next(item for item in found["criteria"] if item["number"] == 1)["passed"] is False


def test_missing_context_is_wrong_usage(memctl: Memctl) -> None:
    assert "the files with the contexts to judge are missing" in memctl("policy", "parallel", code=2).err
    assert "the files with the contexts to judge are missing" in memctl("policy", "triggers", code=2).err


def test_identical_and_empty_contexts_are_judged(memctl: Memctl, tmp_path: Path) -> None:
    empty = tmp_path / "empty.md"
    empty.write_text("")
    found = memctl("policy", "parallel", str(empty), str(empty), "--json", code=1).data
    assert found["scs"]["tokens"] == 0
    same = tmp_path / "same.md"
    same.write_text("word " * 3_000)
    found = memctl("policy", "parallel", str(same), str(same), "--json", code=1).data
    assert found["scs"]["tokens"] == found["contexts"][0]["aws"]


def test_a_wrong_description_names_the_key(memctl: Memctl, agents: tuple[str, str], tmp_path: Path) -> None:
    state = tmp_path / "state.yaml"
    state.write_text("evnts: 3\n")
    refused = memctl("policy", "triggers", *agents, "--state", str(state), code=1)
    assert "evnts" in refused.err
    assert "batches_since_compression" in refused.err


def test_quiet_contexts_fire_no_trigger_and_pass_strict(memctl: Memctl, agents: tuple[str, str]) -> None:
    found = memctl("policy", "triggers", *agents, "--strict", "--json")
    assert found.json["kind"] == "triggers"
    assert (found.data["fired"], found.data["tier"]) == ([], None)


def test_a_trigger_that_fires_lists_ways_to_compress(memctl: Memctl, tmp_path: Path) -> None:
    plan = "## Plan\n\nFirst the schema is written down, then the code of the handler, and then its tests are run.\n\n"
    window = tmp_path / "window.md"
    window.write_text(plan * 3)
    shown = memctl("policy", "triggers", str(window), "--phase-boundary", "--strict", code=1).out
    assert [line.split()[1] for line in shown.split("\n") if line.startswith("fires")] == ["1", "3"]
    assert "micro summary (at most 50 tokens)" in shown
    assert "deduplicate unchanged plans and checklists" in shown
    assert memctl("policy", "triggers", str(window), "--events", "51").code == 0


def test_escalations_are_reported(memctl: Memctl, agents: tuple[str, str], tmp_path: Path) -> None:
    state = tmp_path / "state.yaml"
    state.write_text("next_phase_scs: 5000\nunresolved_details: [which VAT rate]\n")
    shown = memctl("policy", "triggers", *agents, "--state", str(state)).out
    assert "who should decide: context agent, because the next phase adds 5,000 tokens" in shown
    assert "who should decide: user" in shown
    assert [line.split()[1] for line in shown.split("\n") if line.startswith("fires")] == ["7"]


def test_the_threshold_is_reviewed_by_a_log(memctl: Memctl) -> None:
    lines = [{"date": f"2025-11-0{day}", "scs": 1_700, "requests": 2, "denied": 1} for day in range(1, 8)]
    log = "\n".join(map(json.dumps, lines))
    found = memctl("policy", "threshold", "-", "--json", stdin=log)
    assert found.json["kind"] == "threshold"
    assert (found.data["decision"], found.data["proposal"], len(found.data["steps"])) == ("raise", 2_300, 4)
    shown = memctl("policy", "threshold", "-", stdin=log).out
    assert "raise to 2,300: the shared slice fills 85% of the threshold (median)" in shown
    assert "2. pilot the new threshold on at least 3 complex tasks" in shown
    assert "keep: there are no observations" in memctl("policy", "threshold", "-", stdin="").out
    assert "-:1: scs" in memctl("policy", "threshold", "-", stdin='{"date": "2025-11-01", "scs": "x"}', code=1).err


def test_policy_commands_work_without_a_memory(memctl: Memctl, agents: tuple[str, str], tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    assert memctl("policy", "triggers", *agents, "--json", where=outside).data["threshold"] == 2_000
    assert memctl("policy", "threshold", "-", stdin="", where=outside).code == 0


def test_logged_batches_give_values_for_the_next_ones(
    memctl: Memctl, tmp_path: Path, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "there is no memory" in memctl("policy", "threshold", where=tmp_path, code=2).err
    loose = tmp_path / "loose.md"
    for number in range(3):  # refused: no event, and not complete
        loose.write_text(f"## Mission\n\n{'word ' * 20 * (number + 1)}\n")
        memctl("policy", "parallel", str(loose), code=1)
        memctl("policy", "triggers", str(loose))  # of the same batch
    review = memctl("policy", "threshold", "--json").data
    assert (review["observations"], review["requests"], review["denial_rate"]) == (3, 3, 1.0)
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T15:00:00Z")
    memctl("event", "emit", "--type", "phase_complete", "--phase", "design", "--output", "docs/api.md")
    memctl("event", "emit", "--type", "compression", "--action", "sum", "--aws-before", "1000", "--aws-after", "999")
    found = memctl("policy", "triggers", str(loose), "--json").data
    assert found["measured"]["events"] == 2
    assert found["measured"]["parallel_denials"] == 3
    assert found["measured"]["aws_before"] == 999
    assert found["delta_since_last_batch"] == found["contexts"][0]["aws"] - 999
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T16:00:00Z")
    loose.write_text(f"## Mission\n\n{'word ' * 80}\n")
    memctl("policy", "triggers", str(loose))
    review = memctl("policy", "threshold", "--json").data
    assert (review["observations"], review["macro_summaries"], review["no_ops"]) == (4, 1, 1)
    assert memctl("policy", "triggers", str(loose), "--events", "7", "--json").data["measured"].get("events") is None
    assert not list((repo / ".memory").rglob("*.jsonl"))


def test_work_of_one_agent_that_waits_for_that_of_another_refuses(memctl: Memctl, tmp_path: Path) -> None:
    memctl("issue", "The schema")
    (schema,) = (one["id"] for one in memctl("list", "--type", "issue", "--json").data["records"])
    memctl("issue", "The handler", "--blocked-by", schema)
    (handler,) = {one["id"] for one in memctl("list", "--type", "issue", "--json").data["records"]} - {schema}
    for name, identifier in (("one", schema), ("two", handler)):
        (tmp_path / f"{name}.xml").write_text(EVENT.format(name).replace("the schema", f"do {identifier}"))
    files = [str(tmp_path / "one.xml"), str(tmp_path / "two.xml")]
    found = memctl("policy", "parallel", *files, "--delta", "0", "--json", code=1).data
    refused = {item["number"]: item["measured"] for item in found["criteria"] if not item["passed"]}
    assert refused == {3: f"{handler} of {files[1]} is blocked by {schema} of {files[0]}"}
    memctl("resolve", schema, "--resolution", "It is written.")
    memctl("policy", "parallel", *files, "--delta", "0")


def test_system_prompts_with_a_criterion_are_complete_contexts(memctl: Memctl, tmp_path: Path) -> None:
    memctl("decide", "Use PostgreSQL", "--rationale", "Payments need transactions", "--importance", "9")
    files = []
    for name in ("ada", "bob"):
        files.append(str(tmp_path / f"{name}.xml"))
        more = ("--criterion", f"The tests of {name} pass") if name == "ada" else ()
        memctl("prompt", "system", "--agent", name, "--task", f"Refunds by {name}", "-f", "xml", "-o", files[-1], *more)
    found = memctl("policy", "parallel", *files, "--json", code=1).data["criteria"]
    assert [item["help"] for item in found if item["number"] == 7] == [f"{files[1]} lacks its outputs"]
