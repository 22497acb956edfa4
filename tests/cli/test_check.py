"""`memctl check`: what it reads, what it leaves alone, what it mends, and what it says with its exit code."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from memctl.check.rules import RULES
from memctl.record import pages
from memctl.text import credentials
from tests.check import (
    AUTH,
    CLOSED,
    DECISION,
    EXECUTIVE,
    INDEX,
    ISSUE,
    LEARNING,
    OLD,
    PROJECT,
    PROPOSED,
    REFUNDS,
    SENTENCE,
    STATE,
    TOKENS,
    Found,
    Hand,
    found,
    identifier,
    learning,
)
from tests.conftest import Memctl, changed_in, commits, copied, git, slow

CONFIG = "config.yaml"
DREADFUL = ("severity: high", "severity: dreadful")  # in ISSUE; no document shows it otherwise than as a stale one
NO_DOCUMENTS = ("--ignore", "MEM308")


@pytest.fixture
def repo(healthy: Path, tmp_path: Path) -> Path:
    return copied(healthy, tmp_path / "shop")


@pytest.fixture
def hand(repo: Path) -> Hand:
    return Hand(repo)


def at(hand: Hand, code: str, path: str, text: str) -> Found:
    return Found(code, path, hand.line(path, text))


def codes(memctl: Memctl, *options: str) -> list[str]:
    return [one.code for one in found(memctl, *options)]


# A healthy memory


@pytest.mark.parametrize("options", [(), ("--staged",), ("--at", "HEAD"), ("--strict",)], ids=" ".join)
def test_a_healthy_memory_has_no_findings(memctl: Memctl, options: tuple[str, ...]) -> None:
    assert found(memctl, *options, code=0) == []


def test_a_memory_made_by_commands_is_healthy(built: Path, tmp_path: Path, memctl: Memctl) -> None:
    repo = Path(shutil.copytree(built, tmp_path / "made"))

    def run(*args: str, stdin: str = "") -> str:
        return memctl(*args, stdin=stdin, where=repo).out.partition(" ")[0]

    run("project", "set", "--goal", "Sell.", "--completion", "50", "--priority", "Payment", "--priority", "Mail")
    for number, title in enumerate(("Auth", "Payment"), 1):
        section = ("--path", "*.py", "--overview", SENTENCE * 9, "--completion", "50", "--next", f"See §3.{number}.1")
        run("section", "add", title, *section)
        text = f"# {title}\n\nSee §4.app.py.\n\n## Why\n\n{SENTENCE * 45}"
        run("detail", "add", "--section", f"2.{number}", "--code", "app.py", "--file", "-", stdin=text)
    old = run("decide", "Sessions in memory", "--section", "2.1", "--decision", "They stay.")
    new = run("decide", "Tokens", "--section", "2.1", "--rationale", f"Instead of {old}.", "--supersedes", old)
    issue = run("issue", "Slow", "--section", "3.2.1", "--severity", "high", "--code", "app.py:1", "--relates-to", new)
    state = run("state", "Queue", "--section", "2.2", "--completion", "65", "--blocked-by", issue, "--expires", "90d")
    lesson = run("learn", "Clocks drift", "--lesson", f"See §2.1 and {new}.", "--tag", "time", "--parent", new)
    run("link", lesson, state)
    run("resolve", run("issue", "Lost mail"))
    run("archive", run("learn", "Nothing"))
    assert memctl("check", "--strict", where=repo).err == "nothing found\n"
    assert memctl("check", "--staged", "--strict", where=repo).err == "nothing found\n"


def test_a_new_memory_is_healthy(built: Path, memctl: Memctl) -> None:
    assert memctl("check", "--strict", where=built).err == "nothing found\n"


def test_memory_on_a_branch_without_commits_is_checked(hand: Hand, memctl: Memctl) -> None:
    hand.git("checkout", "-q", "--orphan", "anew")
    assert found(memctl, code=0) == found(memctl, "--staged", code=0) == []
    hand.replace(ISSUE, *DREADFUL)
    assert found(memctl, *NO_DOCUMENTS, code=1) == [at(hand, "MEM101", ISSUE, "severity")]


def test_check_prints_paths_from_the_top_of_the_worktree(tmp_path: Path, memctl: Memctl) -> None:
    folder = tmp_path / "many" / "packages" / "shop"
    folder.mkdir(parents=True)
    git(tmp_path / "many", "init", "-q", "-b", "main")
    memctl("init", "--here", where=folder)
    (folder / ".memory" / "notes.txt").write_text("")
    git(tmp_path / "many", "add", "-A")
    for options in ((), ("--staged", "--json"), ("--format", "github"), ("--format", "sarif"), ("--json",)):
        assert "packages/shop/.memory/notes.txt" in memctl("check", *options, where=folder).out


# Any number of faults


def test_sixty_faults_are_all_found(hand: Hand, memctl: Memctl) -> None:
    """Each in a file of its own, every third in a different way; none hides another."""
    expected = set()
    ways = (
        ("MEM101", "importance: 5", "importance: 50", "importance"),
        ("MEM101", "status: active\n", "status: on\n", "status: on"),
        ("MEM102", "title: ", "title: Twice\ntitle: ", "title: Record"),
        ("MEM103", "A text.", "<<<<<<< a\nA text.\n=======\nNone.\n>>>>>>> b", "<<<<<<<"),
        ("MEM106", "importance: 5", "importance: 5\nrelates_to:\n  - LRN-2025-10-07-999", "  - LRN-2025-10-07-999"),
        ("MEM203", "importance: 5", "importance: 5\ncode_refs:\n  - none.py", "  - none.py"),
        ("MEM205", "importance: 5", "importance: 5\nsection: §2.99", "section"),
        ("MEM207", "A text.", "See DEC-2024-01-01-001.", "See DEC"),
        ("MEM401", "importance: 5", "importance: 5\nexpires_at: 2025-10-10", "expires_at"),
        ("MEM404", "timestamp: 2025-10-06", "timestamp: 2026-10-06", "\ntimestamp"),
    )
    for number in range(60):
        code, old, new, text = ways[number % len(ways)]
        path, healthy = learning(number + 1)
        hand.write(path, healthy.replace(old, new))
        expected.add(at(hand, code, path, text))
    assert len(expected) == 60
    assert set(found(memctl, *NO_DOCUMENTS, code=1)) == expected
    hand.git("add", "-A")
    assert set(found(memctl, "--staged", *NO_DOCUMENTS, code=1)) == expected
    hand.git("commit", "-qm", "sixty faults")
    assert set(found(memctl, "--at", "HEAD", *NO_DOCUMENTS, code=1)) == expected


def test_cached_findings_follow_every_change(hand: Hand, memctl: Memctl) -> None:
    def fresh() -> list[Found]:
        shutil.rmtree(hand.repo / ".git" / "memctl")
        return found(memctl, *NO_DOCUMENTS)

    path, text = learning(1)
    edits = [
        lambda: hand.write(path, text.replace("importance: 5", "importance: 5\nrelates_to:\n  - LRN-2025-10-07-999")),
        lambda: hand.append(REFUNDS, "\nSee DEC-2024-01-01-001 and §2.99.\n"),
        lambda: hand.replace(REFUNDS, "---\nid:", "---\n# a comment\nid:"),
        lambda: hand.append(path, "\nSee §4.notes.txt and §2.98.\n"),
        lambda: hand.write("sections/2.98-broken.md", "no page\n"),
        lambda: (hand.folder / "sections/2.98-broken.md").unlink(),
        lambda: (hand.repo / "notes.txt").write_text("there it is\n"),
        lambda: hand.replace(path, "importance: 5", "importance: 6"),
        lambda: (hand.folder / path).unlink(),
    ]
    seen = [fresh()]
    for edit in edits:
        edit()
        hand.git("add", "-A")
        seen.append(found(memctl, *NO_DOCUMENTS))
        for _ in range(2):
            assert found(memctl, *NO_DOCUMENTS) == seen[-1]
        assert found(memctl, "--staged", *NO_DOCUMENTS) == seen[-1]
        assert fresh() == seen[-1]
    assert [set(one) - set(other) == set() for one, other in zip(seen[1:], seen, strict=False)].count(False) >= 4


def test_each_rule_has_hints_of_its_own_fresh_and_cached(hand: Hand, memctl: Memctl) -> None:
    def hinted() -> Counter[str]:
        result = memctl("check", "--json", "--select", "MEM106", "--select", "MEM207", code=1)
        return Counter(one["code"] for one in result.data["findings"] if one["hint"])

    first = learning(1)[0]
    for number in range(1, 31):
        path, text = learning(number)
        hand.write(path, text.replace("importance: 5", "importance: 5\nrelates_to:\n  - LRN-2025-10-06-099"))
    hand.append(first, "\nSee DEC-2024-01-01-001 and §2.99.\n")
    shutil.rmtree(hand.repo / ".git" / "memctl")
    fresh = hinted()
    assert fresh["MEM106"] == 20
    assert fresh["MEM207"] >= 1
    assert hinted() == fresh


def test_all_faults_of_a_file_are_reported(hand: Hand, memctl: Memctl) -> None:
    hand.replace(ISSUE, "status: open\nseverity: high\nimportance: 8", "status: on fire\nseverity: 7\nimportance: 80")
    lines = [one.line for one in found(memctl, *NO_DOCUMENTS, code=1)]
    assert lines == [hand.line(ISSUE, "severity: 7"), hand.line(ISSUE, "importance: 80")]
    hand.replace(ISSUE, "severity: 7\nimportance: 80", "severity: low\nimportance: 8")
    assert found(memctl, *NO_DOCUMENTS, code=1) == [at(hand, "MEM101", ISSUE, "status: on fire")]


@pytest.mark.parametrize("text", ["{% if %}", "{{ page.nothing }}", *slow("{{ 1 / 0 }}")])
def test_broken_template_does_not_hide_other_faults(hand: Hand, memctl: Memctl, text: str) -> None:
    hand.write("templates/section.md.j2", text)
    hand.replace(ISSUE, *DREADFUL)
    result = memctl("check", code=1)
    assert f".memory/{ISSUE}:{hand.line(ISSUE, 'severity')}: error MEM101" in result.out
    assert "templates/section.md.j2" in result.out + result.err


# What is staged


@pytest.mark.parametrize("format_number", [1, 2])
def test_stale_documents_stop_no_commit(hand: Hand, memctl: Memctl, format_number: int) -> None:
    """A rebase may have left them stale; in format 1 only a commit of the memory is stopped."""
    hand.replace(CONFIG, "format: 2", f"format: {format_number}")
    memctl("render", "--force")
    memctl("commit")
    hand.replace(AUTH, "title: Auth", "title: Authentication")
    hand.git("commit", "-qam", "stale")
    hand.write("../app.py", "print('changed')\n")
    hand.git("add", "-A")
    assert found(memctl, "--staged", code=0) == []
    hand.replace(AUTH, "title: Authentication", "title: Auth and more")
    hand.append(INDEX, "By hand.\n")
    hand.git("add", "-A")
    codes = {finding.code for finding in found(memctl, "--staged", code=2 - format_number)}
    assert codes == ({"MEM308", "MEM309"} if format_number == 1 else set())


def test_advice_is_printed_with_all_and_in_json_but_not_by_hooks(hand: Hand, memctl: Memctl) -> None:
    hand.write("sections/2.1-auth.md", "---\nid: §2.1\ntitle: Auth\n---\n")
    hand.git("add", "-A")
    staged = memctl("check", "--staged", code=None)
    plain = memctl("check", code=None)
    assert "MEM307" not in plain.out
    assert plain.err.endswith(" 1 note: `memctl check --all` prints the notes\n")
    assert "MEM307" not in memctl("check", "--format", "github", code=None).out
    assert "info MEM307 §2.1 has" in memctl("check", "--all", code=None).out
    assert "info MEM307" in memctl("check", "--select", "MEM3", code=None).out
    assert "MEM307" not in staged.out
    assert any(found["code"] == "MEM307" for found in memctl("check", "--staged", "--json", code=None).data["findings"])


def test_unstaged_changes_are_not_checked(hand: Hand, memctl: Memctl) -> None:
    hand.replace(ISSUE, *DREADFUL)
    hand.write(*learning(1, "section: §2.9\n"))
    hand.write("notes.txt", "What else?\n")
    hand.append(INDEX, "By hand.\n")
    (hand.folder / STATE).unlink()
    (hand.repo / "src/auth/jwt.py").unlink()
    assert found(memctl, "--staged", code=0) == []
    assert {"MEM101", "MEM205", "MEM501", "MEM309", "MEM201"} <= set(codes(memctl))


def test_staged_text_is_checked_even_if_the_disk_has_it_corrected(hand: Hand, memctl: Memctl) -> None:
    text = hand.read(ISSUE)
    hand.replace(ISSUE, *DREADFUL)
    broken = at(hand, "MEM101", ISSUE, "severity")
    hand.write("notes.txt", "What else?\n")
    hand.git("add", "-A")
    hand.write(ISSUE, "\n\n\n" + text)
    (hand.folder / "notes.txt").unlink()
    assert found(memctl, "--staged", *NO_DOCUMENTS, code=1) == [broken, Found("MEM501", "notes.txt", 1)]
    hand.write(ISSUE, text)
    assert found(memctl, code=0) == []


def test_file_staged_as_deleted_counts_as_missing(hand: Hand, memctl: Memctl) -> None:
    hand.git("rm", "-q", "--cached", f".memory/{STATE}", "src/auth/jwt.py")
    assert found(memctl, "--staged", *NO_DOCUMENTS, code=1) == [
        at(hand, "MEM203", DECISION, "  - src/auth/jwt.py:5"),
        at(hand, "MEM201", TOKENS, "  - src/auth/jwt.py:4"),
        at(hand, "MEM201", TOKENS, "(§4.auth.jwt)"),
        at(hand, "MEM106", ISSUE, "  - STA-2025-10-04-001"),
    ]


def test_staged_code_counts_as_existing(hand: Hand, memctl: Memctl) -> None:
    hand.write("../src/auth/new.py", "")
    hand.replace(TOKENS, "§4.src/payment/keys.py", "§4.src/auth/new.py")
    hand.git("add", ".memory")
    assert found(memctl, "--staged", *NO_DOCUMENTS, code=1) == [at(hand, "MEM201", TOKENS, "§4.src/auth/new.py")]
    hand.git("add", "src")
    assert found(memctl, "--staged", *NO_DOCUMENTS, code=0) == []


def test_staged_changes_of_code_make_a_page_suspect(hand: Hand, memctl: Memctl) -> None:
    hand.write("../src/payment/refund.py", "pass\n")
    assert found(memctl, "--staged", code=0) == []
    hand.git("add", "src")
    assert found(memctl, "--staged", code=0) == [at(hand, "MEM208", REFUNDS, "  - src/payment/refund.py ")]


def test_staged_check_uses_the_staged_settings(hand: Hand, memctl: Memctl) -> None:
    hand.replace(ISSUE, *DREADFUL)
    hand.git("add", "-A")
    hand.append(CONFIG, 'check_ignore:\n  - "MEM101 issues/*: under way"\n')
    assert codes(memctl, "--staged", *NO_DOCUMENTS) == ["MEM101"]
    hand.git("add", "-A")
    assert codes(memctl, "--staged", "--select", "MEM1") == []


def test_a_conflict_in_the_index_is_an_error(hand: Hand, memctl: Memctl) -> None:
    for branch, text in (("other", "by an hour"), ("main", "by a day")):
        hand.git("checkout", "-q", *(["-b"] if branch == "other" else []), branch)
        hand.replace(LEARNING, "by a minute", text)
        hand.git("commit", "-qam", branch)
    hand.git("merge", "other", check=False)
    assert LEARNING in [one.path for one in found(memctl, "--staged", code=1)]


# In a hook


@pytest.fixture
def hooked(repo: Path) -> Path:
    """The repository with a hook that lets no faults pass."""
    hook = repo / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\nexec '{sys.executable}' -m memctl check --staged\n")
    hook.chmod(0o755)
    return repo


def commit(repo: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "commit", "-qm", "x", *args], cwd=repo, capture_output=True, text=True)


def test_errors_of_head_do_not_stop_a_commit(hooked: Path, hand: Hand, memctl: Memctl) -> None:
    hand.replace(ISSUE, *DREADFUL)
    assert commit(hooked, "-a", "--no-verify").returncode == 0
    hand.append("../app.py", "# more\n")
    done = commit(hooked, "-a")
    assert done.returncode == 0
    assert f".memory/{ISSUE}:{hand.line(ISSUE, 'severity')}: warning MEM101" in done.stdout + done.stderr
    assert "(HEAD has this error already)" in done.stdout + done.stderr
    hand.replace(TOKENS, "§4.src/payment/keys.py", "§4.src/auth/new.py")
    hand.git("add", "-A")
    severities = {
        one["code"]: one["severity"]
        for one in memctl("check", "--staged", "--json", *NO_DOCUMENTS, where=hooked, code=1).data["findings"]
    }
    assert severities == {"MEM101": "warning", "MEM201": "error"}
    assert "error MEM101" in memctl("check", where=hooked, code=1).out


def test_an_error_of_head_counts_once(hooked: Path, hand: Hand, memctl: Memctl) -> None:
    hand.append(TOKENS, "\nSee §4.src/auth/new.py.\n")
    assert commit(hooked, "-a", "--no-verify").returncode == 0
    hand.replace(TOKENS, "See §4.src/auth/new.py.", "\n\nSee §4.src/auth/new.py.")
    hand.git("add", "-A")
    memctl("check", "--staged", *NO_DOCUMENTS, where=hooked, code=0)
    hand.append(TOKENS, "\nAgain §4.src/auth/new.py.\n")
    hand.git("add", "-A")
    out = memctl("check", "--staged", *NO_DOCUMENTS, where=hooked, code=1).out
    assert (out.count("error MEM201"), out.count("warning MEM201")) == (1, 1)


def test_an_error_of_the_merged_branch_does_not_stop_the_merge(hooked: Path, hand: Hand, memctl: Memctl) -> None:
    hand.git("checkout", "-qb", "other")
    hand.append(TOKENS, "\nSee §4.src/auth/new.py.\n")
    hand.git("commit", "-qam", "broken", "--no-verify")
    hand.git("checkout", "-q", "main")
    hand.append("../app.py", "# more\n")
    hand.git("commit", "-qam", "code")
    hand.git("merge", "-q", "--no-commit", "other")
    assert "(MERGE_HEAD has this error already)" in memctl("check", "--staged", *NO_DOCUMENTS, where=hooked, code=0).out


def test_only_a_credential_that_head_lacks_stops_a_commit(hooked: Path, hand: Hand) -> None:
    key = "ghp_abcdefghijklmnopqrstuvwxyz012345678"
    hand.append(LEARNING, f"\nThe token is {key}9.\n")
    assert "error MEM110" in commit(hooked, "-a").stderr
    assert commit(hooked, "-a", "--no-verify").returncode == 0
    hand.append("../app.py", "# more\n")
    assert commit(hooked, "-a").returncode == 0
    hand.replace(LEARNING, f"{key}9", f"{key}0")
    assert "error MEM110" in commit(hooked, "-a").stderr


@pytest.mark.parametrize("place", ["settings", "front matter"])
def test_check_ignore_lets_no_new_credential_into_a_commit(
    hooked: Path, hand: Hand, memctl: Memctl, place: str
) -> None:
    key = "ghp_abcdefghijklmnopqrstuvwxyz012345678"
    if place == "settings":
        hand.append(CONFIG, 'check_ignore: ["MEM110 **: test data", "MEM110: test data"]\n')
    else:
        hand.replace(LEARNING, "agent_id", "check_ignore: ['MEM110: sample']\nagent_id")
    hand.append(LEARNING, f"\nThe token is {key}9.\n")
    assert "error MEM110" in commit(hooked, "-a").stderr
    assert memctl("check", "--ignore", "MEM308", where=hooked).err.strip().endswith("1 ignored")
    assert commit(hooked, "-a", "--no-verify").returncode == 0
    hand.append("../app.py", "# more\n")  # what HEAD has is ignored, also in a merge
    done = commit(hooked, "-a")
    assert (done.returncode, "MEM110" in done.stderr) == (0, False)
    hand.append(LEARNING, "\nMore.\n")
    assert commit(hooked, "-a").returncode == 0
    hand.append(LEARNING, f"\nThe token is {key}8.\n")
    assert commit(hooked, "-a").stderr.count("error MEM110") == 1


def test_merge_of_a_branch_with_an_ignored_credential_is_committed(hooked: Path, hand: Hand) -> None:
    hand.git("checkout", "-qb", "other")
    hand.replace(LEARNING, "agent_id", "check_ignore: ['MEM110: sample']\nagent_id")
    hand.append(LEARNING, "\nThe token is ghp_abcdefghijklmnopqrstuvwxyz0123456789.\n")
    hand.git("commit", "-qam", "sample", "--no-verify")
    hand.git("checkout", "-q", "main")
    hand.append("../app.py", "# more\n")
    hand.git("commit", "-qam", "code")
    hand.git("merge", "-q", "--no-commit", "other")
    assert commit(hooked).returncode == 0


def test_user_allows_a_value_in_the_own_clone_by_the_hash_that_the_refusal_names(
    hooked: Path, hand: Hand, memctl: Memctl
) -> None:
    key = "ghp_abcdefghijklmnopqrstuvwxyz012345678"
    hand.append(LEARNING, f"\nThe token is {key}9.\n")
    hand.git("add", "-A")
    (command,) = set(re.findall(r"`git (config --add memctl\.allowSecret [0-9a-f]+)`", commit(hooked).stderr))
    hand.git(*command.split())
    assert commit(hooked).returncode == 0
    assert "MEM110" not in memctl("check", where=hooked, code=None).out
    hand.append(LEARNING, f"\nThe other is {key}8.\n")
    assert commit(hooked, "-a").stderr.count("error MEM110") == 1
    hand.git("config", "--unset-all", "memctl.allowSecret")
    assert memctl("check", where=hooked, code=1).out.count("MEM110") == 2  # the search is not cached as clean


def test_rendered_documents_have_no_credential_of_the_code_or_of_a_record(repo: Path, memctl: Memctl) -> None:
    (repo / "urls.py").write_text('"""Parse https://jo%40email.example:a%20secret9@shop.example/a as a URL."""\n')
    memctl("section", "add", "Urls", "--path", "urls.py", "--overview", "See §4.urls.py.")
    memctl("render")
    assert "redacted: " in (repo / ".memory/docs/4-sources.md").read_text()
    for _ in range(2):
        assert "MEM110" not in memctl("check", code=None).out
        memctl("render")
    memctl("learn", "The token ghp_abcdefghijklmnopqrstuvwxyz0123456789", "--section", "2.1", "--allow-secret")
    memctl("render")
    assert "docs/" not in memctl("check", "--select", "MEM110", code=1).out


def test_value_that_the_user_allows_passes_commands_and_commits_but_no_other(repo: Path, memctl: Memctl) -> None:
    key = "ghp_abcdefghijklmnopqrstuvwxyz012345678"
    allowed = credentials.fingerprint(f"{key}9", credentials.Span(0, len(key) + 1, ""))
    given = ("--lesson", f"The token is {key}9.")
    assert "looks like a credential" in memctl("learn", "A sample", *given, code=1).err
    git(repo, "config", "--add", "memctl.allowSecret", allowed)
    learned = memctl("learn", "A sample", *given).id
    memctl("own", "acquire", "2.1", "--reason", f"the sample {key}9")
    record = next((repo / ".memory" / "learnings").rglob(f"{learned}*.md"))
    record.write_text(record.read_text() + f"\nAgain {key}9\n")
    memctl("commit")
    assert "looks like a credential" in memctl("learn", "Another", "--lesson", f"It is {key}8.", code=1).err


def test_formatting_an_accepted_decision_is_no_change_of_it(hooked: Path, hand: Hand) -> None:
    hand.replace(DECISION, "Tokens are signed with RS256.", "Tokens are\nsigned  with RS256.")
    hand.git("add", "-A")
    assert commit(hooked).returncode == 0
    hand.replace(DECISION, "Tokens are\nsigned  with RS256.", "Tokens are signed with RS255.")
    hand.git("add", "-A")
    assert "error MEM109" in commit(hooked).stderr
    hand.replace(DECISION, "Tokens are signed with RS255.", "Tokens are signed with -RS256.")  # signs count
    hand.git("add", "-A")
    assert "error MEM109" in commit(hooked).stderr


def test_changing_an_accepted_decision_again_stops_a_commit(hooked: Path, hand: Hand) -> None:
    hand.append(DECISION, "\nOr not.\n")
    hand.git("add", "-A")
    assert commit(hooked, "--no-verify").returncode == 0
    hand.append(DECISION, "\nOr yes.\n")
    hand.git("add", "-A")
    assert "error MEM109" in commit(hooked).stderr


@pytest.mark.parametrize(
    ("old", "new", "hint"),
    [("src/auth/jwt.py", "src/auth/tokens.py", "src/auth/tokens.py"), ("src/auth", "lib", "lib/jwt.py")],
)
def test_a_staged_rename_is_a_warning_with_the_new_path(
    old: str, new: str, hint: str, hooked: Path, hand: Hand, memctl: Memctl
) -> None:
    hand.git("mv", old, new)
    out = memctl("check", "--staged", where=hooked, code=0).out
    assert "warning MEM201" in out
    assert f"    hint: the path is {hint} now: `memctl check --fix` writes" in out
    assert commit(hooked).returncode == 0
    hand.append("../app.py", "# more\n")
    assert commit(hooked, "-a").returncode == 0
    assert "error MEM201" in memctl("check", where=hooked, code=1).out


def test_a_staged_rename_of_a_folder_is_named_for_a_reference_to_it(hooked: Path, hand: Hand, memctl: Memctl) -> None:
    hand.append(REFUNDS, "\nAll of §4.src/auth is needed.\n")
    hand.git("commit", "-qam", "x", "--no-verify")
    hand.git("mv", "src/auth", "lib")
    assert "the path is lib now: `memctl check --fix`" in memctl("check", "--staged", where=hooked, code=0).out


def test_errors_of_a_first_commit_stop_it(tmp_path: Path, hand: Hand, memctl: Memctl) -> None:
    hand.replace(ISSUE, *DREADFUL)
    shutil.copytree(hand.folder, tmp_path / "new" / ".memory")
    git(tmp_path / "new", "init", "-q")
    git(tmp_path / "new", "add", "-A")
    assert "error MEM101" in memctl("check", "--staged", where=tmp_path / "new", code=1).out


def test_hook_checks_the_files_of_commit_a(hooked: Path, hand: Hand) -> None:
    before = commits(hooked)
    hand.replace(ISSUE, *DREADFUL)
    refused = commit(hooked, "-a")
    assert refused.returncode == 1
    assert f".memory/{ISSUE}:{hand.line(ISSUE, 'severity')}: error MEM101" in refused.stdout + refused.stderr
    assert commits(hooked) == before
    hand.git("add", "-A")
    hand.replace(ISSUE, *reversed(DREADFUL))
    hand.append("../app.py", "# more\n")
    assert commit(hooked).returncode == 1, "it is staged"
    assert commit(hooked, "-a").returncode == 0, "what is mended on the disk goes along"
    assert commits(hooked) == before + 1


def test_in_a_hook_only_the_files_of_the_commit_are_checked(hooked: Path, hand: Hand) -> None:
    before = commits(hooked)
    hand.replace(ISSUE, *DREADFUL)
    hand.git("add", "-A")
    hand.append("../app.py", "# more\n")
    assert commit(hooked, "--only", "app.py").returncode == 0, "the fault is not in this commit"
    assert commits(hooked) == before + 1
    hand.git("reset", "-q")
    refused = commit(hooked, "--only", f".memory/{ISSUE}")
    assert refused.returncode == 1
    assert "MEM101" in refused.stdout + refused.stderr
    assert commits(hooked) == before + 1


@pytest.mark.parametrize("option", ["-a", "--only"])
def test_hook_refuses_a_change_of_an_accepted_decision(hooked: Path, hand: Hand, option: str) -> None:
    hand.replace(DECISION, "Tokens are signed with RS256.", "Tokens are signed with HS256.")
    refused = commit(hooked, option, *([f".memory/{DECISION}"] if option == "--only" else []))
    assert refused.returncode == 1
    line = hand.line(DECISION, "HS256")
    assert f".memory/{DECISION}:{line}: error MEM109" in refused.stdout + refused.stderr


def test_a_hook_lets_the_commits_of_memctl_pass(hooked: Path, memctl: Memctl) -> None:
    before = commits(hooked)
    memctl("edit", identifier(DECISION), "--set", "decision=RS512.", "--allow-accepted")
    memctl("learn", "Hooks run")
    assert commits(hooked) == before + 2


# At a revision


def test_check_at_a_revision_reads_its_files(hand: Hand, memctl: Memctl) -> None:
    hand.replace(ISSUE, *DREADFUL)
    broken = at(hand, "MEM101", ISSUE, "severity")
    hand.git("commit", "-qam", "broken")
    hand.git("tag", "broken")
    hand.replace(ISSUE, *reversed(DREADFUL))
    hand.git("commit", "-qam", "mended")
    hand.append(INDEX, "By hand.\n")
    assert found(memctl, "--at", "broken", *NO_DOCUMENTS, code=1) == [broken]
    for revision in ("HEAD", "main", "broken~1", hand.git("rev-parse", "HEAD").strip()):
        assert found(memctl, "--at", revision, code=0) == []


def test_check_at_a_revision_uses_its_code(hand: Hand, memctl: Memctl) -> None:
    hand.git("mv", "src/payment/refund.py", "src/payment/repay.py")
    hand.git("commit", "-qm", "moved")
    assert at(hand, "MEM201", REFUNDS, "  - src/payment/refund.py\n") in found(memctl, "--at", "HEAD", code=1)
    assert found(memctl, "--at", "HEAD~1", code=0) == []


def test_a_revision_is_compared_with_the_one_before_it(hand: Hand, memctl: Memctl) -> None:
    hand.replace(DECISION, "Tokens are signed with RS256.", "Tokens are signed with HS256.")
    changed = at(hand, "MEM109", DECISION, "HS256")
    hand.git("commit", "-qam", "reworded")
    assert found(memctl, *NO_DOCUMENTS) == []
    assert found(memctl, "--at", "HEAD", *NO_DOCUMENTS) == [changed]
    hand.append("../app.py", "# more\n")
    hand.git("commit", "-qam", "more")
    assert found(memctl, "--at", "HEAD", *NO_DOCUMENTS) == []


def test_change_with_allow_accepted_passes_the_check_of_its_commit(memctl: Memctl) -> None:
    memctl("edit", identifier(DECISION), "--set", "decision=RS512.", "--allow-accepted")
    assert found(memctl, "--at", "HEAD") == []


def test_a_revision_before_there_was_a_memory_has_no_findings(hand: Hand, memctl: Memctl) -> None:
    first = hand.git("rev-list", "--max-parents=0", "HEAD").strip()
    assert found(memctl, "--at", first, code=0) == []


def test_a_revision_that_is_not_there_is_an_error(memctl: Memctl) -> None:
    assert "nowhere" in memctl("check", "--at", "nowhere", code=1).err


# It never writes


def everything(repo: Path) -> dict[str, tuple[bytes, int, int]]:
    """Content, times and modes of all files, Git's own too, but for memctl's cache."""
    files = [file for file in repo.rglob("*") if file.is_file() and repo / ".git" / "memctl" not in file.parents]
    return {
        str(file.relative_to(repo)): (file.read_bytes(), file.stat().st_mtime_ns, file.stat().st_mode) for file in files
    }


@pytest.mark.parametrize(
    "options", [(), ("--staged",), ("--at", "HEAD"), ("--at", "HEAD~1"), ("--fix", "--dry-run")], ids=" ".join
)
def test_check_writes_nothing(hand: Hand, memctl: Memctl, options: tuple[str, ...]) -> None:
    hand.replace(ISSUE, "relates_to:\n  - DEC-2025-10-02-001\n", "")
    hand.replace(OLD, "status: superseded", "status: accepted")
    hand.git("add", "-A")
    hand.replace(PROJECT, "Sell without a queue.", "Sell.")
    hand.write("../src/payment/refund.py", "pass\n")
    for path in (AUTH, INDEX):  # the index does not know that they are what it has
        hand.write(path, hand.read(path))
    before, status = everything(hand.repo), hand.git("--no-optional-locks", "status", "--porcelain")
    memctl("check", *options, code=None)
    memctl("check", *options, "--format", "sarif", code=None)
    assert everything(hand.repo) == before
    assert hand.git("--no-optional-locks", "status", "--porcelain") == status


# Which rules


def spoil(hand: Hand) -> None:
    """MEM101, MEM305 and MEM501: an error and two warnings."""
    hand.replace(ISSUE, *DREADFUL)
    hand.replace(PROJECT, "completion_percentage: 45", "completion_percentage: 20")
    hand.write("notes.txt", "What else?\n")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--select", "MEM305"], ["MEM305"]),
        (["--select", "MEM3", "--ignore", "MEM308"], ["MEM305"]),
        (["--select", "mem1"], ["MEM101"]),
        (["--select", "status-mismatch"], ["MEM305"]),
        (["--select", "MEM5", "--select", "invalid-record"], ["MEM101", "MEM501"]),
        (["--ignore", "MEM3", "--ignore", "foreign-file"], ["MEM101"]),
        (["--select", "MEM", "--ignore", "MEM1", "--ignore", "stale-document"], ["MEM305", "MEM501"]),
        (["--select", "MEM2"], []),
        (["--select", "MEM101", "--ignore", "MEM1"], []),
    ],
    ids=" ".join,
)
def test_rules_are_chosen_by_code_beginning_and_name(
    hand: Hand, memctl: Memctl, options: list[str], expected: list[str]
) -> None:
    spoil(hand)
    assert sorted(codes(memctl, *options)) == expected


@pytest.mark.parametrize("option", ["--select", "--ignore", "--explain"])
@pytest.mark.parametrize("name", ["MEM999", "nonsense", "101"])
def test_a_rule_that_is_not_there_is_wrong_usage(memctl: Memctl, option: str, name: str) -> None:
    failed = memctl("check", option, name, code=2)
    assert failed.err.startswith(f"error: `memctl check` has no rule '{name}'\nhint: ")
    assert failed.out == ""


def test_exit_code_follows_from_errors_of_the_chosen_rules(hand: Hand, memctl: Memctl) -> None:
    spoil(hand)
    memctl("check", code=1)
    memctl("check", "--select", "MEM101", code=1)
    memctl("check", "--select", "MEM305", code=0)
    memctl("check", "--ignore", "MEM101", "--ignore", "MEM308", code=0)


def test_strict_counts_warnings_and_no_information(hand: Hand, memctl: Memctl) -> None:
    hand.replace(TOKENS, f"```\n\n{SENTENCE * 20}", "```\n")
    memctl("render")
    assert codes(memctl, "--strict") == ["MEM307"]
    memctl("check", "--strict", code=0)
    hand.write("notes.txt", "What else?\n")
    memctl("check", code=0)
    memctl("check", "--strict", code=1)
    memctl("check", "--strict", "--ignore", "MEM501", code=0)


@pytest.mark.parametrize(
    "options",
    [("--staged", "--at", "HEAD"), ("--fix", "--staged"), ("--fix", "--at", "HEAD"), ("--format", "xml"), ("here",)],
    ids=" ".join,
)
def test_wrong_usage_has_exit_code_2(memctl: Memctl, options: tuple[str, ...]) -> None:
    failed = memctl("check", *options, code=2)
    assert failed.err.startswith("error: ")
    assert failed.out == ""


# What somebody chose to ignore


def ignore(hand: Hand, *lines: str) -> None:
    hand.append(CONFIG, "check_ignore:\n" + "".join(f'  - "{line}"\n' for line in lines))


@pytest.mark.parametrize(
    "line",
    [
        f"MEM101 {ISSUE}: under way",
        "MEM101 issues/*: under way",
        "MEM101: under way",
        "MEM1 issues/*: under way",
        "MEM101   issues/2025-10/ISS-*  :   see the wiki: there",
    ],
)
def test_the_settings_ignore_by_code_and_pattern(hand: Hand, memctl: Memctl, line: str) -> None:
    hand.replace(ISSUE, *DREADFUL)
    ignore(hand, line)
    data = memctl("check", "--json", *NO_DOCUMENTS).data
    assert (data["findings"], data["ignored"]) == ([], 1)
    assert "1 ignored" in memctl("check", *NO_DOCUMENTS).err


def test_the_settings_ignore_only_what_they_name(hand: Hand, memctl: Memctl) -> None:
    spoil(hand)
    ignore(hand, "MEM501 *.txt: notes", "MEM501 issues/*: none", "MEM305 issues/*: none")
    assert [one for one in found(memctl, *NO_DOCUMENTS) if one.path != CONFIG] == [
        at(hand, "MEM101", ISSUE, "severity"),
        at(hand, "MEM305", PROJECT, "completion"),
    ]


def test_a_line_without_a_reason_ignores_nothing(hand: Hand, memctl: Memctl) -> None:
    hand.replace(ISSUE, *DREADFUL)
    ignore(hand, "MEM101 issues/*")
    assert found(memctl, *NO_DOCUMENTS, code=1) == [
        at(hand, "MEM503", CONFIG, "MEM101"),
        at(hand, "MEM101", ISSUE, "severity"),
    ]


def test_a_file_ignores_findings_in_itself_and_nowhere_else(hand: Hand, memctl: Memctl) -> None:
    for path in (LEARNING, CLOSED):
        hand.replace(path, "agent_id: ada", "agent_id: ada\ncode_refs:\n  - none.py")
    hand.replace(CLOSED, "status: resolved", "status: open")
    hand.replace(LEARNING, "agent_id", "check_ignore:\n  - 'MEM203: it comes next week'\nagent_id")
    assert found(memctl, *NO_DOCUMENTS) == [at(hand, "MEM203", CLOSED, "none.py")]
    hand.replace(LEARNING, "  - 'MEM203: it comes next week'\n", "  - MEM203\n")
    assert found(memctl, *NO_DOCUMENTS) == [
        at(hand, "MEM203", CLOSED, "none.py"),
        at(hand, "MEM503", LEARNING, "  - MEM203"),
        at(hand, "MEM203", LEARNING, "none.py"),
    ]


def test_only_unused_lines_of_check_ignore_are_reported(hand: Hand, memctl: Memctl) -> None:
    hand.replace(ISSUE, *DREADFUL)
    ignore(hand, "MEM101 issues/*: under way", "MEM101 states/*: under way")
    assert found(memctl, *NO_DOCUMENTS) == [at(hand, "MEM504", CONFIG, "MEM101 states")]
    assert found(memctl, "--select", "MEM101") == []


def test_ignore_line_of_an_unselected_rule_is_not_reported_as_unused(hand: Hand, memctl: Memctl) -> None:
    hand.replace(ISSUE, *DREADFUL)
    ignore(hand, "MEM101 issues/*: under way")
    assert found(memctl, "--ignore", "MEM1", *NO_DOCUMENTS) == []


def test_ignored_findings_are_counted(hand: Hand, memctl: Memctl) -> None:
    for number in range(1, 4):
        hand.write(*learning(number, "section: §2.9\n"))
    ignore(hand, "MEM205 learnings/*: to come", "MEM305: it comes and goes", "MEM501: it comes and goes")
    data = memctl("check", "--json", *NO_DOCUMENTS).data
    assert (len(data["findings"]), data["ignored"]) == (2, 3)


# Explanations


@pytest.mark.parametrize("code", list(RULES))
def test_every_rule_is_explained(memctl: Memctl, code: str) -> None:
    rule = RULES[code]
    text = memctl("check", "--explain", code).out
    assert text.startswith(f"{code} {rule.name} ({rule.severity})\n\n")
    assert " ".join(text.split()).count(rule.summary) == 1
    assert rule.explanation in text
    assert ("--fix" in text) == rule.is_mended or "--fix" in rule.explanation
    assert memctl("check", "--explain", rule.name).out == text


def test_all_rules_are_listed(memctl: Memctl, tmp_path: Path) -> None:
    lines = memctl("check", "--explain", "all").out.splitlines()
    assert [line.split()[:3] for line in lines] == [[code, RULES[code].severity, RULES[code].name] for code in RULES]
    assert [line.split()[0] for line in memctl("check", "--explain", "mem3").out.splitlines()] == [
        code for code in RULES if code.startswith("MEM3")
    ]
    (tmp_path / "elsewhere").mkdir()
    assert memctl("check", "--explain", "all", where=tmp_path / "elsewhere").out.splitlines() == lines


def test_rules_are_explained_as_json(memctl: Memctl) -> None:
    envelope = memctl("check", "--explain", "all", "--json").json
    assert envelope["kind"] == "rules"
    assert [rule["code"] for rule in envelope["data"]["rules"]] == list(RULES)
    fields = {"code", "name", "severity", "summary", "explanation", "is_mended"}
    assert all(set(rule) == fields for rule in envelope["data"]["rules"])
    assert [rule["code"] for rule in memctl("check", "--explain", "MEM107", "--json").data["rules"]] == ["MEM107"]


def test_rule_names_are_unique() -> None:
    assert len({rule.name for rule in RULES.values()}) == len(RULES)


# Mending


def unlink(hand: Hand) -> None:
    """Take one end of a link away (MEM107) and a superseded record's status (MEM402), in a commit."""
    hand.replace(ISSUE, "relates_to:\n  - DEC-2025-10-02-001\n", "")
    hand.replace(OLD, "status: superseded", "status: accepted")
    hand.git("commit", "-qam", "one end")


def test_fix_makes_all_unambiguous_corrections_in_one_commit(hand: Hand, memctl: Memctl) -> None:
    texts = {path: hand.read(path) for path in (ISSUE, OLD)}
    unlink(hand)
    memctl("render")
    before = commits(hand.repo)
    result = memctl("check", "--fix", code=0)
    assert f"fixed {identifier(OLD)}, {identifier(ISSUE)}\n" in result.out
    assert result.err.endswith("nothing found\n")
    assert commits(hand.repo) == before + 1
    assert sorted(changed_in(hand.repo)) == [f".memory/{OLD}", f".memory/{ISSUE}"]
    assert hand.read(OLD) == texts[OLD]
    assert sorted(hand.read(ISSUE).split("\n")) == sorted(texts[ISSUE].split("\n"))
    assert hand.git("status", "--porcelain") == ""


def test_fix_twice_changes_nothing(hand: Hand, memctl: Memctl) -> None:
    unlink(hand)
    (hand.folder / EXECUTIVE).unlink()
    memctl("check", "--fix", code=0)
    head = hand.git("rev-parse", "HEAD")
    result = memctl("check", "--fix", code=0)
    assert result.out == ""
    assert result.err == "there is no finding that `memctl check --fix` can correct\nnothing found\n"
    assert hand.git("rev-parse", "HEAD") == head


@pytest.mark.parametrize("code", ["MEM308", "MEM310"])
def test_documents_are_rendered_and_orphans_deleted(hand: Hand, memctl: Memctl, code: str) -> None:
    text = hand.read(EXECUTIVE)
    if code == "MEM308":
        (hand.folder / EXECUTIVE).unlink()
        path = EXECUTIVE
    else:
        path = "docs/2.9-gone.md"
        hand.write(path, hand.read("docs/2.1-auth.md"))
        hand.git("add", "-A")
        hand.git("commit", "-qm", "left behind")
    result = memctl("check", "--fix", code=0)
    assert f".memory/{path}\n" in result.out
    assert hand.read(EXECUTIVE) == text
    assert not (hand.folder / "docs/2.9-gone.md").exists()
    assert hand.git("status", "--porcelain") == ""


def test_links_of_every_kind_get_their_other_ends(hand: Hand, memctl: Memctl) -> None:
    heads = (
        "relates_to:\n  - LRN-2025-10-06-004\nblocks:\n  - LRN-2025-10-06-004\n",
        "relates_to:\n  - LRN-2025-10-06-004\nblocked_by:\n  - LRN-2025-10-06-004\n",
        "supersedes:\n  - LRN-2025-10-06-004\n",
        "tags:\n  - left alone\n",
    )
    for number, head in enumerate(heads, 1):
        hand.write(*learning(number, head))
    assert codes(memctl, *NO_DOCUMENTS).count("MEM107") == 5
    memctl("check", "--fix", code=0)
    made = memctl("show", "LRN-2025-10-06-004", "--json").data["records"][0]
    assert made["relates_to"] == ["LRN-2025-10-06-001", "LRN-2025-10-06-002"]
    assert made["blocked_by"] == ["LRN-2025-10-06-001"]
    assert made["blocks"] == ["LRN-2025-10-06-002"]
    assert made["superseded_by"] == ["LRN-2025-10-06-003"]
    assert (made["status"], made["tags"]) == ("superseded", ["left alone"])


@pytest.mark.parametrize("is_committed", [False, True], ids=["staged", "committed"])
@pytest.mark.parametrize(("old", "new"), [("src/auth/jwt.py", "src/auth/tokens.py"), ("src/auth", "lib")])
def test_fix_writes_the_new_paths_of_renamed_files(
    old: str, new: str, is_committed: bool, hand: Hand, memctl: Memctl
) -> None:
    hand.replace(TOKENS, "[the signer](§4.auth.jwt)", "§4.src/auth/jwt.py")
    hand.replace(DECISION, "src/auth/jwt.py:5", "src/auth/jwt.py")
    hand.git("commit", "-qam", "docs: whole paths")
    memctl("review", "§3.1")
    before = {path: hand.read(path) for path in (TOKENS, DECISION)}
    hand.git("mv", old, new)
    if is_committed:
        hand.git("commit", "-qm", "refactor: other names")
    memctl("check", "--fix", code=0)
    path_now = "lib/jwt.py" if new == "lib" else new
    assert {path: hand.read(path) for path in before} == {
        path: text.replace("src/auth/jwt.py", path_now) for path, text in before.items()
    }
    assert "MEM208" not in codes(memctl)
    staged = hand.git("diff", "--cached", "--name-only", "--no-renames").split()
    assert bool(staged) is not is_committed
    assert not [path for path in staged if path.startswith(".memory/")]


@pytest.mark.parametrize("is_committed", [False, True], ids=["staged", "committed"])
def test_fix_writes_whole_paths_for_abbreviations_in_pages_and_records(
    is_committed: bool, hand: Hand, memctl: Memctl
) -> None:
    memctl("review", "§3.1")
    code = ("--code", "src/auth/jwt.py") if is_committed else ()
    learned = memctl("learn", "Expiry", "--lesson", "See §4.auth.jwt, and §4.src/auth/jwt.py for how.", *code).id
    decided = memctl("decide", "Sign twice", "--rationale", "§4.auth.jwt signs once.").id
    assert "§4.auth.jwt" in hand.read(TOKENS)
    hand.git("mv", "src/auth/jwt.py", "src/tokens.py")
    if is_committed:
        hand.git("commit", "-qm", "refactor: tokens")
    memctl("check", "--fix", code=None)
    assert "[the signer](§4.src/tokens.py)" in hand.read(TOKENS)
    assert "See §4.src/tokens.py, and §4.src/tokens.py for how.\n" in memctl("show", learned).out
    assert "§4.auth.jwt signs once.\n" in memctl("show", decided).out
    text = memctl("check", code=None).out
    assert [line.split()[2] for line in text.splitlines() if "§4." in line] == ["MEM207"]
    if not is_committed:
        assert "hint: the path is src/tokens.py now\n" in text


@pytest.mark.parametrize("new", ["src/the token.py", "src/(auth)/jwt.py", "src/[id].py"])
def test_fix_leaves_a_reference_that_cannot_name_the_new_path(new: str, hand: Hand, memctl: Memctl) -> None:
    """Behind §4 a path ends at a space or a bracket: the reference would mean another path, or none."""
    learned = memctl("learn", "Expiry", "--lesson", "See §4.src/auth/jwt.py for how.").id
    before = hand.read(TOKENS)
    hand.write(f"../{new}", "")
    hand.git("mv", "-f", "src/auth/jwt.py", new)
    memctl("check", "--fix", code=None)
    assert "[the signer](§4.auth.jwt)" in before
    assert "[the signer](§4.auth.jwt)" in hand.read(TOKENS)
    assert "See §4.src/auth/jwt.py for how.\n" in memctl("show", learned).out
    assert f"hint: the path is {new} now\n" in memctl("check", code=None).out


def test_fix_leaves_an_abbreviation_that_may_mean_two_renamed_files(hand: Hand, memctl: Memctl) -> None:
    hand.write("../lib/auth/jwt.py", "KEY = 1\nOTHER = 2\n")
    hand.git("add", "-A")
    hand.git("commit", "-qm", "feat: keys", "--no-verify")
    memctl("learn", "Tokens expire", "--lesson", "See §4.auth.jwt.")
    hand.git("mv", "src/auth/jwt.py", "src/tokens.py")
    hand.git("mv", "lib/auth/jwt.py", "lib/keys.py")
    out = memctl("check", "--fix", code=None).out
    assert "hint: it may mean lib/keys.py or src/tokens.py now: write the path that is meant" in out
    assert "§4.auth.jwt" in hand.read(TOKENS)


def test_fix_writes_the_present_lines_of_a_reference_to_a_renamed_file(hand: Hand, memctl: Memctl) -> None:
    code = "".join(f"line_{number} = {number}\n" for number in range(30))
    hand.write("../src/auth/jwt.py", code)
    hand.git("add", "-A")
    hand.git("commit", "-qm", "feat: more lines")
    memctl("learn", "Line nine", "--lesson", "It must stay nine.", "--code", "src/auth/jwt.py:10-11")
    hand.write("../src/auth/jwt.py", "# one\n# two\n" + code)
    hand.git("commit", "-qam", "docs: two lines above")
    hand.git("mv", "src/auth/jwt.py", "src/auth/tokens.py")
    hand.git("commit", "-qm", "refactor: another name")
    memctl("check", "--fix", code=None)
    records = memctl("list", "--type", "learning", "--json").data["records"]
    assert [record["code_refs"] for record in records if record["title"] == "Line nine"] == [
        ["src/auth/tokens.py:12-13"]
    ]


@pytest.mark.parametrize("is_committed", [False, True], ids=["staged", "committed"])
def test_fix_writes_the_new_path_of_a_folder(is_committed: bool, hand: Hand, memctl: Memctl) -> None:
    hand.git("mv", "src/payment", "src/billing")
    if is_committed:
        hand.git("commit", "-qm", "refactor: billing")
        hand.git("mv", "src/billing", "bills")
        hand.git("commit", "-qm", "refactor: bills")
    assert f"the path is {'bills' if is_committed else 'src/billing'} now" in memctl("check", code=1).out
    memctl("check", "--fix", code=None)
    state = memctl("show", identifier(STATE), "--json").data["records"][0]
    assert state["code_refs"] == ["bills" if is_committed else "src/billing"]


def globs_of(hand: Hand, page: str) -> list[str]:
    return list(pages.parse(hand.read(page), page).paths)


GLOBS = ("src/auth/**", "!src/auth/jwt.py", "src/auth/*.py", "src/auth", "src/auth/jwt.py")


@pytest.mark.parametrize("is_committed", [False, True], ids=["staged", "committed"])
def test_fix_writes_the_new_path_of_a_folder_into_globs(is_committed: bool, hand: Hand, memctl: Memctl) -> None:
    memctl("section", "edit", "§2.1", *(f"--path={glob}" for glob in GLOBS))
    memctl("learn", "Keys expire", "--lesson", "After a day.", "--code", "src/auth/")
    before = memctl("list", "--section", "§2.1", "--json").data["records"]
    hand.git("mv", "src/auth", "lib")
    if is_committed:
        hand.git("commit", "-qm", "refactor: lib")
    assert "hint: the glob is lib/** now: `memctl check --fix` writes it" in memctl("check", code=None).out
    memctl("check", "--fix", code=None)
    assert globs_of(hand, AUTH) == ["lib/**", "!lib/jwt.py", "lib/*.py", "lib/**", "lib/jwt.py"]
    after = memctl("list", "--section", "§2.1", "--json").data["records"]
    assert "Keys expire" in [record["title"] for record in after]
    assert [record["id"] for record in after] == [record["id"] for record in before]
    assert "MEM209" not in codes(memctl)


@pytest.mark.parametrize("stays", [False, True], ids=["to two folders", "in part"])
def test_fix_leaves_the_glob_of_a_folder_that_was_split_alone(stays: bool, hand: Hand, memctl: Memctl) -> None:
    for number, name in enumerate(("one.js", "two.js", "three.py")):
        hand.write(f"../web/{name}", f"x = {number}\n" * 9)
    hand.git("add", "-A")
    hand.git("commit", "-qm", "feat: web")
    memctl("section", "edit", "§2.1", "--path", "src/auth/**", "--path", "web/*.js")
    for folder, name in zip(("a", "a" if stays else "b"), ("one.js", "two.js"), strict=True):
        (hand.repo / folder).mkdir(exist_ok=True)
        hand.git("mv", f"web/{name}", f"{folder}/{name}")
    if not stays:
        hand.git("rm", "-q", "web/three.py")
    hand.git("commit", "-qm", "refactor: split")
    out = memctl("check", "--fix", code=None).out
    assert "MEM209 paths: web/*.js matches no file" in out
    assert "the glob is" not in out
    assert globs_of(hand, AUTH) == ["src/auth/**", "web/*.js"]


def test_fix_leaves_references_to_deleted_files_alone(hand: Hand, memctl: Memctl) -> None:
    hand.git("rm", "-q", "src/auth/jwt.py")
    hand.git("commit", "-qm", "feat: no tokens", "--no-verify")
    memctl("render")
    head = hand.git("rev-parse", "HEAD")
    assert "error MEM201" in memctl("check", "--fix", code=1).out
    assert hand.git("rev-parse", "HEAD") == head


def test_fix_leaves_other_findings_alone(hand: Hand, memctl: Memctl) -> None:
    unlink(hand)
    hand.replace(PROPOSED, "section: §3.1.2", "section: §3.9")
    hand.replace(STATE, "completion_percentage: 65", "completion_percentage: 100")
    hand.append(INDEX, "By hand.\n")
    hand.write("notes.txt", "What else?\n")
    kept = (PROPOSED, STATE, INDEX, "notes.txt", DECISION, LEARNING, PROJECT, AUTH, TOKENS, CONFIG)
    texts = {path: hand.read(path) for path in kept}
    result = memctl("check", "--fix", code=1)
    assert [line.split()[2] for line in result.out.splitlines() if ": error " in line] == ["MEM205", "MEM309"]
    assert {path: hand.read(path) for path in kept} == texts
    assert codes(memctl) == ["MEM205", "MEM309", "MEM501", "MEM406"]


def test_a_link_by_an_alias_counts_as_complete(hand: Hand, memctl: Memctl) -> None:
    """LRN-…-002 knows LRN-…-001 under the id that it had; only the link to LRN-…-003 lacks its other end."""
    hand.write(
        *learning(1, "relates_to:\n  - LRN-2025-10-06-002\n  - LRN-2025-10-06-003\naliases:\n  - LRN-2025-10-06-009\n")
    )
    hand.write(*learning(2, "relates_to:\n  - LRN-2025-10-06-009\n"))
    hand.write(*learning(3))
    text = hand.read(learning(2)[0])
    memctl("check", "--fix", code=0)
    assert hand.read(learning(2)[0]) == text
    assert "relates_to:\n  - LRN-2025-10-06-001\n" in hand.read(learning(3)[0])


def test_fix_works_beside_a_link_across_types(hand: Hand, memctl: Memctl) -> None:
    """An issue has no status `superseded`; the other end can be added all the same."""
    unlink(hand)
    hand.replace(PROPOSED, "agent_id: ada\n", f"agent_id: ada\nsupersedes:\n  - {identifier(CLOSED)}\n")
    memctl("check", "--fix", code=None)
    assert "status: resolved" in hand.read(CLOSED)
    assert {"MEM107", "MEM402"} & {one.code for one in found(memctl) if one.path != PROPOSED} == set()


def test_fix_completes_no_circular_links(hand: Hand, memctl: Memctl) -> None:
    """Which of two records that supersede each other is right, only a person can tell."""
    hand.write(*learning(1, "supersedes:\n  - LRN-2025-10-06-002\n"))
    hand.write(*learning(2, "supersedes:\n  - LRN-2025-10-06-001\n"))
    hand.write(*learning(3, "supersedes:\n  - LRN-2025-10-06-003\n"))
    memctl("check", "--fix", code=1)
    for number in (1, 2, 3):
        assert "status: active\n" in hand.read(learning(number)[0])


def test_a_page_that_can_not_be_read_keeps_its_document(hand: Hand, memctl: Memctl) -> None:
    hand.replace(AUTH, "completion_percentage: 60", "completion_percentage: 600")
    memctl("check", "--fix", code=1)
    assert (hand.folder / "docs/2.1-auth.md").exists()


def test_fix_keeps_a_document_edited_by_hand(hand: Hand, memctl: Memctl) -> None:
    hand.append(INDEX, "By hand.\n")
    hand.replace(PROJECT, "Sell without a queue.", "Sell.")
    memctl("check", "--fix", code=1)
    assert hand.read(INDEX).endswith("By hand.\n")
    assert "**Goal**: Sell.\n" in hand.read(EXECUTIVE)
    assert codes(memctl) == ["MEM309"]


def test_fix_corrects_only_selected_rules_that_are_not_ignored(hand: Hand, memctl: Memctl) -> None:
    unlink(hand)
    memctl("check", "--fix", "--select", "MEM402", code=0)
    assert "status: superseded" in hand.read(OLD)
    assert "relates_to" not in hand.read(ISSUE)
    ignore(hand, "MEM107 decisions/*: on purpose")
    text = hand.read(ISSUE)
    memctl("check", "--fix", code=0)
    assert hand.read(ISSUE) == text


def test_a_dry_run_shows_what_fix_would_correct(hand: Hand, memctl: Memctl) -> None:
    unlink(hand)
    head = hand.git("rev-parse", "HEAD")
    before = everything(hand.repo)
    result = memctl("check", "--fix", "--dry-run", code=1)
    assert f"would fix {identifier(OLD)}, {identifier(ISSUE)}\n" in result.out
    assert "\n-status: accepted\n+status: superseded\n" in result.out
    assert "\n+  - DEC-2025-10-02-001\n" in result.out
    assert "would render the documents\n" in result.out
    assert ": error MEM107 " in result.out
    assert hand.git("rev-parse", "HEAD") == head
    assert everything(hand.repo) == before


@pytest.mark.parametrize("option", ["--fix", "--dry-run"])
def test_fix_with_json_prints_valid_json(hand: Hand, memctl: Memctl, option: str) -> None:
    unlink(hand)
    (hand.folder / EXECUTIVE).unlink()
    data = memctl("check", "--fix", option, "--json", code=None).data
    assert [row["code"] for row in data["findings"] if row["code"] != "MEM308"] == (
        [] if option == "--fix" else ["MEM402", "MEM107"]
    )


def test_fix_reports_a_pending_commit(hand: Hand, memctl: Memctl) -> None:
    unlink(hand)
    head = hand.git("rev-parse", "HEAD")
    (hand.repo / ".git" / "MERGE_HEAD").write_text(head)
    result = memctl("check", "--fix", code=None)
    assert "commit pending: a merge is under way" in result.err
    assert hand.git("rev-parse", "HEAD") == head
    assert "status: superseded" in hand.read(OLD)


# Code may be called anything


ODD_CODE = (
    "with a space.py",
    "größe.py",
    "返金.py",
    "100%.py",
    "a,b.py",
    "#1.py",
    "- x.py",
    "it's.py",
    '"quoted" name.py',
    "one:two.py",
    "odd:12",
    "[x](y).py",
    "@{x}!.py",
)


def test_check_handles_code_files_of_any_name(hand: Hand, memctl: Memctl) -> None:
    paths = [f"src/{name}" for name in ODD_CODE]
    quoted = ["'" + path.replace("'", "''") + "'" for path in paths]
    listed = "".join(f"  - {path}\n" for path in quoted)
    for path in paths:
        hand.write(f"../{path}", "pass\n")
    hand.replace(REFUNDS, "  - src/payment/refund.py\n", listed)
    hand.replace(STATE, "  - src/payment\n", listed)
    memctl("review", "§3.2")
    memctl("commit")
    assert found(memctl, code=0) == []
    for path in paths:
        before = (hand.repo / path).read_text()
        (hand.repo / path).write_text("...\n")
        (stamp,) = found(memctl, *NO_DOCUMENTS, code=0)
        assert (stamp.code, stamp.path) == ("MEM208", REFUNDS)
        assert yaml.safe_load(hand.read(REFUNDS).split("\n")[stamp.line - 1])[0].rpartition(" ")[0] == path
        (hand.repo / path).write_text(before)
    for path in paths:
        (hand.repo / path).unlink()
    gone = found(memctl, *NO_DOCUMENTS, code=1)
    for code, page in (("MEM201", REFUNDS), ("MEM203", STATE)):
        lines = {one.line for one in gone if (one.code, one.path) == (code, page)}
        assert lines == {hand.line(page, f"  - {name}\n") for name in quoted}


def _reviewed(hand: Hand) -> Found:
    """The one stamp of a page: the line below the key."""
    return Found("MEM208", REFUNDS, hand.line(REFUNDS, "\nreviewed:\n") + 1)


@pytest.mark.parametrize("name", ['"quoted".py', "-n.py", " space.py"])
def test_check_handles_top_level_code_files_of_any_name(hand: Hand, memctl: Memctl, name: str) -> None:
    hand.write(f"../{name}", "pass\n")
    hand.replace(REFUNDS, "  - src/payment/refund.py\n", f"  - '{name}'\n")
    memctl("review", "§3.2")
    memctl("commit")
    hand.write(f"../{name}", "...\n")
    assert found(memctl, code=0) == [_reviewed(hand)]
