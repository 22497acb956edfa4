"""`next`, and `list --ready`, `--blocked`, `--parent`: what can be begun, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, git


def titles(memctl: Memctl, *args: str) -> list[str]:
    return [record["title"] for record in memctl("list", "--json", *args).data["records"]]


def order(memctl: Memctl, *args: str) -> list[str]:
    return [one["record"]["title"] for one in memctl("next", "--json", "--limit", "0", *args).data["choices"]]


def because(memctl: Memctl, title: str) -> list[str]:
    choices = memctl("next", "--json", "--limit", "0").data["choices"]
    return next(one["because"] for one in choices if one["record"]["title"] == title)


def issue(memctl: Memctl, title: str, *args: str) -> str:
    return memctl("issue", title, *args).id


def test_issue_blocked_by_open_work_or_a_proposal_is_not_ready(memctl: Memctl) -> None:
    first = issue(memctl, "First")
    issue(memctl, "Second", "--blocked-by", first)
    proposal = memctl("decide", "Proposal", "--status", "proposed").id
    issue(memctl, "Third", "--blocked-by", proposal)
    decision, learning = memctl("decide", "Decision").id, memctl("learn", "Learning").id
    issue(memctl, "Fourth", "--blocked-by", decision, "--blocked-by", learning)
    assert sorted(titles(memctl, "--ready")) == ["First", "Fourth"]
    assert sorted(titles(memctl, "--blocked")) == ["Second", "Third"]
    assert f"waits for {first} (open) First" in memctl("list", "--blocked").out
    data = memctl("list", "--blocked", "--json").data
    assert sorted(names[0] for names in data["waits_for"].values()) == sorted([first, proposal])
    memctl("resolve", first, "--resolution", "done")
    memctl("edit", proposal, "--set", "status=accepted")
    assert sorted(titles(memctl, "--ready")) == ["Fourth", "Second", "Third"]
    assert titles(memctl, "--blocked") == []


def test_parts_are_ready_before_the_whole_and_blocked_with_it(memctl: Memctl) -> None:
    whole = issue(memctl, "Whole")
    part = issue(memctl, "Part", "--parent", whole)
    issue(memctl, "Part of the part", "--parent", part)
    assert titles(memctl, "--parent", whole) == ["Part"]
    assert titles(memctl, "--ready") == ["Part of the part"]
    other = issue(memctl, "Other")
    memctl("link", other, whole, "--as", "blocks")
    assert titles(memctl, "--ready") == ["Other"]
    assert sorted(titles(memctl, "--blocked", "--parent", whole)) == ["Part"]
    memctl("resolve", other, "--resolution", "done")
    memctl("resolve", part, "--resolution", "done")
    assert titles(memctl, "--parent", whole, "--status", "resolved") == ["Part"]
    assert "there is no record" in memctl("list", "--parent", "ISS-1999-01-01-001", code=1).err


def test_circular_blocking_links_block_both_issues(repo: Path, memctl: Memctl) -> None:
    first, second = issue(memctl, "First"), issue(memctl, "Second")
    memctl("link", first, second, "--as", "blocks")
    file = next((repo / ".memory").rglob(f"{first}-*.md"))
    file.write_text(file.read_text().replace("agent_id:", f"blocked_by:\n  - {second}\nagent_id:"))
    assert sorted(titles(memctl, "--blocked")) == ["First", "Second"]
    assert "there is no unblocked work" in memctl("next").err


def test_ready_combines_with_filters_but_not_with_blocked(memctl: Memctl) -> None:
    issue(memctl, "Bad", "--severity", "high", "--tag", "x")
    issue(memctl, "Mild", "--severity", "low")
    assert titles(memctl, "--ready", "--sort", "severity") == ["Bad", "Mild"]
    assert titles(memctl, "--ready", "--tag", "x") == ["Bad"]
    assert titles(memctl, "--ready", "--limit", "1", "--sort", "severity") == ["Bad"]
    assert "1 more" in memctl("list", "--ready", "--limit", "1").err
    assert "--ready and --blocked can't be combined" in memctl("list", "--ready", "--blocked", code=2).err


class TestOrder:
    def test_next_orders_critical_then_own_then_weighty_then_newest_work(self, memctl: Memctl) -> None:
        memctl("state", "Mine", "--completion", "20", "--next", "Finish DELETE", "-i", "1")
        issue(memctl, "Worst", "--severity", "critical", "-i", "1")
        light = issue(memctl, "Light but awaited", "-i", "5")
        issue(memctl, "Waits", "--blocked-by", light)
        issue(memctl, "Also waits", "--blocked-by", light)
        issue(memctl, "Heavy", "-i", "6")
        issue(memctl, "Equal to heavy and newer", "-i", "6")
        assert order(memctl) == ["Worst", "Mine", "Light but awaited", "Equal to heavy and newer", "Heavy"]
        assert because(memctl, "Mine") == ["begun by you, 20 % done", "next: Finish DELETE"]
        assert because(memctl, "Heavy") == ["importance 6"]
        assert because(memctl, "Light but awaited")[0].startswith("blocks ISS-")
        assert because(memctl, "Light but awaited")[0].endswith(" and 1 more")
        result = memctl("next", "--limit", "2")
        assert "3 more issues and states are ready: --limit 0 shows all" in result.err
        assert "blocked work: 2 (`memctl list --blocked` shows what blocks it)" in result.err

    def test_next_and_rehydrate_use_one_order_of_urgency(self, repo: Path, memctl: Memctl) -> None:
        (repo / "pay.py").write_text("x = 1\n")
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "pay")
        dated = ("--timestamp", "2025-09-01", "--description", "It is slow.")
        issue(memctl, "Far", "-i", "6", *dated)
        issue(memctl, "On a file in work", "-i", "5", "--code", "pay.py", *dated)
        issue(memctl, "High", "-i", "2", "--severity", "high", *dated)
        issue(memctl, "Worst", "-i", "1", "--severity", "critical", *dated)
        expected = ["Worst", "High", "On a file in work", "Far"]
        assert order(memctl) == expected
        pack = memctl("rehydrate").out
        assert sorted(expected, key=lambda title: pack.index(f"### {title}")) == expected

    def test_next_names_the_command_that_begins_or_shows_each_task(self, memctl: Memctl) -> None:
        made = issue(memctl, "One", "--next", "Look at\nthe pool")
        assert f"`memctl edit {made} --set status=in-progress`" in memctl("next").out
        memctl("edit", made, "--set", "status=in-progress")
        out = memctl("next").out
        assert f"begun by you; next: Look at the pool  `memctl show {made}`" in out

    def test_work_that_continues_recent_work_comes_first(self, memctl: Memctl) -> None:
        issue(memctl, "Heavy", "-i", "9")
        whole = issue(memctl, "Whole")
        done = issue(memctl, "Done part", "--parent", whole)
        issue(memctl, "Next part", "--parent", whole, "-i", "3")
        assert order(memctl) == ["Heavy", "Done part", "Next part"]
        memctl("resolve", done, "--resolution", "done")
        assert order(memctl) == ["Next part", "Heavy"]
        assert because(memctl, "Next part") == [f"continues {done}"]

    def test_next_at_a_revision_lists_the_work_ready_then(self, repo: Path, memctl: Memctl) -> None:
        made = issue(memctl, "One")
        before = git(repo, "rev-parse", "HEAD").strip()
        memctl("resolve", made, "--resolution", "done")
        assert order(memctl) == []
        assert order(memctl, "--at", before) == ["One"]

    def test_next_without_work_reports_that(self, memctl: Memctl) -> None:
        memctl("decide", "One")
        result = memctl("next")
        assert (result.out, "there is no unblocked work" in result.err) == ("", True)


class TestOthers:
    """What other agents own, are at or were assigned is left out, and said."""

    def elsewhere(self, memctl: Memctl) -> list[str]:
        return [one["because"] for one in memctl("next", "--json").data["elsewhere"]]

    def test_issues_in_sections_of_another_agent_are_left_out(self, memctl: Memctl, bob: Memctl) -> None:
        memctl("section", "add", "Payment", "--path", "src/**")
        memctl("detail", "add", "Cards", "--section", "2.1")
        issue(memctl, "There", "--section", "2.1")
        issue(memctl, "In its details", "--section", "3.1")
        issue(memctl, "Free")
        bob("own", "acquire", "2.1")
        assert order(memctl) == ["Free"]
        assert self.elsewhere(memctl) == ["bob owns §2.1", "bob owns §2.1"]
        assert "left out, because other agents work on it: ISS-2025-11-04-001 (bob owns §2.1), " in memctl("next").err
        assert sorted(order(bob)) == ["Free", "In its details", "There"]

    def test_work_of_an_active_agent_is_left_out(self, memctl: Memctl, bob: Memctl) -> None:
        bob("state", "Theirs", "--completion", "10")
        assert because(memctl, "Theirs") == ["begun by bob, 10 % done: ask first"]  # who is gone
        bob("coordination", "join", "--task", "Theirs")
        assert order(memctl) == []
        assert self.elsewhere(memctl) == ["bob is working on it"]

    def test_begun_work_in_a_section_that_was_handed_over_is_the_takers(self, memctl: Memctl, bob: Memctl) -> None:
        memctl("section", "add", "Payment")
        memctl("own", "acquire", "2.1")
        memctl("state", "Cards", "--section", "2.1", "--completion", "10", "--next", "Refunds")
        first = ("--reason", "The schema is done", "--summary", "Cards are kept", "--success", "All tests pass")
        memctl("handoff", "--to", "bob", "--section", "2.1", *first)
        bob("handoff", "accept", "HND-2025-11-04-001")
        issue(memctl, "Free", "-i", "9")
        assert because(bob, "Cards") == ["begun by claude, 10 % done", "next: Refunds"]
        assert order(bob) == ["Cards", "Free"]

    def test_work_begun_by_another_agent_comes_after_free_work(self, memctl: Memctl, bob: Memctl) -> None:
        bob("state", "Theirs", "--completion", "10", "-i", "9")
        issue(memctl, "Free", "-i", "3")
        assert order(memctl) == ["Free", "Theirs"]
        assert order(bob) == ["Theirs", "Free"]

    def test_assignments_name_records(self, memctl: Memctl) -> None:
        first, second = issue(memctl, "First"), issue(memctl, "Second", "-i", "2")
        memctl("coordination", "assign", "bob", f"Do {first}")
        memctl("coordination", "assign", "claude", f"Do {second}")
        assert order(memctl) == ["Second"]
        assert because(memctl, "Second")[0] == "assigned to you"
        assert self.elsewhere(memctl) == ["assigned to bob"]

    def test_global_blocker_is_shown(self, memctl: Memctl) -> None:
        issue(memctl, "First")
        memctl("coordination", "block", "Staging is down")
        assert "something blocks all agents: Staging is down (claude)" in memctl("next").err


def test_next_writes_nothing_and_agents_may_run_it_unasked(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memctl.store import agent_env

    issue(memctl, "One")
    before = git(repo, "status", "--porcelain", "--ignored"), git(repo, "for-each-ref")
    memctl("next")
    memctl("list", "--ready")
    assert before == (git(repo, "status", "--porcelain", "--ignored"), git(repo, "for-each-ref"))
    monkeypatch.setenv("CLAUDECODE", "1")
    assert agent_env.may_run_unasked("next", {"CLAUDECODE": "1"})
    assert "memctl next" in memctl("help").out + memctl("help", "searching").out


def test_state_with_a_stated_blocker_is_blocked_everywhere(memctl: Memctl) -> None:
    blocked = memctl("state", "Launch", "--blocker", "waiting for legal", "--next", "ship").id
    part = issue(memctl, "Part of it", "--parent", blocked)
    issue(memctl, "Other")
    assert order(memctl) == ["Other"]
    assert "blocked work: 2 (`memctl list --blocked`" in memctl("next").err
    assert "blocked: waiting for legal" in memctl("list", "--blocked").out
    data = memctl("list", "--blocked", "--json").data
    assert data["stated_blockers"] == {blocked: ["waiting for legal"], part: ["waiting for legal"]}
    assert "1 ready, 2 blocked" in memctl("status").out
    assert titles(memctl, "--ready") == ["Other"]
    memctl("edit", blocked, "--set", "blockers=")
    assert titles(memctl, "--blocked") == []


def test_import_of_closed_work_does_not_count_as_work_of_today(memctl: Memctl) -> None:
    whole = memctl("issue", "Whole", "--severity", "low").id
    lines = [
        '{"memory_type": "issue", "title": "Closed", "severity": "medium", "status": "resolved", '
        f'"parent": "{whole}", "timestamp": "2025-04-25"}}',
        f'{{"memory_type": "issue", "title": "Medium", "severity": "medium", "parent": "{whole}"}}',
        '{"memory_type": "issue", "title": "High", "severity": "high"}',
    ]
    memctl("import", "-", stdin="\n".join(lines))
    assert order(memctl) == ["High", "Medium"]
    assert because(memctl, "Medium") == ["importance 6"]
    done = issue(memctl, "Second part", "--parent", whole, "--severity", "low")
    memctl("resolve", done, "--resolution", "done")
    assert order(memctl) == ["Medium", "High"]
    assert because(memctl, "Medium") == [f"continues {done}"]


def test_state_with_all_work_done_is_nothing_to_begin(memctl: Memctl) -> None:
    memctl("state", "Finished", "--completion", "100", "--done", "GET")
    memctl("state", "Begun", "--completion", "50", "--next", "POST")
    issue(memctl, "Open")
    assert order(memctl) == ["Begun", "Open"]
    assert memctl("next", "--json").data["total"] == 2


def test_open_steps_of_the_work_one_is_at_come_first(memctl: Memctl) -> None:
    issue(memctl, "Round the totals")
    memctl("checkpoint", "save", "--task", "Refunds", "--done", "GET", "--doing", "POST", "--next", "A test")
    shown = memctl("next").out.splitlines()
    assert shown[0] == "your open steps: POST; A test"
    assert "Round the totals" in shown[1]
    assert memctl("next", "--json").data["steps"] == ["POST", "A test"]
    memctl("checkpoint", "save", "--done", "POST", "--next", "none")
    assert memctl("next", "--json").data["steps"] == []
