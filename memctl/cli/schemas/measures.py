"""The shapes of the JSON that commands print about measurements: tokens, files, budgets, quality, policy, windows."""

from __future__ import annotations

from memctl.cli.schemas.shapes import Shape
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
_ALERT = {
    "turn?": int,
    **dict.fromkeys(("level", "metric", "message", "kind", "action"), str),
    "value": float,
    "limit": float,
}
_TREND = {"direction": str, "slope": float, "mean": float | None, "samples": int}
_POLICY_RUN = {
    "policy": str,
    **dict.fromkeys(("tokens", "saved", "peak", "evictions", "blocks_evicted", "over_budget", "regrets"), int),
    "regret_tokens": int,
    "regrets_per_100_requests": float,
    "regret_tokens_per_100_requests": float,
    "curve": [int],
}
_KEPT = {"of": int, "kept": int}

_RATES = ("utilization_pct", "velocity_tokens_per_turn", "forecast_tokens_per_turn", "usual_tokens_per_turn")
_SHARES = ("utilization", "eviction_rate", "compression_ratio", "fidelity_score", "tool_result_bloat")

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
        "metrics": [
            {
                "name": str,
                "value": float | None,
                "target": float,
                "wanted": str,
                "is_met": bool | None,
                "how": str,
                "unit": str,
            }
        ],
        "triggers": [
            {**dict.fromkeys(("name", "group", "measured", "limit", "why"), str), "fired": bool | None},
        ],
        "changes": [
            {**dict.fromkeys(("metric", "action", "title", "why"), str), "line": int, "end": int, "saves": int},
        ],
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
    "threshold": {
        "observations": int,
        "since": str,
        "until": str,
        **dict.fromkeys(("threshold", "largest_delta", "requests", "macro_summaries", "no_ops"), int),
        "median": float,
        "denial_rate": float,
        "decision": str,
        "why": str,
        "proposal": int | None,
        "steps": [str],
    },
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
        "tier": (
            {"name": str, "most": int, "needs": int, "reduction": float, "why": str, "is_enough": bool},
            None,
        ),
        "strategies": {str: [{"number": int, "name": str, "saves": int, "lines": [int]}]},
        "escalations": [{"to": str, "why": str}],
        **_BATCH,
    },
    "window_status": {
        "file": str,
        "model": str | None,
        "limit": {"window": int, "usable": int, "source": str, "is_guessed": bool, "is_assumed": bool},
        "reading": {
            "current_tokens": int,
            "max_tokens": int,
            "zone": str,
            "source": str,
            "forecast_turns": int,
            **dict.fromkeys(
                (*_RATES, "burn_rate_tokens_per_turn"),
                float,
            ),
            "turns_until_red": ({"least": float, "likely": float, "most": float}, None),
            "disagreement": object,
        },
        "components": [{"components": [str], "used": int, "limit": int, "share": float}],
        "largest_results": [{"tool": str, "about": str, "tokens": int, "turn": int, "line": int}],
        "curve": {
            "points": [int],
            "compactions": [{"at": int, "line": int, "trigger": str, "before": int, "after": int | None}],
        },
        "suited_thresholds": ({"yellow": float, "orange": float, "red": float}, None),
        "not_counted": {str: int},
        "broken_lines": int,
    },
    "window_health": {
        "file": str,
        "snapshot": {
            "timestamp": str,
            "window_id": int,
            "turn": int,
            **dict.fromkeys(
                (
                    *("utilization", "eviction_rate", "compression_ratio", "burn_rate", "fidelity_score"),
                    "tool_result_bloat",
                ),
                float | None,
            ),
        },
        "alerts": [_ALERT],
        "begun": [_ALERT],
        "broken_lines": int,
        "performance": (
            {
                "parts": [
                    {
                        "requests": int,
                        "tokens": int,
                        "seconds": float | None,
                        "results": int,
                        "failed": int,
                    }
                ],
                "not_measured": [str],
            },
            None,
        ),
        "watch": [object],
        "trends": {str: _TREND},
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
        "answers": [
            {
                "question": {"ask": str, "category": str, "facts": [str], "said": str},
                "kept": bool,
                "note": str,
                "lost": [str],
                "original": str,
                "compressed": str,
            }
        ],
    },
    "window_audit": {
        "decisions": int,
        "turns": int,
        "events": {str: int},
        "steps": {str: {"times": int, "refused": int, "wanted": int, "freed": int}},
        "worth": {
            str: {
                "blocks": int,
                "tokens": int,
                "again": int,
                "score": float | None,
                "score_again": float | None,
            }
        },
        "reasons": {str: int},
        "model": {"asked": int, "used": int, "refused": int},
        "results": {str: int},
    },
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
        "evicted": [
            {
                **dict.fromkeys(("block_id", "content_type", "tool_name"), str),
                **dict.fromkeys(("turn", "before", "after"), int),
                "score": float | None,
            }
        ],
        "kept": [{"block_id": str, "tokens": int, "why": str, "score": float | None}],
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
        "steps": [
            {
                **dict.fromkeys(("name", "refused", "note", "policy"), str),
                **dict.fromkeys(("before", "after", "wanted", "llm_calls", "llm_used", "llm_refused"), int),
                "fidelity": float | None,
                "blocks": int | None,
            }
        ],
        "must_survive": {str: _KEPT},
        "lost": [object],
        "missing": [object],
        "uncounted": {str: int},
    },
}
