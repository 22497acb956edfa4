"""The state of a task over windows: a manager on the memory's own checkpoints."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest

from memctl.errors import MemctlError
from memctl.record.task_state import DONE, Step, TaskState, steps
from memctl.store.memory import Memory, open_memory
from memctl.task.progress import limit_steps
from memctl.text.fit import LIMIT, length
from memctl.window import CrossWindowStateManager
from memctl.window.state.store import StateKeeper
from tests.conftest import git

# A task that crosses from one window to the next.
EXAMPLE = TaskState(
    window_id=1,
    goal="Migrate user-service REST calls from axios to fetch",
    steps=steps(
        done=("Scanned 23 axios references", "Built error-handling wrapper", "Migrated 12/23 files"),
        in_progress=("Migrate api.ts (file 13/23)",),
        planned=("Migrate remaining 10 files", "Integration tests", "Canary deploy"),
    ),
    decisions=(
        "Use native fetch + custom error wrapper (not a library)",
        "Keep response interceptor pattern for consistency",
    ),
    issues=("api.ts:42 — type incompatibility after migration",),
    lessons=("v3 API uses /v2/ prefix, not /v1/",),
    summary=("Migration 52% complete. 12 files done.", "One type error at api.ts:42 unresolved."),
)


@pytest.fixture
def memory(repo: Path) -> Memory:
    return open_memory(repo, os.environ)


def manager(memory: Memory) -> CrossWindowStateManager:
    return CrossWindowStateManager(memory, "axios")


def test_saved_example_is_loaded_whole(memory: Memory) -> None:
    keeper: StateKeeper = manager(memory)
    assert keeper.load() is None
    assert keeper.bootstrap_prompt() == ""
    assert keeper.save(EXAMPLE).startswith("axios-w1-v1-")
    found = manager(memory).load()
    assert found is not None
    for name in ("goal", "decisions", "issues", "lessons", "summary", "done", "in_progress", "planned", "window_id"):
        assert getattr(found, name) == getattr(EXAMPLE, name)
    assert found.version == 1
    assert found.saved_at
    assert {(step.by, step.evidence) for step in found.steps if step.status == DONE} == {(memory.actor, "command")}


def test_bootstrap_prompt_has_the_whole_state_within_its_limit(memory: Memory) -> None:
    many = tuple(f"Step {number}: {'word ' * 60}" for number in range(190))
    full = msgspec.structs.replace(EXAMPLE, steps=limit_steps([*EXAMPLE.steps, *steps(planned=many)]), summary=many)
    keeper = manager(memory)
    for state in (EXAMPLE, full):
        keeper.save(state)
        text = manager(memory).bootstrap_prompt()
        assert length(text) <= LIMIT
        for said in (
            EXAMPLE.goal, *EXAMPLE.in_progress, *EXAMPLE.decisions, *EXAMPLE.issues, *EXAMPLE.lessons, *EXAMPLE.done
        ):  # fmt: skip
            assert said in text
    keeper.save(EXAMPLE)
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
    newer = msgspec.structs.replace(EXAMPLE, window_id=2, steps=steps(in_progress=("Canary deploy",)))
    late.load()
    late.save(newer)
    for stale in (old, msgspec.structs.replace(old, version=0), msgspec.structs.replace(EXAMPLE, window_id=1)):
        with pytest.raises(MemctlError, match="stale"):
            early.save(stale)
    found = manager(memory).load()
    assert found is not None
    assert (found.window_id, found.version, found.in_progress) == (2, 2, ("Canary deploy",))
    assert found.done == EXAMPLE.done


def test_save_without_a_load_is_refused_and_a_merge_keeps_all_steps(
    memory: Memory,
) -> None:
    first, second = manager(memory), manager(memory)
    first.save(msgspec.structs.replace(EXAMPLE, steps=steps(done=("one", "two"), in_progress=("three",))))
    mine = msgspec.structs.replace(EXAMPLE, steps=steps(done=("one", "four's"), in_progress=("two",)))
    with pytest.raises(
        MemctlError, match=r"never loaded, and has steps that the new state lacks: 'two' \(done\), 'three'"
    ) as caught:
        second.save(mine)
    assert "merge(state)" in str(caught.value.hint)
    second.merge(mine)
    found = second.load()
    assert found is not None
    assert (found.done, found.in_progress) == (("one", "two", "four's"), ("three",))
    second.save(found)  # it has loaded it now


def test_later_state_drops_unnamed_steps_and_keeps_done_ones(memory: Memory) -> None:
    keeper = manager(memory)
    keeper.save(EXAMPLE)
    later = steps(done=("Migrate api.ts (file 13/23)",), in_progress=("Integration tests",), planned=("Release",))
    keeper.save(msgspec.structs.replace(EXAMPLE, steps=later, issues=()))
    found = keeper.load()
    assert found is not None
    assert found.done == (*EXAMPLE.done, "Migrate api.ts (file 13/23)")
    assert (found.in_progress, found.planned) == (("Integration tests",), ("Release",))
    assert found.issues == ()


def test_validation_has_errors_and_warnings(memory: Memory) -> None:
    keeper = manager(memory)
    assert keeper.validate(EXAMPLE).valid
    assert keeper.validate(EXAMPLE).warnings == ()
    wrong = keeper.validate(TaskState(window_id=0, version=-1, steps=steps(planned=("a",))))
    assert not wrong.valid
    assert [error.partition(":")[0] for error in wrong.errors] == [
        "Missing goal", "Invalid window_id", "Invalid version",
    ]  # fmt: skip
    assert "no step in progress" in wrong.warnings[0]
    with pytest.raises(MemctlError, match="Missing goal"):
        keeper.save(TaskState())


def test_bootstrap_prompt_names_drift_since_the_save(memory: Memory, repo: Path) -> None:
    (repo / "api.ts").write_text("fetch()\n")
    manager(memory).save(EXAMPLE)
    (repo / "api.ts").unlink()
    text = manager(memory).bootstrap_prompt()
    assert "DRIFT" in text
    assert "missing since then: api.ts" in text


def test_odd_or_too_long_text_is_saved_cut(memory: Memory) -> None:
    many = tuple(f"step {n}" for n in range(500))
    given = (Step("a\nb  c", "in_progress"), *(Step(text, DONE) for text in ("TBD", "", "Same", "same", "y" * 900)))
    odd = msgspec.structs.replace(EXAMPLE, goal="x" * 5_000, steps=(*given, *steps(planned=many)))
    manager(memory).save(odd)
    found = manager(memory).load()
    assert found is not None
    assert len(found.goal) == 2_000
    assert found.in_progress == ("a b c",)
    assert len(found.steps) == 200
    assert found.planned[0] == "step 0"
