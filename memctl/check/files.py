"""Rules about the files in the memory and the settings (MEM501, MEM502, MEM511 to MEM513)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memctl.check.findings import CheckContext, Finding
from memctl.record import pages, session_page
from memctl.record.errors import InvalidRecord, NotRegularFile
from memctl.record.kinds import BY_FOLDER
from memctl.store import files

_KNOWN = re.compile(
    r"README\.md|config\.yaml|\.gitattributes|\.gitignore|project\.md"
    r"|templates/[^/]+\.(?:md|j2)|docs/(?:[^/]+\.md|\.gitignore)|checkpoints/[^/]+/[^/]+\.(?:json|md)"
    r"|handoffs/\d{4}-\d{2}/HND-[^/]+\.package\.txt"
)


def unknown_files(subject: CheckContext) -> Iterator[Finding]:
    """Report each unknown, temporary or special file in the memory."""
    for path in (*subject.others, *subject.snapshot.leftovers()):
        if files.is_temporary(path):
            hint = "`memctl commit` deletes the file; if Git tracks it, use `git rm`"
            yield Finding("MEM511", path, 1, "a write was interrupted and left this temporary file", hint)
            continue
        if pages.kind_at(path) is not None:
            continue
        findings = list(special_files(subject, path))
        yield from findings
        is_known = _KNOWN.fullmatch(path) or session_page.is_page(path) or session_page.is_trail(path)
        if not (findings or is_known):
            yield Finding("MEM501", path, 1, "memctl does not know this file", _hint(path))


def overdue_commits(subject: CheckContext) -> Iterator[Finding]:
    """Report each change that has waited for its commit for more than an hour, unless the user wanted no commit."""
    for path, what in subject.overdue:
        yield Finding("MEM513", path, 1, what, "`memctl commit` commits it; `memctl status` lists all pending changes")


def special_files(subject: CheckContext, path: str) -> Iterator[Finding]:
    """Yield a finding if a file is a symbolic link or another special file."""
    try:
        subject.snapshot.read(path)
    except NotRegularFile as error:
        yield Finding("MEM502", path, 1, error.faults[0].message)
    except (InvalidRecord, OSError):
        return  # another rule reports it, the name is not UTF-8, or permissions forbid to read it


def _hint(path: str) -> str:
    if path.partition("/")[0] in BY_FOLDER:
        return "a record's file name must begin with its id and end in .md: rename it with `git mv`, or delete it"
    return "move the file out of the memory, or delete it"
