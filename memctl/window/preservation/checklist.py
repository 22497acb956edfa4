"""An independent list of what a conversation must still contain after a compression; it is used only for checks.

The list is simple on purpose, and shares no pattern and no code with the modules that choose what a compression keeps:
otherwise, what these modules overlook would be lost unnoticed. The list has lines that begin with a label, such as
`Decision:`, short messages of the user, names and figures in what the user agreed to, the paths of edited files, and
lines that name an error in the last ten results of tools. Results of tools are not searched for labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import msgspec

from memctl.transcript.events import ANSWER, CALL, DIGEST, PROMPT, RESULT, Event
from memctl.transcript.user_words import words_of_refusal
from memctl.window.messages.content import ContentBlock, ContentType

LINE, MESSAGE, AGREED, PATH, ERROR = (
    "labelled line", "message of the user", "name in what the user agreed to", "edited path", "error line",
)  # fmt: skip
_LABELS = (
    "DECISION|CRITICAL|TASK|BLOCKER|LESSON|TODO|Decision|Rationale|Alternatives|Validated|Agent|Critical|Modified|Changes"
    "|Reason|Impact|Repro|Reproduction|Status|Attempted|Next|Next actions|Next steps|Task|Progress|Blocker|Blockers"
    "|Lesson|Ownership|Phase|Importance|Severity|Tags"
)
_TIME = r"(?:\[[^\]]{4,40}\] ?|\d{4}-\d\d-\d\d\S{0,30} |\d\d:\d\d\S{0,20} )"
_BEFORE = rf"[\s>|*_+#\u25cf\u2022-]{{0,40}}(?:\d{{1,3}}[.)] )?(?:{_TIME}[*_\s]{{0,4}}){{0,2}}[*_\s]{{0,4}}"
_REPLACED = "Next"  # of lines with this label the last counts: the ones before it are over
_LABELLED = re.compile(rf"{_BEFORE}((?:{_LABELS})[*_]{{0,2}}:[*_]{{0,2}}\s+\S|(?:BUG|ISSUE)-\d)")
_SHORT = 500  # characters of a message of the user
_AGREES = re.compile(
    r"\W*(?:yes|yeah|yep|ok|okay|sure|do (?:it|that)|go ahead|(\d)(?!\s+(?!and\b|please\b)\w))\b\W*(?:\w+\b\W*){0,4}",
    re.IGNORECASE,
)
_END_OF_ANSWER = 350  # characters of it in which the names are looked for; an option is looked for in all of it
_NAME = re.compile(r"\b(?=[\w./@:-]*[\d_/])\w[\w./@:-]*\w")
_RESULTS = 10  # the last ones, in which lines with errors are looked for
_ERROR = re.compile(
    r"\s*(?:E {2,8}\S|(?:[A-Za-z_.]*(?:Error|Exception)|ERROR|[Ee]rror|FAILED|FATAL|[Ff]atal|panic)\b:? \S)"
)
_EDITS = re.compile(r"edit|write|patch|replace|create", re.IGNORECASE)
_NAMES = ("file_path", "path", "notebook_path", "filename")
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (\S.*)$", re.MULTILINE)
_END = " \t*_|."
_ENOUGH = 20  # characters that tell it from others without its label
_KINDS = {
    ContentType.USER_MESSAGE: PROMPT, ContentType.ASSISTANT_RESPONSE: ANSWER, ContentType.TOOL_RESULT: RESULT,
}  # fmt: skip


class Entry(msgspec.Struct, frozen=True):
    """One thing that a compressed context must still contain: its kind, and its text on one line."""

    kind: str
    text: str


def of_events(events: Iterable[Event]) -> list[Entry]:
    """Return the things in a session's events that a compression must keep, each of them once.

    The events of sub-agents are left out, because they are in other windows.
    """
    return list(dict.fromkeys(_entries([event for event in events if not event.agent])))


def of_blocks(blocks: Sequence[ContentBlock]) -> list[Entry]:
    """Return the things in a conversation's blocks (its pieces) that a compression must keep, each of them once."""
    return of_events(event for block in blocks if (event := event_of(block)))


def text_of(blocks: Iterable[ContentBlock]) -> str:
    """Return the text of a conversation's blocks, for a search in it.

    If the arguments of a tool's call contain escapes of JSON, such as for line ends, the call's texts are added a
    second time without the escapes.
    """
    texts = []
    for block in blocks:
        texts.append(block.content)
        if block.is_call and "\\" in block.content:
            texts += [value for value in block.arguments.values() if isinstance(value, str)]
    return "\n".join(texts)


def present(wanted: Iterable[Entry], blocks: Iterable[ContentBlock]) -> list[Entry]:
    """Return those entries of the list `wanted` that a conversation's blocks contain."""
    wanted = list(wanted)
    gone = missing(wanted, text_of(blocks))
    return [entry for entry in wanted if entry not in gone]


def missing(wanted: Iterable[Entry], text: str) -> list[Entry]:
    """Return those entries of the list `wanted` that a text does not contain; white space makes no difference.

    If an entry is a line with a label, it is enough that one line of the text has all of its words.
    """
    plain = _plain(text)
    lost = [entry for entry in wanted if entry.text not in plain]
    if not any(entry.kind == LINE for entry in lost):
        return lost
    lines = [_words(line) for line in text.split("\n")]
    return [entry for entry in lost if entry.kind != LINE or not any(_words(entry.text) <= line for line in lines)]


def _words(line: str) -> set[str]:
    return set(re.findall(r"\w+", line.lower()))


def _plain(text: str) -> str:
    return " ".join(text.split())


def event_of(block: ContentBlock) -> Event | None:
    """Return a block as an event of a session: a call, a prompt, an answer or a result; None if it is none of them."""
    if block.is_call:
        return Event(CALL, tool=block.tool_name, arguments=block.arguments, call=block.call_id)
    kind = _KINDS.get(block.content_type)
    return Event(kind, block.content, call=block.call_id, is_error=block.is_error) if kind else None


def _entries(events: Sequence[Event]) -> Iterator[Entry]:
    failed = {event.call for event in events if event.kind == RESULT and event.is_error}
    labelled = [line for event in events if event.kind in (PROMPT, ANSWER, DIGEST) for line in _labelled(event.text)]
    steps = [line for line in labelled if line.startswith(_REPLACED)]
    for line in labelled:
        if line not in steps[:-1]:
            words = line.partition(":")[2].strip(_END)
            yield Entry(LINE, words if len(words) >= _ENOUGH else line)
    spoken = [event for event in events if event.kind in (PROMPT, ANSWER)]
    for before, event in pairwise(spoken):
        if before.kind == ANSWER and event.kind == PROMPT:
            yield from (Entry(AGREED, name) for name in _agreed(event.text, before.text))
    for event in events:
        if event.kind == PROMPT and len(event.text) < _SHORT and event.text.strip():
            yield Entry(MESSAGE, _plain(event.text))
        elif event.kind == RESULT and event.is_error:
            if 0 < len(words := _plain(words_of_refusal(event.text))) < _SHORT:
                yield Entry(MESSAGE, words)
        elif event.kind == CALL and event.call not in failed and _EDITS.search(event.tool):
            yield from (Entry(PATH, path) for path in _edited(event))
    for event in [event for event in events if event.kind == RESULT][-_RESULTS:]:
        yield from (Entry(ERROR, _plain(line)) for line in event.text.split("\n") if _ERROR.match(line))


def _labelled(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if match := _LABELLED.match(line):
            yield _plain(line[match.start(1) :]).strip(_END)


def _agreed(reply: str, answer: str) -> list[str]:
    match = _AGREES.fullmatch(reply[:_SHORT])
    if match is None:
        return []
    options = [line for line in answer.split("\n") if match[1] and re.match(rf"[\s*#]*{match[1]}\b", line)]
    end = answer if len(answer) <= _END_OF_ANSWER else answer[-_END_OF_ANSWER:].partition(" ")[2]
    return _NAME.findall(options[-1][:_SHORT].partition(match[1])[2] if options else end)


def _edited(call: Event) -> Iterator[str]:
    for name in _NAMES:
        if isinstance(path := call.arguments.get(name), str) and path.strip():
            yield path.strip()
    for value in call.arguments.values():
        if isinstance(value, str):
            yield from _PATCHED.findall(value)
