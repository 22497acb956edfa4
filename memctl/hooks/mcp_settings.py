"""What starts `memctl mcp` in programs that speak the Model Context Protocol, as their settings want it.

The file and form of each are as its documentation has them; only Claude Code's was run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Client(NamedTuple):
    """A program: its name, the file of its settings, and what writes the server's entry for it."""

    title: str
    file: str
    write: Callable[[str], str]  # given the command


def _json(*keys: str, folder: str = "", **more: str) -> Callable[[str], str]:
    """Write an entry below some keys of a JSON file; `folder` is what the program puts the project's folder for."""

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
