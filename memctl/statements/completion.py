"""Find out how much of its work a text says is done, in percent."""

from __future__ import annotations

from memctl.text.lazy_regex import lazy_regex

_DONE = r"(?:complete|completed|done|finished)\b"
# In a status "40 %" counts at the beginning, in brackets or behind a comma; elsewhere only "40 % complete" does:
# "85 % coverage" is no completion.
_IN_STATUS = lazy_regex(
    rf"(?i)(?:^\W*(?:about |roughly )?|\(|[,;] | [\u2013\u2014-] |(?<![\d.,])(?=[\d.]+ ?% {_DONE}))"
    rf"(\d{{1,3}})(?:\.\d+)? ?%(?= ?(?:$|[).,;:\u2013\u2014-]|{_DONE}))"
)
_IN_SENTENCE = lazy_regex(rf"(?i)(?<![\d.,])(\d{{1,3}})(?:\.\d+)? ?% {_DONE}")
_LEADING = lazy_regex(rf"(?i)\W*\d{{1,3}}(?:\.\d+)? ?% {_DONE}[\s.,;:\u2013\u2014-]*")
_ANYWHERE = lazy_regex(rf"(?i)\d{{1,3}}(?:\.\d+)? ?%(?: {_DONE})?")
_ENDING = "% complete"


def of_status(status: str) -> int | None:
    """Return the percentage that the status of a task gives, such as 40 for "active, 40 %"; None without one."""
    match = _IN_STATUS.search(status)
    return int(match[1]) if match and int(match[1]) <= 100 else None


def in_sentences(text: str) -> list[str]:
    """Return each percentage that a text says is done, such as "40" for "it is 40% complete"."""
    return _IN_SENTENCE.findall(text)


def statement(percent: int | str) -> str:
    """Return the statement of a percentage, such as "40 % complete"."""
    return f"{percent} {_ENDING}"


def of_statement(text: str) -> int | None:
    """Return the percentage in a text of the form "40 % complete", which `statement` makes; None for any other text."""
    number, _, rest = text.partition(" ")
    return min(int(number), 100) if rest == _ENDING and number.isdecimal() else None


def without_leading(status: str) -> str:
    """Return a status without the percentage at its beginning: "40% complete. GET works." gives "GET works."."""
    match = _LEADING.match(status)
    return status[match.end() :] if match else status


def without_any(status: str) -> str:
    """Return a status without percentages at any place: "active (40%)" gives "active ()"."""
    return _ANYWHERE.sub("", status)
