"""What the message of a commit states: its subject was chosen, and its body says why.

Only a body with a reason, or with what was not taken, makes a decision of it: most bodies list what was done.
"""

from __future__ import annotations

import msgspec

from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line

_LONGEST = 600  # characters of a reason
_TRAILER = lazy_regex(r"(?m)^(?:[A-Z][\w-]*-[\w-]+: .*|.{0,4}Generated with .*)$")
# A message that begins so is about work on the way, whatever its body says.
_STEP = lazy_regex(
    r"(?i)(?:\w+(?:\([^)\n]*\))?!?: )?(?:wip\b|fixup!|squash!|bump\b|release\b|(?:add|update|fix|improve|extend)s? "
    r"(?:\w+ ){0,3}(?:tests?|coverage|docs?|documentation|comments?|changelog|typos?)\b|(?:docs?|tests?|chore)\b.*:)"
)
_WHY = lazy_regex(
    r"(?i)\b(?:because|since|so that|so (?:it|they|we|that|the|repos|users|existing|\w+ing)|to (?:avoid|prevent|keep"
    r"|ensure|allow)"
    r"|instead of|rather than|not just|no longer|without|avoid(?:s|ing)?|prevent(?:s|ing)?|reduc(?:es|ing|ed)"
    r"|only|not (?:be )?\w+ed|twice|changes? from|in favou?r of|for (?:safety|consistency|compatibility)"
    r"|keep(?:s|ing)? .+ (?:while|and)|to handle)\b"
)


class Commit(msgspec.Struct, frozen=True):
    """The subject of a commit's message, and its body in one line."""

    subject: str
    body: str


def is_step(title: str) -> bool:
    """Whether a title is about tests, documents or other work on the way."""
    return _STEP.match(title) is not None


def read(message: str) -> Commit | None:
    """What the message of a commit decides and why, None if it does not say why or is about a mere step."""
    subject, _, body = message.strip().partition("\n")
    body = one_line(_TRAILER.sub("", body))[:_LONGEST]
    if not body or is_step(subject) or not _WHY.search(body):
        return None
    return Commit(one_line(subject), body)
