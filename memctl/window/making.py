"""The subsystems of a window as a configuration wants them."""

from __future__ import annotations

import msgspec

from memctl.window.budget import TokenBudgetManager
from memctl.window.compression import CompressionEngine
from memctl.window.config import WindowConfig
from memctl.window.content import TokenCounter
from memctl.window.eviction import EvictionEngine
from memctl.window.pressure import ContextPressureMonitor
from memctl.window.scoring import HybridWeights, Scoring


def monitor(config: WindowConfig) -> ContextPressureMonitor:
    """The pressure monitor of a configuration."""
    return ContextPressureMonitor(
        config.max_context_tokens, config.pressure.velocity_window, config.pressure.thresholds
    )


def eviction(config: WindowConfig, counter: TokenCounter) -> EvictionEngine:
    """The eviction engine of a configuration."""
    given = config.eviction
    weights = HybridWeights(**msgspec.structs.asdict(given.weights))
    numbers = Scoring(hybrid_weights=weights, type_ttl=msgspec.structs.asdict(given.type_ttl))
    return EvictionEngine(given.policy, counter=counter, numbers=numbers, protected_types=given.protected_types)


def compression(config: WindowConfig, counter: TokenCounter) -> CompressionEngine:
    """The compression engine of a configuration, without a model."""
    given = config.compression
    return CompressionEngine(counter, threshold=given.summarization_threshold_tokens, cascade=given.cascade)


def budget(config: WindowConfig) -> TokenBudgetManager:
    """The budgets of a configuration."""
    given = config.budget
    return TokenBudgetManager(
        config.max_context_tokens, given.allocations.by_component(), soft_limit_pct=given.soft_limit_pct
    )
