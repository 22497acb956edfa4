"""Notes in a file of the project."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.errors import MemctlError
from memctl.window.compression.notes import CATEGORIES, IMPORTANCES, Note, Notes
from memctl.window.state import store


def test_written_note_is_appended_and_other_lines_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "notes.md"
    file.write_text("# Mine\n- [high] Bugs: a fault\n- [loud] bugs: no note\n- [HIGH] plans: neither\nlast line")
    notes = store.notes_in(tmp_path, "notes.md")
    assert list(notes) == [Note("bugs", "a fault", "high")]
    before = file.read_text()
    notes.write("decisions", "use\nfetch", "critical")
    assert file.read_text() == f"{before}\n- [CRITICAL] decisions: use fetch\n"


def test_refused_or_unwritable_note_is_not_added(tmp_path: Path) -> None:
    notes = store.notes_in(tmp_path, "sub/notes.md")
    with pytest.raises(ValueError, match="the category"):
        notes.write("plans", "x")
    (tmp_path / "sub").write_text("a file where the folder should be")
    with pytest.raises(MemctlError, match=r"sub/notes\.md can't be written"):
        notes.write("bugs", "x")
    assert len(notes) == 0


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_binary_file_or_outside_link_is_refused_for_notes(tmp_path: Path, content: bytes | None) -> None:
    (tmp_path / "project").mkdir()
    file = tmp_path / "project/notes.md"
    if content is None:
        file.symlink_to(tmp_path / "outside.md")
    else:
        file.write_bytes(content)
    with pytest.raises(MemctlError, match=r"notes\.md"):
        store.notes_in(tmp_path / "project", "notes.md")


@given(st.lists(st.tuples(st.sampled_from(CATEGORIES), st.text(max_size=40), st.sampled_from(IMPORTANCES)), max_size=5))
def test_written_notes_are_read_back(taken: list[tuple[str, str, str]]) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        notes = store.notes_in(Path(folder), "notes.md")
        for one in taken:
            try:
                notes.write(*one)
            except ValueError:
                assert not one[1].strip()
        assert list(store.notes_in(Path(folder), "notes.md")) == list(notes)
        assert isinstance(notes, Notes)
