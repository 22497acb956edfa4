"""Proposals for a repository that has just got a memory: import decisions, install hooks, add sections."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from memctl.errors import MemctlError
from memctl.exchange import adr_folder
from memctl.git import git
from memctl.hooks.hosts import HOSTS
from memctl.record.config import DEFAULT_BRANCH
from memctl.record.snapshot import Snapshot
from memctl.store.memory import Memory
from memctl.text.phrases import quantity

_SHOWN = 3
_DECISIONS = re.compile(r"(?:^|/)(?:adrs?|decisions?|(?:architecture-)?decision-(?:records|log))$", re.IGNORECASE)
_INSTRUCTIONS = {"claude-code": "CLAUDE.md", "gemini": "GEMINI.md"}  # each shows that this agent works here
_CONTAINERS = ("src", "lib", "libs", "app", "apps", "packages", "services", "crates", "cmd", "internal", "pkg")
_NO_PART = re.compile(r"[._].*|tests?|specs?|docs?|examples?|vendor|node_modules|build|dist|bin|scripts|third_party")
_SECTIONS = 8  # sections to propose; more would be hard to survey
_WHOLE = 0.6  # a folder with more than this share of all files holds the parts, and is not one of them


class FirstStep(NamedTuple):
    """A command that a user may run next: its words without `memctl`, and what the command is for.

    `purpose` is a phrase such as "import 3 decisions". `is_complete` is False if the user has to replace words such as
    TITLE before the command can run.
    """

    words: tuple[str, ...]
    purpose: str
    is_complete: bool = True  # the user need not fill in anything

    @property
    def line(self) -> str:
        """The command line to type, such as `memctl import adr docs/adr`."""
        return shlex.join(("memctl", *self.words))

    def arguments(self, top: Path) -> list[str]:
        """Return the arguments with which memctl can be run in any current directory.

        The path in an `import` is relative to `top`, the worktree's top, so it is made absolute.
        """
        return [*self.words[:-1], str(top / self.words[-1])] if self.words[0] == "import" else list(self.words)


def propose(memory: Memory) -> list[FirstStep]:
    """Return at least three commands to run next: first those that fit the repository, such as imports."""
    tracked = _tracked(memory)
    steps = [*_imports(memory.folder.parent, tracked), *_agents(memory, tracked)]
    steps.append(FirstStep(("install", "git"), "merge documents without conflicts, check the memory at each commit"))
    if memory.repository.remotes() and memory.config.docs is True:
        words = ("init", "--docs", DEFAULT_BRANCH)
        steps.append(FirstStep(words, "render documents only on the default branch, so that pull requests have none"))
    others = (
        FirstStep(("init", "--sections"), "propose sections from the folders of the repository"),
        FirstStep(("decide", "TITLE", "--rationale", "WHY"), "record your latest decision", is_complete=False),
    )
    return [*steps, *others[: max(0, _SHOWN - len(steps))]]


def _tracked(memory: Memory) -> list[str]:
    """Return the paths of the repository's files in Git, relative to the folder with the memory."""
    args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    return [os.fsdecode(name) for name in git.read(args, memory.folder.parent).split(b"\0") if name]


def _imports(top: Path, tracked: Sequence[str]) -> Iterator[FirstStep]:
    folders = {path.rpartition("/")[0] for path in tracked if path.endswith(".md")}
    for folder in sorted(name for name in folders if _DECISIONS.search(name) and not name.startswith(".memory")):
        with suppress(MemctlError):  # the folder is only in the index, or closed to this user
            if number := len(adr_folder.read_folder(top / folder).decisions):
                yield FirstStep(("import", "adr", folder), f"import {quantity(number, 'decision')}")
    if ".beads/issues.jsonl" in tracked:
        yield FirstStep(("import", "beads", ".beads/issues.jsonl"), "import the issues of beads")
    if any(path.startswith("backlog/tasks/") for path in tracked):
        yield FirstStep(("import", "backlog", "backlog"), "import the tasks of Backlog.md")


def _agents(memory: Memory, tracked: Sequence[str]) -> Iterator[FirstStep]:
    top = memory.folder.parent
    for name, host in HOSTS.items():
        if (top / host.folder).is_dir() or _INSTRUCTIONS.get(name) in tracked:
            yield FirstStep(("install", name), f"give sessions of {host.title} the memory, and summarize them")
    if "AGENTS.md" in tracked:
        yield FirstStep(("install", "agents-md"), "describe the memory to other agents, in AGENTS.md")


def propose_sections(memory: Memory, snapshot: Snapshot) -> list[FirstStep]:
    """Return commands that add sections to the memory: for the largest folders that no section covers yet."""
    parts = _parts([path for path in _tracked(memory) if not path.startswith(".")])
    covered = {glob.rstrip("*").rstrip("/") for page in snapshot.outline.sections for glob in page.paths}
    titles = {page.title.casefold() for page in snapshot.outline.sections}
    wanted = [folder for folder in parts if folder not in covered and _title(folder).casefold() not in titles]
    room = max(0, _SECTIONS - len(snapshot.outline.sections))
    return [
        FirstStep(("section", "add", _title(folder), "--path", f"{folder}/**"), quantity(parts[folder], "file"))
        for folder in wanted[:room]
    ]


def _parts(paths: Iterable[str]) -> dict[str, int]:
    """Return the folders that are parts of the project, each with its number of files, largest first."""
    parts: Counter[str] = Counter()
    ahead, files = [""], list(paths)
    while ahead:
        base = ahead.pop()
        below = [path for path in files if path.startswith(base)]
        counts = Counter(
            path[len(base) :].split("/")[0]
            for path in below
            if "/" in path[len(base) :] and not _NO_PART.fullmatch(path[len(base) :].split("/")[0])
        )
        for name, number in counts.items():
            inner = f"{base}{name}/"
            rests = [path[len(inner) :] for path in below if path.startswith(inner)]
            folders = {rest.split("/")[0] for rest in rests if "/" in rest}
            if folders and (name in _CONTAINERS or (len(folders) > 1 and number > _WHOLE * len(below))):
                ahead.append(inner)
            else:
                parts[inner.rstrip("/")] = number
    return dict(sorted(parts.items(), key=lambda item: (-item[1], item[0])))


def _title(folder: str) -> str:
    words = re.sub(r"[-_.]+", " ", PurePosixPath(folder).name).strip()
    return words[:1].upper() + words[1:]
