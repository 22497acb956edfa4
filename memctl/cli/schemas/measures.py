"""The shapes of the JSON that commands print about measurements: tokens, files, budgets, quality, policy, windows."""

from __future__ import annotations

from memctl.cli.schemas.shapes import NAME, Fields, Shape
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
    "threshold=batch.facts.threshold": int,
    "scs=batch.facts.shared": {"tokens": int, "source": str},
    "contexts=batch.debts": [
        {"file=0.name": str, "aws=0.tokens": int, "debt=1": ({"tokens": int, "ratio": float, "lines": [int]}, None)}
    ],
    "burst=batch.facts.burst": {"planned": int, "growth": float, "is_burst": bool, "over_remaining=over": int},
    "remaining=batch.remaining": int,
    "growth=batch.facts.growth": float | None,
    "delta_since_last_batch=batch.facts.aws_delta": int | None,
    "measured=batch.measured_values": {str: object},
}
# Of a conversation's file: parts of which memctl knows neither text nor size, by type of content; a transcript's tool
# calls without a result and results without a call, which do not become messages; and lines that can't be read.
_REST: dict[str, Shape] = {
    "uncounted=seen.conversation.uncounted": {str: int},
    "left_out=seen.transcript.left_out broken_lines=seen.transcript.broken": int,
}
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
        "granted": bool,
        "criteria": [{"number": int, "name measured limit over help": str, "passed": bool}],
        "delta=batch.facts.delta": int,
        "is_delta_assumed=batch.facts.is_delta_assumed": bool,
        **_BATCH,
    },
    "triggers": {
        "fired": [int],
        "triggers": [
            {"number": int, "name measured limit over": str, "fired=exceeded": bool | None, "action=help": str}
        ],
        "tier": ({"*": Fields("memctl.window.contexts.Tier"), "is_enough": bool}, None),
        "strategies": {str: [Fields("memctl.window.contexts.Strategy")]},
        "escalations": [{"to=name why=help": str}],
        **_BATCH,
    },
    "window_status": {
        "file": NAME,
        "model=seen.model": str | None,
        "limit": Fields("memctl.window.Limit"),
        "reading=result.reading": {"*": Fields("memctl.window.PressureReading"), "disagreement": object},
        "components": [{"*=0": Fields("memctl.window.status.ComponentUse"), "share=1": float}],
        "largest_results=result.largest": [Fields("memctl.window.status.Large")],
        "curve=seen.curve": {
            "points": [int],
            "compactions": [{"at line": int, "trigger": str, "before": int, "after": int | None}],
        },
        "suited_thresholds": (Fields("memctl.window.Thresholds"), None),
        "not_counted=seen.conversation.uncounted": {str: int},
        "broken_lines=seen.transcript.broken": int,
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
        "reached=result.is_reached": bool,
        "policy=result.policy_used.value model": str,
        "tokens_before=seen.conversation.tokens tokens_after": int,
        "tokens_wanted=result.target_free_tokens tokens_freed=result.tokens_freed": int,
        "placeholders=result.placeholders_generated": int,
        "similar_by=result.similar_by": str | None,
        "evicted=result.evictions": [Fields("memctl.window.eviction.engine.ChangedBlock")],
        "kept=result.kept": [Fields("memctl.window.eviction.engine.KeptBlock")],
        "held=result.held": {str: int},
        **_REST,
    },
    "compaction": {
        "reached=reduction.cascade.is_reached": bool,
        "model": str,
        "tokens_before=seen.conversation.tokens tokens_after=reduction.conversation.tokens": int,
        "target=reduction.cascade.target": int,
        "saved": float,
        "steps=reduction.cascade.steps": [Fields("memctl.window.Step", ("changes",))],
        "must_survive=reduction.by_kind": {str: {"of=0 kept=1": int}},
        "lost=reduction.lost": [object],
        "checked=reduction.number_listed": int,
        "missing=reduction.missed": [object],
        **_REST,
    },
}
