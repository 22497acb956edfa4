"""Find the open record that says nearly the same as a new one, or the opposite.

Candidates are the records that have the rarest words of the new text. What tells a pair from a busy subject is how much
better the best candidate matches than the second, beside how alike the texts are letter by letter. Of 78 planted
repeats and contradictions among 1,000 real records 67 are found, at 4 alarms in 100 ordinary issues; among 266 records,
many of them subtasks of one project, 41 of 52, at 18 in 99 (`bench/near.py`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

import msgspec

from memctl.record.kinds import DECISION, HANDOFF, LEARNING, STATE
from memctl.record.record import Record
from memctl.record.snapshot import Snapshot
from memctl.record.source import Hit
from memctl.record.task_state import key
from memctl.text.lazy_regex import lazy_regex
from memctl.text.words import STOP_WORDS, stems, words_of

_RAREST = 8  # words by which candidates are found; by 12 it takes a quarter longer and finds one more of 78
_CANDIDATES = 10  # records that are compared
_LOOKED_UP = (40, 400)  # matches that are looked up, and how many if most of them are closed or of another type
_FEWEST = 4  # words that a text must share with the memory, or it says too little to compare
_WORDS = 60  # different words of a text that are looked at
_GIST, _COMPARED = 600, 250  # characters of a text beside its title; of both, letter by letter
# Weights by logistic regression over memories of 28 to 1,000 records. By weights and threshold of decisions alone,
# issues fared as well, and the reverse: 71 of the 78, at 6 alarms in 100.
_ALIKE, _MARGIN, _TITLE, _THRESHOLD = 8.1, 5.6, 6.1, 8.4
_FEW = 20  # texts of a memory in which the best match says something; among two any text is the best
_TOGETHER = ({DECISION.name, LEARNING.name},)  # types of which one may say the same as another
# Sections that say above all what a record is about, as memctl and ADRs have them.
_GISTS = ("Decision", "Decision Outcome", "Proposal", "Rationale", "Description", "Lesson")
_MARKUP = lazy_regex(r"(?m)^\\?#+ .*$|[`*_\\]+")
_NOT_A_WORD = lazy_regex(r"\W+")
# What a text speaks against: words behind a negation, or before one.
_AGAINST = lazy_regex(
    r"(?i)\b(?:instead of|rather than|no longer|not|\w+n['\u2019]t|never|no|avoids?|avoided|drops?|dropped|removes?|"
    r"removed|rejects?|rejected|without|stops?|nothing|except)\b[ :]*((?:[\w./@_-]+ ?){1,3})|"
    r"((?:[\w./@_-]+ ){1,3})(?:is|are|stays?|become|need|must) "
    r"(?:no longer|not|never|removed|rejected|dropped|avoided|ignored|left out)"
)
_OPPOSING = lazy_regex(r"(?i)(?:always )?(?:keep|stay|leave|drop|remove|stop|ignore|no|do not|don't|never)\b")


# What turns a title into its opposite, and words that such titles need not share: "Use Redis", "Drop Redis".
_NEGATION = lazy_regex(r"(?i)\b(?:do not|does not|\w+n['\u2019]t|no longer|not|never|no|avoid|drop|stop|remove)\b")
_EMPTY_STEMS = {"use", "uses", "used", "using", "keep"}


class Near(msgspec.Struct, frozen=True):
    """An open record near another one, and whether the two may contradict each other."""

    record: Record
    may_contradict: bool = False

    def describe(self) -> str:
        """Return the finding as one line, such as "near: DEC-… Use ElastiCache for Redis"."""
        return f"{'may contradict' if self.may_contradict else 'near'}: {self.record.id} {self.record.title}"


def nearest(snapshot: Snapshot, record: Record, body: str, *, by_text: bool = True) -> Near | None:
    """Return the open record that says nearly the same as `record`, or the opposite; None if there is none.

    `record` need not be in the snapshot, and `body` is its text. A record to which it has a link, or that its text
    names, is left out: whoever wrote it knows that one. Without `by_text` only titles are compared, which needs no
    search index.
    """
    if not record.is_open or record.memory_type == HANDOFF.name:
        return None
    linked = {record.id, *record.supersedes, *record.relates_to, *record.blocks, *record.blocked_by}
    if same := [other for other in _same_title(snapshot, record) if other.id not in linked]:
        return Near(max(same, key=lambda other: other.id))
    if opposite := [other for other in _opposite_title(snapshot, record) if other.id not in linked]:
        return Near(max(opposite, key=lambda other: other.id), may_contradict=True)
    if record.memory_type == STATE.name or not by_text:  # states of one task have its words
        return None
    new = _Comparable(record.title, body)
    scored = [pair for pair in _scored(snapshot, record, new) if pair[0] > _THRESHOLD]
    if not scored:
        return None
    _, other, text = max(scored, key=lambda pair: pair[0])
    if other.id in linked or other.id in body or other.memory_id == record.parent_memory_id:
        return None
    return Near(other, _may_contradict(new, text))


def _same_title(snapshot: Snapshot, record: Record) -> list[Record]:
    """Return the open records of the type and title of a record.

    States are compared without case and final punctuation, and only with those of the same section.
    """
    if record.memory_type == STATE.name:
        task = key(record.title), record.section
        states = (state for state in snapshot.open_records if state.memory_type == STATE.name)
        return [state for state in states if (key(state.title), state.section) == task]
    return _of_title(snapshot, record.memory_type, record.title)


def _opposite_title(snapshot: Snapshot, record: Record) -> list[Record]:
    """Return the open records of the type of a record whose title has its words, but for a negation in one of them."""
    words, is_negated = _words_and_negation(record.title)
    if not words:
        return []
    longest = max(words, key=len)  # most titles lack it, and are not taken apart
    titles = snapshot.catalogue.titles(record.memory_type, only_open=True)
    like = dict.fromkeys(title for title in titles if longest in title.casefold())
    opposite = (title for title in like if _words_and_negation(title) == (words, not is_negated))
    return [other for title in opposite for other in _of_title(snapshot, record.memory_type, title)]


def _of_title(snapshot: Snapshot, memory_type: str, title: str) -> list[Record]:
    conditions = [("memory_type", "is", memory_type), ("title", "is", title)]
    return [record for record in snapshot.catalogue.select(conditions, "id")[0] if record.is_open]


def _words_and_negation(title: str) -> tuple[frozenset[str], bool]:
    return stems(_NEGATION.sub(" ", title)) - _EMPTY_STEMS, _NEGATION.search(title) is not None


def _scored(snapshot: Snapshot, record: Record, new: _Comparable) -> Iterable[tuple[float, Record, _Comparable]]:
    """Yield the candidates near a text, each with its score."""
    words = dict.fromkeys(word for word in words_of(new.text) if word not in STOP_WORDS and not word.isdigit())
    counts = snapshot.texts.frequencies(list(words)[:_WORDS])
    weight = _MARGIN * min(counts.pop("") / _FEW, 1.0)
    rarest = sorted((word for word, count in counts.items() if count), key=counts.__getitem__)[:_RAREST]
    if len(rarest) < _FEWEST:
        return
    hits, records = _candidates(snapshot, record, rarest)
    bodies = snapshot.texts.bodies([hit.number for hit in hits])
    for place, hit in enumerate(hits):
        other = _Comparable(records[hit.path].title, bodies.get(hit.number, ""))
        rival = hits[0 if place else 1].text if len(hits) > 1 else 0.0
        score = (
            _ALIKE * _cosine(new.trigrams, other.trigrams)
            + weight * (hit.text - rival) / hits[0].text
            + _TITLE * _share(other.title_stems, new.stems)
        )
        yield score, records[hit.path], other


def _candidates(snapshot: Snapshot, record: Record, words: Collection[str]) -> tuple[Sequence[Hit], dict[str, Record]]:
    """Return the open records of a comparable type that match some words best, and these records by path."""
    types = next((types for types in _TOGETHER if record.memory_type in types), {record.memory_type})
    for most in _LOOKED_UP:
        hits = snapshot.texts.alike(words, most)
        known = snapshot.catalogue.at(hit.path for hit in hits if hit.kind in types and hit.key != record.id)
        records = {other.path: other for other in known if other.is_open}
        if len(records) >= _CANDIDATES or len(hits) < most:
            break
    return [hit for hit in hits if hit.path in records and hit.text > 0][:_CANDIDATES], records


class _Comparable:
    """A title and a text, with what is compared of them."""

    def __init__(self, title: str, body: str) -> None:
        self.title = title
        self.text = f"{title}. {_gist(body)}"

    @cached_property
    def stems(self) -> frozenset[str]:
        return stems(self.text)

    @cached_property
    def title_stems(self) -> frozenset[str]:
        return stems(self.title)

    @cached_property
    def trigrams(self) -> frozenset[str]:
        plain = f" {_NOT_A_WORD.sub(' ', self.text[:_COMPARED].lower())} "
        return frozenset(plain[at : at + 3] for at in range(len(plain) - 2))


def _gist(body: str) -> str:
    """Return the beginning of the text that says most about a record, without headings and marks."""
    text = f"\n{body}"
    for heading in _GISTS:
        before, found, section = text.partition(f"# {heading}\n")
        if found and before.rpartition("\n")[2].strip("#") == "":
            text = section.partition("\n#")[0]
            break
    return " ".join(_MARKUP.sub(" ", text[: 2 * _GIST]).split())[:_GIST]


def _may_contradict(one: _Comparable, other: _Comparable) -> bool:
    """Return whether one of two texts speaks against what the other's title has, and the other does not, too."""
    against, other_against = _spoken_against(one.text), _spoken_against(other.text)
    if (against & other.title_stems) - other_against:
        return True
    if (_spoken_against(other.title) & one.title_stems) - against:
        return True
    return _OPPOSING.match(one.title) is not None and _OPPOSING.match(other.title) is None


def _spoken_against(text: str) -> frozenset[str]:
    return stems(" ".join(match[1] or match[2] for match in _AGAINST.finditer(text)))


def _cosine(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / math.sqrt(len(one) * len(other)) if one and other else 0.0


def _share(part: frozenset[str], whole: frozenset[str]) -> float:
    return len(part & whole) / len(part) if part else 0.0
