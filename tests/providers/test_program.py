"""Programs that answer prompts: small real ones."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from memctl.errors import USAGE, MemctlError
from memctl.providers.program import Program
from memctl.providers.provider import LONGEST_ANSWER, ProviderFailed


def program(folder: Path, code: str, seconds: float = 30, name: str = "ask") -> Program:
    """A provider whose program is some Python."""
    file = folder / name
    file.write_text(f"#!{sys.executable}\n{code}\n")
    file.chmod(0o755)
    return Program([str(file), "one two", "$HOME;echo"], seconds)


def test_program_gets_the_prompt_on_stdin_and_answers_on_stdout(tmp_path: Path) -> None:
    code = "import sys; text = sys.stdin.read(); print(sys.argv[1:], len(text), text[:5])"
    assert program(tmp_path, code).answer("héllo" * 100_000) == "['one two', '$HOME;echo'] 500000 héllo"


def test_program_can_answer_without_reading_its_input(tmp_path: Path) -> None:
    assert program(tmp_path, "print('yes')").answer("x" * 1_000_000) == "yes"


def test_program_runs_in_an_empty_folder_without_a_provider(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_INDEX_FILE", "other")
    code = "import os; print(os.listdir(), os.environ['MEMCTL_LLM_PROVIDER'], os.environ.get('GIT_INDEX_FILE'))"
    assert program(tmp_path, code).answer("") == "[] none None"


def test_failed_program_is_reported_with_exit_code_and_last_line(tmp_path: Path) -> None:
    failing = program(tmp_path, "import sys; print('so far'); sys.exit('first\\nno \\x1b[31mcredit')")
    with pytest.raises(ProviderFailed) as caught:
        failing.answer("hello")
    assert caught.value.message == "the program ask ended with exit code 1: no  [31mcredit".replace("  ", " ")


def test_empty_output_of_a_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ProviderFailed, match="gave no answer"):
        program(tmp_path, "print(' ')").answer("hello")


def test_slow_program_is_killed_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "ask"
    file.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > '{tmp_path / 'child'}'\nwait\n")
    file.chmod(0o755)
    with pytest.raises(ProviderFailed, match=r"gave no answer within 1 s"):
        Program([str(file)], 1).answer("hello")
    child = int((tmp_path / "child").read_text())
    for _ in range(100):
        if _is_gone(child):
            return
        time.sleep(0.05)
    pytest.fail("the child lives on")


def _is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return "\nState:\tZ" in Path(f"/proc/{process}/status").read_text()


def test_endless_answer_of_a_program_is_stopped(tmp_path: Path) -> None:
    with pytest.raises(ProviderFailed, match=f"{LONGEST_ANSWER:,} bytes"):
        program(tmp_path, "while True: print('x' * 10_000)").answer("hello")


def test_long_standard_error_does_not_stop_an_answer(tmp_path: Path) -> None:
    code = "import sys; sys.stderr.write('x' * 1_000_000); print('done')"
    assert program(tmp_path, code).answer("hello") == "done"


def test_program_with_a_relative_path_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path, "print(1)")
    with monkeypatch.context() as here:
        here.chdir(tmp_path)
        here.setenv("PATH", f".{os.pathsep}{os.environ['PATH']}")
        for command in (["./ask"], ["ask"], ["no-such-program-here"], []):
            with pytest.raises(MemctlError) as caught:
                Program(command, 1)
            assert caught.value.exit_code == USAGE
        here.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        assert Program(["ask"], 30).answer("") == "1"
