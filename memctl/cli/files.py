"""The command `memctl files`: rank the repository's files for a task, and show which to load into the context."""

from __future__ import annotations

from typing import Any

import click

from memctl.cli import memory_access, output
from memctl.cli.command import command, flag_option, json_option, limit_option, number_option, text_option, text_options
from memctl.cli.pack_options import PackOptions, counter_of, deliver, pack_options
from memctl.errors import USAGE, MemctlError
from memctl.pack import budget_fill
from memctl.pack.draft import PackDraft
from memctl.pack.files import build_pack
from memctl.pages import definitions, outline
from memctl.record.snapshot import Snapshot
from memctl.sources import load_plan
from memctl.sources.facts import LATER
from memctl.sources.load_plan import NO_ROOM, Choice, LoadBudget
from memctl.sources.priorities import FileRequest, Priorities, priorities
from memctl.store.memory import Memory
from memctl.text import sensitive_files
from memctl.text.phrases import quantity
from memctl.tokens.count import Counter

_STYLES: tuple[dict[str, Any], ...] = ({"bold": True}, {"fg": "yellow"}, {}, {})
_OUTLINE = "outline"  # the verdict on a file of which only the outline is loaded
_CREDENTIAL = "credential"  # the verdict on a file that is never loaded because its text seems to have one
_WINDOW = 200_000  # tokens; rules.md#files-for-a-task


@command(
    "files",
    (
        "memctl files --task 'let the checkout retry card payments'",
        "List the files that matter for a task, best first.",
    ),
    (
        "memctl files --active src/cart.py --explain",
        "List files that matter for the work on one file, with the reasons for each score.",
    ),
    (
        "memctl files --task 'fix the cart' --pack --format xml --out files.xml",
        "Write the texts of the files to load into one file, for a model.",
    ),
    (
        "memctl files --task 'fix §4.src/auth.py' --used 120000 --json",
        "List the files as JSON, for a window of which 120,000 tokens are in use.",
    ),
)
@text_option("--task", help="The task that the files are for.")
@click.option("--active", multiple=True, metavar="PATH", help="A file that you work on. Repeatable.")
@text_options(
    ("--path", "globs", "Rank only files that match this glob, as in .gitignore. Repeatable."), metavar="GLOB"
)
@limit_option(20, "Show at most this many files; 0 shows all.")
@number_option("--window", default=_WINDOW, help="Size of the context window in tokens.")
@number_option("--used", least=0, default=0, help="Tokens of the window that are already in use.")
@click.option(
    "--least",
    type=click.FloatRange(0, 100),
    default=load_plan.JUST_IN_TIME_SCORE,
    show_default=True,
    help="The lowest score with which a file is loaded.",
)
@flag_option("--explain", help="Show the reasons for each score, and which files are never loaded.")
@flag_option(
    "--pack",
    "as_pack",
    help="Print a pack with the texts of the files to load ahead, and with the files left out, each with the reason.",
)
@pack_options(budget="70 % of half of --window")
@json_option
def files_command(
    ctx: click.Context,
    /,
    task: str,
    active: tuple[str, ...],
    globs: tuple[str, ...],
    limit: int,
    window: int,
    used: int,
    least: float,
    explain: bool,
    as_pack: bool,
    as_json: bool,
    **options: Any,
) -> None:
    """Rank the repository's files for a task, and show which to load into the context.

    Without a task, a file's score is the sum of relevance (at most 50), recency (30) and nearness to the active files
    in the graph of imports (20). With a task the limits are 70, 20 and 10, and relevance depends on what the file says
    and whether the task names it. Active files are those named by the task or by --active, and those with uncommitted
    changes. Files with a score of 70 or more, files of --active and what these import are worth loading before the work
    begins; files with 40 or more, when they are needed; the others, only if asked for. Of large, generated and lock
    files an outline is loaded (`memctl context summarize`). Files that .gitignore or .memctlignore excludes, binary
    files and files with names of secrets are never listed. A file whose text seems to have a credential is listed with
    `! credential`, and never packed.
    """
    memory, snapshot = memory_access.read(ctx, None)
    packing = PackOptions(**options)
    if not as_pack and (packing.out or packing.copy):
        raise MemctlError("--out and --copy need --pack: only a pack can be written or copied", "add --pack", USAGE)
    counter = counter_of(memory, packing)
    room = LoadBudget(window, used, packing.budget or load_plan.budget_of(window), least)
    request = FileRequest(task, active, ctx.obj.folder, globs, limit, lists_all=as_pack or not limit)
    ranking = priorities(memory, snapshot, request, room, counter, memory_access.progress("reading the files"))
    shown = ranking.files[: limit or None]
    if as_pack:
        _pack(memory, snapshot, ranking, (task, room.budget), packing, counter, as_json=as_json)
    elif as_json:
        data = {"model": counter.family.name, "room": room, "ranking": ranking, "shown": shown}
        output.answer("files", data, snapshot.faults, memory)
    else:
        _print(ranking, shown, room, explain)
    ctx.exit(output.finish(memory, snapshot))


def _pack(
    memory: Memory,
    snapshot: Snapshot,
    ranking: Priorities,
    request: tuple[str, int],
    options: PackOptions,
    counter: Counter,
    *,
    as_json: bool,
) -> None:
    """All tokens are counted as in the kind of these files that has the most tokens per character."""
    task, budget = request
    kinds = {choice.content.facts.kind for choice in ranking.files if choice.left_out in ("", NO_ROOM)} | {"markdown"}
    kind = max(sorted(kinds), key=lambda kind: counter.family.factors[kind])

    def fill(draft: PackDraft) -> budget_fill.Pack:
        return budget_fill.fill(draft, options.form, budget, lambda text: counter.tokens(text, kind))

    made = build_pack(memory, snapshot, ranking, task, counter, fill)
    included = set(made.included())
    more = {"files": [choice for choice in ranking.files if choice.path in included]}
    deliver(memory, snapshot, made, options, "files_pack", as_json=as_json, more=more)


def _print(ranking: Priorities, shown: tuple[Choice, ...], room: LoadBudget, explain: bool) -> None:
    rows: list[tuple[str, ...]] = []
    for choice in shown:
        form = _OUTLINE if choice.outline and choice.is_loaded else choice.verdict
        if sensitive_files.is_credential(choice.left_out):
            mark, form = "!", _CREDENTIAL
        else:
            mark = "+" if choice.is_loaded else " "
        tokens = f"{'~' if choice.tokens.source.startswith('size') else ' '}{choice.tokens.tokens:,}"
        rows.append((f"{choice.score.score:5.1f}", f"{mark} {form}", tokens, choice.path))
    if explain:
        _explain(shown, rows)
    else:
        output.columns([("score", "  verdict", "tokens", "file"), *rows], _STYLES)
    number, total = sum(choice.is_loaded for choice in ranking.files), ranking.total
    output.note(
        f"+ marks the files to load: {number:,} of {total:,} files, {ranking.loaded:,} of {room.budget:,} tokens"
    )
    if explain:
        free = ", ".join(f"{name.replace('_', ' ')} {tokens:,}" for name, tokens in room.reserve.items())
        output.note(f"tokens of the window that are kept free: {free}")
    if len(shown) < total:
        output.note(f"{quantity(total - len(shown), 'more file')}: --limit 0 shows all")
    for path, reason in ranking.refused if explain else ():
        output.note(f"never loaded: {path}: {reason}")
    if explain and any(definitions.lacks_parser(outline.suffix_of(choice.path)) for choice in shown):
        output.note(
            "hint: some code is read line by line or not at all; to have it parsed, install memctl's extra `languages`"
        )
    for path, reason in ranking.unsearched if explain else ():
        output.note(f"the text of {path} was not searched: {reason}")
    if later := sum(reason == LATER for _, reason in ranking.refused):
        output.note(f"hint: large files that are not ranked yet: {later:,}; run `memctl files` again to rank them")
    if ranking.refused and not explain:
        output.note(f"never loaded: {quantity(len(ranking.refused), 'more file')}; --explain shows which, and why")


def _explain(shown: tuple[Choice, ...], rows: list[tuple[str, ...]]) -> None:
    lines: list[tuple[str, ...]] = []
    for choice, row in zip(shown, rows, strict=True):
        parts = choice.score
        lines.append((*row[:3], f"{choice.path}  [{parts.relevance:g} + {parts.recency:g} + {parts.dependency:g}]"))
        lines += [("", "", f"{points:g}", why) for points, why in parts.reasons]
        lines += [("", "", "", f"not loaded: {choice.left_out}")] if choice.left_out else []
        lines += (
            [("", "", "", f"only an outline is loaded: {choice.outline}")]
            if choice.outline and choice.is_loaded
            else []
        )
    output.columns([("score", "  verdict", "tokens", "file  [relevance + recency + dependency]"), *lines], _STYLES)
