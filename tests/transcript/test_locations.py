"""Where Claude Code keeps transcripts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memctl.errors import MemctlError
from memctl.transcript import claude_code


def test_the_newest_transcript_is_the_projects_own(tmp_path: Path) -> None:
    folder, kept = Path("/home/ada/my_shop.v2"), tmp_path / "projects"
    own = kept / "-home-ada-my-shop-v2"
    own.mkdir(parents=True)
    for number, name in enumerate(("old.jsonl", "new.jsonl", "agent-1.jsonl", "notes.txt", "empty.jsonl")):
        (own / name).write_text("" if name.startswith("empty") else "{}\n")
        os.utime(own / name, (number, number))
    os.mkfifo(own / "pipe.jsonl")
    (own / "link.jsonl").symlink_to(tmp_path)
    assert claude_code.newest_transcript(folder, kept) == own / "new.jsonl"
    assert claude_code.newest_transcript(folder / "src" / "deep", kept) == own / "new.jsonl"


def test_missing_transcript_is_refused_with_a_hint_to_name_a_file(tmp_path: Path) -> None:
    with pytest.raises(MemctlError) as caught:
        claude_code.newest_transcript(Path("/home/ada/other"), tmp_path)
    assert caught.value.exit_code == 2
    assert "give the FILE of a transcript" in str(caught.value.hint)


def test_the_hosts_own_variable_says_where_transcripts_are(tmp_path: Path) -> None:
    assert claude_code.projects({}, tmp_path) == tmp_path / ".claude" / "projects"
    assert claude_code.projects({"CLAUDE_CONFIG_DIR": "/srv/claude"}, tmp_path) == Path("/srv/claude/projects")
