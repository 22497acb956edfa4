"""Compaction again and again: what an earlier digest says stays, and what came right since goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window.compression.model import Model
from memctl.window.compression.result import CompressionStep
from memctl.window.compression.strategies import Compactor
from memctl.window.messages.conversation import Conversation
from memctl.window.messages.validity import validate
from memctl.window.preservation import essentials
from memctl.window.preservation.essentials import Essential
from tests.window.talk import Talk

COUNTER = Counter(FAMILIES["claude"])


def parsed(given: Any) -> Conversation:
    return Conversation.parse(given, COUNTER)


def compacted(talk: Talk, earlier: Sequence[Essential] = (), **given: Any) -> CompressionStep:
    """The conversation after a compaction; the talk goes on from there."""
    step = Compactor(parsed(talk.messages), COUNTER, None, earlier).compact(**given)
    assert step.result.refused == ""
    assert validate(step.conversation.messages) == []
    talk.messages = list(step.conversation.messages)
    return step


def work(talk: Talk, name: str, calls: int = 10) -> None:
    """Calls that nothing is to be kept of but the files that they read."""
    for number in range(calls):
        lines = "\n".join(f"{line} x{line * number}" for line in range(100))
        talk.call("Read", {"file_path": f"{name}{number}.py"}, lines)


def make(talk: Talk, target: str, *, fails: bool) -> None:
    output = f"error: {target} broke" if fails else "done"
    talk.call("Bash", {"command": f"make {target}"}, output, is_error=fails)


def sections(step: CompressionStep) -> dict[str, list[str]]:
    """The lines of the digest by section."""
    parts = [part.split("\n- ") for part in step.result.compressed_content.split("\n\n")[1:]]
    return {name.rstrip(":"): lines for name, *lines in parts}


def test_an_error_stays_through_compactions_until_its_step_succeeds() -> None:
    talk = Talk("Fix the build.")
    for target in ("a", "b", "c"):
        make(talk, target, fails=True)
        work(talk, target)
        step = compacted(talk)
    assert sections(step)["Errors not resolved"] == [f"make {name}: error: {name} broke" for name in "abc"]
    make(talk, "b", fails=False)
    work(talk, "d")
    assert sections(compacted(talk))["Errors not resolved"] == [f"make {name}: error: {name} broke" for name in "ac"]


def test_a_digest_has_the_newest_next_step_alone_and_steps_go_on_from_the_digest_before() -> None:
    talk = Talk("Migrate the services to fetch.")
    todos = [{"content": f"Port {name}.ts", "status": "pending"} for name in "ab"]
    talk.call("TodoWrite", {"todos": todos}, "ok")
    for name, following in zip("abc", "bcd", strict=True):
        talk.say("Go on.", f"{name}.ts is migrated. Next: {following}.ts.")
        work(talk, name)
    found = sections(compacted(talk))
    assert found["Next"] == ["d.ts"]
    assert found["State"] == ["[ ] Port a.ts (claimed)", "[ ] Port b.ts (claimed)", "[ ] c.ts (claimed)"]
    talk.call("Bash", {"command": 'git commit -qm "refactor: fetch in a.ts"'}, "[main 1a2b3c4] refactor: fetch")
    talk.say("Go on.", "Decision: use one wrapper because retries stand there.")
    work(talk, "d")
    found = sections(compacted(talk))
    assert found["State"][0] == "[x] Port a.ts (done)"
    assert found["State"][1:] == ["[ ] Port b.ts (claimed)", "[ ] c.ts (claimed)"]
    assert found["Next"] == ["d.ts"]
    assert found["Decisions"] == ["use one wrapper — Because: retries stand there."]


def test_errors_in_an_earlier_digest_must_survive() -> None:
    talk = Talk("Fix the build.")
    make(talk, "a", fails=True)
    talk.call("Edit", {"file_path": "src/changed (old).py", "old_string": "a", "new_string": "b"}, "ok")
    work(talk, "f")
    compacted(talk)
    make(talk, "b", fails=True)
    wanted = essentials.of_blocks(parsed(talk.messages).blocks)
    assert [one.text for one in wanted if one.kind == essentials.ERROR] == ["make a: error: a broke", "error: b broke"]
    paths = [one.text for one in wanted if one.kind == essentials.PATH]
    assert {"src/changed (old).py", "f0.py", "f9.py"} <= set(paths)
    make(talk, "a", fails=False)
    wanted = essentials.of_blocks(parsed(talk.messages).blocks)
    assert [one.text for one in wanted if one.kind == essentials.ERROR] == ["error: b broke"]


def test_path_only_named_is_not_listed_as_a_read_file() -> None:
    talk = Talk("Port the shop.")
    talk.say("Never touch src/legacy.py, and see docs/port.md.", "Understood.")
    work(talk, "src/part")
    before = parsed(talk.messages)
    found = sections(compacted(talk, earlier=essentials.of_blocks(before.blocks)))
    assert found["Files read last"] == [f"src/part{number}.py" for number in range(5)]
    assert "Never touch src/legacy.py" in str(found)


def test_paths_only_named_in_the_task_get_their_own_heading() -> None:
    talk = Talk("Port the shop as src/legacy.py has it.")
    work(talk, "src/part")
    wanted = essentials.of_blocks(parsed(talk.messages).blocks)
    found = sections(compacted(talk, earlier=wanted))
    assert found["Paths named"] == ["src/legacy.py"]
    assert "src/legacy.py" not in found["Files read last"]
    talk.call("Read", {"file_path": "src/legacy.py"}, "x = 1\n")
    work(talk, "src/more")
    found = sections(compacted(talk))
    assert "src/legacy.py" in found["Files read last"]
    assert "Paths named" not in found


def test_a_file_that_is_read_again_counts_as_read_last() -> None:
    talk = Talk("Read on.")
    work(talk, "src/old")
    compacted(talk)
    talk.call("Read", {"file_path": "src/old0.py"}, "x = 1\n")
    work(talk, "src/new", 16)
    assert "src/old0.py" in sections(compacted(talk, kept_turns=3))["Files read last"]


def test_compaction_keeps_as_many_last_turns_as_the_target_allows() -> None:
    talk = Talk("Read on.")
    work(talk, "src/part", 40)
    before = parsed(talk.messages)
    turn = before.tokens // 40
    fewest = Compactor(before, COUNTER, None).compact().conversation.tokens
    for target in (fewest - 1, fewest, before.tokens // 4, before.tokens // 2, before.tokens * 3 // 4):
        step = Compactor(before, COUNTER, None).compact(target=target)
        assert step.result.refused == ""
        assert validate(step.conversation.messages) == []
        assert step == Compactor(before, COUNTER, None).compact(target=target)
        if target < fewest:
            assert step.conversation.tokens == fewest
        else:
            assert target - 2 * turn < step.conversation.tokens <= target


class Wordy:
    """A provider that keeps all of what must survive, in many words."""

    name = "a program"

    def __init__(self, kept: str) -> None:
        self.kept = kept

    def answer(self, prompt: str) -> str:
        return f"{self.kept}\n" + "and so on " * 2_000


def test_a_model_that_says_too_much_does_not_miss_a_target_that_rules_reach() -> None:
    talk = Talk("Read on.")
    work(talk, "src/part", 40)
    before = parsed(talk.messages)
    kept = "\n".join(one.text for one in essentials.of_blocks(before.blocks))
    target = before.tokens // 2
    step = Compactor(before, COUNTER, Model(Wordy(kept))).compact(target=target)
    assert step.conversation.tokens <= target
    assert step.result.metadata["provider"] == "with the model's digest the window would be larger than the target"
    assert "and so on" in Compactor(before, COUNTER, Model(Wordy(kept))).compact().result.compressed_content


def test_a_digest_grows_by_what_is_new_and_not_by_its_own_headings() -> None:
    talk = Talk("Migrate the services to fetch. Never touch legacy/.")
    for number in range(6):
        talk.call("Edit", {"file_path": f"src/part{number}.ts", "old_string": "a", "new_string": "b"}, "changed")
        talk.say(
            "Go on.", f"Decision: use wrapper{number} because of its retries.\n\nCRITICAL: call{number} is not atomic"
        )
        work(talk, f"file{number}_")
        found = sections(compacted(talk))
    assert found["Stated, oldest first"] == [f"CRITICAL: call{number} is not atomic" for number in range(6)]
    assert len(found["Decisions"]) == len(found["Files changed"]) == 6


def test_digest_has_the_latest_next_steps_and_changed_files() -> None:
    talk = Talk("Migrate the services to fetch.")
    for number in range(60):
        path = f"src/part{number}.ts"
        talk.call("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "changed")
        talk.say("Go on.", f"Next: migrate src/part{number + 1}.ts to fetch, and its tests.")
        if number % 20 == 19:
            work(talk, f"file{number}_")
            step = compacted(talk)
    assert step.result.compressed_content.count("and its tests") <= 2
    assert sections(step)["Next"] == ["migrate src/part60.ts to fetch, and its tests"]
    assert sections(step)["Files changed"][-1] == "src/part59.ts (modified)"
    assert len(sections(step)["Files changed"]) + len(sections(step).get("Paths named", ())) <= 50


def test_digest_has_what_a_yes_and_a_number_answer_after_a_second_compaction_too() -> None:
    talk = Talk("Set up the archive of the till.")
    talk.say("yes", "Receipts go to till-archive-2 for 45 days, then to tape for 700. Shall I set it up like that?")
    work(talk, "first_")
    talk.say("3. - with its date, yeah?", "Who gets the report?\n1. Nobody\n2. The owner\n3. The auditor at desk-9")
    for name in ("second_", "third_"):
        work(talk, name)
        said = "\n".join(sections(compacted(talk))["The user said"])
        assert "yes — in answer to: Receipts go to till-archive-2 for 45 days, then to tape for 700. Shall I" in said
        assert "3. - with its date, yeah? — in answer to: Who gets the report? The auditor at desk-9" in said
        assert "The owner" not in said
