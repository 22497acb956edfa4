"""What a user states in a prompt: what is to be, what never is, and which proposal of the agent's they agree to.

A demand for the step at hand (commit, push, look) is no decision, nor is a question about how something is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from memctl.statements import units
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line
from memctl.text.words import STOP_WORDS, words_of

DECISION, CONSTRAINT = "decision", "constraint"
_LONGEST_PROMPT = 3_000  # characters; more is pasted
_LONGEST_ASSENT, _LONGEST = 120, 400  # characters of an assent, and of a sentence
_OBJECT = 2  # words that say something, at least

# What is done on the way: it leaves nothing that holds later.
_STEP = lazy_regex(
    r"(?i)\b(?:commit|push|pull|fetch|clone|rebase|merge|stash|check ?out|prs?|pull request|branch|(?:re)?view"
    r"|linear|ticket"
    r"|jira|(?:re-?)?run|deploy|explain|describe|investigate|look (?:at|into)|figure out|think about|talk about|discuss"
    r"|write (?:this|the|it|that)|(?:update|check) (?:the )?(?:docs?|documentation|plan|tests?)|tests? (?:now|first)"
    r"|add (?:these|some|the|more) tests?|continue|proceed|instrument\w*|quantify|brainstorm\w*|debug|identify"
    r"|explore|start (?:\w+ing|with)|subagents?|readme|changelog|fix the bug|something like|skill|comments?"
    r"|to the plan|in the repo)\b"
)
_WISH = lazy_regex(
    r"(?i)\blet'?s (?!see\b|look\b|check\b|say\b|start\b|wait\b|try (?:again|it|that)\b|move on\b|not forget\b"
    r"|do (?:it|that|this)\b(?!:)|go\b(?! with))"
    r"|\bi (?:want|would like|'?d like|prefer|'?d prefer) (?:\S+ ){1,10}?(?:instead|rather than|to be)\b"
    r"|\bi(?:'d| would) rather\b|\bi think (?:that )?we (?:want|should|need|ought)\b(?! to (?:think|look|check"
    r"|discuss))"
    r"|\bwe (?:should(?:n't| not)?|want to get rid of|only need to)\b|\bget rid of\b"
    r"|\bcan(?:'t)? we (?:just |not |also |instead |still )*(?:start|restructure|keep|retain|make|use|drop|remove"
    r"|move|change|replace|split|rename|simplify|avoid|store|have|fix them)\b"
    r"|\bwhy (?:don't|not) (?:we|you) just\b"
    r"|(?:^|[,:.;\u2014-] )(?:okay |ok |yes |please |also |instead |just )*(?:implement both|go with|stick (?:to"
    r"|with)|add \S+ \S+ just) (?!it\b|this\b|that\b|sure\b)\S+"
    r"|\b(?:use|keep|make|put|store|rename|name) (?!it\b|this\b|that\b|sure\b|going\b)(?:\S+ ){1,6}?(?:as|instead"
    r"|rather than|optional|configurable)\b"
    r"|\bshould (?:instead|rather) be\b|\bi'?d like to do (?:two|three|some|a few) things\b"
)
_DEMAND = lazy_regex(
    r"(?i)\b(?:please )?(?:don'?t|do not|never) (?!know|think|see|worry|mind|have\b|need|want|understand|care|get\b"
    r"|remember|like\b|believe|we\b|you\b|i\b|they\b|it\b)\w+"
    r"|\bmake sure (?:that )?\w+|\bensure (?:that )?\w+|\balways (?:use|run|keep|add|write|check|put|make|have|do)\b"
    r"|\b(?:is|was|are) not (?:correct|right|acceptable|what i)\b|\bmust (?:not|never|be|have|always)\b"
    r"|\bshould never\b"
    r"|\bso (?:that )?(?:it|this|they)(?:'s|'re| is| are)? (?:not|don't)\b"
    r"|\b(?:able to|can we|could we|can you) not\b|\bfrom now on\b"
)
_DEMANDED_STEP = lazy_regex(
    r"(?i)\b(?:don'?t|do not|never) (?:commit|push|merge|run|start|stop|do (?:it|that|this)|touch)\b(?!.*\b(?:ever"
    r"|always)\b)"
)
_HEDGED = lazy_regex(
    r"(?i)\b(?:perhaps|maybe|not decided|undecided|i wonder|wondering|could be|might|not sure|i guess)\b"
)
_QUESTION = lazy_regex(
    r"(?i)^(?:q:|\W)*(?:and |but |so |hmm,? |also |ok(?:ay)?,? )*(?:is|are|was|were|do|does|did|have|has|had|what"
    r"|when|where|who|which|how|will|would|(?:can|could|would) you)\b"
    r"(?!.* (?:able to|ways? to) not\b)"
)
_ASKED_FOR = lazy_regex(
    r"(?i)\b(?:can|can't|could|couldn't|should|shouldn't|why (?:don't|not)|are|able)\b.*\b(?:we|you|to)\b"
    r"|\bplease\b|\blet's\b"
)
_ASSENT = lazy_regex(
    r"(?i)\W*(?:ok(?:ay)?|yes|yep|yup|yeah|sure|sounds good|great|perfect|lgtm|agreed?|go ahead|do it|please do"
    r"|go for it|exactly|correct"
    r"|nice|cool|that works|works for me|let'?s (?:go|do (?:it|that|this))|i (?:like|agree with|prefer)|fine)\b"
)
_ONLY_ASSENT = lazy_regex(
    r"(?i)\W*(?:(?:ok(?:ay)?|yes|yep|yup|yeah|sure|sounds good|great|perfect|lgtm|agreed?|go ahead|do it|please do"
    r"|please|go for it|exactly"
    r"|nice|cool|that works|works for me|let'?s (?:go|do (?:it|that|this))|fix it|fine|thanks|that one|sgtm)\W*)+"
)
_CHOICE = lazy_regex(
    r"(?i)\W*(?:(?:yes|ok(?:ay)?|sure|great|i (?:like|prefer)|let'?s (?:go with|do|try|use)|go (?:with|for)|do|try"
    r"|use|i think)\b[ ,:.!-]*)*"
    r"(?:the )?(?:option |number |choice |approach |#)?(?P<name>[a-e1-9]|first|second|third|last)(?: one| option"
    r"| approach| please|[.!, ])*"
)
_NAMED_CHOICE = lazy_regex(
    r"(?i)\b(?:let'?s (?:try|do|use|go with|take)|i (?:like|prefer)|go with"
    r"|try) (?:the )?(?P<name>[\w.+-]+(?: [\w.+-]+){0,3}?) (?:approach|option|way|solution|version|route)\b"
)
_ORDINALS = {"first": "1", "second": "2", "third": "3"}
_OFFER = lazy_regex(
    r"(?i)\b(?:do you )?want me to (?P<a>.+)|\b(?:should|shall) (?:i|we) (?P<b>.+)"
    r"|\bwould you like (?:me )?to (?P<c>.+)"
    r"|\bready to (?P<d>.+)"
)
_PROPOSAL = lazy_regex(
    r"(?i)\b(?:better (?:approach|way)|recommend(?:ation|ed)?|i'd (?:suggest|lean|go|say|propose|use)|i suggest"
    r"|we (?:can|could|should)|the fix(?: is|:)"
    r"|instead of|rather than|by default|option \w\b|simplest|consolidate|becomes straightforward|approach)\b"
)
_OPTION_LINE = r"(?im)^[ \t>#*-]*(?:\*\*)?(?:option )?{name}\b[.):*\u2014\u2013 -]+(.+)$"
# What stands for something that is said elsewhere, or only that something is to be done.
_EMPTY_WORDS = """
add also anything approach both change create do everything file first fix follow go happening here implement just let
lets make me now ok okay one plan please recommendations recommendation repo simplify somehow something suggestion
suggestions that them then there these thing things this those through too try update want yeah yep yes
"""
_SAYS_NOTHING = STOP_WORDS.union(_EMPTY_WORDS.split())


class Wish(msgspec.Struct, frozen=True):
    """What a user states: its kind (DECISION or CONSTRAINT), in their own words, why, and what it is not."""

    kind: str
    text: str
    reason: str = ""
    alternatives: tuple[str, ...] = ()


def is_step(text: str) -> bool:
    """Whether a text is about what is done next, and leaves nothing that holds later."""
    return _STEP.search(text) is not None


@lru_cache(maxsize=1024)
def stated(prompt: str) -> Wish | None:
    """What a prompt states beyond its step: of several demands or wishes the first, with what it goes on to say."""
    if len(prompt) > _LONGEST_PROMPT:
        return None
    said = [one_line(unit.text) for unit in units.units(prompt) if unit.form == units.SENTENCE]
    for pattern, kind in ((_DEMAND, CONSTRAINT), (_WISH, DECISION)):
        for number, sentence in enumerate(said):
            if _is_stated(sentence, pattern, kind) and has_object(text := _with_list(said, number)):
                return Wish(kind, text)
    return None


def _is_stated(sentence: str, pattern: re.Pattern[str], kind: str) -> bool:
    """Whether a sentence has a cue that is neither asked, doubted nor about the step at hand."""
    if _HEDGED.search(sentence) or _QUESTION.match(sentence):
        return False
    if sentence.endswith("?") and not _ASKED_FOR.search(sentence):
        return False
    is_next = _STEP if kind == DECISION else _DEMANDED_STEP
    return any(is_next.search(sentence[match.start() :]) is None for match in pattern.finditer(sentence[:_LONGEST]))


def _with_list(said: Sequence[str], number: int) -> str:
    """A sentence; one that ends in a colon, or whose items follow, with what follows it."""
    text = said[number]
    if text.endswith(":") or "things" in text:  # a list follows
        text = f"{text} {'; '.join(said[number + 1 : number + 5])}"
    return text[: 2 * _LONGEST]


def is_assent(prompt: str) -> bool:
    """Whether a prompt is short, and agrees to something or chooses between options."""
    return len(prompt) <= _LONGEST_ASSENT and (
        _ASSENT.match(prompt) is not None
        or _CHOICE.fullmatch(prompt) is not None
        or _NAMED_CHOICE.search(prompt) is not None
    )


def agreed(prompt: str, proposed: str) -> Wish | None:
    """What an assent agrees to: the option that it names, or what the message before offers; None for a mere step."""
    if named := _CHOICE.fullmatch(prompt):
        chosen, others = _option(named["name"], proposed)
        return Wish(DECISION, chosen, "", others) if chosen else None
    if is_step(prompt):
        return None
    if named := _NAMED_CHOICE.search(prompt):
        chosen, others = _named(named["name"], proposed)
        return Wish(DECISION, one_line(prompt), chosen, others) if chosen or has_object(prompt) else None
    said = [one_line(unit.text.replace("**", "")) for unit in units.units(proposed) if unit.form == units.SENTENCE]
    offers = [found for sentence in said[-6:] if sentence.endswith("?") and (found := _OFFER.search(sentence))]
    offer = next((text for found in offers[-1:] for text in found.groups() if text), "").rstrip("?")
    if offer and is_step(offer):
        return None
    if offer and has_object(offer):
        return Wish(DECISION, offer[:1].upper() + offer[1:])
    if not _ONLY_ASSENT.fullmatch(prompt) and has_object(prompt) and offer:
        return Wish(DECISION, one_line(prompt), _proposal(said))
    text = _proposal(said)
    return Wish(DECISION, text) if text and (offer or not offers) and not is_step(text) else None


def _proposal(said: Sequence[str]) -> str:
    """The last sentence that proposes something, with what it announces."""
    for number in range(len(said) - 1, -1, -1):
        sentence = said[number]
        if _PROPOSAL.search(sentence) and not sentence.endswith("?") and has_object(sentence):
            return _with_list(said, number)[:_LONGEST]
    return ""


def _option(name: str, proposed: str) -> tuple[str, tuple[str, ...]]:
    """The option of a message that a name stands for, and the other ones; "" if there is none."""
    name = _ORDINALS.get(name.lower(), name)
    if len(name) > 1:
        return "", ()
    found = re.search(_OPTION_LINE.format(name=re.escape(name)), proposed)
    if found is None:
        return "", ()
    following = (chr(ord(name.upper()) + step) for step in range(-4, 5) if step)
    others = (
        other[1]
        for one in following
        if one.isalnum() and (other := re.search(_OPTION_LINE.format(name=one), proposed)) is not None
    )
    return _bare(found[1]), tuple(_bare(other) for other in others)


def _named(name: str, proposed: str) -> tuple[str, tuple[str, ...]]:
    """The last thing that a message says of an option that is called by a word of it; "" for a word that it has not."""
    if name.lower() in _SAYS_NOTHING:
        return "", ()
    if len(name) == 1:
        return _option(name, proposed)
    said = (one_line(unit.text) for unit in units.units(proposed) if unit.form == units.SENTENCE)
    having = [sentence for sentence in said if name.lower() in sentence.lower() and not sentence.endswith(("?", ":"))]
    return (_bare(having[-1])[:_LONGEST] if having else ""), ()


def _bare(option: str) -> str:
    return one_line(option.replace("**", "").replace("`", "`")).strip(" :#*")


def has_object(text: str) -> bool:
    """Whether a text says what it is about: it has two words that say something, or a name in code."""
    telling = {word for word in words_of(text[:_LONGEST]) if word not in _SAYS_NOTHING}
    return "`" in text or len(telling) >= _OBJECT
