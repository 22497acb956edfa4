"""Judge which sentences belong in a summary for the next phase of work (rules.md#phase-summaries).

A sentence is judged by its words and not by a language model, so that the same sentence always gets the same verdict. A
sentence that no rule excludes is kept. A sentence about a search or about the way to a result is left out; if it also
says something binding, it is kept with a warning.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from memctl.pack import names_in_text
from memctl.statements import cues, labels, sentences
from memctl.statements.lines import role_of
from memctl.statements.units import CODE, HEADING, SENTENCE, Unit

# The classes of sentences that belong in a summary, the most important first; rules.md#phase-summaries.
ORDER = ("decision", "constraint", "problem", "action", "pattern", "path", "finding")
DECISION, CONSTRAINT, PROBLEM, ACTION, PATTERN, PATH, FINDING = ORDER
ACTIONABLE = ORDER[:-1]
_WEIGHTY = ORDER[:3]

# The reasons for leaving out a sentence or block.
SEARCH = "a search, not what it found"
STEP = "a step on the way, not a result"
ASIDE = "something that was looked at and found irrelevant"
CONTENTS = "the contents of a file"
CODE_BLOCK = "code, which is in its file"
RESOLVED = "an error that is resolved"
ALTERNATIVE = "an alternative that was not chosen"
UNFINISHED = "an unfinished sentence"
HEADLINE = "a heading"
WORDLESS = "punctuation without a word"
EMPTY = "a sentence that says nothing by itself"
MIXED = "a search or step and something binding in one sentence; write two sentences"

LONGEST_CODE = 1  # lines of code that are kept, such as a command or a signature
_LOOKED_AT = 2_000  # first characters of a sentence, which are judged
_HEADING = 200  # first characters of a heading, which are judged


# The patterns that classify sentences, which have single spaces and straight quotes.


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_HELPERS = "have|had|has|am|was|then|also|first|next|just|now|did|started|began|went"
_WHO = rf"(?:i|we)(?:'(?:ve|ll|d|m|re))?(?: (?:{_HELPERS}))*"
_BEFORE = "ok|okay|so|then|next|first|firstly|second|secondly|finally|also|now|after that|initially|afterwards"
_LEAD = rf"^(?:(?:{_BEFORE})[,:]? )*"
_LOOKED = (
    "looked|look|checked|check|opened|read|examined|reviewed|scanned|explored|went|started|began|tried|analy[sz]ed"
    "|inspected|browsed|considered|thought|think|wonder(?:ed)?|listed|viewed|traced|followed|dug|wanted to"
    "|needed to|investigated|wasn't sure|compared|skimmed|walked"
)
_LOOKING = (
    "analy[sz]ing|looking|reading|checking|examining|reviewing|searching|exploring|going|thinking|considering"
    "|investigating"
)
_FINDERS = "git grep|e?grep|rg|ripgrep|find|ag|ack|fd|glob"

_SEARCH_WORDS = _words(
    rf"{_LEAD}(?:{_WHO} )?(?:(?:ran|used|tried) [`'\"$ ]*(?:{_FINDERS})\b|searched|search(?:ing)? (?:for|the|in)"
    rf"|grepped|grepping|globbed|queried)\b",
    rf"\b(?:i|we) (?:\w+ )?(?:ran|used|tried) (?:\w+ )?[`'\"]?(?:{_FINDERS})\b",
    r"^[`$ ]*(?:git grep|e?grep|rg|ag|ack|fd) (?:-{1,2}\w|['\"/])|^[`$ ]*find [./~]",
    r"^(?:search )?(?:quer(?:y|ies)|search terms?|search(?:es)?|grep patterns?|pattern searched) ?:",
)
_STEP_WORDS = _words(
    rf"{_LEAD}{_WHO} (?:{_LOOKED})\b|{_LEAD}i(?:'ll| will|'m going to| am going to| want to)\b",
    rf"{_LEAD}let(?:'s| me| us)\b|^(?:hmm+|wait|actually|okay|ok|alright|well)\b[,.!: ]",
    rf"^(?:after|before|while|upon|by) (?:\w+ )?(?:{_LOOKING})\b",
    r"^(?:looking|going|digging) (?:at|into|through|for|deeper)\b",
)
_ASIDE_WORDS = _words(
    r"\bbut (?:that|this|it|those|these|they)(?:'(?:s|re)| (?:is|are|was|were))"
    r" (?:just|only|merely|irrelevant|unrelated|not relevant|documentation|a test|tests?\b|generated|dead|old)",
    r"\b(?:not relevant|irrelevant|unrelated|nothing (?:of interest|useful|relevant))\b",
    r"^there (?:was|were) (?:also )?(?:a |some )?mentions? of\b",
)
_CONTENTS_WORDS = _words(
    r"\b(?:contains|has|is|spans) (?:about |some )?\d+ lines\b",
    r"^(?:here (?:is|are)|below is|this is) the (?:full |whole |complete )?(?:content|code|source|file)",
    r"^(?:the )?(?:full )?(?:file )?contents?(?: of \S+)? ?:",
)
_FAULT = (
    r"(?:errors?|exceptions?|failures?|bugs?|warnings?|crash(?:es)?|traceback|\w+(?:Error|Exception)|failing tests?"
    r"|test failures?)"
)
_RESOLVED_WORDS = _words(
    # Of the first fault alone: what does not follow it follows no later one.
    rf"^(?=(?P<fault>.*?\b{_FAULT}\b))(?P=fault).*\b(?:no longer|went away|disappeared|does not occur any ?more"
    r"|(?:was|were|is|are|has been|have been|got|gets|now) (?:(?:now|already|since|then) )*"
    r"(?:resolved|fixed|solved|gone|corrected|cleared))\b",
    rf"^(?:{_WHO} )?(?:fixed|resolved|solved|got rid of) (?:the|this|that|a|an) .*\b{_FAULT}\b",
    rf"^(?=.*\b{_FAULT}\b).*[(\[,;\u2014\u2013-] ?(?:now |since |already |later )?(?:resolved|fixed|solved"
    rf"|worked around|gone)\b",
)
_UNRESOLVED_WORDS = _words(
    r"\b(?:not|never|yet to be|still|un(?:resolved|fixed)|until|unless|partly|partially|only if|must|should)\b|n't\b"
)
# Rejected alternatives in impersonal sentences; `statements` finds those in the first person.
_ALTERNATIVE_WORDS = _words(
    r"\b(?:was|were|is|been) (?:considered (?:and|but) )?(?:rejected|ruled out|discarded|dismissed|not chosen)\b",
    r"\b(?:but|and|so|then) (?:we |i |it was |was )?(?:rejected|ruled out|discarded|dismissed|dropped|abandoned"
    r"|decided against)\b",
    r"^(?:an(?:other)?|one|the other) (?:alternative|option|approach|possibility) (?:is|was|would|could|might)\b",
    r"^(?:alternatively|instead),? (?:we|one|it|you) (?:could|might)\b",
    r"\b(?:could|might) (?:also |instead )?(?:have )?(?:use|used|chosen|choose|gone|go with)\b",
)
# Words for which a search or a step is kept.
_BINDING_WORDS = _words(
    r"\b(?:must|cannot|never|required|requires|forbidden|mandatory|constraint|breaking|blocked|decided (?:to|on|that)"
    r"|(?:think|believe) (?:we|you) should|recommend)\b"
)
_DECISION_WORDS = _words(
    r"\b(?-i:PROCEED|STOP|CLARIFY)\b|\bdecision\b|\b(?:chosen|approved|adopt(?:ed)?|go(?:ing)? with)\b"
)
_CONSTRAINT_WORDS = _words(
    r"\b(?:must|cannot|can't|can not|never|always|required|requires?|do not|don't|avoid|constraints?|constrained"
    r"|at most|at least|no more than|breaking|backwards?[- ]compatib\w+|depends? on|deadline|limit(?:ed)? (?:to|of)"
    r"|forbidden|mandatory|only if|unless|has to|have to)\b"
)
_PROBLEM_WORDS = _words(
    rf"\b(?:{_FAULT}|fails?|failed|failing|broken|blocked|blocker|blocks|conflicts?|vulnerab\w+|risks?|regression"
    r"|flaky|missing|unclear|race condition|deadlock|leaks?|open question)\b|\?$"
)
_NO_PROBLEM_WORDS = _words(r"^(?:there (?:are|were|is|was) )?(?:no|zero|without|none of)\b")
_VERBS = (
    "add|extend|use|update|fix|change|remove|delete|create|write|implement|move|rename|replace|refactor|test|run|review"
    "|migrate|keep|make|ensure|check|verify|reuse|split|merge|document|configure|install|call|handle|validate|wrap"
    "|start|expose|introduce|drop|set|put|ask|clarify|wait|stop|deploy|bump|pin|upgrade|generate|register|export|import"
    "|apply"
)
_ACTION_WORDS = _words(
    rf"^(?:(?:recommend\w*|next(?: steps?)?|todo|action|please|then|also|and|first|finally)\b[,:]? ?)*(?:{_VERBS})\b",
    r"\b(?:recommend\w*|suggest\w*|should|needs? to|next steps?|todo|follow-up|remains? to|ought to)\b",
)
_PATTERN_WORDS = _words(
    r"\b(?:patterns?|conventions?|idioms?|follow(?:s|ing)?|same way as|modell?ed on|style of|as in)\b"
)
# The beginning of a sentence that depends on the sentence before it.
_LEANING_WORDS = _words(
    r"^(?:it|its|this|that|these|those|they|their|both|such|the (?:latter|former|same|file|module|class|function))\b"
)

# Headings that classify the text below them.
_STEPS = r"\b(?:process|what i did|thinking|thoughts|reasoning|exploration|scratch|my steps|steps taken)\b"
_BELOW = (
    (_words(r"\b(?:search(?:es)?|quer(?:y|ies)|grep)\b"), SEARCH),
    (_words(_STEPS), STEP),
    (_words(r"\b(?:resolved|fixed) (?:errors?|issues?|bugs?|problems?)\b"), RESOLVED),
)
_PROCESS = ((_SEARCH_WORDS, SEARCH), (_STEP_WORDS, STEP), (_CONTENTS_WORDS, CONTENTS))


class UnitVerdict(msgspec.Struct, frozen=True):
    """The verdict on a sentence or block of a text: whether a summary keeps or drops it.

    - `keeps` is its class, such as "decision" or "finding", "" if it is dropped.
    - `drops` is the reason for which it is dropped, "" if it is kept.
    - `warning` is the rule that a kept sentence breaks, "" if it breaks none.
    """

    keeps: str = ""
    drops: str = ""
    warning: str = ""


def judge(unit: Unit) -> UnitVerdict:
    """Return the verdict on a sentence or block: whether a summary keeps or drops it.

    The verdict depends on the text and on the heading above it.
    """
    if unit.form == HEADING:
        return UnitVerdict(drops=HEADLINE)
    if unit.form == CODE:
        return _judge_code(unit)
    if not any(map(str.isalnum, unit.text)):  # as an item "* *" would become a Markdown rule
        return UnitVerdict(drops=WORDLESS)
    if unit.form == SENTENCE and sentences.is_filler(unit.text):
        return UnitVerdict(drops=EMPTY)
    text = unit.text[:_LOOKED_AT].replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lstrip('"\u201c')
    below = _below(unit.heading[:_HEADING]) if unit.heading else ""
    own, keeps = _reason(text) if unit.form == SENTENCE else "", _class_of(text)
    is_binding = _BINDING_WORDS.search(text) is not None or (not own and keeps in _WEIGHTY)
    if is_binding and (below or own) in (SEARCH, STEP) and not cues.UNFINISHED.search(text):
        return UnitVerdict(keeps=keeps, warning=MIXED)
    reason = below or own
    return UnitVerdict(drops=reason) if reason else UnitVerdict(keeps=keeps)


def _judge_code(unit: Unit) -> UnitVerdict:
    lines = [line for line in unit.text.split("\n")[1:] if line.strip() and not line.strip().startswith(("```", "~~~"))]
    if lines and all(map(_SEARCH_WORDS.search, lines)):
        return UnitVerdict(drops=SEARCH)
    return UnitVerdict(keeps=FINDING) if 0 < len(lines) <= LONGEST_CODE else UnitVerdict(drops=CODE_BLOCK)


@lru_cache(maxsize=256)
def _below(heading: str) -> str:
    """Return why the text below a heading does not belong in a summary, "" if it may."""
    role = labels.look_up(heading)[0]
    if role in (labels.ALTERNATIVE, labels.RESOLUTION):
        return ALTERNATIVE if role == labels.ALTERNATIVE else RESOLVED
    return next((reason for pattern, reason in _BELOW if pattern.search(heading)), "")


def _reason(sentence: str) -> str:
    """Return why a sentence does not belong in a summary, "" if it may."""
    if _ASIDE_WORDS.search(sentence):
        return ASIDE
    role, stated = role_of(sentence), sentences.kind_of(sentence)
    is_rejected = role == labels.ALTERNATIVE or stated == sentences.REJECTED or _ALTERNATIVE_WORDS.search(sentence)
    if stated == sentences.DECISION and not is_rejected:
        return ""
    if is_rejected:
        return ALTERNATIVE
    if role == labels.RESOLUTION or (_RESOLVED_WORDS.search(sentence) and not _UNRESOLVED_WORDS.search(sentence)):
        return RESOLVED
    reason = next((reason for pattern, reason in _PROCESS if pattern.search(sentence)), "")
    return reason or (UNFINISHED if cues.UNFINISHED.search(sentence) else "")


def _class_of(text: str) -> str:
    """Return the class of a sentence: the first of ORDER whose words it has."""
    classes = (
        (DECISION, _DECISION_WORDS.search(text) or sentences.kind_of(text) == sentences.DECISION),
        (CONSTRAINT, _CONSTRAINT_WORDS.search(text)),
        (PROBLEM, _PROBLEM_WORDS.search(text) and not _NO_PROBLEM_WORDS.search(text)),
        (ACTION, _ACTION_WORDS.search(text)),
        (PATTERN, _PATTERN_WORDS.search(text)),
        (PATH, names_in_text.PATH.search(text)),
    )
    return next((name for name, is_so in classes if is_so), FINDING)


def needs_context(text: str) -> bool:
    """Return whether a sentence needs the sentence before it to be understood, since it begins with "This" or "It"."""
    return _LEANING_WORDS.search(text) is not None
