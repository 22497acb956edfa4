"""The command `memctl why`: show what explains a file, a line or a folder: sections, pages, records, commits."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import click

from memctl.cli import memory_access, output
from memctl.cli.command import command, limit_option, reading
from memctl.pages import file_query, why_answer
from memctl.pages.line_references import LineReference
from memctl.pages.provenance import (
    IN_COMMIT,
    IN_TEXT,
    SUSPECT,
    Cause,
    Explanation,
    PageReference,
    Reason,
    RelatedRecord,
)
from memctl.pages.reasons import reason_of_commit
from memctl.pages.why_answer import SHORT
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.text.phrases import quantity, some

_STYLES: tuple[dict[str, Any], ...] = ({"fg": "yellow"},)
_INDENT = " " * 6
_FEW = 3  # lines to list of those that name a record


class _WhyRow(NamedTuple):
    """A row of the answer, and the line below it."""

    cells: tuple[str, ...]
    below: str = ""


@command(
    "why",
    ("memctl why src/payment/api.py", "Show the sections, records and commits that explain a file."),
    ("memctl why src/payment/api.py:120", "Show what explains one line, then what explains its file."),
    ("memctl why src/payment/", "Show the sections of a folder, and the records on it and on the files in it."),
    ("memctl why src/old.py --at v1.0 --json", "Show what explained a file at the time of a release, as JSON."),
)
@click.argument("path", metavar="PATH[:LINE]")
@limit_option(20, "How many commits to read, and how many records to show; 0 means all.")
@reading
def why_command(ctx: click.Context, /, path: str, limit: int, as_json: bool, at: str | None) -> None:
    """Show what explains a file, a line or a folder: sections, records, commits.

    The first line of the answer is the likeliest reason. For a LINE, first come the commit that added the line, and the
    records that refer to it, even if it had another number then. Then come records that name the file in their code
    references, records that the file's text or its commits name, records whose text names the file, pages that refer to
    it, sections whose globs cover it, records made in the session of the line's commit, and other commits. "Perhaps"
    lists records that do not name the file but are about the same subject. The last session that changed the file is
    there with what it was asked. Of a folder, records on it come before those on files in it, and commits are not read.
    PATH is relative to this folder or to the top of the worktree, and may be a deleted file.
    """
    memory, snapshot = memory_access.read(ctx, at)
    commit = memory.repository.resolve(at) if at is not None else ""
    subject = file_query.locate(memory, snapshot, ctx.obj.folder, path, commit)
    answer = why_answer.explain(memory, snapshot, subject, commit, limit)
    if as_json:
        output.answer("why", answer, (*snapshot.faults, *snapshot.outline.faults), memory)
    else:
        _print(answer, limit)
        _print_unknown(memory, snapshot, answer, commit)
        output.faults(memory, snapshot.outline.faults)
    ctx.exit(output.finish(memory, snapshot))


def _print(answer: Explanation, limit: int) -> None:
    others = [item for item in answer.records if not item.is_here]
    shown = others[: limit or None]
    session = answer.last_session
    blocks: dict[str, list[_WhyRow]] = {
        "This line": [
            *(_commit_row(cause) for cause in answer.commits if cause.is_here),
            *(_record_row(item) for item in answer.records if item.is_here),
        ],
        "Records": [_record_row(item) for item in shown],
        "Pages": [_page_row(reference) for reference in answer.pages],
        "Sections": [_WhyRow((page.id, f"{page.title}  {_brackets(*globs)}")) for page, globs in answer.sections],
        "Records of the pages and sections above": _plain_rows(answer.of_places),
        f"Session {answer.session}": _plain_rows(answer.of_session),
        "Changed in the session of": [_WhyRow((session.ended[:10], session.asked))] if session else [],
        "Perhaps": _plain_rows(answer.perhaps),
        "Commits": [_commit_row(cause) for cause in answer.commits if not cause.is_here],
    }
    if answer.answer:
        place = answer.asked.path + ("" if answer.asked.line is None else f":{answer.asked.line}")
        output.text(f"{place}: {answer.answer}")
    elif not session:
        source = (
            "the memory does not mention" if answer.asked.is_folder else "neither the memory nor the history mentions"
        )
        output.note(f"{source} {answer.asked.path}")
    for title, rows in blocks.items():
        if rows:
            output.styled("\n" + click.style(output.plain(title), bold=True))
        for _, group in groupby(rows, key=lambda row: len(row.cells)):  # commits and records have different columns
            alike = list(group)
            below = [_INDENT + output.plain(row.below) if row.below else "" for row in alike]
            output.columns([(f"  {row.cells[0]}", *row.cells[1:]) for row in alike], _STYLES, below)
    if len(others) > len(shown):
        output.note(f"{quantity(len(others) - len(shown), 'more record')} about the file: --limit 0 shows all")


def _print_unknown(memory: Memory, snapshot: Snapshot, answer: Explanation, at: str) -> None:
    subject, origin = answer.asked, answer.origin
    if subject.last is not None:
        by = f": the commit {subject.last.removed_by[:SHORT]} removed the file" if subject.last.removed_by else ""
        output.note(f"{subject.path} no longer exists{by}")
        from memctl.pages.renamed_files import present_paths

        name = present_paths(memory, snapshot, [subject.path], at=at or None).get(subject.path, "")
        if snapshot.files.existing([name]):
            output.note(f"hint: the file was renamed: `memctl why {shlex.quote(name)}`")
    if origin is not None and origin.is_unknown:
        output.note(
            f"the commit of line {subject.line} is unknown: this partial clone lacks it, and memctl fetches nothing"
        )
        output.note(f"hint: `git blame -L {subject.line},{subject.line} -- {subject.path}` fetches the missing objects")
    elif origin is not None and not origin.commit:
        output.note(f"line {subject.line} of the file is not committed yet")
    if answer.history_ends:
        what = subject.path if subject.line is None else f"line {subject.line}"
        begins = " and ".join(name[:SHORT] for name in answer.history_ends)
        output.note(f"{what} may be older: the history of this shallow clone begins with {begins}")
        output.note("hint: `git fetch --unshallow` fetches the older commits")
    if answer.has_more:
        output.note("older commits were not read; --limit 0 reads all commits")


def _plain_rows(items: Iterable[RelatedRecord]) -> list[_WhyRow]:
    return [_WhyRow((one.id, one.record.status, one.record.title), one.reason) for one in items if one.record]


def _page_row(reference: PageReference) -> _WhyRow:
    changed = f": changed from {reference.reviewed} to {reference.now}" if reference.state == SUSPECT else ""
    return _WhyRow(
        (reference.page.id, reference.state, f"{reference.page.title}  {_brackets(*reference.references)}{changed}")
    )


def _record_row(related: RelatedRecord) -> _WhyRow:
    here = _reasons_in_words([reason for reason in related.reasons if reason.is_here])
    elsewhere = _reasons_in_words([reason for reason in related.reasons if not reason.is_here])
    because = _brackets(*([f"this line: {' and '.join(here)}"] if here else []), *elsewhere)
    record = related.record
    if record is None:
        return _WhyRow((related.id, "missing", f"the memory has no such record  {because}"))
    by = f" by {', '.join(record.superseded_by)}" if record.superseded_by else ""
    return _WhyRow((related.id, record.status + by, f"{record.title}  {because}"), related.reason)


def _reasons_in_words(reasons: Sequence[Reason]) -> list[str]:
    lines = list(dict.fromkeys(reason.where for reason in reasons if reason.by == IN_TEXT))
    shown = [f"named in line{'s' * (len(lines) > 1)} {some(lines, _FEW)}"] if lines else []
    others = [
        f"{reason.how} of {reason.where[:SHORT]}"
        if reason.by == IN_COMMIT
        else f"{reason.where}{_line_change(reason.lines) if reason.lines is not None else ''}"
        for reason in reasons
        if reason.by != IN_TEXT
    ]
    return [*others, *shown]


def _line_change(lines: LineReference) -> str:
    """Return where the lines of a reference are now; "" if they did not move since it was recorded."""
    at = f" at {lines.commit[:SHORT]}" if lines.commit else ""
    if not lines.is_followed:
        return f"{at}, which may have other line numbers now"
    if lines.now is None:
        return f"{at}, {'changed since' if lines.instead else 'gone since'}" if at else ""
    if lines.now == lines.recorded:
        return ""
    first, last = lines.now
    return f"{at}, now line {first}" if first == last else f"{at}, now lines {first}-{last}"


def _commit_row(cause: Cause) -> _WhyRow:
    touch = cause.touch
    cells = touch.commit[:SHORT], touch.date[:10], touch.author
    what = f"{cause.subject}  {_brackets(*cause.records)}".rstrip()
    return _WhyRow((*cells, what), reason_of_commit(touch.message) if cause.is_here else "")


def _brackets(*words: str) -> str:
    return f"[{', '.join(words)}]" if words else ""
