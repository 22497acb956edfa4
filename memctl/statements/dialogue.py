"""Find what a user and an agent state in a dialogue in ordinary sentences, with the speaker and the turn of each.

A short consent such as "yes" is joined with the proposal that it answers. An order for the work at hand is no decision,
nor is what the first prompt says that the user wants: that is the session's intent. A demand that holds from now on is
one. A statement replaces an earlier one about the same topic, except that an agent's statement does not replace the
user's.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from memctl.statements import commit_text, plans, problems, wishes
from memctl.statements.sentences import DECISION, Choice, choice_in
from memctl.statements.wishes import CONSTRAINT
from memctl.text.lazy_regex import lazy_regex
from memctl.text.words import stems

USER, AGENT, COMMIT, EDIT, ACTION = "user", "agent", "commit", "edit", "action"
LEARNING, ISSUE = "learning", "issue"
_CHOICES = (DECISION, CONSTRAINT)
_LOOKED_BACK = 60  # statements with which a new one is compared
_LOOKED_AT = 2_000  # characters
_NAMES, _WORDS = 2, 3  # that both have at least
_SHARE, _SHARE_OF_WORDS = 0.5, 0.6  # of the fewer names, or words
_CODE = lazy_regex(r"`([^`\n]{2,60})`")
_TOKEN = lazy_regex(r"[A-Za-z0-9_][\w./:#-]*\w")
_NAME = lazy_regex(r"[a-z][A-Z]|[A-Za-z]_[A-Za-z]|\w/\w|[a-z]\.[a-z]{2,4}\b|\d{3,}|[A-Za-z]-?\d|\d[a-z]|[A-Z]{3,}")


class Turn(msgspec.Struct, frozen=True):
    """One entry of a dialogue, such as a message or a commit: who speaks or acts (`who`), and the text.

    `who` is USER or AGENT for what they say, COMMIT for a commit (the text is its message), EDIT for a change of a
    file, or ACTION for any other action of the agent. `is_refusal` says that the user refused a call with these words.
    The caller chooses the `number` of the turn, and a statement that
    is found in the turn has this number, too.
    """

    who: str
    text: str
    number: int = 0
    is_refusal: bool = False


class FreeStatement(msgspec.Struct, frozen=True):
    """A statement in an ordinary sentence, without a label, with the reason and rejected alternatives that it gives.

    - `kind` is "decision", "constraint", "learning" or "issue".
    - `by` is the speaker (USER or AGENT), and `turn` the number of the turn (`Turn.number`).
    - `is_sure` is True if there is little doubt that the user decided this: it is the user's own firm sentence, and
      either it says that it holds from now on, or files were changed for it at once.
    - `title` is the heading of the plan if the statement is a plan of steps, "" otherwise.
    - `is_assent` is True if the user only agreed ("yes"): the words are the agent's.
    """

    kind: str
    text: str
    by: str
    turn: int
    reason: str = ""
    alternatives: tuple[str, ...] = ()
    is_sure: bool = False
    title: str = ""
    is_assent: bool = False


class Topic(msgspec.Struct, frozen=True):
    """What a text is about, for comparison with another text: the names in it, and the stems of its words.

    A name looks like an identifier, a path or a number, or stands in backticks: `parse_all`, pool.py, T-12.
    """

    names: frozenset[str]
    words: frozenset[str]

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(text: str) -> Topic:
        """Return the topic of a text, from its first 2,000 characters."""
        text = text[:_LOOKED_AT]
        code = [token for span in _CODE.findall(text) for token in _TOKEN.findall(span)]
        names = [*code, *(token for token in _TOKEN.findall(text) if _NAME.search(token))]
        return Topic(frozenset(name.strip(".:#-/").lower() for name in names), stems(text))

    def is_same(self, other: Topic) -> bool:
        """Return whether this topic and another are the same: they share half of their names, or 60 % of their words.

        If both topics have two names or more, names are compared, otherwise words. If words are compared, both topics
        must have three or more. Shared names or words are counted as a share of those of the topic that has fewer.
        """
        fewer = min(len(self.names), len(other.names))
        if fewer >= _NAMES:
            return len(self.names & other.names) >= max(_NAMES, _SHARE * fewer)
        fewer = min(len(self.words), len(other.words))
        return fewer >= _WORDS and len(self.words & other.words) >= _SHARE_OF_WORDS * fewer


def read(turns: Iterable[Turn], *, is_begun: bool = False) -> list[FreeStatement]:
    """Return the statements that are made in a dialogue, in the order of its turns.

    The statements that a later turn replaced or took back are left out. `is_begun` says that there were prompts before
    these turns: what the first prompt of a dialogue aims at is no statement.
    """
    reader = _DialogueReader(is_begun=is_begun)
    for turn in turns:
        reader.take(turn)
    return reader.finish()


class _DialogueReader:
    """Takes the turns of a dialogue in order, and keeps the statements found so far."""

    def __init__(self, *, is_begun: bool) -> None:
        self._found: list[tuple[FreeStatement, Topic] | None] = []
        self._is_begun = is_begun  # whether there was a prompt before
        self._said: Turn | None = None  # the agent's last message
        self._uncommitted: int | None = None  # place of the last choice that no commit has carried out so far
        self._unheeded: int | None = None  # place of an assent on which nothing was done so far
        self._symptoms: list[int | None] = [None, None]  # places of what the last two prompts say is wrong
        self._prompted = -1  # the number of the last prompt
        self._wished: int | None = None  # place of what the last prompt wishes, until files are changed for it
        self._requested: FreeStatement | None = None  # what one agrees to, until it is done
        self._is_decided = True  # whether a choice was stated since the last prompt, or the prompt asks for a step

    def take(self, turn: Turn) -> None:
        if turn.who == USER:
            self._prompted, self._wished = turn.number, None
            self._requested = None
            self._is_decided = not turn.text or wishes.begins_with_step(turn.text)
            self._symptoms = [self._symptoms[1], None]
            self._take_prompt(turn)
            return
        self._unheeded = None
        if turn.who in (EDIT, COMMIT) and self._wished is not None and (wish := self._found[self._wished]):
            is_sure = wish[0].is_sure or wishes.is_firm(wish[0].text)
            self._found[self._wished] = (msgspec.structs.replace(wish[0], is_sure=is_sure), wish[1])
        if turn.who == AGENT:
            self._take_message(turn)
        elif turn.who == EDIT:
            self._drop_symptoms()
            self._add_requested()
        elif turn.who == COMMIT:
            self._drop_symptoms()
            self._take_commit(turn)

    def finish(self) -> list[FreeStatement]:
        return sorted((stated[0] for stated in self._found if stated is not None), key=lambda stated: stated.turn)

    def _take_prompt(self, turn: Turn) -> None:
        if self._unheeded is not None:
            self._found[self._unheeded] = None
            self._unheeded = None
        is_first, self._is_begun = not self._is_begun, True
        if (plan := plans.read(turn.text)) is not None:
            self._take_plan(plan, turn)
            return
        wish = None
        if self._said is not None and wishes.is_assent(turn.text):
            wish = wishes.agreement(turn.text, self._said.text)
            if wish is not None:
                self._unheeded = self._add(_of_choice(wish, USER, turn, is_assent=True))
                self._uncommitted = self._unheeded
            elif done := wishes.proposal_before_yes(turn.text, self._said.text):
                self._requested = _of_choice(done, USER, turn, is_assent=True)
        if wish is None and (wish := wishes.wish_in(turn.text)) is not None:
            if is_first and wishes.is_own_aim(wish):
                return  # what the session is for is its intent
            self._wished = self._add(_of_choice(wish, USER, turn, is_sure=wishes.is_lasting(wish)))
            self._uncommitted = self._wished
        if wish is None and turn.is_refusal and (demand := wishes.correction_in(turn.text)):
            self._uncommitted = self._add(_of_choice(demand, USER, turn))
            return
        if wish is None and (symptom := wishes.symptom_in(turn.text)):
            self._symptoms[1] = self._add(FreeStatement(ISSUE, symptom, USER, turn.number))

    def _take_plan(self, plan: plans.Plan, turn: Turn) -> None:
        """Add what a plan states: itself as a decision, the cause that it names, and the decisions that it lists."""
        if not commit_text.is_step(plan.title):
            decided = FreeStatement(DECISION, plan.text, USER, turn.number, plan.reason, is_sure=True, title=plan.title)
            self._uncommitted = self._add(decided)
            if plan.cause:
                self._add(FreeStatement(LEARNING, plan.cause, USER, turn.number, is_sure=True))
        for text in plan.decisions:  # each is a decision of its own, whatever its topic
            stated = _of_choice(choice_in(text), USER, turn, is_sure=True)
            self._found.append((stated, Topic.of(text)))

    def _take_message(self, turn: Turn) -> None:
        if cause := problems.cause(turn.text):
            self._add(FreeStatement(LEARNING, cause, AGENT, turn.number))
        if problems.is_settled(turn.text):
            self._drop_symptoms()
        if issue := problems.open_issue(turn.text):
            self._add(FreeStatement(ISSUE, issue, AGENT, turn.number))
        self._said = turn

    def _add_requested(self) -> None:
        """Add what was agreed to since the last prompt, now that files are changed for it."""
        if self._requested is not None and not self._is_decided:
            self._add(self._requested)
        self._requested = None

    def _take_commit(self, turn: Turn) -> None:
        """Use the commit's reason for the last choice that no commit has carried out, or add the commit as a choice
        itself."""
        commit = commit_text.read(turn.text)
        place, self._uncommitted = self._uncommitted, None
        entry = self._found[place] if place is not None else None
        if commit is None:
            return
        if entry is None or place is None:
            self._add(_of_choice(commit, AGENT, turn))
        elif not entry[0].reason and entry[1].words & stems(turn.text):
            self._found[place] = (msgspec.structs.replace(entry[0], reason=commit.reason), entry[1])

    def _drop_symptoms(self) -> None:
        """Drop the symptoms of the last two prompts, once they are answered by a change or called settled."""
        for place in self._symptoms:
            if place is not None:
                self._found[place] = None
        self._symptoms = [None, None]

    def _add(self, new: FreeStatement) -> int | None:
        """Add a statement in place of an earlier one about the same topic, and return its place.

        Returns None if the earlier one stays, since an agent does not overrule the user. A cause replaces the cause
        that the agent named before it in the same turn of the user.
        """
        self._is_decided = self._is_decided or new.kind in _CHOICES
        topic = Topic.of(f"{new.text} {new.reason}")
        for place in range(len(self._found) - 1, max(len(self._found) - _LOOKED_BACK, 0) - 1, -1):
            entry = self._found[place]
            if entry is None or (entry[0].kind != new.kind and not {entry[0].kind, new.kind} <= {*_CHOICES}):
                continue
            old, known = entry
            is_musing = old.kind == new.kind == LEARNING and self._prompted < old.turn
            if not is_musing and not topic.is_same(known) and (old.turn, old.kind) != (new.turn, new.kind):
                continue
            if old.by == USER and new.by != USER:
                if not old.reason and new.reason:
                    self._found[place] = (msgspec.structs.replace(old, reason=new.reason), known)
                return None
            if (old.turn, old.kind) == (new.turn, new.kind):
                return None
            self._found[place] = None
        self._found.append((new, topic))
        return len(self._found) - 1


def _of_choice(choice: Choice, by: str, turn: Turn, *, is_sure: bool = False, is_assent: bool = False) -> FreeStatement:
    return FreeStatement(
        choice.kind,
        choice.text,
        by,
        turn.number,
        choice.reason,
        choice.alternatives,
        is_sure=is_sure,
        is_assent=is_assent,
    )
