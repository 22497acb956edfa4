"""What a part of a conversation came to, in sections: what a compaction puts in its place.

What it keeps: rules.md#window-compression. A later digest takes an earlier one in as summaries of sessions are merged
(rules.md#session-summary): what the user said and decisions are appended, files are merged per path, state and next
steps are replaced. An error stays until its step succeeds. Everything in it was said or done in the conversation, in
its own words; nothing is made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from memctl.pack import summary_rules
from memctl.record.task_state import READ
from memctl.session import failures
from memctl.session.extraction import Extract
from memctl.statements import labels, statements
from memctl.statements import units as summary_units
from memctl.text.fit import cut_at_word
from memctl.text.markdown import one_line
from memctl.transcript.events import DIGEST
from memctl.window.messages.content import ContentBlock, ContentType
from memctl.window.preservation import digest_text, essentials, events
from memctl.window.preservation.digest_text import (
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
    Sections,
)
from memctl.window.preservation.essentials import Essential
from memctl.window.preservation.events import Happened

_REPLACED = (STATE, NEXT)
_SECTION_OF = {
    essentials.CONSTRAINT: SAID,
    essentials.MESSAGE: SAID,
    essentials.STATEMENT: LABELLED,
    essentials.DECISION: DECISIONS,
    essentials.ISSUE: ISSUES,
    essentials.ERROR: ERRORS,
    essentials.PATH: NAMED,
}
_LONGEST = 600  # characters of any other line
_WORTH = (summary_rules.PROBLEM, summary_rules.FINDING, summary_rules.CONSTRAINT, summary_rules.PATTERN)


class Digest(msgspec.Struct, frozen=True):
    """Lines by section."""

    sections: Sections

    def text(self, findings: int | None = None) -> str:
        """The digest as a text, with the last `findings` of its findings, all of them by default."""
        parts = [digest_text.HEAD]
        for name in ORDER:
            lines = self.sections.get(name, ())
            if name == FINDINGS and findings is not None:
                lines = lines[len(lines) - findings :]
            if lines:
                parts.append("\n".join([f"{name}:", *(f"- {line}" for line in lines)]))
        return "\n\n".join(parts)

    def holding(self, wanted: Iterable[Essential]) -> Digest:
        """The digest with what it does not say of things that must survive."""
        sections = dict(self.sections)
        for one in essentials.missing_in(wanted, self.text(0)):
            name = _SECTION_OF.get(one.kind)
            if name:
                sections[name] = (*sections.get(name, ()), one_line(one.text))
        return Digest(sections)


def of_blocks(blocks: Sequence[ContentBlock], before: Digest | None = None) -> Digest:
    """The digest of blocks; earlier digests among them are taken in, and the one of what was `before` them."""
    own = [event for event in events.told(blocks) if event.kind != DIGEST]
    digest = before or Digest({})
    for block in events.digests(blocks):
        digest = merged(digest, Digest(digest_text.sections(block.content)))
    new = Digest(_sections(events.of_told(own), blocks))
    return merged(digest, new, failures.succeeded(own))


def merged(old: Digest, new: Digest, succeeded: Iterable[str] = ()) -> Digest:
    """An earlier digest with a later one in it; `succeeded` are the steps that came right since the earlier one."""
    sections: dict[str, tuple[str, ...]] = {}
    for name in ORDER:
        before, after = old.sections.get(name, ()), new.sections.get(name, ())
        if name == ERRORS:
            before = digest_text.still_open(before, succeeded)
        sections[name] = (after or before) if name in _REPLACED else tuple(dict.fromkeys((*before, *after)))
    files = {digest_text.changed(line)[0]: line for line in sections[CHANGED]}
    sections[CHANGED] = tuple(files.values())
    reads = [path for path in sections[READ_LAST] if path not in files]
    sections[READ_LAST] = tuple(_latest(reads, new.sections.get(READ_LAST, ())))
    known = {*files, *sections[READ_LAST]}
    sections[NAMED] = tuple(path for path in sections[NAMED] if path not in known)
    return Digest(sections)


def _latest(paths: Sequence[str], again: Sequence[str]) -> list[str]:
    """The last of the paths, those behind the others that were read again."""
    kept = [path for path in paths if path not in again]
    return [*kept, *(path for path in again if path in paths)][-essentials.RECENT_FILES :]


def _sections(happened: Happened, blocks: Sequence[ContentBlock]) -> dict[str, tuple[str, ...]]:
    tasks = [f"[{'x' if task.status == 'done' else ' '}] {task.text} ({task.how_far})" for task in happened.tasks]
    reads = [path for path, action in happened.files.items() if action == READ]
    return {
        SAID: _lines(map(_said, happened.prompts[1:])),
        DECISIONS: _lines(map(_decided, happened.decisions)),
        ISSUES: _lines(happened.open_issues),
        ERRORS: _lines(f"{failure.step}: {failure.message}" for failure in happened.open_failures),
        STATE: _lines([*tasks, *happened.having(labels.STATE)[-3:]]),
        CHANGED: _lines(f"{path} ({happened.files[path]})" for path in happened.changed),
        READ_LAST: _lines(reads[-essentials.RECENT_FILES :]),
        LEARNED: _lines(happened.having(labels.LEARNING)),
        FINDINGS: _lines(_findings(blocks)),
        NEXT: _lines(happened.having(labels.NEXT)[-10:]),
    }


def _decided(found: Extract) -> str:
    reason = [f"Because: {found.reason}"] if found.reason else []
    instead = [f"Instead of: {'; '.join(found.alternatives)}"] if found.alternatives else []
    return " — ".join([found.text, *reason, *instead])


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for text in texts if (line := one_line(text))))


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
