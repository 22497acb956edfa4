"""Which blocks later ones refer to, and which are like a newer one."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.text.similarity import cosine
from memctl.window import ContentBlock, ContentType, Conversation
from memctl.window.eviction.references import names_in, similar, with_references
from tests.window.texts import COUNTER, assistant, result, use, user

RESULT, ANSWER = ContentType.TOOL_RESULT, ContentType.ASSISTANT_RESPONSE


def one(block_id: str, content: str, turn: int, type_: ContentType = RESULT, **fields: Any) -> ContentBlock:
    return ContentBlock(block_id, type_, content, 100, turn, **fields)


def turns(*blocks: ContentBlock) -> dict[str, int]:
    return {block.block_id: block.last_referenced_turn for block in with_references(blocks)}


def test_names_are_paths_identifiers_and_ids() -> None:
    text = (
        "See /home/ada/shop/src/api.ts:41, retryPolicy, max_retries, DEC-2025-11-04-001, a1b2c3d and axios. At 23:15."
    )
    found = names_in(text)
    assert {"src/api.ts", "api.ts", "retryPolicy", "max_retries", "DEC-2025-11-04-001", "a1b2c3d"} <= found
    assert not {"axios", "See", "23", "23:15"} & found


@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("the file src/api.ts has it", "I change src/api.ts now"),
        ("/home/ada/shop/src/api.ts:41: x", "I change api.ts now"),
        (r"C:\shop\src\api.ts", "I change src/api.ts"),
        ("function retryPolicy() {", "retryPolicy is wrong"),
        ("max_retries = 3", "so max_retries must grow"),
        ("commit 9f8e7d6c", "9f8e7d6c broke it"),
        ("DEC-2025-11-04-001 Use fetch", "by DEC-2025-11-04-001"),
    ],
)
def test_a_reference_is_found(held: str, said: str) -> None:
    assert turns(one("r", held, 2), one("a", said, 7, ANSWER))["r"] == 7


def test_mention_in_the_same_turn_is_no_reference() -> None:
    assert turns(one("r", "src/api.ts", 3), one("a", "src/api.ts", 3, ANSWER))["r"] == 0


def test_path_does_not_refer_to_a_namesake_in_another_folder() -> None:
    blocks = (one("a", "src/api/index.ts", 2), one("b", "src/web/index.ts", 3))
    assert turns(*blocks, one("c", "src/api/index.ts is wrong", 7, ANSWER)) == {"a": 7, "b": 0, "c": 0}
    assert turns(*blocks, one("c", "index.ts is wrong", 7, ANSWER)) == {"a": 0, "b": 7, "c": 0}


def test_newest_share_is_that_of_names_which_no_newer_block_has() -> None:
    old, new = one("old", "src/api.ts: max_retries", 2), one("new", "src/api.ts: retryPolicy", 3)
    found = with_references([old, new, one("words", "no names here", 4)])
    assert [block.metadata.get("newest_share") for block in found] == [1 / 3, 1.0, None]  # a path is two names


def test_plain_words_are_no_reference() -> None:
    assert turns(one("r", "23 files reference axios", 2), one("a", "axios is in 23 files", 7, ANSWER))["r"] == 0


def test_reference_means_the_newer_of_two_readings() -> None:
    found = turns(one("old", "in src/api.ts", 2), one("new", "in src/api.ts", 5), one("a", "src/api.ts", 9, ANSWER))
    assert found == {"old": 0, "new": 9, "a": 0}


def test_calls_and_user_messages_refer_to_blocks_but_results_do_not() -> None:
    given = [
        user("do it"),
        assistant(use("t1", "Read", file_path="src/api.ts")),
        user(result("t1", "plain words")),
        assistant(use("t2", "Edit", file_path="src/api.ts")),
        user(result("t2", "src/http.ts is like it")),
        assistant("well"),
        user("And src/http.ts?"),
    ]
    blocks = with_references(Conversation.parse(given, COUNTER).blocks)
    by_call = {block.call_id: block for block in blocks if block.content_type is RESULT}
    assert by_call["t1"].last_referenced_turn == 2  # by the path that its call was given
    assert by_call["t2"].last_referenced_turn == 4
    assert by_call["t1"].metadata["reference_count"] == 1


def test_references_count_once_per_turn_and_keep_host_values() -> None:
    known = one("r", "src/api.ts", 1, metadata={"reference_count": 7}, last_referenced_turn=30)
    answers = [one(f"a{n}", "src/api.ts", 3, ANSWER) for n in range(4)]
    found = with_references([known, *answers])[0]
    assert (found.metadata["reference_count"], found.last_referenced_turn) == (7, 30)


def test_a_name_that_is_everywhere_tells_nothing() -> None:
    blocks = [one(f"r{n}", "src/api.ts", n) for n in range(1, 9)]
    assert set(turns(*blocks, one("a", "src/api.ts", 20, ANSWER)).values()) == {0}


LOG = " ".join(f"pod-{n} running for {n * 7} minutes on node {n % 5}" for n in range(40))


def test_older_of_two_similar_texts_refers_to_the_newer() -> None:
    blocks = [one("a", LOG, 1), one("b", "quite another text of some length that has nothing of it", 2)]
    found = similar([*blocks, one("c", LOG + " pod-41 pending", 3)])
    assert set(found) == {"a"}
    assert (found["a"].to, found["a"].by) == ("c", "word shingles")
    assert found["a"].share > 0.95


def test_other_numbers_are_another_text() -> None:
    other = " ".join(f"pod-{n} running for {n * 13 + 1} minutes on node {n % 5}" for n in range(40))
    found = similar([one("a", LOG, 1), one("b", other, 2)])
    assert found["a"].share < 0.85


def test_embeddings_go_before_shingles() -> None:
    blocks = [one("a", LOG, 1, embedding=[1.0, 0.0]), one("b", LOG, 2, embedding=[0.6, 0.8])]
    found = similar(blocks)["a"]
    assert (found.by, found.share) == ("embeddings", 0.6)


def test_types_are_not_mixed_and_short_texts_not_compared() -> None:
    assert similar([one("a", LOG, 1), one("b", LOG, 2, ANSWER)]) == {}
    assert similar([one("a", "all is well", 1), one("b", "all is well", 2)]) == {}


def test_cosine_of_what_has_no_direction_is_0() -> None:
    assert cosine([0.0, 0.0], [1.0, 0.0]) == 0.0
    assert cosine([], []) == 0.0
    assert cosine([1e200, 1e200], [1e200, 1e200]) == 0.0  # out of a float's range
    assert cosine([float("nan")], [1.0]) == 0.0
    assert cosine([1.0, 1.0], [1.0, 1.0]) == pytest.approx(1.0)
