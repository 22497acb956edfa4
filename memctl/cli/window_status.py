"""`window status`: how full a window is, with what, and how soon it is full."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import click
import msgspec

from memctl.cli import output
from memctl.cli import window_messages as messages
from memctl.cli.command import command, json_option
from memctl.cli.window_source import WindowSource, looking
from memctl.errors import OK, USAGE, MemctlError
from memctl.store import named_file
from memctl.text.phrases import count
from memctl.window import status
from memctl.window.pressure import drawing
from memctl.window.pressure.limits import Limit
from memctl.window.pressure.monitor import (
    MODEL_REPORTED,
    PressureReading,
    PressureZone,
    Thresholds,
    suited_thresholds,
)
from memctl.window.status import SeenConversation, Status

_COLOURS = {
    PressureZone.GREEN: "green",
    PressureZone.YELLOW: "yellow",
    PressureZone.ORANGE: "bright_red",
    PressureZone.RED: "red",
}
_EVERY = 2.0  # seconds between two looks at a live file


@command(
    "status",
    ("memctl window status", "The newest Claude Code transcript of this project."),
    ("memctl window status request.json --window 128000", "A request's body, or messages as JSON."),
    ("memctl window status session.jsonl --svg curve.svg", "Draw the curve of the tokens."),
    ("memctl window status --watch", "Follow a live session; Ctrl-C ends it."),
)
@click.argument("file", required=False, metavar="[FILE|-]")
@looking
@click.option("--svg", "picture", metavar="FILE", help="Draw the curve into this file (- for stdout), too.")
@click.option("--watch", is_flag=True, help="Look again whenever the file grows; on a terminal only.")
@json_option
@click.pass_context
def status_command(
    ctx: click.Context, /, file: str | None, picture: str | None, watch: bool, as_json: bool, **given: Any
) -> None:
    """Say how full a model's context window is: its zone, what each component takes, how soon it is red.

    Zones are of what fits before the host compacts. A transcript tells tokens as the model reported them; messages are
    counted. The curve has a step for each request, and a | where the window was compacted.

    Settings have these keys: max_context_tokens (what can be filled), pressure (thresholds, velocity_window), eviction
    (policy, weights, type_ttl, protected_types), compression (summarization_threshold_tokens,
    compaction_utilization_threshold, cascade, notes_file), budget (allocations, soft_limit_pct), cross_window
    (state_file, progress_file, auto_save_threshold), health_monitoring (metrics, alerts).
    """
    source = WindowSource(ctx, file, given)
    if watch:
        if not sys.stdout.isatty() or as_json or picture or source.file == "-":
            raise MemctlError("--watch is for a file, on a terminal, and for nothing else", exit_code=USAGE)
        _follow(source)
        ctx.exit(OK)
    if picture and os.path.realpath(picture) == os.path.realpath(source.file):
        raise MemctlError(f"{picture} is the file that is looked at", "draw into another one", USAGE)
    seen = source.read()
    limit = source.limit(seen)
    found = status.judge(seen, limit, source.config)
    if picture:
        thresholds = source.config.pressure.thresholds
        drawn = drawing.svg(seen.curve, limit, thresholds, f"{Path(source.file).name}: {_headline(found.reading)}")
        if picture == "-":
            output.text(drawn, newline=False)
            return
        named_file.write(Path(picture), drawn)
    if as_json:
        output.json("window_status", _data(source, seen, limit, found))
    else:
        _print(source, seen, limit, found)


def _follow(source: WindowSource) -> None:
    """Show the status anew whenever the file has changed, until somebody has seen enough."""
    follower = source.follower()
    last: tuple[int, int] | None = (0, 0)
    try:
        while True:
            now = _changed(source.file)
            if now != last:
                last = now
                seen = follower.look() or source.read()
                limit = source.limit(seen)
                click.clear()
                _print(source, seen, limit, status.judge(seen, limit, source.config))
                output.text("\nCtrl-C ends this")
            time.sleep(_EVERY)
    except KeyboardInterrupt:
        output.text()


def _changed(file: str) -> tuple[int, int] | None:
    """When a file was changed last, and its size; None if it is gone, which whoever reads it complains of."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _headline(reading: PressureReading) -> str:
    return f"{reading.zone.value}, {reading.current_tokens:,} of {reading.max_tokens:,} tokens"


def _print(source: WindowSource, seen: SeenConversation, limit: Limit, found: Status) -> None:
    reading = found.reading
    output.text(output.name(source.file))
    zone = click.style(reading.zone.value.upper(), fg=_COLOURS[reading.zone], bold=True)
    told = "reported by the model" if reading.source == MODEL_REPORTED else f"counted here as {source.counted_as}'s"
    output.styled(
        f"{zone}  {reading.utilization_pct:.1f} %: {reading.current_tokens:,} tokens, {told}, "
        f"of the {limit.usable:,} {_fits(limit)}"
    )
    output.text(f"{_growth(reading, source.config.pressure.velocity_window)}{_until_red(reading)}\n")
    output.columns([(part.name, drawing.bar(_share(part)), f"{part.used:,} of {part.limit:,}") for part in found.parts])
    _print_curve(seen, limit)
    if found.largest:
        output.text("\nlargest results")
        output.columns([_large_row(one) for one in found.largest])
    hint = _suited(limit, source.config.pressure.thresholds)
    if hint:
        output.text(f"\n{hint}")
    source.warn(seen, limit)


def _fits(limit: Limit) -> str:
    if limit.usable != limit.window:
        return f"at which the host compacts a window of {limit.window:,}{', assumed' if limit.is_assumed else ''}"
    return "assumed to fit" if limit.is_assumed else "that fit"


def _growth(reading: PressureReading, steps: int) -> str:
    """The rate that the forecast is made from, and that of the last steps where it is another; "" without growth."""
    if reading.forecast_tokens_per_turn <= 0:
        return ""
    usual, late = f"{reading.forecast_tokens_per_turn:,.0f}", f"{reading.velocity_tokens_per_turn:,.0f}"
    lately = f", {late} in the last {steps}" if reading.forecast_turns > steps and late != usual else ""
    turns = f"the last {reading.forecast_turns} turns" if reading.forecast_turns > 1 else "the last turn"
    return f"grows by {usual} tokens a turn in {turns}{lately}; "


def _until_red(reading: PressureReading) -> str:
    turns = reading.turns_until_red
    if reading.zone is PressureZone.RED:
        return "red now"
    if turns is None:
        return "not growing" if reading.velocity_tokens_per_turn == 0 else "no telling when it is red"
    return f"at that, red in {turns.least:.0f} to {turns.most:.0f} turns, likely {turns.likely:.0f}"


def _share(part: status.ComponentUse) -> float:
    return part.used / part.limit if part.limit else float(part.used > 0)


def _print_curve(seen: SeenConversation, limit: Limit) -> None:
    curve = seen.curve
    if curve.points:
        cuts = len(curve.compactions)
        compacted = f", compacted {count(cuts, 'time')} ({drawing.MARK})" if cuts else ""
        output.text(f"\n{count(len(curve.points), 'request')}{compacted}")
        output.text(drawing.sparkline(curve, limit.usable))


def _large_row(one: status.Large) -> tuple[str, ...]:
    line = f"line {one.line}" if one.line else ""
    return (f"{one.tokens:,}", one.tool or "?", f"turn {one.turn}", line, one.about)


def _suited(limit: Limit, thresholds: Thresholds) -> str:
    """A hint for small and large windows whose thresholds are the defaults; "" for others."""
    suited = suited_thresholds(limit.window)
    if thresholds != Thresholds() or suited == thresholds:
        return ""
    values = ", ".join(f"{name} {getattr(suited, name):.2f}" for name in ("yellow", "orange", "red"))
    return f"hint: pressure.thresholds that suit a window of {limit.window:,} tokens are {values}"


def _data(source: WindowSource, seen: SeenConversation, limit: Limit, found: Status) -> dict[str, Any]:
    plain = msgspec.to_builtins
    return {
        "file": output.name(source.file),
        "model": seen.model or None,
        "limit": plain(limit),
        "reading": plain(found.reading),
        "components": [{**plain(part), "share": round(_share(part), 3)} for part in found.parts],
        "largest_results": plain(found.largest),
        "curve": {"points": seen.curve.points, "compactions": plain(seen.curve.compactions)},
        "suited_thresholds": plain(suited_thresholds(limit.window)),
        "not_counted": seen.opened.conversation.uncounted,
        "broken_lines": messages.broken_in(seen.opened.transcript),
    }
