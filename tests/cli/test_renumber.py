"""`renumber` after real merges: everybody has a name of their own, and each reference means what its writer meant."""

from __future__ import annotations

import random
import re
import shutil
import sys
from pathlib import Path

import pytest

from memctl.record import ids
from tests.conftest import Memctl, Once, commits, git, slow

DAY = "2025-11-03"
FIRST = f"DEC-{DAY}-001"
SAYS = re.compile(rf"(?P<id>{ids.PATTERN.pattern}) says (?P<title>[\w ]+)\.")


class Clone:
    """A clone in which somebody works at times that no other clone works at."""

    def __init__(self, folder: Path, run: Memctl, patch: pytest.MonkeyPatch, clock: list[int]) -> None:
        self.folder = folder
        self._run = run
        self._patch = patch
        self._clock = clock

    def __call__(self, *args: str, code: int | None = 0) -> str:
        self._clock[0] += 1
        self._patch.setenv("MEMCTL_NOW", f"{DAY}T{self._clock[0] // 60:02d}:{self._clock[0] % 60:02d}:00Z")
        return self._run(*args, where=self.folder, code=code).out

    def make(self, *args: str) -> str:
        return self(*args).split()[0]

    def add(self, path: str, text: str) -> None:
        file = self.folder / ".memory" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-qm", "by hand")

    def text(self, name: str) -> str:
        """The text of the record whose title or id is in its file's name."""
        found = [file for file in self.files() if name in file.name and "docs" not in file.parts]
        assert len(found) == 1, found
        return found[0].read_text()

    def files(self) -> list[Path]:
        return sorted((self.folder / ".memory").rglob("*.*"))

    def merge(self, other: Clone, *, conclude: bool = True) -> None:
        """Merge another clone, with documents rendered and nothing else done to what collides."""
        git(self.folder, "fetch", "-q", str(other.folder), "HEAD")
        git(self.folder, "merge", "-q", "--no-commit", "FETCH_HEAD", check=False)
        if conclude:
            self.conclude()

    def conclude(self) -> None:
        git(self.folder, "add", "-A")
        git(self.folder, "commit", "-q", "--no-edit", check=False)

    def errors(self) -> str:
        out = self("check", "--ignore", "MEM303", code=None)
        return "\n".join(line for line in out.split("\n") if ": error " in line)

    def tree(self) -> str:
        """All files of the memory but the documents, by content."""
        lines = git(self.folder, "ls-tree", "-r", "HEAD", ".memory").splitlines()
        return "\n".join(line for line in lines if "/docs/" not in line)


@pytest.fixture
def clones(
    repo: Path, memctl: Memctl, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, once: Once
) -> tuple[Clone, Clone, Clone]:
    """Three clones of a memory with one record that all know; they merge by memctl's drivers."""
    clock = [0]
    names = ("one", "two", "three")

    def make() -> int:
        base = Clone(repo, memctl, monkeypatch, clock)
        base("issue", "Known to all")
        for name in names:
            shutil.copytree(repo, tmp_path / name, symlinks=True)
            for what in ("record", "docs"):
                driver = f"'{sys.executable}' -m memctl merge-file {what} %O %A %B %P"
                git(tmp_path / name, "config", f"merge.memctl-{what}.driver", driver)
        return clock[0]

    clock[0] = once(make)
    one, two, three = (Clone(tmp_path / name, memctl, monkeypatch, clock) for name in names)
    return one, two, three


def test_first_record_keeps_the_id_and_the_other_gets_it_as_an_alias(clones: tuple[Clone, ...], memctl: Memctl) -> None:
    one, two, _ = clones
    assert (one.make("decide", "Sell books"), two.make("decide", "Sell maps")) == (FIRST, FIRST)
    one.merge(two)
    assert "MEM104" in one.errors()
    out = one("renumber")
    new = out.split()[2]
    assert out == f"{FIRST} -> {new}  Sell maps\n"
    assert re.fullmatch(rf"DEC-{DAY}-[1-9]\d{{5}}", new)
    assert one.errors() == ""
    assert f"id: {new}\n" in one.text("sell-maps")
    assert f"\naliases:\n  - {FIRST}\n" in one.text("sell-maps")
    assert f"id: {FIRST}\n" in one.text(f"{FIRST}-sell-books")
    assert git(one.folder, "status", "--porcelain") == ""
    assert "Memctl-Op: renumber" in git(one.folder, "log", "-1", "--format=%B")
    shown = memctl("show", FIRST, where=one.folder)
    assert "title: Sell books" in shown.out
    assert shown.err == f"note: another record, {new} (Sell maps), formerly had the id {FIRST}\n"
    assert memctl("show", new, where=one.folder).err == ""
    log = memctl("log", new, where=one.folder).out
    assert f"decide {FIRST} Sell maps" in log  # from when it had the other id
    assert f"renumber: 'Sell maps' had the id {FIRST}, which 'Sell books' keeps" in log


def test_references_follow_the_record_known_to_their_writer(clones: tuple[Clone, ...]) -> None:
    one, two, _ = clones
    for clone, name in ((one, "books"), (two, "maps")):
        clone("learn", f"Early {name}", "--lesson", f"{FIRST} is to come.")
        clone("decide", f"Sell {name}", "--relates-to", f"ISS-{DAY}-001")
        clone("issue", f"Issue {name}", "--description", f"See {FIRST}.\n\n    show {FIRST}\n\n`{FIRST}`, x-{FIRST}-x")
        clone("state", f"Work {name}", "--relates-to", FIRST)
        clone.add(f"sessions/{name}.md", f"---\nsession_id: {name}\n---\n\n### Decisions Made\n\n1. {name} [{FIRST}]\n")
        clone("checkpoint", "save", "--task", f"Task {FIRST}", "--workflow", name, "--next", "x")
    one.add("project.md", f"---\ntitle: shop\n---\n\n## Goal\n\nAfter {FIRST}.\n")
    two.add("sections/2.1-maps.md", f"---\nid: §2.1\ntitle: Maps\n---\n\n## Overview\n\nAfter {FIRST}.\n")
    one.merge(two)
    new = one("renumber", "--json") and next(f.name[:21] for f in one.files() if "sell-maps" in f.name)
    for name, identifier, other in (("books", FIRST, new), ("maps", new, FIRST)):
        issue = one.text(f"issue-{name}")
        assert f"See {identifier}.\n\n    show {identifier}\n\n`{identifier}`, x-{FIRST}-x" in issue
        assert f"{identifier} is to come" in one.text(f"early-{name}")
        assert f"relates_to:\n  - {identifier}\n" in one.text(f"work-{name}")
        session = (one.folder / f".memory/sessions/{name}.md").read_text()
        assert f"[{identifier}]" in session
        saved = [file.read_text() for file in one.files() if file.parent.name == name]
        assert len(saved) == 2
        assert all(identifier in text and f"Task {other}" not in text for text in saved)
    assert f"After {FIRST}." in one.text("project.md")
    assert f"After {new}." in one.text("2.1-maps")
    assert f"relates_to:\n  - {FIRST}\n  - {new}\n" in one.text("known-to-all")  # both sides linked it
    assert one.errors() == ""
    assert one("renumber") == ""


def test_all_clones_assign_the_same_new_id_and_merge_cleanly(clones: tuple[Clone, ...]) -> None:
    one, two, _ = clones
    for clone, name in ((one, "books"), (two, "maps")):
        clone("decide", f"Sell {name}", "--relates-to", f"ISS-{DAY}-001")
        clone("section", "add", f"About {name}", "--overview", f"{FIRST} says so.")
        clone("detail", "add", f"More on {name}", "--section", "2.1")
    before = [git(clone.folder, "rev-parse", "HEAD").strip() for clone in (one, two)]
    for clone, other, commit in ((one, two, before[1]), (two, one, before[0])):
        git(clone.folder, "fetch", "-q", str(other.folder), "HEAD")
        git(clone.folder, "merge", "-q", "--no-edit", commit, check=False)
        clone.conclude()
        clone("renumber")
        assert clone.errors() == ""
    assert one.tree() == two.tree()
    one("decide", "Later here")
    two("learn", "Later there")
    one.merge(two)
    assert one("renumber") == ""
    one("render")
    assert one.errors() == ""


def test_renumber_does_not_change_the_next_number(clones: tuple[Clone, ...]) -> None:
    one, two, three = clones
    for clone, name in ((one, "a"), (two, "b"), (three, "c")):
        assert clone.make("decide", f"Decision {name}") == FIRST
    one.merge(two)
    one.merge(three)
    renamed = one("renumber").splitlines()
    assert [line.split("  ")[1] for line in renamed] == ["Decision b", "Decision c"]
    assert one.make("decide", "Next") == f"DEC-{DAY}-002"
    shutil.rmtree(one.folder / ".git" / "memctl")  # the counters, the cache
    assert one.make("decide", "After that") == f"DEC-{DAY}-003"
    assert one.errors() == ""


def test_ambiguous_reference_is_reported_and_left_unchanged(clones: tuple[Clone, ...], memctl: Memctl) -> None:
    one, two, _ = clones
    one("decide", "Sell books")
    two("decide", "Sell maps")
    one.merge(two)
    one("issue", "Which", "--description", f"{FIRST} is meant, or {FIRST}.")
    found = memctl("renumber", "--json", where=one.folder).data
    path = f".memory/issues/2025-11/ISS-{DAY}-002-which.md"
    assert found["unclear"] == [{"path": path, "line": 13, "name": FIRST, "taken_for": "Sell books"}]
    assert f"{FIRST} is meant, or {FIRST}." in one.text("which")
    assert memctl("renumber", "--json", where=one.folder).data["unclear"] == []  # it has been said


def test_a_reference_that_another_clone_made_later_follows_too(clones: tuple[Clone, ...], memctl: Memctl) -> None:
    one, two, _ = clones
    one("decide", "Sell books")
    two("decide", "Sell maps")
    one.merge(two)
    one("renumber")
    two("state", "Work on it", "--relates-to", FIRST)
    two("issue", "Ask", "--description", f"Why {FIRST}?")
    one.merge(two)
    new = next(f.name[:21] for f in one.files() if "sell-maps" in f.name)
    assert "MEM107" in one.errors()
    hint = memctl("check", where=one.folder, code=1).out
    assert f"the link means {new}, which had the id {FIRST} before: `memctl renumber` corrects the link" in hint
    memctl("check", "--fix", where=one.folder, code=None)
    assert "relates_to" not in one.text("sell-books")
    assert one("renumber").startswith(f"renumbered references to {new}")
    assert f"relates_to:\n  - {new}\n" in one.text("work-on-it")
    assert f"Why {new}?" in one.text("ask")
    one("render")
    assert one.errors() == ""


def test_id_copied_by_hand_is_renumbered(clones: tuple[Clone, ...]) -> None:
    one = clones[0]
    one("decide", "Sell books")
    one("issue", "Old", "--description", f"See {FIRST}.")
    text = one.text("sell-books")
    folder = ".memory/decisions/2025-11"
    (one.folder / folder / f"{FIRST}-by-hand.md").write_text(
        text.replace("Sell books", "By hand").replace("memory_id: 0", "memory_id: f")
    )
    (one.folder / folder / f"{FIRST}-sell-books-2.md").write_text(text)
    git(one.folder, "add", "-A")
    git(one.folder, "commit", "-qm", "by hand")
    out = one("renumber")
    assert [line.split("  ")[1] for line in out.splitlines()] == ["Sell books", "By hand"]
    assert f"id: {FIRST}\n" in one.text(f"{FIRST}-sell-books.md")
    assert f"See {FIRST}." in one.text("old")
    assert one.errors() == ""  # the copy has a memory_id of its own, too


def test_one_id_and_title_are_renumbered_within_the_merge(clones: tuple[Clone, ...]) -> None:
    one, two, _ = clones
    for clone, why in ((one, "They sell."), (two, "We like them.")):
        clone("decide", "Sell books", "--rationale", why)
        clone("issue", f"Issue of {clone.folder.name}", "--description", f"See {FIRST}.")
    two.merge(one, conclude=False)
    assert "<<<<<<<" in two.text("sell-books")
    two("renumber")
    two.conclude()
    assert "They sell." in two.text(f"{FIRST}-sell-books")
    new = next(f.name[:21] for f in two.files() if "sell-books" in f.name and FIRST not in f.name)
    assert "We like them." in two.text(new)
    assert f"See {FIRST}." in two.text("issue-of-one")
    assert f"See {new}." in two.text("issue-of-two")
    two("commit")
    two("render")
    assert two.errors() == ""


def test_pages_and_their_headings_are_renumbered_with_all_markers(clones: tuple[Clone, ...], memctl: Memctl) -> None:
    one, two, _ = clones
    for clone, name in ((one, "books"), (two, "maps")):
        clone("section", "add", f"About {name}", "--overview", "See §3.1.2, §4.app.py.")
        notes = clone.folder / "notes.md"
        notes.write_text(f"## 3.1.1 Shelf\n\nOf §2.1 and §3.1.\n\n## 3.1.2 {name}\n\nBelow §3.1.1.\n")
        clone("detail", "add", f"More on {name}", "--section", "2.1", "--file", str(notes))
        notes.unlink()
        clone("issue", f"Issue of {name}", "--section", "3.1.2", "--description", "In §2.1, §3.1.1 and §4.app.py.")
    one.merge(two)
    assert "MEM302" in one.errors()
    assert [line.split("  ")[0] for line in one("renumber").splitlines()][1:] == ["§2.1 -> §2.2", "§3.1 -> §3.2"]
    assert one.errors() == ""
    for name, number in (("books", 1), ("maps", 2)):
        page = (one.folder / f".memory/details/3.{number}-more-on-{name}.md").read_text()
        assert f"\n## 3.{number}.1 Shelf\n\nOf §2.{number} and §3.{number}.\n" in page
        assert f"section: §2.{number}\n" in page
        assert f"\nBelow §3.{number}.1.\n" in page
        assert f"See §3.{number}.2, §4.app.py." in one.text(f"2.{number}-about-{name}")
        issue = one.text(f"issue-of-{name}")
        assert f"\nsection: §3.{number}.2\n" in issue
        assert f"In §2.{number}, §3.{number}.1 and §4.app.py." in issue
    assert "aliases:\n  - §2.1\n" in one.text("about-maps")
    assert one.make("section", "add", "Third") == "§2.3"


@pytest.mark.parametrize(("depth", "is_known"), [(1, False), (50, True)])
def test_unknown_order_of_pages_in_a_shallow_clone_is_said(
    clones: tuple[Clone, ...], memctl: Memctl, tmp_path: Path, depth: int, is_known: bool
) -> None:
    one, two, _ = clones
    for clone, name in ((one, "books"), (two, "maps")):
        clone("section", "add", f"About {name}")
    one.merge(two)
    git(tmp_path, "clone", "-q", f"--depth={depth}", f"file://{one.folder}", "shallow")
    git(tmp_path / "shallow", "config", "memctl.trusted", "true")
    said = memctl("renumber", "-n", where=tmp_path / "shallow").err
    assert ("lacks the commits that say which page or heading was first" in said) != is_known


def test_the_owner_of_a_duplicate_section_number_is_reported(clones: tuple[Clone, ...], memctl: Memctl) -> None:
    one, two, _ = clones
    one("section", "add", "Books")
    two("section", "add", "Maps")
    one("own", "acquire", "2.1")
    one.merge(two)
    result = memctl("renumber", where=one.folder)
    assert "hint: §2.1 is owned by claude" in result.err
    assert "`memctl team own release 2.1` and `memctl team own acquire 2.2`" in result.err


def test_a_handoff_is_renamed_with_its_package(clones: tuple[Clone, ...], memctl: Memctl) -> None:
    one, two, _ = clones
    said = (
        "--summary",
        "The shelves stand",
        "--reason",
        "All is done",
        "--immediate",
        "Run the tests",
        "--success",
        "All pass",
    )
    one("section", "add", "Books")
    two.merge(one)
    one("handoff", "--to", "bob", "--task", "Books", *said)
    two("handoff", "--to", "bob", "--section", "2.1", "--task", "Maps", *said)
    package = next(file for file in two.files() if file.name.endswith(".package.txt")).read_text()
    two.merge(one)
    before, renamed = two("renumber").splitlines()[-1].split("  ")[0].split(" -> ")
    assert two.errors() == ""
    shown = memctl("handoff", "show", renamed, where=two.folder).out
    assert f"`memctl team handoff accept {renamed}` takes it over" in shown
    assert shown == package.replace(before, renamed)
    assert f"`memctl team handoff accept {before}` takes" in memctl("handoff", "show", before, where=two.folder).out
    assert f"Handoff {renamed} from" in memctl("own", "list", where=two.folder).out
    assert git(two.folder, "status", "--porcelain") == ""


def test_handoffs_of_one_id_and_title_have_their_own_packages_within_the_merge(
    clones: tuple[Clone, ...], memctl: Memctl
) -> None:
    one, two, _ = clones
    said = ("--summary", "It stands", "--reason", "Done", "--task", "Books", "--success", "All pass")
    for clone in (one, two):
        clone("handoff", "--to", "bob", "--immediate", f"Go on in {clone.folder.name}", *said)
    packages = [next(f for f in c.files() if f.name.endswith(".package.txt")).read_text() for c in (one, two)]
    two.merge(one, conclude=False)
    before, renamed = two("renumber").splitlines()[0].split("  ")[0].split(" -> ")
    two.conclude()
    shown = [memctl("handoff", "show", name, where=two.folder).out for name in (before, renamed)]
    assert sorted([shown[0], shown[1].replace(renamed, before)]) == sorted(packages)
    assert f"`memctl team handoff accept {renamed}` takes it over" in shown[1]
    assert "<<<<<<<" not in "".join(shown)
    two("commit")
    two("render")
    assert two.errors() == ""


def test_headings_of_one_page_get_numbers_of_their_own(clones: tuple[Clone, ...]) -> None:
    one, two, _ = clones
    base = "---\nid: §3.1\ntitle: Shelves\nsection: §2.1\n---\n\n## 3.1.1 First\n\nx\n"
    section = "---\nid: §2.1\ntitle: Shop\n---\n\n## Overview\n\nx\n"
    one.add("sections/2.1-shop.md", section)
    one.add("details/3.1-shelves.md", base)
    two.merge(one)
    one.add("details/3.1-shelves.md", base + "\n## 3.1.2 Books\n\nbooks, §3.1.2\n")
    one("issue", "Issue of books", "--description", "In §3.1.2.")
    two("issue", "Issue of maps", "--description", "In §3.1.2.")  # at first it leads nowhere
    two.add("details/3.1-shelves.md", base + "\n## 3.1.2 Maps\n\nmaps, §3.1.2\n")
    one.merge(two, conclude=False)
    merged = base + "\n## 3.1.2 Books\n\nbooks, §3.1.2\n\n## 3.1.2 Maps\n\nmaps, §3.1.2\n"
    (one.folder / ".memory/details/3.1-shelves.md").write_text(merged)
    one.conclude()
    one("renumber")
    page = one.text("3.1-shelves")
    assert page.endswith("\n## 3.1.2 Books\n\nbooks, §3.1.2\n\n## 3.1.3 Maps\n\nmaps, §3.1.3\n")
    assert "In §3.1.2." in one.text("issue-of-books")
    assert "In §3.1.3." in one.text("issue-of-maps")
    assert one.errors() == ""


def test_a_record_back_under_its_former_id_is_reported_and_not_renumbered(
    clones: tuple[Clone, ...], memctl: Memctl
) -> None:
    one, two, _ = clones
    one("decide", "Sell books")
    two("decide", "Sell maps")
    one.merge(two)
    one("renumber")
    path = f".memory/decisions/2025-11/{FIRST}-sell-maps.md"
    git(one.folder, "checkout", "-q", "HEAD~1", "--", path)
    git(one.folder, "commit", "-qm", "back")
    new = next(f.name[:21] for f in one.files() if "sell-maps" in f.name and FIRST not in f.name)
    result = memctl("renumber", where=one.folder)
    assert result.out == ""
    assert f"{path} has the old id of {new}" in result.err
    assert memctl("renumber", "--json", where=one.folder).data["returned"] == [{"path": path, "id": new}]


def test_a_dry_run_shows_all_and_writes_nothing(clones: tuple[Clone, ...], memctl: Memctl) -> None:
    one, two, _ = clones
    one("decide", "Sell books")
    two("decide", "Sell maps")
    one.merge(two)
    before = (one.tree(), commits(one.folder))
    found = memctl("renumber", "--dry-run", "--json", where=one.folder).data
    assert [item["title"] for item in found["renamed"]] == ["Sell maps"]
    assert f"would renumber {FIRST} -> " in one("renumber", "--dry-run")
    assert (one.tree(), commits(one.folder)) == before
    assert git(one.folder, "status", "--porcelain") == ""


def test_renumber_without_a_collision_changes_nothing(clones: tuple[Clone, ...], memctl: Memctl) -> None:
    result = memctl("renumber", where=clones[0].folder)
    assert (result.out, result.err) == ("", "nothing to change\n")


def test_an_accepted_decision_that_names_a_renamed_one_passes_the_check_of_the_merge(
    clones: tuple[Clone, ...], memctl: Memctl
) -> None:
    one, two, _ = clones
    one("decide", "Sell books")
    two("decide", "Sell maps")
    two("decide", "Print them", "--rationale", f"Follows from {FIRST}.")
    memctl("install", "git", where=one.folder)
    one.merge(two, conclude=False)
    one("renumber")
    git(one.folder, "add", "-A")
    git(one.folder, "commit", "-q", "--no-edit")
    assert f"Follows from {FIRST}." not in one.text("print-them")


@pytest.mark.parametrize("seed", slow(101, 127))
def test_references_keep_their_records_across_random_merges(clones: tuple[Clone, ...], seed: int) -> None:
    """Records that name others by id and title, in three clones that merge each other at random."""
    chance = random.Random(seed)
    known: dict[Clone, dict[str, str]] = {clone: {} for clone in clones}
    for number in range(24):
        clone = chance.choice(clones)
        if chance.random() < 0.3:
            clone.merge(chance.choice([other for other in clones if other is not clone]), conclude=False)
            if git(clone.folder, "ls-files", "-u"):  # Git has taken one record for another
                clone("renumber")
            clone.conclude()
            clone("renumber")
            clone("render")
            assert clone.errors() == ""
        else:
            here = titles(clone)
            said = [f"{name} says {title}." for name, title in chance.sample(sorted(here.items()), min(2, len(here)))]
            link = ["--relates-to", chance.choice(sorted(here))] if here and chance.random() < 0.6 else []
            clone("learn", f"Learning {number}", "--lesson", " ".join(said) or "Nothing.", *link)
    for clone in clones:
        known[clone] = titles(clone)
        for text in (file.read_text() for file in clone.files() if file.parent.parent.name == "learnings"):
            for match in SAYS.finditer(text):
                assert known[clone][match["id"]] == match["title"]


def titles(clone: Clone) -> dict[str, str]:
    texts = [file.read_text() for file in clone.files() if file.parent.parent.name == "learnings"]
    return {text.split("\nid: ")[1].split("\n")[0]: text.split("\ntitle: ")[1].split("\n")[0] for text in texts}
