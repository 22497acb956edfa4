"""Write where work stands: what a new session needs of the sessions before it, in the order of its use.

First what the last session was asked, did and left open; then the files of the last sessions; then the commands that
work here; then a line on each session before the last. The work of the last session may be finished or not, so the
text says that the user's prompt comes first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from memctl.pack.budget_fill import CountTokens
from memctl.pack.items import Worktree
from memctl.record import session_page
from memctl.record.checkpoint import Checkpoint, is_outside
from memctl.record.session_page import LAST_SAID, OTHER_FORM, SessionPage
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import DONE
from memctl.text import timestamps
from memctl.text.actions import DELETED, READ
from memctl.text.fit import cut_at_word
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line
from memctl.text.phrases import gap, some

TITLE = "Where work stands"
_NOW, _COMMANDS, _FILES = 0.4, 0.1, 0.75  # of the room: up to which what lies before the files, the commands, the files
_LINE, _PROMPT, _ANSWER = 300, 200, 620  # characters of a line, of a prompt, of the last answer
_BRIEF = 130  # characters of the intent, and of the answer, of a session before the last
_MOST = {"prompts": 3, "done": 3, "commits": 4, "dirty": 8, "open": 5, "errors": 3, "stated": 5, "pairs": 3}
_COMMANDS_NAMED, _COMMANDS_LENGTH = 5, 250  # commands, and their characters
_HEADINGS = {True: "- Files that the last sessions changed, the latest first: ", False: "- Files that they read: "}
_DECAY, _OWN = 0.9, 1.5  # weight of a file for each later session, and of one of the same branch; `bench` measures it
_OPEN, _WORKED = "open: ", "Worked in "  # how lines of pages begin
_CD = lazy_regex(r"`cd (\S+) && ([^`]+)`")
_STEP = lazy_regex(r"\[[x ]\] ")
_QUESTION = lazy_regex(r"\?(?: \(|\Z)")  # at the end of a line, but for who said it
_WORDS = lazy_regex(r"\w+")
# Files that no task of this worktree is about: of another drive or worktree, of Git, and of packages.
_ELSEWHERE = lazy_regex(r"[A-Za-z]:/|(?:.*/)?(?:node_modules|site-packages|\.venv|\.git|worktrees)/")
_BY_USER, _REASON = "(by the user)", " \N{EM DASH} "


class Work(msgspec.Struct, frozen=True):
    """The work before a session: the pages of earlier sessions, and a checkpoint that is newer than these.

    The first page is that of the session to go on from; the others follow by time, the latest first.
    """

    pages: Sequence[SessionPage] = ()
    saved: Checkpoint | None = None
    worktree: Worktree = Worktree()


def write(snapshot: Snapshot, work: Work, now: str, limit: int, count: CountTokens) -> str:
    """Return where work stands as Markdown within `limit` tokens, as `count` counts them; "" without earlier work.

    `now` is the time, such as "2025-11-04T14:32:00Z".
    """
    if not work.pages and work.saved is None:
        return ""
    chosen = _Lines(limit, count)
    if not chosen.add(_opening(work, now), 1):
        return ""
    saved = work.saved
    for line in _of_checkpoint(saved, snapshot) if saved else _of_page(work.pages[0], work.worktree, snapshot):
        chosen.add(f"- {line}", _NOW)
    at = len(chosen.lines)
    for line in _command_lines(work.pages):
        chosen.add(f"- {line}", _NOW + _COMMANDS)
    commands, chosen.lines = chosen.lines[at:], chosen.lines[:at]
    others = [page for page in work.pages if page.id != saved.session] if saved else work.pages[1:]
    before = [f"- {brief}" for page in others if (brief := _brief(page))]
    chosen.add_files(_files(snapshot, work), _FILES if before else 1)
    chosen.lines += commands
    if before:
        chosen.add("- Sessions before it:", 1)
    for line in before:
        chosen.add(f"  {line}", 1)
    return "\n".join(chosen.lines) + "\n"


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
    page = work.pages[0] if work.pages else None
    saved = work.saved
    end = saved.saved_at if saved else ended(page) if page else ""
    agent = one_line(saved.saved_by if saved else str(page.values.get("agent_id") or "") if page else "")
    branch = saved.environment.branch if saved else str(page.values.get("branch") or "") if page else ""
    ago = gap(end, now) if end else ""
    facts = [f"{ago} ago" if ago else end, agent]
    if branch and branch != work.worktree.branch:
        facts.append(f"on the branch {one_line(branch)}")
    about = ", ".join(filter(None, facts))
    return (
        f"Another session worked here{f' ({about})' if about else ''}, and may have finished."
        " Your task is what the user asks now; this is for the case that it goes on:"
    )


def _of_page(page: SessionPage, worktree: Worktree, snapshot: Snapshot) -> Iterator[str]:
    """Yield where work stood when a session ended: asked, done, committed, left, and what its agent said last."""
    state = page.lines.get(session_page.STATE, ())
    for line in page.lines.get(session_page.INTENT, ())[:1]:
        yield f"Asked: {cut_at_word(line, _LINE)}"
    prompts = [cut_at_word(line, _PROMPT) for line in page.lines.get(session_page.SAID, ())]
    if prompts:
        yield f"Then asked, the latest last: {_quoted(prompts[-_MOST['prompts'] :])}"
    done = [_without_mark(line) for line in state if line.startswith("[x] ")]
    subjects = {line.partition(" ")[2]: line for line in page.lines.get(session_page.COMMITS, ())}
    commits = list(subjects.values())  # of a commit that was amended, the last one
    if done:
        yield f"Done: {'; '.join(done[-_MOST['done'] :])}"
    if commits:
        yield f"Committed: {'; '.join(commits[-_MOST['commits'] :])}"
    yield from _uncommitted(worktree, snapshot)
    for line in (line.removeprefix(LAST_SAID) for line in state if line.startswith(LAST_SAID)):
        yield f"The last answer: {_quoted([cut_at_word(line, _ANSWER)])}"
    known = _key(" ".join(line for line in state if line.startswith(LAST_SAID)))
    left = map(_without_mark, page.lines.get(session_page.NEXT, ()))
    yield from _listed("Left open", (line for line in left if _key(line) not in known), "open")
    errors = page.lines.get(session_page.ERRORS, ())
    yield from _listed("Open errors", (line[len(_OPEN) :] for line in errors if line.startswith(_OPEN)), "errors")
    stated = (page.lines.get(heading, ()) for heading in (session_page.DECISIONS, session_page.LEARNINGS))
    yield from _listed("Said, not recorded, not confirmed", _unrecorded(stated, snapshot, known), "stated")


def _of_checkpoint(saved: Checkpoint, snapshot: Snapshot) -> Iterator[str]:
    """Yield where work stood when a checkpoint was saved, with the command that shows all of it."""
    yield f"Asked: {cut_at_word(one_line(saved.goal), _LINE)}"
    prompts = [cut_at_word(one_line(line), _PROMPT) for line in saved.said if line != saved.goal]
    if prompts:
        yield f"Then asked, the latest last: {_quoted(prompts[-_MOST['prompts'] :])}"
    yield from _listed("Done", saved.having(DONE)[::-1], "done")
    yield from _listed("In progress", saved.in_progress, "open")
    yield from _listed("Left open", (*saved.next_actions, *saved.planned), "open")
    yield from _listed("Open errors", saved.errors[::-1], "errors")
    stated = (saved.decisions[::-1], saved.lessons[::-1])
    yield from _listed("Said, not recorded, not confirmed", _unrecorded(stated, snapshot), "stated")
    yield f"`memctl checkpoint resume {saved.checkpoint_id}` prints all that was saved"


def _uncommitted(worktree: Worktree, snapshot: Snapshot) -> Iterator[str]:
    if worktree.uncommitted is None:
        return
    withheld = snapshot.withheld.reasons_for(worktree.uncommitted)
    paths = [session_page.span(path) for path in worktree.uncommitted if path not in withheld]
    if paths:
        yield f"Not committed now: {some(paths, _MOST['dirty'])}"
    else:
        yield "Nothing is uncommitted now"


def _listed(title: str, lines: Iterable[str], name: str) -> Iterator[str]:
    texts = list(dict.fromkeys(cut_at_word(one_line(line), _LINE).rstrip(". ") for line in lines if line.strip()))
    if texts:
        yield f"{title}: {'; '.join(texts[: _MOST[name]])}"


def _quoted(lines: Iterable[str]) -> str:
    return "; ".join(f"\N{LEFT DOUBLE QUOTATION MARK}{line}\N{RIGHT DOUBLE QUOTATION MARK}" for line in lines)


def _without_mark(line: str) -> str:
    """Return a step's line without its box and its status: "[x] Port a.ts (done)" gives "Port a.ts"."""
    return _STEP.sub("", line, 1).removesuffix(" (done)").removesuffix(" (planned)")


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


def ended(page: SessionPage) -> str:
    """Return when a session ended, or if that is unknown, when its page was made; "" if neither is known."""
    moment = page.values.get("ended") or page.values.get("summarized")
    return timestamps.parse(moment) if isinstance(moment, str) else ""


def _brief(page: SessionPage) -> str:
    """Return a line on a session before the last: its day, what it was asked, and what its agent said last."""
    asked = next(iter(page.lines.get(session_page.INTENT, ())), "")
    said = next((line for line in page.lines.get(session_page.STATE, ()) if line.startswith(LAST_SAID)), "")
    parts = [cut_at_word(asked, _BRIEF), cut_at_word(said.removeprefix(LAST_SAID), _BRIEF)]
    text = " \N{RIGHTWARDS ARROW} ".join(filter(None, parts))
    return f"{ended(page)[:10]}: {text}" if text else ""


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
    if work.saved:
        rows += [(file.path, file.action, 1.0) for file in work.saved.files]
    for number, page in enumerate(work.pages):
        if any(line.startswith(_WORKED) for line in page.lines.get(session_page.STATE, ())):
            continue  # its paths are relative to another folder
        weight = _DECAY**number * (_OWN if page.values.get("branch") == work.worktree.branch else 1)
        for heading in (session_page.CHANGED, session_page.READ):
            rows += [(row.path, row.action, weight) for row in reversed(page.files.get(heading, ()))]
    withheld = snapshot.withheld.reasons_for({path for path, *_ in rows})
    files: dict[str, _File] = {}
    for path, action, weight in rows:
        if path not in withheld and not is_outside(path) and not _ELSEWHERE.match(path):
            file = files.setdefault(path, _File(is_gone=action == DELETED))
            file.weight += weight
            file.is_changed |= action != READ
    return {path: file for path, file in files.items() if not file.is_gone and work.worktree.has(path)}
