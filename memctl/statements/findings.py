"""What an agent's message states, by how it is built and by where it stands in its turn.

In any message a cause counts that is stated beyond doubt: the last one, for those before were steps of thought. The
message that ends a turn answers what was asked, and says what was found out; after work on files, what was done.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from memctl.statements import labels, lines, statements, units
from memctl.statements.units import Unit
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line

LEARNING, ISSUE, DECISION = "learning", "issue", "decision"
_LOOKED_AT = 20_000  # characters of a message
_LEAST, _LONGEST = 5, 500  # words, characters of a sentence that can stand alone
_SUBSTANCE = 400  # characters of a message that says more than that something is done
_ANALYSIS = 1_000  # characters of a message that is an answer wherever it stands
_ENOUGH = (
    3  # of what speaks for a sentence: it names something (2), says a cause (2), or what is not, only, instead (1)
)
_BEGINNING = 4  # sentences in which a verdict is given
_PART = 120  # characters of what was done to one thing
_PARTS = 4

_NAME = lazy_regex(r"`[^`\n]+`|\b\w+(?:_\w+|\.\w{2,4}|\(\))|[a-z]+[A-Z]\w+|\b\w+/\w+")
# Something is so because of something: a noun for a cause with a verb, or a verb or conjunction of cause.
_CAUSES = r"(?:causes?|issues?|problems?|bugs?|reasons?|culprits?|insights?|flaws?|mistakes?|catch|gotcha|difference)"
# A reason is a cause only of something that has a name.
_BECAUSE = lazy_regex(r"(?i)\bbecause\b(?! of you)|\bdue to\b")
# It says that a cause was found, and perhaps where: the next sentence says which.
_ANNOUNCES = lazy_regex(
    rf"(?i)\W*(?:(?:now |ok |okay,? )?i(?:'ve)? )?(?:now )?(?:found|see|understand|got|there(?:'s| is)|here(?:'s| is)"
    rf"|this is)\b"
    rf"(?: it\b| [^`]{{0,30}}\b{_CAUSES}\b)[^`]{{0,40}}|\W*confirmed\W*"
)
_IS_PLACE = lazy_regex(r"(?i)\b(?:is|are|was|were) (?:in|at) \S+$")
# The speaker turns to what comes next, or to the reader.
_NEXT = lazy_regex(
    r"(?i)\W*(?:(?:so|now|ok(?:ay)?|good|great|and|but|then|first|next|also|perfect|excellent|alright)\b[,.!:]? )*"
    r"(?:let me|let's|i'll|i will|i need|i can|i should|i'm going|i want|i'd|would you|do you|want me|should i|shall i"
    r"|we (?:could|can|should|need)|you (?:could|can|should|may|might)|looking at|here(?:'s| is| are) |to (?:answer"
    r"|summarize))"
)
_DOUBT = lazy_regex(
    r"(?i)\b(?:likely|probably|possibly|perhaps|maybe|might|may be|could|seems?|appears?|suspect|i think|not sure"
    r"|unclear"
    r"|unknown|whether|if|check|would|let me|let's|don't know)\b|\?"
)
_POINTS_BACK = lazy_regex(r"(?i)\W*(?!it turn)(?:this|that|it|these|those|they)\b")
_ASKS_READER = lazy_regex(r"(?i)\b(?:would|do|should|can|did) you\b|\byour (?:call|response|go|decision|choice)\b")
_HYPOTHETICAL = lazy_regex(r"(?i)\W*(?:if|when|or|potential\w*|suppose|say)\b")
_CONTRAST = lazy_regex(
    r"(?i)\b(?:because|since|so that|only|never|always|not|no|without|instead|rather|but|already|no longer|due to|same"
    r"|both|before|until|unless|requires?|means)\b|n't\b"
)
_RETRACTS = lazy_regex(
    r"(?i)\b(?:the (?:issue|problem|cause|bug) is something else|i was wrong|(?:that|this)(?:'s| is| was)(?:n't| not)"
    r" (?:it\b|the (?:issue|problem|cause|bug|reason))|(?:theory|assumption|explanation|diagnosis) was wrong)"
)
# What was done: a verb in the past where a part begins, or what is different now.
_DONE = lazy_regex(
    r"(?i)(?:^|[:\u2013\u2014-] |\bi(?:'ve| have)? )\W*\w{2,}ed\b|\b(?:now|no longer|instead|rather|both|only|without"
    r"|kept|made"
    r"|split|put|set)\b|\u2192|->"
)
_OF_TESTS = lazy_regex(r"(?i)\b(?:unit |integration )?tests?\b|\bTest(?-i:[A-Z])|_test\b|^`?[0-9a-f]{7,40}\b")
_WRONG = lazy_regex(
    r"(?i)\b(?:issues?|concerns?|findings?|problems?|gaps?|risks?|bugs?|critical|important|suggestions?|improvements?"
    r"|must fix)\b"
)
_MENDED = lazy_regex(r"(?i)\b(?:fixed|resolved|addressed|solved|intentional|correct|good|none|no)\b")
_OPEN_WORDS = ("existing", "flak", "follow", "scope", "known ", "yet", "gap", "remains", "limitation", "debt")
_OPEN = lazy_regex(
    r"(?i)\bpre-?existing (?:issue|bug|problem|failure|gap|defect)s?\b|\bflaky\b|\bfollow-?up\b"
    r"|\bout of scope\b|\bknown (?:issue|limitation|bug|gap)s?\b|\ba (?:\w+ )?gap\b|\blimitation\b|\btechnical debt\b"
    r"|\bnot (?:covered|handled|implemented|supported|tested) yet\b|\bremains? (?:un\w+|open|broken)\b"
)
_THINKS_AGAIN = lazy_regex(r"(?i)\W*(?:actually|wait|hmm|no,|hold on)\b")


class Finding(msgspec.Struct, frozen=True):
    """What was found: its kind (LEARNING, ISSUE or DECISION), in one sentence, and why if that is said apart."""

    kind: str
    text: str
    reason: str = ""


@lru_cache(maxsize=1024)
def _sentences(message: str) -> tuple[Unit, ...]:
    """The sentences of a message that stand under no label: what a label says has another reader."""
    return tuple(
        unit for unit in units.sentences(message[:_LOOKED_AT]) if lines.role_of(unit.text) not in labels.OPENERS
    )


def is_retraction(message: str) -> bool:
    return _RETRACTS.search(message[:_LOOKED_AT]) is not None


@lru_cache(maxsize=1024)
def cause(message: str) -> Finding | None:
    """The last cause that a message states beyond doubt; a sentence that only announces one takes the next."""
    found = None
    said = _sentences(message)
    for number, unit in enumerate(said):
        text = unit.text
        if found and _THINKS_AGAIN.match(text):
            found = None
        if _ANNOUNCES.fullmatch(text):
            text = said[number + 1].text if number + 1 < len(said) else ""
            is_cause = _is_whole(text) and not _DOUBT.search(text) and not _NEXT.match(text)
        else:
            is_cause = _is_cause(text) and _is_whole(text)
            if is_cause and _IS_PLACE.search(text) and number + 1 < len(said):
                text = f"{text} {said[number + 1].text}"[:_LONGEST]
        if is_cause:
            found = Finding(LEARNING, _with_referent(said, number) if text == unit.text else text)
    return found


def _is_cause(text: str) -> bool:
    if _DOUBT.search(text) or _NEXT.match(text):
        return False
    stated = statements.stated(text)
    if stated in (statements.DECISION, statements.REJECTED):
        return False
    return stated == statements.LESSON or (_BECAUSE.search(text) is not None and _NAME.search(text) is not None)


def verdict(message: str) -> Finding | None:
    """What a message answers that was asked what to do: how it begins, and why, which is the next sentence."""
    said = [unit.text for unit in _sentences(message)[:_BEGINNING]]
    while said and (_NEXT.match(said[0]) or said[0].endswith("?") or statements.is_filler(said[0])):
        said.pop(0)
    reason = said[1] if len(said) > 1 and _is_whole(said[1]) and not _NEXT.match(said[1]) else ""
    if not said or not (_NAME.search(f"{said[0]} {reason}")):
        return None
    return Finding(DECISION, said[0], reason)


@lru_cache(maxsize=1024)
def open_issue(message: str) -> Finding | None:
    """The first thing that a message says stays wrong, or is put off."""
    low = message[:_LOOKED_AT].lower()
    if "review" in low[:_ANALYSIS] and (found := _review_finding(message)):
        return Finding(ISSUE, found)
    if not any(word in low for word in _OPEN_WORDS):
        return None
    said = _sentences(message)
    for number, unit in enumerate(said):
        text = unit.text
        if _OPEN.search(text) and _is_whole(text) and not _NEXT.match(text) and not _DOUBT.search(text):
            return Finding(ISSUE, _with_referent(said, number))
    return None


def _review_finding(message: str) -> str:
    """The first thing that stands below a heading of what is wrong, in a text that is a review."""
    for unit in units.units(message[:_LOOKED_AT]):
        if unit.form == units.SENTENCE and _WRONG.search(unit.heading) and not _MENDED.search(unit.heading):
            text = one_line(unit.text.replace("**", ""))
            if not text.endswith(":") and len(text.split()) >= _LEAST - 1 and not _MENDED.search(text):
                return text
    return ""


def is_analysis(message: str) -> bool:
    return len(message) >= _ANALYSIS


@lru_cache(maxsize=256)
def answer(message: str) -> Finding | None:
    """What a message found out that ends a turn: of its sentences the one that says most, the first of equals."""
    best, most = "", 0
    said = _sentences(message)
    for number, unit in enumerate(said):
        text = unit.text
        if not _is_whole(text) or _NEXT.match(text) or _ASKS_READER.search(text):
            continue
        worth = 2 * bool(_NAME.search(text)) + bool(_CONTRAST.search(text)) + 2 * _is_cause(text)
        worth -= bool(unit.item) + bool(_HYPOTHETICAL.match(text))
        if worth > most:
            best, most = _with_referent(said, number), worth
    return Finding(LEARNING, best) if most >= _ENOUGH else None


def _with_referent(said: Sequence[Unit], number: int) -> str:
    """A sentence; one that begins with what it points back to, with the sentence before it."""
    text = said[number].text
    before = said[number - 1].text if number else ""
    if _POINTS_BACK.match(text) and _is_whole(before) and not _NEXT.match(before):
        text = f"{before} {text}"
    return text if len(text) <= _LONGEST else said[number].text


@lru_cache(maxsize=256)
def report(message: str) -> Finding | None:
    """What a message says was done, None for one that says no more than that something was."""
    if len(message) < _SUBSTANCE or not _NAME.search(message) or not _CONTRAST.search(message):
        return None
    items = dict[int, str]()
    for unit in units.units(message[:_LOOKED_AT]):
        if unit.item and unit.item not in items and not _OF_TESTS.search(unit.text):
            items[unit.item] = one_line(unit.text.replace("**", "")).rstrip(".:;")[:_PART]
    done = [text for text in items.values() if _DONE.search(text)]
    if done:
        return Finding(DECISION, "; ".join(done[:_PARTS]))
    said = (unit.text for unit in _sentences(message) if not unit.item)
    whole = (text for text in said if _is_whole(text) and _NAME.search(text) and _DONE.search(text))
    return next(
        (Finding(DECISION, text) for text in whole if not _NEXT.match(text) and not _OF_TESTS.search(text)), None
    )


def _is_whole(sentence: str) -> bool:
    """Whether a sentence says something by itself."""
    least = _LEAST if not _NAME.search(sentence) else _LEAST - 1
    return not sentence.endswith(("?", "...")) and len(sentence) <= _LONGEST and len(sentence.split()) >= least
