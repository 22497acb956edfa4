"""Build a session's page from its summary: each text on one line and without credentials."""

from __future__ import annotations

from collections.abc import Iterable

from memctl.record import session_page
from memctl.record.kinds import DECISION, ISSUE, LEARNING, Kind
from memctl.record.session_page import SessionPage, TrailRow
from memctl.record.task_state import DONE
from memctl.session.extraction import CHOSEN, Extract
from memctl.session.failures import Failure
from memctl.session.summary import LAST_WORD, SessionSummary, latest_changes
from memctl.session.trail import TrailEntry
from memctl.statements import completion, labels
from memctl.statements.dialogue import Topic
from memctl.text.actions import CREATED, DELETED, MODIFIED, READ
from memctl.text.characters import printable_line, redacted_line
from memctl.text.credentials import redact
from memctl.text.fit import cut_at_word
from memctl.text.markdown import code, inline
from memctl.transcript.events import DIGEST, PROMPT

_LONGEST = 600  # characters of an entry
_MOST_COMMITS = 20  # the latest
_FIGURES = ("duration_minutes", "turns", "answers", "tool_calls", "sub_agents", "compactions")
OPEN, RESOLVED = "open", "resolved"
IMPLIED = "(as said)"  # after a statement without a label
_BY_USER, _AGREED, _FROM_DIGEST = "(by the user)", "(agreed by the user)", "(from a compaction's summary)"
MARKS = (IMPLIED, _BY_USER, _AGREED, _FROM_DIGEST)  # what may follow a statement
READ_INTO = "Because (as a model reads it): "  # before a reason that a model inferred


def compose(summary: SessionSummary, project: str, now: str) -> SessionPage:
    """Return a session's page; `project` is the project's id and `now` the canonical time of the summary."""
    trail = summary.trail
    changed = (CREATED, MODIFIED, DELETED)
    everything = trail.having(*changed, READ, inside=False)
    return SessionPage(
        values=_values(summary, project, now),
        files={
            session_page.CHANGED: tuple(map(_row, trail.having(*changed))),
            session_page.READ: tuple(map(_row, trail.having(READ))),
            session_page.OUTSIDE: tuple(map(_row, everything)),
        },
        lines={
            session_page.INTENT: tuple(_intent(summary)),
            session_page.DECISIONS: (
                *_records(summary, DECISION),
                *(_decision(made, summary) for made in _unrecorded(summary, DECISION, labels.DECISION)),
            ),
            session_page.STATE: tuple(_state(summary)),
            session_page.COMMITS: tuple(map(commit, summary.commits[-_MOST_COMMITS:])),
            session_page.NEXT: tuple(map(text, summary.next_steps)),
            session_page.SAID: tuple(dict.fromkeys(map(text, summary.said))),
            session_page.ISSUES: (
                *_records(summary, ISSUE),
                *map(_finding, _unrecorded(summary, ISSUE, labels.ISSUE, labels.BLOCKER, labels.TODO)),
            ),
            session_page.LEARNINGS: (
                *_records(summary, LEARNING),
                *map(_finding, _unrecorded(summary, LEARNING, labels.LEARNING)),
            ),
            session_page.ERRORS: (*map(_failure, summary.errors), *(form.line for form in summary.forms)),
            session_page.COMMANDS: tuple(map(redacted_line, summary.commands)),
        },
    )


def text(value: str, longest: int = _LONGEST) -> str:
    """Return a text of a transcript as one line of Markdown without credentials, cut at `longest` characters."""
    return inline(cut_at_word(redacted_line(value), longest))


def step_of(step: str) -> str:
    """Return a failed command or tool call as Markdown code, with which its line on a session's page begins."""
    return code(redacted_line(step))


def _values(summary: SessionSummary, project: str, now: str) -> dict[str, object]:
    figures = summary.metrics
    return {
        "session_id": summary.id,
        "project_id": project,
        "agent_id": summary.agent,
        "started": summary.started or None,
        "ended": summary.ended or None,
        "summarized": now,
        "model": redacted_line(summary.model)[:_LONGEST] or None,
        "branch": redact(printable_line(summary.branch), strict=False)[:_LONGEST] or None,
        "transcript": summary.form,
        "prose_by": redacted_line(summary.prose.by)[:_LONGEST] or None,
        **{name: getattr(figures, name) for name in _FIGURES},
        "tokens_read": figures.tokens.read,
        "tokens_written": figures.tokens.written,
        "files_accessed": figures.files,
        "files_modified": len(summary.trail.having(CREATED, MODIFIED, DELETED)),
        "broken_lines": figures.broken_lines,
    }


def _row(entry: TrailEntry) -> TrailRow:
    words = "; ".join(map(redacted_line, entry.what))
    by = ", ".join(redact(name) for name in entry.by)
    what = text(f"{words} ({by})" if words and by else words or (f"by {by}" if by else ""), 200)
    what = what.replace("\\|", "|")  # rendering a table's cell escapes the bar again
    what = what[1:] if what.startswith(("\\+", "\\-")) else what  # no list begins within a line
    return TrailRow(_path(entry.path), entry.action, what)


def _path(path: str) -> str:
    """Return a path without credentials; keeps random-looking words, which file names may have."""
    return redact(path, strict=False)


def _intent(summary: SessionSummary) -> Iterable[str]:
    lead = "In the user's words: " if summary.prose.intent else ""
    if lead:
        yield text(summary.prose.intent, 900)
    if summary.intent:
        yield lead + text(summary.intent, 900)
    for scope in summary.scope:
        yield f"Scope changed: {text(scope)}"


def _records(summary: SessionSummary, kind: Kind) -> Iterable[str]:
    """Yield the session's records of a type as lines, such as "Round half to even (DEC-2025-11-04-003)"."""
    for identifier in summary.records:
        if identifier in summary.titles and identifier.startswith(f"{kind.prefix}-"):
            yield f"{text(summary.titles[identifier])} ({identifier})"


def _unrecorded(summary: SessionSummary, kind: Kind, *kinds: str) -> list[Extract]:
    """Return the extracted statements with certain labels that no record of the session, of a type, is about."""
    recorded = [Topic.of(title) for name, title in summary.titles.items() if name.startswith(f"{kind.prefix}-")]
    made = summary.having(*kinds)
    return [one for one in made if not any(Topic.of(one.text).is_same(topic) for topic in recorded)]


def _decision(extract: Extract, summary: SessionSummary) -> str:
    parts = [text(extract.text)]
    if extract.reason and extract.reason != CHOSEN:  # a mark says who chose
        parts.append(f"Because: {text(extract.reason)}")
    elif reason := summary.prose.reasons.get(extract.text):
        parts.append(f"{READ_INTO}{text(reason)}")
    if extract.alternatives:
        parts.append(f"Instead of: {'; '.join(map(text, extract.alternatives))}")
    return " — ".join(parts) + _mark(extract)


def _finding(extract: Extract) -> str:
    kind = {labels.BLOCKER: "Blocker: ", labels.TODO: "TODO: "}.get(extract.label, "")
    where = f" ({session_page.span(_path(extract.path))})" if extract.path else ""
    return f"{kind}{text(extract.text)}{where}{_mark(extract)}"


def _mark(extract: Extract) -> str:
    by_user = _AGREED if extract.is_assent else _BY_USER
    marks = [{PROMPT: by_user, DIGEST: _FROM_DIGEST}.get(extract.source, ""), "" if extract.explicit else IMPLIED]
    return "".join(f" {mark}" for mark in marks if mark)


def _state(summary: SessionSummary) -> Iterable[str]:
    if summary.completion is not None:
        yield completion.statement(summary.completion)
    if summary.prose.state:
        yield text(summary.prose.state, 900)
    for task in summary.tasks:
        yield f"{'[x]' if task.status == DONE else '[ ]'} {text(task.text)} ({task.status_text})"
    for extract in summary.having(labels.STATE)[-3:]:
        if completion.of_statement(extract.text) is None:
            yield text(extract.text)
    for extract in summary.having(labels.BLOCKER)[-3:]:
        yield f"Blocker: {text(extract.text)}"
    if latest := latest_changes(summary):
        yield f"Last changed: {', '.join(session_page.span(_path(path)) for path in latest)}"
    if summary.records:
        yield f"Recorded: {', '.join(summary.records)}"
    if summary.last_word:
        yield f"{session_page.LAST_SAID}{text(summary.last_word, LAST_WORD + 10)}"
    if summary.root:
        where = session_page.span(_path(summary.root))
        yield f"Worked in {where}, not in this worktree: paths are relative to that folder"


def commit(one: tuple[str, str]) -> str:
    """Return the line of a page for a commit, given as its id and subject."""
    identifier, subject = one
    return f"{code(identifier)} {text(subject)}"


def _failure(failure: Failure) -> str:
    times = f" ({failure.times} times)" if failure.times > 1 else ""
    how = f" — {failure.resolved}" if failure.resolved else ""
    return f"{RESOLVED if failure.resolved else OPEN}: {step_of(failure.step)}: {text(failure.message)}{times}{how}"
