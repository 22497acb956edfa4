"""The command `memctl context budget`: divide a context window among kinds of content, and show how full it is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import click

from memctl.cli import memory_access, output, token_counter, window_limit
from memctl.cli.command import choice_option, command, flag_option, number_option, reading
from memctl.cli.text_input import read
from memctl.cli.token_counter import MultiFileCommand, Surroundings, files_option, model_option
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.text.phrases import quantity
from memctl.window import limits, profiles

if TYPE_CHECKING:
    from memctl.window import Occupancy, Profile, Team, TypeUsage


_TYPES = ("system", "active", "session", "buffer", "shared")


@command(
    "budget",
    ("memctl context budget", "Show how a window of 200,000 tokens is divided."),
    (
        "memctl context budget --profile small-feature --window 1000000",
        "Divide a window of 1,000,000 tokens for the work on a small feature.",
    ),
    (
        "memctl context budget --system CLAUDE.md --active src/*.py --session pack.md",
        "Show how many tokens these files take, and the zone of the window.",
    ),
    (
        "memctl context budget --used 171000 --strict",
        "Show the zone of a window with 171,000 tokens in use; exit with 1 if it is orange or red.",
    ),
    cls=MultiFileCommand,
)
@number_option(
    "--window",
    help="Size of the context window in tokens. [default: MEMCTL_CONTEXT_WINDOW, config.yaml, or the model's size]",
)
@choice_option(
    "--host",
    among=limits.HOSTS,
    default=limits.NO_HOST,
    help="The program that compacts the window; zones are shares of the tokens that fit before the compaction.",
)
@click.option(
    "--profile",
    "profile",
    callback=lambda _ctx, _param, name: profiles.profile(name),
    default="balanced",
    show_default=True,
    metavar="NAME",
    help=f"The kind of task, for which the window is divided: {', '.join(profiles.PROFILES)}.",
)
@files_option("system", "Files to count as instructions, skills and system prompts (- for standard input).")
@files_option("active", "Files to count as texts and outputs of the present task.")
@files_option("session", "Files to count as decisions, issues and state, such as a pack.")
@files_option("buffer", "Files to count as tool outputs that may be dropped at any time.")
@files_option("shared", "Files to count as content that all agents share; only with --profile multi-agent.")
@number_option("--used", least=0, help="Tokens in use as the host reports them; used instead of memctl's own count.")
@number_option("--agents", default=profiles.AGENTS, help="Number of agents; only with --profile multi-agent.")
@model_option
@flag_option("--strict", help="Exit with 1 if the zone is orange or red, or a hard limit is exceeded.")
@reading
def budget_command(
    ctx: click.Context,
    /,
    window: int | None,
    host: str,
    profile: Profile,
    used: int | None,
    agents: int,
    model: str | None,
    strict: bool,
    as_json: bool,
    at: str | None,
    **given: tuple[str, ...],
) -> None:
    """Divide a context window, and show how full it is.

    Each type of content gets a share of the window; some profiles give shares to the components of a request to the
    model instead. The tokens of the given files are counted against the share of their type. The zone is the one that
    `memctl context window status` shows. The advice depends on how full the whole window is: plan a compaction from 80
    % on, compact from 90 %, and treat 95 % as an emergency. In a repository with a memory, the tokens of what memctl
    itself can load are listed, too.
    """
    memory = memory_access.memory_if_any(ctx)
    limit = window_limit.of_model(model, window, host, memory)
    window = limit.window
    portions = profiles.allocate(window, profile)
    known = {portion.share.name for portion in portions}
    if wrong := next((kind for kind in _TYPES if given[kind] and kind not in known), None):
        raise MemctlError(
            f"the profile {profile.name} has no share for files of --{wrong}",
            f"use --profile multi-agent, or leave --{wrong} out",
            USAGE,
        )
    around = token_counter.surroundings(ctx, model, at)
    count = around.counter.tokens_of
    texts = {kind: [(name, read(name)) for name in given.get(kind, ())] for kind in known}
    counted = {kind: sum(count(*pair) for pair in pairs if pair[1]) for kind, pairs in texts.items()}
    occupancy = profiles.occupancy(window, portions, counted, used, limit.usable)
    is_measured = used is not None or any(given.values())
    team = profiles.team(window, agents) if profile is profiles.MULTI_AGENT else None
    advice, own = profile.lines(window), _own(around)
    if as_json:
        data = _data(occupancy, profile.name, is_measured, advice, own)
        shown = output.fields(team, "agents available shared own coordination effective efficiency") if team else None
        output.json("budget", {**data, "team": shown, "model": around.counter.family.name})
    else:
        _print(occupancy, profile.title, is_measured, around.counter.family.name)
        _print_more(advice, own, team)
    ctx.exit(REFUSED if strict and occupancy.is_alarming else OK)


def _own(around: Surroundings) -> list[tuple[str, int]]:
    """Return names and tokens of what memctl could load: the pages of each level, and a pack of `memctl rehydrate`.

    The tokens of the pack are the largest number that it may have.
    """
    if around.memory is None or around.snapshot is None:
        return []
    from memctl.pages import navigate
    from memctl.record.pages import PROJECT_ID
    from memctl.write import documents

    snapshot, making = around.snapshot, documents.renderer(around.memory, around.snapshot)
    pages = Counter([PROJECT_ID, *(page.id for page in snapshot.outline.pages if page.id != PROJECT_ID)])
    good = [marker for marker in pages if not snapshot.outline.fault_of(marker)]
    rows = []
    for level in "123":
        own = [marker for marker in good if marker[1] == level]
        texts = [navigate.find(snapshot, lambda: making, marker).text for marker in own if pages[marker] == 1]
        rows.append((f"level {level}: {quantity(len(own), 'page')}", sum(map(around.counter.tokens, texts))))
    return [*rows, ("memctl rehydrate, at most", around.memory.config.rehydrate_budget)]


def _print(occupancy: Occupancy, title: str, is_measured: bool, model: str) -> None:
    output.text(f"a window of {occupancy.window:,} tokens ({model}): {title}")
    output.text()
    header = ("", "tokens", "share", "hard limit", "used", "", "")
    rows = [header if is_measured else header[:4]]
    for usage in occupancy.usages:
        portion = usage.portion
        share = _share(portion.tokens, occupancy.window)
        row = (portion.share.title, f"{portion.tokens:,}", share, f"{portion.hard:,}")
        if is_measured:
            rows.append((*row, f"{usage.used:,}", _share(usage.used, portion.tokens), _over(usage)))
        else:
            rows += [row, *((f"  {part}", f"{tokens:,}", "", "") for part, tokens in portion.parts)]
    output.columns(rows)
    if not is_measured:
        return
    reported = f", {occupancy.unattributed:,} of them not in the given files" if occupancy.unattributed else ""
    more = f"; over the window by {-occupancy.free:,}" if occupancy.free < 0 else f"; {occupancy.free:,} free"
    used = f"{occupancy.used:,} tokens used ({_share(occupancy.used, occupancy.window)}{reported}){more}"
    zone = click.style(occupancy.zone, fg=window_limit.ZONE_COLOURS[occupancy.zone])
    output.styled(f"\n{zone}: {used}")
    output.text(f"  {occupancy.level.action}")
    for response in occupancy.level.responses:
        output.text(f"  - {response}")
    if occupancy.counted > occupancy.used:
        output.text(
            f"  the given files have {occupancy.counted:,} tokens, more than the host reports: "
            "the host has not loaded all of them"
        )
    if occupancy.lacks:
        output.text(f"  to keep a safety margin of 5 %, free {occupancy.lacks:,} more tokens")


def _over(usage: TypeUsage) -> str:
    if usage.over_hard:
        return f"over the hard limit by {usage.over_hard:,}"
    return f"over its share by {usage.over:,}" if usage.over else f"{usage.portion.tokens - usage.used:,} left"


def _share(tokens: int, whole: int) -> str:
    return f"{tokens / whole * 100:.1f} %" if whole else "-"


def _print_more(advice: list[str], own: list[tuple[str, int]], team: Team | None) -> None:
    if team is not None:
        output.text(
            f"\n{team.agents} agents: {team.effective:,} of {team.available:,} tokens remain ({team.efficiency:.0%}) "
            f"if what all agents share counts once: {team.shared:,} for what they share, {team.own:,} for what only "
            f"one agent has (all agents together), {team.coordination:,} for coordination"
        )
        output.columns([(f"  {name}", f"{tokens:,}") for name, tokens in team.coordination_parts])
    if advice:
        output.text("\nWhat to do as the work goes on")
        for line in advice:
            output.text(f"  - {line}")
    if own:
        output.text("\nTokens of what memctl can load")
        output.columns([(f"  {name}", f"{tokens:,}") for name, tokens in own])


def _data(
    occupancy: Occupancy, profile: str, is_measured: bool, advice: list[str], own: list[tuple[str, int]]
) -> dict[str, Any]:
    level = occupancy.level
    types = [
        {
            "type": usage.portion.share.name,
            "title": usage.portion.share.title,
            "soft_limit": usage.portion.tokens,
            "hard_limit": usage.portion.hard,
            "share": usage.portion.tokens / occupancy.window,
            "used": usage.used if is_measured else None,
            "over_soft": usage.over if is_measured else None,
            "over_hard": usage.over_hard if is_measured else None,
            "parts": [{"name": name, "tokens": tokens} for name, tokens in usage.portion.parts],
        }
        for usage in occupancy.usages
    ]
    measured = {"level": occupancy.zone, "capacity": level.name, "usable": occupancy.usable, "action": level.action}
    measured |= {"responses": list(level.responses)} | output.fields(occupancy, "used counted unattributed free")
    return {
        "window": occupancy.window,
        "profile": profile,
        "types": types,
        "measured": {**measured, "margin_lacks": occupancy.lacks} if is_measured else None,
        "advice": advice,
        "memctl": [{"what": name, "tokens": tokens} for name, tokens in own],
    }
