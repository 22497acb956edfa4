"""The four types of handoff on a memory of ninety records: each has a scope of its own, and its size is as it says."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memctl.pack.handoff_request import TYPES, HandoffRequest
from memctl.store import load
from memctl.store.memory import open_memory
from tests.conftest import Memctl, Once
from tests.generated import COUNTERS
from tests.pack import ninety
from tests.pack.handoffs import given

GOLDEN = Path(__file__).parents[1] / "golden" / "handoff-types.json"
COOKIES, AUDIT = "Session cookie rotation schema", "Kubernetes backup of the audit log"


@pytest.fixture
def shop(repo: Path, memctl: Memctl, once: Once) -> Path:
    def make() -> None:
        for title in ninety.SECTIONS.values():
            memctl("section", "add", title)
        memctl("import", "-", stdin=ninety.lines())

    once(make)
    return repo


def package(memctl: Memctl, kind: str, *args: str) -> Any:
    said = ("--reason", "The design is done", "--type", kind, *args)
    return memctl("handoff", "--to", "codex", *said, "--json", "-n").data


def included(data: Any) -> set[str]:
    return {identifier for found in data["parts"].values() for identifier in found}


def test_sizes_and_records_of_each_type_are_as_written_down(shop: Path) -> None:
    """Write them anew with `WRITE_GOLDEN=1 pytest tests/pack/test_handoff_types.py`; look at the difference.

    No package here names the commits of its records: their ids change with every document that is rendered.
    """
    snapshot = load.disk(open_memory(shop, os.environ))
    found = {}
    said = {"reason": "The design is done", "task": COOKIES}
    for name, sections in {"all": (), "§2.3": ("§2.3",)}.items():
        for kind in TYPES:
            made = given(
                snapshot,
                HandoffRequest(from_agent_id="claude", to_agent_id="bob", handoff_type=kind, sections=sections, **said),
            )
            report = msgspec.structs.asdict(made.report)
            kept = {key: report[key] for key in ("before", "after", "reduction", "aim", "removed", "tokens")}
            assert made.pack.tokens == COUNTERS["claude"].tokens(made.pack.text) <= TYPES[kind].budget
            parts = {part: ids for part, ids in made.pack.parts.items() if ids}
            found[f"{kind} of {name}"] = {**kept, "named": len(made.pack.left_out), "parts": parts}
    if os.environ.get("WRITE_GOLDEN"):
        GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(GOLDEN.read_text())


def test_each_type_has_a_scope_of_its_own(shop: Path, memctl: Memctl) -> None:
    data = {kind: package(memctl, kind, "--section", "2.3", "--task", COOKIES) for kind in TYPES}
    ids = {kind: included(one) for kind, one in data.items()}
    of_section = {one["id"] for one in memctl("list", "--section", "2.3", "--json", "--limit", "0").data["records"]}
    is_named = {one["id"] for one in data["complete"]["left_out"]}
    assert ids["complete"] | is_named == of_section | {"§2.3"}
    assert not ids["specialist"] & {one for one in of_section if one.startswith(("LRN", "ISS"))}
    emergency = {one.partition("-")[0] for one in ids["emergency"]}
    assert emergency == {"STA", "DEC", "ISS"}
    assert ids["emergency"] < ids["complete"]
    assert data["emergency"]["left_out"] == []
    assert data["continuation"]["parts"]["changed_since"]
    assert data["continuation"]["parts"]["current_task_state"] == data["complete"]["parts"]["current_task_state"]


def test_two_tasks_of_specialists_are_given_different_records(shop: Path, memctl: Memctl) -> None:
    cookies, audit = (package(memctl, "specialist", "--task", task) for task in (COOKIES, AUDIT))
    tasks = set(cookies["parts"]["current_task_state"])
    assert not (included(cookies) & included(audit)) - tasks
    titles = memctl("show", *(included(audit) - tasks), "--json").data["records"]
    assert {one["title"].partition(":")[0] for one in titles} >= {"Audit log", "Backups", "Kubernetes"}
    assert "Session cookies: rotate the cookie at each login [DEC" in audit["text"]  # what binds is named


def test_summary_covers_the_section_that_is_handed_over(shop: Path, memctl: Memctl) -> None:
    text = package(memctl, "complete", "--section", "2.3", "--format", "markdown")["text"]
    summary = text.partition("Ownership:")[0]
    assert "Invoices under way, 52 % done" in summary
    assert "Kubernetes" not in summary
    assert "Not considered for PROCEED, STOP or CLARIFY: 2 open issues below high severity" in summary
    assert "open issues outside of the sections (" in summary


def test_a_task_that_is_named_by_its_id_is_handed_over_with_its_section_and_no_other(
    shop: Path, memctl: Memctl
) -> None:
    state = memctl("list", "--type", "state", "--section", "2.5", "--json").data["records"][0]
    data = package(memctl, "complete", "--task", state["id"], "--format", "markdown")
    assert data["parts"]["current_task_state"] == [state["id"]]
    assert f"Task: {state['title']} [{state['id']}]\n" in data["text"]
    assert f"- {state['title']}, 54 % done" in data["text"]
    listed = memctl("list", "--section", "2.5", "--json", "--limit", "0").data["records"]
    assert included(data) <= {one["id"] for one in listed} | {"§2.5"}
    assert data["sections"] == []  # nothing changes hands
    given = ("--to", "bob", "--task", state["id"], "--reason", "Done", "--json")
    made = memctl("handoff", *given).data["id"]
    resumed = memctl("handoff", "accept", made, "--force", "--reason", "bob said so").out
    assert f"TASK: {state['title']} [{state['id']}]" in resumed
    assert "- Handler of sender" in resumed  # of the returns in §2.5


@pytest.mark.parametrize("form", ["xml", "event"])
def test_a_package_is_a_complete_context_by_the_policy(shop: Path, memctl: Memctl, tmp_path: Path, form: str) -> None:
    said = ("--constraint", "no new tables", "--input", "docs/ledger.md", "--expect", "a schema", "--output", "a draft")
    text = package(memctl, "specialist", "--section", "2.3", "--task", COOKIES, "--format", form, *said)["text"]
    for tag, words in {"current_objective": COOKIES, "constraints": "no new tables", "inputs": "docs/ledger.md",
                       "expected_outputs": "a schema", "deliverables": "a draft"}.items():  # fmt: skip
        assert f"<{tag}>" in text
        assert words in text.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    (tmp_path / "package.xml").write_text(text)
    criteria = memctl("policy", "parallel", str(tmp_path / "package.xml"), "--json", code=None).data["criteria"]
    assert next(one["passed"] for one in criteria if one["name"] == "complete context"), criteria


def test_handoff_leaves_out_checkpoints_of_other_tasks(shop: Path, memctl: Memctl) -> None:
    states = {section: memctl("list", "--type", "state", "--section", section, "--json").data["records"][0]
              for section in ("2.3", "2.5")}  # fmt: skip
    goal = f"Go on with: {states['2.5']['title']}"
    saved = memctl("checkpoint", "save", "--task", goal, "--doing", "Labels of parcels", "--next", "Print one").id
    for args in (("--section", "2.3"), ("--task", states["2.3"]["id"])):
        data = package(memctl, "complete", *args, "--format", "markdown")
        assert saved not in included(data), args
        assert "Labels of parcels" not in data["text"]
    for args in (("--section", "2.5"), ("--task", states["2.5"]["id"])):
        data = package(memctl, "complete", *args, "--format", "markdown")
        assert data["parts"]["current_task_state"][:2] == [saved, states["2.5"]["id"]], args
        assert "- Print one" in data["text"]


def test_a_report_of_a_package_without_context_claims_no_reduction(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "Retries hide an exhausted pool")
    said = ("--reason", "Gone", "--type", "emergency", "--json", "-n")
    report = memctl("handoff", "--to", "codex", *said).data["report"]
    assert report["after"] == 0
    told = memctl("handoff", "--to", "codex", *said[:-2], "-n").err
    assert f"records and pages: {report['before']:,} tokens, none of them in the package\n" in told
    assert "% left out" not in told
