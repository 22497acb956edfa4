"""What an agent's directives lead to: a draft of what was asked for, and what may go.

A file too large to be loaded, of more than 10,000 tokens, is answered by its summary (rules.md#files-for-a-task).
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from memctl.errors import MemctlError
from memctl.pack import items
from memctl.pack.draft import NOTICED, Item, Left, PackDraft, PackNote, PackPart
from memctl.pack.filling import CountTokens
from memctl.pack.items import Sources
from memctl.pages.navigate import Place
from memctl.record import ids
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.text import headings, sensitive_files

LARGE = 10_000  # tokens


class Ways(msgspec.Struct, frozen=True):
    """How what is asked for is found: a place by its marker, a file's summary by its path, and what a text counts."""

    place: Callable[[str], Place]
    summary: Callable[[str], str]
    count: CountTokens
    sources: Sources


class Answer(msgspec.Struct, frozen=True):
    """A draft of what was found; and what was not, with why."""

    draft: PackDraft
    unknown: tuple[Left, ...]


def answer(snapshot: Snapshot, now: str, asked: Directives, ways: Ways) -> Answer:
    """Find everything that directives ask for."""
    found: list[Item] = []
    unknown: list[Left] = []
    records: list[Record] = []
    for target in asked.load:
        try:
            if ids.kind_of(target) is not None:
                records.append(snapshot.resolve(target))
            else:
                found.append(_loaded(ways.place(target), ways))
        except MemctlError as error:
            unknown.append(Left(target, "", _why(error)))
    for path in asked.summarize:
        try:
            found.append(_summarized(path, ways))
        except MemctlError as error:
            unknown.append(Left(path, "", _why(error)))
    origins = ways.sources.origins(records)
    found = [*(items.of_record(snapshot, record, origins) for record in records), *found]
    draft = PackDraft(
        project=snapshot.config.project,
        parts=(PackPart("loaded", "Loaded", tuple({item.key: item for item in found}.values())),),
        title="Asked of the memory of {project}",
        root="loaded_context",
        opening=(NOTICED,),
        closing=tuple(_notes(asked, unknown)),
        made=now,
    )
    return Answer(draft, tuple(unknown))


def _loaded(place: Place, ways: Ways) -> Item:
    """A place as an item: a file by its text, or if that is large its summary."""
    if place.level < 4 or place.path.endswith("/"):
        return items.of_place(place)
    if reason := sensitive_files.refusal(place.path, b"", place.text):
        raise MemctlError(f"{place.path} never enters a model's context: {reason}")
    if ways.count(place.text) > LARGE:
        return _summarized(place.path, ways)
    return Item("file", place.path, "", place.text, (("section", place.parent),) if place.parent else (), place.path)


def _summarized(path: str, ways: Ways) -> Item:
    return Item("file", path.removeprefix("§4."), "", ways.summary(path), (("shown", "summary"),), path)


def _notes(asked: Directives, unknown: list[Left]) -> list[PackNote]:
    notes = []
    if unknown:
        lines = [f"- {left.id}: {left.why}" for left in unknown]
        notes.append(PackNote("not_found", "Not found", "\n".join(lines), essential=True))
    if asked.prune:
        lines = [f"- {prune.target}" + (f" - {prune.reason}" if prune.reason else "") for prune in asked.prune]
        notes.append(PackNote("prune", "To be dropped", "\n".join(lines), essential=True))
    return notes


def _why(error: MemctlError) -> str:
    return " ".join(f"{error.message}; {error.hint}".split()) if error.hint else " ".join(error.message.split())


_TARGET = re.compile(rf"§\d+\.(?:[./]*[\w*@+-])+|§\d+\b|\b{ids.SHAPE}\b", re.IGNORECASE)
_LOAD = re.compile(r"\bload\b(?!\s*(?::\s*)?(?:balanc|average))", re.IGNORECASE)
_SUMMARIZE = re.compile(r"\bsummari[sz]e\b:?\s+[`'\"]?(§?[\w@+./-]*[\w+-])", re.IGNORECASE)
_PRUNE = re.compile(r"[\s>*`-]*PRUNE[*`]*:[*`\s]*(\S+)(?:\s+[-\u2013\u2014:]*\s*(.*))?$")
_NEGATED = re.compile(r"\b(?:don['\u2019]?t|do not|no need to|without|never)\b[^.!?]{0,24}$", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'`])|\n{2,}|\n(?=[ \t]*(?:[-*+>]|\d+[.)]\s))")
_MOST = 50  # requests in one reply; more is no plan but a dump


class Prune(msgspec.Struct, frozen=True):
    """Something that an agent no longer needs, and why."""

    target: str
    reason: str


class Directives(msgspec.Struct, frozen=True):
    """What a reply asks for, each once, in its order; `ignored` are requests beyond the fiftieth."""

    load: tuple[str, ...]
    summarize: tuple[str, ...]
    prune: tuple[Prune, ...]
    ignored: int = 0

    @property
    def is_empty(self) -> bool:
        return not (self.load or self.summarize or self.prune)


def read(reply: str) -> Directives:
    """The directives in an agent's reply."""
    load: dict[str, None] = {}
    summarize: dict[str, None] = {}
    prune: dict[str, Prune] = {}
    prose = []
    for line, outside in headings.outside_fences(reply):
        if not outside:
            continue
        if match := _PRUNE.match(line):
            if target := match[1].rstrip("`*,;:"):
                prune.setdefault(target, Prune(target, (match[2] or "").rstrip().rstrip("`*").strip()))
        else:
            prose.append(line)
    for sentence in _SENTENCE.split("\n".join(prose)):
        load |= dict.fromkeys(_loads(sentence))
        summarize |= dict.fromkeys(match[1] for match in _SUMMARIZE.finditer(sentence) if _is_path(match[1]))
    wanted = [name for name in load if name not in summarize]
    return Directives(
        tuple(wanted[:_MOST]),
        tuple(summarize)[:_MOST],
        tuple(prune.values()),
        max(len(wanted) - _MOST, 0) + max(len(summarize) - _MOST, 0),
    )


def _loads(sentence: str) -> list[str]:
    """What a sentence asks to load: every target behind the word."""
    match = _LOAD.search(sentence)
    if match is None or _NEGATED.search(sentence[: match.start()]):
        return []
    return [_whole(target) for target in _TARGET.findall(sentence[match.end() :])]


def _whole(target: str) -> str:
    return target if target.startswith("§") else target.upper()


def _is_path(name: str) -> bool:
    """Whether a word behind "summarize" is a file and not the next word of a sentence."""
    return "/" in name or "." in name or name.startswith("§")
