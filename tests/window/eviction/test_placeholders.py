"""Placeholders: what was there, what it said, how to get it back, in fifty tokens."""

from __future__ import annotations

import msgspec
import pytest

from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import ContentBlock, ContentType
from memctl.window.eviction.placeholders import (
    Evicted,
    is_placeholder,
    placeholder,
    shorten_arguments,
)
from memctl.window.messages.content import recount
from memctl.window.results import summary
from memctl.window.results.rows import key_line
from tests.window.texts import COUNTER

RESULT, ANSWER = ContentType.TOOL_RESULT, ContentType.ASSISTANT_RESPONSE


def call(tool: str, **arguments: object) -> ContentBlock:
    return ContentBlock("c", ANSWER, msgspec.json.encode(arguments).decode(), 90, 7, tool_name=tool, call_id="t1")


def result(content: str, tokens: int = 3_000, **fields: object) -> ContentBlock:
    return ContentBlock("r", RESULT, content, tokens, 7, call_id="t1", **fields)  # type: ignore[arg-type]


def made(tool: str, said: str, **arguments: object) -> str:
    return placeholder(Evicted(result(said), call(tool, **arguments)), 50, COUNTER) or ""


def test_a_call_and_its_finding_are_named() -> None:
    content = "src/a.ts\nsrc/b.ts\n23 files reference axios in user-service/src/.\n"
    assert made("search_files", content, query="axios") == (
        '[Evicted: tool_result from turn 7 (search_files "axios"). '
        "Finding: 23 files reference axios in user-service/src/. Call it again if needed.]"
    )


@pytest.mark.parametrize(
    ("tool", "arguments", "content", "expected"),
    [
        ("Read", {"file_path": "src/a.ts"}, "x\ny\nz", 'Read "src/a.ts"). Finding: 3 lines. Call it again if needed.]'),
        ("Grep", {"path": "src", "pattern": "axios"}, "x\n", 'Grep "axios"). Finding: x. Call it again if needed.]'),
        ("Write", {"file_path": "a.py", "content": "x"}, "ok", 'Write "a.py"). Finding: ok. The file has it.]'),
        (
            "Bash",
            {"command": "npm test"},
            "a\nTests: 2 failed, 98 passed",
            "Finding: Tests: 2 failed, 98 passed. Rerun if",
        ),
        ("deploy", {}, "done in 3 seconds", "(deploy). Finding: done in 3 seconds. Rerun if harmless.]"),
        ("deploy", {"to": "  prod\n[now] "}, "done", '(deploy "prod (now)"). Finding: done.'),
        ("Bash", {"command": "x"}, "", '(Bash "x"). Rerun if harmless.]'),
    ],
)
def test_placeholder_names_the_finding_and_how_to_get_it_back(
    tool: str, arguments: dict[str, object], content: str, expected: str
) -> None:
    assert expected in made(tool, content, **arguments)


@pytest.mark.parametrize(
    ("tool", "arguments", "content"),
    [
        ("Grep", {"pattern": "axios"}, "\n".join(f"src/a{n}.ts:{n + 1}: axios" for n in range(90))),
        ("Glob", {"pattern": "**"}, "\n".join(f"src/a{n}.ts" for n in range(90))),
        ("Bash", {"command": "pytest"}, "tests/test_a.py ....\n" * 300 + "=== 3 failed, 897 passed in 3.1s ==="),
        ("Bash", {"command": "git diff"}, "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n" + "-a\n+b\n" * 90),
        ("Bash", {"command": "make"}, "\n".join(f"compiling {n}" for n in range(200)) + "\nbuilt 200 files"),
        ("fetch", {"url": "x"}, msgspec.json.encode({"rows": [{"id": n} for n in range(200)]}).decode()),
    ],
)
def test_placeholder_keeps_the_finding_of_the_summary(tool: str, arguments: dict[str, object], content: str) -> None:
    summed = summary.summarize(tool, arguments, content, lambda text: COUNTER.tokens(text, "log"))
    assert summed is not None
    first = next(line for line in summed.text.split("\n") if line.startswith("Finding: "))
    assert first in made(tool, content, **arguments)


def test_placeholder_of_an_error_keeps_the_line_that_names_it() -> None:
    content = "running\nTypeError: x is undefined\n  at a.ts:3\nTests: 4 passed"
    block = result(content, is_error=True)
    assert "TypeError: x is undefined" in (placeholder(Evicted(block), 50, COUNTER) or "")


def test_a_transcripts_line_is_named() -> None:
    block = result("x " * 90, metadata={"line": 123})
    assert "Whole: line 123 of the transcript.]" in (placeholder(Evicted(block, call("Read")), 50, COUNTER) or "")
    for name, shown in (
        ("talk.jsonl", "talk.jsonl"),
        ("0b1c2d3e-1111-4222-8333-444455556666.jsonl", "0b1c2d3e*.jsonl"),
    ):
        block = result("x " * 90, metadata={"line": 123, "source": name})
        assert f"Whole: line 123 of {shown}.]" in (placeholder(Evicted(block, call("Read")), 50, COUNTER) or "")


def test_line_of_a_file_is_a_finding_without_its_number() -> None:
    """A line of a file with the number that the host added, in a result that is not a file."""
    line = "     88\u2192\u2192Steps 1 + 2 compile src/catalogue/import/reader.ts, then 412 tests run in three stages"
    block = result("\n".join(["All that was read:", line, *("and so on" for _ in range(40))]), metadata={"line": 562})
    command = "npx ts-node scripts/release/collect-plan-of-the-next-three-releases.ts --verbose"
    texts = [placeholder(Evicted(block, call("Task", prompt=command)), most, COUNTER) or "" for most in range(28, 60)]
    assert any("Finding: Steps 1 + 2 compile" in text for text in texts)
    assert not any("\u2192" in text for text in texts)


def test_placeholder_keeps_the_source_before_the_command() -> None:
    """Where there is no room for the finding, the command and the line, the name of the tool is enough."""
    block = result("Tests:       3 failed, 84 passed\n" * 2, metadata={"line": 5})
    asked = call("Bash", command="npm test -- src/catalogue/client.test.ts --verbose")
    text = placeholder(Evicted(block, asked), 34, COUNTER) or ""
    assert text.startswith("[Evicted: tool_result from turn 7 (Bash). Finding: Tests:")
    assert text.endswith("Whole: line 5 of the transcript.]")


def test_images_that_go_along_are_named() -> None:
    block = result("a page", metadata={"uncounted": ["image", "image"]})
    assert "Finding: a page (and 2 of image)." in (placeholder(Evicted(block), 50, COUNTER) or "")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("most", [12, 25, 50, 200])
@pytest.mark.parametrize(
    "content", ["word " * 400, "日本語" * 400, "x" * 5_000, "😀\u202e\x1b[31m" * 90, "]" * 900, "", "\n"]
)
def test_placeholder_never_exceeds_its_limit(family: str, most: int, content: str) -> None:
    counter = Counter(FAMILIES[family])
    for tokens in (5, 20, 60, 3_000):
        block = result(content, tokens)
        text = placeholder(Evicted(block, call("Bash", command=content)), most, counter)
        if text is None:
            assert most < 50 or tokens < 50
            continue
        assert recount(block, text, counter) <= min(most, tokens - 1)
        assert text.startswith("[Evicted: tool_result from turn 7")
        assert text.index("]") == len(text) - 1
        assert text.isprintable()


def test_long_finding_in_a_placeholder_is_cut_and_not_dropped() -> None:
    text = made("Bash", "error: " + "the connection was closed by the peer " * 9, command="npm test -- " + "x" * 100)
    assert "Finding: error: the connection" in text
    assert "…" in text


def test_placeholders_are_known_by_form_and_size() -> None:
    text = made("Grep", "x", pattern="axios")
    assert is_placeholder(result(text, recount(result(""), text, COUNTER)), 50)
    assert not is_placeholder(result(text, 51), 50)
    assert not is_placeholder(result("[Evicted: a] and more]", 9), 50)


def test_long_arguments_are_shortened_at_any_depth() -> None:
    long = "x y " * 100
    given = call("MultiEdit", file_path="a.py", edits=[{"new": long, "old": "b"}], more={"deep": long}, count=3)
    given = msgspec.structs.replace(given, token_count=recount(given, given.content, COUNTER))
    gone = "[Evicted: 400 characters]"
    assert msgspec.json.decode(shorten_arguments(given) or "") == {
        "file_path": "a.py", "edits": [{"new": gone, "old": "b"}], "more": {"deep": gone}, "count": 3,
    }  # fmt: skip
    for content in ("no JSON", "[1]", '"x"', '{"a": ' + "[" * 5_000 + "]" * 5_000 + "}"):
        assert shorten_arguments(msgspec.structs.replace(given, content=content)) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ""),
        ("\n---\n***\n", ""),
        ("# Title\n\nbody", "# Title"),
        ("first\nsecond", "first"),
        ("one\n2 matches in src/a.ts\n3", "2 matches in src/a.ts"),
        ("x\n" * 500 + "Tests: 3 failed, 9 passed", "Tests: 3 failed, 9 passed"),
        ("a\tb\x1b[31m", "a b (31m"),
    ],
)
def test_the_line_that_tells_most_is_found(text: str, found: str) -> None:
    assert key_line(text) == found
