"""Write and read the two logs of memctl's hooks: of compactions and of memctl's own errors. Each has a limited size."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from memctl.git import private_files
from memctl.text.light_typing import Any

COMPACTIONS, FAULTS = "compactions.jsonl", "faults.jsonl"
_MOST_BYTES = 512 * 1024  # of a log file; one older file is kept
_LONGEST = 2_000  # characters of an error's description
_REPORTED = "faults-reported"  # the file with the time of the last error that a session's start has told
_LONGEST_REPORTED = 160  # characters of an error in a session's start


def add(root: Path, name: str, entry: Mapping[str, Any]) -> None:
    """Append an entry to a log, as a line of JSON; raises OSError if that fails.

    `name` is the log: COMPACTIONS, or FAULTS for memctl's own errors. `root` is the folder in which hooks keep their
    data (`Memory.hooks`); the logs are files in it.
    """
    private_files.make_folder(root)
    file = root / name
    if file.exists() and file.stat().st_size > _MOST_BYTES:
        os.replace(file, older(file))
    with open(private_files.open_file(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as stream:
        # One write, so that lines of several processes don't mix.
        stream.write(json.dumps(entry, ensure_ascii=True).encode() + b"\n")


def entries(root: Path, name: str) -> Iterator[dict[str, Any]]:
    """Yield the entries of a log, the oldest first.

    `name` is COMPACTIONS, or FAULTS for memctl's own errors, and `root` the folder in which hooks keep their data
    (`Memory.hooks`). Broken lines are skipped, and a log that can't be read has no entries.
    """
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
    """Return the current time in UTC as text, or the value of the environment variable MEMCTL_NOW if it is set.

    The variable is not checked to be a time, because that takes too long for a hook.
    """
    return environ.get("MEMCTL_NOW", "").strip() or _clock()


def fault(root: Path, event: str, session: str, error: BaseException) -> None:
    """Add an error of memctl to the log of memctl's own errors; does nothing if the log can't be written.

    `root` is the folder in which hooks keep their data (`Memory.hooks`). `event` is the host's event and `session` the
    session that memctl was working on when the error happened; "" if unknown.
    """
    message = str(getattr(error, "message", "") or error)
    described = f"{type(error).__name__}: {message}"[:_LONGEST]
    entry = {"at": _clock(), "event": event, "session": session, "fault": described, "where": _where(error)}
    try:
        add(root, FAULTS, entry)
    except OSError:
        return


def report_faults(root: Path) -> str:
    """Return a line on the errors of memctl's hooks since the last call, "" for none, and note that it is given.

    `root` is the folder in which hooks keep their data. Raises OSError if the note can't be written.
    """
    file = root / _REPORTED
    until = file.read_text("utf-8") if file.exists() else ""
    faults = [entry for entry in entries(root, FAULTS) if str(entry.get("at", "")) > until]
    if not faults:
        return ""
    private_files.replace_file(file, str(faults[-1].get("at", "")).encode())
    what = " ".join(str(faults[-1].get("fault", "")).split())[:_LONGEST_REPORTED]
    times = f" ({len(faults)} times)" if len(faults) > 1 else ""
    missing = f"A hook of memctl failed since the last start{times}, so something may be missing here: {what}"
    return f"{missing}. Tell the user; `memctl hook log --faults` prints it. (memctl)\n"


def older(file: Path) -> Path:
    """Return the path of the file to which a full log is moved, so that it has the older entries.

    Example: `faults.jsonl` gives `faults.jsonl.1`.
    """
    return file.with_name(f"{file.name}.1")


def _where(error: BaseException) -> str:
    """Return the module and line that raised an error, such as "dispatch.py:120"."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""


def _clock() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
