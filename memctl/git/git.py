"""Running `git`. No other module of memctl starts it.

Environment variables that tie Git to one repository are removed, as Git does when it enters another repository (`git
rev-parse --local-env-vars`). Otherwise a command that runs inside a Git hook would use the hook's index. The variables
with the settings of `git -c`, identities and dates are kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from memctl.errors import MemctlError
from memctl.text.light_typing import IO, TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import select

_BLOCK = 1 << 16  # bytes that are read at once
_LAST_BLOCKS = 16  # blocks read once a program has ended: as much as a pipe can hold, 1 MiB (pipe(7))
_LOOK_AFTER = 10  # ms after which a program is looked at again that prints nothing
_MEANWHILE = 3  # ms after which what runs meanwhile is called again, while the user's Git waits for its lock
_WNOHANG = getattr(os, "WNOHANG", 0)
_SIGKILL = 9  # SIGKILL: the module `signal` makes an enum of 64 names
# SIGPIPE and SIGXFSZ, which Python ignores: programs that Git runs, such as a hook with `yes | head`, need them.
_DEFAULT_SIGNALS = (13, 25)
_SCRUBBED = {
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_WORK_TREE",
    # these change what a path argument means
    "GIT_GLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
}
COMMITTING = "MEMCTL_COMMITTING"  # the process id of the memctl that makes a commit, for a memctl in the user's hooks


class GitFailed(MemctlError):
    """Raised if a git command failed; `code` is its exit code.

    `stderr` is what the command printed as errors. `output` is all that it printed, standard output and errors: a
    pre-push hook may explain itself in either.
    """

    kind = "git"

    def __init__(self, args: Sequence[str], code: int, stderr: str, stdout: str = "") -> None:
        lines = stderr.strip().splitlines()
        hint = lines[-1].strip() if "dubious ownership" in stderr else None  # Git's own advice, with the folder in it
        super().__init__(f"git {args[0]} failed: {lines[0] if lines else f'exit code {code}'}", hint)
        self.code = code
        self.stderr = stderr
        self.output = "\n".join(part for part in (stdout.strip(), stderr.strip()) if part)


class Process:
    """A running program: the part of `subprocess.Popen` that memctl uses, without the 3 ms of its import.

    With `has_stdin` the program's input is written to `stdin`; otherwise the input is empty, and `stdin` is None.
    `returncode` is None until `communicate` returns, and negative if a signal ended the program. Raises
    FileNotFoundError if there is no such program.
    """

    def __init__(self, command: list[str], environ: Mapping[str, str], *, has_stdin: bool) -> None:
        self.returncode: int | Any = None
        self._code: int | None = None
        self._pidfd, self._errors = -1, list[bytes]()
        out, err = _pipe(), _pipe()
        stdin_ends = _pipe() if has_stdin else (os.open(os.devnull, os.O_RDONLY), -1)
        child_ends = stdin_ends[0], out[1], err[1]
        try:
            places = [(os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(child_ends)]
            self.pid = os.posix_spawnp(command[0], command, environ, file_actions=places, setsigdef=_DEFAULT_SIGNALS)
        finally:
            for end in child_ends:
                os.close(end)
            self.stdin: IO[bytes] | None = os.fdopen(stdin_ends[1], "wb") if has_stdin else None
            self.stdout: IO[bytes] = os.fdopen(out[0], "rb")
            self.stderr: IO[bytes] = os.fdopen(err[0], "rb")

    def kill(self) -> None:
        """Kill the program if it is still running."""
        if self._code is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, _SIGKILL)

    def communicate(
        self, data: bytes | None = None, meanwhile: Callable[[], object] | None = None
    ) -> tuple[bytes, bytes]:
        """Write `data` to the program's input, wait for its end, and return the rest of its stdout and stderr.

        `meanwhile` is called again and again until then, and closes `stdin`. A process that the program leaves behind,
        such as the master of an SSH connection or a watcher that a hook started, is not waited for, even if it keeps
        the streams open.
        """
        if self.returncode is not None:
            return b"", b""
        out = b"".join(self.output(data, meanwhile))
        self.stdout.close()
        self.stderr.close()
        if self._pidfd >= 0:
            os.close(self._pidfd)
        self._reap(0)
        self.returncode = self._code
        return out, b"".join(self._errors)

    def output(self, data: bytes | None = None, meanwhile: Callable[[], object] | None = None) -> Iterator[bytes]:
        """Yield what the program prints on standard output, until it ends, and write `data` to its input.

        `communicate` returns what it prints on standard error meanwhile.
        """
        out, err, rest = self.stdout.fileno(), self.stderr.fileno(), memoryview(data or b"")
        if not rest and meanwhile is None:
            self._close_stdin()
        poll, reading = self._poll(has_input=bool(rest)), {out, err}
        pause = (None if self._pidfd >= 0 else _LOOK_AFTER) if meanwhile is None else _MEANWHILE
        left = _LAST_BLOCKS  # once the program has ended, others may print for ever
        while (reading or rest) and left:
            ready = {number for number, _ in poll.poll(pause)}
            if meanwhile is not None:
                meanwhile()
            if pause == 0:
                left = left - 1 if ready - {self._pidfd} else 0
            elif (self._pidfd < 0 or self._pidfd in ready) and self._reap(_WNOHANG):
                pause = 0
            for number in ready - {self._pidfd}:
                if number not in (out, err):
                    rest = self._feed(rest)
                    if not rest:
                        poll.unregister(number)
                        self._close_stdin()
                elif not (block := os.read(number, _BLOCK)):
                    poll.unregister(number)
                    reading.discard(number)
                elif number == out:
                    yield block
                else:
                    self._errors.append(block)

    def _poll(self, *, has_input: bool) -> select.poll:
        import select  # most hooks of agents start no process

        poll = select.poll()
        if self._code is None and self._pidfd < 0:
            with suppress(AttributeError, OSError):  # only Linux has it
                self._pidfd = os.pidfd_open(self.pid)
        for number in (self.stdout.fileno(), self.stderr.fileno(), self._pidfd):
            if number >= 0:
                poll.register(number, select.POLLIN)
        if self.stdin is not None and has_input:
            with suppress(BrokenPipeError):
                self.stdin.flush()
            poll.register(self.stdin.fileno(), select.POLLOUT)
        return poll

    def _feed(self, rest: memoryview) -> memoryview:
        import select

        assert self.stdin is not None
        try:
            return rest[os.write(self.stdin.fileno(), rest[: select.PIPE_BUF]) :]
        except BrokenPipeError:
            return rest[:0]

    def _reap(self, options: int) -> bool:
        """Return whether the program has ended, and note its exit code. Without options, wait for the end."""
        if self._code is None:
            try:
                ended, status = os.waitpid(self.pid, options)
                self._code = os.waitstatus_to_exitcode(status) if ended else None
            except ChildProcessError:  # in a forked copy: the process is not its child
                self._code = 0 if not options or self._pidfd >= 0 else None
        return self._code is not None

    def _close_stdin(self) -> None:
        if self.stdin is not None:
            with suppress(BrokenPipeError):
                self.stdin.close()


def _pipe() -> tuple[int, int]:
    """The ends have numbers other than those of the standard streams."""
    ends = os.pipe()
    if min(ends) > 2:
        return ends
    try:
        return _pipe()  # as long as these pipes have the numbers of closed streams
    finally:
        for end in ends:
            os.close(end)


LOG = ("log", "--no-show-signature")  # the user's setting log.showSignature would add lines to the output
_UTF8 = ("-c", "i18n.logOutputEncoding=UTF-8")  # in which names and messages are read, whatever the user's terminal has
_FEW = 20  # paths to which `git log` is limited
ENGLISH = {"LC_ALL": "C.UTF-8", "LANGUAGE": "C"}  # for commands whose messages are parsed
_READING = {
    **ENGLISH,
    "GIT_OPTIONAL_LOCKS": "0",  # or `git status` would rewrite the user's index
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_PAGER": "cat",
}

# For a command that must fail instead of fetching what a partial clone lacks. Git before 2.44 does not know the first
# variable; the second one forbids all protocols.
OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}


def environment(extra: Mapping[str, str] | None = None, cwd: Path | None = None) -> dict[str, str]:
    """Return the environment variables for a git command, which Git passes on to the user's hooks.

    They are the variables of this process without those that tie Git to one repository, and one that keeps Git from
    asking for anything at the terminal. `extra` are variables to add, by name. `cwd` is the folder in which the command
    runs: if GIT_DIR is its repository (`folders_by_environment`), this is passed on.
    """
    env = {name: value for name, value in os.environ.items() if name not in _SCRUBBED}
    if cwd is not None and (folders := folders_by_environment(cwd)):
        env["GIT_DIR"], env["GIT_WORK_TREE"] = map(os.fspath, folders)
    env["GIT_TERMINAL_PROMPT"] = "0"
    env.update(extra or {})
    return env


def folders_by_environment(folder: Path) -> tuple[Path, Path] | None:
    """Return the Git directory and the worktree around a folder that GIT_DIR and GIT_WORK_TREE name; None if none.

    Programs that keep dotfiles in Git set them, and have no `.git` in the worktree. A `.git` at or above the folder is
    followed instead, as in a hook of another repository, for which Git has set GIT_DIR. If GIT_WORK_TREE is not set,
    the worktree is in the setting core.worktree.
    """
    if not os.environ.get("GIT_DIR") or any((above / ".git").exists() for above in (folder, *folder.parents)):
        return None
    git_dir = Path(os.path.realpath(os.environ["GIT_DIR"]))
    worktree = os.environ.get("GIT_WORK_TREE", "")
    if not worktree and not (worktree := _worktree_setting(git_dir)):
        return None
    top = Path(os.path.realpath(worktree))
    return (
        (git_dir, top) if (git_dir / "HEAD").is_file() and Path(os.path.realpath(folder)).is_relative_to(top) else None
    )


def _worktree_setting(git_dir: Path) -> str:
    with suppress(OSError):
        section = ""
        for line in (git_dir / "config").read_text("utf-8", "replace").splitlines():
            if line.lstrip().startswith("["):
                section = line.strip()[1:].partition("]")[0].lower()
            name, _, value = line.partition("=")
            if section == "core" and name.strip().lower() == "worktree":
                return os.path.join(git_dir, value.strip().strip('"'))
    return ""


def start(args: Sequence[str], cwd: Path, extra: Mapping[str, str] | None = None) -> Process:
    """Start a git command that changes nothing, in the folder `cwd`, without waiting; `finish` returns its output.

    `args` are its arguments without `git`, and `extra` environment variables to add, by name.
    """
    return _spawn([*_UTF8, *args], cwd, stdin=False, extra={**_READING, **(extra or {})})


def start_answering(args: Sequence[str], cwd: Path) -> Process:
    """Start, in the folder `cwd`, a git command that answers one question after another and changes nothing.

    `args` are its arguments without `git`. Questions are written to the process's standard input.
    """
    return _spawn([*_UTF8, *args], cwd, stdin=True, extra=_READING)


def start_writing(args: Sequence[str], cwd: Path, extra: Mapping[str, str] | None = None) -> Process:
    """Start a git command that changes something, in the folder `cwd`; `args` are its arguments without `git`.

    The function `finish` sends the command its input and returns its output. `extra` are environment variables to add.
    """
    return _spawn(args, cwd, stdin=True, extra=extra)


def finish(
    process: Process,
    args: Sequence[str],
    stdin: bytes | None = None,
    meanwhile: Callable[[], object] | None = None,
) -> bytes:
    """Wait until a started git command ends, and return its output; `stdin` is what it gets as input.

    `meanwhile` is called again and again until then, on Windows once, before; it closes the command's input.
    Raises GitFailed if the command fails. `args` are the arguments it was started with, for the error's message.
    """
    if meanwhile is not None and not isinstance(process, Process):
        meanwhile = meanwhile()
    out, err = process.communicate(stdin, meanwhile) if meanwhile else process.communicate(stdin)
    if process.returncode:
        answer, printed = err.decode(errors="replace"), out.decode(errors="replace")
        raise GitFailed(args, process.returncode, answer or printed, printed if answer else "")
    return out


def has_read(process: Process) -> bool:
    """Return whether a command has read all that was written to its input; also where the system does not tell."""
    assert process.stdin is not None
    try:
        import fcntl
        import termios

        return not any(fcntl.ioctl(process.stdin.fileno(), termios.FIONREAD, bytes(4)))
    except (ImportError, OSError):
        return True


def feed(process: Process, data: bytes, *, is_last: bool = True) -> None:
    """Write to the input of a command, and close the input if that is the last; an ended command is no error."""
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.write(data)
        process.stdin.flush()
        if is_last:
            process.stdin.close()


def finish_within(process: Process, args: Sequence[str], seconds: float) -> bytes:
    """Return the output of a started git command that changes nothing, as `finish` does; kill it after some seconds.

    Raises GitFailed for a command that was killed, too.
    """
    from threading import Timer

    timer = Timer(seconds, process.kill)
    timer.start()
    try:
        return finish(process, args)
    finally:
        timer.cancel()


def end(process: Process) -> bytes:
    """Kill a git command that changes nothing, and return what it printed on standard error until then."""
    process.kill()
    return process.communicate()[1]


def read(
    args: Sequence[str],
    cwd: Path,
    stdin: bytes | None = None,
    *,
    literal: bool = True,
    extra: Mapping[str, str] | None = None,
) -> bytes:
    """Run a git command that changes nothing, in the folder `cwd`, and return its output; raises GitFailed.

    `args` are its arguments without `git`, and `stdin` is its input. Characters such as `*` in the paths of `args` mean
    themselves. With `literal=False` they are Git's patterns, which is also needed for the few commands that Git refuses
    to run with literal paths. `extra` are environment variables to add, by name.
    """
    extra = {**_READING, **({} if literal else {"GIT_LITERAL_PATHSPECS": "0"}), **(extra or {})}
    return finish(_spawn([*_UTF8, *args], cwd, stdin=stdin is not None, extra=extra), args, stdin)


def try_read(args: Sequence[str], cwd: Path, extra: Mapping[str, str] | None = None) -> bytes | None:
    """Return the output of a git command that changes nothing, as `read` does; None if the command fails."""
    with suppress(GitFailed):
        return read(args, cwd, extra=extra)
    return None


def stream(args: Sequence[str], cwd: Path, separator: bytes = b"\0") -> Iterator[bytes]:
    """Yield the output of a git command that changes nothing, piece by piece as it arrives.

    `separator` is what divides the pieces in the output. The command is killed if the caller stops early. Raises
    GitFailed after the last piece if the command failed.
    """
    process = _spawn([*_UTF8, *args], cwd, stdin=False, extra=_READING)
    rest = b""
    try:
        blocks = process.output() if hasattr(process, "output") else iter(process.stdout.read, b"")
        for block in blocks:
            *pieces, rest = (rest + block).split(separator)
            yield from pieces
        if rest:
            yield rest
        finish(process, args)
    finally:
        end(process)


def write(
    args: Sequence[str],
    cwd: Path,
    stdin: bytes | None = None,
    extra: Mapping[str, str] | None = None,
    patience: float = 0.0,
) -> bytes:
    """Run a git command that changes something, in the folder `cwd`, and return its output; raises GitFailed.

    `args` are its arguments without `git`, `stdin` is its input, and `extra` are environment variables to add, by name.
    """
    deadline = time.monotonic() + patience
    while True:
        try:
            return finish(_spawn(args, cwd, stdin=stdin is not None, extra=extra), args, stdin)
        except GitFailed as error:
            from memctl.git import locks

            lock = locks.parse(error.stderr, cwd)
            if lock is None or time.monotonic() >= deadline:
                error.hint = "; ".join(locks.describe(lock)) if lock and error.hint is None else error.hint
                raise
        time.sleep(0.05)


def _spawn(args: Sequence[str], cwd: Path, stdin: bool, extra: Mapping[str, str] | None = None) -> Process:
    try:
        if hasattr(os, "posix_spawnp"):
            return Process(["git", "-C", os.fspath(cwd), *args], environment(extra, cwd), has_stdin=stdin)
        return _spawn_with_popen(args, cwd, stdin, extra)
    except FileNotFoundError:
        raise MemctlError("the program `git` was not found", "install Git 2.34 or newer") from None


def _spawn_with_popen(args: Sequence[str], cwd: Path, stdin: bool, extra: Mapping[str, str] | None) -> Process:
    """Systems without posix_spawn, such as Windows, use the standard library."""
    import subprocess

    popen = subprocess.Popen(
        ["git", *args],
        cwd=cwd,
        env=environment(extra, cwd),
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    return cast("Process", popen)


def pager(cwd: Path) -> str:
    """Return the user's command for paging long output: $GIT_PAGER, core.pager, $PAGER or Git's default."""
    try:
        return os.fsdecode(finish(_spawn(["var", "GIT_PAGER"], cwd, stdin=False), ["var"])).strip()
    except MemctlError:
        return ""


def run_pager(command: str, text: str) -> None:
    """Show a text in the pager `command`, which a shell runs, and return when the user has closed it."""
    import signal
    import subprocess

    process = subprocess.Popen(
        command, shell=True, stdin=subprocess.PIPE, env={"LESS": "FRX", "LV": "-c", **os.environ}
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pager's while it runs
    try:
        process.communicate(text.encode(errors="replace"))
    finally:
        signal.signal(signal.SIGINT, before)


def decode_path(raw: bytes) -> str:
    r"""Return, as text, a path that Git printed as bytes; a byte that is not UTF-8 becomes an escape such as `\xe9`."""
    return raw.decode("utf-8", "backslashreplace")


def log_limits(places: Collection[str]) -> list[str]:
    """Return the paths to which `git log` is limited for the sake of some paths; [] if a limit would cost more time.

    With 700 paths it took seven times as long as without any; with a few, such as the top folders, it is faster.
    """
    few = places if len(places) <= _FEW else {place.partition("/")[0] for place in places}
    return sorted(few) if len(few) <= _FEW else []


def paths(out: bytes) -> list[str]:
    """Return the paths in an output of a git command that ends each with a NUL character, as by `-z`."""
    return [decode_path(path) for path in out.split(b"\0") if path]


def committing_process() -> str:
    """Return the id of the memctl process that is making a commit, if that commit's Git hook started this process.

    Returns "" outside of such a hook. The id is in an environment variable. A program that the hook started may still
    run after the commit, with the variable set; it gets "", too, since that memctl has ended.
    """
    maker = os.environ.get(COMMITTING, "")
    if not maker.isdecimal():
        return ""
    return maker if os.name == "nt" or is_running(int(maker)) else ""


def is_running(process: int) -> bool:
    """Return whether a process with this id of the same user runs; False on Windows, where it can't be found out."""
    if os.name == "nt":  # signal 0 would be Ctrl-C
        return False
    try:
        os.kill(process, 0)
    except (OSError, OverflowError):
        return False
    try:  # one that has ended and that nobody waits for, as in a container without an init process
        return not Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].startswith(" Z")
    except OSError:
        return True
