"""Commit messages of memctl: subject, body and trailers for changes."""

from __future__ import annotations

from collections.abc import Sequence

from memctl.git import message
from memctl.text.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.record.change import Change

TYPE = "docs(memory)"
_MAX_IDS = 200  # a trailer per record, but not ten thousand of them in one message


def compose(changes: Sequence[Change], branch: str = "") -> str:
    """Return the message of the commit that contains `changes`; that of several lists them in its body.

    `branch` is, for refs/memctl/changes, the branch on which the change was made.
    """
    ops = ", ".join(dict.fromkeys(change.op for change in changes))
    names = dict.fromkeys(name for change in changes for name in change.ids or (change.title,))
    subject = f"{TYPE}: {ops} {changes[0].title if len(changes) == 1 else ', '.join(names)}"
    # A title may still have what a redaction among the changes removes.
    is_listed = len(changes) > 1 and not any(change.op == "redact" for change in changes)
    listed = [f"- {message.one_line(f'{change.op} {change.title}')}" for change in changes if is_listed]
    body = "\n".join(line for item in listed for line in message.wrap(item))
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
    return message.compose(subject, body, [*trailers, ("Memctl-Branch", branch)])
