"""Judge whether a search result is about what was asked, or only the best of what has some of the words.

The scores of a ranking can't tell: its best result has 1, whatever it is. What tells is by how much a result stands out
from those below it, and how many of the words that say something it has.
"""

from __future__ import annotations

from collections.abc import Sequence

from memctl.text.words import stems

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
        named = len(self.wanted & own)
        words = len(self.wanted & (own | stems(text)))
        if words + named < _WORDS:
            return False
        stands_out = match / self._best - self._rival
        return stands_out + _COVERED * words / len(self.wanted) + _NAMED * named / len(own or "-") >= _RELEVANT
