"""`list`, `show`: filters, orders, envelopes, exit codes."""

from __future__ import annotations

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from memctl.record.record import TIMES
from memctl.text import timestamps
from tests.conftest import Memctl, git


def fields(line: str) -> dict[str, object]:
    """An exported record; times as moments, since a hand-written one may name another zone."""
    found: dict[str, object] = msgspec.json.decode(line)
    return {name: timestamps.parse(str(value)) if name in TIMES else value for name, value in found.items()}


def ids(memctl: Memctl, *args: str) -> list[str]:
    return [record["id"] for record in memctl("list", "--json", "--limit", "0", *args).data["records"]]


@pytest.mark.usefixtures("example")
class TestExample:
    def test_the_example_has_all_types_and_its_links_lead_to_records(self, memctl: Memctl) -> None:
        status = memctl("status", "--json")
        assert "faults" not in status.json
        assert set(status.data["records"]) == {"decision", "issue", "state", "learning"}
        for link in ("supersedes", "superseded_by", "relates_to", "blocks", "blocked_by"):
            for record in memctl("list", "--all", "--limit", "0", "--json").data["records"]:
                for target in record[link]:
                    memctl("show", target)

    def test_rehydrate_stays_within_any_budget(self, memctl: Memctl) -> None:
        for budget in (50, 500, 5_000, 20_000):
            data = memctl("rehydrate", "--budget", str(budget), "--json").data
            assert 0 < data["tokens"] <= budget

    def test_filters_narrow_and_agree_with_the_records(self, memctl: Memctl) -> None:
        everything = memctl("list", "--all", "--limit", "0", "--json").data["records"]
        checks = {
            ("--type", "issue"): lambda r: r["memory_type"] == "issue",
            ("--status", "accepted"): lambda r: r["status"] == "accepted",
            ("--severity", "high"): lambda r: r["severity"] == "high",
            ("--importance", "8"): lambda r: r["importance"] >= 8,
            ("--section", "2.2"): lambda r: (r["section"] or "").startswith(("§2.2", "§3.2", "§3.3")),
            ("--agent", "codex"): lambda r: r["agent_id"] == "codex",
            ("--since", "2025-10-15"): lambda r: r["timestamp"] >= "2025-10-15",
            ("--until", "2025-10-13"): lambda r: r["timestamp"] < "2025-10-14",
        }
        for args, wanted in checks.items():
            expected = {r["id"] for r in everything if wanted(r)}
            assert expected, args
            assert set(ids(memctl, "--all", *args)) == expected, args
        assert set(ids(memctl, "--archived")) == {r["id"] for r in everything if r["is_archived"]}
        assert set(ids(memctl)) == {r["id"] for r in everything if not r["is_archived"]}

    def test_list_is_sorted_by_the_given_order(self, memctl: Memctl) -> None:
        def column(order: str, name: str) -> list[object]:
            return [r[name] for r in memctl("list", "--sort", order, "--limit", "0", "--json").data["records"]]

        assert column("importance", "importance") == sorted(column("date", "importance"), reverse=True)  # type: ignore[type-var]
        assert column("date", "timestamp") == sorted(column("id", "timestamp"), reverse=True)  # type: ignore[type-var]
        assert column("id", "id") == sorted(column("date", "id"))  # type: ignore[type-var]
        assert ids(memctl, "--sort", "id", "--reverse") == ids(memctl, "--sort", "id")[::-1]

    def test_a_limited_list_reports_how_many_are_not_shown(self, memctl: Memctl) -> None:
        shown = memctl("list", "--limit", "3")
        assert len(shown.out.splitlines()) == 3
        assert "more entries: --limit 0" in shown.err

    def test_an_export_imports_into_another_repository_without_loss(self, memctl: Memctl, tmp_path: Path) -> None:
        lines = memctl("export", "--all").out
        other = tmp_path / "other"
        other.mkdir()
        memctl("init", "--git", where=other)
        memctl("import", "-", stdin=lines, where=other)
        again = memctl("export", "--all", where=other).out
        assert [fields(line) for line in again.splitlines()] == [fields(line) for line in lines.splitlines()]
        assert "nothing to change" in memctl("import", "-", stdin=lines, where=other).err
        assert git(other, "rev-list", "--count", "HEAD") == "2\n"


def test_show_finds_a_record_by_any_unambiguous_prefix(memctl: Memctl) -> None:
    first = memctl("decide", "One").id
    assert memctl("show", "dec").out == memctl("show", first).out
    memory_id = memctl("show", first, "--json").data["records"][0]["memory_id"]
    assert memctl("show", memory_id[:13]).out == memctl("show", first).out
    memctl("decide", "Two")
    failed = memctl("show", "DEC-2025", code=1)
    assert failed.out == ""
    assert "One" in failed.err
    assert "Two" in failed.err
    assert "did you mean" in memctl("show", "DEC-2025-11-04-003", code=1).err


def test_show_json_has_fields_and_content(memctl: Memctl) -> None:
    made = memctl(
        "issue",
        "Slow",
        "--severity",
        "high",
        "--attempted",
        "a",
        "--attempted",
        "b\nmore",
        "--description",
        "x\n\n## not a section\n",
    )
    record = memctl("show", made.id, "--json").data["records"][0]
    assert record["content"] == {"description": "x\n\n## not a section", "attempted_fixes": ["a", "b\nmore"]}
    assert (record["severity"], record["importance"]) == ("high", 8)


def test_errors_leave_standard_output_empty_and_have_codes(memctl: Memctl) -> None:
    for args, code in (
        (["show", "DEC-1999-01-01-001"], 1),
        (["list", "--at", "nowhere"], 1),
        (["list", "--since", "whenever"], 2),
        (["list", "--type", "novel"], 2),
        (["tokens", "no-such-file"], 2),
        (["tokens", "-", "--model", "abacus"], 2),
        (["decide"], 2),
        (["edit", "x", "--set", "novalue"], 2),
        (["nonsense"], 2),
        (["list", "--at", ""], 1),
    ):
        failed = memctl(*args, code=code)
        assert failed.out == "", args
        assert failed.err.startswith("error: "), args


def run_on_terminal(repo: Path, *args: str, keys: str = "", **env: str) -> str:
    """What memctl prints when its standard output is a terminal on which somebody types `keys`."""
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "memctl", "-C", str(repo), *args]
    with subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env={**os.environ, **env}
    ) as process:
        os.close(follower)
        os.write(leader, keys.encode())
        parts = []
        while True:
            try:
                part = os.read(leader, 65536)
            except OSError:
                break
            if not part:
                break
            parts.append(part)
        process.wait()
    os.close(leader)
    return b"".join(parts).decode()


def test_colours_appear_only_on_terminals_without_no_color(repo: Path, memctl: Memctl) -> None:
    memctl("decide", "Colourful")
    assert "\x1b[" not in memctl("list").out
    assert "\x1b[" in run_on_terminal(repo, "list", TERM="xterm")
    assert "\x1b[" not in run_on_terminal(repo, "list", TERM="xterm", NO_COLOR="1")


def test_an_editor_opens_on_a_terminal_only(repo: Path, memctl: Memctl) -> None:
    editor = repo.parent / "editor.py"
    editor.write_text(
        "import sys, pathlib\np = pathlib.Path(sys.argv[1])\nt = p.read_text()\n"
        "assert '## Rationale' in t and '<!--' in t\n"
        "p.write_text(t.replace('## Rationale\\n', '## Rationale\\n\\nWritten in an editor.\\n'))\n"
    )
    assert "no terminal" in memctl("decide", "Edited", "--edit", code=2).err
    command = f"{sys.executable} {editor}"
    run_on_terminal(repo, "decide", "Edited", "--edit", EDITOR=command, VISUAL=command)
    record = memctl("show", "DEC-2025-11-04-001", "--json").data["records"][0]
    assert record["content"] == {"rationale": "Written in an editor."}
    assert "<!--" not in record["body"]


def test_completion_knows_ids_and_commands(repo: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Complete me").id
    for shell in ("bash", "zsh", "fish"):
        assert "_MEMCTL_COMPLETE" in memctl("completion", shell).out

    def complete(words: str, number: int) -> str:
        env = {**os.environ, "_MEMCTL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(number)}
        return subprocess.run(
            [sys.executable, "-c", "import memctl.cli.main as m; m.main()"],
            cwd=repo,
            env=env,
            capture_output=True,
            text=True,
        ).stdout

    assert made in complete("memctl show DEC", 2)
    assert made in complete(f"memctl show {made[-3:]}", 2)
    other = memctl("learn", "Ends alike").id
    assert (other[-3:], complete(f"memctl show {made[-3:]}", 2).strip()) == (made[-3:], "")  # it may mean both
    assert "decide" in complete("memctl dec", 1)


def test_long_work_shows_its_progress_on_a_terminal_only(repo: Path, memctl: Memctl) -> None:
    lines = "".join(f'{{"memory_type": "learning", "title": "Lesson {n}"}}\n' for n in range(2_100))
    (repo.parent / "many.jsonl").write_text(lines)
    memctl("import", str(repo.parent / "many.jsonl"))
    shutil.rmtree(repo / ".git" / "memctl")
    assert "reading the memory [" in run_on_terminal(repo, "list")
    shutil.rmtree(repo / ".git" / "memctl")
    assert "reading" not in memctl("list").err


def test_a_deleted_record_is_offered_for_restoring(repo: Path, memctl: Memctl) -> None:
    gone = memctl("learn", "Look at the pool", "--lesson", "Before adding retries.").id
    memctl("state", "Profile API")
    memctl("delete", gone, "--reason", "Recorded twice")
    refused = memctl("show", gone, code=1).err
    assert f"`memctl restore {gone}` restores it" in refused
    assert "STA-" not in refused
    memctl("restore", gone)
    memctl("show", gone)


def test_a_memory_that_only_git_has_is_offered_for_restoring(repo: Path, memctl: Memctl) -> None:
    shutil.rmtree(repo / ".memory")
    assert "hint: Git has the memory's files: `git restore :/.memory`" in memctl("list", code=1).err
    git(repo, "restore", ".memory")
    memctl("list")
    git(repo, "rm", "-rq", ".memory")
    assert "hint: `memctl init` creates one" in memctl("list", code=1).err


@pytest.mark.parametrize("command", [("list",), ("export",), ("search", "card")])
def test_unknown_section_is_refused(repo: Path, memctl: Memctl, command: tuple[str, ...]) -> None:
    memctl("section", "add", "Payment")
    result = memctl(*command, "--section", "2.99", code=2)
    assert "there is no section §2.99" in result.err
    assert "§2.1" in result.err


def test_assignees_are_found_by_their_name_a_word_of_it_or_a_handle(repo: Path, memctl: Memctl) -> None:
    names = ("Ada Lovelace", "@ada", "Anna", "grace, @Ada-L", "ada@example.org")
    made = {name: memctl("issue", f"Of {name}", "--assignee", name).id for name in names}
    for wanted, found in {
        "ada": ["Ada Lovelace", "@ada", "ada@example.org"],
        "@ADA": ["Ada Lovelace", "@ada", "ada@example.org"],
        "lovelace": ["Ada Lovelace"],
        "ada lovelace": ["Ada Lovelace"],
        "ada-l": ["grace, @Ada-L"],
        "ann": [],
    }.items():
        listed = memctl("list", "--assignee", wanted, "--json").data["records"]
        assert {one["id"] for one in listed} == {made[name] for name in found}, wanted


def test_section_filter_finds_records_by_section_details_or_code(repo: Path, memctl: Memctl) -> None:
    for path in ("lib/vtls/gtls.c", "lib/vtlsx.c", "src/app.c"):
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text("x\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "code")
    memctl("section", "add", "TLS", "--path", "lib/vtls/**")
    memctl("section", "add", "Application", "--path", "src/**")
    memctl("detail", "add", "Sessions", "--section", "2.1")

    def learned(title: str, *options: str) -> str:
        return memctl("learn", title, "--lesson", f"{title} matters here.", *options).id

    wanted = {
        learned("Named", "--section", "2.1"),
        learned("Detail", "--section", "3.1"),
        learned("Line", "--code", "lib/vtls/gtls.c:1"),
        learned("Folder", "--code", "src/app.c", "--code", "lib/vtls/"),
    }
    learned("Beside", "--code", "lib/vtlsx.c")
    learned("Above", "--code", "lib/")
    learned("Elsewhere", "--code", "lib/vtls/gtls.c", "--section", "2.2")
    found = set(ids(memctl, "--section", "2.1"))
    assert found == wanted
    packed = memctl("rehydrate", "--section", "2.1", "--budget", "20000").out
    assert all(identifier in packed for identifier in wanted)
    assert "Elsewhere" not in packed
    assert {one["id"] for one in memctl("search", "matters", "--section", "2.1", "--json").data["results"]} == wanted
    exported = memctl("export", "--section", "2.1").out
    assert {json.loads(line)["id"] for line in exported.splitlines()} == wanted
