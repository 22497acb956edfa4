"""Nine days of a project's first week in each way of committing: what its history and its pull request carry.

The commands are those of a week in which a newcomer set a memory up on a public project and worked with it: some 50
that write, and two commits of code. Then two branches record 20 decisions each and are merged as a hosting site does
it, without anybody's drivers.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bench.world import MEMCTL, World

# By day: what is written. `code` is a commit of the user's; a session of an agent ends with its day.
_WEEK: tuple[tuple[str, ...], ...] = (
    ("project", *["section"] * 7, *["detail"] * 3, "render"),
    (*["decide"] * 4, *["learn"] * 2, "edit"),
    (*["issue"] * 4, "decide", "link"),
    ("code", "decide", "decide", "review", "learn"),
    (*["state"] * 2, "edit", "issue", "decide", "render"),
    ("resolve", "decide", "learn", "edit"),
    ("code", "decide", "decide", "resolve", "review", "render"),
    (*["decide"] * 2, "issue", "section-edit", "learn", "edit"),
    ("decide", "resolve", "section-edit", "edit", "edit"),
)
_ON_DEFAULT = "docs: default-branch\ndefault_branch: main\n"
_SETTINGS = {
    "each": "",
    "batch": "commits: batch\n",
    "each, default-branch": _ON_DEFAULT,
    "batch, default-branch": f"commits: batch\n{_ON_DEFAULT}",
}
_MORE: dict[str, tuple[str, ...]] = {  # options of what is recorded
    "decide": (
        *("--rationale", "It is what the others do, and it costs the least to change later."),
        *("--alternative", "Leave it as it is: it breaks twice a week"),
    ),
    "issue": ("--severity", "high"),
    "state": ("--next", "Write the tests"),
    "learn": (),
}
_BRANCHES, _DECISIONS = ("one", "two"), 20


class Week(msgspec.Struct):
    """What a week came to; `lines`, `files` and `documents` (lines of rendered ones) are those of its pull request."""

    writes: int
    ours: int
    theirs: int
    lines: int
    files: int
    documents: int
    conflicts: int


def measure(world: World, folder: Path) -> bool:
    """Print the figures; whether every way kept every record, and branches with `default-branch` have no conflicts."""
    print(
        "\nnine days: commits of memctl and of the user, lines in the pull request, files in conflict of two branches"
    )
    good = True
    for number, (name, settings) in enumerate(_SETTINGS.items()):
        week = _week(world, folder / f"week-{number}", settings)
        print(
            f"  {name:22} {week.writes} writes: {week.ours:2} commits and {week.theirs} of the user's; "
            f"{week.lines:,} lines in {week.files} files, {week.documents:,} of them documents; "
            f"{week.conflicts} conflicts"
        )
        good &= not ("default-branch" in name and week.conflicts)
    print(f"  {'ok' if good else 'FAILED'}", flush=True)
    return good


def _week(world: World, repository: Path, settings: str) -> Week:
    folder = repository / "src"
    folder.mkdir(parents=True)
    for part in range(7):
        (folder / f"part{part}.py").write_text(f'"""Part {part}."""\n\n\ndef run() -> None: ...\n')
    world.git(repository, "init", "-q", "-b", "main")
    world.git(repository, "add", "-A")
    world.git(repository, "commit", "-qm", "start")
    memctl = _Memctl(world, repository)
    memctl.run("init", "--project", "click")
    config = repository / ".memory" / "config.yaml"
    config.write_text(config.read_text() + settings)
    memctl.run("commit")
    memctl.run("install", "git")
    world.git(repository, "switch", "-qc", "topic")
    for day in _WEEK:
        for command in day:
            if command != "render" or _ON_DEFAULT not in settings:  # there it is refused, and the next write renders
                memctl.do(command)
        memctl.run("commit")
    log = world.git(repository, "log", "--format=%s", "main..topic").splitlines()
    ours = sum(line.startswith("docs(memory)") for line in log)
    numbers = [line.split("\t") for line in world.git(repository, "diff", "--numstat", "main", "topic").splitlines()]
    memory = [(int(added), path) for added, _, path in numbers if path.startswith(".memory/")]
    documents = sum(added for added, path in memory if "/docs/" in path)
    conflicts = _conflicts(world, repository, memctl)
    return Week(
        memctl.writes, ours, len(log) - ours, sum(added for added, _ in memory), len(memory), documents, conflicts
    )


def _conflicts(world: World, repository: Path, memctl: _Memctl) -> int:
    """How many files of two branches of 20 decisions each conflict in a plain merge, from a default branch in step."""
    world.git(repository, "switch", "-q", "main")
    world.git(repository, "merge", "-q", "--no-edit", "topic")
    memctl.run("learn", "After the merge")
    memctl.run("commit")
    for branch in _BRANCHES:
        world.git(repository, "switch", "-qc", branch, "main")
        for number in range(_DECISIONS):
            memctl.run("decide", f"Decision {number} of {branch}", "--section", "2.1")
        memctl.run("commit")
    server = repository.with_suffix(".git")  # where no driver is set up
    world.git(repository, "clone", "-q", "--bare", str(repository), str(server))
    try:
        world.git(server, "merge-tree", "--write-tree", "--name-only", *_BRANCHES)
        return 0
    except RuntimeError as error:  # its exit code is 1, and what it says has the files after the tree
        said = str(error).partition("\n")[2].partition("\n\n")[0].splitlines()
        return len(said) - 1


class _Memctl:
    """Runs the commands of the week."""

    def __init__(self, world: World, repository: Path) -> None:
        self._world = world
        self._repository = repository
        self._ids: dict[str, list[str]] = {name: [] for name in _MORE}
        self.writes = 0

    def run(self, *arguments: str) -> str:
        return self._world.run([MEMCTL, "-C", str(self._repository), *arguments])

    def do(self, command: str) -> None:
        """Run a command of the week; each is about something else than those before."""
        number = self.writes = self.writes + (command != "code")
        if command == "code":
            (self._repository / "src" / "part1.py").write_text(f"def run() -> int:\n    return {number}\n")
            self._world.git(self._repository, "commit", "-qam", f"feat: part {number}")
        elif command in _MORE:
            made = self.run(command, f"What day {number} brought up", "--section", _section(number), *_MORE[command])
            self._ids[command].append(made.split()[0])
        else:
            self.run(*self._words(command, number))

    def _words(self, command: str, number: int) -> list[str]:
        path, ids = f"src/part{number % 7}.py", self._ids
        match command:
            case "project":
                return ["project", "set", "--goal", "Command lines that compose"]
            case "section":
                return ["section", "add", f"Part {number}", "--path", path, "--overview", "It parses what users type."]
            case "detail":
                return ["detail", "add", f"Inside {number}", "--section", _section(number), "--code", path]
            case "edit":
                return ["edit", ids["learn"][-1], "--add", f"tags=day{number}"]
            case "link":
                return ["link", ids["issue"][-1], ids["decide"][-1]]
            case "review":
                return ["review", "3.1"]
            case "resolve":
                return ["resolve", ids["issue"].pop()]
            case "section-edit":
                return ["section", "edit", _section(number), "--completion", str(number)]
            case _:
                return [command]


def _section(number: int) -> str:
    return f"2.{number % 7 + 1}"
