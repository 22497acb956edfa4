"""The commands `memctl show`, which prints records and pages, and `memctl page index`, which lists the § markers."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click
import msgspec

from memctl.cli import memory_access, output
from memctl.cli.command import command, complete, flag_option, reading
from memctl.errors import OK, REFUSED
from memctl.record import content_fields
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.store import agent_env, retrieval_counts
from memctl.store.memory import Memory
from memctl.text import markdown

if TYPE_CHECKING:
    from memctl.pages.navigate import Place
    from memctl.pages.render import Renderer
    from memctl.tokens.count import Counter

_FILES = 4  # the level of the repository's files


@command(
    "show",
    ("memctl show DEC-2025-11-04-003", "Print the text of a record."),
    (
        "memctl show §2.1 §3.1.2 --tokens",
        "Print a section and one heading of a page of details, and how many tokens each has.",
    ),
    (
        "memctl show §4.services.auth.jwt_handler",
        "Print a source file, named by its path or the end of the path, with dots for slashes.",
    ),
    (
        "memctl show iss-2025-11-04 --at HEAD~5",
        "Print a record by the beginning of its id, as it was five commits ago.",
    ),
    ("memctl show @last", "Print what was recorded last in this worktree."),
    ("memctl show 3.1 --json", "Print fields, content, parent and children of a page as JSON."),
)
@click.argument("ids", metavar="ID|§…", nargs=-1, required=True, shell_complete=complete("place"))
@flag_option("--tokens", "with_tokens", help="Print on standard error how many tokens each item has.")
@reading
def show_command(ctx: click.Context, /, ids: tuple[str, ...], with_tokens: bool, as_json: bool, at: str | None) -> None:
    """Show records, and places of the hierarchy by their § markers.

    Name a record by its id, the beginning or end of its id, its memory_id, or @last (the one recorded last in this
    worktree), and a place by its marker: §1.0, §2.1, §3.1.2 (only that heading), §4.PATH, §4 (a list of all files of
    sections). Pages are shown as a model needs them:
    rendered, without the targets of links.
    """
    memory, snapshot = memory_access.read(ctx, at)
    reader = _Navigator(memory, snapshot)
    items = [reader.resolve(reference) for reference in ids]
    for item in items:
        if not isinstance(item, Record) and item.level == _FILES and item.marker != f"§{_FILES}":
            agent_env.refuse(item.marker, "show", os.environ)  # the settings may forbid agents to read this file
    counter = reader.counter if with_tokens else None
    if as_json:
        _print_json(memory, snapshot, items, counter)
    else:
        texts = [snapshot.read(item.path) if isinstance(item, Record) else item.text for item in items]
        output.text("\n".join(texts), newline=False)
        for item, text in zip(items, texts, strict=True):
            if counter is not None:
                name = item.id if isinstance(item, Record) else item.marker
                output.note(f"{name}: {counter.tokens(text, _kind(item, text)):,} tokens ({counter.family.name})")
    records = [item for item in items if isinstance(item, Record)]
    if at is None and records:
        retrieval_counts.count(memory.repository.shared, [record.memory_id for record in records], memory.now)
    if records:
        output.namesakes(snapshot, ids)
        output.warn(memory, snapshot)
    if any(not isinstance(item, Record) and item.level < 4 for item in items):
        output.faults(memory, snapshot.outline.faults)


@command(
    "index",
    ("memctl page index", "List sections, pages of details and headings, with their markers."),
    ("memctl page index --tokens", "List all markers with the number of tokens that an agent loads by each."),
    ("memctl page index --json --at v1.0", "Print the index of a release as JSON."),
)
@flag_option(
    "--tokens",
    "with_tokens",
    help="Show not the index, but every marker with the number of tokens that an agent loads by it.",
)
@reading
def index_command(ctx: click.Context, /, with_tokens: bool, as_json: bool, at: str | None) -> None:
    """Show the navigation index: which § markers there are, what is on each page, and where to find what."""
    from memctl.pages import links

    memory, snapshot = memory_access.read(ctx, at)
    outline, reader = snapshot.outline, _Navigator(memory, snapshot)
    if with_tokens or as_json:
        markers = [marker for marker in outline.markers() if outline.find(marker) or not outline.fault_of(marker)]
        counter = reader.counter if with_tokens else None
        tree = [_place_data(reader.place(marker), counter) for marker in markers]
        for item in tree:
            del item["text"]
    if as_json:
        output.json_list("index", tree, outline.faults, memory, name="places")
    elif with_tokens:
        rows = [(item["marker"], f"{item['tokens']:,}", item["title"]) for item in tree]
        output.columns([("marker", "tokens", "title"), *rows])
    else:
        output.text(markdown.visible(reader.renderer.page(links.INDEX)), newline=False)
    output.faults(memory, snapshot.outline.faults)
    ctx.exit(REFUSED if outline.faults else OK)


class _Navigator:
    """Finds records and places of one Snapshot; makes the renderer and the counter when first used."""

    def __init__(self, memory: Memory, snapshot: Snapshot) -> None:
        self._memory = memory
        self._snapshot = snapshot

    def resolve(self, reference: str) -> Record | Place:
        from memctl.pages import navigate

        return self.place(reference) if navigate.is_marker(reference) else self._snapshot.resolve(reference)

    def place(self, marker: str) -> Place:
        from memctl.pages import navigate

        place = navigate.find(self._snapshot, lambda: self.renderer, marker)
        if place.level > 1:
            return place
        from memctl.pack.item_sources import with_blockers

        return with_blockers(self._memory, self._snapshot, place)

    @cached_property
    def renderer(self) -> Renderer:
        from memctl.write import documents

        return documents.renderer(self._memory, self._snapshot)

    @cached_property
    def counter(self) -> Counter:
        from memctl.write import documents

        return documents.counter(self._memory)


def _kind(item: Record | Place, text: str) -> str:
    from memctl.tokens.families import kind_of_text

    return kind_of_text(item.path, text) if not isinstance(item, Record) and item.level == 4 else "markdown"


def _print_json(memory: Memory, snapshot: Snapshot, items: list[Record | Place], counter: Counter | None) -> None:
    records, shown = [], []
    for item in items:
        if isinstance(item, Record):
            body = snapshot.body(item)
            data = {
                **output.record_data(memory, item),
                "content": content_fields.content(item.kind, body),
                "body": body,
            }
            if counter is not None:
                data["tokens"] = counter.tokens(snapshot.read(item.path))
            records.append(data)
        else:
            shown.append(_place_data(item, counter))
    data = {"total": len(items), "records": records} | ({"places": shown} if shown else {})
    output.json("records", data, memory=memory)


def _place_data(place: Place, counter: Counter | None) -> dict[str, Any]:
    data = msgspec.structs.asdict(place)
    if counter is not None:
        data["tokens"] = counter.tokens(place.text, _kind(place, place.text))
    return data
