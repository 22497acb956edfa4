"""Of hosts whose transcripts nobody reads: what was decided in the last words of a turn reaches the next session."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memctl.hooks import session_state
from memctl.hooks.hosts import CODEX, GEMINI, STOP, Host
from memctl.store.session_dir import SessionDir
from tests.conftest import Memctl, git
from tests.hooks.session import Session
from tests.transcript import test_codex, test_gemini

SAID = (
    "Done so far.\n\nDECISION: Round half to even, because the bank does so.\n\nNext steps:\n- Test with half a cent\n"
)
FIELDS = {"codex": "last_assistant_message", "gemini": "prompt_response"}


@pytest.mark.parametrize("host", [CODEX, GEMINI], ids=lambda host: host.name)
def test_a_decision_in_an_answer_is_shown_to_the_next_session(
    repo: Path, tmp_path: Path, memctl: Memctl, host: Host
) -> None:
    session = Session(repo, tmp_path / "a.jsonl", "first", host)
    stop = next(name for name, what in host.events.items() if what == STOP)
    prompt = "BeforeAgent" if host is GEMINI else "UserPromptSubmit"
    session.context("SessionStart", source="startup")
    session.send(prompt, prompt="Refunds by card: orders can be refunded")
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for answer in (f"Token {key} is used.", SAID, SAID, "It is all quiet now."):
        assert session.send(stop, **{FIELDS[host.name]: answer}) == ""
    session.send("SessionEnd", reason="exit")
    text = Session(repo, tmp_path / "b.jsonl", "second", host).context("SessionStart", source="startup")
    for fact in ("Refunds by card", "Round half to even", "Test with half a cent"):
        assert text.count(fact) == 1, text
    assert "session" in memctl("search", "round half even").out
    everything = b"".join(file.read_bytes() for file in session.root.rglob("*") if file.is_file())
    assert key.encode() not in everything
    assert session.faults() == []


@pytest.mark.parametrize("host", [CODEX, GEMINI], ids=lambda host: host.name)
def test_page_names_the_errors_in_the_hosts_transcript(repo: Path, tmp_path: Path, host: Host) -> None:
    session = Session(repo, tmp_path / "a.jsonl", "first", host)
    session.context("SessionStart", source="startup")
    session.send("BeforeAgent" if host is GEMINI else "UserPromptSubmit", prompt="Refunds by card")
    (repo / "card.py").write_text("def refund(): ...\n")
    if host is CODEX:
        rows = test_codex.start(str(repo)) + test_codex.run(1, "pytest", "ImportError: no module named card\n", code=1)
    else:
        output = "Output: ImportError: no module named card\nExit Code: 1"
        chat = (test_gemini.HEAD, test_gemini.called(1, "pytest", output=output))
        rows = "".join(json.dumps(line) + "\n" for line in chat)
    session.transcript.raw(rows.rstrip("\n"))
    session.send("SessionEnd", reason="exit")
    page = git(repo, "show", "refs/memctl/sessions:.memory/sessions/first.md")
    assert "ImportError: no module named card" in page
    assert "| `card.py` | created |" in page
    assert session.faults() == []


def test_private_key_cut_at_its_start_is_redacted_in_an_answer(session: Session) -> None:
    key = "\n".join(f"{number:08x}".upper() * 8 for number in range(80))
    folder = SessionDir(session.root, "one")
    session_state.note_answer(
        folder, f"-----BEGIN {'PRIVATE'} KEY-----\n{key}\n-----END {'PRIVATE'} KEY-----\nWe decided."
    )
    state = session_state.read(folder)
    assert state is not None
    assert state.answers == ("[redacted: private key]\nWe decided.",)
