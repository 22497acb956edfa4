"""What a part of a conversation came to, in sections: what a compaction puts in its place.

The sections are those that S4's prompt for compaction asks for. A later digest takes an earlier one in by S3's anchored
rules: what the user said and decisions are appended, files are merged per path, state and next steps are replaced.
Everything in it was said or done in the conversation, in its own words; nothing is made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from memctl.model.markdown import one_line
from memctl.packs import summary_rules, summary_units
from memctl.sessions import labels
from memctl.sessions.touches import READ
from memctl.window.messages.content import ContentBlock, ContentType
from memctl.window.preservation import essentials, events
from memctl.window.preservation.essentials import Essential
from memctl.window.preservation.events import Happened

SAID, DECISIONS, ISSUES, ERRORS, STATE, CHANGED, READ_LAST, LEARNED, FINDINGS, NEXT = (
    "The user said", "Decisions", "Open issues", "Errors not resolved", "State", "Files changed", "Files read last",
    "Learned", "Findings", "Next",
)  # fmt: skip
_ORDER = (SAID, DECISIONS, ISSUES, ERRORS, STATE, CHANGED, READ_LAST, LEARNED, FINDINGS, NEXT)
_REPLACED = (STATE, NEXT, ERRORS)
_HEAD = f"{events.SUMMARY}; what stands here was said and done in it, and is no new instruction]"
_SECTION_OF = {
    essentials.DECISION: DECISIONS,
    essentials.ISSUE: ISSUES,
    essentials.ERROR: ERRORS,
    essentials.PATH: READ_LAST,
}
_VERBATIM = 600  # characters of what a user said that are kept in its own words (S4: "verbatim if short")
_LONGEST = 600  # characters of any other line
_WORTH = (summary_rules.PROBLEM, summary_rules.FINDING, summary_rules.CONSTRAINT, summary_rules.PATTERN)


class Digest(msgspec.Struct, frozen=True):
    """Lines by section."""

    sections: Mapping[str, tuple[str, ...]]

    def text(self, findings: int | None = None) -> str:
        """The digest as a text, with the last `findings` of its findings, all of them by default."""
        parts = [_HEAD]
        for name in _ORDER:
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


def of_blocks(blocks: Sequence[ContentBlock]) -> Digest:
    """The digest of blocks; earlier digests among them are taken in."""
    earlier = [block.content for block in blocks if is_digest(block)]
    happened = events.of_blocks(block for block in blocks if not is_digest(block))
    digest = Digest({})
    for text in earlier:
        digest = merged(digest, parsed(text))
    return merged(digest, Digest(_sections(happened, blocks)))


def parsed(text: str) -> Digest:
    """A digest out of its text."""
    sections: dict[str, tuple[str, ...]] = {}
    for part in text.split("\n\n")[1:]:
        name, _, rest = part.partition(":\n")
        if name in _ORDER:
            sections[name] = tuple(line.removeprefix("- ") for line in rest.split("\n") if line.startswith("- "))
    return Digest(sections)


def merged(old: Digest, new: Digest) -> Digest:
    """An earlier digest with a later one in it."""
    sections: dict[str, tuple[str, ...]] = {}
    for name in _ORDER:
        before, after = old.sections.get(name, ()), new.sections.get(name, ())
        sections[name] = (after or before) if name in _REPLACED else tuple(dict.fromkeys((*before, *after)))
    changed = {line.partition(" (")[0] for line in sections[CHANGED]}
    files = {line.partition(" (")[0]: line for line in sections[CHANGED]}
    sections[CHANGED] = tuple(files.values())
    reads = [path for path in sections[READ_LAST] if path not in changed]
    sections[READ_LAST] = tuple(reads[-essentials.RECENT_FILES :])
    return Digest(sections)


def is_digest(block: ContentBlock) -> bool:
    """Whether a block is the digest of an earlier compaction."""
    return block.content_type is ContentType.USER_MESSAGE and block.content.startswith(events.SUMMARY)


def _sections(happened: Happened, blocks: Sequence[ContentBlock]) -> dict[str, tuple[str, ...]]:
    tasks = [f"[{'x' if task.status == 'done' else ' '}] {task.text} ({task.status})" for task in happened.tasks]
    reads = [path for path, action in happened.files.items() if action == READ]
    return {
        SAID: _lines(map(_said, happened.prompts[1:])),
        DECISIONS: _lines(
            " — ".join(
                [
                    found.text,
                    *([f"Because: {found.reason}"] if found.reason else []),
                    *([f"Instead of: {'; '.join(found.alternatives)}"] if found.alternatives else []),
                ]
            )
            for found in happened.decisions
        ),
        ISSUES: _lines(happened.open_issues),
        ERRORS: _lines(f"{failure.step}: {failure.message}" for failure in happened.open_failures),
        STATE: _lines([*tasks, *happened.having(labels.STATE)[-3:]]),
        CHANGED: _lines(f"{path} ({happened.files[path]})" for path in happened.changed),
        READ_LAST: _lines(reads[-essentials.RECENT_FILES :]),
        LEARNED: _lines(happened.having(labels.LEARNING)),
        FINDINGS: _lines(_findings(blocks)),
        NEXT: _lines(happened.having(labels.NEXT)[-10:]),
    }


def _lines(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for text in texts if (line := one_line(text))))


def _said(prompt: str) -> str:
    """What a user said: in full if it is short, else what of it binds or names things, and how it begins."""
    text = one_line(prompt)
    if len(text) <= _VERBATIM:
        return text
    binding = [
        unit.text
        for unit in summary_units.units(prompt)
        if summary_rules.judge(unit).keeps in (summary_rules.CONSTRAINT, summary_rules.DECISION)
        or (len(prompt) <= essentials.LONGEST_TOLD and essentials.named_in(unit.text))
    ]
    return " … ".join([_cut(text, _VERBATIM // 2), *(one_line(one) for one in binding)])


def _findings(blocks: Sequence[ContentBlock]) -> Iterable[str]:
    """What the model said of what it found, sentence by sentence."""
    for block in blocks:
        if block.content_type is ContentType.ASSISTANT_RESPONSE and not block.is_call:
            for unit in summary_units.units(block.content):
                if unit.form == summary_units.SENTENCE and summary_rules.judge(unit).keeps in _WORTH:
                    yield _cut(one_line(unit.text), _LONGEST)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1].rpartition(" ")[0] + " …"
