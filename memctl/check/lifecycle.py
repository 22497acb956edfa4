"""Rules about the lifecycle of records: expiry, supersession, completion (MEM4xx)."""

from __future__ import annotations

from collections.abc import Iterator

from memctl.check.findings import CheckContext, Finding
from memctl.pages import MANY_RECORDS, freshness
from memctl.write.hints import near_advice


def expiry(subject: CheckContext) -> Iterator[Finding]:
    """Report each open record that has expired, and each record whose timestamp is in the future."""
    catalogue = subject.snapshot.catalogue
    for record in catalogue.select([("expires_at", "<=", subject.now)], "id")[0]:
        if record.is_open:
            yield subject.at_key("MEM401", record.path, "expires_at", f"the record expired at {record.expires_at}")
    latest = catalogue.latest(with_handoffs=True)  # found by an index, whereas the query below takes 6 ms
    if latest is None or latest.timestamp <= subject.now:
        return
    for record in catalogue.select([("timestamp", ">", subject.now)], "id")[0]:
        message = f"timestamp: {record.timestamp} is in the future"
        yield subject.at_key("MEM404", record.path, "timestamp", message)


def replacements(subject: CheckContext) -> Iterator[Finding]:
    """Report each record whose status and links disagree on whether another record supersedes it.

    It has a successor without the status `superseded`, or this status without a successor.
    """
    for record in subject.snapshot.records:
        if record.superseded_by and record.status != "superseded" and "superseded" in record.kind.statuses:
            message = f"the status is {record.status}, but {record.superseded_by[0]} supersedes this record"
            hint = "`memctl check --fix` sets the status to superseded"
            yield subject.at_key("MEM402", record.path, "status", message, hint)
        elif record.status == "superseded" and not record.superseded_by:
            message = "the status is superseded, but superseded_by names no record"
            yield subject.at_key("MEM403", record.path, "status", message)


def near_records(subject: CheckContext) -> Iterator[Finding]:
    """Report each pair of open records that were near when the second was written, and that no link connects."""
    for pair in subject.near_pairs():
        what = "may contradict" if pair.may_contradict else "is near"
        message = f"{pair.new.id} {what} {pair.old.id} {pair.old.title}"
        yield subject.at_key(
            "MEM409", pair.new.path, "title", message, near_advice(pair.old, pair.new, pair.may_contradict)
        )


def completion(subject: CheckContext) -> Iterator[Finding]:
    """Report each state that is complete but still active, and each open record that is blocked by a closed one."""
    for record in subject.snapshot.open_records:
        if record.memory_type == "state" and record.completion_percentage == 100:
            message = "the state is 100 % complete, but its status is still active"
            hint = f"`memctl resolve {record.id}` marks it as done"
            yield subject.at_key("MEM406", record.path, "completion_percentage", message, hint)
        for identifier in record.blocked_by:
            other = subject.by_id.get(identifier)
            if other is not None and not other.is_open:
                message = f"blocked_by: {identifier} is {other.status}, so it blocks nothing any more"
                yield subject.at_key("MEM407", record.path, "blocked_by", message, value=identifier)


def declared_completion(subject: CheckContext) -> Iterator[Finding]:
    """Report each section whose page says that it is 100 % complete, but that has open critical or high issues."""
    outline = subject.snapshot.outline
    for page in outline.sections:
        if page.completion_percentage == 100:
            places = (page.id, *(detail.id for detail in outline.details_of(page.id)))
            severe = [issue.id for place in places for issue in subject.snapshot.catalogue.severe(place)]
            if severe:
                issues = f"{', '.join(severe[:3])} {'are' if len(severe) > 1 else 'is'} open"
                message = f"{page.id} is 100 % complete, but {issues}"
                yield subject.at_key("MEM405", page.path, "completion_percentage", message)


def overview(subject: CheckContext) -> Iterator[Finding]:
    """Report the project's page if 50 or more records were added since it was last written or reviewed."""
    project = subject.snapshot.outline.project
    number = freshness.records_since_overview(subject.snapshot)
    if project is not None and number >= MANY_RECORDS:
        message = f"§1.0 was last written or reviewed at {project.timestamp}, {number:,} records ago"
        hint = "correct the page if necessary, then run `memctl page review §1.0`"
        yield subject.at_key("MEM408", project.path, "timestamp", message, hint)
