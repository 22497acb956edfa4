"""The house: how large its rooms are, what leans on what, what a command loads and runs, and the ratios it is held to.

With another checkout to compare with, each figure stands beside that one's. Both are measured by this code, each in a
world of its own, since two versions of memctl do not share a cache.
"""

from __future__ import annotations

import ast
import io
import json
import shutil
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

from bench import baselines, records, repositories
from bench.measure import Step, compare, step
from bench.world import PYTHON, World

HERE = Path(__file__).resolve().parents[1]
_RECORDS, _FEW = 10_000, 100
_RUN = "import sys; sys.path.insert(0, {!r}); sys.argv[0] = 'memctl'; from memctl.__main__ import run; run()"
_TITLE = "Background jobs wait in PostgreSQL, not in Redis"
_DECIDE = ("decide", _TITLE, "--rationale", "One system less to run and to back up.")
_LIBRARIES = (PYTHON, "-c", "import click, yaml, sqlite3")
# A memory's process ends by os._exit: what was found out is printed there.
_AT_END = """
import json, os, sys
leave = os._exit
def end(code):
    sys.setprofile(None)
    print(json.dumps(result()), file=sys.stderr, flush=True)
    leave(code)
os._exit = end
"""
_LOADED = """
def result():
    return [m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'memctl' and m.__file__]
"""
# Only calls of functions count: bodies of modules and classes have not the flag CO_OPTIMIZED.
_TRACE = """
seen, last, switches = set(), None, 0
def look(frame, event, argument):
    global last, switches
    code = frame.f_code
    if event == 'call' and code.co_flags & 1 and code.co_filename.startswith({!r}):
        if last not in (None, code.co_filename):
            switches += 1
        last = code.co_filename
        seen.add(last)
def result():
    return [len(seen), switches]
sys.setprofile(look)
"""
_GOALS = {
    "import circles between modules": "0",
    "floors": "9",
    "class names in two modules and more": "20",
    "lines of memctl that `list` loads": "3,000",
    "ms in importing them": "25",
    "modules that `decide` runs": "60",
    "module switches of `decide`": "250",
    "`decide` in 20,000 files": "1.15x",
    "`list`, warm": "1.5x",
    "`search`, warm": "1.5x",
    "`show`, warm": "1.5x",
    "`rehydrate`, warm": "3x",
    "`decide --section`, 10,000 records to 100": "1.2x",
    "`check`, warm": "1.7x",
    "packages of a plain install": "16",
    "MB of its environment": "75",
}


def table(world: World, against: str, repetitions: int, *, is_installed: bool) -> None:
    """Print all figures, of `against` (a checkout) too if it is given; `is_installed` tries an install as well."""
    roots = [*([Path(against).resolve()] if against else []), HERE]
    columns: list[dict[str, str]] = []
    for number, root in enumerate(roots):
        (world.folder / f"house-{number}").mkdir()
        own = World(world.folder / f"house-{number}", world.environment)
        columns.append({**_sizes(root), **_structure(root), **_runs(own, root), **_ratios(own, root, repetitions)})
        columns[-1] |= _installed(own, root) if is_installed else {}
    names = dict.fromkeys(name for column in columns for name in column)
    head = ["", *(["then"] if against else []), "now", "goal"]
    rows = [[name, *(column.get(name, "-") for column in columns), _GOALS.get(name, "")] for name in names]
    widths = [max(len(row[place]) for row in [head, *rows]) for place in range(len(head))]
    print()
    for row in [head, *rows]:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        print("  ".join([f"  {row[0]:<{widths[0]}}", *cells]).rstrip())


def _sizes(root: Path) -> dict[str, str]:
    """The lines of each package that are neither docstring, comment nor blank, and its modules."""
    lines, modules = Counter[str](), Counter[str]()
    for name, path in _modules(root).items():
        package = name.split(".")[1] if path.parent.parent == root / "memctl" or len(name.split(".")) > 2 else "memctl"
        lines[package] += len(_code_lines(path.read_text("utf-8")))
        modules[package] += 1
    rows = {f"{name}/: lines, modules": f"{lines[name]:,}, {modules[name]}" for name in sorted(lines)}
    return {**rows, "all: lines, modules": f"{lines.total():,}, {modules.total()}"}


def _code_lines(text: str) -> set[int]:
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING):
            found |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            found -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return found


def _modules(root: Path) -> dict[str, Path]:
    """All modules but `__init__` by name."""
    found = sorted((root / "memctl").rglob("*.py"))
    return {".".join(path.relative_to(root).with_suffix("").parts): path for path in found if path.stem != "__init__"}


def _structure(root: Path) -> dict[str, str]:
    modules = _modules(root)
    trees = {name: ast.parse(path.read_text("utf-8")) for name, path in modules.items()}
    arrows = {name: set(_imported(name, tree, trees)) for name, tree in trees.items()}
    rooms = {name: name.split(".")[1] for name in modules}
    between: dict[str, set[str]] = {room: set() for room in rooms.values()}
    for name, others in arrows.items():
        between[rooms[name]] |= {rooms[other] for other in others} - {rooms[name]}
    classes = Counter(node.name for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef))
    return {
        "import circles between modules": str(len(_circles(arrows))),
        "floors": str(len(_chain(between))),
        "class names in two modules and more": f"{sum(n > 1 for n in classes.values())} of {len(classes)}",
    }


def _imported(name: str, tree: ast.AST, modules: Mapping[str, object]) -> Iterator[str]:
    """The modules that one imports, within functions too; what only a type checker sees aside."""
    todo = list(ast.iter_child_nodes(tree))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            todo += node.orelse
            continue
        todo += ast.iter_child_nodes(node)
        given: list[str] = []
        if isinstance(node, ast.Import):
            given = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            given = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from (one for one in given if one in modules and one != name)


def _circles(arrows: Mapping[str, Iterable[str]]) -> list[set[str]]:
    """The groups of modules of which each leads to each other."""
    reached = {name: _reached(name, arrows) for name in arrows}
    groups = {frozenset(other for other in reached[name] if name in reached[other]) for name in arrows}
    return [set(group) for group in groups if len(group) > 1]


def _reached(name: str, arrows: Mapping[str, Iterable[str]]) -> set[str]:
    found, todo = set[str](), [name]
    while todo:
        new = set(arrows.get(todo.pop(), ())) - found
        found |= new
        todo += new
    return found


def _chain(between: Mapping[str, set[str]]) -> list[str]:
    """The longest chain of packages of which each imports the next: as many floors are needed at least."""
    longest: dict[str, list[str]] = {}

    def below(room: str, above: tuple[str, ...]) -> list[str]:
        if room not in longest:
            chains = [below(other, (*above, room)) for other in between[room] if other not in above]
            longest[room] = [room, *max(chains, key=len, default=[])]
        return longest[room]

    return max((below(room, ()) for room in between), key=len)


def _memctl(root: Path, *arguments: str, before: str = "") -> list[str]:
    return [PYTHON, "-c", before + _RUN.format(str(root)), *arguments]


def _runs(world: World, root: Path) -> dict[str, str]:
    """What `list` loads, and what `decide` runs."""
    folder = _memory(world, root, _FEW)
    loaded = [Path(one) for one in _told(world, folder, _memctl(root, "list", before=_AT_END + _LOADED))]
    timed = [PYTHON, "-X", "importtime", *_memctl(root, "list")[1:]]
    best = min(_import_ms(_said(world, folder, timed)) for _ in range(5))
    trace = _AT_END + _TRACE.format(f"{root}/memctl/")
    code = repositories.with_code(world, "decide")
    for _ in range(2):
        world.run(_memctl(root, *_DECIDE), code)
    run, switches = _told(world, code, _memctl(root, *_DECIDE, before=trace))
    return {
        "lines of memctl that `list` loads": f"{sum(len(one.read_text('utf-8').splitlines()) for one in loaded):,}",
        "ms in importing them": f"{best:.0f}",
        "modules that `decide` runs": str(run),
        "module switches of `decide`": str(switches),
    }


def _memory(world: World, root: Path, size: int) -> Path:
    """A memory as a version renders it, with its caches warm."""
    folder = repositories.with_memory(world, size)
    for command in ("render", "list", "check"):
        world.run(_memctl(root, command), folder)
    return folder


def _told(world: World, folder: Path, command: Sequence[str]) -> list[str]:
    found: list[str] = json.loads(_said(world, folder, command).splitlines()[-1])
    return found


def _said(world: World, folder: Path, command: Sequence[str]) -> str:
    """What a command says on stderr."""
    return world.run(["sh", "-c", 'exec "$@" 2>&1 >/dev/null', "sh", *command], folder)


def _import_ms(said: str) -> float:
    fields = [line.removeprefix("import time:").split("|") for line in said.splitlines() if "|" in line]
    return sum(int(own) for own, _, name in fields if name.split(".")[0].strip() == "memctl") / 1000


def _ratios(world: World, root: Path, repetitions: int) -> dict[str, str]:
    """How long commands take as compared with their baselines."""
    folder, few = _memory(world, root, _RECORDS), _memory(world, root, _FEW)
    identifier = world.run(_memctl(root, "list", "--limit", "1"), folder).split()[0]
    given = {
        "list": ["list"],
        "search": ["search", *records.query()],
        "show": ["show", identifier],
        "rehydrate": ["rehydrate"],
    }
    steps = {f"`{name}`, warm": step(folder, _memctl(root, *one)) for name, one in given.items()}
    least, read = step(folder, _LIBRARIES), step(folder, (PYTHON, str(baselines.__file__), "read", ".memory"))
    taken = compare(world, {**steps, "least": least}, repetitions, warm_up=2)
    found = {name: taken[name] / taken["least"] for name in steps}
    taken = compare(world, {"check": step(folder, _memctl(root, "check")), "read": read}, repetitions, warm_up=2)
    found["`check`, warm"] = taken["check"] / taken["read"]
    placed = [*_DECIDE, "--section", "2.1", "--importance", "10"]
    both = {name: step(one, _memctl(root, *placed)) for name, one in {"many": folder, "few": few}.items()}
    taken = compare(world, both, repetitions, warm_up=2)
    found["`decide --section`, 10,000 records to 100"] = taken["many"] / taken["few"]
    return {
        "`decide` in 20,000 files": _decided(world, root, repetitions),
        **{n: f"{r:.2f}x" for n, r in found.items()},
    }


def _decided(world: World, root: Path, repetitions: int) -> str:
    """A decision in a repository of 20,000 files, as compared with the same done by hand with Git."""
    ours, theirs = repositories.with_code(world, "decide"), repositories.with_code(world, "by-hand")
    numbers = count(1)

    def by_hand() -> tuple[tuple[str, ...], ...]:
        name = f"notes/note-{next(numbers):04d}.md"
        (theirs / "notes").mkdir(exist_ok=True)
        (theirs / name).write_text(f"# {_TITLE}\n", encoding="utf-8")
        commit = ("git", "commit", "-q", "--only", name, "-m", f"docs: {_TITLE}")
        return (PYTHON, "-c", "import click"), ("git", "add", name), commit

    steps = {"decide": step(ours, _memctl(root, *_DECIDE)), "by hand": Step(by_hand, theirs)}
    taken = compare(world, steps, repetitions, warm_up=2)
    return f"{taken['decide'] / taken['by hand']:.2f}x"


def _installed(world: World, root: Path) -> dict[str, str]:
    """What `pip install` brings into an environment that has nothing, pip left aside."""
    environment, source = world.folder / "environment", world.folder / "source"
    shutil.copytree(root, source, ignore=shutil.ignore_patterns(".venv", ".git", "__pycache__", ".*_cache"))
    world.run([PYTHON, "-m", "venv", "--without-pip", str(environment)])
    world.run([PYTHON, "-m", "pip", "-q", "--python", str(environment / "bin/python"), "install", str(source)])
    listed = world.run([PYTHON, "-m", "pip", "--python", str(environment / "bin/python"), "list", "--format=json"])
    size = sum(file.stat().st_size for file in environment.rglob("*") if file.is_file() and not file.is_symlink())
    return {
        "packages of a plain install": str(len(json.loads(listed))),
        "MB of its environment": f"{size / 1e6:.0f}",
    }
