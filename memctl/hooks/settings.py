"""Our hooks in a host's settings: what they look like there, putting them in and taking them out.

The same for a list of texts in them, by which a host is told what an agent may run (`permissions`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from memctl.errors import MemctlError
from memctl.hooks import json_edit
from memctl.hooks.hosts import CLAUDE_CODE, CODEX, END, GEMINI, HOSTS, TOOL, Host

_SECONDS = 10
OFF = "disableAllHooks"  # of Claude Code
_OURS = re.compile(rf"\bmemctl\b(?:(?!\bmemctl\b)[^|;&])*?\bhook (?:{'|'.join(HOSTS)})\b")
_GUARDED = "command -v memctl >/dev/null && memctl {end} || cat >/dev/null"
_GUARDED_CMD = "where memctl >nul 2>nul && memctl {end} || more >nul"


def call(host: Host, program: str, *, is_own: bool, windows: bool) -> dict[str, Any]:
    """How a host is told to call us: the fields of a hook that say so.

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


def groups(host: Host, call: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What stands in the settings for each event of a host."""
    made: dict[str, dict[str, Any]] = {}
    for event, what in host.events.items():
        seconds = {TOOL: 5, END: host.last}.get(what, _SECONDS)  # at the end we write, and may find another at it
        hook: dict[str, Any] = {"type": "command", **call, "timeout": seconds * host.second}
        if host.second != 1:  # Gemini CLI shows hooks by their names
            hook["name"] = "memctl"
        made[event] = {"hooks": [hook]}
    return made


def added(text: str, host: Host, call: Mapping[str, Any], name: str) -> str:
    """Settings with our hooks in them; raises MemctlError if they are not such as we can add to."""
    text = removed(text, name, host.events) if text.strip() else "{}\n"  # an older memctl hooked other events
    values = json_edit.parse(text, name)
    hooks = values.get("hooks", {})
    if not isinstance(hooks, dict):
        raise MemctlError(f"{name}: `hooks` is no object", "nothing was changed")
    if "hooks" not in values:
        text = json_edit.put(text, _at(text, []), {}, "hooks")
    for event, group in groups(host, call).items():
        present = hooks.get(event, [])
        if not isinstance(present, list):
            raise MemctlError(f"{name}: `hooks.{event}` is no list", "nothing was changed")
        number = next((i for i, one in enumerate(present) if _is_ours_alone(one)), None)
        if number is not None and {key: one for key, one in present[number].items() if key != "matcher"} != group:
            text = json_edit.replace(text, json_edit.spans(text, _at(text, ["hooks", event]))[number], group)
        elif number is None and not any(map(_has_ours, present)):
            if event not in hooks:
                text = json_edit.put(text, _at(text, ["hooks"]), [], event)
            text = json_edit.put(text, _at(text, ["hooks", event]), group)
    return text


def listed(text: str, path: Sequence[str], name: str) -> list[Any]:
    """A list in settings, [] if there is none; raises MemctlError if there is something else in its place."""
    value: Any = json_edit.parse(text, name)
    for step in path:
        if not isinstance(value, dict):
            raise MemctlError(f"{name}: `{'.'.join(path)}` is no list", "nothing was changed")
        value = value.get(step, [] if step == path[-1] else {})
    if not isinstance(value, list):
        raise MemctlError(f"{name}: `{'.'.join(path)}` is no list", "nothing was changed")
    return value


def with_list(text: str, path: Sequence[str], wanted: Sequence[str], gone: Collection[str], name: str) -> str:
    """Settings with texts in a list and without others. What is empty then is taken out, if anything was."""
    present = listed(text, path, name) if wanted or gone else []
    for item in wanted:
        if item in present:
            continue
        for depth, step in enumerate(path):
            above: list[str | int] = [*path[:depth]]
            if json_edit.value_at(text, [*above, step]) is None:
                text = json_edit.put(text, _at(text, above), [] if depth == len(path) - 1 else {}, step)
        text = json_edit.put(text, _at(text, [*path]), item)
    for item in gone:
        while item in (now := listed(text, path, name)):
            text = json_edit.take(text, _at(text, [*path]), now.index(item))
            for depth in range(len(path), 0, -1):
                if json_edit.spans(text, _at(text, [*path[:depth]])):
                    break
                text = _without(text, [*path[: depth - 1]], path[depth - 1])
    return text


def are_off(text: str, name: str) -> bool:
    """Whether settings turn all hooks off, ours too."""
    return json_edit.parse(text, name).get(OFF) is True


def removed(text: str, name: str, keeps: Collection[str] = ()) -> str:
    """Settings without our hooks but those of the events that it `keeps`, and without what is empty then and was for
    them; all else stays as it is."""
    if not text.strip():
        return text
    while (found := _first_of_ours(json_edit.parse(text, name), keeps)) is not None:
        event, group, hook = found
        inner: list[str | int] = ["hooks", event, group, "hooks"]
        text = json_edit.take(text, _at(text, inner), hook)
        above: list[tuple[list[str | int], str | int]] = [(["hooks", event], group), (["hooks"], event), ([], "hooks")]
        for outer, last in above:  # a group without hooks, an event without groups, `hooks` without events
            if json_edit.spans(text, _at(text, inner)):
                break
            text, inner = _without(text, outer, last), outer
    return text


def _without(text: str, path: list[str | int], last: str | int) -> str:
    at = _at(text, path)
    if isinstance(last, int):
        return json_edit.take(text, at, last)
    keys = [span.key for span in json_edit.spans(text, at)]
    return json_edit.take(text, at, len(keys) - 1 - keys[::-1].index(last))


def _at(text: str, path: list[str | int]) -> int:
    found = json_edit.value_at(text, path)
    if found is None:
        raise LookupError(path)
    return found


def _first_of_ours(values: dict[str, Any], keeps: Collection[str]) -> tuple[str, int, int] | None:
    hooks = values.get("hooks")
    for event, present in hooks.items() if isinstance(hooks, dict) else ():
        if event in keeps:
            continue
        for group, one in enumerate(present if isinstance(present, list) else ()):
            for number, hook in enumerate(_hooks_of(one)):
                if _is_ours(hook):
                    return event, group, number
    return None


def _hooks_of(group: Any) -> list[Any]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _is_ours(hook: Any) -> bool:
    line = hook.get("command") if isinstance(hook, dict) else None
    args = hook.get("args") if isinstance(hook, dict) else None
    words = [line, *(args if isinstance(args, list) else [])]
    return isinstance(line, str) and _OURS.search(" ".join(map(str, words))) is not None


def _has_ours(group: Any) -> bool:
    return any(map(_is_ours, _hooks_of(group)))


def _is_ours_alone(group: Any) -> bool:
    hooks = _hooks_of(group)
    return bool(hooks) and all(map(_is_ours, hooks)) and isinstance(group, dict) and set(group) <= {"hooks", "matcher"}
