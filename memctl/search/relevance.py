"""Judge whether a search result is about what was asked, or only the best of what has some of the words.

The scores of a ranking can't tell: its best result has 1, whatever it is. What tells is by how much a result stands out
from those below it, and how many of the words that say something it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from memctl.record.errors import InvalidRecord
from memctl.text.words import stems, words_of

if TYPE_CHECKING:
    from memctl.record.snapshot import Snapshot
    from memctl.search.ranking import Result

# Words of a conversation about work: they say what to do, agree or doubt, and not what the work is about. Of 300
# prompts of other projects, 48 found something in the memory of `memctl demo` with these words, and 17 without.
_TALK = """
yes yeah yep nope no ok okay sure thanks thank great good nice perfect fine cool right wrong sorry hm please maybe
actually still again now just also too only really already else both same other another after before first last next new
old need needs want wants let lets see seems seem make makes made set put take give go going come comes keep keeps know
mean means think look looks like check checks checked double try tried happen happens happened work works thing things
way question sense case change changes changed update updates updated add adds added fix fixes fixed run runs running
test tests fail fails failing failed failure failures lint build commit commits committed push branch merge main file
files code use used using write find show say says said tell here one once two twice all lot bit well since because
"""
# A result is compared with the fifth, since a few records are mostly about one thing. If there are fewer results, a
# share of the best one's match, to which the fifth of a large memory seldom falls.
_RIVAL, _LEAST_RIVAL = 4, 0.4
# How much the words count that a result has of the query, and of its own title that the query has. Fitted, with the
# two limits, on the first halves of bench/labelled/prompts.jsonl and imported.jsonl and on prompts of other projects.
_COVERED, _NAMED = 0.35, 0.55
_RELEVANT, _WORDS = 0.67, 4  # words of the title count twice
# What a search found: something on what was asked, perhaps something, or nothing. A query has fewer words than a
# prompt, and somebody looks at the results, so not the number of words counts, but their share. Of half of the queries
# of bench/labelled 75 % have HIT where their answers are, and 9 % in a memory of other projects; 9 % and 63 % NOTHING.
HIT, WEAK, NOTHING = "hit", "weak", "nothing"
_LEAST = {HIT: (0.67, 0.4), WEAK: (0.45, 0.25)}  # the least value, and share of the words
JUDGED = 5  # results from which a verdict is made


def telling(text: str) -> set[str]:
    """Return the stems of a text that say what it is about: no numbers, and no words of a conversation about work."""
    return {stem for stem in stems(text) - stems(_TALK) if not stem.isdigit()}


class Relevance:
    """What says of the results of one query which are about it.

    `query` is what was asked, and `matches` how well each result matches, as shares of the best, the best first.
    """

    def __init__(self, query: str, matches: Sequence[float]) -> None:
        self.wanted = telling(query)
        best = matches[0] if matches else 1.0
        fifth = matches[_RIVAL] / best if len(matches) > _RIVAL else 0.0
        self._best, self._rival = best, max(fifth, _LEAST_RIVAL)

    def is_relevant(self, match: float, title: str, text: str) -> bool:
        """Return whether a result with a title and a text is about the query; `match` is how well it matches."""
        own = telling(title)
        words = len(self.wanted & (own | stems(text))) + len(self.wanted & own)
        return words >= _WORDS and self.value(match, title, text) >= _RELEVANT

    def value(self, match: float, title: str, text: str) -> float:
        """Return how much speaks for a result's being about the query, mostly from 0 to 1.5."""
        own = telling(title)
        named = len(self.wanted & own) / max(len(own), 1)
        return match / self._best - self._rival + _COVERED * self.covered(title, text) + _NAMED * named

    def covered(self, title: str, text: str) -> float:
        """Return the share of the query's telling words that a title and a text have."""
        return len(self.wanted & (telling(title) | stems(text))) / max(len(self.wanted), 1)


def verdict(snapshot: Snapshot, query: str, found: Sequence[Result], instead: Mapping[str, Sequence[str]]) -> str:
    """Return HIT, WEAK or NOTHING for the best results of a query, the best first; NOTHING if there are none.

    `instead` has the words that were searched in place of words that no text has.
    """
    # A query of words such as "first test" is about these words.
    asked = " ".join(instead.get(word, (word,))[0] for word in words_of(query))
    judged = Relevance(asked, [result.match for result in found])
    judged.wanted = judged.wanted or set(stems(asked))
    texts = snapshot.texts.bodies([result.number for result in found[:JUDGED]])
    reached = set()
    for one in found[:JUDGED]:
        text = _text(snapshot, one, texts.get(one.number, ""))
        value, covered = judged.value(one.match, one.title, text), judged.covered(one.title, text)
        reached |= {name for name, (least, share) in _LEAST.items() if value >= least and covered >= share}
    return next((name for name in _LEAST if name in reached), NOTHING)


def _text(snapshot: Snapshot, result: Result, body: str) -> str:
    """Return the text of a result, of a record all of its file: people search for ids, tags and paths, too."""
    with suppress(InvalidRecord, OSError):  # it was deleted just now
        return snapshot.read(result.path) if result.record is not None else f"{result.id} {body}"
    return ""
