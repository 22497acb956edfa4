"""Rules about the files in the memory (MEM5xx)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memctl.check.findings import Finding, Subject
from memctl.model import checkpoint, pages
from memctl.model.checkpoint import Version
from memctl.model.faults import InvalidRecord
from memctl.model.kinds import BY_FOLDER
from memctl.store import files

_KNOWN = re.compile(
    r"README\.md|config\.yaml|\.gitattributes|\.gitignore|project\.md"
    r"|templates/[^/]+\.(?:md|j2)|docs/(?:[^/]+\.md|\.gitignore)|sessions/.+|checkpoints/[^/]+/[^/]+\.(?:json|md)"
)


def foreign(subject: Subject) -> Iterator[Finding]:
    """Every file is one that memctl knows, and a plain one."""
    for path in subject.snapshot.names(""):
        if files.is_record_path(path, BY_FOLDER) or pages.kind_at(path) is not None:
            continue
        special = list(_plain(subject, path))
        yield from special
        if not special and _KNOWN.fullmatch(path) is None:
            yield Finding("MEM501", path, 1, "memctl does not know this file", _hint(path))


def checkpoints(subject: Subject) -> Iterator[Finding]:
    """Every checkpoint can be read, and each workflow has one that is the newest."""
    numbers: dict[str, list[Version]] = {}
    for path in filter(checkpoint.is_json, subject.snapshot.names(checkpoint.FOLDER)):
        try:
            number = checkpoint.parse(subject.snapshot.read(path), path).number
            numbers.setdefault(number.workflow, []).append(number)
        except InvalidRecord as error:
            fault = error.faults[0]
            message = f"{fault.field}: {fault.message}" if fault.field else fault.message
            yield Finding("MEM505", path, 1, message)
        except OSError:
            continue  # `foreign` says what it is
    for found in numbers.values():
        first, *others = sorted(found, reverse=True)
        twins = [other for other in others if other.version == first.version]
        yield from (Finding("MEM506", twin.path, 1, f"{first.id} is of the same version") for twin in twins)


def _plain(subject: Subject, path: str) -> Iterator[Finding]:
    try:
        subject.snapshot.read(path)
    except InvalidRecord as error:
        if "no regular file" in error.faults[0].message or "symbolic link" in error.faults[0].message:
            yield Finding("MEM502", path, 1, error.faults[0].message)
    except OSError:
        return  # its name is no text, or it may not be read


def _hint(path: str) -> str:
    if path.partition("/")[0] in BY_FOLDER:
        return "records are named by their ids and end in .md; `git mv` back, or delete it"
    return "move it out of the memory, or delete it"
