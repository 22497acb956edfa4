"""What an edit did to a file, in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.session import edits, trail
from memctl.session.trail import Places
from memctl.transcript.events import ANSWER, CALL, PROMPT, RESULT, Event, Session

PATCH = """\
*** Begin Patch
*** Update File: pay/bank.py
@@
 def send(order):
-    return post(order)
+    return post(order, timeout=30)
+
+def retry(order):
+    return send(order)
*** Add File: pay/NOTES.md
+# Payments
+
+Sent once.
*** End Patch
"""


@pytest.mark.parametrize(
    ("path", "old", "new", "words"),
    [
        ("a.py", "def send():\n    pass\n", "def send():\n    go()\n\ndef retry():\n    pass\n",
         "adds retry(), changes send(); +2 lines"),
        ("a.py", "def send():\n    pass\n\ndef old():\n    pass\n", "def send():\n    pass\n",
         "removes old(); -2 lines"),
        ("a.go", "func Get() int {\n\treturn 1\n}\n", "func Get() int {\n\treturn 2\n}\n",
         "changes func Get; +1 -1 lines"),
        ("a.md", "# Pay\n\nx\n", "# Pay\n\nx\n\n## Refunds\n\ny\n", "adds “Refunds”; +2 lines"),
        ("a.toml", "limit = 1\n", "limit = 2\n", "“limit = 2”; +1 -1 lines"),
        ("a.py", "x = 1\n", "x = 1\n", ""),
    ],
)  # fmt: skip
def test_an_edit_is_described_by_names_and_sizes(path: str, old: str, new: str, words: str) -> None:
    call = Event(CALL, tool="Edit", arguments={"file_path": path, "old_string": old, "new_string": new})
    assert edits.of_call(call, path) == words


def test_many_names_are_counted_and_several_edits_are_one() -> None:
    text = "".join(f"def part_{number}():\n    pass\n\n" for number in range(6))
    written = Event(CALL, tool="Write", arguments={"file_path": "a.py", "content": text})
    assert edits.of_call(written, "a.py") == "defines part_0(), part_1(), part_2(), part_3() and 2 more; 18 lines"
    both = [{"old_string": "", "new_string": f"def part_{number}():\n    pass\n"} for number in range(2)]
    many = Event(CALL, tool="MultiEdit", arguments={"file_path": "a.py", "edits": both})
    assert edits.of_call(many, "a.py") == "adds part_0(), part_1(); +4 lines"


@pytest.mark.parametrize(
    ("descriptions", "words"),
    [
        (
            ["adds retry(); +5 lines", "changes retry(), changes send(); +1 -1 lines", "+2 lines"],
            "adds retry(), changes send(); +8 -1 lines",
        ),
        (["defines A, B; 20 lines", "adds C, changes A; +3 -1 lines"], "defines A, B, C; 22 lines"),
        (["“limit = 2”; +1 -1 lines", "“burst = 3”; +1 line"], "+2 -1 lines"),
        (
            ["adds old(); +4 lines", "removes old(); -4 lines", "moved from b.py"],
            "removes old(); moved from b.py; +4 -4 lines",
        ),
    ],
)
def test_edits_of_one_file_are_described_at_once(descriptions: list[str], words: str) -> None:
    assert edits.join(descriptions) == words


def test_each_file_of_a_patch_has_its_own_description() -> None:
    call = Event(CALL, tool="apply_patch", arguments={"input": PATCH})
    assert edits.of_call(call, "pay/bank.py") == "adds retry(), changes send(); +3 -1 lines"
    assert edits.of_call(call, "pay/NOTES.md") == "adds “Payments”; +2 lines"


def test_explanation_of_a_call_is_used_and_a_read_has_none() -> None:
    told = Event(CALL, tool="edit", arguments={"path": "a.py", "explanation": "Retries go out.", "new_str": "x"})
    assert edits.of_call(told, "a.py") == "Retries go out."
    assert edits.of_call(Event(CALL, tool="Read", arguments={"file_path": "a.py"}), "a.py") == ""


def test_reason_for_a_read_is_the_answer_right_before_it() -> None:
    def read(path: str) -> list[Event]:
        return [Event(CALL, tool="Read", arguments={"file_path": path}, call=path), Event(RESULT, "x", call=path)]

    events = [
        Event(ANSWER, "Two mails go out. Let me check how the queue is locked:"),
        *read("queue.py"),
        *read("lock.py"),
        Event(ANSWER, "It is not."),
        *read("mail.py"),
        Event(PROMPT, "go on"),
        *read("log.py"),
    ]
    made = trail.of_session(Session("x", tuple(events)), Places(Path("/nowhere"), "/nowhere"), (), ())
    assert {entry.path: entry.what for entry in made.entries} == {
        "queue.py": ("check how the queue is locked",),
        "lock.py": ("check how the queue is locked",),
        "mail.py": (),
        "log.py": (),
    }
