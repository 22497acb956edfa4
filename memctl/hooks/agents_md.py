"""Add a block on the memory to AGENTS.md, for agents without hooks, and a line to CLAUDE.md that includes AGENTS.md.

The block is short, because it costs tokens in every session. Most agents read AGENTS.md; Claude Code reads CLAUDE.md.
"""

from __future__ import annotations

import re

from memctl.errors import MemctlError
from memctl.hooks.guide import GUIDE

BEGIN, END = "<!-- memctl: begin -->", "<!-- memctl: end -->"
AGENTS, CLAUDE = "AGENTS.md", "CLAUDE.md"
_BLOCKS = {
    AGENTS: f"""\
## Project memory

`.memory/` has the project's decisions, issues, work in progress and lessons. memctl reads and writes it.

- Before you begin, unless you were given "Memory of …" already: `memctl rehydrate`, or `memctl rehydrate --task "…"`
- Before you stop: `memctl checkpoint save --done A --doing B --next C`, the first time with `--task "…"`
- To go on with what was saved: `memctl checkpoint resume`

{GUIDE}""",
    CLAUDE: f"@{AGENTS}\n",
}
_LEADS_THERE = re.compile(rf"(?:^|\s)@(?:\./)?{re.escape(AGENTS)}\b")


def add_block(text: str, name: str) -> str:
    """Return a file's text with memctl's block (its lines on the memory, between two marks).

    An existing block is updated in its place; otherwise the block is added at the end. `name` is AGENTS.md or
    CLAUDE.md; a CLAUDE.md that has no block and includes AGENTS.md stays as it is. Raises
    MemctlError if the text has marks of a block, but not exactly one begin mark and one end mark after it.
    """
    block = f"{BEGIN}\n{_BLOCKS[name]}{END}"
    newline = "\r\n" if "\r\n" in text else "\n"
    block = block.replace("\n", newline)
    place = _place(text, name)
    if place:
        return text[: place[0]] + block + text[place[1] :]
    if name == CLAUDE and _LEADS_THERE.search(text):
        return text
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    return f"{text}{gap}{block}{newline}"


def remove_block(text: str, name: str) -> str:
    """Return a file's text without memctl's block (its lines on the memory) and the empty line before the block.

    A text without the block is returned unchanged. `name` is the file's name for messages. Raises MemctlError if the
    text has marks of a block, but not exactly one begin mark and one end mark after it.
    """
    place = _place(text, name)
    if not place:
        return text
    before, after = text[: place[0]], text[place[1] :]
    for newline in ("\r\n", "\n"):
        if before.endswith(newline * 2) and after.startswith(newline):
            return before[: -len(newline)] + after[len(newline) :]
    return before + (after.lstrip("\r\n") if not before else after)


def _place(text: str, name: str) -> tuple[int, int] | None:
    """Return the offsets of the block's beginning and end, None without a block.

    Raises MemctlError if its marks are not one pair.
    """
    begins, ends = text.count(BEGIN), text.count(END)
    if not begins and not ends:
        return None
    start, end = text.find(BEGIN), text.find(END)
    if begins != 1 or ends != 1 or end < start:
        message = f"{name}: memctl's block must have one line {BEGIN} and one line {END}"
        raise MemctlError(message, "correct these two lines by hand")
    return start, end + len(END)
