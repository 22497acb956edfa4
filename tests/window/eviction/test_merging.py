"""What says nearly the same becomes one line: how often, and what the last said."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import ContextWindowManager, Conversation, Decision, EvictionEngine, validate
from tests.window.talk import Talk

COUNTER = Counter(FAMILIES["claude"])


def polled(times: int) -> Conversation:
    talk = Talk("Deploy the shop.")
    for number in range(times):
        state = "Queued" if number < 2 else "Running"
        pods = "\n".join(f"pod shop-{pod} cpu {number * 7 + pod} % memory {number + pod} MB ready" for pod in range(11))
        talk.call("bash", {"command": "deploy status"}, f"{state}: step {number} of {times}\n{pods}")
    talk.call("bash", {"command": "ls"}, "shop.yaml")
    return Conversation.parse(talk.messages, COUNTER)


def test_twelve_polls_merge_into_one_line_with_count_and_last_output() -> None:
    before = polled(12)
    new, found = EvictionEngine("semantic_merge", counter=COUNTER).evict_from(before, before.tokens // 3)
    assert validate(new) == []
    texts = [block.content for block in Conversation.parse(new, COUNTER).blocks if block.tool_name == "bash"]
    told = [text for text in texts if text.startswith("[Evicted: 12 of tool_result, turns 1 to 12")]
    assert len(told) == 1
    assert "10 times" in told[0]
    assert "Running" in told[0]
    assert "step 11 of 12" in told[0].partition("the last said: ")[2]
    assert COUNTER.tokens(told[0], "prose") <= 110
    assert len(found.blocks_evicted) >= 12
    after = EvictionEngine("semantic_merge", counter=COUNTER).evict_from(Conversation.parse(new, COUNTER), 10**6)[0]
    assert told[0] in str(after)


def test_results_of_one_call_that_differ_in_words_are_not_joined() -> None:
    talk = Talk("Read the log.")
    for word in ("alpha", "beta", "gamma", "delta", "omega"):
        lines = "\n".join(f"{word} {word}{n} went {word} at {word}-{n * n}" for n in range(40))
        talk.call("bash", {"command": "tail log"}, lines)
    talk.call("bash", {"command": "ls"}, "log")
    before = Conversation.parse(talk.messages, COUNTER)
    new, _ = EvictionEngine("semantic_merge", counter=COUNTER).evict_from(before, before.tokens // 2)
    assert " of tool_result, turns" not in str(new)


def managed(conversation: Conversation, answer: str) -> tuple[list[str], list[Decision]]:
    """The lines that take the place of merged results if a model answers so, and the decisions of the manager."""
    asked: list[str] = []

    def model(system: str, user: str) -> str:
        asked.append(user)
        return answer

    taken: list[Decision] = []
    config = {"max_context_tokens": int(conversation.tokens / 0.8), "eviction": {"policy": "semantic_merge"},
              "compression": {"cascade": {0.75: "progressive"}}}  # fmt: skip
    manager = ContextWindowManager.from_config(config, COUNTER, provider=model, audit=taken.append)
    start = manager.on_turn_start(conversation.given)
    assert len([one for one in asked if "say nearly the same" in one]) == 1
    texts = [block.content for block in Conversation.parse(start.messages, COUNTER).blocks]
    return [text for text in texts if " of tool_result, turns" in text], taken


def test_a_model_says_what_merged_results_say() -> None:
    said = "Twelve status reports: queued twice, then running; all eleven pods ready at step 11."
    (line,), taken = managed(polled(30), said)
    assert line == f'[Evicted: 30 of tool_result, turns 1 to 30 (bash "deploy status"); by model: {said}]'
    (step,) = [one for one in taken if one.event == "step" and one.decision == "eviction"]
    assert step.details["model"] == {"asked": 1, "used": 1, "refused": 0}


@pytest.mark.parametrize("answer", ["Bananas are yellow fruit from warm countries.", "word " * 300, ""])
def test_unrelated_or_overlong_model_summary_is_not_used(answer: str) -> None:
    (line,), _ = managed(polled(30), answer)
    assert "the last said: " in line
    assert "by model" not in line


def test_texts_that_mean_the_same_are_merged_by_the_embeddings_of_a_model() -> None:
    pytest.importorskip("numpy")  # comes with the extra `semantic`
    # The model knows two meanings; the words of the texts have nothing in common.
    talk = Talk("Watch the deployment.")
    texts = ("The rollout has finished without a problem, so that nothing is left to be done here today. " * 4,
             "Deployment complete; every single instance answers now, and this job may end at once. " * 4,
             "All servers run their newest version; whoever waited can go on with other tasks again. " * 4)  # fmt: skip
    for number, text in enumerate(texts):
        talk.call("bash", {"command": f"watch {number}"}, text)
    talk.call("bash", {"command": "ls"}, "shop.yaml")
    conversation = Conversation.parse(talk.messages, COUNTER)

    def embed(given: Sequence[str]) -> list[list[float]]:
        return [[1.0, 0.0] if text in texts else [0.0, 1.0] for text in given]

    plain = EvictionEngine("semantic_merge", counter=COUNTER).evict_from(conversation, 100)[1]
    assert plain.similar_by == ""
    new, found = EvictionEngine("semantic_merge", counter=COUNTER, embed=embed).evict_from(conversation, 100)
    assert found.similar_by == "embeddings"
    assert "[Evicted: 3 of tool_result, turns 1 to 3" in str(new)
