"""Find the decision in an agent's reply to the user: a change that it agrees to make, or reports to have made.

The words alone do not make it a decision. `dialogue` counts an agreement only when files are changed after it, and a
report only if nobody has stated a decision since the user's last prompt.
"""

from __future__ import annotations

from functools import lru_cache

from memctl.statements import commit_text, units, wishes
from memctl.statements.sentences import Choice
from memctl.text.lazy_regex import lazy_regex

_LOOKED_AT = 8_000  # characters of a message
_LONGEST = 400  # characters of a statement
_BEGINNING = 6  # sentences of a reply in which it says what it agrees to
_LEAST = 300  # characters of a report
_CONCEDES = lazy_regex(
    r"(?i)\W*(?:(?:yes|ah|oh|ok(?:ay)?|yeah|no|right)\b[,.!]? )?"
    r"(?:you(?:'re| are) (?:\w+ )?(?:right|correct)"
    r"|(?:very )?(?:good|great|excellent|fair|valid|nice) (?:point|catch|idea|call|question|review|concern|feedback"
    r"|suggestion)|(?:that )?makes sense|agreed)\b"
)
_CHANGES = (
    rf"{wishes.CHANGES}|apply|consolidate|disable|enable|fix|handle|inline|merge|pass|restore|revert|simplify|split|store"
    r"|switch|update"
)
_COMMITS = lazy_regex(
    rf"(?i)\b(?:let me|let's|i'll|i will|i should|we (?:can|need to|should)) (?:\w+ ){{0,2}}?(?:{_CHANGES})\b"
    r"|\b(?:shouldn't|should(?! (?:all |now )?(?:be (?:fine|fixed|good|green|ok)|pass|work)\b)|needs? to|must)\b"
    rf"|^\W*(?:{_CHANGES})\b"
)
_CHANGED = lazy_regex(
    r"(?i)\b(?:add(?:s|ed)|applie[sd]|change[sd]|consolidate[sd]?|create[sd]|delete[sd]|detects?|drop(?:s|ped)"
    r"|extract(?:s|ed)|fixe[sd]|kept|made|moved?|now|reduced?|refactored|remove[sd]|rename[sd]|replace[sd]"
    r"|switched|update[sd]|uses)\b"
)


@lru_cache(maxsize=1024)
def agreement(message: str) -> Choice | None:
    """Return the change that an agent's reply agrees to make, None if there is none.

    The reply must begin with an agreement such as "You're right" and name a change. If it only says "Let me fix that",
    the text of the result includes the sentence before, which says what "that" is.
    """
    if not _CONCEDES.match(message):
        return None
    sentences = [unit.text for unit in units.sentences(message[:_LOOKED_AT])][:_BEGINNING]
    for number, sentence in enumerate(sentences):
        if not sentence.endswith("?") and (match := _COMMITS.search(sentence)):
            if wishes.is_step(sentence[match.start() :]):
                continue
            if number and not wishes.has_object(sentence[match.end() :]):
                sentence = f"{sentences[number - 1]} {sentence}"
            return Choice(sentence[:_LONGEST])
    return None


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
