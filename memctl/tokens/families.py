"""Model families: whose tokens are counted, and how their counts relate to o200k's.

The factors were measured per kind of text against models' own counts. Models not named here can't be guessed: a factor
may differ by a half.
"""

from __future__ import annotations

import re

import msgspec

from memctl.errors import USAGE, MemctlError

KINDS = ("prose", "markdown", "python", "typescript", "json", "log", "chat", "diff")


class Family(msgspec.Struct, frozen=True):
    """Models that count alike: the factor on o200k per kind of text, and the error band as a fraction."""

    name: str
    help: str
    factors: dict[str, float]
    error: float


FAMILIES = {
    family.name: family
    for family in (
        Family("gpt", "OpenAI models with o200k: exact", dict.fromkeys(KINDS, 1.0), 0.0),
        Family(
            "claude",
            "Claude models from 4.7 on",
            {
                "prose": 1.74, "markdown": 1.50, "python": 1.55, "typescript": 1.80, "json": 1.47, "log": 1.43,
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
                "chat": 1.12, "diff": 1.26,
            },
            0.10,
        ),
    )
}  # fmt: skip
_SUFFIXES = {
    "markdown": ("md", "markdown", "mdx", "rst"),
    "python": ("py", "pyi", "rb", "sh", "go", "rs", "java", "kt", "c", "h", "cc", "cpp", "cs", "php", "swift", "sql"),
    "typescript": ("ts", "tsx", "js", "jsx", "mjs", "cjs", "vue", "svelte", "css", "html", "xml", "svg"),
    "json": ("json", "jsonl", "ipynb", "yaml", "yml", "toml", "csv"),
    "log": ("log",),
    "diff": ("diff", "patch"),
}
_BY_SUFFIX = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes}


# How packs begin in every format, behind the message that some of them follow.
_PACK = re.compile(
    r"^(?:<(?:workflow|agent|relevant|loaded|file)_context[ >]|<(?:system_prompt|agent_handoff)[ >]"
    r"|MEMORY: .*\nDATA: recorded by|# .*\n\n(?:.+\n\n)?Recorded by people and agents)",
    re.MULTILINE,
)
_BEGINNING = 6_000  # characters


def family_of(model: str) -> Family:
    """The family that a model or family name belongs to; raises MemctlError for one that is not known."""
    name = model.strip().lower()
    if name in FAMILIES:
        return FAMILIES[name]
    if "claude" in name:
        return FAMILIES["claude-4.5" if claude_version(name) < (4, 7) else "claude"]
    if re.match(r"(?:openai/)?(?:gpt-(?:4o|4\.1|4\.5|5)|chatgpt|o[1-9]|codex|o200k)", name):
        return FAMILIES["gpt"]
    known = "; ".join(f"{family.name}: {family.help}" for family in FAMILIES.values())
    raise MemctlError(f"the tokens of {model!r} are not known here", f"families are {known}", USAGE)


def claude_version(name: str) -> tuple[int, int]:
    """The version in a name such as claude-sonnet-4-5-20250929 or claude-3-opus; without one, the latest is meant."""
    match = re.search(r"(?<!\d)(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)", name)
    return (int(match[1]), int(match[2] or 0)) if match else (99, 0)


def is_pack(text: str) -> bool:
    """Whether a text begins as packs of memctl do, in any format."""
    return _PACK.search(text[:_BEGINNING]) is not None


def kind_of_text(name: str, text: str) -> str:
    """The kind of a text by its file name, or failing that by how it begins; a pack of memctl's is Markdown, as it was
    counted when it was made.
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
