"""What an agent found out: why something is as it is, how it works, what stays wrong, what it decided against.

A diagnosis ("the root cause is", "found the bug") counts in any message; of several in one the last holds, for the
others were steps of thought. What was asked for counts in the message that ends the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from memctl.statements import cues, units
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line

LEARNING, ISSUE, DECISION = "learning", "issue", "decision"
_LOOKED_AT = 20_000  # characters of a message
_ENOUGH = 4  # of what speaks for a sentence: it names something, says how that is, stands early
_FIRST = 6  # sentences in which an answer is looked for
_LEAST, _LONGEST = 6, 500  # words, characters of a sentence that can stand alone

_CAUSE = (
    r"(?:real |actual |root |core |underlying |main |key |fundamental )?"
    r"(?:issue|problem|bug|cause|reason|culprit|root cause|insight|failure|error|difference)"
)
_DIAGNOSIS = lazy_regex(
    r"\broot causes?(?: here)?(?: is| was|:)(?! (?:still|not yet|un\w+)\b)"
    rf"|\bfound (?:it\b|(?:the|a|my|your) {_CAUSE}\b)"
    rf"|\b(?:i|now i) (?:see|understand) (?:the|what the|why the) {_CAUSE}\b"
    rf"|\b(?:that's|there's|here's|this is) (?:the|your|our) {_CAUSE}\b"
    rf"|\b(?:the|one) {_CAUSE}(?: here)?(?: is|'s| was|:)(?! (?:still|not yet|un\w+|introduced)\b)"
    r"|\bthe reason\b.{0,80}?(?: is|:)"
    r"|\bthe [\w-]+ (?:failure|error|slowness|crash|hang|mismatch|conflict)s? (?:is|are|was|were) (?:due to"
    r"|caused by|because)"
    r"|\bwas caused by\b|\b(?:didn't|doesn't|fails?|failed|breaks?|broke) [^.,;]{0,60}\bbecause\b"
    r"|^\W*confirmed\b\W|\b(?:it |this |that )?turns out\b|\bthere it is\b|\bthe (?:flaw|catch|gotcha)(?: is|:)"
)
# One of these is in every text in which a pattern may be found; the patterns are for texts in small letters.
_CAUSE_WORDS = (
    "root cause", "found ", "issue", "problem", "bug", "cause", "reason", "culprit", "insight", "failure", "error",
    "difference", "turns out", "there it is", "confirmed", "flaw", "catch", "gotcha",
)  # fmt: skip
_OPEN_WORDS = (
    "existing", "flak", "follow", "scope", "known", " yet", "'s a bug", "gap", "significant", "one ", "unfixed",
    "unsolved", "unresolved", "unhandled", "still ", "remain", "no documentation", "debt", "hasn't",
)  # fmt: skip
_OTHER_WORDS = ("different", "another", "simpler", "better", "cleaner")
_RETRACTED_WORDS = ("something else", "wrong", "not it", "n't it", "not the", "n't the", "that theory")
_HEAD = 1_000  # characters in which a review says that it is one
_HEDGED = lazy_regex(
    r"(?i)\b(?:likely|probably|possibly|perhaps|maybe|might|may be|could be|seems? to|appears? to|suspect|i think"
    r"|not sure|\bif\b|let me|let's|check (?:if|whether)|whether|if the|investigate|would be|something else"
    r"|more subtle|timing)\b"
)
_RETRACTED = lazy_regex(
    r"\b(?:(?:the )?(?:issue|problem|cause) is something else|that(?:'s| is| was)(?: not|n't) (?:it"
    r"|the (?:issue|problem|cause|bug))"
    r"|i was wrong|my (?:earlier )?(?:theory|assumption|explanation) was wrong|that theory)\b"
)
# A sentence that only says that something was found, or where.
_BARE = lazy_regex(r"(?i)[^`]{0,60}\b(?:see|understand|found|that's|there's|here's|this is|got) [^`]{0,50}")
_PLACE = lazy_regex(r"(?i)\b(?:issue|problem|bug|cause) is in \S+\.?$")
# What follows the announcement of a cause is one if it says what is not as it should be.
_AMISS = lazy_regex(
    r"(?i)\b(?:not|never|no|without|missing|only|instead|because|but|before|twice|clears|wrong|fails?|stale)\b|n't\b"
)
# A fault of what the agent has just written.
_OWN = lazy_regex(
    r"(?i)\bi (?:just |have )?(?:introduced|added|wrote|made|forgot|broke)\b|\bmy (?:own|test|edit|change|code|fix)\b"
)
_POINTING = lazy_regex(r"(?i)\W*(?:this|that|that's|these|it|it's|they|future|the suggestions?)\b")
_PUT_OFF = lazy_regex(r"(?i)\bif desired\b|\bdeferred\b|\bnot related to my\b")
_THINKS_AGAIN = lazy_regex(r"(?i)^\W*(?:actually|wait|hmm|but wait|no,|hold on)\b")
# How a message begins that reports work, or announces it.
_REPORT = lazy_regex(
    r"(?i)\W*(?:done\b|updated?\b|all (?:tests?|clean|checks|pass|good|\d+)|fixed\b|pushed\b|committed\b|created?\b"
    r"|added\b"
    r"|moved\b|removed?\b|summary of (?:the )?changes|(?:both|the) \w+ (?:pass|is updated|now covers)|now commits\b"
    r"|now (?:let|i'll|all)"
    r"|let me\b|let's\b|i'll\b|i've\b|clean split|also update|everything\b|ready\b|good,|what would you"
    r"|(?:both|all|two|three|the) (?:\w+ ){0,2}(?:threads?|comments?|points?) (?:\w+ )?(?:addressed|resolved"
    r"|replied|fixed)"
    r"|(?:the )?plan (?:is )?updated|i need more|there (?:are|were) no (?:conflicts|changes)|the (?:commit"
    r"|working tree|changes?|plan|branch|file) (?:has|was|is|now|have|covers)\b)"
)
_ANNOUNCED = lazy_regex(
    r"(?i)\W*(?:let me|let's|i'll|i will|i can|now,? i|i need|i've|i have|i now|here(?:'s| is| are)|looking at"
    r"|good (?:question|call"
    r"|point|catch)|great question|to (?:answer|summarize)|based on|for (?:context|reference)|want me|should i"
    r"|would you"
    r"|do you|note:|option \w\b|we (?:should|could|can|need)|the fix is|remove\b|add\b|now\b|before:|after:"
    r"|created?\b|both \w+ now|[0-9a-f]{7,10}\b|step \d|(?:you're|you are) (?:absolutely )?right\b[^,\u2014-]{0,4}$"
    r"|so (?:the )?options|options:|interesting)"
)
_VERDICT_WORDS = lazy_regex(
    r"(?i)^(?:(?:yes|no|yep|nope|correct|confirmed|exactly|right|good (?:question|catch|point|call)"
    r"|you're (?:absolutely )?right"
    r"|short answer|actually|interesting|ah)\b(?:[*!.,:;]+|(?=\s*[\u2014\u2013-]))\s*(?:[\u2014\u2013-]+\s*)?)+"
)
_TELLING = lazy_regex(
    r"(?i)\b(?:because|since|only|never|always|doesn't|does not|don't|isn't|is not|no longer|not|instead|comes from"
    r"|means"
    r"|called|uses?|already|so that|which|due to|caused|both|each|same|different|tracks?|stores?|writes?|reads?"
    r"|sets?)\b"
)
_CODE = lazy_regex(r"`[^`\n]+`|\b\w+(?:_\w+|\.\w{2,4}|\(\))|[a-z]+[A-Z]\w+")
# What stays wrong, or was put off.
_OPEN = lazy_regex(
    r"\bpre-?existing (?:issue|bug|problem|failure|gap|defect)\b|(?<!low )(?<!no )\bflak(?:y|iness|e)\b"
    r"|\bfollow-?up\b|\bout of scope\b|\bknown (?:issue|limitation|bug)\b"
    r"|\bnot (?:covered|handled|implemented) yet\b|\bthat's a (?:bug|gap)\b|\bsignificant (?:gap|duplication)\b"
    r"|\b(?:is|seems like|there's) a (?:real |significant )?gap\b|\bone (?:open )?(?:issue|concern)(?: is)?:"
    r"|\b(?:still|remains?) (?:un(?:fixed|solved|resolved|handled)|open|broken)\b|\bno documentation\b"
    r"|\btechnical debt\b|\bhasn't been (?:fixed|addressed)\b"
)
_REVIEW = lazy_regex(r"\b(?:code review|review (?:summary|results?|findings)|findings summary)\b(?! response)")
_MENDED = lazy_regex(r"(?i)\b(?:fixed|resolved|addressed|well|good|right|strengths)\b")
_FINDINGS = lazy_regex(
    r"(?i)(?:.*\b(?:issues?|concerns?|findings?|problems?|suggestions?|improvements?)\b.*"
    r"|(?:\W*)(?:critical|high|medium|low|minor|important|p[0-3])\b.*)"
)
_NO_FINDING = lazy_regex(
    r"(?i)\b(?:correct|intentional|looks good|no issues?|none|not a problem|verified|resolved|fixed)\b"
)
_AGAINST = lazy_regex(
    r"(?i)^\W*(?:(?:no|yes),? (?:for now|i'd|i would|they serve|it (?:should|makes))|short answer\b.{0,6}(?:no|yes)"
    r"|(?:that|this|it) would (?:be (?:risky|wrong|a mistake|overkill)|break)|i'd (?:keep|leave|rather"
    r"|advise against|not)"
    r"|(?:we|you) shouldn't\b|better not\b|not worth\b)"
)
_OWNED = lazy_regex(r"(?i)^\W*(?:good (?:point|call|catch)|you're (?:absolutely )?right)\b(?! that)")
_OWNED_WORK = lazy_regex(
    r"(?i)\b(?:we should\b(?! already)|(?:it|this|that|code|calculation|check|logic) (?:should be|belongs)\b"
    r"|let me (?:move|remove|use|switch|replace) (?!it\b|this\b|that\b|them\b))"
)
_OFFERS = lazy_regex(r"(?i)\b(?:want me to|would you like|should i|shall i|i'd lean|i'd recommend)\b")
_GOES_ON = lazy_regex(r"(?i)\W*(?:now,? )?(?:let me|let's|i'll|i will)\b")
_OPTIONS = lazy_regex(r"(?im)^[ #>*-]*option [a-d1-9]\b[^\n]*\n(?:.*\n){0,60}?[ #>*-]*option [a-d2-9]\b")
_OTHER_WAY = lazy_regex(
    r"\b(?:let me|i'll|i will|let's) (?:use|take|try|switch to|go with) (?:a )?(?:different|another|simpler"
    r"|better|cleaner)"
    r" (?:approach|way|solution)?\b.*?(?:[\u2014\u2013:-]|\bby\b|\binstead)"
)


class Finding(msgspec.Struct, frozen=True):
    """What was found: its kind (LEARNING, ISSUE or DECISION), in one sentence, and why if that is said apart."""

    kind: str
    text: str
    reason: str = ""


class Findings(msgspec.Struct, frozen=True):
    """What a message states by itself, and whether it takes back what was found before."""

    found: tuple[Finding, ...] = ()
    is_retraction: bool = False


@lru_cache(maxsize=1024)  # each turn of a loop, and each reduction that is tried, has the messages of the one before
def read(message: str) -> Findings:
    """What a message states whatever was asked: a cause, another way that is taken, what stays wrong."""
    message = message[:_LOOKED_AT]
    low = message.lower()
    says_open = _has(low, _OPEN_WORDS) or _REVIEW.search(low, 0, _HEAD) is not None
    is_other_way = _has(low, _OTHER_WORDS) and _has(low, ("let me", "let's", "i'll", "i will"))
    is_owned = _OWNED.match(message) is not None
    is_retraction = _has(low, _RETRACTED_WORDS) and _RETRACTED.search(low) is not None
    names_cause = _has(low, _CAUSE_WORDS)
    if not (says_open or is_other_way or is_owned or names_cause):
        return Findings(is_retraction=is_retraction)
    said = _sentences(message)
    looks = (
        diagnosis(said) if names_cause else None,
        _other_way(said) if is_other_way else None,
        _owned(said) if is_owned else None,
        _open_issue(message, said) if says_open else None,
    )
    return Findings(tuple(one for one in looks if one is not None), is_retraction)


def _has(low: str, words: Sequence[str]) -> bool:
    """Whether a text in small letters has one of some words: to search it for a pattern takes ten times as long."""
    return any(word in low for word in words)


def diagnosis(said: Sequence[str]) -> Finding | None:
    """The last cause that sentences name beyond doubt; one that only announces a cause takes the next."""
    found = None
    for number, sentence in enumerate(said):
        if found and _THINKS_AGAIN.match(sentence):
            found = None
        if not _is_diagnosed(sentence) or _HEDGED.search(sentence) or sentence.endswith("?"):
            continue
        is_telling = _is_whole(sentence) and not _BARE.fullmatch(sentence)
        text = sentence if is_telling else _following(said, number)
        if is_telling and _PLACE.search(text):
            following = _following(said, number)
            text = f"{text} {following}" if following else ""
        if text and not _HEDGED.search(text) and not _NO_FINDING.search(text[:40]) and not _OWN.search(text):
            found = Finding(ISSUE if _OPEN.search(text.lower()) else LEARNING, text)
    return found


def _is_diagnosed(sentence: str) -> bool:
    """Whether a sentence names a cause, with no doubt in the clause before it."""
    low = sentence[:_LONGEST].lower()
    return _has(low, _CAUSE_WORDS) and any(
        not re.search(cues.DOUBT, cues.CLAUSE.split(low[: match.start()])[-1]) for match in _DIAGNOSIS.finditer(low)
    )


def _other_way(said: Sequence[str]) -> Finding | None:
    """What an agent does instead of what it found not to work, with that as the reason."""
    for number, sentence in enumerate(said):
        if number and _OTHER_WAY.search(sentence.lower()) and _is_whole(sentence) and _is_whole(said[number - 1]):
            return Finding(DECISION, sentence, said[number - 1])
    return None


def _open_issue(message: str, said: Sequence[str]) -> Finding | None:
    """What a message says stays wrong, such as a failure that is flaky or was there before; of a review, a finding."""
    if _REVIEW.search(message.lower(), 0, _HEAD) and (found := _review_finding(message)):
        return Finding(ISSUE, found)
    for sentence in said:
        if not _OPEN.search(sentence.lower()) or not _is_whole(sentence) or _ANNOUNCED.match(sentence):
            continue
        if not _PUT_OFF.search(sentence) and (_CODE.search(sentence) or not _POINTING.match(sentence)):
            return Finding(ISSUE, sentence)
    return None


def _review_finding(message: str) -> str:
    """The first finding of a review that is not said to be none."""
    for unit in units.units(message):
        if (
            unit.form == units.SENTENCE
            and _FINDINGS.match(unit.heading)
            and not _MENDED.search(unit.heading)
            and not _NO_FINDING.search(unit.text)
        ):
            text = one_line(unit.text)
            if len(text.split()) >= _LEAST - 2 and not text.endswith(":"):
                return text
    return ""


@lru_cache(maxsize=256)
def answer(message: str, *, is_design: bool = False) -> Finding | None:
    """What a message answers to a question: what was found out, or what is kept and why if the question `is_design`.

    None for one that reports what was done, or goes on working.
    """
    said = _sentences(message[:_LOOKED_AT])[:_FIRST]
    if not said:
        return None
    if is_design and ((verdict := _verdict(said)) or _OFFERS.search(message)):
        return verdict
    if _OPTIONS.search(message) or _GOES_ON.match(said[-1]):
        return None
    if _REPORT.match(said[0]) and diagnosis(said) is None:
        return None
    best, most = "", 0
    for number, sentence in enumerate(said):
        text = _VERDICT_WORDS.sub("", sentence, count=1)
        if not _is_whole(text) or _ANNOUNCED.match(text) or (number and _REPORT.match(text)):
            continue
        worth = 2 * bool(_CODE.search(text)) + bool(_TELLING.search(text)) + 2 * _is_diagnosed(text)
        worth += number < _LEAST
        if worth > most:
            best, most = text, worth
    if most < _ENOUGH:
        return None
    return Finding(ISSUE if _OPEN.search(message[:_LOOKED_AT].lower()) else LEARNING, best)


def _verdict(said: Sequence[str]) -> Finding | None:
    """What a message keeps or does differently, where it begins with that; the next sentence says why."""
    for number, sentence in enumerate(said[:3]):
        if not (_AGAINST.match(sentence)):
            continue
        reason = next(
            (one for one in said[number + 1 : number + 3] if _is_whole(one) and not _ANNOUNCED.match(one)), ""
        )
        text = sentence if _is_whole(sentence) else reason
        return Finding(DECISION, text, reason if text != reason else "") if text else None
    return None


def _owned(said: Sequence[str]) -> Finding | None:
    """What an agent does because the user is right."""
    for sentence in said[:4]:
        text = _VERDICT_WORDS.sub("", sentence, count=1)
        if _OWNED_WORK.search(text) and _is_whole(text):
            return Finding(DECISION, text)
    return None


def _following(said: Sequence[str], number: int) -> str:
    """The sentence that says what one announces: the next, if it can stand alone."""
    for sentence in said[number + 1 : number + 2]:
        if _is_whole(sentence) and not _ANNOUNCED.match(sentence) and _AMISS.search(sentence):
            return sentence
    return ""


def _is_whole(sentence: str) -> bool:
    """Whether a sentence says something by itself."""
    return (
        not sentence.endswith((":", "?", "..."))
        and len(sentence) <= _LONGEST
        and len(sentence.split()) >= (_LEAST if not _CODE.search(sentence) else _LEAST - 2)
    )


def _sentences(message: str) -> list[str]:
    return list(_each_sentence(message))


def _each_sentence(message: str) -> Iterator[str]:
    for unit in units.units(message):
        if unit.form == units.SENTENCE:
            yield one_line(unit.text.replace("**", ""))
