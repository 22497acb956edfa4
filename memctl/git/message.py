"""Commit messages: a Conventional Commits subject, and a last paragraph that holds trailers and nothing else.

One line that is no trailer voids all of them (measured with git 2.39), so values are folded onto continuation lines
and never contain a line end of their own. Lines stay within 100 characters, commitlint's usual limit.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import msgspec

from memctl.record.change import Change, Deed
from memctl.text.lazy_regex import lazy_regex

TYPE = "docs(memory)"
_WIDTH = 100
_MAX_IDS = 200  # a trailer per record, but not ten thousand of them in one message
_DEED = lazy_regex(r"([a-z]+) (\S+): (.*)")
_TRAILER = lazy_regex(r"([A-Za-z0-9-]+)\s*:\s?(.*)")


class Trailers(msgspec.Struct, frozen=True):
    """What a commit of memctl says of itself."""

    ops: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    actor: str = ""
    session: str = ""
    reason: str = ""
    deeds: tuple[Deed, ...] = ()
    decisions: tuple[str, ...] = ()  # what a commit of code says it follows from: `Decision: DEC-…`


def compose(changes: Sequence[Change]) -> str:
    """The message of a commit that carries out one change, or several that touch the same files."""
    first = changes[0]
    subject = f"{TYPE}: {first.op} {first.title}" if len(changes) == 1 else _joint_subject(changes)
    trailers: list[tuple[str, str]] = []
    for change in changes:
        trailers.append(("Memctl-Op", change.op))
        if len(change.ids) <= _MAX_IDS:
            trailers += [("Memctl-Id", identifier) for identifier in change.ids]
        else:
            trailers.append(("Memctl-Count", str(len(change.ids))))
        # All of them, however many: the log of what happened to each record is nowhere else.
        trailers += [("Memctl-Record", f"{deed.action} {deed.id}: {deed.reason}") for deed in change.deeds]
        trailers += [
            ("Memctl-Actor", change.actor),
            ("Memctl-Session", change.session),
            ("Memctl-Reason", change.reason),
        ]
    lines = [_fold(key, value) for key, value in trailers if _one_line(value)]
    return f"{_shorten(_one_line(subject))}\n\n" + "\n".join(dict.fromkeys(lines)) + "\n"


def parse(message: str) -> Trailers:
    """Read the trailers of a message back; a commit that is not memctl's has none."""
    paragraphs = re.split(r"\n[ \t]*\n", message.strip("\n"))
    found: dict[str, list[str]] = {}
    key = ""
    for line in paragraphs[-1].split("\n") if len(paragraphs) > 1 else []:
        if line[:1] in (" ", "\t") and key:
            found[key][-1] += " " + line.strip()
            continue
        match = _TRAILER.fullmatch(line)
        if match is None:
            return Trailers()
        key = match[1].lower()
        found.setdefault(key, []).append(match[2].strip())
    deeds = found.get("memctl-record", ())
    return Trailers(
        ops=tuple(found.get("memctl-op", ())),
        ids=tuple(found.get("memctl-id", ())),
        actor=", ".join(found.get("memctl-actor", ())),
        session=", ".join(found.get("memctl-session", ())),
        reason="; ".join(found.get("memctl-reason", ())),
        deeds=tuple(Deed(*match.groups()) for text in deeds if (match := _DEED.fullmatch(text))),
        decisions=tuple(found.get("decision", ())),
    )


def paragraphs(message: str) -> list[str]:
    """The paragraphs below the subject of a message, but for one of trailers at its end."""
    found = [part for part in re.split(r"\n[ \t]*\n", message.strip("\n"))[1:] if part.strip()]
    if found and all(_TRAILER.fullmatch(line) or line[:1].isspace() for line in found[-1].split("\n")):
        found.pop()
    return found


def _joint_subject(changes: Sequence[Change]) -> str:
    ops = ", ".join(dict.fromkeys(change.op for change in changes))
    names = ", ".join(dict.fromkeys(name for change in changes for name in change.ids or (change.title,)))
    return f"{TYPE}: {ops} {names}"


def _one_line(text: str) -> str:
    text = text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return " ".join("".join(c if c >= " " and not "\x7f" <= c <= "\x9f" else " " for c in text).split())


def _shorten(subject: str) -> str:
    return subject if len(subject) <= _WIDTH else subject[: _WIDTH - 1].rstrip() + "…"


def _fold(key: str, value: str) -> str:
    wrapped = textwrap.wrap(
        _one_line(value),
        _WIDTH - 2,
        initial_indent=f"{key}: ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(wrapped)
