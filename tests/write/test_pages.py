"""Writing pages: one commit each, numbers that stay, texts that nothing is lost of, and stamps of code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memctl.git import history
from memctl.git.history import Commit
from memctl.record.pages import Outline, Page
from memctl.store import load
from memctl.store.memory import open_memory
from tests.conftest import Memctl, Once, changed_in, commits, git

SECTION = "sections/2.1-payment.md"
ODD = ("2.0", "2.01", "2.1.1", "two", "2", "2.1/../../x", "3.9", "3.1")  # no numbers of sections


def outline(repo: Path) -> Outline:
    return load.disk(open_memory(repo, os.environ)).outline


def page(repo: Path, marker: str) -> Page:
    found = outline(repo).find(marker)
    assert found is not None
    return found


def last(repo: Path) -> Commit:
    return history.commits(open_memory(repo, os.environ).repository, [".memory"], limit=1)[0]


def changed_files(repo: Path) -> list[str]:
    return [path.removeprefix(".memory/") for path in changed_in(repo)]


def stamps(repo: Path, marker: str = "§3.1") -> dict[str, str]:
    return page(repo, marker).stamps


def blob(repo: Path, path: str) -> str:
    return git(repo, "hash-object", path).strip()[:12]


def test_every_operation_is_one_commit_of_one_page_with_trailers_that_parse(repo: Path, memctl: Memctl) -> None:
    """Whatever the user has staged, changed or left lying about stays as it is."""
    (repo / "staged.py").write_text("x\n")
    git(repo, "add", "staged.py")
    (repo / "app.py").write_text("dirty\n")
    (repo / "untracked.py").write_text("x\n")
    (repo / ".memory" / "docs" / "mine.txt").write_text("my own\n")
    (repo / ".memory" / "sections").mkdir()
    (repo / ".memory" / "sections" / "notes.txt").write_text("my own\n")
    status = git(repo, "status", "--porcelain", "-uall")
    hostile = "Pay: Memctl-Op: evil [x](y) § \\ \"'` " + "ü" * 50
    for args, op, marker, path in (
        (["project", "set", "--goal", "Sell"], "project", "§1.0", "project.md"),
        (["project", "set", "--completion", "5"], "project", "§1.0", "project.md"),
        (["section", "add", "Payment"], "add-section", "§2.1", SECTION),
        (
            ["section", "add", hostile, "--number", "2.7"],
            "add-section",
            "§2.7",
            "sections/2.7-pay-memctl-op-evil-x-y.md",
        ),
        (["section", "edit", "2.1", "--title", "Renamed"], "edit-section", "§2.1", SECTION),
        (["detail", "add", "Tokens", "--section", "2.1"], "add-detail", "§3.1", "details/3.1-tokens.md"),
        (["detail", "edit", "§3.1", "--section", "2.7"], "edit-detail", "§3.1", "details/3.1-tokens.md"),
        (["detail", "edit", "3.1", "--code", "app.py"], "edit-detail", "§3.1", "details/3.1-tokens.md"),
        (["detail", "remove", "3.1"], "remove-detail", "§3.1", "details/3.1-tokens.md"),
        (["section", "remove", "§2.7"], "remove-section", "§2.7", "sections/2.7-pay-memctl-op-evil-x-y.md"),
    ):
        before = commits(repo)
        memctl(*args, "--reason", "Asked by: Ada")
        assert commits(repo) == before + 1, args
        assert changed_files(repo) == [path], args
        commit = last(repo)
        assert commit.trailers.ops == (op,), args
        assert commit.trailers.ids == (marker,), args
        assert (commit.trailers.actor, commit.trailers.reason) == ("claude", "Asked by: Ada"), args
        assert commit.subject.startswith(f"docs(memory): {op} {marker} "), args
        assert len(git(repo, "log", "-1", "--format=%s", commit.commit).strip()) <= 72, args
        assert git(repo, "status", "--porcelain", "-uall") == status, args
    assert git(repo, "show", ":staged.py") == "x\n"


def test_commands_without_effect_make_no_commit(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment", "--completion", "5", "--overview", "Text.", "--path", "app.py")
    memctl("detail", "add", "Tokens", "--section", "2.1", "--code", "app.py", "--file", "-", stdin="Text.\n")
    before, head = commits(repo), git(repo, "rev-parse", "HEAD")
    for args in (
        ["section", "edit", "2.1", "--title", "Payment", "--completion", "5", "--overview", "Text."],
        ["section", "edit", "2.1", "--path", "app.py"],
        ["detail", "edit", "3.1", "--section", "§2.1", "--code", "app.py"],
        ["review", "3.1", "2.1"],
    ):
        assert "nothing to change" in memctl(*args).err, args
    memctl("detail", "edit", "3.1", "--file", "-", stdin="\r\nText.\r\n\r\n")
    assert (commits(repo), git(repo, "rev-parse", "HEAD")) == (before, head)


def test_page_number_is_the_next_or_the_given_one(repo: Path, memctl: Memctl) -> None:
    assert memctl("section", "add", "One").id == "§2.1"
    assert memctl("section", "add", "Nine", "--number", "2.9").id == "§2.9"
    assert memctl("section", "add", "Next").id == "§2.10"
    assert memctl("section", "add", "Between", "--number", "§2.4").id == "§2.4"
    assert memctl("detail", "add", "D", "--section", "2.4").id == "§3.1"
    assert "§2.4 already exists" in memctl("section", "add", "Again", "--number", "2.4", code=1).err
    assert [page.id for page in outline(repo).pages] == ["§2.1", "§2.4", "§2.9", "§2.10", "§3.1"]
    assert memctl("section", "add", "日本語").out.split()[1] == ".memory/sections/2.11.md"


def test_unreadable_page_keeps_its_number_and_text(repo: Path, memctl: Memctl) -> None:
    """Somebody's conflict or slip of the pen must not be written over by the next `add`."""
    memctl("section", "add", "Payment")
    file = repo / ".memory" / SECTION
    broken = "<<<<<<< HEAD\n" + file.read_text()
    file.write_text(broken)
    assert memctl("section", "add", "Payment").id == "§2.2"
    assert file.read_text() == broken
    for args in (
        ["section", "edit", "2.1", "--title", "X"],
        ["section", "remove", "2.1"],
        ["section", "add", "Payment", "--number", "2.1"],
    ):
        refused = memctl(*args, code=1).err
        assert "2.1-payment.md" in refused, args
        assert file.read_text() == broken
    assert "2.1-payment.md" in memctl("detail", "add", "T", "--section", "2.1", code=1).err


def test_numbers_of_broken_pages_are_not_given_again_whatever_their_names(repo: Path, memctl: Memctl) -> None:
    folder = repo / ".memory" / "sections"
    folder.mkdir()
    for name in ("2.1.md", "2.2_odd.md", "2.3 blank.md", "2.4-nul.md"):
        (folder / name).write_text(f"---\nid: §{name[:3]}\ntitle: T\n---\n\na\0b\n")
    (folder / "2.9-notes.txt").write_text("no page")
    assert memctl("section", "add", "Next").id == "§2.5"
    for name in ("2.1.md", "2.2_odd.md", "2.3 blank.md", "2.4-nul.md"):
        for args in (["edit", name[:3], "--title", "X"], ["remove", name[:3]], ["add", "X", "--number", name[:3]]):
            assert (
                f"the page §{name[:3]} can't be read: .memory/sections/{name}:" in memctl("section", *args, code=1).err
            )
    (folder / "2.6-bytes.md").write_bytes(b"\xff")
    (folder / "2.7-link.md").symlink_to("/etc/hostname")
    assert memctl("section", "add", "Last").id == "§2.8"


def test_number_of_two_pages_is_refused(repo: Path, memctl: Memctl) -> None:
    """Two branches may give out the same one."""
    memctl("section", "add", "One")
    file = repo / ".memory" / "sections" / "2.1-one.md"
    other = file.with_name("2.1-two.md")
    other.write_text(file.read_text().replace("title: One", "title: Two"))
    for args in (["section", "edit", "2.1", "--title", "X"], ["section", "remove", "2.1"], ["review", "2.1"]):
        refused = memctl(*args, code=1).err
        assert (
            "§2.1 is ambiguous: .memory/sections/2.1-one.md and .memory/sections/2.1-two.md have the same number"
            in refused
        )
    assert (file.exists(), other.exists()) == (True, True)


def test_a_broken_project_page_is_not_written_over(repo: Path, memctl: Memctl) -> None:
    memctl("project", "set", "--goal", "Sell")
    file = repo / ".memory" / "project.md"
    broken = file.read_text().replace("title: shop\n", "")
    file.write_text(broken)
    refused = memctl("project", "set", "--goal", "Other", code=1)
    assert ".memory/project.md:1: title: is missing" in refused.err
    assert "correct the file first" in refused.err
    assert file.read_text() == broken


def test_an_edit_keeps_everything_that_it_does_not_name(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment", "--overview", "Old.", "--weight", "2")
    file = repo / ".memory" / SECTION
    text = file.read_text().replace("weight: 2.0", "weight:   2.0   # counts double\nowner: {ada: 1}")
    file.write_text(text + "\n## Mine\n\n   text   \n")
    before = file.read_text()
    memctl("section", "edit", "2.1", "--overview", "New.", "--completion", "0")
    assert file.read_text() == before.replace("Old.", "New.").replace(
        "title: Payment\n", "title: Payment\ncompletion_percentage: 0\n"
    )


def test_an_edit_sets_and_clears_values_of_every_kind(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment", "--overview", "Text.", "--status", "Well.", "--next", "a", "--path", "src/**")
    memctl(
        "section", "edit", "2.1", "--completion", "60", "--weight", "2.5", "--next", "b", "--next", "c", "--title", "T"
    )
    found = page(repo, "§2.1")
    assert (found.completion_percentage, found.weight, found.title, found.path) == (60, 2.5, "T", SECTION)
    assert found.body == "## Overview\n\nText.\n\n## Status\n\nWell.\n\n## Next actions\n\n- b\n- c\n"
    memctl("section", "edit", "2.1", "--completion", "0")  # nothing is done is something to say
    assert page(repo, "§2.1").completion_percentage == 0
    memctl("section", "edit", "2.1", "--status", "")
    assert page(repo, "§2.1").body == "## Overview\n\nText.\n\n## Next actions\n\n- b\n- c\n"
    memctl("project", "set", "--completion", "0")
    assert page(repo, "§1.0").completion_percentage == 0


@pytest.mark.parametrize(
    ("args", "gone"),
    [
        (["section", "edit", "2.1", "--overview", ""], "## Overview"),
        (["section", "edit", "2.1", "--status", " "], "## Status"),
        (["section", "edit", "2.1", "--next", ""], "## Next actions"),
        (["section", "edit", "2.1", "--path", ""], "paths:"),
        (["detail", "edit", "3.1", "--code", ""], "code_refs:"),
        (["project", "set", "--goal", ""], "## Goal"),
        (["project", "set", "--status", ""], "## Status"),
        (["project", "set", "--priority", ""], "## Priorities"),
    ],
)
def test_only_an_empty_text_clears_a_field(repo: Path, memctl: Memctl, once: Once, args: list[str], gone: str) -> None:
    def make() -> None:
        memctl("project", "set", "--goal", "Sell", "--status", "Well.", "--priority", "a")
        parts = ("--overview", "Text.", "--status", "Well.", "--next", "a", "--path", "src/**")
        memctl("section", "add", "Payment", *parts)
        memctl("detail", "add", "Cards", "--section", "2.1", "--code", "app.py")

    once(make)
    file = repo / memctl(*args, "--dry-run", "--json").data["paths"][0]
    before = file.read_text()
    memctl(*args)
    after = file.read_text()
    assert gone in before
    assert gone not in after
    assert set(after.splitlines()) < {*before.splitlines(), "timestamp: 2025-11-04T14:32:00Z"}


def test_a_title_and_a_section_can_not_be_cleared(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    memctl("detail", "add", "Cards", "--section", "2.1")
    before = commits(repo)
    assert "title: '' is not" in memctl("section", "edit", "2.1", "--title", "", code=1).err
    assert "title: '' is not" in memctl("project", "set", "--title", " ", code=1).err
    assert (
        "a page of details must belong to a section\nhint: name one with --section, such as `--section §2.1`"
        in memctl("detail", "edit", "3.1", "--section", "", code=1).err
    )
    assert commits(repo) == before


def test_titles_in_any_script_are_kept(repo: Path, memctl: Memctl) -> None:
    for title, said in (
        ("  Zahlung \u2013 Größe  ", "Zahlung \u2013 Größe"),
        ("\N{WOMAN}\u200d\N{PERSONAL COMPUTER} Work", ""),
        ("No\u00a0break", ""),
        ("عربى", ""),
        ("ü" * 100, ""),
        ("#1: 'a' \"b\" & <c> {{ x }} `y` - no", ""),
    ):
        made = memctl("section", "add", title).id
        assert page(repo, made).title == (said or title)
        memctl("section", "edit", made, "--title", f" {title} again"[:100])
        assert page(repo, made).title == f" {title} again"[:100].strip()
    assert memctl("check", "--select", "MEM301", "--select", "MEM308").out == ""


def test_line_ends_in_options_become_lf(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment", "--overview", "One.\r\nTwo.", "--next", "a\r\nb")
    assert b"\r" not in (repo / ".memory" / SECTION).read_bytes()
    assert page(repo, "§2.1").body == "## Overview\n\nOne.\nTwo.\n\n## Next actions\n\n- a\n  b\n"


def test_a_text_from_a_file_brings_its_title_and_keeps_its_headings(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    text = "\ufeff# From a file\r\n\r\nIntro.\r\n\r\n## 3.1.4 Four\r\n\r\n```\r\n## code\r\n```\r\n"
    made = memctl("detail", "add", "--section", "2.1", "--file", "-", stdin=text)
    assert made.out == "§3.1 .memory/details/3.1-from-a-file.md\n"
    assert page(repo, "§3.1").body == "Intro.\n\n## 3.1.4 Four\n\n```\n## code\n```\n"
    memctl("detail", "edit", "3.1", "--file", "-", "--title", "Given", stdin="# In the text\n\nOther.\n")
    assert (page(repo, "§3.1").title, page(repo, "§3.1").body) == ("Given", "Other.\n")


def test_page_numbers_of_removed_pages_and_other_branches_are_not_reused(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "One")
    memctl("detail", "add", "Here", "--section", "2.1")
    memctl("detail", "remove", "3.1")
    assert memctl("detail", "add", "There", "--section", "2.1").out.startswith("§3.2 ")
    git(repo, "switch", "-q", "-c", "other")
    assert memctl("section", "add", "Two").out.startswith("§2.2 ")
    git(repo, "switch", "-q", "main")
    assert memctl("section", "add", "Three").out.startswith("§2.3 ")
    assert memctl("detail", "add", "Back", "--section", "2.1", "--number", "3.1").out.startswith("§3.1 ")


def test_a_section_with_details_or_records_is_not_removed(repo: Path, memctl: Memctl) -> None:
    for title in ("One", "Two"):
        memctl("section", "add", title)
    memctl("detail", "add", "D", "--section", "2.1")
    refused = memctl("section", "remove", "2.1", code=1).err
    assert "§2.1 can't be removed: it has pages of details, §3.1" in refused
    assert "memctl page detail edit §3.1 --section" in refused
    memctl("detail", "edit", "3.1", "--section", "2.2")
    made = [memctl("decide", f"D{n}", "--section", "2.1").id for n in range(5)]
    refused = memctl("section", "remove", "2.1", code=1).err
    assert f"§2.1 can't be removed: records belong to it, {', '.join(made[:3])} and 2 more" in refused
    memctl("detail", "edit", "3.1", "--file", "-", stdin="## One\n\n## Two\n")
    below = memctl("learn", "Below", "--section", "3.1.2").id
    assert below in memctl("detail", "remove", "3.1", code=1).err
    memctl("edit", below, "--set", "section=")
    memctl("detail", "remove", "3.1")
    memctl("section", "remove", "2.2")
    assert [page.id for page in outline(repo).pages] == ["§2.1"]
    assert "Two" in git(repo, "show", "HEAD~1:.memory/sections/2.2-two.md")


def test_page_with_uncommitted_text_is_removed_only_with_discard(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    file = repo / ".memory" / SECTION
    file.write_text(file.read_text() + "\nby hand\n")
    refused = memctl("section", "remove", "2.1", code=1).err
    assert "uncommitted changes" in refused
    assert "by hand" in file.read_text()
    memctl("section", "remove", "2.1", "--discard")  # as the hint says
    assert not file.exists()


def test_invalid_page_arguments_are_refused_before_a_write(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment")
    memctl("detail", "add", "Tokens", "--section", "2.1")
    head = git(repo, "rev-parse", "HEAD")
    for args, said in (
        (["section", "edit", "2.9", "--title", "x"], "there is no section §2.9\nhint: the memory has §2.1"),
        (["section", "edit", "3.1", "--title", "x"], "there is no section §3.1\nhint: the memory has §2.1"),
        (["detail", "edit", "3.9", "--title", "x"], "there is no detail §3.9"),
        (
            ["detail", "add", "D"],
            "a page of details must belong to a section\nhint: name one with --section, such as `--section §2.1`",
        ),
        (["detail", "add", "D", "--section", "2.9"], "there is no section §2.9"),
        (["detail", "edit", "3.1", "--section", "2.9"], "there is no section §2.9"),
        (["detail", "edit", "3.1", "--section", "3.1"], "there is no section §3.1"),
        (["section", "add", "x" * 101], "title: '"),
        (["section", "add", "two\nlines"], "title: '"),
        (["section", "add", "T", "--path", "../out/**"], "paths: '../out/**'"),
        (["detail", "edit", "3.1", "--code", "/etc/passwd"], "code_refs: '/etc/passwd'"),
        (["review", "§2.9"], "there is no page §2.9\nhint: the memory has §2.1, §3.1"),
        (["detail", "add", "D", "--section", "2.1", "--number", "2.1"], "is not a marker such as §3.1"),
        (["detail", "add", "D", "--section", "2.1", "--number", "3.1"], "§3.1 already exists"),
        (["section", "add", "Key", "--overview", "ghp_" + "a1B2" * 9], "credential"),
        *((["section", "add", "Odd", "--number", number], "is not a marker such as §2.1") for number in ODD),
    ):
        refused = memctl(*args, code=1)
        assert said in refused.err, args
        assert refused.err.startswith("error: "), args
        assert git(repo, "status", "--porcelain") == "", args
        assert git(repo, "rev-parse", "HEAD") == head, args
    for args in (["section", "add"], ["section", "add", "  "]):
        assert "the new page has no title" in memctl(*args, code=2).err
    assert "there is no section 'nonsense'" in memctl("section", "remove", "nonsense", code=2).err  # no name either
    assert git(repo, "rev-parse", "HEAD") == head


def test_text_with_a_nul_is_refused(repo: Path, memctl: Memctl) -> None:
    refused = memctl("section", "add", "Odd", "--file", "-", stdin="a\0b\n", code=1)
    assert "NUL" in refused.err
    assert git(repo, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "One.\n\na\0b\n",
            ": the line contains a NUL character, so Git treats the file as binary: remove the character\n",
        ),
        ("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", ": this line begins an unresolved merge conflict\n"),
        ("---\nid: §2.1\ntitle: T\n---\n\nText.\n", "standard input begins with front matter"),
        ("# a\x1bb\n\nText.\n", "title: 'a\\x1bb'"),
    ],
)
def test_a_text_that_no_page_can_hold_is_refused(repo: Path, memctl: Memctl, text: str, said: str) -> None:
    memctl("project", "set", "--goal", "Sell")
    memctl("section", "add", "Payment", "--overview", "Old.")
    before, file = commits(repo), repo / ".memory" / SECTION
    old = file.read_text()
    for args in (
        ["project", "set"],
        ["section", "add"],
        ["section", "edit", "2.1"],
        ["detail", "add", "--section", "2.1"],
    ):
        given = text if text.startswith(("#", "---")) else f"# Title\n\n{text}"
        refused = memctl(*args, "--file", "-", stdin=given, code=1)
        assert refused.err.startswith("error: "), args
        assert said in refused.err, args
    assert (file.read_text(), commits(repo), git(repo, "status", "--porcelain")) == (old, before, "")


def test_horizontal_rule_in_a_page_is_no_front_matter(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment", "--file", "-", stdin="---\n\nText.\n\n---\n\nMore.\n")
    assert page(repo, "§2.1").body == "---\n\nText.\n\n---\n\nMore.\n"


def test_references_are_stamped_when_a_page_is_written_and_reviewed_later(repo: Path, memctl: Memctl) -> None:
    (repo / "src").mkdir()
    (repo / "src" / "card.py").write_text("one\n")
    memctl("section", "add", "Payment", "--overview", "See §4.src/card.py.")
    memctl("detail", "add", "Cards", "--section", "2.1", "--code", "app.py", "--code", "gone.py")
    assert stamps(repo, "§2.1") == {"src/card.py": blob(repo, "src/card.py")}
    assert stamps(repo) == {"app.py": (old := blob(repo, "app.py"))}
    for name in ("app.py", "src/card.py"):
        (repo / name).write_text("changed\n")
    memctl("detail", "edit", "3.1", "--title", "Renamed")
    assert stamps(repo) == {"app.py": old}  # an edit is no review
    assert "gone.py" in memctl("review", "3.1", code=1).err
    memctl("detail", "edit", "3.1", "--code", "app.py", "--code", "src/card.py")
    assert stamps(repo) == {"app.py": old, "src/card.py": blob(repo, "src/card.py")}
    before = commits(repo)
    memctl("review", "§3.1", "2.1", "--reason", "Read again")
    assert commits(repo) == before + 1
    assert stamps(repo) == {"app.py": blob(repo, "app.py"), "src/card.py": blob(repo, "src/card.py")}
    assert stamps(repo, "§2.1") == {"src/card.py": blob(repo, "src/card.py")}
    trailers = last(repo).trailers
    assert (trailers.ops, trailers.ids, trailers.reason) == (("review",), ("§3.1", "§2.1"), "Read again")
    assert changed_files(repo) == ["details/3.1-cards.md", SECTION]


def test_a_page_named_twice_is_reviewed_once(repo: Path, memctl: Memctl) -> None:
    memctl("section", "add", "Payment", "--overview", "See §4.app.py.")
    (repo / "app.py").write_text("changed\n")
    memctl("review", "2.1", "§2.1")
    assert stamps(repo, "§2.1") == {"app.py": blob(repo, "app.py")}
    assert last(repo).trailers.ids == ("§2.1",)
    assert memctl("status", "--json").data["pending"] == []


def test_page_names_its_last_writer_and_time(repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch) -> None:
    memctl("section", "add", "Payment")
    monkeypatch.setenv("MEMCTL_NOW", "2025-12-01T00:00:00Z")
    monkeypatch.setenv("MEMCTL_AGENT", "codex")
    memctl("section", "edit", "2.1", "--completion", "5")
    assert (page(repo, "§2.1").timestamp, page(repo, "§2.1").agent_id) == ("2025-12-01T00:00:00Z", "codex")


def test_a_write_that_can_not_be_committed_waits_with_its_message(repo: Path, memctl: Memctl) -> None:
    (repo / ".git" / "MERGE_HEAD").write_text(git(repo, "rev-parse", "HEAD"))
    made = memctl("section", "add", "Payment")
    assert "commit pending: a merge is under way" in made.err
    (repo / ".git" / "MERGE_HEAD").unlink()
    before = commits(repo)
    memctl("detail", "add", "Tokens", "--section", "2.1", "--no-commit")
    memctl("commit")
    assert commits(repo) == before + 2
    made_now = history.commits(open_memory(repo, os.environ).repository, [".memory"], limit=2)
    assert [commit.trailers.ops for commit in made_now] == [("add-detail",), ("add-section",)]
    assert git(repo, "status", "--porcelain") == ""
    assert memctl("render", "--check").err == "all documents are up to date\n"
