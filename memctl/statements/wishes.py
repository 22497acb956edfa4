"""Find what a user states in a prompt: a wish, a demand that holds from now on, a symptom, or consent to a proposal.

A demand for the next action (commit, push, look at something) is not a decision, because it says nothing that holds
afterwards. A question about how something is is no decision either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from memctl.statements import units
from memctl.statements.sentences import DECISION, Choice, choice_in, reason_of
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line
from memctl.text.words import STOP_WORDS, words_of

CONSTRAINT = "constraint"
_LONGEST_PROMPT = 3_000  # characters; more is pasted
_LONGEST_ASSENT, _LONGEST = 120, 400  # characters of an assent, and of a sentence
_PASSAGE = (400, 600)  # characters of a message that a reply answers: at least if it has so many, and at most
_END_OF_MESSAGE = 8_000  # characters in which a reply's options and question are
_STEP_IN = 60  # characters of a text that say whether it is about a step
_LAST, _BEGINNING = 6, 40  # the last sentences, which may have an offer; the first characters, which name the action
_MOST_STEP_WORDS = 5  # in a prompt that only asks for a step, such as "commit this and push"
_OBJECT = 2  # words that say something, at least

# What is done on the way: it leaves nothing that holds later.
_VERSIONING = (
    r"commit|push|pull|fetch|clone|rebase|merge|stash|check ?out|prs?|pull request|branch|conflicts?|linear|ticket|jira"
)
_BESIDE = (
    r"(?:update|check|write|add|improve|review) (?:\w+ ){0,3}?(?:docs?|documents?|documentation|plan|tests?|test cases?"
    r"|coverage)|tests? (?:now|first)"
    r"|readme|changelog|comments?|to the plan|in the repo|skill"
)
_LOOK = (
    r"(?:re)?view|analy[sz]\w+|best guess|(?:re-?)?run|deploy|explain|describe|investigate|look (?:at|into)|figure out"
    r"|think about|talk about|discuss|write (?:this|the|it|that)|continue|proceed|instrument\w*|quantify|brainstorm\w*"
    r"|debug|identify|explore|start (?:\w+ing|with)|subagents?|fix the bug|something like|double[- ]check|move on"
    r"|(?:that|this|it|them) first|add (?:one more|another) thing"
)
_QUOTED = lazy_regex(r'"[^"]*"|`[^`]*`')  # a name, not an action
_STEP = lazy_regex(rf"(?i)\b(?:{_VERSIONING}|{_BESIDE}|{_LOOK})\b")
_ALSO = r"(?:also |just |only |instead |rather |then |probably |really |still |not )*"
_WISH = lazy_regex(
    r"(?i)(?:(?:\blet'?s|\bcan't we|\b(?!you |i )\w+(?:\(\))? should(?:n't)?\b"
    r"(?! be (?:better|fine|ok(?:ay)?|back|good|there|enough|working|possible)\b"
    r"| have been\b)"
    rf"|\bi(?:'d| would)? {_ALSO}(?:like|want) to|\bwe {_ALSO}(?:need|want|ought) to) {_ALSO})"
    rf"|\bi(?:'d| would)? {_ALSO}(?:rather|prefer|want (?!(?:you )?to\b))|\bget rid of\b"
    r"|\b(?:go|stick|stay) with\b|\bstick to\b|^(?:\w+ )?(?:instead of|rather than)\b|\binstead[.,]|\bimplement both\b"
    r"|\bwhy (?:[\w']+ ){0,6}?(?:not|don't|can't) (?:\w+ )?(?:just|simply) \w+"
    r"|\b(?:use|keep|make|put|store|rename|name|call) (?!it\b|this\b|that\b)(?:\S+ ){1,6}?(?:as|optional"
    r"|configurable)\b"
)
_DEMAND = lazy_regex(
    # Not what is reported of others: "edits are never captured".
    r"(?i)(?<!\bif we )(?<!\bif you )(?<!\bcan )(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )(?<!\bgets )(?<!\bget )"
    r"\b(?:please )?(?:don'?t|do not|never)"
    r" (?!\w*[^\Ws]s\b)(?!(?:quite |really |even |actually |just |necessarily )?(?:know|think|see|worry"
    r"|mind|have\b|need|want|understand|care|get\b|remember|like\b|believe|we\b|you\b|i\b|they\b|it\b))\w+"
    r"|\bmake sure (?:that )?\w+|\bensure (?:that )?\w+|\balways (?:use|run|keep|add|write|check|put|make|have|do)\b"
    r"|\b(?:that|this) is not (?:correct|right|acceptable|what i)\b|\bmust (?:not|never|be|have|always)\b"
    r"|\bshould never\b"
    r"|\b(?:able to|can we|could we|can you) not\b|\bfrom now on\b"
)
# What a user demands for the step at hand; with a word such as "ever" it holds for longer.
_ANY = (
    r"it|that|this|anything|any \w+|code|(?:(?:an?|my|the|that|this|these|those) )?(?:\w+ )?"
    r"(?:branch|changes?|commits?|issue|prs?|pull request|stash|ticket)"
)
_DEMANDS_STEP = lazy_regex(
    r"(?i)\A(?!.*\b(?:always|ever|every time|from now on)\b).*(?:\bsubagents?\b|\b(?:don'?t|do not"
    r"|never(?= touch\b)|can(?:'t| we not| you not)|could (?:we|you) not|(?:make sure|ensure)(?: that)? (?:to|you|we)) "
    r"(?:amend|commit|merge|pull|push|rebase|re(?:start|set)|run|squash|start|stash|stop|touch|wait"
    rf"|(?:change|close|create|delete|do|edit|fix|implement|make|modify|open|remove|rewrite|write) (?:{_ANY}))\b)"
)
# What a sentence says that holds only for now; a wish "for now" is a decision that may be changed later.
_OF_MOMENT = lazy_regex(
    r"(?i)^(?:(?!\b(?:because|if|since|that|when|where|which|while)\b).)*"
    r"\b(?:yet|(?<!for )now(?=\W*$)|at the moment|this time|for today|(?:before|till?|until) i)\b"
)
_HEDGED = lazy_regex(
    r"(?i)\b(?:perhaps|maybe|theoretically|needs to be a decision|not decided|undecided|i wonder|wondering|considering"
    r"|could be|might|not sure|i guess|let'?s (?:just |first )?(?:see|wait)|wait and see|just yet)\b"
)
_QUESTION = lazy_regex(
    r"(?i)^(?:q:|follow[- ]?up:|\W)*(?:and |but |so |then |hmm,? |also |ok(?:ay)?,? |e+m+\W+)*"
    r"(?:(?:is|are|was|were|does|did|have|has"
    r"|had)(?:n't)?|do(?:n't)? (?:i|we|you|they|it|the|these|those|any\w*|all|both)"
    r"|what|why(?!\b.*(?:\bnot|n't) (?:\w+ )?(?:just|simply)\b)"
    r"|when|where|who|which|how|will|would|(?:can|could|would) you)\b"
    r"(?!.* (?:able to|ways? to) not\b)"
)
# Two ways to do it, of which the speaker chooses none.
_ALTERNATIVES = lazy_regex(
    r"(?i)\bor (?:do|does|did|should|shall|is|are|can|could|would|will|must|rather|just|better|not|leave|keep|use)\b"
    r"|\beither\b.*\bor\b"
)
# What is wanted in the form of a question; "can't we" and "why not" insist.
_ASKS = lazy_regex(
    r"(?i)\W*(?:(?:and|but|so|also|then|now|ok(?:ay)?|yes|yep|for now)\b[, ]*)*"
    r"(?:can|could|would|should) (?:we|you|it|i)\b(?! not\b)"
)
_INSISTS_ON = lazy_regex(
    r"(?i)\b(?:can't|couldn't|shouldn't|don't) (?:we|you)\b|\bwhy\b.*\bnot\b|\bwhy (?:don't|can't)\b"
    r"|\b(?:able to|can we|could we|can you) not\b"
)
# It may be done otherwise later, or the speaker is not certain of it.
_PROVISIONAL = lazy_regex(
    r"(?i)\bfor (?:now|the moment|the time being)\b|\b(?:temporar(?:y|ily)|probably|ideally|somehow|a bit)\b"
    r"|\bi(?:'m| am)? (?:also |just |still )?(?:think|thinking|guess|believe|feel|suppose)\b"
    r"|\blet'?s (?:\w+ )?try\b|\bsomething in the line\b"
)
_LASTS = lazy_regex(
    r"(?i)\b(?:never|always|must|ever|every\w*|any\w*|all|wherever|whenever|each|only|ensure|make sure|from now on)\b"
)
_ASKED_FOR = lazy_regex(
    r"(?i)\b(?:can|can't|could|couldn't|should|shouldn't|why (?:don't|not)|are|able)\b.*\b(?:we|you|to)\b"
    r"|\bwhy\b.*\bnot (?:just|simply)\b"
    r"|\bplease\b|\blet's\b"
)
_IS_OF_SPEAKER = lazy_regex(r"(?i)i\b.* to\b")  # "I want to", as the part of a wish that _WISH finds
# Verbs of a change. Requests and an agent's announcements share these and have more of their own: with the verbs of
# both, requests were wrong more often.
CHANGES = "add|allow|change|drop|extract|keep|make|move|refactor|remove|rename|replace|use"
# A request that names what is rejected, which is a choice.
_CHOOSES = lazy_regex(
    rf"(?i)^\W*(?:(?:please|also|then|now|and)\b[, ]*)*(?:{CHANGES}|build|create|implement|set up|store|switch|write)\b"
    r".+ (?:instead of|rather than)\b"
)
_REQUEST = lazy_regex(
    r"(?i)\W*(?:(?:please|also|then|now|and|but|ok(?:ay)?|yes|yep|yeah|so)\b[, ]*)*"
    r"(?:(?:can|could|should) (?:you|we|it) (?:(?:also|just|please|maybe|now|not) )*)?"
    # What only asks for a look, for care, or to go on, changes nothing.
    r"(?!show (?:me|us)\b|use [\w./-]+ to (?:check|find|get|list|look|read|search|see)\b|keep \w+ing\b"
    r"|be (?:aware|brief|careful|concise|patient|sure)\b)"
    rf"(?:{CHANGES}|be|hide|show)\b"
)
_SYMPTOM = lazy_regex(
    r"(?i)\bfail(?:s|ed|ing|ures?)?\b|\b(?:broken|breaks|crash(?:es|ed|ing)|bugs?|hangs|stuck|too slow)\b"
    r"|\berrors? (?:when|if|in|on)\b|\b(?:does|do|is|are)(?:n'?t| not) (?:work|show|happen|appear)\w*"
    r"|\bnot (?:seeing|working|getting|showing)\b|\bwe(?: are|'re) (?:seeing|getting)\b"
)
_CORRECTS = lazy_regex(r"(?i)\W*(?:no|nope|actually|wait)\b")
_OBJECTS = lazy_regex(r"(?i)\W*(?:no|nope|not|actually|i (?:meant?|want|prefer|said)|use|only|never|do not|don'?t)\b")
_SUCCEEDED = lazy_regex(
    r"(?i)\b(?:success\w*|succeed\w*|works (?:now|again|fine)|(?:this|it) (?:does|did)(?:n'?t| not) happen)\b"
)
_ADVICE = lazy_regex(r"(?i)\W*(?:consider|suggestion|nit|please|you (?:should|could|may|might))\b")  # of a review
_LEAST = 4  # words of a report of what is wrong
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
    r"(?i)\W*(?:(?:yes|yeah|yep|ok(?:ay)?|sure|great|i (?:like|prefer)|let'?s (?:go with|do|try|use)|go (?:with|for)"
    r"|do|try"
    r"|use|i think)\b[ ,:.!-]*)*"
    r"(?:the )?(?:options? |numbers? |choice |approach |#)?"
    r"(?P<names>(?:[a-e1-9]|first|second|third)(?:(?: ?[,+&] ?| and | ?, and )(?:[a-e1-9]|first|second|third))*)"
    r"(?: ones?| options?| approach| please|[.!, ])*"
    r"(?P<rest>(?:but|and|just|with|without|also|except|only)\b.+)?"
)
_NUMBERED = lazy_regex(r"\W*(?P<names>[1-9](?:(?: ?[,+&] ?| and )[1-9])*)(?!\w|[.:/]\w| ?%)")  # an option's, perhaps
_NAME_OF_OPTION = lazy_regex(r"(?i)\b(?:[a-e1-9]|first|second|third)\b")
_OPTION = lazy_regex(r"(?im)^[ \t>#*-]*(?:\*\*)?(?:option )?([a-e1-9])\b[.):*\u2014\u2013 -]+(.+)$")
_NAMED_CHOICE = lazy_regex(
    r"(?i)\b(?:(?:let'?s|we) (?:try|do|use|go with|take)|i (?:like|prefer)|go with"
    r"|try) (?:the )?(?P<name>[\w.+-]+(?: [\w.+-]+){0,3}?) (?:approach|option|way|solution|version|route)\b"
)
_ORDINALS = {"first": "1", "second": "2", "third": "3"}
_OFFER = lazy_regex(
    r"(?i)\b(?:do you )?want me to (?P<a>.+)|\b(?:should|shall) (?:i|we) (?P<b>.+)"
    r"|\bwould you like (?:me )?to (?P<c>.+)"
    r"|\bready to (?P<d>.+)"
)
_GOES_ON = lazy_regex(r"(?i)(?:continue|proceed|start|begin|go on)\b\W*(?:\w+\W*)?\Z")
_PROPOSAL = lazy_regex(
    r"(?i)\b(?:better (?:approach|way)|recommend(?:ation|ed)?|i'd (?:suggest|lean|go|say|propose|use)|i suggest"
    r"|we (?:can|could|should)|the fix(?: is|:)"
    r"|instead of|rather than|by default|option \w\b|simplest|consolidate|becomes straightforward|approach)\b"
)
_ONLY_INSTEAD = lazy_regex(r"(?i)\W*(?:instead of|rather than) (?:\"[^\"]*\"|[^,:]{1,40})\W*")
_IS_BEGUN = lazy_regex(r"(?::|\blike)\W*$")
_PARAGRAPH = lazy_regex(r"\n[ \t]*\n")
_PASTED = lazy_regex(r"(?m)^[ \t]*(?:={3,} |ERROR\b|FAIL(?:ED)?\b|--- FAIL|Traceback \(|\$ \w)")  # output of a terminal
_DOES_IT = lazy_regex(
    r"(?i)(?:also )?(?:implement|make|do|apply|fix|rename|create|change|update|add|remove|proceed with|go ahead with)\b"
    r" (?:\w+ )?(?:it|this|that|these|those|them)\b"
)
_COSTS = lazy_regex(r"(?i)\bwould (?:require|need|mean|involve)\b")  # it weighs a proposal and makes none
# Words that refer to something named elsewhere, or only say that something has to be done.
_EMPTY_WORDS = """
add also anything approach better both change create do everything file first fix follow go happening here implement
just let lets make me now ok okay one plan please recommendation recommendations repo simple simplify somehow something
suggestion suggestions that them then there these thing things think this those through too try update want yeah yep
yes
"""
_SAYS_NOTHING = STOP_WORDS.union(_EMPTY_WORDS.split())


_INSISTS = lazy_regex(r"^\W*(?:IMPORTANT|WARNING|CAUTION|NEVER|ALWAYS|MUST)\b|(?i:^\W*(?:important|never|always)\b)")


def is_insistent(sentence: str) -> bool:
    """Return whether a sentence begins with a word that makes it binding, such as NEVER."""
    return _INSISTS.search(sentence) is not None


def constraint_in(prompt: str) -> str:
    """Return the sentence of a prompt that demands something that holds from now on, "" if there is none."""
    wish = wish_in(prompt)
    return wish.text if wish is not None and wish.kind == CONSTRAINT else ""


def is_step(text: str) -> bool:
    """Return whether a text is only about the next action in the work, such as a commit.

    Such a text says nothing that holds afterwards, so it is no decision.
    """
    return _STEP.search(_QUOTED.sub("", text)) is not None


def is_task(prompt: str) -> bool:
    """Return whether a prompt may start a task, unlike one that asks for a single action, such as "commit this"."""
    if len(prompt.split()) > _MOST_STEP_WORDS:
        return True
    return not is_step(prompt) and has_object(prompt)


def begins_with_step(text: str) -> bool:
    """Return whether a text begins with a demand for the next action in the work, such as a commit.

    Only its first 60 characters count, or fewer if the last word would be cut.
    """
    return is_step(text if len(text) <= _STEP_IN else text[:_STEP_IN].rpartition(" ")[0])


@lru_cache(maxsize=1024)
def request_in(prompt: str) -> Choice | None:
    """Return the first change that a prompt asks for ("Add an option for …"), None if it asks for none."""
    if len(prompt) > _LONGEST_PROMPT:
        return None
    sentences = (unit.text[:_LONGEST] for unit in units.sentences(prompt) if not _is_open_choice(unit.text))
    wanted = (
        sentence
        for sentence in sentences
        if _REQUEST.match(sentence) and len(sentence.split()) > _LEAST and has_object(sentence)
    )
    return next((Choice(sentence) for sentence in wanted if not begins_with_step(sentence)), None)


def is_own_aim(wish: Choice) -> bool:
    """Return whether a wish says what the speaker wants to do ("I'd like to add an export"), and not what to choose.

    With what is rejected ("I want to use Redis instead of Kafka") it is a choice.
    """
    match = _WISH.search(wish.text) if not choice_in(wish.text).alternatives else None
    return wish.kind == DECISION and match is not None and _IS_OF_SPEAKER.match(match[0]) is not None


@lru_cache(maxsize=1024)
def wish_in(prompt: str) -> Choice | None:
    """Return the first demand in a prompt that holds from now on; if there is none, the first wish.

    "Never log tokens" is such a demand, "let's use Redis" is a wish. The result is None if the prompt has neither.
    """
    if len(prompt) > _LONGEST_PROMPT:
        return None
    own = "\n\n".join(part for part in _PARAGRAPH.split(prompt) if not _PASTED.search(part))
    sentences = [unit.text for unit in units.sentences(own)]
    for pattern, kind in ((_DEMAND, CONSTRAINT), (_WISH, DECISION), (_CHOOSES, DECISION)):
        for number, sentence in enumerate(sentences):
            if _is_stated(sentence, pattern, kind) and has_object(sentence):
                for following in sentences[number + 1 : number + 3]:
                    if not (_ONLY_INSTEAD.fullmatch(sentence) or _IS_BEGUN.search(sentence)):
                        break
                    sentence = f"{sentence} {following}"  # which says what is wanted
                return Choice(sentence[: 2 * _LONGEST], reason_of(sentence)[1][:_LONGEST], kind=kind)
    return None


def correction_in(words: str) -> Choice | None:
    """Return the demand in the words with which a user refuses a call; None if they ask, or want another step first."""
    is_demand = _OBJECTS.match(words) and "?" not in words and not begins_with_step(words)
    return Choice(one_line(words)[:_LONGEST], kind=CONSTRAINT) if is_demand and has_object(words) else None


def is_request(prompt: str) -> bool:
    """Return whether a prompt itself asks for a change, and does not just agree with the agent or correct it.

    Text that the prompt quotes is ignored.
    """
    if is_assent(prompt) or _CORRECTS.match(prompt):
        return False
    own = _QUOTED.sub("", prompt)
    return request_in(own) is not None or wish_in(own) is not None


def is_firm(wish: str) -> bool:
    """Return whether a wish is a firm demand: it is not provisional ("for now"), and it does not only ask.

    A question that insists, such as "can't we …?", is firm, too.
    """
    is_asked = wish.rstrip().endswith("?") or _ASKS.match(wish)
    return not _PROVISIONAL.search(wish) and (not is_asked or _INSISTS_ON.search(wish) is not None)


def is_lasting(wish: Choice) -> bool:
    """Return whether a wish itself says that it holds from now on: a firm demand with a word such as "never"."""
    is_asked = wish.text.rstrip().endswith("?")
    return wish.kind == CONSTRAINT and not is_asked and is_firm(wish.text) and _LASTS.search(wish.text) is not None


@lru_cache(maxsize=1024)
def symptom_in(prompt: str) -> str:
    """Return the sentence of a prompt in which the user reports that something does not work, "" if there is none."""
    if len(prompt) > _LONGEST_PROMPT:
        return ""
    for text in [unit.text for unit in units.sentences(prompt)][:3]:
        if (
            _SYMPTOM.search(text[:_LONGEST])
            and len(text.split()) >= _LEAST
            and not _HEDGED.search(text)
            and not _SUCCEEDED.search(text)
            and not _ADVICE.match(text)
            and not _QUESTION.match(text)
            and not _ASKED_FOR.search(text)
            and has_object(text)
        ):
            return text[:_LONGEST]
    return ""


def _is_open_choice(sentence: str) -> bool:
    """Return whether a sentence asks which of two ways to take ("can we do it here or do we need a job?")."""
    return sentence.rstrip().endswith("?") and sentence.count("?") == 1 and _ALTERNATIVES.search(sentence) is not None


def _is_stated(sentence: str, pattern: re.Pattern[str], kind: str) -> bool:
    """Return whether a sentence matches a pattern, and is not a question, a doubt or about the next step."""
    if _HEDGED.search(sentence) or _QUESTION.match(sentence) or _is_open_choice(sentence):
        return False
    if sentence.endswith("?") and not _ASKED_FOR.search(sentence):
        return False
    if _OF_MOMENT.search(_QUOTED.sub("", sentence)) or (kind == CONSTRAINT and _PROVISIONAL.search(sentence)):
        return False
    match = pattern.search(sentence[:_LONGEST])
    is_step = _STEP if kind == DECISION else _DEMANDS_STEP
    beyond = 0 if pattern is _CHOOSES else _BEGINNING
    return match is not None and is_step.search(_QUOTED.sub("", sentence[match.start() : match.end() + beyond])) is None


def is_assent(prompt: str) -> bool:
    """Return whether a prompt agrees to a proposal ("yes"), or chooses one of several options ("option 2").

    The prompt must be short, since a longer one says something else: it may have at most 120 characters, or at most 400
    if it only names options.
    """
    if len(prompt) > _LONGEST_ASSENT:
        return len(prompt) <= _LONGEST and _CHOICE.fullmatch(prompt) is not None
    return any((_ASSENT.match(prompt), _CHOICE.fullmatch(prompt), _NAMED_CHOICE.search(prompt)))


def agreement(prompt: str, proposed: str) -> Choice | None:
    """Return the choice that the user makes by agreeing to the agent's message `proposed`.

    `prompt` is the user's agreement. The choice is the option that it names, or else what the agent offered. The result
    is None if the agreed action is only the next one in the work, such as a commit. It is also None for a bare "yes" to
    several questions, or to a question with an "or", because nobody knows which alternative is meant.
    """
    if named := _CHOICE.fullmatch(prompt):
        choice = _options_named(named["names"], proposed, named["rest"] or "")
        is_one = len(_NAME_OF_OPTION.findall(named["names"])) == 1  # several are what to do next, one is a choice
        return None if choice is None or (not is_one and is_step(choice.text[:_BEGINNING])) else choice
    named = _NAMED_CHOICE.search(prompt)
    if is_step(prompt[named.start() :] if named else prompt):
        return None
    if named:
        reason = _sentence_on(named["name"], proposed)
        return Choice(one_line(prompt), reason) if reason or has_object(prompt) else None
    sentences = [unit.text for unit in units.sentences(proposed)]
    questions = [sentence for sentence in sentences[-_LAST:] if sentence.endswith("?")]
    is_bare = _ONLY_ASSENT.fullmatch(prompt) is not None
    if is_bare and (len(questions) > 1 or " or " in "".join(questions)):
        return None
    offers = [match for sentence in questions if (match := _OFFER.search(sentence))]
    offer = next((text for match in offers[-1:] for text in match.groups() if text), "").rstrip("?")
    if is_step(" ".join(offer.split()[:_LAST])):
        return None
    if has_object(offer):
        return Choice(offer[:1].upper() + offer[1:])
    text = _proposal(sentences)
    own = next((unit.text for unit in units.sentences(prompt) if has_object(unit.text)), "")
    if not is_bare and own and offer:
        return Choice(own, text)
    return Choice(text) if text else None


def offers(message: str) -> list[str]:
    """Return what an agent offers to do at the end of a message: "Want me to push it to main?" gives "Push it to main".

    A question with an "or" offers nothing, since it asks for a choice.
    """
    sentences = [unit.text for unit in units.sentences(message[-_END_OF_MESSAGE:])][-_LAST:]
    matches = [_OFFER.search(sentence) for sentence in sentences if sentence.endswith("?") and " or " not in sentence]
    texts = [next(filter(None, match.groups())).rstrip(" ?") for match in matches if match]
    texts = [text for text in texts if (has_object(text) or is_step(text)) and not _GOES_ON.match(text)]
    return [text[:1].upper() + text[1:] for text in texts]


def proposal_before_yes(prompt: str, proposed: str) -> Choice | None:
    """Return what the user agrees to with a bare "yes" to a question such as "Want me to do this?".

    `proposed` is the agent's message, which ends with the question, and the result is the last proposal in it. It is
    None if `prompt` is not a bare "yes", if the message ends otherwise, or if it does not say what "this" is.
    """
    sentences = [unit.text for unit in units.sentences(proposed)]
    offered = _OFFER.search(sentences[-1]) if sentences else None
    offer = next((text for text in offered.groups() if text), "") if offered else ""
    if not sentences or _ONLY_ASSENT.fullmatch(prompt) is None or not _DOES_IT.match(offer):
        return None
    before = [sentence for sentence in sentences[:-1] if has_object(sentence) and not sentence.endswith("?")]
    text = _proposal(sentences) or next(reversed(before), "")
    return Choice(text[:_LONGEST]) if text else None


@lru_cache(maxsize=1024)
def referent(reply: str, message: str) -> tuple[str, ...]:
    """Return the sentences of an agent's message that a user's short reply refers to, () if there are none.

    They say what a reply such as "yes" agrees to, which the reply itself does not say. If the reply names options that
    the message lists ("2, please"), they are these options and the last question; otherwise they are the end of the
    message. Blocks such as code count as sentences.
    """
    if len(reply) > _LONGEST:
        return ()
    message = message[-_END_OF_MESSAGE:]
    parts = list(units.units(message))
    question = next((unit for unit in reversed(parts) if unit.text.rstrip("*_").endswith("?")), None)
    if named := _CHOICE.fullmatch(reply) or _NUMBERED.match(reply):
        wanted = _names_in(named["names"])
        options = [match for name, match in _listed(wanted, message).items() if name in wanted]
        if chosen := {message.count("\n", 0, option.start(1)) + 1 for option in options}:
            return tuple(one_line(unit.text) for unit in parts if unit is question or {unit.line, unit.item} & chosen)
    is_asked, is_empty = question in parts[-_LAST:], not has_object(reply)
    if not (is_asked or is_empty if is_assent(reply) else is_asked and is_empty and not is_step(reply)):
        return ()
    least, most = _PASSAGE
    passage: list[str] = []
    for unit in reversed(parts):
        room = most - sum(map(len, passage))
        if room <= most - least:
            break
        text = one_line(unit.text)
        passage.append(text if len(text) <= room else text[-room:].partition(" ")[2])
    return tuple(filter(None, reversed(passage)))


def _proposal(sentences: Sequence[str]) -> str:
    """Return the last sentence that proposes something."""
    telling = (
        sentence
        for sentence in reversed(sentences)
        if _PROPOSAL.search(sentence) and not (sentence.endswith("?") or _COSTS.search(sentence))
    )
    return next(
        (sentence[:_LONGEST] for sentence in telling if has_object(sentence) and not is_step(sentence[:_BEGINNING])), ""
    )


def _options_named(names: str, proposed: str, rest: str) -> Choice | None:
    """Return the choice of the named options and of what the user adds, with the other options as alternatives.

    None if one of the options is unknown.
    """
    wanted = _names_in(names)
    options = {name: units.without_marks(match[2]).strip(" :#*") for name, match in _listed(wanted, proposed).items()}
    if not options:
        return None
    others = tuple(text for name, text in options.items() if name not in wanted)
    return Choice("; ".join([*(options[name] for name in wanted), *filter(None, [rest])]), "", others)


def _names_in(names: str) -> list[str]:
    return [_ORDINALS.get(name.lower(), name.lower()) for name in _NAME_OF_OPTION.findall(names)]


def _listed(wanted: Sequence[str], proposed: str) -> dict[str, re.Match[str]]:
    """Return the options that a message lists, by their names: where each is named, and its text.

    They are those of the last list, or of all lists if one of the `wanted` names is not in the last; {} if one is
    unknown.
    """
    listed = [(match[1].lower(), match) for match in _OPTION.finditer(proposed)]
    begins = [place for place, (name, _) in enumerate(listed) if name in ("1", "a")]
    options = dict(listed[begins[-1] :] if begins else listed)  # those of the last list, behind which the question is
    if any(name not in options for name in wanted):
        options = dict(listed)
    return options if wanted and set(wanted) <= set(options) else {}


def _sentence_on(name: str, proposed: str) -> str:
    """Return the last sentence of a message about an option, "" if none has the option's name."""
    if name.lower() in _SAYS_NOTHING:
        return ""
    sentences = (unit.text for unit in units.sentences(proposed))
    having = [sentence for sentence in sentences if name.lower() in sentence.lower() and not sentence.endswith("?")]
    return having[-1][:_LONGEST] if having else ""


def has_object(text: str, least: int = _OBJECT) -> bool:
    """Return whether a text says what it is about, so that it can be understood alone.

    It does if it has at least `least` meaningful words, or a name in backticks.
    """
    telling = {word for word in words_of(text[:_LONGEST]) if word not in _SAYS_NOTHING}
    return "`" in text or len(telling) >= least
