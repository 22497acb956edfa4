"""A transcript that grows is read on from where the last look ended."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from memctl.errors import MemctlError
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window import status
from memctl.window.status import Follower, SeenConversation
from tests.window import generated

COUNTER = Counter(FAMILIES["claude"])
LINES = list(generated.transcript(1, 120))


def counter(model: str) -> Counter:
    return COUNTER


def anew(file: Path) -> SeenConversation:
    with open(file, encoding="utf-8") as lines:
        return status.read(lines, str(file), counter)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "session.jsonl"
    found.write_text("".join(LINES[:100]))
    return found


@pytest.fixture
def follower(file: Path) -> Follower:
    return Follower(str(file), counter)


def add(file: Path, *lines: str) -> int:
    with open(file, "a", encoding="utf-8") as stream:
        stream.writelines(lines)
    return sum(len(line.encode()) for line in lines)


def test_each_look_sees_what_a_reading_from_the_beginning_sees(follower: Follower, file: Path) -> None:
    assert any("compact_boundary" in line for line in LINES[100:])
    for start, end in pairwise((100, 101, 140, 200, len(LINES))):
        assert follower.look() == anew(file)
        add(file, *LINES[start:end])
    assert follower.look() == anew(file)


def test_only_what_was_added_is_read(follower: Follower, file: Path) -> None:
    follower.look()
    assert follower.read_bytes == file.stat().st_size
    added = add(file, *LINES[100:103])
    follower.look()
    assert follower.read_bytes == added
    follower.look()
    assert follower.read_bytes == 0


def test_a_line_that_is_still_being_written_waits(follower: Follower, file: Path) -> None:
    before = follower.look()
    add(file, LINES[100][:50])
    assert follower.look() == before
    add(file, LINES[100][50:], LINES[101])
    assert follower.look() == anew(file)


@pytest.mark.parametrize("kept", [slice(20), slice(1, None)])
def test_a_shorter_or_another_file_is_read_from_its_beginning(follower: Follower, file: Path, kept: slice) -> None:
    follower.look()
    file.write_text("".join(LINES[kept]))
    assert follower.look() == anew(file)
    assert follower.read_bytes == file.stat().st_size


def test_what_was_changed_before_the_end_of_what_was_read_is_read_anew(follower: Follower, file: Path) -> None:
    follower.look()
    file.write_text("".join([*LINES[:98], *LINES[99:140]]))
    assert follower.look() == anew(file)


def test_what_is_no_transcript_is_left_to_others(tmp_path: Path) -> None:
    for number, text in enumerate(
        (json.dumps({"messages": []}), json.dumps([], indent=1), '{"role": "user"}\n' * 2, "no JSON\n", "")
    ):
        (tmp_path / str(number)).write_text(text)
        follower = Follower(str(tmp_path / str(number)), counter)
        assert follower.look() is None
        assert follower.look() is None


def test_a_file_that_is_gone_or_has_no_messages_is_told(follower: Follower, file: Path) -> None:
    follower.look()
    file.unlink()
    with pytest.raises(MemctlError, match="can't be read"):
        follower.look()
    file.write_text('{"type": "system"}\n')
    with pytest.raises(MemctlError, match="has no messages"):
        follower.look()
