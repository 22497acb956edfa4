"""The manager of a context window, which an agent's loop calls at five points.

For example (rules.md#window-manager):

    manager = ContextWindowManager("claude-sonnet-4-5", config, task_goal="Migrate the pool")
    start = manager.on_turn_start(messages)          # before each request
    response = model(start.messages)
    manager.on_turn_end(response_tokens)             # after it
    shown = manager.on_tool_result(name, output)     # after each call of a tool
    manager.on_task_end(messages)                    # when the task is done

The fifth method is `on_overflow`, for a request that the host refused as too long. The manager consists of six parts,
such as a pressure monitor and a compression engine; the caller may pass any of them, and the manager makes the others
from its configuration. The caller's messages are not changed: the manager returns changed copies. After an attempt that
freed less than 10 %, the manager waits until the conversation has grown before it tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from memctl.record import argument_checks
from memctl.record.task_state import TaskState
from memctl.tokens.model_windows import AGAIN, ORANGE_AT, TARGET
from memctl.window import plan, subsystems
from memctl.window.budget import token_budget
from memctl.window.budget.profiles import BudgetComponent
from memctl.window.compression.engine import CompressionEngine, expect_result
from memctl.window.compression.result import Cascade, Step
from memctl.window.config import WindowConfig
from memctl.window.eviction.engine import EvictionEngine
from memctl.window.health import Alert, ContextHealthMonitor, HealthSnapshot
from memctl.window.messages.content import ContentType, TokenCounter
from memctl.window.messages.conversation import Conversation
from memctl.window.plan import STATUS_OF, Action, Plan, Room, TaskEnd, ToolResult, TurnStart, WindowStatus
from memctl.window.pressure.monitor import LEAVE, ContextPressureMonitor, PressureReading, PressureZone
from memctl.window.state import succession
from memctl.window.state.succession import Succession
from memctl.window.steps import EVICTION, LEAST_GAIN, SUB_AGENT

if TYPE_CHECKING:
    from memctl.store.memory import Memory
    from memctl.window.audit import Audit, AuditSink
    from memctl.window.state.store import StateKeeper


class ContextWindowManager:
    """Keeps an agent's conversation within its window.

    `counter` counts tokens as the model does, or is the model's name. `config.max_context_tokens` is the number of
    tokens that can be filled before the host compacts the window by itself. `state_manager` stores the state of the
    task; without it no state is stored. `audit` gets every decision of the manager: it is an AuditSink, the path of a
    file, a function or a logger, or None for no log. The attribute `unused` has a line for each setting that has no
    effect.

    The six parts of a manager are `pressure_monitor`, `eviction_engine`, `compression_engine`, `budget_manager`,
    `state_manager` and `health_monitor`. `now` returns the present time, for the audit and for health snapshots.
    `task_goal` and `task_success_criteria` are saved with the state of the task, and the goal is part of each request
    to a model that sums something up. `on_status_change` is called with the window's status before and after a change.
    `on_overflow_detected` is called when the conversation can't go on in its window; its argument is the state of the
    task that was saved for the next window.
    """

    def __init__(
        self,
        counter: TokenCounter | str | None = None,
        config: WindowConfig | None = None,
        *,
        pressure_monitor: ContextPressureMonitor | None = None,
        eviction_engine: EvictionEngine | None = None,
        compression_engine: CompressionEngine | None = None,
        budget_manager: token_budget.TokenBudgetManager | None = None,
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
            self.config,
            WindowConfig,
            "config",
            "a WindowConfig",
            "for settings from a YAML file, a mapping or a memory, use ContextWindowManager.from_config",
        )
        self.counter = counter = subsystems.counter_of(counter)
        self.pressure_monitor = pressure_monitor or subsystems.monitor(self.config)
        self.eviction_engine = eviction_engine or subsystems.eviction(self.config, counter)
        self.compression_engine = compression_engine or subsystems.compression(self.config, counter)
        self.budget_manager = budget_manager or subsystems.budget(self.config)
        self.health_monitor = health_monitor or subsystems.health(self.config, now)
        self.audit: AuditSink | None = None
        if audit is not None:
            from memctl.window.audit import sink_of

            self.audit = sink_of(audit, now)
        self._keeper = state_manager
        self._succession = Succession(state_manager, task_goal, task_success_criteria)
        self.on_status_change = on_status_change
        self.on_overflow_detected = on_overflow_detected
        self.status = WindowStatus.HEALTHY
        self.turn_count, self._fruitless_at = 0, 0  # the latter are tokens at which nothing was gained
        self.unused: tuple[str, ...] = ()
        self._last_used: Mapping[BudgetComponent, int] = {}
        self._keep = subsystems.keep_rules(self.config)
        self._conversation: Conversation | None = None  # as the model was last sent it
        self._room = Room(int(self.config.max_context_tokens * token_budget.answer_line(self.budget_manager)))
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
        """Return a manager made from settings: the path of a YAML file, or a mapping.

        None for `given` stands for the settings of `memory`, or without a memory for the defaults. `counter` is a token
        counter or the name of a model; None stands for the model of the memory, or without a memory for Claude models.
        With a memory, the state of the task is stored in its checkpoints, and the manager's decisions in a log in its
        Git directory.

        `more` are other arguments of the class, and these: `provider` (a language model), `dispatcher` (a function that
        starts sub-agents), and `folder` (where files that settings name are). Raises MemctlError for wrong settings.
        """
        counter = subsystems.counter_of(counter, memory)
        arguments = subsystems.parts(given, counter, memory, **more)
        unused = arguments.pop("unused")
        manager = cls(counter, **arguments)
        manager.unused = unused
        for line in unused:
            manager._log("settings", "not used", reason=line)
        return manager

    @property
    def windows_created(self) -> int:
        """The number of this window among the windows of the task, from 1; windows of earlier runs count, too."""
        return self._succession.window

    def on_turn_start(self, messages: Any, model_reported_tokens: int | None = None) -> TurnStart:
        """Free tokens if the window is too full for the next request, and return a TurnStart with the messages to send.

        Call it before each request. `messages` is a list of messages or the body of a request; it is not changed.
        `model_reported_tokens` is for hosts that know the model's own count: the usage that the model reported with its
        last answer, plus the tokens that were added since then. It replaces memctl's own count of `messages`.
        """
        self.turn_count += 1
        conversation = self._parse(messages)
        reading = self.pressure_monitor.measure(conversation.tokens, model_reported_tokens)
        before = self.pressure_monitor.utilization()
        token_budget.settle(self.budget_manager, conversation)
        self._succession.observe(conversation.blocks)
        self._set_status(reading.zone)
        start = TurnStart(Action.NONE, messages, reading, before, before)
        thresholds, least = self.pressure_monitor.thresholds, self.config.eviction.clear_at_least
        made = plan.make_plan(conversation, reading, thresholds, self.budget_manager, self.compression_engine, least)
        again_at = self._fruitless_at + int(AGAIN * self.config.max_context_tokens)
        if made is not None and not made.is_emergency and self._fruitless_at and conversation.tokens < again_at:
            why = (
                f"the last attempt to make the window smaller freed less than {LEAST_GAIN:.0%} of the tokens; the next "
                f"attempt is made when the window has {again_at:,} tokens"
            )
            start, made = msgspec.structs.replace(start, reason=why), None
        is_above = before >= self.config.cross_window.auto_save_threshold
        saved = self._succession.save_once(conversation.blocks, is_above=is_above or made is not None)
        if saved is not None:
            why = "tokens are about to be removed from the window"
            if is_above:
                why = "the window is so full that the state is saved"
            decision = "refused" if saved.why_not else "saved"
            self._log("checkpoint", decision, reason=saved.why_not or why, details={"checkpoint": saved.id})
        if made is not None:
            return self._manage(conversation, start, made)
        self._remember(conversation, before)
        action = Action.EVALUATE if reading.zone is PressureZone.YELLOW else Action.NONE
        return msgspec.structs.replace(start, action=action)

    def set_progress(
        self, *, done: Sequence[str] = (), current: str = "", planned: Sequence[str] | None = None
    ) -> None:
        """Set how far the task is: the steps that are done, the current step, and the other planned steps.

        A step that was set as done before stays done. If `planned` is None, all planned steps stay; otherwise planned
        steps that it does not name are dropped. The progress becomes part of the next saved state, and of the text with
        which the next window begins.
        """
        self._succession.set_progress(done, current, planned)

    def on_turn_end(self, response_tokens: int) -> HealthSnapshot:
        """Count the tokens of an answer, and return a snapshot of the window's health at the end of the turn.

        Call it after each request; `response_tokens` is the size of the answer. For each alarm that the snapshot
        raises, and the one before did not, the health monitor's `on_alert` is called.
        """
        self.budget_manager.track(BudgetComponent.MESSAGE_HISTORY, response_tokens)
        current = {part: budget.used for part, budget in self.budget_manager.budgets.items()}
        grown = {part: max(used - self._last_used.get(part, 0), 0) for part, used in current.items()}
        self.budget_manager.record_turn(grown)
        self._last_used = current
        self.pressure_monitor.update(response_tokens)
        snapshot = self._snapshot()
        self._log("health", "snapshot", after=msgspec.to_builtins(snapshot))
        return snapshot

    def on_tool_result(self, tool_name: str, result: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Return the text to put into the window for a tool's result: the whole result, or a summary.

        Call it after each call of a tool; `arguments` are the arguments of this call, by name. The whole result is
        returned if the window can hold it. If older results are in the way, they are taken out at the start of the next
        turn. A result that the window can't hold is summed up; the summary says how to get the rest.
        """
        expect_result(tool_name, result, arguments)
        tokens, budget = self.counter.tokens(result, "log"), self.budget_manager
        key = plan.key_of(tool_name, arguments)
        verdict = budget.check_before_add(BudgetComponent.TOOL_RESULTS, tokens)
        is_refused = budget.enforce_components and not verdict.allowed
        if self._room.holds(tokens, is_again=key in self._outlined) and not is_refused:
            late = "the result does not fit; at the start of the next turn older results are removed to make room"
            shown = ToolResult(result, tokens, tokens, note=verdict.warning if verdict.allowed else late)
        else:
            whole = plan.range_hint(tool_name, arguments, result, tokens, self._room.free)
            made = self.compression_engine.compress_tool_result(tool_name, result, arguments, whole=whole)
            note = made.refused or verdict.reason or f"the window has no room for {tokens:,} tokens more"
            is_allowed = not made.refused and self._room.holds(made.compressed_tokens, is_again=True)
            shown = ToolResult(made.compressed_content, made.compressed_tokens, tokens, is_allowed, note)
            if not made.refused:
                self.health_monitor.record_compression(made.original_tokens, made.compressed_tokens)
                self._outlined.add(key)
            if is_refused:
                after = budget.check_before_add(BudgetComponent.TOOL_RESULTS, shown.tokens)
                note = after.reason or after.warning
                shown = msgspec.structs.replace(shown, allowed=after.allowed, note=note)
        self._room.taken += shown.tokens
        budget.track(BudgetComponent.TOOL_RESULTS, shown.tokens)
        self.pressure_monitor.update(shown.tokens)
        again = self._gone.pop(key, None)
        self._log(
            "tool_result", "summed up" if shown.tokens < tokens else "taken whole", reason=shown.note,
            before={"tokens": tokens}, after={"tokens": shown.tokens},
            details={"tool": tool_name, **({"again": again} if again else {})},
        )  # fmt: skip
        return shown

    def on_overflow(self, messages: Any) -> TurnStart:
        """Save the state of the task, and return a TurnStart whose `bootstrap` is the text for a new window.

        Call it when the host refuses a request as too long. Raises MemctlError if the task alone fills a window.
        """
        conversation = self._parse(messages)
        reading = self.pressure_monitor.measure(conversation.tokens)
        self._set_status(PressureZone.RED)
        utilization = self.pressure_monitor.utilization()
        return self._leave(conversation, TurnStart(Action.NONE, messages, reading, utilization, utilization))

    def on_task_end(self, messages: Any) -> TaskEnd:
        """Save the state of a finished task, mark it as finished, and return a summary and the window's health.

        Call it when the task is done. `messages` is the conversation, as a list of messages or the body of a request.
        """
        from memctl.task import resume

        conversation = self._parse(messages)
        self.pressure_monitor.measure(conversation.tokens)
        token_budget.settle(self.budget_manager, conversation)
        saved = self._succession.save(conversation.blocks)
        archive = getattr(self._keeper, "archive", None)
        if saved.id and archive is not None:
            archive()
        why_not = saved.why_not or (
            "" if saved.id else "there is no place for the task's state: give a memory, or name a state_file"
        )
        snapshot, trends = self._snapshot(), self.health_monitor.trend_report()
        details = {"checkpoint": saved.id}
        self._log("task", "ended", reason=why_not, after=msgspec.to_builtins(snapshot), details=details)
        return TaskEnd(resume.write(saved.state).text, saved.id, snapshot, trends, why_not)

    def candidates(self, free: int | None = None) -> tuple[str, ...]:
        """Return the ids of the blocks that would be evicted first to free `free` tokens; nothing is evicted.

        None for `free` stands for as many tokens as must be freed so that 60 % of the window are in use. The blocks are
        those of the last request's conversation; before the first request the result is ().
        """
        conversation = self._conversation
        if conversation is None:
            return ()
        size = token_budget.window(conversation, self.pressure_monitor.utilization())
        wanted = free if free is not None else max(conversation.tokens - int(TARGET * size), 1)
        result = self.eviction_engine.evict(conversation.blocks, wanted, conversation.current_turn)
        return tuple(block.block_id for block in result.blocks_evicted)

    def get_status_report(self) -> dict[str, Any]:
        """Return the state of the whole manager as a mapping that can be written as JSON.

        Its keys are `window_status`, `turn`, `windows_created` (the number of this window, from 1), `utilization` (0 to
        1), `budget_report`, `alerts`, `decisions_missed` (how many of its decisions could not be logged) and `unused`
        (settings without effect).
        """
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

    def _parse(self, messages: Any) -> Conversation:
        return Conversation.parse(messages, self.counter, keep=self._keep)

    def _snapshot(self) -> HealthSnapshot:
        return self.health_monitor.collect(self.pressure_monitor, self.budget_manager, window_id=self.windows_created)

    def _manage(self, conversation: Conversation, start: TurnStart, made: Plan) -> TurnStart:
        """In an emergency even results that the model has not read yet may be shortened, or the window left."""
        from memctl.window.compression import cascade

        engine, succession = self.compression_engine, self._succession
        engine.about(succession.task_goal or succession.task(conversation.blocks))
        done = engine.run_steps(conversation, made.target, made.steps, self.eviction_engine)
        if made.is_emergency:
            done = cascade.shorten_unread(engine, done, made.most)
        if SUB_AGENT in made.steps:
            done = cascade.delegate(engine, done, succession.task_goal, self._delegated)
        least, cleared = self.config.eviction.clear_at_least, conversation.tokens - done.tokens
        if not made.is_emergency and cleared < least:
            self._remember(conversation, start.utilization_before)
            self._fruitless_at = conversation.tokens
            why = f"the eviction would free {cleared:,} tokens, fewer than eviction.clear_at_least, {least:,}"
            return msgspec.structs.replace(start, reason=why)
        is_hard = made.is_emergency and (start.utilization_before >= ORANGE_AT or done.is_compacted)
        action = Action.EMERGENCY_COMPACTION if is_hard else Action.MANAGE
        after = self._after(conversation, done, msgspec.structs.replace(start, action=action, reason=made.reason))
        if is_hard and after.utilization_after >= LEAVE:
            left = conversation.with_text(done.answer, self.counter) if done.answer else conversation
            return self._leave(left, after)
        return after

    def _after(self, before: Conversation, done: Cascade, start: TurnStart) -> TurnStart:
        after, gained = done.conversation, before.tokens - done.tokens
        is_fruitless = gained < LEAST_GAIN * before.tokens and not done.is_reached
        self._fruitless_at = before.tokens if is_fruitless else 0
        if gained:
            self.pressure_monitor.update(-round(gained * start.reading.current_tokens / max(before.tokens, 1)))
        token_budget.settle(self.budget_manager, after)
        self.health_monitor.record_eviction(done.evicted)
        for step in done.steps:
            self._note_step(before, step, done.target, start.reason)
        utilization = self.pressure_monitor.utilization()
        self._log(
            "management", start.action.value, reason=start.reason, wanted=max(before.tokens - done.target, 0),
            target=done.target, before={"tokens": before.tokens, "utilization": round(start.utilization_before, 3)},
            after={"tokens": after.tokens, "utilization": round(utilization, 3)},
            details={"steps": [step.name for step in done.steps]},
        )  # fmt: skip
        self._remember(after, utilization)
        changed: dict[str, Any] = {"utilization_after": utilization, "evicted_blocks": done.evicted}
        return msgspec.structs.replace(start, messages=after.given, steps=done.steps, **changed)

    def _note_step(self, before: Conversation, step: Step, target: int, reason: str) -> None:
        if not step.refused and step.name not in (EVICTION, SUB_AGENT):
            self.health_monitor.record_compression(step.before, step.after)
            self.health_monitor.record_fidelity(step.fidelity)
        calls = {"asked": step.llm_calls, "used": step.llm_used, "refused": step.llm_refused}
        self._log(
            "step", step.name, reason=step.refused or step.note or reason, wanted=step.wanted, target=target,
            policy=step.policy, before={"tokens": step.before}, after={"tokens": step.after},
            blocks=[change.described for change in step.changes],
            details={"refused": bool(step.refused), **({"model": calls} if step.llm_calls else {})},
        )  # fmt: skip
        results = {change.block_id: change for change in step.changes if change.content_type is ContentType.TOOL_RESULT}
        calls_by_id = {block.call_id: block for block in before.blocks if block.is_call} if results else {}
        for block in before.blocks:
            if block.block_id in results and (call := calls_by_id.get(block.call_id)):
                gone = {"block": block.block_id, "by": step.name, "policy": step.policy, "turn": self.turn_count}
                gone["score"] = results[block.block_id].score
                self._gone[plan.key_of(call.tool_name, call.arguments)] = gone

    def _leave(self, conversation: Conversation, start: TurnStart) -> TurnStart:
        """Save the state for a new window. Raises MemctlError for a task that no window of this size has room for."""
        saved, blocks = self._succession.save(conversation.blocks), conversation.blocks
        self._log("overflow", Action.CROSS_WINDOW_SAVE.value, reason=saved.why_not, details={"checkpoint": saved.id})
        size, task = token_budget.window(conversation, start.utilization_before), self._succession.task(blocks)
        room = succession.room(blocks, task, size, self.budget_manager, self.counter)
        bootstrap = self._succession.begin_anew(room, self.counter, self.compression_engine)
        self._fruitless_at = 0
        if self.on_overflow_detected:
            self.on_overflow_detected(saved.state)
        return msgspec.structs.replace(
            start, action=Action.CROSS_WINDOW_SAVE, checkpoint=saved.id, bootstrap=bootstrap, reason=saved.why_not
        )

    def _remember(self, conversation: Conversation, utilization: float) -> None:
        self._conversation = conversation
        size = token_budget.window(conversation, utilization) if utilization else self.config.max_context_tokens
        self._room = Room.beside(conversation, int(size * token_budget.answer_line(self.budget_manager)))

    def _set_status(self, zone: PressureZone) -> None:
        before, self.status = self.status, STATUS_OF[zone]
        if before is not self.status:
            self._log("status", self.status.value, before={"status": before.value})
            if self.on_status_change:
                self.on_status_change(before, self.status)

    def _watch(self) -> None:
        """Log alarms, spikes, budget events and failures of the model; the host's own watchers are called first."""
        pressure, budget, health = self.pressure_monitor, self.budget_manager, self.health_monitor
        exceeded: dict[BudgetComponent, str] = {}

        def spike(step: float, baseline: float, reading: PressureReading) -> None:
            numbers = {"step": round(step), "baseline": round(baseline), "tokens": reading.current_tokens}
            self._log("pressure", "spike", reason="the window grew by more than 3 times its usual step", after=numbers)

        def limit(kind: str, part: BudgetComponent, own: Any, projected: int) -> None:
            if exceeded.get(part) != kind:
                exceeded[part] = kind
                numbers = {"used": own.used, "projected": projected, "limit": own.hard_limit_tokens}
                self._log("budget", f"{kind} limit", reason=part.value, after=numbers)

        def alarm(alert: Alert) -> None:
            self._log("alert", alert.level.value, reason=alert.message, details={"metric": alert.metric})

        pressure.on_velocity_spike = _chained(pressure.on_velocity_spike, spike)
        budget.on_soft_warning = _chained(budget.on_soft_warning, partial(limit, "soft"))
        budget.on_hard_violation = _chained(budget.on_hard_violation, partial(limit, "hard"))
        health.on_alert = _chained(health.on_alert, alarm)
        if (model := self.compression_engine.model) is not None:
            self.eviction_engine.merge = self.eviction_engine.merge or model.merge_texts
            model.watch = _chained(model.watch, lambda why: self._log("model", "failed", reason=f"{model.name}: {why}"))

    def _log(self, event: str, decision: str, **more: Any) -> None:
        if self.audit is not None:
            self.audit.attempt(event, decision, turn=self.turn_count, window_id=self.windows_created, **more)


def _chained(first: Callable[..., None] | None, second: Callable[..., None]) -> Callable[..., None]:
    def both(*given: Any) -> None:
        if first is not None:
            first(*given)
        second(*given)

    return both
