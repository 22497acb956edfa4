"""The manager of a context window: six subsystems behind five hooks for an agent's loop.

For example (rules.md#window-manager):

    manager = ContextWindowManager("claude-sonnet-4-5", config, task_goal="Migrate the pool")
    start = manager.on_turn_start(messages)          # before each request
    response = model(start.messages)
    manager.on_turn_end(response_tokens)             # after it
    shown = manager.on_tool_result(name, output)     # after each call of a tool
    manager.on_task_end(messages)                    # when the task is done

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
from memctl.window import incoming, plan, subsystems
from memctl.window.budget import tracking
from memctl.window.budget.profiles import BudgetComponent
from memctl.window.budget.tracking import TokenBudgetManager
from memctl.window.compression.engine import CompressionEngine, expect_result
from memctl.window.compression.result import Cascade, Step
from memctl.window.config import WindowConfig
from memctl.window.eviction.engine import EvictionEngine
from memctl.window.health.alerts import Alert, HealthSnapshot
from memctl.window.health.monitor import ContextHealthMonitor
from memctl.window.hook_results import STATUS_OF, Action, TaskEnd, ToolResult, TurnStart, WindowStatus
from memctl.window.incoming import Room
from memctl.window.messages.content import ContentType, TokenCounter
from memctl.window.messages.conversation import Conversation
from memctl.window.plan import Plan
from memctl.window.pressure.monitor import LEAVE, ContextPressureMonitor, PressureReading, PressureZone
from memctl.window.steps import EVICTION, LEAST_GAIN, SUB_AGENT

if TYPE_CHECKING:
    from memctl.store.memory import Memory
    from memctl.window.audit import Audit
    from memctl.window.state.succession import Saved
    from memctl.window.state.task import StateKeeper


class ContextWindowManager:
    """Keeps a conversation within its window.

    `counter` counts as the model does, or is the name of the model; `config.max_context_tokens` is what can be filled
    before the host compacts. `state_manager` keeps checkpoints. `audit` takes every decision: it is a log, the path of
    one, a function or a logger. Without them neither is done. `unused` says what of its settings has no effect.
    """

    def __init__(
        self,
        counter: TokenCounter | str | None = None,
        config: WindowConfig | None = None,
        *,
        pressure_monitor: ContextPressureMonitor | None = None,
        eviction_engine: EvictionEngine | None = None,
        compression_engine: CompressionEngine | None = None,
        budget_manager: TokenBudgetManager | None = None,
        state_manager: StateKeeper | None = None,
        health_monitor: ContextHealthMonitor | None = None,
        audit: Audit | None = None,
        now: Callable[[], str] = subsystems.clock,
        task_goal: str = "",
        task_success_criteria: Sequence[str] = (),
        on_status_change: Callable[[WindowStatus, WindowStatus], None] | None = None,
        on_overflow_detected: Callable[[TaskState], None] | None = None,
    ) -> None:
        self.config = config or WindowConfig()
        argument_checks.instance(
            self.config, WindowConfig, "config", "a WindowConfig", "from_config takes other settings"
        )
        self.counter = counter = subsystems.counter_of(counter)
        self.pressure_monitor = pressure_monitor or subsystems.monitor(self.config)
        self.eviction_engine = eviction_engine or subsystems.eviction(self.config, counter)
        self.compression_engine = compression_engine or subsystems.compression(self.config, counter)
        self.budget_manager = budget_manager or subsystems.budget(self.config)
        self.health_monitor = health_monitor or subsystems.health(self.config, now)
        self.audit = None if audit is None else subsystems.sink(audit, now)
        self._keeper = state_manager
        from memctl.window.state.succession import Succession  # what understands texts comes with it

        self._succession = Succession(state_manager, task_goal, task_success_criteria)
        self.on_status_change = on_status_change
        self.on_overflow_detected = on_overflow_detected
        self.status = WindowStatus.HEALTHY
        self.turn_count, self._fruitless_at = 0, 0  # the latter are tokens at which nothing was gained
        self.unused: tuple[str, ...] = ()
        self._last_used: Mapping[BudgetComponent, int] = {}
        self._keep = subsystems.keep_rules(self.config)
        self._conversation: Conversation | None = None  # as the model was last sent it
        self._room = Room(int(self.config.max_context_tokens * tracking.answer_line(self.budget_manager)))
        self._outlined: set[str] = set()  # calls whose results were not given whole
        self._gone: dict[str, dict[str, Any]] = {}  # calls whose results were taken out since, and by what
        self._delegated: set[str] = set()
        self._watch()

    @classmethod
    def from_config(
        cls,
        given: subsystems.Given = None,
        counter: TokenCounter | str | None = None,
        memory: Memory | None = None,
        **more: Any,
    ) -> ContextWindowManager:
        """A manager by the settings of a YAML file, or as they are given; None for those of `memory`, or the defaults.

        With a memory the state of the task is kept in its checkpoints, and decisions in a log in its Git directory.
        `more` are the other arguments of the class, a `provider` (a language model), a `dispatcher` (of sub-agents),
        and for files that the settings name a `folder` and `now`, which gives the time. Raises MemctlError.
        """
        counter = subsystems.counter_of(counter, memory)
        found = subsystems.parts(given, counter, memory, **more)
        unused = found.pop("unused")
        manager = cls(counter, **found)
        manager.unused = unused
        for line in unused:
            manager._log("settings", "not used", reason=line)
        return manager

    @property
    def windows_created(self) -> int:
        """Which of the task's windows this is; the first is 1, and those of earlier runs count."""
        return self._succession.window

    def on_turn_start(self, messages: Any, model_reported_tokens: int | None = None) -> TurnStart:
        """Before each request: judge the pressure, do what it calls for, give back the messages to send.

        `model_reported_tokens` is the size of these messages as the model reports it, or as the last usage it reported
        with what was added since; it goes before the client's own count.
        """
        self.turn_count += 1
        conversation = Conversation.parse(messages, self.counter, keep=self._keep)
        reading = self.pressure_monitor.measure(conversation.tokens, model_reported_tokens)
        before = self.pressure_monitor.utilization()
        tracking.settle(self.budget_manager, conversation)
        self._succession.observe(conversation.blocks)
        self._set_status(reading.zone)
        start = TurnStart(Action.NONE, messages, reading, before, before)
        made = plan.made_for(
            conversation,
            reading,
            self.pressure_monitor.thresholds,
            self.budget_manager,
            self.compression_engine,
            self.config.eviction.clear_at_least,
        )
        if made is not None and not made.is_emergency and conversation.tokens < self._again_at():
            why = f"the last try gained less than {LEAST_GAIN:.0%}; the next is made at {self._again_at():,} tokens"
            start, made = msgspec.structs.replace(start, reason=why), None
        self._save_in_time(conversation, before, is_lossy=made is not None)
        if made is not None:
            return self._manage(conversation, start, made)
        self._sees(conversation, before)
        is_yellow = reading.zone is PressureZone.YELLOW
        return msgspec.structs.replace(start, action=Action.EVALUATE) if is_yellow else start

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

        A result goes in whole if the window holds it: for one that has no room beside what was read before, that goes
        at the start of the next turn. One that has none even so is summed up, and says how to get the rest.
        """
        expect_result(tool_name, result, arguments)
        tokens = self.counter.tokens(result, "log")
        key = incoming.key_of(tool_name, arguments)
        verdict = self.budget_manager.check_before_add(BudgetComponent.TOOL_RESULTS, tokens)
        is_refused = self.budget_manager.enforce_components and not verdict.allowed
        shown, note, allowed = ToolResult(result, tokens, tokens), verdict.warning, True
        if self._room.holds(tokens, is_again=key in self._outlined) and not is_refused:
            if not verdict.allowed:
                note = "older results go for it at the start of the next turn"
        else:
            fits = self._room.ever_holds(tokens)
            free = self._room.window - self._room.frame
            whole = incoming.rest(tool_name, arguments, result, tokens, free, fits=fits)
            made = self.compression_engine.compress_tool_result(tool_name, result, arguments, whole=whole)
            allowed = made.refused == "" and self._room.holds(made.compressed_tokens, is_again=True)
            note = made.refused or verdict.reason or f"the window has no room for {tokens:,} tokens more"
            if not made.refused:
                shown = ToolResult(made.compressed_content, made.compressed_tokens, tokens)
                self.health_monitor.record_compression(made.original_tokens, made.compressed_tokens)
                self._outlined.add(key)
            if is_refused:
                after = self.budget_manager.check_before_add(BudgetComponent.TOOL_RESULTS, shown.tokens)
                allowed, note = after.allowed, after.reason or after.warning
        self._room.taken += shown.tokens
        self.budget_manager.track(BudgetComponent.TOOL_RESULTS, shown.tokens)
        self.pressure_monitor.update(shown.tokens)
        shown = msgspec.structs.replace(shown, allowed=allowed, note=note)
        again = self._gone.pop(key, None)
        details = {"tool": tool_name, **({"again": again} if again else {})}
        decision = "summed up" if shown.tokens < tokens else "taken whole"
        self._log("tool_result", decision, reason=shown.note, before={"tokens": tokens}, after={"tokens": shown.tokens},
                  details=details)  # fmt: skip
        return shown

    def on_overflow(self, messages: Any) -> TurnStart:
        """When the window can't be kept: save the state, and give what a new window begins with."""
        conversation = Conversation.parse(messages, self.counter, keep=self._keep)
        reading = self.pressure_monitor.measure(conversation.tokens)
        self._set_status(PressureZone.RED)
        utilization = self.pressure_monitor.utilization()
        return self._leave(conversation, TurnStart(Action.NONE, messages, reading, utilization, utilization))

    def on_task_end(self, messages: Any) -> TaskEnd:
        """When the task is done: its summary, the state kept and archived, and how the window's health went."""
        conversation = Conversation.parse(messages, self.counter, keep=self._keep)
        self.pressure_monitor.measure(conversation.tokens)
        tracking.settle(self.budget_manager, conversation)
        saved = self._succession.save(conversation.blocks)
        archive = getattr(self._keeper, "archive", None)
        if saved.id and archive is not None:
            archive()
        snapshot = self.health_monitor.collect(
            self.pressure_monitor, self.budget_manager, window_id=self.windows_created
        )
        trends = self.health_monitor.trend_report()
        self._log("task", "ended", reason=saved.why_not, after=msgspec.to_builtins(snapshot),
                  details={"checkpoint": saved.id})  # fmt: skip
        from memctl.task import resume_text

        why_not = saved.why_not or ("" if saved.id else "nothing keeps a state: give a memory, or name a state_file")
        return TaskEnd(resume_text.write(saved.state).text, saved.id, snapshot, trends, why_not)

    def candidates(self, free: int | None = None) -> tuple[str, ...]:
        """The ids of the blocks that would go first of the conversation as it was last seen, to free so many tokens
        (by default down to the target)."""
        conversation = self._conversation
        if conversation is None:
            return ()
        size = tracking.window(conversation, self.pressure_monitor.utilization())
        wanted = free if free is not None else max(conversation.tokens - int(TARGET * size), 1)
        found = self.eviction_engine.evict(conversation.blocks, wanted, conversation.current_turn)
        return tuple(block.block_id for block in found.blocks_evicted)

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
            "unused": list(self.unused),
        }

    def _manage(self, conversation: Conversation, start: TurnStart, made: Plan) -> TurnStart:
        """Do what a plan says, down to its target or as near as can be; in an emergency the window may be left."""
        from memctl.window.compression import cascade

        engine = self.compression_engine
        engine.about(self._succession.task_goal or self._succession.task(conversation.blocks))
        done = cascade.run(engine, conversation, made.target, made.steps, self.eviction_engine)
        if made.is_emergency:
            done = cascade.unread(engine, done, made.most)
        if SUB_AGENT in made.steps:
            done = cascade.delegate(engine, done, self._succession.task_goal, self._delegated)
        least = self.config.eviction.clear_at_least
        if not made.is_emergency and conversation.tokens - done.tokens < least:
            self._sees(conversation, start.utilization_before)
            why = f"it would clear {conversation.tokens - done.tokens:,} tokens, and clear_at_least is {least:,}"
            self._fruitless_at = conversation.tokens
            return msgspec.structs.replace(start, reason=why)
        is_hard = made.is_emergency and (start.utilization_before >= ORANGE_AT or done.is_compacted)
        action = Action.EMERGENCY_COMPACTION if is_hard else Action.MANAGE
        after = self._after(conversation, done, msgspec.structs.replace(start, action=action, reason=made.reason))
        if is_hard and after.utilization_after >= LEAVE:
            return self._leave(
                conversation.with_text(done.answer, self.counter) if done.answer else conversation, after
            )
        return after

    def _after(self, before: Conversation, done: Cascade, start: TurnStart) -> TurnStart:
        """Take a managed conversation over: budgets, pressure, health, audit."""
        after = done.conversation
        gained = before.tokens - after.tokens
        is_fruitless = gained < LEAST_GAIN * before.tokens and not done.is_reached
        self._fruitless_at = before.tokens if is_fruitless else 0
        if gained:
            self.pressure_monitor.update(-round(gained * start.reading.current_tokens / max(before.tokens, 1)))
        tracking.settle(self.budget_manager, after)
        self.health_monitor.record_eviction(done.evicted)
        for step in done.steps:
            self._take_step(before, step, done.target, start.reason)
        utilization = self.pressure_monitor.utilization()
        self._log(
            "management",
            start.action.value,
            reason=start.reason,
            wanted=max(before.tokens - done.target, 0),
            target=done.target,
            before={"tokens": before.tokens, "utilization": round(start.utilization_before, 3)},
            after={"tokens": after.tokens, "utilization": round(utilization, 3)},
            details={"steps": [step.name for step in done.steps]},
        )
        self._sees(after, utilization)
        return msgspec.structs.replace(
            start,
            messages=after.given,
            utilization_after=utilization,
            evicted_blocks=done.evicted,
            steps=done.steps,
        )

    def _take_step(self, before: Conversation, step: Step, target: int, reason: str) -> None:
        """Note what a step did: for health, for the audit, and to tell when something of it is asked for again."""
        from memctl.window.preservation.events import arguments_of

        if not step.refused and step.name not in (EVICTION, SUB_AGENT):
            self.health_monitor.record_compression(step.before, step.after)
            self.health_monitor.record_fidelity(step.fidelity)
        calls = {"asked": step.llm_calls, "used": step.llm_used, "refused": step.llm_refused}
        self._log(
            "step",
            step.name,
            reason=step.refused or step.note or reason,
            wanted=step.wanted,
            target=target,
            policy=step.policy,
            before={"tokens": step.before},
            after={"tokens": step.after},
            blocks=[_told(change) for change in step.changes],
            details={"refused": bool(step.refused), **({"model": calls} if step.llm_calls else {})},
        )
        of_results = {one.block_id: one for one in step.changes if one.content_type is ContentType.TOOL_RESULT}
        if not of_results:
            return
        asked = {block.call_id: block for block in before.blocks if block.is_call}
        for block in before.blocks:
            if block.block_id in of_results and block.call_id in asked:
                call, change = asked[block.call_id], of_results[block.block_id]
                given = arguments_of(call)
                self._gone[incoming.key_of(call.tool_name, given)] = {
                    "block": change.block_id, "by": step.name, "policy": step.policy, "score": change.score,
                    "turn": self.turn_count,
                }  # fmt: skip

    def _leave(self, conversation: Conversation, start: TurnStart) -> TurnStart:
        """Save the state for a new window. Raises MemctlError for a task that no window of this size has room for."""
        saved = self._succession.save(conversation.blocks)
        self._log("overflow", Action.CROSS_WINDOW_SAVE.value, reason=saved.why_not, details={"checkpoint": saved.id})
        blocks, size = conversation.blocks, tracking.window(conversation, start.utilization_before)
        from memctl.window.state.bootstrap import room as room_beside

        room = room_beside(blocks, self._succession.task(blocks), size, self.budget_manager, self.counter)
        bootstrap = self._succession.begin_anew(room, self.counter, self.compression_engine)
        self._fruitless_at = 0
        if self.on_overflow_detected:
            self.on_overflow_detected(saved.state)
        return msgspec.structs.replace(
            start, action=Action.CROSS_WINDOW_SAVE, checkpoint=saved.id, bootstrap=bootstrap, reason=saved.why_not
        )

    def _save_in_time(self, conversation: Conversation, utilization: float, *, is_lossy: bool) -> None:
        """Save the state when its threshold is crossed, and before the first step that loses something."""
        is_above = utilization >= self.config.cross_window.auto_save_threshold
        if saved := self._succession.save_once(conversation.blocks, is_above=is_above or is_lossy):
            self._log_saved(saved, "the threshold for a safety save" if is_above else "something is to go")

    def _log_saved(self, saved: Saved, why: str) -> None:
        decision = "refused" if saved.is_refused else "saved"
        self._log("checkpoint", decision, reason=saved.why_not or why, details={"checkpoint": saved.id})

    def _sees(self, conversation: Conversation, utilization: float) -> None:
        """Keep the conversation as the model is sent it: results that come next are judged by it."""
        self._conversation = conversation
        size = tracking.window(conversation, utilization) if utilization else self.config.max_context_tokens
        self._room = Room.beside(conversation, int(size * tracking.answer_line(self.budget_manager)))

    def _again_at(self) -> int:
        """The tokens from which on management is tried again that has just gained nothing; 0 if it has not."""
        return self._fruitless_at + int(AGAIN * self.config.max_context_tokens) if self._fruitless_at else 0

    def _set_status(self, zone: PressureZone) -> None:
        before, self.status = self.status, STATUS_OF[zone]
        if before is not self.status:
            self._log("status", self.status.value, before={"status": before.value})
            if self.on_status_change:
                self.on_status_change(before, self.status)

    def _watch(self) -> None:
        """Have alarms, spikes, budget events and failures of the model in the audit; the host's watchers stay."""
        pressure, budget, health = self.pressure_monitor, self.budget_manager, self.health_monitor
        exceeded: dict[BudgetComponent, str] = {}

        def spike(step: float, baseline: float, reading: PressureReading) -> None:
            told = {"step": round(step), "baseline": round(baseline), "tokens": reading.current_tokens}
            self._log("pressure", "spike", reason="a step far beyond the usual", after=told)

        def limit(kind: str) -> Callable[[BudgetComponent, Any, int], None]:
            def tell(part: BudgetComponent, own: Any, projected: int) -> None:
                if exceeded.get(part) != kind:
                    exceeded[part] = kind
                    numbers = {"used": own.used, "projected": projected, "limit": own.hard_limit_tokens}
                    self._log("budget", f"{kind} limit", reason=part.value, after=numbers)

            return tell

        def alarm(alert: Alert) -> None:
            self._log("alert", alert.level.value, reason=alert.message, details={"metric": alert.metric})

        pressure.on_velocity_spike = _both(pressure.on_velocity_spike, spike)
        budget.on_soft_warning = _both(budget.on_soft_warning, limit("soft"))
        budget.on_hard_violation = _both(budget.on_hard_violation, limit("hard"))
        health.on_alert = _both(health.on_alert, alarm)
        if (model := self.compression_engine.model) is not None:
            self.eviction_engine.merge = self.eviction_engine.merge or model.merged
            model.watch = _both(model.watch, lambda why: self._log("model", "failed", reason=f"{model.name}: {why}"))

    def _log(self, event: str, decision: str, **more: Any) -> None:
        if self.audit is not None:
            self.audit.attempt(event, decision, turn=self.turn_count, window_id=self.windows_created, **more)


def _both(first: Callable[..., None] | None, second: Callable[..., None]) -> Callable[..., None]:
    """A watcher that calls the host's own first."""
    if first is None:
        return second

    def both(*given: Any) -> None:
        first(*given)
        second(*given)

    return both


def _told(change: Any) -> dict[str, Any]:
    """A changed block for the audit."""
    told = {
        "id": change.block_id, "type": change.content_type.value, "tool": change.tool_name, "turn": change.turn,
        "before": change.before, "after": change.after, "score": change.score,
    }  # fmt: skip
    return {name: value for name, value in told.items() if value not in (None, "")}
