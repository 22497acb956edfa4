"""Compaction over plain blocks: what stays, what goes first, and that duplicates are told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memctl.pack import compaction
from memctl.pack.compaction import ContextBlock, compact, score
from memctl.text import similarity

SENTENCE = "the pool of connections is exhausted when a hundred buyers check out at once and nobody gives one back"
WORDS = SENTENCE.split()


def count(text: str) -> int:
    return len(text.split())


def block(key: str, text: str = "", **values: object) -> ContextBlock:
    return ContextBlock(key, text or f"{key} " + " ".join(WORDS[: 4 + len(key)]), **values)  # type: ignore[arg-type]


class TestScore:
    def test_score_has_the_ranges_of_the_specification(self) -> None:
        assert score(block("a", keeps="a decision", drops="old")) == 100
        assert score(block("a", drops="old", worth=99)) == 30
        assert score(block("a", drops="old", worth=-1)) == 0
        assert score(block("a")) == 31
        assert score(block("a", recency=1, references=1, relevance=1, density=1)) == 99

    def test_score_weighs_recency_and_relevance_30_references_and_density_20(self) -> None:
        parts = {
            name: score(block("a", **{name: 1})) - 31 for name in ("recency", "references", "relevance", "density")
        }
        assert {name: round(part / 0.68) for name, part in parts.items()} == {
            "recency": 30, "references": 20, "relevance": 30, "density": 20,
        }  # fmt: skip


class TestCompact:
    def test_compaction_takes_the_lowest_score_first_and_stops_at_its_aim(self) -> None:
        worth = {"a ": 0.9, "b ": 0.1, "c ": 0.5}
        blocks = [block(name, name * 10, relevance=share) for name, share in worth.items()]
        assert compact(blocks, 0.3, count) == {"b ": compaction.LOW}

    def test_unprotected_blocks_go_only_above_the_least_size(self) -> None:
        blocks = [block("low", "low " * 9), block("old", "old " * 9, drops="resolved")]
        assert list(compact(blocks, 0.9, count, 9)) == ["old"]
        assert list(compact(blocks, 0.9, count)) == ["old", "low"]

    def test_droppable_block_goes_before_an_unprotected_one(self) -> None:
        blocks = [block("low", "low " * 9), block("old", "old " * 9, drops="resolved", worth=30)]
        assert compact(blocks, 0.1, count) == {"old": "resolved"}

    def test_protected_blocks_are_kept(self) -> None:
        assert compact([block("a", keeps="a decision"), block("b", keeps="a decision")], 0.4, count) == {}

    def test_latest_of_duplicates_is_kept(self) -> None:
        text = " ".join(WORDS)
        blocks = [block("first", f"{text} 1"), block("other", "else " * 9), block("last", f"{text} 1")]
        assert compact(blocks, 0, count) == {"first": compaction.DUPLICATE}

    def test_logs_are_shortened_before_blocks_are_removed(self) -> None:
        log = "\n".join(
            ["Look at this:", *(f"2025-11-04 10:00:{n:02d} INFO tick {n}" for n in range(20)), "ERROR no pool"]
        )
        assert compact([block("log", log)], 0.2, count) == {}
        assert "ERROR no pool" in compaction.without_logs(log)
        assert count(compaction.without_logs(log)) < count(log) / 2

    @given(
        st.lists(
            st.tuples(st.lists(st.sampled_from(WORDS), max_size=30), st.booleans(), st.booleans(), st.floats(0, 1))
        ),
        st.floats(0, 1),
    )
    def test_compaction_keeps_protected_blocks_and_reaches_its_aim(
        self, given_: list[tuple[list[str], bool, bool, float]], aim: float
    ) -> None:
        blocks = [
            ContextBlock(
                str(n), " ".join([str(n), *words]), "kept" if keeps else "", "old" if drops else "", relevance=part
            )
            for n, (words, keeps, drops, part) in enumerate(given_)
        ]
        gone = compact(blocks, aim, count)
        left = [one for one in blocks if one.key not in gone]
        assert not gone.keys() & {one.key for one in blocks if one.keeps}
        after, before = sum(count(one.text) for one in left), sum(count(one.text) for one in blocks)
        assert after <= before * (1 - aim) or all(one.keeps for one in left)


class TestRedundancy:
    def test_texts_that_differ_in_durations_or_spaces_are_duplicates(self) -> None:
        texts = ["Searched at 2025-11-04T10:00:00Z: 12 files", "Searched at  2025-11-04T11:30:00Z: 12 files"]
        assert similarity.duplicates(texts) == {0: 1}

    def test_texts_with_different_numbers_are_not_duplicates(self) -> None:
        assert (
            similarity.duplicates(["Test run: 41 passed, 1 failed in auth", "Test run: 42 passed, 0 failed in auth"])
            == {}
        )

    def test_more_than_85_percent_alike_is_a_duplicate(self) -> None:
        text = " ".join(WORDS)
        assert similarity.duplicates([text, text.replace("exhausted", "empty")]) == {0: 1}
        assert similarity.duplicates([text, " ".join(reversed(WORDS))]) == {}

    def test_repeated_lines_occur_once(self) -> None:
        text = "begin\n" + "retry\n" * 5 + "end"
        assert similarity.consolidate(text) == "begin\nretry (5 times)\nend"


class TestDiscardable:
    def test_traceback_is_dropped_and_its_error_kept(self) -> None:
        trace = (
            'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    g()\n'
            '  File "b.py", line 2, in g\n    h()\nValueError: no pool of 40'
        )
        text = compaction.without_logs(trace)
        assert "ValueError: no pool of 40" in text
        assert "a.py" not in text
        assert "[4 log lines left out]" in text

    def test_security_speed_and_whole_data_are_critical(self) -> None:
        for text in ("CRITICAL: emails differ in case", "prone to SQL injection", "a deadlock", "the latency budget"):
            assert compaction.is_critical_detail(text)
        assert not compaction.is_critical_detail("The button is blue")
