"""Add memctl's hooks to a host's settings and remove them; change the settings' lists of permission rules."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from memctl.hooks import json_edit
from memctl.hooks.hosts import BEFORE, CLAUDE_CODE, CODEX, END, GEMINI, HOSTS, TOOL, Host
from memctl.store import files

_SECONDS = 10  # the time limit of a hook
WRITING = "Edit|Write|MultiEdit|NotebookEdit"  # the tools of Claude Code that write a file
OFF = "disableAllHooks"  # a setting of Claude Code
USER, LOCAL = "--user", "--local"
_OURS = re.compile(rf"\bmemctl\b(?:(?!\bmemctl\b)[^|;&])*?\bhook (?:{'|'.join(HOSTS)})\b")
# Where pipx, uv, Homebrew and pyenv put programs; a program that the desktop starts may lack them on its PATH.
FOLDERS = ("$HOME/.local/bin", "$HOME/bin", "/usr/local/bin", "/opt/homebrew/bin", "$HOME/.pyenv/shims")
_FIND = f'export PATH="$PATH:{":".join(FOLDERS)}"; command -v memctl >/dev/null'
_GUARDED = f"{_FIND} && memctl {{end}} || cat >/dev/null"
_GUARDED_CMD = "where memctl >nul 2>nul && memctl {end} || more >nul"


class SettingsFile(NamedTuple):
    """A settings file: its path, its name for people, and the option of `memctl install` for it ("" for none)."""

    file: Path
    shown: str
    option: str


def finds_memctl() -> bool:
    """Return whether memctl is in one of the folders in which a project's hooks look for it besides the PATH."""
    home = str(files.home_folder())
    return any(os.access(f"{folder.replace('$HOME', home)}/memctl", os.X_OK) for folder in FOLDERS)


def place(host: Host, option: str, project: Path, environ: Mapping[str, str]) -> SettingsFile:
    """Return the settings file of a host that an option of `memctl install` chooses.

    - "" (no option): the file that everybody in the project shares
    - "--local": the file of one user in the project
    - "--user": the file in the user's home

    `project` is the folder of the project. Variables in `environ`, such as CLAUDE_CONFIG_DIR, may move the file from
    the user's home to another folder.
    """
    name = f"{host.folder}/{host.own if option == LOCAL else host.shared}"
    if option != USER:
        return SettingsFile(project / name, name, option)
    variable, _, below = host.home.partition("/")
    if moved := environ.get(variable):
        file = Path(moved).absolute() / below / host.shared
        return SettingsFile(file, str(file), option)
    return SettingsFile(files.home_folder() / name, f"~/{name}", option)


def places(host: Host, project: Path, environ: Mapping[str, str]) -> list[SettingsFile]:
    """Return all settings files in which a host looks for hooks."""
    return [place(host, option, project, environ) for option in (USER, "", LOCAL) if option != LOCAL or host.own]


def programs(text: str, name: str, host: Host) -> list[str]:
    """Return the programs that memctl's hooks in settings call, such as "memctl" or "/opt/bin/memctl", each once.

    `text` are the settings, and `name` is the file's name for messages. Raises MemctlError if memctl can't parse the
    settings.
    """
    values, names = json_edit.parse(text, name), dict[str, None]()
    for event, group, number in _places(values):
        hook = values["hooks"][event][group]["hooks"][number]
        words, args = hook["command"].split(), hook.get("args")
        if isinstance(args, list):
            words = [hook["command"], *map(str, args)]
        else:
            with suppress(ValueError):  # a command for another shell than bash
                words = shlex.split(hook["command"])
        end = next((at for at in range(1, len(words)) if words[at : at + 2] == ["hook", host.name]), 0)
        if end:
            names[" ".join(words[max(0, end - 3) : end]) if words[end - 2] == "-m" else words[end - 1]] = None
    return list(names)


def hook_call(host: Host, program: str, *, is_own: bool, windows: bool) -> dict[str, Any]:
    """Return the fields of a hook by which a host calls memctl, such as {"command": "…"}.

    - `program`: the path of memctl, "" for the memctl on the PATH.
    - `is_own`: whether the settings are one user's, and not shared by a project. A command in shared settings does
      nothing where memctl is missing, since not everybody in a project has it, and hosts report each hook that fails.
    - `windows`: whether memctl runs on Windows. The commands for Windows were never tested there.

    The fields depend on the host: Claude Code can start a program without a shell, and Codex takes a second command for
    Windows.
    """
    end = f"hook {host.name}"
    if host == CLAUDE_CODE and (is_own or windows):
        return {"command": program or "memctl", "args": end.split()}
    if host == GEMINI and windows:
        quoted = "'{}'".format(program.replace("'", "''"))
        line = f"& {quoted} {end}" if program else f"if (Get-Command memctl -ea Ignore) {{ memctl {end} }}"
        return {"command": f"{line}; exit 0"}
    line = f"{shlex.quote(program)} {end}" if program else _GUARDED.format(end=end)
    if host == CODEX:
        return {"command": line, "commandWindows": f'"{program}" {end}' if program else _GUARDED_CMD.format(end=end)}
    return {"command": line}


def hook_groups(host: Host, call: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the entries with memctl's hooks for a host's settings, by the host's names of the events.

    `call` are the fields that make a hook call memctl (`hook_call`). An example of an entry is `{"hooks": [{"type":
    "command", "command": "…", "timeout": 10}]}`.
    """
    made: dict[str, dict[str, Any]] = {}
    for event, what in host.events.items():
        seconds = {TOOL: 5, END: host.last}.get(what, _SECONDS)  # the end may have to wait for another process
        hook: dict[str, Any] = {"type": "command", **call, "timeout": seconds * host.second}
        if host.second != 1:  # Gemini CLI shows the names of hooks
            hook["name"] = "memctl"
        made[event] = {"matcher": WRITING, "hooks": [hook]} if what == BEFORE else {"hooks": [hook]}
    return made


def add_hooks(text: str, host: Host, call: Mapping[str, Any], name: str) -> str:
    """Return the settings with one hook of memctl for each event; existing hooks of memctl are replaced.

    `text` are the settings, `call` are the fields that make a hook call memctl (`hook_call`), and `name` is the file's
    name for messages. Raises MemctlError if the settings have hooks in a form that memctl does not know.
    """
    # An older memctl may have hooked other events.
    text = remove_hooks(text, name, host.events) if text.strip() else "{}\n"
    values = json_edit.parse(text, name)
    hooks = values.get("hooks", {})
    if not isinstance(hooks, dict):
        raise json_edit.fault(f"{name}: `hooks` must be an object")
    if "hooks" not in values:
        text = json_edit.insert(text, _at(text, []), {}, "hooks")
    for event, group in hook_groups(host, call).items():
        present = hooks.get(event, [])
        if not isinstance(present, list):
            raise json_edit.fault(f"{name}: `hooks.{event}` must be a list")
        place = next((group_place for group_place in _places(values) if group_place[0] == event), None)
        if place is None:
            if event not in hooks:
                text = json_edit.insert(text, _at(text, ["hooks"]), [], event)
            text = json_edit.insert(text, _at(text, ["hooks", event]), group)
            continue
        _, number, hook = place
        ours: list[str | int] = ["hooks", event, number, "hooks"]
        if _is_ours_alone(present[number]):
            if present[number]["hooks"] != group["hooks"]:  # a matcher that the user changed stays
                text = json_edit.replace(text, json_edit.spans(text, _at(text, ["hooks", event]))[number], group)
        elif present[number]["hooks"][hook] != group["hooks"][0]:
            text = json_edit.replace(text, json_edit.spans(text, _at(text, ours))[hook], group["hooks"][0])
    return text


def list_at(text: str, path: Sequence[str], name: str) -> list[Any]:
    """Return the list at a path of keys in the settings `text`, [] if there is none.

    `name` is the file's name for messages. Raises MemctlError if the value at the path is not a list.
    """
    value: Any = json_edit.parse(text, name)
    for step in path:
        value = value.get(step, [] if step == path[-1] else {}) if isinstance(value, dict) else None
    if not isinstance(value, list):
        raise json_edit.fault(f"{name}: `{'.'.join(path)}` must be a list")
    return value


def change_list(text: str, path: Sequence[str], wanted: Sequence[str], gone: Collection[str], name: str) -> str:
    """Return the settings with texts added to a list and others removed from it.

    `text` are the settings as JSON, `path` the keys that lead to the list, `wanted` the texts to add, `gone` those to
    remove, and `name` the file's name for messages. If the list becomes empty, it is removed as well. Raises
    MemctlError if the value at the path is not a list.
    """
    present = list_at(text, path, name) if wanted or gone else []
    for item in wanted:
        if item in present:
            continue
        for depth, step in enumerate(path):
            above: list[str | int] = [*path[:depth]]
            if json_edit.value_at(text, [*above, step]) is None:
                text = json_edit.insert(text, _at(text, above), [] if depth == len(path) - 1 else {}, step)
        text = json_edit.insert(text, _at(text, [*path]), item)
    for item in gone:
        while item in (now := list_at(text, path, name)):
            text = json_edit.remove(text, _at(text, [*path]), now.index(item))
            for depth in range(len(path), 0, -1):
                if json_edit.spans(text, _at(text, [*path[:depth]])):
                    break
                text = _without(text, [*path[: depth - 1]], path[depth - 1])
    return text


def are_off(text: str, name: str) -> bool:
    """Return whether settings of Claude Code turn off all hooks; raises MemctlError if `text` is not JSON.

    `name` is the file's name for messages.
    """
    return json_edit.parse(text, name).get(OFF) is True


def remove_hooks(text: str, name: str, keeps: Collection[str] = ()) -> str:
    """Return the settings without memctl's hooks.

    For the events in `keeps`, the first hook of memctl is kept, so that a caller can replace it in its place. Lists and
    objects that become empty are removed as well. `text` are the settings, and `name` is the file's name for messages.
    """
    if not text.strip():
        return text
    while (path := _superfluous(json_edit.parse(text, name), keeps)) is not None:
        text = _without_hook(text, path)
    return text


def _without_hook(text: str, place: tuple[str, int, int]) -> str:
    """Return settings without one hook, and without the lists and objects that become empty."""
    event, group, hook = place
    inner: list[str | int] = ["hooks", event, group, "hooks"]
    text = json_edit.remove(text, _at(text, inner), hook)
    above: list[tuple[list[str | int], str | int]] = [(["hooks", event], group), (["hooks"], event), ([], "hooks")]
    for outer, last in above:  # an empty group, an empty event, empty `hooks`
        if json_edit.spans(text, _at(text, inner)):
            break
        text, inner = _without(text, outer, last), outer
    return text


def _without(text: str, path: list[str | int], last: str | int) -> str:
    """Return settings without the value at a path; `last` is its key or index in what is at `path`."""
    at = _at(text, path)
    if isinstance(last, int):
        return json_edit.remove(text, at, last)
    keys = [span.key for span in json_edit.spans(text, at)]
    return json_edit.remove(text, at, len(keys) - 1 - keys[::-1].index(last))


def _at(text: str, path: list[str | int]) -> int:
    """Return the offset of the value at a path, which must exist."""
    value = json_edit.value_at(text, path)
    if value is None:
        raise LookupError(path)
    return value


def _places(values: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Yield the places of memctl's hooks in settings: event, index of the group, and index of the hook in it."""
    hooks = values.get("hooks")
    for event, present in hooks.items() if isinstance(hooks, dict) else ():
        for group, group_values in enumerate(present if isinstance(present, list) else ()):
            for number, hook in enumerate(_hooks_of(group_values)):
                if _is_ours(hook):
                    yield event, group, number


def _superfluous(values: dict[str, Any], keeps: Collection[str]) -> tuple[str, int, int] | None:
    """Return the place of a hook of memctl that is not the first one of an event to keep, None if there is none."""
    seen: set[str] = set()
    for place in _places(values):
        if place[0] not in keeps or place[0] in seen:
            return place
        seen.add(place[0])
    return None


def _hooks_of(group: Any) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _is_ours(hook: Any) -> bool:
    """Return whether a hook in settings calls memctl."""
    line = hook.get("command") if isinstance(hook, dict) else None
    args = hook.get("args") if isinstance(hook, dict) else None
    words = [line, *(args if isinstance(args, list) else [])]
    return isinstance(line, str) and _OURS.search(" ".join(map(str, words))) is not None


def _is_ours_alone(group: Any) -> bool:
    """Return whether a group of hooks has only hooks of memctl."""
    hooks = _hooks_of(group)
    return bool(hooks) and all(map(_is_ours, hooks)) and isinstance(group, dict) and set(group) <= {"hooks", "matcher"}
