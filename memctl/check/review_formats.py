"""The review of a branch as text, and as Markdown for a comment on a hosting site."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from memctl.check import branch_review
from memctl.check.branch_review import Governing, RecordChange, Review
from memctl.store.memory import Memory
from memctl.text import markdown
from memctl.text.phrases import quantity

# The first line of a comment, by which a workflow finds the comment that it wrote before.
MARKER = "<!-- memctl impact -->"
_MOST = 20  # items of a list in a comment: GitHub takes 65,536 characters, and nobody reads more


class Item(NamedTuple):
    """A line of a review: what it is about, such as an id, what is said of that, and the place."""

    name: str
    text: str
    place: str


def as_text(memory: Memory, review: Review) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield the parts of a review that say something: a title, and rows with a name and what is said of it."""
    for title, _, items in _parts(memory, review):
        yield title, [(f"  {item.name}", markdown.one_line(f"{item.text} ({item.place})")) for item in items]


def as_markdown(memory: Memory, review: Review) -> str:
    """Return a review as the Markdown of a comment, with MARKER in its first line.

    Nothing of a record's text becomes HTML, a link or a mention of a user there.
    """
    parts = list(_parts(memory, review))
    summary = ", ".join(quantity(len(items), noun) for _, noun, items in parts) or "nothing to say about this change"
    lines = [MARKER, f"### memctl: {summary}"]
    for title, _, items in parts:
        lines += ["", f"**{title}**", ""]
        lines += [
            f"- **{_inline(item.name)}**: {_inline(item.text)} ({markdown.code(item.place)})" for item in items[:_MOST]
        ]
        lines += [f"- and {len(items) - _MOST:,} more"] if len(items) > _MOST else []
    return "\n".join(lines) + "\n"


def _parts(memory: Memory, review: Review) -> Iterator[tuple[str, str, list[Item]]]:
    """Yield title, noun and items of the parts of a review that are not empty, the most urgent first."""
    findings = [
        Item(f.code, f"{f.severity}: {f.message}", f"{memory.tracked(f.path)}:{f.line}")
        for f in review.findings.findings
    ]
    rejected = [
        Item(item.option.name, item.option.describe(), ", ".join(branch_review.places(item)))
        for item in review.rejected
    ]
    shared = [
        Item(item.name, "another one has it in the base; after the merge run `memctl renumber`", item.path)
        for item in review.shared
    ]
    stale = [
        Item(
            item.page.id,
            item.page.title,
            ", ".join([*(drift.path for drift in item.suspect), *(ref.reference for ref in item.broken)]),
        )
        for item in review.stale
    ]
    parts = (
        ("Rejected options that this change brings back", "rejected option", rejected),
        ("Names that the base has given, too", "shared name", shared),
        ("New findings of `memctl check`", "finding", findings),
        ("Records that govern the changed code", "governing record", list(map(_governing, review.governing))),
        ("Records of this branch", "changed record", list(map(_record, review.records))),
        ("Pages to review", "stale page", stale),
    )
    yield from (part for part in parts if part[2])


def _governing(item: Governing) -> Item:
    text = f"{item.record.title}: {item.sentence}" if item.sentence else item.record.title
    return Item(item.record.id, text, ", ".join(item.places))


def _record(item: RecordChange) -> Item:
    now = item.record.status
    status = now if item.before in ("", now) else f"{item.before} -> {now}"
    return Item(item.record.id, item.record.title, f"{item.done}, {status}")


def _inline(text: str) -> str:
    return markdown.inline(text).replace("@", "&#64;")
