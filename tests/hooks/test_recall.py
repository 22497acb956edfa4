"""What a prompt brings of the memory: what bears on it, once, and mostly nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.hooks import daemonize, recall
from memctl.hooks.hosts import CLAUDE_CODE, CODEX, GEMINI, HOSTS, PROMPT, Host
from tests.conftest import Memctl, Once, git, record_all
from tests.generated import COUNTERS
from tests.hooks.session import Session

ASKED = "Which retries does the payment worker need when the gateway times out?"


@pytest.fixture
def decided(memctl: Memctl, once: Once) -> str:
    def make() -> str:
        for number in range(8):
            memctl("learn", f"Lantern glass number {number}", "--lesson", "It breaks in the post.")
        return memctl(
            "decide", "Payment worker retries a gateway that times out", "--rationale", "Twice, then mail."
        ).id

    return str(once(make))


def asks(session: Session, prompt: str = ASKED) -> str:
    event = next(name for name, what in session.host.events.items() if what == PROMPT)
    return session.context(event, prompt=prompt)


@pytest.mark.parametrize("host", HOSTS.values(), ids=lambda host: host.name)
def test_prompt_recalls_matching_records_once(repo: Path, tmp_path: Path, decided: str, host: Host) -> None:
    session = Session(repo, tmp_path / "s.jsonl", host=host)
    said = asks(session)
    assert decided in said
    assert "Lantern glass" not in said
    assert asks(session) == ""
    assert decided in asks(Session(repo, tmp_path / "t.jsonl", "another", host))


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "go on",
        "yes",
        "Thanks, that is fine!",
        "Rename the variable and run the linter again",
        "the worker",
        "yes, but we don't need to retry",
    ],
)
@pytest.mark.usefixtures("decided")
def test_prompt_without_a_matching_record_recalls_nothing(session: Session, prompt: str) -> None:
    assert asks(session, prompt) == ""
    assert session.faults() == []


def test_record_shown_at_the_start_is_not_shown_again_before_compaction(session: Session, decided: str) -> None:
    assert f"{decided} | " in session.context("SessionStart", source="startup")
    assert asks(session) == ""
    session.send("PreCompact", trigger="auto")
    assert decided in asks(session)


@pytest.mark.usefixtures("decided")
def test_prompt_recalls_at_most_1500_tokens(session: Session, memctl: Memctl) -> None:
    titles = [f"Payment worker and gateway retries {number}" for number in range(9)]
    record_all(memctl, "learning", titles, lesson="It times out, and the log says nothing. " * 18)
    said = asks(session)
    assert "Payment worker" in said
    assert all(counter.tokens(said) <= 1_500 for counter in COUNTERS.values())


def test_a_decision_too_large_for_a_prompt_comes_once_with_its_outcome(session: Session, memctl: Memctl) -> None:
    texts = ("--decision", "Two retries, then a mail.", "--rationale", "It is slow. " * 2_000)
    large = memctl("decide", "Payment worker retries a gateway that times out", *texts).id
    said = asks(session)
    assert f"{large} | accepted" in said
    assert "Two retries, then a mail." in said
    assert "It is slow." not in said
    assert asks(session) == ""


def test_a_record_too_large_for_a_prompt_without_an_outcome_comes_with_its_reason(
    session: Session, memctl: Memctl
) -> None:
    memctl("decide", "Payment worker retries a gateway that times out", "--rationale", "It is slow. " * 2_000)
    assert asks(session).count("It is slow.") == 1


def test_a_long_prompt_recalls_what_a_few_of_its_words_are_about(session: Session, memctl: Memctl) -> None:
    for number in range(8):
        memctl(
            "learn", f"Lantern glass number {number}", "--lesson", "It breaks in the post, wherever the box is sent."
        )
    found = memctl("issue", "Slow statistics dashboard", "--description", "It reads each task anew.").id
    prompt = (
        "I waited a quarter of a minute for the dashboard with the statistics, on our repository with all its tasks."
    )
    assert found in asks(session, f"{prompt} My colleague Ada saw the same on her machine, with another browser.")


def test_prompt_is_not_told_the_list_of_files_of_a_session(session: Session, repo: Path) -> None:
    page = "---\nsession_id: earlier\n---\n\n## Session Summary\n\n### Files Modified\n\n"
    table = "| File | Action | What Changed |\n|------|--------|-------------|\n"
    rows = f"{table}| `ledger/invoice.py` | modified | rounds the total of an invoice |\n"
    (repo / ".memory" / "sessions").mkdir()
    (repo / ".memory" / "sessions" / "earlier.md").write_text(page + rows)
    assert asks(session, "How is the total of an invoice in ledger/invoice.py rounded?") == ""


PLACEHOLDERS = "The merge driver is configured with invalid placeholders, fix it"


@pytest.fixture
def resolved(memctl: Memctl) -> str:
    found = memctl("issue", "Merge driver uses invalid placeholders", "--description", "Git knows no such letters.").id
    memctl("resolve", found, "--resolution", "The driver now gets the ancestor first.")
    return found


def test_prompt_recalls_a_resolved_issue_with_its_resolution(session: Session, resolved: str) -> None:
    said = asks(session, PLACEHOLDERS)
    assert f"{resolved} | resolved" in said
    assert "gets the ancestor first" in said


def test_resolved_issue_too_large_for_a_prompt_is_shown_by_its_resolution(session: Session, memctl: Memctl) -> None:
    found = memctl("issue", "Merge driver uses invalid placeholders", "--description", "A letter. " * 2_000).id
    memctl("resolve", found, "--resolution", "The driver now gets the ancestor first.")
    said = asks(session, PLACEHOLDERS)
    assert "gets the ancestor first" in said
    assert "A letter." not in said


def test_prompt_recalls_a_finished_task(session: Session, memctl: Memctl) -> None:
    done = memctl("state", "Horizontal scrolling of the board", "--done", "Columns wrap below 900 pixels").id
    memctl("resolve", done)
    assert "Columns wrap" in asks(session, "How does the board get horizontal scrolling?")


def test_prompt_does_not_recall_an_archived_issue(session: Session, memctl: Memctl, resolved: str) -> None:
    memctl("archive", resolved, "--reason", "It is not so")
    assert asks(session, PLACEHOLDERS) == ""


GRAPHQL = "Let us offer GraphQL to the mobile storefront"


@pytest.fixture
def rejected(memctl: Memctl) -> str:
    context = ("--context", "Rejected on 2 October: one more route took an afternoon. It stays in the cache.")
    texts = ("--rationale", "One query could fetch all.", *context)
    found = memctl("decide", "GraphQL for the storefront", "--status", "proposed", *texts).id
    memctl("edit", found, "--set", "status=rejected")
    return found


def test_prompt_is_told_in_one_line_what_was_rejected_and_why(session: Session, rejected: str) -> None:
    line = f"rejected 2025-11-04: GraphQL for the storefront ({rejected}), because one more route took an afternoon.\n"
    assert line in asks(session, GRAPHQL)
    assert asks(session, GRAPHQL) == ""


def test_rejected_decision_that_does_not_say_why_is_no_reason_for_itself(session: Session, memctl: Memctl) -> None:
    found = memctl(
        "decide", "GraphQL for the storefront", "--status", "proposed", "--rationale", "One query is less."
    ).id
    memctl("edit", found, "--set", "status=rejected")
    assert f"rejected 2025-11-04: GraphQL for the storefront ({found}).\n" in asks(session, GRAPHQL)


def test_reason_of_another_option_is_no_reason_of_the_rejection(session: Session, memctl: Memctl) -> None:
    texts = ("--rationale", "One query is less.", "--alternative", "REST: rejected because it takes many requests")
    found = memctl("decide", "GraphQL for the storefront", "--status", "proposed", *texts).id
    memctl("edit", found, "--set", "status=rejected")
    assert f"rejected 2025-11-04: GraphQL for the storefront ({found}).\n" in asks(session, GRAPHQL)


@pytest.mark.parametrize(
    ("context", "why"),
    [
        ("Rejected because it is slow.", "it is slow"),
        ("The proposal was turned down, since HTTP caches lose it.", "HTTP caches lose it"),
        ("We rejected REST last year. Rejection: nobody knows it.", "nobody knows it"),
    ],
)
def test_reason_of_a_rejection_is_what_the_sentence_on_it_says(
    session: Session, memctl: Memctl, context: str, why: str
) -> None:
    texts = ("--rationale", "One query is less.", "--context", context)
    found = memctl("decide", "GraphQL for the storefront", "--status", "proposed", *texts).id
    memctl("edit", found, "--set", "status=rejected")
    assert f"({found}), because {why}.\n" in asks(session, GRAPHQL)


def test_credential_in_a_rejected_decision_reaches_no_model(session: Session, memctl: Memctl, rejected: str) -> None:
    file = next((session.repo / ".memory" / "decisions").rglob(f"{rejected}*"))
    secret = "gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vW4xY7zA0cD3fG6"
    file.write_text(file.read_text().replace("one more route took an afternoon", f"the token {secret} leaks"))
    said = asks(session, GRAPHQL)
    assert rejected in said
    assert secret[:12] not in said
    assert secret[:12] not in memctl("why", rejected, code=None).out + memctl("search", "graphql").out


def test_long_line_of_a_rejected_decision_is_read_at_once(session: Session, memctl: Memctl, rejected: str) -> None:
    file = next((session.repo / ".memory" / "decisions").rglob(f"{rejected}*"))
    file.write_text(file.read_text() + "\n" + "not this rejection " * 20_000)
    assert rejected in asks(session, GRAPHQL)  # a quadratic pattern would take minutes


def test_prompt_is_told_by_what_a_decision_was_superseded(session: Session, memctl: Memctl) -> None:
    old = memctl("decide", "Keep carts in Redis", "--rationale", "It is quick.").id
    new = memctl("decide", "Keep carts in PostgreSQL", "--rationale", "People miss a cart.", "--supersedes", old).id
    memctl("archive", old, "--reason", "It is done")
    said = asks(session, "Put the carts into Redis again, keep them there for a day")
    assert f"superseded 2025-11-04 by {new} (Keep carts in PostgreSQL): Keep carts in Redis ({old})" in said
    assert ", because people miss a cart." in said


def test_long_text_with_a_few_words_of_a_prompt_by_chance_is_not_recalled(session: Session, memctl: Memctl) -> None:
    memctl(
        "issue",
        "Scan the queue",
        "--description",
        "Verify that the branch exists. The agent reads its inbox then. " * 9,
    )
    assert asks(session, "Describe the agent and the branch that the wizard of the installer opens") == ""


def test_prompt_recalls_a_matching_page(session: Session, memctl: Memctl) -> None:
    memctl("section", "add", "Invoices", "--overview", "Zebra invoices are sent quarterly by the treasury.")
    assert "Zebra invoices" in asks(session, "When does the treasury send zebra invoices?")


def test_every_host_hooks_prompts() -> None:
    for host in (CLAUDE_CODE, CODEX, GEMINI):
        assert PROMPT in host.events.values()


def test_late_recall_is_given_with_the_next_prompt(
    session: Session, decided: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(daemonize.SETTING, "0")
    assert asks(session) == ""
    monkeypatch.delenv(daemonize.SETTING)
    assert decided in asks(session)
    assert session.faults() == []


def test_record_missed_by_a_late_start_is_shown_at_the_prompt(
    session: Session, decided: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(daemonize.SETTING, "0")
    assert decided not in session.context("SessionStart", source="startup")
    monkeypatch.delenv(daemonize.SETTING)
    assert decided in asks(session)


def test_failure_at_a_prompt_is_logged_as_a_fault(
    session: Session, decided: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "_relevant", lambda *_: 1 // 0)
    assert asks(session) == ""
    assert "ZeroDivisionError" in str(session.faults())


@pytest.mark.parametrize("place", ["all", "records"])
def test_prompt_recalls_a_session_page_from_branch_or_ref(
    repo: Path, tmp_path: Path, memctl: Memctl, place: str
) -> None:
    git(repo, "config", "memctl.hookCommits", place)
    first = Session(repo, tmp_path / "s.jsonl")
    first.context("SessionStart", source="startup")
    first.transcript.prompt("Choose a queue")
    first.transcript.call("Write", file_path=str(repo / "queue.py"), content="x = 1\n")
    first.transcript.says("Decision: zebra invoices go through a ring buffer.")
    first.send("Stop")
    first.send("SessionEnd", reason="exit")
    assert (repo / ".memory" / "sessions" / f"{first.name}.md").exists() is (place == "all")
    assert "ring buffer" in memctl("search", "zebra invoices").out
    second = Session(repo, tmp_path / "t.jsonl", "another")
    assert "ring buffer" in asks(second, "Do zebra invoices need the ring buffer?")
    assert "ring buffer" in second.context("SessionStart", source="startup")
