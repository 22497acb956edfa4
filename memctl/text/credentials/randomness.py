"""Which words are random: the keys among them, told from identifiers, paths and what is known to be an id.

The measure is the share of *familiar* pairs among the pairs of neighbouring letters and digits of a word. Familiar are
the 200 pairs of letters that are the most frequent in words of code and prose (93 % of all pairs there; counted in the
modules of Python's library), if both are small or the first alone is a capital, or if all letters between two signs
are capitals. Pairs of two digits and those at a sign do not count; a small letter before a capital counts half.
Random words of 20 to 64 characters have a share of 0.1 to 0.3, words that people write 0.6 and more.

Measured with 2,000 random keys each of 20, 24, 28, 32, 40, 48 and 64 characters: of letters and digits 100 % are found,
of base64 97 to 99.6 % (what has slashes may look like a path), of URL-safe base64 97 to 100 %, of hexadecimal digits 96
to 100 % but for 40 and 64, which are Git's ids. False alarms, in lines of 87 real transcripts: 0.3 in 1,000 of what was
said and run, 0.1 in 1,000 of everything, most of them MD5 sums and names of temporary folders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

MOST_FAMILIAR = 0.5  # share of familiar pairs in a word that is taken for random
_FEWEST_PAIRS = 7  # that count: fewer say nothing
_FEWEST_CHARACTERS = 8  # that differ
_LEAST, _MOST = 20, 200  # characters of a word that is looked at; of a longer one, its beginning
_NAMED = 0.6  # share of familiar pairs in a component of a path that people have named
_FAMILIAR = (
    "abacadagaialamanaparasatauavbabebjblbubycacechcickclcocrctcudadddedidodsdueaecedeeefegelemenepereset"
    "evexeyfafefffiflfofrfugegigsguhahehihoiaibicidieifigiliminioipirisitivizjekelaldlelflilllolsltlulyma"
    "mbmemimompmsnancndnenfngninonsntnuobocodofolomonoooporosotouowpapepiplpoppprptpupyqurarcrdrergrirmrn"
    "rorrrsrtrurysascseshsisospssstsusytatctethtitltotrtstttutyueulumunupurusutvavewawewhwiwrxcxtypysytze"
)


def familiarity(word: str) -> tuple[float, float]:
    """How many pairs of neighbours in a word are familiar, and how many count: `getUserName2` has 8 of 10."""
    familiar = counted = 0.0
    known = _familiar()
    for part in _parts().split(word):
        is_loud = not any(map(str.islower, part))
        for first, second in zip(part, part[1:], strict=False):  # noqa: RUF007
            if first.isdigit() and second.isdigit():
                continue
            if first.islower() and second.isupper():
                counted += 0.5
                continue
            counted += 1
            familiar += (is_loud or not second.isupper()) and (first + second).lower() in known
    return familiar, counted


def is_random(word: str, fewest: int = _FEWEST_PAIRS) -> bool:
    """Whether a word looks like a random key: too few of its pairs of letters are familiar."""
    if len(set(word)) < _FEWEST_CHARACTERS or "EXAMPLE" in word:
        return False
    familiar, counted = familiarity(word)
    return counted >= fewest and familiar < MOST_FAMILIAR * counted


@cache
def _parts() -> re.Pattern[str]:
    return re.compile(r"[^A-Za-z0-9]+")


@cache
def _familiar() -> frozenset[str]:
    return frozenset(_FAMILIAR[place : place + 2] for place in range(0, len(_FAMILIAR), 2))


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """What may be a key; ids, hashes and images, which are none; a component of a path that people have named."""
    start, end = r"(?<![A-Za-z0-9_+/-])", r"(?![A-Za-z0-9])"
    known = (
        r"[0-9a-fA-F]{8}(?:[-_][0-9a-fA-F]{4}){3}[-_][0-9a-fA-F]{12}",  # UUID
        # Git's object ids, whole or abbreviated; packs, images and files in caches are named by such hashes, too
        rf"(?<![A-Za-z0-9])(?:[0-9a-f]{{7,19}}|[0-9a-f]{{40}}|[0-9a-f]{{64}}){end}",
        r"(?:sha(?:1|256|384|512)|md5|blake2b|h1|SHA256)[-:=/][A-Za-z0-9+/_-]{16,128}={0,2}",  # in lock files
        r"[A-Z]{3}-\d{4}-\d\d-\d\d-\d{3,}",  # records
        # What models' APIs and GitHub's give out
        rf"{start}(?:toolu|msg|req|resp|call|chatcmpl|thread|run|item|rs|fc)[_-][A-Za-z0-9]{{16,64}}{end}",
        rf"{start}(?:[A-Z]{{1,5}}_k[wg][A-Za-z0-9_-]{{6,40}}|MD[EIMQUY][A-Za-z0-9][A-Za-z0-9+/]{{8,60}}={{0,2}}){end}",
        rf"{start}AAAA[BCE][23]NzaC[A-Za-z0-9+/=]+",  # SSH's public keys
        r"data:[\w/+.-]{3,60};base64,[A-Za-z0-9+/=]+",  # images
        r"/var/folders/\w\w/\w{20,40}/",  # temporary files of macOS
    )
    return (
        re.compile(r"[A-Za-z0-9][A-Za-z0-9_+/-]{19,}={0,2}", re.ASCII),
        re.compile("|".join(known), re.ASCII),
        re.compile(r"[A-Za-z][A-Za-z_-]{2,30}", re.ASCII),
    )


def random_words(text: str) -> Iterator[tuple[int, int]]:
    """Where in a text words of 20 and more characters stand that look like random keys.

    Ids of Git, of memctl and of models' APIs, UUIDs and integrity hashes are none. Of a path or a URL, only a component
    that is a key by itself counts.
    """
    words, known, _ = _patterns()
    text = known.sub(lambda match: "." * len(match[0]), text)
    for match in words.finditer(text):
        start, word = match.start(), match[0]
        if "/" not in word or not _is_path(text, start, word):
            if is_random(word[:_MOST], _FEWEST_PAIRS):
                yield match.span()
            continue
        for part in word.split("/"):
            if len(part) >= _LEAST and is_random(part[:_MOST]):
                yield start, start + len(part)
            start += len(part) + 1


def _is_path(text: str, start: int, word: str) -> bool:
    """Whether a word with slashes is a path or part of a URL: it begins like one, or a component is made of words."""
    if text[start - 1 : start] in ("/", ".", "~", "@"):
        return True
    named = _patterns()[2]
    parts = (part for part in word.split("/") if named.fullmatch(part))
    return any(familiar >= _NAMED * counted for familiar, counted in map(familiarity, parts))
