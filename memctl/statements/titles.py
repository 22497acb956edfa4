"""Make titles of what was stated in a conversation, so that each reads as an entry of a list and can be read alone.

"ok, and can we also log the name of the queue?" becomes "Log the name of the queue". The original words belong in the
content of a record, not in its title.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from memctl.statements import plans, sentences, wishes
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line

_LOOKED_AT = 1_000  # characters
_LONG = 100  # characters, the most that a title has before it is shortened
_LEAST = 4  # words of a title that was shortened
_NEAR = 60  # characters before a request that may only lead to it
# Words in front of a statement that say nothing of it.
_EMPTY = r"q(?=:)|and|but|so(?! that\b)|ok(?:ay)?|oh|ah|h+m+|yep|yeah|yup|nope|lol|haha|please|also|then|gah"
_CALLS_BACK = r"if we(?:'re| are) going to do (?:that|this|it)"
_BELIEF = r"i(?:'m| am)? (?:also )?(?:think|thinking|guess|believe|feel)(?: that)?"
# Words that say nothing if a mark or a request follows: "no, keep both", not "no retries".
_OPENING = (
    r"(?:hi|hello|hey|good (?:morning|afternoon|evening))(?: (?:there|again|all|team|everyone|claude|codex|gemini))?"
    r"|well|yes|no|thanks|thank you|sure|right|great|good|perfect|nice|cool|fine|agreed|exactly|first|next|finally"
    r"|instead|actually|meanwhile|alternatively|(?:right |for )?now|one more thing|on top of that|in that case"
    r"|that said|to be clear"
    r"|(?:we|i|it)(?:'re| are|'m| am|'s| is) (?:back|done|good|fine)"
    r"|if (?:that'?s|that is|this is) the case|if so|you(?:'re| are) (?:\w+ )?right|sorry[^,.;:!?]{0,40}"
    r"|(?:fair|good|great|excellent|valid) (?:point|enough|catch|call|question)"
)
# Behind these a bare verb is a request, too: "thanks now add a limit".
_TURNS = r"(?:(?:right |for )?now|thanks|thank you)"
_VERBS = (
    r"(?:now|add|change|check|create|delete|do|explain|fix|make|move|refactor|remove|rename|replace|run|show|write)"
)
_REQUESTED = (
    r"(?:don'?t|do not|never|let'?s|let me|can|could|should|we|i|you|please|it|there|what|implement|keep|leave|use)"
)
_LEAD = lazy_regex(
    rf"(?i)[\s,.:;!?…·\u2013\u2014-]*(?:(?:{_EMPTY}|{_CALLS_BACK}|{_BELIEF})\b"
    rf"|(?:{_OPENING})(?=\s*[,.:;!…]|\s+[\u2013\u2014-]\s|\s+{_REQUESTED}\b)|{_TURNS}(?=\s+{_VERBS}\b))"
    r"[\s,.:;!?…\u2013\u2014-]*"
)
_SOFT = (
    r"(?:(?:also|just|simply|only|please|maybe|perhaps|probably|really|rather|instead|then|now|still|at least"
    r"|for now) )*"
)
# How people ask for something, with the verb of what is asked for behind it.
_ASKS = (
    rf"(?:(?:can|could|would|will|should|can't|couldn't|shouldn't) (?:we|you) {_SOFT}"
    rf"|why (?:don't|not|can't|couldn't|shouldn't) (?:we )?{_SOFT}"
    rf"|let'?s {_SOFT}(?:do (?=(?-i:[A-Z`])))?|let me {_SOFT}"
    rf"|i(?:'d| would) (?:(?:also|just|really|rather|only|still) )*(?:prefer|like|love)(?: to)? {_SOFT}"
    rf"|i(?:'d| would) rather |i'd (?:say|suggest|recommend|propose) (?:that |to )?|i want (?:you |us )?(?:to )?{_SOFT}"
    rf"|(?:we|you) {_SOFT}(?:should|can|could|need to|have to|ought to|want to|must) {_SOFT}"
    r"(?!be \w+ing\b|have been\b|not only\b)"
    rf"|i'?ll {_SOFT}|i will {_SOFT})"
)
# How they ask that something is not done; "Not" is what is left of "we should not", "let's not", "I'd rather not".
_NOT = r"(?:(?:are (?:we|you) able to |(?:we|you) (?:should|must)(?= not|n't))(?: ?not|n't)(?! only\b) )"
_LEFT_NOT = lazy_regex(r"(?i)not (?!only\b)(?:to )?")
_REQUEST = lazy_regex(rf"(?i){_ASKS}")
_LATER = lazy_regex(rf"(?i)(?<![\w'-])(?:{_ASKS}|{_NOT})")
# What a sentence says of the request in it, so that it can't be taken out: a doubt, a reason, a relative clause.
_EMBEDS = lazy_regex(
    r"(?i)(?:n't|\b(?:not|never|no|doubt|sure|think|know|say|said|reason|why|agree|that|what|how|whether|if|because|which"
    r"|where|when|who|than|as|like))\b[^,;:.!?]*$"
)
_HELP = lazy_regex(r"(?i)\Ahelp (?:me|us) (?:to )?(?!with\b|out\b)(?=\w)")
_CLAUSE_END = lazy_regex(r"[,;:.!?)\u2013\u2014-]\s*$")
_QUESTION = lazy_regex(r"(?i)(?:let|can|could|should|would|will)")
_FORBIDS = lazy_regex(rf"(?i){_NOT}{_SOFT}")
_WHY_NOT = lazy_regex(r"(?i)why (?P<now>.+?),? and not (?:just |simply )?(?P<better>.+)")
# What a clause in front of a request says of when or where it holds: it belongs to the title.
_CONDITION = lazy_regex(
    r"(?i)(?:if|when|whenever|where|wherever|once|unless|until|after|before|while|for|with|without|in|on|at|from|during"
    r"|since|as|instead of|rather than)\b"
)
# A request whose object is only a pronoun.
_NAMES_NOTHING = lazy_regex(
    r"(?i)(?:do not |don't )?\w+ (?:\w+ ){0,2}?(?:it|this|that|them|these|those)\b(?! (?:is|are|was|were|to)\b)"
)
# Behind these one word is a task: "add pagination". Verbs such as make and keep are left out: "make sure".
_CHANGE = lazy_regex(
    r"(?i)(?:add|create|delete|drop|extract|fix|implement|improve|refactor|remove|rename|replace|update|upgrade)\b"
)
# A request that is nothing without what it points to, such as "take a look at this".
_POINTS = lazy_regex(
    r"(?i)(?:[\w']+ ){1,4}(?:it|this|that|them|these|those|both)(?: (?:together|now|again|first|too|here|for me))?"
)
# A prompt for the agent's program, such as `/review`, and a question about the agent itself.
_TO_AGENT = lazy_regex(r"(?i)/[\w:.-]+|(?:do you have (?:access|an?)|can you access|are you (?:there|ready|up))\b.*")
# What stands behind a statement and says nothing of it.
_TRAILS = lazy_regex(
    r"(?i)(?:[\s,.:;!?\u2013\u2014-]|\u2026|\bplease\b|, (?:right|no|ok(?:ay)?|yes)(?=\?)"
    r"|[,\u2013\u2014-] ?why(?=\W*$))+$"
)
_ADDRESS = lazy_regex(r"\s*(?:https?://|@/)\S+")
_SMILEY = lazy_regex("[\u2600-\u27bf\ufe0f\U0001f000-\U0001faff]+ *|(?<=\\s)[:;]-?[()DP](?=\\s|$)")
_SENTENCE_END = lazy_regex(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)(?<!like\.)(?<! \d\.)\s+(?=\S)")
_ASIDE = lazy_regex(r"\s+[\u2013\u2014-]\s+|; ")
_PLAIN_WORD = lazy_regex(r"[a-z]+(?:['\u2019-][a-z]+)*(?=[\s,:;]|$)")
_TITLE_OF_TEXT = lazy_regex(r"#{1,6} +(?P<title>.+?)(?= +#{1,6} |\s*\n|$)")
_GIVES_PLAN = lazy_regex(
    r"(?i)(?:please )?(?:implement|execute|carry out|follow) (?:the following|this|the) plan\b:?\s*"
)


def title_of(said: str) -> str:
    """Return the title of a choice that was stated in an ordinary sentence: "Yes, use Redis." gives "Use Redis".

    It is the first meaningful sentence, without introductory words and end mark. It begins with a capital unless its
    first word is a name such as `read_all`. If no words are left, the title is the whole text.
    """
    text = _ADDRESS.sub(
        "", _SMILEY.sub("", one_line(said[:_LOOKED_AT]).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    )
    each = _SENTENCE_END.split(text.strip())
    telling = [sentence for sentence in each if _is_telling(sentence)]
    chosen = next(
        chain(_asking(telling), (sentence for sentence in telling if not sentence.endswith("?")), _asking(each), each)
    )
    title = _HELP.sub("", _as_request(_TRAILS.sub("", _after_lead(chosen))), count=1)
    return capitalized(shortened(title) or one_line(said))


def without_lead(said: str) -> str:
    """Return a statement without its introductory words and end mark: "Yes, use Redis." gives "Use Redis".

    The result begins with a capital unless its first word is a name such as `read_all`.
    """
    text = _TRAILS.sub("", _ADDRESS.sub("", _after_lead(one_line(said[:_LOOKED_AT]))))
    return capitalized(text or one_line(said))


def shortened(title: str) -> str:
    """Return a title cut so that it has at most 100 characters, if it can be cut well.

    A title that is too long is cut after its first sentence. If it is still too long, it is cut before its reason, and
    then before a dash. A cut is made only if the rest has at least four words and can be understood alone, so a title
    can stay longer.
    """
    for parts in (_SENTENCE_END.split, sentences.reason_of, _ASIDE.split):
        first = parts(title)[0].rstrip(" .") if len(title) > _LONG else ""
        if len(first.split()) >= _LEAST and wishes.has_object(first) and not first.endswith(":"):
            title = first
    return title


def goal_of(intent: str) -> str:
    """Return the title of a task from `intent`, the prompt that states the task.

    If the prompt, or the plan in it, begins with a heading, the title is the heading. Otherwise it is made from a
    sentence of the prompt.
    """
    text = _GIVES_PLAN.sub("", intent.strip(), count=1)
    if heading := _TITLE_OF_TEXT.match(text):
        return capitalized(plans.bare_title(heading["title"]))
    return title_of(text)


def is_chat(prompt: str) -> bool:
    """Return whether a prompt names no task: "hello", "do both please", "do you have access to the tracker?"."""
    line = one_line(prompt)
    if len(line) > _LOOKED_AT or _TITLE_OF_TEXT.match(line):
        return False
    each = [_after_lead(sentence) for sentence in _SENTENCE_END.split(line)]
    return not any(
        (_is_telling(sentence) or _is_change(sentence)) and not _TO_AGENT.fullmatch(sentence) for sentence in each
    )


def capitalized(text: str) -> str:
    """Return a text with a capital at its beginning, unless its first word is a name such as `read_all` or docs/api."""
    return text[:1].upper() + text[1:] if _PLAIN_WORD.match(text) else text


def _is_telling(sentence: str) -> bool:
    """Return whether a sentence says what it is about, unlike a request that only points to something."""
    text = _after_lead(sentence)
    return wishes.has_object(text) and not _POINTS.fullmatch(_TRAILS.sub("", _bare_request(text)))


def _is_change(sentence: str) -> bool:
    """Return whether a sentence asks for a change of a thing that one word names, such as "fix the login"."""
    text = _TRAILS.sub("", _bare_request(sentence))
    return (
        _CHANGE.match(text) is not None
        and wishes.has_object(text, 1)
        and not (wishes.is_step(text) or _POINTS.fullmatch(text))
    )


def _asking(each: Sequence[str]) -> Iterator[str]:
    return (sentence for sentence in each if _LATER.search(sentence))


def _after_lead(text: str) -> str:
    """Return a text without the words at its beginning that say nothing of it."""
    while (lead := _LEAD.match(text)) and lead.end():
        text = text[lead.end() :]
    return text


def _as_request(text: str) -> str:
    """Return what a sentence asks for, with the clause in front of it that says when or of what; else the sentence."""
    if better := _WHY_NOT.fullmatch(text):
        return f"{better['better']}, not {better['now']}"
    request_match = _LATER.search(text)
    if request_match is None:
        return text
    before_request = text[: request_match.start()]
    before, request = before_request.strip(" ,;:-\u2013\u2014"), _bare_request(text[request_match.start() :])
    if not before:
        return request
    if _CONDITION.match(before) and (
        _CLAUSE_END.search(before_request) or not _EMBEDS.search(before_request.partition(" ")[2])
    ):
        return f"{before}, {request}"
    if _EMBEDS.search(before_request):
        return text
    if _NAMES_NOTHING.match(request):
        return f"{capitalized(request)}: {before}" if wishes.has_object(before) else request
    is_apart = _CLAUSE_END.search(before_request) or _QUESTION.match(request_match[0])
    return request if is_apart and wishes.has_object(request) and len(before) <= _NEAR else text


def _bare_request(text: str) -> str:
    """Return a text without the words at its beginning that ask for what follows."""
    while True:
        if negated := _FORBIDS.match(text) or _LEFT_NOT.match(text):
            return f"Do not {text[negated.end() :]}"
        match = _REQUEST.match(text)
        rest = _after_lead(text[match.end() :] if match else text)
        if rest == text or not rest:
            return text
        text = rest
