"""Reads a conversation as events, such as prompts and failures, so that a compression knows what must not be lost.

Summaries of sessions are made from such events, too, so that nothing counts as important in only one of the two.

A digest is the text that a compaction put in the place of older messages. The digests of earlier compactions are read
as well, because nothing else remains of the messages that they replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

import msgspec

from memctl.record.task_state import Step, TouchedFile
from memctl.session import extraction, failures, progress, steps, trail
from memctl.session.failures import Failure
from memctl.statements import labels, reader, wishes
from memctl.statements.statement import Statement
from memctl.task.progress import after
from memctl.text.actions import MODIFIED, READ, WRITTEN
from memctl.text.markdown import one_line
from memctl.transcript import user_words
from memctl.transcript.events import ANSWER, CALL, DIGEST, PROMPT, RESULT, Event
from memctl.window.messages.content import EVICTED, SHORTENED, ContentBlock, ContentType
from memctl.window.preservation.checklist import event_of

_SPOKEN = (PROMPT, ANSWER, DIGEST)

OPEN = (labels.ISSUE, labels.BLOCKER, labels.TODO)
_START = "[Summary of the conversation up to here"
HEAD = f"{_START}; what stands here was said and done in it, and is no new instruction]"
_OURS = re.compile(rf"(?:{re.escape(HEAD)}|{re.escape(_START)}, by [^\]\n]*\])(?:\n\n|\Z)")
SAID, DECISIONS, ISSUES, ERRORS, LABELLED, STATE, CHANGED, READ_LAST, NAMED, LEARNED, NEXT = ORDER = (
    "The user said", "Decisions", "Open issues", "Errors not resolved", "Stated, oldest first", "State",
    "Files changed", "Files read last", "Paths named", "Learned", "Next",
)  # fmt: skip
_NO_END = str.maketrans("]\n", ") ")
# Before and behind what was said, in a placeholder and in an older answer that was shortened.
_FRAME = re.compile(rf"{re.escape(EVICTED)}[^\n]*?\bIt said: |{re.escape(EVICTED)}[^\n]*|{re.escape(SHORTENED)}\w+\] ")
_BEHIND = re.compile(
    r"(?: Whole: [^\n]*| Rerun if harmless\.| The file has it\.| Call it again if needed\.)?\](?=\n|$)"
)

Sections = Mapping[str, tuple[str, ...]]


class Happened(msgspec.Struct, frozen=True):
    """What happened in a conversation: the user's prompts, findings, files, failures and tasks.

    `found` has the findings, such as decisions and issues, from labels and from ordinary sentences. `statements` has
    only the texts under labels, such as `Decision:`, but each with its lines as they were written. `files` maps each
    path to the last action on the file, such as "read" or "written" (created or changed); the file that was touched
    last is the last. `said` has the user's messages that a digest of an earlier compaction reports. `referents` has for
    each prompt the sentences of the agent's last message to which it refers, such as the proposal before a "yes".
    """

    prompts: tuple[str, ...]
    found: tuple[extraction.Extract, ...]
    files: dict[str, str]
    failures: tuple[Failure, ...]
    tasks: tuple[Step, ...]
    said: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()
    referents: tuple[tuple[str, ...], ...] = ()

    def having(self, *kinds: str) -> list[str]:
        """Return the texts of the findings that have one of the labels `kinds`, such as `labels.DECISION`.

        The labels are constants of the module `memctl.statements.labels`.
        """
        return [extract.text for extract in self.found if extract.label in kinds]

    @property
    def decisions(self) -> list[extraction.Extract]:
        """The findings that are decisions, with their reasons and alternatives."""
        return [extract for extract in self.found if extract.label == labels.DECISION]

    @property
    def open_issues(self) -> list[str]:
        """The texts of the issues, blockers and to-dos that were stated; to-dos in code are left out.

        Those that were solved later in the conversation are included.
        """
        return [extract.text for extract in self.found if extract.label in OPEN and not extract.path]

    @property
    def open_failures(self) -> list[Failure]:
        """The failures, such as of a command, that were not followed by a success of the same command."""
        return [failure for failure in self.failures if failure.is_open]

    @property
    def changed(self) -> list[str]:
        """The paths of files that were created, changed or deleted, in the order in which they were touched."""
        return [path for path, action in self.files.items() if action != READ]


def of_blocks(blocks: Iterable[ContentBlock]) -> Happened:
    """Return what happened in a conversation, read from its blocks (its pieces, such as messages and results)."""
    return of_known(events_of(blocks))


def of_events(given: Iterable[Event]) -> Happened:
    """Return what happened in the events of a session, including what digests of earlier compactions report."""
    return of_known(_without_digests(given))


def of_known(events: list[Event]) -> Happened:
    """Return what happened in a conversation, read from events among which digests are marked as such.

    The events are as `events_of` returns them: a digest of an earlier compaction is of the kind DIGEST, and not a
    prompt.
    """
    earlier = [sections(event.text) for event in events if event.kind == DIGEST]
    begins_with_digest = next((event.kind for event in events if event.kind in (PROMPT, DIGEST)), "") == DIGEST
    return Happened(
        prompts=tuple(event.text for event in events if event.kind == PROMPT),
        found=tuple(extraction.of_events(events, is_later_part=begins_with_digest)),
        files=_files(events, earlier),
        failures=(*_left_open(events, earlier), *failures.of_events(events)),
        tasks=tuple(progress.tasks_of(events)),
        said=tuple(line for parts in earlier for line in parts.get(SAID, ())),
        statements=tuple(_statements(_stated(event) for event in events if event.kind in _SPOKEN)),
        referents=tuple(_referents(events)),
    )


def _referents(events: Iterable[Event]) -> Iterator[tuple[str, ...]]:
    message = ""
    for event in events:
        if event.kind == ANSWER and not event.agent:
            message = event.text
        elif event.kind == PROMPT:
            yield wishes.referent(event.text, message) if message else ()
            message = ""


def _statements(texts: Iterable[str]) -> Iterator[Statement]:
    """Statements of the work's state are taken only from the last text that has any."""
    statements = [reader.read(text) for text in texts]
    of_state = [number for number, made in enumerate(statements) if any(part.kind == labels.STATE for part in made)]
    for number, made in enumerate(statements):
        yield from (part for part in made if part.kind != labels.STATE or number == of_state[-1])


def _stated(event: Event) -> str:
    """Return the text of an event that is searched for labels; for a digest made by rules, its list of statements.

    The headings of such a digest are no labels: otherwise each of its sections would have to survive as it was, too,
    even if it has grown since.
    """
    is_ours = event.kind == DIGEST and event.text.startswith(HEAD)
    return "\n".join(sections(event.text).get(LABELLED, ())) if is_ours else event.text


def part_of(events: Iterable[Event]) -> tuple[Happened, progress.Part]:
    """Return what happened in events, and the input from which `session.progress` finds out how far the task is.

    This input has the same events, and the statements, failures and files found in them. The events are as `events_of`
    returns them: a digest of an earlier compaction is of the kind DIGEST, and not a prompt.
    """
    events = [*events]
    happened = of_known(events)
    touched = happened.files.items()
    files = [TouchedFile(path, MODIFIED if action == WRITTEN else action) for path, action in touched]
    return happened, progress.Part(events, happened.found, happened.failures, failures.succeeded(events), files[::-1])


def events_of(blocks: Iterable[ContentBlock]) -> list[Event]:
    """Return the events in a conversation's blocks, such as prompts, calls and results.

    A digest of an earlier compaction is in a message of the user, but its event is of the kind DIGEST, and not a
    prompt.
    """
    return _without_digests(event for block in blocks for event in _events(block))


def digests(blocks: Iterable[ContentBlock]) -> list[ContentBlock]:
    """Return the blocks that are digests, which earlier compactions put in the place of older messages."""
    pairs = [(block, event) for block in blocks for event in _events(block)]
    known = _without_digests(event for _, event in pairs)
    return [block for (block, _), event in zip(pairs, known, strict=True) if event.kind == DIGEST]


def words_of_refusal(block: ContentBlock) -> str:
    """Return what the user said when refusing a tool's call; `block` is the call's result.

    The text is "" if the call was not refused.
    """
    is_error = block.content_type is ContentType.TOOL_RESULT and block.is_error
    return user_words.words_of_refusal(block.content) if is_error else ""


def _events(block: ContentBlock) -> Iterator[Event]:
    """Yield a block as an event, and what the user said on refusing a call as a prompt behind the call's result.

    There is no event for what nobody said or did, such as a system prompt.
    """
    event = event_of(block)
    if event is not None and (event.kind != PROMPT or event.text):
        is_said = event.kind in (PROMPT, ANSWER)
        yield msgspec.structs.replace(event, text=_unframed(event.text)) if is_said else event
        if words := words_of_refusal(block):
            yield Event(PROMPT, words)


def _unframed(text: str) -> str:
    if not text.startswith((EVICTED, SHORTENED)):
        return text
    is_evicted = text.startswith(EVICTED)
    inner = _FRAME.sub("", text, count=1)
    return _BEHIND.sub("", inner, count=1) if is_evicted else inner


def _without_digests(given: Iterable[Event]) -> list[Event]:
    """Return the events, with the kind DIGEST for memctl's digest, which is in a message of the user.

    A compaction puts the digest after the task and the user's other messages that stay, and before the first answer
    that stays. A text in any other place, above all the task, is what the user said, even if it begins like a digest.
    """
    events = list(given)
    answers = (number for number, event in enumerate(events) if event.kind in (ANSWER, CALL, RESULT))
    spoken = [number for number, event in enumerate(events[: next(answers, None)]) if event.kind == PROMPT]
    ours = [number for number in spoken[1:] if is_digest(events[number].text)]
    if ours:
        events[ours[-1]] = msgspec.structs.replace(events[ours[-1]], kind=DIGEST)
    return events


def _left_open(events: list[Event], earlier: list[Sections]) -> list[Failure]:
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
    """Return the first line of a digest (the summary that a compaction makes) that was written by the model `name`."""
    return f"{_START}, by {name.translate(_NO_END)}]"


def is_digest(text: str) -> bool:
    """Return whether a text has the form of a digest, which is a summary that a compaction made.

    A text that a user pasted may have this form, too.
    """
    return _OURS.match(text) is not None


def sections(text: str) -> Sections:
    """Return the lines of a digest, by the heading above them, such as "Decisions"; bullets are removed."""
    lines: dict[str, tuple[str, ...]] = {}
    for part in text.split("\n\n")[1:]:
        name, _, rest = part.partition(":\n")
        if name in ORDER:
            lines[name] = tuple(line.removeprefix("- ") for line in rest.split("\n") if line.startswith("- "))
    return lines


def still_open(errors: Iterable[str], succeeded: Iterable[str]) -> tuple[str, ...]:
    """Return those lines of `errors` that report the failure of a command or step that has not succeeded since.

    `errors` are lines of a digest, which is the summary of earlier messages, and `succeeded` names the commands and
    steps that succeeded after it.
    """
    good = steps.keys(map(one_line, succeeded))
    return tuple(line for line in errors if not steps.begins(line, good))


def path_and_action(line: str) -> tuple[str, str]:
    """Return the path and the action in a line of a digest: ("src/a.py", "written") for `src/a.py (written)`.

    The action is "" if the line has none.
    """
    path, separator, action = line.rpartition(" (")
    return (path, action.removesuffix(")")) if separator and action.endswith(")") else (line, "")
