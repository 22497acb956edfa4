"""How `memctl impact BASE...HEAD` prints the review of a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memctl import __version__
from memctl.cli import output
from memctl.store.memory import Memory

if TYPE_CHECKING:
    from memctl.check.branch_review import Review


def show(memory: Memory, source: str, review: Review, style: str) -> None:
    """Print a review as text, as Markdown, as GitHub's workflow commands, or as SARIF."""
    from memctl.check import branch_review, formats, review_formats
    from memctl.cli.check import home

    if style == "markdown":
        output.text(review_formats.as_markdown(memory, review), newline=False)
    elif style == "github":
        for line in formats.as_github(branch_review.as_report(memory, review), str):
            output.text(line)
    elif style == "sarif":
        output.json_text(formats.as_sarif(branch_review.as_report(memory, review), str, __version__, home()))
    else:
        parts = list(review_formats.as_text(memory, review))
        for number, (title, rows) in enumerate(parts):
            output.styled(("\n" if number else "") + click.style(title, bold=True))
            output.columns(rows)
        if not parts:
            output.note(f"the memory has nothing to say about {source}")


def fails(review: Review, classes: tuple[str, ...]) -> bool:
    """Return whether a review has anything of the classes that --fail-on names."""
    has = {"error": review.has_errors, "rejected": bool(review.rejected), "stale": bool(review.stale)}
    return any(has[name] for name in classes)


def data(memory: Memory, review: Review | None) -> dict[str, Any] | None:
    """Return the data of a review for `--json`."""
    if review is None:
        return None
    from memctl.check import branch_review, formats

    return {
        "governing": [
            {
                "id": item.record.id,
                "title": item.record.title,
                "sentence": item.sentence or None,
                "by": item.by,
                "places": list(item.places),
                "path": item.path,
                "line": item.line,
            }
            for item in review.governing
        ],
        "records": [
            {
                "id": item.record.id,
                "title": item.record.title,
                "status": item.record.status,
                "before": item.before or None,
                "done": item.done,
                "path": memory.tracked(item.record.path),
            }
            for item in review.records
        ],
        "rejected": [
            {
                "option": item.option.name,
                "reason": item.option.reason or None,
                "decision": item.option.record.id,
                "places": branch_review.places(item),
            }
            for item in review.rejected
        ],
        "stale": [item.page.id for item in review.stale],
        "shared": [
            {"name": item.name, "path": memory.tracked(item.path), "other": memory.tracked(item.other)}
            for item in review.shared
        ],
        "check": formats.as_data(review.findings, memory.tracked),
    }
