"""Tags, which keep the ids of two clones apart."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

from memctl.record import ids
from memctl.record.kinds import DECISION
from memctl.store.memory import open_memory
from memctl.store.sequence import Sequence
from tests.conftest import Memctl, git, set_tag, share_templates


def tag_of(identifier: str) -> str:
    return ids.series(identifier)[0][15:]


def decide(memctl: Memctl, title: str, where: Path) -> str:
    return memctl("decide", title, "--rationale", "It fits.", where=where).id


@pytest.fixture
def hub(repo: Path, tmp_path: Path) -> Path:
    """A bare repository, the remote of `repo`."""
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(tmp_path / "hub.git"))
    git(repo, "remote", "add", "origin", str(tmp_path / "hub.git"))
    git(repo, "fetch", "-q")
    return tmp_path / "hub.git"


@pytest.fixture
def other(repo: Path, hub: Path) -> Path:
    """A second clone."""
    git(hub.parent, "clone", "-q", str(hub), str(hub.parent / "other"))
    git(hub.parent / "other", "config", "memctl.trusted", "true")
    share_templates(repo, hub.parent / "other")
    return hub.parent / "other"


def push_branch(clone: Path, branch: str) -> None:
    git(clone, "push", "-q", "origin", f"HEAD:refs/heads/{branch}")


def test_new_ids_follow_the_remote(repo: Path, memctl: Memctl) -> None:
    assert decide(memctl, "Alone", repo).endswith("-001")
    git(repo, "config", "remote.origin.prune", "true")
    assert decide(memctl, "Half a remote", repo).endswith("-002")
    git(repo, "config", "remote.origin.url", "https://example.org/shop.git")
    first, second, learning = (
        decide(memctl, "One", repo),
        decide(memctl, "Two", repo),
        memctl("learn", "A lesson").id,
    )
    assert re.fullmatch(rf"DEC-\d{{4}}-\d\d-\d\d-{ids.TAG}-1", first)
    assert second == first[:-1] + "2"
    assert (tag_of(learning), learning[-2:]) == (tag_of(first), "-1")
    assert memctl("show", first).out
    git(repo, "remote", "remove", "origin")
    assert decide(memctl, "Alone again", repo).endswith("-003")
    memctl("check", "--strict")


@pytest.mark.parametrize("section", ["include", 'includeIf "gitdir:**"'])
def test_remote_of_an_included_file_counts(repo: Path, memctl: Memctl, section: str) -> None:
    config = repo / ".git" / "config"
    config.write_text(f"{config.read_text()}[{section}]\n\tpath = ../../more\n")
    assert decide(memctl, "Alone", repo).endswith("-001")
    (repo.parent / "more").write_text('[remote "origin"]\n\turl = ../hub.git\n')
    assert tag_of(decide(memctl, "Shared", repo))


def test_memory_of_format_1_has_no_tags(repo: Path, hub: Path, memctl: Memctl) -> None:
    config = repo / ".memory" / "config.yaml"
    config.write_text(config.read_text().replace("format: 2", "format: 1"))
    assert decide(memctl, "As before", repo).endswith("-001")


def test_worktrees_share_tag_and_numbers(repo: Path, hub: Path, memctl: Memctl) -> None:
    first = decide(memctl, "Here", repo)
    git(repo, "worktree", "add", "-q", "-b", "side", str(hub.parent / "side"))
    assert decide(memctl, "There", hub.parent / "side") == first[:-1] + "2"
    assert decide(memctl, "Here again", repo) == first[:-1] + "3"


@pytest.mark.parametrize("waits", [False, True])
def test_copy_of_a_clone_draws_its_own_tag(repo: Path, hub: Path, memctl: Memctl, waits: bool) -> None:
    first = decide(memctl, "Before", repo)
    shutil.copytree(repo, hub.parent / "copy", symlinks=True)
    if waits:
        decide(memctl, "Meanwhile", repo)
    second = decide(memctl, "In the copy", hub.parent / "copy")
    assert tag_of(second) not in ("", tag_of(first))
    assert tag_of(decide(memctl, "In the original", repo)) == tag_of(first)


def test_clone_that_lost_its_folder_draws_another_tag(repo: Path, hub: Path, memctl: Memctl) -> None:
    first = decide(memctl, "Before", repo)
    set_tag(repo, tag_of(first))  # of what was lost only the tag is back
    second = decide(memctl, "After", repo)
    shutil.rmtree(repo / ".git" / "memctl")
    third = decide(memctl, "At last", repo)
    assert len({tag_of(name) for name in (first, second, third)}) == 3
    assert all(memctl("show", name).out for name in (first, second, third))


@pytest.mark.parametrize("wrote", [False, True])
def test_tag_of_a_fetched_record_is_not_used(repo: Path, other: Path, memctl: Memctl, wrote: bool) -> None:
    set_tag(repo)
    set_tag(other)
    if wrote:
        decide(memctl, "Of this day", other)
        decide(memctl, "Another type", repo)
    memctl("learn", "Seen from elsewhere")
    push_branch(repo, "topic")
    git(other, "fetch", "-q")
    found = decide(memctl, "Not yet seen", other)
    assert tag_of(found) not in ("", "k7fq")
    assert tag_of(decide(memctl, "Next", other)) == tag_of(found)


def test_tag_of_a_merged_record_is_not_used(repo: Path, other: Path, memctl: Memctl) -> None:
    set_tag(repo)
    set_tag(other)
    decide(memctl, "Base", other)
    for title in ("One", "Two"):
        decide(memctl, title, repo)
    git(other, "fetch", "-q", "--no-write-fetch-head", str(repo), "main:theirs")
    git(other, "merge", "-q", "--no-edit", "-X", "ours", "theirs")
    assert tag_of(decide(memctl, "Next", other)) not in ("", "k7fq")


def test_refused_write_and_dry_run_use_up_no_id(repo: Path, hub: Path, memctl: Memctl) -> None:
    shown = memctl("decide", "Later", "--rationale", "r", "--dry-run").out
    memctl("decide", "Wrong", "--importance", "11", code=2)
    memctl("decide", "Wrong", "--supersedes", "DEC-2000-01-01-001", code=1)
    assert decide(memctl, "Later", repo) in shown


def test_handoffs_keep_the_tag(repo: Path, hub: Path, memctl: Memctl) -> None:
    tag = tag_of(decide(memctl, "First", repo))
    offer = ("handoff", "--to", "ben", "--reason", "Holiday", "--success", "It sells", "--immediate")
    offers = [memctl(*offer, step).out for step in ("Begin", "Go on")]
    assert [re.findall(r"HND-[\w-]+", out)[0][14:] for out in offers] == [f"-{tag}-1", f"-{tag}-2"]


def test_import_of_many_days_is_numbered_by_tag(repo: Path, hub: Path, memctl: Memctl) -> None:
    lines = "".join(
        f'{{"memory_type":"learning","title":"L{day}","timestamp":"2024-01-{day:02d}T00:00:00Z"}}\n'
        for day in range(1, 9)
    )
    memctl("import", "-", stdin=lines)
    found = sorted(path.name[:21] for path in (repo / ".memory/learnings/2024-01").iterdir())
    tag = found[0][15:19]
    assert found == [f"LRN-2024-01-{day:02d}-{tag}-1" for day in range(1, 9)]


def test_branches_of_two_clones_merged_by_git_have_no_double_id(repo: Path, other: Path, memctl: Memctl) -> None:
    given = []
    for clone in (repo, other):
        git(clone, "checkout", "-q", "-b", f"of-{clone.name}")
        given += [decide(memctl, title, clone) for title in ("Use Kafka", "Use NATS")]
        given.append(memctl("learn", "Retry", where=clone).id)
        push_branch(clone, f"of-{clone.name}")
    git(repo, "fetch", "-q")
    git(repo, "checkout", "-q", "main")
    for name in ("of-shop", "of-other"):
        git(repo, "merge", "-q", "--no-edit", "-X", "ours", f"origin/{name}")
    memctl("render")
    assert len(set(given)) == 6
    memctl("check", "--strict")
    assert all(f"id: {name}\n" in memctl("show", name).out for name in given)


def test_double_id_that_was_pushed_twice_is_left_to_renumber(
    repo: Path, other: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_tag(repo)
    set_tag(other)
    older = decide(memctl, "Use Kafka", repo)
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T18:00:00Z")
    assert decide(memctl, "Use NATS", other) == older
    push_branch(repo, "kafka")
    push_branch(other, "nats")
    git(repo, "fetch", "-q")
    git(repo, "merge", "-q", "--no-edit", "-X", "ours", "origin/nats")
    memctl("render")
    for fix in ([], ["--fix"]):
        found = memctl("check", *fix, code=1).out
        assert "MEM104" in found
        assert f"{older}-use-kafka.md" in found
        assert f"{older}-use-nats.md" in found
        assert "`memctl renumber`" in found
    memctl("renumber")
    memctl("check", "--strict")
    assert "title: Use Kafka\n" in memctl("show", older).out


def test_fix_renumbers_what_was_never_pushed(
    repo: Path, other: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_tag(repo)
    set_tag(other)
    older = decide(memctl, "Mine, older and not pushed", repo)
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T18:00:00Z")
    decide(memctl, "Theirs, pushed", other)
    git(other, "push", "-q", "origin", "HEAD:main")
    git(repo, "fetch", "-q")
    git(repo, "merge", "-q", "--no-edit", "-X", "ours", "origin/main")
    assert "would renumber" in memctl("check", "--fix", "--dry-run", code=1).out
    out = memctl("check", "--fix").out
    assert f"renumbered {older} -> " in out
    assert "title: Theirs, pushed\n" in memctl("show", older).out
    memctl("check", "--strict")


def test_sync_renumbers_nothing_that_was_pushed(
    repo: Path, other: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_tag(repo)
    set_tag(other)
    name = decide(memctl, "Use Kafka", repo)
    monkeypatch.setenv("MEMCTL_NOW", "2025-11-04T18:00:00Z")
    decide(memctl, "Use NATS", other)
    git(other, "push", "-q", "origin", "HEAD:main")
    push_branch(repo, "kafka")
    git(repo, "branch", "-q", "--set-upstream-to=origin/main")
    before = git(repo, "rev-parse", "HEAD")
    refused = memctl("sync", code=1).err
    assert f"has the id {name}" in refused
    assert f"{name}-use-nats.md" in refused
    assert "`memctl renumber`" in refused
    assert git(repo, "rev-parse", "HEAD") == before
    git(repo, "merge", "-q", "--no-edit", "-X", "ours", "origin/main")
    memctl("renumber")
    memctl("sync")
    assert "title: Use Kafka\n" in memctl("show", name).out


def test_numbers_of_new_pages_are_not_those_of_fetched_branches(repo: Path, other: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    memctl("detail", "add", "Cards", "--section", "2.1")
    push_branch(repo, "topic")
    git(other, "fetch", "-q")
    assert memctl("section", "add", "Search", where=other).out.startswith("§2.2 ")
    assert memctl("detail", "add", "Index", "--section", "2.2", where=other).out.startswith("§3.2 ")


def test_last_is_what_was_recorded_last_in_this_worktree(repo: Path, hub: Path, memctl: Memctl) -> None:
    assert "none was recorded here" in memctl("show", "@last", code=1).err
    first = decide(memctl, "First", repo)
    side = hub.parent / "side"
    git(repo, "worktree", "add", "-q", "-b", "side", str(side))
    elsewhere = decide(memctl, "Elsewhere", side)
    assert f"id: {first}\n" in memctl("show", "@last").out
    memctl("edit", "@last", "--tag", "seen")
    second = memctl("decide", "Second", "--rationale", "r", "--supersedes", "@last").id
    assert f"id: {second}\n" in memctl("show", "@last").out
    assert f"superseded_by:\n  - {second}\n" in memctl("show", first).out
    for command in (["log"], ["diff"], ["search", "--related"], ["list", "--parent"]):
        memctl(*command, "@last")
    memctl("issue", "A problem", "--severity", "low")
    memctl("resolve", "@last", "--resolution", "Fixed")
    memctl("delete", "@last")
    memctl("restore", "@last")
    assert f"id: {elsewhere}\n" in memctl("show", "@last", where=side).out


def test_ids_with_a_tag_are_valid_where_ids_are(repo: Path, hub: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    first = decide(memctl, "First", repo)
    second = memctl("decide", "Second", "--rationale", f"After {first}.", "--section", "2.1").id
    end, last = first[15:], second[15:]
    for reference in (end, end.upper(), first.lower()):
        assert f"id: {first}\n" in memctl("show", reference).out
    memctl("link", second, end)
    exported = memctl("export").out
    memctl("delete", last, "--unlink")
    assert second in memctl("log", last).out
    memctl("import", "-", stdin=exported)
    assert f"- {first}\n" in memctl("show", last).out
    memctl("delete", last, "--unlink")
    assert memctl("restore", last).out.startswith(f"restored {second} ")
    memctl("check", "--fix")
    assert "there is no record '1'" in memctl("show", "1", code=1).err
    assert f" or {first}?" in memctl("show", f"{end[:-1]}7", code=1).err
    memctl("check", "--strict")
    memctl("decide", "Wrong", "--rationale", f"See {first[:-1]}77.")
    assert f"{first[:-1]}77" in memctl("check").out


def test_tags_are_drawn_evenly_and_are_no_words_or_numbers(
    repo: Path, hub: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMCTL_NOW", raising=False)
    drawn = set()
    for _ in range(40):
        (repo / ".git" / "memctl" / "sequence.json").unlink(missing_ok=True)
        drawn.add(tag_of(Sequence(open_memory(repo, os.environ)).take(DECISION, "2026-11-27")[0]))
    assert len(drawn) > 38
    for tag in drawn:
        assert tag[0].isalpha()
        assert any(sign.isdigit() for sign in tag)
        assert not set(tag) & set("aeiouyl")


def test_tag_is_repeatable_with_a_fixed_time(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCTL_NOW", "2026-11-27T12:00:00Z")
    found = []
    for folder in ("a/one", "b/one", "a/two"):
        shutil.copytree(repo, tmp_path / folder)
        git(tmp_path / folder, "remote", "add", "origin", "https://example.org/shop.git")
        found += Sequence(open_memory(tmp_path / folder, os.environ)).take(DECISION, "2026-11-27")
    assert found[0] == found[1] != found[2]
