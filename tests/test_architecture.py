"""The house: floors, one place for processes, one for the command line, nothing that changes the directory."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import memctl.window
from tests.conftest import Memctl

PACKAGE = Path(__file__).parents[1] / "memctl"
# A module imports only from packages with a lower number, or from its own.
FLOORS = {
    "__init__": 0,
    "errors": 0,
    "text": 0,
    "arguments": 1,
    "git": 1,
    "record": 1,
    "statements": 1,
    "providers": 2,
    "search": 2,
    "store": 2,
    "transcript": 2,
    "pages": 3,
    "task": 3,
    "team": 3,
    "tokens": 3,
    "agent_view": 4,
    "sources": 4,
    "write": 4,
    "check": 5,
    "history": 5,
    "pack": 5,
    "session": 5,
    "exchange": 6,
    "hooks": 6,
    "sync": 6,
    "window": 6,
    "api": 7,
    "cli": 7,
    "mcp_server": 8,
}
ENTRY = "__main__"  # chooses between `cli` and `hooks`
INTERFACE = "memctl"  # `memctl/__init__.py` imports `api` when a program asks for it, and nothing by itself
# What `list` may import, in whatever function, and what it may load of an unchanged memory: as measured, and some more.
MOST_REACHED, MOST_LOADED = (109, 15_200), (45, 5_500)  # modules, lines of code
# Inside `window` a room imports only from rooms before its own; what stands beside the rooms puts them together.
WINDOW = (
    "policy",
    "steps",
    "messages",
    "results",
    "preservation",
    "pressure",
    "budget",
    "eviction",
    "compression",
    "state",
)
# One starts Git; the other the program that a user has named as theirs to ask.
PROCESSES = (PACKAGE / "git" / "git.py", PACKAGE / "providers" / "program.py")
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
NAMES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def imports(path: Path) -> set[str]:
    """The modules that a module imports, inside functions too; of others than memctl's, the names as well."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in NAMES else str(node.module) for name in names}
    return found


def test_modules_import_only_from_below_and_never_in_a_circle() -> None:
    arrows = {name: imports(path) & NAMES.keys() for name, path in NAMES.items()}
    assert arrows.pop(INTERFACE) == {"memctl.api", "memctl.errors"}
    arrows[INTERFACE] = set()
    upwards = [
        f"{name} imports {other}"
        for name, others in arrows.items()
        for other in others
        if room(NAMES[name]) not in (ENTRY, room(NAMES[other]))
        and FLOORS[room(NAMES[other])] >= FLOORS[room(NAMES[name])]
    ]
    assert upwards == []
    TopologicalSorter(arrows).prepare()  # raises CycleError, which names the circle
    reached, ahead = set[str](), ["memctl.cli.list_records"]
    while ahead:
        name = ahead.pop()
        if name not in reached:
            reached.add(name)
            ahead += arrows[name]
    assert within(reached, MOST_REACHED)


def test_listing_an_unchanged_memory_loads_few_modules(repo: Path, memctl: Memctl) -> None:
    memctl("decide", "Use PostgreSQL")
    os.utime(next((repo / ".memory" / "decisions").rglob("*.md")), (0, 0))  # else it may change again unseen
    memctl("list")
    loaded = loaded_by(f"import memctl.cli.main as m; m.main(['-C', {str(repo)!r}, 'list'])")
    assert within(loaded & NAMES.keys(), MOST_LOADED)


def within(modules: set[str], most: tuple[int, int]) -> bool:
    lines = sum(lines_of_code(NAMES[name]) for name in modules)
    print(f"{len(modules)} modules, {lines:,} lines")
    return len(modules) <= most[0] and lines <= most[1]


def lines_of_code(path: Path) -> int:
    """Return the number of a module's lines that are no docstrings, which may be as long as they need to be."""
    text = path.read_text()
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    first = (node.body[0] for node in ast.walk(ast.parse(text)) if isinstance(node, documented) and node.body)
    texts = (one for one in first if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    return len(text.splitlines()) - sum((one.end_lineno or 0) - one.lineno + 1 for one in texts)


def test_the_rooms_of_a_window_import_only_from_those_before() -> None:
    window = PACKAGE / "window"
    rooms = {path.parent.name for path in window.rglob("*.py")} - {"window"}
    assert rooms == {*WINDOW} - {"steps"}  # a module of names, which all may import
    for path in window.rglob("*/*.py"):
        allowed = WINDOW[: WINDOW.index(path.parent.name) + 1]
        for name in imports(path):
            if name.startswith("memctl.window."):
                assert name.split(".")[2] in allowed, f"{name} is not before {path.parent.name} ({path.name})"


def test_window_package_is_imported_only_by_cli_and_hooks() -> None:
    public = set(memctl.window.__all__)
    for path in [path for path in NAMES.values() if room(path) != "window"]:
        for node in [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]:
            if (node.module or "").startswith("memctl.window"):
                assert room(path) in ("cli", "hooks"), f"{path} imports the wing"
                assert node.module == "memctl.window", f"{path} imports {node.module} beside the door"
                assert {alias.name for alias in node.names} <= public, path
        plain = {name for name in imports(path) if name.startswith("memctl.window.")}
        assert all(name.split(".")[2] in public for name in plain), path


def test_click_subprocess_and_sqlite_are_imported_only_in_their_packages() -> None:
    for path in MODULES:
        names = {name.split(".")[0] for name in imports(path)}
        assert room(path) == "cli" or "click" not in names, path
        assert path in PROCESSES or "subprocess" not in names, path
        assert room(path) == "store" or "sqlite3" not in names, path
        text = path.read_text()
        assert path in PROCESSES or "posix_spawn" not in text, path
        assert "os.chdir" not in text, path
        assert "os.system" not in text, path


def test_every_package_has_a_level() -> None:
    assert {room(path) for path in NAMES.values()} == {*FLOORS, ENTRY}


def test_modules_have_no_vague_names() -> None:
    bad = {"utils", "helpers", "common", "core", "manager", "base", "misc"}
    assert not {path.stem for path in MODULES} & bad


def loaded_by(code: str) -> set[str]:
    """The modules that a Python program ends up with."""
    code = f"import sys; {code}; print(*sorted(sys.modules))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_the_start_imports_no_more_than_click() -> None:
    more = loaded_by("import memctl.cli.main as m; m.main(['--version'])") - loaded_by("import click, importlib, gc")
    heavy = {"msgspec", "yaml", "sqlite3", "jinja2", "subprocess", "json", "frontmatter", "splintr"}
    assert sorted(heavy & more) == []
    assert not [name for name in more if name.startswith("memctl.") and name.split(".")[1] not in ("cli", "errors")]


def test_a_plain_decision_needs_neither_yaml_nor_jinja(repo: Path, memctl: Memctl) -> None:
    memctl("decide", "first")  # compiles the templates
    loaded = loaded_by(f"import memctl.cli.main as m; m.main(['-C', {str(repo)!r}, 'decide', 'x'])")
    heavy = {"yaml", "frontmatter", "splintr", "markdown_it", "tree_sitter", "subprocess", "jinja2"}
    assert sorted(heavy & loaded) == []


def test_after_a_tool_call_nothing_of_the_memory_is_imported(repo: Path) -> None:
    event = json.dumps({"session_id": "s", "cwd": str(repo), "hook_event_name": "PostToolUse"})
    answer = f"d.answer(h.CLAUDE_CODE, {event.encode()!r}, os.environ)"
    loaded = loaded_by(f"import os; from memctl.hooks import dispatch as d, hosts as h; {answer}")
    assert len(loaded & NAMES.keys()) > 10
    assert loaded.isdisjoint({"typing", "msgspec", "sqlite3", "subprocess", "hashlib", "memctl.store.memory"})


def test_recall_at_a_file_imports_little(repo: Path, memctl: Memctl) -> None:
    (repo / "app.py").write_text("")
    made = memctl("decide", "Queue in PostgreSQL", "--code", "app.py")
    memctl("list")
    run = {"tool_name": "Bash", "tool_input": {"command": "cat app.py | grep x > y"}}
    event = json.dumps({"session_id": "s", "cwd": str(repo), "hook_event_name": "PostToolUse", **run})
    answer = f"print(d.answer(h.CLAUDE_CODE, {event.encode()!r}, os.environ))"
    loaded = loaded_by(f"import os; from memctl.hooks import dispatch as d, hosts as h; {answer}")
    assert any(made.id in word for word in loaded)  # which are all the words of its output
    assert loaded.isdisjoint({"typing", "msgspec", "sqlite3", "subprocess", "memctl.store.memory"})


@pytest.mark.parametrize("name", ["compact", "evict", "simulate"])
def test_the_names_that_help_lists_are_the_parts_own_and_cost_nothing(name: str) -> None:
    loaded = loaded_by(f"import memctl.cli.main as m; m.main(['window', '{name}', '--help'])")
    parts = {one for one in loaded if one.startswith("memctl.window.")}
    assert parts <= {"memctl.window.steps"}
