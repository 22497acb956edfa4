"""The view of a file: whole lines, never a token too many."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memctl.errors import MemctlError
from memctl.sources.summary import summary
from memctl.store import load
from memctl.store.memory import open_memory
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from tests.conftest import Memctl, examples

CODE = '"""The till."""\n\nimport os\n\n' + "\n".join(
    f'\ndef step_{n}():\n    """Does step {n} of the whole thing."""\n    return {n}\n' for n in range(300)
)


def view(repo: Path, name: str, text: str, budget: int = 500, family: str = "gpt") -> str:
    (repo / name).write_text(text)
    snapshot = load.disk(open_memory(repo, {}))
    found = summary(snapshot, name, budget, Counter(FAMILIES[family]))
    assert found.tokens <= budget
    assert found.tokens >= Counter(FAMILIES[family]).tokens(found.text)
    return found.text


def test_summary_begins_with_the_figures_and_ends_with_the_lines_left_out(repo: Path) -> None:
    told = view(repo, "till.py", CODE).split("\n")
    lines, size = CODE.count("\n"), len(CODE)
    assert told[0] == "# till.py"
    assert told[1].startswith(f"{lines:,} lines, {size:,} bytes, ")
    assert told[1].endswith("tokens (o200k)")
    assert told[2] == "The till."
    assert told[-2].endswith(f"`memctl show §4.till.py` loads all {lines:,} lines.")
    assert "more lines left out of this summary" in told[-2]


def test_a_small_file_is_summarized_as_a_whole(repo: Path) -> None:
    told = view(repo, "small.py", "def one():\n    '''Gives 1.'''\n    return 1\n")
    assert "1  one(): Gives 1." in told
    assert "left out" not in told


@pytest.mark.parametrize("family", list(FAMILIES))
@settings(examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(budget=st.integers(120, 2_000))
def test_the_budget_holds_for_every_family(repo: Path, family: str, budget: int) -> None:
    fuller = view(repo, "till.py", CODE, budget, family)
    assert fuller == view(repo, "till.py", CODE, budget, family)
    known = {line for line in view(repo, "till.py", CODE, 20_000, family).split("\n") if "step_" in line}
    for line in fuller.split("\n"):
        if "step_" in line:
            assert any(full.startswith(line) for full in known), "a line is whole, or lacks what is said at its end"


def test_a_larger_budget_shows_no_less(repo: Path) -> None:
    sizes = [len(view(repo, "till.py", CODE, budget).split("\n")) for budget in (60, 100, 200, 400, 800)]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("server.pem", b"x", "files with secrets"),
        ("logo.png", b"\x89PNG\0", "binary"),
        ("keys.txt", b"AK" + b"IA" + b"QWERTYUIOPASDFGH", "credential"),
    ],
)
def test_secret_or_binary_file_is_refused(repo: Path, name: str, content: bytes, reason: str) -> None:
    (repo / name).write_bytes(content)
    snapshot = load.disk(open_memory(repo, {}))
    with pytest.raises(MemctlError, match=reason):
        summary(snapshot, name, 500, Counter(FAMILIES["gpt"]))


def test_a_budget_too_small_for_the_head_is_refused(repo: Path) -> None:
    with pytest.raises(MemctlError, match="into 5 tokens"):
        view(repo, "till.py", CODE, 5)


def test_a_log_of_several_megabytes_is_summarised(memctl: Memctl, repo: Path) -> None:
    lines = [
        f"2025-11-04 10:00:{number % 60:02d} INFO request {number} took {number % 90} ms" for number in range(70_000)
    ]
    (repo / "server.log").write_text("\n".join(lines) + "\n")
    assert (repo / "server.log").stat().st_size > 3 << 20
    data = memctl("summarize", "server.log", "--json").data
    assert data["tokens"] <= 500
    assert "70,000 lines" in data["text"]


def test_summary_for_an_agent_names_no_command_that_its_shell_refuses(
    memctl: Memctl, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo / "till.py").write_text(CODE)
    assert "`memctl show §4.till.py` loads all" in memctl("summarize", "till.py").out
    monkeypatch.setenv("CLAUDECODE", "1")
    out = memctl("summarize", "till.py").out
    assert "memctl show" not in out
    assert f"the file till.py has all {len(CODE.splitlines()):,} lines." in out
