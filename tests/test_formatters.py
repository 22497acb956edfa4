"""Formatters that run on save or as a Git hook leave what memctl writes as it is: after three writes the tree is clean.

.ci/run installs prettier; mdformat is one of the packages for development.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.program import found
from tests.conftest import Memctl, git

PRETTIER = found("PRETTIER", "prettier", "prettier/node_modules/.bin/prettier")
MDFORMAT = shutil.which("mdformat", path=str(Path(sys.executable).parent)) or ""
FORMATTERS = [
    pytest.param([PRETTIER, "--write"], marks=pytest.mark.skipif(not PRETTIER, reason="prettier can't be had here")),
    pytest.param([MDFORMAT], marks=pytest.mark.skipif(not MDFORMAT, reason="mdformat is not installed")),
]
# As a formatter in a hook does: it rewrites what is staged, and fails if it changed something.
HOOK = """\
#!/bin/sh
git diff --cached --name-only --diff-filter=ACM -z -- '*.md' | xargs -0r {formatter} >/dev/null || exit 1
git diff --exit-code --stat
"""
WRITES = (
    ("decide", "Use PostgreSQL for [orders] #3", "--rationale", "It has joins", "--alternative", "MongoDB: no joins"),
    ("issue", "Card is refused *twice*", "--severity", "critical", "--reproduction", "Pay twice", "--section", "2.1"),
    (
        "learn",
        'Retry retry_once (2 < 3), then "stop" at 5 %',
        "--lesson",
        "The second try succeeds",
        "--section",
        "3.1",
    ),
)


@pytest.fixture(params=["docs: true", "docs: default-branch"])
def shop(repo: Path, memctl: Memctl, request: pytest.FixtureRequest) -> Path:
    """A repository with a memory that has pages and documents."""
    (repo / "src").mkdir()
    (repo / "src" / "pay.py").write_text('"""Takes money from a card."""\n')
    git(repo, "add", "src")
    git(repo, "commit", "-qm", "code")
    memctl("init", "--docs", request.param.partition(": ")[2])
    memctl("project", "set", "--goal", "Sell books", "--priority", "Payment", "--priority", "Search")
    memctl("section", "add", "Payment", "--path", "src/**", "--overview", "Takes money.")
    memctl("detail", "add", "Cards", "--section", "2.1", "--code", "src/pay.py")
    memctl("render")
    return repo


def on_main(memctl: Memctl, repo: Path) -> None:
    """Render, as whoever writes the documents does where no write of a record does."""
    if "docs: default-branch" in (repo / ".memory" / "config.yaml").read_text():
        memctl("render")


@pytest.mark.slow
@pytest.mark.parametrize("formatter", FORMATTERS)
def test_formatter_on_save_leaves_the_tree_clean(shop: Path, memctl: Memctl, formatter: list[str]) -> None:
    for write in WRITES:
        memctl(*write)
        on_main(memctl, shop)
        assert (shop / ".memory" / "docs" / "INDEX.md").exists()
        subprocess.run([*formatter, ".memory"], cwd=shop, check=True, capture_output=True)
        assert git(shop, "status", "--porcelain") == ""
    memctl("check", "--strict")


@pytest.mark.slow
@pytest.mark.parametrize("formatter", FORMATTERS)
def test_formatter_in_a_hook_refuses_no_commit(shop: Path, memctl: Memctl, formatter: list[str]) -> None:
    hook = shop / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK.format(formatter=" ".join(formatter)))
    hook.chmod(0o755)
    for write in WRITES:
        memctl(*write)
        on_main(memctl, shop)
        assert git(shop, "status", "--porcelain") == ""
    memctl("install", "git")
    (shop / "src" / "pay.py").write_text("...\n")
    git(shop, "commit", "-qam", "mine")
    assert git(shop, "status", "--porcelain") == ""


@pytest.mark.slow
@pytest.mark.parametrize("formatter", FORMATTERS)
def test_what_formatters_change_is_no_edit_by_hand(shop: Path, memctl: Memctl, formatter: list[str]) -> None:
    """The user's own text is not in the form of any formatter."""
    overview = "Takes *money* and\n\n\n* cards\n* cash\n\n| a | b |\n|--|--|\n| long text | c |\n\n1. one\n2. two"
    memctl("section", "edit", "2.1", "--overview", overview)
    on_main(memctl, shop)
    memctl("install", "git")
    subprocess.run([*formatter, ".memory"], cwd=shop, check=True, capture_output=True)
    assert git(shop, "status", "--porcelain") != ""
    memctl("check")
    memctl("commit")
    (shop / "src" / "pay.py").write_text("...\n")
    git(shop, "commit", "-qam", "mine")
    memctl("learn", "Goes on", "--section", "2.1")
    memctl("render")
    assert git(shop, "status", "--porcelain") == ""
    memctl("check")
