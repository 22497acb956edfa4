"""Read a plan that a user approves or gives as a prompt.

Its title and its steps are a decision, and its section about context is the decision's reason. If the plan names the
cause of a problem, the cause is a lesson.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

from memctl.statements import units
from memctl.text.lazy_regex import lazy_regex
from memctl.text.markdown import one_line

_LOOKED_AT = 20_000  # characters
_MOST_STEPS = 8
_GIVEN = lazy_regex(
    r"(?i)\s*(?:please )?(?:implement|execute|carry out|follow) (?:the following|this|the) plan\b[^\n]*\n"
)
_APPROVED = lazy_regex(r"(?i)\s*user has approved your plan\b")
_APPROVED_PLAN = lazy_regex(r"(?m)^## Approved Plan:[^\n]*\n")
_TITLE = lazy_regex(r"(?i)(?:implementation )?plan\b(?: for)?[ :\u2013\u2014-]*")
_CONTEXT = lazy_regex(
    r"(?i)(?:context|problem|background|summary|overview|goal|motivation|why|key insight|root cause)\b"
)
_CAUSES = lazy_regex(r"(?i)(?:root causes?|key insight|cause|diagnosis)\b")
_CAUSE = lazy_regex(r"(?i)\broot cause\b|\bkey insight\b|\bthe (?:bug|problem|cause) (?:is|was)\b")
_DECISIONS = lazy_regex(r"(?i)(?:[\w-]+ ){0,2}decisions?\b")
_STEP = lazy_regex(r"(?i)(?:step |phase )?\d{1,2}[.:)]\s*(.+)")


class Plan(msgspec.Struct, frozen=True):
    """A plan: its title, the headings of its steps, the reason for it, the cause of a problem, and listed decisions.

    Reason and cause are "" if the plan does not say them. `decisions` are the items below a heading of that name.
    """

    title: str
    steps: tuple[str, ...] = ()
    reason: str = ""
    cause: str = ""
    decisions: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The plan as the text of a decision: "title: step; step"."""
        return f"{self.title}: {'; '.join(self.steps)}" if self.steps else self.title


@lru_cache(maxsize=256)
def read(prompt: str) -> Plan | None:
    """Return the plan in a prompt that asks the agent to carry it out; None if the prompt has no plan.

    `prompt` can also be the result of a tool call by which an agent's program says that the user has approved a plan.
    """
    if _APPROVED.match(prompt):
        start = match.end() if (match := _APPROVED_PLAN.search(prompt)) else len(prompt)
    else:
        start = match.end() if (match := _GIVEN.match(prompt)) else len(prompt)
    text = prompt[start : start + _LOOKED_AT]
    return _read(text) if text.strip() else None


def bare_title(heading: str) -> str:
    """Return a plan's heading without the words that call it a plan: "Plan: Drop the cache" gives "Drop the cache"."""
    return one_line(_TITLE.sub("", heading, count=1) if _TITLE.match(heading) else heading)


def _read(text: str) -> Plan | None:
    title, reason, cause = "", "", ""
    steps: list[str] = []
    decisions: dict[int, str] = {}  # by the line of the item
    for unit in units.units(text):
        if unit.form == units.HEADING:
            heading = unit.text.strip().strip("#*_ ").rstrip(":")
            if not title:
                title = bare_title(heading)
            elif step := _STEP.match(heading):
                steps.append(one_line(step[1]))
        elif unit.form == units.SENTENCE and title:
            if unit.item and _DECISIONS.match(unit.heading):
                decisions[unit.item] = units.without_marks(f"{decisions.get(unit.item, '')} {unit.text}").strip()
            elif not _is_whole(unit.text):
                continue
            if not reason and _CONTEXT.match(unit.heading):
                reason = units.without_marks(unit.text)
            if _CAUSE.search(unit.text) or (not cause and _CAUSES.match(unit.heading)):
                cause = units.without_marks(unit.text)
    if not title:
        return None
    return Plan(title, tuple(steps[:_MOST_STEPS]), reason, cause, tuple(decisions.values()))


def _is_whole(sentence: str) -> bool:
    return sentence.rstrip('*_`"').endswith((".", "!")) and len(sentence) > len("A sentence.")
