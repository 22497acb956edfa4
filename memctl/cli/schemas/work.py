"""The shapes of the JSON that commands print about work: sessions, checkpoints, handoffs, events, ownership, packs."""

from __future__ import annotations

from memctl.cli.schemas.memory import CHANGE, RECORD
from memctl.cli.schemas.shapes import PATH, Fields, Shape

PACK: dict[str, Shape] = {
    "text": str,
    "tokens budget": int,
    "format": str,
    "parts": {str: [str]},
    "left_out": [{"id title why kind section": str}],
    "model": str,
}
_TEXTS = {str: str | list[str]}


_HANDOFF: dict[str, Shape] = {"record": RECORD, "*": Fields("memctl.record.handoff.Parties"), "content": _TEXTS}
_OFFER: dict[str, Shape] = {
    **PACK,
    "id path type from to": str | None,
    "sections": [str],
    "commit coordination_commit": str | None,
    "report": (Fields("memctl.pack.handoff.HandoffReport"), None),
    "dry_run": bool,
}
_CHECKPOINT: dict[str, Shape] = {
    "*": Fields("memctl.record.checkpoint.Checkpoint"),
    "path=number.path": PATH,
    "steps": ["memctl.record.task_state.Step"],
    "records": ["memctl.record.task_state.RecordReference"],
    "files": ["memctl.record.task_state.TouchedFile"],
    "environment": "memctl.record.task_state.Environment",
    "context_metrics": "memctl.record.checkpoint.Metrics",
}
_SIZES = Fields("memctl.record.event.ContextSizes")
_EVENT: dict[str, Shape] = {
    "*=event": Fields("memctl.record.event.WorkflowEvent"),
    "before_state=event.before_state after_state=event.after_state": _SIZES,
    "compression_ratio=event.compression_ratio": float | None,
    "since_checkpoint?": int,
    "is_due?": bool,
}
_SUMMARY: dict[str, Shape] = {
    "*": Fields("memctl.session.summary.SessionSummary", ("succeeded", "ahead")),
    "next_steps": [str],
    "completion": int | None,
}
_OWNERSHIP = "memctl.team.state.Ownership"
_BEGUN = {str: object}  # the start of a session: by whom, when, branch and commit

KINDS: dict[str, Shape] = {
    **dict.fromkeys(("rehydration", "system-prompt", "user-message"), PACK),
    "explanation": {"records": [{"id title place why": str}]},
    "loaded": {**PACK, "prune": [{"target reason": str}], "not_found": [str], "ignored": int},
    "checkpoint": _CHECKPOINT,
    "checkpoints": {"total": int, "checkpoints": [_CHECKPOINT], "deleted?": [str]},
    "resumption": {
        "missing=resumption.missing": [Fields("memctl.task.resume.StateGap")],
        "drift=resumption.drift": [Fields("memctl.task.environment.EnvironmentDrift")],
        "twins=resumption.twins": [str],
        "resumable": bool,
        "obstacles": [str],
        "newer=resumption.newer.id": str | None,
        "next_window": int,
        "*=resumption.text": Fields("memctl.task.resume.ResumeText"),
        "checkpoint=resumption.checkpoint": _CHECKPOINT,
    },
    "event": _EVENT,
    "events": {"total": int, "unreadable_lines": [int], "events": [_EVENT]},
    "handoff": (_OFFER, {**_HANDOFF, "package?": str}),
    "handoffs": {"total": int, "handoffs": [{**_HANDOFF, "branch": str | None}]},
    "handoff-findings": {"findings": [{"field message option": str}]},
    "coordination": "memctl.team.state.State",
    "coordination-change": {"op title": str, "changed": bool, "sync_version": int, "commit": str | None, "lost": [str]},
    "ownership": {"total sync_version": int, "sections": [{"*": Fields(_OWNERSHIP), "is_live": bool}]},
    "ownership-check": {"total": int, "places": [{"place": str, "granted": bool, "ownerships": [_OWNERSHIP]}]},
    "session": (
        {**CHANGE, "summary": _SUMMARY},
        {"*": Fields("memctl.record.session_page.SessionPage"), "path": str},
        _BEGUN,
    ),
    "sessions": {"total": int, "sessions": [{"session_id path": str, str: object}]},
    "sessions-under-way": {"total": int, "sessions": [_SUMMARY]},
    "proposals": {"total": int, "proposals": [{"number": int, "*": Fields("memctl.session.proposals.Proposal")}]},
    "phase": {"phase": str, "sections": object, "turns": int},
    "probes": {
        "session=page.id source=facts.source": str,
        "shares": [{"*": Fields("memctl.session.grades.AnsweredShare"), "share=value": float | None}],
        "dimensions": [Fields("memctl.session.grades.Dimension")],
        "probes": [Fields("memctl.session.grades.Reply")],
    },
    "compactions": {"total": int, "compactions": [Fields("memctl.hooks.statistics.CompactionCount")]},
    "compaction-figures": Fields("memctl.hooks.statistics.Figures"),
    "faults": {"total": int, "faults": [{str: object}]},
    "help": {"topic": str | None, "text": str, "topics": {str: str}},
    "context-summary": (
        {
            "decision=summary.decision": str,
            "tokens=summary.tokens budget=summary.budget": int,
            "is_actionable=summary.is_actionable": bool,
            "task_id=result.task_id phase=result.phase context_summary=summary.text": str,
            "files_of_interest=summary.files": [str],
            "kept=summary.kept": [Fields("memctl.pack.context_summary.SummaryLine")],
            "dropped=summary.dropped": [Fields("memctl.pack.context_summary.DroppedUnit")],
            "tokens_returned": int,
            "saving": float,
            "discarded": {str: int},
            "model": str,
        },
        {
            "decision why context_summary": str,
            "tokens budget": int,
            "files_of_interest": [str],
            "model": str,
        },
    ),
    "context-summary-check": {"total": int, "violations": [{"line": int, "message": str}]},
}
