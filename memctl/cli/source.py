"""Text from a file or from standard input: whole, line by line, or as the draft of a record."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memctl.errors import USAGE, MemctlError
from memctl.record import frontmatter

if TYPE_CHECKING:
    from memctl.record.kinds import Kind
    from memctl.write.create import Draft


def read(source: str) -> str:
    """The text of a file, or of standard input for `-`; raises MemctlError."""
    try:
        data = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        return frontmatter.clean_newlines(data.decode())
    except OSError as error:
        raise MemctlError(f"{source} can't be read: {error.strerror}", exit_code=USAGE) from None
    except UnicodeDecodeError as error:
        raise MemctlError(f"{source} is not UTF-8 text (byte {error.start})") from None


@contextmanager
def lines(source: str) -> Iterator[Iterator[str]]:
    """The lines of a file, or of standard input for `-`, one at a time; raises MemctlError if they can't be read."""
    try:
        with ExitStack() as stack:
            stream: Iterable[bytes] = sys.stdin.buffer if source == "-" else stack.enter_context(open(source, "rb"))
            yield (line.decode("utf-8-sig", "replace") for line in stream)
    except OSError as error:
        raise MemctlError(f"{source} can't be read: {error.strerror}", exit_code=USAGE) from None


def draft_from(kind: Kind, source: str) -> tuple[Draft, list[str]]:
    """The draft in a file, and notes on what of it was not understood.

    The file has JSON with the fields of an export, or Markdown, with or without front matter: a text in memctl's own
    form, or one that names fields by labels of any form.
    """
    import msgspec

    from memctl.exchange.jsonl import draft_of
    from memctl.record.errors import Malformed
    from memctl.store.files import MAX_BYTES

    text = read(source)
    if len(text) > MAX_BYTES:
        raise MemctlError(f"{source} has {len(text):,} characters; a record has at most {MAX_BYTES:,} bytes")
    if text.lstrip().startswith("{"):
        try:
            given = msgspec.json.decode(text, type=dict[str, Any])
            given.pop("path", None)  # an exported record has one; this will be another record
            return draft_of(given, kind), []
        except (msgspec.MsgspecError, RecursionError) as error:
            raise MemctlError(f"{source} is no JSON object: {error}") from None
    values: dict[str, Any] = {}
    if text.startswith(frontmatter.FENCE + "\n"):
        try:
            values, text = frontmatter.read(text)
        except Malformed as error:
            raise MemctlError(f"{source}:{error.line}: {error.message}") from None
    values.pop("path", None)
    from memctl.exchange import markdown

    return markdown.draft_of(text, kind, values)
