"""Proposals for a repository that has just got a memory: import decisions, install hooks, add sections."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from memctl.errors import MemctlError
from memctl.exchange import adr_folder
from memctl.git import git, remotes
from memctl.hooks.hosts import HOSTS
from memctl.record.config import DEFAULT_BRANCH
from memctl.record.snapshot import Snapshot
from memctl.sources.generated_files import GeneratedFiles
from memctl.store.memory import Memory
from memctl.text.globs import Globs
from memctl.text.phrases import quantity
from memctl.write import documents

_SHOWN = 3
_WITH_WORKFLOWS = re.compile(r"^(?:[^/]*@|\w+://)[^/:]*\b(github|gitlab)\b")  # the URL of a remote on such a host
_DECISIONS = re.compile(r"(?:^|/)(?:adrs?|decisions?|(?:architecture-)?decision-(?:records|log))$", re.IGNORECASE)
_INSTRUCTIONS = {"claude-code": "CLAUDE.md", "gemini": "GEMINI.md"}  # each shows that this agent works here
_CONTAINERS = ("src", "lib", "libs", "app", "apps", "packages", "services", "crates", "cmd", "internal", "pkg")
# Folders of tests, fixtures, examples, and code that others wrote or a program made: nobody decides there.
_NOT_OWN = re.compile(
    r"(?:.+[-_. ])?tests?|tests?[-_. ].+|(?-i:.*[a-z]Tests?)|__tests__|specs?|e2e|testdata"
    r"|__snapshots__|__mocks__|mocks?|(?:.+[-_. ])?(?:fixtures?|examples?|playgrounds?|vendor(?:ed)?)|examples?[-_. ].+"
    r"|samples?|demos?|node_modules|third[-_]?party|extern(?:al)?|__generated__|generated|gen|build|dist|out|target",
    re.IGNORECASE,
)
_NO_PART = re.compile(r"[._].*|bin|scripts|po|locales?|m4|cmake|licenses?|v?\d+(?:\.\d+)+\w*", re.IGNORECASE)
# Pictures, fonts, the settings of an editor and the pages that R generates: a folder of nothing else is no part.
_NO_CODE = re.compile(
    r".*\.(?:png|jpe?g|gif|svg|ico|webp|pdf|woff2?|[ot]tf|eot|mp[34]|zip|rd)|.*\.(?:xcodeproj|xcworkspace)/.*",
    re.IGNORECASE,
)
_WHOLE = ("src", "lib")  # at the top, such a folder is the project itself; in a part, it is that part
_UNDIVIDED = re.compile(r"docs?|documentation", re.IGNORECASE)  # such a folder is one part, however it is divided
_HANDFUL, _MOST = 5, 12  # sections to propose: with fewer, small folders count, too; more would be hard to survey
_LARGE = 10  # files of a folder that is worth a section beside that of the folder above it


class FirstStep(NamedTuple):
    """A command that a user may run next: its words without `program`, and what the command is for.

    `purpose` is a phrase such as "import 3 decisions". `is_complete` is False if the user has to replace words such as
    TITLE before the command can run, or has to decide when to run it.
    """

    words: tuple[str, ...]
    purpose: str
    is_complete: bool = True
    program: str = "memctl"

    @property
    def line(self) -> str:
        """The command line to type, such as `memctl import adr docs/adr`."""
        return shlex.join((self.program, *self.words))

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
    if memory.config.docs == DEFAULT_BRANCH:
        steps.append(_writer_of_documents(memory))
    others = (
        FirstStep(("init", "--sections"), "propose sections from the folders of the repository"),
        FirstStep(("decide", "TITLE", "--rationale", "WHY"), "record your latest decision", is_complete=False),
    )
    return [*steps, *others[: max(0, _SHOWN - len(steps))], *_push(memory)]


def _push(memory: Memory) -> Iterator[FirstStep]:
    known, branch = memory.repository.remotes(), memory.repository.branch()[0].removeprefix("refs/heads/")
    if known and branch:
        has_upstream = f"branch.{branch}.merge" in memory.repository.branch_settings
        words = () if has_upstream else ("-u", "origin" if "origin" in known else known[0], branch)
        yield FirstStep(("push", *words), "share the memory", is_complete=False, program="git")


def _writer_of_documents(memory: Memory) -> FirstStep:
    """Where no write renders the documents, a workflow or a person does."""
    repository, branch = memory.repository, memory.default_branch or "the default branch"
    urls = (remotes.setting(repository, f"remote.{name}.url") for name in repository.remotes())
    if host := next((match for url in urls if (match := _WITH_WORKFLOWS.search(url))), None):
        purpose = f"let a workflow render the documents on {branch}, and check pull requests"
        return FirstStep(("install", host[1]), purpose, is_complete=False)
    is_here = documents.belong_here(memory, memory.config)
    return FirstStep(("page", "render"), f"render the documents, which nothing else does, on {branch} alone", is_here)


def _tracked(memory: Memory) -> list[str]:
    args = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    return [os.fsdecode(name) for name in git.read(args, memory.folder.parent).split(b"\0") if name]


def _imports(top: Path, tracked: Sequence[str]) -> Iterator[FirstStep]:
    folders = {path.rpartition("/")[0] for path in tracked if path.endswith(".md")}
    for folder in sorted(name for name in folders if _DECISIONS.search(name) and not name.startswith(".memory")):
        if _not_own(folder):
            continue
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


def after_sections(memory: Memory) -> list[FirstStep]:
    """Return the command that renders the documents of new sections, if no write and no workflow does that."""
    step = _writer_of_documents(memory) if memory.config.docs == DEFAULT_BRANCH else None
    return [step] if step and step.is_complete else []


def propose_sections(memory: Memory, snapshot: Snapshot) -> tuple[list[FirstStep], list[str]]:
    """Return commands that add sections to the memory, and the folders that are left alone as not the project's own.

    The sections are for the largest folders that no section covers yet.
    """
    tracked = _tracked(memory)
    generated = GeneratedFiles(memory.repository, tracked, lambda _: False).by_attribute
    left = Counter(_not_own(path.rpartition("/")[0]) for path in tracked)
    own = (path for path in tracked if path not in generated and _NO_CODE.fullmatch(path) is None)
    parts = _parts(path for path in own if not _not_own(path.rpartition("/")[0]))
    globs = Globs(glob for page in snapshot.outline.sections for glob in page.paths)
    covered = [path for path in tracked if globs.match(path) is not None]
    taken = {page.title.casefold() for page in snapshot.outline.sections}
    names = {folder: memory.config.project if folder in _WHOLE else _name(folder) for folder in parts}
    alike = Counter(map(_title, names.values()))
    titles = {folder: _title(name if alike[_title(name)] == 1 else folder) for folder, name in names.items()}
    wanted = [
        folder
        for folder in parts
        if titles[folder].casefold() not in taken
        and sum(path.startswith(f"{folder}/") for path in covered) <= parts[folder] / 2
    ]
    room = max(0, _MOST - len(snapshot.outline.sections))
    steps = [
        FirstStep(("page", "section", "add", titles[folder], "--path", f"{folder}/**"), quantity(parts[folder], "file"))
        for folder in wanted[:room]
    ]
    return steps, [folder for folder, _ in left.most_common() if folder]


@lru_cache(maxsize=4_096)
def _not_own(folder: str) -> str:
    """Return the first folder on the way that is of tests, examples or code that is not the project's own."""
    names = folder.split("/")
    if any(map(_NO_PART.fullmatch, names)):
        return ""
    if names[0] == "testing":  # elsewhere it may be a package for those who test
        return names[0]
    return next(("/".join(names[:depth]) for depth, name in enumerate(names, 1) if _NOT_OWN.fullmatch(name)), "")


def _parts(paths: Iterable[str]) -> dict[str, int]:
    """Return the folders that are parts of the project, each with its number of files.

    First come the top folders, largest first, then large folders in these. Instead of a folder that only holds others,
    such as `src`, those that it holds count as top folders.
    """
    own, numbers = Counter[str](), Counter[str]()
    for path in paths:
        names = path.split("/")[:-1]
        if not any(map(_NO_PART.fullmatch, names)):
            own["/".join(names)] += 1
            numbers.update("/".join(names[:depth]) for depth in range(1, len(names) + 1))
    ordered = sorted(numbers, key=lambda folder: (-numbers[folder], folder))
    divided = {folder for folder in ordered if not _UNDIVIDED.fullmatch(_name(folder))}
    whole = own[""] + sum(numbers[folder] for folder in divided if "/" not in folder)

    def holds_parts(folder: str) -> bool:
        is_main = numbers[folder] > whole / 2 or folder in _CONTAINERS
        return folder in divided and is_main and own[folder] < numbers[folder] / 10  # with hardly any files of its own

    holders = {""}
    for folder in sorted(numbers):
        if folder.rpartition("/")[0] in holders and holds_parts(folder):
            holders.add(folder)
    above = {folder: folder.rpartition("/")[0] for folder in ordered}
    first = [folder for folder in ordered if above[folder] in holders and folder not in holders]
    large = [folder for folder in first if numbers[folder] >= _LARGE]
    # A folder with nearly all files of the one above it is the same part.
    inner = [
        folder
        for folder in ordered
        if {folder, above[folder]} <= divided
        and _name(folder) not in _WHOLE
        and above[folder] in first
        and _LARGE <= numbers[folder] < numbers[above[folder]] * 3 / 4
    ]
    small = [folder for folder in first if folder in divided and folder not in large]
    small = small[: max(0, _HANDFUL - len(large) - len(inner))]
    return {folder: numbers[folder] for folder in (*large, *small, *inner)[:_MOST]}


def _name(folder: str) -> str:
    return folder.rpartition("/")[2]


def _title(name: str) -> str:
    words = re.sub(r"[-_./]+", " ", name).strip()
    return words[:1].upper() + words[1:]
