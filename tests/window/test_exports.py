"""The public names: all there, none of them loaded before it is asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

import memctl.window


@pytest.mark.parametrize("name", memctl.window.__all__)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(memctl.window, name).__name__ == name


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="ContextWindow"):
        _ = memctl.window.ContextWindow


def test_who_wants_the_pressure_does_not_pay_for_the_rest() -> None:
    code = "import sys; from memctl.window import ContextPressureMonitor; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "memctl.window.pressure" in loaded
    rooms = {name.split(".")[1] for name in loaded if name.startswith("memctl.") and name != "memctl.window"}
    assert rooms == {"window"}
    assert not {"yaml", "splintr", "click", "sqlite3", "memctl.window.eviction"} & set(loaded)
