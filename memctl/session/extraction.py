"""Extract decisions, issues, learnings and the state of the work from a session (rules.md#extraction).

A statement with a label, such as `Decision:`, is `explicit`, since its author meant it to be found. Other statements
are found by their wording, which may be misunderstood. So a statement becomes a record only when a person accepts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache

import msgspec

from memctl.record.required_text import is_meaningful
from memctl.session import edits, tool_calls
from memctl.statements import completion, cues, dialogue, labels, plans, reader, sentences, titles, units, wishes
from memctl.statements.dialogue import USER, FreeStatement, Turn
from memctl.statements.statement import Statement
from memctl.text.markdown import one_line
from memctl.text.similarity import comparable
from memctl.transcript.events import ANSWER, CALL, DIGEST, PROMPT, RESULT, Event
from memctl.transcript.user_words import words_of_refusal

_PHRASES = {
    labels.BLOCKER: re.compile(r"\b(?:is|are|am|we're|i'm) blocked (?:by|on|until)\b", re.IGNORECASE),
    labels.ISSUE: re.compile(r"\b(?:BUG|ISSUE)-\d+\b"),
}
_TODO = re.compile(r"(?:#|//|/\*|--|<!--|;)\s*(?:TODO|FIXME)\b(?:\([^()\n]*\))?[: ]*(.+)")
# How a text under the label of a decision begins if nothing is decided yet.
_UNDECIDED = re.compile(r"(?:whether|if|why|how|none|no) ", re.IGNORECASE)
# A question about what to do next says nothing about the project.
_NEXT = re.compile(
    r"\b(?:what (?:would you like|do you want|should (?:i|we) do|to do|next|now)|do next|(?:ready"
    r"|how (?:would you like|do you want)) to"
    r"|proceed|me to review|which (?:pr|branch|issue))\b|\b(?:(?:can|may|shall) i|what should i) ",
    re.IGNORECASE,
)
_RECOMMENDED = re.compile(r" *\(recommended\)", re.IGNORECASE)
_MEANT = re.compile(r"(?:can|could) you (?:clarify|explain|describe|say)\b|what do you mean\b", re.IGNORECASE)
_LABELS = {
    "decision": labels.DECISION,
    "constraint": labels.DECISION,
    "learning": labels.LEARNING,
    "issue": labels.ISSUE,
}
_REPORT = 1_000  # characters from which a message counts as a report
_COUNTED = re.compile(r"\W*(?:bug|issue|problem)s? ?#?\d{1,2}\b", re.IGNORECASE)
_MOMENT = re.compile(r"\[\d{4}-\d\d-\d\d[^\]\n]{0,30}\] +|\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)? +")
_MEASURE = re.compile(cues.MEASURE, re.IGNORECASE)
_WHOLE = 5  # words from which an answer can be read without its question
_TOPIC = 3  # words of a title that names a topic and not the decision
_MOST_OF_KIND = 3  # learnings or issues that a message shorter than a report may state one by one
_REPAIR = re.compile(r"\W*(?:fix|add|remove|update|replace|handle)(?:e?d|es|s)?\b", re.IGNORECASE)
CHOSEN = "The user chose it."  # the reason of a choice from options that an agent offered
_SAYS_MOST = {
    labels.DECISION: "decision", labels.ISSUE: "description", labels.LEARNING: "lesson", labels.DETAIL: "detail",
}  # fmt: skip
_OF_STATE = {"status": labels.STATE, "blockers": labels.BLOCKER} | dict.fromkeys(
    ("next_actions", "substeps_remaining"), labels.NEXT
)
_LONG = 600  # the most characters of a sentence that is searched
_LONGEST_NOTHING = 60  # characters of a text that says "none"
_PLACEHOLDER = "[Evicted: "  # the beginning of the placeholder for an evicted message (rules.md#window-eviction)
_MOST = 200_000  # characters of a message; a longer one was pasted
_PLAN = "ExitPlanMode"


class Extract(msgspec.Struct, frozen=True):
    """A statement extracted from a session: its text, its reason, and the alternatives that it rejects.

    - `label` is the kind of the statement, such as a decision: a constant of `statements.labels`.
    - `explicit` says that the statement has a label in the transcript, is a TODO comment, or is a choice that the user
      made when asked. If it has a label, `statement` has all that was read under the label; otherwise it is None.
    - `is_sure` says that the user made the statement, and that it was carried out or is a rule for the future.
    - `is_assent` says that the user only agreed to it: the words are the agent's.
    - `source` is the kind of the event with the statement, such as a prompt, and `moment` the event's time. `line` is
      its line in the transcript, and `place` its index among the events that were read.
    - `path` is the file of a TODO comment, otherwise "".
    - `title` is a short title, "" if the text can serve as the title.
    """

    label: str
    text: str
    explicit: bool
    reason: str = ""
    alternatives: tuple[str, ...] = ()
    source: str = ANSWER
    moment: str = ""
    path: str = ""
    statement: Statement | None = None
    line: int = 0
    is_sure: bool = False
    title: str = ""
    place: int = 0
    is_assent: bool = False

    @property
    def with_reasons(self) -> str:
        """The text, reason and alternatives on one line: "use Redis — Because: it persists — Instead of: a file"."""
        reason = [f"Because: {self.reason}"] if self.reason else []
        instead = [f"Instead of: {'; '.join(self.alternatives)}"] if self.alternatives else []
        return one_line(" — ".join([self.text, *reason, *instead]))


def of_events(events: Iterable[Event], *, is_later_part: bool = False) -> list[Extract]:
    """Extract the statements of a session from its events, in their order, each statement once.

    `is_later_part` says that the session began before these events, so that the first prompt among them is not the one
    that says what the session is for.
    """
    events = [_without_placeholders(event) for event in events]
    free: dict[int, list[Extract]] = {}
    for statement in dialogue.read(_turns(events), is_begun=is_later_part):
        free.setdefault(statement.turn, []).append(_stated_freely(statement, events[statement.turn]))
    extracts: dict[tuple[str, str], Extract] = {}
    has_edits = False  # whether files were changed since the last prompt
    for place, event in enumerate(events):
        if not event.agent and event.kind in (PROMPT, CALL):
            has_edits = event.kind == CALL and (has_edits or tool_calls.is_edit(event))
        for extract in _once(list(_of_event(event, has_edits=has_edits)), free.get(place, [])):
            key = (extract.label, comparable(_MEASURE.sub("#", extract.text)))
            extract = msgspec.structs.replace(extract, place=place)
            old = extracts.get(key)
            is_new_value = old is not None and comparable(old.text) != comparable(extract.text)
            if is_new_value or extract.label in (labels.NEXT, labels.STATE, labels.BLOCKER):
                extracts.pop(key, None)  # a repeated statement, or a later one on a measure, is at its latest place
                extracts[key] = extract
            elif old is None or (extract.explicit and not old.explicit) or (extract.reason and not old.reason):
                extracts[key] = extract
    return list(extracts.values())


def _turns(events: Sequence[Event]) -> Iterator[Turn]:
    """Yield the turns of a dialogue: messages of the user and the main agent, commits, and approved plans.

    The number of a turn is the index of its event.
    """
    results = {event.call: event for event in events if event.kind == RESULT and event.call}
    planned = {event.call for event in events if event.kind == CALL and event.tool == _PLAN}
    for place, event in enumerate(events):
        if event.agent:
            if event.kind == CALL and tool_calls.is_edit(event):
                yield Turn(dialogue.EDIT, "", place)
        elif event.kind == PROMPT:
            before = events[place - 1] if place else event
            is_refusal = before.kind == RESULT and before.is_error and words_of_refusal(before.text) == event.text
            yield Turn(USER, event.text, place, is_refusal)
        elif event.kind == ANSWER:
            yield Turn(dialogue.AGENT, event.text, place)
        elif event.kind == CALL:
            result = results.get(event.call)
            is_done = result is None or not result.is_error
            message = tool_calls.commit_message(event.arguments) if is_done else ""
            who = (
                dialogue.COMMIT
                if message
                else dialogue.EDIT
                if is_done and tool_calls.is_edit(event)
                else dialogue.ACTION
            )
            yield Turn(who, message, place)
        elif event.kind == RESULT and event.call in planned and not event.is_error:
            yield Turn(USER, event.text, place)


def _without_placeholders(event: Event) -> Event:
    """Return an event without the placeholders of evicted messages in its text."""
    if _PLACEHOLDER not in event.text or event.kind == RESULT:
        return event
    return msgspec.structs.replace(event, text=re.sub(rf"{re.escape(_PLACEHOLDER)}[^\]]*\]", "", event.text))


def _once(stated: list[Extract], free: list[Extract]) -> Iterator[Extract]:
    """Yield the statements of one event, of each kind from one source only.

    Labelled statements go before those of the dialogue (`free`), and these before single sentences.
    """
    labelled = {
        labels.ISSUE if extract.label in (labels.TODO, labels.BLOCKER) else extract.label
        for extract in stated
        if extract.explicit
    }
    in_dialogue = {extract.label for extract in free}
    yield from (extract for extract in stated if extract.explicit or extract.label not in in_dialogue)
    yield from (extract for extract in free if extract.label not in labelled)


def _stated_freely(statement: FreeStatement, event: Event) -> Extract:
    label = _LABELS[statement.kind]
    reason = statement.reason or (CHOSEN if statement.by == USER and statement.alternatives else "")
    source = PROMPT if statement.by == USER else ANSWER
    return Extract(
        label,
        statement.text,
        False,
        reason,
        statement.alternatives,
        source,
        event.moment,
        line=event.line,
        is_sure=statement.is_sure,
        title=statement.title,
        is_assent=statement.is_assent,
    )


def _of_event(event: Event, *, has_edits: bool) -> Iterator[Extract]:
    if event.kind == CALL:
        yield from _todos(event)
    elif event.kind == RESULT:
        yield from _choices(event)
    elif event.kind in (PROMPT, ANSWER, DIGEST) and not (event.kind == PROMPT and _is_given(event)):
        made: Sequence[Extract] = _labelled(event.text)
        if event.kind == DIGEST:
            made = [extract for extract in made if extract.label != labels.ISSUE]  # a digest lists resolved issues, too
        else:
            own = [
                extract for extract in made if event.kind == PROMPT and extract.label == labels.LEARNING
            ]  # each is the user's word
            made = [extract for extract in made if extract not in own]
            made = [*own, *_join_reported(made, event.text, has_edits=has_edits and event.kind == ANSWER)]
        free = _unlabelled(event.text) if event.kind != DIGEST and len(event.text) <= _MOST else ()
        for extract in (*made, *free):
            yield msgspec.structs.replace(extract, source=event.kind, moment=event.moment, line=event.line)


def _is_given(prompt: Event) -> bool:
    """Return whether a prompt is a task for a sub-agent or a plan, whose headings are context and not statements."""
    return bool(prompt.agent) or plans.read(prompt.text) is not None


def _join_reported(made: Sequence[Extract], text: str, *, has_edits: bool) -> Sequence[Extract]:
    """Return a message's labelled statements; many statements of one kind in one message are joined into one.

    Leaves out issues whose text names the fix, and numbered ones (`Bug 2: …`) that follow edits.
    """
    made = [extract for extract in made if not _is_no_issue(extract, has_edits=has_edits)]
    most = 1 if len(text) >= _REPORT else _MOST_OF_KIND
    joined = list[Extract]()
    for label, allowed in ((labels.LEARNING, most), (labels.ISSUE, most), (labels.DECISION, _MOST_OF_KIND)):
        several = [
            extract for extract in made if extract.label == label and not (extract.reason or extract.alternatives)
        ]
        several = [
            extract for extract in several if not (extract.statement and extract.statement.kind == labels.DETAIL)
        ]
        if len(several) > allowed:
            whole = "; ".join(extract.text.rstrip(".") for extract in several)[:_LONG]
            joined.append(msgspec.structs.replace(several[0], text=whole, statement=None, explicit=False))
            made = [extract for extract in made if extract not in several]
    return [*made, *joined]


def _is_no_issue(extract: Extract, *, has_edits: bool) -> bool:
    if extract.label != labels.ISSUE or extract.statement is None:
        return False
    return bool(_REPAIR.match(extract.text) or (has_edits and _COUNTED.match(extract.statement.source)))


def _labelled(text: str) -> tuple[Extract, ...]:
    """Return the labelled statements of a text."""
    return tuple(
        msgspec.structs.replace(extract, statement=made) for made in reader.read(text) for extract in _of(made)
    )


def _of(made: Statement) -> Iterator[Extract]:
    """Yield the extracts of a labelled statement: one for most labels, one per part for the state of the work."""
    if made.kind == labels.STATE:
        yield from _of_state(made)
        return
    text = one_line((made.title or made.text(_SAYS_MOST.get(made.kind, ""))).replace("**", ""))
    text = text if made.kind == labels.DECISION else units.without_marks(text)
    more = units.without_marks(made.text("decision")) if made.kind == labels.DECISION else ""
    if more and len(text.split()) <= _TOPIC and len(more) <= _LONG // 2:
        text = f"{text}: {more}" if text != more else text
    if is_nothing(text) or text.endswith(":") or (made.kind == labels.DECISION and _UNDECIDED.match(text)):
        return
    if made.kind == labels.DECISION:
        reason = one_line(made.text("rationale"))
        alternatives = tuple(one_line(item) for item in made.items("alternatives_considered") if not is_nothing(item))
        yield Extract(labels.DECISION, text, True, "" if is_nothing(reason) else reason, alternatives)
    elif made.kind == labels.ISSUE:
        if not (
            f"{text} {made.text('description')}".rstrip().endswith("?")
            or made.text("resolution")
            or cues.OVER.match(made.text("investigation_status"))
        ):
            yield Extract(labels.ISSUE, text, True)
    elif made.kind in (labels.LEARNING, labels.DETAIL):
        yield Extract(labels.LEARNING, text, True)
    elif made.kind in (labels.TODO, labels.SCOPE):
        yield Extract(made.kind, text, True)


def _of_state(made: Statement) -> Iterator[Extract]:
    percent = made.values.get("completion_percentage")
    if isinstance(percent, int):
        yield Extract(labels.STATE, completion.statement(percent), True)
    for field in made.content:
        label = _OF_STATE.get(field, "") if field != "substeps_remaining" or not made.title else ""
        for text in map(one_line, made.items(field) if label else ()):
            if label == labels.STATE:
                text = completion.without_leading(text)
            # "none" says something about the state and the next actions, and nothing about blockers.
            if not is_nothing(text) if label == labels.BLOCKER else is_meaningful(text):
                yield Extract(label, text, True)


def is_nothing(text: str) -> bool:
    """Return whether a text says that there is nothing to state, such as "none", "n/a" or "—"."""
    return len(text) <= _LONGEST_NOTHING and (not is_meaningful(text) or _nothing().fullmatch(text) is not None)


@cache  # compiled on first use, since few texts need it
def _nothing() -> re.Pattern[str]:
    kinds = "|".join(("notes?", "issues?", "bugs?", "problems?", "learnings?", "lessons?", "findings?", "blockers?",
                      "decisions?", "dependencies", "questions?", "todos?", "alternatives?", "insights?"))  # fmt: skip
    more = "yet|so far|for now|new|else|open|known|left|remaining|special|here|at (?:this|the) (?:time|moment|point)"
    tail = "to (?:report|note|add|mention|record)|worth (?:noting|mentioning|recording)"
    none = rf"no|none|nothing|nil|n\.?/?a\.?|no(?: (?:new|open|known|other|further|more|special))* (?:{kinds})"
    return re.compile(rf"[\W_]*(?:there (?:is|are|was|were) )?(?:{none})(?: (?:{more}|{tail}))*[\W_]*", re.IGNORECASE)


@lru_cache(maxsize=1024)  # a session's messages are read again with each part
def _unlabelled(text: str) -> tuple[Extract, ...]:
    """Return what the sentences of a text state without a label: decisions, blockers, numbered issues, percentages."""
    labelled = {line for made in reader.read(text) for line in range(made.line, made.end + 1)}
    extracts: list[Extract] = []
    for unit in units.units(text):
        if unit.form != units.SENTENCE or unit.line in labelled or len(unit.text) > _LONG:
            continue
        sentence = cues.NUMBERED.sub("", _MOMENT.sub("", units.without_marks(unit.text)))
        if sentences.kind_of(sentence) in (sentences.DECISION, sentences.REJECTED):
            choice = sentences.choice_in(sentence)
            if wishes.has_object(choice.text):  # not "We chose it"
                extracts.append(Extract(labels.DECISION, choice.text, False, choice.reason, choice.alternatives))
        for label, phrase in _PHRASES.items():
            if phrase.search(sentence) and not (cues.OVER.search(sentence) or sentence.endswith(("?", ":"))):
                extracts.append(Extract(label, sentence, False))
        for percent in completion.in_sentences(sentence)[:1]:
            extracts.append(Extract(labels.STATE, completion.statement(percent), False))
    return tuple(extracts)


def _todos(event: Event) -> Iterator[Extract]:
    """Yield the TODO comments in code that a call writes, each with its file."""
    names = ("file_path", "path", "notebook_path")
    path = next((event.arguments[k] for k in names if isinstance(event.arguments.get(k), str)), "")
    for match in (match for text in edits.texts_written(event) for match in _TODO.finditer(text)):
        text = one_line(match[1].rstrip("*/->): "))[:_LONG]
        yield Extract(labels.TODO, text, True, source=CALL, moment=event.moment, path=path, line=event.line)


def _choices(event: Event) -> Iterator[Extract]:
    """Yield the decisions in a user's answers to an agent's questions (AskUserQuestion), as "answer (question)"."""
    answers = event.details.get("answers")
    for question, answer in answers.items() if isinstance(answers, dict) else ():
        options = _options(event, question)
        if isinstance(answer, str) and answer.strip() and not _is_undecided(question, answer, options):
            *_, wording = [unit.text for unit in units.units(question) if unit.form == units.SENTENCE] or [question]
            answered = _RECOMMENDED.sub("", one_line(answer))
            is_offered = answer in options
            name = titles.capitalized(answered) if is_offered else titles.title_of(answered)
            yield Extract(
                labels.DECISION,
                f"{answered} ({one_line(wording)})"[:_LONG],
                is_offered or wishes.is_firm(answered),
                CHOSEN if is_offered else "",
                tuple(option for option in options if option != answer) if is_offered else (),
                PROMPT,
                event.moment,
                line=event.line,
                title=name if not is_offered and len(name.split()) >= _WHOLE else f"{name} ({one_line(wording)})",
            )


def _is_undecided(question: str, answer: str, options: list[str]) -> bool:
    """Return whether an answer decides nothing: it asks back, clarifies a prompt, or chooses the next step."""
    if _MEANT.match(question):
        return True
    return "?" in answer or (answer in options and _NEXT.search(question) is not None)


def _options(event: Event, question: str) -> list[str]:
    """Return the options of a question to the user."""
    questions = event.details.get("questions")
    for entry in questions if isinstance(questions, list) else ():
        if isinstance(entry, dict) and entry.get("question") == question and isinstance(entry.get("options"), list):
            names = [option.get("label") for option in entry["options"] if isinstance(option, dict)]
            return [one_line(name)[:_LONG] for name in names if isinstance(name, str)]
    return []
