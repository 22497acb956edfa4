"""The command `memctl page impact`: show which pages and documents a change of files affects."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from memctl import __version__
from memctl.check.rules import ERROR
from memctl.cli import memory_access, output
from memctl.cli.command import choice_option, command, flag_option, json_option
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.git import differences, history
from memctl.pages import impact, repository_paths
from memctl.pages.impact import MATRIX, Reach, StalePage
from memctl.record.snapshot import Snapshot
from memctl.store import load
from memctl.store.memory import Memory
from memctl.text.phrases import quantity

if TYPE_CHECKING:
    from memctl.check.branch_review import ReviewItem

_FORMATS = ("text", "markdown", "github", "sarif", "json")
_CLASSES = (ERROR, "rejected", "stale")
_BRANCHES = "open branches"  # the source of a question about them
_FEW = 3  # files to name of those of one kind without a page
# Cells of the matrix: when to update a document, or what of the change goes into it.
_IN_WORDS = {
    "Always": "update",
    "Rarely": "rarely update",
    "If significant": "update if the change is significant",
    "If impacts status": "update if the change affects the status",
    "If changes status %": "update if the percentage changes",
    "If notable": "update if the fix is notable",
    "If critical bug": "update if the bug was critical",
    "If was blocker": "update if the bug was a blocker",
    "If architecture": "update if the architecture changes",
    "If impacts design": "update if the design changes",
    "If major feature": "update if the feature is a major one",
    "Status only": "update the status",
    "Status + %": "update the status and the percentage",
    "Reference": "add a reference to the record",
    "Full details": "add the full text of the record",
    "Summary": "add a summary of the record",
    "Link only": "add a link to the record",
}


class ImpactQuery(msgspec.Struct, frozen=True):
    """What `memctl page impact` is asked about: the changed files, and the snapshot of the memory in which to look.

    - `source`: where the changes are: "disk", "index" or a range of commits such as "main..HEAD".
    - `at`: the id of the commit at the end of that range, "" for disk and index.
    - `rows`: the kind of change, such as "fix", by the path of the file. It has only files that the range's commits
      changed, and of these only files for which a commit's subject names a kind (see `impact.by_subject`).
    - `base`: of a range with three dots the id of the commit before them, else "".
    """

    source: str
    snapshot: Snapshot
    at: str
    changes: list[differences.FileChange]
    rows: dict[str, str] = {}
    base: str = ""


@command(
    "impact",
    ("memctl page impact", "Show which pages and documents the uncommitted changes affect."),
    (
        "memctl page impact --staged --strict",
        "Show what the staged files affect; exit with 1 if a page is stale (for hooks).",
    ),
    (
        "memctl page impact main...HEAD",
        "Review a branch: records on its code, rejected options, stale pages, new findings.",
    ),
    (
        "memctl page impact main...HEAD --format markdown --fail-on rejected",
        "Print it as a comment; exit with 1 if a rejected option is back.",
    ),
    ("memctl page impact --branches", "Show where open branches decide the same thing, or change the same record."),
    ("memctl page impact src/payment --as fix", "Show what a bug fix in these files would affect."),
    ("memctl page impact --all", "List every stale page, also those that the changes do not affect."),
)
@click.argument("paths", nargs=-1, metavar="[PATHS | REV..REV | BASE...HEAD]")
@flag_option("--branches", help="Show where open branches, as last fetched, decide the same or change one record.")
@flag_option("--staged", help="Show what the staged files affect, not all uncommitted changes.")
@click.option("--as", "row", type=click.Choice(list(MATRIX)), help="Treat every change as a change of this kind.")
@flag_option("--all", "everything", help="List every stale page, not only those that refer to the changed files.")
@flag_option("--strict", help="Exit with 1 if a listed page is stale, or any page can't be read.")
@choice_option(
    "--format",
    "style",
    among=_FORMATS,
    default="text",
    help="The format of a review; only text and json are for others.",
)
@click.option(
    "--fail-on",
    type=click.Choice(_CLASSES),
    multiple=True,
    help="Exit with 1 if a review has one: a new error of `check` or a name that the base has, too (error), a rejected"
    " option, or a stale page. Repeatable.",
)
@json_option
def impact_command(
    ctx: click.Context,
    /,
    paths: tuple[str, ...],
    branches: bool,
    staged: bool,
    row: str | None,
    everything: bool,
    strict: bool,
    style: str,
    fail_on: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show which pages a change of files affects, and which pages are stale.

    With three dots it reviews a branch: which records in force govern the lines that it changes, which it adds, changes
    or supersedes, which options that a decision rejected come back in its code, records and commit subjects, which
    pages it makes stale, what `memctl check` finds that it did not find before, and which ids and numbers the base has
    given meanwhile, too. `memctl install github` lets that be a comment on each pull request.

    A page is suspect if a file that it refers to has changed since its last review, and broken if such a file is gone.
    The kind of change is taken from the subjects of the commits (fix, feat), or else from the files.
    """
    memory = memory_access.memory(ctx)
    query = _question(ctx, memory, paths, staged, branches)
    snapshot = query.snapshot
    reaches = impact.reach(snapshot, query.changes, query.rows, row or "")
    among = snapshot.outline.pages if everything else impact.pages_of(reaches)
    stale = impact.stale(memory, snapshot, among, query.at)
    review = _review(memory, query, style, fail_on)
    if as_json or style == "json":
        answer = impact.Impact(query.source, reaches, impact.affected_rows(reaches), stale, review)
        output.answer("impact", answer, snapshot.outline.faults, memory)
    elif review is not None:
        _print_review(query.source, review, style)
    else:
        _print(memory, reaches, stale)
        if not query.changes:
            output.note(
                _no_changes(query) + ("" if everything else "; `memctl page impact --all` lists every stale page")
            )
    output.faults(memory, snapshot.outline.faults)  # an unreadable page may be stale too
    classes = {ERROR if item.is_error else item.kind for item in review or ()}
    is_refused = (strict and (stale or snapshot.outline.faults)) or classes.intersection(fail_on)
    ctx.exit(REFUSED if is_refused else OK)


def _review(memory: Memory, query: ImpactQuery, style: str, fail_on: tuple[str, ...]) -> list[ReviewItem] | None:
    if query.source == _BRANCHES:
        from memctl.check import branch_overlap

        return branch_overlap.overlaps(memory)
    if not query.base:
        if fail_on or style not in ("text", "json"):
            option = "--fail-on" if fail_on else f"--format {style}"
            raise MemctlError(f"{option} is for the review of a branch", "`memctl page impact BASE...HEAD`", USAGE)
        return None
    from memctl.check import branch_review  # what is asked of files needs no rules

    return branch_review.review(memory, query.base, query.at)


def _print_review(source: str, review: list[ReviewItem], style: str) -> None:
    from memctl.check import branch_review, formats, review_formats
    from memctl.cli.check import home

    if style == "markdown":
        output.text(review_formats.as_markdown(review), newline=False)
    elif style == "github":
        for line in formats.as_github(branch_review.as_report(review), str):
            output.text(line)
    elif style == "sarif":
        output.json_text(formats.as_sarif(branch_review.as_report(review), str, __version__, home()))
    else:
        for number, (title, rows) in enumerate(review_formats.as_rows(review)):
            output.styled(("\n" if number else "") + click.style(title, bold=True))
            output.columns(rows)
        if not review:
            output.note(f"the memory has nothing to say about {source}")


def _no_changes(query: ImpactQuery) -> str:
    if query.source == "disk":
        return "no file differs from the last commit: `memctl page impact HEAD~1..HEAD` shows what that commit affects"
    return "no file is staged" if query.source == "index" else f"no file differs in {query.source}"


def _question(ctx: click.Context, memory: Memory, paths: tuple[str, ...], staged: bool, branches: bool) -> ImpactQuery:
    repository = memory.repository
    if branches:
        if staged or paths:
            raise MemctlError("--branches takes no paths or revisions, and no --staged", "give it alone", USAGE)
        return ImpactQuery(_BRANCHES, memory_access.snapshot(memory, None), "", [])
    if staged and paths:
        raise MemctlError("--staged can't be combined with paths or revisions", "leave out one of them", USAGE)
    if staged:
        return ImpactQuery("index", load.index(memory), "", differences.changed_in_index(repository))
    disk = memory_access.snapshot(memory, None)
    if not paths:
        return ImpactQuery("disk", disk, "", impact.in_worktree(memory, disk))
    if len(paths) > 1 or not _is_range(memory, disk, ctx.obj.folder, paths[0]):
        return ImpactQuery("disk", disk, "", _named_files(memory, disk, ctx.obj.folder, paths))
    # As in `git diff`, three dots stand for a range from the merge base.
    first, dots, second = paths[0].partition("..." if "..." in paths[0] else "..")
    before, after = repository.resolve(first or "HEAD"), repository.resolve(second or "HEAD")
    base = before if dots == "..." else ""
    before = history.merge_base(repository, before, after) if base else before
    changes = differences.changed_between(repository, before, after)
    boundary = repository.shallow()  # what a shallow clone begins with seems to change every file
    commits = history.commits(repository, [], f"{before}..{after}")
    rows = impact.by_subject(commit for commit in commits if commit.commit not in boundary)
    snapshot = load.revision(memory, after)
    if not snapshot.names(""):
        hint = "end the range at a commit that has a memory, or give files: `memctl page impact PATH`"
        raise MemctlError(f"the revision {second or 'HEAD'} has no memory", hint)
    return ImpactQuery(paths[0], snapshot, after, changes, rows, base)


def _named_files(memory: Memory, disk: Snapshot, folder: Path, paths: tuple[str, ...]) -> list[differences.FileChange]:
    try:
        return impact.named_files(memory, disk, folder, paths)
    except MemctlError as error:
        for text in paths:
            with suppress(MemctlError):
                commit = memory.repository.resolve(text)[:10]
                error.hint = (
                    f"{text} is the commit {commit}: `memctl page impact {text}...HEAD` reviews what came after it"
                )
        raise


def _is_range(memory: Memory, disk: Snapshot, folder: Path, text: str) -> bool:
    """An argument such as `../other`, or a file with that name, is a path and no range."""
    if ".." not in text or ".." in text.split("/"):
        return False
    return not disk.files.names().intersection(repository_paths.possible_paths(memory.repository.top, folder, text))


def _print(memory: Memory, reaches: list[Reach], stale: list[StalePage]) -> None:
    rows = [*((name, row.title) for name, row in MATRIX.items()), ("", "Other changed files of the memory")]
    blocks = [(title, changed) for name, title in rows if (changed := [item for item in reaches if item.row == name])]
    for number, (title, changed) in enumerate(blocks):
        output.styled(("\n" if number else "") + click.style(title, bold=True))
        known = [item for item in changed if item.pages]
        others = [item for item in changed if not item.pages]
        shown = [*known, *others] if len(others) <= _FEW else known
        output.columns([_change_row(item) for item in shown])
        if len(shown) < len(changed):
            output.text(f"  {quantity(len(others), 'file')} that no page is about")
        output.columns(_document_rows(changed), ({"fg": "cyan"},))
    if stale:
        output.styled(("\n" if blocks else "") + click.style("Stale pages", bold=True))
    for item in stale:
        _print_stale(memory, item)
    unsought = sum(broken.candidates is None for item in stale for broken in item.broken)
    if unsought:
        output.note(
            f"hint: memctl has not searched for a new path of {quantity(unsought, 'missing file')}; correct the other"
            " references above, then run `memctl page impact` again"
        )


def _document_rows(changed: list[Reach]) -> list[tuple[str, ...]]:
    if changed[0].row:
        return [
            (f"  {', '.join(item.documents)}", _IN_WORDS[item.condition])
            for item in impact.levels(changed[0].row, changed)
            if item.documents
        ]
    documents = dict.fromkeys(name for item in changed for name in item.documents)
    return [("  Documents", ", ".join(documents))]


def _change_row(item: Reach) -> tuple[str, ...]:
    before = f" from {item.change.before}" if item.change.status == differences.RENAMED else ""
    return f"  {item.change.path}", item.change.status + before, ", ".join(page.id for page in item.pages) or "no page"


def _print_stale(memory: Memory, item: StalePage) -> None:
    state = " and ".join([*(["suspect"] if item.suspect else []), *(["broken"] if item.broken else [])])
    output.styled(f"  {click.style(item.page.id, fg='yellow')} {output.plain(item.page.title)}: {state}")
    for drift in item.suspect:
        output.text(f"    {drift.path} has changed since the review: from {drift.reviewed} to {drift.now}")
    for broken in item.broken:
        where = f" (line {broken.line})" if broken.line else ""
        likely = ", ".join(f"{candidate.path} ({candidate.by})" for candidate in broken.candidates or ())
        output.text(
            f"    the file {broken.reference}{where} is gone" + (f"; perhaps it is now {likely}" if likely else "")
        )
    first = (
        f"correct the references in {memory.tracked(item.page.path)}, then run "
        if item.broken
        else "when the page agrees with the files, run "
    )
    output.text(f"    {first}`memctl page review {item.page.id}`")
