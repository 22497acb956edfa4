"""The commands `memctl init`, which creates a memory, and `memctl demo`, which creates an example to try."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from memctl.cli import memory_access, output, write_command
from memctl.cli.command import command, flag_option, json_option
from memctl.cli.startup import Start
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.git import trust
from memctl.git.repository import find_top, refuse_bare
from memctl.record.change import Change
from memctl.record.config import DEFAULT_BRANCH
from memctl.store import agent_env, output_file
from memctl.store.memory import Memory
from memctl.text import phrases
from memctl.write import setup, transaction

if TYPE_CHECKING:
    from memctl.cli.first_steps import FirstStep

_SHOWN = 6  # folders that are left alone, in a line
_TRY = (
    "memctl status                        # show its progress and open issues",
    "memctl rehydrate | less              # print what an agent needs to start work",
    "memctl show 2.1                      # print a section of the project",
    "memctl why src/lantern/db/pool.py    # show what was decided about a file",
    'memctl search "out of connections"',
    'memctl learn "My first record" && git log --oneline',
)


@command(
    "init",
    ("memctl init", "Set up a memory at the root of this repository."),
    ("memctl init --git --project shop", "Create the Git repository too, and name the project."),
    (
        "memctl init --yes",
        "Also run the proposed next steps (import decisions, install hooks); works in an existing memory, too.",
    ),
    (
        "memctl init --sections",
        "Propose sections of an existing memory for the folders of the repository; --yes adds them.",
    ),
    (
        "memctl init --docs default-branch",
        "Render documents on the default branch only; works in an existing memory, too.",
    ),
    ("memctl init --here", "Set up a memory for this folder, in a repository of many projects."),
)
@click.option(
    "--project",
    metavar="NAME",
    help="The name of the project. [default: that of the repository at the remote, else of the folder]",
)
@flag_option("--git", "make_repository", help="Create a Git repository first if there is none.")
@flag_option("--here", help="Create the memory in this folder, not at the repository's root.")
@flag_option("--sections", help="Propose sections of an existing memory, for folders of the repository that have none.")
@click.option(
    "--docs",
    type=click.Choice(["true", "false", DEFAULT_BRANCH]),
    help="Which branches have rendered documents: all, none or the default one; also changes an existing memory.",
)
@flag_option("--yes", "-y", help="Also run the proposed next steps; with --sections, add the proposed sections.")
@write_command.writing
def init_command(
    ctx: click.Context,
    /,
    project: str | None,
    make_repository: bool,
    here: bool,
    sections: bool,
    docs: str | None,
    yes: bool,
    **flags: Any,
) -> None:
    """Set up a memory in this repository, and name the next commands.

    The memory is a folder `.memory/` with settings and a page that explains it, in one commit. The next commands fit
    what the repository contains: they import decisions, and install hooks for Git and for the agents that work here.
    """
    if yes and flags["as_json"]:
        raise MemctlError("--yes can't be combined with --json", "leave out --yes", USAGE)
    if sections:
        _propose_sections(ctx, yes=yes and not flags["dry_run"], as_json=flags["as_json"])
        return
    start: Path = ctx.obj.folder
    there = memory_access.memory_if_any(ctx) if (docs or yes) and not here and not project else None
    if docs and there:
        write_command.carry_out(there, lambda _: setup.plan_documents(there, docs), flags | {"discard": False})
        return
    if yes and there:
        _run_steps(ctx, there, dry_run=flags["dry_run"])  # as `init` has just proposed
        return
    if make_repository and not _in_repository(start):
        if flags["dry_run"]:
            refuse_bare(start)
            output.text(f"would create a Git repository in {start.absolute()}, and a memory in it")
            return
        setup.make_repository(start)
    memory, change = setup.plan(start, agent_env.with_agent(os.environ), project, here=here, docs=docs or "")
    memory.note_caller()
    if not flags["dry_run"]:
        _grant_trust(memory)

    def create(_: object) -> Change:
        setup.refuse_present(memory.folder)  # another process may have been faster
        return change

    result = transaction.carry_out(memory, create, write_command.write_options(flags))
    if yes:
        write_command.outcome(memory, result, flags, [f"memory of {memory.config.project}: {memory.folder}"])
        _run_steps(ctx, memory, dry_run=flags["dry_run"])
        return
    from memctl.cli import first_steps  # `init` alone needs it

    steps = first_steps.propose(memory)
    if flags["as_json"]:
        named = [{"command": step.line, "purpose": step.purpose} for step in steps]
        output.json("change", write_command.change_data(memory, result, flags["dry_run"]) | {"next": named})
        return
    write_command.outcome(memory, result, flags, [f"memory of {memory.config.project}: {memory.folder}"])
    if not flags["dry_run"]:
        _print_steps(memory.folder.parent, steps)


def _grant_trust(memory: Memory) -> None:
    """Trust the clone in which a memory is set up, unless its settings forbid that.

    Raises MemctlError for an agent if the clone is not trusted and has files of a memory already: trust is the clone's,
    so it would hold for these, too.
    """
    if setup.has_memories(memory.repository):
        memory.refuse_untrusted_agent("set up another memory in it")
    if trust.state(memory.repository, {}) != trust.REFUSED:
        with suppress(MemctlError):  # if the settings can't be written, the next write tries again
            trust.grant(memory.repository)


def _print_steps(top: Path, steps: Sequence[FirstStep]) -> None:
    where = "" if top.samefile(os.getcwd()) else f" in {output.name(str(top))}"
    width = max(len(step.line) for step in steps)
    output.note(
        f"next steps{where} (`memctl init --yes` runs those that need no text from you):",
        *(f"  {step.line:<{width}}  # {step.purpose}" for step in steps),
    )


def _run_steps(ctx: click.Context, memory: Memory, *, dry_run: bool) -> None:
    from memctl.cli import first_steps

    steps = [step for step in first_steps.propose(memory) if step.is_complete and step.words[0] != "init"]
    if not dry_run:
        _run_all(ctx, memory.folder.parent, steps)
        return
    for step in steps:
        output.one_line(f"would run `{step.line}`: {step.purpose}")


def _propose_sections(ctx: click.Context, *, yes: bool, as_json: bool) -> None:
    from memctl.cli import first_steps

    memory, snapshot = memory_access.read(ctx, None)
    steps, left = first_steps.propose_sections(memory, snapshot)
    if as_json:
        named = [{"command": step.line, "purpose": step.purpose} for step in steps]
        output.json_list("proposed-sections", named, name="sections")
        return
    if not steps:
        output.note("no section to propose: no other folder of the repository looks like a part of the project")
    elif not yes:
        output.text("\n".join(step.line for step in steps))
        output.note(
            "hint: `memctl init --sections --yes` adds all these sections, `memctl page section edit` renames one"
        )
    if left:
        output.note(f"left alone, as tests, examples, vendored or generated code: {phrases.some(left, _SHOWN)}")
    if yes and steps:
        _run_all(ctx, memory.folder.parent, [*steps, *first_steps.after_sections(memory)])


def _run_all(ctx: click.Context, top: Path, steps: Sequence[FirstStep]) -> None:
    root, has_failed = ctx.find_root(), False
    for step in steps:
        output.text(f"$ {step.line}")
        agrees = ["--yes"] if step.words[0] == "install" and step.words[1] != "git" else []
        try:
            words = ["-C", str(top), *step.arguments(top), *agrees]
            code = root.command.main(words, prog_name="memctl", standalone_mode=False, obj=Start(words))
            has_failed |= bool(code)
        except MemctlError as error:
            output.note(f"error: {error.message}", *([f"hint: {error.hint}"] if error.hint else []))
            has_failed = True
    ctx.exit(REFUSED if has_failed else OK)


@command(
    "demo",
    ("memctl demo", "Create the example in ./memctl-demo, and print what to try."),
    ("memctl demo ~/lantern", "Create the example in another folder."),
)
@click.argument("folder", required=False, default="memctl-demo", type=click.Path(path_type=Path))
@flag_option("-n", "--dry-run", help="Show what would be created, and create nothing.")
@json_option
def demo_command(ctx: click.Context, /, folder: Path, dry_run: bool, as_json: bool) -> None:
    """Create an example to try: a small shop's repository, with its memory.

    The repository has the shop's code, a history of commits and 30 records. It stays until you delete its folder.
    """
    place = ctx.obj.folder / os.path.expanduser(folder)
    if dry_run:
        setup.refuse_used_folder(place)
    else:
        output_file.refuse_place(place)
        setup.build_example(place)
    if as_json:
        output.json("demo", {"folder": str(place), "made": not dry_run})
        return
    output.text(f"{'would create' if dry_run else 'created'} the example in {output.name(str(place))}")
    if not dry_run:
        output.note("".join(f"\n  {line}" for line in ("try:", f"cd {shlex.quote(str(folder))}", *_TRY))[3:])


def _in_repository(start: Path) -> bool:
    if not start.exists():
        return False
    try:
        find_top(start)
    except MemctlError:
        return False
    return True
