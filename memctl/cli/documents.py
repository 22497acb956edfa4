"""The commands `memctl page render`, which writes documents, and `review`: pages agree with the code."""

from __future__ import annotations

from typing import Any

import click

from memctl.cli import memory_access, output, progress, write_command
from memctl.cli.command import command, complete, flag_option, json_option, section_named
from memctl.errors import REFUSED
from memctl.pages.documents import Comparison
from memctl.pages.links import FOLDER, SOURCES
from memctl.store import load
from memctl.store.memory import Memory
from memctl.write import documents, pages, render


@command(
    "render",
    ("memctl page render", "Render all documents, and commit those that changed."),
    (
        "memctl page render --check",
        "Write nothing, and exit with 1 if a document is stale or was edited by hand (for CI).",
    ),
    ("memctl page render --force", "Overwrite documents that were edited by hand."),
)
@flag_option("--check", "only_check", help="Write nothing; exit with 1 if a document is stale or was edited by hand.")
@flag_option("--staged", help="Render the staged records and pages, and stage the documents (for hooks).")
@flag_option("--merged", help="Add the staged documents to the merge commit just made (for hooks).")
@flag_option("--force", help="Overwrite edits made by hand that are not committed.")
@flag_option("--dry-run", "-n", help="Show what would be written, and write nothing.")
@flag_option("--no-commit", help="Write the documents, but neither stage nor commit them.")
@json_option
def render_command(
    ctx: click.Context,
    /,
    only_check: bool,
    staged: bool,
    merged: bool,
    force: bool,
    dry_run: bool,
    no_commit: bool,
    as_json: bool,
) -> None:
    """Render all documents from the memory: the index, one for each section and its details, and the source files.

    With `docs: true` every write of memctl renders the documents that it touches. With `docs: default-branch` nothing
    but this command does, on that branch: run it after merges, or let a workflow of the host run it. What a formatter
    has changed is rendered over. A document that was edited by hand is named, and overwritten if the edit is committed,
    as Git keeps it, or with --force.
    """
    memory = memory_access.memory(ctx)
    if only_check or dry_run:
        comparison = documents.compare(memory, memory_access.snapshot(memory, None, whole=True), force=force)
        _print_warnings(memory, comparison, as_json)
        ctx.exit(REFUSED if comparison.broken or (only_check and (comparison.by_hand or _differing(comparison))) else 0)
    memory.grant_trust()
    if merged:
        commit = render.complete_merge(memory)
        output.json("render", {"commit": commit or None}) if as_json else None
        return
    if staged:
        paths = documents.render_index(memory, stage=not no_commit)
        output.json("render", {"paths": [memory.tracked(path) for path in paths]}) if as_json else None
        return
    with progress.working("rendering"):
        result, comparison = render.render(memory, force=force, no_commit=no_commit)
    lines = [memory.tracked(path) for path in result.documents]
    if as_json:
        data = write_command.change_data(memory, result, False)
        data["edited_by_hand"] = [memory.tracked(path) for path in comparison.by_hand]
        output.json("render", data)
    else:
        for line in lines:
            output.text(line)
        output.note("all documents are up to date") if not (lines or comparison.by_hand or comparison.broken) else None
        write_command.pending(result)
    _complain(memory, comparison)
    ctx.exit(REFUSED if comparison.by_hand or comparison.broken else 0)


@command(
    "review",
    ("memctl page review §3.1", "Confirm that a page agrees with the present code."),
    ('memctl page review §2.1 §3.1 --reason "Checked after the move to queues"', "Confirm several pages at once."),
)
@click.argument(
    "markers", nargs=-1, required=True, metavar="§N.N…", callback=section_named, shell_complete=complete("marker")
)
@write_command.writing
def review_command(ctx: click.Context, /, markers: tuple[str, ...], **flags: Any) -> None:
    """Confirm that pages agree with the code they refer to.

    A page stores the content id of each file it refers to. When a file changes, `check` and `impact` call the page
    suspect until somebody reads the page again and confirms it with this command.
    """
    memory = memory_access.memory(ctx)
    author = pages.Author(memory.actor, memory.now)
    write_command.carry_out(memory, lambda _: pages.review(load.disk(memory), markers, author), flags)


def _differing(comparison: Comparison) -> list[str]:
    extra = [f"{FOLDER}/{SOURCES}"] if comparison.sources_stale else []
    return [*comparison.stale, *comparison.orphans, *extra]


def _print_warnings(memory: Memory, comparison: Comparison, as_json: bool) -> None:
    if as_json:
        stale = [memory.tracked(path) for path in _differing(comparison)]
        by_hand = [memory.tracked(path) for path in comparison.by_hand]
        output.json("render", {"stale": stale, "edited_by_hand": by_hand})
        _complain_of_templates(comparison)
        return
    for path in _differing(comparison):
        output.text(f"stale: {memory.tracked(path)}")
    _complain(memory, comparison)
    if not (comparison.by_hand or comparison.broken or _differing(comparison)):
        output.note("all documents are up to date")


def _complain_of_templates(comparison: Comparison) -> None:
    for error in comparison.faults.values():
        output.note(f"error: {error.message}\nhint: {error.hint}")


def _complain(memory: Memory, comparison: Comparison) -> None:
    _complain_of_templates(comparison)
    for path in comparison.by_hand:
        output.note(f"warning: {memory.tracked(path)} was edited by hand, and is not overwritten")
    if comparison.by_hand:
        output.note(
            "hint: move your edits into the page or record that the document shows, then run "
            "`memctl page render --force`"
        )
