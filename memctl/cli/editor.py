"""Text that is written in the user's editor."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from memctl.errors import USAGE, MemctlError
from memctl.lifecycle.create import Draft
from memctl.model import frontmatter, headings
from memctl.store import files
from memctl.store.memory import Memory

_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def compose(skeleton: str, draft: Draft) -> str:
    """Let the user write a body in the editor; raises MemctlError without a terminal, or if nothing was written."""
    title = draft.values.get("title") or "Title"
    heading, edited = headings.take_title(open_editor(f"# {title}\n\n{skeleton}"))
    if heading not in ("", "Title"):
        draft.values["title"] = heading
    body = _without_empty(_COMMENT.sub("", edited))
    if not body.strip() and not draft.values.get("title"):
        raise MemctlError("nothing was written, so nothing is recorded")
    return body


@contextmanager
def kept(memory: Memory, text: str) -> Iterator[None]:
    """Keep what somebody wrote in an editor if it is refused, and say where."""
    try:
        yield
    except MemctlError as error:
        if not text:
            raise
        memory.private.mkdir(parents=True, exist_ok=True)
        files.replace(memory.private / "edited.md", text)
        where = f"your text is in {memory.private / 'edited.md'}"
        raise MemctlError(error.message, f"{error.hint}; {where}" if error.hint else where, error.exit_code) from None


def open_editor(text: str) -> str:
    """The text as the user's editor leaves it; raises MemctlError without a terminal, or if it was not saved."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise MemctlError(
            "there is no terminal to open an editor in", "give the fields as options, or a text with --file", USAGE
        )
    try:
        edited = click.edit(text, extension=".md")
    except (OSError, UnicodeDecodeError, click.ClickException) as error:
        raise MemctlError(f"what the editor left can't be read: {error}") from None
    if edited is None:
        raise MemctlError("the editor was left without saving, so nothing was changed")
    return frontmatter.clean_newlines(edited)


def _without_empty(body: str) -> str:
    """Drop the headings of a template under which nothing was written."""
    kept = [part.text for part in headings.split(body) if part.text.partition("\n")[2].strip() or not part.heading]
    return re.sub(r"\n{3,}", "\n\n", "".join(kept)).strip("\n")
