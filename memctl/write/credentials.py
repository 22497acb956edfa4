"""Keeping credentials out of the history: text that looks like one is refused before it is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from itertools import chain

from memctl.errors import CredentialFound
from memctl.record import frontmatter
from memctl.record.change import Change, Write
from memctl.record.errors import FrontMatterError
from memctl.text import headings
from memctl.text.credentials import Span, describe, find, fingerprint, is_in, lines


def refuse(
    change: Change,
    before: Callable[[Write], str | None] = lambda write: write.old,
    allowed: Callable[[], Collection[str]] = tuple,
) -> None:
    """Raise CredentialFound if a change adds what looks like a credential; the error names field, line and rule.

    The commit's message is checked, too. Lines that a file had before the change are no finding: `before` returns the
    old text for a write. Nor are values that the user allows: `allowed` returns their fingerprints
    (`Memory.allowed_secrets`). Both are called only if something was found.
    """
    for field, text, span in _credentials_in(change, before):
        if fingerprint(text, span) in allowed():
            continue
        raise CredentialFound(
            f"{field}: line {next(lines(text, [span]))} {describe(text, span)}; Git's history would keep it for ever",
            "remove the credential",
        )


def _credentials_in(change: Change, before: Callable[[Write], str | None]) -> Iterator[tuple[str, str, Span]]:
    """Yield each credential that a change adds: the field that has it, the field's text, and its place there."""
    texts = [("reason", change.reason), ("title", change.title), ("session", change.session), ("actor", change.actor)]
    texts += [("reason", deed.reason) for deed in change.deeds]
    texts += [("file name", write.path) for write in change.writes if write.old is None]
    if is_in("\n".join(text for _, text in texts)):
        yield from ((field, text, span) for field, text in texts for span in find(text))
    for write in change.writes:
        if not is_in(write.text):
            continue
        old = before(write)
        spans = list(_new(write.text, old))
        parts = ((field, text, span) for field, text in _fields(write) for span in _new(text, old))
        yield from chain(parts, (("body", write.text, span) for span in spans)) if spans else ()


def _new(text: str, old: str | None) -> Iterator[Span]:
    """Yield the credentials of a text in lines that a file did not have before."""
    spans = find(text)
    known = set(old.split("\n")) if spans and old else set()
    start = end = -1
    is_new = True
    for span in spans:
        if span.end > end:  # otherwise it is in the lines of the span before
            start, end = text.rfind("\n", 0, span.start) + 1, (text + "\n").find("\n", span.end)
            is_new = not known.issuperset(text[start:end].split("\n"))
        if is_new:
            yield span


def added_lines(write: Write) -> Iterator[tuple[str, str]]:
    """Yield the lines that a Write adds to its file, each as a pair: the name of the field it is in, and the line."""
    old = set(write.old.split("\n")) if write.old else set()
    for field, text in _fields(write):
        yield from ((field, line) for line in text.split("\n") if line not in old)


def _is_checkpoint(path: str) -> bool:
    """Return whether the path is that of a checkpoint's JSON file."""
    from memctl.record import checkpoint  # most writes are of records

    return checkpoint.is_json(path)


def _fields(write: Write) -> Iterator[tuple[str, str]]:
    """Yield the fields of a file, each with its text: headings and keys of a record, keys of a checkpoint."""
    text = write.text
    if write.path.endswith(".json") and _is_checkpoint(write.path):
        import json

        with suppress(ValueError, RecursionError):
            for key, value in dict(json.loads(text)).items():
                yield key, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=0)
            return
    from memctl.record import frontmatter_edit  # only a text with a credential is taken apart

    try:
        blocks = frontmatter_edit.blocks(text)
        rest = frontmatter.split(text)[1]
    except FrontMatterError:
        blocks, rest = (), text
    yield from ((block.key, block.text) for block in blocks)
    for section in headings.split(rest):
        name, _, body = section.text.partition("\n") if section.heading else ("", "", section.text)
        yield section.heading or "body", name.removeprefix("## ") if find(name) else body.lstrip("\n")
