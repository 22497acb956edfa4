"""The shapes of the JSON that commands print about work: sessions, checkpoints, handoffs, events, ownership, packs."""

from __future__ import annotations

from memctl.cli.schemas.memory import CHANGE
from memctl.cli.schemas.shapes import Shape, shape_of
from memctl.record.checkpoint import Checkpoint, Metrics
from memctl.record.event import ContextSizes, WorkflowEvent
from memctl.record.record import Record
from memctl.record.task_state import Environment, RecordReference, Step, TouchedFile
from memctl.team.state import Ownership, State

_LEFT_OUT = {"id title why kind section": str}
PACK: dict[str, Shape] = {
    "text format model": str,
    "tokens budget": int,
    "parts": {str: [str]},
    "left_out": [_LEFT_OUT],
}
_TEXTS = {str: str | list[str]}


def _handoff() -> Shape:
    from memctl.record.handoff import Parties

    return {"record": Record, **shape_of(Parties), "content": _TEXTS, "package?": str}


def _listed_handoff() -> Shape:
    return {**_handoff(), "branch": str | None}


def _offer() -> Shape:
    from memctl.pack.handoff import HandoffReport

    return {
        **PACK,
        "id path type from to commit coordination_commit": str | None,
        "sections": [str],
        "report": (shape_of(HandoffReport), None),
        "dry_run": bool,
    }


_CHECKPOINT: dict[str, Shape] = {
    **shape_of(Checkpoint),
    "path": str,
    "steps": [Step],
    "records": [RecordReference],
    "files": [TouchedFile],
    "environment": Environment,
    "context_metrics": Metrics,
}
_EVENT: dict[str, Shape] = {
    **shape_of(WorkflowEvent),
    "before_state": ContextSizes,
    "after_state": ContextSizes,
    "compression_ratio": float | None,
    "since_checkpoint?": int,
    "is_due?": bool,
}


def _summary() -> Shape:
    from memctl.session.summary import SessionSummary

    own = ("succeeded", "ahead")  # left out of JSON
    summary = {name: shape for name, shape in shape_of(SessionSummary).items() if name not in own}
    return {**summary, "next_steps": [str], "completion": int | None}


def _session_page() -> Shape:
    from memctl.record.session_page import SessionPage

    return {**shape_of(SessionPage), "path": str}


def _proposal() -> Shape:
    from memctl.session.proposals import Proposal

    return {"number": int, **shape_of(Proposal)}


def _probes() -> Shape:
    from memctl.session.grades import AnsweredShare, Dimension, Reply

    return {
        "session source": str,
        "shares": [{**shape_of(AnsweredShare), "share": float | None}],
        "dimensions": [shape_of(Dimension)],
        "probes": [shape_of(Reply)],
    }


def _compaction() -> Shape:
    from memctl.hooks.statistics import CompactionCount

    return shape_of(CompactionCount)


def _compaction_figures() -> Shape:
    from memctl.hooks.statistics import Figures

    return shape_of(Figures)


_BEGUN = {str: object}  # the start of a session: by whom, when, branch and commit

KINDS: dict[str, Shape] = {
    **dict.fromkeys(("rehydration", "system-prompt", "user-message"), PACK),
    "explanation": {"records": [{"id title place why": str}]},
    "loaded": {**PACK, "prune": [{"target reason": str}], "not_found": [str], "ignored": int},
    "checkpoint": _CHECKPOINT,
    "checkpoints": {"total": int, "checkpoints": [_CHECKPOINT], "deleted?": [str]},
    "resumption": {
        "resumable": bool,
        "obstacles twins": [str],
        "missing": [{"what why": str, "essential": bool}],
        "drift": [{"kind what": str, "items": [str]}],
        "newer": str | None,
        "next_window characters left_out": int,
        "text": str,
        "checkpoint": _CHECKPOINT,
    },
    "event": _EVENT,
    "events": {"total": int, "unreadable_lines": [int], "events": [_EVENT]},
    "handoff": (_offer, _handoff),
    "handoffs": {"total": int, "handoffs": [_listed_handoff]},
    "handoff-findings": {"findings": [{"field message option": str}]},
    "coordination": State,
    "coordination-change": {"op title": str, "changed": bool, "sync_version": int, "commit": str | None, "lost": [str]},
    "ownership": {"total sync_version": int, "sections": [{**shape_of(Ownership), "is_live": bool}]},
    "ownership-check": {"total": int, "places": [{"place": str, "granted": bool, "ownerships": [Ownership]}]},
    "session": ({**CHANGE, "summary": _summary}, _session_page, _BEGUN),
    "sessions": {"total": int, "sessions": [{"session_id path": str, str: object}]},
    "sessions-under-way": {"total": int, "sessions": [_summary]},
    "proposals": {"total": int, "proposals": [_proposal]},
    "phase": {"phase": str, "sections": object, "turns": int},
    "probes": _probes,
    "compactions": {"total": int, "compactions": [_compaction]},
    "compaction-figures": _compaction_figures,
    "faults": {"total": int, "faults": [{str: object}]},
    "help": {"topic": str | None, "text": str, "topics": {str: str}},
    "context-summary": {
        "decision why? context_summary task_id? phase? model": str,
        "tokens budget tokens_returned?": int,
        "is_actionable?": bool,
        "files_of_interest": [str],
        "kept?": [{"line": int, "text keeps warning": str}],
        "dropped?": [{"line": int, "text reason": str}],
        "saving?": float,
        "discarded?": {str: int},
    },
    "context-summary-check": {"total": int, "violations": [{"line": int, "message": str}]},
}
