"""What a transcript in plain text says of files and errors: exactly what, and nothing that is only talked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.session import failures, tool_calls
from memctl.transcript import reader
from memctl.transcript.events import ANSWER, CALL, PROMPT
from tests.conftest import Memctl


def touched(text: str) -> list[tuple[str, str]]:
    session = reader.read(text.encode())
    return [(t.path, t.action) for event in session.events if event.kind == CALL for t in tool_calls.touched(event)]


@pytest.mark.parametrize(
    ("said", "files"),
    [
        ("Created src/a.py.", [("src/a.py", "created")]),
        ("- Modified `src/a.py`: an empty cart is one", [("src/a.py", "modified")]),
        ("I've updated README.md and src/b.ts.", [("README.md", "modified"), ("src/b.ts", "modified")]),
        ("I looked at src/a.py, src/b.py and c.go.", [("src/a.py", "read"), ("src/b.py", "read"), ("c.go", "read")]),
        ("Then I wrote the new file docs/x.md", [("docs/x.md", "written")]),
        ("src/gone.py was deleted.", [("src/gone.py", "deleted")]),
        ("Renamed a/old.py to a/new.py.", [("a/old.py", "deleted"), ("a/new.py", "written")]),
        ("Created x.py. Deleted x.py.", [("x.py", "created"), ("x.py", "deleted")]),
        ("Updated `Makefile` and docs/README.", [("Makefile", "modified"), ("docs/README", "modified")]),
        ("Updated deploy/app.tmpl and App.JS", [("deploy/app.tmpl", "modified"), ("App.JS", "modified")]),
        ("Applied edit to shop/cart.py", [("shop/cart.py", "modified")]),
        ("● Update(src/shop.ts)\n  ⎿  Updated with 2 additions", [("src/shop.ts", "modified")]),
        ("⏺ Write(docs/plan.md)", [("docs/plan.md", "written")]),
        ('⏺ Read(file_path: "src/a.py")', [("src/a.py", "read")]),
        ("$ rm src/a.py && cat b.txt", [("src/a.py", "deleted"), ("b.txt", "read")]),
        ("ada@host:~/shop $ cat b.txt", [("b.txt", "read")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_sentence_about_a_changed_file_is_a_call(said: str, files: list[tuple[str, str]]) -> None:
    assert touched(f"User: Go on.\nAssistant: Well.\n{said}\n") == files
    assert touched(said) == files


@pytest.mark.parametrize(
    "said",
    [
        "I'll update src/a.py later.",
        "We should have created src/a.py.",
        "I have not modified src/a.py.",
        "We never edited src/a.py.",
        "src/a.py is where it goes wrong.",
        "Updated version 2.0 of it.",
        "Read more at https://example.org/a.html.",
        "Added tests, e.g. for carts.",
        "It costs 5 $ a month.",
        "`deleted` is a status.",
        "I read the Node.js docs.",
        "Fixed e.g. the parser.",
        "I changed self.name and updated `config.get`.",
        "Updated user.email, numpy.array and v1.2.x.",
        "Added TCP/IP support and fixed client/server errors.",
        "I deleted origin/main and created feature/login.",
        "Added /api/users, read example.com/page.",
        "I updated net/http.Client.",
        "If I deleted src/a.py, it would break.",
        "Did you think I modified src/a.py?",
        "You said I edited src/a.py.",
        "Nothing in src/a.py was changed.",
        "It costs $ cat.py at most",
        "$ 5.00 for a.py",
    ],
)
def test_a_file_that_is_only_mentioned_is_not_touched(said: str) -> None:
    assert touched(f"Assistant: {said}\n") == []


def test_changes_made_by_the_user_are_not_touched_files() -> None:
    assert touched("User: I modified src/a.py myself.\nAssistant: I see.\n") == []


def test_errors_below_a_prompt_are_found_and_resolved_by_a_later_success() -> None:
    text = """Assistant: I run them.
```
$ pytest tests/cart

Traceback (most recent call last)
ValueError: empty cart
```
● Bash(npm test -- --run)
  ⎿  Exit code 1
     error: no such script
$ pytest tests/cart
3 passed
"""
    found = {
        one.step: (one.message, bool(one.resolved)) for one in failures.of_events(reader.read(text.encode()).events)
    }
    assert found == {
        "pytest tests/cart": ("ValueError: empty cart", True),
        "npm test -- --run": ("error: no such script", False),
    }


def test_speakers_are_distinguished_and_counted() -> None:
    session = reader.read(b"User: Go.\nAssistant: Created a.py.\n## Human: And?\n**Claude**: Done.\n")
    assert [event.kind for event in session.events] == [PROMPT, ANSWER, CALL, PROMPT, ANSWER]
    assert session.answers == 2


@pytest.mark.parametrize(
    "unit",
    ["a", "a/", "a.", "`", "a.b ", "$ ", "I read ", "created a.py, ", "\n", " \n", "$ a\n\n", "If I read a.py and "],
)
def test_long_text_of_any_pattern_is_read_quickly(unit: str) -> None:
    """Patterns that go back over what they have read would take hours."""
    reader.read((unit * (150_000 // len(unit))).encode())


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x00\x01", b'{"a": 1}', b"[1, 2]", b'{"a": 1}\n{"b": 2}\n', b"  \n", b"null", b"5", b"-3.5\n", b"true",
        b'"User: hi"', b"null\n\nnull\n", b"1\n2\n", b'{"messages": null}', b'{"messages": 5}', b'{"input": {}}',
    ],
    ids=repr,
)  # fmt: skip
def test_invalid_transcript_is_refused(memctl: Memctl, tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "given"
    file.write_bytes(data)
    refused = memctl("session", "summarize", "--transcript", str(file), "--dry-run", code=1)
    assert "is not a transcript" in refused.err


def test_the_page_of_a_session_in_plain_text_names_its_files(memctl: Memctl, tmp_path: Path) -> None:
    file = tmp_path / "said.txt"
    file.write_text("User: Mend the cart.\nAssistant: Modified app.py and created lib/money.py.\n")
    page = memctl("session", "summarize", "--transcript", str(file), "--dry-run").out
    assert "app.py" in page
    assert "lib/money.py" in page


TERMINAL = """\
✻ Welcome to Claude Code!

> Fix the rounding,
  and keep the API

● I will look at it.

> src/a.py only
  ⎿  noted

● Update(src/a.py)
  ⎿  Updated src/a.py with 1 addition

● Bash(pytest)
  ⎿  Error: 1 failed

● Next steps: deploy
"""


def test_copied_terminal_text_yields_prompts_answers_and_files() -> None:
    session = reader.read(TERMINAL.encode())
    asked = [event.text for event in session.events if event.kind == PROMPT]
    assert asked == ["Fix the rounding,\n  and keep the API", "src/a.py only"]
    assert session.answers == 2
    assert touched(TERMINAL) == [("src/a.py", "modified")]


def test_quotation_in_an_account_of_work_is_no_prompt() -> None:
    session = reader.read(b"Created src/a.py.\n\n> as the ticket says\n\nDone.\n")
    assert [event.text for event in session.events if event.kind == PROMPT] == []


def test_lines_between_shown_calls_are_not_prompts() -> None:
    text = "User: build the shop\n\n● Update(src/a.py)\n$ rm src/b.py\n\nCreated src/new.py.\n"
    events = reader.read(text.encode()).events
    assert [event.text for event in events if event.kind == PROMPT] == ["build the shop"]
    assert touched(text) == [("src/a.py", "modified"), ("src/b.py", "deleted"), ("src/new.py", "created")]
