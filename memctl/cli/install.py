"""`install`."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from memctl.cli import install_agents, opening, output
from memctl.cli.command import command, json_option
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.git import trust
from memctl.git.repository import Repository, open_repository
from memctl.store import agent_env
from memctl.write import install
from memctl.write.install import InstallStep


@command(
    "install",
    ("memctl install git", "Check the memory at every commit, and merge records field by field."),
    ("memctl install git -n", "See what would be written."),
    ("memctl install git --uninstall", "Take it away again, and put back what was there."),
    ("(crontab -l; memctl install cron) | crontab -", "Have `memctl maintain` done here every night."),
    ("memctl install cron --for github", "Print a workflow that does it."),
    ("memctl install claude-code", "Give every session of Claude Code the memory: show the change, and ask."),
    ("memctl install codex --user --yes", "In your own settings, for all projects that have a memory."),
    ("memctl install claude-code --allow read", "Let agents search without asking, but not record."),
    ("memctl install agents-md", "Tell agents without hooks, in AGENTS.md and CLAUDE.md."),
)
@click.argument("what", type=click.Choice(["git", "cron", *install_agents.WHAT]))
@click.option(
    "--for", "target", type=click.Choice(install.TARGETS), help="For cron: what to print a job for (default: crontab)."
)
@click.option("--user", is_flag=True, help="For agents: in your home, for all projects.")
@click.option("--local", "own", is_flag=True, help="For Claude Code: in settings.local.json, for you in this project.")
@click.option(
    "--allow",
    type=click.Choice(install_agents.ALLOW),
    help="For agents: what they may run of memctl without asking. [default: all, but for what you took out]",
)
@click.option("--yes", "-y", is_flag=True, help="For agents: write without asking.")
@click.option("--uninstall", is_flag=True, help="Take away what was installed.")
@click.option("--dry-run", "-n", is_flag=True, help="Show what would be written, and write nothing.")
@json_option
@click.pass_context
def install_command(
    ctx: click.Context,
    /,
    what: str,
    target: str | None,
    user: bool,
    own: bool,
    allow: str | None,
    yes: bool,
    uninstall: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Set up Git's hooks and merge drivers for this clone, or the hooks of agents.

    The hooks `pre-commit` and `pre-merge-commit` run `memctl check --staged`, and at a merge `memctl render --staged`
    before it; `post-merge` puts the rendered documents into the merge that Git has just made. Hooks that you have are
    kept and run first. `git fetch` brings refs/memctl/* of the branch's remote along. Nothing leaves this clone.

    `cron` prints what has `memctl maintain` done every night, a line for crontab or a job for CI, and writes nothing.

    Installing something trusts the clone (`git config memctl.trusted`): hooks of agents write and speak in no other.

    For agents the settings of their programs are changed: what is in them stays, and --uninstall brings back what was
    there. The same change lets them run what reads the memory, and what records in it, without asking each time:
    --allow says which. Without a terminal to ask on, only --yes writes.
    """
    if what in install_agents.WHAT:
        if target:
            raise MemctlError("--for goes with `install cron` only", exit_code=USAGE)
        asked = install_agents.InstallOptions(what, user, own, allow, uninstall, dry_run, yes, as_json)
        ctx.exit(install_agents.run(ctx, asked))
    if user or own or yes or allow:
        raise MemctlError("--user, --local, --allow and --yes go with agents only", exit_code=USAGE)
    if what == "cron":
        if uninstall:
            raise MemctlError("memctl did not install it", "take the line out of your crontab", USAGE)
        _print_schedule(ctx, target or "crontab", as_json)
        return
    if target:
        raise MemctlError("--for goes with `install cron` only", exit_code=USAGE)
    repository, steps = _plan(ctx, uninstall)
    if not dry_run:
        if not uninstall and agent_env.shell_of(os.environ) is None:  # an agent trusts no clone
            trust.grant(repository)
        install.carry_out(repository, steps)
    if as_json:
        data = {"what": what, "uninstall": uninstall, "dry_run": dry_run, "parts": [_data(step) for step in steps]}
        output.json("install", data)
    else:
        for step in steps:
            _print(step, dry_run)
    ctx.exit(REFUSED if any(step.fault for step in steps) else OK)


def _print_schedule(ctx: click.Context, target: str, as_json: bool) -> None:
    memory = opening.memory(ctx)
    text = install.schedule(memory, target, install.own_program(sys.argv[0], sys.executable))
    if as_json:
        output.json("install", {"what": "cron", "for": target, "text": text})
    else:
        output.text(text, newline=False)


def _plan(ctx: click.Context, uninstall: bool) -> tuple[Repository, list[InstallStep]]:
    if uninstall:  # which must work when the memory is gone, too
        repository = open_repository(ctx.obj.folder)
        return repository, [*install.plan_removal(repository), *install.plan_refspec_removal(repository)]
    memory = opening.memory(ctx)
    steps = install.plan(memory, install.own_program(sys.argv[0], sys.executable))
    return memory.repository, [*steps, *install.plan_refspec(memory.repository)]


def _data(step: InstallStep) -> dict[str, Any]:
    files = step.files
    return {
        "part": step.part,
        "state": step.state,
        "note": output.name(step.note) or None,
        "file": output.name(str(files.file)) if files else None,
        "text": output.name(files.text) if files and files.text is not None else None,
        "settings": {key: value and output.name(value) for key, value in step.settings},
        "removed_section": step.section or None,
        "added": [{"key": output.name(key), "value": output.name(value)} for key, value in step.added],
        "taken": [{"key": output.name(key), "value": output.name(value)} for key, value in step.taken],
        "add_to": output.name(step.add_to) or None,
        "lines": output.name(step.lines) or None,
    }


def _print(step: InstallStep, dry_run: bool) -> None:
    done = bool(step.files or step.settings or step.section or step.added or step.taken)
    state = f"would be {step.state}" if dry_run and done else step.state
    output.text(output.name(f"{step.part}: {state}{f' ({step.note})' if step.note else ''}"))
    if step.lines:
        verb = "make an executable file" if step.lines.startswith("#!") else "add to"
        output.text(output.name(f"{verb} {step.add_to}:\n{step.lines}"))
    if dry_run:
        _print_writes(step)


def _print_writes(step: InstallStep) -> None:
    """A dry run: a diff of our own script, what else happens to files, and settings."""
    files = step.files
    if files and files.text is not None:
        old, new = output.name(files.old).splitlines(), output.name(files.text).splitlines()
        after = output.name(str(files.file))
        output.difference(old, new, after if old else "/dev/null", after)
    for file in files.deletes if files else ():
        output.text(output.name(f"  delete {file}"))
    for key, value in step.settings:
        output.text(output.name(f"  git config {key}: {'unset' if value is None else value}"))
    if step.section:
        output.text(f"  git config: without {step.section}")
    for verb, settings in (("--add", step.added), ("--unset", step.taken)):
        for key, value in settings:
            output.text(output.name(f"  git config {verb} {key} {value}"))
