"""The state of a task over windows: a manager on the memory's own checkpoints."""

from __future__ import annotations

import json
import os
from pathlib import Path

import msgspec
import pytest

from memctl.errors import MemctlError
from memctl.record import checkpoint
from memctl.store.memory import Memory, open_memory
from memctl.text.fit import LIMIT, length
from memctl.window import CrossWindowStateManager, TaskCheckpoint
from memctl.window.state.task import StateKeeper
from tests.conftest import git

# A task that crosses from one window to the next.
EXAMPLE = TaskCheckpoint(
    window_id=1,
    task_goal="Migrate user-service REST calls from axios to fetch",
    completed_subtasks=("Scanned 23 axios references", "Built error-handling wrapper", "Migrated 12/23 files"),
    current_subtask="Migrate api.ts (file 13/23)",
    remaining_subtasks=("Migrate remaining 10 files", "Integration tests", "Canary deploy"),
    decisions=(
        "Use native fetch + custom error wrapper (not a library)",
        "Keep response interceptor pattern for consistency",
    ),
    open_issues=("api.ts:42 — type incompatibility after migration",),
    learnings=("v3 API uses /v2/ prefix, not /v1/",),
    compaction_summary="Migration 52% complete. 12 files done.\nOne type error at api.ts:42 unresolved.",
)


@pytest.fixture
def memory(repo: Path) -> Memory:
    return open_memory(repo, os.environ)


def manager(memory: Memory) -> CrossWindowStateManager:
    return CrossWindowStateManager(memory, "axios")


def test_the_example_comes_back_whole(memory: Memory) -> None:
    keeper: StateKeeper = manager(memory)
    assert keeper.load() is None
    assert keeper.bootstrap_prompt() == ""
    assert keeper.save(EXAMPLE).startswith("axios-w1-v1-")
    found = manager(memory).load()
    assert found is not None
    assert msgspec.structs.replace(found, saved_at="", state_version=None) == EXAMPLE
    assert found.state_version == 1
    assert found.saved_at


def test_a_new_window_is_told_all_of_it_within_its_limit(memory: Memory) -> None:
    many = tuple(f"Step {number}: {'word ' * 60}" for number in range(190))
    full = msgspec.structs.replace(EXAMPLE, remaining_subtasks=many, compaction_summary="\n".join(many))
    for state in (EXAMPLE, full):
        manager(memory).save(msgspec.structs.replace(state, state_version=None))
        text = manager(memory).bootstrap_prompt()
        assert length(text) <= LIMIT
        for said in (
            EXAMPLE.task_goal, EXAMPLE.current_subtask, *EXAMPLE.decisions, *EXAMPLE.open_issues, *EXAMPLE.learnings,
            *EXAMPLE.completed_subtasks,
        ):  # fmt: skip
            assert said in text
    manager(memory).save(EXAMPLE)
    assert "Migration 52% complete" in manager(memory).bootstrap_prompt()


def test_each_save_is_one_commit_of_json_and_markdown(memory: Memory, repo: Path) -> None:
    before = int(git(repo, "rev-list", "--count", "HEAD"))
    name = manager(memory).save(EXAMPLE)
    assert int(git(repo, "rev-list", "--count", "HEAD")) == before + 1
    changed = git(repo, "show", "--name-only", "--format=", "HEAD").split()
    assert [Path(path).suffix for path in changed] == [".json", ".md"]
    page = (memory.repository.top / changed[1]).read_text()
    assert "api.ts:42" in page
    assert "v3 API uses" in page
    assert name.endswith(Path(changed[0]).stem)


def test_a_stale_state_is_refused_and_what_is_newer_stays(memory: Memory) -> None:
    early, late = manager(memory), manager(memory)
    early.save(EXAMPLE)
    old = early.load()
    assert old is not None
    newer = msgspec.structs.replace(EXAMPLE, window_id=2, current_subtask="Canary deploy", remaining_subtasks=())
    late.load()
    late.save(newer)
    for stale in (old, msgspec.structs.replace(old, state_version=None), msgspec.structs.replace(EXAMPLE, window_id=1)):
        with pytest.raises(MemctlError, match="stale"):
            early.save(stale)
    found = manager(memory).load()
    assert found is not None
    assert (found.window_id, found.state_version, found.current_subtask) == (2, 2, "Canary deploy")


def test_what_a_later_state_does_not_name_is_no_step_any_more_and_what_is_done_stays(memory: Memory) -> None:
    keeper = manager(memory)
    keeper.save(EXAMPLE)
    keeper.save(
        msgspec.structs.replace(
            EXAMPLE,
            completed_subtasks=("Migrate api.ts (file 13/23)",),
            current_subtask="Integration tests",
            remaining_subtasks=("Integration tests", "Release"),
            open_issues=(),
        )
    )
    found = keeper.load()
    assert found is not None
    assert found.completed_subtasks == (*EXAMPLE.completed_subtasks, "Migrate api.ts (file 13/23)")
    assert (found.current_subtask, found.remaining_subtasks) == ("Integration tests", ("Release",))
    assert found.open_issues == ()


def test_validation_has_errors_and_warnings(memory: Memory) -> None:
    keeper = manager(memory)
    assert keeper.validate(EXAMPLE).valid
    assert keeper.validate(EXAMPLE).warnings == ()
    wrong = keeper.validate(TaskCheckpoint(window_id=0, state_version=0, remaining_subtasks=("a",)))
    assert not wrong.valid
    assert [error.partition(":")[0] for error in wrong.errors] == [
        "Missing task_goal", "Invalid window_id", "Invalid state_version",
    ]  # fmt: skip
    assert "no current_subtask" in wrong.warnings[0]
    with pytest.raises(MemctlError, match="Missing task_goal"):
        keeper.save(TaskCheckpoint())


def test_drift_since_the_save_is_told(memory: Memory, repo: Path) -> None:
    (repo / "api.ts").write_text("fetch()\n")
    manager(memory).save(EXAMPLE)
    (repo / "api.ts").unlink()
    text = manager(memory).bootstrap_prompt()
    assert "DRIFT" in text
    assert "gone since: api.ts" in text


def test_a_checkpoint_of_before_is_read_as_ever(memory: Memory) -> None:
    name = manager(memory).save(EXAMPLE)
    number = checkpoint.version_in(name)
    assert number is not None
    file = memory.folder / number.path
    values = json.loads(file.read_text())
    for field in ("issues", "lessons", "summary"):
        del values[field]
    file.write_text(json.dumps(values))
    found = manager(memory).load()
    assert found is not None
    assert (found.open_issues, found.learnings, found.compaction_summary) == ((), (), "")
    assert found.decisions == EXAMPLE.decisions


def test_text_that_is_odd_or_too_long_is_kept_as_far_as_it_goes(memory: Memory) -> None:
    odd = msgspec.structs.replace(
        EXAMPLE,
        task_goal="x" * 5_000,
        current_subtask="a\nb  c",
        completed_subtasks=("TBD", "", "Same", "same", "y" * 900),
        remaining_subtasks=tuple(f"step {n}" for n in range(500)),
    )
    manager(memory).save(odd)
    found = manager(memory).load()
    assert found is not None
    assert len(found.task_goal) == 2_000
    assert found.current_subtask == "a b c"
    assert [len(one) for one in found.completed_subtasks] == [4, 500]
    assert len(found.remaining_subtasks) == 200
