"""Write the settings by which programs with the Model Context Protocol (MCP) start memctl's server, `memctl mcp`.

The settings follow each program's documentation; only those of Claude Code were tested by running the program.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Client(NamedTuple):
    """A program that can start MCP servers: its name for people (`title`) and the path of its settings file (`file`).

    `write` is a function from the command that runs memctl, such as "memctl" or "/opt/bin/memctl", to the text that a
    user adds to the settings file, so that the program starts memctl's server.
    """

    title: str
    file: str
    write: Callable[[str], str]  # from memctl's command to the entry's text


def _json(*keys: str, folder: str = "", **more: str) -> Callable[[str], str]:
    """Return a function that writes an entry below some keys of a JSON file.

    `folder` is the program's placeholder for the project's folder, "" if it starts servers there; `more` are fields.
    """

    def write(command: str) -> str:
        args = [*(["-C", folder] if folder else []), "mcp"]
        entry: dict[str, Any] = {**more, "command": command, "args": args}
        for key in reversed((*keys, "memctl")):
            entry = {key: entry}
        return json.dumps(entry, indent=2) + "\n"

    return write


def _toml(command: str) -> str:
    return f'[mcp_servers.memctl]\ncommand = {json.dumps(command)}\nargs = ["mcp"]\n'


_FOLDER = "${workspaceFolder}"
CLIENTS = {
    "claude-code": Client("Claude Code", ".mcp.json", _json("mcpServers")),
    "codex": Client("Codex", "~/.codex/config.toml", _toml),
    "cursor": Client("Cursor", ".cursor/mcp.json", _json("mcpServers", folder=_FOLDER)),
    "gemini": Client("Gemini CLI", ".gemini/settings.json", _json("mcpServers")),
    "vscode": Client("VS Code", ".vscode/mcp.json", _json("servers", folder=_FOLDER, type="stdio")),
}
