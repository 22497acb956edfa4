"""The repository around a memory: its folders, its branch and unfinished operations, and its settings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from memctl.errors import MemctlError
from memctl.git import git, private_files
from memctl.text.lazy_regex import lazy_regex
from memctl.text.light_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memctl.git.coprocess import AnsweringProcess
    from memctl.git.filters import Filters
    from memctl.git.git import Process
    from memctl.git.objects import Objects

# Files of the Git directory while an operation is under way in which a commit of ours would be an accident.
_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
    "SQUASH_MSG": "a squash merge",  # its message would be lost
}
UNDER_WAY = " is under way"  # the end of a CommitPending's reason during such an operation
COMMIT_HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg", "post-commit")
# Hooks run by steps of a commit: writing the index, moving the branch, collecting garbage.
_OTHER_HOOKS = ("post-index-change", "reference-transaction", "pre-auto-gc")
_BRANCH_PREFIXES = ("branch.", "remote.")  # of the settings of branches' upstreams and of remotes
_SETTINGS = (
    "core.hookspath",
    "core.attributesfile",
    "commit.gpgsign",
    "i18n.commitencoding",
    "user.name",
    "user.email",
    "gc.auto",
    "merge.verifysignatures",
    "push.default",
)
_OWN_PREFIX = "memctl."  # how the names of memctl's own settings begin
_INCLUDES = lazy_regex(r"^\s*\[include(?:if\s|\])", re.IGNORECASE | re.MULTILINE)
_PARTIAL_CLONE = lazy_regex(r"^\s*(?:promisor\s*(?:=\s*true\s*)?|partialclone\s*=.*)$", re.IGNORECASE | re.MULTILINE)
_REMOTE = lazy_regex(r"^\s*\[remote\s+\"[^\n]*\"\][^\[]*?\burl\s*=", re.IGNORECASE | re.MULTILINE)
_PATTERN = "|".join([*(f"{name}$" for name in _SETTINGS), _OWN_PREFIX, *_BRANCH_PREFIXES]).replace(".", "[.]")
_LISTING = ("config", "-z", "--get-regexp", f"^({_PATTERN})")
INDEX_NOTE = "index-note"  # the file in `Repository.private` with the text of memctl's lock on the index
_DIGITS = (40, 64)  # of a commit's id, by SHA-1 and SHA-256


class Repository:
    """A worktree of a Git repository.

    `top` is the worktree's root, `git_dir` its own Git directory, `common_dir` the one that all worktrees share.
    """

    def __init__(self, top: Path, git_dir: Path, common_dir: Path) -> None:
        self.top = top
        self.git_dir = git_dir
        self.common_dir = common_dir
        self._settings: dict[str, str] | None = None
        self._listing: Process | None = None  # a running Git command that lists the settings
        # Waits for another Git command that prints the settings too, and adds them here.
        self.variables: Callable[[], object] | None = None
        # Waits for another Git command, and returns the settings that git.traced_settings reads of its events.
        self.traced: Callable[[], Mapping[str, str] | None] | None = None

    @cached_property
    def objects(self) -> Objects:
        """The reader of the repository's commits, trees and blobs."""
        from memctl.git.objects import Objects  # most hooks of agents read no objects

        return Objects(self.top)

    @cached_property
    def filters(self) -> Filters:
        """Which files have a filter in Git, and their texts."""
        from memctl.git.filters import Filters  # most hooks of agents need it not

        return Filters(self.top, self.common_dir, self.settings)

    @cached_property
    def hashes(self) -> AnsweringProcess:
        """A Git process that is asked for blob ids of the worktree's files, also of files that are not in Git."""
        from memctl.git.coprocess import AnsweringProcess

        return AnsweringProcess(("hash-object", "--stdin-paths"), self.top)

    def close(self) -> None:
        """End the processes of this repository; a later query starts them again."""
        for process in map(vars(self).get, ("objects", "hashes", "filters")):
            if process is not None:
                process.close()

    @cached_property
    def private(self) -> Path:
        """memctl's folder in this worktree's own Git directory, with caches and pending changes."""
        return self.git_dir / "memctl"

    def private_of(self, prefix: str) -> Path:
        """Return the folder inside `private` for one memory.

        `prefix` is the path of that memory's `.memory/` folder, relative to the worktree's top.
        """
        return self.private / prefix.replace("%", "%25").replace("/", "%2F")

    @cached_property
    def shared(self) -> Path:
        """memctl's folder in the Git directory that all worktrees share: lock, id counters, retrieval counts."""
        return self.common_dir / "memctl"

    def worktrees(self) -> list[Path]:
        """Return the roots of all worktrees of this clone, including deleted ones.

        They are read from `worktrees/*/gitdir` in the Git directory (gitrepository-layout(5)).
        """
        main = self.common_dir.parent if self.common_dir.name == ".git" else self.common_dir
        folders = [main]
        for file in sorted((self.common_dir / "worktrees").glob("*/gitdir")):
            with suppress(OSError):
                folders.append((file.parent / os.fsdecode(file.read_bytes()).rstrip("\n")).parent)
        return folders

    @cached_property
    def null_id(self) -> str:
        """The id that Git writes for "no object": zeros, as many as an id of this repository has digits."""
        return "0" * _DIGITS[self.own_setting("extensions.objectformat") == "sha256"]

    @property
    def has_remote(self) -> bool:
        """Whether the clone has a remote with an address; Git is only asked if its config file includes others."""
        config = self.own_config()
        if _REMOTE.search(config) or not _INCLUDES.search(config):
            return _REMOTE.search(config) is not None
        return any(key.startswith("remote.") and key.endswith(".url") for key in self.settings())

    def shallow(self) -> frozenset[str]:
        """Return the commits with which the history of a shallow clone begins; none in a full clone."""
        try:
            return frozenset((self.common_dir / "shallow").read_text("ascii").split())
        except OSError:
            return frozenset()

    @property
    def is_partial(self) -> bool:
        """Whether Git fetches contents only when they are needed: a clone made with --filter."""
        return _PARTIAL_CLONE.search(self.own_config()) is not None

    def branch(self) -> tuple[str, str]:
        """Return HEAD's branch (refs/heads/…, "" if detached) and its commit ("" before the first one).

        They are read from files (gitrepository-layout(5)), which saves a process.
        """
        head = self.git_dir / "HEAD"
        with suppress(OSError):
            kind, _, name = os.fsdecode(head.read_bytes()).rstrip("\n").partition(": ")
            if kind == "ref" and name.startswith("refs/heads/"):
                commit = self._loose_ref(name) or self._packed_ref(name)
                if _is_commit(commit):  # it is not the name of another branch
                    return name, commit
            elif _is_commit(kind):
                return "", kind
        try:
            out = os.fsdecode(git.read(["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"], self.top))
        except git.GitFailed:
            return os.fsdecode(git.read(["symbolic-ref", "HEAD"], self.top)).rstrip("\n"), ""
        commit, name = out.rstrip("\n").split("\n")
        return ("" if name == "HEAD" else name), commit

    def _loose_ref(self, name: str) -> str:
        with suppress(FileNotFoundError, NotADirectoryError):
            return (self.common_dir / name).read_bytes().strip().decode("ascii", "replace")
        return ""

    def _packed_ref(self, name: str) -> str:
        """`git pack-refs` (or `gc`) puts refs into one file."""
        try:
            packed = (self.common_dir / "packed-refs").read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return ""
        end = packed.find(b" " + os.fsencode(name) + b"\n")
        return packed[packed.rfind(b"\n", 0, end) + 1 : end].decode("ascii", "replace") if end >= 0 else ""

    def default_branch(self, remote: str) -> str:
        """Return the branch that was a remote's default when this clone was made, such as "main"; "" if unknown."""
        ref = git.try_read(["symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD"], self.top)
        return os.fsdecode(ref or b"").strip().removeprefix(f"refs/remotes/{remote}/")

    def tip(self, ref: str) -> str:
        """Return the commit that a ref points to, "" if there is no such ref; files are read, which saves a process.

        Raises MemctlError for a broken ref, whose file has no commit.
        """
        file = self.common_dir / ref
        try:
            text: str | None = file.read_bytes().strip().decode("ascii", "replace")
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            text = None
        except OSError as error:
            raise MemctlError(f"{file} can't be read: {error.strerror}") from None
        if text is not None and _is_commit(text):
            return text
        if text is None and not (self.common_dir / "reftable").is_dir():
            return self._packed_ref(ref)
        commit = git.try_read(["rev-parse", "--verify", "--quiet", ref], self.top)
        if commit is None and text is not None:
            raise self._broken(ref, file)
        return (commit or b"").decode().strip()

    def _broken(self, ref: str, file: Path) -> MemctlError:
        """After a power failure a ref's file may be empty; its log has the last commit."""
        try:
            last = (self.common_dir / "logs" / ref).read_text(errors="replace").splitlines()[-1].split()[1]
        except (OSError, IndexError):
            last = "COMMIT"
        return MemctlError(
            f"the ref {ref} is damaged: {file} names no commit",
            f"delete {file}, then run `git update-ref {ref} {last}`",
        )

    def resolve(self, revision: str) -> str:
        """Return the id of the commit that a revision names; raises MemctlError if it names none."""
        args = ["rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"]
        commit = None if revision.startswith("^") else git.try_read(args, self.top)
        if commit is None:
            hint = "give a commit, a branch or a tag; `memctl log` lists commits"
            if self.shallow():
                hint = "this clone is shallow: `git fetch --unshallow` fetches the commits that it lacks"
            raise MemctlError(f"this repository has no revision {revision!r}", hint)
        return commit.decode().strip()

    def merge_bases(self, *args: str) -> list[str]:
        """Return the merge bases that `git merge-base` gives for some commits, [] if they have no common history.

        `args` are the ids of the commits, and options such as `--all`.
        """
        try:
            return git.read(["merge-base", *args], self.top).decode().split()
        except git.GitFailed as error:
            if error.code == 1:
                return []
            raise

    def has_head(self) -> bool:
        """Return whether HEAD has a commit; False before the repository's first one."""
        try:
            return bool(self.branch()[1])
        except git.GitFailed:
            return False

    def index_in_use(self) -> dict[str, str]:
        """Return {"GIT_INDEX_FILE": path} inside a Git hook of this repository that has an index of its own, else {}.

        Git runs hooks with another index than the worktree's during `git commit --only`, for example. A hook of another
        repository may have called memctl for this one.
        """
        name = os.environ.get("GIT_INDEX_FILE", "")
        if not name:
            return {}
        from memctl.git import locks  # seldom needed

        file = Path(name) if os.path.isabs(name) else (locks.folder_of_calling_git() or self.top) / name
        owner = next((folder for folder in file.parents if (folder / "HEAD").is_file()), self.git_dir)
        is_ours = Path(os.path.realpath(owner)) in (self.git_dir, self.common_dir)
        return {"GIT_INDEX_FILE": str(file)} if is_ours else {}

    def commit_above(self) -> bool:
        """Return whether this process was called by a hook of a commit that Git or memctl makes in this repository."""
        return bool(self.index_in_use()) or private_files.is_held_by(self.shared / "lock", git.committing_process())

    def under_way(self) -> str:
        """Return the unfinished operation that forbids a commit now, such as "a merge"; "" if there is none."""
        for name, operation in _UNDER_WAY.items():
            if (self.git_dir / name).exists():
                return operation
        return ""

    def is_moving(self) -> bool:
        """Return whether a rebase, a bisection or the like is unfinished: it may fail if tracked files are changed.

        A merge does not count: it can be concluded whatever else has changed.
        """
        return self.under_way() not in ("", _UNDER_WAY["MERGE_HEAD"], _UNDER_WAY["SQUASH_MSG"])

    def is_over(self, why: str) -> bool:
        """Return whether the merge, rebase or the like that prevented a commit has ended by now.

        `why` is the reason given by a CommitPending, such as "a merge is under way". The result is False for a reason
        of another kind.
        """
        return why.endswith(UNDER_WAY) and why != self.under_way() + UNDER_WAY

    def is_merging(self) -> bool:
        """Return whether a merge waits for its `git commit`."""
        return (self.git_dir / "MERGE_HEAD").exists()

    def merging(self) -> list[str]:
        """Return the ids of the commits that an unfinished merge merges into HEAD."""
        with suppress(OSError):
            return (self.git_dir / "MERGE_HEAD").read_text().split()
        return []

    def ask_settings(self) -> None:
        """Start the Git command that lists the settings, without waiting for it; the method `settings` waits."""
        if self._settings is None and self._listing is None:
            self._listing = git.start(_LISTING, self.top)

    def settings(self) -> dict[str, str]:
        """Return the Git settings on which a commit depends, by keys in lower case; Git is asked only once."""
        if self._settings is None and self._listing is None and self.variables:
            self.variables()
        self.ask_settings()
        if self._settings is None:
            assert self._listing is not None
            try:
                out = os.fsdecode(git.finish(self._listing, _LISTING))
            except git.GitFailed:
                out = ""  # none of these is set
            pairs = (item.partition("\n") for item in out.split("\0") if item)
            self.add_settings({key: value for key, _, value in pairs})
        assert self._settings is not None
        return self._settings

    def setting(self, key: str) -> str | None:
        """Return the value of Git's setting `key`, given in lower case; None if it is not set.

        No Git command is started if the settings were printed by another one, as described in `git.traced_settings`.
        """
        if self.traced and (value := self.traced()) is not None:
            return value.get(key)
        return self.settings().get(key)

    def own_setting(self, key: str) -> str:
        """Return the last value of a setting in the clone's own config file, "" if it is not set.

        The file is read without Git, for hooks that ask at every call; included files are not read.
        """
        wanted, _, name = key.lower().rpartition(".")
        section, found = "", ""
        for line in self.own_config().splitlines():
            line = line.strip()
            if line.startswith("["):
                section = line.lower()
            elif section == f"[{wanted}]":
                variable, _, value = line.partition("=")
                found = value.strip() if variable.strip().lower() == name else found
        return found

    def own_config(self) -> str:
        """Return the text of the clone's own config file; "" if it can't be read."""
        try:
            return (self.common_dir / "config").read_text("utf-8", "replace")
        except OSError:
            return ""

    @property
    def branch_settings(self) -> dict[str, str]:
        """Git's settings of branches and remotes, by keys such as `branch.main.merge`."""
        return {name: value for name, value in self.settings().items() if name.startswith(_BRANCH_PREFIXES)}

    def remotes(self) -> list[str]:
        """Return the names of the remotes, as `git remote` lists them."""
        names = (
            key.removeprefix("remote.").rpartition(".")[0] for key in self.branch_settings if key.startswith("remote.")
        )
        return sorted({name for name in names if name})

    def add_settings(self, variables: Mapping[str, str]) -> None:
        """Add Git settings that another command printed (values by keys in any case), so that Git need not list them.

        Names of branches and remotes in the keys keep their case.
        """
        known = {n if n.startswith(_BRANCH_PREFIXES) else n.lower(): value for n, value in variables.items()}
        wanted = (_OWN_PREFIX, *_BRANCH_PREFIXES)
        self._settings = {name: value for name, value in known.items() if name in _SETTINGS or name.startswith(wanted)}

    def flag(self, key: str, default: bool = False) -> bool:
        """Return whether a boolean setting is on; `default` if it is not set."""
        value = self.settings().get(key)
        return default if value is None else value.lower() not in ("false", "no", "off", "0")

    def hooks_folder(self) -> Path:
        """Return the folder in which Git looks for hooks."""
        configured = self.settings().get("core.hookspath")
        return self.top / os.path.expanduser(configured) if configured else self.common_dir / "hooks"

    def hooks_of_commit(self) -> list[Path]:
        """Return the files of all executable hooks that Git may run when memctl makes a commit.

        Besides pre-commit and the like, these are the hooks for a written index, a moved ref and garbage collection.
        """
        folder = self.hooks_folder()
        return [folder / name for name in (*COMMIT_HOOKS, *_OTHER_HOOKS) if os.access(folder / name, os.X_OK)]


def _is_commit(name: str) -> bool:
    return len(name) in _DIGITS and name.isalnum()


def find_top(start: Path) -> Path:
    """Return the root of the worktree that contains `start`; raises MemctlError outside of a worktree."""
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / ".git").exists():
            return folder
    if folders := git.folders_by_environment(start):
        return folders[1]
    refuse_bare(start)
    if os.environ.get("GIT_DIR"):
        raise MemctlError(
            f"{start} is not in a worktree of the Git repository that GIT_DIR names, {os.environ['GIT_DIR']}",
            "set GIT_WORK_TREE to the folder that this repository keeps, or unset GIT_DIR",
        )
    raise MemctlError(
        f"{start} is not in the worktree of a Git repository",
        "memctl keeps a memory in Git: run `git init` first, or `memctl init --git`",
    )


def refuse_bare(start: Path) -> None:
    """Raise MemctlError in a bare repository, which has no worktree for a memory."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir():
            raise MemctlError(
                f"{folder} is a bare repository, which has no worktree for a memory", "run memctl in a clone"
            )


def _refuse_hub(repository: Repository) -> None:
    """Only the linked worktrees of a folder whose `.git` is bare have files."""
    if git.folders_by_environment(repository.top):
        return
    names = ", ".join(str(folder) for folder in repository.worktrees()[1:] if folder.is_dir())
    raise MemctlError(
        f"the Git repository of {repository.top} is bare, so this folder has no files of it",
        f"run memctl in one of its worktrees: {names}" if names else "make a worktree by `git worktree add`",
    )


def open_repository(start: Path) -> Repository:
    """Return the repository whose worktree contains `start`; raises MemctlError outside of a worktree.

    Its folders are read from files (gitrepository-layout(5)), which saves a process.
    """
    top = find_top(start)
    git_dir = top / ".git"
    if not git_dir.exists() and (folders := git.folders_by_environment(top)):
        git_dir = folders[0]
    if git_dir.is_file():  # a linked worktree or a submodule
        kind, _, target = os.fsdecode(git_dir.read_bytes()).strip().partition(": ")
        git_dir = top / target
        if kind != "gitdir" or not git_dir.is_dir():
            raise MemctlError(
                f"{top / '.git'} does not lead to a Git repository",
                "if this is a linked worktree, run `git worktree repair` in the main one",
            )
    try:
        common = git_dir / os.fsdecode((git_dir / "commondir").read_bytes()).strip()
    except FileNotFoundError:
        common = git_dir
    repository = Repository(top, git_dir.resolve(), common.resolve())
    if repository.git_dir == repository.common_dir and repository.own_setting("core.bare") == "true":
        _refuse_hub(repository)
    for folder in {repository.private, repository.shared}:
        private_files.make_private(folder)
    return repository
