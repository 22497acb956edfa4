"""`impact`: what a change of files reaches (rules.md#propagation), and which pages have grown stale."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from memctl.pages import impact
from memctl.pages.impact import MATRIX
from tests.conftest import Memctl, Once, commits, git
from tests.pages.test_provenance import make_commit, write

L4, L3, L2, L1 = (
    ".memory/docs/4-sources.md",
    ".memory/docs/3.1-payment-details.md",
    ".memory/docs/2.1-payment.md",
    ".memory/docs/1.0-executive-summary.md",
)
API = "".join(f"def pay_{n}():\n    return {n}\n\n\n" for n in range(10))


@pytest.fixture
def shop(repo: Path, memctl: Memctl, once: Once) -> Path:
    """A section for src/pay with a page of details about one of its files, and a file that nothing is about."""

    def make() -> None:
        write(repo, "src/pay/api.py", API)
        write(repo, "src/pay/rates.py", "RATE = 1\n")
        write(repo, "tools/run.sh", "echo\n")
        make_commit(repo, "chore: start")
        memctl("section", "add", "Payment", "--path", "src/pay/**")
        memctl("detail", "add", "Payment details", "--section", "§2.1", "--code", "src/pay/api.py")

    once(make)
    return repo


def rows(data: Any) -> dict[str, list[str]]:
    """The changed files by their rows."""
    found: dict[str, list[str]] = {}
    for file in data["files"]:
        found.setdefault(file["row"], []).append(file["path"])
    return found


def levels(data: Any, row: str) -> dict[int, tuple[str, list[str]]]:
    """What one row says of each level."""
    found = next(item for item in data["rows"] if item["row"] == row)
    return {level["level"]: (level["condition"], level["documents"]) for level in found["levels"]}


def stale(data: Any) -> dict[str, tuple[list[str], list[str]]]:
    """The stale pages: files that changed, references that are broken."""
    return {
        item["id"]: ([s["path"] for s in item["suspect"]], [b["reference"] for b in item["broken"]])
        for item in data["stale"]
    }


def broken(data: Any, reference: str) -> list[tuple[str, str]]:
    """The candidates for a broken reference."""
    found = [b for item in data["stale"] for b in item["broken"] if b["reference"] == reference]
    return [(candidate["path"], candidate["by"]) for candidate in found[0]["candidates"]]


def test_the_matrix_is_that_of_the_specification() -> None:
    assert [(row.title, *row.conditions.values()) for row in MATRIX.values()] == [
        ("Code change", "Always", "If significant", "If impacts status", "If changes status %"),
        ("Bug fix", "Always", "If notable", "If critical bug", "If was blocker"),
        ("Config change", "Always", "If architecture", "If impacts design", "Rarely"),
        ("New feature", "Always", "Always", "Always", "If major feature"),
        ("Progress update", "-", "Status only", "Status + %", "Status + %"),
        ("Decision made", "Reference", "Full details", "Summary", "Link only"),
    ]
    assert all(list(row.conditions) == [4, 3, 2, 1] for row in MATRIX.values())


def test_a_code_change_names_the_documents_of_every_level(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/pay/rates.py", "RATE = 2\n")
    data = memctl("impact", "--json").data
    assert rows(data) == {"code": ["src/pay/rates.py"]}
    assert data["files"][0]["pages"] == ["§2.1", "§3.1"]
    assert levels(data, "code") == {
        4: ("Always", [L4]),
        3: ("If significant", [L3]),
        2: ("If impacts status", [L2]),
        1: ("If changes status %", [L1]),
    }
    out = memctl("impact").out
    assert out.startswith("Code change\n  src/pay/rates.py  changed  §2.1, §3.1\n  docs/4-sources.md")
    assert "  docs/3.1-payment-details.md    update if the change is significant\n" in out


def test_a_page_that_refers_to_a_file_that_no_section_covers_is_reached(shop: Path, memctl: Memctl) -> None:
    memctl("detail", "add", "Tools", "--section", "§2.1", "--file", "-", stdin="See §4.tools.run.\n")
    write(shop, "tools/run.sh", "echo changed\n")
    found = levels(memctl("impact", "--json").data, "code")
    assert [documents for _, documents in found.values()] == [[L4], [".memory/docs/3.2-tools.md"], [], [L1]]


def test_file_without_a_page_affects_only_the_summary(shop: Path, memctl: Memctl) -> None:
    write(shop, "tools/run.sh", "echo changed\n")
    data = memctl("impact", "--json").data
    assert [documents for _, documents in levels(data, "code").values()] == [[], [], [], [L1]]
    assert data["stale"] == []
    assert "tools/run.sh  changed  no page" in memctl("impact").out


@pytest.mark.parametrize(
    ("path", "row"),
    [
        ("src/pay/new.py", "feature"),
        ("src/pay/new.yaml", "feature"),
        ("new.py", "code"),
        *((name, "config") for name in ("a.yml", "a.yaml", "a.toml", "a.json", "a.ini", "a.cfg", ".env", "x.env")),
        *(
            (name, "config")
            for name in ("Dockerfile", "deploy/Dockerfile.dev", ".github/workflows/test", "É d/a b.YML")
        ),
        ("json.py", "code"),
        ("Dockerfiles.md", "code"),
    ],
)
def test_kind_of_change_follows_from_the_file(shop: Path, memctl: Memctl, path: str, row: str) -> None:
    write(shop, path, "x\n")
    assert rows(memctl("impact", "--json").data) == {row: [path]}
    make_commit(shop, "wip: x")
    assert rows(memctl("impact", "HEAD~1..HEAD", "--json").data) == {row: [path]}


def test_a_changed_configuration_of_a_section_is_a_change_of_configuration(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/pay/rates.toml", "a = 1\n")
    make_commit(shop, "chore: rates")
    write(shop, "src/pay/rates.toml", "a = 2\n")
    data = memctl("impact", "--json").data
    assert levels(data, "config")[1] == ("Rarely", [L1])
    assert levels(data, "config")[3] == ("If architecture", [L3])


def test_commit_subjects_of_a_range_decide_the_rows(shop: Path, memctl: Memctl) -> None:
    start = git(shop, "rev-parse", "HEAD").strip()
    git(shop, "branch", "side")
    write(shop, "src/pay/rates.py", "RATE = 2\n")
    write(shop, "src/pay/api.py", API + "# fix\n")
    make_commit(shop, "Fix(pay)!: rates")
    write(shop, "src/pay/api.py", API + "# feature\n")
    make_commit(shop, "feat: more")
    write(shop, "src/pay/api.py", API + "# fix again\n")
    make_commit(shop, "fix: more")
    write(shop, "tools/run.sh", "echo fixed: no\n")
    make_commit(shop, "fixed: no type of this name")
    git(shop, "switch", "-q", "side")
    write(shop, "setup.cfg", "a\n")
    make_commit(shop, "fix: on the side")
    git(shop, "switch", "-q", "main")
    git(shop, "merge", "-q", "--no-edit", "side")
    data = memctl("impact", f"{start}..", "--json").data
    assert rows(data) == {
        "fix": ["setup.cfg", "src/pay/rates.py"],
        "feature": ["src/pay/api.py"],
        "code": ["tools/run.sh"],
    }
    assert levels(data, "fix")[1] == ("If was blocker", [L1])
    assert levels(data, "feature")[2] == ("Always", [L2])
    assert data["source"] == f"{start}.."


def test_three_dot_range_begins_at_the_merge_base(shop: Path, memctl: Memctl) -> None:
    git(shop, "switch", "-qc", "side")
    write(shop, "src/pay/rates.py", "RATE = 2\n")
    make_commit(shop, "fix: rates")
    git(shop, "switch", "-q", "main")
    write(shop, "tools/run.sh", "echo on\n")
    make_commit(shop, "chore: on main")
    assert rows(memctl("impact", "main...side", "--json").data) == {"fix": ["src/pay/rates.py"]}
    assert rows(memctl("impact", "main..side", "--json").data) == {
        "fix": ["src/pay/rates.py"],
        "code": ["tools/run.sh"],
    }


def test_a_state_and_the_project_page_are_progress(shop: Path, memctl: Memctl) -> None:
    memctl("state", "Queues", "--section", "2.1", "--no-commit")
    memctl("project", "set", "--completion", "40", "--no-commit")
    data = memctl("impact", "--json").data
    assert rows(data) == {
        "progress": [".memory/project.md", ".memory/states/2025-11/STA-2025-11-04-001-queues.md"],
    }
    assert levels(data, "progress") == {
        4: ("-", []),
        3: ("Status only", [L3]),
        2: ("Status + %", [L2]),
        1: ("Status + %", [L1]),
    }


def test_a_decision_made_reaches_its_section_and_the_code_it_is_about(shop: Path, memctl: Memctl) -> None:
    memctl("decide", "Loose", "--code", "tools/run.sh")
    assert [d for _, d in levels(memctl("impact", "HEAD~1..", "--json").data, "decision").values()] == [
        [],
        [],
        [],
        [L1],
    ]
    memctl("decide", "Placed", "--section", "3.1", "--code", "src/pay/api.py:3")
    data = memctl("impact", "HEAD~1..HEAD", "--json").data
    assert rows(data) == {"decision": [".memory/decisions/2025-11/DEC-2025-11-04-002-placed.md"]}
    assert levels(data, "decision") == {
        4: ("Reference", [L4]),
        3: ("Full details", [L3]),
        2: ("Summary", [L2]),
        1: ("Link only", [L1]),
    }


def test_other_files_of_the_memory_lead_to_their_documents(shop: Path, memctl: Memctl) -> None:
    memctl("section", "edit", "§2.1", "--next", "Refunds")
    data = memctl("impact", "HEAD~1..HEAD", "--json").data
    (file,) = data["files"]
    assert (file["path"], file["row"], data["rows"]) == (".memory/sections/2.1-payment.md", None, [])
    assert {L4, L3, L2, L1, ".memory/docs/INDEX.md"} == set(file["documents"])
    memctl("issue", "Broken", "--section", "2.1")
    data = memctl("impact", "HEAD~1..HEAD", "--json").data
    assert [f["row"] for f in data["files"]] == [None]
    assert L2 in data["files"][0]["documents"]
    out = memctl("impact", "HEAD~1..HEAD").out
    assert out.startswith("Other changed files of the memory\n")
    assert "docs/INDEX.md" in out


def test_given_kind_of_change_counts_for_all_files(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/pay/rates.py", "RATE = 2\n")
    for row in MATRIX:
        data = memctl("impact", "--as", row, "--json").data
        assert rows(data) == {row: ["src/pay/rates.py"]}
        assert levels(data, row)[3][1] == [L3]
    assert levels(memctl("impact", "--as", "progress", "--json").data, "progress")[4] == ("-", [])


def test_staged_and_unstaged_changes_are_distinguished(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/pay/api.py", API + "# staged\n")
    git(shop, "add", "src")
    write(shop, "src/pay/rates.py", "RATE = 2\n")
    write(shop, "untracked.py", "x\n")
    write(shop, ".gitignore", "*.log\n")
    write(shop, "ignored.log", "x\n")
    everything = [".gitignore", "src/pay/api.py", "src/pay/rates.py", "untracked.py"]
    assert sorted(rows(memctl("impact", "--json").data)["code"]) == everything
    staged = memctl("impact", "--staged", "--json").data
    assert (rows(staged), staged["source"]) == ({"code": ["src/pay/api.py"]}, "index")
    assert stale(staged) == {"§3.1": (["src/pay/api.py"], [])}
    write(shop, "src/pay/api.py", API)  # in the worktree it is what was reviewed
    assert stale(memctl("impact", "--all", "--json").data) == {}
    assert stale(memctl("impact", "--staged", "--json").data) == {"§3.1": (["src/pay/api.py"], [])}
    assert memctl("impact", "--staged", "src", code=2).err.startswith("error: --staged")


def test_in_a_hook_the_index_that_is_being_committed_counts(shop: Path, memctl: Memctl) -> None:
    hook = shop / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m memctl page impact --staged --strict >&2\n")
    hook.chmod(0o755)
    write(shop, "src/pay/api.py", API + "# more\n")
    write(shop, "tools/run.sh", "echo on\n")
    before = commits(shop)
    git(shop, "commit", "-qam", "both", check=False)
    assert commits(shop) == before
    git(shop, "commit", "-qm", "one of them", "tools/run.sh")
    assert commits(shop) == before + 1


def test_stale_pages_of_a_range_are_judged_at_its_end(shop: Path, memctl: Memctl) -> None:
    before = git(shop, "rev-parse", "HEAD").strip()
    write(shop, "src/pay/api.py", API + "# more\n")
    changed = make_commit(shop, "fix: more")
    memctl("review", "§3.1")
    assert stale(memctl("impact", f"{before}..{changed}", "--json").data) == {"§3.1": (["src/pay/api.py"], [])}
    assert stale(memctl("impact", f"{before}..HEAD", "--json").data) == {}


def test_a_page_is_suspect_after_an_edit_and_clean_after_a_review(shop: Path, memctl: Memctl) -> None:
    reviewed = git(shop, "hash-object", "src/pay/api.py")[:12]
    write(shop, "src/pay/api.py", API + "# more\n")
    now = git(shop, "hash-object", "src/pay/api.py")[:12]
    result = memctl("impact", "--strict", code=1)
    assert f"src/pay/api.py has changed since the review: from {reviewed} to {now}" in result.out
    assert "`memctl page review §3.1`" in result.out
    memctl("impact", code=0)
    memctl("review", "§3.1")
    assert "Stale pages" not in memctl("impact", "--strict").out


def test_only_affected_pages_are_listed_unless_all_are_asked_for(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/pay/api.py", API + "# more\n")
    make_commit(shop, "fix: more")
    result = memctl("impact", "--strict")
    assert (result.out, "--all" in result.err) == ("", True)
    write(shop, "tools/run.sh", "echo on\n")
    assert stale(memctl("impact", "--json").data) == {}
    assert stale(memctl("impact", "--all", "--strict", "--json", code=1).data) == {"§3.1": (["src/pay/api.py"], [])}


def test_a_renamed_file_is_suggested_for_a_broken_reference(shop: Path, memctl: Memctl) -> None:
    git(shop, "mv", "src/pay/api.py", "src/pay/größe & co.py")
    write(shop, "src/pay/größe & co.py", API + "# changed on the way\n")
    git(shop, "add", "src")
    for args in ((), ("--staged",)):
        data = memctl("impact", *args, "--json").data
        assert [(f["path"], f["status"], f["before"]) for f in data["files"]] == [
            ("src/pay/größe & co.py", "renamed", "src/pay/api.py")
        ]
        assert rows(data) == {"code": ["src/pay/größe & co.py"]}
        assert broken(data, "src/pay/api.py") == [("src/pay/größe & co.py", "renamed")]
    make_commit(shop, "refactor: name")
    git(shop, "mv", "src/pay/größe & co.py", "src/pay/b.py")
    make_commit(shop, "refactor: name again")
    assert broken(memctl("impact", "HEAD~2..", "--json").data, "src/pay/api.py") == [("src/pay/b.py", "renamed")]
    git(shop, "mv", "src/pay/b.py", "src/pay/c.py")
    data = memctl("impact", "--all", "--json").data
    assert broken(data, "src/pay/api.py") == [("src/pay/c.py", "renamed")]
    result = memctl("impact", "--all", "--strict", code=1)
    assert "src/pay/api.py is gone; perhaps it is now src/pay/c.py (renamed)" in result.out
    assert "correct the references in .memory/details/3.1-payment-details.md" in result.out


def test_a_file_moved_without_git_is_recognised_by_its_content(shop: Path, memctl: Memctl) -> None:
    (shop / "src/pay/api.py").rename(shop / "src/pay/a b.py")
    data = memctl("impact", "--json").data
    assert [(f["path"], f["status"], f["row"]) for f in data["files"]] == [("src/pay/a b.py", "renamed", "code")]
    assert broken(data, "src/pay/api.py") == [("src/pay/a b.py", "same content")]


def test_a_file_moved_with_git_and_then_without_is_renamed_once(shop: Path, memctl: Memctl) -> None:
    git(shop, "mv", "src/pay/api.py", "src/pay/b.py")
    (shop / "src/pay/b.py").rename(shop / "src/pay/c.py")
    data = memctl("impact", "--json").data
    assert [(f["path"], f["status"], f["before"]) for f in data["files"]] == [
        ("src/pay/c.py", "renamed", "src/pay/api.py")
    ]


def test_file_removed_from_the_index_but_on_disk_is_changed(shop: Path, memctl: Memctl) -> None:
    git(shop, "rm", "-q", "--cached", "src/pay/api.py")
    write(shop, "src/pay/api.py", API + "# more\n")
    data = memctl("impact", "--json").data
    assert [(f["path"], f["status"]) for f in data["files"]] == [("src/pay/api.py", "changed")]
    assert stale(data) == {"§3.1": (["src/pay/api.py"], [])}
    assert stale(memctl("impact", "--staged", "--json").data) == {"§3.1": ([], ["src/pay/api.py"])}


def test_a_page_that_cannot_be_read_fails_a_strict_run(shop: Path, memctl: Memctl) -> None:
    page = shop / ".memory/details/3.1-payment-details.md"
    page.write_text(page.read_text().replace("section: §2.1", "section: 7"))
    assert "warning: .memory/details/3.1-payment-details.md:" in memctl("impact").err
    memctl("impact", "--strict", code=1)
    assert memctl("impact", "--json").json["faults"][0]["field"] == "section"


def test_files_of_the_same_name_are_candidates_and_the_nearest_comes_first(shop: Path, memctl: Memctl) -> None:
    git(shop, "rm", "-q", "src/pay/api.py")
    for folder in ("away", "src/paying", "src/pay/v2"):
        write(shop, f"{folder}/api.py", f"# another: {folder}\n")
    make_commit(shop, "refactor!: over")
    assert broken(memctl("impact", "--all", "--json").data, "src/pay/api.py") == [
        ("src/pay/v2/api.py", "same name"),
        ("src/paying/api.py", "same name"),
        ("away/api.py", "same name"),
    ]


def test_missing_files_are_searched_for_up_to_a_limit(
    shop: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(shop, "mv", "src/pay/api.py", "src/pay/v2.py")
    page = shop / ".memory/details/3.1-payment-details.md"
    page.write_text(page.read_text() + "\n§4.src/gone.py\n")
    monkeypatch.setattr(impact, "MOST_SOUGHT", 1)
    found = memctl("impact", "--all", "--json").data["stale"][0]["broken"]
    assert [item["candidates"] for item in found] == [[{"path": "src/pay/v2.py", "by": "renamed"}], None]
    assert "not searched for a new path of 1 missing file" in memctl("impact", "--all").err


def test_file_deleted_twice_is_followed_once(shop: Path, memctl: Memctl) -> None:
    git(shop, "mv", "src/pay/api.py", "src/pay/first.py")
    make_commit(shop, "refactor: first")
    write(shop, "src/pay/api.py", "something else\n")
    make_commit(shop, "feat: again")
    (shop / "src/pay/api.py").unlink()
    assert broken(memctl("impact", "--json").data, "src/pay/api.py") == []


def test_empty_file_is_not_suggested_for_a_missing_empty_file(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/pay/empty.py", "")
    write(shop, "other.py", "")
    memctl("detail", "add", "Empty", "--section", "§2.1", "--code", "src/pay/empty.py")
    make_commit(shop, "chore: empty")
    (shop / "src/pay/empty.py").unlink()
    write(shop, "new.py", "")
    data = memctl("impact", "--json").data
    assert {f["path"]: f["status"] for f in data["files"]} == {"src/pay/empty.py": "deleted", "new.py": "added"}
    assert broken(data, "src/pay/empty.py") == []


def test_a_dotted_reference_without_a_file_is_broken_with_its_line(shop: Path, memctl: Memctl) -> None:
    text = "First.\n\nSee §4.pay.rates for it.\n"
    memctl("detail", "add", "Rates", "--section", "§2.1", "--file", "-", stdin=text)
    git(shop, "mv", "src/pay/rates.py", "src/prices.py")
    data = memctl("impact", "--json").data
    (item,) = [item for item in data["stale"] if item["id"] == "§3.2"]
    lines = (shop / item["path"]).read_text().split("\n")
    assert "§4.pay.rates" in lines[item["broken"][0]["line"] - 1]
    assert broken(data, "§4.pay.rates") == [("src/prices.py", "renamed")]


def test_a_deleted_file_reaches_the_section_that_covered_it(shop: Path, memctl: Memctl) -> None:
    git(shop, "rm", "-q", "src/pay/api.py")
    data = memctl("impact", "--staged", "--json").data
    assert data["files"][0]["status"] == "deleted"
    assert levels(data, "code")[2] == ("If impacts status", [L2])
    assert stale(data) == {"§3.1": ([], ["src/pay/api.py"])}
    make_commit(shop, "feat!: gone")
    assert rows(memctl("impact", "src/pay/api.py", "--json").data) == {"code": ["src/pay/api.py"]}


def test_given_paths_count_as_changed(shop: Path, memctl: Memctl) -> None:
    assert rows(memctl("impact", "src/pay/api.py", "--json").data) == {"code": ["src/pay/api.py"]}
    inner = shop / "src"
    for given in ("pay", "src/pay", "./pay/", "../src/pay"):
        data = memctl("impact", given, "--json", where=inner).data
        assert rows(data) == {"code": ["src/pay/api.py", "src/pay/rates.py"]}, given
    made = memctl("decide", "Named").out.split()[1]
    assert rows(memctl("impact", made, "tools", "--json").data) == {"code": ["tools/run.sh"], "decision": [made]}
    assert "did you mean src/pay/api.py" in memctl("impact", "src/pay/apy.py", code=2).err
    assert "no revision 'nowhere'" in memctl("impact", "nowhere..HEAD", code=1).err


def test_file_named_like_a_range_is_taken_for_a_file(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/v1..v2", "x\n")
    assert rows(memctl("impact", "src/v1..v2", "--json").data) == {"code": ["src/v1..v2"]}
    assert rows(memctl("impact", "v1..v2", "--json", where=shop / "src").data) == {"code": ["src/v1..v2"]}


def test_a_repository_without_commits_has_an_impact_too(memctl: Memctl, tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    git(folder, "init", "-q")
    memctl("init", "--no-commit", where=folder)
    memctl("section", "add", "Sources", "--path", "src/**", "--no-commit", where=folder)
    write(folder, "src/a.py", "x\n")
    write(folder, "setup.cfg", "x\n")
    git(folder, "add", "setup.cfg")
    found = rows(memctl("impact", "--json", where=folder).data)
    assert (found["feature"], found["config"]) == (["src/a.py"], ["setup.cfg"])
    assert rows(memctl("impact", "--staged", "--json", where=folder).data) == {"config": ["setup.cfg"]}


def test_impact_changes_nothing(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/pay/api.py", API + "# dirty\n")
    (shop / "src/pay/rates.py").rename(shop / "src/pay/rate.py")

    def state() -> tuple[str, str, bytes]:
        index = (shop / ".git" / "index").read_bytes()
        return git(shop, "--no-optional-locks", "status", "--porcelain"), git(shop, "rev-parse", "HEAD"), index

    before = state()
    for args in ((), ("--staged",), ("--all",), ("HEAD~1..HEAD",), ("src",)):
        memctl("impact", *args)
    assert state() == before


def test_files_that_no_page_is_about_are_counted(shop: Path, memctl: Memctl) -> None:
    for number in range(5):
        write(shop, f"tools/run{number}.sh", "echo\n")
    out = memctl("impact").out
    assert "5 files that no page is about" in out
    assert "run3" not in out


def test_a_revision_before_the_memory_is_reported_to_have_none(shop: Path, memctl: Memctl) -> None:
    first = git(shop, "rev-list", "--max-parents=0", "HEAD").strip()
    assert "has no memory" in memctl("impact", f"{first}..{first}", code=1).err
    assert f"{first} has no memory" in memctl("list", "--at", first).err
    assert "no record matches" in memctl("list", "--at", "HEAD").err


def test_status_names_stale_pages(shop: Path, memctl: Memctl) -> None:
    assert "impact --all" not in memctl("status").out
    file = shop / "src/pay/rates.py"
    memctl("detail", "add", "Rates", "--section", "§2.1", "--code", "src/pay/rates.py")
    file.write_text("RATE = 3\n")
    pages = memctl("status", "--json").data["stale_pages"]
    assert pages[-1] == {"id": "§3.2", "files": ["src/pay/rates.py"]}
    assert "§3.2 rates.py); `memctl page impact --all`" in memctl("status").out
    file.unlink()
    assert memctl("status", "--json").data["stale_pages"][-1]["id"] == "§3.2"
    git(shop, "checkout", "--", "src")
    assert memctl("status", "--json").data["stale_pages"] == []


def test_impact_without_changes_says_what_was_compared(shop: Path, memctl: Memctl) -> None:
    git(shop, "mv", "src/pay/api.py", "src/pay/cards.py")
    make_commit(shop, "refactor: rename")
    unchanged = memctl("impact").err
    assert unchanged.startswith("no file differs from the last commit: `memctl page impact HEAD~1..HEAD` shows what ")
    assert "renamed from src/pay/api.py" in memctl("impact", "HEAD~1..HEAD").out
    assert memctl("impact", "--staged").err.startswith("no file is staged; ")
    assert memctl("impact", "HEAD..HEAD", "--all").err == "no file differs in HEAD..HEAD\n"


def test_a_record_on_code_affects_the_documents_of_its_section(shop: Path, memctl: Memctl) -> None:
    memctl("learn", "Cards jam", "--code", "src/pay/api.py", "--no-commit")
    (found,) = memctl("impact", "--json").data["files"][:1]
    assert found["pages"] == ["§2.1", "§3.1"]
    assert {path.rpartition("/")[2] for path in found["documents"]} >= {"2.1-payment.md", "3.1-payment-details.md"}
