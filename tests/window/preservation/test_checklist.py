"""The list by which a compression is checked: made by itself, and what is missing is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memctl.window import Conversation
from memctl.window.preservation import checklist
from memctl.window.preservation.checklist import AGREED, ERROR, LINE, MESSAGE, PATH, Entry
from tests.conftest import Memctl
from tests.statements.test_reader import BUG, CHANGE, DECISION, DETAIL, FORMS, OWNER, TASK
from tests.test_architecture import NAMES, imports
from tests.window.talk import Talk
from tests.window.texts import COUNTER, assistant, result, text, use, user

EXAMPLES = (DECISION, BUG, DETAIL, CHANGE, TASK, OWNER)


def of(*messages: dict[str, Any]) -> list[Entry]:
    return checklist.of_blocks(Conversation.parse(list(messages), COUNTER).blocks)


def test_checklist_imports_nothing_of_the_code_that_chooses() -> None:
    reached, ahead = set[str](), ["memctl.window.preservation.checklist"]
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += imports(NAMES[name]) & NAMES.keys()
    choosers = ("memctl.statements", "memctl.session", "memctl.pack", "memctl.window.compression")
    assert [name for name in reached if name.startswith(choosers)] == []
    assert "memctl.window.preservation.essentials" not in reached
    assert "memctl.window.preservation.events" not in reached


@pytest.mark.parametrize(
    "form", [one for one in FORMS if one not in ("in two cells", "in small letters", "label in bold behind a time")]
)
@pytest.mark.parametrize("example", EXAMPLES, ids=[one.split(":")[0] for one in EXAMPLES])
def test_each_line_with_a_label_is_on_it_behind_any_mark(example: str, form: str) -> None:
    lines = [FORMS[form](line) for line in example.split("\n")]
    found = [one.text for one in of(user("Go"), assistant("\n".join(["Well.", *lines]))) if one.kind == LINE]
    labelled = [
        line for line in example.split("\n") if ": " in line and line.split(":")[0] not in ("Storage", "Lookup")
    ]
    labelled = [line for line in labelled if not line.startswith(" ")]
    assert len(found) >= len(labelled)
    assert checklist.missing([Entry(LINE, one) for one in found], "\n".join(lines)) == []
    assert len(checklist.missing([Entry(LINE, one) for one in found], "Well.")) == len(found)


def test_messages_paths_and_errors_are_on_it() -> None:
    found = of(
        user("Mend the till."),
        assistant(text("I do."), use("1", "Edit", file_path="src/till.py", old_string="a", new_string="b")),
        user(result("1", "ok")),
        assistant(use("2", "Write", file_path="src/no.py", content="x"), use("3", "Bash", command="make")),
        user(
            result("2", "refused", is_error=True),
            result("3", "a\nKeyError: 'sum'\n  E   assert 1 == 2\nerror: no rule"),
        ),
        assistant("Hm."),
        user("x" * 600),
    )
    assert Entry(MESSAGE, "Mend the till.") in found
    assert [one.text for one in found if one.kind == PATH] == ["src/till.py"]
    assert [one.text for one in found if one.kind == ERROR] == ["KeyError: 'sum'", "E assert 1 == 2", "error: no rule"]
    assert len([one for one in found if one.kind == MESSAGE]) == 1


def long_conversation() -> list[dict[str, Any]]:
    talk = Talk("Serve the price list.")
    talk.say("Write down what is known.", "\n\n".join(["I noted:", *EXAMPLES]))
    for number in range(12):
        talk.call("Read", {"file_path": f"src/part{number}.py"}, f"value_{number} = {number}\n" * 400)
    return talk.messages


@pytest.mark.parametrize("strategy", ["cascade", "compaction", "progressive"])
def test_compaction_loses_nothing_on_the_checklist(memctl: Memctl, tmp_path: Path, strategy: str) -> None:
    file = tmp_path / "m.json"
    file.write_text(json.dumps(long_conversation()))
    args = ("--target", "3000", "--strategy", strategy, "--json", "-o", str(tmp_path / "out.json"))
    data = memctl("window", "compact", str(file), *args, code=None).data
    assert data["missing"] == []
    assert data["checked"] > 20
    left = json.dumps(json.loads((tmp_path / "out.json").read_text()), ensure_ascii=False)
    plain = " ".join(left.replace("\\n", " ").split())
    for example in EXAMPLES:
        assert " ".join(example.split()) in plain


def test_line_deleted_by_hand_is_reported_as_missing(memctl: Memctl, tmp_path: Path) -> None:
    messages = long_conversation()
    (tmp_path / "a.json").write_text(json.dumps(messages))
    (tmp_path / "b.json").write_text(json.dumps(messages).replace(json.dumps(DECISION)[1:-1], ""))
    found = memctl("window", "fidelity", str(tmp_path / "a.json"), str(tmp_path / "b.json"), code=1)
    assert not found.out.startswith("fidelity 1.00")
    assert "missing  labelled line  Keep orders as events" in found.out
    same = memctl("window", "fidelity", str(tmp_path / "a.json"), str(tmp_path / "a.json"))
    assert same.out.startswith("fidelity 1.00")


def test_what_a_user_says_on_refusing_a_call_is_a_message() -> None:
    refusal = "The user doesn't want to proceed. To tell you how to proceed, the user said:\nnot yet, ask Ann"
    refused = {**result("t1", refusal), "is_error": True}
    found = of(user("Go"), assistant(use("t1", "Bash", command="make ship")), user(refused))
    assert [one.text for one in found if one.kind == MESSAGE] == ["Go", "not yet, ask Ann"]


def test_words_of_the_host_on_a_refused_question_are_no_message() -> None:
    refusal = "The user doesn't want to proceed. To tell you how to proceed, the user said:\n"
    refused = {**result("t1", f"{refusal}The user wants to clarify these questions. Ask again."), "is_error": True}
    found = of(user("Go"), assistant(use("t1", "Ask", question="Which till?")), user(refused))
    assert [one.text for one in found if one.kind == MESSAGE] == ["Go"]


def test_a_call_with_escaped_characters_is_whole() -> None:
    path = 'C:\\till\\price "list".py'
    blocks = Conversation.parse([user("Go"), assistant(use("1", "Edit", file_path=path))], COUNTER).blocks
    assert checklist.missing(checklist.of_blocks(blocks), checklist.text_of(blocks)) == []


def test_names_in_what_the_user_agreed_to_are_on_it() -> None:
    proposed = assistant("Receipts go to till-archive-2 for 45 days, see ops/tape.md. Shall I do that?")
    for reply in ("yes", "ok do that", "Sure, go ahead!"):
        found = [one.text for one in of(user("Go"), proposed, user(reply)) if one.kind == AGREED]
        assert found == ["till-archive-2", "45", "ops/tape.md"], reply
    options = assistant("Which?\n\n1. Nobody at desk-7\n2. The auditor at desk-9")
    assert [one.text for one in of(user("Go"), options, user("2")) if one.kind == AGREED] == ["desk-9"]
    for reply in ("2, please", "2 please"):
        assert [one.text for one in of(user("Go"), options, user(reply)) if one.kind == AGREED] == ["desk-9"]
    for reply in ("no", "Rename the archive first, then we talk about desk-9", "2 tests still fail"):
        assert [one for one in of(user("Go"), proposed, user(reply)) if one.kind == AGREED] == []
    assert [one for one in of(user("Go"), user("yes")) if one.kind == AGREED] == []
