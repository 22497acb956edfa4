"""Commit messages of memctl: subject and trailers for changes, and for the commits that end a batch."""

from __future__ import annotations

from collections.abc import Sequence

from memctl.git import message
from memctl.text.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.record.change import Change

TYPE = "docs(memory)"
_MAX_IDS = 200  # a trailer per record, but not ten thousand of them in one message


def compose(changes: Sequence[Change], base: str = "") -> str:
    """Return the message of the commit that contains `changes`: one change, or several that share files.

    `base` is the commit before the batch to which the new commit belongs; "" if it belongs to none.
    """
    ops = ", ".join(dict.fromkeys(change.op for change in changes))
    names = dict.fromkeys(name for change in changes for name in change.ids or (change.title,))
    subject = f"{TYPE}: {ops} {changes[0].title if len(changes) == 1 else ', '.join(names)}"
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
    return message.compose(subject, "", [*trailers, ("Memctl-Base", base)])


def compose_squash(subjects: Sequence[str], trailers: Sequence[message.Trailers], base: str, tip: str) -> str:
    """Return the message of the commit that squashes a batch.

    `subjects` and `trailers` are the subjects and trailers of the batch's changes, oldest first. The message lists all
    subjects; if there is only one change, its subject is the subject of the message. `base` is the commit before the
    batch, `tip` the batch's last change.
    """
    listed = [subject.removeprefix(f"{TYPE}: ") for subject in subjects]
    ids = dict.fromkeys(name for trailer in trailers for name in trailer.ids)
    names = ", ".join(ids)
    subject = listed[0] if len(listed) == 1 else f"{len(listed)} changes{': ' if names else ''}{names}"
    lines = [("Memctl-Op", op) for trailer in trailers for op in trailer.ops]
    lines += [("Memctl-Id", name) for name in ids] if len(ids) <= _MAX_IDS else [("Memctl-Count", str(len(ids)))]
    lines += [("Memctl-Actor", trailer.actor) for trailer in trailers]
    lines += [("Memctl-Session", trailer.session) for trailer in trailers]
    items = [message.shorten(f"- {message.one_line(text)}") for text in listed] if len(listed) > 1 else []
    lines += [("Memctl-Base", base), ("Memctl-Changes", tip)]
    return message.compose(f"{TYPE}: {subject}", "\n".join(items), lines)


def compose_join(base: str, tip: str, commit: str) -> str:
    """Return the message of the commit that joins a branch with a batch that the user committed without a squash.

    `base` is the commit before the batch, `tip` the batch's last change, and `commit` the user's commit, which contains
    the batch's files.
    """
    trailers = [("Memctl-Base", base), ("Memctl-Changes", tip), ("Memctl-Commit", commit)]
    return message.compose(f"{TYPE}: join the branch with a batch of its changes", "", trailers)
