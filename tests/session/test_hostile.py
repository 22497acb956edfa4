"""Transcripts are untrusted: whatever stands in one, reading and summing it up does not fail."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memctl.record import session_page
from memctl.session import page_builder, proposals, trail
from memctl.session.summary import SessionSummary, summarize
from memctl.session.trail import Places
from memctl.transcript import reader
from memctl.transcript.events import Session
from tests.conftest import examples

ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
BLOCK = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking"])},
    optional={
        "text": ANYTHING,
        "id": st.just("t1"),
        "tool_use_id": st.just("t1"),
        "name": st.sampled_from(["Bash", "Write", "Edit", "TodoWrite", "TaskUpdate", "apply_patch", "shell"]),
        "input": st.dictionaries(
            st.sampled_from(["command", "file_path", "edits", "todos", "taskId", "new_string", "input"]), ANYTHING
        )
        | ANYTHING,
        "content": ANYTHING,
        "is_error": ANYTHING,
    },
)
LINE = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system"])},
    optional={
        "message": st.fixed_dictionaries(
            {}, optional={"content": st.lists(BLOCK, max_size=3) | ANYTHING, "id": ANYTHING, "usage": ANYTHING}
        )
        | ANYTHING,
        "timestamp": st.just("2025-11-04T09:00:00Z") | ANYTHING,
        "toolUseResult": st.just({"answers": {"A?": "b", "C?": 3}}) | ANYTHING,
        "cwd": ANYTHING,
        "uuid": ANYTHING,
        "isSidechain": ANYTHING,
        "isCompactSummary": ANYTHING,
    },
)


def summed_up(session: Session) -> SessionSummary:
    made = trail.of_session(session, Places(Path("/r"), session.cwd), frozenset(), [])
    return summarize(session, made, "s", "claude")


@examples(60)
@given(st.lists(LINE, min_size=1, max_size=6))
def test_odd_lines_give_a_page_that_can_be_parsed(given_lines: list[Any]) -> None:
    text = "\n".join(map(json.dumps, given_lines))
    summary = summed_up(reader.read(text.encode(errors="replace")))
    text = session_page.render(page_builder.compose(summary, "shop", "2025-11-04T09:00:00Z"))
    assert session_page.parse(text, "sessions/s.md").id == "s"
    assert all(one.title for one in proposals.propose(summary))


@examples(40)
@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode(errors="replace")))
def test_any_bytes_give_a_summary_without_an_error(data: bytes) -> None:
    summed_up(reader.read(data))


def test_long_and_deep_input_takes_no_long_time() -> None:
    deep = "[" * 100_000
    command = "rm " + "a" * 200_000 + " '" + '"$(' * 2_000
    line = {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": command}}]},
    }
    said = {"type": "assistant", "message": {"content": "DECISION: " + "we will " * 50_000}}
    session = reader.read("\n".join(['{"type": ' + deep, json.dumps(line), json.dumps(said)]).encode())
    assert session.broken == 1
    assert summed_up(session).metrics.tool_calls == 1
