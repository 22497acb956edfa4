"""Finding records by their words, in a real memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from memctl.record.snapshot import Snapshot
from memctl.record.source import Texts
from memctl.store import load
from memctl.store.memory import open_memory
from tests.conftest import Memctl, Once

LESSONS = {
    "Pools": "The NordpayClient holds a connection; see `max_open_conns` and retry_count.",
    "Time zones": "Daylight saving moves the rollup. Größe der Schlange: naïve.",
    "Reservation of stock": "Two buyers reserved the last article. A reservation expires.",
    "日本語の記録": "接続プールが枯渇した。",
    "Unrelated": "Tea is served at four, how to brew it not known",
}


@pytest.fixture
def texts(repo: Path, memctl: Memctl, once: Once) -> Texts:
    def make() -> None:
        for title, lesson in LESSONS.items():
            memctl("learn", title, "--lesson", lesson)

    once(make)
    return snapshot(repo).texts


def snapshot(repo: Path) -> Snapshot:
    return load.disk(open_memory(repo, os.environ))


def numbers(texts: Texts, query: str) -> list[int]:
    """The numbers of the records that a query finds, best first."""
    hits = sorted(texts.match(query), key=lambda hit: (-hit.text, hit.path))
    return [int(hit.path.split("-")[5][:3]) for hit in hits]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("reserving", [3]),  # stems
        ("zone pools", [1, 2]),  # any of the words
        ("nordpay", [1]),  # a part of an identifier
        ("NORDPAY_CLIENT", [1]),
        ("maxOpenConns", [1]),
        ("openconns", [1]),  # two words written as one
        ("conection", [1]),  # misspelt
        ("dayligth", [2]),
        ("grosse", [2]),  # ß is ss
        ("größe", [2]),
        ("naive", [2]),
        ("接続", [4]),
        ("プール 枯渇", [4]),
        ("how to", [5]),  # stop words alone
        ('"last article"', [3]),
        ('"article last"', []),
        ('"article last" tea', [5]),  # no record has the phrase
        ('"last article" tea', [3]),
        ("reserv*", [3]),
        ("xyzzy", []),
    ],
)
def test_query_finds_the_expected_records(texts: Texts, query: str, found: list[int]) -> None:
    assert sorted(numbers(texts, query)) == found


def test_the_title_counts_more_than_the_body(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "About something else altogether", "--lesson", "lantern oil")
    memctl("learn", "About a lantern", "--lesson", "something else altogether")
    assert numbers(snapshot(repo).texts, "lantern") == [2, 1]


def test_words_that_are_next_to_each_other_count_more_than_words_that_are_apart(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "First", "--lesson", "the wick of a lantern and oil for it")
    memctl("learn", "Second", "--lesson", "the oil for it and a lantern wick of")
    texts = snapshot(repo).texts
    assert numbers(texts, "lantern wick") == [2, 1]
    assert {hit.text for hit in texts.match("wick lantern")} == {hit.text for hit in texts.match("lantern or wick")}


def test_a_known_word_without_its_first_letter_is_no_substitute(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "The old way", "--lesson", "is over")
    substitutes = snapshot(repo).texts.substitutes
    assert substitutes("told away") == {}
    assert substitutes("voer") == {"voer": ("over",)}


def test_numbers_and_times_of_other_tools_are_no_words_of_a_record(repo: Path, memctl: Memctl) -> None:
    other = {
        "source_id": "bd-xmf",
        "priority": 2,
        "closed_at": "2026-02-26T20:45:26Z",
        "form": {"file": "x.md", "n": "a b"},
    }
    memctl("import", "-", stdin=json.dumps({"memory_type": "learning", "title": "One", **other}))
    texts = snapshot(repo).texts
    assert [numbers(texts, query) for query in ("xmf", "x.md", "45", "priority", "form")] == [[1], [1], [], [], []]


def test_record_is_found_by_its_number_in_another_tool(memctl: Memctl) -> None:
    line = {"memory_type": "issue", "title": "The pool is full", "severity": "low", "id": "4711"}
    memctl("import", "-", stdin=json.dumps(line))
    for command in ("search", "show"):
        assert "The pool is full" in memctl(command, "4711").out


def test_misspelt_word_has_its_substitutes(texts: Texts) -> None:
    assert texts.substitutes("conection of teh pool") == {"conection": ("connection",)}
    assert texts.substitutes("connection") == {}


def test_word_that_does_not_occur_finds_names_that_begin_with_it_or_sound_alike(texts: Texts) -> None:
    assert texts.substitutes("daylig reserva") == {"daylig": ("daylight",), "reserva": ("reservation",)}
    assert texts.substitutes("artisle cerved") == {"artisle": ("article",)}  # the first letter is seldom wrong


def test_a_query_for_a_decision_is_about_its_subject(texts: Texts) -> None:
    assert numbers(texts, "why did we choose tea") == numbers(texts, "tea") == [5]


def test_a_word_that_is_gone_is_not_offered(repo: Path, memctl: Memctl) -> None:
    made = memctl("learn", "Wombats", "--lesson", "dig")
    assert snapshot(repo).texts.substitutes("wombatts") == {"wombatts": ("wombats",)}
    memctl("delete", made.id)
    assert snapshot(repo).texts.substitutes("wombatts") == {}


def test_an_excerpt_has_the_words_marked(texts: Texts) -> None:
    [number] = [hit.number for hit in texts.match("article reserving")]
    excerpt = texts.excerpts("article reserving", [number])[number]
    assert "Lesson: Two buyers reserved" in excerpt.text
    assert [excerpt.text[start:end] for start, end in excerpt.marks] == ["reserved", "article", "reservation"]
    assert "\n" not in excerpt.text


def test_title_match_alone_has_no_excerpt(texts: Texts) -> None:
    [number] = [hit.number for hit in texts.match("pools")]
    assert texts.excerpts("pools", [number]) == {}
    assert texts.excerpts("pools", []) == {}


def test_marks_can_not_be_forged(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "Marked", "--lesson", "one \ufdd0two\ufdd1 three")
    texts = snapshot(repo).texts
    [number] = [hit.number for hit in texts.match("three")]
    excerpt = texts.excerpts("three", [number])[number]
    assert excerpt.text == "Lesson: one two three"
    assert excerpt.text[slice(*excerpt.marks[-1])] == "three"


@pytest.mark.parametrize(
    ("query", "excerpt"),
    [
        ("lantern", "the only lantern here"),
        ("lantern wick", "The lantern has a wick."),  # the piece with both words, though an earlier one has the first
        ('"burning oil"', "burning oil"),  # across the border of two pieces
        ("hollow", ""),  # only in the title
    ],
)
def test_an_excerpt_of_a_long_text_is_of_its_best_piece(repo: Path, memctl: Memctl, query: str, excerpt: str) -> None:
    text = "the only lantern here" + " filler" * 5000 + " The lantern has a wick." + " filler" * 3000
    border = 3 * 16 * 1024 - len("## Lesson\n\n") - len("burning") - 1
    text = text[:border].rpartition(" ")[0].ljust(border) + " burning oil" + " filler" * 3000
    memctl("learn", "Hollow", "--lesson", text)
    texts = snapshot(repo).texts
    [number] = [hit.number for hit in texts.match("hollow")]
    found = texts.excerpts(query, [number])
    assert excerpt in found[number].text if excerpt else found == {}


def test_the_best_matches_are_the_same_when_texts_with_frequent_words_alone_are_passed_over(
    repo: Path, memctl: Memctl, tmp_path: Path
) -> None:
    words = {"gateway": 1, "invoice": 2, "kettle": 7, "harbour": 11, "lantern": 29}  # in each so-manieth text
    records = [
        {
            "memory_type": "learning",
            "title": f"{name} {number}",
            "lesson": " ".join([name, *("oil " * (number % 5)).split()]),
        }
        for number in range(1, 151)
        for name in [" ".join(word for word, step in words.items() if number % step == 0)]
    ]
    (tmp_path / "records.jsonl").write_text("\n".join(map(json.dumps, records)))
    memctl("import", str(tmp_path / "records.jsonl"))
    texts, passed = snapshot(repo).texts, 0
    for query in (
        "gateway lantern",
        "gateway invoice harbour lantern",
        "invoice kettle",
        "gateway",
        "Lanterns oil",
        "gateway oil",  # only frequent words, so only the pair tells
        "zzzzzzzz kettle lantern",  # a word that no text has
        'oil gateway anvil brook cedar lantern "gateway kettle"',  # so many words that the phrase is not demanded
        "x",
    ):
        every, best = texts.match(query), texts.match(query, 4)
        ranked = sorted(every, key=lambda hit: (-hit.text, hit.path))
        first = sorted(best, key=lambda hit: (-hit.text, hit.path))[:4]
        assert [hit.path for hit in first] == [hit.path for hit in ranked[:4]]
        # Words that more than half of the texts have count for next to nothing, and are not scored.
        assert [hit.text for hit in first] == pytest.approx([hit.text for hit in ranked[:4]], abs=1e-5)
        assert {hit.path for hit in best} <= {hit.path for hit in every}
        passed += len(best) < len(every)
    assert passed


def test_excerpts_are_the_same_for_one_row_and_for_many(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    words = [f"{first}{second}mill" for first in "abcdefghij" for second in "klmno"]
    records = [{"memory_type": "learning", "title": word, "lesson": f"The {word} is old"} for word in words]
    (tmp_path / "records.jsonl").write_text("\n".join(map(json.dumps, records)))
    memctl("import", str(tmp_path / "records.jsonl"))
    texts = snapshot(repo).texts
    for query in ("old", '"is old"', " ".join(words), "ak* old"):
        many = texts.excerpts(query, [hit.number for hit in texts.match(query)])
        assert len(many) == 50
        for number, excerpt in many.items():
            assert texts.excerpts(query, [number]) == {number: excerpt}


def test_similar_records_share_rare_words(repo: Path, memctl: Memctl) -> None:
    paths = [
        memctl("learn", title, "--lesson", lesson).out.split()[1].removeprefix(".memory/")
        for title, lesson in (
            ("Pool of connections", "The gateway exhausts the pool"),
            ("Gateway", "It exhausts the pool of connections at noon"),
            ("Tea", "The kettle is served at noon"),
        )
    ]
    alike = snapshot(repo).texts.similar(paths[0])
    assert paths[0] not in alike
    assert 1 >= alike[paths[1]] > alike.get(paths[2], 0)


def test_long_query_is_searched_by_its_first_words_with_a_remark(texts: Texts, repo: Path) -> None:
    memory = open_memory(repo, os.environ)
    asked = load.disk(memory).texts
    words = " ".join(f"w{chr(97 + n // 26)}{chr(97 + n % 26)}x" for n in range(400))
    assert (numbers(asked, f"tea {words}"), len(memory.remarks)) == ([5], 1)
    assert numbers(asked, f"{words} tea") == []
    assert (numbers(asked, "tea"), len(memory.remarks)) == ([5], 1)


def test_kept_values_are_recalled(texts: Texts, repo: Path) -> None:
    texts.keep({b"one": b"1", b"two": b"2"})
    assert snapshot(repo).texts.recall([b"one", b"three"]) == {b"one": b"1"}


def test_an_earlier_revision_is_searched_as_it_was(repo: Path, memctl: Memctl) -> None:
    memctl("learn", "Lamp", "--lesson", "oil")
    memctl("learn", "Lamps", "--lesson", "petroleum")
    before = load.revision(open_memory(repo, os.environ), "HEAD~1").texts
    assert (numbers(before, "petrolium"), numbers(before, "lamps")) == ([], [1])
    assert numbers(snapshot(repo).texts, "petrolium") == [2]
