"""Both commit lanes, by the same tests, and the states of a repository in which a commit is impossible or unwanted."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from memctl.git import git as plumbing
from memctl.git.commits import Importer
from memctl.git.repository import open_repository
from tests.conftest import Memctl, changed_in, commits, git, process


def hook(repo: Path, name: str, script: str) -> None:
    file = repo / ".git" / "hooks" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def reflog(repo: Path) -> str:
    return git(repo, "reflog", "-1", "--format=%gs")


@pytest.fixture(params=["fast-import", "commit --only"])
def lane(request: pytest.FixtureRequest, repo: Path) -> str:
    """Each test runs in both lanes: a hook that agrees to everything leads into the second."""
    if request.param == "commit --only":
        hook(repo, "pre-commit", "exit 0")
    return str(request.param)


def test_commit_takes_the_expected_lane(repo: Path, memctl: Memctl, lane: str) -> None:
    memctl("decide", "One")
    assert reflog(repo).startswith("fast-import" if lane == "fast-import" else "commit")


class TestOwnHook:
    """The hook that `memctl install git` writes has nothing to say about what memctl itself commits."""

    def test_memctl_hook_alone_keeps_the_fast_lane(self, repo: Path, memctl: Memctl) -> None:
        memctl("install", "git")
        before = commits(repo)
        made = memctl("decide", "Fast")
        assert reflog(repo).startswith("fast-import")
        assert commits(repo) == before + 1
        assert changed_in(repo) == [made.out.split()[1]]
        assert git(repo, "status", "--porcelain") == ""

    def test_refusal_of_a_silent_hook_is_one_sentence(self, repo: Path, memctl: Memctl) -> None:
        hook(repo, "pre-commit", "exit 1")
        told = memctl("decide", "Refused", "--rationale", "r").err
        assert "git or a hook (pre-commit) refused the commit and gave no reason" in told
        assert "\n\n" not in told
        hook(repo, "pre-commit", "echo one >&2; echo two >&2; exit 1")
        memctl("decide", "Again", "--rationale", "r")
        pending = [line for line in memctl("status", code=None).out.splitlines() if line.startswith("pending")]
        assert any("refused the commit: one two" in line for line in pending), pending
        assert not any("\\n" in line for line in pending)

    def test_user_hook_called_by_the_memctl_hook_runs(self, repo: Path, memctl: Memctl) -> None:
        hook(repo, "pre-commit", "echo ran > .git/ran; exit 1")
        memctl("install", "git")
        before = commits(repo)
        assert "refused the commit" in memctl("decide", "Refused").err
        assert commits(repo) == before
        assert (repo / ".git" / "ran").exists()
        (repo / ".git" / "hooks" / "pre-commit.before-memctl").write_text("#!/bin/sh\nexit 0\n")
        memctl("commit")
        assert commits(repo) == before + 1
        assert reflog(repo).startswith("commit")

    def test_user_hook_beside_the_memctl_hook_runs(self, repo: Path, memctl: Memctl) -> None:
        memctl("install", "git")
        hook(repo, "post-commit", "echo ran > .git/ran")
        memctl("decide", "Told")
        assert (repo / ".git" / "ran").exists()

    @pytest.mark.parametrize("name", ["pre-merge-commit", "post-merge", "post-rewrite", "pre-push"])
    def test_hooks_that_no_commit_runs_keep_the_fast_lane(self, repo: Path, memctl: Memctl, name: str) -> None:
        hook(repo, name, "exit 1")
        memctl("decide", "Fast")
        assert reflog(repo).startswith("fast-import")

    def test_installed_pre_commit_hook_runs_after_being_edited(self, repo: Path, memctl: Memctl) -> None:
        memctl("install", "git")
        file = repo / ".git" / "hooks" / "pre-commit"
        file.write_text(file.read_text().replace("#!/bin/sh\n", "#!/bin/sh\necho ran > .git/ran\n"))
        memctl("decide", "Told")
        assert (repo / ".git" / "ran").exists()

    def test_moved_memctl_hook_counts_as_a_user_hook(self, repo: Path, memctl: Memctl) -> None:
        memctl("install", "git")
        (repo / ".git" / "hooks").rename(repo.parent / "hooks")
        git(repo, "config", "core.hooksPath", str(repo.parent / "hooks"))
        memctl("decide", "Slow")
        assert reflog(repo).startswith("commit")

    def test_unreadable_pre_commit_hook_counts_as_the_users(self, repo: Path, memctl: Memctl) -> None:
        (repo / ".git" / "hooks" / "pre-commit").mkdir(parents=True)
        assert "commit pending" in memctl("decide", "Odd").err


@pytest.mark.usefixtures("lane")
class TestBothLanes:
    def test_commit_leaves_staged_dirty_and_untracked_files_alone(self, repo: Path, memctl: Memctl) -> None:
        (repo / "app.py").write_text("print('staged')\n")
        git(repo, "add", "app.py")
        (repo / "app.py").write_text("print('and dirty')\n")
        (repo / "untracked.txt").write_text("mine\n")
        (repo / "added.txt").write_text("added\n")
        git(repo, "add", "-N", "added.txt")
        status, staged = git(repo, "status", "--porcelain"), git(repo, "diff", "--cached")
        made = memctl("decide", "Keep out of my index")
        assert changed_in(repo) == [made.out.split()[1]]
        assert git(repo, "status", "--porcelain") == status
        assert git(repo, "diff", "--cached") == staged

    def test_edit_and_delete_are_one_commit_each(self, repo: Path, memctl: Memctl) -> None:
        made = memctl("learn", "Short-lived")
        before = commits(repo)
        memctl("edit", made.id, "--add", "tags=x")
        memctl("delete", made.id, "--reason", "wrong")
        assert commits(repo) == before + 2
        assert git(repo, "status", "--porcelain") == ""
        assert not (repo / ".memory" / "learnings").exists()

    def test_record_is_committed_in_a_subfolder(self, repo: Path, memctl: Memctl) -> None:
        (repo / "src" / "deep").mkdir(parents=True)
        made = memctl("decide", "From below", where=repo / "src" / "deep")
        assert changed_in(repo) == [made.out.split()[1]]

    def test_record_is_committed_in_a_linked_worktree(self, repo: Path, memctl: Memctl) -> None:
        other = repo.parent / "other tree"
        git(repo, "worktree", "add", "-q", "-b", "side", str(other))
        one = memctl("decide", "Here")
        two = memctl("decide", "There", where=other)
        assert [one.id, two.id] == ["DEC-2025-11-04-001", "DEC-2025-11-04-002"]
        assert git(repo, "log", "-1", "--format=%s", "side").startswith("docs(memory): decide DEC-2025-11-04-002")
        assert git(other, "status", "--porcelain") == git(repo, "status", "--porcelain") == ""

    def test_record_is_committed_on_a_detached_head(self, repo: Path, memctl: Memctl) -> None:
        git(repo, "checkout", "-q", "--detach")
        main = git(repo, "rev-parse", "main")
        memctl("decide", "Nowhere")
        assert git(repo, "rev-parse", "main") == main
        assert git(repo, "rev-parse", "HEAD^") == main
        assert git(repo, "status", "--porcelain") == ""

    def test_record_is_committed_with_an_index_of_version_4(self, repo: Path, memctl: Memctl) -> None:
        git(repo, "update-index", "--index-version", "4")
        memctl("decide", "Compressed")
        assert git(repo, "status", "--porcelain") == ""
        assert (repo / ".git" / "index").read_bytes()[7] == 4

    def test_record_is_committed_in_a_sparse_checkout(self, repo: Path, memctl: Memctl) -> None:
        (repo / "big").mkdir()
        (repo / "big" / "file").write_text("x\n")
        git(repo, "add", "big")
        git(repo, "commit", "-qnm", "big")
        git(repo, "sparse-checkout", "set", "--cone", ".memory")
        made = memctl("decide", "Sparse")
        assert changed_in(repo) == [made.out.split()[1]]
        assert git(repo, "status", "--porcelain") == ""
        assert not (repo / "big").exists()
        assert "big/file" in git(repo, "ls-tree", "-r", "--name-only", "HEAD")

    def test_record_is_committed_with_converted_line_ends(self, repo: Path, memctl: Memctl) -> None:
        git(repo, "config", "core.autocrlf", "true")
        made = memctl("decide", "Windows", "--rationale", "one\ntwo")
        assert git(repo, "status", "--porcelain") == ""
        assert "\r" not in git(repo, "show", f"HEAD:{made.out.split()[1]}")

    def test_record_is_committed_below_paths_with_spaces_and_accents(self, repo: Path, memctl: Memctl) -> None:
        folder = repo / 'Größe "x" [a] ノート'
        folder.mkdir()
        memctl("init", "--here", where=folder)
        made = memctl("decide", "Umlaute", where=folder)
        memctl("edit", made.id, "--add", "tags=ö", where=folder)
        assert changed_in(repo)[0].startswith(folder.name)
        assert git(repo, "status", "--porcelain") == ""
        assert [r["tags"] for r in memctl("list", "--json", where=folder).data["records"]] == [["ö"]]

    def test_missing_git_identity_is_reported_and_the_record_is_kept(
        self, repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"):
            monkeypatch.delenv(name)
        git(repo, "config", "user.useConfigOnly", "true")
        made = memctl("decide", "Anonymous")
        assert "commit pending: Git does not know who you are" in made.err
        assert "user.name" in made.err
        git(repo, "config", "user.name", "Bob")
        git(repo, "config", "user.email", "bob@example.org")
        memctl("commit")
        assert git(repo, "log", "-1", "--format=%an %s") == "Bob docs(memory): decide DEC-2025-11-04-001 Anonymous\n"
        assert git(repo, "status", "--porcelain") == ""

    @pytest.mark.parametrize("state", ["MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "BISECT_LOG"])
    def test_record_stays_pending_during_a_git_operation(self, repo: Path, memctl: Memctl, state: str) -> None:
        (repo / ".git" / state).write_text(git(repo, "rev-parse", "HEAD"))
        before = git(repo, "rev-parse", "HEAD")
        made = memctl("decide", "Wait for it", "--reason", "because")
        assert "is under way" in made.err
        assert git(repo, "diff", "--cached", "--name-only") == ""
        assert git(repo, "rev-parse", "HEAD") == before
        assert [p["op"] for p in memctl("status", "--json").data["pending"]] == ["decide"]
        (repo / ".git" / state).unlink()
        memctl("issue", "The next write makes it")
        subjects = git(repo, "log", "-2", "--format=%s").splitlines()
        assert [s.split()[1] for s in subjects] == ["issue", "decide"]
        assert "Memctl-Reason: because" in git(repo, "log", "-1", "--skip=1", "--format=%b")

    def test_write_inside_a_hook_leaves_the_record_pending(
        self, repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = commits(repo)
        monkeypatch.setenv("GIT_INDEX_FILE", str(repo / ".git" / "index"))
        made = memctl("decide", "From a hook")
        assert "called by a Git hook" in made.err
        assert commits(repo) == before
        monkeypatch.delenv("GIT_INDEX_FILE")
        memctl("commit")
        assert commits(repo) == before + 1

    def test_ignored_memory_is_not_committed(self, repo: Path, memctl: Memctl) -> None:
        (repo / ".gitignore").write_text(".memory/decisions/\n")
        git(repo, "add", ".gitignore")
        git(repo, "commit", "-qnm", "ignore")
        before = commits(repo)
        made = memctl("decide", "Hidden")
        assert "Git ignores" in made.err
        assert commits(repo) == before
        assert [r["title"] for r in memctl("list", "--json").data["records"]] == ["Hidden"]


def test_negated_ignore_rule_ignores_nothing(repo: Path, memctl: Memctl) -> None:
    (repo / ".gitignore").write_text("*.md\n!.memory/**\n")
    assert "commit pending" not in memctl("decide", "Seen").err


def test_tracked_record_is_committed_despite_an_ignore_rule(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Known")
    (repo / ".gitignore").write_text(".memory/\n")
    before = commits(repo)
    memctl("edit", made.id, "--add", "tags=x")
    assert commits(repo) == before + 1


def test_record_is_committed_before_the_first_commit(tmp_path: Path, memctl: Memctl) -> None:
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q", "-b", "trunk")
    (fresh / "staged.txt").write_text("mine\n")
    git(fresh, "add", "staged.txt")
    memctl("init", where=fresh)
    memctl("decide", "First", where=fresh)
    assert commits(fresh) == 2
    assert git(fresh, "status", "--porcelain") == "A  staged.txt\n"


@pytest.mark.parametrize("hooked", [False, True])
def test_record_is_committed_in_a_sha256_repository(tmp_path: Path, memctl: Memctl, hooked: bool) -> None:
    fresh = tmp_path / "sha256"
    fresh.mkdir()
    git(fresh, "init", "-q", "--object-format=sha256", "-b", "main")
    if hooked:
        hook(fresh, "pre-commit", "exit 0")
    memctl("init", where=fresh)
    made = memctl("decide", "Longer hashes", where=fresh)
    memctl("edit", made.id, "--add", "tags=x", where=fresh)
    assert len(memctl("log", made.id, "--json", where=fresh).data["commits"]) == 2
    assert memctl("show", made.id, "--at", "HEAD~1", "--json", where=fresh).data["records"][0]["tags"] == []


def test_command_outside_of_a_repository_is_refused_with_a_hint(tmp_path: Path, memctl: Memctl) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    failed = memctl("list", where=alone, code=1)
    assert failed.out == ""
    assert "error: " in failed.err
    assert "memctl init --git" in failed.err
    memctl("init", "--git", where=alone)
    assert commits(alone) == 1


@pytest.mark.parametrize("args", [("list",), ("init",), ("init", "--git")])
def test_bare_repository_is_refused_and_left_unchanged(memctl: Memctl, tmp_path: Path, args: tuple[str, ...]) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "init", "--quiet", "--bare", str(bare))
    before = sorted(bare.iterdir())
    failed = memctl(*args, where=bare, code=1)
    assert "is a bare repository" in failed.err
    assert "in a clone" in failed.err
    assert sorted(bare.iterdir()) == before


def test_refusal_of_a_hook_leaves_the_record_on_the_disk(repo: Path, memctl: Memctl) -> None:
    hook(repo, "commit-msg", "echo 'we only take haiku' >&2; exit 1")
    (repo / "mine.txt").write_text("x\n")
    git(repo, "add", "mine.txt")
    before = commits(repo)
    made = memctl("decide", "Prose")
    assert "we only take haiku" in made.err
    assert "memctl.verify" in made.err
    assert commits(repo) == before
    assert git(repo, "diff", "--cached", "--name-only") == "mine.txt\n"
    assert memctl("commit", code=1).out.startswith("pending")
    git(repo, "config", "memctl.verify", "false")
    memctl("commit")
    assert commits(repo) == before + 1
    assert git(repo, "diff", "--cached", "--name-only") == "mine.txt\n"


def test_user_hooks_see_only_the_record(repo: Path, memctl: Memctl) -> None:
    hook(repo, "pre-commit", "git diff --cached --name-only > seen")
    (repo / "mine.txt").write_text("x\n")
    git(repo, "add", "mine.txt")
    made = memctl("decide", "Seen")
    seen = (repo / "seen").read_text().split()
    assert [path for path in seen if "/docs/" not in path] == [made.out.split()[1]]


def test_commit_is_signed_if_git_is_set_to_sign(repo: Path, memctl: Memctl) -> None:
    signer = repo.parent / "signer"
    signer.write_text("#!/bin/sh\ncat >/dev/null\necho '[GNUPG:] SIG_CREATED ' >&2\necho 'a signature'\n")
    signer.chmod(0o755)
    git(repo, "config", "gpg.program", str(signer))
    git(repo, "config", "commit.gpgsign", "true")
    memctl("decide", "Signed")
    assert "gpgsig a signature" in git(repo, "cat-file", "commit", "HEAD")


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen here")
def test_signature_of_a_commit_verifies(repo: Path, memctl: Memctl) -> None:
    key = repo.parent / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    (repo.parent / "allowed").write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
    git(repo, "config", "gpg.format", "ssh")
    git(repo, "config", "user.signingkey", str(key))
    git(repo, "config", "gpg.ssh.allowedSignersFile", str(repo.parent / "allowed"))
    git(repo, "config", "commit.gpgsign", "true")
    memctl("decide", "Signed")
    assert git(repo, "log", "-1", "--format=%G?") == "G\n"


def test_filter_of_gitattributes_is_applied(repo: Path, memctl: Memctl) -> None:
    git(repo, "config", "filter.upper.clean", "tr a-z A-Z")
    git(repo, "config", "filter.upper.smudge", "cat")
    (repo / ".gitattributes").write_text("*.md filter=upper\n")
    made = memctl("decide", "Filtered")
    assert "TITLE: FILTERED" in git(repo, "show", f"HEAD:{made.out.split()[1]}")


def test_branch_that_moves_meanwhile_is_never_rewound(repo: Path) -> None:
    repository = open_repository(repo)
    branch, parent = repository.branch()
    git(repo, "commit", "-q", "--allow-empty", "-m", "somebody else's")
    tip = git(repo, "rev-parse", "HEAD")
    identity = "Ada <ada@example.org> 1762266720 +0000"
    importer = Importer(repository)
    importer.write_commit(branch, parent, {".memory/x.md": b"x"}, "late", [identity] * 2)
    with pytest.raises(plumbing.GitFailed):
        importer.finish()
    assert git(repo, "rev-parse", "HEAD") == tip


def test_commit_waits_for_a_locked_index(repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memctl.git.commits._LOCK_PATIENCE", 0.2)
    lock = repo / ".git" / "index.lock"
    lock.touch()
    before = commits(repo)
    made = memctl("decide", "Locked out")
    assert "locked the index" in made.err
    assert f"rm '{lock}'" in made.err
    assert commits(repo) == before
    assert str(lock) in memctl("status").out
    assert list((repo / ".git").rglob("fast_import_crash*")) == list((repo / ".git").rglob("tmp_*")) == []
    lock.unlink()
    memctl("commit")
    assert commits(repo) == before + 1
    assert git(repo, "status", "--porcelain") == ""


def test_eight_writers_make_eight_commits(repo: Path) -> None:
    before = commits(repo)
    running = [process(repo, "decide", f"Writer {number}") for number in range(8)]
    ended = [(writer.wait(), writer.communicate()) for writer in running]
    assert [code for code, _ in ended] == [0] * 8, [err for _, (_, err) in ended]
    assert len({out.split()[0] for _, (out, _) in ended}) == 8
    assert commits(repo) == before + 8
    assert git(repo, "status", "--porcelain") == ""
    assert git(repo, "fsck", "--strict") == ""


def test_writes_beside_the_users_commits_lose_nothing(repo: Path) -> None:
    before = commits(repo)
    running = [process(repo, "learn", f"Lesson {number}") for number in range(6)]
    for number in range(6):
        (repo / f"mine{number}.txt").write_text("x\n")
        while git(repo, "ls-files", f"mine{number}.txt") == "":
            git(repo, "add", f"mine{number}.txt", check=False)
        while git(repo, "diff", "--cached", "--name-only", f"mine{number}.txt"):
            git(repo, "commit", "-qm", f"mine {number}", check=False)
    assert [writer.wait() for writer in running] == [0] * 6
    process(repo, "commit").wait()
    files = git(repo, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    assert len([name for name in files if "/LRN-" in name]) == 6
    assert len([name for name in files if name.startswith("mine")]) == 6
    assert git(repo, "status", "--porcelain") == ""
    assert commits(repo) >= before + 7


def test_git_runs_without_a_hooks_environment_variables(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", os.devnull)
    monkeypatch.setenv("GIT_WORK_TREE", "/")
    assert memctl("status", "--json").data["project"] == "shop"
