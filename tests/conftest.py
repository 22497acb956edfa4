"""Fixtures: an environment in which nothing of the user's is read or written, repositories, and memctl itself."""

from __future__ import annotations

import functools
import gc
import importlib
import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, settings

from memctl.cli.main import main
from memctl.git import private_files
from tests import json_schemas
from tests.world import WORLD

NOW = "2025-11-04T14:32:00Z"
EXAMPLE = Path(__file__).parents[1] / ".memory.example"
_COMPILED = Path(".git/memctl/.memory/templates")

# Elsewhere each run looks at new examples; a run that decides about a change looks at the same ones every time, and at
# three times as many. Times say nothing on a machine that does other things too.
settings.register_profile(
    "usual", max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
settings.register_profile("ci", settings.get_profile("usual"), max_examples=30, derandomize=True)
IN_CI = bool(os.environ.get("CI"))
settings.load_profile("ci" if IN_CI else "usual")


def examples(number: int) -> settings:
    """Try a property with so many examples in CI, with a third elsewhere."""
    return settings(max_examples=number if IN_CI else number // 3)


def pytest_configure(config: pytest.Config) -> None:
    """Make the repositories in memory where there is room for them: a run writes thousands of small files.

    What the tests themselves are made of stays, and is not looked through for garbage again and again. A run in the
    background of a shell, which lets it ignore Ctrl-C, hears it all the same: so do the processes that it starts.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    memory = Path("/dev/shm")
    is_usual = config.option.basetemp is None and "PYTEST_DEBUG_TEMPROOT" not in os.environ
    if is_usual and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > 2 * 1024**3:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(memory)


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Begin with other modules in each worker, so that in a fresh clone each is compiled once and not by all of them.

    pytest rewrites the assertions of a module when it is imported, and finds it compiled or imported when it collects.
    """
    worker, workers = os.environ.get("PYTEST_XDIST_WORKER", ""), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    if workers == 1:
        return
    paths = [session.config.invocation_params.dir / arg.partition("::")[0] for arg in session.config.args]
    modules = sorted(module for path in paths for module in path.rglob("test_*.py") if "lantern" not in module.parts)
    for module in modules[int(worker.removeprefix("gw")) % workers :: workers]:
        with suppress(Exception, pytest.skip.Exception):  # collecting it says what is wrong with it
            importlib.import_module(".".join(module.relative_to(session.config.rootpath).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what starts agents' own programs, lets pip build an environment or upgrades older memories."""
    folders, files = {"agents", "upgrade"}, {"test_precommit.py", "test_packaging.py", "test_workflow.py"}
    for item in items:
        if item.path.parent.name in folders or item.path.name in files:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Return the number of workers: one for each core, for another one would collect all tests once more."""
    return os.cpu_count() or 1


@pytest.fixture(autouse=True, scope="session")
def own_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A home of its own, a Git that reads no configuration of this machine, a fixed clock and agent."""
    home = tmp_path_factory.getbasetemp() / "home"
    home.mkdir()
    foreign = ("GIT_", "MEMCTL_", "_MEMCTL", "CLAUDE", "CODEX_", "GEMINI_", "NO_COLOR", "EDITOR", "VISUAL", "EMAIL")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(foreign)]:
            patch.delenv(name)
        own = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), **WORLD}
        # A machine that runs tests is slow, and hooks get their time.
        own |= {"MEMCTL_NOW": NOW, "MEMCTL_AGENT": "claude", "MEMCTL_HOOK_SECONDS": "60"}
        for name, value in own.items():
            patch.setenv(name, value)
        yield


@pytest.fixture(autouse=True)
def stays_put() -> Iterator[None]:
    """memctl never changes the process's directory."""
    before = os.getcwd()
    yield
    assert os.getcwd() == before


def git(folder: Path, *args: str, stdin: str | None = None, check: bool = True) -> str:
    """Run git in a folder and return its output."""
    assert "--global" not in args or os.environ["GIT_CONFIG_GLOBAL"] != os.devnull, "for root, Git would replace it"
    process = subprocess.run(
        ["git", *args], cwd=folder, input=stdin, capture_output=True, text=True, errors="surrogateescape"
    )
    if check and process.returncode:
        raise AssertionError(f"git {' '.join(args)}: {process.stderr}")
    return process.stdout


def commits(folder: Path) -> int:
    return int(git(folder, "rev-list", "--count", "HEAD"))


def changed_in(folder: Path, revision: str = "HEAD") -> list[str]:
    """The paths that a commit touched, but for the rendered documents."""
    paths = git(folder, "show", "--format=", "--name-only", "-z", revision).strip("\0\n").split("\0")
    return [path for path in paths if "/docs/" not in path]


class Result(msgspec.Struct):
    """What a run of memctl came to."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.out)

    @property
    def data(self) -> Any:
        return self.json["data"]

    @property
    def id(self) -> str:
        """The id that a creating command printed."""
        return self.out.split()[0]


Memctl = Callable[..., Result]


class Terminal(io.TextIOWrapper):
    """Standard input at a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def memctl(repo: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Memctl:
    """Run memctl in this process, in the test's repository; a code that is not `code` fails the test.

    It runs as a script does that names itself or, in a test marked `terminal`, as a person does.
    """
    wrapper = io.TextIOWrapper
    if request.node.get_closest_marker("terminal"):
        wrapper = Terminal
        monkeypatch.delenv("MEMCTL_AGENT", raising=False)  # which names programs

    def run(*args: str, stdin: str = "", code: int | None = 0, where: Path | None = None) -> Result:
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", newline=""), io.StringIO()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            patch.setattr(sys, "stdin", wrapper(io.BytesIO(stdin.encode()), "utf-8"))
            got = main(["-C", str(where or repo), *args])
        out.flush()
        text = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
        assert code is None or got == code, f"memctl {' '.join(args)}: exit {got}\n{text}\n{err.getvalue()}"
        if "--json" in args and text:
            json_schemas.check(text)
        return Result(got, text, err.getvalue())

    return run


def record_all(memctl: Memctl, kind: str, titles: Iterable[str], **values: Any) -> None:
    """Record many things of a type, which differ by their titles: in one commit, as each on its own takes 30 ms.

    "{}" in a text stands for the title: records with the same text would be merged in packs."""
    told = {name: value for name, value in values.items() if isinstance(value, str) and "{}" in value}
    lines = [
        {
            "memory_type": kind,
            "title": title,
            **values,
            **{name: text.replace("{}", title) for name, text in told.items()},
        }
        for title in titles
    ]
    memctl("import", "-", stdin="".join(f"{msgspec.json.encode(line).decode()}\n" for line in lines))


def process(folder: Path, *args: str, env: dict[str, str] | None = None, **options: Any) -> subprocess.Popen[str]:
    """Start memctl as a process of its own."""
    command = [sys.executable, "-m", "memctl", "-C", str(folder), *args]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options}
    return subprocess.Popen(command, env={**os.environ, **(env or {})}, **pipes)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a commit and a memory, built once a worker; tests get copies."""
    folder = tmp_path_factory.mktemp("built") / "shop"
    folder.mkdir()
    env = {
        "HOME": str(folder.parent),
        "PATH": os.environ["PATH"],
        **WORLD,
        "MEMCTL_NOW": "2025-11-01T09:00:00Z",
        "MEMCTL_AGENT": "claude",
    }
    (folder / "app.py").write_text("print('shop')\n")
    for command in (
        ["git", "init", "-q", "-b", "main"],
        ["git", "add", "app.py"],
        ["git", "commit", "-qm", "start"],
        [sys.executable, "-m", "memctl", "init", "--project", "shop"],
        ["git", "repack", "-adq"],  # one file to copy for each test, not dozens
    ):
        subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
    _compile_templates(folder, env)
    return folder


class Contents(msgspec.Struct, frozen=True):
    """A folder: the paths in it, parents first, with their modes; what files hold and when they were written."""

    folders: list[tuple[str, int]]
    files: list[tuple[str, bytes, int, tuple[int, int]]]
    links: list[tuple[str, str]]


@functools.cache
def _contents(folder: Path) -> Contents:
    found = Contents([], [], [])
    for path in sorted(folder.rglob("*")):
        name, status = str(path.relative_to(folder)), path.lstat()
        if path.is_symlink():
            found.links.append((name, os.readlink(path)))
        elif path.is_dir():
            found.folders.append((name, status.st_mode & 0o777))
        else:
            found.files.append(
                (name, path.read_bytes(), status.st_mode & 0o777, (status.st_atime_ns, status.st_mtime_ns))
            )
    return found


def copied(source: Path, target: Path) -> Path:
    """Copy a folder that stays as it is, which is read once; `shutil.copytree`, which looks at it again, takes 4 times
    as long."""
    contents = _contents(source)
    target.mkdir()
    for name, mode in contents.folders:
        os.mkdir(f"{target}/{name}", mode)
    for name, data, mode, times in contents.files:
        descriptor = os.open(f"{target}/{name}", os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        os.write(descriptor, data)
        os.utime(descriptor, ns=times)
        os.close(descriptor)
    for name, to in contents.links:
        os.symlink(to, f"{target}/{name}")
    return target


def _compile_templates(folder: Path, env: dict[str, str]) -> None:
    """Let the repository have all compiled templates, or each test would compile them for its copy."""
    scratch = folder.parent / "scratch"
    shutil.copytree(folder, scratch, symlinks=True)
    for command in (["section", "add", "Payment"], ["detail", "add", "Cards", "--section", "2.1"]):
        subprocess.run(
            [sys.executable, "-m", "memctl", *command], cwd=scratch, env=env, check=True, capture_output=True
        )
    shutil.copytree(scratch / _COMPILED, folder / _COMPILED, dirs_exist_ok=True)
    shutil.rmtree(scratch)


def share_templates(repo: Path, *clones: Path) -> None:
    """Give clones the compiled templates of a repository, or the first command in each would compile them."""
    for clone in clones:
        private_files.make_folder((clone / _COMPILED).parent)
        shutil.copytree(repo / _COMPILED, clone / _COMPILED)


def set_tag(clone: Path, tag: str = "k7fq") -> None:
    """Give a clone a tag, such as one that another clone has, too: their ids can collide then."""
    file = clone / ".git/memctl/sequence.json"
    private_files.make_folder(file.parent)
    private_files.replace_file(file, f'{{"tag": "{tag}"}}'.encode())


@pytest.fixture(scope="session")
def healthy(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a memory that a person wrote and `check` finds no fault in; tests get copies."""
    from tests.check import build  # which imports this module

    return build(built, tmp_path_factory.mktemp("healthy") / "shop")


@pytest.fixture
def repo(built: Path, tmp_path: Path) -> Path:
    """A repository with one file, one commit of it, and a fresh memory, also committed."""
    return copied(built, tmp_path / "shop")


Once = Callable[..., Any]


class Made(msgspec.Struct, frozen=True):
    """What was made once: a copy of the folder, where it was made, and what the making returned."""

    kept: Path
    where: Path
    value: Any


@pytest.fixture(scope="session")
def prepared() -> dict[tuple[str, ...], Made]:
    """What was made once in this process, by what made it and from what."""
    return {}


@pytest.fixture
def once(
    repo: Path, tmp_path: Path, prepared: dict[tuple[str, ...], Made], tmp_path_factory: pytest.TempPathFactory
) -> Once:
    """Do something for the first test of a worker that needs it; others get a copy of all that its folder held then.

    Returns what the function returned for its arguments, which are texts. In copies clones have their remotes where
    those are now.
    """

    def run(make: Callable[..., Any], *args: str) -> Any:
        key = (make.__module__, make.__qualname__, *args)
        if key not in prepared:
            value, kept = make(*args), tmp_path_factory.mktemp("once") / "kept"
            shutil.copytree(tmp_path, kept, symlinks=True)
            prepared[key] = Made(kept, tmp_path, value)
            return value
        made = prepared[key]
        for source in made.kept.iterdir():
            if (target := tmp_path / source.name).exists():
                shutil.rmtree(target)
            copied(source, target)
        for config in (*tmp_path.glob("*/config"), *tmp_path.glob("*/.git/config")):
            config.write_text(config.read_text().replace(f"{made.where}/", f"{tmp_path}/"))
        return made.value

    return run


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of this checkout: that which WHEEL names, or else a new one."""
    if built := os.environ.get("WHEEL"):
        return Path(built).absolute()
    pytest.importorskip("hatchling", reason="hatchling builds the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=EXAMPLE.parent, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture
def example(repo: Path, once: Once) -> Path:
    """The example memory, committed."""

    def make() -> None:
        shutil.rmtree(repo / ".memory")
        shutil.copytree(EXAMPLE, repo / ".memory")
        git(repo, "add", "-A")
        git(repo, "commit", "-qm", "example")

    once(make)
    return repo


@pytest.fixture
def bob(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> Memctl:
    """memctl, run by another agent."""

    def run(*args: str, **options: object) -> object:
        with monkeypatch.context() as patch:
            patch.setenv("MEMCTL_AGENT", "bob")
            return memctl(*args, **options)

    return run  # type: ignore[return-value]


def strides(usual: int) -> pytest.MarkDecorator:
    """How many steps apart a command is killed: as usual, and in a slow test each single step."""
    return pytest.mark.parametrize("stride", [usual, *slow(1)])


def every(step: int, values: Iterable[object]) -> list[Any]:
    """Values of a parameter of which each so manieth is usual, and with the others a test is slow."""
    return [value if number % step == 0 else slow(value)[0] for number, value in enumerate(values)]


@pytest.fixture(params=["each", pytest.param("later", marks=pytest.mark.slow)])
def mode(request: pytest.FixtureRequest) -> str:
    """A value of `commits`, for what holds with both; whoever asks for it sets it in the repository."""
    return str(request.param)


def slow(*values: object) -> list[Any]:
    """Values of a parameter with which a test is slow: for `[usual, *slow(more, most)]`."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.slow) for value in values
    ]
