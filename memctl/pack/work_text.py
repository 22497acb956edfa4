"""Write where work stands: what a new session needs of the sessions before it, in the order of its use.

First what the last session was asked, did and left open; then the files of the last sessions; then the commands that
work here; then a line on each session before the last. The work of the last session may be finished or not, so the
text says that the user's prompt comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from memctl.pack.budget_fill import CountTokens
from memctl.pack.items import Worktree
from memctl.record import session_page
from memctl.record.checkpoint import is_outside
from memctl.record.session_page import OTHER_FORM, SessionPage
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import DONE
from memctl.task import live_state
from memctl.task.live_state import LiveState
from memctl.text.actions import DELETED, READ
from memctl.text.fit import cut_at_word
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line
from memctl.text.phrases import gap, some

TITLE = "Where work stands"
_NOW, _COMMANDS, _FILES = 0.4, 0.1, 0.75  # of the room: up to which what lies before the files, the commands, the files
# Characters of the task, of what a list has, of a later prompt, and of the last answer.
_GOAL, _LINE, _PROMPT, _ANSWER = 300, 180, 150, 620
_BRIEF = 130  # characters of the intent, and of the answer, of a session before the last
_MOST = {
    "prompts": 8,
    "before": 2,
    "done": 3,
    "commits": 4,
    "dirty": 8,
    "open": 5,
    "errors": 3,
    "stated": 6,
    "pairs": 3,
}
_COMMANDS_NAMED, _COMMANDS_LENGTH = 5, 250  # commands, and their characters
_HEADINGS = {True: "- Files that the last sessions changed, the latest first: ", False: "- Files that they read: "}
_DECAY, _OWN = 0.9, 1.5  # weight of a file for each later session, and of one of the same branch; `bench` measures it
_CD = lazy_regex(r"`cd (\S+) && ([^`]+)`")
_QUESTION = lazy_regex(r"\?(?: \(|\Z)")  # at the end of a line, but for who said it
_PLAN = lazy_regex(r"^[^#]{0,60}# (?P<title>[^#]{4,200}) ## .*")  # a prompt that gives a plan, on one line
_WORDS = lazy_regex(r"\w+")
# Files that no task of this worktree is about: of another drive or worktree, of Git, and of packages.
_ELSEWHERE = lazy_regex(r"[A-Za-z]:/|(?:.*/)?(?:node_modules|site-packages|\.venv|\.git|worktrees)/")
_BY_USER, _REASON = "(by the user)", " \N{EM DASH} "


class Work(msgspec.Struct, frozen=True):
    """The work before a session: the pages of earlier sessions, the latest first, and where the work stands."""

    pages: Sequence[SessionPage] = ()
    state: LiveState | None = None
    worktree: Worktree = Worktree()


def write(snapshot: Snapshot, work: Work, now: str, limit: int, count: CountTokens) -> str:
    """Return where work stands as Markdown within `limit` tokens, as `count` counts them; "" without earlier work.

    `now` is the time, such as "2025-11-04T14:32:00Z".
    """
    if work.state is not None and _is_over(work.state, work.worktree, snapshot):
        work = msgspec.structs.replace(work, state=_without_open(work.state))
    chosen = _Lines(limit, count)
    if not (work.pages or work.state) or not chosen.add(_opening(work, now), 1):
        return ""
    for listed in _of_state(work.state, work.worktree, snapshot) if work.state else ():
        chosen.add_list(listed, _NOW)
    at = len(chosen.lines)
    for line in _command_lines(work.pages):
        chosen.add(f"- {line}", _NOW + _COMMANDS)
    commands, chosen.lines = chosen.lines[at:], chosen.lines[:at]
    others = [page for page in work.pages if work.state is None or page.id != work.state.key]
    before = [f"- {brief}" for page in others if (brief := _brief(page))]
    chosen.add_files(_files(snapshot, work), _FILES if before else 1)
    chosen.lines += commands
    if before:
        chosen.add("- Sessions before it:", 1)
    for line in before:
        chosen.add(f"  {line}", 1)
    return "\n".join(chosen.lines) + "\n" if len(chosen.lines) > 1 else ""  # an opening of nothing


class _Line(NamedTuple):
    """A line that lists some parts below a title, or without one says one thing."""

    title: str
    parts: Sequence[str]


class _Lines:
    """Lines that fit into a room."""

    def __init__(self, limit: int, count: CountTokens) -> None:
        self.lines: list[str] = []
        self._limit, self._count, self._used = limit, count, 0

    def add(self, line: str, share: float) -> bool:
        """Add a line if all lines then take at most a share of the room; returns whether they do."""
        cost = self._count(line) + 1
        if self._used + cost > share * self._limit:
            return False
        self.lines.append(line)
        self._used += cost
        return True

    def add_list(self, line: _Line, share: float) -> None:
        """Add a line with as many of its parts as fit, the first ones."""
        texts = ["; ".join(line.parts[:count]) for count in range(len(line.parts), 0, -1)]
        any(self.add(f"- {line.title}: {text}" if line.title else f"- {text}", share) for text in texts)

    def add_files(self, files: Mapping[str, _File], share: float) -> None:
        """Add a line of changed files and one of files that were only read, as many as fit into the share."""
        room = share * self._limit - self._used - sum(map(self._count, _HEADINGS.values()))
        fitting = set[str]()
        for path in sorted(files, key=lambda path: -files[path].weight):
            room -= self._count(f"{session_page.span(path)}, ")
            if room < 0:
                break
            fitting.add(path)
        for is_changed, heading in _HEADINGS.items():
            paths = [
                session_page.span(path) for path in files if path in fitting and files[path].is_changed == is_changed
            ]
            if paths:
                self.add(f"{heading}{', '.join(paths)}", 1)


def _command_lines(pages: Sequence[SessionPage]) -> Iterator[str]:
    """Yield a line of the commands that work here, those of most sessions first, and lines of those that fail."""
    lines = [line for page in pages for line in reversed(page.lines.get(session_page.COMMANDS, ()))]
    counts = Counter(lines)  # equal numbers stay in the order of the lines, the latest first
    last = pages[0].lines.get(session_page.COMMANDS, ()) if pages else ()
    folders: dict[str, list[str]] = {}
    for folder, command in _short(line for line, times in counts.most_common() if times > 1 or line in last):
        folders.setdefault(folder, []).append(command)
    named = [f"{f'in {folder}: ' if folder else ''}{', '.join(commands)}" for folder, commands in folders.items()]
    if named:
        yield f"Commands that work here: {'; '.join(named)}"
    errors = [line for page in pages for line in reversed(page.lines.get(session_page.ERRORS, ()))]
    pairs = [line.removeprefix(OTHER_FORM) for line in errors if line.startswith(OTHER_FORM)]
    latest = {_failing(line): line for line in reversed(pairs)}
    yield from [latest[form] for form, _ in Counter(map(_failing, pairs)).most_common(_MOST["pairs"])]


def _failing(pair: str) -> str:
    """Return the form that fails of a line such as "`rtk bun` fails: unknown command — `bun` works"."""
    return pair.partition(" fails: ")[0]


def _short(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the folder and the command of the first lines that fit into the room, both as code.

    "`cd src && make`" gives "`src`" and "`make`". Long commands are mostly for one occasion.
    """
    room = _COMMANDS_LENGTH
    for line in islice(lines, _COMMANDS_NAMED):
        match = _CD.fullmatch(line)
        folder, command = (f"`{match[1]}`", f"`{match[2]}`") if match else ("", line)
        room -= len(command)
        if room >= 0:
            yield folder, command


def _opening(work: Work, now: str) -> str:
    """Return the sentence that says whose work follows, and that the user's prompt comes first."""
    state = work.state
    if state is None:
        return "Other sessions worked here. Your task is what the user asks now; this is for the case that they go on:"
    ago = gap(state.task.saved_at, now) if state.task.saved_at else ""
    facts = [f"{ago} ago" if ago else state.task.saved_at, one_line(state.task.saved_by)]
    if state.branch and state.branch != work.worktree.branch:
        facts.append(f"on the branch {one_line(state.branch)}")
    about = ", ".join(filter(None, facts))
    end = " and has finished" if state.is_over else ", and may have finished"
    return (
        f"Another session worked here{f' ({about})' if about else ''}{end}."
        " Your task is what the user asks now; this is for the case that it goes on:"
    )


def _is_over(state: LiveState, worktree: Worktree, snapshot: Snapshot) -> bool:
    """Return whether work is over: all steps are done, its record is closed, its branch is gone, or all is committed.

    Where all is committed, nothing else may be open, and the agent's last answer must not ask for anything.
    """
    task = state.task
    record = snapshot.find(task.task_id) if task.task_id else None
    if task.is_finished or state.is_over or (record is not None and not record.is_open):
        return True
    is_open = any((task.next_actions, task.in_progress, task.planned, task.claimed, task.errors, task.blockers))
    is_asking = state.answer.rstrip().endswith("?")
    return bool(state.commits) and worktree.uncommitted == () and not is_open and not is_asking


def _without_open(state: LiveState) -> LiveState | None:
    """Return the state of work that is over, without what it left open; None if no answer of an agent tells of it."""
    done = tuple(step for step in state.task.steps if step.status == DONE)
    task = msgspec.structs.replace(state.task, steps=done, next_actions=(), errors=())
    return msgspec.structs.replace(state, task=task, checkpoint="", is_over=True) if state.answer else None


def _of_state(state: LiveState, worktree: Worktree, snapshot: Snapshot) -> Iterator[_Line]:
    """Yield where work stands: asked, done, committed, said last, and left open."""
    task = state.task
    if task.goal:
        yield _Line("Asked", [cut_at_word(_without_plan(task.goal), _GOAL)])
    goal = _key(task.goal)
    at = next((place for place, line in enumerate(task.said) if goal.startswith(_key(line))), -1)
    prompts = [_quoted(cut_at_word(one_line(line), _PROMPT)) for line in task.said[at + 1 :]]
    yield _Line("Then asked, the latest last", prompts[-_MOST["prompts"] :])
    before = [cut_at_word(_without_plan(text), _BRIEF) for text in task.earlier_goals]
    yield _Line("Asked before", before[-_MOST["before"] :])
    yield _Line("Done", [one_line(text) for text in task.done][-_MOST["done"] :])
    subjects = {line.partition(" ")[2]: line for line in state.commits}
    yield _Line("Committed", list(subjects.values())[-_MOST["commits"] :])  # of an amended one, the last
    yield from _uncommitted(worktree, snapshot)
    if state.answer:
        yield _Line("The last answer", [_quoted(cut_at_word(state.answer, _ANSWER))])
    known = _key(state.answer)
    yield _listed("In progress", task.in_progress, "open")
    left = (*task.next_actions, *task.claimed, *task.planned)
    yield _listed("Left open", (line for line in left if _key(line) not in known), "open")
    yield _listed("Open errors", task.errors[::-1], "errors")
    stated = (task.decisions[::-1], task.lessons[::-1])
    yield _listed("Said, not recorded, not confirmed", _unrecorded(stated, snapshot, known), "stated")
    if state.checkpoint:
        which = state.checkpoint if state.is_saved else f"--workflow {state.workflow}"
        yield _Line("", [f"`memctl checkpoint resume {which}` prints all that was saved"])


def _without_plan(goal: str) -> str:
    """Return a task on one line; of one that gives a plan, the plan's title."""
    found = _PLAN.match(one_line(goal))
    return found["title"] if found else one_line(goal)


def _uncommitted(worktree: Worktree, snapshot: Snapshot) -> Iterator[_Line]:
    if worktree.uncommitted is None:
        return
    withheld = snapshot.withheld.reasons_for(worktree.uncommitted)
    paths = [session_page.span(path) for path in worktree.uncommitted if path not in withheld]
    yield _Line("", [f"Not committed now: {some(paths, _MOST['dirty'])}" if paths else "Nothing is uncommitted now"])


def _listed(title: str, lines: Iterable[str], name: str) -> _Line:
    texts = list(dict.fromkeys(cut_at_word(one_line(line), _LINE).rstrip(". ") for line in lines if line.strip()))
    return _Line(title, texts[: _MOST[name]])


def _quoted(line: str) -> str:
    return f"\N{LEFT DOUBLE QUOTATION MARK}{line}\N{RIGHT DOUBLE QUOTATION MARK}"


def _unrecorded(stated: Iterable[Sequence[str]], snapshot: Snapshot, known: str = "") -> list[str]:
    """Return the lines that neither a record nor the text `known` has, those of the user first.

    `stated` has the decisions, and then the lessons.
    """
    found: list[str] = []
    for lines, kind in zip(stated, ("decision", "learning"), strict=True):
        recorded = tuple(map(_key, snapshot.catalogue.titles(kind))) if lines else ()
        new = (line for line in lines if not (_key(line).startswith(recorded) or _QUESTION.search(line)))
        found += [line for line in new if _key(line.partition(_REASON)[0]) not in known]
    return sorted(found, key=lambda line: _BY_USER not in line)


def _key(text: str) -> str:
    """Return the words of a text in lower case, by which titles are compared."""
    return " ".join(_WORDS.findall(text.casefold()))


def _brief(page: SessionPage) -> str:
    """Return a line on a session before the last: its day, what it was asked, and what its agent said last."""
    state = live_state.of_page(page)
    text = " \N{RIGHTWARDS ARROW} ".join(
        filter(None, (cut_at_word(part, _BRIEF) for part in (state.task.goal, state.answer)))
    )
    return f"{state.task.saved_at[:10]}: {text}" if text else ""


class _File(msgspec.Struct):
    """A file of the last sessions: how many touched it, later ones counting more, and whether one changed it.

    `is_gone` says that the last of them deleted it.
    """

    weight: float = 0
    is_changed: bool = False
    is_gone: bool = False


def _files(snapshot: Snapshot, work: Work) -> dict[str, _File]:
    """Return the files of the last sessions by path, the latest first, without those that are not there any more."""
    rows: list[tuple[str, str, float]] = []
    if work.state and all(page.id != work.state.key for page in work.pages):
        rows += [(file.path, file.action, 1.0) for file in work.state.task.files]
    for number, page in enumerate(work.pages):
        weight = _DECAY**number * (_OWN if page.values.get("branch") == work.worktree.branch else 1)
        rows += [(path, action, weight) for path, action in live_state.rows(page)]
    withheld = snapshot.withheld.reasons_for({path for path, *_ in rows})
    files: dict[str, _File] = {}
    for path, action, weight in rows:
        if path not in withheld and not is_outside(path) and not _ELSEWHERE.match(path):
            file = files.setdefault(path, _File(is_gone=action == DELETED))
            file.weight += weight
            file.is_changed |= action != READ
    return {path: file for path, file in files.items() if not file.is_gone and work.worktree.has(path)}
