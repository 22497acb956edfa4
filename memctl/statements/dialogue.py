"""What is stated in a dialogue of a user and an agent, in free words: each thing once, by whom, and in which turn.

An assent is joined with what it agrees to, an answer with the question. What is said of the same thing later takes the
place of what was said of it before, but an agent does not overrule the user. What is taken back is gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from memctl.statements import commit_text, findings, plans, wishes
from memctl.statements.topics import Topic

USER, AGENT, COMMIT, ACTION = "user", "agent", "commit", "action"
DECISION, CONSTRAINT, LEARNING, ISSUE = "decision", "constraint", "learning", "issue"
_CHOICES = (DECISION, CONSTRAINT)
_LONGEST_TOPIC = 1_500  # characters of a message that is about one thing
_MUSING = 120  # turns in which an agent that gives several causes without being asked looks for the one
_LOOKED_BACK = 60  # statements with which a new one is compared
_LONGEST_QUESTION = 1_500  # characters
_ASKS = re.compile(
    r"(?i)\?|\bwhy\b|\bhow come\b|\bcan you (?:check|look|find|figure|explain|tell|research|try (?:to|making)"
    r"|summarize)\b"
)
_ASKS_FOR_WORK = re.compile(
    r"(?i)\b(?:can|could|would) you (?:please )?(?:add|update|create|generate|make|fix|write|implement|use|do|run"
    r"|give|move|try|put)\b"
    r"|^\W*(?:you can|shall we|let's)\b"
)
_ASKS_DESIGN = re.compile(
    r"(?i)\b(?:can|could|should|shall) (?:we|it|this|that|i)\b|\bdo we need\b|\bwhy (?:not|don't)\b|\brather than\b"
    r"|\bis it (?:easier|better|worth)\b|\bin theory\b|\bright thing\b|\bwhat if\b|\bwe can't\b"
)


class Turn(msgspec.Struct, frozen=True):
    """What somebody says (USER, AGENT), the message of a commit, or an ACTION, of which only counts that there was one.

    `number` is the caller's.
    """

    who: str
    text: str
    number: int = 0


class FreeStatement(msgspec.Struct, frozen=True):
    """A statement in free words: its kind, what it says, why, instead of what, by whom, in the turn of which number."""

    kind: str
    text: str
    by: str
    turn: int
    reason: str = ""
    alternatives: tuple[str, ...] = ()


def read(turns: Iterable[Turn]) -> list[FreeStatement]:
    """What is stated in a dialogue, in the order of its turns."""
    reader = _DialogueReader()
    for turn in turns:
        reader.take(turn)
    return reader.finish()


class _DialogueReader:
    """Takes turn after turn; holds the last message of the agent, and the question that it answers."""

    def __init__(self) -> None:
        self._found: list[tuple[FreeStatement, Topic] | None] = []
        self._question = ""
        self._answer: Turn | None = None  # the last message since the question
        self._said: Turn | None = None  # the agent's last message
        self._is_planned = False  # whether a plan was given that no commit has carried out so far
        self._prompted = -1  # number of the last prompt
        self._unheeded: int | None = None  # place of an assent on which nothing was done so far

    def take(self, turn: Turn) -> None:
        if turn.who == USER:
            self._take_prompt(turn)
            return
        self._unheeded = None
        if turn.who == AGENT:
            self._take_message(turn)
        elif turn.who == COMMIT:
            commit = commit_text.read(turn.text)
            if commit is not None and not self._is_planned:
                self._add(FreeStatement(DECISION, commit.subject, AGENT, turn.number, commit.body))
            self._is_planned = False  # the first commit is that of the plan

    def finish(self) -> list[FreeStatement]:
        self._close_question()
        return sorted((one[0] for one in self._found if one is not None), key=lambda one: one.turn)

    def _take_prompt(self, turn: Turn) -> None:
        self._close_question()
        self._prompted = turn.number
        if self._unheeded is not None:
            self._found[self._unheeded] = None
            self._unheeded = None
        if (plan := plans.read(turn.text)) is not None and not commit_text.is_step(plan.title):
            self._add(FreeStatement(DECISION, plan.text, USER, turn.number, plan.reason))
            self._is_planned = True
            if plan.cause:
                self._add(FreeStatement(LEARNING, plan.cause, USER, turn.number))
        if plan is not None:
            return
        wish = None
        if self._said is not None and wishes.is_assent(turn.text):
            wish = wishes.agreed(turn.text, self._said.text)
            if wish is not None:
                self._add(_of_wish(wish, turn), f"{wish.text} {self._said.text[-1_000:]}")
                self._unheeded = len(self._found) - 1 if self._found else None
        if wish is None and (wish := wishes.stated(turn.text)) is not None:
            self._add(_of_wish(wish, turn), turn.text)
        is_question = _ASKS.search(turn.text[:_LONGEST_QUESTION]) and not _ASKS_FOR_WORK.search(turn.text)
        self._question = turn.text[:_LONGEST_QUESTION] if is_question else ""

    def _take_message(self, turn: Turn) -> None:
        told = findings.read(turn.text)
        if told.is_retraction:
            self._take_back()
        for found in told.found:
            self._add(FreeStatement(found.kind, found.text, AGENT, turn.number, found.reason), turn.text)
        self._said = turn
        if self._question:
            self._answer = turn

    def _close_question(self) -> None:
        """Take the last message since a question for its answer."""
        question, answer = self._question, self._answer
        self._question, self._answer = "", None
        if not question or answer is None:
            return
        found = findings.answer(answer.text, is_design=_ASKS_DESIGN.search(question) is not None)
        if found is None or any(
            one is not None and one[0].turn == answer.number and (one[0].kind in _CHOICES) == (found.kind in _CHOICES)
            for one in self._found[-_LOOKED_BACK:]
        ):
            return
        self._add(FreeStatement(found.kind, found.text, AGENT, answer.number, found.reason), answer.text)

    def _take_back(self) -> None:
        """Drop the last thing that the agent found out: it says that it is not so."""
        for place in range(len(self._found) - 1, max(len(self._found) - 4, -1), -1):
            one = self._found[place]
            if one is not None and one[0].by == AGENT and one[0].kind == LEARNING:
                self._found[place] = None
                return

    def _add(self, new: FreeStatement, told: str = "") -> None:
        """Add a statement, in place of what was said of the same thing; `told` is what was said with it."""
        topic = Topic.of(f"{new.text} {new.reason}")
        around = Topic.of(told) if told and len(told) <= _LONGEST_TOPIC else topic
        for place in range(len(self._found) - 1, max(len(self._found) - _LOOKED_BACK, 0) - 1, -1):
            entry = self._found[place]
            if entry is None or (entry[0].kind in _CHOICES) != (new.kind in _CHOICES):
                continue
            old, known = entry
            is_musing = old.kind == new.kind == LEARNING and self._prompted < old.turn and new.turn - old.turn < _MUSING
            if not is_musing and not topic.is_same(known) and (old.turn != new.turn or old.kind != new.kind):
                continue
            if old.by == USER and new.by != USER:
                if not old.reason and new.reason:
                    self._found[place] = (msgspec.structs.replace(old, reason=new.reason), known)
                return
            if old.turn == new.turn:
                return
            self._found[place] = None
        self._found.append((new, around))


def _of_wish(wish: wishes.Wish, turn: Turn) -> FreeStatement:
    return FreeStatement(wish.kind, wish.text, USER, turn.number, wish.reason, wish.alternatives)
