"""memctl's hooks in the pre-commit framework itself: what a commit may hold is judged as Git will have it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Memctl, commits, git
from tests.reference import ROOT
from tests.world import WORLD

pytest.importorskip("pre_commit", reason="the pre-commit framework is not installed")

NOW = "2025-11-04T09:00:00Z"
PAGE, DOCUMENT = ".memory/details/3.1-cards.md", ".memory/docs/3.1-cards.md"
FILES = {
    "src/pay.py": '"""Takes cards."""\n',
    "src/old.py": '"""Nobody needs this."""\n',
    ".memory/project.md": "---\ntitle: shop\ncompletion_percentage: 20\n---\n\n## Goal\n\nSell books.\n\n"
    "## Status\n\nCards work.\n\n## Priorities\n\n- Payment\n",
    ".memory/sections/2.1-payment.md": "---\nid: §2.1\ntitle: Payment\ncompletion_percentage: 20\npaths:\n  - src/**\n"
    "---\n\n## Overview\n\nTakes money.\n",
    PAGE: "---\nid: §3.1\ntitle: Cards\nsection: §2.1\n---\n\n## Flow\n\nSee §4.src/pay.py.\n",
}
Done = subprocess.CompletedProcess[str]


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of a run share, so that the environment of the hooks is built once."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def world(shared: Path) -> dict[str, str]:
    """The environment that the framework runs in: what pip may need of the machine's, and nothing of the user's."""
    foreign = ("GIT_", "MEMCTL_", "_MEMCTL", "PRE_COMMIT", "PYTHON", "XDG_", "SKIP")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    homes = {"HOME": str(shared), "PRE_COMMIT_HOME": str(shared / "pre-commit")}
    return {**kept, **homes, **WORLD, "MEMCTL_NOW": NOW, "MEMCTL_AGENT": "claude"}


def call(folder: Path, world: dict[str, str], *command: str) -> None:
    subprocess.run(command, cwd=folder, env=world, check=True, capture_output=True)


@pytest.fixture(scope="session")
def hooks(shared: Path, world: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of memctl as it is now, new files too."""
    made, folder = tmp_path_factory.mktemp("hooks") / "memctl", shared / "memctl"
    listed = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("this is no checkout of memctl")
    for name in listed.stdout.split("\0"):
        if (ROOT / name).is_file() and (name.startswith("tests/lantern/") or not name.startswith(("tests/", "bench/"))):
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, made / name)
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "memctl"]):
        call(made, {**world, "GIT_AUTHOR_DATE": NOW, "GIT_COMMITTER_DATE": NOW}, "git", *command)
    if not folder.exists():
        try:
            os.rename(made, folder)
        except OSError:  # another worker was first
            assert folder.exists()
    return folder


@pytest.fixture(scope="session")
def shop(built: Path, world: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with code, pages and a decision."""
    repo = tmp_path_factory.mktemp("bare") / "shop"
    shutil.copytree(built, repo, symlinks=True)
    for name, text in FILES.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    memctl = (sys.executable, "-m", "memctl")
    call(repo, world, "git", "add", "src")
    call(repo, world, "git", "commit", "-qm", "code")
    call(repo, world, *memctl, "commit")
    call(repo, world, *memctl, "decide", "Count in cents", "--rationale", "Floats err.", "--section", "2.1")
    return repo


@pytest.fixture(scope="session")
def trial(
    shop: Path, hooks: Path, world: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`pre-commit try-repo` at work on a broken page, and the finding; it builds an environment only for itself."""
    repo = tmp_path_factory.mktemp("trial") / "shop"
    shutil.copytree(shop, repo, symlinks=True)
    finding = refer(repo)
    call(repo, world, "git", "add", "-A")
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), "--all-files"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=repo, env=world, text=True, **pipes) as process:
        yield process, finding
        process.kill()


@pytest.fixture(scope="session")
def guarded(shop: Path, hooks: Path, world: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shop with the framework installed and both hooks in its settings; tests get copies."""
    repo = tmp_path_factory.mktemp("guarded") / "shop"
    shutil.copytree(shop, repo, symlinks=True)
    revision = git(hooks, "rev-parse", "HEAD").strip()
    (repo / ".pre-commit-config.yaml").write_text(
        f"repos:\n- repo: {hooks}\n  rev: {revision}\n  hooks: [{{id: memctl-check}}, {{id: memctl-render}}]\n"
    )
    call(repo, world, "git", "add", "-A")
    call(repo, world, "git", "commit", "-qm", "hooks")
    stages = ("-t", "pre-commit", "-t", "pre-merge-commit")
    done = framework(repo, "install", "--install-hooks", *stages, env=world)
    if done.returncode and not has_index(repo, world):
        pytest.skip("the package index can't be reached, and the framework builds the hooks' environment from it")
    assert done.returncode == 0, done.stdout
    return repo


def has_index(folder: Path, world: dict[str, str]) -> bool:
    """Whether pip finds what every build of memctl begins with."""
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "-d", str(folder), "hatchling"]
    return subprocess.run(pip, env=world, capture_output=True).returncode == 0


def framework(repo: Path, *args: str, env: dict[str, str] | None = None) -> Done:
    """Run pre-commit; everything it says is in `stdout`."""
    command = [sys.executable, "-m", "pre_commit", *args]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    return subprocess.run(command, cwd=repo, env=env, text=True, **pipes)


@pytest.fixture
def repo(guarded: Path, world: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the guarded repository."""
    monkeypatch.setenv("PRE_COMMIT_HOME", world["PRE_COMMIT_HOME"])
    monkeypatch.delenv("SKIP", raising=False)
    folder = tmp_path / "shop"
    shutil.copytree(guarded, folder, symlinks=True)
    return folder


def commit(repo: Path, *options: str) -> Done:
    """Commit what is staged; everything that Git and the hooks say is in `stdout`."""
    command = ["git", "commit", "-m", "change", *options]
    return subprocess.run(command, cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def append(repo: Path, path: str, text: str) -> int:
    """Put a line behind a file; its number."""
    with open(repo / path, "a") as stream:
        stream.write(f"{text}\n")
    return len((repo / path).read_text().splitlines())


def refer(repo: Path) -> str:
    """Let the page of details refer to a file that is not there; the finding."""
    line = append(repo, PAGE, "See §4.src/gone.py too.")
    return f"{PAGE}:{line}: error MEM201 §4.src/gone.py matches no file"


def test_try_repo_builds_the_hooks_and_runs_them(trial: tuple[subprocess.Popen[str], str], guarded: Path) -> None:
    process, finding = trial  # it has been running while `guarded` was made
    out, _ = process.communicate()
    assert process.returncode == 1
    assert "memctl check......" in out
    assert "memctl page render....." in out
    assert finding in out


def test_a_staged_reference_to_no_file_stops_the_commit(repo: Path) -> None:
    finding, before = refer(repo), commits(repo)
    git(repo, "add", "-A")
    done = commit(repo)
    assert (done.returncode, commits(repo)) == (1, before)
    assert finding in done.stdout


def test_a_staged_link_to_no_record_stops_the_commit(repo: Path) -> None:
    [path] = git(repo, "ls-files", ".memory/decisions").split()
    lines = (repo / path).read_text().split("\n")
    lines.insert(5, "relates_to: [DEC-2025-01-01-001]")
    (repo / path).write_text("\n".join(lines))
    git(repo, "add", "-A")
    done = commit(repo)
    assert done.returncode == 1
    assert f"{path}:6: error MEM106 relates_to: there is no record DEC-2025-01-01-001" in done.stdout


@pytest.mark.parametrize("kind", ["unstaged", "untracked"])
def test_unstaged_changes_are_not_checked_and_are_kept(repo: Path, kind: str) -> None:
    if kind == "unstaged":
        refer(repo)
    else:
        (repo / ".memory/details/3.2-more.md").write_text("---\nid: §3.2\n---\n")
    append(repo, "app.py", "# more")
    git(repo, "add", "app.py")
    before = git(repo, "status", "--porcelain").replace("M  app.py\n", "")
    done = commit(repo)
    assert done.returncode == 0, done.stdout
    assert git(repo, "show", "--format=", "--name-only", "HEAD") == "app.py\n"
    assert git(repo, "status", "--porcelain") == before


def test_staged_text_is_checked_even_if_the_disk_has_it_corrected(repo: Path) -> None:
    text = (repo / PAGE).read_text()
    finding = refer(repo)
    git(repo, "add", PAGE)
    (repo / PAGE).write_text(text)
    done = commit(repo)
    assert done.returncode == 1
    assert finding in done.stdout
    assert (repo / PAGE).read_text() == text


def test_taking_a_file_away_that_a_page_refers_to_stops_the_commit(repo: Path) -> None:
    git(repo, "rm", "-q", "src/pay.py")
    line = FILES[PAGE].count("\n")
    done = commit(repo)
    assert done.returncode == 1
    assert f"{PAGE}:{line}: error MEM201 §4.src/pay.py matches no file" in done.stdout
    git(repo, "reset", "-q", "--hard")
    git(repo, "rm", "-q", "src/old.py")
    assert commit(repo).returncode == 0


def test_only_committed_changes_are_checked(repo: Path) -> None:
    finding = refer(repo)
    git(repo, "add", PAGE)
    append(repo, "app.py", "# more")
    assert commit(repo, "app.py").returncode == 0
    git(repo, "reset", "-q")
    done = commit(repo, "-a")
    assert done.returncode == 1
    assert finding in done.stdout


def test_a_page_edited_by_hand_is_refused_once_and_leaves_its_documents_rendered(repo: Path, memctl: Memctl) -> None:
    (repo / PAGE).write_text(FILES[PAGE].replace("Cards", "Cards and coins"))
    git(repo, "add", PAGE)
    before = commits(repo)
    done = commit(repo)
    assert (done.returncode, commits(repo)) == (1, before)
    assert "files were modified by this hook" in done.stdout
    assert "Cards and coins" in (repo / DOCUMENT).read_text()
    git(repo, "add", "-A")
    done = commit(repo)
    assert done.returncode == 0, done.stdout
    memctl("check", "--at", "HEAD")
    assert git(repo, "status", "--porcelain") == ""


def test_hooks_run_outside_of_a_commit_make_no_commit(repo: Path) -> None:
    before = commits(repo)
    done = framework(repo, "run", "--all-files")
    assert (done.returncode, commits(repo)) == (0, before), done.stdout
    assert git(repo, "status", "--porcelain") == ""
    (repo / PAGE).write_text(FILES[PAGE].replace("Cards", "Cards and coins"))
    git(repo, "commit", "-nqam", "stale documents")
    done = framework(repo, "run", "--all-files", "memctl-render")
    assert (done.returncode, commits(repo)) == (1, before + 1)
    assert "Cards and coins" in (repo / DOCUMENT).read_text()
    assert f" M {DOCUMENT}\n" in git(repo, "status", "--porcelain")


def test_rendering_by_hand_leaves_documents_that_can_be_staged(repo: Path, memctl: Memctl) -> None:
    (repo / PAGE).write_text(FILES[PAGE].replace("Cards", "Cards and coins"))
    memctl("render")
    assert "Cards and coins" in (repo / DOCUMENT).read_text()
    memctl("check", "--at", "HEAD")
    git(repo, "add", "-A")
    done = commit(repo)
    assert done.returncode == 0, done.stdout


def test_a_pending_record_does_not_stop_a_commit(repo: Path, memctl: Memctl) -> None:
    (repo / PAGE).write_text(FILES[PAGE].replace("Cards", "Cards and coins"))
    git(repo, "add", "-A")
    memctl("render", "--staged")
    memctl("decide", "Not yet", "--section", "2.1", "--no-commit")
    done = commit(repo)
    assert done.returncode == 0, done.stdout
    memctl("check", "--at", "HEAD")


def test_memctl_commits_pass_the_pre_commit_hooks(repo: Path, memctl: Memctl) -> None:
    before = commits(repo)
    memctl("decide", "Ship at night", "--section", "2.1")
    assert commits(repo) == before + 1
    memctl("check", "--at", "HEAD")
    assert git(repo, "status", "--porcelain") == ""


def test_merge_that_breaks_a_reference_is_stopped(repo: Path, memctl: Memctl) -> None:
    git(repo, "switch", "-q", "-c", "tidy")
    git(repo, "rm", "-q", "src/old.py")
    assert commit(repo).returncode == 0
    git(repo, "switch", "-q", "main")
    line = append(repo, PAGE, "Once there was §4.src/old.py.")
    memctl("commit")
    command = ["git", "merge", "--no-edit", "tidy"]
    done = subprocess.run(command, cwd=repo, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 1
    assert f"{PAGE}:{line}: error MEM201 §4.src/old.py matches no file" in done.stdout
    git(repo, "merge", "--abort")
    assert git(repo, "status", "--porcelain") == ""


def test_installation_beside_the_framework_runs_both_and_uninstalls(repo: Path, memctl: Memctl) -> None:
    before = {file: file.read_bytes() for file in (repo / ".git" / "hooks").iterdir()}
    memctl("install", "git")
    finding = refer(repo)
    git(repo, "add", "-A")
    assert finding in commit(repo).stdout.partition("memctl check.")[0]
    git(repo, "reset", "-q", "--hard")
    append(repo, "app.py", "# more")
    done = commit(repo, "-a")
    assert done.returncode == 0
    assert "memctl check......" in done.stdout
    memctl("install", "git", "--uninstall")
    assert {file: file.read_bytes() for file in (repo / ".git" / "hooks").iterdir()} == before
