"""Our hooks in a host's settings: what they look like there, putting them in and taking them out."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from memctl.errors import MemctlError
from memctl.hooks import json_text
from memctl.hooks.hosts import END, HOSTS, TOOL, Host

_SECONDS = 10
OFF = "disableAllHooks"  # of Claude Code
_OURS = re.compile(rf"\bmemctl\b(?:(?!\bmemctl\b)[^|;&])*?\bhook (?:{'|'.join(HOSTS)})\b")


def command(host: Host, program: str) -> str:
    """The command of our hooks. Without a `program` it is memctl from the PATH; where there is none, nothing happens:
    not all who work on a project have it. The event is read all the same, for Codex takes a closed pipe for a failure;
    and so a memctl that can't even start does not fail either."""
    if program:
        return f"{program} hook {host.name}"
    return f"command -v memctl >/dev/null && memctl hook {host.name} || cat >/dev/null"


def groups(host: Host, line: str) -> dict[str, dict[str, Any]]:
    """What stands in the settings for each event of a host."""
    made: dict[str, dict[str, Any]] = {}
    for event, what in host.events.items():
        seconds = {TOOL: 5, END: host.last}.get(what, _SECONDS)  # at the end we write, and may find another at it
        hook: dict[str, Any] = {"type": "command", "command": line, "timeout": seconds * host.second}
        if host.second != 1:  # Gemini CLI shows hooks by their names
            hook["name"] = "memctl"
        made[event] = {"hooks": [hook]}
    return made


def added(text: str, host: Host, line: str, name: str) -> str:
    """Settings with our hooks in them; raises MemctlError if they are not such as we can add to."""
    text = removed(text, name, host.events) if text.strip() else "{}\n"  # an older memctl hooked other events
    values = json_text.parse(text, name)
    hooks = values.get("hooks", {})
    if not isinstance(hooks, dict):
        raise MemctlError(f"{name}: `hooks` is no object", "nothing was changed")
    if "hooks" not in values:
        text = json_text.put(text, _at(text, []), {}, "hooks")
    for event, group in groups(host, line).items():
        present = hooks.get(event, [])
        if not isinstance(present, list):
            raise MemctlError(f"{name}: `hooks.{event}` is no list", "nothing was changed")
        number = next((i for i, one in enumerate(present) if _is_ours_alone(one)), None)
        if number is not None and {key: one for key, one in present[number].items() if key != "matcher"} != group:
            text = json_text.replace(text, json_text.spans(text, _at(text, ["hooks", event]))[number], group)
        elif number is None and not any(map(_has_ours, present)):
            if event not in hooks:
                text = json_text.put(text, _at(text, ["hooks"]), [], event)
            text = json_text.put(text, _at(text, ["hooks", event]), group)
    return text


def are_off(text: str, name: str) -> bool:
    """Whether settings turn all hooks off, ours too."""
    return json_text.parse(text, name).get(OFF) is True


def removed(text: str, name: str, keeps: Collection[str] = ()) -> str:
    """Settings without our hooks but those of the events that it `keeps`, and without what is empty then and was for
    them; all else stays as it is."""
    if not text.strip():
        return text
    while (found := _first_of_ours(json_text.parse(text, name), keeps)) is not None:
        event, group, hook = found
        inner: list[str | int] = ["hooks", event, group, "hooks"]
        text = json_text.take(text, _at(text, inner), hook)
        above: list[tuple[list[str | int], str | int]] = [(["hooks", event], group), (["hooks"], event), ([], "hooks")]
        for outer, last in above:  # a group without hooks, an event without groups, `hooks` without events
            if json_text.spans(text, _at(text, inner)):
                break
            text, inner = _without(text, outer, last), outer
    return text


def _without(text: str, path: list[str | int], last: str | int) -> str:
    at = _at(text, path)
    if isinstance(last, int):
        return json_text.take(text, at, last)
    keys = [span.key for span in json_text.spans(text, at)]
    return json_text.take(text, at, len(keys) - 1 - keys[::-1].index(last))


def _at(text: str, path: list[str | int]) -> int:
    found = json_text.value_at(text, path)
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
    return isinstance(line, str) and _OURS.search(line) is not None


def _has_ours(group: Any) -> bool:
    return any(map(_is_ours, _hooks_of(group)))


def _is_ours_alone(group: Any) -> bool:
    hooks = _hooks_of(group)
    return bool(hooks) and all(map(_is_ours, hooks)) and isinstance(group, dict) and set(group) <= {"hooks", "matcher"}
