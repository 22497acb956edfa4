"""`window health`: the metrics of a window, what alarms, and where it is going."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from memctl.cli import output
from memctl.cli import window_messages as messages
from memctl.cli.command import command, json_option
from memctl.cli.window_source import WindowSource, looking
from memctl.errors import OK, REFUSED
from memctl.window import status
from memctl.window.health.alerts import METRICS, Alert, AlertLevel, HealthSnapshot, watch
from memctl.window.health.monitor import ContextHealthMonitor
from memctl.window.health.trends import Trend

_COLOURS = {AlertLevel.CRITICAL: "red", AlertLevel.WARNING: "yellow", AlertLevel.INFO: None}
_MOST_NAMED = 6  # requests
_PERCENT = ("utilization", "fidelity_score", "tool_result_bloat")


@command(
    "health",
    ("memctl window health", "The newest Claude Code transcript of this project; exit code 1 if something alarms."),
    ("memctl window health session.jsonl --json", "All metrics, alarms and trends, for a program."),
)
@click.argument("file", required=False, metavar="[FILE|-]")
@looking
@json_option
@click.pass_context
def health_command(ctx: click.Context, /, file: str | None, as_json: bool, **given: Any) -> None:
    """Judge a window by six metrics: their values now, what alarms, and trends over the last ten requests.

    What a file does not tell is not measured: evictions and fidelity are known to the program that manages a window.
    """
    source = WindowSource(ctx, file, given)
    seen = source.read()
    limit = source.limit(seen)
    found = status.judge(seen, limit, source.config)
    monitoring = source.config.health_monitoring
    begun: list[tuple[int, Alert]] = []
    monitor = ContextHealthMonitor(
        thresholds=monitoring.alerts,
        metrics=monitoring.metrics,
        on_alert=lambda alert: begun.append((monitor.history[-1].turn, alert)),
    )
    for snapshot in found.history:
        monitor.observe(snapshot)
    last = found.history[-1] if found.history else HealthSnapshot()
    alerts, trends = monitor.check_alerts(), monitor.trend_report()
    if as_json:
        plain = msgspec.to_builtins
        data = {"file": output.name(source.file), "snapshot": plain(last), "alerts": plain(alerts)}
        data["begun"] = [{"turn": turn, **plain(alert)} for turn, alert in begun]
        data["broken_lines"] = messages.broken_in(seen.opened.transcript)
        output.json("window_health", {**data, "watch": plain(_watched(last, alerts)), "trends": plain(trends)})
    else:
        output.text(output.name(source.file))
        output.columns([_row(name, last, trends[name]) for name in METRICS])
        for alert in (*alerts, *_watched(last, alerts)):
            level = click.style(alert.level.value, fg=_COLOURS[alert.level], bold=alert.level is not AlertLevel.INFO)
            output.styled(f"\n{level}: {alert.message}\n  {alert.action}")
        if not alerts:
            output.text("\nnothing alarms")
        _print_past(begun, {alert.metric for alert in alerts})
    source.warn(seen, limit)
    ctx.exit(REFUSED if alerts else OK)


def _print_past(begun: list[tuple[int, Alert]], now: set[str]) -> None:
    """What alarmed earlier, with the requests at which it began."""
    rows = []
    for metric in METRICS:
        turns = [turn for turn, alert in begun if alert.metric == metric]
        turns = turns[:-1] if metric in now else turns
        if turns:
            listed = ", ".join(map(str, turns[-_MOST_NAMED:]))
            more = f"{len(turns)} times, last " if len(turns) > _MOST_NAMED else ""
            rows.append(("earlier", metric, f"{more}at request {listed}"))
    if rows:
        output.text()
        output.columns(rows)


def _watched(last: HealthSnapshot, alerts: list[Alert]) -> list[Alert]:
    """What is out of its healthy range and does not alarm."""
    alarming = {alert.metric for alert in alerts}
    return [one for one in watch(last) if one.metric not in alarming]


def _row(name: str, last: HealthSnapshot, trend: Trend) -> tuple[str, ...]:
    return (name, _shown(name, last.value(name)), trend.direction.replace("_", " "), METRICS[name].measures)


def _shown(name: str, value: float | None) -> str:
    if value is None:
        return "not measured"
    if name in _PERCENT:
        return f"{value:.1%}"
    return f"{value:.1f}x" if name == "compression_ratio" else f"{value:,.0f}"
