"""The subsystems of a window as a configuration wants them."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.providers.provider import Provider
from memctl.window import config as configuration
from memctl.window.budget.tracking import TokenBudgetManager
from memctl.window.compression.engine import CompressionEngine
from memctl.window.config import WindowConfig
from memctl.window.eviction.engine import EvictionEngine
from memctl.window.eviction.scoring import Scoring
from memctl.window.messages.content import TokenCounter
from memctl.window.pressure.monitor import ContextPressureMonitor

if TYPE_CHECKING:
    from memctl.store.memory import Memory

LOG = "window.jsonl"  # the audit log of a memory's windows, beside its cache in the Git directory


def monitor(config: WindowConfig) -> ContextPressureMonitor:
    """The pressure monitor of a configuration."""
    return ContextPressureMonitor(
        config.max_context_tokens, config.pressure.velocity_window, config.pressure.thresholds
    )


def eviction(config: WindowConfig, counter: TokenCounter) -> EvictionEngine:
    """The eviction engine of a configuration."""
    given = config.eviction
    numbers = Scoring(hybrid_weights=given.weights, type_ttl=msgspec.structs.asdict(given.type_ttl))
    return EvictionEngine(
        given.policy,
        counter=counter,
        numbers=numbers,
        protected_types=tuple(type_.value for type_ in given.protected_types),
    )


def compression(config: WindowConfig, counter: TokenCounter, provider: Provider | None = None) -> CompressionEngine:
    """The compression engine of a configuration; without a provider everything is made by rules."""
    given = config.compression
    return CompressionEngine(
        counter, provider=provider, threshold=given.summarization_threshold_tokens, cascade=given.cascade
    )


def budget(config: WindowConfig) -> TokenBudgetManager:
    """The budgets of a configuration."""
    given = config.budget
    return TokenBudgetManager(
        config.max_context_tokens, given.allocations.by_component(), soft_limit_pct=given.soft_limit_pct
    )


Given = str | PathLike[str] | Mapping[str, Any] | None


def settings(given: Given, memory: Memory | None = None) -> WindowConfig:
    """The settings of a YAML file, or as they are given; None for `window:` of a memory's config.yaml, or the defaults.

    Raises MemctlError for a file that can't be read, and for settings that are wrong.
    """
    if isinstance(given, Mapping):
        return configuration.from_values(given, "the settings given")
    if given is None:
        return configuration.from_values(memory.config.window if memory else {}, "config.yaml, window")
    try:
        text = Path(given).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise MemctlError(f"{given} can't be read: {getattr(error, 'strerror', None) or 'it is no UTF-8'}") from None
    return configuration.parse(text, str(given))


def parts(
    given: Given, counter: TokenCounter, memory: Memory | None, provider: Provider | None = None, **more: Any
) -> dict[str, Any]:
    """The arguments of a manager by its settings: with a memory one that keeps states, and a log; `more` go first."""
    config = settings(given, memory)
    found: dict[str, Any] = {"config": config}
    try:
        found["budget_manager"] = budget(config)
    except ValueError as error:
        raise MemctlError(str(error), "give a larger max_context_tokens", USAGE) from None
    if provider is not None:
        found["compression_engine"] = compression(config, counter, provider)
    if memory is not None:
        from memctl.window.audit import AuditLog
        from memctl.window.state.checkpoints import CrossWindowStateManager

        found["state_manager"] = CrossWindowStateManager(memory)
        found["audit"] = AuditLog(memory.private / LOG, now=lambda: memory.now)
    return {**found, **more}
