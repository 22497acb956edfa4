"""Run the rules on a memory, and leave out findings that a `check_ignore` in its settings or files names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

import msgspec

from memctl.check import credentials, files, lifecycle, ownership, pages, records, references, sessions
from memctl.check.findings import CheckContext, Finding
from memctl.check.rules import ERROR, RULES, SEVERITIES
from memctl.errors import USAGE, MemctlError
from memctl.record import frontmatter
from memctl.record.errors import FrontMatterError, InvalidRecord
from memctl.record.mentions import IGNORE
from memctl.store.memory_root import CONFIG

MOST = 25_000  # findings of a report: GitHub's code scanning rejects a SARIF run with more results
KEY = IGNORE  # a key of the settings, and of the front matter of records and pages
_CODE = re.compile(r"[A-Z]+\d*")

_CHECKS: tuple[tuple[Callable[[CheckContext], Iterator[Finding]], tuple[str, ...]], ...] = (
    (records.readable, ("MEM101", "MEM102", "MEM103")),
    (records.identities, ("MEM104", "MEM105")),
    (records.links, ("MEM106", "MEM107")),
    (records.circles, ("MEM108",)),
    (records.accepted_decisions, ("MEM109",)),
    (credentials.secrets, ("MEM110", "MEM113")),
    (records.sizes, ("MEM111",)),
    (records.hidden_characters, ("MEM112",)),
    (records.contents, ("MEM114", "MEM115", "MEM116")),
    (records.authors, ("MEM117",)),
    (references.code_of_pages, ("MEM201", "MEM202")),
    (references.code_of_records, ("MEM203", "MEM204")),
    (references.sections, ("MEM205",)),
    (references.mentions_of_pages, ("MEM205", "MEM206")),
    (references.mentions_of_records, ("MEM207",)),
    (references.suspects, ("MEM208",)),
    (references.globs, ("MEM209",)),
    (pages.readable, ("MEM301", "MEM102", "MEM103")),
    (pages.numbers, ("MEM302",)),
    (pages.hierarchy, ("MEM303", "MEM304")),
    (pages.status, ("MEM305",)),
    (pages.contents, ("MEM311", "MEM312")),
    (pages.lengths, ("MEM306", "MEM307")),
    (pages.stale_documents, ("MEM308", "MEM309", "MEM310", "MEM313", "MEM314")),
    (lifecycle.expiry, ("MEM401", "MEM404")),
    (lifecycle.replacements, ("MEM402", "MEM403")),
    (lifecycle.completion, ("MEM406", "MEM407")),
    (lifecycle.declared_completion, ("MEM405",)),
    (lifecycle.overview, ("MEM408",)),
    (lifecycle.near_records, ("MEM409",)),
    (files.unknown_files, ("MEM501", "MEM502", "MEM511")),
    (files.overdue_commits, ("MEM513",)),
    (sessions.checkpoints, ("MEM103", "MEM505", "MEM506")),
    (sessions.pages, ("MEM102", "MEM103", "MEM507", "MEM508", "MEM509", "MEM510")),
    (ownership.owned_sections, ("MEM601",)),
    (ownership.answered_handoffs, ("MEM602",)),
)


# Functions whose findings depend only on records, pages and the names of files, so that they can be cached.
_CACHEABLE: tuple[object, ...] = (
    *(records.identities, records.links, records.circles, records.contents),
    *(references.sections, references.mentions_of_records),
    *(lifecycle.replacements, lifecycle.completion),
)


class IgnoreLine(msgspec.Struct, frozen=True):
    """A line of `check_ignore`, which makes a check ignore findings: a code of a rule, a glob of paths, and a reason.

    `code` may be the beginning of a code, which means several rules. `pattern` is the glob, for paths below `.memory/`.
    `path` and `line` say where the line itself is: in config.yaml or in a file of the memory.
    """

    code: str
    pattern: str
    reason: str
    path: str
    line: int

    def covers(self, finding: Finding) -> bool:
        """Return whether this line ignores a finding."""
        return finding.code.startswith(self.code) and fnmatchcase(finding.path, self.pattern)


class Report(msgspec.Struct, frozen=True):
    """The findings of a check, ordered by file and line, and how many others were ignored.

    At most 25,000 findings are listed, the worst ones. `unlisted` has the number of the other findings by severity.
    """

    findings: tuple[Finding, ...]
    ignored: int
    unlisted: dict[str, int] = {}

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return self.count(ERROR) > 0

    @property
    def counts(self) -> dict[str, int]:
        """The number of findings of each severity."""
        return {severity: self.count(severity) for severity in SEVERITIES}

    @property
    def number_unlisted(self) -> int:
        """The number of findings that are not listed."""
        return sum(self.unlisted.values())

    def count(self, severity: str) -> int:
        """Return the number of findings of a severity, including those that are not listed."""
        listed = sum(finding.severity == severity for finding in self.findings)
        return listed + self.unlisted.get(severity, 0)


def check(
    subject: CheckContext, select: Iterable[str] = (), ignore: Iterable[str] = (), kept: Collection[str] = ()
) -> Report:
    """Run the rules on a memory and return a report.

    `select` names the rules to run, () for all; `ignore` names rules that are not run. A rule is named by its name, its
    code, or the beginning of its code. Findings with a code in `kept` stay, whatever a `check_ignore` says. Raises
    MemctlError if a text names no rule.
    """
    wanted = codes(select) if (select := tuple(select)) else set(RULES)
    wanted -= codes(ignore)
    found: list[Finding] = []
    for function, rules in _CHECKS:
        if wanted & set(rules):
            findings = (subject.cached_findings if function in _CACHEABLE else subject.findings)(function)
            found += [finding for finding in findings if finding.code in wanted]
    found = references.for_other_code(subject, found) if "MEM210" in wanted else found
    left, used, lines = _without_ignored(subject, found, kept)
    ignored = len(found) - len(left)
    left += [finding for finding in _ignore_findings(lines, used, wanted) if finding.code in wanted]
    order = {name: place for place, name in enumerate(SEVERITIES)}
    worst = sorted(dict.fromkeys(left), key=lambda f: order[f.severity])
    listed = sorted(worst[:MOST], key=lambda f: (f.path, f.line, order[f.severity], f.code, f.message))
    return Report(tuple(listed), ignored, dict(Counter(finding.severity for finding in worst[MOST:])))


def ignore_known(subject: CheckContext, report: Report) -> Report:
    """Return a report on the staged files without demoted findings that a `check_ignore` names."""
    known = [finding for finding in report.findings if finding.is_demoted]
    left = set(_without_ignored(subject, known)[0])
    findings = tuple(finding for finding in report.findings if not finding.is_demoted or finding in left)
    return msgspec.structs.replace(report, findings=findings, ignored=report.ignored + len(known) - len(left))


def codes(prefixes: Iterable[str]) -> set[str]:
    """Return the codes of the rules that some texts name.

    A text is a rule's name, its code, or the beginning of a code: "MEM30" gives MEM301 to MEM309. Raises MemctlError if
    a text names no rule.
    """
    result: set[str] = set()
    for prefix in prefixes:
        meant = {code for code, rule in RULES.items() if code.startswith(prefix.upper()) or rule.name == prefix}
        if not meant:
            hint = "`memctl check --explain all` lists the rules"
            raise MemctlError(f"`memctl check` has no rule {prefix!r}", hint, USAGE)
        result |= meant
    return result


def _without_ignored(
    subject: CheckContext, findings: Sequence[Finding], kept: Collection[str] = ()
) -> tuple[list[Finding], set[IgnoreLine], tuple[IgnoreLine, ...]]:
    """Lines in records and pages without `check_ignore` and without findings are not read."""
    everywhere = tuple(_settings_lines(subject))
    by_file = {path: tuple(_file_lines(subject, path)) for path in _paths_with_ignores(subject)}
    left: list[Finding] = []
    used: set[IgnoreLine] = set()
    for finding in findings:
        if finding.path not in by_file:
            by_file[finding.path] = tuple(_file_lines(subject, finding.path))
        covering = [line for line in (*everywhere, *by_file[finding.path]) if line.reason and line.covers(finding)]
        used |= set(covering)
        if not covering or finding.code in kept:
            left.append(finding)
    return left, used, (*everywhere, *(line for lines in by_file.values() for line in lines))


def _paths_with_ignores(subject: CheckContext) -> list[str]:
    paths = subject.snapshot.catalogue.mentioning(KEY)
    for page in subject.snapshot.outline.pages:
        if f"\n{KEY}:" in subject.snapshot.read(page.path):
            paths.append(page.path)
    return paths


def _ignore_findings(lines: Iterable[IgnoreLine], used: set[IgnoreLine], wanted: set[str]) -> Iterator[Finding]:
    for line in lines:
        meant = {code for code in RULES if code.startswith(line.code)}
        if not line.reason or not meant:
            words = f"{line.code} {line.pattern}" if line.reason == "" else line.code
            no_reason = "has no reason; write `CODE PATTERN: reason`"
            fault = "is not the code or name of a rule" if line.reason else no_reason
            yield Finding("MEM503", line.path, line.line, f"{KEY}: {words} {fault}")
        elif line not in used and meant <= wanted:
            message = f"{KEY}: this line for {line.code} matches no finding"
            yield Finding("MEM504", line.path, line.line, message, "delete the line")


def _settings_lines(subject: CheckContext) -> Iterator[IgnoreLine]:
    texts = subject.snapshot.config.check_ignore
    if texts:
        lines = subject.lines_of(CONFIG, KEY)
        for number, text in enumerate(texts):
            yield _parse(text, "*", CONFIG, _line(lines, number))


def _file_lines(subject: CheckContext, path: str) -> Iterator[IgnoreLine]:
    try:
        texts = frontmatter.read(subject.snapshot.read(path))[0].get(KEY) or []
    except (FileNotFoundError, InvalidRecord, FrontMatterError):
        return
    lines = subject.lines_of(path, KEY) if texts else []
    for number, text in enumerate(texts if isinstance(texts, list) else [texts]):
        yield _parse(str(text), path, path, _line(lines, number))


def _line(lines: Sequence[int], number: int) -> int:
    """Items of a list on one line share that line."""
    return lines[min(number, len(lines) - 1)] if lines else 1


def _parse(text: str, pattern: str, path: str, line: int) -> IgnoreLine:
    before, _, reason = text.partition(":")
    code, *patterns = before.split(maxsplit=1) or [""]
    if _CODE.fullmatch(code) is None or not (reason.strip() or ":" not in text):
        return IgnoreLine(text.strip(), pattern, "", path, line)
    return IgnoreLine(code, patterns[0].strip() if patterns else pattern, reason.strip(), path, line)
