"""`memctl check` and `check --fix` after folders of code were renamed, in repositories with a history."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from memctl.git import git as plumbing
from tests.conftest import Memctl, git

FILES = 210  # more than the paths that one command line used to have
IGNORED = ("--ignore", "MEM3")


def _commit(repo: Path, subject: str) -> None:
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", subject)


@pytest.fixture
def shop(repo: Path) -> Path:
    """A repository with many files in `web`, some of which had other names before."""
    for number in range(FILES):
        path = repo / f"web/{'part' if number % 2 else 'rest'}/file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{number} {line}\n" for line in range(20)))
    _commit(repo, "web")
    for number in range(1, 80, 2):
        git(repo, "mv", f"web/part/file{number}.py", f"web/part/_file{number}.py")
    _commit(repo, "names")
    return repo


def _learn(memctl: Memctl, references: list[str]) -> None:
    lines = [
        {
            "memory_type": "learning",
            "title": f"About {ref}",
            "lesson": f"See §4.{ref.partition(':')[0]}",
            "code_refs": [ref],
        }
        for ref in references
    ]
    memctl("import", "-", stdin="".join(f"{msgspec.json.encode(line).decode()}\n" for line in lines))


def _references(memctl: Memctl) -> set[str]:
    return {ref for record in memctl("list", "--limit", "999", "--json").data["records"] for ref in record["code_refs"]}


@pytest.mark.parametrize("is_committed", [False, True], ids=["staged", "committed"])
def test_fix_follows_a_renamed_folder_with_a_history(is_committed: bool, shop: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Web", "--path", "web/**", "--path", "web/part/*.py")
    files = sorted(path.relative_to(shop).as_posix() for path in (shop / "web").rglob("*.py"))
    _learn(memctl, [*files, "web/part", "web/"])
    git(shop, "mv", "web", "src")
    if is_committed:
        _commit(shop, "src")
    out = memctl("check", *IGNORED, code=None).out
    assert "MEM210" not in out
    assert out.count("MEM203") == FILES + 2
    assert out.count("hint: the path is src/") == 2 * (FILES + 2)  # in the references, and in the texts
    memctl("check", "--fix", code=0)
    assert _references(memctl) == {path.replace("web", "src", 1) for path in (*files, "web/part", "web/")}
    assert memctl("check", *IGNORED, code=0).out == ""
    page = next((shop / ".memory/sections").iterdir()).read_text()
    assert "src/**" in page
    assert "src/part/*.py" in page


def test_lines_are_followed_through_a_renamed_folder(shop: Path, memctl: Memctl) -> None:
    files = sorted(path.relative_to(shop).as_posix() for path in (shop / "web/rest").rglob("*.py"))
    _learn(memctl, [f"{path}:5-7" for path in files])
    for path in files[:9]:
        (shop / path).write_text("new\n" * 3 + (shop / path).read_text())
    _commit(shop, "three lines")
    git(shop, "mv", "web", "src")
    _commit(shop, "src")
    memctl("check", "--fix", code=0)
    wanted = [f"{path.replace('web', 'src', 1)}:{'8-10' if path in files[:9] else '5-7'}" for path in files]
    assert _references(memctl) == set(wanted)


def test_the_number_of_records_is_not_one_of_git_calls(
    shop: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = sorted(path.relative_to(shop).as_posix() for path in (shop / "web").rglob("*.py"))
    _learn(memctl, [f"{path}:5-7" for path in files])
    git(shop, "mv", "web", "src")
    _commit(shop, "src")
    calls: list[str] = []
    spawn = plumbing._spawn

    def noted(args, *more, **how):  # type: ignore[no-untyped-def]
        calls.append(" ".join(args))
        return spawn(args, *more, **how)

    monkeypatch.setattr(plumbing, "_spawn", noted)
    memctl("check", "--fix", code=0)
    assert len(calls) < FILES / 2, calls


def test_a_folder_that_the_memory_of_another_project_lacks_is_still_told(repo: Path, memctl: Memctl) -> None:
    _learn(memctl, ["app.py"])
    for path in (repo / ".memory/learnings").rglob("*.md"):
        text = path.read_text()
        for number in range(12):
            other = text.replace("app.py", f"lib/x{number}.py").replace("-001", f"-9{number:02}")
            other = other.replace("memory_id: 0", f"memory_id: {number % 10}")
            path.with_name(path.name.replace("-001", f"-9{number:02}")).write_text(other)
        path.unlink()
    _commit(repo, "another project's")
    assert "MEM210" in memctl("check", code=1).out
