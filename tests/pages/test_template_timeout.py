"""The limit to the time that a template may work."""

from __future__ import annotations

import signal
import threading

import pytest

from memctl.pages.sandbox import deadline


def work() -> None:
    while True:
        sum(range(1_000))


def test_endless_work_is_stopped() -> None:
    with pytest.raises(TimeoutError, match="longer than"), deadline(0.05):
        work()


def test_afterwards_nothing_is_limited_any_more() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    with deadline(0.05):
        pass
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    assert signal.getsignal(signal.SIGVTALRM) is before


def test_in_another_thread_there_is_no_limit_and_no_fault() -> None:
    done: list[bool] = []

    def calm() -> None:
        with deadline(0.05):
            done.append(True)

    thread = threading.Thread(target=calm)
    thread.start()
    thread.join()
    assert done == [True]
