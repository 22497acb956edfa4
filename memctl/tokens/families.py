"""Model families: which models count tokens alike, and by which factors their counts differ from those of o200k.

o200k is the tokenizer of OpenAI's models. The factors were measured for each kind of text, such as Markdown or JSON,
against the models' own counts. A model that belongs to no family is refused, since a guessed factor may be wrong by
half.

If o200k can't be used on this machine, its count is estimated: the text is split into words, numbers, punctuation and
white space, and each piece gets a weight. The estimate differs by 3-7 % from o200k's count (JSON 12 %).
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.text.lazy_regex import lazy_regex

# `numbered` are files with numbers of lines, as tools read them to a model; `matches` what tools find in files.
KINDS = ("prose", "markdown", "python", "go", "typescript", "json", "log", "chat", "diff", "numbered", "matches")


class Family(msgspec.Struct, frozen=True):
    """A group of models that count tokens alike.

    `factors` maps a kind of text, such as "markdown", to the factor by which the count of o200k, the tokenizer of
    OpenAI's models, is multiplied. `error` is the error band as a fraction: 0.05 for ±5 %.
    """

    name: str
    help: str
    factors: dict[str, float]
    error: float


FAMILIES = {
    family.name: family
    for family in (
        Family("gpt", "OpenAI models with the tokenizer o200k, counted exactly", dict.fromkeys(KINDS, 1.0), 0.0),
        Family(
            "claude",
            "Claude models from 4.7 on",
            {
                "prose": 1.74, "markdown": 1.50, "python": 1.55, "typescript": 1.80, "json": 1.47, "log": 1.43,
                "go": 1.76, "numbered": 1.42, "matches": 1.82,
                # not measured; the nearest kind that was
                "chat": 1.74, "diff": 1.55,
            },
            0.15,
        ),
        Family(
            "claude-4.5",
            "Claude models before 4.7",
            {
                "prose": 1.17, "markdown": 1.14, "python": 1.25, "typescript": 1.31, "json": 1.23, "log": 1.16,
                "chat": 1.12, "diff": 1.26, "go": 1.30, "numbered": 1.11, "matches": 1.25,
            },
            0.10,
        ),
    )
}  # fmt: skip
_SUFFIXES = {
    "markdown": ("md", "markdown", "mdx", "rst"),
    "python": ("py", "pyi", "rb", "sh", "rs", "java", "kt", "c", "h", "cc", "cpp", "cs", "php", "swift", "sql"),
    "go": ("go",),
    "typescript": ("ts", "tsx", "js", "jsx", "mjs", "cjs", "vue", "svelte", "css", "html", "xml", "svg"),
    "json": ("json", "jsonl", "ipynb", "yaml", "yml", "toml", "csv"),
    "log": ("log",),
    "diff": ("diff", "patch"),
}
_BY_SUFFIX = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes}


# How packs begin in every format, behind the message that some of them follow.
_PACK = lazy_regex(
    r"^(?:<(?:workflow|agent|relevant|loaded|file)_context[ >]|<(?:system_prompt|agent_handoff)[ >]"
    r"|MEMORY: .*\nDATA: recorded by|# .*\n\n(?:.+\n\n)?Recorded by people and agents)",
    re.MULTILINE,
)
_BEGINNING = 6_000  # characters


def family_of(model: str) -> Family:
    """Return the family of a model; raises MemctlError for an unknown name.

    `model` is the name of the model, or of the family itself.
    """
    name = model.strip().lower()
    if name in FAMILIES:
        return FAMILIES[name]
    if "claude" in name:
        return FAMILIES["claude-4.5" if claude_version(name) < (4, 7) else "claude"]
    if re.match(r"(?:openai/)?(?:gpt-(?:4o|4\.1|4\.5|5)|chatgpt|o[1-9]|codex|o200k)", name):
        return FAMILIES["gpt"]
    known = "; ".join(f"{family.name}: {family.help}" for family in FAMILIES.values())
    hint = f"give a model's name, or one of these families: {known}"
    raise MemctlError(f"no tokenizer is known for {model!r}", hint, USAGE)


def claude_version(name: str) -> tuple[int, int]:
    """Return the version in a model's name: (4, 5) for claude-sonnet-4-5-20250929.

    For a name without a version it is (99, 0), so that such a model is treated as the newest.
    """
    match = re.search(r"(?<!\d)(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)", name)
    return (int(match[1]), int(match[2] or 0)) if match else (99, 0)


def is_pack(text: str) -> bool:
    """Return whether a text begins like a pack that memctl rendered, in any of its formats."""
    return _PACK.search(text[:_BEGINNING]) is not None


def kind_of_text(name: str, text: str) -> str:
    """Return which kind of text a file is, such as "markdown" or "json" (one of KINDS), as its tokens depend on that.

    The kind follows from the file's `name`, or else from how the text begins. A pack is "markdown" in each of its
    formats, since its budget was counted so.
    """
    if is_pack(text):
        return "markdown"
    kind = _BY_SUFFIX.get(name.rpartition(".")[2].lower()) if "." in name else None
    if kind:
        return kind
    start = text[:400].lstrip()
    if start.startswith(("diff --git ", "--- a/", "Index: ")):
        return "diff"
    if start.startswith(("{", "[{", '["')):
        return "json"
    if re.search(r"^(?:#{1,6} |---$|[-*] |```)", start, re.MULTILINE):
        return "markdown"
    return "prose"


_LATIN = "A-Za-z\u00c0-\u024f\u1e00-\u1eff"
_PIECE = lazy_regex(rf"[\da-f]{{16,}}|[{_LATIN}]+|\d+|[^\s0-9{_LATIN}]+|\s+")
_HEXADECIMAL, _HASH, _OF_HASH = frozenset("0123456789abcdef"), 16, 0.65  # tokens a character of a hash
# An accented letter costs tokens of its own, and shows a language whose words are cut into more tokens than English.
_ACCENTED = 2.0
# The weight of a character by the script that begins at a code point. Measured against o200k with the messages of an
# editor (Cyrillic, Han, Kana, Hangul) and with sentences in 13 more scripts; each is at the script's upper end.
_SCRIPTS = (
    (0x80, 1.3), (0x370, 0.5), (0x1200, 2.8), (0x1400, 0.7), (0x1800, 2.0), (0x2000, 1.3), (0x3000, 1.0),
    (0x3400, 1.4), (0xA000, 2.8), (0xAC00, 0.9), (0xD800, 1.3), (0x10000, 4.0), (0x1F000, 2.3), (0x20000, 4.0),
)  # fmt: skip
_BEGINNINGS = [start for start, _ in _SCRIPTS]
_FACTORS = {
    "prose": 0.893, "markdown": 0.862, "python": 0.894, "typescript": 0.876, "json": 0.989, "log": 1.029, "chat": 0.874,
    "diff": 0.829, "go": 0.906, "numbered": 1.046, "matches": 0.853,
}  # fmt: skip
ERROR = {kind: 0.12 if kind == "json" else 0.07 for kind in _FACTORS}


def estimate(text: str, kind: str) -> int:
    """Return an estimate of the number of o200k tokens of a text, for machines on which o200k is not available.

    o200k is the tokenizer of OpenAI's models. `kind` says what sort of text it is, such as "markdown" (one of KINDS).
    """
    return math.ceil(sum(map(_weight, _PIECE.findall(text))) * _FACTORS[kind])


def markdown_estimator(model: str, margin: float = 1.0) -> Callable[[str], float]:
    """Return a function that estimates how many tokens a Markdown text has for a model, without a tokenizer.

    The estimate for o200k, the tokenizer of OpenAI's models, is raised by one token for each backslash in the text, and
    multiplied by the factor of the model's family and by `margin`.
    """
    factor = family_of(model).factors["markdown"] * margin
    return lambda text: (estimate(text, "markdown") + text.count("\\")) * factor


@lru_cache(maxsize=4096)  # a text has far fewer words than pieces
def _weight(piece: str) -> float:
    first = piece[0]
    plain = len(piece) if piece.isascii() else sum(map(str.isascii, piece))
    if len(piece) >= _HASH and _HEXADECIMAL.issuperset(piece):
        return len(piece) * _OF_HASH
    if first.isdigit():
        return (len(piece) + 2) // 3
    if first.isspace():
        return 1 if "\n" in piece or len(piece) > 1 else 0
    if first.isalpha() and ord(piece[-1]) < _BEGINNINGS[1]:
        word = 1 if len(piece) <= 7 else (len(piece) + 4) // 6
        return word + (len(piece) - plain) * _ACCENTED
    others = (_SCRIPTS[bisect_right(_BEGINNINGS, ord(sign)) - 1][1] for sign in piece if sign > "\x7f")
    return (plain + 1) // 2 + sum(others)
