"""The lock of every write, where there is none to be had."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memctl.errors import MemctlError
from memctl.store import lock
from tests.conftest import Memctl

CLOSED = Path("/sys/kernel")  # a folder in which nobody may make a file, whoever it is


@pytest.mark.skipif(not CLOSED.is_dir(), reason="this system has no folder that is closed to all")
@pytest.mark.parametrize("file", [CLOSED / "lock", CLOSED / "memctl" / "lock"])
def test_unwritable_lock_mentions_the_sandbox_only_to_codex(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CODEX_SESSION_ID", raising=False)
    with pytest.raises(MemctlError, match="can't be written") as raised, lock.hold(file):
        pass
    assert "`ls -ld /sys/kernel` shows the owner" in (raised.value.hint or "")
    monkeypatch.setenv("CODEX_SESSION_ID", "1")
    with pytest.raises(MemctlError, match="can't be written") as raised, lock.hold(file):
        pass
    assert "codex --add-dir .git" in (raised.value.hint or "")


def test_other_os_errors_pass_through_the_lock(tmp_path: Path) -> None:
    (tmp_path / "memctl").write_text("no folder")
    with pytest.raises(OSError, match=r"exists|directory"), lock.hold(tmp_path / "memctl" / "lock"):
        pass


def test_long_wait_for_the_lock_names_its_holder_once(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_ANNOUNCE_AFTER", 0.0)
    file = repo / ".git" / "memctl" / "lock"
    holding = (
        "import sys; from pathlib import Path; from memctl.store import lock\n"
        "with lock.hold(Path(sys.argv[1])): print(flush=True); sys.stdin.read()"
    )
    sleep, slept = time.sleep, itertools.count(1)

    def sleep_until_it_lets_go(seconds: float) -> None:
        assert holder.stdin is not None
        if next(slept) == 5:  # by then it could have been told more than once
            holder.stdin.close()
        sleep(seconds)

    command = [sys.executable, "-c", holding, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        monkeypatch.setattr(time, "sleep", sleep_until_it_lets_go)
        told = memctl("learn", "Clocks drift", "--lesson", "x").err
    assert told.count(f"waiting at most 60 s for another memctl (process {holder.pid}), which has locked {file}") == 1
    assert lock.announce is None  # so that hooks, which nobody reads, are silent
