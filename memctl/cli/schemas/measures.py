"""The shapes of the JSON that commands print about measurements: tokens, files, budgets, quality, policy, windows."""

from __future__ import annotations

from memctl.cli.schemas.shapes import Fields, Shape
from memctl.cli.schemas.work import PACK

_COUNT = "memctl.tokens.count.Count"
_REASON = {"path=0 reason=1": str}
_FILE = {
    "path verdict": str,
    "loaded=is_loaded": bool,
    "left_out outline": str | None,
    "tokens": _COUNT,
    "score=score.score relevance=score.relevance recency=score.recency dependency=score.dependency": float,
    "reasons=score.reasons": [{"points=0": float, "why=1": str}],
    "blob=content.blob": str,
    "bytes=content.facts.size lines=content.facts.lines": int,
}
_BATCH: dict[str, Shape] = {
    "threshold remaining": int,
    "scs": {"tokens": int, "source": str},
    "contexts": [{"file": str, "aws": int, "debt": ({"tokens": int, "ratio": float, "lines": [int]}, None)}],
    "burst": {"planned over_remaining": int, "growth": float, "is_burst": bool},
    "growth": float | None,
    "delta_since_last_batch": int | None,
    "measured": {str: object},
}
_KEPT = {"of kept": int}
_ALERT = {"turn?": int, "*": Fields("memctl.window.Alert")}


KINDS: dict[str, Shape] = {
    "tokens": {
        "model": str,
        "total": int,
        "files": [{"file=name kind": str, "tokens": int, "source": str, "error=count.error": float | None}],
    },
    "calibration": {
        "dry_run": bool,
        "models": [
            {
                "model=0 family=2.family": str,
                "factor=2.ratio": float,
                "observations=2.observations new=1": int,
                "error=2.error median_error_before=2.before median_error_after=2.after": float,
                "within_goal=2.is_within_goal": bool,
            }
        ],
        "left_aside": [{"line": int, "reason": str}],
    },
    "summary": {"model path text": str, "budget tokens size lines left_out": int, "of_file": _COUNT},
    "files": {
        "model": str,
        "*=room": Fields("memctl.sources.load_plan.LoadBudget"),
        "reserve=room.reserve": {str: int},
        "loaded=ranking.loaded total=ranking.total": int,
        "active=ranking.active": [str],
        "files=shown": [_FILE],
        "refused=ranking.refused unsearched=ranking.unsearched": [_REASON],
    },
    "files_pack": {**PACK, "files": [_FILE]},
    "budget": Fields("memctl.window.WindowBudget"),
    "quality": Fields("memctl.window.QualityReport"),
    "threshold": {"*": Fields("memctl.window.observations.Review"), "steps": [str]},
    "parallel": {
        "granted is_delta_assumed": bool,
        "criteria": [{"number": int, "name measured limit over help": str, "passed": bool}],
        "delta": int,
        **_BATCH,
    },
    "triggers": {
        "fired": [int],
        "triggers": [{"number": int, "name measured limit over action": str, "fired": bool | None}],
        "tier": ({"*": Fields("memctl.window.contexts.Tier"), "is_enough": bool}, None),
        "strategies": {str: [Fields("memctl.window.contexts.Strategy")]},
        "escalations": [{"to why": str}],
        **_BATCH,
    },
    "window_status": {
        "file": str,
        "model": str | None,
        "limit": Fields("memctl.window.Limit"),
        "reading": {"*": Fields("memctl.window.PressureReading"), "disagreement": object},
        "components": [{"*": Fields("memctl.window.status.ComponentUse"), "share": float}],
        "largest_results": [Fields("memctl.window.status.Large")],
        "curve": {"points": [int], "compactions": [{"at line before": int, "trigger": str, "after": int | None}]},
        "suited_thresholds": (Fields("memctl.window.Thresholds"), None),
        "not_counted": {str: int},
        "broken_lines": int,
    },
    "window_health": {
        "file": str,
        "snapshot": Fields("memctl.window.HealthSnapshot"),
        "alerts": [_ALERT],
        "begun": [_ALERT],
        "broken_lines": int,
        "performance": (Fields("memctl.window.Performance"), None),
        "watch": [object],
        "trends": {str: Fields("memctl.window.Trend")},
    },
    "window_fidelity": {
        "original compressed method": str,
        "min": float,
        "passed": bool,
        "counted fewest_questions checked calls original_since compressed_since": int,
        "missing": [{"kind text": str}],
        "score": float | None,
        "answers": [Fields("memctl.window.GradedQuestion")],
    },
    "window_audit": {"*": Fields("memctl.window.Summary"), "model": {"asked used refused": int}},
    "window_simulation": Fields("memctl.window.Comparison"),
    "eviction": {
        "reached": bool,
        "policy model": str,
        "tokens_before tokens_after tokens_wanted tokens_freed placeholders left_out": int,
        "broken_lines": int,
        "similar_by": str | None,
        "evicted": [Fields("memctl.window.eviction.engine.ChangedBlock")],
        "kept": [Fields("memctl.window.eviction.engine.KeptBlock")],
        "held": {str: int},
        "uncounted": {str: int},
    },
    "compaction": {
        "reached": bool,
        "model": str,
        "tokens_before tokens_after target checked left_out broken_lines": int,
        "saved": float,
        "steps": [Fields("memctl.window.Step", ("changes",))],
        "must_survive": {str: _KEPT},
        "lost": [object],
        "missing": [object],
        "uncounted": {str: int},
    },
}
