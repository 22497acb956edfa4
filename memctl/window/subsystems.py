"""The subsystems of a window as a configuration wants them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.providers.provider import Provider
from memctl.window import config as configuration
from memctl.window.budget.tracking import TokenBudgetManager
from memctl.window.compression.engine import CompressionEngine
from memctl.window.compression.notes import Notes
from memctl.window.config import CrossWindow, WindowConfig
from memctl.window.eviction.engine import EvictionEngine
from memctl.window.eviction.scoring import Scoring
from memctl.window.health.monitor import ContextHealthMonitor
from memctl.window.messages.content import TokenCounter
from memctl.window.pressure.monitor import ContextPressureMonitor

if TYPE_CHECKING:
    from memctl.store.memory import Memory
    from memctl.window.state.task import StateKeeper

LOG = "window.jsonl"  # the audit log of a memory's windows, beside its cache in the Git directory


def monitor(config: WindowConfig) -> ContextPressureMonitor:
    """The pressure monitor of a configuration."""
    return ContextPressureMonitor(
        config.max_context_tokens,
        config.pressure.velocity_window,
        config.pressure.thresholds,
        usual_growth=config.pressure.usual_growth,
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


def compression(
    config: WindowConfig, counter: TokenCounter, provider: Provider | None = None, kept: Notes | None = None
) -> CompressionEngine:
    """The compression engine of a configuration; without a provider everything is made by rules."""
    given = config.compression
    return CompressionEngine(
        counter,
        provider=provider,
        threshold=given.summarization_threshold_tokens,
        cascade=given.cascade,
        compaction_from=given.compaction_utilization_threshold,
        notes=kept,
    )


def budget(config: WindowConfig) -> TokenBudgetManager:
    """The budgets of a configuration: by component they warn, and only the whole window refuses.

    So rules.md#window-budget has it. With a limit of their own, results that take 12 % of a window had every later one
    summed up before the model read it, in a window that was else empty.
    """
    given = config.budget
    return TokenBudgetManager(
        config.max_context_tokens,
        given.by_component(),
        soft_limit_pct=given.soft_limit_pct,
        enforce_components=False,
    )


def health(config: WindowConfig) -> ContextHealthMonitor:
    """The health monitor of a configuration."""
    return ContextHealthMonitor(thresholds=config.health_monitoring.alerts, metrics=config.health_monitoring.metrics)


Given = str | PathLike[str] | Mapping[str, Any] | None


def settings(given: Given, memory: Memory | None = None) -> WindowConfig:
    """The settings of a YAML file, or as they are given; None for `window:` of a memory's config.yaml, or the defaults.

    Raises MemctlError for a file that can't be read, and for settings that are wrong.
    """
    if isinstance(given, Mapping):
        return configuration.from_values(given, "the settings given")
    if given is None:
        return configuration.from_values(memory.config.window if memory else {}, "config.yaml, window")
    if not isinstance(given, str | PathLike):
        raise MemctlError(f"settings are a mapping, or the name of a file, not {type(given).__name__}", exit_code=USAGE)
    if "\n" in str(given):
        raise MemctlError("settings are a mapping, or the name of a file, not what stands in it", exit_code=USAGE)
    try:
        text = Path(given).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise MemctlError(f"{given} can't be read: {getattr(error, 'strerror', None) or 'it is no UTF-8'}") from None
    return configuration.parse(text, str(given))


def parts(
    given: Given,
    counter: TokenCounter,
    memory: Memory | None,
    provider: Provider | None = None,
    folder: str | PathLike[str] | None = None,
    now: Callable[[], str] = lambda: "",
    **more: Any,
) -> dict[str, Any]:
    """The arguments of a manager by its settings: with a memory one that keeps states, and a log; `more` go first.

    The settings' files are in `folder`; without one in the memory's project, or beside the file of the settings. `now`
    gives the time for states in files.
    """
    config = settings(given, memory)
    place = _place(given, memory, folder)
    found: dict[str, Any] = {"config": config}
    try:
        found["budget_manager"] = budget(config)
    except ValueError as error:
        raise MemctlError(str(error), "give a larger max_context_tokens", USAGE) from None
    name = config.compression.notes_file
    kept = _notes(_named(place, "notes_file", name), name) if name else None
    found["compression_engine"] = compression(config, counter, provider, kept)
    found["state_manager"] = _keeper(config.cross_window, place, memory, now)
    if memory is not None:
        from memctl.window.audit import AuditLog

        found["audit"] = AuditLog(memory.private / LOG, now=lambda: memory.now)
    return {**found, **more}


def _notes(folder: Path, name: str) -> Notes:
    from memctl.window.state import notes_file

    return notes_file.in_file(folder, name)


def _keeper(
    given: CrossWindow, place: Path | None, memory: Memory | None, now: Callable[[], str]
) -> StateKeeper | None:
    """What keeps the state: a memory's checkpoints, with copies in the files that are named, or these alone."""
    keeper: StateKeeper | None = None
    if memory is not None:
        from memctl.window.state.checkpoints import CrossWindowStateManager

        keeper = CrossWindowStateManager(memory)
    name = given.state_file or given.progress_file
    if not name:
        return keeper
    from memctl.window.state.files import StateFiles

    if keeper is None and not given.state_file:
        raise MemctlError("cross_window.progress_file tells a state that nothing keeps", "name a state_file", USAGE)
    folder = _named(place, "state_file" if given.state_file else "progress_file", name)
    return StateFiles(folder, given.state_file, given.progress_file, now=now, keeper=keeper)


def _place(given: Given, memory: Memory | None, folder: str | PathLike[str] | None) -> Path | None:
    if folder is not None:
        return Path(folder)
    if memory is not None:
        return memory.folder.parent
    return None if given is None or isinstance(given, Mapping) else Path(given).parent


def _named(place: Path | None, key: str, name: str) -> Path:
    if place is None:
        raise MemctlError(f"{key} is {name!r}, and nothing says in which folder", "give from_config a folder", USAGE)
    return place
