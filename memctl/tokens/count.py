"""Count the tokens of a text for a model, and say for each count where it is from.

A text is counted exactly with o200k, the tokenizer of OpenAI's models. For models of another family this count is
multiplied by a factor that was measured for the family.

The package ctok has reconstructions of Claude's own tokenizers. It is installed with the extra `claude`, from Python
3.12 on. It is slow (0.3 MB/s, and half a second to load), so only `memctl context tokens` uses it; budgets are counted
with the factors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.store import token_samples
from memctl.store.cache import Cache, digest
from memctl.text.characters import encodable
from memctl.tokens import families

if TYPE_CHECKING:
    from memctl.store.memory import Memory

# Against 450 real request-to-request figures it was off by 1.0 % (median).
TOKENIZER_ERROR = 0.01


class Tokenizer(msgspec.Struct, frozen=True):
    """A tokenizer: its name with its version, and a function that returns the number of tokens of a text."""

    name: str
    count: Callable[[str], int]


def tokenizer_of(model: str) -> Tokenizer | None:
    """Return the tokenizer that the package ctok has for a Claude model.

    The result is None for other models, or if ctok is not installed.
    """
    if "claude" not in model.lower():
        return None
    try:
        from ctok import token_count
    except ImportError:
        return None
    version = _generation(families.claude_version(model))
    frame = token_count("a", version) - 1  # it counts a request of one message; `a` is one token
    return Tokenizer(f"ctok {version}", lambda text: max(token_count(text, version) - frame, 0) if text else 0)


def _generation(version: tuple[int, int]) -> str:
    """Return the first model version that ctok counts in the same way."""
    if version < (4, 7):
        return "3.0"
    return "4.7" if version < (4, 8) else "4.8"


_ENCODING = "o200k_base"
_LONG_WORD = 60  # characters; paths are shorter


class Count(msgspec.Struct, frozen=True):
    """A number of tokens, where it is from, and its error band: how wrong it may be, as a fraction (0.05 for ±5 %)."""

    tokens: int
    source: str
    error: float


class Counter(msgspec.Struct, frozen=True, eq=False):
    """Counts the tokens of texts for one model or family, and keeps counts in a cache if it is given one.

    `calibration` corrects the counts for one model by a ratio, and is learned from texts whose tokens the model itself
    reported. `tokenizer` is the model's own tokenizer. Both are None if there is none. A count is from the first of
    these sources that is available:

    1. the number that the model itself reported for this very text, which `calibration` has
    2. the model's own `tokenizer`
    3. the number of tokens of o200k (the tokenizer of OpenAI's models), multiplied by the factor of the model's family
       and by the ratio of `calibration`, if there is one
    4. an estimate of the number of o200k tokens, multiplied in the same way
    """

    family: families.Family
    cache: Cache | None = None
    calibration: Calibration | None = None
    tokenizer: Tokenizer | None = None

    @property
    def cache_key(self) -> str:
        """A key for cached counts, which names the family, tokenizer and calibration that the counts depend on.

        If one of these changes, the key changes, so that counts from before are no longer used.
        """
        calibration, own = self.calibration, self.tokenizer
        parts = [self.family.name, *([own.name] if own else [])]
        if calibration is not None:
            parts += [calibration.model, repr(calibration.ratio), str(calibration.observations)]
        return " ".join(parts)

    def factor(self, kind: str) -> float:
        """Return the factor that turns the number of o200k tokens of a text into the number of the model's tokens.

        o200k is the tokenizer of OpenAI's models. `kind` says what sort of text it is, such as "markdown" or "json"
        (one of `families.KINDS`).
        """
        return self.family.factors[kind] * (1 if self.calibration is None else self.calibration.ratio)

    def count(self, text: str, kind: str = "markdown") -> Count:
        """Return the number of tokens of a text, with its source and its error band.

        `kind` says what sort of text it is, such as "markdown" or "json" (one of `families.KINDS`).
        """
        text = encodable(text)
        if self.calibration is not None and (reported := self.calibration.reported.get(digest_of(text))) is not None:
            return Count(reported, f"reported by {self.calibration.model}", 0.0)
        if self.tokenizer is not None:
            tokens = self._cached_count(text, self.tokenizer.name, self.tokenizer.count)
            return Count(tokens, self.tokenizer.name, TOKENIZER_ERROR)
        factor, error = self.family.factors[kind], self.family.error
        if self.calibration is not None:
            error = self.calibration.error_of(kind, self.family)
        if (exact := self._o200k(text)) is not None:
            tokens, source = exact, "o200k" if factor == 1 else f"o200k x {factor:g}"
        else:
            tokens, source, error = families.estimate(text, kind), f"pieces x {factor:g}", error + families.ERROR[kind]
        if self.calibration is not None:
            source += f" x calibration {self.calibration.ratio:.2f} ({self.calibration.observations} observations)"
            factor *= self.calibration.ratio
        return Count(math.ceil(tokens * factor), source, round(error, 3))

    def tokens(self, text: str, kind: str = "markdown") -> int:
        """Return the number of tokens of a text.

        `kind` says what sort of text it is, such as "markdown" or "json" (one of `families.KINDS`).
        """
        return self.count(text, kind).tokens

    def tokens_of(self, name: str, text: str) -> int:
        """Return the number of tokens of a file's text.

        Whether it is counted as Markdown, JSON or another kind of text follows from the file's `name`, or else from how
        the text begins.
        """
        return self.tokens(text, families.kind_of_text(name, text))

    def is_within(self, text: str, least: int, most: int, kind: str = "markdown") -> bool:
        """Return whether a text has from `least` to `most` tokens.

        It is faster than `tokens`, since a rough estimate is often enough. `kind` says what sort of text it is, such as
        "markdown" or "json" (one of `families.KINDS`).
        """
        if self.tokenizer is not None or self.calibration is not None:
            return least <= self.tokens(text, kind) <= most

        def judge(text: str) -> int:
            return self._is_surely_within(text, least, most, kind) or least <= self.tokens(text, kind) <= most

        return self._cached_count(text, f"{self.family.name} {kind} {least}-{most}", judge) == 1

    def _is_surely_within(self, text: str, least: int, most: int, kind: str) -> bool:
        words, factor = text.split(), self.family.factors[kind]
        if not words or len(words) * factor < least:  # no token spans two words
            return False
        # Long words may be keys or digests, which have many tokens; letters of other scripts have up to one a byte.
        about = families.estimate(text, kind) + len(text.encode(errors="replace")) - len(text)
        return max(map(len, words)) <= _LONG_WORD and about * factor * (1 + 2 * families.ERROR[kind]) <= most

    def _o200k(self, text: str) -> int | None:
        if (known := self._known_count(text, _ENCODING)) is not None:
            return known
        if (encoder := _tokenizer()) is None:  # 35 ms, hence only now
            return None
        # encode_ordinary: `encode` would read <|endoftext|> in a record as an end of text
        return self._cached_count(text, _ENCODING, lambda text: len(encoder.encode_ordinary(text)))

    def _cached_count(self, text: str, by: str, count: Callable[[str], int]) -> int:
        return cached_count(self.cache, digest(text, by), lambda: count(text))

    def _known_count(self, text: str, by: str) -> int | None:
        return None if self.cache is None else self.cache.token_count(digest(text, by))


def cached_count(cache: Cache | None, key: bytes, count: Callable[[], int]) -> int:
    """Return the count that a cache has under a key; without one, the result of `count`, which the cache then has."""
    known = None if cache is None else cache.token_count(key)
    if known is None:
        known = count()
        if cache is not None:
            cache.keep_token_count(key, known)
    return known


@cache
def _tokenizer() -> Any:
    try:
        from splintr import Tokenizer
    except ImportError:  # no wheel for this platform
        return None
    return Tokenizer.from_pretrained(_ENCODING)


RATE = 0.2  # of the way to each new ratio
LEAST, MOST = 0.5, 2.0  # what a ratio may be, whatever was reported
GOAL = 0.10  # the error beyond which an estimate is to be adjusted; rules.md#token-counting
_ENOUGH = 10  # observations from which on their errors say more than the family's band
_BAND = 0.9  # of the observations are within the error band


class Calibration(msgspec.Struct, frozen=True):
    """A correction of token counts for one model, learned from texts whose tokens the model itself reported.

    - `ratio`: later counts are multiplied by it. It is a mean of the reported number of tokens divided by the number
      that was counted with the factors of the model's family.
    - `observations`, `kinds`: the number of the texts, and which kinds they were of, such as "markdown".
    - `error`: the error band; nine of ten texts had a smaller error. Errors are fractions of the reported number.
    - `before`, `after`: the median error without the ratio and with it.
    - `reported`: key of a text (`digest_of`) -> the number of tokens that the model reported for this text.
    """

    model: str
    ratio: float
    observations: int
    error: float
    before: float
    after: float
    kinds: frozenset[str] = frozenset()
    reported: dict[bytes, int] = {}

    @property
    def family(self) -> str:
        """The name of the model's family."""
        return families.family_of(self.model).name

    @property
    def is_within_goal(self) -> bool:
        """Whether half of the texts are counted as well as they should be."""
        return self.after <= GOAL

    def error_of(self, kind: str, family: families.Family) -> float:
        """Return the error band for texts of a kind, as a fraction: 0.05 for ±5 %.

        If nothing was learned from texts of this kind, the band is at least as wide as that of the `family`.
        """
        return self.error if kind in self.kinds else max(self.error, family.error)


def digest_of(text: str) -> bytes:
    """Return the key of a text, under which the number of tokens that a model reported for it is kept."""
    return digest(text, "observation")


def name_of(model: str) -> str:
    """Return a model's name in lower case, without vendor, date and deployment version.

    These do not affect token counts. Example: `us.anthropic.claude-sonnet-4-5-20250929-v1:0` gives `claude-sonnet-4-5`.
    """
    name = model.strip().lower().rpartition("/")[2]
    name = re.sub(r"^(?:[a-z]{2,6}\.)?anthropic\.", "", name)
    return re.sub(r"(?:[-@]20\d{6}|-latest)?(?:-v\d+(?::\d+)?)?$", "", name)


def calibrate(model: str, samples: Sequence[token_samples.TokenSample], family: families.Family) -> Calibration | None:
    """Return the correction of token counts for a model, learned from texts whose tokens the model reported.

    `samples` are these texts' figures, oldest first; without any the result is None. `family` is the model's family.
    Fewer than ten samples say little, so the error band is then at least as wide as that of the family.
    """
    if not samples:
        return None
    ratio = 1.0
    for sample in samples:
        ratio += RATE * (min(max(sample.reported / sample.estimate, LEAST), MOST) - ratio)
    ratio = round(ratio, 4)
    before, after = _errors(samples, 1.0), _errors(samples, ratio)
    band = max(after[math.ceil(_BAND * len(after)) - 1], 0.01)
    return Calibration(
        model=model,
        ratio=ratio,
        observations=len(samples),
        error=round(band if len(samples) >= _ENOUGH else max(band, family.error), 3),
        before=_median(before),
        after=_median(after),
        kinds=frozenset(kind for sample in samples for kind in sample.kinds.split()),
        reported={sample.digest: sample.reported for sample in samples},
    )


def _errors(samples: Sequence[token_samples.TokenSample], ratio: float) -> list[float]:
    return sorted(abs(sample.estimate * ratio / sample.reported - 1) for sample in samples)


def _median(errors: Sequence[float]) -> float:
    middle = len(errors) // 2
    return round(errors[middle] if len(errors) % 2 else (errors[middle - 1] + errors[middle]) / 2, 4)


def of_memory(memory: Memory, model: str, tokenizer: Tokenizer | None = None) -> Counter:
    """Return a counter of tokens for a model, with the memory's cache and the clone's calibration of the model.

    The calibration corrects counts by the numbers that the model reported for texts. `tokenizer` is the model's own
    tokenizer, None if there is none. Raises MemctlError for an unknown model.
    """
    from memctl.store import load

    family = families.family_of(model)
    known = calibration_of(memory.repository.shared, model, family)
    return Counter(family, load.open_cache(memory), known, tokenizer)


def calibration_of(folder: Path, model: str, family: families.Family) -> Calibration | None:
    """Return the correction of token counts for a model, learned from the reported figures that a clone has kept.

    The result is None if there are none. `folder` is memctl's folder that all worktrees of the clone share. `family` is
    the model's family.
    """
    name = name_of(model)
    return calibrate(name, token_samples.samples_of(folder, name), family)
