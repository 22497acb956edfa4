"""What `session summarize` proposes from real transcripts, judged by labels (`labelled/README.md`).

A proposal is right if the message that it comes from has a label that fits it. A message is a line of the transcript,
or the lines of one answer; a decision fits a decision or a constraint, a learning fits a learning or the issue that
was solved, an issue fits an issue, an open error or what was learned of it. A label is hit once: what hits it again is
a duplicate, which is not right. Precision counts all labels, recall the clear ones.
"""

from __future__ import annotations

import tarfile
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from memctl.record import session_page
from memctl.record.kinds import DECISION, ISSUE, LEARNING
from memctl.session import failures, page_builder, trail
from memctl.session.proposals import Proposal, propose
from memctl.session.summary import SessionSummary, summarize
from memctl.session.trail import Places
from memctl.transcript import reader
from memctl.transcript.events import COMPACTION, PROMPT, Session
from memctl.transcript.messages import decode_json

_ARCHIVE = "transcripts-dev.tar.xz"
_LABELLED = Path(__file__).parent / "labelled"
_BUILD = ("sessions-build.jsonl", "sessions-build-b.jsonl")
_LATER = ("sessions-build-c.jsonl",)
_LAST = ("sessions-build-d.jsonl",)
_FRESH = ("sessions-build-e.jsonl",)
_REST = ("sessions-fresh.jsonl",)
_HELD_OUT = ("sessions-held-out.jsonl",)
_DECISION, _CONSTRAINT, _LEARNING, _ISSUE, _ERROR = "decision", "constraint", "learning", "issue", "open_error"
_TYPES = (_DECISION, _CONSTRAINT, _LEARNING, _ISSUE, _ERROR)
# What labels a proposal fits, the likeliest first.
_FITTING = {
    DECISION.name: (_DECISION, _CONSTRAINT),
    LEARNING.name: (_LEARNING, _ISSUE),
    ISSUE.name: (_ISSUE, _ERROR, _LEARNING),
}
_CERTAINTIES = ("sure", "perhaps")
_SHORT_PROMPT = 300  # characters
_RIGHT, _DUPLICATE, _WRONG = "right", "duplicate", "wrong"


class Label(msgspec.Struct, frozen=True):
    """One label: what it is, and the lines that say it."""

    line: int
    type: str
    by: str
    sure: str
    same_as: tuple[int, ...] = ()

    @property
    def is_clear(self) -> bool:
        return self.sure == "clear"


class LabelledTranscript(msgspec.Struct, frozen=True):
    """A transcript by the digest of its file, how many lines it has, and what there is in it."""

    transcript: str
    events: int
    labels: tuple[Label, ...]


class JudgedError(msgspec.Struct, frozen=True):
    """An error that was listed as open after a quarter of its transcript, by the line of its result: whether it was."""

    quarter: int
    line: int
    is_open: bool


class JudgedErrors(msgspec.Struct, frozen=True):
    """What was listed as open after each quarter of a transcript, judged by a reader."""

    transcript: str
    events: int
    judged: tuple[JudgedError, ...]


class Verdict(msgspec.Struct, frozen=True):
    """What became of one proposal: its record type, whether it is sure, what it is (RIGHT, DUPLICATE or WRONG), and the
    label that it hit."""

    kind: str
    line: int
    title: str
    certainty: str
    verdict: str
    label: Label | None = None


def tables(data: str) -> bool:
    """Print a table for each set of labels; `data` is the folder with the transcripts, "" if there is none."""
    archive = Path(data) / _ARCHIVE if data else None
    if archive is None or not archive.exists():
        print(f"\nStatements in transcripts: left out, there is no {_ARCHIVE} (make bench DATA=FOLDER)")
        return True
    for name, files in (
        ("labels to build on", _BUILD),
        ("labels made later", _LATER),
        ("labels made last", _LAST),
        ("labels not looked at since", _FRESH),
        ("labels of the two that were left", _REST),
        ("labels held out", _HELD_OUT),
    ):
        _table(name, judged(archive, files))
    _open_errors(archive)
    return True


def judged(archive: Path, files: Sequence[str]) -> list[tuple[LabelledTranscript, list[Verdict]]]:
    """The transcripts of an archive that have labels in some files, each with its verdicts."""
    rows = (row for file in files for row in (_LABELLED / file).read_bytes().splitlines())
    labelled = {one.transcript: one for row in rows for one in [msgspec.json.decode(row, type=LabelledTranscript)]}
    return [(labelled[name], list(_verdicts(labelled[name], content))) for name, content in _of(archive, labelled)]


def _of(archive: Path, names: Container[str]) -> Iterator[tuple[str, bytes]]:
    """The transcripts of an archive that are named by their digests."""
    with tarfile.open(archive) as packed:
        for member in packed:
            file = packed.extractfile(member) if member.name.endswith(".jsonl") else None
            content = file.read() if file else b""
            if (name := sha256(content).hexdigest()) in names:
                yield name, content


def _open_errors(archive: Path) -> None:
    """Print how many of the errors that are listed as open after each quarter of a transcript are, and how many of the
    user's short prompts since the last compaction are on its page."""
    rows = (_LABELLED / "open-errors.jsonl").read_bytes().splitlines()
    known = {one.transcript: one for row in rows for one in [msgspec.json.decode(row, type=JudgedErrors)]}
    verdicts = Counter[str]()
    prompts = kept = 0
    for name, content in _of(archive, known):
        session = reader.read(content)
        judged = {(one.quarter, one.line): one.is_open for one in known[name].judged}
        for quarter in (1, 2, 3, 4):
            part = [event for event in session.events if event.line <= known[name].events * quarter / 4]
            for failure in failures.of_events(part):
                if failure.is_open:
                    is_right = judged.get((quarter, failure.line))
                    verdicts["not judged" if is_right is None else "open" if is_right else "not open"] += 1
        page = page_builder.compose(_summary(content), "bench", "2025-01-01T00:00:00Z")
        words = {_letters(line) for heading in (session_page.SAID, session_page.INTENT) for line in page.lines[heading]}
        short = [text for text in _last_window(session) if len(text) < _SHORT_PROMPT]
        prompts += len(short)
        kept += sum(any(_letters(text) in said for said in words) for text in short)
    counts = ", ".join(f"{count} {name}" for name, count in verdicts.items()) or "none"
    print(f"\nErrors listed as open after each quarter of {len(known)} transcripts: {counts}")
    print(f"Prompts under {_SHORT_PROMPT} characters since the last compaction: {prompts}, on the page: {kept}")


def _last_window(session: Session) -> list[str]:
    """The user's prompts since the last compaction."""
    last = max((place for place, event in enumerate(session.events) if event.kind == COMPACTION), default=-1)
    return [event.text for event in session.events[last + 1 :] if event.kind == PROMPT and not event.agent]


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _verdicts(labelled: LabelledTranscript, content: bytes) -> Iterator[Verdict]:
    messages = _messages(content)
    taken: set[Label] = set()
    for proposal in propose(_summary(content)):
        fitting = _FITTING.get(proposal.kind)
        if fitting is None:
            continue
        lines = messages.get(proposal.line, {proposal.line})
        near = [one for one in labelled.labels if one.type in fitting and lines & {one.line, *one.same_as}]
        near.sort(key=lambda one: (fitting.index(one.type), not one.is_clear))
        hit = next((one for one in near if one not in taken), None)
        if hit is not None:
            taken.add(hit)
        verdict = _RIGHT if hit else _DUPLICATE if near else _WRONG
        yield Verdict(_kind(proposal), proposal.line, proposal.title, _CERTAINTIES[not proposal.is_sure], verdict, hit)


def _summary(content: bytes) -> SessionSummary:
    session = reader.read(content)
    nowhere = Places(Path("/nowhere"), session.cwd)
    return summarize(session, trail.of_session(session, nowhere, (), ()), "s-1", "bench")


def _kind(proposal: Proposal) -> str:
    """A proposal's record type; an issue that is a failed run counts by itself."""
    return _ERROR if proposal.kind == ISSUE.name and " failed: " in proposal.title else proposal.kind


def _messages(content: bytes) -> dict[int, set[int]]:
    """The lines of the message that a line belongs to, for those of answers."""
    lines: dict[str, set[int]] = defaultdict(set)
    for number, row in enumerate(content.split(b"\n"), start=1):
        fields: Any = decode_json(row) if row.strip() else None
        message = fields.get("message") if isinstance(fields, dict) else None
        if isinstance(message, Mapping) and isinstance(message.get("id"), str):
            lines[message["id"]].add(number)
    return {number: whole for whole in lines.values() for number in whole}


def _table(name: str, found: Sequence[tuple[LabelledTranscript, list[Verdict]]]) -> None:
    empty = sum(not labelled.labels for labelled, _ in found)
    verdicts = [one for _, given in found for one in given]
    print(f"\nStatements proposed, {name}: {len(found)} transcripts, {empty} of them without anything to find")
    for group in (DECISION.name, LEARNING.name, ISSUE.name, _ERROR, *_CERTAINTIES, ""):
        counts = Counter(one.verdict for one in verdicts if group in ("", one.kind, one.certainty))
        share = f"{counts[_RIGHT] / counts.total():.2f}" if counts else "-"
        row = f"{counts.total():>4} proposed  {counts[_RIGHT]:>3} right  {counts[_DUPLICATE]:>3} again"
        print(f"  {group or 'all':<12} {row}  {counts[_WRONG]:>3} wrong  precision {share}")
    clear = Counter(one.type for labelled, _ in found for one in labelled.labels if one.is_clear)
    hit = Counter(one.label.type for one in verdicts if one.label is not None and one.label.is_clear)
    for type_ in (*_TYPES, ""):
        known, there = (hit.total(), clear.total()) if not type_ else (hit[type_], clear[type_])
        share = f"{known / there:.2f}" if there else "-"
        print(f"  {type_ or 'all':<12} {there:>4} clear labels, {known:>3} of them found  recall {share}")
