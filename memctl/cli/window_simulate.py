"""The command `memctl window simulate`: compare eviction policies (rules on what to remove) on a transcript."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memctl.cli import memory_access, output, token_counter
from memctl.cli import window_messages as messages
from memctl.cli.command import command, json_option
from memctl.cli.text_input import lines
from memctl.errors import USAGE, MemctlError
from memctl.tokens import model_windows
from memctl.window import POLICIES

if TYPE_CHECKING:
    from memctl.tokens.count import Counter
    from memctl.window import Replay, Simulation


def _policies(ctx: click.Context, param: click.Parameter, given: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in given.split(",") if name.strip()))
    for name in names:
        if name not in POLICIES:
            raise MemctlError(f"there is no eviction policy {name!r}", f"policies are {', '.join(POLICIES)}", USAGE)
    return names or list(POLICIES)


@command(
    "simulate",
    ("memctl window simulate session.jsonl --budget 100000", "Replay under all policies with the same budget."),
    (
        "memctl window simulate session.jsonl --policy fifo,hybrid --budget 60000 --trigger 0.9",
        "Compare two policies that evict later.",
    ),
    ("memctl window simulate session.jsonl --budget 100000 --json", "Print the curve of each policy, for a program."),
)
@click.argument("source", metavar="FILE|-")
@click.option(
    "--policy", "policies", default="", metavar="NAME,…", callback=_policies, help="Eviction policies. [default: all]"
)
@click.option("--budget", type=click.IntRange(min=1), required=True, metavar="N", help="Maximum tokens of a request.")
@click.option("--trigger", type=click.FloatRange(0, 1, min_open=True), default=model_windows.ORANGE_AT,
              show_default=True, help="Evict above this share of the budget.")  # fmt: skip
@click.option("--target", type=click.FloatRange(0, 1, min_open=True), default=model_windows.TARGET, show_default=True,
              help="Evict down to this share.")  # fmt: skip
@token_counter.model_option
@json_option
@click.pass_context
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
        raise MemctlError("--target must be below --trigger", exit_code=USAGE)
    from memctl.window import Simulation, reading

    with lines(source) as found:
        loaded = reading.load(found, source, whole=True)
    counter = token_counter.counter_for(model, loaded.model, memory_access.memory_if_any(ctx))
    broken = messages.broken_in(loaded.transcript)
    simulation = Simulation(loaded.parse(counter).blocks, counter)
    if not simulation.curve:
        raise MemctlError(f"{source} has no answer of a model", "give a transcript with answers of a model")
    replays = [simulation.replay(policy, budget, trigger=trigger, target=target) for policy in policies]
    if as_json:
        data = {
            "source": source,
            "model": counter.family.name,
            "budget": budget,
            "trigger": trigger,
            "target": target,
            "broken_lines": broken,
            "requests": len(simulation.curve),
            "unmanaged": {"tokens": sum(simulation.curve), "peak": max(simulation.curve), "curve": simulation.curve},
            "policies": [_data(one) for one in replays],
        }
        output.json("window_simulation", data)
        return
    _print(simulation, replays, counter, budget, f"evicting from {trigger:.0%} down to {target:.0%}")
    messages.warn_of_broken(broken)


def _print(simulation: Simulation, replays: list[Replay], counter: Counter, budget: int, how: str) -> None:
    peak = max(simulation.curve)
    output.text(
        f"{len(simulation.curve):,} requests, {sum(simulation.curve):,} tokens of {counter.family.name} without "
        f"eviction, the largest {peak:,}; budget {budget:,}, {how}"
    )
    head = ("policy", "saved", "share", "peak", "evictions", "over", "regrets/100", "tokens/100")
    output.columns([head, *(_row(one) for one in replays)])
    output.text()
    output.columns(
        [
            ("unmanaged", _curve(simulation.curve, peak)),
            *((one.policy.value, _curve(one.curve, peak)) for one in replays),
        ]
    )


def _data(one: Replay) -> dict[str, Any]:
    return {
        "policy": one.policy.value,
        "tokens": one.managed,
        "saved": one.saved,
        "peak": one.peak,
        "evictions": one.evictions,
        "blocks_evicted": one.evicted,
        "over_budget": one.over_budget,
        "regrets": one.regrets,
        "regret_tokens": one.regret_tokens,
        "regrets_per_100_requests": one.per_hundred(one.regrets),
        "regret_tokens_per_100_requests": one.per_hundred(one.regret_tokens),
        "curve": one.curve,
    }


def _row(one: Replay) -> tuple[str, ...]:
    share = one.saved / one.unmanaged if one.unmanaged else 0.0
    return (
        one.policy.value,
        f"{one.saved:,}",
        f"{share:.0%}",
        f"{one.peak:,}",
        f"{one.evictions:,}",
        f"{one.over_budget:,}",
        f"{one.per_hundred(one.regrets):,}",
        f"{one.per_hundred(one.regret_tokens):,}",
    )


def _curve(points: tuple[int, ...], most: int) -> str:
    """Return the curve in one line, on a scale that all curves share."""
    from memctl.window import Curve, curve

    return curve.sparkline(Curve(points=points), most)
