"""`python bench/surface.py [PYTHON]`: list what users rely on, one line each, to compare two versions with `diff`.

Every command with its arguments and options, the exit code of each command below, and the path and type of every key
of its JSON, on the example that `memctl demo` makes. PYTHON is the interpreter of the version in question.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_COMMANDS = """
import click
from memctl.cli.main import cli
def walk(command, name):
    if isinstance(command, click.Group):
        context = click.Context(command)
        for below in sorted(command.list_commands(context)):
            walk(command.get_command(context, below), f"{name} {below}".strip())
    for one in command.params:
        if isinstance(one, click.Argument):
            print(f"{name} {one.make_metavar(click.Context(command))}")
        else:
            kind = "" if one.is_flag else f" {getattr(one.type, 'choices', None) or one.type.name}"
            print(f"{name} {'/'.join([*one.opts, *one.secondary_opts])}{kind}{' (many)' if one.multiple else ''}")
walk(cli, "")
"""
# Words of a command each; `--json` is added. Those that write run with `--dry-run`.
_READS = (
    *(
        "status",
        "list",
        "list --type issue",
        "show §1.0",
        "show §2.1",
        "show §3.1",
        "search token",
        "log",
        "links",
        "diff",
    ),
    *("check", "check --format sarif", "check --format github", "check --strict", "impact --all", "index --tokens"),
    *("rehydrate", "rehydrate --task token", "rehydrate --format xml", "rehydrate --format yaml"),
    *("rehydrate --format tokens", "show DEC-1900-01-01-001", "files --task token", "summarize README.md", "budget"),
    *("tokens README.md", "quality README.md", "policy triggers README.md", "context-summary", "own list"),
    *("coordination show", "session list", "session status", "session show x", "checkpoint list", "checkpoint resume"),
    *("checkpoint show", "prompt system", "prompt user token", "event list", "event show", "window budget", "help"),
    *("guide recording", "calibration show", "export --all", "export adr adr -n", "handoff list", "detail list"),
    *("nothing", "list --nothing", "search", "show", "decide", "edit DEC-1900-01-01-001 --set status=x"),
)
_WRITES = (
    *("decide title", "issue title", "learn title", "state title", "maintain", "renumber", "sync", "commit", "render"),
    *("install", "uninstall", "init", "archive ISS-1900-01-01-001", "import adr docs"),
)


def keys(value: Any, path: str = "") -> Iterator[str]:
    """Paths of all keys with the type of their values: `data[].id: str`."""
    if isinstance(value, dict):
        for key, below in value.items():
            # A key that is data itself (an id, a path, a name) stands for all of its kind.
            named = key if key.replace("_", "").isalpha() and key.islower() else "*"
            yield from keys(below, f"{path}.{named}".lstrip("."))
    elif isinstance(value, list):
        for below in value:
            yield from keys(below, f"{path}[]")
    yield f"{path}: {type(value).__name__}"


def main() -> int:
    python = str(Path(sys.argv[1] if len(sys.argv) > 1 else sys.executable).absolute())
    print(subprocess.run([python, "-c", _COMMANDS], capture_output=True, text=True, check=True, cwd="/").stdout, end="")
    with tempfile.TemporaryDirectory() as name:
        env = {"PATH": os.environ["PATH"], "HOME": name, "MEMCTL_NOW": "2025-11-20T12:00:00Z", "MEMCTL_AGENT": "a"}
        env |= {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        memctl, shop = [python, "-m", "memctl"], f"{name}/shop"
        subprocess.run([*memctl, "demo", shop], capture_output=True, env=env, check=True, cwd=name)
        for words in (*_READS, *(f"{words} --dry-run" for words in _WRITES)):
            _print_outcome(words, [*memctl, *words.split(), "--json"], env, shop)
            _print_outcome(f"{words} (plain)", [*memctl, *words.split()], env, shop)
    return 0


def _print_outcome(words: str, argv: list[str], env: dict[str, str], folder: str) -> None:
    ran = subprocess.run(
        argv, capture_output=True, text=True, env=env, cwd=folder, stdin=subprocess.DEVNULL, check=False
    )
    print(f"{words}: exit {ran.returncode}")
    if argv[-1] == "--json":
        try:
            found = json.loads(ran.stdout)
        except ValueError:
            return
        print(*sorted({f"{words}: {one}" for one in keys(found)}), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
