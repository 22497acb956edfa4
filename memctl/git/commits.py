"""Commits of some paths and nothing else, in one of two ways ("lanes").

- The fast lane stages the paths and adds the commit with `git fast-import`. It runs no hooks, does not sign, and takes
  15 ms in a repository of 20,000 files, where `git commit --only` takes 67 ms.
- The `commit --only` lane is used for all that the fast lane can't do: hooks other than memctl's own, signing,
  filters, or a detached HEAD.

In both lanes the user's index stays as it is, and locked, until the branch has moved (`git.index_lock`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from functools import cached_property, partial
from pathlib import Path

import msgspec

from memctl.git import git, index_lock, locks
from memctl.git.index_lock import IndexLock
from memctl.git.repository import COMMIT_HOOKS, UNDER_WAY, Repository
from memctl.text.lazy_regex import lazy_regex

_LOCK_PATIENCE = index_lock.PATIENCE  # seconds to wait for another git process that holds a lock
# Git's messages about a branch that moved meanwhile (fast-import.c, refs/files-backend.c), which are not translated.
_RACES = lazy_regex(r"Not updating refs/|is at [0-9a-f]{40,64} but expected [0-9a-f]{40,64}|reference already exists")
# Either a hook emptied the message, or another commit did, since two at the same moment share the file COMMIT_EDITMSG.
_EMPTIED = "Aborting commit due to empty commit message"  # builtin/commit.c
_LOOSE_LIMIT = 27  # files in objects/17 at which git itself would collect garbage (6,700 / 256, `gc.auto`)


class CommitPending(Exception):
    """Raised if a commit can't be made now: `why` is the reason, and `hint` says what to do.

    The files that were to be committed stay on the disk as they are.
    """

    def __init__(self, why: str, hint: str = "run `memctl commit` to try again") -> None:
        super().__init__(why)
        self.why = why
        self.hint = hint


class AllPending(CommitPending):
    """Raised if no commit at all can be made now, whatever it contains."""


class BranchMoved(CommitPending):
    """Raised if the branch moved while a commit was being made; the caller tries again on the new tip."""

    def __init__(
        self, why: str = "another process committed at the same moment", hint: str = "run `memctl commit`"
    ) -> None:
        super().__init__(why, hint)


def commit(
    repository: Repository,
    files: Mapping[str, bytes | None],
    message: str,
    prepared: Preparation,
    *,
    by_agent: bool = False,
) -> NewCommit:
    """Commit `files` to the current branch, and return the new commit.

    `files` are bytes by path, None for a deletion; paths are relative to the worktree's top, and the bytes must be
    those on the disk. `prepared` holds Git commands that were started for these paths; this function ends them.
    `by_agent` says that an agent makes the commit, not a person. Raises CommitPending if Git or the user's hooks refuse
    the commit, and for an agent also if it would run a Git hook that somebody has edited.
    """
    with closing(prepared.importer) as importer:
        head = repository.branch()
        hooks = repository.hooks_of_commit()
        identities = _check_commit(repository, prepared, head[1], hooks, by_agent=by_agent)
        try:
            if not head[0] or _needs_git_commit(repository, files, hooks):
                identifier, added = _commit_only(repository, files, message, head, prepared.variables.dates)
                return NewCommit(identifier, head[0], added=added)
            made = _import_commit(repository, files, message, head, importer, identities)
        except locks.LockHeld as error:
            raise AllPending(error.message, error.hint or "") from None
        _collect_garbage(repository)
        return made


def _import_commit(
    repository: Repository,
    files: Mapping[str, bytes | None],
    message: str,
    head: tuple[str, str],
    importer: Importer,
    identities: Sequence[str],
) -> NewCommit:
    try:
        with index_lock.hold(repository, files, importer.process) as held:
            if held.head != head and (held.head[0] != head[0] or not held.has_changes(files)):
                raise BranchMoved  # HEAD is on another branch, or at a commit that has the new files already
            importer.write_commit(*held.head, files, message, identities)
            made = NewCommit(importer.finish(), *held.head)
            if not all(_has_content(repository.top / path, content) for path, content in files.items()):
                held.reset(files)  # somebody has changed a file, such as by `git reset --hard`, and that was staged
            held.publish()
    except git.GitFailed as error:
        raise _failure(repository, error) from None
    return made


def _has_content(file: Path, content: bytes | None) -> bool:
    try:
        return file.read_bytes() == content
    except OSError:
        return content is None


def _check_commit(
    repository: Repository, prepared: Preparation, head: str, hooks: Sequence[Path], *, by_agent: bool
) -> list[str]:
    forbid_if_unsafe(repository)
    identities = prepared.variables.identities()
    _refuse_ignored(prepared)
    if hooks:
        _check_hooks(repository, head, by_agent=by_agent)
    return identities


def _check_hooks(repository: Repository, head: str, *, by_agent: bool) -> None:
    """A person's commit accepts edited hooks, an agent's would run them."""
    from memctl.git import edited_hooks  # seldom needed

    if not by_agent:
        edited_hooks.accept(repository, head)
    elif edited := edited_hooks.find_edited(repository, head):
        raise AllPending(
            f"the Git hook {edited}; the commit would run it, and an agent may not run a hook that was edited",
            "ask the user to run `memctl commit`, which makes the commit",
        )


def why_unsafe(repository: Repository) -> tuple[str, str]:
    """Return why no commit can be made now, such as a merge, and a hint; two empty texts if one can be made."""
    if repository.commit_above():
        why = "another commit is being made: memctl was called by a Git hook"
        return why, "run `memctl commit` once that commit is made"
    if operation := repository.under_way():
        return operation + UNDER_WAY, f"run `memctl commit` once the {operation[2:]} is over"
    return "", ""


def forbid_if_unsafe(repository: Repository) -> None:
    """Raise CommitPending inside the hook of another commit, and during a merge, rebase or the like."""
    why, hint = why_unsafe(repository)
    if why:
        raise AllPending(why, hint)


def _needs_git_commit(repository: Repository, files: Mapping[str, bytes | None], hooks: Sequence[Path]) -> bool:
    settings = repository.settings()
    if repository.flag("commit.gpgsign") or settings.get("i18n.commitencoding", "utf-8").lower() != "utf-8":
        return True
    if hooks and repository.flag("memctl.verify", default=True) and _runs_other_hooks(repository, hooks):
        return True
    # The fast lane writes plain files. A record that somebody made executable stays so.
    if any(content is not None and os.access(repository.top / path, os.X_OK) for path, content in files.items()):
        return True
    # A path with a line end would need quoting of its own.
    return any("\n" in path for path in files) or _is_converted(repository, files)


def _runs_other_hooks(repository: Repository, files: Sequence[Path]) -> bool:
    """memctl's own hooks would only check what memctl has written."""
    from memctl.git import hooks  # seldom needed

    return not all(hooks.is_ours_alone(repository, file) for file in files if file.name in COMMIT_HOOKS)


def _is_converted(repository: Repository, files: Mapping[str, bytes | None]) -> bool:
    """Return whether Git stores something other than the bytes on disk: by its attributes, or LF in place of CR LF."""
    has_returns = any(content is not None and b"\r" in content for content in files.values())
    return has_returns or bool(repository.filters.filtered(files))


def _refuse_ignored(prepared: Preparation) -> None:
    if rule := prepared.ignored_path():
        where, _, path = rule.rpartition("\t")
        raise CommitPending(
            f"Git ignores {path} ({where})" if path else f"Git ignores {rule}",
            "remove the rule from the ignore file, or write with --no-commit to keep the memory out of Git",
        )


def update_index(repository: Repository, paths: Iterable[str]) -> None:
    """Stage paths as they are on disk, waiting while another process has the index locked.

    This resolves conflicts in these paths. Raises CommitPending if Git fails.
    """
    listed = b"".join(os.fsencode(path) + b"\0" for path in paths)
    args = ["update-index", "--add", "--remove", "-z", "--stdin"]
    try:
        git.write(args, repository.top, listed, patience=_LOCK_PATIENCE)
    except git.GitFailed as error:
        if "index.lock" in error.stderr:
            raise AllPending(*locks.describe(repository.git_dir / "index.lock")) from None
        raise _failure(repository, error) from None


def _collect_garbage(repository: Repository) -> None:
    """`git commit` collects garbage from time to time, fast-import never."""
    try:
        crowded = len(os.listdir(repository.common_dir / "objects" / "17")) > _LOOSE_LIMIT
    except OSError:
        return
    if crowded and repository.settings().get("gc.auto") != "0":
        with suppress(git.GitFailed):  # the commit is made, and the next one tries again
            git.write(["gc", "--auto", "--quiet"], repository.top)


def _commit_only(
    repository: Repository,
    files: Mapping[str, bytes | None],
    message: str,
    head: tuple[str, str],
    dates: Mapping[str, str],
) -> tuple[str, Sequence[str]]:
    verified = repository.flag("memctl.verify", default=True)
    verify = [] if verified else ["--no-verify"]
    deadline = time.monotonic() + _LOCK_PATIENCE
    variables = {**dates, git.COMMITTING: str(os.getpid()), **IndexLock(repository).variables}
    may_change = verified and any(file.name == "pre-commit" for file in repository.hooks_of_commit())
    while True:
        process = None
        try:
            with index_lock.prepare(repository, files, hooks=may_change) as held:
                args = ["commit", "--only", "--quiet", "--cleanup=whitespace", *verify, "-F", "-", *held.path_options()]
                process = git.start_writing(args, repository.top, variables)
                # Git reads the message after the pre-commit hook; an empty line shows when.
                git.feed(process, b"\n", is_last=False)
                git.finish(process, args, None, partial(held.guard, process, message.encode()))
                held.publish_if_moved()
                return repository.branch()[1], held.added
        except git.GitFailed as error:
            lock = _blocking_lock(repository, error)
            if lock is not None and time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            if lock is not None:
                raise AllPending(*locks.describe(lock)) from None
            if _EMPTIED in error.stderr and repository.branch() == head:
                raise BranchMoved(*_refusal(repository, error)) from None
            if _RACES.search(error.stderr) or repository.branch() != head:
                raise BranchMoved from None  # the refusal may be that the branch has all files by now
            raise CommitPending(*_refusal(repository, error)) from None
        finally:
            if process is not None:
                git.end(process)


def _refusal(repository: Repository, error: git.GitFailed) -> tuple[str, str]:
    hooks = [file.name for file in repository.hooks_of_commit() if file.name in COMMIT_HOOKS]
    who, hint = "git", "fix the cause, then run `memctl commit`"
    if hooks and repository.flag("memctl.verify", default=True):
        hint += "; `git config memctl.verify false` makes memctl commit without your hooks"
        who = f"git or a hook ({', '.join(hooks)})"
    if refusal := error.stderr.strip():
        return f"{who} refused the commit:\n{refusal}", hint
    return f"{who} refused the commit and gave no reason", hint


def _failure(repository: Repository, error: git.GitFailed) -> CommitPending:
    if (lock := _blocking_lock(repository, error)) is not None:
        return BranchMoved() if _is_released(lock) else AllPending(*locks.describe(lock))
    if _RACES.search(error.stderr):
        return BranchMoved()
    lines = [line for line in error.stderr.strip().splitlines() if line.strip()]
    return CommitPending(lines[-1] if lines else str(error))


def _blocking_lock(repository: Repository, error: git.GitFailed) -> Path | None:
    lock = locks.parse(error.stderr, repository.top)
    folders = (repository.git_dir, repository.common_dir)
    return lock if lock and any(lock.is_relative_to(folder) for folder in folders) else None


def _is_released(lock: Path) -> bool:
    """Return whether a lock disappears within the time that a command waits for it."""
    deadline = time.monotonic() + _LOCK_PATIENCE
    while lock.exists():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.03)
    return True


_VARIABLES = ("var", "-l")
_ROLES = ("AUTHOR", "COMMITTER")
_MOST_ARGUMENTS = 100  # paths that are passed as arguments; more are passed as input


class Variables:
    """Git's settings and the author of commits, read by a `git var -l` that runs in the background.

    The method `close` ends that process.
    """

    def __init__(self, repository: Repository, moment: int | None = None) -> None:
        """Start Git; `moment` (Unix seconds) fixes the dates of the commits."""
        self.dates = {} if moment is None else {f"GIT_{role}_DATE": f"{moment} +0000" for role in _ROLES}
        self._repository = repository
        self._process = git.start(_VARIABLES, repository.top, self.dates)
        repository.variables = lambda: self._values

    def identities(self) -> list[str]:
        """Return two lines, the author and the committer, as `git commit` would have them; raises CommitPending.

        Each line has name, address, Unix seconds and time zone, such as "Ada <ada@example.org> 1760000000 +0000".
        """
        settings = self._repository.settings()
        return [self._identity(settings, role, f"GIT_{role}_IDENT") for role in _ROLES]

    def _identity(self, settings: Mapping[str, str], role: str, name: str) -> str:
        parts = ("name", "email")
        # `git var -l` makes up an identity that it does not know; `git var NAME` fails instead.
        if all(os.environ.get(f"GIT_{role}_{part.upper()}") or settings.get(f"user.{part}") for part in parts):
            with suppress(KeyError):
                return self._values[name]
        try:
            return os.fsdecode(git.read(["var", name], self._repository.top, extra=self.dates)).strip()
        except git.GitFailed as error:
            variable = f"GIT_{role}_DATE"
            if "invalid date format" in error.stderr and variable in os.environ:
                raise AllPending(
                    f"Git can't read the date in {variable}, {os.environ[variable]!r}",
                    f"correct {variable} or unset it, then run `memctl commit`",
                ) from None
            raise AllPending(
                "Git does not know who you are",
                "run `git config --global user.name NAME` and `git config --global user.email ADDRESS`, then `memctl "
                "commit`",
            ) from None

    def close(self) -> None:
        """End the `git var -l` that reads the settings, if it is still running."""
        self._repository.variables = None
        if self._process.returncode is None:
            git.end(self._process)

    @cached_property
    def _values(self) -> dict[str, str]:
        try:
            lines = os.fsdecode(git.finish(self._process, _VARIABLES)).split("\n")
        except git.GitFailed:
            return {}
        variables = dict(line.split("=", 1) for line in lines if "=" in line)
        if variables:
            self._repository.add_settings(variables)
        return variables


class Preparation:
    """Answers of Git that a commit of some paths needs, from commands that run in the background.

    The answers are Git's settings, the author and committer, and the first of the paths that Git ignores. The process
    `git fast-import`, which may make the commit later, is started, too.
    """

    def __init__(self, repository: Repository, paths: Sequence[str], variables: Variables) -> None:
        self.variables = variables
        self._repository = repository
        self._paths = tuple(paths)
        # Without the index Git answers in half the time, and mostly no rule matches any of the paths.
        self._ignore_args = ["check-ignore", "--no-index", "--", *paths[:_MOST_ARGUMENTS]]
        # check-ignore does not support `--literal-pathspecs`.
        self._ignore = git.start(self._ignore_args, repository.top, {"GIT_LITERAL_PATHSPECS": "0"}) if paths else None
        self.importer = Importer(repository)

    def ignored_path(self) -> str:
        """Return the first of the paths that Git ignores, with the rule that ignores it; "" if Git ignores none.

        The form is the rule as FILE:LINE:PATTERN, a tab, and the path. Raises GitFailed.
        """
        if self._ignore is None:
            return ""
        complaint = self._ignore.communicate()[1]
        if self._ignore.returncode not in (0, 1):
            raise git.GitFailed(self._ignore_args, self._ignore.returncode, complaint.decode(errors="replace"))
        if self._ignore.returncode == 1 and not self._paths[_MOST_ARGUMENTS:]:  # no rule matches
            return ""
        listed = b"\0".join(os.fsencode(path) for path in self._paths)
        try:
            out = git.read(["check-ignore", "-z", "-v", "--stdin"], self._repository.top, listed, literal=False)
        except git.GitFailed as error:
            if error.code == 1:  # no rule ignores one of the paths, or the index has it already
                return ""
            raise
        fields = iter(out.decode(errors="replace").split("\0"))
        for source, line, pattern, path in zip(fields, fields, fields, fields, strict=False):
            if not pattern.startswith("!"):
                return f"{source}:{line}:{pattern}\t{path}"
        return ""


_COMMAND = ("fast-import", "--quiet", "--date-format=raw")
_SCRATCH_BRANCH = "refs/memctl/unborn"  # the branch in fast-import's input until `finish`; it is never written


class NewCommit(msgspec.Struct, frozen=True):
    """A commit just made: its id, its branch ("" if HEAD is detached), and its parent ("" for the first commit).

    `parent` is None if memctl did not need to find it out. `added` are the paths that hooks added to the commit.
    """

    commit: str
    branch: str
    parent: str | None = None
    added: Sequence[str] = ()


class Importer:
    """A running `git fast-import` that waits for a commit.

    No branch changes before `finish` is called, even if memctl is killed before.
    """

    def __init__(self, repository: Repository) -> None:
        self._process = git.start_writing(_COMMAND, repository.top)
        self._branch, self._has_commit = "", False

    @property
    def process(self) -> int:
        """The id of the Git process."""
        return self._process.pid

    def write_commit(
        self,
        branch: str,
        parent: str,
        files: Mapping[str, bytes | None],
        message: str,
        identities: Sequence[str],
    ) -> None:
        """Write a commit, its files and its folders to Git's object store; `branch` moves to it only with `finish`.

        `parent` is the id of the parent commit, "" for none. `files` are bytes by path, None for a deletion.
        `identities` are the author's and the committer's line, as `Variables.identities` returns them.
        """
        author, committer = identities
        text = message.encode()
        head = f"commit {_SCRATCH_BRANCH}\nmark :1\nauthor {author}\ncommitter {committer}\ndata {len(text)}\n"
        parts = [b"feature done\nfeature get-mark\n", head.encode(), text, b"\n"]
        if parent:
            parts.append(f"from {parent}\n".encode())
        for path, content in files.items():
            if content is None:
                parts.append(b"D " + _quote(path) + b"\n")
            else:
                parts += [b"M 100644 inline ", _quote(path), f"\ndata {len(content)}\n".encode(), content, b"\n"]
        # The checkpoint writes the objects at once. It would also write the branch, but the reset has emptied that.
        # fast-import begins the checkpoint only after the second line end.
        parts.append(f"reset {_SCRATCH_BRANCH}\ncheckpoint\n\n".encode())
        self._branch, self._has_commit = branch, True
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended; `finish` raises the reason
            self._process.stdin.write(b"".join(parts))
            self._process.stdin.flush()

    def close(self) -> None:
        """End this `git fast-import`. If `finish` was not called, the commit is on no branch.

        The input "done" ends it: otherwise Git would write a crash report to a file.
        """
        if self._process.returncode is None:
            with suppress(BrokenPipeError):
                self._process.communicate(b"done\n" if self._has_commit else b"")

    def finish(self) -> str:
        """Move the branch to the commit that `write_commit` wrote, and return the commit's id.

        Raises GitFailed if Git fails, or if the branch has moved away from the commit's parent.
        """
        move = os.fsencode(f"reset {self._branch}\nfrom :1\n\nget-mark :1\ndone\n")
        return git.finish(self._process, _COMMAND, move).decode().strip()


def _quote(path: str) -> bytes:
    return b'"' + os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'
