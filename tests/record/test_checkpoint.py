"""Checkpoints as files."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from memctl.record import checkpoint
from memctl.record.checkpoint import Noted, Touched, Version
from memctl.record.errors import InvalidRecord
from memctl.record.required_text import is_said
from tests.checkpoints import made, saved

PATH = "checkpoints/main/w1-v1-0a0a0a.json"


def test_what_is_written_is_read_again() -> None:
    one = made(
        done=("GET",),
        files_touched=(Touched("a.py", True),),
        open_issues=(Noted("ISS-1", "x", "high"),),
        mission='"quoted" \N{GRINNING FACE}',
    )
    assert checkpoint.parse(checkpoint.written(one), PATH) == one
    assert one.number.path == PATH


def spoilt(**values: Any) -> str:
    return msgspec.json.encode({**msgspec.json.decode(saved()), **values}).decode()


@pytest.mark.parametrize(
    ("text", "field", "why"),
    [
        ("", "", "no JSON"),
        ('{"more": ' + "[" * 5_000, "", "no JSON"),
        ("[]", "", "Expected `object`"),
        (spoilt(format=2), "format", "newer memctl"),
        (spoilt(version=2), "checkpoint_id", "don't agree"),
        (spoilt(window_id=2), "checkpoint_id", "don't agree"),
        (spoilt(workflow_id="other"), "checkpoint_id", "don't agree"),
        (spoilt(checkpoint_id="x"), "checkpoint_id", "don't agree"),
        (spoilt(version=0), "version", ">= 1"),
        (spoilt(saved_at="yesterday"), "saved_at", "regex"),
        (spoilt(saved_at="2025-02-31T00:00:00Z"), "saved_at", "on no calendar"),
        (spoilt(head="--output=x"), "head", "regex"),
        (spoilt(head="main"), "head", "regex"),
        (spoilt(files_touched=[{"path": "../../etc/passwd"}]), "files_touched", "leads out of the repository"),
        (spoilt(files_touched=[{"path": "/etc/passwd"}]), "files_touched", "leads out of the repository"),
        (spoilt(dirty_files=["src/../../x"]), "dirty_files", "leads out of the repository"),
        (spoilt(dirty_files=[".git/config"]), "dirty_files", "leads out of the repository"),
        (spoilt(files_touched=[{"path": "a\0b"}]), "files_touched", "leads out of the repository"),
        (spoilt().replace("Refunds", "\\ud800"), "", "no JSON"),
        (spoilt(mission="x" * 2_001), "mission", "length <= 2000"),
        (spoilt(done=["x" * 501]), "done", "length <= 500"),
        (spoilt(done=["Write  it"], planned=["write it"]), "done", "stands in two"),
        (spoilt(in_progress=["a"], planned=["a"]), "done", "stands in two"),
    ],
)
def test_what_is_no_checkpoint_is_told(text: str, field: str, why: str) -> None:
    with pytest.raises(InvalidRecord) as caught:
        checkpoint.parse(text, PATH)
    assert caught.value.faults[0].field.startswith(field)
    assert why in str(caught.value)


def test_fields_that_a_later_memctl_adds_are_passed_over() -> None:
    assert checkpoint.parse(spoilt(more=1), PATH) == made()


def test_of_two_checkpoints_the_one_behind_in_either_number_is_stale() -> None:
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
def test_what_is_named_otherwise_is_no_checkpoint(path: str) -> None:
    assert checkpoint.version_at(path) is None


@pytest.mark.parametrize("text", ["", "…", "TBD", "n/a", "N/A.", "todo", "to be determined", "???"])
def test_a_stand_in_says_nothing(text: str) -> None:
    assert not is_said(text)


@pytest.mark.parametrize("text", ["none", "Todo list of the app", "no new dependencies", "7", "日本語"])
def test_anything_else_says_something(text: str) -> None:
    assert is_said(text)
