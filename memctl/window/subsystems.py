"""The subsystems of a window as a configuration wants them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks, timestamps
from memctl.window import config as configuration
from memctl.window.budget.tracking import TokenBudgetManager
from memctl.window.compression.engine import CompressionEngine
from memctl.window.compression.notes import Notes
from memctl.window.config import CrossWindow, WindowConfig
from memctl.window.eviction.engine import EvictionEngine
from memctl.window.eviction.scoring import Scoring
from memctl.window.health.alerts import RULES, AlertThresholds
from memctl.window.health.monitor import ContextHealthMonitor
from memctl.window.messages.content import ContentType, TokenCounter
from memctl.window.messages.conversation import Keep
from memctl.window.pressure.monitor import ContextPressureMonitor
from memctl.window.steps import SUB_AGENT

if TYPE_CHECKING:
    from memctl.providers.provider import Provider
    from memctl.store.memory import Memory
    from memctl.window.audit import Audit, AuditSink
    from memctl.window.compression.delegation import Dispatcher
    from memctl.window.compression.model import Ask
    from memctl.window.state.task import StateKeeper

LOG = "window.jsonl"  # the audit log of a memory's windows, beside its cache in the Git directory


def clock() -> str:
    """The time now, in UTC."""
    return timestamps.from_epoch(int(time.time()))


def counter_of(given: TokenCounter | str | None, memory: Memory | None = None) -> TokenCounter:
    """A counter as it is given, or that of a model by its name; by default of the memory's, or current Claude models.

    Raises MemctlError for a model whose tokens are not known, and for what does not count.
    """
    if given is not None and not isinstance(given, str):
        argument_checks.instance(given, TokenCounter, "counter", "the name of a model, or has a method `tokens`")
        return given
    from memctl.tokens.count import Counter
    from memctl.tokens.families import family_of

    return Counter(family_of(given or (memory.config.model if memory else "claude")))


def sink(given: Audit, now: Callable[[], str]) -> AuditSink:
    """What takes decisions, as `audit.sink_of` makes it."""
    from memctl.window import audit

    return audit.sink_of(given, now)


def keep_rules(config: WindowConfig) -> Keep | None:
    """What is to stay as it is, None if nothing is named; a protected system prompt stays anyway."""
    given = config.eviction
    types = frozenset(given.protected_types) - {ContentType.SYSTEM_PROMPT}
    found = Keep(types, frozenset(given.exclude_tools), given.keep_last)
    return None if found == Keep() else found


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
    config: WindowConfig,
    counter: TokenCounter,
    provider: Provider | Ask | None = None,
    kept: Notes | None = None,
    dispatcher: Dispatcher | None = None,
) -> CompressionEngine:
    """The compression engine of a configuration; without a provider everything is made by rules."""
    from memctl.window.compression.model import Instructions

    given = config.compression
    return CompressionEngine(
        counter,
        provider=provider,
        instructions=Instructions(given.system_prompt, given.preserve),
        dispatcher=dispatcher,
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


def health(config: WindowConfig, now: Callable[[], str] = clock) -> ContextHealthMonitor:
    """The health monitor of a configuration; `now` gives the times of its snapshots."""
    given = config.health_monitoring
    return ContextHealthMonitor(now=now, thresholds=given.alerts, metrics=given.metrics)


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
    provider: Provider | Ask | None = None,
    dispatcher: Dispatcher | None = None,
    folder: str | PathLike[str] | None = None,
    now: Callable[[], str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The arguments of a manager by its settings: with a memory one that keeps states, and a log; `more` go first.

    The settings' files are in `folder`; without one in the memory's project, or beside the file of the settings. `now`
    gives the time. Beside them `unused` has what of the settings and arguments has no effect, a line each.
    """
    config = settings(given, memory)
    place = _place(given, memory, folder)
    now = now or ((lambda: memory.now) if memory is not None else clock)
    found: dict[str, Any] = {"config": config, "now": now}
    try:
        found["budget_manager"] = budget(config)
    except ValueError as error:
        raise MemctlError(str(error), "give a larger max_context_tokens", USAGE) from None
    name = config.compression.notes_file
    kept = _notes(_named(place, "notes_file", name), name) if name else None
    found["compression_engine"] = compression(config, counter, provider, kept, dispatcher)
    found["state_manager"] = _keeper(config.cross_window, place, memory, now)
    if config.audit_file:
        found["audit"] = _named(place, "audit_file", config.audit_file) / config.audit_file
    elif memory is not None:
        found["audit"] = memory.private / LOG
    found["unused"] = tuple(_unused({**found, **more}, more, provider, dispatcher))
    return {**found, **more}


def _unused(found: Mapping[str, Any], more: Mapping[str, Any], provider: object, dispatcher: object) -> Iterator[str]:
    """What of settings and arguments has no effect, a line each."""
    config: WindowConfig = found["config"]
    eviction_, compression_, default = config.eviction, config.compression, WindowConfig()
    has_step = SUB_AGENT in compression_.cascade.values()
    is_cascade_given = compression_.cascade != default.compression.cascade
    rules: tuple[tuple[bool, str], ...] = (
        (has_step and is_cascade_given and dispatcher is None,
         "compression.cascade: sub_agent: no dispatcher is given"),
        (not has_step and dispatcher is not None, "dispatcher: compression.cascade has no sub_agent"),
        (bool(compression_.system_prompt or compression_.preserve) and provider is None,
         "compression.system_prompt and preserve: no provider is given"),
        (eviction_.weights != default.eviction.weights and eviction_.policy.value != "hybrid",
         f"eviction.weights: they are of the policy hybrid, not of {eviction_.policy.value}"),
        (eviction_.type_ttl != default.eviction.type_ttl and eviction_.policy.value not in ("hybrid", "type_based"),
         f"eviction.type_ttl: the policy {eviction_.policy.value} does not ask for it"),
        (config.cross_window.auto_save_threshold != default.cross_window.auto_save_threshold
         and found.get("state_manager") is None, "cross_window.auto_save_threshold: nothing keeps a state"),
    )  # fmt: skip
    yield from (line for holds, line in rules if holds)
    for name, section in (("eviction_engine", "eviction"), ("compression_engine", "compression"),
                          ("budget_manager", "budget"), ("pressure_monitor", "pressure"),
                          ("health_monitor", "health_monitoring")):  # fmt: skip
        if name in more and getattr(config, section) != getattr(default, section):
            yield f"{section}: {name} is given"
    if "compression_engine" in more and (provider is not None or dispatcher is not None):
        yield "provider and dispatcher: compression_engine is given"
    watched, alerts = config.health_monitoring.metrics, config.health_monitoring.alerts
    for rule in RULES:
        if rule.metric not in watched and getattr(alerts, rule.limit) != getattr(AlertThresholds(), rule.limit):
            yield f"health_monitoring.alerts.{rule.limit}: {rule.metric} is not among the metrics"


def _notes(folder: Path, name: str) -> Notes:
    from memctl.window.state import files

    return files.notes(folder, name)


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
