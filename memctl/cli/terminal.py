"""Write output to a terminal, a pipe or a file, so that no text from a repository can control the terminal."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

# Patterns are texts here: `re` compiles and keeps each one at its first use. All take 1 ms, and few commands need one.
# GitHub Actions reads a line of output that begins like this as a command (ActionCommand.TryParseV2 of its runner,
# which skips blanks before it).
_COMMAND = r"(^|[\r\n])([^\S\r\n]*)(?=::)"
OUTPUT = "standard output"
_COLOURS = "\033\\[[0-9;]*m"
_LABEL = "(?m)^(?:error|warning|hint):"
_COLOUR_OF = {"error:": 31, "warning:": 33, "hint:": 36}  # red, yellow, cyan
_LINE_ENDS = "[\x00-\x1f\x7f-\x9f\u2028\u2029]"


def harmless(text: str, stream: TextIO, *, is_pack: bool = False) -> str:
    """Return a text that controls neither the terminal `stream` nor a model, if an agent may read the stream.

    Invisible characters are replaced, and for an agent the marks that control models are escaped. `is_pack` says that
    this was done when the text was made, and that the marks in it are its own. Text for other readers is unchanged.
    """
    if text.isascii() and text.replace("\n", "").isprintable() and not any(sign in text for sign in "<:]"):
        return text  # as most lines; no module is needed to see that
    from memctl.store import agent_env
    from memctl.text.model_text import visible

    if not agent_env.may_be_read_by_agent(os.environ):
        return visible(text) if stream.isatty() else text
    from memctl.record.notices import for_model

    return visible(text) if is_pack else for_model(text)


def one_line(text: str) -> str:
    r"""Return a text with its line ends and other unprintable separators written as escapes, such as `\n`."""
    return text if text.isprintable() else re.sub(_LINE_ENDS, lambda match: repr(match[0])[1:-1], text)


def json(text: str, encoding: str) -> str:
    r"""Return JSON with escapes for what controls a terminal or a model, and for characters that the encoding lacks.

    Whoever reads the JSON gets the character again from an escape such as `\u202e`.
    """
    from memctl.record.notices import json_for_model
    from memctl.text.model_text import json_escapes

    text = json_for_model(text)
    if encoding.lower().replace("-", "") != "utf8" and not text.isascii():
        return re.sub("[^\x00-\x7e]", lambda match: json_escapes(match[0]), text)
    return text


class ReaderGone(Exception):
    """Standard output can't be written to: it is closed, or the program that reads it through a pipe has ended.

    It is not an OSError, because click ends the process when it sees an OSError of a closed pipe.
    """


@contextmanager
def answering() -> Iterator[None]:
    """Give errors of writing to standard output a clear form, within a `with` block.

    If standard output is closed, or its reader has ended, ReaderGone is raised. Any other OSError gets the file name
    "standard output".
    """
    try:
        yield
    except OSError as error:
        if error.errno in (errno.EPIPE, errno.EBADF):
            raise ReaderGone from error
        error.filename = OUTPUT
        raise


_held: list[str] | None = None  # output that a pager may show at the end of the command; None: print at once


def hold() -> None:
    """Hold back what is printed from now on, until `release` prints it, possibly in a pager.

    It does nothing if standard output is not a terminal, or if an agent runs the command, since an agent can't end a
    pager.
    """
    global _held
    if sys.stdout.isatty() and os.environ.get("TERM") != "dumb":
        from memctl.store import agent_env

        _held = [] if agent_env.shell_of(os.environ) is None else None  # an agent could not end a pager


def keep(text: str) -> bool:
    """Add a text to the output that is held back since `hold`; returns False if no output is held back.

    The text is printed by `release`.
    """
    if _held is None:
        return False
    _held.append(text)
    return True


def release(folder: Path) -> None:
    """Print the output that `hold` has held back. If it is longer than the terminal, it is shown in Git's pager.

    `folder` is a folder in the clone; Git's settings there say which pager to use.
    """
    global _held
    held, _held = _held, None
    if not held:
        return
    text = "".join(held)
    text = text if has_colour(sys.stdout) else re.sub(_COLOURS, "", text)
    if text.count("\n") >= size().lines:
        from memctl.git import git

        if (pager := git.pager(folder)) not in ("", "cat"):
            git.run_pager(pager, text)
            return
    with answering():
        sys.stdout.write(text)


def size() -> os.terminal_size:
    """Return the size of the terminal in characters, 80 by 24 if it is unknown."""
    try:
        columns, lines = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        columns, lines = 0, 0
    return os.terminal_size((int(os.environ.get("COLUMNS") or 0) or columns or 80, lines or 24))


def has_colour(stream: TextIO) -> bool:
    """Return whether output may have colours: if `stream` is a terminal, and the user has not switched them off."""
    is_dumb = os.environ.get("TERM", "" if os.name == "nt" else "dumb") == "dumb"
    return stream.isatty() and not is_dumb and not os.environ.get("NO_COLOR")


def complain(text: str) -> None:
    """Print lines on standard error, made harmless for terminals and for CI systems.

    A CI system takes lines such as `::error …` for commands. A line may begin like that by chance, for example with the
    name of a file; then it gets a backslash before `::`.
    """
    line = harmless(re.sub(_COMMAND, r"\1\2\\", text) if "::" in text else text, sys.stderr)
    if has_colour(sys.stderr):
        line = re.sub(_LABEL, lambda match: f"\033[1;{_COLOUR_OF[match[0]]}m{match[0]}\033[0m", line)
    if sys.stderr.isatty() and keep(f"{line}\n"):
        return
    with suppress(OSError):  # a closed stream or a full disk must not hide the exit code of the command
        print(line, file=sys.stderr, flush=True)


def prepare() -> None:
    """Make the standard streams replace characters that their encoding lacks, instead of raising an error."""
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", "") == "strict" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
