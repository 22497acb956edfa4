"""Whether what a session decided, and what it left to do, is told at the start of the next session.

Decisions and demands are those that readers labelled as clear in the transcripts (`labelled/README.md`), by the lines
that say them. A label says only the line, so only messages of at most 30 different words count, in which little else
is said. One is handed on if a line of the start has three of five of its words. What is left to do is the question with
which the agent's last answer ends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from bench.statements import LabelledTranscript
from memctl.text.words import stems

_LABELLED = Path(__file__).parent / "labelled"
_TYPES = ("decision", "constraint")
_LEAST, _MOST, _SHARE = 4, 30, 0.6  # words of a message, and the share of them that a line of the start has
_QUESTION = re.compile(r"[^.!?\n]{10,}\?\W*\Z")


def labels() -> Mapping[str, LabelledTranscript]:
    """Return the labelled transcripts by the digests of their files."""
    rows = (row for file in sorted(_LABELLED.glob("sessions-*.jsonl")) for row in file.read_bytes().splitlines())
    return {one.transcript: one for row in rows for one in [msgspec.json.decode(row, type=LabelledTranscript)]}


def decided(known: LabelledTranscript, texts: Mapping[int, str]) -> Iterator[tuple[str, list[str]]]:
    """Yield who decided or demanded each clear thing, and the messages that say it; `texts` are those by line."""
    for label in known.labels:
        if label.is_clear and label.type in _TYPES:
            said = [texts[line] for line in (label.line, *label.same_as) if line in texts]
            short = [text for text in said if _LEAST <= len(stems(text)) <= _MOST]
            if short:
                yield label.by, short


def left(answer: str) -> list[str]:
    """Return the question with which an answer ends, [] if it ends otherwise."""
    found = _QUESTION.search(answer.strip())
    return [found[0]] if found and len(stems(found[0])) >= _LEAST else []


def is_told(said: list[str], start: str) -> bool:
    """Return whether a line of a start has most words of one of several messages."""
    lines, messages = list(map(stems, start.split("\n"))), list(map(stems, said))
    return any(len(line & words) >= _SHARE * len(words) for line in lines for words in messages)


def figures(sessions: list[tuple[list[tuple[str, list[str]]], list[str]]], start: Callable[[int], str]) -> str:
    """Return how much of what each session decided, and left, the start of the next one tells, as text.

    `sessions` has for each session what `decided` and `left` return, and `start` gives the start of a session by its
    number.
    """
    told, there = Counter[str](), Counter[str]()
    for number, (decisions, questions) in enumerate(sessions[:-1]):
        if not (decisions or questions):
            continue
        text = start(number + 1)
        for by, said in decisions:
            kind = "of the user" if by == "user" else "of the agent"
            there[kind] += 1
            told[kind] += is_told(said, text)
        there["last questions"] += len(questions)
        told["last questions"] += sum(is_told([question], text) for question in questions)
    kinds = ("of the user", "of the agent", "last questions")
    return ", ".join(f"{kind} {told[kind]} of {there[kind]}" for kind in kinds if there[kind])
