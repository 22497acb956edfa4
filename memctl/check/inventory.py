"""Rules about the files in the memory (MEM5xx)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from memctl.check.findings import Finding, Subject
from memctl.record import pages, session_page
from memctl.record.errors import InvalidRecord, NotRegularFile
from memctl.record.kinds import BY_FOLDER
from memctl.store import files
from memctl.store.place import CONFIG

_KNOWN = re.compile(
    r"README\.md|config\.yaml|\.gitattributes|\.gitignore|project\.md"
    r"|templates/[^/]+\.(?:md|j2)|docs/(?:[^/]+\.md|\.gitignore)|checkpoints/[^/]+/[^/]+\.(?:json|md)"
    r"|handoffs/\d{4}-\d{2}/HND-[^/]+\.package\.txt"
)
_MODEL = "take it out; `git config --global memctl.semanticModel NAME` sets yours"


def unknown_files(subject: Subject) -> Iterator[Finding]:
    """Report each file that memctl does not know, or that is no regular file."""
    for path in (*subject.others, *subject.leftovers):
        if files.is_temporary(path):
            hint = "`memctl commit` deletes it; if Git has it, `git rm` it"
            yield Finding("MEM511", path, 1, "a write that was killed left this temporary file", hint)
            continue
        if pages.kind_at(path) is not None:
            continue
        found = list(special(subject, path))
        yield from found
        is_known = _KNOWN.fullmatch(path) or session_page.is_page(path) or session_page.is_trail(path)
        if not (found or is_known):
            yield Finding("MEM501", path, 1, "memctl does not know this file", _hint(path))


def unused_settings(subject: Subject) -> Iterator[Finding]:
    """Report each setting in config.yaml that only users can make."""
    if subject.snapshot.config.semantic_model:
        line = next(iter(subject.lines_of(CONFIG, "semantic_model")), 1)
        yield Finding("MEM512", CONFIG, line, "semantic_model is not used: a repository must not name a model", _MODEL)


def overdue_commits(subject: Subject) -> Iterator[Finding]:
    """Report each change that has waited for its commit for too long."""
    for path, what in subject.overdue:
        yield Finding("MEM513", path, 1, what, "`memctl commit` makes it, `memctl status` lists all that waits")


def special(subject: Subject, path: str) -> Iterator[Finding]:
    """Yield a file that is a link or the like."""
    try:
        subject.snapshot.read(path)
    except NotRegularFile as error:
        yield Finding("MEM502", path, 1, error.faults[0].message)
    except (InvalidRecord, OSError):
        return  # another rule says so, or its name is not text, or it may not be read


def _hint(path: str) -> str:
    if path.partition("/")[0] in BY_FOLDER:
        return "records are named by their ids and end in .md; `git mv` back, or delete it"
    return "move it out of the memory, or delete it"
