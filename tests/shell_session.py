"""Shell sessions that are documents: every ```console block of a Markdown file is run, and says what came out.

A line `$ command` is run (lines `> …` continue it), all of a file's in one shell and one repository; the lines under
it are what it prints, and `[exit N]` its exit code if that is not 0. A comment `<!-- setup` … `-->`, which no reader of
the page sees, has commands to run first. `python -m tests.regenerate` writes the outputs anew.
"""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from tests.world import WORLD

_BLOCK = re.compile(r"(^```console\n)(.*?)(^```$)", re.MULTILINE | re.DOTALL)
_SETUP = re.compile(r"^<!-- setup\n(.*?)^-->$", re.MULTILINE | re.DOTALL)
_MARK = "--- end of command"
NOW = "2025-11-04T14:32:00Z"


class Shell:
    """A person's shell in a fresh repository with one file, in a world in which every run is the same.

    Its standard input is a terminal, by which memctl knows that a person is at work. It reads commands from a pipe.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "shop"
        self.folder.mkdir(parents=True)
        env = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "LC_ALL": "C.UTF-8",
            **WORLD,
            "GIT_AUTHOR_DATE": NOW,
            "GIT_COMMITTER_DATE": NOW,
            "MEMCTL_NOW": NOW,
        }
        self._terminal, inner = pty.openpty()
        reading, writing = os.pipe()
        self._commands = os.fdopen(writing, "w")
        self._process = subprocess.Popen(
            ["sh", f"/dev/fd/{reading}"],
            cwd=self.folder,
            env=env,
            stdin=inner,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            pass_fds=(reading,),
        )
        for descriptor in (inner, reading):
            os.close(descriptor)
        self.run("git init -q -b main && echo \"print('shop')\" > app.py && git add app.py && git commit -qm start")

    def run(self, command: str) -> str:
        """What a command prints, standard error included, and `[exit N]` if it failed."""
        assert self._process.stdout is not None
        self._commands.write(f'{command}\necho "{_MARK} $?"\n')
        self._commands.flush()
        lines: list[str] = []
        for line in self._process.stdout:
            before, mark, code = line.partition(_MARK)
            if mark:
                lines += [before + "\n"] if before else []
                lines += [f"[exit {code.strip()}]\n"] if code.strip() != "0" else []
                break
            lines.append(line)
        else:
            raise AssertionError(f"the shell ended at: {command}")
        return "".join(lines).replace(str(self.folder.parent), "~")

    def close(self) -> None:
        self._commands.close()
        self._process.communicate()
        os.close(self._terminal)


def commands(text: str) -> list[str]:
    """The commands of a document."""
    return [command for block in _BLOCK.finditer(text) for command in _commands(block[2])]


def regenerate(text: str, folder: Path) -> str:
    """Return the document with every output as it is now."""
    shell = Shell(folder)
    for setup in _SETUP.findall(text):
        printed = shell.run(setup)
        assert "[exit " not in printed, printed

    def block(match: re.Match[str]) -> str:
        parts = []
        for command in _commands(match[2]):
            shown = "$ " + command.replace("\n", "\n> ").replace("\n> \n", "\n>\n")
            parts.append(f"{shown}\n{shell.run(command)}")
        return match[1] + "".join(parts) + match[3]

    try:
        return _BLOCK.sub(block, text)
    finally:
        shell.close()


def _commands(block: str) -> list[str]:
    found: list[str] = []
    for line in block.split("\n"):
        if line.startswith("$ "):
            found.append(line[2:])
        elif (line == ">" or line.startswith("> ")) and found:
            found[-1] += "\n" + line[2:]
    return found
