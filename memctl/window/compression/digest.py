"""What a part of a conversation came to, in sections: what a compaction puts in its place.

What it keeps: rules.md#window-compression. It is the state of the task, as checkpoints have it, with what was said
under labels and what was found. A later digest goes on from an earlier one as summaries of sessions are merged
(rules.md#session-summary): what the user said and decisions are appended, files are merged per path, next steps are
replaced, an error stays until its step succeeds. Everything in it was said or done in the conversation, in its own
words; nothing is made up.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from memctl.pack import summary_rules
from memctl.record.task_state import DONE, MODIFIED, PROGRESS, READ, Step, TaskState, TouchedFile
from memctl.session import failures, progress
from memctl.session.file_actions import WRITTEN
from memctl.session.progress import Part, Progress
from memctl.statements import labels, statements
from memctl.statements import units as summary_units
from memctl.task.progress import newest
from memctl.text.fit import cut_at_word
from memctl.text.markdown import one_line
from memctl.transcript.events import DIGEST, PROMPT, Event
from memctl.window.messages.content import ContentBlock, ContentType
from memctl.window.preservation import essentials, events
from memctl.window.preservation.essentials import Essential
from memctl.window.preservation.events import (
    CHANGED,
    DECISIONS,
    ERRORS,
    FINDINGS,
    ISSUES,
    LABELLED,
    LEARNED,
    NAMED,
    NEXT,
    ORDER,
    READ_LAST,
    SAID,
    STATE,
)

_LONGEST = 600  # characters of any other line
_WORTH = (summary_rules.PROBLEM, summary_rules.FINDING, summary_rules.CONSTRAINT, summary_rules.PATTERN)
_ACTIONS = {WRITTEN: MODIFIED}
_STEP = re.compile(rf"\[[ x]\] (.*) \(({'|'.join(status.replace('_', ' ') for status in PROGRESS)})\)")


class Digest(msgspec.Struct, frozen=True):
    """The state of the task as a conversation tells it, what it says under labels, and findings, the latest last."""

    state: TaskState = TaskState()
    stated: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()

    def text(self, findings: int | None = None) -> str:
        """The digest as a text, with the last `findings` of its findings, all of them by default."""
        state, found = self.state, self.findings if findings is None else self.findings[len(self.findings) - findings :]
        steps = [f"[{'x' if one.status == DONE else ' '}] {one.text} ({one.how_far})" for one in state.steps]
        files = state.files[::-1]
        reads = [one.path for one in files if one.action == READ]
        sections = {
            SAID: state.said,
            DECISIONS: state.decisions,
            ISSUES: state.issues,
            ERRORS: state.errors,
            LABELLED: self.stated,
            STATE: [*steps, *state.summary],
            CHANGED: [f"{one.path} ({one.action})" for one in files if one.action not in ("", READ)],
            READ_LAST: reads[-essentials.RECENT_FILES :],
            NAMED: [one.path for one in files if not one.action],
            LEARNED: state.lessons,
            FINDINGS: found,
            NEXT: state.next_actions,
        }
        told = ["\n".join([f"{name}:", *(f"- {line}" for line in sections[name])]) for name in ORDER if sections[name]]
        return "\n\n".join([events.HEAD, *told])

    def holding(self, wanted: Iterable[Essential]) -> Digest:
        """The digest with what it does not say of things that must survive."""
        lines: dict[str, tuple[str, ...]] = {}
        for one in essentials.missing_in(wanted, self.text(0)):
            lines[one.kind] = (*lines.get(one.kind, ()), one_line(one.text))
        more = {name: (*getattr(self.state, name), *lines[kind]) for kind, name in _FIELD_OF.items() if kind in lines}
        if said := (*lines.get(essentials.CONSTRAINT, ()), *lines.get(essentials.MESSAGE, ())):
            more["said"] = (*self.state.said, *said)
        more["files"] = (*(TouchedFile(path) for path in lines.get(essentials.PATH, ())), *self.state.files)
        stated = (*self.stated, *lines.get(essentials.STATEMENT, ()))
        return msgspec.structs.replace(self, state=msgspec.structs.replace(self.state, **more), stated=stated)


_FIELD_OF = {essentials.DECISION: "decisions", essentials.ISSUE: "issues", essentials.ERROR: "errors"}


def of_blocks(blocks: Sequence[ContentBlock]) -> Digest:
    """The digest of blocks, which goes on from an earlier one among them."""
    before = next((_of_text(block.content) for block in events.digests(blocks)), Digest())
    told = [event for event in events.events_of(blocks) if event.kind != DIGEST]
    told = [msgspec.structs.replace(event, line=number) for number, event in enumerate(told, 1)]
    happened = events.of_known(told)
    files = [TouchedFile(path, _ACTIONS.get(action, action)) for path, action in happened.files.items()]
    task = next((event for event in told if event.kind == PROMPT), Event(PROMPT))
    part = Part(
        [event for event in told if event is not task],
        happened.found,
        happened.failures,
        failures.succeeded(told),
        files[::-1],
    )
    old = before.state
    is_over = bool(old.steps) and len(old.done) == len(old.steps)
    known = Progress(msgspec.structs.replace(old, goal=task.text), is_over=is_over)  # the task stands before the digest
    made = progress.advance(known, part, line=lambda text, _: one_line(text)).state
    decided = [one.with_reasons for one in happened.decisions]
    state = msgspec.structs.replace(
        made,
        said=newest(old.said, map(_said, happened.prompts[1:])),
        decisions=newest(old.decisions, decided),
        issues=newest(old.issues, map(one_line, happened.open_issues)),
        summary=tuple(map(one_line, happened.having(labels.STATE)[-3:])) or old.summary,
    )
    return Digest(state, before.stated, newest(before.findings, _findings(blocks)))


def _of_text(text: str) -> Digest:
    """An earlier digest, read back."""
    found = events.sections(text)
    matches = [(line, _STEP.fullmatch(line)) for line in found.get(STATE, ())]
    steps = [Step(match[1], match[2].replace(" ", "_")) for _, match in matches if match]  # type: ignore[arg-type]
    files = [
        *(TouchedFile(path) for path in found.get(NAMED, ())),
        *(TouchedFile(path, READ) for path in found.get(READ_LAST, ())),
        *(TouchedFile(*events.path_and_action(line)) for line in found.get(CHANGED, ())),
    ]
    state = TaskState(
        said=found.get(SAID, ()),
        decisions=found.get(DECISIONS, ()),
        issues=found.get(ISSUES, ()),
        errors=found.get(ERRORS, ()),
        lessons=found.get(LEARNED, ()),
        next_actions=found.get(NEXT, ()),
        steps=tuple(steps),
        summary=tuple(line for line, match in matches if not match),
        files=tuple(files[::-1]),
    )
    return Digest(state, found.get(LABELLED, ()), found.get(FINDINGS, ()))


def _said(prompt: str) -> str:
    """What a user said: in full if it is short, else what of it binds or names things, and how it begins."""
    text = one_line(prompt)
    if len(text) <= essentials.VERBATIM:
        return text
    binding = set(essentials.binding(prompt))
    is_told = len(prompt) <= essentials.LONGEST_TOLD
    kept = [
        line
        for unit in summary_units.units(prompt)
        if (line := one_line(unit.text)) in binding or (is_told and essentials.named_in(unit.text))
    ]
    return " … ".join([cut_at_word(text, essentials.VERBATIM // 2), *kept])


def _findings(blocks: Sequence[ContentBlock]) -> Iterable[str]:
    """What the model said of what it found, sentence by sentence."""
    for block in blocks:
        if block.content_type is ContentType.ASSISTANT_RESPONSE and not block.is_call:
            for unit in summary_units.units(block.content):
                is_told = unit.form != summary_units.SENTENCE or statements.stated(unit.text)  # in its own section
                if not is_told and summary_rules.judge(unit).keeps in _WORTH:
                    yield cut_at_word(one_line(unit.text), _LONGEST)
