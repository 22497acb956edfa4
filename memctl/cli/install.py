"""The command `memctl install`: set up Git's hooks and merge drivers, or the hooks of agents' programs.

Changes of settings are shown, and are made only if the user agrees.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import click
import msgspec

from memctl.cli import memory_access, output, write_command
from memctl.cli.command import command, flag_option, json_option, text_option
from memctl.errors import OK, REFUSED, USAGE, MemctlError
from memctl.git import edited_hooks, hook_commits, trust
from memctl.git.repository import Repository, open_repository
from memctl.hooks import file_recall, host_files, json_edit, other_memctl, permissions, settings
from memctl.hooks.host_files import Allowed, Edit, OriginalFiles
from memctl.hooks.hosts import HOSTS, Host, with_guard
from memctl.hooks.mcp_settings import CLIENTS
from memctl.store import agent_env, files, output_file
from memctl.store.agent_env import READ, RECORD
from memctl.store.memory import Memory
from memctl.write import install
from memctl.write.install import InstallStep

AGENTS_MD = "agents-md"
ALL = "all"
_ALLOW = {ALL: (READ, RECORD), READ: (READ,), RECORD: (RECORD,), "none": ()}
ALLOW = tuple(_ALLOW)
WHAT = (*HOSTS, AGENTS_MD, *install.WORKFLOWS)
_COMMITTED = "a summary and checkpoints of each session (what was asked, decided and changed; without credentials)"
_PLACES = {
    hook_commits.ALL: "commit {what} to your branch",
    hook_commits.RECORDS: "commit {what} to refs/memctl/sessions, not to your branch; `memctl sync` pushes that ref",
    hook_commits.NONE: "leave {what} to `memctl commit`",
}
_ANYWHERE = (
    "commit {what} in clones that you trust: to the branch, or, if the branch has an upstream, to refs/memctl/sessions"
)


class InstallOptions(msgspec.Struct, frozen=True):
    """What a user passes to `memctl install`: the argument `what` (what to install), and options.

    `source` is --from: what a workflow installs memctl from. `user` is --user: the settings in the user's home. `own`
    is --local: the settings of one user in the project. Each other field has the name of its option.
    """

    what: str
    source: str
    user: bool
    own: bool
    allow: str | None
    uninstall: bool
    dry_run: bool
    yes: bool
    as_json: bool


def run(ctx: click.Context, options: InstallOptions) -> int:
    """Show how an installation would change files, change them if the user agrees, and return the exit code."""
    _check_options(options)
    folder, repository = _place(ctx, options)
    originals = OriginalFiles(repository.shared / "installed" if repository else host_files.state_home(os.environ))
    edits = _edits(ctx, options, folder, repository, originals)
    if not options.as_json:
        _show(edits)
    changing = [edit for edit in edits if edit.changes]
    if options.what in HOSTS and not options.uninstall:
        output.note(_consent(_mode(repository)))
        texts = [(edit.after or b"").decode("utf-8-sig", errors="replace") for edit in edits]
        host = HOSTS[options.what]
        granted = permissions.granted_rules(host, texts[0], "\n".join(texts[1:]), edits[0].name)
        output.note(permissions.describe(host, granted))
        for other in other_memctl.find(host, folder, os.environ):
            if other.place.file != edits[0].file:
                output.note(f"warning: {other.sentence(host)}")
    done = bool(changing) and not options.dry_run and _confirm(options)
    if done or (options.yes and not options.dry_run):
        if repository is not None:
            _set_up(options, repository)
        for edit in edits[::-1] if options.uninstall else edits:  # a folder below another goes first
            host_files.carry_out(edit, originals, remove=options.uninstall)
    _report(options, edits, done=done)
    if not changing or options.dry_run or done:
        return OK
    return REFUSED


def _consent(mode: str) -> str:
    what = _PLACES.get(mode, _ANYWHERE).format(what=_COMMITTED)
    values = f"{hook_commits.ALL}|{hook_commits.RECORDS}|{hook_commits.NONE}"
    return f"these hooks {what} (`git config {hook_commits.SETTING} {values}` changes that)"


def _mode(repository: Repository | None) -> str:
    """Return what the hooks will commit here; "" if each clone has its own setting."""
    if repository is None:
        return ""
    trust.state(repository, {})  # where hooks are at work already, they go on as they did
    return hook_commits.mode(repository) or hook_commits.default(repository)


def _set_up(options: InstallOptions, repository: Repository) -> None:
    if options.uninstall:
        install.carry_out(repository, install.plan_refspec_removal(repository))
        return
    _grant_trust(repository)
    if agent_env.shell_of(os.environ) is None:  # an agent accepts no hook
        edited_hooks.accept(repository, repository.branch()[1])
    if options.what in HOSTS:
        hook_commits.decide(repository)
        install.carry_out(repository, install.plan_refspec(repository))


def _check_options(options: InstallOptions) -> None:
    if options.allow and (options.what not in HOSTS or options.uninstall):
        raise MemctlError("--allow is only for installing in an agent's settings", "leave out --allow", USAGE)
    if options.what not in HOSTS and (options.user or options.own):
        name = install.WORKFLOWS.get(options.what, "AGENTS.md")
        message = f"--user and --local are not for {name}, which belongs to the project"
        raise MemctlError(message, "leave out --user and --local", USAGE)
    if options.own and (options.user or not HOSTS[options.what].own):
        raise MemctlError("--local is only for `memctl install claude-code` without --user", "leave out --local", USAGE)


def _place(ctx: click.Context, options: InstallOptions) -> tuple[Path, Repository | None]:
    if options.user:
        home = files.home_folder()
        if home == Path(os.devnull):
            hint = "set HOME to a folder that you can write to, or install in the project: leave out --user"
            raise MemctlError("you have no home folder", hint)
        if not options.dry_run:
            output_file.refuse_outside(home / "settings")
        return home, None
    if options.uninstall:  # which must work when the memory is gone, too
        memory = memory_access.memory_if_any(ctx)
        repository = open_repository(ctx.obj.folder)
        return (memory.folder.parent if memory else repository.top), repository
    memory = _memory(ctx, dry_run=options.dry_run)
    return memory.folder.parent, memory.repository


def _memory(ctx: click.Context, *, dry_run: bool) -> Memory:
    memory = memory_access.memory(ctx)
    if not dry_run:
        if memory.by_agent or memory.by_unknown:  # MEMCTL_TRUST ends with its command, and what is installed stays
            memory.trust = trust.state(memory.repository, {})
        memory.refuse_untrusted_agent("install anything in it")
    return memory


def _grant_trust(repository: Repository) -> None:
    """An agent trusts no clone."""
    if agent_env.shell_of(os.environ) is not None or agent_env.is_unknown(os.environ):
        return
    is_new = trust.state(repository, {}) != trust.TRUSTED
    trust.grant(repository)
    if is_new:
        output.note(trust.NOTICE)


def _edits(
    ctx: click.Context, options: InstallOptions, folder: Path, repository: Repository | None, originals: OriginalFiles
) -> list[Edit]:
    top = repository.top if repository else None
    if options.what == AGENTS_MD:
        return host_files.guide_edits(folder, top or folder, originals, remove=options.uninstall)
    if options.what in install.WORKFLOWS:
        name = install.WORKFLOWS[options.what]
        text = None if options.uninstall else install.workflow(_memory(ctx, dry_run=True), options.what, options.source)
        place = top or folder
        return [host_files.whole_file_edit(place / name, name, place, text, originals)]
    host = HOSTS[options.what]
    option = settings.USER if options.user else settings.LOCAL if options.own else ""
    file, shown, _ = settings.place(host, option, folder, os.environ)
    call = None
    if not options.uninstall:
        call = settings.hook_call(host, _program(options), is_own=bool(option), windows=os.name == "nt")
    form, groups = permissions.FORMS[host.name], _ALLOW[options.allow] if options.allow else None
    declined = () if options.user or options.uninstall else host_files.declined_rules(host, os.environ)
    listed = Allowed(form.list_entries(is_project=not options.user), groups, declined)
    is_guarded = repository is not None and repository.own_setting(file_recall.SETTING).lower() == file_recall.DENY
    hooked = with_guard(host) if is_guarded and not options.uninstall else host
    edits = [host_files.settings_edit(file, shown, top, hooked, call, originals, listed)]
    if form.file:
        file, shown = file.parent / form.file, f"{shown.removesuffix(host.shared)}{form.file}"
        allowed = None if options.uninstall else Allowed(form.rules(), groups, declined)
        edit = host_files.rules_edit(file, shown, top, form, originals, allowed)
        edits += [edit] if edit.changes or edit.offered or edit.before is not None else []
    return edits


def _program(options: InstallOptions) -> str:
    """Return "" for memctl on the PATH, or its absolute path in a user's own settings."""
    own = install.own_program(sys.argv[0], sys.executable)
    if not own or not (options.user or options.own) or (_is_on_path(own) and not _environment()):
        return ""
    return own


def _is_on_path(own: str) -> bool:
    """The PATH may lead to another program of this name."""
    program = shutil.which("memctl")
    return program is not None and os.path.exists(own) and os.path.samefile(program, own)


def _environment() -> str:
    """Return the active virtual environment if the PATH has memctl only in its folders, otherwise "".

    An environment is active if VIRTUAL_ENV names it or if it has the running Python. A link outside of it that leads to
    its memctl, as pipx makes one, is found without the environment.
    """
    named = [os.environ.get("VIRTUAL_ENV", ""), sys.prefix if sys.prefix != sys.base_prefix else ""]
    environments = [Path(os.path.realpath(folder)) for folder in named if os.path.isabs(folder)]

    def holding(folder: str) -> Path | None:
        place = Path(os.path.realpath(folder))
        return next((environment for environment in environments if place.is_relative_to(environment)), None)

    program = shutil.which("memctl")
    held_by = holding(os.path.dirname(program)) if program else None
    without = [folder for folder in os.environ.get("PATH", "").split(os.pathsep) if holding(folder) is None]
    return str(held_by) if held_by and shutil.which("memctl", path=os.pathsep.join(without)) is None else ""


def _show(edits: list[Edit]) -> None:
    for edit in edits:
        if not edit.changes:
            continue
        old, new = ((data or b"").decode(errors="replace").splitlines() for data in (edit.before, edit.after))
        before = edit.name if edit.before is not None else "/dev/null"
        after = edit.name if edit.after is not None else "/dev/null"
        write_command.difference(old, new, before, after)


def _confirm(options: InstallOptions) -> bool:
    if options.yes:
        return True
    if not sys.stdin.isatty():
        return False
    return click.confirm("Write this?", err=True)


def _report(options: InstallOptions, edits: list[Edit], *, done: bool) -> None:
    if options.as_json:
        data = {**msgspec.to_builtins(options), "done": done, "files": [_data(edit) for edit in edits]}
        for name in ("as_json", "yes"):
            del data[name]
        output.json("install", data)
    verb = "removed from" if options.uninstall else "installed in"
    for edit in edits:
        if not edit.changes:
            output.note(f"{edit.name}: {edit.note or 'unchanged'}")
        elif done:
            output.note(f"{verb} {edit.name}")
    if not done and not options.dry_run and any(edit.changes for edit in edits):
        output.note("nothing was written\nhint: --yes writes the change without asking")
    elif not options.uninstall and options.what in install.WORKFLOWS:
        _advise_on_workflow(options.what, edits[0])
    elif not options.uninstall and options.what in HOSTS:
        _advise(HOSTS[options.what], options)
        host, text = HOSTS[options.what], (edits[0].after or b"").decode("utf-8-sig")
        if settings.are_off(text, edits[0].name):
            output.note(f"warning: {edits[0].name} sets `{settings.OFF}`: no hook runs until you remove this setting")
        if refused := [extra for extra in json_edit.extras(text) if extra not in host.takes]:
            output.note(
                f"warning: {host.title} can't read settings with {' and '.join(refused)}: it ignores all of"
                f" {edits[0].name} until you remove them"
            )


def _advise_on_workflow(what: str, edit: Edit) -> None:
    steps = [f"commit {edit.name}"]
    if what == "gitlab":
        steps.append("add `include: [{local: .gitlab/memctl.yml}]` to .gitlab-ci.yml and a token as MEMCTL_TOKEN")
    if b"vars.MEMCTL" in (edit.after or b"") or b"$MEMCTL_ORIGIN" in (edit.after or b""):
        variable = "MEMCTL_ORIGIN" if what == "gitlab" else "MEMCTL"
        steps.append(f"set the CI variable {variable} to what pip installs memctl from (or give it here: --from)")
    output.note(f"hint: {', '.join(steps)}; docs/reviews.md says what it does")


def _advise(host: Host, options: InstallOptions) -> None:
    whole = f"install with --user{' or --local' if host.own else ''}, so that the hooks call memctl by its full path"
    is_found = options.user or options.own or settings.finds_memctl()
    if not is_found and shutil.which("memctl") is None:
        output.note(f"warning: memctl is not on the PATH, where the hooks look for it\nhint: {whole}")
    elif not is_found and (environment := _environment()):
        output.note(
            f"warning: memctl is on the PATH only while {output.name(environment)} is active; without that virtual"
            " environment these hooks do not find memctl, and do nothing\n"
            f"hint: install memctl for all your shells (`pipx install PATH`, with the path of its checkout), or start "
            f"the agent in that environment; {whole}"
        )
    if host.is_for_its_folder_only and not options.user:
        output.note(
            f"hint: {host.title} reads these settings only if you start it in this folder, not in a folder below; with"
            f" `memctl install {host.name} --user` the hooks work in every folder"
        )
    if host.advice:
        output.note(f"hint: {host.advice}")


def _data(edit: Edit) -> dict[str, Any]:
    return {
        "file": output.name(edit.name),
        "changes": edit.changes,
        "before": None if edit.before is None else edit.before.decode(errors="replace"),
        "after": None if edit.after is None else edit.after.decode(errors="replace"),
        "note": edit.note or None,
    }


@command(
    "install",
    ("memctl install git", "Let Git check the memory at every commit, and merge records field by field."),
    ("memctl install git -n", "Show what `memctl install git` would write."),
    ("memctl install git --uninstall", "Remove memctl's hooks and merge drivers, and restore what was there before."),
    (
        "(crontab -l; memctl install cron) | crontab -",
        "Add a line to your crontab that runs `memctl maintain` here every night.",
    ),
    ("memctl install cron --for github", "Print a GitHub workflow that runs `memctl maintain` every night."),
    (
        "memctl install claude-code",
        "Give sessions of Claude Code the memory; memctl shows how its settings change, and asks first.",
    ),
    (
        "memctl install codex --user --yes",
        "Give Codex the memory in all your projects, by the settings in your home, without asking.",
    ),
    (
        "memctl install claude-code --allow read",
        "Let Claude Code run memctl's reading commands without asking, but not those that record.",
    ),
    ("memctl install mcp --for cursor", "Print the settings that start `memctl mcp` in Cursor."),
    (
        "memctl install github --from git+https://example.org/memctl.git",
        "Write a workflow that reviews pull requests, comments on them, and renders the documents on the main branch.",
    ),
    ("memctl install agents-md", "Describe the memory in AGENTS.md and CLAUDE.md, for agents without hooks."),
)
@click.argument("what", type=click.Choice(["git", "cron", "mcp", *WHAT]))
@click.option(
    "--for",
    "target",
    type=click.Choice([*install.TARGETS, *CLIENTS]),
    help=f"With cron, the scheduler: {', '.join(install.TARGETS)}; with mcp, the program: {', '.join(CLIENTS)}.",
)
@text_option(
    "--from",
    "source",
    metavar="SOURCE",
    help="For github and gitlab: a wheel in the repository, or the address of a wheel or Git repository, from which the"
    " workflow installs memctl. [default: where this memctl was installed from]",
)
@flag_option("--user", help="For agents: install in the settings in your home, for all projects.")
@flag_option("--local", "own", help="For Claude Code: install in settings.local.json, only for you in this project.")
@click.option(
    "--allow",
    type=click.Choice(ALLOW),
    help="For agents: the memctl commands that may run without asking you. [default: all except those that you removed"
    " from the settings]",
)
@flag_option("--yes", "-y", help="For agents: write without asking. `memctl install git` never asks.")
@flag_option("--uninstall", help="Remove what `memctl install` installed.")
@flag_option("--dry-run", "-n", help="Show what would be written, and write nothing.")
@json_option
def install_command(ctx: click.Context, /, target: str | None, **values: Any) -> None:
    """Set up Git's hooks and merge drivers for this clone, or the hooks of agents.

    `git`: the hooks `pre-commit` and `pre-merge-commit` run `memctl check --staged`, and in a merge first `memctl
    render --staged`; `post-merge` adds the rendered documents to the merge that Git has just made. Your own hooks are
    kept and run first. `git fetch` then also brings refs/memctl/* of the branch's remote. Nothing leaves this clone.
    `memctl install git` writes without asking and names each part; -n shows the parts first.

    `cron` prints a crontab line or a CI job that runs `memctl maintain` every night, and writes nothing. `mcp` prints
    the settings with which a program starts `memctl mcp`.

    `github` and `gitlab` write a workflow for the hosting site. On each pull request it runs `memctl page impact`,
    writes what that says in one comment (for forks in the job's summary), and fails on new errors of `memctl check`.
    After a push to the default branch it runs `memctl page render`, and commits or, if the branch is protected,
    proposes the documents.

    Installing trusts the clone (`git config memctl.trusted`): in an untrusted one the hooks of agents neither write nor
    show records, and an agent may install nothing.

    An agent's settings are changed in place: what they contain stays, and --uninstall restores what was there. The same
    change allows the agent to run the commands that read the memory and those that record in it without asking; --allow
    chooses which. Without a terminal to ask on, nothing is written unless you give --yes.
    """
    options = InstallOptions(**values)
    what = options.what
    if target and what not in ("cron", "mcp"):
        raise MemctlError("--for is only for `memctl install cron` and `memctl install mcp`", "leave out --for", USAGE)
    if options.source and what not in install.WORKFLOWS:
        raise MemctlError("--from is only for `memctl install github` and `gitlab`", "leave out --from", USAGE)
    if what in WHAT:
        ctx.exit(run(ctx, options))
    if options.user or options.own or options.allow:
        raise MemctlError(
            f"--user, --local and --allow are only for agents, not for `memctl install {what}`",
            "leave out these options",
            USAGE,
        )
    if options.yes and what != "git":
        raise MemctlError(f"--yes is not for `memctl install {what}`, which writes nothing", "leave out --yes", USAGE)
    if what == "cron":
        _print_schedule(ctx, target or "crontab", options)
    elif what == "mcp":
        _print_mcp(target, options.as_json)
    else:
        ctx.exit(_install_git(ctx, options))


def _install_git(ctx: click.Context, options: InstallOptions) -> int:
    repository, steps = _plan(ctx, options)
    uninstall, dry_run = options.uninstall, options.dry_run
    if not dry_run:
        if not uninstall:
            _grant_trust(repository)
        install.carry_out(repository, steps)
    if options.as_json:
        data = {"what": "git", "uninstall": uninstall, "dry_run": dry_run, "parts": steps}
        output.answer("install", data, alternative=1)
    else:
        for step in steps:
            _print(step, dry_run)
    return REFUSED if any(step.fault for step in steps) else OK


def _print_schedule(ctx: click.Context, target: str, options: InstallOptions) -> None:
    if options.uninstall:
        hint = "remove the job from where you put it, such as your crontab"
        raise MemctlError("`memctl install cron` only prints a job, so it can't remove one", hint, USAGE)
    memory = memory_access.memory(ctx)
    text = install.schedule(memory, target, install.own_program(sys.argv[0], sys.executable))
    if variable := next((name for name in ("vars.MEMCTL", "$MEMCTL_ORIGIN") if name in text), ""):
        name = variable.removeprefix("vars.").removeprefix("$")
        output.note(
            f"hint: set the CI variable {name} to the source from which pip installs memctl: `git+https://…` or a wheel"
        )
    if options.as_json:
        output.json("install", {"what": "cron", "for": target, "text": text})
    else:
        output.text(text, newline=False)


def _print_mcp(target: str | None, as_json: bool) -> None:
    """The settings belong to the user, so nothing is written."""
    if target not in CLIENTS:
        raise MemctlError(
            "the option --for PROGRAM is missing", f"`memctl install mcp --for {'|'.join(CLIENTS)}`", USAGE
        )
    client = CLIENTS[target]
    command = "memctl" if shutil.which("memctl") else install.own_program(sys.argv[0], sys.executable)
    text = client.write(command or "memctl")
    if as_json:
        output.json("install", {"what": "mcp", "for": target, "file": client.file, "text": text})
        return
    output.text(text, newline=False)
    output.note(f"put these settings into {client.file} for {client.title}")


def _plan(ctx: click.Context, options: InstallOptions) -> tuple[Repository, list[InstallStep]]:
    if options.uninstall:  # which must work when the memory is gone, too
        repository = open_repository(ctx.obj.folder)
        return repository, [*install.plan_removal(repository), *install.plan_refspec_removal(repository)]
    memory = _memory(ctx, dry_run=options.dry_run)
    steps = install.plan(memory, install.own_program(sys.argv[0], sys.executable))
    return memory.repository, [*steps, *install.plan_refspec(memory.repository)]


def _print(step: InstallStep, dry_run: bool) -> None:
    done = bool(step.files or step.settings or step.section or step.added or step.taken)
    state = f"would be {step.state}" if dry_run and done else step.state
    output.text(output.name(f"{step.part}: {state}{f' ({step.note})' if step.note else ''}"))
    if step.lines:
        verb = "write an executable file" if step.lines.startswith("#!") else "add to"
        output.text(output.name(f"{verb} {step.add_to}:\n{step.lines}"))
    if dry_run:
        _print_writes(step)


def _print_writes(step: InstallStep) -> None:
    files = step.files
    if files and files.text is not None:
        old, new = output.name(files.old).splitlines(), output.name(files.text).splitlines()
        after = output.name(str(files.file))
        write_command.difference(old, new, after if old else "/dev/null", after)
    for file in files.deletes if files else ():
        output.text(output.name(f"  delete {file}"))
    for key, value in step.settings:
        output.text(output.name(f"  git config {key}: {'unset' if value is None else value}"))
    if step.section:
        output.text(f"  git config --remove-section {step.section}")
    for verb, changed in (("--add", step.added), ("--unset", step.taken)):
        for key, value in changed:
            output.text(output.name(f"  git config {verb} {key} {value}"))
