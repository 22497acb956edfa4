"""Which commits brought the texts of files, through merges, squashes, rebases, cherry-picks and reverts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from memctl.git.git import GitFailed
from memctl.git.introductions import introductions, last_changes, last_commits
from memctl.git.repository import open_repository
from tests.conftest import git


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with one commit, on main."""
    git(tmp_path, "init", "-q", "-b", "main")
    put(tmp_path, "other", "0")
    return tmp_path


def put(folder: Path, name: str, text: str) -> str:
    """Commit a file with a text; returns the commit."""
    (folder / name).write_text(text)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "--allow-empty", "-m", f"{name} {text}")
    return head(folder)


def head(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD").strip()


def found(folder: Path, name: str = "a", revision: str = "HEAD") -> str:
    """The commit that brought the text of a file, "" for none."""
    return last_commits(open_repository(folder), [name], revision).get(name, "")


def test_merge_of_a_branch_without_the_file_introduces_nothing(work: Path) -> None:
    git(work, "branch", "side")
    made = put(work, "a", "1")
    git(work, "checkout", "-q", "side")
    put(work, "other", "1")
    git(work, "checkout", "-q", "main")
    git(work, "merge", "-q", "--no-edit", "side")
    assert found(work) == made
    git(work, "checkout", "-q", "side")
    git(work, "merge", "-q", "--no-ff", "--no-edit", "main~")
    assert found(work) == made


def test_merge_into_an_unmoved_main_introduces_nothing(work: Path) -> None:
    git(work, "checkout", "-q", "-b", "side")
    made = put(work, "a", "1")
    git(work, "checkout", "-q", "main")
    git(work, "merge", "-q", "--no-ff", "--no-edit", "side")
    assert found(work) == made


def test_merge_with_a_text_of_its_own_introduces_the_text(work: Path) -> None:
    put(work, "a", "1")
    git(work, "checkout", "-q", "-b", "side")
    put(work, "a", "2")
    git(work, "checkout", "-q", "main")
    put(work, "a", "3")
    git(work, "merge", "-q", "side", check=False)
    assert found(work) == git(work, "rev-parse", "main").strip()
    merge = put(work, "a", "2 and 3")
    assert found(work) == merge


@pytest.mark.parametrize(("option", "kept"), [("ours", "3"), ("theirs", "2")])
def test_merge_that_takes_one_side_of_a_conflict_introduces_nothing(work: Path, option: str, kept: str) -> None:
    put(work, "a", "1")
    git(work, "checkout", "-q", "-b", "side")
    commits = {"2": put(work, "a", "2")}
    git(work, "checkout", "-q", "main")
    commits["3"] = put(work, "a", "3")
    git(work, "merge", "-q", "--no-edit", "-X", option, "side")
    assert (work / "a").read_text() == kept
    assert found(work) == commits[kept]


def test_octopus_merge_introduces_nothing(work: Path) -> None:
    made = []
    for name in ("a", "b", "c"):
        git(work, "checkout", "-q", "-b", f"side-{name}", "main")
        made.append(put(work, name, name))
    git(work, "checkout", "-q", "main")
    put(work, "other", "1")
    git(work, "merge", "-q", "--no-edit", "side-a", "side-b", "side-c")
    assert len(git(work, "rev-list", "--parents", "-1", "HEAD").split()) == 5
    assert [found(work, name) for name in ("a", "b", "c")] == made


def test_criss_cross_merges_introduce_nothing(work: Path) -> None:
    git(work, "branch", "side")
    one = put(work, "a", "1")
    git(work, "checkout", "-q", "side")
    two = put(work, "b", "2")
    git(work, "merge", "-q", "--no-edit", "main")
    git(work, "checkout", "-q", "main")
    git(work, "merge", "-q", "--no-edit", "side~")
    put(work, "c", "3")
    git(work, "merge", "-q", "--no-edit", "side")
    assert (found(work), found(work, "b")) == (one, two)


def test_text_on_both_sides_of_a_merge_is_introduced_by_one_side(work: Path) -> None:
    git(work, "branch", "side")
    made = put(work, "a", "1")
    git(work, "checkout", "-q", "side")
    put(work, "other", "1")
    git(work, "-c", "core.editor=true", "cherry-pick", "-x", made)
    picked = head(work)
    git(work, "checkout", "-q", "main")
    git(work, "merge", "-q", "--no-edit", "side")
    assert found(work) in (made, picked)
    git(work, "checkout", "-q", "side")
    git(work, "merge", "-q", "--no-ff", "--no-edit", "main~")
    assert found(work) in (made, picked)


def test_squash_merge_introduces_its_text(work: Path) -> None:
    git(work, "checkout", "-q", "-b", "side")
    put(work, "a", "1")
    made = put(work, "a", "2")
    git(work, "checkout", "-q", "main")
    git(work, "merge", "-q", "--squash", "side")
    squashed = put(work, "other", "1")
    assert found(work) == squashed != made


def test_rebased_commit_introduces_its_text(work: Path) -> None:
    git(work, "checkout", "-q", "-b", "side")
    made = put(work, "a", "1")
    git(work, "checkout", "-q", "main")
    put(work, "other", "1")
    git(work, "checkout", "-q", "side")
    git(work, "rebase", "-q", "main")
    assert found(work) == head(work) != made


def test_cherry_pick_introduces_its_text(work: Path) -> None:
    git(work, "checkout", "-q", "-b", "side")
    made = put(work, "a", "1")
    git(work, "checkout", "-q", "main")
    put(work, "other", "1")
    git(work, "cherry-pick", made)
    assert found(work) == head(work) != made


def test_revert_introduces_the_earlier_text(work: Path) -> None:
    put(work, "a", "1")
    put(work, "a", "2")
    git(work, "revert", "--no-edit", "HEAD")
    reverted = head(work)
    put(work, "other", "1")
    assert found(work) == reverted


def test_restored_file_is_introduced_by_the_restoring_commit(work: Path) -> None:
    made = put(work, "a", "1")
    git(work, "rm", "-q", "a")
    git(work, "commit", "-qm", "gone")
    assert found(work) == ""
    assert put(work, "a", "1") == found(work) != made


def test_mode_change_introduces_nothing(work: Path) -> None:
    made = put(work, "a", "1")
    (work / "a").chmod(0o755)
    assert put(work, "other", "1") != found(work) == made


@pytest.mark.parametrize("setting", ["log.follow=true", "log.showRoot=false", "log.diffMerges=first-parent"])
def test_user_log_settings_do_not_change_the_result(work: Path, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    key, _, value = setting.partition("=")
    first = head(work)
    git(work, "mv", "other", "moved")
    git(work, "commit", "-qm", "move")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", key)
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", value)
    assert (found(work, "moved"), found(work, "other", "HEAD~")) == (head(work), first)


@pytest.mark.parametrize("name", ["é ü", ":100644 a", " a", "-a", "[a]*", "\x1ea", "a\nb"])
def test_files_with_unusual_names_are_found(work: Path, name: str) -> None:
    made = put(work, name, "1")
    put(work, "a", "1")
    assert found(work, name) == made


def test_text_has_the_date_of_the_commit_that_introduced_it(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(work, "branch", "side")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2025-11-04T10:00:00Z")
    put(work, "a", "1")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2025-11-05T10:00:00Z")
    git(work, "checkout", "-q", "side")
    put(work, "other", "1")
    git(work, "merge", "-q", "--no-edit", "main")
    assert last_changes(open_repository(work), ["a", "never"]) == {"a": "2025-11-04T10:00:00Z"}


def test_missing_revision_fails(work: Path) -> None:
    with pytest.raises(GitFailed):
        list(introductions(open_repository(work), ["a"], "0" * 40))


@pytest.mark.parametrize("seed", range(12))
def test_text_is_attributed_to_a_commit_whose_parents_lack_it(tmp_path: Path, seed: int) -> None:
    graph = random_history(tmp_path, random.Random(seed))
    tip = head(tmp_path)
    for name, text in graph[tip][1].items():
        makers = [
            commit
            for commit, (parents, files) in graph.items()
            if files.get(name) == text and all(graph[parent][1].get(name) != text for parent in parents)
        ]
        assert found(tmp_path, name) in makers
        if len(makers) == 1:
            assert makers[0] == git(tmp_path, "log", "-1", "--format=%H", "--", name).strip()


def random_history(folder: Path, chance: random.Random) -> Mapping[str, tuple[Sequence[str], Mapping[str, str]]]:
    """A repository with merges of two and three sides; the parents and the files of each commit."""
    git(folder, "init", "-q", "-b", "main")
    names, lines, marks = "abcde", list[str](), list[tuple[list[int], dict[str, str]]]()
    for number in range(40):
        count = min(chance.choice((1, 1, 1, 2, 2, 3)), number)
        parents = chance.sample(range(max(0, number - 6), number), min(count, number))
        kept = {name: chance.choice([marks[p][1].get(name, "") for p in parents] or [""]) for name in names}
        if not parents or chance.random() < 0.6:
            kept[chance.choice(names)] = chance.choice([f"own {number}", *"1234"])
        marks.append((parents, {name: text for name, text in kept.items() if text}))
        lines += ["commit refs/heads/main", f"mark :{number + 1}", f"committer A <a@b> {1_700_000_000 + number} +0000"]
        lines += ["data 1", "x", *(f"{'merge' if n else 'from'} :{p + 1}" for n, p in enumerate(parents)), "deleteall"]
        for name, text in marks[-1][1].items():
            lines += [f"M 100644 inline {name}", f"data {len(text)}", text]
    git(folder, "fast-import", "--quiet", "--force", "--export-marks=marks", stdin="\n".join([*lines, ""]))
    ids = dict(line.split() for line in (folder / "marks").read_text().splitlines())
    named = [ids[f":{number + 1}"] for number in range(len(marks))]
    git(folder, "reset", "-q", "--hard", "main")
    return {named[n]: ([named[p] for p in parents], files) for n, (parents, files) in enumerate(marks)}
