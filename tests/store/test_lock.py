"""The lock of every write, where there is none to be had."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.errors import MemctlError
from memctl.store import lock

CLOSED = Path("/sys/kernel")  # a folder in which nobody may make a file, whoever it is


@pytest.mark.skipif(not CLOSED.is_dir(), reason="this system has no folder that is closed to all")
@pytest.mark.parametrize("file", [CLOSED / "lock", CLOSED / "memctl" / "lock"])
def test_where_nothing_may_be_written_the_hint_names_sandboxes(file: Path) -> None:
    with pytest.raises(MemctlError, match="can't be written") as raised, lock.hold(file):
        pass
    assert "codex --add-dir .git" in (raised.value.hint or "")


def test_another_fault_stays_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "memctl").write_text("no folder")
    with pytest.raises(OSError, match=r"exists|directory"), lock.hold(tmp_path / "memctl" / "lock"):
        pass
