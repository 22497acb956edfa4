"""Text that comes from a file or from standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.exchange.jsonl import draft_of
from memctl.record import frontmatter
from memctl.record.errors import Malformed
from memctl.record.kinds import Kind
from memctl.store.files import MAX_BYTES
from memctl.text import headings
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


def draft_from(kind: Kind, source: str) -> Draft:
    """The draft in a file: JSON with the fields of an export, or Markdown, with or without front matter.

    Without a title in its front matter, a Markdown file's first heading of level 1 is the title.
    """
    text = read(source)
    if len(text) > MAX_BYTES:
        raise MemctlError(f"{source} has {len(text):,} characters; a record has at most {MAX_BYTES:,} bytes")
    if text.lstrip().startswith("{"):
        try:
            given = msgspec.json.decode(text, type=dict[str, Any])
            given.pop("path", None)  # an exported record has one; this will be another record
            return draft_of(given, kind)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise MemctlError(f"{source} is no JSON object: {error}") from None
    values: dict[str, Any] = {}
    if text.startswith(frontmatter.FENCE + "\n"):
        try:
            values, text = frontmatter.read(text)
        except Malformed as error:
            raise MemctlError(f"{source}:{error.line}: {error.message}") from None
    if "title" not in values:
        title, text = headings.take_title(text)
        values.update({"title": title} if title else {})
    values.pop("path", None)
    return draft_of({**values, "body": text}, kind)
