"""Patterns for the words that mark decisions, rejected alternatives and lessons in sentences.

They match what people say of themselves ("we decided", "I rejected"). A "planner that decides" or a "server that
rejects" is not a person, so it must not match. `bench/statements.py` measures how often the patterns are right. All
patterns but `NUMBERED` expect text in lower case, since a pattern that ignores case takes more than twice as long to
compile.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memctl.text.lazy_regex import lazy_regex


class Cue(NamedTuple):
    """A pattern, and a list of words, at least one of which is in every text that the pattern matches.

    Compiling all patterns takes 10 ms, and a program that calls a hook would have to wait for it. So a pattern is
    compiled only when a text with one of its words comes.
    """

    words: tuple[str, ...]
    pattern: str

    def matches(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the matches of the cue in a text, which must be in lower case."""
        if any(word in text for word in self.words):
            yield from re.finditer(self.pattern, text)


def _cue(before: str, words: str, after: str = r"\b") -> Cue:
    """Return the cue `before(words)after`; `words` are alternatives with bars between them."""
    return Cue(tuple(words.split("|")), f"{before}(?:{words}){after}")


_ADVERB = r"(?: (?:also|then|now|finally|therefore|thus|just|both|all|instead|initially|eventually|explicitly))*"
_WE = rf"\b(?:we|i|the team|you and i)(?:'ve| have| had)?{_ADVERB} "
_WILL = rf"\b(?:we|i)(?:'ll| will|'re going to|'m going to| are going to| am going to){_ADVERB} "
REASON, ALTERNATIVE = "because|since|so that", "instead of|rather than|in favou?r of"  # words before one
CONTRAST = rf"(?:{REASON}|{ALTERNATIVE}|, not)\b"
# What is used for a look at something is a step on the way.
_TO_LOOK = (
    r"\b(?!.* to (?:find|look|see|check|search|locate|inspect|read|list|verify|debug|confirm|trace|understand)\b)"
)
_CHOICES = "go with|adopt|stick to|stick with|stay with|switch to|settle on|standardise on|standardize on|drop"
_DOINGS = (
    "replaced|made|kept|used|introduced|split|merged|dropped|removed|disabled|enabled|pinned|moved|put|wrote|left|added"
    "|stored|limited"
)
_RULED_OUT = "rejected|ruled out|discarded|dismissed|abandoned"

_UNIT = "(?:ms|s|seconds?|minutes?|%|[kmg]i?b)"
MEASURE = rf"[\d.,]+ ?{_UNIT}\b"

REJECTED = (
    _cue(_WE, f"{_RULED_OUT}|scrapped|decided against|gave up on"),
    _cue(_WE, "considered|toyed with|thought about|thought of", r"\b.+,? but\b"),
    _cue(_WE, "tried|looked at|evaluated", r"\b.+ but (?:abandoned|rejected|dropped|dismissed|discarded)\b"),
    _cue(
        r"\bwe",
        " won't| will not| are not going to| aren't going to|'re not going to",
        " (?:use|support|adopt|go with|add|implement|switch|store)\\b",
    ),
    _cue(r"\bi ", "won't|will not|didn't|did not", rf" (?:use|go with|choose|pick|adopt)\b.+\b{CONTRAST}"),
    _cue("^not ", "using|going with|adopting", rf"\b.+\b{CONTRAST}"),
    _cue(r"(?:\bis|\bare)(?:n't| not| no longer) ", "an option"),
    _cue(r"\bis ", "out of the question|off the table"),
    _cue(
        r"^(?!.*\b(?:request|push|call|connection|token|input|value|message|login|upload|commit|packet|certificate"
        r"|password|payment|order|job|query|file)s?\b.* (?:was|were) ).+ (?:was|were|has been|have been) ",
        f"considered|{_RULED_OUT}",
        r"(?:(?<=considered) (?:and|but) \w+|(?<!considered),? (?:because|since|as|due to|in favou?r of))\b",
    ),
)
DECISION = (
    _cue(
        _WE,
        "decided|opted|settled|standardised|standardized|agreed|elected",
        r" (?:to|on|for|against|that|not)\b",
    ),
    _cue(_WE, "chose|adopted|went with|went for"),
    _cue(_WE, "ended up", r" (?:using|with|keeping|choosing|going)\b"),
    _cue(_WE, "picked|selected", rf" (?!up\b|out\b).+\b(?:over|{CONTRAST})"),
    _cue(r"\b(?:since|because|as)\b.+, (?:we|i) ", "picked"),
    _cue(_WE, "switched|migrated", r"\b.* from\b.+ to\b"),
    _cue(_WE, "dropped|ended|removed", r" support for\b"),
    _cue(_WE, _DOINGS, rf"\b.+\b{CONTRAST}"),
    _cue(rf"(?:{_WILL}|\blet's )", _CHOICES, ""),
    _cue(rf"(?:{_WILL}|\blet's )", "keep", r" (?!\w+ing\b|on\b)"),
    _cue(rf"\bwe(?:'ll| will){_ADVERB} ", "use|store|avoid|rely on|ship", _TO_LOOK),
    _cue(r"\bwe(?:'re| are) ", "going to use", _TO_LOOK),
    _cue(r"\blet's ", "use|avoid", _TO_LOOK),
    _cue(r"\bit was ", "decided|agreed", r" (?:to|that|on)\b"),
    _cue(r"(?:\b(?:we're|i'm|we are|i am) |^(?:so )?)", "going with|going for"),
    _cue(r"\b(?:we're|we are|i'm|i am) ", "using|keeping", rf"\b.+\b{CONTRAST}"),
    _cue(r"\bi(?:'d| would) ", "rather", r" (?:use|keep|have|not)\b"),
    _cue(
        r"\b(?:the|our|my|final) ",
        "decision|choice|pick",
        r" (?:is|was)(?: to\b|:|(?! (?:yours|up|still|not|open|un\w+|pending|between|made|whether)\b) "
        r".+\b(?:because|since)\b)",
    ),
    _cue("^", "opted|decided|settled|switched from", r" (?:to|on|for|against|not|.+ to)\b"),
    _cue(
        "^",
        "chose|picked|selected|adopted",
        r" (?:to\b|(?!up\b|out\b).+\b(?:over|instead of|rather than|because|since|as the|for)\b)",
    ),
    _cue("^", "used", r" .+ because\b"),
)
LESSON = (
    _cue(r"\b", "turns out|turned out", r"\b(?! (?:to be )?(?:fine|well|ok|okay|good|great|slow)\b)"),
    _cue(r"\b", "lesson", r"s? (?:here |learn(?:ed|t) )?(?:is|was|are|were)\b"),
    _cue(r"\b(?:the|one|a|another) (?:\w+ )?", "lesson|insight|takeaway", "(?: here| learn(?:ed|t))?:"),
    _cue(r"\b", "root cause", r"(?: here)?(?: is\b| was\b|:)(?! (?:still|not|un\w+|probably|likely|yet)\b)"),
    _cue(
        r"\b(?:the|one) (?:\w+ )?",
        "issue|problem|bug|cause|reason|error|failure",
        r" (?:is|was) (?:that|because|due to)\b",
    ),
    _cue(_WE, "learned|learnt", r" (?:the hard way )?(?:that|to|from)\b"),
    _cue(_WE, "discovered|realised|realized|found out", r" (?:that|why)\b"),
    _cue(r"\b", "trick|gotcha|catch|culprit|pitfall|caveat|takeaway|insight", r" (?:here )?(?:is|was)\b"),
    _cue(
        r"\bthe (?:actual |real |underlying )?",
        "problem|bug|reason|cause|mistake",
        r"\b.{0,60} was\b(?! (?:not|un\w+|fixed|solved|resolved|reported|discovered|gone|introduced)\b)",
    ),
    _cue(
        r"\b",
        "failed|broke|hung|crashed|didn't work|did not work|doesn't work|does not work",
        r" because\b(?! of\b)",
    ),
    _cue(
        "^",
        "unexpectedly|unintuitively|surprisingly|contrary to|in hindsight|in retrospect|looking back|beware|watch out"
        "|note to self",
        r"\b(?! at\b)",
    ),
    _cue("^", "next time", r"\b.+ should\b"),
    _cue(r"\bwhat (?:we|i) ", "missed|overlooked|got wrong", r" (?:is|was)\b"),
    _cue(r"\bonly ", "work", r"s? (?:when|if|with|after|once|because)\b"),
    _cue(
        r"\b(?:went|goes|gone|dropped|fell|rose|grew|shrank|brought|took|cut|reduced|improved|sped|down|up)\b.{0,60} ",
        "from ",
        rf"[\d.,]+ ?{_UNIT}? to {MEASURE}",
    ),
)
# What is thought of, and not decided.
UNDECIDED = r"\b(?:maybe|perhaps|possibly|probably|unclear|not sure|not (?:yet )?decided|undecided|to be decided|tbd)\b"
# Before a cue, in its clause: what follows is asked, wished, reported or thought of, and not stated.
DOUBT = (
    r"\b(?:if|whether|unless|until|should|could|might|may|would|suppose|imagine|assume"
    r"|haven't|hasn't|hadn't|have not|has not|not yet|never|how|what|when|once|before|where|who|ask|asks|asked|tell me"
    rf"|let me|please|considering|weighing|says?|don't know|wonder|think)\b|{UNDECIDED}"
    r"|(?<!which is )(?<!that's )(?<!that is )(?<!this is )\bwhy\b"
)
CLAUSE = lazy_regex(r"[,;:(\u2014]\s|\b(?:so|and|but)\s")
UNFINISHED = lazy_regex(r"(?:\.{3}|\u2026)[\"')*_]*$")
_STEP = r"(?:step|part|phase|task|item|iteration|attempt) ?#?\d+"
# What agents that work in a loop write before what they say: "Step 20: ", "**Step 3/10:** ".
NUMBER = rf"[*_]{{0,3}}{_STEP}(?:(?:/| of )\d+)?[*_]{{0,3}}[ \t]*[:.)\u2013\u2014-][*_]{{0,3}}[ \t]+"
NUMBERED = lazy_regex(f"^{NUMBER}", re.IGNORECASE)
# A sentence that says nothing by itself: a number of a step, a nod, an announcement of what is done next.
FILLER = (
    rf"^{_STEP}(?: (?:is )?done)?[.:!)]*$"
    r"|^(?:ok(?:ay)?|sure|great|perfect|done|right|good|alright|excellent|nice|got it|understood|yes|no|thanks"
    r"|thank you|of course|absolutely|certainly|exactly|you(?:'re| are) (?:absolutely )?right|working on it|moving on"
    r"|on it|continuing|one moment|here (?:it|we|you) (?:is|are|go)|let's (?:go|continue|proceed)|now (?:it|that) works"
    r"|that works)"
    r"(?:[,.!:; ]+(?:ok(?:ay)?|sure|great|then|now|one moment|thanks|done|continuing|it works"
    r"|i(?:'ll| will) \w+(?: \w+){0,4}))*[.!:]*$"
    r"|^now i (?:understand|see|know|have)(?: \w+){0,4}[.!:]*$"
)
# What says of something that it is over, and beside these, in a review, that nothing is wrong.
OVER = lazy_regex(r"\W*\b(?:fixed|resolved|addressed|closed|solved|done|won't fix)\b", re.IGNORECASE)
FINE = lazy_regex(
    r"\b(?:intentional|correct|good|none|no longer|approved|safe|harmless|acceptable|solid|negligible)\b", re.IGNORECASE
)
