"""Keeping credentials out of the history: text that looks like one is refused before it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from memctl.errors import MemctlError
from memctl.model import frontmatter, headings
from memctl.model.change import Change, Write
from memctl.model.malformed import Malformed
from memctl.text.credentials import Span, describe, find, line_of


def refuse(change: Change, before: Callable[[Write], str | None] = lambda write: write.old) -> None:
    """Raise MemctlError, naming field, line and rule, if a change adds what looks like a credential.

    What the commit says counts too. Lines that a file had `before` are not complained of again; that is asked only for
    a file that has something of the sort.
    """
    for field, text, span in _found(change, before):
        raise MemctlError(
            f"{field}: line {line_of(text, span)} {describe(text, span)}; it would stay in the history for ever",
            "take it out, or let this one write pass with --allow-secret",
        )


def _found(change: Change, before: Callable[[Write], str | None]) -> Iterator[tuple[str, str, Span]]:
    """Each credential that a change adds: the field that it stands in, the field's text, and its place there."""
    said = [("reason", change.reason), ("title", change.title), ("session", change.session), ("actor", change.actor)]
    said += [("reason", deed.reason) for deed in change.deeds]
    yield from ((field, text, span) for field, text in said for span in find(text))
    for write in change.writes:
        if not find(write.text):
            continue
        old = before(write)
        spans = list(_new(write.text, old))
        parts = [(field, text, span) for field, text in _fields(write.text) for span in _new(text, old)]
        yield from parts or (("body", write.text, span) for span in spans) if spans else ()


def _new(text: str, old: str | None) -> Iterator[Span]:
    """The credentials of a text that stand in a line which a file did not have before."""
    spans = find(text)
    known = set(old.split("\n")) if spans and old else set()
    for span in spans:
        start, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end)
        if not known.issuperset(text[start : end if end >= 0 else None].split("\n")):
            yield span


def added(write: Write) -> Iterator[tuple[str, str]]:
    """The lines that a file did not have before, each with the field it belongs to."""
    old = set(write.old.split("\n")) if write.old else set()
    for field, text in _fields(write.text):
        yield from ((field, line) for line in text.split("\n") if line not in old)


def _fields(text: str) -> Iterator[tuple[str, str]]:
    """The fields of a record file, each with its text: what its headings and keys are followed by."""
    try:
        blocks = frontmatter.blocks(text)
        rest = frontmatter.split(text)[1]
    except Malformed:
        blocks, rest = (), text
    yield from ((block.key, block.text) for block in blocks)
    for section in headings.split(rest):
        name, _, body = section.text.partition("\n") if section.heading else ("", "", section.text)
        yield section.heading or "body", name.removeprefix("## ") if find(name) else body.lstrip("\n")
