"""The limit to the time that a template may work."""

from __future__ import annotations

import signal
import threading

import pytest

from memctl.pages.sandbox import deadline


def work() -> None:
    while True:
        sum(range(1_000))


def test_deadline_stops_endless_work() -> None:
    with pytest.raises(TimeoutError, match="longer than"), deadline(0.05):
        work()


def test_deadline_restores_the_timer_afterwards() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    with deadline(0.05):
        pass
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0, 0)
    assert signal.getsignal(signal.SIGVTALRM) is before


def test_deadline_in_another_thread_has_no_effect() -> None:
    done: list[bool] = []

    def calm() -> None:
        with deadline(0.05):
            done.append(True)

    thread = threading.Thread(target=calm)
    thread.start()
    thread.join()
    assert done == [True]
