"""The shared state through a remote: of agents on several machines that race, exactly one wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.team import remote_state
from tests.conftest import Memctl, Once, git, process, share_templates

REF = "refs/memctl/coordination"
REMOTE = ("--remote", "origin")


@pytest.fixture
def clones(memctl: Memctl, repo: Path, tmp_path: Path, once: Once) -> list[Path]:
    """Four clones of one bare repository, with a memory that has two sections."""

    def make() -> None:
        memctl("section", "add", "Payment")
        memctl("section", "add", "Search")
        bare = tmp_path / "bare.git"
        git(tmp_path, "clone", "-q", "--bare", str(repo), str(bare))
        for number in range(4):
            git(tmp_path, "clone", "-q", str(bare), str(tmp_path / f"clone{number}"))
            share_templates(repo, tmp_path / f"clone{number}")

    once(make)
    return [tmp_path / f"clone{number}" for number in range(4)]


def owners(memctl: Memctl, clone: Path, *options: str) -> dict[str, str]:
    rows = memctl("own", "list", "--json", *options, where=clone).data["sections"]
    return {row["section_id"]: row["owner_agent_id"] for row in rows}


@pytest.fixture
def as_agent(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> Memctl:
    """memctl, run by the agent whose name comes first."""

    def run(name: str, *args: str, **options: object) -> object:
        with monkeypatch.context() as patch:
            patch.setenv("MEMCTL_AGENT", name)
            return memctl(*args, **options)

    return run  # type: ignore[return-value]


def test_coordination_uses_no_remote_unless_one_is_named(memctl: Memctl, clones: list[Path]) -> None:
    memctl("own", "acquire", "2.1", where=clones[0])
    assert git(clones[0], "ls-remote", "origin", REF) == ""
    assert owners(memctl, clones[1]) == {}
    memctl("own", "acquire", "2.2", *REMOTE, where=clones[0])
    assert REF in git(clones[0], "ls-remote", "origin", REF)
    assert owners(memctl, clones[1]) == {}
    assert owners(memctl, clones[1], *REMOTE) == {"§2.1": "claude", "§2.2": "claude"}
    assert owners(memctl, clones[1]) == {"§2.1": "claude", "§2.2": "claude"}


def test_exactly_one_of_concurrent_clones_acquires_a_section(memctl: Memctl, clones: list[Path]) -> None:
    for section in ("2.1", "2.2"):
        racing = {
            f"agent{n}": process(clone, "own", "acquire", section, *REMOTE, env={"MEMCTL_AGENT": f"agent{n}"})
            for n, clone in enumerate(clones)
        }
        ended = {name: (*running.communicate(), running.returncode) for name, running in racing.items()}
        winners = [name for name, (_, _, code) in ended.items() if code == 0]
        assert len(winners) == 1, ended
        assert all(f"§{section} is owned by {winners[0]}" in err for _, err, code in ended.values() if code)
        assert {owners(memctl, clone, *REMOTE)[f"§{section}"] for clone in clones} == {winners[0]}
        assert {code for _, _, code in ended.values()} == {0, 1}
    tips = {git(clone, "rev-parse", REF).strip() for clone in clones}
    assert tips == {git(clones[0], "ls-remote", "origin", REF).split()[0]}


def test_changes_without_a_conflict_all_reach_the_remote(memctl: Memctl, clones: list[Path]) -> None:
    writing = [
        process(clone, "coordination", "assign", f"agent{n}", "a task", *REMOTE) for n, clone in enumerate(clones)
    ]
    assert [(one.communicate()[1], one.returncode) for one in writing] == [("", 0)] * 4
    data = memctl("coordination", "show", "--json", *REMOTE, where=clones[0]).data
    assert data["agent_task_assignments"] == {f"agent{n}": ["a task"] for n in range(4)}


def test_local_claim_yields_to_the_remote_and_is_reported(memctl: Memctl, as_agent: Memctl, clones: list[Path]) -> None:
    as_agent("ada", "own", "acquire", "2.1", where=clones[0])
    as_agent("ada", "own", "acquire", "2.2", where=clones[0])
    as_agent("bob", "own", "acquire", "2.1", *REMOTE, where=clones[1])
    told = as_agent("ada", "own", "list", *REMOTE, where=clones[0]).err
    assert "section §2.1: `§2.1 is owned by ada" in told
    assert owners(memctl, clones[0]) == {"§2.1": "bob", "§2.2": "ada"}
    said = git(clones[0], "log", "-1", "--format=%B%P", REF)
    assert "merge the coordination state of origin" in said
    assert "was replaced" in said
    as_agent("ada", "coordination", "join", *REMOTE, where=clones[0])
    assert owners(memctl, clones[2], *REMOTE) == {"§2.1": "bob", "§2.2": "ada"}


def test_refused_claim_and_dry_run_leave_the_remote_unchanged(
    memctl: Memctl, as_agent: Memctl, clones: list[Path]
) -> None:
    as_agent("ada", "own", "acquire", "2.1", *REMOTE, where=clones[0])
    before = git(clones[0], "ls-remote", "origin", REF)
    assert "owned by ada" in as_agent("bob", "own", "acquire", "2.1", *REMOTE, where=clones[1], code=1).err
    as_agent("bob", "own", "acquire", "2.2", *REMOTE, "--dry-run", where=clones[2])
    assert git(clones[2], "for-each-ref", REF) == ""
    stale = as_agent("bob", "own", "acquire", "2.2", *REMOTE, "--expect-version", "0", where=clones[2], code=1).err
    assert "has version 1, not the expected version 0" in stale
    assert git(clones[0], "ls-remote", "origin", REF) == before


def test_unreachable_or_unknown_remote_changes_nothing(memctl: Memctl, clones: list[Path], tmp_path: Path) -> None:
    git(clones[0], "remote", "add", "gone", str(tmp_path / "gone.git"))
    memctl("own", "acquire", "2.1", "--remote", "gone", where=clones[0], code=1)
    assert "the remotes are origin" in memctl("own", "acquire", "2.1", "--remote", "nope", where=clones[1], code=2).err
    assert owners(memctl, clones[0]) == {}


def test_push_missing_locally_comes_with_the_next_fetch(memctl: Memctl, as_agent: Memctl, clones: list[Path]) -> None:
    as_agent("ada", "own", "acquire", "2.1", *REMOTE, where=clones[0])
    git(clones[0], "update-ref", "-d", REF)  # as it is if the process was killed right after the push
    assert owners(memctl, clones[0]) == {}
    as_agent("bob", "own", "acquire", "2.1", *REMOTE, where=clones[0], code=1)
    assert owners(memctl, clones[0]) == {"§2.1": "ada"}


def test_a_locked_ref_at_the_remote_gives_another_error_than_a_busy_one(
    memctl: Memctl, clones: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("own", "acquire", "2.1", *REMOTE, where=clones[0])
    (tmp_path / "bare.git" / f"{REF}.lock").touch()
    monkeypatch.setattr(remote_state, "_TRIES", 2)
    told = memctl("own", "acquire", "2.2", *REMOTE, where=clones[0], code=1).err
    assert "although nobody else has pushed" in told
    assert f"{REF}.lock" in told
    (tmp_path / "bare.git" / f"{REF}.lock").unlink()
    memctl("own", "acquire", "2.2", *REMOTE, where=clones[0])


@pytest.mark.parametrize("args", [("own", "acquire", "2.1"), ("own", "list"), ("coordination", "show")])
def test_empty_remote_name_is_refused(memctl: Memctl, clones: list[Path], args: tuple[str, ...]) -> None:
    assert "there is no remote ''" in memctl(*args, "--remote", "", where=clones[0], code=2).err
    assert owners(memctl, clones[0]) == {}


def test_release_lost_in_a_merge_is_named(memctl: Memctl, as_agent: Memctl, clones: list[Path]) -> None:
    as_agent("ada", "own", "acquire", "2.1", *REMOTE, where=clones[0])
    as_agent("bob", "own", "acquire", "2.1", *REMOTE, "--force", "--reason", "ada is gone", where=clones[1])
    as_agent("ada", "own", "release", "2.1", where=clones[0])
    told = as_agent("ada", "own", "list", *REMOTE, where=clones[0]).err
    assert "section §2.1: the removal in this clone was replaced by `§2.1 is owned by bob" in told


@pytest.mark.terminal
@pytest.mark.parametrize("kind", ["missing", "gitlink", "folder"])
def test_remote_without_a_list_of_owners_is_refused_as_damaged(
    memctl: Memctl, clones: list[Path], tmp_path: Path, kind: str
) -> None:
    memctl("own", "acquire", "2.1", *REMOTE, where=clones[0])
    bare = tmp_path / "bare.git"
    entries = git(bare, "ls-tree", REF).splitlines()
    kept = [line for line in entries if not line.endswith("\townership.json")]
    head = git(bare, "rev-parse", "main").strip()
    if kind == "gitlink":
        kept.append(f"160000 commit {head}\townership.json")
    elif kind == "folder":
        kept.append(f"040000 tree {git(bare, 'rev-parse', 'main^{tree}').strip()}\townership.json")
    tree = git(
        bare, "mktree", "--missing", stdin="\n".join(sorted(kept, key=lambda x: x.split("\t")[1])) + "\n"
    ).strip()
    commit = git(bare, "commit-tree", tree, "-p", REF, "-m", "gone").strip()
    git(bare, "update-ref", REF, commit)
    for command in (("own", "list", *REMOTE), ("own", "acquire", "2.1", *REMOTE), ("sync",)):
        result = memctl(*command, where=clones[1], code=1)
        assert "it has no ownership.json, so memctl did not write it" in result.err, command
    assert git(bare, "rev-parse", REF).strip() == commit
