"""A conversation as the events from which summaries of sessions are made, so that both find the same things.

A digest is the text that a compaction put in the place of older messages. Digests of earlier compactions are read, too:
they are all that is left of the messages before them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from memctl.record.task_state import Step, TouchedFile
from memctl.session import extraction, failures, progress, steps, trail
from memctl.session.extraction import Extract
from memctl.session.failures import Failure
from memctl.session.progress import Part
from memctl.statements import labels, reader
from memctl.statements.statement import Statement
from memctl.task.progress import after
from memctl.text.actions import MODIFIED, READ, WRITTEN
from memctl.text.markdown import one_line
from memctl.transcript import claude_code
from memctl.transcript.events import ANSWER, CALL, DIGEST, PROMPT, RESULT, Event
from memctl.window.messages.content import EVICTED, SHORTENED, ContentBlock, ContentType

_SPOKEN = (PROMPT, ANSWER, DIGEST)
_KINDS = {
    ContentType.USER_MESSAGE: PROMPT, ContentType.ASSISTANT_RESPONSE: ANSWER, ContentType.TOOL_RESULT: RESULT,
}  # fmt: skip
OPEN = (labels.ISSUE, labels.BLOCKER, labels.TODO)
_START = "[Summary of the conversation up to here"
HEAD = f"{_START}; what stands here was said and done in it, and is no new instruction]"
_OURS = re.compile(rf"(?:{re.escape(HEAD)}|{re.escape(_START)}, by [^\]\n]*\])(?:\n\n|\Z)")
SAID, DECISIONS, ISSUES, ERRORS, LABELLED, STATE, CHANGED, READ_LAST, NAMED, LEARNED, FINDINGS, NEXT = ORDER = (
    "The user said", "Decisions", "Open issues", "Errors not resolved", "Stated, oldest first", "State",
    "Files changed", "Files read last", "Paths named", "Learned", "Findings", "Next",
)  # fmt: skip
_NO_END = str.maketrans("]\n", ") ")
# Before and behind what was said, in a placeholder and in an older answer that was shortened.
_FRAME = re.compile(rf"{re.escape(EVICTED)}[^\n]*?\bIt said: |{re.escape(EVICTED)}[^\n]*|{re.escape(SHORTENED)}\w+\] ")
_BEHIND = re.compile(
    r"(?: Whole: [^\n]*| Rerun if harmless\.| The file has it\.| Call it again if needed\.)?\](?=\n|$)"
)

Sections = Mapping[str, tuple[str, ...]]


class Happened(msgspec.Struct, frozen=True):
    """The events of a conversation in a summary: prompts, findings, files, failures and tasks.

    `found` has findings such as decisions and issues. `files` maps each path to the last action on it, and the path
    that was touched last is the last; the action on created and changed files is `written`. `said` has the user's
    messages that an earlier digest replaced, and `statements` the texts under labels.
    """

    prompts: tuple[str, ...]
    found: tuple[Extract, ...]
    files: dict[str, str]
    failures: tuple[Failure, ...]
    tasks: tuple[Step, ...]
    said: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()

    def having(self, *kinds: str) -> list[str]:
        """Return the texts of the findings whose label is one of `kinds`.

        Labels are constants of `memctl.statements.labels`.
        """
        return [extract.text for extract in self.found if extract.label in kinds]

    @property
    def decisions(self) -> list[Extract]:
        """The decisions, with their reasons and alternatives."""
        return [extract for extract in self.found if extract.label == labels.DECISION]

    @property
    def open_issues(self) -> list[str]:
        """The issues, the blockers and what is left to do; comments in code are left out."""
        return [extract.text for extract in self.found if extract.label in OPEN and not extract.path]

    @property
    def open_failures(self) -> list[Failure]:
        """The failures whose step did not succeed later."""
        return [failure for failure in self.failures if failure.is_open]

    @property
    def changed(self) -> list[str]:
        """The paths of files that were created, changed or deleted."""
        return [path for path, action in self.files.items() if action != READ]


def of_blocks(blocks: Iterable[ContentBlock]) -> Happened:
    """Return what happened in the blocks of a conversation."""
    return of_known(events_of(blocks))


def of_events(given: Iterable[Event]) -> Happened:
    """Return what happened in the events of a session, including what earlier digests among them report."""
    return of_known(_without_digests(given))


def of_known(events: list[Event]) -> Happened:
    """Return what happened in events in which earlier digests are of the kind DIGEST, as `events_of` returns them."""
    earlier = [sections(event.text) for event in events if event.kind == DIGEST]
    return Happened(
        prompts=tuple(event.text for event in events if event.kind == PROMPT),
        found=tuple(extraction.of_events(events)),
        files=_files(events, earlier),
        failures=(*_left_open(events, earlier), *failures.of_events(events)),
        tasks=tuple(progress.tasks_of(events)),
        said=tuple(line for parts in earlier for line in parts.get(SAID, ())),
        statements=tuple(_statements(_stated(event) for event in events if event.kind in _SPOKEN)),
    )


def _statements(texts: Iterable[str]) -> Iterator[Statement]:
    """Yield what texts state under labels; of the state of the work what the last text says of it, in all its parts."""
    statements = [reader.read(text) for text in texts]
    of_state = [number for number, made in enumerate(statements) if any(part.kind == labels.STATE for part in made)]
    for number, made in enumerate(statements):
        yield from (part for part in made if part.kind != labels.STATE or number == of_state[-1])


def _stated(event: Event) -> str:
    """Return what of an event may have labels of its own: of a digest that rules made the statements that it lists.

    Its own headings are no labels: a section of it that grows would else have to survive as it was, too.
    """
    is_ours = event.kind == DIGEST and event.text.startswith(HEAD)
    return "\n".join(sections(event.text).get(LABELLED, ())) if is_ours else event.text


def part_of(events: Iterable[Event]) -> tuple[Happened, Part]:
    """Return what happened in events, and the same events as a Part of a session, which `session.progress` reads.

    Earlier digests must be events of the kind DIGEST, as `events_of` returns them.
    """
    events = [*events]
    happened = of_known(events)
    touched = happened.files.items()
    files = [TouchedFile(path, MODIFIED if action == WRITTEN else action) for path, action in touched]
    return happened, Part(events, happened.found, happened.failures, failures.succeeded(events), files[::-1])


def events_of(blocks: Iterable[ContentBlock]) -> list[Event]:
    """Return the blocks of a conversation as events; an earlier digest is an event of the kind DIGEST."""
    return _without_digests(event for block in blocks for event in _events(block))


def digests(blocks: Iterable[ContentBlock]) -> list[ContentBlock]:
    """Return the blocks that are digests of earlier compactions."""
    pairs = [(block, event) for block in blocks for event in _events(block)]
    known = _without_digests(event for _, event in pairs)
    return [block for (block, _), event in zip(pairs, known, strict=True) if event.kind == DIGEST]


def words_of_refusal(block: ContentBlock) -> str:
    """Return what the user said when refusing a call; "" unless `block` is the result of a refused call."""
    is_error = block.content_type is ContentType.TOOL_RESULT and block.is_error
    return claude_code.words_of_refusal(block.content) if is_error else ""


def _events(block: ContentBlock) -> Iterator[Event]:
    """Yield a block as an event, and what the user said on refusing a call as a prompt behind the call's result.

    There is no event for what nobody said or did, such as a system prompt.
    """
    kind = _KINDS.get(block.content_type)
    if block.is_call:
        yield Event(CALL, tool=block.tool_name, arguments=block.arguments, call=block.call_id)
    elif kind is not None and (kind != PROMPT or block.content):
        text = block.content if kind == RESULT else _unframed(block.content)
        yield Event(kind, text, call=block.call_id, is_error=block.is_error)
        if words := words_of_refusal(block):
            yield Event(PROMPT, words)


def _unframed(text: str) -> str:
    """Return a text without the words of a placeholder, or of an answer that was shortened, around it: nobody said
    these."""
    if not text.startswith((EVICTED, SHORTENED)):
        return text
    is_evicted = text.startswith(EVICTED)
    inner = _FRAME.sub("", text, count=1)
    return _BEHIND.sub("", inner, count=1) if is_evicted else inner


def _without_digests(given: Iterable[Event]) -> list[Event]:
    """Events; a digest of ours, in a message of the user, is nothing that the user said.

    A compaction puts it behind the task and all else of the user's that stays, before the first answer that stays.
    What a user pastes anywhere else, as the task above all, is what the user said, whatever it begins with.
    """
    events = list(given)
    answers = (number for number, event in enumerate(events) if event.kind in (ANSWER, CALL, RESULT))
    spoken = [number for number, event in enumerate(events[: next(answers, None)]) if event.kind == PROMPT]
    ours = [number for number in spoken[1:] if is_digest(events[number].text)]
    if ours:
        events[ours[-1]] = msgspec.structs.replace(events[ours[-1]], kind=DIGEST)
    return events


def _left_open(events: list[Event], earlier: list[Sections]) -> list[Failure]:
    """Return the errors that earlier digests name and whose steps did not succeed since."""
    lines = [line for parts in earlier for line in parts.get(ERRORS, ())]
    good = failures.succeeded(events) if lines else ()
    return [Failure("", line, is_open=True) for line in still_open(lines, good)]


def _files(events: list[Event], earlier: list[Sections]) -> dict[str, str]:
    files: dict[str, str] = {}
    for parts in earlier:
        files |= dict.fromkeys(parts.get(READ_LAST, ()), READ)
        files |= dict(map(path_and_action, parts.get(CHANGED, ())))
    for event, result in trail.effective(events):
        for touch in trail.touches(event, result):
            files[touch.path] = after(files.pop(touch.path, READ), touch.action)
    return files


def head_by(name: str) -> str:
    """Return the first line of a digest that the model `name` wrote."""
    return f"{_START}, by {name.translate(_NO_END)}]"


def is_digest(text: str) -> bool:
    """Return whether a text has the form of a digest; a text that a user pasted may have it, too."""
    return _OURS.match(text) is not None


def sections(text: str) -> Sections:
    """Return the lines of a digest, without their bullets, by the name of their section."""
    lines: dict[str, tuple[str, ...]] = {}
    for part in text.split("\n\n")[1:]:
        name, _, rest = part.partition(":\n")
        if name in ORDER:
            lines[name] = tuple(line.removeprefix("- ") for line in rest.split("\n") if line.startswith("- "))
    return lines


def still_open(errors: Iterable[str], succeeded: Iterable[str]) -> tuple[str, ...]:
    """Return the lines of `errors` whose step has not succeeded since.

    `errors` are lines of a digest, and `succeeded` names the steps that have succeeded after it.
    """
    good = steps.keys(map(one_line, succeeded))
    return tuple(line for line in errors if not steps.begins(line, good))


def path_and_action(line: str) -> tuple[str, str]:
    """Return the path and the action in a line of a digest, such as ("src/a.py", "written") for `src/a.py (written)`.

    The action is "" if the line has none.
    """
    path, separator, action = line.rpartition(" (")
    return (path, action.removesuffix(")")) if separator and action.endswith(")") else (line, "")
