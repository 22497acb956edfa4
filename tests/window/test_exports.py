"""The public names: all there, none of them loaded before it is asked for."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import memctl.window


def test_public_names_match_their_objects() -> None:
    for name in memctl.window.__all__:
        found = getattr(memctl.window, name)
        if isinstance(found, ModuleType):
            assert found.__name__.rpartition(".")[2] == name
        elif not name.isupper():
            assert found.__name__ == name


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="ContextWindow"):
        _ = memctl.window.ContextWindow


def test_importing_the_pressure_monitor_loads_no_other_parts() -> None:
    code = "import sys; from memctl.window import ContextPressureMonitor; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "memctl.window.pressure.monitor" in loaded
    other = {name for name in loaded if name.startswith("memctl.") and not name.startswith("memctl.window")}
    plain = {"memctl.errors", "memctl.text", "memctl.text.lazy_regex", "memctl.text.light_typing", "memctl.record"}
    assert other <= {*plain, "memctl.record.argument_checks", "memctl.tokens", "memctl.tokens.model_windows"}
    assert not {"yaml", "splintr", "click", "sqlite3", "memctl.window.eviction.engine"} & set(loaded)


NAMES = (
    *(
        "ContextPressureMonitor",
        "PressureReading",
        "PressureZone",
        "EvictionEngine",
        "EvictionPolicy",
        "EvictionResult",
    ),
    *("EvictionResult", "ContentBlock", "ContentType", "CompressionEngine", "CompressionStrategy", "CompressionResult"),
    *("TokenBudgetManager", "BudgetComponent", "ComponentBudget", "CrossWindowStateManager", "TaskState"),
    *("ContextHealthMonitor", "HealthSnapshot", "AlertLevel", "ContextWindowManager", "WindowStatus"),
)


def test_all_names_of_the_parts_are_public() -> None:
    assert set(NAMES) <= set(memctl.window.__all__)


def test_accessing_a_name_loads_only_the_modules_it_needs() -> None:
    """One process: a name's module is loaded when it is asked for, and not before."""
    code = """
import sys, memctl.window
for name in ("TaskState", "EvictionEngine", "CompressionEngine", "ContextWindowManager"):
    getattr(memctl.window, name)
    print(name, *sorted(one for one in sys.modules if one.startswith("memctl.")))
"""
    lines = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    loaded = {line.split()[0]: set(line.split()[1:]) for line in lines}
    late = (
        *("eviction.engine", "eviction.simulation", "compression.engine", "compression.reduction"),
        *("orchestrator", "state.checkpoints", "health"),
    )
    has = {name: {one for one in late if f"memctl.window.{one}" in found} for name, found in loaded.items()}
    assert has == {
        "TaskState": set(),
        "EvictionEngine": {"eviction.engine"},
        "CompressionEngine": {"eviction.engine", "compression.engine"},
        "ContextWindowManager": {"eviction.engine", "compression.engine", "orchestrator", "health"},
    }
    assert not any(one.startswith(("memctl.store", "memctl.task")) for one in loaded["EvictionEngine"])
