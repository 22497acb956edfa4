"""Rules about the lifecycle of records: expiry, supersession, completion (MEM4xx)."""

from __future__ import annotations

from collections.abc import Iterator

from memctl.check.findings import CheckContext, Finding
from memctl.pages import MANY_RECORDS, freshness


def expiry(subject: CheckContext) -> Iterator[Finding]:
    """Report each open record that has expired, and each record whose timestamp is in the future."""
    catalogue = subject.snapshot.catalogue
    for record in catalogue.select([("expires_at", "<=", subject.now)], "id")[0]:
        if record.is_open:
            line = subject.line_of(record.path, "expires_at")
            yield Finding("MEM401", record.path, line, f"the record expired at {record.expires_at}")
    latest = catalogue.latest(with_handoffs=True)  # found by an index, whereas the query below takes 6 ms
    if latest is None or latest.timestamp <= subject.now:
        return
    for record in catalogue.select([("timestamp", ">", subject.now)], "id")[0]:
        line = subject.line_of(record.path, "timestamp")
        yield Finding("MEM404", record.path, line, f"timestamp: {record.timestamp} is in the future")


def replacements(subject: CheckContext) -> Iterator[Finding]:
    """Report each record whose status and links disagree on whether another record supersedes it.

    It has a successor without the status `superseded`, or this status without a successor.
    """
    for record in subject.snapshot.records:
        if record.superseded_by and record.status != "superseded" and "superseded" in record.kind.statuses:
            line = subject.line_of(record.path, "status")
            message = f"the status is {record.status}, but {record.superseded_by[0]} supersedes this record"
            yield Finding("MEM402", record.path, line, message, "`memctl check --fix` sets the status to superseded")
        elif record.status == "superseded" and not record.superseded_by:
            line = subject.line_of(record.path, "status")
            yield Finding("MEM403", record.path, line, "the status is superseded, but superseded_by names no record")


def completion(subject: CheckContext) -> Iterator[Finding]:
    """Report each state that is complete but still active, and each open record that is blocked by a closed one."""
    for record in subject.snapshot.open_records:
        if record.memory_type == "state" and record.completion_percentage == 100:
            line = subject.line_of(record.path, "completion_percentage")
            yield Finding(
                "MEM406",
                record.path,
                line,
                "the state is 100 % complete, but its status is still active",
                f"`memctl resolve {record.id}` marks it as done",
            )
        for identifier in record.blocked_by:
            other = subject.by_id.get(identifier)
            if other is not None and not other.is_open:
                line = subject.line_of(record.path, "blocked_by", identifier)
                yield Finding(
                    "MEM407",
                    record.path,
                    line,
                    f"blocked_by: {identifier} is {other.status}, so it blocks nothing any more",
                )


def declared_completion(subject: CheckContext) -> Iterator[Finding]:
    """Report each section whose page says that it is 100 % complete, but that has open critical or high issues."""
    outline = subject.snapshot.outline
    for page in outline.sections:
        if page.completion_percentage == 100:
            places = (page.id, *(detail.id for detail in outline.details_of(page.id)))
            severe = [issue.id for place in places for issue in subject.snapshot.catalogue.severe(place)]
            if severe:
                line = subject.line_of(page.path, "completion_percentage")
                issues = f"{', '.join(severe[:3])} {'are' if len(severe) > 1 else 'is'} open"
                message = f"{page.id} is 100 % complete, but {issues}"
                yield Finding("MEM405", page.path, line, message)


def overview(subject: CheckContext) -> Iterator[Finding]:
    """Report the project's page if 50 or more records were added since it was last written or reviewed."""
    project = subject.snapshot.outline.project
    number = freshness.records_since_overview(subject.snapshot)
    if project is not None and number >= MANY_RECORDS:
        line = subject.line_of(project.path, "timestamp")
        message = f"§1.0 was last written or reviewed at {project.timestamp}, {number:,} records ago"
        yield Finding(
            "MEM408", project.path, line, message, "correct the page if necessary, then run `memctl review §1.0`"
        )
