"""What the programs read of settings that are not plain JSON: `install` warns of what they don't (`Host.takes`)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from memctl.hooks.hosts import HOSTS
from memctl.hooks.json_edit import COMMAS, COMMENTS
from tests.agents import test_claude_code, test_codex, test_gemini
from tests.agents.generate_content_api import GenerateContentAPI
from tests.agents.messages_api import MessagesAPI
from tests.agents.program import ClaudeCode, Codex, Gemini
from tests.agents.responses_api import ResponsesAPI
from tests.conftest import Memctl

PROGRAMS = {
    "claude-code": (test_claude_code, MessagesAPI, ClaudeCode),
    "codex": (test_codex, ResponsesAPI, Codex),
    "gemini": (test_gemini, GenerateContentAPI, Gemini),
}
FORMS = {COMMENTS: (r"\A", "// ours\n"), COMMAS: (r"\n}\s*\Z", ",\n}\n")}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("what", PROGRAMS)
def test_program_reads_exactly_the_documented_settings(
    memctl: Memctl, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, form: str
) -> None:
    module, interface, program = PROGRAMS[what]
    if not module.PROGRAM:
        pytest.skip(f"{what} is not installed")
    monkeypatch.delenv("MEMCTL_NOW")
    (tmp_path / "home").mkdir()
    host = HOSTS[what]
    with interface([], "") as api:
        made = program(module.PROGRAM, repo, tmp_path / "home", api)
        memctl("install", what, "--yes")
        file = repo / host.folder / host.shared
        file.write_text(re.sub(*FORMS[form], file.read_text()))
        warned = f"can't read settings with {form}" in memctl("install", what, "--yes").err
        assert warned == (form not in host.takes)
        try:
            made.run("Hello")
        except AssertionError:
            assert warned, "it does not start at all"
        reached = "".join(module.told(api, number) for number in range(len(api.asked)))
        assert ("# Memory of shop" in reached) == (not warned)
