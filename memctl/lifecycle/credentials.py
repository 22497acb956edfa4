"""Keeping credentials out of the history: text that looks like one is refused before it is written."""

from __future__ import annotations

from collections.abc import Iterator

from memctl.errors import MemctlError
from memctl.model import frontmatter, headings
from memctl.model.change import Change, Write
from memctl.model.credentials import kind_of_secret
from memctl.model.malformed import Malformed


def refuse(change: Change) -> None:
    """Raise MemctlError, naming field and kind of secret, if a change adds what looks like a credential.

    What the commit says counts too. Lines that a file had before are not complained of again.
    """
    for field, line in _added(change):
        if kind := kind_of_secret(line):
            raise MemctlError(
                f"{field}: this looks like a credential ({kind}); it would stay in the history for ever",
                "take it out, or let this one write pass with --allow-secret",
            )


def _added(change: Change) -> Iterator[tuple[str, str]]:
    yield from (
        ("reason", change.reason),
        ("title", change.title),
        ("session", change.session),
        ("actor", change.actor),
    )
    yield from (("reason", deed.reason) for deed in change.deeds)
    for write in change.writes:
        yield from added(write)


def added(write: Write) -> Iterator[tuple[str, str]]:
    """The lines that a file did not have before, each with the field it belongs to."""
    old = set(write.old.split("\n")) if write.old else set()
    yield from ((field, line) for field, line in _lines(write.text) if line not in old)


def _lines(text: str) -> Iterator[tuple[str, str]]:
    """The lines of a record file, each with the field it belongs to."""
    try:
        blocks = frontmatter.blocks(text)
        rest = frontmatter.split(text)[1]
    except Malformed:
        blocks, rest = (), text
    for block in blocks:
        yield from ((block.key, line) for line in block.text.split("\n"))
    for section in headings.split(rest):
        yield from ((section.heading or "body", line) for line in section.text.split("\n"))
