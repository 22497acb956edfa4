"""Trim a session's page to its budget: shorten texts, and move the list of files to a file of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from memctl.record import session_page
from memctl.record.session_page import SessionPage, TrailRow
from memctl.session.page_builder import IMPLIED, RESOLVED
from memctl.store.files import MAX_BYTES
from memctl.text.fit import most as most_of
from memctl.tokens.count import Counter

MOST_TOKENS = 10_000  # of a page; rules.md#session-summary


class FittedPage(msgspec.Struct, frozen=True):
    """A session's page, trimmed to its budget, and the list of all files of the session if the page has no room for it.

    `trail` is a SessionPage from which only this list is written to a file. It is None if `page` has all files.
    """

    page: SessionPage
    trail: SessionPage | None = None

    @property
    def texts(self) -> dict[str, str]:
        """The texts of the page and of its list of files, by path below `.memory/`."""
        made = {session_page.path_of(self.page.id): session_page.render(self.page)}
        if self.trail is not None:
            made[session_page.trail_of(self.page.id)] = session_page.render_trail(self.trail)
        return made


def fit(whole: SessionPage, counter: Counter, most: int = MOST_TOKENS) -> FittedPage:
    """Trim a page to `most` tokens, as `counter` counts them; it stays longer if its labelled decisions need more room.

    Issues, learnings and errors are shortened first. If this is not enough, all files move to a list of their own, and
    the page lists as many of the latest changed files as fit. Decisions are shortened last.
    """
    values = {key: value for key, value in whole.values.items() if key != session_page.TRAIL}
    made = _shorten(msgspec.structs.replace(whole, values=values), counter, most, _TALK_FIRST)
    if _size(made, counter) <= most:
        return FittedPage(made)
    if not any(whole.files.values()):
        return FittedPage(_shorten(made, counter, most, _DECISIONS_LAST))
    trail = made
    if len(session_page.render_trail(trail).encode()) > MAX_BYTES:
        trail = _short_words(0)(trail)
    made = msgspec.structs.replace(
        made, values={**values, session_page.TRAIL: session_page.trail_of(made.id)}, files={}
    )
    made = _shorten(made, counter, most, _DECISIONS_LAST)
    changed = trail.files.get(session_page.CHANGED, ())
    return FittedPage(_with_files(made, changed, counter, most), trail)


def alone(whole: SessionPage, counter: Counter, most: int = MOST_TOKENS) -> SessionPage:
    """Trim a page to about `most` tokens, as `counter` counts them, without moving its files to a list of their own.

    If such a list exists already, files may be left out of the page. Otherwise all stay, and the page may exceed
    `most`.
    """
    made = _shorten(whole, counter, most, (*_TALK_FIRST, *_DECISIONS_LAST))
    if not made.trail or _size(made, counter) <= most:
        return made
    return _with_files(made, made.files.get(session_page.CHANGED, ()), counter, most)


def _with_files(made: SessionPage, changed: Sequence[TrailRow], counter: Counter, most: int) -> SessionPage:
    """Return a page that lists as many of the latest changed files as fit into `most` tokens."""

    def having(count: int) -> SessionPage:
        rows = tuple(changed[len(changed) - count :])
        return msgspec.structs.replace(made, files={session_page.CHANGED: rows})

    return having(most_of(lambda count: _size(having(count), counter) <= most, 0, len(changed)))


def _size(made: SessionPage, counter: Counter) -> int:
    return counter.tokens(session_page.render(made))


def _shorten(
    made: SessionPage, counter: Counter, most: int, ways: Sequence[Callable[[SessionPage], SessionPage]]
) -> SessionPage:
    size = _size(made, counter)
    for shorten in ways:
        if size <= most:
            break
        shorter = shorten(made)
        if shorter != made:  # counting the tokens of a long list of files takes 10 ms
            made, size = shorter, _size(shorter, counter)
    return made


def _short_words(length: int) -> Callable[[SessionPage], SessionPage]:
    def shorten(made: SessionPage) -> SessionPage:
        files = {
            heading: tuple(msgspec.structs.replace(row, what=_cut(row.what, length)) for row in rows)
            for heading, rows in made.files.items()
        }
        return msgspec.structs.replace(made, files=files)

    return shorten


def _each_line(change: Callable[[str], str], *headings: str) -> Callable[[SessionPage], SessionPage]:
    """Return a function that changes the lines under some headings of a page; a line that becomes "" is removed."""

    def shorten(made: SessionPage) -> SessionPage:
        lines = {
            heading: tuple(filter(None, map(change, line))) if heading in headings else line
            for heading, line in made.lines.items()
        }
        return msgspec.structs.replace(made, lines=lines)

    return shorten


def _short_lines(length: int, *headings: str) -> Callable[[SessionPage], SessionPage]:
    return _each_line(partial(_cut, length=length), *headings)


def _unless_implied(line: str) -> str:
    return "" if line.endswith(IMPLIED) else line


def _cut(line: str, length: int) -> str:
    if len(line) <= length:
        return line
    short = line[: max(length - 1, 0)].rpartition(" ")[0].rstrip("\\")
    return short + ("`" if short.count("`") % 2 else "") + (" …" if length else "")


_TALK = (session_page.ISSUES, session_page.LEARNINGS, session_page.ERRORS)
# What can be found elsewhere is removed first: resolved errors, descriptions of files, statements without a label.
_TALK_FIRST = (
    _short_lines(300, *_TALK),
    _each_line(lambda line: "" if line.startswith(RESOLVED) else line, session_page.ERRORS),
    _short_words(60),
    _short_lines(150, *_TALK),
    _each_line(_unless_implied, *_TALK),
)
_DECISIONS_LAST = (
    _each_line(_unless_implied, session_page.DECISIONS),
    _short_lines(300, session_page.DECISIONS, session_page.STATE, session_page.NEXT),
    _short_lines(80, *_TALK, session_page.SAID),
    _short_lines(150, session_page.DECISIONS, session_page.STATE, session_page.NEXT),
)
