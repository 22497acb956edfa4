"""The commands `memctl context window status` and `health`: how full a window is, its alarms, and how it develops."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from memctl import window
from memctl.cli import memory_access, output, token_counter, window_limit
from memctl.cli import window_messages as messages
from memctl.cli.command import command, flag_option, json_option, number_option, options
from memctl.cli.quality import print_performance
from memctl.cli.text_input import lines
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.store import files, output_file
from memctl.text.phrases import quantity
from memctl.tokens import model_windows
from memctl.transcript import claude_code

_OF_LIMIT = ("model", "window", "host", "max_output")  # the options that tell how much fits


# The options of `status` and `health`.
looking = options(
    click.option(
        "--model", help="The model whose window it is. [default: the model that FILE names, or model in config.yaml]"
    ),
    messages.window_option,
    click.option(
        "--host",
        type=click.Choice(window.limits.HOSTS),
        help="The program that runs the agent and compacts its window. [default: claude-code for a transcript]",
    ),
    number_option(
        "--max-output",
        default=model_windows.DEFAULT_OUTPUT,
        help="Tokens that the program named by --host keeps free for the model's answer.",
    ),
    click.option(
        "--config",
        "settings",
        metavar="FILE",
        help="A YAML file with settings for windows. [default: those under `window` in config.yaml]",
    ),
    click.option(
        "--projects",
        metavar="DIR",
        help="The folder with the transcripts of Claude Code. [default: ~/.claude/projects]",
    ),
)


class WindowSource:
    """A file with a conversation, and the options that say how its window is measured.

    `file` is the file's path, by default the newest transcript of Claude Code for this project. `values` are those of
    the command's options, by the names of their parameters.
    """

    def __init__(self, ctx: click.Context, file: str | None, values: dict[str, Any]) -> None:
        self.file = file or str(_newest(ctx, values["projects"]))
        self._values = values
        self._memory = memory_access.memory_if_any(ctx)
        self._usual: float | None = None  # tokens that a request adds in the user's other sessions
        self.config, self._usable = window_limit.settings(values["settings"], self._memory)

    def look(self) -> tuple[window.SeenConversation, window.Limit, window.Status]:
        """Return the conversation in the file, the window's size with the tokens usable of it, and how full it is.

        The file is read line by line, since a transcript may be large. Raises MemctlError if it can't be read.
        """
        model = self._values["model"]
        with lines(self.file) as stream:
            seen = window.status.read(
                stream, self.file, lambda named: token_counter.counter_for(None, model or named, self._memory)
            )
        limit = window_limit.of_conversation(
            seen, self._usable, self._memory, **{name: self._values[name] for name in _OF_LIMIT}
        )
        if self._usual is None:
            self._usual = window.status.usual_growth(self.file) if seen.is_transcript else 0.0
        return seen, limit, window.status.judge(seen, limit, self.config, self._usual)


def _newest(ctx: click.Context, projects: str | None) -> Path:
    folder = Path(projects) if projects else claude_code.projects(os.environ, files.home_folder())
    return claude_code.newest_transcript(Path(os.path.realpath(ctx.obj.folder)), folder)


_EVERY = 2.0  # seconds between two looks at a live file


@command(
    "status",
    ("memctl context window status", "Show how full the window of the latest Claude Code session in this project is."),
    (
        "memctl context window status request.json --window 128000",
        "Show how full a window is with the messages of a request.",
    ),
    ("memctl context window status session.jsonl --svg curve.svg", "Also draw the curve of the tokens into curve.svg."),
    ("memctl context window status --watch", "Follow a running session until you press Ctrl-C."),
)
@click.argument("file", required=False, metavar="[FILE|-]")
@looking
@click.option(
    "--svg", "picture", metavar="FILE", help="Also draw the curve of the tokens into this file (- for standard output)."
)
@flag_option("--watch", help="Print again whenever the transcript grows; only on a terminal.")
@json_option
def status_command(
    ctx: click.Context, /, file: str | None, picture: str | None, watch: bool, as_json: bool, **values: Any
) -> None:
    """Show how full a model's context window is: its zone, what each component takes, how soon it is red.

    Zones are shares of what fits before the host compacts. Tokens of a transcript are those that the model reported;
    messages are counted. The curve has a step for each request, and a | where the window was compacted.

    Settings have these keys: max_context_tokens (what can be filled), audit_file, pressure (thresholds,
    velocity_window, usual_growth), eviction (policy, weights, type_ttl, protected_types, exclude_tools, keep_last,
    clear_at_least), compression (summarization_threshold_tokens, compaction_utilization_threshold, cascade, notes_file,
    system_prompt, preserve), budget (profile, allocations, soft_limit_pct), cross_window (state_file, progress_file,
    auto_save_threshold), health_monitoring (metrics, alerts).
    """
    source = WindowSource(ctx, file, values)
    if watch:
        if not sys.stdout.isatty() or as_json or picture or source.file == "-":
            raise MemctlError(
                "--watch needs a file and a terminal, and can't be combined with --json or --svg", exit_code=USAGE
            )
        _follow(source)
        ctx.exit(OK)
    if picture and os.path.realpath(picture) == os.path.realpath(source.file):
        raise MemctlError(f"--svg names the transcript that is read, {picture}", "give another file by --svg", USAGE)
    seen, limit, result = source.look()
    if picture:
        thresholds = source.config.pressure.thresholds
        drawn = window.curve.svg(
            seen.curve, limit, thresholds, f"{Path(source.file).name}: {_headline(result.reading)}"
        )
        if picture == "-":
            output.text(drawn, newline=False)
            return
        output_file.write(Path(picture), drawn)
    if as_json:
        data = {"file": source.file, "seen": seen, "limit": limit, "result": result}
        data["components"] = [(part, round(_share(part), 3)) for part in result.parts]
        output.answer("window_status", data | {"suited_thresholds": window.Thresholds.suited_to(limit.window)})
    else:
        _print(source, seen, limit, result)


def _follow(source: WindowSource) -> None:
    last: tuple[int, int] | None = (0, 0)
    try:
        while True:
            now = _stamp(source.file)
            if now != last:
                last = now
                seen, limit, result = source.look()
                click.clear()
                _print(source, seen, limit, result)
                output.text("\nCtrl-C ends the command")
            time.sleep(_EVERY)
    except KeyboardInterrupt:
        output.text()


def _stamp(file: str) -> tuple[int, int] | None:
    try:
        info = os.stat(file)
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size


def _headline(reading: window.PressureReading) -> str:
    return f"{reading.zone.value}, {reading.current_tokens:,} of {reading.max_tokens:,} tokens"


def _print(source: WindowSource, seen: window.SeenConversation, limit: window.Limit, result: window.Status) -> None:
    reading = result.reading
    output.text(output.name(source.file))
    zone = click.style(reading.zone.value.upper(), fg=window_limit.ZONE_COLOURS[reading.zone.value], bold=True)
    origin = (
        "reported by the model"
        if reading.source == window.MODEL_REPORTED
        else f"counted here as for {seen.counter.family.name}"
    )
    output.styled(
        f"{zone}  {reading.utilization_pct:.1f} %: {reading.current_tokens:,} tokens, {origin}, "
        f"of the {limit.usable:,} {_fits(limit)}"
    )
    output.text(f"{_growth(reading, source.config.pressure.velocity_window)}{_until_red(reading)}\n")
    output.columns([(part.name, window.curve.bar(_share(part)), _use(part)) for part in result.parts])
    _print_curve(seen, limit)
    if result.largest:
        output.text("\nlargest results of tools")
        output.columns([_large_row(large) for large in result.largest])
    hint = _suited(limit, source.config.pressure.thresholds, reading)
    if hint:
        output.text(f"\n{hint}")
    window_limit.warn_of(limit)
    messages.warn_of_rest(seen)


def _fits(limit: window.Limit) -> str:
    if limit.usable != limit.window:
        return f"at which the host compacts a window of {limit.window:,}{' (size assumed)' if limit.is_assumed else ''}"
    return "assumed to fit" if limit.is_assumed else "that fit"


def _growth(reading: window.PressureReading, steps: int) -> str:
    if reading.forecast_tokens_per_turn <= 0:
        return ""
    rate, late = f"{reading.burn_rate_tokens_per_turn:,.0f}", f"{reading.velocity_tokens_per_turn:,.0f}"
    turns = f"the last {reading.forecast_turns} turns" if reading.forecast_turns > 1 else "the last turn"
    parts = [f"burn rate {rate} tokens a turn in {turns}" if reading.forecast_turns else "no growth so far"]
    parts += [f"{late} in the last {steps}"] if reading.forecast_turns > steps and late != rate else []
    parts += [f"{reading.usual_tokens_per_turn:,.0f} usually"] if reading.usual_tokens_per_turn else []
    expected = f"{reading.forecast_tokens_per_turn:,.0f}"
    return ", ".join(parts) + (f", {expected} expected; " if expected != rate else "; ")


def _until_red(reading: window.PressureReading) -> str:
    turns = reading.turns_until_red
    if reading.zone is window.PressureZone.RED:
        return "red now"
    if turns is None:
        unknown = "the growth of the window is not known well enough to say when the zone will be red"
        return "not growing" if reading.velocity_tokens_per_turn == 0 else unknown
    return (
        f"at that rate, the zone is red in {turns.least:.0f} to {turns.most:.0f} turns, most likely {turns.likely:.0f}"
    )


def _use(part: window.status.ComponentUse) -> str:
    over = part.used - part.limit
    if not part.components:
        return f"{part.used:,}"
    return f"{part.used:,} of {part.limit:,}" + (f", {over:,} over its budget" if over > 0 else "")


def _share(part: window.status.ComponentUse) -> float:
    return part.used / part.limit if part.limit else float(part.used > 0)


def _print_curve(seen: window.SeenConversation, limit: window.Limit) -> None:
    seen_curve = seen.curve
    if seen_curve.points:
        cuts = len(seen_curve.compactions)
        compacted = f", compacted {quantity(cuts, 'time')} ({window.curve.MARK})" if cuts else ""
        output.text(f"\n{quantity(len(seen_curve.points), 'request')}{compacted}")
        output.text(window.curve.sparkline(seen_curve, limit.usable))


def _large_row(large: window.status.Large) -> tuple[str, ...]:
    line = f"line {large.line}" if large.line else ""
    return (f"{large.tokens:,}", large.tool or "?", f"turn {large.turn}", line, large.about)


def _suited(limit: window.Limit, thresholds: window.Thresholds, reading: window.PressureReading) -> str:
    suited = window.Thresholds.suited_to(limit.window)
    zone = suited.zone(reading.utilization_pct / 100)
    if thresholds != window.Thresholds() or zone is reading.zone:
        return ""
    values = ", ".join(f"{name} {getattr(suited, name):.2f}" for name in ("yellow", "orange", "red"))
    where = "pressure.thresholds under `window` in config.yaml"
    return (
        f"hint: by thresholds for a window of {limit.window:,} tokens the zone is {zone.value}: set {where} to {values}"
    )


_ALERT_COLOURS = {window.AlertLevel.CRITICAL: "red", window.AlertLevel.WARNING: "yellow", window.AlertLevel.INFO: None}
_MOST_NAMED = 6  # requests
_PERCENT = ("utilization", "fidelity_score", "tool_result_bloat")


@command(
    "health",
    (
        "memctl context window health",
        "Judge the window of the latest Claude Code session in this project; exit with 1 on an alarm.",
    ),
    ("memctl context window health session.jsonl --json", "Print all metrics, alarms and trends, for a program."),
)
@click.argument("file", required=False, metavar="[FILE|-]")
@looking
@json_option
def health_command(ctx: click.Context, /, file: str | None, as_json: bool, **values: Any) -> None:
    """Judge a window by six metrics: their values now, which alarms they raise, and trends over the last ten requests.

    Evictions and fidelity are not measured here: only the program that manages a window knows them.
    """
    source = WindowSource(ctx, file, values)
    seen, limit, result = source.look()
    monitoring = source.config.health_monitoring
    begun: list[tuple[int, window.Alert]] = []
    monitor = window.ContextHealthMonitor(
        thresholds=monitoring.alerts,
        metrics=monitoring.metrics,
        on_alert=lambda alert: begun.append((monitor.history[-1].turn, alert)),
    )
    for snapshot in result.history:
        monitor.observe(snapshot)
    last = result.history[-1] if result.history else window.HealthSnapshot()
    alerts, trends = monitor.check_alerts(), monitor.trend_report()
    if as_json:
        plain = msgspec.to_builtins
        data = {"file": output.name(source.file), "snapshot": plain(last), "alerts": plain(alerts)}
        data["begun"] = [{"turn": turn, **plain(alert)} for turn, alert in begun]
        data["broken_lines"] = messages.broken_in(seen.transcript)
        data["performance"] = plain(window.performance.measure(seen.transcript)) if seen.transcript else None
        output.json("window_health", {**data, "watch": plain(_watched(last, alerts)), "trends": plain(trends)})
    else:
        output.text(output.name(source.file))
        output.columns([_row(name, last, trends[name]) for name in window.METRICS])
        for alert in (*alerts, *_watched(last, alerts)):
            level = click.style(
                alert.level.value, fg=_ALERT_COLOURS[alert.level], bold=alert.level is not window.AlertLevel.INFO
            )
            output.styled(f"\n{level}: {alert.message}\n  {alert.action}")
        if not alerts:
            output.text("\nno alarms")
        _print_past(begun, {alert.metric for alert in alerts})
        if seen.transcript:
            print_performance(window.performance.measure(seen.transcript))
    window_limit.warn_of(limit)
    messages.warn_of_rest(seen)
    ctx.exit(REFUSED if alerts else OK)


def _print_past(begun: list[tuple[int, window.Alert]], now: set[str]) -> None:
    rows = []
    for metric in window.METRICS:
        turns = [turn for turn, alert in begun if alert.metric == metric]
        turns = turns[:-1] if metric in now else turns
        if turns:
            listed = ", ".join(map(str, turns[-_MOST_NAMED:]))
            more = f"{len(turns):,} times, last " if len(turns) > _MOST_NAMED else ""
            rows.append(("earlier", metric, f"{more}at request {listed}"))
    if rows:
        output.text()
        output.columns(rows)


def _watched(last: window.HealthSnapshot, alerts: list[window.Alert]) -> list[window.Alert]:
    alarming = {alert.metric for alert in alerts}
    return [alert for alert in window.health.watch(last) if alert.metric not in alarming]


def _row(name: str, last: window.HealthSnapshot, trend: window.Trend) -> tuple[str, ...]:
    return (name, _format(name, last.value(name)), trend.direction.replace("_", " "), window.METRICS[name].measures)


def _format(name: str, value: float | None) -> str:
    if value is None:
        return "not measured"
    if name in _PERCENT:
        return f"{value:.1%}"
    return f"{value:.1f}x" if name == "compression_ratio" else f"{value:,.0f}"
