"""Find values with which a shell completes options, in the memory around the current directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from memctl.errors import MemctlError
from memctl.record import ids
from memctl.record.snapshot import Snapshot
from memctl.store import load
from memctl.store.memory import open_memory
from memctl.text.phrases import quantity

Pairs = Iterable[tuple[str, str]]  # values and their descriptions


def values_beginning(kind: str, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Return the suggestions of a kind, such as "id" or "tag", that begin with `incomplete`, the text typed so far.

    Upper and lower case make no difference. If no id begins with it, it may be the end of one alone. The result is []
    where there is no memory.
    """
    if kind in _FIXED:
        pairs = _FIXED[kind]()
    else:
        folder = ctx.find_root().params.get("folder") or os.environ.get("MEMCTL_DIR") or "."
        try:
            pairs = list(_OF_SNAPSHOT[kind](load.disk(open_memory(Path(folder), os.environ))))
        except (MemctlError, OSError):
            return []
    typed = incomplete.casefold()
    found = [CompletionItem(value, help=line) for value, line in pairs if value.casefold().startswith(typed)]
    if not found and kind in ("id", "place"):  # a shell replaces what was typed, so only one can be meant
        found = [CompletionItem(value, help=line) for value, line in pairs if ids.is_part(typed, value)]
        return found if len(found) == 1 else []
    return found


def _ids(snapshot: Snapshot) -> Pairs:
    newest = sorted(snapshot.records, key=lambda record: record.timestamp, reverse=True)
    return [(record.id, record.title) for record in newest]


def _sections(snapshot: Snapshot) -> Pairs:
    """Numbers need no quotes, unlike titles."""
    return [(page.number, page.title) for page in (*snapshot.outline.sections, *snapshot.outline.details)]


def _markers(snapshot: Snapshot) -> Pairs:
    titles = {page.id: page.title for page in snapshot.outline.pages}
    return [(marker, titles.get(marker, "")) for marker in snapshot.outline.markers()]


def _places(snapshot: Snapshot) -> Pairs:
    return [*_ids(snapshot), *_markers(snapshot)]


def _tags(snapshot: Snapshot) -> Pairs:
    counts: dict[str, int] = {}
    for record in snapshot.records:
        for tag in record.tags:
            counts[tag] = counts.get(tag, 0) + 1
    return [(tag, quantity(number, "record")) for tag, number in sorted(counts.items(), key=lambda item: -item[1])]


def _assignees(snapshot: Snapshot) -> Pairs:
    return [(name, "") for name in sorted({record.assignee for record in snapshot.records if record.assignee})]


def _checkpoints(snapshot: Snapshot) -> Pairs:
    from memctl.pack import last_work

    return [(saved.checkpoint_id, saved.goal) for saved in last_work.checkpoints(snapshot)]


def _rules() -> Pairs:
    from memctl.check.rules import RULES

    return [(code, rule.summary) for code, rule in RULES.items()]


def _schemas() -> Pairs:
    from memctl.cli import schemas

    return [(kind, "") for kind in (*schemas.KINDS, schemas.CONFIG)]


def _help() -> Pairs:
    from memctl.cli.command_list import GROUPS, all_commands
    from memctl.hooks.guide import TOPICS

    lines = {name: topic.line for name, topic in TOPICS.items()}
    for group in all_commands().values():
        lines |= group
    for members in GROUPS.values():
        lines |= {name: line for name, (_, line) in members.items()}
    return lines.items()


def _fields() -> Pairs:
    from memctl.record.kinds import KINDS

    common = ("title", "status", "severity", "importance", "tags", "section", "code_refs", "expires_at")
    own = [field.name for kind in KINDS.values() for field in kind.fields]
    return [(f"{name}=", "") for name in dict.fromkeys((*common, *own))]


_OF_SNAPSHOT: Mapping[str, Callable[[Snapshot], Pairs]] = {
    "id": _ids,
    "section": _sections,
    "marker": _markers,
    "place": _places,
    "tag": _tags,
    "assignee": _assignees,
    "checkpoint": _checkpoints,
}
_FIXED: Mapping[str, Callable[[], Pairs]] = {"rule": _rules, "field": _fields, "schema": _schemas, "help": _help}
