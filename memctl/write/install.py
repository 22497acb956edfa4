"""Setting up a clone: Git's hooks and merge drivers, which a clone does not get from its remote.

If the pre-commit framework has installed its hook, memctl leaves that hook where it is. memctl's own hook goes into the
file beside it with `.legacy` at the end of its name, which the framework runs first. A later `pre-commit install` or
`pre-commit uninstall` then does no harm. If memctl moved the framework's hook instead, a second `pre-commit install`
would make the hook refuse every commit, and lose a hook that was kept as `.legacy`.

For nightly maintenance memctl only returns a text, which the user adds to the crontab or to CI. A clone in CI knows
only the retrieval counts that are in Git; it pushes the commit that `maintain` makes. Each other clone counts its own
retrievals, which `maintain` adds to the records when it runs there.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import msgspec

from memctl.errors import USAGE, MemctlError
from memctl.git import git, hooks, remotes
from memctl.git.hooks import Hook, HookChange
from memctl.git.repository import Repository
from memctl.store import files
from memctl.store.memory import Memory

_LEGACY = ".legacy"  # the suffix that the pre-commit framework gives the hook that it found
DRIVERS = {
    "record": "memctl: records, field by field",
    "docs": "memctl: rendered documents",
    "session": "memctl: merges two summaries of a session",
}
# Git runs this through sh and quotes %P itself. If a driver can't run, Git keeps our side without conflict markers. So
# after any exit code but 0 (merged) and 1 (conflict) the next program is tried, and at last Git's own merge of text.
_PROGRAMS = 'for memctl in {programs}; do command -v "$memctl" >/dev/null || continue;'
_AT_LAST = "done; git merge-file -L ours -L base -L theirs %A %O %B"
_DRIVER = f'{_PROGRAMS} "$memctl" merge-file {{what}} %O %A %B %P; code=$?; [ $code -gt 1 ] || exit $code; {_AT_LAST}'
# A merge keeps our side of a document until memctl renders it: starting memctl for each would take 1 s for twenty.
_DOCS_DRIVER = f"{_PROGRAMS} exit 0; {_AT_LAST}"
PART = "fetch of refs/memctl"
WORKFLOWS = {"github": ".github/workflows/memctl.yml", "gitlab": ".gitlab/memctl.yml"}
TARGETS = ("crontab", "github", "gitlab")
_MINUTES = 60


class InstallStep(msgspec.Struct, frozen=True):
    """One part of an installation, such as a hook: how it is afterwards, and the changes that lead to that.

    - `part` names it, and `state` says how it is: `installed`, `refreshed` (memctl's older version was replaced),
      `removed`, `unchanged`, `left` (memctl does not touch what is there, since it is somebody else's or was edited) or
      `by hand` (the user has to add `lines`). `note` explains the state. `fault` says that this part could not be
      installed or removed as the user wanted.
    - `files` are changes of a hook's files.
    - The next four are changes of Git's config. `settings` are values to set (None: to delete), and `section` is a
      section to delete. Of settings with several values, `added` are values to add and `taken` are values to delete.
    - `lines` are lines that the user is asked to add to the hook `add_to`; they begin with `#!` if that hook does not
      exist.
    """

    part: str
    state: str
    note: str = ""
    fault: bool = False
    files: HookChange | None = None
    settings: tuple[tuple[str, str | None], ...] = ()
    section: str = ""
    added: tuple[tuple[str, str], ...] = ()
    taken: tuple[tuple[str, str], ...] = ()
    add_to: str = ""
    lines: str = ""


def own_program(called: str, python: str) -> str:
    """Return the absolute path of the running memctl, "" if unknown.

    `called` is the name by which it was called, and `python` is the path of its Python.
    """
    beside = [Path(python).with_name(name) for name in ("memctl", "memctl.exe")] if python else []
    for file in (Path(called), *beside):
        if file.stem in ("memctl", "git-memctl") and file.is_file() and os.access(file, os.X_OK):
            return os.path.abspath(file)
    return ""


def plan(memory: Memory, program: str) -> list[InstallStep]:
    """Return the steps that set up this clone for a memory: its hooks and merge drivers. Nothing is changed yet.

    `program` is the path of the memctl that hooks use if none is on the PATH ("" for none). What only the user can do,
    such as editing a hook outside of the clone, is a step with the state `by hand`. Raises MemctlError if the folder of
    the hooks is no folder or can't be written.
    """
    repository, where = memory.repository, memory.folder.parent.relative_to(memory.repository.top).as_posix()
    place = hooks.folder(repository)
    if not hooks.is_private(repository, place):
        steps = [_manual_step(repository, place, name, where, _why_foreign(repository, place)) for name in hooks.HOOKS]
        return [*steps, *_set_drivers(repository, program)]
    if os.path.lexists(place) and not place.is_dir():
        raise MemctlError(f"Git looks for hooks in {place}, which is not a folder", f"move {place} away first")
    files = [_hook_to_replace(place, name) for name in hooks.HOOKS]
    made = not place.exists() or any(hook.made_its_folder for hook in files)
    steps = []
    for name, hook in zip(hooks.HOOKS, files, strict=True):
        text = hooks.script(name, sorted({where, *hook.memories}), program, made)
        if hook.whose == "the user's" and hook.asks_for_its_name:
            why = (
                "the existing hook reads the name of its own file, so memctl can't rename it and put its own hook there"
            )
            steps.append(_manual_step(repository, place, name, where, why))
        else:
            steps.append(_install_step(hook, place / (name + hooks.BACKUP), f"hook {name}", text))
    steps += _former(place)
    _refuse_unwritable(repository, steps)
    return [*steps, *_set_drivers(repository, program)]


def plan_removal(repository: Repository) -> list[InstallStep]:
    """Return the steps that remove from this clone all that memctl installed, and restore what was there before."""
    usual, configured = repository.common_dir / "hooks", hooks.folder(repository)
    elsewhere = os.path.realpath(configured) != os.path.realpath(usual)
    places = [usual, configured] if elsewhere and hooks.is_private(repository, configured) else [usual]
    steps = [_removal_step(place, name) for place in places for name in hooks.HOOKS]
    steps += [step for place in places for step in _former(place)]
    _refuse_unwritable(repository, steps)
    for name in (*hooks.HOOKS, *hooks.FORMER) if elsewhere else ():
        file = hooks.editable_folder(configured) / name
        if hooks.calls_memctl(file):
            note = f"{_display_path(repository, file)} calls memctl: remove the lines that do so by hand"
            steps.append(InstallStep(f"hook {name}", "left", note, fault=True))
    return [*steps, *_unset_drivers(repository)]


def carry_out(repository: Repository, steps: Sequence[InstallStep]) -> None:
    """Carry out the steps in their order. Raises MemctlError if a step fails; the steps before it stay done."""
    for step in steps:
        try:
            if step.files:
                hooks.apply(step.files)
        except OSError as error:
            raise MemctlError(
                f"{error.filename2 or error.filename} can't be changed: {error.strerror}",
                "fix the cause, then run the same command again: it continues where it stopped",
            ) from None
        changes = [
            ["--unset-all", key] if value is None else ["--replace-all", key, value] for key, value in step.settings
        ]
        changes += [["--remove-section", step.section]] if step.section else []
        changes += [["--add", *setting] for setting in step.added]
        changes += [["--fixed-value", "--unset-all", *setting] for setting in step.taken]
        for change in changes:
            git.write(["config", "--local", *change], repository.top)


def _hook_to_replace(place: Path, name: str) -> Hook:
    """Return the hook that memctl installs: Git's own, or the one that the pre-commit framework runs first."""
    hook = hooks.inspect(place / name)
    return hooks.inspect(place / (name + _LEGACY)) if hook.is_framework else hook


def _install_step(hook: Hook, backup: Path, part: str, text: str) -> InstallStep:
    """Return the step that installs the script `text` in a hook's place, and keeps the user's hook as `backup`."""
    note = (
        "the pre-commit framework runs memctl's hook before its own hooks" if hook.file.name.endswith(_LEGACY) else ""
    )
    if hook.whose == "ours, changed":
        why = f"{hook.file} was changed since memctl wrote it: delete it, then run the command again"
        return InstallStep(part, "left", why, fault=True)
    if hook.whose == "ours":
        old = os.fsdecode(hook.data)
        if old == text and os.access(hook.file, os.X_OK):
            return InstallStep(part, "unchanged", note)
        return InstallStep(part, "refreshed", note, files=HookChange(hook.file, text=text, old=old))
    has_backup = os.path.lexists(backup)
    if hook.whose == "nobody's" or (has_backup and hooks.equal(backup, hook.file)):
        return InstallStep(part, "installed", note, files=HookChange(hook.file, text=text))
    if not has_backup:
        note = note or f"the existing hook is kept as {backup.name} and runs first"
        return InstallStep(part, "installed", note, files=HookChange(hook.file, keep=backup, text=text))
    why = (
        f"another tool replaced memctl's hook {hook.file}, and {backup} has the hook from before memctl: delete one of "
        "the two files, then run the command again"
    )
    return InstallStep(part, "left", why, fault=True)


def _removal_step(place: Path, name: str) -> InstallStep:
    """Return the step that removes memctl's script from a hook, and restores the hook that was there before.

    Other tools may have moved the script to a file beside the hook; it is removed there, too.
    """
    part, hook, backup = f"hook {name}", hooks.inspect(place / name), place / (name + hooks.BACKUP)
    beside = [hooks.inspect(file) for file in sorted(place.glob(f"{name}.*")) if file.is_file() and file != backup]
    ours = {file_hook.file: file_hook for file_hook in (hook, *beside) if file_hook.whose == "ours"}
    changed = [file_hook.file for file_hook in (hook, *beside) if file_hook.whose == "ours, changed"]
    if changed:
        why = f"{changed[0]} was changed since memctl wrote it: delete it by hand"
        return InstallStep(part, "left", why, fault=True)
    prune = any(file_hook.made_its_folder for file_hook in ours.values())
    legacy, has_kept, note = place / (name + _LEGACY), os.path.lexists(backup), ""
    target = hook.file if hook.whose != "the user's" else legacy if legacy in ours else None
    if has_kept and target:
        gone = tuple(file for file in ours if file != target)
        note = f"your earlier hook, kept as {backup.name}, is {target.name} again"
        return InstallStep(part, "removed", note, files=HookChange(target, back=backup, deletes=gone, prune=prune))
    deletes = list(ours)
    if hook.whose == "the user's":
        note = f"memctl did not write {hook.file}, and leaves it as it is"
        if has_kept and hooks.equal(backup, hook.file):
            deletes.append(backup)
        elif has_kept:
            note += f"; {backup.name}, the hook from before memctl, stays, too"
    if deletes:
        return InstallStep(part, "removed", note, files=HookChange(hook.file, deletes=tuple(deletes), prune=prune))
    return InstallStep(part, "left" if has_kept else "unchanged", note or "memctl's hook is not installed")


def _former(place: Path) -> list[InstallStep]:
    """Return the steps that remove hooks which only older versions installed."""
    steps = (_removal_step(place, name) for name in hooks.FORMER)
    return [step for step in steps if step.state == "removed"]


def _manual_step(repository: Repository, place: Path, name: str, memory: str, why: str) -> InstallStep:
    """Return the step for a hook that memctl may not write: the lines that the user has to add, and why."""
    file = hooks.editable_folder(place) / name
    shown = _display_path(repository, file)
    if hooks.calls_memctl(file):
        return InstallStep(f"hook {name}", "unchanged", f"{shown} already calls memctl")
    lines = hooks.manual_lines(name, memory) if file.exists() else f"#!/bin/sh\n{hooks.manual_lines(name, memory)}"
    return InstallStep(f"hook {name}", "by hand", why, fault=True, add_to=shown, lines=lines)


def _why_foreign(repository: Repository, place: Path) -> str:
    """Return the reason why a folder of hooks is not memctl's to write."""
    inside = Path(os.path.realpath(place)).is_relative_to(repository.top)
    owner = "which Git tracks" if inside else "which other clones may use, too"
    return f"Git takes its hooks from {_display_path(repository, place)}, {owner}"


def _display_path(repository: Repository, file: Path) -> str:
    return str(file.relative_to(repository.top)) if file.is_relative_to(repository.top) else str(file)


def _refuse_unwritable(repository: Repository, steps: Sequence[InstallStep]) -> None:
    """Raise MemctlError if a folder with a hook to change can't be written."""
    for step in steps:
        if step.files:
            parent = step.files.file.parent
            place = parent if parent.exists() else repository.common_dir
            if not os.access(place, os.W_OK | os.X_OK):
                raise MemctlError(
                    f"{place} can't be written: permission denied", f"make {place} writable; nothing was changed"
                )


def _set_drivers(repository: Repository, program: str) -> list[InstallStep]:
    programs = shlex.join(["memctl", *([program] if program else [])]).replace("%", "%%")
    steps = []
    for what, title in DRIVERS.items():
        part, section = f"merge driver memctl-{what}", f"merge.memctl-{what}"
        present = _driver_settings(repository, what)
        driver = (_DOCS_DRIVER if what == "docs" else _DRIVER).format(programs=programs, what=what)
        wanted = {f"{section}.name": title, f"{section}.driver": driver}
        settings = tuple((key, value) for key, value in wanted.items() if present.get(key) != value)
        if not _is_ours(present, what):
            note = f"another program has set {section}.driver in Git's settings"
            steps.append(InstallStep(part, "left", note, fault=True))
        elif settings:
            steps.append(InstallStep(part, "refreshed" if present else "installed", settings=settings))
        else:
            steps.append(InstallStep(part, "unchanged"))
    return steps


def _unset_drivers(repository: Repository) -> list[InstallStep]:
    steps = []
    for what in DRIVERS:
        part, section = f"merge driver memctl-{what}", f"merge.memctl-{what}"
        present = _driver_settings(repository, what)
        ours = {f"{section}.name", f"{section}.driver"}
        if not present:
            steps.append(InstallStep(part, "unchanged", f"the {part} is not installed"))
        elif not _is_ours(present, what):
            note = f"another program has set {section}.driver in Git's settings; memctl leaves it as it is"
            steps.append(InstallStep(part, "left", note))
        elif set(present) <= ours:
            steps.append(InstallStep(part, "removed", section=section))
        else:  # the user has added settings there
            gone = tuple((key, None) for key in sorted(ours & set(present)))
            steps.append(InstallStep(part, "removed", settings=gone))
    return steps


def _driver_settings(repository: Repository, what: str) -> dict[str, str]:
    """Return this clone's Git settings of a merge driver, by their full names."""
    try:
        out = git.read(["config", "--local", "-z", "--get-regexp", rf"^merge\.memctl-{what}\."], repository.top)
    except git.GitFailed as error:
        if error.code == 1:  # nothing is set
            return {}
        raise
    pairs = (item.partition("\n") for item in os.fsdecode(out).split("\0") if item)
    return {key: value for key, _, value in pairs}


def _is_ours(present: dict[str, str], what: str) -> bool:
    """Return whether the settings of a merge driver are memctl's; true if it has none."""
    driver = present.get(f"merge.memctl-{what}.driver", "")
    return not driver or f"merge-file {what} " in driver or driver.startswith(_PROGRAMS.partition("{")[0])


def plan_refspec(repository: Repository) -> list[InstallStep]:
    """Return the steps that set up `git fetch` to fetch memctl's refs, too; none if the clone has no remote."""
    remote = fetched_remote(repository)
    if not remote:
        return []
    if fetches_refs(repository, remote):
        return [InstallStep(PART, "unchanged")]
    return [InstallStep(PART, "installed", f"from {remote}", added=(_setting(remote),))]


def plan_refspec_removal(repository: Repository) -> list[InstallStep]:
    """Return the steps that make `git fetch` fetch memctl's refs no more, from any remote."""
    gone = tuple(_setting(remote) for remote in repository.remotes() if fetches_refs(repository, remote))
    return [InstallStep(PART, "removed", taken=gone)] if gone else []


def fetched_remote(repository: Repository) -> str:
    """Return the name of the remote from which `git fetch` is to get memctl's refs; "" if none can be chosen.

    It is the remote of the branch's upstream, else origin, else the only remote.
    """
    branch = repository.branch()[0].removeprefix("refs/heads/")
    names = repository.remotes()
    followed = repository.branch_settings.get(f"branch.{branch}.remote", "")
    if followed in names:
        return followed
    return "origin" if "origin" in names else names[0] if len(names) == 1 else ""


def fetches_refs(repository: Repository, remote: str) -> bool:
    """Return whether the clone's settings make `git fetch` fetch all of memctl's refs from a remote."""
    key, value = _setting(remote)
    return value in remotes.settings(repository, key)


def _setting(remote: str) -> tuple[str, str]:
    return f"remote.{remote}.fetch", f"+refs/memctl/*:refs/memctl/remotes/{remote}/*"


def schedule(memory: Memory, target: str, program: str) -> str:
    """Return a text that runs maintenance every night: a line for crontab or a job for a CI service.

    `target` is "crontab", "github" or "gitlab". `program` is the absolute path of memctl, "" if unknown. Raises
    MemctlError if the memory's folder has a control character in its name, which such a text can't contain.
    """
    folder = str(memory.folder.parent)
    if not folder.isprintable():
        raise MemctlError(f"the name of {folder!r} contains control characters", "give the folder another name")
    minute = str(sum(memory.config.project.encode()) % _MINUTES)  # not all projects at once
    if target == "crontab":
        command = shlex.join([program or "memctl", "-C", folder, "maintain"])
        # There a bare % ends the command. What it prints is dropped, so that only errors are mailed.
        return f"{minute} 3 * * * {command} >/dev/null".replace("%", "\\%") + "\n"
    command = shlex.join(["memctl", "-C", _below(memory), "maintain"])
    if target == "gitlab":
        command = json.dumps(command, ensure_ascii=False)
    return _template(f"maintain-{target}", "").replace("MINUTE", minute).replace("MAINTAIN", command)


def workflow(memory: Memory, target: str, source: str) -> str:
    """Return the text of the workflow that reviews pull requests and renders the documents; its file is in WORKFLOWS.

    `target` is "github" or "gitlab". `source` is what pip installs memctl from: the path of a wheel in the repository,
    an address, or "" for what this memctl was installed from. Raises MemctlError for a path outside of the repository.
    """
    if source.endswith(".git") and not source.startswith("git+"):
        source = f"git+{source}"
    if re.search(r"\s", source.partition(" @ ")[2] or source) and "://" in source:
        raise MemctlError(f"the address {source!r} has a blank in it", "write %20 for a blank", USAGE)
    if source and "://" not in source and " @ " not in source:
        path = Path(os.path.realpath(source))
        top = os.path.realpath(memory.repository.top)
        if not path.is_file() or not path.is_relative_to(top):
            hint = "give a wheel that is in this repository, `git+https://…`, or the address of a wheel"
            raise MemctlError(f"the workflow can't install memctl from {source}", hint, USAGE)
        source = f"./{path.relative_to(top).as_posix()}"
    return _template(target, source).replace("FOLDER", json.dumps(_below(memory), ensure_ascii=False))


def _below(memory: Memory) -> str:
    """Return the folder with `.memory/`, relative to the worktree's top."""
    return memory.folder.parent.relative_to(memory.repository.top).as_posix()


def _template(name: str, source: str) -> str:
    """Return a template of a CI service with the place from which pip installs memctl.

    Without a known address it is a variable in the settings of the repository or project.
    """
    variable = "$MEMCTL_ORIGIN" if name.endswith("gitlab") else "${{ vars.MEMCTL }}"
    url = json.dumps(source or _origin())
    return (files.templates() / f"{name}.yml").read_text("utf-8").replace("ORIGIN", variable if url == '""' else url, 1)


def _origin() -> str:
    """Return what pip can install this memctl from on any machine, "" if it comes from a local folder or file.

    That is the address of a repository or archive, or a release from an index. The installed package says so (PEP 610,
    direct_url.json).
    """
    from importlib import metadata

    try:
        installed = metadata.distribution("git-memctl")
        direct_url = json.loads(installed.read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return ""
    url = str(direct_url.get("url", ""))
    if not url:
        return f"git-memctl=={installed.version}"
    if url.startswith("file:"):
        return ""
    vcs = direct_url.get("vcs_info")
    return f"{vcs['vcs']}+{url}@{vcs['commit_id']}" if vcs else url
