"""Any order of saves by three writers, with kills: no done step is lost, and none that lacks some is accepted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memctl.errors import MemctlError
from memctl.record.change import WriteOptions
from memctl.record.task_state import PROGRESS, Step, TaskState, key
from memctl.store.memory import open_memory
from memctl.task import progress
from memctl.window import CrossWindowStateManager, StateFiles
from memctl.write import task_state
from memctl.write.task_state import SaveOptions
from tests.conftest import examples, slow

STEPS = ("one", "two", "three", "four")
_step = st.builds(Step, st.sampled_from(STEPS), st.sampled_from(PROGRESS))
_steps = st.lists(_step, max_size=4, unique_by=lambda step: step.text).map(tuple)
# Who writes, whether it loads before, what it says, and whether it says it by a command.
_deeds = st.lists(st.tuples(st.integers(0, 2), st.booleans(), _steps, st.sampled_from(["save", "merge"])), max_size=10)


def done(state: TaskState | None) -> set[str]:
    return {key(text) for text in state.done} if state else set()


@given(_deeds)
@examples(60)
def test_concurrent_file_writers_lose_no_done_step(
    deeds: list[tuple[int, bool, tuple[Step, ...], str]],
) -> None:
    with tempfile.TemporaryDirectory() as name:
        writers = [StateFiles(Path(name), "state.json") for _ in range(3)]
        known: list[int | None] = [None] * 3  # the version that each has seen last
        stored: dict[str, str] = {}
        version = 0
        for number, loads, said, how in deeds:
            if loads:
                writers[number].load()
                known[number] = version
            given_now = {step.text: step.status for step in said}
            lacks = any(
                text not in given_now or (status == "done" != given_now[text]) for text, status in stored.items()
            )
            is_stale = version > 0 and (lacks if known[number] is None else known[number] != version)
            state = TaskState(goal="Migrate the pool", steps=said)
            if how == "save" and is_stale:
                with pytest.raises(MemctlError, match="stale"):
                    writers[number].save(state)
            else:
                getattr(writers[number], how)(state)
                version += 1
                known[number] = version
            found = StateFiles(Path(name), "state.json").load()
            after = {step.text: step.status for step in found.steps} if found else {}
            finished = {text for text, status in stored.items() if status == "done"}
            if how == "merge" or not is_stale:
                finished |= {text for text, status in given_now.items() if status == "done"}
            assert finished == {text for text, status in after.items() if status == "done"}
            assert how == "save" or set(stored) | set(given_now) <= set(after)
            stored = after


@given(st.lists(_steps, min_size=1, max_size=6))
@examples(100)
def test_merging_states_never_moves_a_step_back(given_steps: list[tuple[Step, ...]]) -> None:
    state = TaskState(goal="x")
    for said in given_steps:
        before = {key(step.text): PROGRESS.index(step.status) for step in state.steps}
        other = TaskState(goal="x", steps=said)
        merged = progress.merge(state, other)
        after = {key(step.text): PROGRESS.index(step.status) for step in merged.steps}
        assert all(after[name] >= rank for name, rank in before.items())
        assert {key(step.text) for step in said} <= set(after)
        assert progress.missing_steps(state, merged) == []
        kept = progress.take_whole(state, other)
        assert done(state) <= done(kept)
        assert {one.text for one in progress.missing_steps(state, kept) if key(one.text) in done(state)} == set()
        state = merged


def test_three_kinds_of_memory_writers_lose_no_done_step(repo: Path) -> None:
    memory = open_memory(repo, os.environ)
    manager, stranger = CrossWindowStateManager(memory, "main"), CrossWindowStateManager(memory, "main")
    options = WriteOptions(reason="a test", no_commit=True)

    def command(**lists: str) -> None:
        said = TaskState(goal="x", steps=tuple(Step(text, status) for status, text in lists.items()))  # type: ignore[arg-type]
        task_state.save(memory, said, SaveOptions(workflow="main"), options)

    def hook(*steps: Step) -> None:
        how = SaveOptions(workflow="main", is_whole=True)
        task_state.save(memory, TaskState(goal="x", steps=steps), how, options)

    command(done="one", planned="two")
    with pytest.raises(MemctlError, match="never loaded"):
        stranger.save(TaskState(goal="x", steps=(Step("two", "in_progress"),)))
    manager.load()
    manager.save(TaskState(goal="x", steps=(Step("two", "done"), Step("three"))))
    hook(Step("three", "in_progress"), Step("two"))
    with pytest.raises(MemctlError, match="stale"):
        manager.save(TaskState(goal="x", steps=(Step("four"),)))
    stranger.merge(TaskState(goal="x", steps=(Step("one"), Step("four", "done"))))
    found = stranger.load()
    assert found is not None
    assert done(found) == {"one", "two", "four"}
    assert found.in_progress == ("three",)


_SAVING = """
import sys
from pathlib import Path
from memctl.errors import MemctlError
from memctl.record.task_state import Step, TaskState
from memctl.window import StateFiles
from msgspec.structs import replace
name = sys.argv[2]
for number in range(1000):
    keeper = StateFiles(Path(sys.argv[1]), "state.json", "progress.md")
    state = keeper.load() or TaskState(goal="Migrate the pool")
    try:
        keeper.save(replace(state, steps=(*state.steps, Step(f"{name} {number}", "done"))))
        print(number, flush=True)
    except MemctlError as error:
        assert "stale" in error.message, error.message
"""


@pytest.mark.parametrize("kills", [2, *slow(12)])
def test_saved_steps_survive_kills_at_any_moment(tmp_path: Path, kills: int) -> None:
    saved: set[str] = set()
    for number in range(kills):
        running = [
            subprocess.Popen(
                [sys.executable, "-c", _SAVING, str(tmp_path), f"{name}{number}"], stdout=subprocess.PIPE, text=True
            )
            for name in "abc"
        ]
        for name, one in zip("abc", running, strict=True):
            assert one.stdout is not None
            for _ in range(3):
                saved.add(f"{name}{number} {one.stdout.readline().strip()}")
        for name, one in zip("abc", running, strict=True):
            one.send_signal(signal.SIGKILL)
            assert one.stdout is not None
            saved |= {f"{name}{number} {line.strip()}" for line in one.stdout.read().splitlines() if line.strip()}
            one.wait()
        found = StateFiles(tmp_path, "state.json").load()
        assert found is not None
        assert saved <= set(found.done) or len(found.steps) == 200
