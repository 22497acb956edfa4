"""What a resume text after a compaction says, on real transcripts: whether it names what is needed next, and no more.

For each compaction of a transcript the state is what the transcript tells up to it, read in parts as hooks read it, and
the text is what a session is given after it. What is needed are the files that the next calls read or change, as far as
the session had touched them before; these are taken from the arguments of the file tools, not from memctl's own trail.
"""

from __future__ import annotations

import json
import re
import statistics
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from memctl.record.task_state import TaskState
from memctl.session import progress, trail
from memctl.session.progress import Part, Progress
from memctl.session.summary import summarize
from memctl.session.trail import Places
from memctl.task import resume
from memctl.text.fit import LIMIT
from memctl.transcript import reader

_ARCHIVE = "transcripts-dev.tar.xz"
_CALLS = 25  # file operations after a compaction
_TOOLS = {"Read": "file_path", "Edit": "file_path", "Write": "file_path", "MultiEdit": "file_path",
          "NotebookEdit": "notebook_path"}  # fmt: skip
_HOME = re.compile(r"^/(?:home|Users)/[^/]+/")
_FILE_LINE = re.compile(r"- (.*?)(?: \((?:created|modified|deleted|read)\))?$")


class Verdict(msgspec.Struct, frozen=True):
    """One compaction: how long its text is and could be, which files it should and does name, what is wrong with it."""

    transcript: str
    characters: int
    left_out: int
    wanted: tuple[str, ...]
    missed: tuple[str, ...]
    untouched: tuple[str, ...]
    twice: tuple[str, ...]
    prompts_missed: tuple[str, ...]
    is_contradictory: bool
    text: str


def tables(data: str) -> bool:
    """Print the table; `data` is the folder with the transcripts, "" if there is none."""
    archive = Path(data) / _ARCHIVE if data else None
    if archive is None or not archive.exists():
        print(f"\nResume texts: left out, there is no {_ARCHIVE} (make bench DATA=FOLDER)")
        return True
    found = [verdict for name, content in _transcripts(archive) for verdict in judged(name, content)]
    wanted, missed = sum(len(one.wanted) for one in found), sum(len(one.missed) for one in found)
    full = [one.characters for one in found if one.left_out]
    print(f"\nResume texts after {len(found)} compactions, of at most {LIMIT:,} characters")
    share = f"{1 - missed / wanted:.3f}" if wanted else "-"
    print(f"  known files of the next {_CALLS} file operations named   {wanted - missed} of {wanted}  {share}")
    print(f"  files named that the session did not touch         {sum(len(one.untouched) for one in found)}")
    print(f"  lines that stand twice                             {sum(len(one.twice) for one in found)}")
    print(f"  texts without one of the last three prompts        {sum(bool(one.prompts_missed) for one in found)}")
    print(f"  texts that say 100 % beside something open         {sum(one.is_contradictory for one in found)}")
    print(f"  characters, median                                 {statistics.median(o.characters for o in found):,.0f}")
    if full:
        least = f"median {statistics.median(full):,.0f}, least {min(full):,}"
        print(f"  the same of the {len(full)} that leave something out        {least}")
    return True


def _transcripts(archive: Path) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(archive) as packed:
        for member in packed:
            file = packed.extractfile(member) if member.name.endswith(".jsonl") else None
            if file is not None:
                yield Path(member.name).name, file.read()


def judged(name: str, content: bytes) -> Iterator[Verdict]:
    """The verdicts on the compactions of one transcript, in their order."""
    rows = content.split(b"\n")
    begins = [number for number, row in enumerate(rows) if b'"compact_boundary"' in row and _is_boundary(row)]
    known, start, touched = Progress(), 0, list[str]()
    cwd = next((values["cwd"] for row in rows if isinstance((values := _values(row)).get("cwd"), str)), "")
    prompts, inputs = list[str](), ""
    for place in begins:
        known = _advanced(known, b"\n".join(rows[start:place]), cwd)
        touched += _file_operations(rows[start:place], cwd)
        prompts += _prompts(rows[start:place])
        after = _file_operations(rows[place:], cwd)[:_CALLS]
        inputs += _inputs(rows[start:place])
        yield _verdict(name, known.state, touched, after, prompts, inputs)
        start = place


def _advanced(before: Progress, content: bytes, cwd: str) -> Progress:
    session = reader.read(content)
    places = Places(Path(cwd or "/nowhere"), cwd)
    made = trail.of_session(session, places, (), ())
    summary = summarize(session, made, "s-1", "bench")
    files = trail.touched_files(session.events, places, made)
    return progress.advance(
        before, Part(session.events, summary.found, summary.failures, summary.succeeded, files), by="bench"
    )


def _verdict(
    name: str, state: TaskState, touched: Sequence[str], after: Sequence[str], prompts: Sequence[str], inputs: str
) -> Verdict:
    made = resume.write(state)
    lines = made.text.rstrip("\n").split("\n")
    items = [line for line in lines if line.startswith("- ")]
    files = _files(lines)
    wanted = tuple(path for path in dict.fromkeys(after) if path in touched)
    plain = re.sub(r"\s+", " ", made.text)
    last = [re.sub(r"\s+", " ", prompt).strip() for prompt in prompts[-3:]]
    return Verdict(
        transcript=name,
        characters=made.characters,
        left_out=made.left_out,
        wanted=wanted,
        missed=tuple(path for path in wanted if path not in files),
        untouched=tuple(path for path in files if not _is_named(path, inputs)),
        twice=tuple({item for item in items if items.count(item) > 1}),
        prompts_missed=tuple(prompt for prompt in last if prompt[:60] not in plain),
        is_contradictory="100 %" in made.text and ("IN PROGRESS" in made.text or "PLANNED" in made.text),
        text=made.text,
    )


def _is_named(path: str, inputs: str) -> bool:
    """Whether a path can be one that calls of tools named: by its name at least, and no pattern or program."""
    return Path(path).name in inputs and not re.search(r"[*?|(){}\n]", path)


def _files(lines: Sequence[str]) -> list[str]:
    start = next((n for n, line in enumerate(lines, start=1) if line.startswith("FILES")), len(lines))
    found = []
    for line in lines[start:]:
        if not line.startswith("- "):
            break
        match = _FILE_LINE.match(line)
        found.append(match[1] if match else line)
    return found


def _values(row: bytes) -> dict[str, Any]:
    try:
        values = json.loads(row)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _is_boundary(row: bytes) -> bool:
    values = _values(row)
    return values.get("subtype") == "compact_boundary" and not values.get("isSidechain")


def _file_operations(rows: Sequence[bytes], cwd: str) -> list[str]:
    """The files of calls of file tools that were no errors, below the working folder or from the home folder."""
    calls: list[tuple[str, str]] = []
    failed = set()
    for values in map(_values, rows):
        content = (values.get("message") or {}).get("content")
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use" and block.get("name") in _TOOLS:
                path = (block.get("input") or {}).get(_TOOLS[block["name"]])
                calls += [(str(block.get("id")), path)] if isinstance(path, str) else []
            elif block.get("type") == "tool_result" and block.get("is_error"):
                failed.add(str(block.get("tool_use_id")))
    return [_shown(path, cwd) for name, path in calls if name not in failed]


def _inputs(rows: Sequence[bytes]) -> str:
    """What calls of tools were given, as one text."""
    found = []
    for values in map(_values, rows):
        content = (values.get("message") or {}).get("content")
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") == "tool_use":
                found.append(json.dumps(block.get("input"), ensure_ascii=False))
    return "\n".join(found)


def _shown(path: str, cwd: str) -> str:
    inside = f"{cwd.rstrip('/')}/"
    return path[len(inside) :] if cwd and path.startswith(inside) else _HOME.sub("~/", path)


def _prompts(rows: Sequence[bytes]) -> list[str]:
    """What the user typed: messages that are no results, no summaries and nothing of the host's."""
    found = []
    for values in map(_values, rows):
        if values.get("type") != "user" or values.get("isMeta") or values.get("isSidechain"):
            continue
        if values.get("isCompactSummary") or values.get("toolUseResult") is not None:
            continue
        content = (values.get("message") or {}).get("content")
        parts = [content] if isinstance(content, str) else content if isinstance(content, list) else []
        texts = [part if isinstance(part, str) else part.get("text", "") for part in parts if part]
        text = "\n".join(text for text in texts if isinstance(text, str)).strip()
        if text and not text.startswith(("<", "[Request interrupted", "Caveat:")):
            found.append(text)
    return found
