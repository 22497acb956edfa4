"""The state of a task as a record of the memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memctl.errors import USAGE
from memctl.record.task_state import CLAIMED, DONE, IN_PROGRESS, PLANNED, TaskState, steps
from memctl.task import state_record
from tests.conftest import Memctl, commits, git


def test_task_state_survives_the_way_through_a_record() -> None:
    whole = TaskState(
        goal="Refunds by card",
        steps=steps(done=("GET",), claimed=("PUT",), in_progress=("POST",), planned=("DELETE", "Mails")),
        next_actions=("A test with 0.005",),
        blockers=("The bank's sandbox is down",),
    )
    values = state_record.record_values(whole)
    assert values["substeps_remaining"] == ["PUT (claimed)", "POST (in progress)", "DELETE", "Mails"]
    found = state_record.of_values(values)
    for status in (DONE, CLAIMED, IN_PROGRESS, PLANNED):
        assert found.having(status) == whole.having(status)
    assert (found.goal, found.next_actions, found.blockers) == (whole.goal, whole.next_actions, whole.blockers)


def test_update_of_a_state_is_one_commit(memctl: Memctl, repo: Path) -> None:
    made = memctl("state", "Refunds", "--done", "GET", "--remaining", "POST", "--remaining", "PUT", "--next", "POST").id
    before = commits(repo)
    assert memctl("state", "--update", made, "--done", "POST", "--next", "PUT").out.startswith(f"edited {made} ")
    assert commits(repo) == before + 1
    assert git(repo, "log", "-1", "--format=%s") == f"docs(memory): edit {made} (completion_percentage 66) Refunds\n"
    (record,) = memctl("show", made, "--json").data["records"]
    assert record["content"] == {
        "substeps_completed": ["GET", "POST"], "substeps_remaining": ["PUT"], "next_actions": ["PUT"],
    }  # fmt: skip
    assert "is already done" in memctl("state", "--update", made, "--remaining", "GET", code=USAGE).err
    for command in (("--update", made), ("Another task",)):
        assert (
            "more than one status" in memctl("state", *command, "--done", "PUT", "--remaining", "put", code=USAGE).err
        )
    assert "can't be combined with --tag" in memctl("state", "--update", made, "--tag", "x", code=USAGE).err
    assert "not a state" in memctl("state", "--update", memctl("learn", "x").id, "--done", "y", code=USAGE).err
    before = commits(repo)
    memctl("state", "--update", made, "--done", "PUT", "--dry-run")
    assert commits(repo) == before
    memctl("state", "--update", made, "--done", "PUT", "--next", "none", "--completion", "90")
    assert memctl("show", made, "--json").data["records"][0]["completion_percentage"] == 90


def test_update_copies_the_progress_of_a_checkpoint(memctl: Memctl) -> None:
    made = memctl("state", "Refunds", "--remaining", "GET", "--remaining", "Mails", "--next", "GET").id
    memctl("checkpoint", "save", "--task", "Refunds", "--done", "GET", "--claimed", "PUT", "--next", "Mails")
    memctl("state", "--update", made, "--checkpoint", "newest")
    (record,) = memctl("show", made, "--json").data["records"]
    assert record["content"]["substeps_completed"] == ["GET"]
    assert record["content"]["substeps_remaining"] == ["Mails", "PUT (claimed)"]
    assert record["content"]["next_actions"] == ["Mails"]
    assert record["completion_percentage"] == 33


def test_a_state_is_made_from_the_live_state_of_the_work(memctl: Memctl) -> None:
    assert "no checkpoint of the workflow" in memctl("state", "--checkpoint", "newest", code=1).err
    memctl("checkpoint", "save", "--task", "Refunds by card", "--done", "GET", "--doing", "POST", "--next", "Mails")
    made = memctl("state", "--checkpoint", "newest", "--next", "A test").id
    (record,) = memctl("show", made, "--json").data["records"]
    assert (record["title"], record["completion_percentage"]) == ("Refunds by card", 50)
    assert record["content"]["substeps_completed"] == ["GET"]
    assert record["content"]["substeps_remaining"] == ["POST (in progress)"]
    assert record["content"]["next_actions"] == ["A test"]
    memctl("checkpoint", "save", "--done", "POST")
    assert memctl("state", "--checkpoint", "newest").id != made  # and takes its place
    assert memctl("show", made, "--json").data["records"][0]["status"] == "superseded"


def test_a_new_state_supersedes_one_of_the_same_task_id_alone(memctl: Memctl) -> None:
    first = memctl("state", "Order API", "--task-id", "orders").id
    other = memctl("state", "Order API", "--task-id", "other").id
    last = memctl("state", "Orders, all of them", "--task-id", "orders").id
    found = {one["id"]: one["status"] for one in memctl("list", "--type", "state", "--all", "--json").data["records"]}
    assert found == {first: "superseded", other: "active", last: "active"}


def test_states_of_one_title_section_and_agent_replace_each_other_unless_new(
    memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("section", "add", "Payments")
    first = memctl("state", "Refunds", "--next", "GET").id
    elsewhere = memctl("state", "Refunds", "--section", "2.1").id
    last = memctl("state", "refunds.", "--next", "POST").id
    other = memctl("state", "Refunds", "--new").id
    monkeypatch.setenv("MEMCTL_AGENT", "codex")
    theirs = memctl("state", "Refunds").id
    found = {one["id"]: one["status"] for one in memctl("list", "--type", "state", "--all", "--json").data["records"]}
    assert found == {first: "superseded", **dict.fromkeys((elsewhere, last, other, theirs), "active")}


def test_update_of_a_state_keeps_other_fields_unchanged(memctl: Memctl) -> None:
    blockers = "- The bank's sandbox\n  is down since Monday,\n  see `docs/bank.md`\n"
    body = f"# Refunds\n\n## Remaining\n\n- POST\n\n## Blockers\n\n{blockers}\n## Notes\n\nby hand\n"
    made = memctl("state", "--file", "-", stdin=body).id
    memctl("state", "--update", made, "--done", "POST")
    text = memctl("show", made).out
    assert blockers in text
    assert "by hand" in text
    assert "## Done\n\n- POST\n" in text
    memctl("state", "--update", made, "--blocker", "none")
    assert "sandbox" not in memctl("show", made).out


def test_task_with_all_steps_done_is_100_percent_only_without_next_steps(memctl: Memctl) -> None:
    made = memctl("state", "Refunds", "--remaining", "GET", "--next", "Mails").id
    assert memctl("state", "--update", made, "--done", "GET").err == ""
    assert memctl("show", made, "--json").data["records"][0]["completion_percentage"] == 0
    hint = f"hint: {made} is 100 % done and still active: `memctl resolve {made}` closes it\n"
    assert memctl("state", "--update", made, "--next", "none").err == hint
    assert memctl("show", made, "--json").data["records"][0]["completion_percentage"] == 100
    saved = ("checkpoint", "save", "--task", "Refunds", "--done", "GET", "--next")
    memctl(*saved, "Mails")
    assert "PROGRESS: 1 of 1 steps done\n" in memctl("checkpoint", "resume").out
    memctl(*saved, "none")
    assert "PROGRESS: 1 of 1 steps done\n" in memctl("checkpoint", "resume").out


def test_declared_percentage_stays_until_a_step_is_done(memctl: Memctl) -> None:
    made = memctl("state", "Refunds", "--completion", "30", "--remaining", "GET").id

    def percent(*args: str) -> object:
        memctl("state", "--update", made, *args)
        return memctl("show", made, "--json").data["records"][0]["completion_percentage"]

    assert percent("--remaining", "POST", "--blocker", "No sandbox") == 30
    assert percent("--done", "GET") == 50
    assert percent("--remaining", "DELETE") == 33


def test_a_resume_gives_no_other_percentage_than_the_record_of_the_task(memctl: Memctl) -> None:
    made = memctl("state", "Refunds", "--completion", "30", "--remaining", "GET").id
    memctl("checkpoint", "save", "--task", "Refunds", "--planned", "GET", "--next", "GET")
    assert "PROGRESS: 0 of 1 steps done\n" in memctl("checkpoint", "resume").out
    package = memctl("handoff", "--to", "bo", "--task", made, "--reason", "r", "--success", "s", "--dry-run").out
    assert "0 of 1 steps done" in package
    assert set(re.findall(r"\d+ ?%", package)) == {"30 %", "30%"}


def test_resume_names_only_what_blocks_its_task_and_counts_the_rest(memctl: Memctl) -> None:
    other = memctl("issue", "Ping the deacon", "--severity", "high").id
    memctl("issue", "Merge the queue", "--severity", "medium", "--blocked-by", other)
    memctl("state", "Mail digest", "--next", "Template", "--blocker", "No mail server yet")
    memctl("checkpoint", "save", "--task", "Limit include depth", "--doing", "Counter in Context", "--next", "Test it")
    out = memctl("checkpoint", "resume").out
    assert "BLOCKERS:\n- 2 blocked records of other work: `memctl list --blocked`\n" in out
    assert "OPEN ISSUES:\n- 2 other open issues: `memctl list --type issue`\n" in out
    assert not any(text in out for text in ("Ping the deacon", "Merge the queue", "No mail server yet"))
    own = memctl("issue", "Include depth is not counted", "--severity", "low").id
    cause = memctl("issue", "Context has no fields", "--severity", "low").id
    memctl("link", own, cause, "--as", "blocked_by")
    urgent = memctl("issue", "The build is broken", "--severity", "critical").id
    memctl("link", other, urgent, "--as", "blocked_by")
    memctl("state", "Include depth", "--next", "Counter", "--blocker", "Grammar is frozen")
    memctl("checkpoint", "save", "--next", "Test at 100")
    out = memctl("checkpoint", "resume").out
    blockers = out.partition("BLOCKERS:\n")[2]
    assert f"- Context has no fields [{cause}, blocks {own}]" in blockers
    assert f"- The build is broken [{urgent}, blocks {other}]" in blockers
    assert "Grammar is frozen" in blockers
    assert "Include depth is not counted" in out
    assert "3 blocked records of other work" in out
    assert "Ping the deacon" not in out
    assert "2 other open issues" in out


def test_resume_names_a_blocker_of_the_record_or_section_that_its_task_names(memctl: Memctl) -> None:
    memctl("section", "add", "Parser")
    waiting = memctl("issue", "Slow", "--severity", "low").id
    memctl("link", waiting, memctl("issue", "Upstream release", "--severity", "low").id, "--as", "blocked_by")
    placed = memctl("issue", "Odd", "--severity", "low", "--section", "§2.1").id
    memctl("link", placed, memctl("issue", "Unknown format", "--severity", "low").id, "--as", "blocked_by")
    memctl("checkpoint", "save", "--task", f"Work on {waiting}", "--next", "Measure")
    out = memctl("checkpoint", "resume").out
    assert "Upstream release" in out
    assert "Unknown format" not in out
    assert "1 blocked record of other work" in out
    memctl("checkpoint", "save", "--task", "Work on §2.1", "--next", "Measure")
    out = memctl("checkpoint", "resume").out
    assert "Unknown format" in out
    assert "Upstream release" not in out
