"""The command `memctl context budget`: divide a context window among kinds of content, and show how full it is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import click

from memctl.cli import memory_access, output, token_counter, window_limit
from memctl.cli.command import choice_option, command, flag_option, number_option, reading
from memctl.cli.text_input import read
from memctl.cli.token_counter import MultiFileCommand, Surroundings, files_option, model_option
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.text.phrases import quantity
from memctl.window import Loadable, WindowBudget, limits, profiles

if TYPE_CHECKING:
    from memctl.window import Occupancy, Profile, Team, TypeBudget


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
    known = {plan.name for plan in profile.plans}
    if wrong := next((kind for kind in _TYPES if given[kind] and kind not in known), None):
        raise MemctlError(
            f"the profile {profile.name} has no share for files of --{wrong}",
            f"use --profile multi-agent, or leave --{wrong} out",
            USAGE,
        )
    around = token_counter.surroundings(ctx, model, at)
    texts = {kind: [(name, read(name)) for name in given.get(kind, ())] for kind in known}
    is_measured = used is not None or any(given.values())
    counted = {kind: sum(around.counter.tokens_of(*pair) for pair in pairs if pair[1]) for kind, pairs in texts.items()}
    types = profiles.allocate(limit.window, profile, counted if is_measured else None)
    result = WindowBudget(
        window=limit.window,
        profile=profile.name,
        types=types,
        measured=profiles.occupancy(limit.window, types, used, limit.usable) if is_measured else None,
        advice=profile.lines(limit.window),
        memctl=_own(around),
        team=profiles.team(limit.window, agents) if profile is profiles.MULTI_AGENT else None,
        model=around.counter.family.name,
    )
    if as_json:
        output.json("budget", result)
    else:
        output.text(f"a window of {result.window:,} tokens ({result.model}): {profile.title}\n")
        _print(result)
    ctx.exit(REFUSED if strict and result.is_alarming else OK)


def _own(around: Surroundings) -> list[Loadable]:
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
        rows.append(Loadable(f"level {level}: {quantity(len(own), 'page')}", sum(map(around.counter.tokens, texts))))
    return [*rows, Loadable("memctl rehydrate, at most", around.memory.config.rehydrate_budget)]


def _print(result: WindowBudget) -> None:
    header = ("", "tokens", "share", "hard limit", "used", "", "")
    rows = [header if result.measured else header[:4]]
    for budget in result.types:
        share = _share(budget.soft_limit, result.window)
        row = (budget.title, f"{budget.soft_limit:,}", share, f"{budget.hard_limit:,}")
        if budget.used is not None:
            rows.append((*row, f"{budget.used:,}", _share(budget.used, budget.soft_limit), _over(budget)))
        else:
            rows += [row, *((f"  {part.name}", f"{part.tokens:,}", "", "") for part in budget.parts)]
    output.columns(rows)
    if result.measured:
        _print_measured(result.measured, result.window)
    if result.team:
        _print_team(result.team, result.window)
    if result.advice:
        output.text("\nWhat to do as the work goes on")
        for line in result.advice:
            output.text(f"  - {line}")
    if result.memctl:
        output.text("\nTokens of what memctl can load")
        output.columns([(f"  {own.what}", f"{own.tokens:,}") for own in result.memctl])


def _print_measured(now: Occupancy, window: int) -> None:
    reported = f", {now.unattributed:,} of them not in the given files" if now.unattributed else ""
    more = f"; over the window by {-now.free:,}" if now.free < 0 else f"; {now.free:,} free"
    used = f"{now.used:,} tokens used ({_share(now.used, window)}{reported}){more}"
    output.styled(f"\n{click.style(now.level, fg=window_limit.ZONE_COLOURS[now.level])}: {used}")
    output.text(f"  {now.action}")
    for response in now.responses:
        output.text(f"  - {response}")
    if now.counted > now.used:
        output.text(
            f"  the given files have {now.counted:,} tokens, more than the host reports: "
            "the host has not loaded all of them"
        )
    if now.margin_lacks:
        output.text(f"  to keep a safety margin of 5 %, free {now.margin_lacks:,} more tokens")


def _over(budget: TypeBudget) -> str:
    if budget.over_hard:
        return f"over the hard limit by {budget.over_hard:,}"
    if budget.over_soft:
        return f"over its share by {budget.over_soft:,}"
    return f"{budget.soft_limit - (budget.used or 0):,} left"


def _share(tokens: int, whole: int) -> str:
    return f"{tokens / whole * 100:.1f} %" if whole else "-"


def _print_team(team: Team, window: int) -> None:
    output.text(
        f"\n{team.agents} agents: {team.effective:,} of {team.available:,} tokens remain ({team.efficiency:.0%}) "
        f"if what all agents share counts once: {team.shared:,} for what they share, {team.own:,} for what only "
        f"one agent has (all agents together), {team.coordination:,} for coordination"
    )
    output.columns([(f"  {part.name}", f"{part.tokens:,}") for part in profiles.coordination(window)])
