"""Commit messages: a Conventional Commits subject, and a last paragraph of trailers alone.

If one line of the last paragraph is not a trailer, Git reads no trailer at all (measured with git 2.39). So long values
are folded onto continuation lines, and line ends in values become spaces.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import msgspec

from memctl.text.lazy_regex import lazy_regex

_WIDTH, _SUBJECT_WIDTH = 100, 72  # commitlint's usual limit of a line, and Git's usual one of a subject
_DEED = lazy_regex(r"([a-z]+) (\S+): (.*)")
_TRAILER = lazy_regex(r"([A-Za-z0-9-]+)\s*:\s?(.*)")


class Trailers(msgspec.Struct, frozen=True):
    """The trailers of a commit's message; all but `decisions` are empty in a commit that memctl did not make.

    - `ops` are the operations, such as "decide", and `ids` the records that the commit changed.
    - `actor`, `session` and `reason` say who made the commit, in which session, and why.
    - `deeds` are triples: what was done to a record, such as "archive", the record's id, and the reason.
    - `branch` is the branch on which a change on refs/memctl/changes was made.
    - `decisions` are ids of decisions that a commit of code says it follows from (`Decision: DEC-…`).
    """

    ops: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    actor: str = ""
    session: str = ""
    reason: str = ""
    deeds: tuple[tuple[str, str, str], ...] = ()  # of each record: what was done (`archive`, …), its id, why
    branch: str = ""  # of a change on refs/memctl/changes
    decisions: tuple[str, ...] = ()  # what a commit of code says it follows from: `Decision: DEC-…`


def compose(subject: str, body: str, trailers: Sequence[tuple[str, str]]) -> str:
    """Return a message of a subject, a body ("" for none) and trailers, pairs of key and value.

    A subject that is too long is cut, and then the body begins with the whole of it. Trailers without a value are left
    out.
    """
    lines = [_fold(key, value) for key, value in trailers if one_line(value)]
    subject = one_line(subject)
    whole = [] if len(subject) <= _SUBJECT_WIDTH else wrap(subject)
    parts = [shorten(subject), "\n".join(whole), body, "\n".join(dict.fromkeys(lines))]
    return "\n\n".join(part for part in parts if part) + "\n"


def parse(message: str) -> Trailers:
    """Return the trailers in the last paragraph of a commit message.

    If any line of that paragraph is not a trailer, the result has no trailers at all.
    """
    paragraphs = re.split(r"\n[ \t]*\n", message.strip("\n"))
    result: dict[str, list[str]] = {}
    key = ""
    for line in paragraphs[-1].split("\n") if len(paragraphs) > 1 else []:
        if line[:1] in (" ", "\t") and key:
            result[key][-1] += " " + line.strip()
            continue
        match = _TRAILER.fullmatch(line)
        if match is None:
            return Trailers()
        key = match[1].lower()
        result.setdefault(key, []).append(match[2].strip())
    deeds = result.get("memctl-record", ())
    return Trailers(
        ops=tuple(result.get("memctl-op", ())),
        ids=tuple(result.get("memctl-id", ())),
        actor=", ".join(result.get("memctl-actor", ())),
        session=", ".join(result.get("memctl-session", ())),
        reason="; ".join(result.get("memctl-reason", ())),
        branch=result.get("memctl-branch", [""])[-1],
        deeds=tuple((match[1], match[2], match[3]) for text in deeds if (match := _DEED.fullmatch(text))),
        decisions=tuple(result.get("decision", ())),
    )


def paragraphs(message: str) -> list[str]:
    """Return the paragraphs of a message below its subject, without the trailers at its end."""
    parts = [part for part in re.split(r"\n[ \t]*\n", message.strip("\n"))[1:] if part.strip()]
    if parts and all(_TRAILER.fullmatch(line) or line[:1].isspace() for line in parts[-1].split("\n")):
        parts.pop()
    return parts


def one_line(text: str) -> str:
    """Return a text in one line: line ends and control characters become spaces."""
    text = text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return " ".join("".join(c if c >= " " and not "\x7f" <= c <= "\x9f" else " " for c in text).split())


def whole_subject(message: str) -> str:
    """Return the subject of a message, as it was before `compose` cut it."""
    subject, _, rest = message.partition("\n")
    whole = " ".join(rest.strip("\n").partition("\n\n")[0].split("\n"))
    return whole if subject.endswith("…") and whole.startswith(subject[:-1]) else subject


def wrap(line: str) -> list[str]:
    """Return a line of a message's body as lines of at most 100 characters."""
    indent = "  " if line.startswith("- ") else ""
    return textwrap.wrap(line, _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def shorten(subject: str) -> str:
    """Return a commit's subject with at most 72 characters; a longer one is cut and ends in "…"."""
    return subject if len(subject) <= _SUBJECT_WIDTH else subject[: _SUBJECT_WIDTH - 1].rstrip() + "…"


def _fold(key: str, value: str) -> str:
    wrapped = textwrap.wrap(
        one_line(value),
        _WIDTH - 2,
        initial_indent=f"{key}: ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(wrapped)
