"""A conversation as the events that summaries of sessions are made from, so that both find the same things in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from memctl.record.task_state import READ, Step
from memctl.session import extraction, failures, progress, trail
from memctl.session.extraction import Extract
from memctl.session.failures import Failure
from memctl.statements import labels, reader
from memctl.statements.statement import Statement
from memctl.task.progress import after
from memctl.transcript.events import ANSWER, CALL, DIGEST, PROMPT, RESULT, Event
from memctl.window.messages.content import ContentBlock, ContentType
from memctl.window.preservation import digest_text
from memctl.window.preservation.digest_text import Sections

_SPOKEN = (PROMPT, ANSWER, DIGEST)
OPEN = (labels.ISSUE, labels.BLOCKER, labels.TODO)


class Happened(msgspec.Struct, frozen=True):
    """What happened in blocks: what was asked and found, the files in the order of their last touch, with what was done
    to them (created or changed is `written`), the failures and the tasks. `said` is what the user had said before,
    as earlier digests tell it, `statements` what has a label.
    """

    prompts: tuple[str, ...]
    found: tuple[Extract, ...]
    files: dict[str, str]
    failures: tuple[Failure, ...]
    tasks: tuple[Step, ...]
    said: tuple[str, ...] = ()
    statements: tuple[Statement, ...] = ()

    def having(self, *kinds: str) -> list[str]:
        """The texts of what was found of some kinds (labels of `memctl.session.labels`)."""
        return [one.text for one in self.found if one.label in kinds]

    @property
    def decisions(self) -> list[Extract]:
        """The decisions, with their reasons and alternatives."""
        return [one for one in self.found if one.label == labels.DECISION]

    @property
    def open_issues(self) -> list[str]:
        """Issues, blockers and what is left to do; what a comment in code says of that stands in its file."""
        return [one.text for one in self.found if one.label in OPEN and not one.path]

    @property
    def open_failures(self) -> list[Failure]:
        """The failures that were not seen to come right."""
        return [failure for failure in self.failures if failure.is_open]

    @property
    def changed(self) -> list[str]:
        """The files that were created, changed or deleted."""
        return [path for path, action in self.files.items() if action != READ]


def of_blocks(blocks: Iterable[ContentBlock]) -> Happened:
    """What happened in blocks."""
    return of_told(told(blocks))


def of_events(given: Iterable[Event]) -> Happened:
    """What happened in the events of a session; what an earlier digest among them says is in it."""
    return of_told(_known(given))


def of_told(events: list[Event]) -> Happened:
    """The same of events of which digests are known, as of those of `told`."""
    earlier = [digest_text.sections(event.text) for event in events if event.kind == DIGEST]
    return Happened(
        prompts=tuple(event.text for event in events if event.kind == PROMPT),
        found=tuple(extraction.of_events(events)),
        files=_files(events, earlier),
        failures=(*_left_open(events, earlier), *failures.of_events(events)),
        tasks=tuple(progress.tasks_of(events)),
        said=tuple(line for sections in earlier for line in sections.get(digest_text.SAID, ())),
        statements=tuple(made for event in events if event.kind in _SPOKEN for made in reader.read(event.text)),
    )


def arguments_of(call: ContentBlock) -> dict[str, Any]:
    """The arguments of a call by their names, {} if they are no JSON object, or one that is nested too deep."""
    try:
        return msgspec.json.decode(call.content, type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError):
        return {}


def told(blocks: Iterable[ContentBlock]) -> list[Event]:
    """The events that blocks tell of."""
    return _known(event for block in blocks if (event := _event(block)))


def digests(blocks: Iterable[ContentBlock]) -> list[ContentBlock]:
    """The blocks that are digests of earlier compactions."""
    found = [(block, event) for block in blocks if (event := _event(block))]
    known = _known(event for _, event in found)
    return [block for (block, _), event in zip(found, known, strict=True) if event.kind == DIGEST]


def _event(block: ContentBlock) -> Event | None:
    if block.is_call:
        return Event(CALL, tool=block.tool_name, arguments=arguments_of(block), call=block.call_id)
    if block.content_type is ContentType.TOOL_RESULT:
        return Event(RESULT, block.content, call=block.call_id, is_error=block.is_error)
    if block.content_type is ContentType.USER_MESSAGE and block.content:
        return Event(PROMPT, block.content)
    if block.content_type is ContentType.ASSISTANT_RESPONSE:
        return Event(ANSWER, block.content)
    return None


def _known(given: Iterable[Event]) -> list[Event]:
    """Events; a digest of ours, which stands in a message of the user, is none of what the user said.

    A compaction puts it behind the task and all else of the user's that stays, before the first answer that stays.
    What a user pastes anywhere else, as the task above all, is what the user said, whatever it begins with.
    """
    events = list(given)
    answers = (number for number, event in enumerate(events) if event.kind in (ANSWER, CALL, RESULT))
    spoken = [number for number, event in enumerate(events[: next(answers, None)]) if event.kind == PROMPT]
    ours = [number for number in spoken[1:] if digest_text.is_ours(events[number].text)]
    if ours:
        events[ours[-1]] = msgspec.structs.replace(events[ours[-1]], kind=DIGEST)
    return events


def _left_open(events: list[Event], earlier: list[Sections]) -> list[Failure]:
    """The errors that earlier digests name and whose steps did not succeed since."""
    lines = [line for sections in earlier for line in sections.get(digest_text.ERRORS, ())]
    good = failures.succeeded(events) if lines else ()
    return [Failure("", line, is_open=True) for line in digest_text.still_open(lines, good)]


def _files(events: list[Event], earlier: list[Sections]) -> dict[str, str]:
    files: dict[str, str] = {}
    for sections in earlier:
        files |= dict.fromkeys(sections.get(digest_text.READ_LAST, ()), READ)
        files |= dict(map(digest_text.changed, sections.get(digest_text.CHANGED, ())))
    for event, result in trail.effective(events):
        for touch in trail.touches(event, result):
            files[touch.path] = after(files.pop(touch.path, READ), touch.action)
    return files
