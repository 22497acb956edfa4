"""Input of a command: text from a file, from standard input, or from the user's editor."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from memctl.errors import USAGE, MemctlError
from memctl.record import frontmatter
from memctl.store import files
from memctl.text import headings

if TYPE_CHECKING:
    from memctl.record.kinds import Kind
    from memctl.store.memory import Memory
    from memctl.write.create import Draft


def name_of(source: str) -> str:
    """Return the name of a file for messages: "standard input" for `-`."""
    return "standard input" if source == "-" else source


@contextmanager
def open_source(source: str) -> Iterator[BinaryIO]:
    """Yield a file, or standard input if `source` is `-`, for a `with` block in which it is read.

    Raises MemctlError if the file can't be read.
    """
    try:
        with nullcontext(sys.stdin.buffer) if source == "-" else open(source, "rb") as stream:
            yield stream
    except OSError as error:
        raise MemctlError(f"{name_of(source)} can't be read: {error.strerror}", exit_code=USAGE) from None


def read(source: str, errors: str = "strict", most: int = -1) -> str:
    """Return the text of a file, or of standard input if `source` is `-`.

    `errors` says what happens with bytes that are not UTF-8, as for `bytes.decode`: "strict" or "replace". `most` is
    the largest number of bytes to accept, -1 for no limit. Raises MemctlError if the file can't be read, is larger, or,
    with "strict", is not UTF-8.
    """
    with open_source(source) as stream:
        data = stream.read(most + 1 if most >= 0 else -1)
    if 0 <= most < len(data):
        hint = "give a shorter text, or one that links to the file"
        raise MemctlError(f"{name_of(source)} has more than {most:,} bytes", hint, USAGE)
    try:
        return frontmatter.clean_newlines(data.decode(errors=errors))
    except UnicodeDecodeError as error:
        raise MemctlError(f"{name_of(source)} is not UTF-8 text (byte {error.start})") from None


@contextmanager
def lines(source: str) -> Iterator[Iterator[str]]:
    """Yield an iterator over the lines of a file, or of standard input if `source` is `-`, for a `with` block.

    Raises MemctlError if the file can't be read.
    """
    with open_source(source) as stream:
        yield (line.decode("utf-8-sig", "replace") for line in stream)


def draft_from(kind: Kind, source: str) -> tuple[Draft, list[str]]:
    """Return the draft (fields and text) of a record that is described in a file, and notes on what was not understood.

    `kind` is the record's type, and `source` the file. It may have JSON with the fields that an export has; or
    Markdown, with or without front matter, in memctl's own form or with labels such as `Rationale:`.
    """
    import msgspec

    from memctl.exchange import markdown
    from memctl.record.errors import FrontMatterError

    text = read(source, most=files.MAX_BYTES)
    if text.lstrip().startswith("{"):
        try:
            fields = msgspec.json.decode(text, type=dict[str, Any])
            fields.pop("path", None)  # an export has a path, which belongs to the exported record
            return markdown.draft_of_values(fields, kind)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise MemctlError(f"{name_of(source)} is not a JSON object: {error}") from None
    values: dict[str, Any] = {}
    if text.startswith(frontmatter.FENCE + "\n"):
        try:
            values, text = frontmatter.read(text)
        except FrontMatterError as error:
            raise MemctlError(f"{name_of(source)}:{error.line}: {error.message}") from None
    values.pop("path", None)
    if headings.is_unfilled(text):
        hint = "write the title and a text under the headings, or give the fields as options"
        raise MemctlError(f"{name_of(source)} is a template that still has to be filled in", hint, USAGE)
    return markdown.draft_of(text, kind, values)


_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


class EditedPage(NamedTuple):
    """A page as the user has saved it in the editor: its title, its body without the title, and the whole text.

    The title is "" if the user has not changed it.
    """

    title: str
    body: str
    text: str


def compose(skeleton: str, draft: Draft) -> str:
    """Open the user's editor for the text of a new record, and return the text (body) that the user saves.

    The editor shows the draft's title and `skeleton`, headings to fill in. If the user changes the title, it is set in
    `draft`. Raises MemctlError if there is no terminal, or if the user wrote neither a text nor a title.
    """
    title = draft.values.get("title") or "Title"
    heading, edited = headings.take_title(open_editor(f"# {title}\n\n{skeleton}"))
    if heading not in ("", "Title"):
        draft.values["title"] = heading
    for comment in _COMMENT.findall(skeleton):  # other comments in the text are the user's own
        edited = edited.replace(f"{comment}\n", "").replace(comment, "")
    body = _tidy(_without_empty(edited))
    if not body.strip() and not draft.values.get("title"):
        raise MemctlError("the edited text is empty, so nothing is recorded")
    return body


def write_page(shown: str, skeleton: Sequence[str]) -> EditedPage:
    """Open the user's editor with the text `shown`, and return the page that the user saves.

    `skeleton` are headings that the user may fill in; they are removed if they have no text. Raises MemctlError if
    there is no terminal, or if the saved text is empty.
    """
    text = open_editor(shown)
    if not text.strip():
        raise MemctlError("the edited text is empty, so nothing was changed")
    title, body = headings.take_title(text)
    if title == headings.take_title(shown)[0]:
        title = ""
    return EditedPage(title, _without_empty(body, skeleton) if skeleton else body, text)


@contextmanager
def keep_if_refused(memory: Memory, text: str) -> Iterator[None]:
    """Save the text from the editor to a file if a MemctlError is raised within a `with` block, so that it is not lost.

    The error's hint then names the file.
    """
    try:
        yield
    except MemctlError as error:
        if not text:
            raise
        files.replace_private(memory.private / "edited.md", text)
        where = f"your text is in {memory.private / 'edited.md'}"
        raise MemctlError(error.message, f"{error.hint}; {where}" if error.hint else where, error.exit_code) from None


def open_editor(text: str) -> str:
    """Open the user's editor with a text, and return the text that the user saves.

    Raises MemctlError if there is no terminal, or if the user leaves the editor without saving.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise MemctlError(
            "there is no terminal in which to open an editor",
            "give the fields as options, or a file with the text by --file",
            USAGE,
        )
    try:
        edited = click.edit(text, extension=".md")
    except click.ClickException as error:
        raise MemctlError(
            f"the editor failed: {error.message}", "set the variable EDITOR to the editor to use"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise MemctlError(f"the edited text can't be read: {error}") from None
    if edited is None:
        raise MemctlError("you left the editor without saving, so nothing was changed")
    return frontmatter.clean_newlines(edited)


def _without_empty(body: str, names: Sequence[str] | None = None) -> str:
    parts = [
        part.text
        for part in headings.split(body)
        if part.body.strip() or not part.heading or (names is not None and part.heading not in names)
    ]
    return "".join(parts).strip("\n")


def _tidy(body: str) -> str:
    tidied: list[str] = []
    for line, outside in headings.outside_fences(body):
        if not (outside and not line.strip() and tidied and not tidied[-1].strip()):
            tidied.append(line)
    return "\n".join(tidied).strip("\n")
