"""Our hooks in a host's settings: what they look like there, putting them in and taking them out.

The same for a list of texts in them, which says what an agent may run (`permissions`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from memctl.errors import MemctlError
from memctl.hooks import json_edit
from memctl.hooks.hosts import BEFORE, CLAUDE_CODE, CODEX, END, GEMINI, HOSTS, TOOL, Host

_SECONDS = 10
WRITING = "Edit|Write|MultiEdit|NotebookEdit"  # the tools of Claude Code that write a file
OFF = "disableAllHooks"  # of Claude Code
USER, LOCAL = "--user", "--local"
_OURS = re.compile(rf"\bmemctl\b(?:(?!\bmemctl\b)[^|;&])*?\bhook (?:{'|'.join(HOSTS)})\b")
_GUARDED = "command -v memctl >/dev/null && memctl {end} || cat >/dev/null"
_GUARDED_CMD = "where memctl >nul 2>nul && memctl {end} || more >nul"


class SettingsFile(NamedTuple):
    """A file of settings: the file, its name for people, the option of `install` that chooses it ("" for none)."""

    file: Path
    shown: str
    option: str


def place(host: Host, option: str, project: Path, environ: Mapping[str, str]) -> SettingsFile:
    """Return where a host has a project's settings, one user's for that project (--local), or a user's (--user)."""
    name = f"{host.folder}/{host.own if option == LOCAL else host.shared}"
    if option != USER:
        return SettingsFile(project / name, name, option)
    variable, _, below = host.home.partition("/")
    if moved := environ.get(variable):
        file = Path(moved).absolute() / below / host.shared
        return SettingsFile(file, str(file), option)
    return SettingsFile(Path.home() / name, f"~/{name}", option)


def places(host: Host, project: Path, environ: Mapping[str, str]) -> list[SettingsFile]:
    """Return all files in which a host looks for hooks."""
    return [place(host, option, project, environ) for option in (USER, "", LOCAL) if option != LOCAL or host.own]


def programs(text: str, name: str, host: Host) -> list[str]:
    """Return what our hooks in settings call for a host, such as "memctl" or "/opt/bin/memctl", each once.

    Raises MemctlError if the settings, called `name`, are not such as memctl reads.
    """
    values, found = json_edit.parse(text, name), dict[str, None]()
    for event, group, number in _places(values):
        hook = values["hooks"][event][group]["hooks"][number]
        words, args = hook["command"].split(), hook.get("args")
        if isinstance(args, list):
            words = [hook["command"], *map(str, args)]
        else:
            with suppress(ValueError):  # a line for another shell
                words = shlex.split(hook["command"])
        end = next((at for at in range(1, len(words)) if words[at : at + 2] == ["hook", host.name]), 0)
        if end:
            found[" ".join(words[max(0, end - 3) : end]) if words[end - 2] == "-m" else words[end - 1]] = None
    return list(found)


def hook_call(host: Host, program: str, *, is_own: bool, windows: bool) -> dict[str, Any]:
    """Return the fields of a hook that say how a host calls us.

    Without a `program` it is memctl from the PATH. Where there is none, nothing happens in a project's settings: not
    all who work on it have memctl, and a host tells its user of each hook that fails. The event is read all the same,
    for Codex takes a closed pipe for a failure; and so a memctl that can't even start does not fail either.

    Claude Code starts a program with its arguments, without a shell; but that fails where there is none, so in a
    project it is for Windows only. Codex has a line for cmd.exe beside the other. Gemini CLI takes one line, for bash
    or, on Windows, for PowerShell. Nothing for Windows has ever been run there.
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
    """Return what the settings have for each event of a host."""
    made: dict[str, dict[str, Any]] = {}
    for event, what in host.events.items():
        seconds = {TOOL: 5, END: host.last}.get(what, _SECONDS)  # at the end we write, and may find another at it
        hook: dict[str, Any] = {"type": "command", **call, "timeout": seconds * host.second}
        if host.second != 1:  # Gemini CLI shows hooks by their names
            hook["name"] = "memctl"
        made[event] = {"matcher": WRITING, "hooks": [hook]} if what == BEFORE else {"hooks": [hook]}
    return made


def add_hooks(text: str, host: Host, call: Mapping[str, Any], name: str) -> str:
    """Return settings with our hooks in them, one for each event, whatever memctl was called there before.

    Raises MemctlError if they are not such as we can add to.
    """
    text = remove_hooks(text, name, host.events) if text.strip() else "{}\n"  # an older memctl hooked other events
    values = json_edit.parse(text, name)
    hooks = values.get("hooks", {})
    if not isinstance(hooks, dict):
        raise MemctlError(f"{name}: `hooks` is not an object", "nothing was changed")
    if "hooks" not in values:
        text = json_edit.insert(text, _at(text, []), {}, "hooks")
    for event, group in hook_groups(host, call).items():
        present = hooks.get(event, [])
        if not isinstance(present, list):
            raise MemctlError(f"{name}: `hooks.{event}` is not a list", "nothing was changed")
        place = next((one for one in _places(values) if one[0] == event), None)
        if place is None:
            if event not in hooks:
                text = json_edit.insert(text, _at(text, ["hooks"]), [], event)
            text = json_edit.insert(text, _at(text, ["hooks", event]), group)
            continue
        _, number, hook = place
        ours: list[str | int] = ["hooks", event, number, "hooks"]
        if _is_ours_alone(present[number]):
            if present[number]["hooks"] != group["hooks"]:  # whoever changed the matcher keeps theirs
                text = json_edit.replace(text, json_edit.spans(text, _at(text, ["hooks", event]))[number], group)
        elif present[number]["hooks"][hook] != group["hooks"][0]:
            text = json_edit.replace(text, json_edit.spans(text, _at(text, ours))[hook], group["hooks"][0])
    return text


def list_at(text: str, path: Sequence[str], name: str) -> list[Any]:
    """Return a list in settings, [] if there is none; raises MemctlError if something else is in its place."""
    value: Any = json_edit.parse(text, name)
    for step in path:
        if not isinstance(value, dict):
            raise MemctlError(f"{name}: `{'.'.join(path)}` is not a list", "nothing was changed")
        value = value.get(step, [] if step == path[-1] else {})
    if not isinstance(value, list):
        raise MemctlError(f"{name}: `{'.'.join(path)}` is not a list", "nothing was changed")
    return value


def change_list(text: str, path: Sequence[str], wanted: Sequence[str], gone: Collection[str], name: str) -> str:
    """Return settings with the texts `wanted` in a list and without those `gone`. A list that this empties goes."""
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
    """Return whether settings turn all hooks off, ours too."""
    return json_edit.parse(text, name).get(OFF) is True


def remove_hooks(text: str, name: str, keeps: Collection[str] = ()) -> str:
    """Return settings without our hooks, but the first of each event that it `keeps`, and without what this empties."""
    if not text.strip():
        return text
    while (found := _superfluous(json_edit.parse(text, name), keeps)) is not None:
        text = _without_hook(text, found)
    return text


def _without_hook(text: str, place: tuple[str, int, int]) -> str:
    """Return settings without one hook, and without the lists and objects that are empty then."""
    event, group, hook = place
    inner: list[str | int] = ["hooks", event, group, "hooks"]
    text = json_edit.remove(text, _at(text, inner), hook)
    above: list[tuple[list[str | int], str | int]] = [(["hooks", event], group), (["hooks"], event), ([], "hooks")]
    for outer, last in above:  # a group without hooks, an event without groups, `hooks` without events
        if json_edit.spans(text, _at(text, inner)):
            break
        text, inner = _without(text, outer, last), outer
    return text


def _without(text: str, path: list[str | int], last: str | int) -> str:
    at = _at(text, path)
    if isinstance(last, int):
        return json_edit.remove(text, at, last)
    keys = [span.key for span in json_edit.spans(text, at)]
    return json_edit.remove(text, at, len(keys) - 1 - keys[::-1].index(last))


def _at(text: str, path: list[str | int]) -> int:
    found = json_edit.value_at(text, path)
    if found is None:
        raise LookupError(path)
    return found


def _places(values: dict[str, Any]) -> Iterator[tuple[str, int, int]]:
    """Yield where our hooks are: the event, the number of the group and that of the hook in it."""
    hooks = values.get("hooks")
    for event, present in hooks.items() if isinstance(hooks, dict) else ():
        for group, one in enumerate(present if isinstance(present, list) else ()):
            for number, hook in enumerate(_hooks_of(one)):
                if _is_ours(hook):
                    yield event, group, number


def _superfluous(values: dict[str, Any], keeps: Collection[str]) -> tuple[str, int, int] | None:
    """Return where a hook of ours is that is of none of the events to keep, or not the first of its event."""
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
    line = hook.get("command") if isinstance(hook, dict) else None
    args = hook.get("args") if isinstance(hook, dict) else None
    words = [line, *(args if isinstance(args, list) else [])]
    return isinstance(line, str) and _OURS.search(" ".join(map(str, words))) is not None


def _is_ours_alone(group: Any) -> bool:
    hooks = _hooks_of(group)
    return bool(hooks) and all(map(_is_ours, hooks)) and isinstance(group, dict) and set(group) <= {"hooks", "matcher"}
