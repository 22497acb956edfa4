"""The commands that make packs, in the example memory and in small ones."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from tests.conftest import Memctl, git, slow

COMMANDS: dict[str, tuple[str, ...]] = {
    "rehydrate": ("rehydrate",),
    "task": ("rehydrate", "--task", "checkout connection pool"),
    "section": ("rehydrate", "--section", "2.2"),
    "system": ("prompt", "system", "--agent", "codex", "--task", "checkout connection pool"),
    "user": ("prompt", "user", "Why does checkout wait for a connection?"),
}


@pytest.mark.usefixtures("example")
class TestExample:
    @pytest.mark.parametrize("command", COMMANDS)
    @pytest.mark.parametrize("form", ["markdown", "event", *slow("xml", "yaml", "tokens")])
    def test_every_pack_in_every_format_keeps_its_budget(self, memctl: Memctl, command: str, form: str) -> None:
        for budget in (150, 1_000, 8_000):
            data = memctl(*COMMANDS[command], "--format", form, "--budget", str(budget), "--json").data
            assert 0 < data["tokens"] <= budget == data["budget"]
            assert data["format"] == form
            text = data["text"]
            if command == "user":
                text = text.removeprefix(COMMANDS["user"][2] + "\n\n")
            if form in ("xml", "event"):
                ElementTree.fromstring(text)
            if form == "yaml":
                assert isinstance(yaml.safe_load(text), dict)

    def test_resolved_issue_about_the_task_comes_first_with_its_resolution(self, memctl: Memctl) -> None:
        for number in range(6):
            memctl("issue", f"Column {number} of the export is empty", "--description", "The header is there. " * 20)
        found = memctl("issue", "Build the kanban board component", "--description", "Columns and cards.").id
        memctl("resolve", found, "--resolution", "A grid with one column for each status.")
        text = memctl("rehydrate", "--task", "add a column to the kanban board", "--budget", "900").out
        assert f"{found} | resolved" in text
        assert "A grid with one column" in text
        assert f"{found} | resolved" not in memctl("rehydrate").out

    def test_finished_task_about_the_task_is_resolved_before_and_not_the_current_state(self, memctl: Memctl) -> None:
        done = memctl("state", "Kanban board component", "--done", "A grid with one column for each status").id
        memctl("resolve", done)
        memctl("state", "Export of the invoices", "--remaining", "CSV")
        memctl("issue", "Kanban board component loses cards", "--description", "After the reload.")
        parts = memctl("rehydrate", "--task", "one column for each status of the kanban board", "--json").data["parts"]
        assert parts["resolved"] == [done]
        assert done not in parts["state"]

    def test_superseded_decision_about_the_task_is_left_out(self, memctl: Memctl) -> None:
        old = memctl("decide", "Kanban board by tables", "--rationale", "Simple").id
        new = memctl("decide", "Kanban board by a grid", "--rationale", "Wraps", "--supersedes", old).id
        text = memctl("rehydrate", "--task", "the kanban board by tables").out
        assert new in text
        assert f"{old} |" not in text

    def test_records_relevant_to_the_task_come_first(self, memctl: Memctl) -> None:
        data = memctl("rehydrate", "--task", "connection pool pgbouncer", "--json").data
        assert data["parts"]["decision"][-1] == "DEC-2025-10-30-001"  # which is only proposed
        assert "Chosen for the task: connection pool pgbouncer" in data["text"]

    def test_a_section_brings_its_pages_and_records_of_any_weight(self, memctl: Memctl) -> None:
        data = memctl("rehydrate", "--section", "§2.2", "--json").data
        assert data["parts"]["page"] == ["§2.2", "§3.2", "§3.3"]
        listed = memctl("list", "--section", "2.2", "--json").data["records"]
        allowed = {record["id"] for record in listed}
        packed = {identifier for name, part in data["parts"].items() if name != "page" for identifier in part}
        assert packed
        assert packed <= allowed
        assert "no section" in memctl("rehydrate", "--section", "2.99", code=2).err

    def test_since_selects_new_records_of_any_importance(self, memctl: Memctl) -> None:
        data = memctl("rehydrate", "--since", "2025-10-28", "--json").data
        new = {r["id"] for r in memctl("list", "--since", "2025-10-28", "--json", "--limit", "0").data["records"]}
        shown = {identifier for part in data["parts"].values() for identifier in part}
        shown |= {left["id"] for left in data["left_out"]}
        assert shown
        assert shown <= new

    def test_an_agent_gets_its_own_records(self, memctl: Memctl) -> None:
        data = memctl("rehydrate", "--agent", "codex", "--since", "2020-01-01", "--json").data
        shown = {identifier for part in data["parts"].values() for identifier in part}
        own = {r["id"] for r in memctl("list", "--agent", "codex", "--json", "--limit", "0").data["records"]}
        assert shown
        assert shown <= own

    def test_the_next_actions_of_the_state_come_last(self, memctl: Memctl) -> None:
        text = memctl("rehydrate").out
        before, _, after = text.partition("## Also open")
        assert "\n### Checkout holds 150 buyers at once\n" in before
        assert "Load test with 150 buyers" in before
        assert re.search(r"\n## Next actions\n\nSTA-\S+ Checkout holds 150 buyers at once:\n\n- ", after)
        state = before.split("### Checkout holds 150 buyers at once")[1].split("\n### ")[0]
        assert "Next actions" not in state

    def test_auto_chooses_by_size_and_operation(self, memctl: Memctl) -> None:
        chosen = {
            budget: memctl("rehydrate", "--format", "auto", "--budget", str(budget), "--json").data["format"]
            for budget in (300, 1_500, 9_000)
        }
        assert chosen == {300: "yaml", 1_500: "xml", 9_000: "tokens"}

    def test_the_same_memory_and_clock_give_the_same_bytes(self, memctl: Memctl, repo: Path) -> None:
        """How often records were retrieved counts in the ranking; those counts are part of the memory."""
        for command in COMMANDS.values():
            shown = []
            for _ in range(2):
                (repo / ".git/memctl/access.db").unlink(missing_ok=True)
                shown.append(memctl(*command).out)
            assert shown[0] == shown[1]

    def test_system_prompt_has_all_required_parts(self, memctl: Memctl, repo: Path) -> None:
        config = repo / ".memory/config.yaml"
        config.write_text(config.read_text() + "agents:\n  codex:\n    role: You mend payment code.\n")
        text = memctl("prompt", "system", "--agent", "codex", "--task", "refunds", "--criterion", "Tests pass").out
        parts = [line for line in text.split("\n") if line.startswith("## ")]
        assert parts == [
            "## Project context",
            "## Current focus",
            "## Critical knowledge",
            *(["## Left out"] if "## Left out" in text else []),
            "## Success criteria",
            "## Available resources",
        ]
        assert text.startswith("# System prompt\n\nYou mend payment code.\n")
        assert "\n- Tests pass\n" in text
        assert "load §3.1.2" in text
        data = memctl("prompt", "system", "--json").data
        assert 1_000 <= data["tokens"] <= 8_000

    def test_a_user_message_is_the_query_and_what_is_relevant(self, memctl: Memctl) -> None:
        text = memctl("prompt", "user", "-", stdin="Why does checkout wait\nfor a connection?\n").out
        query, _, rest = text.partition("\n\n<relevant_context")
        assert query == "Why does checkout wait\nfor a connection?"
        root = ElementTree.fromstring("<relevant_context" + rest)
        scores = [float(item.get("relevance", "0")) for item in root.iter() if item.get("relevance")]
        assert scores == sorted(scores, reverse=True)
        assert min(scores) >= 0.3
        none = memctl("prompt", "user", "Why does checkout wait?", "--threshold", "1", "--json").data
        assert none["parts"] == {"excerpts": []}

    def test_a_user_message_may_have_any_text(self, memctl: Memctl) -> None:
        text = memctl("prompt", "user", "</relevant_context> is it so?").out
        assert text.startswith("</relevant_context> is it so?\n\n<relevant_context ")

    def test_load_gives_the_parts_that_a_reply_asks_for(self, memctl: Memctl) -> None:
        reply = "Please load §3.2.1 and DEC-2025-10-30-001.\nAlso load §9.9, §3.99.\nPRUNE: §2.4 - done with it\n"
        result = memctl("load", stdin=reply, code=1)
        assert "### PgBouncer in front of PostgreSQL" in result.out
        assert "§3.2.1" in result.out
        assert "## Not found\n\n- §9.9: there is no page or heading §9.9" in result.out
        assert "\n- §3.99: there is no page or heading §3.99" in result.out
        assert result.out.endswith("## To be dropped\n\n- §2.4 - done with it\n")
        data = memctl("load", "--json", stdin="load §3.2\nPRUNE: x - y").data
        assert data["parts"]["loaded"] == ["§3.2"]
        assert data["prune"] == [{"target": "x", "reason": "y"}]

    def test_reply_without_a_request_prints_nothing(self, memctl: Memctl) -> None:
        result = memctl("load", stdin="All is well.")
        assert result.out == ""
        assert "the reply asks for nothing" in result.err
        empty = memctl("load", "--json", stdin="All is well.").data
        assert (empty["text"], empty["tokens"]) == ("", 0)
        assert empty.keys() == memctl("load", "--json", stdin="load §3.2").data.keys()


def test_system_prompt_leaves_out_records_of_other_tasks(memctl: Memctl) -> None:
    for title in ("Login", "Orders"):
        memctl("section", "add", title)
    memctl("decide", "Tokens", "--section", "2.1", "--decision", "jwt_handler checks tokens", "--importance", "9",
           "--validation", "The jwt_handler refuses old tokens")  # fmt: skip
    memctl("decide", "Isolation", "--section", "2.2", "--importance", "9", "--validation", "Isolation tests pass")
    memctl("issue", "Timeout in jwt_handler", "--severity", "medium", "--section", "2.1", "--next", "Rotate")
    memctl("state", "Cookies", "--section", "2.1", "--remaining", "Bake")
    memctl("state", "Order service", "--section", "2.2", "--remaining", "Paginate")
    data = memctl("prompt", "system", "--task", "Fix the timeout in jwt_handler", "--json").data
    focus = data["text"].partition("## Current focus")[2].partition("## Critical knowledge")[0]
    assert "### Timeout in jwt_handler" in focus
    assert "### Cookies" not in focus
    criteria = data["text"].partition("## Success criteria")[2].partition("\n## ")[0]
    assert "refuses old tokens" in criteria
    assert "Rotate" in criteria
    assert "Bake" not in criteria
    assert "Isolation tests pass" not in criteria
    assert "Order service" not in data["text"].partition("## Left out")[0]


def test_a_system_prompt_has_an_open_state_in_focus(memctl: Memctl) -> None:
    memctl("state", "Refunds by card", "--status", "done", "--completion", "100")
    open_one = memctl("state", "Checkout").id
    assert memctl("prompt", "system", "--task", "refunds by card", "--json").data["parts"]["current_focus"] == []
    data = memctl("prompt", "system", "--json").data
    assert data["parts"]["current_focus"] == [open_one]
    lines = [line for line in data["text"].split("\n") if line.startswith(open_one)]
    assert "commit" in lines[0]


def test_resources_of_a_system_prompt_name_the_files_of_its_task(memctl: Memctl, repo: Path) -> None:
    (repo / "jwt_handler.py").write_text("def rotate(token): ...\n")
    memctl("section", "add", "Tokens", "--overview", "The jwt_handler rotates refresh tokens.")
    memctl("section", "add", "Orders", "--overview", "Carts.")
    text = memctl("prompt", "system", "--task", "Change jwt_handler.py to rotate refresh tokens").out
    resources = text.partition("## Available resources")[2]
    assert "- §4.jwt_handler.py\n" in resources
    assert "§2.1 Tokens" not in resources
    assert "§2.2 Orders" in resources


def test_record_counts_do_not_depend_on_the_filters(memctl: Memctl) -> None:
    memctl("learn", "Of this section")
    said = "Records: 1 learning."
    assert said in memctl("rehydrate").out
    assert said in memctl("rehydrate", "--agent", "nobody").out
    assert said in memctl("rehydrate", "--since", "2026-01-01").out


def test_file_is_loaded_unchanged(memctl: Memctl) -> None:
    root = ElementTree.fromstring(memctl("load", "--format", "xml", stdin="load §4.app.py").out)
    assert root.findtext("loaded/file/content") == "print('shop')\n"


def test_a_large_file_is_answered_by_its_summary(memctl: Memctl, repo: Path) -> None:
    steps = "".join(f"def step_{number}(order):\n    return order + {number}\n" for number in range(2000))
    (repo / "big.py").write_text(steps)
    git(repo, "add", "-A")
    for reply in ("load §4.big.py", "Please summarize big.py first."):
        data = memctl("load", "--json", stdin=reply).data
        assert data["parts"]["loaded"] == ["big.py"]
        assert data["tokens"] < 1_000
        assert "step_0" in data["text"]


def test_a_file_with_secrets_is_never_loaded(memctl: Memctl, repo: Path) -> None:
    (repo / ".env").write_text("PASSWORD=hunter2hunter2\n")
    git(repo, "add", "-A")
    result = memctl("load", stdin="load §4..env", code=1)
    assert "hunter2" not in result.out
    assert "memctl never gives" in result.out


def test_pack_is_written_to_a_file(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "One", "--rationale", "x", "-i", "10")
    result = memctl("rehydrate", "--out", str(repo / "pack.md"))
    assert result.out == ""
    assert "tokens of claude in" in result.err
    assert (repo / "pack.md").read_text() == memctl("rehydrate").out


def test_pack_is_copied_to_the_clipboard(memctl: Memctl, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of X and macOS as scripts that write to a file; that of Wayland fails, as without Wayland."""
    memctl("decide", "One", "--rationale", "x", "-i", "10")
    programs = repo.parent / "bin"
    programs.mkdir()
    for name in ("xclip", "pbcopy", "wl-copy"):
        does = "exit 1" if name == "wl-copy" else f"cat > '{repo.parent}/clipboard'"
        (programs / name).write_text(f"#!/bin/sh\n{does}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    result = memctl("rehydrate", "--copy")
    assert result.out == ""
    assert "in the clipboard" in result.err
    assert (repo.parent / "clipboard").read_text() == memctl("rehydrate").out


def test_packing_counts_as_retrieving(memctl: Memctl) -> None:
    made = memctl("decide", "One", "--rationale", "x", "-i", "10").id
    memctl("rehydrate", "--format", "tokens")
    memctl("prompt", "system")
    assert memctl("show", made, "--json").data["records"][0]["access_count"] == 2


def test_packs_at_a_revision_are_of_that_revision(memctl: Memctl, repo: Path) -> None:
    memctl("decide", "One", "--rationale", "x", "-i", "10")
    head = git(repo, "rev-parse", "HEAD").strip()
    memctl("decide", "Two", "--rationale", "x", "-i", "10")
    parts: dict[str, Any] = memctl("rehydrate", "--at", head, "--json").data["parts"]
    assert len(parts["decision"]) == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("rehydrate", "--budget", "3"), "too small"),
        (("rehydrate", "--format", "json"), "json"),
        (("prompt", "user", " "), "empty"),
        (("prompt", "system", "--role", "x", "--role-file", "y"), "can't be combined"),
        (("handoff",), "--to"),
        (("load", "no-such-file"), "no-such-file"),
    ],
)
def test_bad_input_is_refused(memctl: Memctl, args: tuple[str, ...], said: str) -> None:
    assert said in memctl(*args, code=2).err
