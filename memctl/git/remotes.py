"""Finding, fetching and pushing the remote branches with which a clone's branches are synced.

Clones that push to one upstream can take turns (SyncTurn).
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from shlex import quote

import msgspec

from memctl.errors import MemctlError
from memctl.git import git, refs
from memctl.git.push import PushRefused, run_push
from memctl.git.repository import Repository

_HEADS = "refs/heads/"
# Seconds for which clones wait for another's turn to end. A sync takes one or two; a killed one never ends its turn.
_LONGEST_TURN = 10.0
_TRIES = 5  # failed claims in a row, without a sign of another clone, after which turns are given up
# The empty tree, by SHA-1 and by SHA-256: a turn ref that points to it is a turn that has ended.
_EMPTY_TREES = (
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
)


class Upstream(msgspec.Struct, frozen=True):
    """A branch of this clone and the remote's branch that it is synced with.

    `branch` is the branch's full name here, and `ref` the full name at the remote, such as refs/heads/main. `remote` is
    the remote's name, or the address where a branch is pushed to an address.
    """

    branch: str
    remote: str
    ref: str

    @property
    def name(self) -> str:
        """The short name of the upstream, such as origin/main."""
        return f"{self.remote}/{self.ref.removeprefix(_HEADS)}"

    @property
    def tracking_ref(self) -> str:
        """The local ref with memctl's last fetched copy of the upstream; the user's settings do not change it."""
        return f"refs/memctl/remotes/{refs.folder_of(self.remote)}/{self.ref.removeprefix('refs/')}"

    @property
    def turn_ref(self) -> str:
        """The remote's ref that exists while a clone has the right to push next (see SyncTurn)."""
        return f"refs/memctl/turns/{self.ref.removeprefix(_HEADS).replace('/', '%2F')}"

    @property
    def turn_tracking_ref(self) -> str:
        """The local ref with memctl's last fetched copy of `turn_ref`."""
        return self.turn_ref.replace("refs/memctl/", f"refs/memctl/remotes/{self.remote}/", 1)


def upstream(repository: Repository, branch: str, chosen: str = "") -> Upstream:
    """Return the upstream of a branch, whose full name (refs/heads/…) is `branch`.

    By default it is the upstream in Git's settings. `chosen` is the name of a remote to take instead: the upstream
    there has the branch's own name, unless Git's settings give the branch another upstream at that remote. Raises
    MemctlError if Git's settings name no upstream and `chosen` is "", or if no remote has the name `chosen`.
    """
    short = branch.removeprefix(_HEADS)
    remote, ref = (repository.branch_settings.get(f"branch.{short}.{key}", "") for key in ("remote", "merge"))
    known = repository.remotes()
    names = ", ".join(known)
    if chosen:
        refs.refuse_unknown(repository, chosen)
        return Upstream(branch, chosen, ref if ref and remote == chosen else branch)
    if not known:
        raise MemctlError("this repository has no remote", "`git remote add NAME ADDRESS` adds one")
    if remote not in known or not ref:
        first = "origin" if "origin" in known else known[0]
        why = f"its upstream is {ref or remote} of this clone" if remote == "." else f"the remotes are {names}"
        raise MemctlError(
            f"the branch {short} has no upstream at a remote ({why})",
            f"run `git push --set-upstream {first} {short}`, or `memctl sync {first}` if {first} already has {short}",
        )
    return Upstream(branch, remote, ref)


def push_target(repository: Repository, upstream: Upstream, chosen: str = "") -> Upstream:
    """Return the remote's branch to which `git push` (or `git push REMOTE`, if `chosen` names one) pushes a branch.

    The branch is that of `upstream`. Git is asked by a dry run, which connects to the remote, unless its settings leave
    no other answer than the upstream. Raises MemctlError if Git would not push the branch.
    """
    settings, short = repository.settings(), upstream.branch.removeprefix(_HEADS)
    named = (settings.get(f"branch.{short}.pushremote"), settings.get("remote.pushdefault"))
    remote = chosen or next(filter(None, named), upstream.remote)
    address = refs.push_address(repository, remote)
    is_plain = (remote, upstream.branch) == (upstream.remote, upstream.ref) and settings.get(
        "push.default"
    ) != "nothing"
    if is_plain and not {f"remote.{remote}.push", f"remote.{remote}.mirror"} & settings.keys():
        return Upstream(upstream.branch, address, upstream.ref) if address else upstream
    args = ["push", "--dry-run", "--porcelain", "--no-verify", "--no-recurse-submodules", remote]
    try:
        answer, why = git.write(args, repository.top, extra=git.ENGLISH).decode(errors="replace"), ""
    except git.GitFailed as error:  # also if another clone has pushed, but then it names the branch
        answer, why = error.output, f":\n{error.stderr.strip()}"
    for _, pair, *_ in (line.split("\t") for line in answer.splitlines() if line.count("\t") > 1):
        source, _, ref = pair.partition(":")
        if source in (upstream.branch, "HEAD") and ref:
            return Upstream(upstream.branch, address or remote, ref)
    raise MemctlError(
        f"`git push` would not push the branch {short}, so `memctl sync` does not push it either{why}",
        f"`memctl sync --no-push` merges {upstream.name} and pushes nothing; "
        f"`git push {quote(remote)} {quote(f'HEAD:{upstream.branch}')}` pushes the branch",
    )


def fetch(repository: Repository, upstream: Upstream, also: Sequence[tuple[str, str]] = ()) -> tuple[str, bool]:
    """Fetch the upstream, its turn ref (see SyncTurn), and further refs given as pairs of remote and local ref.

    Returns the upstream's commit, "" if the remote has no such branch, and whether the further refs were fetched, too.
    Raises MemctlError if the remote can't be reached.
    """
    turn = (upstream.turn_ref, upstream.turn_tracking_ref)
    return refs.fetch_with(repository, upstream.remote, upstream.ref, upstream.tracking_ref, (turn, *also))


def fetch_branches(repository: Repository, remote: str) -> bool:
    """Fetch the branches of a remote, as `git fetch` does; return whether the user's settings have it fetch all.

    A shallow clone has one branch, for example. Raises MemctlError if no remote has that name, or if it can't be
    reached.
    """
    refs.refuse_unknown(repository, remote)
    git.write(["fetch", "--quiet", remote], repository.top)
    return any("refs/heads/*:" in spec for spec in settings(repository, f"remote.{remote}.fetch"))


def default(repository: Repository, remote: str) -> str:
    """Return the branch that the HEAD of a remote points to; "" if there is none or the remote can't be reached."""
    answer = git.try_read(["ls-remote", "--symref", remote, "HEAD"], repository.top) or b""
    first = answer.decode(errors="replace").partition("\n")[0]
    ref, _, name = first.removeprefix("ref: ").partition("\t")
    return ref.removeprefix(_HEADS) if name == "HEAD" and ref.startswith(_HEADS) else ""


def push(repository: Repository, upstream: Upstream, commit: str) -> bool:
    """Push a commit to the upstream, as `git push` does; return False if another push changed the upstream first.

    The user's pre-push hook runs. Raises PushRefused with the message of the hook, the remote or Git.
    """
    try:
        return run_push(repository, [upstream.remote, f"{commit}:{upstream.ref}"])
    except git.GitFailed as error:  # a hook refused, or the connection broke, perhaps after the remote took the push
        with suppress(MemctlError):
            if refs.contains(repository, fetch(repository, upstream)[0], commit):
                return True
        raise PushRefused(error.output or error.message) from None


def ahead_behind(repository: Repository, one: str, other: str) -> tuple[int, int]:
    """Return how many commits only the history of `one` has, and how many only the history of `other` has."""
    if one == other:
        return 0, 0
    out = git.read(["rev-list", "--count", "--left-right", f"{one}...{other}"], repository.top)
    left, right = map(int, out.split())
    return left, right


def commits_outside(repository: Repository, new: str, old: Sequence[str], folder: str) -> list[str]:
    """Return the commits in the history of `new` that touch files outside of folders with a name, as ids and subjects.

    For example ["1a2b3c4 Say till"]. Merges do not count, nor the commits in the histories of `old`.
    """
    paths = [".", f":(exclude,top,glob)**/{folder}/**"]
    args = [*git.LOG, "--no-merges", "--full-history", "--format=%h %s", new, *(f"^{commit}" for commit in old)]
    return git.read([*args, "--", *paths], repository.top, literal=False).decode(errors="replace").splitlines()


def settings(repository: Repository, key: str) -> list[str]:
    """Return all values of a Git setting that may have several."""
    return os.fsdecode(git.try_read(["config", "-z", "--get-all", key], repository.top) or b"").split("\0")[:-1]


def setting(repository: Repository, key: str) -> str:
    """Return the value of a Git setting, "" if it is not set."""
    return os.fsdecode(git.try_read(["config", "--get", key], repository.top) or b"").rstrip("\n")


class SyncTurn:
    """The right ("turn") to be the next clone that pushes to an upstream.

    Without turns one clone could keep another from pushing for ever: a clone with nothing to merge is always faster
    than one that must merge first. Of eight clones that only wrote and synced, one waited 65 s, 73 tries, while half of
    the syncs took 0.26 s. Longer pauses between tries can't help, since the faster clone does not know that another one
    waits.

    So a clone whose push came too late claims the next turn by creating a ref at the remote, which only one clone can
    do, and the others wait while the ref exists. The clone deletes the ref at the end of its sync. Each clone sees at
    its fetches whether the ref exists.

    A turn is a courtesy and no lock: the push of the branch is safe without it. A remote may refuse the ref, and then
    there are no turns. The turn of a killed process ends after 10 seconds.
    """

    def __init__(self, repository: Repository, upstream: Upstream) -> None:
        self._repository = repository
        self._remote = upstream.remote
        self._ref = upstream.turn_ref
        self._tracking = upstream.turn_tracking_ref
        self._claim = ""
        self._last_other_claim = ""
        self._other_claim_since = 0.0
        self._lost_claims = 0
        self._is_refused = False

    @property
    def is_claimed_elsewhere(self) -> bool:
        """Whether another clone had the turn at the last fetch, and has had it for less than 10 seconds."""
        claim = self._other_claim
        if not claim:
            return False
        self._lost_claims = 0
        if claim != self._last_other_claim:
            self._last_other_claim, self._other_claim_since = claim, time.monotonic()
        return time.monotonic() - self._other_claim_since < _LONGEST_TURN

    def claim(self, who: str) -> bool:
        """Claim the turn for this clone; return False if another clone has it.

        The claim is a commit whose message names `who`. Returns True also if the remote refuses the refs of turns,
        since it then has no turns at all.
        """
        tip = self._repository.tip(self._tracking)
        if self._is_refused or (self._claim and tip == self._claim):
            return True
        text = f"memctl: {who} waits to push\n\n{os.urandom(8).hex()}\n"  # no two are the same
        commit = refs.write_commit(self._repository, {}, (), text)
        try:
            if not self._push(commit, tip):
                self._lost_claims += 1
                self._is_refused = self._lost_claims >= _TRIES
                return self._is_refused
        except PushRefused:
            self._is_refused = True
            return True
        except git.GitFailed:  # the connection broke, and the remote may have taken the claim
            pass
        self._claim = commit
        return True

    def end_stale_claim(self) -> None:
        """Delete the turn's ref at the remote if another clone has the turn.

        This is for a caller that has waited too long: the process that claimed the turn may have been killed, and every
        later sync would wait, too.
        """
        if claim := self._other_claim:
            self._end(claim)

    def release(self) -> None:
        """End this clone's turn, if it has one, by deleting the ref at the remote."""
        if self._claim:
            self._end(self._claim)
            self._claim = ""

    @property
    def _other_claim(self) -> str:
        tip = self._repository.tip(self._tracking)
        return tip if tip not in (self._claim, *_EMPTY_TREES) else ""

    def _end(self, turn: str) -> None:
        with suppress(MemctlError, PushRefused):  # the others stop waiting for it after a while
            try:
                self._push("", turn)
            except PushRefused:  # some remotes forbid deleting refs
                self._push(git.write(["mktree"], self._repository.top, b"").decode().strip(), turn)

    def _push(self, commit: str, expected: str) -> bool:
        return refs.push(self._repository, self._remote, self._ref, commit, expected)
