"""Questions about what was said long before, made of real transcripts by a rule.

A turn is what a user or an agent says. A name is what looks like an identifier, a path or a number of three digits and
more. Of each turn with a name that 1 to 5 earlier turns have, the sentence is taken in which it stands first, the name
itself is taken out of it, and that is the query; those earlier turns are its answers. What was said less than 8 turns
ago is at hand and counts neither as an answer nor as a result; nor does anything that was said later. A sentence of
fewer than three words that say something is no query, nor is a turn of more than 4,000 characters asked about.

So the words that are left have to find turns by what they are about. The rule looks at no ranking.
"""

from __future__ import annotations

import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from memctl.text.words import STOP_WORDS, words_of
from memctl.transcript import reader
from memctl.transcript.events import ANSWER, PROMPT

ARCHIVE = "transcripts-dev.tar.xz"
_AT_HAND, _MOST_ANSWERS, _LEAST_WORDS, _LONGEST = 8, 5, 3, 4_000
_TOKEN = re.compile(r"[A-Za-z0-9_][\w./:#-]*\w")
_NAME = re.compile(
    r"[a-z][A-Z]|[A-Za-z]_[A-Za-z]|\w/\w|[a-z]\.[a-z]{2,4}\b|\d{3,}|[a-z]\d|\d[a-z]"  # camelCase, snake_case, a/b, f.py
)
_SENTENCE = re.compile(r"\n|(?<=[.!?])\s")


class Conversation(msgspec.Struct, frozen=True):
    """A session of an agent: the turns in their order, each with who said it (PROMPT or ANSWER)."""

    id: str
    started: str
    turns: tuple[tuple[str, str], ...]


class Recollection(msgspec.Struct, frozen=True):
    """A query and the turns that answer it; only turns before `limit`, or before `start`, count as results.

    Turns are numbers, counted over all conversations; `start` is the first of the conversation that asks.
    """

    query: str
    answers: frozenset[int]
    conversation: int
    start: int
    limit: int
    kind: str


def read(folder: str) -> tuple[list[Conversation], list[Conversation]]:
    """Return the conversations of an archive in two halves, each by time; [] and [] if there is no archive."""
    archive = Path(folder) / ARCHIVE if folder else None
    if archive is None or not archive.exists():
        return [], []
    halves: tuple[list[Conversation], list[Conversation]] = ([], [])
    with tarfile.open(archive) as packed:
        for member in packed:
            file = packed.extractfile(member) if member.name.endswith(".jsonl") else None
            if file is None:
                continue
            session = reader.read(file.read())
            said = [event for event in session.events if event.kind in (PROMPT, ANSWER) and not event.agent]
            turns = tuple((event.kind, event.text) for event in said)
            half = sha256(session.id.encode()).digest()[-1] % 2
            halves[half].append(Conversation(session.id, session.started, turns))
    for half_of in halves:
        half_of.sort(key=lambda conversation: (conversation.started, conversation.id))
    return halves


def recollections(conversations: Sequence[Conversation]) -> Iterator[Recollection]:
    """Return what later turns look for, by the rule above."""
    said: dict[str, list[int]] = defaultdict(list)  # the turns that have a name
    number = 0
    for place, conversation in enumerate(conversations):
        start = number
        for who, text in conversation.turns:
            names = _names(text)
            for name in sorted(names) if len(text) <= _LONGEST else ():
                answers = [turn for turn in said[name] if turn <= number - _AT_HAND or turn < start]
                query = _without(name, text)
                telling = set(words_of(query)) - STOP_WORDS
                if 1 <= len(answers) <= _MOST_ANSWERS and len(telling) >= _LEAST_WORDS:
                    asks = "user" if who == PROMPT else "agent"
                    yield Recollection(query, frozenset(answers), place, start, number - _AT_HAND + 1, asks)
            for name in names:
                said[name].append(number)
            number += 1


def _names(text: str) -> set[str]:
    return {token.strip(".:#-/").lower() for token in _TOKEN.findall(text) if _NAME.search(token)}


def _without(name: str, text: str) -> str:
    """The first sentence of a text that has a name, without it."""
    sentence = next((one for one in _SENTENCE.split(text) if name in _names(one)), "")
    return re.sub(re.escape(name), " ", sentence, flags=re.IGNORECASE)
