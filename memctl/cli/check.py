"""The command `memctl check`: report where the memory is not consistent, and correct it with --fix."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import click
from msgspec.structs import replace

from memctl import __version__
from memctl.check import context, credentials, formats, run
from memctl.check.findings import Finding
from memctl.check.rules import BEHIND, DOCUMENTS, EDITED, ERROR, INFO, RULES, SEVERITIES, WARNING
from memctl.check.run import Report
from memctl.cli import memory_access, output, progress
from memctl.cli.command import choice_option, command, complete, flag_option, for_people, text_options
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.git import git
from memctl.store import changes_ref, load, settings_check
from memctl.store.memory import Memory
from memctl.text.phrases import quantity
from memctl.write import documents

_COLOURS: dict[str, dict[str, Any]] = {
    ERROR: {"fg": "red", "bold": True},
    WARNING: {"fg": "yellow"},
    INFO: {"dim": True},
}
_PACKAGE = "git-memctl"
_DOUBLES = ("MEM104", "MEM302")  # ids and numbers that two files have
_UNREADABLE = ("MEM101", "MEM301", "MEM505", "MEM507")  # files that have another form than that of their kind
_FORMATS = ("text", "json", "github", "sarif")


@command(
    "check",
    ("memctl check", "Check the whole memory, as it is on the disk."),
    ("memctl check --all", "Also print advice, such as which pages are too short for their level."),
    ("memctl check --staged", "Check the files that Git will commit (for a pre-commit hook)."),
    (
        "memctl check --select MEM2 --format github",
        "Check only the rules of references, and print findings that GitHub shows beside the lines.",
    ),
    ("memctl check --explain MEM305", "Print why the rule MEM305 exists, and what to do if a file breaks it."),
    ("memctl check --fix", "Correct all findings that have only one possible correction, in one commit."),
)
@flag_option(
    "--staged", help="Check the staged files. A report as text has only errors; those that HEAD has, too, are warnings."
)
@click.option("--at", metavar="REV", help="Check the memory as it was at a commit, branch or tag.")
@text_options(
    (
        "--select",
        "select",
        "Check only these rules: a code, the beginning of codes such as MEM2, or a name. Repeatable.",
    ),
    ("--ignore", "ignore", "Skip these rules: a code, the beginning of codes, or a name. Repeatable."),
    metavar="CODE",
    shell_complete=complete("rule"),
)
@flag_option("--all", "everything", help="Also print advice: findings of severity info.")
@flag_option("--strict", help="Treat warnings as errors: exit with 1 if there are any.")
@choice_option("--format", "style", among=_FORMATS, default="text", help="The format of the report.")
@flag_option("--json", "as_json", help="Print JSON, as --format json does.")
@click.option(
    "--explain",
    metavar="CODE|all",
    shell_complete=complete("rule"),
    help="Explain the rule with this code, or list all rules.",
)
@flag_option(
    "--fix",
    callback=for_people,
    help="Correct all findings that have only one possible correction, and list them.",
)
@flag_option("--dry-run", "-n", help="With --fix: show what would be written, and write nothing.")
def check_command(
    ctx: click.Context,
    /,
    staged: bool,
    at: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    everything: bool,
    strict: bool,
    style: str,
    as_json: bool,
    explain: str | None,
    fix: bool,
    dry_run: bool,
) -> None:
    """Check that the memory is consistent; only --fix writes.

    It checks records and their links, references, the hierarchy, the rendered documents, and files that do not belong
    in the memory. Advice (findings of severity info) is printed only with --all or --select, and is only counted
    otherwise; JSON and SARIF always have all findings.

    With --staged, only errors that the commit adds make the exit code 1. An error that HEAD has too, and a reference to
    a file that the commit renames, are reported as warnings, also in JSON.

    Exit code 0: no errors (there may be warnings), 1: errors, 2: wrong usage. To ignore a finding for good, add the
    line `check_ignore: ["CODE PATTERN: reason"]` to config.yaml or to the front matter of the file itself.
    """
    style = "json" if as_json else style
    if explain:
        _explain(explain, style)
        return
    if fix and (staged or at):
        raise MemctlError(
            "--fix can't be combined with --staged or --at: --fix changes files on the disk",
            "leave out --staged and --at",
            USAGE,
        )
    memory = memory_access.memory(ctx)
    if fix and not dry_run:
        memory.refuse_untrusted_agent()
    report = _check(memory, staged, at, select, ignore)
    if fix:
        _fix(memory, report, dry_run, style)
        report = report if dry_run else _check(memory, False, None, select, ignore)
    with_advice = everything or bool(select)
    is_brief = staged and not strict and not everything and style == "text"
    least = ERROR if is_brief else INFO if with_advice else WARNING
    _print(memory, report, style, least)
    output.encoded(memory, (finding.path for finding in report.findings if finding.code in _UNREADABLE))
    behind = sum(finding.code == BEHIND for finding in report.findings) if memory.config.format > 1 else 0
    is_bad = report.has_errors or (strict and report.count("warning") > behind)
    ctx.exit(REFUSED if is_bad else OK)


def _check(memory: Memory, staged: bool, at: str | None, select: tuple[str, ...], ignore: tuple[str, ...]) -> Report:
    if staged and at:
        raise MemctlError("--staged and --at can't be combined", "give one of them", USAGE)
    snapshot = load.index(memory) if staged else memory_access.snapshot(memory, at, whole=True)
    # A commit by memctl has only its own files, and the documents already show what later commits will contain.
    # The same holds for a user's commit of some of the records that wait for one.
    faults = settings_check.faults(memory)  # no file of the memory has these settings, so they are no findings
    is_later = staged and not faults and changes_ref.is_later(memory)
    if staged and memory.config.format > 1:  # a document stops no commit
        ignore = (*ignore, *DOCUMENTS, EDITED)
    elif staged and (git.committing_process() or is_later or not context.is_touched(memory)):
        ignore = (*ignore, *DOCUMENTS)
    for error in faults:
        output.note(f"warning: {error.message}\nhint: {error.hint}")
    if why := documents.unused_templates(memory, snapshot):
        output.note(f"warning: the rendered documents are not checked: {why}\nhint: {documents.TRUST_HINT}")
        ignore = (*ignore, *DOCUMENTS, *([EDITED] if memory.config.format > 1 else []))
    subject = context.from_memory(memory, snapshot, staged, at)
    with progress.working("checking the memory"):
        # A credential that a commit adds stops it, whatever a file of the repository says.
        report = run.check(subject, select, ignore, (credentials.CODE,) if staged else ())
    if not (staged and report.has_errors):
        return report
    from memctl.check import baseline  # most commits have no errors

    report = run.ignore_known(subject, baseline.demote_known(memory, report, snapshot, ignore))
    return baseline.demote_partial(memory, report, ignore) if is_later else report


def _fix(memory: Memory, report: Report, dry_run: bool, style: str) -> None:
    from memctl.cli import write_command  # loads what writes, which a check without --fix does not need
    from memctl.record.change import WriteOptions
    from memctl.write import autofix, render, transaction

    say = output.text if style == "text" else output.note
    has_doubles = memory.config.format > 1 and any(finding.code in _DOUBLES for finding in report.findings)
    renumbered = list(_renumber(memory, dry_run)) if has_doubles else []
    for line in renumbered:
        say(line)
    correctable = [finding for finding in report.findings if finding.rule.is_mended or finding.code in autofix.RENAMED]
    in_records = [(finding.code, finding.path) for finding in correctable if finding.code not in DOCUMENTS]
    if in_records:
        with progress.working(f"correcting {quantity(len(in_records), 'finding')}"):
            result = transaction.carry_out(
                memory, lambda _: autofix.fix(load.disk(memory), in_records, memory), WriteOptions(dry_run=dry_run)
            )
        if result.change.is_empty:
            correctable = [finding for finding in correctable if finding.code in DOCUMENTS]
        elif style == "text":
            write_command.outcome(memory, result, {"as_json": False, "dry_run": dry_run})
        else:
            say(f"{'would ' if dry_run else ''}{result.change.op} {result.change.title}")
            write_command.pending(result)
    if any(finding.code in DOCUMENTS for finding in correctable):
        if dry_run:
            say("would render the documents")
            return
        memory.grant_trust()
        with progress.working("rendering the documents"):
            outcome, _ = render.render(memory)
        for path in outcome.documents:
            say(f"rendered {memory.tracked(path)}")
        write_command.pending(outcome)
    if not correctable and not renumbered:
        output.note("there is no finding that `memctl check --fix` can correct")


def _renumber(memory: Memory, dry_run: bool) -> Iterator[str]:
    """What shares an id or number and was never pushed gets a new name; yield a line for each."""
    from memctl.cli import write_command
    from memctl.record.change import WriteOptions
    from memctl.write import renumber

    done = renumber.carry_out(memory, WriteOptions(dry_run=dry_run), only_unpushed=True)
    for holder in done.made.renamed:
        yield f"{'would renumber' if dry_run else 'renumbered'} {holder.name} -> {holder.now}  {holder.title}"
    write_command.pending(done.outcome)


def home() -> str:
    """Return the absolute URI of memctl's web pages, which SARIF reports must name.

    It is taken from the metadata of the installed package. If they name no web page, the result is a package URL such
    as "pkg:pypi/memctl@1.0" (https://github.com/package-url/purl-spec).
    """
    from importlib import metadata

    named: list[str] = []
    with suppress(metadata.PackageNotFoundError):
        named = metadata.metadata(_PACKAGE).get_all("Project-URL") or []
    addresses = dict(address.split(", ", 1) for address in named)
    return addresses.get("Documentation") or addresses.get("Homepage") or f"pkg:pypi/{_PACKAGE}@{__version__}"


def _print(memory: Memory, report: Report, style: str, least: str) -> None:
    """If `least` is "error", as in a hook at each commit, equal messages about one file are printed once."""
    if style == "json":
        output.answer("check", report, memory=memory)
    elif style == "sarif":
        output.json_text(formats.as_sarif(report, memory.tracked, __version__, home()))
    else:
        worst = SEVERITIES[: SEVERITIES.index(least) + 1]
        listed = replace(report, findings=tuple(finding for finding in report.findings if finding.severity in worst))
        if least == ERROR:
            listed = replace(report, findings=tuple(_errors(report)))
        printer = formats.as_github if style == "github" else formats.as_text
        if lines := list(printer(listed, memory.tracked)):
            output.styled("\n".join(_coloured(output.plain(line), style) for line in lines))
        if least != ERROR or report.has_errors:
            advice = ": `memctl check --all` prints the notes" if report.count(INFO) and INFO not in worst else ""
            output.note(formats.summary(report) + advice)
    if omitted := formats.omission(report):
        output.note(f"warning: {omitted}")


def _coloured(line: str, style: str) -> str:
    where, space, rest = line.partition(": ")
    severity, blank, message = rest.partition(" ")
    if style != "text" or severity not in _COLOURS:
        return line
    return f"{where}{space}{click.style(severity, **_COLOURS[severity])}{blank}{message}"


def _errors(report: Report) -> Iterator[Finding]:
    """Of equal messages about one file only the first counts."""
    seen = set()
    for finding in report.findings:
        key = (finding.code, finding.path, finding.message)
        if finding.rule.severity == ERROR and key not in seen:
            seen.add(key)
            yield finding


def _explain(wanted: str, style: str) -> None:
    rules = [RULES[code] for code in sorted(run.codes([wanted]) if wanted.lower() != "all" else RULES)]
    if style == "json":
        output.json_list("rules", rules)
    elif len(rules) == 1:
        output.text(formats.explanation(rules[0]))
    else:
        rows = [(rule.code, rule.severity, rule.name, rule.summary) for rule in rules]
        output.columns(rows)
