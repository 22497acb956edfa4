"""What a compressed context is asked: questions from a file, or made from the original (rules.md#window-health).

A question has facts by which it can be judged without a model. Those that are made ask for what must survive, and their
categories are its kinds (`essentials.KINDS`).
"""

from __future__ import annotations

import re

import msgspec

from memctl.errors import MemctlError
from memctl.record import argument_checks
from memctl.record.errors import describe
from memctl.record.frontmatter import read_yaml
from memctl.text.fit import cut
from memctl.text.markdown import first_sentence, one_line
from memctl.text.words import STOP_WORDS, nearest
from memctl.transcript.events import ANSWER, Session
from memctl.window.preservation import essentials, events
from memctl.window.preservation.essentials import Essential

MOST = 10  # questions of a category; 10 to 20 in all are wanted, and not every category has that many
FEWEST = 10  # questions; a score of fewer says little; rules.md#window-health
# What sentences about decisions and work have in common: whoever shortens them leaves it out first.
_SAYING = frozenset(
    [
        "decided",
        "decision",
        "chose",
        "chosen",
        "use",
        "uses",
        "used",
        "using",
        "will",
        "need",
        "needs",
        "now",
        "currently",
        "still",
        "must",
    ]
)
_ASKED = {
    essentials.MESSAGE: "What else did the user say?",
    essentials.DECISION: "What was decided?",
    essentials.ISSUE: "What is open?",
    essentials.ERROR: "What fails?",
}
_LETTER = re.compile(r"\w")
_WORD = re.compile(r"[\w][\w./:-]*\w|\w")


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question, and what shows that it can still be answered: `facts`, each as it is written, or `said`, a sentence
    that may be put in other words. With neither only a model can judge it."""

    ask: str
    category: str = ""
    facts: tuple[str, ...] = ()
    said: str = ""

    def __post_init__(self) -> None:
        argument_checks.texts(ask=self.ask, category=self.category, said=self.said)
        argument_checks.instance(self.facts, (tuple, list), "facts", "a tuple of texts")
        for fact in self.facts:
            argument_checks.texts(fact=fact)
        if not self.ask.strip() or not all(fact.strip() for fact in self.facts):
            raise ValueError("a question and its facts are not empty")


def parse(text: str, name: str) -> list[Question]:
    """Read a file of questions: YAML with a list `questions`, of texts or of `ask`, `category`, `facts`, `said`.

    Raises MemctlError that names the file, and the line or the question.
    """
    values = read_yaml(text, name, "it has a list `questions`")
    given = values.pop("questions", None)
    if values or not isinstance(given, list) or not given:
        what = f"an unknown key `{next(iter(values))}`" if values else "no list `questions`"
        raise MemctlError(f"{name} has {what}", "it has a list `questions`, and nothing else")
    return [_question(one, f"{name}: question {number}") for number, one in enumerate(given, 1)]


def _question(given: object, name: str) -> Question:
    values = {"ask": given} if isinstance(given, str) else given
    fields = Question.__struct_fields__
    unknown = next((key for key in values if key not in fields), None) if isinstance(values, dict) else None
    if unknown is not None:
        near = nearest(str(unknown), fields)
        raise MemctlError(
            f"{name} has an unknown key `{unknown}`",
            f"did you mean {near[0]}?" if near else f"its keys are {', '.join(fields)}",
        )
    try:
        return msgspec.convert(values, Question)
    except msgspec.ValidationError as error:
        raise MemctlError(f"{name}: {describe(error)}") from None


def generate(session: Session, most: int = MOST) -> list[Question]:
    """Questions about what of a session must survive (`essentials`), up to `most` of a kind: of many the last.

    Sub-agents have windows of their own, and are not asked about. A text that names no speakers counts as the user's.
    """
    own = [event for event in session.events if not event.agent]
    told = [event.text for event in own if event.kind == ANSWER] if session.form == "text" else []
    found = essentials.of_happened(events.of_events(own), told)
    made = [_made(one) for kind in essentials.KINDS for one in [one for one in found if one.kind == kind][-most:]]
    return list({(one.said or one.ask).rstrip("."): one for one in reversed(made) if _can_tell(one)}.values())[::-1]


def _made(one: Essential) -> Question:
    """What is asked about a thing. Of a path the end is looked for: folders above may be left out."""
    text = one_line(one.text)
    if one.kind == essentials.PATH:
        return Question(f"Is {text} still named?", one.kind, ("/".join(text.split("/")[-2:]),))
    if one.kind == essentials.NUMBER:
        return Question(f"Is the figure {text} still there?", one.kind, (text,))
    if one.kind == essentials.CONSTRAINT:  # as it is written: a prohibition without its "never" is none
        return Question(f"What does the user insist on? ({cut(one_line(text), 60)})", one.kind, (text.rstrip(" .!"),))
    if one.kind == essentials.TASK:
        return Question("What is the task?", one.kind, said=one_line(first_sentence(one.text)))
    return Question(f"{_ASKED[one.kind]} ({cut(one_line(text), 60)})", one.kind, said=text)


def _can_tell(question: Question) -> bool:
    return any(map(_LETTER.search, question.facts)) or bool(terms(question.said))


def terms(sentence: str) -> set[str]:
    """The words of a sentence that say something, in lower case."""
    words = (word.lower() for word in _WORD.findall(sentence))
    ignored = STOP_WORDS | _SAYING
    return {word for word in words if word not in ignored and (len(word) > 2 or word.isdigit())}
