"""Documents follow every write, in its commit; what people did by hand is never lost, whatever templates say."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from memctl.cli.main import main
from memctl.errors import USAGE
from memctl.record.snapshot import Snapshot
from memctl.store import load
from memctl.store.memory import open_memory
from tests.conftest import NOW, Memctl, changed_in, commits, every, git, process
from tests.snapshots import renderer
from tests.world import WORLD

INDEX, TOP, SOURCES = "INDEX.md", "1.0-executive-summary.md", "4-sources.md"


def run_commands(folder: Path, writes: Sequence[Sequence[str]]) -> None:
    """Run memctl some times, where no test runs yet: fixtures of a module are made before those of a test."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**WORLD, "MEMCTL_NOW": NOW, "MEMCTL_AGENT": "claude"}.items():
            patch.setenv(name, value)
        for args in writes:
            assert main(["-C", str(folder), *args]) == 0, args


@pytest.fixture(scope="module")
def made(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory with two sections, each with details, and a record in each section; tests get copies."""
    folder = tmp_path_factory.mktemp("made") / "shop"
    shutil.copytree(built, folder, symlinks=True)
    writes = (
        ("project", "set", "--goal", "Sell"),
        ("section", "add", "Payment", "--path", "app.py"),
        ("section", "add", "Orders"),
        ("detail", "add", "Cards", "--section", "2.1"),
        ("detail", "add", "Carts", "--section", "2.2"),
        ("decide", "Use PostgreSQL", "--section", "2.1", "--rationale", "It has transactions.", "--tag", "db"),
        ("issue", "Carts vanish", "--section", "3.2"),
    )
    run_commands(folder, writes)
    return folder


@pytest.fixture
def shop(repo: Path, made: Path) -> Path:
    shutil.rmtree(repo)
    shutil.copytree(made, repo, symlinks=True)
    return repo


def docs(repo: Path) -> Path:
    return repo / ".memory" / "docs"


def rendered_in(repo: Path, revision: str = "HEAD") -> list[str]:
    """The documents that a commit has, by name."""
    paths = git(repo, "show", "--format=", "--name-only", "-z", revision).strip("\0\n").split("\0")
    start = ".memory/docs/"
    return [path.removeprefix(start) for path in paths if path.startswith(start)]


def texts(repo: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in docs(repo).iterdir() if file.name != ".gitignore"}


def leftovers(repo: Path) -> list[str]:
    return [str(file.relative_to(repo)) for file in repo.rglob(".memctl-*")]


def template(repo: Path, name: str, text: str) -> None:
    folder = repo / ".memory" / "templates"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(text.encode(errors="surrogateescape"))


def committed_template(repo: Path, name: str, text: str) -> None:
    """Make a template of the project and commit it: an uncommitted one is not shown in commits."""
    template(repo, name, text)
    git(repo, "add", ".memory/templates")
    git(repo, "commit", "-qm", "a template")


def configure(repo: Path, line: str) -> None:
    file = repo / ".memory" / "config.yaml"
    file.write_text("\n".join(x for x in file.read_text().split("\n") if not x.startswith("docs:")) + f"{line}\n")


def test_each_write_commits_exactly_the_documents_it_touches(shop: Path, memctl: Memctl) -> None:
    decision, issue = "DEC-2025-11-04-001", "ISS-2025-11-04-001"
    first, second = ["2.1-payment.md", "3.1-cards.md"], ["2.2-orders.md", "3.2-carts.md"]
    for args, expected in (
        (["decide", "Two", "--section", "2.1"], [*first, INDEX]),
        (["decide", "Key", "--section", "2.1", "--importance", "8"], [TOP, *first, INDEX]),
        (["issue", "Slow", "--section", "2.2", "--severity", "critical"], [TOP, *second, INDEX]),
        (["learn", "Care", "--section", "3.1"], ["3.1-cards.md"]),
        (["state", "At work", "--section", "2.2"], ["2.2-orders.md"]),
        (["learn", "At large"], [INDEX]),
        (["decide", "At large"], [INDEX]),
        (["learn", "Of code", "--section", "4.app.py"], [INDEX]),
        (["edit", issue, "--set", "section=2.1"], [TOP, *first, *second, INDEX]),
        (["edit", decision, "--set", "validation_criteria=x", "--allow-accepted"], ["3.1-cards.md"]),
        (["resolve", issue], [TOP, *first, INDEX]),
        (["archive", decision], [*first, INDEX]),
        (["link", issue, decision], []),
        (["delete", decision, "--unlink"], []),
        (["restore", decision], []),
        (["project", "set", "--completion", "5"], [TOP, INDEX]),
        (["section", "edit", "2.1", "--title", "Pay"], [TOP, *first, SOURCES, INDEX]),
        (["section", "edit", "2.2", "--completion", "5"], [TOP, "2.2-orders.md", INDEX]),
        (["detail", "edit", "3.2", "--code", "app.py"], ["3.2-carts.md"]),
        (["detail", "edit", "3.2", "--title", "Baskets"], [*second, INDEX]),
        (["section", "add", "New"], [TOP, "2.3-new.md", INDEX]),
        (["section", "remove", "2.3"], [TOP, "2.3-new.md", INDEX]),
    ):
        before = commits(shop)
        memctl(*args)
        assert commits(shop) == before + 1, args
        assert rendered_in(shop) == sorted(expected), args
        assert git(shop, "status", "--porcelain") == "", args
    assert memctl("render", "--check").err == "all documents are up to date\n"


def test_user_files_are_committed_only_if_the_user_adds_them(shop: Path, memctl: Memctl) -> None:
    """Of docs/ too: notes, pictures, files that Git ignores, and a document that somebody is editing."""
    mine = {"notes.md": "# Mine\n", "picture.png": "x", "2.9-mine.md": "# 2.9 Mine\n", "scratch.tmp": "ignored\n"}
    for name, text in mine.items():
        (docs(shop) / name).write_text(text)
    (shop / ".git" / "info").mkdir(exist_ok=True)
    (shop / ".git" / "info" / "exclude").write_text("*.tmp\n")
    (shop / "staged.py").write_text("x\n")
    git(shop, "add", "staged.py")
    (docs(shop) / "2.2-orders.md").write_text("# Edited, and not committed yet\n")
    status = git(shop, "status", "--porcelain", "--ignored", "-uall")
    for args in (
        ["decide", "One", "--section", "2.1"], ["section", "edit", "2.1", "--completion", "7"], ["learn", "Two"],
        ["detail", "edit", "3.1", "--title", "Three"], ["render"], ["section", "add", "Four"],
        ["section", "remove", "2.3"],
    ):  # fmt: skip
        result = memctl(*args, code=None)
        assert "commit pending" not in result.err, args
        assert not {*mine, "2.2-orders.md"} & set(rendered_in(shop)), args
        assert {name: (docs(shop) / name).read_text() for name in mine} == mine, args
        assert git(shop, "status", "--porcelain", "--ignored", "-uall") == status, args


def test_documents_edited_by_hand_are_left_alone_by_every_command(shop: Path, memctl: Memctl) -> None:
    (shop / ".memory" / "sections" / "2.3-going.md").write_text("---\nid: §2.3\ntitle: Going\n---\n")
    memctl("commit")
    edited = {name: f"{text}\nEdited by hand.\n" for name, text in texts(shop).items()}
    edited |= {"2.1-payment.md": "", "3.1-cards.md": "no head at all\n"}
    for name, text in edited.items():
        (docs(shop) / name).write_text(text)
    decision, issue = "DEC-2025-11-04-001", "ISS-2025-11-04-001"
    lines = '{"memory_type": "learning", "title": "Imported"}\n'
    for args in (
        ["decide", "One", "--section", "2.1"], ["issue", "Two", "--section", "3.2"], ["archive", decision],
        ["edit", decision, "--set", "importance=9"], ["unarchive", decision], ["link", issue, decision],
        ["resolve", issue], ["delete", "ISS-2025-11-04-002"], ["restore", "ISS-2025-11-04-002"], ["import", "-"],
        ["project", "set", "--completion", "3"], ["section", "edit", "2.1", "--title", "Pay"], ["review", "3.1"],
        ["section", "remove", "2.3"], ["detail", "edit", "3.1", "--code", "app.py"], ["render"],
        ["render", "--staged"], ["render", "--no-commit"], ["check", "--fix"], ["commit"],
    ):  # fmt: skip
        memctl(*args, stdin=lines, code=None)
        assert texts(shop) == edited, args
    configure(shop, "docs: false")
    memctl("render", code=None)
    assert {name: text for name, text in texts(shop).items() if text != edited[name]} == {}
    configure(shop, "docs: true")
    memctl("render", "--force")
    assert [name for name, text in texts(shop).items() if "Edited" in text] == [
        "2.3-going.md"
    ]  # no page asks for that one
    assert memctl("render", "--check").err == "all documents are up to date\n"


def test_orphaned_document_is_deleted_and_user_files_are_kept(shop: Path, memctl: Memctl) -> None:
    (docs(shop) / "2.7-mine.md").write_text("# Mine\n")
    (docs(shop) / "deep").mkdir()
    (docs(shop) / "deep" / "notes.md").write_text("# Mine\n")
    (shop / ".memory" / "details" / "3.2-carts.md").unlink()
    (shop / ".memory" / "details" / "3.1-cards.md").rename(shop / ".memory" / "details" / "3.1-renamed.md")
    assert "stale: .memory/docs/3.2-carts.md" in memctl("render", "--check", code=1).out
    memctl("render")
    assert sorted(texts_below(shop)) == sorted(
        [INDEX, TOP, SOURCES, "2.1-payment.md", "2.2-orders.md", "3.1-renamed.md", "2.7-mine.md", "deep/notes.md"]
    )
    assert "3.2-carts.md" in rendered_in(shop)


def texts_below(repo: Path) -> list[str]:
    return [file.relative_to(docs(repo)).as_posix() for file in docs(repo).rglob("*") if file.is_file()]


def test_second_rendering_changes_nothing(shop: Path, memctl: Memctl) -> None:
    memctl("render")
    before, head = texts(shop), git(shop, "rev-parse", "HEAD")
    result = memctl("render")
    assert (result.out, result.err) == ("", "all documents are up to date\n")
    memctl("render", "--force")
    assert (texts(shop), git(shop, "rev-parse", "HEAD")) == (before, head)
    shutil.rmtree(docs(shop))
    memctl("render")
    assert texts(shop) == before


def test_same_memory_renders_to_the_same_bytes_anywhere(
    shop: Path, memctl: Memctl, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memctl("render")
    expected = texts(shop)
    clones = [tmp_path / "a", tmp_path / "quite a different place" / "größer" / "b"]
    for number, clone in enumerate(clones):
        clone.parent.mkdir(parents=True, exist_ok=True)
        git(shop, "clone", "-q", str(shop), str(clone))
        git(clone, "config", "memctl.trusted", "true")
        shutil.rmtree(docs(clone))
        monkeypatch.setenv("MEMCTL_NOW", f"202{number}-01-01T00:00:00Z")
        monkeypatch.setenv("MEMCTL_AGENT", f"agent{number}")
        monkeypatch.setenv("LC_ALL", ["C", "tr_TR.UTF-8"][number])
        monkeypatch.setenv("TZ", ["Asia/Tokyo", "America/New_York"][number])
        memctl("list", where=clone)
        shutil.rmtree(clone / ".git" / "memctl")
        memctl("render", where=clone)
        assert texts(clone) == expected


def test_order_of_writes_does_not_affect_the_documents(shop: Path, memctl: Memctl, tmp_path: Path, built: Path) -> None:
    """Documents that followed each write are those that one rendering of the end makes."""
    memctl("decide", "Another", "--section", "2.2", "--tag", "db", "--tag", "api")
    memctl("learn", "Equal in all", "--section", "3.1")
    memctl("learn", "Equal in every way", "--section", "3.1")
    memctl("archive", "DEC-2025-11-04-001")
    paths = [
        path for path in git(shop, "ls-files", ".memory").splitlines() if path.endswith(".md") and "/docs/" not in path
    ]
    other = tmp_path / "other"
    shutil.copytree(built, other, symlinks=True)
    for path in reversed(paths):
        (other / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shop / path, other / path)
        memctl("commit", where=other)
    assert texts(other) == texts(shop)
    memctl("render", where=shop)
    assert texts(other) == texts(shop) | {SOURCES: texts(other)[SOURCES]}


def test_disk_index_and_head_render_alike_when_they_hold_the_same(shop: Path, memctl: Memctl) -> None:
    template(shop, "section.md.j2", "{{ page.title }} {{ page.decisions|length }}\n")
    git(shop, "add", ".memory/templates")
    git(shop, "commit", "-qm", "template")
    memory = open_memory(shop, os.environ)

    def rendered(snapshot: Snapshot) -> dict[str, str]:
        making = renderer(snapshot)
        return {name: making.document(name) for name in making.names()}

    before = rendered(load.disk(memory))
    assert before == rendered(load.index(memory)) == rendered(load.revision(memory, "HEAD"))
    assert before["2.1-payment.md"].endswith("Payment 1\n")
    page = shop / ".memory" / "sections" / "2.1-payment.md"
    page.write_text(page.read_text().replace("Payment", "Staged"))
    git(shop, "add", ".memory")
    staged = rendered(load.index(open_memory(shop, os.environ)))
    assert staged["2.1-payment.md"].endswith("Staged 1\n")
    page.write_text(page.read_text().replace("Staged", "Only on disk"))
    memory = open_memory(shop, os.environ)
    assert rendered(load.disk(memory))["2.1-payment.md"].endswith("Only on disk 1\n")
    assert (rendered(load.index(memory)), rendered(load.revision(memory, "HEAD"))) == (staged, before)


def test_staged_rendering_stages_and_leaves_what_is_dirty_on_the_disk(shop: Path, memctl: Memctl) -> None:
    (shop / "other.py").write_text("staged\n")
    git(shop, "add", "other.py")
    section = shop / ".memory" / "sections" / "2.1-payment.md"
    section.write_text(section.read_text().replace("Payment", "Staged"))
    new = shop / ".memory" / "sections" / "2.3-new.md"
    new.write_text("---\nid: §2.3\ntitle: New\n---\n")
    git(shop, "add", ".memory")
    section.write_text(section.read_text().replace("Staged", "Later"))
    (docs(shop) / "2.1-payment.md").write_text("somebody is editing here\n")
    head = git(shop, "rev-parse", "HEAD")
    memctl("render", "--staged")
    assert git(shop, "rev-parse", "HEAD") == head
    assert (docs(shop) / "2.1-payment.md").read_text() == "somebody is editing here\n"
    assert "# 2.1 Staged" in git(shop, "show", ":.memory/docs/2.1-payment.md")
    assert "# 2.3 New" in git(shop, "show", ":.memory/docs/2.3-new.md") == (docs(shop) / "2.3-new.md").read_text()
    assert "Staged" in git(shop, "show", f":.memory/docs/{INDEX}") == (docs(shop) / INDEX).read_text()
    assert git(shop, "show", ":other.py") == "staged\n"
    index = git(shop, "ls-files", "-s")
    memctl("render", "--staged")
    assert git(shop, "ls-files", "-s") == index
    git(shop, "commit", "-qm", "mine")
    memory = open_memory(shop, os.environ)
    making = renderer(load.revision(memory, "HEAD"))
    assert all(making.document(name) == git(shop, "show", f"HEAD:.memory/docs/{name}") for name in making.names())
    git(shop, "rm", "-q", "-f", ".memory/sections/2.3-new.md")
    memctl("render", "--staged")
    assert "2.3-new" not in git(shop, "ls-files", ".memory/docs")
    assert not (docs(shop) / "2.3-new.md").exists()


def test_documents_can_be_taken_out_of_git_and_back(shop: Path, memctl: Memctl, tmp_path: Path) -> None:
    before = texts(shop)
    configure(shop, "docs: false")
    memctl("commit")
    memctl("render")
    assert git(shop, "ls-files", ".memory/docs") == ""
    assert git(shop, "status", "--porcelain") == ""
    assert sorted(texts(shop)) == sorted(before)
    assert "render" in git(shop, "log", "-1", "--format=%s")
    for args in (["decide", "Quietly", "--section", "2.1"], ["section", "edit", "2.1", "--title", "Pay"]):
        memctl(*args)
        assert rendered_in(shop) == []
        assert len(changed_in(shop)) == 1
        assert git(shop, "status", "--porcelain") == ""
    assert "Quietly" in texts(shop)["2.1-payment.md"]
    head = git(shop, "rev-parse", "HEAD")
    memctl("render")
    assert git(shop, "rev-parse", "HEAD") == head
    assert memctl("render", "--check").err == "all documents are up to date\n"
    clone = tmp_path / "clone"
    git(shop, "clone", "-q", str(shop), str(clone))
    git(clone, "config", "memctl.trusted", "true")
    assert memctl("render", "--check", where=clone).err == "all documents are up to date\n"
    memctl("decide", "Elsewhere", where=clone)
    assert not docs(clone).exists()
    configure(shop, "docs: true")
    memctl("commit")
    result = memctl("render")
    assert "commit pending" not in result.err
    assert sorted(git(shop, "ls-files", "-z", ".memory/docs").strip("\0").split("\0")) == sorted(
        f".memory/docs/{name}" for name in before
    )
    assert git(shop, "status", "--porcelain", "--ignored", ".memory") == ""
    memctl("decide", "Loudly", "--section", "2.1")
    assert "2.1-payment.md" in rendered_in(shop)


def test_a_file_of_the_users_stays_in_git_when_documents_are_taken_out(shop: Path, memctl: Memctl) -> None:
    (docs(shop) / "notes.md").write_text("# Mine\n")
    git(shop, "add", ".memory/docs")
    git(shop, "commit", "-qm", "notes")
    configure(shop, "docs: false")
    memctl("commit")
    for options in ([], ["--force"]):
        memctl("render", *options)
        assert git(shop, "ls-files", ".memory/docs") == ".memory/docs/notes.md\n"
        assert (docs(shop) / "notes.md").read_text() == "# Mine\n"


HOSTILE = {
    "syntax": "{% if %}",
    "unclosed": "{{ page.title",
    "undefined": "{{ page.nothing }}",
    "mro": "{{ page.__class__.__mro__ }}",
    "subclasses": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals": "{{ cycler.__init__.__globals__ }}",
    "attr": "{{ page|attr('__class__') }}",
    "format": "{{ '{0.__class__.__init__.__globals__}'.format(page) }}",
    "arithmetic": "{{ 1 // 0 }}",
    "huge text": "{{ 'x' * 10**15 }}",
    "long range": "{% for n in range(10**12) %}x{% endfor %}",
    "recursion": "{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}",
    "itself": '{% include "section.md.j2" %}',
    "missing": '{% include "not-there.j2" %}',
    "codec": "{{ 'x'.encode('no-such-codec') }}",
    "import": '{% import "os" as os %}{{ os.system("id") }}',
    "type": "{{ page.title + 1 }}",
    "no text": "\udcff",
}  # fmt: skip


@pytest.mark.parametrize("text", every(2, HOSTILE.values()), ids=HOSTILE)
def test_faulty_template_is_named_and_the_record_is_still_made(shop: Path, memctl: Memctl, text: str) -> None:
    committed_template(shop, "section.md.j2", text)
    before, old = commits(shop), texts(shop)
    made = memctl("decide", "All the same", "--section", "2.1", code=None)
    assert made.code == 0
    assert commits(shop) == before + 1
    assert changed_in(shop) == [made.out.split()[1]]
    assert "warning: some documents could not be rendered: .memory/templates/section.md.j2" in made.err
    new = texts(shop)
    assert {name for name in new if name[:2] == "2." and new[name] != old[name]} == set()
    assert "All the same" in new["INDEX.md"]
    refusing = (["render"], ["render", "--check"], ["show", "2.1"])
    refused = memctl(*refusing[list(HOSTILE.values()).index(text) % 3], code=1)  # in turn
    assert "error: .memory/templates/section.md.j2:" in refused.err
    git(shop, "rm", "-q", ".memory/templates/section.md.j2")
    memctl("render")
    assert "All the same" in texts(shop)["2.1-payment.md"]


@pytest.mark.parametrize("reach", ["../../secret.txt", "../../../outside.txt", "{outside}", "x/../../config.yaml"])
def test_template_includes_only_templates(shop: Path, memctl: Memctl, reach: str) -> None:
    """Templates come with a cloned repository; what they take in would be committed and pushed."""
    (shop / "secret.txt").write_text("SECRET project: shop")
    outside = shop.parent / "outside.txt"
    outside.write_text("SECRET")
    name = reach.replace("{outside}", str(outside))
    committed_template(shop, "section.md.j2", f'{{% include "{name}" %}}\n')
    made = memctl("decide", "All the same", "--section", "2.1", code=None)
    assert "warning: some documents could not be rendered: .memory/templates/section.md.j2" in made.err
    assert not any("SECRET" in text or "project: shop" in text for text in texts(shop).values())


def test_endless_template_gives_a_warning_and_the_record_is_made(shop: Path, memctl: Memctl) -> None:
    loops = "{% set x = 'a' * 90000 %}{% for a in x %}{% for b in x %}{% for c in x %}"
    committed_template(shop, "section.md.j2", loops + "{% endfor %}" * 3)
    hurried = "import memctl.pages.sandbox as it; it._SECONDS = 0.2; import memctl.__main__ as m; m.run()"
    command = [sys.executable, "-c", hurried, "-C", str(shop), "decide", "All the same", "--section", "2.1"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        _, err = running.communicate(timeout=90)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    assert "some documents could not be rendered" in err
    assert commits(shop) == int(git(shop, "rev-list", "--count", "HEAD"))


def test_documents_in_a_commit_do_not_show_uncommitted_edits(shop: Path, memctl: Memctl) -> None:
    folder = shop / ".memory"
    edited = next(folder.glob("decisions/*/*postgresql.md"))
    edited.write_text(edited.read_text().replace("It has transactions.", "DRAFT: it has transactions."))
    page = folder / "sections" / "2.1-payment.md"
    page.write_text(page.read_text() + "\n## Overview\n\nDRAFT page.\n")
    template(shop, "section.md.j2", "DRAFT {{ page.title }}")
    drafts = {edited, page}
    memctl("issue", "Cards are refused", "--section", "2.1", "--severity", "critical")
    memctl("section", "edit", "Orders", "--completion", "70")
    assert git(shop, "grep", "-l", "DRAFT", "HEAD", "--", ".memory", check=False) == ""
    assert "Cards are refused" in git(shop, "show", "HEAD:.memory/docs/2.1-payment.md")
    memctl("check", "--at", "HEAD")
    assert all("DRAFT" in file.read_text() for file in drafts)  # what a person edits stays
    (folder / "templates" / "section.md.j2").unlink()
    memctl("commit", "--allow-accepted")
    assert "DRAFT page." in git(shop, "show", "HEAD:.memory/docs/2.1-payment.md")
    memctl("check", "--at", "HEAD")


def test_refused_credential_reaches_no_commit_through_a_document(shop: Path, memctl: Memctl) -> None:
    page = shop / ".memory" / "sections" / "2.1-payment.md"
    page.write_text(page.read_text() + "\n## Overview\n\nThe key is AKIA" + "IOSFODNN7EXAMPLF.\n")
    assert "looks like" in memctl("commit", code=1).err
    memctl("issue", "Cards are refused", "--section", "2.1")
    memctl("section", "edit", "Payment", "--completion", "70", code=1)
    git(shop, "checkout", "-q", "--", ".memory/sections")
    memctl("decide", "Rotate keys", "--section", "2.1")
    assert git(shop, "log", "-p", "-S", "IOSFODNN7", "--format=%s", "--", ".memory/docs") == ""


def test_new_record_that_is_not_committed_is_in_no_committed_document(shop: Path, memctl: Memctl) -> None:
    memctl("decide", "Waits for me", "--section", "2.1", "--no-commit")
    memctl("issue", "Cards are refused", "--section", "2.1")
    assert "Waits for me" not in git(shop, "show", "HEAD:.memory/docs/2.1-payment.md")
    memctl("commit")
    assert "Waits for me" in git(shop, "show", "HEAD:.memory/docs/2.1-payment.md")
    memctl("check", "--at", "HEAD")


def test_document_edited_by_hand_is_not_committed(shop: Path, memctl: Memctl) -> None:
    document = shop / ".memory" / "docs" / INDEX
    document.write_text(document.read_text() + "\na note\n")
    refused = memctl("commit", code=1)
    assert "docs/INDEX.md" in refused.err + refused.out
    assert "`memctl page render --force`" in refused.err
    assert "a note" not in git(shop, "show", f"HEAD:.memory/docs/{INDEX}")


def killed_at(replacement: int, repo: Path, *args: str) -> bool:
    """Run memctl and kill it as `kill -9` does, before it puts the n-th document in place; whether it came that far."""
    child = os.fork()
    if child == 0:
        real, count = os.replace, 0

        def counted(source: str | Path, target: str | Path) -> None:
            nonlocal count
            if "/docs/" in str(target):
                count += 1
                if count == replacement:
                    os.kill(os.getpid(), signal.SIGKILL)
            real(source, target)

        os.replace = counted  # type: ignore[assignment]
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        os._exit(main(["-C", str(repo), *args]))
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def _render(memctl: Memctl, repo: Path) -> None:
    memctl("render", where=repo)


def _record_elsewhere(memctl: Memctl, repo: Path) -> None:
    memctl("learn", "About something else", where=repo)
    memctl("render", where=repo)


def _undo(memctl: Memctl, repo: Path) -> None:
    """The document whose rendering was killed is not asked for any more."""
    (repo / ".memory" / "sections" / "2.3-new.md").unlink()
    git(repo, "checkout", "-q", ".memory/sections")
    memctl("render", where=repo)


@pytest.mark.parametrize("after", [_render, _record_elsewhere, _undo])
def test_killed_rendering_is_repaired_and_leaves_nothing(
    shop: Path, memctl: Memctl, tmp_path: Path, after: Callable[[Memctl, Path], None]
) -> None:
    (shop / ".memory" / "sections" / "2.3-new.md").write_text("---\nid: §2.3\ntitle: New\n---\n")
    git(shop, "add", ".memory/sections")
    git(shop, "commit", "-qm", "by hand")
    page = shop / ".memory" / "sections" / "2.1-payment.md"
    page.write_text(page.read_text().replace("Payment", "Paying"))
    for replacement in (1, 3, 4):  # of the index, of a section, of one that is new
        victim = tmp_path / f"victim{replacement}"
        shutil.copytree(shop, victim, symlinks=True)
        assert killed_at(replacement, victim, "render")
        after(memctl, victim)
        assert leftovers(victim) == [], replacement
        memctl("commit", where=victim)
        assert git(victim, "status", "--porcelain") == "", replacement
        assert memctl("render", "--check", where=victim).err == "all documents are up to date\n", replacement


def test_a_write_that_is_killed_while_it_renders_leaves_nothing(shop: Path, memctl: Memctl, tmp_path: Path) -> None:
    for replacement in (1, 3):
        victim = tmp_path / f"victim{replacement}"
        shutil.copytree(shop, victim, symlinks=True)
        assert killed_at(replacement, victim, "decide", "Killed", "--section", "2.1")
        memctl("commit", where=victim)
        assert git(victim, "log", "-1", "--format=%s").startswith("docs(memory): decide DEC-2025-11-04-002 Killed")
        assert leftovers(victim) == [], replacement
        assert git(victim, "status", "--porcelain") == ""
        assert memctl("render", "--check", where=victim).err == "all documents are up to date\n"


def test_documents_that_waited_for_a_commit_are_in_the_next(shop: Path, memctl: Memctl) -> None:
    (shop / ".git" / "MERGE_HEAD").write_text(git(shop, "rev-parse", "HEAD"))
    memctl("decide", "Waits", "--section", "2.1", "--importance", "8")
    (shop / ".git" / "MERGE_HEAD").unlink()
    memctl("commit")
    assert rendered_in(shop) == [TOP, "2.1-payment.md", "3.1-cards.md", INDEX]
    assert git(shop, "status", "--porcelain") == ""
    memctl("decide", "Held", "--section", "2.2", "--no-commit")
    assert "Held" in texts(shop)["2.2-orders.md"]
    memctl("commit")
    assert git(shop, "status", "--porcelain") == ""


def test_documents_of_concurrent_writers_are_up_to_date(shop: Path, memctl: Memctl) -> None:
    writers = [process(shop, "decide", f"Writer {n}", "--section", f"2.{1 + n % 2}") for n in range(3)]
    assert [writer.wait() for writer in writers] == [0] * 3
    for writer in writers:
        writer.communicate()
    assert git(shop, "status", "--porcelain") == ""
    assert memctl("render", "--check").err == "all documents are up to date\n"


def test_unwritable_documents_give_a_warning_and_the_record_is_made(shop: Path, memctl: Memctl) -> None:
    shutil.rmtree(docs(shop))
    docs(shop).write_text("no folder")
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "odd")
    before = commits(shop)
    made = memctl("decide", "All the same", "--section", "2.1")
    assert commits(shop) == before + 1
    assert "warning: the documents could not be rendered: " in made.err


def test_record_warns_of_documents_edited_by_hand_and_missing_sections(shop: Path, memctl: Memctl) -> None:
    (docs(shop) / "2.1-payment.md").write_text("mine\n")
    assert "warning" not in memctl("decide", "Elsewhere", "--section", "2.2").err
    said = memctl("decide", "Here", "--section", "2.1").err
    assert "warning: .memory/docs/2.1-payment.md was edited by hand, and is left as it is" in said
    memctl("decide", "Nowhere", "--section", "2.44", code=USAGE)
    line = '{"memory_type": "decision", "title": "From elsewhere", "section": "§2.44"}\n'
    said = memctl("import", "-", stdin=line).err
    assert "warning: there is no §2.44; `memctl page index` shows the markers\n" in said


def test_a_link_in_the_place_of_a_document_is_not_followed(shop: Path, memctl: Memctl) -> None:
    victim = shop.parent / "victim.md"
    victim.write_text("untouched\n")
    (docs(shop) / "2.1-payment.md").unlink()
    (docs(shop) / "2.1-payment.md").symlink_to(victim)
    before = commits(shop)
    made = memctl("decide", "All the same", "--section", "2.1")
    assert commits(shop) == before + 1
    assert made.id in git(shop, "log", "-1", "--format=%s")
    assert victim.read_text() == "untouched\n"


def test_memory_without_documents_gets_them_with_the_next_write(shop: Path, memctl: Memctl) -> None:
    expected = texts(shop)
    git(shop, "rm", "-rq", ".memory/docs", ".memory/.gitattributes")
    git(shop, "commit", "-qm", "as it was")
    memctl("state", "New", "--section", "2.1")
    assert sorted(rendered_in(shop)) == sorted(expected)
    memctl("render")
    assert (shop / ".memory" / ".gitattributes").exists()
    assert git(shop, "status", "--porcelain") == ""


def test_crlf_in_documents_does_not_count_as_an_edit(shop: Path, memctl: Memctl) -> None:
    for file in docs(shop).iterdir():
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert "edited by hand" not in memctl("render", "--check", code=None).err


def merged_by_the_hosting_site(repo: Path, branch: str) -> None:
    """Merge a branch into that of HEAD as a server does: without the drivers and hooks of any clone."""
    tree = git(repo, "merge-tree", "--write-tree", "HEAD", branch).strip()
    commit = git(repo, "commit-tree", tree, "-p", "HEAD", "-p", branch, "-m", f"Merge {branch}").strip()
    git(repo, "reset", "-q", "--hard", commit)


def as_format_1(repo: Path, memctl: Memctl) -> None:
    config = repo / ".memory" / "config.yaml"
    config.write_text(config.read_text().replace("format: 2\n", "format: 1\n"))
    git(repo, "commit", "-qam", "format 1")
    memctl("render", "--force")


@pytest.mark.parametrize("format_number", [1, 2])
def test_documents_on_the_default_branch_alone_never_conflict(shop: Path, memctl: Memctl, format_number: int) -> None:
    if format_number == 1:
        as_format_1(shop, memctl)
    memctl("init", "--docs", "default-branch")
    assert "docs: default-branch\ndefault_branch: main\n" in (shop / ".memory" / "config.yaml").read_text()
    git(shop, "branch", "other")
    for branch in ("topic", "other"):
        git(shop, "switch", "-q", *(["-c"] if branch == "topic" else []), branch)
        for number in range(3):
            memctl("decide", f"{branch} {number}", "--section", "2.1", "--importance", "8")
            assert rendered_in(shop) == []
        assert not {"MEM308", "MEM310", "MEM314"} & {one["code"] for one in memctl("check", "--json").data["findings"]}
        assert memctl("render", "--check").err == "all documents are up to date\n"
        assert "rendered on main alone" in memctl("render", code=1).err
    git(shop, "switch", "-q", "main")
    merged_by_the_hosting_site(shop, "topic")
    merged_by_the_hosting_site(shop, "other")
    found = {one["code"]: one["severity"] for one in memctl("check", "--json").data["findings"]}
    assert found["MEM314"] == "warning"
    assert "MEM308" not in found
    git(shop, "switch", "-q", "--detach")
    memctl("render", code=1)
    git(shop, "update-ref", "refs/remotes/origin/main", "main")  # as a build has it
    assert INDEX in memctl("render").out
    git(shop, "switch", "-q", "main")
    memctl("learn", "The next one")
    if format_number == 1:
        assert {INDEX, "2.1-payment.md", "3.1-cards.md"} <= set(rendered_in(shop))
    else:
        assert rendered_in(shop) == []
        assert "the documents are behind the memory: run `memctl page render`" in memctl("status").out
        assert "MEM314" in memctl("check", "--strict").out
        memctl("render")
        assert {INDEX, "2.1-payment.md", "3.1-cards.md"} <= set(rendered_in(shop))
        assert "the documents are behind" not in memctl("status").out
    assert "MEM314" not in memctl("check").out
    document = docs(shop) / INDEX
    document.write_text(document.read_text() + "By hand.\n")
    assert "MEM309" in memctl("check", code=1).out
    git(shop, "stash", "-q")
    git(shop, "switch", "-q", "topic")
    document.write_text(document.read_text() + "By hand.\n")
    assert ("MEM309" in memctl("check", code=None).out) == (format_number == 1)


def test_unknown_default_branch_renders_no_document_and_gives_a_hint(shop: Path, memctl: Memctl) -> None:
    as_format_1(shop, memctl)
    configure(shop, "docs: default-branch")
    memctl("commit")
    assert "`default_branch: NAME` in .memory/config.yaml" in memctl("decide", "Unseen").err
    assert rendered_in(shop) == []
    git(shop, "update-ref", "refs/remotes/origin/main", "HEAD")
    git(shop, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    assert "default_branch" not in memctl("decide", "Seen").err
    assert INDEX in rendered_in(shop)


def test_documents_on_the_disk_show_edits_that_the_commit_has_not(shop: Path, memctl: Memctl) -> None:
    memctl("decide", "Waits for me", "--section", "2.1", "--no-commit")
    memctl("decide", "At once", "--section", "2.2")
    assert "Waits for me" in texts(shop)[INDEX]
    assert "Waits for me" not in git(shop, "show", f"HEAD:.memory/docs/{INDEX}")
    memctl("check")
    memctl("check", "--at", "HEAD")
    memctl("commit")
    assert git(shop, "status", "--short") == ""


def test_file_with_a_name_that_is_not_utf_8_keeps_no_record_from_its_commit(shop: Path, memctl: Memctl) -> None:
    for folder in ("sections", "decisions"):
        (shop / ".memory" / os.fsdecode(folder.encode() + b"/\xe9.md")).write_text("odd\n")
    before = commits(shop)
    memctl("decide", "All the same", "--section", "2.1")
    memctl("section", "edit", "Orders", "--completion", "70")
    assert commits(shop) == before + 2


def test_documents_of_a_section_list_records_on_its_code(memctl: Memctl, shop: Path) -> None:
    docs = shop / ".memory" / "docs"
    issue = memctl("issue", "Cards jam", "--code", "app.py:1", "--severity", "low").id
    learned = memctl("learn", "Cards bend", "--code", "app.py").id
    memctl("issue", "Carts jam", "--code", "app.py", "--section", "2.2")
    memctl("issue", "Nowhere", "--code", "other.py")
    assert f"[{issue}]" in (docs / "2.1-payment.md").read_text()
    assert f"[{issue}]" in (docs / "3.1-cards.md").read_text()
    assert f"[{learned}]" in (docs / "3.1-cards.md").read_text()
    assert "Carts jam" not in (docs / "2.1-payment.md").read_text()
    index = (docs / INDEX).read_text()
    assert re.search(r"Payment.*1 open issue\b", index)
    assert "1 open record belongs to no section" in index
    assert memctl("status", "--json").data["sections"][0]["open_issues"] == 1
    memctl("resolve", issue, "--resolution", "They don't")
    assert issue not in (docs / "2.1-payment.md").read_text()
    assert memctl("check").code == 0
