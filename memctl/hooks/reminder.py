"""Remind an agent of decisions that it stated but did not record, when it stops or before a compaction, each once.

A reminder makes an agent go on working, so it must be right. Of the decisions that `session.extraction` finds in a
transcript, only three kinds count: decisions after a label such as "Decision:", sentences such as "we use X" that give
a reason or an alternative, and the user's choices between options.

In 520 turns of 87 real sessions the extraction found 37 decisions. These rules, which were made from the same sessions,
select 8 of them, all of them decisions on the project, and miss about 3.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from memctl.store.session_dir import SessionDir
from memctl.transcript.line import lines_after

if TYPE_CHECKING:
    from memctl.session.extraction import Extract
    from memctl.store.memory import Memory
    from memctl.transcript.events import Event

_REACH = 1024 * 1024  # last bytes of a transcript that are read
_MOST, _LONGEST = 3, 160  # decisions in one reminder, and characters of each
_ALIKE, _LOOKED_AT = 0.5, 5  # share of a decision's words that a record of it has, and records that are compared
_OURS = re.compile(r"(?i)(?:so|then|in the end|for now)?,? ?(?:we|let's|the team|you and i|our) ")
_NONE = re.compile(r"(?i)(?:whether|if|why|how|none|no) |.*\||.*\?$")
# A question about what to do next does not lead to a decision on the project.
_STEP = re.compile(r"(?i)\b(?:would you like|do next|ready to|the plan|plan ready|pull request|prs?|commit this)\b")
# Each line of a transcript with a decision contains one of these.
_MARK = re.compile(rb'(?i)deci(?:sion|ded)|"answers"|\b(?:we|let.{1,6}s|the team|you and i|our)\b')
_REMINDED, _READ = "voiced-", "voiced"


class NewRows(NamedTuple):
    """What was said since the last reminder, as far as it may have a decision.

    - `rows`: the lines of the new part of the transcript, and `end` the offset (in bytes) at which this part ends.
    - `answer`: the agent's last message as the event has it, since programs may write it to the transcript only later.
    """

    rows: Sequence[bytes]
    end: int
    answer: str = ""


def unread(folder: SessionDir, transcript: str, answer: str = "") -> NewRows:
    """Return what was said after the last call of `give` for this session, by its transcript and its last `answer`.

    `folder` is memctl's folder for the session. Raises OSError if the transcript can't be read.
    """
    noted = folder.offset(_READ)
    answer = answer if _MARK.search(answer.encode(errors="replace")) else ""
    try:
        size = os.stat(transcript).st_size
    except (OSError, ValueError):
        return NewRows((), noted, answer)
    end = max(noted, size - _REACH)
    rows = []
    for offset, row in lines_after(transcript, end):
        end = offset
        is_answered = b'"tool_result"' not in row or b'"answers"' in row  # other tools' results are not statements
        if is_answered and b'"isSidechain":true' not in row and _MARK.search(row):
            rows.append(row)
    return NewRows(rows, end, answer)


def find(open_memory: Callable[[], Memory], folder: SessionDir, new_rows: NewRows) -> str:
    """Return a reminder of the decisions in what was said that are not recorded yet, as JSON for `give`.

    The JSON is a list of two values: the reminder's text, "" if all decisions are recorded; and the names of files, one
    for each decision, which `give` creates in `folder` so that no decision is looked at twice. `open_memory` opens the
    memory, and is called only if there is a decision without such a file. `new_rows` is the value of `unread`.
    """
    from memctl.session import extraction

    decisions = (extract for extract in extraction.of_events(_events(new_rows)) if _is_decision(extract))
    new = {
        name: extract
        for extract in decisions
        if not (folder.path / (name := f"{_REMINDED}{_digest(extract.text)}")).exists()
    }
    left = [extract for extract in new.values() if not _is_recorded(open_memory(), extract)] if new else []
    return json.dumps([_line(left) if left else "", list(new)])


def give(folder: SessionDir, result: str, end: int) -> str:
    """Return the text of the reminder that `find` made, and note that the agent gets it.

    `result` is the value of `find`, "" if it was not ready in time; the text is "" then, too. `end` is the offset (in
    bytes) up to which the transcript was read. It is stored only now, so that nothing is lost if the process is killed
    before the agent gets the reminder. Raises OSError if something can't be stored.
    """
    text, names = json.loads(result) if result else ("", ())
    for name in names:
        folder.create_marker(name)
    if end != folder.offset(_READ):
        folder.note_offset(_READ, end)
    return str(text)


def _line(extracts: Sequence[Extract]) -> str:
    """Return the reminder that names decisions."""
    from memctl.hooks import session_state
    from memctl.text.fit import cut_at_word

    lines = (session_state.checkpoint_line(_statement(extract)).rstrip(" .") for extract in extracts[:_MOST])
    quotes = [f'"{_quotable(cut_at_word(line, _LONGEST))}"' for line in lines]
    more = f" and {len(extracts) - _MOST} more" if len(extracts) > _MOST else ""
    return (
        f"Decided but not recorded: {', '.join(quotes)}{more}. Record what still holds, or go on:"
        ' `memctl decide "X" --rationale "why" --alternative "Y: why not"`. (memctl)\n'
    )


def _events(new_rows: NewRows) -> Iterator[Event]:
    """Yield the prompts, answers and results in what was said."""
    from memctl.transcript.claude_code import LineReader, SessionReader
    from memctl.transcript.events import ANSWER, PROMPT, RESULT, Event

    session = SessionReader()
    for line in LineReader().lines(new_rows.rows):
        if not line.is_sidechain:
            yield from (event for event in session.take(line) if event.kind in (ANSWER, PROMPT, RESULT))
    if new_rows.answer:  # if the transcript has it, too, it states nothing new
        yield Event(ANSWER, new_rows.answer)


def _is_decision(extract: Extract) -> bool:
    """Return whether an extracted statement is a decision without doubt."""
    from memctl.statements import labels
    from memctl.transcript.events import PROMPT

    if extract.label != labels.DECISION or _NONE.match(extract.text):
        return False
    if extract.source == PROMPT and extract.explicit and extract.statement is None:
        return bool(extract.alternatives) and not _STEP.search(extract.text)
    return extract.explicit or bool((extract.reason or extract.alternatives) and _OURS.match(extract.text))


def _is_recorded(memory: Memory, extract: Extract) -> bool:
    """Return whether a record has at least half of a decision's words, and so probably states it."""
    from memctl.search import ranking
    from memctl.store import load
    from memctl.text.words import stems

    words, snapshot = stems(extract.text), load.disk(memory)
    query = extract.text.replace('"', " ")
    near = ranking.search(snapshot, query, memory.now, kinds=ranking.RECORDS, most=_LOOKED_AT)
    texts = (snapshot.read(record.path) for record in near)
    return any(len(words & stems(text)) >= _ALIKE * len(words) for text in texts)


def _statement(extract: Extract) -> str:
    """Return a decision as a sentence with its reason."""
    from memctl.session import extraction

    has_reason = extract.reason and extract.reason != extraction.CHOSEN
    return f"{extract.text} because {extract.reason}" if has_reason else extract.text


def _quotable(text: str) -> str:
    """Return a text that can stand between double quotes, with the host's own marks escaped."""
    from memctl.record.notices import escape_model_tokens

    return escape_model_tokens(text).replace('"', "'")


def _digest(text: str) -> str:
    from memctl.text.words import stems

    return blake2b(" ".join(sorted(stems(text))).encode(), digest_size=8).hexdigest()
