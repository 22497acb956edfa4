"""The shapes of the JSON that commands print about measurements: tokens, files, budgets, quality, policy, windows."""

from __future__ import annotations

from memctl import window
from memctl.cli.schemas.shapes import Shape, shape_of
from memctl.cli.schemas.work import PACK
from memctl.tokens.count import Count

_REASON = {"path": str, "reason": str}
_FILE = {
    "path": str,
    "score": float,
    "verdict": str,
    "loaded": bool,
    "left_out": str | None,
    "outline": str | None,
    "tokens": Count,
    **dict.fromkeys(("relevance", "recency", "dependency"), float),
    "reasons": [{"points": float, "why": str}],
    "blob": str,
    "bytes": int,
    "lines": int,
}
_BATCH: dict[str, Shape] = {
    "threshold": int,
    "scs": {"tokens": int, "source": str},
    "contexts": [
        {"file": str, "aws": int, "debt": ({"tokens": int, "ratio": float, "lines": [int]}, None)},
    ],
    "burst": {"planned": int, "growth": float, "over_remaining": int, "is_burst": bool},
    "remaining": int,
    "growth": float | None,
    "delta_since_last_batch": int | None,
    "measured": {str: object},
}
_POLICY_RUN = {
    "policy": str,
    **dict.fromkeys(("tokens", "saved", "peak", "evictions", "blocks_evicted", "over_budget", "regrets"), int),
    "regret_tokens": int,
    "regrets_per_100_requests": float,
    "regret_tokens_per_100_requests": float,
    "curve": [int],
}
_KEPT = {"of": int, "kept": int}


def _alert() -> Shape:
    return {"turn?": int, **shape_of(window.Alert)}


def _step() -> Shape:
    return {name: shape for name, shape in shape_of(window.Step).items() if name != "changes"}


KINDS: dict[str, Shape] = {
    "tokens": {
        "model": str,
        "total": int,
        "files": [{"file": str, "kind": str, "tokens": int, "source": str, "error": float | None}],
    },
    "calibration": {
        "dry_run": bool,
        "models": [
            {
                "model": str,
                "family": str,
                "factor": float,
                "observations": int,
                "new": int,
                **dict.fromkeys(("error", "median_error_before", "median_error_after"), float),
                "within_goal": bool,
            }
        ],
        "left_aside": [{"line": int, "reason": str}],
    },
    "summary": {
        "model": str,
        "budget": int,
        "path": str,
        "text": str,
        **dict.fromkeys(("tokens", "size", "lines", "left_out"), int),
        "of_file": Count,
    },
    "files": {
        "model": str,
        **dict.fromkeys(("window", "used", "budget", "loaded", "total"), int),
        "least": float,
        "reserve": {str: int},
        "active": [str],
        "files": [_FILE],
        "refused": [_REASON],
        "unsearched": [_REASON],
    },
    "files_pack": {**PACK, "files": [_FILE]},
    "budget": {
        "window": int,
        "profile": str,
        "types": [
            {
                "type": str,
                "title": str,
                "soft_limit": int,
                "hard_limit": int,
                "share": float,
                **dict.fromkeys(("used", "over_soft", "over_hard"), int | None),
                "parts": [{"name": str, "tokens": int}],
            }
        ],
        "measured": (
            {
                **dict.fromkeys(("level", "capacity", "action"), str),
                "responses": [str],
                **dict.fromkeys(("usable", "used", "counted", "unattributed", "free", "margin_lacks"), int),
            },
            None,
        ),
        "advice": [str],
        "memctl": [{"what": str, "tokens": int}],
        "team": (
            {
                **dict.fromkeys(("agents", "available", "shared", "own", "coordination", "effective"), int),
                "efficiency": float,
            },
            None,
        ),
        "model": str,
    },
    "quality": {
        "format": str,
        "tokens": int,
        "model": str,
        "task": str | None,
        "metrics": [lambda: shape_of(window.QualityMetric)],
        "triggers": [lambda: shape_of(window.Signal)],
        "changes": [lambda: shape_of(window.Advice)],
        "blocks": [
            {
                "title": str,
                "kind": str,
                **dict.fromkeys(("line", "end", "tokens", "weight"), int),
                "is_relevant": bool | None,
                "repeated": float,
                "stale": float,
            }
        ],
        "performance": ({str: object}, None),
    },
    "threshold": lambda: {**shape_of(window.observations.Review), "steps": [str]},
    "parallel": {
        "granted": bool,
        "criteria": [
            {
                "number": int,
                **dict.fromkeys(("name", "measured", "limit", "over", "help"), str),
                "passed": bool,
            }
        ],
        "delta": int,
        "is_delta_assumed": bool,
        **_BATCH,
    },
    "triggers": {
        "fired": [int],
        "triggers": [
            {
                "number": int,
                **dict.fromkeys(("name", "measured", "limit", "over", "action"), str),
                "fired": bool | None,
            }
        ],
        "tier": (lambda: {**shape_of(window.contexts.Tier), "is_enough": bool}, None),
        "strategies": {str: [lambda: shape_of(window.contexts.Strategy)]},
        "escalations": [{"to": str, "why": str}],
        **_BATCH,
    },
    "window_status": {
        "file": str,
        "model": str | None,
        "limit": lambda: shape_of(window.Limit),
        "reading": lambda: {**shape_of(window.PressureReading), "disagreement": object},
        "components": [lambda: {**shape_of(window.status.ComponentUse), "share": float}],
        "largest_results": [lambda: shape_of(window.status.Large)],
        "curve": {
            "points": [int],
            "compactions": [{"at": int, "line": int, "trigger": str, "before": int, "after": int | None}],
        },
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
        "original": str,
        "compressed": str,
        "min": float,
        "passed": bool,
        **dict.fromkeys(("counted", "fewest_questions", "checked", "calls", "original_since", "compressed_since"), int),
        "missing": [{"kind": str, "text": str}],
        "score": float | None,
        "method": str,
        "answers": [lambda: shape_of(window.GradedQuestion)],
    },
    "window_audit": lambda: {**shape_of(window.Summary), "model": dict.fromkeys(("asked", "used", "refused"), int)},
    "window_simulation": {
        "source": str,
        "model": str,
        "budget": int,
        "trigger": float,
        "target": float,
        "broken_lines": int,
        "requests": int,
        "unmanaged": {"tokens": int, "peak": int, "curve": [int]},
        "policies": [_POLICY_RUN],
    },
    "eviction": {
        "reached": bool,
        "policy": str,
        "model": str,
        **dict.fromkeys(("tokens_before", "tokens_after", "tokens_wanted", "tokens_freed", "placeholders"), int),
        "similar_by": str | None,
        "evicted": lambda: shape_of(window.EvictionResult)["evictions"],
        "kept": lambda: shape_of(window.EvictionResult)["kept"],
        "held": {str: int},
        "uncounted": {str: int},
        "left_out": int,
        "broken_lines": int,
    },
    "compaction": {
        "reached": bool,
        "model": str,
        **dict.fromkeys(("tokens_before", "tokens_after", "target", "checked", "left_out", "broken_lines"), int),
        "saved": float,
        "steps": [_step],
        "must_survive": {str: _KEPT},
        "lost": [object],
        "missing": [object],
        "uncounted": {str: int},
    },
}
