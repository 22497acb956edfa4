"""Rules about the files in the memory (MEM5xx)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memctl.check.findings import Finding, Subject
from memctl.model import pages, session_page
from memctl.model.faults import InvalidRecord
from memctl.model.kinds import BY_FOLDER
from memctl.store import files

_KNOWN = re.compile(
    r"README\.md|config\.yaml|\.gitattributes|\.gitignore|project\.md"
    r"|templates/[^/]+\.(?:md|j2)|docs/(?:[^/]+\.md|\.gitignore)|checkpoints/[^/]+/[^/]+\.(?:json|md)"
    r"|handoffs/\d{4}-\d{2}/HND-[^/]+\.package\.txt"
)


def foreign(subject: Subject) -> Iterator[Finding]:
    """Every file is one that memctl knows, and a plain one."""
    for path in subject.snapshot.names(""):
        if files.is_record_path(path, BY_FOLDER) or pages.kind_at(path) is not None:
            continue
        special = list(_plain(subject, path))
        yield from special
        if not special and _KNOWN.fullmatch(path) is None and not _is_of_session(path):
            yield Finding("MEM501", path, 1, "memctl does not know this file", _hint(path))


def _is_of_session(path: str) -> bool:
    return session_page.is_page(path) or session_page.is_trail(path)


def _plain(subject: Subject, path: str) -> Iterator[Finding]:
    try:
        subject.snapshot.read(path)
    except InvalidRecord as error:
        if is_special(error):
            yield Finding("MEM502", path, 1, error.faults[0].message)
    except OSError:
        return  # its name is no text, or it may not be read


def is_special(error: InvalidRecord) -> bool:
    """Tell whether a file can't be read because it is a link, a folder or a device."""
    return "no regular file" in error.faults[0].message or "symbolic link" in error.faults[0].message


def _hint(path: str) -> str:
    if path.partition("/")[0] in BY_FOLDER:
        return "records are named by their ids and end in .md; `git mv` back, or delete it"
    return "move it out of the memory, or delete it"
