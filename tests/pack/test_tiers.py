"""What a rehydration holds beyond the last days: where work stands, all other open records, and the rest by title.

The records of the first test are like imported ones: architecture decisions of years ago in several paragraphs, and a
tracker's issues of medium weight, from one line to a page.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from memctl.hooks.hosts import CLAUDE_CODE
from memctl.pack.budget_fill import TOO_LARGE
from memctl.text.fit import LIMIT, length
from tests.conftest import Memctl, Once, git, record_all, slow
from tests.generated import COUNTERS
from tests.hooks.session import Session

WORDS = (
    *("queue", "cache", "token", "order", "index", "login", "price", "mail"),
    *("worker", "session", "retry", "event", "audit", "folder", "branch"),
)
BUDGET = 20_000


def text(chance: random.Random, sentences: int) -> str:
    return " ".join(f"{' '.join(chance.choices(WORDS, k=9)).capitalize()}." for _ in range(sentences))


def lines_of(chance: random.Random, decisions: int, issues: int) -> str:
    """Records as JSON Lines, each dated between 2018 and the spring of 2025, none within a window of days."""
    found: list[dict[str, Any]] = []
    for number in range(decisions):
        found.append(
            {
                "memory_type": "decision",
                "title": f"Decision {number} about the {chance.choice(WORDS)}",
                "timestamp": f"{chance.randint(2018, 2024)}-03-{number % 27 + 1:02d}",
                "context": text(chance, 4),
                "rationale": text(chance, chance.randint(2, 9)),
            }
        )
    for number in range(issues):
        found.append(
            {
                "memory_type": "issue",
                "title": f"Issue {number} of the {chance.choice(WORDS)} that a tracker had, and its title is long",
                "severity": "medium",
                "importance": chance.randint(2, 7),
                "timestamp": f"2025-0{chance.randint(1, 5)}-{number % 27 + 1:02d}",
                "description": text(chance, chance.choice((1, 1, 3, 12))),
            }
        )
    return "\n".join(map(json.dumps, found))


@pytest.fixture
def imported(memctl: Memctl, once: Once) -> list[dict[str, Any]]:
    def make() -> list[dict[str, Any]]:
        memctl("import", "-", stdin=lines_of(random.Random(7), 36, 300))
        found: list[dict[str, Any]] = memctl("list", "--limit", "0", "--json").data["records"]
        return found

    return once(make)  # type: ignore[no-any-return]


def places(records: list[dict[str, Any]], pack: str) -> tuple[set[str], set[str], int]:
    """The ids that stand in a pack in Markdown whole, those that have a line, and how many are counted."""
    whole = {r["id"] for r in records if re.search(rf"(?m)^{r['id']} \| ", pack)}
    lines = {r["id"] for r in records if re.search(rf"(?m)^- {r['id']} ", pack)}
    counted = re.findall(r"(?m)^- (?:and )?([\d,]+) (?:more|[a-z]+): `memctl list", pack)
    return whole, lines, sum(int(number.replace(",", "")) for number in counted)


def test_imported_records_are_whole_or_listed_or_counted(memctl: Memctl, imported: list[dict[str, Any]]) -> None:
    data = memctl("rehydrate", "--json").data
    whole, lines, counted = places(imported, data["text"])
    assert not whole & lines
    assert len(whole) + len(lines) + counted == len(imported) == 336
    assert len(whole) >= 60
    assert len(lines) >= 70
    assert BUDGET - 120 <= data["tokens"] <= BUDGET  # less than a record is left over
    assert {left["id"] for left in data["left_out"]} == {record["id"] for record in imported} - whole


@pytest.mark.parametrize("budget", [600, 2_000, 4_000])
def test_titles_that_do_not_all_fit_take_at_most_15_percent_of_a_pack(
    memctl: Memctl, imported: list[dict[str, Any]], budget: int
) -> None:
    out = memctl("rehydrate", "--budget", str(budget), "--model", "gpt-4o").out
    lines = "".join(f"{line}\n" for line in re.findall(r"(?m)^- [A-Z]{3}-\d{4}-.*$", out))
    assert places(imported, out)[0]
    assert COUNTERS["gpt"].tokens(lines, "markdown") <= 0.15 * budget


def test_all_titles_are_named_where_30_percent_of_a_pack_have_room(memctl: Memctl) -> None:
    records = [{"memory_type": "learning", "title": f"Lesson {n}", "lesson": f"{n} " * 90} for n in range(60)]
    memctl("import", "-", stdin="\n".join(map(json.dumps, records)))
    found = memctl("list", "--limit", "0", "--json").data["records"]
    whole, lines, counted = places(found, memctl("rehydrate", "--budget", "5000").out)
    assert counted == 0
    assert len(whole) + len(lines) == 60


def test_repeated_texts_leave_room_for_all_others(memctl: Memctl) -> None:
    repeated = {"memory_type": "issue", "severity": "medium", "title": "Ping", "description": "Ping the worker."}
    others = [{**repeated, "severity": "low", "title": f"Fault {n}", "description": f"Fault {n}."} for n in range(3)]
    pings = [{**repeated, "timestamp": f"2025-10-{n % 28 + 1:02}T{n // 28:02}:00:00Z"} for n in range(55)]
    memctl("import", "-", stdin="\n".join(map(json.dumps, pings + others)))
    out = memctl("rehydrate").out
    assert out.count("### Ping") == 1
    assert out.count("### Fault") == 3
    assert len(re.findall(r"(?m)^- ISS-\S+ 54x Ping \(… \S+\)$", out)) == 1


def test_record_with_a_repeated_text_comes_after_new_texts(memctl: Memctl) -> None:
    patrol = "Ask each worker how it is. " * 30
    record_all(memctl, "issue", ["Patrol 1", "Patrol 2", "Patrol 3"], description=patrol, severity="medium")
    other = memctl("issue", "Mails get lost", "--severity", "low", "--description", "A mail is lost. " * 30).id
    pack = memctl("rehydrate", "--budget", "900").out
    whole = re.findall(r"(?m)^(ISS-[\d-]+) \| ", pack)
    assert other in whole
    assert len(whole) == 2


@pytest.mark.parametrize("form", ["markdown", *slow("event", "xml", "yaml", "tokens")])
def test_a_proposed_decision_comes_after_decisions_in_force(memctl: Memctl, form: str) -> None:
    memctl("decide", "Everything in Rust", "--rationale", "Fast", "--status", "proposed", "-i", "10")
    memctl("decide", "Small files", "--rationale", "They are read", "-i", "2")
    out = memctl("rehydrate", "--format", form).out
    assert out.index("Small files") < out.index("Everything in Rust")


def test_whole_records_weigh_no_less_than_listed_ones(memctl: Memctl, imported: list[dict[str, Any]]) -> None:
    whole, lines, _ = places(imported, memctl("rehydrate").out)
    weights = {record["id"]: record["importance"] for record in imported}
    mean = {name: sum(weights[one] for one in ids) / len(ids) for name, ids in (("whole", whole), ("lines", lines))}
    assert mean["whole"] > mean["lines"] + 1


def test_session_start_shows_titles_of_records_without_room(repo: Path, tmp_path: Path, imported: list[Any]) -> None:
    said = Session(repo, tmp_path / "s.jsonl", host=CLAUDE_CODE).context("SessionStart", source="startup")
    whole, lines, counted = places(imported, said)
    assert LIMIT - 120 <= length(said) <= LIMIT
    assert len(whole) + len(lines) + counted == len(imported)
    assert len(whole) >= 5
    assert len(lines) >= 40


def test_old_decisions_come_whole_while_there_is_room(memctl: Memctl) -> None:
    memctl("import", "-", stdin=lines_of(random.Random(1), 30, 0))
    data = memctl("rehydrate", "--json").data
    assert data["left_out"] == []
    assert len(data["parts"]["more"]) == 30


def test_record_larger_than_the_budget_is_named_as_too_large(memctl: Memctl) -> None:
    large = memctl("learn", "Large", "--lesson", "word " * 3_000).id
    small = memctl("learn", "Small", "--lesson", "It is so.").id
    data = memctl("rehydrate", "--budget", "600", "--json").data
    assert [(left["id"], left["why"]) for left in data["left_out"]] == [(large, TOO_LARGE)]
    assert data["text"].index(f"Only by title: {large} Large\n") < data["text"].index("### Small")
    assert small in data["parts"]["learning"]


def test_records_left_out_by_an_option_are_counted_with_that_option(memctl: Memctl) -> None:
    memctl("learn", "Mine")
    memctl("decide", "Old", "--timestamp", "2020-01-01", "--rationale", "x")
    result = memctl("rehydrate", "--since", "2025-01-01")
    assert "1 other open record left out by --since 2025-01-01T00:00:00Z." in result.out
    result = memctl("rehydrate", "--agent", "nobody")
    assert "2 other open records left out by --agent nobody." in result.out
    assert "fits into" not in result.err
    assert "left out by" not in memctl("rehydrate", "--task", "old").out


def test_lines_are_grouped_and_counted_by_section(memctl: Memctl) -> None:
    for name in ("Orders", "Stock"):
        memctl("section", "add", name)
    for section in ("§2.1", "§2.2"):
        titles = [f"Lesson {number} of {section}" for number in range(6)]
        record_all(memctl, "learning", titles, section=section, lesson="{} " + "word " * 150)
    out = memctl("rehydrate", "--budget", "1000").out
    left = out.partition("## Left out")[2]
    assert "§2.1 Orders:" in left
    assert "§2.2 Stock:" in left
    counted = re.findall(r"- (?:and )?(\d+) (?:more|records?): `memctl list --open --section 2\.\d`", left)
    assert counted
    assert sum(map(int, counted)) + left.count(" Lesson") + out.count("\n### Lesson") == 12


class TestTasksUnderWay:
    def test_state_worked_on_last_comes_first_and_all_are_shown(
        self, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old = memctl("state", "Old task, worked on daily", "--timestamp", "2025-06-01", "--next", "go on").id
        new = memctl("state", "Newer, forgotten", "--timestamp", "2025-06-20", "--next", "nobody does").id
        assert memctl("rehydrate", "--json").data["parts"]["state"] == [new, old]
        monkeypatch.setenv("MEMCTL_NOW", "2025-11-05T10:00:00Z")
        memctl("edit", old, "--set", "completion_percentage=90")
        data = memctl("rehydrate", "--json").data
        assert data["parts"]["state"] == [old, new]
        assert data["text"].rstrip().endswith("- go on")
        assert "[" + old + "]" in memctl("context-summary").out.split("\n")[2]

    def test_state_with_an_uncommitted_edit_comes_first(self, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
        old = memctl("state", "Old task", "--timestamp", "2025-06-01").id
        monkeypatch.setenv("MEMCTL_NOW", "2025-11-05T10:00:00Z")
        new = memctl("state", "Newer", "--timestamp", "2025-06-20").id
        monkeypatch.setenv("MEMCTL_NOW", "2025-11-06T10:00:00Z")
        memctl("edit", old, "--set", "completion_percentage=90", "--no-commit")
        assert memctl("rehydrate", "--json").data["parts"]["state"] == [old, new]
        assert memctl("rehydrate", "--at", "HEAD", "--json").data["parts"]["state"] == [new, old]

    def test_merges_and_reads_do_not_count_as_work_on_a_state(
        self, memctl: Memctl, repo: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        git(repo, "branch", "side")
        old = memctl("state", "Old task").id
        monkeypatch.setenv("MEMCTL_NOW", "2025-11-05T10:00:00Z")
        new = memctl("state", "Newer").id
        monkeypatch.setenv("MEMCTL_NOW", "2025-11-06T10:00:00Z")
        git(repo, "checkout", "-q", "side")
        git(repo, "commit", "-q", "--allow-empty", "-m", "other work")
        git(repo, "merge", "-q", "--no-edit", "main")
        memctl("show", old)
        memctl("maintain")
        assert memctl("rehydrate", "--json").data["parts"]["state"] == [new, old]

    def test_state_replaced_by_a_newer_one_of_its_task_is_left_out(self, memctl: Memctl) -> None:
        memctl("state", "Order API", "--task-id", "orders", "--completion", "20", "--timestamp", "2025-10-01")
        newer = memctl("state", "Orders", "--task-id", "orders", "--completion", "40", "--timestamp", "2025-10-02").id
        data = memctl("rehydrate", "--json").data
        assert data["parts"]["state"] == [newer]
        assert data["left_out"] == []

    def test_new_states_of_the_same_title_are_kept_until_superseded(self, memctl: Memctl) -> None:
        old = memctl("state", "Order API", "--completion", "20", "--timestamp", "2025-10-01").id
        made = memctl("state", "Order API", "--new", "--completion", "40", "--timestamp", "2025-10-02")
        assert f"hint: near: {old} Order API: `memctl supersede {old} {made.id}`" in made.err
        assert len(memctl("rehydrate", "--json").data["parts"]["state"]) == 2
        memctl("supersede", old, made.id)
        assert memctl("rehydrate", "--json").data["parts"]["state"] == [made.id]

    def test_states_beyond_1500_tokens_come_later(self, memctl: Memctl) -> None:
        for number in range(12):
            memctl("state", f"Task {number}", "--task", f"{WORDS[number]} " * 200)
        data = memctl("rehydrate", "--json").data
        assert 3 <= len(data["parts"]["state"]) <= 7
        assert len(data["parts"]["state"]) + len(data["parts"]["more"]) == 12


TRANSCRIPT = (
    "USER: Have the parser stream its input.\n"
    "ASSISTANT: DECISION: We went with a ring buffer because lists copy. Rejected: deque.\n"
    "ASSISTANT: Next: look back over 2 GB.\n"
)


@pytest.fixture
def summed_up(memctl: Memctl, tmp_path: Path) -> str:
    """The page of a session that decided something in words and recorded nothing."""
    file = tmp_path / "chat.txt"
    file.write_text(TRANSCRIPT)
    memctl("session", "summarize", "-t", str(file), "--id", "parser")
    return "parser"


class TestLastSession:
    @pytest.mark.parametrize("form", ["markdown", "xml", "yaml", "tokens", "event"])
    def test_session_page_is_in_the_next_pack(self, memctl: Memctl, summed_up: str, form: str) -> None:
        data = memctl("rehydrate", "--format", form, "--json").data
        assert data["parts"]["session"] == [summed_up]
        for said in ("parser stream its input", "ring buffer"):
            assert said in data["text"]

    def test_session_page_is_in_prompts_and_handoffs(self, memctl: Memctl, summed_up: str) -> None:
        prompt = memctl("prompt", "system", "--task", "Stream the output", "--json").data
        assert prompt["parts"]["session"] == [summed_up]
        assert "## Prior session context" in prompt["text"]
        given = ("handoff", "--to", "bob", "--reason", "Done", "--immediate", "Look back", "--success", "2 GB", "-n")
        for kind in ("complete", "specialist", "continuation"):
            data = memctl(*given, "--summary", "It streams", "--type", kind, "--json").data
            assert data["parts"]["session"] == [summed_up]
            assert "ring buffer" in data["text"]
        assert "ring buffer" not in memctl(*given, "--type", "emergency").out
        memctl("section", "add", "Lexer", "--path", "lexer.py")  # which the session has not touched
        assert "ring buffer" not in memctl(*given, "--section", "2.1").out

    @pytest.mark.usefixtures("summed_up")
    def test_a_decision_is_unconfirmed_until_it_is_recorded(self, memctl: Memctl, tmp_path: Path) -> None:
        assert "Said, not recorded, not confirmed: " in memctl("rehydrate").out
        file = tmp_path / "chat.txt"
        memctl("session", "summarize", "-t", str(file), "--id", "parser", "--accept", "all")
        assert "not recorded" not in memctl("rehydrate").out

    @pytest.mark.usefixtures("summed_up")
    def test_session_page_is_in_the_next_session_start(self, repo: Path, tmp_path: Path) -> None:
        said = Session(repo, tmp_path / "s.jsonl").context("SessionStart", source="startup")
        assert "ring buffer" in said

    def test_earlier_sessions_have_one_line_each(self, memctl: Memctl, repo: Path, tmp_path: Path) -> None:
        for name, hour in (("lexer", 1), ("parser", 2), ("writer", 3)):
            file = tmp_path / "chat.txt"
            long = f"ASSISTANT: Next: {'look at the tables of all ' * 30}.\n" * 9 if name == "writer" else ""
            file.write_text(TRANSCRIPT.replace("parser", name).replace("ring buffer", f"{name} ring") + long)
            memctl("session", "summarize", "-t", str(file), "--id", name)
            page = repo / ".memory" / "sessions" / f"{name}.md"
            page.write_text(re.sub(r"(ended|summarized): .*", rf"\1: 2025-11-04T0{hour}:00:00Z", page.read_text()))
        said = Session(repo, tmp_path / "s.jsonl").context("SessionStart", source="startup")
        assert "- Asked: Have the writer stream its input" in said
        assert "writer ring" in said
        lines = said.split("Sessions before it:\n")[1].splitlines()[:2]
        for name, line in zip(("parser", "lexer"), lines, strict=True):
            assert line.startswith(f"  - 2025-11-04: Have the {name} stream its input")
        assert len(said) < 9_500

    @pytest.mark.usefixtures("summed_up")
    def test_search_and_rehydrate_with_a_task_find_the_session(self, memctl: Memctl) -> None:
        results = memctl("search", "ring buffer", "--json").data["results"]
        assert [(one["type"], one["marker"]) for one in results] == [("session", "parser")]
        assert "session" in memctl("search", "ring buffer").out
        out = memctl("rehydrate", "--task", "ring buffer of the parser").out
        assert "Nothing recorded matches" not in out

    @pytest.mark.usefixtures("summed_up")
    def test_a_narrowed_pack_has_no_prior_session(self, memctl: Memctl) -> None:
        assert memctl("rehydrate", "--since", "2020-01-01", "--json").data["parts"]["session"] == []


def test_unresumed_checkpoint_is_in_the_pack(memctl: Memctl) -> None:
    memctl("checkpoint", "save", "--task", "Refunds by card", "--planned", "Endpoint", "--next", "Write the endpoint")
    data = memctl("rehydrate", "--json").data
    assert "- Asked: Refunds by card\n" in data["text"]
    assert "- Left open: Write the endpoint; Endpoint\n" in data["text"]
    memctl("checkpoint", "save", "--done", "Endpoint", "--next", "none")
    assert "Refunds by card" not in memctl("rehydrate").out


class TestPages:
    @pytest.fixture(autouse=True)
    def page(self, memctl: Memctl) -> None:
        memctl("section", "add", "Parsing", "--overview", "Zebra invoices are quarterly.")

    def test_search_finds_the_words_of_a_page(self, memctl: Memctl) -> None:
        results = memctl("search", "zebra", "--json").data["results"]
        assert [(one["type"], one["marker"]) for one in results] == [("page", "§2.1")]
        assert "§2.1" in memctl("search", "zebra").out
        assert memctl("search", "zebra", "--type", "decision", "--json").data["results"] == []
        assert memctl("search", '"invoices zebra"', "--json").data["results"] == []

    def test_page_alone_can_match_a_task(self, memctl: Memctl) -> None:
        data = memctl("rehydrate", "--task", "zebra invoices", "--json").data
        assert data["parts"]["page"] == ["§2.1"]
        assert "Nothing recorded matches" not in data["text"]
        assert "Nothing recorded matches: quagga" in memctl("rehydrate", "--task", "quagga").out


def test_record_that_fits_the_task_comes_before_a_weightier_one(memctl: Memctl) -> None:
    memctl(
        "issue", "Speed up the tests", "--severity", "critical", "--description", "Most of the time is the database."
    )
    fits = memctl(
        "issue", "Doctor checks database health", "--severity", "low", "--description", "The doctor command."
    ).id
    data = memctl("rehydrate", "--task", "doctor command checks database health", "--json").data
    assert re.findall(r"(?m)^([A-Z]{3}-[\d-]+) \| ", data["text"])[0] == fits


@pytest.mark.parametrize("form", ["markdown", *slow("event", "xml", "yaml", "tokens")])
def test_quality_never_advises_to_compress_a_default_pack(memctl: Memctl, form: str, imported: list[Any]) -> None:
    pack = memctl("rehydrate", "--format", form).out
    assert len(imported) > 300
    judged = memctl("quality", "-", stdin=pack)
    assert "Compress" not in judged.out
    assert "Compress" in memctl("quality", "-", stdin=pack.replace("ormation, not instructions", "ormation")).out


def test_records_near_the_latest_work_come_before_others_of_their_weight(memctl: Memctl, repo: Path) -> None:
    (repo / "pay.py").write_text("x = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "pay")
    common = ("-i", "5", "--timestamp", "2020-01-01", "--rationale", "word " * 60)
    near = memctl("decide", "About paying", *common, "--code", "pay.py").id
    memctl("decide", "About mail", *common)
    memctl("decide", "About stock", *common)
    assert memctl("rehydrate", "--json").data["parts"]["more"][0] == near


def test_all_titles_are_named_with_short_ids_before_one_is_left_out(memctl: Memctl) -> None:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    rows = [
        {
            "memory_type": "issue",
            "severity": "medium",
            "title": f"Patrol of the ring {letter}",
            "description": f"Ask {letter}. {'Go round. ' * 99}",
            "timestamp": f"2025-02-28T{hour:02}:00:00Z",
        }
        for letter in letters
        for hour in range(9)
    ]
    memctl("import", "-", stdin="\n".join(map(json.dumps, rows)))
    text = memctl("rehydrate", "--budget", "2400").out
    assert "memctl list" not in text
    assert all(f"Patrol of the ring {letter}" in text for letter in letters)
    assert re.search(r"(?m)^- …-\d+ 9x Patrol of the ring \w \(… -\d+\)$", text)


def test_line_below_a_title_leaves_out_what_all_imported_records_share(memctl: Memctl) -> None:
    record_all(memctl, "decision", [f"Rule {n}" for n in range(6)], rationale="{}", timestamp="2025-10-30T08:00:00Z")
    memctl("decide", "Own", "--rationale", "x")
    text = memctl("rehydrate").out
    assert len(re.findall(r"(?m)^DEC-2025-10-30-\d+ \| accepted \| importance 7/10 \| 2025-10-30$", text)) == 6
    assert re.search(
        r"(?m)^DEC-2025-11-04-001 \| accepted \| importance 7/10 \| 2025-11-04 \| by \S+ \| commit \w+$", text
    )


def test_a_third_of_the_whole_records_at_most_is_older_than_a_year(memctl: Memctl) -> None:
    for year, importance in (("2021", 8), ("2025", 3)):
        texts = {"lesson": "{}. " + "word " * 150, "importance": importance, "timestamp": f"{year}-02-01"}
        record_all(memctl, "learning", [f"Lesson {number} of {year}" for number in range(30)], **texts)
    text = memctl("rehydrate", "--budget", "4000").out
    old, young = (len(re.findall(rf"### Lesson \d+ of {year}", text)) for year in (2021, 2025))
    assert young > 5
    assert old <= (old + young) / 3
