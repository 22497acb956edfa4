"""`policy threshold`."""

from __future__ import annotations

import click
import msgspec

from memctl.cli import output, surroundings
from memctl.cli.command import command, json_option
from memctl.cli.source import read
from memctl.policy import threshold as control


@command(
    "threshold",
    ("memctl policy threshold scs.jsonl", "Whether the threshold of the shared slice should be changed."),
    ("memctl policy threshold - --json", "From standard input, for a program."),
)
@click.argument("source", metavar="FILE|-")
@click.option("--threshold", type=click.IntRange(min=1), help="[default: scs_threshold in config.yaml, or 2000]")
@json_option
@click.pass_context
def threshold_command(ctx: click.Context, /, source: str, threshold: int | None, as_json: bool) -> None:
    """Review the threshold of the shared slice by a log of observations, and say what to do next.

    FILE has a line of JSON for each batch or day: date and scs (tokens); if there were any, threshold, requests and
    denied (fan-outs), macro_summaries and no_ops (those that saved nothing). The last seven days count.
    """
    limit = threshold or surroundings.threshold(ctx)
    found = control.review(control.parse(read(source), source), limit)
    if as_json:
        output.json("threshold", {**msgspec.structs.asdict(found), "steps": _steps(found)})
        return
    rows = [
        (
            "observations",
            f"{found.observations} from {found.since[:10]} to {found.until[:10]}" if found.observations else "0",
        ),
        ("median use of the threshold", "-" if found.median is None else f"{found.median:.0%} of {found.threshold:,}"),
        ("largest change of the SCS", f"{found.largest_delta:,}"),
        ("denied", "-" if found.denial_rate is None else f"{found.denial_rate:.0%} of {found.requests}"),
        ("macro summaries", f"{found.macro_summaries}, {found.no_ops} saved nothing"),
    ]
    output.columns(rows)
    to = f" to {found.proposal:,}" if found.proposal else ""
    output.text(f"\n{found.decision}{to}: {found.why}")
    for number, step in enumerate(_steps(found), 1):
        output.text(f"  {number}. {step}")


def _steps(found: control.Review) -> list[str]:
    return list(control.STEPS) if found.decision != "keep" else []
