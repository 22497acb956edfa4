"""Make probes of a session: questions whose answers are facts from its transcript and from Git.

A probe shows whether the session's page has lost a fact, so no fact is taken from the page. A decision is a fact only
if it has a label, such as `Decision:`. rules.md#session-summary has the four kinds of probes.

Probes are stored when a session is summarized, because its transcript may be gone later. They are in the Git directory
that all worktrees share, and may be deleted at any time; then only Git gives probes, about files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from memctl.git import differences
from memctl.git.differences import FileChange
from memctl.record.session_page import printable
from memctl.session import trail
from memctl.session.extraction import is_nothing
from memctl.session.summary import SessionSummary, latest_changes
from memctl.session.trail import Places
from memctl.statements import completion, labels
from memctl.store import files
from memctl.store.memory import Memory
from memctl.task.progress import after
from memctl.text import headings
from memctl.text.actions import CREATED, DELETED, MODIFIED
from memctl.text.characters import redacted_line
from memctl.text.credentials import redact
from memctl.text.similarity import comparable
from memctl.transcript.events import ANSWER, CALL, PROMPT, RESULT, Session

RECALL, ARTIFACT, CONTINUATION, DECISION = "recall", "artifact", "continuation", "decision"
KINDS = (RECALL, ARTIFACT, CONTINUATION, DECISION)
GOAL = "What was the session to accomplish?"
ERROR, ISSUES, LEARNED = "What was the error when {} failed?", "Which issues came up?", "What was learned?"
FILES = "Which files were created, modified, deleted or read?"
NEXT, STATE_OF_WORK = "What is to be done next?", "Where does the work stand?"
DECISIONS = "Which decisions were made?"
_LONGEST = 2_000  # characters of a fact
_DECISION = re.compile(r"^[ \t]*[*_]{0,2}DECISION[*_]{0,2}:[*_]{0,2}[ \t]*(\S.*)$")
_WRITING = re.compile(r"write|edit|replace|create", re.IGNORECASE)
_PATHS = ("file_path", "notebook_path", "path")
_VERBS = {differences.ADDED: CREATED, differences.DELETED: DELETED, differences.CHANGED: MODIFIED}


class Probe(msgspec.Struct, frozen=True):
    """A question about a session, and the fact that the answer must have, on one line and without credentials.

    `kind` is "recall", "artifact" (about a file), "continuation" or "decision". For a file the fact is its exact path,
    and `action` is what was done to it ("" if unknown).
    """

    kind: str
    question: str
    fact: str
    action: str = ""


def from_session(summary: SessionSummary, session: Session, places: Places) -> list[Probe]:
    """Return the probes of a session, each fact once; `places` turns paths in tool calls into paths of files."""
    probes = (
        *_recall(summary),
        *_artifacts(summary, session, places),
        *_continuation(summary),
        *_decisions(summary, session),
    )
    return list({(probe.kind, probe.question, _same(probe)): probe for probe in probes if _same(probe)}.values())


def _same(probe: Probe) -> str:
    return probe.fact if probe.kind == ARTIFACT else comparable(probe.fact)


def from_git(changes: Iterable[FileChange]) -> list[Probe]:
    """Return a probe for each file that Git saw change."""
    pairs: list[tuple[str, str]] = []
    for change in changes:
        if change.status == differences.RENAMED:
            pairs += [(change.before, DELETED), (change.path, CREATED)]
        else:
            pairs.append((change.path, _VERBS[change.status]))
    return [Probe(ARTIFACT, FILES, _path(path), action) for path, action in pairs]


def merge_probes(old: Iterable[Probe], new: Collection[Probe]) -> list[Probe]:
    """Merge the `old` probes of a session with the `new` probes of a later part of the session.

    Probes about the state of the work and next steps are those of the later part, unless it has no probes at all. The
    probe about the goal is that of the first part. A file that both parts touched has one probe.
    """
    merged: dict[tuple[str, str, str], Probe] = {}
    for probe in (*(probe for probe in old if probe.kind != CONTINUATION or not new), *new):
        name = (probe.kind, probe.question, "" if probe.question == GOAL else _same(probe))
        before = merged.get(name)
        if before is None:
            merged[name] = probe
        elif probe.kind == ARTIFACT and probe.action:
            merged[name] = msgspec.structs.replace(probe, action=after(before.action, probe.action))
    return list(merged.values())


def _recall(summary: SessionSummary) -> Iterator[Probe]:
    if summary.intent:
        yield _probe(RECALL, GOAL, summary.intent.removesuffix(" …"))
    for failure in summary.errors:
        yield _probe(RECALL, ERROR.format(redacted_line(failure.step)), failure.message.removesuffix("…"))
    issues, learned = summary.having(labels.ISSUE, labels.BLOCKER), summary.having(labels.LEARNING)
    for question, extracts in ((ISSUES, issues), (LEARNED, learned)):
        yield from (_probe(RECALL, question, extract.text) for extract in extracts if extract.explicit)


def _artifacts(summary: SessionSummary, session: Session, places: Places) -> Iterator[Probe]:
    """Yield a probe for each file of the trail, and for each other path that a call of a tool wrote to."""
    known = {"."}
    for entry in summary.trail.entries:
        parts = entry.path.split("/")
        known.update("/".join(parts[:end]) for end in range(1, len(parts) + 1))  # folders get no probe
        yield Probe(ARTIFACT, FILES, _path(entry.path), entry.action)
    results = {event.call: event for event in session.events if event.kind == RESULT and event.call}
    for event in session.events:
        if event.kind == CALL and _WRITING.search(event.tool) and (result := results.get(event.call)) is not None:
            written = next((event.arguments[name] for name in _PATHS if isinstance(event.arguments.get(name), str)), "")
            if written and not result.is_error and not trail.is_without_effect(event, result):
                path, _ = places.locate(written, event.cwd)
                if path and path not in known:
                    yield Probe(ARTIFACT, FILES, _path(path))


def _continuation(summary: SessionSummary) -> Iterator[Probe]:
    for step in summary.next_steps:
        yield _probe(CONTINUATION, NEXT, step)
    if summary.completion is not None:
        yield _probe(CONTINUATION, STATE_OF_WORK, completion.statement(summary.completion))
    for task in summary.tasks:
        yield _probe(CONTINUATION, STATE_OF_WORK, f"{task.text} ({task.status_text})")
    for extract in summary.having(labels.BLOCKER)[-1:]:
        yield _probe(CONTINUATION, STATE_OF_WORK, extract.text)
    for path in latest_changes(summary):
        yield Probe(CONTINUATION, STATE_OF_WORK, _path(path))


def _decisions(summary: SessionSummary, session: Session) -> Iterator[Probe]:
    known = set()
    for extract in summary.having(labels.DECISION):
        if extract.explicit:
            known |= {comparable(extract.text), comparable(f"{extract.text} because {extract.reason}")}
            yield _probe(DECISION, DECISIONS, extract.text)
            if extract.reason:
                yield _probe(DECISION, f"Why: {redacted_line(extract.text)[:200]}?", extract.reason)
    for event in session.events:
        if event.kind == ANSWER or (event.kind == PROMPT and not event.agent):
            for line, outside in headings.outside_fences(event.text):
                match = _DECISION.match(line) if outside else None
                if match and not (
                    _is_known(match[1], known) or is_nothing(match[1]) or match[1].rstrip().endswith(":")
                ):
                    yield _probe(DECISION, DECISIONS, match[1])


def _is_known(text: str, known: Collection[str]) -> bool:
    """Return whether a line repeats a known fact, or the beginning of one."""
    return any(one.startswith(comparable(text)) or comparable(text).startswith(one) for one in known)


def _probe(kind: str, question: str, fact: str) -> Probe:
    return Probe(kind, question, redacted_line(fact)[:_LONGEST])


def _path(path: str) -> str:
    return printable(redact(path, strict=False))


_MOST_KEPT = 100  # latest sessions whose probes are stored


def keep_probes(memory: Memory, identifier: str, made: Sequence[Probe]) -> None:
    """Store probes that were made of a session, merged with those that are stored for its earlier parts.

    `identifier` is the session's name. If memctl's folder in the Git directory can't be written, nothing is stored, and
    no error is raised.
    """
    file = _kept_file(memory, identifier)
    with suppress(OSError):
        both = merge_probes(kept_probes(memory, identifier), made)
        files.replace_private(file, msgspec.json.encode(both).decode())
        for old in sorted(file.parent.glob("*.json"), key=lambda found: found.stat().st_mtime)[:-_MOST_KEPT]:
            old.unlink(missing_ok=True)


def kept_probes(memory: Memory, identifier: str) -> list[Probe]:
    """Return the stored probes of a session, [] if there are none."""
    try:
        return msgspec.json.decode(_kept_file(memory, identifier).read_bytes(), type=list[Probe])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return []


def _kept_file(memory: Memory, identifier: str) -> Path:
    return memory.repository.shared / "probes" / memory.private.name / f"{identifier}.json"
