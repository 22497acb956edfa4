"""What is compared with what. Each function prints its table as soon as it is measured."""

from __future__ import annotations

from itertools import count

from bench import records, repositories
from bench.measure import Step, compare, step
from bench.table import Row, show
from bench.world import MEMCTL, PYTHON, World

_CLICK = (PYTHON, "-c", "import click")
_LIBRARIES = (PYTHON, "-c", "import click, yaml, sqlite3")
_WARM_LIMIT = 10_000  # records up to which the goals for a warm start hold
_COLD = ("list", "rehydrate")  # the others read all records in the same way
_COLD_GOALS = {10_000: 3_000.0, 100_000: 30_000.0}
_TEXT = "Background jobs wait in PostgreSQL, not in Redis"
_RATIONALE = "One system less to run and to back up; a thousand jobs a minute is far below what SKIP LOCKED bears."


def starting(world: World, repetitions: int) -> None:
    """The least that any command costs."""
    steps = {
        "import": step(world.folder, _CLICK),
        "memctl --version": step(world.folder, (MEMCTL, "--version")),
        "memctl -h": step(world.folder, (MEMCTL, "-h")),
    }
    found = compare(world, steps, repetitions)
    names = [name for name in steps if name != "import"]
    show(
        "Starting",
        "python -c 'import click'",
        [Row(name, found[name], found["import"], goal_ratio=1.3) for name in names],
    )


def deciding(world: World, repetitions: int) -> None:
    """A decision recorded and committed, against the same done by hand with Git."""
    ours = repositories.with_code(world, "decide")
    theirs = repositories.with_code(world, "by-hand")
    numbers = count(1)

    def by_hand() -> tuple[tuple[str, ...], ...]:
        name = f"notes/note-{next(numbers):04d}.md"
        (theirs / "notes").mkdir(exist_ok=True)
        (theirs / name).write_text(f"# {_TEXT}\n\n{_RATIONALE}\n", encoding="utf-8")
        return _CLICK, ("git", "add", name), ("git", "commit", "-q", "--only", name, "-m", f"docs: {_TEXT}")

    steps = {
        "decide": step(ours, (MEMCTL, "decide", _TEXT, "--rationale", _RATIONALE)),
        "by hand": Step(by_hand, theirs),
        "import": step(theirs, _CLICK),
    }
    found = compare(world, steps, repetitions, warm_up=2)
    show(
        f"Recording a decision in a repository of {repositories.TRACKED_FILES:,} files",
        "python -c 'import click', git add FILE, git commit -q --only FILE",
        [Row("memctl decide", found["decide"], found["by hand"], goal_ratio=1.2)],
    )
    print(f"  of the baseline, Python with click is {found['import']:.1f} ms")
    print("  measured elsewhere, in small stores: nb 202 ms, Backlog.md with autoCommit 353 ms")


def reading(world: World, size: int, warm: int, cold: int) -> None:
    """What reads records, with the cache and without."""
    folder = repositories.with_memory(world, size)
    identifier = world.run([MEMCTL, "list", "--limit", "1"], folder).split()[0]
    commands = {
        "list": (MEMCTL, "list"),
        "search": (MEMCTL, "search", *records.query()),
        "show": (MEMCTL, "show", identifier),
        "rehydrate": (MEMCTL, "rehydrate"),
    }
    baseline = step(folder, _LIBRARIES)
    found = compare(world, {**{n: step(folder, c) for n, c in commands.items()}, "import": baseline}, warm)
    rows = [_warm_row(name, size, found) for name in commands]

    def forget() -> None:
        repositories.forget_caches(folder)

    cold_steps = {name: step(folder, commands[name], before=forget) for name in _COLD}
    found = compare(world, {**cold_steps, "import": baseline}, cold, warm_up=0)
    goal = _COLD_GOALS.get(size)
    rows += [Row(f"memctl {name}, cold", found[name], found["import"], goal_ms=goal) for name in _COLD]
    show(f"Reading {size:,} records", "python -c 'import click, yaml, sqlite3'", rows)


def searching(world: World, repetitions: int) -> None:
    """A search in an index of 100,000 entries, against the same in one of 10,000, in the processors' time."""
    many, few = repositories.with_entries(world), repositories.with_memory(world, 10_000)
    queries = {
        "two words": records.query(),
        "a question": ("why", "did", "we", "choose", *records.query()[:1]),
        "a word that nothing has": ("qqqqqqqq",),
    }
    rows = []
    for name, query in queries.items():
        steps = {str(folder): step(folder, (MEMCTL, "search", *query)) for folder in (many, few)}
        found = compare(world, steps, repetitions, warm_up=2, cpu=True)
        rows.append(Row(f"memctl search, {name}", found[str(many)], found[str(few)], goal_ratio=2.0))
    show("Searching 100,000 entries of the index", "memctl search in 10,000 entries", rows)


def _warm_row(name: str, size: int, found: dict[str, float]) -> Row:
    is_pack = name == "rehydrate"
    held = size <= _WARM_LIMIT
    return Row(
        f"memctl {name}, warm",
        found[name],
        found["import"],
        goal_ratio=2.0 if held and not is_pack else None,
        goal_ms=250.0 if held and is_pack else None,
    )
