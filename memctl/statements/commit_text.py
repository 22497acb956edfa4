"""Find the decision in a commit's message: the subject is the choice, and the body gives the reason.

Most bodies only list what was done. So a message counts as a decision only if its body gives a reason or names a
rejected alternative.
"""

from __future__ import annotations

from memctl.statements import cues
from memctl.statements.sentences import Choice
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line

_LONGEST = 600  # characters of a reason
_LEAST = 2  # words of a choice behind "address review comments:"
_TRAILER = lazy_regex(r"(?m)^(?:[A-Z][\w-]*-[\w-]+: .*|.{0,4}Generated with .*)$")
_PREFIX = lazy_regex(r"(?i)\W*(?:\w+(?:\([^)\n]*\))?!?: )?")  # of Conventional Commits
# A message that begins so is about work on the way, whatever its body says.
_STEP = lazy_regex(
    r"(?i)(?:wip|fixup!|squash!|bump|release|merge|revert)\b|(?:add|update|fix|improve|extend)s? (?:\w+ ){0,3}(?:tests?"
    r"|coverage|docs?|documentation|comments?|changelog|typos?)\b|(?:docs?|tests?|chore)\b.*:"
)
_REVIEW = lazy_regex(
    r"(?i)(?:address|respond|answer)(?:e[ds]|ing|s)? (?:[\w-]+ ){0,3}(?:review|feedback|comments?)\b[^:]*:? *"
)
_ITEM = lazy_regex(r"(?m)^[ \t]*[-*] +")
_WHY = lazy_regex(
    rf"(?i)\b(?:{cues.REASON}|{cues.ALTERNATIVE}|no longer|to (?:avoid|prevent|keep|ensure|allow)|without|avoids?"
    r"|prevents?)\b"
)


def is_step(title: str) -> bool:
    """Return whether a title is about tests, documents or other routine work, which decides nothing."""
    return _STEP.match(title, _prefix(title)) is not None or _STEP.match(title) is not None


def gives_reason(text: str) -> bool:
    """Return whether a text about a change gives a reason ("because …") or names a rejected way ("instead of …")."""
    return _WHY.search(text) is not None


def _prefix(subject: str) -> int:
    match = _PREFIX.match(subject)
    return match.end() if match else 0


def read(message: str) -> Choice | None:
    """Return the choice that a commit's message states; None if it gives no reason or is about routine work.

    The choice's text is the subject without a prefix such as "feat:", and its reason is the body on one line. If the
    subject only says that review comments are addressed, the text is the first item that the body lists.
    """
    subject, _, body = message.strip().partition("\n")
    parts = [one_line(part) for part in _ITEM.split(_TRAILER.sub("", body)) if part.strip()]
    text = "; ".join(part.rstrip(".") for part in parts)[:_LONGEST] if len(parts) > 1 else "".join(parts)[:_LONGEST]
    title = subject[_prefix(subject) :]
    answered = _REVIEW.match(title)
    is_review = answered or any(map(_REVIEW.match, body.split("\n")))
    if not text or is_step(subject) or not (is_review or gives_reason(text)):
        return None
    what = title[answered.end() :] if answered else title
    if len(what.split()) < _LEAST:
        what = parts[0] if answered else title
        text = "; ".join(part.rstrip(".") for part in parts[1:])[:_LONGEST] if answered else text
    return Choice(what[:1].upper() + what[1:], text)
