"""Slips of the hand at the command line: each is refused or named, with what to do."""

from __future__ import annotations

import os
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from tests.conftest import Memctl, commits, git


@pytest.mark.parametrize("reference", ["src/pay.py:0", "src/pay.py:9-3"])
def test_lines_that_no_file_has_are_refused(memctl: Memctl, reference: str) -> None:
    assert "line numbers begin at 1" in memctl("issue", "Slow", "--code", reference, code=2).err
    made = memctl("issue", "Slow").id
    assert "line numbers begin at 1" in memctl("edit", made, "--add", f"code_refs={reference}", code=2).err
    assert "line numbers begin at 1" in memctl("edit", made, "--code", reference, code=2).err


def test_an_empty_text_that_has_to_say_something_is_refused(memctl: Memctl) -> None:
    made = memctl("issue", "Slow").id
    assert "--resolution has an empty text" in memctl("resolve", made, "--resolution", "", code=2).err
    assert "--task has an empty text" in memctl("checkpoint", "save", "--task", " ", code=2).err
    memctl("resolve", made)


@pytest.mark.parametrize("command", ["decide", "issue", "state", "learn", "section add", "detail add"])
@pytest.mark.parametrize("title", ["", "  "])
def test_an_empty_title_is_a_usage_error_of_every_command(memctl: Memctl, command: str, title: str) -> None:
    assert "has no title" in memctl(*command.split(), title, code=2).err


def test_a_type_that_is_listed_by_another_command_leads_there(memctl: Memctl) -> None:
    assert "hint: `memctl session list` lists the sessions\n" in memctl("list", "--type", "session", code=2).err
    assert "`memctl checkpoint list`" in memctl("export", "--type", "checkpoints", code=2).err


def test_search_for_words_with_a_dash_is_answered_with_two_dashes(memctl: Memctl) -> None:
    made = memctl("issue", "Flag -foo is ignored").id
    assert "`memctl search -- WORDS`" in memctl("search", "-foo", code=2).err
    assert "-- WORDS" not in memctl("search", "--limt", "3", "foo", code=2).err
    assert made in memctl("search", "--", "-foo").out


def test_a_time_before_those_of_git_is_named(memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMCTL_NOW", "1800-01-01T00:00:00Z")
    told = memctl("learn", "Old", "--lesson", "It was long ago", code=2).err
    assert "MEMCTL_NOW: '1800-01-01T00:00:00Z' must be in 1970 or later" in told


def test_agent_name_after_handoff_is_refused_with_its_option(memctl: Memctl) -> None:
    assert "`memctl handoff --to bob` gives work" in memctl("handoff", "bob", code=2).err
    assert "`memctl handoff --to AGENT` gives work" in memctl("handoff", "create", code=2).err


@pytest.mark.parametrize("verb", ["issue", "decide"])
def test_word_list_is_not_taken_as_a_title(repo: Path, memctl: Memctl, verb: str) -> None:
    before = commits(repo)
    assert "`memctl list --type" in memctl(verb, "list", code=2).err
    assert commits(repo) == before


@pytest.mark.parametrize(
    ("words", "lead"),
    [
        ("ready", "memctl next"),
        ("update", "memctl edit ID"),
        ("issues", "memctl list --type"),
        ("block", "memctl link ID OTHER --as blocks"),
        ("install cursor", "memctl install mcp --for cursor"),
        ("rehydrate --tokens 9", "--budget"),
        ("log -n 3", "--limit"),
        ("list decisions", "`memctl list --type decision`"),
        ("todo docs", "`memctl search docs`"),
        ("decide Queue --because x", "--rationale"),
    ],
)
def test_words_of_other_tools_lead_to_the_command(memctl: Memctl, words: str, lead: str) -> None:
    assert lead in memctl(*words.split(), code=2).err


def test_removing_a_section_says_so(memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    assert memctl("section", "remove", "2.1").out.startswith("removed §2.1 ")


@pytest.mark.parametrize("arguments", ["status", "list --json"])
@pytest.mark.parametrize("module", ["click", "msgspec"])
def test_missing_package_is_reported_with_the_install_command(
    repo: Path, memctl: Memctl, module: str, arguments: str
) -> None:
    without = f"import sys; sys.modules[{module!r}] = None; sys.argv[1:] = {arguments.split()}; "
    script = f"{without}from memctl.__main__ import run; run()"
    process = subprocess.run([sys.executable, "-c", script], cwd=repo, capture_output=True, text=True)
    assert process.returncode == 1
    assert f"the package {module} is missing" in process.stderr
    assert f"-m pip install {module}`" in process.stderr


def test_conflict_marker_on_the_first_line_is_reported_as_a_conflict(repo: Path, memctl: Memctl) -> None:
    path = repo / memctl("learn", "Pool", "--lesson", "Retries hide an exhausted pool").out.split()[1]
    text = path.read_text()
    path.write_text(f"<<<<<<< ours\n{text}=======\n{text}>>>>>>> theirs\n")
    found = memctl("check", "--json", code=1).data["findings"]
    assert [row["code"] for row in found if row["path"].endswith(path.name)] == ["MEM103"]


def test_path_in_another_unicode_form_is_reported(repo: Path, memctl: Memctl) -> None:
    composed, taken_apart = (unicodedata.normalize(form, "caf\u00e9.py") for form in ("NFC", "NFD"))
    (repo / taken_apart).write_text("x = 1\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "code")
    assert "another Unicode form" in memctl("issue", "Slow", "--code", composed).err
    assert "another Unicode form" in memctl("why", composed, code=2).err
    assert "another Unicode form" in memctl("check", code=None).out


def test_init_names_the_command_that_installs_the_merge_driver(tmp_path: Path, memctl: Memctl) -> None:
    (tmp_path / "new").mkdir()
    made = memctl("init", "--git", where=tmp_path / "new")
    assert "memctl install git " in made.err


def test_a_dry_run_in_a_bare_repository_says_that_it_is_one(tmp_path: Path, memctl: Memctl) -> None:
    os.mkdir(tmp_path / "bare")
    git(tmp_path / "bare", "init", "-q", "--bare")
    assert "is a bare repository" in memctl("init", "--git", "-n", where=tmp_path / "bare", code=1).err


@pytest.mark.parametrize(
    "text",
    [
        "# Choose a database\n\n## Decision\n\n<!-- What was decided. -->\n\n## Rationale\n\n- \n",
        "# {short title}\n\n## Context\n\nA problem\n",
        "---\ntitle: A form\n---\n<!-- a\nnote -->\n<!-- another -->\n# {short title}\n\n## Context\n\nA problem\n",
    ],
)
def test_unfilled_template_is_refused(repo: Path, memctl: Memctl, text: str) -> None:
    (repo / "form.md").write_text(text)
    refused = memctl("decide", "--file", str(repo / "form.md"), code=2)
    assert "form.md is a template that still has to be filled in" in refused.err
    assert memctl("list", "--json").data["total"] == 0
    (repo / "form.md").write_text(text.replace("{short title}", "Choose a database").replace("- \n", "Joins\n"))
    memctl("decide", "--file", str(repo / "form.md"))


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("decide Use PostgreSQL -i 9", "put a title of several words in quotes: `memctl decide 'Use PostgreSQL'`"),
        ("section add Order mail", "put a title of several words in quotes: `memctl section add 'Order mail'`"),
        ("list lost orders --open", "`memctl search lost orders` finds records with these words"),
        ("show DEC ISS more --limit", "`memctl show -h` shows the arguments and options"),
    ],
)
def test_extra_words_are_refused_with_the_intended_command(memctl: Memctl, typed: str, hint: str) -> None:
    assert hint in memctl(*typed.split(), code=2).err


def test_a_revision_in_place_of_a_record_is_compared(memctl: Memctl) -> None:
    memctl("learn", "Pools", "--lesson", "They run dry")
    memctl("edit", "LRN", "--set", "lesson=They do run dry")
    shown = memctl("diff", "LRN", "--at", "HEAD~1").out
    assert "+They do run dry" in shown
    assert shown in memctl("diff", "HEAD~1").out
    assert "+They do run dry" in memctl("diff", "HEAD~1..HEAD").out


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ('{"title": "T", "supersedes": "DEC-2025-01-02-001"}', "there is no record 'DEC-2025-01-02-001'"),
        ('{"title": "T", "supersedes": 7}', "supersedes: '7' is not a list of ids"),
        ('{"title": "T", "code_refs": 7}', "code_refs: '7' is not a list of paths"),
        ('{"title": "T", "code_refs": ["a.py", ["b.py"]]}', "code_refs: "),
        ('{"title": "T", "rationale": 7}', "rationale must be a string"),
        ('{"title": "T", "alternatives_considered": [["a"]]}', "alternatives_considered must be a list of strings"),
    ],
)
def test_field_of_a_wrong_type_in_a_file_is_named(memctl: Memctl, fields: str, message: str) -> None:
    assert message in memctl("decide", "--file", "-", stdin=fields, code=1).err
    assert memctl("list", "--json").data["total"] == 0


def test_record_id_is_refused_as_the_name_of_an_agent(memctl: Memctl) -> None:
    refused = memctl("coordination", "assign", "STA-2025-11-04-001", "bob", code=2)
    assert "'STA-2025-11-04-001' is the id of a record, not the name of an agent" in refused.err
    memctl("coordination", "assign", "bob", "STA-2025-11-04-001")


def test_line_zero_of_a_file_is_refused_by_why(repo: Path, memctl: Memctl) -> None:
    (repo / "sessions.py").write_text("x = 1\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "feat: sessions")
    assert "sessions.py:0: line numbers begin at 1" in memctl("why", "sessions.py:0", code=2).err
    memctl("why", "sessions.py:1")


def test_window_size_with_too_many_digits_is_refused_with_both_limits(
    memctl: Memctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEMCTL_CONTEXT_WINDOW", "99999999999999")
    transcript = tmp_path / "t.jsonl"
    transcript.write_text('{"type":"user","message":{"role":"user","content":"hi"}}\n')
    refused = memctl("window", "status", str(transcript), code=2)
    assert "give a number of tokens above 66,000 and below 1,000,000,000,000" in refused.err


def test_messages_about_standard_input_name_it(memctl: Memctl) -> None:
    assert (
        "standard input is a template that still has to be filled in"
        in memctl("decide", "-f", "-", stdin="# Title\n\n## Decision\n", code=2).err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["install"], "error: Missing argument '{git|"),
        (["event", "emit"], "error: Missing option '--type'.\nhint: give one of phase_boundary, compression"),
    ],
)
def test_missing_choice_is_an_error_and_a_hint_on_a_line_each(
    memctl: Memctl, arguments: list[str], message: str
) -> None:
    told = memctl(*arguments, code=2).err
    assert told.startswith(message)
    assert told.count("\n") == 2
    assert "\t" not in told


def test_link_takes_a_relation_as_options_write_it(memctl: Memctl) -> None:
    one, other = memctl("issue", "One").id, memctl("issue", "Other").id
    memctl("link", one, other, "--as", "blocked-by")
    assert f"blocked_by:\n  - {other}" in memctl("show", one).out


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("++", "hint: the query has no words"),
        ("what is The", "hint: nearly every text has these words"),
        ("C#", "note: only letters and digits are searched: 'C#' finds 'C'"),
        ("use c++ here", "note: only letters and digits are searched: 'c++' finds 'c'"),
        ("-x", "note: only letters and digits are searched: '-x' finds 'x'"),
        ("issue #12 in src/c.py", ""),
    ],
)
def test_search_says_which_signs_of_a_query_do_not_count(memctl: Memctl, query: str, note: str) -> None:
    memctl("learn", "Use C here, in x", "--lesson", "Issue 12")
    told = memctl("search", "--", query).err
    assert (note in told) if note else ("signs" not in told)


def test_edit_names_the_command_that_links_records(memctl: Memctl) -> None:
    made = memctl("issue", "Slow").id
    assert "`memctl link ID OTHER --as blocked_by`" in memctl("edit", made, "--blocked-by", made, code=2).err


@pytest.mark.parametrize("text", ["[1,2", "[", '["a", "b"'])
def test_broken_json_is_not_read_as_markdown(memctl: Memctl, text: str) -> None:
    err = memctl("import", "-", stdin=text, code=1).err
    assert "line 1: Input data was truncated" in err
    assert "labelled text that could be a record" in memctl("import", "-", stdin="[1](notes.md) says so", code=2).err


@pytest.mark.parametrize("command", ["list", "search x", "log"])
def test_limit_larger_than_any_number_of_records_shows_all(memctl: Memctl, command: str) -> None:
    memctl("learn", "x", "--lesson", "y")
    assert "LRN-2025-11-04-001" in memctl(*command.split(), "--limit", "9" * 20).out


def test_words_of_files_lead_to_its_task_and_a_budget_has_to_be_a_number(memctl: Memctl) -> None:
    assert "`memctl files --task 'card retries'` lists" in memctl("files", "card retries", code=2).err
    assert "'abc' is not a whole number; give one of at least 1." in memctl("rehydrate", "--budget", "abc", code=2).err
