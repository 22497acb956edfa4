"""Find which errors in the staged files are older than the staged change, so that they don't prevent the commit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from memctl.check import context, credentials, run
from memctl.check.findings import Finding
from memctl.check.references import MISSING_CODE
from memctl.check.rules import DOCUMENTS, ERROR
from memctl.record.snapshot import Snapshot
from memctl.store import load
from memctl.store.memory import Memory

# Findings about what the commit changes (a decision's text, files of an owner, the memory that documents show), which
# no parent can have already.
_OF_CHANGES = {"MEM109", "MEM601", *DOCUMENTS}
_BETWEEN = {"MEM106", "MEM107", "MEM201", "MEM202", "MEM205", "MEM206", "MEM304", "MEM402"}  # about two files


def demote_known(memory: Memory, found: run.Report, staged: Snapshot, ignore: Iterable[str]) -> run.Report:
    """Return `found`, the report on the staged files, in which errors that the commit does not introduce are warnings.

    These are the errors that a parent of the commit has, too. The parents are HEAD and, in a merge, the merged commits.
    Two errors are the same if code, file and message are equal; the line may differ, except for a credential, whose
    line must have the same text. If the staged files have the same error three times and the parent has it once, two of
    the three stay errors. The parents are only read if there are errors. `staged` is the memory in the index, and
    `ignore` names the rules that its check has skipped.
    """
    for parent in ("HEAD", *context.merged_commits(memory)) if memory.repository.has_head() else ():
        codes = {finding.code for finding in found.findings if finding.severity == ERROR} - _OF_CHANGES
        if not codes:
            break
        codes |= set(MISSING_CODE) if "MEM210" in codes else set()
        snapshot = load.revision(memory, parent)
        earlier = run.check(context.from_memory(memory, snapshot, at=parent), codes, ignore, (credentials.CODE,))
        found = _demoted(found, introduced(found, staged, earlier, snapshot), f"{parent} has this error already")
    return found


def introduced(found: run.Report, snapshot: Snapshot, earlier: run.Report, before: Snapshot) -> tuple[Finding, ...]:
    """Return the findings of a report on `snapshot` that the earlier report, on the memory `before`, does not have."""
    left = Counter(_identity(before, finding) for finding in earlier.findings)
    new = []
    for finding in found.findings:
        left[identity := _identity(snapshot, finding)] -= 1
        new += [finding] if left[identity] < 0 else []
    return tuple(new)


def demote_partial(memory: Memory, found: run.Report, ignore: Iterable[str]) -> run.Report:
    """Return `found`, the report on the staged files, with warnings for what is only wrong since not all is staged.

    These are errors between two files, such as a link whose other side is not staged, that the disk does not have.
    """
    codes = _BETWEEN.intersection(finding.code for finding in found.findings if finding.severity == ERROR)
    if not codes:
        return found
    on_disk = load.disk(memory, whole=True)
    there = run.check(context.from_memory(memory, on_disk), codes, ignore)
    known = {_identity(on_disk, finding) for finding in there.findings}
    rest = [one for one in found.findings if one.code not in codes or _identity(on_disk, one) in known]
    return _demoted(found, rest, "in what is staged alone")


def _demoted(found: run.Report, rest: Iterable[Finding], why: str) -> run.Report:
    kept = set(map(id, rest))  # two findings may be equal
    findings = [
        replace(finding, message=f"{finding.message} ({why})", is_demoted=True)
        if finding.severity == ERROR and id(finding) not in kept
        else finding
        for finding in found.findings
    ]
    return replace(found, findings=tuple(findings))


def _identity(snapshot: Snapshot, finding: Finding) -> tuple[str, str, str]:
    """Return what is equal for the same finding in two commits: code, file, and message.

    A credential in a text has its line, too, or the whole text if the finding only counts more of them. The message of
    MEM210 has a count that changes with each reference, and is left out.
    """
    text = "" if finding.code == "MEM210" else finding.message
    if finding.code == credentials.CODE and credentials.IN_NAME not in text:
        whole = snapshot.searchable(finding.path)
        text += whole if credentials.MORE in text else whole.split("\n")[finding.line - 1]
    return finding.code, finding.path, text
