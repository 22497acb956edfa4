"""What belongs into a summary between phases and what does not, sentence by sentence (rules.md#phase-summaries).

The rules go by words, so they are the same every time and nothing is sent anywhere. They err on the side of keeping: a
sentence that no rule excludes is a finding. A search or a step in which something binding is said is kept and marked.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from memctl.pack import summary_words as words
from memctl.statements import cues, labels, sentences
from memctl.statements.lines import role_of
from memctl.statements.units import CODE, HEADING, SENTENCE, Unit

# What belongs into a summary, the most important first; rules.md#phase-summaries.
DECISION, CONSTRAINT, PROBLEM, ACTION, PATTERN, PATH, FINDING = (
    "decision", "constraint", "problem", "action", "pattern", "path", "finding",
)  # fmt: skip
ORDER = (DECISION, CONSTRAINT, PROBLEM, ACTION, PATTERN, PATH, FINDING)
ACTIONABLE = ORDER[:-1]
_WEIGHTY = ORDER[:3]

# What does not belong into it, and what follows from that.
SEARCH = "a search, not what it found"
STEP = "a step on the way, not a result"
ASIDE = "looked at and set aside"
CONTENTS = "the contents of a file"
CODE_BLOCK = "code, which stands in its file"
RESOLVED = "an error that is resolved"
ALTERNATIVE = "an alternative that was not chosen"
UNFINISHED = "an unfinished sentence"
HEADLINE = "a heading"
WORDLESS = "marks without a word"
EMPTY = "a sentence that says nothing by itself"
MIXED = "a search or step in the same sentence as something binding"

LONGEST_CODE = 1  # lines, such as a command or a signature; more are contents of a file
_LOOKED_AT = 2_000  # characters of a sentence: what a longer one is about is said by then
_HEADING = 200  # characters of a heading

_BELOW = (
    (words.BELOW_SEARCHES, SEARCH),
    (words.BELOW_STEPS, STEP),
    (words.BELOW_RESOLVED, RESOLVED),
)
_PROCESS = ((words.SEARCH, SEARCH), (words.STEP, STEP), (words.CONTENTS, CONTENTS))


class UnitVerdict(msgspec.Struct, frozen=True):
    """What a unit is kept for, or the reason to leave it out; `warning` if it is kept in spite of a rule."""

    keeps: str = ""
    drops: str = ""
    warning: str = ""


def judge(unit: Unit) -> UnitVerdict:
    """What the rules say of a unit, by itself and the heading it stands below."""
    if unit.form == HEADING:
        return UnitVerdict(drops=HEADLINE)
    if unit.form == CODE:
        return _judge_code(unit)
    if not any(map(str.isalnum, unit.text)):  # "* *" would be a rule once it stood behind a dash
        return UnitVerdict(drops=WORDLESS)
    if unit.form == SENTENCE and sentences.is_filler(unit.text):
        return UnitVerdict(drops=EMPTY)
    text = unit.text[:_LOOKED_AT].replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    below = _below(unit.heading[:_HEADING]) if unit.heading else ""
    own, keeps = _reason(text) if unit.form == SENTENCE else "", _class_of(text)
    is_binding = words.BINDING.search(text) is not None or (not own and keeps in _WEIGHTY)
    if is_binding and (below or own) in (SEARCH, STEP) and not cues.UNFINISHED.search(text):
        return UnitVerdict(keeps=keeps, warning=MIXED)
    reason = below or own
    return UnitVerdict(drops=reason) if reason else UnitVerdict(keeps=keeps)


def _judge_code(unit: Unit) -> UnitVerdict:
    lines = [line for line in unit.text.split("\n")[1:] if line.strip() and not line.strip().startswith(("```", "~~~"))]
    if lines and all(map(words.SEARCH.search, lines)):
        return UnitVerdict(drops=SEARCH)
    return UnitVerdict(keeps=FINDING) if 0 < len(lines) <= LONGEST_CODE else UnitVerdict(drops=CODE_BLOCK)


@lru_cache(maxsize=256)
def _below(heading: str) -> str:
    """Why what stands below a heading does not belong into a summary, or ""."""
    role = labels.look_up(heading)[0]
    if role in (labels.ALTERNATIVE, labels.RESOLUTION):
        return ALTERNATIVE if role == labels.ALTERNATIVE else RESOLVED
    return next((reason for pattern, reason in _BELOW if pattern.search(heading)), "")


def _reason(sentence: str) -> str:
    """Why a sentence does not belong into a summary, or ""."""
    if words.ASIDE.search(sentence):
        return ASIDE
    role, stated = role_of(sentence), sentences.stated(sentence)
    is_rejected = role == labels.ALTERNATIVE or stated == sentences.REJECTED or words.ALTERNATIVE.search(sentence)
    if stated == sentences.DECISION and not is_rejected:
        return ""
    if is_rejected:
        return ALTERNATIVE
    if role == labels.RESOLUTION or (words.RESOLVED.search(sentence) and not words.UNRESOLVED.search(sentence)):
        return RESOLVED
    found = next((reason for pattern, reason in _PROCESS if pattern.search(sentence)), "")
    return found or (UNFINISHED if cues.UNFINISHED.search(sentence) else "")


def _class_of(text: str) -> str:
    """What a sentence is kept for: the first of ORDER that its words speak for."""
    classes = (
        (DECISION, words.DECISION.search(text) or sentences.stated(text) == sentences.DECISION),
        (CONSTRAINT, words.CONSTRAINT.search(text)),
        (PROBLEM, words.PROBLEM.search(text) and not words.NO_PROBLEM.search(text)),
        (ACTION, words.ACTION.search(text)),
        (PATTERN, words.PATTERN.search(text)),
        (PATH, words.PATH.search(text)),
    )
    return next((name for name, is_so in classes if is_so), FINDING)


def leans(text: str) -> bool:
    """Whether a sentence is understood only after the one before it."""
    return words.LEANING.search(text) is not None


def paths(text: str) -> list[str]:
    """The paths of files that a text names, exactly as it writes them, each once."""
    return list(dict.fromkeys(match[0].rstrip(".") for match in words.PATH.finditer(text)))
