"""Opening a memory: its folder, the repository around it, its settings, the clock and the actor."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from memctl.errors import MemctlError
from memctl.git import git, trust
from memctl.git.git import GitFailed
from memctl.git.repository import INDEX_NOTE, Repository, open_repository
from memctl.git.status import StatusProcess
from memctl.record import config as configuration
from memctl.record import ids
from memctl.record.config import Config
from memctl.store import agent_env, files, memory_root
from memctl.store.memory_root import CONFIG, JOBS, LAST

ALLOWED_SECRETS = "memctl.allowSecret"  # the Git setting with the fingerprints of values that are no credentials


class Memory:
    """An opened memory: its folder, the repository around it, the environment and the settings.

    `folder` is the absolute path of the `.memory/`, `prefix` the path of this folder relative to the worktree's top.
    """

    def __init__(self, folder: Path, repository: Repository, environ: Mapping[str, str], config: Config) -> None:
        self.folder = folder
        self.repository = repository
        self.environ = environ
        self.prefix = folder.relative_to(repository.top).as_posix()
        self.config = config
        self.asked: StatusProcess | None = None  # the `git status` that was started before this memory was opened
        # HEAD's commit, and the files that differed from it at the last `git status`.
        self.differing: tuple[str, frozenset[str]] = ("", frozenset())
        self.written: list[str] = []  # what the command has written, for a message if its output can't be printed
        self.by_hand = False  # whether a person runs memctl; False in hooks
        self.by_agent = False  # whether an agent's program runs memctl, in its shell or as a hook
        self.program = ""  # the name of this program, for one that memctl knows
        self.by_unknown = False  # whether a program runs memctl that is not recognised (`store.agent_env`)
        self.remarks: list[str] = []  # warnings and notes that the command prints beside its output

    def note_caller(self) -> None:
        """Note who runs memctl, by the environment variables and the terminal of this process."""
        shell = agent_env.shell_of(self.environ)
        self.by_agent, self.program = shell is not None, shell.host if shell else ""
        self.by_unknown = agent_env.is_unknown(self.environ)

    @property
    def now(self) -> str:
        """The canonical time that operations record: MEMCTL_NOW if it is set, otherwise the clock's time."""
        if self._fixed_now:
            return self._fixed_now[0]
        from memctl.text import timestamps  # only writes need the time

        return timestamps.from_epoch(int(time.time()))

    @property
    def commit_moment(self) -> int | None:
        """The date of commits in Unix seconds if MEMCTL_NOW is set; None if commits have the clock's time."""
        return self._fixed_now[1] if self._fixed_now else None

    @cached_property
    def _fixed_now(self) -> tuple[str, int] | None:
        if not self.environ.get("MEMCTL_NOW"):
            return None
        from memctl.record import time_input
        from memctl.text import timestamps

        fixed = time_input.fixed_now(self.environ)
        return None if fixed is None else (fixed, timestamps.to_epoch(fixed))

    @cached_property
    def actor(self) -> str:
        """The name of the author of changes: MEMCTL_AGENT, else the user's name in Git, else the login name.

        An agent that has been given the user's name gets its program's. A program that is not recognised and has no
        name is called so, except in a hook of Git's, which may have no terminal when the user commits.
        """
        name = _clean(self.environ.get("MEMCTL_AGENT", ""))
        if self.program and name != self.program and name.casefold() in ("", self.person().casefold()):
            return self.program
        is_nameless = self.by_unknown and "GIT_INDEX_FILE" not in self.environ
        return name or (agent_env.UNKNOWN if is_nameless else self.person())

    @cached_property
    def default_branch(self) -> str:
        """The short name of the repository's default branch, such as "main"; "" if it is unknown.

        The name in config.yaml comes first, then that of the remote origin.
        """
        return self.config.default_branch or self.repository.default_branch("origin")

    @property
    def session(self) -> str:
        """The id of the agent's session, from MEMCTL_SESSION; "" if there is none."""
        return _clean(self.environ.get("MEMCTL_SESSION", ""))

    @cached_property
    def allowed_secrets(self) -> frozenset[str]:
        """The fingerprints of values that are no credentials, as Git's settings of the user say."""
        values = git.try_read(["config", "--get-all", ALLOWED_SECRETS], self.repository.top)
        return frozenset((values or b"").decode().split())

    @property
    def semantic_model(self) -> str:
        """The model for search by meaning, a folder or a Python package; "" for none.

        It is set by MEMCTL_SEMANTIC_MODEL or in Git's settings. It is never taken from the repository's files, because
        native code reads the model, and a foreign repository could bring a harmful one.
        """
        name = self.environ.get("MEMCTL_SEMANTIC_MODEL", "").strip()
        return name or (self.repository.setting("memctl.semanticmodel") or "").strip()

    def new_memory_id(self, record_id: str) -> str:
        """Return a new UUIDv7 for the record with the id `record_id`, such as "DEC-2025-11-04-001".

        If MEMCTL_NOW is set, the UUID is derived from that time and `record_id`, so that runs can be repeated.
        """
        if self._fixed_now is None:
            return ids.uuid7(time.time_ns() // 1_000_000, os.urandom(10))
        return ids.uuid7(self._fixed_now[1] * 1000, self._digest(record_id))

    @property
    def last_id(self) -> str:
        """The id of the last record that was recorded in this worktree; "" if there is none."""
        try:
            return (self.private / LAST).read_text("utf-8")
        except OSError:
            return ""

    def imported_memory_id(self, identity: str) -> str:
        """Return the UUIDv7 of an imported record, which depends on `identity` and the project's name alone.

        `identity` is a text that names the record in the place it is imported from, so that a second import recognises
        the record. The time in the UUID is 0, since the record is older than its import (see `Record.recorded`).
        """
        return ids.uuid7(0, self._digest(identity))

    def _digest(self, text: str) -> bytes:
        from _blake2 import blake2b  # hashlib would load OpenSSL, which takes 3 ms

        return blake2b(f"{self.config.project}\0{text}".encode(), digest_size=10).digest()

    @cached_property
    def trust(self) -> str:
        """Whether the user trusts this clone: "trusted", "refused" or "unknown"."""
        return trust.state(self.repository, self.environ)

    @property
    def is_trusted(self) -> bool:
        """Whether hooks may write in this clone and show its records."""
        return self.trust == trust.TRUSTED

    def refuse_untrusted_agent(self, action: str = "write into its memory") -> None:
        """Raise MemctlError if an agent wants to write or install something in a clone whose trust is unknown.

        An agent may run such commands without asking the user, perhaps because a text in the clone told it to run them.
        A program that is not recognised may be one. `action` says in the message what the agent may not do.
        """
        if (self.by_agent or self.by_unknown) and self.trust == trust.UNKNOWN:
            unknown = (
                "a program that MEMCTL_AGENT names"
                if self.environ.get("MEMCTL_AGENT")
                else "a program without a terminal"
            )
            who = unknown if self.by_unknown else "an agent"
            script = "; a script or CI job sets MEMCTL_TRUST=1" if self.by_unknown else ""
            raise MemctlError(
                f"this clone is not trusted, so {who} may not {action}",
                f"the user can trust it: `{trust.COMMAND}`{script}",
            )

    def grant_trust(self) -> None:
        """Mark this clone as trusted when a person writes into its memory, unless the clone's settings forbid trust.

        Raises MemctlError if an agent writes into a clone whose trust is unknown.
        """
        self.refuse_untrusted_agent()
        if not self.by_hand or self.by_unknown:
            return
        if trust.is_marked(self.repository):
            self.trust = trust.TRUSTED
            return
        lasting = trust.state(self.repository, {})  # without MEMCTL_TRUST, which ends with this command
        if lasting == trust.REFUSED:
            return
        try:
            trust.grant(self.repository)
        except GitFailed:  # another process has locked Git's settings; the next write tries again
            return
        self.trust = trust.TRUSTED
        if lasting == trust.UNKNOWN:
            self.remarks.append(trust.NOTICE)

    @cached_property
    def private(self) -> Path:
        """The memory's folder in the worktree's Git directory, with the cache and the pending changes."""
        return self.repository.private_of(self.prefix)

    @cached_property
    def pending(self) -> Path:
        """The folder of the pending changes (`store.journal`)."""
        return self.private / "pending"

    @cached_property
    def hooks(self) -> Path:
        """The folder with the data that hooks store about sessions, which all worktrees share."""
        return self.repository.shared / "hooks" / self.private.name

    @property
    def has_jobs(self) -> bool:
        """Whether a hook may have left jobs that are not done yet (`store.job_queue`)."""
        return os.path.isdir(self.hooks / JOBS)

    def ask(self, *, settings: bool = False) -> StatusProcess:
        """Return a running `git status` of the memory's files.

        If one was started before the memory was opened, the first call returns it. Every other call starts a new one;
        with `settings` it also prints those of memctl's settings that `git.traced_settings` reads.
        """
        process, self.asked = self.asked, None
        return process or StatusProcess(self.repository, self.prefix, settings=settings)

    def tracked(self, path: str) -> str:
        """Return a path below `.memory/` as Git has it, relative to the worktree's top."""
        return f"{self.prefix}/{path}"

    def person(self) -> str:
        """Return the user's name in Git, else the login name."""
        name = self.environ.get("GIT_AUTHOR_NAME") or self.repository.settings().get("user.name", "")
        if _clean(name):
            return _clean(name)
        import getpass

        try:
            return getpass.getuser()
        except (OSError, KeyError):
            return "unknown"


def _clean(text: str) -> str:
    name = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if name.isascii():
        return name
    import unicodedata

    return unicodedata.normalize("NFC", name)  # é may be typed as one character or as two


def open_memory(start: Path, environ: Mapping[str, str], status: StatusProcess | None = None) -> Memory:
    """Return the memory of the nearest folder at or above `start` in its worktree; raises MemctlError if none has one.

    If a `git status` of a memory is running already, it can be given as `status`: then its memory is opened, and
    `start` is not used.
    """
    if status is None:
        _, folder = memory_root.find(start)
        repository = open_repository(folder.parent)
    else:
        repository, folder = status.repository, status.repository.top / status.prefix
    if os.path.exists(f"{repository.private}/{INDEX_NOTE}"):
        from memctl.git import index_lock  # seldom needed

        index_lock.recover_if_idle(repository)
        status = None  # its answer is from before
    try:
        config = read_config(folder)
    except MemctlError:
        _refuse_encoded(repository, folder)
        raise
    memory = Memory(folder, repository, environ, config)
    memory.asked = status
    return memory


SET_UP_FILTER = "set up the filter as its program says, such as by `git-crypt unlock` or `git lfs pull`"


def _refuse_encoded(repository: Repository, folder: Path) -> None:
    """A filter of Git's, such as git-crypt's, may not be set up."""
    file = (folder / CONFIG).relative_to(repository.top).as_posix()
    if repository.filters.filtered([file]):
        why = "can't be read: .gitattributes gives it a filter, which has not decoded it in this clone"
        raise MemctlError(f"{file} {why}", SET_UP_FILTER)


def open_for_agent(
    start: Path, environ: Mapping[str, str], agent: str, session: str, status: StatusProcess | None = None
) -> Memory:
    """Return the memory at or above `start` for a hook; changes are attributed to the agent and the session.

    `status` is a running `git status` of the memory, if one was started before.
    """
    memory = open_memory(start, {**environ, "MEMCTL_AGENT": agent, "MEMCTL_SESSION": session}, status)
    memory.by_agent = True
    return memory


def read_config(folder: Path) -> Config:
    """Return the settings of the memory in a folder; raises MemctlError with file and line."""
    try:
        text = files.locate(folder, CONFIG).read_bytes().decode(errors="replace")
    except OSError as error:
        raise MemctlError(f"{folder / CONFIG}: {error.strerror}") from None
    return configuration.parse(text, f"{folder.name}/{CONFIG}")
