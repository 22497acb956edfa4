"""Where a sync pushes: to where `git push` would, and code to no default branch unless the user says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from memctl.git import refs
from memctl.git.repository import open_repository
from tests.conftest import Memctl, git
from tests.sync.test_refusals import hook
from tests.sync.test_sync import refused, the, write


@pytest.fixture(autouse=True)
def live(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMCTL_NOW")


@pytest.fixture
def fork(one: Path, bare: Path, tmp_path: Path) -> Path:
    """A fork of the remote, known to a clone as `fork`, to which it pushes; its upstream is still origin/main."""
    git(tmp_path, "clone", "-q", "--bare", str(bare), str(tmp_path / "fork.git"))
    git(one, "remote", "add", "fork", str(tmp_path / "fork.git"))
    git(one, "config", "remote.pushDefault", "fork")
    return tmp_path / "fork.git"


def tips(*repositories: Path) -> list[str]:
    return [git(bare, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads") for bare in repositories]


def where_git_pushes(clone: Path, *args: str) -> list[str]:
    """The refs of a remote that `git push` would change, and nothing else."""
    out = git(clone, "push", "--dry-run", "--porcelain", *args, check=False)
    return [line.split("\t")[1].partition(":")[2] for line in out.splitlines() if line.count("\t") == 2]


def has_code(bare: Path) -> list[str]:
    """The branches of a repository that have the file code.py."""
    names = git(bare, "for-each-ref", "--format=%(refname:short)", "refs/heads").split()
    return [name for name in names if git(bare, "ls-tree", "--name-only", name, "code.py").strip()]


def test_upstream_is_merged_and_the_fork_is_pushed_to(
    memctl: Memctl, one: Path, two: Path, bare: Path, fork: Path
) -> None:
    memctl("decide", "By two", where=two)
    memctl("sync", where=two)
    memctl("learn", "By one", where=one)
    memctl("own", "acquire", "2.1", where=one)
    before = tips(bare)
    shown = memctl("sync", "-n", "--json", where=one).data
    assert (shown["upstream"], shown["push_target"], shown["pushed"]) == ("origin/main", "fork/main", 3)
    out = memctl("sync", where=one).out
    assert "fetched 1 commit from origin/main" in out
    assert "pushed 3 commits to fork/main; origin/main is only fetched, as with `git push`" in out
    assert tips(bare) == before
    assert git(fork, "rev-parse", "main") == git(one, "rev-parse", "HEAD")
    assert the(memctl, one, "By two")
    assert git(fork, "for-each-ref", "refs/memctl/coordination") != ""
    assert git(bare, "for-each-ref", "refs/memctl/coordination") == ""
    assert memctl("sync", where=one).out == "nothing to do: this branch and fork/main are at the same commit\n"


def test_code_on_a_topic_branch_goes_to_the_fork_alone(memctl: Memctl, one: Path, bare: Path, fork: Path) -> None:
    git(one, "switch", "-q", "-c", "topic", "--track", "origin/main")
    git(one, "config", "--unset", "remote.pushDefault")
    git(one, "config", "branch.topic.pushRemote", "fork")
    write(one, "code.py", "unreviewed\n")
    memctl("learn", "By one", where=one)
    assert where_git_pushes(one) == ["refs/heads/topic"]
    data = memctl("sync", "--json", where=one).data
    assert (data["push_target"], data["pushed"], data["pushed_outside_of_memory"]) == ("fork/topic", 2, 1)
    assert (has_code(bare), has_code(fork)) == ([], ["topic"])
    write(one, "code.py", "more\n")
    assert memctl("sync", "--json", where=one).data["pushed"] == 1


def test_commits_that_only_the_fork_has_are_merged_by_a_sync_with_it(
    memctl: Memctl, one: Path, bare: Path, fork: Path, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", str(fork), str(tmp_path / "third"))
    git(tmp_path / "third", "config", "memctl.trusted", "true")
    memctl("decide", "By third", where=tmp_path / "third")
    git(tmp_path / "third", "push", "-q")
    memctl("learn", "By one", where=one)
    result = refused(memctl, one)
    assert "fork/main, to which `git push` pushes this branch, has 1 commit that it lacks" in result.err
    assert "`memctl sync fork` merges fork/main" in result.err
    before = tips(bare)
    memctl("sync", "fork", where=one)
    memctl("sync", where=one)
    assert the(memctl, one, "By third")
    assert tips(bare) == before


@pytest.mark.parametrize("setting", ["remote.origin.pushurl", "branch.main.pushRemote"])
def test_address_to_push_to_is_another_place_than_the_upstream(
    memctl: Memctl, one: Path, two: Path, bare: Path, fork: Path, tmp_path: Path, setting: str
) -> None:
    git(one, "config", "--unset", "remote.pushDefault")
    git(one, "remote", "remove", "fork")
    git(one, "config", setting, str(fork))
    memctl("decide", "By two", where=two)
    memctl("sync", where=two)
    memctl("learn", "By one", where=one)
    memctl("own", "acquire", "2.1", where=one)
    before = tips(bare)
    assert f"pushed 3 commits to {fork}/main; origin/main is only fetched" in memctl("sync", where=one).out
    assert tips(bare) == before
    assert git(fork, "rev-parse", "main") == git(one, "rev-parse", "HEAD")
    assert memctl("sync", where=one).out.startswith("nothing to do: ")
    assert git(bare, "for-each-ref", "refs/memctl") == ""
    if setting == "remote.origin.pushurl":
        memctl("own", "acquire", "1.0", "--reason", "x", "--remote", "origin", where=one)
        assert "coordination" in git(fork, "for-each-ref", "refs/memctl")
    git(tmp_path, "clone", "-q", str(fork), str(tmp_path / "third"))
    git(tmp_path / "third", "config", "memctl.trusted", "true")
    memctl("decide", "By third", where=tmp_path / "third")
    git(tmp_path / "third", "push", "-q")
    memctl("learn", "More by one", where=one)
    err = refused(memctl, one).err
    assert f"{fork}/main, to which `git push` pushes this branch, has 1 commit that it lacks" in err
    git(
        one,
        *err.partition("`git ")[2].partition("`git ")[2].partition("`")[0].split(),
        "-q",
        "--no-rebase",
        "--no-edit",
    )
    memctl("sync", where=one)
    assert git(fork, "rev-parse", "main") == git(one, "rev-parse", "HEAD")


def test_one_repository_by_two_addresses_is_one_remote(memctl: Memctl, one: Path, bare: Path) -> None:
    git(one, "config", "remote.origin.pushurl", f"file://{bare}")
    memctl("learn", "By one", where=one)
    memctl("own", "acquire", "2.1", "--reason", "x", "--remote", "origin", where=one)
    assert memctl("sync", where=one).out.splitlines()[0] == "pushed 1 commit to origin/main"
    assert memctl("sync", where=one).out.startswith("nothing to do: ")


@pytest.mark.parametrize(
    ("url", "pushed", "is_other"),
    [
        ("https://github.com/a/b.git", "git@github.com:a/b", False),
        ("https://ann@example.org:8443/a/b", "ssh://git@example.org:22/a/b.git/", False),
        ("https://github.com/a/b.git", "git@github.com:fork/b.git", True),
        ("/srv/a.git", "file:///srv/a.git", False),
        ("/srv/a.git", "", False),
    ],
)
def test_address_for_pushes_counts_if_it_is_of_another_repository(
    one: Path, url: str, pushed: str, is_other: bool
) -> None:
    git(one, "config", "remote.origin.url", url)
    git(one, "config", "remote.origin.pushurl", pushed)
    assert refs.push_address(open_repository(one), "origin") == (pushed if is_other else "")


def test_push_default_nothing_is_refused_with_the_commands(memctl: Memctl, one: Path, two: Path, bare: Path) -> None:
    memctl("decide", "By two", where=two)
    memctl("sync", where=two)
    git(one, "config", "push.default", "nothing")
    memctl("learn", "By one", where=one)
    before = tips(bare)
    for args in ((), ("-n",), ("origin",)):
        err = refused(memctl, one, *args).err
        assert "`git push` would not push the branch main, so `memctl sync` does not push it either" in err
        assert "`memctl sync --no-push` merges origin/main" in err
        assert "`git push origin HEAD:refs/heads/main` pushes the branch" in err
    memctl("sync", "--no-push", where=one)
    assert the(memctl, one, "By two")
    git(one, "push", "-q", "origin", "HEAD:refs/heads/main")
    assert tips(bare) != before


@pytest.mark.parametrize("mode", ["", "simple", "current", "upstream", "tracking", "matching"])
def test_upstream_of_another_name_is_pushed_to_only_if_git_does(
    memctl: Memctl, one: Path, bare: Path, mode: str
) -> None:
    git(bare, "branch", "trunk", "main")
    git(one, "fetch", "-q")
    git(one, "switch", "-q", "-c", "topic", "--track", "origin/trunk")
    if mode:
        git(one, "config", "push.default", mode)
    write(one, "code.py", "unreviewed\n")
    memctl("learn", "By one", where=one)
    targets = [ref for ref in where_git_pushes(one) if ref != "refs/heads/main"]
    target = {"current": ["topic"], "upstream": ["trunk"], "tracking": ["trunk"]}.get(mode, [])
    assert targets == [f"refs/heads/{name}" for name in target]
    if not target:
        assert "`git push origin HEAD:refs/heads/topic` pushes the branch" in refused(memctl, one).err
    else:
        assert memctl("sync", "--json", where=one).data["push_target"] == f"origin/{target[0]}"
    assert has_code(bare) == target


@pytest.mark.parametrize("refspec", ["refs/heads/*:refs/heads/ada/*", "HEAD:refs/heads/review"])
def test_refspecs_of_the_remote_decide_as_for_git(memctl: Memctl, one: Path, bare: Path, refspec: str) -> None:
    git(one, "config", "remote.origin.push", refspec)
    write(one, "code.py", "unreviewed\n")
    (target,) = where_git_pushes(one)
    assert memctl("sync", "--json", where=one).data["push_target"] == target.replace("refs/heads/", "origin/")
    assert has_code(bare) == [target.removeprefix("refs/heads/")]


def test_code_goes_to_the_default_branch_only_if_asked(memctl: Memctl, one: Path, two: Path, bare: Path) -> None:
    write(two, "other.py", "reviewed\n")
    git(two, "push", "-q")
    memctl("learn", "By one", where=one)
    for number in range(7):
        write(one, "code.py", f"{number}\n")
    before = tips(bare)
    for args in ((), ("-n",)):
        err = refused(memctl, one, *args).err
        assert "origin/main is the default branch of origin, and 7 commits to push change files outside" in err
        assert err.count("code.py changed") == 5
        assert "and 2 more" in err
        for way in ("`memctl sync --with-code`", "`git push`", "`git switch -c NAME`", "`memctl sync --no-push`"):
            assert way in err
    assert tips(bare) == before
    memctl("sync", "--no-push", where=one)
    assert "and 7 commits to push" in refused(memctl, one).err  # what came by the merge does not count
    assert "9 commits to origin/main, 7 of them with changes" in memctl("sync", "--with-code", where=one).out
    assert has_code(bare) == ["main"]


def test_code_on_another_branch_is_pushed_as_git_does(memctl: Memctl, one: Path, bare: Path) -> None:
    git(one, "switch", "-q", "-c", "topic")
    git(one, "push", "-q", "-u", "origin", "topic")
    write(one, "code.py", "1\n")
    assert "pushed 1 commit to origin/topic, 1 of them with changes" in memctl("sync", where=one).out
    assert has_code(bare) == ["topic"]


@pytest.mark.parametrize(("default", "config", "is_refused"), [
    ("main", "", True), ("trunk", "", False), ("trunk", "main", True), ("gone", "", True),
])  # fmt: skip
def test_default_branch_is_what_the_remote_says_or_the_project(
    memctl: Memctl, one: Path, bare: Path, default: str, config: str, is_refused: bool
) -> None:
    git(bare, "branch", "trunk", "main")
    git(bare, "symbolic-ref", "HEAD", f"refs/heads/{default}")
    git(one, "remote", "set-head", "origin", "-d")
    if config:
        write(one, ".memory/config.yaml", (one / ".memory/config.yaml").read_text() + f"default_branch: {config}\n")
    write(one, "code.py", "1\n")
    assert "default branch" in refused(memctl, one).err if is_refused else memctl("sync", where=one)


def test_memory_of_another_folder_is_no_code(memctl: Memctl, one: Path, bare: Path) -> None:
    (one / "services" / "shop").mkdir(parents=True)
    memctl("init", "--here", where=one / "services" / "shop")
    memctl("sync", where=one)


def test_protected_branch_is_answered_with_a_branch_to_propose_from(
    memctl: Memctl, one: Path, two: Path, bare: Path
) -> None:
    memctl("decide", "By two", where=two)
    memctl("sync", where=two)
    hook(bare, "pre-receive", 'while read _ _ ref; do [ "$ref" != refs/heads/main ] || exit 1; done')
    memctl("learn", "By one", where=one)
    err = refused(memctl, one).err
    command = err.partition("`git push origin HEAD:")[2].partition("`")[0]
    git(one, "push", "-q", "origin", f"HEAD:{command}")
    assert git(bare, "rev-parse", command) == git(one, "rev-parse", "HEAD")
    first, second = err.partition("`git switch -c ")[2].split("`")[0], err.partition("`git push -u ")[2].split("`")[0]
    git(one, "switch", "-q", "-c", first)
    git(one, "push", "-q", "-u", *second.split())
    assert memctl("sync", where=one).out.startswith("nothing to do: ")


@pytest.mark.parametrize("is_hidden", [True, False])
def test_remote_that_takes_none_of_the_refs_gives_one_line_and_a_setting(
    memctl: Memctl, one: Path, bare: Path, is_hidden: bool
) -> None:
    if is_hidden:
        git(bare, "config", "transfer.hideRefs", "refs/memctl")
    else:
        hook(bare, "update", "case $1 in refs/memctl/*) exit 1 ;; esac")
    memctl("own", "acquire", "2.1", where=one)
    memctl("learn", "By one", where=one)
    reason = "deny updating a hidden ref" if is_hidden else "hook declined"
    line = f"origin takes no refs/memctl/* ({reason}), so who owns what and pages of sessions stay in this clone"
    first = memctl("sync", where=one)
    assert first.err == ""
    assert first.out.splitlines()[0] == "pushed 1 commit to origin/main"
    assert [part for part in first.out.splitlines()[1:] if not part.startswith(line)] == []
    assert memctl("sync", "--json", where=one).data["refs_refused"] == reason
    assert "§2.1" in memctl("own", "list", where=one).out
    err = memctl("own", "acquire", "2.1", "--reason", "x", "--remote", "origin", where=one, code=1).err
    assert "if origin takes no refs/memctl/*, run `git config memctl.shareRefs false`" in err
    assert "takes no refs/memctl/*" in memctl(*SAID, where=one, code=1).err
    withdrawn = memctl("handoff", "list", "--all", where=one).out.split()
    assert withdrawn[1] == "withdrawn"
    assert git(bare, "rev-parse", "main") == git(one, "rev-parse", "HEAD")  # the remote does not offer it, either
    git(one, "config", "memctl.shareRefs", "false")
    assert memctl("sync", where=one).out.startswith("nothing to do: ")
    memctl(*SAID, where=one)
    assert owner(memctl, one) == "ben"
    assert git(bare, "rev-parse", "main") == git(one, "rev-parse", "HEAD")
    done = memctl("own", "acquire", "1.0", "--reason", "x", "--remote", "origin", where=one)
    assert "memctl.shareRefs is false: this clone alone knows who owns what" in done.err
    assert "memctl.shareRefs is false" in memctl("own", "list", "--remote", "origin", where=one).err


OFFER = ("handoff", "--to", "ben", "--section", "2.1", "--remote", "origin", "--reason", "Done", "--immediate", "Test")
SAID = (*OFFER, "--success", "All pass", "--summary", "It stands")


def owner(memctl: Memctl, clone: Path) -> str:
    return str(memctl("own", "list", "--json", where=clone).data["sections"][0]["owner_agent_id"])


@pytest.mark.parametrize("commits", ["each", "later"])
@pytest.mark.parametrize("why", ["no upstream", "code", "nothing", "protected", "conflict"])
def test_handoff_is_refused_and_the_section_stays_where_sync_refuses(
    memctl: Memctl, one: Path, two: Path, bare: Path, why: str, commits: str
) -> None:
    git(one, "config", "memctl.commits", commits)
    memctl("own", "acquire", "2.1", "--remote", "origin", where=one)
    if why == "no upstream":
        git(one, "switch", "-q", "-c", "topic")
    elif why == "code":
        write(one, "code.py", "1\n")
    elif why == "nothing":
        git(one, "config", "push.default", "nothing")
    elif why == "protected":
        hook(bare, "update", "case $1 in refs/heads/*) exit 1 ;; esac")
    else:
        write(two, "app.py", "by two\n")
        git(two, "push", "-q")
        write(one, "app.py", "by one\n")
    (one / "staged.py").write_text("1\n")
    git(one, "add", "staged.py")
    head, there, log = git(one, "rev-parse", "HEAD"), tips(bare), memctl("log", where=one).out
    err = memctl(*SAID, where=one, code=1).err
    assert err.startswith("error: no section was handed over")
    assert tips(bare) == there
    memctl("own", "list", "--remote", "origin", where=two)
    assert (owner(memctl, one), owner(memctl, two)) == ("claude", "claude")
    assert memctl("handoff", "list", where=one).out == ""
    assert git(one, "status", "--porcelain") == "A  staged.py\n"
    assert git(one, "rev-parse", "HEAD") == head
    assert memctl("log", where=one).out == log
    assert memctl("handoff", "list", "--all", where=one).out == ""


def test_offer_on_a_topic_branch_is_listed_and_accepted_by_its_taker(
    memctl: Memctl, one: Path, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("own", "acquire", "2.1", "--remote", "origin", where=one)
    git(one, "switch", "-q", "-c", "topic")
    git(one, "push", "-q", "-u", "origin", "topic")
    write(one, "code.py", "1\n")
    made = memctl(*SAID, "--json", where=one).data["id"]
    unsectioned = memctl(*SAID[:3], *SAID[5:], "--json", where=one).data["id"]
    monkeypatch.setenv("MEMCTL_AGENT", "ben")
    memctl("sync", where=two)
    assert owner(memctl, two) == "ben"
    third = two.parent / "third"
    git(two.parent, "clone", "-q", "--single-branch", str(two.parent / "bare.git"), str(third))
    told = memctl("handoff", "list", "--remote", "origin", where=third)
    assert (unsectioned in told.out, "fetches only some branches of origin" in told.err) == (False, True)
    git(third, "remote", "set-branches", "origin", "*")
    assert memctl("handoff", "list", where=third).out == ""
    assert unsectioned in memctl("handoff", "list", "--remote", "origin", where=third).out
    assert "there is no remote 'nosuch'" in memctl("handoff", "list", "--remote", "nosuch", where=third, code=2).err
    memctl("handoff", "decline", unsectioned, "--reason", "No time", where=two)
    listed = memctl("handoff", "list", where=two)
    assert listed.err == ""
    assert listed.out.startswith(f"{made}  offered  complete  claude -> ben  §2.1")
    assert listed.out.endswith("(on origin/topic)\n")
    assert f"handoff {made} from claude waits on origin/topic for your answer" in memctl("status", where=two).out
    memctl("handoff", "accept", made, where=two)
    assert memctl("handoff", "list", where=two).out == ""
    assert "waits on" not in memctl("status", where=two).out
    git(two, "switch", "-q", "-c", "other", "HEAD^")
    assert memctl("handoff", "list", where=two).out == ""  # a branch has it with its answer


@pytest.mark.parametrize(("op", "status"), [("accept", "accepted"), ("decline", "declined"), ("withdraw", "withdrawn")])
@pytest.mark.parametrize("is_shared_at_once", [True, False])
def test_answer_on_another_branch_is_taken_over_by_that_of_the_record_and_both_merge(
    memctl: Memctl, one: Path, two: Path, bare: Path, monkeypatch: pytest.MonkeyPatch, op: str, status: str,
    is_shared_at_once: bool,
) -> None:  # fmt: skip
    memctl("own", "acquire", "2.1", "--remote", "origin", where=one)
    git(one, "switch", "-q", "-c", "topic")
    git(one, "push", "-q", "-u", "origin", "topic")
    made = memctl(*SAID, "--json", where=one).data["id"]
    monkeypatch.setenv("MEMCTL_AGENT", "claude" if op == "withdraw" else "ben")
    memctl("sync", where=two)
    git(two, "fetch", "-q")
    git(two, "switch", "-q", "-c", "other")  # without an upstream
    head = git(two, "rev-parse", "HEAD")
    more = ("--remote", "origin") if is_shared_at_once else ()
    said = memctl("handoff", op, made, "--reason" if op != "accept" else "--note", "So be it", *more, where=two)
    assert said.out.startswith(f"{status if op != 'withdraw' else 'withdrew'} {made} ")
    assert f"the record of {made} is on another branch, which takes over the answer by `memctl sync`" in said.err
    assert git(two, "rev-parse", "HEAD") == head
    assert git(two, "status", "--porcelain") == ""
    assert memctl("handoff", "list", where=two).out == ""
    assert "answered" in memctl("handoff", op, made, where=two, code=1).err
    memctl("learn", "Work on it", where=two)
    git(two, "push", "-q", "-u", "origin", "other")
    memctl("sync", where=two)
    monkeypatch.setenv("MEMCTL_AGENT", "claude")
    memctl("sync", where=one)
    assert memctl("handoff", "list", "--all", where=one).out.split()[1] == status  # also before the record says so
    assert memctl("handoff", "list", where=one).out == ""
    told = memctl("sync", where=one).err
    assert f"{made} is {status}, as {'claude' if op == 'withdraw' else 'ben'} answered on another branch" in told
    assert "So be it" in memctl("show", made, where=one).out
    assert git(one, "log", "-1", "--format=%s").startswith(f"docs(memory): {op} {made}")
    assert git(one, "rev-parse", "HEAD") == git(bare, "rev-parse", "topic")
    assert memctl("sync", where=one).out.startswith("nothing to do")
    assert owner(memctl, one) == ("ben" if op == "accept" else "claude")
    git(one, "switch", "-q", "main")
    git(one, "fetch", "-q")
    for branch in ("other", "topic"):
        git(one, "merge", "-q", "--no-ff", "-m", branch, f"origin/{branch}")
    memctl("check", "--strict", "--ignore", "MEM308", where=one, code=None)
    assert memctl("handoff", "list", "--all", where=one).out.split()[1] == status


def test_owner_by_an_unpushed_record_is_told_what_brings_it(
    memctl: Memctl, one: Path, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(one, "switch", "-q", "-c", "topic")
    memctl(*SAID[:5], *SAID[7:], where=one)
    memctl("own", "acquire", "1.0", "--remote", "origin", where=one)  # takes along what the clone had not pushed
    monkeypatch.setenv("MEMCTL_AGENT", "ben")
    memctl("sync", where=two)
    err = memctl("handoff", "list", where=two).err
    assert "gave you §2.1, but no branch of this clone has its record: once claude has pushed it, `memctl sync`" in err
    git(one, "push", "-q", "origin", "topic")
    memctl("sync", where=two)
    assert "(on origin/topic)" in memctl("handoff", "list", where=two).out
