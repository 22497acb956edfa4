"""Find the decision in an agent's reply to the user: a change that it reports to have made.

The words alone do not make it a decision. `dialogue` counts a report only if nobody has stated a decision since the
user's last prompt.
"""

from __future__ import annotations

from functools import lru_cache

from memctl.statements import commit_text, units, wishes
from memctl.statements.sentences import Choice
from memctl.text.lazy_regex import lazy_regex

_LOOKED_AT = 8_000  # characters of a message
_LONGEST = 400  # characters of a statement
_LEAST = 300  # characters of a report
_CHANGED = lazy_regex(
    r"(?i)\b(?:add(?:s|ed)|applie[sd]|change[sd]|consolidate[sd]?|create[sd]|delete[sd]|detects?|drop(?:s|ped)"
    r"|extract(?:s|ed)|fixe[sd]|kept|made|moved?|now|reduced?|refactored|remove[sd]|rename[sd]|replace[sd]"
    r"|switched|update[sd]|uses)\b"
)


@lru_cache(maxsize=1024)
def report(message: str) -> Choice | None:
    """Return the first change that a message reports together with its reason or with what the change replaces.

    The result is None if there is no such change, or if the message has less than 300 characters, which is too short
    for a report.
    """
    changes = _changes(message) if len(message) >= _LEAST else ()
    return next((Choice(change) for change in changes if commit_text.gives_reason(change)), None)


def headline(message: str) -> str:
    """Return the sentence of a message that says best what was changed, "" if the message reports no change."""
    reported = report(message)
    return reported.text if reported is not None else next(iter(_changes(message)), "")


@lru_cache(maxsize=1024)
def _changes(message: str) -> tuple[str, ...]:
    """Return the sentences of a message that report a change of something that has a name."""
    sentences = (unit.text for unit in units.sentences(message[:_LOOKED_AT]))
    return tuple(
        text[:_LONGEST]
        for text in sentences
        if _CHANGED.search(text)
        and wishes.has_object(text)
        and not text.endswith("?")
        and not wishes.begins_with_step(text)
    )
