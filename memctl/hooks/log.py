"""The log of compactions, and that of our own faults: beside the sessions' folders, each within a size."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from memctl.git import private
from memctl.light_typing import Any

COMPACTIONS, FAULTS = "compactions.jsonl", "faults.jsonl"
_MOST_BYTES = 512 * 1024  # of a file; one older is kept beside it
_LONGEST = 2_000  # characters of a fault


def add(root: Path, name: str, entry: Mapping[str, Any]) -> None:
    """Append an entry to a log; raises OSError."""
    private.make_folder(root)
    file = root / name
    if file.exists() and file.stat().st_size > _MOST_BYTES:
        os.replace(file, older(file))
    with open(
        private.open_file(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab"
    ) as stream:  # one write: lines of several processes don't mix
        stream.write(json.dumps(entry, ensure_ascii=True).encode() + b"\n")


def entries(root: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield what is in a log, oldest first; a broken line is left aside."""
    for file in (older(root / name), root / name):
        try:
            lines = file.read_bytes().split(b"\n")
        except OSError:
            continue
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                yield entry


def moment(environ: Mapping[str, str]) -> str:
    """Now, or the time that MEMCTL_NOW fixes, as it is given: a hook can't pay for reading it, who uses it does."""
    return environ.get("MEMCTL_NOW", "").strip() or _clock()


def fault(root: Path, event: str, session: str, error: BaseException) -> None:
    """Note a fault of ours; if not even that works, nothing."""
    message = str(getattr(error, "message", "") or error)
    described = f"{type(error).__name__}: {message}"[:_LONGEST]
    entry = {"at": _clock(), "event": event, "session": session, "fault": described, "where": _where(error)}
    try:
        add(root, FAULTS, entry)
    except OSError:
        return


def older(file: Path) -> Path:
    return file.with_name(f"{file.name}.1")


def _where(error: BaseException) -> str:
    """Return the module and line that a fault comes from."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""


def _clock() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
