"""The shapes of the JSON that commands print about work: sessions, checkpoints, handoffs, events, ownership, packs."""

from __future__ import annotations

from memctl.cli.schemas.memory import CHANGE
from memctl.cli.schemas.shapes import Shape
from memctl.record.checkpoint import Metrics
from memctl.record.event import ContextSizes
from memctl.record.record import Record
from memctl.record.task_state import Environment, RecordReference, Step, TouchedFile
from memctl.team.state import Ownership, State

_LEFT_OUT = dict.fromkeys(("id", "title", "why", "kind", "section"), str)
PACK: dict[str, Shape] = {
    "text": str,
    "tokens": int,
    "budget": int,
    "format": str,
    "parts": {str: [str]},
    "left_out": [_LEFT_OUT],
    "model": str,
}
_TEXTS = {str: str | list[str]}
_HANDOFF = {
    "record": Record,
    **dict.fromkeys(("from_agent_id", "to_agent_id", "handoff_type", "task"), str),
    "sections": [str],
    "unowned": [str],
    "declined": [str],
    "context_token_count": int,
    "answered_by": str,
    "answered_at": str,
    "content": _TEXTS,
    "package?": str,
}
_REPORT = {
    **dict.fromkeys(("before", "after", "tokens", "budget", "least"), int),
    "reduction": float,
    "aim": float,
    "removed": {str: int},
    "checks": [{"name": str, "total": int, "missing": [str], "by_title": [str]}],
    "is_chosen": bool,
}
_HANDED = {
    **PACK,
    **dict.fromkeys(("id", "path", "type", "from", "to", "commit", "coordination_commit"), str | None),
    "sections": [str],
    "report": (_REPORT, None),
    "dry_run": bool,
}
_CHECKPOINT: dict[str, Shape] = {
    **dict.fromkeys(("format", "window_id", "version"), int),
    **dict.fromkeys(("checkpoint_id", "workflow_id", "saved_at", "saved_by", "session"), str),
    **dict.fromkeys(("task_id", "section", "goal", "path"), str),
    **{
        name: [str]
        for name in (
            *("earlier_goals", "success_criteria", "constraints", "inputs", "phases", "next_actions", "said"),
            *("decisions", "issues", "errors", "blockers", "lessons", "summary", "event_stream_summary"),
        )
    },
    "steps": [Step],
    "records": [RecordReference],
    "files": [TouchedFile],
    "environment": Environment,
    "context_metrics": Metrics,
}
_EVENT: dict[str, Shape] = {
    "sequence": int,
    **dict.fromkeys(("event_id", "timestamp", "event_type", "workflow_id", "source_agent", "target_agent"), str),
    **dict.fromkeys(("session", "phase", "action_taken", "mission", "checkpoint_id"), str),
    **{name: [str] for name in ("critical_decisions", "constraints", "inputs", "expected_outputs", "deliverables")},
    "before_state": ContextSizes,
    "after_state": ContextSizes,
    "compression_ratio": float | None,
    "since_checkpoint?": int,
    "is_due?": bool,
}
_ENTRY = {"path": str, "action": str, "what": [str], "is_inside": bool, "by": [str]}
_STATEMENT = {
    **dict.fromkeys(("kind", "title", "source"), str),
    "line": int,
    "end": int,
    "values": {str: object},
    "content": _TEXTS,
    "more": [{str: object}],
    "certainty": float,
}
_EXTRACT = {
    **dict.fromkeys(("label", "text", "reason", "source", "moment", "path"), str),
    "explicit": bool,
    "alternatives": [str],
    "statement": (_STATEMENT, None),
    "line": int,
    "is_sure": bool,
}
_FAILURE = {
    **dict.fromkeys(("step", "message", "moment", "resolved"), str),
    "times": int,
    "line": int,
    "is_open": bool,
}
_FIGURES = {
    **dict.fromkeys(("turns", "answers", "tool_calls", "sub_agents", "compactions", "duration_minutes", "files"), int),
    "tokens": {"read": int, "written": int},
    "broken_lines": int,
}
_SUMMARY = {
    **dict.fromkeys(("id", "agent", "form", "intent", "started", "ended", "model", "branch", "root"), str),
    "trail": {"entries": [_ENTRY], "unknown": int},
    "scope": [str],
    "found": [_EXTRACT],
    "failures": [_FAILURE],
    "tasks": [{str: object}],
    "records": [str],
    "last_word": str,
    "said": [object],
    "metrics": _FIGURES,
    "prose": {"intent": str, "state": str, "reasons": {str: str}, "by": str},
    "next_steps": [str],
    "completion": int | None,
}
_PAGE = {
    "values": {str: object},
    "files": {str: [{"path": str, "action": str, "what": str}]},
    "lines": {str: [str]},
    "more": str,
    "path": str,
}
_BEGUN = {str: object}  # the start of a session: by whom, when, branch and commit

KINDS: dict[str, Shape] = {
    **dict.fromkeys(("rehydration", "system-prompt", "user-message"), PACK),
    "loaded": {**PACK, "prune": [{"target": str, "reason": str}], "not_found": [str], "ignored": int},
    "checkpoint": _CHECKPOINT,
    "checkpoints": {"total": int, "checkpoints": [_CHECKPOINT], "deleted?": [str]},
    "resumption": {
        "resumable": bool,
        "obstacles": [str],
        "missing": [{"what": str, "why": str, "essential": bool}],
        "drift": [{"kind": str, "what": str, "items": [str]}],
        "newer": str | None,
        "twins": [str],
        "next_window": int,
        "text": str,
        "characters": int,
        "left_out": int,
        "checkpoint": _CHECKPOINT,
    },
    "event": _EVENT,
    "events": {"total": int, "unreadable_lines": [int], "events": [_EVENT]},
    "handoff": (_HANDED, _HANDOFF),
    "handoffs": {"total": int, "handoffs": [_HANDOFF]},
    "handoff-findings": {"findings": [{"field": str, "message": str, "option": str}]},
    "coordination": State,
    "coordination-change": {
        "op": str,
        "title": str,
        "changed": bool,
        "sync_version": int,
        "commit": str | None,
        "lost": [str],
    },
    "ownership": {
        "total": int,
        "sync_version": int,
        "sections": [
            {
                **dict.fromkeys(("section_id", "owner_agent_id", "ownership_type", "acquired_at"), str),
                "expires_at": str | None,
                "previous_owner": str | None,
                "lock_reason": str,
                "agents_with_read_access": ([str], None),
                "is_live": bool,
            }
        ],
    },
    "ownership-check": {"total": int, "places": [{"place": str, "granted": bool, "ownerships": [Ownership]}]},
    "session": ({**CHANGE, "summary": _SUMMARY}, _PAGE, _BEGUN),
    "sessions": {"total": int, "sessions": [{"session_id": str, "path": str, str: object}]},
    "sessions-under-way": {"total": int, "sessions": [_SUMMARY]},
    "proposals": {
        "total": int,
        "proposals": [
            {
                "number": int,
                "kind": str,
                "title": str,
                "values": {str: object},
                "content": _TEXTS,
                "explicit": bool,
                "record": str,
                "line": int,
                "is_sure": bool,
            }
        ],
    },
    "phase": {"phase": str, "sections": object, "turns": int},
    "probes": {
        "session": str,
        "source": str,
        "shares": [{"kind": str, "asked": int, "answered": int, "share": float | None}],
        "dimensions": [{"name": str, "score": float | None, "target": float, "how": str}],
        "probes": [
            {
                "probe": {"kind": str, "question": str, "fact": str, "action": str},
                "answered": bool,
                "by": str,
            }
        ],
    },
    "compactions": {
        "total": int,
        "compactions": [
            {
                **dict.fromkeys(("at", "session", "host", "trigger"), str),
                **dict.fromkeys(("before", "after", "limit", "calls"), int | None),
                "suggested": [str],
            }
        ],
    },
    "compaction-figures": {
        "compactions": int,
        "sessions": int,
        "by_trigger": {str: int},
        **dict.fromkeys(("median_calls", "median_tokens_before", "median_tokens_after"), float | None),
        "suggested_before": float | None,
    },
    "faults": {"total": int, "faults": [{str: object}]},
    "guide": {"topic": str | None, "text": str, "topics": {str: str}},
    "context-summary": {
        "decision": str,
        "why?": str,
        "context_summary": str,
        "tokens": int,
        "budget": int,
        "task_id?": str,
        "phase?": str,
        "is_actionable?": bool,
        "files_of_interest": [str],
        "kept?": [{"line": int, "text": str, "keeps": str, "warning": str}],
        "dropped?": [{"line": int, "text": str, "reason": str}],
        "tokens_returned?": int,
        "saving?": float,
        "discarded?": {str: int},
        "model": str,
    },
    "context-summary-check": {"total": int, "violations": [{"line": int, "message": str}]},
}
