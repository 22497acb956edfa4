"""What a compression must not lose: the task, decisions, open issues, files in use, and numbers that matter.

The list follows rules.md#preservation and rules.md#window-compression, and also has what the user insists on. A
compression is refused if one of these things is missing in the text that the model would see afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import msgspec

from memctl.pack import names_in_text, summary_rules
from memctl.statements import labels, wishes
from memctl.statements import units as summary_units
from memctl.statements.statement import Statement
from memctl.task.progress import MOST_FILES
from memctl.text.markdown import one_line
from memctl.window.messages.content import ContentBlock, ContentType
from memctl.window.preservation import events

TASK, CONSTRAINT, MESSAGE, PROPOSAL, STATEMENT, DECISION, ISSUE, ERROR, PATH, NUMBER = (
    "task", "constraint", "message", "proposal", "statement", "decision", "open issue", "error", "path", "number",
)  # fmt: skip
KINDS = (TASK, CONSTRAINT, MESSAGE, PROPOSAL, DECISION, ISSUE, ERROR, PATH, NUMBER)  # beside whole statements
SPOKEN = (CONSTRAINT, MESSAGE)  # by the user; nothing but a digest takes the place of the user's messages
VERBATIM = 600  # characters of what a user said that are kept in its own words
RECENT_FILES = 15  # measured: after a compaction the last 15 files cover 96 % of those that are read again
_TELLING = 20  # characters behind a label that need no label to be known again
_SAID_AGAIN = 0.75  # of the words of a decision in one place: it is there in other words
LONGEST_TYPED = 2_000  # characters of a message that is typed rather than pasted, and of a task that are looked for
LONGEST_STATEMENT = 4_000  # characters of a statement that is kept whole, such as a filled template of a decision
_UNITS = "ms|s|min|h|[kKMG]i?B|tokens?|turns?|files?|tests?|errors?|refs?|lines?|calls?|times"
_NUMBER = re.compile(
    r"(?<![\w.,/])(?<![A-Za-z]-)"  # ENT-232 is a name
    rf"(?:\d{{4}}-\d\d-\d\d|\d+/\d+|\d[\d,]*(?:\.\d+)*(?: ?%| ?(?:{_UNITS})\b)?)(?![\w/]|[.,]\d)"
)
_TELLS = re.compile(r"\D|\d{2}")
_ERROR_NAME = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b|\b(?:E[A-Z]{4,}|E\d{3,4}|TS\d{4,5})\b|\bHTTP [45]\d\d\b")
# A line that an error begins: its name, or a program's word for it and what it says.
_ERROR_LINE = re.compile(r"\W{0,8}(?:E\s{2,}\S|(?:\w+\.)*\w*(?:Error|Exception)\b.|(?i:error|fatal|failed|panic)\b\W)")
_LAST_RESULTS, _MOST_ERRORS, _LONGEST_ERROR = 10, 40, 280  # results, lines, and characters of a line
_WORD = re.compile(r"[^\W_]{4,}|\d+")


class Essential(msgspec.Struct, frozen=True):
    """One thing that must survive a compression: its kind, such as "decision", "error" or "path", and its words."""

    kind: str
    text: str

    def is_in(self, text: str) -> bool:
        """Return whether a text contains the words of this thing unchanged.

        The words of `text` must have single spaces between them.
        """
        if self.kind == NUMBER:
            return names_in_text.place_of_figure(self.text, text) >= 0
        plain = " ".join(self.text.split())
        place = names_in_text.place_of_path if self.kind == PATH else names_in_text.place
        return place(plain, text) >= 0

    def is_reworded_in(self, lines: Sequence[set[str]]) -> bool:
        """Return whether a text contains this thing in other words; only a decision or an open issue may be reworded.

        `lines` has the set of words of each line of the text. For each part of the decision or issue, one line must
        have at least three quarters of the part's words; parts are separated by semicolons.
        """
        if self.kind not in (DECISION, ISSUE):
            return False
        # An option and the assent to it are two parts, of which the longer must not stand for both.
        parts = [own for part in self.text.lower().split("; ") if (own := set(_WORD.findall(part)))]
        return bool(parts) and all(any(len(own & line) >= _SAID_AGAIN * len(own) for line in lines) for own in parts)


def of_blocks(blocks: Sequence[ContentBlock], earlier: Iterable[Essential] = ()) -> list[Essential]:
    """Return the things in a conversation's blocks that must survive a compression, each of them once, the task first.

    `earlier` lists the things that had to survive an earlier compression of the conversation. They are added, because
    an error whose line was shortened may not be recognised again. A thing that no block contains is left out.
    """
    things = [*of_happened(events.of_blocks(blocks)), *_last_errors(blocks), *earlier]
    return present(dict.fromkeys(things), blocks)


def _last_errors(blocks: Sequence[ContentBlock]) -> Iterator[Essential]:
    """What is being worked on is likely to be about the last errors."""
    results = [block for block in blocks if block.content_type is ContentType.TOOL_RESULT]
    rows = (row.strip() for block in results[-_LAST_RESULTS:] for row in block.content.split("\n"))
    lines = [row for row in rows if len(row) <= _LONGEST_ERROR and _ERROR_LINE.match(row)]
    yield from (Essential(ERROR, one_line(row)) for row in lines[-_MOST_ERRORS:])


def present(wanted: Iterable[Essential], blocks: Sequence[ContentBlock]) -> list[Essential]:
    """Return those things in `wanted` that a conversation's blocks contain.

    `wanted` are things that must survive a compression.
    """
    wanted = list(wanted)
    lost = set(missing(wanted, blocks)) if wanted else ()
    return [thing for thing in wanted if thing not in lost]


def of_happened(happened: events.Happened, more: Sequence[str] = ()) -> list[Essential]:
    """Return the things in the events of a session that must survive a compression, each of them once.

    They are grouped by kind, and the task is the first. In a group, the more important things come later. `more` are
    texts that count as messages of the user. Of the changed files only the last are included, as many as the state of a
    task can hold.
    """
    prompts = (*happened.prompts, *more)
    spoken = (*happened.said, *prompts[1:])
    constraints = [line for text in (*happened.said, *prompts) for line in binding(text)]
    messages = [line for text in spoken if len(line := one_line(text)) <= VERBATIM and line not in constraints]
    decisions = [text for decision in happened.decisions for text in (decision.text, *decision.alternatives)]
    known = [finding.statement for finding in happened.found if finding.label in (labels.DECISION, *events.OPEN)]
    errors = [failure.message for failure in happened.open_failures]
    typed = [text for text in (*happened.said, *happened.prompts) if len(text) <= LONGEST_TYPED]
    mentions = [mention for text in (*decisions, *happened.open_issues, *typed, *more) for mention in named_in(text)]
    files = [*list(happened.files)[-RECENT_FILES:], *happened.changed[-MOST_FILES:]]
    by_kind = {
        TASK: [text[:LONGEST_TYPED] for text in prompts[:1]],
        CONSTRAINT: constraints,
        MESSAGE: messages,
        PROPOSAL: [text for referent in happened.referents for text in referent],
        STATEMENT: [block_of(made) for made in happened.statements if made.end > made.line or made not in known],
        DECISION: decisions,
        ISSUE: happened.open_issues,
        ERROR: [*_of_kind(mentions, ERROR), *errors],
        PATH: [*_of_kind(mentions, PATH), *files],
        NUMBER: _of_kind(mentions, NUMBER),
    }
    return list(dict.fromkeys(Essential(kind, text) for kind in (*KINDS, STATEMENT) for text in by_kind[kind]))


def block_of(made: Statement) -> str:
    """Return what must survive of the statement `made`, a text under a label such as `Decision:`, on one line.

    For a short statement of a decision, issue, to-do or learning on one line, this is the text behind the label. For
    others it is the whole statement with its label; but of a statement of more than 4,000 characters only the first
    line.
    """
    source = made.source if len(made.source) <= LONGEST_STATEMENT else made.source.split("\n")[0]
    line = one_line(source)
    words = line.partition(":")[2].strip(" .*_|")
    is_plain = made.kind in (labels.DECISION, labels.ISSUE, labels.TODO, labels.LEARNING)
    return words if is_plain and made.line == made.end and len(words) >= _TELLING else line


@lru_cache(maxsize=256)  # prompts stay, and are looked through at each turn
def binding(prompt: str) -> tuple[str, ...]:
    """Return the sentences of a user's prompt by which the agent is bound: wishes, prohibitions and decisions."""
    weighty = (summary_rules.CONSTRAINT, summary_rules.DECISION)
    return tuple(
        one_line(unit.text)
        for unit in summary_units.units(prompt)
        if unit.form != summary_units.CODE
        if summary_rules.judge(unit).keeps in weighty or wishes.is_insistent(unit.text)
    )


def _of_kind(things: Iterable[Essential], kind: str) -> list[str]:
    return [thing.text for thing in things if thing.kind == kind]


def named_in(text: str) -> list[Essential]:
    """Return the paths, figures and names of errors in a text, such as `src/a.py`, `250 ms` and `ValueError`.

    Single digits are left out.
    """
    figures = (figure for match in _NUMBER.finditer(text) if _TELLS.search(figure := match[0].rstrip(",.")))
    return [
        *(Essential(PATH, path) for path in names_in_text.paths(text)),
        *(Essential(NUMBER, figure) for figure in figures),
        *(Essential(ERROR, name) for name in _ERROR_NAME.findall(text)),
    ]


def missing(wanted: Iterable[Essential], blocks: Iterable[ContentBlock]) -> list[Essential]:
    """Return those things in `wanted` that a conversation's blocks do not contain.

    `wanted` are things that must survive a compression. A decision or an open issue may survive in other words.
    """
    return missing_in(wanted, "\n".join(block.content for block in blocks))


def missing_in(wanted: Iterable[Essential], text: str) -> list[Essential]:
    """Return those things in `wanted` that a text does not contain.

    `wanted` are things that must survive a compression. A decision or an open issue may survive in other words.
    """
    plain = " ".join(text.split())
    lost = [thing for thing in wanted if not thing.is_in(plain)]
    if not any(thing.kind in (DECISION, ISSUE) for thing in lost):
        return lost  # the words of all lines take longer than everything else
    lines = [set(_WORD.findall(line)) for line in text.lower().split("\n")]
    return [thing for thing in lost if not thing.is_reworded_in(lines)]


def needed_in_results(wanted: Iterable[Essential], blocks: Sequence[ContentBlock]) -> set[str]:
    """Return the paths and errors that must stay in a tool's result when the result is shortened.

    They are the paths and errors among `wanted`, the things that must survive a compression, and the paths that
    messages of the user or the model name. Numbers are left out: those that matter are also in such messages, which
    stay as they are.
    """
    needed = {thing.text for thing in wanted if thing.kind in (PATH, ERROR)}
    spoken = (ContentType.USER_MESSAGE, ContentType.ASSISTANT_RESPONSE)
    for block in blocks:
        if block.content_type in spoken and not block.is_call:
            needed |= set(names_in_text.paths(block.content))
    return needed
