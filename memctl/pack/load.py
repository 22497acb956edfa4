"""Read the directives in an agent's reply (rules.md#prompts), and find the texts that they ask for.

- `load §3.3.2` (also `please load §3.1 and DEC-2025-11-04-001`) asks for pages, files and records. Of a file of more
  than 10,000 tokens it gives a summary (rules.md#files-for-a-task).
- `summarize src/big.py` asks for a file's summary.
- `PRUNE: §4.old.py - replaced`, on a line of its own, says what the agent no longer needs.

Fenced code and any other text are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from memctl.errors import MemctlError
from memctl.pack import items
from memctl.pack.budget_fill import CountTokens
from memctl.pack.draft import NOTICED, Item, OmittedItem, PackDraft, PackNote, PackPart
from memctl.pack.items import Sources
from memctl.pages.navigate import Place
from memctl.record import ids
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.text import headings, sensitive_files

LARGE = 10_000  # tokens above which only a file's summary is loaded
_TARGET = re.compile(rf"§\d+\.(?:[./]*[\w*@+-])+|§\d+\b|\b{ids.SHAPE}\b", re.IGNORECASE)
_LOAD = re.compile(r"\bload\b(?!\s*(?::\s*)?(?:balanc|average))", re.IGNORECASE)
_SUMMARIZE = re.compile(r"\bsummari[sz]e\b:?\s+[`'\"]?(§?[\w@+./-]*[\w+-])", re.IGNORECASE)
_PRUNE = re.compile(r"[\s>*`-]*PRUNE[*`]*:[*`\s]*(\S+)(?:\s+[-\u2013\u2014:]*\s*(.*))?$")
_NEGATED = re.compile(r"\b(?:don['\u2019]?t|do not|no need to|without|never)\b[^.!?]{0,24}$", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'`])|\n{2,}|\n(?=[ \t]*(?:[-*+>]|\d+[.)]\s))")
_MOST = 50  # directives of each kind in one reply; the others are ignored


class Prune(msgspec.Struct, frozen=True):
    """Something that an agent no longer needs (its marker, path or id), and the reason."""

    target: str
    reason: str


class Directives(msgspec.Struct, frozen=True):
    """The directives of an agent's reply, each once and in the order of the reply.

    `load` has the markers and ids to load, `summarize` the paths of files to be summarized, and `prune` what the agent
    no longer needs. `load` and `summarize` have at most fifty entries each; `ignored` is the number of the others.
    """

    load: tuple[str, ...]
    summarize: tuple[str, ...]
    prune: tuple[Prune, ...]
    ignored: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether the reply has no directive."""
        return not (self.load or self.summarize or self.prune)


def read(reply: str) -> Directives:
    """Return the directives in an agent's reply: what it asks to load or summarize, as in `load §3.1`, or to drop."""
    load: dict[str, None] = {}
    summarize: dict[str, None] = {}
    prune: dict[str, Prune] = {}
    prose = []
    for line in (line for line, outside in headings.outside_fences(reply) if outside):
        if match := _PRUNE.match(line):
            if target := match[1].rstrip("`*,;:"):
                prune.setdefault(target, Prune(target, (match[2] or "").rstrip().rstrip("`*").strip()))
        else:
            prose.append(line)
    for sentence in _SENTENCE.split("\n".join(prose)):
        match = _LOAD.search(sentence)
        if match and not _NEGATED.search(sentence[: match.start()]):
            targets = _TARGET.findall(sentence[match.end() :])
            load |= dict.fromkeys(target if target.startswith("§") else ids.canonical(target) for target in targets)
        # A word without a slash, a full stop or a marker is the next word of a sentence and not a path.
        summarize |= dict.fromkeys(name for name in _SUMMARIZE.findall(sentence) if re.search(r"[/.]|^§", name))
    wanted = [name for name in load if name not in summarize]
    ignored = max(len(wanted) - _MOST, 0) + max(len(summarize) - _MOST, 0)
    return Directives(tuple(wanted[:_MOST]), tuple(summarize)[:_MOST], tuple(prune.values()), ignored)


class Loader(msgspec.Struct, frozen=True):
    """The functions that find the texts that an agent's reply asks for by directives, such as `load §3.1`.

    `place` returns the page, file or heading that a marker names, `summary` the summary of the file at a path, and
    `count` the tokens of a text. `sources` gets the last commits of records and the texts of pages.
    """

    place: Callable[[str], Place]
    summary: Callable[[str], str]
    count: CountTokens
    sources: Sources

    def load(self, marker: str) -> Item:
        """Return an item of a pack with the page or file that a marker names.

        For a file of more than 10,000 tokens the item has a summary. Raises MemctlError if nothing has this marker, or
        if the file may not enter a model's context.
        """
        place = self.place(marker)
        if place.level < 4 or place.path.endswith("/"):
            return items.of_place(place)
        if reason := sensitive_files.refusal(place.path, b"", place.text):
            raise MemctlError(f"memctl never gives {place.path} to a model: {reason}")
        if self.count(place.text) > LARGE:
            return self.load_summary(place.path)
        section = (("section", place.parent),) if place.parent else ()
        return Item("file", place.path, "", place.text, section, place.path)

    def load_summary(self, path: str) -> Item:
        """Return an item of a pack with the summary of a file; `path` is the file's path or its §4 marker."""
        return Item("file", path.removeprefix("§4."), "", self.summary(path), (("shown", "summary"),), path)


def answer(snapshot: Snapshot, now: str, directives: Directives, loader: Loader) -> tuple[PackDraft, list[OmittedItem]]:
    """Return the draft of a pack with all that an agent's directives ask for, and a list of what was not found.

    `directives` are what `read` returned for the agent's reply. `now` is the time shown in the pack, such as
    "2025-11-04T14:32:00Z". `loader` finds the pages and files. What was not found has the reason in `OmittedItem.why`.
    """
    loaded: list[Item] = []
    unknown: list[OmittedItem] = []
    records: list[Record] = []
    for target, find in [
        *((name, loader.load) for name in directives.load),
        *((p, loader.load_summary) for p in directives.summarize),
    ]:
        try:
            if find == loader.load and ids.kind_of(target) is not None:
                records.append(snapshot.resolve(target))
            else:
                loaded.append(find(target))
        except MemctlError as error:
            why = f"{error.message}; {error.hint}" if error.hint else error.message
            unknown.append(OmittedItem(target, "", " ".join(why.split())))
    origins = loader.sources.origins(records)
    loaded = [*(items.of_record(snapshot, record, origins) for record in records), *loaded]
    missing = [f"- {left.id}: {left.why}" for left in unknown]
    pruned = [f"- {prune.target}" + (f" - {prune.reason}" if prune.reason else "") for prune in directives.prune]
    notes = (("not_found", "Not found", missing), ("prune", "To be dropped", pruned))
    draft = PackDraft(
        project=snapshot.config.project,
        parts=(PackPart("loaded", "Loaded", tuple({item.key: item for item in loaded}.values())),),
        title="Loaded from the memory of {project}",
        root="loaded_context",
        opening=(NOTICED,),
        closing=tuple(PackNote(name, title, "\n".join(lines), True) for name, title, lines in notes if lines),
        made=now,
    )
    return draft, unknown
