"""Settings in YAML: files, or parts of files, that people write."""

from __future__ import annotations

from typing import Any

from memctl.errors import MemctlError
from memctl.record import frontmatter
from memctl.record.malformed import Malformed


def read(text: str, name: str, hint: str | None = None) -> dict[str, Any]:
    """The values of a YAML document, read strictly, without those that are empty.

    Below the first level keys may be numbers. Raises MemctlError with the file's name, the line, and the given hint.
    """
    text = frontmatter.clean_newlines(text).removeprefix("---\n").rstrip("\n") + "\n"
    if len(text) > frontmatter.MAX_HEAD:
        raise MemctlError(
            f"{name}: the settings have {len(text):,} characters; at most {frontmatter.MAX_HEAD:,} are read", hint
        )
    text = f"---\n{text}---\n"
    try:
        values, _ = frontmatter.read(text, number_keys=True)
    except Malformed as error:
        raise MemctlError(f"{name}:{max(error.line - 1, 1)}: {error.message}", hint) from None
    return {key: value for key, value in values.items() if value is not None}


def plain(error: Exception) -> str:
    """What msgspec says is wrong with values, the key first."""
    message, _, field = str(error).partition(" - at `$.")
    return f"{field.rstrip('`')}: {message}" if field else message
