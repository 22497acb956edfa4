"""Write and parse the page of a session, `.memory/sessions/ID.md`; rules.md#session-summary has its headings.

Every entry is one line of Markdown. Text that a person adds below other headings is kept. A page that has no room for
all files of the session lists the latest ones, and links to `sessions/files/ID.md`, which lists all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec

from memctl.record import frontmatter
from memctl.record.errors import field_and_message
from memctl.record.kinds import SESSIONS
from memctl.text import headings, timestamps
from memctl.text.lazy_regex import lazy_regex
from memctl.text.phrases import quantity

FOLDER = SESSIONS
TRAIL = "trail"  # the key of a page whose files are listed in a file beside it

INTENT, DECISIONS, STATE, NEXT = "Session Intent", "Decisions Made", "Current State", "Next Steps"
ISSUES, LEARNINGS, ERRORS = "Issues Encountered", "Learnings", "Error Context"
SAID = "Said by the User"
COMMITS, COMMANDS = "Commits", "Commands"
# How lines begin: that with the agent's last answer, and that of a command that fails where another form works.
LAST_SAID, OTHER_FORM = "Last said: ", "other form: "
CHANGED, READ, OUTSIDE = "Files Modified", "Files Read (Not Modified)", "Files Outside of the Repository"
_NUMBERED = (DECISIONS, NEXT)
_ORDER = (INTENT, CHANGED, READ, OUTSIDE, DECISIONS, STATE, COMMITS, NEXT, SAID, ISSUES, LEARNINGS, ERRORS, COMMANDS)
LISTS_OF_FILES = (CHANGED, READ, OUTSIDE)
_HEAD = "| File | Action | What Changed |\n|------|--------|-------------|\n"
_HEADED = lazy_regex(r"^#{2,3} .*", re.MULTILINE)
_ROW = lazy_regex(r"(?=.* \|$)\| (?P<path>`+(?!`).+?(?<!`)`+) \| (?P<action>\w+) \|(?: (?P<what>.*))? \|$")
_READ = lazy_regex(r"- (?P<path>(`+)(?!`).+?(?<!`)\2(?!`))(?: — (?P<what>.*))?$")
_ITEM = lazy_regex(r"(?:-|\d+\.) (.+)$")
_PATH = lazy_regex(rf"{FOLDER}/(?P<files>files/)?(?P<id>[A-Za-z0-9][A-Za-z0-9._-]{{0,99}})[.]md", re.ASCII)
_BARS, _BAR = lazy_regex(r"\\*\|"), r"\\|"
_NOTHING = "Nothing known."
_TIMES = ("started", "ended", "summarized")
_Figure = Annotated[int, msgspec.Meta(ge=0)] | None
_Text = Annotated[str, msgspec.Meta(max_length=1000)] | None


class _Front(msgspec.Struct, frozen=True):
    """The front matter of a page; other keys are left alone."""

    session_id: Annotated[str, msgspec.Meta(min_length=1)]
    project_id: _Text = None
    agent_id: _Text = None
    started: str | None = None
    ended: str | None = None
    summarized: str | None = None
    model: _Text = None
    branch: _Text = None
    transcript: _Text = None
    prose_by: _Text = None
    trail: _Text = None
    duration_minutes: _Figure = None
    turns: _Figure = None
    answers: _Figure = None
    tool_calls: _Figure = None
    sub_agents: _Figure = None
    compactions: _Figure = None
    tokens_read: _Figure = None
    tokens_written: _Figure = None
    files_accessed: _Figure = None
    files_modified: _Figure = None
    broken_lines: _Figure = None


class TrailRow(msgspec.Struct, frozen=True):
    """A file that a session touched: its exact path, the action, and what changed in it.

    `action` is "created", "modified", "deleted" or "read".
    """

    path: str
    action: str
    what: str = ""


class SessionPage(msgspec.Struct, frozen=True):
    """The page of a session: its front matter (`values`) and its body.

    `files` maps headings, such as that for changed files, to the files listed below them. `lines` maps other headings
    to their entries, one line of Markdown each. `more` is the text that people added below headings of their own.
    """

    values: Mapping[str, Any]
    files: Mapping[str, tuple[TrailRow, ...]] = {}
    lines: Mapping[str, tuple[str, ...]] = {}
    more: str = ""

    @property
    def id(self) -> str:
        """The id of the session."""
        return str(self.values.get("session_id", ""))

    @property
    def trail(self) -> str:
        """The path below `.memory/` of the file that lists all files of the session; "" if the page lists them all."""
        return trail_of(self.id) if self.values.get(TRAIL) else ""


def path_of(identifier: str) -> str:
    """Return the path of a session's page, below `.memory/`."""
    return f"{FOLDER}/{identifier}.md"


def trail_of(identifier: str) -> str:
    """Return the path below `.memory/` of the list of all files of a session.

    The file exists only if the session's page has no room for all of them.
    """
    return f"{FOLDER}/files/{identifier}.md"


def is_page(path: str) -> bool:
    """Return whether a path below `.memory/` is that of a session's page."""
    return (match := _PATH.fullmatch(path)) is not None and not match["files"]


def is_trail(path: str) -> bool:
    """Return whether a path below `.memory/` is that of a file that lists all files of a session."""
    return (match := _PATH.fullmatch(path)) is not None and bool(match["files"])


def is_file_list(page: SessionPage) -> bool:
    """Return whether `page` was parsed from the list of all files of a session, and not from the session's page."""
    return set(page.values) <= {"session_id", "files_accessed"}


def render(page: SessionPage) -> str:
    """Return the Markdown text of a session's page."""
    parts = [f"## Session Summary — {page.id}\n"]
    for heading in _ORDER:
        body = (
            _files_text(heading, page.files.get(heading, ()))
            if heading in LISTS_OF_FILES
            else _lines_text(heading, page)
        )
        if heading == CHANGED and page.trail:
            body = f"{body}\n\n{_more(page)}".strip("\n")
        if body or heading in (INTENT, CHANGED, STATE):
            parts.append(f"### {heading}\n\n{body or _NOTHING}\n")
    return frontmatter.compose(page.values, "\n".join(parts) + (f"\n{page.more}" if page.more else ""))


def render_trail(page: SessionPage) -> str:
    """Return the Markdown text of the file that lists all files of a session."""
    parts = [f"## Files of Session — {page.id}\n"]
    parts += [f"### {heading}\n\n{_files_text(heading, rows)}\n" for heading, rows in page.files.items() if rows]
    count = sum(map(len, page.files.values()))
    return frontmatter.compose({"session_id": page.id, "files_accessed": count}, "\n".join(parts))


def _more(page: SessionPage) -> str:
    listed = sum(map(len, page.files.values()))
    left = max(int(page.values.get("files_accessed") or 0) - listed, 0)
    name = f"files/{page.id}.md"
    verb = "is" if left == 1 else "are"
    return f"{quantity(left, 'more file')} {verb} not listed here. All files and exact paths: [{name}]({name})."


def _files_text(heading: str, rows: tuple[TrailRow, ...]) -> str:
    if not rows:
        return ""
    if heading == READ:
        return "\n".join(f"- {span(row.path)}{f' — {row.what}' if row.what else ''}" for row in rows)
    # A bar would end the cell even within code, so each gets a backslash, also behind another backslash.
    spans = [span(row.path).replace("|", "\\|") for row in rows]
    cells = zip(spans, rows, strict=True)
    # Text loses backslashes before a bar, so that it is the same when it is read and written again.
    return _HEAD + "\n".join(f"| {path} | {row.action} | {_BARS.sub(_BAR, row.what)} |" for path, row in cells)


def _lines_text(heading: str, page: SessionPage) -> str:
    lines = page.lines.get(heading, ())
    if heading == INTENT:
        return "\n\n".join(lines)
    if heading in _NUMBERED:
        return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
    return "\n".join(f"- {line}" for line in lines)


def parse(text: str, path: str) -> SessionPage:
    """Return the page in the text of a session's page, or of the file that lists all files of a session.

    `path` is relative to `.memory/`. Raises InvalidRecord with all faults.
    """
    values, body = _parse_front(text, path)
    files: dict[str, tuple[TrailRow, ...]] = {}
    lines: dict[str, tuple[str, ...]] = {}
    more: list[str] = []
    for heading, section in _sections(body):
        if heading in LISTS_OF_FILES:
            files[heading] = tuple(_rows(heading, section))
        elif heading in _ORDER:
            lines[heading] = tuple(_items(heading, section))
        elif heading or section.strip():
            more.append(section)
    return SessionPage(values, files, lines, "".join(more).strip("\n") + "\n" if more else "")


def head(text: str, path: str) -> SessionPage:
    """Return a session's page of which only the front matter is read, ten times as fast as `parse`.

    Its `files`, `lines` and `more` are empty. Raises InvalidRecord with all faults of the front matter.
    """
    return SessionPage(_parse_front(text, path)[0])


def _parse_front(text: str, path: str) -> tuple[dict[str, Any], str]:
    values, body = frontmatter.parse_frontmatter(text, path)
    wrong = _problems(values, path)
    if wrong:
        from memctl.record.frontmatter_edit import invalid_record  # most files are valid

        raise invalid_record(text, path, wrong)
    return values, body


def with_trail(page: SessionPage, trail: SessionPage) -> SessionPage:
    """Return a session's page with all files of the session, those on the page and those in the list `trail`.

    `trail` is the parsed list of all files of the session. For a file in both, the page's entry stays, since the page
    is written later than the list.
    """
    files: dict[str, tuple[TrailRow, ...]] = {}
    for heading in LISTS_OF_FILES:
        rows = {row.path: row for row in trail.files.get(heading, ())}
        rows.update((row.path, row) for row in page.files.get(heading, ()))
        files[heading] = tuple(rows.values())
    return msgspec.structs.replace(page, files=files)


def _problems(values: Mapping[str, Any], path: str) -> list[tuple[str, str]]:
    try:
        front = msgspec.convert(values, _Front)
    except msgspec.ValidationError as error:
        return [field_and_message(error)]
    wrong = []
    match = _PATH.fullmatch(path)
    if match is not None and match["id"] != front.session_id:
        wrong.append(("session_id", f"is {front.session_id!r}, but must be {match['id']!r} as in the file's name"))
    for key in _TIMES:
        value = getattr(front, key)
        if value is not None and not timestamps.is_moment(value):
            wrong.append((key, f"{value!r} is not a time ({timestamps.ALLOWED})"))
    return wrong


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """Yield the sections of a body with their headings; the page's own title belongs to none."""
    heading, collected = "", list[str]()
    for stretch, outside in headings.stretches(body):
        place = 0
        for match in _HEADED.finditer(stretch) if outside else ():
            collected += [stretch[place : match.start() - 1]] if match.start() > place else []
            line, place = match[0], match.end() + 1
            if line.startswith(("## Session Summary", "## Files of Session")):
                continue
            yield heading, _text(heading, collected)
            heading = line.lstrip("#").strip()
            collected = [line] if heading not in _ORDER else []
        collected += [stretch[place:]] if place <= len(stretch) else []
    yield heading, _text(heading, collected)


def _text(heading: str, lines: list[str]) -> str:
    return "\n".join(lines).strip("\n") + "\n" + ("\n" if heading not in _ORDER else "")


def _rows(heading: str, section: str) -> Iterator[TrailRow]:
    for line in section.split("\n"):
        if match := _READ.match(line) if heading == READ else _ROW.match(line):
            groups = match.groupdict()
            cells = groups["path"], (groups["what"] or "").strip()
            span, what = cells if heading == READ else (cell.replace("\\|", "|") for cell in cells)
            yield TrailRow(_strip_span(span), groups.get("action") or "read", what)


def _items(heading: str, section: str) -> Iterator[str]:
    if section.strip() == _NOTHING:
        return
    if heading == INTENT:
        yield from (" ".join(part.split()) for part in section.split("\n\n") if part.strip(" \n"))
        return
    for line in section.split("\n"):
        if match := _ITEM.match(line):
            yield match[1]
        elif line.strip():
            yield line.strip()


def printable(path: str) -> str:
    """Return a path on one line, with invisible characters as escapes."""
    if path.isprintable():
        return path
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in path)


def span(path: str) -> str:
    """Return a path as a Markdown code span that keeps its spaces and backticks."""
    path = printable(path)
    ticks = "`" * (max(map(len, re.findall("`+", path)), default=0) + 1) if "`" in path else "`"
    odd = path[:1] in "` " or path[-1:] in "` "
    return f"{ticks} {path} {ticks}" if odd else f"{ticks}{path}{ticks}"


def _strip_span(span: str) -> str:
    ticks = len(span) - len(span.lstrip("`"))
    inner = span[ticks:-ticks]
    if len(inner) > 2 and inner[0] == inner[-1] == " ":
        return inner[1:-1]
    return inner
