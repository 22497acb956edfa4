"""The page of a session, `.memory/sessions/ID.md`: S3's "Structured Summary Template", written and read back.

Every entry is one line of Markdown. What a person adds below a heading of their own is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from memctl.model import frontmatter, headings
from memctl.model.faults import Fault, InvalidRecord
from memctl.model.malformed import Malformed
from memctl.model.markdown import in_cell
from memctl.sessions.paths import printable
from memctl.store.place import SESSIONS

INTENT, DECISIONS, STATE, NEXT = "Session Intent", "Decisions Made", "Current State", "Next Steps"
ISSUES, LEARNINGS, ERRORS = "Issues Encountered", "Learnings", "Error Context"
CHANGED, READ, OUTSIDE = "Files Modified", "Files Read (Not Modified)", "Files Outside of the Repository"
_NUMBERED = (DECISIONS, NEXT)
_ORDER = (INTENT, CHANGED, READ, OUTSIDE, DECISIONS, STATE, NEXT, ISSUES, LEARNINGS, ERRORS)
_FILES = (CHANGED, READ, OUTSIDE)
_HEAD = "| File | Action | What Changed |\n|------|--------|-------------|\n"
_ROW = re.compile(r"\| (?P<path>`+ ?.+? ?`+) \| (?P<action>\w+) \|(?: (?P<what>.*?))? \|$")
_READ = re.compile(r"- (?P<path>(`+) ?.+? ?\2)(?: — (?P<what>.*))?$")
_ITEM = re.compile(r"(?:-|\d+\.) (.+)$")


class Row(msgspec.Struct, frozen=True):
    """A file of the trail: its exact path, what became of it (created, modified, deleted, read), and what changed."""

    path: str
    action: str
    what: str = ""


class Page(msgspec.Struct, frozen=True):
    """A session's page: front matter, the files and the lines of each section, and what others have written there."""

    values: Mapping[str, Any]
    files: Mapping[str, tuple[Row, ...]] = {}
    lines: Mapping[str, tuple[str, ...]] = {}
    more: str = ""

    @property
    def id(self) -> str:
        return str(self.values.get("session_id", ""))


def path_of(identifier: str) -> str:
    """Where the page of a session is, below `.memory/`."""
    return f"{SESSIONS}/{identifier}.md"


def render(page: Page) -> str:
    """The text of a page."""
    parts = [f"## Session Summary — {page.id}\n"]
    for heading in _ORDER:
        body = _files_text(heading, page.files.get(heading, ())) if heading in _FILES else _lines_text(heading, page)
        if body or heading in (INTENT, CHANGED, STATE):
            parts.append(f"### {heading}\n\n{body or 'Nothing known.'}\n")
    return frontmatter.compose(page.values, "\n".join(parts) + (f"\n{page.more}" if page.more else ""))


def _files_text(heading: str, rows: tuple[Row, ...]) -> str:
    if not rows:
        return ""
    if heading == READ:
        return "\n".join(f"- {_span(row.path)}{f' — {row.what}' if row.what else ''}" for row in rows)
    return _HEAD + "\n".join(f"| {in_cell(_span(row.path))} | {row.action} | {in_cell(row.what)} |" for row in rows)


def _lines_text(heading: str, page: Page) -> str:
    lines = page.lines.get(heading, ())
    if heading == INTENT:
        return "\n\n".join(lines)
    if heading in _NUMBERED:
        return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
    return "\n".join(f"- {line}" for line in lines)


def parse(text: str, path: str) -> Page:
    """Read a page back; raises InvalidRecord."""
    try:
        values, body = frontmatter.read(text)
    except Malformed as error:
        raise InvalidRecord([Fault(path, error.line, error.key, error.message, error.about)]) from None
    files: dict[str, tuple[Row, ...]] = {}
    lines: dict[str, tuple[str, ...]] = {}
    more: list[str] = []
    for heading, section in _sections(body):
        if heading in _FILES:
            files[heading] = tuple(_rows(heading, section))
        elif heading in _ORDER:
            lines[heading] = tuple(_items(heading, section))
        elif heading or section.strip():
            more.append(section)
    return Page(values, files, lines, "".join(more).strip("\n") + "\n" if more else "")


def _sections(body: str) -> Iterator[tuple[str, str]]:
    """The sections of a body with their headings; the page's own title belongs to none."""
    heading, gathered = "", list[str]()
    for line, outside in headings.outside_fences(body):
        if outside and line.startswith("## Session Summary"):
            continue
        if outside and re.match(r"#{2,3} ", line):
            yield heading, _text(heading, gathered)
            heading, gathered = line.lstrip("#").strip(), []
            if heading not in _ORDER:
                gathered.append(line)
        else:
            gathered.append(line)
    yield heading, _text(heading, gathered)


def _text(heading: str, lines: list[str]) -> str:
    return "\n".join(lines).strip("\n") + "\n" + ("\n" if heading not in _ORDER else "")


def _rows(heading: str, section: str) -> Iterator[Row]:
    for line in section.split("\n"):
        if match := _READ.match(line) if heading == READ else _ROW.match(line):
            groups = match.groupdict()
            span = groups["path"] if heading == READ else groups["path"].replace("\\|", "|")
            what = (groups["what"] or "").strip()
            what = what if heading == READ else what.replace("\\|", "|")
            yield Row(_unspanned(span), groups.get("action") or "read", what)


def _items(heading: str, section: str) -> Iterator[str]:
    if heading == INTENT:
        yield from (" ".join(part.split()) for part in section.split("\n\n") if part.strip(" \n"))
        return
    for line in section.split("\n"):
        if match := _ITEM.match(line):
            yield match[1]
        elif line.strip():
            yield line.strip()


def _span(path: str) -> str:
    """A path as a code span: exact, with spaces and backticks as they are."""
    path = printable(path)
    ticks = "`" * (max((len(run) for run in re.findall("`+", path)), default=0) + 1)
    odd = path[:1] in "` " or path[-1:] in "` "
    return f"{ticks} {path} {ticks}" if odd else f"{ticks}{path}{ticks}"


def _unspanned(span: str) -> str:
    ticks = len(span) - len(span.lstrip("`"))
    inner = span[ticks:-ticks]
    if len(inner) > 2 and inner[0] == inner[-1] == " ":
        return inner[1:-1]
    return inner
