"""Dangerous characters: control characters, which a terminal obeys, and lone surrogates, which UTF-8 can't encode."""

from __future__ import annotations

from memctl.text.lazy_regex import lazy_regex

# C0 without tab and line feed, DEL, and C1.
_CONTROL = lazy_regex("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ASCII = bytes([*range(9), *range(11, 32), 127])


def first_control_character(text: str) -> str:
    """Return the first control character of a text, "" if it has none."""
    # Called for every record that is read. For 2,400 characters of ASCII this takes 8 µs, and the pattern 20.
    if text.isascii():
        data = text.encode()
        if len(data.translate(None, _ASCII)) == len(data):
            return ""
    match = _CONTROL.search(text)
    return match[0] if match else ""


def first_hidden_character(text: str) -> str:
    """Return the first control character or invisible character of a text, "" if it has none."""
    from memctl.text.model_text import first_invisible  # most readers of records look for no invisible ones

    return first_control_character(text) or first_invisible(text)


def encodable(text: str) -> str:
    """Return a text with `?` in place of lone surrogates, which JSON may contain and UTF-8 can't encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def printable_line(text: str) -> str:
    """Return a text on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def redacted_line(text: str) -> str:
    """Return a text on one line, without credentials and without invisible characters."""
    from memctl.text.credentials import redact  # most readers of records need no rules for credentials

    line = printable_line(text)
    # The end of a line may be what shows where a passphrase ends, and an invisible character may divide a name.
    return redact(line if line == text else printable_line(redact(text)))


def weight(text: str) -> int:
    """Return the weight of a text: a number that its number of tokens never exceeds, and that is quick to compute.

    An ASCII character weighs 1. Any other character weighs 1 less than twice the number of its bytes in UTF-8, that is
    3 to 7.
    """
    return len(text) if text.isascii() else 2 * len(text.encode()) - len(text)
