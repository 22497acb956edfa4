"""A start gives what it has within its time, says what is missing, and interrupts nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memctl.hooks import daemonize, session_start
from memctl.hooks.guide import GUIDE
from memctl.hooks.session_state import read
from memctl.store import job_queue
from tests.conftest import Memctl
from tests.hooks.session import Session


def test_result_made_in_time_is_returned_whole() -> None:
    text = "é\udcff" * 200_000
    assert daemonize.within(20, lambda: text) == text


def test_function_that_raises_gives_none() -> None:
    assert daemonize.within(20, lambda: str(1 // 0)) is None


def test_late_result_is_not_waited_for_and_its_work_goes_on(tmp_path: Path) -> None:
    go, done = tmp_path / "go", tmp_path / "done"

    def slow() -> str:
        for _ in range(3_000):
            if go.exists():
                break
            time.sleep(0.01)
        done.write_text("whole")
        return "late"

    assert daemonize.within(0.05, slow) is None
    assert not done.exists()
    go.touch()
    for _ in range(600):
        if done.exists() and done.read_text():
            break
        time.sleep(0.05)
    assert done.read_text() == "whole"


def test_session_start_reports_a_late_pack(session: Session, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    memctl("learn", "Pager")
    assert "Pager" in session.context("SessionStart", source="startup")
    real = session_start.context

    def slow(*given: Any) -> str:
        time.sleep(30)
        return real(*given)

    monkeypatch.setattr(session_start, "context", slow)
    monkeypatch.setenv(daemonize.SETTING, "0.2")
    other = Session(session.repo, session.file, "late")
    begin = time.monotonic()
    text = other.context("SessionStart", source="startup")
    assert time.monotonic() - begin < 10
    assert "Pager" not in text
    assert "`memctl rehydrate` prints it" in text
    assert text.startswith(GUIDE)
    state = read(other.folder)
    assert state is not None
    assert state.seen == ""  # a resumed session is given all of it, not what came since
    assert state.began is not None


def test_wait_for_killed_sessions_counts_in_the_time_of_the_start(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []
    real = daemonize.within

    def watch(seconds: float, make: Callable[[], str]) -> str | None:
        given.append(seconds)
        time.sleep(0.2)
        return real(20, make)

    session.folder.path.mkdir(parents=True)
    job_queue.add(session.folder, {"what": "dance"})
    monkeypatch.setattr(daemonize, "within", watch)
    monkeypatch.setenv(daemonize.SETTING, "2")
    session.context("SessionStart", source="startup")
    assert given[0] == 1
    assert given[1] <= 1.8
