"""Results of tools told shorter: what each form keeps, out of what real programs print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memctl.pack import names_in_text
from memctl.tokens.count import Counter
from memctl.tokens.families import FAMILIES
from memctl.window.results import rows, summary
from memctl.window.results.summary import ResultSummary

ROOT = Path(__file__).parents[3]
COUNT = Counter(FAMILIES["gpt"])


def count(text: str) -> int:
    return COUNT.tokens(text, "log")


def run(*command: str, cwd: Path = ROOT) -> str:
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False).stdout


def summed(tool: str, arguments: dict[str, Any], text: str, **more: Any) -> ResultSummary:
    made = summary.summarize(tool, arguments, text, count, **more)
    assert made is not None
    assert made.tokens == count(made.text) <= 0.9 * made.before
    return made


def bash(command: str) -> tuple[str, dict[str, str]]:
    return "Bash", {"command": command}


def test_a_search_keeps_how_much_was_found_and_in_which_files() -> None:
    text = "\n".join(f"src/part{n % 23}/client.ts:{n + 1}:  const answer = await axios.get(url{n})" for n in range(460))
    made = summed(*bash("grep -rn axios src | head -500"), text, goal=0.5)
    assert made.form == rows.SEARCH
    assert "Finding: 460 hits in 23 files" in made.text
    for number in range(23):
        assert f"src/part{number}/client.ts: " in made.text


def test_a_listing_of_real_files_keeps_how_many_there_are() -> None:
    text = run("git", "ls-files", "memctl", "tests")
    made = summed("Glob", {"pattern": "**/*"}, text)
    assert made.form == rows.LISTING
    names = text.split()
    folders = {name.rpartition("/")[0] for name in names}
    assert f"{len(names):,} entries in {len(folders):,} folders" in made.text
    assert made.tokens <= 0.2 * made.before


def test_a_run_of_tests_keeps_the_counts_and_every_failing_test(tmp_path: Path) -> None:
    passing = "\n".join(f"def test_fine_{n}(): assert True" for n in range(150))
    failing = "def test_sum():\n    assert 1 + 1 == 3\n\n\ndef test_key():\n    {}['missing']\n"
    (tmp_path / "test_it.py").write_text(passing + "\n\n\n" + failing)
    text = run(sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--rootdir=.", ".", cwd=tmp_path)
    made = summed(*bash("pytest -v"), text)
    assert "2 failed, 150 passed" in made.text
    assert "FAILED test_it.py::test_sum - assert (1 + 1) == 3" in made.text
    assert "FAILED test_it.py::test_key - KeyError: 'missing'" in made.text
    assert made.tokens <= 0.2 * made.before


def test_a_log_keeps_each_error_once() -> None:
    entries = [f"2025-11-04T14:{n // 60 % 60:02}:{n % 60:02}Z INFO request {n} took {n % 90} ms" for n in range(900)]
    entries[300] = "2025-11-04T14:05:00Z ERROR pool exhausted after 30 s for tenant 7"
    entries[700] = "2025-11-04T14:11:40Z ERROR pool exhausted after 31 s for tenant 9"
    entries[800] = "2025-11-04T14:13:20Z WARN retrying charge-482"
    made = summed(*bash("docker logs shop"), "\n".join(entries))
    assert "900 lines" in made.text
    assert "ERROR pool exhausted after 30 s for tenant 7 (2 times, with other numbers)" in made.text
    assert "after 31 s" not in made.text
    assert "retrying charge-482" in made.text


def test_file_summary_keeps_definitions_with_their_lines() -> None:
    text = (ROOT / "memctl" / "pack" / "draft.py").read_text()
    shown = "\n".join(f"{number:>6}\t{row}" for number, row in enumerate(text.split("\n"), 1))
    made = summed("Read", {"file_path": "memctl/pack/draft.py"}, shown)
    assert made.form == rows.FILE
    line = next(n for n, row in enumerate(text.split("\n"), 1) if row.startswith("class PackDraft"))
    assert f"{line}  class PackDraft" in made.text


def test_summary_keeps_needed_names() -> None:
    text = "\n".join(f"src/module_{n:04}/handler_{n * 7}.py" for n in range(600))
    needed = ("src/module_0431/handler_3017.py", "handler_4102", "not in it")
    made = summed("Glob", {"pattern": "*"}, text, needed=needed)
    assert "src/module_0431/handler_3017.py" in made.text
    assert "handler_4102" in made.text
    assert "not in it" not in made.text


def test_an_error_is_not_taken_for_what_was_asked_for() -> None:
    text = "grep: src: No such file or directory\n" + "usage: grep pattern, and much more help\n" * 60
    made = summed(*bash("grep -rn axios src"), text)
    assert "No such file or directory" in made.text
    assert "hits in" not in made.text


def test_total_printed_by_a_tool_is_preferred_to_a_count_of_lines() -> None:
    hits = "\n".join(f"src/a{n}.ts:{n + 1}: axios" for n in range(90))
    assert "Finding: 412 matches across 77 files" in summed("Grep", {}, f"{hits}\n412 matches across 77 files").text
    names = "\n".join(f"src/a{n}.ts" for n in range(90))
    assert (
        "Finding: (Results are truncated: 90 of 512 files)"
        in summed("Glob", {}, f"{names}\n(Results are truncated: 90 of 512 files)").text
    )


def test_message_about_a_written_file_is_plain_text() -> None:
    assert rows.output_of("Edit", {"file_path": "a.py", "new_string": "x"}, "The file a.py has been updated.").form == (
        rows.PLAIN
    )


def test_short_or_empty_output_is_not_summarized() -> None:
    assert summary.summarize("Bash", {"command": "ls"}, "a.py\nb.py\n", count) is None
    assert summary.summarize("Bash", {"command": "true"}, "", count) is None


LINES = ("a/b.py:3:x", "ERROR no", "{", "@@ -1 +1 @@", "+x", "diff --git a/x b/x", "1 passed in 0.1s", "total 3")
CALLS = (("Bash", {"command": "git diff"}), ("Grep", {}), ("Read", {"file_path": "x.py"}), ("", {"command": 3}))


@given(
    st.text(max_size=2_000) | st.lists(st.sampled_from(LINES), max_size=300).map("\n".join),
    st.sampled_from(CALLS),
    st.lists(st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=8), max_size=4),
)
def test_summary_of_any_output_is_shorter_and_keeps_needed_names(
    text: str, call: tuple[str, dict[str, Any]], needed: list[str]
) -> None:
    made = summary.summarize(*call, text, count, needed=needed)
    assert made == summary.summarize(*call, text, count, needed=needed)
    if made is not None:
        assert made.tokens <= 0.9 * made.before
        shown = rows.output_of(*call, text).text
        assert names_in_text.keeps(made.text, needed, shown)


def test_needed_name_is_kept_as_a_whole_word() -> None:
    lines = [f"row {number}: nothing to see in carpool{number}.py" for number in range(300)]
    lines[150] = "row 150: pool.py is where it is, by 4711"
    lines[120] = "row 120: carpool.py and 14711"
    made = summed("Bash", {"command": "./list"}, "\n".join(lines), needed={"pool.py", "4711"})
    assert "row 150: pool.py is where it is" in made.text
    assert "row 120: carpool.py" not in made.text
