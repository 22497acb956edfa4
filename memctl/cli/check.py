"""`check`."""

from __future__ import annotations

import os

import click
from msgspec.structs import replace

from memctl import __version__
from memctl.check import formats, run
from memctl.check.findings import StagedWork, Subject
from memctl.check.rules import DOCUMENTS, INFO, RULES
from memctl.check.run import Report
from memctl.cli import opening, output
from memctl.cli.command import command
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.git import differences, git, hook_commits
from memctl.record.snapshot import Snapshot
from memctl.store import files, load
from memctl.store.memory import Memory
from memctl.team import ref_state
from memctl.team.state import State
from memctl.write import documents

_FORMATS = ("text", "json", "github", "sarif")


@command(
    "check",
    ("memctl check", "Everything, as it is on the disk."),
    ("memctl check --staged", "As Git will commit it (for a pre-commit hook)."),
    ("memctl check --select MEM2 --format github", "Only references, shown beside the lines on GitHub."),
    ("memctl check --explain MEM305", "What a rule is for, and what to do about it."),
    ("memctl check --fix", "Mend what has one right answer, in one commit."),
)
@click.option("--staged", is_flag=True, help="Read what is staged; what is of information only is not listed.")
@click.option("--at", metavar="REV", help="Read a commit, branch or tag.")
@click.option("--select", multiple=True, metavar="CODE", help="Only these rules, by code or its beginning. Repeatable.")
@click.option("--ignore", multiple=True, metavar="CODE", help="Not these rules. Repeatable.")
@click.option("--strict", is_flag=True, help="Let warnings count as errors.")
@click.option("--format", "style", type=click.Choice(_FORMATS), default="text", show_default=True, help="How to print.")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--explain", metavar="CODE|all", help="Explain a rule, or list all.")
@click.option("--fix", is_flag=True, help="Mend what has one right answer, and say what was done.")
@click.option("--dry-run", "-n", is_flag=True, help="With --fix: show what would be written, and write nothing.")
@click.pass_context
def check_command(
    ctx: click.Context,
    /,
    staged: bool,
    at: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    strict: bool,
    style: str,
    as_json: bool,
    explain: str | None,
    fix: bool,
    dry_run: bool,
) -> None:
    """Check that the memory is consistent; it never writes.

    Looked at are records and their links, references, the hierarchy, the rendered documents and foreign files.

    Exit code 0: no errors (there may be warnings), 1: errors, 2: wrong usage. A finding is ignored for good by a line
    `check_ignore: ["CODE PATTERN: reason"]` in config.yaml, or in the front matter of the file itself.
    """
    style = "json" if as_json else style
    if explain:
        _explain(explain, style)
        return
    if fix and (staged or at):
        raise MemctlError("--fix mends what is on the disk; --staged and --at only read", exit_code=USAGE)
    memory = opening.memory(ctx)
    if fix and not dry_run:
        memory.grant_trust()
    found = _check(memory, staged, at, select, ignore)
    if fix:
        _mend(memory, found, dry_run, style)
        found = found if dry_run else _check(memory, False, None, select, ignore)
    _print(memory, found, style, brief=staged)
    is_bad = found.has_errors or (strict and found.count("warning") > 0)
    ctx.exit(REFUSED if is_bad else OK)


def _check(memory: Memory, staged: bool, at: str | None, select: tuple[str, ...], ignore: tuple[str, ...]) -> Report:
    if staged and at:
        raise MemctlError("--staged and --at exclude each other", exit_code=USAGE)
    snapshot = load.index(memory) if staged else opening.snapshot(memory, at)
    # A commit of ours has its own files alone, and the documents show already what the commits after it will have.
    if staged and (git.committing() or not _is_touched(memory)):
        ignore = (*ignore, *DOCUMENTS)
    _tell_of_settings(memory)
    if why := documents.unused_templates(memory, snapshot):
        output.note(f"documents are not compared: {why}\nhint: {documents.TRUST_HINT}")
        ignore = (*ignore, *DOCUMENTS)
    return run.check(_subject(memory, snapshot, staged, at), select, ignore)


def _tell_of_settings(memory: Memory) -> None:
    """Say if a setting of this clone means nothing: it is no file of the memory, and so no finding."""
    try:
        hook_commits.mode(memory.repository)
    except hook_commits.UnknownValue as error:
        output.note(f"warning: {error.message}\nhint: {error.hint}")


def _is_touched(memory: Memory) -> bool:
    """Whether anything of the memory is staged: a commit of code alone is not stopped for documents that a rebase or a
    cherry-pick has left stale."""
    return not _exists(memory, "HEAD") or bool(
        differences.changed(memory.repository, memory.prefix, "HEAD", staged=True)
    )


def _subject(memory: Memory, snapshot: Snapshot, staged: bool, at: str | None) -> Subject:
    after = memory.repository.resolve(at) if at else None
    before = f"{after}^" if after else "HEAD"
    changed: set[str] = set()
    _ = snapshot.catalogue  # for it Git says which files differ from HEAD
    # In a hook of our own commit the write path has judged already what may be changed.
    if not git.committing() and _exists(memory, before) and not (after and _is_ours(memory, after)):
        paths = _changed(memory, memory.tracked("decisions"), before, after, staged)
        changed = {path[len(memory.prefix) + 1 :] for path in paths}

    def earlier(path: str) -> str | None:
        try:
            return git.read(["show", f"{before}:{memory.tracked(path)}"], memory.repository.top).decode(
                errors="replace"
            )
        except git.GitFailed:
            return None

    making = documents.renderer
    return Subject(
        snapshot,
        memory.now,
        lambda: making(memory, snapshot),
        documents.counter(memory),
        sorted(changed),
        earlier,
        _staged(memory) if staged else None,
        None if at else _agreed(memory),
        () if staged or at else files.leftovers(memory.folder),
        () if staged or at else _overdue(memory),
    )


def _overdue(memory: Memory) -> list[tuple[str, str]]:
    """What has waited for its commit for too long: a file of each change, and what is to be said of it."""
    if not opening.has_pending(memory):
        return []
    from memctl.store import entry_state

    found = []
    for entry in entry_state.overdue(memory, entry_state.outstanding(memory)):
        why = " ".join(entry_state.reason(memory, entry).split()) or "nobody has tried"
        found.append((entry.change.paths[0], f"{entry_state.describe(entry)} has no commit yet: {why}"))
    return found


def _changed(memory: Memory, folder: str, before: str, after: str | None, staged: bool) -> set[str]:
    """The files below a folder of the repository that differ from what came before, from all sides of a merge.

    What either side of a merge has is no change of its own. Before MERGE_HEAD is there, Git tells its hooks which
    commit is merged by a variable's name.
    """
    told = [name.removeprefix("GITHEAD_") for name in os.environ if name.startswith("GITHEAD_")]
    others = [f"{after}^2"] if after else ["MERGE_HEAD", *told]
    parents = (before, *(other for other in others if _exists(memory, other)))
    if not staged and after is None and len(parents) == 1:  # Git has said so as the memory was read
        return {path for path in memory.differing[1] if path.startswith(f"{folder}/")}
    sides = [set(differences.changed(memory.repository, folder, parent, after, staged=staged)) for parent in parents]
    return set.intersection(*sides)


def _staged(memory: Memory) -> StagedWork | None:
    """What is about to be committed, if agents own sections; the write path has judged commits of our own."""
    state = ref_state.read(memory).state
    if git.committing() or not state.section_ownership_map:
        return None
    if not _exists(memory, "HEAD"):
        from memctl.git import index

        return StagedWork(tuple(entry.path for entry in index.entries(memory.repository)), state, memory.actor)
    return StagedWork(tuple(sorted(_changed(memory, ".", "HEAD", None, True))), state, memory.actor)


def _agreed(memory: Memory) -> State | None:
    """What the agents agree on; if that can't be read, the memory can be checked all the same."""
    try:
        return ref_state.read(memory).state
    except MemctlError as error:
        output.note(f"warning: {error.message}")
        return None


def _is_ours(memory: Memory, commit: str) -> bool:
    """Whether memctl made a commit: then what it changes in accepted decisions was asked for."""
    from memctl.git import history

    found = history.commits(memory.repository, [memory.prefix], commit, 1)
    return bool(found and found[0].commit == commit and found[0].trailers.ops)


def _exists(memory: Memory, revision: str) -> bool:
    if revision == "HEAD":
        return memory.repository.has_head()
    if revision == "MERGE_HEAD" and not memory.repository.is_merging():
        return False
    try:
        return bool(memory.repository.resolve(revision))
    except MemctlError:
        return False


def _mend(memory: Memory, found: Report, dry_run: bool, style: str) -> None:
    """Mend records in one commit (with their documents), then whatever documents are still stale."""
    from memctl.cli import report  # a check that only looks needs none of what writes
    from memctl.record.change import WriteOptions
    from memctl.write import autofix, render, transaction

    say = output.text if style == "text" else output.note
    mended = [finding for finding in found.findings if finding.rule.is_mended]
    in_records = [(finding.code, finding.path) for finding in mended if finding.code not in DOCUMENTS]
    if in_records:
        result = transaction.carry_out(
            memory, lambda _: autofix.fix(load.disk(memory), in_records), WriteOptions(dry_run=dry_run)
        )
        if style == "text":
            report.outcome(memory, result, {"as_json": False, "dry_run": dry_run})
        else:
            say(f"{'would ' if dry_run else ''}{result.change.op} {result.change.title}")
            report.pending(result)
    if any(finding.code in DOCUMENTS for finding in mended):
        if dry_run:
            say("would render the documents")
            return
        outcome, _ = render.render(memory)
        for path in outcome.documents:
            say(f"rendered {memory.tracked(path)}")
        report.pending(outcome)
    if not mended:
        output.note("nothing here has one right answer")


def _print(memory: Memory, found: Report, style: str, *, brief: bool) -> None:
    """Print findings; in a `brief` text those of information are only counted, for a hook prints it at each commit."""
    if style == "json":
        output.json("check", formats.as_data(found, memory.tracked))
    elif style == "sarif":
        output.json_text(formats.as_sarif(found, memory.tracked, __version__))
    else:
        listed = found
        if brief and style == "text":
            listed = replace(found, findings=tuple(f for f in found.findings if f.rule.severity != INFO))
        printer = formats.as_github if style == "github" else formats.as_text
        if lines := list(printer(listed, memory.tracked)):
            output.text("\n".join(lines))
        output.note(formats.summary(found))
    if omitted := formats.omission(found):
        output.note(f"warning: {omitted}")


def _explain(wanted: str, style: str) -> None:
    rules = [RULES[code] for code in sorted(run.codes([wanted]) if wanted.lower() != "all" else RULES)]
    if style == "json":
        output.json("rules", [formats.rule_data(rule) for rule in rules])
    elif len(rules) == 1:
        output.text(formats.explanation(rules[0]))
    else:
        rows = [(rule.code, rule.severity, rule.name, rule.summary) for rule in rules]
        output.columns(rows)
