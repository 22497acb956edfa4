"""The shapes of the JSON that commands print about measurements: tokens, files, budgets, quality, policy, windows."""

from __future__ import annotations

from memctl import window
from memctl.cli.schemas.shapes import Shape, shape_of
from memctl.cli.schemas.work import PACK
from memctl.tokens.count import Count

_REASON = {"path reason": str}
_FILE = {
    "path verdict blob": str,
    "score relevance recency dependency": float,
    "loaded": bool,
    "left_out outline": str | None,
    "tokens": Count,
    "reasons": [{"points": float, "why": str}],
    "bytes lines": int,
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


def _alert() -> Shape:
    return {"turn?": int, **shape_of(window.Alert)}


def _step() -> Shape:
    return {name: shape for name, shape in shape_of(window.Step).items() if name != "changes"}


KINDS: dict[str, Shape] = {
    "tokens": {"model": str, "total": int, "files": [{"file kind source": str, "tokens": int, "error": float | None}]},
    "calibration": {
        "dry_run": bool,
        "models": [
            {
                "model family": str,
                "factor error median_error_before median_error_after": float,
                "observations new": int,
                "within_goal": bool,
            }
        ],
        "left_aside": [{"line": int, "reason": str}],
    },
    "summary": {"model path text": str, "budget tokens size lines left_out": int, "of_file": Count},
    "files": {
        "model": str,
        "window used budget loaded total": int,
        "least": float,
        "reserve": {str: int},
        "active": [str],
        "files": [_FILE],
        "refused": [_REASON],
        "unsearched": [_REASON],
    },
    "files_pack": {**PACK, "files": [_FILE]},
    "budget": lambda: shape_of(window.WindowBudget),
    "quality": lambda: shape_of(window.QualityReport),
    "threshold": lambda: {**shape_of(window.observations.Review), "steps": [str]},
    "parallel": {
        "granted is_delta_assumed": bool,
        "criteria": [{"number": int, "name measured limit over help": str, "passed": bool}],
        "delta": int,
        **_BATCH,
    },
    "triggers": {
        "fired": [int],
        "triggers": [{"number": int, "name measured limit over action": str, "fired": bool | None}],
        "tier": (lambda: {**shape_of(window.contexts.Tier), "is_enough": bool}, None),
        "strategies": {str: [lambda: shape_of(window.contexts.Strategy)]},
        "escalations": [{"to why": str}],
        **_BATCH,
    },
    "window_status": {
        "file": str,
        "model": str | None,
        "limit": lambda: shape_of(window.Limit),
        "reading": lambda: {**shape_of(window.PressureReading), "disagreement": object},
        "components": [lambda: {**shape_of(window.status.ComponentUse), "share": float}],
        "largest_results": [lambda: shape_of(window.status.Large)],
        "curve": {"points": [int], "compactions": [{"at line before": int, "trigger": str, "after": int | None}]},
        "suited_thresholds": (lambda: shape_of(window.Thresholds), None),
        "not_counted": {str: int},
        "broken_lines": int,
    },
    "window_health": {
        "file": str,
        "snapshot": lambda: shape_of(window.HealthSnapshot),
        "alerts": [_alert],
        "begun": [_alert],
        "broken_lines": int,
        "performance": (lambda: shape_of(window.Performance), None),
        "watch": [object],
        "trends": {str: lambda: shape_of(window.Trend)},
    },
    "window_fidelity": {
        "original compressed method": str,
        "min": float,
        "passed": bool,
        "counted fewest_questions checked calls original_since compressed_since": int,
        "missing": [{"kind text": str}],
        "score": float | None,
        "answers": [lambda: shape_of(window.GradedQuestion)],
    },
    "window_audit": lambda: {**shape_of(window.Summary), "model": {"asked used refused": int}},
    "window_simulation": lambda: shape_of(window.Comparison),
    "eviction": {
        "reached": bool,
        "policy model": str,
        "tokens_before tokens_after tokens_wanted tokens_freed placeholders left_out": int,
        "broken_lines": int,
        "similar_by": str | None,
        "evicted": lambda: shape_of(window.EvictionResult)["evictions"],
        "kept": lambda: shape_of(window.EvictionResult)["kept"],
        "held": {str: int},
        "uncounted": {str: int},
    },
    "compaction": {
        "reached": bool,
        "model": str,
        "tokens_before tokens_after target checked left_out broken_lines": int,
        "saved": float,
        "steps": [_step],
        "must_survive": {str: _KEPT},
        "lost": [object],
        "missing": [object],
        "uncounted": {str: int},
    },
}
