"""Lines of a transcript's file, from either end."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.transcript import line as transcript_line


@given(
    texts=st.lists(st.binary(max_size=300).map(lambda b: b.replace(b"\n", b"")), max_size=60), block=st.integers(1, 90)
)
def test_backwards_gives_the_lines_of_a_file_from_its_end(
    tmp_path_factory: pytest.TempPathFactory, texts: list[bytes], block: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "backwards"
    data = b"\n".join(texts)
    file.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcript_line, "_TAIL_BLOCK", block)
        assert (
            list(transcript_line.lines_backwards(str(file), len(data) + 1)) == data.split(b"\n")[::-1] if data else True
        )


@given(
    texts=st.lists(st.binary(max_size=300).map(lambda b: b.replace(b"\n", b"")), max_size=40), block=st.integers(1, 90)
)
def test_lines_are_read_on_from_wherever_one_ended(
    tmp_path_factory: pytest.TempPathFactory, texts: list[bytes], block: int
) -> None:
    file = tmp_path_factory.getbasetemp() / "onwards"
    file.write_bytes(b"".join(text + b"\n" for text in texts) + b"not whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transcript_line, "_BLOCK", block)
        found = list(transcript_line.lines_after(str(file), 0))
        assert [line for _, line in found] == texts
        for number, (offset, _) in enumerate(found):
            assert [line for _, line in transcript_line.lines_after(str(file), offset)] == texts[number + 1 :]


def test_a_line_too_long_to_hold_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transcript_line, "LONGEST_LINE", 1_000)
    monkeypatch.setattr(transcript_line, "_BLOCK", 100)
    file = tmp_path / "t"
    file.write_bytes(b"a\n" + b"x" * 5_000 + b"\nb\n")
    found = list(transcript_line.lines_after(str(file), 0))
    assert found == [(2, b"a"), (5_003, b""), (5_005, b"b")]


def test_a_file_that_became_shorter_is_read_anew(tmp_path: Path) -> None:
    file = tmp_path / "t"
    file.write_bytes(b"a\nb\n")
    assert list(transcript_line.lines_after(str(file), 100)) == [(2, b"a"), (4, b"b")]
