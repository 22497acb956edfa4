"""Commit messages: a Conventional Commits subject, and a last paragraph of trailers alone.

One line that is no trailer voids all of them (measured with git 2.39), so values are folded onto continuation lines and
contain no line ends of their own. Lines have at most 100 characters, commitlint's usual limit.
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
_ID = lazy_regex(r"[0-9a-f]{40}|[0-9a-f]{64}")
_TRAILER = lazy_regex(r"([A-Za-z0-9-]+)\s*:\s?(.*)")


class Trailers(msgspec.Struct, frozen=True):
    """The trailers of a commit's message; those of memctl are empty in a commit that it did not make.

    `base`, `changes` and `commit` are those of batches: the commit before a batch, its last change, and the user's
    commit with all of its files. `decisions` are ids that a commit of code names (`Decision: DEC-…`).
    """

    ops: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    actor: str = ""
    session: str = ""
    reason: str = ""
    deeds: tuple[Deed, ...] = ()
    base: str = ""  # of a change of a batch, and of the squash: the commit that the batch is on top of
    changes: str = ""  # of a squash: the last change of the batch
    commit: str = ""  # of a join: the commit of the user's that had the files of the batch
    decisions: tuple[str, ...] = ()  # what a commit of code says it follows from: `Decision: DEC-…`


def compose(changes: Sequence[Change], base: str = "") -> str:
    """Return the message of a commit of one change, or of several to the same files.

    `base` is the commit before the batch to which it belongs, "" for none.
    """
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
    return _message(subject, "", [*trailers, ("Memctl-Base", base)])


def compose_squash(subjects: Sequence[str], trailers: Sequence[Trailers], base: str, tip: str) -> str:
    """Return the message of a commit that squashes a batch, from the subjects and trailers of its changes, oldest
    first.

    It lists every change. A batch of one change has the subject of that.
    """
    listed = [subject.removeprefix(f"{TYPE}: ") for subject in subjects]
    named = dict.fromkeys(name for one in trailers for name in one.ids)
    names = ", ".join(named)
    subject = listed[0] if len(listed) == 1 else f"{len(listed)} changes{': ' if names else ''}{names}"
    lines = [("Memctl-Op", op) for one in trailers for op in one.ops]
    lines += [("Memctl-Id", name) for name in named] if len(named) <= _MAX_IDS else [("Memctl-Count", str(len(named)))]
    lines += [("Memctl-Actor", one.actor) for one in trailers] + [("Memctl-Session", one.session) for one in trailers]
    body = "\n".join(_shorten(f"- {_one_line(one)}") for one in listed) if len(listed) > 1 else ""
    return _message(f"{TYPE}: {subject}", body, [*lines, ("Memctl-Base", base), ("Memctl-Changes", tip)])


def compose_join(base: str, tip: str, commit: str) -> str:
    """Return the message of a commit that joins a branch with a batch whose files are in a commit of the user's."""
    trailers = [("Memctl-Base", base), ("Memctl-Changes", tip), ("Memctl-Commit", commit)]
    return _message(f"{TYPE}: join the branch and its changes", "", trailers)


def _message(subject: str, body: str, trailers: Sequence[tuple[str, str]]) -> str:
    lines = [_fold(key, value) for key, value in trailers if _one_line(value)]
    parts = [_shorten(_one_line(subject)), body, "\n".join(dict.fromkeys(lines))]
    return "\n\n".join(part for part in parts if part) + "\n"


def parse(message: str) -> Trailers:
    """Return the trailers of a commit message; they are empty if memctl did not make the commit."""
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
        base=_commit(found.get("memctl-base", ())),
        changes=_commit(found.get("memctl-changes", ())),
        commit=_commit(found.get("memctl-commit", ())),
        deeds=tuple(Deed(*match.groups()) for text in deeds if (match := _DEED.fullmatch(text))),
        decisions=tuple(found.get("decision", ())),
    )


def is_commit(name: str) -> bool:
    """Return whether a text is a commit id. Any other text of a message could be taken for an option by Git."""
    return _ID.fullmatch(name) is not None


def _commit(values: Sequence[str]) -> str:
    return next((value for value in values[-1:] if is_commit(value)), "")


def paragraphs(message: str) -> list[str]:
    """Return the paragraphs of a message below its subject, without the trailers at its end."""
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
