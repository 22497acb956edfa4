"""`render` and `review`: what they say, how they end, and that --check never writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Memctl, Once, git

SECTION, DOCUMENT = ".memory/sections/2.1-payment.md", ".memory/docs/2.1-payment.md"


@pytest.fixture
def pages(repo: Path, memctl: Memctl, once: Once) -> Path:
    def make() -> None:
        memctl("section", "add", "Payment")
        memctl("detail", "add", "Cards", "--section", "2.1", "--code", "app.py")

    once(make)
    return repo


def rename(repo: Path, title: str = "Paying") -> None:
    file = repo / SECTION
    file.write_text(file.read_text().replace("title: Payment", f"title: {title}"))


def state(repo: Path) -> tuple[object, ...]:
    texts = {
        str(f): (f.stat().st_mtime_ns, f.read_bytes()) for f in repo.rglob("*") if f.is_file() and ".git" not in f.parts
    }
    return texts, (repo / ".git" / "index").read_bytes(), git(repo, "rev-parse", "HEAD")


def rename_in_git(repo: Path, title: str = "Paying") -> None:
    """The page is changed in a commit that leaves the documents behind."""
    rename(repo, title)
    git(repo, "commit", "-qm", "by hand", "--", SECTION)


def test_render_lists_and_commits_only_changed_documents(pages: Path, memctl: Memctl) -> None:
    rename_in_git(pages)
    (pages / "app.py").write_text("dirty\n")
    (pages / ".memory" / "notes.txt").write_text("my own\n")
    status = git(pages, "status", "--porcelain")
    done = memctl("render")
    assert DOCUMENT in done.out.split("\n")
    committed = git(pages, "show", "--format=%s", "--name-only", "HEAD").split("\n")
    assert committed[0] == "docs(memory): render the documents"
    assert sorted(done.out.split()) == sorted(line for line in committed[1:] if line)
    assert git(pages, "status", "--porcelain") == status
    assert memctl("log", "--json").data["commits"][0]["ops"] == ["render"]


def test_documents_of_uncommitted_edits_are_rendered_and_stay_pending(pages: Path, memctl: Memctl) -> None:
    rename(pages)
    head = git(pages, "rev-parse", "HEAD")
    held = memctl("render")
    assert DOCUMENT in held.out
    assert "# 2.1 Paying" in (pages / DOCUMENT).read_text()
    assert "commit pending: the documents show edits that are not committed" in held.err
    assert git(pages, "rev-parse", "HEAD") == head
    memctl("commit")
    committed = git(pages, "show", "--format=", "--name-only", "HEAD").split("\n")
    assert {SECTION, DOCUMENT} <= set(committed)
    assert git(pages, "status", "--porcelain") == ""


def test_render_as_json(pages: Path, memctl: Memctl) -> None:
    rename_in_git(pages)
    (pages / ".memory" / "docs" / "INDEX.md").write_text("mine\n")
    found = memctl("render", "--json", code=1)
    assert found.json["kind"] == "render"
    assert DOCUMENT in found.data["documents"]
    assert found.data["edited_by_hand"] == [".memory/docs/INDEX.md"]
    assert found.data["commit"] == git(pages, "rev-parse", "HEAD").strip()
    again = memctl("render", "--json", "--force").data
    assert (again["documents"], again["edited_by_hand"]) == ([".memory/docs/INDEX.md"], [])


@pytest.mark.parametrize("option", ["--check", "--dry-run"])
def test_a_check_names_what_is_stale_and_writes_nothing(pages: Path, memctl: Memctl, option: str) -> None:
    before = state(pages)
    assert memctl("render", option).err == "all documents are up to date\n"
    assert memctl("render", option, "--json").data == {"stale": [], "edited_by_hand": []}
    assert state(pages) == before
    rename(pages)
    (pages / ".memory" / "sections" / "2.2-new.md").write_text("---\nid: §2.2\ntitle: New\npaths:\n  - app.py\n---\n")
    (pages / ".memory" / "details" / "3.1-cards.md").unlink()
    (pages / ".memory" / "docs" / "INDEX.md").unlink()
    before = state(pages)
    code = 1 if option == "--check" else 0
    names = ["1.0-executive-summary.md", "2.1-payment.md", "2.2-new.md", "3.1-cards.md", "4-sources.md", "INDEX.md"]
    stale = [f".memory/docs/{name}" for name in names]
    assert sorted(memctl("render", option, code=code).out.splitlines()) == [f"stale: {path}" for path in stale]
    assert sorted(memctl("render", option, "--json", code=code).data["stale"]) == stale
    assert state(pages) == before


def test_documents_edited_by_hand_are_reported_until_force(pages: Path, memctl: Memctl) -> None:
    file = pages / DOCUMENT
    file.write_text(file.read_text() + "\nmine\n")
    for args in (["render", "--check"], ["render"]):
        said = memctl(*args, code=1).err
        assert f"warning: {DOCUMENT} was edited by hand, and is not overwritten" in said
        assert "memctl page render --force" in said
        assert "mine" in file.read_text()
    assert DOCUMENT in memctl("render", "--check", "--force", code=1).out
    assert "mine" in file.read_text()
    assert memctl("render", "--force").out == f"{DOCUMENT}\n"
    assert "mine" not in file.read_text()
    memctl("render", "--check")


def test_render_without_a_commit_writes_and_names_the_documents(pages: Path, memctl: Memctl) -> None:
    rename(pages)
    head = git(pages, "rev-parse", "HEAD")
    held = memctl("render", "--no-commit")
    assert git(pages, "rev-parse", "HEAD") == head
    assert "# 2.1 Paying" in (pages / DOCUMENT).read_text()
    assert DOCUMENT in held.out
    assert "up to date" not in held.err
    assert "commit pending: --no-commit was given" in held.err
    memctl("commit")
    assert git(pages, "status", "--porcelain") == ""
    assert memctl("render", "--no-commit").err == "all documents are up to date\n"


def test_a_rendering_without_a_commit_is_reported_as_pending(pages: Path, memctl: Memctl) -> None:
    rename_in_git(pages)
    (pages / ".git" / "MERGE_HEAD").write_text(git(pages, "rev-parse", "HEAD"))
    assert "commit pending: a merge is under way" in memctl("render").err
    (pages / ".git" / "MERGE_HEAD").unlink()
    memctl("commit")
    assert git(pages, "status", "--porcelain") == ""


def test_staged_rendering_lists_staged_files_as_json(pages: Path, memctl: Memctl) -> None:
    rename(pages)
    git(pages, "add", SECTION)
    found = memctl("render", "--staged", "--json").data
    assert DOCUMENT in found["paths"]
    assert set(git(pages, "diff", "--cached", "--name-only").split()) == {*found["paths"], SECTION}
    assert memctl("render", "--staged", "--json").data == {"paths": []}
    assert memctl("render", "--staged").out == ""


def test_a_broken_page_keeps_no_document_of_the_others_from_being_rendered(pages: Path, memctl: Memctl) -> None:
    (pages / ".memory" / "sections" / "2.2-broken.md").write_text("---\nid: §2.2\n---\n")
    (pages / ".memory" / "decisions" / "2025-11").mkdir(parents=True)
    (pages / ".memory" / "decisions" / "2025-11" / "DEC-2025-11-04-001-x.md").write_text("broken\n")
    rename(pages)
    assert DOCUMENT in memctl("render").out


def test_document_of_a_broken_page_is_kept(pages: Path, memctl: Memctl) -> None:
    """A slip in the front matter would otherwise delete the document, and commit that."""
    (pages / SECTION).write_text("<<<<<<< HEAD\n" + (pages / SECTION).read_text())
    memctl("learn", "Something else")
    memctl("render", code=None)
    assert (pages / DOCUMENT).exists()
    assert DOCUMENT in git(pages, "ls-files", ".memory/docs")


def test_review_prints_reviewed_markers_as_text_and_json(pages: Path, memctl: Memctl) -> None:
    (pages / "app.py").write_text("changed\n")
    before = state(pages)
    assert "+  - app.py " in memctl("review", "3.1", "--dry-run").out
    assert state(pages) == before
    assert memctl("review", "3.1").out == "reviewed §3.1\n"
    (pages / "app.py").write_text("again\n")
    data = memctl("review", "§3.1", "2.1", "--json", "--no-commit").data
    assert (data["op"], data["ids"], data["pending"]) == ("review", ["§3.1", "§2.1"], "--no-commit was given")
    assert data["paths"] == [".memory/details/3.1-cards.md"]
    assert memctl("review", "2.1").err == "nothing to change\n"
    assert "Missing argument" in memctl("review", code=2).err
    assert "there is no page §1.0" in memctl("review", "1.0", code=1).err


def test_rendered_documents_carry_no_credential_of_the_code(repo: Path, memctl: Memctl) -> None:
    secret = "a%20secret9XkQ"
    (repo / "urls.py").write_text(f'"""Parse httpx.URL("https://jo%40email.com:{secret}@müller.de:1234/x")."""\n')
    notes = "".join(
        f"## Log in as https://ada:{secret}{number}@example.org\n\n{'word ' * 900}\n" for number in range(9)
    )
    (repo / "notes.md").write_text(notes)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "code", "--no-verify")
    memctl("section", "add", "Code", "--path", "*.py", "--path", "*.md")
    memctl("render")
    sources = (repo / ".memory/docs/4-sources.md").read_text()
    assert "jo%40email.com" in sources
    assert "Log in as" in sources
    assert secret not in sources
    assert "MEM110" not in memctl("check", "--all").out
    memctl("render")
    assert (repo / ".memory/docs/4-sources.md").read_text() == sources
