"""Propose records from a session's summary; a record is created only when a person accepts its proposal."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from memctl.record.content_fields import content as content_of
from memctl.record.errors import InvalidRecord
from memctl.record.kinds import DECISION, ISSUE, KINDS, LEARNING, STATE, Kind
from memctl.record.required_text import is_meaningful
from memctl.record.snapshot import Snapshot
from memctl.record.task_state import DONE
from memctl.session.extraction import Extract
from memctl.session.failures import Failure
from memctl.session.summary import SessionSummary
from memctl.statements import completion, labels, titles
from memctl.statements.records import as_record
from memctl.text import phrases, timestamps
from memctl.text.actions import CREATED, MODIFIED, READ
from memctl.text.characters import redacted_line
from memctl.text.fit import cut_at_word
from memctl.text.similarity import comparable
from memctl.transcript.events import CALL, DIGEST, PROMPT
from memctl.write.create import Draft

_TITLE = 100  # characters, the longest that a record takes
_TAG = "session"
# The importance of a decision with a label and of one without, made by the user (True) or the agent (False).
_LABELLED, _IMPLIED = {True: 8, False: 7}, {True: 5, False: 4}
# When a proposed record expires, by its least importance; rules.md#importance.
_KEPT = ((8, ""), (5, "30d"), (1, "7d"))
_TAKEN = ("timestamp", "agent_id", "importance", "tags", "severity", "status")  # fields that a labelled text may set
_WRITTEN = (CALL, DIGEST)  # sources of labels that nobody said: comments in code, a compaction's summary
# The field of a record's content that has what was stated, at its beginning.
_STATED = {
    DECISION.name: "decision",
    ISSUE.name: "description",
    LEARNING.name: "lesson",
    STATE.name: "task_description",
}
_MOST_FILES = 3  # that a proposal refers to
_FILE = re.compile(r"[\w@+-][\w./@+-]*\.\w+")
_SEVERE = re.compile(r"\b(?:critical|blocker|security|data loss|crash\w*|outage)\b", re.IGNORECASE)


class Proposal(msgspec.Struct, frozen=True):
    """A record that a session proposes: its type (`kind`), title, front matter values, and content fields by name.

    - `explicit` says how the statement behind it was found: by a label, and not by its wording (`Extract.explicit`).
    - `is_sure` says that the statement is likely to be meant: it is explicit and not from a comment in code or a
      compaction's digest, or the user made it and it was carried out or is a rule for the future, or it is about the
      state of the work.
    - `record` is the id of an existing record of this statement, "" if there is none.
    - `line` is the statement's line in the transcript, 0 if it is not on a single line.
    """

    kind: str
    title: str
    values: dict[str, Any]
    content: dict[str, str | list[str]]
    explicit: bool
    record: str = ""
    line: int = 0
    is_sure: bool = False

    def draft(self, kinds: dict[str, Kind]) -> Draft:
        """Return what is needed to create the record, with the tag "session"; `kinds` are the record types by name."""
        values = {"title": self.title, "tags": [_TAG], **self.values}
        return Draft(kind=kinds[self.kind], values=values, content=dict(self.content))


def propose(summary: SessionSummary, snapshot: Snapshot | None = None) -> list[Proposal]:
    """Return the records that a session's summary proposes, the sure ones first.

    A proposal whose record exists already stays in the list, with the record's id in `record`, because people name
    proposals by their numbers. The record is found in `snapshot` by its type and title or, if it was made from a
    proposal and then got another title, by its statement.

    Empty statements ("Decision: TBD") are left out.
    """
    made = _recorded(snapshot) if snapshot else {}
    ids = {"", *made.values()}
    where = f"Session {summary.id}"
    proposals = [_decision(extract, where) for extract in summary.having(labels.DECISION)]
    proposals += [_issue(extract, where) for extract in summary.having(labels.ISSUE, labels.BLOCKER, labels.TODO)]
    proposals += [_unresolved(failure, where) for failure in summary.failures if failure.is_open]
    proposals += [_learning(extract, where) for extract in summary.having(labels.LEARNING)]
    proposals += _state(summary)
    files = [entry.path for entry in summary.trail.having(CREATED, MODIFIED, READ)]
    proposals = [_with_files(new, files) if new.kind != STATE.name else new for new in proposals]
    by_title = {(new.kind, comparable(new.title)): new for new in reversed(proposals) if is_meaningful(new.title)}
    proposals = [
        msgspec.structs.replace(new, record=made.get(key) or made.get(_statement(new.kind, new.content)) or new.record)
        for key, new in reversed(by_title.items())
    ]
    proposals = [new if new.record in ids else msgspec.structs.replace(new, record="") for new in proposals]
    return sorted(proposals, key=lambda new: (not new.is_sure, not new.explicit))


def _recorded(snapshot: Snapshot) -> dict[tuple[str, str], str]:
    """Return the ids of records by type and title, and those of accepted proposals by type and statement, too."""
    ids: dict[tuple[str, str], str] = {}
    for record in snapshot.records:
        if _TAG in record.tags and record.memory_type in _STATED:
            with suppress(InvalidRecord, OSError):  # a record that can't be read still has its title
                statement = _statement(record.memory_type, content_of(record.kind, snapshot.body(record)))
                ids[statement] = record.id if statement[1] else ""
    return ids | {(record.memory_type, comparable(record.title)): record.id for record in snapshot.records}


def _statement(kind: str, content: Mapping[str, str | list[str]]) -> tuple[str, str]:
    """Return type and statement of a record with this content: the first paragraph of what it records."""
    return kind, comparable(str(content.get(_STATED[kind], "")).partition("\n\n")[0])


def _with_files(proposal: Proposal, files: Sequence[str]) -> Proposal:
    """Return a proposal that refers to the session's files named in its text, at most three."""
    if "code_refs" in proposal.values:
        return proposal
    texts = [proposal.title, *(text for value in proposal.content.values() for text in _lines(value))]
    named = list(dict.fromkeys(word for text in texts for word in _FILE.findall(text)))
    found = [[file for file in files if file == word or file.endswith(f"/{word}")] for word in named]
    refs = list(dict.fromkeys(file for (file, *others) in filter(None, found) if not others))[:_MOST_FILES]
    return msgspec.structs.replace(proposal, values={**proposal.values, "code_refs": refs}) if refs else proposal


def _lines(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _decision(extract: Extract, where: str) -> Proposal:
    content_fields, values = _labelled(extract)
    values = {
        "importance": (_LABELLED if extract.explicit else _IMPLIED)[extract.source == PROMPT],
        "status": "accepted" if extract.explicit else "proposed",
    } | values
    content: dict[str, str | list[str]] = {"decision": redacted_line(extract.text), **content_fields}
    content["context"] = f"{content_fields['context']}\n\n{where}" if "context" in content_fields else where
    if extract.reason:
        content.setdefault("rationale", redacted_line(extract.reason))
    if extract.alternatives:
        content["alternatives_considered"] = [redacted_line(alternative) for alternative in extract.alternatives]
    values = _dated(_with_term(values) if values["status"] == "proposed" else values, extract.moment)
    number = str(extract.statement.values.get(labels.NUMBER, "")) if extract.statement else ""
    return _proposal(extract, DECISION, values, content, number)


def _proposal(
    extract: Extract, kind: Kind, values: dict[str, Any], content: dict[str, str | list[str]], record: str = ""
) -> Proposal:
    is_sure = extract.is_sure or (extract.explicit and extract.source not in _WRITTEN)
    return Proposal(kind.name, _title(_name(extract)), values, content, extract.explicit, record, extract.line, is_sure)


def _name(extract: Extract) -> str:
    """Return what a statement is called: its own title, or its text without what leads to it.

    Only a learning is not shortened, since its point often comes last.
    """
    if extract.title or extract.statement:
        name = titles.capitalized(extract.title or extract.text)
    else:
        name = titles.title_of(extract.text) if extract.label == labels.DECISION else titles.without_lead(extract.text)
    return name if extract.label == labels.LEARNING else titles.shortened(name)


def _dated(values: dict[str, Any], moment: str) -> dict[str, Any]:
    """Return front matter values with the statement's time as the timestamp, unless they have one or it is unknown."""
    return {"timestamp": moment, **values} if moment else values


def _with_term(values: dict[str, Any]) -> dict[str, Any]:
    """Return front matter values with the expiry that follows from the importance, unless they have one."""
    importance = values.get("importance")
    term = next(days for least, days in _KEPT if not isinstance(importance, int) or importance >= least)
    return {"expires_at": term, **values} if term else values


def _issue(extract: Extract, where: str) -> Proposal:
    content_fields, labelled_values = _labelled(extract) if extract.label != labels.BLOCKER else ({}, {})
    severity = "high" if extract.label == labels.BLOCKER or _SEVERE.search(extract.text) else "medium"
    place = f" (`{redacted_line(extract.path)}`)" if extract.path else ""
    text = content_fields.get("description", redacted_line(extract.text))
    content: dict[str, str | list[str]] = {**content_fields, "description": f"{text}{place}\n\n{where}."}
    values: dict[str, Any] = {"severity": "low" if extract.label == labels.TODO else severity, **labelled_values}
    values = _dated(values, extract.moment)
    return _proposal(extract, ISSUE, values, content)


def _labelled(extract: Extract) -> tuple[dict[str, str | list[str]], dict[str, Any]]:
    """Return the content and the front matter values of a labelled statement, redacted; ({}, {}) without a label."""
    made = as_record(extract.statement) if extract.statement else None
    if made is None:
        return {}, {}
    content: dict[str, str | list[str]] = {
        name: _redacted(value) if isinstance(value, str) else [redacted_line(item) for item in value]
        for name, value in made.content.items()
    }
    values = {name: value for name, value in made.values.items() if name in _TAKEN}
    if isinstance(values.get("timestamp"), str) and not timestamps.is_moment(str(values["timestamp"])):
        del values["timestamp"]
    if values.get("status") not in (None, *KINDS[made.type].statuses):
        del values["status"]
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = redacted_line(value)
        elif isinstance(value, list):
            values[name] = [_TAG, *map(redacted_line, value)]
    return content, values


def _redacted(text: str) -> str:
    """Redact each line of a text, keeping its indentation."""
    return "\n".join(line[: len(line) - len(line.lstrip(" "))] + redacted_line(line) for line in text.split("\n"))


def _unresolved(failure: Failure, where: str) -> Proposal:
    text = phrases.failure(redacted_line(failure.step), redacted_line(failure.message))
    content: dict[str, str | list[str]] = {"description": f"{text}\n\n{where}; no later success was seen."}
    return Proposal(
        ISSUE.name,
        _title(f"{failure.step} failed: {failure.message}"),
        _dated({"severity": "medium"}, failure.moment),
        content,
        False,
        line=failure.line,
    )


def _learning(extract: Extract, where: str) -> Proposal:
    content_fields, labelled_values = _labelled(extract)
    content: dict[str, str | list[str]] = {"lesson": redacted_line(extract.text), **content_fields}
    content["context"] = f"{content_fields['context']}\n\n{where}" if "context" in content_fields else where
    values = {"importance": 5 if extract.explicit else 4} | labelled_values
    return _proposal(extract, LEARNING, _dated(values, extract.moment), content)


def _state(summary: SessionSummary) -> list[Proposal]:
    """Return a proposal for the state of the work, [] if the session says nothing about steps or completion."""
    steps = summary.next_steps
    stated = next(
        (
            extract
            for extract in reversed(summary.found)
            if (made := extract.statement) and made.kind == STATE.name and made.title
        ),
        None,
    )
    content_fields = _labelled(stated)[0] if stated else {}
    goal = stated.statement.title if stated and stated.statement else summary.intent
    is_stated = bool(summary.tasks or (steps and summary.having(labels.NEXT)))  # not only offered by the agent
    if not is_stated and summary.completion is None:
        return []
    remaining = [redacted_line(task.text) for task in summary.tasks if task.status != DONE]
    ahead = [text for step in steps if (text := redacted_line(step)) not in remaining]
    standing = [
        extract.text for extract in summary.having(labels.STATE) if completion.of_statement(extract.text) is None
    ][-3:]
    content: dict[str, str | list[str]] = {
        "task_description": content_fields.get("task_description", "\n\n".join(map(redacted_line, (goal, *standing)))),
        "substeps_completed": [redacted_line(task.text) for task in summary.tasks if task.status == DONE],
        "substeps_remaining": remaining,
        "blockers": [redacted_line(extract.text) for extract in summary.having(labels.BLOCKER)[-3:]],
        "next_actions": ahead or remaining,
    }
    filled = {name: value for name, value in content.items() if value}
    values = _dated({"completion_percentage": summary.completion or 0}, summary.ended)
    title = _title(titles.goal_of(goal) if goal else f"Session {summary.id}")
    return [Proposal(STATE.name, title, values, filled, is_stated, is_sure=True)]


def _title(text: str) -> str:
    line = redacted_line(text).replace("`", "").rstrip(" .")
    return cut_at_word(line, _TITLE, "…")
