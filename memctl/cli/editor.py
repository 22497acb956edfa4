"""Text that is written in the user's editor."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click
import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import frontmatter
from memctl.store import files
from memctl.store.memory import Memory
from memctl.text import headings
from memctl.write.create import Draft

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class Written(msgspec.Struct, frozen=True):
    """A page as an editor left it: its title ("" if it stays as it was), its body, and the whole text."""

    title: str
    body: str
    text: str


def compose(skeleton: str, draft: Draft) -> str:
    """Let the user write a body in the editor; raises MemctlError without a terminal, or if nothing was written."""
    title = draft.values.get("title") or "Title"
    heading, edited = headings.take_title(open_editor(f"# {title}\n\n{skeleton}"))
    if heading not in ("", "Title"):
        draft.values["title"] = heading
    for comment in _COMMENT.findall(skeleton):  # what else looks like one may be somebody's text or code
        edited = edited.replace(f"{comment}\n", "").replace(comment, "")
    body = _tidied(_without_empty(edited))
    if not body.strip() and not draft.values.get("title"):
        raise MemctlError("nothing was written, so nothing is recorded")
    return body


def write_page(shown: str, skeleton: Sequence[str]) -> Written:
    """Let the user write a page; raises MemctlError if nothing is left of it.

    `skeleton` are headings that were put there to be filled in: those under which nothing was written are dropped.
    """
    text = open_editor(shown)
    if not text.strip():
        raise MemctlError("nothing was written, so nothing was changed")
    title, body = headings.take_title(text)
    if title == headings.take_title(shown)[0]:
        title = ""
    return Written(title, _without_empty(body, skeleton) if skeleton else body, text)


@contextmanager
def kept(memory: Memory, text: str) -> Iterator[None]:
    """Keep what somebody wrote in an editor if it is refused, and say where."""
    try:
        yield
    except MemctlError as error:
        if not text:
            raise
        files.replace_private(memory.private / "edited.md", text)
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
    except click.ClickException as error:
        raise MemctlError(f"the editor did not work: {error.message}", "EDITOR names the one to use") from None
    except (OSError, UnicodeDecodeError) as error:
        raise MemctlError(f"what the editor left can't be read: {error}") from None
    if edited is None:
        raise MemctlError("the editor was left without saving, so nothing was changed")
    return frontmatter.clean_newlines(edited)


def _without_empty(body: str, names: Sequence[str] | None = None) -> str:
    """Drop the headings under which nothing was written: of those given, or of all."""
    kept = [
        part.text
        for part in headings.split(body)
        if part.body.strip() or not part.heading or (names is not None and part.heading not in names)
    ]
    return "".join(kept).strip("\n")


def _tidied(body: str) -> str:
    """One empty line where comments left several, but for those in code."""
    kept: list[str] = []
    for line, outside in headings.outside_fences(body):
        if not (outside and not line.strip() and kept and not kept[-1].strip()):
            kept.append(line)
    return "\n".join(kept).strip("\n")
