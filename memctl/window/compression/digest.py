"""The digest: a summary under headings that a compaction puts in the place of the beginning of a conversation.

A digest has the state of the task as checkpoints have it, and statements under labels (rules.md#window-compression),
in the words of the conversation.

If a conversation is compacted again, the new digest continues the old one (rules.md#session-summary). New decisions and
messages of the user are added to the old ones; of two entries for the same file the newer counts; new next steps
replace the old ones. An error stays in the digest until the command that failed succeeds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from memctl.record.task_state import DONE, PROGRESS, Step, TaskState, TouchedFile
from memctl.session import progress
from memctl.session.progress import Progress
from memctl.statements import labels, reader
from memctl.statements import units as summary_units
from memctl.task.progress import newest
from memctl.text.actions import READ
from memctl.text.fit import cut_at_word
from memctl.text.markdown import one_line
from memctl.transcript.events import DIGEST, PROMPT, Event
from memctl.window.messages.content import ContentBlock
from memctl.window.preservation import essentials, events
from memctl.window.preservation.essentials import Essential

_STEP = re.compile(rf"\[[ x]\] (.*) \(({'|'.join(status.replace('_', ' ') for status in PROGRESS)})\)")
# The lists of a state, by the sections that they are.
_FIELDS = {
    events.SAID: "said", events.DECISIONS: "decisions", events.ISSUES: "issues", events.ERRORS: "errors",
    events.LEARNED: "lessons", events.NEXT: "next_actions",
}  # fmt: skip
_FIELD_OF = {
    essentials.CONSTRAINT: "said", essentials.MESSAGE: "said", essentials.DECISION: "decisions",
    essentials.ISSUE: "issues", essentials.ERROR: "errors",
}  # fmt: skip


class Digest(msgspec.Struct, frozen=True):
    """The digest (a summary) of a conversation: the state of its task, and statements under labels.

    `stated` has one text for each statement, such as `Rationale: payments need transactions`, oldest first.
    """

    state: TaskState = TaskState()
    stated: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The digest as a text with headings, such as "Decisions", and a list below each."""
        state = self.state
        steps = [f"[{'x' if step.status == DONE else ' '}] {step.text} ({step.status_text})" for step in state.steps]
        files = state.files[::-1]
        sections: dict[str, Sequence[str]] = {
            **{name: getattr(state, field) for name, field in _FIELDS.items()},
            events.LABELLED: self.stated,
            events.STATE: [*steps, *state.summary],
            events.CHANGED: [f"{file.path} ({file.action})" for file in files if file.action not in ("", READ)],
            events.READ_LAST: [file.path for file in files if file.action == READ][-essentials.RECENT_FILES :],
            events.NAMED: [file.path for file in files if not file.action],
        }
        rows = ((name, sections[name]) for name in events.ORDER if sections[name])
        parts = ("\n".join([f"{name}:", *(f"- {line}" for line in lines)]) for name, lines in rows)
        return "\n\n".join([events.HEAD, *parts])

    def with_missing(self, wanted: Iterable[Essential]) -> Digest:
        """Return the digest, completed by each thing in `wanted` that the digest's text lacks.

        Each thing is added to the list for its kind, such as errors. A thing whose kind has no list is left out.
        """
        more: dict[str, tuple[str, ...]] = {}
        files, stated = self.state.files, self.stated
        for thing in essentials.missing_in(wanted, self.text):
            line = one_line(thing.text)
            if field := _FIELD_OF.get(thing.kind):
                more[field] = (*more.get(field, getattr(self.state, field)), line)
            elif thing.kind == essentials.PATH:
                files = (TouchedFile(line), *files)
            elif thing.kind == essentials.STATEMENT:
                stated = (*stated, line)
        return msgspec.structs.replace(
            self, state=msgspec.structs.replace(self.state, files=files, **more), stated=stated
        )


def of_blocks(blocks: Sequence[ContentBlock]) -> Digest:
    """Return the digest of the blocks (pieces) of a conversation.

    If one of the blocks is the digest of an earlier compaction, the new digest continues it.
    """
    before = next((_of_text(block.content) for block in events.digests(blocks)), Digest())
    happened, part = events.part_of([event for event in events.events_of(blocks) if event.kind != DIGEST])
    task = next((event for event in part.events if event.kind == PROMPT), Event(PROMPT))
    part = msgspec.structs.replace(part, events=[event for event in part.events if event is not task])
    old = before.state
    is_over = bool(old.steps) and len(old.done) == len(old.steps)
    known = Progress(msgspec.structs.replace(old, goal=task.text), is_over=is_over)  # the task is before the digest
    made = progress.advance(known, part, line=lambda text, _: one_line(text)).state
    state = msgspec.structs.replace(
        made,
        said=newest(old.said, map(_users_words, happened.prompts[1:], happened.referents[1:])),
        decisions=newest(old.decisions, [decision.with_reasons for decision in happened.decisions]),
        issues=newest(old.issues, map(one_line, happened.open_issues)),
        summary=tuple(map(one_line, happened.having(labels.STATE)[-3:])) or old.summary,
    )
    stated = tuple(line for line in before.stated if all(made.kind != labels.STATE for made in reader.read(line)))
    return Digest(state, stated)


def _of_text(text: str) -> Digest:
    sections = events.sections(text)
    matches = [(line, _STEP.fullmatch(line)) for line in sections.get(events.STATE, ())]
    steps = [Step(match[1], match[2].replace(" ", "_")) for _, match in matches if match]  # type: ignore[arg-type]
    files = [
        *(TouchedFile(path) for path in sections.get(events.NAMED, ())),
        *(TouchedFile(path, READ) for path in sections.get(events.READ_LAST, ())),
        *(TouchedFile(*events.path_and_action(line)) for line in sections.get(events.CHANGED, ())),
    ]
    lists = {field: sections.get(name, ()) for name, field in _FIELDS.items()}
    lists["summary"] = tuple(line for line, match in matches if not match)
    state = msgspec.structs.replace(TaskState(steps=tuple(steps), files=tuple(files[::-1])), **lists)
    return Digest(state, sections.get(events.LABELLED, ()))


def _users_words(prompt: str, referent: Sequence[str]) -> str:
    """Return a user's words: in full if they are short, else the beginning and what binds or names things.

    `referent` are the sentences of the agent to which the words refer; they are added.
    """
    text = one_line(prompt)
    if len(text) <= essentials.VERBATIM:
        return " ".join([f"{text} — in answer to:", *referent]) if referent else text
    binding = set(essentials.binding(prompt))
    is_told = len(prompt) <= essentials.LONGEST_TYPED
    binding_lines = [
        line
        for unit in summary_units.units(prompt)
        if (line := one_line(unit.text)) in binding or (is_told and essentials.named_in(unit.text))
    ]
    return " … ".join([cut_at_word(text, essentials.VERBATIM // 2), *binding_lines])
