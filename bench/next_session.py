"""Whether a session's start holds what the session then needs, on consecutive real sessions of several projects.

Each session is told of the sessions before it by the text on where work stands (`pack.work_text`), made from their
pages alone. Needed is what a session uses and an earlier one knew, and its first prompt does not name:

- files of its first 25 file operations that an earlier session touched
- rare names, such as of functions, in its first 30 calls that one of the last five sessions had
- commands of which it first ran a form that failed, where an earlier session had the form that then worked
- errors that an earlier session had met

The baselines get as many characters: the files of the last sessions, and a list of the last eight sessions with first
prompt, last answer, last prompt, and files changed and read. An ablation removes one part of the text at a time.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench import handed_on, repositories
from bench.world import World
from memctl.pack import work_text
from memctl.pack.items import Worktree
from memctl.pack.work_text import Work
from memctl.record import session_page
from memctl.record.session_page import SessionPage
from memctl.record.snapshot import Snapshot
from memctl.session import commands, failures, page_builder, tool_calls, trail
from memctl.session.summary import summarize
from memctl.session.trail import Places
from memctl.store import load
from memctl.store.memory import open_memory
from memctl.task import live_state
from memctl.text.actions import READ
from memctl.transcript import reader
from memctl.transcript.events import ANSWER, CALL, PROMPT, Event

_ARCHIVES = ("transcripts-dev.tar.xz", "transcripts-dev-2.tar.xz")
_ROOM = 5_000  # characters of the text
_FILES, _CALLS = 25, 30  # operations and calls at a session's beginning
_LATEST = 20  # pages that a start reads
_RARE = 0.3  # share of the sessions that may have a rare name
_SOON = 7  # commands within which another form is tried
_NAME = re.compile(r"\b(?:[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+|\w+_\w+|[\w-]+\.(?:go|tsx?|js|py|rs|ya?ml|md|toml))\b")
_KINDS = ("files", "names", "commands", "errors")
_TEXTS = ("old_string", "new_string", "content", "prompt", "description")  # arguments that quote more than they name


class _Run(NamedTuple):
    """A command without its folder and pipe, the program with its first argument, and whether it failed."""

    form: str
    program: str
    is_failure: bool


class _Session(NamedTuple):
    """What one session used and knew, and its page."""

    page: SessionPage
    prompt: str
    last_prompt: str
    answer: str
    operations: list[tuple[str, bool]]  # paths, and whether the file was changed
    first_names: set[str]
    names: set[str]
    runs: list[_Run]
    errors: list[str]
    digest: str  # SHA-256 of the transcript
    texts: dict[int, str]  # of prompts, answers and the user's answers to questions, by line


_Needed = Mapping[str, Collection[str]]


def table(here: World, data: str) -> bool:
    """Print, for each project, how often a start holds what is needed; `data` is the folder with the transcripts."""
    for project, sessions, needs in _projects(data):
        print(f"\nA next session's start, {project}: {len(sessions)} sessions, texts of at most {_ROOM:,} characters")
        made = {
            "where work stands": partial(_text, _snapshot(here), sessions),
            "files of the last sessions": partial(_paths, sessions),
            "list of the last eight sessions": partial(_list, sessions),
        }
        for name, text in made.items():
            print(f"  {name:32}  {_figures(needs, text)}")
        known = handed_on.labels()
        stated = [
            (
                list(handed_on.decided(known[one.digest], one.texts)) if one.digest in known else [],
                handed_on.left(one.answer),
            )
            for one in sessions
        ]
        for name, text in made.items():
            print(f"  {name:32}  handed on: {handed_on.figures(stated, text)}")
    return True


def ablation(here: World, data: str) -> bool:
    """Print what changes in the figures of `table` if a part of the text is left out."""
    for project, sessions, needs in _projects(data):
        print(f"\nA next session's start without a part, {project}")
        snapshot = _snapshot(here)
        for name, change in _ABLATIONS.items():
            changed = [session._replace(page=change(session.page)) for session in sessions]
            least = 1 if name == "sessions before the last" else _LATEST
            print(f"  {name:32}  {_figures(needs, partial(_text, snapshot, changed, most=least))}")
    return True


def _without(*headings: str) -> Callable[[SessionPage], SessionPage]:
    def change(page: SessionPage) -> SessionPage:
        files = {heading: rows for heading, rows in page.files.items() if heading not in headings}
        lines = {heading: rows for heading, rows in page.lines.items() if heading not in headings}
        return msgspec.structs.replace(page, files=files, lines=lines)

    return change


_ABLATIONS: Mapping[str, Callable[[SessionPage], SessionPage]] = {
    "nothing": _without(),
    "changed files": _without(session_page.CHANGED),
    "read files": _without(session_page.READ),
    "commands": _without(session_page.COMMANDS),
    "commits": _without(session_page.COMMITS),
    "intent": _without(session_page.INTENT),
    "later prompts": _without(session_page.SAID),
    "state and last answer": _without(session_page.STATE),
    "next steps": _without(session_page.NEXT),
    "open errors": _without(session_page.ERRORS),
    "unrecorded decisions and lessons": _without(session_page.DECISIONS, session_page.LEARNINGS),
    "sessions before the last": _without(),
}


def _projects(data: str) -> Iterator[tuple[str, list[_Session], list[_Needed]]]:
    """Yield each project's name, its sessions by time, and what each session needs."""
    found: dict[str, list[_Session]] = defaultdict(list)
    for archive in (Path(data) / name for name in _ARCHIVES):
        if not data or not archive.exists():
            print(f"\nNext sessions: left out, there is no {archive.name} (make bench DATA=FOLDER)")
            continue
        with tarfile.open(archive) as packed:
            for member in packed:
                file = packed.extractfile(member) if member.name.endswith(".jsonl") else None
                session = _read(Path(member.name).stem, file.read()) if file else None
                if session is not None:
                    found[Path(member.name).parent.name].append(session)
    for project, sessions in found.items():
        sessions.sort(key=lambda session: str(session.page.values["started"]))
        yield project, sessions, list(_needs(sessions))


def _read(name: str, content: bytes) -> _Session | None:
    session = reader.read(content)
    if not session.started:
        return None
    places = Places(Path(session.cwd.replace("\\", "/") or "/nowhere"), session.cwd)
    made = trail.of_session(session, places, (), ())
    summary = summarize(session, made, name[:100], "bench")
    summary = msgspec.structs.replace(summary, commands=tuple(commands.outcomes(session.events, places)))
    page = page_builder.compose(summary, "bench", session.ended)
    page = session_page.parse(session_page.render(page), session_page.path_of(page.id))
    events = [event for event in session.events if not event.agent]
    calls = [event for event in events if event.kind == CALL]
    prompts = [event.text for event in events if event.kind == PROMPT] or [""]
    answers = [event.text for event in events if event.kind == ANSWER] or [""]
    spoken = [event.text for event in events if event.kind in (PROMPT, ANSWER)]
    spoken += [tool_calls.command_of(event.arguments) for event in calls]
    results = list(failures.results(events))
    return _Session(
        page,
        prompts[0],
        prompts[-1],
        answers[-1],
        [operation for call in calls for operation in _operations(call, places)],
        {name for call in calls[:_CALLS] for name in _names_of(call)},
        {name for text in spoken for name in _NAME.findall(text)},
        [_run(call, is_failure=result.is_error) for result, call in results if tool_calls.command_of(call.arguments)],
        [_error(result.text) for result, _ in results if result.is_error],
        sha256(content).hexdigest(),
        {event.line: event.text for event in events if event.kind != CALL},
    )


def _operations(call: Event, places: Places) -> Iterator[tuple[str, bool]]:
    if tool_calls.command_of(call.arguments):
        return
    for touch in tool_calls.touched(call):
        path, is_inside = places.locate(touch.path, call.cwd)
        if is_inside:
            yield path, touch.action != READ


def _names_of(call: Event) -> list[str]:
    arguments = {name: value for name, value in call.arguments.items() if name not in _TEXTS}
    return _NAME.findall(json.dumps(arguments, default=str))


def _run(call: Event, *, is_failure: bool) -> _Run:
    command = re.sub(r"^\s*(?:cd [^&;]+(?:&&|;)\s*)+", "", tool_calls.command_of(call.arguments).strip())
    form = re.sub(r"2>&1.*|\|.*", "", command).strip()
    return _Run(form, " ".join(form.split()[:2]), is_failure)


def _error(text: str) -> str:
    """Return the line that says what failed, without numbers and paths, in which it differs from time to time."""
    return re.sub(r"\d+|/\S+", "#", failures.message(text))[:120]


def _needs(sessions: Sequence[_Session]) -> Iterator[_Needed]:
    counts = Counter(name for session in sessions for name in session.names)
    seen, works, met = set[str](), set[str](), set[str]()
    for number, session in enumerate(sessions):
        recent = set[str]().union(*(other.names for other in sessions[max(0, number - 5) : number]))
        most = max(2, _RARE * len(sessions))
        files = dict.fromkeys(path for path, _ in session.operations[:_FILES])
        rare = (name for name in session.first_names if len(name) > 5 and counts[name] <= most)
        yield {
            "files": [path for path in files if path in seen and not _is_named(path, session.prompt)],
            "names": [name for name in rare if name in recent and name not in session.prompt],
            "commands": list(_found_again(session.runs, works)),
            "errors": [error for error in set(session.errors) if len(error) > 25 and error in met],
        }
        seen |= {path for path, _ in session.operations}
        works |= {run.form for run in session.runs if not run.is_failure}
        met |= set(session.errors)


def _found_again(runs: Sequence[_Run], works: Collection[str]) -> Iterator[str]:
    """Yield the commands that a session ran after another form had failed, and that an earlier session had run."""
    for number, run in enumerate(runs):
        for other in runs[number + 1 : number + 1 + _SOON] if run.is_failure else ():
            is_form = other.program == run.program and other.form != run.form
            if is_form and not other.is_failure and other.form in works:
                yield other.form
                break


def _is_named(path: str, text: str) -> bool:
    """Return whether a text has a path whole, or its last folder and name."""
    whole = re.search(rf"(?<![\w/.-]){re.escape(path)}(?![\w/-])", text) is not None
    return whole or ("/" in path and "/".join(path.split("/")[-2:]) in text)


def _figures(needs: Sequence[_Needed], text: Callable[[int], str]) -> str:
    found, all_needed = Counter[str](), Counter[str]()
    for number, needed in enumerate(needs):
        if not number or not any(needed.values()):
            continue
        made = text(number)
        got = {
            "files": sum(_is_named(path, made) for path in needed["files"]),
            "names": sum(name in made for name in needed["names"]),
            "commands": sum(command in made for command in needed["commands"]),
            "errors": sum(error.partition("#")[0][:30] in made for error in needed["errors"]),
        }
        found.update(got)
        all_needed.update({kind: len(needed[kind]) for kind in _KINDS})
        found["sessions"] += any(got.values())
        all_needed["sessions"] += 1
    return ", ".join(
        f"{kind} {found[kind]} of {all_needed[kind]} ({found[kind] / max(1, all_needed[kind]):.2f})"
        for kind in ("sessions", *_KINDS)
    )


def _snapshot(here: World) -> Snapshot:
    """Return a memory that knows nothing of the projects: what is recorded is no part of the text."""
    return load.disk(open_memory(repositories.with_memory(here, 100), here.environment))


def _text(snapshot: Snapshot, sessions: Sequence[_Session], number: int, most: int = _LATEST) -> str:
    pages = [session.page for session in reversed(sessions[max(0, number - most) : number])]
    state = live_state.of_page(pages[0]) if pages else None
    work = Work(pages, state, Worktree(uncommitted=()))
    return work_text.write(snapshot, work, str(sessions[number].page.values["started"]), _ROOM, len)


def _paths(sessions: Sequence[_Session], number: int) -> str:
    paths = [path for session in reversed(sessions[:number]) for path, is_changed in session.operations if is_changed]
    return "\n".join(dict.fromkeys(paths))[:_ROOM]


def _list(sessions: Sequence[_Session], number: int) -> str:
    lines = []
    for age, session in enumerate(reversed(sessions[max(0, number - 8) : number])):
        latest = list(dict.fromkeys(reversed(session.operations)))
        changed = dict.fromkeys(path for path, is_changed in latest if is_changed)
        read = dict.fromkeys(path for path, _ in latest if path not in changed)
        lines += [_flat(session.prompt, 200), _flat(session.answer, 400 if age < 2 else 150)]
        lines += [
            _flat(session.last_prompt, 150),
            ", ".join([*changed][:25]),
            ", ".join([*read][: 12 if age < 2 else 6]),
        ]
    return "\n".join(lines)[:_ROOM]


def _flat(text: str, longest: int) -> str:
    return " ".join(text.split())[:longest]
