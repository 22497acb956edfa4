"""The words by which decisions, rejected alternatives and lessons are told in free text.

Each pattern is for people who speak of themselves: a planner that decides, and a server that rejects, state nothing.
What they find is measured (`tests/sentences/test_statements.py`).
"""

from __future__ import annotations

import re


def _cues(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_ADVERB = r"(?: (?:also|then|now|finally|therefore|thus|just|both|all|instead|initially|eventually|explicitly))*"
_WE = rf"\b(?:we|i|the team|you and i)(?:'ve| have| had)?{_ADVERB}"
_WILL = rf"\b(?:we|i)(?:'ll| will|'re going to|'m going to| are going to| am going to){_ADVERB}"
_CONTRAST = r"(?:because|since|instead of|rather than|so that|in favou?r of|, not)\b"
# What is used for a look at something is a step on the way.
_TO_LOOK = r"(?!.* to (?:find|look|see|check|search|locate|inspect|read|list|verify|debug|confirm|trace|understand)\b)"
_CHOICE = (
    r"(?:go with|adopt|stick (?:to|with)|stay with|switch to|settle on|standardi[sz]e on|keep (?!\w+ing\b|on\b)|drop)"
)
_DID = (
    r"(?:replaced|made|kept|used|introduced|split|merged|dropped|removed|disabled|enabled|pinned|moved|put|wrote|left"
    r"|added|stored|limited)"
)

REJECTED = _cues(
    rf"{_WE} (?:rejected|ruled out|discarded|dismissed|abandoned|scrapped|decided against|gave up on)\b",
    rf"{_WE} (?:chose|decided|opted|agreed) not to\b",
    rf"{_WE} (?:considered|toyed with|thought about|thought of)\b.+,? but\b",
    rf"{_WE} (?:tried|looked at|evaluated)\b.+ but (?:abandoned|rejected|dropped|dismissed|discarded)\b",
    rf"{_WE} (?:dropped|abandoned|ditched|replaced)\b.+ in favou?r of\b",
    r"\bwe (?:won't|will not|are not going to|aren't going to|'re not going to) "
    r"(?:use|support|adopt|go with|add|implement|switch|store)\b",
    rf"\bi (?:won't|will not|didn't|did not) (?:use|go with|choose|pick|adopt)\b.+\b{_CONTRAST}",
    rf"^not (?:using|going with|adopting)\b.+\b{_CONTRAST}",
    r"(?:\bis|\bare)(?:n't| not| no longer) an option\b|\bis (?:out of the question|off the table)\b",
    r"^(?!.*\b(?:request|push|call|connection|token|input|value|message|login|upload|commit|packet|certificate|password"
    r"|payment|order|job|query|file)s?\b.* (?:was|were) )"
    r".+ (?:was|were|has been|have been) (?:considered (?:and|but) \w+"
    r"|(?:rejected|ruled out|discarded|dismissed|abandoned),? (?:because|since|as|due to|in favou?r of))\b",
)
DECISION = _cues(
    rf"{_WE} (?:decided|opted|settled|standardi[sz]ed|agreed|elected) (?:to|on|for|against|that|not)\b",
    r"\bit was (?:decided|agreed) (?:to|that|on)\b|\bi have decided\b",
    rf"{_WE} (?:chose|adopted|ended up (?:using|with|keeping|choosing|going)|went (?:with|for))\b",
    rf"{_WE} (?:picked|selected) (?!up\b|out\b).+\b(?:over|{_CONTRAST})|\b(?:since|because|as)\b.+, (?:we|i) picked\b",
    rf"{_WE} picked (?!up\b|out\b).+, because\b",
    r"\b(?:we're|i'm|we are|i am) going (?:with|for)\b|^(?:so )?going with\b",
    rf"\b(?:we're|we are|i'm|i am) (?:using|keeping)\b.+\b{_CONTRAST}|\bwe(?:'re| are) going to use\b{_TO_LOOK}",
    rf"\bwe(?:'ll| will){_ADVERB} (?:use|store|avoid|rely on|ship)\b{_TO_LOOK}|{_WILL} {_CHOICE}",
    rf"{_WILL} (?:use|store)\b.+\b{_CONTRAST}",
    rf"\blet's (?:{_CHOICE}|(?:use|avoid)\b{_TO_LOOK})|\bi(?:'d| would) rather (?:use|keep|have|not)\b",
    r"\b(?:the|our|my|final) (?:decision|choice|pick) (?:is|was)(?: to\b|:|(?! (?:yours|up|still|not|open|un\w+"
    r"|pending|between|made|whether)\b) .+\b(?:because|since)\b)",
    rf"{_WE} (?:switched|migrated)\b.* from\b.+ to\b|{_WE} (?:dropped|ended|removed) support for\b",
    rf"{_WE} {_DID}\b.+\b{_CONTRAST}",
    r"^(?:chose|opted|decided|settled|switched from) (?:to|on|for|against|not|\w+ (?:over|instead of|because)|.+ to)\b",
)
LESSON = _cues(
    r"\bturn(?:s|ed) out\b(?! (?:to be )?(?:fine|well|ok|okay|good|great|slow)\b)",
    r"\blessons? (?:here |learn(?:ed|t) )?(?:is|was|are|were)\b",
    r"\b(?:the|one|a|another) lesson(?: here| learn(?:ed|t))?:",
    r"\broot cause (?:is|was)\b(?! (?:still|not|un\w+|probably|likely|yet)\b)",
    rf"{_WE} (?:learn(?:ed|t) (?:the hard way )?(?:that|to|from)|(?:discovered|reali[sz]ed|found out) (?:that|why))\b",
    r"\b(?:trick|gotcha|catch|culprit|pitfall|caveat|takeaway|insight) (?:here )?(?:is|was)\b|\bkey (?:is|was) to\b",
    r"\bthe (?:actual |real |underlying )?(?:problem|bug|reason|cause|mistake)\b.{0,60} was\b(?! (?:not|un\w+|fixed"
    r"|solved|resolved|reported|discovered|gone)\b)",
    r"\b(?:failed|broke|hung|crashed|didn't work|did not work|doesn't work|does not work) because\b(?! of\b)",
    r"^(?:un(?:expectedly|intuitively)|surprisingly|contrary to|in (?:hindsight|retrospect)|looking back|beware"
    r"|watch out|note to self|next time\b.+ should)\b",
    r"\bwhat (?:we|i) (?:missed|overlooked|got wrong) (?:is|was)\b",
    r"\bonly works? (?:when|if|with|after|once|because)\b",
    r"\b(?:went|goes|gone|dropped|fell|rose|grew|shrank|brought|took|cut|reduced|improved|sped|down|up)\b.{0,60}"
    r" from [\d.,]+ ?(?:ms|s|seconds?|minutes?|%|[KMG]i?B)? to [\d.,]+ ?(?:ms|s|seconds?|minutes?|%|[KMG]i?B)\b",
)
# Before a cue, in its clause: what follows is asked, wished, reported or thought of, and not stated.
DOUBT = _cues(
    r"\b(?:if|whether|unless|until|should|could|might|may|would|maybe|perhaps|possibly|probably|suppose|imagine|assume"
    r"|haven't|hasn't|hadn't|have not|has not|not yet|never|how|what|when|once|before|where|who|ask|asks|asked|tell me"
    r"|let me|please|says?|unclear|don't know|not sure|wonder|think)\b",
    r"(?<!which is )(?<!that's )(?<!that is )(?<!this is )\bwhy\b",
)
CLAUSE = re.compile(r"[,;:(\u2014]\s|\b(?:so|and|but)\s", re.IGNORECASE)
UNFINISHED = re.compile(r"(?:\.{3}|\u2026)[\"')*_]*$")
_STEP = r"(?:step|part|phase|task|item|iteration|attempt) ?#?\d+"
# What agents that work in a loop write before what they say: "Step 20: ", "**Step 3/10:** ".
NUMBER = rf"[*_]{{0,3}}{_STEP}(?:(?:/| of )\d+)?[*_]{{0,3}}[ \t]*[:.)\u2013\u2014-][*_]{{0,3}}[ \t]+"
NUMBERED = re.compile(f"^{NUMBER}", re.IGNORECASE)
# A sentence that says nothing by itself: a number of a step, a nod, an announcement of what is done next.
FILLER = _cues(
    rf"^{_STEP}(?: (?:is )?done)?[.:!)]*$",
    r"^(?:ok(?:ay)?|sure|great|perfect|done|right|good|alright|excellent|nice|got it|understood|yes|no|thanks|thank you"
    r"|of course|absolutely|certainly|exactly|you(?:'re| are) (?:absolutely )?right|working on it|moving on|on it"
    r"|continuing|one moment|here (?:it|we|you) (?:is|are|go)|let's (?:go|continue|proceed)|now (?:it|that) works"
    r"|that works)"
    r"(?:[,.!:; ]+(?:ok(?:ay)?|sure|great|then|now|one moment|thanks|done|continuing|it works"
    r"|i(?:'ll| will) \w+(?: \w+){0,4}))*[.!:]*$",
    r"^now i (?:understand|see|know|have)(?: \w+){0,4}[.!:]*$",
)
