"""`search`: words, excerpts, explanations, related records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl.cli import exchange, search
from memctl.store import search_views
from tests.cli.test_list_records import run_on_terminal
from tests.conftest import Memctl, git


def test_search_finds_and_explains(memctl: Memctl) -> None:
    low = memctl("learn", "Pools", "--lesson", "connection pool sizes", "-i", "1").id
    high = memctl("learn", "Pools", "--lesson", "connection pool sizes", "-i", "10").id
    memctl("learn", "Unrelated", "--lesson", "tea")
    results = memctl("search", "connection", "pools", "--json").data["results"]
    assert [r["record"]["id"] for r in results] == [high, low]
    for result in results:
        parts = [result[name] for name in ("own", "around", "meaning", "importance", "recency", "access")]
        assert result["score"] == pytest.approx(sum(parts), abs=1e-5)
        assert (result["kind"], result["open"]) == ("learning", f"memctl show {result['id']}")
    assert results[0]["importance"] - results[1]["importance"] == pytest.approx(0.01 / 0.424 * 0.9, abs=1e-5)
    assert memctl("search", "nothing-like-it").err == "nothing matches\n"
    assert memctl("search", '"pool sizes connection"', "--json").data["total"] == 0
    assert memctl("search", "connec*", "--json").data["total"] == 2


def test_equal_matches_are_ordered_by_retrieval_count(memctl: Memctl) -> None:
    often = memctl("learn", "Pools", "--lesson", "connection pool sizes").id
    seldom = memctl("learn", "Pools", "--lesson", "connection pool sizes").id
    for _ in range(3):
        memctl("show", often)
    results = memctl("search", "pools", "--json").data["results"]
    assert [(r["id"], r["record"]["access_count"]) for r in results] == [(often, 3), (seldom, 0)]
    assert [r["access"] > 0 for r in results] == [True, False]


def test_records_of_one_id_are_all_found(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Tea", "--lesson", "a kettle")
    one = repo / made.out.split()[1]
    text = one.read_text().replace("Tea", "Coffee").replace("memory_id: 0", "memory_id: 1")
    one.with_name(f"{made.id}-coffee.md").write_text(text)
    results = memctl("search", "kettle", "--json", code=None).data["results"]
    assert sorted(result["title"] for result in results) == ["Coffee", "Tea"]


@pytest.mark.parametrize(
    "query", ['"', "*", "AND", "a OR", "title:x", "(", "-", "NEAR(a b)", "§2.1", "a\x00b", "'; DROP TABLE"]
)
def test_no_query_is_an_error(memctl: Memctl, query: str) -> None:
    memctl("learn", "Something", "--lesson", "a and b")
    memctl("search", "--", query)


def test_record_with_all_words_ranks_before_one_with_some(memctl: Memctl) -> None:
    one = memctl("learn", "Tea", "--lesson", "a kettle").id
    both = memctl("learn", "Coffee", "--lesson", "a kettle and a lamp").id
    results = memctl("search", "kettle", "lamp", "--json").data["results"]
    assert [result["record"]["id"] for result in results] == [both, one]


def test_search_results_are_in_the_given_order_with_pages_last(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    memctl("section", "add", "Pool", "--overview", "The pool.")
    for day, args in enumerate(
        (
            ("issue", "Pool leaks", "--severity", "high", "-i", "9", "-t", "pool"),
            ("issue", "Pool pool pool", "--severity", "low", "-i", "2", "-t", "pool"),
            ("decide", "Pool size", "--rationale", "x", "-i", "5", "-t", "pool"),
        ),
        1,
    ):
        monkeypatch.setenv("MEMCTL_NOW", f"2025-11-0{day}T00:00:00Z")
        memctl(*args)
    for order, expected in (
        ("importance", ["Pool leaks", "Pool size", "Pool pool pool", "§2.1"]),
        ("severity", ["Pool leaks", "Pool pool pool", "Pool size", "§2.1"]),
        ("time", ["Pool size", "Pool pool pool", "Pool leaks", "§2.1"]),
    ):
        results = memctl("search", "pool", "--sort", order, "--json").data["results"]
        assert [r["record"]["title"] if r["type"] == "record" else r["marker"] for r in results] == expected
        assert expected[0] in memctl("search", "pool", "--sort", order, "--limit", "1").out
        first = results[0]["record"]["id"]
        related = memctl("search", "--related", first, "--sort", order, "--json").data["results"]
        assert [r["record"]["title"] for r in related] == expected[1:3]


def test_with_a_limit_the_first_results_and_their_number_are_as_without(memctl: Memctl, tmp_path: Path) -> None:
    """Far more records match than are looked at for a few results, and of the best none is shown: they are archived."""
    records = [
        {
            "memory_type": ("learning", "decision")[number % 2],
            "title": f"Lantern {number}" if number > 20 else f"Number {number}",
            "importance": number % 10 + 1,
            "tags": ["few"] if number in (3, 9, 14) else [],
            "is_archived": number > 20,
            ("lesson", "rationale")[number % 2]: "lantern " + "oil " * (number % 7),
        }
        for number in range(1, 171)
    ]
    (tmp_path / "records.jsonl").write_text("\n".join(map(json.dumps, records)))
    memctl("import", str(tmp_path / "records.jsonl"))
    memctl("section", "add", "Lantern", "--overview", "The lantern.")
    assert memctl("search", "lantern", "--json").data["total"] == 21
    for more in ([], ["--all"], ["--tag", "few"], ["--type", "decision"], ["--type", "page"]):
        every = memctl("search", "lantern", "oil", "--json", "--limit", "0", *more).data
        assert len(every["results"]) == every["total"] > 0
        for limit in (1, 10):
            first = memctl("search", "lantern", "oil", "--json", "--limit", str(limit), *more).data
            assert first["total"] == every["total"]
            assert [one["id"] for one in first["results"]] == [one["id"] for one in every["results"]][:limit]


def test_a_misspelt_word_is_reported_and_replaced(memctl: Memctl) -> None:
    made = memctl("learn", "Pools", "--lesson", "a connection").id
    found = memctl("search", "conection")
    assert made in found.out
    assert found.err == "no text has the word conection; searched instead for connection\n"
    assert memctl("search", "conection", "--json").data["instead"] == {"conection": ["connection"]}
    assert memctl("search", "connection", "--json").data["instead"] == {}


def test_an_excerpt_below_a_result_has_the_words_marked(memctl: Memctl) -> None:
    memctl("learn", "Pools", "--lesson", "Connections are **dear**,\nso close each connection.")
    lines = memctl("search", "connection").out.splitlines()
    assert lines[1] == "      Lesson: »Connections« are **dear**, so close each »connection«."
    [result] = memctl("search", "connection", "--json").data["results"]
    text, marks = result["excerpt"]["text"], result["excerpt"]["marks"]
    assert [text[start:end] for start, end in marks] == ["Connections", "connection"]


def test_a_match_in_the_title_alone_has_no_excerpt(memctl: Memctl) -> None:
    memctl("learn", "Pools", "--lesson", "of connections")
    assert len(memctl("search", "pools").out.splitlines()) == 1
    assert memctl("search", "pools", "--json").data["results"][0]["excerpt"] is None


def test_on_a_terminal_marks_are_bold_and_control_characters_harmless(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Pools", "--lesson", "one wombat here").out.split()[1]
    file = repo / made
    file.write_text(file.read_text().replace("here", "there \x9b31m \u202e \x1b]0;title"))
    shown = run_on_terminal(repo, "search", "wombat", TERM="xterm")
    assert "\x1b[1mwombat\x1b[0m" in shown
    assert "\x9b" not in shown
    assert "\u202e" not in shown
    assert "\x1b]0" not in shown
    assert "»wombat«" in run_on_terminal(repo, "search", "wombat", TERM="xterm", NO_COLOR="1")


def test_search_weights_of_the_project_change_the_order(repo: Path, memctl: Memctl) -> None:
    old = memctl("learn", "Pools and ponds", "-i", "1").id
    new = memctl("learn", "Deep", "--lesson", "as pools", "-i", "10").id

    def found() -> list[str]:
        return [result["record"]["id"] for result in memctl("search", "pools", "--json").data["results"]]

    config = repo / ".memory" / "config.yaml"
    text = config.read_text()
    config.write_text(text + "search_weights: {importance: 0, recency: 0, access: 0}\n")
    assert found() == [old, new]
    config.write_text(text + "search_weights: {title: 0, content: 0}\n")
    assert found() == [new, old]
    assert "0.417" in memctl("search", "pools", "--explain").out.splitlines()[1]


def test_related_records_are_found_by_id_and_by_file(repo: Path, memctl: Memctl) -> None:
    (repo / "src").mkdir()
    (repo / "src" / "pool.py").write_text("SIZE = 5\n")
    git(repo, "add", "src")
    git(repo, "commit", "-qm", "code")
    one = memctl("learn", "Pools", "--code", "src/pool.py").id
    two = memctl("issue", "Slow checkout", "--relates-to", one).id
    assert [r["record"]["id"] for r in memctl("search", "--related", one, "--json").data["results"]] == [two]
    data = memctl("search", "--related", "src/pool.py", "--json").data
    assert data["to"] == "src/pool.py"
    assert [(r["record"]["id"], r["because"]) for r in data["results"]] == [(one, ["src/pool.py"])]
    assert memctl("search", "--related", one[:3]).out.splitlines()[1] == "      relates_to"
    explained = memctl("search", "--related", two, "--explain").out.splitlines()
    assert explained[0].split() == ["score", "links", "code", "text", "tags", "section", "record"]
    assert explained[1].split()[:6] == ["1.000", "0.350", "0.250", "0.250", "0.100", "0.050"]
    assert explained[2].endswith(f"{one} Pools  [relates_to]")


def test_many_matches_are_counted_to_a_limit_for_people_and_fully_for_programs(
    memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("import", "-", stdin="".join(f'{{"memory_type": "learning", "title": "Pool {n}"}}\n' for n in range(9)))
    assert "8 more results: --limit 0" in memctl("search", "pool", "--limit", "1").err
    monkeypatch.setattr(search, "_COUNTED", 6)
    assert "5 or more results: --limit 0" in memctl("search", "pool", "--limit", "1").err
    assert memctl("search", "pool", "--limit", "1", "--json").data["total"] == 9


def test_a_record_without_relations_is_reported(memctl: Memctl) -> None:
    one = memctl("learn", "Pools").id
    assert memctl("search", "--related", one).err == f"nothing is related to {one}\n"
    assert "no record" in memctl("search", "--related", "DEC-1999-01-01-001", code=1).err
    assert "Git knows no file" in memctl("search", "--related", "no/such/file.py", code=2).err


@pytest.mark.parametrize("args", [[], ["words", "--related", "LRN"]])
def test_search_needs_either_words_or_related(memctl: Memctl, args: list[str]) -> None:
    failed = memctl("search", *args, code=2)
    assert failed.out == ""
    assert "--related" in failed.err


def test_related_records_are_found_at_a_revision(memctl: Memctl) -> None:
    one = memctl("learn", "Pools").id
    two = memctl("issue", "Slow checkout", "--relates-to", one).id
    memctl("archive", two)
    assert memctl("search", "--related", one, "--json").data["total"] == 0
    assert memctl("search", "--related", one, "--at", "HEAD~1", "--json").data["total"] == 1


def test_search_says_whether_it_found_something_or_only_some_of_the_words(memctl: Memctl) -> None:
    for number in range(6):
        memctl("learn", f"Lamp number {number}", "--lesson", "The rules of the house say that it hangs in the hall.")
    memctl("learn", "Connection pool runs empty", "--lesson", "A request held its connection over a call.")
    hit = memctl("search", "connection pool", "--json")
    assert (hit.data["verdict"], memctl("search", "connection pool").err) == ("hit", "")
    assert memctl("search", "kubernetes ingress rules for hosts", "--json").data["verdict"] == "nothing"
    assert "nothing is recorded on this" in memctl("search", "kubernetes ingress rules for hosts").err
    assert memctl("search", "empty kubernetes ingress", "--json").data["verdict"] == "weak"
    assert memctl("search", "nothing-like-it", "--json").data["verdict"] == "nothing"
    memctl("import", "-", stdin='{"memory_type": "issue", "title": "No dark mode", "id": "JIRA-7"}')
    assert memctl("search", "JIRA-7", "--json").data["verdict"] == "hit"


def test_session_is_titled_by_its_task(memctl: Memctl, repo: Path) -> None:
    page = (
        "---\nsession_id: earlier\n---\n\n## Session Summary\n\n### Session Intent\n\n- Round invoices half to even\n"
    )
    (repo / ".memory" / "sessions").mkdir()
    (repo / ".memory" / "sessions" / "earlier.md").write_text(f"{page}\n### Learnings\n\n- The bank sends zebras\n")
    assert memctl("search", "zebras", "--json").data["results"][0]["title"] == "Round invoices half to even"


def test_import_of_many_records_makes_the_search_index(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exchange, "_MANY", 3)
    updates: list[object] = []
    make = search_views._numbers
    monkeypatch.setattr(search_views, "_numbers", lambda *args: (updates.append(args[-1]), make(*args))[1])
    memctl("import", "-", stdin="".join(f'{{"memory_type": "learning", "title": "Pool {n}"}}\n' for n in range(4)))
    assert len(updates) == 1
    assert memctl("search", "pool", "--json").data["total"] == 4
    assert len(updates) == 1
