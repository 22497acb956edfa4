"""memctl in environments that others made: PYTHONPATH, no home folder, odd locales, several commands at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import commits, git

_BIN = Path(sys.executable).parent
_LIBRARIES = (
    "click", "msgspec", "yaml", "frontmatter", "jinja2", "markdown_it", "git", "splintr", "mcp", "pydantic", "numpy",
    "typing_extensions", "sqlite3",
)  # fmt: skip
_INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "probe", "version": "1"}},
}


def _run(repo: Path, *command: str, stdin: str = "", **environ: str | None) -> subprocess.CompletedProcess[str]:
    """Run a command in the repository; a variable that is None is removed from the environment."""
    merged = {name: value for name, value in {**os.environ, **environ}.items() if value is not None}
    return subprocess.run(
        command, cwd=repo, input=stdin, capture_output=True, text=True, env=merged, timeout=60, errors="replace"
    )


@pytest.fixture
def shadowed(repo: Path) -> Path:
    """A repository that has folders with the names of memctl's libraries."""
    for name in _LIBRARIES:
        (repo / name).mkdir()
        (repo / name / "__init__.py").write_text(f"raise SystemExit('{name} under development')\n")
    return repo


@pytest.mark.parametrize("python_path", [".", "", "{repo}", "lib:{repo}/click/..", ":"])
@pytest.mark.parametrize(
    "command",
    [
        [str(_BIN / "memctl"), "list"],
        [str(_BIN / "git-memctl"), "check"],
        [sys.executable, "-m", "memctl", "rehydrate", "--budget", "500"],
    ],
    ids=["memctl", "git-memctl", "python -m memctl"],
)
def test_libraries_of_the_project_are_not_imported(shadowed: Path, command: list[str], python_path: str) -> None:
    done = _run(shadowed, *command, PYTHONPATH=python_path.format(repo=shadowed))
    assert (done.returncode, "under development" in done.stdout + done.stderr) == (0, False)


def test_hooks_import_no_library_of_the_project(shadowed: Path) -> None:
    event = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": str(shadowed)}
    done = _run(shadowed, str(_BIN / "memctl"), "hook", "claude-code", stdin=json.dumps(event), PYTHONPATH=".")
    assert "additionalContext" in done.stdout
    assert done.stderr == ""


def test_mcp_server_imports_no_library_of_the_project(shadowed: Path) -> None:
    pytest.importorskip("mcp")
    done = _run(shadowed, str(_BIN / "memctl"), "mcp", stdin=json.dumps(_INITIALIZE) + "\n", PYTHONPATH=".")
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "memctl"


def test_commit_and_merge_of_the_user_import_no_library_of_the_project(shadowed: Path) -> None:
    path = f"{_BIN}{os.pathsep}{os.environ['PATH']}"
    memctl = str(_BIN / "memctl")
    assert _run(shadowed, memctl, "install", "git", PATH=path).returncode == 0
    made = _run(shadowed, memctl, "learn", "One", "--lesson", "x", PATH=path).stdout.split()[0]
    git(shadowed, "switch", "-qc", "other")
    for branch, tag in (("other", "a"), ("main", "b")):
        git(shadowed, "switch", "-q", branch)
        assert _run(shadowed, memctl, "edit", made, "--tag", tag, PATH=path).returncode == 0
    (shadowed / "app.py").write_text("print(2)\n")
    done = _run(shadowed, "git", "commit", "-qam", "mine", PATH=path, PYTHONPATH=".")
    assert (done.returncode, done.stderr) == (0, "")
    done = _run(shadowed, "git", "merge", "-q", "--no-edit", "other", PATH=path, PYTHONPATH=".")
    assert (done.returncode, done.stderr) == (0, "")
    assert "tags:\n  - b\n  - a\n" in _run(shadowed, memctl, "show", made).stdout


def test_git_hooks_of_the_user_keep_the_variable(repo: Path) -> None:
    hook = repo / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\necho "$PYTHONPATH" > {repo}/../seen\n')
    hook.chmod(0o755)
    assert _run(repo, str(_BIN / "memctl"), "learn", "One", "--lesson", "x", PYTHONPATH="src").returncode == 0
    assert (repo.parent / "seen").read_text() == "src\n"


_HOMELESS = """
import pwd, sys
def getpwuid(uid):
    raise KeyError(f"getpwuid(): uid not found: {uid}")
pwd.getpwuid = getpwuid
sys.argv[0] = "/opt/bin/memctl"
from memctl.__main__ import run
run()
"""


@pytest.mark.parametrize(
    ("args", "code", "message"),
    [
        (("install", "claude-code", "--yes"), 0, "installed in .claude/settings.json"),
        (("install", "codex", "--yes"), 0, "installed in .codex/hooks.json"),
        (("install", "gemini", "--yes"), 0, "installed in .gemini/settings.json"),
        (("install", "claude-code", "--user", "--yes"), 1, "hint: set HOME"),
        (("window", "status"), 2, "there is no transcript"),
        (("demo", "-n", "~/lantern"), 0, ""),
        (("learn", "One", "--lesson", "x"), 0, ""),
        (("redact", "--text", "-"), 1, ""),
    ],
)
def test_user_without_a_home_folder(repo: Path, args: tuple[str, ...], code: int, message: str) -> None:
    config = {"GIT_CONFIG_GLOBAL": os.devnull, "HOME": None, "XDG_CONFIG_HOME": None}
    done = _run(repo, sys.executable, "-c", _HOMELESS, *args, stdin="zebrafish", **config)
    assert (done.returncode, message in done.stderr) == (code, True), done.stderr


def test_session_starts_without_a_home_folder(repo: Path) -> None:
    event = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": str(repo)}
    done = _run(
        repo, sys.executable, "-c", _HOMELESS, "hook", "claude-code", stdin=json.dumps(event),
        GIT_CONFIG_GLOBAL=os.devnull, HOME=None, XDG_CONFIG_HOME=None,
    )  # fmt: skip
    assert "additionalContext" in done.stdout


@pytest.mark.parametrize(
    ("shell", "folder"),
    [
        *((shell, ".local/bin") for shell in ("sh", "bash", "dash", "zsh", "fish")),
        ("sh", "bin"),
        ("sh", ".pyenv/shims"),
    ],
)
def test_project_hooks_find_memctl_in_the_home_on_the_path_of_a_desktop(
    repo: Path, shell: str, folder: str, tmp_path: Path
) -> None:
    if not any(os.access(f"{folder}/{shell}", os.X_OK) for folder in ("/usr/bin", "/bin")):
        pytest.skip(f"{shell} is not installed")
    home = tmp_path / "home"
    (home / folder).mkdir(parents=True)
    (home / folder / "memctl").symlink_to(_BIN / "memctl")
    done = _run(repo, str(_BIN / "memctl"), "install", "claude-code", "--yes", HOME=str(home))
    assert "warning" not in done.stderr
    hooks = json.loads((repo / ".claude/settings.json").read_text())["hooks"]
    event = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup", "cwd": str(repo)}
    command = hooks["SessionStart"][0]["hooks"][0]["command"]
    done = _run(repo, shell, "-c", command, stdin=json.dumps(event), HOME=str(home), PATH="/usr/bin:/bin")
    assert "additionalContext" in done.stdout
    (home / folder / "memctl").unlink()
    done = _run(repo, shell, "-c", command, stdin=json.dumps(event), HOME=str(home), PATH="/usr/bin:/bin")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_four_inits_at_once_make_one_commit(repo: Path) -> None:
    git(repo, "rm", "-rqf", ".memory")
    git(repo, "commit", "-qm", "without a memory")
    before = commits(repo)
    command = [sys.executable, "-m", "memctl", "-C", str(repo), "init"]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in "1234"]
    errors = [process.communicate()[1] for process in started]
    assert sorted(process.returncode for process in started) == [0, 1, 1, 1]
    assert sum("already has a memory" in error for error in errors) == 3
    assert commits(repo) == before + 1


@pytest.mark.parametrize("name", ["ü ñ 漢", "Grüße", "\udcff"])
def test_repository_with_any_name_in_the_locale_c(tmp_path: Path, name: str) -> None:
    repo = tmp_path / name
    repo.mkdir()
    git(repo, "init", "-q")
    for args in (("init",), ("learn", "Size", "--lesson", "x"), ("check",)):
        done = _run(repo, str(_BIN / "memctl"), *args, LC_ALL="C", LANG="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
        assert done.returncode == 0, done.stderr
