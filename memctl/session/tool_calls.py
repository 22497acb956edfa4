"""Find the files that a tool call touches, by the names that common agents give to tools and arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from memctl.session import file_actions
from memctl.session.file_actions import FileAction
from memctl.text.actions import CREATED, DELETED, MODIFIED, READ, WRITTEN
from memctl.text.lazy_regex import lazy_regex
from memctl.text.light_typing import Any, Protocol

# Tools of Claude Code, Codex, Gemini CLI, Cursor, Copilot and MCP's reference servers; without `-` and `_`, lower case.
_SHELL = "shell"
_TOOLS = {
    WRITTEN: "write writefile writetofile savefile puttextfile",
    CREATED: "createfile newfile",
    MODIFIED: "edit multiedit notebookedit editfile replace searchreplace strreplace replaceinfile insertedit"
    " editnotebook applydiff",
    DELETED: "delete deletefile removefile",
    READ: "read readfile readtextfile readmediafile view viewfile viewimage openfile notebookread readmanyfiles"
    " readmultiplefiles cat",
    _SHELL: "bash shell powershell pwsh execcommand runshellcommand runterminalcmd runcommand runinterminal localshell"
    " terminal executecommand",
}
_ACTIONS = {name: action for action, names in _TOOLS.items() for name in names.split()}
_PATHS = (
    "file_path", "notebook_path", "path", "filePath", "absolute_path", "target_file", "filename", "file", "paths",
    "files",
)  # fmt: skip
_EDITOR = {"create": WRITTEN, "view": READ, "str_replace": MODIFIED, "insert": MODIFIED, "undo_edit": MODIFIED}

_LONGEST = 50_000  # characters of a command that are searched for a commit message
_COMMIT = lazy_regex(r"\bgit (?:-\S+ (?:[^-\s]\S* )?){0,20}commit\b")
_HERE = lazy_regex(r"<<-?\s*['\"]?(\w+)['\"]?[^\n]*\n")
_MESSAGE = lazy_regex(r"(?:-[a-z]*m|--message)[ =](?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')", re.DOTALL)


class ToolCall(Protocol):
    """A tool call: the tool's name (`tool`), its arguments by name, and the folder that the agent was in (`cwd`)."""

    @property
    def tool(self) -> str: ...
    @property
    def arguments(self) -> Mapping[str, Any]: ...
    @property
    def cwd(self) -> str: ...


def touched(event: ToolCall, *, failed: bool = False) -> Iterator[FileAction]:
    """Yield what a tool call does to each file that it touches, with the file's path as in the call.

    `failed` says that the call ran a shell command which failed.
    """
    name = _name(event)
    arguments = event.arguments
    if _ACTIONS.get(name) == _SHELL:
        folder = arguments.get("workdir") or arguments.get("cwd") or arguments.get("directory")
        cwd = folder if isinstance(folder, str) else event.cwd
        yield from file_actions.of_shell(command_of(arguments), cwd, failed=failed)
    elif name in ("applypatch", "patch"):
        text = next((v for v in arguments.values() if isinstance(v, str) and ("*** " in v or "+++ " in v)), "")
        yield from file_actions.patched(text, event.cwd)
    elif name in ("movefile", "renamefile"):
        source, target = arguments.get("source"), arguments.get("destination")
        if isinstance(source, str) and isinstance(target, str):
            yield FileAction(source, DELETED, event.cwd, f"moved to {target}")
            yield FileAction(target, WRITTEN, event.cwd, f"moved from {source}")
    else:
        command = arguments.get("command")
        is_editor = name.startswith("strreplace") and isinstance(command, str)
        action = _EDITOR.get(str(command)) if is_editor else _ACTIONS.get(name)
        if action is not None:
            yield from (FileAction(path, action, event.cwd) for path in _paths(arguments))


def _name(event: ToolCall) -> str:
    """Return the tool of a call as `_TOOLS` names it: `mcp__files__Write_File` is writefile."""
    return event.tool.rpartition("__")[2].replace("-", "").replace("_", "").lower()


def is_edit(event: ToolCall) -> bool:
    """Return whether a call's tool is one for changing files; shell commands do not count."""
    name = _name(event)
    return _ACTIONS.get(name) in (WRITTEN, CREATED, MODIFIED) or name in ("applypatch", "patch")


def command_of(arguments: Mapping[str, Any]) -> str:
    """Return the shell command in a call's arguments, "" if there is none."""
    command = arguments.get("command", arguments.get("cmd", arguments.get("script", "")))
    if isinstance(command, list):
        words = [word for word in command if isinstance(word, str)]
        if len(words) > 2 and words[1] in ("-c", "-lc"):
            return words[2]
        from shlex import join

        return join(words)
    return command if isinstance(command, str) else ""


def commit_message(arguments: Mapping[str, Any]) -> str:
    """Return the message of the commit that a call's shell command makes, "" if it makes none or gives no message."""
    command = command_of(arguments)[:_LONGEST]
    start = _COMMIT.search(command) if "commit" in command else None
    if start is None:
        return ""
    rest = command[start.end() :]
    if here := _HERE.search(rest):
        return re.split(rf"\n[ \t]*{here[1]}\b", rest[here.end() :], maxsplit=1)[0].strip()
    return "\n\n".join(one or other for one, other in _MESSAGE.findall(rest)).strip()


def _paths(values: Mapping[str, Any]) -> Iterator[str]:
    for key in _PATHS:
        value = values.get(key)
        for path in value if isinstance(value, list) else [value]:
            if isinstance(path, dict):
                path = path.get("path")
            if isinstance(path, str) and path.strip():
                yield path
        if value:
            return
