"""`why`."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memctl.cli import opening, output
from memctl.cli.command import command, reading
from memctl.pages import provenance
from memctl.pages.provenance import IN_CODE_REFS, IN_COMMIT, SUSPECT, Cause, Reason, RelatedRecord, Told, Why
from memctl.store.memory import Memory

_SHORT = 10  # digits of a commit's id
_STYLES: tuple[dict[str, Any], ...] = ({"fg": "yellow"},)


@command(
    "why",
    ("memctl why src/payment/api.py", "What has to do with a file."),
    ("memctl why src/payment/api.py:120", "With one line of it: first what is about that very line."),
    ("memctl why src/old.py --at v1.0 --json", "As it was in a release, for a program."),
)
@click.argument("path", metavar="PATH[:LINE]")
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, help="How many commits to look at; 0 for all."
)
@reading
@click.pass_context
def why_command(ctx: click.Context, /, path: str, limit: int, as_json: bool, at: str | None) -> None:
    """Say which sections, records and commits explain a file or a line.

    Sections whose globs cover the file; pages that refer to it; records whose code references name it, whose ids stand
    in its text, or which its commits name; and these commits. PATH is as seen from here or from the worktree's top, and
    may be a file that is gone. Of a LINE Git tells the commit that brought it.
    """
    memory = opening.memory(ctx)
    snapshot = opening.readable(memory, at)
    commit = memory.repository.resolve(at) if at is not None else ""
    found = provenance.why(
        memory, snapshot, provenance.locate(memory, snapshot, ctx.obj.folder, path, commit), commit, limit
    )
    if as_json:
        output.json("why", _data(memory, found), (*snapshot.faults, *snapshot.outline.faults), memory)
    else:
        _print(found)
        for fault in snapshot.outline.faults:
            output.note(f"warning: {memory.prefix}/{fault}")
    ctx.exit(output.finish(memory, snapshot))


def _print(found: Why) -> None:
    blocks: dict[str, list[tuple[str, ...]]] = {
        "Sections": [(page.id, f"{page.title}  {_bracketed(*globs)}") for page, globs in found.sections],
        "Pages": [_page_row(told) for told in found.pages],
        "Records": [_record_row(record) for record in found.records],
        "Commits": [_commit_row(cause) for cause in found.commits],
    }
    for number, (title, rows) in enumerate((title, rows) for title, rows in blocks.items() if rows):
        output.text(("\n" if number else "") + click.style(title, bold=True))
        output.columns([(f"  {row[0]}", *row[1:]) for row in rows], _STYLES)
    asked = found.asked
    if asked.last is not None:
        by = f": {asked.last.removed_by[:_SHORT]} removed it" if asked.last.removed_by else ""
        output.note(f"{asked.path} is not there any more{by}")
    if found.origin is not None and not found.origin.commit:
        output.note(f"line {asked.line} is not committed yet")
    if found.has_more:
        output.note("there are older commits: --limit 0 looks at all")
    if not any(blocks.values()):
        output.note(f"nothing in the memory or in the history has to do with {asked.path}")


def _page_row(told: Told) -> tuple[str, ...]:
    changed = f": changed from {told.reviewed} to {told.now}" if told.state == SUSPECT else ""
    return told.page.id, told.state, f"{told.page.title}  {_bracketed(*told.references)}{changed}"


def _record_row(found: RelatedRecord) -> tuple[str, ...]:
    here = [_told(reason) for reason in found.reasons if reason.is_here]
    reasons = _bracketed(
        *([f"this line: {' and '.join(here)}"] if here else []),
        *(_told(reason) for reason in found.reasons if not reason.is_here),
    )
    if found.record is None:
        return found.id, "missing", f"not in the memory  {reasons}"
    by = f" by {', '.join(found.record.superseded_by)}" if found.record.superseded_by else ""
    return found.id, found.record.status + by, f"{found.record.title}  {reasons}"


def _told(reason: Reason) -> str:
    if reason.by == IN_CODE_REFS:
        return reason.where
    return f"{reason.how} of {reason.where[:_SHORT]}" if reason.by == IN_COMMIT else f"named in line {reason.where}"


def _commit_row(cause: Cause) -> tuple[str, ...]:
    touch = cause.touch
    words = [*(["this line"] if cause.is_here else []), *cause.records]
    subject = touch.message.partition("\n")[0]
    return touch.commit[:_SHORT], touch.date[:10], touch.author, f"{subject}  {_bracketed(*words)}".rstrip()


def _bracketed(*words: str) -> str:
    return f"[{', '.join(words)}]" if words else ""


def _data(memory: Memory, found: Why) -> dict[str, Any]:
    asked, origin = found.asked, found.origin
    return {
        "path": asked.path,
        "line": asked.line,
        "exists": asked.last is None,
        "removed_by": (asked.last.removed_by or None) if asked.last else None,
        "origin": {"commit": origin.commit or None, "path": origin.path, "line": origin.line} if origin else None,
        "sections": [
            {"id": page.id, "title": page.title, "path": memory.tracked(page.path), "globs": list(globs)}
            for page, globs in found.sections
        ],
        "pages": [
            {
                "id": told.page.id,
                "title": told.page.title,
                "path": memory.tracked(told.page.path),
                "references": list(told.references),
                "state": told.state,
                "reviewed": told.reviewed or None,
                "now": told.now or None,
            }
            for told in found.pages
        ],
        "records": [
            {
                "id": item.id,
                "record": output.record_data(memory, item.record) if item.record else None,
                "reasons": [_reason_data(reason) for reason in item.reasons],
            }
            for item in found.records
        ],
        "commits": [
            {
                **msgspec.structs.asdict(cause.touch),
                "subject": cause.touch.message.partition("\n")[0],
                "records": list(cause.records),
                "is_here": cause.is_here,
            }
            for cause in found.commits
        ],
        "has_more": found.has_more,
    }


def _reason_data(reason: Reason) -> dict[str, Any]:
    return {"by": reason.by, "where": reason.where, "how": reason.how or None, "is_here": reason.is_here}
