"""What an agent asks for in its reply (rules.md#prompts): sections and records to load, what may go.

- `load §3.3.2` (also `please load §3.1 and DEC-2025-11-04-001`): progressive disclosure.
- `summarize src/big.py`: summary elevation.
- `PRUNE: §4.old.py - replaced`, on a line of its own: context pruning.

Text in fenced code is no request. What is not understood is no request either: a reply is read, never obeyed.
"""

from __future__ import annotations

import re

import msgspec

from memctl.record import ids
from memctl.text import headings

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
