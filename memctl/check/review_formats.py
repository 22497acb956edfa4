"""The review of a branch as text, and as Markdown for a comment on a hosting site."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from memctl.check.branch_review import ReviewItem
from memctl.text import markdown
from memctl.text.phrases import quantity

# The first line of a comment, by which a workflow finds the comment that it wrote before.
MARKER = "<!-- memctl impact -->"
_MOST = 20  # items of a list in a comment: GitHub takes 65,536 characters, and nobody reads more
# A title and a noun for each kind of items.
_TITLES = {
    "rejected": ("Rejected options that this change brings back", "rejected option"),
    "shared": ("Names that the base has given, too", "shared name"),
    "check": ("New findings of `memctl check`", "new finding"),
    "governing": ("Records that govern the changed code", "governing record"),
    "record": ("Records of this branch", "changed record"),
    "overlap": ("Open branches that concern the same", "overlap"),
    "stale": ("Pages to review", "stale page"),
}


def as_rows(items: Sequence[ReviewItem]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each part of a review as text: a title, and rows with a name and what is said of it."""
    for kind, part in groupby(items, lambda item: item.kind):
        rows = [(f"  {item.name}", f"{item.text} ({', '.join(item.places)})") for item in part]
        yield _TITLES[kind][0], [(name, markdown.one_line(text)) for name, text in rows]


def as_markdown(items: Iterable[ReviewItem]) -> str:
    """Return a review as the Markdown of a comment, with MARKER in its first line.

    No text of a record becomes HTML, a link, or a mention of a user there.
    """
    parts = [(kind, list(part)) for kind, part in groupby(items, lambda item: item.kind)]
    summary = ", ".join(quantity(len(part), _TITLES[kind][1]) for kind, part in parts)
    lines = [MARKER, f"### memctl: {summary or 'nothing to say about this change'}"]
    for kind, part in parts:
        lines += ["", f"**{_TITLES[kind][0]}**", "", *map(_line, part[:_MOST])]
        lines += [f"- and {len(part) - _MOST:,} more"] if len(part) > _MOST else []
    return "\n".join(lines) + "\n"


def _line(item: ReviewItem) -> str:
    name, text = (markdown.inline(value).replace("@", "&#64;") for value in (item.name, item.text))
    return f"- **{name}**: {text} ({', '.join(map(markdown.code, item.places))})"
