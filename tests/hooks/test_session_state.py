"""The files that the state after a compaction names: of those known before, the ones that are read next.

In 279 real sessions 75 % of the files read next after a compaction were known before, and 96 % of these were among the
last 15 touched. The generated sessions are held to both rates (`tests/window/test_generated.py`), so the share that is
measured here is the generator's, and no news. What is tested is that nothing is lost on the way from a transcript to
the model: parts of a transcript, paths, a state from compaction to compaction, other lines that want room. The hook has
to name exactly what was touched last, and so reaches what a list of that length can reach.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl.hooks import session_state
from memctl.task.parts import FILES
from tests.conftest import Memctl, record_all, slow
from tests.hooks.session import Session
from tests.window import generated, touches

GOAL = 0.95
CALLS = 600
_NEXT = 10  # reads of a window that are the next ones, as in `test_generated.py`


def listed_files(text: str) -> list[str]:
    """The files that a state names."""
    lines = text.splitlines()
    start = lines.index("FILES OF THIS WORK, the latest first:") + 1
    found: list[str] = []
    for line in lines[start:]:
        if not line.startswith("- "):
            break
        found.append(line[2:].rpartition(" (")[0])
    return found


def windows(seed: int, cwd: Path) -> list[list[str]]:
    """The lines of a generated transcript, a list for each window; all but the first begin with a compaction."""
    found: list[list[str]] = [[]]
    for line in generated.transcript(seed, CALLS, str(cwd)):
        if '"compact_boundary"' in line:
            found.append([])
        found[-1].append(line)
    return found


def touched_files(lines: list[str], top: Path) -> list[str]:
    """The files that lines touch, in their order, by their paths in the repository."""
    blocks = [
        block
        for line in lines
        if isinstance(content := json.loads(line).get("message", {}).get("content"), list)
        for block in content
    ]
    return [
        str(Path(block["input"]["file_path"]).relative_to(top))
        for block in blocks
        if block["type"] == "tool_use" and block["name"] in touches.FILE_TOOLS
    ]


def write(top: Path, paths: list[str]) -> None:
    """The state names no file that is not there."""
    for path in paths:
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text("export {};\n")


def follow(session: Session, seed: int) -> tuple[int, int]:
    """How many known files were read next after compactions, and how many of these the hook had named."""
    last: list[str] = []  # the latest first
    known = hits = 0
    for number, lines in enumerate(windows(seed, session.repo)):
        told: list[str] = []
        if number:
            session.send("PreCompact", trigger="auto")
            told = listed_files(session.context("SessionStart", source="compact"))
            assert told == last[:FILES]
        done = touched_files(lines, session.repo)
        read = list(dict.fromkeys(done))[:_NEXT] if number else []  # a host lets nothing else than a reading come first
        known += sum(path in last for path in read)
        hits += sum(path in last and path in told for path in read)
        last = list(dict.fromkeys([*reversed(done), *last]))
        write(session.repo, done)
        session.transcript.lines += [line.rstrip("\n") for line in lines]
    return known, hits


@pytest.mark.parametrize("sessions", [1, *slow(4)])
def test_checkpoint_names_nearly_all_known_files_read_next(
    repo: Path, tmp_path: Path, memctl: Memctl, sessions: int
) -> None:
    memctl("decide", "Adopt PostgreSQL", "-i", "9")
    known = hits = 0
    for seed in range(sessions):
        session = Session(repo, tmp_path / f"{seed}.jsonl", f"session-{seed}")
        session.send("SessionStart", source="startup")
        found = follow(session, seed)
        known, hits = known + found[0], hits + found[1]
        assert session.faults() == []
    assert known >= 38 * sessions
    assert hits / known >= GOAL


def test_long_decisions_and_many_issues_leave_room_for_the_files(session: Session, memctl: Memctl) -> None:
    titles = [f"Issue {number} {'that takes long to tell ' * 3}" for number in range(15)]
    record_all(memctl, "issue", titles, severity="high")
    session.transcript.prompt("Refunds " + "by card, and more of it " * 40)
    for number in range(20):
        file = session.repo / "src" / f"{'deep/' * 4}file{number}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x = 1\n")
        session.transcript.call("Read", "x = 1", file_path=str(file))
        session.transcript.says(f"DECISION: Number {number} {'because the bank has it so ' * 25}")
    todos = [{"content": f"Step {n} {'and all that goes with it ' * 20}", "status": "in_progress"} for n in range(15)]
    session.transcript.call("TodoWrite", todos=todos)
    session.send("PreCompact", trigger="auto")
    text = session.context("SessionStart", source="compact")
    assert listed_files(text) == [f"src/{'deep/' * 4}file{number}.py" for number in range(19, -1, -1)]
    for label in ("TASK: ", "IN PROGRESS", "DECISIONS:", "OPEN ISSUES:"):
        assert f"\n{label}" in text


def test_file_of_a_failed_call_is_not_in_the_task_state(session: Session) -> None:
    (session.repo / "pool.py").write_text("pool = 25\n")
    session.transcript.prompt("Look at the pool")
    for name, failed in (("gone.py", True), ("pool.py", False)):
        session.transcript.call("Read", "...", error=failed, file_path=str(session.repo / name))
    session.send("PreCompact", trigger="auto")
    state = session_state.read(session.folder)
    assert state is not None
    assert [one.path for one in state.task.files] == ["pool.py"]


def test_task_list_in_the_session_state_of_an_older_memctl_is_read(session: Session) -> None:
    todos = [{"content": "Route", "status": "completed"}, {"content": "Rounding", "status": "in_progress"}]
    calls = [
        {"tool": "TaskCreate", "arguments": {"subject": "Mails"}},
        {"tool": "TodoWrite", "arguments": {"todos": todos}},
    ]
    old = {"intent": "Refunds", "prompt": "Go on", "errors": {"make": "make: Error"}, "task_calls": calls}
    session.folder.path.mkdir(parents=True)
    (session.folder.path / "state.json").write_text(json.dumps(old))
    state = session_state.read(session.folder)
    assert state is not None
    assert (state.task.goal, state.task.said, state.task.errors) == ("Refunds", ("Refunds", "Go on"), ("make: Error",))
    assert (state.task.done, state.task.in_progress, state.created) == (("Route",), ("Rounding",), ("Mails",))
