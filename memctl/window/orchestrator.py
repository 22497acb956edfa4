"""The manager of a context window: six subsystems behind four hooks for an agent's loop.

For example (rules.md#window-manager):

    manager = ContextWindowManager(counter, config, task_goal="Migrate the pool")
    start = manager.on_turn_start(messages)          # before each request
    response = model(start.messages)
    manager.on_turn_end(response_tokens)             # after it
    shown = manager.on_tool_result(name, output)     # after each call of a tool

Each subsystem is the caller's to give and works alone; what is not given is made from the configuration. The manager
works on the messages themselves; nothing is tried again that has just gained nothing, and what was evicted is given
back to the budget.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.record import argument_checks
from memctl.record.task_state import TaskState
from memctl.tokens.model_windows import AGAIN, ORANGE_AT, TARGET
from memctl.window import subsystems
from memctl.window.audit import AuditLog
from memctl.window.budget import accounting
from memctl.window.budget.profiles import BudgetComponent
from memctl.window.budget.tracking import TokenBudgetManager
from memctl.window.compression.engine import CompressionEngine, expect_result
from memctl.window.compression.result import LEAST_GAIN, CompressionStrategy
from memctl.window.config import WindowConfig
from memctl.window.eviction.engine import EvictionEngine
from memctl.window.eviction.lossless import LosslessEviction
from memctl.window.health.alerts import HealthSnapshot
from memctl.window.health.monitor import ContextHealthMonitor
from memctl.window.hook_results import STATUS_OF, Action, Managed, ToolResult, TurnStart, WindowStatus
from memctl.window.messages.content import TokenCounter
from memctl.window.messages.conversation import Conversation
from memctl.window.preservation import essentials
from memctl.window.pressure.monitor import ContextPressureMonitor, PressureZone
from memctl.window.state.bootstrap import LEAVE
from memctl.window.state.bootstrap import room as room_beside
from memctl.window.state.succession import Succession
from memctl.window.state.task import StateKeeper

if TYPE_CHECKING:
    from memctl.store.memory import Memory

EMERGENCY = 0.95  # of what can be filled; rules.md#window-manager


class ContextWindowManager:
    """Keeps a conversation within its window.

    `counter` counts as the model does; `config.max_context_tokens` is what can be filled before the host compacts.
    `state_manager` keeps checkpoints, `audit` writes decisions down as long as it can; without them neither is done.
    """

    def __init__(
        self,
        counter: TokenCounter,
        config: WindowConfig | None = None,
        *,
        pressure_monitor: ContextPressureMonitor | None = None,
        eviction_engine: EvictionEngine | None = None,
        compression_engine: CompressionEngine | None = None,
        budget_manager: TokenBudgetManager | None = None,
        state_manager: StateKeeper | None = None,
        health_monitor: ContextHealthMonitor | None = None,
        audit: AuditLog | None = None,
        task_goal: str = "",
        task_success_criteria: Sequence[str] = (),
        on_status_change: Callable[[WindowStatus, WindowStatus], None] | None = None,
        on_overflow_detected: Callable[[TaskState], None] | None = None,
    ) -> None:
        self.config = config or WindowConfig()
        argument_checks.instance(
            self.config, WindowConfig, "config", "a WindowConfig", "from_config takes other settings"
        )
        self.counter = counter
        self.pressure_monitor = pressure_monitor or subsystems.monitor(self.config)
        self.eviction_engine = eviction_engine or subsystems.eviction(self.config, counter)
        self.compression_engine = compression_engine or subsystems.compression(self.config, counter)
        self.budget_manager = budget_manager or subsystems.budget(self.config)
        self.health_monitor = health_monitor or subsystems.health(self.config)
        self.audit = audit
        self._succession = Succession(state_manager, task_goal, task_success_criteria)
        self.on_status_change = on_status_change
        self.on_overflow_detected = on_overflow_detected
        self.status = WindowStatus.HEALTHY
        self.turn_count, self._fruitless_at = 0, 0  # the latter are tokens at which nothing was gained
        self._last_used: Mapping[BudgetComponent, int] = {}

    @classmethod
    def from_config(
        cls, given: subsystems.Given, counter: TokenCounter, memory: Memory | None = None, **more: Any
    ) -> ContextWindowManager:
        """A manager by the settings of a YAML file, or as they are given; None for those of `memory`, or the defaults.

        With a memory the state of the task is kept in its checkpoints, and decisions in a log in its Git directory.
        `more` are the other arguments of the class, a `provider` (a language model), and for files that the settings
        name a `folder` and `now`, which gives the time. Raises MemctlError.
        """
        return cls(counter, **subsystems.parts(given, counter, memory, **more))

    @property
    def windows_created(self) -> int:
        """Which of the task's windows this is; the first is 1, and those of earlier runs count."""
        return self._succession.window

    def on_turn_start(self, messages: Any, model_reported_tokens: int | None = None) -> TurnStart:
        """Before each request: judge the pressure, do what the zone calls for, give back the messages to send.

        `model_reported_tokens` is the size of these messages as the model reports it, or as the last usage it reported
        with what was added since; it goes before the client's own count.
        """
        self.turn_count += 1
        conversation = Conversation.parse(messages, self.counter)
        self._succession.observe(conversation.blocks)
        reading = self.pressure_monitor.measure(conversation.tokens, model_reported_tokens)
        before = self.pressure_monitor.utilization()
        accounting.settle(self.budget_manager, conversation)
        self._set_status(reading.zone)
        self._save_in_time(conversation, before)
        start = TurnStart(Action.NONE, messages, reading, before, before)
        is_fruitless = conversation.tokens < self._again_at()
        if before >= EMERGENCY or (self.budget_manager.needs_emergency_compaction and not is_fruitless):
            return self._emergency(conversation, start)
        if reading.zone in (PressureZone.ORANGE, PressureZone.RED):
            return self._manage(conversation, start)
        if reading.zone is PressureZone.YELLOW:
            return self._evaluate(conversation, start)
        return start

    def set_progress(
        self, *, done: Sequence[str] = (), current: str = "", planned: Sequence[str] | None = None
    ) -> None:
        """Say how far the task is: steps that are done, the one that is worked on, and those planned besides.

        What is done stays so. Planned steps that are not named any more are dropped; without `planned` they stay. The
        next save has it, and whatever the next window begins with.
        """
        self._succession.set_progress(done, current, planned)

    def on_turn_end(self, response_tokens: int) -> HealthSnapshot:
        """After each request: count the answer, take a snapshot of the window's health, tell of alarms."""
        self.budget_manager.track(BudgetComponent.MESSAGE_HISTORY, response_tokens)
        current = {part: budget.used for part, budget in self.budget_manager.budgets.items()}
        grown = {part: max(used - self._last_used.get(part, 0), 0) for part, used in current.items()}
        self.budget_manager.record_turn(grown)
        self._last_used = current
        self.pressure_monitor.update(response_tokens)
        snapshot = self.health_monitor.collect(
            self.pressure_monitor, self.budget_manager, window_id=self.windows_created
        )
        self._log("health", "snapshot", after=msgspec.to_builtins(snapshot))
        return snapshot

    def on_tool_result(self, tool_name: str, result: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """After each call of a tool: the text to put into the window.

        A result goes in whole while there is room, for the model has not read it yet: older ones go at a turn's start.
        One of more than the threshold's tokens that would bring the orange zone, or has no room, is summed up.
        """
        expect_result(tool_name, result, arguments)
        component = BudgetComponent.TOOL_RESULTS
        tokens = self.counter.tokens(result, "log")
        verdict = self.budget_manager.check_before_add(component, tokens)
        is_pressing = self.pressure_monitor.zone_with(tokens) in (PressureZone.ORANGE, PressureZone.RED)
        shown, note = ToolResult(result, tokens, tokens), verdict.warning
        if is_pressing or not verdict.allowed:
            made = self.compression_engine.compress_tool_result(tool_name, result, arguments)
            if made.refused:
                note = made.refused
            else:
                shown = ToolResult(made.compressed_content, made.compressed_tokens, tokens)
                self.health_monitor.record_compression(made.original_tokens, made.compressed_tokens)
                verdict = self.budget_manager.check_before_add(component, shown.tokens)
                note = verdict.warning
        self.budget_manager.track(component, shown.tokens)
        self.pressure_monitor.update(shown.tokens)
        shown = msgspec.structs.replace(shown, allowed=verdict.allowed, note=verdict.reason or note)
        decision = "summed up" if shown.tokens < tokens else "taken whole"
        self._log("tool_result", decision, reason=shown.note, before={"tokens": tokens}, after={"tokens": shown.tokens},
                  details={"tool": tool_name})  # fmt: skip
        return shown

    def on_overflow(self, messages: Any) -> TurnStart:
        """When the window can't be kept: save the state, and give what a new window begins with."""
        conversation = Conversation.parse(messages, self.counter)
        reading = self.pressure_monitor.measure(conversation.tokens)
        self._set_status(PressureZone.RED)
        utilization = self.pressure_monitor.utilization()
        return self._leave(conversation, TurnStart(Action.NONE, messages, reading, utilization, utilization))

    def get_status_report(self) -> dict[str, Any]:
        """All subsystems in one, as plain values."""
        return {
            "window_status": self.status.value,
            "turn": self.turn_count,
            "windows_created": self.windows_created,
            "utilization": round(self.pressure_monitor.utilization(), 3),
            "budget_report": msgspec.to_builtins(self.budget_manager.report()),
            "alerts": [msgspec.to_builtins(alert) for alert in self.health_monitor.check_alerts()],
            "decisions_missed": self.audit.missed if self.audit else 0,
        }

    def _evaluate(self, conversation: Conversation, start: TurnStart) -> TurnStart:
        """The yellow zone: which blocks would go, and nothing goes."""
        free = conversation.tokens - int(TARGET * conversation.tokens / max(start.utilization_before, TARGET))
        result = self.eviction_engine.evict(conversation.blocks, max(free, 1), conversation.current_turn)
        candidates = tuple(block.block_id for block in result.blocks_evicted)
        self._log("pressure", "evaluate", details={"candidates": list(candidates)})
        return msgspec.structs.replace(start, action=Action.EVALUATE, candidates=candidates)

    def _manage(self, conversation: Conversation, start: TurnStart) -> TurnStart:
        """The orange zone: eviction and compression down to the target, unless that has just gained nothing."""
        most = self._again_at()
        if conversation.tokens < most:
            why = f"the last try gained less than {LEAST_GAIN:.0%}; the next is made at {most:,} tokens"
            return msgspec.structs.replace(start, reason=why)
        managed = self._cascade(conversation, start)
        return self._after(conversation, managed, start, Action.MANAGE)

    def _emergency(self, conversation: Conversation, start: TurnStart) -> TurnStart:
        """Above 95 %, or without room for an answer: compact whatever the cascade says; where that does not help, the
        window is left. A window so small that this comes before its orange zone is first managed as there."""
        managed = self._cascade(conversation, start)
        line = accounting.answer_line(self.budget_manager) * conversation.tokens
        if start.utilization_before < ORANGE_AT and managed.conversation.tokens * start.utilization_before <= line:
            return self._after(conversation, managed, start, Action.MANAGE)
        if not any(one.strategy is CompressionStrategy.COMPACTION for one in managed.results):
            wanted = essentials.of_blocks(conversation.blocks)
            step = self.compression_engine.compact_conversation(managed.conversation, wanted)
            managed = Managed(step.conversation, managed.evicted, [*managed.results, step.result])
        done = self._after(conversation, managed, start, Action.EMERGENCY_COMPACTION)
        if done.utilization_after < LEAVE:
            return done
        return self._leave(conversation, done)

    def _cascade(self, conversation: Conversation, start: TurnStart) -> Managed:
        """Eviction and compression, in the order of what they cost. Targets are in the counter's tokens."""
        size = accounting.managed_window(conversation, start.utilization_before, self.budget_manager)
        evict = LosslessEviction(self.eviction_engine, self.counter, essentials.of_blocks(conversation.blocks))
        done = self.compression_engine.execute_cascade(conversation, max(int(size), 1), int(size * TARGET), evict)
        return Managed(done.conversation, evict.number, done.results)

    def _after(self, before: Conversation, managed: Managed, start: TurnStart, action: Action) -> TurnStart:
        """Take a managed conversation over: budgets, pressure, health, audit."""
        after = managed.conversation
        gained = before.tokens - after.tokens
        self._fruitless_at = before.tokens if gained < LEAST_GAIN * before.tokens else 0
        if gained:
            self.pressure_monitor.update(-round(gained * start.reading.current_tokens / max(before.tokens, 1)))
        accounting.settle(self.budget_manager, after)
        self.health_monitor.record_eviction(managed.evicted)
        for result in managed.results:
            if not result.refused:
                self.health_monitor.record_compression(result.original_tokens, result.compressed_tokens)
                self.health_monitor.record_fidelity(result.fidelity_score)
        utilization = self.pressure_monitor.utilization()
        self._log(
            "management",
            action.value,
            before={"tokens": before.tokens, "utilization": round(start.utilization_before, 3)},
            after={"tokens": after.tokens, "utilization": round(utilization, 3)},
            details=managed.told,
        )
        return msgspec.structs.replace(
            start,
            action=action,
            messages=after.given,
            utilization_after=utilization,
            evicted_blocks=managed.evicted,
            results=tuple(managed.results),
        )

    def _leave(self, conversation: Conversation, start: TurnStart) -> TurnStart:
        """Save the state for a new window. Raises MemctlError for a task that no window of this size has room for."""
        saved = self._succession.save(conversation.blocks)
        self._log("overflow", Action.CROSS_WINDOW_SAVE.value, reason=saved.why_not, details={"checkpoint": saved.id})
        blocks, size = conversation.blocks, accounting.window(conversation, start.utilization_before)
        room = room_beside(blocks, self._succession.task(blocks), size, self.budget_manager, self.counter)
        bootstrap = self._succession.begin_anew(room, self.counter, self.compression_engine)
        self._fruitless_at = 0
        if self.on_overflow_detected:
            self.on_overflow_detected(saved.state)
        return msgspec.structs.replace(
            start, action=Action.CROSS_WINDOW_SAVE, checkpoint=saved.id, bootstrap=bootstrap, reason=saved.why_not
        )

    def _save_in_time(self, conversation: Conversation, utilization: float) -> None:
        is_above = utilization >= self.config.cross_window.auto_save_threshold
        if saved := self._succession.save_once(conversation.blocks, is_above=is_above):
            why = saved.why_not or "the threshold for a safety save"
            decision = "refused" if saved.is_refused else "saved"
            self._log("checkpoint", decision, reason=why, details={"checkpoint": saved.id})

    def _again_at(self) -> int:
        """The tokens from which on management is tried again that has just gained nothing; 0 if it has not."""
        return self._fruitless_at + int(AGAIN * self.config.max_context_tokens) if self._fruitless_at else 0

    def _set_status(self, zone: PressureZone) -> None:
        before, self.status = self.status, STATUS_OF[zone]
        if before is not self.status:
            self._log("status", self.status.value, before={"status": before.value})
            if self.on_status_change:
                self.on_status_change(before, self.status)

    def _log(self, event: str, decision: str, **more: Any) -> None:
        if self.audit is not None:
            self.audit.attempt(event, decision, turn=self.turn_count, window_id=self.windows_created, **more)
