"""False alarms of the finder of credentials, and how fast it is: on this repository's files and on real transcripts.

Alarms are counted, not judged: what fires is printed with its reason, so that somebody can look at it.
"""

from __future__ import annotations

import json
import subprocess
import tarfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memctl.text.credentials import find

_ROOT = Path(__file__).parents[1]
_OWN = ("tests/", "memctl/text/credentials/")  # have examples of credentials
_DOOR, _STRICT = 10_000, 1_000  # lines of which one may be an alarm: at the door, and where nobody reads
_REASONS = 10
_TRANSCRIPTS = "transcripts-dev.tar.xz"


def tables(data: str) -> bool:
    """Print both tables; `data` is the folder with the transcripts, "" if there is none."""
    results = [_table("tracked files of this repository", list(_tracked()))]
    archive = Path(data) / _TRANSCRIPTS if data else None
    if archive is None or not archive.exists():
        print(f"\nCredentials in transcripts: left out, there is no {_TRANSCRIPTS} (make bench DATA=FOLDER)")
        return all(results)
    said, everything = _transcripts(archive)
    _table("what was said and run in transcripts (few lines, and somebody's samples of credentials)", said)
    results.append(_table("all text of transcripts, with what tools gave", everything))
    return all(results)


def _table(what: str, texts: list[str]) -> bool:
    lines = sum(text.count("\n") + 1 for text in texts)
    size = sum(map(len, texts)) / 1e6
    print(f"\nCredentials: {what}, {lines:,} lines, {size:.1f} MB")
    good = True
    for name, strict, goal in (("at the door", False, _DOOR), ("where nobody reads", True, _STRICT)):
        started = time.process_time()
        reasons = Counter(span.rule for text in texts for span in find(text, strict=strict))
        seconds = time.process_time() - started
        alarms = reasons.total()
        is_met = alarms * goal <= lines
        good = good and is_met
        share = f"{alarms * goal / lines:.2f} in {goal:,} lines"
        print(f"  {name:<20} {alarms:>5} found, {share}, {size / seconds:.1f} MB/s  {'ok' if is_met else 'over'}")
        for rule, number in reasons.most_common(_REASONS):
            print(f"    {number:>5}  {rule}")
    return good


def _tracked() -> Iterator[str]:
    names = subprocess.run(["git", "ls-files", "-z"], cwd=_ROOT, capture_output=True, check=True).stdout.decode()
    for name in names.split("\0"):
        path = _ROOT / name
        if name and not name.startswith(_OWN) and path.is_file() and not path.is_symlink():
            data = path.read_bytes()
            if b"\0" not in data[:8_000]:
                yield data.decode(errors="replace")


def _transcripts(archive: Path) -> tuple[list[str], list[str]]:
    """Of each transcript, what was said and run, and all of its text."""
    said, everything = [], []
    with tarfile.open(archive) as folder:
        for member in folder:
            file = folder.extractfile(member) if member.name.endswith(".jsonl") else None
            if file is not None:
                texts = [pair for line in file for pair in _texts(line)]
                said.append("\n".join(text for text, is_said in texts if is_said))
                everything.append("\n".join(text for text, _ in texts))
    return said, everything


def _texts(line: bytes) -> Iterator[tuple[str, bool]]:
    """The texts of a line of a transcript, each with whether somebody said it or ran it."""
    try:
        message = json.loads(line).get("message")
    except ValueError:
        return
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        yield content, True
    for block in content if isinstance(content, list) else ():
        kind = block.get("type")
        if kind == "text":
            yield block["text"], True
        elif kind == "tool_use":
            arguments = block.get("input") or {}
            for name, value in arguments.items():
                yield from ((text, name in ("command", "description")) for text in _strings(value))
        elif kind == "tool_result":
            yield from ((text, False) for text in _strings(block.get("content")))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (text for key, item in value.items() if key != "data" for text in _strings(item))
    elif isinstance(value, list):
        yield from (text for item in value for text in _strings(item))
