"""What sessions see of credentials gets into no commit, and into no file that hooks keep."""

from __future__ import annotations

import pytest

from tests.conftest import Memctl, git
from tests.hooks.session import Session
from tests.text.secrets import ALL

_ONCE = 40  # shapes of a session: of what is said, only so much is kept


def _pieces(secret: str) -> list[str]:
    """A secret by its lines: none of them may be left."""
    return [piece for piece in secret.replace("\\n", "\n").split("\n") if piece]


@pytest.mark.parametrize("first", range(0, len(ALL), _ONCE))
def test_hooks_commit_no_credential_from_prompts_calls_or_answers(session: Session, memctl: Memctl, first: int) -> None:
    some = ALL[first : first + _ONCE]
    told = session.transcript
    told.prompt(f"Push the release. {some[0][1]}")
    session.send("UserPromptSubmit", prompt=f"Push the release. {some[0][1]}")
    for number, (family, text, _) in enumerate(some):
        told.prompt(f"Now {family}: {text}")
        told.call("Bash", f"Exit code 1\nrefused {number}: {text}", error=True, command=f"deploy {number} {text}")
        told.says(f"DECISION: Go on with {family} {number}, because {text}\n\nLESSON: of {family} {number}: {text}")
    told.says("Next steps:\n" + "\n".join(f"- Rotate {text}" for _, text, _ in some))
    for event, more in (("Stop", {}), ("PreCompact", {"trigger": "auto"}), ("SessionEnd", {"reason": "exit"})):
        session.send(event, **more)
    assert session.faults() == []
    kept = git(session.repo, "log", "-p", "--all")
    kept += "".join(file.read_text(errors="replace") for file in session.root.rglob("*") if file.is_file())
    assert kept.count("[redacted: ") > _ONCE / 2
    kept = kept.replace("\\\\n", "\n")
    assert [text for _, text, secret in some if any(piece in kept for piece in _pieces(secret))] == []


def test_a_credential_in_the_name_of_the_branch_is_redacted_and_the_session_kept(session: Session) -> None:
    token = "gh" + "p_16C7e42F292c6912E7710c838347Ae178B4a"
    git(session.repo, "checkout", "-qb", f"wip-{token}")
    session.transcript.prompt("Take refunds up again")
    session.send("UserPromptSubmit", prompt="Take refunds up again")
    session.transcript.says("DECISION: Refunds go through the queue")
    session.send("PreCompact", trigger="auto")
    assert session.faults() == []
    kept = git(session.repo, "show", "HEAD", "--format=%B")
    assert '"branch": "[redacted: GitHub token]"' in kept
    assert token[4:] not in kept


def test_checkpoint_by_hand_on_a_branch_with_a_credential_is_refused(session: Session, memctl: Memctl) -> None:
    git(session.repo, "checkout", "-qb", "wip-gh" + "p_16C7e42F292c6912E7710c838347Ae178B4a")
    refused = memctl("checkpoint", "save", "--task", "Take refunds up", code=1)
    assert refused.err.startswith("error: environment: ")
