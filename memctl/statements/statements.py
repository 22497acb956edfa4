"""What a sentence states: that something was decided, rejected or learned. Most sentences state none of that.

A question states nothing, nor does code, a quotation, or what is only thought of. It is better to miss one than to
take a sentence for what it is not: what has to be found has a label.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

from memctl.statements import cues
from memctl.text.headings import CODE_SPAN

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
def stated(sentence: str) -> str:
    """What a sentence states: DECISION, REJECTED, LESSON, or "" for anything else."""
    text = _bare(sentence[:_LOOKED_AT])
    if text.endswith("?") or cues.UNFINISHED.search(text) or _OUTPUT.match(text):
        return ""
    text = text.lower()
    for kind, all_cues in _CUES:
        for match in chain.from_iterable(cue.found(text) for cue in all_cues):
            clause = cues.CLAUSE.split(text[: match.start()])[-1]
            if not re.search(cues.DOUBT, clause):
                return kind
    return ""


def is_filler(sentence: str) -> bool:
    """Whether a sentence says nothing by itself, such as "Step 3." or "Okay, done."."""
    return (
        len(sentence) <= _SHORT
        and re.search(cues.FILLER, sentence.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")) is not None
    )


def _bare(sentence: str) -> str:
    """A sentence with straight apostrophes, without the number of a step and marks around it, and with nothing in its
    code and quotations."""
    text = " ".join(sentence.replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split())
    for pattern in (CODE_SPAN, _QUOTATION):
        text = pattern.sub(lambda match: match[0][0] + "\N{BULLET}" * (len(match[0]) - 2) + match[0][-1], text)
    return cues.NUMBERED.sub("", text).strip("*_ ")
