"""The state of a task in files, without a memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memctl.errors import MemctlError
from memctl.record.required_text import LONGEST_MISSION
from memctl.record.task_state import TaskState, steps
from memctl.text.fit import LIMIT, length
from memctl.window.state.store import StateFiles, StateKeeper
from tests.window.state.test_checkpoints import EXAMPLE

NOW = "2025-11-04T09:00:00Z"


def kept(folder: Path, progress: str = "agent_progress.md") -> StateFiles:
    return StateFiles(folder, "agent_state.json", progress, now=lambda: NOW)


def test_saved_example_is_loaded_whole(tmp_path: Path) -> None:
    keeper: StateKeeper = kept(tmp_path)
    assert (keeper.load(), keeper.bootstrap_prompt()) == (None, "")
    assert keeper.save(EXAMPLE) == "w1-v1"
    assert kept(tmp_path).load() == msgspec.structs.replace(EXAMPLE, version=1, saved_at=NOW)
    assert keeper.save(msgspec.structs.replace(EXAMPLE, window_id=2)) == "w2-v2"


def test_lists_and_long_texts_are_saved_as_lines_and_wrong_types_are_refused(tmp_path: Path) -> None:
    odd: dict[str, Any] = {"constraints": ["No new\nservice", "TBD", "No new service"], "goal": "Port " + "x" * 3_000}
    keeper = kept(tmp_path)
    keeper.save(msgspec.structs.replace(EXAMPLE, **odd))
    found = keeper.load()
    assert found is not None
    assert (found.constraints, len(found.goal)) == (("No new service",), LONGEST_MISSION)
    for field, wrong in (("constraints", "one text"), ("task_id", 7), ("steps", ("a text",))):
        with pytest.raises(MemctlError, match=rf"can't be saved: .*{field}"):
            keeper.save(msgspec.structs.replace(EXAMPLE, **{field: wrong}))


def test_markdown_file_shows_planned_and_done_steps_apart(tmp_path: Path) -> None:
    kept(tmp_path).save(EXAMPLE)
    page = (tmp_path / "agent_progress.md").read_text()
    assert page.startswith("# window 1, version 1\n\n**Task**: Migrate user-service REST calls")
    assert "## In progress, begun and not finished\n\n- [ ] Migrate api.ts (file 13/23)\n" in page
    assert "- [ ] Integration tests\n" in page
    assert "- [x] Built error-handling wrapper\n" in page


def test_a_stale_state_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    """See rules.md#checkpoints."""
    first, second = kept(tmp_path), kept(tmp_path)
    first.save(EXAMPLE)
    second.load()
    first.save(msgspec.structs.replace(EXAMPLE, window_id=2))
    before = (tmp_path / "agent_state.json").read_text()
    for keeper, stale in (
        (second, EXAMPLE),
        (kept(tmp_path), EXAMPLE),  # an earlier window
        (kept(tmp_path), msgspec.structs.replace(EXAMPLE, window_id=3, version=1)),
    ):
        with pytest.raises(MemctlError, match=r"stale: agent_state\.json is newer, with version 2 of window 2"):
            keeper.save(stale)
    assert (tmp_path / "agent_state.json").read_text() == before


@pytest.mark.parametrize(
    ("text", "why"),
    [("{", "is not the state of a task"), ("[]", "is not the state of a task"), ("{}", "Missing goal"),
     ('{"goal": 3}', "goal"), ('{"goal": "x", "window_id": 0}', "window_id")],
)  # fmt: skip
def test_invalid_state_file_is_named_and_left_unchanged(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "agent_state.json").write_text(text)
    for act in (kept(tmp_path).load, lambda: kept(tmp_path).save(EXAMPLE)):
        with pytest.raises(
            MemctlError, match=f"agent_state.json is not the state of a task.*{why}|agent_state.json {why}"
        ):
            act()
    assert (tmp_path / "agent_state.json").read_text() == text


def test_state_without_a_goal_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MemctlError, match="Missing goal"):
        kept(tmp_path).save(TaskState())
    assert list(tmp_path.iterdir()) == []


def test_state_is_not_written_through_a_link(tmp_path: Path) -> None:
    folder, outside = tmp_path / "project", tmp_path / "outside.json"
    folder.mkdir()
    outside.write_text("theirs")
    (folder / "agent_state.json").symlink_to(outside)
    with pytest.raises(MemctlError):
        kept(folder).save(EXAMPLE)
    assert outside.read_text() == "theirs"


def test_neither_file_is_written_if_one_can_not_be(tmp_path: Path) -> None:
    (tmp_path / "sub").write_text("a file where a folder should be")
    with pytest.raises(MemctlError):
        kept(tmp_path, "sub/progress.md").save(EXAMPLE)
    assert not (tmp_path / "agent_state.json").exists()


def test_bootstrap_prompt_of_a_huge_state_stays_within_its_limit(tmp_path: Path) -> None:
    keeper = kept(tmp_path)
    keeper.save(
        msgspec.structs.replace(
            EXAMPLE, goal="word " * 9_000, lessons=tuple(f"{number} learned " * 30 for number in range(90))
        )
    )
    text = keeper.bootstrap_prompt()
    assert length(text) <= LIMIT
    assert "LEFT OUT: " in text


def test_save_without_a_load_is_refused_with_a_hint_to_merge(tmp_path: Path) -> None:
    first, second = kept(tmp_path), kept(tmp_path)
    first.save(msgspec.structs.replace(EXAMPLE, steps=steps(done=("one", "two"), in_progress=("three",))))
    mine = msgspec.structs.replace(EXAMPLE, steps=steps(done=("one", "four"), in_progress=("two",)))
    with pytest.raises(MemctlError, match="never loaded") as caught:
        second.save(mine)
    assert "merge(state)" in str(caught.value.hint)
    second.merge(mine)
    found = first.load()
    assert found is not None
    assert (found.done, found.in_progress) == (("one", "two", "four"), ("three",))


def test_second_save_after_an_empty_load_is_stale(tmp_path: Path) -> None:
    first, second = kept(tmp_path), kept(tmp_path)
    assert (first.load(), second.load()) == (None, None)
    first.save(EXAMPLE)
    with pytest.raises(MemctlError, match="stale"):
        second.save(EXAMPLE)


_SAVING = """
import sys
import os
import subprocess
import sys
from pathlib import Path
from memctl.errors import MemctlError
from memctl.window.state.store import StateFiles
from memctl.record.task_state import TaskState

kept, refused = 0, 0
for number in range(40):
    keeper = StateFiles(Path(sys.argv[1]), "agent_state.json", "agent_progress.md")
    state = keeper.load() or TaskState(goal="Migrate the pool")
    try:
        keeper.save(state)
        kept += 1
    except MemctlError as error:
        assert "the state is stale" in error.message, error.message
        refused += 1
print(kept, refused)
"""


def test_concurrent_saves_lose_no_version(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _SAVING, str(tmp_path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    told = [one.communicate(timeout=60)[0].split() for one in running]
    assert [one.returncode for one in running] == [0, 0, 0]
    last = kept(tmp_path).load()
    assert last is not None
    assert last.version == sum(int(saved) for saved, _ in told)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["agent_progress.md", "agent_state.json"]


def test_a_lock_that_leads_elsewhere_is_not_followed(tmp_path: Path) -> None:
    folder, outside = tmp_path / "project", tmp_path / "outside.json"
    folder.mkdir()
    outside.write_text("theirs")
    (folder / ".memctl.agent_state.json.lock").symlink_to(outside)
    with pytest.raises(MemctlError, match="can't be written"):
        kept(folder).save(EXAMPLE)
    assert outside.read_text() == "theirs"
    assert not (folder / "agent_state.json").exists()
