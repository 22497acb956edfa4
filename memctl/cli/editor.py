"""Text that comes from a file, from standard input or from the user's editor."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.exchange.jsonl import draft_of
from memctl.lifecycle.create import Draft
from memctl.model import frontmatter, sections
from memctl.model.kinds import Kind
from memctl.model.malformed import Malformed
from memctl.store.files import MAX_BYTES

_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_TITLE = re.compile(r"\s*# +(.+?)(?: +#+)?[ \t]*(?:\n|$)")


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
            return draft_of(msgspec.json.decode(text, type=dict[str, Any]), kind)
        except msgspec.MsgspecError as error:
            raise MemctlError(f"{source} is no JSON object: {error}") from None
    values: dict[str, Any] = {}
    if text.startswith(frontmatter.FENCE + "\n"):
        try:
            values, text = frontmatter.read(text)
        except Malformed as error:
            raise MemctlError(f"{source}:{error.line}: {error.message}") from None
    heading = _TITLE.match(text)
    if heading and "title" not in values:
        values["title"], text = heading[1], text[heading.end() :]
    return draft_of({**values, "body": text}, kind)


def compose(skeleton: str, draft: Draft) -> str:
    """Let the user write a body in the editor; raises MemctlError without a terminal, or if nothing was written."""
    title = draft.values.get("title") or "Title"
    edited = open_editor(f"# {title}\n\n{skeleton}")
    heading = _TITLE.match(edited)
    if heading:
        edited = edited[heading.end() :]
        if heading[1] != "Title":
            draft.values["title"] = heading[1]
    body = _without_empty(_COMMENT.sub("", edited))
    if not body.strip() and not draft.values.get("title"):
        raise MemctlError("nothing was written, so nothing is recorded")
    return body


def open_editor(text: str) -> str:
    """The text as the user's editor leaves it; raises MemctlError without a terminal, or if it was not saved."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise MemctlError(
            "there is no terminal to open an editor in", "give the fields as options, or a text with --file", USAGE
        )
    edited = click.edit(text, extension=".md")
    if edited is None:
        raise MemctlError("the editor was left without saving, so nothing was changed")
    return frontmatter.clean_newlines(edited)


def _without_empty(body: str) -> str:
    """Drop the headings of a template under which nothing was written."""
    kept = [part.text for part in sections.split(body) if part.text.partition("\n")[2].strip() or not part.heading]
    return re.sub(r"\n{3,}", "\n\n", "".join(kept)).strip("\n")
