"""What `init` names and does next, by what lies in the repository."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.conftest import Memctl, git

ADR = "# 1. Use PostgreSQL\n\n## Status\n\nAccepted\n\n## Context\n\nOne system.\n\n## Decision\n\nPostgreSQL.\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    top = tmp_path / "project"
    for path, text in {
        "docs/adr/0001-use-postgresql.md": ADR,
        "docs/guide.md": "# Guide\n",
        "CLAUDE.md": "# Rules\n",
        "src/pay/a.py": "x = 1\n",
        "src/pay/b.py": "x = 1\n",
        "src/order-mail/m.py": "x = 1\n",
        "tests/test_a.py": "x = 1\n",
    }.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    git(top.parent, "init", "-q", "-b", "main", "project")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "start")
    return top


def test_init_names_the_next_commands_for_the_repository(project: Path, memctl: Memctl) -> None:
    named = memctl("init", where=project).err
    expected = ("memctl import adr docs/adr ", "memctl install claude-code ", "memctl install git ")
    assert [named.index(line) for line in expected] == sorted(named.index(line) for line in expected)
    assert not (project / ".claude").exists()


def test_decisions_whose_folder_is_deleted_are_not_proposed(project: Path, memctl: Memctl) -> None:
    shutil.rmtree(project / "docs")
    named = memctl("init", where=project).err
    assert "import adr" not in named
    assert "memctl install git " in named


def test_init_yes_imports_and_installs(project: Path, memctl: Memctl) -> None:
    done = memctl("init", "--yes", where=project)
    assert "Use PostgreSQL" in memctl("list", where=project).out, done
    assert "memctl hook claude-code" in (project / ".claude" / "settings.json").read_text()
    assert (project / ".git" / "hooks" / "pre-commit").exists()


def test_init_yes_in_an_existing_memory_imports_once(project: Path, memctl: Memctl) -> None:
    memctl("init", where=project)
    for _ in range(2):
        memctl("init", "--yes", where=project)
        assert memctl("list", "--json", where=project).data["total"] == 1
        assert (project / ".claude" / "settings.json").exists()
    assert "already has a memory" in memctl("init", "--yes", "--project", "other", where=project, code=1).err


def test_sections_are_proposed_from_the_tree_and_added_once(project: Path, memctl: Memctl) -> None:
    memctl("init", where=project)
    proposed = memctl("init", "--sections", where=project).out.splitlines()
    assert proposed == [
        "memctl page section add Pay --path 'src/pay/**'",
        "memctl page section add 'Order mail' --path 'src/order-mail/**'",
    ]
    assert memctl("section", "list", where=project).out == ""
    memctl("init", "--sections", "--yes", where=project)
    assert "Order mail" in memctl("section", "list", where=project).out
    assert "no section to propose" in memctl("init", "--sections", where=project).err


def _sections_proposed(memctl: Memctl, top: Path, **folders: int) -> str:
    """Return the lines that `init --sections` prints in a repository with so many files per folder; `__` means /."""
    for folder, number in folders.items():
        (top / folder.replace("__", "/")).mkdir(parents=True, exist_ok=True)
        for name in range(number):
            (top / folder.replace("__", "/") / f"{name}.c").write_text("int x;\n")
    git(top.parent, "init", "-q", "-b", "main", top.name)
    memctl("init", where=top)
    return memctl("init", "--sections", where=top).out


def test_large_top_folders_are_proposed_before_large_folders_in_them(tmp_path: Path, memctl: Memctl) -> None:
    out = _sections_proposed(
        memctl, tmp_path / "curl", lib=40, lib__vtls=20, lib__vssh=3, src=15, tests=5, tests__data=90, docs=12, plan9=2
    )
    assert [line.split("'")[-2] for line in out.splitlines()] == [
        "lib/**",
        "src/**",
        "docs/**",
        "plan9/**",
        "lib/vtls/**",
    ]


def test_a_folder_that_only_holds_others_is_not_proposed_beside_them(tmp_path: Path, memctl: Memctl) -> None:
    out = _sections_proposed(memctl, tmp_path / "app", src__app=1, src__app__core=30, src__app__tests=12, win__port=12)
    assert out.splitlines() == [
        "memctl page section add Core --path 'src/app/core/**'",
        "memctl page section add Win --path 'win/**'",
    ]


def test_folders_of_tests_examples_and_others_code_are_left_alone_and_named(tmp_path: Path, memctl: Memctl) -> None:
    top = tmp_path / "store"
    (top / "api").mkdir(parents=True)
    (top / ".gitattributes").write_text("api/** linguist-generated\n")
    own = {"src__web": 20, "src__mail": 12, "api": 30}
    others = (
        "tests",
        "src__web__test-data",
        "Web.Tests",
        "examples",
        "pkg__vendor",
        "src__testdata",
        "gen",
        "fixtures",
        "src__jvmTest",
        "watchOS Example",
        "sig__v1.7rc1",
        "LICENSES",
    )
    out = _sections_proposed(memctl, top, **own, **dict.fromkeys(others, 40))
    assert [line.split("'")[-2] for line in out.splitlines()] == ["src/web/**", "src/mail/**"]
    said = memctl("init", "--sections", where=top).err.rpartition("left alone, as tests, examples, vendored")[2]
    assert "Web.Tests, examples, fixtures, gen, pkg/vendor, src/jvmTest and 4 more" in said


def test_folders_of_pictures_and_of_an_editors_settings_are_no_sections(tmp_path: Path, memctl: Memctl) -> None:
    top = tmp_path / "store"
    for path in ("media/faq/logo.png", "site/fonts/a.woff2", "Store.xcodeproj/project.pbxproj", "web/a.c", "web/b.png"):
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text("x\n")
    out = _sections_proposed(memctl, top, testing=20, testing__resources=12, pkg__testing=11, server=20, server__src=12)
    assert [line.partition(" add ")[2] for line in out.splitlines()] == [
        "Server --path 'server/**'",
        "Testing --path 'pkg/testing/**'",
        "Web --path 'web/**'",
    ]


def test_the_folder_of_all_sources_is_named_like_the_project(tmp_path: Path, memctl: Memctl) -> None:
    out = _sections_proposed(memctl, tmp_path / "rack-store", lib=12, rack__protection=11)
    assert [line.partition(" --path")[0] for line in out.splitlines()] == [
        "memctl page section add 'Rack store'",
        "memctl page section add Rack",
    ]


def test_sections_are_added_with_their_documents(project: Path, memctl: Memctl) -> None:
    memctl("init", "--yes", where=project)
    done = memctl("init", "--sections", "--yes", where=project)
    assert "left alone, as tests, examples, vendored or generated code: tests" in done.err
    assert "MEM314" not in memctl("check", where=project).out
    assert (project / ".memory/docs/2.1-pay.md").exists()


def test_decisions_of_test_projects_are_not_imported(project: Path, memctl: Memctl) -> None:
    for folder in ("packages/core/integration-tests/ro-project/docs/adr", "examples/adr", "fixtures/decisions"):
        (project / folder).mkdir(parents=True)
        (project / folder / "0001-a.md").write_text(ADR)
    git(project, "add", "-A")
    named = memctl("init", where=project).err
    assert [line.split()[3] for line in named.splitlines() if "import adr" in line] == ["docs/adr"]


@pytest.mark.parametrize("has_memory", [False, True], ids=["new", "existing memory"])
def test_a_dry_run_of_yes_names_the_steps_and_does_nothing(has_memory: bool, project: Path, memctl: Memctl) -> None:
    if has_memory:
        memctl("init", where=project)
    head, files = git(project, "rev-parse", "HEAD"), sorted(project.rglob("*"))
    out = memctl("init", "--yes", "--dry-run", where=project).out
    assert ("would init project" in out) is not has_memory
    assert "would run `memctl import adr docs/adr`: import 1 decision\n" in out
    assert "would run `memctl install claude-code`" in out
    assert (
        "memctl page section add Pay" in memctl("init", "--sections", "--yes", "-n", where=project).out
        if has_memory
        else True
    )
    assert (git(project, "rev-parse", "HEAD"), git(project, "status", "--short")) == (head, "")
    assert [path for path in sorted(project.rglob("*")) if "memctl" not in path.parts] == [
        path for path in files if "memctl" not in path.parts
    ]


def test_folders_of_one_name_are_proposed_with_different_titles(tmp_path: Path, memctl: Memctl) -> None:
    out = _sections_proposed(memctl, tmp_path / "store", apps__web=20, crates__web=15)
    assert [line.partition(" --path")[0] for line in out.splitlines()] == [
        "memctl page section add 'Apps web'",
        "memctl page section add 'Crates web'",
    ]


def test_a_folder_whose_files_are_mostly_covered_is_not_proposed(tmp_path: Path, memctl: Memctl) -> None:
    top = tmp_path / "store"
    assert "'lib/**'" in _sections_proposed(memctl, top, lib__a=15, lib__b=4, lib=9, web=12)
    memctl("section", "add", "Inner", "--path", "lib/a/**", where=top)
    assert [line.split("'")[-2] for line in memctl("init", "--sections", where=top).out.splitlines()] == ["web/**"]


def test_an_empty_repository_has_next_commands_too(tmp_path: Path, memctl: Memctl) -> None:
    (tmp_path / "new").mkdir()
    made = memctl("init", "--git", "--json", where=tmp_path / "new").data
    assert len(made["next"]) == 3
    assert "--yes" in memctl("init", "--yes", "--json", where=tmp_path / "new", code=2).err


@pytest.mark.parametrize(
    ("url", "step"),
    [
        ("https://github.com/ann/shop.git", "memctl install github "),
        ("git@gitlab.example.org:ann/github.git", "memctl install gitlab "),
        ("https://example.org/github/shop.git", "memctl page render "),
        ("/srv/github/shop.git", "memctl page render "),
    ],
)
def test_documents_have_one_writer_from_the_start_if_there_is_a_remote(
    project: Path, memctl: Memctl, url: str, step: str
) -> None:
    git(project, "remote", "add", "origin", url)
    branch = git(project, "branch", "--show-current").strip()
    assert f"\n  {step}" in memctl("init", where=project).err
    config = (project / ".memory" / "config.yaml").read_text()
    assert f"\ndocs: default-branch\ndefault_branch: {branch}\n" in config
    memctl("learn", "Nothing is rendered", where=project)
    assert not (project / ".memory" / "docs").exists()
    assert "the documents were never rendered: run `memctl page render`" in memctl("status", where=project).out
    assert "MEM314" in memctl("check", "--strict", where=project).out
    git(project, "switch", "-q", "-c", "topic")
    assert "the documents" not in memctl("status", where=project).out
    assert "MEM314" not in memctl("check", where=project).out


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/ann/shop.git", "shop"),
        ("git@gitlab.example.org:my.shop", "my.shop"),
        ("/srv/shop/.git/", "shop"),
        ("https://example.org/", "example.org"),
        ("/", "project"),
    ],
)
def test_project_has_the_name_of_the_repository_at_the_remote(
    project: Path, memctl: Memctl, url: str, name: str
) -> None:
    git(project, "remote", "add", "origin", url)
    said = memctl("init", where=project)
    assert said.out.startswith(f"memory of {name}: ")
    assert "\n  git push -u origin main" in said.err
    below = project / "src" / "pay"
    assert memctl("init", "--here", where=below).out.startswith("memory of pay: ")


def test_next_commands_push_to_the_upstream(project: Path, memctl: Memctl) -> None:
    git(project, "init", "-q", "--bare", str(project.parent / "shop.git"))
    git(project, "remote", "add", "fork", str(project.parent / "shop.git"))
    git(project, "push", "-q", "-u", "fork", "main")
    assert "\n  git push  " in memctl("init", where=project).err
    assert "$ git push" not in memctl("init", "--yes", where=project).out


def test_status_offers_the_change_when_a_remote_comes(project: Path, memctl: Memctl) -> None:
    memctl("init", where=project)
    memctl("learn", "Rendered", where=project)
    assert "--docs" not in memctl("status", where=project).out
    git(project, "remote", "add", "origin", "https://github.com/ann/shop.git")
    assert "`memctl init --docs default-branch`" in memctl("status", where=project).out
    memctl("init", "--docs", "true", where=project)
    assert "--docs" not in memctl("status", where=project).out
    memctl("init", "--docs", "default-branch", where=project)
    assert "docs: default-branch" in (project / ".memory" / "config.yaml").read_text()
    other = project.parent / "other"
    other.mkdir()
    memctl("init", "--git", "--docs", "false", where=other)
    assert "\ndocs: false\n" in (other / ".memory" / "config.yaml").read_text()


def test_next_commands_name_the_folder_of_the_memory(repo: Path, memctl: Memctl, tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    assert f"next steps in {tmp_path / 'new'} (" in memctl("init", "--git", where=tmp_path / "new").err
