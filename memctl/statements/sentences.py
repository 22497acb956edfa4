"""Find what a sentence states: a decision (what, why, instead of what), a rejected alternative or a lesson.

Most sentences state none of these. Questions, code, quotations and thoughts never do. It is better to miss a statement
than to invent one, since whoever wants a statement to be found can write it under a label.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

import msgspec

from memctl.statements import cues
from memctl.text.headings import CODE_SPAN
from memctl.text.lazy_regex import lazy_regex

DECISION, REJECTED, LESSON = "decision", "rejected", "lesson"
_CUES = ((REJECTED, cues.REJECTED), (DECISION, cues.DECISION), (LESSON, cues.LESSON))
_LOOKED_AT = 1_000  # characters of a sentence
_SHORT = 100  # characters of a sentence that may say nothing
_QUOTATION = re.compile(r"\"[^\"]*\"|\u201c[^\u201d]*\u201d")
# What a log has before its words, and what a diff or a shell has.
_OUTPUT = re.compile(
    r"^\W{0,2}(?:\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\b)"
    r"|^(?:\$|>>>|[+@-]{2}|#!) ?"
)


@lru_cache(maxsize=4096)  # several readers ask of one sentence
def kind_of(sentence: str) -> str:
    """Return the kind of statement that a sentence makes: DECISION, REJECTED or LESSON, "" for none of these."""
    text = _bare(sentence[:_LOOKED_AT])
    if text.endswith("?") or cues.UNFINISHED.search(text) or _OUTPUT.match(text):
        return ""
    text = text.lower()
    for kind, all_cues in _CUES:
        for match in chain.from_iterable(cue.matches(text) for cue in all_cues):
            clause = cues.CLAUSE.split(text[: match.start()])[-1]
            if not re.search(cues.DOUBT, clause):
                return kind
    return ""


def is_filler(sentence: str) -> bool:
    """Return whether a sentence says nothing by itself, such as "Step 3." or "Okay, done."."""
    return (
        len(sentence) <= _SHORT
        and re.search(cues.FILLER, sentence.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")) is not None
    )


def _bare(sentence: str) -> str:
    """Return a sentence without the number of a step and marks, and with its code and quotations blanked out."""
    text = " ".join(sentence.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split())
    for pattern in (CODE_SPAN, _QUOTATION):
        text = pattern.sub(lambda match: match[0][0] + "\N{BULLET}" * (len(match[0]) - 2) + match[0][-1], text)
    return cues.NUMBERED.sub("", text).strip("*_ ")


_BECAUSE = lazy_regex(rf",? (?:{cues.REASON}|due to the fact that)\b ", re.IGNORECASE)
_BRACKETED_REASON = lazy_regex(r"(.+?) \((?:rationale|reason|because|why):? +([^()]+)\)(.*)", re.IGNORECASE)
_REASON_FIRST = lazy_regex(r"(?:since|because) ([^,]+), ((?:we|i)\b.+)", re.IGNORECASE)
_INSTEAD = lazy_regex(
    r"(?:(?P<first>.+?),? (?:instead of|rather than) (?P<instead>(?:[^,;:]|:(?!\s)){2,80})"
    r"|(?P<chosen>.*\b(?:chose|choose|picked|selected|selects?|preferred|adopt(?:ed)?|favou?red|use|went with) .+?)"
    r" over (?P<over>(?:[^,;:]|:(?!\s)){2,80})"
    r"|(?P<whole>.+?) \(not (?P<no>[^()]{2,60})\))(?:: +(?P<why>.+))?",
    re.IGNORECASE,
)
_FOR = lazy_regex(r" (?:for|to|as|in|on|when|by|at) .*")
_LONGEST_CHOICE = 2_000  # characters


class Choice(msgspec.Struct, frozen=True):
    """A choice: what is chosen, why, and which alternatives are rejected.

    The reason is "" and the alternatives are () where the text does not say them. `kind` is DECISION, or "constraint"
    for a demand that holds from now on.
    """

    text: str
    reason: str = ""
    alternatives: tuple[str, ...] = ()
    kind: str = DECISION


def reason_of(sentence: str) -> tuple[str, str]:
    """Split a sentence into what it says and its reason ("" for none): "Use A because B" gives ("Use A", "B")."""
    if bracketed := _BRACKETED_REASON.fullmatch(sentence[:_LONGEST_CHOICE]):
        return f"{bracketed[1]}{bracketed[3]}".rstrip(" ."), bracketed[2]
    what, *why = _BECAUSE.split(sentence, maxsplit=1)
    return what.rstrip(" ."), why[0].rstrip() if why else ""


def choice_in(sentence: str) -> Choice:
    """Return the choice in a sentence such as `Since X, we picked A`, `We chose A over B`, or `Used A (not B)`.

    "We chose Redis over a file because it persists" gives the text "We chose Redis", the reason "it persists" and the
    alternatives ("a file",).
    """
    if first := _REASON_FIRST.fullmatch(sentence[:_LONGEST_CHOICE]):
        what, why = first[2].rstrip(" ."), first[1]
    else:
        what, why = reason_of(sentence)
    match = _INSTEAD.fullmatch(what) if len(what) <= _LONGEST_CHOICE else None
    if match is None:
        return Choice(what, why)
    why = why or match["why"] or ""
    taken = match["first"] or match["chosen"] or match["whole"]
    other = match["instead"] or match["over"] or match["no"]
    if match["over"]:  # `over B for C`: what for belongs to the choice
        purpose = _FOR.search(other)
        other, taken = (other[: purpose.start()], f"{taken}{purpose[0]}") if purpose else (other, taken)
    return Choice(taken, why, (other,))
