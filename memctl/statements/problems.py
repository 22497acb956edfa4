"""Find what an agent's message states in ordinary sentences: the cause of a problem, or a problem that stays open.

If a message states several causes, the last one counts: the earlier ones were only guesses on the way to it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from memctl.statements import cues, labels, lines, sentences, units
from memctl.statements.units import Unit
from memctl.text.lazy_regex import lazy_regex

_LOOKED_AT = 20_000  # characters of a message
_LEAST, _LONGEST = 5, 500  # words, characters of a sentence that can be read alone
_BEGINNING = 1_000  # characters in which a message says that it is a review

_NAME = lazy_regex(r"`[^`\n]+`|\b\w+(?:_\w+|\.\w{2,4}|\(\))|[a-z]+[A-Z]\w+|\b\w+/\w+")
# A reason is a cause only of something that has a name and goes wrong; other reasons explain what was done.
_BECAUSE = lazy_regex(r"(?i)\bbecause\b(?! of you)|\bdue to\b")
_ADVERSE = lazy_regex(
    r"(?i)n't\b|\b(?:not|never|no|none|nothing|cannot|without|only|instead)\b|\b(?:fail|err|br[eo]k|crash|stop|bypass|skip"
    r"|ignor|miss|lack|los[et]|wrong|incorrect|unused|false|flag|bug|silent|slow|hang|conflict|mismatch|stale|empty|zero"
    r"|drop|reject|block|leak|duplicat)\w*|\b\d[\d.]* ?(?:m?s|%|x)\b"
)
# It says that a cause was found: the next sentence says which.
_NAMED_CAUSE = r"(?:the|a) (?:\w+ )?(?:cause|issue|problem|bug|reason|culprit)\b"
_ANNOUNCES = lazy_regex(
    rf"(?i)\W*(?:(?:(?:now |ok(?:ay)?,? )?i(?:'ve)? )?(?:now )?(?:found|see|understand)(?: it\b| {_NAMED_CAUSE})"
    rf"|there(?:'s| is) {_NAMED_CAUSE})[^`]{{0,20}}"
)
# A heading under which agents state a cause.
_CAUSES = lazy_regex(r"(?i)(?:the )?(?:actual |real )?(?:root causes?|key insight|cause|diagnosis|bug)\W*$")
_THINKS_AGAIN = lazy_regex(r"(?i)\W*(?:actually|wait|hmm|no,|hold on)\b")
# The speaker turns to what comes next, or to the reader.
_NEXT = lazy_regex(
    r"(?i)\W*(?:(?:so|now|ok(?:ay)?|good|great|and|but|then|first|next|also|perfect|excellent|alright)\b[,.!:]? )*"
    r"(?:let me|let's|i'll|i will|i need|i can|i should|i'm going|i want|i'd|would you|do you|want me|should i|shall i"
    r"|we (?:could|can|should|need)|you (?:could|can|should|may|might)|looking at|here(?:'s| is| are) |to (?:answer"
    r"|summarize))"
)
# It is of the work under way, not of what was wrong.
_INSIGHT = lazy_regex(
    r"(?i)\binsight\b|\b(?:\d+|two|three) (?:tests? )?(?:failures?|failing|errors?)\b"
    r"|\b(?:build|commit|hook|lint|push|tests?|type ?check) (?:fail(?:s|ed)|is failing)\b"
)
_DOUBT = lazy_regex(cues.UNDECIDED.replace("|unclear", "|likely|might|seems?|suspect|unclear"), re.IGNORECASE)
_SETTLED = lazy_regex(
    r"(?i)^\W*(?:fixed|done|resolved|solved|committed)\b"
    r"|\b(?:is|are|was|were) already (?:in place|there|done)\b|\balready (?:added|fixed|handled|covered|addressed)\b"
    r"|\b(?:that's|this is|it's|that is) (?:expected|intended|intentional|by design|a false positive|not a bug)\b"
)
_WRONG = lazy_regex(r"(?i)\b(?:issues?|concerns?|findings?|problems?|gaps?|risks?|bugs?|critical|must fix)\b")
# What says that something is wrong and stays so: known, put off, or lost without a word.
_OPEN = lazy_regex(
    r"(?i)\bpre-?existing (?:\w+ )?(?:issue|bug|problem|failure|gap|defect)s?\b|\bflaky\b|\bfollow-?ups?\b"
    r"|\bout of scope\b(?! /|\W*:)|\bknown (?:issue|limitation|bug|gap)s?\b|\ba (?:\w+ )?gap\b|\blimitation\b"
    r"|\btechnical debt\b|\bnot (?:covered|handled|implemented|supported|tested) yet\b"
    r"|\bhas(?:n't| not| never) been (?:run|tested|verified)\b|\b(?:deferred|left) (?:to|for) (?:later|a later)\b"
    r"|\bstill (?:uses?|refers? to|points? to|has|have) (?:the )?old\b|\buntested\b"
    r"|\bremains? (?:un\w+|open|broken)\b|\b(?:is|are|be|becomes?) orphaned\b"
    r"|\bsilently (?:los|skip|drop|ignor|overwr|swallow|discard|fail|stop|br[eo]k)\w+"
    r"|\b(?:is|are) never (?:called|used|set|cleaned|updated|checked)\b"
    r"|(?<!part of) a (?:much |bit )?larger (?:change|refactor\w*|effort)\b|\bthere(?:'s| is) no way to\b"
    r"|\bworth (?:filing|a (?:ticket|follow-?up|separate)|tracking)\b"
    r"|\b(?:in|as|for) a separate (?:pr|ticket|issue|change|branch)\b"
)
# A report of what was done, perhaps behind what it was done to.
_DONE = lazy_regex(
    r"(?:[^\n:]{2,60}?(?: [\u2013\u2014-] |: ))?(?:I(?:'ve| have)? )?"
    r"(?i:added|fixed|removed|updated|changed|replaced|renamed)\b"
)
# What may be doubted and is open all the same: a gap that seems to be one is one to look into.
_GAP = lazy_regex(r"(?i)\b(?:seems|looks) like a (?:\w+ )?(?:gap|bug|limitation)\b")


@lru_cache(maxsize=1024)
def _sentences(message: str) -> tuple[Unit, ...]:
    """Return the sentences of a message that stand under no label; `reader` reads those under labels."""
    return tuple(
        unit for unit in units.sentences(message[:_LOOKED_AT]) if lines.role_of(unit.text) not in labels.OPENERS
    )


def is_settled(message: str) -> bool:
    """Return whether a message says that a problem is solved ("Fixed.") or is no problem ("this is expected")."""
    return _SETTLED.search(message[:_BEGINNING]) is not None


@lru_cache(maxsize=1024)
def cause(message: str) -> str:
    """Return the last sentence of a message that states a cause without doubt, "" if there is none."""
    cause_text = ""
    sentence_units = _sentences(message)
    for number, unit in enumerate(sentence_units):
        is_announced = number > 0 and _ANNOUNCES.fullmatch(sentence_units[number - 1].text) and _is_certain(unit.text)
        is_first = _CAUSES.match(unit.heading) and (number == 0 or sentence_units[number - 1].heading != unit.heading)
        if is_first and _is_certain(unit.text) and _NAME.search(unit.text):
            cause_text = unit.text
        elif is_announced or _is_cause(unit.text):
            whole = _with_referent(sentence_units, number)
            is_told = is_announced or sentences.kind_of(unit.text) == sentences.LESSON
            cause_text = whole if whole and (is_told or _ADVERSE.search(whole)) else cause_text
        elif _THINKS_AGAIN.match(unit.text):
            cause_text = ""
    return cause_text


def _is_certain(text: str) -> bool:
    return _is_whole(text) and not _DOUBT.search(text) and not _NEXT.match(text)


def _is_cause(text: str) -> bool:
    if not _is_certain(text):
        return False
    stated = sentences.kind_of(text)
    if stated in (sentences.DECISION, sentences.REJECTED) or _INSIGHT.search(text):
        return False
    return stated == sentences.LESSON or (_BECAUSE.search(text) is not None and _NAME.search(text) is not None)


@lru_cache(maxsize=1024)
def open_issue(message: str) -> str:
    """Return the first sentence of a message that says that a problem is still open or put off; "" for none."""
    low = message[:_LOOKED_AT].lower()
    if "review" in low[:_BEGINNING] and (finding := _review_finding(message)):
        return finding
    sentences = _sentences(message)
    for number, unit in enumerate(sentences):
        text = unit.text
        if _OPEN.search(text) and not _DONE.match(text) and (_is_certain(text) or _GAP.search(text)):
            return _with_referent(sentences, number)
    return ""


def _review_finding(message: str) -> str:
    """Return the first finding below a heading such as "Issues" in a review."""
    for unit in units.units(message[:_LOOKED_AT]):
        if unit.form == units.SENTENCE and _WRONG.search(unit.heading) and not _is_fine(unit.heading):
            text = units.without_marks(unit.text)
            if _NAME.search(text) and _is_whole(text) and not _is_fine(text):
                return text
    return ""


def _is_fine(text: str) -> bool:
    return cues.OVER.search(text) is not None or cues.FINE.search(text) is not None


def _with_referent(sentences: Sequence[Unit], number: int) -> str:
    """Return a sentence, with the sentence before if it refers back ("This breaks …"); "" if there is none to refer
    to."""
    text = sentences[number].text
    if not units.points_back(text):
        return text
    before = sentences[number - 1].text if number else ""
    whole = f"{before} {text}"
    is_told = _is_whole(before) and not _NEXT.match(before) and not units.points_back(before)
    return whole if is_told and len(whole) <= _LONGEST else ""


def _is_whole(sentence: str) -> bool:
    """Return whether a sentence says something by itself."""
    least = _LEAST if not _NAME.search(sentence) else _LEAST - 1
    return not sentence.endswith(("?", "...", ":")) and len(sentence) <= _LONGEST and len(sentence.split()) >= least
