"""What must survive: found once, looked for whole."""

from __future__ import annotations

from typing import Any

import pytest

from memctl.window import CompressionEngine, Conversation
from memctl.window.preservation import essentials
from memctl.window.preservation.essentials import ERROR, ISSUE, NUMBER, PATH, Essential
from tests.window.talk import Talk
from tests.window.texts import COUNTER, assistant, result, text, use, user


def of(*messages: dict[str, Any]) -> list[Essential]:
    return essentials.of_blocks(Conversation.parse(list(messages), COUNTER).blocks)


@pytest.mark.parametrize(
    ("said", "figures"),
    [
        ("23 files, 13/23 done", ["23 files", "13/23"]),
        ("up to 85 % or 85%, at 12,345 tokens.", ["85 %", "85%", "12,345 tokens"]),
        ("until 2025-11-04, not 2026-01-02", ["2025-11-04", "2026-01-02"]),
        ("version 1.22.3, then 105.", ["1.22.3", "105"]),
        ("5 files and 3 things", ["5 files"]),
        ("between 10-20 s, port:5432, timeout=30", ["10", "20 s", "5432", "30"]),
        ("src/v2/part17.py and x86 and a/12", []),
    ],
)
def test_figures_have_their_units(said: str, figures: list[str]) -> None:
    assert [one.text for one in essentials.named_in(said) if one.kind == NUMBER] == figures


@pytest.mark.parametrize(
    ("figure", "told", "is_there"),
    [
        ("30 s", "a timeout of 30s", True),
        ("30 s", "a timeout of 30 s.", True),
        ("25", "from 1250 to 2500", False),
        ("25", "25, no more", True),
        ("13/23", "13/230", False),
        ("10", "10,000 rows", False),
        ("12", "12.5 s", False),
        ("12", "in 12.", True),
        ("443", "port_443 and x443", False),
        ("80%", "80 % of it", True),
        ("2025-11-04", "2025-11-04T10:00Z", True),
        ("10 s", "10 services", False),
        ("13", "13/23 of 7/13", False),
        ("30", "30ms", False),
    ],
)
def test_a_figure_is_looked_for_whole(figure: str, told: str, is_there: bool) -> None:
    assert (essentials.missing_in([Essential(NUMBER, figure)], told) == []) is is_there


@pytest.mark.parametrize(
    ("path", "told", "is_there"),
    [
        ("pool.py", "in carpool.py", False),
        ("pool.py", "in src/pool.py", False),
        ("pool.py", "in pool.pyi and pool.py.bak and pool.py-old", False),
        ("pool.py", "carpool.py, pool.py.", True),
        ("src/pool.py", "src/pool.py:10: no", True),
        ("src/pool.py", "`src/pool.py`, (src/x.py)", True),
        ("src/pool.py", '{"command": "cd x\\nsrc/pool.py\\n"}', True),
        ("src/pool", "src/pool/size.py", False),
        ("/w/src", "/w/src/", False),
    ],
)
def test_a_path_is_looked_for_whole(path: str, told: str, is_there: bool) -> None:
    assert (essentials.missing_in([Essential(PATH, path)], told) == []) is is_there


def test_an_error_is_looked_for_whole() -> None:
    wanted = [Essential(ERROR, "KeyError"), Essential(ERROR, "the pool is empty")]
    assert essentials.missing_in(wanted, "MyKeyErrors came, for the pool is empty.") == wanted[:1]
    assert essentials.missing_in(wanted, "a builtins.KeyError: the pool is empty") == []


def test_a_compaction_that_only_has_a_longer_path_has_lost_the_shorter_one() -> None:
    wanted = of(user("The fault is in pool.py."), assistant(text("I look at carpool.py.")))
    assert Essential(PATH, "pool.py") in wanted
    assert Essential(PATH, "pool.py") in essentials.missing_in(wanted, "The fault is in carpool.py. I look at it.")


def test_essentials_have_only_errors_and_paths_mentioned_in_messages() -> None:
    found = of(
        user("src/pool.py gives a KeyError, and then HTTP 503"),
        assistant(use("t1", "Bash", command="make")),
        user(result("t1", "other/file.py: a ValueError, but nobody said a word of it")),
        assistant("I see."),
    )
    assert {one.text for one in found if one.kind == ERROR} == {"KeyError", "HTTP 503"}
    assert {one.text for one in found if one.kind == PATH} == {"src/pool.py"}


def test_todo_in_an_answer_is_an_open_issue_but_todo_in_code_is_not() -> None:
    code = {"file_path": "src/pool.py", "content": "x = 1  # TODO: make this a setting of the pool\n"}
    found = of(
        user("Go"),
        assistant(text("TODO: the retries of the pool are still open"), use("t1", "Write", **code)),
        user(result("t1", "ok")),
        assistant("ok"),
    )
    assert [one.text for one in found if one.kind == ISSUE] == ["the retries of the pool are still open"]


def test_last_text_on_the_state_of_the_work_counts_in_all_its_parts() -> None:
    old = assistant(text("## Current state\n- The till rounds up\n\n## Next steps\n1. Ask the bank"))
    new = assistant(text("## Current state\n- The till rounds once\n\n## Next steps\n1. Tell the shops"))
    found = [one.text for one in of(user("go on"), old, user("well"), new) if one.kind == essentials.STATEMENT]
    assert found == ["## Current state - The till rounds once", "## Next steps 1. Tell the shops"]


def test_names_in_a_long_message_do_not_prevent_compaction() -> None:
    talk = Talk()
    talk.say("A word before. " + "The sky is grey over the town. " * 40 + "See docs/port.md with 4711 rows.", "ok")
    for number in range(12):
        talk.call("Read", {"file_path": "README.md"}, f"{number} words of it\n" * 200)
    before = Conversation.parse(talk.messages, COUNTER)
    step = CompressionEngine(COUNTER).compact_conversation(before)
    assert step.result.refused == ""
    assert "docs/port.md with 4711 rows" in step.result.compressed_content


def test_last_fifteen_read_files_must_survive() -> None:
    talk = Talk("Go on")
    for number in range(20):
        talk.call("Read", {"file_path": f"src/part{number:02}.py"}, "x = 1")
    assert sorted(one.text for one in of(*talk.messages) if one.kind == PATH) == [
        f"src/part{number:02}.py" for number in range(5, 20)
    ]


def test_an_assent_alone_does_not_stand_for_the_option_that_it_names() -> None:
    option = "Single smart command detects the strategy"
    assent = (
        "and I would even consider cleaning up independent of what strategy is active, the other may have been before"
    )
    one = Essential(essentials.DECISION, f"{option}; {assent}")
    assert essentials.missing_in([one], f"The user said:\n- {assent}") == [one]
    assert essentials.missing_in([one], f"{option}\n{assent}") == []
