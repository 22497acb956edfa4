"""`why PATH:LINE`: lines that records name, followed through what became of the file; and what else explains a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import NOW, Memctl, Once, git
from tests.pages.test_provenance import API, make_commit, write

FILE = "src/pay/api.py"
HEAD = "# a head\n# of two lines\n"


@pytest.fixture
def shop(repo: Path, once: Once) -> Path:
    def make() -> None:
        write(repo, FILE, API)
        make_commit(repo, "feat: pay")

    once(make)
    return repo


def reasons(memctl: Memctl, place: str, *args: str, where: Path | None = None) -> dict[str, Any]:
    """The first reason for each record, by its title."""
    records = memctl("why", place, "--json", *args, where=where).data["records"]
    return {one["record"]["title"]: one["reasons"][0] for one in records}


def decide(memctl: Memctl, title: str, *lines: str, path: str = FILE) -> str:
    code = [word for line in lines for word in ("--code", f"{path}:{line}")]
    return memctl("decide", title, "--rationale", f"{title} is why. And more.", *code).id


def test_a_line_is_followed_through_later_commits(shop: Path, memctl: Memctl) -> None:
    decide(memctl, "Refunds", "9")
    recorded = git(shop, "rev-parse", "HEAD").strip()
    write(shop, FILE, HEAD + API)
    make_commit(shop, "docs: a head", "src")
    write(shop, FILE, HEAD + "import os\n" + API)  # not committed
    found = reasons(memctl, f"{FILE}:12")["Refunds"]
    assert found["is_here"]
    assert found["lines"] == {"recorded": [9, 9], "commit": recorded, "now": [12, 12], "is_followed": True}
    assert not reasons(memctl, f"{FILE}:9")["Refunds"]["is_here"]
    assert f"[{FILE}:9 at {recorded[:10]}, now line 12]" in memctl("why", FILE).out
    assert f"[this line: {FILE}:9 at {recorded[:10]}, now line 12]" in memctl("why", f"{FILE}:12").out
    assert reasons(memctl, f"{FILE}:11", "--at", "HEAD")["Refunds"]["is_here"]
    assert reasons(memctl, f"{FILE}:9", "--at", recorded)["Refunds"]["is_here"]


@pytest.mark.parametrize("path", ['src/it\'s "the" api.py', "src/größe.py", FILE])
def test_reference_means_the_lines_of_the_commit_that_recorded_it(shop: Path, memctl: Memctl, path: str) -> None:
    write(shop, path, API * 20)
    make_commit(shop, "feat: a long file")
    one = decide(memctl, "Refunds", "90", path=path)
    write(shop, path, HEAD + API * 20)
    make_commit(shop, "docs: a head", "src")
    memctl("edit", one, "--set", f"code_refs={path}:9")
    recorded = git(shop, "rev-parse", "HEAD").strip()
    memctl("edit", one, "--set", "importance=9")
    lines = {"recorded": [9, 9], "commit": recorded, "now": [9, 9], "is_followed": True}
    assert reasons(memctl, f"{path}:9")["Refunds"]["lines"] == lines


def test_changed_or_deleted_line_no_longer_matches_the_reference(shop: Path, memctl: Memctl) -> None:
    decide(memctl, "Whole", "1", "9")
    decide(memctl, "Sign", "9")
    decide(memctl, "Puts", "5")
    write(shop, FILE, API.replace("return -amount", "return abs(amount)").replace("    return queue.put(amount)\n", ""))
    make_commit(shop, "fix: no sign", "src")
    found = reasons(memctl, f"{FILE}:8")
    assert [one["is_here"] for one in found.values()] == [False] * 3
    assert next(iter(found)) in ("Whole", "Sign")  # it is what stands in its place
    out = memctl("why", FILE).out
    assert "changed since]" in out
    assert ", gone since]" in out


def test_reindented_line_still_matches_the_reference(shop: Path, memctl: Memctl) -> None:
    decide(memctl, "Refunds", "9")
    write(shop, FILE, API.replace("    return -amount", "        return -amount"))
    make_commit(shop, "style: indent", "src")
    assert reasons(memctl, f"{FILE}:9")["Refunds"]["is_here"]


def test_line_range_covers_lines_between_its_remaining_ends(shop: Path, memctl: Memctl) -> None:
    decide(memctl, "Refunds", "8-9")
    text = API.replace("def refund(amount):\n", "def refund(amount):\n    # a remark\n")
    write(shop, FILE, HEAD + text)
    make_commit(shop, "docs: remarks", "src")
    assert [reasons(memctl, f"{FILE}:{line}")["Refunds"]["is_here"] for line in (9, 10, 11, 12)] == [
        False,
        True,
        True,
        True,
    ]
    assert "now lines 10-12" in memctl("why", FILE).out


def test_a_merge_moves_a_referenced_line(shop: Path, memctl: Memctl) -> None:
    git(shop, "checkout", "-qb", "other")
    write(shop, FILE, HEAD + API)
    make_commit(shop, "docs: a head", "src")
    git(shop, "checkout", "-q", "main")
    decide(memctl, "Refunds", "9")
    git(shop, "merge", "-q", "other", "-m", "merge")
    assert reasons(memctl, f"{FILE}:11")["Refunds"]["is_here"]
    assert not reasons(memctl, f"{FILE}:9")["Refunds"]["is_here"]


def test_line_reference_follows_a_renamed_file(shop: Path, memctl: Memctl) -> None:
    decide(memctl, "Refunds", "9")
    git(shop, "mv", FILE, "src/pay/money.py")
    assert memctl("why", "src/pay/money.py:9", "--json").data["commits"][0]["subject"] == "feat: pay"  # staged only
    write(shop, "src/pay/money.py", HEAD + API)
    make_commit(shop, "refactor: name", "src")
    assert reasons(memctl, "src/pay/money.py:11")["Refunds"]["is_here"]
    assert f"{FILE}:9 at" in memctl("why", "src/pay/money.py").out


def test_edited_record_counts_from_the_version_that_added_the_line(shop: Path, memctl: Memctl) -> None:
    made = decide(memctl, "Refunds", "9")
    write(shop, FILE, HEAD + API)
    make_commit(shop, "docs: a head", "src")
    memctl("edit", made, "--set", "importance=9")
    assert reasons(memctl, f"{FILE}:11")["Refunds"]["is_here"]
    memctl("edit", made, "--set", f"code_refs={FILE}:10")
    found = reasons(memctl, f"{FILE}:10")["Refunds"]
    assert (found["is_here"], found["lines"]["now"]) == (True, [10, 10])


def test_record_made_before_a_commit_refers_to_the_uncommitted_lines(
    shop: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HEAD + API + "\n\ndef cancel(payment):\n    return None\n"
    write(shop, FILE, text)
    decide(memctl, "Cancelling", "15")
    decide(memctl, "Below", "7")
    assert reasons(memctl, f"{FILE}:15")["Cancelling"]["is_here"]  # not committed yet
    monkeypatch.setenv("GIT_COMMITTER_DATE", NOW)
    make_commit(shop, "feat: cancelling", "src")
    write(shop, FILE, "# more\n" + text)
    make_commit(shop, "docs: more", "src")
    found = reasons(memctl, f"{FILE}:16")
    assert found["Cancelling"]["is_here"]
    # The change brought no line 7: it is that of the commit in which the record is.
    assert found["Below"]["lines"]["now"] == [10, 10]


def test_a_file_that_was_recorded_before_its_first_commit_is_followed(shop: Path, memctl: Memctl) -> None:
    write(shop, "new.py", "one = 1\ntwo = 2\n")
    decide(memctl, "Two", "2", path="new.py")
    assert reasons(memctl, "new.py:2")["Two"]["is_here"]
    make_commit(shop, "feat: new", "new.py")
    write(shop, "new.py", "zero = 0\none = 1\ntwo = 2\n")
    make_commit(shop, "feat: zero", "new.py")
    assert reasons(memctl, "new.py:3")["Two"]["is_here"]


def test_uncommitted_record_refers_to_the_current_lines(shop: Path, memctl: Memctl) -> None:
    memctl("decide", "Refunds", "--code", f"{FILE}:9", "--no-commit")
    assert reasons(memctl, f"{FILE}:9")["Refunds"] == {
        "by": "code_refs",
        "where": f"{FILE}:9",
        "how": None,
        "is_here": True,
        "lines": {"recorded": [9, 9], "commit": None, "now": [9, 9], "is_followed": True},
    }


def test_shallow_clone_claims_nothing_about_commits_it_lacks(shop: Path, memctl: Memctl, tmp_path: Path) -> None:
    decide(memctl, "Refunds", "9")
    write(shop, FILE, HEAD + API)
    make_commit(shop, "docs: a head", "src")
    git(tmp_path, "clone", "-q", "--depth", "1", shop.as_uri(), "shallow")
    shallow = tmp_path / "shallow"
    found = reasons(memctl, f"{FILE}:9", where=shallow)["Refunds"]
    assert (found["is_here"], found["lines"]["is_followed"]) == (False, False)
    assert "may be older: the history of this shallow clone" in memctl("why", f"{FILE}:9", where=shallow).err


def test_in_a_partial_clone_nothing_is_fetched_and_gaps_are_reported(
    shop: Path, memctl: Memctl, tmp_path: Path
) -> None:
    decide(memctl, "Refunds", "9")
    for number in range(3):
        write(shop, FILE, "# more\n" * number + HEAD + API)
        make_commit(shop, f"docs: {number}", "src")
    git(shop, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", shop.as_uri(), "partial")
    partial = tmp_path / "partial"

    def missing() -> str:
        return git(partial, "rev-list", "--objects", "--all", "--missing=print")

    before = missing()
    result = memctl("why", f"{FILE}:13", where=partial)
    assert "the commit of line 13 is unknown: this partial clone" in result.err
    assert "which may have moved since" in result.out
    assert "docs: 2" in result.out
    assert missing() == before


def test_in_a_partial_clone_a_deleted_file_is_explained_without_its_text(
    shop: Path, memctl: Memctl, tmp_path: Path
) -> None:
    git(shop, "rm", "-q", FILE)
    make_commit(shop, "feat!: no refunds")
    git(shop, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", shop.as_uri(), "partial")
    partial = tmp_path / "partial"
    shop.rename(tmp_path / "away")  # so that whatever is fetched fails
    result = memctl("why", FILE, where=partial)
    assert "feat!: no refunds" in result.out
    assert f"{FILE} no longer exists" in result.err
    assert "the commit of line 1 is unknown: this partial clone" in memctl("why", f"{FILE}:1", where=partial).err


def test_a_line_beyond_the_file_is_refused_with_its_length(shop: Path, memctl: Memctl, tmp_path: Path) -> None:
    write(shop, "empty.py", "")
    (shop / "logo.png").write_bytes(b"\x89PNG\0\0")
    assert "its last line is 9" in memctl("why", f"{FILE}:10", code=2).err
    assert "it is empty" in memctl("why", "empty.py:1", code=2).err
    assert "is not text, so it has no lines" in memctl("why", "logo.png:1", code=2).err
    make_commit(shop, "feat: a logo")
    assert "feat: a logo" in memctl("why", "logo.png").out
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    write(inner, "a.py", "x\n")
    make_commit(inner, "feat: a")
    git(shop, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "libs/inner")
    make_commit(shop, "feat: a submodule")
    for path in ("libs/inner", "libs/inner/a.py:1"):
        result = memctl("why", path, code=2)
        assert "libs/inner is a submodule" in result.err
        assert "git -C libs/inner log" in result.err


class TestAnswer:
    """The first line says why; the rest goes from the line to the file to what is around it."""

    def test_reason_of_a_record_about_the_line_is_shown(self, shop: Path, memctl: Memctl) -> None:
        made, whole = decide(memctl, "Refunds", "9"), decide(memctl, "Whole", path=FILE)
        out = memctl("why", f"{FILE}:9").out.split("\n")
        assert out[0] == f"{FILE}:9: Refunds is why. ({made} Refunds)"
        assert out[2] == "This line"
        assert "      Refunds is why." in out
        assert whole not in "".join(out)
        assert memctl("why", f"{FILE}:9", "--json").data["answer"] == f"Refunds is why. ({made} Refunds)"
        assert memctl("why", f"{FILE}:9", "--json").data["records"][0]["reason"] == "Refunds is why."

    def test_line_without_records_shows_its_commit_message(self, shop: Path, memctl: Memctl) -> None:
        write(shop, FILE, HEAD + API)
        message = "docs: a head\n\nReaders asked for it. Often.\n\nRefs: #1\nSigned-off-by: Ada <ada@example.org>"
        commit = make_commit(shop, message, "src")
        lines = memctl("why", f"{FILE}:2").out.split("\n")
        assert lines[0].startswith(f"{FILE}:2: docs: a head. Readers asked for it. ({commit[:10]}, ")
        assert lines[3].startswith(f"  {commit[:10]}")
        assert lines[4] == "      Readers asked for it."
        assert [line[2:12] for line in lines if line.endswith("feat: pay")] == [
            git(shop, "log", "-1", "--format=%H", "--grep=feat: pay").strip()[:10]
        ]

    def test_reason_for_a_file_is_its_best_record_section_or_first_commit(self, shop: Path, memctl: Memctl) -> None:
        assert "feat: pay" in memctl("why", FILE).out.split("\n")[0]
        memctl("section", "add", "Payment", "--path", "src/pay/**", "--overview", "Takes money. Gives it back.")
        assert memctl("why", FILE).out.split("\n")[0] == f"{FILE}: Takes money. (§2.1 Payment)"
        made = memctl("decide", "Whole", "--code", FILE, "--rationale", "One file is enough.").id
        assert memctl("why", FILE).out.split("\n")[0] == f"{FILE}: One file is enough. ({made} Whole)"

    def test_reason_of_a_state_is_what_comes_next_and_of_a_resolved_issue_its_resolution(
        self, shop: Path, memctl: Memctl
    ) -> None:
        made = memctl("state", "Port it", "--done", "OpenSSL", "--next", "Port GnuTLS.", "--code", FILE, "-i", "9").id
        assert memctl("why", FILE).out.split("\n")[0] == f"{FILE}: Port GnuTLS. ({made} Port it)"
        memctl("resolve", made)
        issue = memctl("issue", "Leaks", "--next", "Bisect.", "--code", FILE, "-i", "10").id
        memctl("resolve", issue, "--resolution", "The pool is closed now.")
        assert "      The pool is closed now." in memctl("why", FILE).out.split("\n")

    def test_records_that_still_hold_and_weigh_more_come_first(self, shop: Path, memctl: Memctl) -> None:
        old = memctl("decide", "Old", "--code", FILE, "-i", "10").id
        memctl("learn", "Light", "--code", FILE, "-i", "2")
        memctl("decide", "Heavy", "--code", FILE, "-i", "9")
        memctl("decide", "New", "--code", FILE, "--supersedes", old)
        titles = [one["record"]["title"] for one in memctl("why", FILE, "--json").data["records"]]
        assert titles == ["Heavy", "New", "Light", "Old"]
        result = memctl("why", FILE, "--limit", "2")
        assert "Light" not in result.out
        assert "2 more records about the file: --limit 0 shows all" in result.err

    def test_similar_records_of_the_files_section_are_listed(self, shop: Path, memctl: Memctl) -> None:
        memctl("section", "add", "Payment", "--path", "src/pay/**")
        memctl("decide", "Never refund through the api twice", "--section", "2.1", "--rationale", "Money. Lost.")
        memctl("decide", "Colours of buttons", "--section", "2.1")
        data = memctl("why", FILE, "--json").data
        assert [one["record"]["title"] for one in data["of_places"]] == ["Never refund through the api twice"]
        assert data["of_places"][0]["reason"] == "Money."
        assert "Records of the pages and sections above" in memctl("why", FILE).out

    def test_similar_record_that_does_not_name_the_file_is_listed(self, shop: Path, memctl: Memctl) -> None:
        write(shop, FILE, '"""Retries of payments."""\n')
        memctl("decide", "Retries of payments wait twice as long", "--code", "src/pay/other.py")
        memctl("decide", "Colours of buttons")
        data = memctl("why", FILE, "--json").data
        assert [one["record"]["title"] for one in data["perhaps"]] == ["Retries of payments wait twice as long"]
        assert data["records"] == []
        assert "Perhaps" in memctl("why", FILE).out
        for number in range(3):
            memctl("decide", f"Number {number}", "--code", FILE)
        assert memctl("why", FILE, "--json").data["perhaps"] == []  # enough is known

    def test_author_name_with_a_control_character_is_matched(
        self, shop: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MEMCTL_SESSION", "abc")
        memctl("decide", "Count from one", "--rationale", "People do.")
        raw = git(shop, "cat-file", "commit", "HEAD").replace("\nauthor ", "\nauthor A\x1fB ", 1)
        git(shop, "reset", "-q", "--soft", git(shop, "hash-object", "-t", "commit", "-w", "--stdin", stdin=raw).strip())
        monkeypatch.setenv("GIT_AUTHOR_NAME", git(shop, "log", "-1", "--format=%an").strip())
        monkeypatch.setenv("GIT_COMMITTER_DATE", NOW)
        write(shop, FILE, HEAD + API)
        make_commit(shop, "docs: a head", "src")
        data = memctl("why", f"{FILE}:1", "--json").data
        assert (data["session"], [one["record"]["title"] for one in data["of_session"]]) == ("abc", ["Count from one"])

    def test_decisions_of_the_session_of_a_lines_commit_are_shown(
        self, shop: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MEMCTL_SESSION", "other")
        monkeypatch.setenv("GIT_AUTHOR_NAME", "Bob")
        memctl("decide", "Elsewhere")
        monkeypatch.setenv("GIT_AUTHOR_NAME", "Ada")
        monkeypatch.setenv("MEMCTL_SESSION", "abc")
        memctl("decide", "Count from one", "--rationale", "People do.")
        monkeypatch.setenv("GIT_COMMITTER_DATE", NOW)
        write(shop, FILE, HEAD + API)
        make_commit(shop, "docs: a head", "src")
        data = memctl("why", f"{FILE}:1", "--json").data
        assert data["session"] == "abc"
        assert [(one["record"]["title"], one["reason"]) for one in data["of_session"]] == [
            ("Count from one", "People do.")
        ]
        assert "Session abc" in memctl("why", f"{FILE}:1").out
        assert memctl("why", f"{FILE}:5", "--json").data["session"] is None  # of a day when nothing was recorded
