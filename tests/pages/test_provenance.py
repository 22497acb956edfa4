"""`why`: what explains a file or a line, from real histories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Memctl, Once, git

API = "import queue\n\n\ndef pay(amount):\n    return queue.put(amount)\n\n\ndef refund(amount):\n    return -amount\n"


def write(repo: Path, path: str, text: str) -> None:
    file = repo / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def make_commit(repo: Path, message: str, *paths: str) -> str:
    """Commit some paths (default: all that differs), and return the commit's id."""
    git(repo, "add", "-A", *(["--", *paths] if paths else []))
    git(repo, "commit", "-qm", message)
    return git(repo, "rev-parse", "HEAD").strip()


@pytest.fixture
def shop(repo: Path, memctl: Memctl, once: Once) -> Path:
    """A section for src/pay with a page of details that refers to its one file."""

    def make() -> None:
        write(repo, "src/pay/api.py", API)
        make_commit(repo, "feat: pay")
        memctl("section", "add", "Payment", "--path", "src/pay/**", "--path", "*.sql")
        memctl("detail", "add", "Payment details", "--section", "§2.1", "--code", "src/pay/api.py")

    once(make)
    return repo


def records(data: Any) -> dict[str, list[tuple[str, str, bool]]]:
    """The reasons by record, in the order in which they are told."""
    return {r["id"]: [(n["by"], n["where"], n["is_here"]) for n in r["reasons"]] for r in data["records"]}


def test_sections_are_listed_with_the_globs_that_cover_the_file(shop: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Elsewhere", "--path", "docs/**")
    data = memctl("why", "src/pay/api.py", "--json").data
    assert [(s["id"], s["globs"]) for s in data["sections"]] == [("§2.1", ["src/pay/**"])]
    assert memctl("why", "app.py", "--json").data["sections"] == []


def test_a_page_is_reviewed_then_suspect_then_reviewed_again(shop: Path, memctl: Memctl) -> None:
    def page() -> Any:
        return memctl("why", "src/pay/api.py", "--json").data["pages"][0]

    assert (page()["id"], page()["state"], page()["now"]) == ("§3.1", "reviewed", None)
    reviewed = git(shop, "rev-parse", "HEAD:src/pay/api.py").strip()
    write(shop, "src/pay/api.py", API + "# more\n")
    now = git(shop, "hash-object", "src/pay/api.py").strip()
    assert page()["state"] == "suspect"
    assert reviewed.startswith(page()["reviewed"])
    assert now.startswith(page()["now"])
    assert "suspect" in memctl("why", "src/pay/api.py").out
    memctl("review", "§3.1")
    assert page()["state"] == "reviewed"


def test_a_page_that_refers_in_its_text_or_to_the_folder_is_found(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/pay/bank.py", "x = 1\n")
    text = "See §4.pay.bank for it, and §4.src/pay/bank.py again.\n"
    memctl("detail", "add", "Banks", "--section", "§2.1", "--file", "-", stdin=text)
    memctl("detail", "add", "Folder", "--section", "§2.1", "--code", "src/pay")
    pages = memctl("why", "src/pay/bank.py", "--json").data["pages"]
    assert [(p["id"], p["references"]) for p in pages] == [
        ("§3.2", ["§4.pay.bank", "§4.src/pay/bank.py"]),
        ("§3.3", ["src/pay"]),
    ]


def test_code_references_name_the_file_and_those_about_the_line_come_first(shop: Path, memctl: Memctl) -> None:
    whole = memctl("decide", "Whole", "--code", "src/pay/api.py").id
    ranged = memctl("decide", "Range", "--code", "src/pay/api.py:8-9").id
    single = memctl("learn", "Single", "--code", "src/pay/api.py:9").id
    memctl("learn", "Other file", "--code", "src/pay/api.pyc:9")
    assert list(records(memctl("why", "src/pay/api.py", "--json").data)) == [whole, ranged, single]
    found = records(memctl("why", "src/pay/api.py:9", "--json").data)
    assert list(found) == [ranged, single, whole]
    assert found[ranged] == [("code_refs", "src/pay/api.py:8-9", True)]
    assert found[whole] == [("code_refs", "src/pay/api.py", False)]
    assert next(iter(records(memctl("why", "src/pay/api.py:8", "--json").data))) == ranged
    assert not any(here for _, _, here in records(memctl("why", "src/pay/api.py:7", "--json").data)[ranged])
    out = memctl("why", "src/pay/api.py:9").out
    assert "Range  [this line: src/pay/api.py:8-9]" in out
    assert "Whole  [src/pay/api.py]" in out


def test_ids_in_the_files_text_are_found_and_the_nearest_comes_first(shop: Path, memctl: Memctl) -> None:
    far, near = memctl("decide", "Far").id, memctl("decide", "Near").id
    write(shop, "src/pay/api.py", f"# see {far}\n" + API + f"# .memory/decisions/2025-11/{near}-near.md\n")
    found = records(memctl("why", "src/pay/api.py:10", "--json").data)
    assert list(found.items()) == [(near, [("text", "11", False)]), (far, [("text", "1", False)])]
    assert records(memctl("why", "src/pay/api.py:1", "--json").data)[far] == [("text", "1", True)]
    assert "named in line 11" in memctl("why", "src/pay/api.py").out


def test_commits_name_records_in_folded_trailers_of_any_case_and_anywhere(shop: Path, memctl: Memctl) -> None:
    one, two, three, four = (memctl("decide", f"Number {n}").id for n in range(4))
    write(shop, "src/pay/api.py", API + "\n# more\n")
    message = f"refactor: as {three} says\n\nText.\n\nDECISION: {one},\n  {two}\nmemctl-id: {four}\nRefs: #1"
    commit = make_commit(shop, message, "src")
    data = memctl("why", "src/pay/api.py", "--json").data
    how = {r["id"]: [(n["where"], n["how"]) for n in r["reasons"]] for r in data["records"]}
    assert how == {
        one: [(commit, "Decision")],
        two: [(commit, "Decision")],
        three: [(commit, "message")],
        four: [(commit, "Memctl-Id")],
    }
    assert data["commits"][0]["records"] == [one, two, four, three]
    assert [c["subject"] for c in data["commits"]][1] == "feat: pay"


def test_a_record_is_listed_once_with_all_its_reasons(shop: Path, memctl: Memctl) -> None:
    made = memctl("decide", "All", "--code", "src/pay/api.py").id
    write(shop, "src/pay/api.py", API + f"# {made}\n")
    commit = make_commit(shop, f"fix: it\n\nDecision: {made}", "src")
    found = records(memctl("why", "src/pay/api.py", "--json").data)
    assert found == {made: [("code_refs", "src/pay/api.py", False), ("text", "10", False), ("commit", commit, False)]}
    assert memctl("why", "src/pay/api.py").out.count("  All  [") == 1


def test_a_record_that_the_memory_lacks_is_reported_as_missing(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/pay/api.py", API + "# more\n")
    make_commit(shop, "fix: it\n\nDecision: DEC-2024-01-01-001", "src")
    found = memctl("why", "src/pay/api.py", "--json").data["records"]
    assert [(r["id"], r["record"]) for r in found] == [("DEC-2024-01-01-001", None)]
    assert "missing" in memctl("why", "src/pay/api.py").out


def test_line_is_traced_to_the_commit_that_added_it(shop: Path, memctl: Memctl) -> None:
    first = git(shop, "log", "-1", "--format=%H", "--", "src").strip()
    decision = memctl("decide", "Refunds in cents").id
    lines = API.replace("    return -amount\n", "    return -amount * 100\n")
    second = committed_text(shop, lines, f"feat: cents\n\nDecision: {decision}")
    third = committed_text(shop, "# a head\n# of two lines\n" + lines, "docs: a head")
    here = memctl("why", "src/pay/api.py:11", "--json").data
    assert here["origin"] == {"commit": second, "path": "src/pay/api.py", "line": 9}
    assert [c["commit"] for c in here["commits"] if c["is_here"]] == [second]
    assert [c["commit"] for c in here["commits"]] == [third, second, first]
    assert records(here) == {decision: [("commit", second, True)]}
    assert memctl("why", "src/pay/api.py:10", "--json").data["origin"]["commit"] == first
    assert memctl("why", "src/pay/api.py:9", "--at", "HEAD~1", "--json").data["origin"]["commit"] == second


def committed_text(repo: Path, text: str, message: str) -> str:
    write(repo, "src/pay/api.py", text)
    return make_commit(repo, message, "src")


def test_the_commit_of_a_line_is_shown_beyond_the_limit(shop: Path, memctl: Memctl) -> None:
    for number in range(3):
        committed_text(shop, API + f"# {number}\n", f"fix: {number}")
    found = memctl("why", "src/pay/api.py:1", "--limit", "2", "--json").data
    assert [c["subject"] for c in found["commits"]] == ["feat: pay", "fix: 2", "fix: 1"]
    assert found["has_more"]
    assert not memctl("why", "src/pay/api.py", "--limit", "0", "--json").data["has_more"]
    assert "older commits" in memctl("why", "src/pay/api.py", "--limit", "2").err
    assert "older commits" not in memctl("why", "src/pay/api.py", "--limit", "4").err


def test_a_line_that_is_not_committed_yet_says_so(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/pay/api.py", "# new\n" + API)
    found = memctl("why", "src/pay/api.py:1", "--json").data
    assert found["origin"] == {"commit": None, "path": "src/pay/api.py", "line": 1}
    assert not any(c["is_here"] for c in found["commits"])
    assert "line 1 of the file is not committed yet" in memctl("why", "src/pay/api.py:1").err
    assert memctl("why", "src/pay/api.py:2", "--json").data["origin"]["line"] == 1
    write(shop, "src/pay/untracked.py", "x\n")
    assert "not committed yet" in memctl("why", "src/pay/untracked.py:1").err


def test_line_moved_from_another_file_is_traced_to_its_origin(shop: Path, memctl: Memctl) -> None:
    head, refund = API.split("\n\n\ndef refund")
    head += "".join(f"\n# line {n} of what stays" for n in range(40))  # else Git takes the new file for a copy
    long = "def refund" + refund + "# " + "a remark that is long enough for Git to take it for a move\n" * 3
    committed_text(shop, head + "\n\n\n" + long, "feat: refunds with remarks")
    origin = git(shop, "rev-parse", "HEAD").strip()
    write(shop, "src/pay/api.py", head + "\n")
    write(shop, "src/pay/refunds.py", long)
    make_commit(shop, "refactor: a file of its own", "src")
    found = memctl("why", "src/pay/refunds.py:4", "--json").data
    assert (found["origin"]["commit"], found["origin"]["path"]) == (origin, "src/pay/api.py")
    assert [c["subject"] for c in found["commits"]] == ["feat: refunds with remarks", "refactor: a file of its own"]


def test_commits_under_an_earlier_name_count_and_so_do_references_to_it(shop: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Old name", "--code", "src/pay/api.py:4-5").id
    git(shop, "mv", "src/pay/api.py", "src/pay/größe & co.py")
    make_commit(shop, "refactor: name", "src")
    found = memctl("why", "src/pay/größe & co.py:5", "--json").data
    assert [(c["subject"], c["path"]) for c in found["commits"]] == [
        ("refactor: name", "src/pay/größe & co.py"),
        ("feat: pay", "src/pay/api.py"),
    ]
    assert found["origin"]["path"] == "src/pay/api.py"
    assert records(found) == {made: [("code_refs", "src/pay/api.py:4-5", True)]}
    assert "hint: the file was renamed: `memctl why 'src/pay/größe & co.py'`" in memctl("why", "src/pay/api.py").err


@pytest.mark.parametrize("is_committed", [False, True], ids=["staged", "committed"])
def test_references_to_the_earlier_name_of_a_folder_count(shop: Path, memctl: Memctl, is_committed: bool) -> None:
    made = [memctl("decide", f"On {ref}", "--code", ref).id for ref in ("src/pay/", "src/pay")]
    git(shop, "mv", "src/pay", "src/payment")
    if is_committed:
        make_commit(shop, "refactor: name", "src")
    found = memctl("why", "src/payment/api.py", "--json").data
    assert records(found) == {
        made[0]: [("code_refs", "src/pay/", False)],
        made[1]: [("code_refs", "src/pay", False)],
    }


@pytest.mark.parametrize("stays", [False, True], ids=["split", "still there"])
def test_references_to_the_folder_from_which_a_file_was_moved_do_not_count(
    shop: Path, memctl: Memctl, stays: bool
) -> None:
    write(shop, "src/pay/other.py", "".join(f"other_{number} = {number}\n" for number in range(20)))
    make_commit(shop, "feat: more", "src")
    memctl("decide", "On the folder", "--code", "src/pay/")
    (shop / "lib").mkdir()
    (shop / "web").mkdir()
    git(shop, "mv", "src/pay/api.py", "lib/api.py")
    if not stays:
        for path in git(shop, "ls-files", "src/pay").split():
            git(shop, "mv", path, "web/" + path.rpartition("/")[2])
    make_commit(shop, "refactor: move", ".")
    assert records(memctl("why", "lib/api.py", "--json").data) == {}


@pytest.mark.parametrize("name", ["a file.py", "naïve/データ.py", 'quoted "x".py', "glob[1]*.py", "-dash.py", "a:12"])
def test_special_characters_in_a_path_work_with_and_without_a_line(shop: Path, memctl: Memctl, name: str) -> None:
    path = f"src/pay/{name}"
    write(shop, path, "one\ntwo\n")
    commit = make_commit(shop, "feat: odd", "src")
    git(shop, "mv", path, "src/pay/moved.py")
    make_commit(shop, "refactor: even", "src")
    git(shop, "mv", "src/pay/moved.py", path)
    make_commit(shop, "refactor: odd again", "src")
    found = memctl("why", f"{path}:2", "--json").data
    assert (found["path"], found["line"], found["origin"]["commit"]) == (path, 2, commit)
    assert [c["subject"] for c in found["commits"]] == ["refactor: odd again", "refactor: even", "feat: odd"]
    assert memctl("why", path, "--json").data["line"] is None


def test_a_deleted_file_is_explained_from_history(shop: Path, memctl: Memctl) -> None:
    decision = memctl("decide", "No more payments").id
    git(shop, "rm", "-q", "src/pay/api.py")
    gone = make_commit(shop, f"feat!: give up\n\nDecision: {decision}")
    found = memctl("why", "src/pay/api.py:5", "--json").data
    assert (found["exists"], found["removed_by"]) == (False, gone)
    assert [s["id"] for s in found["sections"]] == ["§2.1"]
    assert [(p["id"], p["state"]) for p in found["pages"]] == [("§3.1", "broken")]
    assert [c["subject"] for c in found["commits"]] == ["feat!: give up", "feat: pay"]
    assert found["origin"]["commit"] == found["commits"][1]["commit"]
    assert list(records(found)) == [decision]
    assert f"no longer exists: the commit {gone[:10]} removed the file" in memctl("why", "src/pay/api.py").err


def test_file_deleted_only_from_the_worktree_counts_as_gone(shop: Path, memctl: Memctl) -> None:
    (shop / "src/pay/api.py").unlink()
    found = memctl("why", "src/pay/api.py:4", "--json").data
    assert (found["exists"], found["removed_by"]) == (False, None)
    assert found["origin"]["line"] == 4
    assert memctl("why", "src/pay/api.py", "--at", "HEAD", "--json").data["exists"]


def test_path_is_resolved_from_the_folder_and_from_the_top(shop: Path, memctl: Memctl) -> None:
    inner = shop / "src" / "pay"
    for given in ("api.py", "./api.py", "src/pay/api.py", "../pay/api.py", str(inner / "api.py")):
        assert memctl("why", given, "--json", where=inner).data["path"] == "src/pay/api.py"
    write(shop, "src/pay/app.py", "inner\n")
    assert memctl("why", "app.py", "--json", where=inner).data["path"] == "src/pay/app.py"
    assert memctl("why", "../../app.py", "--json", where=inner).data["path"] == "app.py"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("src/pay/apy.py", "src/pay/api.py"),
        ("api.pi:3", "src/pay/api.py"),
        ("src/pay/:3", "src/pay/:3 is a folder"),
        (".", ". is a folder"),
        ("/etc/passwd", "knows no file"),
        ("../../etc/passwd", "knows no file"),
        (".memory/config.yaml", "is a file of the memory"),
        ("src/pay/api.py:99", "no line 99"),
        ("src/pay/api.py:0", "line numbers begin at 1"),
    ],
)
def test_a_missing_file_is_refused_with_similar_names(shop: Path, memctl: Memctl, given: str, told: str) -> None:
    assert told in memctl("why", given, code=None).err
    assert memctl("why", given, code=None).code in (1, 2)


def test_a_folder_has_its_sections_and_the_records_on_it_and_in_it(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/pay/bank/sepa.py", "x = 1\n")
    memctl("section", "add", "Banks", "--path", "src/pay/bank/*.py")
    memctl("detail", "add", "Folder", "--section", "§2.1", "--code", "src/pay/")
    above = memctl("learn", "Above", "--code", "src/").id
    inside = memctl("issue", "Inside", "--code", "src/pay/api.py:4", "--code", "src/pay/bank").id
    on_it = memctl("decide", "On it", "--code", "src/pay", "--rationale", "Cards need it.").id
    memctl("learn", "Beside", "--code", "app.py")
    for given in ("src/pay", "src/pay/"):
        found = memctl("why", given, "--json").data
        assert (found["path"], found["commits"]) == ("src/pay/", [])
        assert list(records(found)) == [on_it, inside, above]
        assert [where for _, where, _ in records(found)[inside]] == ["src/pay/api.py:4", "src/pay/bank"]
        assert [s["id"] for s in found["sections"]] == ["§2.1", "§2.2"]
        assert [page["id"] for page in found["pages"]] == ["§3.2"]
    assert memctl("why", "pay/", where=shop / "src").out.startswith(f"src/pay/: Cards need it. ({on_it} On it)\n")
    assert {s["id"] for s in memctl("why", "src/pay/bank/", "--json").data["sections"]} == {"§2.1", "§2.2"}
    related = memctl("search", "--related", "src/pay/", "--json").data
    assert related["to"] == "src/pay/"
    assert {on_it, inside, above} <= {row["record"]["id"] for row in related["results"]}
    assert "the memory does not mention docs/" in memctl("why", "docs/", where=_with_file(shop, "docs/a.md")).err


def _with_file(repo: Path, path: str) -> Path:
    write(repo, path, "x\n")
    return repo


def test_a_record_of_the_memory_leads_to_its_own_log(shop: Path, memctl: Memctl) -> None:
    made = memctl("decide", "Itself")
    assert f"memctl log {made.id}" in memctl("why", made.out.split()[1], code=1).err


def test_a_file_that_nothing_explains_says_so(shop: Path, memctl: Memctl) -> None:
    write(shop, "notes.txt", "x\n")
    result = memctl("why", "notes.txt")
    assert result.out == ""
    assert "neither the memory nor the history" in result.err


def test_why_at_a_revision_uses_memory_and_file_of_that_revision(shop: Path, memctl: Memctl) -> None:
    before = git(shop, "rev-parse", "HEAD").strip()
    memctl("decide", "Later", "--code", "src/pay/api.py")
    committed_text(shop, API + "# later\n", "fix: later")
    found = memctl("why", "src/pay/api.py", "--at", before, "--json").data
    assert found["records"] == []
    assert [c["subject"] for c in found["commits"]] == ["feat: pay"]


def test_in_a_repository_without_commits_the_memory_alone_explains(memctl: Memctl, tmp_path: Path) -> None:
    folder = tmp_path / "fresh"
    folder.mkdir()
    git(folder, "init", "-q")
    write(folder, "a.py", "x\n")
    memctl("init", "--no-commit", where=folder)
    memctl("decide", "First", "--code", "a.py:1", "--no-commit", where=folder)
    found = memctl("why", "a.py:1", "--json", where=folder).data
    assert (found["commits"], found["origin"]["commit"]) == ([], None)
    assert [r["record"]["title"] for r in found["records"]] == ["First"]
    assert "knows no file" in memctl("why", "b.py", where=folder, code=2).err


def test_unreadable_page_is_reported(shop: Path, memctl: Memctl) -> None:
    page = shop / ".memory/details/3.1-payment-details.md"
    page.write_text(page.read_text().replace("section: §2.1", "section: 7"))
    result = memctl("why", "src/pay/api.py")
    assert "warning: .memory/details/3.1-payment-details.md:" in result.err
    assert "Sections" in result.out
    assert memctl("why", "src/pay/api.py", "--json").json["faults"][0]["path"].endswith("3.1-payment-details.md")


def test_a_sha256_repository_is_explained_too(memctl: Memctl, tmp_path: Path) -> None:
    folder = tmp_path / "sha256"
    folder.mkdir()
    git(folder, "init", "-q", "--object-format=sha256")
    write(folder, "a.py", "x\n")
    commit = make_commit(folder, "feat: a\n\nDecision: DEC-2024-01-01-001")
    memctl("init", where=folder)
    found = memctl("why", "a.py:1", "--json", where=folder).data
    assert (found["origin"]["commit"], len(commit)) == (commit, 64)
    assert found["commits"][0]["records"] == ["DEC-2024-01-01-001"]


def test_why_changes_nothing(shop: Path, memctl: Memctl) -> None:
    write(shop, "src/pay/api.py", API + "# dirty\n")
    before = (
        git(shop, "status", "--porcelain", "--ignored"),
        git(shop, "rev-parse", "HEAD"),
        git(shop, "ls-files", "-s"),
    )
    memctl("why", "src/pay/api.py:3")
    after = git(shop, "status", "--porcelain", "--ignored"), git(shop, "rev-parse", "HEAD"), git(shop, "ls-files", "-s")
    assert before == after


def test_shallow_clone_names_its_first_commit_as_the_end_and_not_as_a_reason(
    repo: Path, memctl: Memctl, tmp_path: Path
) -> None:
    memctl("learn", "Another")
    unrelated = memctl("decide", "Use uv", "--rationale", "Faster locks").id
    first = git(repo, "rev-parse", "HEAD").strip()
    write(repo, "later.py", "x = 1\n")
    later = make_commit(repo, "feat: add later.py")
    git(tmp_path, "clone", "-q", "--depth", "2", repo.as_uri(), "shallow")
    shallow = tmp_path / "shallow"
    for place in ("app.py", "app.py:1"):
        found = memctl("why", place, where=shallow)
        assert unrelated not in found.out
        assert f"history of this shallow clone begins with {first[:10]}" in found.err
        data = memctl("why", place, "--json", where=shallow).data
        assert (data["commits"], data["records"], data["session"], data["history_ends"]) == ([], [], None, [first])
    data = memctl("why", "later.py", "--json", where=shallow).data
    assert ([one["commit"] for one in data["commits"]], data["history_ends"]) == ([later], [])


def test_log_of_a_record_in_a_shallow_clone_does_not_list_the_first_commit_as_its_change(
    repo: Path, memctl: Memctl, tmp_path: Path
) -> None:
    other = memctl("learn", "Another").id
    own = memctl("decide", "Use uv", "--rationale", "Faster locks").id
    git(tmp_path, "clone", "-q", "--depth", "1", repo.as_uri(), "shallow")
    found = memctl("log", other, where=tmp_path / "shallow")
    assert (found.out, "the history of this shallow clone begins with" in found.err) == ("", True)
    assert "Use uv" in memctl("log", own, where=tmp_path / "shallow").out
    (one,) = memctl("log", "--json", where=tmp_path / "shallow").data["commits"]
    assert (one["is_boundary"], one["paths"], one["ids"]) == (True, [], [own])


def test_the_innermost_section_of_a_file_comes_first(repo: Path, memctl: Memctl) -> None:
    (repo / "lib/tls").mkdir(parents=True)
    (repo / "lib/tls/a.c").write_text("int a;\n")
    git(repo, "add", "lib")
    memctl("section", "add", "Library", "--path", "lib/**")
    memctl("section", "add", "TLS", "--path", "lib/tls/**")
    why = memctl("why", "lib/tls/a.c", "--json").data
    assert [section["id"] for section in why["sections"]] == ["§2.2", "§2.1"]


def test_section_without_a_text_is_no_reason(memctl: Memctl, repo: Path) -> None:
    memctl("section", "add", "Application", "--path", "app.py")
    answer = memctl("why", "app.py").out.split("\n")[0]
    assert answer.startswith("app.py: no reason is recorded; last change: ")
    assert answer.endswith("; in §2.1 Application")
    (repo / "new.py").write_text("x = 1\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "take orders by mail")
    memctl("section", "edit", "2.1", "--path", "new.py")
    assert memctl("why", "new.py").out.startswith("new.py: take orders by mail (")


def test_records_that_name_the_file_in_their_text_come_last_and_explain_it(repo: Path, memctl: Memctl) -> None:
    write(repo, "src/pay.py", API)
    for number in range(2):
        write(repo, f"lib/{number}/util.py", "")
    make_commit(repo, "Import all")
    named = memctl("issue", "Refunds", "--severity", "low", "--description", "They are lost (pay.py:9).").id
    memctl("issue", "Slow", "--severity", "low", "--description", "See util.py.")
    typed = memctl("decide", "Queue", "--rationale", "In src/pay.py all is quick.", "--code", "src/pay.py").id
    data = memctl("why", "src/pay.py", "--json").data
    references = {typed: [("code_refs", "src/pay.py", False)], named: [("mention", "pay.py", False)]}
    assert records(data) == references
    assert list(records(data)) == [typed, named]
    assert memctl("why", "lib/0/util.py", "--json").data["records"] == []


def test_a_section_without_a_text_is_no_reason(repo: Path, memctl: Memctl) -> None:
    write(repo, "src/pay.py", API)
    made = make_commit(repo, "Pay by queue")
    memctl("section", "add", "Payment", "--path", "src/**")
    assert memctl("why", "src/pay.py", "--json").data["answer"].startswith(f"Pay by queue ({made[:10]}")
    memctl("section", "edit", "§2.1", "--overview", "Payments wait in a queue.")
    assert memctl("why", "src/pay.py", "--json").data["answer"] == "Payments wait in a queue. (§2.1 Payment)"
    write(repo, "src/new.py", "")
    memctl("section", "add", "New", "--path", "lib/**")
    write(repo, "lib/new.py", "")
    assert memctl("why", "lib/new.py", "--json").data["answer"] == "no reason is recorded; in §2.2 New"


def test_why_says_that_a_decision_was_rejected_and_why(shop: Path, memctl: Memctl) -> None:
    (shop / "api.py").write_text("x = 1\n")
    texts = ("--rationale", "One query could fetch all.", "--context", "Rejected on 2 October: the cache is lost.")
    found = memctl("decide", "GraphQL for all", "--status", "proposed", *texts, "--code", "api.py").id
    memctl("edit", found, "--set", "status=rejected")
    line = f"rejected 2025-11-04: GraphQL for all ({found}), because the cache is lost.\n"
    assert memctl("why", "api.py").out.startswith(f"api.py: {line}")
    assert line in memctl("search", "graphql").out
