"""What says nearly the same becomes one line: how often, and what the last said."""

from __future__ import annotations

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import Conversation, EvictionEngine, validate
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


def test_twelve_polls_become_one_line_with_how_often_and_what_the_last_said() -> None:
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
