"""Checkpoints as files."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memctl.record import checkpoint
from memctl.record.checkpoint import Version
from memctl.record.errors import InvalidRecord
from memctl.record.required_text import is_meaningful
from memctl.record.task_state import RecordReference, TouchedFile
from tests.checkpoints import made, saved

PATH = "checkpoints/main/w1-v1-0a0a0a.json"


def test_written_checkpoint_is_read_back() -> None:
    one = made(
        done=("GET",),
        files=(TouchedFile("a.py", "deleted"), TouchedFile("~/.claude/plans/p.md", "read")),
        records=(RecordReference("ISS-1", "x", "high"),),
        goal='"quoted" \N{GRINNING FACE}',
    )
    assert checkpoint.parse(checkpoint.to_json(one), PATH) == one
    assert one.number.path == PATH


def spoilt(**values: Any) -> str:
    return msgspec.json.encode({**msgspec.json.decode(saved()), **values}).decode()


@pytest.mark.parametrize(
    ("text", "field", "why"),
    [
        ("", "", "not JSON"),
        ('{"more": ' + "[" * 5_000, "", "not JSON"),
        ("[]", "", "Expected `object`"),
        (spoilt(format=3), "format", "newer version of memctl"),
        (spoilt(version=2), "checkpoint_id", "must consist of"),
        (spoilt(window_id=2), "checkpoint_id", "must consist of"),
        (spoilt(workflow_id="other"), "checkpoint_id", "must consist of"),
        (spoilt(checkpoint_id="x"), "checkpoint_id", "must consist of"),
        (spoilt(version=-1), "version", ">= 0"),
        (spoilt(saved_at="yesterday"), "saved_at", "is not a time"),
        (spoilt(saved_at="2025-02-31T00:00:00Z"), "saved_at", "is not a time"),
        (spoilt(environment={"head": "--output=x"}), "environment", "regex"),
        (spoilt(environment={"head": "main"}), "environment", "regex"),
        (spoilt(files=[{"path": "../../etc/passwd"}]), "files", "leads out of the repository"),
        (spoilt(files=[{"path": "~/../x"}]), "files", "leads out of the repository"),
        (spoilt(environment={"dirty": [{"path": "src/../../x"}]}), "environment", "leads out of the repository"),
        (spoilt(environment={"dirty": [{"path": ".git/config"}]}), "environment", "leads out of the repository"),
        (spoilt(files=[{"path": "a\0b"}]), "files", "leads out of the repository"),
        (spoilt().replace("Refunds", "\\ud800"), "", "not JSON"),
        (spoilt(goal="x" * 2_001), "goal", "length <= 2000"),
        (spoilt(steps=[{"text": "x" * 501}]), "steps", "length <= 500"),
        (
            spoilt(steps=[{"text": "Write  it", "status": "done"}, {"text": "write it"}]),
            "steps",
            "has more than one status of",
        ),
        (spoilt(format=1, done=[1]), "done", "Expected `str`, got `int`"),
        (spoilt(format=1, issues=[{}]), "issues", "Expected `str`, got `object`"),
        (spoilt(format=1, learnings=7), "learnings", "Expected `array`, got `int`"),
        (spoilt(format=1, files_touched=["a.py"]), "files_touched", "Expected `object`, got `str`"),
    ],
)
def test_an_invalid_checkpoint_is_reported(text: str, field: str, why: str) -> None:
    with pytest.raises(InvalidRecord) as caught:
        checkpoint.parse(text, PATH)
    assert caught.value.faults[0].field.startswith(field)
    assert why in str(caught.value)


def test_a_checkpoint_of_format_1_is_read() -> None:
    old = {
        "format": 1, "checkpoint_id": "main-w1-v1-0a0a0a", "workflow_id": "main", "window_id": 1, "version": 1,
        "saved_at": "2025-11-04T14:32:00Z", "saved_by": "claude", "phase": "build", "mission": "Refunds by card",
        "expected_outputs": ["POST /refunds"], "planned": ["DELETE"], "in_progress": ["POST", "Asked last: Go on"],
        "done": ["GET"], "next_actions": ["Test"], "issues": ["Twice", "Not solved: make: Error"],
        "open_issues": [{"id": "ISS-1", "title": "Pool", "weight": "high"}], "branch": "main", "head": "a" * 40,
        "files_touched": [{"path": "a.py", "deleted": True}, {"path": "b.py"}], "dirty_files": ["b.py"],
    }  # fmt: skip
    found = checkpoint.parse(msgspec.json.encode(old).decode(), PATH)
    assert (found.goal, found.phase, found.success_criteria) == ("Refunds by card", "build", ("POST /refunds",))
    assert (found.done, found.in_progress, found.planned, found.said) == (("GET",), ("POST",), ("DELETE",), ("Go on",))
    assert (found.next_actions, found.issues, found.errors) == (("Test",), ("Twice",), ("make: Error",))
    assert found.files == (TouchedFile("a.py", "deleted"), TouchedFile("b.py"))
    assert (found.environment.branch, found.environment.dirty) == ("main", (TouchedFile("b.py"),))
    assert [one.id for one in found.records] == ["ISS-1"]


def test_unknown_fields_of_a_checkpoint_are_ignored() -> None:
    assert checkpoint.parse(spoilt(more=1), PATH) == made()


def test_checkpoint_behind_in_either_number_is_stale() -> None:
    one = Version(7, 3)
    assert one.is_behind(Version(8, 3))
    assert one.is_behind(Version(7, 4))
    assert not one.is_behind(Version(7, 3, "0b0b0b"))
    assert not one.is_behind(Version(6, 3))


@pytest.mark.parametrize(
    "path",
    [
        "checkpoints/main/w0-v1-0a0a0a.json",
        "checkpoints/main/w1-v01-0a0a0a.json",
        "checkpoints/main/w1-v1-0a0a0a.md",
        "checkpoints/../w1-v1-0a0a0a.json",
        "checkpoints/Main/w1-v1-0a0a0a.json",
        "checkpoints/main/x/w1-v1-0a0a0a.json",
        "checkpoints/main/w1-v1-0a0a0a.json\n",
    ],
)
def test_a_file_with_another_name_is_not_a_checkpoint(path: str) -> None:
    assert checkpoint.version_at(path) is None


@pytest.mark.parametrize("text", ["", "…", "TBD", "n/a", "N/A.", "todo", "to be determined", "???"])
def test_placeholder_text_is_not_meaningful(text: str) -> None:
    assert not is_meaningful(text)


@pytest.mark.parametrize("text", ["none", "Todo list of the app", "no new dependencies", "7", "日本語"])
def test_text_that_is_no_placeholder_is_meaningful(text: str) -> None:
    assert is_meaningful(text)
