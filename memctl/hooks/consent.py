"""What a user is told when hooks are installed: what they commit, and where."""

from __future__ import annotations

from memctl.git.hook_commits import ALL, NONE, RECORDS, SETTING

_WHAT = "what comes of each session (what was asked, decided and changed, and checkpoints; credentials redacted)"
_PLACES = {
    ALL: "commit {what} to your branch",
    RECORDS: "commit {what} to refs/memctl/sessions, off your branch; `memctl sync` shares it",
    NONE: "leave {what} to `memctl commit`",
}
_ANYWHERE = "commit {what} in clones that you trust, off the branch where it has an upstream"


def sentence(mode: str) -> str:
    """The sentence for one of the values of memctl.hookCommits, or "" where each clone has its own."""
    said = _PLACES.get(mode, _ANYWHERE).format(what=_WHAT)
    return f"these hooks {said} (`git config {SETTING} {ALL}|{RECORDS}|{NONE}` settles it)"
