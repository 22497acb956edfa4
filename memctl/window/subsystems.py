"""Makes the parts of a window's manager, such as its pressure monitor, from the settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.record import argument_checks
from memctl.text import timestamps
from memctl.window import config as configuration
from memctl.window.budget.token_budget import TokenBudgetManager
from memctl.window.compression.engine import CompressionEngine
from memctl.window.config import WindowConfig
from memctl.window.eviction.engine import EvictionEngine
from memctl.window.eviction.scores import Scoring
from memctl.window.health import METRICS, AlertThresholds, ContextHealthMonitor
from memctl.window.messages.content import ContentType, TokenCounter
from memctl.window.messages.conversation import Keep
from memctl.window.pressure.monitor import ContextPressureMonitor
from memctl.window.steps import SUB_AGENT, EvictionPolicy

if TYPE_CHECKING:
    from memctl.providers.provider import Provider
    from memctl.store.memory import Memory
    from memctl.window.compression.model import Ask
    from memctl.window.compression.notes import Notes
    from memctl.window.compression.sub_agent import Dispatcher
    from memctl.window.eviction.references import Embed
    from memctl.window.state.store import StateKeeper

LOG = "window.jsonl"  # the audit log of a memory's windows, beside its cache in the Git directory
_SECTIONS = {
    "eviction_engine": "eviction", "compression_engine": "compression", "budget_manager": "budget",
    "pressure_monitor": "pressure", "health_monitor": "health_monitoring",
}  # fmt: skip
Given = str | PathLike[str] | Mapping[str, Any] | None


def clock() -> str:
    """Return the present time in UTC, such as `2025-11-04T09:00:00Z`."""
    return timestamps.from_epoch(int(time.time()))


def counter_of(given: TokenCounter | str | None, memory: Memory | None = None) -> TokenCounter:
    """Return a counter of tokens: `given` itself, or the counter for the model with the name `given`.

    None for `given` stands for the model in the memory's settings, or without a memory for Claude models. Raises
    MemctlError for an unknown model, and for an object that can't count tokens.
    """
    if given is not None and not isinstance(given, str):
        argument_checks.instance(
            given, TokenCounter, "counter", "the name of a model, or an object with a method `tokens`"
        )
        return given
    from memctl.tokens.count import Counter
    from memctl.tokens.families import family_of

    return Counter(family_of(given or (memory.config.model if memory else "claude")))


def keep_rules(config: WindowConfig) -> Keep | None:
    """Return the rules on which blocks must stay in the window, from the settings; None if there are none.

    The settings are `protected_types`, `exclude_tools` and `keep_last`. The system prompt needs no rule to stay.
    """
    section = config.eviction
    types = frozenset(section.protected_types) - {ContentType.SYSTEM_PROMPT}
    rules = Keep(types, frozenset(section.exclude_tools), section.keep_last)
    return None if rules == Keep() else rules


def monitor(config: WindowConfig) -> ContextPressureMonitor:
    """Return the pressure monitor for a window's manager, made from the settings."""
    section, size = config.pressure, config.max_context_tokens
    return ContextPressureMonitor(size, section.velocity_window, section.thresholds, usual_growth=section.usual_growth)


def eviction(config: WindowConfig, counter: TokenCounter, embed: Embed | None = None) -> EvictionEngine:
    """Return the eviction engine for a window's manager, made from the settings.

    `embed` is a function that returns the vectors of texts, which the policy `semantic_merge` compares.
    """
    section = config.eviction
    numbers = Scoring(hybrid_weights=section.weights, type_ttl=msgspec.structs.asdict(section.type_ttl))
    types = section.protected_types
    return EvictionEngine(section.policy, counter=counter, numbers=numbers, protected_types=types, embed=embed)


def compression(
    config: WindowConfig,
    counter: TokenCounter,
    provider: Provider | Ask | None = None,
    notes: Notes | None = None,
    dispatcher: Dispatcher | None = None,
) -> CompressionEngine:
    """Return the compression engine for a window's manager, made from the settings.

    `provider` is a language model; without it the engine works by rules alone. `notes` are the agent's notes, and
    `dispatcher` is a function that starts sub-agents.
    """
    section = config.compression
    engine = CompressionEngine(
        counter, provider=provider, dispatcher=dispatcher, threshold=section.summarization_threshold_tokens,
        cascade=section.cascade, compaction_from=section.compaction_utilization_threshold, notes=notes,
    )  # fmt: skip
    if engine.model is not None:
        from memctl.window.compression.model import Instructions

        engine.model.instructions = Instructions(section.system_prompt, section.preserve)
    return engine


def budget(config: WindowConfig) -> TokenBudgetManager:
    """Return the budget manager for a window's manager, made from the settings.

    The budget manager refuses tokens only if the whole window has no room for them. If just a component exceeds its
    limit, the budget manager only warns. Otherwise tools' results beyond their share of 12 % would be summed up before
    the model reads them, even in an empty window (rules.md#window-budget). Raises MemctlError for a window that is too
    small.
    """
    section, size = config.budget, config.max_context_tokens
    how: dict[str, Any] = {"soft_limit_pct": section.soft_limit_pct, "enforce_components": False}
    try:
        return TokenBudgetManager(size, section.by_component(), **how)
    except ValueError as error:
        raise MemctlError(str(error), "give a larger max_context_tokens", USAGE) from None


def health(config: WindowConfig, now: Callable[[], str] = clock) -> ContextHealthMonitor:
    """Return the health monitor for a window's manager, made from the settings.

    `now` returns the present time, which the monitor stores with each measurement.
    """
    section = config.health_monitoring
    return ContextHealthMonitor(now=now, thresholds=section.alerts, metrics=section.metrics)


def settings(given: Given, memory: Memory | None = None) -> WindowConfig:
    """Return a window's settings from `given`, which is the path of a YAML file, or a mapping.

    None stands for the key `window` in the config.yaml of `memory`, or without a memory for the defaults. Raises
    MemctlError for a file that can't be read, and for wrong settings.
    """
    if isinstance(given, Mapping):
        return configuration.from_values(given, "the settings given")
    if given is None:
        return configuration.from_values(memory.config.window if memory else {}, "config.yaml, window")
    if not isinstance(given, str | PathLike) or "\n" in str(given):
        what = "the text of a file" if isinstance(given, str) else type(given).__name__
        raise MemctlError(f"the settings must be a mapping or the name of a file, not {what}", exit_code=USAGE)
    try:
        text = Path(given).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise MemctlError(f"{given} can't be read: {getattr(error, 'strerror', None) or 'it is not UTF-8'}") from None
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
    """Return the arguments with which to make a ContextWindowManager, by name, from settings.

    `given` are the settings: the path of a YAML file, a mapping, or None for those of `memory`. `counter` counts
    tokens, `provider` is a language model, `dispatcher` is a function that starts sub-agents, and `now` returns the
    present time. With a memory, the state of the task is stored in its checkpoints, and the manager's decisions in a
    log in its Git directory. Arguments in `more` are passed on, and replace those made from settings.

    Files that the settings name are in `folder`. If that is None, they are in the memory's project, or without a memory
    in the folder of the settings' file. The key `unused` of the result has a line for each setting or argument that has
    no effect. Raises MemctlError for wrong settings, and if the settings name a file but there is no folder for it.
    """
    config = settings(given, memory)
    now = now or ((lambda: memory.now) if memory is not None else clock)

    def place(key: str, name: str) -> Path:
        if folder is not None or memory is not None:
            return Path(folder) if folder is not None else memory.folder.parent  # type: ignore[union-attr]
        if isinstance(given, str | PathLike):
            return Path(given).parent
        raise MemctlError(
            f"{key} is {name!r}, which needs a folder", "give that folder: `from_config(…, folder=PATH)`", USAGE
        )

    arguments: dict[str, Any] = {"config": config, "now": now}
    notes, unused = None, []
    if name := config.compression.notes_file:
        from memctl.window.state import store

        notes = store.notes_in(place("notes_file", name), name)
    arguments["compression_engine"] = compression(config, counter, provider, notes, dispatcher)
    if memory is not None and memory.semantic_model and config.eviction.policy is EvictionPolicy.SEMANTIC_MERGE:
        from memctl.search import embeddings

        try:
            arguments["eviction_engine"] = eviction(config, counter, embeddings.load(memory.semantic_model).vectors)
        except MemctlError as error:
            unused.append(error.message)
    arguments["state_manager"] = _keeper(config, place, memory, now)
    if name := config.audit_file:
        arguments["audit"] = place("audit_file", name) / name
    elif memory is not None:
        arguments["audit"] = memory.private / LOG
    unused += _unused({**arguments, **more}, more, provider, dispatcher, has_memory=memory is not None)
    return {**arguments, **more, "unused": tuple(unused)}


def _unused(
    arguments: Mapping[str, Any], more: Mapping[str, Any], provider: object, dispatcher: object, *, has_memory: bool
) -> Iterator[str]:
    config: WindowConfig = arguments["config"]
    goes, shrinks, default = config.eviction, config.compression, WindowConfig()
    policy, has_step = goes.policy.value, SUB_AGENT in shrinks.cascade.values()
    save_at, usual_save_at = config.cross_window.auto_save_threshold, default.cross_window.auto_save_threshold
    files = [name for name in ("state_file", "progress_file") if getattr(config.cross_window, name)]
    rules: tuple[tuple[bool, str], ...] = (
        (has_step and shrinks.cascade != default.compression.cascade and dispatcher is None,
         "compression.cascade: its step sub_agent needs a dispatcher, and none is given"),
        (not has_step and dispatcher is not None, "dispatcher: compression.cascade has no sub_agent step that uses it"),
        (bool(shrinks.system_prompt or shrinks.preserve) and provider is None,
         "compression.system_prompt and preserve: only a provider uses them, and none is given"),
        (goes.weights != default.eviction.weights and policy != "hybrid",
         f"eviction.weights: only the policy hybrid uses them, not {policy}"),
        (goes.type_ttl != default.eviction.type_ttl and policy not in ("hybrid", "type_based"),
         f"eviction.type_ttl: only the policies hybrid and type_based use it, not {policy}"),
        (save_at != usual_save_at and arguments.get("state_manager") is None,
         "cross_window.auto_save_threshold: no state is saved without a memory or a state_file"),
        (bool(files) and has_memory,
         f"cross_window.{' and '.join(files)}: the state is stored in the memory's checkpoints, not in a file"),
        ("compression_engine" in more and (provider is not None or dispatcher is not None),
         "provider and dispatcher: not used, since the given compression_engine has its own"),
    )  # fmt: skip
    yield from (line for holds, line in rules if holds)
    for name, section in _SECTIONS.items():
        if name in more and getattr(config, section) != getattr(default, section):
            yield f"{section}: not used, since the given {name} has its own settings"
    watched, alerts = config.health_monitoring.metrics, config.health_monitoring.alerts
    for name, metric in METRICS.items():
        is_own = metric.limit and getattr(alerts, metric.limit) != getattr(AlertThresholds(), metric.limit)
        if is_own and name not in watched:
            yield f"health_monitoring.alerts.{metric.limit}: {name} is not one of health_monitoring.metrics"


def _keeper(
    config: WindowConfig, place: Callable[[str, str], Path], memory: Memory | None, now: Callable[[], str]
) -> StateKeeper | None:
    section = config.cross_window
    if memory is not None:
        from memctl.window.state.checkpoints import CrossWindowStateManager

        return CrossWindowStateManager(memory)
    if section.progress_file and not section.state_file:
        raise MemctlError(
            "cross_window.progress_file needs a state_file, else there is no saved state to describe",
            "set cross_window.state_file, too",
            USAGE,
        )
    if not section.state_file:
        return None
    from memctl.window.state.store import StateFiles

    return StateFiles(place("state_file", section.state_file), section.state_file, section.progress_file, now=now)
