"""`install git` under real merges: what two branches say comes together, and the documents are part of the commit."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from memctl.cli.main import main
from tests.conftest import Memctl, copied, git, set_tag, share_templates, slow
from tests.world import WORLD

MORNING, NOON = "2025-11-04T09:00:00Z", "2025-11-04T12:00:00Z"
API = '"""Takes cards."""\n\nTRIES = 3\n'
FILES = {
    "src/pay/api.py": API,
    "src/bank/files.py": '"""Reads what the bank sends."""\n',
    "src/order/cart.py": '"""Keeps carts."""\n',
    ".memory/project.md": "---\ntitle: shop\ncompletion_percentage: 30\n---\n\n## Goal\n\nSell books.\n\n"
    "## Status\n\nCarts work.\n\n## Priorities\n\n- Payment\n",
    ".memory/sections/2.1-payment.md": "---\nid: §2.1\ntitle: Payment\ncompletion_percentage: 20\npaths:\n"
    "  - src/pay/**\n---\n\n## Overview\n\nTakes money.\n\n## Status\n\nCards work.\n\n"
    "## Next actions\n\n- Take cards\n- Ask the bank\n",
    ".memory/sections/2.2-orders.md": "---\nid: §2.2\ntitle: Orders\ncompletion_percentage: 40\npaths:\n"
    "  - src/order/**\n---\n\n## Overview\n\nKeeps carts.\n",
    ".memory/details/3.1-cards.md": "---\nid: §3.1\ntitle: Cards\nsection: §2.1\n---\n\n"
    "## Flow\n\nSee §4.src/pay/api.py.\n",
    ".memory/details/3.2-carts.md": "---\nid: §3.2\ntitle: Carts\nsection: §2.2\n---\n\n"
    "## Shape\n\nSee §4.src/order/cart.py.\n",
}
# What two people say, each on a branch: three decisions, and an edit of the same section.
PAY = (
    ("decide", "Count in cents", "--rationale", "Floats err.", "--section", "2.1"),
    ("decide", "Try three times", "--rationale", "Networks fail.", "--section", "3.1"),
    ("decide", "Ship at night", "--rationale", "Roads are free.", "--section", "2.2"),
    ("section", "edit", "2.1", "--completion", "30", "--next", "Refunds", "--next", "Ask the bank"),
)
SIDE = (
    ("decide", "Read files of the bank", "--rationale", "It has no API.", "--section", "2.1"),
    ("decide", "Keep carts a week", "--rationale", "People return.", "--section", "2.2"),
    ("decide", "One repository", "--rationale", "We are few."),
    (
        "section",
        "edit",
        "2.1",
        "--overview",
        "Takes money and books it.",
        "--path",
        "src/pay/**",
        "--path",
        "src/bank/**",
    ),
)


@pytest.fixture(scope="session", params=["each", *slow("later")])
def described(built: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """A shop with code, sections and details on `main`, and two branches, `pay` and `side`; tests get copies.

    What the branches recorded was committed in one of the two ways of `commits`.
    """
    repo = tmp_path_factory.mktemp("described") / "shop"
    shutil.copytree(built, repo, symlinks=True)
    git(repo, "config", "memctl.commits", request.param)
    for name, text in FILES.items():
        (repo / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / name).write_text(text)
    with pytest.MonkeyPatch.context() as patch:  # fixtures of a session are made before those of a test
        for name, value in {**WORLD, "MEMCTL_AGENT": "claude"}.items():
            patch.setenv(name, value)

        def begin(now: str) -> None:
            for name in ("MEMCTL_NOW", "GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
                patch.setenv(name, now)

        begin(MORNING)
        git(repo, "add", "src")
        git(repo, "commit", "-qm", "code")
        assert main(["-C", str(repo), "commit"]) == 0
        for branch, sayings, now in (("side", SIDE, NOON), ("pay", PAY, MORNING)):
            begin(now)
            git(repo, "switch", "-q", "-c", branch, "main")
            for saying in sayings:
                assert main(["-C", str(repo), *saying]) == 0, saying
            assert main(["-C", str(repo), "commit"]) == 0
        git(repo, "config", "memctl.commits", "each")  # what a test records is a commit at once
        git(repo, "switch", "-q", "main")
    return repo


@pytest.fixture
def repo(described: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the shop; the memctl of this Python is first on the PATH."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return copied(described, tmp_path / "shop")


@pytest.fixture
def installed(repo: Path, memctl: Memctl) -> Path:
    """The shop with hooks and merge drivers."""
    memctl("install", "git")
    return repo


def found(memctl: Memctl, repo: Path, *options: str) -> set[str]:
    """The codes of the errors and warnings in a memory."""
    findings = memctl("check", "--json", *options, where=repo, code=None).data["findings"]
    return {finding["code"] for finding in findings if finding["severity"] != "info"}


def in_order(memctl: Memctl, repo: Path) -> None:
    """The memory is consistent, with its documents, on the disk and in HEAD, and nothing waits."""
    assert (found(memctl, repo), found(memctl, repo, "--at", "HEAD")) == (set(), set())
    memctl("render", "--check", where=repo)
    assert git(repo, "status", "--porcelain") == ""


def has_both(repo: Path) -> None:
    """The documents of HEAD show what both branches say."""
    names = git(repo, "ls-tree", "--name-only", "HEAD:.memory/docs").split()
    texts = {name: git(repo, "show", f"HEAD:.memory/docs/{name}") for name in names}
    for saying in (*PAY[:3], *SIDE[:3]):
        assert saying[1] in texts["INDEX.md"]
    section = texts["2.1-payment.md"]
    for text in ("Takes money and books it.", "30 % complete", "- Refunds\n- Ask the bank\n"):
        assert text in section
    assert "Take cards" not in section
    assert "src/bank/files.py" in texts["4-sources.md"]


def on(repo: Path, branch: str, start: str = "") -> None:
    """Go to a branch, made if it has a start."""
    git(repo, "switch", "-q", *(("-c", branch, start) if start else (branch,)))


def save(repo: Path, path: str, text: str) -> None:
    """Commit one file."""
    (repo / path).write_text(text)
    git(repo, "add", path)
    git(repo, "commit", "-qm", path)


def refused(repo: Path, *command: str) -> bool:
    """Whether Git makes no commit when it is told to."""
    before = git(repo, "rev-parse", "HEAD")
    git(repo, *command, check=False)
    return git(repo, "rev-parse", "HEAD") == before


def parents(repo: Path) -> int:
    """How many parents HEAD has."""
    return len(git(repo, "rev-parse", "HEAD^@").split())


def both_ways(repo: Path) -> tuple[str, str]:
    """Two branches: `side` merged into `pay`, and `pay` merged into `side`."""
    for branch, start, other in (("one", "pay", "side"), ("two", "side", "pay")):
        on(repo, branch, start)
        git(repo, "merge", "-q", "--no-edit", other)
    return "one", "two"


def test_branches_of_one_clone_assign_different_ids(repo: Path) -> None:
    for branch, numbers in (("side", (1, 2, 3)), ("pay", (4, 5, 6))):
        paths = git(repo, "ls-tree", "-r", "--name-only", branch, "--", ".memory/decisions").splitlines()
        made = [path.rpartition("/")[2][:18] for path in paths]
        assert made == [f"DEC-2025-11-04-{number:03}" for number in numbers]


def test_two_branches_merge_and_the_documents_are_in_the_commit(installed: Path, memctl: Memctl) -> None:
    on(installed, "pay")
    git(installed, "merge", "-q", "--no-edit", "side")
    assert parents(installed) == 2
    for parent in ("HEAD^1", "HEAD^2"):
        assert ".memory/docs/2.1-payment.md" in git(installed, "diff", "--name-only", parent, "HEAD")
    in_order(memctl, installed)
    has_both(installed)


def test_merge_result_is_independent_of_direction_and_code(repo: Path, memctl: Memctl) -> None:
    on(repo, "side")
    save(repo, "src/bank/more.py", '"""Reads more."""\n')
    memctl("render")
    memctl("install", "git")
    assert git(repo, "diff", *both_ways(repo)) == ""
    in_order(memctl, repo)


@pytest.mark.parametrize("option", ["--no-ff", *slow("--ff-only")])
def test_branch_ahead_of_main_is_merged_with_its_documents(installed: Path, memctl: Memctl, option: str) -> None:
    git(installed, "merge", "-q", "--no-edit", option, "side")
    assert parents(installed) == (2 if option == "--no-ff" else 1)
    in_order(memctl, installed)
    assert git(installed, "diff", "side", "main") == ""


@pytest.mark.parametrize("options", [("-a",), ()])
def test_a_merge_that_stops_at_code_is_concluded_with_the_documents(
    repo: Path, memctl: Memctl, options: tuple[str, ...]
) -> None:
    for branch in ("side", "pay"):
        on(repo, branch)
        save(repo, "src/pay/api.py", API.replace("3", f"'{branch}'"))
    memctl("install", "git")
    assert git(repo, "merge", "side", check=False).count("CONFLICT") == 1
    (repo / "src/pay/api.py").write_text(API)
    if not options:
        git(repo, "add", "src/pay/api.py")
    git(repo, "commit", "-q", "--no-edit", *options)
    assert parents(repo) == 2
    in_order(memctl, repo)
    has_both(repo)


def test_true_conflict_stops_the_merge_and_is_named_with_its_line(repo: Path, memctl: Memctl) -> None:
    made, path = memctl("state", "Cards", "--next", "look", "--section", "2.1").out.split()[:2]
    on(repo, "left", "main")
    memctl("edit", made, "--set", "title=Left", "--add", "next=left")
    on(repo, "main")
    memctl("edit", made, "--set", "title=Right", "--add", "next=right")
    memctl("install", "git")
    assert git(repo, "merge", "left", check=False).count("CONFLICT") == 1
    lines = (repo / path).read_text().split("\n")
    finding = f"{path}:{lines.index('<<<<<<< ours') + 1}: error MEM103 "
    assert finding in memctl("check", code=1).out
    git(repo, "add", "-A")
    assert refused(repo, "commit", "-q", "--no-edit")
    assert finding in memctl("check", "--staged", code=1).out
    out = ("<<<<<<<", "=======", ">>>>>>>", "title: Left")
    (repo / path).write_text("\n".join(line for line in lines if not line.startswith(out)))
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "--no-edit")
    assert parents(repo) == 2
    in_order(memctl, repo)
    record = memctl("show", made, "--json").data["records"][0]
    assert (record["title"], record["content"]) == ("Right", {"next_actions": ["look", "right", "left"]})
    assert "Right" in git(repo, "show", "HEAD:.memory/docs/2.1-payment.md")


def test_an_accepted_decision_that_was_changed_on_purpose_can_be_merged(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Count in sents", "--section", "2.1").id
    on(repo, "mended", "main")
    memctl("edit", made, "--set", "title=Count in cents", "--allow-accepted")
    on(repo, "main")
    memctl("decide", "Something else")
    memctl("install", "git")
    git(repo, "merge", "-q", "--no-edit", "mended")
    in_order(memctl, repo)


def test_documents_after_a_rebase_are_repaired_by_one_render(installed: Path, memctl: Memctl) -> None:
    on(installed, "side")
    made = int(git(installed, "rev-list", "--count", "main..side"))
    git(installed, "rebase", "-q", "pay")
    assert int(git(installed, "rev-list", "--count", "pay..side")) == made
    assert git(installed, "status", "--porcelain") == ""
    assert found(memctl, installed) == {"MEM308"}
    memctl("render")
    assert int(git(installed, "rev-list", "--count", "pay..side")) == made + 1
    in_order(memctl, installed)
    has_both(installed)


@pytest.mark.slow  # as a rebase, which is many of them
def test_documents_after_a_cherry_pick_are_repaired_by_one_render(installed: Path, memctl: Memctl) -> None:
    on(installed, "pay")
    git(installed, "cherry-pick", "main..side")
    assert git(installed, "status", "--porcelain") == ""
    assert found(memctl, installed) == {"MEM308"}
    memctl("render")
    in_order(memctl, installed)
    has_both(installed)


def test_documents_after_a_revert_are_repaired_by_one_render(installed: Path, memctl: Memctl) -> None:
    on(installed, "pay")
    if git(installed, "rev-list", "--count", "main..pay").strip() == "1":
        memctl("undo", git(installed, "log", "--all", "--format=%h", "--grep", PAY[0][1], "--no-merges").split()[-1])
        memctl("commit")
    else:
        git(installed, "revert", "--no-edit", "HEAD~3")
        assert found(memctl, installed) == {"MEM308"}
    memctl("render")
    in_order(memctl, installed)
    index = git(installed, "show", "HEAD:.memory/docs/INDEX.md")
    assert (PAY[0][1] in index, PAY[1][1] in index) == (False, True)


def test_documents_after_a_squash_merge_are_repaired_by_one_render(installed: Path, memctl: Memctl) -> None:
    on(installed, "pay")
    git(installed, "merge", "-q", "--squash", "side")
    git(installed, "commit", "-qm", "squashed")
    assert found(memctl, installed) == {"MEM308"}
    memctl("render")
    in_order(memctl, installed)
    has_both(installed)


def test_merge_in_another_worktree_has_both_sides_in_order(installed: Path, memctl: Memctl, tmp_path: Path) -> None:
    other = tmp_path / "other"
    git(installed, "worktree", "add", "-q", str(other), "pay")
    git(other, "merge", "-q", "--no-edit", "side")
    in_order(memctl, other)
    has_both(other)
    in_order(memctl, installed)


def test_memory_in_a_subfolder_is_merged(repo: Path, memctl: Memctl) -> None:
    inner = repo / "tools"
    inner.mkdir()
    memctl("init", "--here", where=inner)
    for branch in ("left", "right"):
        on(repo, branch, "main")
        memctl("decide", f"Go {branch}", where=inner)
        memctl("decide", f"Think {branch}")
    for folder in (repo, inner):
        memctl("install", "git", where=folder)
    git(repo, "merge", "-q", "--no-edit", "left")
    for folder in (repo, inner):
        in_order(memctl, folder)
        index = (folder / ".memory" / "docs" / "INDEX.md").read_text()
        assert "left" in index
        assert "right" in index


@pytest.fixture
def clones(repo: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Two clones of one bare repository, without the installation."""
    git(repo, "clone", "-q", "--bare", ".", str(tmp_path / "hub"))
    for name in ("one", "two"):
        git(tmp_path, "clone", "-q", "-b", "main", "hub", name)
        git(tmp_path / name, "config", "memctl.trusted", "true")
    share_templates(repo, tmp_path / "one", tmp_path / "two")
    return tmp_path / "one", tmp_path / "two"


def test_two_clones_with_hooks_pull_from_each_other(
    clones: tuple[Path, Path], memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = clones
    for folder, sayings, now in ((one, PAY, "2025-11-03T09:00:00Z"), (two, SIDE, NOON)):
        monkeypatch.setenv("MEMCTL_NOW", now)
        for saying in sayings:
            memctl(*saying, where=folder)
        memctl("install", "git", where=folder)
    git(one, "push", "-q")
    git(two, "pull", "-q", "--no-rebase", "--no-edit")
    git(two, "push", "-q")
    git(one, "pull", "-q", "--ff-only")
    for folder in clones:
        in_order(memctl, folder)
        has_both(folder)
    assert git(one, "rev-parse", "HEAD") == git(two, "rev-parse", "HEAD")


def test_without_installation_git_merges_lines_and_render_repairs_documents(
    clones: tuple[Path, Path], memctl: Memctl
) -> None:
    plain, page = clones[0], ".memory/sections/2.1-payment.md"
    on(plain, "pay")
    assert "CONFLICT" in git(plain, "merge", "origin/side", check=False)
    conflicting = git(plain, "diff", "--name-only", "--diff-filter=U").split()
    assert [path for path in conflicting if "/docs/" not in path] == [page]
    assert f"{page}:6: error MEM103 " in memctl("check", where=plain, code=1).out
    git(plain, "checkout", "-q", "--theirs", page)
    text = (plain / page).read_text().replace(": 20\n", ": 30\n").replace("Take cards\n- Ask", "Refunds\n- Ask")
    (plain / page).write_text(text)
    memctl("render", where=plain)
    git(plain, "add", ".memory")
    git(plain, "commit", "-q", "--no-edit")
    in_order(memctl, plain)
    has_both(plain)


@pytest.fixture
def clashing(clones: tuple[Path, Path], memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """A clone and the path of its newest decision, whose id a decision that can be pulled has too."""
    one, two = clones
    set_tag(one)
    set_tag(two)
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-03T09:00:00Z")
    memctl("decide", "Sell books", where=one)
    git(one, "push", "-q")
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-03T12:00:00Z")
    return two, memctl("decide", "Sell maps", where=two).out.split()[1]


def test_id_of_two_clones_stops_the_merge_until_renumbered_or_aborted(
    clashing: tuple[Path, str], memctl: Memctl
) -> None:
    clone, path = clashing
    memctl("install", "git", where=clone)
    assert refused(clone, "pull", "-q", "--no-rebase", "--no-edit")
    git(clone, "merge", "--abort")
    in_order(memctl, clone)
    assert refused(clone, "pull", "-q", "--no-rebase", "--no-edit")
    assert f"{path}:3: error MEM104 " in memctl("check", where=clone, code=1).out
    new = path.replace("-k7fq-1-", "-k7fq-2-")
    git(clone, "mv", path, new)
    (clone / new).write_text((clone / new).read_text().replace("-k7fq-1", "-k7fq-2"))
    git(clone, "add", new)
    git(clone, "commit", "-q", "--no-edit")
    assert parents(clone) == 2
    in_order(memctl, clone)


def test_an_id_that_two_clones_gave_out_is_found_without_the_installation(
    clashing: tuple[Path, str], memctl: Memctl
) -> None:
    clone, path = clashing
    git(clone, "pull", "-q", "--no-rebase", "--no-edit", check=False)
    assert f"{path}:3: error MEM104 " in memctl("check", where=clone, code=1).out


def test_two_records_of_one_id_and_title_are_a_conflict_with_its_line(
    clones: tuple[Path, Path], memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    for clone, now in zip(clones, ("2025-11-03T09:00:00Z", "2025-11-03T12:00:00Z"), strict=True):
        monkeypatch.setenv("MEMCTL_NOW", now)
        set_tag(clone)
        path = memctl("decide", "Sell books", where=clone).out.split()[1]
        memctl("install", "git", where=clone)
    git(clones[0], "push", "-q")
    assert "CONFLICT" in git(clones[1], "pull", "--no-rebase", "--no-edit", check=False)
    line = (clones[1] / path).read_text().split("\n").index("<<<<<<< ours") + 1
    assert f"{path}:{line}: error MEM103 " in memctl("check", where=clones[1], code=1).out


def files(folder: Path) -> dict[str, bytes]:
    """The settings and hooks of a clone."""
    places = [folder / ".git" / "config", *(folder / ".git" / "hooks").rglob("*")]
    return {str(place): place.read_bytes() for place in places}


def test_uninstall_restores_settings_and_hooks(repo: Path, memctl: Memctl) -> None:
    before = files(repo)
    memctl("install", "git")
    on(repo, "pay")
    git(repo, "merge", "-q", "--no-edit", "side")
    memctl("install", "git", "--uninstall")
    assert files(repo) == before
    assert not (repo / ".git" / "hooks").exists()
    assert git(repo, "status", "--porcelain") == ""
    git(repo, "reset", "-q", "--hard", "HEAD^1")
    assert "CONFLICT" in git(repo, "merge", "--no-edit", "side", check=False)
