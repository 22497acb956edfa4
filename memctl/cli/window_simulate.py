"""The command `memctl context window simulate`: compare eviction policies (rules on what to remove) on a transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from memctl.cli import memory_access, output, token_counter
from memctl.cli import window_messages as messages
from memctl.cli.command import command, json_option, number_option, text_option
from memctl.cli.text_input import lines
from memctl.errors import USAGE, MemctlError
from memctl.tokens import model_windows
from memctl.window import POLICIES

if TYPE_CHECKING:
    from memctl.window import Comparison, Replay, Unmanaged


def _policies(ctx: click.Context, param: click.Parameter, given: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    for name in names:
        if name not in POLICIES:
            raise MemctlError(f"there is no eviction policy {name!r}", f"give one of {', '.join(POLICIES)}", USAGE)
    return names or list(POLICIES)


@command(
    "simulate",
    (
        "memctl context window simulate session.jsonl --budget 100000",
        "Replay a session under all eviction policies with the same budget.",
    ),
    (
        "memctl context window simulate session.jsonl --policy fifo,hybrid --budget 60000 --trigger 0.9",
        "Compare two policies, evicting only when 90 % of the budget is used.",
    ),
    ("memctl context window simulate session.jsonl --budget 100000 --json", "Print the curve of each policy as JSON."),
)
@click.argument("source", metavar="FILE|-")
@text_option(
    "--policy",
    "policies",
    metavar="NAME,…",
    callback=_policies,
    help="The eviction policies to compare, separated by commas. [default: all]",
)
@number_option("--budget", required=True, metavar="N", help="The maximum number of tokens of a request.")
@click.option("--trigger", type=click.FloatRange(0, 1, min_open=True), default=model_windows.ORANGE_AT,
              show_default=True, help="Evict when a request has more than this share of the budget.")  # fmt: skip
@click.option("--target", type=click.FloatRange(0, 1, min_open=True), default=model_windows.TARGET, show_default=True,
              help="Evict until a request has at most this share of the budget.")  # fmt: skip
@token_counter.model_option
@json_option
def simulate_command(
    ctx: click.Context,
    /,
    source: str,
    policies: list[str],
    budget: int,
    trigger: float,
    target: float,
    model: str | None,
    as_json: bool,
) -> None:
    """Replay a whole transcript, or messages, request by request under eviction policies. Nothing is written.

    Compactions of the host are ignored, as if the window had never been cut. Regret is content that is needed after its
    eviction: a later message, thought or call names it, and the turn does not read it again by itself. It returns with
    all its tokens, which reduces what the policy saved. If eviction can't bring a request under the budget, it counts
    as over budget, and the window begins anew with the task and what is at work.
    """
    if target >= trigger:
        raise MemctlError("--target must be lower than --trigger", exit_code=USAGE)
    from memctl.window import Comparison, Simulation, Unmanaged, reading

    with lines(source) as stream:
        loaded = reading.load(stream, source, whole=True)
    counter = token_counter.counter_for(model, loaded.model, memory_access.memory_if_any(ctx))
    simulation = Simulation(loaded.parse(counter).blocks, counter)
    if not simulation.curve:
        raise MemctlError(
            f"{source} has no answer of a model, so there are no requests to replay", "give a transcript of a session"
        )
    unmanaged = Unmanaged(sum(simulation.curve), max(simulation.curve), simulation.curve)
    replays = [simulation.replay(policy, budget, trigger=trigger, target=target) for policy in policies]
    result = Comparison(
        source, counter.family.name, budget, trigger, target, messages.broken_in(loaded.transcript),
        len(simulation.curve), unmanaged, replays,
    )  # fmt: skip
    if as_json:
        output.json("window_simulation", result)
    else:
        _print(result)
        messages.warn_of_broken(result.broken_lines)


def _print(result: Comparison) -> None:
    from memctl.window import Curve, curve

    unmanaged = result.unmanaged
    output.text(
        f"without eviction: {result.requests:,} requests with {unmanaged.tokens:,} tokens of {result.model}, at most "
        f"{unmanaged.peak:,} each; budget of a request: {result.budget:,} tokens; eviction starts above "
        f"{result.trigger:.0%} of it and ends at {result.target:.0%}"
    )
    head = ("policy", "saved", "share", "peak", "evictions", "over", "regrets/100", "tokens/100")
    output.columns([head, *(_row(replay, unmanaged) for replay in result.policies)])
    output.text()
    curves = [("unmanaged", unmanaged.curve), *((replay.policy.value, replay.curve) for replay in result.policies)]
    output.columns([(name, curve.sparkline(Curve(points=points), unmanaged.peak)) for name, points in curves])


def _row(replay: Replay, unmanaged: Unmanaged) -> tuple[str, ...]:
    return (
        replay.policy.value,
        f"{replay.saved:,}",
        f"{replay.saved / unmanaged.tokens if unmanaged.tokens else 0.0:.0%}",
        f"{replay.peak:,}",
        f"{replay.evictions:,}",
        f"{replay.over_budget:,}",
        f"{replay.regrets_per_100_requests:,}",
        f"{replay.regret_tokens_per_100_requests:,}",
    )
