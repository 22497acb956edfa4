"""Summarize a large file in a few hundred tokens, by whole lines of it and without a language model.

Instead of a file with more than 10,000 tokens, an agent first gets a summary of 500 tokens, and the file itself only if
the summary is not enough (rules.md#files-for-a-task).
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.pages import outline
from memctl.record.frontmatter import clean_newlines
from memctl.record.snapshot import Snapshot
from memctl.sources import summary_lines
from memctl.sources.load_plan import OUTLINE
from memctl.text import sensitive_files
from memctl.text.fit import most
from memctl.text.phrases import quantity
from memctl.tokens.count import Count, Counter
from memctl.tokens.families import kind_of_text

_LARGEST = 64 << 20  # bytes: a log of 5 MB takes about a second
BUDGET = OUTLINE
UNREAD = f"the file has more than {_LARGEST >> 20} MB, or does not exist any more"
_HINT = "read the file yourself, outside of a model's context"


class FileSummary(msgspec.Struct, frozen=True):
    """The summary of a file.

    - `text` is the summary, and `tokens` are its tokens.
    - `size` (in bytes), `lines` and `of_file` (in tokens) are those of the file.
    - `left_out` is the number of lines that would be in the summary, too, if the budget were larger.
    """

    path: str
    text: str
    tokens: int
    size: int
    lines: int
    of_file: Count
    left_out: int


def summary(snapshot: Snapshot, path: str, budget: int, counter: Counter, *, for_agent: bool = False) -> FileSummary:
    """Return a summary of one of the repository's files in at most `budget` tokens.

    The last line of the summary says how to get the whole file: by a command. With `for_agent` it only names the file,
    since agents may not run this command.

    Raises MemctlError for a file that may not enter a model's context, and for a budget that is too small.
    """
    content = snapshot.files.read([path], _LARGEST).get(path)
    text = clean_newlines((content or b"").decode(errors="replace"))
    if reason := UNREAD if content is None else sensitive_files.refusal(path, content, text):
        raise MemctlError(f"{path} can't be summarized: {reason}", _HINT)
    kind = kind_of_text(path, text)
    page = _page(path, text, len(content or b""), counter.count(text, kind), for_agent)

    def tokens(shown: str) -> int:
        return max(counter.tokens(shown, kind), counter.tokens(shown))

    number = most(lambda number: tokens(page.text(number)) <= budget, -1, min(len(page.rows), budget))
    if number < 0:
        raise MemctlError(f"the summary of {path} does not fit into {budget:,} tokens", "give a larger --budget", USAGE)
    shown = page.text(number)
    left_out = page.count_missing(page.choose(number))
    return FileSummary(path, shown, tokens(shown), page.size, page.lines, page.of_file, left_out)


class _Page(msgspec.Struct, frozen=True):
    """The material of a file's summary: its head, which is always shown, and the rows to choose from."""

    path: str
    about: str
    rows: list[summary_lines.SummaryLine]
    size: int
    lines: int
    of_file: Count
    for_agent: bool

    def choose(self, number: int) -> frozenset[int]:
        return frozenset(sorted(range(len(self.rows)), key=lambda place: self.rows[place].rank)[:number])

    def count_missing(self, chosen: Collection[int]) -> int:
        return sum(1 for place, row in enumerate(self.rows) if place not in chosen and not row.is_rest)

    def text(self, number: int) -> str:
        chosen, group = self.choose(number), ""
        figures = f"{self.lines:,} lines, {self.size:,} bytes, {self.of_file.tokens:,} tokens ({self.of_file.source})"
        lines = [f"# {self.path}", figures, *([self.about] if self.about else [])]
        for place, row in enumerate(self.rows):
            if place in chosen and row.is_rest:
                lines[-1] += row.text
            elif place in chosen:
                lines += ["", f"{row.group}:", row.text] if row.group != group else [row.text]
                group = row.group
        missing = self.count_missing(chosen)
        less = f"{quantity(missing, 'more line')} left out of this summary; " if missing else ""
        how = f"the file {self.path} has" if self.for_agent else f"`memctl show §4.{self.path}` loads"
        return "\n".join([*lines, "", f"{less}{how} all {self.lines:,} lines.", ""])


def _page(path: str, text: str, size: int, of_file: Count, for_agent: bool) -> _Page:
    lines = text.count("\n") + (not text.endswith("\n") and text != "")
    about = "" if outline.suffix_of(path) in outline.MARKDOWN else outline.purpose(path, text)
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in path)
    return _Page(shown, about, summary_lines.rows(path, text), size, lines, of_file, for_agent)
