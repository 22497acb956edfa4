"""`handoff`: the package, its record, who owns what afterwards, and the answers."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from memctl.pack import handoff
from memctl.pack.handoff_request import TYPES
from memctl.store import lock
from tests.conftest import NOW, Memctl, Once, git, process, slow

OFFER = ("handoff", "--to", "codex", "--section", "2.2", "--reason", "The pool is mended")
SAID = (*OFFER, "--success", "150 buyers at once", "--immediate", "Load test with 150 buyers")


@pytest.mark.usefixtures("example")
class TestExample:
    @pytest.mark.parametrize("form", ["markdown", "event", *slow("xml", "yaml", "tokens")])
    @pytest.mark.parametrize("kind", TYPES)
    def test_package_of_every_type_and_format_keeps_its_budget(self, memctl: Memctl, kind: str, form: str) -> None:
        data = memctl(*SAID, "--type", kind, "--format", form, "--dry-run", "--json").data
        assert 0 < data["tokens"] <= data["budget"] == TYPES[kind].budget
        assert data["report"]["aim"] == (0.4 if kind == "continuation" else 0.2)
        assert not any(check["missing"] for check in data["report"]["checks"])
        assert "150 buyers at once" in data["text"]
        if form in ("xml", "event"):
            ElementTree.fromstring(data["text"])

    def test_the_package_has_all_its_parts_and_the_changed_files_of_its_section_alone(
        self, memctl: Memctl, repo: Path
    ) -> None:
        for name in ("src/lantern/checkout/orders.py", "src/lantern/catalogue/search.py"):
            (repo / name).parent.mkdir(parents=True)
            (repo / name).write_text("x")
        more = (
            "--approach",
            "Begin with pgbouncer",
            "--pitfall",
            "Retries",
            "--resource",
            "docs/pool.md",
            "--note",
            "x y",
        )
        root = ElementTree.fromstring(memctl(*SAID, *more).out)
        assert root.findtext("meta/source_agent") == "claude"
        assert root.findtext("meta/target_agent") == "codex"
        assert root.findtext("meta/timestamp") == NOW
        inside = root.find("state")
        assert inside is not None
        there = {child.tag for child in inside}
        assert inside.findtext("recent_changes") == "src/lantern/checkout/orders.py (in no commit yet)"
        assert there >= {
            "handoff_metadata", "agent_expertise_match", "executive_summary", "ownership_transfers", "recent_changes",
            "reason", "success_criteria", "suggested_approach", "known_pitfalls", "useful_resources", "most_important",
            "from_agent_observations", "next_step_context",
        }  # fmt: skip

    def test_sentence_occurs_in_a_pack_no_more_often_than_in_the_memory(self, memctl: Memctl, repo: Path) -> None:
        files = [path for path in (repo / ".memory").rglob("*.md") if path.parent.name != "docs"]
        sources = [" ".join(path.read_text().split()) for path in files]
        package = re.sub(
            r"<executive_summary>.*?</executive_summary>", "", memctl(*SAID, "--dry-run").out, flags=re.DOTALL
        )
        for text in (package, memctl("rehydrate", "--section", "2.2").out):
            sentences = [" ".join(unescape(one).split()) for one in re.split(r"(?<=[.!?])\s+|\n|<[^>]+>", text)]
            counts = Counter(one for one in sentences if len(one) > 45)
            assert len(counts) > 50
            for sentence, count in counts.items():
                assert count == 1 or count <= sum(sentence in source for source in sources), sentence

    def test_show_prints_the_package_unchanged_after_later_changes(self, memctl: Memctl, bob: Memctl) -> None:
        text = memctl(*SAID, "--format", "markdown").out
        made = memctl("handoff", "list", "--json").data["handoffs"][0]["record"]["id"]
        for identifier in [one["id"] for one in memctl("list", "--type", "issue", "--json").data["records"]]:
            memctl("archive", identifier, "--allow-owned", "--reason", "old")
        assert bob("handoff", "show", made).out == text
        assert memctl("handoff", "show", made, "--at", "HEAD~1").out == text

    def test_handoff_record_is_listed_searched_logged_and_shown(self, memctl: Memctl) -> None:
        made = memctl(*SAID, "--json").data["id"]
        assert memctl("list", "--type", "handoff", "--json").data["records"][0]["id"] == made
        assert made in memctl("search", "150 buyers at once").out
        assert f"handoff {made}" in memctl("log", made).out
        assert "## Validation" in memctl("show", made).out
        assert not [f for f in memctl("check", "--json", code=None).data["findings"] if "HND" in f["path"]]

    def test_handoff_is_not_in_packs_or_documents(self, memctl: Memctl, repo: Path) -> None:
        before = {name: set(found) for name, found in memctl("rehydrate", "--json").data["parts"].items()}
        memctl("commit")
        memctl(*SAID)
        after = memctl("rehydrate", "--json").data["parts"]
        assert {name: set(found) for name, found in after.items()} == before
        assert all("/handoffs/" in path for path in git(repo, "show", "--format=", "--name-only").split())

    def test_a_specialist_package_compares_the_work_with_the_takers_skills(self, memctl: Memctl, repo: Path) -> None:
        config = repo / ".memory/config.yaml"
        config.write_text(config.read_text() + "agents:\n  codex: {skills: [PostgreSQL, payments]}\n")
        text = memctl(*SAID[:3], *SAID[5:], "--format", "markdown", "-n").out
        said = next(line for line in text.split("\n") if line.startswith("Expertise: "))
        assert "postgresql" in said.split("codex has")[1]
        assert "%" in said

    def test_budget_too_small_for_the_required_parts_is_refused(self, memctl: Memctl) -> None:
        refused = memctl(*SAID, "--budget", "1200", code=1)
        assert refused.out == ""
        assert "too small for what the handoff must contain" in refused.err
        assert memctl("handoff", "list", "--json").data["handoffs"] == []
        assert memctl("own", "list", "--json").data["sections"] == []

    def test_a_budget_below_the_givers_text_is_refused_with_the_minimum(self, memctl: Memctl) -> None:
        said = (*SAID[:3], *SAID[5:], "-n", "--budget")
        refused = memctl(*said, "1", code=2).err
        least = re.search(r"hint: give a budget of at least (\d+) tokens", refused)
        assert least is not None
        assert memctl(*said, least[1], code=None).code in (0, 1)


def test_package_has_the_records_and_the_present_files_of_code_that_its_section_covers(
    repo: Path, memctl: Memctl
) -> None:
    (repo / "lib").mkdir()
    (repo / "lib/card.py").write_text("CARD = 1\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "card")
    git(repo, "mv", "lib/card.py", "lib/pay.py")
    git(repo, "commit", "-qm", "pay")
    memctl("section", "add", "Payment", "--path", "lib/**")
    made = memctl("learn", "Cards are read twice", "--lesson", "The reader sends each twice.", "--code", "lib/pay.py")
    offered = memctl(*("2.1" if each == "2.2" else each for each in SAID), "--format", "xml", "--dry-run").out
    assert made.id in offered
    inputs = offered.partition("<inputs>")[2].partition("</inputs>")[0]
    assert "lib/pay.py" in inputs
    assert "lib/card.py" not in inputs


@pytest.fixture
def shop(repo: Path, memctl: Memctl, once: Once) -> Path:
    def make() -> None:
        for title in ("Payment", "Search"):
            memctl("section", "add", title)
        memctl("state", "Refunds", "--task", "Refunds by card are tested", "--next", "Write the cascade")

    once(make)
    return repo


def owners(memctl: Memctl) -> dict[str, str]:
    found = memctl("own", "list", "--json").data["sections"]
    return {one["section_id"]: one["owner_agent_id"] for one in found}


class TestRefused:
    def test_handoff_lists_all_missing_fields_at_once(self, repo: Path, memctl: Memctl) -> None:
        found = memctl("handoff", "--to", "bob", "--json", code=1).json
        assert found["kind"] == "handoff-findings"
        assert [one["field"] for one in found["data"]["findings"]] == [
            "reason", "summary", "immediate", "success_criteria",
        ]  # fmt: skip
        err = memctl("handoff", "--to", "bob", code=1).err
        assert all(option in err for option in ("--reason", "--summary", "--immediate", "--success"))

    @pytest.mark.parametrize("empty", ["TBD", "n/a", "…", " ", "todo.", "To be determined"])
    def test_placeholders_are_refused(self, shop: Path, memctl: Memctl, empty: str) -> None:
        before = git(shop, "rev-parse", "HEAD")
        for option in ("--success", "--immediate", "--pitfall"):
            err = memctl("handoff", "--to", "bob", "--reason", "Done", option, empty, code=1).err
            assert ("is a placeholder, not a real text" if empty.strip() else "is empty") in err
        assert "reason" in memctl("handoff", "--to", "bob", "--reason", empty, code=1).err
        assert git(shop, "rev-parse", "HEAD") == before

    def test_placeholders_in_the_memory_do_not_fill_handoff_fields(self, repo: Path, memctl: Memctl) -> None:
        body = "# Refunds\n\n## Task\n\nTBD\n\n## Next actions\n\n- n/a\n"
        content = memctl("state", "--file", "-", "--json", stdin=body).data["ids"][0]
        content = memctl("show", content, "--json").data["records"][0]["content"]
        assert content == {"task_description": "TBD", "next_actions": ["n/a"]}
        err = memctl("handoff", "--to", "bob", "--reason", "Done", code=1).err
        assert "immediate: is missing" in err
        assert "success_criteria: is missing" in err

    def test_summary_above_500_tokens_is_refused_with_the_command_that_shortens_it(
        self, shop: Path, memctl: Memctl
    ) -> None:
        err = memctl("handoff", "--to", "bob", "--reason", "Done", "--summary", "word " * 900, code=1).err
        assert "context summary" in err

    def test_a_section_of_another_is_refused_with_owner_since_and_until(
        self, shop: Path, memctl: Memctl, bob: Memctl
    ) -> None:
        bob("own", "acquire", "2.1", "--for", "4h")
        err = memctl("handoff", "--to", "carol", "--section", "2.1,2.2", "--reason", "Done", code=1).err
        assert f"§2.1 is owned by bob (exclusive), since {NOW} until" in err
        assert owners(memctl) == {"§2.1": "bob"}

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (("handoff",), "--to"),
            (("handoff", "--to", "claude", "--reason", "x"), "itself"),
            (("handoff", "--to", "bob", "--section", "2.9"), "no section"),
            (("handoff", "--to", "bob", "--budget", "30000"), "at most 25,000"),
            (("handoff", "--to", "bob", "--from", "carol", "--reason", "gone"), "--type emergency"),
            (("handoff", "--to", " "), "not a valid name"),
            (("handoff", "--to", "bob", "list"), "can't be combined with"),
            (("handoff", "lst"), "lst"),
            (("handoff", "show", "STA-2025-11-04-001"), ", not a handoff"),
        ],
    )
    def test_bad_input_is_refused(self, shop: Path, memctl: Memctl, args: tuple[str, ...], said: str) -> None:
        assert said in memctl(*args, code=2).err

    def test_unknown_task_id_is_refused(self, shop: Path, memctl: Memctl) -> None:
        given = ("handoff", "--to", "bob", "--reason", "Done", "--task")
        assert "there is no record" in memctl(*given, "STA-2020-01-01-001", code=1).err

    def test_task_about_code_of_another_section_is_not_handed_over(self, shop: Path, memctl: Memctl) -> None:
        for record in memctl("list", "--type", "state", "--json").data["records"]:
            memctl("delete", record["id"])
        memctl("state", "Shipping rewrite", "--next", "Labels", "--code", "ship/b.py")
        offer = ("handoff", "--to", "bob", "--section", "2.1", "--reason", "Gone", "--dry-run", "--json")
        offer += ("--success", "Paid", "--immediate", "Pay", "--summary", "Begun")
        assert "Shipping rewrite" not in memctl(*offer).data["text"]
        memctl("state", "Clean up", "--next", "Old branches")
        assert "Clean up" in memctl(*offer).data["text"]

    def test_a_credential_is_refused_before_anything_moves(self, shop: Path, memctl: Memctl) -> None:
        key = "AKIA" + "ABCDEFGHIJKLMNOP"
        memctl("handoff", "--to", "bob", "--section", "2.1", "--reason", f"Use {key}", code=1)
        assert owners(memctl) == {}

    def test_edit_of_a_handoffs_status_is_refused(self, shop: Path, memctl: Memctl) -> None:
        made = memctl("handoff", "--to", "bob", "--reason", "Done", "--json").data["id"]
        assert "memctl team handoff accept" in memctl("edit", made, "--set", "status=accepted", code=1).err
        assert "given to another agent" in memctl("edit", made, "--set", "reason=Another", code=1).err


class TestAnswers:
    def test_the_taker_owns_the_sections_and_sees_the_offer(self, shop: Path, memctl: Memctl, bob: Memctl) -> None:
        memctl("own", "acquire", "2.1")
        made = memctl("handoff", "--to", "bob", "--section", "2.1 2.2", "--reason", "Done", "--json").data
        assert owners(memctl) == {"§2.1": "bob", "§2.2": "bob"}
        assert made["sections"] == ["§2.1", "§2.2"]
        assert f"{made['id']} from claude waits for your answer" in bob("status").out
        assert "waits for your answer" not in memctl("status").out
        assert f"Handed to you: {made['id']}" in bob("rehydrate").out
        assert "Handed to you" not in memctl("rehydrate").out

    def test_accepting_makes_the_taker_active_with_the_task(self, shop: Path, memctl: Memctl, bob: Memctl) -> None:
        made = memctl("handoff", "--to", "bob", "--task", "Refunds", "--reason", "Done", "--json").data["id"]
        assert "only bob can accept the handoff" in memctl("handoff", "accept", made, code=1).err
        bob("handoff", "accept", made, "--note", "Gladly")
        assert memctl("coordination", "show", "--json").data["active_agents"]["bob"]["task"] == "Refunds"
        text = memctl("show", made).out
        assert "status: accepted" in text
        assert "answered_by: bob" in text
        assert "## Answer\n\nGladly" in text
        assert f"{made} is already accepted by bob" in bob("handoff", "accept", made, code=1).err
        assert memctl("handoff", "list", "--json").data["handoffs"] == []
        assert len(memctl("handoff", "list", "--all", "--json").data["handoffs"]) == 1

    def test_a_declined_section_goes_back_with_the_same_step(self, shop: Path, memctl: Memctl, bob: Memctl) -> None:
        memctl("own", "acquire", "2.1", "--type", "shared-write", "--for", "4h")
        before = memctl("own", "list", "--json").data["sections"][0]
        made = memctl("handoff", "--to", "bob", "--section", "2.1,2.2", "--reason", "Done", "--json").data["id"]
        bob("handoff", "accept", made, "--decline", "2.1")
        assert owners(memctl) == {"§2.1": "claude", "§2.2": "bob"}
        after = memctl("own", "list", "--json").data["sections"][0]
        assert {key: after[key] for key in ("ownership_type", "expires_at")} == {
            key: before[key] for key in ("ownership_type", "expires_at")
        }

    @pytest.mark.parametrize(("answer", "status"), [("decline", "declined"), ("withdraw", "withdrawn")])
    def test_declined_sections_return_to_the_giver_or_become_free(
        self, shop: Path, memctl: Memctl, bob: Memctl, answer: str, status: str
    ) -> None:
        memctl("own", "acquire", "2.1")
        made = memctl("handoff", "--to", "bob", "--section", "2.1,2.2", "--reason", "Done", "--json").data["id"]
        who = bob if answer == "decline" else memctl
        other = memctl if answer == "decline" else bob
        other("handoff", answer, made, code=1)
        who("handoff", answer, made, "--reason", "No access to staging")
        assert owners(memctl) == {"§2.1": "claude"}
        assert f"status: {status}" in memctl("show", made).out
        assert "No access to staging" in memctl("show", made).out

    def test_a_section_with_a_new_owner_is_left_and_reported(self, shop: Path, memctl: Memctl, bob: Memctl) -> None:
        made = memctl("handoff", "--to", "bob", "--section", "2.1", "--reason", "Done", "--json").data["id"]
        bob("own", "transfer", "2.1", "--to", "carol", "--reason", "hers")
        said = bob("handoff", "decline", made, "--reason", "No")
        assert owners(memctl) == {"§2.1": "carol"}
        assert "not changed: §2.1 is owned by carol" in said.err

    def test_another_agent_answers_with_force_and_a_reason(self, shop: Path, memctl: Memctl) -> None:
        made = memctl("handoff", "--to", "bob", "--reason", "Done", "--json").data["id"]
        assert "--reason" in memctl("handoff", "accept", made, "--force", code=2).err
        memctl("handoff", "accept", made, "--force", "--reason", "bob told me")
        assert "bob told me" in memctl("log", made).out

    def test_a_supervisor_hands_over_for_an_agent_that_failed(self, shop: Path, memctl: Memctl, bob: Memctl) -> None:
        bob("own", "acquire", "2.1")
        args = ("handoff", "--to", "carol", "--from", "bob", "--type", "emergency", "--section", "2.1")
        assert "reason" in memctl(*args, code=1).err
        memctl(*args, "--reason", "It stopped answering")
        assert owners(memctl) == {"§2.1": "carol"}

    def test_emergency_handoff_for_another_agent_needs_only_a_reason(self, repo: Path, memctl: Memctl) -> None:
        memctl("handoff", "--to", "carol", "--from", "bob", "--type", "emergency", "--reason", "It stopped answering")
        assert memctl("handoff", "list", "--json").data["handoffs"][0]["from_agent_id"] == "bob"

    def test_handoffs_to_oneself_are_listed_first(self, shop: Path, memctl: Memctl, bob: Memctl) -> None:
        for taker in ("carol", "bob"):
            memctl("handoff", "--to", taker, "--reason", "Done")
        memctl("handoff", "--to", "dora", "--reason", "Done")
        assert bob("handoff", "list", "--json").data["handoffs"][0]["to_agent_id"] == "bob"

    def test_a_dry_run_changes_nothing(self, shop: Path, memctl: Memctl) -> None:
        before = git(shop, "for-each-ref")
        result = memctl("handoff", "--to", "bob", "--section", "2.1", "--reason", "Done", "-n")
        assert "would record" in result.err
        assert git(shop, "for-each-ref") == before
        assert git(shop, "status", "--porcelain") == ""

    def test_offer_of_another_branch_is_listed_with_its_branch(self, shop: Path, memctl: Memctl, bob: Memctl) -> None:
        git(shop, "branch", "other")
        memctl("handoff", "--to", "bob", "--section", "2.1", "--reason", "Done")
        git(shop, "checkout", "-q", "other")
        assert "(on main)" in bob("handoff", "list").out
        assert bob("handoff", "list", "--json").data["handoffs"][0]["branch"] == "main"
        assert "handoff HND-2025-11-04-001 from claude waits on main for your answer" in bob("status").out
        assert bob("handoff", "list", "--at", "HEAD").out == ""

    def test_details_that_the_taker_may_not_read_are_not_in_its_package(
        self, shop: Path, memctl: Memctl, bob: Memctl
    ) -> None:
        memctl("detail", "add", "Vault", "--section", "2.1", "--file", "-", stdin="# Vault\n\nThe seal is violet.\n")
        bob("own", "acquire", "3.1", "--reader", "claude")
        args = ("handoff", "--to", "carol", "--section", "2.1", "--reason", "Done")
        assert "violet" not in memctl(*args).out
        memctl("handoff", "withdraw", "HND")
        assert "violet" in memctl("handoff", "--to", "bob", *args[3:]).out

    def test_files_that_the_taker_may_not_read_are_not_named_in_its_package(self, shop: Path, memctl: Memctl) -> None:
        memctl("section", "add", "Vault", "--path", "vault/")
        (shop / "vault").mkdir()
        (shop / "vault" / "seal.py").write_text("x = 1\n")
        memctl("checkpoint", "save", "--task", "Seal", "--next", "Test it")
        memctl("own", "acquire", "2.3", "--reader", "bob")
        given = ("--reason", "Done", "--immediate", "Test", "--success", "It holds", "-n")
        assert "seal.py" not in memctl("handoff", "--to", "carol", *given).out
        assert "seal.py" in memctl("handoff", "--to", "bob", *given).out

    def test_handoff_ids_are_consecutive_after_a_refusal(self, shop: Path, memctl: Memctl) -> None:
        memctl("handoff", "--to", "bob", code=1)
        first = memctl("handoff", "--to", "bob", "--reason", "Done", "--json").data["id"]
        second = memctl("handoff", "--to", "bob", "--reason", "Done", "--json").data["id"]
        assert (first[-3:], second[-3:]) == ("001", "002")


class TestMoreThanThereIsRoomFor:
    """A memory of which what must stay has no room in a package, however briefly it is said."""

    @pytest.fixture
    def crowded(self, shop: Path, memctl: Memctl, once: Once) -> Path:
        def make() -> None:
            made = memctl("decide", "Rule 1 of how carts are priced", "--section", "2.1").id
            record = memctl("show", made, "--json").data["records"][0]
            first, identity = shop / record["path"], record["memory_id"]
            text = first.read_text()
            for number in range(2, 150):
                copy = text.replace(made, f"{made[:-3]}{number:03}").replace("Rule 1 of", f"Rule {number} of")
                copy = copy.replace(identity, f"{identity[:-12]}{number:012x}")
                copy = copy.replace("timestamp:", "importance: 10\ntimestamp:") if number == 77 else copy
                first.with_name(f"{made[:-3]}{number:03}-rule.md").write_text(copy)
            memctl("commit")

        once(make)
        return shop

    GIVEN = ("handoff", "--to", "bob", "--reason", "Done", "--budget", "2500", "--json", "-n")

    def test_a_package_of_the_whole_memory_has_the_most_important_and_names_the_rest(
        self, crowded: Path, memctl: Memctl
    ) -> None:
        data = memctl(*self.GIVEN).data
        assert data["tokens"] <= 2500
        assert "Rule 77 of" in data["text"]
        assert "memctl list --open --type decision" in data["text"]
        decisions = next(one for one in data["report"]["checks"] if one["name"] == "binding decisions")
        assert 0 < len(decisions["missing"]) < decisions["total"]

    def test_handoff_of_a_section_beyond_the_budget_is_refused(self, crowded: Path, memctl: Memctl) -> None:
        assert "too small for what the handoff must contain" in memctl(*self.GIVEN, "--section", "2.1", code=1).err

    def test_an_emergency_needs_only_a_reason(self, crowded: Path, memctl: Memctl) -> None:
        args = ("handoff", "--to", "bob", "--type", "emergency", "--section", "2.1", "--reason", "Gone")
        data = memctl(*args, "--budget", "1500", "--json").data
        assert data["tokens"] <= 1500
        assert owners(memctl) == {"§2.1": "bob"}
        assert "only the most important records are included" in memctl("show", data["id"]).out

    def test_making_a_package_does_not_hold_the_coordination_lock(
        self, shop: Path, memctl: Memctl, bob: Memctl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make, made = handoff.package, []

        def slow(*given: Any) -> Any:
            with lock.hold(shop / ".git/memctl/coordination.lock", 0.1):
                made.append(1)
            return make(*given)

        monkeypatch.setattr(handoff, "package", slow)
        memctl("handoff", "--to", "bob", "--section", "2.1", "--reason", "Done")
        assert made == [1]


def test_delete_and_restore_of_a_handoff_include_its_package(shop: Path, memctl: Memctl) -> None:
    made = memctl("handoff", "--to", "bob", "--reason", "Done", "--json").data["id"]
    text = memctl("handoff", "show", made).out
    memctl("delete", made)
    assert not list((shop / ".memory/handoffs").rglob("*.*"))
    assert git(shop, "status", "--porcelain") == ""
    memctl("restore", made)
    assert memctl("handoff", "show", made).out == text


def test_the_event_stream_has_offers_and_answers(shop: Path, memctl: Memctl, bob: Memctl) -> None:
    made = memctl("handoff", "--to", "bob", "--section", "2.1", "--reason", "Done", "--json").data["id"]
    memctl("handoff", "--to", "bob", "--reason", "Done", "-n")
    bob("handoff", "accept", made)
    events = memctl("event", "list", "--type", "agent_handoff", "--json").data["events"]
    assert [(one["action_taken"], one["source_agent"], one["target_agent"]) for one in reversed(events)] == [
        (f"{made} was offered: §2.1", "claude", "bob"),
        (f"{made} was accepted: §2.1", "bob", "claude"),
    ]
    assert made in memctl("event", "show").out
    offered = events[1]
    assert (offered["inputs"], offered["deliverables"]) == (["none recorded"], ["none recorded"])
    assert offered["mission"].endswith("To bob: Write the cascade")


def test_a_continuation_has_the_state_of_the_checkpoint_and_resumes_from_it(
    shop: Path, memctl: Memctl, bob: Memctl
) -> None:
    memctl("checkpoint", "save", "--task", "Refunds by card", "--done", "Route", "--doing", "Rounding",
           "--planned", "Docs", "--next", "Test with 0.005", "--constraint", "no new tables")  # fmt: skip
    memctl("state", "Search", "--section", "2.2", "--next", "Index it", "--task", "Search finds lamps")
    resume = memctl("checkpoint", "resume").out
    for kind in TYPES:
        args = ("--type", kind, "--reason", "Done", "--success", "Tests pass", "--immediate", "Round", "--json")
        data = memctl("handoff", "--to", "bob", *args, "--format", "markdown").data
        assert "Rounding" in data["text"]
        assert "no new tables" in data["text"]
        whole = "IN PROGRESS" in data["text"] and "main-w1-v1-" in str(data["parts"]["current_task_state"])
        assert whole == (kind != "specialist")
    out = bob("handoff", "accept", data["id"]).out
    beginnings = ("TASK", "- Rounding", "- Test with", "- Route")
    of_task = [line for line in resume.splitlines() if line.startswith(beginnings)]
    assert len(of_task) == 4
    assert set(of_task) <= set(out.splitlines())
    other = memctl("handoff", "--to", "bob", "--section", "2.2", "--reason", "Done", "-n").out
    assert "Search finds lamps" in other
    assert "Rounding" not in other


def test_resume_text_of_an_accepted_handoff_has_each_next_action_once(shop: Path, memctl: Memctl, bob: Memctl) -> None:
    memctl("state", "Search", "--section", "2.2", "--next", "Index it", "--task", "Search finds lamps")
    made = memctl("handoff", "--to", "bob", "--section", "2.2", "--reason", "Done", "--json").data["id"]
    out = bob("handoff", "accept", made).out
    assert [line for line in out.splitlines()[1:] if "Index it" in line] == ["- Index it"]
    assert "DONE WHEN" not in out, "the task is the only criterion, and stands above"


def test_the_event_stream_has_an_answer_that_could_not_be_printed(shop: Path, memctl: Memctl) -> None:
    made = memctl("handoff", "--to", "bob", "--reason", "Done", "--json").data["id"]
    with open("/dev/full", "w") as full:
        answering = process(shop, "handoff", "withdraw", made, stdout=full)
        assert "No space left" in answering.communicate()[1]
    newest = memctl("event", "list", "--type", "agent_handoff", "--json").data["events"][0]
    assert newest["action_taken"] == f"{made} was withdrawn"


def test_the_help_of_the_group_begins_with_examples(memctl: Memctl) -> None:
    text = memctl("handoff", "-h").out
    assert text.index("Examples:") < text.index("Options:") < text.index("Commands:")
    for name in ("accept", "decline", "list", "show", "withdraw", "recover"):
        assert "Examples:" in memctl("handoff", name, "-h").out


@pytest.mark.parametrize("where", [("--out", "no/such/folder/pack.md"), ("--copy",)])
def test_package_that_can_not_be_delivered_moves_no_ownership(
    shop: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch, where: tuple[str, ...]
) -> None:
    for name in ("PATH", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.setenv(name, str(Path(shutil.which("git") or "").parent) if name == "PATH" else "")
    before = git(shop, "rev-parse", "HEAD")
    owned = memctl("own", "list", "--json").data
    refused = memctl("handoff", "--to", "bob", "--section", "2.1", "--reason", "Done", *where, code=1).err
    assert "there is no folder" in refused or "no program for the clipboard" in refused
    assert git(shop, "rev-parse", "HEAD") == before
    assert memctl("own", "list", "--json").data == owned
    assert memctl("handoff", "list", "--json").data["handoffs"] == []


def test_a_lost_package_is_reported(shop: Path, memctl: Memctl) -> None:
    failed = memctl("handoff", "--to", "bob", "--reason", "Done", "--out", "/dev/full", code=1)
    made = memctl("handoff", "list", "--json").data["handoffs"][0]["record"]["id"]
    assert f"{made} To bob: " in failed.err
    assert "is recorded, but its package could not be written: " in failed.err
    assert f"`memctl team handoff show {made}` prints the package" in failed.err
    (event,) = memctl("event", "list", "--type", "agent_handoff", "--json").data["events"]
    assert made in event["action_taken"]


@pytest.mark.parametrize("command", ["delete", "archive"])
def test_unanswered_offer_with_sections_can_not_be_deleted_or_archived(
    shop: Path, memctl: Memctl, bob: Memctl, command: str
) -> None:
    made = memctl("handoff", "--to", "bob", "--section", "2.1", "--reason", "Done", "--json").data["id"]
    refused = memctl(command, made, code=1).err
    assert f"{made} still offers §2.1" in refused
    assert f"`memctl team handoff withdraw {made}`" in refused
    bob("handoff", "decline", made, "--reason", "No time")
    memctl(command, made)


def test_an_archived_offer_says_how_it_can_be_answered(shop: Path, memctl: Memctl, bob: Memctl) -> None:
    made = memctl("handoff", "--to", "bob", "--reason", "Done", "--json").data["id"]
    memctl("archive", made)
    refused = bob("handoff", "accept", made, code=1).err
    assert f"{made} is archived\nhint: `memctl unarchive {made}` brings it back" in refused


def test_a_handoff_of_another_branch_is_shown_and_accepted_in_a_worktree_of_its_own(
    shop: Path, memctl: Memctl, bob: Memctl, tmp_path: Path
) -> None:
    memctl("install", "git")
    git(shop, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    memctl("checkpoint", "save", "--task", "Refunds by card", "--done", "Route", "--doing", "Rounding", "--next", "Go")
    made = memctl("handoff", "--to", "bob", "--section", "2.1", "--reason", "Done", "--json").data["id"]
    text = memctl("handoff", "show", made).out
    side = tmp_path / "side"
    listed = bob("handoff", "list", where=side)
    assert listed.out == f"{made}  offered  complete  claude -> bob  §2.1  To bob: Go (on main)\n"
    assert listed.err == ""
    assert bob("handoff", "show", made, where=side).out == text
    assert bob("handoff", "accept", made, "-n", where=side).out == f"would accept {made} To bob: Go\n"
    out = bob("handoff", "accept", made, "--note", "Gladly", where=side).out
    assert "TASK: Refunds by card" in out
    assert "- Rounding" in out
    assert bob("handoff", "show", made, where=side).out == text
    assert git(side, "status", "--porcelain") == ""
    bob("check", where=side)
    assert f"{made} was already answered" in bob("handoff", "accept", made, where=side, code=1).err
    assert [line for line in git(side, "diff", "--name-only", "main...side").split() if "handoffs" in line] == []
    assert f"{made} is already accepted by bob" in memctl("handoff", "withdraw", made, code=1).err  # it is taken over
    assert "Gladly" in memctl("show", made).out
    assert memctl("handoff", "list", "--all", "--json").data["handoffs"][0]["record"]["status"] == "accepted"
    assert memctl("handoff", "show", made).out == text


def test_only_the_givers_own_words_of_a_handoff_are_searched(repo: Path, memctl: Memctl) -> None:
    decided = memctl("decide", "Queue the payments", "--rationale", "The bank is slow at noon.").id
    task = memctl("state", "Payment worker", "--remaining", "Retries", "--next", "Measure the pool").id
    offer = ("handoff", "--to", "bob", "--task", task, "--reason", "Holidays", "--success", "No timeouts")
    made = re.findall(r"HND-[\d-]+", memctl(*offer).err + memctl("handoff", "list").out)[0]

    def found(words: str) -> list[str]:
        return [row["id"] for row in memctl("search", words, "--json").data["results"]]

    assert found("holidays") == found("timeouts") == [made]
    assert found("proceed nothing blocks") == found("expertise match skills") == found("validation whole package") == []
    assert found("queue") == [decided]
    assert found("bank noon") == [decided]
    assert found(decided) == [decided, made]
