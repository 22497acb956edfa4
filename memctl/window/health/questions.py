"""What a compressed context is asked: questions from a file, or made from the original (S4, "Compression Fidelity").

A question has facts by which it can be judged without a model. The categories are those that S4's compaction prompt
preserves: the task, decisions, open issues, paths, numbers, errors.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from memctl.errors import MemctlError
from memctl.model import settings
from memctl.model.markdown import first_sentence, one_line
from memctl.model.spelling import nearest
from memctl.model.words import STOP_WORDS
from memctl.packs.summary_rules import paths
from memctl.sessions import extraction, failures, labels
from memctl.sessions.events import ANSWER, DIGEST, PROMPT, Event, Session

TASK, DECISIONS, OPEN_ISSUES, PATHS, NUMBERS, ERRORS = (
    "task", "decisions", "open_issues", "paths", "numbers", "errors",
)  # fmt: skip
CATEGORIES = (TASK, DECISIONS, OPEN_ISSUES, PATHS, NUMBERS, ERRORS)
MOST = 10  # questions of a category; S4: 10 to 20 in all, and not every category has that many
_LABELS = {
    labels.DECISION: DECISIONS, labels.ISSUE: OPEN_ISSUES, labels.BLOCKER: OPEN_ISSUES, labels.TODO: OPEN_ISSUES,
    labels.NEXT: OPEN_ISSUES,
}  # fmt: skip
_UNITS = "%|ms|s|min|h|[kKMG]i?B|tokens?|turns?|files?|tests?|errors?|refs?|lines?|calls?|times"
_NUMBER = re.compile(rf"(?<![\w.,/:-])(?:\d+/\d+|\d[\d,]*(?:\.\d+)?(?: ?(?:{_UNITS}))?)(?![\w/:-]|[.,]\d)")
_TELLS = re.compile(r"\D|\d{2}")  # a single digit alone says nothing
_ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b|\b(?:E[A-Z]{4,}|E\d{3,4}|TS\d{4,5})\b|\bHTTP [45]\d\d\b")
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
_WORD = re.compile(r"[\w][\w./:-]*\w|\w")


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question, and what shows that it can still be answered: `facts`, each as it is written, or `said`, a sentence
    that may be put in other words. With neither only a model can judge it."""

    ask: str
    category: str = ""
    facts: tuple[str, ...] = ()
    said: str = ""

    def __post_init__(self) -> None:
        if not self.ask.strip() or not all(fact.strip() for fact in self.facts):
            raise ValueError("a question and its facts are not empty")


def parse(text: str, name: str) -> list[Question]:
    """Read a file of questions: YAML with a list `questions`, of texts or of `ask`, `category`, `facts`, `said`.

    Raises MemctlError that names the file, and the line or the question.
    """
    values = settings.read(text, name, "it has a list `questions`")
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
        raise MemctlError(f"{name}: {settings.plain(error)}") from None


def generate(session: Session, most: int = MOST) -> list[Question]:
    """Questions about a session, up to `most` a category: what was said is asked for, not what tools returned.

    Decisions and open issues are found as session summaries find them, errors are those that no later success resolved.
    Of paths and numbers the ones most often named come first, and of those the latest.
    """
    said = [event for event in session.events if event.kind in (PROMPT, ANSWER, DIGEST) and not event.agent]
    texts = [event.text for event in said]
    found = {
        TASK: list(_task(said)),
        DECISIONS: [],
        OPEN_ISSUES: [],
        PATHS: [
            Question(f"Is {path} still named?", PATHS, (path,)) for path in _foremost(map(paths, texts), most)
        ],
        NUMBERS: [
            Question(f"Is the figure {number} still there?", NUMBERS, (number,))
            for number in _foremost(map(_numbers, texts), most)
        ],
        ERRORS: list(_errors(session, texts, most)),
    }  # fmt: skip
    for one in extraction.of_events(session.events):
        category = _LABELS.get(one.label, "")
        if category and terms(one.text):
            ask = "What was decided?" if category == DECISIONS else "What is open?"
            found[category].append(Question(f"{ask} ({_short(one.text)})", category, said=one.text))
    made = [question for category in CATEGORIES for question in found[category][-most:]]
    return list({(one.said or one.ask).rstrip("."): one for one in reversed(made)}.values())[::-1]


def _task(said: Sequence[Event]) -> Iterator[Question]:
    first = next((event.text for event in said if event.kind == PROMPT), said[0].text if said else "")
    sentence = one_line(first_sentence(first))
    if terms(sentence):
        yield Question("What is the task?", TASK, said=sentence)


def _errors(session: Session, texts: Sequence[str], most: int) -> Iterator[Question]:
    unresolved = [one for one in failures.of_events(session.events) if not one.resolved]
    for one in unresolved[-most:]:
        yield Question(f"How does `{_short(one.step)}` fail?", ERRORS, said=one.message)
    for name in _foremost((_ERROR.findall(text) for text in texts), most - len(unresolved[-most:])):
        yield Question(f"Is {name} still named?", ERRORS, (name,))


def _numbers(text: str) -> list[str]:
    return [match[0].rstrip(",.") for match in _NUMBER.finditer(text) if _TELLS.search(match[0])]


def _foremost(found: Iterable[Iterable[str]], most: int) -> list[str]:
    """The things named in most texts, the latest first among equals."""
    times: Counter[str] = Counter()
    last: dict[str, int] = {}
    for number, names in enumerate(found):
        for name in dict.fromkeys(names):
            times[name] += 1
            last[name] = number
    return sorted(times, key=lambda name: (-times[name], -last[name]))[: max(most, 0)]


def terms(sentence: str) -> set[str]:
    """The words of a sentence that say something, in lower case."""
    words = (word.lower() for word in _WORD.findall(sentence))
    ignored = STOP_WORDS | _SAYING
    return {word for word in words if word not in ignored and (len(word) > 2 or word.isdigit())}


def _short(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= 60 else line[:59] + "…"
